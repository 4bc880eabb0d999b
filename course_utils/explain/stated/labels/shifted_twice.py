"""Labels that code moves one place on, and that the model or the loss moves once more."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.code import statements
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import said
from course_utils.explain.stated.labels.moved_labels import Move, Moved, given_to_a_model

_MOVES = re.compile(r"\[[^\]]*\b1\s*:|\+\s*1\s*:|\broll\(")
_DECODER = re.compile(r"decoder_input_ids|Seq2Seq|\bt5\b|\bbart\b|\bwhisper\b", re.IGNORECASE)
_OWN_LOSS = re.compile(r"cross_?entropy|\b(?:nll_loss|NLLLoss|loss_fct)\b", re.IGNORECASE)
_TRAINER = re.compile(r"(?<![\w.])(?:SFT)?Trainer\(")
_SAYS_MOVED = re.compile(r"[(,]\s*shift_labels\s*=|['\"]shift_labels['\"]")
_MOVES_ITSELF = re.compile(
    r"AutoModel\w*|\w+ForCausalLM|(?<!Tokenizer)\.from_pretrained|\bQwen\w*|\bLlama\w*|\bMistral\w*|\bgemma\w*|"
    r"\bgpt-?2\b|\bSmolLM\w*|\bphi-?\d",
    re.IGNORECASE,
)
_OWN_MODEL = re.compile(r"^\W*class \w+\((?:\w+\.)*(?:Lightning)?Module\)")
LOW, HIGH, SURE, LIKELY = 2.5, 5.0, 9.2, 8.4  # first losses of a pretrained model; weights
TWICE = (
    "the labels are moved twice: the code moves them one place on, and {who} moves them once more, "
    "so that the model learns to say the token behind the next one. The loss begins far too high, "
    "falls to a level that is too high, and replies leave words out; learning rate, number format "
    "and more epochs do not mend that"
)
BY_MODEL = "the model, which gets them as its labels,"
BY_LOSS = "the loss, which compares logits without the last with labels without the first,"
ALIGNED = (
    "give ids and labels that stand at the same places, and leave the move to the model; or keep "
    "the move and take the cross-entropy of the model's logits by hand"
)
ONE_MOVE = "leave one of the two moves out"
AGAIN = (
    "{}. The untouched model's loss on these rows is then low at once; begin again from those "
    "weights"
)


def moved_twice(beside: Beside, log: Log) -> Iterator[Finding]:
    """Code that moves the labels, and a model or a loss that does it again with the same ones."""
    for pattern in (_DECODER, _SAYS_MOVED):
        if beside.matching(pattern):
            return
    if not beside.matching(_MOVES) or not (moves := _moves(beside)):
        return
    move, second, by_loss = moves
    first = log.series("loss")[:1]
    if first and first[0][1] < LOW:
        return  # no pretrained model is that sure of the token behind the next one
    both = dict.fromkeys((move.line, second))
    proof = [one.says for one in both]
    is_high = bool(first) and first[0][1] > HIGH
    if is_high:
        entry = first[0][0]
        proof.append(f"{said(entry, 'loss')} at {entry.where}, in the first entry")
    why = TWICE.format(who=BY_LOSS if by_loss else BY_MODEL)
    advice = AGAIN.format(ONE_MOVE if by_loss else ALIGNED)
    weight = SURE if is_high else LIKELY
    yield Finding("labels_shifted", weight, move.line, tuple(proof), why=why, advice=advice)


def _moves(beside: Beside) -> tuple[Move, Line, bool] | None:
    """The first move, the line of the second, and whether a loss of one's own does that."""
    moved, given = Moved(), None
    for line, statement in statements(beside):
        moved.learn(statement, line)
        move = given_to_a_model(moved, statement, line)
        given = given or (move and (move, line))
    if beside.matching(_OWN_LOSS):
        again = moved.again if moved.logits_cut else None
        return (*again, True) if again and _stands(again[0], moved) else None
    trainer = beside.matching(_TRAINER)
    if given is None and trainer and "labels" in moved.keys:
        given = (moved.keys["labels"], trainer[0])
    if given is None or not _stands(given[0], moved):
        return None
    if beside.matching(_OWN_MODEL) or not beside.matching(_MOVES_ITSELF):
        return None
    return (*given, False)


def _stands(move: Move, moved: Moved) -> bool:
    """Whether it is a move beside the ids, and not a first token that is left out of both."""
    return move.is_whole or moved.ids_cut
