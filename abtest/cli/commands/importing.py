"""Commands that bring in what other tools measured."""

from pathlib import Path
from typing import Annotated

import typer

from abtest.cli.app import app


@app.command("import")
def import_(
    file: Annotated[
        Path, typer.Argument(help="A table (CSV), or the output of llama-bench -o jsonl.")
    ],
    out: Annotated[Path, typer.Option("--out", help="The run's folder to make.")],
    baseline: Annotated[
        str | None, typer.Option(help="The baseline's arm; the first in the file if not given.")
    ] = None,
    arm_by: Annotated[
        str | None,
        typer.Option(help="llama-bench: the field that makes an arm; build_commit if not given."),
    ] = None,
) -> None:
    """Make a ledger from foreign results: nothing about the code that ran is proved."""
    from abtest.cli.importing import import_file

    print(import_file(file, out, baseline=baseline, arm_by=arm_by))
