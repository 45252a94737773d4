"""LlamaIndex: retrieve passages, and re-rank them down to the sentence that answers.

python examples/rerank_llama_index.py colbert-ir/colbertv2.0     # or the folder of such a model
"""

import sys

from llama_index.core import Document, StorageContext, VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.llms import LLM, MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine

from factoid import AnyGranularityRanker, SentenceTransformerEncoder
from llama_index_factoid import (
    EncoderEmbedding,
    MultiGranularFaissVectorStore,
    MultiGranularNodeParser,
    MultiGranularRetriever,
    span_of,
)

DOCUMENTS = [
    Document(
        text="Anna Berg was born in Oslo. She moved to Berlin as a girl. Her first works are "
        "shown there.",
        metadata={"title": "Anna Berg"},
    ),
    Document(
        text="The Fram was built by a river. It is a ship of the north. Its museum stands in Oslo.",
        metadata={"title": "Fram"},
    ),
    Document(
        text="The tower in Pisa leans by four degrees. It was closed for years.",
        metadata={"title": "Pisa"},
    ),
]
QUESTION = "Where was Anna Berg born?"


def main(
    model: str,
    embed_model: BaseEmbedding | None = None,
    llm: LLM | None = None,
    path: str | None = None,
) -> str:
    """Print the best sentences, and return what an answer is made of them."""
    embed_model = embed_model or EncoderEmbedding(SentenceTransformerEncoder())
    vector_store = MultiGranularFaissVectorStore(path)
    index = VectorStoreIndex.from_documents(
        DOCUMENTS,
        storage_context=StorageContext.from_defaults(vector_store=vector_store),
        transformations=[MultiGranularNodeParser()],
        embed_model=embed_model,
    )
    # With a cache, passages are encoded once: the next question costs the encoding of its own
    # words.
    ranker = AnyGranularityRanker(model, cache=path)
    retriever = MultiGranularRetriever(
        index, embed_model, k=2, granularity="sentence", parents="unit", rerank=ranker
    )
    for one in retriever.retrieve(QUESTION):
        start, end = span_of(one.node) or (0, 0)
        print(f"{one.score:.2f}  {one.metadata['title']} {start}–{end}: {one.text}")
    answer = str(
        RetrieverQueryEngine.from_args(retriever, llm=llm or MockLLM(max_tokens=60)).query(QUESTION)
    )
    vector_store.close()
    return answer


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "colbert-ir/colbertv2.0")
