"""An encoder that encodes each text once.

Vectors are kept in a folder, so that a killed run goes on.
"""

from __future__ import annotations

import hashlib
import io
import time
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from factoid.encode import Encoder, Vectors, to_matrix, token_vector_encoder
from factoid.errors import UnreadableFileError
from factoid.files.atomic import write_file
from factoid.progress import progress_bar

_BLOCK = 512  # texts in a file; a kill loses at most these


class VectorCache:
    """An encoder beside the vectors of earlier runs.

    Args:
        encoder: Encodes what is new. Its name is part of every key.
        folder: Holds an `.npz` for each block of texts, with their hashes; None to keep nothing
            after the process.
        progress: Whether to show a bar, as `factoid.progress` does.

    Raises:
        UnreadableFileError: A file in the folder is damaged.
    """

    def __init__(
        self, encoder: Encoder, folder: Path | None = None, *, progress: bool | None = False
    ) -> None:
        self.name = str(getattr(encoder, "name", type(encoder).__name__))
        self.encoder = encoder
        self._folder = folder
        self._progress = progress
        self._vectors: dict[bytes, Vectors] = {}
        self._seconds: dict[bytes, float] = {}
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            for path in sorted(folder.glob("*.npz")):
                self._read(path)

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of queries. Shape: (len(texts), dim)."""
        return self._encode("query", texts, self.encoder.encode_queries)

    def encode_units(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of units. Shape: (len(texts), dim)."""
        return self._encode("unit", texts, self.encoder.encode_units)

    def seconds(self, texts: Sequence[str]) -> float:
        """Return how long it took to encode some distinct units, in this run or an earlier one."""
        keys = {self._key("unit", text) for text in texts}
        seconds = 0.0
        for key in keys:
            seconds += self._seconds.get(key, 0.0)
        return seconds

    def encode_query_tokens(self, texts: Sequence[str]) -> list[Vectors]:
        """Return the encoder's vectors of tokens, which are not kept.

        Shape of each: (tokens, dim).
        """
        return token_vector_encoder(self.encoder).encode_query_tokens(texts)

    def encode_unit_tokens(self, texts: Sequence[str]) -> list[Vectors]:
        """Return the encoder's vectors of tokens, which are not kept.

        Shape of each: (tokens, dim).
        """
        return token_vector_encoder(self.encoder).encode_unit_tokens(texts)

    def _key(self, side: str, text: str) -> bytes:
        return hashlib.sha256("\0".join((self.name, side, text)).encode()).digest()[:16]

    def _encode(
        self, side: str, texts: Sequence[str], encode: Callable[[Sequence[str]], Vectors]
    ) -> Vectors:
        keys = []
        new = {}
        for text in texts:
            key = self._key(side, text)
            keys.append(key)
            if key not in self._vectors:
                new[key] = text
        # By length, so that a block holds texts that are padded alike.
        order = sorted(new, key=lambda key: len(new[key]))
        with progress_bar(
            show=self._progress, unit=" texts", total=len(order), desc=f"encoding ({self.name})"
        ) as bar:
            for start in range(0, len(order), _BLOCK):
                block = order[start : start + _BLOCK]
                began = time.perf_counter()
                texts_of_block = [new[key] for key in block]
                vectors = to_matrix(encode(texts_of_block), len(block))
                seconds = (time.perf_counter() - began) / len(block)
                self._keep(block, vectors, [seconds] * len(block))
                self._write(block, vectors, seconds)
                bar.update(len(block))
        if not keys:
            return np.zeros((0, 0), np.float32)
        return np.stack([self._vectors[key] for key in keys])

    def _keep(self, keys: Sequence[bytes], vectors: Vectors, seconds: Sequence[float]) -> None:
        self._vectors.update(zip(keys, vectors, strict=True))
        self._seconds.update(zip(keys, seconds, strict=True))

    def _read(self, path: Path) -> None:
        try:
            with np.load(path, allow_pickle=False) as data:
                keys = [row.tobytes() for row in data["keys"]]
                self._keep(keys, data["vectors"], data["seconds"].tolist())
        except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile) as error:
            raise UnreadableFileError(
                f"{path} holds no vectors of an earlier run: delete it, or name another cache"
            ) from error

    def _write(self, keys: Sequence[bytes], vectors: Vectors, seconds: float) -> None:
        if self._folder is None:
            return
        joined = b"".join(keys)
        name = hashlib.sha256(joined).hexdigest()[:16]
        arrays = {
            "keys": np.frombuffer(joined, np.uint8).reshape(len(keys), -1),
            "vectors": vectors,
            "seconds": np.full(len(keys), seconds),
        }
        content = io.BytesIO()
        np.savez(content, **arrays)  # type: ignore[arg-type]
        write_file(self._folder / f"{name}.npz", lambda out: out.write(content.getvalue()))
