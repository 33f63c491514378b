"""The HTML page as text: what it holds, and that nothing foreign becomes markup."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from abtest.analysis.points import points
from abtest.analysis.summary import summarize
from abtest.cli.main import main
from abtest.model.result import Summary
from abtest.model.telemetry import Telemetry
from abtest.model.trial import Pair, RouteCount, Status, TrialRecord
from abtest.report import html
from abtest.report.html import Provenance

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>'\"&\x1b[2J\u202e"
ARMS = ("stock", "fast")
TAU_S = {"stock": 0.02, "fast": 0.01}


def record(arm: str, number: int, depth: int, **change: object) -> TrialRecord:
    """A trial whose time per token grows with depth for the baseline alone."""
    tau_s = TAU_S.get(arm, 0.01) * (1 + (depth / 4096 if arm == "stock" else 0) + 0.002 * number)
    slot = 1 + ((arm == "fast") == (number in {1, 4}))
    pair = Pair(1.0, 1.0 + 56 * tau_s, "short")
    values: dict[str, object] = {
        "run": "demo-1", "trial": f"r{number}-{depth}-{arm}", "spec_sha256": "s", "arm": arm, "depth": depth,
        "batch": 1, "round": number, "slot": slot, "order": 2 * number + slot,
        "discarded": False, "status": Status.OK, "started_at": "", "isolation": "imported", "tokens": (8, 64),
        "pairs": (pair, replace(pair, first="long")), "token_s_per_token": (tau_s,),
        "routes": (RouteCount(0, "decode", {"fast": arm == "fast"}, 3),),
        "telemetry": Telemetry(0.2, 9, "stamped", {"decode": {"sm_mhz": 1755.0, "power_w": 512.5}}),
    }  # fmt: skip
    return TrialRecord(**{**values, **change})  # type: ignore[arg-type]  # the fields vary


def records(depths: tuple[int, ...] = (512, 8192), **change: object) -> list[TrialRecord]:
    return [
        record(arm, number, depth, **change)
        for number in range(1, 5)
        for depth in depths
        for arm in ARMS
    ]


def batched(depths: tuple[int, ...], batches: tuple[int, ...] = (1, 4, 16)) -> list[TrialRecord]:
    """Records of every depth at every batch, each with a trial of its own."""
    return [
        replace(one, batch=batch, trial=f"{one.trial}-x{batch}")
        for batch in batches
        for one in records(depths)
    ]


def summary(found: list[TrialRecord], arms: tuple[str, ...] = ARMS, **change: str) -> Summary:
    return summarize(
        found,
        run=change.get("run", "demo-1"),
        experiment=change.get("experiment", "demo"),
        baseline=arms[0],
        arms=arms,
    )


def page(found: list[TrialRecord], arms: tuple[str, ...] = ARMS, **change: str) -> str:
    origin = Provenance(
        (("The run", (("started", change.get("started", "2026")),)),), "abtest run x"
    )
    return html.render(summary(found, arms, **change), points(found, arms), found, origin)


class Tags(HTMLParser):
    """Collects the elements of a page and the attributes that could load or run something."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.loading: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.loading += [
            (name, value)
            for name, value in attrs
            if name in {"src", "href", "srcset", "style", "data", "action"} or name.startswith("on")
        ]


def tags(text: str) -> Tags:
    parser = Tags()
    parser.feed(text)
    return parser


def test_every_counted_round_and_every_pair_is_a_point() -> None:
    text = page(records())
    assert len(re.findall(r'class="mark arm\d" ', text)) >= 16 * 4  # four depth charts
    assert len(re.findall(r'class="mark arm\d small" ', text)) == 16
    assert len(re.findall(r'class="mark arm\d hollow small" ', text)) == 16


def test_the_page_loads_nothing_and_has_one_script() -> None:
    found = tags(page(records()))
    assert found.names.count("script") == 1
    assert not {"link", "img", "iframe", "object", "embed", "base", "form"} & set(found.names)
    assert all(
        name == "href" and value is not None and value.startswith("#")
        for name, value in found.loading
    )


def test_hostile_names_reasons_and_facts_stay_text() -> None:
    odd = [
        *records(),
        record(
            "stock", 1, 512, trial=HOSTILE, status=Status.FAILED, reason=HOSTILE, flags=(HOSTILE,)
        ),
        record(HOSTILE, 1, 512),
    ]
    clean, text = (
        tags(page(records())),
        page(odd, (*ARMS, HOSTILE), run=HOSTILE, experiment=HOSTILE, started=HOSTILE),
    )
    assert set(tags(text).names) <= {*clean.names, "path", "span"}  # a third shape, and flags
    assert tags(text).names.count("script") == 1
    assert "<img" not in text
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "&lt;script&gt;alert(1)" in text


def test_an_inconclusive_ratio_is_never_in_large_type() -> None:
    text = page([one for one in records() if one.round <= 2])
    large = re.findall(r'<div class="big">(.*?)</div>', text)
    assert large == ["inconclusive", "inconclusive"]
    assert 'soft">observed' in text


def test_a_claimed_ratio_is_in_large_type() -> None:
    text = page([replace(one, isolation="docker", environment={}) for one in records()])
    large = re.findall(r'<div class="big">(.*?)</div>', text)
    assert large == ["invalid", "invalid"], "without identity nothing is claimed"
    assert 'soft">observed' not in text
    assert "Speed-up by condition" not in text
    claimed = page(records(isolation="simulated"))
    assert re.findall(r'<div class="big">(.*?)</div>', claimed) == ["2.25\u00d7", "5.98\u00d7"]
    assert len(re.findall("faster</span>", claimed)) == 2


def test_without_telemetry_the_page_says_what_it_cannot_tell() -> None:
    text = page(records(telemetry=None))
    assert "No trial recorded power or clock" in text
    assert "clock not recorded" in text
    assert "Power against depth" not in text
    assert "Power against depth" in page(records())


def test_a_run_without_a_rate_is_a_page_too() -> None:
    text = page([record("stock", 1, 512, status=Status.FAILED, pairs=(), reason="start-timeout")])
    assert "No trial has a rate" in text
    assert "start-timeout" in text
    assert "Nothing can be compared" in page([])


def test_the_command_writes_the_page_and_prints_its_path(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = [
        "run",
        str(repository / "arms" / "reference"),
        "--simulate",
        "--rounds",
        "2",
        "--depths",
        "512",
    ]
    assert main([*run, "--results", str(tmp_path)]) == 0
    capsys.readouterr()
    assert main(["report", "latest", "--results", str(tmp_path)]) == 0
    path = Path(capsys.readouterr().out.strip())
    assert path == (tmp_path / "latest").resolve() / "report.html"
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    out = tmp_path / "other.html"
    assert main(["report", "latest", "--out", str(out), "--results", str(tmp_path)]) == 0
    assert "abtest run" in out.read_text(encoding="utf-8")
    nowhere = str(tmp_path / "no" / "x.html")
    assert main(["report", "latest", "--out", nowhere, "--results", str(tmp_path)]) == 2
    assert "cannot be written" in capsys.readouterr().err
