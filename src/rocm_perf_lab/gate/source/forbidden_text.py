"""Constructs that text taken from a candidate must not contain, because their effect would extend beyond the kernel's body."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from rocm_perf_lab.gate.source.stated_assumption import baseline_states_it_too
from rocm_perf_lab.hip_source.source import TranslationUnit
from rocm_perf_lab.hip_source.tokens import END_OF_DIRECTIVE, Token, texts, tokens_of

# assume_safety is excluded: it makes a promise that nothing checks.
_PRAGMA = re.compile(r"(unroll|nounroll|clang (fp|loop)|GCC unroll)\b(?!.*\bassume_safety\b).*")
_ASSEMBLY = ("asm", "__asm", "__asm__")
# The preprocessor expands these differently depending on where and when it runs, or treats them like directives.
_FORBIDDEN_WORDS = (
    "__COUNTER__",
    "__TIME__",
    "__DATE__",
    "__TIMESTAMP__",
    "__INCLUDE_LEVEL__",
    "__BASE_FILE__",
    "__pragma",
    "import",
)
# These reveal the location of the text, which can differ between the judged source and the source in use.
_LOCATION_WORD = re.compile(
    r"__(FILE|FILE_NAME|LINE|PRETTY_FUNCTION|FUNCSIG|FUNCDNAME)__"
    r"|__builtin_(FILE|FILE_NAME|LINE|COLUMN|FUNCTION|FUNCSIG|source_location)|source_location|typeid"
)
# These return addresses that differ from launch to launch. Such addresses are passed to every kernel, so the machine code does
# not reveal that a kernel uses them. (It does reveal whether a kernel uses the addresses of packets and queues.)
_LAUNCH_BUILTIN = re.compile(r"__builtin_amdgcn_(kernarg_segment|implicitarg)_ptr")
# The device library beneath HIP: parts of it can make the host runtime call any function in the program or allocate memory.
_BENEATH_HIP = re.compile(r"__(ockl|oclc|asan)_\w*")
# These make promises that nothing checks; where a promise does not hold, the optimized code is correct only by luck. They
# include all such names in Clang (__builtin_assume, __builtin_assume_aligned, __builtin_assume_dereferenceable,
# __builtin_assume_separate_storage, __builtin_unreachable, __assume) and in C++, and the attribute `assume`.
_ASSUMPTION = re.compile(r"_*(builtin_+)?(assume(_+(aligned|dereferenceable|separate_+storage))?|unreachable)_*")
_BIDIRECTIONAL = re.compile(b"\xe2\x80[\xaa-\xae]|\xe2\x81[\xa6-\xa9]")  # U+202A to U+202E, U+2066 to U+2069
RESTRICT = ("__restrict__", "__restrict", "restrict")
# For its own instructions, the compiler ensures that a wave waits for loaded data and that dependent instructions are far
# enough apart. Nothing ensures this for inline assembly, so new assembly may only make a wave wait or set its priority.
_INSTRUCTION = re.compile(r"\s*(//.*|(s_nop|s_waitcnt|s_setprio)(\s[\w()&, ]*)?)?")
# A string that means the same in Python and in C++, which differ in prefixes (R"//(x)//") and some escapes ("\o{12}").
_STRING = re.compile(r'"(?:[^"\\\0]|\\[abfnrtv"\\]|\\x[0-9a-fA-F]{2}(?![0-9a-fA-F]))*"')


def text_complaint(unit: TranslationUnit, start: int, end: int, kernel: bytes) -> str | None:
    """Why bytes [start, end) of the candidate are refused; None if they are accepted. kernel: the baseline's definition."""
    tokens = tokens_of(unit, start, end)
    if control := _BIDIRECTIONAL.search(unit.text, start, end):
        line = unit.text.count(b"\n", 0, control.start()) + 1
        return f"line {line} has a control character for the direction of text: what people read would not be what is compiled"
    for token in tokens:
        if not _is_utf8(unit.text[token.start : token.end]):
            return f"line {token.line} has bytes outside comments that are not UTF-8: they cannot be read safely"
    for directive in _directives(tokens):
        words = texts(directive)
        if words[1:2] != ["pragma"] or not is_allowed_pragma(" ".join(words[2:])):
            shown = ("".join(words[:2]) + " " + " ".join(words[2:])).strip()[:80]
            return (
                f"line {directive[0].line} is `{shown}`: the only preprocessor directives allowed, even if the baseline has "
                "others, are #pragma unroll, clang loop (without a promise) and clang fp"
            )
        if not _is_in_braces(tokens, directive[0]):
            return f"line {directive[0].line} is a pragma outside a function's body, where it may affect other functions"
    for index, token in enumerate(tokens):
        if problem := token_complaint(tokens, index, unit.text, kernel):
            return f"line {token.line} has {problem}"
    return None


