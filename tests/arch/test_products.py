"""products.toml is consistent in itself, with the families, and with a recorded MI300X."""

from __future__ import annotations

import json
import sqlite3

import pytest

from rocm_perf_lab.arch.families import family_of
from rocm_perf_lab.arch.products import product_of, products


def test_every_product_has_a_family_and_its_own_pci_ids():
    ids = [id for product in products() for id in (product.pci_id, *product.figures.get("virtual_pci_ids", ()))]
    assert len(ids) == len(set(ids))
    for product in products():
        assert family_of(product.gfx_target).name == product.family
        assert product_of(product.pci_id) is product
    assert product_of(0x1234) is None and product_of(None) is None


# What AMD publishes, in TFLOP/s or TOP/s at the boost clock. MI250X: per package, which holds two of the devices. The F32 rate
# of CDNA's VALU with packed instructions, which is twice as high, is left out.
PUBLISHED = {
    "rx6800xt": (1, {("f32", "valu"): 20.74, ("f16", "valu"): 41.47}),
    "mi300x": (
        1,
        {
            ("f64", "valu"): 81.7, ("f32", "valu"): 163.4 / 2, ("f16", "valu"): 163.4,
            ("f64", "mfma"): 163.4, ("f32", "mfma"): 163.4, ("f16", "mfma"): 1307.4, ("bf16", "mfma"): 1307.4,
            ("f8", "mfma"): 2614.9, ("i8", "mfma"): 2614.9,
        },
    ),
    "mi355x": (
        1,
        {
            ("f64", "valu"): 78.6, ("f32", "valu"): 157.3 / 2, ("f16", "valu"): 157.3,
            ("f64", "mfma"): 78.6, ("f32", "mfma"): 157.3, ("f16", "mfma"): 2516.6, ("bf16", "mfma"): 2516.6,
            ("f8", "mfma"): 5033.2, ("i8", "mfma"): 5033.2, ("f6f4", "mfma"): 10066.3,
        },
    ),
    "mi250x": (
        2,
        {
            ("f64", "valu"): 47.9, ("f32", "valu"): 47.9, ("f16", "valu"): 95.7,
            ("f64", "mfma"): 95.7, ("f32", "mfma"): 95.7, ("f16", "mfma"): 383.0, ("bf16", "mfma"): 383.0,
            ("i8", "mfma"): 383.0,
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize("key", PUBLISHED)
def test_a_product_reaches_what_amd_publishes(key):
    devices, published = PUBLISHED[key]
    product = next(product for product in products() if product.key == key)
    clocks = devices * product.figure("cu") * product.figure("max_clock_mhz") * 1e6
    rates = {pipe: rate * clocks / 1e12 for pipe, rate in family_of(product.gfx_target).peak_ops_per_clock_and_cu.items()}
    assert rates == pytest.approx(published, rel=0, abs=0.05)  # as many digits as are published


def test_the_mi300x_matches_a_recorded_one(shared_data):
    database = shared_data / "rocpd" / "mi300x_bmm_a.db"
    connection = sqlite3.connect(f"{database.as_uri()}?mode=ro&immutable=1", uri=True)
    (text,) = connection.execute("SELECT extdata FROM rocpd_info_agent WHERE type = 'GPU'").fetchone()
    agent, product = json.loads(text), product_of(0x74A1)
    assert product.figure("cu") == agent["cu_count"]
    assert product.figure("xcd") == agent["num_xcc"]
    assert product.figure("max_clock_mhz") == agent["max_engine_clk_fcompute"]
    assert product.figure("vram_bytes") == agent["mem_banks"][0]["size_in_bytes"]
    assert product.figure("lds_bytes") == 1024 * agent["lds_size_in_kb"]
    sizes = {cache["level"]: 1024 * cache["size"] for cache in agent["caches"] if cache["level"] > 1}
    assert (product.figure("l2_bytes_per_xcd"), product.figure("mall_bytes")) == (sizes[2], sizes[3])
    topology = product.figures["topology"]
    differs = {name for name in topology if name in agent and topology[name] != agent[name]}
    assert differs == {"num_gws", "num_sdma_xgmi_engines", "capability"}
