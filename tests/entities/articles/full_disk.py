"""A program that builds a store on a disk that is too small, then again on one that is not: way (see limits), and folder."""

from __future__ import annotations

import json
import sys
from hashlib import sha256
from pathlib import Path

from factoid.entities.articles import Article, build_articles, staging
from factoid.errors import StoreError
from tests.entities.articles.records import Listed, contents, leftovers, seeded
from tests.faults.limits import Mount, Quota

# Digests, which do not compress.
RECORDS = [
    *seeded(2, 500),
    *(Article(f"Number {n}", " ".join(sha256(b"%d %d" % (n, k)).hexdigest() for k in range(60))) for n in range(2500)),
]


def main(way, folder):
    staging._MOST_RECORDS = 500
    disk = {"quota": Quota, "mount": Mount}[way](folder)
    disk.fill()
    path = folder / "a"
    message = None
    try:
        build_articles(path, Listed(RECORDS))
    except StoreError as error:
        message = str(error)
    exists = path.exists()
    disk.free()
    report = build_articles(path, Listed(RECORDS))
    outcome = {"message": message, "exists": exists, "articles": report.articles, "left": leftovers(path)}
    rows = {table: len(rows) for table, rows in contents(path).items()}
    sys.stdout.write(json.dumps(outcome | {"rows": rows}))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
