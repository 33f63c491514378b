"""What workers say of themselves: only answers that come from the engine's own worker processes count."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator

from abtest.probe import asked as asked_for
from abtest.probe import kernels
from abtest.probe.engine_log import Finding
from abtest.probe.errors import ProbeError, failed, invalid

if TYPE_CHECKING:
    from abtest.probe.engines import Adapter
    from abtest.probe.request import Request

AGREED = (  # keys of an identity entry; what else a worker says only goes into messages
    *("pid", "when", "target", "path", "md5", "sha256", "loaded_code", "compiled_code"),
    *("match", "copies", "pycache_prefix", "triton"),
)


class Evidence:
    """Asks every worker, writes the answers into the report, and refuses what does not hold.

    Args:
        report: the trial's report; `worker_pids`, `identity` and `routes` are its parts.
    """

    def __init__(self, asked: Request, adapter: Adapter, report: dict[str, Any]) -> None:
        self._asked = asked
        self._adapter = adapter
        self._report = report

    def find_hooks(self) -> None:
        """Make sure that every worker runs with the hook, and had it before the target was imported.

        Raises:
            ProbeError: no hook in a worker, or too late a one.
        """
        for rank, status in self.ask("status", self._adapter.phase_function):
            if not status["hook"] or status["problem"]:
                raise failed(
                    "recorder-missing",
                    f"rank {rank} runs without the import hook: {status['problem']}",
                )
            if status["late"]:
                names = ", ".join(status["late"])
                raise failed(
                    "late-hook", f"rank {rank}: {names} was imported before the hook was in place"
                )

    def collect_facts(self) -> None:
        """Take over what the engine and each worker were set up with; it goes to the facts that arms are held equal by.

        Raises:
            ProbeError: a rank got another backend than was asked for.
        """
        module = self._adapter.phase_function.partition(":")[0]
        facts = self._report["environment"]
        facts.update(self._adapter.facts())
        if not self._adapter.profiles:
            return
        observed = [answer["facts"] for _, answer in self.ask("facts", module)]
        for rank, seen in enumerate(observed):
            facts.update({f"engine.rank{rank}.{key}": value for key, value in seen.items()})
        requested = self._adapter.requested()
        facts.update({f"engine.requested.{key}": value for key, value in requested.items()})
        faults = asked_for.refused(requested, observed)
        if faults:
            raise invalid("request-refused", "; ".join(faults))
        if asked_for.untold(requested, observed):
            self._adapter.flags.append("request-unproved")
        conditional = self._adapter.condition_facts()
        for name, value in conditional.items():
            told = Finding("engine", name.partition(".")[2], value, "(the resolved configuration)")
            self._report["log"].append(told._asdict())
        resolved = {**facts, **conditional}
        if asked_for.runs_eagerly(resolved, self._asked.batch):
            self._adapter.flags.append("eager-decode")

    def profile_start(self) -> bool:
        """Begin a profile in every worker; where one cannot, the facts say why and nothing is profiled."""
        answers = self.ask("profile_start")
        absent = [f"rank {rank}: {said['absent']}" for rank, said in answers if said["absent"]]
        self._report["environment"]["engine.profiler"] = (
            "absent: " + "; ".join(absent) if absent else "on"
        )
        if absent and len(absent) < len(answers):
            raise failed("profiler-uneven", "; ".join(absent))
        return not absent

    def collect_kernels(self) -> None:
        """Take over the kernels of the decode steps; a profile that cannot be whole is told by a flag."""
        for rank, answer in self.ask("profile_stop"):
            rows = [{"rank": rank, **row} for row in answer["kernels"]]
            self._report["kernels"].extend(rows)
            layers = int(self._report["environment"].get(f"engine.rank{rank}.layers.decoder", "0"))
            if answer["uneven"]:
                names = ", ".join(answer["uneven"])
                print(f"abtest: rank {rank}: not in every decode step equally often: {names}")
            whole = answer["steps"] > 0 and answer["uneven_share"] <= kernels.MOST_UNEVEN_SHARE
            if not whole or (layers and not kernels.covers_layers(rows, layers)):
                self._adapter.flags.append("kernels-incomplete")

    def record(self, *, on: bool) -> None:
        """Switch the route recorder in every worker, where routes are asked for."""
        if self._asked.routes is not None:
            self.ask("set_recording", on)

    def collect_routes(self) -> None:
        """Take over what was recorded; silence is a failure, never "route not taken".

        Raises:
            ProbeError: a worker recorded nothing, or its recorder is at fault.
        """
        if self._asked.routes is None:
            return
        answers = self.ask("routes")
        self._report["routes"] = [
            {"rank": rank, **route} for rank, answer in answers for route in answer["routes"]
        ]
        for rank, answer in answers:
            if answer["faults"]:
                raise failed("recorder-missing", f"rank {rank}: {'; '.join(answer['faults'])}")
            if not answer["routes"]:
                why = (
                    "it was never called there"
                    if answer["attached"]
                    else "its module was never imported there"
                )
                raise failed(
                    "recorder-missing",
                    f"rank {rank} recorded nothing at {self._asked.routes.at}: {why}",
                )

    def collect_identity(self, when: str) -> None:
        """Take over every rank's report of its targets, then judge them.

        Args:
            when: "before" or "after" the timed pairs.

        Raises:
            ProbeError: a target was never imported, its file changed, or other code than the file's is loaded.
        """
        answers = self.ask("report", when, list(self._asked.targets))
        for rank, answer in answers:
            for entry in answer["targets"]:
                self._report["identity"].append(
                    {"rank": rank, **{key: entry[key] for key in AGREED}}
                )
        for fault in _identity_faults(answers, self._asked.targets, when):
            raise fault
        seen: dict[tuple[int, str], str] = {}
        for entry in self._report["identity"]:
            if (
                seen.setdefault((entry["rank"], entry["target"]), entry["sha256"])
                != entry["sha256"]
            ):
                raise invalid(
                    "file-changed",
                    f"rank {entry['rank']}: {entry['path']} changed during the timing",
                )

    def ask(self, name: str, *args: object) -> list[tuple[int, dict[str, Any]]]:
        """Call one function of `worker` everywhere; returns (rank, answer), one for each rank, in order.

        Raises:
            ProbeError: the engine failed, a rank did not answer, or no answer came from a worker.
        """
        pids = self._report["worker_pids"]
        try:
            answers = self._adapter.call_workers(name, *args)
        except TimeoutError as error:
            raise failed("rank-silent", f"{name}: {error}") from error
        except Exception as error:
            missing = "No module named 'abtest" in str(error)
            raise failed(
                "recorder-missing" if missing else "engine-error",
                f"{name} in the workers: {type(error).__name__}: {error}",
            ) from error
        by_pid = {answer["pid"]: answer for answer in answers if isinstance(answer, dict)}
        said = {rank: by_pid[pid] for rank, pid in enumerate(pids) if pid in by_pid}
        if not said:
            raise failed(
                "no-worker-evidence",
                f"{name}: answers came from processes {sorted(by_pid)}, the engine's workers are {pids}",
            )
        silent = sorted(set(range(self._asked.engine.tensor_parallel)) - set(said))
        if silent:
            raise failed(
                "rank-silent",
                f"{name}: no answer from rank {', '.join(map(str, silent))}; workers {pids}",
            )
        return sorted(said.items())


def _identity_faults(
    answers: list[tuple[int, dict[str, Any]]], targets: tuple[str, ...], when: str
) -> Iterator[ProbeError]:
    for rank, answer in answers:
        where = f"rank {rank}, {when} timing"
        missing = sorted(set(targets) - {entry["target"] for entry in answer["targets"]})
        if missing:
            yield invalid("target-not-imported", f"{where}: {', '.join(missing)} was never loaded")
        for entry in answer["targets"]:
            if entry["unseen"]:
                yield failed("late-hook", f"{where}: {entry['path']} was imported past the hook")
            elif entry["changed"] or entry["unreadable"]:
                why = entry["unreadable"] or "it is not the file that was imported"
                yield invalid("file-changed", f"{where}: {entry['path']}: {why}")
            elif not entry["match"]:
                strange = ", ".join(entry["strange"]) or "the module's own code"
                others = f"; other copies: {', '.join(entry['copies'])}" if entry["copies"] else ""
                yield invalid(
                    "code-mismatch",
                    f"{where}: {strange} is not what {entry['path']} compiles to{others}",
                )
