"""What an engine's log gives away; lines in the form of real ones, made for these tests."""

import pytest

from abtest.probe import asked, engine_log

BOTH = b"""\
INFO 01-01 10:00:00 [cuda.py:1] Using AttentionBackendEnum.FLASH_ATTN for MMEncoderAttention.
INFO 01-01 10:00:00 [cuda.py:2] Using backend AttentionBackendEnum.TORCH_SDPA for vit attention
(EngineCore pid=7) INFO 01-01 10:00:01 [cuda.py:3] Using TRITON_ATTN attention backend out of potential backends: ['TRITON_ATTN'].
"""


def values(log: bytes, window: tuple[int, int] | None = None) -> dict[tuple[str, str], str]:
    return {(one.component, one.fact): one.value for one in engine_log.read(log, window)}


def test_b5_the_vision_encoders_line_is_not_the_decoders() -> None:
    found = values(BOTH)
    assert found["vision", "backend"] == "TORCH_SDPA"
    assert found["decoder", "backend"] == "TRITON_ATTN"
    lines = {one.component: one.line for one in engine_log.read(BOTH) if one.fact == "backend"}
    assert lines["decoder"] == BOTH.decode().splitlines()[2]


@pytest.mark.parametrize(
    ("line", "component", "fact", "value"),
    [
        ("Using FLASH_ATTN backend.", "decoder", "backend", "FLASH_ATTN"),
        ("draft model: Using FLASH_ATTN backend.", "draft", "backend", "FLASH_ATTN"),
        ("Cannot use FLASHINFER backend on CPU.", "decoder", "fallback", "Cannot use FLASHINFER backend"),
        ("GPU KV cache size: 12,345 tokens", "engine", "kv_cache_tokens", "12,345"),
        ("Using MarlinLinearKernel for CompressedTensorsWNA16", "decoder", "quantisation", "MarlinLinearKernel"),
        ("Using FooScaledMM for MXFP8 GEMM", "decoder", "quantisation", "FooScaledMM"),
        ("Truncating max_cudagraph_capture_size to 128", "engine", "truncated", "Truncating max_cudagraph_capture_size to 128"),
        ("'cudagraph_mode': <CUDAGraphMode.FULL_AND_PIECEWISE: (2, 1)>, 'x'", "engine", "graph_mode", "FULL_AND_PIECEWISE"),
        ("'cudagraph_capture_sizes': [1, 2, 4], 'x'", "engine", "graph_sizes", "[1, 2, 4]"),
        ("Enforce eager set, disabling torch.compile", "engine", "eager", "Enforce eager set"),
        ("Kernel JIT monitor activated; monitored", "engine", "jit_monitor", "JIT monitor activated"),
    ],
)  # fmt: skip
def test_each_kind_of_line_is_told(line: str, component: str, fact: str, value: str) -> None:
    assert values(f"INFO [x.py:1] {line}\n".encode())[component, fact] == value


def test_what_no_line_tells_is_unknown() -> None:
    assert set(values(b"").values()) == {"unknown"}
    assert values(b"INFO nothing of interest\n")["decoder", "backend"] == "unknown"


@pytest.mark.parametrize(
    ("inside", "flags"),
    [
        (True, ["jit-in-window: Triton JIT compilation during inference: kernel"]),
        (False, []),
    ],
)
def test_c1_only_a_compilation_inside_the_window_is_a_finding(
    inside: bool,  # noqa: FBT001 - a table's column
    flags: list[str],
) -> None:
    before = (
        b"WARNING [jit_monitor.py:1] Triton JIT compilation during inference: warm. This causes\n"
    )
    timed = (
        b"WARNING [jit_monitor.py:1] Triton JIT compilation during inference: kernel. This causes\n"
    )
    window = (len(before), len(before) + len(timed))
    log = before + (timed if inside else b"INFO quiet\n")
    assert engine_log.flags(engine_log.read(log, window)) == flags


def test_b9_fewer_graph_sizes_than_asked_for_are_a_flag() -> None:
    log = b"WARNING Truncating max_cudagraph_capture_size to 8\n"
    assert engine_log.flags(engine_log.read(log)) == ["graph-sizes-truncated"]


def test_a_long_line_is_cut_around_what_was_found() -> None:
    line = "x" * 5000 + " GPU KV cache size: 7 tokens " + "y" * 5000
    finding = engine_log.read(line.encode())[0]
    assert len(finding.line) <= engine_log.MOST_LINE
    assert "KV cache size: 7 tokens" in finding.line


def test_b1_a_request_that_some_rank_did_not_get_is_named() -> None:
    wanted = {"backend.decoder": "TRITON_ATTN"}
    got = [{"backend.decoder": "TRITON_ATTN_VLLM_V1"}, {"backend.decoder": "FLASH_ATTN"}]
    assert asked.refused(wanted, got) == [
        "rank 1: backend.decoder is FLASH_ATTN, TRITON_ATTN was asked for"
    ]
    assert asked.refused(wanted, [{}]) == []
    assert asked.refused(wanted, [{"backend.decoder": "GDN_ATTN+TRITON_ATTN"}]) == []
    assert asked.untold(wanted, [{}]) == ["backend.decoder"]


def test_b8_a_batch_above_every_captured_size_runs_eagerly() -> None:
    graphs = {"engine.graph_mode": "FULL", "engine.graph_sizes": "[1, 2]"}
    assert asked.runs_eagerly(graphs, 3)
    assert not asked.runs_eagerly(graphs, 2)
    assert not asked.runs_eagerly({**graphs, "engine.graph_mode": "NONE"}, 3)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("(Worker_TP1 pid=7) ERROR 11-30 15:06:56 [multiproc.py:9] ValueError: a", "ValueError: a"),
        ("(EngineCore pid=62) torch.OutOfMemoryError: CUDA out of memory", "torch.OutOfMemoryError: CUDA out of memory"),
        ("(Worker pid=7) [rank0]: AssertionError", "AssertionError"),
        ("\x1b[1;36m(EngineCore pid=62)\x1b[0;0m KeyError: 'x'", "KeyError: 'x'"),
        ("(EngineCore pid=62) WARNING 11-30 15:06:56 [x.py:1] ImportError: optional", None),
        ("RuntimeError: of the front end", None),
        ("(EngineCore pid=62) said RuntimeError: in a sentence", None),
    ],
)  # fmt: skip
def test_only_what_a_process_of_the_engine_ended_with_is_a_fault(
    line: str, found: str | None
) -> None:
    log = f"INFO ready\n{line}\n(EngineCore pid=62) EngineDeadError: later\n".encode()
    assert engine_log.first_fault(log) == (found or "EngineDeadError: later")
