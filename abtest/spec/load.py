"""From text to a frozen experiment, with errors that name the place and the remedy."""

from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from abtest.errors import SpecError, UsageError
from abtest.spec.checks import check, with_absolute_volumes
from abtest.spec.document import Experiment
from abtest.spec.marks import KeyPath, Marks, read

FILE_NAME = "experiment.yaml"


def load(path: Path) -> tuple[Experiment, Path]:
    """Read an experiment from its file, or from the folder that holds one.

    Returns:
        The experiment and its absolute folder, against which its paths are resolved.

    Raises:
        SpecError: the file is missing or wrong.
    """
    file = path / FILE_NAME if path.is_dir() else path
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        msg = f"{file}:1: (the whole file): cannot be read: {error}"
        raise SpecError(
            msg, remedy=f"Name an experiment file, or a folder that holds {FILE_NAME}."
        ) from error
    folder = file.resolve().parent
    return parse(text, file=str(file), folder=folder), folder


def parse(text: str, *, file: str, folder: Path) -> Experiment:
    """Parse and check one experiment file.

    Raises:
        SpecError: names file, line, key path, what is accepted, and the remedy.
    """
    data, marks = read(file, text)
    try:
        experiment = Experiment.model_validate(data)
    except ValidationError as error:
        raise _first([_translate(details, marks) for details in error.errors()]) from error
    check(experiment, marks, folder)
    return with_absolute_volumes(experiment, marks, folder)


def restrict(
    experiment: Experiment,
    *,
    arms: Sequence[str] | None = None,
    depths: Sequence[int] | None = None,
    rounds: int | None = None,
    runtime: str | None = None,
) -> Experiment:
    """Apply the command line to an experiment.

    Raises:
        UsageError: an arm or depth that the experiment does not have, fewer than two arms, odd rounds.
    """
    change: dict[str, Any] = {}
    if arms is not None:
        change |= _choose_arms(experiment, arms)
    if depths is not None:
        unknown = [depth for depth in depths if depth not in experiment.depths]
        if unknown or not depths or len(set(depths)) != len(depths):
            msg = f"--depths: the experiment has {list(experiment.depths)}, not {list(depths)}"
            raise UsageError(
                msg, remedy="Choose among its depths, each once, or add one to the experiment file."
            )
        change["depths"] = tuple(depths)
    if rounds is not None:
        change["rounds"] = balanced(experiment, rounds)
    if runtime is not None:
        change["runtime"] = runtime
    return experiment.model_copy(update=change)


def balanced(experiment: Experiment, rounds: int) -> int:
    """Give `--rounds` back if the order of the arms stays balanced over them, or need not be.

    Raises:
        UsageError: they are odd, or fewer than one.
    """
    if rounds < 1 or (rounds % 2 and not experiment.allow_unbalanced):
        msg = f"--rounds {rounds}: rounds must be even, so that a linear drift cancels"
        raise UsageError(
            msg,
            remedy="Give an even number, or set `allow_unbalanced: true` in the experiment.",
        )
    return rounds


def _choose_arms(experiment: Experiment, arms: Sequence[str]) -> dict[str, Any]:
    unknown = [arm for arm in arms if arm not in experiment.arms]
    if unknown:
        msg = f"--arms: {', '.join(map(repr, unknown))} is not an arm of {experiment.name}"
        raise UsageError(msg, remedy=f"Its arms are: {', '.join(experiment.arms)}.")
    if len(arms) < 2 or len(set(arms)) != len(arms):  # noqa: PLR2004 - two make a comparison
        msg = f"--arms {','.join(arms)}: needs two or more different arms"
        raise UsageError(msg, remedy=f"Its arms are: {', '.join(experiment.arms)}.")
    if experiment.baseline not in arms:
        msg = f"--arms {','.join(arms)} leaves out the baseline {experiment.baseline!r}"
        raise UsageError(
            msg, remedy="Name the baseline among the arms, or change `baseline` in the experiment."
        )
    return {"arms": MappingProxyType({arm: experiment.arms[arm] for arm in arms})}


def _first(faults: list[tuple[int, bool, SpecError]]) -> SpecError:
    """Choose what to report: a mistyped key explains a missing one, else the first by line."""
    return min(faults, key=lambda fault: (not fault[1], fault[0]))[2]


def _translate(details: ErrorDetails, marks: Marks) -> tuple[int, bool, SpecError]:
    path: KeyPath = tuple(part for part in details["loc"] if part != "[key]")
    context = details.get("ctx", {})
    match details["type"]:
        case "extra_forbidden":
            accepted = _accepted_keys(path[:-1])
            text, remedy = "unknown key", f"Accepted here: {', '.join(accepted)}."
        case "missing" if isinstance(path[-1], int):
            text, remedy = "the list is too short", f"It needs an item number {path[-1] + 1}."
        case "missing":
            text, remedy = "the key is missing", f"Add `{path[-1]}:` to this section."
        case "abtest":
            text, remedy = str(context["text"]), str(context["remedy"])
        case _:
            text, remedy = (
                details["msg"].removeprefix("Input should be "),
                f"Accepted: {_accepted(details)}.",
            )
            text = f"{_short(details['input'])} is not accepted"
    mistyped = details["type"] == "extra_forbidden"
    return marks.line(path), mistyped, marks.error(path, text, remedy=remedy)


_WORDS = (  # the validator's words for Python, turned into words for YAML
    ("Input should be ", ""),
    ("Tuple should have", "a list with"),
    (" after validation, not", "; there are"),
    ("valid dictionary or instance of ", "mapping of keys for "),
    ("valid dictionary", "mapping of keys"),
    ("valid mapping", "mapping of keys"),
    ("valid tuple", "list"),
    ("valid string", "text (in quotes, if it looks like a number)"),
    ("String should match pattern", "text that matches the pattern"),
    ("String should have", "text with"),
    ("valid integer", "whole number"),
    ("valid boolean", "true or false"),
)


def _accepted(details: ErrorDetails) -> str:
    text = details["msg"]
    for python, yaml in _WORDS:
        text = text.replace(python, yaml)
    return text


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."  # noqa: PLR2004 - a line's worth


def _accepted_keys(path: KeyPath) -> list[str]:
    """Name the keys that the section at `path` accepts, by walking the models."""
    model: type[BaseModel] = Experiment
    for part in path:
        found = model.model_fields.get(str(part))
        if found is None:
            continue  # a name of the user's own, or a place in a list
        inner = _models_in(found.annotation)
        model = inner[0] if inner else model
    return [field.alias or name for name, field in model.model_fields.items()]


def _models_in(annotation: object) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for inner in get_args(annotation) for model in _models_in(inner)]
