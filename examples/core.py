"""The core alone: index a text, and look at what each granularity finds.

python examples/core.py
"""

from factoid import Document, Granularity, SentenceTransformerEncoder, UnitStore, pack_context
from factoid.encode import Encoder

TEXT = """# Skagen Lighthouse

The grey lighthouse at Skagen, a brick tower designed by the architect Niels Sigfried Nebelong, was
lit in 1858 and stands 46 metres high. It replaced the white lighthouse of 1747, which is now an
exhibition hall.

## Birds

Since 2017 the tower houses a bird centre, where visitors follow the migration across the strait,
and in spring up to thousands of buzzards pass it in a single day.
"""


def main(encoder: Encoder | None = None) -> None:
    with UnitStore(encoder=encoder or SentenceTransformerEncoder()) as store:
        report = store.add_documents([Document(TEXT, metadata={"source": "skagen.md"})])
        print(", ".join(f"{count} {kind}s" for kind, count in report.units.items()))
        question = "Who designed the lighthouse?"
        for granularity in Granularity:
            if granularity in store.granularities:
                best = store.search(question, k=1, granularity=granularity, parents="unit")[0]
                print(f"{granularity:12} {best.score:.2f}  {' '.join(best.unit.text.split())}")
        facts = store.search(question, k=10, parents="unit")
        print("context     ", pack_context(facts, words=30, separator=" "))


if __name__ == "__main__":
    main()
