"""The kernels of a code object: their machine code, and the metadata note that the runtime itself uses to launch them.

Source: LLVM's AMDGPUUsage.rst, "Code Object V3 Metadata" and later.
"""

from __future__ import annotations

import functools
import io
from dataclasses import dataclass, field
from typing import Any

from rocm_perf_lab.code_object.fat_binary import not_whole
from rocm_perf_lab.errors import SourceError

_NOTE_TYPE = 32  # NT_AMDGPU_METADATA


@dataclass(frozen=True)
class KernelArgument:
    """One kernel argument: bytes [offset, offset + size) of the kernarg segment. Hidden arguments are set by the runtime."""

    name: str | None
    offset: int
    size: int
    value_kind: str
    address_space: str | None

    @property
    def hidden(self) -> bool:
        return self.value_kind.startswith("hidden_")


@dataclass(frozen=True)
class KernelMetadata:
    """The arguments and launch limits of one kernel. Sizes are in bytes; register counts are the compiler's.

    vgprs: all VGPRs of a lane, including AGPRs if both share a register file (gfx90a and later). code: the kernel's machine
    code, at code_address in the code object.
    """

    name: str
    descriptor: str
    kernarg_bytes: int
    lds_bytes: int
    scratch_bytes: int
    dynamic_stack: bool
    vgprs: int
    agprs: int
    sgprs: int
    vgpr_spills: int
    sgpr_spills: int
    wave_size: int
    max_workgroup_size: int
    required_workgroup_size: tuple[int, int, int] | None
    wgp_mode: bool | None
    arguments: tuple[KernelArgument, ...]
    code: bytes
    code_address: int = field(default=0, compare=False)

    @property
    def kernarg_layout(self) -> tuple[tuple[int, int, str], ...]:
        """(offset, size, kind) of every argument, which determines how a caller's kernarg bytes are read."""
        return tuple((a.offset, a.size, a.value_kind) for a in self.arguments)


@dataclass(frozen=True)
class CodeObject:
    """target: as in the metadata, such as "amdgcn-amd-amdhsa--gfx942". kernels: by symbol name. image: the ELF file."""

    target: str
    kernels: dict[str, KernelMetadata]
    image: bytes = field(default=b"", repr=False, compare=False)


@functools.lru_cache(maxsize=16)  # one verdict requires the same few objects again and again
def parse(image: bytes) -> CodeObject:
    """Parse a code object. Raises SourceError if the image is not an AMD code object with metadata."""
    import msgpack
    from elftools.elf.elffile import ELFFile

    try:
        elf = ELFFile(io.BytesIO(image))
        document = msgpack.unpackb(_note(elf), strict_map_key=False)
        code = _code(elf)
        kernels = [_kernel(entry, code) for entry in document.get("amdhsa.kernels", [])]
        return CodeObject(document["amdhsa.target"], {kernel.name: kernel for kernel in kernels}, image)
    except SourceError:
        raise
    except Exception as error:  # the ELF and msgpack readers raise all kinds of exceptions for damaged files
        raise SourceError(f"code object without readable metadata: {not_whole(error)}", "build it again") from error


def _note(elf: Any) -> bytes:
    for segment in elf.iter_segments("PT_NOTE"):
        for note in segment.iter_notes():
            if note["n_type"] in (_NOTE_TYPE, "NT_AMDGPU_METADATA") and note["n_name"] == "AMDGPU":
                description = note["n_descdata"] if "n_descdata" in note else note["n_desc"]
                return description if isinstance(description, bytes) else description.encode("latin-1")
    raise SourceError("code object without AMDGPU metadata", "build it again")


def _code(elf: Any) -> dict[str, tuple[int, bytes]]:
    """The address and machine code for each function symbol."""
    table = elf.get_section_by_name(".symtab") or elf.get_section_by_name(".dynsym")
    result = {}
    for symbol in table.iter_symbols():
        section_index = symbol["st_shndx"]
        if symbol["st_info"]["type"] == "STT_FUNC" and isinstance(section_index, int):
            section = elf.get_section(section_index)
            start = symbol["st_value"] - section["sh_addr"]
            result[symbol.name] = symbol["st_value"], section.data()[start : start + symbol["st_size"]]
    return result


def _kernel(entry: dict[str, Any], code: dict[str, tuple[int, bytes]]) -> KernelMetadata:
    address, machine_code = code.get(entry[".name"], (0, b""))
    required = entry.get(".reqd_workgroup_size")
    return KernelMetadata(
        name=entry[".name"],
        descriptor=entry[".symbol"],
        kernarg_bytes=entry[".kernarg_segment_size"],
        lds_bytes=entry[".group_segment_fixed_size"],
        scratch_bytes=entry[".private_segment_fixed_size"],
        dynamic_stack=bool(entry.get(".uses_dynamic_stack", False)),
        vgprs=entry[".vgpr_count"],
        agprs=entry.get(".agpr_count", 0),
        sgprs=entry[".sgpr_count"],
        vgpr_spills=entry.get(".vgpr_spill_count", 0),
        sgpr_spills=entry.get(".sgpr_spill_count", 0),
        wave_size=entry[".wavefront_size"],
        max_workgroup_size=entry[".max_flat_workgroup_size"],
        required_workgroup_size=tuple(required) if required else None,
        wgp_mode=bool(entry[".workgroup_processor_mode"]) if ".workgroup_processor_mode" in entry else None,
        arguments=tuple(_argument(argument) for argument in entry.get(".args", [])),
        code=machine_code,
        code_address=address,
    )


def _argument(entry: dict[str, Any]) -> KernelArgument:
    return KernelArgument(
        entry.get(".name"), entry[".offset"], entry[".size"], entry[".value_kind"], entry.get(".address_space")
    )
