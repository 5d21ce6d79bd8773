"""CSV files of a log: how they are read, and what is said of those that are written otherwise."""

import re
from typing import Any

from multilogger.components.log.unreadable import READ_ERRORS

PEEK = 65_536  # bytes
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
MARKS = {";": "semicolons", "\t": "tabs", "|": "bars"}
DECIMAL = re.compile(r"\d,\d")


def csv_format() -> Any:
    """An empty cell is missing in columns of words too, as it is in Parquet."""
    import pyarrow.csv as pc
    import pyarrow.dataset as ds

    return ds.CsvFileFormat(convert_options=pc.ConvertOptions(strings_can_be_null=True))


def said_of_csv(system: Any, file: str) -> str | None:
    """What a file is instead of UTF-8 with commas, and what to do; None if it looks like that."""
    try:
        with system.open_input_stream(file) as stream:
            start = bytes(stream.read(PEEK))
    except READ_ERRORS:
        return None
    if start.startswith(UTF_16) or b"\0" in start:
        return "is UTF-16, not UTF-8; write it in UTF-8"
    head, *lines = start.decode("utf-8", errors="replace").splitlines() or [""]
    mark = max(MARKS, key=head.count)
    if head.count(mark) <= head.count(","):
        return None
    remedy = "separate the values by commas"
    if any(DECIMAL.search(line) for line in lines[:100]):
        return f"has {MARKS[mark]} between values and decimal commas; {remedy}, and write decimal points"
    return f"has {MARKS[mark]} between values; {remedy}"
