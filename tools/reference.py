"""Write docs/reference.md from signatures and docstrings: `make docs`.

Comments on fields are read, too, so that it cannot go stale.
"""

from __future__ import annotations

import ast
import inspect
import io
import json
import re
import textwrap
import tokenize
from dataclasses import is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference.md"

HEAD = """# Reference

<!-- Written by `make docs` from docstrings and the comments on fields: change those. -->

The options of the main classes and functions, and the fields of what they take and return. What
they raise, and what is not here, is in their docstrings.
"""

# Headings, with what stands under each: `module.name`, or a module for the text of its docstring.
SECTIONS = {
    "The core: `factoid`": [
        *(
            "factoid.Document",
            "factoid.split_passages",
            "factoid.propositions.decompose",
            "factoid.UnitStore",
        ),
        *("factoid.UnitStore.add_documents", "factoid.UnitStore.add", "factoid.UnitStore.search"),
        *(
            "factoid.store.options.SearchOptions",
            "factoid.Hit",
            "factoid.Unit",
            "factoid.UnitStore.delete",
        ),
        *(
            "factoid.pack_context",
            "factoid.SentenceTransformerEncoder",
            "factoid.SyntaxPropositionizer",
        ),
        *(
            "factoid.FlanT5Propositionizer",
            "factoid.PromptPropositionizer",
            "factoid.CachedPropositionizer",
        ),
        *("factoid.AnyGranularityRanker", "factoid.AnyGranularityRanker.rank"),
        *("factoid.PropCite", "factoid.PropCite.cite", "factoid.PropCite.stream"),
    ],
    "Retrievers and readers of the papers": [
        *("factoid.dual_encoders.make_retriever", "factoid.dual_encoders.DualEncoder"),
        *("factoid.readers.Seq2SeqReader", "factoid.readers.FusionReader"),
        *("factoid.readers.CausalReader", "factoid.readers.ExtractiveReader"),
        "factoid.propositions.bert_score.BertScore",
        "factoid.evaluate.reproduce.dense_x.reproduce_dense_x",
        *(
            "factoid.evaluate.reproduce.agrame.reproduce_rankings",
            "factoid.evaluate.reproduce.agrame.reproduce_citations",
            "factoid.evaluate.reproduce.entity_retrieval.reproduce_entity_retrieval",
        ),
    ],
    "LangChain: `langchain_factoid`": [
        *("langchain_factoid.MultiGranularFAISS", "langchain_factoid.MultiGranularRetriever"),
        *("langchain_factoid.PassageTextSplitter", "langchain_factoid.PropositionTextSplitter"),
        *("langchain_factoid.ChatModelPropositionizer", "langchain_factoid.EntityRetriever"),
        *("langchain_factoid.AnyGranularityReranker", "langchain_factoid.PropCiteRunnable"),
        *("langchain_factoid.with_headings", "langchain_factoid.convert"),
    ],
    "LlamaIndex: `llama_index_factoid`": [
        *(
            "llama_index_factoid.MultiGranularFaissVectorStore",
            "llama_index_factoid.MultiGranularRetriever",
        ),
        *("llama_index_factoid.MultiGranularNodeParser", "llama_index_factoid.PassageNodeParser"),
        *("llama_index_factoid.PropositionNodeParser", "llama_index_factoid.LLMPropositionizer"),
        *(
            "llama_index_factoid.EntityRetriever",
            "llama_index_factoid.AnyGranularityRerank",
            "llama_index_factoid.PropCiteQueryEngine",
            "llama_index_factoid.convert",
        ),
    ],
}

# Modules with records: those that they export or, where they name no exports, define.
RECORDS = [
    *(
        "factoid",
        "factoid.late_interaction",
        "factoid.documents",
        "factoid.propositions",
        "factoid.store",
    ),
    *("factoid.propositions.prompting.batches", "factoid.propositions.score"),
    *("factoid.entities", "factoid.entities.articles.article"),
    *("factoid.evaluate.citations", "factoid.evaluate.answers", "factoid.evaluate.atomic_facts"),
    *("factoid.evaluate.granularities", "factoid.evaluate.linking"),
    *("factoid.dual_encoders", "factoid.evaluate.datasets", "factoid.evaluate.reproduce.tables"),
    *("factoid.training.rankers.examples", "factoid.training.rankers.settings"),
    "factoid.training.propositionizers.settings",
]


def render() -> str:
    """Return the page."""
    parts = [HEAD]
    for heading, names in SECTIONS.items():
        parts += [f"## {heading}\n", *map(describe, names)]
    return "\n".join(
        [*parts, "## Records\n", "One that extends another lists what it adds.\n", *records()]
    )


