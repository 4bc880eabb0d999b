"""Rows whose ends are cut away by a limit of the length, so that no end is learnt."""

import re
from collections.abc import Iterator
from itertools import pairwise

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside, Setting
from course_utils.explain.paste.entries import MAX_QUOTE, Entry, Line, plain_number
from course_utils.explain.paste.log import Log

_LONGEST = re.compile(  # litgpt and the like: the longest row is as long as the limit, once cut
    r"\blongest (?:sequence|row|sample)\b[^\d]{0,40}(?P<n>\d[\d,]*)", re.IGNORECASE
)
_COUNT = re.compile(
    r"(?<![a-z])(?:non-?pad\w*(?:\([^)]*\))?|(?:num_|n_)?tok(?:en)?s?(?:_per_batch|_in_batch)?|"
    r"max_len(?:gth)?_in_batch|seq_?len|longest)['\"]?\s*[=: ]\s*(?P<n>\d[\d,]*)(?![.\w])",
    re.IGNORECASE,
)
_TRUNCATED = re.compile(
    r"\b(?:truncat\w+|cut)\b\W{0,3}(?P<some>\d[\d,]*) ?(?:/|of|out of) ?(?P<all>\d[\d,]*)|"
    r"(?P<some2>\d[\d,]*) ?(?:/|of|out of) ?(?P<all2>\d[\d,]*)(?: \w+){0,3} "
    r"(?:truncated|cut\b|longer than|exceed\w*|over the limit|at the limit)",
    re.IGNORECASE,
)
_LENGTHS = re.compile(
    r"\b(?:p50|median|mean|avg|average)\b(?: (?:length|len|tokens)(?: of (?:the )?[\w ]{3,30}?)?)?"
    r"\W{1,3}(?P<n>\d[\d,]*(?:\.\d+)?)(?P<k> ?k\b)?",
    re.IGNORECASE,
)
_LENGTHS_BEHIND = re.compile(
    r"(?<![\w.])(?P<n>\d[\d,]*(?:\.\d+)?)(?P<k> ?k\b)?(?: tok\w*)? (?:on average|"
    r"in the (?:mean|median)|"
    r"(?:at )?(?:the )?(?:median|mean|p50))\b",
    re.IGNORECASE,
)
_PART_OVER = re.compile(
    r"(?<![\d.])(?P<part>\d{1,3}(?:\.\d+)?) ?% of [^.;\n]{0,40}?"
    r"(?:\b(?:over|above|longer than|exceed\w*|beyond|truncated|cut)\b|>)(?: (?:at|to))?"
    r"(?:[^\d.;\n]{0,20}(?P<limit>\d[\d,]*)(?P<k> ?k\b)?)?",
    re.IGNORECASE,
)
_OVER_PART = re.compile(
    r"(?:\b(?:over|above|longer than|exceed\w*|beyond)\b|"
    r">)[^\d\n]{0,15}(?P<limit>\d[\d,]*)(?P<k> ?k\b)?"
    r"[^\d\n%]{0,30}?[:=(,]?\s*(?P<part>\d{1,3}(?:\.\d+)?) ?%",
    re.IGNORECASE,
)
_ASKS_OVER = re.compile(r"^(?=.*\b(?:mean|len)\().*(?:>|\.gt\()\s*(?P<limit>\d{3,6})\b")
_SHARE = re.compile(r"^\W*(?:np\.\w+\()?(?P<part>0?\.\d+|1\.0)\W*$")
_SENTENCE = re.compile(r"(?<=[.;!?])\s+")
_DEFAULTS = (  # of a limit that nothing sets: its name, its value, and what shows the trainer
    ("cutoff_len", 2048, re.compile(r"\bllama-?factory|^\s*(?:stage: sft|finetuning_type:)", re.I)),
    ("max_length", 1024, re.compile(r"\bSFTConfig\(|\bSFTTrainer\(|\btrl sft\b")),
)
_OF_ROWS = re.compile(r"\b(?:tok\w*|len\w*|trace\w*|rows?)\b", re.IGNORECASE)
_OF_OUTPUT = re.compile(
    r"\b(?:completions?|generat\w*|outputs?|prompts?(?! ?\+)|eval|vllm|gen|predict\w*|new)\b",
    re.IGNORECASE,
)
_ENDS = re.compile(  # how many of the rows hold their end
    r"(?:\b(?:eos|eot|end[- ]of[- ]\w+|end token|closing|closed)\b|</\w+>|<\|\w*end\w*\|>|"
    r"\\?boxed).{0,40}?(?<![\d.,])(?P<some>\d[\d,]*) ?(?:/|of|out of) ?(?P<all>\d[\d,]*)",
    re.IGNORECASE,
)
_BYTES = re.compile(r"^[-drwx]{10}\S*\s+\d+\s+\S+\s+\S+\s+(?P<n>\d{6,})\s.*?(?P<file>[\w.-]+)\s*$")
_ROWS = re.compile(r"^\W*(?P<n>\d{3,}(?:,\d{3})*)\W*$|\brows\W{1,3}(?P<m>\d[\d,]*)", re.IGNORECASE)
_ASKS_ROWS = re.compile(r"\b(?:jq length|wc -l|len\()\s*.*?(?P<file>[\w.-]+\.jsonl?)\b")
_DROPS = re.compile(
    r"\bpack(?:ing|ed)\b['\"]?(?!['\"]?\s*[=:]\s*['\"]?(?:false|none|0))|\bdrop_long\b|"
    r"(?:drop|filter|remov|skip)\w*\b.{0,30}\b(?:too long|longer|over)\b|"
    r"excess_length_strategy\W+drop",
    re.IGNORECASE,
)
RUNS_ON = re.compile(
    r"\b(?:finish_?(?:reason)?|stop_reason|reason)['\"]?\W{1,4}(?:length|max)\b|"
    r"\bnever (?:stops?|ends?|closes?|finish\w*)|\bthinks?\b.{0,6}\bforever\b|"
    r"\b(?:does|do|did)(?: not|n't) (?:stop|end|close)\b|\bno (?:</think>|(?:eos|end)\b)|"
    r"(?:hits?|runs? (?:in)?to|until) (?:the )?(?:max_(?:new_)?tokens|budget|limit|\d+k?\b)|"
    r"\bnever (?:emit|produc|writ|reach|generat)\w*\b.{0,20}(?:</\w+>|\beos\b|\bend)|"
    r"\bwithout (?:an? |any |ever )?(?:closing|closed|</think>)",
    re.IGNORECASE,
)
_LIST = re.compile(r"^\W*(?:\w+\W+)?\[.*\d\s*\]\W*$")
_LABELS = re.compile(r"\blabels?(?:_ids)?\b")
ENDS = (151645, 128009, 32007, 100257)  # the end of a turn: of Qwen, Llama 3, Phi 3, OLMo
IGNORED = -100
MOST, FEW, A_TOKEN, FAR = 0.6, 5, 4.5, 1.4  # of lines, of rows; lines; bytes; times the limit
NEAR = 0.03  # of the limit
MANY = 200  # rows of a data set, and not of a sample of replies
CUT = (
    "most rows are longer than the limit of {limit} tokens and are cut from the right, so that "
    "their ends (the close of the reasoning, the answer, the end token) are gone, whatever stands "
    "in the file. The model is trained on text that never ends, and writes such"
)
LONGER = (
    "a limit that holds nearly all rows (of traces of reasoning often 16k to 32k, with packing or "
    "the sequence split over GPUs) and drop those that are longer, not cut them; print the share "
    "of rows whose last label is the end token; more epochs or another rate do not mend it"
)


