"""Filters under LangChain: what they let pass, against what the community's FAISS wrapper says of the same metadata."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.embeddings import DeterministicFakeEmbedding

from factoid.errors import InvalidInputError
from langchain_factoid import MultiGranularFAISS, MultiGranularRetriever
from tests.langchain.conftest import HashEmbeddings
from tests.langchain.documents import SENTENCES

VALUES: list[Any] = [None, True, False, 0, 1, 2, 1.0, 1.5, -3, "", "a", "b", "10", ["a"], ["a", "b"], [], {"x": 1}]
ROWS: list[dict[str, Any]] = [{}] + [{"k": value} for value in VALUES]
ROWS += [{"k": value, "other": place % 3} for place, value in enumerate(VALUES)] + [{"other": 1}]

_COMPARED = {
    "$eq": operator.eq,
    "$ne": operator.ne,
    "$neq": operator.ne,
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
    "$in": lambda value, values: value in values,
    "$nin": lambda value, values: value not in values,
}


def passes(condition: dict[str, Any], metadata: dict[str, Any]) -> bool:
    """Tell what passes, by the rules of the community's wrapper: a missing key is None, a list names alternatives.

    Where that wrapper fails or forgets: types that have no order do not pass, and all keys of a dict count.
    """
    return all(_passes(key, value, metadata) for key, value in condition.items())


def _passes(key: str, value: Any, metadata: dict[str, Any]) -> bool:
    if key == "$and":
        return all(passes(part, metadata) for part in value)
    if key == "$or":
        return any(passes(part, metadata) for part in value)
    if key == "$not":
        return not passes(value, metadata)
    stored = metadata.get(key)
    if isinstance(value, list):
        return stored in value or stored == value
    if isinstance(value, dict) and any(name.startswith("$") for name in value):
        return all(_compares(name, stored, operand) for name, operand in value.items())
    return bool(stored == value)


def _compares(name: str, stored: Any, operand: Any) -> bool:
    try:
        return bool(_COMPARED[name](stored, operand))
    except TypeError:
        return False


plain = st.sampled_from(VALUES)
ordered = st.sampled_from([value for value in VALUES if isinstance(value, int | float | str)])
comparisons = st.one_of(
    st.tuples(st.sampled_from(["$eq", "$ne", "$neq"]), plain),
    st.tuples(st.sampled_from(["$gt", "$gte", "$lt", "$lte"]), ordered),
    st.tuples(st.sampled_from(["$in", "$nin"]), st.lists(plain, max_size=4)),
)
on_key = st.one_of(plain, st.lists(plain, max_size=3), st.lists(comparisons, min_size=1, max_size=2).map(dict))
leaves = st.dictionaries(st.sampled_from(["k", "other"]), on_key, min_size=1, max_size=2)
conditions = st.recursive(
    leaves,
    lambda parts: st.one_of(
        st.fixed_dictionaries({"$and": st.lists(parts, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"$or": st.lists(parts, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"$not": parts}),
        st.fixed_dictionaries({"k": on_key, "$or": st.lists(parts, min_size=1, max_size=2)}),
    ),
    max_leaves=5,
)


@pytest.fixture(scope="module")
def rows() -> Iterator[MultiGranularFAISS]:
    options: dict[str, Any] = {"propositionizer": SENTENCES, "granularities": ("passage", "sentence")}
    with MultiGranularFAISS(DeterministicFakeEmbedding(size=4), **options) as store:
        store.add_texts([f"Row {n} is here." for n in range(len(ROWS))], ROWS, ids=[str(n) for n in range(len(ROWS))])
        yield store


@settings(deadline=None, max_examples=150)
@given(condition=conditions, granularity=st.sampled_from(["passage", "sentence", "mixed"]))
def test_filters_let_pass_what_the_reference_does(
    rows: MultiGranularFAISS, condition: dict[str, Any], granularity: str
) -> None:
    expected = {str(n) for n, metadata in enumerate(ROWS) if passes(condition, metadata)}
    found = rows.similarity_search("row", k=len(ROWS), filter=condition, granularity=granularity)
    assert len(found) == len(expected)
    assert {document.id for document in found} == expected
    few = rows.similarity_search("row", k=3, filter=condition, granularity=granularity)
    assert len(few) == min(3, len(expected))


def test_deleting_by_filter(embedding: HashEmbeddings) -> None:
    with MultiGranularFAISS(embedding, propositionizer=SENTENCES) as store:
        store.add_texts(["a one", "b two", "c three"], [{"n": 1}, {"n": 2}, {}], ids=["a", "b", "c"])
        store.delete()
        store.delete([])
        assert store.similarity_search("one", document_ids=[]) == store.get_by_ids([]) == []
        assert MultiGranularRetriever(store=store, search_kwargs={"document_ids": []}).invoke("one") == []
        with pytest.raises(InvalidInputError, match="clear"):
            store.delete(filter={})
        with pytest.raises(InvalidInputError):
            store.delete(["a"], filter={"n": 1})
        assert len(store.similarity_search("one")) == 3
        store.delete(filter=lambda metadata: metadata.get("n") == 1)
        store.delete(filter={"n": {"$gt": 1}})
        assert [document.id for document in store.similarity_search("one")] == ["c"]
