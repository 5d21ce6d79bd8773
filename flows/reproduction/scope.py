"""What a person asked a reproduction for: datasets, methods, seeds, presets and settings."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from multilogger.components.datasets.registry import kind_of_actions
from multilogger.components.errors import BadInput, meant
from multilogger.components.learners.methods import METHODS, all_settings, reads
from multilogger.components.learners.presets import PRESETS, preset
from multilogger.flows.cells.runner_choice import RunnerChoice, check_seeds
from multilogger.flows.pipelines.cells import Cell
from multilogger.flows.pipelines.settings import parse_assignments
from multilogger.tasks.engine.store import check_folder
from multilogger.tasks.learn_settings import check_method

DEFAULT_PRESETS = ("tuned",)


@dataclass(frozen=True)
class Scope:
    """What a person asked for; None means the experiment's own datasets and methods."""

    datasets: tuple[str, ...] | None = None
    methods: tuple[str, ...] | None = None
    seeds: int = 10
    presets: tuple[str, ...] = DEFAULT_PRESETS
    mirror: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_seeds(self.seeds)
        if not self.presets:
            raise BadInput(f"a reproduction needs at least one preset, got none; choose {', '.join(PRESETS)}")

    @classmethod
    def asked(cls, parameters: Mapping[str, Any]) -> "Scope":
        """The scope of parameters of the flow, whose others are left alone; names count once."""
        datasets, methods = (
            tuple(dict.fromkeys(parameters[n] or ())) or None for n in ("datasets", "methods")
        )
        presets = chosen_presets(parameters["presets"], parameters.get("preset"))
        settings = parameters["settings"] or {}
        return cls(datasets, methods, parameters["seeds"], presets, parameters["mirror"], settings)

    def params(self) -> dict[str, Any]:
        """What an MLflow run shows of it."""
        own = {"datasets": self.datasets, "methods": self.methods, "seeds": self.seeds}
        return {**own, "preset": ", ".join(self.presets), "mirror": self.mirror, **self.settings}

    def command(self, target: str) -> str:
        """The command that asks for it."""
        words = ["multilogger reproduce", target]
        words += [f"--dataset {name}" for name in self.datasets or ()]
        words += [f"--method {name}" for name in self.methods or ()]
        words += [f"--seeds {self.seeds}", *(f"--preset {name}" for name in self.presets)]
        words += [f"--mirror {shlex.quote(self.mirror)}"] if self.mirror else []
        words += [f"--set {shlex.quote(f'{name}={value}')}" for name, value in self.settings.items()]
        return " ".join(words)

    @property
    def own_actions(self) -> str | None:
        """The kind of actions that was said of own files."""
        said = self.settings.get("download.actions")
        return None if said is None else str(said)

    def actions(self, dataset: str) -> str:
        """The kind of actions of a dataset."""
        return kind_of_actions(dataset, self.own_actions)

    def cells(
        self, preset: str, dataset: str, method: str, settings: Mapping[str, Any] | None = None, **place: Any
    ) -> list[Cell]:
        """One cell per seed; what the person set wins over the experiment's, if the method reads it."""
        typed = {name: value for name, value in self.settings.items() if _read(method, name)}
        return [
            Cell(
                dataset=dataset,
                method=method,
                seed=seed,
                preset=preset,
                mirror=self.mirror,
                settings={**(settings or {}), **typed},
                **place,
            )
            for seed in range(self.seeds)
        ]


def chosen_presets(presets: Sequence[str] | None, single: str | None) -> tuple[str, ...]:
    """The presets that were named, each once, by the list or by the one name that older schedules have."""
    if presets and single:
        raise BadInput(
            f"presets are named once, got presets={list(presets)} and preset={single!r}; leave preset out"
        )
    return tuple(dict.fromkeys(presets or ())) or ((single,) if single else DEFAULT_PRESETS)


def check_presets(presets: Sequence[str]) -> None:
    """Refuse a name that is no preset, also where no method would have asked for it."""
    for name in presets:
        if name not in PRESETS:
            near = meant(name, PRESETS)
            raise BadInput(f"unknown preset {name!r}; {near}choose one of {', '.join(PRESETS)}")


def presets_that_matter(
    presets: Sequence[str], dataset: str, method: str, actions: str | None = None
) -> tuple[str, ...]:
    """The presets to run a method under: the last alone if all give it the same settings."""
    check_method(method)
    if method not in METHODS:
        return tuple(presets[-1:])
    numbers = {preset(name, dataset, method, actions) for name in presets}
    return tuple(presets[-1:] if len(numbers) == 1 else presets)


def _read(method: str, name: str) -> bool:
    """Whether a method reads a setting, or another stage does."""
    owner, _, setting = name.partition(".")
    return owner != "learn" or setting not in all_settings() or reads(method, setting)


def reproduce_parameters(
    target: str,
    datasets: list[str] | None,
    methods: list[str] | None,
    seeds: int,
    presets: list[str] | None,
    mirror: str | None,
    out: Path,
    assignments: list[str] | None,
    running: RunnerChoice,
) -> dict[str, Any]:
    """The flow's parameters; an output folder or a setting that cannot be is refused at once."""
    check_folder(out)
    return {
        "target": target,
        "datasets": datasets or None,
        "methods": methods or None,
        "seeds": seeds,
        "presets": presets or None,
        "mirror": mirror,
        "out": str(out),
        "settings": parse_assignments(assignments or [], "learn"),
        "workers": running.workers,
        "runner": running.runner,
        "address": running.address,
    }


def from_any_folder(parameters: dict[str, Any]) -> dict[str, Any]:
    """The same with absolute paths: a run may start in another folder."""
    mirror = parameters["mirror"]
    if mirror is not None and "://" not in mirror:
        mirror = str(Path(mirror).expanduser().absolute())
    return parameters | {"mirror": mirror, "out": str(Path(parameters["out"]).expanduser().absolute())}
