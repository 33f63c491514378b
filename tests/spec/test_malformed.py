"""Malformed experiment files: each is refused with exit 2, file, line, key path, what is accepted, a remedy."""

from pathlib import Path

import pytest

from abtest.cli.main import main

GOOD = """\
schema: 1
name: demo
image: host
runtime: auto
target: pkg/ops/kernel.py
baseline: stock
arms:
  stock: {}
  fast:
    file: fast.py
engine:
  kind: reference
  tensor_parallel: 2
  pythonpath: [.]
depths: [512, 2048]
batches: [1]
tokens: [8, 64]
pairs: 3
rounds: 4
routes:
  at: pkg.ops.kernel:decode
  record: [use_splitkv]
  expect:
    stock: {use_splitkv: false}
container:
  shm_size: 1g
limits:
  retries: 1
"""

CASES = [
    # (name, old, new, line, key path, words that the message must hold)
    ("unknown top key", "pairs: 3", "pears: 3", 18, "pears", "unknown key|pairs"),
    ("unknown arm key", "file: fast.py", "fiel: fast.py", 10, "arms.fast.fiel", "unknown key|replace"),
    ("unknown engine key", "kind: reference", "kind: reference\n  speed: 9", 13, "engine.speed", "tensor_parallel"),
    ("unknown container key", "shm_size: 1g", "shmsize: 1g", 26, "container.shmsize", "shm_size"),
    ("unknown limit", "retries: 1", "retry: 1", 28, "limits.retry", "retries"),
    ("unknown route key", "at: pkg", "where: pkg", 21, "routes.where", "unknown key|record"),
    ("schema missing", "schema: 1\n", "", 1, "schema", "missing"),
    ("schema of the future", "schema: 1", "schema: 2", 1, "schema", "2 is not accepted|1"),
    ("schema as text", "schema: 1", 'schema: "1"', 1, "schema", "not accepted"),
    ("name missing", "name: demo\n", "", 1, "name", "missing"),
    ("name with a space", "name: demo", "name: de mo", 2, "name", "not a name|a-z"),
    ("name with a slash", "name: demo", "name: ../demo", 2, "name", "not a name"),
    ("name a number", "name: demo", "name: 7", 2, "name", "text"),
    ("name too long", "name: demo", f"name: {'d' * 33}", 2, "name", "32"),
    ("name with an escape", "name: demo", 'name: "a\\e[31m"', 2, "name", "not a name"),
    ("image a number", "image: host", "image: 5", 3, "image", "host"),
    ("image an unknown word", "image: host", "image: hots", 3, "image", "host"),
    ("image with two kinds", "image: host", "image: {build: a, ref: b}", 3, "image", "build"),
    ("image with an unknown kind", "image: host", "image: {tag: a}", 3, "image.tag", "build"),
    ("runtime unknown", "runtime: auto", "runtime: podman", 4, "runtime", "auto|docker|process"),
    ("target missing", "target: pkg/ops/kernel.py\n", "", 1, "target", "missing"),
    ("target leaves the package", "pkg/ops/kernel.py", "../kernel.py", 5, "target", "neither a Python file"),
    ("target no source", "pkg/ops/kernel.py", "pkg/ops/kernel.txt", 5, "target", "neither a Python file"),
    ("target empty", "target: pkg/ops/kernel.py", 'target: ""', 5, "target", "not accepted"),
    ("baseline missing", "baseline: stock\n", "", 1, "baseline", "missing"),
    ("baseline no arm", "baseline: stock", "baseline: other", 6, "baseline", "not an arm|stock, fast"),
    ("arms missing", "arms:\n  stock: {}\n  fast:\n    file: fast.py\n", "", 1, "arms", "missing"),
    ("arms a list", "arms:\n  stock: {}\n  fast:\n    file: fast.py", "arms: [stock, fast]", 7, "arms", "mapping"),
    ("one arm", "  fast:\n    file: fast.py\n", "", 7, "arms", "2"),
    ("arm a list", "stock: {}", "stock: []", 8, "arms.stock", "mapping"),
    ("arm null", "stock: {}", "stock:", 8, "arms.stock", "mapping"),
    ("arm name in capitals", "  stock: {}", "  Stock: {}", 8, "arms.Stock", "not a name"),
    ("arm name a boolean", "  stock: {}", "  no: {}", 8, "arms.no", "quotes"),
    ("arm name a number", "  stock: {}", "  1: {}", 8, "arms.1", "quotes"),
    ("arm twice", "  stock: {}", "  stock: {}\n  stock: {}", 9, "arms.stock", "twice|line 8"),
    ("arms equal", "    file: fast.py", "    {}", 9, "arms.fast", "differs in nothing"),
    ("arm file missing", "file: fast.py", "file: faster.py", 10, "arms.fast.file", "does not exist"),
    ("arm file a folder", "file: fast.py", "file: .", 10, "arms.fast.file", "is a folder"),
    ("patch outside", "file: fast.py", "patch: ../x.diff", 10, "arms.fast.patch", "leaves"),
    ("patch not there", "file: fast.py", "patch: x.diff", 10, "arms.fast.patch", "does not exist"),
    ("patch through a link", "file: fast.py", "patch: link/passwd", 10, "arms.fast.patch", "leaves"),
    ("file and patch", "file: fast.py", "file: fast.py\n    patch: fast.py", 9, "arms.fast", "stand together"),
    ("git without a ref", "file: fast.py", "git: {repo: .}", 10, "arms.fast.git.ref", "missing"),
    ("git option as a repository", "file: fast.py", "git: {repo: --upload-pack=x, ref: main}", 10, "arms.fast.git", "begins with '-'"),
    ("git option as a ref", "file: fast.py", 'git: {repo: ".", ref: "--output=x"}', 10, "arms.fast.git", "begins with '-'"),
    ("git option as a path", "file: fast.py", 'git: {repo: ".", ref: main, path: "-x"}', 10, "arms.fast.git", "begins with '-'"),
    ("files beside a file", "file: fast.py", "file: fast.py\n    files: [{target: a.py, file: fast.py}]", 9, "arms.fast", "together with"),
    ("files with one target twice", "file: fast.py", "files: [{target: a.py, file: fast.py}, {target: a.py}]", 9, "arms.fast", "one target"),
    ("files outside", "file: fast.py", "files: [{target: a.py, file: ../fast.py}]", 10, "arms.fast.files.0.file", "leaves"),
    ("files without a target", "file: fast.py", "files: [{file: fast.py}]", 10, "arms.fast.files.0.target", "missing"),
    ("build folder not there", "image: host", "image: {build: nowhere}", 3, "image.build", "not a folder"),
    ("build folder outside", "image: host", "image: {build: ..}", 3, "image.build", "not a folder"),
    ("build without a recipe", "image: host", "image: {build: .}", 3, "image.build", "Dockerfile"),
    ("host folders for an image", "image: host", "image: {ref: x}", 14, "engine.pythonpath", "its own engine"),
    ("an image beside the host", "file: fast.py", "image: {ref: x}", 10, "arms.fast.image", "side by side"),
    ("volume outside", "shm_size: 1g", 'volumes: ["../x:/x"]', 26, "container.volumes.0", "leaves"),
    ("device with a line feed", "shm_size: 1g", 'devices: ["/dev/x\\n"]', 26, "container.devices.0", "not accepted"),
    ("arm file outside", "file: fast.py", "file: ../fast.py", 10, "arms.fast.file", "leaves"),
    ("arm file through a link", "file: fast.py", "file: link/passwd", 10, "arms.fast.file", "leaves"),
    ("arm file a number", "file: fast.py", "file: 3", 10, "arms.fast.file", "text"),
    ("two sources", "file: fast.py", "file: fast.py\n    replace: [{old: a, new: b}]", 9, "arms.fast", "one source"),
    ("replace empty", "file: fast.py", 'replace: [{old: "", new: b}]', 10, "arms.fast.replace.0.old", "not accepted"),
    ("replace incomplete", "file: fast.py", "replace: [{old: a}]", 10, "arms.fast.replace.0.new", "missing"),
    ("md5 not hex", "file: fast.py", "file: fast.py\n    md5: xyz", 11, "arms.fast.md5", "pattern"),
    ("env a number", "file: fast.py", "file: fast.py\n    env: {A: 1}", 11, "arms.fast.env.A", "text"),
    ("env name odd", "file: fast.py", "file: fast.py\n    env: {A-B: x}", 11, "arms.fast.env.A-B", "variable"),
    ("engine missing", "engine:\n  kind: reference\n  tensor_parallel: 2\n  pythonpath: [.]\n", "", 1, "engine", "missing"),
    ("engine unknown", "kind: reference", "kind: vlmm", 12, "engine.kind", "reference"),
    ("no ranks", "tensor_parallel: 2", "tensor_parallel: 0", 13, "engine.tensor_parallel", "greater"),
    ("ranks a fraction", "tensor_parallel: 2", "tensor_parallel: 1.5", 13, "engine.tensor_parallel", "whole number"),
    ("pythonpath missing", "pythonpath: [.]", "pythonpath: [lib]", 14, "engine.pythonpath.0", "not a folder"),
    ("pythonpath outside", "pythonpath: [.]", "pythonpath: [..]", 14, "engine.pythonpath.0", "not a folder"),
    ("no depth", "depths: [512, 2048]", "depths: []", 15, "depths", "1 item"),
    ("depth text", "depths: [512, 2048]", "depths: ['512']", 15, "depths.0", "whole number"),
    ("depth zero", "depths: [512, 2048]", "depths: [0]", 15, "depths.0", "greater"),
    ("depth huge", "depths: [512, 2048]", "depths: [1000000000000]", 15, "depths.0", "less"),
    ("depth a boolean", "depths: [512, 2048]", "depths: [yes]", 15, "depths.0", "whole number"),
    ("depth twice", "depths: [512, 2048]", "depths: [512, 512]", 15, "depths", "twice"),
    ("depths a number", "depths: [512, 2048]", "depths: 512", 15, "depths", "list"),
    ("depth infinite", "depths: [512, 2048]", "depths: [.inf]", 15, "depths.0", "not accepted"),
    ("batch negative", "batches: [1]", "batches: [-1]", 16, "batches.0", "greater"),
    ("tokens fall", "tokens: [8, 64]", "tokens: [64, 8]", 17, "tokens", "rise"),
    ("tokens equal", "tokens: [8, 64]", "tokens: [8, 8]", 17, "tokens", "rise"),
    ("one token count", "tokens: [8, 64]", "tokens: [8]", 17, "tokens.1", "too short"),
    ("no pairs", "pairs: 3", "pairs: 0", 18, "pairs", "greater"),
    ("rounds odd", "rounds: 4", "rounds: 3", 19, "rounds", "odd|allow_unbalanced"),
    ("rounds negative", "rounds: 4", "rounds: -2", 19, "rounds", "greater"),
    ("rounds a date", "rounds: 4", "rounds: 2026-11-30", 19, "rounds", "whole number"),
    ("route without function", "at: pkg.ops.kernel:decode", "at: pkg.ops.kernel", 21, "routes.at", "pattern"),
    ("route record empty", "record: [use_splitkv]", "record: []", 22, "routes.record", "1 item"),
    ("route record no name", "record: [use_splitkv]", "record: ['a b']", 22, "routes.record.0", "alias=local"),
    ("expect for no arm", "stock: {use_splitkv: false}", "slow: {use_splitkv: false}", 24, "routes.expect.slow", "not an arm"),
    ("expect of no record", "{use_splitkv: false}", "{head_size: 4}", 24, "routes.expect.stock.head_size", "not recorded"),
    ("size odd", "shm_size: 1g", "shm_size: 1q", 26, "container.shm_size", "1g"),
    ("size tiny", "shm_size: 1g", "shm_size: 5", 26, "container.shm_size", "greater"),
    ("network unknown", "shm_size: 1g", "network: lan", 26, "container.network", "none"),
    ("cpuset odd", "shm_size: 1g", "cpuset_cpus: all", 26, "container.cpuset_cpus", "pattern"),
    ("retries many", "retries: 1", "retries: 99", 28, "limits.retries", "less"),
    ("limit nan", "retries: 1", "start_s: .nan", 28, "limits.start_s", "finite"),
    ("caches unknown", "pairs: 3", "pairs: 3\ncaches: hot", 19, "caches", "cold"),
    ("estimator unknown", "pairs: 3", "pairs: 3\nestimator: mean", 19, "estimator", "differential|timestamps"),
]  # fmt: skip

