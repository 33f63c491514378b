"""One run: start, strike, look, go on, look again."""

import contextlib
import random
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.torture import engines, mounts, verdicts
from tools.torture.faults import DONE, Fault
from tools.torture.lab import Lab, Said, heal, lab

HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Usual:
    """A run that nothing happened to: how long it takes, in seconds, and its summary."""

    length_s: float
    summary: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one run.

    Args:
        verdict: "recovered", "refused" or "wrong".
        at_s: when the fault struck, in seconds from the start.
        why: what is wrong, one sentence each.
    """

    number: int
    fault: str
    runtime: str
    verdict: str
    at_s: float
    why: tuple[str, ...]


def undisturbed(runtime: str) -> Usual:
    """Measure a run without a fault."""
    with lab(runtime) as one:
        start_s = time.monotonic()
        said = one.end(one.start())
        length_s = time.monotonic() - start_s
        run = one.run
        summary = None if run is None else one.summary(run)
        if said.code not in {0, 5} or summary is None:
            raise SystemExit(f"an undisturbed run of {runtime} fails: {verdicts.last(said)}")
    return Usual(length_s, summary)


def play(
    number: int,
    fault: Fault,
    runtime: str,
    chance: random.Random,
    usual: Usual,
    *,
    keep: Path | None = None,
) -> Outcome:
    """Strike one run at a random instant, and judge what comes of it; a wrong one's folder is copied to `keep`."""
    at_s = chance.uniform(0, usual.length_s * 1.1)
    retries = chance.choice([0, 1]) if fault.retries else 0
    with _equipped(fault, runtime, retries) as one:
        process = one.start()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(at_s)
        fault.strike(one, process, chance)
        first = one.end(process)
        heal(one)
        why = [f"struck: {text}" for text in _first(one, fault, first)]
        refused, more = _go_on(one, usual)
        why += more
        why += [f"left: {text}" for text in verdicts.clean(one)]
        if why and keep is not None:
            shutil.copytree(
                one.root,
                keep / str(number),
                symlinks=True,
                dirs_exist_ok=True,
                ignore=shutil.ignore_patterns("engine", "ballast"),
            )
    verdict = "wrong" if why else "refused" if refused else "recovered"
    return Outcome(number, fault.name, runtime, verdict, at_s, tuple(why))


def _first(one: Lab, fault: Fault, first: Said) -> Iterator[str]:
    """Judge how the orchestrator ended, and a second one that came in its way."""
    if first.code == -15 and one.run is None:  # noqa: PLR2004 - SIGTERM before Python was up
        return
    yield from verdicts.ended(first, fault.ends)
    if one.run is None and "--resume" in first.err:
        yield f"it advises to resume what never began: {verdicts.last(first)}"
    for second in one.said[:-1]:
        yield from verdicts.ended(second, {4: "another run holds"})


def _go_on(one: Lab, usual: Usual) -> tuple[bool, list[str]]:
    """Resume, or begin anew where there is nothing to resume; tells whether it was refused."""
    run = one.run
    if run is None:
        said = one.end(one.start())
        why = [f"begun anew: {text}" for text in verdicts.ended(said, DONE)]
        run = one.run
        return False, why + ([] if run is None else _compared(one, run, usual))
    word = verdicts.forbidden(one, run)
    before = (run / "ledger.jsonl").read_bytes()
    said = one.end(one.start("--resume", str(run)))
    if word is not None:
        return True, [f"refusal: {text}" for text in verdicts.refused(said, word, before, run)]
    why = [f"resumed: {text}" for text in verdicts.ended(said, DONE)]
    return False, why + _compared(one, run, usual)


def _compared(one: Lab, run: Path, usual: Usual) -> list[str]:
    why = [f"after: {text}" for text in verdicts.whole(run)]
    if not verdicts.edited_first(one, run):
        why += [f"after: {text}" for text in verdicts.same(one.summary(run), usual.summary)]
    audit = one.command("verify", run.name)
    return why + ([f"verify: {audit.out[:300]} {verdicts.last(audit)}"] if audit.code else [])


@contextlib.contextmanager
def _equipped(fault: Fault, runtime: str, retries: int) -> Iterator[Lab]:
    """Make a lab with what the fault needs."""
    with contextlib.ExitStack() as stack:
        image = stack.enter_context(engines.moving_tag()) if fault.needs == "image" else None
        one = stack.enter_context(lab(runtime, retries=retries, image=image and image[0]))
        if image is not None:
            one.environment |= {"TORTURE_TAG": image[0], "TORTURE_OTHER": image[1]}
        if fault.needs == "engine":
            one.engine = stack.enter_context(engines.own(one.root))
            one.environment["DOCKER_HOST"] = one.engine.url
        if fault.needs == "tmpfs":
            stack.enter_context(mounts.small(one))
        if fault.needs == "clock":
            _preload_clock(one)
        yield one


def can(fault: Fault) -> bool:
    """Tell whether this machine has what the fault needs."""
    if fault.needs == "clock":
        return shutil.which("cc") is not None
    return fault.needs not in {"tmpfs", "mounts", "engine"} or mounts.usable()


def _preload_clock(one: Lab) -> None:
    library = one.root / "clock_back.so"
    command = ["cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(HERE / "clock_back.c")]
    subprocess.run(command, check=True, capture_output=True)
    one.environment |= {
        "LD_PRELOAD": str(library),
        "TORTURE_CLOCK_BACK": str(one.root / "clock-back"),
    }
