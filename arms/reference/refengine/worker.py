"""One worker process: a rank of the model, the sum over ranks, and the commands it obeys."""

import importlib
import os
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from refengine.config import EOS, EngineConfig
from refengine.model import Model

Floats = NDArray[np.float32]


class AllReduce:
    """Sums arrays over the ranks through rank 0, always in rank order, so that every rank has the same bits."""

    def __init__(self, rank: int, links: list[Connection]) -> None:
        self._rank = rank
        self._links = links  # rank 0: one to each other rank; others: one to rank 0

    def __call__(self, mine: Floats) -> Floats:
        if not self._links:
            return mine
        mine = np.ascontiguousarray(mine)
        if self._rank == 0:
            total = mine
            for link in self._links:
                total = total + np.frombuffer(link.recv_bytes(), np.float32).reshape(mine.shape)
            data = total.tobytes()
            for link in self._links:
                link.send_bytes(data)
            return total
        self._links[0].send_bytes(mine.tobytes())
        return np.frombuffer(self._links[0].recv_bytes(), np.float32).reshape(mine.shape)


class Worker:
    """Obeys commands; answers are (kind, value)."""

    def __init__(self, config: EngineConfig, rank: int, links: list[Connection]) -> None:
        self._config = config
        self._rank = rank
        self._model = Model(config, rank, AllReduce(rank, links))

    def generate(
        self, prompts: list[list[int]], count: int, tell: Callable[[], None]
    ) -> tuple[list[list[int]], list[int]]:
        """Produce up to `count` tokens per sequence; `tell` is called after every step of the whole batch.

        Returns:
            Token ids per sequence, and the length of each prompt as it was worked on.
        """
        self._model.reset()
        rows = [[self._model.prefill(index, prompt)] for index, prompt in enumerate(prompts)]
        tell()
        for step in range(1, count):
            if not self._config.ignore_eos and any(row[-1] == EOS for row in rows):
                break
            for index, row in enumerate(rows):
                place = len(prompts[index]) + step - 1
                row.append(self._model.decode(index, row[-1], place))
            tell()
        return rows, [len(prompt) for prompt in prompts]


def call(function: str, args: tuple[Any, ...]) -> Any:  # noqa: ANN401 - whatever the function returns
    """Import `module:function` here and call it."""
    module, _, name = function.partition(":")
    return getattr(importlib.import_module(module), name)(*args)


def share(cores: set[int], rank: int, ranks: int) -> set[int]:
    """Deal cores out to ranks: nobody else's where there is one for each, else all of them.

    >>> share({2, 3, 6, 7}, 1, 2), share({5}, 1, 2)
    ({3, 7}, {5})
    """
    return set(sorted(cores)[rank::ranks]) if len(cores) >= ranks else cores


def serve(config: EngineConfig, rank: int, orders: Connection, links: list[Connection]) -> None:
    """Run one worker until it is told to stop or its parent is gone."""
    # Ranks talk in turns, so that a scheduler may take them for one task and run them one after the other on one core.
    os.sched_setaffinity(0, share(os.sched_getaffinity(0), rank, config.tensor_parallel))
    try:
        worker = Worker(config, rank, links)
        orders.send(("ready", None))
        while True:
            order = orders.recv()
            if order[0] == "close":
                return
            orders.send(_obey(worker, rank, order, orders))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return  # the parent, or another rank, is gone


def _obey(worker: Worker, rank: int, order: tuple[Any, ...], orders: Connection) -> tuple[str, Any]:
    def tell() -> None:
        if rank == 0:
            orders.send(("step", None))

    try:
        if order[0] == "generate":
            return "done", worker.generate(order[1], order[2], tell)
        return "done", call(order[1], order[2])
    except (EOFError, BrokenPipeError, ConnectionResetError):
        raise
    except Exception:  # noqa: BLE001 - the caller is told, whatever it was
        return "error", traceback.format_exc()
