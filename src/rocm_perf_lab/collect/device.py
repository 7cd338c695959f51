"""Which device a program runs on, and the environment that makes it so.

A device says what variables ROCr must see. What differs between a GPU and the software device stays in this file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rocm_perf_lab import native
from rocm_perf_lab.arch.products import products
from rocm_perf_lab.collect import gpu, rocm
from rocm_perf_lab.collect.topology import write_topology
from rocm_perf_lab.errors import UnavailableError

AUTO, HARDWARE, SOFTWARE_TARGET = "auto", "hardware", "gfx942"
CHOICES = (AUTO, HARDWARE, SOFTWARE_TARGET)

_SOFTWARE_PRODUCT = "mi300x"

# These choose among, or re-label, the physical GPUs of a machine. The software device is none of them.
_SELECTS_PHYSICAL_GPUS = (
    "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "HSA_OVERRIDE_GFX_VERSION",
)  # fmt: skip
_MODEL_VARIABLES = ("HSA_MODEL_TOPOLOGY", "HSA_MODEL_LIB", "HSA_MODEL_MEMFILE")


@dataclass(frozen=True)
class Device:
    """What programs run on. target: the (first) GPU's LLVM target; the rest is what ROCr must be told."""

    is_hardware: bool
    target: str
    description: str
    variables: Mapping[str, str]
    removed_variables: tuple[str, ...]
    tools: tuple[Path, ...]

    def environment(self, base: Mapping[str, str], tools: tuple[Path, ...] = ()) -> dict[str, str]:
        """`base` changed so that ROCr uses this device and loads `tools` (HSA tools libraries) besides its own."""
        environment = {name: value for name, value in base.items() if name not in self.removed_variables}
        environment |= self.variables
        libraries = [*self.tools, *tools]
        if libraries:
            environment["HSA_TOOLS_LIB"] = " ".join(map(str, libraries))
        return environment


def select(choice: str, scratch: Path) -> Device:
    """The device for `--device choice`; files that it needs are written to `scratch`, which must outlive the runs.

    Raises UnavailableError where there is no such device.
    """
    found = gpu.find()
    if choice == SOFTWARE_TARGET or (choice == AUTO and not found.usable):
        return _software(scratch)
    if not found.usable:
        raise UnavailableError(
            f"no GPU can be used: {found.obstacle}", f"use `--device {SOFTWARE_TARGET}`, the software device"
        )
    return Device(True, found.targets[0], " + ".join(found.targets), {}, _MODEL_VARIABLES, ())


def _software(scratch: Path) -> Device:
    runtime = rocm.find_library(rocm.RUNTIME)
    if runtime is not None and not rocm.has_model_interface(runtime):
        raise UnavailableError(
            f"{runtime} cannot run a software device (it has no model interface)",
            "use ROCm 7.1 or newer; `./dev shell` of the repository brings one",
        )
    library = loadable(native.device_library(), scratch)
    product = next(product for product in products() if product.key == _SOFTWARE_PRODUCT)
    topology = write_topology(scratch / "topology", product.figures)
    return Device(
        False,
        SOFTWARE_TARGET,
        f"software {SOFTWARE_TARGET}",
        {"HSA_MODEL_TOPOLOGY": str(topology), "HSA_MODEL_LIB": str(library)},
        _SELECTS_PHYSICAL_GPUS + _MODEL_VARIABLES,
        (library,),
    )


def loadable(library: Path, scratch: Path) -> Path:
    """A path of `library` that HSA_TOOLS_LIB and LD_PRELOAD can name: they separate by blanks and colons."""
    if not any(character in str(library) for character in ' :"\\'):
        return library
    link = scratch / library.name
    if not link.is_symlink():
        link.symlink_to(library)
    return link
