"""The experiments on vLLM's Triton attention: both load, and differ in the cards alone."""

from pathlib import Path

import pytest

from abtest.cli.main import main

FOLDER = Path(__file__).resolve().parents[2] / "arms" / "vllm-triton"


@pytest.mark.parametrize("name", ["experiment.yaml", "experiment-tp2.yaml"])
def test_a_dry_run_plans_every_depth_in_both_orders(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(FOLDER / name), "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert "trials: 26, each in a fresh sandbox" in out
    for depth in (1024, 8192, 32768):
        assert f"stock@{depth}" in out
        assert f"singlepass@{depth}" in out


def test_tensor_parallel_2_is_the_same_experiment_on_two_cards() -> None:
    one = (FOLDER / "experiment.yaml").read_text().splitlines()[2:]
    two = (FOLDER / "experiment-tp2.yaml").read_text().splitlines()[2:]
    assert [line for line in one if line not in two] == ["name: vllm-triton", '  gpus: ["0"]']
    more = [line.partition("#")[0].rstrip() for line in two if line not in one]
    assert more == [
        "name: vllm-triton-tp2",
        "  tensor_parallel: 2",
        "    disable_custom_all_reduce: true",
        '  gpus: ["0", "1"]',
        '    VLLM_ALLREDUCE_USE_SYMM_MEM: "0"',
        '    TORCH_SYMM_MEM_DISABLE_MULTICAST: "1"',
        '    NCCL_NVLS_ENABLE: "0"',
        "    NCCL_SOCKET_IFNAME: lo",
        "    GLOO_SOCKET_IFNAME: lo",
    ]
