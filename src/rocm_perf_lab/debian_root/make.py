"""Makes the Debian root."""

from __future__ import annotations

import shutil
import subprocess

from rocm_perf_lab import native
from rocm_perf_lab.debian_root import paths
from rocm_perf_lab.debian_root.repack import repack
from rocm_perf_lab.errors import UnavailableError
from rocm_perf_lab.extras import EXTRAS, absent_modules


def make() -> None:
    """Make the root, or bring it up to date; quick if there is nothing to do. The steps are printed to stderr.

    Raises UnavailableError, with the cause, if it cannot be made.
    """
    if not paths.SCRIPTS.is_dir():
        raise UnavailableError("this is a clone of the repository, not an installed package", "use `./dev shell` there")
    native.device_library()  # raises an error before gigabytes are downloaded for a package that cannot use them
    folder = paths.script().parents[1]
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copytree(paths.SCRIPTS, folder / "env", dirs_exist_ok=True)
    extras = ",".join(name for name in EXTRAS if not absent_modules(name))
    done = subprocess.run([paths.script(), "setup", f"{repack(folder)}[{extras}]"], stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise UnavailableError("the Debian root could not be made", "see the lines above; run it again to continue there")
