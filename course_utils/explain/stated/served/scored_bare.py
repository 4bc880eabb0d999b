"""A reward model that learnt on rows in a chat template, and scores text without one."""

import ast
import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.code import bound, calls, name_of, statements
from course_utils.explain.paste.entries import Entry, Line, share
from course_utils.explain.paste.log import Log, finite

_REWARD_MODEL = re.compile(
    r"ForSequenceClassification\b|\brewards?[ _-]?model\w*|\bRM\b|\brm\(|RewardTrainer|"
    r"train_rm\b|\breward_model\b",
    re.IGNORECASE,
)
_BY_TEMPLATE = re.compile(
    r"(?<!tokenizer\.)(?<!tok\.)\bapply_chat_template\b(?!\()|\bconversational\b|"
    r"\bappl\w+ .{0,25}\btemplate\b|\bchat[- ]template (?:was |is )?applied\b|"
    r"\b(?:train\w*|sft)\b.{0,60}\bchat[- ]?template\b|\blists? of (?:messages|dicts|turns)\b",
    re.IGNORECASE,
)
_OF_TRAINING = re.compile(
    r"\btrain\w*\b|\bsample\W{1,3}\d|\brow\W{1,3}\d|\bds\[|\bexample\W{1,3}\d", re.I
)
_MARKS = re.compile(
    r"<\|(?:im_start|start_header_id|user|assistant|begin_of_text)\|>|\[INST\]|<start_of_turn>|"
    r"### ?(?:Instruction|Human|User)"
)
_NOT_SUCH = re.compile(r"\bgenerate\(|\bembed\w*\(|\bsentence_transformers\b")
_TOKENIZES = re.compile(
    r"^(?:\w*tok\w*|(?:batch_)?encode\w*|\w*processor|\w*pipe\w*)$", re.IGNORECASE
)
_ALONE = re.compile(r"^\W*(?:np\.\w+\(|tensor\()?0?\.\d+\W*$")
_LOSS = re.compile(r"\bloss\w*\W{1,4}[\d.]+", re.IGNORECASE)
_ACCURACY = re.compile(
    r"\bacc\w*['\"]?\W{1,3}(?:(?P<a>0?\.\d{2,})|(?P<b>\d\d(?:\.\d+)?) ?%)(?!\w)", re.IGNORECASE
)
_NUMBER = re.compile(
    r"(?<![\w.-])(?:(?P<a>0?\.\d{2,})(?![\d.]*e-?\d)|(?P<b>\d\d(?:\.\d+)?) ?%)(?!\w)"
)
_OF_ACCURACY = re.compile(
    r"\bacc\w*|\beval\w*|\bscor\w*|\bhits?\b|\bmean\(|\bright\b|\bcorrect\b|\bpairs?\b|->|#", re.I
)
GOOD, COIN, APART = 0.65, 0.65, 0.08  # of pairs that are ranked right
SURE, UNLIKELY = 8.8, 0.35
BARE = (
    "the reward model is asked in another form than it was trained in: the training's rows were "
    "laid out by the chat template, and the scoring joins prompt and reply by hand ({code}), "
    "without the marks of the turns and the end that the score is read at. The same weights rank "
    "the same pairs hardly better than a coin"
)
RENDER = (
    "render both turns for the scoring as in the training: tok.apply_chat_template([user, "
    "assistant], tokenize=False), then tokenize that with add_special_tokens=False; the weights "
    "need no further training"
)


def scored_without_template(beside: Beside, log: Log) -> Iterator[Finding]:
    """Rows of the training in a template, scoring code without, and an accuracy that falls."""
    if not beside.matching(_REWARD_MODEL) or beside.matching(_NOT_SUCH):
        return
    scoring = _joined_by_hand(beside)
    trained = _trained(beside, scoring) if scoring else None
    if scoring is None or trained is None:
        return
    fell = _fell(beside, log)
    if not fell:
        return
    line, code = scoring
    proof = (trained.says, line.says, *fell)
    why = BARE.format(code=code[:70])
    yield Finding("template_differs", SURE, line, proof, why=why, advice=RENDER)


