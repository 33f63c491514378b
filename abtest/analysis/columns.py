"""What the counted trials of each cell say, in columns: of 100 000 trials a summary asks everything at once.

Where all trials are alike (as many pairs and stamps in each, and every difference a time) the columns are worked out
together. Every digit is the one that `estimate` gives: the same operations in the same order, sums rounded once.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import chain, compress
from typing import TYPE_CHECKING, Any, NamedTuple

from abtest.analysis.counting import Counted
from abtest.analysis.differential import (
    LEAST_S,
    MEDIAN_FROM_PAIRS,
    TrialEstimate,
    efficiency,
    estimate,
)
from abtest.model.names import Cell
from abtest.model.trial import TrialRecord

if TYPE_CHECKING:  # loading numpy takes longer than a small summary
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[np.float64]

TOGETHER_FROM = 1000  # trials
BATCH = 4096  # trials: what is gathered of them fits a processor's cache
Table = tuple["Array | None", ...]  # the columns of `Columns`; None where no trial can have a value


class Columns(NamedTuple):
    """What some trials say, one entry per trial in each column; the columns are those of a `TrialEstimate`."""

    rate_tok_s: Sequence[float | None]
    difference_s: Sequence[float]
    within_se_pct: Sequence[float | None]
    timestamps_tok_s: Sequence[float | None]
    deviation_s: Sequence[float | None]
    differences_s: Sequence[Sequence[float]]
    short_s: Sequence[Sequence[float]]

    def only(self, chosen: Sequence[bool]) -> "Columns":
        """Keep the chosen trials."""
        return Columns(*(list[Any](compress(column, chosen)) for column in self))


def of_rows(rows: Sequence[TrialEstimate]) -> Columns:
    """Turn estimates, one per trial, into columns."""
    return Columns(*([getattr(row, name) for row in rows] for name in Columns._fields))


class Estimates:
    """Estimates of all records that count, by cell and in time order."""

    def __init__(self, counted: Counted) -> None:
        records = counted.records
        self._places: Mapping[Cell, Sequence[int]] = counted.places
        self._table = together(records) if len(records) >= TOGETHER_FROM else None
        self._rows = [] if self._table else [estimate(record) for record in records]

    def of(self, cell: Cell) -> Columns:
        """Give the columns of one cell, empty ones where nothing of it counts."""
        places = self._places.get(cell, ())
        if self._table is None:
            return of_rows([self._rows[place] for place in places])
        import numpy as np

        at = np.array(places, int)
        picked: list[Any] = [
            [None] * len(at) if one is None else one[at].tolist() for one in self._table
        ]
        return Columns(*picked)


def together(records: Sequence[TrialRecord]) -> Table | None:
    """Estimate many trials at once; None where they are not alike, or not all of their times are times."""
    import numpy as np

    pairs = {len(record.pairs) for record in records}
    stamps = {len(record.token_s_per_token) for record in records}
    if len(pairs) != 1 or len(stamps) != 1 or 0 in pairs:
        return None
    tables: list[Table] = []
    with np.errstate(all="ignore"):  # what comes of it is looked at
        for first in range(0, len(records), BATCH):
            table = _table(records[first : first + BATCH])
            if table is None:
                return None
            tables.append(table)
    columns = zip(*tables, strict=True)
    return tuple(None if one[0] is None else np.concatenate(one) for one in columns)


def _table(records: Sequence[TrialRecord]) -> Table | None:
    import numpy as np

    rows = (len(records), -1)
    short_s = np.array([pair.t_short_s for one in records for pair in one.pairs], float)
    long_s = np.array([pair.t_long_s for one in records for pair in one.pairs], float)
    stamps_s = np.fromiter(chain.from_iterable([one.token_s_per_token for one in records]), float)
    tokens = np.array([one.tokens[1] - one.tokens[0] for one in records], float)
    all_s = (long_s - short_s).reshape(rows)
    count = all_s.shape[1]
    mean_s = _sums(all_s) / count
    central_s = _medians(all_s) if count >= MEDIAN_FROM_PAIRS else mean_s
    stamped_s = _medians(stamps_s.reshape(rows)) if len(stamps_s) else None
    deviation_s = within_pct = None
    if count > 1:
        rest_s = all_s - mean_s[:, None]
        deviation_s = np.sqrt(_sums(rest_s * rest_s) / (count - 1))
        within_pct = 100 * (deviation_s / math.sqrt(count) / mean_s) * efficiency(count)
    if not all(map(_are_times, (mean_s, central_s, *(() if stamped_s is None else (stamped_s,))))):
        return None
    return (
        tokens / central_s,
        central_s,
        within_pct,
        None if stamped_s is None else 1 / stamped_s,
        deviation_s,
        all_s,
        short_s.reshape(rows),
    )


def _are_times(values_s: "Array") -> bool:
    return bool(((values_s >= LEAST_S) & (values_s < math.inf)).all())


def _sums(rows: "Array") -> "Array":
    """Sum each row, rounded once."""
    import numpy as np

    return np.fromiter(map(math.fsum, rows.tolist()), float, len(rows))


def _medians(rows: "Array") -> "Array":
    import numpy as np

    ordered, half = np.sort(rows, axis=1), rows.shape[1] // 2
    middle: Array = ordered[:, half]
    return middle if rows.shape[1] % 2 else (ordered[:, half - 1] + middle) / 2
