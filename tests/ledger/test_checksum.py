"""A line's checksum: it holds, it does not, or there is none."""

import zlib

import pytest

from abtest.ledger import codec

BODY = b'{"schema":1,"kind":"note","text":"hm"'
SUM = b"%08x" % zlib.crc32(BODY)


@pytest.mark.parametrize(
    ("tail", "held"),
    [
        (b',"crc32":"' + SUM + b'"}\n', True),
        (b',"crc32":"' + SUM + b'"}', True),
        (b',"crc32":"00000000"}\n', False),
        (b',"crc32":"' + SUM[::-1] + b'"}\n', False),
        (b',"crc32":"' + SUM[:7] + b'"}\n', None),
        (b',"crc32":"' + b"ABCDEF01" + b'"}\n', None),
        (b',"crc32": "' + SUM + b'"}\n', None),
        (b',"crc32":"' + SUM + b'","text":""}\n', None),
        (b"}\n", None),
    ],
)
def test_only_the_checksum_that_was_written_at_the_end_holds(
    tail: bytes, *, held: bool | None
) -> None:
    assert codec.holds(BODY + tail) is held


def test_every_changed_byte_before_the_checksum_is_noticed() -> None:
    line = BODY + b',"crc32":"' + SUM + b'"}\n'
    for place in range(len(BODY)):
        changed = bytearray(line)
        changed[place] ^= 1
        assert codec.holds(bytes(changed)) is False


@pytest.mark.parametrize("line", [b"", b"\n", b"}\n", b',"crc32":'])
def test_short_lines_carry_none(line: bytes) -> None:
    assert codec.holds(line) is None
