"""Random programs for one wave, and their expected effect: each step is a line or block of assembly with its own oracle.

Steps compute from v0 to v11 and s8 to s17 into v12 to v15 and s20, s21; moves between them carry results on. Conditions,
loops and divergence are nested. MODE changes along the way; the LDS is small, and some addresses lie outside it.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from wave import EXEC, LANES, VCC, mask_of

import numpy as np
from assembly_forms import registers
from atomic_reference import UPDATES
from dpp import CONTROLS
from lds_model import ADDRESS, DATA, DATA2, RESULT, atomic_of, edge_expected, word_count
from pseudocode import Library
from pseudocode_storage import Bits
from shapes import RESULT_SGPR, RESULT_VGPR, Form, V, scalar_forms, shape_of, vector_forms
from sub_dword import SELECTS, placed, selected
from swizzle import SWIZZLES
from vector_oracle import (
    APPROXIMATE,
    State,
    beyond,
    expected_lane,
    flag_of,
    is_packed,
    result_bits,
    source_bits,
)

LDS = 512
SOURCES = 12  # vector registers that steps read
SAVED_EXEC, COUNTERS = 26, 40  # scalar registers of the control flow, by depth
SCALAR_SOURCES = (8, 9, 10, 11, 12, 13, 16, 17)
STATEFUL = ("s_set_gpr", "s_movrel", "s_getpc", "s_setpc", "s_swappc", "s_call", "s_getreg", "s_setreg", "s_cbranch", "s_load",
            "s_buffer", "s_dcache", "s_mem", "s_cmpk", "s_movk", "s_cmovk", "s_addk", "s_mulk")  # fmt: skip
SOPK = ["s_movk_i32", "s_cmovk_i32", "s_addk_i32", "s_mulk_i32",
        *(f"s_cmpk_{test}_{kind}32" for kind in "iu" for test in ("eq", "lg", "gt", "ge", "lt", "le"))]  # fmt: skip


class Wave(State):
    """A State that runs steps. vgpr [register][lane], sgpr, scc, mode, and the LDS."""

    def __init__(self, row: np.void, library: Library):
        super().__init__(row["vgpr"].tolist(), row["sgpr"].tolist(), int(row["scc"]), int(row["mode"]))
        self.lds = bytearray(row["lds"].tobytes())
        self.library = library
        self.observe: Callable[[str, Wave], None] | None = None

    def did(self, text: str) -> None:
        """To be called when these instructions, without branches, have just been executed."""
        if self.observe:
            self.observe(text, self)

    def set_pair(self, register: int, value: int) -> None:
        self.sgpr[register], self.sgpr[register + 1] = value & 0xFFFFFFFF, value >> 32

    @property
    def enabled(self) -> list[int]:
        mask = self.pair(EXEC)
        return [lane for lane in range(LANES) if mask >> lane & 1]

    def set_result(self, lane: int, bits: int) -> None:
        for i in range(4):
            self.vgpr[RESULT_VGPR + i][lane] = bits >> 32 * i & 0xFFFFFFFF

    def arrays(self) -> dict[str, np.ndarray]:
        """The state in the form that the model of the LDS uses."""
        return {"vgpr": np.array(self.vgpr, np.uint32), "sgpr": np.array(self.sgpr, np.uint32),
                "lds": np.frombuffer(bytes(self.lds), np.uint8)}  # fmt: skip


class Step(ABC):
    text: str

    @abstractmethod
    def run(self, wave: Wave) -> None: ...


# ---- single instructions ----


@dataclass
class Vector(Step):
    form: Form

    @property
    def text(self) -> str:
        return self.form.text

    def run(self, wave: Wave) -> None:
        form, flags = self.form, 0
        values = {lane: expected_lane(wave.library, form, wave, lane) for lane in wave.enabled}
        for lane, result in values.items():
            if form.carry_out is not None:
                flags |= flag_of(form, result, lane) << lane
            if not form.mnemonic.startswith("v_cmp"):
                wave.set_result(lane, result_bits(form, result, wave.mode))
        if form.carry_out is not None:
            wave.set_pair(form.carry_out, flags)
        if form.mnemonic.startswith("v_cmpx"):
            wave.set_pair(EXEC, flags)


@dataclass
class Dpp(Step):
    form: Form
    control: str
    rows: int
    banks: int
    bound: bool

    @property
    def text(self) -> str:
        mnemonic, operands = self.form.text.split(" ", 1)
        masks = f"row_mask:{self.rows:#x} bank_mask:{self.banks:#x}" + (" bound_ctrl:1" if self.bound else "")
        return f"{mnemonic.removesuffix('_e32')}_dpp {operands} {self.control} {masks}"

    def run(self, wave: Wave) -> None:
        enabled = set(wave.enabled)
        results = {}
        for lane in enabled:
            source = int(CONTROLS[self.control][lane])
            valid = source in enabled
            if not (self.rows >> lane // 16 & self.banks >> lane % 16 // 4 & 1) or not (valid or self.bound):
                continue
            sources = [source_bits(self.form, i, wave, lane) for i in range(len(self.form.sources))]
            sources[0] = source_bits(self.form, 0, wave, source) if valid else 0
            values = expected_lane(wave.library, self.form, wave, lane, sources)
            results[lane] = result_bits(self.form, values, wave.mode)
        for lane, bits in results.items():
            wave.set_result(lane, bits)


@dataclass
class Sdwa(Step):
    form: Form
    to: str
    unused: str
    selects: tuple[str, ...]

    @property
    def text(self) -> str:
        mnemonic, operands = self.form.text.split(" ", 1)
        sources = " ".join(f"src{i}_sel:{select}" for i, select in enumerate(self.selects))
        return f"{mnemonic.removesuffix('_e32')}_sdwa {operands} dst_sel:{self.to} dst_unused:{self.unused} {sources}"

    def run(self, wave: Wave) -> None:
        for lane in wave.enabled:
            whole = [wave.vgpr[4 * i][lane] for i in range(len(self.selects))]
            sources = [int(selected(bits, select, False)) for bits, select in zip(whole, self.selects, strict=True)]
            values = expected_lane(wave.library, self.form, wave, lane, sources)
            result = result_bits(self.form, values, wave.mode) & 0xFFFFFFFF
            old = wave.vgpr[RESULT_VGPR][lane]
            wave.vgpr[RESULT_VGPR][lane] = result if self.to == "DWORD" else int(placed(result, old, self.to, self.unused))


@dataclass
class SdwaCompare(Step):
    form: Form
    selects: tuple[str, ...]

    @property
    def text(self) -> str:
        mnemonic, operands = self.form.text.split(" ", 1)
        sources = " ".join(f"src{i}_sel:{select}" for i, select in enumerate(self.selects))
        return f"{mnemonic.removesuffix('_e32')}_sdwa {operands} {sources}"

    def run(self, wave: Wave) -> None:
        flags = 0
        for lane in wave.enabled:
            whole = [wave.vgpr[4 * i][lane] for i in range(len(self.selects))]
            sources = [int(selected(bits, select, False)) for bits, select in zip(whole, self.selects, strict=True)]
            flags |= flag_of(self.form, expected_lane(wave.library, self.form, wave, lane, sources), lane) << lane
        wave.set_pair(VCC, flags)
        if self.form.mnemonic.startswith("v_cmpx"):
            wave.set_pair(EXEC, flags)


@dataclass
class Scalar(Step):
    form: Form

    @property
    def text(self) -> str:
        return self.form.text

    def run(self, wave: Wave) -> None:
        form = self.form
        whole = form.shape.result is not None and form.shape.result.size == 64
        old = wave.pair(RESULT_SGPR)
        values: dict[str, object] = {f"S{i}": Bits(source_bits(form, i, wave, 0)) for i in range(len(form.sources))}
        values |= {"D0": Bits(old if whole else old & 0xFFFFFFFF), "SCC": Bits(wave.scc, "U", 1)}
        values["EXEC"] = Bits(wave.pair(EXEC), "U", 64)
        wave.library.run(form.mnemonic, values)
        result = values["D0"].bits
        wave.set_pair(RESULT_SGPR, result if whole else old & ~0xFFFFFFFF | result & 0xFFFFFFFF)
        wave.scc = values["SCC"].bits & 1
        wave.set_pair(EXEC, values["EXEC"].bits)


@dataclass
class Move(Step):
    """Moves a result to where later steps read it."""

    to: int
    source: int

    @property
    def text(self) -> str:
        return f"v_mov_b32 v{self.to}, v{self.source}"

    def run(self, wave: Wave) -> None:
        for lane in wave.enabled:
            wave.vgpr[self.to][lane] = wave.vgpr[self.source][lane]


@dataclass
class ScalarMove(Step):
    to: int
    source: int

    @property
    def text(self) -> str:
        return f"s_mov_b32 s{self.to}, s{self.source}"

    def run(self, wave: Wave) -> None:
        wave.sgpr[self.to] = wave.sgpr[self.source]


@dataclass
class SetMode(Step):
    offset: int
    width: int
    value: int

    @property
    def text(self) -> str:
        return f"s_setreg_imm32_b32 hwreg(HW_REG_MODE, {self.offset}, {self.width}), {self.value:#x}"

    def run(self, wave: Wave) -> None:
        mask = (1 << self.width) - 1 << self.offset
        wave.mode = wave.mode & ~mask | self.value << self.offset & mask


@dataclass
class SetExec(Step):
    mask: int

    @property
    def text(self) -> str:
        return f"s_mov_b32 exec_lo, {self.mask & 0xFFFFFFFF:#x}\ns_mov_b32 exec_hi, {self.mask >> 32:#x}"

    def run(self, wave: Wave) -> None:
        wave.set_pair(EXEC, self.mask)


@dataclass
class Lds(Step):
    """An access at an address computed from v0: inside the LDS, beyond it, or below it."""

    name: str
    line: str
    bias: int

    @property
    def text(self) -> str:
        return f"v_and_b32 v{ADDRESS}, {2 * LDS - 8:#x}, v0\nv_subrev_u32 v{ADDRESS}, {self.bias}, v{ADDRESS}\n{self.line}"

    def run(self, wave: Wave) -> None:
        for lane in wave.enabled:
            wave.vgpr[ADDRESS][lane] = (wave.vgpr[0][lane] & 2 * LDS - 8) - self.bias & 0xFFFFFFFF
        size = int(re.search(r"(\d+)(_d16)?(_hi)?$", self.name).group(1)) // 8
        memory, vgpr = edge_expected(self.name, self.line, wave.arrays(), size)
        wave.lds, wave.vgpr = bytearray(memory), vgpr.tolist()


@dataclass
class WithImmediate(Step):
    """SOPK: with a constant that is extended."""

    mnemonic: str
    value: int

    @property
    def text(self) -> str:
        return f"{self.mnemonic} s20, {self.value:#x}"

    def run(self, wave: Wave) -> None:
        old = wave.sgpr[20]
        first = Bits(old) if "cmpk" in self.mnemonic else Bits(self.value)
        values = {"S0": first, "S1": Bits(self.value), "D0": Bits(old), "SCC": Bits(wave.scc, "U", 1)}
        wave.library.run(self.mnemonic, values)
        wave.sgpr[20], wave.scc = values["D0"].bits & 0xFFFFFFFF, values["SCC"].bits & 1


@dataclass
class ReadFirstLane(Step):
    text = "v_readfirstlane_b32 s20, v0"

    def run(self, wave: Wave) -> None:
        wave.sgpr[20] = wave.vgpr[0][min(wave.enabled, default=0)]


@dataclass
class ReadLane(Step):
    text = "v_readlane_b32 s20, v0, s8"

    def run(self, wave: Wave) -> None:
        wave.sgpr[20] = wave.vgpr[0][wave.sgpr[8] % LANES]


@dataclass
class WriteLane(Step):
    text = "s_mov_b32 m0, s10\nv_writelane_b32 v12, s8, m0"

    def run(self, wave: Wave) -> None:
        wave.sgpr[124] = wave.sgpr[10]
        wave.vgpr[12][wave.sgpr[10] % LANES] = wave.sgpr[8]


@dataclass
class Permute(Step):
    """Within the wave: by addresses, or (ds_swizzle) by a control."""

    control: str = ""

    @property
    def text(self) -> str:
        return f"ds_swizzle_b32 v12, v4 offset:{self.control}" if self.control else "ds_bpermute_b32 v12, v0, v4"

    def run(self, wave: Wave) -> None:
        enabled = set(wave.enabled)
        by_address = {lane: wave.vgpr[0][lane] // 4 % LANES for lane in enabled}
        sources = {lane: SWIZZLES[self.control](lane) for lane in enabled} if self.control else by_address
        for lane, value in {lane: wave.vgpr[4][at] if at in enabled else 0 for lane, at in sources.items()}.items():
            wave.vgpr[12][lane] = value


# ---- control flow ----


def text_of(steps: list[Step]) -> str:
    return "\n".join(step.text for step in steps)


def run_all(steps: list[Step], wave: Wave) -> None:
    for step in steps:
        step.run(wave)
        if not isinstance(step, (If, Diverge, Loop)):
            wave.did(step.text)


CONDITIONS = {
    "scc0": lambda wave: not wave.scc,
    "scc1": lambda wave: wave.scc,
    "vccz": lambda wave: not wave.pair(VCC),
    "vccnz": lambda wave: wave.pair(VCC),
    "execz": lambda wave: not wave.pair(EXEC),
    "execnz": lambda wave: wave.pair(EXEC),
}


@dataclass
class If(Step):
    condition: str
    label: str
    taken: list[Step]
    otherwise: list[Step]

    @property
    def text(self) -> str:
        return (f"s_cbranch_{self.condition} {self.label}t\n{text_of(self.otherwise)}\ns_branch {self.label}e\n"
                f"{self.label}t:\n{text_of(self.taken)}\n{self.label}e:")  # fmt: skip

    def run(self, wave: Wave) -> None:
        run_all(self.taken if CONDITIONS[self.condition](wave) else self.otherwise, wave)


@dataclass
class Diverge(Step):
    """The lanes of a mask execute the body, in the form that compilers emit."""

    depth: int
    label: str
    body: list[Step]

    @property
    def text(self) -> str:
        pair = f"s[{self._saved}:{self._saved + 1}]"
        return (f"s_and_saveexec_b64 {pair}, vcc\ns_cbranch_execz {self.label}e\n{text_of(self.body)}\n"
                f"{self.label}e:\ns_mov_b64 exec, {pair}")  # fmt: skip

    @property
    def _saved(self) -> int:
        return SAVED_EXEC + 2 * self.depth

    def run(self, wave: Wave) -> None:
        saved = wave.pair(EXEC)
        wave.set_pair(self._saved, saved)
        wave.set_pair(EXEC, saved & wave.pair(VCC))
        wave.scc = int(wave.pair(EXEC) != 0)
        wave.did(self.text.split("\n")[0])
        if wave.pair(EXEC):
            run_all(self.body, wave)
        wave.set_pair(EXEC, wave.pair(self._saved))
        wave.did(self.text.split("\n")[-1])


@dataclass
class Loop(Step):
    depth: int
    label: str
    count: int
    body: list[Step]

    @property
    def text(self) -> str:
        counter = f"s{COUNTERS + self.depth}"
        return (f"s_mov_b32 {counter}, {self.count}\n{self.label}:\n{text_of(self.body)}\n"
                f"s_sub_u32 {counter}, {counter}, 1\ns_cmp_lg_u32 {counter}, 0\ns_cbranch_scc1 {self.label}")  # fmt: skip

    def run(self, wave: Wave) -> None:
        first, *_, subtraction, comparison, _ = self.text.split("\n")
        wave.sgpr[COUNTERS + self.depth] = self.count
        wave.did(first)
        for left in reversed(range(self.count)):
            run_all(self.body, wave)
            wave.sgpr[COUNTERS + self.depth], wave.scc = left, int(left != 0)
            wave.did(f"{subtraction}\n{comparison}")


# ---- drawing them ----


def dpp_and_sdwa(form: Form) -> bool:
    """Plain 32- and 16-bit instructions with one or two sources, which may have these encodings."""
    shape = form.shape
    narrow = all(operand.size <= 32 for operand in (*shape.sources, shape.result)) and not is_packed(form)
    plain = all(source == V for source in form.sources) and not form.clamp and not form.output_modifier
    return narrow and plain and form.text.startswith(f"{form.mnemonic}_e32") and form.carry_out is None


def plain_compare(form: Form) -> bool:
    narrow = all(operand.size <= 32 for operand in form.shape.sources)
    plain = all(source == V for source in form.sources) and form.mnemonic.startswith("v_cmp")
    return narrow and plain and form.text.startswith(f"{form.mnemonic}_e32")


@dataclass
class Programs:
    """The building blocks of programs: all that the assembler accepts, the pseudo-code defines and the device knows."""

    library: Library
    vectors: list[list[Form]] = field(default_factory=list)  # by mnemonic
    scalars: list[list[Form]] = field(default_factory=list)
    dpp: list[Form] = field(default_factory=list)
    sdwa: list[Form] = field(default_factory=list)
    sdwa_compares: list[Form] = field(default_factory=list)
    lds: list[tuple[str, str]] = field(default_factory=list)

    @classmethod
    def of(cls, library: Library, known, assembler) -> Programs:
        programs = cls(library)
        forms = {}
        for mnemonic in library.definitions:
            if mnemonic not in known or beyond(mnemonic) or mnemonic in APPROXIMATE or not interpreted(library, mnemonic):
                continue
            if "fp8" in mnemonic or "bf8" in mnemonic:  # functions not defined by the pseudo-code: test_small_float.py
                continue
            shape = shape_of(library.definitions[mnemonic])
            if mnemonic.startswith("v_") and not mnemonic.startswith("v_accvgpr") and shape.sources:
                forms[mnemonic] = vector_forms(mnemonic, shape)
            elif mnemonic.startswith("s_") and not mnemonic.startswith(STATEFUL) and shape.sources:
                forms[mnemonic] = scalar_forms(mnemonic, shape, compare=shape.result is None)
        accepted = set(assembler.accepted(list(dict.fromkeys(form.text for some in forms.values() for form in some))))
        for mnemonic, some in forms.items():
            some = [form for form in some if form.text in accepted]
            if some:
                (programs.vectors if mnemonic.startswith("v_") else programs.scalars).append(some)
        programs.find_encodings(assembler)
        programs.lds = lds_lines(known)
        return programs

    def find_encodings(self, assembler) -> None:
        plain = [form for some in self.vectors for form in some if dpp_and_sdwa(form)]
        dpp = {Dpp(form, "row_shr:3", 15, 15, True).text: form for form in plain}
        sdwa = {Sdwa(form, "DWORD", "UNUSED_PAD", ("WORD_1", "BYTE_0")[: len(form.sources)]).text: form for form in plain}
        compares = [form for some in self.vectors for form in some if plain_compare(form)]
        sdwa_compares = {SdwaCompare(form, ("WORD_1", "BYTE_0")).text: form for form in compares}
        accepted = set(assembler.accepted([*dpp, *sdwa, *sdwa_compares]))
        self.sdwa_compares = [form for text, form in sdwa_compares.items() if text in accepted]
        self.dpp = [form for text, form in dpp.items() if text in accepted]
        self.sdwa = [form for text, form in sdwa.items() if text in accepted]


def interpreted(library: Library, mnemonic: str) -> bool:
    try:
        library.program(mnemonic)
    except Exception:  # the parser raises many kinds: test_pseudocode.py reports them
        return False
    return True


def lds_lines(known) -> list[tuple[str, str]]:
    """(name, line) of accesses whose data and results do not overlap with the address."""
    lines = []
    for name in known:
        match = re.fullmatch(r"ds_(read|write)(2|2st64)?_([bui])(\d+)(_d16)?(_hi)?", name)
        if match:
            kind, paired, _, bits, _, _ = match.groups()
            data = [registers("v", DATA, int(bits))] + ([registers("v", DATA2, int(bits))] if paired else [])
            whole = registers("v", RESULT, int(bits) * (2 if paired else 1))
            operands = [whole, f"v{ADDRESS}"] if kind == "read" else [f"v{ADDRESS}", *data]
            for offset in ("offset0:1 offset1:0", "offset0:0 offset1:7") if paired else ("offset:8", "offset:24"):
                lines.append((name, f"{name} {', '.join(operands)} {offset}"))
        elif atomic_of(name) in UPDATES and not name.endswith(("f16", "f32", "f64")):
            count = word_count(name)
            operands = [f"v{ADDRESS}", registers("v", DATA, 32 * count)]
            operands = [registers("v", RESULT, 32 * count), *operands] if "_rtn_" in name else operands
            lines.append((name, f"{name} {', '.join(operands)} offset:16"))
    return lines


class Drawer:
    def __init__(self, programs: Programs, random: np.random.Generator, name: str):
        self.programs, self.random, self.name, self.labels = programs, random, name, 0

    def program(self, steps: int) -> list[Step]:
        return self.block(steps, 0)

    def block(self, steps: int, depth: int) -> list[Step]:
        return [step for _ in range(steps) for step in self.step(depth)]

    def pick(self, options: list):
        return options[int(self.random.integers(len(options)))]

    def label(self) -> str:
        self.labels += 1
        return f"{self.name}_{self.labels}"

    def step(self, depth: int) -> list[Step]:
        kinds = [(self.vector, 10), (self.scalar, 4), (self.shuffled, 3), (self.sub_dword, 3), (self.memory, 3), (self.mode, 2),
                 (self.lanes, 1), (self.masks, 1)]  # fmt: skip
        if depth < 3:
            kinds += [(lambda: self.nested(depth), 3)]
        weights = np.array([weight for _, weight in kinds], float)
        return kinds[int(self.random.choice(len(kinds), p=weights / weights.sum()))][0]()

    def carried(self, step: Step) -> list[Step]:
        return [step, *(Move(int(self.random.integers(SOURCES)), RESULT_VGPR + int(self.random.integers(4))) for _ in range(2))]

    def vector(self) -> list[Step]:
        return self.carried(Vector(self.pick(self.pick(self.programs.vectors))))

    def scalar(self) -> list[Step]:
        step: Step = Scalar(self.pick(self.pick(self.programs.scalars)))
        if self.random.random() < 0.2:
            step = WithImmediate(self.pick(SOPK), int(self.random.integers(1 << 16)))
        return [step, ScalarMove(self.pick(SCALAR_SOURCES), RESULT_SGPR + int(self.random.integers(2)))]

    def shuffled(self) -> list[Step]:
        rows, banks = (self.pick([0xF, 0xF, 0xA, 0xC, 0x3, 0x5]) for _ in range(2))
        bound = bool(self.random.integers(2))
        return self.carried(Dpp(self.pick(self.programs.dpp), self.pick(list(CONTROLS)), rows, banks, bound))

    def sub_dword(self) -> list[Step]:
        if self.random.random() < 0.25:
            form = self.pick(self.programs.sdwa_compares)
            return [SdwaCompare(form, tuple(self.pick(SELECTS) for _ in form.sources))]
        form = self.pick(self.programs.sdwa)
        unused = self.pick(["UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"])
        return self.carried(Sdwa(form, self.pick(SELECTS), unused, tuple(self.pick(SELECTS) for _ in form.sources)))

    def memory(self) -> list[Step]:
        return self.carried(Lds(*self.pick(self.programs.lds), bias=self.pick([0, 0, 8, 24, 64])))

    def mode(self) -> list[Step]:
        offset, width = self.pick([(0, 4), (0, 2), (4, 4), (6, 2), (8, 2), (23, 1)])
        return [SetMode(offset, width, int(self.random.integers(1 << width)))]

    def lanes(self) -> list[Step]:
        kinds = [ReadLane(), ReadFirstLane(), WriteLane(), Permute(), Permute(self.pick(list(SWIZZLES)))]
        return self.carried(self.pick(kinds))

    def masks(self) -> list[Step]:
        return [SetExec(random_mask(self.random))]

    def nested(self, depth: int) -> list[Step]:
        size = int(self.random.integers(1, 5))
        kind = int(self.random.integers(3))
        if kind == 0:
            condition = self.pick(list(CONDITIONS))
            return [If(condition, self.label(), self.block(size, depth + 1), self.block(size // 2, depth + 1))]
        if kind == 1:
            return [Diverge(depth, self.label(), self.block(size, depth + 1))]
        return [Loop(depth, self.label(), int(self.random.integers(1, 4)), self.block(size, depth + 1))]


def random_mask(random: np.random.Generator) -> int:
    """A sparse mask (the interpreter is slow) or a full one."""
    lanes = random.random(LANES) < random.choice([0.1, 0.3, 0.9])
    return mask_of(lanes) or 1
