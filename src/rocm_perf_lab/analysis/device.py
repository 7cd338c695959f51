"""The device that a kernel ran on, with the figures that ceilings need."""

from __future__ import annotations

from dataclasses import dataclass

from rocm_perf_lab.arch.families import family_of
from rocm_perf_lab.arch.family import Family
from rocm_perf_lab.arch.metric import Value
from rocm_perf_lab.arch.products import Product, product_of
from rocm_perf_lab.errors import TraceError
from rocm_perf_lab.rocpd.factorize import factorize
from rocm_perf_lab.rocpd.trace import Agent, Trace


@dataclass(frozen=True)
class GpuSpecs:
    """cu: compute units. xcd: dies, each with its own L2. clock: the peak shader clock. Bandwidths: the peaks of HBM or GDDR
    (memory) and of the cache in front of it (MALL).
    """

    target: str
    family: Family | None
    product: Product | None
    product_name: str
    pci_id: int | None
    cu: Value
    xcd: Value
    clock: Value  # MHz
    memory_bandwidth: Value  # GB/s
    mall_bandwidth: Value  # GB/s

    @property
    def family_name(self) -> str:
        return self.family.name if self.family else "unknown"


def device_of(agent: Agent, clock_mhz: float | None = None, memory_bandwidth_gbps: float | None = None) -> GpuSpecs:
    """The device behind an agent of a trace. The clock and the bandwidth, if given, override the known figures."""
    product = product_of(agent.pci_id)
    return GpuSpecs(
        target=agent.target,
        family=family_of(agent.target),
        product=product,
        product_name=_name(agent, product),
        pci_id=agent.pci_id,
        cu=_figure(agent, "cu_count", product, "cu", "compute units"),
        xcd=_figure(agent, "num_xcc", product, "xcd", "dies"),
        clock=Value(clock_mhz, "MHz") if clock_mhz else _clock(agent, product),
        memory_bandwidth=Value(memory_bandwidth_gbps, "GB/s") if memory_bandwidth_gbps else _bandwidth(agent, product),
        mall_bandwidth=_mall_bandwidth(agent, product),
    )


def devices_of(trace: Trace, clock_mhz: float | None = None, memory_bandwidth_gbps: float | None = None) -> dict[int, GpuSpecs]:
    """The devices that kernels ran on, by agent id. Raises TraceError for a dispatch on an agent not in the trace."""
    used = factorize(trace.dispatches.agent_id)[0].tolist()
    missing = [id for id in used if id not in trace.agents]
    if missing:
        raise TraceError(f"{trace.path} has dispatches on the unknown agent {missing[0]}", "profile the program again")
    return {id: device_of(trace.agents[id], clock_mhz, memory_bandwidth_gbps) for id in used}


def _name(agent: Agent, product: Product | None) -> str:
    """The agent's own name, unless it is empty or merely the target's name."""
    if agent.product and agent.product != agent.target:
        return agent.product
    return product.name if product else agent.target


def _figure(agent: Agent, property: str, product: Product | None, key: str, unit: str) -> Value:
    figure = agent.figure(property) or (product.figure(key) if product else None)
    if figure:
        return Value(float(figure), unit)
    return Value.missing(unit, f"neither the trace's agent ({property}) nor products.toml ({key}) has it")


def _clock(agent: Agent, product: Product | None) -> Value:
    return _figure(agent, "max_engine_clk_fcompute", product, "max_clock_mhz", "MHz")


def _mall_bandwidth(agent: Agent, product: Product | None) -> Value:
    if product and (known := product.figure("mall_gbps")):
        return Value(float(known), "GB/s")
    who = product.name if product else agent.target
    return Value.missing("GB/s", f"products.toml has no bandwidth of the MALL for {who}")


def _bandwidth(agent: Agent, product: Product | None) -> Value:
    if product and (known := product.figure("hbm_gbps")):
        return Value(float(known), "GB/s")
    who = product.name if product else f"PCI id {agent.pci_id:#06x}" if agent.pci_id else agent.target
    return Value.missing("GB/s", f"products.toml has no memory bandwidth for {who}: give it with --memory-bandwidth-gbps")
