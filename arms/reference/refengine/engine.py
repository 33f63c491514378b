"""The engine as a caller sees it: starts the workers, hands out prompts, keeps the time of every step."""

import multiprocessing
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from types import TracebackType
from typing import Any, Self

from refengine.config import EngineConfig

ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
START_S = 60.0


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
    """A running engine; a context manager."""

    def __init__(self, config: EngineConfig) -> None:
        self.config = config
        self._closed = False
        self._orders: list[Connection] = []
        self._processes: list[SpawnProcess] = []
        self._local: Any = None
        if config.in_process:
            from refengine.worker import Worker  # noqa: PLC0415 - the parent of real workers needs no NumPy

            self._local = Worker(config, 0, [])
            return
        try:
            self._spawn()
            for rank in range(config.tensor_parallel):
                self._answer(rank, START_S)
        except BaseException:
            self.close()
            raise

    def generate(self, prompts: list[list[int]], n_tokens: int) -> Generation:
        """Decode greedily: all prompts are prefilled first, then every step serves all sequences.

        Raises:
            ValueError: the prompts do not fit this engine.
            EngineError: a worker failed or died.
        """
        self._check(prompts, n_tokens)
        times_s: list[float] = []

        def stamp() -> None:
            times_s.append(time.perf_counter())

        if self._local is not None:
            rows, lengths = self._local.generate(prompts, n_tokens, stamp)
        else:
            self._order(("generate", prompts, n_tokens))
            answers = [
                self._answer(rank, None, stamp) for rank in range(self.config.tensor_parallel)
            ]
            rows, lengths = answers[0]
        return Generation(rows, lengths, times_s, [0] * len(prompts))

    def collective_rpc(self, function: str, *args: object) -> list[Any]:
        """Import `module:function` in every worker and call it there; answers in rank order.

        Raises:
            EngineError: a worker raised, died, or is silent for `rpc_timeout_s`.
        """
        if self._local is not None:
            from refengine.worker import call  # noqa: PLC0415 - as above

            return [call(function, args)]
        self._order(("rpc", function, args))
        return [
            self._answer(rank, self.config.rpc_timeout_s)
            for rank in range(self.config.tensor_parallel)
        ]

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
            process.join(timeout=5)
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

    def _order(self, order: tuple[Any, ...]) -> None:
        for rank, orders in enumerate(self._orders):
            try:
                orders.send(order)
            except OSError as error:
                raise EngineError(
                    f"rank {rank} is gone (exit code {self._processes[rank].exitcode})"
                ) from error

    def _answer(self, rank: int, timeout_s: float | None, stamp: Any = None) -> Any:  # noqa: ANN401 - what the worker says
        """Wait for one rank's answer, with an eye on every rank: a dead one would leave the others waiting."""
        orders = self._orders[rank]
        sentinels = {process.sentinel: index for index, process in enumerate(self._processes)}
        while True:
            ready = wait([orders, *sentinels], timeout_s)
            if not ready:
                raise EngineError(f"rank {rank} is silent for {timeout_s} s")
            if orders not in ready:
                dead = min(sentinels[one] for one in ready if isinstance(one, int))
                raise EngineError(f"rank {dead} died (exit code {self._processes[dead].exitcode})")
            try:
                kind, value = orders.recv()
            except (EOFError, OSError) as error:
                self._processes[rank].join(timeout=1)
                raise EngineError(
                    f"rank {rank} died (exit code {self._processes[rank].exitcode})"
                ) from error
            if kind == "step":
                stamp()
            elif kind == "error":
                raise EngineError(f"rank {rank}: {value}")
            else:
                return value


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
