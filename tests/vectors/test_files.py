"""Caches on disk: every kind there and back, damage of every sort, several writers."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from factoid.files.arrays import read_arrays, write_arrays
from factoid.vectors import load as load_index
from factoid.vectors import save as save_index
from factoid.vectors import sweep
from factoid.vectors.files import index_files
from tests.vectors.cases import DIM, KINDS, clustered, make_index, search

pytest.importorskip("faiss")

VECTORS = {}  # of the exact indexes that were saved, by id: their files hold none


def save(path, stamp, arrays, index=None):
    """Save an index; the vectors of an exact one are remembered by the tests."""
    if index is not None and index.is_exact:
        VECTORS.update(zip(index.ids.tolist(), index.vectors(index.ids), strict=True))
    save_index(path, stamp, arrays, index)


def load(path, **options):
    """Load an index; the vectors of an exact one are those of the tests."""
    return load_index(
        path, vectors=lambda ids: np.stack([VECTORS[number] for number in ids.tolist()]), **options
    )


STAMP = {"generation": 42, "encoder": "é"}
ARRAYS = {
    "rows": np.arange(30).reshape(10, 3),
    "parent_ids": np.empty(0, np.int64),
    "scores": np.ones(4, np.float32),
}


def same(one, two, ids):
    """The last digit of a score depends on the vectors that FAISS compares at the same time."""
    queries = clustered(9, seed=5)[1]
    for allowed in (None, ids[::9]):
        found, expected = (search(each, queries, 20, allowed) for each in (one, two))
        assert found[1].tolist() == expected[1].tolist()
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_comes_back_as_it_was_and_can_change(tmp_path, kind, mmap):
    path = tmp_path / "passage"
    index, ids, vectors = make_index(kind, "cosine")
    save(path, STAMP, ARRAYS, index)
    again, stamp, arrays = load(path, mmap=mmap)
    assert stamp == STAMP
    assert arrays.keys() == ARRAYS.keys()
    assert all(np.array_equal(arrays[name], ARRAYS[name]) for name in ARRAYS)
    assert (again.dim, again.kind, again.similarity, again.hidden) == (
        DIM,
        kind,
        "cosine",
        index.hidden,
    )
    assert again.ids.tolist() == index.ids.tolist()
    same(again, index, ids)
    for each in (index, again):
        each.remove(ids[:100])
        each.add(ids[:50] + 100_000, vectors[:50])
    same(again, index, ids)
    save(path, {"generation": 42}, {}, again)  # over the files that are mapped
    same(again, index, ids)
    saved = load(path)
    assert (saved.vectors.ids.tolist(), saved.stamp, saved.arrays) == (
        index.ids.tolist(),
        {"generation": 42},
        {},
    )


def test_a_cache_without_vectors(tmp_path):
    save(tmp_path / "lexical", STAMP, ARRAYS)
    loaded = load(tmp_path / "lexical")
    assert (loaded.vectors, loaded.stamp, [*loaded.arrays]) == (None, STAMP, [*ARRAYS])


def faiss_file(folder):
    (file,) = folder.glob("passage-42-*.faiss")
    return file


def test_two_processes_that_write_the_index_of_one_generation(tmp_path):
    path = tmp_path / "passage"
    save(path, STAMP, {}, make_index("SQ8")[0])
    record = (tmp_path / "passage-42.safetensors").read_bytes()
    first = faiss_file(tmp_path)
    content = first.read_bytes()
    index, ids, _ = make_index("SQ8")
    index.remove(ids[::2])
    save(path, STAMP, {}, index)
    assert faiss_file(tmp_path) != first
    same(load(path).vectors, index, ids[1::2])
    first.write_bytes(content)  # the other process has written its second file only now
    (tmp_path / "passage-42.safetensors").write_bytes(record)
    assert len(load(path).vectors.ids) == len(ids)


def test_files_of_other_generations_are_swept_and_no_others(tmp_path):
    others = [
        "passage.jsonl",
        "passages-1.faiss",
        "passage-a.faiss",
        "passage-7.faiss",
        "passage-7-0123.faiss",
        "passage-1.npz",
        "a-passage-1.faiss",
        "units.sqlite",
    ]
    digits = "0123456789abcdef"
    later = [f"passage-99-{digits}.faiss", "passage-99.safetensors"]
    killed = [
        ".passage-40.faiss.part",
        ".passage-40.faiss.part.lock",
        ".passage-41.safetensors.part",
    ]
    for other in [*others, *later, *killed, f"passage-41-{digits}.faiss", "passage-41.safetensors"]:
        (tmp_path / other).touch()
    for generation, kind in ((42, "SQ8"), (43, "Flat")):
        save(tmp_path / "passage", {"generation": generation}, {}, make_index(kind)[0])
        sweep(tmp_path / "passage", generation=generation, latest=99)
        names = [f"passage-{generation}.safetensors"]
        if kind == "SQ8":
            names.insert(0, faiss_file(tmp_path).name)
        assert sorted(file.name for file in tmp_path.iterdir()) == sorted([*names, *later, *others])
        assert [file.name for file in index_files(tmp_path / "passage")] == [*names, *later]
        assert load(tmp_path / "passage", generation=50).stamp == {"generation": generation}
    sweep(tmp_path / "passage", generation=43, latest=50)  # the later ones are of another history
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted(
        ["passage-43.safetensors", *others]
    )


def test_an_earlier_generation_serves_where_the_latest_is_damaged_or_too_late(tmp_path):
    index = make_index("Flat")[0]
    save(tmp_path / "passage", {"generation": 7}, {}, index)
    earlier = (tmp_path / "passage-7.safetensors").read_bytes()
    save(tmp_path / "passage", {"generation": 8}, {}, index)
    (tmp_path / "passage-7.safetensors").write_bytes(earlier)
    assert load(tmp_path / "passage").stamp == {"generation": 8}
    assert load(tmp_path / "passage", generation=7).stamp == {"generation": 7}
    assert load(tmp_path / "passage", generation=6) is None
    (tmp_path / "passage-8.safetensors").write_bytes(b"no")
    assert load(tmp_path / "passage").stamp == {"generation": 7}
    (tmp_path / "passage-9.safetensors").write_bytes(earlier)
    (tmp_path / "passage-7.safetensors").unlink()
    assert load(tmp_path / "passage") is None  # its name is not that of its generation


@pytest.mark.parametrize(
    "function", ["factoid.files.atomic.sync_file", "factoid.vectors.files.write_arrays"]
)
@pytest.mark.parametrize("kind", ["Flat", "SQ8"])
def test_a_cache_that_cannot_be_written_stays_as_it_was(tmp_path, kind, function, monkeypatch):
    def fail(*_, **__):
        raise OSError("no space")

    index, ids, _ = make_index(kind)
    save(tmp_path / "passage", STAMP, {}, index)
    monkeypatch.setattr(function, fail)
    with pytest.raises(OSError, match="no space"):
        save(tmp_path / "passage", {"generation": 43}, {}, index)
    loaded = load(tmp_path / "passage")
    assert loaded.stamp == STAMP
    same(loaded.vectors, index, ids)
    assert list(tmp_path.glob(".*")) == []


def rewrite(changes=None, /, **arrays):
    """Change the record, or arrays, as another version of this package might."""

    def damage(folder):
        file = folder / "passage-42.safetensors"
        record, before = read_arrays(file)
        content = {name: array.copy() for name, array in before.items()}
        with file.open("wb") as out:
            write_arrays(out, record | (changes or {}), content | arrays)

    return damage


def change(pattern, do):
    def damage(folder):
        (file,) = folder.glob(pattern)
        file.write_bytes(do(file.read_bytes()))

    return damage


def remove(pattern):
    def damage(folder):
        (file,) = folder.glob(pattern)
        file.unlink()

    return damage


FILES = ("passage-42.safetensors", "passage-42-*.faiss")
INDEX = {"kind": "SQ8", "similarity": "cosine", "dim": DIM}


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize(
    "damage",
    [
        *(remove(name) for name in FILES),
        *(change(name, lambda _, text=text: text) for name in FILES for text in (b"", b"{}" * 99)),
        *(change(name, lambda content, part=part: content[part]) for name in FILES for part in (slice(-100), slice(100, None))),
        change("passage-42-*.faiss", lambda content: content + b"x"),
        *(rewrite({"index": INDEX | wrong}) for wrong in ({"dim": 17}, {"kind": "nothing"}, {"similarity": "l2"}, {"parts": 2})),
        *(rewrite(record) for record in ({"format": 2}, {"index": 3}, {"faiss": {}}, {"stamp": {"generation": 41}})),
        *(rewrite({"index": INDEX | {"dim": dim}}) for dim in ("16", 0, -16, 1 << 62)),
        *(rewrite({"index": INDEX | {"kind": kind}}) for kind in ("HNSW16", "SQ4", "IVF4000000000,SQ8", "SQ8," * 99)),
        *(rewrite(ids=np.arange(count)) for count in (0, 3, 99_999)),
        rewrite(ids=np.arange(9, dtype=np.int32)),
    ],
)  # fmt: skip
def test_a_cache_that_cannot_be_trusted_counts_as_missing_with_one_line(
    tmp_path, caplog, damage, mmap
):
    caplog.set_level("INFO")
    save(tmp_path / "passage", STAMP, {"rows": np.arange(9)}, make_index("SQ8", "cosine")[0])
    damage(tmp_path)
    assert load(tmp_path / "passage", mmap=mmap) is None
    assert len([message for message in caplog.messages if "it is built" in message]) == 1


@pytest.mark.parametrize("shape", [(2, DIM), (1, DIM), (3200, 1), (3200,)])
def test_vectors_of_another_shape_are_not_taken(tmp_path, shape):
    save(tmp_path / "passage", STAMP, {}, make_index("Flat")[0])
    assert load_index(tmp_path / "passage", vectors=lambda _: np.ones(shape, np.float32)) is None
    assert load_index(tmp_path / "passage") is None


@pytest.mark.filterwarnings("ignore")  # NumPy's, about headers
@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("kind", ["Flat", "HNSW16", "IVF32,SQ8"])
def test_a_flipped_bit_is_noticed_or_does_not_matter(tmp_path, kind, mmap):
    index, ids, _ = make_index(kind)
    rows = np.arange(9999).reshape(3333, 3)
    save(tmp_path / "passage", STAMP, {"rows": rows}, index)
    for file in index_files(tmp_path / "passage"):
        whole = file.read_bytes()
        headers = range(0, 128, 3)
        for place in [
            *headers,
            *range(-300, 0, 7),
            *np.random.default_rng(3).integers(0, len(whole), 50),
        ]:
            content = bytearray(whole)
            content[place] ^= 1 << place % 8
            file.write_bytes(content)
            loaded = load(tmp_path / "passage", mmap=mmap)
            assert loaded is None or file.suffix == ".safetensors"
            if loaded is not None:  # white space
                assert np.array_equal(loaded.arrays["rows"], rows)
                same(loaded.vectors, index, ids)
        file.write_bytes(whole)
    assert load(tmp_path / "passage", mmap=mmap) is not None


WRITER = """
import sys
from contextlib import suppress
from pathlib import Path
import numpy as np
from factoid.vectors import VectorIndex, save
number = int(sys.argv[3])
index = VectorIndex(8, kind=sys.argv[2])
index.add(np.arange(500) + number, np.full((500, 8), number, np.float32))
for _ in range(40):
    with suppress(FileNotFoundError):  # the other writer removes what is of an earlier generation
        save(Path(sys.argv[1]), {"generation": number}, {"rows": np.full(99, number)}, index)
"""


@pytest.mark.parametrize(("kind", "mmap"), [("SQfp16", False), ("SQfp16", True)])
def test_a_reader_beside_several_writers_never_sees_a_mixture(tmp_path, kind, mmap):
    path = tmp_path / "passage"
    command = [sys.executable, "-c", WRITER, str(path), kind]
    writers = [subprocess.Popen([*command, str(number)]) for number in (1, 2)]
    seen = set()
    while any(writer.poll() is None for writer in writers):
        if loaded := load(path, mmap=mmap):
            scores, ids = loaded.vectors.search(np.ones((1, 8), np.float32), 1)
            seen.add(
                (
                    loaded.stamp["generation"],
                    scores[0, 0] / 8,
                    ids[0, 0],
                    *set(loaded.arrays["rows"].tolist()),
                )
            )
    assert [writer.wait() for writer in writers] == [0, 0]
    assert seen
    assert seen <= {(1,) * 4, (2,) * 4}