def records() -> list[str]:
    """Return the texts and the fields of the records that stand in no other section."""
    found = {find(name): "" for names in SECTIONS.values() for name in names}
    for module in map(import_module, RECORDS):
        for name in getattr(module, "__all__", list(vars(module))):
            symbol = getattr(module, name)
            own = hasattr(module, "__all__") or getattr(symbol, "__module__", "") == module.__name__
            if (
                inspect.isclass(symbol)
                and is_dataclass(symbol)
                and own
                and not name.startswith("_")
            ):
                found.setdefault(symbol, f"{module.__name__}.{name}".split(".", 1)[1])
    parts = []
    for symbol, name in found.items():
        paragraphs = (inspect.getdoc(symbol) or "").split("\n\n")
        text = "\n\n".join(part for part in paragraphs if not re.match(r"\w+:\n", part))
        if name and (lines := arguments(paragraphs) or fields(symbol)):
            parts.append("\n".join([f"### `{name}`\n", text, "", *lines]) + "\n")
    return parts


def fields(symbol: type) -> list[str]:
    """Return a line for each field of a class, with the comments above and behind it."""
    source = textwrap.dedent(inspect.getsource(symbol))
    rows = source.split("\n")
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = {}
    for token in tokens:
        if token.type == tokenize.COMMENT:
            comments[token.start[0]] = token.string.lstrip("# ")
    [record] = ast.parse(source).body
    lines = []
    for node in record.body if isinstance(record, ast.ClassDef) else []:
        if not isinstance(node, ast.AnnAssign) or (name := ast.unparse(node.target)).startswith(
            "_"
        ):
            continue
        first = node.lineno
        while rows[first - 2].lstrip().startswith("#"):
            first -= 1
        meaning = " ".join(
            comments[row] for row in range(first, (node.end_lineno or first) + 1) if row in comments
        )
        lines.append(f"* `{name}`: {meaning}" if meaning else f"* `{name}`")
    return lines


def describe(name: str) -> str:
    """Return the signature, the text and the arguments of one class or function.

    Of a module, its text.
    """
    symbol = find(name)
    first, *paragraphs = (inspect.getdoc(symbol) or "").split("\n\n")
    prose = [part for part in paragraphs if not re.match(r"\w+:\n", part)]
    keys = [part for part in prose[1:] if "`matches`" in part or "metadata" in part]
    if inspect.ismodule(symbol):
        return "\n\n".join(["### Metadata", *paragraphs]) + "\n"
    short = name.split(".", 1)[1].removeprefix("store.options.")
    lines = [
        f"### `{short}`\n",
        "```python",
        signature(short, symbol),
        "```\n",
        "\n\n".join([first, *prose[:1], *keys]),
        "",
    ]
    return "\n".join([*lines, *arguments(paragraphs)]).rstrip() + "\n"


def arguments(paragraphs: list[str]) -> list[str]:
    """Return a line for each argument or attribute that a docstring describes."""
    described = (part for part in paragraphs if part.startswith(("Args:\n", "Attributes:\n")))
    result = []
    for part in described:
        for item in re.split(r"\n(?=    \S)", part)[1:]:
            result.append(argument(item))
    return result


def argument(item: str) -> str:
    """Return the line of one argument."""
    names, _, meaning = item.strip().partition(": ")
    return f"* `{names.lstrip('*')}`: {' '.join(meaning.split())}"


def find(name: str) -> Any:
    """Return the object of a dotted name."""
    parts = name.split(".")
    symbol = import_module(parts[0])
    for place, part in enumerate(parts[1:], start=2):
        symbol = getattr(symbol, part, None) or import_module(".".join(parts[:place]))
    return symbol


def signature(name: str, symbol: Any) -> str:
    """Return a call with the names of all arguments and their defaults, without types."""
    parts: list[str] = []
    star = False
    for parameter in inspect.signature(symbol).parameters.values():
        if parameter.name == "self" or parameter.name.startswith("_"):
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not star:
            parts.append("*")
        star = star or parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
        default = "" if parameter.default is parameter.empty else f"={shown(parameter.default)}"
        parts.append(
            str(parameter.replace(annotation=parameter.empty, default=parameter.empty)) + default
        )
    return "\n".join(
        textwrap.wrap(
            f"{name}({', '.join(parts)})", 110, subsequent_indent="    ", break_long_words=False
        )
    )


def shown(value: Any) -> str:
    """Return a default as a reader would write it: the same on every machine."""
    if isinstance(value, str):
        return json.dumps(getattr(value, "value", value), ensure_ascii=False)
    if isinstance(value, tuple):
        return f"({', '.join(map(shown, value))})"
    if value is None or isinstance(value, bool | int | float | list | dict):
        return repr(value)
    return "…"


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
    print(f"wrote {PAGE}")
