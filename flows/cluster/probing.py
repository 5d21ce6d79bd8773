"""Asking workers: what they are like, and whether a file of theirs comes to us whole."""

import hashlib
import os
import tempfile
import time
from pathlib import Path

from multilogger.components.errors import BadInput
from multilogger.flows.cluster.connect import Cluster
from multilogger.flows.cluster.diagnoses import Diagnosis, WorkerFacts, workers
from multilogger.flows.cluster.facts import Facts, facts
from multilogger.tasks.engine.artifact import sha256_of
from multilogger.tasks.engine.store import Store
from multilogger.tasks.engine.tracking import Tracker

EXPERIMENT = "doctor"
PROBE = "probe.bin"
PROBE_BYTES = 2**20


def ask(cluster: Cluster, prefect: str | None) -> dict[str, WorkerFacts]:
    """What every worker says of itself, by its address."""
    answers = cluster.client.run(facts, prefect, on_error="return")
    before = time.time()
    clocks = cluster.client.run(time.time, on_error="return")  # by itself: the first call loads modules
    middle = (before + time.time()) / 2
    return {name: _said(answer, clocks.get(name, middle), middle) for name, answer in answers.items()}


def _said(answer: Facts | BaseException, clock: float | BaseException, middle: float) -> WorkerFacts:
    """What a worker said, if it answered both questions; `middle` is our time when it looked at its clock."""
    if isinstance(answer, BaseException):
        return WorkerFacts(None, error=answer)
    if isinstance(clock, BaseException):
        return WorkerFacts(None, error=clock)
    return WorkerFacts(answer, clock - middle)


def check_workers(cluster: Cluster, prefect: str | None) -> bool:
    """Refuse workers that could not do our work; whether some have stores of their own."""
    store = Store.current()
    here, said = facts(), ask(cluster, prefect)
    for finding in workers(said, here, prefect, store):
        if finding.wrong:
            raise BadInput(f"{finding.subject}: {finding.text}; 'multilogger doctor' tells more")
    return any(one.facts is not None and one.facts.identity != here.identity for one in said.values())


def round_trips(cluster: Cluster) -> list[Diagnosis]:
    """A file from each worker to MLflow and from there to us, compared by its hash."""
    found = []
    for name, left in cluster.client.run(leave_probe, on_error="return").items():
        subject = f"{name}, artifacts"
        if isinstance(left, BaseException):
            text = f"it cannot write to MLflow ({type(left).__name__}: {str(left)[:150]})"
            found.append(Diagnosis(subject, f"{text}; let it reach the server and its artifacts", wrong=True))
        else:
            found.append(_fetched(subject, *left))
    return found


def leave_probe() -> tuple[str, str]:
    """In a worker: log random bytes to a run; its id, and the hash of the bytes."""
    tracker, content = Tracker(Store.current().open()), os.urandom(PROBE_BYTES)
    run = tracker.client.create_run(tracker.experiment(EXPERIMENT), run_name="probe")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / PROBE
        path.write_bytes(content)
        tracker.client.log_artifact(run.info.run_id, str(path))
    tracker.finish(run.info.run_id)
    return str(run.info.run_id), hashlib.sha256(content).hexdigest()


def _fetched(subject: str, run_id: str, wanted: str) -> Diagnosis:
    tracker = Tracker(Store.current().open())
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        try:
            tracker.download(tracker.run(run_id), PROBE, Path(folder))
            same = sha256_of(Path(folder) / PROBE) == wanted
        except Exception as error:  # whatever MLflow's store of files raises
            text = f"what it wrote cannot be fetched ({type(error).__name__}: {str(error)[:150]})"
            remedy = "have the MLflow server keep the files: --artifacts-destination"
            return Diagnosis(subject, f"{text}; {remedy}", wrong=True)
        finally:
            tracker.client.delete_run(run_id)
    if not same:
        return Diagnosis(subject, "what it wrote comes back altered; look at the server's disk", wrong=True)
    seconds = time.monotonic() - started
    return Diagnosis(subject, f"1 MiB went to MLflow and came here whole, in {seconds:.1f} s")
