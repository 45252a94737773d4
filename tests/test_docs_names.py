"""What the pages name in backticks exists: options, methods, files and commands."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CODE = (
    "shared/factoid",
    "langchain_factoid",
    "llama_index_factoid",
    "examples",
    "benchmarks",
    "tools",
    "tests",
)
WRITTEN = {"docs/cli.md"}  # by a tool
PAGES = sorted(
    str(page.relative_to(ROOT))
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
    if str(page.relative_to(ROOT)) not in WRITTEN | {"CHANGELOG.md"}
)
FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
NAMED = re.compile(r"`([^`\n]+)`")
QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
NAME = re.compile(r"[A-Za-z_][\w.]*(?:\(.*\)|=.*|\[.*\])?")
FILE = re.compile(r"[\w./-]+\.(?:py|c|toml|txt|md|yml)")

# Names of the frameworks and of other programs.
FOREIGN = frozenset(
    """
    AzureAIDocumentIntelligenceLoader BM25Retriever BaseChatModel CitationQueryEngine ColbertRerank
    EnsembleRetriever FaissMapVectorStore FaissVectorStore IngestionPipeline MetadataReplacementPostProcessor
    MultiQueryRetriever MultiVectorRetriever ParentDocumentRetriever PydanticResponse QueryEngineTool
    QueryFusionRetriever RecursiveCharacterTextSplitter RecursiveRetriever RetrieverQueryEngine
    RetrieversIntegrationTests SimpleVectorStore VectorStoreIntegrationTests
    as_query_engine as_retriever bind byte_store child_metadata_fields create_retrieval_chain
    delete_ref_doc from_args from_dict id_key merge_from mset normalize_L2 num_workers
    proposition_llm similarity_search_with_relevance_scores streaming target_metadata_key
    chat_models init_chat_model Fusion RRF CUDA_VISIBLE_DEVICES terminationGracePeriodSeconds token_limit_exceeded
    """.split()
)
# Examples: words of texts, files of users, keys of their metadata, kinds of FAISS, settings of
# LlamaIndex.
EXAMPLES = frozenset(
    """
    Straße STRASSE strasse istanbul ii PQ48 PQ96x4fs SQ4 SQ6 SQfp16 HNSW32 cp fees user_id tenant
    team project site sparse text_search S08 qrels yield toml pylock expertqa ARGS
    """.split()
)


@cache
def names() -> frozenset[str]:
    """Return all names in the code, and the words of its short texts."""
    known: set[str] = set()
    for folder in CODE:
        for path in (ROOT / folder).rglob("*.py"):
            if path == Path(__file__):
                continue
            known.update(path.relative_to(ROOT).with_suffix("").parts)
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                known.update(_names_of(node))
    return frozenset(known)


def _names_of(node: ast.AST) -> set[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.arg | ast.keyword):
        return {node.arg or ""}
    if isinstance(node, ast.Attribute):
        return {node.attr}
    if isinstance(node, ast.Name):
        return {node.id}
    if isinstance(node, ast.alias):
        return {*node.name.split("."), node.asname or ""}
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 40:
        return set(re.findall(r"\w+", node.value))
    return set()


@cache
def files() -> frozenset[str]:
    """Return the names of all files of the project."""
    skipped = {".git", ".venv", "build", "__pycache__"}
    paths = (path for path in ROOT.rglob("*") if skipped.isdisjoint(path.relative_to(ROOT).parts))
    return frozenset(path.name for path in paths)


@cache
def options() -> frozenset[str]:
    """Return the options of the commands."""
    return frozenset(
        re.findall(r"--[a-z][a-z-]*", (ROOT / "docs" / "cli.md").read_text(encoding="utf-8"))
    )


@cache
def commands() -> dict[str, str]:
    """Return the section of each command's help, by the words of the command."""
    sections = re.split(
        r"^#+ `factoid (.*)`$", (ROOT / "docs" / "cli.md").read_text(encoding="utf-8"), flags=re.M
    )
    return dict(zip(sections[1::2], sections[2::2], strict=True))


def wrong_commands(text: str) -> list[str]:
    """Return the lines of blocks that call no command, or one with an option that it lacks."""
    wrong: list[str] = []
    for block in FENCED.findall(text.replace("\\\n", " ")):
        for line in re.findall(r"^(?:\$ )?factoid (.*?)(?: #.*)?$", block, re.MULTILINE):
            words = line.split()
            is_group = any(name.startswith(f"{words[0]} ") for name in commands())
            section = commands().get(" ".join(words[: 1 + is_group]), "")
            used = re.findall(r"(?<!\S)--?[a-z][a-z-]*", line)
            if not section or not all(re.search(rf"[`,]\s?{option}\b", section) for option in used):
                wrong.append(line)
    return wrong


@pytest.mark.parametrize("page", PAGES)
def test_commands_in_blocks_take_their_options(page: str) -> None:
    assert not wrong_commands((ROOT / page).read_text(encoding="utf-8"))


def test_a_wrong_command_is_noticed() -> None:
    lines = [
        "index docs/ --stor s",
        "serch s q",
        "store stat s",
        "index docs/ --sync \\\n  --store s -q  # a comment",
    ]
    text = "```sh\n" + "\n".join(f"factoid {line}" for line in lines) + "\n```"
    assert wrong_commands(text) == lines[:3]


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_names_exists(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    in_programs = set(re.findall(r"\w+", " ".join(FENCED.findall(text))))
    known = names() | in_programs | FOREIGN | EXAMPLES
    unknown: list[str] = []
    for quoted in NAMED.findall(FENCED.sub("", text)):
        if FILE.fullmatch(quoted):
            name = Path(quoted).name
            is_ours = name.endswith((".py", ".c"))
            if name not in files() and (is_ours or Path(name).stem not in known):
                unknown.append(quoted)
        elif quoted.startswith("factoid "):
            used = re.findall(r"--[a-z][a-z-]*", quoted)
            unknown += [option for option in used if option not in options()]
        elif NAME.fullmatch(bare := QUOTED.sub("", quoted)):
            unknown += [
                f"{quoted}: {name}"
                for name in re.findall(r"[A-Za-z_]\w+", bare)
                if name not in known
            ]
    assert not unknown


def test_a_name_that_does_not_exist_is_noticed() -> None:
    assert not {"retry_seconds", "batch_tokens", "max_retrys"} & names()
    assert {"add_documents", "MultiGranularRetriever", "min_words", "nprobe"} <= names()
    assert "--granularities" in options()
    assert "--no-such-option" not in options()


def headings(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    text = FENCED.sub("", page.read_text(encoding="utf-8"))
    lines = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    shown = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", line) for line in lines]
    return {re.sub(r"[^\w\- ]", "", line.lower()).replace(" ", "-") for line in shown}


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    text = FENCED.sub("", (ROOT / page).read_text(encoding="utf-8"))
    broken: list[str] = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        name, _, anchor = link.partition("#")
        target = ((ROOT / page).parent / name).resolve() if name else ROOT / page
        is_there = link.startswith(("https:", "mailto:")) or target.exists()
        if not is_there or (anchor and target.suffix == ".md" and anchor not in headings(target)):
            broken.append(link)
    assert not broken
