"""One container for one trial."""

import contextlib
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from docker.errors import APIError, NotFound

from abtest.errors import InfrastructureError, UnprovedError
from abtest.model.sandbox import Collected, Exit, SandboxRequest, SandboxState
from abtest.model.trial import ContainerFacts
from abtest.runtimes.caches import Kept
from abtest.runtimes.docker import copy_in
from abtest.runtimes.docker.copy_in import Original
from abtest.runtimes.docker.create import TMPFS, Plan, arguments
from abtest.runtimes.docker.engine import TROUBLES, Engine, patiently, told
from abtest.runtimes.docker.volumes import Bind
from abtest.runtimes.outbox import Outbox

GONE = "the container vanished while it ran: the engine was restarted, or somebody removed it"
RESTARTED = "engine-restarted: the container engine did not answer for a while, and the trial ended meanwhile"
KILLED = (
    137,
    143,
)  # 128 + SIGKILL, 128 + SIGTERM: what an engine that stops does to its containers


class DockerSandbox:
    """A created container; `remove` is called on every exit."""

    def __init__(
        self,
        engine: Engine,
        plan: Plan,
        request: SandboxRequest,
        originals: dict[tuple[str, str], Original],
        kept: Kept | None = None,
    ) -> None:
        """Create the container, copy in what is to be copied, prove that nothing else differs.

        Args:
            originals: owners and modes by image and path, kept from trial to trial.
            kept: the arm's kept cache, which the plan mounts; None where caches are cold.

        Raises:
            UnprovedError: the container is not what was planned.
            InfrastructureError: the engine did not create it.
        """
        self._engine = engine
        self._kept = kept
        self._plan = plan
        self._request = request
        self.outbox = Outbox(Path(request.out_dir))
        self._stdin: Any = None
        self._was_silent = False
        self._container = engine.create(arguments(plan))
        try:
            with _present("inspect a container"):
                found = patiently(
                    "inspect a container",
                    lambda: engine.client.api.inspect_container(self._container.id),
                )
            self._image_id = str(found["Image"])
            check_image(plan.image, self._image_id)
            check_mounts(plan.binds, found, plan.volumes)
            if plan.copied:
                with told("copy files into a container"):
                    self._copy_in(found, originals)
        except BaseException:
            self.remove()
            raise

    def _copy_in(
        self, found: Mapping[str, Any], originals: dict[tuple[str, str], Original]
    ) -> None:
        swaps = self._plan.copied
        for swap in swaps:
            key = (self._image_id, swap.real_path)
            if key not in originals:
                originals[key] = copy_in.original(self._container, swap.real_path)
        like = {swap.real_path: originals[self._image_id, swap.real_path] for swap in swaps}
        copy_in.put(self._container, swaps, like)
        upper = ((found.get("GraphDriver") or {}).get("Data") or {}).get("UpperDir")
        places = (*(bind.target for bind in self._plan.binds), *self._plan.volumes, *TMPFS)
        copy_in.check_changes(copy_in.changes(self._container, upper), swaps, places)

    def start(self) -> None:
        """Attach to stdin first: its end, when we are gone in whatever way, ends the probe."""
        with _present("start a container"):
            try:
                self._stdin = self._container.attach_socket(params={"stdin": 1, "stream": 1})
                self._container.start()
            except APIError as error:
                if _is_gone(error):
                    raise  # told as such below
                raise InfrastructureError(
                    f"the container does not start: {error.explanation}",
                    remedy="Check engine.python and the container's options.",
                ) from error

    def poll(self) -> SandboxState:
        phase, marks = self.outbox.progress()
        with _present("inspect a container"):
            found = patiently(
                "inspect a container",
                lambda: self._engine.client.api.inspect_container(self._container.id),
                on_silence=self._note_silence,
            )
        ended = exit_of(found["State"])
        if ended is None or ended.code == 0:
            return SandboxState(phase, marks, ended)
        if self._was_silent or (ended.code in KILLED and self._engine.goes_away()):
            ended = replace(ended, cause=RESTARTED)
        elif ended.oom_killed is False and not self._engine.sees_every_oom():
            ended = replace(ended, oom_killed=None)
        return SandboxState(phase, marks, self.outbox.explained(ended))

    def _note_silence(self) -> None:
        self._was_silent = True

    def collect(self) -> Collected:
        log = self.outbox.log_tail()
        if not log:  # it may have ended before the probe took over the output
            with contextlib.suppress(*TROUBLES):
                log = self._container.logs(tail=20).decode("utf-8", errors="replace")
        container = ContainerFacts(
            id=str(self._container.id),
            image_id=self._image_id,
            image_digest=self._request.image.image_digest,
            mounts_sha256=mounts_sha256(self._plan.binds, self._request.out_dir),
        )
        paths = {swap.target: swap.path for swap in self._request.swaps}
        return Collected(
            self.outbox.report("trial.json"),
            log,
            container,
            paths,
            self.outbox.files(),
            ("image-moved",) if self._plan.moved else (),
            {} if self._kept is None else self._kept.facts(),
        )

    def remove(self) -> None:
        """Remove the container by force, whatever it does."""
        stdin, self._stdin = self._stdin, None
        if stdin is not None:
            with contextlib.suppress(
                OSError
            ):  # the stream and the socket below it: either keeps it open
                below = stdin._sock  # noqa: SLF001 - the SDK offers no way to close what it attached
                stdin.close()
                below.close()
        self._engine.remove(self._container)


