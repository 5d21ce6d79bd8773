"""The registered datasets (the paper's Table 1, and what we add to it)."""

from dataclasses import dataclass

from multilogger.components.actions.space import ActionSpace, find_space
from multilogger.components.datasets.losses import USUAL_LOSS, Loss, find_loss
from multilogger.components.errors import BadInput, meant

LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets"
MOST_FEATURES = 2**24
MOST_LABELS = 10_000
MOST_BYTES = 2**31  # of a file, uncompressed
MOST_ROWS = 5_000_000  # of an own file: all are in memory, and a row without features takes some 100 bytes
MOST_UNPACKED = 50  # bytes of text for one of a compressed file: svmlight text has 3 to 20
FEATURE_BYTES, LABEL_BYTES, ROW_BYTES = 28, 8, 64  # `16777216:-1.2345678e-10 `, `9999,`, and what else


@dataclass(frozen=True)
class DatasetSpec:
    """What a dataset must look like, and where its files stand below a mirror.

    `n_train` and `n_test` are None when any number of rows is right (a user's own files).
    A spec without files is embedded: it needs neither network nor mirror. `actions` is the name of an action
    space, `labels` its size: how many labels there are, or how many classes to choose one of. `loss` is a
    name of `losses.py`.
    """

    name: str
    features: int
    labels: int
    n_train: int | None = None
    n_test: int | None = None
    train_file: str | None = None
    test_file: str | None = None
    note: str = ""
    loss: str = "hamming"
    actions: str = "labels"

    @property
    def space(self) -> ActionSpace:
        """What the right action of a row is."""
        return find_space(self.actions, self.labels)

    @property
    def most_bytes(self) -> int:
        """How many bytes of text a file of this shape can have, with no feature left out."""
        rows = max(self.n_train or 0, self.n_test or 0)
        row = FEATURE_BYTES * self.features + LABEL_BYTES * self.labels + ROW_BYTES
        return min(rows * row, MOST_BYTES) if rows else MOST_BYTES

    @property
    def embedded(self) -> bool:
        return self.train_file is None


DATASETS: dict[str, DatasetSpec] = {
    spec.name: spec
    for spec in (
        DatasetSpec("digits", 64, 10, 1257, 540, note="embedded; images of digits, one label per row"),
        DatasetSpec(
            "scene", 294, 6, 1211, 1196, "multilabel/scene_train.bz2", "multilabel/scene_test.bz2",
            note="images of landscapes",
        ),
        DatasetSpec(
            "yeast", 103, 14, 1500, 917, "multilabel/yeast_train.svm.bz2", "multilabel/yeast_test.svm.bz2",
            note="functions of genes",
        ),
        DatasetSpec(
            "tmc", 30438, 22, 21519, 7077,
            "multilabel/tmc2007_train.svm.bz2", "multilabel/tmc2007_test.svm.bz2",
            note="aviation safety reports; reduced by SVD",
        ),
        DatasetSpec(
            "tmc500", 500, 22, 21519, 7077,
            "multilabel/tmc2007_500_train.svm.bz2", "multilabel/tmc2007_500_test.svm.bz2",
            note="tmc with 500 selected words; on mirrors only",
        ),
        DatasetSpec(
            "emotions", 72, 6, 391, 202,
            "multilabel/emotions_train.svm.bz2", "multilabel/emotions_test.svm.bz2",
            note="moods of music; on mirrors only",
        ),
        DatasetSpec(
            "birds", 271, 19, 322, 323, "multilabel/birds_train.svm.bz2", "multilabel/birds_test.svm.bz2",
            note="songs of birds; on mirrors only",
        ),
        DatasetSpec(
            "enron", 1001, 53, 1123, 579, "multilabel/enron_train.svm.bz2", "multilabel/enron_test.svm.bz2",
            note="topics of e-mails; on mirrors only",
        ),
        DatasetSpec(
            "pairwise", 12, 6, 1500, 1000, note="embedded; simulated, with a loss that is not additive",
            loss="crowding",
        ),
        DatasetSpec(
            "digits-one-of", 64, 10, 1257, 540, note="embedded; images of digits, one class of ten",
            loss="zero-one", actions="one-of",
        ),
        DatasetSpec(
            "satimage", 36, 6, 4501, 1929,
            "multiclass/satimage_train.svm.bz2", "multiclass/satimage_test.svm.bz2",
            note="soils seen from a satellite; this split is on mirrors only",
            loss="zero-one", actions="one-of",
        ),
        DatasetSpec(
            "optdigits", 64, 10, 3934, 1686,
            "multiclass/optdigits_train.svm.bz2", "multiclass/optdigits_test.svm.bz2",
            note="handwritten digits; this split is on mirrors only",
            loss="zero-one", actions="one-of",
        ),
    )
}  # fmt: skip


def find_dataset(name: str) -> DatasetSpec:
    """The spec registered under this name."""
    if name not in DATASETS:
        raise BadInput(
            f"unknown dataset {name!r}; {meant(name, DATASETS)}choose one of {', '.join(DATASETS)}, "
            "or give 'prepare' and 'learn' your own files with --train, --test, --features and --labels "
            "or --classes"
        )
    return DATASETS[name]


def actions_text(actions: str, size: int) -> str:
    """`14 labels`, or `one of 10`."""
    return f"one of {size}" if actions == "one-of" else f"{size} labels"


def kind_of_actions(name: str, own: str | None = None) -> str:
    """The kind of actions of a dataset by name: the registered one's, or what is said of own files."""
    return own or (DATASETS[name].actions if name in DATASETS else "labels")


def loss_of(name: str, own: str | None = None) -> Loss:
    """The loss that a dataset is judged by; own files by the usual one of their kind of actions."""
    actions = kind_of_actions(name, own)
    known = name in DATASETS and DATASETS[name].actions == actions
    return find_loss(DATASETS[name].loss if known else USUAL_LOSS[actions])
