"""The sampled rows keep nothing alive of the row groups that they were read from."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path

import numpy as np
import pytest

from benchmarks import long_log
from multilogger.components.actions.one_of import OneOf
from multilogger.components.log.actions import ActionReader
from multilogger.components.log.files import ColumnBatch, open_log_files
from multilogger.components.log.parts import log_parts
from multilogger.components.long_log import fitting
from multilogger.components.long_log.scoring import Reader
from multilogger.components.policies.policy import load_policy


def arrays(value: object) -> Iterator[np.ndarray]:
    """All that a record and the records in it hold."""
    if isinstance(value, np.ndarray):
        yield value
    elif is_dataclass(value):
        for field in fields(value):
            yield from arrays(getattr(value, field.name))


def test_a_sample_keeps_no_row_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long_log.write_log(tmp_path / "log", 4000, 4)
    long_log.write_policy(tmp_path / "policy")
    files = open_log_files(tmp_path / "log", contexts_given=False)
    actions = ActionReader(OneOf(long_log.ACTIONS), files.dataset.schema, "action", None)
    reader = Reader(files, load_policy(tmp_path / "policy"), actions, (0, 1, 2), 1.0)
    monkeypatch.setattr(fitting, "SAMPLE_ROWS", 200)
    (kept,) = fitting.rows_to_fit(reader, log_parts(files))
    assert len(kept) == 200
    held = list(arrays(kept))
    assert len(held) >= 10
    for one in held:
        assert one.base is None or (isinstance(one.base, np.ndarray) and one.base.nbytes <= one.nbytes)
    assert not any(isinstance(getattr(kept, field.name), ColumnBatch) for field in fields(kept))
