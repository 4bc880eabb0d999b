"""Tokens that were added for an adapter which trains neither their embedding nor their head."""

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import MAX_QUOTE, Line, place
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.usual_words import ASKS_LIKENESS
from course_utils.explain.stated.served.rows_of_new_tokens import (
    at_a_guess,
    hardly_likely,
    rows_as_they_were,
    two_at_a_guess,
)

_ADDED = re.compile(
    r"\badd_(?:special_)?tokens\(.*|\b(?:new|additional)_special_tokens\b.*|"
    r"^\W*(?:add_tokens|new_tokens|extra_tokens)\b['\"]?\s*[:=].*|"
    r"\badded \d+ (?:new |special )+tokens.*|\bNew tokens have been added.*|"
    r"\badded\b\W{1,3}(?:</?\W?\w+\W?>\W*){2,}.*|\bembeddings? now \d{4,}.*|"
    r"\bresize_token_embeddings\(.*|\bnew_special_tokens\b.*|"
    r"\b\d+ (?:new|added|extra|special|control)(?: \w+)? tokens\b.*",
    re.IGNORECASE,
)
_PADDING_ALONE = re.compile(r"^[^{]*\{\s*['\"]pad_token['\"]\s*:[^,]*\}", re.IGNORECASE)
_ADAPTER = re.compile(
    r"\b(?:(?:lora_)?target_modules|lora_target)['\"]?\s*[=:]\s*(?:\[[^\]]*\]|['\"]?[\w.-]+)|"
    r"\bLoraConfig\(|\bget_peft_model\(|\b(?:adapter|finetuning_type|train_type|tuner_type|peft_type)"
    r"['\"]?\s*[:=]\s*['\"]?q?lora\b|--use_peft|\btrainable%|"
    r"\btrainable param\w*\W{1,3}\d[\d,]*(?: ?/ ?\d[\d,]*)? ?\(\d{1,2}\.\d+ ?%|"
    r"\blora[_ ](?:r|rank)\b\W{1,3}\d+|\bLoRA\b.{0,20}\br ?= ?\d+",
    re.IGNORECASE,
)
_OF_TABLE = re.compile(
    r"(?:\bshared|embed\w*|\bwte|get_input_embeddings\(\))[\w.]*\.(?:parameters|weight)\b",
    re.IGNORECASE,
)
_FREEZES = re.compile(r"requires_grad(?:_\(\s*|\s*=\s*)False")
_TRAINS_TABLE = re.compile(
    r"modules_to_save['\"]?\s*[:=]\s*(?!None|null|\[\])|additional_target|trainable_token_indices|"
    r"target_modules.*(?:embed_tokens|lm_head)|"
    r"(?:target_modules|lora_target)['\"]?\s*[:=]\s*['\"]?all-?linear.*embed|train_(?:new_)?embed|"
    r"(?:embed|lm_head|get_(?:in|out)put_embeddings).*requires_grad_?\(?\s*=?\s*True|"
    r"requires_grad\W{1,3}.*(?:embed_tokens|lm_head)\W{1,3}[1-9]",
    re.IGNORECASE,
)
_ASKS_TABLE = re.compile(
    r"^(?=.*(?:get_(?:in|out)put_embeddings|embed_tokens|\bwte\b|lm_head))(?=.*requires_grad)", re.I
)
_LOADS = re.compile(r"\bPeftModel\w*\.from_pretrained\(|\.load_adapter\(")
_ASKS_CHANGE = re.compile(r"^(?=.*(?:\.abs\(\)|norm\())(?=.*(?:\[-\d+:\]|new|row|emb))")
_TOLD_NO_CHANGE = re.compile(
    r"^(?=.*\b(?:embed\w*|rows?|lm_head|wte)\b).*(?:\|[^|]*\s-\s[^|]*\||\b(?:change\w*|moved?|delta|diff\w*)\b)"
    r"[^\d]{0,20}(?:0\.0+(?:e[+-]?0+)?\W*)+$",
    re.IGNORECASE,
)
_ASKS_EQUAL = re.compile(
    r"\btorch\.(?:equal|allclose)\((?=.*(?:embed|emb\b|wte|lm_head))(?=.*\[-?\d+:\])",
    re.IGNORECASE,
)
_TRUE = re.compile(r"^\W*True(?:\W+True)*\W*$")
_TOLD_AS_AT_FIRST = re.compile(
    r"\bcos\w*\b.*\b(?:after (?:the )?resize|before|at first|initial\w*|start\w*)\b"
    r"\D*(?:1\.0+\W*){2,}",
    re.IGNORECASE,
)
_LIKENESS = re.compile(  # of rows, once before a training and once after it
    r"\b(?:cos\w*|norms?)\b.*\b(?P<when>before|after)\b\D*(?P<value>\d+\.\d+)\W*$", re.IGNORECASE
)
_FALSE = re.compile(r"\bFalse\b")
_NO_CHANGE = re.compile(r"^\W*(?:0(?:\.0+)?\W+)*0(?:\.0+)?\W*$")
_NEVER = re.compile(
    r"(?:[^.\n]|\.(?=\d)){0,50}\bnever (?:writes?|emits?|outputs?|produces?|generates?|uses?)\b"
    r"[^.\n]{0,30}?(?:\b(?:tokens?|tags?|marks?|markers?)\b|<\w|\[[A-Z])[^.\n]{0,20}",
    re.IGNORECASE,
)
_ALL_ONE = re.compile(r"\[(?:\s*(?:1\.0*|0\.999\d*)\s*,)+\s*(?:1\.0*|0\.999\d*)\s*\]")
_TOLD_AS_ONE = re.compile(
    r"\bcos\w*\b(?=.*\b(?:rows?|tokens?|pairs?|two)\b)(?!.*\d\.\d.*\d\.\d).*?\b(?:1\.0{3,}|0\.999\d+)\b",
    re.IGNORECASE,
)
_COME_OUT_WRONG = re.compile(
    r"\b(?:new|added|special|own)\b.{0,20}\btokens?\b.{0,40}\b(?:never|not|no|n't|wrong)\b",
    re.IGNORECASE,
)
SHOWN, SAID = 9.0, 5.6
LEFT = (
    "tokens were added, and neither their rows of the embedding nor those of the head are trained "
    "(the adapter leaves both out, or they are frozen): they stay as they were drawn, so that the "
    "model can neither read these tokens nor write them"
)
BY_CHANCE = (
    "tokens were added, and neither their rows of the embedding nor those of the head are "
    "trained: both stay as they were drawn, all but the same for the two, so that the model "
    "learns where one of them comes and cannot learn which: each has half of the probability, at "
    "any rank and with any number of rows"
)
ALIKE = ". They are still all alike, so that it cannot tell them apart"
TRAIN = (
    "modules_to_save=['embed_tokens', 'lm_head'] or trainable_token_indices in LoraConfig "
    "(LLaMA-Factory additional_target, axolotl lora_modules_to_save; without an adapter leave both "
    "unfrozen), with both tables where they "
    "are not tied; or spell the marks with tokens that the model knows"
)


