"""Ships with their builders and years, and questions about them."""

from __future__ import annotations

import re

from factoid import Document
from factoid.evaluate.compare import compare
from factoid.evaluate.questions import Question, Quote
from factoid.testing import HashEncoder, ScriptedPropositionizer

NAMES = "Vasa Mars Fram Gauss Wasa Terra Nova Argo Kon Tiki Mary Rose".split()


def document(number):
    name = f"{NAMES[number % len(NAMES)]} {number}"
    text = f"""# {name}

The {name} was built by master Hendrik{number}. She was a ship of oak with {60 + number} guns, and had a crew of many.

## Loss

She sank in {1600 + number} near the island of Lund{number}. A storm came from the west. Her wreck was found by divers.
"""
    return Document(text, metadata={"source": f"ships/{number}.md"})


DOCUMENTS = [document(number) for number in range(12)]
QUESTIONS = [
    Question(
        text=f"Where did the {NAMES[n]} {n} sink?",
        quotes=(Quote(f"near the island of Lund{n}", f"{n}.md"),),
        answers=(f"Lund{n}",),
        id=f"q{n}",
    )
    for n in range(12)
] + [Question(text="Who built her with pine?", answers=("pine tar",), id="lost")]


def propositionizer():
    return ScriptedPropositionizer(lambda passage: re.split(r"(?<=\.)\s", passage.search_text))


def compared(**options):
    options = {
        "encoder": HashEncoder(),
        "propositionizer": propositionizer(),
        "words": 30,
        "progress": False,
        **options,
    }
    return compare(
        options.pop("documents", DOCUMENTS), options.pop("questions", QUESTIONS), **options
    )
