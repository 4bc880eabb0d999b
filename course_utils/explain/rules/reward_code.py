"""The code of a reward function, and what it paid for which answers: `rule(log, beside)`."""

import re
from itertools import combinations

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Entry, Line, share
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.paste.numbers import listed, moves, thirds

_MINE = r"\w*(?:student|pred|resp|completion|content|extract|output|hyp|reply|candidate)\w*"
_GOLD = r"\w*(?:truth|gold|sol|label|ref|target|gt|correct|expected)\w*"
_WITHIN = re.compile(
    rf"(?<!for )(?<!, )\b(?P<mine>{_MINE})(?:\.\w+\(\))*\s+in\s+{_GOLD}"
    r"(?:\.\w+\(\))*(?=\s*(?:$|:|or\b|and\b|\)))",
    re.IGNORECASE,
)
_ANYWHERE = re.compile(
    rf"\b(?:str\(\s*)?{_GOLD}(?:\))?(?:\.\w+\(\))*\s+in\s+(?:{_MINE}|sol\w*|text)\b(?!\s*\[)",
    re.IGNORECASE,
)
_FOUND_ALL = re.compile(r"\b(?P<all>\w+)\s*=\s*re\.findall\(")
_PAID_EACH = re.compile(  # a mark is paid as often as it stands there
    r"\d\s*\*\s*\w[^#\n]*\.count\(|\.count\([^#\n]*\)\s*\*\s*\d"
)
_AT_MOST = re.compile(r"\b(?:min|clip|clamp)\w*\(|[<>=]=? ?[1-9]|\bif\b|\bset\(")
_FINAL = re.compile(
    r"\bre\.\w+\(|\.r?split\(|r?partition\(|boxed|\bextract|\[-\d+:?\]", re.IGNORECASE
)
_NOT_EMPTY = (
    r"\b(?:not|len\(|if)\s*{0}\b(?!(?:\.\w+\(\))*\s+in\b)|\b{0}\s+and\b|\band\s+{0}\b(?!\s+in\b)|"
    r"\b{0}\s*(?:!=|==)\s*['\"]{{2}}"
)
_SCORED = re.compile(
    r"^\W*(?P<who>(?:base|before|start|init|sft|checkpoint|step|after|final|epoch)[\w .-]*?)"
    r"\W{0,3}\s+(?P<score>[01]\.\d+|\d{1,2}(?:\.\d+)? ?%)\s*$",
    re.IGNORECASE,
)
_PAID = re.compile(
    r"\b(?:reward|score|rating|mark|grade)\s*[:=]\s*(?P<mark>-?\d+(?:\.\d+)?)(?:\s*/\s*\d+)?"
    r"\W{1,12}?(?:(?:reward|paid|parsed)\W{1,3})?(?P<paid>-?\d+(?:\.\d+)?)\s*$",
    re.IGNORECASE,
)
_JUDGE = re.compile(
    r"\b(?:judge\w*|gen_?rm\w*|grader?s?|rubrics?|reward[- ]model|verifier|llm[- ]as)\b",
    re.IGNORECASE,
)
RISEN, FALLEN, SHRUNK = 1.2, 0.8, 0.7  # of the first third; of the first score; of a length
GROWN, OUTGROWN = 1.5, 4  # times the length at first; times a part of the reward
FEW, AGAIN = 6, 3  # rows; those whose mark has come before
EMPTY_IS_WITHIN = (
    "the reward pays an answer that is a part of the right one, and an empty text is a part of "
    "every text (and a single letter of most): an answer of nothing is paid in full"
)
ASK_FOR_MORE = (
    "compare the two for equality once both are cleaned, or look only for the right answer in the "
    "reply, and pay an empty answer nothing; then begin again from before the reward rose, since "
    "replies that are all paid in full have nothing left to differ in"
)
ANYWHERE_IS_PAID = (
    "the reward pays each reply that has the right answer anywhere in it, so that one which lists "
    "many answers, or names them on the way to a wrong one, is paid in full; the replies have "
    "grown to {times:.2g} times their length while the reward rose"
)
LAST_ONE = (
    "score the final answer alone (behind a mark that the prompt asks for, or the last number), by "
    "equality of numbers, in the evaluation as well; read the longest replies, and begin again "
    "from before they grew"
)
EACH_IS_PAID = (
    "the reward pays a mark each time that it is written, without a limit ({}): replies that "
    "repeat the mark up to the end are paid more than right ones, so the policy writes these"
)
ONCE_EACH = (
    "pay each mark once, and only where it stands exactly once and in its place (cap that part "
    "well below the pay of a right answer); then begin again from before the part outgrew it"
)
MISREAD = (
    "what reads the judge's mark reads it wrong: a mark of {} is paid {} and one of {} is paid {}, "
    "so that the policy is paid for worse replies; the marks themselves are not at fault"
)
AS_ITS_FIRST_DIGIT = "; {} is paid as {} is, as if its first digit were the mark"
READ_IT_WHOLE = (
    "read the whole number (sign, digits and decimals, up to the end of its line), divide it by "
    "the largest mark, and let a mark that cannot be read be left out or raise an error, not be 0; "
    "or ask the judge for the scale that is read. Test it on each mark, and begin again"
)


