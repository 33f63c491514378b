"""`abtest aa` and `abtest control`: what they run, what they exit with, and who names them later."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from abtest.ledger import store
from abtest.runtimes.simulated import SimulatedRuntime

SetRates = Callable[[dict[str, Sequence[float]]], None]
EVEN = [1.0, 1.001, 0.999, 1.0]


def simulated(desk: Any, command: str, *arguments: str) -> int:
    return int(
        desk.shell(command, str(desk.experiment), "--simulate", "--depths", "512", *arguments)
    )


def test_an_a_a_run_compares_the_baseline_with_itself_and_prints_the_floor(desk: Any) -> None:
    assert simulated(desk, "aa") == 0
    assert re.search(r"noise floor at 512, n = 4: \d\.\d % \(ratio [01]\.\d{3}, ", desk.out)
    assert "routes-equal" not in desk.out
    body = json.loads((desk.latest / store.RUN).read_text())
    assert (body["purpose"], list(body["arms"])) == ("aa", ["stock", "again"])
    assert body["arms"]["stock"] == body["arms"]["again"]
    assert body["run"].startswith("reference-decode-aa-")
    (floor,) = desk.summary()["noise_floor"]
    assert floor["floor_pct"] == pytest.approx(100 * max(1 - floor["low"], floor["high"] - 1))


def test_the_same_file_that_differs_from_itself_exits_with_1(
    desk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both arms have one file, so the machine is told apart by the slot: the arm is read from the trial's name."""
    plain = SimulatedRuntime.report

    def report(self: SimulatedRuntime, request: Any) -> dict[str, Any]:
        found = plain(self, request)
        if request.trial.endswith("-again"):
            for pair in found["pairs"]:
                pair["t_long_s"] -= 0.1
        return found

    monkeypatch.setattr(SimulatedRuntime, "report", report)
    assert simulated(desk, "aa") == 1
    assert "the same file in both arms, and yet they differ" in desk.out
    assert "one time in twenty" in desk.err


def test_only_aa_lets_equal_arms_through(desk: Any, tmp_path: Path) -> None:
    text = (desk.experiment / "experiment.yaml").read_text()
    source = desk.experiment / "refengine/ops/paged_attention.py"
    (tmp_path / "experiment.yaml").write_text(
        text.replace("file: splitkv.py", f"file: {source}").replace(
            "pythonpath: [.]", f"pythonpath: [{desk.experiment}]"
        )
    )
    desk.experiment = tmp_path
    for command in ("run", "control"):
        more = [] if command == "run" else ["--per-call-ms", "1"]
        code = simulated(desk, command, *more)
        assert ("are equal" in desk.err) == (command == "run")
        assert (code == 2) == (command == "run")
    assert simulated(desk, "aa") == 0


def test_too_few_rounds_have_no_floor(desk: Any) -> None:
    assert simulated(desk, "aa", "--rounds", "2") == 5
    assert "no noise floor" in desk.err
    assert "noise floor at" not in desk.out


def test_a_control_finds_what_was_planted(desk: Any, set_rates: SetRates) -> None:
    set_rates({"stock": EVEN, "planted": [1.05 * one for one in EVEN]})  # 20 ms, and 1 ms more
    assert simulated(desk, "control", "--per-call-ms", "1") == 0
    assert "planted 1.00 ms per token (1 ms per call x 1 decode call per token, +5.0 %)" in desk.out
    assert ": found" in desk.out
    body = json.loads((desk.latest / store.RUN).read_text())
    assert (body["purpose"], body["planted_ms_per_call"]) == ("control", 1.0)
    (staged,) = [
        path
        for path in (desk.latest / "staged").iterdir()
        if b"planted by a control" in path.read_bytes()
    ]
    assert b"perf_counter() + 0.001 " in staged.read_bytes()


@pytest.mark.parametrize("factor", [1.02, 1.2, 0.95])
def test_a_control_that_finds_another_amount_exits_with_1(
    factor: float, desk: Any, set_rates: SetRates
) -> None:
    set_rates({"stock": EVEN, "planted": [factor * one for one in EVEN]})
    assert simulated(desk, "control", "--per-call-ms", "1") == 1
    assert "the interval does not hold what was planted, at 512" in desk.err
    assert ": missed" in desk.out


