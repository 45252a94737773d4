"""The prompts for readers (Entity Retrieval, Appendix A)."""

from __future__ import annotations

from collections.abc import Sequence

from factoid.errors import InvalidInputError

CLOSED_BOOK = "Answer this question:\nQ: {question}\nA:"
ONE_DOCUMENT = "{context}\n\nBased on this text, answer this question:\nQ: {question}\nA:"
SEVERAL_DOCUMENTS = "{context}\n\nBased on these texts, answer this question:\nQ: {question}\nA:"

Context = str | Sequence[str]
"""The texts of documents; a plain string is one."""


def question_prompt(question: str, context: Context = ()) -> str:
    """Return the prompt for a question without documents, with one, or with several.

    Blank ones do not count (Appendix A).

    Raises:
        InvalidInputError: The question is blank.
    """
    if not question.strip():
        raise InvalidInputError(f"expected a question that is not blank, got {question!r}")
    texts = []
    if isinstance(context, str):
        context = [context]
    for text in context:
        if text.strip():
            texts.append(text)
    if not texts:
        template = CLOSED_BOOK
    else:
        template = ONE_DOCUMENT if len(texts) == 1 else SEVERAL_DOCUMENTS
    return template.format(context="\n\n".join(texts), question=question)


def document_text(title: str, text: str) -> str:
    """Return a document as the paper's experiments show it to the reader.

    Title, blank line, title, text (Tables 7 to 10). Without a title it is the text alone. White
    space becomes single spaces; the text of a hit keeps its line breaks.
    """
    text = " ".join(text.split())
    if title:
        return f"{title}\n\n{title}\n{text}"
    return text
