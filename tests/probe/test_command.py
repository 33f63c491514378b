"""Any program as an engine: the documented example, and programs that break the protocol."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

KERNEL = "def decode(place: int) -> int:\n    use_fast = False\n    return place % 251\n"
EXAMPLE = "docs/examples/command_engine.py"
Trial = Callable[..., SimpleNamespace]


@pytest.fixture
def command_trial(
    repository: Path,
    library: Path,
    trial_request: dict[str, Any],
    run_probe: Callable[[dict[str, Any]], SimpleNamespace],
) -> Trial:
    """Run the example as an engine, with one place of its text changed."""
    (library / "toykernel.py").write_text(KERNEL)

    def run(old: str = "", new: str = "", **changes: Any) -> SimpleNamespace:
        text = (repository / EXAMPLE).read_text()
        assert not old or text.count(old) == 1
        (library / "command_engine.py").write_text(text.replace(old, new) if old else text)
        engine = {
            "kind": "command",
            "tensor_parallel": 1,
            "args": {"argv": [sys.executable, "command_engine.py"], "speed": 3},
        }
        routes = {"at": "toykernel:decode", "record": ["place", "use_fast"]}
        return run_probe(
            {
                **trial_request,
                "engine": engine,
                "targets": ["toykernel.py"],
                "routes": routes,
                "depth": 5,
                **changes,
            }
        )

    return run


def test_the_documented_example_is_measured_and_proved(command_trial: Trial, library: Path) -> None:
    report = command_trial(batch=2).answer
    assert report["error"] is None
    assert [one["path"] for one in report["identity"]] == [str(library / "toykernel.py")] * 2
    assert all(one["match"] for one in report["identity"])
    assert {route["phase"] for route in report["routes"]} == {"decode"}
    assert report["outputs"]["ids"][0][:3] == [5, 6, 7]
    assert len(report["token_s_per_token"]) == 2
    assert report["environment"]["engine.version"] == "toy-1"
    assert report["environment"]["engine.depth"] == "5"
    assert report["flags"] == []


@pytest.mark.parametrize(
    ("old", "new", "expected", "words"),
    [
        pytest.param('range(asked["n"])', "range(3)", "wrong-token-count", "asked for 8", id="c17"),
        pytest.param('import_module("toykernel")  #', "raise OSError('no card')  #", "engine-init", "no card", id="init"),
        pytest.param("[len(prompt) for", "[9 for", "wrong-prompt-length", "counted [9]", id="c19"),
        pytest.param('"cached_tokens": [0] * len(rows),', "", "prefix-cache-hit", "[-1]", id="c12-untold"),
        pytest.param("time.perf_counter() - begin_s", "1e6", "bad-clock", "1000000", id="clock"),
        pytest.param("for _ in range", "os._exit(7)\n    for _ in range", "engine-error", "exit code 7", id="dies"),
        pytest.param('"abtest.probe.worker" in sys.modules or _has_probe()', "False", "no-worker-evidence", "processes []", id="no-calls"),
        pytest.param("[os.getpid()]", "[1]", "no-worker-evidence", "workers are [1]", id="a13"),
    ],
)  # fmt: skip
def test_a_program_that_does_something_else_is_refused(
    command_trial: Trial, old: str, new: str, expected: str, words: str
) -> None:
    error = command_trial(old, new).answer["error"]
    assert error["name"] == expected, error
    assert words in error["message"]


def test_a_program_that_does_not_tell_its_tokens_is_flagged(command_trial: Trial) -> None:
    report = command_trial('"token_ids": rows', '"produced": [len(row) for row in rows]').answer
    assert (report["error"], report["outputs"]) == (None, None)
    assert report["flags"] == ["outputs-unknown"]


def test_steps_are_kept_as_far_as_a_program_tells_them(command_trial: Trial) -> None:
    made = command_trial()
    steps = [json.loads(line) for line in (made.out / "steps.jsonl").read_text().splitlines()]
    assert len(steps) == len(made.answer["windows"])
    for one in steps:
        assert len(one["step_ms"]) == one["tokens"]
        assert one["step_ms"][0] > 0  # the way to the program and its prefill


def test_a_program_without_step_times_leaves_no_steps(command_trial: Trial) -> None:
    made = command_trial('"step_times_s": stamps,', "")
    assert made.answer["ok"]
    assert not (made.out / "steps.jsonl").exists()


def test_what_a_program_prints_beside_its_answers_goes_to_the_log(command_trial: Trial) -> None:
    made = command_trial(
        "for line in sys.stdin:", 'print("hello there")\n    for line in sys.stdin:'
    )
    assert made.answer["error"] is None
    assert "hello there" in made.log


def test_a_program_that_is_not_there_is_said(command_trial: Trial) -> None:
    engine = {"kind": "command", "tensor_parallel": 1, "args": {"argv": ["no-such-program"]}}
    error = command_trial(engine=engine).answer["error"]
    assert (error["name"], error["phase"]) == ("engine-import", "import")
    assert "no-such-program" in error["message"]
