"""The device behind an agent: figures in the trace take precedence over what is known about the product."""

from __future__ import annotations

import types

import numpy as np
import pytest

from rocm_perf_lab.analysis.device import device_of, devices_of
from rocm_perf_lab.arch.products import product_of
from rocm_perf_lab.errors import TraceError
from rocm_perf_lab.rocpd.trace import Agent

MI300X = product_of(0x74A1)
FIGURES = {"cu_count": 300, "num_xcc": 6, "max_engine_clk_fcompute": 2000}


def agent(product: str = "", pci_id: int | None = 0x74A1, target: str = "gfx942", **figures: object) -> Agent:
    return Agent(1, "GPU", target, product, pci_id, figures)


def test_figures_of_the_agent_take_precedence_over_those_of_its_product():
    found = device_of(agent("My GPU", **FIGURES))
    assert (found.cu.value, found.xcd.value, found.clock.value) == (300.0, 6.0, 2000.0)
    assert (found.target, found.family_name, found.product, found.product_name) == ("gfx942", "cdna3", MI300X, "My GPU")
    assert found.memory_bandwidth.value == MI300X.figure("hbm_gbps") and found.mall_bandwidth.value == MI300X.figure(
        "mall_gbps"
    )
    plain = device_of(agent())
    assert (plain.cu.value, plain.xcd.value, plain.clock.value) == (304.0, 8.0, 2100.0)
    assert [one.unit for one in (plain.cu, plain.xcd, plain.clock)] == ["compute units", "dies", "MHz"]


@pytest.mark.parametrize("zero", [0, -1, "many", None])
def test_an_impossible_figure_is_ignored(zero):
    assert device_of(agent(cu_count=zero)).cu.value == 304.0


def test_figures_given_by_the_user_take_precedence():
    found = device_of(agent("My GPU", **FIGURES), 1500.0, 999.0)
    assert (found.clock.value, found.memory_bandwidth.value, found.cu.value) == (1500.0, 999.0, 300.0)


@pytest.mark.parametrize(
    "product, pci_id, name",
    [("My GPU", 0x74A1, "My GPU"), ("", 0x74A1, MI300X.name), ("gfx942", 0x74A1, MI300X.name), ("", None, "gfx942")],
)
def test_the_name_of_a_device(product, pci_id, name):
    assert device_of(agent(product, pci_id)).product_name == name


@pytest.mark.parametrize("pci_id, who", [(0x1234, "PCI id 0x1234"), (None, "gfx1201")])
def test_unknown_figures_of_a_device_have_reasons(pci_id, who):
    found = device_of(agent("My GPU", pci_id, "gfx1201"))
    assert (found.family, found.family_name, found.product) == (None, "unknown", None)
    assert found.cu.reason == "neither the trace's agent (cu_count) nor products.toml (cu) has it"
    assert found.memory_bandwidth.reason == (
        f"products.toml has no memory bandwidth for {who}: give it with --memory-bandwidth-gbps"
    )
    assert found.mall_bandwidth.reason == "products.toml has no bandwidth of the MALL for gfx1201"
    assert device_of(agent("My GPU", 0x740F, "gfx90a")).mall_bandwidth.reason.endswith(f"for {product_of(0x740F).name}")


def test_the_devices_that_kernels_ran_on():
    agents = {1: agent("one"), 2: agent("two"), 3: agent("three")}
    trace = types.SimpleNamespace(path="t.db", agents=agents, dispatches=types.SimpleNamespace(agent_id=np.array([3, 1, 3])))
    found = devices_of(trace, 1500.0)
    assert {id: (one.product_name, one.clock.value) for id, one in found.items()} == {1: ("one", 1500.0), 3: ("three", 1500.0)}
    trace.dispatches.agent_id = np.array([3, 9, 7])
    with pytest.raises(TraceError, match="t.db has dispatches on the unknown agent 7"):
        devices_of(trace)
