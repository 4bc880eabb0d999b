"""Looks at a template with a switch for thinking: which of the two prompts was trained on."""

from typing import Any

from torch import Tensor

from course_utils.causes.harms import SERVING
from course_utils.diagnostics.diagnosis.looks.shown_rows import short
from course_utils.diagnostics.diagnosis.sheet.finding import LIKELY, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject
from course_utils.diagnostics.loss_kind import Loss, speaks_for

SWITCH = "enable_thinking"
CHAT = [{"role": "user", "content": "1"}]


@speaks_for(Loss.NEXT_TOKEN)
def look_at_thinking(subject: Subject, sheet: Sheet) -> None:
    """With thinking off, some templates close an empty thought in the prompt: was it learnt?"""
    tokenizer, ids = subject.tokenizer, (subject.batch or {}).get("input_ids")
    if SWITCH not in str(getattr(tokenizer, "chat_template", "")) or not isinstance(ids, Tensor):
        return
    closed = _closed_thought(tokenizer)
    if not closed:
        return
    texts = [tokenizer.decode(row) for row in ids]
    bare = [text for text in texts if not any(part in text for part in closed.split())]
    said = f"{len(bare)} of the first {len(texts)} rows hold none of it"
    if len(bare) < len(texts):
        sheet.show("prompt with thinking off", said)
        return
    sheet.find(
        "template_differs",
        LIKELY - 0.5,  # what it will cost is later: a cause that the run itself shows comes first
        f"{SWITCH}=False ends the prompt with {short(closed)}; {said}",
        place=f"chat_template, {SWITCH}",
        why="the rows are those of a prompt with thinking on, and hold no thought: served with "
        "thinking off, the model reads a prompt that it was not trained on",
        advice=f"render the rows with {SWITCH}=False and the closed thought before the reply, as "
        "they are served; or serve with thinking on",
        where=SERVING,
    )


def _closed_thought(tokenizer: Any) -> str:
    """What the template adds to a prompt for an answer without thinking; "" if that is nothing."""
    asked = dict(tokenize=False, add_generation_prompt=True)
    usual = tokenizer.apply_chat_template(CHAT, **asked)
    off = tokenizer.apply_chat_template(CHAT, **asked, **{SWITCH: False})
    return off.removeprefix(usual).strip() if off.startswith(usual) else ""
