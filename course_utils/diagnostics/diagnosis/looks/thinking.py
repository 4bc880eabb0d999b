"""Looks at a template with a switch for thinking: which of the two prompts was trained on."""

from functools import partial
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
    begins, closed = _marks(tokenizer)
    texts = [tokenizer.decode(row) for row in ids]
    texts = [text for text in texts if _squeezed(begins) in _squeezed(text)]
    if not closed or not texts:
        return
    bare = [text for text in texts if not any(part in text for part in closed.split())]
    said = f"{len(bare)} of the first {len(texts)} rows with a reply hold none of it"
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


def _marks(tokenizer: Any) -> tuple[str, str]:
    """What begins a reply in the template, and what it adds there for one without thinking.

    Each is "" if that is nothing. Rows without the first are no chats of this template.
    """
    render = partial(tokenizer.apply_chat_template, CHAT, tokenize=False)
    asked, usual = (render(add_generation_prompt=one) for one in (False, True))
    off = render(add_generation_prompt=True, **{SWITCH: False})
    longer = ((asked, usual), (usual, off))
    begins, closed = (b.removeprefix(a).strip() if b.startswith(a) else "" for a, b in longer)
    return begins, closed


def _squeezed(text: str) -> str:
    """A text without its spaces, which some decoders put between tokens."""
    return "".join(text.split())
