"""Labels that are a copy of padded ids: padding is learnt, and makes up most of the loss."""

import ast
import math
import re
from collections.abc import Iterator
from itertools import groupby

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.code import bound, calls, name_of, statements
from course_utils.explain.paste.entries import Line, plain_number
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.paste.sentences import is_prose
from course_utils.explain.stated.calls.given import keyword, written

_HIDES = re.compile(
    r"(?<![\w.])-100\b|ignore_?(?:index|id)|loss_mask|label_pad_token_id|LABEL_PAD|"
    r"DataCollatorFor(?:LanguageModeling|CompletionOnlyLM|TokenClassification|WholeWordMask)|"
    r"completion_only|assistant_only|train_on_responses_only|\bpacking\s*=\s*True"
)
_KEEPS = re.compile(
    r"\bdefault_data_collator\b|\bDefaultDataCollator\b|\bDataCollator(?:ForSeq2Seq|WithPadding)\b"
)
_TRAINER = re.compile(r"\b(?:Seq2Seq)?Trainer\(")
_COLLATOR = re.compile(r"\b(?:data_)?collat(?:or|e_fn)\b")
_LABELS = re.compile(r"\b(?:decoder_)?labels?(?:_ids)?\b")
_INDEX = re.compile(r"^(?:['\"]?\]|\.\w+(?:\(\))?|\[[\d:, ]*\]|\(|\)|\s|[=:>])*")  # b["labels"][0]
_NUMBERS = re.compile(r"^[^\[\w]{0,12}(?:(?:tensor|array)\()?\[+(?P<of>[\d\s,.-]*)")
_PADDED_TEXT = re.compile(
    r"(?P<pad><pad>|\[PAD\]|<\|endoftext\|>|</s>|<eos>|<\|pad\|>|<\|end_of_text\|>)(?:\s*(?P=pad)){2,}"
)
_MEAN = re.compile(
    r"\b(?:mean|average|avg|median)\b[^\d\n]{0,40}?(?P<a>\d[\d,]*(?:\.\d+)?) ?(?:tokens|toks?)\b|"
    r"(?<![\w.])(?P<b>\d[\d,]*(?:\.\d+)?) (?:tokens|toks?) (?:on|in the) (?:average|mean|median)|"
    r"\b(?:mean|average|avg)\b[^\d\n]{0,20}\b(?:tokens|length|len)\b[^\d\n]{0,30}?"
    r"(?P<c>\d[\d,]*(?:\.\d+)?)",
    re.IGNORECASE,
)
_BY_HAND = re.compile(
    r"\b(?:by hand|manual\w*|myself|per (?:real )?token|log-?prob\w*|nll|real tokens|"
    r"without (?:the )?pad\w*|non-?pad\w*|only (?:on|over) )",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"-?(?<![\w.])\d+\.\d+(?![\w.]*\w)")
AT_END, WORDS, OF_TEXT, MOST_LINES = 4, 3, 100, 10  # ids of a run; other ids; an id of a word
CLOSE = 0.12
SURE, SEEN, BY_SUM = 8.7, 6.2, 6.6
LEARNT = (
    "padding is learnt: the labels are a copy of ids that are padded{size}, and no label of the "
    "padding is set to -100. Most tokens of the averaged loss are padding, which is easy, so "
    "that the loss is far smaller than that of the text{sum}, and neither perplexity nor an early "
    "stop by it says anything about the answers"
)
MEANT = ": {loss:.3g} x {most:g} / {mean:g} = {real:.3g} for each real token"
HIDE = (
    "set the labels to -100 where attention_mask is 0 (or where an id is that of the padding, with "
    "a pad token that is not the end), or pad in the collator, by DataCollatorForSeq2Seq or one "
    "that masks; train again, and judge by the loss of real tokens"
)


def padding_in_labels(beside: Beside, log: Log) -> Iterator[Finding]:
    """Code that copies padded ids, or a row of labels that ends with padding."""
    hides, shown = beside.matching(_HIDES), _shown(beside)
    if hides and not (shown and is_prose(hides[0].text) and hides[0] is not shown):
        return
    code = None if hides else _copied(beside)
    by_sum = _by_sum(beside, log, code[1] if code else 0.0)
    if not (shown or by_sum or (code and _is_kept(beside))):
        return
    lines = [one for one in (code[0] if code else None, shown) if one]
    lines = lines or [by_sum[0]]
    kept = beside.matching(_KEEPS)
    proof = [*(one.says for one in lines), *([kept[0].says] if kept else [])]
    proof += [by_sum[0].says] if by_sum else []
    size = f" to {code[1]:g} tokens each" if code and code[1] else ""
    why = LEARNT.format(size=size, sum=by_sum[1] if by_sum else "")
    weight = SURE if shown or (code and by_sum) else SEEN if code else BY_SUM
    of = ("padding_learnt", weight, lines[0], tuple(dict.fromkeys(proof)))
    yield Finding(*of, why=why, advice=HIDE)


