"""The prompt of Dense X Retrieval (Figure 8), and the form in which models read a passage."""

from __future__ import annotations

from importlib.resources import files

from factoid.units import Unit, content_id

# Must change whenever prompt.txt or `passage_input` does, since it is part of the keys of caches.
PROMPT_VERSION = "dense-x-figure-8/1"

PROMPT = files("factoid.propositions.prompting").joinpath("prompt.txt").read_text(encoding="utf-8")

_PASSAGE = "\n\nInput: Title: "
_AS_LIST = "Present the results as a list of strings, formatted in JSON."
_AS_OBJECT = (
    'Present the results as an object, formatted in JSON, whose only key "propositions" holds the '
    "list of strings."
)
_EXAMPLE = "\nOutput: "


def _as_object(instructions: str) -> str:
    rules, _, example = instructions.replace(_AS_LIST, _AS_OBJECT).rpartition(_EXAMPLE)
    return f'{rules}{_EXAMPLE}{{ "propositions": {example} }}'


_OBJECT_PROMPT = _as_object(PROMPT.rstrip())


def passage_input(passage: Unit) -> str:
    """Return a passage on one line, in the form on which the paper's propositionizer was trained.

    An empty title or section leaves its label empty, as in the model card of
    `chentong00/propositionizer-wiki-flan-t5-large`.
    """
    title, section, content = (
        " ".join(text.split()) for text in (passage.title, passage.section, passage.search_text)
    )
    return f"Title: {title}. Section: {section}. Content: {content}"


def prompt_for(passage: Unit, instructions: str | None = None) -> str:
    """Return the whole prompt for one passage; `instructions` replace Figure 8."""
    before = PROMPT if instructions is None else instructions
    return f"{before.rstrip()}\n\nInput: {passage_input(passage)}\nOutput:"


def as_object(prompt: str) -> str:
    """Return a whole prompt that asks for an object which holds the list, as strict schemas do.

    Figure 8 asks for a bare list, in its fourth rule and in its example; other instructions get one
    more sentence.
    """
    instructions = PROMPT.rstrip()
    if prompt.startswith(instructions):
        return _OBJECT_PROMPT + prompt[len(instructions) :]
    before, passage, after = prompt.rpartition(_PASSAGE)
    return f"{before}\n\n{_AS_OBJECT}{passage}{after}"


def versioned_name(model: str, prompt: str | None = None) -> str:
    """Return the name of a propositionizer from its model and its prompt, None for Figure 8."""
    if prompt is None:
        return f"{model}@{PROMPT_VERSION}"
    return f"{model}@prompt {content_id(prompt)}"
