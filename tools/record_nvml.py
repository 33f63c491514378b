"""Write what NVML answers on this machine, in the form that the tests replay: `record_nvml.py > tests/telemetry/nvml.json`.

Process ids and serial numbers are left out. Run it while the card works, so that clocks and link show their load.
"""

import importlib
import json
import sys
from typing import Any

nvml: Any = importlib.import_module("pynvml")  # carries no types
PLAIN = (
    "Name", "VbiosVersion", "MigMode", "PersistenceMode", "NumGpuCores", "CudaComputeCapability",
    "PowerUsage", "EnforcedPowerLimit", "CurrPcieLinkGeneration", "MaxPcieLinkGeneration",
    "CurrPcieLinkWidth", "MaxPcieLinkWidth", "CurrentClocksEventReasons",
)  # fmt: skip
BY_KIND = (("ClockInfo", 1), ("ClockInfo", 2), ("MaxClockInfo", 1), ("MaxClockInfo", 2), ("Temperature", 0))  # fmt: skip


def ask(name: str, *arguments: object) -> object:
    try:
        value: object = getattr(nvml, name)(*arguments)
    except nvml.NVMLError as error:
        return {"error": error.value}
    return value.decode() if isinstance(value, bytes) else value


def answers() -> dict[str, object]:
    nvml.nvmlInit()
    card = nvml.nvmlDeviceGetHandleByIndex(0)
    busy, memory = nvml.nvmlDeviceGetUtilizationRates(card), nvml.nvmlDeviceGetMemoryInfo(card)
    power = nvml.nvmlDeviceGetFieldValues(card, [186])[0]
    return {
        "count": 1,
        "HandleByIndex": 0,
        "DriverVersion": ask("nvmlSystemGetDriverVersion"),
        **{name: ask(f"nvmlDeviceGet{name}", card) for name in PLAIN},
        **{f"{name}/{kind}": ask(f"nvmlDeviceGet{name}", card, kind) for name, kind in BY_KIND},
        "UtilizationRates": {"gpu": busy.gpu, "memory": busy.memory},
        "MemoryInfo": {"used": memory.used, "total": memory.total},
        "FieldValues/[186]": [
            {"nvmlReturn": power.nvmlReturn, "value": {"uiVal": power.value.uiVal}}
        ],
        "ComputeRunningProcesses": [],
    }


if __name__ == "__main__":
    what = sys.argv[1] if len(sys.argv) > 1 else "a recording"
    json.dump({"what": what, "answers": answers()}, sys.stdout, indent=2)
