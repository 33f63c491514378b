"""Kept caches: one home and one temporary folder for each (arm, image, device), never shared between arms.

They lie in the run's own folder, below `caches/`, so that `--resume` finds them warm and nothing outside is touched.
A compiled kernel is only as good as the card that it was made for, hence the device in the key.
"""

import hashlib
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

POLICY = "warm-per-arm"
EMPTY = "empty"
HOME, TMP = "home", "tmp"
SHORT = 16  # hexadecimal digits that name a folder
CARDS = (
    "/proc/driver/nvidia/gpus/*/information",
    "/sys/class/kfd/kfd/topology/nodes/*/gpu_id",
)
CPU_LINES = ("model name", "flags", "Features")


@dataclass(frozen=True, slots=True)
class Kept:
    """One kept cache: its key, and what it held when the sandbox was opened."""

    key: str
    folder: Path
    before: str

    def facts(self) -> Mapping[str, str]:
        """Describe it for the record, as it is now."""
        return {
            "policy": POLICY,
            "key": self.key,
            "before": self.before,
            "after": fingerprint(self.folder),
        }


def keep(root: Path, inputs: str | None) -> Kept | None:
    """Open the cache of these inputs on this machine's devices; an empty one if there is none yet.

    It has the folders `home` and `tmp`, for any user: containers may run as another one than we do.

    Args:
        root: the folder of all kept caches of a run.
        inputs: digest of the arm's files, its declared difference, the image and the engine in it; None keeps nothing.
    """
    if inputs is None:
        return None
    key = hashlib.sha256(f"{inputs}\n{devices()}".encode()).hexdigest()[:SHORT]
    folder = root / key
    for place in (HOME, TMP):
        (folder / place).mkdir(parents=True, exist_ok=True)
        (folder / place).chmod(0o1777)
    return Kept(key, folder, fingerprint(folder))


def fingerprint(folder: Path) -> str:
    """Hash the names and sizes of all files below a folder; `empty` where there is none.

    Contents are left out: compilers write gigabytes here, and a file that a cache rewrites changes its name or size.
    """
    lines = sorted(
        f"{path.relative_to(folder)}\0{path.lstat().st_size}"
        for path in folder.rglob("*")
        if path.is_file() or path.is_symlink()
    )
    return hashlib.sha256("\n".join(lines).encode()).hexdigest() if lines else EMPTY


def devices() -> str:
    """Describe the processor and the cards that compiled code depends on, as far as the kernel shows them."""
    found = [platform.machine()]
    for pattern in CARDS:
        root = Path("/")
        for path in sorted(root.glob(pattern.lstrip("/"))):
            try:
                found.append(path.read_text(encoding="utf-8", errors="replace"))
            except OSError:  # listed, and not ours to read
                found.append(str(path))
    return "\n".join([*found, *_processor()])


def _processor() -> list[str]:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return sorted({line for line in text.splitlines() if line.startswith(CPU_LINES)})
