"""A container engine of one's own, and an image whose tag can move: as the end-to-end tests make them."""

import contextlib
import importlib.util
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from tools.torture.lab import REPOSITORY, write_engine

RECIPE = "FROM {base}\nCOPY lib /opt/site\nENV PYTHONPATH=/opt/site\nLABEL torture={label}\n"


def _module(*parts: str) -> ModuleType:
    path = REPOSITORY.joinpath("tests", "e2e", *parts)
    spec = importlib.util.spec_from_file_location("_".join(parts).removesuffix(".py"), path)
    if spec is None or spec.loader is None:
        raise LookupError(f"{path} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@contextlib.contextmanager
def own(folder: Path) -> Iterator[Any]:
    """Run an engine on a socket and a data root below a folder; the mounts it makes end with it."""
    engine = _module("engine", "conftest.py").OwnEngine(folder / "engine")
    engine.folder.mkdir()
    engine.data.mkdir()
    try:
        engine.start()
        yield engine
    finally:
        engine.stop()
        for place in _mounts_below(engine.folder):
            subprocess.run(["umount", "-l", place], check=False, capture_output=True)


@contextlib.contextmanager
def moving_tag() -> Iterator[tuple[str, str]]:
    """Make two images that differ in a label; yields a tag of the first, and the second, which can take it over."""
    base = _module("images", "conftest.py").python_image(sys.executable)
    name = f"torture-{secrets.token_hex(4)}"
    with tempfile.TemporaryDirectory() as folder:
        write_engine(Path(folder) / "lib" / "refengine")
        for label in ("one", "two"):
            recipe = RECIPE.format(base=base, label=label)
            (Path(folder) / "Dockerfile").write_text(recipe, encoding="utf-8")
            command = ["docker", "build", "-q", "-t", f"{name}:{label}", folder]
            subprocess.run(command, check=True, capture_output=True)
    subprocess.run(["docker", "tag", f"{name}:one", f"{name}:moving"], check=True)
    try:
        yield f"{name}:moving", f"{name}:two"
    finally:
        tags = [f"{name}:{label}" for label in ("moving", "one", "two")]
        subprocess.run(["docker", "rmi", "-f", *tags], check=False, capture_output=True)


def _mounts_below(folder: Path) -> list[str]:
    lines = Path("/proc/mounts").read_text(encoding="utf-8").splitlines()
    places = [line.split()[1] for line in lines]
    return sorted((it for it in places if it.startswith(f"{folder}/")), reverse=True)
