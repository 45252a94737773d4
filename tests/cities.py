"""Two documents, and how the tests of the store add and find them."""

from __future__ import annotations

from factoid import Document
from factoid.testing import ScriptedPropositionizer

PISA = Document(
    "# Pisa\n\nThe tower leans. It is old.\n\n## History\n\nGalileo was born here.",
    id="pisa",
    metadata={"country": "it"},
)
OSLO = Document("# Oslo\n\nThe city lies on a fjord.", id="oslo", metadata={"country": "no"})
PROPOSITIONIZER = ScriptedPropositionizer(lambda passage: [f"{passage.title}: {passage.text}"])


def add(store, *documents, **options):
    return store.add_documents(documents, propositionizer=PROPOSITIONIZER, **options)


def found(store, query, k=9, **options):
    return [hit.unit.text for hit in store.search(query, k, **options)]
