"""Conversion to safetensors, the folder it makes, and damage to it."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys

import pytest

from factoid.cli import main
from factoid.entities.spel import SpELLinker, convert_spel
from factoid.errors import FactoidError, InvalidInputError, StoreFormatError, UnreadableFileError
from tests.entities.spel import tiny_spel

TEXT = "who was Ada Lovelace ? where is Mira from Mount Etna"
FILES = ["config.json", "factoid-spel.json", "model.safetensors", "tokenizer.json", "vocabulary.json"]


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


def test_no_part_of_the_language_models_head_is_kept(converted):
    safe_open = pytest.importorskip("safetensors").safe_open
    with safe_open(str(converted / "model.safetensors"), "pt") as tensors:
        names = set(tensors.keys())
    assert "out.weight" in names
    assert all(
        name == "out.weight" or name.startswith(("encoder.embeddings.", "encoder.encoder.layer.")) for name in names
    )


def test_nothing_is_left_beside_the_folder(converted):
    assert [path.name for path in converted.parent.iterdir()] == ["spel"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o007, 0o660), (0o077, 0o600)])
def test_all_files_have_the_mode_that_the_umask_says(spel_folder, tmp_path, umask, mode):
    before = os.umask(umask)
    try:
        convert_spel(spel_folder / tiny_spel.CHECKPOINT, spel_folder, tmp_path / "spel", tokenizer=spel_folder)
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "spel").iterdir()}
    assert modes == dict.fromkeys(FILES, mode)


KILLED = """
import os, sys
from factoid.entities.spel import convert_spel, folder
original = folder._sync
def die(path):
    if path.name == "model.safetensors":
        print("writing", flush=True)
        if sys.argv[3] == "wait":
            sys.stdin.readline()
        os._exit(9)
    original(path)
