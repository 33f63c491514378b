"""What the probe is asked to do, parsed once from `request.json`.

Named tuples, not dataclasses: this module is imported in every Python process of the sandbox, and dataclasses
would bring half of the compiler's tool box along.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple


class Routes(NamedTuple):
    """Where the dispatch decision is read.

    Args:
        at: "module:function" or "module:Class.method".
        record: names of arguments or locals of that function.
    """

    at: str
    record: tuple[str, ...]

    @property
    def module(self) -> str:
        return self.at.partition(":")[0]

    @property
    def function(self) -> str:
        return self.at.partition(":")[2]


class EngineRequest(NamedTuple):
    """Which engine; `args` are handed to it as they are."""

    kind: str
    tensor_parallel: int
    args: dict[str, Any]


class Request(NamedTuple):
    """One survey or one trial; what a survey does not need has neutral values.

    Args:
        out: folder that the findings are written to.
        depth: prompt tokens of each sequence.
        tokens: (n_short, n_long).
        steady_s: length of an untimed decode after the pairs, seconds; 0 for none.
        hide_env: names of variables whose values must never be written.
        nonce: a file of the caller's that a sandbox can only see if it shares the caller's disk.
    """

    mode: str
    out: str
    targets: tuple[str, ...]
    trial: str = ""
    engine: EngineRequest = EngineRequest("none", 1, {})
    depth: int = 1
    batch: int = 1
    tokens: tuple[int, int] = (1, 2)
    pairs: int = 0
    routes: Routes | None = None
    steady_s: float = 0.0
    hide_env: tuple[str, ...] = ()
    nonce: str | None = None
    die_with_stdin: bool = False

    @property
    def most_tokens(self) -> int:
        """The most tokens that one generation decodes; engines are started with room for them.

        A steady decode is as long as it can be while its depth still means the same: an eighth of it.
        """
        return max(self.tokens[1], self.depth // 8) if self.steady_s else self.tokens[1]


def read(path: str) -> Request:
    """Read a request file.

    Raises:
        ValueError: it is not a request that this probe knows.
        OSError: it cannot be read.
    """
    with open(path, encoding="utf-8") as file:
        body = json.load(file)
    try:
        if body["schema"] != 1 or body["mode"] not in {"survey", "trial"}:
            raise ValueError(
                f"{path}: schema {body['schema']}, mode {body['mode']!r} are not known to this probe"
            )
        asked = Request(
            mode=body["mode"],
            out=body["out"],
            targets=tuple(body["targets"]),
            hide_env=tuple(body.get("hide_env") or ()),
            nonce=body.get("nonce"),
            die_with_stdin=bool(body.get("die_with_stdin")),
        )
        return asked if asked.mode == "survey" else _with_trial(asked, body)
    except (KeyError, TypeError) as error:
        raise ValueError(f"{path} is not a request: {type(error).__name__}: {error}") from error


def _with_trial(asked: Request, body: dict[str, Any]) -> Request:
    engine, routes = body["engine"], body["routes"]
    short, long = body["tokens"]
    return asked._replace(
        trial=body["trial"],
        engine=EngineRequest(engine["kind"], int(engine["tensor_parallel"]), dict(engine["args"])),
        depth=int(body["depth"]),
        batch=int(body["batch"]),
        tokens=(int(short), int(long)),
        pairs=int(body["pairs"]),
        steady_s=float(body.get("steady_s") or 0.0),
        routes=None if routes is None else Routes(routes["at"], tuple(routes["record"])),
    )
