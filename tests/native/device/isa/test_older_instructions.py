"""What gfx90a has and gfx942 does not, other than matrix products: multiply-adds that round twice, cache policies."""

from __future__ import annotations

import subprocess
from wave import EXEC, LANES, Batch, set_scalar64

import numpy as np
import pytest

FORMS = {
    "v_mad_f32 v3, v0, v1, v2": (0, 1, 2),
    "v_mac_f32 v3, v0, v1": (0, 1, 3),
    "v_madak_f32 v3, v0, v1, 0x3f9df3b6": (0, 1, 0x3F9DF3B6),
    "v_madmk_f32 v3, v0, 0x3f9df3b6, v1": (0, 0x3F9DF3B6, 1),
    "v_mad_legacy_f32 v3, v0, v1, v2": (0, 1, 2),
}


def flushed(values: np.ndarray) -> np.ndarray:
    return np.where(np.abs(values) < 2.0**-126, np.copysign(np.float32(0), values), values).astype(np.float32)


@pytest.mark.parametrize("text", FORMS)
def test_multiply_adds_round_twice_and_flush_denormals(probe, older_assembler, random, text):
    batch = Batch(older_assembler.assemble([text]), 40, vgprs=4)
    exponents = random.integers(-140, 60, (40, 4, LANES))
    numbers = np.ldexp(random.uniform(-2, 2, exponents.shape), exponents).astype(np.float32)
    numbers[:10, :2] = random.choice(np.float32([0.0, -0.0, 1e-40, 1.5]), (10, 2, LANES))
    batch.input["vgpr"] = numbers.view(np.uint32)
    set_scalar64(batch.input, EXEC, 2**64 - 1)
    after = batch.run(probe, target="gfx90a")
    assert not after["faulted"].any()
    a, b, c = (np.uint32(of).view(np.float32) if of > 3 else flushed(numbers[:, of]) for of in FORMS[text])
    product = flushed(a * b)
    if "legacy" in text:
        product = np.where((a == 0) | (b == 0), np.float32(0), product)
    got, expected = after["vgpr"][:, 3].view(np.float32), flushed(product + c)
    assert ((got == expected) & (np.signbit(got) == np.signbit(expected))).all()


def test_the_cache_policies_of_gfx90a_decode_on_every_kind_of_access(probe, older_assembler):
    lines = [
        f"{access} {policy}"
        for access in (
            "global_load_dword v0, v[2:3], off",
            "flat_store_dword v[2:3], v0",
            "buffer_load_dword v0, off, s[0:3], 0",
            "global_atomic_add v0, v[2:3], v4, off glc",
        )  # fmt: skip
        for policy in ("", "slc", "scc", "glc slc scc")
        if not ("glc" in access and "glc" in policy)
    ]
    code = older_assembler.assemble(lines)
    printed = subprocess.run([probe, "decode", "gfx90a"], input=code.code, capture_output=True, check=True).stdout.decode()
    verdicts = {int(line.split()[0]): line.split(" ", 2)[1:] for line in printed.splitlines()}
    assert [verdicts[entry] for entry in code.entry] == [["ok", line.strip()] for line in lines]


def test_registers_of_one_target_only(probe, assembler, older_assembler):
    """XCC_ID is a register of gfx942 only."""
    for one, expected in ((assembler, "ok"), (older_assembler, "refused")):
        code = one.assemble([".long 0xb8841814"]).code  # s_getreg_b32 s4, hwreg(20, 0, 4)
        printed = subprocess.run([probe, "decode", one.target], input=code, capture_output=True, check=True).stdout.decode()
        assert printed.split()[1] == expected
