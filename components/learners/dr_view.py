"""A log as doubly robust learning needs it, in memory or on disk."""

from dataclasses import dataclass

import torch

from multilogger.components.learners.free_form_rows import FreeFormRows
from multilogger.components.learners.influence import Influence
from multilogger.components.learners.policy_rows import PolicyRows
from multilogger.components.learners.row_batches import StreamedRows
from multilogger.components.learners.state import State


@dataclass(frozen=True)
class DoublyRobustView:
    """Rows for the free-form part of the model and for the policy, and what is measured of both."""

    free: FreeFormRows
    policy: PolicyRows
    influence: Influence
    generator: torch.Generator
    streamed: StreamedRows | None = None

    def state(self) -> State:
        """What the order of the next rows follows from."""
        state = State({"generator": self.generator.get_state()})
        return state if self.streamed is None else state | self.streamed.state()

    def restore(self, state: State) -> None:
        self.generator.set_state(state.tensors["generator"])
        if self.streamed is not None:
            self.streamed.restore(state)
