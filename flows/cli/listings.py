"""What there is: datasets, stages."""

import typer

from multilogger.flows.terminal.errors import one_line_errors


def datasets(context: typer.Context) -> None:
    """List the registered datasets."""
    with one_line_errors(context.obj):
        from multilogger.components.datasets.registry import DATASETS
        from multilogger.flows.terminal.terminal import Terminal

        rows = [
            {
                "dataset": spec.name,
                "features": f"{spec.features:,}",
                "labels": f"{spec.labels}",
                "train": f"{spec.n_train:,}",
                "test": f"{spec.n_test:,}",
                "what": spec.note,
            }
            for spec in DATASETS.values()
        ]
        Terminal().table("Datasets", rows)


def stages(context: typer.Context) -> None:
    """List the stages, their settings and defaults."""
    with one_line_errors(context.obj):
        from multilogger.flows.terminal.terminal import Terminal
        from multilogger.tasks.registry import STAGES

        for stage in STAGES.values():
            rows = [
                {"setting": name, "default": text.default, "meaning": text.meaning}
                for name, text in stage.settings_type.described().items()
            ]
            Terminal().table(f"{stage.name}: {stage.summary}", rows or [{"setting": "none"}])
