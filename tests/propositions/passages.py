"""Passages for the tests of the cache, and propositionizers that count."""

from __future__ import annotations

import os

from factoid import Granularity, Unit
from factoid.testing import ScriptedPropositionizer


def unit(text, title="", section="", *, key=""):
    return Unit(key, text, Granularity.PASSAGE, "d", "d", 0, len(text), title, section)


def passage(number, *, title="Towns", section=""):
    text = f"Town {number} lies on hill {number}. It has {number} gates."
    return unit(text, title, section, key=f"p{number}")


def passages(count):
    return [passage(number) for number in range(count)]


def facts(unit):
    """What the propositionizers here make of a passage."""
    words = unit.text.split()
    return [f"Town {words[1]} lies on hill {words[1]}.", f"Town {words[1]} has {words[1]} gates."]


class Batching(ScriptedPropositionizer):
    """Answers whole batches; `asked` counts by text."""

    name = "towns@1"
    costly = True

    def __init__(self, script=facts):
        super().__init__(script)

    @property
    def asked(self):
        return [unit.text for call in self.calls for unit in call]


class Streaming(Batching):
    """Answers one by one, last first, and fails where it is told to."""

    def __init__(self, script=facts, *, error=None, after=0):
        super().__init__(script)
        self.error = error
        self.after = after

    def stream(self, units):
        for count, position in enumerate(reversed(range(len(units)))):
            if self.error and count == self.after:
                raise self.error
            [texts] = self.propositionize([units[position]])
            yield position, texts


class Awaiting(Batching):
    async def apropositionize(self, units):
        return self.propositionize(units)


class AwaitingStream(Awaiting, Streaming):
    async def astream(self, units):
        for result in self.stream(units):
            yield result


class Logging:
    """Notes each passage that it is asked about in a file that processes share; can be pickled."""

    costly = True

    def __init__(self, log):
        self.name = "towns@1"
        self.log = str(log)

    def propositionize(self, units):
        log = os.open(self.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(log, "".join(f"{unit.text.split()[1]}\n" for unit in units).encode())
        os.close(log)
        return [facts(unit) for unit in units]
