from __future__ import annotations

import json
import pickle
import re
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from factoid import Document, split_passages
from factoid.errors import InvalidInputError, MissingDependencyError, PropositionizerError
from factoid.propositions import NoPropositions, Propositionizer, decompose, flan_t5
from factoid.propositions.flan_t5 import DEFAULT_MODEL, FlanT5Propositionizer
from factoid.propositions.prompt import passage_input
from factoid.units import Granularity, Unit, make_unit

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

CITIES = {"Pisa": "tower", "Oslo": "fjord", "Lima": "coast", "Cairo": "river", "Kyoto": "temple"}
LIMIT = 13  # tokens: one passage with a title, or one sentence of the long passage without


def unit(text: str, title: str = "", section: str = "") -> Unit:
    return make_unit(
        text, Granularity.PASSAGE, document_id="d", parent_id="d", start=0, end=len(text), title=title, section=section
    )


def about(city: str) -> Unit:
    return unit(f"{city} has a {CITIES[city]}. It is old.", city)


def facts(city: str) -> list[str]:
    return [f"{city} has a {CITIES[city]}.", f"{city} is old."]


SENTENCES = [f"{city} has a {thing}." for city, thing in CITIES.items()]
LONG = unit(" ".join(SENTENCES))
REFUSED = unit("Secret.")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A T5 of one layer that has learned by heart what these tests ask it."""
    pairs = [(passage_input(about(city)), json.dumps(facts(city))) for city in CITIES]
    pairs += [(passage_input(unit(sentence)), json.dumps([sentence])) for sentence in SENTENCES]
    pairs += [(passage_input(REFUSED), "I cannot.")]
    words = sorted({word for pair in pairs for text in pair for word in text.split()})
    chars = sorted({char for word in words for char in word})
    vocab = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", -20.0), ("▁", -2.0)]
    vocab += [(f"▁{word}", -3.0) for word in words] + [(char, -9.0) for char in chars]
    tokenizer = transformers.T5Tokenizer(vocab=vocab, extra_ids=0, model_max_length=LIMIT)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # so small a model gains nothing from more
    torch.manual_seed(0)
    config = transformers.T5Config(
        vocab_size=len(tokenizer),
        d_model=32,
        d_kv=8,
        d_ff=64,
        num_layers=1,
        num_heads=4,
        dropout_rate=0.0,
        decoder_start_token_id=0,
    )
    model = transformers.T5ForConditionalGeneration(config)
    given = tokenizer([text for text, _ in pairs], padding=True, return_tensors="pt")
    wanted = tokenizer([text for _, text in pairs], padding=True, return_tensors="pt").input_ids
    wanted = wanted.masked_fill(wanted == 0, -100)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(150):
        model(**given, labels=wanted).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    where = tmp_path_factory.mktemp("models") / "tiny-t5"
    model.save_pretrained(where)
    tokenizer.save_pretrained(where)
    yield where
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def tiny(folder):
    return FlanT5Propositionizer(folder, batch_size=2)


@pytest.fixture
def batches(monkeypatch):
    """The texts of each batch that is generated."""
    seen: list[list[str]] = []
    generate = flan_t5._Engine.generate

    def spy(self, texts, max_new_tokens):
        seen.append(texts)
        return generate(self, texts, max_new_tokens)

    monkeypatch.setattr(flan_t5._Engine, "generate", spy)
    return seen


def test_order_is_kept_though_batches_are_sorted_by_length(tiny, batches):
    passages = [unit(SENTENCES[0]), about("Oslo"), unit(SENTENCES[1]), about("Pisa"), about("Lima")]
    expected = [[SENTENCES[0]], facts("Oslo"), [SENTENCES[1]], facts("Pisa"), facts("Lima")]
    assert tiny.propositionize(passages) == expected
    lengths = [[len(text.split()) for text in batch] for batch in batches]
    assert lengths == [[12, 12], [12, 9], [9]]


def test_batched_and_one_by_one_are_equal(tiny, folder):
    passages = [about(city) for city in CITIES] + [unit(sentence) for sentence in SENTENCES] + [LONG]
    together = FlanT5Propositionizer(folder, batch_size=64).propositionize(passages)
    assert together == tiny.propositionize(passages)
    assert together == [tiny.propositionize([passage])[0] for passage in passages]


def test_a_long_passage_is_cut_at_sentence_ends(tiny, batches):
    assert tiny.propositionize([about("Pisa"), LONG, about("Oslo")]) == [facts("Pisa"), SENTENCES, facts("Oslo")]
    parts = {text for batch in batches for text in batch if "Title: ." in text}
    assert parts == {passage_input(unit(sentence)) for sentence in SENTENCES}


def test_a_sentence_without_end_is_cut_between_words(tiny, batches):
    words = "Pisa has a Lima has a Oslo has a Kyoto".split()
    tiny.propositionize([unit("\n ".join(words))])
    contents = [text.partition("Content: ")[2] for batch in batches for text in batch]
    assert sorted(" ".join(contents).split()) == sorted(words)
    assert all(len(text.split()) + 1 <= LIMIT for batch in batches for text in batch)


def test_text_without_spaces_is_cut_anywhere(tiny, batches):
    tiny.propositionize([unit("Pisahas" * 6)])
    contents = [text.partition("Content: ")[2] for batch in batches for text in batch]
    assert len("".join(contents)) == len("Pisahas" * 6)


def test_an_endless_title_and_section_are_left_out(tiny, batches):
    endless = unit(SENTENCES[0], title="Pisa " * 30, section="Lima " * 30)
    assert tiny.propositionize([endless]) == [[SENTENCES[0]]]
    assert batches == [[passage_input(unit(SENTENCES[0]))]]


def test_failures_carry_their_reason(tiny, folder):
    results = tiny.propositionize([unit(" \n"), REFUSED, about("Pisa")])
    assert results == [[], [], facts("Pisa")]
    assert [result.reason for result in results[:2]] == ["empty passage", "unreadable output"]
    [cut] = FlanT5Propositionizer(folder, max_new_tokens=2).propositionize([about("Pisa")])
    assert isinstance(cut, NoPropositions)
    assert cut.reason == "output cut off"


def test_of_an_output_that_is_cut_off_the_complete_strings_are_kept(folder):
    assert FlanT5Propositionizer(folder, max_new_tokens=5).propositionize([about("Pisa")]) == [facts("Pisa")[:1]]


def test_a_part_that_fails_leaves_the_others(tiny, monkeypatch):
    generate = flan_t5._Engine.generate

    def failing(self, texts, max_new_tokens):
        answers = zip(texts, generate(self, texts, max_new_tokens), strict=True)
        return [("no", False) if "Oslo" in text else answer for text, answer in answers]

    monkeypatch.setattr(flan_t5._Engine, "generate", failing)
    assert tiny.propositionize([LONG]) == [[SENTENCES[0], *SENTENCES[2:]]]


def test_decompose_grounds_its_output(tiny):
    passages = split_passages(Document("Pisa has a tower. It is old.", title="Pisa"))
    result = decompose(passages, tiny)
    first = result.units[0]
    assert first.text == "Pisa has a tower."
    assert passages[0].text[first.start : first.end] == "Pisa has a tower."
    assert result.report.failed == result.report.unsupported == 0


def test_the_model_is_loaded_once_on_first_use(folder, monkeypatch):
    loads = []
    load = flan_t5._load
    monkeypatch.setattr(flan_t5, "_load", lambda *args: loads.append(args) or load(*args))
    propositionizer = FlanT5Propositionizer(str(folder))
    assert isinstance(propositionizer, Propositionizer)
    assert propositionizer.propositionize([]) == []
    assert propositionizer.propositionize([unit(" ")]) == [[]]
    assert loads == []
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(propositionizer.propositionize, [[about(city)] for city in CITIES]))
    assert results == [[facts(city)] for city in CITIES]
    assert len(loads) == 1


def test_a_loaded_one_can_be_handed_to_another_process(tiny):
    tiny.propositionize([about("Pisa")])
    again = pickle.loads(pickle.dumps(tiny))
    assert again._engine is None
    assert again.propositionize([about("Pisa")]) == [facts("Pisa")]


def test_dtype_and_device_are_the_callers(folder):
    chosen = FlanT5Propositionizer(folder, dtype="bfloat16", device="cpu")
    chosen.propositionize([about("Pisa")])
    assert {weights.dtype for weights in chosen._engine.model.parameters()} == {torch.bfloat16}
    with pytest.raises(InvalidInputError, match="'float33'"):
        FlanT5Propositionizer(folder, dtype="float33").propositionize([about("Pisa")])


@pytest.mark.parametrize(
    ("capability", "expected"),
    [((7, 5), torch.float16), ((8, 0), torch.bfloat16), ((9, 0), torch.bfloat16)],
    ids=["T4", "A100", "H200"],
)
def test_dtype_by_device(monkeypatch, capability, expected):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    assert flan_t5._dtype(torch, torch.device("cuda", 0)) == expected
    assert flan_t5._dtype(torch, torch.device("cpu")) == torch.float32
    assert flan_t5._dtype(torch, torch.device("mps")) == torch.float32


def test_progress_is_shown_if_asked_for(tiny, folder, capsys):
    tiny.propositionize([about(city) for city in CITIES])
    assert capsys.readouterr().err == ""
    shown = FlanT5Propositionizer(folder, batch_size=2, show_progress=True)
    shown.propositionize([about("Pisa")])
    capsys.readouterr()  # transformers' own bar for the weights
    shown.propositionize([about(city) for city in CITIES])
    assert re.search(r"propositions: 100%.* 5/5 ", capsys.readouterr().err)


def test_name_is_model_and_revision():
    assert FlanT5Propositionizer().name == DEFAULT_MODEL == "chentong00/propositionizer-wiki-flan-t5-large"
    assert FlanT5Propositionizer("a/b", revision="v1").name == "a/b@v1"


def test_a_model_that_is_not_there(tmp_path):
    for name in (tmp_path / "nothing", "nobody/no-such-model"):
        with pytest.raises(PropositionizerError, match=rf"cannot load .*{re.escape(str(name))}.*hf download") as caught:
            FlanT5Propositionizer(name).propositionize([about("Pisa")])
        assert isinstance(caught.value.__cause__, OSError)


def test_a_folder_that_holds_no_seq2seq_model(tmp_path, folder):
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    with pytest.raises(PropositionizerError, match="cannot load the seq2seq model"):
        FlanT5Propositionizer(tmp_path).propositionize([about("Pisa")])


def test_damaged_weights(tmp_path, folder):
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "model.safetensors").write_bytes(b"no weights")
    with pytest.raises(PropositionizerError, match="cannot load the seq2seq model"):
        FlanT5Propositionizer(tmp_path).propositionize([about("Pisa")])


@pytest.mark.parametrize("missing", ["torch", "transformers"])
def test_a_missing_extra(monkeypatch, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(MissingDependencyError, match=re.escape('pip install "factoid[models]"')):
        FlanT5Propositionizer().propositionize([about("Pisa")])


@pytest.mark.parametrize("options", [{"batch_size": 0}, {"max_new_tokens": 0}])
def test_sizes_are_positive(options):
    with pytest.raises(InvalidInputError, match="batch_size >= 1"):
        FlanT5Propositionizer(**options)


def test_lone_surrogates_are_refused(tiny):
    with pytest.raises(InvalidInputError, match="lone surrogate"):
        tiny.propositionize([unit("x\ud800")])
