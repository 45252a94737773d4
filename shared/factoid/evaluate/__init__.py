"""The measures of the papers: of rankings, of answers, of entity linkers, and of what they cost."""

from factoid.evaluate.answers import (
    AnswerScores,
    exact_match,
    f1,
    has_answer_dpr,
    has_answer_normalized,
    normalize_answer,
    score_answers,
)
from factoid.evaluate.costs import Cost, disk_bytes, measure, peak_memory
from factoid.evaluate.linking import (
    LinkingScores,
    LinkingStatistics,
    linking_statistics,
    strict_scores,
    title_accuracy,
)
from factoid.evaluate.rankings import judge, mrr, ndcg, top_k_accuracy
from factoid.evaluate.strategyqa import YesNoScores, read_yes_no, score_yes_no

__all__ = [
    "AnswerScores",
    "Cost",
    "LinkingScores",
    "LinkingStatistics",
    "YesNoScores",
    "disk_bytes",
    "exact_match",
    "f1",
    "has_answer_dpr",
    "has_answer_normalized",
    "judge",
    "linking_statistics",
    "measure",
    "mrr",
    "ndcg",
    "normalize_answer",
    "peak_memory",
    "read_yes_no",
    "score_answers",
    "score_yes_no",
    "strict_scores",
    "title_accuracy",
    "top_k_accuracy",
]
