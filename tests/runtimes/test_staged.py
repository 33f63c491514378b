"""Staged files, the mirror and the outbox: what is swapped is what was planned."""

import hashlib
import json
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from abtest.cli.staging import stage_arms
from abtest.errors import UnprovedError, UsageError
from abtest.model.sandbox import Exit, ImageFacts, Swap, TargetFacts
from abtest.runtimes import mirror, staged
from abtest.runtimes.outbox import Outbox
from abtest.spec import Experiment, parse


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def swap(path: Path, content: bytes, package_root: Path | None = None) -> Swap:
    path.write_bytes(content)
    root = str(package_root or path.parent)
    return Swap("pkg/ops/kernel.py", f"{root}/ops/kernel.py", root, str(path), "", sha256(content))


def test_a10_a_missing_staged_file_is_refused(tmp_path: Path) -> None:
    one = swap(tmp_path / "staged.py", b"x = 1\n")
    staged.check([one])
    Path(one.staged).unlink()
    with pytest.raises(UnprovedError, match="missing") as caught:
        staged.check([one])
    assert caught.value.exit_code == 3


def test_a10_a_folder_in_its_place_is_refused(tmp_path: Path) -> None:
    one = swap(tmp_path / "staged.py", b"x = 1\n")
    Path(one.staged).unlink()
    Path(one.staged).mkdir()
    with pytest.raises(UnprovedError, match="a folder"):
        staged.check([one])


def test_a8_another_content_under_the_same_path_is_refused(tmp_path: Path) -> None:
    one = swap(tmp_path / "staged.py", b"x = 1\n")
    (tmp_path / "new.py").write_bytes(b"x = 2\n")
    os.link(one.staged, tmp_path / "pinned.py")  # what a mount of the old inode would still show
    (tmp_path / "new.py").replace(one.staged)
    assert (tmp_path / "pinned.py").read_bytes() == b"x = 1\n"
    with pytest.raises(UnprovedError, match="does not hold"):
        staged.check([one])


def test_a_link_in_its_place_is_refused(tmp_path: Path) -> None:
    one = swap(tmp_path / "staged.py", b"x = 1\n")
    Path(one.staged).rename(tmp_path / "real.py")
    Path(one.staged).symlink_to(tmp_path / "real.py")
    with pytest.raises(UnprovedError, match="not a regular file"):
        staged.check([one])


def experiment(folder: Path, fast: bytes) -> tuple[Experiment, dict[str, ImageFacts]]:
    (folder / "fast.py").write_bytes(fast)
    text = "schema: 1\nname: demo\ntarget: pkg/kernel.py\nbaseline: stock\narms: {stock: {}, fast: {file: fast.py}}\nengine: {kind: reference}\ndepths: [8]\n"
    base = b"x = 1\n"
    target = TargetFacts("pkg/kernel.py", "/p/kernel.py", "/p", base, "", sha256(base))
    image = ImageFacts("host", "id", None, "python", (target,), {})
    return parse(text, file="experiment.yaml", folder=folder), {"stock": image, "fast": image}


def test_a9_a_staged_file_is_named_by_its_content_and_never_overwritten(tmp_path: Path) -> None:
    place = tmp_path / "staged"
    place.mkdir()
    first = stage_arms(*_with_folder(tmp_path, b"x = 2\n"), place)["fast"][0]
    inode = Path(first.staged).stat().st_ino
    again = stage_arms(*_with_folder(tmp_path, b"x = 2\n"), place)["fast"][0]
    other = stage_arms(*_with_folder(tmp_path, b"x = 3\n"), place)["fast"][0]
    assert again == first
    assert Path(first.staged).stat().st_ino == inode
    assert other.staged != first.staged
    assert Path(first.staged).name == f"{sha256(b'x = 2' + bytes([10]))}-kernel.py"
    staged.check([first, again, other])


def _with_folder(folder: Path, fast: bytes) -> tuple[Experiment, Path, dict[str, ImageFacts]]:
    spec, image = experiment(folder, fast)
    return spec, folder, image


def test_the_same_bytes_as_the_images_file_are_no_arm(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="are equal") as caught:
        stage_arms(*_with_folder(tmp_path, b"x = 1\n"), tmp_path)
    assert caught.value.exit_code == 2


