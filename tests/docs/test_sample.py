"""The sample in the README is what the tool prints of a committed run.

After a change on purpose, write it again with `ABTEST_WRITE_GOLDEN=1 pytest tests/docs`, and read the diff.
"""

import os
from pathlib import Path

import pytest

from abtest.cli.main import main

RUN = "results/h200-vllm-0.26/vllm-triton-20261130T114332Z-fanu"
BEGIN = "<!-- sample: written by ABTEST_WRITE_GOLDEN=1 pytest tests/docs -->\n```\n"
END = "```\n"


def test_the_sample_in_the_readme_is_what_is_printed_today(
    repository: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository)
    monkeypatch.setenv("COLUMNS", "120")
    assert main(["summary", RUN]) == 0
    lines = capsys.readouterr().out.replace(f"{repository}/", "").splitlines()
    printed = "".join(line.rstrip() + "\n" for line in lines)
    readme = repository / "README.md"
    head, _, rest = readme.read_text().partition(BEGIN)
    quoted, _, tail = rest.partition(END)
    if os.environ.get("ABTEST_WRITE_GOLDEN") == "1":
        readme.write_text(head + BEGIN + printed + END + tail)
    else:
        assert quoted == printed
