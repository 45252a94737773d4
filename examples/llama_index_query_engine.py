"""A LlamaIndex query engine over passages, sentences and propositions.

python examples/llama_index_query_engine.py
"""

from llama_index.core import Document, StorageContext, VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.llms import LLM, MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine

from factoid import SentenceTransformerEncoder
from llama_index_factoid import (
    EncoderEmbedding,
    MultiGranularFaissVectorStore,
    MultiGranularNodeParser,
    MultiGranularRetriever,
)

DOCUMENTS = [
    Document(
        text="The grey lighthouse at Skagen, a brick tower designed by the architect Niels "
        "Sigfried Nebelong, was lit "
        "in 1858.",
        metadata={"title": "Skagen Lighthouse"},
    ),
    Document(
        text="The Rubjerg Knude lighthouse stood so near the cliff that it was moved 70 metres "
        "inland in 2019.",
        metadata={"title": "Rubjerg Knude"},
    ),
]


def main(embed_model: BaseEmbedding | None = None, llm: LLM | None = None) -> str:
    embed_model = embed_model or EncoderEmbedding(SentenceTransformerEncoder())
    vector_store = MultiGranularFaissVectorStore()
    index = VectorStoreIndex.from_documents(
        DOCUMENTS,
        storage_context=StorageContext.from_defaults(vector_store=vector_store),
        transformations=[MultiGranularNodeParser()],
        embed_model=embed_model,
    )
    retriever = MultiGranularRetriever(index, embed_model, k=1)
    for node in retriever.retrieve("Who designed the lighthouse at Skagen?"):
        print(f"{node.score:.2f}  {node.node.get_content()}")
        print(
            "\n".join(
                f"      {match['score']:.2f}  {match['text']}"
                for match in node.node.metadata["matches"]
            )
        )
    engine = RetrieverQueryEngine.from_args(retriever, llm=llm or MockLLM(max_tokens=60))
    answer = str(engine.query("Who designed the lighthouse at Skagen?"))
    print("→", answer)
    return answer


if __name__ == "__main__":
    main()
