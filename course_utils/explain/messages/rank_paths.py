"""Tracebacks of several processes that wait for each other: where each of them had got to."""

import re
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from itertools import takewhile

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import MAX_QUOTE

_FRAME = re.compile(r'^\W*rank ?(\d+)\]?:\s+File "(?:[^"]*/)?([^"/]+)", line (\d+), in (\S+)')
_HEAD = re.compile(r"^\W*rank ?(\d+)\]?:\s+Traceback \(most recent")
_SAVES = re.compile(r"\bsave\w*|checkpoint|state_dict|evaluat\w+|\bgenerate\b|merge", re.IGNORECASE)
_STEPS = re.compile(r"forward|backward|\bfit\b|training_step|train_batch|\bstep\b", re.IGNORECASE)
_DECIDES = re.compile(
    r"^\s*(?:el)?if\b.*(?:loss|score|metric|acc|reward|best|elapsed|time)\w*.*[<>].*:\s*$",
    re.IGNORECASE,
)
_BY_RANK = re.compile(r"(?=\[rank ?\d+\])")
_OF_A_RANK = re.compile(r"\[rank ?(\d+)\]:?\s*(.*)")
_NUMBER = re.compile(r"(?<![\w.])\d+\.\d+")
_RETURNS = re.compile(  # what leaves all processes but one out
    r"^\s*if\b.*(?:\bnot\b.*(?:is_world_process_zero|is_main_process|is_rank_zero|is_local_\w+)|"
    r"\brank\w*(?:\(\))?\s*(?:!=|>)\s*0|get_rank\(\)\s*(?:!=|>)\s*0)"
)
_ENTERS = re.compile(
    r"^\s*if\b(?!.*\bnot\b).*(?:is_world_process_zero|is_main_process|is_rank_zero|"
    r"\brank\w*(?:\(\))?\s*==\s*0|get_rank\(\)\s*==\s*0)"
)
_NEEDS_ALL = re.compile(
    r"\b(?P<call>(?:\w+\.)*(?:generate|evaluate|predict|forward))\((?!self\b)|"
    r"\b(?P<made>(?:self\.)?model)\(\*?\*?\w"
)
_MAKES_READY = re.compile(
    r"\.eval\(\)|\bno_grad\b|\binference_mode\b|^\s*for\b.*:\s*$|\btok\w*[.(]|return_tensors"
)
SPREAD = re.compile(
    r"\bzero[-_ ]?(?:stage[-_ ]?)?3\b|(?<![a-z])stage['\"]?\s*[:=]\s*3\b|\bds_z(?:ero)?3|"
    r"\bfsdp2?\b|\bfully_shard\b",
    re.IGNORECASE,
)
CODE_LINES = 10
ONE_RANK_ALONE = (
    "one process alone runs the model: {guard} lets only rank 0 come to {call}(...), and with the "
    "weights spread over all processes ({spread}) each layer is gathered from all of them. The "
    "others have gone on and wait in another collective, so none ends; no device, no network and "
    "no limit of a wait is at fault"
)
CALL_ON_ALL = (
    "let every process make that call (generate(..., synced_gpus=True)) and only print on rank 0; "
    "or gather the weights on all of them first, or do it later from a checkpoint"
)
MAX_RANKS, MAX_FRAMES = 64, 60
APART = (
    "the processes wait for each other in different code: rank {one} is in {mine}, rank {other} "
    "has gone on without it and is in {theirs}. Both need all processes, so neither ends; no "
    "device and no network is at fault"
)
ALONE = (
    ". Whether to do it hangs on a number that each process computes from its own part of the "
    "data, and they do not agree"
)
TOGETHER = (
    "let all processes come to the same decision before the `if`: average the number over them "
    "(all_reduce), or broadcast what rank 0 decides; then call it on every rank, or on none"
)


