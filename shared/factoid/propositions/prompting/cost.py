"""Tokens and money: what requests have used, and what a corpus would cost before anything is sent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import islice

from factoid.errors import InvalidInputError
from factoid.propositions.caching.file import PropositionCache, passage_key
from factoid.propositions.prompting.prompt import passage_input, prompt_for
from factoid.units import Granularity, Unit, make_unit

# English prose has 4.2 to 4.9 characters a token in cl100k_base and o200k_base (Figure 8 and the outputs of the
# paper's demo); other scripts have about one.
CHARACTERS_PER_TOKEN = 4.5

# Tokens of an answer for each token of its passage. Dense X Retrieval, Table 1: 256,885,003 propositions of 11.2 words
# from 41,393,528 passages of 58.5 words, 1.19 words for each; propositions take 1.04 times the tokens of passages per
# word, and JSON one token and more for each. The example in Figure 8 has 1.37.
ANSWER_RATIO = 1.35

_FRAME = 8  # tokens that mark a message and its role, and the object around the list
_CHUNK = 1024


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that requests have used, as servers report them. Usages add up.

    Attributes:
        requests: Answers received. A server that reports no tokens adds only here.
        prompt_tokens: Tokens of prompts, cached ones among them.
        completion_tokens: Tokens of answers, with those of reasoning.
        cached_tokens: Of the prompt tokens, those that the server had in its cache and sells for less.
    """

    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.requests + other.requests,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cached_tokens + other.cached_tokens,
        )


@dataclass(frozen=True, slots=True)
class Prices:
    """What a model's tokens cost, in any currency. They are yours to give: prices change, so none are shipped.

    Args:
        input_per_million: A million prompt tokens.
        output_per_million: A million tokens of answers.
        cached_input_per_million: A million prompt tokens that the server had cached; None if they cost the same.
        batch_discount: Part of the price that the Batch API takes off.

    Raises:
        InvalidInputError: A price below 0, or a discount that is not between 0 and 1.
    """

    input_per_million: float
    output_per_million: float
    cached_input_per_million: float | None = None
    batch_discount: float = 0.5

    def __post_init__(self) -> None:
        prices = (self.input_per_million, self.output_per_million, self.cached_input_per_million or 0.0)
        if not all(price >= 0 for price in prices) or not 0 <= self.batch_discount <= 1:
            message = f"prices must be at least 0 and batch_discount between 0 and 1, got {self}"
            raise InvalidInputError(message)

    def cost(self, usage: Usage, *, batch: bool = False) -> float:
        """Return what some usage costs; `batch` for requests sent through the Batch API."""
        cached = self.input_per_million if self.cached_input_per_million is None else self.cached_input_per_million
        total = (
            (usage.prompt_tokens - usage.cached_tokens) * self.input_per_million
            + usage.cached_tokens * cached
            + usage.completion_tokens * self.output_per_million
        ) / 1e6
        return total * (1 - self.batch_discount) if batch else total


@dataclass(frozen=True, slots=True)
class Estimate:
    """What decomposing some passages would take.

    Attributes:
        passages: Passages given.
        cached: Those that need no request, because a cache holds them or they repeat others.
        usage: Requests and tokens of the rest.
        counted_by: How prompt tokens were counted.
        cost: Their price; None where no prices were given.
        batch_cost: Their price through the Batch API.
    """

    passages: int
    cached: int
    usage: Usage
    counted_by: str
    cost: float | None = None
    batch_cost: float | None = None

    def __str__(self) -> str:
        lines = [
            f"{self.passages:,} passages, {self.cached:,} of them need no request",
            f"{self.usage.prompt_tokens:,} prompt tokens (counted by {self.counted_by})",
            f"about {self.usage.completion_tokens:,} tokens of answers",
        ]
        if self.cost is not None and self.batch_cost is not None:
            digits = 2 if self.cost >= 10 else 4
            lines.append(f"about {self.cost:,.{digits}f}; through the Batch API {self.batch_cost:,.{digits}f}")
        return "\n".join(lines)


