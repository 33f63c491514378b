"""Foreign text made harmless: the one place through which names, reasons and values reach a terminal."""


def neutral(text: str) -> str:
    r"""Show control characters, escapes and direction marks as codes, instead of letting a terminal act on them.

    >>> neutral("a\x1b[31mb")
    'a\\x1b[31mb'
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _code(ord(char)) for char in text)


def _code(point: int) -> str:
    return f"\\x{point:02x}" if point <= 0xFF else f"\\u{{{point:x}}}"  # noqa: PLR2004 - one byte
