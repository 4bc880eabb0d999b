"""Two functions that prepare the rows of training and of evaluation in different ways."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line, place
from course_utils.explain.paste.log import Log, finite

_DEF = re.compile(r"^\s*def (?P<name>\w+)\(")
_TRAIN = re.compile(r"(?:^|_)train(?:ing)?(?:_|$)", re.IGNORECASE)
_HELD = re.compile(r"(?:^|_)(?:dev|eval|valid\w*|val|test)(?:_|$)", re.IGNORECASE)
_CHANGES = {  # what one of them does to the text and the other does not
    "lower()": re.compile(r"\.lower\(\)"),
    "upper()": re.compile(r"\.upper\(\)"),
    "a prefix in front": re.compile(r"\b(?:prefix|PREFIX|instruction|INSTRUCTION|task)\w*\s*\+"),
    "the chat template": re.compile(r"apply_chat_template\("),
    "an end token behind": re.compile(r"\+\s*[\w.]*eos_token\b"),
    "a shift of the labels": re.compile(r"\[['\"]label\w*['\"]\]\s*-\s*1"),
}
FAR, SURE, MOST = 1.5, 9.0, 20  # times the training loss; lines of a function
DIFFER = (
    "the rows of the evaluation are made in another way than those of the training: {train} has "
    "{ways}, and {held} has not. The model is asked for what it was not taught, so that its loss "
    "there says nothing, however well it has learnt"
)
ONE = (
    "prepare both splits with one function, and evaluate the checkpoint again: no training is "
    "needed. It is no overfitting; dropout and smoothing do not change it"
)


def made_by_two_functions(beside: Beside, log: Log) -> Iterator[Finding]:
    """`prep_train` and `prep_dev`, of which one changes the text and the other does not."""
    bodies = dict(_functions(beside))
    train = next((name for name in bodies if _TRAIN.search(name)), "")
    held = next((name for name in bodies if _HELD.search(name)), "")
    if not train or not held or not _is_worse(log):
        return
    ours, theirs = (" ".join(x.text for x in bodies[name]) for name in (train, held))
    ways = [way for way, code in _CHANGES.items() if code.search(ours) and not code.search(theirs)]
    if not ways:
        return
    shown = [x for x in bodies[train] if any(_CHANGES[way].search(x.text) for way in ways)]
    proof = tuple(x.says for x in (*shown[:2], bodies[held][0]))
    why = DIFFER.format(train=train, held=held, ways=" and ".join(ways))
    yield Finding("evaluation_rows_differ", SURE, shown[0], proof, why=why, advice=ONE)


def _is_worse(log: Log) -> bool:
    ours, theirs = finite(log.values("loss")), finite(log.values("eval_loss"))
    return not theirs or (bool(ours) and theirs[-1] > FAR * ours[-1])


def _functions(beside: Beside) -> Iterator[tuple[str, list[Line]]]:
    """The name of each function with its lines."""
    lines = sorted(beside.words, key=place)
    for number, line in enumerate(lines):
        if found := _DEF.match(line.text):
            body = [line]
            for below in lines[number + 1 : number + MOST]:
                if _DEF.match(below.text):
                    break
                body.append(below)
                if below.text.startswith("return"):
                    break
            yield found["name"], body
