"""Several queries in one call, neighbours, and the granularity that is searched by default."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.documents import Document

from factoid.errors import InvalidInputError
from factoid.units import Granularity
from langchain_factoid import MultiGranularFAISS, MultiGranularRetriever
from tests.langchain.documents import GRANULARITIES, SENTENCES

QUERIES = ["Which parrot cannot fly?", "eyes", "seas of methane", "zzz", "eyes"]
LONG = Document(id="long", page_content=" ".join(f"Fact number{n} stands in line{n}." for n in range(9)))


@pytest.mark.parametrize("granularity", [*GRANULARITIES, "mixed"])
async def test_batches_give_what_single_queries_do(filled: MultiGranularFAISS, granularity: str) -> None:
    options: dict[str, Any] = {"k": 2, "granularity": granularity, "filter": {"year": {"$gt": 1700}}}
    names = [
        ("similarity_search_batch", "similarity_search"),
        ("similarity_search_batch_with_score", "similarity_search_with_score"),
        ("similarity_search_units_batch", "similarity_search_units"),
    ]
    for together, single in names:
        expected = [getattr(filled, single)(query, **options) for query in QUERIES]
        assert getattr(filled, together)(QUERIES, **options) == expected
        assert await getattr(filled, f"a{together}")(QUERIES, **options) == expected
        assert getattr(filled, together)([], **options) == await getattr(filled, f"a{together}")([], **options) == []
        with pytest.raises(InvalidInputError, match="list of queries"):
            getattr(filled, together)("eyes")
        with pytest.raises(InvalidInputError, match="query must be a str"):
            await getattr(filled, f"a{together}")(["eyes", None])


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
        (unit,) = store.similarity_search_units("number3", k=1)
        assert unit.metadata["granularity"] == expected
        (found,) = MultiGranularRetriever(store=store).invoke("number3")
        assert found.metadata["matches"][0]["granularity"] == expected
        assert store.similarity_search("number3") == [LONG]
        assert store.max_marginal_relevance_search("number3") == [LONG]
        assert store.as_retriever().invoke("number3") == [LONG]
        assert [document for document, _ in store.similarity_search_with_relevance_scores("number3")] == [LONG]


def texts(metadata: dict[str, Any]) -> list[str]:
    return [neighbour["text"] for neighbour in metadata["neighbours"]]


@pytest.mark.parametrize("granularity", ["sentence", "proposition"])
async def test_neighbours(embedding: Any, granularity: str) -> None:
    lines = [f"Fact number{n} stands in line{n}." for n in range(9)]
    options: dict[str, Any] = {"k": 1, "granularity": granularity}
    with MultiGranularFAISS.from_documents([LONG], embedding, propositionizer=SENTENCES) as store:
        for place, count, expected in ((4, 1, lines[3:6]), (0, 2, lines[:3]), (8, 2, lines[6:]), (4, 99, lines)):
            (unit,) = store.similarity_search_units(f"number{place} line{place}", expand=count, **options)
            assert texts(unit.metadata) == expected
            (own,) = store.similarity_search_units(f"number{place} line{place}", **options)
            assert "neighbours" not in own.metadata
        first = unit.metadata["neighbours"][0]
        assert LONG.page_content[first["start_index"] : first["end_index"]] == first["text"] == lines[0]
        [(document, _, matches)] = store.similarity_search_with_matches("number1", expand=1, **options)
        assert texts(matches[0].metadata) == lines[:3]
        every = [line for line in lines if any(line in texts(match.metadata) for match in matches)]
        assert texts(document.metadata) == every
        assert document.page_content == LONG.page_content
        for returns in ("parents", "units"):
            retriever = MultiGranularRetriever(store=store, returns=returns, expand=1, **options)
            (found,) = retriever.invoke("number1")
            assert texts(found.metadata) == (every if returns == "parents" else lines[:3])
            assert await retriever.ainvoke("number1") == [found]
        assert store.similarity_search("number1", granularity="passage", expand=1) == [LONG]  # it stands alone
        assert set(lines[:3]) <= set(
            texts(store.similarity_search("number1", granularity="mixed", expand=1)[0].metadata)
        )
        with pytest.raises(InvalidInputError, match="expand"):
            store.similarity_search("number1", expand=-1)
