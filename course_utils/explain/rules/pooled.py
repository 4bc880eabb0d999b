"""A score that is read at the last position of a batch padded on the right: `rule(log, beside)`."""

import math
import re
from itertools import pairwise

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Entry, Line, place
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.paste.usual_words import PAD_IS_END, PADDED_ON_THE_RIGHT

_AT_THE_END = re.compile(r"(?:\b\w+(?:\([^()]*\))*|\))\[:, ?-1(?:, ?:)?\]")
_IS_WRITTEN_TO = re.compile(r"^\s*\w+\[(?::|\.\.\.), ?-1\]\s*(?:\+=|=(?!=))")
_OF_A_SCORE = re.compile(r"head|score|reward|value|classif|pool|\brm\b|last_hidden|probe", re.I)
_ON_THE_LEFT = re.compile(r"padding_side['\"]?\s*[:=]\s*['\"]?left\b|\bleft[- ]?padd\w+", re.I)
_ASKS_THE_SIDE = re.compile(r"\.padding_side\b(?!\s*=[^=])")
_SIDE = re.compile(r"['\"]right['\"]")
_BY_THE_MASK = re.compile(
    r"mask\w*\.(?:long\(\)\.|int\(\)\.)?(?:sum|argmin|argmax|flip)\(|sequence_lengths?\b|"
    r"last_(?:non_pad|token_ind|idx|index)|lengths? - 1",
    re.IGNORECASE,
)
_SIZED = re.compile(
    r"\b(?:bs|batch(?:[_ -]?size)?|per_device_eval_batch_size)\W{0,3}(?P<size>\d+)\b[^,;]*?"
    r"\b(?:acc\w*|accuracy|f1|auc)\W{0,3}(?P<hits>0?\.\d+|\d\d\.\d+)",
    re.IGNORECASE,
)
_BESIDE = re.compile(
    r"\b(?P<how>alone|by itself|next to|together with|beside|batched with)\b(?P<what>.*?)\s"
    r"(?P<score>[-+]?\d+\.\d+)\W*$",
    re.IGNORECASE,
)
_REWARD_MODEL = re.compile(
    r"\w*ForSequenceClassification\b|\b[Rr]eward[ _-]?[Mm]odel\w*|\bRewardTrainer\b"
)
_TOKENIZERS_PAD = re.compile(r"\b(?:tok\w*|processor)\.pad_token_id\b(?:\W{1,4}(?P<id>\d+))?")
_ENDS_ROWS = re.compile(r"\bapply_chat_template\(|\beos_token\b|\badd_eos")
_MODELS_PAD = re.compile(r"\bconfig\.pad_token_id\b(?:\W{1,4}(?P<id>\d+))?")
_HALVES = re.compile(r"\[0\.50*\d?, 0\.(?:50*|49+)\d?\]")
FEW, ROWS, AT_LN_2, NO_NORM = 6, 3, 1e-3, 1e-3  # entries; rows; of a loss; of a gradient
BEFORE_THE_FIRST = (
    "the two replies of a pair get one score: padding is the end token, and where the template "
    "ends each turn with that token, the score is read before the first of them, in the part that "
    "both share"
)
PAD_OF_ITS_OWN = (
    "a pad token of its own (one that the vocabulary keeps for it, or a new one with a resized "
    "embedding), in tokenizer.pad_token and model.config.pad_token_id; or a version of "
    "Transformers that reads the last token that is no padding (4.50 and newer)"
)
NEVER_FOUND = (
    "the head looks for the first padding by config.pad_token_id ({model}), and the tokenizer pads "
    "with {tokenizer}: none is found, so that every row but the longest is scored at its padding, "
    "in training too. Its score depends on the rows beside it, and alone it is read at a token on "
    "which the head was hardly trained"
)
ONE_ID = (
    "model.config.pad_token_id = tokenizer.pad_token_id, with a pad token that is not the end of a "
    "text; train again, and see that the logits of one text are the same alone and padded"
)
FALLS, MOVES = 0.02, 0.3  # of an accuracy; of a score
READ_AT_THE_END = (
    "the score is read at the last position of the batch, and the rows are padded on the right: of "
    "every row but the longest it is read at padding, in training and in evaluation, so that it "
    "depends on how long the other rows are"
)
DEPENDS = (
    "the score of a row depends on the rows beside it: it is read at a position of the batch, and "
    "not at the last token of the row, so that short rows are scored at their padding"
)
BY_THE_MASK = (
    "read it at the last token that is no padding: h[torch.arange(len(h)), mask.sum(1) - 1]; or "
    "pad on the left, with the mask and positions that count from the first token; the same in "
    "training and evaluation, and train again"
)


def scored_at_padding(log: Log, beside: Beside) -> Finding | None:
    """The code reads `[:, -1]` under padding on the right, or the scores change with the batch."""
    if beside.matching(_BY_THE_MASK):
        return None
    parts = sorted((*log.entries, *(line for line in beside.words)), key=place)
    code = _code(beside)
    right = beside.matching(PADDED_ON_THE_RIGHT) or _printed_side(beside)
    left = beside.matching(_ON_THE_LEFT)
    moved = [*_by_size(parts), *_by_neighbour(parts)]
    is_shown = code and right and not left
    if not is_shown and not (moved and (code or right) and not left):
        return None
    proof = [f"{line.where} says: {words}" for line, words in filter(None, (code, right))]
    why = READ_AT_THE_END if is_shown else DEPENDS
    at = (code or right)[0]
    return Finding(
        "rows_pooled_wrong",
        8.5 if is_shown else 7.0,
        at,
        (*proof, *moved),
        why=why,
        advice=BY_THE_MASK,
    )


