"""FAISS files of a stranger who writes right checksums: they are refused, or searched without
harm.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.faults.injected import CAMPAIGN, CAMPAIGN_SECONDS
from tests.faults.worker import ENVIRONMENT, ROOT

pytest.importorskip("faiss")

KINDS = [
    "HNSW16",
    "IVF32,SQ8",
    "IVF32_HNSW8,Flat",
    "SQ8",
    "RaBitQ",
    "IVF32,RaBitQ",
    "IVF1,RaBitQfs",
    "IVF32,RaBitQfs",
    "HNSW16,SQ8",
    "RR,SQ8",
]

ATTACK = """
import hashlib, random, resource, sys, time
from pathlib import Path
import numpy as np
from factoid.files.arrays import read_arrays, write_arrays
from factoid.vectors import load, save
from tests.vectors.cases import clustered, make_index

folder, kind, cases = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
index, ids, _ = make_index(kind)
save(folder / "passage", {"generation": 1}, {}, index)
(file,) = folder.glob("passage-1-*.faiss")
record_file = folder / "passage-1.safetensors"
content = file.read_bytes()
record, arrays = read_arrays(record_file)
arrays = {name: array.copy() for name, array in arrays.items()}
queries = clustered(20, seed=5)[1]
chance = random.Random(kind)
numbers = [0, 1, -1, 255, 1 << 20, (1 << 31) - 1, -(1 << 31), 1 << 40, (1 << 62), (1 << 63) - 1]
begins = [0, len(content) // 3, len(content) // 2, max(0, len(content) - 4000)]  # headers and graphs, not only vectors
slowest, refused = 0.0, 0
for case in range(cases):
    damaged = bytearray(content)
    for _ in range(chance.choice([1, 1, 2, 5])):
        if chance.random() < 0.5:
            place = chance.randrange(min(600, len(damaged)))
        else:
            place = chance.choice(begins) + chance.randrange(4000)
        size = chance.choice([1, 4, 8])
        number = chance.choice([chance.choice(numbers), chance.randrange(1 << 16)])
        damaged[place : place + size] = (number & ((1 << 8 * size) - 1)).to_bytes(size, "little")
    damaged = bytes(damaged[: chance.choice([len(damaged)] * 9 + [chance.randrange(len(damaged))])])
    print(case, flush=True)
    file.unlink()
    digest = hashlib.sha256(damaged).hexdigest()
    file = folder / f"passage-1-{digest[:16]}.faiss"
    file.write_bytes(damaged)
    described = {"size": len(damaged), "sha256": digest}
    with record_file.open("wb") as out:
        write_arrays(out, record | {"faiss": described}, arrays)
    began = time.process_time()
    loaded = load(folder / "passage", mmap=bool(case % 2))
    if loaded is None:
        refused += 1
    else:
        try:
            loaded.vectors.search(loaded.vectors.normalized_queries(queries), 10)
        except RuntimeError as error:
            print("search:", str(error)[:80], flush=True)
    slowest = max(slowest, time.process_time() - began)
print("done", refused, slowest)
"""


@pytest.mark.timeout(CAMPAIGN_SECONDS)
@pytest.mark.parametrize("count", [20, pytest.param(CAMPAIGN, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", KINDS)
def test_a_hostile_index_neither_crashes_nor_hangs_nor_fills_the_memory(tmp_path, kind, count):
    command = [sys.executable, "-c", ATTACK, str(tmp_path), kind, str(count)]
    run = subprocess.run(
        command,
        env=ENVIRONMENT,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=CAMPAIGN_SECONDS,
        check=False,
    )
    last = run.stdout.split("\n")[-2] if run.stdout else ""
    assert run.returncode == 0, f"case {last}: {run.returncode} {run.stderr[-500:]}"
    assert last.startswith("done")
    assert float(last.split()[2]) < 5


@pytest.mark.parametrize("kind", ["RaBitQ", "IVF32,RaBitQ", "IVF1,RaBitQfs"])
@pytest.mark.parametrize(("field", "number"), [("nb_bits", (1 << 32) + 1), ("d", 1 << 20)])
def test_codes_of_other_bits_are_refused(tmp_path, kind, field, number):
    import faiss

    from factoid.vectors.faiss_files import read_faiss, write_faiss
    from tests.vectors.cases import make_index

    index, _, _ = make_index(kind)
    file = tmp_path / "index.faiss"
    with file.open("wb") as out:
        write_faiss(index.content, out.write)
    assert read_faiss(file, index.ability, index.dim, mmap=False)[0].ntotal == len(index)
    before = getattr(index.content.rabitq, field)
    setattr(faiss.downcast_index(index.content).rabitq, field, number)
    try:
        with file.open("wb") as out:
            write_faiss(index.content, out.write)
    finally:
        setattr(index.content.rabitq, field, before)
    with pytest.raises((ValueError, RuntimeError)):
        read_faiss(file, index.ability, index.dim, mmap=False)