@pytest.fixture
def package(tmp_path: Path) -> Path:
    root = tmp_path / "site" / "pkg"
    (root / "ops" / "__pycache__").mkdir(parents=True)
    (root / "__init__.py").write_text("")
    (root / "ops" / "kernel.py").write_text("x = 1\n")
    (root / "ops" / "other.py").write_text("y = 1\n")
    (root / "ops" / "__pycache__" / "kernel.cpython-311.pyc").write_bytes(b"stale")
    return root


def test_a3_a_mirror_shows_the_package_but_for_the_target_and_its_bytecode(
    tmp_path: Path, package: Path
) -> None:
    folder = mirror.make(tmp_path / "mirror", [swap(tmp_path / "staged.py", b"x = 2\n", package)])
    shown = {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}
    assert shown == {"pkg/__init__.py", "pkg/ops/kernel.py", "pkg/ops/other.py"}
    assert (folder / "pkg/ops/kernel.py").read_text() == "x = 2\n"
    assert not (folder / "pkg/ops/kernel.py").is_symlink()
    assert (folder / "pkg/ops/other.py").resolve() == package / "ops" / "other.py"
    assert (package / "ops" / "kernel.py").read_text() == "x = 1\n"


@pytest.mark.parametrize("fault", ["extra", "missing", "replaced", "target"])
def test_a_mirror_that_differs_in_more_than_the_target_is_refused(
    fault: str, tmp_path: Path, package: Path
) -> None:
    one = swap(tmp_path / "staged.py", b"x = 2\n", package)
    folder = mirror.make(tmp_path / "mirror", [one])
    other = folder / "pkg" / "ops" / "other.py"
    if fault == "extra":
        (folder / "pkg" / "new.py").write_text("")
    elif fault == "target":
        (folder / "pkg" / "ops" / "kernel.py").unlink()
    else:
        other.unlink()
        if fault == "replaced":
            other.write_text("y = 2\n")
    with pytest.raises(UnprovedError, match="mirror"):
        mirror.check(folder, [one])


def test_an_absolute_target_needs_a_container(tmp_path: Path, package: Path) -> None:
    one = swap(tmp_path / "staged.py", b"x = 2\n", package)
    absolute = Swap(
        str(package / "ops" / "kernel.py"), one.path, one.package_root, one.staged, "", one.sha256
    )
    with pytest.raises(UsageError, match="absolute"):
        mirror.make(tmp_path / "mirror", [absolute])


def test_progress_is_read_as_it_grows(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path)
    assert outbox.progress() == (None, 0)
    path = tmp_path / "progress.jsonl"
    path.write_text('{"phase": "init"}\n{"phase": "meas')
    assert outbox.progress() == ("init", 1)
    path.write_text('{"phase": "init"}\n{"phase": "measure"}\nodd\n')
    assert outbox.progress() == ("measure", 3)


@pytest.mark.parametrize("content", ["", "{", "[1]", None])
def test_a_report_that_cannot_be_read_is_none(content: str | None, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "trial.json").write_text(content)
    assert Outbox(tmp_path).report("trial.json") is None
    (tmp_path / "trial.json").write_text(json.dumps({"a": 1}))
    assert Outbox(tmp_path).report("trial.json") == {"a": 1}


def test_a_link_in_the_sandboxs_folder_brings_no_file_of_the_host_into_a_record(
    tmp_path: Path,
) -> None:
    secret = tmp_path / "secret.json"
    secret.write_text('{"phase": "secret"}\n')
    box = tmp_path / "box"
    box.mkdir()
    for name in ("trial.json", "progress.jsonl", "engine.log"):
        (box / name).symlink_to(secret)
    outbox = Outbox(box)
    assert outbox.report("trial.json") is None
    assert outbox.progress() == (None, 0)
    assert outbox.log_tail() == ""
    assert outbox.files() == {}


@pytest.mark.parametrize(
    ("free", "code", "cause"), [(0, 120, "disk-full"), (1 << 20, 120, None), (0, 0, None)]
)
def test_a_full_disk_is_named_where_the_probe_could_not_even_say_so(
    free: int, code: int, cause: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = SimpleNamespace(f_bavail=free, f_frsize=1)
    monkeypatch.setattr(os, "statvfs", lambda _path: room)
    found = Outbox(tmp_path).explained(Exit(code)).cause
    assert (found or "").partition(":")[0] == (cause or "")
