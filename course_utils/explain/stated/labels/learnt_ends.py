"""The end that the labels teach, beside the end that the saved model is told to stop at."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.messages.complaints import COMPLAINTS
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import MAX_QUOTE, Line
from course_utils.explain.paste.log import Log

IDS = {  # of the ends that models have, as their tokenizers number them
    "<|im_end|>": {151645},
    "<|endoftext|>": {151643, 50256, 199999},
    "<|eot_id|>": {128009},
    "<|end_of_text|>": {128001},
    "<end_of_turn>": {107, 106},
    "<eos>": {1},
    "</s>": {2},
}
_END = "|".join(map(re.escape, IDS))
_LEARNT = re.compile(rf"\blabels?\b.*?({_END})(?:\\n|[\s'\"\])])*$", re.IGNORECASE)
_STOPS = re.compile(
    rf"\beos[_ ]token['\"]?\s*[:=]\s*(?:\{{\s*['\"]content['\"]\s*:\s*)?['\"]?({_END})"
)
_STOP_IDS = re.compile(r"\beos_token_id['\"]?\s*[:=]\s*(\[[\d,\s]+\]|\d+)")
_RUNS_ON = re.compile(
    r"finish_reason\W{1,5}length|[^.\n]{0,40}\b(?:until|to|till) (?:the )?max_(?:new_)?tokens\b|"
    r"\bstop string\b[^.\n]{0,40}",
    re.IGNORECASE,
)
ANOTHER = (
    "the model has learnt to end with {learnt} and is told to stop at {stops}: the labels hold the "
    "end, and whoever generates waits for another token, so that the reply goes on behind it"
)
SET_IT = (
    "put the id of {learnt} into eos_token_id of generation_config.json (a list may hold both), "
    "and make it the eos_token of the saved tokenizer; a stop string is the same by hand; no need "
    "to train again"
)
WEIGHT = 8.0


def another_end(beside: Beside, _log: Log) -> Iterator[Finding]:
    """The labels end with a token that the printed eos is not, and replies run on."""
    learnt = _last(beside, _LEARNT)
    stops = _last(beside, _STOPS) or _last(beside, _STOP_IDS)
    runs_on = beside.matching(_RUNS_ON) or complained(beside)
    if learnt is None or stops is None or runs_on is None:
        return
    (line, end), (other, stop) = learnt, stops
    ids = {int(one) for found in _all(beside, _STOP_IDS) for one in re.findall(r"\d+", found)}
    if end in _all(beside, _STOPS) or ids & IDS[end] or stop == end:
        return
    if not ids <= set().union(*IDS.values()):
        return  # a number that another tokenizer may give to the learnt end
    proof = (
        f"{line.where}: the labels end with {end}",
        other.says,
        f"{runs_on[0].where} says: {runs_on[1].strip()[:MAX_QUOTE]}",
    )
    names = {"learnt": end, "stops": stop}
    why, advice = ANOTHER.format(**names), SET_IT.format(**names)
    yield Finding("stops_elsewhere", WEIGHT, line, proof, why=why, advice=advice)


def complained(beside: Beside) -> tuple[Line, str] | None:
    """What the writer says of replies that do not stop."""
    pattern = next(one for one, keys in COMPLAINTS if "stops_elsewhere" in keys)
    found = ((line, pattern.search(line.text)) for line in beside.told())
    return next(((line, match[0]) for line, match in found if match), None)


def _last(beside: Beside, pattern: re.Pattern) -> tuple[Line, str] | None:
    found = [(line, match[1]) for line in beside.words if (match := pattern.search(line.text))]
    return found[-1] if found else None


def _all(beside: Beside, pattern: re.Pattern) -> list[str]:
    return [match[1] for line in beside.words if (match := pattern.search(line.text))]
