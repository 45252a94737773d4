from __future__ import annotations

from typing import Any

import pytest
from langchain_core.documents import Document

from factoid.errors import InvalidInputError
from factoid.units import Granularity
from langchain_factoid import MultiGranularFAISS, MultiGranularRetriever
from tests.langchain.documents import SENTENCES

LONG = Document(id="long", page_content=" ".join(f"Fact number{n} stands in line{n}." for n in range(9)))


@pytest.mark.parametrize(
    ("granularities", "expected"),
    [
        (None, "proposition"),
        (("sentence", "passage"), "sentence"),
        (("passage",), "passage"),
        (("passage", "proposition"), "proposition"),
    ],
)
def test_the_finest_granularity_is_searched_by_default(embedding: Any, granularities: Any, expected: str) -> None:
    options: dict[str, Any] = {"granularities": granularities, "propositionizer": SENTENCES}
    with MultiGranularFAISS.from_documents([LONG], embedding, **options) as store:
        assert store.default_granularity is Granularity(expected)
        [unit] = store.similarity_search("number3", k=1, parents="unit")
        assert unit.metadata["granularity"] == expected
        assert store.similarity_search("number3") == [LONG]
        assert store.as_retriever().invoke("number3") == [LONG]
        assert [document for document, _ in store.similarity_search_with_relevance_scores("number3")] == [LONG]
        if expected != "proposition":
            with pytest.raises(InvalidInputError, match="no index of propositions"):
                store.similarity_search("number3", granularity="proposition")


def neighbours(document: Document) -> list[str]:
    return [neighbour["text"] for neighbour in document.metadata["neighbours"]]


@pytest.mark.parametrize("granularity", ["sentence", "proposition"])
async def test_neighbours(embedding: Any, granularity: str) -> None:
    lines = [f"Fact number{n} stands in line{n}." for n in range(9)]
    options: dict[str, Any] = {"k": 1, "granularity": granularity}
    with MultiGranularFAISS.from_documents([LONG], embedding, propositionizer=SENTENCES) as store:
        for place, count, expected in ((4, 1, lines[3:6]), (0, 2, lines[:3]), (8, 2, lines[6:]), (4, 99, lines)):
            [unit] = store.similarity_search(f"number{place} line{place}", expand=count, parents="unit", **options)
            assert neighbours(unit) == expected
        first = unit.metadata["neighbours"][0]
        assert LONG.page_content[first["start_index"] : first["end_index"]] == first["text"] == lines[0]
        [document] = store.similarity_search("number1", expand=1, **options)
        assert set(neighbours(document)) >= set(lines[:3])
        assert document == LONG
        for parents in ("document", "passage", "unit"):
            retriever = MultiGranularRetriever(store=store, parents=parents, expand=1, **options)
            [retrieved] = retriever.invoke("number1")
            assert neighbours(retrieved) == (lines[:3] if parents == "unit" else neighbours(document))
            assert await retriever.ainvoke("number1") == [retrieved]
        with pytest.raises(InvalidInputError, match="expand"):
            store.similarity_search("number1", expand=-1)
