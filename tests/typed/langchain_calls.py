"""Calls that a type checker must understand, and, in lines that end in `# wrong`, those that it
must refuse.
"""

from __future__ import annotations

from typing import Any

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.runnables import Runnable

from factoid import AnyGranularityRanker, UnitStore, Weights
from langchain_factoid import (
    AnyGranularityReranker,
    EntityRetriever,
    MultiGranularFAISS,
    MultiGranularRetriever,
    PassageTextSplitter,
    PropositionTextSplitter,
)


def calls(
    embeddings: Embeddings, ranker: AnyGranularityRanker, core: UnitStore, llm: Runnable[Any, Any]
) -> list[Document]:
    store = MultiGranularFAISS(
        embeddings, path="facts", similarity="cosine", words=80, source_key="url", read_only=False
    )
    MultiGranularFAISS(embeddings, pth="facts")  # wrong
    MultiGranularFAISS.from_texts(
        ["A text."], embeddings, ids=["1"], path="facts", parents="passage"
    )
    MultiGranularFAISS.load_local(
        "facts", embeddings, "name", allow_dangerous_deserialization=True, parents="unit"
    )
    retriever = MultiGranularRetriever(
        store=store,
        k=3,
        min_score=0.2,
        weights=Weights(0.4, 0.2),
        expand=1,
        document_ids=["a"],
        rerank=ranker,
    )
    MultiGranularRetriever(store=store, search_kwargs={"k": 3})
    MultiGranularRetriever(store=store, granularty="sentence")  # wrong
    MultiGranularRetriever(store=store, min_score="much")  # wrong
    PassageTextSplitter(words=80, progress=True)
    PassageTextSplitter(chunk_size=80)  # wrong
    PropositionTextSplitter(unsupported="keep", words=80)
    PropositionTextSplitter.from_llm(
        llm, max_concurrency=4, words=80, cache="facts", progress=False
    )
    PropositionTextSplitter.from_llm(llm, max_concurency=4)  # wrong
    EntityRetriever.from_documents([Document("A text.")], title_key="name", k=2, hybrid=True)
    EntityRetriever.from_documents([Document("A text.")], title_kye="name")  # wrong
    EntityRetriever(articles="articles", wrds=9)  # wrong
    MultiGranularFAISS(embeddings, embed_metadata=["product"], progress=False, parents="auto")
    AnyGranularityReranker(ranker=ranker, top_n=1)
    AnyGranularityReranker(ranker=ranker, granularty="sentence")  # wrong
    found = store.similarity_search(
        "question", k=3, min_score=0.2, filter={"year": 1}, score_threshold=0.1, fetch_k=9
    )
    store.similarity_search("question", min_scor=0.2)  # wrong
    store.similarity_search_with_score_by_vector([0.1], k=3, expand=1)
    store.max_marginal_relevance_search(
        "question", k=3, fetch_k=9, lambda_mult=0.3, granularity="mixed"
    )
    store.max_marginal_relevance_search_with_score_by_vector([0.1], k=3, fetch_k=9, lambda_mult=0.3)
    core.search("question", k=3, lexical=0.2, parents="document", fetch_k=9)
    core.search("question", lexicl=0.2)  # wrong
    return [*found, *retriever.invoke("question")]