def ends_cut(beside: Beside, log: Log) -> Iterator[Finding]:
    """What shows that most rows reach the limit, and replies that do not end."""
    limit = beside.printed("max_length") or _by_default(beside)
    runs_on = beside.matching(RUNS_ON)
    if limit is None or not limit.number or limit.number < 64 or runs_on is None:
        return
    if log.kind() != "supervised" or beside.matching(_DROPS):
        return
    parts = [*(line for line in beside.words), *log.entries]
    signs = [
        *_many_truncated(beside),
        *_full_batches(parts, beside, limit),
        *_middle_above(beside, limit),
        *_part_above(beside, limit),
        *_few_ends(beside),
        *_by_size(beside, limit),
    ]
    longest = next(_at_the_limit(beside, limit), None)
    if not signs:
        return
    signs += _shown_without_end(beside)
    is_set = "default" not in limit.written
    given = limit.said if is_set else f"{limit.line.where}: {limit.written} is {limit.value}"
    proof = [given, *([longest] if longest else []), *signs]
    proof.append(runs_on[0].says)
    weight = 8.8 if len(signs) > 1 or longest else 7.8
    why = CUT.format(limit=limit.value)
    yield Finding("end_missing", weight, limit.line, tuple(proof), why=why, advice=LONGER)


def _at_the_limit(beside: Beside, limit: Setting) -> Iterator[str]:
    for line, words in beside.all_matching(_LONGEST):
        if plain_number(_LONGEST.search(words)["n"]) == limit.number:
            yield line.says


def _many_truncated(beside: Beside) -> Iterator[str]:
    for line, words in beside.all_matching(_TRUNCATED):
        found = _TRUNCATED.search(words)
        some, whole = (plain_number(found[n] or found[f"{n}2"]) for n in ("some", "all"))
        if 0 < MOST * whole < some <= whole and not _OF_OUTPUT.search(line.text):
            yield line.says
            return


