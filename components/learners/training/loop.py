"""The loop that all learners share: epochs, records, model selection, early stopping, checkpoints."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Protocol, cast

from multilogger.components.errors import BadInput
from multilogger.components.estimators.logged_batch import NoProbability
from multilogger.components.learners.training.checkpoint import Say, load_checkpoint, save_checkpoint
from multilogger.components.learners.training.record import EpochRecord, better
from multilogger.components.learners.training.state import State, module_state
from multilogger.components.policies.network_size import NetworkSize
from multilogger.components.policies.networks import PolicyNetwork
from multilogger.components.policies.policy import Standardisation

OnEpoch = Callable[[EpochRecord], None]


class Learner(Protocol):
    """One run of one method; an epoch is whatever stands between two validations."""

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


@dataclass(frozen=True)
class Progress:
    """How far a run has come: the records of its epochs, the best of them and its weights."""

    records: tuple[EpochRecord, ...]
    best: EpochRecord
    best_network: State

    @property
    def epoch(self) -> int:
        return self.records[-1].epoch

    def stale(self, patience: int) -> bool:
        """Whether the best epoch lies `patience` epochs back."""
        return self.epoch - self.best.epoch >= patience


def advance(progress: Progress | None, record: EpochRecord, network: PolicyNetwork) -> Progress:
    """One more epoch, whose weights are kept if it is the best so far."""
    if progress is None or better(record, progress.best):
        best, best_network = replace(record, best_epoch=record.epoch), module_state(network)
    else:
        best, best_network = progress.best, progress.best_network
    before = () if progress is None else progress.records
    return Progress((*before, replace(record, best_epoch=best.epoch)), best, best_network)


def train(
    learner: Learner,
    run: dict[str, object],
    checkpoint_every: int,
    on_epoch: OnEpoch,
    checkpoint: Path | None,
    say: Say,
) -> Progress:
    """Run a learner to its end, from its last checkpoint if there is one, and restore the best weights.

    `run` names the run, so that a checkpoint of another one is not used; `say` is told of that, and of a
    damaged one.
    `on_epoch` is called after the checkpoint of that epoch is written; of the epochs that a checkpoint holds
    already, the last is reported.
    """
    progress = None if checkpoint is None else _resume(learner, run, checkpoint, say)
    if progress is not None:
        on_epoch(progress.records[-1])
    while progress is None or (progress.epoch < learner.epochs and not progress.stale(learner.patience)):
        learner.run_epoch()
        epoch = 1 if progress is None else progress.epoch + 1
        progress = advance(progress, _recorded(learner, epoch, run), learner.network)
        if checkpoint is not None and checkpoint_every and epoch % checkpoint_every == 0:
            _save(learner, run, progress, checkpoint)
        on_epoch(progress.records[-1])
    learner.network.load_state_dict(progress.best_network.tensors)
    return progress


def _recorded(learner: Learner, epoch: int, run: dict[str, object]) -> EpochRecord:
    """The record of an epoch; a policy that training has driven out of all numbers has none."""
    with suppress(NoProbability):
        record = learner.record(epoch)
        if all(bool(value.isfinite().all()) for value in learner.network.state_dict().values()):
            return record
    raise BadInput(
        f"the policy of {run.get('method', 'a candidate')} is not finite after epoch {epoch}; take smaller "
        "rates and a smaller weight decay, or features of less extreme numbers"
    )


def _save(learner: Learner, run: dict[str, object], progress: Progress, folder: Path) -> None:
    state = learner.state().under("learner") | progress.best_network.under("best")
    facts: dict[str, object] = {
        "run": run,
        "best": asdict(progress.best),
        "records": [asdict(record) for record in progress.records],
    }
    save_checkpoint(folder, progress.epoch, state, facts)


def _resume(learner: Learner, run: dict[str, object], folder: Path, say: Say) -> Progress | None:
    checkpoint = load_checkpoint(folder, run, say)
    if checkpoint is None:
        return None
    learner.restore(checkpoint.state.below("learner"))
    records = cast(list[dict[str, object]], checkpoint.facts["records"])
    return Progress(
        records=tuple(_record(values) for values in records),
        best=_record(cast(dict[str, object], checkpoint.facts["best"])),
        best_network=checkpoint.state.below("best"),
    )


def _record(values: dict[str, object]) -> EpochRecord:
    typed = {name: tuple(v) if isinstance(v, list) else v for name, v in values.items()}
    return EpochRecord(**typed)  # type: ignore[arg-type]
