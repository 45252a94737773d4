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
    specification = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
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
    assert {line.split()[0] for line in printed.splitlines()[1:4]} == {"passage", "sentence", "proposition"}


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
    assert re.fullmatch(r"The lighthouse at Skagen was designed by Niels Nebelong \[\d\]\. .* in 2019 \[\d\]\.", cited)
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

    assert load("entity_langchain").main(Chat(responses=["Every 4,000 hours."])) == "Every 4,000 hours."
    assert "its seal is changed every 4,000 hours" in asked[0]
    assert "'T40' is Tern 40, page 12\n'annual check' is Station check, page 55\n" in capsys.readouterr().out


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
    assert (first.page_content, first.metadata["title"]) == ("Anna Berg was born in Oslo.", "Anna Berg")
    assert "Anna Berg 0–27: Anna Berg was born in Oslo." in capsys.readouterr().out
    assert (tmp_path / "store" / "tokens.sqlite").exists()


def test_rerank_llama_index(colbert, tmp_path, capsys, embed_model):
    from llama_index.core.llms import MockLLM

    answer = load("rerank_llama_index").main(colbert, embed_model, MockLLM(), str(tmp_path / "store"))
    assert "Anna Berg was born in Oslo." in answer  # the mock repeats its prompt
    assert "Anna Berg 0–27: Anna Berg was born in Oslo." in capsys.readouterr().out.splitlines()[0]
    assert (tmp_path / "store" / "tokens.sqlite").exists()


def test_process_documents(tmp_path):
    source = tmp_path / "a.md"
    source.write_text("# Title\n\nAnna sang. Bob slept.\n", encoding="utf-8")
    script = ScriptedPropositionizer({"Anna sang. Bob slept.": ["Anna sang.", "Bob slept."]})
    written = load("process_documents").main(str(tmp_path), str(tmp_path / "units.jsonl"), script)
    units = [json.loads(line) for line in (tmp_path / "units.jsonl").read_text(encoding="utf-8").splitlines()]
    assert written == len(units) == 5
    text = source.read_text(encoding="utf-8")
    assert all(text[unit["start"] : unit["end"]] == unit["text"] for unit in units)


def colored(image):
    """Return the points of a picture that are marked."""
    pixels = pytest.importorskip("PIL.Image").open(image).convert("RGB")
    width, height = pixels.size
    points = ((x, y) for x in range(width) for y in range(height))
    return [(x, y) for x, y in points if (color := pixels.getpixel((x, y)))[0] - color[2] > 40]


@pytest.fixture
def example():
    for package in ("pdfplumber", "pypdfium2", "PIL"):
        pytest.importorskip(package)
    return load("document_processing")


def test_document_processing(example, tmp_path, capsys):
    evidence = example.main(output=tmp_path, encoder=HashEncoder())
    assert evidence.unit.text == "In Table 1, Sund Mouth has Highest of 271 for 2022."
    printed = capsys.readouterr().out
    assert "1 tables → 1 summaries; 0 failed\n  A table of 4 rows with the columns Gauge, 2021 / Highest" in printed
    assert "[1] tide-gauges.pdf, page 1, 2 Levels\n    page 1, box [" in printed
    # What is marked, up to the lines around it: in the row of Sund Mouth its name and the highest level of 2022.
    from tools.sample_pdf import COLUMNS, ROW_HEIGHT, TABLE_TOP

    scale = 110 / 72
    marked = colored(tmp_path / "page-1.png")
    assert len(marked) > 500
    inside = [(x / scale, y / scale) for x, y in marked if min(abs(x / scale - left) for left in COLUMNS) > 2]
    assert {round((y - TABLE_TOP) / ROW_HEIGHT - 0.5) for _, y in inside} <= {3, 4, 5}
    assert {sum(x >= left for left in COLUMNS) - 1 for x, _ in inside} == {0, 3}
    example.main(output=tmp_path, encoder=HashEncoder(), read=lambda question, text: f"<script>{question}</script>")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "&lt;script&gt;" in page
    assert "<script" not in page
    assert '<img src="page-1.png"' in page


def test_document_processing_of_another_file_in_the_same_folder(example, tmp_path):
    output, other = tmp_path / "out", tmp_path / "other.md"
    example.main(output=output, encoder=HashEncoder())
    assert [path.name for path in output.glob("*.png")] == ["page-1.png"]
    for level in ("3 m", "4 m"):
        other.write_text(f"# Sund Mouth\n\nThe quay lies at {level}.\n", encoding="utf-8")
        assert example.main(other, output=output, encoder=HashEncoder()).unit.text == f"The quay lies at {level}."
    assert not list(output.glob("*.png"))


def test_document_processing_of_a_result(example, tmp_path, data, capsys):
    folder = data / "azure-docintel" / "code-samples" / "Data" / "layout"
    evidence = example.main(
        folder / "sample-layout-output.json",
        pdf=folder / "sample-layout.pdf",
        question="trading symbol of 2.125% notes due 2021",
        output=tmp_path,
        encoder=HashEncoder(),
    )
    assert evidence.unit.text == "2.125% Notes due 2021 has Trading Symbol of MSFT."
    tops = [y * 72 / 110 / 72 for _, y in colored(tmp_path / "page-1.png")]
    assert 5.25 < min(tops) < max(tops) < 5.5  # inches, the row of the service's own grid
    assert "page 1, box [3.84, 5.3" in capsys.readouterr().out
