"""Images from a recipe: what ran, how it got there, and what is refused."""

import py_compile
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from abtest.model.sandbox import Swap
from abtest.runtimes.docker import copy_in

pytestmark = pytest.mark.docker
KERNEL = "image/engine/ops/paged_attention.py"
Lab = Any  # of this folder's conftest


def test_an_image_is_built_once_and_both_arms_are_copied_in(lab: Lab) -> None:
    """The recipe's entry point, /bin/false, is replaced, and the interpreter found along its PATH."""
    assert lab.run() in {0, 5}
    trials = lab.trials()
    assert [trial["status"] for trial in trials] == ["ok"] * 6
    assert len({trial["container"]["image_id"] for trial in trials}) == 1
    assert len({trial["container"]["id"] for trial in trials}) == 6
    seen = {
        (one["arm"], entry["md5"], entry["path"]) for one in trials for entry in one["identity"]
    }
    assert {arm for arm, _, _ in seen} == {"stock", "fast"}
    assert len({md5 for _, md5, _ in seen}) == 2
    assert {path for _, _, path in seen} == {"/opt/site/refengine/ops/paged_attention.py"}


def test_a3_bytecode_that_the_image_brings_is_passed_by(lab: Lab, tmp_path: Path) -> None:
    """The image's .pyc says that it fits whatever the source is; its code would take the other route."""
    kernel = lab.folder / KERNEL
    old = tmp_path / "old.py"
    old.write_text(kernel.read_text().replace("context > 100_000", "sliding_window == 0"))
    cache = kernel.parent / "__pycache__" / f"paged_attention.{sys.implementation.cache_tag}.pyc"
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    py_compile.compile(str(old), cfile=str(cache), dfile=str(kernel), invalidation_mode=mode)
    assert lab.run() in {0, 5}
    assert [trial["status"] for trial in lab.trials()] == ["ok"] * 6


@pytest.mark.parametrize("user", ["1000:1000", "0:0"])
def test_a15_owner_and_mode_are_kept_and_the_worker_can_read(lab: Lab, user: str) -> None:
    (lab.folder / KERNEL).chmod(0o400)
    lab.plant("image/Dockerfile", "COPY engine", f"COPY --chown={user} engine")
    lab.plant("experiment.yaml", "limits:", f'container: {{user: "{user}"}}\nlimits:')
    assert lab.run() in {0, 5}
    assert [trial["status"] for trial in lab.trials()] == ["ok"] * 6


def test_a15_a_target_that_the_user_cannot_read_is_refused(
    lab: Lab, capsys: pytest.CaptureFixture[str]
) -> None:
    (lab.folder / KERNEL).chmod(0o600)
    lab.plant("experiment.yaml", "limits:", 'container: {user: "1000:1000"}\nlimits:')
    assert lab.run() == 3
    assert "user 1000 cannot read /opt/site/refengine" in capsys.readouterr().err


def test_a_target_that_the_image_does_not_have_is_refused(
    lab: Lab, capsys: pytest.CaptureFixture[str]
) -> None:
    (lab.folder / KERNEL).unlink()
    assert lab.run() == 3
    assert "is not a regular file in this image" in capsys.readouterr().err


def test_a5_a_worker_that_imports_another_copy_is_found_out(
    lab: Lab, capsys: pytest.CaptureFixture[str]
) -> None:
    """The target is found by the image's PYTHONPATH; the engine then puts its own folder first."""
    shutil.copytree(lab.engine, lab.folder / "image" / "copy")
    lab.recipe("COPY copy /opt/other/refengine")
    for name in ("engine", "copy"):
        start = lab.folder / "image" / name / "__init__.py"
        text = start.read_text()
        start.write_text(
            text.replace(
                "import os\n", "import os\nimport sys\n__path__ = ['/opt/other/refengine']\n", 1
            )
        )
    assert lab.run() == 3
    said = capsys.readouterr().err
    assert "/opt/other/refengine/ops/paged_attention.py" in said


MINORS = [minor for minor in (8, 9, 10, 11, 12, 13) if minor != sys.version_info.minor]


def _minor(python: str) -> int | None:
    """Ask an interpreter for its minor version; None if it does not run (a version manager's stub)."""
    ask = "import sys; print(sys.version_info.minor)"
    done = subprocess.run([python, "-I", "-c", ask], capture_output=True, text=True, check=False)
    return int(done.stdout) if done.returncode == 0 else None


def test_an_image_with_another_interpreter_serves_as_well(
    lab: Lab, make_base: Callable[[str], str], base_image: str
) -> None:
    found = [shutil.which(f"python3.{minor}") for minor in MINORS]
    found += [str(one) for one in Path.home().glob(".pyenv/versions/3.*/bin/python3")]
    others = [path for path in found if path and _minor(path) in MINORS]
    if not others:
        pytest.skip("no second Python 3.8 to 3.13 on this machine")
    lab.plant("image/Dockerfile", base_image, make_base(others[0]))
    assert lab.run() in {0, 5}
    versions = {trial["environment"]["python"].split()[0] for trial in lab.trials()}
    assert len(versions) == 1
    assert versions != {sys.version.split()[0]}


