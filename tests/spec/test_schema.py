"""The committed JSON schema: not stale, and of one mind with the parser."""

import json
from pathlib import Path

import jsonschema
import yaml

from abtest.spec import load
from abtest.spec.schema import schema_text


def test_the_committed_schema_is_not_stale(repository: Path) -> None:
    committed = (repository / "docs" / "experiment.schema.json").read_text()
    assert committed == schema_text(), "run: make schema"


def test_the_schema_accepts_the_reference_experiment_and_refuses_a_typo(repository: Path) -> None:
    schema = json.loads(schema_text())
    path = repository / "arms" / "reference" / "experiment.yaml"
    document = yaml.safe_load(path.read_text())
    validator = jsonschema.Draft202012Validator(schema)
    validator.validate(document)
    load(path)
    assert not validator.is_valid({**document, "depth": [1]})
    assert not validator.is_valid({**document, "rounds": "four"})
