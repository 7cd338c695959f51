"""`device="cuda"` in a PyTorch that has no GPU: CPU tensors that claim to be on cuda:0.

Launches copy these tensors to device memory and back. Their storage is marked, so the mark also applies to views.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from rocm_perf_triton import activation, hip, standard_device, torch_generator
from rocm_perf_triton.device_memory import MEMORY
from rocm_perf_triton.host_arrays import span
from rocm_perf_triton.launcher import is_launching

_MARK = "_rocm_perf_cuda"


def install(torch: Any) -> None:
    """Patch PyTorch. The functions that the TorchFunctionMode intercepts are changed only in the calling thread."""
    if hasattr(torch, _MARK):
        return
    setattr(torch, _MARK, True)
    if torch.version.hip is None:
        torch.version.hip, torch.version.cuda = "7", None  # programs use this to tell AMD's GPUs from NVIDIA's
    _change_cuda_module(torch)
    torch.Generator = _generator(torch)
    torch_generator.install(torch)
    _mode(torch).__enter__()


def _storage_of(tensor: Any) -> Any:
    """The tensor's storage; None for tensors without storage, such as sparse ones. PyTorch offers no other test."""
    try:
        return tensor.untyped_storage()
    except NotImplementedError:
        return None


def is_marked(tensor: Any) -> bool:
    return hasattr(_storage_of(tensor), _MARK)


def mark(value: Any, torch: Any) -> Any:
    """The same value, with all tensors in it marked as being on "cuda"."""
    if isinstance(value, torch.Tensor):
        if (storage := _storage_of(value)) is not None:
            setattr(storage, _MARK, True)
    elif isinstance(value, (tuple, list)):
        for item in value:
            mark(item, torch)
    return value


def _mode(torch: Any) -> Any:
    """The mode that intercepts PyTorch's functions."""
    tensor, device = torch.Tensor, torch.device
    cuda = device("cuda", 0)
    getters: dict[Any, Callable[[Any, bool], Any]] = {
        tensor.is_cuda.__get__: lambda _tensor, marked: marked,
        tensor.is_cpu.__get__: lambda _tensor, marked: not marked,
        tensor.device.__get__: lambda it, marked: cuda if marked else it.device,
        tensor.get_device: lambda it, marked: 0 if marked else it.get_device(),
    }
    moves = {tensor.cpu, tensor.cuda, tensor.to}
    on_devices = {device, torch._C._nn._parse_to}  # these functions create no tensors

    class OnSoftwareDevice(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, function: Any, kinds: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            if function in getters:
                return getters[function](args[0], is_marked(args[0]))
            if function in moves:
                return _move_tensor(function, args, kwargs, torch)
            if function is tensor.data_ptr:
                return _address(args[0])
            if function in on_devices:
                return function(*args, **kwargs)
            if function is tensor.record_stream:
                return None
            if function is tensor.pin_memory:
                return args[0]
            if function is torch.nn.functional.layer_norm and is_marked(args[0]):
                return mark(_in_singles(function, args, kwargs, torch), torch)
            on_gpu = _named_device(function, args, kwargs, torch)
            args, kwargs = _on_cpu(args, torch), {name: _cpu(value, torch) for name, value in kwargs.items()}
            if kwargs.get("pin_memory"):
                kwargs["pin_memory"] = False
            result = function(*args, **kwargs)
            if (args and result is args[0]) or result is kwargs.get("out"):
                return result  # in place: the tensor stays where it was
            if on_gpu is None:
                on_gpu = any(is_marked(value) for value in _tensors((args, kwargs), torch))
            return mark(result, torch) if on_gpu else result

    return OnSoftwareDevice()


def _address(tensor: Any) -> int:
    """The tensor's address as the caller should see it. The program sees the address of the copy in device memory, since it may
    store this address in an array for kernels; Triton, while it processes a launch, sees the host address.
    """
    address = int(tensor.data_ptr())
    if is_launching() or address == 0 or not is_marked(tensor):
        return address
    storage = tensor.untyped_storage()
    return MEMORY.expose(span(tensor), storage).device_address(address)


def _move_tensor(function: Any, args: Any, kwargs: Any, torch: Any) -> Any:
    """The result of cpu(), cuda() or to(): a different tensor if the device differs, as on a GPU."""
    source = args[0]
    to_gpu = _destination(function, args, kwargs, torch)
    if function is torch.Tensor.to:
        result = source.to(*_on_cpu(args[1:], torch), **{name: _cpu(value, torch) for name, value in kwargs.items()})
    else:
        result = source
    if to_gpu != is_marked(source) and result.data_ptr() == source.data_ptr():
        result = result.clone()
    return mark(result, torch) if to_gpu else result


def _destination(function: Any, args: Any, kwargs: Any, torch: Any) -> bool:
    """Whether the result is on "cuda"."""
    if function is not torch.Tensor.to:
        return bool(function is torch.Tensor.cuda)
    for value in (*args[1:], *kwargs.values()):
        if isinstance(value, torch.Tensor):
            return is_marked(value)
        if isinstance(value, (str, torch.device)):
            return _is_cuda(value, torch)
    return is_marked(args[0])


def _in_singles(function: Any, args: Any, kwargs: Any, torch: Any) -> Any:
    """Runs the function in float32, as PyTorch does for narrow types on a GPU; PyTorch's CPU code would sum gradients in the
    narrow type.
    """

    def single(value: Any) -> Any:
        narrow = isinstance(value, torch.Tensor) and value.dtype in (torch.float16, torch.bfloat16)
        return value.float() if narrow else value

    return function(*map(single, args), **{name: single(value) for name, value in kwargs.items()}).to(args[0].dtype)


def _named_device(function: Any, args: Any, kwargs: Any, torch: Any) -> bool | None:
    """Whether the call names "cuda" (True) or a different device (False); None if it names no device."""
    named = kwargs.get("device")
    if named is None:
        named = next((value for value in args if isinstance(value, torch.device) or _is_cuda(value, torch)), None)
    return None if named is None else _is_cuda(named, torch) or isinstance(named, int)


def _is_cuda(value: Any, torch: Any) -> bool:
    if isinstance(value, torch.device):
        return bool(value.type == "cuda")
    return isinstance(value, str) and (value == "cuda" or value.startswith("cuda:"))


def _cpu(value: Any, torch: Any) -> Any:
    return torch.device("cpu") if _is_cuda(value, torch) else value


def _on_cpu(args: Any, torch: Any) -> Any:
    return tuple(_cpu(value, torch) for value in args)


def _tensors(value: Any, torch: Any) -> Any:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _tensors(item, torch)
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()), torch)