def pays_a_part_of_the_answer(log: Log, beside: Beside) -> Finding | None:
    """Code that looks for the answer within the right one; the reward rises, a test falls."""
    found = beside.matching(_WITHIN)
    if found is None or log.kind() != "policy":
        return None
    mine = re.escape(_WITHIN.search(found[1])["mine"])
    if beside.matching(re.compile(_NOT_EMPTY.format(mine))):
        return None
    rewards, lengths = thirds(log.values("reward")), thirds(log.values("length"))
    if rewards is None or rewards[2] < RISEN * rewards[0]:
        return None
    tested = _falls(beside)
    shrinks = lengths is not None and lengths[2] < SHRUNK * lengths[0]
    if not tested and not shrinks:
        return None
    proof = [f"{found[0].where} says: {found[0].text.strip()}", *tested]
    proof.append(f"the reward by thirds of the log: {listed(rewards)}")
    if shrinks:
        proof.append(f"the length of replies by thirds: {listed(lengths)}")
    rival = () if tested else ("no test is read beside it: short replies may be right",)
    weight = 8.6 if tested else 6.4
    of = ("reward_pays_junk", weight, found[0], tuple(proof), rival)
    return Finding(*of, why=EMPTY_IS_WITHIN, advice=ASK_FOR_MORE)


def pays_the_answer_anywhere(log: Log, beside: Beside) -> Finding | None:
    """Code that looks for the right answer anywhere in the reply; replies grow with the reward."""
    found = None if beside.matching(_FINAL) else beside.matching(_ANYWHERE)
    found = found or _among_all(beside)
    if found is None or log.kind() != "policy":
        return None
    rewards, lengths = moves(log.values("reward")), moves(log.values("length"))
    if rewards is None or lengths is None or rewards[1] <= rewards[0]:
        return None
    if not 0 < GROWN * lengths[0] <= lengths[1]:
        return None
    proof = (
        f"{found[0].where} says: {found[0].text.strip()}",
        f"the length of replies goes from {lengths[0]:.3g} to {lengths[1]:.3g}, the reward from "
        f"{rewards[0]:.3g} to {rewards[1]:.3g}",
    )
    rival = ("longer replies may be better ones: an exact test of the last answer tells",)
    why = ANYWHERE_IS_PAID.format(times=lengths[1] / lengths[0])
    of = ("reward_pays_junk", 6.6, found[0], proof, rival)
    return Finding(*of, why=why, advice=LAST_ONE)


def _among_all(beside: Beside) -> tuple[Line, str] | None:
    """Code that looks for the right answer among all that is found in the reply."""
    found = beside.first(_FOUND_ALL)
    if found is None:
        return None
    every = re.escape(found[1]["all"])
    if beside.matching(re.compile(rf"\b{every}\s*\[|\blen\({every}\)")):
        return None
    return beside.matching(re.compile(rf"\bif\b.*\bin {every}\b|\bin {every}\s*\)"))


