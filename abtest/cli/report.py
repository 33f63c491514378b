"""`abtest report`: the run as one HTML page, written beside its ledger."""

import shlex
from pathlib import Path

from abtest.cli import results
from abtest.cli.export import command_of
from abtest.cli.gating import NO_GATES, Gates, gate_error
from abtest.cli.summary import whole_of
from abtest.errors import UsageError
from abtest.ledger import store
from abtest.report.html import Facts, Provenance

PAGE = "report.html"


def write_report(folder: Path, out: Path | None, gates: Gates = NO_GATES) -> None:
    """Write the page atomically, and print its path.

    Raises:
        UsageError: the page cannot be written there, or a gate could never be judged.
        AbtestError: after printing, if a gate is not met or not decided.
    """
    from abtest.analysis.points import points
    from abtest.report import html

    summary, run = whole_of(folder, gates)
    records = store.read(folder).standing
    page = html.render(summary, points(records, summary.arms), records, _provenance(run, folder))
    path = folder / PAGE if out is None else out
    try:
        store.write_text(path, page)
    except OSError as error:
        raise UsageError(
            f"the page cannot be written: {error}", remedy="Give another file with --out."
        ) from error
    print(path)
    failed = gate_error(summary.gates) if gates else None
    if failed is not None:
        raise failed


def _provenance(run: results.RunFile, folder: Path) -> Provenance:
    groups = (
        ("The run", _run_facts(run)),
        ("The image", _image_facts(run)),
        *((f"Arm {name}", _arm_facts(run, name)) for name in run.arms),
    )
    command = command_of(run, folder)
    return Provenance(groups, None if command is None else shlex.join(command))


def _run_facts(run: results.RunFile) -> Facts:
    return (
        ("started", run.created),
        ("machine", run.host),
        ("runtime", f"{run.isolation} ({run.why_runtime})"),
        ("rounds planned", str(run.rounds)),
        ("estimator", run.estimator),
        ("abtest", run.abtest),
        ("digest of all that must not change", run.spec_sha256),
    )


def _image_facts(run: results.RunFile) -> Facts:
    known = [(name, run.image.get(name)) for name in ("kind", "id", "digest", "python")]
    fingerprint = run.image.get("fingerprint")
    if isinstance(fingerprint, dict):
        known += [(f"fingerprint: {name}", value) for name, value in fingerprint.items()]
    return tuple((name, str(value)) for name, value in known if value)


def _arm_facts(run: results.RunFile, name: str) -> Facts:
    declared = run.arms[name]
    baseline = (("role", "baseline"),) if name == run.baseline else ()
    known = tuple((key, _short(value)) for key, value in declared.items() if value)
    return baseline + known


def _short(value: object) -> str:
    """Write what an arm declares: mappings as name=value, one file or variable after the other."""
    if isinstance(value, dict):
        return ", ".join(f"{key}={inner}" for key, inner in value.items())
    if isinstance(value, list):
        return "; ".join(map(_short, value))
    return str(value)
