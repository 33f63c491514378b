"""One small experiment on disk, and the commands that are given to it from outside."""

import contextlib
import hashlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from abtest.cli.main import main

REPOSITORY = Path(__file__).resolve().parents[2]
FAKE = REPOSITORY / "tests" / "probe" / "fake_engine"
LIMIT_S = 180.0  # a command that takes longer hangs
HUNG = -9999
TEXT = """\
schema: 1
name: torture
image: IMAGE
target: refengine/ops/paged_attention.py
baseline: stock
arms:
  stock: {}
  fast: {file: fast.py}
engine: {kind: reference, tensor_parallel: 1, pythonpath: [PATHS], args: {start_method: spawn}}
depths: [DEPTHS]
batches: [1]
tokens: [2, 22]
pairs: 2
rounds: ROUNDS
limits: {start_s: 60, trial_s: 60, retries: RETRIES}
"""


@dataclass(frozen=True, slots=True)
class Said:
    """How a command ended, and what it said; `code` is negative for a signal."""

    code: int
    out: str
    err: str


@dataclass(slots=True)
class Lab:
    """One experiment, one results folder, one runtime.

    Args:
        runtime: "docker", "process" or "simulated".
        environment: added to that of every command.
        said: how every orchestrator so far ended.
        number: which files hold what a process says.
        original: the experiment's text, and the sha256 of the faster kernel.
        engine: a container engine of this lab's own, which can be stopped and started.
        undo: what undoes a fault that the user would undo before going on, newest last.
    """

    root: Path
    runtime: str
    environment: dict[str, str] = field(default_factory=dict)
    undo: list[Callable[[], object]] = field(default_factory=list)
    said: list[Said] = field(default_factory=list)
    engine: Any = None
    number: dict[int, int] = field(default_factory=dict)
    original: tuple[str, str] = ("", "")

    @property
    def folder(self) -> Path:
        return self.root / "exp"

    @property
    def results(self) -> Path:
        return self.root / "results"

    @property
    def run(self) -> Path | None:
        """The newest run that has come to a run, None before."""
        found = [path for path in self.results.glob("torture-*") if (path / "run.json").is_file()]
        return max(found, key=lambda path: path.stat().st_mtime, default=None)

    @property
    def ledger(self) -> Path | None:
        run = self.run
        return run / "ledger.jsonl" if run and (run / "ledger.jsonl").is_file() else None

    def arguments(self, *more: str) -> list[str]:
        """Give the command line of a run of this experiment."""
        own = ["--simulate"] if self.runtime == "simulated" else ["--runtime", self.runtime]
        return ["run", str(self.folder), "--results", str(self.results), *own, *more]

    def start(self, *more: str) -> subprocess.Popen[bytes]:
        """Start the orchestrator in a session of its own; what it says goes to files beside the results."""
        number = len(list(self.root.glob("*.err")))
        with (
            (self.root / f"{number}.out").open("wb") as out,
            (self.root / f"{number}.err").open("wb") as err,
        ):
            process = subprocess.Popen(
                [sys.executable, "-m", "abtest", *self.arguments(*more)],
                stdout=out,
                stderr=err,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                env={**os.environ, **self.environment},
                cwd=self.root,
            )
        self.number[process.pid] = number
        return process

    def end(self, process: subprocess.Popen[bytes]) -> Said:
        """Wait for a command; one that hangs is killed, and told by its code."""
        try:
            code = process.wait(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            code = HUNG
        number = self.number[process.pid]
        err = (self.root / f"{number}.err").read_text(encoding="utf-8", errors="replace")
        self.said.append(Said(code, "", err))
        return self.said[-1]

    def command(self, *arguments: str) -> Said:
        """Run a command that only reads, in this process."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main([*arguments, "--results", str(self.results)])
        return Said(code, out.getvalue(), err.getvalue())

    def summary(self, run: Path) -> Mapping[str, Any] | None:
        """Give a run's summary without its name; None where there is none."""
        said = self.command("summary", run.name, "--format", "json")
        try:
            body: dict[str, Any] = json.loads(said.out)
        except ValueError:
            return None
        body.pop("run", None)
        return body


def plant(path: Path, old: str, new: str) -> None:
    """Change one place of a file; the place must be there."""
    text = path.read_text(encoding="utf-8")
    if old not in text:
        raise LookupError(f"{old!r} is not in {path}")
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


@contextmanager
def lab(runtime: str, *, retries: int = 0, image: str | None = None) -> Iterator[Lab]:
    """Make a lab; everything of it is gone afterwards, mounts too.

    Args:
        image: a tag that holds the engine; None for the host's own files.
    """
    root = Path(tempfile.mkdtemp(prefix="torture-"))
    made = Lab(root, runtime)
    try:
        _write_experiment(made, retries, image)
        yield made
    finally:
        heal(made)
        shutil.rmtree(root, ignore_errors=True)


def heal(one: Lab) -> None:
    """Undo what a user would undo: free the disk, unmount, bring the engine back."""
    while one.undo:
        one.undo.pop()()


def write_engine(package: Path) -> None:
    """Write an engine without NumPy whose tokens take four milliseconds each."""
    (package / "ops").mkdir(parents=True)
    shutil.copy(FAKE / "engine.py", package / "__init__.py")
    shutil.copy(FAKE / "context.py", package / "context.py")
    shutil.copy(FAKE / "kernel.py", package / "ops" / "paged_attention.py")
    (package / "ops" / "__init__.py").touch()
    call = "        return int(self.kernel.decode(head_size, place))"
    plant(package / "__init__.py", call, f"        time.sleep(0.004)\n{call}")


def _write_experiment(one: Lab, retries: int, image: str | None) -> None:
    simulated = one.runtime == "simulated"
    values = {
        "IMAGE": "host" if image is None else f"{{ref: '{image}'}}",
        "PATHS": "lib" if image is None else "",
        "DEPTHS": "512, 2048, 8192" if simulated else "40",
        "ROUNDS": "40" if simulated else "2",
        "RETRIES": str(retries),
    }
    text = TEXT
    for name, value in values.items():
        text = text.replace(name, value)
    one.folder.mkdir()
    one.results.mkdir()
    write_engine(one.folder / "lib" / "refengine")
    (one.folder / "experiment.yaml").write_text(text, encoding="utf-8")
    kernel = (FAKE / "kernel.py").read_text(encoding="utf-8")
    faster = kernel.replace("context > 100_000", "context > 1")
    (one.folder / "fast.py").write_text(faster, encoding="utf-8")
    one.original = (text, hashlib.sha256(faster.encode()).hexdigest())


def wait_until(condition: Callable[[], bool], limit_s: float) -> bool:
    """Look again and again until something holds; False when it never did."""
    end_s = time.monotonic() + limit_s
    while time.monotonic() < end_s:
        if condition():
            return True
        time.sleep(0.05)
    return condition()
