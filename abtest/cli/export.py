"""`abtest export --pr`: the comment for a pull request, from the run's folder alone."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from abtest.cli import results
from abtest.cli.gating import NO_GATES, Gates
from abtest.cli.summary import end, summary_of, whole_of
from abtest.errors import UsageError
from abtest.ledger import store
from abtest.model.result import Effect
from abtest.report import figures
from abtest.report.origin import Origin


def show_pull_request(run_folder: Path, floor_folder: Path | None, gates: Gates = NO_GATES) -> None:
    """Print the Markdown on stdout.

    Args:
        floor_folder: an A/A run of the same set-up, whose effects are the noise floor.

    Raises:
        UsageError: the run that was named as A/A declares a difference.
        AbtestError: after printing, if a gate is not met or not decided, or nothing could be compared.
    """
    from abtest.report import pullrequest

    summary, run = whole_of(run_folder, gates)
    floor = None if floor_folder is None else _floor(floor_folder)
    origin = Origin(_facts(run), command_of(run, run_folder), floor)
    print(pullrequest.render(summary, store.read(run_folder).standing, origin), end="")
    end(summary, gates)


def _floor(folder: Path) -> str:
    summary, run = summary_of(folder)
    if run.declared():
        what = ", ".join(one.what for one in run.declared())
        raise UsageError(
            f"--aa: {run.run} is no A/A run: its arms are declared to differ in {what}",
            remedy="Name a run in which both arms are the same.",
        )
    return f"run {run.run}: {'; '.join(map(_floor_part, summary.effects)) or 'no effect'}"


def _floor_part(effect: Effect) -> str:
    digits = figures.ratio_digits(1.0)
    ratio = figures.ratio(effect.speedup, digits)
    return f"{effect.condition}: {ratio}, {figures.interval(effect.interval, digits)}"


def _facts(run: results.RunFile) -> tuple[tuple[str, str], ...]:
    image = run.image
    known = (
        ("run", run.run),
        ("created (UTC)", run.created),
        ("image kind", image.get("kind")),
        ("image id", image.get("id")),
        ("image digest", image.get("digest") or "none: the image came from no registry"),
        ("runtime", f"{run.isolation} ({run.why_runtime})"),
        ("machine that started the run", run.host),
        ("estimator", run.estimator),
        ("abtest", run.abtest),
        ("spec sha256", run.spec_sha256),
        *((f"arm {arm}", _arm(facts)) for arm, facts in run.arms.items()),
    )
    return tuple((name, str(text)) for name, text in known if text)


def _arm(facts: Mapping[str, Any]) -> str:
    """Say which files an arm swaps in, where each comes from, and what else it declares."""
    parts = [
        f"{file['target']} md5 {file['md5']} ({file['origin']})"
        for file in facts.get("files") or ()
    ]
    parts += [f"{key} {dict(facts[key])}" for key in ("env", "args") if facts.get(key)]
    return "; ".join(parts) or "as the image has it"


def command_of(run: results.RunFile, folder: Path) -> tuple[str, ...] | None:
    """Give the arguments of a run like this one, with the experiment's path as seen from here."""
    if run.isolation == "imported":
        return None
    experiment = Path(os.path.relpath(folder / run.experiment_path))
    narrowed = (
        "--arms", ",".join(run.arms),
        "--depths", ",".join(map(str, dict.fromkeys(one.depth for one in run.conditions))),
        "--rounds", str(run.rounds),
    )  # fmt: skip
    where = ("--simulate",) if run.isolation == "simulated" else ("--runtime", run.isolation)
    return ("abtest", "run", str(experiment), *narrowed, *where)
