"""Looks at whether labels belong to their rows: by a count of words, and by what was learnt."""

import math
from collections import Counter
from statistics import fmean, median, variance
from typing import Any

from course_utils.diagnostics.diagnosis.looks.settings import num_steps_of
from course_utils.diagnostics.diagnosis.measures.data_sets import ids_of, labels_of
from course_utils.diagnostics.diagnosis.measures.first_rows import losses_of
from course_utils.diagnostics.diagnosis.measures.forward import given_beside_ids
from course_utils.diagnostics.diagnosis.measures.word_counts import (
    TOO_MANY,
    WordCounts,
    across_halves,
    share_right,
)
from course_utils.diagnostics.diagnosis.sheet.finding import LIKELY, MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject
from course_utils.diagnostics.loss_kind import Loss, speaks_for

FEWEST, FEWEST_TESTED = 64, 16  # rows
ERRORS = 3.0  # standard errors above the frequent label: what a count of words must tell
KNOWN = 0.6  # of the rows: what it says of rows like its own
LEARNT = 0.95  # of the entropy of the labels: a loss below it has learnt something of the rows
SURELY = 2.0  # standard errors by which a loss that falls does
OTHERWISE = 1.5  # times the entropy: it is no longer that of frequencies
ENOUGH = 20  # steps
APART = 0.15  # of the rows
PART = 0.5  # of the margin by which words tell a row of training
OFTEN, SAID = 10, 0.9  # epochs; of the labels that a count of words gives
HIGH = 0.4  # of the entropy of the labels: a loss above it, after so many epochs
MOSTLY = 0.8  # of the rows
ONE_SIDED = 0.75  # of the rows: with such a label, no count of right answers tells much


@speaks_for(Loss.ROWS)
def look_at_labels_across(subject: Subject, sheet: Sheet) -> None:
    """Words that tell the labels in training must tell them in the evaluation."""
    told = _by_words(subject)
    if told is None:
        return
    rows, labels, right, frequent = told
    said = (
        f"a count of words, made on half of the rows, gives {right:.0%} of the other half's labels"
    )
    sheet.show("labels by words", f"{said}; the most frequent label is {frequent:.0%} of them")
    tested = getattr(subject.trainer, "eval_dataset", None)
    others, theirs = ids_of(tested), labels_of(tested)
    if right < KNOWN or len(others) < FEWEST_TESTED or len(others) != len(theirs):
        return
    counts, least = WordCounts(rows, labels), _least_margin(rows, labels)
    known = [
        (ids, one) for ids, one in zip(others, theirs, strict=True) if counts.margin(ids) >= least
    ]
    if len(known) < len(others) / 2:
        return
    others, theirs = zip(*known, strict=True)
    there = share_right(counts, others, theirs)
    chance = _by_chance([counts.label_of(ids) for ids in others], theirs)
    error = ERRORS * math.sqrt(chance * (1 - chance) / len(theirs))
    renumbered = _renumbered(counts, others, theirs)
    is_other = there < min(0.5 * right, chance - error)
    if is_other or renumbered > max(KNOWN, there + APART, chance + error):
        sheet.find(
            "evaluation_rows_differ",
            MEASURED,
            f"{said}, and {there:.0%} of the labels of the evaluation",
            place="train_dataset, eval_dataset: labels",
            why="the labels of the evaluation do not mean what those of training mean: the words "
            "that go with a label there go with another one here",
            advice="number the labels once, for both splits",
        )


def _least_margin(rows: list, labels: list[int]) -> float:
    """What a row must have for its words to be known: a part of what those of training have."""
    half = WordCounts(rows[::2], labels[::2])
    return PART * median(map(half.margin, rows[1::2]))


def _by_chance(said: list[int], labels: list[int]) -> float:
    """The share that is right where the words are new, and tell nothing."""
    of_said, whole = Counter(said), len(labels)
    return sum(of_said[one] * n for one, n in Counter(labels).items()) / whole**2


def _renumbered(counts: WordCounts, rows: list, labels: list[int]) -> float:
    """The share that a count of words gives once its labels are numbered anew, each label once.

    0 where no other numbering is better than the one that is there.
    """
    pairs = Counter((counts.label_of(ids), label) for ids, label in zip(rows, labels, strict=True))
    said = {one for one, _ in pairs}
    to = {one: max(set(labels), key=lambda label, one=one: pairs[one, label]) for one in said}
    if len(set(to.values())) < len(to) or all(one == other for one, other in to.items()):
        return 0.0
    return sum(pairs[one, other] for one, other in to.items()) / len(labels)


@speaks_for(Loss.ROWS)
def look_at_what_was_learnt(subject: Subject, sheet: Sheet) -> None:
    """A loss that never falls below the entropy of the labels has learnt nothing of the rows."""
    losses, labels = (
        losses_of(subject.log),
        labels_of(getattr(subject.trainer, "train_dataset", None)),
    )
    steps = getattr(getattr(subject.trainer, "state", None), "global_step", 0)
    if subject.has_own_loss or len(losses) < 6 or steps < ENOUGH or not _are_classes(labels):
        return
    if getattr(subject.args, "label_smoothing_factor", 0):
        return
    if steps < 2 * subject.args.get_warmup_steps(num_steps_of(subject)):
        return  # it has only begun to learn
    told = _by_words(subject)
    if subject.is_drawn and (subject.trainer.state.epoch or 0) >= OFTEN:
        judge_a_start_as_drawn(losses, labels, told, sheet)
    cut = _part_cut(told[0], subject.tokenizer) if told else 0.0
    judge_what_was_learnt(losses, labels, told, sheet, frozen=subject.frozen_as_drawn, cut=cut)


