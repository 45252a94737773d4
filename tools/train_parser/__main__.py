"""Train the English tagger and parser that factoid ships, and write it with its scores and licence.

    python tools/train_parser --ewt ../shared/data/ud-english-ewt \
        --pud ../shared/data/ud-english-pud

Trains on UD English EWT (train and dev) and PUD; every second Wikipedia document of PUD picks the
best step; EWT test is only scored. About 35 minutes on one core. Sentence ends are given, as they
are when factoid parses.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

import spacy
from spacy.cli.evaluate import evaluate
from spacy.cli.train import train
from spacy.language import Language
from treebanks import write_corpora

HERE = Path(__file__).parent
TARGET = HERE.parents[1] / "shared/factoid/propositions/syntax/model"
LARGEST = 10_000_000  # bytes, as the wheel carries it
SCORES = ("tag_acc", "dep_uas", "dep_las")
META = {
    "name": "factoid_syntax",
    "version": "1.0.0",
    "spacy_version": ">=3.8.0,<4.0.0",
    "description": (
        "Small English tagger and dependency parser (Universal Dependencies) for splitting "
        "sentences."
    ),
    "license": "CC BY-SA 4.0",
    "author": "the factoid authors",
    "sources": [
        {
            "name": "UD English EWT",
            "license": "CC BY-SA 4.0",
            "author": "Universal Dependencies contributors",
        },
        {
            "name": "UD English PUD",
            "license": "CC BY-SA 3.0",
            "author": "Universal Dependencies contributors",
        },
    ],
}


def main() -> None:
    """Convert the treebanks, train, score and package."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ewt", type=Path, required=True, help="folder of UD English EWT")
    parser.add_argument("--pud", type=Path, required=True, help="folder of UD English PUD")
    parser.add_argument(
        "--work", type=Path, default=Path("build/parser"), help="corpora and checkpoints"
    )
    parser.add_argument(
        "--target", type=Path, default=TARGET, help="where the finished pipeline goes"
    )
    parser.add_argument(
        "--steps", type=int, default=None, help="instead of the configuration's max_steps"
    )
    parser.add_argument(
        "--package-only", action="store_true", help="score and write the best checkpoint in --work"
    )
    arguments = parser.parse_args()
    corpora = arguments.work / "corpora"
    print("sentences:", write_corpora(arguments.ewt, arguments.pud, corpora))
    best = arguments.work / "model-best"
    if not arguments.package_only:
        overrides = {
            "paths.train": str(corpora / "train.spacy"),
            "paths.dev": str(corpora / "dev.spacy"),
        }
        if arguments.steps:
            overrides["training.max_steps"] = arguments.steps
        train(HERE / "config.cfg", arguments.work, overrides=overrides)
    package(best, corpora, arguments.target)


def package(best: Path, corpora: Path, target: Path) -> None:
    """Write the pipeline with only the strings it needs, its licence and its scores."""
    scores = {
        name: {key: round(scored[key], 4) for key in SCORES}
        for name, part in (("EWT test", "test"), ("PUD Wikipedia, held out", "dev"))
        for scored in [
            evaluate(str(best), corpora / f"{part}.spacy", gold_preproc=True, silent=True)
        ]
    }
    nlp = spacy.load(best)
    nlp.meta.update(META)
    nlp.meta["performance"] = scores
    nlp.config["paths"].update(train=None, dev=None)  # where they were does not matter any more
    licence = (TARGET / "LICENSE").read_text(encoding="utf-8")
    if target.exists():
        shutil.rmtree(target)
    nlp.to_disk(target)
    (target / "LICENSE").write_text(licence, encoding="utf-8")
    _keep_needed_strings(nlp, target / "vocab" / "strings.json")
    size = sum(file.stat().st_size for file in target.rglob("*") if file.is_file())
    print(json.dumps(scores, indent=1), f"\n{size / 1e6:.1f} MB in {target}")
    if size > LARGEST:
        raise SystemExit(f"{size} bytes are more than the {LARGEST} that the wheel may carry")


def _keep_needed_strings(nlp: Language, path: Path) -> None:
    """Drop the words met in training.

    The parser hashes them, and only labels need their spelling.
    """
    labels = {label for _, pipe in nlp.pipeline for label in getattr(pipe, "labels", ())}
    pieces = [piece for case in nlp.tokenizer.rules.values() for piece in case]
    tokenizer = {value for piece in pieces for value in piece.values() if isinstance(value, str)}
    path.write_text(
        json.dumps(sorted(labels | tokenizer | {"ROOT"}), ensure_ascii=False), encoding="utf-8"
    )


if __name__ == "__main__":
    main()
