"""Commands that measure the set-up itself: its noise floor, and whether it finds what is known."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from abtest.cli.app import (
    RESULTS,
    ExperimentPath,
    FormatName,
    HostAccess,
    LogJson,
    Root,
    RuntimeName,
    app,
    need_linux,
    numbers,
    session_options,
    show,
)
from abtest.errors import UsageError

if TYPE_CHECKING:
    from abtest.cli.choice import Choice
    from abtest.cli.purpose import Purpose
    from abtest.cli.session import Options

MOST_MS = 1000.0
Depths = Annotated[str | None, typer.Option(help="Comma-separated context depths.")]
Rounds = Annotated[int | None, typer.Option(help="Rounds, an even number, 4 or more.")]
Runtime = Annotated[RuntimeName | None, typer.Option(help="Where trials run.")]
Simulate = Annotated[
    bool, typer.Option("--simulate", help="A machine with a known truth; nothing is measured.")
]


@app.command()
def aa(
    experiment: ExperimentPath,
    depths: Depths = None,
    rounds: Rounds = None,
    runtime: Runtime = None,
    simulate: Simulate = False,
    results: Root = RESULTS,
    log_json: LogJson = False,
    allow_host_access: HostAccess = False,
) -> None:
    """Run the baseline against itself: the noise floor. Exits 1 if the same file differs from itself."""
    from abtest.cli.purpose import Purpose
    from abtest.model.control import SAME_FILE

    options = session_options(
        simulate=simulate, log_json=log_json, allow_host_access=allow_host_access
    )
    choice = _choice(Purpose(SAME_FILE), depths, rounds, runtime)
    _run(experiment, choice, results, options)


@app.command()
def control(
    experiment: ExperimentPath,
    per_call_ms: Annotated[
        float, typer.Option(help="Hold up each call of the routes function so long, milliseconds.")
    ] = 0.5,
    depths: Depths = None,
    rounds: Rounds = None,
    runtime: Runtime = None,
    simulate: Simulate = False,
    results: Root = RESULTS,
    log_json: LogJson = False,
    allow_host_access: HostAccess = False,
) -> None:
    """Plant a known slow-down in the baseline's file and look for it. Exits 1 if what is found does not hold it."""
    from abtest.cli.purpose import Purpose
    from abtest.model.control import PLANTED

    if not 0 < per_call_ms <= MOST_MS:
        raise UsageError(
            f"--per-call-ms {per_call_ms:g} cannot be planted",
            remedy=f"Give milliseconds above 0, up to {MOST_MS:g}.",
        )
    options = session_options(
        simulate=simulate, log_json=log_json, allow_host_access=allow_host_access
    )
    choice = _choice(Purpose(PLANTED, per_call_ms), depths, rounds, runtime)
    _run(experiment, choice, results, options)


def _choice(
    purpose: "Purpose", depths: str | None, rounds: int | None, runtime: RuntimeName | None
) -> "Choice":
    from abtest.cli.choice import Choice

    where = None if runtime is None else runtime.value
    return Choice(None, numbers("--depths", depths), rounds, where, purpose)


def _run(experiment: Path, choice: "Choice", results: Path, options: "Options") -> None:
    from abtest.cli.run import start

    need_linux()
    show(start(experiment, choice, results, options), FormatName.TABLE, None)
