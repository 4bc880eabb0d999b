"""The answer of `explain`: causes, the likeliest first, then what is fine; and its text."""

from dataclasses import dataclass, field
from textwrap import fill

from course_utils.causes.cause import keys
from course_utils.causes.schema import SCHEMA
from course_utils.explain.finding import Finding
from course_utils.explain.messages.complaints import UNSEEN as NO_NUMBER
from course_utils.explain.paste.entries import Entry
from course_utils.explain.told import Mention

MAX_SHOWN, MAX_QUOTE, WIDTH = 3, 300, 88
UNREAD = "It holds {}, which this command does not take for the entries of one run"
MORE = "--all shows {} cause{} more that the log may point to."
HOLDS_ANYWAY = keys("on_policy_zero_loss scaler_search")  # in a broken run as well
IMPROVES = "improves"  # the cause of a number that moves the way it should
SEVERAL = "More than one cause would make what is seen here:"
WORDS_ALONE = "Your words alone would fit these, and no rule finds one in the paste:"
UNSEEN = {  # by the kind of the run
    "supervised": "one batch token by token, with its labels (inspect_batch); the share of weights "
    "that change in a step (audit_step); the logits of the served model against those of the "
    "trained one (compare_models)",
    "preference": "the tokens in which chosen and rejected differ (inspect_batch); the log-probs "
    "of one pair in policy and reference; the share of weights that change in a step (audit_step)",
    "policy": "several replies to one prompt with their rewards; the log-probs of the same tokens "
    "in sampler and trainer (audit_policy); the share of weights that change in a step",
}
TOLD = ("key", "lesson", "instrument", "thread", "healthy")  # of a cause


@dataclass(frozen=True)
class Answer:
    """`findings` are ordered, the likeliest first; healthy ones explain what only looks wrong."""

    findings: tuple[Finding, ...]
    num_entries: int
    num_lines: int
    fields: tuple[str, ...]  # the log's own names
    known: frozenset[str] = frozenset()  # the names here of the fields it has
    not_finite: tuple[str, ...] = ()  # fields that are nan or inf somewhere
    zeros: tuple[str, ...] = ()  # fields that training rests on and that are 0 somewhere
    worries: tuple[str, ...] = ()  # numbers that go astray, of which no rule knows the cause
    trend: str = ""  # that the loss has none
    kind: str = "supervised"  # or preference, or policy: by its fields
    restart: str = ""  # how the last run was told from the one before it
    about: str = ""  # where the run stands that is explained, if it is an earlier one
    mentions: tuple[Mention, ...] = ()  # what sentences speak of, and what would tell
    unread: str = ""  # rows of numbers that no entry is made of
    entries: tuple[Entry, ...] = field(default=(), repr=False)  # of that run, thinned out

    @property
    def causes(self) -> tuple[Finding, ...]:
        """What the paste shows to be wrong."""
        found = (one for one in self.findings if not one.cause.healthy)
        return tuple(one for one in found if not one.is_look)

    @property
    def fits(self) -> tuple[Finding, ...]:
        """What only the writer's words fit, or numbers that several causes have: where to look."""
        found = (one for one in self.findings if not one.cause.healthy)
        return tuple(one for one in found if one.is_look and one.weight > 0)

    @property
    def no_faults(self) -> tuple[Finding, ...]:
        return tuple(one for one in self.findings if one.cause.healthy)

    @property
    def read_nothing(self) -> bool:
        """Whether it held no entry, no message that is known, and no word of a run."""
        held = (self.num_entries, self.findings, self.mentions, self.unread)
        return not any(held)

    @property
    def is_healthy(self) -> bool:
        """What looked wrong is explained by a sound formula, and nothing is wrong or not finite.

        Numbers that improve are no ground for it: those of many broken runs do. Nor is a formula
        that holds in broken runs as well, unless the numbers improve.
        """
        explained = {one.key for one in self.findings if not one.cause.neutral} - {IMPROVES}
        if not any(one.key == IMPROVES for one in self.findings):
            explained -= HOLDS_ANYWAY
        return bool(self.num_entries and explained) and not self.is_odd

    @property
    def is_odd(self) -> bool:
        """Something is known to be wrong, or a number is not finite or goes astray."""
        return bool(self.causes or self.fits or self.not_finite or self.worries)

    @property
    def shown(self) -> tuple[Finding, ...]:
        """What the short answer says: one cause, or what is no fault.

        One change at a time: what is left of the other findings shows once the first is mended.
        """
        return self.causes[:1] or self._worth_saying

    @property
    def _worth_saying(self) -> tuple[Finding, ...]:
        """Of what is no fault, a number that moves the way it should only in a healthy log."""
        kept = (one for one in self.no_faults if self.is_healthy or one.key != IMPROVES)
        return tuple(kept)[:MAX_SHOWN]

    def __str__(self) -> str:
        return _page(self, self.shown)

    def in_full(self) -> str:
        """With every finding, also those that fit less well."""
        return _page(self, (*self.causes, *self._worth_saying))

    def to_dict(self) -> dict:
        return {
            "schema": SCHEMA,
            "entries": self.num_entries,
            "lines": self.num_lines,
            "healthy": self.is_healthy,
            "findings": [
                {name: getattr(one.cause, name) for name in TOLD}
                | {
                    "says": one.says,
                    "fix": one.fix,
                    "look": one.look,
                    "open": one.open,
                    "where": one.at.where,
                    "line": one.at.text,
                    "for": list(one.for_it),
                    "against": list(one.against),
                }
                for one in self.findings
            ],
        }


