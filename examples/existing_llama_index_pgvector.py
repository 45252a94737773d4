"""From a table of pgvector's that you have to facts with their passages, in LlamaIndex.

pip install "factoid[llama-index,models]" llama-index-vector-stores-postgres
python examples/existing_llama_index_pgvector.py postgresql://user@localhost/database
"""

import sys

from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import TextNode
from llama_index.vector_stores.postgres import PGVectorStore

from factoid import SentenceTransformerEncoder
from llama_index_factoid import EncoderEmbedding, MultiGranularRetriever

HANDBOOK = [
    "Guests may stay for two nights. The warden has the keys, and lamps are lit at six.",
    "The ferry leaves at noon and at five. The captain of the ferry is Ida Holm.",
]


def existing_index(address: str, embed_model: BaseEmbedding) -> VectorStoreIndex:
    """Return what an application would have: chunks of its own."""
    postgres = PGVectorStore(
        connection_string=address.replace("postgresql://", "postgresql+psycopg2://"),
        async_connection_string=address.replace("postgresql://", "postgresql+asyncpg://"),
        table_name="handbook",
        schema_name="public",
        embed_dim=len(embed_model.get_query_embedding("how long?")),
    )
    storage = StorageContext.from_defaults(vector_store=postgres)
    nodes = [TextNode(text=text) for text in HANDBOOK]
    return VectorStoreIndex(nodes, storage_context=storage, embed_model=embed_model)


def main(address: str, embed_model: BaseEmbedding | None = None) -> None:
    index = existing_index(address, embed_model or EncoderEmbedding(SentenceTransformerEncoder()))
    # From here on:
    retriever = MultiGranularRetriever(vectorstore=index, k=1)
    retriever.add_existing()
    [result] = retriever.retrieve("Who is the captain of the ferry?")
    print(result.node.get_content())
    for match in result.node.metadata["matches"]:
        print(f"  {match['score']:.2f}  {match['text']}")
    if not result.node.metadata.get("complete", True):
        print(result.node.metadata["note"])


if __name__ == "__main__":
    main(sys.argv[1])
