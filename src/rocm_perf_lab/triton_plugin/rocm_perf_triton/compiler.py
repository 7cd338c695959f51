"""The half of a Triton back end that this package lacks: Triton's own HIP back end compiles.

Triton imports this module, then `driver`, for every entry point, and wants one concrete class of each kind.
"""

from __future__ import annotations

from triton.backends.compiler import BaseBackend

from rocm_perf_triton import activation, patches


class NoCompiler(BaseBackend):  # type: ignore[misc]
    """Compiles for no target."""

    @staticmethod
    def supports_target(target: object) -> bool:
        return False

    def hash(self) -> str:
        raise NotImplementedError

    def parse_options(self, options: object) -> object:
        raise NotImplementedError

    def add_stages(self, *arguments: object) -> None:
        raise NotImplementedError

    def load_dialects(self, context: object) -> None:
        raise NotImplementedError

    def get_module_map(self) -> dict[str, object]:
        raise NotImplementedError


if activation.is_active():
    patches.install()
