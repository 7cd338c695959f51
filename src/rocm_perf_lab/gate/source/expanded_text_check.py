"""Judges the text taken from a candidate in the form that the compiler parses, that is, after preprocessing, so that the same
rules apply to what macros expand to.
"""

from __future__ import annotations

import functools
import re
import secrets
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from rocm_perf_lab.gate.change import KernelChange, splice, unused_name
from rocm_perf_lab.gate.source.attributes import ADDRESS_SPACES, ALLOWED, attributes
from rocm_perf_lab.gate.source.forbidden_text import RESTRICT, is_allowed_pragma, token_complaint
from rocm_perf_lab.hip_source import HipSource, SourceKernel
from rocm_perf_lab.hip_source.tokens import Token, compiled_line_of, texts, tokens_of

Preprocess = Callable[[HipSource], Sequence[str]]
"""Preprocesses, for the device pass, every unit that contains the source, its own unit first. Raises SourceError."""

# Tokens of preprocessed text. Strings and character literals are single tokens, since brackets inside them do not count;
# digraphs are replaced by the tokens that they stand for.
_TOKEN = re.compile(
    rb"^(?P<directive>#[^\n]*)|(?P<comment>//[^\n]*|/\*.*?\*/)"
    rb'|(?P<raw>(?:u8|[uUL])?R"(?P<fence>[^(\s\\)]{0,16})\(.*?\)(?P=fence)")'
    rb'|(?P<string>(?:u8|[uUL])?"(?:[^"\\\n]|\\.)*")|(?P<character>(?:u8|[uUL])?\'(?:[^\'\\\n]|\\.)*\')'
    rb"|(?P<number>\.?\d(?:'?[\w.]|(?<=[eEpP])[+-])*)|(?P<word>[A-Za-z_$\x80-\xff\\][\w$\x80-\xff\\]*)"
    rb"|(?P<sign><:|:>|<%|%>|::|\S)",
    re.DOTALL | re.MULTILINE,
)
_DIGRAPHS = {"<:": "[", ":>": "]", "<%": "{", "%>": "}"}
_LITERALS = ("raw", "string", "character", "number")
_KEYWORDS = {"_Noreturn": "noreturn", "__declspec": "declspec", "_declspec": "declspec"}


