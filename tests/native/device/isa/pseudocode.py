"""An interpreter of the pseudo-code in which AMD's ISA documents define instructions.

The language: statements separated by ";", if/elsif/else/endif, for/do/endfor, lambdas; values are typed by a suffix
(.u32, .f16, .i24, .b64), literals by a prefix (6'60U, 16'1.0) or suffix (0ULL, 1.0F); [hi : lo] and [at +: count]
cut bits out, { a, b } joins them, ** is a power.

    program = parse("D0.u32 = S0.u32 + S1.u32")
    state = {"S0": Bits(3), "S1": Bits(4), "D0": Bits(0)}
    program.run(state)          # state["D0"].bits == 7, state["D0"].written == 0xffffffff

Integers are exact until they are stored, so overflow occurs only where it does in hardware. Floating point rounds once, to
nearest even unless pseudocode_values.rounded says otherwise. An operation with NaN operands returns the first one, quieted.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from pseudocode_parser import Parser, run_all
from pseudocode_storage import Bits, Machine, Run
from pseudocode_values import Unsupported, Value, convert


@dataclass
class Program:
    statements: list[Run]

    def run(self, state: dict[str, object], call: Callable[[str, list[Value]], Value] | None = None) -> None:
        """Changes `state`: name -> Bits, or a list of Bits for "VGPR" and the like, or anything indexable."""
        run_all(self.statements, Machine(state, call))


def parse(text: str) -> Program:
    parser = Parser(text)
    program = Program(parser.block())
    if parser.kind != "end":
        raise Unsupported(f"unexpected {parser.word!r}")
    return program


class Library:
    """All instructions of a document: `definitions` maps a mnemonic (lower case, no suffix) to its pseudo-code."""

    def __init__(self, definitions: dict[str, str]):
        self.definitions = definitions
        self._programs: dict[str, Program] = {}

    def program(self, mnemonic: str) -> Program:
        if mnemonic not in self._programs:
            self._programs[mnemonic] = parse(self.definitions[mnemonic])
        return self._programs[mnemonic]

    def run(self, mnemonic: str, state: dict[str, object]) -> None:
        """Runs one instruction on `state`; calls such as v_min_f32(a, b) run that instruction's pseudo-code."""

        def call(name: str, arguments: list[Value]) -> Value:
            if name not in self.definitions:
                raise Unsupported(f"function {name}")
            inner = {key: state[key] for key in ("MODE_IEEE",) if key in state}
            inner |= {f"S{i}": Bits(value.bits) for i, value in enumerate(arguments)}
            inner["D0"] = Bits()
            self.program(name).run(inner, call)
            kind, size = re.fullmatch(r".*_([uifb])(\d+)", name).groups() if not name.endswith("_u8") else ("u", "32")
            return convert(inner["D0"].bits, kind.upper(), int(size))

        self.program(mnemonic).run(state, call)
