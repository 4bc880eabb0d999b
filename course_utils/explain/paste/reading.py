"""Reads log lines as entries: which field had which number on which line.

Reads what trainers print and save: Python dicts and JSON lines (Transformers, TRL, ms-swift,
LLaMA-Factory), `key:value - key:value` (verl), `key: value  key: value` (torchtune), cells between
bars (Megatron, nanotron), `key=value` at the end of a progress bar (OpenRLHF), tables (notebooks,
unsloth), boxes, CSV, the summary of W&B, printed tensors. Holds one line at a time.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from course_utils.explain.paste.boxes import Boxes
from course_utils.explain.paste.by_column import ByColumn
from course_utils.explain.paste.document import flat_pairs
from course_utils.explain.paste.entries import MAX_QUOTE, Entry, Line, entries_of_row
from course_utils.explain.paste.fields import canonical
from course_utils.explain.paste.lines import is_cut, parts
from course_utils.explain.paste.pairs import pairs as pairs_of_a_line
from course_utils.explain.paste.ranks import Ranks, speaker
from course_utils.explain.paste.tables import GAP, NUMBER, Table
from course_utils.explain.paste.unnamed import Unnamed

_WRAPPED = rf"(?:[\w.]+\()?['\"]?(?P<value>{NUMBER}(?:/\d+)?)['\"]?(?:, [\w.]+=[\w.:'\"]+)*\)?"
QUOTED = re.compile(rf"['\"](?P<name>[^'\"{{}}]{{1,80}})['\"]\s*:\s*{_WRAPPED}(?=\s*[,}}\]]|\s*$)")
_AFTER = r"(?:\s*\([^()]*\))?\**(?=\s+-(?:\s|$)|\s*$|\s{2,}|\s+[\w@./-]+:|\s*[|,])"
_BARE = r"(?<=iteration)|(?<=loss)|(?<=lr)|(?<=[Ss]tep)"  # names that may stand without a colon
PIPED = re.compile(
    rf"(?:^|[|\u2022])[^|\u2022]*?\b(?P<name>[A-Za-z][\w ./()-]*?)\s*(?::|{_BARE})\s+"
    rf"(?P<value>{NUMBER})(?:\s*/\s*\d+)?\s*(?=[|\u2022]|$)"
)
BARRED = re.compile(  # `loss 2.1 | gnorm 0.4`: no sign between name and number
    rf"(?:^|\|)\s*(?P<name>[A-Za-z][\w./()-]*)\s+(?P<value>{NUMBER})(?:\s*/\s*\d+)?\s*(?=\||$)"
)
DASHED = re.compile(rf"(?:^|[\s*|])(?P<name>[\w@./-]+):\s*(?P<value>{NUMBER}){_AFTER}")
BOXED = re.compile(rf"\|\s*(?P<name>[\w/ ]+?)\s*\|\s*(?P<value>{NUMBER})\s*\|")
EQUALS = re.compile(rf"(?<![\w/])(?P<name>[A-Za-z_][\w/]*)\s*=\s*\[?(?P<value>{NUMBER})(?![\w/.])")
ALONE = re.compile(rf"^\s*(?:wandb:\s+)?(?P<name>[\w./-]+)\s+(?P<value>{NUMBER})\s*$")
BULLET = re.compile(
    rf"^\s*[\u2022*-]\s*(?P<name>[A-Za-z][\w ./-]{{1,40}}):\s*(?P<value>{NUMBER})\s*$"
)
TENSOR = re.compile(rf"^\s*(?P<name>tensor)\((?P<value>{NUMBER})(?:, [\w.]+=[\w.:<>'\"]+)*\)\s*$")
PLAIN = re.compile(
    r"(?<![\w/])(?P<name>(?:(?:train(?:ing)?|eval|val(?:idation)?|minibatch) )?loss|grad[_ ]?norm|"
    r"loss (?:train|val|eval|test)|"
    r"step|iter|epoch|lr|learning[_ ]rate|acc|"
    r"(?:chosen|reject(?:ed)?)_rewards?|(?:pi|ref)\((?:chosen|rejected)\)|"
    r"(?:avg |mean )?(?:reward|kl|entropy|grad norm))\s*[:=]?\s+"
    rf"(?P<value>{NUMBER})(?![\w/.%])",
    re.IGNORECASE,
)
AHEAD = re.compile(r"^\s*(?P<name>step)\s+(?P<value>\d+)(?:\s*/\s*\d+)?\s*\|", re.IGNORECASE)
COUNTED = re.compile(  # the step of a line whose numbers stand in another form
    r"(?<![\w/.])(?P<name>(?:global[_ ])?steps?|iter(?:ation)?s?(?:\(train\))?)\s*[:=#]?\s*\[?\s*"
    r"(?P<value>\d+)(?:\s*/\s*\d+)?(?![\w.%])",
    re.IGNORECASE,
)
WRAPPED = re.compile(rf"\b(?:np|numpy|jnp)\.\w+\(({NUMBER})\)")
BRACKETED = re.compile(r"^\s*\[(step\s+\d+(?:/\d+)?)\](?=\s+[\w/]+\s+\S+\s*\|)", re.IGNORECASE)
BEFORE_A_DICT = re.compile(
    r"(?:^|\s)(?P<name>(?:global[ _])?step)\W{1,2}(?P<value>\d+)\s*:\s*$", re.I
)
COMMAND = re.compile(r"\s\\$|^\s*(?:--[\w-]+|\+*\w+(?:\.\w+){2,}=\S)")  # its settings
JUDGED = re.compile(  # `== val: loss 0.5 acc 0.9`
    r"^\W*(?:val|valid|validation|eval|evaluation|test|dev)\b\s*[:|\]>-]", re.IGNORECASE
)
TUNED = re.compile(r"^\s*(?P<epoch>\d+)\|(?P<step>\d+)\|")  # of torchtune
FORMS = (  # and a sign without which a line is not of that form
    (BOXED, "|"),
    (PIPED, "|"),
    (PIPED, "\u2022"),
    (BARRED, "|"),
    (DASHED, ":"),
    (EQUALS, "="),
    (BULLET, ":"),
    (ALONE, ""),
    (TENSOR, "tensor("),
    (PLAIN, ""),
)
BLOCKS = (BOXED, BULLET, ALONE)  # one number to a line: the others follow
ASSIGNED = re.compile(  # a line of code
    r"(?:\s*\w+ = (?:0|0\.0|1)|\s{8,}\w+ = -?\d+(?:\.\d+)?)\s*(?:#.*)?$"
)
PROSE = re.compile(
    r"\b(the|is|was|but|and|my|it|i|you|that|this|then|with|not|to|from|after|about|we|a|has)\b",
    re.IGNORECASE,
)
BRACES = re.compile(r"\{[^{}]*\}")
DECIMAL_COMMA = re.compile(
    r"([:=]\s*[-+]?\d+),(\d+(?:[eE][-+]?\d+)?)(?=\s*$|\s*[|;]|\s+\S*[A-Za-z-])"
)
UNIT = re.compile(r"(?<=\d) ?(?:tokens?/s(?:ec|ample)?|samples/s|m?s)(?=\s*(?:\||$))")
HEADER = re.compile(r"\s*Epoch:? +(\d+)(?: ?/ ?\d+)?\s*(?:\||$)")  # its numbers follow below
STEP_HEADER = re.compile(r"\s*={3,} *(Step) +(\d+)/(\d+) *={3,}\s*$")  # NeMo RL's
OF_A_STEP = {"loss", "policy_loss", "reward"}  # a norm alone may be of a part of the model
MAX_OF_A_BLOCK, ENOUGH, AHEAD_OF_ALL = 12, 4, 60


def read(lines: Iterable[str]) -> Iterator[Entry | Line]:
    """Every entry and every other line, in order; nothing is kept but a table's header."""
    return _blocks(_read(lines))


