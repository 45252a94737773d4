"""Both printouts of a paper come out clean: nothing of the service's markup is left, and all of the
paper is.
"""

from __future__ import annotations

import re
from functools import cache

import pytest

from benchmarks.documents import RULES, faults, plain
from factoid import SyntaxPropositionizer, Unit, split_passages, split_sentences
from factoid.documents import LayoutDocument, Part, clean, read_layout, read_markdown, regions
from factoid.propositions import decompose
from tests.documents.seeds import first_pages, printed_paper

HEADINGS = """Abstract
1 Introduction
2 Proposition as a Retrieval Unit
3 FACTOID WIKI: Proposition-Level Index and Retrieval for Wikipedia
4 Experimental Settings
4.1 Open-Domain QA Datasets
4.2 Dense Retrieval Models
4.3 Passage Retrieval Evaluation
4.4 Downstream QA Evaluation
5 Results: Passage Retrieval
5.1 Passage Retrieval Performance
5.2 Retrieval by Proposition => Better Cross-Task Generalization
6 Results: Open-Domain QA
6.1 QA Performance
6.2 Propositions => Higher Density of Question-Related Information
6.3 Error Case Study
7 Related Work
8 Conclusion
Limitations
References
A Retrieval Corpus Processing
B Training the Propositionizer
C Offline Indexing
D Retrievers Models
E Additional Results""".splitlines()
FURNITURE = re.compile(r"arXiv:2312\.06648|PageFooter|PageHeader|Footnote=|figures/\d")


@cache
def paper() -> LayoutDocument:
    return clean(read_markdown(printed_paper()))


@cache
def opening() -> LayoutDocument:
    return clean(read_layout(first_pages()))


def passages(document: LayoutDocument) -> list[Unit]:
    return [
        unit
        for part in document.documents(["text", "table", "figure", "reference"])
        for unit in split_passages(part)
    ]


def sections(document: LayoutDocument) -> list[Part]:
    return [part for part in document.parts if part.kind in ("text", "heading", "reference")]


def test_title_and_sections_in_order() -> None:
    """Figure 8, a prompt, was read as text under the heading "Passage = Propositions"."""
    assert paper().title == "Dense XX Retrieval: What Retrieval Granularity Should We Use?"
    assert paper().text.startswith(f"# {paper().title}\n\n")
    assert [part.path[-1] for part in sections(paper())[1:]] == [
        *HEADINGS,
        "Passage = Propositions",
    ]
    assert [part.path[0] for part in sections(paper()) if len(part.path) > 1] == [
        heading
        for heading in HEADINGS
        for _ in range({"4": 4, "5": 2, "6": 3}.get(heading.split()[0], 0))
    ]
    assert [part.path[-1] for part in sections(opening())[1:]] == HEADINGS[:20]


@pytest.mark.parametrize("document", [paper, opening], ids=["paper", "first pages"])
def test_nothing_of_the_service_is_left_in_any_unit(document) -> None:  # type: ignore[no-untyped-def]
    units = passages(document())
    units += [sentence for passage in units for sentence in split_sentences(passage)]
    rules = set(RULES) - {"no word"}  # a year in a reference is a sentence of its own
    assert not [(unit.text, names) for unit in units if (names := rules & set(faults(unit)))]
    assert not [unit.text for unit in units if FURNITURE.search(f"{unit.text} {unit.section}")]


def test_no_proposition_is_dirty() -> None:
    units = [unit for part in paper().documents() for unit in split_passages(part)]
    propositions = decompose(units, SyntaxPropositionizer()).units
    assert len(propositions) > 500
    dirty = [(unit.text, faults(unit)) for unit in propositions if faults(unit)]
    assert dirty == [("F1 =2.", ["no word"])]  # a scrap of a formula


def test_no_word_of_the_paper_is_lost() -> None:
    """All words of the raw text but those of pictures, tables, furniture and cut words stand in the
    clean one.
    """
    raw = re.sub(
        r"<figure>.*?<figcaption>|^\|[^\n]*|:(?:un)?selected:",
        " ",
        printed_paper(),
        flags=re.DOTALL | re.MULTILINE,
    )
    raw = re.sub(r"^## arXiv.*$", " ", raw, flags=re.MULTILINE)
    words = set(re.findall(r"[^\W\d_]{4,}", plain(re.sub(r"-\s+", "-", raw).replace("-", ""))))
    clean_words = plain(paper().text.replace("-", "").replace(" and", " ")).replace(" ", "")
    missing = {word for word in sorted(words) if word not in clean_words}
    assert missing <= {
        "figcaption",
        "figure",
        "footnote",
        "pagefooter",
        "passageand",
        "bior",
        "propositable",
    }


def test_tables() -> None:
    tables = paper().tables
    assert [table.section for table in tables[2:4]] == [
        "5 Results: Passage Retrieval, 5.1 Passage Retrieval Performance",
        "5 Results: Passage Retrieval, 5.2 Retrieval by Proposition => Better Cross-Task Generalization",
    ]
    assert not [
        cell.text
        for table in tables
        for cell in table.cells
        if re.search(r":\w*selected:|\w- [a-z](?!nd )", cell.text)
    ]


def test_units_of_the_first_page_have_regions_on_it() -> None:
    """The printout has the words of one page of the paper; what lies behind it has no place."""
    end = opening().layout.pages[0].spans[0][1]
    units = [unit for unit in passages(opening()) if "offset" in unit.metadata]
    on_page = 0
    for unit in units:
        offset = unit.metadata["offset"]
        sources = opening().traced.sources(offset + unit.start, offset + unit.end)
        first = sources and sources[0][0] < end
        on_page += bool(first)
        assert bool(regions(unit)) == any(start < end for start, _ in sources)
        assert {region.page for region in regions(unit)} <= {1}
        assert all(0 <= value <= 12 for region in regions(unit) for value in region.rectangle)
    assert on_page == 6
