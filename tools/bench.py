"""Overheads, printed side by side from one run: what a trial costs over the bare thing it stands on.

Absolute times on a shared machine mean little; the ratios of medians are what to quote.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

from abtest.errors import InfrastructureError
from abtest.ledger import lock
from abtest.model.sandbox import ContainerOptions, ImageFacts, ImageRequest, SandboxRequest
from abtest.ports import Runtime
from abtest.probe.recorder import Recorder
from abtest.runtimes import choose
from abtest.runtimes.docker import copy_in, host_image
from abtest.runtimes.docker.engine import Engine, connect
from abtest.runtimes.docker.image import resolve
from abtest.telemetry.sampler import Machine
from tools.scale import bench_summary

REPEATS = 15
IMAGE_REPEATS = 7


def timed_s(call: Callable[[], object]) -> float:
    start_s = time.perf_counter()
    call()
    return time.perf_counter() - start_s


def side_by_side(name: str, ours: Callable[[], object], bare: Callable[[], object]) -> None:
    """Time both in turn, A B B A, and print the ratio of medians."""
    ours(), bare()  # warm both
    times: dict[str, list[float]] = {"ours": [], "bare": []}
    for number in range(REPEATS):
        order = (("ours", ours), ("bare", bare))
        for label, call in order if number % 2 else reversed(order):
            times[label].append(timed_s(call))
    mine, other = (statistics.median(times[label]) for label in ("ours", "bare"))
    print(
        f"{name:<58} {mine * 1000:8.1f} ms  {other * 1000:8.1f} ms  {mine / other:5.2f}x  +{(mine - other) * 1000:.1f} ms"
    )


def empty_trial(runtime: Runtime, image: ImageFacts, folder: Path) -> Callable[[], None]:
    """Make a trial whose probe does nothing but answer: everything else is overhead."""
    count = iter(range(10_000))

    def run() -> None:
        trial = f"bench-{next(count)}"
        out = folder / trial
        out.mkdir()
        body = {"schema": 1, "mode": "survey", "targets": [], "nonce": None, "die_with_stdin": True}
        request = SandboxRequest(
            folder.name, trial, "", str(out), image, (), (), body, {}, {}, ContainerOptions()
        )
        with runtime.open(request) as sandbox:
            sandbox.start()
            while sandbox.poll().exit is None:
                time.sleep(0.005)
        if not (out / "survey.json").is_file():
            raise SystemExit(f"{trial} gave no answer")

    return run


def bare_docker(image_id: str) -> Callable[[], object]:
    """`docker run` of the same image with the same folders, and nothing of ours."""
    binds = host_image.binds(None, ())
    mounts = [part for path in binds for part in ("-v", f"{path}:{path}:ro")]
    command = [
        "docker",
        "run",
        "--rm",
        "--network",
        "none",
        *mounts,
        image_id,
        sys.executable,
        "-c",
        "pass",
    ]
    return lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def bench_runtime(kind: str, folder: Path) -> None:
    (folder / ".work").mkdir(parents=True)
    with choose(
        "docker" if kind == "docker" else "process", run_folder=folder, is_free=lock.is_free
    ) as (runtime, _):
        image = runtime.survey(ImageRequest("host", "", None, (), ()))
        trial = empty_trial(runtime, image, folder)
        if kind == "docker":
            side_by_side(
                "docker: trial without an engine / bare docker run",
                trial,
                bare_docker(image.image_id),
            )
        else:
            bare = [sys.executable, "-c", "pass"]
            side_by_side(
                "process: trial without an engine / bare process",
                trial,
                lambda: subprocess.run(bare, check=True),
            )


def bench_image(name: str) -> None:
    """Print what each step of a trial on a large image costs, medians of a few containers made in turn."""
    with connect() as engine:
        image = resolve(engine, ImageRequest("ref", name, None, (), ()))
        parts: dict[str, list[float]] = {}
        for _ in range(IMAGE_REPEATS):
            _one_container(engine, image.id, parts)
        size_gb = engine.client.api.inspect_image(image.id)["Size"] / 1e9
    print(f"image {name}, {size_gb:.2f} GB, medians of {IMAGE_REPEATS}:")
    for part, times_s in parts.items():
        print(f"  {part:<56} {statistics.median(times_s) * 1000:8.1f} ms")


def _one_container(engine: Engine, image_id: str, parts: dict[str, list[float]]) -> None:
    """Go through the steps by which a file is swapped, with a file that every Linux image has."""

    def step(part: str, call: Callable[[], object]) -> None:
        parts.setdefault(part, []).append(timed_s(call))

    made: list[Any] = []
    arguments = {
        "image": image_id,
        "entrypoint": ["/bin/true"],
        "command": [],
        "network_mode": "none",
    }
    step("create", lambda: made.append(engine.client.containers.create(**arguments)))
    container = made[0]
    try:
        like = copy_in.Original(0o644, 0, 0)
        data = copy_in.archive([("/etc/passwd", b"root:x:0:0::/:/bin/sh\n", like)], time.time())
        upper = (container.attrs["GraphDriver"]["Data"] or {}).get("UpperDir")
        step("put the file", lambda: container.put_archive("/", data))
        step(
            "what changed, from the container's own layer",
            lambda: copy_in.changes(container, upper),
        )
        step("what changed, asked of the engine", lambda: copy_in.changes(container, None))
        step("start", container.start)
        step("wait for its end", container.wait)
    finally:
        step("remove", lambda: container.remove(force=True))


def bench_recorder() -> None:
    """Print what a watched call costs over a plain one; the wrapper stays while pairs are timed, switched off."""
    recorder = Recorder(["head_size", "use_splitkv"])
    assert isinstance(_decision, FunctionType)
    wrapped = recorder.wrap(_decision)
    recorder.on = False
    side_by_side("10 000 calls, recorder off / no recorder", _calls(wrapped), _calls(_decision))
    recorder.on = True
    side_by_side("10 000 calls, recorder on / no recorder", _calls(wrapped), _calls(_decision))


def _decision(head_size: int, depth: int) -> bool:
    use_splitkv = depth > head_size
    return use_splitkv  # noqa: RET504 - the local is what is recorded


def _calls(function: Callable[[int, int], object]) -> Callable[[], None]:
    def run() -> None:
        for depth in range(10_000):
            function(256, depth)

    return run


def bench_sampler(period_s: float = 0.2, seconds: float = 6.0) -> None:
    """Print what watching the machine costs: processor time of the sampling thread, not wall time."""
    with Machine(period_s).watch() as watch:
        time.sleep(seconds)
    series = watch.series()
    cost_s = series.cpu_s or 0.0
    print(
        f"telemetry: {len(series.rows)} samples of {len(series.channels)} channels, every {period_s:g} s: "
        f"{1000 * cost_s / len(series.rows):.2f} ms of processor time each, {100 * cost_s / seconds:.2f} % of one core"
    )


def main() -> None:
    bench_summary()
    print(
        f"{'medians of ' + str(REPEATS) + ', taken in turn':<58} {'ours':>11}  {'bare':>11}  ratio"
    )
    with tempfile.TemporaryDirectory() as folder:
        try:
            bench_runtime("docker", Path(folder) / "docker")
        except InfrastructureError as error:
            print(f"docker: not measured: {error.what}")
        bench_runtime("process", Path(folder) / "process")
        if len(sys.argv) > 1:
            bench_image(sys.argv[1])
        else:
            print("large image: not measured: name one that is here, make bench IMAGE=..")
        bench_recorder()
        bench_sampler()
        command = [sys.executable, "-m", "abtest", "--help"]
        bare = [sys.executable, "-c", "pass"]
        side_by_side(
            "abtest --help / bare interpreter",
            lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL),
            lambda: subprocess.run(bare, check=True),
        )


if __name__ == "__main__":
    main()
