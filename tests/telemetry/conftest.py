"""Recorded trees and readings: sysfs of an AMD card, procfs of a small host, NVML of a card."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from abtest.model.telemetry import CardProcess, Series


def write_tree(root: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


CARD = "class/drm/card1/device"
AMD_TREE = {
    f"{CARD}/vendor": "0x1002\n",
    f"{CARD}/device": "0x740f\n",
    f"{CARD}/vbios_version": "113-D67301-063\n",
    f"{CARD}/pp_dpm_sclk": "0: 500Mhz\n1: 800Mhz *\n2: 1700Mhz\n",
    f"{CARD}/pp_dpm_mclk": "0: 400Mhz\n1: 700Mhz\n2: 1200Mhz\n3: 1600Mhz *\n",
    f"{CARD}/gpu_busy_percent": "97\n",
    f"{CARD}/mem_busy_percent": "41\n",
    f"{CARD}/mem_info_vram_used": "11263172608\n",
    f"{CARD}/current_link_speed": "16.0 GT/s PCIe\n",
    f"{CARD}/current_link_width": "16\n",
    f"{CARD}/max_link_speed": "16.0 GT/s PCIe\n",
    f"{CARD}/max_link_width": "16\n",
    f"{CARD}/power_dpm_force_performance_level": "auto\n",
    f"{CARD}/hwmon/hwmon3/power1_average": "213000000\n",
    f"{CARD}/hwmon/hwmon3/power1_cap": "300000000\n",
    f"{CARD}/hwmon/hwmon3/temp1_input": "55000\n",
    f"{CARD}/hwmon/hwmon3/temp1_label": "edge\n",
    f"{CARD}/hwmon/hwmon3/temp2_input": "63000\n",
    f"{CARD}/hwmon/hwmon3/temp2_label": "junction\n",
    "class/drm/card0/device/vendor": "0x1a03\n",  # a board's own display chip
    "class/kfd/kfd/topology/nodes/0/properties": "cpu_cores_count 64\nsimd_count 0\nsimd_per_cu 0\n",
    "class/kfd/kfd/topology/nodes/1/properties": "simd_count 440\nsimd_per_cu 4\n",
    "class/kfd/kfd/proc/4711/vram_56789": "4194304\n",
    "class/kfd/kfd/proc/4712/vram_56789": "0\n",
}


@pytest.fixture
def amd_tree(tmp_path: Path) -> Path:
    return write_tree(tmp_path / "sys", AMD_TREE)


def stat_line(pid: int, parent: int, *, ticks: int = 0, born: int = 0, name: str = "x") -> str:
    return f"{pid} ({name}) S {parent} 1 1 0 -1 0 0 0 0 0 {ticks} 0 0 0 20 0 1 0 {born} 0\n"


def series(
    columns: Mapping[str, Sequence[float | None]],
    *,
    period_s: float = 0.1,
    processes: tuple[CardProcess, ...] = (),
) -> Series:
    """Make a series that begins at 100 s; one column per channel."""
    rows = zip(*columns.values(), strict=True)
    return Series(
        period_s=period_s,
        channels=tuple(columns),
        rows=tuple((100 + period_s * place, tuple(row)) for place, row in enumerate(rows)),
        processes=processes,
        cpu_s=0.001,
    )