@pytest.mark.parametrize("scale", [0.8, 1.2])
def test_an_estimator_that_is_off_by_a_fifth_is_missed(
    scale: float, desk: Any, set_rates: SetRates, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The machine does just what was planted; what is wrong is the time that it is told to take, in both arms."""
    set_rates({"stock": EVEN, "planted": [1.05 * one for one in EVEN]})
    true = SimulatedRuntime.report

    def report(self: SimulatedRuntime, request: Any) -> dict[str, Any]:
        found = true(self, request)
        for pair in found["pairs"]:
            pair["t_long_s"] = pair["t_short_s"] + scale * (pair["t_long_s"] - pair["t_short_s"])
        return found

    monkeypatch.setattr(SimulatedRuntime, "report", report)
    assert simulated(desk, "control", "--per-call-ms", "1") == 1
    assert f"found {scale:.3f} ms" in desk.out
    assert ": missed" in desk.out
    assert "a core to itself" in desk.err


def test_an_interval_that_holds_nothing_and_the_planted_amount_exits_with_5(
    desk: Any, set_rates: SetRates
) -> None:
    set_rates({"stock": EVEN, "planted": [1.0, 1.06, 1.05, 0.99]})
    assert simulated(desk, "control", "--per-call-ms", "0.5") == 5
    assert ": too noisy" in desk.out


def test_a_control_of_two_rounds_measures_nothing(desk: Any) -> None:
    assert simulated(desk, "control", "--rounds", "2") == 5
    assert "not measured" in desk.out


@pytest.mark.parametrize("amount", ["0", "-1", "nan", "1001"])
def test_an_amount_that_cannot_be_planted_is_refused(amount: str, desk: Any) -> None:
    assert simulated(desk, "control", "--per-call-ms", amount) == 2
    assert not desk.results.exists()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("routes:", "limits:", "has no routes"),
        (
            "at: refengine.ops.paged_attention:decode",
            "at: refengine.model:decode",
            "is not the target",
        ),
        ("paged_attention:decode", "paged_attention:nobody", "defines no nobody"),
    ],
)
def test_a_control_without_a_function_to_hold_up_is_refused(
    old: str, new: str, words: str, desk: Any, tmp_path: Path
) -> None:
    text = (desk.experiment / "experiment.yaml").read_text()
    text = text.replace("pythonpath: [.]", f"pythonpath: [{desk.experiment}]").replace(
        "file: splitkv.py", f"file: {desk.experiment}/splitkv.py"
    )
    if "limits" in new:
        text = text[: text.index(old)]
    (tmp_path / "experiment.yaml").write_text(text.replace(old, new))
    desk.experiment = tmp_path
    assert simulated(desk, "control") == 2
    assert words in desk.err


def test_a_control_is_resumed_and_extended_as_what_it_is(desk: Any) -> None:
    simulated(desk, "control", "--per-call-ms", "2")
    desk.cut(5)
    desk.shell("run", str(desk.experiment), "--resume", "latest")
    assert desk.rounds() == sorted([1, 2, 3, 4] * 2)
    desk.shell("rerun", "latest", "--cell", "planted@512", "--rounds", "2")
    assert desk.rounds() == sorted([1, 2, 3, 4, 5, 6] * 2)
    assert "control at 512, n = 6: planted 2.00 ms" in desk.out


def test_the_footer_names_the_last_ones_for_the_same_image_and_host(desk: Any) -> None:
    assert desk.run() == 0
    for word in ("A/A (the noise floor)", "control (a planted slow-down)"):
        assert f"last {word} for this image and kind of host: none" in desk.out
    first = desk.latest.resolve()
    simulated(desk, "aa")
    named = desk.latest.resolve().name
    simulated(desk, "control", "--per-call-ms", "3")
    aa, control = desk.shell("summary", str(first)) or desk.out, desk.latest.resolve().name
    assert f"image and kind of host: {named}, 20" in " ".join(aa.split())
    assert "noise floor at 512" in aa
    assert control in aa.replace("\n", " ")
    last = {one["kind"]: one["run"] for one in desk.summary()["last_controls"]}
    assert last == {"aa": named, "control": None}  # a control does not vouch for itself


def test_one_that_measured_something_is_named_before_a_newer_one_that_was_interrupted(
    desk: Any,
) -> None:
    assert desk.run() == 0
    first = desk.latest.resolve()
    simulated(desk, "aa")
    measured = desk.latest.resolve().name
    simulated(desk, "aa")
    desk.cut(1)
    desk.shell("summary", str(first))
    assert f"image and kind of host: {measured}, 20" in " ".join(desk.out.split())
    assert "nothing was measured" not in desk.out


@pytest.mark.parametrize("key", ["host", "isolation", "image"])
def test_a_control_of_another_place_is_not_named(key: str, desk: Any) -> None:
    simulated(desk, "aa")
    path = desk.latest.resolve() / store.RUN
    body = json.loads(path.read_text())
    body[key] = {**body["image"], "id": "another"} if key == "image" else "another"
    path.write_text(json.dumps(body))
    assert desk.run() == 0
    assert "last A/A (the noise floor) for this image and kind of host: none" in desk.out


def test_a_damaged_neighbour_does_not_spoil_a_summary(desk: Any) -> None:
    simulated(desk, "aa")
    (desk.latest.resolve() / store.RUN).write_text("{")
    assert desk.run() == 0
    assert "last A/A (the noise floor) for this image and kind of host: none" in desk.out


def test_runs_of_older_versions_are_still_read(desk: Any) -> None:
    assert desk.run() == 0
    path = desk.latest.resolve() / store.RUN
    body = json.loads(path.read_text())
    del body["purpose"], body["planted_ms_per_call"]
    path.write_text(json.dumps(body))
    assert desk.shell("summary", "latest") == 0
    del body["host"]
    path.write_text(json.dumps(body))
    assert desk.shell("summary", "latest") == 3


def test_an_unproved_control_exits_with_3(desk: Any) -> None:
    simulated(desk, "control", "--per-call-ms", "2")
    path = desk.latest / store.LEDGER
    lines = path.read_text().splitlines()
    lines[-1] = lines[-1].replace('"status":"ok"', '"status":"invalid"')
    path.write_text("\n".join(lines) + "\n")
    assert desk.shell("summary", "latest") == 3


def test_the_comment_and_the_page_name_the_last_ones_too(desk: Any, tmp_path: Path) -> None:
    assert desk.run() == 0
    first, page = desk.latest.resolve(), tmp_path / "page.html"
    simulated(desk, "aa")
    named = desk.latest.resolve().name
    assert desk.shell("export", str(first), "--pr") == 0
    assert f"last A/A (the noise floor) for this image and kind of host: {named}" in desk.out
    assert "\n  * noise floor at 512" in desk.out
    assert "last control (a planted slow-down) for this image and kind of host: none" in desk.out
    assert desk.shell("report", str(first), "--out", str(page)) == 0
    assert f"for this image and kind of host: {named}" in page.read_text()
