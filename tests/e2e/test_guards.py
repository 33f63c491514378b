"""Every guard, with its fault planted: the refusal, its words and its exit code."""

from pathlib import Path
from typing import Any

import pytest

RAN = (
    0,
    5,
)  # these labs are too small for a sound rate: a noisy machine may make them inconclusive

# Each row: case, file of the engine, old, new, exit code, word of the reason.
FAULTS = [
    (
        "a1_code_that_is_not_the_file",
        "worker.py",
        '        orders.send(("ready", None))',
        "        from refengine.ops import paged_attention\n"
        "        real = paged_attention.walk\n        paged_attention.walk = lambda *a: real(*a)\n"
        '        orders.send(("ready", None))',
        3,
        "code-mismatch",
    ),
    (
        "a5_the_patch_lands_in_a_copy_that_is_not_imported",
        "worker.py",
        "import importlib\n",
        "import importlib, sys\nimport refengine\n"
        "sys.path.insert(0, refengine.OTHER)\nrefengine.__path__.insert(0, refengine.OTHER + '/refengine')\n",
        3,
        "identity-mismatch",
    ),
    (
        "a13_a_function_that_the_workers_never_call",
        "model.py",
        "from refengine.ops import linear_attention, paged_attention\n",
        "from refengine.ops import linear_attention, paged_attention\n"
        "import importlib.util\n"
        "_spec = importlib.util.spec_from_file_location('private', paged_attention.__file__)\n"
        "paged_attention = importlib.util.module_from_spec(_spec)\n"
        "_spec.loader.exec_module(paged_attention)\n",
        4,
        "recorder-missing",
    ),
    (
        "a13_workers_without_the_hook",
        "engine.py",
        "        with _environment(ONE_THREAD):",
        '        with _environment({**ONE_THREAD, "ABTEST_REQUEST": ""}):',
        4,
        "recorder-missing",
    ),
    (
        "b12_the_target_was_imported_before_the_hook",
        "worker.py",
        '        orders.send(("ready", None))',
        "        from abtest.probe import hook\n        old = hook.installed()\n"
        '        hook.uninstall()\n        hook.install(["refengine/ops/paged_attention.py"], old.routes)\n'
        '        orders.send(("ready", None))',
        4,
        "late-hook",
    ),
    (
        "c17_the_engine_stops_early",
        "engine.py",
        "        return Generation(rows, lengths,",
        "        rows = [row[:4] for row in rows]\n        return Generation(rows, lengths,",
        3,
        "wrong-token-count",
    ),
    (
        "c18_every_request_makes_one_token",
        "engine.py",
        "        self._check(prompts, n_tokens)",
        "        n_tokens = 1\n        self._check(prompts, n_tokens)",
        3,
        "wrong-token-count",
    ),
    (
        "c19_the_prompt_grows",
        "engine.py",
        "        return Generation(rows, lengths,",
        "        lengths = [length + 1 for length in lengths]\n        return Generation(rows, lengths,",
        3,
        "wrong-prompt-length",
    ),
    (
        "c12_a_prefix_cache_answers",
        "engine.py",
        "[0] * len(prompts))",
        "[16] * len(prompts))",
        3,
        "prefix-cache-hit",
    ),
    (
        "c22_the_prompt_changes_between_trials",
        "prompt.py",
        "    start = index * STRIDE % len(text)",
        "    import uuid\n    start = uuid.UNIQUE % 5000",
        3,
        "prompt-changed",
    ),
    (
        "f16_an_engine_that_never_starts",
        "engine.py",
        "            self._spawn()\n",
        '            raise RuntimeError("no device")\n',
        4,
        "engine-init",
    ),
    (
        "f11_a_worker_dies_while_it_decodes",
        "model.py",
        '        context.enter(context.ForwardContext("decode", 1, length + 1))',
        "        import os\n        os._exit(9)",
        4,
        "died (exit code 9)|is gone|engine-error",
    ),
    (
        "a12_a_rank_that_answers_from_another_process",
        "engine.py",
        "        return [process.pid or 0 for process in self._processes]",
        "        return [process.pid + 1 for process in self._processes]",
        4,
        "no-worker-evidence|does not come from|workers [",
    ),
    (
        "b1_the_engine_ignores_what_the_arm_asks_for",
        "model.py",
        "            return paged_attention.decode(query[0], *stored, start + 1).reshape(1, -1)",
        "            return paged_attention.decode(query[0], *stored, start + 1, 8).reshape(1, -1)",
        3,
        "route-mismatch",
    ),
]


