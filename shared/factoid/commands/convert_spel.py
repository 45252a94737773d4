"""`factoid convert-spel`: a published checkpoint of SpEL as one folder that loads without unpickling."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from factoid.entities.spel.published import AIDA, ENWIKI, OUT_OF_DOMAIN
from factoid.entities.spel.source import convert_spel
from factoid.entities.spel.vocabulary import VocabularyFiles
from factoid.errors import InvalidInputError

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

SUMMARY = "convert a checkpoint of the entity linker SpEL to safetensors"


def configure(parser: ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("checkpoint", metavar="FILE", help="a published checkpoint, such as spel-base-step-3-500K.pt")
    parser.add_argument("--output", required=True, metavar="DIR", help="the new folder; SpELLinker(DIR) loads it")
    parser.add_argument(
        "--vocabulary", metavar="DIR", help=f"a folder with the files {AIDA}, {ENWIKI} and {OUT_OF_DOMAIN}"
    )
    parser.add_argument("--aida", metavar="FILE", help=f"{AIDA}, where the files lie in several places")
    parser.add_argument("--enwiki", metavar="FILE", help=f"{ENWIKI}, likewise")
    parser.add_argument("--out-of-domain", metavar="FILE", help=f"{OUT_OF_DOMAIN}, likewise")
    parser.add_argument(
        "--tokenizer",
        required=True,
        metavar="PATH",
        help="RoBERTa's tokenizer.json, or a folder that holds it or vocab.json and merges.txt; or the name roberta-base or "
        "roberta-large, which downloads it from the Hugging Face hub",
    )


def run(args: Namespace) -> None:
    """Run the command."""
    folder = convert_spel(args.checkpoint, _vocabulary(args), args.output, tokenizer=args.tokenizer)
    size = sum(path.stat().st_size for path in folder.iterdir())
    print(f"wrote {folder} ({size / 1e6:,.1f} MB)")


def _vocabulary(args: Namespace) -> VocabularyFiles:
    files = (args.aida, args.enwiki, args.out_of_domain)
    if bool(args.vocabulary) == any(files) or (any(files) and not args.aida):
        message = "expected --vocabulary DIR, or --aida FILE with --enwiki FILE and --out-of-domain FILE, and not both"
        raise InvalidInputError(message)
    if args.vocabulary:
        return VocabularyFiles.in_folder(args.vocabulary)
    aida, enwiki, further = (Path(file) if file else None for file in files)
    return VocabularyFiles(aida or Path(AIDA), enwiki, further)
