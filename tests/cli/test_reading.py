"""Commands that read a run, through `main()`: formats, the comment, figures that hold and figures that do not."""

import gc
import io
import json
import os
import sys
from pathlib import Path

import jsonschema
import pytest

from abtest.cli import summary
from abtest.cli.main import main
from abtest.ledger import store

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one simulated run, `latest`."""
    root = tmp_path_factory.mktemp("results")
    experiment = str(Path(__file__).resolve().parents[2] / "arms" / "reference")
    depths = ["--depths", "512,8192", "--rounds", "4"]
    assert main(["run", experiment, "--simulate", *depths, "--results", str(root)]) == 0
    return root


def said(capsys: Capture, results: Path, *arguments: str, code: int = 0) -> tuple[str, str]:
    capsys.readouterr()
    assert main([*arguments, "--results", str(results)]) == code
    found = capsys.readouterr()
    return found.out, found.err


def test_each_format_is_all_that_stands_on_stdout(results: Path, capsys: Capture, repository: Path) -> None:  # fmt: skip
    out, err = said(capsys, results, "summary", "latest", "--format", "json")
    schema = json.loads((repository / "docs" / "summary.schema.json").read_text())
    jsonschema.validate(json.loads(out), schema)
    assert err == ""
    assert said(capsys, results, "summary", "latest", "--format", "csv")[0].startswith(
        "run,experiment,"
    )
    markdown = said(capsys, results, "summary", "latest", "--format", "markdown")[0]
    assert markdown.startswith("### `reference-decode`")
    assert "<!-- ab: table" in markdown
    part = said(capsys, results, "summary", "latest", "--format", "markdown", "--rounds", "1-2")[0]
    assert "<!-- ab: table" not in part


def test_schemas_are_printed(capsys: Capture, repository: Path) -> None:
    for name in ("experiment", "summary"):
        assert main(["schema", name]) == 0
        committed = (repository / "docs" / f"{name}.schema.json").read_text()
        assert capsys.readouterr().out == committed


@pytest.mark.parametrize("columns", [80, 120, 200])
def test_the_table_keeps_to_the_columns(results: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:  # fmt: skip
    monkeypatch.setenv("COLUMNS", str(columns))
    table = said(capsys, results, "summary", "latest")[0].partition("ran on: ")[0]
    assert 60 < max(map(len, table.splitlines())) <= columns
    assert "\x1b" not in table


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("value", "colored"), [(None, True), ("", True), ("1", False)])
def test_a_terminal_gets_color_unless_no_color_is_set(
    results: Path, monkeypatch: pytest.MonkeyPatch, value: str | None, colored: bool  # noqa: FBT001 - a case
) -> None:  # fmt: skip
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    environment = {} if value is None else {"NO_COLOR": value}
    summary.show((results / "latest").resolve(), "table", None, environment)
    assert ("\x1b[" in terminal.getvalue()) is colored


def test_the_comment_goes_to_stdout_alone_and_holds(results: Path, capsys: Capture, tmp_path: Path) -> None:  # fmt: skip
    out, err = said(capsys, results, "export", "latest", "--pr")
    assert err == ""
    assert "**Simulated: nothing was measured.**" in out
    assert "--arms stock,splitkv --depths 512,8192 --rounds 4 --simulate" in out
    comment = tmp_path / "comment.md"
    comment.write_text(out)
    assert said(capsys, results, "verify", "latest", str(comment))[0].startswith("ok: ")
    comment.write_text(out.replace("| (3.", "| (9.", 1))
    out, err = said(capsys, results, "verify", "latest", str(comment), code=1)
    assert f"{comment}:" in out
    assert "`splitkv@8192`, speed-up: the document says '(9." in out
    assert "findings" in err


def test_export_wants_to_be_told_what_for(results: Path, capsys: Capture) -> None:
    assert "export RUN --pr" in said(capsys, results, "export", "latest", code=2)[1]


def test_only_an_aa_run_is_a_noise_floor(results: Path, capsys: Capture, repository: Path, tmp_path: Path) -> None:  # fmt: skip
    err = said(capsys, results, "export", "latest", "--pr", "--aa", "latest", code=2)[1]
    assert "is no A/A run" in err
    run = results / "latest"
    same = tmp_path / "same"
    same.mkdir()
    body = json.loads((run / store.RUN).read_text())
    ledger = (run / store.LEDGER).read_text()
    stock, fast = body["arms"]["stock"], body["arms"]["splitkv"]
    for key in ("md5", "sha256"):  # the same file in both arms, as an A/A run has it
        ledger = ledger.replace(fast["files"][0][key], stock["files"][0][key])
    body["arms"]["splitkv"] = stock
    (same / store.RUN).write_text(json.dumps(body))
    (same / store.LEDGER).write_text(ledger)
    out = said(capsys, results, "export", "latest", "--pr", "--aa", str(same))[0]
    assert f"| A/A floor | run {body['run']}: 512: 1.2" in out
    assert (
        "| A/A floor | none: no A/A run was named |"
        in said(capsys, results, "export", "latest", "--pr")[0]
    )


def test_a_figure_that_does_not_hold_is_named_by_file_and_line(results: Path, capsys: Capture, tmp_path: Path) -> None:  # fmt: skip
    document = tmp_path / "a.md"
    document.write_text(
        "first\n99 tok/s <!-- ab: tok_s stock@512 -->\n1 <!-- ab: ms nothing@5 -->\n"
    )
    out, _ = said(capsys, results, "verify", "latest", str(document), code=1)
    first, second = out.splitlines()
    assert first.startswith(
        f"{document}:2: tok_s stock@512: the document says 99, the ledger gives"
    )
    assert second.startswith(f"{document}:3: ms nothing@5: run reference-decode-")


def test_a_missing_input_is_a_finding(results: Path, capsys: Capture, tmp_path: Path) -> None:
    run = (results / "latest").resolve()
    document = tmp_path / "a.md"
    document.write_text(
        "\n<!-- ab: run not-there -->\n99 <!-- ab: n stock@512 -->\n<!-- ab: table ../x -->\n"
    )
    out, _ = said(
        capsys, results, "verify", "latest", str(document), str(tmp_path / "b.md"), code=1
    )
    assert f"{document}:3: n stock@512: run not-there: " in out
    assert f"{document}:4: table: '../x' is no name of a run" in out
    assert f"{tmp_path / 'b.md'}: cannot be read" in out
    bare = tmp_path / "bare"
    bare.mkdir()
    (bare / store.RUN).write_bytes((run / store.RUN).read_bytes())
    assert "holds no ledger" in said(capsys, results, "verify", str(bare), code=1)[0]
    assert said(capsys, results, "verify", str(tmp_path / "nowhere"), code=2)[0] == ""


def test_a_ledger_that_was_touched_fails_without_any_document(results: Path, capsys: Capture, tmp_path: Path) -> None:  # fmt: skip
    run = (results / "latest").resolve()
    for name in (store.RUN, store.LEDGER):
        (tmp_path / name).write_bytes((run / name).read_bytes())
    assert said(capsys, results, "verify", str(tmp_path))[0].startswith("ok: runs: ")
    with (tmp_path / store.LEDGER).open("a", encoding="utf-8") as file:
        file.write("{torn")
    out, _ = said(capsys, results, "verify", str(tmp_path), code=1)
    assert "the last line is torn" in out


def test_documents_may_name_their_runs_in_a_folder_of_runs(results: Path, capsys: Capture, tmp_path: Path) -> None:  # fmt: skip
    name = (results / "latest").resolve().name
    document = tmp_path / "a.md"
    document.write_text(f"<!-- ab: run {name} -->\n4 rounds <!-- ab: n stock@512 -->\n")
    assert (
        f"ok: runs: {name}; 1 figures"
        in said(capsys, results, "verify", str(results), str(document))[0]
    )
    document.write_text(
        "4 rounds <!-- ab: n stock@512 -->\n<!-- ab: run latest -->\n4 <!-- ab: n stock@512 -->\n"
    )
    out, _ = said(capsys, results, "verify", str(results), str(document), code=1)
    assert f"{document}:1: n stock@512: no run is named" in out
    assert f"{document}:3: n stock@512: the folder latest holds run {name}" in out
    assert "nothing to verify" in said(capsys, results, "verify", str(results), code=2)[1]


def test_the_projects_own_documents_hold(capsys: Capture, repository: Path) -> None:
    documents = sorted([*repository.glob("*.md"), *(repository / "docs").glob("*.md")])
    names = [os.path.relpath(path) for path in documents]
    assert main(["verify", str(repository / "results"), *names]) == 0, capsys.readouterr().out


def test_the_collector_is_on_again_after_a_summary_however_it_ends(results: Path, capsys: Capture) -> None:  # fmt: skip
    assert gc.isenabled()
    said(capsys, results, "summary", "latest")
    assert gc.isenabled()
    said(capsys, results, "summary", "latest", "--gate", "splitkv@512>=9", code=1)
    assert gc.isenabled()
