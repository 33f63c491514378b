"""The docker runtime: survey the image once, then one container per trial."""

import contextlib
import json
import os
import secrets
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Self

from abtest.errors import InfrastructureError, UnprovedError
from abtest.model.sandbox import (
    ContainerOptions,
    Exit,
    ImageFacts,
    ImageRequest,
    SandboxRequest,
)
from abtest.runtimes import caches, facts, probe_site, staged
from abtest.runtimes.docker import devices, host_image, leftovers
from abtest.runtimes.docker.copy_in import Original
from abtest.runtimes.docker.create import NONCE, OUT, REQUEST, SITE, Plan, arguments, kept_binds
from abtest.runtimes.docker.engine import connect, told
from abtest.runtimes.docker.image import Resolved, find_python, has_moved, resolve
from abtest.runtimes.docker.janitor import Janitor
from abtest.runtimes.docker.sandbox import DockerSandbox
from abtest.runtimes.docker.volumes import Bind, private_paths, refuse_hidden
from abtest.runtimes.docker.volumes import parse as parse_volumes
from abtest.runtimes.outbox import survey_answer

SURVEY_S = 120.0
NO_ENV: Mapping[str, str] = MappingProxyType({})


class DockerRuntime:
    """Fresh containers; a context manager."""

    isolation = "docker"

    def __init__(
        self, run_folder: Path, work_dir: Path, *, allow_host_access: bool = False
    ) -> None:
        """Connect to the engine and prove that it serves our paths.

        Args:
            run_folder: the run's folder; its name is the run's.
            work_dir: a private folder below it.

        Raises:
            InfrastructureError: no engine answers, or it runs on another file system than ours.
        """
        self._stack = contextlib.ExitStack()
        self._run_folder = run_folder.resolve()
        self._work_dir = work_dir.resolve()
        self._allow_host_access = allow_host_access
        self._session = secrets.token_hex(8)
        self._images: dict[str, Resolved] = {}
        self._originals: dict[tuple[str, str], Original] = {}
        with contextlib.ExitStack() as stack:
            self._engine = stack.enter_context(connect())
            stack.enter_context(Janitor(self._session))  # before the first container
            self._site = probe_site.stage(self._work_dir)
            self._accounts = host_image.write_accounts(self._work_dir, os.getuid(), os.getgid())
            with told("make the host image"):
                self._host_id = host_image.ensure(self._engine)
            self.engine = f"Docker {self._engine.version}"
            self._ask(ImageRequest("host", "", None, (), ()))
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    def remove_leftovers(self, is_free: Callable[[Path], bool]) -> list[str]:
        """Remove the containers of dead runs; returns their names."""
        return leftovers.remove(self._engine, is_free)

    def survey(self, request: ImageRequest) -> ImageFacts:
        if request.kind == "host":
            return facts.image_facts("host", self._host_id, None, self._ask(request))
        with told(f"look into image {request.name}"):
            image = resolve(self._engine, request)
            python = request.python or self._interpreter(image)
        self._images[image.id] = image
        answer = self._ask(replace(request, python=python), image)
        return facts.image_facts(request.kind, image.id, image.digest, answer)

    @contextmanager
    def open(self, request: SandboxRequest) -> Iterator[DockerSandbox]:
        staged.check(request.swaps)
        folder = self._work_dir / request.trial
        folder.mkdir()
        try:
            kept = caches.keep(self._run_folder / "caches", request.cache)
            plan = self._plan(request, folder)
            if kept is not None:
                plan = replace(plan, binds=(*plan.binds, *kept_binds(kept.folder)))
            sandbox = DockerSandbox(self._engine, plan, request, self._originals, kept)
            try:
                yield sandbox
            finally:
                sandbox.remove()
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _plan(self, request: SandboxRequest, folder: Path) -> Plan:
        image = self._images.get(request.image.image_id)
        if image is None and request.image.kind != "host":
            raise UnprovedError("no image was surveyed", remedy="Report this as a bug.")
        private = () if self._allow_host_access else private_paths()
        extra = parse_volumes(request.options.volumes, private)
        options = devices.resolved(request.options, allow_host_access=self._allow_host_access)
        request = replace(request, options=options)
        body = {**request.probe, "out": OUT}
        plan = self._bare_plan(image, request, folder, body)
        if image is None:
            swaps = tuple(Bind(swap.staged, swap.path) for swap in request.swaps)
            host = self._host_binds(request.image.python, request.pythonpath)
            return replace(plan, binds=(*host, *plan.binds, *extra, *swaps))
        for swap in request.swaps:
            refuse_hidden(swap.real_path, (*image.volumes, *(bind.target for bind in extra)))
        moved = has_moved(self._engine, image)
        return replace(plan, binds=(*plan.binds, *extra), copied=request.swaps, moved=moved)

    def _bare_plan(
        self, image: Resolved | None, request: SandboxRequest, folder: Path, body: Mapping[str, Any]
    ) -> Plan:
        """Plan what every container has: our probe, its request, a place for its answer."""
        out = Path(request.out_dir).resolve()
        user = request.options.user or f"{os.getuid()}:{os.getgid()}"
        if user.partition(":")[0] != str(os.getuid()):
            out.chmod(0o777)  # another user writes there
        path = folder / "request.json"
        path.write_text(json.dumps(body), encoding="utf-8")
        path.chmod(0o644)
        plan = Plan(
            run=self._run_folder.name,
            trial=request.trial,
            session=self._session,
            results=str(self._run_folder),
            image=self._host_id,
            python=request.image.python,
            user=user,
            binds=(
                Bind(str(self._site), SITE),
                Bind(str(path), REQUEST),
                Bind(str(out), OUT, read_only=False),
            ),
            pythonpath=request.pythonpath,
            env={**request.env, **request.secrets},
            options=request.options,
        )
        if image is None:
            return plan
        return replace(
            plan,
            image=image.id,
            pythonpath=image.pythonpath,
            search=None,
            writable=True,
            volumes=image.volumes,
        )

    def _host_binds(self, python: str | None, pythonpath: tuple[str, ...]) -> tuple[Bind, ...]:
        return (
            *(Bind(os.path.realpath(path), path) for path in host_image.binds(python, pythonpath)),
            *(Bind(source, place) for place, source in self._accounts.items()),
        )

    def _interpreter(self, image: Resolved) -> str:
        """Find an image's interpreter in a container that is made for it and never started."""
        name = f"interpreter-{secrets.token_hex(4)}"
        plan = Plan(
            run=self._run_folder.name,
            trial=name,
            session=self._session,
            results=str(self._run_folder),
            image=image.id,
            python="none",
            user="0:0",
            binds=(),
            pythonpath=(),
            env=NO_ENV,
            options=ContainerOptions(),
            search=None,
        )
        container = self._engine.create(arguments(plan))
        try:
            return find_python(image, container)
        finally:
            self._engine.remove(container)

    def _ask(self, request: ImageRequest, image: Resolved | None = None) -> dict[str, Any]:
        """Run one survey container; the nonce proves that the engine sees the same files as we do."""
        folder = self._work_dir / f"survey-{secrets.token_hex(4)}"
        out = folder / "out"
        out.mkdir(parents=True)
        try:
            nonce = secrets.token_hex(16)
            (folder / "nonce").write_text(nonce, encoding="utf-8")
            sandbox = self._survey_sandbox(request, image, folder, out)
            try:
                sandbox.start()
                ended = self._wait(sandbox)
                collected = sandbox.collect()
            finally:
                sandbox.remove()
            answer = survey_answer(sandbox.outbox, collected.log_tail, ended)
            if answer.get("nonce") != nonce:
                raise InfrastructureError(
                    _OTHER_FILES,
                    remedy="Use an engine on this machine, share the results folder with it and use an image of kind `build`, or give `--runtime process`.",
                )
            return answer
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _survey_sandbox(
        self, request: ImageRequest, image: Resolved | None, folder: Path, out: Path
    ) -> DockerSandbox:
        body = {
            "schema": 1,
            "mode": "survey",
            "out": OUT,
            "targets": list(request.targets),
            "nonce": NONCE,
            "die_with_stdin": True,
        }
        python = request.python or sys.executable
        image_id = self._host_id if image is None else image.id
        empty = ImageFacts(request.kind, image_id, None, python, (), {})
        asked = SandboxRequest(
            self._run_folder.name,
            folder.name,
            "",
            str(out),
            empty,
            request.pythonpath,
            (),
            body,
            request.env,
            NO_ENV,
            request.options,
        )
        plan = self._plan(asked, folder)
        binds = (*plan.binds, Bind(str(folder / "nonce"), NONCE))
        return DockerSandbox(self._engine, replace(plan, binds=binds), asked, self._originals)

    @staticmethod
    def _wait(sandbox: DockerSandbox) -> Exit:
        start_s = time.monotonic()
        while (ended := sandbox.poll().exit) is None:
            if time.monotonic() - start_s > SURVEY_S:
                raise InfrastructureError(
                    f"the image's survey took over {SURVEY_S:g} s", remedy="Run `abtest doctor`."
                )
            time.sleep(0.02)
        return ended


_OTHER_FILES = (
    "the container engine answers, but does not see this machine's files (Docker Desktop, or a remote host): "
    "the host image cannot be used with it"
)
