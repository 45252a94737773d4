"""Contextual retrieval: a sentence of context for each passage, written by a model of the caller's.

It says what the passage is about within its document, is embedded and searched with the passage,
and is never a part of its text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Protocol, runtime_checkable

from factoid.errors import InvalidInputError, PropositionizerError
from factoid.propositions.cache import PropositionCache
from factoid.units import Document, Unit, content_id, whole_number

CONTEXT = "context"
"""The key of the metadata of a passage that holds its context; one of `embed_metadata`."""

PROMPT = """Below is a document, and a passage of it. Write one sentence that says what the \
passage is about within the document: the subject, names, dates and section that a reader of the \
passage alone would miss. Do not repeat what the passage says. Answer with this sentence only.

<document>
{document}
</document>

<passage>
{passage}
</passage>"""
_CHARACTERS = 60_000  # of a document in a prompt: about 15,000 tokens
_BLOCK = 64  # passages between two writes to the cache


@runtime_checkable
class Contextualizer(Protocol):
    """Any object that writes contexts; `name` identifies all that they depend on."""

    name: str

    def contextualize(self, document: Document, passages: Sequence[Unit]) -> list[str]:
        """Return the context of each passage of a document; "" for none."""
        ...


class PromptContextualizer:
    """Asks any model for a sentence of context for each passage.

    The prompt begins with the document, so that providers that cache prompts read it once. Of a
    document of more than 60,000 characters it has those around the passage.

    Args:
        complete: Completes a prompt: `lambda prompt: llm.invoke(prompt).text` in LangChain,
            `lambda prompt: llm.complete(prompt).text` in LlamaIndex.
        name: Names the model; another one writes new contexts.
        workers: Number of prompts at once.
        prompt: The prompt, with {document} and {passage}.

    Raises:
        InvalidInputError: The name is empty, or the prompt lacks one of the two fields.
    """

    def __init__(
        self,
        complete: Callable[[str], str],
        *,
        name: str,
        workers: int = 8,
        prompt: str = PROMPT,
    ) -> None:
        if not name:
            raise InvalidInputError("name the model, so that another one writes new contexts")
        if "{document}" not in prompt or "{passage}" not in prompt:
            raise InvalidInputError("the prompt must have the fields {document} and {passage}")
        self.complete = complete
        self.prompt = prompt
        self.workers = whole_number("workers", workers)
        self.name = name
        if prompt != PROMPT:
            self.name += f" {content_id(prompt)}"

    def contextualize(self, document: Document, passages: Sequence[Unit]) -> list[str]:
        """Return the model's answer for each passage. An error of the model is raised."""
        prompts = []
        for passage in passages:
            text = _around(document.text, passage)
            parts = self.prompt.replace("{document}", text, 1).rpartition("{passage}")
            prompts.append(parts[0] + passage.search_text + parts[2])
        with ThreadPoolExecutor(self.workers) as threads:
            return list(threads.map(self.complete, prompts))


class CachedContextualizer:
    """Asks a contextualizer only for what a cache does not hold.

    Each block of passages is kept at once, so an interrupted run resumes there.
    """

    def __init__(
        self, contextualizer: Contextualizer, cache: PropositionCache | str | Path
    ) -> None:
        self.contextualizer = contextualizer
        if not isinstance(cache, PropositionCache):
            cache = PropositionCache(cache)
        self.cache = cache
        self.name = contextualizer.name

    def contextualize(self, document: Document, passages: Sequence[Unit]) -> list[str]:
        """Return the context of each passage of a document."""
        # A context depends on the document as well as on the passage.
        key = f"context {self.name} {content_id(document.title, document.text)}"
        contexts: list[str] = []
        for block in _blocks(passages):
            known = self.cache.get(key, block)
            new = []
            for passage, texts in zip(block, known, strict=True):
                if texts is None:
                    new.append(passage)
            written = iter(checked_contexts(self.contextualizer, document, new))
            new_texts = []
            for texts in known:
                if texts is None:
                    texts = [next(written)]
                    new_texts.append(texts)
                contexts += texts
            self.cache.put(key, new, new_texts)
        return contexts


def checked_contexts(
    contextualizer: Contextualizer, document: Document, passages: Sequence[Unit]
) -> list[str]:
    """Return the context of each passage on one line.

    Raises:
        PropositionizerError: The contextualizer did not return one string for each passage.
    """
    if not passages:
        return []
    contexts = contextualizer.contextualize(document, passages)
    if len(contexts) != len(passages) or not all(isinstance(text, str) for text in contexts):
        raise PropositionizerError(
            f"{type(contextualizer).__name__} must return one string for each of "
            f"{len(passages)} passages"
        )
    return [" ".join(text.split()) for text in contexts]


def _blocks(passages: Sequence[Unit]) -> Iterator[Sequence[Unit]]:
    for start in range(0, len(passages), _BLOCK):
        yield passages[start : start + _BLOCK]


def _around(text: str, passage: Unit) -> str:
    if len(text) <= _CHARACTERS:
        return text
    first = max(0, min(passage.start - _CHARACTERS // 2, len(text) - _CHARACTERS))
    return text[first : first + _CHARACTERS]
