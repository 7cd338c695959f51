"""Build hook: puts the version and the native parts into the wheel, which is then for Linux on x86-64 instead of everywhere.

Environment: ROCM_PERF_LAB_NATIVE=require fails where they cannot be built, =off leaves them out; by default they are built if
CMake finds a compiler and the headers of ROCm. Two builds of one revision in one environment give the same bytes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

VARIABLE = "ROCM_PERF_LAB_NATIVE"
PROCESSOR = "x86-64-v3"  # every server with an Instinct GPU, and desktops since 2015; rocm_perf_lab/native.py checks it
_PARTS = (
    "lib/librocmperf_capture.so",
    "lib/librocmperf_device.so",
    "lib/librocmperf_isolate.so",
    "lib/librocmperf_preload.so",
    "lib/librocmperf_tracer.so",
    "bin/rocmperf-replay",
    "bin/rocmperf-rocpd-writer",
)
# Only glibc and ROCm are left to the machine. Names of folders stay out of the files.
_LINKED_IN = "-static-libstdc++ -static-libgcc -Wl,--build-id=none -s"


class CustomBuildHook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """version: of the target, which hatchling calls "editable" for `pip install -e`."""
        if version == "editable" or self.target_name != "wheel":
            return
        self._folder = Path(tempfile.mkdtemp(prefix="rocm-perf-lab-build-"))
        self._add(build_data, self._version_file(), "_version.py")
        if not self._build_native():
            return
        files = [self._folder / "build" / part for part in _PARTS]
        for file in files:
            self._add(build_data, file, f"_native/{file.name}")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-manylinux_2_{newest_glibc(files)}_x86_64"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version != "editable" and self.target_name == "wheel":
            shutil.rmtree(self._folder, ignore_errors=True)

    def _add(self, build_data: dict[str, Any], file: Path, place: str) -> None:
        build_data["force_include"][str(file)] = f"rocm_perf_lab/{place}"

    def _version_file(self) -> Path:
        file = self._folder / "_version.py"
        file.write_text(f'VERSION = "{self.metadata.version}"\n', encoding="utf-8")
        return file

    def _build_native(self) -> bool:
        wanted = os.environ.get(VARIABLE, "auto")
        if wanted == "off" or (wanted != "require" and sys.platform != "linux"):
            return False
        configured = self._configure()
        if configured is not None:
            if wanted == "require":
                raise RuntimeError(f"{VARIABLE}=require, but the native parts cannot be built here: {configured}")
            self.app.display_warning(f"without native parts: {configured}")
            return False
        targets = [Path(part).name.removeprefix("lib").removesuffix(".so") for part in _PARTS]
        # Not captured: it takes minutes, and shows what is wrong.
        jobs = str(len(os.sched_getaffinity(0)))  # with no number, make starts all at once
        subprocess.run(["cmake", "--build", self._folder / "build", "--parallel", jobs, "--target", *targets], check=True)
        return True

    def _configure(self) -> str | None:
        """Why it fails, or None."""
        if shutil.which("cmake") is None:
            return "there is no cmake"
        source, build = Path(self.root), self._folder / "build"
        prefixes = f"-ffile-prefix-map={build}=/build -ffile-prefix-map={source}=/source"
        done = subprocess.run(
            [
                *("cmake", "-S", source, "-B", build, "-DCMAKE_BUILD_TYPE=Release"),
                *("-DRPL_BUILD_TESTS=OFF", "-DRPL_BUILD_TESTBED=OFF", "-DRPL_STATIC=ON"),
                *(f"-DRPL_PROCESSOR={PROCESSOR}", f"-DRPL_VERSION={self.metadata.version}"),
                *(f"-DCMAKE_{language}_FLAGS={prefixes}" for language in ("C", "CXX")),
                *(f"-DCMAKE_{kind}_LINKER_FLAGS={_LINKED_IN}" for kind in ("EXE", "SHARED")),
                # The loader's own folders come first; AMD's packages of ROCm are in none of these.
                *("-DCMAKE_SKIP_BUILD_RPATH=OFF", "-DCMAKE_BUILD_RPATH=/opt/rocm/lib"),
            ],
            capture_output=True,
            text=True,
        )
        if done.returncode == 0:
            return None
        errors = [line for line in done.stderr.splitlines() if line.strip()]
        return " ".join(" ".join(errors[:4]).split())


def newest_glibc(files: list[Path]) -> int:
    """The n of the newest symbol version GLIBC_2.n that the files need, hence of the oldest glibc that they run with."""
    from elftools.elf.elffile import ELFFile
    from elftools.elf.gnuversions import GNUVerNeedSection

    newest = 17  # the oldest that Python's packaging knows by this form of tag
    for file in files:
        with file.open("rb") as opened:
            for section in ELFFile(opened).iter_sections():
                if isinstance(section, GNUVerNeedSection):
                    names = [name.name for _, versions in section.iter_versions() for name in versions]
                    newest = max([newest, *(int(name.split(".")[1]) for name in names if name.startswith("GLIBC_2."))])
    return newest
