"""Memory that a candidate stores to and the baseline does not, checked against sets of addresses."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rocm_perf_lab.gate.equivalence.store_ranges import stores_elsewhere, union_of_ranges

ADDRESSES = st.sets(st.integers(0, 40))


def ranges(addresses: set[int]) -> list[tuple[int, int]]:
    begins = sorted(address for address in addresses if address - 1 not in addresses)
    ends = sorted(address + 1 for address in addresses if address + 1 not in addresses)
    return list(zip(begins, ends, strict=True))


@given(ADDRESSES, ADDRESSES)
def test_every_byte_that_only_the_candidate_stores_to_counts(before: set[int], after: set[int]) -> None:
    found = stores_elsewhere(ranges(before), ranges(after), [])
    more = after - before
    assert (found is None) == (not more)
    if found is not None:
        assert (found.where.stored_bytes, found.where.address) == (len(more), f"{min(more):#x}")


@given(ADDRESSES, ADDRESSES)
def test_what_either_stores_to_is_one_list_of_ranges(some: set[int], others: set[int]) -> None:
    assert list(union_of_ranges(ranges(some), ranges(others))) == ranges(some | others)
