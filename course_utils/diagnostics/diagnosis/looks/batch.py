"""Looks at the tokens that are learnt: the findings of `inspect_batch`."""

from collections.abc import Collection
from typing import Any

from course_utils.causes import BY_NAME
from course_utils.diagnostics.batch_view import inspect_batch
from course_utils.diagnostics.batch_view.case import Case, Finding
from course_utils.diagnostics.batch_view.report import BatchReport
from course_utils.diagnostics.batch_view.tokens import Row, Token
from course_utils.diagnostics.diagnosis.looks.pairs_in_batch import look_at_pairs_in_batch
from course_utils.diagnostics.diagnosis.measures.data_sets import column
from course_utils.diagnostics.diagnosis.measures.forward import arguments_of, has_ids
from course_utils.diagnostics.diagnosis.measures.labels_used import moves_labels
from course_utils.diagnostics.diagnosis.measures.specimens import of_finding
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import PAIRS, POLICY, Subject
from course_utils.diagnostics.libraries.trl import prompt_ids
from course_utils.diagnostics.loss_kind import IGNORED, OF_TEXT, Loss

PLACES = {  # of what inspect_batch found -> a column or a setting
    "no labels": "labels",
    "labels shifted": "labels",
    "padding learnt": "labels",
    "prompt learnt": "labels",
    "labels across documents": "labels",
    "end masked": "labels, chat_template",
    "end missing": "input_ids",
    "holes in the mask": "attention_mask, pad_token",
    "padding attended": "attention_mask",
    "padding side": "padding_side",
    "packing leaks": "packing, position_ids",
    "template differs": "chat_template",
    "two BOS": "input_ids, bos_token",
    "stops elsewhere": "generation_config.eos_token_id",
}
MANY, SHARE = 8, 0.1  # rows without a label, of all
FEWEST, TAIL = 4, 2  # rows; tokens at the end of each that have no label


def look_at_batch(subject: Subject, sheet: Sheet) -> None:
    """Look at the first rows, token by token."""
    rows = getattr(subject.trainer, "train_dataset", None)
    if rows is not None and hasattr(rows, "__len__") and not len(rows):
        _empty(subject, sheet)
        return
    if subject.loss in OF_TEXT and _are_cut(rows, sheet):
        return
    if subject.kind == POLICY:
        with sheet.trying("the prompts' tokens"):
            _prompts(subject, sheet)
        return
    if subject.batch is None or subject.tokenizer is None:
        missing = "tokenizer" if subject.batch is not None else "batch"
        sheet.miss("the tokens", subject.why_no_batch or f"there is no {missing}")
        return
    if not has_ids(subject.rows):
        sheet.miss("the tokens", "the batch holds no token ids of shape (rows, tokens)")
        return
    if subject.trainer is None and "labels" not in subject.batch and subject.loss not in OF_TEXT:
        sheet.miss("the tokens", "the batch has no labels, and the model writes no text")
        return
    with sheet.trying("the tokens"):
        source = subject.trainer if subject.trainer is not None else subject.batch
        report = inspect_batch(source, subject.tokenizer)
        write_report(report, sheet, refuted=_refuted(report, subject, sheet))
    if subject.kind == PAIRS:
        with sheet.trying("the pairs"):
            look_at_pairs_in_batch(subject, sheet)


def _empty(subject: Subject, sheet: Sheet) -> None:
    """No row is left: TRL drops what max_length cuts before the first token that is learnt."""
    limit = getattr(subject.args, "max_length", None)
    cut = f" TRL cuts rows to max_length={limit} and drops those without a token to learn."
    sheet.find(
        "no_samples",
        COUNTED,
        f"train_dataset has 0 rows.{cut if limit else ''}",
        place=f"train_dataset{f', max_length={limit}' if limit else ''}",
        why="the data set is empty after preparation: every row was filtered out",
        advice=f"raise max_length={limit} above the length of a prompt and its reply"
        if limit
        else "look at one row before and after each filter",
    )


def _prompts(subject: Subject, sheet: Sheet) -> None:
    """The prompts as GRPO tokenizes and pads them, on the left."""
    trainer, tokenizer = subject.trainer, subject.tokenizer
    rows = [trainer.train_dataset[i]["prompt"] for i in range(min(8, len(trainer.train_dataset)))]
    ids = prompt_ids(trainer, rows)
    if ids is None:
        write_report(inspect_batch(trainer, tokenizer), sheet)
        return
    padded = tokenizer.pad({"input_ids": ids}, padding_side="left", return_tensors="pt")
    write_report(inspect_batch(dict(padded), tokenizer), sheet)


def _refuted(report: BatchReport, subject: Subject, sheet: Sheet) -> set[str]:
    """The names of faults of most models that are none of this one."""
    names = {one.name for one in report.faults}
    refuted: set[str] = set()
    if "labels shifted" in names:
        with sheet.trying("where labels and logits meet"):
            if not moves_labels(subject):
                refuted.add("labels shifted")
    if "padding attended" in names and _needs_no_mask(report.case, subject):
        refuted.add("padding attended")
    return refuted


def _needs_no_mask(case: Case, subject: Subject) -> bool:
    """Whether a model of the next token takes no mask, and padding stands behind the text alone.

    No token of the text sees what is behind it, and the padding itself has no label.
    """
    known = arguments_of(subject.model).values()
    takes_mask = any(one.name == "attention_mask" or one.kind is one.VAR_KEYWORD for one in known)
    edge = [case.pad] * 2
    return (
        case.loss is Loss.NEXT_TOKEN
        and not takes_mask
        and all(row.ids[:2] != edge for row in case.view.rows)
        and not any(row.ids[-2:] == edge and row.attended[-1].is_learnt for row in case.view.rows)
    )


