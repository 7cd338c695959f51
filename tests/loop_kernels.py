"""Programs with random kernels that print their results; here with random loop nests, some of which must not be unrolled."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

Expected = TypeVar("Expected")
PARAMETERS = "const float* in, const int* index, float* out, int* count, int n, int m"
_MASK = 255  # buffers hold 256 numbers
_HEAD = """\
extern "C" {
typedef struct ihipStream_t* hipStream_t;
typedef enum { hipSuccess } hipError_t;
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};
hipError_t hipLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments, unsigned long lds, hipStream_t stream);
unsigned __hipPushCallConfiguration(dim3 grid, dim3 block, unsigned long lds = 0, hipStream_t stream = nullptr);
unsigned __hipPopCallConfiguration(dim3* grid, dim3* block, unsigned long* lds, hipStream_t* stream);
int hipMalloc(void** address, unsigned long size);
int hipMemset(void* address, int value, unsigned long size);
int hipMemcpy(void* target, const void* source, unsigned long size, int kind);
int printf(const char* format, ...);
}
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define ROUNDS(count) for (int r = 0; r < (count); ++r) f += in[(r + lane) & 255]
__device__ inline float mixed(float x, int i) { return x * 0.75f + (float)(i & 7); }
"""

# What a loop may not hold, as statements of the generator; each has an effect or is kept by the compiler.
FORBIDDEN = {
    "barrier": "__builtin_amdgcn_s_barrier();",
    "wave operation": "f += (float)__builtin_amdgcn_readfirstlane(lane + 3);",
    "atomic": "__hip_atomic_fetch_add(count, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);",
    "dynamic LDS": "dynamic[lane] = f; f += dynamic[lane];",
    "volatile access": "f += *(volatile const float*)(in + lane);",
    "inline assembly": 'asm volatile("s_nop 0");',
}


@dataclass(frozen=True)
class ExpectedLoop:
    """line: its number, from 1. refused: words of the reason, None where unrolling is to be proposed."""

    line: int
    refused: str | None


@dataclass
class Program:
    """text: the source. kernels: name -> its loops."""

    text: str
    kernels: dict[str, list[ExpectedLoop]] = field(default_factory=dict)


def generate(seed: int, kernels: int) -> Program:
    """Reproducible: the same seed gives the same kernels."""
    writer = Writer(random.Random(seed))
    for number in range(kernels):
        writer.kernel(f"k{number}")
    writer.main(kernels)
    return Program(writer.text, writer.kernels)


def written(
    seed: int, kernels: int, kernel: Callable[[Writer, str], Expected], *head: str
) -> tuple[bytes, dict[str, Expected]]:
    """A program with this many kernels, each written by `kernel`, and its results by name. head: lines above the kernels."""
    writer = Writer(random.Random(seed))
    writer.lines += head
    expected = {name: kernel(writer, name) for name in (f"k{number}" for number in range(kernels))}
    writer.main(kernels)
    return writer.text.encode(), expected


class Writer:
    """Collects lines; `main` completes a program with the kernels k0, k1, ..., each with PARAMETERS."""

    def __init__(self, chance: random.Random):
        self.chance, self.lines = chance, _HEAD.splitlines()
        self.kernels: dict[str, list[ExpectedLoop]] = {}
        self._names = 0

    @property
    def text(self) -> str:
        return "\n".join(self.lines) + "\n"

    def say(self, depth: int, text: str) -> None:
        self.lines.append("  " * depth + text)

    def kernel(self, name: str) -> None:
        self._loops = self.kernels.setdefault(name, [])
        self.say(0, f"__global__ void {name}({PARAMETERS}) {{")
        self.say(1, "extern __shared__ float dynamic[];")
        self.say(1, "const int lane = __builtin_amdgcn_workitem_id_x();")
        self.say(1, "float f = in[lane]; int g = index[lane];")
        for _ in range(self.chance.randint(1, 3)):
            self.loop(1)
        self.say(1, "out[lane] = f; out[64 + lane] = (float)(g & 0xffff);")
        self.say(0, "}")

    def loop(self, depth: int) -> str | None:
        """Writes a loop; returns forbidden statements in it or in its inner loops."""
        chance = self.chance
        if depth == 1 and chance.random() < 0.08:
            self._loops.append(ExpectedLoop(len(self.lines) + 1, "macro"))
            self.say(depth, f"ROUNDS({chance.randint(2, 9)});")
            return None
        self._names += 1
        i = f"i{self._names}"
        place, hinted = len(self._loops), chance.random() < 0.08
        bound = chance.choice(["n", "m", "n - 1", "(lane & 7) + 2", str(chance.randint(2, 13))])
        kind = chance.choice(["for", "for", "for", "down", "step", "while", "do"])
        uniform = "lane" not in bound
        if kind in ("while", "do"):
            self.say(depth, f"int {i} = 0;")
        if hinted:
            self.say(depth, "#pragma unroll 2")
        line = len(self.lines) + 1
        if kind == "for":
            self.say(depth, f"for (int {i} = 0; {i} < {bound}; ++{i}) {{")
        elif kind == "down":
            self.say(depth, f"for (int {i} = {bound}; {i} > 0; --{i}) {{")
        elif kind == "step":
            self.say(depth, f"for (unsigned {i} = lane & 3; {i} < 20u; {i} += {chance.randint(2, 5)}) {{")
        else:
            self.say(depth, f"while ({i} < {bound}) {{" if kind == "while" else "do {")
        held = None
        for _ in range(chance.randint(1, 3)):
            self.statement(depth + 1, i)
        nested = depth < 3 and chance.random() < 0.35
        if nested:
            held = self.loop(depth + 1)
        if chance.random() < 0.3:
            # All waves must reach a barrier equally often; the device would otherwise wait forever.
            choices = [name for name in FORBIDDEN if name != "barrier" or (uniform and depth == 1 and kind not in ("step",))]
            held = held or chance.choice(choices)
            self.say(depth + 1, FORBIDDEN[held] if held in choices else FORBIDDEN["inline assembly"])
        if kind in ("while", "do"):
            self.say(depth + 1, f"++{i};")
        self.say(depth, f"}} while ({i} < {bound});" if kind == "do" else "}")
        refused = "its author" if hinted else held if held else "innermost" if nested else None
        self._loops.insert(place, ExpectedLoop(line, refused))
        return held

    def statement(self, depth: int, i: str) -> None:
        load = f"in[(lane * {self.chance.randint(1, 9)} + {i} * {self.chance.randint(1, 5)}) & {_MASK}]"
        forms = [
            f"f += {load};",
            f"f = f * 0.5f + {load} * {load};",
            f"f = __builtin_fmaf(f, 0.25f, {load});",
            f"g = g * 3 + index[(g ^ (int){i}) & {_MASK}];",
            f"f += in[index[(lane + {i}) & {_MASK}] & {_MASK}];",
            f"if ({load} > f) f = {load} / (f * f + 1.0f); else g += {i};",
            f"out[128 + lane] = f + {i};",
            f"f = mixed(f, {i});",
            f"f -= in[(g + (int){i}) & {_MASK}] * (float)(g & 15);",
        ]
        self.say(depth, self.chance.choice(forms))

    def main(self, kernels: int) -> None:
        self.lines += """\
