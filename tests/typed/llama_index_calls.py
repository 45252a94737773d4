"""Calls that a type checker must understand, and, in lines that end in `# wrong`, those that it
must refuse.
"""

from __future__ import annotations

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.llms import LLM
from llama_index.core.schema import NodeWithScore
from llama_index.core.vector_stores.types import VectorStoreQuery

from factoid import AnyGranularityRanker, Weights
from llama_index_factoid import (
    AnyGranularityRerank,
    EntityRetriever,
    MultiGranularFaissVectorStore,
    MultiGranularNodeParser,
    MultiGranularRetriever,
)


def calls(
    embed_model: BaseEmbedding, ranker: AnyGranularityRanker, llm: LLM
) -> list[NodeWithScore]:
    store = MultiGranularFaissVectorStore(
        "facts", embed_model=embed_model, similarity="cosine", granularity="sentence"
    )
    MultiGranularFaissVectorStore("facts", embed_modl=embed_model)  # wrong
    with MultiGranularFaissVectorStore(
        granularities=["passage", "sentence"], read_only=True
    ) as opened:
        opened.query(
            VectorStoreQuery(query_str="question"), granularity="mixed", min_score=0.1, matches=True
        )
        opened.query(VectorStoreQuery(query_str="question"), min_scor=0.1)  # wrong
    MultiGranularNodeParser(words=80, granularities=["passage"], window=1, include_metadata=False)
    MultiGranularNodeParser.from_defaults(words=80)
    MultiGranularNodeParser(wrds=80)  # wrong
    MultiGranularNodeParser(embed_metadata=["product"], progress=True)
    MultiGranularNodeParser.from_llm(llm, max_concurrency=4, words=80, cache="facts")
    MultiGranularNodeParser.from_llm(llm, max_concurency=4)  # wrong
    MultiGranularFaissVectorStore.from_persist_dir("folder", parents="auto", granularity="sentence")
    MultiGranularFaissVectorStore.from_persist_dir("folder", granularty="sentence")  # wrong
    EntityRetriever("articles", words=9, hybrid=False)
    EntityRetriever("articles", wrds=9)  # wrong
    AnyGranularityRerank(ranker=ranker, top_n=1)
    AnyGranularityRerank(ranker=ranker, granularty="sentence")  # wrong
    MultiGranularRetriever(store, granularty="sentence")  # wrong
    MultiGranularRetriever(store, min_score="much")  # wrong
    retriever = MultiGranularRetriever(
        store,
        similarity_top_k=3,
        min_score=0.2,
        weights=Weights(0.4, 0.2),
        expand=1,
        doc_ids=["a"],
        rerank=ranker,
    )
    return retriever.retrieve("question")
