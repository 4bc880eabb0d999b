"""A loop around a sharded model that each process leaves by itself: the others wait for it."""

import re
from dataclasses import replace

from course_utils.explain.finding import Finding
from course_utils.explain.messages.rank_paths import SPREAD
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line, place

_LOOP = re.compile(r"^\s*(?:for\b.+\bin\b|while\b).*:\s*(?:#.*)?$")
_FORWARD = re.compile(
    r"\b(?:\w*engine|\w*model|policy|actor|net|student|teacher|llm|lm)(?:\.module|\.forward)*"
    r"\((?:\*\*|input_ids|\w*ids\b|cur\b|batch\b|inputs\b|x\b|tokens?\b)"
)
_LEAVES = re.compile(
    r"^\s*if\b(?P<of>.*(?:\ball\(|\bany\(|\bdone\b|\bfinish\w*|\beos\w*|\bactive\b).*):"
    r"\s*(?P<now>break\b)?"
)
_BREAK = re.compile(r"^\s*break\b")
_TOGETHER = re.compile(
    r"\ball_reduce\(|\bsynced_gpus\b|\bGatheredParameters\b|\bsummon_full_params\b|"
    r"\ball_gather\(\s*\w*done|\bunwrap_model_for_generation\b"
)
_COUNTED = re.compile(
    r"^\W*rank ?(?P<rank>\d+)\W.*?(?P<n>\d+) (?:\w+ )?(?:steps|tokens|iterations|batches)\b", re.I
)
AROUND = 14  # lines of a loop
LEFT_ALONE = (
    "the processes leave a loop at different turns: `{leaves}` ends it on each process by its own "
    "rows, and with the weights spread over all processes ({spread}) each forward pass in it "
    "gathers them from all. Who is done earlier goes on to the next collective, and the others "
    "wait in the gathering of a layer for ever; no device and no network is at fault"
)
LEAVE_TOGETHER = (
    "leave the loop together: all_reduce the flag and break only when every process is done (the "
    "one that is done runs dummy passes until then), as generate(..., synced_gpus=True) does; or "
    "gather the weights once for the whole loop, or generate with an engine of its own"
)


def loop_left_alone(one: Finding, beside: Beside) -> Finding:
    """The finding with the loop that each process leaves by its own rows."""
    spread = beside.matching(SPREAD)
    if spread is None or beside.matching(_TOGETHER):
        return one
    lines = beside.words
    code = _loop(lines)
    if code is None:
        return one
    forward, leaves = code
    said = _LEAVES.match(leaves.text)[0].strip().rstrip(":")
    why = LEFT_ALONE.format(leaves=said.removesuffix("break").strip().rstrip(":"), spread=spread[1])
    told = (at.says for at in (forward, leaves))
    return replace(one, for_it=(*one.for_it, *told, *_turns(lines)), why=why, advice=LEAVE_TOGETHER)


def _loop(lines: list[Line]) -> tuple[Line, Line] | None:
    """The forward pass in a loop, and what leaves it."""
    for number, line in enumerate(lines):
        if not _LOOP.match(line.text):
            continue
        within = lines[number + 1 : number + 1 + AROUND]
        forward = next((one for one in within if _FORWARD.search(one.text)), None)
        for at, one in enumerate(within):
            found = _LEAVES.match(one.text)
            below = within[at + 1].text if at + 1 < len(within) else ""
            if forward and found and (found["now"] or _BREAK.match(below)):
                return forward, one
    return None


def _turns(lines: list[Line]) -> list[str]:
    """The last count that each process prints, where it is another one for the last."""
    last = {m["rank"]: (line, m["n"]) for line in lines if (m := _COUNTED.match(line.text))}
    if not last:
        return []
    order = sorted(last.values(), key=lambda pair: place(pair[0]))
    (line, number), before = order[-1], [line for line, _ in order[:-1]]
    if len(before) > 1 and number not in {n for _, n in order[:-1]}:
        return [f"{line.says}; no other rank has printed that since {before[-1].where}"]
    return []