WHOLE = [
    ("empty file", "", 1, "not a mapping"),
    ("a list", "- a\n- b\n", 1, "not a mapping"),
    ("broken YAML", "schema: 1\nname: [demo\n", 3, "YAML"),
    ("tab for space", "schema: 1\narms:\n\tstock: {}\n", 3, "YAML"),
    ("python tag", "schema: !!python/object/apply:os.system ['echo']\n", 1, "YAML"),
    ("alias", "a: &x 1\nb: *x\n", 2, "alias"),
    ("two documents", "schema: 1\n---\nschema: 1\n", 2, "YAML"),
    ("key twice", "schema: 1\nname: a\nname: b\n", 3, "twice"),
    ("null byte", "schema: 1\nname: a\x00b\n", 1, "YAML"),
    ("too deep", "a: " + "[" * 3000 + "]" * 3000, 1, "a"),
    ("too large", "# " + "x" * (1 << 20) + "\nschema: 1\n", 1, "larger"),
]


def write(folder: Path, text: str) -> Path:
    (folder / "fast.py").write_text("fast = True\n")
    (folder / "link").symlink_to("/etc")
    path = folder / "experiment.yaml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("name", "old", "new", "line", "key", "words"), CASES, ids=[case[0] for case in CASES]
)
def test_a_wrong_key_is_refused_with_its_place_and_a_remedy(
    name: str,
    old: str,
    new: str,
    line: int,
    key: str,
    words: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert GOOD.count(old) == 1, name
    path = write(tmp_path, GOOD.replace(old, new))
    assert main(["run", str(path), "--dry-run"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert f"{path}:{line}: {key}: " in said.err
    assert "  next: " in said.err
    assert "Traceback" not in said.err
    for word in words.split("|"):
        assert word in said.err


@pytest.mark.parametrize(("name", "text", "line", "word"), WHOLE, ids=[case[0] for case in WHOLE])
def test_a_file_that_is_no_experiment_is_refused(
    name: str, text: str, line: int, word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, text)
    assert main(["run", str(path), "--dry-run"]) == 2, name
    said = capsys.readouterr()
    assert f"{path}:{line}: " in said.err
    assert word in said.err
    assert "Traceback" not in said.err


def test_the_good_file_is_good(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Else every case above would pass for another reason."""
    assert main(["run", str(write(tmp_path, GOOD)), "--dry-run"]) == 0
    assert "round 4" in capsys.readouterr().out


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00"])
def test_a_file_that_cannot_be_read_is_refused(
    content: bytes | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "experiment.yaml"
    if content is not None:
        path.write_bytes(content)
    assert main(["run", str(path), "--dry-run"]) == 2
    assert f"{path}:1: " in capsys.readouterr().err
