from __future__ import annotations

import logging
import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factoid.entities.causal_lm import TransformersReader
from factoid.entities.prompts import question_prompt
from factoid.entities.reader import LLMReader, Reader, clean_answer
from factoid.entities.shorten import shorten
from factoid.errors import InvalidInputError, UnreadableFileError

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from tests.tiny_causal_lm import byte_tokenizer, taught, untrained  # noqa: E402

DOCUMENT = "Rouen lies on the Seine."
LEARNED = {
    question_prompt("which river?"): " Loire\nQ:",
    question_prompt("which river?", [DOCUMENT]): ' "Seine"\n\n',
    question_prompt("which river?", [DOCUMENT, "Lyon lies on the Rhone."]): "\n Rhone",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("reader")
    taught(LEARNED).save_pretrained(path)
    byte_tokenizer().save_pretrained(path)
    return path


def test_what_a_model_has_learned_from_a_folder(folder):
    reader = TransformersReader(folder)
    assert isinstance(reader, Reader)
    assert reader.read("which river?") == "Loire"
    assert reader.read("which river?", DOCUMENT) == "Seine"
    assert reader.read("which river?", [DOCUMENT, "Lyon lies on the Rhone."]) == "Rhone"
    assert TransformersReader(str(folder), max_new_tokens=4).read("which river?") == "Loi"


def greedy(model, tokenizer, prompt, steps):
    """One prompt, no padding, no cache."""
    tokens = tokenizer(prompt)["input_ids"]
    for _ in range(steps):
        with torch.no_grad():
            best = int(model(input_ids=torch.tensor([tokens])).logits[0, -1].argmax())
        if best == 0:
            break
        tokens.append(best)
    return clean_answer(tokenizer.decode(tokens[len(tokenizer(prompt)["input_ids"]) :], skip_special_tokens=True))


@pytest.mark.parametrize("kind", ["llama", "gpt2"])
@pytest.mark.parametrize("batch_size", [1, 3, 8])
def test_batches_of_any_size_answer_as_a_greedy_loop_does(kind, batch_size):
    model, tokenizer = untrained(kind), byte_tokenizer()
    assert tokenizer.pad_token_id is None
    questions = [f"{'what ' * (index % 4)}is {index}?" for index in range(7)]
    contexts = [["word " * (5 * index)] * (index % 3) for index in range(7)]
    expected = [greedy(model, tokenizer, question_prompt(*each), 10) for each in zip(questions, contexts, strict=True)]
    assert len(set(expected)) > 3
    # What checkpoints of chat models bring along has no part in it.
    model.generation_config.update(
        do_sample=True,
        temperature=0.7,
        top_p=0.9,
        top_k=5,
        repetition_penalty=1.5,
        no_repeat_ngram_size=2,
        max_length=20,
    )
    reader = TransformersReader(model, tokenizer, batch_size=batch_size)
    assert reader.read_batch(questions, contexts) == expected
    assert [reader.read(*each) for each in zip(questions, contexts, strict=True)] == expected
    assert tokenizer.pad_token_id is None
    assert reader.read_batch([], []) == []


@pytest.mark.parametrize("stated", ["positions", "tokenizer", "option"])
def test_documents_are_shortened_and_questions_are_not(stated, caplog):
    caplog.set_level(logging.WARNING)
    model = untrained("gpt2", positions=120 if stated == "positions" else 512)
    tokenizer = byte_tokenizer(limit=120 if stated == "tokenizer" else None)
    seen = []

    def prompt(question, context):
        seen.append(question_prompt(question, context))
        return seen[-1]

    options = {"max_length": 120} if stated == "option" else {}
    reader = TransformersReader(model, tokenizer, prompt=prompt, **options)
    reader.read("which river?", ["Rouen lies on the Seine.", "Lyon lies on the Rhone, " * 30])
    used = seen[-1]
    assert used.startswith("Rouen lies on the Seine.\n\nLyon")
    assert used.endswith("\n\nBased on these texts, answer this question:\nQ: which river?\nA:")
    assert 100 < len(used) <= 110  # 120 positions, 10 of them for the answer, and cut between words
    [record] = caplog.records
    assert "from 744 to" in record.getMessage()
    assert "which river?" in record.getMessage()
    reader.read("which river?", ["short"])
    assert len(caplog.records) == 1


def test_a_question_that_is_too_long():
    reader = TransformersReader(untrained(positions=64), byte_tokenizer())
    with pytest.raises(InvalidInputError, match=r"prompt of 10028 tokens, and the model takes 54 before"):
        reader.read("w" * 10_000, ["text"])
    with pytest.raises(InvalidInputError, match="takes 0 before an answer of 80"):
        TransformersReader(untrained(positions=64), byte_tokenizer(), max_new_tokens=80).read("w")


WORDS = st.text(st.sampled_from("ab \n漢"), max_size=30)


@given(st.lists(WORDS, max_size=4), st.integers(0, 60))
def test_shortening_keeps_a_beginning_that_fits(documents, limit):
    kept = shorten(documents, lambda own: sum(map(len, own)) <= limit)
    assert sum(map(len, kept)) <= limit
    for index, part in enumerate(kept):
        assert documents[index].startswith(part)
        assert index == len(kept) - 1 or part == documents[index]
    if sum(map(len, documents)) <= limit:
        assert kept == documents


def test_cuts_are_between_words_where_there_are_some():
    def cut(text, limit):
        return shorten([text], lambda own: sum(map(len, own)) <= limit)

    assert cut("the river Seine", 13) == ["the river"]
    assert cut("the river Seine", 9) == ["the river"]
    assert cut("漢字漢字", 3) == ["漢字漢"]
    assert cut("a " + "b" * 100, 90) == ["a " + "b" * 88]
    assert cut("the river", 0) == []
    assert shorten(["abc", "def"], lambda own: sum(map(len, own)) <= 3) == ["abc"]


def test_bad_input(tmp_path):
    model, tokenizer = untrained(), byte_tokenizer()
    for option in ("max_new_tokens", "max_length", "batch_size"):
        with pytest.raises(InvalidInputError, match=f"{option} must be at least 1, got 0"):
            TransformersReader(model, tokenizer, **{option: 0})
    with pytest.raises(InvalidInputError, match="needs its tokenizer"):
        TransformersReader(model)
    with pytest.raises(InvalidInputError, match="got 1 for 2 questions"):
        TransformersReader(model, tokenizer).read_batch(["a", "b"], [[]])
    with pytest.raises(InvalidInputError, match="expected a question"):
        TransformersReader(model, tokenizer).read(" ")
    with pytest.raises(UnreadableFileError, match="as a causal language model"):
        TransformersReader(tmp_path).read("which river?")


@pytest.mark.parametrize("left", [0, 4, 0.5])
@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json", "config.json"])
def test_damaged_files(folder, tmp_path, name, left):
    path = shutil.copytree(folder, tmp_path / "copy") / name
    raw = path.read_bytes()
    path.write_bytes(raw[: int(left * len(raw)) if isinstance(left, float) else left])
    with pytest.raises(
        UnreadableFileError, match=r"as a causal language model: .* where a file is damaged, get it again"
    ) as caught:
        TransformersReader(path.parent).read("which river?")
    assert str(path.parent) in str(caught.value)
    assert caught.value.__cause__ is not None


@pytest.mark.parametrize("dtype", ["float99", "int8", "Tensor", torch.int64, "float8_e4m3fn", 32, ""])
def test_types_that_are_none(folder, dtype):
    with pytest.raises(InvalidInputError, match="expected a dtype of float32, bfloat16, float16, float64, or None"):
        TransformersReader(folder, dtype=dtype).read("which river?")


@pytest.mark.parametrize("dtype", [None, "auto", "float64", "torch.float32", torch.float64])
def test_types_of_weights(folder, dtype):
    assert TransformersReader(folder, dtype=dtype, device="cpu").read("which river?") == "Loire"


@pytest.mark.parametrize("device", ["cuda:99", "banana", "meta"])
def test_devices_that_are_not_there(folder, device):
    for model in ([folder], [untrained(), byte_tokenizer()]):
        with pytest.raises(InvalidInputError, match=r"expected a device that PyTorch can use here \(cpu.*got"):
            TransformersReader(*model, device=device).read("which river?")


@pytest.mark.parametrize(
    ("questions", "contexts", "reason"),
    [
        ("ab", [[], []], "expected a list of questions, got str"),
        (["a", "b"], "ab", "expected a list of contexts, got str"),
        (["a"], None, "expected a list of contexts, got NoneType"),
        (None, [[]], "expected a list of questions, got NoneType"),
        (["a"], [None], "expected a list of documents, or \\(\\) for none, got NoneType"),
        (["a"], [[None]], "expected the text of each document, got list with NoneType"),
        ([None], [[]], "expected a question as a string, got NoneType"),
    ],
)
def test_batches_that_are_none(questions, contexts, reason):
    reader = TransformersReader(untrained(), byte_tokenizer())
    for each in (reader, LLMReader(lambda prompt: prompt)):
        with pytest.raises(InvalidInputError, match=reason):
            each.read_batch(questions, contexts)
