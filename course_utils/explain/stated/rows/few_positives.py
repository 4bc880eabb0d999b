"""A softmax over a batch whose positives are few: copies of the right text count as wrong."""

import math
import re
from collections.abc import Iterator
from itertools import pairwise

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line, number_of
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.paste.side_tables import side_tables

_IN_BATCH = re.compile(
    r"\b(?:Cached)?MultipleNegatives(?:Symmetric)?RankingLoss\b|\bMNRL?\b|\bInfoNCE\w*\b|"
    r"\bin-?batch negatives?\b|\binfo_nce\b|\bNT-?Xent\w*\b|\bClipLoss\b|"
    r"\bcross_entropy\(.*\barange\(",
    re.IGNORECASE,
)
_APART = re.compile(
    r"\bNO_DUPLICATES\w*|\bno_duplicates\w*|\bNoDuplicates\w*|\bG(?:IST|ISTEmbed)\w*Loss\b|"
    r"\bmasked_fill\w*\(|\bSupCon\w*|\bsupervised contrastive\b|\bfalse[_ ]negatives?[_ ]mask\w*|"
    r"\b(?:unique|dedup\w*)_?(?:per|in|within)_?batch",
    re.IGNORECASE,
)
_TEXTS = (
    r"(?:positives?|articles?|answers?|passages?|documents?|docs|labels?|intents?|classes|products?|"
    r"titles?|targets?|pages?|faqs?|entries|captions?|codes?|categories|items)"
)
_SAID = re.compile(
    rf"\b(?P<n>\d[\d,]*)\s+(?:unique|distinct|different)\s+(?:[\w-]+ ){{0,2}}?{_TEXTS}\b|"
    rf"\b(?:unique|distinct)[_ ]{_TEXTS}\W{{1,3}}(?P<m>\d[\d,]*)",
    re.IGNORECASE,
)
_ASKED = re.compile(
    rf"(?:len\(set\(.*{_TEXTS}|{_TEXTS}['\"]?\]?\)?\.(?:nunique\(|unique\())", re.IGNORECASE
)
_LOOKED_UP = re.compile(r"['\"]?(?:positive|pos|passage|answer)s?['\"]?\s*[:=]\s*\[?\s*(\w+)\[")
_PRINTS = re.compile(r"\bprint\((?P<args>.*\blen\(.*)\)\s*(?:#.*)?$")
_NUMBERS = re.compile(r"^\W*\d[\d,]*(?:\s+\d[\d,]*)*\W*$")
_BATCH = re.compile(
    r"\b(?:per_device_train_|train_)?(?:batch_size|batch-size|bs)['\"]?\s*[=: ]\s*(\d+)\b", re.I
)
_BATCHES, _LOSSES = re.compile(r"^(?:bs|batch(?:[ _-]?size)?)$", re.I), re.compile(r"loss", re.I)
_OF_ITS_CLASS = re.compile(
    r"\b(?:same|its|their) (?:own )?(?:intent|class|label|category|topic|tag|genre|speaker)\b",
    re.IGNORECASE,
)
_CLASSES = re.compile(
    r"\b(?P<n>\d[\d,]*) (?:\w+ )?(?:intents|classes|labels|categories|topics|tags|genres)\b",
    re.IGNORECASE,
)
SOME_OTHERS = 0.3  # rows of its own class beside each row of a batch
OF_ITS_CLASS = (
    "a batch of {batch} rows of {n} classes holds, beside each row, {others:.2g} others of its own "
    "class in the mean, and the loss counts them as wrong: texts that mean the same are pushed "
    "apart. The loss stops where the share of such rows keeps it, and a longer training drives "
    "them further apart; the size of the model and the learning rate are not to blame"
)
KNOWS_CLASSES = (
    "a loss that knows the classes (BatchAllTripletLoss or BatchSemiHardTripletLoss with the "
    "label), a batch with at most one row of each class, or a mask over rows of the same class "
    "(CachedGISTEmbedLoss leaves likely ones out); a larger batch makes it worse"
)
FEWEST, BELOW = 3, 400  # rows of a table; lines between a question and its answer
FALSE_NEGATIVES = (
    "a batch of {batch} rows holds at most {n} different positives, so that the right text stands "
    "in it about {times:.0f} times, and all but one of these copies count as wrong: rows are "
    "pushed away from their own answer, and the loss cannot fall below about ln({batch} / {n}) = "
    "{floor:.2f}, whatever the rate, the model or the number of epochs"
)
NONE_TWICE = (
    "a batch in which no positive stands twice (batch_sampler=BatchSamplers.NO_DUPLICATES, of at "
    "most {n} rows), or a mask over equal positives; with so few of them also a classifier, or a "
    "loss that knows classes; a larger batch makes it worse"
)


