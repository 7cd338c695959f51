"""The words that the parts of the launcher are started with: NAME=VALUE ... -- MORE."""


def split(words):
    """({name: [values]}, what follows the first "--")."""
    end = words.index("--")
    settings = {}
    for word in words[:end]:
        name, _, value = word.partition("=")
        settings.setdefault(name, []).append(value)
    return settings, words[end + 1 :]


def packed(environment):
    return b"\0".join(name + b"=" + value for name, value in environment.items())


def unpacked(text):
    """{name: value}, in bytes."""
    pairs = (entry.partition(b"=") for entry in text.split(b"\0") if entry)
    return {name: value for name, _, value in pairs}
