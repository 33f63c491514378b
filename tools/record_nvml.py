"""Write what NVML answers on this machine, in the form that the tests replay: `record_nvml.py > tests/telemetry/nvml.json`.

Process ids and serial numbers are left out. Run it while the card works, so that clocks and link show their load.
"""

import json
import sys
from collections.abc import Callable
from typing import Any

import pynvml as nvml


def answer(call: Callable[[], Any]) -> object:
    try:
        value = call()
    except nvml.NVMLError as error:
        return {"error": error.value}
    return value.decode() if isinstance(value, bytes) else value


def answers() -> dict[str, Any]:
    nvml.nvmlInit()
    card = nvml.nvmlDeviceGetHandleByIndex(0)
    plain = (
        "Name", "VbiosVersion", "MigMode", "PersistenceMode", "NumGpuCores", "CudaComputeCapability",
        "PowerUsage", "EnforcedPowerLimit", "CurrPcieLinkGeneration", "MaxPcieLinkGeneration",
        "CurrPcieLinkWidth", "MaxPcieLinkWidth", "CurrentClocksEventReasons",
    )  # fmt: skip
    found = {
        name: answer(lambda name=name: getattr(nvml, f"nvmlDeviceGet{name}")(card))
        for name in plain
    }
    for name, kind in (
        ("ClockInfo", 1),
        ("ClockInfo", 2),
        ("MaxClockInfo", 1),
        ("MaxClockInfo", 2),
        ("Temperature", 0),
    ):
        found[f"{name}/{kind}"] = answer(
            lambda name=name, kind=kind: getattr(nvml, f"nvmlDeviceGet{name}")(card, kind)
        )
    busy, memory = nvml.nvmlDeviceGetUtilizationRates(card), nvml.nvmlDeviceGetMemoryInfo(card)
    power = nvml.nvmlDeviceGetFieldValues(card, [186])[0]
    return {
        "count": 1,
        "HandleByIndex": 0,
        "DriverVersion": answer(nvml.nvmlSystemGetDriverVersion),
        **found,
        "UtilizationRates": {"gpu": busy.gpu, "memory": busy.memory},
        "MemoryInfo": {"used": memory.used, "total": memory.total},
        "FieldValues/[186]": [
            {"nvmlReturn": power.nvmlReturn, "value": {"uiVal": power.value.uiVal}}
        ],
        "ComputeRunningProcesses": [],
    }


if __name__ == "__main__":
    json.dump(
        {"what": sys.argv[1] if len(sys.argv) > 1 else "a recording", "answers": answers()},
        sys.stdout,
        indent=2,
    )