class _Stream:
    """The only stream."""

    cuda_stream = stream_id = 0

    def __init__(self, *_: object, **__: object):
        pass

    def synchronize(self) -> None:
        pass

    def wait_stream(self, _stream: object) -> None:
        pass

    wait_event = wait_stream

    def record_event(self, event: Any = None) -> Any:
        event = event or standard_device.Event()
        event.record()
        return event

    def query(self) -> bool:
        return True

    def __enter__(self) -> _Stream:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def _change_cuda_module(torch: Any) -> None:
    """Replace the functions and classes of `torch.cuda` that programs commonly use."""
    stream = _Stream()
    replaced: dict[str, Any] = {
        "is_available": standard_device.is_available,
        "is_initialized": standard_device.is_available,
        "device_count": standard_device.device_count,
        "current_device": standard_device.current_device,
        "set_device": standard_device.set_device,
        "synchronize": standard_device.synchronize,
        "Event": standard_device.Event,
        "Stream": _Stream,
        "current_stream": lambda device=None: stream,
        "default_stream": lambda device=None: stream,
        "stream": lambda stream: stream if stream is not None else _Stream(),
        "device": lambda device: _Stream(),
        "set_stream": lambda stream: None,
        "empty_cache": lambda: None,
        "get_device_name": lambda device=None: _name(),
        "get_device_capability": lambda device=None: activation.capability(),
        "get_device_properties": lambda device=None: _properties(),
        "max_memory_allocated": lambda device=None: 0,
        "memory_allocated": lambda device=None: 0,
        "reset_peak_memory_stats": lambda device=None: None,
        "is_bf16_supported": lambda including_emulation=True: True,
        # private functions, which generated code and kernel libraries nevertheless call
        "_exchange_device": lambda device: 0,
        "_maybe_exchange_device": lambda device: 0,
    }
    for name, value in replaced.items():
        setattr(torch.cuda, name, value)
    torch._C._cuda_getCurrentRawStream = lambda device: stream.cuda_stream
    guards = torch._C._dynamo.guards
    guards._empty_strided_cuda = lambda size, stride, dtype: mark(torch.empty_strided(size, stride, dtype=dtype), torch)


def _generator(torch: Any) -> Any:
    class Generator(torch.Generator):  # type: ignore[misc]
        """A generator on the CPU, whatever device is requested: the CPU draws the random numbers for all devices."""

        def __new__(cls, device: object = None) -> Any:
            return super().__new__(cls, "cpu")

    return Generator


def _name() -> str:
    return f"{hip.device_name()} (software device)"


def _properties() -> types.SimpleNamespace:
    major, minor = activation.capability()
    return types.SimpleNamespace(
        name=_name(),
        major=major,
        minor=minor,
        gcnArchName=f"{activation.target()}:sramecc+:xnack-",
        multi_processor_count=hip.device_attribute(hip.DEVICE_ATTRIBUTES["multiprocessor_count"]),
        warp_size=hip.device_attribute(hip.DEVICE_ATTRIBUTES["warpSize"]),
        shared_memory_per_block=hip.device_attribute(hip.DEVICE_ATTRIBUTES["max_shared_mem"]),
    )
