"""Any program that speaks JSON lines: one request on its standard input, one answer on its standard output.

The protocol is described in docs/engines.md; docs/examples/command_engine.py is a program that speaks it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from abtest.probe import prompts
from abtest.probe.engines import Generation

if TYPE_CHECKING:
    from abtest.probe.request import Request

PROTOCOL = 1
CLOSE_S = 30.0
UNTOLD = -1  # a count that the program does not give: no reading is not a pass

phase = "unknown"  # a worker written in Python sets this around its steps: "prefill", "decode"


def current_phase() -> str:
    """Tell the phase of the step that runs in this worker now."""
    return phase


class Adapter:
    """Starts `engine.args.argv` and drives it; what it prints beside its answers goes to the engine's log."""

    phase_function = "abtest.probe.engines.command:current_phase"
    prefix_cache = False
    profiles = False

    def __init__(self, request: Request) -> None:
        self.flags: list[str] = []
        self.version = "unknown"
        self._request = request
        self._vocabulary: int | None = None
        self._hello: dict[str, Any] = {}
        argv = list(request.engine.args.get("argv") or ())
        if not argv:
            raise ValueError("engine.args.argv is missing: name the program and its arguments")
        self._process: Any = subprocess.Popen(
            [_found(str(word)) for word in argv],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )

    def start(self) -> None:
        asked = self._request
        args = {key: value for key, value in asked.engine.args.items() if key != "argv"}
        self._hello = self._ask(
            "start",
            protocol=PROTOCOL,
            depth=asked.depth,
            batch=asked.batch,
            tokens=list(asked.tokens),
            most_tokens=asked.most_tokens,
            tensor_parallel=asked.engine.tensor_parallel,
            args=args,
        )
        vocabulary = self._hello.get("vocabulary")
        self._vocabulary = None if vocabulary is None else int(vocabulary)
        self.flags = [str(name) for name in self._hello.get("flags") or ()]

    def prompts(self) -> list[list[int]]:
        """Draw ids from the program's vocabulary; where it has none, only the length means anything."""
        depth, size = self._request.depth, self._vocabulary
        return [
            [0] * depth if size is None else prompts.from_vocabulary(size, depth, place)
            for place in range(self._request.batch)
        ]

    def generate(self, prompts: list[list[int]], count: int) -> Generation:
        given: dict[str, Any] = {"prompt_tokens": [len(one) for one in prompts]}
        if self._vocabulary is not None:
            given["prompts"] = prompts
        answer = self._ask("generate", n=count, **given)
        ids = answer.get("token_ids")
        if ids is None:
            self.flags = list(dict.fromkeys([*self.flags, "outputs-unknown"]))
            ids = [[0] * int(produced) for produced in answer["produced"]]
        rows = len(prompts)
        return Generation(
            token_ids=[list(map(int, one)) for one in ids],
            prompt_tokens=_counts(answer.get("prompt_tokens"), rows),
            token_times_s=list(map(float, answer.get("step_times_s") or ())),
            cached_tokens=_counts(answer.get("cached_tokens"), rows),
            seconds=None if answer.get("seconds") is None else float(answer["seconds"]),
        )

    def call_workers(self, name: str, *args: object) -> list[Any]:
        """Have the program call `abtest.probe.worker.answer` in each worker; one that cannot gives no evidence."""
        if not self._hello.get("calls"):
            return []
        return list(self._ask("call", name=name, args=list(args))["answers"])

    def worker_pids(self) -> list[int]:
        return [int(pid) for pid in self._hello.get("worker_pids") or ()]

    def facts(self) -> dict[str, str]:
        told = {str(key): str(value) for key, value in (self._hello.get("facts") or {}).items()}
        version = str(self._hello.get("version", "unknown"))
        return {"engine.version": version, **{f"engine.{key}": told[key] for key in told}}

    def condition_facts(self) -> dict[str, str]:
        return {}

    def requested(self) -> dict[str, str]:
        return {}

    def close(self) -> None:
        """Ask the program to end, then wait; one that does not is killed.

        Raises:
            RuntimeError: it had to be killed, or ended badly.
        """
        process = self._process
        if process.poll() is None:
            process.stdin.close()  # the end of its input is the order to stop
        try:
            code = process.wait(timeout=CLOSE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise RuntimeError(
                f"the program did not end within {CLOSE_S:g} s and was killed"
            ) from None
        finally:
            process.stdout.close()
        if code:
            raise RuntimeError(f"the program ended with exit code {code}")

    def _ask(self, op: str, **body: object) -> dict[str, Any]:
        try:
            self._process.stdin.write(json.dumps({"op": op, **body}) + "\n")
            self._process.stdin.flush()
        except OSError:
            raise RuntimeError(f"{op}: {self._end()}") from None
        while True:
            line = self._process.stdout.readline()
            if not line:
                raise RuntimeError(f"{op}: {self._end()}")
            answer = _answer(line)
            if answer is None:
                print(line, end="")  # not for us
            elif answer.get("error"):
                raise RuntimeError(f"{op}: {answer['error']}")
            else:
                return answer

    def _end(self) -> str:
        try:
            return f"the program ended with exit code {self._process.wait(timeout=5)}"
        except subprocess.TimeoutExpired:
            return "the program closed its output"


def _found(word: str) -> str:
    """Resolve a word of the command that names a file below a folder of the import path."""
    if not os.path.isabs(word) and not os.path.exists(word):
        for folder in sys.path:
            path = os.path.join(folder or ".", word)
            if os.path.isfile(path):
                return path
    return word


def _answer(line: str) -> dict[str, Any] | None:
    """Read an answer; anything but a JSON object with `ok` or `error` is the program's own talk."""
    try:
        body = json.loads(line)
    except ValueError:
        return None
    return body if isinstance(body, dict) and ("ok" in body or "error" in body) else None


def _counts(told: Any, rows: int) -> list[int]:  # noqa: ANN401 - whatever the program said
    return [UNTOLD] * rows if told is None else [int(one) for one in told]
