"""Disassembles machine code with AMD's code object manager (comgr), which every ROCm installation contains."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterator

from rocm_perf_lab.errors import UnavailableError

_LIBRARIES = ("libamd_comgr.so.3", "libamd_comgr.so.2", "libamd_comgr.so")
_READ_MEMORY = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p)
_TEXT = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_void_p)
_ADDRESS = ctypes.CFUNCTYPE(None, ctypes.c_uint64, ctypes.c_void_p)


class _Info(ctypes.Structure):
    _fields_ = (("handle", ctypes.c_uint64),)


def instructions(code: bytes, target: str) -> Iterator[str]:
    """Each instruction as assembly text; "" for four bytes that are not an instruction.

    target: such as "amdgcn-amd-amdhsa--gfx942". Raises UnavailableError if comgr is missing or does not know the target.
    """
    return (text for _, text in with_offsets(code, target))


def with_offsets(code: bytes, target: str) -> Iterator[tuple[int, str]]:
    """Like instructions(), with the byte offset of each instruction in the code."""
    comgr, offset, words = _comgr(), 0, []

    def read(start: int, to: int, size: int, _user: int) -> int:
        part = code[start : start + size]
        ctypes.memmove(to, part, len(part))
        return len(part)

    # These references keep the callbacks alive for as long as they may be called.
    callbacks = _READ_MEMORY(read), _TEXT(lambda text, _user: words.append(text.decode().strip())), _ADDRESS(lambda *_: None)
    info, size = _Info(), ctypes.c_uint64()
    if comgr.amd_comgr_create_disassembly_info(target.encode(), *callbacks, ctypes.byref(info)):
        raise UnavailableError(f"comgr cannot disassemble {target}", "install a ROCm version that supports this GPU")
    try:
        while offset < len(code):
            words.clear()
            failed = comgr.amd_comgr_disassemble_instruction(info, ctypes.c_uint64(offset), None, ctypes.byref(size))
            yield offset, "" if failed or not words else words[0]
            offset += 4 if failed or not size.value else size.value
    finally:
        comgr.amd_comgr_destroy_disassembly_info(info)


@functools.cache
def _comgr() -> ctypes.CDLL:
    for name in _LIBRARIES:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise UnavailableError("libamd_comgr was not found", "install ROCm's comgr, or add its folder to LD_LIBRARY_PATH")
