"""The one exception for input that a person can mend, and what no message may show."""

import re
from collections.abc import Iterable
from difflib import get_close_matches

from multilogger.components.text import shown

HIDDEN = "***"
LONGEST = 380  # characters of a message
# `user:password@` of an address, also where the password has a slash that should have been escaped.
_LOGIN = re.compile(r"(://)(?:[^\s/?#'\"]*@|[^\s/:@'\"]*:(?!\d+/)[^\s@'\"]*@)")
# `user:password@` of an address whose beginning is mistyped, such as `http:/` or none.
_BARE = re.compile(r"(?<![^\s/@'\"])[^\s/:@'\"]+:(?!/|\d+/)[^\s@'\"]{0,400}@")
_NAMED = re.compile(
    r"((?:[?&;]|\b)(?:password|passwd|pwd|(?:access_|auth_)?token|secret(?:_key)?|api_?key|signature)=)[^&;\s'\"]+",
    re.IGNORECASE,
)


def without_secrets(text: str) -> str:
    """A text with the logins and passwords of its addresses hidden."""
    return _NAMED.sub(rf"\1{HIDDEN}", _BARE.sub(f"{HIDDEN}@", _LOGIN.sub(rf"\1{HIDDEN}@", text)))


def shortened(text: str) -> str:
    """One line that fits a screen: what is wrong comes first and what to do last, so the middle goes.

    What a terminal would obey, in the name of a file say, is written out.
    """
    line = shown(" ".join(text.split()) if "\n" in text or len(text) > LONGEST else text)
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 150]} … {line[-147:]}"


class BadInput(ValueError):
    """Says what was required, what came, and what to do about it, in one line; it shows no password.

    Whatever came, a column's name or a word of a log, the line is short.
    """

    def __init__(self, message: object = "") -> None:
        super().__init__(shortened(without_secrets(str(message))))


def short(value: object, most: int = 80) -> str:
    """What came, if need be its beginning."""
    try:
        text = repr(value)
    except ValueError:  # a whole number of more digits than Python writes
        text = "a number of thousands of digits"
    return text if len(text) <= most else f"{text[: most - 3]}..."


def first_line(error: BaseException, most: int = 200) -> str:
    """What a library says of a fault, as far as it fits a line."""
    text = next(iter(str(error).splitlines()), "") or type(error).__name__
    return text if len(text) <= most else f"{text[: most - 3]}..."


def meant(typed: object, known: Iterable[object]) -> str:
    """What a misspelt name may have meant, as the beginning of a remedy; nothing where no name is near."""
    names = {str(name).lower(): str(name) for name in known}
    near = get_close_matches(str(typed)[:100].lower(), names, n=1)
    return f"did you mean {short(names[near[0]])}? " if near and names[near[0]] != typed else ""
