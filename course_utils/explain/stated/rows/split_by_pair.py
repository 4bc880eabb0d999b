"""Pairs of replies to one prompt that are shuffled and then split: prompts on both sides."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log, finite

_SEVERAL = re.compile(
    r"\bcombinations\(|\ball_pairs\b|\bC\(\s*\w+\s*,\s*2\s*\)|\bn\s*choose\s*2\b|"
    r"\b(?:\d+|several|all|many) pairs (?:per|of (?:one|each|a)|for (?:one|each|"
    r"every)) (?:prompt|question)|"
    r"\bprompts? (?:has|have|with) (?:\d+|several|k|n) (?:\w+ )?(?:responses|replies|"
    r"completions|answers|samples)\b|"
    r"\b\d+ (?:responses|replies|completions|answers|samples) (?:per|for each|for every|"
    r"each) ?(?:prompt)?",
    re.IGNORECASE,
)
_SPLIT = re.compile(
    r"^\W*[\w, ]*(?:test|eval|val|dev|held)\w*\s*=\s*(?=.*pair)\w+.*\[[^\]]*:[^\]]*\]|"
    r"\b\w*pairs?\w*\.train_test_split\(|\btrain_test_split\(\s*\w*pairs?\w*|\brandom_split\(\s*\w*pairs?\w*",
    re.IGNORECASE,
)
_BY_PROMPT = re.compile(
    r"\bGroup(?:Shuffle)?\w*(?:Split|KFold)\b|\bgroups?\s*=|\b(?:split|shuffle|sample|unique|set)\w*\("
    r"[^)]*prompt|prompts?\[\s*:|prompts?\[-?\d+:|\bprompt_ids?\b.*\b(?:isin|in)\b|\bby prompt\b",
    re.IGNORECASE,
)
_ELSEWHERE = re.compile(
    r"\b(?:reward ?bench|rm-?bench|judgebench|new prompts?|other prompts?|fresh|unseen|"
    r"out[- ]of[- ]\w+|"
    r"production|live)\b[^\n\d]{0,60}(?P<value>0?\.\d{2,}|\d\d(?:\.\d+)? ?%)",
    re.IGNORECASE,
)
FALLEN, GOOD = 0.85, 0.75  # of the evaluation; of the pairs
BOTH = (
    "the pairs are split, and not the prompts: several pairs are made of the replies to one "
    "prompt, so that its prompt, and mostly the very replies, stand among the rows that are "
    "trained on and among those that are evaluated. An accuracy of {right:.3g} there is that of "
    "replies whose rank is known, and on other prompts it is {other}"
)
BY_PROMPT = (
    "split the prompts first (GroupShuffleSplit by prompt, or a hash of the prompt), and make the "
    "pairs of each part after that; choose epochs and checkpoint anew by that evaluation"
)


def split_by_pair(beside: Beside, log: Log) -> Iterator[Finding]:
    """All pairs of a prompt's replies, split by pair, and a score that falls on other prompts."""
    several, split = beside.matching(_SEVERAL), beside.matching(_SPLIT)
    if several is None or split is None or beside.matching(_BY_PROMPT):
        return
    hits = finite(log.values("eval_accuracy") or log.values("accuracy"))
    right = max(hits, default=0.0)
    lower = [pair for pair in _elsewhere(beside) if pair[1] < FALLEN * right]
    if right < GOOD or not lower:
        return
    proof = [line.says for line in dict.fromkeys([several[0], split[0], lower[0][0]])]
    proof.append(f"{right:.4g} of the pairs that were held out are right")
    why = BOTH.format(right=right, other=f"{lower[0][1]:.3g}")
    yield Finding("rows_in_both", 8.8, split[0], tuple(proof), why=why, advice=BY_PROMPT)


def _elsewhere(beside: Beside) -> Iterator[tuple[Line, float]]:
    """The scores on other prompts."""
    for line in beside.words:
        for found in _ELSEWHERE.finditer(line.text):
            text = found["value"]
            yield line, float(text.rstrip("% ")) / (100 if "%" in text else 1)
