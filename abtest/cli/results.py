"""The results folder: naming runs, finding them, and what `run.json` says of them."""

import os
import platform
import random
import shutil
import string
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from abtest import __version__
from abtest.errors import LedgerError, UsageError
from abtest.ledger import lock, store
from abtest.ledger.form import fits, form_of
from abtest.model.names import Condition
from abtest.model.result import Difference

if TYPE_CHECKING:  # a summary needs none of them, and they take longer to load than a small ledger
    from abtest.cli.purpose import Purpose
    from abtest.ports import Clock
    from abtest.runner.setup import Setup
    from abtest.spec import Experiment

LATEST = "latest"
LOOK = "look: "  # how the note of a look begins in the ledger
LATER = frozenset({"purpose", "planted_ms_per_call"})  # keys that older runs do not have


def new_name(experiment: str, clock: "Clock") -> str:
    """Name a run: experiment, UTC time, four letters."""
    letters = "".join(random.SystemRandom().choices(string.ascii_lowercase, k=4))
    time = clock.utc().replace("-", "").replace(":", "")
    return f"{experiment}-{time}-{letters}"


def find(name: str, root: Path) -> Path:
    """Find a run's folder by path, or by name below the results folder.

    Raises:
        UsageError: there is none.
    """
    for path in (Path(name), root / name):
        if (path / store.RUN).is_file():
            return path.resolve()
    raise UsageError(
        f"{name!r} is not a run: there is no {store.RUN} in it",
        remedy=f"Give a folder below {root}, or `{LATEST}`.",
    )


def point_latest(folder: Path) -> None:
    """Let `results/latest` point to this run, in one step."""
    temporary = folder / f".{LATEST}.{os.getpid()}"  # in the run's own folder, which is swept
    temporary.unlink(missing_ok=True)
    temporary.symlink_to(folder.name)
    temporary.replace(folder.parent / LATEST)


def remove_unborn(root: Path) -> None:
    """Remove folders of runs that were killed before they came to a run; those of live ones are never touched."""
    for work in root.glob("*/.work"):  # it is made by the holder of the lock, after taking it
        folder = work.parent
        if not (folder / store.RUN).exists() and lock.is_free(folder):
            shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class RunFile:
    """`run.json`: what was planned, with what, where.

    Args:
        parts: digests of everything that must not change within the run.
        arms: per arm, what it declares (file, md5, sha256, env, args).
        experiment_path: the experiment file, relative to the run's folder.
        purpose: "ab", "aa" or "control".
        planted_ms_per_call: of a control: how long each call of the routes function is held up.
    """

    run: str
    experiment: str
    experiment_path: str
    created: str
    spec_sha256: str
    parts: Mapping[str, str]
    baseline: str
    arms: Mapping[str, Mapping[str, Any]]
    conditions: tuple[Condition, ...]
    rounds: int
    isolation: str
    why_runtime: str
    image: Mapping[str, Any]
    host: str
    abtest: str = __version__
    estimator: str = "differential"
    purpose: str = "ab"
    planted_ms_per_call: float | None = None

    def declared(self) -> tuple[Difference, ...]:
        """What the arms are declared to differ in."""
        keys = [
            key
            for key in ("file", "image", "args")
            if len({repr(facts.get(key)) for facts in self.arms.values()}) > 1
        ]
        found = [
            Difference(key, {arm: _short(facts.get(key)) for arm, facts in self.arms.items()})
            for key in keys
        ]
        return (*found, *self._declared_variables())

    def _declared_variables(self) -> Iterator[Difference]:
        """Tell each variable by its name: that one is declared allows no other."""
        own = {arm: facts.get("env") or {} for arm, facts in self.arms.items()}
        for name in sorted({name for variables in own.values() for name in variables}):
            values = {arm: str(variables.get(name, "-")) for arm, variables in own.items()}
            if len(set(values.values())) > 1:
                yield Difference(f"env.{name}", values)