class ExpandedTextCheck:
    """Checks a candidate's kernel and new functions after macro expansion. The baseline's kernel is expanded for comparison."""

    def __init__(self, baseline: HipSource, kernel: SourceKernel, preprocess: Preprocess):
        self._baseline, self._kernel, self._preprocess = baseline, kernel, preprocess

    def complaint(self, change: KernelChange) -> str | None:
        """Why the change is refused; None if it is accepted. Raises SourceError if it cannot be preprocessed."""
        units = self._regions(change)
        if len(units[0]) != len(change.functions) + 1:
            return "it cannot be found after preprocessing: write it outside macros and conditional directives"
        for regions in units:
            for number, region in enumerate(regions):
                if refusal := self._region_complaint(region, change.head if number == len(change.functions) else None):
                    return refusal
        return None

    @functools.cached_property
    def _baseline_regions(self) -> list[bytes]:
        """The preprocessed text of the baseline's kernel, from every unit."""
        span, body = self._kernel.span, self._kernel.body
        text = self._baseline.text
        same = KernelChange(self._kernel.identity, text[span.start : body.start], text[body.start : body.end])
        return [region for regions in self._regions(same) for region in regions]

    @functools.cached_property
    def _baseline_text(self) -> bytes:
        return b"\n".join(self._baseline_regions)

    @functools.cached_property
    def _baseline_restricts(self) -> int:
        return max(map(_restrict_count, self._baseline_regions))

    @functools.cached_property
    def _baseline_attributes(self) -> Counter[str]:
        return Counter(text for _, text in attributes(list(lex(self._baseline_text))))

    def _allowed_restricts(self, head: bytes | None) -> int:
        """How many `restrict` qualifiers are allowed: as many as the baseline's kernel has, plus those that the head adds,
        which are judged as promises; none in a new function.
        """
        if head is None:
            return 0
        baseline = self._baseline.text[self._kernel.span.start : self._kernel.body.start]
        return self._baseline_restricts + max(0, _restrict_count(head) - _restrict_count(baseline))

    def _regions(self, change: KernelChange) -> list[list[bytes]]:
        """For each unit, the preprocessed texts of the new functions in order, followed by the kernel's."""
        mark = f"taken_{secrets.token_hex(12)}".encode()  # random, so that no text can contain it
        begin, end = b" %s_begins " % mark, b" %s_ends " % mark
        functions = tuple(begin + function + end for function in change.functions)
        marked = replace(change, head=begin + change.head, body=change.body + end, functions=functions)
        known = set(texts(tokens_of(self._baseline.device))) if functions else set()
        judged = splice(self._baseline, self._kernel, marked, unused_name(self._kernel, known)).judged
        source = self._baseline.with_text(_with_visible_pragmas(judged, judged.index(begin)))
        pattern = re.compile(rb"\b%s_begins\b(.*?)\b%s_ends\b" % (mark, mark), re.DOTALL)
        return [pattern.findall(text.encode(errors="surrogateescape")) for text in self._preprocess(source)]

    def _region_complaint(self, region: bytes, head: bytes | None) -> str | None:
        """Why the text is refused; None if it is accepted.

        head: the kernel's head in the candidate, if the region is the kernel; the kernel may keep its existing attributes. None
        for a new function.
        """
        own_attributes = Counter(self._baseline_attributes if head is not None else ())
        tokens = list(lex(region))
        if sum(token.text in RESTRICT for token in tokens) > self._allowed_restricts(head):
            message = f"{RESTRICT[0]} outside its parameters is a promise that is not checked"
            return f"{message}: put it on the kernel's own parameters"
        for index, token in enumerate(tokens):
            if token.directive and not is_allowed_pragma(token.text.removeprefix("#pragma")):
                return f"it has `{token.text[:80]}`: only #pragma unroll, clang loop and clang fp are allowed"
            if problem := token_complaint(tokens, index, region, self._baseline_text):
                return f"after macro expansion it has {problem}"
            if token.text in _KEYWORDS and token.text.encode() not in self._baseline_text:
                return _attribute_complaint(_KEYWORDS[token.text])
        for name, text in attributes(tokens):
            if name not in ALLOWED and text not in ADDRESS_SPACES and not own_attributes[text]:
                return _attribute_complaint(name)
            own_attributes[text] -= 1
        return None


def _restrict_count(text: bytes) -> int:
    return sum(token.text in RESTRICT for token in lex(text))


def _attribute_complaint(attribute: str) -> str:
    description = f"the attribute `{attribute}`" if attribute else "an attribute that cannot be read"
    return f"it has {description}, which no change to a kernel needs: remove it"


def _with_visible_pragmas(text: bytes, offset: int) -> bytes:
    """Undefine _Pragma from `offset` on, so that each use stays in the output: the preprocessor executes some pragmas without
    printing them.
    """
    return text[:offset] + b"\n#undef _Pragma\n#line %d\n" % compiled_line_of(text, offset) + text[offset:]


def lex(text: bytes) -> Iterator[Token]:
    """The tokens of preprocessed text, with each pragma as one token. Line markers and comments are skipped."""
    for match in _TOKEN.finditer(text):
        word, kind = match[0].decode(errors="replace"), match.lastgroup or ""
        if kind == "comment" or (kind == "directive" and not word.startswith("#pragma")):
            continue
        literal = any(match[group] is not None for group in _LITERALS)
        named = _DIGRAPHS.get(word, word)
        yield Token(named, "LITERAL" if literal else kind, match.start(), match.end(), 0, kind == "directive")
