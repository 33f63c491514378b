"""The survey: where targets are, without importing anything of the engine."""

import base64
import hashlib
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

TARGET = "refengine/ops/paged_attention.py"

Survey = Callable[..., SimpleNamespace]


@pytest.fixture
def survey(tmp_path: Path, run_probe: Callable[[dict[str, Any]], SimpleNamespace]) -> Survey:
    def run(*targets: str, nonce: str | None = None) -> SimpleNamespace:
        out = tmp_path / "survey-out"
        out.mkdir(exist_ok=True)
        request = {"schema": 1, "mode": "survey", "out": str(out), "targets": list(targets)}
        return run_probe({**request, "nonce": nonce, "die_with_stdin": True})

    return run


def test_a_target_is_found_and_told_in_full(survey: Survey, library: Path, tmp_path: Path) -> None:
    nonce = tmp_path / "nonce"
    nonce.write_text("4711")
    (library / "refengine" / "__init__.py").write_text("raise SystemExit('imported!')\n")
    made = survey(TARGET, nonce=str(nonce))
    answer = made.answer
    content = (library / TARGET).read_bytes()
    assert (made.code, answer["ok"], answer["error"], answer["nonce"]) == (0, True, None, "4711")
    assert answer["targets"] == [
        {
            "target": TARGET,
            "path": str(library / TARGET),
            "real_path": str((library / TARGET).resolve()),
            "package_root": str(library / "refengine"),
            "md5": hashlib.md5(content).hexdigest(),
            "sha256": hashlib.sha256(content).hexdigest(),
            "content_b64": base64.b64encode(content).decode(),
            "copies": [],
        }
    ]
    assert set(answer["fingerprint"]) == {"python", "distributions", "package", "os_release"}


def test_an_absolute_target_has_its_package_and_its_copies(
    survey: Survey,
    library: Path,
    environment: dict[str, str],
    make_library: Callable[[Path], None],
    tmp_path: Path,
) -> None:
    other = tmp_path / "other"
    make_library(other)
    environment["PYTHONPATH"] += f":{other}"
    (target,) = survey(str(library / TARGET)).answer["targets"]
    assert target["package_root"] == str(library / "refengine")
    assert target["copies"] == [str(other / TARGET)]


def test_a_single_module_is_its_own_root(survey: Survey, library: Path) -> None:
    (library / "alone.py").write_text("x = 1\n")
    (target,) = survey("alone.py").answer["targets"]
    assert target["path"] == target["package_root"] == str(library / "alone.py")


def test_the_package_fingerprint_sees_any_file_but_no_bytecode(
    survey: Survey, library: Path
) -> None:
    def package() -> str:
        return str(survey(TARGET).answer["fingerprint"]["package"])

    first = package()
    cache = library / "refengine" / "__pycache__"
    cache.mkdir(exist_ok=True)
    (cache / "x.pyc").write_bytes(b"x")
    assert package() == first
    (library / "refengine" / "data.bin").write_bytes(b"x")
    assert package() != first


@pytest.mark.parametrize("target", ["refengine/ops/missing.py", "no_such/x.py", "/no/such.py"])
def test_a_target_that_is_not_there_is_named(survey: Survey, target: str) -> None:
    answer = survey(target).answer
    assert (answer["ok"], answer["error"]["name"]) == (False, "target-missing")
    assert target in answer["error"]["message"]


def test_a10_a_folder_in_the_place_of_a_target_is_refused(survey: Survey, library: Path) -> None:
    (library / TARGET).unlink()
    (library / TARGET).mkdir()
    assert survey(TARGET).answer["error"]["name"] == "target-missing"


def test_a_nonce_that_cannot_be_seen_is_an_error(survey: Survey, tmp_path: Path) -> None:
    error = survey(TARGET, nonce=str(tmp_path / "nowhere")).answer["error"]
    assert (error["kind"], error["name"]) == ("failed", "nonce-missing")
