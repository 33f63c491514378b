"""A staged probe site, a fake engine, and a real probe process that drives it."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import abtest
from abtest import probe as probe_package

HERE = Path(__file__).parent
collect_ignore = ["fake_vllm"]  # a package that is only imported as `vllm`
TARGET = "refengine/ops/paged_attention.py"
VLLM_ROUTES = {
    "at": "vllm.ops.attention:Builder.build",
    "record": ["self.heads", "splits=metadata@i32[1]", "none=metadata@i32[9]", "no_such_name"],
}


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """The folder that is first on the import path inside a sandbox."""
    site = tmp_path / "site"
    source = Path(probe_package.__path__[0])
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(source, site / "abtest" / "probe", ignore=ignore)
    shutil.copy(str(abtest.__file__), site / "abtest" / "__init__.py")
    shutil.copy(source / "sitecustomize.py", site / "sitecustomize.py")
    return site


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A folder with the fake engine as the package `refengine`."""
    library = tmp_path / "lib"
    make_engine(library)
    return library


@pytest.fixture
def make_library() -> Callable[[Path], None]:
    """Make one more such folder."""
    return make_engine


def make_engine(library: Path) -> None:
    package = library / "refengine"
    (package / "ops").mkdir(parents=True)
    shutil.copy(HERE / "fake_engine" / "engine.py", package / "__init__.py")
    shutil.copy(HERE / "fake_engine" / "context.py", package / "context.py")
    shutil.copy(HERE / "fake_engine" / "kernel.py", library / TARGET)
    (package / "ops" / "__init__.py").touch()


@pytest.fixture
def environment(site: Path, library: Path, tmp_path: Path) -> dict[str, str]:
    """What a sandbox would set; nothing that switches bytecode off."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path / "home"),
        "PYTHONPATH": f"{site}:{library}",
    }


@pytest.fixture
def trial_request(tmp_path: Path) -> dict[str, Any]:
    """A small trial; tests change what they are about."""
    out = tmp_path / "out"
    out.mkdir()
    return {
        "schema": 1,
        "mode": "trial",
        "trial": "r01-512-s1-stock",
        "out": str(out),
        "engine": {"kind": "reference", "tensor_parallel": 2, "args": {}},
        "depth": 32,
        "batch": 1,
        "tokens": [8, 64],
        "pairs": 2,
        "targets": [TARGET],
        "routes": {
            "at": "refengine.ops.paged_attention:decode",
            "record": ["head_size", "sliding_window", "use_splitkv", "no_such_name"],
        },
        "die_with_stdin": True,
        "hide_env": ["TOKEN"],
    }


@pytest.fixture
def run_probe(
    tmp_path: Path, environment: dict[str, str]
) -> Callable[[dict[str, Any]], SimpleNamespace]:
    """Run the probe to its end: `code`, `out`, `answer` (its JSON or None), `log`, `marks`."""

    def run(request: dict[str, Any]) -> SimpleNamespace:
        path = tmp_path / "request.json"
        path.write_text(json.dumps(request))
        with subprocess.Popen(
            [sys.executable, "-m", "abtest.probe"],
            env={**environment, "ABTEST_REQUEST": str(path)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process:
            assert process.stdout is not None
            printed = process.stdout.read().decode()
            code = process.wait(timeout=50)
        return _result(Path(request["out"]), code, printed, request["mode"])

    return run


def _result(out: Path, code: int, printed: str, mode: str) -> SimpleNamespace:
    answer, marks = out / f"{mode}.json", out / "progress.jsonl"
    return SimpleNamespace(
        code=code,
        printed=printed,
        out=out,
        answer=json.loads(answer.read_text()) if answer.exists() else None,
        log=(out / "engine.log").read_text(),
        marks=[json.loads(line) for line in marks.read_text().splitlines()]
        if marks.exists()
        else [],
    )


@pytest.fixture
def trial(
    trial_request: dict[str, Any], run_probe: Callable[[dict[str, Any]], SimpleNamespace]
) -> Callable[..., SimpleNamespace]:
    """Run one trial with the given parts of the request changed, and with one planted fault."""

    def run(fault: str = "", **changes: Any) -> SimpleNamespace:
        args = {"fault": fault} if fault else {}
        engine = {**trial_request["engine"], "args": args, **changes.pop("engine", {})}
        return run_probe({**trial_request, "engine": engine, **changes})

    return run


@pytest.fixture
def copy_vllm() -> Callable[[Path], None]:
    def copy(library: Path) -> None:
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(HERE / "fake_vllm" / "vllm", library / "vllm", ignore=ignore)

    return copy


@pytest.fixture
def vllm_trial(
    tmp_path: Path,
    library: Path,
    copy_vllm: Callable[[Path], None],
    environment: dict[str, str],
    trial_request: dict[str, Any],
    run_probe: Callable[[dict[str, Any]], SimpleNamespace],
) -> Callable[..., SimpleNamespace]:
    """Run one trial of the stand-in: `fault`, `tp`, `env`, and changed parts of the request."""
    copy_vllm(library)
    (library / "model").mkdir()
    (library / "model" / "config.json").write_text("{}")
    environment["OMP_NUM_THREADS"] = "2"

    def run(
        fault: str = "",
        tp: int = 1,
        env: dict[str, str] | None = None,
        args: dict[str, Any] | None = None,
        **changes: Any,
    ) -> SimpleNamespace:
        environment.update(env or {})
        engine = {
            "kind": "vllm",
            "tensor_parallel": tp,
            "args": {"model": "model", "load_format": "dummy", "fault": fault, **(args or {})},
        }
        return run_probe(
            {
                **trial_request,
                "engine": engine,
                "targets": ["vllm/ops/attention.py"],
                "routes": VLLM_ROUTES,
                **changes,
            }
        )

    return run
