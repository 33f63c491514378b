"""The result: one row for each kind of fault."""

from collections.abc import Sequence

from tools.torture.play import Outcome

HEAD = "| fault | runs | recovered | refused rightly | wrong |\n|---|---:|---:|---:|---:|\n"


def table(outcomes: Sequence[Outcome], seed: int) -> str:
    """Write Markdown: by kind, in all, and every wrong one with its number and its reasons."""
    kinds = list(dict.fromkeys(sorted(one.fault for one in outcomes)))
    rows = [_row(kind, [one for one in outcomes if one.fault == kind]) for kind in kinds]
    where = ", ".join(
        f"{sum(one.runtime == runtime for one in outcomes)} {runtime}"
        for runtime in ("docker", "process", "simulated")
    )
    text = HEAD + "".join(rows) + _row("**all**", outcomes)
    text += f"\nSeed {seed}; {where}.\n"
    for one in outcomes:
        if one.verdict == "wrong":
            text += f"* run {one.number}, {one.fault}, {one.runtime}, at {one.at_s:.2f} s:\n"
            text += "".join(f"  * {why}\n" for why in one.why)
    return text


def _row(name: str, outcomes: Sequence[Outcome]) -> str:
    counts = [
        sum(one.verdict == word for one in outcomes) for word in ("recovered", "refused", "wrong")
    ]
    return f"| {name} | {len(outcomes)} | {' | '.join(map(str, counts))} |\n"
