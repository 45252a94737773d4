"""Build a corpus in a process of its own, which tests and benchmarks kill: program.py OPTIONS, as JSON."""

from __future__ import annotations

import json
import os
import signal
import sys
from functools import partial
from pathlib import Path

from factoid.scale import RayOptions, build
from factoid.testing import HashEncoder, ScriptedPropositionizer

DEADLY = "belladonna"


def halves(passage, pause=0.0):
    """Return two propositions of a passage, some time later."""
    if DEADLY in passage.text:
        os.kill(os.getpid(), signal.SIGKILL)
    if pause:
        import time

        time.sleep(pause)
    words = passage.text.split()
    return [" ".join(words[: len(words) // 2]), " ".join(words[len(words) // 2 :])]


class Broken:
    """Answers for one passage too few."""

    def propositionize(self, passages):
        return [[] for _ in passages][1:]


def propositionizer(pause, broken):
    if broken:
        return Broken()
    return ScriptedPropositionizer(partial(halves, pause=pause))


def run(inputs, folder, *, pause=0.0, broken=False, workers=0, shard_characters=8000, **options):
    """Build in this process, or with some workers on Ray."""
    ray = None
    if workers:
        ray = RayOptions(workers=workers)
    return build(
        inputs,
        Path(folder),
        encoder=HashEncoder(16),
        propositionizer=partial(propositionizer, pause, broken),
        shard_characters=shard_characters,
        ray=ray,
        progress=False,
        **options,
    )


if __name__ == "__main__":
    report = run(**json.loads(sys.argv[1]))
    result = {
        "new_shards": report.new_shards,
        "failures": len(report.failures),
        "seconds": report.seconds,
    }
    print(json.dumps(result))  # noqa: T201
