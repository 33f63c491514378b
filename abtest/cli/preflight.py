"""Before a run: is this machine fit for this experiment? Pure checks of what was read; a missing reading is no pass."""

import os
import shutil
import stat
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from abtest.cli.doctor import Check
from abtest.errors import InfrastructureError
from abtest.model.telemetry import CardProcess, Sample
from abtest.ports import TelemetrySource
from abtest.spec import Experiment

LEAST_SHM_BYTES = (
    256 << 20
)  # an engine's default of 64 MB hangs collectives or ends workers with a bus error
LEAST_FREE_BYTES, WISHED_FREE_BYTES = 100 << 20, 1 << 30
HELD_SHARE = 0.02  # of a card's memory before anything runs; drivers keep some hundred MiB
HELD_BYTES = 1 << 30
NVIDIA_NODE = Path("/dev/nvidiactl")
SOUND_CLOCKS = ("tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page")
FAST_GOVERNORS = ("performance", "schedutil")


@dataclass(frozen=True, slots=True)
class Machine:
    """What was read before the run."""

    sample: Sample
    processes: tuple[CardProcess, ...]
    facts: Mapping[str, str]

    @property
    def cards(self) -> tuple[str, ...]:
        names = {name.partition(".")[0] for name in self.sample if name.startswith("gpu")}
        return tuple(sorted(names, key=lambda name: (len(name), name)))


def read(source: TelemetrySource) -> Machine:
    sample, processes = source.look()
    return Machine(sample, processes, source.facts())


def of_experiment(experiment: Experiment) -> Iterator[Check]:
    """Check what the experiment asks of a container."""
    yield _shm(experiment)
    yield from _groups(experiment)
    yield from _devices(experiment)


def of_machine(machine: Machine) -> Iterator[Check]:
    """Check the state of processor and cards."""
    yield _governor(machine.facts.get("cpu.governor"))
    yield _clock_source(machine.facts.get("clock_source"))
    for card in machine.cards:
        yield _link(card, machine.sample)
        yield _held(card, machine.sample)
    if machine.cards:
        yield _foreign(machine.processes)
        yield _locked(machine.facts.get("gpu.clock_policy"))
    elif NVIDIA_NODE.exists():
        yield Check(
            "cards",
            "warn",
            "an NVIDIA driver is here, but no card can be read",
            "Clocks, power and throttling would be missing from every record.",
            "Install the reader: pip install 'abtest[nvidia]'.",
        )


def disk_space(folder: Path) -> Check:
    """Check the free space where records, samples and logs go."""
    free_bytes = shutil.disk_usage(folder).free
    text = f"{free_bytes / (1 << 30):.1f} GiB free"
    if free_bytes >= WISHED_FREE_BYTES:
        return Check("disk space", "ok", text)
    return Check(
        "disk space",
        "warn" if free_bytes >= LEAST_FREE_BYTES else "fail",
        text,
        "A full disk ends the run in the middle of a trial.",
        "Free some, or give another folder with --results.",
    )


def require(
    experiment: Experiment, source: TelemetrySource | None, folder: Path, *, strict: bool
) -> None:
    """Print warnings on stderr, and refuse a machine that is not fit.

    Args:
        strict: warnings refuse too.

    Raises:
        InfrastructureError: a check failed.
    """
    found = [*of_experiment(experiment), disk_space(folder)]
    if source is not None:
        found += of_machine(read(source))
    for check in found:
        if check.level in ("warn", "fail"):
            print(
                f"{check.level}: {check.name}: {check.found}. {check.why}\n  next: {check.remedy}",
                file=sys.stderr,
            )
    refuse(found, strict=strict)


def refuse(found: list[Check], *, strict: bool) -> None:
    """Raise where a check failed; with `strict`, also where one warned.

    Raises:
        InfrastructureError: names the checks.
    """
    levels = ("fail", "warn") if strict else ("fail",)
    bad = [check.name for check in found if check.level in levels]
    if bad:
        raise InfrastructureError(
            f"not fit to run: {', '.join(bad)}", remedy="Follow the remedies above."
        )


def _shm(experiment: Experiment) -> Check:
    ranks, container = experiment.engine.tensor_parallel, experiment.container
    size = f"{container.shm_size / (1 << 20):.0f} MiB of /dev/shm, ipc {container.ipc}"
    if ranks == 1 or container.ipc == "host" or container.shm_size >= LEAST_SHM_BYTES:
        return Check("shared memory", "ok", f"{size}, {ranks} ranks")
    return Check(
        "shared memory",
        "fail",
        f"{size}, {ranks} ranks",
        "Ranks talk through shared memory: with too little of it they hang or end with a bus error.",
        "Set container.shm_size: 1g, or container.ipc: host.",
    )


