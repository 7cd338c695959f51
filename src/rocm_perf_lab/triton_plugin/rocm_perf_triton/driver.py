"""The driver that Triton uses on the software device."""

from __future__ import annotations

import sys
from typing import Any

from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase

from rocm_perf_triton import activation, hip, standard_device
from rocm_perf_triton.benchmark import do_bench
from rocm_perf_triton.launcher import Launcher


class Utils:
    """`driver.active.utils`: queries the device's properties, and loads and unloads code objects."""

    def get_device_properties(self, _device: object) -> dict[str, Any]:
        known = {name: hip.device_attribute(number) for name, number in hip.DEVICE_ATTRIBUTES.items()}
        return known | {"arch": activation.target()}

    def load_binary(self, name: str, image: bytes, _shared: int, _device: object) -> tuple[int, int, int, int, int]:
        """The module, the function, its register count, how many 4-byte words it spills, and its largest workgroup size."""
        module, function = hip.load(image, name)
        wanted = (hip.NUM_REGS, hip.LOCAL_SIZE_BYTES, hip.MAX_THREADS_PER_BLOCK)
        registers, spilled, threads = (hip.function_attribute(function, attribute) for attribute in wanted)
        return module, function, registers, spilled // 4, threads

    def unload_module(self, module: int) -> None:
        hip.unload(module)


class SoftwareDriver(DriverBase):  # type: ignore[misc]
    """One device, one stream; every launch is synchronous."""

    launcher_cls = Launcher

    def __init__(self) -> None:
        super().__init__()
        self.utils = Utils()

    @staticmethod
    def is_active() -> bool:
        return activation.is_active()

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("hip", activation.target(), 64)

    def get_current_device(self) -> int:
        return 0

    def set_current_device(self, device: int) -> None:
        pass

    def get_current_stream(self, _device: object = None) -> int:
        return 0

    def get_device_capability(self, _device: object = None) -> tuple[int, int]:
        return activation.capability()

    def get_device_interface(self) -> Any:
        """`torch.cuda`, or a substitute if the program does not use PyTorch."""
        torch = sys.modules.get("torch")
        return torch.cuda if torch is not None else standard_device

    def get_active_torch_device(self) -> Any:
        import torch

        return torch.device("cuda", 0)

    def get_benchmarker(self) -> Any:
        return do_bench

    def get_empty_cache_for_benchmark(self) -> None:
        return None

    def clear_cache(self, _cache: object) -> None:
        from rocm_perf_triton import software_device

        software_device.invalidate_caches()

    def map_python_to_cpp_type(self, ty: str) -> str:
        from triton.backends.amd.driver import ty_to_cpp

        return str(ty_to_cpp(ty))

    def assemble_tensormap_to_arg(self, _tensormaps: object, arguments: Any) -> Any:
        return arguments
