"""From a collection of Chroma's that you have to facts with their passages, in LangChain.

pip install "factoid[langchain,models]" langchain-chroma
python examples/existing_langchain_chroma.py
"""

from langchain_chroma import Chroma
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from factoid import SentenceTransformerEncoder
from langchain_factoid import EncoderEmbeddings, MultiGranularRetriever

HANDBOOK = [
    "Guests may stay for two nights. The warden has the keys, and lamps are lit at six.",
    "The ferry leaves at noon and at five. The captain of the ferry is Ida Holm.",
]


def existing_collection(embeddings: Embeddings) -> Chroma:
    """Return what an application would have: chunks of its own."""
    chroma = Chroma("handbook", embeddings)
    chroma.add_documents([Document(page_content=text) for text in HANDBOOK])
    return chroma


def main(embeddings: Embeddings | None = None) -> None:
    chroma = existing_collection(embeddings or EncoderEmbeddings(SentenceTransformerEncoder()))
    # From here on:
    retriever = MultiGranularRetriever(vectorstore=chroma, k=1)
    retriever.add_existing()
    [passage] = retriever.invoke("Who is the captain of the ferry?")
    print(passage.page_content)
    for match in passage.metadata["matches"]:
        print(f"  {match['score']:.2f}  {match['text']}")


if __name__ == "__main__":
    main()