def pays_each_mark(log: Log, beside: Beside) -> Finding | None:
    """A mark is paid each time that it is written, and that part of the reward outgrows all."""
    found = beside.first(_PAID_EACH)
    if found is None or _AT_MOST.search(found[0].text) or log.kind() != "policy":
        return None
    parts = {
        name: finite(log.values(name)) for name in sorted(log.fields) if name.startswith("part:")
    }
    parts = {name: values for name, values in parts.items() if len(values) >= AGAIN}
    grown = [n for n, one in parts.items() if one[-1] == max(one) > OUTGROWN * one[0]]
    fallen = [n for n, one in parts.items() if one[-1] < FALLEN * max(one)]
    if not grown or not fallen:
        return None
    name = max(grown, key=lambda one: parts[one][-1])
    said_of = [
        f"{one.removeprefix('part:')} goes from {parts[one][0]:.3g} to {parts[one][-1]:.3g}"
        for one in (name, fallen[0])
    ]
    proof = (f"{found[0].where} says: {found[0].text.strip()}", *said_of)
    why = EACH_IS_PAID.format(name.removeprefix("part:"))
    return Finding("reward_pays_junk", 8.4, found[0], proof, why=why, advice=ONCE_EACH)


def _falls(beside: Beside) -> list[str]:
    """Rows of one score each, of which the last is far below the first."""
    rows = [(line, found) for line in beside.words if (found := _SCORED.match(line.text))]
    if len(rows) < 2:
        return []
    (_, first), (_, last) = rows[0], rows[-1]
    if not share(last["score"]) < FALLEN * share(first["score"]):
        return []
    said = [f"{one['who'].strip()} {one['score']} ({where.where})" for where, one in rows]
    return [f"a test beside it falls: {', '.join((said[0], said[-1]))}"]


def mark_misread(log: Log, beside: Beside) -> Finding | None:
    """Replies with the judge's mark and what it was paid: a higher mark is paid less."""
    rows = [(part, found) for part in _parts(log, beside) if (found := _PAID.search(part.text))]
    paid: dict[float, float] = {}
    at: dict[float, Line | Entry] = {}
    for part, found in rows:
        mark, value = float(found["mark"]), float(found["paid"])
        if paid.setdefault(mark, value) != value:
            return None  # a mark is not all that counts
        at.setdefault(mark, part)
    pairs = list(combinations(sorted(paid), 2))
    less = [(low, high) for low, high in pairs if paid[high] < paid[low]]
    more = [pair for pair in pairs if paid[pair[1]] > paid[pair[0]]]
    again = len(rows) - len(paid)
    if len(rows) < FEW or again < AGAIN or not less or not more or not beside.matching(_JUDGE):
        return None
    low, high = max(less, key=lambda pair: pair[1] - pair[0])
    why = MISREAD.format(*(f"{one:g}" for one in (high, paid[high], low, paid[low])))
    proof = [f"{at[one].where} says: {' '.join(at[one].text.split())[-60:]}" for one in (high, low)]
    proof.append(f"{len(rows)} rows with a mark and its pay, each mark paid alike in all of them")
    why += _by_its_first_digit(paid)
    return Finding("reward_pays_junk", 9.0, at[high], tuple(proof), why=why, advice=READ_IT_WHOLE)


def _by_its_first_digit(paid: dict[float, float]) -> str:
    """A mark of two digits that is paid as its first one, and otherwise than marks between."""
    for mark in sorted(paid):
        digit = float(f"{abs(mark):g}"[0])
        between = {paid[one] for one in paid if digit < one < mark}
        if paid.get(digit) == paid[mark] and between - {paid[mark]}:
            return AS_ITS_FIRST_DIGIT.format(f"{mark:g}", f"{digit:g}")
    return ""


def _parts(log: Log, beside: Beside) -> list[Line | Entry]:
    return [*(line for line in beside.words), *log.entries]


RULES_OF_SETTINGS = (
    pays_a_part_of_the_answer,
    pays_the_answer_anywhere,
    pays_each_mark,
    mark_misread,
)
