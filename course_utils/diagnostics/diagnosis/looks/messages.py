"""Looks at whether the chat template writes every message of a row."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from course_utils.diagnostics.batch_view.rows import first_rows, unchanged
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject

NUM_ROWS = 8
KEYS = re.compile(r"""(?:\[['"]|\.)(\w+)""")
WHOLE = ("messages", "conversations")
REPLIES = ("completion", "chosen", "rejected")  # to a prompt, where the row has one


def look_at_messages(subject: Subject, sheet: Sheet) -> None:
    """A template leaves out a message whose text stands nowhere in what it renders."""
    tokenizer = getattr(subject.trainer, "processing_class", None)
    if not getattr(tokenizer, "chat_template", None):
        return
    with unchanged(subject.trainer.train_dataset):
        rows = first_rows(subject.trainer.train_dataset, NUM_ROWS)
    messages = [one for row in rows for one in _messages(tokenizer, row)]
    if not messages:
        return
    lost = [message for message, is_there in messages if not is_there]
    if not lost:
        sheet.clear("messages", f"the template writes all {len(messages)} of the first rows")
        return
    role, text = lost[0]["role"], lost[0]["content"].strip()
    missing, why, advice = _explained(tokenizer, lost[0])
    sheet.find(
        "message_dropped",
        COUNTED,
        f"{len(lost)} of {len(messages)} messages of the first {len(rows)} rows are not in the "
        "text",
        place=f"chat_template, role {role!r}",
        why=why,
        advice=advice,
        specimen=(f"a message of the role {role!r} {missing}: {text[:60]!r}",),
    )


def _explained(tokenizer: Any, message: dict) -> tuple[str, str, str]:
    """What is missing of a message, why, and what to do."""
    role, missing = message["role"], "that no token stands for"
    if key := _key_that_is_read(tokenizer, message):
        why = f"the chat template reads {key!r} of a message, and the rows have 'content'"
        return missing, why, f"message['content'] in place of message[{key!r}] in the template"
    if "</think>" in message["content"] and _writes_the_rest(tokenizer, message):
        missing = "whose thought is not in the text"
        why = "the chat template cuts off what a last reply says before </think>: "
        why += "no thought is learnt"
        return missing, why, "write message['content'] whole for the last reply of a chat"
    if _has_a_turn_for(tokenizer, message):
        why = f"the chat template has a turn for the role {role!r}, and leaves out what it says"
        return missing, why, f"write message['content'] in it, for {role!r}: a text, not parts"
    why = f"the chat template leaves out messages of the role {role!r}"
    advice = f"give the message a role that the template writes, or add {role!r} to the template"
    return missing, why, advice


def _has_a_turn_for(tokenizer: Any, message: dict) -> bool:
    """Whether the template writes something for this role, and the same when it says nothing."""
    with suppress(Exception):  # a template may refuse a chat of one message
        one, none = (
            tokenizer.apply_chat_template([message | {"content": said}], tokenize=False)
            for said in (message["content"], "")
        )
        return bool(one.strip()) and one == none
    return False


def _writes_the_rest(tokenizer: Any, message: dict) -> bool:
    """Whether the template writes what stands behind the thoughts of this message."""
    said = message["content"].rpartition("</think>")[2].strip()
    return bool(said) and said in tokenizer.apply_chat_template([message], tokenize=False)


def _key_that_is_read(tokenizer: Any, message: dict) -> str:
    """The key under which the template would write the text of a message that it drops, or ""."""
    text = message["content"].strip()
    for key in dict.fromkeys(KEYS.findall(str(tokenizer.chat_template))):
        if key not in message:
            with suppress(Exception):  # a template may refuse such a message
                moved = [message | {key: text}]
                if text in tokenizer.apply_chat_template(moved, tokenize=False):
                    return key
    return ""


def _messages(tokenizer: Any, row: dict) -> Iterator[tuple[dict, bool]]:
    """Each message of the row's chats, and whether its text is in the rendered chat.

    Thoughts are meant to be left out of earlier turns, and tools have forms of their own.
    """
    asked = row["prompt"] if _is_chat(row.get("prompt")) else []
    replies = [row[name] for name in REPLIES if _is_chat(row.get(name))]
    alone = [row[name] for name in WHOLE if _is_chat(row.get(name))]
    for chat in (*alone, *([asked + reply for reply in replies] or [asked] * bool(asked))):
        text = tokenizer.apply_chat_template(
            chat, tokenize=False, tools=row.get("tools"), **row.get("chat_template_kwargs") or {}
        )
        plain = (one for one in chat if isinstance(one.get("content"), str))
        for message in (one for one in plain if one["content"].strip()):
            thought, said = "", message["content"]
            if message["role"] == "assistant":
                thought, _, said = said.rpartition("</think>")
                thought = thought.replace("<think>", "").strip() if message is chat[-1] else ""
            is_there = _is_in(text, said) and _is_in(text, thought)
            yield message, is_there or message["role"] == "tool"


def _is_in(rendered: str, text: str) -> bool:
    """Whether a text stands in what a template wrote, as it is or as JSON."""
    escaped = (json.dumps(text.strip(), ensure_ascii=is_ascii)[1:-1] for is_ascii in (True, False))
    return text.strip() in rendered or any(one in rendered for one in escaped)


def _is_chat(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and isinstance(value[0], dict)
        and ("role" in value[0])
    )
