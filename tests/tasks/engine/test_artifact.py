import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from multilogger.tasks.engine.artifact import (
    Artifact,
    DamagedArtifact,
    digest_of,
    discard_drafts,
    manifest_of,
    publish,
    sha256_of,
    temporary_folder,
)


def finished(root: Path) -> Artifact:
    """An artifact of two files below `root`."""
    final = root / "artifacts" / "stage" / "key"
    temporary = temporary_folder(final)
    (temporary / "inner").mkdir()
    (temporary / "a.json").write_text("{}")
    (temporary / "inner" / "b.bin").write_bytes(bytes(range(100)))
    files = manifest_of(temporary)
    entries = {name: entry.model_dump() for name, entry in files.items()}
    text = json.dumps({"stage": "stage", "key": "key", "files": entries, "settings": {"a": 1}})
    (temporary / "manifest.json").write_text(text)
    publish(temporary, final)
    own = {"stage": "stage", "key": "key", "path": "artifacts/stage/key", "run_id": "r"}
    return Artifact(files=files, manifest=sha256_of(final / "manifest.json"), root=root, **own)


def test_every_file_may_be_read_by_those_who_may_read_the_manifest(tmp_path: Path) -> None:
    """safetensors writes files of mode 600."""
    final = tmp_path / "artifacts" / "stage" / "key"
    temporary = temporary_folder(final)
    save_file({"x": np.zeros(3)}, temporary / "x.safetensors")
    (temporary / "manifest.json").write_text("{}")
    publish(temporary, final)
    assert len({path.stat().st_mode for path in final.iterdir()}) == 1


def test_draft_that_nobody_was_told_of_is_discarded(tmp_path: Path) -> None:
    """A signal that comes between the making of the folder and its use leaves nothing."""
    final, other = tmp_path / "stage" / "key", tmp_path / "stage" / "key2"
    temporary_folder(final)
    kept = temporary_folder(other)
    discard_drafts(final)
    assert list(final.parent.iterdir()) == [kept]


def test_an_untouched_artifact_verifies(tmp_path: Path) -> None:
    artifact = finished(tmp_path)
    artifact.verify()
    assert set(artifact.files) == {"a.json", "inner/b.bin"}


def hang_loose(folder: Path) -> None:
    (folder / "a.json").unlink()
    (folder / "a.json").symlink_to(folder / "nowhere")


def flip_a_byte(folder: Path) -> None:
    content = bytearray((folder / "inner" / "b.bin").read_bytes())
    content[50] ^= 1
    (folder / "inner" / "b.bin").write_bytes(content)


def garble_manifest(folder: Path) -> None:
    (folder / "manifest.json").write_text("{}")


def list_no_files(folder: Path) -> None:
    (folder / "manifest.json").write_text('{"stage": "stage", "key": "key", "files": []}')


def change_a_setting(folder: Path) -> None:
    path = folder / "manifest.json"
    path.write_text(path.read_text().replace('"a": 1', '"a": 2'))


@pytest.mark.parametrize("damage", [garble_manifest, list_no_files])
def test_manifest_of_a_record_that_has_not_its_hash_is_read(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    """Records of earlier versions."""
    artifact = finished(tmp_path).model_copy(update={"manifest": None})
    artifact.verify()
    damage(artifact.folder)
    with pytest.raises(DamagedArtifact, match=r"manifest.json was altered"):
        artifact.verify()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (garble_manifest, "manifest.json was altered"),
        (list_no_files, "manifest.json was altered"),
        (change_a_setting, "manifest.json was altered"),
        (lambda folder: (folder / "manifest.json").write_bytes(b""), "manifest.json was altered"),
        (lambda folder: (folder / "manifest.json").unlink(), "manifest.json is missing"),
        (flip_a_byte, "inner/b.bin was altered"),
        (lambda folder: (folder / "a.json").unlink(), "a.json is missing"),
        (lambda folder: (folder / "a.json").write_text("{ }"), "a.json was altered"),
        (hang_loose, "a.json cannot be read"),
        (lambda folder: (folder / "c.parquet").write_text(""), "c.parquet does not belong to it"),
        (lambda folder: folder.rename(folder.with_name("elsewhere")), "its folder is gone"),
    ],
)
def test_damage_is_noticed(tmp_path: Path, damage: object, message: str) -> None:
    artifact = finished(tmp_path)
    assert callable(damage)
    damage(artifact.folder)
    with pytest.raises(DamagedArtifact, match=message):
        artifact.verify()


def test_publishing_again_replaces_the_folder_and_leaves_nothing_else(tmp_path: Path) -> None:
    first = finished(tmp_path)
    flip_a_byte(first.folder)
    second = finished(tmp_path)
    second.verify()
    assert [p.name for p in second.folder.parent.iterdir()] == ["key"]


def test_leftovers_of_a_killed_process_are_swept(tmp_path: Path) -> None:
    final = tmp_path / "stage" / "key"
    dead = temporary_folder(final)
    (dead / "half").write_text("half")
    other = temporary_folder(final.with_name("other"))
    alive = temporary_folder(final)
    assert not dead.exists()
    assert alive.exists()
    assert other.exists()


def test_digest_is_of_the_content_alone(tmp_path: Path) -> None:
    one, two = finished(tmp_path / "one"), finished(tmp_path / "two")
    assert one.digest == two.digest == digest_of(one.files)
    flip_a_byte(two.folder)
    assert digest_of(manifest_of(two.folder)) != one.digest


def test_reference_can_be_moved_with_its_store(tmp_path: Path) -> None:
    artifact = finished(tmp_path / "here")
    (tmp_path / "here").rename(tmp_path / "there")
    moved = Artifact(**artifact.model_dump(), root=tmp_path / "there")
    moved.verify()
