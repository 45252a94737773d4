from __future__ import annotations

import json
import re
from types import SimpleNamespace

import pytest

from factoid import Document
from factoid.errors import FactoidError, InvalidInputError
from factoid.evaluate.chat import ChatModel
from factoid.evaluate.questions import read_questions
from factoid.evaluate.written_questions import to_records, write_questions
from tests.scripted_models import ServerError


def document(number):
    text = (
        f"The Mars{number} was built by master Hendrik{number} in the yard of the crown. She was "
        "a ship of oak, and had "
        f"a crew of many men. She sank in {1600 + number} near the island of Lund{number}, since "
        "a storm came."
    )
    return Document(text, title=f"Mars{number}", metadata={"source": f"ships/{number}.md"})


DOCUMENTS = [document(number) for number in range(8)]


def number_of(prompt):
    return re.search(r"Title: Mars(\d+)", prompt)[1]


def good(prompt):
    number = number_of(prompt)
    quote = f"She sank in {1600 + int(number)} near the island of Lund{number}, since a storm came."
    fields = {
        "question": f"Where did the warship Mars{number} go down?",
        "quote": quote,
        "answer": f"Lund{number}",
    }
    return f"<think>hm {{}}</think>\nHere:\n```json\n{json.dumps(fields)}\n```"


def changed(**fields):
    """A model whose answers are good but for some fields."""

    def answer(prompt):
        return json.dumps({**json.loads(re.search(r"\{\"q.*\}", good(prompt))[0]), **fields})

    return answer


class Model:
    def __init__(self, answer=good):
        self.answer = answer
        self.prompts = []

    def __call__(self, prompts):
        self.prompts += prompts
        return [self.answer(prompt) for prompt in prompts]


def test_questions_have_their_evidence_and_are_marked(tmp_path):
    written = write_questions(DOCUMENTS, Model(), 3)
    assert (len(written.questions), written.rejected) == (3, {})
    file = tmp_path / "questions.jsonl"
    file.write_text(
        "\n".join(map(json.dumps, to_records(written.questions, DOCUMENTS))), encoding="utf-8"
    )
    for question in read_questions(file):
        assert question.is_generated
        number = re.search(r"Mars(\d)", question.text)[1]
        assert question.answers == (f"Lund{number}",)
        assert question.documents == (f"ships/{number}.md",)
        assert question.quotes[0].text in DOCUMENTS[int(number)].text
    assert (
        write_questions(DOCUMENTS, Model(), 3).questions == written.questions
    )  # the same ones again


def test_all_documents_are_asked_about_in_turn():
    model = Model()
    write_questions(DOCUMENTS, model, 8)
    assert sorted(map(number_of, model.prompts)) == list("01234567")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (lambda _: "I cannot.", "without JSON"),
        (lambda _: "", "without JSON"),
        (changed(question=""), "with nothing to ask"),
        (changed(answer=""), "without quote or answer"),
        (changed(question="Where did Mars sink?"), "too short"),
        (changed(question="Where did the ship of the passage go down?"), "about the text itself"),
        (
            changed(question="According to the text, which island was near?"),
            "about the text itself",
        ),
        (changed(question="What was the name of that ship?"), "too generic"),
        (
            changed(quote="She sank near Gotland in a storm."),
            "with a quote that is not in the passage",
        ),
        (changed(answer="Gotland"), "with an answer that is not in the quote"),
    ],
)
def test_what_is_left_out(answer, reason):
    def second(prompt):
        return answer(prompt) if number_of(prompt) in "0123" else good(prompt)

    written = write_questions(DOCUMENTS, Model(second), 4)
    assert len(written.questions) == 4
    # As many as came before four good ones.
    assert set(written.rejected) == {reason}
    assert f"{written.rejected[reason]} {reason}" in str(written)


def test_copied_and_repeated_questions():
    def copied(prompt):
        if number_of(prompt) in "01":
            return changed(question=f"She sank near the island of Lund{number_of(prompt)}?")(prompt)
        return good(prompt)

    assert write_questions(DOCUMENTS, Model(copied), 6).rejected == {
        "in the words of their evidence": 2
    }

    def same(prompt):
        return changed(question="Where did master Hendrik and his warship go down?")(prompt)

    documents = [
        Document(document.text.replace("Hendrik", "Hendrik ")) for document in DOCUMENTS[:4]
    ]

    def untitled(prompt):
        number = re.search(r"The Mars(\d+)", prompt)[1]
        return same(f"Title: Mars{number}")

    written = write_questions(documents, Model(untitled), 3)
    assert len(written.questions) == 1
    assert written.rejected == {"asked already": 3}


def test_too_few_passages_and_no_usable_question():
    assert len(write_questions(DOCUMENTS, Model(), 50).questions) == 8
    with pytest.raises(InvalidInputError, match="no passage of the corpus has 25 words"):
        write_questions([Document("It sank.")], Model(), 2)
    with pytest.raises(
        InvalidInputError, match=r"no question of the model is usable .*8 without JSON"
    ):
        write_questions(DOCUMENTS, Model(lambda _: "no"), 50)
    with pytest.raises(InvalidInputError, match="number of questions to write must be at least 1"):
        write_questions(DOCUMENTS, Model(), 0)


# -- The client --


class Client:
    """A client with OpenAI's interface."""

    def __init__(self, answer):
        self.requests = []
        self.chat = SimpleNamespace(completions=self)
        self.answer = answer

    def create(self, **request):
        self.requests.append(request)
        answer = self.answer(request["messages"][0]["content"])
        if isinstance(answer, Exception):
            raise answer
        return {"choices": [{"message": {"content": answer}, "finish_reason": "stop"}]}


def test_prompts_are_completed_in_order():
    client = Client(str.upper)
    model = ChatModel(client, "tiny", max_concurrency=3)
    assert model.complete([f"a{n}" for n in range(9)]) == [f"A{n}" for n in range(9)]
    assert {(request["model"], request["temperature"]) for request in client.requests} == {
        ("tiny", 0.0)
    }
    ChatModel(client, "tiny", temperature=None).complete(["x"])
    assert "temperature" not in client.requests[-1]


def test_it_reads_the_first_line():
    model = ChatModel(
        Client(
            lambda prompt: '<think>hm</think>"1628"\nsince' if "It sank in 1628" in prompt else ""
        ),
        "tiny",
    )
    assert model.read_batch(["When?", "Why?"], ["It sank in 1628.", ""]) == ["1628", ""]
    assert model.read("When?", "It sank in 1628.") == "1628"


def test_one_failure_costs_one_answer_and_a_wrong_key_all():
    model = ChatModel(Client(lambda prompt: ServerError(503) if prompt == "b" else prompt), "tiny")
    assert model.complete(["a", "b"]) == ["a", ""]
    with pytest.raises(FactoidError, match="answered none of 1 requests"):
        model.complete(["b"])
    with pytest.raises(
        FactoidError, match=r"requests for the model 'tiny' are rejected: .* Check the client's key"
    ):
        ChatModel(Client(lambda _: ServerError(401)), "tiny").complete(["a", "b"])