def test_an_interpreter_can_be_named_and_a_wrong_one_is_refused(
    lab: Lab, capsys: pytest.CaptureFixture[str]
) -> None:
    lab.plant(
        "experiment.yaml", "kind: reference,", "kind: reference, python: /opt/python/bin/none,"
    )
    assert lab.run() == 4
    assert "does not start" in capsys.readouterr().err


def test_an_image_without_python_is_refused(lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    (lab.folder / "image" / "Dockerfile").write_text(
        "FROM scratch\nCOPY engine /opt/site/refengine\n"
    )
    assert lab.run() == 3
    assert "has no Python interpreter" in capsys.readouterr().err


def test_a_recipe_that_fails_shows_its_last_words(
    lab: Lab, capsys: pytest.CaptureFixture[str]
) -> None:
    lab.recipe("COPY nothing-here /x")
    assert lab.run() == 4
    assert "nothing-here" in capsys.readouterr().err


def test_a7_every_file_that_an_arm_names_is_asserted(lab: Lab) -> None:
    (lab.folder / "context.py").write_text(
        (lab.engine / "context.py").read_text() + "\n# changed\n"
    )
    lab.plant(
        "experiment.yaml",
        'fast: {replace: [{old: "context > 100_000", new: "context > 1"}]}',
        "fast:\n    files:\n"
        '      - {target: refengine/ops/paged_attention.py, replace: [{old: "context > 100_000", new: "context > 1"}]}\n'
        "      - {target: refengine/context.py, file: context.py}",
    )
    assert lab.run() in {0, 5}
    for trial in lab.trials():
        said = {(entry["rank"], entry["when"], entry["target"]) for entry in trial["identity"]}
        assert len(said) == 2 * 2 * 2
    md5s = {(one["arm"], e["target"], e["md5"]) for one in lab.trials() for e in one["identity"]}
    assert len(md5s) == 4


def dropped(container: Any, swaps: Sequence[Swap], originals: Any) -> None:
    REAL_PUT(container, swaps[1:], originals)


def one_more(container: Any, swaps: Sequence[Swap], originals: Any) -> None:
    REAL_PUT(container, swaps, originals)
    like = next(iter(originals.values()))
    container.put_archive(
        "/", copy_in.archive([("/opt/site/refengine/context.py", b"x = 1\n", like)], 0)
    )


REAL_PUT = copy_in.put


@pytest.mark.parametrize(
    ("put", "said"), [(dropped, "is not changed"), (one_more, "context.py is changed as well")]
)
@pytest.mark.parametrize("as_root", [True, False])
def test_a_container_that_differs_in_more_or_less_than_the_swap_never_starts(
    lab: Lab,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    put: Any,
    said: str,
    *,
    as_root: bool,
) -> None:
    """By the container's own layer where it can be read, and by the engine's word where it cannot."""
    monkeypatch.setattr(copy_in, "put", put)
    real_changes = copy_in.changes
    if not as_root:
        monkeypatch.setattr(copy_in, "changes", lambda container, _: real_changes(container, None))
    assert lab.run() == 3
    assert said in capsys.readouterr().err
    (only,) = lab.trials()
    assert (only["status"], only["identity"], only["pairs"]) == ("invalid", [], [])


def test_variables_alone_make_an_arm_and_anything_else_that_differs_is_named(
    lab: Lab, capsys: pytest.CaptureFixture[str]
) -> None:
    """The engine reads the declared variable, and in this arm changes one that nobody declared."""
    lab.plant(
        "experiment.yaml",
        'fast: {replace: [{old: "context > 100_000", new: "context > 1"}]}',
        "fast: {env: {FAST: one}}",
    )
    lab.plant("experiment.yaml", "fast: {use_splitkv: true}", "fast: {use_splitkv: false}")
    assert lab.run() in {0, 5}
    assert "undeclared-difference" not in capsys.readouterr().out
    lab.recipe("ENV SECRETLY=same")
    site = lab.folder / "image" / "site.py"
    site.write_text('import os\nif os.environ.get("FAST"):\n    os.environ["SECRETLY"] = "other"\n')
    lab.recipe("COPY site.py /opt/site/sitecustomize.py")
    assert lab.run() == 5
    out = capsys.readouterr().out
    assert "undeclared-difference" in out
    assert "SECRETLY" in out


def test_an_arm_may_bring_its_own_image(
    lab: Lab, base_image: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(lab.folder / "image", lab.folder / "newer")
    recipe = (lab.folder / "newer" / "Dockerfile").read_text()
    (lab.folder / "newer" / "Dockerfile").write_text(recipe + "ENV FLAVOUR=new\n")
    lab.plant("newer/engine/ops/paged_attention.py", "context > 100_000", "context > 1")
    lab.plant(
        "experiment.yaml",
        'fast: {replace: [{old: "context > 100_000", new: "context > 1"}]}',
        "fast: {image: {build: newer}}",
    )
    assert base_image in recipe
    assert lab.run() in {0, 5}
    by_arm = {(trial["arm"], trial["container"]["image_id"]) for trial in lab.trials()}
    assert len(by_arm) == 2
    out = capsys.readouterr().out
    assert "declared difference: file: " in out
    assert "image: " in out
    assert "undeclared-difference" not in out
