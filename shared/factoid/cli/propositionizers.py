"""The propositionizers that options name, and the files that keep their propositions."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from factoid._optional import require
from factoid.cli.options import Splitting
from factoid.errors import InvalidInputError, PropositionizerError

if TYPE_CHECKING:
    from factoid.propositions import Propositionizer
    from factoid.propositions.prompting.prompted import PromptPropositionizer


def _syntax(splitting: Splitting) -> Propositionizer:
    from factoid.propositions.syntax import SyntaxPropositionizer

    return SyntaxPropositionizer(atomic=splitting.atomic)


def _flan_t5(splitting: Splitting) -> Propositionizer:
    from factoid.propositions.flan_t5 import DEFAULT_MODEL, FlanT5Propositionizer

    return FlanT5Propositionizer(splitting.model or DEFAULT_MODEL, engine=splitting.engine)


def make_prompted(splitting: Splitting) -> PromptPropositionizer:
    """Return the propositionizer that asks the chat model that the options name."""
    from factoid.propositions.prompting.prompted import PromptPropositionizer

    if not splitting.model:
        raise InvalidInputError("a chat model needs --model, its name, as in: --propositionizer openai --model NAME")
    if not (splitting.base_url or "https://").startswith(("http://", "https://")):
        raise InvalidInputError(f"--base-url must begin with http:// or https://, got {splitting.base_url!r}")
    openai = require("openai", extra="openai")
    try:
        client = openai.OpenAI(base_url=splitting.base_url)
    except openai.OpenAIError as error:
        message = str(error)
        if not os.environ.get("OPENAI_API_KEY"):
            message = "no key for the chat model: set OPENAI_API_KEY (any value for a local server)"
        raise PropositionizerError(message) from error
    return PromptPropositionizer(
        client,
        splitting.model,
        temperature=splitting.temperature,
        max_concurrency=splitting.max_concurrency,
        requests_per_minute=splitting.requests_per_minute,
        tokens_per_minute=splitting.tokens_per_minute,
    )


PROPOSITIONIZERS: dict[str, Callable[[Splitting], Propositionizer]] = {
    "syntax": _syntax,
    "flan-t5": _flan_t5,
    "openai": make_prompted,
}


def make_propositionizer(splitting: Splitting) -> Propositionizer:
    """Return the propositionizer that the options name."""
    return PROPOSITIONIZERS[splitting.propositionizer](splitting)


def forget_failures(cache: str | Path) -> None:
    """Have a cache of propositions forget which passages failed."""
    from factoid.propositions import PropositionCache

    PropositionCache(cache).forget(failures=True)
