"""Fuzzing of experiment files: an experiment, or an error that names file, line and remedy; nothing else."""

from pathlib import Path
from typing import Any

import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from abtest.errors import SpecError
from abtest.spec import Experiment, parse
from abtest.spec.document import Experiment as Document

REFERENCE = Path(__file__).resolve().parents[2] / "arms" / "reference"
TEXT = (REFERENCE / "experiment.yaml").read_text(encoding="utf-8")
KEYS = sorted(Document.model_fields)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=20),
    st.dates(),
    st.sampled_from(["host", "../../etc", "/", "~", "", "1e400", "{}", "-0", "0x10", "\u202e"]),
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)


def read(text: str) -> None:
    refusal: SpecError | None = None
    try:
        found = parse(text, file="experiment.yaml", folder=REFERENCE)
    except SpecError as error:
        refusal = error
    else:
        assert isinstance(found, Experiment)
    if refusal is not None:
        assert refusal.what.startswith("experiment.yaml:")
        assert refusal.exit_code == 2


@given(place=st.integers(0, len(TEXT)), over=st.integers(0, 30), new=st.text(max_size=20))
@example(place=0, over=len(TEXT), new="[" * 20)
@example(place=0, over=len(TEXT), new="a: &x [*x]")
def test_text_put_anywhere_is_read_or_refused_with_its_place(
    place: int, over: int, new: str
) -> None:
    read(TEXT[:place] + new + TEXT[place + over :])


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_any_value_at_any_key_is_read_or_refused_with_its_place(data: st.DataObject) -> None:
    body: dict[Any, Any] = yaml.safe_load(TEXT)
    place = body
    while True:
        key = data.draw(st.sampled_from(sorted(place)) | st.sampled_from(KEYS))
        inner = place.get(key)
        if not isinstance(inner, dict) or not inner or data.draw(st.booleans()):
            place[key] = data.draw(values)
            break
        place = inner
    read(yaml.safe_dump(body, allow_unicode=True))


@given(values)
def test_any_document_is_read_or_refused_with_its_place(body: Any) -> None:
    read(yaml.safe_dump(body, allow_unicode=True))
