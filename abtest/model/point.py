"""One counted trial as a chart shows it: its rate, where it stood in the plan, and what the machine did meanwhile."""

from dataclasses import dataclass

from abtest.model.names import Cell
from abtest.model.trial import Pair


@dataclass(frozen=True, slots=True)
class Point:
    """One counted trial of a cell.

    Args:
        slot: place inside the block, from 1.
        order: place of the trial in the whole plan, from 1.
        tokens: (n_short, n_long).
        rate_tok_s: tokens per second and sequence, by the differential.
        timestamps_tok_s: the same by time stamps; None where they were not recorded.
        leverage: mean T_short over the trial's difference.
        flags: what the trial's own record says of it.
        power_w: mean power while decoding, in watts; None where none was recorded.
        clock_mhz: mean clock of the compute units while decoding, in megahertz; None where none was recorded.
    """

    cell: Cell
    trial: str
    round: int
    slot: int
    order: int
    tokens: tuple[int, int]
    rate_tok_s: float
    timestamps_tok_s: float | None
    leverage: float | None
    pairs: tuple[Pair, ...]
    flags: tuple[str, ...] = ()
    power_w: float | None = None
    clock_mhz: float | None = None

    @property
    def ms_per_token(self) -> float:
        return 1000 / self.rate_tok_s

    @property
    def pairs_ms_per_token(self) -> tuple[float, ...]:
        """What each pair by itself says, in milliseconds per token; not positive where a stall fell into T_short."""
        count = self.tokens[1] - self.tokens[0]
        return tuple(1000 * (pair.t_long_s - pair.t_short_s) / count for pair in self.pairs)
