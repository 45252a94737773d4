"""Texts that only their headings tell apart, with plain splitters beside ours, by all-MiniLM-L6-v2.

    python -m benchmarks.headings

"manuals" are four that differ in their first heading only, as in "How long is the warranty of the
X200?"; "sections" are twenty of one catalogue, "## Tern / It weighs 59 kg …"; "questions" are
twenty that customers ask often, each a paragraph above its answer, and asked here in other words. A
question counts where the best hit is of the right manual, or holds the section's answer, or has the
answer's beginning in its first 60 words. Our hits are units, and for "questions" passages. The
plain splitters keep headings in their chunks' texts; what they know of a document is not embedded.
Ours are ranked by the default score; rows that name a template have it in place of the default.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")

from langchain_core.documents import Document as LangChainDocument
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_text_splitters import RecursiveCharacterTextSplitter
from llama_index.core import Document as LlamaIndexDocument
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.node_parser import MarkdownNodeParser, NodeParser

from benchmarks.ranking.corpora import Corpus, cut
from benchmarks.ranking.measures import table
from benchmarks.ranking.templates import NEAREST, TEMPLATES, with_nearest_heading
from factoid import Document, SentenceTransformerEncoder, SyntaxPropositionizer, UnitStore, Weights
from factoid.encode import Encoder
from factoid.heading_template import EMBED_TEMPLATE
from factoid.store import GRANULARITIES
from factoid.words import cut_words
from langchain_factoid import EncoderEmbeddings, MultiGranularFAISS, MultiGranularRetriever
from llama_index_factoid import (
    EncoderEmbedding,
    MultiGranularFaissVectorStore,
    MultiGranularNodeParser,
)

MANUAL = """# {name}

Charge the device for four hours before you use it for the first time. The warranty lasts 24 \
months from the day of purchase
and covers all parts but the brushes. The battery holds 5.2 ampere hours and \
runs for 90 minutes on the carpet.

The dust container holds 0.6 litres. Empty it after each run, and wash the filter under cold water \
once a month."""
PRODUCTS = ("X100", "X200", "X300", "X400")
ASKED = (
    "How long is the warranty of the {name}?",
    "For how long does the battery of the {name} run?",
    "How much does the dust container of the {name} hold?",
)
BIRDS = (
    "Tern Heron Kestrel Swift Plover Curlew Osprey Wren Dipper Avocet "
    "Merlin Gannet Puffin Siskin Linnet Bittern Goshawk Redstart Nuthatch Shrike"
).split()

# A question, its answer, and the question in other words, with "|" between them.
ANSWERED = Path(__file__).with_name("headings_questions.txt").read_text(encoding="utf-8")

Search = Callable[[str], tuple[str, str]]
"""Returns source and text of the best hit."""


@dataclass(frozen=True)
class Case:
    """Texts by their source, and questions with source and answer; "" where the source alone
    counts.
    """

    texts: dict[str, str]
    questions: list[tuple[str, str, str]]
    parents: str = "unit"  # what our hits are
    words: int = sys.maxsize  # of a hit in which the answer counts

    def count(self, search: Search) -> int:
        """Return how many questions find their answer in the right source."""
        count = 0
        for question, source, answer in self.questions:
            found, text = search(question)
            count += found == source and answer in cut_words(text, self.words)
        return count


def manuals() -> Case:
    """Return four manuals and twelve questions."""
    texts = {}
    questions = []
    for name in PRODUCTS:
        texts[name] = MANUAL.format(name=name)
        for asked in ASKED:
            questions.append((asked.format(name=name), name, ""))
    return Case(texts, questions)


def sections() -> Case:
    """Return a catalogue of twenty machines and forty questions."""
    parts = []
    questions = []
    for number, name in enumerate(BIRDS):
        weight = f"{59 + 7 * number} kg"
        voltage = f"{400 + 10 * number} volts"
        parts.append(f"## {name}\n\nIt weighs {weight} and runs at {voltage}.")
        questions.append((f"How much does the {name} weigh?", "catalogue", weight))
        questions.append((f"At how many volts does the {name} run?", "catalogue", voltage))
    return Case({"catalogue": "\n\n".join(parts)}, questions)


def answered() -> Case:
    """Return a page of questions with answers, and twenty questions in other words."""
    paragraphs = []
    questions = []
    for line in ANSWERED.splitlines():
        question, answer, asked = line.split("|")
        paragraphs += [question, answer]
        questions.append((asked, "page", answer.partition(",")[0].partition(".")[0]))
    return Case({"page": "\n\n".join(paragraphs)}, questions, "passage", 60)


def core(
    case: Case,
    encoder: Encoder,
    granularity: str,
    template: str = EMBED_TEMPLATE,
    weights: Weights | None = None,
) -> Search:
    """Search the core's store."""
    documents = [Document(text, metadata={"source": source}) for source, text in case.texts.items()]
    units, _ = cut(Corpus(documents, []), SyntaxPropositionizer())
    store = UnitStore(
        encoder=encoder, embed_template=EMBED_TEMPLATE if template == NEAREST else template
    )
    for of_one in units.values():
        store.add(list(map(with_nearest_heading, of_one)) if template == NEAREST else of_one)

    def search(question: str) -> tuple[str, str]:
        unit = store.search(
            question, 1, granularity=granularity, parents=case.parents, weights=weights
        )[0].unit
        return unit.metadata["source"], unit.text

    return search