def token_complaint(tokens: Sequence[Token], index: int, text: bytes, kernel: bytes) -> str | None:
    """What is wrong with `tokens[index]`, a token of `text`, or with the tokens after it; None if nothing is. kernel: as in
    text_complaint().
    """
    token = tokens[index]
    if token.text in _FORBIDDEN_WORDS or token.text.startswith("__has_"):
        return f"{token.text}, which is not allowed"
    if _LOCATION_WORD.fullmatch(token.text) and token.text.encode() not in kernel:
        return f"{token.text}, which depends on the position of the text"
    if _LAUNCH_BUILTIN.fullmatch(token.text) and token.text.encode() not in kernel:
        return f"{token.text}, which tells the launches of a program apart"
    if _BENEATH_HIP.fullmatch(token.text) and not re.search(rb"\b" + token.text.encode() + rb"\b", kernel):
        return (
            f"{token.text}, from the device library beneath HIP, which can make the host call any function: use HIP's functions"
        )
    if is_assumption(token.text) and not _baseline_states_it(tokens, index, kernel):
        return f"{token.text}, a promise that is not checked: test the condition instead"
    if token.text == "_Pragma" and not _is_harmless_pragma(texts(tokens[index + 1 : index + 4])):
        return "_Pragma for something other than unroll, clang loop and clang fp"
    return _assembly_complaint(tokens[index:], text, kernel) if token.text in _ASSEMBLY else None


def is_assumption(name: str) -> bool:
    """Whether a function, a builtin or an attribute of this name makes a promise to the compiler."""
    return bool(_ASSUMPTION.fullmatch(name))


def is_allowed_pragma(words: str) -> bool:
    """Whether a candidate may contain this pragma. words: the text after #pragma."""
    return bool(_PRAGMA.fullmatch(" ".join(words.split())))


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _directives(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    current: list[Token] = []
    for token in tokens:
        if token.kind == END_OF_DIRECTIVE:
            yield current
            current = []
        elif token.directive:
            current.append(token)


def _is_in_braces(tokens: Sequence[Token], which: Token) -> bool:
    before = [token.text for token in tokens if token.start < which.start and not token.directive]
    return before.count("{") > before.count("}")


def _is_harmless_pragma(words: Sequence[str]) -> bool:
    if len(words) != 3 or words[0] != "(" or words[2] != ")" or not words[1].startswith('"'):
        return False
    return is_allowed_pragma(words[1][1:-1])


def _assembly_complaint(tokens: Sequence[Token], text: bytes, kernel: bytes) -> str | None:
    """Why assembly is refused; None if it is accepted. Assembly from the baseline's kernel may stay; for new assembly, see
    _INSTRUCTION.
    """
    statement = _statement(tokens)
    if b"".join(text[statement[0].start : statement[-1].end].split()) in b"".join(kernel.split()):
        return None
    template = []
    operands = next((i for i, token in enumerate(statement) if token.text in (":", "::", ")")), len(statement))
    for token in statement[1:operands]:
        if token.kind == "LITERAL":
            template.append(token.text)
        elif token.text not in ("volatile", "__volatile__", "("):
            return f"assembly with `{token.text}` outside a string: write its text as a string"
    if not all(map(_STRING.fullmatch, template)):
        return "assembly whose text is not a plain string"
    words = "".join(ast.literal_eval(literal) for literal in template)
    if match := re.search(r"[^\n\t -~]", words):  # the assembler treats some characters as the end of a statement
        return f"assembly with the character {match[0]!r}"
    for instruction in re.split(r"[\n;]", words):
        if not _INSTRUCTION.fullmatch(instruction):
            return (
                f"`{instruction.strip()[:60]}` in assembly: new assembly may be empty, s_nop, s_waitcnt or s_setprio; "
                "use a builtin, whose waits and hazards the compiler handles"
            )
    if any(token.kind == "LITERAL" and re.search(r"[={\\]", token.text) for token in statement[operands:]):
        return 'assembly that uses whatever a register happens to hold: write "+v" or "+s"'
    return None


def _baseline_states_it(tokens: Sequence[Token], index: int, kernel: bytes) -> bool:
    """Whether the baseline's kernel makes the promise at `index` as well: in the same words and under the same conditions."""
    code_tokens = [token for token in tokens if not token.directive]
    return not tokens[index].directive and baseline_states_it_too(texts(code_tokens), code_tokens.index(tokens[index]), kernel)


def _statement(tokens: Sequence[Token]) -> list[Token]:
    depth, statement = 0, []
    for token in tokens:
        statement.append(token)
        depth += (token.text == "(") - (token.text == ")")
        if depth == 0 and token.text == ")":
            break
    return statement
