"""Selects the environment variables that reach a caged command."""

from __future__ import annotations

TYPE_CHECKING = False  # like typing.TYPE_CHECKING, but typing is slow to import
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

_NAMES = frozenset(
    (
        "PATH", "LANG", "LANGUAGE", "TZ", "TERM", "USER", "LOGNAME", "SOURCE_DATE_EPOCH", "LD_LIBRARY_PATH", "LD_PRELOAD",
        "LIBRARY_PATH", "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "CC", "CXX", "CFLAGS", "CXXFLAGS", "CPPFLAGS",
        "LDFLAGS", "CUDA_VISIBLE_DEVICES", "DEVICE_LIB_PATH",
    )
)  # fmt: skip
_PREFIXES = ("LC_", "HIP", "HSA_", "HSAKMT_", "ROCR_", "ROCM_", "AMD_", "GPU_", "OMP_", "ASAN_", "UBSAN_", "TSAN_")
_SECRETS = (
    "KEY",
    "APIK",
    "_PW_",
    "TOKEN",
    "SECRET",
    "PASS",
    "CREDENTIAL",
    "AUTH",
    "COOKIE",
    "_PAT_",
    "PWD",
    "BEARER",
    "SESSION",
    "LOGIN",
    "JWT",
)
_INSIDE = {"HOME": "/tmp", "TMPDIR": "/tmp", "TMP": "/tmp", "TEMP": "/tmp"}


def is_kept(name: str, more: Collection[str] = ()) -> bool:
    """Whether a variable with this name is passed on. more: names that are always passed on."""
    if name in more:
        return True
    known = name in _NAMES or name.startswith(_PREFIXES)
    return known and not any(word in f"_{name.upper()}_" for word in _SECRETS)


def environment_inside(environment: Mapping[str, str], more: Collection[str] = ()) -> dict[str, str]:
    """The environment that a command sees. HOME, TMPDIR, TMP and TEMP are /tmp in the cage, unless `more` names them."""
    variables = {name: value for name, value in environment.items() if is_kept(name, more)}
    variables |= {name: value for name, value in _INSIDE.items() if name not in more}
    # Unless it has its own folder, HIP's cache of code compiled at run time is off: in a temporary home, it would not pay.
    return variables if "AMD_COMGR_CACHE_DIR" in variables else variables | {"AMD_COMGR_CACHE": "0"}
