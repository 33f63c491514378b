"""The fake engine's target file."""


class Scale:
    def __init__(self, factor: int) -> None:
        self.factor = factor

    @property
    def doubled(self) -> int:
        return self.factor * 2

    @staticmethod
    def once(value: int) -> int:
        return value


def decode(head_size: int, context: int, sliding_window: int = 0) -> int:
    use_splitkv = context > 100_000
    return (Scale(head_size).doubled + context + sliding_window + use_splitkv) % 251
