"""Installs the import hook in every Python process of the sandbox, then lets the image's own file have its turn."""

from __future__ import annotations

import os
import sys

FAILURE: str | None = None  # why the hook is not in place; the worker's own report says it


def _install() -> str | None:
    path = os.environ.get("ABTEST_REQUEST")
    if not path:
        return None
    try:
        from abtest.probe import hook, request

        asked = request.read(path)
        if asked.mode == "trial":
            hook.install(asked.targets, asked.routes)
    except Exception as error:  # noqa: BLE001 - whatever it is, this process must start and tell it
        return f"{type(error).__name__}: {error}"
    return None


def _chain() -> None:
    """Run the next `sitecustomize` on the path: ours must not hide the image's."""
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    here = os.path.dirname(os.path.abspath(__file__))
    folders = [os.path.abspath(folder or ".") for folder in sys.path]
    if here not in folders:
        return
    spec = PathFinder.find_spec("sitecustomize", folders[folders.index(here) + 1 :])
    if spec is None or spec.loader is None:
        return
    try:
        spec.loader.exec_module(module_from_spec(spec))
    except Exception as error:  # noqa: BLE001 - as `site` does: say it and go on
        print(f"sitecustomize {spec.origin}: {type(error).__name__}: {error}", file=sys.stderr)


if __name__ == "sitecustomize":  # not when a test or a tool imports this file for its own sake
    FAILURE = _install()
    _chain()
