"""NVIDIA cards, read through NVML; the package `nvidia-ml-py` is needed only where there is such a card."""

import hashlib
import importlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from abtest.model.telemetry import CardProcess
from abtest.telemetry.processes import Owner

POWER_INSTANT = (
    186  # NVML_FI_DEV_POWER_INSTANT; the plain reading is a mean over a second on newer cards
)
SM, MEMORY = 1, 2  # NVML_CLOCK_SM, NVML_CLOCK_MEM
CORE = 0  # NVML_TEMPERATURE_GPU
LOST = 15  # NVML_ERROR_GPU_IS_LOST
UNKNOWN = (
    999  # NVML_ERROR_UNKNOWN: what a container says of everything when its card was taken away
)
CORES_PER_UNIT = {
    7: 64,
    9: 128,
    10: 128,
    12: 128,
}  # CUDA cores per multiprocessor by major capability; 8 has two answers

Raw = Mapping[str, float | None]


def channels(raw: Raw) -> dict[str, float | None]:
    """Turn NVML's own units into ours; what was not read stays None.

    >>> channels({"power_mw": 120_500})["power_w"]
    120.5
    """
    instant_mw = raw.get("power_instant_mw")
    power_mw = raw.get("power_mw") if instant_mw is None else instant_mw
    same = (
        "sm_mhz", "sm_max_mhz", "mem_mhz", "mem_max_mhz", "temp_c", "busy_pct", "mem_busy_pct",
        "mem_used_bytes", "mem_total_bytes", "link_gen", "link_gen_max", "link_width", "link_width_max", "reasons",
    )  # fmt: skip
    limit_mw = raw.get("power_limit_mw")
    return {
        **{name: raw.get(name) for name in same},
        "power_w": None if power_mw is None else power_mw / 1000,
        "power_limit_w": None if limit_mw is None else limit_mw / 1000,
        "lost": raw.get("lost", 0.0),
    }


def compute_units(cores: int, major: int, minor: int) -> int:
    """Count the multiprocessors: NVML counts CUDA cores, whose number per multiprocessor the capability tells.

    >>> compute_units(16896, 9, 0), compute_units(6912, 8, 0), compute_units(10496, 8, 6)
    (132, 108, 82)
    """
    ampere = 64 if minor == 0 else 128
    return cores // (ampere if major == 8 else CORES_PER_UNIT[major])  # noqa: PLR2004 - the capability itself


