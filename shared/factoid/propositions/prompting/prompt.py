"""The prompt of Dense X Retrieval (Figure 8) and the form in which every propositionizer is given a passage."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from factoid.units import Unit, check_text

# Changes whenever prompt.txt or `passage_input` does, so that outputs of an older prompt are not taken for this one's.
PROMPT_VERSION = "dense-x-figure-8/1"

PROMPT: str  # read on first use, by `__getattr__` below


def passage_input(passage: Unit) -> str:
    """Return a passage as the propositionizer of the paper was trained to read it, on one line.

    An empty title or section leaves its label with nothing after it, as in the model card of
    `chentong00/propositionizer-wiki-flan-t5-large`.

    Raises:
        InvalidInputError: A text holds lone surrogates, which no tokenizer and no request can carry.
    """
    parts = {"title": passage.title, "section": passage.section, "text": passage.text}
    for name, text in parts.items():
        check_text(text, name)
    title, section, content = (" ".join(text.split()) for text in parts.values())
    return f"Title: {title}. Section: {section}. Content: {content}"


def prompt_for(passage: Unit, instructions: str | None = None) -> str:
    """Return the whole prompt for one passage.

    Args:
        passage: The passage.
        instructions: What stands before the passage, with or without an example; None for Figure 8.

    Raises:
        InvalidInputError: See `passage_input`.
    """
    before = _figure_8() if instructions is None else instructions
    return f"{before.rstrip()}\n\nInput: {passage_input(passage)}\nOutput:"


@cache
def _figure_8() -> str:
    return files("factoid.propositions.prompting").joinpath("prompt.txt").read_text(encoding="utf-8")


def __getattr__(name: str) -> str:
    if name == "PROMPT":
        return _figure_8()
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)
