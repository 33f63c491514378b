"""Where a spread sits: in the prefill, in the kernels, or in neither; as a flag's figures tell it."""

from collections.abc import Callable, Sequence

import pytest

from abtest.model.result import Summary
from abtest.model.trial import Kernel, TrialRecord

Make = Callable[..., TrialRecord]
Summarise = Callable[..., Summary]
TWO_GROUPS = (60.0, 100.0, 61.0, 99.0)  # tok/s of four rounds


def _said(
    make_trial: Make,
    summarise: Summarise,
    stamped: Sequence[float] | None = None,
    kernels_ms: Sequence[float] | None = None,
    rates: Sequence[float] = TWO_GROUPS,
) -> str:
    """Summarise four rounds of `stock` at these rates beside a steady arm; gives the figures of its spread's flags."""
    records = []
    for place, rate in enumerate(rates):
        change: dict[str, object] = {}
        if stamped is not None:
            change["token_s_per_token"] = (1 / stamped[place],) * 3
        if kernels_ms is not None:
            change["kernels"] = (Kernel(0, "a", 1.0, kernels_ms[place]),)
        records += [
            make_trial("stock", place + 1, 1, rate, **change),
            make_trial("fast", place + 1, 2, 150.0),
        ]
    flags = [
        one
        for cell in summarise(records).cells
        for one in cell.flags
        if one.where.startswith("stock")
    ]
    return " ".join(one.figures for one in flags)


def test_stamps_that_move_with_the_rates_acquit_the_prefill(
    make_trial: Make, summarise: Summarise
) -> None:
    said = _said(make_trial, summarise, stamped=TWO_GROUPS)
    assert (
        "by time stamps, which hold no prefill, the spread is 50.0 %: it is not the prefill's jitter"
        in said
    )


def test_stamps_that_stand_still_convict_the_prefill(
    make_trial: Make, summarise: Summarise
) -> None:
    said = _said(make_trial, summarise, stamped=(80.0, 80.4, 79.9, 80.1))
    assert "the spread is 0.6 %: it is the prefill's jitter, amplified" in said


def test_stamps_that_move_by_some_of_it_are_told_without_a_judgement(
    make_trial: Make, summarise: Summarise
) -> None:
    said = _said(make_trial, summarise, stamped=(74.0, 86.0, 74.0, 86.0))
    assert "the spread is 15.0 %" in said
    assert "prefill's" not in said


@pytest.mark.parametrize(
    ("kernels_ms", "verdict"),
    [
        ((1.312, 1.316, 1.317, 1.316), "took 1.312 to 1.317 ms: they do not show it"),
        ((16.5, 9.8, 16.4, 9.9), "took 9.8 to 16.5 ms: they show it too"),
        ((10.0, 11.5, 10.0, 11.5), "took 10 to 11.5 ms"),
    ],
)
def test_kernels_acquit_or_convict_themselves(
    make_trial: Make, summarise: Summarise, kernels_ms: tuple[float, ...], verdict: str
) -> None:
    said = _said(make_trial, summarise, kernels_ms=kernels_ms)
    assert verdict in said
    judged = [text for text in ("they do not show it", "they show it too") if text in said]
    assert judged == [text for text in judged if text in verdict]


def test_nothing_is_told_of_what_some_rounds_lack(make_trial: Make, summarise: Summarise) -> None:
    said = _said(make_trial, summarise)
    assert "would explain it" in said
    assert "time stamps" not in said
    assert "kernels" not in said


def test_a_cell_within_its_gate_has_no_spread_to_place(
    make_trial: Make, summarise: Summarise
) -> None:
    steady = (100.0, 100.5, 99.8, 100.1)
    said = _said(
        make_trial, summarise, stamped=steady, kernels_ms=(1.0, 1.0, 1.0, 1.0), rates=steady
    )
    assert "profiled step" not in said
