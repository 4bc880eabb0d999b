"""Looks whether the model's generation settings forbid the replies that it learns."""

from collections.abc import Iterator, Sequence
from typing import Any

from torch import Tensor

from course_utils.diagnostics.diagnosis.measures.forward import has_ids
from course_utils.diagnostics.diagnosis.measures.specimens import quoted
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject
from course_utils.diagnostics.loss_kind import Loss, speaks_for

IGNORED = -100
MOST = 0.5  # of the replies
Reply = tuple[list[int], list[bool]]  # the ids of a row, and which of them are learnt


@speaks_for(Loss.NEXT_TOKEN, Loss.SEQ2SEQ, Loss.PAIRS, Loss.REPLIES)
def look_at_forbidden(subject: Subject, sheet: Sheet) -> None:
    """A ban of repeated n-grams or of single tokens acts on replies, and on no loss."""
    base = getattr(subject.model, "get_base_model", lambda: subject.model)()
    config = getattr(base, "generation_config", None)
    if config is None or not has_ids(subject.rows):
        return
    size = getattr(config, "no_repeat_ngram_size", None) or 0
    tokens = set(getattr(config, "suppress_tokens", None) or ())
    bans = {"no_repeat_ngram_size": size, "suppress_tokens": tokens}
    for name, ban in ((name, ban) for name, ban in bans.items() if ban):
        with sheet.trying(f"what {name} forbids"):
            _judge(subject, name, ban, sheet)


def _judge(subject: Subject, name: str, ban: Any, sheet: Sheet) -> None:
    is_apart = subject.loss is Loss.SEQ2SEQ  # else a row that is learnt as a whole is no reply
    replies = [one for one in _replies(subject) if any(one[1]) and (is_apart or not all(one[1]))]
    broken = [row for row in replies if _first_banned(*row, ban) is not None]
    shown = str(ban) if isinstance(ban, int) else f"{len(ban)} ids"
    said = f"{name} ({shown}) forbids {len(broken)} of the first {len(replies)} replies"
    if not replies or len(broken) < MOST * len(replies):
        sheet.show(f"what {name} forbids", said)
        return
    ids, at = broken[0][0], _first_banned(*broken[0], ban)
    decode = getattr(subject.tokenizer, "decode", str)
    sheet.find(
        "generation_forbids",
        COUNTED,
        said,
        place=f"model.generation_config.{name}",
        why=f"the replies that are learnt break the model's own generation setting {name}: "
        "generate() cannot write them, however well they are learnt",
        advice=f"model.generation_config.{name} = {0 if isinstance(ban, int) else None}, saved "
        "with the model",
        specimen=(
            f"after {quoted(decode(ids[max(0, at - 8) : at]))} it forbids "
            f"{quoted(decode(ids[at : at + 1]))}",
        ),
    )


def _replies(subject: Subject) -> Iterator[Reply]:
    """The rows as generation would have them: a prompt and its reply, or a reply alone."""
    rows = subject.rows
    ids, labels = rows["input_ids"], rows.get("labels")
    if subject.loss is Loss.SEQ2SEQ and isinstance(labels, Tensor):
        for row in labels.tolist():
            known = [i for i in row if i != IGNORED]
            yield known, [True] * len(known)
        return
    mask = rows.get("attention_mask")
    for b in range(len(ids)):
        learnt = _learnt(rows, b)
        if learnt is None:
            continue
        keep = (
            mask[b].bool() if isinstance(mask, Tensor) and mask.shape == ids.shape else ids[b] >= 0
        )
        yield ids[b][keep].tolist(), learnt[keep].tolist()


def _learnt(rows: Any, b: int) -> Tensor | None:
    ids = rows["input_ids"]
    for name, is_learnt in (("labels", lambda x: x != IGNORED), ("completion_mask", Tensor.bool)):
        column = rows.get(name)
        if isinstance(column, Tensor) and column.shape == ids.shape:
            return is_learnt(column[b])
    return None


def _first_banned(ids: Sequence[int], learnt: Sequence[bool], ban: Any) -> int | None:
    """The first learnt token that generation would not be allowed to write."""
    if isinstance(ban, set):
        return next((t for t, i in enumerate(ids) if learnt[t] and i in ban), None)
    seen: set[tuple[int, ...]] = set()
    for t in range(ban - 1, len(ids)):
        gram = tuple(ids[t - ban + 1 : t + 1])
        if learnt[t] and t and gram in seen:
            return t
        seen.add(gram)
    return None
