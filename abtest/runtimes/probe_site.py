"""The probe site: a folder that is first on the import path of every Python process in a sandbox."""

import shutil
from pathlib import Path

import abtest
from abtest import probe


def stage(folder: Path) -> Path:
    """Copy the probe below `folder`, with its `sitecustomize` at the top; returns the site.

    It is a copy, so that an edit of the checkout cannot reach a run that has begun.
    """
    site = folder / "site"
    package = site / "abtest"
    package.mkdir(parents=True, exist_ok=True)
    source = Path(probe.__path__[0])
    shutil.copyfile(Path(str(abtest.__file__)), package / "__init__.py")
    shutil.copytree(
        source, package / "probe", dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copyfile(source / "sitecustomize.py", site / "sitecustomize.py")
    return site
