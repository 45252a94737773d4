"""LangChain: retrieve passages, and re-rank them down to the sentence that answers.

python examples/rerank_langchain.py colbert-ir/colbertv2.0     # or the folder of such a model
"""

import sys

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from factoid import AnyGranularityRanker, SentenceTransformerEncoder
from langchain_factoid import EncoderEmbeddings, MultiGranularFAISS, MultiGranularRetriever

DOCUMENTS = [
    Document(
        "Anna Berg was born in Oslo. She moved to Berlin as a girl. Her first works are shown "
        "there.",
        metadata={"title": "Anna Berg"},
    ),
    Document(
        "The Fram was built by a river. It is a ship of the north. Its museum stands in Oslo.",
        metadata={"title": "Fram"},
    ),
    Document(
        "The tower in Pisa leans by four degrees. It was closed for years.",
        metadata={"title": "Pisa"},
    ),
]
QUESTION = "Where was Anna Berg born?"


def main(
    model: str, embeddings: Embeddings | None = None, path: str | None = None
) -> list[Document]:
    """Print the best sentences, and return them."""
    store = MultiGranularFAISS(
        embeddings or EncoderEmbeddings(SentenceTransformerEncoder()), path=path
    )
    store.add_documents(DOCUMENTS)
    # With a cache, passages are encoded once: the next question costs the encoding of its own
    # words.
    ranker = AnyGranularityRanker(model, cache=path)
    retriever = MultiGranularRetriever(
        store=store, k=2, granularity="sentence", parents="unit", rerank=ranker
    )
    sentences = retriever.invoke(QUESTION)
    for sentence in sentences:
        place = f"{sentence.metadata['start_index']}–{sentence.metadata['end_index']}"
        print(
            f"{sentence.metadata['score']:.2f}  {sentence.metadata['title']} {place}: "
            f"{sentence.page_content}"
        )
    store.close()
    return sentences


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "colbert-ir/colbertv2.0")