def equal_scores(log: Log, beside: Beside) -> Finding | None:
    """The loss of a reward model stays at ln 2 to the digit, and its padding is the end token."""
    same, of_pairs = beside.matching(PAD_IS_END), beside.matching(_REWARD_MODEL)
    series = [(e, v) for e, v in log.series("loss") if math.isfinite(v)]
    if not same or not of_pairs or len(series) < FEW:
        return None
    if max(abs(loss - math.log(2)) for _, loss in series) > AT_LN_2:
        return None
    norms, halves = finite(log.values("grad_norm")), beside.all_matching(_HALVES)
    if not (norms and max(norms) < NO_NORM) and len(halves) < ROWS:
        return None
    losses = [loss for _, loss in series]
    proof = [
        f"{same[0].where} says: {same[0].text.strip()}",
        f"{of_pairs[0].where} says: {of_pairs[1]}",
        f"the loss is {min(losses):.4g} to {max(losses):.4g} in all {len(losses)} entries; ln 2 = "
        "0.6931 is that of two equal scores",
    ]
    proof += [f"{halves[0][0].where} and {len(halves) - 1} more: {halves[0][1]}"] if halves else []
    proof += [f"grad_norm at most {max(norms):.2g}"] if norms and max(norms) < NO_NORM else []
    at = series[0][0]
    of = ("rows_pooled_wrong", 8.0, at, tuple(proof))
    return Finding(*of, why=BEFORE_THE_FIRST, advice=PAD_OF_ITS_OWN)


def padding_never_found(log: Log, beside: Beside) -> Finding | None:
    """Model and tokenizer of a classifier name two pad tokens."""
    of_class, ids = beside.matching(_REWARD_MODEL), _pad_ids(beside)
    if of_class is None or ids is None or beside.matching(_ON_THE_LEFT):
        return None
    if beside.matching(_ENDS_ROWS):
        return None  # where a row holds the model's pad token itself, that is found
    line, tokenizer, model = ids
    proof = (line.says, f"{of_class[0].where} says: {of_class[1]}")
    why = NEVER_FOUND.format(tokenizer=tokenizer, model=model)
    return Finding("rows_pooled_wrong", 9.0, line, proof, why=why, advice=ONE_ID)


def _pad_ids(beside: Beside) -> tuple[Line, str, str] | None:
    """The tokenizer's and the model's pad token where they differ: each with its value, or both
    in a question with its answer below it."""
    both = beside.first(_TOKENIZERS_PAD), beside.first(_MODELS_PAD)
    if not all(both):
        return None
    ids = [found["id"] for _, found in both]
    if all(ids):
        return (both[1][0], *ids) if ids[0] != ids[1] else None
    for asked, below in pairwise(beside.words):
        names, values = asked.text.split(","), below.text.strip(" ()[]").split(",")
        answers = list(zip(names, values, strict=False)) if len(names) == len(values) else []
        ids = [
            next((value.strip() for name, value in answers if pattern.search(name)), "")
            for pattern in (_TOKENIZERS_PAD, _MODELS_PAD)
        ]
        if all(one.isdigit() for one in ids) and ids[0] != ids[1]:
            return below, *ids
    return None


def _code(beside: Beside) -> tuple[Line, str] | None:
    """The first line of code that takes the last position of what a score is made of."""
    for line in beside.words:
        found = _AT_THE_END.search(line.text)
        if _IS_WRITTEN_TO.match(line.text):
            continue  # a score is put there, and not read
        if found and _OF_A_SCORE.search(line.text):
            return line, line.text.strip()[:100]
    return None


def _printed_side(beside: Beside) -> tuple[Line, str] | None:
    """The side of padding as an interpreter answers it, below the question."""
    for asked, below in pairwise(line for line in beside.words):
        if _ASKS_THE_SIDE.search(asked.text) and _SIDE.search(below.text):
            return below, f"{below.text.strip()} to {asked.text.strip()}"[:100]
    return None


def _by_size(parts: list[Entry | Line]) -> list[str]:
    """An accuracy that falls with every larger batch of the evaluation, in rows that follow."""
    found = [(part, one) for part in parts if (one := _SIZED.search(part.text))]
    for start in range(len(found)):
        hits: dict[int, tuple[str, float]] = {}
        for number, (part, one) in enumerate(found[start:]):
            if place(part) - place(found[start][0]) != number:
                break
            hits.setdefault(int(one["size"]), (part.where, float(one["hits"])))
        sizes = sorted(hits)
        values = [hits[size][1] for size in sizes]
        is_lower = len(sizes) > 2 and all(later < one for one, later in pairwise(values))
        if is_lower and values[0] - values[-1] > FALLS * values[0]:
            return [
                f"{hits[sizes[0]][0]} and after: {values[0]:g} in batches of {sizes[0]}, "
                f"{values[-1]:g} in batches of {sizes[-1]}; a batch must not change it"
            ]
    return []


def _by_neighbour(parts: list[Entry | Line]) -> list[str]:
    """The score of one text, alone and beside another one."""
    found = [(part, one) for part in parts if (one := _BESIDE.search(part.text))]
    own = [(part, one) for part, one in found if one["how"].lower() in ("alone", "by itself")]
    if not own:
        return []
    part, alone = own[0]
    others = [one for other, one in found if 0 < place(other) - place(part) <= 4]
    scores = [float(one["score"]) for one in others]
    if not scores or max(abs(x - float(alone["score"])) for x in scores) < MOVES:
        return []
    far = max(others, key=lambda one: abs(float(one["score"]) - float(alone["score"])))
    return [
        f"{part.where}: one text scores {alone['score']} alone, {far['score']} {far['how']} another"
    ]


RULES_OF_SETTINGS = (scored_at_padding, equal_scores, padding_never_found)
