"""Commands about this machine and the tool itself."""

from typing import Annotated

import typer

from abtest.cli.app import (
    RESULTS,
    ExperimentPath,
    Root,
    RuntimeName,
    SchemaName,
    app,
    need_linux,
    visible,
)
from abtest.errors import InfrastructureError


@app.command()
def doctor(results: Root = RESULTS) -> None:
    """Tell what this machine lacks."""
    from abtest.cli.doctor import checks, render

    found = checks(results)
    print(render(found), end="")
    bad = [check.name for check in found if check.level == "fail"]
    if bad:
        raise InfrastructureError(
            f"not fit to run: {', '.join(bad)}", remedy="Follow the remedies above."
        )


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