def _short(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={inner}" for key, inner in value.items()) or "-"
    return str(value)


def describe(
    setup: "Setup", *, experiment_path: str, created: str, why_runtime: str, purpose: "Purpose"
) -> RunFile:
    """Make the description of a run that is about to start."""
    experiment = setup.experiment
    return RunFile(
        run=setup.run,
        experiment=experiment.name,
        experiment_path=experiment_path,
        created=created,
        spec_sha256=setup.spec_sha256,
        parts=setup.parts,
        baseline=experiment.baseline,
        arms={name: _arm_facts(setup, experiment, name) for name in experiment.arms},
        conditions=experiment.conditions,
        rounds=experiment.rounds,
        isolation=setup.isolation,
        why_runtime=why_runtime,
        image={
            "kind": setup.image.kind,
            "id": setup.image.image_id,
            "digest": setup.image.image_digest,
            "python": setup.image.python,
            "fingerprint": dict(setup.image.fingerprint),
        },
        host=setup.host,
        estimator=experiment.estimator,
        purpose=purpose.kind,
        planted_ms_per_call=purpose.per_call_ms,
    )


def _arm_facts(setup: "Setup", experiment: "Experiment", name: str) -> dict[str, Any]:
    arm = experiment.arms[name]
    swaps = setup.swaps[name]
    return {
        "file": ", ".join(f"{swap.target} (md5 {swap.md5[:8]})" for swap in swaps),
        "files": [
            {"target": swap.target, "md5": swap.md5, "sha256": swap.sha256, "origin": swap.origin}
            for swap in swaps
        ],
        "image": setup.images[name].image_id,
        "env": dict(arm.env),
        "args": dict(arm.args),
    }


def write_run(folder: Path, run: RunFile) -> None:
    body = {name: getattr(run, name) for name in RunFile.__dataclass_fields__}
    body["conditions"] = [[condition.depth, condition.batch] for condition in run.conditions]
    store.write_json(folder / store.RUN, {"schema": 1, "kind": "run", **body})


def read_run(folder: Path) -> RunFile:
    """Read a run's description.

    Raises:
        LedgerError: it is damaged.
    """
    body = store.read_run(folder)
    try:
        conditions = tuple(Condition(int(depth), int(batch)) for depth, batch in body["conditions"])
        known = {
            name: body[name]
            for name in RunFile.__dataclass_fields__
            if name in body or name not in LATER
        }
        known["conditions"] = conditions
        _check_form(known)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise LedgerError(
            f"{folder / store.RUN} is damaged: {error}", remedy="Restore it, or start a new run."
        ) from error
    return RunFile(**known)


def _check_form(known: Mapping[str, Any]) -> None:
    """Hold what a run says of itself against the types of its fields; a part that tables do not read may be anything."""
    tests = form_of(RunFile)
    wrong = [name for name, value in known.items() if not tests[name](value)]
    if wrong:
        raise TypeError(f"{wrong[0]} has the wrong form")
    if known["baseline"] not in known["arms"]:
        raise ValueError(f"its baseline {known['baseline']!r} is none of its arms")
    for name, arm in known["arms"].items():
        _check_arm(name, arm)


def _check_arm(name: str, arm: Mapping[str, Any]) -> None:
    text = fits(tuple[str, ...])
    keys = ("target", "md5", "sha256", "origin")
    files = arm.get("files")
    sound = {
        "files": files is None
        or (
            isinstance(files, list) and all(text(tuple(one[key] for key in keys)) for one in files)
        ),
        **{key: isinstance(arm.get(key) or {}, Mapping) for key in ("env", "args")},
    }
    wrong = [key for key, holds in sound.items() if not holds]
    if wrong:
        raise TypeError(f"arms: {name}: {wrong[0]} has the wrong form")


def host_name() -> str:
    """Describe this machine without naming it: processor, cores, kernel."""
    model = platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    except OSError:
        pass
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count()
    return f"{model}, {cores} cores, {platform.system()} {platform.release()}"
