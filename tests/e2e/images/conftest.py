"""Images made without a registry: one Python from this machine's files, and small recipes on top of it."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker
import pytest

from abtest.cli.main import main

TARGET = "refengine/ops/paged_attention.py"
TEXT = """\
schema: 1
name: image
image: {build: image}
runtime: docker
target: refengine/ops/paged_attention.py
baseline: stock
arms:
  stock: {}
  fast: {replace: [{old: "context > 100_000", new: "context > 1"}]}
engine: {kind: reference, tensor_parallel: 2, args: {start_method: spawn}}
depths: [40]
tokens: [2, 6]
pairs: 2
rounds: 2
routes:
  at: refengine.ops.paged_attention:decode
  record: [head_size, use_splitkv]
  expect: {stock: {use_splitkv: false}, fast: {use_splitkv: true}}
limits: {start_s: 60, trial_s: 60, retries: 0}
"""
RECIPE = """\
FROM {base}
COPY engine /opt/site/refengine
ENV PYTHONPATH=/opt/site
"""

ROOT_PARTS = """
import json, os, sys, sysconfig
skip = {"site-packages", "test", "idlelib", "tkinter", "__pycache__", "ensurepip", "lib2to3"}
library, found = sysconfig.get_path("stdlib"), []
for folder, names, files in os.walk(library):
    names[:] = [name for name in names if name not in skip and not name.startswith("config-")]
    found += [os.path.join(folder, name) for name in files]
print(json.dumps({"exe": os.path.realpath(sys.executable), "prefix": sys.base_prefix, "files": found, "version": sys.version}))
"""


def _libraries(paths: list[str]) -> set[str]:
    """List what the dynamic loader would load for some binaries."""
    done = subprocess.run(["ldd", *paths], capture_output=True, text=True, check=False)
    words = {word for line in done.stdout.splitlines() for word in line.split()}
    return {
        word for word in words if word.startswith("/") and ".so" in word and Path(word).is_file()
    }


def python_image(python: str) -> str:
    """Make an image of just one Python, from this machine's files; returns its tag, the same for the same Python."""
    done = subprocess.run(
        [python, "-I", "-c", ROOT_PARTS], capture_output=True, text=True, check=True
    )
    parts = json.loads(done.stdout)
    tag = f"abtest-test-python:{hashlib.sha256(done.stdout.encode()).hexdigest()[:12]}"
    client = docker.from_env(timeout=120)
    try:
        if client.images.list(tag):
            return tag
        binaries = [parts["exe"], *(path for path in parts["files"] if path.endswith(".so"))]
        with tempfile.TemporaryFile() as file:
            with tarfile.open(fileobj=file, mode="w") as tar:
                for path in sorted({*binaries, *parts["files"], *_libraries(binaries)}):
                    tar.add(os.path.realpath(path), path.lstrip("/"), recursive=False)
                tar.add(parts["exe"], "opt/python/bin/python3", recursive=False)
            file.seek(0)
            changes = [
                "LABEL abtest.test=1",
                f"ENV PATH=/nowhere:/opt/python/bin PYTHONHOME={parts['prefix']}",
                'ENTRYPOINT ["/bin/false"]',
            ]
            name, _, version = tag.partition(":")
            client.api.import_image_from_data(
                file.read(), repository=name, tag=version, changes=changes
            )
        return tag
    finally:
        client.close()


@dataclass
class ImageLab:
    """One experiment folder with an image recipe.

    Args:
        folder: holds `experiment.yaml` and `image/`, with `Dockerfile` and `engine/`.
    """

    folder: Path
    results: Path

    @property
    def engine(self) -> Path:
        return self.folder / "image" / "engine"

    def plant(self, name: str, old: str, new: str) -> None:
        """Change one place of a file below the folder; it must be there exactly once."""
        path = self.folder / name
        text = path.read_text()
        assert text.count(old) == 1, f"{old!r} occurs {text.count(old)} times in {name}"
        path.write_text(text.replace(old, new))

    def recipe(self, *lines: str) -> None:
        """Add lines to the image's recipe."""
        path = self.folder / "image" / "Dockerfile"
        path.write_text(path.read_text() + "".join(f"{line}\n" for line in lines))

    def run(self, *more: str) -> int:
        return main(["run", str(self.folder), "--results", str(self.results), *more])

    def trials(self) -> list[dict[str, Any]]:
        text = (self.results / "latest" / "ledger.jsonl").read_text()
        records = [json.loads(line) for line in text.splitlines()]
        return [record for record in records if record["kind"] == "trial"]


@pytest.fixture(scope="session")
def base_image() -> str:
    return python_image(sys.executable)


@pytest.fixture(scope="session")
def make_base() -> Callable[[str], str]:
    """Make a base of another interpreter."""
    return python_image


@pytest.fixture
def lab(tmp_path: Path, repository: Path, base_image: str) -> ImageLab:
    fake = repository / "tests" / "probe" / "fake_engine"
    engine = tmp_path / "exp" / "image" / "engine"
    (engine / "ops").mkdir(parents=True)
    shutil.copy(fake / "engine.py", engine / "__init__.py")
    shutil.copy(fake / "context.py", engine / "context.py")
    shutil.copy(fake / "kernel.py", engine / "ops" / "paged_attention.py")
    (engine / "ops" / "__init__.py").touch()
    (tmp_path / "exp" / "image" / "Dockerfile").write_text(RECIPE.format(base=base_image))
    (tmp_path / "exp" / "experiment.yaml").write_text(TEXT)
    return ImageLab(tmp_path / "exp", tmp_path / "results")
