"""Where a short decode step spends its time beside the kernels: one engine, moved over the processor between requests.

    python host_control.py MODEL OUT.json

No part of an A/B: it starts `vllm.LLM` once, as `experiment.yaml` does for the arm `stock` at depth 1024, and times
requests of 64 tokens step by step while the front end and the engine's core are bound to other processors. Run it in a
container and outside of one; `VLLM_ENABLE_V1_MULTIPROCESSING=0` puts both into one process. Before each request a
fixed piece of work is done that needs neither the engine nor the card: if it slowed down with the steps, it would be the
processor. The first two requests at each placement are not counted.
"""

import itertools
import json
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import vllm

DEPTH, TOKENS, REQUESTS = 1024, 64, 12
WORK = 300_000  # additions of the fixed piece of work
ARGUMENTS = {
    "load_format": "dummy",
    "dtype": "bfloat16",
    "skip_tokenizer_init": True,
    "attention_config": {"backend": "TRITON_ATTN"},
    "compilation_config": {
        "mode": 0,
        "cudagraph_mode": "FULL_DECODE_ONLY",
        "cudagraph_capture_sizes": [1],
    },
    "gpu_memory_utilization": 0.5,
    "enable_prefix_caching": False,
    "max_model_len": DEPTH + TOKENS,
    "max_num_batched_tokens": DEPTH + TOKENS,
    "max_num_seqs": 1,
}


def bind(pid: int, processors: set[int]) -> None:
    """Bind every thread of a process."""
    for task in Path(f"/proc/{pid}/task").iterdir():
        os.sched_setaffinity(int(task.name), processors)


def work_ms() -> float:
    """Time the fixed piece of work; milliseconds."""
    begin_s, total = time.perf_counter(), 0
    for number in range(WORK):
        total += number
    return 1e3 * (time.perf_counter() - begin_s)


def stolen_s() -> float:
    """Seconds that the hypervisor took from all processors since the start, as the kernel counts them."""
    fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    return int(fields[8]) / os.sysconf("SC_CLK_TCK")


def decode(engine: Any, name: str) -> list[float]:  # noqa: ANN401 - a private type of vLLM's
    """One request; milliseconds of each step after the prefill."""
    sampling = vllm.SamplingParams(
        temperature=0.0,
        max_tokens=TOKENS,
        ignore_eos=True,
        detokenize=False,
        output_kind=vllm.sampling_params.RequestOutputKind.DELTA,
    )
    prompt = [(7 * place) % 1000 + 10 for place in range(DEPTH)]
    engine.add_request(name, {"prompt_token_ids": prompt}, sampling)
    stamps = []
    while engine.has_unfinished_requests():
        engine.step()
        stamps.append(time.perf_counter())
    return [1e3 * (end - begin) for begin, end in itertools.pairwise(stamps)]


def summary(requests: list[list[float]], works_ms: list[float]) -> dict[str, Any]:
    """Quantiles of the steps, and each request's mean beside the work done just before it."""
    steps = sorted(step for request in requests for step in request)
    return {
        "steps": len(steps),
        "mean_ms": round(statistics.fmean(steps), 4),
        "p10_ms": round(steps[len(steps) // 10], 4),
        "median_ms": round(statistics.median(steps), 4),
        "p90_ms": round(steps[9 * len(steps) // 10], 4),
        "max_ms": round(steps[-1], 4),
        "mean_of_each_request_ms": [round(statistics.fmean(one), 4) for one in requests],
        "work_before_each_request_ms": [round(one, 4) for one in works_ms],
    }


def placements(count: int) -> list[tuple[str, set[int], set[int]]]:
    """Name, processors of the front end, processors of everything else; `free` again at the end, against drift."""
    everything = set(range(count))
    half = count // 2
    return [
        ("free", everything, everything),
        ("neighbours 0 and 1", {0}, {1}),
        ("apart 0 and 4", {0}, {4}),
        ("two of its own each", {0, 1}, {4, 5}),
        ("both on one", {2}, {2}),
        ("lower half", set(range(half)), set(range(half))),
        ("free again", everything, everything),
    ]


def main() -> None:
    """Start, warm up, go through the placements, write the figures."""
    model, out = sys.argv[1:]

    llm = vllm.LLM(model=model, **ARGUMENTS)
    engine = llm.llm_engine
    for number in range(4):
        decode(engine, f"warm-{number}")
    here = os.getpid()
    others = [child.pid for child in psutil.Process(here).children(recursive=True)]
    found: list[dict[str, Any]] = []
    for name, front, rest in placements(os.cpu_count() or 1):
        bind(here, front)
        for pid in others:
            bind(pid, rest)
        stolen = stolen_s()
        made = [(work_ms(), decode(engine, f"{name}-{number}")) for number in range(REQUESTS)][2:]
        figures = summary([steps for _, steps in made], [one_ms for one_ms, _ in made])
        found.append({"placement": name, **figures, "stolen_s": round(stolen_s() - stolen, 3)})
    body = {
        "vllm": vllm.__version__,
        "multiprocessing": os.environ.get("VLLM_ENABLE_V1_MULTIPROCESSING", "1"),
        "processors": os.cpu_count(),
        "processes": 1 + len(others),
        "placements": found,
    }
    Path(out).write_text(json.dumps(body, indent=1) + "\n")


if __name__ == "__main__":
    main()
