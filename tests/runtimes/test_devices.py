"""Containers for cards that are not here: the exact create call, and what is refused."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from abtest.errors import AbtestError
from abtest.model.sandbox import ContainerOptions, Swap
from abtest.runner.setup import container_options
from abtest.runtimes.docker.create import Plan, arguments
from abtest.runtimes.docker.devices import Node, resolved
from abtest.runtimes.docker.volumes import Bind, parse
from abtest.spec import parse as parse_experiment

GOLDEN = Path(__file__).parent.parent / "golden"
TEXT = """\
schema: 1
name: kernel
image: {{ref: "{image}"}}
target: vllm/v1/attention/ops/triton_unified_attention.py
baseline: stock
arms: {{stock: {{}}, fast: {{replace: [{{old: a, new: b}}]}}}}
engine: {{kind: reference, tensor_parallel: 2}}
depths: [1024]
container: {options}
"""
ROCM = """{devices: [/dev/kfd, /dev/dri], group_add: [video], ipc: host, shm_size: 16g, cap_add: [SYS_PTRACE],
  security_opt: [seccomp=unconfined], ulimits: {memlock: -1}, volumes: ["/models/m:/models/m"], cpuset_cpus: 0-15}"""
CUDA = """{gpus: ["0", "GPU-1a2b"], shm_size: 16g, ulimits: {memlock: -1, stack: 67108864}, ipc: host, cpuset_mems: "0"}"""
NODES = {
    "/dev/kfd": [Node(109, is_block=False)],
    "/dev/dri": [Node(44, is_block=False), Node(109, is_block=False), Node(0, is_block=False)],
    "/dev/sda": [Node(6, is_block=True)],
}


def call(options: str, image: str) -> str:
    text = TEXT.format(image=image, options=options)
    experiment = parse_experiment(text, file="experiment.yaml", folder=Path("/"))
    asked = resolved(
        container_options(experiment),
        allow_host_access=False,
        nodes=lambda path: NODES[path],
        group=lambda name: {"video": 44}[name],
    )
    swap = Swap(experiment.target, "/opt/k.py", "/opt", "/staged/k.py", "0" * 32, "0" * 64)
    volumes = tuple(
        Bind(one.split(":")[0], one.split(":")[1]) for one in asked.volumes
    )  # their sources are checked elsewhere: no such folder is here
    plan = Plan(
        run="kernel-1",
        trial="r01-1024-s1-stock",
        session="0123",
        results="/results/kernel-1",
        image="sha256:abc",
        python="/usr/bin/python3",
        user="1000:1000",
        binds=(
            Bind("/site", "/abtest/site"),
            Bind("/out", "/abtest/out", read_only=False),
            *volumes,
        ),
        pythonpath=(),
        env={},
        options=asked,
        search=None,
        copied=(swap,),
        writable=True,
    )
    return json.dumps(arguments(plan), indent=1, sort_keys=True) + "\n"


@pytest.mark.parametrize(
    ("name", "options", "image"),
    [("rocm", ROCM, "rocm/vllm:latest"), ("cuda", CUDA, "vllm/vllm-openai:latest")],
)
def test_the_create_call_for_a_card_is_the_golden_one(name: str, options: str, image: str) -> None:
    made, golden = call(options, image), GOLDEN / f"create-{name}.json"
    if os.environ.get("ABTEST_WRITE_GOLDEN") == "1":
        golden.write_text(made)
    assert made == golden.read_text()


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (ContainerOptions(cap_add=("SYS_ADMIN",)), 2, "hand over the host"),
        (ContainerOptions(cap_add=("cap_sys_module",)), 2, "hand over the host"),
        (ContainerOptions(cap_add=("ALL",)), 2, "hand over the host"),
        (ContainerOptions(devices=("/dev/sda",)), 2, "memory or disk"),
        (ContainerOptions(devices=("/dev/mem",)), 2, "memory or disk"),
        (ContainerOptions(devices=("/dev/no-such-card",)), 4, "not on this machine"),
        (ContainerOptions(group_add=("no-such-group",)), 2, "no group 'no-such-group'"),
    ],
)
def test_what_hands_over_the_host_or_is_not_here_is_refused(
    options: ContainerOptions, code: int, said: str
) -> None:
    def nodes(path: str) -> Sequence[Node]:
        from abtest.runtimes.docker.devices import nodes_on_this_machine

        if path == "/dev/mem":
            return [Node(0, is_block=False)]
        return NODES[path] if path in NODES else nodes_on_this_machine(path)

    with pytest.raises(AbtestError, match=said) as caught:
        resolved(options, allow_host_access=False, nodes=nodes)
    assert caught.value.exit_code == code


def test_host_access_is_granted_only_when_said() -> None:
    options = ContainerOptions(cap_add=("SYS_ADMIN",), devices=("/dev/sda",))
    granted = resolved(options, allow_host_access=True, nodes=lambda path: NODES[path])
    assert granted.group_add == ("6",)


def test_every_card_is_asked_for_by_a_count() -> None:
    made = json.loads(call('{gpus: ["all"]}', "x:1"))
    assert made["device_requests"][0]["Count"] == -1
    assert made["device_requests"][0]["DeviceIDs"] == []


@pytest.mark.parametrize("target", ["/abtest/out", "/abtest", "/abtest/site/x", "/tmp"])
def test_a_volume_cannot_take_a_place_of_ours(tmp_path: Path, target: str) -> None:
    with pytest.raises(AbtestError, match="taken by the sandbox"):
        parse([f"{tmp_path}:{target}"], ())
