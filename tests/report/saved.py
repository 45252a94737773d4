"""Saved comparisons, of which pages are made."""

from __future__ import annotations

from factoid import Weights
from factoid.evaluate.checks import Check
from factoid.evaluate.comparison import Asked, Comparison, Tried
from factoid.evaluate.measures import Answer, Reading, Top
from factoid.evaluate.settings import Setting

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'&{{ 7 * 7 }}"
KINDS = ("passage", "sentence", "proposition")


def top(text, number):
    return Top(
        text, f"Ship {number}", 0.5, {"passage": 0.4, "lexical": 0.1}, "before ", text, " after"
    )


def tried(name, units, size):
    description = {"units": units, "rerank": None}
    return Tried(name, description, "store = UnitStore(path)", 10, 10, size, 1.25, 0.5, 100.0)


def comparison(count, *, text="The Vasa sank in 1628.", name="facts", question="When did it sink?"):
    settings = (tried("passages", "passage", 1_000_000), tried(name, "proposition", 3_000_000))
    answers = {
        "passages": tuple(
            Answer((1 + number % 9,), 90, top(text, number)) for number in range(count)
        ),
        name: tuple(
            Answer(
                (1 if number % 3 else None,),
                20 if number % 3 else None,
                top(text + f" {number}", number),
            )
            for number in range(count)
        ),
    }
    asked = tuple(
        Asked(str(n), f"{question} {n}", text, f"Ship {n % 7}", is_generated=n == 1)
        for n in range(count)
    )
    checks = (Check("few questions", f"Few: {text}", is_serious=True),)
    manifest = {"corpus": "0" * 8, "command": f"factoid compare {text}"}
    return Comparison(settings, asked, answers, checks, manifest, baseline="passages")


def of_granularities(count, *, text="The Vasa sank in 1628."):
    """Passages, sentences and propositions by vectors alone, with a reader and with popularity."""
    settings, answers = [], {}
    for place, kind in enumerate(KINDS):
        setting = Setting(name=f"{kind}s by vectors", units=kind, weights=Weights(0, 0))
        settings.append(
            Tried(
                setting.name,
                setting.record(),
                setting.code(),
                9,
                9,
                10**6 * (place + 1),
                1.0,
                0.5,
                100.0,
            )
        )
        of_setting = []
        for number in range(count):
            is_right = number % (2 + 3 * place) > 0
            readings = (
                Reading(100, "1628" if is_right else text, float(is_right), float(is_right)),
            )
            words = 90 - 30 * place if is_right else None
            of_setting.append(
                Answer((1 if is_right else None,), words, top(text, number), True, readings)
            )
        answers[setting.name] = tuple(of_setting)
    asked = [
        Asked(str(n), f"When did ship {n} sink?", "1628", f"Ship {n % 20}", n % 9 == 0, float(n))
        for n in range(count)
    ]
    checks = (
        Check(
            "smallest difference", f"{count} questions show differences from about 10 points on."
        ),
    )
    return Comparison(
        tuple(settings),
        tuple(asked),
        answers,
        checks,
        {"corpus": "0" * 8},
        baseline=settings[0].name,
    )
