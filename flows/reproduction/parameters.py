"""What a person typed of a reproduction, as parameters of the flow, and what is wrong with them."""

from pathlib import Path
from typing import Any

from multilogger.flows.terminal.out_folder import check_folder


def reproduce_parameters(
    target: str,
    datasets: list[str] | None,
    methods: list[str] | None,
    seeds: int,
    presets: list[str] | None,
    mirror: str | None,
    out: Path,
    assignments: list[str] | None,
    workers: int,
) -> dict[str, Any]:
    """The flow's parameters; an output folder or a setting that cannot be is refused at once."""
    from multilogger.flows.pipelines.settings import parse_assignments

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
        "workers": workers,
    }


def check_plan(parameters: dict[str, Any]) -> None:
    """Refuse what the flow would refuse, before anything starts; this loads the learners."""
    from multilogger.flows.reproduction.experiments import plan_of
    from multilogger.flows.reproduction.scope import Scope, chosen_presets

    datasets, methods = (tuple(parameters[name] or ()) or None for name in ("datasets", "methods"))
    presets = chosen_presets(parameters["presets"], None)
    others = {name: parameters[name] for name in ("seeds", "mirror", "settings")}
    plan_of([parameters["target"]], Scope(datasets, methods, presets=presets, **others))


def from_any_folder(parameters: dict[str, Any]) -> dict[str, Any]:
    """The same with absolute paths: a run may start in another folder."""
    mirror = parameters["mirror"]
    if mirror is not None and "://" not in mirror:
        mirror = str(Path(mirror).expanduser().absolute())
    return parameters | {"mirror": mirror, "out": str(Path(parameters["out"]).expanduser().absolute())}
