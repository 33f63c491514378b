"""Images by reference: resolved once; what happens when the engine's images change under a run."""

import _ctypes
import contextlib
import shutil
import uuid
from collections.abc import Iterator
from typing import Any

import docker
import pytest

pytestmark = pytest.mark.docker
Lab = Any  # of this folder's conftest
TAG = "abtest-test-ref:moving"


@pytest.fixture
def client() -> Iterator[Any]:
    made = docker.from_env()
    yield made
    with contextlib.suppress(docker.errors.APIError):
        made.images.remove(TAG, force=True)
    made.close()


@pytest.fixture
def ref_lab(lab: Lab, client: Any) -> Lab:
    """The lab's image, built beforehand and referred to by a tag."""
    lab.recipe(
        f"LABEL abtest.test={uuid.uuid4()}"
    )  # an image of its own, that no other one is built upon
    client.images.build(path=str(lab.folder / "image"), tag=TAG, rm=True)
    lab.plant("experiment.yaml", "{build: image}", f'{{ref: "{TAG}"}}')
    return lab


def test_a16_a_tag_that_moves_is_reported_and_trials_stay_with_the_first_image(
    ref_lab: Lab,
    client: Any,
    base_image: str,
    at_trial: Any,
    capsys: pytest.CaptureFixture[str],
) -> None:
    at_trial(3, lambda: client.images.get(base_image).tag(*TAG.split(":")))
    assert ref_lab.run() in {0, 5}
    trials = ref_lab.trials()
    assert len({trial["container"]["image_id"] for trial in trials}) == 1
    assert [("image-moved" in trial["flags"]) for trial in trials] == [False] * 2 + [True] * 4
    assert "image-moved" in capsys.readouterr().out


def test_an_image_that_is_removed_in_mid_run_stops_it_and_says_so(
    ref_lab: Lab, client: Any, at_trial: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    at_trial(3, lambda: client.images.remove(client.images.get(TAG).id, force=True))
    assert ref_lab.run() == 4
    assert "is gone" in capsys.readouterr().err
    assert [trial["status"] for trial in ref_lab.trials()].count("ok") == 2


def test_an_image_that_is_not_here_and_cannot_be_pulled_is_refused_and_its_recipe_named(
    lab: Lab, capsys: pytest.CaptureFixture[str]
) -> None:
    lab.plant("experiment.yaml", "{build: image}", "{ref: no-such-registry.invalid/x:1}")
    assert lab.run() == 4
    said = capsys.readouterr().err
    assert "cannot be pulled" in said
    assert "docker load" in said
    recipe = lab.folder / "image" / "build.sh"
    recipe.write_text("exit 1\n")
    assert lab.run() == 4
    said = capsys.readouterr().err
    assert f"own recipe, {recipe}," in said
    assert "docker load" not in said


def test_a_place_that_the_image_declares_as_a_volume_is_fine_unless_the_target_lies_there(
    lab: Lab, capsys: pytest.CaptureFixture[str]
) -> None:
    lab.recipe("VOLUME /data")
    assert lab.run() in {0, 5}
    lab.recipe("VOLUME /opt/site")
    assert lab.run() == 2
    assert "a volume hides the image's own files" in capsys.readouterr().err


def test_a_shared_library_is_swapped_and_proved_in_every_rank(lab: Lab) -> None:
    shutil.copy(_ctypes.__file__, lab.engine / "native.so")
    other = lab.folder / "native.so"
    shutil.copy(_ctypes.__file__, other)
    other.write_bytes(other.read_bytes() + b"\0one more")
    kernel = lab.engine / "ops" / "paged_attention.py"
    loading = 'import ctypes, os\nctypes.CDLL(os.path.join(os.path.dirname(os.path.dirname(__file__)), "native.so"))\n'
    kernel.write_text(kernel.read_text().replace("\n\n\nclass", f"\n\n{loading}\n\nclass", 1))
    lab.plant(
        "experiment.yaml",
        'fast: {replace: [{old: "context > 100_000", new: "context > 1"}]}',
        "fast: {files: [{target: refengine/native.so, file: native.so}]}",
    )
    lab.plant("experiment.yaml", "fast: {use_splitkv: true}", "fast: {use_splitkv: false}")
    assert lab.run() in {0, 5}
    trials = lab.trials()
    assert [trial["status"] for trial in trials] == ["ok"] * 6
    natives = [
        (trial["arm"], entry)
        for trial in trials
        for entry in trial["identity"]
        if entry["target"].endswith(".so")
    ]
    assert len({(arm, entry["md5"]) for arm, entry in natives}) == 2
    assert all(entry["loaded_code"] == entry["compiled_code"] for _, entry in natives)


def test_a_library_that_no_worker_loads_is_not_proved(
    lab: Lab, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(_ctypes.__file__, lab.engine / "native.so")
    (lab.folder / "native.so").write_bytes((lab.engine / "native.so").read_bytes() + b"\0")
    lab.plant(
        "experiment.yaml",
        'fast: {replace: [{old: "context > 100_000", new: "context > 1"}]}',
        "fast: {files: [{target: refengine/native.so, file: native.so}]}",
    )
    assert lab.run() == 3
    assert "native.so was never loaded" in capsys.readouterr().err


def test_secrets_are_handed_through_and_stored_nowhere(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LAB_TOKEN", "hunter2-secret")
    lab.plant("experiment.yaml", "limits:", "container: {env_pass: [LAB_TOKEN]}\nlimits:")
    start = lab.engine / "__init__.py"
    start.write_text(
        start.read_text().replace(
            "import os\n", 'import os\nprint("token", os.environ["LAB_TOKEN"])\n', 1
        )
    )
    assert lab.run() in {0, 5}
    texts = [path.read_bytes() for path in lab.results.rglob("*") if path.is_file()]
    out = capsys.readouterr()
    assert all(b"hunter2" not in text for text in texts)
    assert "hunter2" not in out.out + out.err


def test_the_survey_sees_the_volumes_and_variables_of_the_trials(lab: Lab) -> None:
    """An interpreter, or the engine itself, may come with a volume."""
    shutil.move(lab.engine, lab.folder / "brought")
    lab.engine.mkdir()
    lab.plant("image/Dockerfile", "ENV PYTHONPATH=/opt/site", "ENV PYTHONPATH=/nowhere")
    lab.plant(
        "experiment.yaml",
        'fast: {replace: [{old: "context > 100_000", new: "context > 1"}]}',
        "fast: {env: {FAST: yes please}}",
    )
    lab.plant("experiment.yaml", "fast: {use_splitkv: true}", "fast: {use_splitkv: false}")
    lab.plant(
        "experiment.yaml",
        "limits:",
        'container: {volumes: ["brought:/brought/refengine"], env: {PYTHONPATH: "/abtest/site:/brought"}}\nlimits:',
    )
    assert lab.run() == 2  # found, and refused: what is copied in would be hidden by the volume
