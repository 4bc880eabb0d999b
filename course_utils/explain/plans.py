"""What the start of a run says of it beside its numbers: steps and template."""

import math
import re
from collections.abc import Iterator

from course_utils.explain.beside import Beside
from course_utils.explain.entries import MAX_QUOTE, Entry, Line
from course_utils.explain.finding import Finding
from course_utils.explain.log import Log

_FROM = re.compile(r"Continuing training from global step (\d+)")
_STEPS = re.compile(r"Total (?:optimization )?steps\s*[=:]\s*([\d,]+)")
_NOTHING = re.compile(r"train_loss\W{1,5}0(?:\.0+)?\b[^}\n]{0,20}")
_RESUMED = re.compile(
    r"resume_from_checkpoint\S*[\s=:'\"]+(?!false|none|null)[^\s,]+", re.IGNORECASE
)
_ROWS = re.compile(r"Num examples\s*[=:]\s*([\d,]+)")
_EPOCHS = re.compile(r"Num Epochs\s*[=:]\s*([\d,]+)")
_BATCH = re.compile(r"[Tt]otal (?:train )?batch size[^=:\n]{0,60}[=:]\s*([\d,]+)")
_BAR = re.compile(r"\b\d+/(\d+) \[")
MORE = 1.5  # times the steps that rows, epochs and batch size make
_TEMPLATE = re.compile(
    r"^\W*(?:--)?(?:chat_)?template['\"]?\s*[:=\s]\s*['\"]?([a-z][\w.-]*)", re.IGNORECASE
)
_MODEL = re.compile(
    r"\b(?:model_name_or_path|base_model|model_name|model_id|model|model_dir)['\"]?\s*[:=\s]\s*"
    r"['\"]?([\w./-]+)",
    re.IGNORECASE,
)
_NEW_END = re.compile(r"Replace eos token:?\s*\S+|Add eos token:?\s*\S+", re.IGNORECASE)
_OF_REPLIES = re.compile(
    r"\b(?:repl(?:y|ies)|answers?|repeat\w*|garbage|gibberish|outputs?|stops?|stopping)\b",
    re.IGNORECASE,
)
FAMILIES = {  # of models, and the templates whose turns end with a token of theirs
    "qwen": re.compile(r"qwen|qwq", re.IGNORECASE),
    "llama3": re.compile(r"llama-?_?3", re.IGNORECASE),
    "llama2": re.compile(r"llama-?_?2", re.IGNORECASE),
    "mistral": re.compile(r"mi[sx]tral", re.IGNORECASE),
    "gemma": re.compile(r"gemma", re.IGNORECASE),
    "phi": re.compile(r"\bphi[-_]?\d?", re.IGNORECASE),
    "glm": re.compile(r"glm", re.IGNORECASE),
    "internlm": re.compile(r"internlm", re.IGNORECASE),
    "baichuan": re.compile(r"baichuan", re.IGNORECASE),
    "yi": re.compile(r"\byi[-_]", re.IGNORECASE),
}


def plans(log: Log, beside: Beside) -> Iterator[Finding]:
    """What is wrong with the plan of a run, whether or not it has entries."""
    for rule in (_goes_past_its_end, _more_steps_than_rows, _template_of_another_model):
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
    begun, planned = (beside.matching(one) for one in (_FROM, _STEPS))
    if begun and planned:
        step, steps = _number(_FROM, begun), _number(_STEPS, planned)
        if step >= steps:
            yield begun[0], step, steps


def _quoted(log: Log, beside: Beside, pattern: re.Pattern) -> list[str]:
    found = ((part, pattern.search(part.text)) for part in _parts(log, beside))
    said = [f"{part.where} says: {one[0][:MAX_QUOTE]}" for part, one in found if one]
    return said[-1:]


def _parts(log: Log, beside: Beside) -> Iterator[Entry | Line]:
    yield from log.entries
    yield from (log.summary,) if log.summary is not None else ()
    yield from (line for _, line in beside.lines)


def _number(pattern: re.Pattern, found: tuple[Line, str]) -> int:
    return int(pattern.search(found[1])[1].replace(",", ""))


def _more_steps_than_rows(log: Log, beside: Beside) -> Finding | None:
    """The plan, or its bar, has more steps than the rows, epochs and batch size make."""
    parts = [beside.matching(one) for one in (_ROWS, _EPOCHS, _BATCH)]
    if None in parts:
        return None
    patterns = (_ROWS, _EPOCHS, _BATCH)
    rows, epochs, batch = (_number(*pair) for pair in zip(patterns, parts, strict=True))
    steps = math.ceil(rows / max(batch, 1)) * epochs
    plans = [(p, int(m[1].replace(",", ""))) for p, m in _plans(log, beside) if m]
    part, most = max(plans, key=lambda pair: pair[1], default=(None, 0))
    if part is None or most < MORE * (steps + epochs):
        return None
    proof = (
        f"{parts[0][0].where}: {rows} rows, {epochs} epochs, {batch} rows a step: {steps} steps",
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


def _plans(log: Log, beside: Beside) -> Iterator[tuple[Entry | Line, re.Match | None]]:
    for part in _parts(log, beside):
        yield part, _STEPS.search(part.text)
        if "it/s]" in part.text or "s/it]" in part.text:  # rows and shards have other units
            yield part, _BAR.search(part.text)


def _template_of_another_model(log: Log, beside: Beside) -> Finding | None:
    """The template is named after one family of models, and the model after another."""
    named = [(line, _TEMPLATE.search(line.text)) for _, line in beside.lines]
    named = [(line, found[1]) for line, found in named if found and _families(found[1])]
    models = [
        (line, found[1])
        for _, line in beside.lines
        for found in _MODEL.finditer(line.text)
        if _families(found[1])
    ]
    if len({name.lower() for _, name in named}) != 1 or not models:
        return None
    (line, template), (where, model) = named[-1], models[0]
    if any(_families(template) & _families(name) for _, name in models):
        return None
    proof = [f"{line.where} says: template {template}", f"{where.where} says: {model}"]
    shown = _quoted(log, beside, _NEW_END)
    told = next((one for one in beside.told() if _OF_REPLIES.search(one.text)), None)
    if not shown and told is None:
        return None  # a name alone is no fault: a base model may learn any template
    return Finding(
        "template_differs",
        6.0 if shown else 4.5,
        line,
        (*proof, *shown),
        why=f"the template is that of {template}, and the model is {model.rpartition('/')[2]}: its "
        "turns end with a token that this model never learnt, and whatever serves it uses another",
        advice="the template of the model's own family (or the one in its tokenizer), in training "
        "and at serving; train again",
    )


def _families(name: str) -> set[str]:
    return {family for family, words in FAMILIES.items() if words.search(name)}
