"""Exact match and F1 of the baseline reader on paragraphs that hold the answer.

    python -m benchmarks.readers FILE [--questions 1000]

FILE is SQuAD's JSON. The sentence as it stands is the other row.
"""

from __future__ import annotations

import argparse
import json
from operator import itemgetter
from pathlib import Path

from factoid.evaluate.answers import score_answers
from factoid.readers import ExtractiveReader


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("--questions", type=int, default=1000, help="about so many, evenly spread")
    arguments = parser.parse_args()
    questions = []
    contexts = []
    answers = []
    for article in json.loads(arguments.file.read_text(encoding="utf-8"))["data"]:
        for paragraph in article["paragraphs"]:
            for entry in paragraph["qas"]:
                questions.append(entry["question"])
                contexts.append(paragraph["context"])
                answers.append(list(map(itemgetter("text"), entry["answers"])))
    step = max(1, len(questions) // arguments.questions)
    print("| answers | exact match | F1 | questions |\n| - | -: | -: | -: |")
    for kind in ("span", "sentence"):
        read = ExtractiveReader(answers=kind).read_batch(questions[::step], contexts[::step])
        scores = score_answers(read, answers[::step])
        print(
            f"| {kind} | {100 * scores.exact_match:.1f} | {100 * scores.f1:.1f} | "
            f"{scores.questions:,} |"
        )


if __name__ == "__main__":
    main()
