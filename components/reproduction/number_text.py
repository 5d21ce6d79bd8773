"""Numbers as plain text, the same in every file of a reproduction."""


def fixed(value: float | None, digits: int) -> str:
    """A number with so many decimals; empty for none, and never a negative zero."""
    if value is None:
        return ""
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def measured(value: float | None) -> str:
    """A mean or an end of its interval, with digits enough to be rounded once more where it is shown."""
    return fixed(value, 6)


def number(value: float | None) -> str:
    """A setting such as a replay count or a temperature, in its shortest form."""
    return "" if value is None else f"{value:g}"
