"""What is right and wrong with a set-up, one line each, with what to do."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from multilogger.components.errors import first_line, without_secrets
from multilogger.flows.cluster.facts import Facts
from multilogger.tasks.engine.store import ROOT_VARIABLE, Store

LEAST_FREE = 2**30
MOST_SECONDS = 5.0
GIB = 2**30
NEAR = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class Diagnosis:
    """One thing that was looked at."""

    subject: str
    text: str
    wrong: bool = False

    def line(self) -> str:
        return f"{'WRONG' if self.wrong else 'ok':5}  {self.subject}: {self.text}"


@dataclass(frozen=True)
class WorkerFacts:
    """What a worker said, how far its clock is from ours in seconds; or why it said nothing."""

    facts: Facts | None
    seconds_off: float = 0.0
    error: BaseException | None = None


def servers(here: Facts, prefect: str | None, store: Store) -> list[Diagnosis]:
    """The servers as this process sees them, and its store."""
    found = []
    if prefect is None:
        found.append(Diagnosis("Prefect", "no server is named; every command starts one of its own"))
    else:
        remedy = "start it with 'prefect server start', or name another with PREFECT_API_URL"
        found.append(_answer("Prefect", prefect, here.prefect, remedy))
    if store.tracks_by_server:
        remedy = "start it with 'mlflow server', or name another with MLFLOW_TRACKING_URI"
        found.append(_answer("MLflow", store.tracking_uri, here.mlflow, remedy))
    else:
        found.append(
            Diagnosis("MLflow", f"runs are kept in {without_secrets(store.tracking_uri)}, no server")
        )
    return [*found, _store("store", here)]


def workers(
    said: Mapping[str, WorkerFacts], here: Facts, prefect: str | None, store: Store
) -> list[Diagnosis]:
    """Everything that must be true of workers before they get work."""
    if not said:
        text = "has no workers; start some with 'multilogger worker --address ...'"
        return [Diagnosis("scheduler", text, wrong=True)]
    found = [Diagnosis("scheduler", f"answers, and has {len(said)} workers")]
    for name, one in said.items():
        found += _worker(name, one, here, prefect, store)
    return found


def _worker(name: str, said: WorkerFacts, here: Facts, prefect: str | None, store: Store) -> list[Diagnosis]:
    if (own := said.facts) is None:
        reason = first_line(said.error or Exception("no answer"))[:150]
        text = f"cannot work for us ({reason}); install the same multilogger there and start it again"
        return [Diagnosis(name, text, wrong=True)]
    who = f"{name} on {own.host}"
    found = [_versions(who, own, here)]
    if own.threads != 1:
        text = f"has {own.threads} threads, and cells need one each; start it with 'multilogger worker'"
        found.append(Diagnosis(who, text, wrong=True))
    if prefect is not None:
        found.append(_answer(f"{who}, Prefect", prefect, own.prefect, _far(prefect)))
    elif own.host != here.host:
        text = "needs a Prefect server that it can reach; start one and name it with PREFECT_API_URL"
        found.append(Diagnosis(who, text, wrong=True))
    if store.tracks_by_server:
        found.append(_answer(f"{who}, MLflow", store.tracking_uri, own.mlflow, _far(store.tracking_uri)))
    elif own.identity != here.identity and own.unusable is None:
        text = (
            f"has a store of its own ({own.store}) and no way to ours: name an MLflow server with "
            f"MLFLOW_TRACKING_URI, or the same store with {ROOT_VARIABLE}"
        )
        found.append(Diagnosis(who, text, wrong=True))
    return [*found, _store(f"{who}, store", own), _clock(who, said.seconds_off)]


def _versions(who: str, own: Facts, here: Facts) -> Diagnosis:
    other = {name: text for name, text in own.versions.items() if text != here.versions[name]}
    if other:
        told = ", ".join(f"{name} {text} (here {here.versions[name]})" for name, text in other.items())
        return Diagnosis(who, f"has other versions: {told}; install those of here", wrong=True)
    return Diagnosis(who, "has our versions: " + ", ".join(f"{n} {v}" for n, v in own.versions.items()))


def _answer(subject: str, address: str, complaint: str | None, remedy: str) -> Diagnosis:
    shown = without_secrets(address)
    if complaint is None:
        return Diagnosis(subject, f"{shown} answers")
    return Diagnosis(
        subject, f"{shown} does not answer ({complaint.strip().splitlines()[0][:150]}); {remedy}", wrong=True
    )


def _far(address: str) -> str:
    if urlsplit(address).hostname in NEAR:
        return "that address is of one machine alone: start the server with --host and name it by its host"
    return "let the worker's host through to it"


def _store(subject: str, own: Facts) -> Diagnosis:
    if own.unusable is not None:
        return Diagnosis(subject, own.unusable, wrong=True)
    text = f"{own.store} is writable, {own.free_bytes / GIB:.1f} GiB are free"
    if own.free_bytes < LEAST_FREE:
        return Diagnosis(
            subject, f"{text}; make room, or name another folder with {ROOT_VARIABLE}", wrong=True
        )
    return Diagnosis(subject, text)


def _clock(who: str, seconds: float) -> Diagnosis:
    if abs(seconds) > MOST_SECONDS:
        text = f"its clock is {seconds:+.0f} s from ours; set the clocks by a time server (NTP)"
        return Diagnosis(who, text, wrong=True)
    return Diagnosis(who, f"its clock is {seconds:+.1f} s from ours")
