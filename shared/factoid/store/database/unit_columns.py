"""The columns of the table of units, in the one order in which rows are written, checked and read.

A row names its document and its metadata by their rows. In their places, what is read and what the
checksum covers are the id of the document and the JSON of the metadata.
"""

from __future__ import annotations

from operator import attrgetter

# Each column, and the SQL that reads it from `FROM_UNITS`. The checksum covers all others.
UNIT_COLUMNS = {
    "checksum": "units.checksum",
    "row": "units.row",
    "vector": "units.vector",
    "start": "units.start",
    "end": 'units."end"',
    "id": "units.id",
    "text": "units.text",
    "granularity": "units.granularity",
    "document": "documents.id",
    "parent_id": "units.parent_id",
    "title": "units.title",
    "section": "units.section",
    "metadata": "metadata.json",
    "payload": "units.payload",
    "visible": "units.visible",
}
UNIT = ", ".join(UNIT_COLUMNS.values())
FROM_UNITS = """units JOIN documents ON documents.row = units.document
    JOIN metadata ON metadata.row = units.metadata"""

_NAMES = ", ".join(f'"{name}"' for name in UNIT_COLUMNS)
_PLACES = ", ".join("?" for _ in UNIT_COLUMNS)
INSERT_UNIT = f"INSERT INTO units ({_NAMES}) VALUES ({_PLACES})"  # noqa: S608

# The values that the checksum covers, and where some of them are.
_CHECKED = list(UNIT_COLUMNS)[1:]
ROW = _CHECKED.index("row")
GRANULARITY = _CHECKED.index("granularity")
DOCUMENT = _CHECKED.index("document")
METADATA = _CHECKED.index("metadata")

# Those that a unit has itself, after its row and its vector, by the names of its attributes.
_ATTRIBUTES = [name.replace("document", "document_id") for name in _CHECKED[2:]]
values_of = attrgetter(*_ATTRIBUTES)
