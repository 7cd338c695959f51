"""What benchmarks/variants.py makes of a kernel's file, and its rank correlation."""

from __future__ import annotations

import sys

import pytest


@pytest.fixture
def variants(repository, monkeypatch):
    monkeypatch.syspath_prepend(str(repository / "benchmarks"))
    import variants

    yield variants
    sys.modules.pop("variants")


def test_a_kernels_file_gets_its_tile_and_its_store(variants):
    text = "#define m 8\n  f[pos] = u[pos] * a\n    + u[pos - 1];\n"
    assert variants.source_of(variants.Variant(2, 16, 1.0), text).startswith("#define m 16\n  f[pos] = u")
    stored = variants.source_of(variants.Variant(1, None, 1.0, True), text)
    assert stored == "#define m 8\n  __builtin_nontemporal_store(u[pos] * a\n    + u[pos - 1], &f[pos]);\n"
    with pytest.raises(AssertionError):
        variants.source_of(variants.Variant(1, None, 1.0, True), "g[pos] = 1;")


def test_the_order_is_compared_pair_by_pair(variants):
    tau, low, high = variants.kendall([1, 2, 3, 4, 5], [1, 2, 3, 5, 4])  # nine pairs alike, one reversed
    assert tau == pytest.approx(0.8) and low < tau <= high <= 1
    assert variants.kendall([1, 2, 3, 4], [4, 3, 2, 1])[0] == -1