def _page(answer: Answer, shown: tuple[Finding, ...]) -> str:
    """The answer with a block for each finding that is shown."""
    if answer.read_nothing:
        return (
            f"No log entry and no known message (lines read: {answer.num_lines}). Paste lines with "
            "numbers such as loss and grad_norm, a trainer_state.json, or the last lines of "
            "an error."
        )
    blocks = [_head(answer)]
    causes = [one for one in shown if not one.cause.healthy]
    blocks += [_block(n, one) for n, one in enumerate(causes, start=1)]
    blocks += [_no_fault(one) for one in shown if one.cause.healthy]
    if more := len(answer.causes) - len(causes):
        first = "Mend this first. " if len(causes) == 1 else ""
        blocks.append(first + MORE.format(more, "" if more == 1 else "s"))
    if answer.is_healthy and answer.num_entries:
        blocks.append(_healthy(answer))
    elif not answer.causes and _has_more_to_say(answer):
        blocks.append(_cannot_tell(answer))
    return "\n\n".join(blocks)


def _has_more_to_say(answer: Answer) -> bool:
    return answer.num_lines > 1 or bool(answer.num_entries or answer.mentions or answer.fits)


def _healthy(answer: Answer) -> str:
    if answer.num_entries < 6:
        return f"No rule finds anything else odd, in {answer.num_entries} entries."
    return f"This log is healthy: no rule finds anything else odd in {answer.num_entries} entries."


def _head(answer: Answer) -> str:
    entries = "entry" if answer.num_entries == 1 else "entries"
    lines = "line" if answer.num_lines == 1 else "lines"
    read_ = f"Read {answer.num_entries} log {entries} in {answer.num_lines} {lines}"
    names = f": {', '.join(answer.fields)}." if answer.fields else "."
    rows = [fill(read_ + names, WIDTH)]
    if answer.restart:
        run = f"the run of {answer.about}" if answer.about else "the last one"
        why = f"More than one run, or one in pieces, is in it ({answer.restart})."
        said = f"{why} This is about {run}."
        rows.append(fill(said, WIDTH))
    turned = answer.causes[0].at if answer.causes else None
    if turned is not None and answer.num_lines > 1:
        rows.append(f"First look at {turned.where}:\n  {turned.text[:MAX_QUOTE]}")
    return "\n".join(rows)