def langchain(case: Case, encoder: Encoder, granularity: str | None) -> Search:
    """Search LangChain's store in memory with its own splitter, or ours with ours."""
    documents = []
    for source, text in case.texts.items():
        documents.append(LangChainDocument(text, metadata={"source": source}))
    if granularity is None:
        plain = InMemoryVectorStore(EncoderEmbeddings(encoder))
        plain.add_documents(
            RecursiveCharacterTextSplitter(chunk_size=1000).split_documents(documents)
        )
        retriever = plain.as_retriever(search_kwargs={"k": 1})
    else:
        store = MultiGranularFAISS(EncoderEmbeddings(encoder))
        store.add_documents(documents)
        retriever = MultiGranularRetriever(
            store=store, k=1, granularity=granularity, parents=case.parents
        )

    def search(question: str) -> tuple[str, str]:
        document = retriever.invoke(question)[0]
        return document.metadata["source"], document.page_content

    return search


def llama_index(case: Case, encoder: Encoder, granularity: str | None) -> Search:
    """Search LlamaIndex's store in memory with its own Markdown parser, or ours with ours."""
    documents = []
    for source, text in case.texts.items():
        document = LlamaIndexDocument(text=text, metadata={"source": source})
        document.excluded_embed_metadata_keys = ["source"]
        documents.append(document)
    parser: NodeParser = MarkdownNodeParser() if granularity is None else MultiGranularNodeParser()
    context = None
    options = {}
    if granularity is not None:
        context = StorageContext.from_defaults(vector_store=MultiGranularFaissVectorStore())
        options = {"vector_store_kwargs": {"granularity": granularity, "parents": case.parents}}
    index = VectorStoreIndex(
        parser(documents), storage_context=context, embed_model=EncoderEmbedding(encoder)
    )
    retriever = index.as_retriever(similarity_top_k=1, **options)

    def search(question: str) -> tuple[str, str]:
        node = retriever.retrieve(question)[0].node
        return node.metadata["source"], node.get_content()

    return search


def contestants(case: Case, encoder: Encoder) -> Iterator[tuple[str, Search]]:
    """Yield names and searches."""
    yield "RecursiveCharacterTextSplitter", langchain(case, encoder, None)
    yield "MarkdownNodeParser", llama_index(case, encoder, None)
    for granularity in GRANULARITIES:
        yield f"{granularity}s", core(case, encoder, granularity)
        for template in TEMPLATES[1:]:
            yield f"{granularity}s, {template}", core(case, encoder, granularity, template)
        yield f"{granularity}s in LangChain", langchain(case, encoder, granularity)
        yield f"{granularity}s in LlamaIndex", llama_index(case, encoder, granularity)
    for template in TEMPLATES:
        name = f"propositions alone, {template}"
        yield name, core(case, encoder, "proposition", template, Weights(0, 0))


def main() -> None:
    encoder = SentenceTransformerEncoder()
    cases = {"manuals": manuals(), "sections": sections(), "questions": answered()}
    counts: dict[str, list[str]] = {}
    for case in cases.values():
        for name, search in contestants(case, encoder):
            counts.setdefault(name, []).append(f"{case.count(search)} of {len(case.questions)}")
    row = table("", list(cases))
    for name, counted in counts.items():
        row(name, counted)


if __name__ == "__main__":
    main()
