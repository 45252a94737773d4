"""Where the data sets lie: see docs/data.md."""

from __future__ import annotations

import os
from pathlib import Path

_BESIDE_CHECKOUT = Path(__file__).resolve().parents[2] / "shared" / "data"
DATA = Path(os.environ.get("FACTOID_DATA", _BESIDE_CHECKOUT))
