"""The engine as a caller sees it: starts the workers, hands out prompts, keeps the time of every step."""

import multiprocessing
import os
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from types import TracebackType
from typing import Any, Self

from refengine.config import EngineConfig

ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
START_S = 60.0
CLOSE_S = 5.0
CLOSE_BROKEN_S = 0.5  # a worker that is stuck will not obey, however long one waits


class EngineError(RuntimeError):
    """A worker failed, died, or is silent; the message names its rank."""


@dataclass(frozen=True, slots=True)
class Generation:
    """What one call produced.

    Args:
        prompt_tokens: length of each prompt, as rank 0 worked on it.
        token_times_s: `time.perf_counter` stamp of each step, when it was done for all sequences.
        cached_tokens: prompt tokens that were not worked on; always 0, the engine has no prefix cache.
    """

    token_ids: list[list[int]]
    prompt_tokens: list[int]
    token_times_s: list[float]
    cached_tokens: list[int]


class Engine:
    """A running engine; a context manager.

    A worker that raises is reported, and the engine goes on. After a death or a silence it is broken:
    answers may still be under way, so every later call raises EngineError.
    """

    def __init__(self, config: EngineConfig) -> None:
        self.config = config
        self._closed = False
        self._broken = ""  # why, once it is
        self._orders: list[Connection] = []
        self._processes: list[SpawnProcess] = []
        self._local: Any = None
        if config.in_process:
            from refengine.worker import Worker  # noqa: PLC0415 - the parent of real workers needs no NumPy

            self._local = Worker(config, 0, [])
            return
        try:
            self._spawn()
            self._answers(START_S)
        except BaseException:
            self.close()
            raise

    def generate(self, prompts: list[list[int]], n_tokens: int) -> Generation:
        """Decode greedily: all prompts are prefilled first, then every step serves all sequences.

        Raises:
            ValueError: the prompts do not fit this engine.
            EngineError: a worker failed or died, or the engine is broken or closed.
        """
        self._check(prompts, n_tokens)
        times_s: list[float] = []

        def stamp() -> None:
            times_s.append(time.perf_counter())

        if self._local is not None:
            rows, lengths = self._here(self._local.generate, prompts, n_tokens, stamp)
        else:
            self._order(("generate", prompts, n_tokens))
            rows, lengths = self._answers(None, stamp)[0]
        return Generation(rows, lengths, times_s, [0] * len(prompts))

    def collective_rpc(self, function: str, *args: object) -> list[Any]:
        """Import `module:function` in every worker and call it there; answers in rank order.

        Raises:
            EngineError: a worker raised, died, or is silent for `rpc_timeout_s`, or the engine is broken or closed.
        """
        if self._local is not None:
            from refengine.worker import call  # noqa: PLC0415 - as above

            return [self._here(call, function, args)]
        self._order(("rpc", function, args))
        return self._answers(self.config.rpc_timeout_s)

    def worker_pids(self) -> list[int]:
        """Process ids in rank order."""
        if self._local is not None:
            return [os.getpid()]
        return [process.pid or 0 for process in self._processes]

    def close(self) -> None:
        """Stop the workers; may be called twice."""
        if self._closed:
            return
        self._closed = True
        for orders in self._orders:
            try:
                orders.send(("close",))
            except OSError:
                continue  # that worker is gone already
        for process in self._processes:
            process.join(timeout=CLOSE_BROKEN_S if self._broken else CLOSE_S)
            if process.is_alive():
                process.kill()
                process.join()
        for orders in self._orders:
            orders.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _spawn(self) -> None:
        from refengine.worker import serve  # noqa: PLC0415 - as above

        spawn = multiprocessing.get_context("spawn")
        ranks = self.config.tensor_parallel
        pipes = [spawn.Pipe() for _ in range(ranks - 1)]
        links = [[near for near, _ in pipes], *([far] for _, far in pipes)]
        with _environment(ONE_THREAD):
            for rank in range(ranks):
                mine, theirs = spawn.Pipe()
                process = spawn.Process(
                    target=serve, args=(self.config, rank, theirs, links[rank]), daemon=True
                )
                process.start()
                theirs.close()
                self._orders.append(mine)
                self._processes.append(process)
        for near, far in pipes:
            near.close()
            far.close()

    def _check(self, prompts: list[list[int]], n_tokens: int) -> None:
        if not 1 <= len(prompts) <= self.config.max_batch:
            raise ValueError(f"{len(prompts)} prompts, max_batch is {self.config.max_batch}")
        if (
            any(not 0 < len(prompt) <= self.config.max_context - n_tokens for prompt in prompts)
            or n_tokens < 1
        ):
            raise ValueError(
                f"prompts and {n_tokens} tokens must fit max_context {self.config.max_context}"
            )

    def _here(self, function: Callable[..., Any], *args: object) -> Any:  # noqa: ANN401 - whatever the function returns
        if self._closed:
            raise EngineError("the engine is closed; start a new one")
        try:
            return function(*args)
        except Exception as error:
            raise EngineError(f"rank 0: {traceback.format_exc()}") from error

    def _order(self, order: tuple[Any, ...]) -> None:
        if self._closed:
            raise EngineError("the engine is closed; start a new one")
        if self._broken:
            raise EngineError(
                f"the engine is broken ({self._broken}); close it and start a new one"
            )
        for rank, orders in enumerate(self._orders):
            try:
                orders.send(order)
            except OSError as error:
                raise self._death(rank) from error

    def _answers(
        self, timeout_s: float | None, stamp: Callable[[], None] | None = None
    ) -> list[Any]:
        """Read one answer of every rank, also when one has failed: an unread answer would be taken for the next call's.

        Args:
            timeout_s: how long all of them may be silent; None for ever, but not once a rank has failed,
                since the others may wait for it.
        """
        self._broken = "a call was interrupted"  # until every rank has answered
        pending = {orders: rank for rank, orders in enumerate(self._orders)}
        values: dict[int, Any] = {}
        failure = ""
        while pending:
            for orders in self._ready(pending, timeout_s, failure):
                kind, value = self._receive(orders, pending[orders])
                if kind == "step":
                    assert stamp is not None
                    stamp()
                    continue
                rank = pending.pop(orders)
                values[rank] = value
                if kind == "error" and not failure:
                    failure = f"rank {rank}: {value}"
                    timeout_s = timeout_s or self.config.rpc_timeout_s
        self._broken = ""
        if failure:
            raise EngineError(failure)
        return [values[rank] for rank in sorted(values)]

    def _ready(
        self, pending: dict[Connection, int], timeout_s: float | None, failure: str
    ) -> list[Connection]:
        """Wait for answers, with an eye on every process: a dead rank would leave the others waiting."""
        sentinels = {process.sentinel: rank for rank, process in enumerate(self._processes)}
        ready = wait([*pending, *sentinels], timeout_s)
        answers = [orders for orders in pending if orders in ready]
        if answers:
            return answers
        if ready:
            raise self._death(min(sentinels[one] for one in ready if isinstance(one, int)))
        silent = f"rank {min(pending.values())} is silent for {timeout_s} s"
        self._broken = silent
        raise EngineError(f"{failure}\nafter that, {silent}" if failure else silent)

    def _receive(self, orders: Connection, rank: int) -> tuple[str, Any]:
        try:
            kind, value = orders.recv()
        except (EOFError, OSError) as error:
            raise self._death(rank) from error
        return kind, value

    def _death(self, noticed: int) -> EngineError:
        """Name the rank that died first: the others then stop by themselves, with exit code 0."""
        self._processes[noticed].join(timeout=1)
        codes = [process.exitcode for process in self._processes]
        rank = next((rank for rank, code in enumerate(codes) if code), noticed)
        self._broken = f"rank {rank} died (exit code {codes[rank]})"
        return EngineError(self._broken)


@contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    """Set variables for the children that are started meanwhile: BLAS reads them when NumPy is imported."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
