"""From a collection of Chroma's that you have to facts with their passages, in LlamaIndex.

pip install "factoid[llama-index,models]" llama-index-vector-stores-chroma
python examples/existing_llama_index_chroma.py
"""

import chromadb
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import TextNode
from llama_index.vector_stores.chroma import ChromaVectorStore

from factoid import SentenceTransformerEncoder
from llama_index_factoid import EncoderEmbedding, MultiGranularRetriever

HANDBOOK = [
    "Guests may stay for two nights. The warden has the keys, and lamps are lit at six.",
    "The ferry leaves at noon and at five. The captain of the ferry is Ida Holm.",
]


def existing_index(embed_model: BaseEmbedding) -> VectorStoreIndex:
    """Return what an application would have: chunks of its own."""
    collection = chromadb.EphemeralClient().get_or_create_collection("handbook-of-nodes")
    storage = StorageContext.from_defaults(
        vector_store=ChromaVectorStore(chroma_collection=collection)
    )
    nodes = [TextNode(text=text) for text in HANDBOOK]
    return VectorStoreIndex(nodes, storage_context=storage, embed_model=embed_model)


def main(embed_model: BaseEmbedding | None = None) -> None:
    index = existing_index(embed_model or EncoderEmbedding(SentenceTransformerEncoder()))
    # From here on:
    retriever = MultiGranularRetriever(vectorstore=index, k=1)
    retriever.add_existing()
    [result] = retriever.retrieve("Who is the captain of the ferry?")
    print(result.node.get_content())
    for match in result.node.metadata["matches"]:
        print(f"  {match['score']:.2f}  {match['text']}")


if __name__ == "__main__":
    main()