def _groups(experiment: Experiment) -> Iterator[Check]:
    names = [group for group in experiment.container.group_add if not group.isdigit()]
    if names:
        yield Check(
            "groups",
            "warn",
            f"container.group_add names {', '.join(names)}",
            "A name is looked up inside the image, where it may stand for another number than here.",
            "Write the numbers: getent group NAME | cut -d: -f3.",
        )


def _devices(experiment: Experiment) -> Iterator[Check]:
    given = set(experiment.container.group_add)
    for entry in experiment.container.devices:
        path = Path(entry.partition(":")[0])
        try:
            seen = path.stat()
        except OSError as error:
            yield Check(
                "devices",
                "fail",
                f"{path}: {error.strerror}",
                "The container could not be created, or would not see its card.",
                "Load the driver, or mend container.devices.",
            )
            continue
        open_to_all = seen.st_mode & stat.S_IROTH and seen.st_mode & stat.S_IWOTH
        if path.is_dir() or open_to_all or os.getuid() == seen.st_uid or str(seen.st_gid) in given:
            yield Check("devices", "ok", str(path))
            continue
        yield Check(
            "devices",
            "warn",
            f"{path} belongs to group {seen.st_gid}, which container.group_add does not give",
            "The trial runs as this user and may not open the device.",
            f'Add "{seen.st_gid}" to container.group_add.',
        )


def _governor(governor: str | None) -> Check:
    if governor is None:
        return Check("governor", "note", "cannot be read here, as in most virtual machines")
    if all(name in FAST_GOVERNORS for name in governor.split(", ")):
        return Check("governor", "ok", governor)
    return Check(
        "governor",
        "warn",
        governor,
        "Slow cores delay launches: a fast kernel looks slower than it is.",
        "Use cpupower frequency-set -g performance.",
    )


def _clock_source(source: str | None) -> Check:
    if source in SOUND_CLOCKS:
        return Check("clock source", "ok", str(source))
    return Check(
        "clock source",
        "warn",
        source or "cannot be read",
        "Some clock sources take microseconds to read or jump; every time rests on it.",
        "Boot with a stable TSC, or look why the kernel gave it up (dmesg | grep -i tsc).",
    )


def _link(card: str, sample: Sample) -> Check:
    """Judge the width only: an idle link lowers its speed, and each trial's record has the speed under load."""
    width, most = sample.get(f"{card}.link_width"), sample.get(f"{card}.link_width_max")
    speeds = [sample.get(f"{card}.link_gen{end}") for end in ("", "_max")]
    generations = "/".join("unknown" if gen is None else f"{gen:g}" for gen in speeds)
    why = "A narrow link slows prefill and not decode, and cannot be seen in the rates."
    if width is None or most is None:
        return Check(
            f"{card} link",
            "warn",
            "its width cannot be read",
            why,
            "Look at it from the host: lspci -vv, line LnkSta.",
        )
    text = f"x{width:g} of x{most:g}, generation {generations} (now/at most; speed is judged under load)"
    if width >= most:
        return Check(f"{card} link", "ok", text)
    return Check(f"{card} link", "warn", text, why, "Reseat the card or move it, and reboot.")


def _held(card: str, sample: Sample) -> Check:
    used, total = sample.get(f"{card}.mem_used_bytes"), sample.get(f"{card}.mem_total_bytes")
    why = "An engine measures free memory at its start and sizes its cache by it."
    remedy = "End what holds it (nvidia-smi, rocm-smi)."
    if used is None:
        return Check(f"{card} memory", "warn", "cannot be read", why, remedy)
    text = f"{used / (1 << 30):.1f} GiB in use"
    held = used > max(HELD_BYTES, HELD_SHARE * (total or 0.0))
    return Check(f"{card} memory", "warn", text, why, remedy) if held else Check(f"{card} memory", "ok", text)  # fmt: skip


def _foreign(processes: tuple[CardProcess, ...]) -> Check:
    others = [f"{one.pid} on {one.card}" for one in processes if one.ours is not True]
    if not others:
        return Check("other processes on cards", "ok", "none")
    return Check(
        "other processes on cards",
        "fail",
        ", ".join(others),
        "They take time and memory of the card in the middle of a trial.",
        "End them, or choose another card.",
    )


def _locked(policy: str | None) -> Check:
    if policy is None:
        return Check(
            "card clocks", "note", "cannot tell whether they are locked; records hold them"
        )
    free = "auto" in policy
    return Check("card clocks", "note" if free else "ok", f"policy {policy}")
