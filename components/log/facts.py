"""What a Parquet file of `BanditLog.to_parquet` says beside its columns."""

import json
from typing import Any

FACTS = b"multilogger"  # its key in the schema


def read_facts(schema: Any) -> dict[str, Any] | None:
    """The facts in an Arrow schema; None of a file that somebody else wrote."""
    known = (schema.metadata or {}).get(FACTS)
    return None if known is None else json.loads(known)
