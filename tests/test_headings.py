"""Texts that only their headings tell apart are told apart, by vectors and by who reads them."""

from __future__ import annotations

import pytest

from factoid import Document, Granularity, Unit, UnitStore, pack_context
from factoid.heading_template import EMBED_TEMPLATE, with_heading
from factoid.errors import EncoderMismatchError, InvalidInputError
from factoid.store import GRANULARITIES
from factoid.testing import HashEncoder, ScriptedPropositionizer

MANUALS = [
    Document(f"# {name}\n\nThe warranty lasts 24 months. It covers the battery.", id=name)
    for name in ("X100", "X200", "X300", "X400")
]
BIRDS = [
    "Tern",
    "Heron",
    "Kestrel",
    "Swift",
    "Plover",
    "Curlew",
    "Osprey",
    "Wren",
    "Dipper",
    "Avocet",
]
CATALOGUE = Document(
    "\n\n".join(f"## {bird}\n\nIt weighs {59 + n} kg and is grey." for n, bird in enumerate(BIRDS))
)
SENTENCES = ScriptedPropositionizer(
    lambda passage: [f"{part}." for part in passage.text.rstrip(".").split(". ")]
)


class Recording(HashEncoder):
    """Remembers what it encoded."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def encode_units(self, texts):
        self.texts += texts
        return super().encode_units(texts)


def unit(text, title="", section="", **metadata):
    return Unit("u", text, Granularity.SENTENCE, "d", "p", 0, len(text), title, section, metadata)


@pytest.mark.parametrize("granularity", GRANULARITIES)
def test_texts_that_only_headings_tell_apart_are_found(granularity):
    pytest.importorskip("faiss")
    with UnitStore(encoder=HashEncoder(), granularities=GRANULARITIES) as store:
        store.add_documents([*MANUALS, CATALOGUE], propositionizer=SENTENCES)
        for manual in MANUALS:
            (hit,) = store.search(
                f"How long is the warranty of the {manual.id}?", 1, granularity=granularity
            )
            assert (hit.unit.document_id, hit.unit.text) == (
                manual.id,
                manual.text.partition("\n\n")[2],
            )
        for number, bird in enumerate(BIRDS):
            (hit,) = store.search(
                f"Which weight has the {bird}?", 1, granularity=granularity, parents="unit"
            )
            assert hit.unit.text == f"It weighs {59 + number} kg and is grey."


def test_what_is_encoded_and_what_is_returned():
    pytest.importorskip("faiss")
    encoder = Recording()
    with UnitStore(encoder=encoder, granularities=GRANULARITIES) as store:
        store.add_documents(
            [Document("# Tern\n\n## Weight\n\nIt weighs 59 kg.", metadata={"year": 1990})],
            propositionizer=SENTENCES,
        )
        assert encoder.texts == [
            "Tern — Weight: It weighs 59 kg."
        ]  # of the passage, its sentence and its fact
        assert {unit.text for unit in store.get(store.ids())} == {"It weighs 59 kg."}
        store.add([unit("It swims.", "Olm")], vectors=[[1.0] * 256])
        assert len(encoder.texts) == 1, "own vectors are not made again"


@pytest.mark.parametrize(
    ("title", "section", "text", "expected"),
    [
        ("Tern", "Weight", "It is 59 kg.", "Tern — Weight: It is 59 kg."),
        ("", "Weight", "It is 59 kg.", "Weight: It is 59 kg."),
        ("", "", "It is 59 kg.", "It is 59 kg."),
        ("Tern", "Tern", "It is 59 kg.", "Tern: It is 59 kg."),
        ("Tern", "Tern, Weight", "It is 59 kg.", "Tern, Weight: It is 59 kg."),
        ("Tern", "Weight", "Tern is 59 kg.", "Weight: Tern is 59 kg."),
        ("Tern", "Weight", "Tern — Weight: It is 59 kg.", "Tern — Weight: It is 59 kg."),
        ("Tern\n 40 ", "", "It.", "Tern 40: It."),
        ("{x}", "%s", "{title}", "{x} — %s: {title}"),
    ],
)
def test_no_stray_punctuation_and_nothing_said_twice(title, section, text, expected):
    assert with_heading(unit(text, title, section)) == expected


def test_templates_name_what_is_wanted():
    both, neither = unit("It swims.", "Olm", "Life", year=1768), unit("It swims.", tags=None)
    for template, of_both, of_neither in [
        ("{text}", "It swims.", "It swims."),
        ("{title}: {text}", "Olm: It swims.", "It swims."),
        ("title: {title} | text: {text}", "title: Olm | text: It swims.", "text: It swims."),
        ("{title} ({year}), {tags}: {text}", "Olm (1768: It swims.", "It swims."),
        ("{text} [{title}]", "It swims. [Olm]", "It swims.]"),
    ]:
        assert (with_heading(both, template), with_heading(neither, template)) == (
            of_both,
            of_neither,
        )


@pytest.mark.parametrize("template", ["", "{title}", "{text} {text}", "{text", 3])
def test_templates_that_are_none(template):
    with pytest.raises(InvalidInputError, match="template"):
        UnitStore(encoder=HashEncoder(), embed_template=template, granularities=GRANULARITIES)


# Part of the identity of a store


def test_another_template_is_refused_like_another_encoder(tmp_path):
    pytest.importorskip("faiss")
    with UnitStore(
        tmp_path / "s", encoder=Recording(), embed_template=None, granularities=GRANULARITIES
    ) as store:
        assert store.embed_template == "{text}"
        store.add_documents(MANUALS, propositionizer=SENTENCES)
        assert not any("X" in text for text in store.encoder.texts)
    with pytest.raises(
        EncoderMismatchError, match=r"the embed_template '\{text\}', and was opened with"
    ):
        UnitStore(
            tmp_path / "s",
            encoder=HashEncoder(),
            embed_template=EMBED_TEMPLATE,
            granularities=GRANULARITIES,
        )
    with UnitStore(tmp_path / "s", encoder=HashEncoder(), granularities=GRANULARITIES) as store:
        assert store.embed_template == "{text}"
        assert store.add_documents(MANUALS, propositionizer=SENTENCES).unchanged == 4
        store.clear()
        assert store.embed_template == EMBED_TEMPLATE
        assert store.add_documents(MANUALS, propositionizer=SENTENCES).documents == 4


def test_merged_and_imported_vectors_are_of_the_same_texts(tmp_path):
    pytest.importorskip("faiss")
    with UnitStore(
        encoder=HashEncoder(), embed_template="{title}: {text}", granularities=GRANULARITIES
    ) as store:
        store.add_documents(MANUALS, propositionizer=SENTENCES)
        store.export(tmp_path / "with.jsonl")
        with (
            UnitStore(encoder=HashEncoder(), granularities=GRANULARITIES) as merged,
            UnitStore(encoder=HashEncoder(), granularities=GRANULARITIES) as imported,
        ):
            merged.merge(store)
            imported.import_from(tmp_path / "with.jsonl")
            assert merged.embed_template == imported.embed_template == "{title}: {text}"
            imported.add([unit("It swims.", "Olm")])
        with UnitStore(
            encoder=HashEncoder(), embed_template=None, granularities=GRANULARITIES
        ) as other:
            other.add_documents([CATALOGUE], propositionizer=SENTENCES)
            with pytest.raises(
                EncoderMismatchError, match=r"the embed_template '\{text\}', and the other one with"
            ):
                other.merge(store)
            with pytest.raises(
                EncoderMismatchError, match=r"and the vectors of .*with\.jsonl with"
            ):
                other.import_from(tmp_path / "with.jsonl")
            store.export(tmp_path / "without.jsonl", vectors=False)
            other.import_from(tmp_path / "without.jsonl")
            assert other.verify() == []
        with UnitStore(tmp_path / "s", encoder=HashEncoder(), granularities=GRANULARITIES) as other:
            other.import_from(tmp_path / "without.jsonl")
    with pytest.raises(EncoderMismatchError, match="embed_template"):
        UnitStore(
            tmp_path / "s", encoder=HashEncoder(), embed_template=None, granularities=GRANULARITIES
        )


# Readers


def test_a_reader_sees_each_heading_once():
    tern = [unit("It weighs 59 kg.", "Tern", "Weight"), unit("It is grey.", "Tern", "Weight")]
    heron = unit("It weighs 59 kg.", "Heron", "Weight")
    assert pack_context([*tern, heron]) == (
        "Tern — Weight: It weighs 59 kg.\nIt is grey.\nHeron — Weight: It weighs 59 kg."
    ), "the same words under another heading are another fact"
    assert pack_context([*tern, heron], headings=False) == "It weighs 59 kg.\nIt is grey."
    assert (
        pack_context([heron, tern[0], heron])
        == "Heron — Weight: It weighs 59 kg.\nTern — Weight: It weighs 59 kg."
    )


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (1, "It"),  # no room for the heading and a word
        (4, "Tern — Weight: It"),
        (7, "Tern — Weight: It weighs 59 kg."),
        (10, "Tern — Weight: It weighs 59 kg."),
        (11, "Tern — Weight: It weighs 59 kg.\nHeron — Weight: It"),
    ],
)
def test_headings_count_as_words(words, expected):
    units = [unit("It weighs 59 kg.", "Tern", "Weight"), unit("It flies.", "Heron", "Weight")]
    assert pack_context(units, words=words) == expected
