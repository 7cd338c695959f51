import pytest

from rocm_perf_lab.collect import gpu


@pytest.mark.parametrize(
    "version, target",
    [(90402, "gfx942"), (90010, "gfx90a"), (100300, "gfx1030"), (110501, "gfx1151"), (90500, "gfx950"), (120001, "gfx1201")],
)
def test_target_name(version, target):
    assert gpu.target_name(version) == target


@pytest.fixture
def machine(tmp_path):
    """A file system root with nodes of these gfx_target_versions; 0 is a CPU."""

    def build(*versions, driver=True):
        for node, version in enumerate(versions):
            folder = tmp_path / "sys/class/kfd/kfd/topology/nodes" / str(node)
            folder.mkdir(parents=True)
            (folder / "properties").write_text(f"simd_count 1\ngfx_target_version {version}\nvendor_id 4098\n")
        if driver:
            (tmp_path / "dev").mkdir()
            (tmp_path / "dev/kfd").touch()
        return gpu.find(tmp_path)

    return build


def test_gpus_in_node_order(machine):
    found = machine(0, *[90402] * 9, 90010)
    assert found.usable and found.targets == ("gfx942",) * 9 + ("gfx90a",)


def test_driver_without_a_gpu(machine):
    assert "no GPU" in machine(0).obstacle


def test_no_driver(machine):
    assert "/dev/kfd" in machine(0, 90402, driver=False).obstacle


def test_a_node_that_may_not_be_read_is_skipped(machine, tmp_path):
    hidden = tmp_path / "sys/class/kfd/kfd/topology/nodes/7"
    hidden.mkdir(parents=True)
    assert machine(0, 90402).targets == ("gfx942",)
