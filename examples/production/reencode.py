"""Fill a new store with the units of another one, encoded by another model.

No propositionizer is asked again.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from factoid import UnitStore
from factoid.encode import Encoder


def reencode(old: Path, new: Path, encoder: Encoder) -> int:
    """Return the number of units and documents in the new store."""
    with TemporaryDirectory(dir=new.parent) as folder:
        file = Path(folder) / "units.jsonl"
        with UnitStore(old, encoder=None, read_only=True) as source:
            source.export(file, vectors=False)
            granularities = source.granularities
        with UnitStore(new, encoder=encoder, granularities=granularities) as target:
            records = target.import_from(file, progress=True)
            target.refresh()
    return records
