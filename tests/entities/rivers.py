"""A small glossary of rivers, which the tests of retrievers share: two of one name, one with other
names, one far away.
"""

from __future__ import annotations

from factoid import Document

ARVE = "The Arve rises at a pass in the east. It is grey with rock flour in June. Timber was floated on it until 1902."
RIVERS = [
    Document(ARVE, "Arve", metadata={"aliases": ["the Grey One", "Arva"], "length": 107}),
    Document(
        "The Sorne of the north drives three mills. It freezes in most winters.", "Sorne (north)"
    ),
    Document("The Sorne of the south is dammed. Its lake is used for sailing.", "Sorne (south)"),
    Document("A canal\n\nbetween two   rivers.", "Kembs Canal", metadata={"score": "high"}),
]
