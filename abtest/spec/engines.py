"""What each kind of engine needs of its arguments, beyond the shape of the file."""

from collections.abc import Mapping
from typing import Any

from abtest.spec.document import Experiment
from abtest.spec.marks import KeyPath, Marks

SPECULATION = ("speculative_config", "speculative_model", "num_speculative_tokens")


def check_engine(experiment: Experiment, marks: Marks) -> None:
    """Refuse arguments with which the engine cannot start, or with which arms cannot be compared.

    Raises:
        SpecError: names the place and the remedy.
    """
    if experiment.engine.kind == "vllm":
        _check_model(experiment, marks)
    elif experiment.engine.kind == "command":
        _check_argv(experiment, marks)
    _check_speculation(experiment, marks)


def arguments(experiment: Experiment, arm: str) -> dict[str, Any]:
    """Merge the engine's arguments with those of one arm, which win."""
    return {**experiment.engine.args, **experiment.arms[arm].args}


def _check_model(experiment: Experiment, marks: Marks) -> None:
    for arm in experiment.arms:
        if not isinstance(arguments(experiment, arm).get("model"), str):
            raise marks.error(
                ("engine",),
                f"arm {arm!r} has no model",
                remedy="Add `args: {model: NAME}`: a hub name, or a folder with a config.json.",
            )


def _check_argv(experiment: Experiment, marks: Marks) -> None:
    for arm in experiment.arms:
        argv = arguments(experiment, arm).get("argv")
        words = argv if isinstance(argv, list) else []
        if not words or not all(isinstance(word, str) and word for word in words):
            raise marks.error(
                ("engine",),
                f"arm {arm!r} has no program to start",
                remedy="Add `args: {argv: [PROGRAM, ARGUMENT, ..]}`; docs/engines.md has the protocol.",
            )


def _check_speculation(experiment: Experiment, marks: Marks) -> None:
    """Speculation changes the shape of a decode step, and with it the route: it must be the same in all arms."""
    first, *others = experiment.arms
    wanted = _speculation(arguments(experiment, first))
    for arm in others:
        if _speculation(arguments(experiment, arm)) != wanted:
            place: KeyPath = ("arms", arm)
            raise marks.error(
                place,
                f"speculates otherwise than {first!r}: its decode steps would have another shape",
                remedy="Put the same speculative settings under engine.args, or compare without them.",
            )


def _speculation(given: Mapping[str, Any]) -> str:
    return repr(sorted((name, given[name]) for name in SPECULATION if given.get(name)))
