"""The layouts of a kernel's parameters in one instantiation, and of the source's device variables."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rocm_perf_lab.hip_source.cursors import parameters_of
from rocm_perf_lab.hip_source.demangle import parameter_types
from rocm_perf_lab.hip_source.kernels import function_of
from rocm_perf_lab.hip_source.layout import Types, types_of
from rocm_perf_lab.hip_source.source import HipSource, TranslationUnit
from rocm_perf_lab.hip_source.source_parts import SourceKernel

if TYPE_CHECKING:
    from rocm_perf_lab.hip_source.libclang import ClangType

_ALIAS = "rocm_perf_parameter_"
_SIZE = "rocm_perf_size_"
# Make C++ accept the spellings that demanglers use; the first one is for vector types.
_SPELLINGS = "#define __vector(n) __attribute__((ext_vector_type(n)))\nnamespace std { using bfloat16_t = __bf16; }"
_UNNAMED = "(anonymous namespace)::"  # names in it can be found without this prefix


def parameter_layouts(source: HipSource, kernel: SourceKernel, demangled: str) -> Types:
    """The layouts for one instantiation of a kernel.

    kernel: a kernel of the source. demangled: the demangled name of the instantiation; for a template, it supplies the
    parameter types.
    """
    types = _of_parameters(source, kernel, demangled)
    variables = source.device.device_variables
    own = types_of([variable.type for variable in variables], [variable.spelling for variable in variables])
    named = {
        variable.mangled_name: (variable.spelling, layout) for variable, layout in zip(variables, own.parameters, strict=True)
    }
    return replace(types, behind={**types.behind, **own.behind}, variables=named)


def _of_parameters(source: HipSource, kernel: SourceKernel, demangled: str) -> Types:
    if kernel.template is None:
        parameters = [parameter.type for parameter in parameters_of(function_of(source.device, kernel))]
        return types_of(parameters, [parameter.canonical for parameter in kernel.parameters])
    names = parameter_types(demangled)
    unit = source.device_followed_by(_aliases(names))
    return types_of(_aliased(unit, len(names)), names)


def _aliases(names: list[str]) -> str:
    """One alias per line, so that each of Clang's errors can be attributed to one alias, followed by code that makes Clang lay
    out the pointed-to types.
    """
    aliases = [f"using {_ALIAS}{i} = {name.replace(_UNNAMED, '')};\n" for i, name in enumerate(names)]
    sizes = [f"constexpr auto {_SIZE}{i} = sizeof(__remove_pointer({_ALIAS}{i}));\n" for i in range(len(names))]
    return f"\n{_SPELLINGS}\n" + "".join(aliases + sizes)


def _aliased(unit: TranslationUnit, count: int) -> list[ClangType | None]:
    """The type of each alias; None if Clang reports an error for it, because Clang then continues with some other type."""
    wrong = {line for file, line in unit.error_lines if file == str(unit.main)}
    types: list[ClangType | None] = [None] * count
    for cursor in unit.user_declarations:
        number = cursor.spelling.removeprefix(_ALIAS)
        if cursor.kind.name == "TYPE_ALIAS_DECL" and number != cursor.spelling and cursor.location.line not in wrong:
            types[int(number)] = cursor.underlying_typedef_type
    return types
