"""The compiler half of a Triton back end. This package needs none: Triton's own HIP back end does the compiling.

For every entry point, Triton imports `compiler` (this module) and then `driver`, and expects one concrete class in each.
"""

from __future__ import annotations

from typing import NoReturn

from triton.backends.compiler import BaseBackend

from rocm_perf_triton import activation, patches


def _is_never_called(*_arguments: object) -> NoReturn:
    raise AssertionError("Triton compiles with its own HIP back end: this one supports no target")


class NoCompiler(BaseBackend):  # type: ignore[misc]
    """Supports no target, so Triton never calls its other methods, whichever ones this version of Triton requires."""

    locals().update(dict.fromkeys(BaseBackend.__abstractmethods__, _is_never_called))

    @staticmethod
    def supports_target(target: object) -> bool:
        return False


if activation.is_active():
    patches.install()
