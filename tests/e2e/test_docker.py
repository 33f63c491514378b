"""What only a container can be asked for: isolation seen from inside, and an engine that serves other files."""

from pathlib import Path
from typing import Any

import pytest

from abtest.errors import InfrastructureError
from abtest.model.sandbox import ContainerOptions, ImageFacts, ImageRequest, SandboxRequest
from abtest.runtimes.docker import DockerRuntime, create
from abtest.runtimes.docker import sandbox as sandbox_of
from abtest.runtimes.docker.image import Resolved
from abtest.runtimes.docker.sandbox import DockerSandbox

pytestmark = pytest.mark.docker


class ElsewhereRuntime(DockerRuntime):
    """Shows the container another nonce than the one on this machine, as a remote engine would."""

    def _survey_sandbox(
        self, request: ImageRequest, image: Resolved | None, folder: Path, out: Path
    ) -> DockerSandbox:
        (folder / "nonce").write_text("another machine's")
        return super()._survey_sandbox(request, image, folder, out)


def test_an_engine_that_serves_other_files_is_refused_with_a_way_out(tmp_path: Path) -> None:
    (tmp_path / ".work").mkdir()
    with pytest.raises(InfrastructureError, match="does not see this machine's files") as caught:
        ElsewhereRuntime(tmp_path, tmp_path / ".work")
    assert "build" in caught.value.remedy
    assert caught.value.exit_code == 4


ASK = """
import os, pathlib, socket, sys
out = pathlib.Path("/abtest/out")
def tries(call):
    try:
        call()
        return "yes"
    except OSError as error:
        return type(error).__name__
status = pathlib.Path("/proc/self/status").read_text()
found = {
    "capabilities": [line.split()[1] for line in status.splitlines() if line.startswith("CapEff")][0],
    "no_new_privileges": [line.split()[1] for line in status.splitlines() if line.startswith("NoNewPrivs")][0],
    "network": tries(lambda: socket.create_connection(("192.0.2.1", 80), timeout=2)),
    "root": tries(lambda: pathlib.Path("/new").write_text("")),
    "usr": tries(lambda: pathlib.Path("/usr/new").write_text("")),
    "site": tries(lambda: pathlib.Path("/abtest/site/new").write_text("")),
    "home": tries(lambda: (pathlib.Path.home() / "new").write_text("")),
    "tmp": tries(lambda: pathlib.Path("/tmp/new").write_text("")),
    "pid": os.getpid(),
    "environment": sorted(os.environ),
}
(out / "trial.json").write_text(__import__("json").dumps(found))
"""


def test_a_container_has_no_network_no_capability_and_nowhere_else_to_write(tmp_path: Path) -> None:
    """The question is put in the probe's place, on the real create call."""
    (tmp_path / ".work").mkdir()
    out = tmp_path / "out"
    out.mkdir()
    with DockerRuntime(tmp_path, tmp_path / ".work") as runtime:
        image: ImageFacts = runtime.survey(ImageRequest("host", "", None, (), ()))
        program = tmp_path / ".work" / "site" / "abtest" / "probe" / "__main__.py"
        program.write_text(ASK)
        request = SandboxRequest(
            "run",
            "trial",
            "arm",
            str(out),
            image,
            (),
            (),
            {},
            {"ARM": "1"},
            {"TOKEN": "x"},
            ContainerOptions(),
        )
        with runtime.open(request) as sandbox:
            sandbox.start()
            while sandbox.poll().exit is None:
                pass
            found: Any = sandbox.collect().report
    assert found["capabilities"].strip("0") == ""
    assert found["no_new_privileges"] == "1"
    assert found["network"] == "OSError"
    assert [found[place] for place in ("root", "usr", "site")] == ["OSError"] * 3
    assert [found[place] for place in ("home", "tmp")] == ["yes"] * 2
    assert found["pid"] == 1
    assert {"ARM", "TOKEN"} < set(found["environment"])
    assert not {"PIP_CERT", "SSH_AUTH_SOCK"} & set(found["environment"]), (
        "nothing of the caller's comes in"
    )
    assert not (Path("/usr") / "new").exists()


@pytest.mark.parametrize("lab", ["docker"], indirect=True)
def test_f8_an_engine_that_runs_out_of_memory_is_told_from_one_that_was_killed(
    lab: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No experiment can set a limit; here the create call gets one, and the engine takes more while it starts."""

    def limited(plan: create.Plan) -> dict[str, Any]:
        return {**create.arguments(plan), "mem_limit": "200m", "memswap_limit": "200m"}

    monkeypatch.setattr(sandbox_of, "arguments", limited)
    take = "            held = []\n            while True:\n                held.append(b'x' * 2**24)\n"
    lab.plant("engine.py", "            self._spawn()\n", take)
    assert lab.run() == 4
    (trial,) = lab.trials()
    assert trial["status"] == "failed"
    assert "out-of-memory" in trial["reason"]
