"""A store with what is doubtful in it, and a browser."""

from __future__ import annotations

import shutil

import pytest

from factoid import Document, UnitStore
from factoid.testing import HashEncoder, ScriptedPropositionizer
from tests.report.saved import HOSTILE

TEXT = """# Vasa

The Vasa sank in 1628. She carried too little ballast, and nobody was punished.

## Recovery

Divers found her in 1956. She was raised in 1961 with <b>steel cables</b>.
"""


def written(passage):
    """Propositions of which one invents a year, and none of a passage that fails."""
    if "hostile" in passage.text.lower():
        return []
    texts = [text.strip() + "." for text in passage.text.split(".") if text.strip()]
    return [*texts, "The Vasa sank in 1999."]


@pytest.fixture
def store():
    made = UnitStore(encoder=HashEncoder(), granularities=["passage", "sentence", "proposition"])
    documents = [
        Document(TEXT, id="vasa", metadata={"source": "ships/vasa.md"}),
        Document(f"A hostile text. {HOSTILE}", HOSTILE, id=f"bad/{HOSTILE}?#"),
    ]
    propositionizer = ScriptedPropositionizer(written)
    made.add_documents(
        documents, propositionizer=propositionizer, unsupported="keep", words=20, min_words=5
    )
    with made:
        yield made


@pytest.fixture(scope="module")
def chromium():
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("needs chromium: apt-get install chromium")
    with playwright.sync_playwright() as started:
        # Without a sandbox, since tests may run as root; all pages are our own.
        browser = started.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()
