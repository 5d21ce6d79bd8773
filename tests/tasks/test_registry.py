"""Every stage stands under its name, and reads each of its inputs: any other is in its key for nothing."""

import ast
import inspect
import textwrap

import pytest

from multilogger.tasks.engine.stage import Stage
from multilogger.tasks.registry import STAGES


def test_stages_stand_under_their_names() -> None:
    assert {name: stage.name for name, stage in STAGES.items()} == {name: name for name in STAGES}


@pytest.mark.parametrize("stage", STAGES.values(), ids=STAGES)
def test_a_stage_reads_each_of_its_inputs(stage: Stage) -> None:
    function = ast.parse(textwrap.dedent(inspect.getsource(stage.function))).body[0]
    read = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    assert set(stage.inputs) <= read
