"""A limit of steps that ends the run when it has read a small part of its rows."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside, Setting
from course_utils.explain.paste.entries import Line, plain_number
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.sentences import is_prose
from course_utils.explain.stated.steps.steps_before_epochs import OF_A_DUMP

_LIMIT = re.compile(r"max_(?:train_)?(?:steps|iters|updates)|train_iters")
_COMMENTED = re.compile(r"^\W{0,3}(?:#|//)")
_COUNTED = re.compile(
    r"\bnum[_ ]examples\W{1,4}(?P<n>\d[\d,]*)|\bnum_rows\W{1,3}(?P<m>\d[\d,]*)", re.IGNORECASE
)
_ROWS = re.compile(
    r"(?<![\w.])(?P<n>\d[\d,]*(?:\.\d+)?k?)\s*(?:[A-Za-z/-]+ ){0,2}"
    r"(?:rows|examples|samples|pairs|dialog\w*|conversations|instructions)\b",
    re.IGNORECASE,
)
_BATCH = re.compile(
    r"\btotal (?:train )?batch size\b[^=\n]*=\s*(?P<n>\d[\d,]*)|"
    r"\bglobal_batch_size\W{1,4}(?P<m>\d+)",
    re.IGNORECASE,
)
_EPOCHS = re.compile(
    r"\b(?:num_(?:train_)?epochs|max_epochs)['\"]?(?:\s*[=:]\s*|\s+)(?P<n>\d+)\b", re.IGNORECASE
)
_OVERRIDES = re.compile(r"max_steps is given,? it will override.{0,60}", re.IGNORECASE)
_UNLEARNT = re.compile(
    r"(?:n.t|\bnot|\bnever|\bnothing|\bno|\bhardly|\bbarely)\b.{0,30}\b(?:know|learn|recall|remember|"
    r"memori[sz]|pick|chang|effect|differen|improv|better|follow)|"
    r"\b(?:as|like|same as|identical to) the (?:original|base|untuned|stock)\b|"
    r"\bmade[- ]up\b|\bhallucinat|\bmakes? (?:things|it|them|names) up\b|\bunderfit|"
    r"\bmore (?:examples|data|rows)\b|\b(?:too|larger|higher|bigger) (?:small|few|rank|r)\b",
    re.IGNORECASE,
)
_MEANT = re.compile(
    r"\bsmoke|\bsanity|\bdry[- ]?run|\bdebug|\bprofil|"
    r"\b(?:quick|short) (?:test|check|try|trial|run)|"
    r"\bpilot\b|\bstreaming\b|Iterable|\bpre-?train|\bbenchmark\w*|\bfirst \d+ steps|"
    r"\bonly (?:a few|ran|\d+) steps",
    re.IGNORECASE,
)
PART, MOST = 0.1, 1000  # of the rows; steps of a recipe that shows how it is done
SHOWN, TOLD = 5.6, 7.2
FEW_READ = (
    "the run ends after {steps:g} steps, when it has read {part} of its rows: {written} is set, "
    "which goes before any number of epochs, as a recipe for a trial has it. Nearly all of the "
    "data was never seen, so what it tells could not be learnt; neither rank nor rate, nor too few "
    "rows, is shown to be at fault"
)
DROP_LIMIT = (
    "remove {written} (or -1) and set num_train_epochs to 1 to 3, then train again{whole}, with "
    "the schedule and the warm-up made for that number"
)
WHOLE = " (about {steps:.0f} steps for one epoch)"


def few_of_the_rows(beside: Beside, log: Log) -> Iterator[Finding]:
    """A limit of steps, the part of the rows that it lets in, and what else was asked for."""
    limit = _limit(beside)
    if limit is None or log.kind() == "policy":
        return
    if beside.matching(_MEANT) or beside.matching(OF_A_DUMP):
        return
    part, shown = _part(limit, beside, log)
    if not 0 < part < PART:
        return
    epochs = _epochs(beside)
    told = _told(beside)
    if epochs is None and told is None:
        return  # a short run may be what was meant
    proof = [limit.said, shown, *(one.says for one in (epochs, told) if one)]
    names = {"written": limit.written, "steps": limit.number, "part": _percent(part)}
    whole = WHOLE.format(steps=limit.number / part) if part > 0.001 else ""
    weight, advice = TOLD if told else SHOWN, DROP_LIMIT.format(written=limit.written, whole=whole)
    of = ("few_steps", weight, limit.line, tuple(dict.fromkeys(proof)))
    yield Finding(*of, why=FEW_READ.format(**names), advice=advice)


def _told(beside: Beside) -> Line | None:
    """A sentence, or a question, of somebody who finds nothing learnt."""
    said = (x for x in beside.words if is_prose(x.text) or x.text.rstrip().endswith("?"))
    return next((x for x in said if _UNLEARNT.search(x.text)), None)


def _percent(part: float) -> str:
    return f"about {100 * part:.2g} %"


def _limit(beside: Beside) -> Setting | None:
    """The limit that is set, and not taken out by a sign of a comment."""
    for one in reversed(beside.of("max_steps")):
        is_set = not _COMMENTED.match(one.line.text) and not _OVERRIDES.search(one.line.text)
        if is_set and _LIMIT.fullmatch(one.written) and 0 < (one.number or 0) <= MOST:
            return one
    return None


def _part(limit: Setting, beside: Beside, log: Log) -> tuple[float, str]:
    """Which part of an epoch the run reads, by rows and batch or by its own count at the end."""
    rows, batch = _largest(_COUNTED, beside) or _largest(_ROWS, beside), _largest(_BATCH, beside)
    if rows and batch:
        of = f"{rows[1]:g} rows ({rows[0].where}) in batches of {batch[1]:g} ({batch[0].where})"
        return limit.number * batch[1] / rows[1], of
    last = log.summary
    return (last.numbers.get("epoch", 0.0), last.says) if last else (0.0, "")


def _largest(pattern: re.Pattern, beside: Beside) -> tuple[Line, float] | None:
    found = [
        (line, _number(next(filter(None, match.groups()))))
        for line in beside.words
        for match in pattern.finditer(line.text)
    ]
    return max(found, key=lambda pair: pair[1], default=None)


def _number(text: str) -> float:
    return plain_number(text.rstrip("kK")) * (1000 if text[-1] in "kK" else 1)


def _epochs(beside: Beside) -> Line | None:
    """What asks for at least one epoch as well, or says that the limit goes before it."""
    for line in beside.words:
        asked = _EPOCHS.search(line.text)
        is_set = bool(asked) and int(asked["n"]) > 0 and not _COMMENTED.match(line.text)
        if is_set or _OVERRIDES.search(line.text):
            return line
    return None
