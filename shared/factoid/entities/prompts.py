"""The prompts for readers (Entity Retrieval, Appendix A)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from factoid.errors import InvalidInputError

CLOSED_BOOK = "Answer this question:\nQ: {question}\nA:"
ONE_DOCUMENT = "{context}\n\nBased on this text, answer this question:\nQ: {question}\nA:"
SEVERAL_DOCUMENTS = "{context}\n\nBased on these texts, answer this question:\nQ: {question}\nA:"

Context = str | Sequence[str]
"""The texts of documents; a plain string is one."""


def question_prompt(question: str, context: Context = ()) -> str:
    """Return the prompt for a question without documents, with one, or with several; blank ones do not count (Appendix A).

    Raises:
        InvalidInputError: The question is empty, or something is not a string.
    """
    if not isinstance(question, str) or not question.strip():
        raise InvalidInputError(f"expected a question as a string that is not blank, got {question!r}")
    texts = [text for text in as_documents(context) if text.strip()]
    template = CLOSED_BOOK if not texts else ONE_DOCUMENT if len(texts) == 1 else SEVERAL_DOCUMENTS
    return template.format(context="\n\n".join(texts), question=question)


def as_documents(context: Any, text_of: Callable[[Any], Any] = lambda document: document) -> list[str]:
    """Return a context as a list of texts: a plain string is one, and `text_of` returns the text of other types."""
    documents = text_of(context)
    if isinstance(documents, str):
        return [documents]
    several = isinstance(documents, Iterable) and not isinstance(documents, Mapping)
    texts: list[Any] = [text_of(document) for document in documents] if several else [None]
    if not all(isinstance(text, str) for text in texts):
        raise InvalidInputError(f"expected a list of documents, each with a text, or () for none, got {context!r:.200}")
    return texts


def match_contexts(
    questions: Sequence[str], contexts: Sequence[Any], text_of: Callable[[Any], Any] = lambda document: document
) -> list[tuple[str, list[str]]]:
    """Return each question with its texts from `as_documents`; refuse anything but two lists of one length."""
    for name, values in (("questions", questions), ("contexts", contexts)):
        if isinstance(values, str | Mapping) or not isinstance(values, Collection):
            kind = type(values).__name__
            raise InvalidInputError(f"expected a list of {name}, got {kind}: read answers a single question")
    if (count := len(contexts)) != len(questions):
        raise InvalidInputError(f"expected a context for each question, got {count} for {len(questions)} questions")
    return [(question, as_documents(context, text_of)) for question, context in zip(questions, contexts, strict=True)]


def document_text(title: str, text: str) -> str:
    """Return a document as the paper's experiments show it to the reader: title, blank line, title, text (Tables 7 to 10).

    Without a title it is the text alone. White space becomes single spaces; the text of a hit keeps its line breaks.
    """
    text = " ".join(text.split())
    return f"{title}\n\n{title}\n{text}" if title else text
