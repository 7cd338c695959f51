"""benchmarks/variants.py: how it changes a kernel's file, what it derives from times, and its rank correlation."""

from __future__ import annotations

import sys

import pytest
import tomllib


@pytest.fixture
def variants(repository, monkeypatch):
    monkeypatch.syspath_prepend(str(repository / "benchmarks"))
    import variants

    yield variants
    for name in [name for name in sys.modules if name == "variants" or name.split(".")[0] == "silicon"]:
        sys.modules.pop(name)


def test_a_kernels_file_gets_its_tile_and_its_store(variants):
    from silicon.series import SERIES, edited

    edits = {one.name: one.edits[1] for one in SERIES["laplacian"].variants}
    text = "#define m 8\n  f[pos] = u[pos] * a\n    + u[pos - 1];\n"
    assert edited(text, edits["kernel 2 m=16"]).startswith("#define m 16\n  f[pos] = u")
    stored = edited(text, edits["kernel 1 non-temporal"])
    assert stored == "#define m 8\n  __builtin_nontemporal_store(u[pos] * a\n    + u[pos - 1], &f[pos]);\n"
    with pytest.raises(ValueError, match="fits 0 times"):
        edited("g[pos] = 1;", edits["kernel 1 non-temporal"])


def test_only_a_share_of_the_columns_is_read_and_the_lds_stays_as_large(variants):
    from silicon.series import SERIES, edited

    lds = next(one for one in SERIES["yAx"].variants if one.name == "64 KB of LDS")
    text = (
        "  __shared__ double tmp[fully_allocate_lds];\n"
        "  for(int i = threadIdx.x; i < fully_allocate_lds; i+= 64) tmp[i] = x[i];\n"
        "    for(int j = 0; j < m; j++){\n"
        "      temp += A[i*n+j] * (j < fully_allocate_lds ? tmp[j] : x[j]);\n"
        "  for(int i = 0; i < n*m; i++){\n    A[i] = 1;\n  }\n"
    )
    assert edited(text, lds.edits[0]) == (
        "  __shared__ double tmp[fully_allocate_lds];\n"
        "  for(int i = threadIdx.x; i < fully_allocate_lds / 16; i+= 64) tmp[i] = x[i];\n"
        "    for(int j = 0; j < m / 16; j++){\n"
        "      temp += A[i*n+j] * (j < fully_allocate_lds / 16 ? tmp[j] : x[j]);\n"
    )


def test_the_order_is_compared_pair_by_pair(variants):
    tau, low, high = variants.kendall([1, 2, 3, 4, 5], [1, 2, 3, 5, 4])  # nine pairs in the same order, one reversed
    assert tau == pytest.approx(0.8) and low < tau <= high <= 1
    assert variants.kendall([1, 2, 3, 4], [4, 3, 2, 1])[0] == -1


def test_the_error_for_differences_covers_four_of_five_pairs_weighting_each_series_equally(variants):
    exact = variants.Compared("ab", [1, 2], [1, 2])
    off = variants.Compared("abc", [1, 1, 1], [1, 1.5, 2])  # factors 1.5, 2 and 1.33
    assert off.differences() == pytest.approx([1.5, 2, 4 / 3])
    within, pairs = variants.error_for_differences({"off": off})
    assert (within, pairs) == (pytest.approx(1.0), 3)  # two of three would be too few
    assert variants.error_for_differences({"exact": exact, "off": off}) == (pytest.approx(0.5), 4)  # 1 + 2/3 of 2


def test_the_section_of_the_errors_file_is_replaced(variants):
    once = variants.with_differences("[limit.launch]\nwithin = 0.2\n", {"a": variants.Compared("ab", [1, 2], [1, 3])})
    again = variants.with_differences(once, {"a": variants.Compared("ab", [1, 2], [1, 4])})
    read = tomllib.loads(again)
    assert read["limit"]["launch"]["within"] == 0.2
    assert read["differences"] == {"within": 1.0, "pairs": 1, "series": 1}
    assert tomllib.loads(once)["differences"]["within"] == 0.5
