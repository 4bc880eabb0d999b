"""Answers to exercise 07.5, right and wrong: chat templates, made of the same few pieces."""

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
AS_IT_WAS = _template(_out(ROLE, CONTENT, END, LINE))
WITH_TWO_BRANCHES = _template(_out(ROLE) + _either(OPEN + BODY + CLOSE, BODY) + _out(LINE))
WITH_THE_LINE_END = _template(
    _out(ROLE) + _either(OPEN + _out(CONTENT, END, LINE) + CLOSE, _out(CONTENT, END, LINE))
)
WITH_A_VARIABLE = _template(
    "{% set said = message['content'] + '<|im_end|>' %}"
    + _out(ROLE)
    + _either(OPEN + "{{ said }}" + CLOSE, "{{ said }}")
    + _out(LINE)
)
WITH_DASHES = WITH_TWO_BRANCHES.replace(OPEN, "{%- generation -%}").replace(
    CLOSE, "{%- endgeneration -%}"
)

NEVER_CLOSED = _template(_out(ROLE) + OPEN + BODY + _out(LINE))
MISSPELT = WITH_TWO_BRANCHES.replace(OPEN, "{% generate %}")
A_SPACE_MORE = WITH_TWO_BRANCHES.replace(OPEN, " " + OPEN)
NO_LINE_END = _template(_out(ROLE) + _either(OPEN + BODY + CLOSE, BODY))
NO_GENERATION_PROMPT = _template(
    _out(ROLE) + _either(OPEN + BODY + CLOSE, BODY) + _out(LINE), ask=""
)
REPLIES_ONLY = _template(_out(ROLE) + _either(OPEN + BODY + CLOSE, _out(END)) + _out(LINE))
FOR_THE_USER = _template(
    _out(ROLE) + _either(OPEN + BODY + CLOSE, BODY, role="== 'user'") + _out(LINE)
)
LAST_REPLY_ONLY = _template(
    _out(ROLE)
    + _either(OPEN + BODY + CLOSE, BODY, role="== 'assistant' and loop.last")
    + _out(LINE)
)
END_ONLY = _template(
    _out(ROLE, CONTENT) + _either(OPEN + _out(END) + CLOSE, _out(END)) + _out(LINE)
)
WITHOUT_THE_END = _template(
    _out(ROLE) + _either(OPEN + _out(CONTENT) + CLOSE, _out(CONTENT)) + _out(END, LINE)
)
EVERY_MESSAGE = _template(_out(ROLE) + OPEN + BODY + CLOSE + _out(LINE))
WITH_THE_ROLE = _template(
    _either(OPEN + _out(ROLE, CONTENT, END) + CLOSE, _out(ROLE, CONTENT, END)) + _out(LINE)
)
ALL_BUT_THE_USER = _template(
    _out(ROLE) + _either(OPEN + BODY + CLOSE, BODY, role="!= 'user'") + _out(LINE)
)
IN_TWO_BLOCKS = _template(
    _out(ROLE) + _either(OPEN + _out(CONTENT) + CLOSE + OPEN + _out(END) + CLOSE, BODY) + _out(LINE)
)
THE_PROMPT_TOO = WITH_TWO_BRANCHES.replace(
    ASK, ASK.replace("{{", OPEN + "{{").replace("}}", "}}" + CLOSE)
)
