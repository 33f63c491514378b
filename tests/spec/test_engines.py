"""What each kind of engine needs; and routes that look inside locals."""

from pathlib import Path

import pytest

from abtest.cli.main import main
from abtest.spec.load import parse

GOOD = """\
schema: 1
name: demo
target: pkg/ops/kernel.py
baseline: stock
arms:
  stock: {}
  fast: {env: {FAST: "1"}}
engine:
  kind: vllm
  args: {model: some/model, speculative_config: {method: ngram, num_speculative_tokens: 2}}
depths: [512]
routes:
  at: pkg.ops.kernel:Builder.build
  record: [use_3d, self.num_heads, "splits=metadata@i32[19]"]
  expect: {stock: {splits: 2, self.num_heads: 1}}
caches: warm-per-arm
"""


def test_a_vllm_experiment_with_paths_into_locals_is_accepted(tmp_path: Path) -> None:
    experiment = parse(GOOD, file="x", folder=tmp_path)
    assert experiment.routes is not None
    assert experiment.routes.names == ("use_3d", "self.num_heads", "splits")
    assert experiment.caches == "warm-per-arm"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        pytest.param("model: some/model, ", "", "engine|has no model", id="no-model"),
        pytest.param(
            'fast: {env: {FAST: "1"}}',
            "fast: {args: {speculative_config: null}}",
            "arms.fast|speculates otherwise than 'stock'",
            id="b7-speculation-in-one-arm",
        ),
        pytest.param("kind: vllm", "kind: command", "no program to start|argv", id="no-argv"),
        pytest.param("kind: vllm", "kind: vlm", "engine.kind|'vllm'", id="unknown-kind"),
        pytest.param("[19]", "[x]", "routes.record|alias=local@i32", id="bad-lookup"),
        pytest.param("splits=", "use_3d=", "stands twice", id="alias-twice"),
        pytest.param("{splits: 2", "{split: 2", "expect.stock.split|Recorded are", id="expect"),
        pytest.param("warm-per-arm", "warm", "caches|'cold' or 'warm-per-arm'", id="caches"),
    ],
)
def test_what_the_engine_cannot_do_is_refused_before_anything_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, words: str
) -> None:
    assert GOOD.count(old) == 1
    (tmp_path / "experiment.yaml").write_text(GOOD.replace(old, new))
    assert main(["run", str(tmp_path), "--dry-run"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    for word in words.split("|"):
        assert word in said