class NvidiaCards:
    """Every card that NVML shows; none where there is no NVML.

    Args:
        nvml: the module to call; tests hand in a recorded one.
    """

    def __init__(self, owner: Owner, nvml: Any = None) -> None:  # noqa: ANN401 - a module without stubs
        self._owner = owner
        self._handles: list[Any] = []
        self.problem: str | None = None
        try:
            self._nvml = importlib.import_module("pynvml") if nvml is None else nvml
            self._nvml.nvmlInit()
            count = self._nvml.nvmlDeviceGetCount()
            self._handles = [self._nvml.nvmlDeviceGetHandleByIndex(i) for i in range(count)]
        except ImportError:
            self.problem = (
                "the package nvidia-ml-py is not installed (pip install 'abtest[nvidia]')"
            )
        except Exception as error:  # noqa: BLE001 - NVML's error classes are made at run time
            self.problem = f"NVML: {error}"

    @property
    def names(self) -> Sequence[str]:
        return [f"gpu{number}" for number in range(len(self._handles))]

    def raw(self, number: int) -> dict[str, float | None]:
        """Ask one card for everything, in NVML's units; what it cannot say is None."""
        n, handle = self._nvml, self._handles[number]
        errors: set[object] = set()

        def ask(call: Callable[[], Any]) -> float | None:
            try:
                return float(call())
            except Exception as error:  # noqa: BLE001 - NVML's error classes are made at run time
                errors.add(getattr(error, "value", None))
                return None

        found = {
            "power_mw": ask(lambda: n.nvmlDeviceGetPowerUsage(handle)),
            "power_instant_mw": ask(lambda: _field(n, handle, POWER_INSTANT)),
            "power_limit_mw": ask(lambda: n.nvmlDeviceGetEnforcedPowerLimit(handle)),
            "sm_mhz": ask(lambda: n.nvmlDeviceGetClockInfo(handle, SM)),
            "sm_max_mhz": ask(lambda: n.nvmlDeviceGetMaxClockInfo(handle, SM)),
            "mem_mhz": ask(lambda: n.nvmlDeviceGetClockInfo(handle, MEMORY)),
            "mem_max_mhz": ask(lambda: n.nvmlDeviceGetMaxClockInfo(handle, MEMORY)),
            "temp_c": ask(lambda: n.nvmlDeviceGetTemperature(handle, CORE)),
            "busy_pct": ask(lambda: n.nvmlDeviceGetUtilizationRates(handle).gpu),
            "mem_busy_pct": ask(lambda: n.nvmlDeviceGetUtilizationRates(handle).memory),
            "mem_used_bytes": ask(lambda: n.nvmlDeviceGetMemoryInfo(handle).used),
            "mem_total_bytes": ask(lambda: n.nvmlDeviceGetMemoryInfo(handle).total),
            "link_gen": ask(lambda: n.nvmlDeviceGetCurrPcieLinkGeneration(handle)),
            "link_gen_max": ask(lambda: n.nvmlDeviceGetMaxPcieLinkGeneration(handle)),
            "link_width": ask(lambda: n.nvmlDeviceGetCurrPcieLinkWidth(handle)),
            "link_width_max": ask(lambda: n.nvmlDeviceGetMaxPcieLinkWidth(handle)),
            "reasons": ask(lambda: _reasons(n, handle)),
        }
        silent = all(value is None for value in found.values())
        return {**found, "lost": 1.0 if LOST in errors or (silent and UNKNOWN in errors) else 0.0}

    def sample(self) -> dict[str, float | None]:
        """Read all cards once."""
        return {
            f"{name}.{quantity}": value
            for number, name in enumerate(self.names)
            for quantity, value in channels(self.raw(number)).items()
        }

    def processes(self) -> list[CardProcess]:
        """List processes with memory on each card; NVML numbers them as the host does."""
        found = []
        for name, handle in zip(self.names, self._handles, strict=True):
            with suppress(Exception):  # not supported on some cards: then `absent` says so
                for one in self._nvml.nvmlDeviceGetComputeRunningProcesses(handle):
                    pid = int(one.pid)
                    found.append(
                        CardProcess(name, pid, self._owner.is_ours(pid), self._owner.cgroup(pid))
                    )
        return found

    def facts(self) -> Mapping[str, str]:
        if not self._handles:
            return {}
        n = self._nvml
        calls: dict[str, Callable[[Any], object]] = {
            "gpu.models": lambda handle: _word(n.nvmlDeviceGetName(handle)),
            "gpu.firmware": lambda handle: _word(n.nvmlDeviceGetVbiosVersion(handle)),
            "gpu.memory_mib": lambda handle: n.nvmlDeviceGetMemoryInfo(handle).total >> 20,
            "gpu.mig": lambda handle: n.nvmlDeviceGetMigMode(handle)[0],
            "gpu.persistence": n.nvmlDeviceGetPersistenceMode,
            "gpu.compute_units": lambda handle: compute_units(
                n.nvmlDeviceGetNumGpuCores(handle), *n.nvmlDeviceGetCudaComputeCapability(handle)
            ),
        }
        found = {name: self._each(call) for name, call in calls.items()}
        found["gpu.cards_hash"] = self._cards_hash()
        with suppress(Exception):  # as with every other fact: what cannot be had is left out
            found["gpu.driver"] = _word(n.nvmlSystemGetDriverVersion())
        return {name: value for name, value in found.items() if value}

    def _cards_hash(self) -> str | None:
        """Tell these cards from others of their kind without saying which they are."""
        with suppress(Exception):  # as with every other fact
            names = sorted(_word(self._nvml.nvmlDeviceGetUUID(one)) for one in self._handles)
            return hashlib.sha256(f"abtest {' '.join(names)}".encode()).hexdigest()[:12]
        return None

    def _each(self, call: Callable[[Any], object]) -> str | None:
        """Ask every card, and say it once where all say the same."""
        said = []
        for handle in self._handles:
            with suppress(Exception):  # not on every card, and not with every driver
                said.append(str(call(handle)))
        if not said:
            return None
        count = len(said)
        return f"{count} x {said[0]}" if len(set(said)) == 1 else ", ".join(said)


def _field(nvml: Any, handle: Any, field: int) -> float:  # noqa: ANN401 - a module without stubs
    value = nvml.nvmlDeviceGetFieldValues(handle, [field])[0]
    if value.nvmlReturn != 0:
        raise LookupError(field)
    return float(value.value.uiVal)


def _reasons(nvml: Any, handle: Any) -> int:  # noqa: ANN401 - a module without stubs
    """Ask under the newer name first: older drivers know the older one only."""
    try:
        return int(nvml.nvmlDeviceGetCurrentClocksEventReasons(handle))
    except Exception:  # noqa: BLE001 - missing symbol or missing name, by version
        return int(nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle))


def _word(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value