@pytest.mark.parametrize(
    ("case", "name", "old", "new", "code", "word"), FAULTS, ids=[row[0] for row in FAULTS]
)
def test_a_planted_fault_is_refused(
    case: str,
    name: str,
    old: str,
    new: str,
    code: int,
    word: str,
    lab: Any,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if case.startswith("a5"):
        _second_copy(lab)
    if case.startswith("c22"):
        new = new.replace("uuid.UNIQUE", "uuid.uuid4().int")
        lab.plant("prompt.py", "@cache\ndef _text", "_text_start = None\n\n@cache\ndef _text")
        new = "    import uuid\n    start = _start()"
        lab.plant(
            "prompt.py",
            "def default_prompt",
            "@cache\ndef _start() -> int:\n    import uuid\n    return uuid.uuid4().int % 5000\n\n\ndef default_prompt",
        )
    lab.plant(name, old, new)
    assert lab.run() == code
    said = capsys.readouterr()
    assert any(one in said.err for one in word.split("|"))
    assert "  next: " in said.err
    assert said.out == ""
    last = lab.trials()[-1]
    assert last["status"] == {3: "invalid", 4: "failed"}[code]
    assert any(one in last["reason"] for one in word.split("|"))


def _second_copy(lab: Any) -> None:
    """Another copy of the package, that the workers will import the target from."""
    other = lab.folder / "lib" / "other" / "refengine" / "ops"
    other.mkdir(parents=True)
    (other / "__init__.py").write_text("")
    text = (lab.engine / "ops" / "paged_attention.py").read_text()
    (other / "paged_attention.py").write_text(text + "\n# another copy\n")
    (other / "linear_attention.py").write_text(
        (lab.engine / "ops" / "linear_attention.py").read_text()
    )
    init = lab.engine / "__init__.py"
    init.write_text(init.read_text() + f"\nOTHER = {str(lab.folder / 'lib' / 'other')!r}\n")


def test_the_sound_lab_is_sound(lab: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Else every refusal above would come for another reason."""
    assert lab.run() in RAN
    said = capsys.readouterr()
    assert f"isolation: {lab.runtime}" in said.out
    assert "identity: proved" in said.out
    trials = lab.trials()
    assert [trial["status"] for trial in trials] == ["ok"] * 6
    assert [trial["discarded"] for trial in trials] == [True, True, False, False, False, False]
    for trial in trials:
        assert len(trial["identity"]) == 4
        assert len({entry["pid"] for entry in trial["identity"]}) == 2
        assert all(entry["match"] for entry in trial["identity"])
        assert {route["values"]["use_splitkv"] for route in trial["routes"]} == {
            trial["arm"] == "splitkv"
        }
        assert {route["values"]["no_such_name"] for route in trial["routes"]} == {"absent"}
        assert {route["phase"] for route in trial["routes"]} == {"decode"}
        assert len(trial["token_s_per_token"]) == 2
        assert set(trial["files"]) == {
            *("trial.json", "progress.jsonl", "engine.log", "telemetry.csv", "steps.jsonl")
        }
        assert trial["telemetry"]["split"] == "stamped"
        assert trial["telemetry"]["samples"] > 0
        assert {"machine.cpu", "abtest.version", "container.options"} <= set(trial["environment"])
    assert len({trial["outputs"]["sha256"] for trial in trials}) == 1
    assert len({trial["prompt_sha256"] for trial in trials}) == 1


def test_a12_a_monkeypatch_in_the_parent_is_no_evidence_of_anything(lab: Any) -> None:
    """Spawned workers never see it: they run the arm's file, and only they are asked."""
    lab.plant(
        "engine.py",
        "            self._spawn()\n",
        "            self._spawn()\n            from refengine.ops import paged_attention\n"
        "            paged_attention.decode = None\n",
    )
    assert lab.run() in RAN
    assert all(entry["match"] for trial in lab.trials() for entry in trial["identity"])


def test_the_installed_package_is_never_touched(lab: Any) -> None:
    before = {
        path: (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(lab.engine.rglob("*"))
        if path.is_file()
    }
    assert lab.run() in RAN
    after = {
        path: (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(lab.engine.rglob("*"))
        if path.is_file()
    }
    assert before == after


def test_b2_two_arms_on_one_route_get_no_speed_up(
    lab: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    stock = (lab.engine / "ops" / "paged_attention.py").read_text()
    (lab.folder / "splitkv.py").write_text(stock + "\n# renamed only\n")
    lab.plant(
        "experiment.yaml",
        "splitkv: {use_splitkv: true, no_such_name: absent}",
        "splitkv: {use_splitkv: false}",
    )
    assert lab.run() == 5
    said = capsys.readouterr()
    assert "routes-equal" in said.out
    assert "not printed" in said.out
    assert "nothing could be compared" in said.err


def test_arms_with_equal_files_are_refused(lab: Any, capsys: pytest.CaptureFixture[str]) -> None:
    (lab.folder / "splitkv.py").write_text((lab.engine / "ops" / "paged_attention.py").read_text())
    assert lab.run() == 2
    assert "are equal" in capsys.readouterr().err
    assert not (lab.results / "latest").exists()


@pytest.mark.parametrize(("key", "code"), [("base_md5", 3), ("md5", 3)])
def test_a_pin_that_does_not_hold_is_refused(
    key: str, code: int, lab: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    lab.plant("experiment.yaml", "{file: splitkv.py}", f"{{file: splitkv.py, {key}: '{'0' * 32}'}}")
    assert lab.run() == code
    assert "has md5" in capsys.readouterr().err


def test_a_target_that_does_not_exist_is_refused(
    lab: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    lab.plant(
        "experiment.yaml",
        "target: refengine/ops/paged_attention.py",
        "target: refengine/ops/nothing.py",
    )
    assert lab.run() == 3
    assert "nothing.py" in capsys.readouterr().err


def test_c2_a_slow_first_call_of_each_length_stays_out_of_the_pairs(lab: Any) -> None:
    lab.plant(
        "engine.py",
        "        self._check(prompts, n_tokens)",
        "        import time\n        seen = self.__dict__.setdefault('_seen', set())\n"
        "        if n_tokens not in seen:\n            seen.add(n_tokens)\n            time.sleep(1)\n"
        "        self._check(prompts, n_tokens)",
    )
    assert lab.run() in RAN
    for trial in lab.trials():
        assert min(trial["warmup"]["t_short_s"], trial["warmup"]["t_long_s"]) > 1
        assert max(max(pair["t_short_s"], pair["t_long_s"]) for pair in trial["pairs"]) < 1


def test_c25_an_engine_that_leaks_state_is_flagged(lab: Any) -> None:
    lab.plant("model.py", "        self._states.clear()", "        pass")
    lab.plant(
        "model.py",
        "        state = None if start == 0 else self._states.get((number, sequence))",
        "        state = self._states.get((number, sequence))",
    )
    assert lab.run() in RAN
    assert all("outputs-unstable" in trial["flags"] for trial in lab.trials())


def test_a_file_that_changes_while_it_is_measured_is_invalid(
    process_lab: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a container the target is mounted read-only; a process could write to its mirror."""
    lab = process_lab
    lab.plant(
        "engine.py",
        "        self._check(prompts, n_tokens)",
        "        self._check(prompts, n_tokens)\n        self.calls = getattr(self, 'calls', 0) + 1\n"
        "        from pathlib import Path\n        if self.calls == 4:\n"
        "            with (Path(__file__).parent / 'ops' / 'paged_attention.py').open('a') as file:\n"
        "                file.write('# late\\n')",
    )
    assert lab.run() == 3
    assert "file-changed" in capsys.readouterr().err


@pytest.mark.docker
def test_a_container_cannot_write_to_its_target(tmp_path: Path, lab: Any) -> None:
    if lab.runtime != "docker":
        pytest.skip("a process can; see above")
    lab.plant(
        "engine.py",
        "        self._check(prompts, n_tokens)",
        "        self._check(prompts, n_tokens)\n        from pathlib import Path\n"
        "        (Path(__file__).parent / 'ops' / 'paged_attention.py').write_text('x')",
    )
    assert lab.run() == 4
    assert "Read-only file system" in lab.trials()[-1]["reason"]
