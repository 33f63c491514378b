"""The fake engine's running step."""


class Step:
    phase = "idle"


def current() -> Step:
    return Step()
