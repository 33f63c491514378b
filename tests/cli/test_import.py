"""`abtest import`: foreign results become a ledger whose summary shows what was published from them."""

import json
from pathlib import Path

import pytest

from abtest.cli.main import main

PUBLISHED = Path(__file__).resolve().parent.parent / "golden" / "published.csv"
# What was published from the figures in that file: a controlled A/B of two attention kernels.
SPEEDUPS = {1024: "1.38", 8192: "3.52", 32768: "9.46"}
MS_AT_32768 = {"stock": "261.9", "splitkv": "27.7"}
SLOPES = {"stock": "7.408", "splitkv": "0.262"}
RETENTIONS_PCT = {"stock": "10.2", "splitkv": "70.0"}


@pytest.fixture
def imported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    out = tmp_path / "published"
    assert main(["import", str(PUBLISHED), "--out", str(out)]) == 0
    assert "14 records of stock, splitkv at 3 conditions, 4 rounds" in capsys.readouterr().out
    return out


def summary(
    run: Path, capsys: pytest.CaptureFixture[str], *more: str, code: int = 0
) -> dict[str, list[dict[str, object]]]:
    assert main(["summary", str(run), "--format", "json", *more]) == code
    body = json.loads(capsys.readouterr().out)
    assert isinstance(body, dict)
    return body


def cell(body: dict[str, list[dict[str, object]]], arm: str, depth: int) -> dict[str, object]:
    return next(one for one in body["cells"] if (one["arm"], one["depth"]) == (arm, depth))


def flags(found: dict[str, object]) -> dict[str, str]:
    listed = found["flags"]
    assert isinstance(listed, list)
    return {one["name"]: one["figures"] for one in listed}


def test_every_published_digit_comes_out(
    imported: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = summary(imported, capsys)
    speedups = {one["depth"]: f"{one['speedup']:.2f}" for one in body["effects"]}
    assert speedups == SPEEDUPS
    for arm, digits in MS_AT_32768.items():
        assert f"{cell(body, arm, 32768)['ms_per_token']:.1f}" == digits
    assert {one["arm"]: f"{one['slope_ms_per_1000']:.3f}" for one in body["depth"]} == SLOPES
    kept = {one["arm"]: f"{one['retention_pct']:.1f}" for one in body["depth"]}
    assert kept == RETENTIONS_PCT
    assert f"{cell(body, 'splitkv', 8192)['spread_pct']:.1f}" == "16.8"
    first = summary(imported, capsys, "--rounds", "1-2")
    assert f"{cell(first, 'splitkv', 8192)['spread_pct']:.1f}" == "15.8"


def test_the_disturbed_cell_says_what_it_is_and_what_would_explain_it(
    imported: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = cell(summary(imported, capsys), "splitkv", 8192)
    named = flags(found)
    assert {"suspect", "bimodal?"} <= named.keys()
    assert "order-confounded" not in named
    assert "p = 0.14" in named["bimodal?"]
    assert "jitter of 74.3 ms (0.97 % of T_short)" in " ".join(named.values())
    assert f"{found['leverage']:.1f}" == "6.0"


def test_the_table_says_that_the_figures_are_foreign(
    imported: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["summary", str(imported)]) == 0
    said = capsys.readouterr().out
    assert "isolation: imported" in said
    assert "identity: imported" in said
    assert "imported (from published.csv, sha256 " in said
    assert all(digits in said for digits in ("1.38x", "3.52x", "9.46x", "261.9", "70.0 %"))


def test_a_record_carries_no_identity(imported: Path) -> None:
    for line in (imported / "ledger.jsonl").read_text().splitlines():
        record = json.loads(line)
        assert (record["isolation"], record["flags"], record["identity"]) == (
            "imported",
            ["imported"],
            [],
        )


def test_an_imported_folder_is_sound_until_someone_changes_it(
    imported: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", str(imported)]) == 0
    ledger = imported / "ledger.jsonl"
    ledger.write_text(ledger.read_text() + "more\n")
    capsys.readouterr()
    assert main(["verify", str(imported)]) == 1
    assert "line 15: not a record" in capsys.readouterr().out


def test_another_baseline_turns_the_ratio_round(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "out")
    assert main(["import", str(PUBLISHED), "--out", out, "--baseline", "splitkv"]) == 0
    capsys.readouterr()
    effects = summary(tmp_path / "out", capsys)["effects"]
    assert [f"{one['speedup']:.3f}" for one in effects] == ["0.725", "0.284", "0.106"]


def test_repetitions_of_llama_bench_are_summarised(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No prefill in the time: leverage 0, and no prefill jitter is blamed for a wide spread."""
    lines = [
        {"build_commit": build, "n_prompt": 0, "n_gen": 64, "n_depth": 512, "samples_ns": [time, time + 1000]}
        for build, time in (("aa", 500_000_000), ("bb", 250_000_000), ("bb", 320_000_000), ("aa", 500_100_000))
    ]  # fmt: skip
    file, out = tmp_path / "bench.jsonl", tmp_path / "out"
    prompt = json.dumps({**lines[0], "n_prompt": 512, "n_gen": 0})
    file.write_text("\n".join([prompt, *map(json.dumps, lines)]))
    assert main(["import", str(file), "--out", str(out)]) == 0
    assert "not imported: 1 tests of the prompt alone" in capsys.readouterr().err
    body = summary(out, capsys)
    assert cell(body, "aa", 512)["leverage"] == 0
    assert cell(body, "aa", 512)["mean_tok_s"] == pytest.approx(127.987, abs=1e-3)
    assert "jitter" not in flags(cell(body, "bb", 512))["suspect"]
    assert body["effects"][0]["speedup"] == pytest.approx(1.782, abs=1e-3)


def test_one_arm_alone_is_imported_and_its_summary_says_that_nothing_was_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "one.csv"
    file.write_text("arm,depth,round,order_in_round,t8_s,t64_s\na,512,1,1,0.5,1.5\n")
    assert main(["import", str(file), "--out", str(tmp_path / "out")]) == 0
    assert main(["summary", str(tmp_path / "out")]) == 5
    assert "nothing could be compared" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"arm,depth\n", "line 1: columns missing"),
        (b"\xff\xfe", "byte 0 is not UTF-8"),
        (b"", "holds no row"),
        (b"{}\n", "line 1: not a test of llama-bench"),
    ],
)
def test_a_file_that_cannot_be_taken_exits_with_2_and_leaves_no_folder(
    content: bytes, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bad"
    file.write_bytes(content)
    assert main(["import", str(file), "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr()
    assert words in said.err
    assert said.out == ""
    assert list(tmp_path.iterdir()) == [file]


def test_a_missing_file_a_taken_folder_and_an_unknown_baseline_exit_with_2(
    imported: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments, words in (
        ([str(tmp_path / "no.csv"), "--out", str(tmp_path / "x")], "cannot be read"),
        ([str(PUBLISHED), "--out", str(imported)], "exists already"),
        ([str(PUBLISHED), "--out", str(tmp_path / "x"), "--baseline", "nobody"], "no such arm"),
    ):
        assert main(["import", *arguments]) == 2
        assert words in capsys.readouterr().err


def test_an_imported_run_cannot_be_gone_on_with(
    imported: Path, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["rerun", str(imported), "--cell", "splitkv@8192"]) == 2
    assert "was imported" in capsys.readouterr().err
    experiment = str(repository / "arms" / "reference")
    assert main(["run", experiment, "--resume", str(imported)]) == 2
    assert "was imported" in capsys.readouterr().err
