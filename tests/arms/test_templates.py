"""The experiments that come along: each can be planned here, and asks for the containers it should."""

from pathlib import Path

import pytest

from abtest.cli.main import main
from abtest.runner.setup import container_options
from abtest.runtimes.docker.devices import Node, resolved
from abtest.spec import load

NAMES = sorted(
    path.parent.name for path in (Path(__file__).parents[2] / "arms").glob("*/experiment.yaml")
)


@pytest.mark.parametrize("name", NAMES)
def test_its_dry_run_passes_without_a_card(
    name: str, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(repository / "arms" / name), "--dry-run"]) == 0
    assert "round 4" in capsys.readouterr().out


def test_the_template_for_a_pull_request_asks_for_both_ranks_and_the_published_route(
    repository: Path,
) -> None:
    experiment, _ = load(repository / "arms" / "rocm-pr")
    assert experiment.engine.tensor_parallel == 2
    assert experiment.routes is not None
    assert dict(experiment.routes.expect["stock"]) == {"use_splitkv": "absent"}
    published = {"head_size": 256, "sliding_window": 0, "use_splitkv": True}
    assert dict(experiment.routes.expect["splitkv"]) == published
    nodes = {"/dev/kfd": [Node(109, is_block=False)], "/dev/dri": [Node(44, is_block=False)]}
    options = resolved(
        container_options(experiment), allow_host_access=False, nodes=lambda path: nodes[path]
    )
    assert options.group_add == ("109", "44")
    assert (options.ipc, options.network) == ("host", "none")


def test_every_experiment_is_named_in_the_list(repository: Path) -> None:
    text = (repository / "arms" / "README.md").read_text()
    assert [name for name in NAMES if f"[{name}]({name})" not in text] == []
