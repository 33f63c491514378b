"""`abtest doctor`: what this machine lacks, with a remedy for each."""

import os
import platform
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from abtest.ledger import lock


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at.

    Args:
        level: "ok", "note" (cannot be told, and nothing to be done), "warn" (works, with a limit) or "fail"
            (does not work).
    """

    name: str
    level: Literal["ok", "note", "warn", "fail"]
    found: str
    why: str = ""
    remedy: str = ""


def checks(root: Path) -> list[Check]:
    """Look at the platform, Python, the container engine, leftovers and the results folder."""
    return [_platform(), _python(), _engine(), _leftovers(root), _results(root), _cores()]


def render(found: list[Check]) -> str:
    """One line per check, with the remedy below where one is needed."""
    lines = []
    for check in found:
        lines.append(f"{check.level:<5} {check.name}: {check.found}")
        if check.level in ("warn", "fail"):
            lines.append(f"      why it matters: {check.why}")
            lines.append(f"      remedy: {check.remedy}")
    return "\n".join(lines) + "\n"


def _platform() -> Check:
    system = platform.system()
    if system == "Linux":
        return Check("platform", "ok", f"Linux {platform.release()}")
    return Check(
        "platform",
        "fail",
        system,
        "Trials need Linux.",
        "Run on Linux; reading ledgers works anywhere.",
    )


def _python() -> Check:
    return Check("python", "ok", f"{platform.python_version()} at {sys.executable}")


def _engine() -> Check:
    from abtest.runtimes import engine_version

    version, problem = engine_version()
    if version is not None:
        return Check("container engine", "ok", f"Docker API answers, version {version}")
    return Check(
        "container engine",
        "warn",
        f"none answers ({problem})",
        "Without one, trials run as processes: less isolated, and the table says so.",
        "Install and start one (Debian: apt-get install docker.io), and let this user reach its socket.",
    )


def _leftovers(root: Path) -> Check:
    from abtest.runtimes import leftovers

    names = leftovers(lambda run: lock.is_free(root / run))
    if not names:
        return Check("leftovers", "ok", "no container of a dead run")
    return Check(
        "leftovers",
        "warn",
        ", ".join(names),
        "Containers of a run that is dead hold memory and devices.",
        "The next run removes them.",
    )


def _results(root: Path) -> Check:
    parent = root if root.exists() else root.parent
    if os.access(parent, os.W_OK):
        return Check("results folder", "ok", str(root))
    return Check(
        "results folder",
        "fail",
        f"{root} cannot be written",
        "Records go there.",
        "Give --results DIR.",
    )


def _cores() -> Check:
    cores = len(os.sched_getaffinity(0)) if platform.system() == "Linux" else os.cpu_count() or 1
    if cores > 1:
        return Check("processor cores", "ok", str(cores))
    return Check(
        "processor cores",
        "warn",
        str(cores),
        "Workers and the probe share one core.",
        "Use a machine with two or more.",
    )
