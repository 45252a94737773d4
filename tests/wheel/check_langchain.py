"""The installed wheel with [langchain,cpu]: the user's own embeddings, and no torch.

Run by .ci/run.
"""
# ruff: noqa: T201

import hashlib
import math
import sys
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

import langchain_factoid
from langchain_factoid import MultiGranularFAISS, MultiGranularRetriever, PropositionTextSplitter

PISA = "The Leaning Tower of Pisa, which is 56 m high, is a campanile. Engineers led by John Burland straightened it."
VASA = "The Vasa was a Swedish warship. She sank in Stockholm in 1628, because she carried too little ballast."


class WordEmbeddings(Embeddings):
    """Bags of words, hashed: what a user might bring along."""

    def embed_query(self, text):
        vector = [0.0] * 64
        for word in text.lower().translate(str.maketrans(".,?", "   ")).split():
            vector[hashlib.sha256(word.encode()).digest()[0] % 64] += 1.0
        length = math.hypot(*vector) or 1.0
        return [value / length for value in vector]

    def embed_documents(self, texts):
        return [self.embed_query(text) for text in texts]


for absent in ("torch", "transformers", "sentence_transformers", "llama_index"):
    assert find_spec(absent) is None, (
        f"{absent} is installed: this environment is not the one to test"
    )
assert Path(langchain_factoid.__file__).is_relative_to(sys.prefix), (
    f"not the wheel: {langchain_factoid.__file__}"
)

documents = [
    Document(PISA, metadata={"title": "Leaning Tower of Pisa"}),
    Document(VASA, metadata={"title": "Vasa"}),
]
with TemporaryDirectory() as folder:
    with MultiGranularFAISS(WordEmbeddings(), path=folder) as store:
        store.add_documents(documents)
        for granularity in ("passage", "sentence", "proposition"):
            found = store.similarity_search(
                "When did the warship Vasa sink?", k=1, granularity=granularity
            )
            assert [document.page_content for document in found] == [VASA], (granularity, found)
    with MultiGranularFAISS(WordEmbeddings(), path=folder) as store:  # from disk
        retriever = MultiGranularRetriever(store=store, k=2)
        assert [
            document.page_content for document in retriever.invoke("Who straightened the tower?")
        ] == [PISA, VASA]

facts = PropositionTextSplitter().split_documents(documents)
assert len(facts) > len(documents), facts
print(*(f"  {fact.page_content}" for fact in facts), sep="\n")
print("LangChain works without torch")