def _trained(beside: Beside, scoring: tuple[Line, str]) -> Line | None:
    """What says that the rows of the training were laid out by a template, or shows one."""
    lines = [line for line in beside.words if line.where != scoring[0].where]
    told = next((line for line in lines if _BY_TEMPLATE.search(line.text)), None)
    for number, line in enumerate(lines if told is None else ()):
        above = lines[number - 1].text if number else ""
        if _MARKS.search(line.text) and _OF_TRAINING.search(f"{above} {line.text}"):
            return line
    return told


def _joined_by_hand(beside: Beside) -> tuple[Line, str] | None:
    """Where a text that is joined from two parts, without any mark, is tokenized to be scored."""
    code = list(statements(beside))
    rendered = [ast.unparse(one) for _, one in code if "apply_chat_template(" in ast.unparse(one)]
    if rendered and not any(re.search(r"train|\bds\b|map\(", one) for one in rendered):
        return None  # the scoring may be what renders
    held: dict[str, ast.expr] = {}
    for line, statement in code:
        for call in calls(statement):
            if not _TOKENIZES.match(name_of(call.func)) or not call.args:
                continue
            for value in _values(call, held):
                if _is_joined(value):
                    return line, ast.unparse(value)
        held |= {name_of(target): value for target, value in bound(statement)}
    return None


def _values(call: ast.Call, held: dict[str, ast.expr]) -> Iterator[ast.expr]:
    """What a call tokenizes: a value, what its name holds, the rows of a list, two texts."""
    first = held.get(name_of(call.args[0]), call.args[0])
    parts = (ast.List, ast.ListComp, ast.GeneratorExp)
    if isinstance(first, ast.List):
        yield from first.elts
    elif isinstance(first, parts[1:]):
        yield first.elt
    else:
        yield first
    if len(call.args) > 1 and all(map(_is_text, call.args[:2])):
        yield ast.Tuple(elts=call.args[:2], ctx=ast.Load())


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Name | ast.Subscript | ast.Attribute)


def _is_joined(value: ast.expr) -> bool:
    """Whether it joins two texts and no mark of a turn: `q + a`, f"{q} {a}", the pair (q, a)."""
    parts = [one for one in ast.walk(value) if _is_text(one) and isinstance(one.ctx, ast.Load)]
    names = {ast.unparse(one) for one in parts}
    is_joined = (
        (isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add))
        or (
            isinstance(value, ast.JoinedStr)
            and sum(isinstance(one, ast.FormattedValue) for one in value.values) > 1
        )
        or isinstance(value, ast.Tuple)
    )
    return is_joined and len(names) > 1 and not _MARKS.search(ast.unparse(value))


def _fell(beside: Beside, log: Log) -> list[str]:
    """An accuracy in training, and a far lower one of the scoring, near that of a coin."""
    parts: list[Line | Entry] = [*log.entries, *(line for line in beside.words)]
    shares = [(part, value) for part in parts for value in _shares(part)]
    judged = log.series("eval_accuracy") + log.series("accuracy")
    shares += [(e, v) for e, v in judged if v in finite([v])]
    good = max((one for one in shares if GOOD <= one[1] < 1), key=lambda one: one[1], default=None)
    low = [one for one in shares if UNLIKELY < one[1] < COIN and good and good[1] - one[1] > APART]
    if good is None or not low:
        return []
    part, value = min(low, key=lambda one: abs(one[1] - 0.5))
    return [f"{good[1]:.4g} of the pairs are right at {good[0].where}, {value:.4g} at {part.where}"]


def _shares(part: Line | Entry) -> Iterator[float]:
    if isinstance(part, Entry):
        yield from (share(m["a"] or f"{m['b']}%") for m in _ACCURACY.finditer(part.text))
    elif _OF_ACCURACY.search(part.text) or _ALONE.match(part.text):
        for found in _NUMBER.finditer(_LOSS.sub("", part.text)):
            yield share(found["a"] or f"{found['b']}%")
