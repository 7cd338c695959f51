"""Prints source.json as text: source lines, with or without their instructions, with what they cost and what they wait for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from rocm_perf_lab.report.source_schema import CodeInstruction, SourceDocument, SourceFile, SourceKernel
from rocm_perf_lab.report.terminal_paragraphs import heading, say
from rocm_perf_lab.text import quantities

_HEADS = ("of cycles", "stalled", "waited for", "executions")
_MIN_TEXT_WIDTH = 24  # characters of source to show next to the numbers, however narrow the terminal is
_HOT = 0.1  # lines with at least this share of the cycles are highlighted
_MAX_ACCESSES = 3
_AROUND = 2  # lines
_MEANING = (
    "of cycles: share of the traced waves' time; stalled: cycles at the line; waited for: cycles in which waves stalled, at "
    "any line, for an access of the line; executions: of its instructions"
)


def render_source(document: SourceDocument, console: Console, isa: bool) -> None:
    """Print each kernel of the document. isa: whether to show the lines' instructions."""
    for kernel in document.kernels:
        heading(console, kernel.kernel)
        if kernel.instructions is None:
            say(console, f"not shown: {kernel.reasons['instructions']}")
            continue
        if kernel.costs is None:
            say(console, f"no cycles: {kernel.reasons['costs']}")
        else:
            say(console, f"{_waves(kernel)}, times {document.timing}; {_MEANING}")
        if kernel.left_out:
            say(console, f"{kernel.left_out:,} instructions are left out")
        _Listing(document.files, kernel, console, isa).show()


def _waves(kernel: SourceKernel) -> str:
    return "waves on one CU" if kernel.waves is None else f"{kernel.waves:,} wave{'s' * (kernel.waves != 1)} on one CU"


