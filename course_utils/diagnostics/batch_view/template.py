"""Renders a chat template to find what it puts around a reply. Never changes the template."""

import re
from dataclasses import dataclass

# A word that no template holds, so that what stands around it is the template's own.
PROBE = "zqx"
MARK = re.compile(r"{%-?\s*generation\s*-?%}")


@dataclass(frozen=True)
class Template:
    """What the tokenizer would send at serving, and the tokens that end a reply there."""

    header: tuple[int, ...]  # what stands between the user's words and the reply
    header_text: str
    ends: frozenset[int]  # any of these ends a reply
    closing: frozenset[int] = frozenset()  # of these, what the template itself puts there
    special: frozenset[int] = frozenset()  # special tokens of the header
    marks_replies: bool = False  # the template has {% generation %}
    rendered: str = ""  # a first question, ready to be answered

    @property
    def is_chat(self) -> bool:
        return bool(self.header)


def template_of(tokenizer, extra_ends: tuple[int, ...] = ()) -> Template:
    """Read a tokenizer's template.

    Args:
        extra_ends: what generation stops at besides the tokenizer's own end.
    """
    ends = {*extra_ends, tokenizer.eos_token_id} - {None}
    if not getattr(tokenizer, "chat_template", None):
        return Template((), "", frozenset(ends))
    asked = [{"role": "user", "content": PROBE}]
    try:
        plain = _render(tokenizer, asked)
        whole = _render(tokenizer, [*asked, {"role": "assistant", "content": PROBE}])
        served = _render(tokenizer, asked, add_generation_prompt=True)
    except Exception:  # a special template, such as one for tools: nothing is known about it
        return Template((), "", frozenset(ends))
    header = served.removeprefix(plain)
    after = whole[whole.rfind(PROBE) + len(PROBE) :]
    special = set(tokenizer.all_special_ids) | set(tokenizer.added_tokens_decoder)
    closing = special.intersection(_ids(tokenizer, after)[:1])
    ids = _ids(tokenizer, header)
    return Template(
        header=tuple(ids),
        header_text=header,
        ends=frozenset(ends | closing),
        closing=frozenset(closing),
        special=frozenset(special.intersection(ids)),
        marks_replies=bool(MARK.search(str(tokenizer.chat_template))),
        rendered=served,
    )


def _ids(tokenizer, text: str) -> list[int]:
    return tokenizer(text, add_special_tokens=False)["input_ids"]


def _render(tokenizer, messages: list[dict], **options: object) -> str:
    return tokenizer.apply_chat_template(messages, tokenize=False, **options)


def starts_of(needle: tuple[int, ...], ids: list[int]) -> list[int]:
    """The positions in `ids` where `needle` ends.

    >>> starts_of((1, 2), [1, 2, 3, 1, 2])
    [2, 5]
    """
    size = len(needle)
    places = range(len(ids) - size + 1) if size else ()
    return [i + size for i in places if tuple(ids[i : i + size]) == needle]
