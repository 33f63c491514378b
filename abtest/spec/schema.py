"""The JSON schema of experiment files, for editors; `tests` check that the committed copy is not stale."""

import json

from abtest.spec.document import Experiment


def schema_text() -> str:
    """Write the schema as JSON text."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **Experiment.model_json_schema(by_alias=True),
        "title": "abtest experiment",
    }
    return json.dumps(schema, indent=2, sort_keys=True) + "\n"