@contextlib.contextmanager
def _present(what: str) -> Iterator[None]:
    """Tell a container that somebody removed from other troubles of the engine."""
    try:
        with told(what):
            yield
    except InfrastructureError as error:
        if _is_gone(error.__cause__):
            raise InfrastructureError(
                GONE, remedy="Look after the engine, then use --resume."
            ) from error
        raise


def _is_gone(error: BaseException | None) -> bool:
    """Tell that there is no such container; an engine says "not found" of a program in it as well."""
    return isinstance(error, NotFound) and "no such container" in str(error).lower()


def exit_of(state: Mapping[str, Any]) -> Exit | None:
    """Read the engine's word on a container's end; None while it runs.

    Out of memory is said only where the engine says it; a kill without a cause stays unknown.
    """
    if state.get("Status") not in ("exited", "dead"):
        return None
    oom = state.get("OOMKilled")
    return Exit(int(state.get("ExitCode", -1)), oom if isinstance(oom, bool) else None)


def check_image(planned: str, found: str) -> None:
    """Prove that a container was made from the image that was resolved.

    Raises:
        UnprovedError: it is another one.
    """
    if found != planned:
        raise UnprovedError(
            f"the container was made from image {found}, not {planned}",
            remedy="Look at the engine's log.",
        )


def check_mounts(
    planned: tuple[Bind, ...], found: Mapping[str, Any], volumes: tuple[str, ...] = ()
) -> None:
    """Prove that the engine made exactly the planned mounts.

    Args:
        volumes: places where the image itself has the engine make an empty volume.

    Raises:
        UnprovedError: a mount is missing, or there is one more, or one is writable that must not be.
    """
    wanted = {(bind.source, bind.target, not bind.read_only) for bind in planned}
    seen = {
        (str(mount.get("Source")), str(mount.get("Destination")), bool(mount.get("RW")))
        for mount in found.get("Mounts", ())
        if not (mount.get("Type") == "volume" and mount.get("Destination") in volumes)
    }
    different = sorted(wanted ^ seen)
    if different:
        source, target, writable = different[0]
        kind = "missing" if different[0] in wanted else "not planned"
        raise UnprovedError(
            f"a mount of the container is {kind}: {source} at {target}{' (writable)' if writable else ''}",
            remedy="Look at the engine's own settings (default volumes, plugins).",
        )


def mounts_sha256(binds: tuple[Bind, ...], out_dir: str) -> str:
    """Hash what is mounted where; the trial's own folder counts as itself, not by its name."""
    rows = sorted(
        (bind.source.replace(out_dir, "<out>"), bind.target, bind.read_only)
        for bind in binds
        if bind.target != "/abtest/request.json"
    )
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()
