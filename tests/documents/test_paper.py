"""Both printouts of a paper come out clean: nothing of the service's markup is left, and all of the paper is."""

from __future__ import annotations

import re
from functools import cache

import pytest

from benchmarks.documents import RULES, faults, plain
from factoid import SyntaxPropositionizer, Unit, split_passages, split_sentences
from factoid.documents import LayoutDocument, Part, clean, markdown_tables, read_layout, read_markdown, regions
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
        unit for part in document.documents(["text", "table", "figure", "reference"]) for unit in split_passages(part)
    ]


def sections(document: LayoutDocument) -> list[Part]:
    return [part for part in document.parts if part.kind in ("text", "heading", "reference")]


def test_title_and_sections_in_order() -> None:
    """Figure 8, a prompt, was read as text under the heading "Passage = Propositions"."""
    assert paper().title == "Dense XX Retrieval: What Retrieval Granularity Should We Use?"
    assert paper().text.startswith(f"# {paper().title}\n\n")
    assert [part.path[-1] for part in sections(paper())[1:]] == [*HEADINGS, "Passage = Propositions"]
    assert [part.path[0] for part in sections(paper()) if len(part.path) > 1] == [
        heading for heading in HEADINGS for _ in range({"4": 4, "5": 2, "6": 3}.get(heading.split()[0], 0))
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


@pytest.mark.parametrize("document", [paper, opening], ids=["paper", "first pages"])
def test_every_character_that_is_kept_leads_back(document) -> None:  # type: ignore[no-untyped-def]
    content, text, origins = document().layout.content, document().text, document().traced.origins
    kept = [(place, int(origin)) for place, origin in enumerate(origins) if origin >= 0]
    assert all(text[place] == content[origin] for place, origin in kept)
    assert len(kept) > 0.99 * len(text.replace("\n\n", ""))


def test_no_word_of_the_paper_is_lost() -> None:
    """All words of the raw text but those of pictures, tables, furniture and cut words stand in the clean one."""
    raw = re.sub(
        r"<figure>.*?<figcaption>|^\|[^\n]*|:(?:un)?selected:", " ", printed_paper(), flags=re.DOTALL | re.MULTILINE
    )
    raw = re.sub(r"^## arXiv.*$", " ", raw, flags=re.MULTILINE)
    words = set(re.findall(r"[^\W\d_]{4,}", plain(re.sub(r"-\s+", "-", raw).replace("-", ""))))
    clean_words = plain(paper().text.replace("-", "").replace(" and", " ")).replace(" ", "")
    missing = {word for word in sorted(words) if word not in clean_words}
    assert missing <= {"figcaption", "figure", "footnote", "pagefooter", "passageand", "bior", "propositable"}


def test_running_text_is_whole_again() -> None:
    for sentence in (
        "each encapsulating a distinct factoid and presented in a concise, self-contained natural language format.",
        "a simple yet effective strategy for improving dense retrievers' retrieval",
        "between the query and all sentences or propositions in a passage.",
        "+12.0 and +9.3 (35.0% and 22.5% relative improvement) respectively",
        "retrieval by proposition brings more performance gain over retrieval by passage.",
        "the retrieval model learns to encode a candidate retrieval unit",
        "or finetuning smaller compact-sized models",
        "BertScore with roberta-large configuration as our sim function",
        "exact search for the inner product (faiss . IndexFlat IP) in all experiments.",
    ):
        assert sentence in paper().text


def test_tables() -> None:
    tables = paper().tables
    raw = markdown_tables(printed_paper())
    assert [table.label for table in tables] == [table.label for table in raw]
    assert [(table.row_count, table.column_count) for table in tables] == [(t.row_count, t.column_count) for t in raw]
    assert [table.section for table in tables[2:4]] == [
        "5 Results: Passage Retrieval, 5.1 Passage Retrieval Performance",
        "5 Results: Passage Retrieval, 5.2 Retrieval by Proposition => Better Cross-Task Generalization",
    ]
    assert not [
        cell.text for table in tables for cell in table.cells if re.search(r":\w*selected:|\w- [a-z](?!nd )", cell.text)
    ]


def test_figures_stand_apart_from_prose() -> None:
    figures = [part for part in paper().parts if part.kind == "figure"]
    assert [figure.text.partition(":")[0] for figure in figures] == [f"Figure {number}" for number in range(1, 9)]
    assert all(figure.inside for figure in figures[:7])
    assert "Recall@5 (%)" not in paper().text
    assert not [part for part in sections(paper()) if "Figure 2: We discover" in part.text]


def test_the_prompt_is_intact() -> None:
    """Figure 8 was read as a heading and text, and its caption as the page's footer."""
    *_, prompt, figure = paper().parts
    assert figure.text == "Figure 8: Prompt for generating propositions from a passage using GPT-4."
    raw = printed_paper()[printed_paper().index("# Passage = Propositions") :].partition("<!-- PageFooter")[0]
    printed = re.sub(r"\\(?=\.)", "", raw).split("\n\n")
    assert prompt.text == "#" + "\n\n".join(part.strip() for part in printed if part.strip())


def test_references_are_apart() -> None:
    [references] = [part for part in paper().parts if part.kind == "reference"]
    assert references.path == ("References",)
    assert len(re.findall(r"\b(?:19|20)\d\d[ab]?\.", references.text)) >= 67
    assert references.text.startswith(
        "## References\n\nZeynep Akkalyoncu Yilmaz, Wei Yang, Haotian Zhang, and Jimmy Lin. 2019."
    )
    assert not [part for part in paper().documents() if "## References" in part.text]


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
