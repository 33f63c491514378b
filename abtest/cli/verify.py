"""`abtest verify`: audit a run's folder, and recompute the figures that documents quote from runs."""

import glob
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from abtest.cli import results
from abtest.cli.summary import summary_of
from abtest.errors import AbtestError, UsageError, VerificationFailedError
from abtest.ledger import store
from abtest.ledger.audit import audit
from abtest.model.result import Summary
from abtest.report import verify
from abtest.report.quotes import Figure, Quote, Table, Unreadable, quotes


def locate(name: str, root: Path) -> tuple[Path | None, Path]:
    """Find the run to verify, and the folder beside it in which named runs are looked up.

    Returns:
        No run where the name is that of a folder of runs: then documents name theirs.

    Raises:
        UsageError: it is neither.
    """
    path = Path(name)
    if path.is_dir() and not any((one / store.RUN).is_file() for one in (path, root / name)):
        return None, path.resolve()
    folder = results.find(name, root)
    return folder, folder.parent


@dataclass(slots=True)
class _Runs:
    """The runs that were asked for, each read and audited once."""

    given: Path | None
    beside: Path
    known: dict[Path, Summary | str] = field(default_factory=dict)
    findings: list[str] = field(default_factory=list)

    def get(self, name: str | None) -> Summary | str:
        """Give a run's summary, or why there is none."""
        given = None if self.given is None else self.read(self.given)
        if name is None:
            return given or "no run is named: write <!-- ab: run NAME --> above"
        if isinstance(given, Summary) and given.run == name:
            return given
        if Path(name).name != name:
            return f"{name!r} is no name of a run"
        place = self.beside / name
        if not place.exists():  # committed runs stand in folders of their own, with a document
            place = next(iter(sorted(self.beside.glob(f"*/{glob.escape(name)}"))), place)
        found = self.read(place.resolve())
        if isinstance(found, Summary) and found.run != name:
            return f"the folder {name} holds run {found.run}"
        return found

    def read(self, folder: Path) -> Summary | str:
        if folder not in self.known:
            self.known[folder] = self._read(folder)
        return self.known[folder]

    def _read(self, folder: Path) -> Summary | str:
        from abtest.analysis.proof import is_proved

        try:
            summary, _ = summary_of(folder)
            self.findings += (f"{folder.name}: {text}" for text in audit(folder, is_proved))
        except AbtestError as error:
            return f"run {folder.name}: {error.what}"
        return summary


def show(run_folder: Path | None, beside: Path, documents: Sequence[Path]) -> None:
    """Print what does not hold, one line each, or how much does.

    Raises:
        VerificationFailedError: something does not hold.
        UsageError: there is neither a run nor a document.
    """
    if run_folder is None and not documents:
        raise UsageError(
            "verify: nothing to verify", remedy="Name a run, or documents that name theirs."
        )
    runs = _Runs(run_folder, beside)
    found: list[str] = []
    if run_folder is not None and isinstance(why := runs.read(run_folder), str):
        found.append(why)
    count = 0
    for document in documents:
        quoted, wrong = _document(runs, document)
        count += quoted
        found += wrong
    found = [*runs.findings, *found]
    print("".join(f"{text}\n" for text in found), end="")
    if found:
        raise VerificationFailedError(
            f"{len(found)} findings, the lines on stdout",
            remedy="Correct the documents, or quote them from the run that is meant.",
        )
    names = ", ".join(sorted(folder.name for folder in runs.known)) or "none named"
    print(f"ok: runs: {names}; {count} figures and tables in {len(documents)} documents hold")


def _document(runs: _Runs, document: Path) -> tuple[int, list[str]]:
    try:
        text = document.read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        return 0, [f"{document}: cannot be read: {error}"]
    found = list(quotes(text))
    wrong = [f"{document}:{line}: {why}" for quote in found for line, why in _check(runs, quote)]
    return len(found), wrong


def _check(runs: _Runs, quote: Quote) -> Iterator[tuple[int, str]]:
    if isinstance(quote, Unreadable):
        yield quote.line, quote.why
        return
    summary = runs.get(quote.run)
    if isinstance(summary, str):
        yield quote.line, f"{_name(quote)}: {summary}"
    elif isinstance(quote, Table):
        yield from verify.check_table(summary, quote)
    elif (why := verify.check_figure(summary, quote)) is not None:
        yield quote.line, why


def _name(quote: Figure | Table) -> str:
    return "table" if isinstance(quote, Table) else f"{quote.quantity} {quote.place}"
