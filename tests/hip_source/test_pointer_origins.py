"""Which memory a launch's arguments point into: memory that may be the same is never two, and honest programs are
understood."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from rocm_perf_lab.gate.source.promises import Promises, broken_in_source
from rocm_perf_lab.hip_source import HipSource, read
from rocm_perf_lab.hip_source.source import OtherUnit

pytestmark = pytest.mark.usefixtures("hipcc")
COMMAND = ("hipcc", "-O2", "-nogpuinc", "-nogpulib", "-std=c++20", "-w", "--offload-arch=gfx942")
HEAD = """\
#include <new>
extern "C" {
typedef enum { hipSuccess } hipError_t;
struct dim3 { unsigned x, y, z; constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {} };
unsigned __hipPushCallConfiguration(dim3 grid, dim3 block, unsigned long lds = 0, void* stream = nullptr);
hipError_t hipLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments, unsigned long lds, void* stream);
int hipMemcpy(void* to, const void* from, unsigned long size, int kind);
int hipMalloc(void** address, unsigned long size);
int hipMallocHost(void** address, unsigned long size);
}
struct Temporary { ~Temporary(); operator bool() const; };
template <typename T> struct Sink { void operator=(T& x); };
#define PLACE (a)
#define NEW new (a)
#define PICK(x, y) (x ?: y)
__attribute__((global)) void k(const float* in, float* out) { out[0] = in[0]; }
BEFORE
int main(int argc, char** argv) {
  float *a, *b, *c;
  if (hipMalloc((void**)&a, 64) || hipMalloc((void**)&b, 64) || hipMalloc((void**)&c, 64)) return 1;
  CALLS
}
"""
WRITES = "static void run(float* x, float* z) { k<<<1, 64>>>(x, z); }\n"
UNTOLD = "template <typename T> void run(T* x, T* z, T* y) {{ {} k<<<1, 64>>>(x, z); }}\n"

# name -> (text before main, what main does with a, b and c)
SHARED = {
    # What a pointer points to, and elements and members
    "targets": ("static void run(float** x, float** z) { k<<<1, 64>>>(*x, *z); }", "run(&a, argc > 1 ? &a : &b);"),
    "targets by copies": ("", "float **x = &a, **z = &a; float *p = *x, *q = *z; k<<<1, 64>>>(p, q);"),
    "targets that are handed on": (WRITES + "static void all(float** x, float** z) { run(*x, *z); }", "all(&a, &a);"),
    "an element that is a target": ("static void run(float** x, float** z) { k<<<1, 64>>>(x[0], *(z + 0)); }", "run(&a, &a);"),
    "a member behind a pointer": ("struct Two { float *x, *z; };\nstatic void run(Two* t) { k<<<1, 64>>>(t->x, t->z); }", "Two t{a, a}; run(&t);"),
    "a signed target": ("static void run(float** x, float** z) { k<<<1, 64>>>(+*x, +*z); }", "run(&a, &a);"),
    "an index before its pointer": ("", "k<<<1, 64>>>(a, &0[a]);"),
    "parameters written as arrays": ("static void run(float x[64], float z[64]) { k<<<1, 64>>>(x, z); }", "run(a, a);"),
    "addresses in parameters written as arrays": ("static void run(float x[64], float z[64]) { k<<<1, 64>>>(&x[0], z + 1); }", "run(a, a);"),
    "a list of pointers as memory": ("", "float* all[1] = {a}; void* p = all; void* q = &all; k<<<1, 64>>>((float*)p, (float*)q);"),
    "bound names": ("struct Two { float *x, *z; };", "Two t{a, a}; auto [p, q] = t; k<<<1, 64>>>(p, q);"),
    # Choices and expressions without a name
    "a choice without a middle": ("", "k<<<1, 64>>>(b, argc > 5 ? c : (a ?: b)); float* p = nullptr; k<<<1, 64>>>(b, p ?: b);"),
    "a choice by a macro": ("", "float* p = nullptr; k<<<1, 64>>>(b, PICK(p, b));"),
    "an atomic load": ("", "float *p = a, *q = a; k<<<1, 64>>>(__atomic_load_n(&p, 0), __atomic_load_n(&q, 0));"),
    "a choice by type": ("", "float* p = nullptr; k<<<1, 64>>>(b, _Generic(p, float*: b, int: p));"),
    "a list of arguments": ("static void run(int n, ...) { __builtin_va_list x, z; __builtin_va_start(x, n); __builtin_va_start(z, n); k<<<1, 64>>>(__builtin_va_arg(x, float*), __builtin_va_arg(z, float*)); }", "run(1, a);"),
    # References and values of assignments
    "an assignment that is assigned to": ("", "float* p = c; (p = c) = a; k<<<1, 64>>>(a, p);"),
    "a step that is assigned to": ("", "float* p = c; (++p) = a; k<<<1, 64>>>(a, p);"),
    "a step that is referred to": ("", "float* p = c; float*& r = p += 1; r = a; k<<<1, 64>>>(a, p);"),
    "an assignment that is referred to": ("", "float* p = c; auto& r = (p = c); r = a; k<<<1, 64>>>(a, p);"),
    "a choice with a temporary": ("", "float *p = c, *q = b; float*& r = Temporary() ? p : q; r = a; k<<<1, 64>>>(a, p);"),
    "a choice that is assigned to": ("", "float *p = c, *q = b; (p ?: q) = a; k<<<1, 64>>>(a, p);"),
    "a choice by type that is assigned to": ("", "float* p = c; _Generic(0, int: p) = a; k<<<1, 64>>>(a, p);"),
    "a named reference": ("using Reference = float*&;", "float* p = c; Reference r = p; r = a; k<<<1, 64>>>(a, p);"),
    "a reference to a list": ("", "float* all[2] = {b, c}; auto& [p, q] = all; p = a; k<<<1, 64>>>(a, all[0]);"),
    "a distance that is added": ("", "float* p = c; p += a - c; k<<<1, 64>>>(a, p);"),
    # Templates
    "a template's reference in parentheses": (UNTOLD.format("auto& r(x); r = z;"), "run(c, a, b);"),
    "a template's own reference": (UNTOLD.format("decltype(auto) r = (x); r = z;"), "run(c, a, b);"),
    "a template's type": ("template <typename T> void run(float* x, float* z) { T r = x; r = z; k<<<1, 64>>>(x, z); }", "run<float*&>(c, a);"),
    "a template's operator": (UNTOLD.format("Sink<T*> s; s = x;"), "run(c, a, b);"),
    "an address of a template's parameter": ("template <typename T> void run(T x, float* z) { k<<<1, 64>>>(&x, z); }", "float m[64]; run<float&>(m[0], m);"),
    "a template's special case": ("static float pool[64];\ntemplate <typename T> T* made() { T* m; hipMalloc((void**)&m, 64); return m; }\ntemplate <> float* made<float>() { return pool; }\ntemplate <typename T> void run() { float* x = made<T>(); k<<<1, 64>>>(x, pool); }", "run<float>();"),
    "an open number of parameters": ("template <typename... A> void run(A... before, float* x, float* z) { k<<<1, 64>>>(x, z); }", "run<float*>(b, a, a);"),
    # Memory of one's own
    "placement new": ("", "float* x = new (a) float[4]; float* z = new (a + 1) float[4]; k<<<1, 64>>>(x, z);"),
    "placement new and what it is placed in": ("", "k<<<1, 64>>>(a, new (a) float[4]);"),
    "placement new by a macro": ("", "k<<<1, 64>>>(a, new PLACE float[4]);"),
    "placement new by another macro": ("", "k<<<1, 64>>>(a, NEW float[4]);"),
    "global placement new": ("", "k<<<1, 64>>>(a, ::new (a) float[4]);"),
    "the program's operator new": ("static float pool[64];\nvoid* operator new[](unsigned long n) { return pool; }", "k<<<1, 64>>>(new float[4], new float[4]);"),
    "an operator new that is only declared": ("void* operator new[](unsigned long n);", "k<<<1, 64>>>(new float[4], new float[4]);"),
    "a class's operator new": ("static float pool[64];\nstruct Own { float x; void* operator new(unsigned long) { return pool; } };", "k<<<1, 64>>>((float*)new Own, (float*)new Own);"),
    "an allocator in a namespace": ("namespace mine { int hipMallocHost(float** x, unsigned long n); }", "float *x, *z; mine::hipMallocHost(&x, 4); mine::hipMallocHost(&z, 4); k<<<1, 64>>>(x, z);"),
    "a lambda that is called like an allocator": ("static float pool[64];", "auto hipMalloc = [](float** x, int n) { *x = pool; return 0; }; float *x, *z; hipMalloc(&x, 4); hipMalloc(&z, 4); k<<<1, 64>>>(x, z);"),
    "a pointer that is called like an allocator": ("extern int (*hipHostMalloc)(float** x, int n);", "float *x, *z; hipHostMalloc(&x, 4); hipHostMalloc(&z, 4); k<<<1, 64>>>(x, z);"),
    "a member that is called like an allocator": ("struct Pool { int (*hipHostMalloc)(float** x, int n); } extern pool;", "float *x, *z; pool.hipHostMalloc(&x, 4); pool.hipHostMalloc(&z, 4); k<<<1, 64>>>(x, z);"),
    "an allocator of another symbol": ('extern "C" int hipHostMalloc(float** x, int n) asm("from_pool");', "float *x, *z; hipHostMalloc(&x, 4); hipHostMalloc(&z, 4); k<<<1, 64>>>(x, z);"),
    "a pointer that is called like HIP": ("struct Changer { Changer(float*& x, float* y) { x = y; } };", "float* hipA = c; Changer t(hipA, a); k<<<1, 64>>>(a, hipA);"),
    "two declarations of an array": ("extern float pool[64];\nstatic float* whole() { return pool; }\nfloat pool[64];", "k<<<1, 64>>>(whole(), pool);"),
    "a declaration in a function": ("float pool[64];\nstatic float* whole() { extern float pool[64]; return pool; }", "k<<<1, 64>>>(whole(), pool);"),
    "an array of another name": ('extern "C" { float pool[64]; extern float also[64] asm("pool"); }', "k<<<1, 64>>>(pool, also);"),
}  # fmt: skip
APART = {
    "two buffers": ("", "k<<<1, 64>>>(a, b);"),
    "plain new": ("", "k<<<1, 64>>>(new float[4], new float[4]());"),
    "global new": ("", "float* x = ::new float[4]; k<<<1, 64>>>(x, a);"),
    "new that is written": ("", "float* m = new float[8]; m[0] = 1; k<<<1, 64>>>(m, a);"),
    "the place of an element": ("", "k<<<1, 64>>>(&a[4], &b[argc]);"),
    "the place of a target": ("", "k<<<1, 64>>>(&*a, b);"),
    "arrays": ("static float pool[64], other[64];", "k<<<1, 64>>>(pool, &other[3]);"),
    "an array that is declared first": ("extern float pool[64];\nstatic float* whole() { return pool; }\nfloat pool[64];", "k<<<1, 64>>>(whole(), a);"),
    "parameters written as arrays": ("static void run(float x[64], float z[64]) { k<<<1, 64>>>(x, z); }", "run(a, b);"),
    "steps": ("", "float *p = a, *q = b; p += 4; q++; p = p + 1; for (p = a; p != a + 4; ++p) k<<<1, 64>>>(p, q);"),
    "assignments in a row": ("", "float *p, *q; p = q = a; if ((p = a)) k<<<1, 64>>>(p, b); (p = a, q = c); k<<<1, 64>>>(p, c);"),
    "a choice of others": ("", "float* p = Temporary() ? a : b; k<<<1, 64>>>(p, c); k<<<1, 64>>>(argc > 1 ? a : b, c);"),
    "a template": (UNTOLD.format("auto p = x; T* q = z; p = q = y; if (hipMemcpy(p, q, 4, 1)) x++; (void)p;"), "run(a, b, c);"),
    "a swap": ("", "float *p = a, *q = b, *t; t = p; p = t; k<<<1, 64>>>(p, q);"),
    "a copy that is checked": ("", "float *p = a; if (p == nullptr || !p) return 1; hipMemcpy(p, b, 4, 1); k<<<1, 64>>>(p, b);"),
}  # fmt: skip


def complaint(before: str, calls: str, foreign: Sequence[Path] = ()) -> str | None:
    text = HEAD.replace("BEFORE", before).replace("CALLS", calls).encode()
    source = read(Path("x.hip"), [*COMMAND, "x.hip"], text=text)
    if foreign:
        unit = OtherUnit(foreign[0], ("g++",), Path(), False, tuple(foreign))
        source = HipSource(source.path, source.command, source.folder, source.text, source.main, (unit,))
    return broken_in_source(source, "k", Promises(restrict=("in", "out")))


@pytest.mark.parametrize("name", SHARED)
def test_memory_that_may_be_the_same_is_not_two(name):
    reason = complaint(*SHARED[name])
    assert reason is not None and re.search(r"same|cannot be followed|may change|not a pointer|distance|variable", reason), (
        reason
    )


def test_functions_that_other_files_may_define_are_not_taken_for_the_library(tmp_path):
    """Files that are not compiled as HIP may define the program's own allocator or operator new."""
    other, new = tmp_path / "other.cpp", ("", "k<<<1, 64>>>(new float[4], a);")
    made = ("", "float* x; hipMallocHost((void**)&x, 4); k<<<1, 64>>>(x, a);")
    own = {"int hipMallocHost(void** x, unsigned long n);": made, "void* operator  new(unsigned long n);": new}
    for text, (before, calls) in own.items():
        other.write_text("int none;\n")
        assert complaint(before, calls, foreign=[other]) is None
        other.write_text(text)
        assert complaint(before, calls, foreign=[other]) is not None


@pytest.mark.parametrize("name", APART)
def test_separate_memory_is_recognised_as_separate(name):
    assert complaint(*APART[name]) is None
