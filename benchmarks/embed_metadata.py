"""What `embed_metadata` gives where texts differ in their metadata only, and what it costs
elsewhere, by all-MiniLM-L6-v2.

    python -m benchmarks.embed_metadata

The texts are those of benchmarks/office. "Three editions" holds each of them three times, of three
products that only the metadata name; each question is asked of each product, as in "Tern 40: How
long is the warranty?", and a result counts if it holds the answer and is of that product. "Unnamed"
asks the same store without the product: any edition counts. "One edition" holds each text once;
there all of them have the same product, or each the kind of its file, which no question names.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")

from benchmarks.ranking.corpora import Corpus, read
from benchmarks.ranking.measures import table
from factoid import Document, Hit, SentenceTransformerEncoder, UnitStore

OFFICE = Path(__file__).parent / "office"
PRODUCTS = ("Tern 40", "Heron 7", "Swift 9")
CUTS = (1, 5)


def filled(documents: Sequence[Document], keys: Sequence[str]) -> UnitStore:
    """Return a store of documents with these keys embedded."""
    store = UnitStore(
        encoder=SentenceTransformerEncoder(),
        granularities=("passage", "proposition"),
        embed_metadata=keys,
    )
    store.add_documents(documents)
    return store


def edition(document: Document, product: str) -> Document:
    """Return a document of a product."""
    return replace(document, id=f"{document.id} {product}", metadata={"product": product})


def shares(corpus: Corpus, store: UnitStore, product: str | None = None) -> list[float]:
    """Return the share of questions answered by one of the k best passages, for each k; of a
    product, if one is asked for.
    """
    prefix = "" if product is None else f"{product}: "
    texts = [prefix + question.text for question in corpus.questions]
    right = [0] * len(CUTS)
    for question, hits in zip(corpus.questions, store.search_batch(texts, max(CUTS)), strict=True):
        for column, cut in enumerate(CUTS):
            right[column] += any(_answers(corpus, question, hit, product) for hit in hits[:cut])
    return [100 * count / len(texts) for count in right]


def _answers(corpus: Corpus, question: object, hit: Hit, product: str | None) -> bool:
    original = replace(hit.unit, document_id=hit.unit.document_id.partition(" ")[0])
    wanted = product in (None, hit.unit.metadata.get("product"))
    return wanted and corpus.is_right(question, original)  # type: ignore[arg-type]


def main() -> None:
    corpus = read(OFFICE)
    row = table("", [f"R@{cut}{what}" for what in ("", ", embedded") for cut in CUTS])
    editions = [edition(document, product) for document in corpus.documents for product in PRODUCTS]
    without = filled(editions, [])
    with_product = filled(editions, ["product"])
    cells = []
    for store in (without, with_product):
        each = [shares(corpus, store, product) for product in PRODUCTS]
        cells += [f"{sum(column) / len(PRODUCTS):.1f}" for column in zip(*each, strict=True)]
    row("three editions", cells)
    row(
        "unnamed",
        [f"{share:.1f}" for store in (without, with_product) for share in shares(corpus, store)],
    )
    plain = shares(corpus, filled(corpus.documents, []))
    one = filled(
        [replace(document, metadata={"product": PRODUCTS[0]}) for document in corpus.documents],
        ["product"],
    )
    row("one edition, one product", [f"{share:.1f}" for share in plain + shares(corpus, one)])
    kinds = ("handbook", "notice", "minutes", "contract")
    varied = [
        replace(document, metadata={"kind": kinds[number % len(kinds)]})
        for number, document in enumerate(corpus.documents)
    ]
    row(
        "one edition, kinds at random",
        [f"{share:.1f}" for share in plain + shares(corpus, filled(varied, ["kind"]))],
    )


if __name__ == "__main__":
    main()
