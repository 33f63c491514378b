"""What a runtime is asked for, and what it answers: surveys, sandboxes, exits."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from abtest.model.trial import ContainerFacts

ImageKind = Literal["host", "build", "ref"]


@dataclass(frozen=True, slots=True)
class ContainerOptions:
    """The `container` section of an experiment, frozen.

    Args:
        shm_size_bytes: size of /dev/shm.
        volumes: "source:target[:ro]" as given.
    """

    network: str = "none"
    ipc: str = "private"
    shm_size_bytes: int = 1 << 30
    user: str | None = None
    gpus: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    group_add: tuple[str, ...] = ()
    cap_add: tuple[str, ...] = ()
    security_opt: tuple[str, ...] = ()
    ulimits: Mapping[str, int] = field(default_factory=dict)
    volumes: tuple[str, ...] = ()
    entrypoint: tuple[str, ...] | None = None
    cpuset_cpus: str | None = None
    cpuset_mems: str | None = None


@dataclass(frozen=True, slots=True)
class ImageRequest:
    """Which image, and what is to be found in it.

    Args:
        kind: "host", or an image that is built or referred to.
        name: the reference, or the absolute build folder; empty for "host".
        python: interpreter inside the image; None means found.
        pythonpath: absolute host folders that the engine is imported from (host image, process).
        targets: target files as the experiment names them.
        options: what the trials' containers get; the survey's gets the same.
        env: variables that the experiment sets for all arms.
        recipe: program of the experiment that makes an image which is referred to, absolute; empty if it has none.
    """

    kind: ImageKind
    name: str
    python: str | None
    pythonpath: tuple[str, ...]
    targets: tuple[str, ...]
    options: ContainerOptions = field(default_factory=ContainerOptions)
    env: Mapping[str, str] = field(default_factory=dict)
    recipe: str = ""


@dataclass(frozen=True, slots=True)
class TargetFacts:
    """One target as the image has it.

    Args:
        path: absolute path inside the image.
        package_root: absolute path of the top-level package (or of the file itself, for a single module).
        content: the image's own bytes.
        copies: other files on the import path that bear the target's name.
        real_path: the path with all links resolved, where the file itself is.
    """

    target: str
    path: str
    package_root: str
    content: bytes
    md5: str
    sha256: str
    copies: tuple[str, ...] = ()
    real_path: str = ""


@dataclass(frozen=True, slots=True)
class ImageFacts:
    """A surveyed image: everything that all trials of a run must share.

    Args:
        fingerprint: named sha256 or version strings (python, distributions, package, os_release).
    """

    kind: ImageKind
    image_id: str
    image_digest: str | None
    python: str
    targets: tuple[TargetFacts, ...]
    fingerprint: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Swap:
    """One staged file that takes the place of a target.

    Args:
        path: absolute path inside the image.
        staged: absolute path of the staged file on the host, named by its content hash.
        origin: one phrase on where the bytes are from.
        real_path: the path with all links resolved, as the image has it.
    """

    target: str
    path: str
    package_root: str
    staged: str
    md5: str
    sha256: str
    origin: str = ""
    real_path: str = ""


@dataclass(frozen=True, slots=True)
class SandboxRequest:
    """One trial as a runtime sees it.

    Args:
        out_dir: absolute host folder, existing and empty, that the probe writes to.
        probe: the probe's request, JSON-ready, without the paths that only the runtime knows.
        env: variables that the experiment and the arm set.
        secrets: variables handed through by name; never recorded.
        cache: digest of all that a kept cache depends on, but for the device; None for a fresh home and temporary
            folder.
    """

    run: str
    trial: str
    arm: str
    out_dir: str
    image: ImageFacts
    pythonpath: tuple[str, ...]
    swaps: tuple[Swap, ...]
    probe: Mapping[str, object]
    env: Mapping[str, str]
    secrets: Mapping[str, str]
    options: ContainerOptions
    cache: str | None = None


@dataclass(frozen=True, slots=True)
class Exit:
    """How a sandbox ended.

    Args:
        oom_killed: True, False, or None where the runtime cannot know.
        cause: what the runtime saw happen to itself meanwhile, as "name: sentence"; None if nothing.
    """

    code: int
    oom_killed: bool | None = None
    cause: str | None = None


@dataclass(frozen=True, slots=True)
class SandboxState:
    """What a running sandbox shows: its latest phase mark, the number of marks, and its exit."""

    phase: str | None
    marks: int
    exit: Exit | None


@dataclass(frozen=True, slots=True)
class Collected:
    """What came out of a sandbox.

    Args:
        report: the probe's own JSON, None where it wrote none.
        log_tail: the last lines of everything that was printed in the sandbox.
        target_paths: where each target must have been loaded from, as seen inside the sandbox.
        files: sidecar files below the trial's folder, with their sha256.
        flags: findings of the runtime's own, for the record.
        caches: the kept cache: its key, and its fingerprint before and after; empty where none was kept.
    """

    report: Mapping[str, object] | None
    log_tail: str
    container: ContainerFacts | None
    target_paths: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    caches: Mapping[str, str] = field(default_factory=dict)
