"""The real clock."""

import time
from datetime import UTC, datetime


class RealClock:
    """Time as the machine has it."""

    def monotonic_s(self) -> float:
        return time.monotonic()

    def utc(self) -> str:
        return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)
