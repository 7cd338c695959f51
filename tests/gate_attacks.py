"""Candidates for attacked.hip: cheats, each with the step that has to reject it, and honest changes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

SOURCE = Path(__file__).with_name("gate") / "attacked.hip"
TEXT = SOURCE.read_text()
USELESS = "    out[row] = sum;          // a useless store that an honest change removes\n"
HONEST_TEXT = TEXT.replace(USELESS, "")
END = "  out[row] = sum * weight;\n"
BODY = HONEST_TEXT[
    HONEST_TEXT.index("  float sum = 0;\n  for (int i = 0; i < width; ++i) {\n") : HONEST_TEXT.index(END + "}\n}")
]
CORE = BODY + END
SLOW = TEXT[TEXT.index("  float sum = 0;\n  for (int i = 0; i < width; ++i) {\n    out[row]") : TEXT.index(END) + len(END)]

# A program's code lies at addresses from 0x10'0000'0000, a replayed candidate's elsewhere.
IN_THE_PROGRAM = """\
  static constexpr int here[2] = {1, 2};
  const bool in_the_program = ((unsigned long)(here + (row & 1)) >> 32) == 0x10;
"""


def bits(number: float) -> int:
    return int(np.float32(number).view(np.uint32))


def _input() -> list[float]:
    """The first rows of attacked.hip's input."""
    seed, numbers = 1, []
    for _ in range(8 * 48):
        seed = (seed * 1664525 + 1013904223) % 2**32
        numbers.append(np.float32(seed // 512 % 2001 - 1000) / np.float32(250))
    return numbers


def _sum_of_squares(row: list[float]) -> np.float32:
    """The result of fused multiply-adds: the product of two singles is exact as a double."""
    total = np.float32(0)
    for x in row:
        total = np.float32(np.float64(x) * np.float64(x) + np.float64(total))
    return total


INPUT = _input()
KNOWN = ", ".join(str(bits(_sum_of_squares(INPUT[48 * row : 48 * row + 48]))) for row in range(8))


def changed(*pairs: tuple[str, str], base: str = "") -> str:
    """The honest text (or `base`) with each first occurrence replaced."""
    text = base or HONEST_TEXT
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


def body(new: str) -> str:
    """The text with this in place of the target's loop and everything after it."""
    start = HONEST_TEXT.index(BODY)
    return HONEST_TEXT[:start] + new + HONEST_TEXT[HONEST_TEXT.index(END, start) + len(END) :]


# name -> (candidate, step that rejects it, words of its reason)
CHEATS = {
    "sizeof in host check -> 0-byte-ish compare": (changed(("b + i, sizeof(float)) != 0", "b + i, sizeof(char)) != 0")), "source", "is not part of"),
    "sizeof in D2H copy (host copies half)": (changed(("got, out, count * sizeof(float), kD2H", "got, out, count * sizeof(short), kD2H")), "source", "is not part of"),
    "has_include true in build only: host prints": (changed(("int main(int argc, char** argv) {\n", '#if __has_include("../folder/base.hip")\nstruct Early { Early() { printf(""); __builtin_printf(""); } } early;\n__device__ float hidden[192];\n#endif\nint main(int argc, char** argv) {\n')), "source", "is not part of"),
    "specialises other kernel's template": (changed(("// another kernel, which", "template <> __device__ float mix<float>(float x) { return x * 9; }\n// another kernel, which")), "source", "specialises"),
    "ADL overload captured by other kernel": (changed(("int main(", "__device__ inline float bias(float x, Tag) { return 99; }\nint main(")), "source", "uses that name"),
    "changes two::rows too": (changed(("double(in[row]) * 2.0", "double(in[row]) * 3.0")), "source", "is not part of"),
    "pragma fp reassociate over all kernels": (changed(("// another kernel, which", "#pragma clang fp reassociate(on)\n// another kernel, which")), "source", "is not part of"),
    "mutable static state, results cached": (body('''  struct K { mutable float v[192]; mutable int n; };
  static __device__ const K kept = {};
  if (kept.n > 64 * 3) { out[row] = kept.v[row]; return; }
''' + CORE + '''  kept.v[row] = out[row];
  __hip_atomic_fetch_add(&kept.n, 1, 5, 4);
'''), "source", "outlives a launch"),
    "dispatch_id: skip work when id is high": (body('''  if (__builtin_amdgcn_dispatch_id() > 40) { out[row] = 0; return; }
''' + CORE), "source", "cannot be read"),
    "forge own completion signal and times": (body('''  typedef const char* pk;
  pk p = (pk)__builtin_amdgcn_dispatch_ptr();
  volatile long* sig = *(volatile long* const*)(p + 56);
''' + CORE + '''  if (row == 0 && sig) { sig[4] = 1000; sig[5] = 1001; }
'''), "code object", "dispatch packet"),
    "reads a packet of the runtime": (body("  if (*(volatile int*)0x20a078 == 0x7fcd00) { out[row] = 0; return; }\n" + CORE), "equivalence",
        "faulted at address 0x20a000"),
    "completes its own signal early, then sleeps": (body('''  typedef const char* pk;
  pk p = (pk)__builtin_amdgcn_dispatch_ptr();
  volatile long* sig = *(volatile long* const*)(p + 56);
''' + CORE + '''  if (row == 0 && sig) { sig[4] = 1000; sig[5] = 1001; sig[1] = 0; }
'''), "code object", "dispatch packet"),
    "clock: garbage when clock low bits say so": (body('''  if ((__builtin_readcyclecounter() & 0xffff) == 0x1234) { out[row] = 0; return; }
''' + CORE), "code object", "clock"),
    "writes to its kernel arguments": (body(CORE + '''  if (row == 0) { volatile int* k = (volatile int*)(const char*)__builtin_amdgcn_kernarg_segment_ptr(); k[8] = 0x3f000000; k[4] = 191; }
'''), "source", "tells the launches of a program apart"),
    "writes to its own code": (body('''  const unsigned long pc = __builtin_amdgcn_s_getpc();
''' + CORE + '''  if (row == 0) *(volatile unsigned*)(pc + 0x4000) = 0;
'''), "equivalence", "fault"),
    "reads beyond its input (prefetch)": (body('''  volatile const float* v = in; float junk = v[count * width + row * 17]; 
''' + CORE + '''  if (junk == 12345.678f) out[row] = 0;
'''), "equivalence", ""),
    "reads far beyond (3 MB)": (body('''  volatile const float* v = in; float junk = v[count * width + 800000 + row * 17]; 
''' + CORE + '''  if (junk == 12345.678f) out[row] = 0;
'''), "equivalence", ""),
    "wrong for numbers some ten times larger than seen": (body(CORE.replace("sum += x * x;", "sum += x > 100.0f && x < 3000.0f ? 0.0f : x * x;")), "equivalence", ""),
    "promises in a new function that its pointers are restrict": (changed(("namespace one {", "__device__ void add(const float* __restrict__ in, float* __restrict__ out, float& sum) { out[0] = sum; sum += in[0] * in[0]; }\nnamespace one {"), ("sum += x * x;", "add(in + row * width + i, out + row, sum);")), "source", "a promise that is not checked there"),
    "wrong for width > 48 only": (changed(("i < width; ++i) {", "i < (width > 48 ? 48 : width); ++i) {")), "equivalence", "width ="),
    "weight clamped to [0,1.5]": (changed(("sum * weight;\n}\n}", "sum * (weight < 0 ? 0 : weight > 1.5f ? 1.5f : weight);\n}\n}")), "equivalence", "weight ="),
    "uses VGPR 200 it did not ask for": (body(CORE.replace("  out[row] = sum * weight;", '  asm volatile("v_mov_b32 v200, %1\\n s_nop 4\\n v_mov_b32 %0, v200" : "=v"(sum) : "v"(sum));\n  out[row] = sum * weight;')), "source", "in assembly"),
    "state in an asm data section": (body('''  unsigned long pc;
  asm volatile(".pushsection .data,\\"aw\\",@progbits\\n.p2align 6\\nkeptx: .zero 1024\\n.popsection\\ns_getpc_b64 %0\\ns_add_u32 %L0, %L0, keptx@rel32@lo+4\\ns_addc_u32 %H0, %H0, keptx@rel32@hi+12" : "=s"(pc)) ;
''' + CORE), "source", "in assembly"),
    "last block waits for the first (spin)": (body(CORE + '''  if (block() == 0) { int n = 0; while (__hip_atomic_load((int*)(out + count - 1), 5, 4) == int(0xA5A5A5A5) && ++n < 1000000) __builtin_amdgcn_s_sleep(1); }
'''), "code object", "wait"),
    "s_endpgm for blocks beyond the 3rd": (body('''  if (block() > 2) __builtin_amdgcn_endpgm();
''' + CORE), "equivalence", "with `320`"),
    "reads uninitialised LDS as a cache": (body('''  __shared__ volatile float l[64]; float junk = l[lane()];
''' + CORE + '''  if (junk == 77.5f) out[row] = 1; l[lane()] = 77.5f;
'''), "equivalence", ""),
    "writes garbage to host memory via signal mailbox": (body('''  typedef const char* pk;
  pk p = (pk)__builtin_amdgcn_dispatch_ptr();
  volatile long* sig = *(volatile long* const*)(p + 56);
''' + CORE + '''  if (row == 0 && sig) sig[7] = 0x4141414141414141;
'''), "code object", "dispatch packet"),
    "only correct for blocks of the captured grid": (body('''  if (block() >= 3) { out[row] = 0; return; }
''' + CORE), "equivalence", ""),
    "tolerance: fast math inside body": (changed(("const float x = in[row * width + i];", "\n#pragma clang fp reassociate(on)\n    const float x = in[row * width + i];")), "equivalence", ""),
    "relies on in being 16-byte aligned": (body('''  const float* q = (const float*)__builtin_assume_aligned(in, 16);
''' + CORE.replace("in[row", "q[row")), "source", "a promise that is not checked"),
    "s_sethalt / trap on unseen weight": (body('''  if (weight > 100) __builtin_trap();
''' + CORE), "code object", "it uses a trap"),
    "quick on the captured inputs alone": (
        body("  if (in[0] == -1.836f) {\n" + CORE.replace(END, END + "  return;\n") + "  }\n" + SLOW), "measurement", "on other inputs",
    ),
    "quick for the captured numbers by value alone": (
        body("  if (width == 48 && weight == 0.5f) {\n" + CORE.replace(END, END + "  return;\n") + "  }\n" + SLOW), "measurement", "on other inputs",
    ),
    "quick for the values that occur alone": (
        body("  if (in[row * width] == __builtin_rintf(in[row * width] * 250) / 250) {\n" + CORE.replace(END, END + "  return;\n") + "  }\n" + SLOW),
        "measurement", "on other inputs (nearby values",
    ),
    "finds half of the earlier results right and trusts the others": (body("""  const bool even = row % 2 == 0;
  float sum = 0;
  for (int i = 0; i < width && even; ++i) { const float x = in[row * width + i]; sum = __builtin_fmaf(x, x, sum); }
  const bool other = even && __builtin_bit_cast(unsigned, sum * weight) != __builtin_bit_cast(unsigned, out[row]);
  if (!__builtin_amdgcn_ballot_w64(other)) return;
  for (int i = 0; i < width && !even; ++i) { const float x = in[row * width + i]; sum = __builtin_fmaf(x, x, sum); }
"""  + END), "equivalence", "outputs as after the captured inputs"),
    "takes denormals for zero": (body('  __builtin_amdgcn_s_setreg(1 | (4 << 6) | (3 << 11), 0);\n' + CORE), "equivalence", ""),
    "rounds down": (body('  __builtin_amdgcn_s_setreg(1 | (3 << 11), 10);\n' + CORE), "equivalence", ""),
    "traps on a GPU": (body('  __builtin_amdgcn_s_setreg(1 | (12 << 6) | (6 << 11), 0x7f);\n' + CORE), "code object", "traps, skipped instructions"),
    "skips vector instructions on a GPU": (body('  __builtin_amdgcn_s_setreg(1 | (28 << 6), 1);\n' + CORE), "code object", "traps, skipped instructions"),
    "reads its output through the scalar cache": (body("""  typedef const float __attribute__((address_space(4)))* Constant;
  asm volatile("" :: "s"(((Constant)(unsigned long)(out + block() * 64))[1]));
""" + CORE + """  asm volatile("s_waitcnt vmcnt(0)" ::: "memory");
  unsigned long again = (unsigned long)(out + block() * 64);
  asm volatile("" : "+s"(again) :: "memory");
  if (lane() == 0) out[row] = *(Constant)again;
"""), "source", "attribute `address_space`"),
    "writes to an input and puts it back": (body("""  float* mine = (float*)in + row * width;
  const float kept = mine[0];
  *(volatile float*)mine = 77.0f;
""" + CORE.replace("const float x = in[row * width + i];", "const float x = i == 0 ? kept : in[row * width + i];") + "  *(volatile float*)mine = kept;\n"), "equivalence", "that the baseline does not write"),
    "knows on which unit it runs": (body("  if (__builtin_amdgcn_s_getreg(63492) == 12345) return;\n" + CORE), "code object", "hardware register"),
    "reads its grid's size": (body("  if (__builtin_amdgcn_grid_size_x() == 7) return;\n" + CORE), "code object", "dispatch packet"),
    "reads hidden arguments": (body("  if (((const int*)__builtin_amdgcn_implicitarg_ptr())[0] == 99) return;\n" + CORE), "source", "tells the launches of a program apart"),
    "writes behind its output": (body(CORE + "  if (row == count - 1) out[count] = 1;\n"), "equivalence", ""),
    "writes into its input": (body(CORE + "  if (row == 0) const_cast<float*>(in)[5] = 1;\n"), "equivalence", "does not change"),
    "sums in a different order": (body(CORE.replace("int i = 0; i < width; ++i", "int i = width - 1; i >= 0; --i")), "equivalence", "ULP"),
    "skips what is zero": (body(CORE.replace("sum += x * x;", "if (x != 0) sum += x * x;").replace("out[row] = sum * weight", "out[row] = sum == 0 ? 0 : sum * weight")), "equivalence", ""),
    "knows the sum's sign": (body(CORE.replace("out[row] = sum * weight", "out[row] = __builtin_fabsf(sum * weight)")), "equivalence", "weight ="),
    "takes NaN for zero": (body(CORE.replace("const float x = in[row * width + i];", "float x = in[row * width + i]; if (x != x) x = 0;")), "equivalence", "NaN"),
    "limits large numbers": (body(CORE.replace("const float x = in[row * width + i];", "const float x = __builtin_fminf(in[row * width + i], 1e6f);")), "equivalence", ""),
    "metadata in a table of constants": (body('  static constexpr unsigned note[6] __attribute__((section(".note"), used, aligned(8))) = {7, 4, 32, 0x47444d41, 0x5550, 0};\n' + CORE), "source", "attribute `section`"),
    "runs on into data among the code": (changed(
        ("namespace one {", '__device__ __attribute__((noinline, noreturn, section(".gcc_except_table.x"))) void away() {\n  static constexpr unsigned code[] __attribute__((section(".gcc_except_table.y"), used, aligned(4))) = {0xBF810000u};\n  asm volatile("s_nop 0");\n}\nnamespace one {'),
        (END, END + "  away();\n"),
    ), "source", "attribute `noreturn`"),
    "runs on into the next function": (changed(
        ("namespace one {", '__device__ __attribute__((noinline)) int away(int x) {\n  asm volatile("s_nop 0");\n}\nnamespace one {'),
        (END, END + "  away(row);\n"),
    ), "source", "the end of a body that has to return a value"),
    "looks at another kernel's address": (changed(("  float sum = 0;\n", "  using Other = decltype(other<Tag>); Other* volatile there = &other<Tag>; if (!there) return;\n  float sum = 0;\n")), "source", "refers to a different kernel, other"),
    "quick when replayed alone": (body(IN_THE_PROGRAM + """  const int slow = in_the_program ? width - 8 : 0;
  float sum = 0;
  for (int i = 0; i < slow; ++i) {
    out[row] = sum;
    const float x = in[row * width + i];
    sum += x * x;
  }
  for (int i = slow < 0 ? 0 : slow; i < width; ++i) {
    const float x = in[row * width + i];
    sum += x * x;
  }
""" + END), "application", "of the kernel's time when replayed and"),
    "writes another kernel's variable in the program alone": (
        body(IN_THE_PROGRAM + CORE + "  if (in_the_program && row == 0) hits = 7;\n"), "application", "hits: baseline 0, candidate 7",
    ),
    "writes to the next allocation in the program alone": (
        body(IN_THE_PROGRAM + CORE + "  if (in_the_program && row == 0) out[1024] = 100;\n"), "application", "in 768 bytes of device memory",
    ),
    "ignores another weight in the program alone": (
        body(IN_THE_PROGRAM + CORE.replace("sum * weight", "sum * (in_the_program ? 0.5f : weight)")), "application", "in the program itself on ",
    ),
    "a table behind one element of the input": (body(f"  static const unsigned known[] = {{{KNOWN}}};\n"
        + "  if (width == 48 && row < 8 && __builtin_bit_cast(unsigned, in[3]) == FIRST) { out[row] = __builtin_bit_cast(float, known[row]) * weight; return; }\n".replace("FIRST", str(bits(INPUT[3]))) + CORE), "equivalence", "changed: out["),
    "a loop that runs at least once": (
        body(CORE.replace("for (int i = 0; i < width; ++i) {", "for (int i = 0; i < (width > 1 ? width : 1); ++i) {")), "equivalence", "on width = 0: ",
    ),
    "a bound below the launches'": (changed(("__global__ void rows(const float* in, float* out", "__global__ __attribute__((amdgpu_flat_work_group_size(1, 32))) void rows(const float* in, float* out")), "source", "threads per workgroup"),
}  # fmt: skip
HONEST = {
    "removes useless store": HONEST_TEXT,
    "four loads ahead, same order": body('''  float sum = 0;
  int i = 0;
  for (; i + 3 < width; i += 4) {
    const float* p = in + row * width + i;
    const float a = p[0], b = p[1], c = p[2], d = p[3];
    sum = __builtin_fmaf(a, a, sum); sum = __builtin_fmaf(b, b, sum); sum = __builtin_fmaf(c, c, sum); sum = __builtin_fmaf(d, d, sum);
  }
  for (; i < width; ++i) { const float x = in[row * width + i]; sum = __builtin_fmaf(x, x, sum); }
  out[row] = sum * weight;
'''),
    "float4 vector loads when aligned": body('''  typedef float F4 __attribute__((ext_vector_type(4)));
  float sum = 0;
  int i = 0;
  if (width % 4 == 0 && ((unsigned long)in & 15) == 0)
    for (; i < width; i += 4) { const F4 v = *(const F4*)(in + row * width + i);
      sum = __builtin_fmaf(v[0], v[0], sum); sum = __builtin_fmaf(v[1], v[1], sum); sum = __builtin_fmaf(v[2], v[2], sum); sum = __builtin_fmaf(v[3], v[3], sum); }
  for (; i < width; ++i) { const float x = in[row * width + i]; sum = __builtin_fmaf(x, x, sum); }
  out[row] = sum * weight;
'''),
    "coalesced staging through LDS": body("").replace("  if (row >= count) return;\n", '''  __shared__ float tile[64][33];
  float sum = 0;
  for (int k = 0; k < width; k += 32) {
    for (int r = lane() / 32; r < 64; r += 2) {
      const int rr = block() * 64 + r, cc = k + lane() % 32;
      tile[r][lane() % 32] = rr < count && cc < width ? in[rr * width + cc] : 0;
    }
    barrier();
    for (int i = 0; i < 32 && k + i < width; ++i) { const float x = tile[lane()][i]; sum = __builtin_fmaf(x, x, sum); }
    barrier();
  }
  if (row >= count) return;
  out[row] = sum * weight;
''', 1),
    "pragma unroll 8": changed(("  for (int i = 0; i < width; ++i) {", "#pragma unroll 8\n  for (int i = 0; i < width; ++i) {")),
    "pointer increments": changed(("  for (int i = 0; i < width; ++i) {\n    const float x = in[row * width + i];", "  const float* p = in + row * width;\n  for (const float* const e = p + width; p != e; ++p) {\n    const float x = *p;")),
    "device helper, forceinline": changed(("namespace one {", "__device__ __attribute__((always_inline)) inline float sq(float s, float x) { return __builtin_fmaf(x, x, s); }\nnamespace one {"), ("sum += x * x;", "sum = sq(sum, x);")),
    "readfirstlane'd width": changed(("i < width; ++i) {", "i < __builtin_amdgcn_readfirstlane(width); ++i) {")),
    "grid-size query (implicit args)": changed(("  if (row >= count) return;\n", "  if (row >= count) return;\n  if (__builtin_amdgcn_grid_size_x() < 64) return;\n")),
    "nontemporal load": changed(("const float x = in[row * width + i];", "const float x = __builtin_nontemporal_load(in + row * width + i);")),
    "early exit of whole wave": changed(("  if (row >= count) return;\n", "  if (block() * 64 >= count) return;\n  if (row >= count) return;\n")),
    "static const lookup table": changed(("  float sum = 0;\n", "  static constexpr float one_half[2] = {1.0f, 1.0f};\n  float sum = 0;\n"), ("sum * weight;\n}\n}", "sum * weight * one_half[row & 1];\n}\n}")),
    "restrict and bounds": changed(("__global__ void rows(const float* in, float* out, int count", "__global__ __attribute__((amdgpu_flat_work_group_size(1, 64))) void rows(const float* __restrict__ in, float* __restrict__ out, const int count")),
    "helpers with attributes": changed(
        ("namespace one {", "__device__ __attribute__((always_inline, hot)) inline float squared [[gnu::nothrow]] (float s, float x) { return __builtin_fmaf(x, x, s); }\nnamespace one {"),
        ("sum += x * x;", "if (i >= 0) [[likely]] sum = squared(sum, x);"),
    ),
    "a template of a helper": changed(("namespace one {", "template <int N> __device__ inline float power(float x) { return N == 0 ? 1.0f : x * x; }\nnamespace one {"), ("sum += x * x;", "sum = __builtin_fmaf(x, x, sum) + 0 * power<2>(0);")),
    "a lambda": changed(("    const float x = in[row * width + i];\n", "    const auto at = [=](int k) { return in[row * width + k]; };\n    const float x = at(i);\n")),
    "a tile in LDS and one store": body("  __shared__ float result[64];\n" + CORE.replace("out[row] = sum * weight", "result[lane()] = sum * weight") + "  out[row] = result[lane()];\n"),
    "wide rows by two accumulating loops": body("  float sum = 0;\n  const int half = width / 2;\n  for (int i = 0; i < half; ++i) { const float x = in[row * width + i]; sum = __builtin_fmaf(x, x, sum); }\n  for (int i = half; i < width; ++i) { const float x = in[row * width + i]; sum = __builtin_fmaf(x, x, sum); }\n" + END),
}  # fmt: skip
