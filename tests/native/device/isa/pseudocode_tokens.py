"""Tokens of the pseudo-code, and the meaning of literals and type suffixes."""

from __future__ import annotations

import re

from pseudocode_values import Unsupported, Value, real

TYPE = r"(?:BF|U|I|F|B)"
TOKEN = re.compile(
    rf"""\s*(?://[^\n]*\n?\s*)*(?:
    (?P<cast>\d+'{TYPE})(?![\w.])
  | (?P<sized>\d+'(?:0x[0-9a-fA-F]+|\d+\.\d+|\d+)U?)
  | (?P<hex>0x[0-9a-fA-F]+(?:ULL|LL|U)?)
  | (?P<real>\d+\.\d+F?)
  | (?P<int>\d+(?:ULL|LL|U|F)?)
  | (?P<type>\.(?:fp|bf|u|i|f|b)\d+)
  | (?P<name>[A-Za-z_]\w*)
  | (?P<op>\*\*|<<|>>|<=|>=|==|!=|<>|&&|\|\||\+=|-=|\+:|[-+*/%~!<>=&|^?:;,(){{}}\[\]])
    )""",
    re.VERBOSE,
)
KEYWORDS = {"if", "then", "elsif", "else", "endif", "for", "in", "do", "endfor", "declare", "break", "return", "lambda"}


def tokenize(text: str) -> list[tuple[str, str]]:
    tokens, at = [], 0
    text = re.sub(r"//[^\n]*", "", text).strip()
    while at < len(text):
        match = TOKEN.match(text, at)
        if not match:
            raise Unsupported(f"cannot read {text[at : at + 30]!r}")
        kind = match.lastgroup
        word = match.group(kind)
        if kind == "name" and word in KEYWORDS:
            # "in" is also the name of a variable, which is then followed by an index or an assignment.
            rest = text[match.end() :].lstrip()
            kind = "name" if word == "in" and rest[:1] in "[=:" else "keyword"
        tokens.append((kind, word))
        at = match.end()
    tokens.append(("end", ""))
    return tokens


def split_type(word: str) -> tuple[str, int]:
    kind, size = re.fullmatch(r"\.([a-z]+)(\d+)", word).groups()
    return kind.upper(), int(size)


def parse_literal(kind: str, word: str) -> Value:
    if kind == "sized":
        size, digits = word.split("'")
        if "." in digits:
            return real(float(digits), int(size))
        unsigned = digits.endswith("U")
        return Value("U" if unsigned else "B" if "0x" in digits else "I", int(size), int(digits.rstrip("U"), 0))
    if kind == "real":
        return real(float(word.rstrip("F")), 32 if word.endswith("F") else 64)
    if kind == "int" and word.endswith("F"):
        return real(float(word[:-1]), 32)
    match = re.fullmatch(r"(0x[0-9a-fA-F]+|\d+)(ULL|LL|U)?", word)
    number, suffix = int(match.group(1), 0), match.group(2)
    size = 64 if suffix in ("ULL", "LL") else 32
    plain = "B" if kind == "hex" else "I"
    return Value("U" if suffix in ("U", "ULL") else "I" if suffix else plain, size, number)
