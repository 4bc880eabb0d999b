"""An answer as text: what was read, the causes with their evidence, what is no fault."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING

from course_utils.explain.finding import Finding

if TYPE_CHECKING:
    from course_utils.explain.answer import Answer

MAX_SHOWN, MAX_QUOTE, WIDTH = 3, 300, 88
UNSEEN = {  # by the kind of the run
    "supervised": "one batch token by token, the labels of its ends and its template among them "
    "(inspect_batch); the share of weights that change in a step (audit_step); the logits of the "
    "model that is served against those of the trained one (compare_models)",
    "preference": "the tokens in which chosen and rejected differ (inspect_batch); the log-probs "
    "of one pair in policy and reference; the share of weights that change in a step (audit_step)",
    "policy": "several replies to one prompt with their rewards; the log-probs of the same tokens "
    "in sampler and trainer (audit_policy); the share of weights that change in a step",
}


def page(answer: Answer) -> str:
    """The whole answer, a block for each finding."""
    if not answer.num_entries and not answer.findings:
        return (
            f"No log entry and no known message in {answer.num_lines} lines. Paste lines with "
            "numbers such as loss and grad_norm, a trainer_state.json, or the last lines of "
            "an error."
        )
    blocks = [_head(answer)]
    blocks += [_block(n, one) for n, one in enumerate(answer.causes[:MAX_SHOWN], start=1)]
    blocks += [_no_fault(one) for one in answer.no_faults[:MAX_SHOWN]]
    if answer.is_healthy and answer.num_entries:
        blocks.append(_healthy(answer))
    elif not answer.causes and (answer.num_lines > 1 or answer.num_entries):
        blocks.append(_cannot_tell(answer))
    return "\n\n".join(blocks)


def _healthy(answer: Answer) -> str:
    if answer.num_entries < 6:
        return f"Nothing else is odd, as far as {answer.num_entries} entries can show it."
    return f"This log is healthy: nothing else in its {answer.num_entries} entries is odd."


def _head(answer: Answer) -> str:
    entries = "entry" if answer.num_entries == 1 else "entries"
    lines = "line" if answer.num_lines == 1 else "lines"
    read_ = f"Read {answer.num_entries} log {entries} in {answer.num_lines} {lines}"
    names = f": {', '.join(answer.fields)}." if answer.fields else "."
    rows = [fill(read_ + names, WIDTH)]
    if answer.restart:
        said = f"More than one run is in it ({answer.restart}). This is about the last one."
        rows.append(fill(said, WIDTH))
    turned = answer.causes[0].at if answer.causes else None
    if answer.rests_on_words:
        rows.append(
            fill("No number in it is odd. What fits your words, the commonest first:", WIDTH)
        )
    elif turned is not None and answer.num_lines > 1:
        rows.append(f"The line that turned is {turned.where}:\n  {turned.text[:MAX_QUOTE]}")
    return "\n".join(rows)


def _cannot_tell(answer: Answer) -> str:
    if not answer.num_entries:
        return "There is no log entry beside it, so the run itself cannot be judged."
    known = answer.known
    groups = (("loss", "policy_loss"), ("grad_norm",), ("learning_rate",))
    missing = [names[0] for names in groups if not known.intersection(names)]
    if answer.no_faults:
        parts = ["The log as a whole is not called healthy."]
    else:
        parts = ["The log cannot tell: what is known to this command is not in it."]
    if missing:
        parts.append(f"It has no {', no '.join(missing)}.")
    if answer.trend:
        parts.append(answer.trend)
    odd = answer.not_finite + answer.worries + answer.zeros
    if odd:
        parts.append(f"Worth a look: {'; '.join(odd[:4])}.")
    parts.append(f"Look next at what no log shows: {UNSEEN[answer.kind]}.")
    return fill(" ".join(parts), WIDTH)


def _block(number: int, one: Finding) -> str:
    cause = one.cause
    rows = [("for", text) for text in one.for_it] + [("against", text) for text in one.against]
    rows += [("fix", cause.fix), ("look next", cause.look)]
    where = [f"lesson {cause.lesson}"] if cause.lesson else []
    where += [f"instrument {cause.instrument}"] if cause.instrument else []
    where += [f"reported in {cause.thread}"] if cause.thread else []
    rows += [("see", "; ".join(where))] if where else []
    head = fill(
        f"{number}. {cause.says[0].upper()}{cause.says[1:]}.", WIDTH, subsequent_indent="   "
    )
    return "\n".join([head, *(_row(*row) for row in rows)])


def _no_fault(one: Finding) -> str:
    head = fill(f"Not a fault: {one.cause.says}.", WIDTH)
    return "\n".join([head, *(_row("for", text) for text in one.for_it)])


def _row(name: str, text: str) -> str:
    return fill(text, WIDTH, initial_indent=f"   {name:<10} ", subsequent_indent=" " * 14)
