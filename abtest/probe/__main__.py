"""The probe's program: read the request, do it, leave the answer behind, die with whoever asked."""

from __future__ import annotations

import os
import sys
import traceback
from typing import TYPE_CHECKING, Any, Callable

from abtest.probe import request as requests
from abtest.probe.deadman import ORPHANED, arm, released
from abtest.probe.errors import ProbeError
from abtest.probe.outbox import Marks, Outbox

if TYPE_CHECKING:
    from abtest.probe.request import Request


def main() -> int:
    """Do what the file named by ABTEST_REQUEST asks; returns 0 when an answer was written and somebody is there to read it."""
    asked = requests.read(os.environ["ABTEST_REQUEST"])
    outbox = Outbox(asked.out, (os.environ.get(name, "") for name in asked.hide_env))
    outbox.redirect_output()
    if asked.die_with_stdin:
        arm(outbox.clean_log)
    try:
        if asked.mode == "survey":
            _answer(outbox, "survey.json", None, lambda body: _survey(asked, body))
        else:
            marks = Marks(asked.out)
            _answer(outbox, "trial.json", marks, lambda body: _trial(asked, marks, outbox, body))
            marks.enter("done")
    finally:
        sys.stdout.flush()
        outbox.clean_log()
    return ORPHANED if released.is_set() else 0


def _survey(asked: Request, body: dict[str, Any]) -> None:
    from abtest.probe.survey import survey

    body.update(survey(asked))


def _trial(asked: Request, marks: Marks, outbox: Outbox, body: dict[str, Any]) -> None:
    from abtest.probe.trial import Trial

    trial = Trial(asked, marks)
    try:
        trial.run()
    finally:
        outbox.write_lines("steps.jsonl", trial.steps)
        body.update(trial.report)


def _answer(
    outbox: Outbox, name: str, marks: Marks | None, fill: Callable[[dict[str, Any]], None]
) -> None:
    """Write an answer in any case: what was found, and the error that ended it."""
    body: dict[str, Any] = {"schema": 1, "ok": True, "error": None}
    try:
        fill(body)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whoever asked must learn of any end
        traceback.print_exc()
        known = isinstance(error, ProbeError)
        body["ok"] = False
        body["error"] = {
            "kind": error.kind if isinstance(error, ProbeError) else "failed",
            "name": error.name if isinstance(error, ProbeError) else "probe-error",
            "message": str(error) if known else f"{type(error).__name__}: {error}",
            "phase": getattr(error, "phase", None) or (marks.phase if marks else None),
        }
    outbox.write_json(name, body)


if __name__ == "__main__":
    sys.exit(main())
