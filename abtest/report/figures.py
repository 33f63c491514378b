"""Numbers as text, with the digits that they can carry."""

from abtest.model.result import Interval

DASH = "-"
NEAR_ONE = 0.1  # ratios closer to one than this need the third decimal
USUAL_LEVELS = (0.90, 0.95)


def ratio_digits(ratio: float) -> int:
    """Choose decimals: 1.013 says something that 1.01 hides, 9.461 claims what no few rounds can hold."""
    return 3 if abs(ratio - 1) < NEAR_ONE else 2


def ratio(value: float | None, digits: int | None = None) -> str:
    if value is None:
        return "not printed"
    return f"{value:.{ratio_digits(value) if digits is None else digits}f}x"


def significant(value: float | None, digits: int = 4) -> str:
    """Write a number with so many significant digits and without an exponent.

    >>> significant(261.91), significant(27.683), significant(0.26237)
    ('261.9', '27.68', '0.2624')
    """
    if value is None:
        return DASH
    whole = len(str(int(abs(value)))) if abs(value) >= 1 else 0
    return f"{value:.{max(0, digits - whole)}f}"


def rate(value: float | None) -> str:
    """Write tokens per second: one decimal, and three digits where a rate is small.

    >>> rate(47.022), rate(3.8276), rate(1234.5)
    ('47.0', '3.83', '1234.5')
    """
    if value is None:
        return DASH
    return f"{value:.1f}" if value >= 10 else significant(value, 3)  # noqa: PLR2004 - three digits


def interval(found: Interval | None, digits: int) -> str:
    """Write an interval with how it was made: a range of ratios must not pass for a 95 % interval."""
    if found is None:
        return DASH
    return (
        f"{found.low:.{digits}f} to {found.high:.{digits}f} ({found.method}, {level(found.level)})"
    )


def level(value: float) -> str:
    usual = any(abs(value - one) < 1e-9 for one in USUAL_LEVELS)  # noqa: PLR2004 - rounding
    return f"{100 * value:.0f} %" if usual else f"level {value:.3f}"
