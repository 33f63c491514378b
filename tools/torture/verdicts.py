"""What must hold after a fault: each thing that does not is one sentence."""

import hashlib
import json
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from abtest.cli.results import read_run
from abtest.errors import EXIT_UNPROVED, AbtestError
from abtest.ledger import store
from tools.torture import traces
from tools.torture.faults import DONE, Ends
from tools.torture.lab import HUNG, Lab, Said, wait_until

NOISE: Ends = {5: "nothing could be compared"}  # on a busy machine a small engine may drown in it
PATIENCE_S = 15.0  # how long dead runs may take to be cleared away


def ended(said: Said, ends: Ends) -> Iterator[str]:
    """Hold the end of a command against what may come of its fault; it may also have missed."""
    words = {**DONE, **NOISE, **ends}
    if said.code == HUNG:
        yield "it hangs"
    elif said.code not in words:
        yield f"exit {said.code}, not {sorted(words)}: {last(said)}"
    elif not any(word in said.err for word in words[said.code].split("|")):
        yield f"exit {said.code} without the word {words[said.code]!r}: {last(said)}"
    if "Traceback" in said.err or "internal error" in said.err:
        yield f"a trace instead of a message: {last(said)}"
    if said.code in {2, 3, 4} and not ("error: " in said.err and "\n  next: " in said.err):
        yield f"exit {said.code} without cause and remedy: {last(said)}"


def last(said: Said) -> str:
    """Give the last words of a command."""
    return " / ".join(said.err.strip().splitlines()[-3:])[-400:]


def forbidden(lab: Lab, run: Path) -> str | None:
    """Tell the word that a refusal to go on must hold; None where nothing forbids it."""
    facts = json.loads((run / store.RUN).read_text(encoding="utf-8"))
    if facts["arms"]["fast"]["files"][0]["sha256"] != _sha256(lab.folder / "fast.py"):
        return "arm fast: file"
    if (run / store.EXPERIMENT).read_bytes() != (lab.folder / "experiment.yaml").read_bytes():
        return "experiment: "
    if (tag := lab.environment.get("TORTURE_TAG")) and facts["image"]["id"] != image_id(tag):
        return "image: id"
    contents = store.read(run)
    if contents.faults or contents.altered:
        return "line "
    edited = lab.root / "edited"
    return edited.read_text(encoding="utf-8") if edited.exists() else None


def refused(said: Said, word: str, before: bytes, run: Path) -> Iterator[str]:
    """Hold a refusal against what it must be: named, and nothing written."""
    yield from ended(said, {EXIT_UNPROVED: word})
    if said.code != EXIT_UNPROVED:
        yield f"exit {said.code}: it went on in spite of {word!r}"
    if (run / store.LEDGER).read_bytes() != before:
        yield "the ledger was written to by a run that was refused"


def whole(run: Path) -> Iterator[str]:
    """Every block exactly once and whole; the ledger readable to its last line."""
    try:
        facts, contents = read_run(run), store.read(run)
    except AbtestError as error:
        yield f"unreadable: {error.what}"
        return
    yield from contents.faults
    if contents.torn is not None:
        yield "the ledger's last line is torn"
    seen = Counter((one.round, one.condition, one.arm) for one in contents.standing if one.counts)
    wanted = {
        (number, condition, arm)
        for number in range(1, facts.rounds + 1)
        for condition in facts.conditions
        for arm in facts.arms
    }
    for number, condition, arm in sorted(wanted - seen.keys()):
        yield f"lost: round {number}, {arm}@{condition}"
    for (number, condition, arm), count in seen.items():
        if count > 1 or (number, condition, arm) not in wanted:
            yield f"{count} times: round {number}, {arm}@{condition}"
    yield from _as_written(run, contents)
    spans = [value for one in contents.records for value in one.phases_s.values()]
    if any(not 0 <= value < 3600 for value in spans):  # noqa: PLR2004 - no trial here takes an hour
        yield f"a phase of {min(spans)} to {max(spans)} s"


def _as_written(run: Path, contents: store.Contents) -> Iterator[str]:
    """The copy of the experiment beside the ledger must be what was run, whenever it was edited."""
    told = yaml.safe_load((run / store.EXPERIMENT).read_text(encoding="utf-8"))
    for one in contents.standing:
        if one.counts and (len(one.pairs), [*one.tokens]) != (told["pairs"], told["tokens"]):
            yield f"{one.trial} is not of the experiment as its copy has it"


def same(found: Mapping[str, Any] | None, undisturbed: Mapping[str, Any]) -> Iterator[str]:
    """Hold a summary against that of a run without a fault: simulated ones must be equal to the last digit."""
    if found is None:
        yield "there is no summary"
    elif found["isolation"] == "simulated":
        names = {*found, *undisturbed} - {"dropped"}  # that a trial was run twice may be told
        unlike = [name for name in names if found.get(name) != undisturbed.get(name)]
        yield from (f"the summary's {name} is not that of an undisturbed run" for name in unlike)
    elif _shape(found) != _shape(undisturbed):
        yield f"the summary is {_shape(found)}, an undisturbed run's {_shape(undisturbed)}"


def edited_first(lab: Lab, run: Path) -> bool:
    """Tell whether an edit came before the run read its files: then it is another run than the undisturbed one."""
    facts = json.loads((run / store.RUN).read_text(encoding="utf-8"))
    experiment = (run / store.EXPERIMENT).read_text(encoding="utf-8")
    kernel = facts["arms"]["fast"]["files"][0]["sha256"]
    return (experiment, kernel) != lab.original


def clean(lab: Lab) -> Iterator[str]:
    """Nothing of ours is left: no process, no container, no temporary file, no folder without a run."""
    if not wait_until(lambda: not traces.processes(lab), PATIENCE_S):
        yield f"processes left: {traces.processes(lab)}"
    if lab.runtime == "docker" and not wait_until(lambda: not traces.containers(lab), PATIENCE_S):
        yield f"containers left: {[one.name for one in traces.containers(lab)]}"
    if left := traces.temporary(lab):
        yield f"temporary files left: {left[:5]}"
    if left := traces.unfinished(lab):
        yield f"folders without a run left: {left}"


def image_id(tag: str) -> str:
    """Ask the engine which image bears a tag."""
    done = subprocess.run(
        ["docker", "image", "inspect", "-f", "{{.Id}}", tag],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def _shape(summary: Mapping[str, Any]) -> list[Any]:
    cells = [(cell["arm"], cell["depth"], cell["batch"]) for cell in summary["cells"]]
    return [summary["isolation"], summary["identity"], cells]


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
