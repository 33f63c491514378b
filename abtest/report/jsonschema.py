"""The JSON schema of `summary --format json`; a test checks that the committed copy is not stale."""

import json
from typing import Any

from pydantic import TypeAdapter

from abtest.report.jsontypes import SummaryJson


def schema_text() -> str:
    """Write the schema as JSON text."""
    schema = TypeAdapter(SummaryJson).json_schema()
    for form in (schema, *schema["$defs"].values()):
        _close(form)
    body = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "abtest summary",
    }
    return json.dumps(body, indent=2, sort_keys=True) + "\n"


def _close(form: dict[str, Any]) -> None:
    """Refuse other keys: a reader of the schema learns of a new one by its number."""
    if "properties" in form:
        form["additionalProperties"] = False
