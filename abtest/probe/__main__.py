"""The probe's program: read the request, do it, leave the answer behind, die with the orchestrator."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import traceback
from typing import Any, Callable

from abtest.probe.errors import ProbeError
from abtest.probe.outbox import Marks, redirect_output, write_json

ORPHANED = 71  # exit code when the orchestrator went away


def main() -> int:
    """Run the request named by ABTEST_REQUEST; returns 0 whenever an answer was written."""
    with open(os.environ["ABTEST_REQUEST"], encoding="utf-8") as file:
        request = json.load(file)
    redirect_output(request["out"])
    if request.get("die_with_stdin"):
        threading.Thread(target=_die_with_stdin, daemon=True).start()
    if request["mode"] == "survey":
        _answer(request, "survey.json", lambda body: body.update(_survey(request)))
    else:
        _trial(request)
    return 0


def _survey(request: dict[str, Any]) -> dict[str, Any]:
    from abtest.probe.survey import survey

    return survey(request)


def _trial(request: dict[str, Any]) -> None:
    from abtest.probe.trial import Trial

    marks = Marks(request["out"])
    trial = Trial(request, marks)

    def fill(body: dict[str, Any]) -> None:
        try:
            trial.run()
        finally:
            marks.enter("done")
            body.update(trial.report, phases_s=marks.phases_s, trial=request["trial"])

    _answer(request, "trial.json", fill)


def _answer(request: dict[str, Any], name: str, fill: Callable[[dict[str, Any]], None]) -> None:
    """Write an answer in any case: what was found, and the error that ended it."""
    body: dict[str, Any] = {"schema": 1, "ok": True, "error": None}
    try:
        fill(body)
    except ProbeError as error:
        traceback.print_exc()
        body.update(ok=False, error={"kind": error.kind, "name": error.name, "message": str(error)})
    except Exception as error:  # noqa: BLE001 - the orchestrator must learn of any end
        traceback.print_exc()
        message = f"{type(error).__name__}: {error}"
        body.update(ok=False, error={"kind": "failed", "name": "probe-error", "message": message})
    write_json(request["out"], name, body)


def _die_with_stdin() -> None:
    """Wait for the end of stdin: then whoever started us is gone, and nobody would collect or stop us."""
    try:
        while os.read(0, 4096):
            pass
    except OSError:
        pass
    if (
        os.getpid() == os.getpgid(0) and os.getpid() != 1
    ):  # as process 1 our end takes all others along
        os.killpg(0, signal.SIGKILL)
    os._exit(ORPHANED)


if __name__ == "__main__":
    sys.exit(main())
