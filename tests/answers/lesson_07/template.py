"""Right and wrong answers of exercise 07.5."""

from course_utils.exercises.lesson_07 import template
from course_utils.exercises.lesson_07.template import (
    ASK,
    BODY,
    CLOSE,
    CONTENT,
    END,
    LINE,
    OPEN,
    ROLE,
    WITH_TWO_BRANCHES,
    _either,
    _out,
    _template,
)
from tests.answers import answers_of

right, wrong = answers_of(template.TEMPLATE)

AS_IT_WAS = _template(_out(ROLE, CONTENT, END, LINE))
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

right(WITH_THE_LINE_END)
right(WITH_A_VARIABLE)
right(WITH_DASHES)
right(IN_TWO_BLOCKS)
wrong(NEVER_CLOSED, caught_by=template.renders)
wrong(MISSPELT, caught_by=template.renders)
wrong("", caught_by=template.keeps_the_text)
wrong(A_SPACE_MORE, caught_by=template.keeps_the_text)
wrong(NO_LINE_END, caught_by=template.keeps_the_text)
wrong(NO_GENERATION_PROMPT, caught_by=template.keeps_the_text)
wrong(REPLIES_ONLY, caught_by=template.keeps_the_text)
wrong(AS_IT_WAS, caught_by=template.marks_the_replies)
wrong(FOR_THE_USER, caught_by=template.marks_the_replies)
wrong(LAST_REPLY_ONLY, caught_by=template.marks_the_replies)
wrong(END_ONLY, caught_by=template.marks_the_replies)
wrong(WITHOUT_THE_END, caught_by=template.marks_the_ends)
wrong(EVERY_MESSAGE, caught_by=template.marks_nothing_else)
wrong(WITH_THE_ROLE, caught_by=template.marks_nothing_else)
wrong(THE_PROMPT_TOO, caught_by=template.marks_nothing_else)
wrong(ALL_BUT_THE_USER, caught_by=template.marks_nothing_else)
