"""What committed runs say: real machines' data as the tool reads it today."""

from pathlib import Path

from abtest.cli.summary import summary_of

H200 = "results/h200-vllm-0.26/vllm-triton-20261130T114332Z-fanu"
FEW = "results/h200-vllm-0.26/vllm-triton-20261130T100119Z-omdm"
FLOOR = "results/reference-2-cores/reference-decode-aa-20261130T101917Z-falp"


def test_the_starved_kernel_draws_less_power_the_deeper_the_context(repository: Path) -> None:
    """Power fell with depth in the single-pass arm only: the published sign, on another vendor's card."""
    summary, _ = summary_of(repository / H200)
    fallen = [one for one in summary.flags if one.name == "power-falls"]
    assert [one.where for one in fallen] == ["singlepass@32768"]
    assert "149 W at 32768" in fallen[0].figures


def test_few_rounds_on_a_real_card_carry_no_verdict(repository: Path) -> None:
    summary, _ = summary_of(repository / FEW)
    assert {effect.verdict for effect in summary.effects} == {"inconclusive"}


def test_the_spread_of_a_real_cell_is_put_down_to_neither_the_kernel_nor_the_prefill(
    repository: Path,
) -> None:
    """Four rounds on two machines: the steps fell into two groups, the profiled kernels did not."""
    summary, _ = summary_of(repository / H200)
    cell = next(one for one in summary.cells if str(one.cell) == "stock@1024")
    (modes,) = [one.figures for one in cell.flags if one.name == "bimodal?"]
    assert "2 rounds near 494.89 and 2 near 703.68" in modes
    assert "it is not the prefill's jitter" in modes
    assert "took 1.312 to 1.317 ms: they do not show it" in modes


def test_the_same_file_in_both_arms_is_no_winner(repository: Path) -> None:
    summary, _ = summary_of(repository / FLOOR)
    assert {effect.verdict for effect in summary.effects} == {"inconclusive"}
    interval = next(one.interval for one in summary.effects if one.condition.depth == 512)
    assert interval is not None
    assert interval.low < 1 < interval.high
