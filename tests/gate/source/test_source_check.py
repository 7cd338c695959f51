"""What a candidate's source may change: the target kernel's body, promises in its head, and device functions it adds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rocm_perf_lab.gate.source.candidate_reader import CandidateReader
from rocm_perf_lab.gate.source.expanded_text_check import ExpandedTextCheck
from rocm_perf_lab.gate.source.promises import NO_PROMISES
from rocm_perf_lab.gate.source.source_check import SourceStepResult, check_source
from rocm_perf_lab.gate.verdict import StepOutcome
from rocm_perf_lab.hip_source import read
from rocm_perf_lab.optimize.builders import SourceBuilder

pytestmark = pytest.mark.usefixtures("hipcc")

# Without HIP's headers, a source is read in a tenth of a second; the attributes are those behind HIP's macros.
BASELINE = """
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __launch_bounds__(n) __attribute__((launch_bounds(n)))
#define SIZE 4
#define END }
#define PRAGMA(x) _Pragma(#x)
#define SOLE __restrict__
typedef int* __restrict__ Sole;
#define ATTRIBUTE(x) __attribute__((x))
#define ASSEMBLY(x) asm volatile(x)
extern "C" int memcmp(const void*, const void*, unsigned long);
__constant__ int table[4] = {1, 2, 3, 4};
extern "C" __device__ int __ockl_activelane_u32();
__device__ int helper(int x) { return x + SIZE; }
__device__ int positive(int x) { if (x < 0) __builtin_unreachable(); return x; }
__device__ int positive_too(int x) { return [](int y) -> int { if (y >= 0) return y; }(x); }
__device__ int through(int x) { return positive(x); }
__global__ void first(int* p) { p[0] = 7; }
template <typename T> __global__ void each(T* p) { p[0] = T(7); }
namespace app {
__global__ __launch_bounds__(64) void target(int* p, int n) { for (int i = 0; i < n; ++i) p[i] = helper(p[i]); }
}
namespace twin { __global__ void target(int* p) { p[0] = helper(p[0]); } }
__global__ void overloaded(int* p, int n) { for (int i = 0; i < n; ++i) p[i] += 1; }
__global__ void overloaded(float* p, int n) { for (int i = 0; i < n; ++i) p[i] += 1; }
template <typename T> __global__ void made(T* p, int n) { for (int i = 0; i < n; ++i) p[i] += 1; }
extern "C" __global__ void plain(int* p, int n) { for (int i = 0; i < n; ++i) p[i] += 1; }
__global__ void assuming(int* p, int n) {
  if (n < 0) { __builtin_unreachable(); }  // never
  __builtin_assume(n > 1);
  p[0] = through(n);
}
struct Tag {};
template <typename T> __device__ float mix(T x) { return float(x) * 0.5f; }
template <typename T> __device__ float bias(float x, T) { return x + 1.0f; }
template <typename F> __device__ int applied(int x, F f) { return f(x) + int(mix(x) + bias(x, Tag{})); }
__global__ void other(int* p) { p[0] = applied(p[0], [](int x) { return x + 1; }); struct { int a; } q{p[1]}; p[1] = q.a; }
__device__ int assembled() { int r; __asm__ volatile("v_mov_b32 %0, 1" : "=v"(r)); return r; }
static int counted() { static int n; return ++n; }
int host(int n) { return n * SIZE + memcmp(&n, &n, sizeof(int)) + (__is_same(int, int) ? 1 : 2); }
int main() { return host(0) + counted(); }
"""
BODY = "for (int i = 0; i < n; ++i) p[i] = helper(p[i]);"
FASTER = "for (int i = n - 1; i >= 0; --i) p[i] = helper(p[i]);"
COMMAND = ["hipcc", "-nogpuinc", "-nogpulib", "--offload-arch=gfx942"]


@pytest.fixture(scope="module")
def taken():
    """taken(candidate, kernel) -> what the step adopts."""
    baseline = read(Path("x.hip"), COMMAND, text=BASELINE.encode())
    builder = SourceBuilder("gfx942")
    with CandidateReader(baseline) as reader:

        def take(candidate: str, kernel: str = "app::target") -> SourceStepResult:
            target = baseline.kernel(kernel)
            change = reader.change(candidate.encode("latin-1"), target.identity)
            expanded = ExpandedTextCheck(baseline, target, builder.preprocessed)
            return check_source(baseline, target, change, NO_PROMISES, lambda: {"called_in_a_header"}, expanded.complaint)

        yield take


def replaced(*pairs: tuple[str, str], faster: bool = True) -> str:
    """faster: with an honest change of the body as well, so that nothing is rejected for changing nothing."""
    text = BASELINE
    for old, new in (*pairs, *([(BODY, FASTER)] if faster else [])):
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def line_of(text: str) -> int:
    """Replaces texts in the baseline."""
    return BASELINE.count("\n", 0, BASELINE.index(text)) + 1


def body(text: str) -> str:
    return replaced((BODY, text), faster=False)


def before_app(text: str, call: str = FASTER) -> str:
    return replaced(("namespace app", f"{text}\nnamespace app"), (BODY, call), faster=False)


HONEST = {
    "pragma": body("\n#pragma unroll 4\n" + BODY),
    "loop pragma": body("\n#pragma clang loop unroll_count(2)\n" + BODY),
    "pragma operator": body('_Pragma("unroll 4") ' + BODY),
    "pragma by a macro": body("PRAGMA(unroll 4) " + BODY),
    "attributes of a kernel": body(
        "typedef float V __attribute__((ext_vector_type(4), __aligned__(4))); [[maybe_unused]] alignas(16) V v = {}; "
        "struct __attribute__((packed, may_alias)) S { int a; }; ((S*)p)->a = n; if (n > 4) [[likely]] p[1] = 2;"
    ),
    "attributes of a new function": before_app(
        "__device__ __attribute__((noinline, hot)) int extra [[gnu::nothrow]] (int x) { return x; }", "p[0] = extra(n);",
    ),
    "attribute by a macro": body("ATTRIBUTE(aligned(8)) int two[2] = {n, n}; p[0] = two[n & 1];"),
    "indices that look like attributes": body('const char s[] = "[[weak]]"; auto f = [&](int x) { return s[x]; }; p[f(0)] = R"x(]] __attribute__((weak)))x"[n];'),
    "body": body("int i = 0; while (i < n) { p[i] = helper(p[i]); ++i; }"),
    "renamed local": body(BODY.replace("i", "j").replace("jnt", "int")),
    "device function": before_app("__device__ int extra(int x) { return helper(x); }", "p[0] = extra(n);"),
    "device function behind a declaration": before_app(
        "__device__ int extra(int x);\n__device__ inline int more(int x) { return extra(x); }\n__device__ int extra(int x) { return x; }",
        "p[0] = more(n);",
    ),
    "branches of a template": before_app(
        "template <bool First> __device__ int extra(int x) { if constexpr (First) return x; else { return x + 1; } }",
        "p[0] = extra<true>(n) + extra<false>(n);",
    ),
    "template of a device function": before_app("template <int N> __device__ int extra(int x) { return x * N; }", "p[0] = extra<3>(n);"),
    "device function in the kernel's namespace": body(BODY).replace(
        "namespace app {", "namespace app {\n__device__ int extra(int x) { return helper(x); }"
    ).replace("p[i] = helper", "p[i] = extra"),
    "static LDS": body("static __shared__ int tile[64]; tile[0] = n; p[0] = tile[0];"),
    "constant table": body("static constexpr int k[2] = {1, 2}; p[0] = k[n & 1];"),
    "comments and white space elsewhere": replaced(("int host(int n)", "// host\n\nint   host /* ! */ (int n)")),
    "a promise": replaced(("void target(int* p, int n)", "void target(int* __restrict__ const p, const int n)")),
    "assembly that waits": body('asm volatile("s_waitcnt vmcnt(0) lgkmcnt(0)\\n s_nop 0; s_setprio 1"); p[0] = n;'),
    "assembly that is empty": body('int r = n; asm volatile("" : "+v"(r)); p[0] = r;'),
    "local types": body("struct Two { int a, b; }; Two two{n, n}; p[0] = two.a + two.b;"),
    "lambdas that return": body(
        "auto f = [&](int x) -> int { if (x) return 1; else { return helper(x); } }; auto g = [&](int x) { p[x] = 1; };"
        " auto h = [](int x) { switch (x) { case 1: return 4; default: return 5; } }; auto v = [&](int x) -> void { if (x) return; };"
        " auto w = [&](auto x) { p[x] = 2; }; p[0] = f(n) + h(n); g(1); v(2); w(3);"
    ),
    "template function without a result": before_app("template <int N> __device__ auto extra(int* p) { p[0] = N; }", "extra<3>(p);"),
    "lambda": body("auto f = [&](int x) { return helper(x); }; p[0] = f(n);"),
}  # fmt: skip
# name -> (candidate, words of the reason)
CHEATS = {
    "section": (body('static constexpr int k[2] __attribute__((section(".note"))) = {1, 2}; p[0] = k[n & 1];'), "attribute `section`"),
    "restrict in a new function": (before_app("__device__ void extra(int* __restrict__ p, int n) { p[n] = 1; }", "extra(p, n);"), "line @namespace app@ makes p restrict"),
    "restrict in a lambda": (body("[&](int* __restrict q) { q[0] = n; }(p);" + FASTER), "line @void target(int* p@ makes q restrict"),
    "restrict by a variable": (body("int* __restrict__ q = p; q[0] = n; " + FASTER), "makes q restrict"),
    "restrict by a type that is there": (body("Sole q = p; q[0] = n; " + FASTER), "makes q restrict"),
    "restrict by a macro that is there": (body("struct { int* SOLE q; } s{p}; s.q[0] = n; " + FASTER), "makes q restrict"),
    "constant memory": (body("p[1] = *(const __attribute__((address_space(4))) int*)p; " + FASTER), "attribute `address_space`"),
    **{
        f"promise by {text}": (body(f"{text}; p[0] = n;"), "a promise that is not checked|the attribute `.*assume`")
        for text in (
            "__attribute__((assume(n < 9)))", "__attribute__((__assume__(n < 9)))", "[[assume(n < 9)]]", "[[__assume__(n < 9)]]",
            "[[clang::assume(n < 9)]]", "[[clang::__assume__(n < 9)]]", "[[_Clang::__assume__(n < 9)]]", "[[using clang: assume(n < 9)]]",
            "ATTRIBUTE(__assume__(n < 9))", "__builtin_assume(n < 9)", "__builtin_assume_dereferenceable(p, 64)",
            "__builtin_assume_separate_storage(p, p + 9)", "p = (int*)__builtin_assume_aligned(p, 64)", "if (n > 8) __builtin_unreachable()",
        )
    },
    "promise by a lambda's end": (body("[](bool b) -> int { if (b) return 0; }(n < 9); p[0] = n;"), "line @target@ has the end of a body"),
    "promise by a lambda's end, deduced": (body("[](bool b) { if (b) return 0; }(n < 9); p[0] = n;"), "the end of a body"),
    "promise by an enum": (
        body("enum E { A, B }; [](E e) -> int { switch (e) { case A: return 1; case B: return 2; } }(E(n)); p[0] = n;"), "the end of a body",
    ),
    "promise by a member's end": (body("struct S { __device__ int f(bool b) { if (b) return 0; } }; S().f(n < 9); p[0] = n;"), "the end of a body"),
    "promise by a new function's end": (before_app("__device__ int extra(int x) { if (x < 9) return 0; }", "extra(n); p[0] = n;"), "the end of a body"),
    "promise by an empty branch of a template": (
        before_app(
            "template <bool First> __device__ int extra(int x) { if constexpr (First) return x; else { /* nothing */ } }",
            "p[0] = n < 9 ? extra<true>(n) : extra<false>(n);",
        ),
        "the end of a body",
    ),
    "promise by a function that is there": (body("p[0] = positive(n);"), "positive, which has __builtin_unreachable, a promise"),
    "promise by another function's call": (body("p[0] = through(n);"), "positive, which has __builtin_unreachable, a promise"),
    "promise by the end of what is there": (body("p[0] = positive_too(n);"), "positive_too, which need not return a value, a promise"),
    "a pure function": (before_app("__device__ __attribute__((pure)) int extra(int* p) { return p[0]; }", "p[1] = extra(p);"), "attribute `pure`"),
    "used": (before_app("__device__ __attribute__((used)) int extra(int x) { return x; }"), "attribute `used`"),
    "attribute of C++": (before_app("__device__ int extra [[gnu::__used__]] (int x) { return x; }"), "attribute `used`"),
    "vendor named once": (before_app("__device__ int extra [[using clang: noinline, annotate(\"x\")]] (int x) { return x; }"), "attribute `annotate`"),
    "attribute in digraphs": (before_app("__device__ int extra <: <: gnu::weak :> :> (int x) { return x; }"), "attribute `weak`"),
    "attribute by a macro that is there": (before_app("ATTRIBUTE(noreturn) __device__ void extra(int x) { for (;;); }"), "attribute `noreturn`"),
    "attribute behind a raw string": (body('const char* s = R"(\n#)" ; static constexpr int k[2] __attribute__((used)) = {1, 2}; p[0] = k[n & 1] + s[0];'), "attribute `used`"),
    "keyword for an attribute": (before_app("_Noreturn __device__ void extra(int x) { for (;;); }"), "attribute `noreturn`"),
    "pushed by a macro": (body('PRAGMA(push_macro("SIZE")) ' + FASTER), "_Pragma for something other"),
    "renamed by a macro": (body("PRAGMA(redefine_extname helper helper2) " + FASTER), "_Pragma for something other"),
    "section by a macro": (body('PRAGMA(clang section rodata=".note") ' + FASTER), "_Pragma for something other|cannot be read"),
    "unchecked promise of a loop": (body("\n#pragma clang loop vectorize(assume_safety)\n" + FASTER), "preprocessor directive"),
    "assembly by a macro": (body('ASSEMBLY("s_barrier"); ' + FASTER), "after macro expansion it has `s_barrier`"),
    "address of another kernel": (body("using X = decltype(first); X* f = &first; (void)f; " + FASTER), "a different kernel, first"),
    "a template's other kernel": (body("auto f = &each<float>; p[0] = f != nullptr;"), "a different kernel, each"),
    "nothing changed": (replaced(faster=False) + "// faster\n", "nothing was changed"),
    "comments in the body": (body("/* fast */ " + BODY.replace(" = ", "\n=\n")), "nothing was changed"),
    "host code": (replaced(("n * SIZE", "n * SIZE / 2")), "line @int host@ is not part of app::target"),
    "sizeof in a host check": (replaced(("sizeof(int)", "sizeof(char)")), "line @int host@"),
    "type trait": (replaced(("__is_same(int, int)", "__is_same(int, char)")), "line @int host@"),
    "another kernel": (replaced(("p[1] = q.a", "p[1] = q.a + 2")), "line @void other@"),
    "another kernel of the name": (replaced(("p[0] = helper(p[0]); } }", "} }")), "line @namespace twin@"),
    "another kernel's lambda": (replaced(("return x + 1;", "return x + 2;")), "line @void other@"),
    "existing helper": (replaced(("x + SIZE", "x")), "line @int helper@"),
    "macro": (replaced(("#define SIZE 4", "#define SIZE 2")), "line @define SIZE@"),
    "a macro more": (replaced(("#define SIZE 4", "#define SIZE 4\n#define more(x) 0")), "line @define END@"),
    "constant": (replaced(("{1, 2, 3, 4}", "{1, 2, 3, 5}")), "line @int table@"),
    "storage class": (replaced(("static int n;", "int n = 0;")), "line @int counted@"),
    "assembly of another function": (replaced(("v_mov_b32 %0, 1", "v_mov_b32 %0, 2")), "line @int assembled@"),
    "volatile of assembly": (replaced(("__asm__ volatile", "__asm__")), "line @int assembled@"),
    "parentheses": (replaced(("n * SIZE +", "n * (SIZE) +")), "line @int host@"),
    "pragma before other kernels": (replaced(("struct Tag", "#pragma clang fp reassociate(on)\nstruct Tag")), "line @struct Tag@"),
    "pragma pack": (replaced(("struct Tag", "#pragma pack(1)\nstruct Tag")), "line @struct Tag@"),
    "directive eats code": (replaced(("int main() { return", "#define X int main() { return")), "line @int main@"),
    "has_include": (replaced(("int main", '#if __has_include("x.hip")\n#define main other_main\n#endif\nint main')), "line @int main@|other_main was added"),
    "include": (replaced(("int main", '#include "/dev/null"\nint main')), "line @int main@"),
    "line marker": (replaced(("int main", '# 1 "/usr/include/x.h" 3\nint main')), "line @int main@|cannot be read"),
    "launch bounds": (replaced(("__launch_bounds__(64)", "__launch_bounds__(128)")), "head of app::target|has"),
    "removed launch bounds": (replaced(("__launch_bounds__(64) ", "")), "has `void`"),
    "another attribute": (replaced(("__launch_bounds__(64) void", "__launch_bounds__(64) __attribute__((weak)) void")), "has `__attribute__`"),
    "parameter type": (replaced(("void target(int* p, int n)", "void target(int* p, long n)")), "same name, parameters"),
    "a parameter more": (replaced(("void target(int* p, int n)", "void target(int* p, int n, int k = 0)")), "same name, parameters"),
    "parameter's name": (replaced(("void target(int* p, int n)", "void target(int* n, int p)"), (BODY, ""), faster=False), "head of app::target"),
    "macro in the body": (body("p[0] = 1;\n#define helper(x) 0\n"), "preprocessor directive"),
    "undefined macro in the body": (body(BODY + "\n#undef SIZE\n#define SIZE 9\n"), "preprocessor directive"),
    "conditional in the body": (body("\n#ifdef X\n#endif\n" + FASTER), "preprocessor directive"),
    "digraph directive": (body("\n%:define SIZE 9\n" + FASTER), "preprocessor directive"),
    "directive behind a comment": (body("\n/*\n*/ #define SIZE 9\n" + FASTER), "preprocessor directive"),
    "pragma weak in the body": (body("\n#pragma weak helper\n" + FASTER), "preprocessor directive"),
    "pragma operator": (body('_Pragma("clang optimize off") ' + FASTER), "_Pragma|cannot be read"),
    "pushed macro": (body('_Pragma("push_macro(\\"SIZE\\")") ' + FASTER), "_Pragma"),
    "escape by a macro's brace": (body(FASTER + " END void sneak() {"), "within a macro|sneak|cannot be read"),
    "escape by a brace": (body(FASTER + " } __device__ int kept; void more() {"), "more|kept|line"),
    "escape by a comment": (body(FASTER + " /*"), "cannot be read|line"),
    "counter": (body("p[0] = __COUNTER__;"), "__COUNTER__"),
    "time": (body("p[0] = __TIME__[0];"), "__TIME__"),
    "new device variable": (before_app("__device__ int cache[64];"), "line @namespace app@"),
    "static in the kernel": (body("static __device__ int calls; p[0] = calls++;"), "outlives a launch"),
    "mutable constant": (body("struct K { mutable int v; constexpr K() : v(0) {} }; static const __device__ K k; p[0] = k.v++;"), "outlives a launch|cannot be read"),
    "external variable": (body("extern __device__ int elsewhere; p[0] = elsewhere;"), "outlives a launch"),
    "static in a new function": (
        before_app("__device__ int extra() { static __device__ int c; return c++; }", "p[0] = extra();"), "outlives a launch",
    ),
    "new kernel": (replaced(("struct Tag", "__global__ void late(int* p) { p[1] = 0; }\nstruct Tag")), "late.*only functions"),
    "new host function": (replaced(("struct Tag", "int sneak() { return 1; }\nstruct Tag")), "sneak.*__device__ alone"),
    "host and device function": (before_app("__host__ __device__ int extra() { return 1; }"), "extra.*__device__ alone"),
    "constructor": (replaced(("int main", "struct S { S() {} } s;\nint main")), "S|line"),
    "specialisation": (replaced(("template <typename F>", "template <> __device__ float mix<int>(int x) { return 9; }\ntemplate <typename F>")), "mix.*specialises"),
    "overload by argument-dependent look-up": (replaced(("template <typename F>", "__device__ float bias(float x, Tag) { return 99; }\ntemplate <typename F>")), "bias.*uses that name"),
    "better overload": (replaced(("template <typename F>", "__device__ float mix(int x) { return 9; }\ntemplate <typename F>")), "mix.*uses that name"),
    "overload of what a header calls": (before_app("__device__ int called_in_a_header(int x) { return x; }"), "a header calls"),
    "what range-for calls": (before_app("__device__ int* begin(Tag*);").replace("namespace app", "namespace app", 1), "begin|cannot be read"),
    "operator": (before_app("struct Late;\n__device__ Late operator+(Late, int);"), "operator|line"),
    "function by a macro": (replaced(("#define PRAGMA", "#define FN __device__ int extra() { return 1; }\n#define PRAGMA"), ("namespace app", "FN\nnamespace app")), "by a macro"),
    "redeclared with an attribute": (before_app("__attribute__((noinline)) __device__ int helper(int x);"), "line @namespace app@"),
    "assembler name": (before_app('__device__ int extra(int) asm("_Z6helperi");', "p[0] = extra(n);"), "symbol of another|new assembly"),
    "address of the arguments": (body("p[0] = (int)(long)__builtin_amdgcn_kernarg_segment_ptr(); " + FASTER), "tells the launches"),
    "address of the hidden arguments": (body("p[0] = (int)(long)__builtin_amdgcn_implicitarg_ptr(); " + FASTER), "tells the launches"),
    "a function declared in the body": (body("__device__ int elsewhere(int); p[0] = elsewhere(n); " + FASTER), "declares the function elsewhere"),
    "the library beneath HIP": (body("p[0] = __ockl_activelane_u32(); " + FASTER), "beneath HIP"),
    "whatever a register holds": (body('int r; asm volatile("" : "=s"(r)); p[0] = r; ' + FASTER), "register happens to hold"),
    "a register of choice": (body('int r = n; asm volatile("" : "+{s4}"(r)); p[0] = r; ' + FASTER), "register happens to hold"),
    "assembler directives": (body('asm volatile(".pushsection .data\\n.popsection"); ' + FASTER), "new assembly may be"),
    "assembler label": (body('asm volatile("_Z6helperi: s_nop 0"); ' + FASTER), "new assembly may be"),
    "assembler assignment": (body('asm volatile("x = 4"); ' + FASTER), "new assembly may be"),
    "assembly that loads": (body('int r; asm volatile("global_load_dword %0, %1, off" : "=v"(r) : "v"(p)); p[1] = r;'), "new assembly may be"),
    "assembly whose hazards nobody minds": (body('int r; asm("v_readlane_b32 %0, %1, s20" : "=s"(r) : "v"(n)); p[1] = r;'), "new assembly may be"),
    "assembly that branches into an instruction": (body('asm volatile("s_branch 1\\ns_mov_b32 s7, 0xc0940100"); ' + FASTER), "new assembly may be"),
    "included bytes": (body('asm volatile(".incbin \\"/etc/passwd\\""); ' + FASTER), "new assembly may be"),
    "hidden assembler directive": (body('asm volatile("\\x2eglobl x"); ' + FASTER), "new assembly may be"),
    "does not compile": (body("p[0] = ;"), "cannot be read: line @void target(int* p, int n)@"),
    "an unknown kernel": (replaced(("void target(int* p, int n)", "void aim(int* p, int n)")), "aim|same name"),
}  # fmt: skip


@pytest.mark.parametrize("name", HONEST)
def test_honest_changes_pass(taken, name):
    seen = taken(HONEST[name]).verdict
    assert seen.outcome is StepOutcome.PASSED, seen.reason


@pytest.mark.parametrize("name", CHEATS)
def test_anything_else_is_rejected_by_line_or_name(taken, name):
    candidate, reason = CHEATS[name]
    seen = taken(candidate).verdict
    assert seen.outcome is StepOutcome.REJECTED
    assert re.search(re.sub("@(.*?)@", lambda found: str(line_of(found[1])), reason), seen.reason), seen.reason


@pytest.mark.parametrize(
    "kernel, old, new",
    [
        ("overloaded(int*, int)", "void overloaded(int* p, int n) { for (int i = 0;", "void overloaded(int* p, int n) { for (int i = 0x0;"),
        ("overloaded(float*, int)", "void overloaded(float* p, int n) { for (int i = 0;", "void overloaded(float* p, int n) { for (int i = 0x0;"),
        ("made", "void made(T* p, int n) { for (int i = 0;", "void made(T* p, int n) { for (int i = 0x0;"),
        ("plain", "void plain(int* p, int n) { for (int i = 0;", "void plain(int* p, int n) { for (int i = 0x0;"),
        ("twin::target", "p[0] = helper(p[0]); } }", "p[0] = helper(*p); } }"),
    ],
)  # fmt: skip
def test_a_kernel_is_found_by_its_qualified_name_and_signature(taken, kernel, old, new):
    candidate = replaced((old, new), faster=False)
    seen = taken(candidate, kernel)
    assert seen.verdict.outcome is StepOutcome.PASSED and seen.spliced.without_line_directives.decode() == candidate, (
        seen.verdict.reason
    )
    assert taken(candidate, "app::target").verdict.outcome is StepOutcome.REJECTED


@pytest.mark.parametrize(
    "old, new, refused",
    [
        ("p[0] = through(n);", "p[1] = through(n);", None),
        (
            "if (n < 0) { __builtin_unreachable(); }  // never",
            "if (n < 0) {\n    __builtin_unreachable();\n  }\n  p[1] = 0;",
            None,
        ),
        ("__builtin_assume(n > 1);", "__builtin_assume(n > 2);", "__builtin_assume, a promise"),
        ("__builtin_assume(n > 1);", "if (p[0]) __builtin_assume(n > 1);", "__builtin_assume, a promise"),
        ("p[0] = through(n);", "if (n > 40) __builtin_unreachable(); p[0] = n;", "__builtin_unreachable, a promise"),
        ("p[0] = through(n);", "if (n > 40) { __builtin_unreachable(); } p[0] = n;", "__builtin_unreachable, a promise"),
    ],
)
def test_the_baseline_s_promises_may_stay_and_no_others(taken, old, new, refused):
    seen = taken(replaced((old, new), faster=False), "assuming").verdict
    if refused is None:
        assert seen.outcome is StepOutcome.PASSED, seen.reason
    else:
        assert seen.outcome is StepOutcome.REJECTED and refused in seen.reason, seen.reason


def test_the_adopted_text_is_the_baseline_with_only_the_body_changed(taken):
    candidate = HONEST["comments and white space elsewhere"]
    assert taken(candidate).spliced.without_line_directives.decode() == replaced()


def test_new_functions_are_put_in_a_namespace_that_only_the_kernel_uses(taken):
    seen = taken(HONEST["device function in the kernel's namespace"])
    text = seen.spliced.without_line_directives.decode()
    added = text[text.index("namespace app {") : text.index("__global__ __launch_bounds__(64)")]
    assert re.fullmatch(
        r"namespace app \{\nnamespace \{\nnamespace target_parts \{\n__device__ int extra.*\n\}.*\n\}.*\n+", added
    )
    assert "using namespace target_parts;" in text and text.count("target_parts") == 3
    judged = seen.spliced.judged.decode()
    lines = judged.split("\n")
    marked = max(number for number, line in enumerate(lines) if line.startswith("#line"))
    assert (
        lines[marked] == f"#line {line_of(BODY) + 1}"
        and "\n".join(["", *lines[marked + 1 :]]) == BASELINE[BASELINE.index("p[i]);") :].split("}", 1)[1]
    )


@pytest.mark.parametrize(("added", "said"), [(["extra"], "extra was added"), (["extra", "more"], "extra, more were added")])
def test_the_names_of_new_functions_are_said(taken, added, said):
    functions = "".join(f"__device__ int {name}(int x) {{ return x; }}\n" for name in added)
    plain = 'extern "C" __global__ void plain(int* p, int n) {'
    seen = taken(replaced((f"{plain} for", f"{functions}{plain} p[0] = {'('.join(added)}(0{')' * len(added)}; for"), faster=False), "plain")  # fmt: skip
    assert seen.verdict.reason.startswith(f"the new body of plain is taken, and {said}"), seen.verdict.reason


def test_new_functions_of_a_kernel_with_c_linkage_have_cpp_linkage(taken):
    text = replaced(('extern "C" __global__ void plain(int* p, int n) { for', '__device__ int extra(int x) { return x; }\nextern "C" __global__ void plain(int* p, int n) { p[0] = extra(0); for'), faster=False)  # fmt: skip
    seen = taken(text, "plain")
    assert seen.verdict.evidence.added == ["extra"], seen.verdict.reason
    baseline = read(Path("x.hip"), COMMAND, text=seen.spliced.without_line_directives)
    assert baseline.kernel("plain").symbol == "plain"


def test_a_text_that_crashes_or_stalls_clang_is_refused_and_the_next_is_read(taken):
    deep = body("p[0] = " + "(" * 200_000 + "1" + ")" * 200_000 + ";")
    crash = replaced(("int main", "#pragma clang __debug crash\nint main"))
    for text in (deep, crash):
        seen = taken(text).verdict
        assert seen.outcome is StepOutcome.REJECTED and "cannot be read" in seen.reason
    assert taken(HONEST["body"]).verdict.outcome is StepOutcome.PASSED


@pytest.mark.parametrize(
    "directive",
    ['#include "/dev/zero"', '%:include "/etc/passwd"', '/**/ # /**/ embed "/etc/passwd"', '#inc\\\nlude "/etc/passwd"'],
)
def test_no_directive_makes_the_compiler_read_a_file(directive):
    baseline = read(Path("x.hip"), COMMAND, text=BASELINE.encode())
    with CandidateReader(baseline, seconds=30) as reader:
        answer = reader.change(replaced(("int main", f"{directive}\nint main")).encode())
    assert "a preprocessor directive that reads other files, or may hide one that does" in answer
