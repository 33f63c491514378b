"""AMD cards by sysfs: the starred row is the clock, the junction is the temperature, what is gone is None."""

from pathlib import Path

from abtest.telemetry.amd import AmdCards, clocks_mhz
from abtest.telemetry.processes import Owner


def cards(tree: Path) -> AmdCards:
    return AmdCards(Owner(tree / "no-proc-here", pid=1), tree)


def test_a_recorded_card_is_read_in_our_units(amd_tree: Path) -> None:
    sample = cards(amd_tree).sample()
    assert sample["gpu0.sm_mhz"] == 800
    assert sample["gpu0.sm_max_mhz"] == 1700
    assert sample["gpu0.mem_mhz"] == sample["gpu0.mem_max_mhz"] == 1600
    assert sample["gpu0.power_w"] == 213
    assert sample["gpu0.power_limit_w"] == 300
    assert sample["gpu0.temp_c"] == 63
    assert sample["gpu0.mem_used_bytes"] == 11263172608
    assert (sample["gpu0.link_gen"], sample["gpu0.link_width"]) == (4, 16)


def test_other_vendors_cards_are_not_ours_to_read(amd_tree: Path) -> None:
    assert list(cards(amd_tree).names) == ["gpu0"]


def test_d9_a_file_that_is_gone_is_none_and_never_zero(amd_tree: Path) -> None:
    device = amd_tree / "class/drm/card1/device"
    for name in ("pp_dpm_sclk", "current_link_width", "mem_info_vram_used"):
        (device / name).unlink()
    (device / "current_link_speed").write_text("Unknown\n")
    (device / "hwmon/hwmon3/power1_average").unlink()
    sample = cards(amd_tree).sample()
    for quantity in ("sm_mhz", "sm_max_mhz", "link_gen", "link_width", "mem_used_bytes", "power_w"):
        assert sample[f"gpu0.{quantity}"] is None, quantity


def test_a_width_of_zero_is_no_reading(amd_tree: Path) -> None:
    (amd_tree / "class/drm/card1/device/current_link_width").write_text("0\n")
    assert cards(amd_tree).sample()["gpu0.link_width"] is None


def test_a_table_without_a_star_has_a_cap_and_no_clock() -> None:
    assert clocks_mhz("0: 500Mhz\n1: 1700Mhz\n") == (None, 1700)
    assert clocks_mhz("S: 19Mhz *\n0: 500Mhz\n1: 1700Mhz\n") == (19, 1700)
    assert clocks_mhz("") == (None, None)


def test_processes_with_memory_on_a_card_are_listed(amd_tree: Path) -> None:
    assert [one.pid for one in cards(amd_tree).processes()] == [4711]


def test_facts_name_model_and_firmware(amd_tree: Path) -> None:
    facts = cards(amd_tree).facts()
    assert facts["gpu.models"] == "0x740f"
    assert facts["gpu.compute_units"] == "110"
    assert facts["gpu.clock_policy"] == "auto"
    assert facts["gpu.firmware"] == "113-D67301-063"
    assert cards(amd_tree / "empty").facts() == {}
