"""One trial, as named steps: import, start, prove, warm up, prove, measure, prove, close."""

from __future__ import annotations

from typing import Any

from abtest.probe import measure
from abtest.probe.engines import load
from abtest.probe.environment import facts
from abtest.probe.errors import failed, invalid
from abtest.probe.outbox import Marks


class Trial:
    """Runs the steps and gathers the report; what was gathered before an error is kept."""

    def __init__(self, request: dict[str, Any], marks: Marks) -> None:
        self.request = request
        self.report: dict[str, Any] = {"tokens": request["tokens"], "flags": []}
        self._marks = marks
        self._adapter: Any = None

    def run(self) -> None:
        """Run every step in order.

        Raises:
            ProbeError: the first thing that went wrong.
        """
        steps = (
            ("import", self._import),
            ("init", self._start),
            ("identity", self._check_hooks),
            ("warmup", self._warm_up),
            ("measure", self._measure),
        )
        try:
            for phase, step in steps:
                self._marks.enter(phase)
                step()
        finally:
            self._marks.enter("teardown")
            if self._adapter is not None:
                self._adapter.close()

    def _import(self) -> None:
        self._adapter = load(self.request)

    def _start(self) -> None:
        try:
            self._adapter.start()
        except Exception as error:
            raise failed("engine-init", f"{type(error).__name__}: {error}") from error
        self.report["worker_pids"] = self._adapter.worker_pids()
        self.report["environment"] = facts(self.request, self._adapter.version)

    def _check_hooks(self) -> None:
        for rank, status in enumerate(self._ask("status", self._adapter.phase_function)):
            if not status["hook"]:
                raise failed(
                    "recorder-missing",
                    f"rank {rank} runs without our import hook: {status['problem']}",
                )
            if status["late"]:
                raise failed(
                    "late-hook", f"rank {rank}: {status['late']} was imported before the hook"
                )

    def _warm_up(self) -> None:
        prompts = self._adapter.prompts()
        self.report["prompt"] = {"sha256": measure.ids_sha256(prompts), "tokens": len(prompts[0])}
        recording = self.request["routes"] is not None
        if recording:
            self._ask("set_recording", True)  # noqa: FBT003 - travels by position
        warmed, _ = measure.pair(self._adapter, prompts, self.request["tokens"], long_first=False)
        self.report["warmup"] = warmed
        if recording:
            self._ask("set_recording", False)  # noqa: FBT003 - travels by position
            self._collect_routes()

    def _collect_routes(self) -> None:
        routes = self.report["routes"] = []
        for rank, answer in enumerate(self._ask("routes")):
            routes.extend({"rank": rank, **route} for route in answer["routes"])
            if answer["faults"]:
                raise failed(
                    "recorder-missing", f"rank {rank}: the recorder failed: {answer['faults'][0]}"
                )
            if not answer["routes"]:
                at = self.request["routes"]["at"]
                raise failed(
                    "recorder-missing",
                    f"rank {rank} recorded nothing at {at}: was it ever called there?",
                )

    def _measure(self) -> None:
        prompts, tokens = self._adapter.prompts(), self.request["tokens"]
        self._collect_identity("before")
        pairs, longs = measure.pairs(
            self._adapter, prompts, tokens, self.request["pairs"], self._marks.pair
        )
        self._collect_identity("after")
        self.report["pairs"] = pairs
        self.report["token_s_per_token"] = measure.token_times(longs, tokens)
        self.report["outputs"], flags = measure.outputs(longs)
        self.report["flags"] += flags
        self._compare_identity()

    def _collect_identity(self, when: str) -> None:
        found = self.report.setdefault("identity", [])
        targets = self.request["targets"]
        for rank, entries in enumerate(self._ask("report", when, targets)):
            missing = set(targets) - {entry["target"] for entry in entries}
            if missing:
                raise invalid(
                    "target-not-imported",
                    f"rank {rank} never imported {', '.join(sorted(missing))}",
                )
            found.extend({"rank": rank, **entry} for entry in entries)
            for entry in entries:
                if not entry["match"]:
                    strange = ", ".join(entry["strange"]) or "the module itself"
                    raise invalid(
                        "code-mismatch",
                        f"rank {rank}, {when} timing: {strange} is not what {entry['path']} compiles to",
                    )

    def _compare_identity(self) -> None:
        seen: dict[tuple[int, str], str] = {}
        for entry in self.report["identity"]:
            key = (entry["rank"], entry["target"])
            if seen.setdefault(key, entry["sha256"]) != entry["sha256"]:
                raise invalid(
                    "file-changed",
                    f"rank {entry['rank']}: {entry['path']} changed while it was measured",
                )

    def _ask(self, name: str, *args: object) -> list[Any]:
        """Ask every worker; an answer counts only if it comes from a worker's own process."""
        try:
            answers: list[Any] = self._adapter.call_workers(name, *args)
        except Exception as error:
            raise failed("rank-silent", f"{name}: {type(error).__name__}: {error}") from error
        pids = self._adapter.worker_pids()
        if len(answers) != self.request["engine"]["tensor_parallel"] or len(pids) != len(answers):
            raise failed("rank-silent", f"{name}: {len(answers)} answers from {len(pids)} workers")
        for rank, (answer, pid) in enumerate(zip(answers, pids)):
            if pid not in _pids(answer, pid):
                raise failed(
                    "no-worker-evidence",
                    f"{name}: rank {rank}'s answer does not come from pid {pid}",
                )
        return answers


def _pids(answer: Any, pid: int) -> set[int]:  # noqa: ANN401 - a dict, a list of dicts or a pid
    if isinstance(answer, dict):
        return {answer["pid"]}
    if isinstance(answer, list):
        return {entry["pid"] for entry in answer} or {pid}
    return {answer}
