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
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

from abtest.errors import InfrastructureError, UnprovedError, UsageError
from abtest.model.sandbox import (
    ContainerOptions,
    ImageFacts,
    ImageRequest,
    SandboxRequest,
)
from abtest.runtimes import facts, probe_site, staged
from abtest.runtimes.docker import host_image, leftovers
from abtest.runtimes.docker.create import NONCE, OUT, REQUEST, SITE, Bind, Plan, volume_binds
from abtest.runtimes.docker.engine import connect
from abtest.runtimes.docker.janitor import Janitor
from abtest.runtimes.docker.sandbox import DockerSandbox
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
        self._host_image: ImageRequest | None = None
        with contextlib.ExitStack() as stack:
            self._engine = stack.enter_context(connect())
            self._site = probe_site.stage(self._work_dir)
            self._accounts = host_image.write_accounts(self._work_dir, os.getuid(), os.getgid())
            self._image_id = host_image.ensure(self._engine)
            self.engine = f"Docker {self._engine.version}"
            self._ask(ImageRequest("host", "", None, (), ()))
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        self._stack.enter_context(Janitor(self._session))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def remove_leftovers(self, is_free: Callable[[Path], bool]) -> list[str]:
        """Remove the containers of dead runs; returns their names."""
        return leftovers.remove(self._engine, is_free)

    def survey(self, request: ImageRequest) -> ImageFacts:
        if request.kind != "host":
            raise UsageError(
                f"image {{{request.kind}: {request.name}}} is not supported yet",
                remedy="Use `image: host`.",
            )
        self._host_image = request
        return facts.image_facts("host", self._image_id, None, self._ask(request))

    @contextmanager
    def open(self, request: SandboxRequest) -> Iterator[DockerSandbox]:
        staged.check(request.swaps)
        folder = self._work_dir / request.trial
        folder.mkdir()
        try:
            plan = self._plan(request, self._host_image, folder)
            sandbox = DockerSandbox(self._engine, plan, request)
            try:
                yield sandbox
            finally:
                sandbox.remove()
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _plan(self, request: SandboxRequest, image: ImageRequest | None, folder: Path) -> Plan:
        if image is None:
            raise UnprovedError("no image was surveyed", remedy="Report this as a bug.")
        body = {**request.probe, "out": OUT}
        (folder / "request.json").write_text(json.dumps(body), encoding="utf-8")
        extra = volume_binds(request.options.volumes, allow_host_access=self._allow_host_access)
        swaps = tuple(Bind(swap.staged, swap.path) for swap in request.swaps)
        return Plan(
            run=request.run,
            trial=request.trial,
            session=self._session,
            results=str(self._run_folder),
            image=self._image_id,
            python=request.image.python,
            user=f"{os.getuid()}:{os.getgid()}",
            binds=(*self._base_binds(image, Path(request.out_dir), folder), *extra, *swaps),
            pythonpath=request.pythonpath,
            env={**request.env, **request.secrets},
            options=request.options,
        )

    def _base_binds(self, image: ImageRequest, out: Path, folder: Path) -> tuple[Bind, ...]:
        return (
            *(Bind(os.path.realpath(path), path) for path in host_image.binds(image)),
            *(Bind(source, place) for place, source in self._accounts.items()),
            Bind(str(self._site), SITE),
            Bind(str(folder / "request.json"), REQUEST),
            Bind(str(out.resolve()), OUT, read_only=False),
        )

    def _ask(self, request: ImageRequest) -> dict[str, Any]:
        """Run one survey container; the nonce proves that the engine sees the same files as we do."""
        folder = self._work_dir / f"survey-{secrets.token_hex(4)}"
        out = folder / "out"
        out.mkdir(parents=True)
        try:
            nonce = secrets.token_hex(16)
            (folder / "nonce").write_text(nonce, encoding="utf-8")
            sandbox = self._survey_sandbox(request, folder, out)
            try:
                sandbox.start()
                self._wait(sandbox)
                collected = sandbox.collect()
            finally:
                sandbox.remove()
            answer = survey_answer(sandbox.outbox, collected.log_tail)
            if answer.get("nonce") != nonce:
                raise InfrastructureError(
                    _OTHER_FILES, remedy="Use an image of kind `build`, or `--runtime process`."
                )
            return answer
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _survey_sandbox(self, request: ImageRequest, folder: Path, out: Path) -> DockerSandbox:
        body = {
            "schema": 1,
            "mode": "survey",
            "targets": list(request.targets),
            "nonce": NONCE,
            "die_with_stdin": True,
        }
        (folder / "request.json").write_text(json.dumps({**body, "out": OUT}), encoding="utf-8")
        python = request.python or sys.executable
        plan = Plan(
            run=self._run_folder.name,
            trial=folder.name,
            session=self._session,
            results=str(self._run_folder),
            image=self._image_id,
            python=python,
            user=f"{os.getuid()}:{os.getgid()}",
            binds=(*self._base_binds(request, out, folder), Bind(str(folder / "nonce"), NONCE)),
            pythonpath=request.pythonpath,
            env=NO_ENV,
            options=ContainerOptions(),
        )
        empty = ImageFacts("host", self._image_id, None, python, (), {})
        trial = SandboxRequest(
            plan.run,
            plan.trial,
            str(out),
            empty,
            request.pythonpath,
            (),
            body,
            NO_ENV,
            NO_ENV,
            plan.options,
        )
        return DockerSandbox(self._engine, plan, trial)

    @staticmethod
    def _wait(sandbox: DockerSandbox) -> None:
        start_s = time.monotonic()
        while sandbox.poll().exit is None:
            if time.monotonic() - start_s > SURVEY_S:
                raise InfrastructureError(
                    f"the image's survey took over {SURVEY_S:g} s", remedy="Run `abtest doctor`."
                )
            time.sleep(0.02)


_OTHER_FILES = (
    "the container engine answers, but does not see this machine's files (Docker Desktop, or a remote host): "
    "the host image cannot be used with it"
)
