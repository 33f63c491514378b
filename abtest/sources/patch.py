"""Unified diffs, applied exactly: every context line where the diff says it is, or not at all."""

import io

from unidiff.constants import LINE_TYPE_NO_NEWLINE
from unidiff.errors import UnidiffParseError
from unidiff.patch import Hunk, PatchedFile, PatchSet

from abtest.errors import SpecError

WHOLE_FILE = "/dev/null"  # how a diff names the side of a file that does not exist


def apply(diff: bytes, base: bytes, target: str, where: str) -> bytes:
    """Apply the part of a diff that changes one file.

    No line may be elsewhere than the diff says, and no context may differ: a hunk that fits by luck is how a
    wrong kernel gets measured.

    Args:
        diff: a unified diff, as git or diff -u write it; it may change other files as well.
        base: the file's content in the image.
        target: the file below its package's root, by which the diff's part is found.
        where: begins every message, such as "arm splitkv: fix.diff".

    Raises:
        SpecError: it is no unified diff, it does not change this file, or a hunk does not fit exactly.
    """
    part = _part(diff, target, where)
    old = _lines(base.decode("latin-1"))
    made: list[str] = []
    done = 0
    for number, hunk in enumerate(part, start=1):
        before, after = _sides(hunk)
        # A hunk without old lines stands behind the line it names; any other one begins at it.
        start = hunk.source_start - (1 if before else 0)
        if start < done or old[start : start + len(before)] != before:
            raise SpecError(
                f"{where}: hunk {number} of {len(part)} (line {hunk.source_start}) does not fit the image's {target} exactly",
                remedy="Make the diff anew against the image's own file; `abtest show-arm` prints its hash.",
            )
        made += [*old[done:start], *after]
        done = start + len(before)
    return "".join((*made, *old[done:])).encode("latin-1")


def _sides(hunk: Hunk) -> tuple[list[str], list[str]]:
    """Give a hunk's lines before and after, each with its line feed, if it has one."""
    before: list[str] = []
    after: list[str] = []
    sides: tuple[list[str], ...] = ()
    for line in hunk:
        if line.line_type == LINE_TYPE_NO_NEWLINE:  # speaks of the line above it
            for side in sides:
                side[-1] = side[-1].removesuffix("\n")
            continue
        sides = (before,) if line.is_removed else (after,) if line.is_added else (before, after)
        for side in sides:
            side.append(line.value)
    return before, after


def _part(diff: bytes, target: str, where: str) -> PatchedFile:
    try:
        parsed = PatchSet(io.StringIO(diff.decode("latin-1"), newline="\n"))
    except UnidiffParseError as error:
        raise SpecError(
            f"{where}: not a unified diff: {error}", remedy="Make it with `git diff` or `diff -u`."
        ) from error
    parts = [one for one in parsed if _names(one.path, target)]
    if len(parts) != 1:
        changed = ", ".join(one.path for one in parsed) or "nothing"
        raise SpecError(
            f"{where}: changes {changed}; {len(parts)} of its parts are for {target}",
            remedy="Give a diff that changes the target once; name other files by `files`.",
        )
    if WHOLE_FILE in (parts[0].source_file, parts[0].target_file):
        raise SpecError(
            f"{where}: adds or removes {target} as a whole", remedy="Use `file` for a whole file."
        )
    return parts[0]


def _names(path: str, target: str) -> bool:
    """Tell whether a path of a diff ends with the target, or the target with it, at a folder's border."""
    left, right = f"/{path}", f"/{target.lstrip('/')}"
    return left.endswith(right) or right.endswith(left)


def _lines(text: str) -> list[str]:
    """Split at line feeds only; str.splitlines also splits at form feeds and others."""
    return list(io.StringIO(text, newline="\n"))
