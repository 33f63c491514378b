"""From a ledger to a summary, with what the run's purpose adds: everything printed comes through here."""

from dataclasses import replace

from abtest.cli.results import LOOK, RunFile
from abtest.ledger.store import Contents
from abtest.model.control import COMPARE, PLANTED, SAME_FILE
from abtest.model.result import Summary


def recompute(run: RunFile, contents: Contents, rounds: tuple[int, int] | None = None) -> Summary:
    """Summarise a run's standing records, of some rounds if they are given."""
    from abtest.analysis.control import control_results, noise_floors
    from abtest.analysis.summary import summarize

    records = contents.standing
    summary = summarize(
        records,
        run=run.run,
        experiment=run.experiment,
        baseline=run.baseline,
        arms=tuple(run.arms),
        declared=run.declared(),
        rounds=rounds,
        superseded=len(contents.records) - len(records),
        unreadable=len(contents.faults) + (contents.torn is not None),
        same_routes=run.purpose != COMPARE,
    )
    summary = replace(
        summary, looks=tuple(note for note in contents.notes if note.startswith(LOOK))
    )
    if run.purpose == SAME_FILE:
        return replace(summary, noise_floor=noise_floors(summary))
    if run.purpose == PLANTED and run.planted_ms_per_call is not None:
        found = control_results(summary, records, run.planted_ms_per_call)
        return replace(summary, control=found)
    return summary
