"""Each way in which a code object cannot replace another is named, and so is each drawback that only its time can outweigh."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from rocm_perf_lab.code_object import KernelArgument, KernelMetadata, parse
from rocm_perf_lab.code_object.symbol_contents import SymbolContent
from rocm_perf_lab.errors import SourceError, UsageError
from rocm_perf_lab.gate.code_object.code_object_check import (
    BuiltCodeObject,
    changed_outside_kernel,
    check_code_object,
    concern_of,
    contract_breach,
    instantiations,
)
from rocm_perf_lab.gate.code_object.code_outside_kernel import compare_host
from rocm_perf_lab.gate.code_object.image_layout import layout_difference
from rocm_perf_lab.gate.code_object.run_dependent_values import new_observations
from rocm_perf_lab.gate.regression_limits import DEFAULTS
from rocm_perf_lab.gate.verdict import StepOutcome
from rocm_perf_lab.hip_source import read
from rocm_perf_lab.optimize.builders import SourceBuilder

ARGUMENTS = (KernelArgument("p", 0, 8, "global_buffer", "global"), KernelArgument("n", 8, 4, "by_value", None))
BASELINE = KernelMetadata(
    name="k", descriptor="k.kd", kernarg_bytes=272, lds_bytes=1024, scratch_bytes=0, dynamic_stack=False, vgprs=64, agprs=0,
    sgprs=32, vgpr_spills=0, sgpr_spills=0, wave_size=64, max_workgroup_size=256, required_workgroup_size=None, wgp_mode=None,
    arguments=ARGUMENTS, code=b"baseline",
)  # fmt: skip
HIDDEN = KernelArgument(None, 16, 4, "hidden_block_count_x", None)


@pytest.mark.parametrize(
    "candidate, reason",
    [
        (replace(BASELINE, arguments=ARGUMENTS[::-1]), "layout of its arguments differs"),
        (replace(BASELINE, arguments=(*ARGUMENTS, HIDDEN)), "reads hidden_block_count_x.* write the sizes as constants"),
        (replace(BASELINE, arguments=(*ARGUMENTS, replace(HIDDEN, value_kind="hidden_heap_v1"))), "launches do not pass$"),
        (replace(BASELINE, kernarg_bytes=280), "layout of its arguments differs"),
        (replace(BASELINE, wave_size=32), "32 lanes"),
        (replace(BASELINE, required_workgroup_size=(64, 1, 1)), "requires a different workgroup size"),
        (replace(BASELINE, max_workgroup_size=128), "at most 128 threads"),
    ],
)
def test_each_breach_of_contract_is_named(candidate, reason):
    assert re.search(reason, contract_breach(BASELINE, candidate, 256))
    assert contract_breach(BASELINE, BASELINE, 256) is None


@pytest.mark.parametrize(
    "candidate, waves, reason",
    [
        (replace(BASELINE, scratch_bytes=16), (32, 32), "16 bytes of scratch"),
        (replace(BASELINE, dynamic_stack=True), (32, 32), "scratch"),
        (replace(BASELINE, vgpr_spills=3), (32, 32), "spills 3 VGPRs"),
        (BASELINE, (32, 24), "occupancy falls from 32 to 24"),
        (replace(BASELINE, vgprs=80), (32, 28), "80 VGPRs"),
        (replace(BASELINE, lds_bytes=1400), (32, 28), "1400 bytes of LDS"),
        (replace(BASELINE, vgprs=90), (32, 32), None),
    ],
)
def test_each_concern_is_named(candidate, waves, reason):
    concern = concern_of(BASELINE, candidate, waves, DEFAULTS.resources)
    assert (concern is None) if reason is None else reason in concern


@pytest.mark.parametrize(
    "candidate, waves, allowed, short",
    [
        (BASELINE, (32, 24), "occupancy=0.25", "occupancy=0.24"),
        (replace(BASELINE, vgprs=80), (32, 28), "vgpr=0.25", "vgpr=0.24"),
        (replace(BASELINE, lds_bytes=1400), (32, 28), "lds=0.4,vgpr=0", "lds=0.3"),
    ],
)
def test_limits_are_chosen_by_the_user(candidate, waves, allowed, short):
    assert concern_of(BASELINE, candidate, waves, DEFAULTS.with_changes(allowed).resources) is None
    assert concern_of(BASELINE, candidate, waves, DEFAULTS.with_changes(short).resources) is not None


SOURCE = """
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
struct dim3 { unsigned x, y, z; };
extern "C" int hipLaunchKernel(const void*, dim3, dim3, void**, unsigned long, void*);
extern "C" int __hipPopCallConfiguration(dim3*, dim3*, unsigned long*, void**);
extern "C" int puts(const char*);
constexpr float numbers[] = {1, 2, 3, 5, 8};
__device__ float total;
__device__ __attribute__((noinline)) float shared_by_all(float x) { return x * numbers[int(x) % 5]; }
namespace a { __global__ void target(float* p, int n) { for (int i = 0; i < n; ++i) p[i] = shared_by_all(p[i]); } }
namespace b { __global__ void target(float* p) { p[0] = shared_by_all(p[1]) + 1; total = p[0]; } }
template <typename T> __global__ void made(T* p) { p[0] += T(1); }
template __global__ void made<float>(float*);
template __global__ void made<int>(int*);
extern "C" int caller(int n) { puts("called"); return n + __LINE__; }
"""
BODY = "for (int i = 0; i < n; ++i) p[i] = shared_by_all(p[i]);"
COMMAND = ("hipcc", "-O3", "-nogpuinc", "--offload-arch=gfx942", "-Wno-unused-command-line-argument")
BUILDER = SourceBuilder("gfx942")  # remembers the baseline's images


def source(text: str):
    return read(Path("x.hip"), COMMAND, Path.cwd(), text.encode())


def checked(candidate: str, kernel: str = "a::target", baseline: str = SOURCE):
    before = source(baseline)
    images = [BuiltCodeObject(parse(device), device) for device in map(BUILDER.code_object, (before, source(candidate)))]
    target = before.kernel(kernel)
    verdict, _ = check_code_object(*images, target, target.symbol, workgroup_threads=64, waves=(32, 32))
    return verdict


def replaced(old: str, new: str) -> str:
    assert SOURCE.count(old) == 1, old
    return SOURCE.replace(old, new)


FASTER = "for (int i = 0; i + 1 < n; i += 2) p[i] = shared_by_all(p[i]), p[i + 1] = shared_by_all(p[i + 1]); if (n & 1) p[n - 1] = shared_by_all(p[n - 1]);"


@pytest.mark.usefixtures("hipcc")
@pytest.mark.parametrize("new", [FASTER, "p[n] = 1;", "p[n] = shared_by_all(p[0]) * numbers[n % 5];"])
def test_a_changed_kernel_leaves_all_other_code_unchanged(new):
    """Its size changes, and with it the distances between other pieces of code."""
    seen = checked(replaced(BODY, new))
    assert seen.outcome is StepOutcome.PASSED, seen.reason
    assert seen.evidence.other_symbols_the_same >= 8


@pytest.mark.usefixtures("hipcc")
@pytest.mark.parametrize(
    "old, new, reason",
    [
        ("p[0] = shared_by_all(p[1]) + 1", "p[0] = shared_by_all(p[1]) + 2", "function _ZN1b6targetEPf has different bytes"),
        ("x * numbers[int(x) % 5]", "x + numbers[int(x) % 5]", "function _Z13shared_by_allf has different"),
        ("total = p[0]; ", "", "variable total, .*was removed|has (a )?different"),
        ("{1, 2, 3, 5, 8}", "{1, 2, 3, 5, 9}", "has different"),
        ("p[0] += T(1)", "p[0] += T(2)", "made"),
        ("template __global__ void made<int>(int*);", "", "kernels were added or removed: _Z4madeIiEvPT_"),
        ("float total;", "float total, more;", "variable more, which outlives a launch, was added"),
        (BODY, "static __device__ float kept; p[0] = kept; kept += n;", "outlives a launch"),
        (BODY, "p[0] = __builtin_readcyclecounter();", "uses a clock"),
        (BODY, "p[0] = __builtin_amdgcn_s_memrealtime();", "uses a clock"),
        (BODY, "p[0] = __builtin_amdgcn_s_getreg(63492);", "uses a hardware register"),
        (BODY, "p[0] = *(const __attribute__((address_space(4))) int*)__builtin_amdgcn_dispatch_ptr();", "uses its dispatch packet"),
        (BODY, "p[0] = *(const __attribute__((address_space(4))) int*)__builtin_amdgcn_queue_ptr();", "uses its queue|layout of its arguments differs"),
        (BODY, 'int r; asm volatile("s_mov_b32 %0, ttmp9" : "=s"(r)); p[0] = r;', "trap handler"),
        (BODY, "if (n == 12345) __builtin_trap(); p[0] = 1;", r"uses a trap .* could fail where the baseline does not.* \(use __shfl\(\)"),
        (BODY, 'asm volatile(".long 0xffffffff");', "not an instruction"),
        (BODY, BODY.replace("p[i]", "(p[i])"), "nothing can be gained"),
    ],
)  # fmt: skip
def test_whatever_else_changes_is_named(old, new, reason):
    candidate = replaced(old, new)
    if old != BODY:
        candidate = candidate.replace(BODY, FASTER)
    seen = checked(candidate)
    assert seen.outcome is StepOutcome.REJECTED and re.search(reason, seen.reason), seen.reason
    if old != BODY:  # as in each other unit of the program
        before = source(SOURCE).kernel("a::target")
        images = [
            BuiltCodeObject(parse(device), device) for device in map(BUILDER.code_object, map(source, (SOURCE, candidate)))
        ]
        assert re.search(reason, changed_outside_kernel(*images, before, before.symbol))


ENDS, CLOCK = bytes.fromhex("000081bf"), bytes.fromhex("000090c000000000")  # s_endpgm, s_memtime s[0:1]
FORGED = "{7, 4, 32, 0x47444d41, 0x5550, 0}"  # an empty note of metadata
AWAY = "__device__ __attribute__((noinline, noreturn%s)) void away() { %s }\n"
UNSEEN = 'static constexpr unsigned code[] __attribute__((section(".gcc_except_table.y"), used)) = {0xBF810000u}; asm volatile("s_nop 0");'


def table(section: str, content: str, alignment: int = 4) -> str:
    attributes = f'section("{section}"), used, aligned({alignment})'
    return f"static constexpr unsigned t[] __attribute__(({attributes})) = {content}; p[0] = n;"


@pytest.mark.usefixtures("hipcc")
@pytest.mark.parametrize(
    "before, body, reason",
    [
        ("", table(".elsewhere", "{1}"), "a section .elsewhere that the baseline's does not have"),
        ("", table(".init_array", "{1}"), "a section .init_array|a section .rela.init_array"),
        (AWAY % (', section(".gcc_except_table.x")', UNSEEN), "p[0] = n; away();", "a section .gcc_except_table"),
        (AWAY % ("", UNSEEN.replace(".gcc_except_table.y", ".text.y")), "p[0] = n; away();", "cannot be built|belong to no function"),
        (AWAY % ("", 'asm volatile("s_nop 0");'), "p[0] = n; away();", "function .*away.* does not end with its last"),
        (AWAY % ("", "__builtin_unreachable();"), "p[0] = n; away();", "has no instructions"),
        ("namespace b { __global__ void target(float*); }\n", "auto f = &b::target; p[0] = *(unsigned*)f;", r"refers to the kernel b::target"),
        ("", "static constexpr int t[8] = {3, 1, 4, 1, 5, 9, 2, 6}; p[0] = t[n & 7];", None),
        ("", "__attribute__((shared)) static int t[8]; t[n & 7] = n; p[0] = t[1];", None),
    ],
)  # fmt: skip
def test_the_layout_of_the_code_must_come_from_the_compiler(before, body, reason):
    seen = checked(replaced(BODY, body).replace("namespace a {", f"{before}namespace a {{"))
    assert seen.outcome is (StepOutcome.REJECTED if reason else StepOutcome.PASSED), seen.reason
    assert reason is None or re.search(reason, seen.reason), seen.reason


@pytest.mark.usefixtures("hipcc")
@pytest.mark.parametrize(
    "text, reason",
    [
        (table(".note", FORGED, 8), "not aligned to 4 bytes"),
        (table(".note", FORGED), "has 2 notes with metadata"),
        (table(".note", "{7, 400, 32, 0x47444d41, 0x5550, 0}"), "do not fill their segment"),
        ("p[0] = n;", None),
    ],
)
def test_only_notes_that_every_reader_interprets_alike_are_accepted(text, reason):
    before, after = map(BUILDER.code_object, (source(SOURCE), source(replaced(BODY, text))))
    complaint = layout_difference(before, after)
    assert (reason in complaint) if reason else (complaint is None)


@pytest.mark.usefixtures("hipcc")
def test_a_kernel_may_still_end_with_a_call_that_does_not_return():
    away = AWAY % ("", "__builtin_trap();")
    before, after = (
        replaced(BODY, f"p[0] = {text}; if (n > 3) away();").replace("namespace a {", f"{away}namespace a {{")
        for text in ("n", "n + 1")
    )
    seen = checked(after, baseline=before)
    assert seen.outcome is StepOutcome.PASSED, seen.reason


@pytest.mark.usefixtures("hipcc")
@pytest.mark.parametrize("order, fence", [("RELEASE", "buffer_wbl2 sc0 sc1"), ("ACQUIRE", "buffer_inv sc0 sc1")])
def test_a_fence_for_the_host_has_to_stay(order, fence):
    """The host may read while the kernel runs, which no replay reproduces."""
    before = replaced(BODY, f'p[7] = p[n]; __builtin_amdgcn_fence(__ATOMIC_{order}, ""); p[1] = p[n + 1];')
    kept, lost = before.replace("p[7] =", "p[8] ="), before.replace(', "");', ', "agent");')
    assert checked(kept, baseline=before).outcome is StepOutcome.PASSED
    seen = checked(lost, baseline=before)
    assert seen.outcome is StepOutcome.REJECTED and f"where the baseline has `{fence}` there is nothing" in seen.reason


@pytest.mark.usefixtures("hipcc")
def test_an_assertion_that_moves_is_reported_as_such():
    """The compiler propagates what the only kernel passes into the function that reports the failure."""
    report = 'extern "C" __device__ __attribute__((noinline)) void __assert_fail(float* p) { p[0] = PLACE; }\n'
    before = replaced(BODY, BODY + " if (n == 7) __assert_fail(p);").replace("namespace a {", f"{report}namespace a {{")
    seen = checked(before.replace("PLACE", "2").replace(BODY, FASTER), baseline=before.replace("PLACE", "1"))
    assert (
        seen.outcome is StepOutcome.REJECTED
        and "__assert_fail has different" in seen.reason
        and "on the line where" in seen.reason
    )


def test_code_behind_a_table_of_addresses_is_checked():
    def function(name: str, code: bytes, *references: str) -> SymbolContent:
        return SymbolContent(name, "STT_FUNC", len(code), code, tuple((0, f"10 {name}+0") for name in references), False)

    kernel = function("k", ENDS, ".Lt")
    there = {"k": function("k", ENDS), "clocked": function("clocked", CLOCK + ENDS)}
    table_of = SymbolContent(".Lt #2", "STT_OBJECT", 8, bytes(8), ((0, "3 clocked+0"),), False)
    target = "amdgcn-amd-amdhsa--gfx942"
    found = new_observations(there, {"k": kernel, ".Lt #2": table_of, "clocked": there["clocked"]}, "k", target)
    assert list(found) == ["a clock"]
    assert list(new_observations({"k": kernel}, there, "k", target)) == ["a clock"]  # new, and apparently never called
    assert not new_observations(there, there, "k", target)


@pytest.mark.usefixtures("hipcc")
@pytest.mark.parametrize(
    "old, new, reason",
    [
        ("return n + __LINE__", "return n - __LINE__", "differs in .text"),
        ('"called"', '"CALLED"', "host's object code differs"),
        ('extern "C" int caller', '\nextern "C" int caller', "differs in .text"),
        ("float total;", "float total, more;", "host's object code differs"),
        (BODY, FASTER, None),
    ],
)  # fmt: skip
def test_changed_host_code_is_named(old, new, reason):
    before, after = map(BUILDER.host, (source(SOURCE), source(replaced(old, new))))
    complaint = compare_host(before, after)
    assert (reason in complaint) if reason else (complaint is None)


@pytest.mark.usefixtures("hipcc")
def test_all_instantiations_of_a_template_belong_to_its_kernel():
    code = parse(BUILDER.code_object(source(SOURCE)))
    made = source(SOURCE).kernel("made")
    assert sorted(instantiations(code, made, "_Z4madeIfEvPT_")) == ["_Z4madeIfEvPT_", "_Z4madeIiEvPT_"]
    assert list(instantiations(code, source(SOURCE).kernel("a::target"), "_ZN1a6targetEPfi")) == ["_ZN1a6targetEPfi"]


def test_a_limit_is_a_name_and_a_fraction_and_scratch_has_none():
    assert DEFAULTS.document() == {"runtime": 0.05, "vgpr": 0.2, "occupancy": 0.15, "lds": 0.3, "dram": 0.1}
    for text in ("scratch=1", "vgpr", "vgpr=-1", "vgpr=inf", "vgpr=nan", "", "vgpr=0.1,"):
        with pytest.raises(UsageError, match="is not a limit"):
            DEFAULTS.with_changes(text)


def test_a_build_for_several_gpus_cannot_be_judged_on_one_of_them():
    several = read(Path("x.hip"), (*COMMAND, "--offload-arch=gfx1100"), Path.cwd(), SOURCE.encode())
    with pytest.raises(SourceError, match="is built for .*gfx1100.*gfx942.*: a change could be judged only for gfx942"):
        BUILDER.code_object(several)
