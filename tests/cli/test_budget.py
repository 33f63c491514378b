"""`--budget`: a run ends after a whole block, says so, and exits with 0 only if something can be compared."""

from pathlib import Path

import pytest

from abtest.cli import budget, clock, sitting
from abtest.cli.main import main
from abtest.errors import UsageError
from abtest.ledger import store


class LeapingClock:
    """Each look at the clock takes ten seconds."""

    now_s = 0.0

    def monotonic_s(self) -> float:
        type(self).now_s += 10
        return self.now_s

    def utc(self) -> str:
        return "2026-01-31T00:00:00Z"

    def sleep(self, seconds: float) -> None:
        """Time goes by as it is looked at."""


def run(root: Path, repository: Path, *more: str) -> int:
    experiment = str(repository / "arms" / "reference")
    return main(["run", experiment, "--simulate", "--results", str(root), *more])


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("6h", 21600), ("90m", 5400), ("1h30m", 5400), ("45s", 45), ("1h1m1s", 3661)],
)
def test_lengths_of_time_are_read(text: str, seconds: int) -> None:
    assert budget.seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "6", "6 h", "h", "0s", "1m1h", "-1h", "6hours", "1.5h"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not a length of time"):
        budget.seconds_of(text)


def test_a_wrong_budget_starts_nothing(repository: Path, tmp_path: Path) -> None:
    assert run(tmp_path, repository, "--budget", "soon") == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("length", "code"), [("5m", 0), ("1s", 5)])
def test_a_budget_ends_the_run_after_a_whole_block(
    length: str,
    code: int,
    repository: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    LeapingClock.now_s = 0.0
    monkeypatch.setattr("abtest.cli.session.RealClock", LeapingClock)
    assert run(tmp_path, repository, "--budget", length) == code
    assert "the time budget ended this run after a whole block" in capsys.readouterr().err
    folder = (tmp_path / "latest").resolve()
    records = [one for one in store.read(folder).records if not one.discarded]
    assert len(records) < 24
    assert len(records) % 2 == 0, "no block was cut"
    session = sitting.read(folder)
    assert session is not None
    assert session.ended == sitting.BUDGET
    assert main(["status", "latest", "--results", str(tmp_path)]) == 0
    assert "state: stopped: time budget\n" in capsys.readouterr().out
    monkeypatch.setattr("abtest.cli.session.RealClock", clock.RealClock)
    assert run(tmp_path, repository, "--resume", "latest") == 0
    capsys.readouterr()
    assert main(["status", "latest", "--results", str(tmp_path)]) == 0
    assert "state: finished\n" in capsys.readouterr().out


def test_a_budget_that_is_not_used_up_changes_nothing(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, repository, "--budget", "6h", "--rounds", "2", "--depths", "512") == 0
    assert "budget" not in capsys.readouterr().err
