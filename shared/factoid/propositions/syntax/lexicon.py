"""English words: the lists of `lexicon.txt` by name."""

from __future__ import annotations

import re
from importlib.resources import files

LEXICON = {
    name: frozenset(words.split())
    for name, words in re.findall(
        r"^([a-z ]+):\n(.+?)(?:\n\n|\Z)",
        files("factoid.propositions.syntax").joinpath("lexicon.txt").read_text(encoding="utf-8"),
        re.MULTILINE | re.DOTALL,
    )
}
