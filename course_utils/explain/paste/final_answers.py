"""Final answers in the forms in which replies and data sets give them."""

import re

FORMS = {  # of a final answer
    "\\boxed{...}": re.compile(r"\\boxed\{\s*\$?(?P<value>[-\d][\d.,/]*)\s*\}"),
    "#### ...": re.compile(r"####\s*\$?(?P<value>[-\d][\d.,/]*)"),
    "<answer>...</answer>": re.compile(r"<answer>\s*\$?(?P<value>[-\d][\d.,/]*)\s*</answer>"),
}


def form_of(text: str, value: str) -> str:
    """The form in which a text gives a number, or "".

    >>> form_of("so it is \\\\boxed{1,200}", "1200"), form_of("it is 18", "18")
    ('\\\\boxed{...}', '')
    """
    for form, pattern in FORMS.items():
        found = pattern.search(text)
        if found and plain(found["value"]) == plain(value):
            return form
    return ""


def plain(value: str) -> str:
    """
    >>> plain("1,200."), plain("18")
    ('1200', '18')
    """
    return value.replace(",", "").rstrip(".")
