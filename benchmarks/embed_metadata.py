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
from itertools import cycle
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np

from benchmarks.ranking.corpora import Corpus, read
from benchmarks.ranking.measures import per_cent, recall_names, table
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
    return [count / len(texts) for count in right]


def _answers(corpus: Corpus, question: object, hit: Hit, product: str | None) -> bool:
    original = replace(hit.unit, document_id=hit.unit.document_id.partition(" ")[0])
    wanted = product in (None, hit.unit.metadata.get("product"))
    return wanted and corpus.is_right(question, original)  # type: ignore[arg-type]


def main() -> None:
    corpus = read(OFFICE)
    recalls = recall_names(CUTS)
    row = table("", [*recalls, *(f"{name}, embedded" for name in recalls)])

    editions = []
    for document in corpus.documents:
        for product in PRODUCTS:
            editions.append(edition(document, product))
    without = filled(editions, [])
    with_product = filled(editions, ["product"])
    means: list[float] = []
    unnamed: list[float] = []
    for store in (without, with_product):
        by_product = [shares(corpus, store, product) for product in PRODUCTS]
        means += np.mean(by_product, axis=0).tolist()
        unnamed += shares(corpus, store)
    row("three editions", per_cent(means))
    row("unnamed", per_cent(unnamed))

    plain = shares(corpus, filled(corpus.documents, []))
    one_product = with_values(corpus.documents, "product", PRODUCTS[:1])
    one = shares(corpus, filled(one_product, ["product"]))
    row("one edition, one product", per_cent(plain + one))
    of_kinds = with_values(corpus.documents, "kind", ("handbook", "notice", "minutes", "contract"))
    varied = shares(corpus, filled(of_kinds, ["kind"]))
    row("one edition, kinds at random", per_cent(plain + varied))


def with_values(documents: Sequence[Document], key: str, values: Sequence[str]) -> list[Document]:
    """Return documents whose metadata holds each value in turn."""
    changed = []
    for document, value in zip(documents, cycle(values), strict=False):
        changed.append(replace(document, metadata={key: value}))
    return changed


if __name__ == "__main__":
    main()
