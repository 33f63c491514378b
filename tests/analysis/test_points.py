"""The points of the charts are the trials of the cells: same rates, nothing that does not count."""

from collections.abc import Mapping

import pytest

from abtest.analysis.points import points
from abtest.model.telemetry import Telemetry
from abtest.model.trial import Pair, Status
from tests.report.test_html import ARMS, record, records, summary


def test_points_and_cells_have_the_same_rates_in_the_same_order() -> None:
    found = records()
    drawn = points(found, ARMS)
    for cell in summary(found).cells:
        mine = [one for one in drawn if one.cell == cell.cell]
        assert tuple(one.rate_tok_s for one in mine) == cell.rates_tok_s
        assert tuple(one.slot for one in mine) == cell.slots


def test_what_does_not_count_is_no_point() -> None:
    extra = [
        record("fast", 1, 512, status=Status.VOID),
        record("fast", 0, 512, discarded=True),
        record("fast", 9, 512, pairs=(Pair(2.0, 1.0, "short"),)),
        record("other", 1, 512),
    ]
    assert points([*records(), *extra], ARMS) == points(records(), ARMS)
    assert {one.round for one in points(records(), ARMS, (2, 3))} == {2, 3}


@pytest.mark.parametrize(
    ("phases", "clock"),
    [
        ({"decode": {"sm_mhz": 1700.0}}, 1700.0),
        ({"decode": {"sm_mhz": 1700.0}, "steady": {"sm_mhz": 1650.0}}, 1650.0),
        ({"decode": {"sm_mhz": 1700.0}, "steady": {"sm_mhz": None}}, 1700.0),
        ({"prefill": {"sm_mhz": 1900.0}}, None),
        ({"decode": {"sm_mhz": None}}, None),
        ({}, None),
    ],
)
def test_c28_only_readings_of_the_decode_are_taken(
    phases: Mapping[str, Mapping[str, float | None]], clock: float | None
) -> None:
    (one,) = points([record("fast", 1, 512, telemetry=Telemetry(0.2, 9, "stamped", phases))], ARMS)
    assert one.clock_mhz == clock
