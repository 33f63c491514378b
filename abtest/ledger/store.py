"""One run's folder: locked by one writer, appended to with fsync, read with its faults reported."""

import contextlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from abtest.errors import InfrastructureError, LedgerError, LockedError, UsageError
from abtest.ledger import codec
from abtest.ledger.brief import Reader as Brief
from abtest.model.trial import TrialRecord

if TYPE_CHECKING:  # readers need neither; nor do they load what locks
    from abtest.ports import Clock

LEDGER = "ledger.jsonl"
RUN = "run.json"
EXPERIMENT = "experiment.yaml"
LOCK = "lock"
TRIALS = "trials"
BUFFER_BYTES = 1 << 18  # lines are 4 KB: the usual buffer would hold two


@dataclass(frozen=True, slots=True)
class Contents:
    """What a ledger holds.

    Args:
        records: every trial record, in file order, superseded ones too.
        superseded: names of trials that a later record replaces.
        notes: remarks of earlier runs.
        faults: unreadable lines, each with its number.
        altered: lines that are read and counted, but are not as they were written.
        torn: the unfinished last line, None if the file ends well.
    """

    records: tuple[TrialRecord, ...]
    superseded: frozenset[str]
    notes: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    torn: str | None = None
    altered: tuple[str, ...] = ()

    @property
    def standing(self) -> tuple[TrialRecord, ...]:
        """The records that no later one replaces."""
        if not self.superseded:
            return self.records
        return tuple([one for one in self.records if one.trial not in self.superseded])


def read(folder: Path, *, brief: bool = False) -> Contents:
    """Read a run's ledger; a torn last line is tolerated and reported, any other bad line is a fault.

    Args:
        brief: only what a summary looks at; quicker, and small enough for 100 000 records.

    Raises:
        UsageError: there is no ledger in this folder.
    """
    reader = _Reader(Brief().decode if brief else codec.decode)
    torn = None
    try:
        with (folder / LEDGER).open("rb", buffering=BUFFER_BYTES) as file:
            for number, line in enumerate(file, start=1):
                if line.endswith(b"\n"):
                    reader.take(number, line)
                else:
                    torn = line.decode("utf-8", errors="replace")
    except OSError as error:
        raise UsageError(
            f"{folder} holds no ledger: {error}", remedy="Name a folder below results/."
        ) from error
    return Contents(
        tuple(reader.records),
        frozenset(reader.superseded),
        tuple(reader.notes),
        tuple(reader.faults),
        torn,
        tuple(reader.altered),
    )


@dataclass(slots=True)
class _Reader:
    decode: Callable[[bytes], codec.Line]
    records: list[TrialRecord] = field(default_factory=list)
    superseded: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    altered: list[str] = field(default_factory=list)
    signs: bool = False  # whether a line before this one carried a checksum

    def take(self, number: int, line: bytes) -> None:
        try:
            found = self.decode(line)
        except codec.AlienLineError as error:
            self.faults.append(f"line {number}: {error}")
            return
        holds = codec.holds(line)
        self.signs = self.signs or holds is not None
        altered = holds is False or (holds is None and self.signs)  # older lines come first
        if not holds and codec.has_huge_number(line):
            self.faults.append(f"line {number}: a number in it is beyond all counts")
            return
        if altered:
            self.altered.append(f"line {number}: its checksum does not hold")
        match found:
            case codec.Superseded():
                self.superseded.add(found.trial)
            case codec.Note():
                self.notes.append(found.text)
            case _ if found.tokens[0] >= found.tokens[1]:
                self.faults.append(
                    f"line {number}: its long token count is not above the short one"
                )
            case _:
                self.records.append(found)


