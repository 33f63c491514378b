"""The host by procfs and sysfs, and whose processes are whose."""

from pathlib import Path

from abtest.telemetry.host import Host, busy_s, cpuinfo, keyed, pressure_pct
from abtest.telemetry.processes import TICKS_PER_S, Owner, parse_stat
from tests.telemetry.conftest import stat_line, write_tree


def stat(busy_ticks: int) -> str:
    return f"cpu  {busy_ticks} 0 0 900 50 0 0 0 0 0\ncpu0 {busy_ticks} 0 0 900 50 0 0 0 0 0\n"


def machine(root: Path, *, busy: int, own: int, other: int) -> tuple[Path, Path]:
    proc = write_tree(
        root / "proc",
        {
            "stat": stat(busy),
            "meminfo": "MemTotal: 2097152 kB\nMemAvailable:    1048576 kB\n",
            "vmstat": "pswpin 3\npswpout 4\n",
            "pressure/cpu": "some avg10=12.50 avg60=0.00 avg300=0.00 total=1\n",
            "cpuinfo": "model name : Fast\nmicrocode : 0x2b\ncpu MHz : 2100.5\n",
            "10/stat": stat_line(10, 1, ticks=own, name="a (b) c"),
            "11/stat": stat_line(11, 10),
            "99/stat": stat_line(99, 1, ticks=other),
        },
    )
    return proc, write_tree(
        root / "sys", {"devices/system/cpu/cpu0/cpufreq/scaling_cur_freq": "1800000\n"}
    )


def test_load_of_others_is_what_own_processes_did_not_use(tmp_path: Path) -> None:
    proc, sys = machine(tmp_path, busy=0, own=0, other=0)
    host = Host(Owner(proc, pid=10), proc, sys)
    assert host.slow_sample(50.0)["cpu.other_cores"] is None  # one look tells no load
    machine(tmp_path, busy=3 * TICKS_PER_S, own=2 * TICKS_PER_S, other=TICKS_PER_S)
    sample = host.slow_sample(51.0)
    assert sample["cpu.busy_cores"] == 3
    assert sample["cpu.other_cores"] == 1
    assert sample["cpu0.mhz"] == sample["cpu.mhz_min"] == 1800


def test_counters_are_read_and_what_a_host_lacks_is_none(tmp_path: Path) -> None:
    proc, sys = machine(tmp_path, busy=0, own=0, other=0)
    sample = Host(Owner(proc, pid=10), proc, sys).sample()
    assert sample["mem.free_bytes"] == 1 << 30
    assert sample["mem.swapped_pages"] == 7
    assert sample["psi.cpu_pct"] == 12.5
    assert sample["psi.io_pct"] is None
    empty = Host(Owner(tmp_path, pid=10), tmp_path, tmp_path)
    assert set(empty.sample().values()) == {None}
    assert set(empty.slow_sample(1.0).values()) == {None}


def test_a_container_probe_born_after_the_start_is_ours_and_an_older_one_is_not(
    tmp_path: Path,
) -> None:
    write_tree(
        tmp_path,
        {
            "10/stat": stat_line(10, 1, born=5),
            "20/stat": stat_line(20, 1, born=50),
            "20/cmdline": "python\0-m\0abtest.probe\0",
        },
    )
    owner = Owner(tmp_path, pid=10)
    owner.trial_begins()
    write_tree(
        tmp_path,
        {
            "30/stat": stat_line(30, 1, born=60),
            "30/cmdline": "python\0-m\0abtest.probe\0",
            "31/stat": stat_line(31, 30, born=61),
            "31/cmdline": "worker\0",
            "40/stat": stat_line(40, 1, born=62),
            "40/cmdline": "somebody else\0",
        },
    )
    owner.look()
    assert owner.is_ours(30)
    assert owner.is_ours(31)
    assert owner.is_ours(20) is False
    assert owner.is_ours(40) is False
    assert owner.is_ours(77) is None  # a process that cannot be seen is not cleared


def test_odd_lines_are_no_numbers() -> None:
    assert parse_stat(stat_line(7, 3, ticks=TICKS_PER_S, name=") S 9 (")).parent == 3
    assert busy_s("intr 5\n") is None
    assert pressure_pct("full avg10=1.0") is None
    assert keyed("a 1\nb: 2 kB\nc x\n\n") == {"a": 1, "b": 2}
    assert cpuinfo("") == ({}, [])


def test_machines_are_told_apart_by_a_hash_of_their_name_or_else_of_their_boot(
    tmp_path: Path,
) -> None:
    proc, sys = machine(tmp_path, busy=0, own=0, other=0)

    def hashed(boot: str, name: str = "") -> str | None:
        write_tree(proc, {"sys/kernel/random/boot_id": f"{boot}\n"})
        write_tree(tmp_path, {"machine-id": f"{name}\n"})
        host = Host(Owner(proc, pid=10), proc, sys, names=[tmp_path / "machine-id"])
        return host.facts().get("host_hash")

    nameless = hashed("boot-one")
    assert nameless == hashed("boot-one")
    assert nameless != hashed("boot-two")
    assert "boot" not in str(nameless)
    named = hashed("boot-one", "a")
    assert named == hashed("boot-two", "a")  # the same machine after a restart
    assert named not in {nameless, hashed("boot-one", "b")}


def test_facts_describe_the_machine_and_do_not_name_it(tmp_path: Path) -> None:
    proc, sys = machine(tmp_path, busy=0, own=0, other=0)
    write_tree(sys, {"devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n"})
    facts = Host(Owner(proc, pid=10), proc, sys).facts()
    assert facts["cpu"] == "Fast"
    assert facts["cpu.microcode"] == "0x2b"
    assert facts["cpu.governor"] == "powersave"
    assert facts["memory_gib"] == "2.0"
    assert "firmware" not in facts
