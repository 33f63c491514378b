"""A program that speaks the protocol of `engine.kind: command`: a toy with one worker, itself.

Run by an experiment with `engine: {kind: command, args: {argv: [python3, command_engine.py]}}`.
"""

import json
import os
import sys
import time
from importlib import import_module
from typing import Any


def start(asked: dict[str, Any]) -> dict[str, Any]:
    """Load everything; the answer says who works, and what is known of ids."""
    import_module("toykernel")  # the module that the experiment swaps
    return {
        "version": "toy-1",
        "worker_pids": [os.getpid()],
        "vocabulary": 256,
        "calls": "abtest.probe.worker" in sys.modules or _has_probe(),
        "facts": {"depth": asked["depth"]},
    }


def _has_probe() -> bool:
    try:
        import_module("abtest.probe.worker")
    except ImportError:
        return False
    return True


def generate(asked: dict[str, Any]) -> dict[str, Any]:
    """Decode n tokens for every prompt, a time stamp after each step."""
    kernel = import_module("toykernel")
    phases = import_module("abtest.probe.engines.command")
    rows: list[list[int]] = [[] for _ in asked["prompts"]]
    stamps: list[float] = []
    begin_s = time.perf_counter()
    for _ in range(asked["n"]):
        phases.phase = "decode"  # type: ignore[attr-defined]  # a module's variable
        for row, prompt in zip(rows, asked["prompts"], strict=True):
            row.append(kernel.decode(len(prompt) + len(row)))
        stamps.append(time.perf_counter())
    return {
        "token_ids": rows,
        "prompt_tokens": [len(prompt) for prompt in asked["prompts"]],
        "cached_tokens": [0] * len(rows),
        "step_times_s": stamps,
        "seconds": time.perf_counter() - begin_s,
    }


def call(asked: dict[str, Any]) -> dict[str, Any]:
    """Let every worker answer for itself; here there is one, and it is this process."""
    worker = import_module("abtest.probe.worker")
    return {"answers": [worker.answer(asked["name"], asked["args"])]}


def main() -> None:
    """Serve until the input ends."""
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            answer = {
                "ok": True,
                **{"start": start, "generate": generate, "call": call}[asked["op"]](asked),
            }
        except Exception as error:  # noqa: BLE001 - whoever asked must learn of it
            answer = {"error": f"{type(error).__name__}: {error}"}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
