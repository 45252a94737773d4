"""One FAISS index: exact inner product (Dense X Retrieval, Appendix C) over vectors that carry their row ids.

On disk it is a cache of the database: `<granularity>.faiss` and, beside it, a manifest with the generation it was built
from, its size and its checksum. A cache that does not fit its manifest is treated as missing.
"""

from __future__ import annotations

import hashlib
import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from factoid._optional import require
from factoid.encode import Vectors
from factoid.errors import EncoderMismatchError

FORMAT = 1

RowIds = NDArray[np.int64]

# Up to this share of all vectors, a selection is copied out and searched by itself: FAISS would walk past all the others.
_FEW = 0.1

logger = logging.getLogger(__name__)


def _faiss() -> Any:
    return require("faiss", extra="cpu")


class VectorIndex:
    """Vectors under row ids, searched exactly.

    Args:
        dim: Number of components of every vector.
    """

    def __init__(self, dim: int, *, _index: Any = None) -> None:
        faiss = _faiss()
        self.dim = dim
        self._index = faiss.IndexIDMap2(faiss.IndexFlatIP(dim)) if _index is None else _index

    def __len__(self) -> int:
        return int(self._index.ntotal)

    def add(self, ids: RowIds, vectors: Vectors) -> None:
        """Add vectors. Shapes: ids (n,), vectors (n, dim)."""
        self._check(vectors)
        if len(ids):
            self._index.add_with_ids(np.ascontiguousarray(vectors, dtype=np.float32), ids)

    def remove(self, ids: RowIds) -> None:
        """Remove the vectors of these ids; ids that are not there are ignored."""
        if len(ids):
            self._index.remove_ids(_faiss().IDSelectorBatch(np.sort(ids)))

    def search(self, queries: Vectors, k: int, *, allowed: RowIds | None = None) -> tuple[Vectors, RowIds]:
        """Return the k best vectors for each query, best first.

        Args:
            queries: Shape: (n, dim).
            k: How many, at least 1.
            allowed: Only these ids take part; None for all.

        Returns:
            Scores and ids. Shapes: (n, min(k, candidates)) both.
        """
        self._check(queries)
        if not np.isfinite(queries).all():
            message = "the vector of a query is not finite: the encoder failed on it"
            raise EncoderMismatchError(message)
        candidates = len(self) if allowed is None else len(allowed)
        k = min(k, candidates)
        if k == 0:
            return np.empty((len(queries), 0), np.float32), np.empty((len(queries), 0), np.int64)
        queries = np.ascontiguousarray(queries, dtype=np.float32)
        if allowed is not None and len(allowed) <= len(self) * _FEW:
            found = self._search_few(queries, k, allowed)
            if found is not None:
                return found
        faiss = _faiss()
        parameters = None if allowed is None else faiss.SearchParameters(sel=faiss.IDSelectorBatch(allowed))
        scores, ids = self._index.search(queries, k, params=parameters)
        return scores, ids

    def _search_few(self, queries: Vectors, k: int, allowed: RowIds) -> tuple[Vectors, RowIds] | None:
        """Search a small selection by itself, or return None if an id is not there."""
        faiss = _faiss()
        try:
            vectors = self._index.reconstruct_batch(allowed)
        except RuntimeError:
            return None
        scores, positions = faiss.knn(queries, vectors, k, metric=faiss.METRIC_INNER_PRODUCT)
        return scores, allowed[positions]

    def save(self, path: Path, *, generation: int) -> None:
        """Write the index and its manifest; a crash at any moment leaves the old pair or one that is rebuilt."""
        part = path.with_suffix(".faiss.part")
        _faiss().write_index(self._index, str(part))
        manifest = {
            "format": FORMAT,
            "generation": generation,
            "dim": self.dim,
            "count": len(self),
            "sha256": _digest(part),
        }
        part.replace(path)
        manifest_part = path.with_suffix(".json.part")
        manifest_part.write_text(json.dumps(manifest), encoding="utf-8")
        manifest_part.replace(path.with_suffix(".json"))

    @classmethod
    def load(cls, path: Path, *, generation: int) -> VectorIndex | None:
        """Read the cache of this generation, or return None where there is none that can be trusted."""
        try:
            manifest = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
            stamp = (manifest["format"], manifest["generation"])
            if stamp != (FORMAT, generation) or manifest["sha256"] != _digest(path):
                logger.info("%s is stale: it is built again from the database", path)
                return None
            index = _faiss().read_index(str(path))
            if manifest["dim"] != index.d:
                logger.warning("%s is not what its manifest says: it is built again from the database", path)
                return None
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, RuntimeError) as error:
            logger.warning("%s cannot be read (%s): it is built again from the database", path, error)
            return None
        return cls(index.d, _index=index)

    def _check(self, vectors: Vectors) -> None:
        if vectors.ndim != 2 or vectors.shape[1] != self.dim:
            message = f"expected vectors of {self.dim} dimensions, got shape {vectors.shape}: was another encoder used?"
            raise EncoderMismatchError(message)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
