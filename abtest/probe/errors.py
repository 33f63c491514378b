"""What can go wrong in a trial, by name; `invalid` means that the set-up is wrong, `failed` that it broke."""

from __future__ import annotations


class ProbeError(Exception):
    """A trial that cannot be trusted.

    Args:
        kind: "failed" (the sandbox or the engine broke) or "invalid" (the set-up is wrong).
        name: a short name, such as `wrong-token-count`.
    """

    def __init__(self, kind: str, name: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.name = name


def failed(name: str, message: str) -> ProbeError:
    return ProbeError("failed", name, message)


def invalid(name: str, message: str) -> ProbeError:
    return ProbeError("invalid", name, message)
