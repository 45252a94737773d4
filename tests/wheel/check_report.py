"""The installed wheel with [report]: pages are made of the templates in it. Run by .ci/run."""
# ruff: noqa: T201

import sys
from pathlib import Path

import factoid
from factoid import Document, UnitStore
from factoid.cli import main
from factoid.evaluate.compare import compare
from factoid.evaluate.questions import Question
from factoid.evaluate.settings import Setting
from factoid.report.inspector import Inspector
from factoid.report.page import write
from factoid.testing import HashEncoder

assert Path(factoid.__file__).is_relative_to(sys.prefix), f"not the wheel: {factoid.__file__}"

DOCUMENTS = [
    Document("The Vasa sank in 1628. She carried too little ballast.", "Vasa"),
    Document("The Fram was built in 1892. She drifted over the Arctic Ocean.", "Fram"),
]
QUESTIONS = [Question(text="When did the Vasa sink?", answers=("1628",))]

settings = [Setting(name="sentences", units="sentence"), Setting(name="passages", units="passage")]
comparison = compare(DOCUMENTS, QUESTIONS, settings, encoder=HashEncoder(), words=20)
write(comparison, "comparison.html")
page = Path("comparison.html").read_text(encoding="utf-8")
assert "When did the Vasa sink?" in page
assert "polyline" in page

with UnitStore("ships", encoder=HashEncoder()) as store:
    store.add_documents(DOCUMENTS)
    assert "The Vasa sank in 1628." in Inspector(store, "ships").to_html()
assert main(["inspect", "ships", "--output", "ships.html"]) == 0
assert "<title>ships</title>" in Path("ships.html").read_text(encoding="utf-8")
print("pages are made of the templates in the wheel")
