"""A dataset as MLflow lists it with a run."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from mlflow.entities import Dataset, DatasetInput, InputTag

DIGEST_CHARACTERS = 16  # MLflow takes 36 at most


@dataclass(frozen=True)
class DatasetUsed:
    """A name, the digest of the content, a URI, and a few numbers."""

    name: str
    digest: str
    source: str
    profile: Mapping[str, int]

    def as_input(self) -> DatasetInput:
        """The dataset as the training data of a run."""
        kind, address = ("http", "url") if self.source.startswith("http") else ("local", "uri")
        listed = Dataset(
            name=self.name,
            digest=self.digest[:DIGEST_CHARACTERS],
            source_type=kind,
            source=json.dumps({address: self.source}),
            profile=json.dumps(dict(self.profile)),
        )
        return DatasetInput(listed, [InputTag("mlflow.data.context", "training")])
