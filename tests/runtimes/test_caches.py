"""Kept caches: one per arm and device, fingerprinted before and after."""

from pathlib import Path

import pytest

from abtest.runtimes import caches


def opened(root: Path, inputs: str) -> caches.Kept:
    kept = caches.keep(root, inputs)
    assert kept is not None
    return kept


def test_c8_another_arm_or_another_card_gets_another_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(caches, "devices", lambda: "card 1")
    first = opened(tmp_path, "arm a")
    (first.folder / "kernel.bin").write_bytes(b"123")
    assert opened(tmp_path, "arm b").before == "empty"
    again = opened(tmp_path, "arm a")
    assert again.folder == first.folder
    assert again.before != "empty"
    monkeypatch.setattr(caches, "devices", lambda: "card 2")
    assert opened(tmp_path, "arm a").before == "empty"


def test_what_a_trial_adds_shows_in_the_fingerprint_after_it(tmp_path: Path) -> None:
    kept = opened(tmp_path, "arm")
    assert kept.facts()["before"] == kept.facts()["after"] == "empty"
    (kept.folder / "a").write_bytes(b"1")
    one = kept.facts()["after"]
    (kept.folder / "a").write_bytes(b"12")
    assert len({"empty", one, kept.facts()["after"]}) == 3


def test_the_processor_is_part_of_the_device() -> None:
    assert caches.devices().splitlines()[0] in {"x86_64", "aarch64"}
    assert caches.devices() == caches.devices()


def test_a_cold_trial_keeps_nothing(tmp_path: Path) -> None:
    assert caches.keep(tmp_path, None) is None
    assert list(tmp_path.iterdir()) == []
