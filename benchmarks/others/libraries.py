"""The test packages of AMD's libraries, as built by Debian, and how their programs are started."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from others import clients, ggml_tests, gtest, thrust_tests


@dataclass(frozen=True)
class Library:
    name: str
    package: str
    data: str = ""  # a file of test data, from which a sample is drawn
    frame: ModuleType = gtest
    additional_packages: tuple[str, ...] = ()  # additional packages
    programs: str = "usr/libexec/rocm/{package}/**/*"
    devices: tuple[str, ...] = ()  # those that it has code for; if empty, all


LIBRARIES = (
    Library("rocPRIM", "librocprim-tests"),
    Library("hipCUB", "libhipcub-tests"),
    Library("rocThrust", "librocthrust-tests", frame=thrust_tests),
    Library("rocRAND", "librocrand1-tests"),
    Library("rocWMMA", "librocwmma-tests"),
    Library("rocFFT", "librocfft0-tests"),
    Library("rocSPARSE", "librocsparse1-tests", "usr/share/librocsparse1-tests/data/rocsparse_test.data"),
    Library("rocSOLVER", "librocsolver0-tests"),
    Library("rocBLAS", "librocblas5-tests", "usr/share/librocblas5-tests/data/rocblas_gtest.data"),
    Library("ROCr", "libhsa-runtime64-tests"),
    Library(
        "ggml",
        "llama.cpp-tests",
        frame=ggml_tests,
        additional_packages=("libggml0-backend-hip",),
        programs="usr/libexec/*/ggml/test-backend-ops",
        devices=("gfx90a", "gfx1030"),
    ),
)


def binaries(folder: Path, library: Library) -> list[str]:
    """The paths that the programs would have if the package were installed."""
    files = (path for path in sorted(folder.glob(library.programs.format(package=library.package))) if _is_program(path))
    return ["/" + str(path.relative_to(folder)) for path in files]


def _is_program(path: Path) -> bool:
    if not path.is_file() or ".so" in path.name or not path.stat().st_mode & 0o100:
        return False
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def start(folder: Path, data_folder: Path, binary: str, device: str = "gfx942") -> Sequence[str]:
    """The command that starts a program as if its package were installed, with libraries and data in an overlay over /usr."""
    layers = ["/usr", str(folder / "usr"), *([str(data_folder / "usr")] if data_folder.is_dir() else [])]
    sources = [word for layer in layers for word in ("--overlay-src", layer)]
    libraries = ":".join([*_alternatives(folder), str(Path(binary).parent)])
    variables = {"GTEST_LISTENER": "PASS_LINE_IN_LOG", "LD_LIBRARY_PATH": libraries}
    surroundings = [word for item in variables.items() for word in ("--setenv", *item)] + ["--chdir", str(Path(binary).parent)]
    cage = ["bwrap", "--die-with-parent", "--dev-bind", "/", "/", *sources, "--ro-overlay", "/usr", *surroundings]
    return [*cage, "--", "rocm-perf", "run", "--device", device, binary]


def _alternatives(folder: Path) -> list[str]:
    """The folders of Debian's BLAS and LAPACK, to which an installation would create links."""
    folders = {path.parent for kind in ("blas", "lapack") for path in folder.glob(f"usr/lib/*/*{kind}*/lib{kind}.so*")}
    return sorted("/" + str(path.relative_to(folder)) for path in folders)


def draw_data(folder: Path, data_folder: Path, library: Library, seed: int, count: int) -> None:
    if library.data and not (data_folder / library.data).exists():
        clients.draw(folder / library.data, data_folder / library.data, seed, count)
