"""One trial, as named steps: import, start, look for the hook, warm up, measure between two proofs, close."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from abtest.probe import engine_log, measure
from abtest.probe.engines import load
from abtest.probe.environment import facts
from abtest.probe.errors import ProbeError, failed
from abtest.probe.evidence import Evidence

if TYPE_CHECKING:
    from abtest.probe.engines import Adapter
    from abtest.probe.outbox import Marks
    from abtest.probe.request import Request

PROFILED = (
    8  # tokens of the profiled request, if the short count is smaller: some whole decode steps
)


class Trial:
    """Runs the steps and gathers the report; what was gathered before an error is kept.

    Attributes:
        report: the answer to whoever asked.
        steps: how long each step of the measured generations took, for the sidecar `steps.jsonl`.
    """

    def __init__(self, asked: Request, marks: Marks) -> None:
        self.report: dict[str, Any] = {
            "trial": asked.trial,
            "phases_s": marks.phases_s,
            "tokens": list(asked.tokens),
            "warmup": None,
            "pairs": [],
            "token_s_per_token": [],
            "windows": [],
            "outputs": None,
            "prompt": None,
            "identity": [],
            "routes": [],
            "environment": facts(asked),
            "flags": [],
            "worker_pids": [],
            "kernels": [],
            "log": [],
        }
        self.steps: list[dict[str, Any]] = []
        self._asked = asked
        self._marks = marks
        self._log_window: tuple[int, int] | None = None

    def run(self) -> None:
        """Run every step in order, and close the engine at any end.

        Raises:
            ProbeError: the first thing that went wrong, with the phase that it went wrong in.
        """
        self._marks.enter("import")
        adapter = load(self._asked)
        self.report["environment"]["engine.version"] = adapter.version
        silent = (self._take_facts, self._prove_before, self._prove_after)
        try:
            for phase, step in (
                ("init", self._start),
                ("identity", self._find_hooks),
                ("identity", self._take_facts),
                ("warmup", self._warm_up),
                ("identity", self._prove_before),
                ("measure", self._measure),
                ("identity", self._prove_after),
                ("steady", self._decode_steadily),
                *([("profile", self._profile)] if adapter.profiles else []),
            ):
                if phase == "steady" and not self._asked.steady_s:
                    continue
                # proofs beside the timing are booked as identity, yet watchers see each phase once
                self._marks.enter(phase, announce=step not in silent)
                step(adapter)
        except Exception as error:
            error.phase = self._marks.phase  # type: ignore[attr-defined]  # teardown is entered before it is told
            self._add_cause(error)
            raise
        finally:
            self._marks.enter("teardown")
            self._close(adapter)
            self._marks.enter("teardown", announce=False)  # books the time
            self._read_log(adapter)

    def _start(self, adapter: Adapter) -> None:
        try:
            adapter.start()
        except (Exception, SystemExit) as error:
            raise failed("engine-init", f"{type(error).__name__}: {error}") from error
        self.report["worker_pids"] = adapter.worker_pids()
        self._evidence = Evidence(self._asked, adapter, self.report)

    def _find_hooks(self, _adapter: Adapter) -> None:
        self._evidence.find_hooks()

    def _take_facts(self, _adapter: Adapter) -> None:
        self._evidence.collect_facts()

    def _warm_up(self, adapter: Adapter) -> None:
        """Warm both lengths by the very path of the pairs; only here routes are recorded."""
        prompts = adapter.prompts()
        self._evidence.record(on=True)
        self.report["warmup"], short, long = measure.pair(
            adapter, prompts, self._asked.tokens, long_first=False
        )
        self._note_windows("warmup", short, long)
        self.report["prompt"] = {
            "sha256": measure.ids_sha256(prompts),
            "tokens": long.generation.prompt_tokens[0],
        }
        self._cached = long.generation.cached_tokens
        self._evidence.record(on=False)

    def _prove_before(self, _adapter: Adapter) -> None:
        """Identity first: a patched function is the better reason for a silent recorder."""
        self._evidence.collect_identity("before")
        self._evidence.collect_routes()

    def _measure(self, adapter: Adapter) -> None:
        tokens, total = self._asked.tokens, self._asked.pairs
        longs: list[measure.Timed] = []
        both: list[measure.Timed] = []
        begin = self._log_size()
        self._log_window = (begin, begin)
        for measured, short, long in measure.pairs(
            adapter, adapter.prompts(), tokens, total, self._cached
        ):
            self.report["pairs"].append(measured)
            self._note_windows("pair", short, long)
            longs.append(long)
            both += [short, long]
            self.report["token_s_per_token"] = measure.token_times(longs, tokens)
            self.report["outputs"], unstable = measure.outputs(longs)
            self.report["flags"] = [*unstable, *measure.splits(both)]
            if "outputs-unknown" in adapter.flags:
                self.report["outputs"] = None
            self._log_window = (begin, self._log_size())
            self._marks.pair(len(longs), total)

    def _note_windows(self, kind: str, *made: measure.Timed) -> None:
        in_order = sorted(made, key=lambda one: one.start_s)
        self.report["windows"] += [measure.window(kind, one) for one in in_order]
        lasted = (measure.steps(kind, one) for one in in_order)
        self.steps += [one for one in lasted if one is not None]

    def _prove_after(self, _adapter: Adapter) -> None:
        self._evidence.collect_identity("after")

    def _profile(self, adapter: Adapter) -> None:
        """Generate once more, untimed, under the workers' profiler, where there is a device."""
        if self._evidence.profile_start():
            short, long = self._asked.tokens
            measure.timed(adapter, adapter.prompts(), min(long, max(short, PROFILED)))
            self._evidence.collect_kernels()

    def _add_cause(self, error: Exception) -> None:
        """Add what a process of the engine's own said: the engine's front end often knows only that it ended."""
        if not isinstance(error, ProbeError) or error.name not in ("engine-init", "engine-error"):
            return
        cause = engine_log.first_fault(self._log())
        if cause is not None and cause not in str(error):
            error.args = (f"{error} First exception in the log: {cause}",)

    def _log(self) -> bytes:
        try:
            with open(os.path.join(self._asked.out, "engine.log"), "rb") as file:
                return file.read()
        except OSError:  # a probe whose output goes elsewhere
            return b""

    def _log_size(self) -> int:
        try:
            return os.path.getsize(os.path.join(self._asked.out, "engine.log"))
        except OSError:  # a probe whose output goes elsewhere
            return 0

    def _read_log(self, adapter: Adapter) -> None:
        """Read the engine's own words, and add what the adapter and the log put in doubt to the flags."""
        found = engine_log.read(self._log(), self._log_window)
        if adapter.profiles:  # an engine with workers of its own kind writes such lines
            self.report["log"] += [one._asdict() for one in found]
        doubts = [*self.report["flags"], *adapter.flags, *engine_log.flags(found)]
        self.report["flags"] = list(dict.fromkeys(doubts))

    def _decode_steadily(self, adapter: Adapter) -> None:
        """Decode for some seconds with few breaks, so that power and clocks can be read; no time of it counts.

        All proofs are in: an engine that cannot do this is told by a flag.
        """
        asked = self._asked
        try:
            for made in measure.steadily(
                adapter, adapter.prompts(), asked.most_tokens, asked.steady_s
            ):
                self._note_windows("steady", made)
        except Exception as error:  # noqa: BLE001 - engines raise anything here
            print(f"steady decode: {type(error).__name__}: {error}")
            self.report["flags"] = [*self.report["flags"], "no-steady-decode"]

    def _close(self, adapter: Adapter) -> None:
        """Close the engine; all proofs are in, so a bad close is told by a flag and by the log."""
        try:
            adapter.close()
        except Exception as error:  # noqa: BLE001 - engines raise anything here
            print(f"closing the engine: {type(error).__name__}: {error}")
            self.report["flags"] = [*self.report["flags"], "unclean-close"]
