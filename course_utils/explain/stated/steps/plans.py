"""What the start of a run says of it beside its numbers: where it goes on, and its steps."""

import math
import re
from collections.abc import Iterator
from itertools import islice

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import MAX_QUOTE, Entry, Line, place, plain_number
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.usual_words import TOTAL_STEPS

_FROM = re.compile(r"Continuing training from global step (\d+)")
_NOTHING = re.compile(r"train_loss\W{1,5}0(?:\.0+)?\b[^}\n]{0,20}")
_RESUMED = re.compile(
    r"resume_from_checkpoint\S*[\s=:'\"]+(?!false|none|null)[^\s,]+", re.IGNORECASE
)
_ROWS = re.compile(r"Num examples\s*[=:]\s*([\d,]+)")
_EPOCHS = re.compile(r"Num Epochs\s*[=:]\s*([\d,]+)")
_BATCH = re.compile(r"[Tt]otal (?:train )?batch size[^=:\n]{0,60}[=:]\s*([\d,]+)")
_BAR = re.compile(r"^\s*(?:Steps:\s*)?\d+%\|[^|]*\|\s*\d+/(\d+) \[")  # any other name: no steps
_REPLIES = re.compile(
    r"\b(?:num_generations|n_samples_per_prompt|num_return_sequences|rloo_k|rollout\.n)['\"]?"
    r"\s*[=:]?\s*(\d+)"
)
_OF_A_POLICY = re.compile(r"GRPO|RLOO", re.IGNORECASE)
_KEPT_AT = re.compile(
    r"\btokenized(?:_dataset|_data)?_(?:path|dir)['\"]?[\s:=]+['\"]?(?!none\b|null\b|false\b)[\w./~-]+",
    re.IGNORECASE,
)
_PREPARES = re.compile(
    r"Running tokenizer on|Converting format of dataset|\bTokeniz(?:e|ing)\b.*(?:\d%|\d/\d)|"
    r"^\s*Map\b.*\d/\d|Tokenized dataset is saved",
    re.IGNORECASE,
)
_PACKS = re.compile(r"\b(?:neat_)?packing['\"]?\s*[:=]\s*['\"]?true\b", re.IGNORECASE)
_OF_FILE = re.compile(r"^\s*(\d[\d,]*)\s+\S+\.(?:jsonl?|csv|tsv|parquet|txt)\s*$")
_LIMIT = re.compile(r"\b(?:max_samples|max_train_samples)['\"]?\s*[:=]\s*['\"]?(\d+)")
MORE = 1.5  # times the steps that rows, epochs and batch size make


def plans(beside: Beside, log: Log) -> Iterator[Finding]:
    """What is wrong with the plan of a run, whether or not it has entries."""
    for rule in (_goes_past_its_end, _more_steps_than_rows, _other_rows_than_the_file):
        if found := rule(log, beside):
            yield found


def _goes_past_its_end(log: Log, beside: Beside) -> Finding | None:
    """The step of the checkpoint is at or behind the last one of the new run."""
    if found := next(_past(log, beside), None):
        part, begun, steps = found
        proof = [f"{part.where}: step {begun} of {steps}"]
        for pattern in (_NOTHING, _RESUMED):
            proof += _quoted(log, beside, pattern)
        return Finding(
            "resumed_at_its_end",
            8.5,
            part,
            tuple(proof),
            why=f"the run goes on at step {begun}, and its plan ends at {steps}: not one step is "
            "trained. The checkpoint's step counter came along with its weights",
            advice="to train these weights on other data, load them as a model or adapter and "
            "start the Trainer without the checkpoint's state; to go on with the same run, give a "
            f"max_steps or epochs that make more than {begun} steps",
        )
    return None


def _past(log: Log, beside: Beside) -> Iterator[tuple[Entry | Line, int, int]]:
    for part in _parts(log, beside):
        numbers = part.numbers if isinstance(part, Entry) else {}
        if numbers.get("step", 0) > numbers.get("planned_steps", math.inf):
            yield part, int(numbers["step"]), int(numbers["planned_steps"])
    begun, planned = (beside.matching(one) for one in (_FROM, TOTAL_STEPS))
    if begun and planned:
        step, steps = _number(_FROM, begun), _number(TOTAL_STEPS, planned)
        if step >= steps:
            yield begun[0], step, steps


