"""Pairs of which a limit of the length leaves what both replies share, so that they are ties."""

import re
from collections.abc import Iterator
from itertools import pairwise

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside, Setting
from course_utils.explain.paste.entries import Entry, Line, plain_number
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.quantiles import counted
from course_utils.explain.stated.rows.tied_pairs import signs_of_ties

_OF_PROMPTS = re.compile(
    r"\bprompts?\b(?=.*\b(?:tok\w*|len\w*)\b)|^(?=.*\b(?:tok\w*|len\w*)\b)(?!.*\b(?:answers?|"
    r"repl(?:y|ies)|responses?|completions?|chosen|rejected|total|whole|full)\b)"
    r".*\b(?:questions?|quer(?:y|ies)|contexts?|passages?|documents?|instructions?|histor(?:y|ies)|"
    r"dialogs?|dialogues?|conversations?)\b|"
    r"\btok\w*\b[^|]*\bprompts?\b(?=\W+(?:p\d+|min|median|mean)\b)",
    re.IGNORECASE,
)
_QUANTILE = re.compile(
    r"\b(?P<name>p\d{1,2}|min|median|mean|avg|max)\b\W{1,3}(?P<value>\d[\d,]*(?:\.\d+)?)",
    re.IGNORECASE,
)
_PROMPTS = re.compile(
    r"^(?:\w+ )?(?:prompt|context|question|history|dialog|conversation)s?"
    r"(?: (?:tok\w*|len\w*|only|alone|part))?$",
    re.IGNORECASE,
)
_FORKS = re.compile(
    r"\bfirst (?:(?:position|token|place)\b.{0,40}\b)?(?:differ\w*|different|diverg\w*)|"
    r"\bdiverg\w+|\bfork\w*|"
    r"\b(?:common|shared|same) (?:prefix|start|beginning)\b",
    re.IGNORECASE,
)
_ASKS_PROMPTS = re.compile(r"\b(?:percentile|quantile)\w*\(.*\bprompt", re.IGNORECASE)
_ANSWERED = re.compile(r"\[\s*(\d[\d., ]+)\]")
_KEEPS_END = re.compile(
    r"truncation_side['\"]?\s*[=:]\s*['\"]?left|keep_end|truncat\w+ (?:from|on) the left|"
    r"truncation['\"]?\s*[=:]\s*['\"]?false",
    re.IGNORECASE,
)
_FEW_FIT = re.compile(
    r"\b(?P<some>\d[\d,]*) (?:out )?of (?:my |the |all )?(?P<all>\d[\d,]*) (?:\w+ )?"
    r"(?:pairs|rows|examples)\b.{0,30}\b(?:left|fit|remain\w*|survive\w*|kept|short enough)\b",
    re.IGNORECASE,
)
_BY_LENGTH = re.compile(r"max_?len|\blen\w*\b|\blimit\b|\btokens\b", re.IGNORECASE)
_NAMES_BOTH = re.compile(
    r"^(?:(?=.*chosen)(?=.*reject)|(?=.*\bgood\b)(?=.*\bbad\b)|"
    r"(?=.*\bbetter\b)(?=.*\bworse\b)|(?=.*\bwinner\b)(?=.*\bloser\b))",
    re.IGNORECASE,
)
_SIDES = ('["chosen"]', '["rejected"]')
_LIMIT = re.compile(r"\w/max_(?:seq_)?len(?:gth)?\b['\"]?[\s=:]{1,3}(\d+)\b")
_MESSAGES = re.compile(r"\[['\"](system|user|assistant|tool)['\"], ?(\d+)\]")
_THREE = re.compile(r"^\W*\d[\d,]*\s+(\d[\d,]*)\s+\d[\d,]*\W*$")
_MEDIAN = re.compile(r"\bp\d{1,2}\s+(?:p50|median)\s+p\d{1,2}\b", re.IGNORECASE)
HEAD = 8  # lines above
CHARACTERS = 5  # of a token, at the most
PAIRS_CUT = (
    "both replies of most pairs are cut away: the rows are cut at {} tokens from the right, and "
    "{} of the prompts have {} tokens or more. What is left of a pair is one and the same prompt, "
    "so its two scores are equal, whichever reply is the better; labels and learning rate are not "
    "to blame"
)
FORKS_CUT = (
    "chosen and rejected are the same tokens in most pairs: the rows are cut at {} tokens from the "
    "right, and {} of the pairs first differ behind {} tokens of the reply. What is left of both "
    "is their common beginning, so that their scores are equal; neither the learning rate nor "
    "the form of the loss is to blame"
)
MOST_LONGER = (
    "chosen and rejected are the same tokens in most pairs: the rows are cut at {} tokens from the "
    "right, and only {} of {} pairs are shorter. Of the others the end is lost, where the replies "
    "stand: what is left is one and the same prompt, so that the two scores are equal, at any "
    "learning rate, and an accuracy that counts ties as right says nothing"
)
SHARED_CUT = (
    "chosen and rejected are the same tokens in most pairs: the rows are cut at {} tokens from the "
    "right, and what both replies share in front of them has {} characters. What is left of both "
    "is their common beginning, so that their scores are equal, in either order of the keys; a tie "
    "counts as a miss. Labels and learning rate are not to blame"
)
LATER_CUT = (
    "a limit above the place where the replies differ; or put what both share into the prompt and "
    "cut that from the left (keep_end), with room for what differs; drop pairs whose ids are the "
    "same once cut, and count them"
)
LONGER_PAIRS = (
    "a limit above prompt and reply together, or cut the prompt from the left "
    "(truncation_side='left') with room for the reply; drop pairs whose ids are the same once cut"
)


