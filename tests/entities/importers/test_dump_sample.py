"""The importer on a sample of a real dump: what is left of the markup."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from factoid.entities.articles.article import Article, Redirect
from factoid.entities.importers.mediawiki import MediaWikiDump


@pytest.fixture(scope="module")
def sample(data: Path) -> list[Article | Redirect]:
    files = sorted((data / "wikipedia-enwiki-gensim").glob("*.bz2"))
    if not files:
        pytest.skip(f"needs the dump sample in {data / 'wikipedia-enwiki-gensim'}")
    return list(MediaWikiDump(files))


# Signs of markup that no sentence of the sample contains.
MARKUP = {
    "template": r"\{\{[\w ]+[|}]|^\}\}",  # formulas have braces, too
    "link or table": r"\[\[|\]\]|\{\||\|\}",
    "bold": r"''",
    "tag": r"</?[a-zA-Z][^<>]*>",
    "address": r"https?:",
    "row": r"^\s*[|!]|\|\|",
    "heading": r"==",
    "switch": r"__\w+__",
    "entity": r"&(?:\w+|#\d+);",
    "list": r"^[ *#:;]|^-{4}",
    "picture": r"thumb\||px\||style=|colspan",
    "empty brackets": r"\(\s*[,;)]|[,;]\s*\)|\[\s*\]|\( | \)|“”",
    "gap": r" [,;](?:\s|$)| \.(?:$| (?!\.))(?<!\. \. )|,,|;;|, ,(?! \.)|; ;|,\s\.(?! ?\.)|  |\n\n\n|[ \t]$",
}


@pytest.mark.parametrize("kind", MARKUP)
def test_the_sample_has_no_markup_left(sample: list[Article | Redirect], kind: str) -> None:
    texts = [record.text for record in sample if isinstance(record, Article)]
    marks = (
        (text, match) for text in texts for match in re.finditer(MARKUP[kind], text, re.MULTILINE)
    )
    assert [text[max(0, match.start() - 30) : match.end() + 30] for text, match in marks] == []
