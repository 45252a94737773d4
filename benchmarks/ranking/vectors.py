"""An encoder that keeps what it has encoded in a folder, text by text, so that other weights and templates cost little."""

from __future__ import annotations

import hashlib
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from factoid.encode import Encoder, Vectors

_BLOCK = 2000  # texts in a file; what a killed run loses at most


class CachedEncoder:
    """An encoder beside the vectors of an earlier run.

    Args:
        encoder: Encodes what is new. Its name is part of every key.
        folder: Holds an `.npz` for each block of texts, with their hashes; None to keep nothing.
    """

    def __init__(self, encoder: Encoder, folder: Path | None) -> None:
        self.name = getattr(encoder, "name", type(encoder).__name__)
        self._encoder = encoder
        self._folder = folder
        self._vectors: dict[bytes, Vectors] = {}
        self._lock = threading.Lock()
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            for path in sorted(folder.glob("*.npz")):
                self._read(path)

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        return self._encode("query", texts, self._encoder.encode_queries)

    def encode_units(self, texts: Sequence[str]) -> Vectors:
        return self._encode("unit", texts, self._encoder.encode_units)

    def _encode(self, side: str, texts: Sequence[str], encode: Callable[[Sequence[str]], Vectors]) -> Vectors:
        keys = [hashlib.sha256("\0".join((self.name, side, text)).encode()).digest()[:16] for text in texts]
        with self._lock:
            new = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._vectors}
            # by length, so that a block holds texts that are padded alike
            order = sorted(new, key=lambda key: len(new[key]))
            for start in range(0, len(order), _BLOCK):
                block = order[start : start + _BLOCK]
                vectors = encode([new[key] for key in block])
                self._vectors.update(zip(block, vectors, strict=True))
                self._write(block, vectors)
            return np.stack([self._vectors[key] for key in keys])

    def _read(self, path: Path) -> None:
        with np.load(path) as data:
            keys = [row.tobytes() for row in data["keys"]]
            self._vectors.update(zip(keys, data["vectors"], strict=True))

    def _write(self, keys: Sequence[bytes], vectors: Vectors) -> None:
        if self._folder is None:
            return
        name = hashlib.sha256(b"".join(keys)).hexdigest()[:16]
        with tempfile.NamedTemporaryFile(dir=self._folder, suffix=".part", delete=False) as file:
            np.savez(file, keys=np.frombuffer(b"".join(keys), np.uint8).reshape(len(keys), -1), vectors=vectors)
        Path(file.name).rename(self._folder / f"{name}.npz")
