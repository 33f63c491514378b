"""The host: clocks of the cores, load of others, swap, throttling, pressure; and what it is made of."""

import hashlib
import os
import platform
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from abtest.telemetry.processes import TICKS_PER_S, Owner

MOST_CORE_COLUMNS = (
    64  # a sidecar of hundreds of columns would be read by nobody; lowest, mean, highest stay
)
NAMES = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))
_PRESSURE = re.compile(r"^some avg10=([0-9.]+)", re.MULTILINE)


def busy_s(stat: str) -> float | None:
    """Sum the time that all cores were busy, in seconds, from `/proc/stat`; waiting for a disk is not busy."""
    for line in stat.splitlines():
        if line.startswith("cpu "):
            user, nice, system, _idle, _wait, *more = (int(part) for part in line.split()[1:])
            return (user + nice + system + sum(more[:3])) / TICKS_PER_S
    return None


def keyed(text: str | None) -> dict[str, int]:
    """Read `name value` lines, with or without a colon and a unit, such as `/proc/vmstat`."""
    pairs = (line.replace(":", " ").split() for line in (text or "").splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) > 1 and pair[1].isdigit()}


def pressure_pct(text: str | None) -> float | None:
    """Read the share of the last ten seconds in which somebody waited, from `/proc/pressure/*`."""
    found = _PRESSURE.search(text or "")
    return float(found[1]) if found else None


def cpuinfo(text: str) -> tuple[dict[str, str], list[float]]:
    """Read `/proc/cpuinfo`: the first core's fields, and the clock of every core, MHz."""
    fields: dict[str, str] = {}
    clocks_mhz = []
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if colon:
            fields.setdefault(name.strip(), value.strip())
            if name.strip() == "cpu MHz":
                clocks_mhz.append(float(value))
    return fields, clocks_mhz


class Host:
    """The machine that the trials run on.

    Args:
        proc: where procfs is mounted; tests hand in recorded trees.
        sys: the same for sysfs.
        names: files that may hold what the machine calls itself.
    """

    def __init__(
        self,
        owner: Owner,
        proc: Path = Path("/proc"),
        sys: Path = Path("/sys"),
        names: Sequence[Path] = NAMES,
    ) -> None:
        self._names = names
        self._owner = owner
        self._proc = proc
        self._cpu = sys / "devices/system/cpu"
        self._sys = sys
        self._last: tuple[float, float, float] | None = None
        folders = (path.name for path in self._cpu.glob("cpu[0-9]*"))
        self._cores = sorted(int(name[3:]) for name in folders if name[3:].isdigit())

    def sample(self) -> dict[str, float | None]:
        """Read what is cheap: counters and pressure."""
        memory, paging = keyed(self._read("meminfo")), keyed(self._read("vmstat"))
        free_kib = memory.get("MemAvailable")
        swaps = [paging.get(name) for name in ("pswpin", "pswpout")]
        return {
            "mem.free_bytes": None if free_kib is None else float(free_kib << 10),
            "mem.swapped_pages": None if None in swaps else float(sum(filter(None, swaps))),
            **{
                f"psi.{kind}_pct": pressure_pct(self._read(f"pressure/{kind}"))
                for kind in ("cpu", "memory", "io")
            },
        }

    def slow_sample(self, now_s: float) -> dict[str, float | None]:
        """Read what costs more: a core's clock interrupts that core, and processes are looked through one by one."""
        return {**self._clocks(), **self._load(now_s), "cpu.throttles": self._throttles()}

    def _clocks(self) -> dict[str, float | None]:
        clocks = {
            core: khz / 1000
            for core in self._cores
            if (khz := _number(self._cpu / f"cpu{core}/cpufreq/scaling_cur_freq")) is not None
        }
        if not clocks:
            clocks = dict(enumerate(cpuinfo(self._read("cpuinfo") or "")[1]))
        values = list(clocks.values())
        found: dict[str, float | None] = {
            "cpu.mhz_min": min(values, default=None),
            "cpu.mhz_mean": sum(values) / len(values) if values else None,
            "cpu.mhz_max": max(values, default=None),
        }
        if len(clocks) <= MOST_CORE_COLUMNS:
            found |= {f"cpu{core}.mhz": mhz for core, mhz in clocks.items()}
        return found

    def _load(self, now_s: float) -> dict[str, float | None]:
        """Tell how many cores were kept busy since the last look, in all and by others."""
        busy = busy_s(self._read("stat") or "")
        self._owner.look()
        last, own = self._last, self._owner.own_cpu_s
        self._last = None if busy is None else (now_s, busy, own)
        if last is None or busy is None or now_s <= last[0]:
            return {"cpu.busy_cores": None, "cpu.other_cores": None}
        span_s = now_s - last[0]
        others_s = (busy - last[1]) - (own - last[2])
        return {
            "cpu.busy_cores": (busy - last[1]) / span_s,
            "cpu.other_cores": max(0.0, others_s / span_s),
        }

    def _throttles(self) -> float | None:
        """Count thermal throttling of all cores since boot."""
        counts = [
            _number(self._cpu / f"cpu{core}/thermal_throttle/core_throttle_count")
            for core in self._cores
        ]
        known = [count for count in counts if count is not None]
        return sum(known) if known else None

    def _read(self, name: str) -> str | None:
        return _text(self._proc / name)

    def facts(self) -> Mapping[str, str]:
        """Describe the machine without naming it; flat, the same for all trials of a run."""
        fields, _ = cpuinfo(self._read("cpuinfo") or "")
        memory = keyed(self._read("meminfo")).get("MemTotal")
        governors = {
            _text(self._cpu / f"cpu{core}/cpufreq/scaling_governor") for core in self._cores
        }
        found = {
            "cpu": fields.get("model name", platform.machine()),
            "cpu.cores": str(len(self._cores) or os.cpu_count()),
            "cpu.microcode": fields.get("microcode"),
            "cpu.governor": ", ".join(sorted(name for name in governors if name)) or None,
            "memory_gib": None if memory is None else f"{memory / (1 << 20):.1f}",
            "clock_source": _text(
                self._sys / "devices/system/clocksource/clocksource0/current_clocksource"
            ),
            "firmware": _text(self._sys / "class/dmi/id/bios_version"),
            "host_hash": self._host_hash(),
        }
        return {name: value for name, value in found.items() if value}

    def _host_hash(self) -> str | None:
        """Tell one machine from another without saying which it is: a hash of what the system calls itself.

        One without a name of its own, as many virtual machines are, is known by its boot.
        """
        places = (*self._names, self._proc / "sys/kernel/random/boot_id")
        known = next((text for text in map(_text, places) if text), None)
        return (
            None if known is None else hashlib.sha256(f"abtest {known}".encode()).hexdigest()[:12]
        )


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip() or None
    except OSError:
        return None


def _number(path: Path) -> float | None:
    text = _text(path)
    try:
        return None if text is None else float(text)
    except ValueError:
        return None
