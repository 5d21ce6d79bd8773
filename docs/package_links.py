"""Show mkdocstrings the package: the repository root is `multilogger`, but holds more than the package.

The reference is read from the source; nothing is imported. A temporary folder `multilogger` links what the
package consists of, so that neither the tests nor `.venv` are searched.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import event_priority

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ("__init__.py", "components", "tasks", "flows")

FOLDERS: list[TemporaryDirectory[str]] = []


@event_priority(100)  # before mkdocstrings reads its paths
def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Make the links, and name their folder as the place to search."""
    FOLDERS.append(TemporaryDirectory(prefix="multilogger-docs-"))
    package = Path(FOLDERS[-1].name) / "multilogger"
    package.mkdir()
    for name in PACKAGE:
        if (ROOT / name).exists():
            (package / name).symlink_to(ROOT / name)
    config.plugins["mkdocstrings"].config["handlers"]["python"]["paths"] = [str(package.parent)]
    return config


def on_shutdown() -> None:
    """Remove the links, also after a build that failed."""
    while FOLDERS:
        FOLDERS.pop().cleanup()