class Store:
    """The open ledger of one run; made by `locked`."""

    def __init__(self, folder: Path, clock: "Clock") -> None:
        self.folder = folder
        self._clock = clock
        self._path = folder / LEDGER

    def append(self, record: TrialRecord) -> None:
        self._write(codec.encode(record))

    def supersede(self, trial: str, reason: str) -> None:
        self._write(codec.encode_superseded(trial, reason, self._clock.utc()))

    def note(self, text: str) -> None:
        self._write(codec.encode_note(text, self._clock.utc()))

    def mend_tail(self) -> None:
        """Cut an unfinished last line off and keep it in a note: it never was a record."""
        raw = self._path.read_bytes()
        whole = raw.rfind(b"\n") + 1
        os.truncate(self._path, whole)
        self.note(f"a torn last line at byte {whole} was cut off: {raw[whole : whole + 200]!r}")

    def open_trial(self, name: str) -> tuple[str, str]:
        """Make a fresh folder for one attempt at a trial; earlier attempts keep theirs.

        Returns:
            The trial's name, unique in this run, and the absolute path of its empty folder.
        """
        for attempt in range(1, 10_000):
            trial = name if attempt == 1 else f"{name}.{attempt}"
            path = self.folder.resolve() / TRIALS / trial
            try:
                path.mkdir(parents=True)
            except FileExistsError:
                continue
            except OSError as error:
                raise InfrastructureError(
                    f"{path} cannot be made: {error}", remedy="Free some space, then use --resume."
                ) from error
            return trial, str(path)
        raise InfrastructureError(f"{name}: ten thousand attempts", remedy="Start a new run.")

    def _write(self, line: str) -> None:
        """One write, one flush, one fsync: a line is there whole, or torn at the very end."""
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            try:
                data = line.encode()
                written = os.write(descriptor, data)
                if written != len(data):
                    raise OSError(f"only {written} of {len(data)} bytes were written")
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise InfrastructureError(
                f"the ledger {self._path} cannot be written: {error}",
                remedy="Free some space, then use --resume.",
            ) from error


@contextmanager
def locked(folder: Path, clock: "Clock") -> Iterator[Store]:
    """Hold the folder as its only writer.

    Raises:
        LockedError: another run holds it.
        UsageError: it is another user's, or a link stands where a file of ours should.
    """
    from filelock import FileLock, Timeout  # noqa: PLC0415 - a summary locks nothing

    _refuse_foreign(folder)
    lock = FileLock(folder / LOCK, timeout=0)
    try:
        lock.acquire()
    except Timeout as error:
        raise LockedError(
            f"another run holds {folder}",
            remedy="Wait until it ends, or give this run a folder of its own.",
        ) from error
    try:
        yield Store(folder, clock)
    finally:
        lock.release()


def _refuse_foreign(folder: Path) -> None:
    """Write only where nobody else can lead the writing astray.

    Raises:
        UsageError: names the place.
    """
    if folder.stat().st_uid != os.geteuid():
        raise UsageError(
            f"{folder} belongs to another user (number {folder.stat().st_uid})",
            remedy="Go on as that user, or start a run of your own.",
        )
    for name in (LEDGER, RUN, LOCK, TRIALS):
        if (folder / name).is_symlink():
            raise UsageError(
                f"{folder / name} is a link: what is written there would land elsewhere",
                remedy="Put the file itself there, or start a run of your own.",
            )


def write_json(path: Path, body: object) -> None:
    """Create a file atomically: a temporary name, fsync, rename."""
    write_text(path, json.dumps(body, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def write_text(path: Path, text: str) -> None:
    """Create a text file atomically; where it cannot be made, nothing of it is left."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):  # the first error is the one to tell
            temporary.unlink(missing_ok=True)
        raise


def sweep(folder: Path) -> None:
    """Remove what writers that were killed left half made in a run's folder; only the holder of its lock may."""
    for pattern in (".*.[0-9]*", "staged/.*.[0-9]*", f"{TRIALS}/*/.*.part"):
        for path in folder.glob(pattern):
            with contextlib.suppress(
                OSError
            ):  # a disk that cannot be written is told by whoever must write
                path.unlink()


def read_run(folder: Path) -> dict[str, Any]:
    """Read `run.json`.

    Raises:
        UsageError: there is none.
        LedgerError: it is no JSON object.
    """
    path = folder / RUN
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(
            f"{folder} is not the folder of a run: {error}", remedy="Name one below results/."
        ) from error
    except (ValueError, RecursionError) as error:
        raise LedgerError(
            f"{path} is damaged: {error}", remedy="Restore it, or start a new run."
        ) from error
    if not isinstance(body, dict):
        raise LedgerError(
            f"{path} is damaged: not an object", remedy="Restore it, or start a new run."
        )
    return body