def _read(lines: Iterable[str]) -> Iterator[Entry | Line]:
    table, boxes, ranks, of_epoch = Table(canonical), Boxes(canonical), Ranks(), None
    unnamed, by_column = Unnamed(), ByColumn(canonical)
    for joined in parts(lines):
        where, text = f"line {joined[0][0]}", "".join(text for _, text in joined)
        text = BRACKETED.sub(r" \1|", text)
        if boxes.feed(where, text):
            continue
        yield from _closed(boxes)
        if boxes.feed(where, text):  # the first row of another box
            continue
        if by_column.feed(where, text):
            yield Line(where, text.strip())
            continue
        yield from _of_steps(by_column)
        row = table.feed(text)
        if row == []:
            if not GAP.fullmatch(text.strip()):
                yield Line(where, text.strip())
            continue
        if step := STEP_HEADER.match(text):
            pairs = [(step[1], f"{step[2]}/{step[3]}")]
            yield from entries_of_row(where, text, pairs, needs_metric=False)
            continue
        found = list(entries_of_row(where, text, row or ()))
        found = found or ([] if COMMAND.search(text) else list(_entries(where, text)))
        who = speaker(text)
        if epoch := HEADER.match(text):
            of_epoch = Entry(where, text, {"epoch": float(epoch[1])}, {"epoch": "Epoch"})
        elif of_epoch:
            found = [of_epoch.beneath(one) for one in found]
        found = unnamed.without_others(found, text)
        yield from (one for one in found if ranks.hears(one, who, text))
        if not found:
            said = joined
        else:  # a message may stand beside the numbers
            is_long = "{" in text or len(text) > MAX_QUOTE
            said = [(joined[0][0], BRACES.sub(" ", text))] if is_long else []
        yield from (Line(f"line {n}", one.strip()) for n, one in said if one.strip())
    yield from _closed(boxes)
    yield from _of_steps(by_column)


