"""The installed wheel without extras. Run by .ci/run in an environment that holds nothing else."""
# ruff: noqa: T201

import sys
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import factoid
from factoid import (
    AnyGranularityRanker,
    Document,
    SentenceTransformerEncoder,
    SyntaxPropositionizer,
    UnitStore,
    split_passages,
    split_sentences,
)
from factoid.cli import main
from factoid.demo import find_data, load_encyclopedia
from factoid.entities import EntityRetriever, build_own_articles
from factoid.entities.importers import MediaWikiDump
from factoid.errors import MissingDependencyError
from factoid.files.readers import read_file
from factoid.propositions import decompose
from factoid.testing import HashEncoder

TEXT = """# Surtsey

Surtsey, a volcanic island south of Iceland, rose from the sea in 1963. Its first higher plant, a sea rocket, was
discovered on the shore in 1965.
"""


def missing(action, *expected):
    """Assert that an action says what to install."""
    said = "nothing"
    try:
        action()
    except MissingDependencyError as error:
        said = str(error)
    assert all(part in said for part in expected), f"expected an error with {expected}, got {said}"


for extra in (
    "faiss",
    "torch",
    "transformers",
    "sentence_transformers",
    "openai",
    "langchain_core",
    "llama_index",
):
    assert find_spec(extra) is None, f"{extra} is installed: this environment is not bare"
assert Path(factoid.__file__).is_relative_to(sys.prefix), f"not the wheel: {factoid.__file__}"

document = Document(TEXT)
(passage,) = split_passages(document)
assert (passage.title, len(split_sentences(passage))) == ("Surtsey", 2)
propositions = decompose([passage], SyntaxPropositionizer()).units
assert len(propositions) > 2, propositions
assert any("1963" in unit.text and unit.text not in TEXT for unit in propositions), propositions
print(*(f"  {unit.text}" for unit in propositions), sep="\n")

with UnitStore(encoder=HashEncoder()) as store:
    store.add_documents([document])
    missing(lambda: store.search("Surtsey"), "faiss", 'pip install "factoid[cpu]"')
with build_own_articles([Document(passage.text, passage.title)]) as articles:
    (hit,) = EntityRetriever(articles, words=4).retrieve("When did Surtsey rise?")
    assert hit.unit.text == "Surtsey, a volcanic island", hit
with TemporaryDirectory() as folder:
    dump = Path(folder, "dump.xml")
    dump.write_text(
        "<mediawiki><page><title>A</title><ns>0</ns><id>1</id></page></mediawiki>", encoding="utf-8"
    )
    assert [article.title for article in MediaWikiDump(dump)] == ["A"]
missing(
    lambda: SentenceTransformerEncoder("any").encode_queries(["?"]), 'pip install "factoid[models]"'
)
missing(lambda: AnyGranularityRanker("any").rank("?", ["Here."]), 'pip install "factoid[models]"')
missing(lambda: list(read_file("page.html")), 'pip install "factoid[documents]"')
missing(lambda: __import__("langchain_factoid"), 'pip install "factoid[langchain]"')
missing(lambda: __import__("llama_index_factoid"), 'pip install "factoid[llama-index]"')

for package in ("factoid", "langchain_factoid", "llama_index_factoid"):
    assert Path(find_spec(package).origin).with_name("py.typed").exists(), (
        f"{package} ships no py.typed"
    )

articles, questions = load_encyclopedia(find_data())
assert find_data().is_relative_to(sys.prefix)
assert articles
assert questions

Path("island.md").write_text(TEXT, encoding="utf-8")
assert main(["split", "island.md"]) == 0
assert main(["index", "island.md", "--store", "store"]) == 1  # no encoder here: one line on stderr
assert main(["split", "absent.md"]) == 1
print("the core works without extras")
