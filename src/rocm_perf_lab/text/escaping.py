"""Makes text safe to show: control characters are made visible, and Markdown's characters lose their meaning."""

from __future__ import annotations


def visible(text: str, exempt: str = "") -> str:
    """Escape characters that a terminal interprets or does not show (control characters, text-direction marks).

    exempt: characters not to escape, such as line breaks.
    """
    return "".join(letter if letter.isprintable() or letter in exempt else repr(letter)[1:-1] for letter in text)


_ESCAPED_IN_MARKDOWN = str.maketrans({character: f"\\{character}" for character in "\\`*_{}[]<>#|~"})


def markdown(text: str) -> str:
    """The text on one line, with every character that Markdown would interpret escaped."""
    return " ".join(text.translate(_ESCAPED_IN_MARKDOWN).split())