def new_tokens_left(beside: Beside, log: Log) -> Iterator[Finding]:
    """Added tokens, an adapter that trains no table, and what shows that their rows stand."""
    lines = beside.words
    added = next((m for m in _matches(lines, _ADDED) if not _PADDING_ALONE.match(m[1])), None)
    adapter = beside.matching(_ADAPTER) or _frozen_table(lines)
    if added is None or adapter is None or beside.matching(_TRAINS_TABLE):
        return
    alike, chance = _alike(lines), two_at_a_guess(log)
    parts = sorted([*lines, *log.entries], key=place)
    rest = [*rows_as_they_were(parts), *(chance or at_a_guess(parts)), *hardly_likely(parts)]
    shown = [*_frozen(lines), *_unchanged(lines), *alike, *rest, *_drawn_again(lines)]
    is_resized = added[1].startswith("resize_token_embeddings")
    if is_resized and (
        not shown or any(_PADDING_ALONE.match(m[1]) for m in _matches(lines, _ADDED))
    ):
        return  # as for a pad token alone
    never = beside.matching(_NEVER) or next(_matches(beside.told(), _COME_OUT_WRONG), None)
    if not shown and not never:
        return
    told = (adapter[0], adapter[0].text)
    rows = [added, told, *([never] if never else [])]
    proof = [f"{line.where} says: {words.strip()[:MAX_QUOTE]}" for line, words in rows] + shown
    at = added[0]
    yield Finding(
        "new_tokens_untrained",
        SHOWN if shown else SAID,
        at,
        tuple(proof),
        () if shown else ("whether the tables are trained is not in the log",),
        why=BY_CHANCE if chance else LEFT + (ALIKE if alike else ""),
        advice=TRAIN,
    )


