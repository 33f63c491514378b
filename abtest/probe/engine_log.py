"""What an engine's log gives away, by component, each finding with the line it was read from; pure.

A log is the weaker evidence: words change between versions, and a line may be about another part of the model.
So each finding keeps its line, and what was looked for and not found is `unknown`.
"""

from __future__ import annotations

import re
from typing import NamedTuple, Sequence

UNKNOWN = "unknown"
MOST_LINE = 300
MOST_FINDINGS = 40
JIT = "jit"
VISION = re.compile(r"\bvit\b|mm_?encoder|multimodal|vision", re.IGNORECASE)
DRAFT = re.compile(r"\bdraft|speculat|eagle|\bmtp\b", re.IGNORECASE)


class Finding(NamedTuple):
    """One thing that a log says.

    Args:
        component: "decoder", "vision", "draft" or "engine".
        fact: what it is about, such as `backend`.
        value: as the log has it; `unknown` where no line tells.
        line: the line, word for word; of a very long one the part around the match.
        in_window: the line was written while the timed pairs ran.
    """

    component: str
    fact: str
    value: str
    line: str
    in_window: bool = False


_PATTERNS: Sequence[tuple[str, str, re.Pattern[str]]] = (  # (component, fact, pattern); "" = told by the line
    ("", "backend", re.compile(r"Using (?:backend )?(?:AttentionBackendEnum\.)?(?P<value>\w+) attention backend")),
    ("", "backend", re.compile(r"Using (?:AttentionBackendEnum\.)?(?P<value>[A-Z][A-Z0-9_]+) backend\b")),
    ("", "backend", re.compile(r"Using backend (?:AttentionBackendEnum\.)?(?P<value>\w+) for vit attention")),
    ("", "backend", re.compile(r"Using (?P<value>[A-Z][\w ]*?)(?: backend| \(.*\))? for ViT model")),
    ("", "backend", re.compile(r"Using (?:AttentionBackendEnum\.)?(?P<value>\w+) for MMEncoderAttention")),
    ("", "fallback", re.compile(r"(?P<value>Cannot use \w+ backend|[Ff]alling back to .{1,80})")),
    ("", "fallback", re.compile(r"(?P<value>Overriding with \w+)")),
    ("engine", "graph_mode", re.compile(r"cudagraph_mode'?[:=] ?<?(?:CUDAGraphMode\.)?(?P<value>[A-Z_]+)")),
    ("engine", "graph_sizes", re.compile(r"cudagraph_capture_sizes'?[:=] ?(?P<value>\[[^\]]{0,400}\])")),
    ("engine", "graphs_captured", re.compile(r"(?P<value>Graph capturing finished in .{1,60})")),
    ("engine", "eager", re.compile(r"(?P<value>[Cc]udagraph is disabled|Enforce eager set)")),
    ("engine", "kv_cache_tokens", re.compile(r"KV cache size: (?P<value>[\d,]+) tokens")),
    ("engine", "truncated", re.compile(r"(?P<value>Truncating \w+ to \S+)")),
    ("engine", "jit_monitor", re.compile(r"(?P<value>JIT monitor activated)")),
    ("engine", JIT, re.compile(r"(?P<value>\w+ (?:JIT compilation|autotuning|\w+ compilation)\b.{0,40}? during inference: \S+)")),
    ("engine", JIT, re.compile(r"(?P<value>Triton autotuning for function \w+)")),
    ("decoder", "quantisation", re.compile(r"Using (?P<value>\w+(?:Kernel|Method|Scheme)\w*) for \w+")),
    ("decoder", "quantisation", re.compile(r"Using (?P<value>\w+) for \w+ GEMM")),
)  # fmt: skip
# an exception that a process of the engine's own tells, raw or as a line of its logger
FAULT = re.compile(
    r"^\([\w ]+ pid=\d+\) (?:ERROR [\d-]+ [\d:.,]+ \[[\w./]+:\d+\] )?(?:\[rank\d+\]: )?"
    r"(?P<what>(?:\w+\.)*\w+(?:Error|Exception)(?:: .+)?)$"
)
COLOUR = re.compile(r"\x1b\[[\d;]*m")
_ALWAYS = (  # asked of every log; silence is an answer too
    ("decoder", "backend"),
    ("engine", "graph_mode"),
    ("engine", "graph_sizes"),
    ("engine", "kv_cache_tokens"),
    ("engine", "jit_monitor"),
)


def read(log: bytes, window: tuple[int, int] | None = None) -> list[Finding]:
    """Read a whole log.

    Args:
        window: byte offsets of the log's end when the timed pairs began and ended; None if they never did.

    Returns:
        Findings in the log's order, each once; then those that no line told, as `unknown`.
    """
    found: dict[tuple[str, str, str, bool], Finding] = {}
    offset = 0
    for raw in log.splitlines(keepends=True):
        inside = window is not None and window[0] <= offset < window[1]
        offset += len(raw)
        line = raw.decode("utf-8", "replace").rstrip()
        for finding in _of_line(line, inside=inside):
            key = (finding.component, finding.fact, finding.value, inside)
            found.setdefault(key, finding)
    told = {(one.component, one.fact) for one in found.values()}
    silent = [
        Finding(part, fact, UNKNOWN, "") for part, fact in _ALWAYS if (part, fact) not in told
    ]
    return [*list(found.values())[:MOST_FINDINGS], *silent]


def first_fault(log: bytes) -> str | None:
    """Find the first exception that a process of the engine's own told; those after it mostly follow from it.

    >>> first_fault(b"(EngineCore pid=62) torch.AcceleratorError: CUDA error: an illegal memory access")
    'torch.AcceleratorError: CUDA error: an illegal memory access'
    """
    for raw in log.splitlines():
        found = FAULT.match(COLOUR.sub("", raw.decode("utf-8", "replace")).rstrip())
        if found is not None:
            return _cut(found["what"], 0)
    return None


def _of_line(line: str, *, inside: bool) -> list[Finding]:
    found: dict[tuple[str, str], Finding] = {}
    for component, fact, pattern in _PATTERNS:
        match = pattern.search(line)
        if match is not None:
            part = component or _component(line)
            value = match["value"].strip()
            finding = Finding(part, fact, value, _cut(line, match.start()), inside)
            found.setdefault(
                (part, fact), finding
            )  # the first pattern that fits a line is the closest
    return list(found.values())


def _cut(line: str, place: int) -> str:
    """Keep a line as it is; of a very long one keep what stands around the match."""
    if len(line) <= MOST_LINE:
        return line.strip()
    begin = max(0, min(place - MOST_LINE // 3, len(line) - MOST_LINE))
    return line[begin : begin + MOST_LINE].strip()


def _component(line: str) -> str:
    if VISION.search(line):
        return "vision"
    return "draft" if DRAFT.search(line) else "decoder"


def flags(findings: Sequence[Finding]) -> list[str]:
    """Name what the findings put in doubt, a compilation with what was compiled first.

    >>> flags([Finding("engine", "jit", "Triton JIT compilation", "", in_window=True)])
    ['jit-in-window: Triton JIT compilation']
    """
    found = [
        f"jit-in-window: {one.value.rstrip('.')}"
        for one in findings
        if one.fact == JIT and one.in_window
    ]
    found = found[:1]
    if any(one.fact == "truncated" for one in findings):
        found.append("graph-sizes-truncated")
    return found
