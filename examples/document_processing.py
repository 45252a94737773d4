"""Answer from a report with the page and the place that say so.

    python examples/document_processing.py  # offline, on data/tide-gauges.pdf
    python examples/document_processing.py result.json --pdf report.pdf \
        --question "…" --openai gpt-5-mini

Needs: pip install "factoid[documents,demo]". The first argument is a result of Azure Document
Intelligence (JSON), Markdown or a PDF. Written to the folder `document_processing`: a store, pages
with the evidence marked, and `report.html`.
"""

from __future__ import annotations

import argparse
import html
from collections.abc import Callable
from pathlib import Path
from typing import Any

from factoid import Hit, SentenceTransformerEncoder, UnitStore
from factoid.documents import (
    add_layout,
    clean,
    draw_regions,
    read_layout,
    regions,
    summarize_tables,
)

SAMPLE = Path(__file__).parent / "data" / "tide-gauges.pdf"
QUESTION = "What was the highest level at Sund Mouth in 2022?"


def outline(prompt: str) -> str:
    """Say what a table holds, in place of a model."""
    lines = [line for line in prompt.splitlines() if line.startswith("|")]
    columns = ", ".join(cell.strip() for cell in lines[0].strip("| ").split("|"))
    return f"A table of {len(lines) - 2} rows with the columns {columns}."


def main(
    source: Path = SAMPLE,
    *,
    pdf: Path | None = None,
    question: str = QUESTION,
    output: Path = Path("document_processing"),
    encoder: Any = None,
    summarizer: Callable[[str], str | None] = outline,
    read: Callable[[str, str], str] | None = None,
) -> Hit:
    """Process a document, answer a question from it, and return the evidence.

    Args:
        source: The result or the PDF.
        pdf: The PDF that was analysed, to mark the evidence on its pages.
        question: The question.
        output: Folder for what is written.
        encoder: None for the small model of the demo.
        summarizer: Answers the prompts for summaries of tables; by default without a model.
        read: Answers a question from a text; None to answer with the evidence as it stands.
    """
    document = clean(read_layout(source))
    kinds = [part.kind for part in document.parts]
    print(
        f"{document.title or source.name}: {kinds.count('text')} sections, "
        f"{len(document.tables)} tables"
    )
    summaries = summarize_tables(document.tables, summarizer)
    print(summaries)
    for summary in summaries.texts:
        print(f"  {summary}")

    with UnitStore(output / "store", encoder=encoder or SentenceTransformerEncoder()) as store:
        name = source.resolve().as_posix()
        store.delete(filter={"source": name})  # what an older version of the file said
        add_layout(store, document, summaries=summaries, metadata={"source": name})
        # Only this source answers. Summaries help to find tables, but no answer comes from them.
        printed = {"source": name, "kind": {"$in": ["text", "table", "figure"]}}
        (evidence,) = store.search(
            question, k=1, granularity="proposition", parents="unit", filter=printed
        )

    fact = evidence.unit
    answer = read(question, fact.text) if read else fact.text
    places = regions(fact)
    pages = sorted({region.page for region in places}) or fact.metadata.get("pages", [])
    place = ", ".join(
        filter(None, [source.name, f"page {', '.join(map(str, pages)) or 'unknown'}", fact.section])
    )
    print(f"\n{question}\n{answer} [1]\n\n[1] {place}")
    for region in places:
        print(f"    page {region.page}, box {[round(number, 2) for number in region.rectangle]}")

    pdf = pdf or (source if source.suffix.lower() == ".pdf" else None)
    for picture in output.glob("page-*.png"):  # of the question before
        picture.unlink()
    pictures = []
    for page, image in (draw_regions(pdf, places) if pdf else {}).items():
        pictures.append(f"page-{page}.png")
        image.save(output / pictures[-1])
    output.mkdir(parents=True, exist_ok=True)
    (output / "report.html").write_text(
        report(question, answer, fact.text, pictures), encoding="utf-8"
    )
    print(f"\nWritten to {output}: {', '.join([*pictures, 'report.html'])}")
    return evidence


def report(question: str, answer: str, evidence: str, pictures: list[str]) -> str:
    """Return a page of HTML. What comes from the document is escaped."""
    question, answer, evidence = map(html.escape, (question, answer, evidence))
    images = "\n".join(
        f'<img src="{html.escape(name)}" alt="{html.escape(name)}">' for name in pictures
    )
    return (
        f"<!doctype html>\n<meta charset=utf-8>\n<title>{question}</title>\n<h1>{question}</h1>\n"
        f"<p>{answer} <sup>[1]</sup></p>\n<p>[1] <q>{evidence}</q></p>\n{images}\n"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source", nargs="?", type=Path, default=SAMPLE)
    parser.add_argument("--pdf", type=Path)
    parser.add_argument("--question", default=QUESTION)
    parser.add_argument(
        "--openai",
        metavar="MODEL",
        help="summarize and answer with this model; needs OPENAI_API_KEY",
    )
    arguments = parser.parse_args()
    options: dict[str, Any] = {}
    if arguments.openai:
        from openai import OpenAI

        client = OpenAI()

        def ask(prompt: str) -> str:
            """Return the model's answer."""
            messages: Any = [{"role": "user", "content": prompt}]
            answer = client.chat.completions.create(model=arguments.openai, messages=messages)
            return str(answer.choices[0].message.content)

        def answer_from(question: str, text: str) -> str:
            """Answer a question from a text."""
            return ask(
                "Answer in one sentence, from this text alone.\n\n"
                f"Text: {text}\n\nQuestion: {question}"
            )

        options = {"summarizer": ask, "read": answer_from}
    main(arguments.source, pdf=arguments.pdf, question=arguments.question, **options)
