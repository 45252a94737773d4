"""Conversion to safetensors, the folder it makes, and damage to it."""

from __future__ import annotations

import json
import shutil

import pytest

from factoid.cli import main
from factoid.entities.spel import SpELLinker, convert_spel
from factoid.errors import InvalidInputError, StoreFormatError, UnreadableFileError
from tests.entities.spel import tiny_spel

TEXT = "who was Ada Lovelace ? where is Mira from Mount Etna"
FILES = ["factoid-spel.json", "model.safetensors", "tokenizer.json", "vocabulary.json"]


@pytest.fixture(scope="module")
def converted(spel_folder, tmp_path_factory):
    folder = tmp_path_factory.mktemp("converted") / "sub" / "spel"
    assert convert_spel(spel_folder / tiny_spel.CHECKPOINT, spel_folder, folder, tokenizer=spel_folder) == folder
    return folder


@pytest.fixture
def copy(converted, tmp_path):
    return shutil.copytree(converted, tmp_path / "copy")


def test_the_folder_gives_exactly_what_the_checkpoint_gives(converted, linker):
    assert sorted(path.name for path in converted.iterdir()) == FILES
    assert SpELLinker(converted, device="cpu").link(TEXT) == linker.link(TEXT)
    assert len(linker.link(TEXT)) == 3


@pytest.mark.parametrize("name", [name for name in FILES if name != "factoid-spel.json"])
def test_changed_truncated_and_missing_files_are_noticed(copy, name):
    raw = (copy / name).read_bytes()
    middle = len(raw) // 2
    for damaged in (raw[:-1], raw[:middle] + bytes([raw[middle] ^ 1]) + raw[middle + 1 :]):
        (copy / name).write_bytes(damaged)
        with pytest.raises(StoreFormatError, match="has changed since it was written"):
            SpELLinker(copy).link(TEXT)
    (copy / name).unlink()
    with pytest.raises(StoreFormatError, match="is missing"):
        SpELLinker(copy).link(TEXT)


def test_other_versions_and_formats_are_refused(copy):
    manifest = json.loads((copy / "factoid-spel.json").read_text())
    for change, reason in (({"version": 2}, "'version': 2"), ({"format": "x"}, "'x'"), ({"files": {}}, "is damaged")):
        (copy / "factoid-spel.json").write_text(json.dumps({**manifest, **change}))
        with pytest.raises(StoreFormatError, match=reason):
            SpELLinker(copy).link(TEXT)


def test_what_cannot_be_converted_changes_nothing(spel_folder, tmp_path):
    checkpoint, target, broken = spel_folder / tiny_spel.CHECKPOINT, tmp_path / "new", tmp_path / "broken.pt"
    broken.write_bytes(b"PK")
    for source, tokenizer, folder, error, reason in (
        (broken, spel_folder, target, UnreadableFileError, "cannot read"),
        (checkpoint, broken, target, UnreadableFileError, "cannot load"),
        (checkpoint, spel_folder, broken / "new", UnreadableFileError, "cannot write the model"),
        (checkpoint, spel_folder, tmp_path, InvalidInputError, "is there already"),
        (checkpoint, spel_folder, broken, InvalidInputError, "is there already"),
    ):
        with pytest.raises(error, match=reason):
            convert_spel(source, spel_folder, folder, tokenizer=tokenizer)
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("broken.pt", b"PK")]


def test_the_command_converts(spel_folder, tmp_path, capsys, linker):
    checkpoint = str(spel_folder / tiny_spel.CHECKPOINT)
    target, folder = tmp_path / "spel", str(spel_folder)
    options = ["--output", str(target), "--tokenizer", folder, "--vocabulary", folder]
    assert main(["convert-spel", checkpoint, *options]) == 0
    assert capsys.readouterr().out.startswith(f"wrote {target} (")
    assert SpELLinker(target, device="cpu").link(TEXT) == linker.link(TEXT)
