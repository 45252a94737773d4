"""Shards: what is written comes back equal, whole or not at all, and reads as an export of a
store.
"""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest

from factoid import Document, UnitStore
from factoid.errors import InvalidInputError, StoreError, UnreadableFileError
from factoid.scale import Failure, Folder, read_manifest, read_shards, write_shard
from factoid.store.database.snapshot import StoredUnit
from factoid.testing import HashEncoder
from factoid.units import Granularity
from tests.store.content import units

pytestmark = pytest.mark.skipif(find_spec("pyarrow") is None, reason="needs pyarrow")

IDENTITY = {
    "encoder": "numbers",
    "embed_template": "{text}",
    "embed_metadata": "[]",
    "late_chunking": "false",
}
FAILURES = [Failure("articles.jsonl:17", "", "not JSON: …")]


def written(folder, name="part-00000-00000", count=40, **options):
    stored = [StoredUnit(*pair) for pair in units(count)]
    documents = []
    for number in range(7):
        document = Document(f"Text of {number} é", id=f"doc{number}", metadata={"n": [number]})
        documents.append((document, f"digest {number}"))
    options = {"identity": IDENTITY, "failures": FAILURES, **options}
    return write_shard(folder, name, stored, documents, **options), stored, documents


@pytest.fixture(params=["disk", "memory"])
def folder(request, tmp_path):
    if request.param == "memory":
        pytest.importorskip("fsspec", reason="needs fsspec")
    address = {"disk": tmp_path / "shards", "memory": f"memory://{tmp_path.name}"}[request.param]
    folder = Folder(address)
    folder.make()
    return folder


def test_what_is_written_comes_back_equal(folder):
    manifest, stored, documents = written(folder)
    (shard,) = read_shards(folder)
    content = shard.read()
    assert [unit for unit, _ in content.units] == [unit for unit, _ in stored]
    for (_, vector), (_, expected) in zip(content.units, stored, strict=True):
        if expected is None:
            assert vector is None
        else:
            np.testing.assert_array_equal(vector, expected)
            assert vector.dtype == np.float32
    assert content.documents == documents
    assert shard.manifest == manifest == read_manifest(folder, manifest.name)
    assert manifest.identity == IDENTITY
    assert manifest.failures == FAILURES
    assert manifest.records == 47
    assert sum(manifest.units.values()) == 40
    assert manifest.units[Granularity.PASSAGE] == 14
    assert manifest.vectors == 37  # each eleventh has none
    assert manifest.dim == 8


def test_equal_content_gives_equal_bytes(tmp_path):
    files = []
    for name in ("a", "b"):
        folder = Folder(tmp_path / name)
        folder.make()
        written(folder)
        files.append([folder.read(file) for file in folder.names()])
    assert len(files[0]) == 2
    assert files[0] == files[1]


def test_a_shard_is_an_export_of_a_store(tmp_path):
    folder = Folder(tmp_path)
    documents = [Document(f"The town {name} lies on a hill.") for name in ("Vim", "Ror", "Sul")]
    with UnitStore(tmp_path / "store", encoder=HashEncoder()) as store:
        store.add_documents(documents, source_key=None)
        with store.opened.connections.reading() as snapshot:
            stored = list(snapshot.stored_units())
            of_documents = list(snapshot.all_documents())
        identity = store.opened.known_identity
        answers = store.search("Where is Sul?", k=3)
    write_shard(folder, "one", stored, of_documents, identity=identity)
    with UnitStore(tmp_path / "copy", encoder=HashEncoder()) as copy:
        assert copy.import_from(tmp_path / "one.parquet") == len(stored) + 3
        assert copy.search("Where is Sul?", k=3) == answers
        again = copy.add_documents(documents, source_key=None)
    assert again.unchanged == 3


def test_shards_come_in_order_of_names_without_unfinished_ones(folder):
    for name in ("part-00001-00000", "part-00000-00001", "part-00000-00000"):
        written(folder, name)
    with folder.writing("part-00002-00000.parquet") as writing:
        writing.part.write_bytes(b"PAR1")  # never finished
    folder.write("part-00003-00000.json", b"{}")  # killed before its shard had its name
    folder.write("build.json", b"{}")
    names = [shard.manifest.name for shard in read_shards(folder)]
    assert names == ["part-00000-00000", "part-00000-00001", "part-00001-00000"]


def test_a_shard_without_vectors(folder):
    stored = [StoredUnit(unit, None) for unit, _ in units(5)]
    manifest = write_shard(folder, "one", stored, [], identity=dict.fromkeys(IDENTITY))
    assert (manifest.vectors, manifest.dim) == (0, 0)
    (shard,) = read_shards(folder)
    assert shard.read().units == stored


def test_an_empty_shard_holds_its_failures(folder):
    write_shard(folder, "one", [], [], identity=IDENTITY, failures=FAILURES)
    (shard,) = read_shards(folder)
    assert shard.read() == ([], [])
    assert shard.manifest.failures == FAILURES


def test_a_damaged_shard_is_one_clear_error(tmp_path):
    folder = Folder(tmp_path)
    manifest, _, _ = written(folder)
    file = tmp_path / f"{manifest.name}.parquet"
    damaged = bytearray(file.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    file.write_bytes(damaged)
    (shard,) = read_shards(folder)
    with pytest.raises(UnreadableFileError, match=r"differs from what its manifest states"):
        shard.read()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "not JSON"),
        (b"{}", "expected the manifest of a shard"),
        (b'{"format": 2}', "another format"),
        (b'{"format": 1, "failures": [], "units": {"town": 1}, "words": {}}', "granularity 'town'"),
    ],
)
def test_a_damaged_manifest_is_one_clear_error(tmp_path, content, message):
    folder = Folder(tmp_path)
    manifest, _, _ = written(folder)
    (tmp_path / f"{manifest.name}.json").write_bytes(content)
    with pytest.raises(UnreadableFileError, match=message):
        read_shards(folder)


def test_what_cannot_be_written_leaves_nothing(tmp_path):
    folder = Folder(tmp_path)
    stored = [
        StoredUnit(unit, np.zeros(number + 1, np.float32))
        for number, (unit, _) in enumerate(units(2))
    ]
    with pytest.raises(InvalidInputError, match=r"dimensions \[1, 2\]"):
        write_shard(folder, "one", stored, [], identity=IDENTITY)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InvalidInputError, match="a shard is named by"):
        write_shard(folder, "../one", [], [], identity=IDENTITY)


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(UnreadableFileError, match="No such file"):
        read_shards(tmp_path / "nowhere")
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot be made"):
        replace(Folder(tmp_path / "file" / "below")).make()


def test_an_unknown_address_is_one_clear_error():
    pytest.importorskip("fsspec", reason="needs fsspec")
    with pytest.raises(InvalidInputError, match="not an address that fsspec knows"):
        read_shards("nowhere://folder")