def _of_steps(by_column: ByColumn) -> Iterator[Entry]:
    """The entries of a table that has a column for each step."""
    for where, text, pairs in by_column.close():
        yield from entries_of_row(where, text, pairs)


def _closed(boxes: Boxes) -> Iterator[Entry]:
    """The entry of a box that has come to its end."""
    if box := boxes.close():
        yield from entries_of_row(*box)


def _blocks(found: Iterable[Entry | Line]) -> Iterator[Entry | Line]:
    """Put together what stands in a block of lines, a few numbers to a line."""
    held: Entry | None = None
    for one in found:
        if held and isinstance(one, Line) and STEP_HEADER.match(held.text):
            yield one  # what the step does, before its numbers
            continue
        is_small = isinstance(one, Entry) and len(one.numbers) <= MAX_OF_A_BLOCK and _is_bare(one)
        if held and is_small and not one.numbers.keys() & held.numbers.keys():
            held = held.with_more(one)
            continue
        if held and is_small and held.names.get("loss") == "train/loss" and _is_train_loss(one):
            one = replace(one, sums_up=True)  # the Trainer's own, below the last loss of the run
        if held and held.has_metric:
            yield held
        held = None
        if is_small:
            held = one
        else:
            yield one
    if held and held.has_metric:
        yield held


def _is_train_loss(entry: Entry) -> bool:
    return entry.names == {"loss": "train_loss"}


def _is_bare(entry: Entry) -> bool:
    """Whether the numbers stand in no dict, so that more of them may follow below."""
    return "{" not in entry.text


def _entries(where: str, text: str) -> Iterator[Entry]:
    """The entries of one line; a progress bar may have left several on it."""
    if nested := flat_pairs(text):
        yield from entries_of_row(where, text, nested)
        return
    groups = [group for group in BRACES.findall(text) if QUOTED.search(group)] or [text]
    is_quoted = False
    for group in groups:
        matches = list(QUOTED.finditer(group))
        is_quoted = is_quoted or bool(matches)
        if is_cut(group):
            matches = [m for m in matches if m.end() < len(group.rstrip())]
        pairs = [(m["name"], m["value"]) for m in matches]
        if (
            is_quoted
            and len(groups) == 1
            and (ahead := BEFORE_A_DICT.search(text.partition(group)[0]))
        ):
            pairs.append((ahead["name"].replace(" ", "_"), ahead["value"]))
        yield from entries_of_row(where, group, pairs)
    if not is_quoted and len({word.lower() for word in PROSE.findall(text)}) < 2:
        yield from _best_form(
            where, UNIT.sub("", DECIMAL_COMMA.sub(r"\1.\2", WRAPPED.sub(r"\1", text)))
        )


def _best_form(where: str, text: str) -> list[Entry]:
    """The entry of the form in which most fields of a line are known."""
    best: list[Entry] = []
    if ASSIGNED.match(text):
        return best
    for form, sign in FORMS:
        if sign not in text:
            continue
        pairs = [(m["name"], m["value"]) for m in form.finditer(text)]
        if form is PLAIN and [name.lower() for name, _ in pairs].count("step") > 1:
            continue  # a sentence about two steps
        found = list(entries_of_row(where, text, pairs, needs_metric=form not in BLOCKS))
        if found and (not best or len(found[0].numbers) > len(best[0].numbers)):
            best = found
        if best and len(best[0].numbers) >= ENOUGH:
            break
    found = list(entries_of_row(where, text, pairs_of_a_line(text, canonical)))
    if found and (not best or len(found[0].numbers) > len(best[0].numbers)):
        best = found
    step = AHEAD.match(text)
    if best and not step and best[0].numbers.keys() & OF_A_STEP:
        step = COUNTED.search(text, 0, AHEAD_OF_ALL)
    if best and step and "step" not in best[0].numbers:
        ahead = Entry(where, text, {"step": float(step["value"])}, {"step": step["name"]})
        best[0] = ahead.beneath(best[0])
    if best and JUDGED.match(text):
        best = [_of_an_evaluation(one) for one in best]
    if best and (counted := TUNED.match(text)):
        names = counted.groupdict()
        ahead = Entry(where, text, {n: float(v) for n, v in names.items()}, {n: n for n in names})
        best[0] = ahead.beneath(best[0])
    return best


def _of_an_evaluation(entry: Entry) -> Entry:
    """The entry under the names of an evaluation, where there are such."""
    judged = {name: canonical(f"eval_{entry.names[name]}") or name for name in entry.numbers}
    numbers = {judged[name]: value for name, value in entry.numbers.items()}
    names = {judged[name]: written for name, written in entry.names.items()}
    return replace(entry, numbers=numbers, names=names)
