"""Turn a folder of texts into one JSON line per unit, each with its span in the source.

python examples/process_documents.py examples/data/encyclopedia units.jsonl
"""

import json
import sys
from dataclasses import asdict
from pathlib import Path

from factoid import SyntaxPropositionizer, split_passages, split_sentences
from factoid.files.readers import read_documents
from factoid.propositions import Propositionizer, decompose


def main(source: str, target: str, propositionizer: Propositionizer | None = None) -> int:
    propositionizer = propositionizer or SyntaxPropositionizer()
    written = 0
    with Path(target).open("w", encoding="utf-8") as lines:
        for document in read_documents([source]):
            passages = split_passages(document)
            sentences = [sentence for passage in passages for sentence in split_sentences(passage)]
            propositions = decompose(passages, propositionizer)
            for unit in (*passages, *sentences, *propositions.units):
                lines.write(json.dumps(asdict(unit), ensure_ascii=False) + "\n")
                written += 1
            print(f"{document.metadata['source']}: {propositions.report}")
    return written


if __name__ == "__main__":
    _, source, target = sys.argv
    print(main(source, target), "units")
