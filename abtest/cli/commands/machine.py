"""Commands about this machine and the tool itself."""

from abtest.cli.app import RESULTS, Root, app
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


@app.command()
def schema() -> None:
    """Print the JSON schema of experiment files, for editors."""
    from abtest.spec.schema import schema_text

    print(schema_text(), end="")
