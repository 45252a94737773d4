"""Three small documents, and a propositionizer that changes nothing."""

from langchain_core.documents import Document

from factoid import split_sentences
from factoid.testing import ScriptedPropositionizer

GRANULARITIES = ("passage", "sentence", "proposition")

# Each sentence is its own proposition.
SENTENCES = ScriptedPropositionizer(
    lambda passage: [sentence.text for sentence in split_sentences(passage)]
)

KAKAPO = Document(
    id="kakapo",
    page_content="# Kakapo\n\nThe kakapo is a parrot and it cannot fly.\n\n## Diet\n\nIt eats the fruit of the rimu.",
    metadata={"year": 1845, "tags": ["bird", "rare"], "range": {"land": "New Zealand"}},
)
OLM = Document(
    id="olm", page_content="The olm lives in caves and has no eyes.", metadata={"year": 1768}
)
TITAN = Document(
    id="titan",
    page_content="Titan orbits Saturn and has seas of methane.",
    metadata={"year": 1655, "far": True},
)
