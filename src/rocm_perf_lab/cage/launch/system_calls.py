"""System calls for which Python has no functions."""

import ctypes
import os

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP = 1, 4, 24
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 22, 38, 47
_CAP_AMBIENT_CLEAR_ALL, _CAPABILITY_VERSION_3, _SIGKILL = 4, 0x20080522, 9
_SYS_CAPSET, _SYS_PIVOT_ROOT, _SYS_MOUNT_SETATTR = 126, 155, 442  # x86-64

_libc = ctypes.CDLL(None, use_errno=True)


def _checked(result: int, call: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{call}: {os.strerror(number)}")
    return result


def prctl(option: int, *arguments: int) -> int:
    words = [ctypes.c_ulong(argument) for argument in (*arguments, 0, 0, 0, 0)[:4]]
    return _checked(_libc.prctl(option, *words), f"prctl {option}")


def die_with_parent(parent: int) -> None:
    """Arrange to be killed when `parent`, which forked this process, ends; exit at once if it has already ended."""
    prctl(PR_SET_PDEATHSIG, _SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def unshare(flags: int) -> None:
    _checked(_libc.unshare(ctypes.c_int(flags)), "unshare")


def mount(source: str | None, target: str, kind: str | None = None, flags: int = 0, options: str | None = None) -> None:
    words = [None if word is None else os.fsencode(word) for word in (source, target, kind, options)]
    source_word, target_word, kind_word, options_word = words
    result = _libc.mount(source_word, target_word, kind_word, ctypes.c_ulong(flags), options_word)
    _checked(result, f"mount {kind or source} on {target}")


def mount_setattr(target: str, attributes: int) -> None:
    """Set attributes of a mount and of all mounts below it."""
    fields = (ctypes.c_uint64 * 4)(attributes, 0, 0, 0)
    arguments = (ctypes.c_int(-100), os.fsencode(target), ctypes.c_uint(0x8000), fields, ctypes.c_size_t(32))
    _checked(_libc.syscall(ctypes.c_long(_SYS_MOUNT_SETATTR), *arguments), f"mount_setattr {target}")


def pivot_root(new: str, old: str) -> None:
    _checked(_libc.syscall(ctypes.c_long(_SYS_PIVOT_ROOT), os.fsencode(new), os.fsencode(old)), "pivot_root")


def detach(target: str) -> None:
    _checked(_libc.umount2(os.fsencode(target), 2), f"umount {target}")


def set_host_name(name: bytes) -> None:
    _checked(_libc.sethostname(name, len(name)), "sethostname")


def drop_capabilities() -> None:
    """Drop all capabilities of this process, of the programs that it will execute and of the processes that it will fork."""
    with open("/proc/sys/kernel/cap_last_cap") as file:
        last = int(file.read())
    prctl(PR_CAP_AMBIENT, _CAP_AMBIENT_CLEAR_ALL)
    for number in range(last + 1):
        prctl(PR_CAPBSET_DROP, number)
    header, none = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0), (ctypes.c_uint32 * 6)()
    _checked(_libc.syscall(ctypes.c_long(_SYS_CAPSET), header, none), "capset")