def _few_ends(beside: Beside) -> Iterator[str]:
    for line, words in beside.all_matching(_ENDS):
        found = _ENDS.search(words)
        some, whole = plain_number(found["some"]), plain_number(found["all"])
        if whole >= MANY and some < MOST * whole and not _OF_OUTPUT.search(line.text):
            yield line.says


def _full_batches(parts: list[Line | Entry], beside: Beside, limit: Setting) -> list[str]:
    """Batches most of which hold as many tokens as full rows have, and some of which fewer."""
    counts = [
        (part, plain_number(found["n"]))
        for part in parts
        if isinstance(part, Entry) and (found := _COUNT.search(part.text))
    ]
    full = [one for one in counts if one[1] and one[1] % limit.number == 0]
    if len(counts) < FEW or len(full) < MOST * len(counts) or len({n for _, n in full}) > 1:
        return []
    part, tokens = full[0]
    if tokens > 64 * limit.number:
        return []
    return [
        f"{part.where}: {tokens:g} tokens, {tokens / limit.number:g} full rows without padding; "
        f"so in {len(full)} of {len(counts)} batches that are shown"
    ]


def _middle_above(beside: Beside, limit: Setting) -> Iterator[str]:
    for line in beside.words:
        for part in _SENTENCE.split(line.text):
            if _OF_OUTPUT.search(part) or not _OF_ROWS.search(part):
                continue
            found = (*_LENGTHS.finditer(part), *_LENGTHS_BEHIND.finditer(part))
            if any(limit.number < _tokens(one) < 100 * limit.number for one in found):
                yield f"{line.where} says: {part.strip()[:MAX_QUOTE]}"
                return


def _tokens(found: re.Match) -> float:
    return plain_number(found["n"]) * (1000 if found["k"] else 1)


def _part_above(beside: Beside, limit: Setting) -> Iterator[str]:
    """That most rows are said to be longer than the limit, in percent."""
    for line in beside.words:
        for part in _SENTENCE.split(line.text):
            found = _PART_OVER.search(part) or _OVER_PART.search(part)
            if not found or _OF_OUTPUT.search(part) or float(found["part"]) <= 100 * MOST:
                continue
            told = plain_number(found["limit"]) if found["limit"] else limit.number
            told *= 1024 if found["k"] else 1
            if abs(told / limit.number - 1) < NEAR:
                yield f"{line.where} says: {part.strip()[:MAX_QUOTE]}"
                return
    for line, below in pairwise(beside.words):
        asked, answer = _ASKS_OVER.search(line.text), _SHARE.match(below.text)
        is_most = asked and answer and float(answer["part"]) > MOST
        if is_most and float(asked["limit"]) == limit.number:
            yield f"{below.where} answers {answer['part']} to {line.text.strip()[:MAX_QUOTE]}"
            return


def _by_default(beside: Beside) -> Setting | None:
    """The limit of a trainer that is shown, where no line sets one."""
    for name, value, shown in _DEFAULTS:
        if found := beside.matching(shown):
            return Setting("max_length", str(value), found[0], written=f"{name} (its default)")
    return None


def _shown_without_end(beside: Beside) -> Iterator[str]:
    """The labels of a printed row, whose last one is not the token that ends its other turns."""
    lines = beside.words
    for number, line in enumerate(lines):
        ids = [int(one) for one in re.findall(r"-?\d+", line.text)]
        named = " ".join(one.text for one in lines[max(0, number - 1) : number + 1])
        if not _LIST.match(line.text) or "[:" in named or not _LABELS.search(named):
            continue
        ends = {
            end for end in ENDS if any(re.search(rf"\b{end}\b", o.text) for o in lines[:number])
        }
        if ends and ids[-1] not in ENDS and ids[-1] != IGNORED:
            yield (
                f"{line.where}: the labels of the row that is shown end with token {ids[-1]}, not "
                f"with {min(ends)}, which ends its other turns"
            )
            return


def _by_size(beside: Beside, limit: Setting) -> Iterator[str]:
    """The bytes of a file and the number of its rows: too many for the limit."""
    lines = beside.words
    sizes = {m["file"]: float(m["n"]) for line in lines if (m := _BYTES.match(line.text))}
    for number, line in enumerate(lines[:-1]):
        asked, told = _ASKS_ROWS.search(line.text), _ROWS.match(lines[number + 1].text)
        if not asked or not told or asked["file"] not in sizes:
            continue
        each = sizes[asked["file"]] / plain_number(told["n"] or told["m"])
        if each / A_TOKEN > FAR * limit.number:
            yield (
                f"{asked['file']} has {sizes[asked['file']]:.3g} bytes and {told[0].strip()} rows "
                f"({lines[number + 1].where}): {each:.3g} bytes a row, about "
                f"{each / A_TOKEN:.2g} tokens"
            )
            return
