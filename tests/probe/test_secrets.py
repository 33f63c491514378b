"""Values of hidden variables reach no file, whoever tries to write them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from abtest.probe.outbox import Outbox

SECRET = 'hf_"quoted"\\8c1f'


def everything(folder: Path) -> bytes:
    return b"\n".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_a_secret_that_the_engine_prints_and_raises_is_nowhere(
    trial: Callable[..., Any], environment: dict[str, str]
) -> None:
    environment.update(TOKEN=SECRET, COPY=f"prefix {SECRET}", PLAIN="seen")
    made = trial("told-secret")
    assert "cannot log in with <hidden>" in made.answer["error"]["message"]
    assert made.answer["environment"]["env.PLAIN"] == "seen"
    assert made.answer["environment"]["env.COPY"] == "prefix <hidden>"
    assert "env.TOKEN" not in made.answer["environment"]
    assert "the token is ****" in made.log
    written = everything(made.out)
    assert SECRET.encode() not in written
    assert b"8c1f" not in written  # nor in any escaped form


def test_a_secret_in_the_engines_arguments_is_nowhere(
    trial: Callable[..., Any], environment: dict[str, str]
) -> None:
    environment["TOKEN"] = "sesame-open"
    made = trial(engine={"args": {"password": "sesame-open"}})
    assert made.answer["error"]["name"] == "engine-init"
    assert b"sesame" not in everything(made.out)


def test_blotting_the_log_keeps_its_length_and_all_else(tmp_path: Path) -> None:
    log = tmp_path / "engine.log"
    log.write_text("a abcdef b abcd c\n" * 3)
    Outbox(str(tmp_path), ["abcd", "abcdef", ""]).clean_log()
    assert log.read_text() == "a ****** b **** c\n" * 3


@pytest.mark.parametrize("secret", ["", "1", "abc"])
def test_a_value_too_short_to_be_a_secret_blots_nothing(tmp_path: Path, secret: str) -> None:
    Outbox(str(tmp_path), [secret]).write_json("x.json", {"a": "1 abc"})
    assert (tmp_path / "x.json").read_text() == '{"a": "1 abc"}'