def copies_in_the_batch(beside: Beside, log: Log) -> Iterator[Finding]:
    """A contrastive loss over a batch that is larger than the number of different positives."""
    loss = beside.matching(_IN_BATCH)
    if loss is None or beside.matching(_APART):
        return
    told, batch = _positives(beside), beside.matching(_BATCH)
    if told is None and batch is not None:
        yield from _others_of_its_class(loss, batch, beside, log)
    if told is None or batch is None:
        return
    (line, n), size = told, int(_BATCH.search(batch[1])[1])
    losses = finite(log.values("loss"))
    if n < 2 or size < 2 * n:
        return
    floor = math.log(size / n)
    if losses and losses[-1] < floor:
        return  # equal texts are not in one batch
    proof = [
        f"{loss[0].where} says: {loss[1]}",
        f"{line.where}: {n} different positives ({line.text.strip()[:60]})",
        f"{batch[0].where} says: {batch[1]}",
        *([f"the loss ends at {losses[-1]:.4g}"] if losses else []),
        *_grows_with_the_batch(beside),
    ]
    why = FALSE_NEGATIVES.format(batch=size, n=n, times=size / n, floor=floor)
    advice = NONE_TWICE.format(n=n)
    weight = 8.8 if losses else 7.0
    yield Finding("positives_twice", weight, line, tuple(proof), why=why, advice=advice)


def _others_of_its_class(loss: tuple, batch: tuple, beside: Beside, log: Log) -> Iterator[Finding]:
    """Positives that are drawn from a row's own class, of which a batch has several rows."""
    drawn, counted = beside.matching(_OF_ITS_CLASS), beside.matching(_CLASSES)
    if drawn is None or counted is None:
        return
    n, size = _whole(_CLASSES.search(counted[1])["n"]), int(_BATCH.search(batch[1])[1])
    if n < 2 or (size - 1) / n < SOME_OTHERS:
        return
    losses = finite(log.values("loss"))
    proof = [
        f"{loss[0].where} says: {loss[1]}",
        f"{drawn[0].where} says: {drawn[1]}",
        f"{counted[0].where} says: {counted[1]}",
        f"{batch[0].where} says: {batch[1]}",
        *([f"the loss ends at {losses[-1]:.4g}"] if losses else []),
    ]
    why = OF_ITS_CLASS.format(batch=size, n=n, others=(size - 1) / n)
    weight = 8.6 if losses else 7.0
    yield Finding("positives_twice", weight, drawn[0], tuple(proof), why=why, advice=KNOWS_CLASSES)


def _positives(beside: Beside) -> tuple[Line, int] | None:
    """How many different positives there are, as a sentence or a printed number says."""
    lines = beside.words
    for line in lines:
        if found := _SAID.search(line.text):
            return line, _whole(found["n"] or found["m"])
    for line, below in pairwise(lines):
        if _ASKED.search(line.text) and _NUMBERS.match(below.text):
            return below, _whole(below.text.split()[0])
    held = beside.matching(_LOOKED_UP)
    name = _LOOKED_UP.search(held[1])[1] if held else ""
    return _length_of(name, lines) if name else None


def _length_of(name: str, lines: list[Line]) -> tuple[Line, int] | None:
    """The printed length of what the positives are looked up in."""
    for number, line in enumerate(lines):
        printed = _PRINTS.search(line.text)
        parts = [part.strip() for part in printed["args"].split(",")] if printed else []
        if f"len({name})" not in parts:
            continue
        for below in lines[number + 1 : number + BELOW]:
            numbers = below.text.split()
            if _NUMBERS.match(below.text) and len(numbers) == len(parts):
                return below, _whole(numbers[parts.index(f"len({name})")])
    return None


def _whole(text: str) -> int:
    return int(number_of(re.sub(r"[^\d]", "", text)) or 0)


def _grows_with_the_batch(beside: Beside) -> list[str]:
    """A table in which a larger batch ends at a higher loss."""
    for table in side_tables(beside):
        sizes, losses = (
            next((table.column(at) for at in table.places(name)), [])
            for name in (_BATCHES, _LOSSES)
        )
        rows = sorted((b, v) for (_, b), (_, v) in zip(sizes, losses, strict=False))
        values = [value for _, value in rows]
        if len(rows) >= FEWEST and len(sizes) == len(losses) and values == sorted(set(values)):
            (low, least), (high, most) = rows[0], rows[-1]
            return [
                f"{table.where}: the loss ends at {least:g} with a batch of {low:g} and at "
                f"{most:g} with {high:g}"
            ]
    return []
