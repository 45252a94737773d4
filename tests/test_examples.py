"""Each example runs, with public fakes for encoder and models."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from factoid import PropCite
from factoid.testing import HashEncoder, ScriptedPropositionizer
from tests.late_interaction.word_vectors import WordVectors

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def load(name: str) -> ModuleType:
    specification = importlib.util.spec_from_file_location(
        f"example_{name}", EXAMPLES / f"{name}.py"
    )
    assert specification
    assert specification.loader
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_all_are_tested():
    tests = Path(__file__).read_text(encoding="utf-8")
    assert all(f'"{path.stem}"' in tests for path in EXAMPLES.glob("*.py"))


def test_core(capsys):
    load("core").main(HashEncoder())
    printed = capsys.readouterr().out
    assert "Niels Sigfried Nebelong" in printed
    assert {line.split()[0] for line in printed.splitlines()[1:3]} == {"passage", "proposition"}


@pytest.fixture
def embeddings():
    from langchain_factoid import EncoderEmbeddings

    return EncoderEmbeddings(HashEncoder())


@pytest.fixture
def embed_model():
    from llama_index_factoid import EncoderEmbedding

    return EncoderEmbedding(HashEncoder())


def test_langchain_chain(capsys, embeddings, monkeypatch):
    from langchain_core.language_models import FakeListChatModel

    chain = load("langchain_chain")
    assert chain.main(embeddings) == "Niels Sigfried Nebelong."
    assert "designed by the architect Niels Sigfried Nebelong" in capsys.readouterr().out
    package = ModuleType("langchain_openai")
    package.ChatOpenAI = lambda *, model: FakeListChatModel(responses=[f"from {model}"])
    monkeypatch.setitem(sys.modules, "langchain_openai", package)
    monkeypatch.setattr("sys.argv", ["langchain_chain.py", "--openai"])
    assert chain.main(embeddings).startswith("from ")


def test_llama_index_query_engine(capsys, embed_model):
    from llama_index.core.llms import MockLLM

    load("llama_index_query_engine").main(embed_model, MockLLM(max_tokens=5))
    printed = capsys.readouterr().out
    assert "Skagen" in printed
    assert "Rubjerg" not in printed


@pytest.mark.parametrize("name", ["cite_langchain", "cite_llama_index"])
def test_cite(capsys, name):
    cited = load(name).main(PropCite(WordVectors()))
    assert re.fullmatch(
        r"The lighthouse at Skagen was designed by Niels Nebelong \[\d\]\. .* in 2019 \[\d\]\.",
        cited,
    )
    printed = capsys.readouterr().out
    assert cited in printed
    assert re.search(r"\[\d\] Rubjerg Knude: .*moved 70 metres", printed)


def test_entity_langchain(capsys):
    from langchain_core.language_models import FakeListChatModel

    asked = []

    class Chat(FakeListChatModel):
        def _call(self, messages, *args, **options):
            asked.append(messages[0].content)
            return super()._call(messages, *args, **options)

    assert (
        load("entity_langchain").main(Chat(responses=["Every 4,000 hours."]))
        == "Every 4,000 hours."
    )
    assert "its seal is changed every 4,000 hours" in asked[0]
    assert (
        "'T40' is Tern 40, page 12\n'annual check' is Station check, page 55\n"
        in capsys.readouterr().out
    )


def test_entity_llama_index(capsys, embed_model):
    from llama_index.core.llms import MockLLM

    answer = load("entity_llama_index").main(embed_model, MockLLM())
    assert "starts and stops up to six pumps" in answer  # the mock repeats its prompt
    printed = capsys.readouterr().out
    assert "How many pumps does Heron start?  ←  Heron (controller)" in printed
    assert "How long is the air of a shaft measured?  ←  safety" in printed


@pytest.fixture
def colbert(tmp_path):
    pytest.importorskip("sentence_transformers")
    from tests.late_interaction.tiny_colbert import write_colbert

    return str(write_colbert(tmp_path / "colbert"))


def test_rerank_langchain(colbert, tmp_path, capsys, embeddings):
    first, _ = load("rerank_langchain").main(colbert, embeddings, str(tmp_path / "store"))
    assert (first.page_content, first.metadata["title"]) == (
        "Anna Berg was born in Oslo.",
        "Anna Berg",
    )
    assert "Anna Berg 0–27: Anna Berg was born in Oslo." in capsys.readouterr().out
    assert (tmp_path / "store" / "tokens.sqlite").exists()


def test_rerank_llama_index(colbert, tmp_path, capsys, embed_model):
    from llama_index.core.llms import MockLLM

    answer = load("rerank_llama_index").main(
        colbert, embed_model, MockLLM(), str(tmp_path / "store")
    )
    assert "Anna Berg was born in Oslo." in answer  # the mock repeats its prompt
    assert "Anna Berg 0–27: Anna Berg was born in Oslo." in capsys.readouterr().out.splitlines()[0]
    assert (tmp_path / "store" / "tokens.sqlite").exists()


def test_process_documents(tmp_path):
    source = tmp_path / "a.md"
    source.write_text("# Title\n\nAnna sang. Bob slept.\n", encoding="utf-8")
    script = ScriptedPropositionizer({"Anna sang. Bob slept.": ["Anna sang.", "Bob slept."]})
    written = load("process_documents").main(str(tmp_path), str(tmp_path / "units.jsonl"), script)
    units = [
        json.loads(line)
        for line in (tmp_path / "units.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    assert written == len(units) == 5
    text = source.read_text(encoding="utf-8")
    assert all(text[unit["start"] : unit["end"]] == unit["text"] for unit in units)


def test_document_processing(tmp_path, capsys):
    for package in ("pdfplumber", "pypdfium2", "PIL"):
        pytest.importorskip(package)
    example = load("document_processing")
    evidence = example.main(
        output=tmp_path, encoder=HashEncoder(), read=lambda question, text: "<script>"
    )
    assert evidence.unit.text == "In Table 1, Sund Mouth has Highest of 271 for 2022."
    printed = capsys.readouterr().out
    assert (
        "1 tables → 1 summaries; 0 failed\n  A table of 4 rows with the columns Gauge, 2021 / Highest"
        in printed
    )
    assert "[1] tide-gauges.pdf, page 1, 2 Levels\n    page 1, box [" in printed
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "&lt;script&gt;" in page
    assert "<script" not in page
    assert '<img src="page-1.png"' in page
    assert (tmp_path / "page-1.png").exists()


def check_existing(printed: str) -> None:
    passage, first, *_ = printed.splitlines()
    assert passage.startswith("The ferry leaves at noon")
    assert re.fullmatch(r"  0\.\d\d  .*captain.*", first)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_existing_langchain_chroma(capsys, embeddings):
    pytest.importorskip("langchain_chroma", reason="needs langchain-chroma, of the group `stores`")
    load("existing_langchain_chroma").main(embeddings)
    check_existing(capsys.readouterr().out)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
@pytest.mark.filterwarnings(
    "ignore::PendingDeprecationWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
def test_existing_langchain_pgvector(capsys, embeddings, database):
    pytest.importorskip(
        "langchain_postgres", reason="needs langchain-postgres, of the group `stores`"
    )
    address = database.replace("postgresql://", "postgresql+psycopg://")
    load("existing_langchain_pgvector").main(address, embeddings)
    check_existing(capsys.readouterr().out)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_existing_llama_index_chroma(capsys, embed_model):
    pytest.importorskip("llama_index.vector_stores.chroma", reason="needs the group `stores`")
    load("existing_llama_index_chroma").main(embed_model)
    check_existing(capsys.readouterr().out)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_existing_llama_index_pgvector(capsys, embed_model, database):
    pytest.importorskip("llama_index.vector_stores.postgres", reason="needs the group `stores`")
    load("existing_llama_index_pgvector").main(database, embed_model)
    check_existing(capsys.readouterr().out)
