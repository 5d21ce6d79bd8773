"""Writing the rows of a bandit log: one Parquet file per logger and pass, in row groups of a fixed size."""

from pathlib import Path
from typing import TYPE_CHECKING, Self

from multilogger.components.log.schema import ROW_GROUP_ROWS, LogRows, to_table

if TYPE_CHECKING:
    import pyarrow as pa


class RowWriter:
    """Takes rows batch by batch, as a context manager; how they come does not change the file."""

    def __init__(self, path: Path, schema: "pa.Schema") -> None:
        import pyarrow.parquet as pq

        self._schema, self._waiting, self._count = schema, list["pa.Table"](), 0
        self._writer = pq.ParquetWriter(path, schema, compression="zstd")

    def add(self, rows: LogRows) -> None:
        """Write some rows, or keep them until a row group is full."""
        import pyarrow as pa

        self._waiting.append(to_table(rows, self._schema))
        self._count += len(rows.delta)
        while self._count >= ROW_GROUP_ROWS:
            whole = pa.concat_tables(self._waiting).combine_chunks()
            self._writer.write_table(whole.slice(0, ROW_GROUP_ROWS).combine_chunks())
            self._waiting = [whole.slice(ROW_GROUP_ROWS)]
            self._count -= ROW_GROUP_ROWS

    def __enter__(self) -> Self:
        return self

    def __exit__(self, failed: object, *_: object) -> None:
        import pyarrow as pa

        if self._count and failed is None:
            self._writer.write_table(pa.concat_tables(self._waiting).combine_chunks())
        self._writer.close()
