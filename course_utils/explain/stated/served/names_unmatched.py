"""A file of weights of which no name is one of the model's, loaded without an error."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.drawn_heads import DRAWN, UNUSED
from course_utils.explain.paste.entries import Line, plain_number
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import said
from course_utils.explain.paste.sentences import is_prose

_BEHIND = re.compile(
    r"\bmissing(?:[_ ]keys)?\)?\W{1,4}(?P<missing>\d[\d,]*)\b(?!\.\d).{0,12}?"
    r"\bunexpected(?:[_ ]keys)?\)?\W{1,4}(?P<unexpected>\d[\d,]*)\b(?!\.\d)",
    re.IGNORECASE,
)
_BEFORE = re.compile(
    r"(?<![\d.])(?P<missing>\d[\d,]*) missing\b.{0,12}?"
    r"(?<![\d.])(?P<unexpected>\d[\d,]*) unexpected\b",
    re.IGNORECASE,
)
_LISTS = re.compile(
    r"\bmissing(?:_keys)?\W{1,4}\[['\"](?P<missing>[\w.]+)['\"].*"
    r"\bunexpected(?:_keys)?\W{1,4}\[['\"](?P<unexpected>[\w.]+)['\"]",
    re.IGNORECASE,
)
_NAME = re.compile(r"['\"]([\w.]+)")
_MATCHED = re.compile(r"<All keys matched successfully>", re.IGNORECASE)
_ADAPTER = re.compile(r"\b(?:q?lora|peft|adapter)", re.IGNORECASE)
_SHOWN = (
    re.compile(r"strict\s*=\s*False"),
    re.compile(r"\bfrom_config\("),
    re.compile(r"\btorch\.compile\(|\b(?:DistributedDataParallel|DDP|DataParallel)\("),
)
FEW, RANDOM, SURE = 16, 9.0, 9.0  # names: more than a head has; nats; the weight
NO_NAME = (
    "the weights of the file did not reach the model: {number} names that it has are missing in "
    "the file, and just as many of the file are unexpected in it, as where one list stands under "
    "other names. What is missing stays as the model was made: {made}; and a load that is not "
    "strict raises no error"
)
MADE = ("drawn at random, since it is made from its config", "at random, or the weights before")
PREFIX = (
    "the weights of the file did not reach the model: the first name has {prefix} before it in "
    "{where} and not in {other}, and what has other names is not loaded. What is missing stays as "
    "the model was made: {made}; and a load that is not strict raises no error"
)
STRIP = (
    "compare one name of each side, take off (or add) the prefix that a wrapper put there (_orig_"
    "mod. by torch.compile, module. by DDP, base_model.model. by PEFT), or save the state of the "
    "module inside; load with strict=True, check the first loss, and begin again"
)


def no_name_matches(beside: Beside, log: Log) -> Iterator[Finding]:
    """As many missing as unexpected names, and many, where nothing is loaded again behind it."""
    told: tuple[Line, str] | None = None
    left = ""
    for line in beside.words:
        left = _first_name(UNUSED, line.text) or left
        counts = None if is_prose(line.text) else _counts(line.text)
        if _MATCHED.search(line.text) or (counts and counts[0] < FEW):
            told = None
        elif counts and counts[0] == counts[1]:
            told = line, NO_NAME.replace("{number}", str(counts[0]))
        elif why := _prefixed(line.text) or _of_warnings(line.text, left):
            told = line, why
    if told is None:
        return
    line, why = told
    shown = [found for one in _SHOWN if (found := beside.matching(one))]
    proof = [line.says, *dict.fromkeys(at.says for at, _ in shown if at is not line)]
    start = log.series("loss")[:1]
    if log.kind() == "supervised" and start and start[0][1] > RANDOM:
        entry = start[0][0]
        proof.append(f"{entry.where}: {said(entry, 'loss')}, as of a model that knows nothing")
    is_drawn = any("from_config" in words for _, words in shown)
    key = "adapter_not_loaded" if _ADAPTER.search(line.text) else "guesses"
    why = why.replace("{made}", MADE[0] if is_drawn else MADE[1])
    yield Finding(key, SURE, line, tuple(proof), why=why, advice=STRIP)


def _prefixed(text: str) -> str:
    """What to say where the first names of both lists are the same but for a prefix."""
    found = _LISTS.search(text)
    return _but_for_a_prefix(found["missing"], found["unexpected"]) if found else ""


def _of_warnings(text: str, left: str) -> str:
    """The same of what Transformers warns of: a name of the file that was not used, and one of the
    model that was drawn."""
    drawn = _first_name(DRAWN, text) if left else ""
    return _but_for_a_prefix(drawn, left) if drawn else ""


def _first_name(warning: re.Pattern, text: str) -> str:
    found = warning.search(text)
    name = _NAME.match(found["names"]) if found else None
    return name[1] if name else ""


def _but_for_a_prefix(missing: str, unexpected: str) -> str:
    short, long = sorted((missing, unexpected), key=len)
    if short == long or not long.endswith(f".{short}"):
        return ""
    sides = ("the file", "the model") if long == unexpected else ("the model", "the file")
    return PREFIX.format(
        prefix=long.removesuffix(short), where=sides[0], other=sides[1], made="{made}"
    )


def _counts(text: str) -> tuple[int, int] | None:
    """How many names are missing, and how many unexpected.

    >>> _counts("loaded a.pt (missing 8, unexpected 9)"), _counts("2 missing / 3 unexpected keys")
    ((8, 9), (2, 3))
    """
    found = _BEHIND.search(text) or _BEFORE.search(text)
    return found and tuple(int(plain_number(found[name])) for name in ("missing", "unexpected"))
