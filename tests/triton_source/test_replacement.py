"""What may replace a Triton function, and what may not: every way out of the GPU is closed."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocm_perf_lab.triton_source import TritonSource
from rocm_perf_lab.triton_source.replacement import why_not_replacement
from triton_candidates import HONEST, WRONG, changed, kernel_of

SCRIPT = """\
import os

import numpy as np
import triton
import triton.language as tl
from triton.language.extra import libdevice

SIZE = 3


@triton.jit
def helper(x):
    return x + 1


@triton.jit
def scale(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, helper(tl.load(x + at)) * SIZE, mask=at < n)
"""
SOURCE = TritonSource(Path("a.py"), SCRIPT.encode())
KERNEL = SOURCE.kernel("scale")
OWN = SOURCE.text[KERNEL.span.start : KERNEL.span.end].decode()


def why_not(code: str) -> str | None:
    return why_not_replacement(SOURCE, KERNEL, code)


@pytest.mark.parametrize(
    "line",
    [
        "y = tl.math.exp2(at.to(tl.float32))",
        "y = libdevice.asin(tl.load(x))",
        "y: tl.constexpr = triton.next_power_of_2(BLOCK)",
        "for k in tl.range(0, n, num_stages=2):\n        at += helper(k) + SIZE",
        "tl.static_assert(BLOCK % 2 == 0)",
        "a, b = x.dtype.element_ty, min(n, 3)",
    ],
)
def test_code_that_computes_on_the_gpu_is_allowed(line):
    assert why_not(f"{OWN}\n    {line}") is None


@pytest.mark.parametrize(
    "line",
    [
        "os.system('id')",
        "np.save('x', 1)",
        "y = np\n    y.save('x', 1)",
        "y = tl\n    y.core.os.system('id')",
        "tl.core.os.system('id')",
        "y = tl.core",
        "triton.runtime.build.subprocess.run('id')",
        "y = triton.language",
        "x.__class__",
        "at.os",
        "y = tl.math.os\n    y.system('id')",
        "open('x')",
        "exec('1')",
        "getattr(x, 'dtype')",
        "import os",
        "tl.inline_asm_elementwise('.incbin \"/etc/passwd\"', '=v', [], tl.int32, True, 1)",
        "tl.extern_elementwise('l', '/tmp/l.bc', [], {}, True)",
        "y = (lambda: 1)()",
        "y = [k for k in range(3)]",
        "y = f'{n}'",
        "global SIZE",
        "tl = x",
        "y = scale_on_host(x)",
        "def inner():\n        return 1",
    ],
)
def test_code_that_reaches_the_host_is_refused(line):
    assert why_not(f"{OWN}\n    {line}")


@pytest.mark.parametrize(
    "decorator, allowed",
    [
        ("@triton.autotune(configs=[triton.Config({'BLOCK': 64}, num_warps=4)], key=['n'])", True),
        ("@triton.heuristics({'BLOCK': lambda args: triton.next_power_of_2(args['n'])})", True),
        ("@triton.autotune(configs=[triton.Config({}, pre_hook=lambda n: os.system('id'))], key=[])", False),
        ("@triton.heuristics({'BLOCK': lambda args: os.getpid()})", False),
        ("@triton.heuristics({'BLOCK': lambda args: args.__class__})", False),
        ("@(lambda f: f)", False),
        ("@os.system", False),
    ],
)
def test_decorators(decorator, allowed):
    assert (why_not(f"{decorator}\n{OWN}") is None) == allowed


@pytest.mark.parametrize(
    "code, words",
    [
        (OWN.replace("scale", "other"), "must be called scale"),
        (OWN.replace("x, n,", "n, x,"), "its parameters must stay"),
        (OWN.replace("BLOCK: tl.constexpr", "BLOCK: tl.constexpr = print(1)"), "its parameters must stay"),
        (OWN.replace("@triton.jit\n", ""), "must be @triton.jit"),
        (f"import os\n{OWN}", "must be one function"),
        (f"{OWN}\nprint(1)", "must be one function"),
    ],
)
def test_the_form_of_a_replacement(code, words):
    assert words in why_not(code)


@pytest.mark.parametrize("name, script, replacements", [one[:3] for one in (*WRONG, *HONEST)], ids=lambda one: str(one)[:30])
def test_only_the_gate_judges_results(name, script, replacements):
    """Functions from other tests, right and wrong ones, have an allowed form unless their parameters differ."""
    old, new = (TritonSource(Path("a.py"), text.encode()) for text in (script, changed(script, replacements)))
    kernel, other = (source.kernel(kernel_of(script)) for source in (old, new))
    reason = why_not_replacement(old, kernel, new.text[other.span.start : other.span.end].decode())
    assert reason is None or "its parameters must stay" in reason
