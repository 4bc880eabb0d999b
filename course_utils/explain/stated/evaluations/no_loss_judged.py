"""An evaluation of a wrapped model that gives times and no loss: its labels are not known."""

import re
from collections.abc import Iterator
from itertools import pairwise

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Entry, Line, place
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.tables import cells

_JUDGED = re.compile(r"(?<![\w/])['\"]?(?P<name>eval[_/]\w+)['\"]?\s*[:=|]\s*['\"]?[\d.n-]")
_TIME = re.compile(r"eval[_/](?:runtime|\w+_per_second|\w*time|num_\w+)")
_SETTING = re.compile(r"eval_(?:steps?|\w+_steps|delay|\w*batch_size|\w*size|split\w*|every)")
_NOT_FOUND = re.compile(
    r"\bdid not find eval_\w+ so early stopping|"
    r"available evaluation metrics are: \[(?:['\"](?:eval_(?:runtime|\w+_per_second|\w*time)|epoch)"
    r"['\"](?:, )?)*\]"
)
_VALIDATION = re.compile(r"\b(?:valid\w*|eval\w*|test)[_ ]loss\b", re.IGNORECASE)
_NO_LOG = re.compile(r"No log|-|nan|None", re.IGNORECASE)
_ASKS_NAMES = re.compile(r"\blabel_names\b")
_NO_NAMES = re.compile(
    r"\blabel_names\b['\"]?\W{1,8}\[\s*\]|empty label_names list|No label_names provided"
)
_EMPTY = re.compile(r"^\W*(?:Out\[\d+\]:)?\s*\[\s*\]\W*$")
_WRAPPED = re.compile(
    r"\bPeftModel\w*\b|\bget_peft_model\(|\bLoraConfig\(|\bpeft\b|\bq?lora\b", re.I
)
_NAMED = re.compile(r"\blabel_names['\"]?\s*[:=]\s*\[\s*['\"]\w")
NO_LOG = "No_log"  # as one word
WEIGHT = 10.1  # above the words of the error, which names no reason
NO_NAMES = (
    "the Trainer does not know which of the columns are labels, so that it computes no loss in the "
    "evaluation: it reads them from the arguments of the model's forward, and {wrapper} hides "
    "those (label_names is empty). Whatever asks for eval_loss finds none: the best checkpoint, "
    "early stopping, the validation column; the training loss is sound"
)
GIVE_NAMES = (
    "label_names=['labels'] in the TrainingArguments (the names of the label columns of the batch; "
    "or a newer version, or a task_type in the adapter's config, whose wrapper shows them); the "
    "weights need no other change"
)


def no_loss_judged(beside: Beside, log: Log) -> Iterator[Finding]:
    """Evaluations without any metric, beside a wrapper or a list of label names that is empty."""
    if beside.matching(_NAMED):
        return
    shown = [*_only_times(beside, log), *_without_a_log(beside, log), *_asked_in_vain(beside)]
    empty, wrapped = _no_names(beside), beside.matching(_WRAPPED)
    if not shown or not (empty or wrapped):
        return
    proof = [empty.says] if empty else []
    proof += [wrapped[0].says] if wrapped else []
    proof += [one.says for one in shown[:2]]
    why = NO_NAMES.format(wrapper="PEFT's wrapper" if wrapped else "a wrapper")
    of = ("metric_not_there", WEIGHT, shown[0], tuple(dict.fromkeys(proof)))
    yield Finding(*of, why=why, advice=GIVE_NAMES)


def _only_times(beside: Beside, log: Log) -> list[Line | Entry]:
    """The lines of evaluations, where these hold times and nothing else."""
    found = [(x, m["name"]) for x in beside.words for m in _JUDGED.finditer(x.text)]
    found = [(line, name) for line, name in found if not _SETTING.fullmatch(name)]
    is_judged = any(name.startswith("eval_") for name in log.fields)
    if is_judged or not found or not all(_TIME.fullmatch(name) for _, name in found):
        return []
    return [line for line, name in found if "runtime" in name or "second" in name]


def _without_a_log(beside: Beside, log: Log) -> list[Line | Entry]:
    """The rows of a notebook's table, where none has a number under the validation loss."""
    for line in beside.words:
        names = cells(line.text) or []
        at = next((n for n, name in enumerate(names) if _VALIDATION.fullmatch(name)), None)
        if at is None:
            continue
        below = [x for x in (*beside.words, *log.entries) if place(x) > place(line)]
        rows = [(x, row) for x in below if len(row := _cells(x)) == len(names)]
        if rows and all(_NO_LOG.fullmatch(row[at]) for _, row in rows):
            return [x for x, row in rows if row[at].lower() == "no log"]
    return []


def _cells(part: Line | Entry) -> list[str]:
    """The cells of a row; those of an entry, whose blanks are kept as one each."""
    found = cells(part.text) or part.text.replace("No log", NO_LOG).split(" ")
    return [one.replace(NO_LOG, "No log") for one in found]


def _asked_in_vain(beside: Beside) -> list[Line]:
    return [line for line in beside.words if _NOT_FOUND.search(line.text)]


def _no_names(beside: Beside) -> Line | None:
    """What says that no label has a name, on its line or as the answer below it."""
    for line, below in pairwise([*beside.words, Line("", "")]):
        asked = _ASKS_NAMES.search(line.text)
        if _NO_NAMES.search(line.text) or (asked and _EMPTY.match(below.text)):
            return line
    return None