folder._sync = die
convert_spel(sys.argv[1] + "/tiny-spel-step-3.pt", sys.argv[1], sys.argv[2], tokenizer=sys.argv[1])
"""


@pytest.mark.skipif(os.name == "nt", reason="locks are those of POSIX")
def test_what_a_killed_conversion_left_is_removed_by_the_next(spel_folder, tmp_path):
    target = tmp_path / "spel"
    others = ["spel.part", "spel.notes.part", "spel2.0123456789abcdef0123456789abcdef.part"]
    for other in others:
        (tmp_path / other).mkdir()
    command = [sys.executable, "-c", KILLED, str(spel_folder), str(target)]
    assert subprocess.run([*command, "die"], check=False, stdout=subprocess.PIPE).returncode == 9
    [left] = [path for path in tmp_path.iterdir() if path.name not in others]
    assert left.name.startswith("spel.")
    assert left.name.endswith(".part")
    with subprocess.Popen([*command, "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as at_work:
        assert at_work.stdout.readline() == "writing\n"
        assert not left.exists()
        [living] = [path for path in tmp_path.iterdir() if path.name not in others]
        convert_spel(spel_folder / tiny_spel.CHECKPOINT, spel_folder, target, tokenizer=spel_folder)
        assert living.exists()  # its process still writes it
        at_work.communicate("\n")
    assert sorted(path.name for path in target.iterdir()) == FILES
    shutil.rmtree(target)
    convert_spel(spel_folder / tiny_spel.CHECKPOINT, spel_folder, target, tokenizer=spel_folder)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["spel", *others])


@pytest.mark.parametrize("name", FILES)
def test_a_changed_byte_is_noticed(copy, name):
    path = copy / name
    raw = bytearray(path.read_bytes())
    at = len(raw) // 2
    raw[at] ^= 1
    path.write_bytes(raw)
    with pytest.raises(StoreFormatError, match=r"has changed|is damaged|is of format"):
        SpELLinker(copy).link(TEXT)


@pytest.mark.parametrize("name", [name for name in FILES if name != "factoid-spel.json"])
def test_missing_and_truncated_files_are_noticed(copy, name):
    raw = (copy / name).read_bytes()
    (copy / name).write_bytes(raw[:-1])
    with pytest.raises(StoreFormatError, match="has changed since it was written"):
        SpELLinker(copy).link(TEXT)
    (copy / name).unlink()
    with pytest.raises(StoreFormatError, match="is missing"):
        SpELLinker(copy).link(TEXT)


def test_other_versions_and_formats_are_refused(copy):
    manifest = json.loads((copy / "factoid-spel.json").read_text())
    for change, reason in (
        ({"version": 2}, "version 2"),
        ({"format": "other"}, "'other'"),
        ({"files": {}}, "is damaged"),
    ):
        (copy / "factoid-spel.json").write_text(json.dumps({**manifest, **change}))
        with pytest.raises(StoreFormatError, match=reason):
            SpELLinker(copy).link(TEXT)


def test_files_that_do_not_fit_each_other_are_refused(copy):
    from hashlib import sha256

    raw = json.dumps(tiny_spel.ENTRIES[:-1]).encode()
    (copy / "vocabulary.json").write_bytes(raw)
    manifest = json.loads((copy / "factoid-spel.json").read_text())
    manifest["files"]["vocabulary.json"] = {"bytes": len(raw), "sha256": sha256(raw).hexdigest()}
    (copy / "factoid-spel.json").write_text(json.dumps(manifest))
    with pytest.raises(StoreFormatError, match="do not fit each other"):
        SpELLinker(copy).link(TEXT)


def test_a_folder_that_holds_something_is_left_alone(spel_folder, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    for target in (tmp_path, tmp_path / "mine.txt"):
        with pytest.raises(InvalidInputError, match="is there already"):
            convert_spel(spel_folder / tiny_spel.CHECKPOINT, spel_folder, target, tokenizer=spel_folder)
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_an_empty_folder_is_filled(spel_folder, tmp_path):
    convert_spel(spel_folder / tiny_spel.CHECKPOINT, spel_folder, tmp_path, tokenizer=spel_folder)
    assert sorted(path.name for path in tmp_path.iterdir()) == FILES


def test_what_cannot_be_converted_leaves_no_folder(spel_folder, tmp_path):
    target = tmp_path / "new"
    broken = tmp_path / "broken.pt"
    broken.write_bytes(b"PK")
    for checkpoint, tokenizer in ((broken, spel_folder), (spel_folder / tiny_spel.CHECKPOINT, broken)):
        with pytest.raises(FactoidError):
            convert_spel(checkpoint, spel_folder, target, tokenizer=tokenizer)
    with pytest.raises(UnreadableFileError, match="cannot write the model"):
        convert_spel(spel_folder / tiny_spel.CHECKPOINT, spel_folder, broken / "new", tokenizer=spel_folder)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken.pt"]


def test_the_command_converts(spel_folder, tmp_path, capsys, linker):
    checkpoint = str(spel_folder / tiny_spel.CHECKPOINT)
    files = {"--aida": "aida", "--enwiki": "enwiki_20230827", "--out-of-domain": "out_of_domain"}
    single = [part for option, name in files.items() for part in (option, str(spel_folder / f"{name}.txt"))]
    for at, vocabulary in enumerate((["--vocabulary", str(spel_folder)], single)):
        target = tmp_path / str(at)
        given = [checkpoint, "--output", str(target), "--tokenizer", str(spel_folder), *vocabulary]
        assert main(["convert-spel", *given]) == 0
        assert capsys.readouterr().out.startswith(f"wrote {target} (")
        assert SpELLinker(target, device="cpu").link(TEXT) == linker.link(TEXT)


def test_the_command_refuses_swapped_vocabulary_files(spel_folder, tmp_path, capsys):
    swapped = {"--aida": "aida", "--enwiki": "out_of_domain", "--out-of-domain": "enwiki_20230827"}
    vocabulary = [part for option, name in swapped.items() for part in (option, str(spel_folder / f"{name}.txt"))]
    checkpoint = str(spel_folder / tiny_spel.CHECKPOINT)
    given = [checkpoint, "--output", str(tmp_path / "out"), "--tokenizer", str(spel_folder), *vocabulary]
    assert main(["convert-spel", *given]) == 1
    assert "out_of_domain.txt is given as enwiki" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("vocabulary", [[], ["--vocabulary", "a", "--aida", "b"], ["--enwiki", "c"]])
def test_the_command_wants_one_vocabulary(tmp_path, capsys, vocabulary):
    given = [str(tmp_path / "x.pt"), "--output", str(tmp_path / "out"), "--tokenizer", "t", *vocabulary]
    assert main(["convert-spel", *given]) == 1
    assert "expected --vocabulary DIR" in capsys.readouterr().err
