"""Where the scatter comes from: inside a sandbox, or between sandboxes (one-way random effects, Searle 1971)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from abtest.analysis import moments

LEVEL = 0.05  # of the F test


@dataclass(frozen=True, slots=True)
class Components:
    """Variance components of R sandboxes with k values each.

    Args:
        between: standard deviation between sandboxes, in the values' unit; 0 where none is seen.
        within: standard deviation inside a sandbox.
        f: MSB / MSW; p: its chance when sandboxes do not differ.
        standard_error: of the mean over all, with R - 1 degrees of freedom.
    """

    between: float
    within: float
    f: float
    p: float
    standard_error: float
    degrees: tuple[int, int]

    @property
    def significant(self) -> bool:
        return self.p <= LEVEL


def components(groups: Sequence[Sequence[float]]) -> Components | None:
    """Split the scatter of equally large groups; None where there are fewer than two groups or values.

    Values inside a sandbox never make the mean over sandboxes more certain than R - 1 degrees allow.
    """
    sizes = {len(group) for group in groups}
    count = len(groups)
    if count < 2 or len(sizes) != 1 or min(sizes) < 2:  # noqa: PLR2004 - a variance needs two
        return None
    size = sizes.pop()
    means = [sum(group) / size for group in groups]  # a few values each: plain sums lose nothing
    inside = math.fsum(
        [(value - mean) ** 2 for group, mean in zip(groups, means, strict=True) for value in group]
    ) / (count * (size - 1))
    across = size * moments.variance(means)
    if inside <= 0:
        return None
    from scipy.special import fdtrc

    degrees = (count - 1, count * (size - 1))
    ratio = across / inside
    return Components(
        between=math.sqrt(max(0.0, (across - inside) / size)),
        within=math.sqrt(inside),
        f=ratio,
        p=float(fdtrc(*degrees, ratio)),
        standard_error=math.sqrt(across / (count * size)),
        degrees=degrees,
    )
