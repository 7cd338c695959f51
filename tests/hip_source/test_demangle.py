"""Names and parts of names from demangled symbols."""

from __future__ import annotations

import pytest

from rocm_perf_lab.hip_source.demangle import demangled, parameter_types


@pytest.mark.parametrize(
    "symbol, name", [("_Z1fPf", "f(float*)"), ("f", "f"), ("i", "i"), ("Pf", "Pf"), ("scale", "scale"), ("_Z", "_Z")]
)
def test_only_mangled_names_are_demangled(symbol, name):
    """The C++ runtime would take `f` for the encoded type float."""
    assert demangled(symbol) == name


@pytest.mark.parametrize(
    "demangled, types",
    [
        ("k(float const*, float*, int)", ["float const*", "float*", "int"]),
        (
            "void reduce<float, (int)4>(float const*, std::pair<int, long>*, int)",
            ["float const*", "std::pair<int, long>*", "int"],
        ),
        ("void (anonymous namespace)::k<int>(int*, void (*)(int, float))", ["int*", "void (*)(int, float)"]),
        ("k()", []),
        ("plain_c_name", []),
    ],
)
def test_parameter_types(demangled, types):
    assert parameter_types(demangled) == types
