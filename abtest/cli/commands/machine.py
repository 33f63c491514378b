"""Commands about this machine and the tool itself."""

from pathlib import Path
from typing import Annotated

import typer

from abtest.cli.app import (
    RESULTS,
    ExperimentPath,
    Root,
    RuntimeName,
    SchemaName,
    Strict,
    app,
    need_linux,
    visible,
)


@app.command()
def doctor(
    experiment: Annotated[
        Path | None, typer.Argument(help="Also check what this experiment needs.")
    ] = None,
    strict: Strict = False,
    results: Root = RESULTS,
) -> None:
    """Tell what this machine lacks, for an experiment if one is named."""
    from abtest.cli.doctor import checks, render
    from abtest.cli.fitness import of_experiment
    from abtest.cli.preflight import refuse

    found = checks(results)
    if experiment is not None:
        need_linux()
        found += of_experiment(experiment, results)
    print(visible(render(found)), end="")
    refuse(found, strict=strict)


@app.command("show-arm")
def show_arm(
    experiment: ExperimentPath,
    arm: Annotated[str, typer.Argument(help="The arm's name.")],
    runtime: Annotated[
        RuntimeName | None, typer.Option(help="Where the image is looked at.")
    ] = None,
    results: Root = RESULTS,
) -> None:
    """Print what an arm would change in its image: diff, hashes, origin."""
    from abtest.cli.show import show_arm as text_of

    need_linux()
    kind = None if runtime is None else runtime.value
    print(visible(text_of(experiment, arm, kind, results)), end="")


@app.command()
def schema(
    of: Annotated[
        SchemaName, typer.Argument(help="Experiment files, or `summary --format json`.")
    ] = SchemaName.EXPERIMENT,
) -> None:
    """Print a JSON schema: of experiment files, for editors, or of a summary, for programs."""
    if of is SchemaName.EXPERIMENT:
        from abtest.spec.schema import schema_text
    else:
        from abtest.report.jsonschema import schema_text

    print(schema_text(), end="")
