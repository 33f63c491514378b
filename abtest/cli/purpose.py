"""What a run is for: to compare arms, to compare a file with itself, or to find a slow-down that was planted."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from abtest.errors import UsageError
from abtest.model.control import COMPARE, PLANTED, SAME_FILE
from abtest.sources import Made
from abtest.spec import Experiment

Edit = Callable[[Made], Made]
_SECOND = {SAME_FILE: ("again", "again-2"), PLANTED: ("planted", "planted-2")}


@dataclass(frozen=True, slots=True)
class Purpose:
    """A run's purpose.

    Args:
        kind: one of `COMPARE`, `SAME_FILE`, `PLANTED`.
        per_call_ms: of a control: how long each call of the routes function is held up.
    """

    kind: str = COMPARE
    per_call_ms: float | None = None

    def shape(self, experiment: Experiment) -> Experiment:
        """Give the experiment its arms: the baseline, and the baseline once more under another name.

        Raises:
            UsageError: a control of an experiment that names no function to hold up.
        """
        if self.kind == COMPARE:
            return experiment
        base = experiment.baseline
        second = self.second(base)
        change: dict[str, object] = {
            "arms": MappingProxyType(dict.fromkeys((base, second), experiment.arms[base]))
        }
        if experiment.routes is not None:
            wanted = experiment.routes.expect.get(base)
            expect = {} if wanted is None else dict.fromkeys((base, second), wanted)
            change["routes"] = experiment.routes.model_copy(
                update={"expect": MappingProxyType(expect)}
            )
        if self.kind == PLANTED:
            _held_up(experiment)
        return experiment.model_copy(update=change)

    def second(self, baseline: str) -> str:
        """Name the arm that stands against the baseline."""
        names = _SECOND[self.kind]
        return names[0] if names[0] != baseline else names[1]

    def edits(self, experiment: Experiment) -> Mapping[tuple[str, str], Edit]:
        """Say which file of which arm is changed after it was made, and how: by arm and target."""
        if self.kind != PLANTED or self.per_call_ms is None:
            return {}
        from abtest.sources.planted import plant

        (target, function), held_s = _held_up(experiment), self.per_call_ms / 1000
        place = (self.second(experiment.baseline), target)
        return {place: lambda made: plant(made, function, held_s)}


TO_COMPARE = Purpose()


def _held_up(experiment: Experiment) -> tuple[str, str]:
    """Find the target and its function that `routes.at` names: `decode`, or `Class.decode`."""
    if experiment.routes is None:
        raise UsageError(
            "a control holds up the function that `routes.at` names, and this experiment has no routes",
            remedy="Add `routes` to the experiment, with a function of the target that every decode step calls.",
        )
    module, _, function = experiment.routes.at.partition(":")
    path = module.replace(".", "/")
    ends = (f"/{path}.py", f"/{path}/__init__.py")
    found = [target for target in experiment.targets if f"/{target}".endswith(ends)]
    if not found:
        raise UsageError(
            f"routes.at names {module}, which is not the target {experiment.target}: nothing can be planted there",
            remedy="Let `routes.at` name a function of the target.",
        )
    return found[0], function