int main() {
  static float in[256], out[256]; static int index[256];
  void *a, *b, *c, *d; int count = 0;
  hipMalloc(&a, 1024); hipMalloc(&b, 1024); hipMalloc(&c, 1024); hipMalloc(&d, 1024);
  for (int i = 0; i < 256; ++i) in[i] = (i * 73 % 199) * 0.173f - 11, index[i] = i * 29 % 251;
  in[7] = 1e-42f; in[91] = -0.0f; in[130] = 3e37f;
  hipMemcpy(a, in, 1024, 1); hipMemcpy(b, index, 1024, 1);""".splitlines()
        for number in range(kernels):
            for n, m in ((5, 8), (2, 3), (13, 1)):
                self.say(1, "hipMemset(c, 0xa5, 1024); hipMemset(d, 0, 1024);")
                launch = f"k{number}<<<1, 64, 256>>>((const float*)a, (const int*)b, (float*)c, (int*)d, {n}, {m});"
                self.say(1, launch)
                self.say(1, "hipMemcpy(out, c, 1024, 2); hipMemcpy(&count, d, 4, 2);")
                self.say(1, "{ unsigned long h = 14695981039346656037ul;")
                self.say(1, "for (int i = 0; i < 1024; ++i) h = (h ^ ((unsigned char*)out)[i]) * 1099511628211ul;")
                self.say(1, f'printf("k{number} {n} {m} %016lx %d\\n", h, count); }}')
        self.say(0, "}")
