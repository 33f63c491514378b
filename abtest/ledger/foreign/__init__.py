"""Records from other tools' results: what each file says, in our words, and nothing that it does not say.

A foreign figure is accepted whole or refused with its line: a file that is read in part would give a table
that looks complete. What is left out on purpose (a test that decodes nothing) is counted and named.
"""

from abtest.ledger.foreign.llama_bench import read_llama_bench
from abtest.ledger.foreign.rows import ISOLATION, Foreign, records
from abtest.ledger.foreign.table import read_table

__all__ = ["ISOLATION", "Foreign", "read", "records"]


def read(text: str, source: str, arm_by: str | None = None) -> Foreign:
    """Read a table with commas, or the JSON lines of llama-bench; the first character tells which.

    Args:
        source: the file's name, for messages.
        arm_by: the field that makes an arm; JSON lines only.

    Raises:
        UsageError: the file is of neither kind, or a line of it cannot be taken as it is.
    """
    if text.lstrip("\ufeff \t\r\n").startswith(("{", "[")):
        return read_llama_bench(text, source, arm_by)
    return read_table(text, source, arm_by)
