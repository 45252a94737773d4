"""A corpus in which a plain search fails: one passage has hundreds of units nearer to the question than all others."""

from __future__ import annotations

from factoid import Document, UnitStore
from factoid.testing import HashEncoder, ScriptedPropositionizer

DIM = 64
ENCODER = HashEncoder(DIM)
QUESTION = "which harbour lantern guides the northern fishing boats"
_WORDS = "harbour lantern guides northern fishing boats".split()
CROWD = 150  # units of the crowded passage


def propositions(passage) -> list[str]:
    """Return the units of a passage: those of "crowd" all have the question's words, and one more each."""
    if "Beacon records of the coast" in passage.text:
        return [
            f"The harbour lantern guides northern fishing boats number{place}."
            for place in range(CROWD)
        ]
    if not passage.text.startswith("Ledger page"):
        return [passage.text]
    number = int(passage.text.split()[2])
    shared = _WORDS[: 1 + number % 5]
    return [
        f"The {' '.join(shared)} of place{number}.",
        f"Somebody wrote entry{number} in a ledger.",
    ]


PROPOSITIONIZER = ScriptedPropositionizer(propositions)


def documents(count: int = 24) -> list[Document]:
    made = [
        Document(
            "Beacon records of the coast, all in one place.",
            id="crowd",
            metadata={"tenant": "a", "number": -1},
        )
    ]
    for number in range(count):
        metadata = {
            "tenant": "ab"[number % 2],
            "number": number,
            "share": number / 2,
            "even": number % 2 == 0,
            "tags": [f"tag{number % 3}", "all"],
        }
        if number % 4 == 0:
            metadata["note"] = "it's “néw” — 新しい"
        if number % 5 == 0:
            metadata["none"] = None
            metadata["place"] = {"name": f"place{number}"}
        text = f"Ledger page {number} about place{number} and its weather."
        made.append(Document(text, title=f"Page {number}", id=f"d{number}", metadata=metadata))
    return made


def oracle(docs, **options) -> UnitStore:
    """Return our own store of the same documents, which scores everything."""
    store = UnitStore(encoder=ENCODER, granularities=["passage", "proposition"], **options)
    store.add_documents(docs, propositionizer=PROPOSITIONIZER, unsupported="keep")
    return store


def exact_hnsw(space: str) -> dict:
    """Return the configuration of an index of Chroma's that misses nothing: its default one is approximate."""
    return {
        "hnsw": {"space": space, "ef_construction": 2000, "ef_search": 2000, "max_neighbors": 200}
    }
