"""Workers: this process, or processes of their own; each has a rank, a model runner and a mixed-in class."""

import importlib
import multiprocessing
import os
import queue
import sys
from types import SimpleNamespace
from typing import Any


class Executor:
    def __init__(self, arguments: dict[str, Any], fault: str) -> None:
        self.fault = fault
        ranks = arguments["tensor_parallel_size"]
        if os.environ.get("VLLM_ENABLE_V1_MULTIPROCESSING") == "0" and ranks == 1:
            self.local, self.workers = make_worker(0, arguments, fault), []
            return
        self.local = None
        context = multiprocessing.get_context(
            os.environ.get("VLLM_WORKER_MULTIPROC_METHOD", "spawn")
        )
        kept = {name: os.environ.pop(name) for name in ("PYTHONPATH",) if fault == "no-hook"}
        self.workers = []
        for rank in range(ranks):
            mine, theirs = context.Queue(), context.Queue()
            process = context.Process(
                target=serve, args=(mine, theirs, rank, arguments, fault), daemon=True
            )
            process.start()
            self.workers.append((process, mine, theirs))
        os.environ.update(kept)
        self.call("ready", (), 30)

    def call(self, name: str, args: tuple, timeout: float) -> list[Any]:
        if self.local is not None:
            return [getattr(self.local, name)(*args)]
        for rank, (_, orders, _) in enumerate(self.workers):
            if not (self.fault == "rank-silent" and rank == 1 and args[:1] == ("report",)):
                orders.put((name, args))
        answers = []
        for process, _, results in self.workers:
            answers.append(_wait(process, results, 2 if self.fault == "rank-silent" else timeout))
        return answers

    def execute(self, scheduled: dict[str, int], requests: dict[str, Any]) -> dict[str, int]:
        new = [
            name
            for name in scheduled
            if requests[name].left == len(requests[name].prompt) - requests[name].cached
        ]
        made = {name: requests[name].made for name in scheduled if name not in new}
        return self.call("execute_model", (scheduled, new, made), 60)[0]

    def close(self) -> None:
        for process, _, _ in self.workers:
            process.terminate()
            process.join()


def _wait(process: Any, results: Any, timeout: float) -> Any:
    for _ in range(int(timeout / 0.05)):
        try:
            kind, value = results.get(timeout=0.05)
        except queue.Empty:
            if not process.is_alive():
                raise RuntimeError(
                    f"EngineDeadError: a worker ended with {process.exitcode}"
                ) from None
            continue
        if kind == "error":
            raise RuntimeError(value)
        return value
    raise TimeoutError("RPC call timed out")


def serve(orders: Any, results: Any, rank: int, arguments: dict[str, Any], fault: str) -> None:
    worker = make_worker(rank, arguments, fault)
    while True:
        name, args = orders.get()
        try:
            results.put(("done", getattr(worker, name)(*args)))
        except Exception as error:
            results.put(("error", f"{type(error).__name__}: {error}"))


def make_worker(rank: int, arguments: dict[str, Any], fault: str) -> Any:
    module, _, name = arguments["worker_extension_cls"].rpartition(".")
    extension = getattr(importlib.import_module(module), name)
    return type("Worker", (Worker, extension), {})(rank, fault)


class Worker:
    def __init__(self, rank: int, fault: str) -> None:
        self.rank, self.fault = rank, fault
        if fault == "other-file" and rank == 1:
            sys.path.insert(0, os.environ["OTHER_COPY"])
            sys.modules["vllm"].__path__.insert(0, os.path.join(os.environ["OTHER_COPY"], "vllm"))
            for loaded in [one for one in sys.modules if one.startswith("vllm.ops")]:
                del sys.modules[loaded]
        kernel = importlib.import_module("vllm.ops.attention")
        backend = "TORCH_SDPA" if fault == "falls-back" else "CPU_ATTN"
        named = SimpleNamespace(get_name=lambda: backend)
        layer = SimpleNamespace(attn_backend=named)
        self.vllm_config = SimpleNamespace(
            compilation_config=SimpleNamespace(
                static_forward_context={"model.layers.0.self_attn": layer}
            )
        )
        self.model_runner = Runner(kernel, fault)
        if fault == "swapped-after-import":
            with open(kernel.__file__, "a") as file:
                file.write("# another\n")

    def ready(self) -> bool:
        return True

    def execute_model(
        self, scheduled: dict[str, int], new: list[str], made: dict[str, int]
    ) -> dict[str, int]:
        return self.model_runner.execute_model(
            SimpleNamespace(
                num_scheduled_tokens=scheduled,
                scheduled_spec_decode_tokens={},
                scheduled_new_reqs=[SimpleNamespace(req_id=name) for name in new],
                scheduled_cached_reqs=SimpleNamespace(
                    req_ids=list(made), num_output_tokens=list(made.values())
                ),
            )
        )


class Runner:
    def __init__(self, kernel: Any, fault: str) -> None:
        self.builder, self.fault, self.steps = kernel.Builder(4), fault, 0
        self.torch = None
        if "device" in fault:  # graphs of decode steps are captured before the first request
            self.torch = importlib.import_module("torch")
            graph = self.torch.cuda.CUDAGraph()
            graph.capture_begin()
            self.builder.build(1, int(os.environ["OMP_NUM_THREADS"]))
            graph.capture_end()

    def execute_model(self, scheduled: Any) -> dict[str, int]:
        self.steps += 1
        if self.fault == "worker-killed" and self.steps == 100:
            os.kill(os.getpid(), 9)
        threads = int(os.environ.get("OMP_NUM_THREADS", "1"))
        replays = self.torch is not None and not scheduled.scheduled_new_reqs
        seen = 0 if self.fault == "never-called" or replays else self.builder.build(16, threads)
        if self.torch is not None:
            self.torch.launch("sample" if "device-odd" in self.fault and replays else "attention")
        made = dict(
            zip(
                scheduled.scheduled_cached_reqs.req_ids,
                scheduled.scheduled_cached_reqs.num_output_tokens,
            )
        )
        place = {name: int(name.rpartition("-")[2]) for name in scheduled.num_scheduled_tokens}
        return {name: (seen + made.get(name, 0) + 7 * place[name]) % 500 for name in place}
