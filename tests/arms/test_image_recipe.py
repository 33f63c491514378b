"""`make ab` has an experiment's image made by its recipe first; what the machine lacks is told with a remedy."""

import shutil
import subprocess
from pathlib import Path

import pytest

NEEDED = ("bash", "cat", "dirname", "grep", "id", "make", "mktemp", "rm", "sh", "tail")
DOCKER = '[ "$1" = image ] && exit 1\nexit 0\n'  # an engine that answers and holds no image
ROOT = "echo 0\n"


class Machine:
    """A copy of the experiment, and a PATH that holds what a test says."""

    def __init__(self, folder: Path, repository: Path) -> None:
        self.repository, self.path, self.venv = repository, folder / "path", folder / "venv"
        self.experiment, self.temporary = folder / "exp", folder / "temporary"
        shutil.copytree(repository / "arms" / "vllm-cpu", self.experiment)
        for made in (self.path, self.venv / "bin", self.temporary):
            made.mkdir(parents=True)
        (self.venv / ".installed").touch()
        self.program("abtest", 'echo "ran $*"\n', self.venv / "bin")
        for name in NEEDED:
            found = shutil.which(name)
            assert found is not None, name
            (self.path / name).symlink_to(found)

    def program(self, name: str, body: str, folder: Path | None = None) -> None:
        file = (folder or self.path) / name
        file.unlink(missing_ok=True)
        file.write_text(f"#!/bin/bash\n{body}")
        file.chmod(0o755)

    def make(self, target: str, *more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["make", target, f"EXPERIMENT={self.experiment}", f"VENV={self.venv}", *more],
            cwd=self.repository,
            env={"PATH": str(self.path), "TMPDIR": str(self.temporary)},
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def machine(tmp_path: Path, repository: Path) -> Machine:
    return Machine(tmp_path, repository)


@pytest.mark.parametrize("target", ["ab", "aa", "control"])
def test_the_recipe_runs_before_the_run(machine: Machine, target: str) -> None:
    machine.program("build.sh", "echo made\n", machine.experiment / "image")
    done = machine.make(target)
    assert (done.returncode, done.stderr) == (0, "made\n")
    assert done.stdout.startswith("ran ")


def test_an_experiment_without_a_recipe_needs_none(machine: Machine) -> None:
    shutil.rmtree(machine.experiment / "image")
    done = machine.make("ab")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"ran run {machine.experiment}\n", "")


def test_an_image_that_is_there_is_left_as_it_is(machine: Machine) -> None:
    machine.program("docker", "exit 0\n")
    done = machine.make("ab")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"ran run {machine.experiment}\n", "")


@pytest.mark.parametrize(
    ("programs", "what", "remedy"),
    [
        ({}, "there is no docker program", "apt-get install docker.io"),
        ({"docker": "exit 1\n"}, "no container engine answers", "docker version"),
        ({"docker": DOCKER, "id": "echo 1000\n"}, "this needs root, once", "sudo /"),
        (
            {
                "docker": DOCKER,
                "id": ROOT,
                "python3": "exit 0\n",
                "debootstrap": "echo no mirror; exit 1\n",
            },
            'its step "base system" failed',
            "start again",
        ),
        (
            {"docker": DOCKER, "id": ROOT, "apt-get": "echo no such package; exit 100\n"},
            'its step "install debootstrap" failed',
            "start again",
        ),
    ],
)
def test_what_cannot_be_made_ends_the_run_before_it_begins(
    machine: Machine, programs: dict[str, str], what: str, remedy: str
) -> None:
    for name, body in programs.items():
        machine.program(name, body)
    done = machine.make("ab")
    assert done.returncode == 2
    assert "image abtest-vllm-cpu:0.27.1 cannot be made: " + what in done.stderr
    assert remedy in done.stderr
    assert "Error 4" in done.stderr  # make's own 2 stands for the recipe's 4
    assert done.stdout == ""
    assert list(machine.temporary.iterdir()) == []
    assert all(said in done.stderr for said in ("no mirror", "no such package") if said in str(programs))  # fmt: skip


def test_a_torch_that_is_not_for_cpu_is_refused(machine: Machine) -> None:
    """The public index serves the build for CUDA, whose libraries would be missing."""
    machine.program("docker", DOCKER)
    machine.program("id", ROOT)
    machine.program("debootstrap", "exit 0\n")
    machine.program(
        "python3",
        'while [ "$#" -gt 0 ]; do if [ "$1" = --target ]; then /bin/mkdir -p "$2/torch"; echo "cuda = \'13.0\'" > "$2/torch/version.py"; fi; shift; done\n',
    )
    done = machine.make("image")
    assert done.returncode == 2
    assert "torch is not the build for CPU" in done.stderr
    assert "PIP_EXTRA_INDEX_URL" in done.stderr
