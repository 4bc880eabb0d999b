"""A page for each symptom and each cause, and their list: the words people paste, and the answer.

All of it is taken from the symptom map, the causes of `course explain`, and the tests' logs.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from examples import SHAPE, THREAD, Example, examples, exit_codes, title

from course_utils.causes import CAUSES, Cause
from course_utils.exercises.outline import Entry, outline
from course_utils.lesson.symptoms import SYMPTOMS, Symptom

SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|$~^])")
FENCE = "~" * 12
KINDS = {
    THREAD: "Pasted in {thread}",
    SHAPE: "A made-up log of this shape",
}
ANSWERS = (
    f"{FENCE}text\n{{text}}\n{FENCE}\n\n`course explain` answers:\n\n{FENCE}text\n{{answer}}\n"
)
GENERAL = "In any log"
OF_NO_TABLE = "---\norphan: true\n---"


def stage_symptoms(target: Path) -> None:
    """Write `index.md` and all pages into `target`.

    The pages stand in no table of contents: Sphinx would copy all of them into each page's side
    bar, and spend most of its time on it.
    """
    target.mkdir(parents=True)
    pages = {key: _cause_page(key) for key in CAUSES}
    pages |= {slug(symptom.seen): _symptom_page(symptom) for symptom in SYMPTOMS}
    for name, parts in pages.items():
        text = "\n\n".join([OF_NO_TABLE, *parts])
        (target / f"{name}.md").write_text(text, encoding="utf-8")
    index = "\n\n".join(["# Symptoms", INTRO, *plain_list("", "##")])
    (target / "index.md").write_text(index, encoding="utf-8")


INTRO = (
    "What runs show when they break, in the words that people paste. Each page says what it "
    "points to, what mends it and where to look next. To have a log of your own read, "
    "[paste it here](../explain.md): it stays on your machine."
)


def plain_list(folder: str, level: str) -> Iterator[str]:
    """Markdown: every symptom and cause by the lesson it belongs to.

    Args:
        folder: where the pages are, seen from the page with the list, such as "symptoms/".
        level: of its headings, such as "##".
    """
    groups: dict[str, list[str]] = defaultdict(list)
    for symptom in SYMPTOMS:
        link = f"[{escaped(symptom.seen)}]({folder}{slug(symptom.seen)}.md)"
        groups[symptom.lesson].append(f"* {link}")
    for key, cause in CAUSES.items():
        link = f"[{escaped(title(key))}]({folder}{key}.md)"
        mends = "" if cause.healthy else f" What mends it: {escaped(cause.fix)}."
        groups[cause.lesson].append(f"* {link}: {escaped(cause.says)}.{mends}")
    for entry in outline():
        if entry.stem in groups:
            yield f"{level} {escaped(entry.title)}"
            yield "\n".join(groups.pop(entry.stem))
    yield f"{level} {GENERAL}"
    yield "\n".join(line for lines in groups.values() for line in lines)


def slug(text: str) -> str:
    """A name for a file: the letters and digits of a text.

    >>> slug("loss 0.0, grad_norm nan")
    'loss-0-0-grad-norm-nan'
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def escaped(text: str) -> str:
    """A text as Markdown that shows it as it is."""
    return SPECIAL.sub(r"\\\1", text)


def _symptom_page(symptom: Symptom) -> Iterator[str]:
    yield f"# {escaped(symptom.seen)}"
    entry = next(entry for entry in outline() if entry.stem == symptom.lesson)
    yield f"The lesson about it, a broken run that you mend yourself: {_to_lesson(entry)}."
    yield f"On a run of your own, reach for {_to_instrument(symptom.instrument)}:"
    yield f"```python\n{symptom.call}\n```"
    near = [key for key, cause in CAUSES.items() if cause.lesson == symptom.lesson]
    if near:
        yield "## What else the same lesson explains"
        yield "\n".join(f"* [{escaped(title(key))}]({key}.md)" for key in near)


def _cause_page(key: str) -> Iterator[str]:
    cause = CAUSES[key]
    yield f"# {escaped(title(key))}"
    yield f"**{'Not a fault' if cause.healthy else 'What it points to'}:** {escaped(cause.says)}."
    yield f"**{'What to do' if cause.healthy else 'What mends it'}:** {escaped(cause.fix)}."
    yield f"**Where to look next:** {escaped(cause.look)}."
    if codes := exit_codes().get(key):
        yield f"**Exit code:** {', '.join(map(str, codes))}."
    if more := list(_more(cause)):
        yield "\n".join(more)
    for example in examples()[key]:
        yield from _quoted(example)
    yield "[Paste a log of your own](../explain.md), or see [all symptoms](index.md)."


def _more(cause: Cause) -> Iterator[str]:
    for entry in outline():
        if entry.stem == cause.lesson:
            yield f"* Lesson: {_to_lesson(entry)}"
    if cause.instrument:
        yield f"* Instrument: {_to_instrument(cause.instrument)}"
    if cause.thread:
        yield f"* Reported in {cause.thread}"


def _quoted(example: Example) -> Iterator[str]:
    name = re.sub(r"-(\d+)\w*$", r"#\1", example.thread)
    yield f"## {escaped(KINDS.get(example.kind, 'As it is printed').format(thread=name))}"
    yield ANSWERS.format(text=example.text.rstrip("\n"), answer=example.answer)


def _to_lesson(entry: Entry) -> str:
    return f"[{entry.number} {escaped(entry.title)}](../lessons/{entry.stem}.ipynb)"


def _to_instrument(name: str) -> str:
    return f"[{escaped(name)}](../instruments/{name}.md)"
