"""A run as one HTML page: everything is inside it, nothing is fetched, foreign text stays text."""

import base64
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import jinja2

from abtest.model.point import Point
from abtest.model.result import Effect, Summary, Verdict
from abtest.model.trial import TrialRecord
from abtest.report import cell_charts, condition_charts, effect_chart, figures, notes, origin
from abtest.report.condition_charts import CLOCK, POWER, RATE, TIME
from abtest.report.drawing import Chart, Mark
from abtest.report.neutralise import neutral
from abtest.report.origin import Origin
from abtest.report.view import EffectRow, view

CLAIMS = (
    Verdict.FASTER,
    Verdict.SLOWER,
    Verdict.EQUIVALENT,
)  # only these put a ratio in large type

TIMES = "\u00d7"  # the multiplication sign

Facts = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where the figures come from: titled groups of (name, text), and how to run the same again."""

    groups: tuple[tuple[str, Facts], ...]
    command: str | None


@dataclass(frozen=True, slots=True)
class Card:
    """One effect at the top of the page; `big` is the ratio only where a verdict carries it."""

    row: EffectRow
    big: str
    claimed: bool


@dataclass(frozen=True, slots=True)
class TrialRow:
    """One standing record of the ledger, counted or not."""

    trial: str
    status: str
    order: str
    slot: str
    short: str
    long: str
    said: str


def render(
    summary: Summary,
    points: Sequence[Point],
    records: Sequence[TrialRecord],
    provenance: Provenance,
) -> str:
    """Write the page.

    Args:
        points: the counted trials.
        records: all standing records, in time order.
    """
    shown, axis = view(summary), condition_charts.axis_of(points)
    script, style = _asset("report.js"), _asset("report.css")
    return _environment().get_template("report.html.j2").render(
        shown=shown,
        summary=summary,
        experiment=neutral(summary.experiment),
        run=neutral(summary.run),
        policy=_policy(script, style),
        script=script,
        style=style,
        cards=[
            _card(effect, row) for effect, row in zip(summary.effects, shown.effects, strict=True)
        ],
        legend=[
            (Mark(0, 0, place, ()), neutral(arm), arm == summary.baseline)
            for place, arm in enumerate(summary.arms)
        ],
        effects=effect_chart.draw(summary),
        axis=axis,
        speed=_charts(summary, points, axis, (RATE, TIME)),
        machine=_charts(summary, points, axis, (POWER, CLOCK)),
        cells=cell_charts.draw(summary, points),
        below=(("Gates", shown.gates), ("Looks, noise floor and controls", shown.footer)),
        notes=notes.grouped(summary),
        trials=[_trial_row(record) for record in records],
        facts=[
            (neutral(name), neutral(text))
            for name, text in origin.rows(summary, shown, records, Origin((), None))
        ],
        provenance=_neutral(provenance),
    )  # fmt: skip


def _charts(
    summary: Summary,
    points: Sequence[Point],
    axis: condition_charts.Axis,
    quantities: Sequence[condition_charts.Quantity],
) -> tuple[Chart, ...]:
    groups = sorted({axis.group(point.cell.condition) for point in points})
    drawn = (
        condition_charts.draw(summary, points, quantity, axis, group)
        for group in groups
        for quantity in quantities
    )
    return tuple(chart for chart in drawn if chart is not None)


def _card(effect: Effect, row: EffectRow) -> Card:
    claimed = effect.verdict in CLAIMS and effect.speedup is not None
    big = figures.ratio(effect.speedup).replace("x", TIMES) if claimed else effect.verdict.value
    return Card(row, big, claimed)


def _trial_row(record: TrialRecord) -> TrialRow:
    status = f"{record.status.value}, warm-up" if record.discarded else record.status.value
    said = [record.reason or "", *record.flags]
    return TrialRow(
        neutral(record.trial),
        status,
        str(record.order),
        str(record.slot),
        _times([pair.t_short_s for pair in record.pairs]),
        _times([pair.t_long_s for pair in record.pairs]),
        neutral("; ".join(one for one in said if one)),
    )


def _times(values: Sequence[float]) -> str:
    return "  ".join(f"{value:.4f}" for value in values) or figures.DASH


def _neutral(found: Provenance) -> Provenance:
    def facts(group: Facts) -> Iterator[tuple[str, str]]:
        for name, text in group:
            yield neutral(name), neutral(text)

    groups = tuple((neutral(title), tuple(facts(group))) for title, group in found.groups)
    return Provenance(groups, None if found.command is None else neutral(found.command))


def _policy(script: str, style: str) -> str:
    """Let the page run its own script and style only, by their hashes, and fetch nothing."""
    return f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


@cache
def _asset(name: str) -> str:
    return (files("abtest.report") / "templates" / name).read_text(encoding="utf-8")


@cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.PackageLoader("abtest.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
