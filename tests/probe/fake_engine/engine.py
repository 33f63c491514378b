"""A tiny engine with the reference engine's interface, and one planted fault at a time.

The tests copy it as the package `refengine`. It imports nothing of that package at its top.
"""

from __future__ import annotations

import functools
import importlib
import multiprocessing
import os
import time
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

__version__ = "fake-1"
CUT = 43  # tokens after which the fault `stops-early` ends
LONGEST = 64


class EngineError(RuntimeError):
    pass


class EngineConfig:
    def __init__(
        self,
        tensor_parallel: int,
        max_context: int,
        max_batch: int,
        fault: str = "",
        start_method: str = "spawn",
    ) -> None:
        self.tensor_parallel = tensor_parallel
        self.room = (max_context, max_batch)
        self.fault = fault
        self.start_method = start_method


class Generation:
    def __init__(self, rows: list[list[int]], lengths: list[int], cached: int) -> None:
        self.token_ids = rows
        self.prompt_tokens = lengths
        self.cached_tokens = [cached] * len(rows)
        self.token_times_s = [float(step) for step in range(len(rows[0]))]


class Engine:
    def __init__(self, config: EngineConfig) -> None:
        self.config = config
        self.lengths_seen: set[int] = set()
        context = multiprocessing.get_context(config.start_method)
        if config.fault == "patched-in-parent":
            _patch()
        elif config.fault == "told-secret":
            print("the token is", os.environ["TOKEN"], flush=True)  # noqa: T201 - engines print
            raise EngineError(f"cannot log in with {os.environ['TOKEN']}")
        hidden = {"ABTEST_REQUEST", "PYTHONPATH"} if config.fault == "no-hook" else set()
        kept = {name: os.environ.pop(name) for name in hidden if name in os.environ}
        self.pipes, self.workers = [], []
        for rank in range(config.tensor_parallel):
            mine, theirs = context.Pipe()
            worker: Any = context.Process(target=serve, args=(theirs, rank, config), daemon=True)  # type: ignore[attr-defined]  # any start method
            worker.start()
            theirs.close()
            self.pipes.append(mine)
            self.workers.append(worker)
        os.environ.update(kept)
        self._everywhere("call", "os:getpid", ())

    def generate(self, prompts: list[list[int]], n_tokens: int) -> Generation:
        fault, asked = self.config.fault, n_tokens
        if fault == "slow-first" and n_tokens not in self.lengths_seen:
            time.sleep(0.5)
        if fault == "no-room" and n_tokens > LONGEST:
            raise EngineError(f"no room for {n_tokens} tokens")
        cached = 1 if fault == "cached" and self.lengths_seen else 0
        self.lengths_seen.add(n_tokens)
        if fault == "stops-early":
            asked = min(n_tokens, CUT)
        elif fault == "one-token":
            asked = 1
        rows = self._everywhere("generate", prompts, asked)[0]
        return Generation(rows, [len(one) + (fault == "prompt-grows") for one in prompts], cached)

    def collective_rpc(self, function: str, *args: object) -> list[Any]:
        if self.config.fault == "asks-parent":
            return [_call(function, args)] * self.config.tensor_parallel
        answers = self._everywhere("call", function, args)
        if self.config.fault == "rank-left-out":
            return answers[:1]
        if self.config.fault == "rank-silent":
            raise EngineError("rank 1 is silent for 60.0 s")
        return answers

    def worker_pids(self) -> list[int]:
        return [worker.pid or 0 for worker in self.workers]

    def close(self) -> None:
        for worker in self.workers:
            worker.terminate()
            worker.join()
        if self.config.fault == "bad-close":
            raise EngineError("a worker would not go")

    def _everywhere(self, *order: object) -> list[Any]:
        answers = []
        for pipe in self.pipes:
            pipe.send(order)
        for rank, pipe in enumerate(self.pipes):
            try:
                kind, value = pipe.recv()
            except EOFError as error:
                raise EngineError(f"rank {rank} died") from error
            if kind == "error":
                raise EngineError(f"rank {rank}: {value}")
            answers.append(value)
        return answers


def serve(pipe: Connection, rank: int, config: EngineConfig) -> None:
    worker = _Worker(rank, config.fault)
    while True:
        kind, what, more = pipe.recv()
        try:
            pipe.send(
                ("done", worker.generate(what, more) if kind == "generate" else _call(what, more))
            )
        except Exception as error:  # noqa: BLE001 - the parent is told, whatever it was
            pipe.send(("error", f"{type(error).__name__}: {error}"))


class _Worker:
    def __init__(self, rank: int, fault: str) -> None:
        self.rank, self.fault, self.calls = rank, fault, 0
        if fault == "late-hook":
            _reinstall_late()
        self.kernel: Any = None
        if fault != "never-imported":
            self.kernel = importlib.import_module("refengine.ops.paged_attention")
        if fault == "patched-in-worker":
            _patch()
        elif fault == "file-changed-early":
            _append_comment(self.kernel)

    def generate(self, prompts: list[list[int]], count: int) -> list[list[int]]:
        context: Any = importlib.import_module("refengine.context")

        self.calls += 1
        if self.fault == "dies" and self.calls == 4 and self.rank == 1:
            os._exit(3)
        if self.fault == "hangs":
            time.sleep(600)
        if self.fault == "file-changed-late" and self.calls == 4:
            _append_comment(self.kernel)
        start = self.calls if self.fault == "leaks-state" else 0
        rows = []
        for prompt in prompts:
            context.Step.phase = "decode"
            rows.append([self._step(64, start + len(prompt) + place) for place in range(count)])
            context.Step.phase = "idle"
        return rows

    def _step(self, head_size: int, place: int) -> int:
        if self.kernel is None or self.fault == "never-called":
            return place % 251
        return int(self.kernel.decode(head_size, place))


def default_prompt(length: int, index: int) -> list[int]:
    return [(place * 7 + index) % 251 for place in range(length)]


def _call(function: str, args: tuple[Any, ...]) -> Any:
    module, _, name = function.partition(":")
    return getattr(importlib.import_module(module), name)(*args)


def _patch() -> None:
    """Replace the kernel as careful people do it: with `functools.wraps`, which copies every mark."""
    kernel = importlib.import_module("refengine.ops.paged_attention")

    @functools.wraps(kernel.decode)
    def other(*_args: int) -> int:
        return 7

    kernel.decode = other  # type: ignore[attr-defined]  # a patch


def _reinstall_late() -> None:
    """Import the target first and install the hook second."""
    hook: Any = importlib.import_module("abtest.probe.hook")
    request: Any = importlib.import_module("abtest.probe.request")

    hook.uninstall()
    importlib.import_module("refengine.ops.paged_attention")
    asked = request.read(os.environ["ABTEST_REQUEST"])
    hook.install(asked.targets, asked.routes)


def _append_comment(module: ModuleType) -> None:
    with Path(str(module.__file__)).open("a") as file:
        file.write("# touched\n")
