"""The experiment file: YAML is parsed once, then frozen. Errors name file, line, key path and remedy."""

from abtest.spec.arms import Arm, Git, Image, Source
from abtest.spec.checks import resolve
from abtest.spec.document import Engine, Experiment, Limits
from abtest.spec.load import load, parse, restrict
from abtest.spec.routes import Routes

__all__ = [
    "Arm",
    "Engine",
    "Experiment",
    "Git",
    "Image",
    "Limits",
    "Routes",
    "Source",
    "load",
    "parse",
    "resolve",
    "restrict",
]
