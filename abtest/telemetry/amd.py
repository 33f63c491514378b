"""AMD cards, read from sysfs as the amdgpu driver writes it."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from abtest.model.telemetry import CardProcess
from abtest.telemetry.processes import Owner
from abtest.telemetry.series import link_generation

VENDOR = "0x1002"
_CLOCK = re.compile(r"^\s*(\d+|S):\s*(\d+)\s*Mhz\s*(\*?)", re.IGNORECASE | re.MULTILINE)


def clocks_mhz(text: str) -> tuple[float | None, float | None]:
    r"""Read a `pp_dpm_*` table: the starred row, and the highest row.

    >>> clocks_mhz("0: 500Mhz\n1: 1700Mhz *\n2: 2100Mhz")
    (1700.0, 2100.0)
    """
    rows = [(float(mhz), star == "*") for _, mhz, star in _CLOCK.findall(text)]
    return (
        next((mhz for mhz, starred in rows if starred), None),
        max((mhz for mhz, _ in rows), default=None),
    )


def number(text: str | None, scale: float = 1.0) -> float | None:
    """Read one number; None where there is none."""
    try:
        return None if text is None else float(text.split()[0]) * scale
    except (ValueError, IndexError):
        return None


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


class AmdCards:
    """Every AMD card below a sysfs tree.

    Args:
        root: where sysfs is mounted; tests hand in recorded trees.
    """

    def __init__(self, owner: Owner, root: Path = Path("/sys")) -> None:
        self._owner = owner
        self._root = root
        cards = sorted(
            (root / "class/drm").glob("card[0-9]*"), key=lambda path: (len(path.name), path.name)
        )
        self._cards = [card / "device" for card in cards if _text(card / "device/vendor") == VENDOR]

    @property
    def names(self) -> Sequence[str]:
        return [f"gpu{number_}" for number_ in range(len(self._cards))]

    def facts(self) -> Mapping[str, str]:
        if not self._cards:
            return {}
        models = [
            _text(card / "product_name") or _text(card / "device") or "unknown"
            for card in self._cards
        ]
        found = {
            "gpu.models": ", ".join(models),
            "gpu.firmware": ", ".join(
                sorted({_text(card / "vbios_version") or "unknown" for card in self._cards})
            ),
            "gpu.driver": _text(self._root / "module/amdgpu/version") or "in-kernel amdgpu",
        }
        levels = {_text(card / "power_dpm_force_performance_level") for card in self._cards}
        units = self._compute_units()
        if units:
            found["gpu.compute_units"] = ", ".join(units)
        found["gpu.clock_policy"] = ", ".join(sorted(level or "unknown" for level in levels))
        return found

    def _compute_units(self) -> list[str]:
        """Count them per card, from the compute driver's list of nodes; processors are nodes without any."""
        found = []
        for path in sorted((self._root / "class/kfd/kfd/topology/nodes").glob("*/properties")):
            lines = (line.split() for line in (_text(path) or "").splitlines())
            said = {pair[0]: int(pair[1]) for pair in lines if len(pair) > 1 and pair[1].isdigit()}
            if said.get("simd_count") and said.get("simd_per_cu"):
                found.append(str(said["simd_count"] // said["simd_per_cu"]))
        return found

    def sample(self) -> dict[str, float | None]:
        """Read all cards once."""
        return {
            f"{name}.{quantity}": value
            for name, card in zip(self.names, self._cards, strict=True)
            for quantity, value in _card(card).items()
        }

    def processes(self) -> list[CardProcess]:
        """List processes with memory on any card; the kernel's compute driver numbers cards in its own way."""
        found = []
        for folder in sorted((self._root / "class/kfd/kfd/proc").glob("[0-9]*")):
            used = [number(_text(path)) for path in folder.glob("vram_*")]
            if any(used):
                pid = int(folder.name)
                found.append(
                    CardProcess("gpu", pid, self._owner.is_ours(pid), self._owner.cgroup(pid))
                )
        return found


def _card(card: Path) -> dict[str, float | None]:
    sm_mhz, sm_max_mhz = clocks_mhz(_text(card / "pp_dpm_sclk") or "")
    mem_mhz, mem_max_mhz = clocks_mhz(_text(card / "pp_dpm_mclk") or "")
    hwmon = next(iter(sorted((card / "hwmon").glob("hwmon*"))), card / "hwmon")
    power = _text(hwmon / "power1_input") or _text(hwmon / "power1_average")
    return {
        "sm_mhz": sm_mhz,
        "sm_max_mhz": sm_max_mhz,
        "mem_mhz": mem_mhz,
        "mem_max_mhz": mem_max_mhz,
        "power_w": number(power, 1e-6),
        "power_limit_w": number(_text(hwmon / "power1_cap"), 1e-6),
        "temp_c": _junction_c(hwmon),
        "busy_pct": number(_text(card / "gpu_busy_percent")),
        "mem_busy_pct": number(_text(card / "mem_busy_percent")),
        "mem_used_bytes": number(_text(card / "mem_info_vram_used")),
        "link_gen": link_generation(number(_text(card / "current_link_speed"))),
        "link_gen_max": link_generation(number(_text(card / "max_link_speed"))),
        "link_width": number(_text(card / "current_link_width")) or None,
        "link_width_max": number(_text(card / "max_link_width")) or None,
        "reasons": None,  # the driver has them in a binary table only, whose form changes by generation
        "lost": 0.0 if (card / "vendor").exists() else 1.0,
    }


def _junction_c(hwmon: Path) -> float | None:
    """Prefer the junction: the edge sensor lags behind what makes a card throttle."""
    by_label = {
        _text(path): path.with_name(path.name.replace("_label", "_input"))
        for path in sorted(hwmon.glob("temp*_label"))
    }
    path = by_label.get("junction") or by_label.get("edge") or hwmon / "temp1_input"
    return number(_text(path), 1e-3)