def write_report(
    report: BatchReport,
    sheet: Sheet,
    *,
    of: str = "",
    where: str = "",
    refuted: Collection[str] = (),
) -> None:
    """Write down the faults of a batch.

    Args:
        of: which batch, if not the first rows; `where`: at work where, if not in training.
        refuted: the names of faults that the model or its loss refutes.
    """
    num_rows = len(report.case.view.rows)
    has_others = report.case.view.has_labels_of_others
    is_turned = _is_turned(report.case, sheet)
    for one in (one for one in report.faults if one.name not in refuted):
        if one.name in ("end missing", "end masked") and (has_others or is_turned):
            continue  # what moved the labels, or hid ids, took the end from the ids, or its label
        if _needs_no_end(one, report.case):
            sheet.show("the end", "each reply is one token, which needs none if it is only scored")
            continue
        key, weight = _key(one), COUNTED
        if key == "packing_leak" and not report.case.view.restarts:
            sheet.hint(key, f"{one.saw}: {one.cause}", one.fix)  # the look at packing measures it
            sheet.show("packed rows", one.cause)
            continue
        if one.name == "no labels" and len(one.rows) < num_rows / 4:
            sheet.show("rows without labels", f"{len(one.rows)} of {num_rows}")
            continue
        if one.name == "no labels" and len(one.rows) < num_rows / 2:
            weight = MEASURED - 3  # some rows are empty: the others train
        rows = (f"seen in {', '.join(one.rows[:3])}",) if one.rows else ()
        sheet.find(
            key,
            weight,
            one.cause,
            *rows,
            place=_place(one, has_template=bool(report.case.template.header)),
            why=f"{one.saw}, in {of}" if of else one.saw,
            advice=one.fix,
            where=where,
            specimen=of_finding(one, report.case),
        )
    if not report.faults:
        view = report.case.view
        share = report.share_learnt
        learnt = "" if share is None else f", {share:.0%} of them learnt"
        sheet.clear(of or "tokens", f"{len(view.rows)} rows, {view.num_tokens} tokens{learnt}")


def _needs_no_end(one: Finding, case: Case) -> bool:
    """Whether an end is missed of replies of one token each.

    An end that is there and has no label is not missed where these tokens are a few classes, such
    as yes and no; one that went with the padding went by mistake.
    """
    rows = case.view.rows
    if one.name not in ("end missing", "end masked") or any(len(row.learnt) > 1 for row in rows):
        return False
    classes = {row.attended[at].id for row in rows for at in row.learnt}
    is_of_classes = len(rows) >= FEWEST and len(classes) <= len(rows) / 2
    return one.name == "end missing" or (_key(one) == "end_masked" and is_of_classes)


def _are_cut(data: Any, sheet: Sheet) -> bool:
    """Whether many rows have no label, and all of these end at one length: the longest."""
    both = zip(column(data, "input_ids"), column(data, "labels"), strict=False)
    rows = [(len(ids), any(one != IGNORED for one in labels)) for ids, labels in both if labels]
    without = [length for length, has_label in rows if not has_label]
    longest = max((length for length, _ in rows), default=0)
    shorter = sum(length < longest for length, _ in rows)
    if len(without) < max(MANY, SHARE * len(rows)) or set(without) != {longest} or not shorter:
        return False
    sheet.find(
        "labels_masked",
        COUNTED + 1,
        f"{len(without)} of {len(rows)} rows have no label, and each of them ends at {longest} "
        "tokens, as no other row is longer",
        place="labels, and where rows are cut",
        why=f"the rows are cut at {longest} tokens, before the part that has labels",
        advice="cut the prompt from its left, or give the rows more room",
    )
    return True


def _is_turned(case: Case, sheet: Sheet) -> bool:
    """Whether the labels of all rows stand on a first part alone, and no template marks replies."""
    rows = [[t.is_learnt for t in _without_padding(row, case.pad)] for row in case.view.rows]
    parts = [(sum(learnt), len(learnt)) for learnt in rows]
    is_first = all(
        sum(learnt[: n + 1]) == n and 0 < n < whole - 1  # a start token may have none
        for learnt, (n, whole) in zip(rows, parts, strict=True)
    )
    if case.template.is_chat or case.loss is not Loss.NEXT_TOKEN or not is_first:
        return False
    least = min((whole - n for n, whole in parts), default=0)
    if len(rows) < FEWEST or least < TAIL:
        return False
    said = f"in each of {len(rows)} rows the first tokens have labels, and at least the last "
    sheet.find("prompts_learnt_alone", COUNTED + 1, f"{said}{least} have none", place="labels")
    return True


def _without_padding(row: Row, pad: int | None) -> tuple[Token, ...]:
    """The attended tokens, without padding on the right that no mask hides."""
    text = [at for at, token in enumerate(row.attended) if token.id != pad]
    is_padded = row.ids[-2:] == [pad, pad] and bool(text)
    return row.attended[: text[-1] + 1] if is_padded else row.attended


def _place(one: Finding, *, has_template: bool) -> str:
    return PLACES[one.name] if has_template else PLACES[one.name].removesuffix(", chat_template")


def _key(one: Finding) -> str:
    if one.name == "end masked":
        return "pad_is_eos" if "pad is the end" in one.cause else "end_masked"
    return BY_NAME[one.name]
