"""The multi-granular store: units and their vectors on disk, searched at any granularity."""

from __future__ import annotations

from collections.abc import Sequence

from factoid.errors import InvalidInputError
from factoid.filters import Filter
from factoid.propositions import PropositionCache
from factoid.store.keeping import StoreKeeper
from factoid.store.transaction import transaction
from factoid.units import Metadata


class UnitStore(StoreKeeper):
    """Passages, sentences and propositions with their vectors; a context manager.

    Args:
        path: The store's folder, made if absent; None keeps everything in memory.
        encoder: Encodes units and queries; None where the caller gives all vectors.
        granularities: What is encoded and can be searched. Passages are always kept, to be returned as parents. None for
            what the store has vectors of, and all for an empty one.
        index: The kind of index, a FAISS factory string such as "Flat", "HNSW32" or "IVF1024,SQ8", or one for each
            granularity in a dict; "auto" goes by the number of vectors (see `factoid.index.choose_kind`). None for what
            the store was told before, else "auto". Compressed kinds are refined with the exact vectors.
        similarity: "inner_product" or "cosine"; None for what the store was told before, else inner product.
        shards: Cut each index into parts that are searched side by side (Dense X Retrieval, Appendix C, has 8).
        dtype: How vectors are kept on disk, "float32" or, in half the space, "float16"; chosen when the store is made.
        device: Where indexes are searched: "cpu", "cuda", "cuda:1", or a list of GPUs that share the work.
        gpu_shard: Several GPUs hold a part of each index instead of a copy, for indexes that are too large for one.
        gpu_float16: GPUs hold exact indexes in half precision; hits are scored again with the exact vectors.
        mmap: Leave the index files on disk, and read only what a search touches.
        read_only: Refuse writes and leave the folder untouched; it may lie on a read-only disk.

    Raises:
        InvalidInputError: A setting that is unknown, or a dtype other than that of a store that is not empty.
        StoreFormatError: The path holds something that is not a store of this version, or a damaged one.
        EncoderMismatchError: The store was built by another encoder.
    """

    def delete(
        self,
        ids: Sequence[str] | None = None,
        *,
        unit_ids: Sequence[str] | None = None,
        filter: Filter | None = None,  # noqa: A002 - as in search
    ) -> int:
        """Delete documents with all their units, or units by id with those under them; unknown ids are ignored.

        What a costly propositionizer made of their passages stays in the store's cache: `clear` deletes that, too.

        Args:
            ids: Of documents or units; None with one of the others.
            unit_ids: Of units only, in place of ids: where documents and units may have the same ids.
            filter: Delete the units whose metadata pass, in place of ids; a document goes with its last unit.

        Returns:
            The number of units deleted.

        Raises:
            InvalidInputError: None of them, or several; a filter without any condition.
        """
        given = {"ids": ids, "unit_ids": unit_ids, "filter": filter}
        if sum(each is not None for each in given.values()) != 1 or isinstance(ids, str) or isinstance(unit_ids, str):
            told = ", ".join(f"{name}={each!r}" for name, each in given.items() if each is not None) or "nothing"
            message = f"delete takes a list of ids, or unit_ids or a filter in its place, got {told}"
            raise InvalidInputError(message)
        with transaction(self._connections) as writing:
            if ids is not None:
                return writing.remove(ids)
            rows = writing.rows_under(unit_ids) if unit_ids is not None else writing.rows_passing(_condition(filter))
            writing.remove_rows(rows)
            return len(rows)

    def update_metadata(
        self,
        changes: Metadata,
        *,
        ids: Sequence[str] | None = None,
        filter: Filter | None = None,  # noqa: A002 - as in search
    ) -> int:
        """Set keys of the metadata of documents with all their units, or of units with those under them.

        Args:
            changes: Keys and their new values; others stay as they are.
            ids: Of documents or units; None with a filter.
            filter: Change the units whose metadata pass, in place of ids.

        Returns:
            The number of units changed.

        Raises:
            InvalidInputError: Neither ids nor a filter, or both; a filter without any condition; metadata that JSON would
                change.
        """
        if (ids is None) == (filter is None) or isinstance(ids, str):
            message = f"give a list of ids, or a filter in their place, got ids={ids!r} and filter={filter!r}"
            raise InvalidInputError(message)
        with transaction(self._connections) as writing:
            rows = writing.chosen_rows(ids) if ids is not None else writing.rows_passing(_condition(filter))
            writing.describe(rows, changes)
            return len(rows)

    def clear(self) -> None:
        """Delete everything, the cache of propositions included; the store may then be filled by another encoder."""
        with transaction(self._connections) as writing:
            writing.clear()

    def retry_failures(self) -> int:
        """Have documents with failed passages decomposed again when they are added next, the failures forgotten.

        What failed is kept like any result, since a model would mostly fail again: use this when something else has
        changed. A shared cache is to be told with `PropositionCache.forget(failures=True)`.

        Returns:
            The number of those documents.
        """
        with transaction(self._connections) as writing:
            failed = writing.forget_failures()
        if self.path is not None:
            with PropositionCache(self.path) as cache:
                cache.forget(failures=True)
        return failed


def _condition(condition: Filter | None) -> Filter:
    """Refuse a filter that says nothing: `clear` is there to delete everything."""
    if condition is None or (not callable(condition) and not condition):
        message = "this filter has no condition: clear() deletes everything"
        raise InvalidInputError(message)
    return condition
