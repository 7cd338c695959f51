"""The storage that pseudo-code reads and writes: named bits, places in them, and the machine that holds them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from pseudocode_values import Value, cast_to, convert


class Bits:
    """Storage: bits, and which of them have been written. A variable also remembers the type that it was assigned."""

    def __init__(self, bits: int = 0, kind: str = "B", size: int = 0):
        self.bits, self.kind, self.size, self.written = bits, kind, size, 0

    def put(self, offset: int, size: int, bits: int) -> None:
        mask = ((1 << size) - 1) << offset
        self.bits = (self.bits & ~mask) | ((bits << offset) & mask)
        self.written |= mask

    def get(self, offset: int, size: int) -> int:
        return self.bits >> offset & ((1 << size) - 1)


class Break(Exception):
    pass


class Return(Exception):
    def __init__(self, value: Value):
        self.value = value


@dataclass
class Machine:
    """The machine on which a program runs: named storage, arrays of storage ("VGPR", "MEM"), and instructions to call."""

    state: dict[str, object]
    call: Callable[[str, list[Value]], Value] | None = None
    functions: dict[str, tuple[list[str], list]] = field(default_factory=dict)


Run = Callable[[Machine], Value]


@dataclass
class Place:
    """Bits of storage that an expression names: readable, and assignable on the left side."""

    storage: Bits
    offset: int
    size: int  # 0: everything that a variable holds
    kind: str
    reverse: bool = False

    def load(self) -> Value:
        if self.size == 0:
            if self.storage.size == 0:
                return Value("B", 64, self.storage.get(0, 64))
            return convert(self.storage.bits, self.storage.kind, self.storage.size)
        bits = self.storage.get(self.offset, self.size)
        if self.reverse:
            bits = int(f"{bits:0{self.size}b}"[::-1], 2)
        return convert(bits, self.kind, self.size)

    def store(self, value: Value) -> None:
        if self.size:
            self.storage.put(self.offset, self.size, self._bits_to_store(value))
            if self.storage.size == 0 and self.offset == 0:
                self.storage.kind, self.storage.size = self.kind, self.size
            return
        if self.storage.size == 0:
            self.storage.kind, self.storage.size = value.kind, value.size
        self.storage.put(0, self.storage.size, value.value)

    def _bits_to_store(self, value: Value) -> int:
        if value.kind == "F" and self.kind == "F" and value.size != self.size:
            return cast_to("F", self.size, value).value
        return value.value
