"""A log as doubly robust learning needs it, in memory or on disk."""

from dataclasses import dataclass

import torch

from multilogger.components.learners.dr.influence import Influence, MemoryInfluence, StreamedInfluence
from multilogger.components.learners.dr.method import DrSettings
from multilogger.components.learners.dr.rows import MemoryPolicyRows, PolicyRows, StreamedPolicyRows
from multilogger.components.learners.training.objectives import BALANCED
from multilogger.components.learners.training.row_batches import StreamedRows
from multilogger.components.learners.training.state import State
from multilogger.components.log.disk import LearnerLog, StreamedLog


@dataclass(frozen=True)
class DoublyRobustView:
    """Rows for the policy, and what is measured of it and the loss model."""

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


def open_doubly_robust(
    log: LearnerLog, settings: DrSettings, seed: int, generator: torch.Generator
) -> DoublyRobustView:
    """What doubly robust learning needs beside its additive model."""
    if isinstance(log, StreamedLog):
        rows = StreamedRows(log, BALANCED, settings, seed)
        return DoublyRobustView(
            policy=StreamedPolicyRows(log, rows),
            influence=StreamedInfluence(log, settings.clip),
            generator=generator,
            streamed=rows,
        )
    train, validation = log.part(validation=False), log.part(validation=True)
    return DoublyRobustView(
        policy=MemoryPolicyRows(train, settings.batch_of(log.contexts), generator),
        influence=MemoryInfluence(train, validation, settings.clip),
        generator=generator,
    )
