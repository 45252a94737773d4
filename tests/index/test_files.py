"""Caches on disk: every kind there and back, damage of every sort, several writers."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from hashlib import sha256

import numpy as np
import pytest

from factoid.index import files, load, save
from tests.index.cases import DIM, EACH_KIND, make_index

faiss = pytest.importorskip("faiss")

STAMP = {"generation": 42, "encoder": "é"}
ARRAYS = {"rows": np.arange(30).reshape(10, 3), "parent_ids": np.empty(0, np.int64), "scores": np.ones(4, np.float32)}


def same(one, two):
    (scores, ids), (other_scores, other_ids) = one, two
    # The last digit of a score depends on the vectors that FAISS compares at the same time.
    return ids.tolist() == other_ids.tolist() and np.allclose(scores, other_scores, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("mmap", "shards"), [(False, 3), (True, 1)])
@pytest.mark.parametrize("kind", EACH_KIND)
def test_every_kind_comes_back_as_it_was_and_can_change(tmp_path, kind, shards, mmap):
    index, ids, vectors = make_index(kind, "cosine", shards)
    save(index, tmp_path / "passage", stamp=STAMP, arrays=ARRAYS)
    loaded = load(tmp_path / "passage", mmap=mmap)
    assert loaded is not None
    again = loaded.index
    assert loaded.stamp == STAMP
    assert {name: array.tolist() for name, array in loaded.arrays.items()} == {
        name: array.tolist() for name, array in ARRAYS.items()
    }
    assert (again.dim, again.kind, again.similarity, again.shards) == (DIM, kind, "cosine", shards)
    assert (len(again), again.hidden) == (len(index), index.hidden)
    assert again.ids.tolist() == index.ids.tolist()
    for allowed in (None, np.sort(ids[::9])):
        assert same(again.search(vectors[:9], 20, allowed=allowed), index.search(vectors[:9], 20, allowed=allowed))
    for each in (index, again):
        each.remove(ids[:100])
        each.add(ids[:50] + 100_000, vectors[:50])
    assert same(again.search(vectors[:9], 20), index.search(vectors[:9], 20))
    save(again, tmp_path / "passage", stamp={})  # over the files that are mapped
    assert same(again.search(vectors[:9], 20), index.search(vectors[:9], 20))
    saved = load(tmp_path / "passage")
    assert (len(saved.index), saved.stamp, saved.arrays) == (len(index), {}, {})


def test_the_manifest_names_all_files_and_what_is_no_longer_there_is_removed(tmp_path):
    others = ["passage.jsonl", "passages.rows.npy", "units.sqlite"]
    for other in others:
        (tmp_path / other).touch()
    save(make_index("Flat", shards=3)[0], tmp_path / "passage", stamp={}, arrays=ARRAYS)
    assert len(list(tmp_path.glob("passage.*"))) == 3 + 1 + 3 + 1 + 1
    index = make_index("HNSW16")[0]
    save(index, tmp_path / "passage", stamp=STAMP)
    names = ["passage.faiss", "passage.ids.npy", "passage.json", *others]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    manifest = json.loads((tmp_path / "passage.json").read_text())
    assert manifest.pop("sha256")
    assert {**manifest, "files": None} == {
        "format": 1, "kind": "HNSW16", "similarity": "inner_product", "dim": DIM, "shards": 1, "arrays": ["ids"],
        "stamp": STAMP, "files": None,
    }  # fmt: skip
    for name in names[:2]:
        content = (tmp_path / name).read_bytes()
        assert manifest["files"][name] == {"size": len(content), "sha256": sha256(content).hexdigest()}


def flip(path, place):
    content = bytearray(path.read_bytes())
    content[place % len(content)] ^= 1 << place % 8
    path.write_bytes(content)


def rewrite(**changes):
    """Change a manifest as another version of this package would write it."""

    def damage(folder):
        path = folder / "passage.json"
        manifest = json.loads(path.read_text()) | changes
        del manifest["sha256"]
        path.write_text(json.dumps(manifest | {"sha256": files._digest(manifest)}))

    return damage


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize(
    "damage",
    [
        *(lambda folder, name=name: (folder / name).unlink() for name in ("passage.faiss", "passage.json", "passage.rows.npy")),
        *(lambda folder, name=name: (folder / name).write_bytes(b"") for name in ("passage.faiss", "passage.rows.npy")),
        lambda folder: (folder / "passage.faiss").write_bytes((folder / "passage.faiss").read_bytes()[:-100]),
        lambda folder: (folder / "passage.faiss").write_bytes((folder / "passage.faiss").read_bytes() + b"x"),
        *(lambda folder, text=text: (folder / "passage.json").write_bytes(text) for text in (b"[]", b"\xff", b"[" * 9999)),
        *(rewrite(**change) for change in ({"format": 2}, {"dim": 17}, {"shards": 2}, {"files": {}})),
    ],
)  # fmt: skip
def test_a_cache_that_cannot_be_trusted_counts_as_missing(tmp_path, caplog, damage, mmap):
    caplog.set_level("INFO")
    save(make_index("Flat")[0], tmp_path / "passage", stamp=STAMP, arrays={"rows": np.arange(9)})
    damage(tmp_path)
    assert load(tmp_path / "passage", mmap=mmap) is None
    assert len([record for record in caplog.records if "it is built" in record.message]) == 1


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("kind", ["Flat", "HNSW16", "IVF32,SQ8"])
def test_a_flipped_bit_anywhere_is_noticed(tmp_path, kind, mmap):
    save(make_index(kind, shards=2)[0], tmp_path / "passage", stamp={}, arrays={"rows": np.arange(99)})
    rng = np.random.default_rng(3)
    for name in ("passage.0.faiss", "passage.1.faiss", "passage.ids.npy", "passage.rows.npy", "passage.json"):
        for place in [0, 5, *rng.integers(0, 1 << 40, 16).tolist()]:
            flip(tmp_path / name, place)
            assert load(tmp_path / "passage", mmap=mmap) is None
            flip(tmp_path / name, place)
    assert load(tmp_path / "passage", mmap=mmap) is not None


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize(
    "array", [np.array([{}], object), np.arange(3), np.arange(99_999)], ids=["objects", "few", "many"]
)
def test_arrays_of_objects_and_ids_of_other_vectors_are_never_read(tmp_path, array, mmap):
    save(make_index("Flat")[0], tmp_path / "passage", stamp={})
    np.save(tmp_path / "passage.ids.npy", array, allow_pickle=True)
    written = (tmp_path / "passage.ids.npy").read_bytes()
    entries = json.loads((tmp_path / "passage.json").read_text())["files"]
    entries["passage.ids.npy"] = {"size": len(written), "sha256": sha256(written).hexdigest()}
    rewrite(files=entries)(tmp_path)
    assert load(tmp_path / "passage", mmap=mmap) is None


WRITER = """
import sys
from pathlib import Path
import numpy as np
from factoid.index import VectorIndex, save
number = int(sys.argv[2])
index = VectorIndex(8)
index.add(np.arange(500) + number, np.full((500, 8), number, np.float32))
for _ in range(40):
    save(index, Path(sys.argv[1]), stamp={"number": number}, arrays={"rows": np.full(99, number)})
"""


@pytest.mark.parametrize("mmap", [pytest.param(False, marks=pytest.mark.slow), True])
def test_readers_beside_several_writers_never_see_a_mixture(tmp_path, mmap):
    path = tmp_path / "passage"
    command = [sys.executable, "-c", WRITER, str(path)]
    writers = [subprocess.Popen([*command, str(number)]) for number in (1, 2)]
    wrong, seen = [], []

    def read():
        while any(writer.poll() is None for writer in writers):
            loaded = load(path, mmap=mmap)
            if loaded is None:
                continue
            number = loaded.stamp["number"]
            scores, ids = loaded.index.search(np.ones((1, 8), np.float32), 1)
            found = [scores[0, 0] / 8, ids[0, 0], *set(loaded.arrays["rows"].tolist())]
            (seen if found == [number] * 3 else wrong).append((number, found))

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    assert [writer.wait() for writer in writers] == [0, 0]
    assert wrong == []
    assert list(tmp_path.glob(".*")) == []