def _frozen_table(lines: list[Line]) -> tuple[Line, str] | None:
    """A loop over the embedding's weights that freezes them."""
    for line, below in pairwise(lines):
        if _OF_TABLE.search(line.text) and _FREEZES.search(f"{line.text} {below.text}"):
            return line, line.text
    return None


def _matches(lines: Iterable[Line], pattern: re.Pattern) -> Iterator[tuple[Line, str]]:
    return ((line, found[0]) for line in lines if (found := pattern.search(line.text)))


def _frozen(lines: list[Line]) -> list[str]:
    """What answers False to the question whether the tables are trained."""
    for line, below in pairwise(lines):
        if not _ASKS_TABLE.search(line.text):
            continue
        for one in (line, below):
            if _FALSE.search(one.text) and "True" not in one.text:
                return [f"{one.where} answers {one.text.strip()[:80]} to their requires_grad"]
    return []


def _is_as_before(line: Line, below: Line) -> bool:
    """Whether two lines give one number of these rows, before a training and after it."""
    one, other = _LIKENESS.search(line.text), _LIKENESS.search(below.text)
    if not one or not other or one["value"] != other["value"]:
        return False
    return (one["when"].lower(), other["when"].lower()) == ("before", "after")


def _unchanged(lines: list[Line]) -> list[str]:
    """What says that the rows of the new tokens have not changed at all."""
    for line in lines:
        if _TOLD_AS_AT_FIRST.search(line.text):
            return [f"{line.where}: these rows are as at first, {line.text.strip()[:100]}"]
        if _TOLD_NO_CHANGE.search(line.text):
            return [f"{line.where}: the change of these rows is 0, {line.text.strip()[:100]}"]
    for line, below in pairwise(lines):
        if _is_as_before(line, below):
            return [f"{line.where} and {below.where}: {below.text.strip()[:80]}, as before it"]
        if _ASKS_EQUAL.search(line.text) and _TRUE.match(below.text):
            return [f"{below.where}: these rows before and after are equal, {below.text.strip()}"]
        if _ASKS_CHANGE.search(line.text) and _NO_CHANGE.match(below.text):
            return [f"{below.where}: the change of these rows is {below.text.strip()}"]
    return []


def _drawn_again(lines: list[Line]) -> list[str]:
    """A table that is made larger in the training, and once more for the adapter that is loaded."""
    larger = [line for line in lines if "resize_token_embeddings(" in line.text]
    loads = [line for line in lines if _LOADS.search(line.text)]
    if len(larger) < 2 or not any(place(larger[-1]) < place(one) for one in loads):
        return []
    return [f"{larger[-1].where} makes the loaded table larger again: its new rows are new draws"]


def _alike(lines: list[Line]) -> list[str]:
    """What says that the rows of the new tokens are all the same."""
    for line in lines:
        if _TOLD_AS_ONE.search(line.text):
            return [f"{line.where}: the new rows are all alike, {line.text.strip()[:100]}"]
    for line, below in pairwise(lines):
        if ASKS_LIKENESS.search(line.text) and _ALL_ONE.search(below.text):
            return [f"{below.where}: the new rows are all alike, {below.text.strip()[:80]}"]
    return []
