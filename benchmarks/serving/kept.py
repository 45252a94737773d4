"""Measurements as JSON files, so that tables can be made again."""

from __future__ import annotations

import json
from dataclasses import asdict

from benchmarks.serving.corpus import KEPT, Rates
from benchmarks.serving.measured import Measured, Searches


def keep(name: str, measured: Measured) -> None:
    """Write what was measured of an engine."""
    KEPT.mkdir(parents=True, exist_ok=True)
    text = json.dumps(asdict(measured))
    (KEPT / f"{name}.json").write_text(text, encoding="utf-8")


def kept() -> list[Measured]:
    """Return what was measured of all engines."""
    everything = []
    for file in sorted(KEPT.glob("*.json")):
        fields = json.loads(file.read_text(encoding="utf-8"))
        fields["load"] = Rates(**fields["load"])
        fields["index"] = Rates(**fields["index"])
        fields["searches"] = [Searches(**searches) for searches in fields["searches"]]
        fields["bytes"] = {int(shards): pair for shards, pair in fields["bytes"].items()}
        everything.append(Measured(**fields))
    return everything