@dataclass
class RankPaths:
    """By rank the frames of its traceback, the outermost first, each with its line."""

    frames: dict[int, list[tuple[str, str, str]]] = field(default_factory=dict)

    def hear(self, where: str, text: str) -> None:
        if found := _FRAME.match(text):
            rank, file, number, name = found.groups()
            has_room = int(rank) in self.frames or len(self.frames) < MAX_RANKS
            held = self.frames.setdefault(int(rank), []) if has_room else []
            if len(held) < MAX_FRAMES:
                held.append((where, name, f"{file}:{number}"))

    def apart(self, waiting: Collection[int]) -> tuple[int, int] | None:
        """Of the ranks that wait, one that saves or evaluates, and one that trains on."""
        held = [rank for rank in self.frames if rank in waiting]
        busy = [rank for rank in held if self._place(rank, _SAVES)]
        trains = [r for r in held if r not in busy and self._place(r, _STEPS)]
        return (busy[0], trains[0]) if busy and trains else None

    def told(self, waiting: Collection[int]) -> tuple[str, str] | None:
        """That one rank took a way that another did not; None where no traceback shows it."""
        if (ranks := self.apart(waiting)) is None:
            return None
        one, other = ranks
        mine, theirs = self._place(one, _SAVES), self._place(other, _STEPS)
        why = APART.format(one=one, mine=mine[1], other=other, theirs=theirs[1])
        return why, TOGETHER

    def evidence(self, waiting: Collection[int]) -> tuple[str, ...]:
        if (ranks := self.apart(waiting)) is None:
            return ()
        pairs = zip(ranks, (_SAVES, _STEPS), strict=True)
        places = [(rank, *self._place(rank, pattern)) for rank, pattern in pairs]
        return tuple(
            f"{where}: rank {rank} is in {name} ({at})" for rank, where, name, at in places
        )

    def _place(self, rank: int, pattern: re.Pattern) -> tuple[str, str, str] | None:
        """The outermost frame of a rank whose function has such a name."""
        return next((one for one in self.frames[rank] if pattern.search(one[1])), None)


def decided_alone(one: Finding, beside: Beside) -> Finding:
    """The finding with the `if` before what is saved, and the numbers of two ranks."""
    if not one.why.startswith(APART.partition("{")[0]):
        return one
    ranks = re.findall(r"rank (\d+)", one.why)[:2]
    numbers = [_last_of(rank, beside) for rank in ranks]
    known = [number for number in numbers if number]
    values = {tuple(_NUMBER.findall(said)) for said in known}
    if len(known) < 2 or len(values) < 2:
        return one
    decides = beside.matching(_DECIDES)
    code = [f"{decides[0].where} says: {decides[1].strip()[:MAX_QUOTE]}"] if decides else []
    return replace(one, for_it=(*one.for_it, *code, *known), why=one.why + ALONE)


def model_on_one_rank(one: Finding, beside: Beside) -> Finding:
    """The finding with the code that runs a sharded model on rank 0 alone."""
    spread = beside.matching(SPREAD)
    if spread is None or one.why.startswith(APART.partition("{")[0]):
        return one
    lines = beside.words
    for number, line in enumerate(lines):
        leaves, enters = _RETURNS.search(line.text), _ENTERS.search(line.text)
        below = lines[number + 1 : number + 1 + CODE_LINES]
        if leaves and not (below and re.match(r"\s*return\b", below[0].text)):
            continue
        if not leaves and not enters:
            continue
        ready = len(list(takewhile(lambda one: _MAKES_READY.search(one.text), below)))
        within = below if leaves else below[: ready + 1]  # how far a line stands in is not known
        called = next(((at, m) for at in within if (m := _NEEDS_ALL.search(at.text))), None)
        if called is None:
            continue
        call = called[1]["call"] or called[1]["made"]
        guard = line.text.strip().rstrip(":")
        why = ONE_RANK_ALONE.format(guard=f"`{guard[:90]}`", call=call, spread=spread[1])
        told = (at.says for at in (line, called[0]))
        return replace(one, for_it=(*one.for_it, *told), why=why, advice=CALL_ON_ALL)
    return one


def _last_of(rank: str, beside: Beside) -> str:
    """The last line in which a rank prints a number of its own; "" if it has none."""
    for line in reversed(beside.words):
        if _HEAD.match(line.text) or _FRAME.match(line.text) or "NCCL" in line.text:
            continue
        for said in _BY_RANK.split(line.text):
            found = _OF_A_RANK.match(said)
            if found and found[1] == rank and _NUMBER.search(found[2]):
                return f"{line.where}: rank {rank} has {found[2].strip()[:MAX_QUOTE]}"
    return ""
