"""A small hybrid decoder in NumPy, made to show and to test how kernel files are compared.

Three gated-linear-attention layers, whose state does not grow with depth, stand for every full-attention
layer, whose paged KV cache does. It is no model of language: the weights are random and fixed.
"""

from refengine.config import EngineConfig
from refengine.engine import Engine, EngineError, Generation
from refengine.prompt import default_prompt

__version__ = "1.0"
__all__ = ["Engine", "EngineConfig", "EngineError", "Generation", "default_prompt"]