def _cannot_tell(answer: Answer) -> str:
    if not answer.num_entries and answer.findings:
        why = UNREAD.format(answer.unread) if answer.unread else "There is no log entry beside it"
        said = fill(f"{why}, so the run itself cannot be judged.", WIDTH)
        return "\n".join([said, *_fitting(answer)])
    if not answer.num_entries:
        return "\n".join([_spoken_of(answer), *_fitting(answer)])
    known = answer.known
    groups = (("loss", "policy_loss"), ("grad_norm",), ("learning_rate",))
    missing = [names[0] for names in groups if not known.intersection(names)]
    parts = [_nothing_known(answer)]
    if missing:
        parts.append(f"Not read in it: {', '.join(missing)}.")
    if answer.trend:
        parts.append(answer.trend)
    odd = answer.not_finite + answer.worries + answer.zeros
    if odd:
        parts.append(f"Worth a look: {'; '.join(odd[:4])}.")
    parts.append(f"Look at these next: {UNSEEN[answer.kind]}.")
    return "\n".join([fill(" ".join(parts), WIDTH), *_fitting(answer)])


def _fitting(answer: Answer) -> list[str]:
    """Rows for what numbers or the writer's words would fit, and the look that would tell."""
    if not answer.fits:
        return []
    by_words = [one for one in answer.fits if NO_NUMBER in one.against]
    by_numbers = [one for one in answer.fits if NO_NUMBER not in one.against]
    rows = [SEVERAL] if by_numbers else []
    for one in by_numbers[:MAX_SHOWN]:
        rows += [_row("seen", said) for said in one.for_it]
        rows.append(_row("look at", f"{one.look} ({one.says})"))
    rows += [WORDS_ALONE] if by_words else []
    rows += [_row("look at", f"{one.cause.look} ({one.says})") for one in by_words[:MAX_SHOWN]]
    return rows


def _spoken_of(answer: Answer) -> str:
    """What sentences without a log speak of, and what would tell the cause."""
    why = UNREAD.format(answer.unread) if answer.unread else "it holds no entry of a log"
    why = f"This command finds no cause in it: {why[0].lower()}{why[1:]}."
    rows = [fill(why, WIDTH)]
    for one in answer.mentions:
        if answer.unread and one.of_entries:  # they are there
            continue
        rows += [_row("said", f"{one.line.where}: {one.said}"), _row("bring", f"{one.bring}.")]
    return "\n".join(rows)


def _nothing_known(answer: Answer) -> str:
    """Why a log without a known cause is not called healthy."""
    fine = next((one for one in answer.no_faults if one.key == IMPROVES), None)
    if answer.no_faults and fine is None and not answer.is_odd:
        return "No rule finds anything else odd, which alone does not show a healthy run."
    if answer.is_odd or fine is None:
        return "This command knows no cause for these numbers, and does not call them healthy."
    return (
        f"No rule finds anything odd: {fine.for_it[0]}. That alone does not show a healthy run: a "
        "loss also falls on padding, on a wrong template or on wrong labels, and a reward by a "
        "cheat."
    )


def _block(number: int, one: Finding) -> str:
    cause = one.cause
    rows = [("for", text) for text in one.for_it] + [("against", text) for text in one.against]
    rows += [("open", one.open)] if one.open else []
    rows += [("fix", one.fix)]
    rows += [("look next", one.look)] if one.look else []
    where = [f"lesson {cause.lesson}"] if cause.lesson else []
    where += [f"instrument {cause.instrument}"] if cause.instrument else []
    where += [f"reported in {cause.thread}"] if cause.thread else []
    rows += [("see", "; ".join(where))] if where else []
    head = fill(f"{number}. {one.says[0].upper()}{one.says[1:]}.", WIDTH, subsequent_indent="   ")
    return "\n".join([head, *(_row(*row) for row in rows)])


def _no_fault(one: Finding) -> str:
    head = fill(f"Not a fault: {one.says}.", WIDTH)
    return "\n".join([head, *(_row("for", text) for text in one.for_it)])


def _row(name: str, text: str) -> str:
    return fill(text, WIDTH, initial_indent=f"   {name:<10} ", subsequent_indent=" " * 14)
