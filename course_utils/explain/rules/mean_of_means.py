"""An update whose loss is the mean of the means of its micro batches, whatever their number of
tokens: `rule(log, beside)`."""

import re
from collections.abc import Iterator
from statistics import fmean

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Entry, Line, place, plain_number
from course_utils.explain.paste.log import Log

_TOKENS = re.compile(
    r"(?<![\w.])(?:n|n_?tok\w*|num_tok\w*|tok(?:en)?s?|(?:label|target|answer|valid|loss)_?tok\w*|"
    r"n_(?:labels|valid|target\w*)|num_(?:labels|valid|label_tokens)|valid)['\"]?\s*[=: ]\s*"
    r"(?P<n>\d[\d,]*)(?![.\w])",
    re.IGNORECASE,
)
_LOSS = re.compile(
    r"(?<![a-z])(?:mean_|avg_|train_|step_|nll_?)?loss['\"]?\s*[=: ]\s*(?P<loss>\d+\.\d+)",
    re.IGNORECASE,
)
_MICRO = re.compile(r"\b(?:micro|mb|mbs|accum\w*|sub|chunk|micro_?batch\w*)\b", re.IGNORECASE)
NEAR, FAR, UNEQUAL, FEWEST = 0.01, 0.15, 4.0, 2  # of a loss; times the tokens; micro batches
BY_BATCH = (
    "each micro batch has the same weight in an update, however many tokens it has: the losses are "
    "means over its own tokens and are averaged once more, so that the tokens of a long answer "
    "count far less than those of a short one. {share:.1%} of the tokens here (those of the "
    "longest micro batches, {many} of {all}) have {weight:.1%} of the weight"
)
BY_TOKENS = (
    "sum the loss over all micro batches and divide once by the number of label tokens of the "
    "whole update (num_items_in_batch), or choose a weight for each task on purpose; the share of "
    "tokens, another rate or duplicates do not mend it"
)
Micro = tuple[Line | Entry, float, float]  # where, tokens, loss


def mean_of_means(log: Log, beside: Beside) -> Finding | None:
    """Micro batches with their tokens and losses, and the loss of their update: their plain mean,
    which is far from the mean over the tokens."""
    wrong = []
    for micros, whole, loss in _updates(log, beside):
        tokens = [n for _, n, _ in micros]
        plain = fmean(one for _, _, one in micros)
        weighed = sum(n * one for _, n, one in micros) / sum(tokens)
        if max(tokens) < UNEQUAL * min(tokens) or abs(weighed - plain) < FAR * plain:
            continue
        if abs(loss - plain) > NEAR * plain:
            return None  # weighed in another way
        wrong.append((micros, whole, loss, weighed))
    if not wrong:
        return None
    micros, whole, loss, weighed = wrong[0]
    counts = sorted((n for _, n, _ in micros), reverse=True)
    long = [n for n in counts if n > max(counts) / UNEQUAL]
    proof = (
        f"{micros[0][0].where} to {micros[-1][0].where}: {len(micros)} micro batches of "
        f"{', '.join(f'{n:g}' for _, n, _ in micros)} tokens",
        f"{whole.where}: the loss of the update is {loss:.4g}, the plain mean of theirs; weighed "
        f"by tokens it is {weighed:.4g}",
        *([f"so in all {len(wrong)} updates that are shown"] if len(wrong) > 1 else []),
    )
    of = {"share": sum(long) / sum(counts), "many": len(long), "all": len(counts)}
    why = BY_BATCH.format(**of, weight=len(long) / len(counts))
    return Finding("split_changes_loss", 9.0, whole, proof, why=why, advice=BY_TOKENS)


def _updates(log: Log, beside: Beside) -> Iterator[tuple[list[Micro], Line | Entry, float]]:
    """Micro batches that follow each other, and the line behind them with a loss of its own."""
    runs = [entry for run in (*log.earlier, log) for entry in run.entries]
    parts = sorted([*(line for line in beside.words), *runs], key=place)
    micros: list[Micro] = []
    for part in parts:
        tokens, loss = _TOKENS.search(part.text), _LOSS.search(part.text)
        if tokens and loss and _MICRO.search(part.text):
            n = plain_number(tokens["n"])
            micros += [(part, n, float(loss["loss"]))] if n else []
            continue
        if loss and len(micros) >= FEWEST:
            yield micros, part, float(loss["loss"])
        if loss or part.text.strip():
            micros = []


RULES_OF_SETTINGS = (mean_of_means,)
