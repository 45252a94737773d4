"""From a table of pgvector's that you have to facts with their passages, in LangChain.

pip install "factoid[langchain,models]" langchain-postgres
python examples/existing_langchain_pgvector.py postgresql+psycopg://user@localhost/database
"""

import sys

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_postgres import PGVector

from factoid import SentenceTransformerEncoder
from langchain_factoid import EncoderEmbeddings, MultiGranularRetriever

HANDBOOK = [
    "Guests may stay for two nights. The warden has the keys, and lamps are lit at six.",
    "The ferry leaves at noon and at five. The captain of the ferry is Ida Holm.",
]


def existing_collection(address: str, embeddings: Embeddings) -> PGVector:
    """Return what an application would have: chunks of its own."""
    postgres = PGVector(
        embeddings, connection=address, collection_name="handbook", pre_delete_collection=True
    )
    postgres.add_documents([Document(page_content=text) for text in HANDBOOK])
    return postgres


def main(address: str, embeddings: Embeddings | None = None) -> None:
    postgres = existing_collection(
        address, embeddings or EncoderEmbeddings(SentenceTransformerEncoder())
    )
    # From here on:
    retriever = MultiGranularRetriever(vectorstore=postgres, k=1)
    retriever.add_existing()
    [passage] = retriever.invoke("Who is the captain of the ferry?")
    print(passage.page_content)
    for match in passage.metadata["matches"]:
        print(f"  {match['score']:.2f}  {match['text']}")
    if not passage.metadata.get("complete", True):
        print(passage.metadata["note"])


if __name__ == "__main__":
    main(sys.argv[1])
