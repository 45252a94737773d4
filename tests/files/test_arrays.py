"""Files of arrays: there and back, readable by safetensors, and refused when anything in them is
not as written.
"""

from __future__ import annotations

import json
import random
from unittest.mock import Mock

import numpy as np
import pytest

from factoid.files.arrays import ChangedPieceError, InPieces, read_arrays, write_arrays

ARRAYS = {
    "rows": np.arange(12, dtype=np.int64).reshape(3, 4),
    "keys": np.array([1, 1 << 63], np.uint64),
    "counts": np.arange(7, dtype=np.uint8),
    "texts": np.arange(5, dtype=np.int32),
    "vectors": np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3),
    "nothing": np.empty((0, 3), np.float32),
}
FACTS = {"generation": 3, "language": "é"}


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "a.safetensors"
    with file.open("wb") as out:
        write_arrays(out, FACTS, ARRAYS)
    return file


def test_arrays_come_back_mapped_and_aligned(path):
    facts, arrays = read_arrays(path)
    assert facts == FACTS
    assert arrays.keys() == ARRAYS.keys()
    for name, array in arrays.items():
        assert (array.dtype, array.shape) == (ARRAYS[name].dtype, ARRAYS[name].shape)
        np.testing.assert_array_equal(array, ARRAYS[name])
        assert not array.flags.writeable
        assert array.flags.aligned
    with path.open("rb+") as file:  # the memory is that of the file
        file.seek(-1, 2)
        file.write(b"\x99")
    assert 0x99 in [array.reshape(-1).view(np.uint8)[-1] for array in arrays.values() if array.size]


def test_a_disk_that_cannot_map_files_is_read(path, monkeypatch):
    monkeypatch.setattr(np, "memmap", Mock(side_effect=OSError(19, "No such device")))
    arrays = read_arrays(path).arrays
    assert all(np.array_equal(arrays[name], ARRAYS[name]) for name in ARRAYS)


def test_safetensors_reads_the_same(path):
    reader = pytest.importorskip("safetensors.numpy")
    arrays = reader.load_file(path)
    assert arrays.keys() == ARRAYS.keys()
    assert all(np.array_equal(arrays[name], ARRAYS[name]) for name in arrays)


def test_no_bit_can_change_unnoticed(path):
    content = path.read_bytes()
    chance = random.Random(0)
    places = [*range(64), *(chance.randrange(len(content)) for _ in range(400))]
    padding = content.index(b"}}", 8) + 2
    data = 8 + int.from_bytes(content[:8], "little")
    for place in places:
        if padding <= place < data:
            continue  # white space after the header means nothing
        damaged = bytearray(content)
        damaged[place] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged)
        with pytest.raises(ValueError):
            read_arrays(path)
    for cut in (0, 1, 8, 9, 100, len(content) - 1):
        path.write_bytes(content[:cut])
        with pytest.raises(ValueError):
            read_arrays(path)
    path.write_bytes(content + b"\0")
    with pytest.raises(ValueError, match="another size"):
        read_arrays(path)


@pytest.fixture
def in_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr("factoid.files.arrays._PIECE", 8)
    file = tmp_path / "pieces.safetensors"
    with file.open("wb") as out:
        write_arrays(
            out,
            FACTS,
            ARRAYS | {"counts": np.arange(60, dtype=np.uint8)},
            in_pieces=["texts", "counts"],
        )
    return file


def test_arrays_in_pieces_come_back(in_pieces):
    at_once = read_arrays(in_pieces).arrays
    later = read_arrays(in_pieces, later=True).arrays
    assert [name for name, array in later.items() if isinstance(array, InPieces)] == [
        "texts",
        "counts",
    ]
    for name, array in later.items():
        assert (len(array), array.dtype, array.ndim) == (
            len(at_once[name]),
            at_once[name].dtype,
            at_once[name].ndim,
        )
        np.testing.assert_array_equal(array[0 : len(array)], at_once[name])
    np.testing.assert_array_equal(later["counts"][7:9], [7, 8])
    np.testing.assert_array_equal(later["counts"][60:60], [])


@pytest.mark.parametrize("place", range(60))
def test_a_changed_piece_is_noticed_when_it_is_read(in_pieces, place):
    content = bytearray(in_pieces.read_bytes())
    content[len(content) - 60 + place] ^= 4
    in_pieces.write_bytes(content)
    with pytest.raises(ValueError, match="counts has changed"):
        read_arrays(in_pieces)
    counts = read_arrays(in_pieces, later=True).arrays["counts"]
    first = place // 8 * 8  # of the piece
    np.testing.assert_array_equal(counts[0:first], np.arange(first))
    behind = min(first + 8, 60)
    np.testing.assert_array_equal(counts[behind:60], np.arange(behind, 60))
    for _ in range(2):
        with pytest.raises(ChangedPieceError, match="counts has changed"):
            counts[place : place + 1]


@pytest.mark.parametrize("checksums", [[], [0] * 7, [0] * 9])
def test_every_piece_has_a_checksum(in_pieces, monkeypatch, checksums):
    monkeypatch.setattr("factoid.files.arrays._checksum", lambda _: 0)
    content = in_pieces.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    about = header["__metadata__"]
    written = json.loads(about["checksums"])
    about |= {"checksum": "0", "checksums": json.dumps(written | {"counts": checksums})}
    in_pieces.write_bytes(hostile(header, content[8 + length :]))
    with pytest.raises(ValueError, match="not a checksum for each piece"):
        read_arrays(in_pieces, later=True)


def hostile(header, data=b""):
    encoded = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(encoded).to_bytes(8, "little") + encoded + data


@pytest.mark.parametrize(
    "content",
    [
        b"\xff" * 8,
        hostile(b"[" * 500_000),
        hostile(b'{"a":' * 150_000),
        hostile([]),
        hostile({}),
        hostile({"__metadata__": 3}),
        hostile({"__metadata__": {}}),
        hostile({"__metadata__": {"facts": "{}", "checksums": "{}", "checksum": "0"}}),
    ],
)
def test_foreign_and_hostile_headers_are_refused(path, content):
    path.write_bytes(content)
    with pytest.raises(ValueError):
        read_arrays(path)


@pytest.mark.parametrize(
    "place",
    [
        {"shape": [1 << 60]},
        {"shape": [1 << 62, 4]},
        {"shape": [-1]},
        {"shape": [1.5]},
        {"shape": "12"},
        {"shape": [True, 12]},
        {"shape": [3, 4], "data_offsets": [8, 104]},
        {"shape": [3, 4], "data_offsets": [-96, 0]},
        {"dtype": "O"},
        {"dtype": "F64"},
        {"shape": [1] * 100},
    ],
)
def test_impossible_arrays_are_refused_whatever_their_checksum(path, place, monkeypatch):
    """A stranger can write right checksums: nothing may be read outside the file, and no memory
    taken.
    """
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    header["rows"] |= place
    monkeypatch.setattr("factoid.files.arrays._checksum", lambda _: 0)
    monkeypatch.setattr("factoid.files.arrays._crc32", lambda _: 0)
    header["__metadata__"] |= {"checksum": "0", "checksums": json.dumps(dict.fromkeys(ARRAYS, 0))}
    path.write_bytes(hostile(header, content[8 + length :]))
    with pytest.raises((ValueError, KeyError)):
        read_arrays(path)


def test_only_known_numbers_are_written(tmp_path):
    with (
        (tmp_path / "a").open("wb") as out,
        pytest.raises(TypeError, match="cannot write an array of object"),
    ):
        write_arrays(out, {}, {"a": np.array([{}], object)})