def cut_pairs(beside: Beside, log: Log) -> Iterator[Finding]:
    """Pairs of prompts that are longer than the limit, or that differ behind it, and ties."""
    named = [*log.entries[:1], *(line for line in beside.words)]
    if log.kind() != "preference" and not _names_both(named):
        return
    limit = beside.printed("max_length") or _of_tracker(beside)
    if limit is None or not limit.number or beside.matching(_KEEPS_END):
        return
    alike = list(signs_of_ties(beside, log))
    forks, own = _above(beside, limit, _FORKS), beside.printed("max_reply_length")
    if not forks and (forks := _forks_behind(beside, own)):
        limit = own
    long = forks or (None if _keeps_room(beside, limit) else _long_prompts(beside, limit))
    if long is None and alike:
        yield from _few_fit(beside, limit, alike)
        yield from _by_characters(beside, limit, alike)
    if long is None or not alike:
        return
    line, name, tokens = long
    proof = (limit.said, line.says, *alike)
    part = {"min": "all", "median": "half"}.get(name) or f"{100 - int(name[1:])} %"
    why, advice = (FORKS_CUT, LATER_CUT) if forks else (PAIRS_CUT, LONGER_PAIRS)
    why = why.format(limit.value, part, f"{tokens:g}")
    yield Finding("pairs_alike", 8.8, line, proof, why=why, advice=advice)


def _names_both(lines: list[Line | Entry]) -> bool:
    """Whether a line names both sides of a pair, or code makes each in a line of its own."""
    if any(_NAMES_BOTH.search(one.text) for one in lines):
        return True
    return all(any(side in one.text for one in lines) for side in _SIDES)


def _by_characters(beside: Beside, limit: Setting, alike: list[str]) -> Iterator[Finding]:
    """Messages that both replies share, as they are counted in characters, above the limit."""
    lists = [(line, _MESSAGES.findall(line.text)) for line in beside.words]
    lists = [(line, turns) for line, turns in lists if len(turns) > 1]
    for (line, one), (_, other) in pairwise(lists):
        shared = sum(
            int(size)
            for (role, size), same in zip(one, other, strict=False)
            if (role, size) == same
        )
        if one[:-1] != other[:-1] or shared < CHARACTERS * (limit.number or 0):
            continue
        why = SHARED_CUT.format(limit.value, f"{shared:,}")
        proof = (limit.said, line.says, *alike)
        yield Finding("pairs_alike", 8.8, line, proof, why=why, advice=LONGER_PAIRS)
        return


