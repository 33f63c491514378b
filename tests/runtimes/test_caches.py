"""Kept caches: one per arm and device, fingerprinted before and after."""

from pathlib import Path

import pytest

from abtest.runtimes import caches


def test_c8_another_arm_or_another_card_gets_another_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(caches, "devices", lambda: "card 1")
    first = caches.keep(tmp_path, "arm a")
    (first.folder / "kernel.bin").write_bytes(b"123")
    assert caches.keep(tmp_path, "arm b").before == "empty"
    again = caches.keep(tmp_path, "arm a")
    assert again.folder == first.folder
    assert again.before != "empty"
    monkeypatch.setattr(caches, "devices", lambda: "card 2")
    assert caches.keep(tmp_path, "arm a").before == "empty"


def test_what_a_trial_adds_shows_in_the_fingerprint_after_it(tmp_path: Path) -> None:
    kept = caches.keep(tmp_path, "arm")
    assert kept.facts()["before"] == kept.facts()["after"] == "empty"
    (kept.folder / "a").write_bytes(b"1")
    one = kept.facts()["after"]
    (kept.folder / "a").write_bytes(b"12")
    assert len({"empty", one, kept.facts()["after"]}) == 3


def test_the_processor_is_part_of_the_device() -> None:
    assert caches.devices().splitlines()[0] in {"x86_64", "aarch64"}
    assert caches.devices() == caches.devices()
