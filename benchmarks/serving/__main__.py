"""What serving facts by a vector store takes: measured over 1, 4 and 16 shards, and extrapolated.

    python -m benchmarks.serving ../shared/data --into docs/scale.md
    python -m benchmarks.serving ../shared/data --milvus PROGRAM --into docs/scale.md

Passages of SQuAD and HotpotQA, propositions by syntax, vectors by all-MiniLM-L6-v2. Each engine is
filled by the code of `factoid load` and searched by the loop of docs/existing-stores.md: five
passages, once with the default score (words among the candidates alone) and once by the nearest
units. Shards take turns, and the time as in production is that of the slowest in each call
(`benchmarks.serving.fan_out`). What follows for FactoidWiki is in `benchmarks.serving.extrapolate`.

Measurements are kept in build/serving; `--tables` makes the tables of what is there. PostgreSQL and
Milvus lite are of the group `stores`. The program of a server of Milvus is `milvus-server`, after
`pip install milvus==2.3.5` into an environment of its own.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # seconds of one core
os.environ.setdefault("HF_HUB_OFFLINE", "1")

from benchmarks.serving.corpus import made
from benchmarks.serving.engines import engines, opened
from benchmarks.serving.kept import keep, kept
from benchmarks.serving.measured import measure
from benchmarks.serving.tables import tables
from benchmarks.store.report import fill


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, help="folder of the corpora")
    parser.add_argument("--documents", type=int, default=3_500)
    parser.add_argument("--questions", type=int, default=40, help="up to 100")
    parser.add_argument("--shards", type=int, nargs="+", default=[1, 4, 16])
    parser.add_argument("--milvus", metavar="PROGRAM", help="milvus-server")
    parser.add_argument("--engines", nargs="+", metavar="NAME", help="all by default")
    parser.add_argument("--tables", action="store_true", help="of what was measured before")
    parser.add_argument("--into", type=Path, metavar="PAGE", help="write the tables into this page")
    arguments = parser.parse_args()
    corpus = made(arguments.data, arguments.documents, arguments.questions)
    print(
        f"{len(corpus.documents):,} documents, {corpus.count:,} units, "
        f"{len(corpus.questions):,} questions",
        flush=True,
    )
    makers = engines(arguments.milvus)
    chosen = arguments.engines or list(makers)
    if not arguments.tables:
        for name in chosen:
            with (
                tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
                opened(makers[name], corpus, Path(folder)) as engine,
            ):
                keep(name, measure(engine, corpus, arguments.shards))
    for name, text in tables(corpus, kept()).items():
        print(f"\n{text}")
        if arguments.into:
            fill(arguments.into, name, text)


if __name__ == "__main__":
    main()