def _is_kept(beside: Beside) -> bool:
    """Whether the collator leaves labels as they are: a named one, or that of a bare Trainer."""
    is_bare = beside.matching(_TRAINER) and not beside.matching(_COLLATOR)
    return bool(beside.matching(_KEEPS) or is_bare)


def _copied(beside: Beside) -> tuple[Line, float] | None:
    """The line that makes labels of padded ids, and the length to which they are padded."""
    padded: dict[str, float] = {}
    for line, statement in statements(beside):
        for target, value in [*bound(statement), *_pairs(statement)]:
            length = _padded_to(value)
            if "label" in written(target).lower() and (found := _source(value, padded)):
                return line, max(0.0, *found)
            if length is not None:
                padded[written(target)] = length
            elif isinstance(target, ast.Name):
                padded.pop(target.id, None)
    return None


def _pairs(statement: ast.AST) -> list[tuple[ast.expr, ast.expr]]:
    """The keys of dicts with their values."""
    dicts = (one for one in ast.walk(statement) if isinstance(one, ast.Dict))
    return [(k, v) for one in dicts for k, v in zip(one.keys, one.values, strict=True) if k]


def _padded_to(value: ast.AST) -> float | None:
    """To which length a tokenizer's call pads; 0 where that is not told; None for other calls."""
    for call in calls(value):
        how = keyword(call, "padding", "pad_to_max_length")
        if how is not None and written(how) in ("'max_length'", "True", "'longest'"):
            most = keyword(call, "max_length")
            is_fixed = isinstance(most, ast.Constant) and "longest" not in written(how)
            return float(most.value) if is_fixed and isinstance(most.value, int) else 0.0
    return None


def _source(value: ast.AST, padded: dict[str, float]) -> list[float]:
    """The lengths of padded rows whose ids a value copies."""
    found = []
    for node in ast.walk(value):
        is_ids = isinstance(node, ast.Subscript) and written(node.slice) == "'input_ids'"
        is_ids = is_ids or (isinstance(node, ast.Attribute) and node.attr == "input_ids")
        if is_ids and (name := written(node.value)) in padded:
            found.append(padded[name])
        elif is_ids and (length := _padded_to(node.value)) is not None:
            found.append(length)
    is_copy = not any(name_of(one.func) in ("where", "masked_fill") for one in calls(value))
    return found if is_copy and not _chooses(value) else []


def _chooses(value: ast.AST) -> bool:
    """Whether an expression takes another value under a condition, as a mask does."""
    return any(isinstance(one, ast.IfExp | ast.Compare) for one in ast.walk(value))


def _shown(beside: Beside) -> Line | None:
    """Labels that are printed, as ids or as text, and end with one padding token again and
    again."""
    lines = beside.words
    for number, line in enumerate(lines):
        if not (found := _LABELS.search(line.text)) or "-100" in line.text:
            continue
        below = [one.text for one in lines[number + 1 : number + MOST_LINES]]
        rest = "\n".join([line.text[found.end() :], *below])
        row = _NUMBERS.match(rest[_INDEX.match(rest).end() :]) or _NUMBERS.match(rest)
        ids = _first_row(row["of"]) if row else []
        if _ends_padded(ids):
            return line
        near = "\n".join([line.text[found.end() :], *below[:1]])
        if "decode" in line.text and "-100" not in near and _PADDED_TEXT.search(near):
            return line
    return None


def _first_row(text: str) -> list[int]:
    row = text.partition("]")[0]
    return [int(one) for one in re.findall(r"-?\d+", row)]


def _ends_padded(ids: list[int]) -> bool:
    """Whether words, by their ids, stand before a run of one id, and none of them is ignored."""
    if len(ids) <= AT_END or min(ids) < 0:
        return False
    runs = [(value, len(list(some))) for value, some in groupby(ids)]
    words = {one for one in ids if one >= OF_TEXT and one != ids[-1]}
    return runs[-1][1] >= AT_END and len(words) >= WORDS


def _by_sum(beside: Beside, log: Log, length: float) -> tuple[Line, str] | None:
    """The loss of real tokens by the mean length of a text, where somebody has found the same."""
    losses = finite(log.values("loss")) + finite(log.values("eval_loss"))
    limit = beside.printed("max_length")
    most = length or (limit.number if limit and limit.number else 0.0)
    means = [
        float(plain_number(next(filter(None, match.groups()))))
        for line in beside.words
        for match in _MEAN.finditer(line.text)
    ]
    told = [
        (line, abs(float(one)))
        for line in beside.words
        if _BY_HAND.search(line.text)
        for one in _NUMBER.findall(line.text)
    ]
    for mean in means:
        for loss in losses[-2:] if 0 < mean < most / 2 else ():
            real = loss * most / mean
            for line, by_hand in told:
                if math.isclose(real, by_hand, rel_tol=CLOSE):
                    said = {"loss": loss, "most": most, "mean": mean, "real": real}
                    return line, MEANT.format(**said)
    return None
