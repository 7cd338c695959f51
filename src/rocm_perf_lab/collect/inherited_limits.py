"""Checks whether programs would inherit anything from this process that would keep them from using a GPU, so that the programs
do not get the blame.
"""

from __future__ import annotations

import os
import resource
import tempfile

from rocm_perf_lab.errors import UnsuitableEnvironmentError

# The variables that can name the folder for comgr's files in a HIP program; comgr uses the first one that is set [LLVM,
# sys::path::system_temp_directory]. If comgr cannot write there, the program ends with SIGSEGV.
_TEMPORARY = ("TMPDIR", "TMP", "TEMP", "TEMPDIR")
_DEFAULT = "/tmp"
_PROBE = bytes(64 << 10)

# Address space that the software device reserves: 256 GiB for itself, and more for ROCr and HIP.
_SOFTWARE_ADDRESSES = 384 << 30


def check(software: bool) -> None:
    """Run all of these checks for a program. software: whether it will run on the software device. Raises
    UnsuitableEnvironmentError.
    """
    check_temporary_folder()
    if software:
        check_addresses()


def check_addresses() -> None:
    """Check that there is enough address space for the software device. Raises UnsuitableEnvironmentError."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit not in (resource.RLIM_INFINITY, -1) and limit < _SOFTWARE_ADDRESSES:
        message = (
            f"the software device needs {_SOFTWARE_ADDRESSES >> 30} GiB of address space, and the limit is {limit >> 20} MiB"
        )
        raise UnsuitableEnvironmentError(
            message, "lift it with `ulimit -v unlimited`; the memory that is used does not depend on it"
        )


def check_temporary_folder() -> None:
    """Check that temporary files can be written. Raises UnsuitableEnvironmentError."""
    name = next((name for name in _TEMPORARY if os.environ.get(name)), None)
    folder = os.environ[name] if name else _DEFAULT
    try:
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(_PROBE)
            probe.flush()
    except OSError as error:
        setting = f"{name}={folder}" if name else folder
        raise UnsuitableEnvironmentError(
            f"{setting} cannot be written ({error.strerror}), and HIP programs need a folder for temporary files",
            "choose a writable one with enough free space: TMPDIR=/path",
        ) from error
