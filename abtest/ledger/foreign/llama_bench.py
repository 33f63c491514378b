"""The JSON lines of llama-bench (`-o jsonl`): one line per test, with the wall time of each repetition.

A test with `n_gen` tokens and no prompt times the decode alone, after `n_depth` tokens were put into the cache
outside the timed part. So a repetition is a pair whose short time is that of no token at all: 0 seconds, no
prefill to cancel, leverage 0. One line is one start of the program, its repetitions are the pairs of one trial.

The tool knows no arms and no rounds. What makes an arm is a field of the line, the build by default; the k-th
line of an arm at a depth is its round k, and the order of lines is the order in time. Everything else that a
line says of the set-up must be the same throughout an arm.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from abtest.errors import UsageError
from abtest.ledger.foreign.rows import MOST, Foreign, Place, Row, arranged
from abtest.model.names import Cell, Condition
from abtest.model.trial import Pair

BUILD = "build_commit"
NEEDED = ("n_prompt", "n_gen", "samples_ns")
# What a line measured, and when: all other fields describe the set-up.
MEASURED = frozenset(
    {"n_prompt", "n_gen", "n_depth", "test_time", "avg_ns", "stddev_ns", "avg_ts", "stddev_ts"}
    | {"samples_ns", "samples_ts"}
)
TWINS = {BUILD: frozenset({"build_number"})}  # the same fact a second time
REMEDY = "Write the file with `llama-bench -o jsonl -p 0 -n 64 -d DEPTHS`."


@dataclass(frozen=True, slots=True)
class _Test:
    """One line that timed a decode."""

    place: Place
    arm: str
    value: str
    depth: int
    tokens: int
    samples_s: tuple[float, ...]
    started_at: str
    facts: Mapping[str, str]


def read_llama_bench(text: str, source: str, arm_by: str | None = None) -> Foreign:
    """Read the lines.

    Args:
        arm_by: the field that makes an arm; the build's commit if none is given.

    Raises:
        UsageError: a line is alien or damaged, none timed a decode, or one arm has two set-ups.
    """
    left_out: Counter[str] = Counter()
    tests: list[_Test] = []
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        if line.strip():
            place = Place(source, number)
            body = _body(place, line)
            kind = _kind(place, body)
            if kind is None:
                tests.append(_test(place, body, arm_by or BUILD))
            else:
                left_out[kind] += 1
    if not tests:
        raise UsageError(f"{source}: no line timed a decode alone", remedy=REMEDY)
    _same_length(tests)
    _one_set_up_per_arm(tests)
    return Foreign(
        arranged(source, _rows(tests)),
        tuple(dict.fromkeys(test.arm for test in tests)),
        {test.arm: {arm_by or BUILD: test.value} for test in tests},
        tuple(f"{count} {kind}" for kind, count in left_out.items()),
    )


def _body(place: Place, line: str) -> Mapping[str, object]:
    try:
        body = json.loads(line)
        json.dumps(body, ensure_ascii=False).encode()  # half a surrogate pair is no text
    except (ValueError, RecursionError) as error:
        raise place.refuse(f"not JSON: {error}", REMEDY) from error
    lacking = [name for name in NEEDED if name not in body] if isinstance(body, dict) else NEEDED
    if lacking:
        raise place.refuse(f"not a test of llama-bench: no {', '.join(lacking)}", REMEDY)
    return dict(body)


def _kind(place: Place, body: Mapping[str, object]) -> str | None:
    """Name a test that is no decode alone; None for one that is."""
    if not _whole(place, body, "n_gen"):
        return "tests of the prompt alone (n_gen 0)"
    if _whole(place, body, "n_prompt"):
        return "tests of prompt and decode in one time (n_prompt above 0)"
    return None


def _whole(place: Place, body: Mapping[str, object], name: str) -> int:
    value = body.get(name, 0)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST:
        raise place.refuse(f"{name} is {value!r:.40}, not a whole number from 0 to {MOST}", REMEDY)
    return value


def _test(place: Place, body: Mapping[str, object], arm_by: str) -> _Test:
    if arm_by not in body or arm_by in MEASURED:
        fields = ", ".join(sorted(set(body) - MEASURED))
        raise place.refuse(f"{arm_by!r} is no field of the set-up", f"--arm-by takes: {fields}.")
    value = _text(body[arm_by])
    name = value if arm_by == BUILD else f"{arm_by}-{value}"
    ignored = MEASURED | {arm_by} | TWINS.get(arm_by, frozenset())
    return _Test(
        place=place,
        arm=place.arm(
            "".join(char if char.isalnum() or char in "._-" else "-" for char in name.lower())
        ),
        value=value,
        depth=_whole(place, body, "n_depth"),
        tokens=_whole(place, body, "n_gen"),
        samples_s=_samples_s(place, body["samples_ns"]),
        started_at=_text(body.get("test_time", "")),
        facts={f"llama-bench.{key}": _text(body[key]) for key in body if key not in ignored},
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _samples_s(place: Place, value: object) -> tuple[float, ...]:
    if not isinstance(value, list) or not value:
        raise place.refuse("samples_ns is no list of times", REMEDY)
    if not all(isinstance(one, int | float) and not isinstance(one, bool) for one in value):
        raise place.refuse(f"samples_ns holds what is no number: {value!r:.60}", REMEDY)
    try:
        return tuple(place.seconds("samples_ns", one / 1e9) for one in value)
    except OverflowError as error:
        raise place.refuse("samples_ns holds a number beyond all times", REMEDY) from error


def _same_length(tests: Sequence[_Test]) -> None:
    first = tests[0]
    for test in tests:
        if test.tokens != first.tokens:
            raise test.place.refuse(
                f"{test.tokens} tokens, but line {first.place.line} has {first.tokens}: one window per table",
                "Import one n_gen at a time: keep its lines in a file of their own.",
            )


def _one_set_up_per_arm(tests: Sequence[_Test]) -> None:
    firsts: dict[str, _Test] = {}
    for test in tests:
        first = firsts.setdefault(test.arm, test)
        changed = sorted(
            name
            for name in first.facts.keys() | test.facts.keys()
            if first.facts.get(name) != test.facts.get(name)
        )
        if test.value != first.value or changed:
            fields = [name.removeprefix("llama-bench.") for name in changed] or ["the arm's value"]
            raise test.place.refuse(
                f"arm {test.arm} has another {', '.join(fields)} than in line {first.place.line}",
                f"Choose the arms by what varies, such as --arm-by {fields[0]}, or import the set-ups one by one.",
            )


def _rows(tests: Sequence[_Test]) -> list[Row]:
    """Count rounds and places from the order of lines."""
    rounds: Counter[tuple[str, int]] = Counter()
    places: dict[tuple[int, int], int] = defaultdict(int)
    rows = []
    for test in tests:
        rounds[test.arm, test.depth] += 1
        number = rounds[test.arm, test.depth]
        places[number, test.depth] += 1
        rows.append(
            Row(
                line=test.place.line,
                cell=Cell(test.arm, Condition(test.depth)),
                round=number,
                slot=places[number, test.depth],
                tokens=(0, test.tokens),
                pairs=tuple(Pair(0.0, sample_s, "long") for sample_s in test.samples_s),
                started_at=test.started_at,
                facts=test.facts,
            )
        )
    return rows
