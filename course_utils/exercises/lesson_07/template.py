"""Exercise 07.5: a chat template that says which tokens the assistant wrote."""

from functools import cache

from course_utils import zoo
from course_utils.checks.declare import Criterion, Exercise

CHATS = {
    "one turn": [("user", "1+2="), ("assistant", "3")],
    "two turns": [("user", "1+2="), ("assistant", "3"), ("user", "and 4?"), ("assistant", "7!")],
    "a system message": [("system", "Add."), ("user", "5+6="), ("assistant", "11")],
    "the same words on both sides": [("user", "77"), ("assistant", "77"), ("user", "8")],
    "line ends and spaces": [("user", " a\n\nb "), ("assistant", " c\nd ")],
}


@cache
def _tokenizer():
    return zoo.load_tokenizer("tiny")


def _messages(chat: str) -> list[dict]:
    return [{"role": role, "content": content} for role, content in CHATS[chat]]


def _marked(template: str, chat: str, *, asks: bool = False) -> list[tuple[str, bool]]:
    """The pieces of a chat, each with whether the template marks it."""
    said = _tokenizer().apply_chat_template(
        _messages(chat),
        chat_template=template,
        tokenize=True,
        return_dict=True,
        return_assistant_tokens_mask=True,
        add_generation_prompt=asks,
    )
    pieces = [_tokenizer().decode([token]) for token in said["input_ids"]]
    return list(zip(pieces, map(bool, said["assistant_masks"]), strict=True))


def _wanted(chat: str) -> list[tuple[str, set[bool]]]:
    """The pieces, each with the marks it may have; a reply's closing line end may have either."""
    found, either = [], {True, False}
    for role, content in CHATS[chat]:
        is_reply = role == "assistant"
        for text, marks in (
            (f"<|im_start|>{role}\n", {False}),
            (f"{content}<|im_end|>", {is_reply}),
            ("\n", either if is_reply else {False}),
        ):
            ids = _tokenizer()(text, add_special_tokens=False)["input_ids"]
            found += [(_tokenizer().decode([token]), marks) for token in ids]
    return found


def renders(template: str) -> str | None:
    try:
        _marked(template, "one turn")
    except Exception as error:  # jinja's, or what the template itself raises
        return f"the template cannot be rendered: {str(error).splitlines()[0]}"
    return None


def keeps_the_text(template: str) -> str | None:
    for chat in CHATS:
        for asks in (False, True):
            got, want = (
                _tokenizer().apply_chat_template(
                    _messages(chat), chat_template=t, tokenize=False, add_generation_prompt=asks
                )
                for t in (template, _tokenizer().chat_template)
            )
            if got != want:
                return (
                    f"with {chat}, add_generation_prompt={asks}, it renders {got!r}, not {want!r}"
                )
    return None


def _first(template: str, is_wrong) -> str | None:
    for chat in CHATS:
        if len(_marked(template, chat)) != len(_wanted(chat)):
            return f": with {chat} it renders other tokens than before, so nothing can be compared"
        pairs = zip(_marked(template, chat), _wanted(chat), strict=True)
        found = [piece for (piece, mark), (_, may) in pairs if is_wrong(piece, mark, may)]
        if found:
            return f" with {chat}: {', '.join(map(repr, found[:4]))}"
    return None


def marks_the_replies(template: str) -> str | None:
    seen = _first(template, lambda p, mark, may: may == {True} and not mark and p != "<|im_end|>")
    return f"not marked{seen}" if seen else None


def marks_the_ends(template: str) -> str | None:
    seen = _first(template, lambda p, mark, may: may == {True} and not mark)
    return f"not marked{seen}" if seen else None


def marks_nothing_else(template: str) -> str | None:
    seen = _first(template, lambda _, mark, may: may == {False} and mark)
    if seen:
        return f"marked{seen}"
    asked = _marked(template, "one turn", asks=True)[len(_marked(template, "one turn")) :]
    found = [piece for piece, mark in asked if mark]
    return f"marked in the generation prompt: {', '.join(map(repr, found))}" if found else None


ROLE, CONTENT, END, LINE = (
    "'<|im_start|>' + message['role'] + '\\n'",
    "message['content']",
    "'<|im_end|>'",
    "'\\n'",
)


ASK = "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"


OPEN, CLOSE = "{% generation %}", "{% endgeneration %}"


def _template(message: str, ask: str = ASK) -> str:
    return f"{{% for message in messages %}}{message}{{% endfor %}}{ask}"


def _out(*parts: str) -> str:
    return f"{{{{ {' + '.join(parts)} }}}}"


def _either(reply: str, other: str, role: str = "== 'assistant'") -> str:
    return f"{{% if message['role'] {role} %}}{reply}{{% else %}}{other}{{% endif %}}"


BODY = _out(CONTENT, END)


WITH_TWO_BRANCHES = _template(_out(ROLE) + _either(OPEN + BODY + CLOSE, BODY) + _out(LINE))


TEMPLATE = Exercise(
    id="07.5",
    name="TEMPLATE",
    title="A template that marks the replies",
    minutes=5,
    difficulty="one line of jinja",
    points=3,
    reads="template",
    expects=(str,),
    hints=(
        "Which parts of a message did the assistant produce: its role, its words, its end?",
        "The block needs a condition: it belongs only to messages whose role is assistant.",
        "{% if message['role'] == 'assistant' %} ... {% else %} ... {% endif %}: both branches "
        "print content and end; one does it between {% generation %} and {% endgeneration %}.",
    ),
    form=renders,
    criteria=(
        Criterion(
            "The text of every chat stays the same.",
            keeps_the_text,
            why="model and server know the old text; even one more space makes another prompt",
            next="compare apply_chat_template(tokenize=False) with both templates",
        ),
        Criterion(
            "Every word of a reply is marked.",
            marks_the_replies,
            why="a token that is not marked gets the label -100",
            next='ask for return_assistant_tokens_mask=True and read "assistant_masks"',
        ),
        Criterion(
            "The end of every reply is marked.",
            marks_the_ends,
            why="the model learns only the marked tokens; if the end is not marked, it never "
            "learns to stop",
            next="move {% endgeneration %} after the end",
        ),
        Criterion(
            "Nothing else is marked.",
            marks_nothing_else,
            why="at serving the template writes the role, and the user writes the question",
            next="open the block after the line with the role, only for the assistant",
        ),
    ),
    answer=WITH_TWO_BRANCHES,
)
