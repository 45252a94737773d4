"""A LlamaIndex query engine over a company's own glossary.

A vector index behind it answers other questions.

python examples/entity_llama_index.py
"""

from llama_index.core import Document, VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.llms import LLM, MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine

from factoid import SentenceTransformerEncoder
from llama_index_factoid import EncoderEmbedding, EntityRetriever

GLOSSARY = [
    Document(
        text="A submersible pump for brackish water. Its impeller is of duplex steel, and its "
        "seal is changed every 4,000 "
        "hours.",
        metadata={"title": "Tern 40", "aliases": ["T40", "the Tern"]},
    ),
    Document(
        text="A controller that starts and stops up to six pumps by the level in the shaft.",
        metadata={"title": "Heron (controller)", "aliases": ["Heron"]},
    ),
]
MANUAL = [
    Document(text="Before a shaft is opened, its air is measured for three minutes.", id_="safety"),
    Document(text="Spare parts are ordered by the number on the plate.", id_="parts"),
]


def main(embed_model: BaseEmbedding | None = None, llm: LLM | None = None) -> str:
    embed_model = embed_model or EncoderEmbedding(SentenceTransformerEncoder())
    index = VectorStoreIndex.from_documents(MANUAL, embed_model=embed_model)
    retriever = EntityRetriever.from_documents(
        GLOSSARY, fallback=index.as_retriever(similarity_top_k=1)
    )
    for question in (
        "How many pumps does Heron start?",
        "How long is the air of a shaft measured?",
    ):
        for node in retriever.retrieve(question):
            print(f"{question}  ←  {node.node.metadata.get('title', node.node.ref_doc_id)}")
    engine = RetrieverQueryEngine.from_args(retriever, llm=llm or MockLLM(max_tokens=60))
    answer = str(engine.query("How many pumps does Heron start?"))
    print("→", answer)
    return answer


if __name__ == "__main__":
    main()
