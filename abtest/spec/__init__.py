"""The experiment file: YAML is parsed once, then frozen. Errors name file, line, key path and remedy."""

from abtest.spec.document import (
    Arm,
    Container,
    Engine,
    Experiment,
    Image,
    Limits,
    Replacement,
    Routes,
)
from abtest.spec.load import load, parse, restrict

__all__ = [
    "Arm",
    "Container",
    "Engine",
    "Experiment",
    "Image",
    "Limits",
    "Replacement",
    "Routes",
    "load",
    "parse",
    "restrict",
]