class _Listing:
    def __init__(self, files: list[SourceFile], kernel: SourceKernel, console: Console, isa: bool) -> None:
        self._files, self._kernel, self._console, self._isa = files, kernel, console, isa
        self._by_line: dict[tuple[int, int], list[int]] = defaultdict(list)
        self._elsewhere: list[int] = []
        for number, instruction in enumerate(kernel.instructions or []):
            if instruction.places:
                self._by_line[instruction.places[0].file, instruction.places[0].line].append(number)
            else:
                self._elsewhere.append(number)
        self._lines = {(line.place.file, line.place.line): line for line in kernel.lines or []}
        self._by_address = {instruction.address: instruction for instruction in kernel.instructions or []}
        self._waits = {wait.address: wait for wait in kernel.waits or []}
        self._widths = self._column_widths()

    def show(self) -> None:
        if self._widths:
            heads = "  ".join(head.rjust(width) for head, width in zip(_HEADS, self._widths, strict=True))
            self._print(f"  {heads}", "dim")
        for file in dict.fromkeys(file for file, _ in self._in_order()):
            self._file(file)
        if self._elsewhere and (self._isa or not self._by_line):
            self._print("")
            self._print("  no line numbers: compile with -g" if not self._by_line else "  no line number", "bold")
            self._instructions(self._elsewhere)

    def _in_order(self) -> list[tuple[int, int]]:
        """The lines with code, starting with the file that has the most cycles."""
        cycles: dict[int, int] = defaultdict(int)
        for (file, _), line in self._lines.items():
            cycles[file] += line.latency_cycles + line.idle_cycles
        return sorted({*self._by_line, *self._lines}, key=lambda location: (-cycles[location[0]], location))

    def _file(self, number: int) -> None:
        file = self._files[number]
        self._print("")
        self._print(f"  {file.name}", "bold")
        of_kernel = sorted(line for of, line in self._in_order() if of == number)
        if file.excerpts is None:
            say(self._console, f"its text is not shown: {file.reasons['excerpts']}")
            for line in of_kernel:
                self._line(number, line, "")
            return
        first = True
        for lines in _of_kernel(file, of_kernel):
            if not first:
                self._print("  ...", "dim")
            first = False
            for line, text in lines:
                self._line(number, line, text)

    def _line(self, file: int, line: int, text: str) -> None:
        cost = self._lines.get((file, line))
        cells = self._cells(None)
        if cost is not None:
            cells = self._cells((cost.share, cost.stall_cycles, cost.waited_cycles, cost.hits))
        is_hot = cost is not None and cost.share >= _HOT
        self._print(f"{cells}{line:>6}  {text}", "bold" if is_hot else "" if (file, line) in self._by_line else "dim")
        if self._isa:
            self._instructions(self._by_line.get((file, line), []))

    def _instructions(self, numbers: list[int]) -> None:
        instructions, costs = self._kernel.instructions or [], self._kernel.costs
        for number in numbers:
            instruction = instructions[number]
            cells = self._cells(None)
            if costs is not None and (cost := costs[number]).hits:
                cells = self._cells((cost.share, cost.stall_cycles, None, cost.hits))
            self._print(f"{cells}        {instruction.address:#08x}  {instruction.isa}", "cyan")
            for waited_for in self._waits_for(instruction):
                self._print(f"{self._cells(None)}                  {waited_for}")

    def _waits_for(self, instruction: CodeInstruction) -> Iterator[str]:
        """What a wait waited for: a line for each of the first few accesses, then one with the number of the others."""
        wait = self._waits.get(instruction.address)
        if wait is None:
            return
        known = [access for access in wait.accesses if access.address in self._by_address]
        for access in known[:_MAX_ACCESSES]:
            load = self._by_address[access.address]
            yield f"waits for {access.address:#08x}{_line_of(load)}, {access.waited_cycles:,} cycles: {load.isa.split()[0]}"
        if len(known) > _MAX_ACCESSES:
            yield f"and for {len(known) - _MAX_ACCESSES} more"

    def _column_widths(self) -> list[int]:
        kernel = self._kernel
        if kernel.costs is None:
            return []
        cells = [(line.share, line.stall_cycles, line.waited_cycles, line.hits) for line in kernel.lines or []]
        cells += [(cost.share, cost.stall_cycles, 0, cost.hits) for cost in kernel.costs]
        texts = [_texts(numbers) for numbers in cells]
        return [max([len(head), *(len(row[column]) for row in texts)]) for column, head in enumerate(_HEADS)]

    def _cells(self, values: tuple[float, int, int | None, int] | None) -> str:
        texts = [""] * len(self._widths) if values is None else _texts(values)
        return "".join(f"  {text.rjust(width)}" for text, width in zip(texts, self._widths, strict=True))

    def _print(self, line: str, style: str = "") -> None:
        before = sum(width + 2 for width in self._widths) + 8
        room = max(self._console.width, before + _MIN_TEXT_WIDTH)
        line = line if len(line) <= room else f"{line[: room - 1]}…"
        self._console.print(Text(line.rstrip(), style=style), no_wrap=True, crop=False, overflow="ignore")


def _texts(values: tuple[float, int, int | None, int]) -> list[str]:
    share, stall, waited, hits = values
    return [quantities.percent(share), f"{stall:,}", "" if waited is None else f"{waited:,}", f"{hits:,}"]


def _line_of(instruction: CodeInstruction) -> str:
    return f" in line {instruction.places[0].line}" if instruction.places else ""


def _of_kernel(file: SourceFile, lines: list[int]) -> Iterator[list[tuple[int, str]]]:
    """The excerpts that contain lines of the kernel, then the kernel's lines that are in no excerpt, with empty text."""
    shown: set[int] = set()
    for excerpt in file.excerpts or []:
        numbered = list(enumerate(excerpt.text, excerpt.first))
        within = [number for number, _ in numbered if number in lines]
        if within:  # the other excerpts belong to other kernels
            nearby = [
                numbered_line for numbered_line in numbered if within[0] - _AROUND <= numbered_line[0] <= within[-1] + _AROUND
            ]
            shown.update(number for number, _ in nearby)
            yield nearby
    if without_excerpt := [(line, "") for line in lines if line not in shown]:
        yield without_excerpt
