"""`caches: warm-per-arm` in a whole run: the discarded trial of each arm fills what its counted trials find."""

from typing import Any

from tests.e2e.conftest import Lab

WRITES = """\
import os, time
from pathlib import Path

_HOME = Path(os.environ["HOME"])
(_HOME / "kernel.bin").write_text("compiled")
"""


def test_c10_each_arm_finds_its_own_cache_filled_and_no_other(lab: Lab) -> None:
    lab.plant("experiment.yaml", "depths: [40]", "caches: warm-per-arm\ndepths: [40]")
    config = lab.engine / "config.py"
    config.write_text(config.read_text() + "\n" + WRITES)
    assert lab.run() in (0, 5)
    trials = lab.trials()
    by_arm: dict[str, list[dict[str, Any]]] = {}
    for trial in trials:
        by_arm.setdefault(trial["arm"], []).append(trial)
    keys = {arm: {one["caches"]["key"] for one in found} for arm, found in by_arm.items()}
    assert all(len(found) == 1 for found in keys.values())
    assert keys["stock"] != keys["splitkv"]
    for trial in trials:
        assert trial["caches"]["policy"] == "warm-per-arm"
        assert (trial["caches"]["before"] == "empty") is trial["discarded"]
        assert trial["caches"]["after"] != "empty"
        assert "cache-cold" not in trial["flags"]
    assert len(list((lab.latest / "caches").iterdir())) == 2


def test_a_cold_run_keeps_nothing(process_lab: Lab) -> None:
    assert process_lab.run() in (0, 5)
    assert {tuple(one["caches"].items()) for one in process_lab.trials()} == {(("policy", "cold"),)}
    assert not (process_lab.latest / "caches").exists()
