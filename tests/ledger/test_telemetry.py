"""Telemetry goes through the ledger and back unchanged; null stays null; a record stays small."""

from dataclasses import replace

from abtest.ledger.codec import decode, encode
from abtest.model.telemetry import Telemetry
from abtest.model.trial import Status, TrialRecord

SEEN = Telemetry(
    period_s=0.2,
    samples=1200,
    split="stamped",
    phases={
        phase: {"n": 40.0, "sm_mhz": 1980.0, "mem_mhz": None, "power_w": 412.3, "temp_c": 41.0, "busy_pct": 99.0, "mem_busy_pct": 63.0}
        for phase in ("prefill", "decode", "steady")
    },
    figures={f"figure_with_a_name_{number}": 1234.5 for number in range(18)},
    reasons=("power-cap",),
    foreign=("gpu0: pid 7",),
    absent=("cpu.throttles",),
    idle_s=1.0,
    sampler_cpu_pct=0.9,
)  # fmt: skip
RECORD = TrialRecord(
    run="r", trial="t", spec_sha256="0", arm="stock", depth=512, batch=1, round=1, slot=1, order=1,
    discarded=False, status=Status.OK, started_at="", isolation="docker", tokens=(8, 64), telemetry=SEEN,
)  # fmt: skip


def _again(line: str) -> TrialRecord:
    found = decode(line)
    assert isinstance(found, TrialRecord)
    return found


def test_a_summary_survives_the_ledger() -> None:
    back = _again(encode(RECORD))
    assert back.telemetry == SEEN
    assert back.telemetry is not None
    assert back.telemetry.phases["decode"]["mem_mhz"] is None


def test_what_could_not_be_read_is_null_and_not_empty() -> None:
    unread = replace(RECORD, telemetry=Telemetry(0.2, 5, reasons=None))
    line = encode(unread)
    assert '"reasons":null' in line
    back = _again(line).telemetry
    assert back is not None
    assert back.reasons is None
    assert _again(encode(replace(RECORD, telemetry=None))).telemetry is None


def test_a_summary_takes_less_than_half_of_a_record() -> None:
    bare = len(encode(replace(RECORD, telemetry=None)))
    assert len(encode(RECORD)) - bare < 2048