def judge_a_start_as_drawn(
    losses: list[float], labels: list[int], told: tuple | None, sheet: Sheet
) -> None:
    """Rows that were read often, whose words tell their labels, and whose loss is still high.

    A checkpoint learns them in a few epochs; weights that are drawn do not, at the rate of one.
    """
    last, entropy = fmean(losses[-len(losses) // 3 :]), entropy_of(labels)
    if told is None or told[2] < SAID or not HIGH < last / entropy < LEARNT:
        return
    sheet.find(
        "begins_as_drawn",
        LIKELY,
        "all norms were exactly 1 before the first step, as they are drawn: no checkpoint was in "
        "the model",
        f"the loss of the last third is {last:.3g}, where always saying how frequent each label is "
        f"costs {entropy:.3g} and a count of words gives {told[2]:.0%} of the labels",
        place="the model that the trainer is given",
    )


def judge_what_was_learnt(
    losses: list[float],
    labels: list[int],
    told: tuple | None,
    sheet: Sheet,
    *,
    frozen: tuple[str, ...] = (),
    cut: float = 0.0,
) -> None:
    """Compare the last losses with what the frequencies of the labels alone would cost.

    Args:
        frozen: tensors that are as they were drawn, and stay so.
        cut: share of the rows that are as long as the longest, without padding.
    """
    last, entropy = fmean(losses[-len(losses) // 3 :]), entropy_of(labels)
    if last > OTHERWISE * entropy:
        return  # a loss on another scale, or one that has diverged
    if last < LEARNT * entropy or (last < entropy and _falls(losses)):
        return
    by = "hardly" if last < entropy else "no"
    said = (
        f"the loss of the last third, {last:.3g}, is {by} lower than that of always saying how "
        f"frequent each label is, {entropy:.3g}"
    )
    if frozen:
        more = f"{len(frozen)} tensors are frozen, and all norms are exactly 1, as they are drawn"
        sheet.find("frozen_as_drawn", MEASURED, more, said, place=frozen[0])
    elif told is not None and told[3] < ONE_SIDED and not _tells(told):
        _, _, right, frequent = told
        words = (
            f"a count of words gives {right:.0%} of the labels; the most frequent is {frequent:.0%}"
        )
        more = _of_cut_rows(max(map(len, told[0]))) if cut > MOSTLY else {}
        shown = (f"{cut:.0%} of the rows are exactly as long as the longest",) if more else ()
        sheet.find(
            "labels_uninformative", LIKELY, said, words, *shown, place="train_dataset", **more
        )
    elif not last < min(fmean(losses[: len(losses) // 3]), entropy):  # it may still begin to fall
        sheet.doubt(said)


def _of_cut_rows(longest: int) -> dict[str, str]:
    return {
        "why": f"what the rows hold does not tell their labels, and most of them end at {longest} "
        "tokens: they are cut there, before what tells them, or the labels are those of other rows",
        "advice": f"a limit above {longest} that holds the longest text, or a cut from the left; "
        "if no text is longer, read ten rows with their labels",
    }


def _part_cut(rows: list, tokenizer: Any) -> float:
    """The share of rows that are as long as the longest and do not end in padding."""
    longest, pad = max(map(len, rows)), getattr(tokenizer, "pad_token_id", None)
    return sum(len(row) == longest and row[-1] != pad for row in rows) / len(rows)


def _falls(losses: list[float]) -> bool:
    """Whether the last third lies below the one before it by more than their noise."""
    size = len(losses) // 3
    if size < 2:
        return losses[-1] < losses[0]
    before, last = losses[-2 * size : -size], losses[-size:]
    error = math.sqrt((variance(before) + variance(last)) / size)
    return fmean(last) < fmean(before) - SURELY * error


def entropy_of(labels: list[int]) -> float:
    """In nats: the loss of who says each label as often as it stands there."""
    whole = len(labels)
    return -sum(n / whole * math.log(n / whole) for n in Counter(labels).values())


def _are_classes(labels: list) -> bool:
    return bool(labels) and all(isinstance(one, int) for one in labels) and len(set(labels)) > 1


def _by_words(subject: Subject) -> tuple[list, list[int], float, float] | None:
    """Rows, labels, the share that a count of words gives, and that of the frequent label."""
    data = getattr(subject.trainer, "train_dataset", None)
    has_more = given_beside_ids(subject)  # a count of words says nothing of an image
    return None if has_more else by_words(ids_of(data), labels_of(data))


def by_words(rows: list, labels: list) -> tuple[list, list[int], float, float] | None:
    """The same for rows and labels at hand; None for too few, or for labels that are no classes."""
    if len(rows) < FEWEST or len(rows) != len(labels) or not _are_classes(labels):
        return None
    if len(set(labels)) > TOO_MANY:
        return None
    frequent = max(Counter(labels).values()) / len(labels)
    return rows, labels, across_halves(rows, labels), frequent


def _tells(told: tuple[list, list[int], float, float]) -> bool:
    rows, _, right, frequent = told
    error = math.sqrt(frequent * (1 - frequent) / len(rows))
    return right > frequent + ERRORS * error