def estimate(
    passages: Iterable[Unit],
    prices: Prices | None = None,
    *,
    model: str = "",
    prompt: str | None = None,
    name: str | None = None,
    cache: PropositionCache | None = None,
    sample: Usage | None = None,
) -> Estimate:
    """Return what decomposing passages by prompting would cost. Nothing is sent.

    Prompts are counted with tiktoken where it is installed and has the vocabulary at hand or can load it, else by a
    rule of 4.5 characters of ASCII, or one other character, a token. Answers take 1.35 times the tokens of their
    passage (see `ANSWER_RATIO`), or as many as those of a sample: models that reason take many more.

    Args:
        passages: Passages, as `split_passages` gives them.
        prices: The model's.
        model: Its name, by which tiktoken chooses a vocabulary.
        prompt: Instructions instead of Figure 8.
        name: The name of the propositionizer, under which the cache holds its results.
        cache: A cache: what it holds is left out, and of equal passages one is counted.
        sample: `usage` of a propositionizer that has done some passages of this kind with this model.

    Raises:
        InvalidInputError: A cache without a name, or a passage with lone surrogates.
    """
    if cache is not None and name is None:
        message = "a cache needs the name of the propositionizer: name=propositionizer.name"
        raise InvalidInputError(message)
    count, counted_by = token_counter(model)
    given, new, prompt_tokens, answer_tokens = 0, 0, 0, 0
    # The passage stands at the end of a prompt: what comes before it is counted once.
    frame = count(prompt_for(_EMPTY, prompt)) - count(passage_input(_EMPTY)) + _FRAME
    seen: set[bytes] = set()
    for chunk in _chunks(passages):
        given += len(chunk)
        for passage in _uncached(chunk, name or "", cache, seen):
            new += 1
            prompt_tokens += frame + count(passage_input(passage))
            answer_tokens += count(passage.text)
    answers = (
        new * sample.completion_tokens / sample.requests if sample and sample.requests else ANSWER_RATIO * answer_tokens
    )
    usage = Usage(new, prompt_tokens, round(answers))
    costs = (prices.cost(usage), prices.cost(usage, batch=True)) if prices else (None, None)
    return Estimate(given, given - new, usage, counted_by, *costs)


def token_counter(model: str = "") -> tuple[Callable[[str], int], str]:
    """Return a function that counts the tokens of a text, and how it does so."""
    try:
        tiktoken = import_module("tiktoken")
        try:
            encoding = tiktoken.encoding_for_model(model)
        except KeyError:  # a model that it does not know
            encoding = tiktoken.get_encoding("o200k_base")
    except (ImportError, OSError):  # it loads its vocabularies on first use
        return rough_tokens, f"a rule: {CHARACTERS_PER_TOKEN:g} characters a token"
    return partial(_encoded, encoding), f"tiktoken, {encoding.name}"


def rough_tokens(text: str) -> int:
    """Return about how many tokens a text has."""
    plain = len(text) if text.isascii() else sum(character < "\x80" for character in text)
    return round(plain / CHARACTERS_PER_TOKEN) + len(text) - plain


def _encoded(encoding: object, text: str) -> int:
    return len(encoding.encode_ordinary(text))  # type: ignore[attr-defined]


_EMPTY = make_unit("", Granularity.PASSAGE, document_id="", parent_id="", start=0, end=0)


def _chunks(passages: Iterable[Unit]) -> Iterator[list[Unit]]:
    remaining = iter(passages)
    while chunk := list(islice(remaining, _CHUNK)):
        yield chunk


def _uncached(chunk: list[Unit], name: str, cache: PropositionCache | None, seen: set[bytes]) -> Iterator[Unit]:
    chunk = [passage for passage in chunk if passage.text.strip()]
    if cache is None:
        yield from chunk
        return
    for passage, found in zip(chunk, cache.get(name, chunk), strict=True):
        key = passage_key(name, passage)
        if found is None and key not in seen:
            seen.add(key)
            yield passage
