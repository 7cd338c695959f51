"""Launches compiled kernels: `launcher_cls` of the driver."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rocm_perf_triton import hip, kernel_arguments, proton
from rocm_perf_triton.clock import CLOCK
from rocm_perf_triton.device_memory import MEMORY, Mirror
from rocm_perf_triton.kernel_arguments import Pointer, Word
from rocm_perf_triton.versions import descriptor_words

_MAX_THREADS = 1024  # threads of a workgroup

_depth = 0  # nesting depth, since a launch may contain others, as in benchmarks


@contextmanager
def launching() -> Iterator[None]:
    """Wraps Triton's own processing of arguments, which needs the arrays' host addresses."""
    global _depth
    _depth += 1
    try:
        yield
    finally:
        _depth -= 1


def is_launching() -> bool:
    return _depth > 0


Recorder = Callable[["Launcher", tuple[int, int, int], tuple[Any, ...]], None]
_recorders: list[Recorder] = []


@contextmanager
def recording(recorder: Recorder) -> Iterator[None]:
    """Inside the `with` block, recorder(launcher, grid, arguments) is called in place of each launch."""
    _recorders.append(recorder)
    try:
        yield
    finally:
        _recorders.pop()


class Launcher:
    """Launches one compiled kernel."""

    def __init__(self, source: Any, metadata: Any):
        self.kernel = str(metadata.name)
        self.names = tuple(map(str, source.signature))
        self.types = tuple(source.signature.values())
        self.threads = metadata.num_warps * metadata.warp_size
        _expect_at_most(_MAX_THREADS, self.threads)
        self.shared = metadata.shared
        self.cooperative = bool(metadata.launch_cooperative_grid)
        # Scratch memory in bytes per workgroup, in the order of the kernel's last arguments.
        self.scratch_bytes = [getattr(metadata, f"{kind}_scratch_size", 0) for kind in ("global", "profile")]

    def __call__(
        self,
        grid_x: int,
        grid_y: int,
        grid_z: int,
        stream: int,
        function: int,
        _packed_metadata: object,
        launch_metadata: object,
        enter_hook: Callable[[object], None] | None,
        exit_hook: Callable[[object], None] | None,
        *arguments: Any,
    ) -> None:
        """Launch the kernel, and wait until it has ended and its results are in host memory.

        Raises HipError if the launch or the kernel fails, and ValueError if the kernel wrote to a read-only array.
        """
        if enter_hook is not None:
            enter_hook(launch_metadata)
        if _recorders:
            _recorders[-1](self, (grid_x, grid_y, grid_z), arguments)
        elif grid_x * grid_y * grid_z > 0:
            self._launch((grid_x, grid_y, grid_z), stream, function, arguments)
        if exit_hook is not None:
            exit_hook(launch_metadata)

    def words_of(self, arguments: tuple[Any, ...]) -> list[list[Word]]:
        """The words of each argument."""
        return [
            kernel_arguments.words([kind], [value], _descriptor_words)
            for kind, value in zip(self.types, arguments)  # noqa: B905 - Triton has checked their number
        ]

    def _launch(self, grid: tuple[int, int, int], stream: int, function: int, arguments: tuple[Any, ...]) -> None:
        words = kernel_arguments.words(self.types, arguments, _descriptor_words)
        mirrors = MEMORY.mirrors(word.memory for word in words if isinstance(word, Pointer))
        for mirror in mirrors:
            mirror.fill()
        values = [_on_device(word, mirrors) for word in words]
        with _scratch([size * grid[0] * grid[1] * grid[2] for size in self.scratch_bytes]) as scratch:
            addresses, _store = kernel_arguments.packed(values + scratch)
            shape = (*grid, self.threads, 1, 1, self.shared, stream, addresses)
            with CLOCK.timed(stream):
                if self.cooperative:
                    hip.call("hipModuleLaunchCooperativeKernel", function, *shape)
                else:
                    hip.call("hipModuleLaunchKernel", function, *shape, None)
            proton.add(self.kernel, CLOCK.last)
        for mirror in mirrors:
            mirror.copy_back()


def _expect_at_most(limit: int, threads: int) -> None:
    """Raises Triton's OutOfResources, which makes autotuning reject a configuration.

    Triton 3.4 itself raises this error only for the first launch; it leaves it to HIP to refuse later ones.
    """
    if threads > limit:
        from triton.runtime.errors import OutOfResources

        raise OutOfResources(threads, limit, "threads")


def _descriptor_words(descriptor: Any) -> list[Any]:
    import triton

    return descriptor_words(triton.__version__)(descriptor)


def _on_device(word: Word, mirrors: list[Mirror]) -> int:
    if not isinstance(word, Pointer):
        return word
    mirror = next(mirror for mirror in mirrors if mirror.host.begin <= word.address < mirror.host.end)
    return mirror.device_address(word.address)


@contextmanager
def _scratch(sizes: list[int]) -> Iterator[list[int]]:
    """Allocates blocks of device memory of these sizes, and yields their addresses (0 where the size is 0)."""
    addresses = [hip.allocate(size) if size else 0 for size in sizes]
    try:
        yield addresses
    finally:
        for address in filter(None, addresses):
            hip.free(address)
