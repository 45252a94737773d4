"""Reference lists: where they stand, and where each entry begins."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from factoid.documents.flow import is_finished
from factoid.documents.trace import TracedText, join

_HEADING = re.compile(
    r"(?:[\dA-Z]{1,2}(?:\.\d{1,2})*\.?\s+)?(?:references|bibliography|works cited|literature(?: cited)?|literaturverzeichnis|"
    r"références|referencias)(?: and notes)?\W*",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"^(?:[-*+]\s+)?(?:\[[\w+]{1,12}\]|\d{1,3}\.)\s", re.MULTILINE)  # "[12] ", "[Smi20] ", "12. "
_YEAR = re.compile(r"\b(?:1[6-9]|20)\d\d[a-z]?\b|\b(?:in press|forthcoming|to appear|n\.d\.)", re.IGNORECASE)


def is_reference_heading(heading: str) -> bool:
    """Tell whether a heading is that of a list of references."""
    return _HEADING.fullmatch(heading) is not None


def entries(paragraphs: Sequence[TracedText]) -> list[TracedText]:
    """Return the entries of a list of references, from its paragraphs.

    Where entries begin with numbers or keys in brackets, those tell them apart. Else a paragraph is an entry; one that the
    paragraph before has not come to its end for, or that holds no year, is the rest of that.
    """
    starts = sum(len(_NUMBERED.findall(paragraph.text)) for paragraph in paragraphs)
    if starts >= max(2, len(paragraphs) / 2):
        whole = join(list(paragraphs), "\n")
        places = [match.start() for match in _NUMBERED.finditer(whole.text)]
        bounds = [0, *(place for place in places if place), len(whole.text)]
        cuts = [whole.cut(start, end).strip() for start, end in pairwise(bounds)]
        return [cut for cut in cuts if cut.text]
    result: list[TracedText] = []
    for paragraph in paragraphs:
        if result and (not is_finished(result[-1].text) or not _YEAR.search(paragraph.text)):
            result[-1] = join([result[-1], paragraph], "\n")
        else:
            result.append(paragraph)
    return result
