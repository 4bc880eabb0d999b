"""A judge's shares by step, in lines beside the log: they fall while the reward rises."""

import re
from collections.abc import Iterator
from itertools import pairwise

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line, share
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import moves, thirds

_JUDGE = re.compile(
    r"\bjudge|\bhuman|\bprefer|\bwin[- _]?rate|\bwins vs|\bblind\b|\bgold\b|held[- _]?out|\beval|"
    r"\bpass@|\baccuracy",
    re.IGNORECASE,
)
_LESS_IS_BETTER = re.compile(r"error|toxic|refus|hallucin|harm|loss", re.IGNORECASE)
_ROW = re.compile(
    r"^\W*(?:(?:ckpt|checkpoint)[ _-]?)?(?:(?:step|iter(?:ation)?|update)[ _-]?)?(?<=[a-z _-])"
    r"(\d+)\b\W*(?:[a-z][\w -]{0,20}\W+)?(\d{1,3}(?:\.\d+)? ?%|0?\.\d+|\d{1,2}\.\d+(?!\S))",
    re.IGNORECASE,
)
_PERCENT = re.compile(r"(?<![\d.])\d{1,3}(?:\.\d+)? ?%")
_WINS = re.compile(
    r"^\W*(?:step|iter\w*|update|ckpt|checkpoint)[ _-]?(?P<step>\d+)\b.*?"
    r"\bwins?\W{1,3}(?P<win>\d+)\b"
    r"(?:.*?\b(?:ties?|draws?)\W{1,3}(?P<tie>\d+)\b)?.*?\blos[est]+\W{1,3}(?P<lose>\d+)\b",
    re.IGNORECASE,
)
_AT_STEP = re.compile(
    r"\b(?:step|iter(?:ation)?|update|ckpt|checkpoint)[ _-]?(\d+)\W{1,3}"
    r"(\d{1,3}(?:\.\d+)? ?%|0?\.\d+)",
    re.IGNORECASE,
)
_EPISODES = re.compile(r"\b(?:episodes?|steps?|iter\w*|updates?|samples)\b", re.IGNORECASE)
_THOUSANDS = re.compile(r"(?<![\w.])(\d{1,3})k\W{1,3}(\d{1,3}(?:\.\d+)?)(?![\w.%])")  # 10k: 56
_SHARE = re.compile(r"\bitems\b|\bproblems\b|\bquestions\b|accura|exact|\bcorrect\b", re.IGNORECASE)
_IN_PERCENT = re.compile(r"%|\bper ?cent\b", re.IGNORECASE)
_PREFERS_START = re.compile(
    r"[^.\n]{0,40}\b(?:raters?|annotators?|humans?|judges?|users?|testers?|reviewers?)\b[^.\n]{0,40}\b"
    r"(?:prefer|like|pick|choose)(?:s|red)?\b(?!n't)[^.\n]{0,20}\b(?:sft|base|start\w*|old|reference|"
    r"initial|untrained)\b[^.\n]{0,40}",
    re.IGNORECASE,
)
_WON_BY_STEP = re.compile(
    r"(?P<before>\d+(?:\.\d+)?) ?% (?:of )?wins at (?:step|iter\w*|update) \d+,? "
    r"(?:and |but |then )?(?P<after>\d+(?:\.\d+)?) ?% at (?:step|iter\w*|update) \d+",
    re.IGNORECASE,
)
FEWEST, NEXT, HEADS = 3, 12, 3  # rows; lines behind the judge's name; those that may head them
FALLEN = 0.67  # of its best
SURE = 7.0
GROWN, FAR = 5, 0.1  # times its first third; nats
NOTHING_HOLDS = (
    "the reward rises, and people like the replies less: with a KL coefficient of 0 nothing holds "
    "the policy near its start, so that it finds what the reward model overrates (flattery, "
    "length, a form) far from the replies on which that model was trained"
)
HOLD_IT = (
    "a KL coefficient above 0 (0.01 to 0.05, or a target), from the last checkpoint that people "
    "liked; and train the reward model against what the highest rewards have in common"
)
ADVICE = (
    "read the replies with the highest reward, and train the reward model, or harden the verifier, "
    "against what they have in common; take the checkpoint that the judge likes best, and hold the "
    "policy nearer to where it began (a larger coefficient of the KL, fewer steps)"
)


