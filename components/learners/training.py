"""The loop that all learners share: epochs, records, model selection, early stopping, checkpoints."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Protocol, cast

from multilogger.components.learners.epoch_record import EpochRecord, better
from multilogger.components.learners.learned_policy import Standardisation
from multilogger.components.learners.state import State, load_checkpoint, module_state, save_checkpoint
from multilogger.components.network_size import NetworkSize
from multilogger.components.networks import PolicyNetwork

OnEpoch = Callable[[EpochRecord], None]


class Learner(Protocol):
    """One run of one method; an epoch is whatever stands between two looks at the validation split."""

    network: PolicyNetwork
    standardisation: Standardisation

    @property
    def size(self) -> NetworkSize: ...

    @property
    def epochs(self) -> int: ...

    @property
    def patience(self) -> int: ...

    def run_epoch(self) -> None: ...

    def record(self, epoch: int) -> EpochRecord: ...

    def state(self) -> State: ...

    def restore(self, state: State) -> None: ...


@dataclass
class Progress:
    """How far a run has come: finished epochs, their records, the best of them and its weights."""

    epoch: int = 0
    records: tuple[EpochRecord, ...] = ()
    best: EpochRecord | None = None
    best_network: State | None = None

    def add(self, record: EpochRecord, network: PolicyNetwork) -> EpochRecord:
        """Count one more epoch; keep its weights if it is the best so far."""
        if better(record, self.best):
            self.best, self.best_network = replace(record, best_epoch=record.epoch), module_state(network)
        record = replace(record, best_epoch=cast(EpochRecord, self.best).epoch)
        self.epoch, self.records = record.epoch, (*self.records, record)
        return record

    def stale(self, patience: int) -> bool:
        """Whether the best epoch lies `patience` epochs back."""
        return self.best is not None and self.epoch - self.best.epoch >= patience


def train(
    learner: Learner,
    run: dict[str, object],
    checkpoint_every: int,
    on_epoch: OnEpoch,
    checkpoint: Path | None,
) -> Progress:
    """Run a learner to its end, from its last checkpoint if there is one, and restore the best weights.

    `run` names the run, so that a checkpoint of another one is refused. `on_epoch` is called after the
    checkpoint of that epoch is written; epochs that a checkpoint already holds are not reported again.
    """
    progress = Progress() if checkpoint is None else _resume(learner, run, checkpoint)
    while progress.epoch < learner.epochs and not progress.stale(learner.patience):
        learner.run_epoch()
        record = progress.add(learner.record(progress.epoch + 1), learner.network)
        if checkpoint is not None and checkpoint_every and record.epoch % checkpoint_every == 0:
            _save(learner, run, progress, checkpoint)
        on_epoch(record)
    if progress.best_network is not None:
        learner.network.load_state_dict(progress.best_network.tensors)
    return progress


def _save(learner: Learner, run: dict[str, object], progress: Progress, folder: Path) -> None:
    state = learner.state().under("learner")
    if progress.best_network is not None:
        state |= progress.best_network.under("best")
    facts: dict[str, object] = {
        "run": run,
        "best": asdict(cast(EpochRecord, progress.best)),
        "records": [asdict(record) for record in progress.records],
    }
    save_checkpoint(folder, progress.epoch, state, facts)


def _resume(learner: Learner, run: dict[str, object], folder: Path) -> Progress:
    checkpoint = load_checkpoint(folder, run)
    if checkpoint is None:
        return Progress()
    learner.restore(checkpoint.state.below("learner"))
    records = cast(list[dict[str, object]], checkpoint.facts["records"])
    return Progress(
        epoch=checkpoint.epoch,
        records=tuple(_record(values) for values in records),
        best=_record(cast(dict[str, object], checkpoint.facts["best"])),
        best_network=checkpoint.state.below("best"),
    )


def _record(values: dict[str, object]) -> EpochRecord:
    typed = {name: tuple(v) if isinstance(v, list) else v for name, v in values.items()}
    return EpochRecord(**typed)  # type: ignore[arg-type]
