"""Where an arm's bytes come from: the image, a file, exact replacements. Bytes in, bytes out."""

import hashlib
from pathlib import Path

from abtest.errors import SpecError, UnprovedError
from abtest.model.sandbox import TargetFacts
from abtest.spec import Arm
from abtest.spec.load import resolve


def md5_of(content: bytes) -> str:
    """Hash as kernel authors quote it; sha256 stands beside it wherever it matters."""
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


def sha256_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def arm_content(name: str, arm: Arm, base: TargetFacts, folder: Path) -> bytes:
    """Make the bytes that take the target's place in this arm.

    Args:
        base: the target as the image has it.
        folder: the experiment's folder, against which `file` is resolved.

    Raises:
        UnprovedError: `base_md5` or `md5` is another one.
        SpecError: a replacement does not occur exactly once, or the file cannot be read.
    """
    if arm.base_md5 is not None and arm.base_md5 != base.md5:
        raise UnprovedError(
            f"arm {name}: the image's {base.target} has md5 {base.md5}, the arm was made for {arm.base_md5}",
            remedy="Use the image that the arm was made for, or renew the arm and its base_md5.",
        )
    content = _content(name, arm, base, folder)
    if arm.md5 is not None and arm.md5 != md5_of(content):
        raise UnprovedError(
            f"arm {name}: its file has md5 {md5_of(content)}, the experiment says {arm.md5}",
            remedy="Restore the file that was meant, or renew the arm's md5.",
        )
    return content


def _content(name: str, arm: Arm, base: TargetFacts, folder: Path) -> bytes:
    if arm.file is not None:
        path = resolve(folder, arm.file)
        try:
            return b"" if path is None else path.read_bytes()
        except OSError as error:
            raise SpecError(
                f"arm {name}: {arm.file} cannot be read: {error}", remedy="Restore the file."
            ) from error
    content = base.content
    for number, change in enumerate(arm.replace, start=1):
        old = change.old.encode()
        count = content.count(old)
        if count != 1:
            raise SpecError(
                f"arm {name}: replacement {number}: `old` occurs {count} times in the image's {base.target}, not once",
                remedy="Quote enough of the line and its neighbours to make it unique.",
            )
        content = content.replace(old, change.new.encode())
    return content