def judged_worse_by_step(beside: Beside, log: Log) -> Iterator[Finding]:
    """The reward rises, and a judge who is asked at several steps likes the replies less."""
    moved = moves(log.values("reward"))
    rows = judged(beside.words) or _compared(beside.words) or _in_a_line(beside.words)
    shares = [value for *_, value in rows]
    if moved is None or moved[1] <= moved[0] or not rows:
        return
    if shares[-1] > min(*shares, FALLEN * max(shares)):
        return
    told = ", ".join(f"step {step} {value:.3g}" for _, step, value in rows)
    is_one = rows[0][0] is rows[-1][0]
    proof = (
        f"{rows[0][0].where}{'' if is_one else ' and behind it'}: {told}",
        f"the reward rises from {moved[0]:.3g} to {moved[1]:.3g}{_of_thirds(log)}",
        *([log.no_kl.says] if log.no_kl else []),
    )
    yield Finding("proxy_rises_alone", SURE, rows[-1][0], proof, advice=ADVICE)


def judged_worse_without_a_kl(beside: Beside, log: Log) -> Iterator[Finding]:
    """The KL has the weight 0 and grows, the reward rises, and people like the start better."""
    moved, kl = moves(log.values("reward")), moves(log.values("kl"))
    if log.no_kl is None or moved is None or kl is None or moved[1] <= moved[0]:
        return
    worse = beside.matching(_PREFERS_START) or _fewer_wins(beside)
    if worse is None or kl[1] < max(FAR, GROWN * abs(kl[0])):
        return
    line, words = worse
    proof = (
        log.no_kl.says,
        f"the reward rises from {moved[0]:.3g} to {moved[1]:.3g}, and the kl from {kl[0]:.3g} to "
        f"{kl[1]:.3g}{_of_thirds(log)}",
        f"{line.where} says: {words.strip()}",
    )
    yield Finding("proxy_rises_alone", SURE, line, proof, why=NOTHING_HOLDS, advice=HOLD_IT)


def _of_thirds(log: Log) -> str:
    """What the two numbers of a change are, where they are no single entries."""
    return " (first and last third)" if thirds(log.values("reward")) else ""


def _fewer_wins(beside: Beside) -> tuple[Line, str] | None:
    """Comparisons that are won less often at a later step, in a sentence."""
    found = beside.first(_WON_BY_STEP)
    if found is None or float(found[1]["after"]) > FALLEN * float(found[1]["before"]):
        return None
    return found[0], found[1][0]


def _compared(lines: list[Line]) -> list[tuple[Line, int, float]]:
    """The share of comparisons that are won, by step, a tie as half of one."""
    matched = [(line, found) for line in lines if (found := _WINS.match(line.text))]
    rows = []
    for line, found in matched:
        win, tie, lose = (int(found[name] or 0) for name in ("win", "tie", "lose"))
        rows.append((line, int(found["step"]), (win + tie / 2) / max(1, win + tie + lose)))
    return rows if len(rows) >= FEWEST else []


def _in_a_line(lines: list[Line]) -> list[tuple[Line, int, float]]:
    """A line of a judge with its share at several steps: `iter 40: 58 %   iter 160: 19 %`."""
    for above, line in pairwise([Line("line 0", ""), *lines]):
        head = f"{above.text} {line.text}"
        if not _JUDGE.search(head) or _LESS_IS_BETTER.search(line.text):
            continue
        rows = [(line, int(one[1]), share(one[2])) for one in _AT_STEP.finditer(line.text)]
        if not rows and _IN_PERCENT.search(head) and _EPISODES.search(line.text):
            pairs = _THOUSANDS.findall(line.text)
            rows = [(line, 1000 * int(step), float(value) / 100) for step, value in pairs]
        if len(rows) >= FEWEST and all(a[1] < b[1] for a, b in pairwise(rows)):
            return rows
    return []


def _of(line: Line, found: re.Match) -> str:
    """What is judged in a row: its one percentage, if it has one, else its first number."""
    percents = _PERCENT.findall(line.text)
    return percents[0] if len(percents) == 1 else found[2]


def judged(lines: list[Line]) -> list[tuple[Line, int, float]]:
    """Lines below a judge's name that give its share at a step, and at a later one each time."""
    for at, head in enumerate(lines):
        if not _JUDGE.search(head.text) or _LESS_IS_BETTER.search(head.text):
            continue
        below = lines[at : at + NEXT]
        matched = ((line, _ROW.match(line.text)) for line in below)
        rows = [(line, int(found[1]), share(_of(line, found))) for line, found in matched if found]
        if any(value > 1 for *_, value in rows):  # without a sign of its own
            is_share = _SHARE.search(head.text) and all(value <= 100 for *_, value in rows)
            if not is_share and not any(_IN_PERCENT.search(one.text) for one in below[:HEADS]):
                continue
            rows = [(line, step, value / 100) for line, step, value in rows]
        grows = all(before < now for (_, before, _), (_, now, _) in pairwise(rows))
        if grows and len(rows) >= FEWEST:
            return rows
    return []