def _forks_behind(beside: Beside, own: Setting | None) -> tuple[Line, str, float] | None:
    """Where the replies first differ, if that is behind the limit of a reply: in words, with the
    numbers below them, under a head of which the middle one is the median."""
    lines = beside.words if own is not None and own.number else []
    for number, (line, below) in enumerate(pairwise(lines)):
        found = _THREE.match(below.text) if _FORKS.search(line.text) else None
        above = lines[max(0, number - HEAD) : number]
        if found and any(_MEDIAN.search(one.text) for one in above):
            middle = plain_number(found[1])
            if middle > own.number:
                return below, "p50", middle
    return None


def _few_fit(beside: Beside, limit: Setting, alike: list[str]) -> Iterator[Finding]:
    """How few pairs a filter by length had left, as somebody has counted."""
    for line in beside.words:
        found = _FEW_FIT.search(line.text)
        if not found or not _BY_LENGTH.search(line.text):
            continue
        some, whole = plain_number(found["some"]), plain_number(found["all"])
        if 0 < some < whole / 2:
            why = MOST_LONGER.format(limit.value, found["some"], found["all"])
            proof = (limit.said, line.says, *alike)
            yield Finding("pairs_alike", 8.8, line, proof, why=why, advice=LONGER_PAIRS)
            return


def _keeps_room(beside: Beside, limit: Setting) -> bool:
    """Whether prompts have a limit of their own, below that of the rows."""
    own = [one.number for one in beside.of("max_prompt_length") if one.number is not None]
    return any(number < (limit.number or 0) for number in own)


def _of_tracker(beside: Beside) -> Setting | None:
    """The limit in the summary of a tracker: cfg/max_len 1024."""
    for line in beside.words:
        if found := _LIMIT.search(line.text):
            return Setting("max_length", found[1], line, written="max_len")
    return None


def _long_prompts(beside: Beside, limit: Setting) -> tuple[Line, str, float] | None:
    """The lowest part of the prompts' lengths that is above the limit, the middle one at most."""
    for line in beside.words:
        if not (told := _OF_PROMPTS.search(line.text)):
            continue
        for found in _QUANTILE.finditer(line.text, told.end()):
            name, tokens = found["name"].lower(), plain_number(found["value"])
            is_low = name in ("min", "median") or (name[0] == "p" and int(name[1:]) <= 50)
            if is_low and tokens >= (limit.number or 0):
                return line, name, tokens
    return _above(beside, limit, _PROMPTS) or _asked(beside, limit)


def _asked(beside: Beside, limit: Setting) -> tuple[Line, str, float] | None:
    """The lengths of prompts as a percentile was asked for, if the least or middle one is above."""
    for line, below in pairwise(beside.words):
        found = _ANSWERED.search(below.text) if _ASKS_PROMPTS.search(line.text) else None
        numbers = [float(one) for one in re.findall(r"\d+(?:\.\d+)?", found[1])] if found else []
        if len(numbers) < 3 or numbers != sorted(numbers):
            continue
        for name, tokens in (("min", numbers[0]), ("median", numbers[len(numbers) // 2])):
            if tokens >= (limit.number or 0):
                return below, name, tokens
    return None


def _above(beside: Beside, limit: Setting, of: re.Pattern) -> tuple[Line, str, float] | None:
    """The lowest part of such lengths in a table that is above the limit."""
    for one in counted(beside.words):
        for name, tokens in one.low() if of.search(one.label) else ():
            if tokens >= (limit.number or 0):
                return one.line, name, tokens
    return None