def _quoted(log: Log, beside: Beside, pattern: re.Pattern) -> list[str]:
    found = ((part, pattern.search(part.text)) for part in _parts(log, beside))
    said = [f"{part.where} says: {one[0][:MAX_QUOTE]}" for part, one in found if one]
    return said[-1:]


def _parts(log: Log, beside: Beside) -> Iterator[Entry | Line]:
    yield from log.entries
    yield from (log.summary,) if log.summary is not None else ()
    yield from (line for line in beside.words)


def _number(pattern: re.Pattern, found: tuple[Line, str]) -> int:
    return int(plain_number(pattern.search(found[1])[1]))


def _more_steps_than_rows(log: Log, beside: Beside) -> Finding | None:
    """The plan, or its bar, has more steps than the rows, epochs and batch size make."""
    parts = [beside.matching(one) for one in (_ROWS, _EPOCHS, _BATCH)]
    replies = _replies_to_a_prompt(log, beside)
    if None in parts or replies is None:
        return None
    patterns = (_ROWS, _EPOCHS, _BATCH)
    rows, epochs, batch = (_number(*pair) for pair in zip(patterns, parts, strict=True))
    steps = math.ceil(rows * replies / max(batch, 1)) * epochs
    plans = [(part, int(plain_number(found[1]))) for part, found in _plans(log, beside)]
    part, most = max(plans, key=lambda pair: pair[1], default=(None, 0))
    if part is None or most < MORE * (steps + epochs):
        return None
    each = f"{batch} rows a step" if replies == 1 else f"{batch} replies, {replies} to each, a step"
    proof = (
        f"{parts[0][0].where}: {rows} rows, {epochs} epochs, {each}: {steps} steps",
        f"{part.where}: {most} steps are planned, {most / steps:.3g} times as many",
    )
    return Finding(
        "schedule_too_slow",
        7.0,
        part,
        proof,
        why=f"the run plans {most / steps:.3g} times the steps that its rows make: epochs or "
        "micro-batches are counted twice; it takes that much longer, and a schedule of the rate "
        "that ends with the plan hardly falls",
        advice="give max_steps by hand, or another version of the loop that makes the plan; the "
        "time per step is not at fault",
    )


def _other_rows_than_the_file(log: Log, beside: Beside) -> Finding | None:
    """Far other rows than in the file, a folder of prepared ones, and nothing that prepares any."""
    rows, kept = beside.matching(_ROWS), beside.matching(_KEPT_AT)
    if None in (rows, kept) or beside.matching(_PREPARES) or beside.matching(_PACKS):
        return None
    number, files = _number(_ROWS, rows), beside.all_matching(_OF_FILE)
    limits = [int(_LIMIT.search(words)[1]) for _, words in beside.all_matching(_LIMIT)]
    others = [(line, words) for line, words in files if _apart(_count(words), number)]
    if not others or len(others) < len(files) or any(not _apart(n, number) for n in limits):
        return None
    line, words = others[0]
    proof = (
        f"{line.where} says: {words.strip()}",
        f"{rows[0].where} says: {rows[1]}",
        f"{kept[0].where} says: {kept[1]}; no line shows that rows are prepared in this run",
    )
    rival = "rows that are filtered out, or cut away by a limit, would be missing as well"
    return Finding("rows_prepared_before", 6.5, rows[0], proof, (rival,))


def _apart(one: int, other: int) -> bool:
    return max(one, other) > MORE * max(min(one, other), 1)


def _count(words: str) -> int:
    return int(plain_number(_OF_FILE.search(words)[1]))


def _replies_to_a_prompt(log: Log, beside: Beside) -> int | None:
    """How many rows of a batch are one row of the data: 1, but for a policy that is asked for
    several replies; None where it is not said of one."""
    if said := beside.matching(_REPLIES):
        return _number(_REPLIES, said)
    return None if log.kind() == "policy" or beside.matching(_OF_A_POLICY) else 1


def _plans(log: Log, beside: Beside) -> Iterator[tuple[Entry | Line, re.Match]]:
    """The steps that are said to come, and the first bar without a name: that of an evaluation
    comes later, and others (of a preparation, of shards) have one."""
    begun = beside.matching(_ROWS)[0]
    parts = sorted((p for p in _parts(log, beside) if place(p) >= place(begun)), key=place)
    for pattern in (TOTAL_STEPS, _BAR):
        found = ((part, pattern.search(part.text)) for part in parts)
        yield from islice((pair for pair in found if pair[1]), 1)
