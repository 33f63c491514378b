"""What the command line makes of an experiment: narrowed, given its purpose, planned."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from abtest.cli.purpose import TO_COMPARE, Edit, Purpose
from abtest.model.trial import PlannedTrial
from abtest.plan import make_plan, seed_of
from abtest.spec import Experiment, load, restrict


@dataclass(frozen=True, slots=True)
class Choice:
    """What the command line narrows an experiment to; None leaves it as it is."""

    arms: Sequence[str] | None = None
    depths: Sequence[int] | None = None
    rounds: int | None = None
    runtime: str | None = None
    purpose: Purpose = TO_COMPARE


@dataclass(frozen=True, slots=True)
class Chosen:
    """An experiment as it will run.

    Args:
        folder: the experiment's own; `file` its file there.
        edits: what is done to a file after it was made, by arm and target.
    """

    experiment: Experiment
    folder: Path
    file: Path
    purpose: Purpose
    edits: Mapping[tuple[str, str], Edit]


def chosen(path: Path, choice: Choice, *, simulate: bool) -> Chosen:
    """Load an experiment, give it its purpose, and narrow it.

    Raises:
        UsageError: the file or the choice is wrong.
    """
    experiment, folder = load(path)
    experiment = restrict(
        choice.purpose.shape(experiment),
        arms=choice.arms,
        depths=choice.depths,
        rounds=choice.rounds,
        runtime=choice.runtime,
    )
    edits = choice.purpose.edits(experiment)
    if simulate:  # a simulated worker takes no decision that could be recorded
        experiment = experiment.model_copy(update={"routes": None})
    file = path / "experiment.yaml" if path.is_dir() else path
    return Chosen(experiment, folder, file, choice.purpose, edits)


def full_plan(experiment: Experiment) -> tuple[PlannedTrial, ...]:
    """Plan a whole run of an experiment."""
    return make_plan(
        tuple(experiment.arms),
        experiment.conditions,
        range(1, experiment.rounds + 1),
        seed=seed_of(experiment.name),
    )
