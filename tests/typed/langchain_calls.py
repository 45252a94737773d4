"""Calls that a type checker must understand, and, in lines that end in `# wrong`, those that it must refuse."""

from __future__ import annotations

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from factoid import AnyGranularityRanker, UnitStore, Weights
from langchain_factoid import AnyGranularityReranker, MultiGranularFAISS, MultiGranularRetriever


def calls(embeddings: Embeddings, ranker: AnyGranularityRanker, core: UnitStore) -> list[Document]:
    store = MultiGranularFAISS(
        embeddings, path="facts", similarity="cosine", words=80, source_key="url", read_only=False
    )
    MultiGranularFAISS(embeddings, pth="facts")  # wrong
    MultiGranularFAISS.from_texts(["A text."], embeddings, ids=["1"], path="facts", parents="passage")
    MultiGranularFAISS.load_local("facts", embeddings, "name", allow_dangerous_deserialization=True, parents="unit")
    retriever = MultiGranularRetriever(
        store=store, k=3, min_score=0.2, weights=Weights(0.4, 0.2), expand=1, document_ids=["a"], rerank=ranker
    )
    MultiGranularRetriever(store=store, search_kwargs={"k": 3})
    MultiGranularRetriever(store=store, granularty="sentence")  # wrong
    MultiGranularRetriever(store=store, min_score="much")  # wrong
    AnyGranularityReranker(ranker=ranker, top_n=1)
    AnyGranularityReranker(ranker=ranker, granularty="sentence")  # wrong
    found = store.similarity_search("question", k=3, min_score=0.2, filter={"year": 1}, score_threshold=0.1, fetch_k=9)
    store.similarity_search("question", min_scor=0.2)  # wrong
    store.similarity_search_with_score_by_vector([0.1], k=3, expand=1)
    store.max_marginal_relevance_search("question", k=3, fetch_k=9, lambda_mult=0.3, granularity="mixed")
    store.max_marginal_relevance_search_with_score_by_vector([0.1], k=3, fetch_k=9, lambda_mult=0.3)
    core.search("question", k=3, lexical=0.2, parents="document", fetch_k=9)
    core.search("question", lexicl=0.2)  # wrong
    return [*found, *retriever.invoke("question")]
