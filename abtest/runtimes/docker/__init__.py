"""The docker runtime: a fresh container per trial. Nothing else of abtest talks to a container engine."""

from abtest.runtimes.docker.runtime import DockerRuntime

__all__ = ["DockerRuntime"]
