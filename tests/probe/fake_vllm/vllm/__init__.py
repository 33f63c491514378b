"""A stand-in for vLLM: the parts that the probe touches, real worker processes, one planted fault at a time."""

from vllm.llm import LLM

__version__ = "0.27.1"
__all__ = ["LLM"]
