"""The same search with the native classes of both frameworks.

The core knows no framework, so their code lies here as text: it is shown, run, and its result compared with the core's.
"""

from __future__ import annotations

import runpy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from importlib.util import find_spec
from typing import Any

from factoid.encode import Encoder
from factoid.terminal import count, excerpt, plain, wrap
from factoid.units import Document, Hit

_MARK = "# The six lines:\n"


@dataclass(frozen=True, slots=True)
class Framework:
    """A framework: its package, the extra that installs it, its code, and the text and score in what the code found."""

    name: str
    package: str
    extra: str
    file: str
    best: Callable[[Any], tuple[str, float]]


FRAMEWORKS = (
    Framework(
        "LangChain",
        "langchain_core",
        "langchain",
        "langchain.txt",
        lambda found: (found[0][0].page_content, found[0][1]),
    ),
    Framework(
        "LlamaIndex",
        "llama_index",
        "llama-index",
        "llama_index.txt",
        lambda found: (found[0].text, found[0].score),
    ),
)


def run_framework(
    framework: Framework, documents: Sequence[Document], question: str, encoder: Encoder, expected: Hit
) -> str:
    """Run a framework's six lines; return these and what they found, or how to install it.

    Args:
        framework: Which one.
        documents: What to index.
        question: What to ask.
        encoder: Encodes units and question.
        expected: What the core found.
    """
    if find_spec(framework.package) is None:
        return f'{framework.name} is not installed. Run: pip install "factoid[{framework.extra}]"'
    resource = files("factoid.demo") / framework.file
    shown = resource.read_text(encoding="utf-8").partition(_MARK)[2]
    names = {"encoder": encoder, "question": question, "texts": [document.text for document in documents]}
    with as_file(resource) as path:
        text, score = framework.best(runpy.run_path(str(path), init_globals=names)["found"])
    same = text == expected.unit.text and abs(score - expected.score) < 1e-4
    verdict = "the same passage and score as above" if same else f"above it was {expected.score:.3f}, another passage"
    given = f"# texts: {count(len(documents), 'document')} of the best hits. question: {plain(question)}"
    lines = [wrap(given, indent="    # ", first="    "), *(f"    {line}" for line in shown.splitlines())]
    return "\n".join([*lines, "", f"  score {score:.3f} · {verdict}", wrap(excerpt(text), indent=" " * 6)])
