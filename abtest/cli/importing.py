"""`abtest import`: a run's folder from another tool's results."""

import hashlib
import shutil
import sys
from pathlib import Path

from abtest.cli import results
from abtest.cli.clock import RealClock
from abtest.errors import InfrastructureError, UsageError
from abtest.ledger import codec, foreign, store


def import_file(file: Path, out: Path, *, baseline: str | None, arm_by: str | None) -> str:
    """Write the folder; returns what was imported, in one sentence.

    The file is read and checked whole before anything is written, and the folder appears complete or not at all.

    Raises:
        UsageError: the file cannot be taken as it is, or the folder exists already.
        InfrastructureError: the folder cannot be written.
    """
    raw = _bytes(file)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{file}: byte {error.start} is not UTF-8", remedy="Save it as UTF-8 text."
        ) from error
    found = foreign.read(text, file.name, arm_by)
    if baseline is not None and baseline not in found.arms:
        raise UsageError(
            f"--baseline {baseline}: {file.name} has no such arm",
            remedy=f"Its arms are: {', '.join(found.arms)}.",
        )
    digest = hashlib.sha256(raw).hexdigest()
    run = _run_file(out.name, file, digest, found, baseline or found.arms[0])
    _write(out, run, "".join(map(codec.encode, foreign.records(found, out.name, digest))))
    for line in found.left_out:
        print(f"note: not imported: {line}", file=sys.stderr)
    rounds = max(row.round for row in found.rows)
    return (
        f"{len(found.rows)} records of {', '.join(found.arms)} at {len(run.conditions)} conditions, "
        f"{rounds} rounds, baseline {run.baseline}: {out}"
    )


def _bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise UsageError(
            f"{file} cannot be read: {error.strerror}", remedy="Name a file with foreign results."
        ) from error


def _run_file(
    name: str, file: Path, digest: str, found: foreign.Foreign, baseline: str
) -> results.RunFile:
    arms = (baseline, *(arm for arm in found.arms if arm != baseline))
    return results.RunFile(
        run=name,
        experiment=file.stem,
        experiment_path="",
        created=RealClock().utc(),
        spec_sha256=digest,
        parts={},
        baseline=baseline,
        arms={arm: {"args": dict(found.declared[arm])} for arm in arms},
        conditions=tuple(sorted({row.cell.condition for row in found.rows})),
        rounds=max(row.round for row in found.rows),
        isolation=foreign.ISOLATION,
        why_runtime=f"from {file.name}, sha256 {digest[:12]}",
        image={},
        host="not known",
    )


def _write(out: Path, run: results.RunFile, ledger: str) -> None:
    """Write into a folder beside the wanted one, then rename: no half of an import is ever seen."""
    temporary = out.with_name(f".{out.name}.importing")
    if out.exists():
        raise UsageError(f"{out} exists already", remedy="Give --out a folder that is not there.")
    try:
        temporary.mkdir(parents=True)
        store.write_text(temporary / store.LEDGER, ledger)
        results.write_run(temporary, run)
        temporary.rename(out)
    except OSError as error:
        shutil.rmtree(temporary, ignore_errors=True)
        raise InfrastructureError(
            f"{out} cannot be written: {error}", remedy="Give --out a folder you may write to."
        ) from error
