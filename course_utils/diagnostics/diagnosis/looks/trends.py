"""Looks at fields of a log that rise or fall together, where one alone says nothing."""

import math
import re
from collections.abc import Iterable
from statistics import fmean, variance

from course_utils.causes import CAUSES
from course_utils.diagnostics.diagnosis.looks.weights import DRAWN
from course_utils.diagnostics.diagnosis.measures.first_rows import SUMMARY, keeps_first_rows
from course_utils.diagnostics.diagnosis.measures.specimens import in_order
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, LIKELY, MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.harm import LONGER as GREW
from course_utils.diagnostics.diagnosis.sheet.harm import SHORT, WORSE
from course_utils.diagnostics.diagnosis.sheet.subject import LOOP, PAIRS, POLICY, REPLIES, Subject
from course_utils.diagnostics.diagnosis.sheet.unexplained import Odd
from course_utils.explain.paste.fields import canonical

GROWS = 1.1  # entropy of the last third by that of the first
LONGER = 1.3  # and length
ENOUGH = 12  # entries, to say of a reward that it does not rise
PART, FEW_PARTS = re.compile(r"rewards/(.+)/mean"), 4  # of TRL's log; its entries
ERRORS = 2.0  # standard errors by which two thirds must differ
ABOVE = 1.02  # of ln(vocabulary): a first loss beyond that is worse than guessing
WRONG = re.compile(r"length.*(wrong|incorrect|fail)", re.IGNORECASE)
HIGH_AT_FIRST = frozenset(key for key, cause in CAUSES.items() if cause.raises_first_loss)


def look_at_trends(subject: Subject, sheet: Sheet) -> None:
    """Look at the trends of the log's loss, entropy, length and reward together."""
    looks = (
        ("outcome", _worse),
        ("loss", _loss),
        ("entropy", _entropy),
        ("length", _length),
        ("rate", _rate),
        ("parts of the reward", _parts),
    )
    for what, look in looks:
        with sheet.trying(f"the log's {what}"):
            look(subject, sheet)


def _series(log: Iterable[dict], name: str) -> list[float]:
    """The finite values of a field, whatever its library calls it.

    The last row of a Trainer sums up the run: its loss is the mean of all steps, and no step's.
    """
    rows = (row for row in log if SUMMARY not in row)
    values = (v for row in rows for k, v in row.items() if canonical(k) == name)
    return [float(v) for v in values if isinstance(v, int | float) and math.isfinite(v)]


def _field(log: Iterable[dict], name: str) -> str:
    """The log's name for a field."""
    return next((key for row in log for key in row if canonical(key) == name), name)


def _change(values: list[float]) -> tuple[float, float, int] | None:
    """Means of the first and the last third, and whether they rise (1), fall (-1) or neither."""
    size = len(values) // 3
    if size < 2:
        return None
    first, last = values[:size], values[-size:]
    error = math.sqrt((variance(first) + variance(last)) / size)
    gap = fmean(last) - fmean(first)
    return (
        fmean(first),
        fmean(last),
        0 if abs(gap) <= ERRORS * error else int(math.copysign(1, gap)),
    )


def _loss(subject: Subject, sheet: Sheet) -> None:
    losses = _series(subject.log, "loss")
    if not losses:
        return
    is_usual = losses[-1] < losses[0] or (subject.kind == POLICY and any(losses))
    said = f"{losses[0]:.4g} in the first entry, {losses[-1]:.4g} in the last"
    sheet.show("loss", said, usual=is_usual)
    vocabulary = getattr(getattr(subject.model, "config", None), "vocab_size", 0)
    is_known = subject.kind != LOOP  # whose loss may be any
    is_per_token = vocabulary and subject.logs_nats_per_token and is_known
    if is_per_token:
        guess = f"guessing has ln({vocabulary}) = {math.log(vocabulary):.3g}"
        above = ". It is ABOVE guessing" if losses[0] > ABOVE * math.log(vocabulary) else ""
        sheet.first_loss = f"{losses[0]:.3g} in the first entry of the log; {guess}{above}"
        if subject.is_drawn:
            sheet.first_loss += f". Before the first step {DRAWN}"
    elif (neutral := _neutral(subject)) is not None:
        sheet.first_loss = (
            f"{losses[0]:.3g} in the first entry of the log; {neutral:.3g} is that of a policy "
            "which is its reference"
        )
    else:
        sheet.first_loss = f"{losses[0]:.3g} in the first entry of the log"
    if is_per_token and losses[0] > ABOVE * math.log(vocabulary):
        said = f"the first loss, {losses[0]:.3g}, is above that of guessing, "
        said += f"ln({vocabulary}) = {math.log(vocabulary):.3g}"
        sheet.odd.append(Odd(said, HIGH_AT_FIRST))


def _neutral(subject: Subject) -> float | None:
    """The loss of pairs or single replies where policy and reference agree, if it is known."""
    asked = getattr(subject.args, "loss_type", None)
    if isinstance(asked, list):  # of several losses the sum has no such value
        asked = asked[0] if len(asked) == 1 else None
    weights = [getattr(subject.args, f"{sign}desirable_weight", 1.0) for sign in ("", "un")]
    known = {(PAIRS, "sigmoid"): math.log(2), (REPLIES, "kto"): 0.5}
    return known.get((subject.kind, asked)) if weights == [1.0, 1.0] else None


