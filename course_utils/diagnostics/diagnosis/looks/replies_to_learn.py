"""Looks at the replies to learn from: empty ones, and prompts that stand in them once more."""

from collections.abc import Mapping

from torch import Tensor

from course_utils.diagnostics.diagnosis.measures.forward import has_ids
from course_utils.diagnostics.diagnosis.measures.specimens import quoted
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject
from course_utils.diagnostics.loss_kind import IGNORED, OF_TEXT, speaks_for

SHORT = 12  # characters of a prompt, below which its return means nothing


@speaks_for(*OF_TEXT)
def look_at_replies_to_learn(subject: Subject, sheet: Sheet) -> None:
    rows, tokenizer = subject.rows, subject.tokenizer
    if tokenizer is None or not has_ids(rows):
        return
    with sheet.trying("replies of chats"):
        _empty_turns(subject, sheet)
    parts = [part for part in (_parts(rows, b) for b in range(len(rows["input_ids"]))) if part]
    texts = [
        tuple(tokenizer.decode(ids, skip_special_tokens=True).strip() for ids in part)
        for part in parts
    ]
    if not texts:
        return
    shared = set.intersection(*(set(_lines(prompt)) for prompt, _ in texts))
    twice = [(prompt, reply) for prompt, reply in texts if _begins_with(prompt, reply, shared)]
    ends = {tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id}
    empty = [
        prompt
        for (prompt, reply), (_, ids) in zip(texts, parts, strict=True)
        if not reply
        and not tokenizer.decode([one for one in ids.tolist() if one not in ends]).strip()
    ]
    if len(twice) * 2 >= len(texts):
        prompt, reply = twice[0]
        sheet.find(
            "prompt_twice",
            COUNTED,
            f"{len(twice)} of {len(texts)} replies begin with their prompt",
            place="the columns of prompt and reply",
            specimen=(f"prompt: {quoted(prompt[-60:])}", f"reply: {quoted(reply[:80])}"),
        )
    elif len(empty) * 2 >= len(texts) and not any(f.key == "replies_empty" for f in sheet.found):
        sheet.find(
            "replies_empty",
            COUNTED,
            f"of {len(empty)} of {len(texts)} rows nothing but the end is learnt",
            place="the column of replies, and where their labels begin",
            why="no word of a reply is learnt: the replies are empty, or the mask of the prompt "
            "reaches over them",
            advice="look at the column that the replies come from, and count the tokens of the "
            "prompt without those that the tokenizer adds (add_special_tokens=False)",
            specimen=(f"before the labels: {quoted(empty[0][-60:])}", "learnt: ''"),
        )


def _empty_turns(subject: Subject, sheet: Sheet) -> None:
    """Rows that end as the template ends a chat whose last reply is empty."""
    rows, tokenizer = subject.rows["input_ids"], subject.tokenizer
    if not getattr(tokenizer, "chat_template", None):
        return
    asked = [{"role": "user", "content": "x"}]
    whole = [*asked, {"role": "assistant", "content": ""}]
    said = [*asked, {"role": "assistant", "content": "y"}]
    before, after, usual = (
        tokenizer.apply_chat_template(one, tokenize=False) for one in (asked, whole, said)
    )
    tail = after.removeprefix(before).strip()
    if usual.rstrip().endswith(tail):  # a reply with words ends alike
        return
    texts = [tokenizer.decode(ids[ids != tokenizer.pad_token_id]).rstrip() for ids in rows]
    empty = [text for text in texts if tail and before != tail and text.endswith(tail)]
    if after.startswith(before) and len(empty) * 2 >= len(texts):
        said = f"{len(empty)} of {len(texts)} rows end with a reply that holds no text"
        sheet.find(
            "replies_empty",
            COUNTED,
            said,
            place="messages, the content of the assistant",
            specimen=(f"a row ends: {quoted(empty[0][-60:])}",),
        )


def _lines(prompt: str) -> list[str]:
    """Its lines that are long enough: without the words of a template around it."""
    return [line for line in map(str.strip, prompt.splitlines()) if len(line) >= SHORT]


def _begins_with(prompt: str, reply: str, shared: set[str]) -> bool:
    """Whether a reply begins with its prompt and goes on.

    Of several lines all must be there but those of every prompt: a function that is written out
    begins with the signature that was asked for, and does not say the task.
    """
    own = [line for line in _lines(prompt) if line not in shared] or _lines(prompt)
    is_there = bool(own) and reply.startswith(own[0]) and all(line in reply for line in own)
    return is_there and len(reply) > len("\n".join(own))


def _parts(rows: Mapping, b: int) -> tuple[Tensor, Tensor] | None:
    """The ids before the first learnt token and the learnt ones; None where all are learnt."""
    ids = rows["input_ids"]
    mask, labels = rows.get("completion_mask"), rows.get("labels")
    if isinstance(mask, Tensor) and mask.shape == ids.shape:
        learnt = mask[b].bool()
    elif isinstance(labels, Tensor) and labels.shape == ids.shape:
        learnt = labels[b] != IGNORED
    else:
        return None
    if not bool(learnt.any()) or bool(learnt[0]):
        return None
    first = int(learnt.int().argmax())
    return ids[b, :first], ids[b][learnt]