def _worse(subject: Subject, sheet: Sheet) -> None:
    """The field that judges the run, if it got worse: a policy's reward, any other run's loss.

    A loss that rises on other rows, while the first rows keep theirs, is no harm.
    """
    rewards, losses = (_series(subject.log, name) for name in ("reward", "loss"))
    name, values, bad = ("reward", rewards, -1) if rewards else ("loss", losses, 1)
    change = _change(values)
    if change is None or change[2] != bad or not (rewards or subject.kind != POLICY):
        return
    if rewards or keeps_first_rows(subject) is not True:
        said = f"{name} {change[0]:.3g} in the first third of the log, {change[1]:.3g} in the last"
        sheet.became(WORSE, said)


def _entropy(subject: Subject, sheet: Sheet) -> None:
    """A policy that becomes more random while it earns less: the loss pays for entropy."""
    entropy, reward = (_change(_series(subject.log, name)) for name in ("entropy", "reward"))
    if entropy is None or reward is None:
        return
    if not (entropy[2] > 0 and entropy[1] > GROWS * entropy[0] and reward[2] < 0):
        return
    coefficient = _entropy_coefficient(subject)
    said = (
        f"entropy {entropy[0]:.3g} nats a token in the first third of the log, {entropy[1]:.3g} in "
        "the last",
        f"reward {reward[0]:.3g} in the first third, {reward[1]:.3g} in the last",
    )
    why, fix = "the policy grows more random while its reward falls", ""
    if coefficient:
        said = (
            *said,
            f"{coefficient[0]} is {coefficient[1]:g}: the loss subtracts so many times the entropy",
        )
        why, fix = "the loss pays for entropy, and the policy grows random", f"{coefficient[0]}=0"
    weight = MEASURED if coefficient else LIKELY
    sheet.find("collapse", weight, *said, place=_field(subject.log, "entropy"), why=why, advice=fix)


def _entropy_coefficient(subject: Subject) -> tuple[str, float] | None:
    """The setting that pays for entropy, if there is one and it is not 0."""
    named = subject.settings | (vars(subject.args) if subject.args is not None else {})
    found = ((k, v) for k, v in named.items() if re.fullmatch(r"ent(ropy)?_coeff?(icient)?", k))
    return next(((k, float(v)) for k, v in found if isinstance(v, int | float) and v), None)


def _length(subject: Subject, sheet: Sheet) -> None:
    """Replies that grow without earning more, in a loop whose loss is unknown."""
    length, reward = (_change(_series(subject.log, name)) for name in ("length", "reward"))
    if subject.kind != LOOP or length is None or reward is None:
        return
    is_long_enough = len(_series(subject.log, "reward")) >= ENOUGH
    if not (is_long_enough and length[2] > 0 and length[1] > LONGER * length[0]):
        return
    if reward[1] > reward[0]:  # by however little: a short log cannot show that it does not rise
        return
    wrong = {k for row in subject.log for k in row if WRONG.search(k)}
    pairs = [(k, _change([row[k] for row in subject.log if k in row])) for k in sorted(wrong)]
    more = (f"{k}: {one[0]:.3g} to {one[1]:.3g}" for k, one in pairs if one is not None)
    sheet.became(GREW, f"replies of {length[0]:.3g} and then {length[1]:.3g} tokens")
    sheet.find(
        "length_is_paid",
        LIKELY + 1,
        f"length {length[0]:.3g} tokens in the first third of the log, {length[1]:.3g} in the last",
        f"reward {reward[0]:.3g} in the first third, {reward[1]:.3g} in the last",
        *more,
        place=_field(subject.log, "length"),
        why="the replies grow and the reward does not: it is the loss that pays for length",
        advice="weigh every token alike: divide by a constant, not by each reply's own length "
        "(loss_type='dr_grpo')",
    )


def _parts(subject: Subject, sheet: Sheet) -> None:
    """Reward functions of which every entry is nan, or None, gave no reply a number.

    Beside one that gave numbers it may be a function for rows of another task, which is no fault.
    """
    names = sorted({name for row in subject.log for name in row if PART.fullmatch(name)})
    parts = {name: [row[name] for row in subject.log if name in row] for name in names}
    if not all(v is None or math.isnan(v) for values in parts.values() for v in values):
        return
    for name, values in parts.items():
        if len(values) >= FEW_PARTS:
            part = PART.fullmatch(name)[1]
            said = f"{name} is no number in any of {len(values)} entries of the log"
            why = f"the reward function {part} gave no reply a number: it returned None for each"
            sheet.find("rewards_missing", COUNTED, said, place=part, why=why)


def _rate(subject: Subject, sheet: Sheet) -> None:
    """A rate that reaches 0 after a share of the run: one over the number of processes."""
    rates, processes = _series(subject.log, "learning_rate"), subject.processes
    dead = next((i for i, rate in enumerate(rates) if rate == 0 and max(rates[i:]) == 0), 0)
    if min(processes, dead) < 2 or len(rates) // dead != processes:
        return
    sheet.became(SHORT, f"{len(rates) - dead} of {len(rates)} entries have no rate")
    sheet.find(
        "schedule_ends_early",
        MEASURED,
        f"entry {dead + 1} of {len(rates)} is the first with a rate of 0; the run has {processes} "
        "processes",
        place="lr_scheduler",
        why=f"with {processes} processes the learning rate falls {processes} times as fast: the "
        "schedule is stepped once for each of them",
        advice=f"make the schedule for {processes} times the optimizer steps, or do not prepare it",
        specimen=(f"learning rate by entry: {in_order(rates)}",),
    )
