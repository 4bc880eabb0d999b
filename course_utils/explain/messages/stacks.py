"""Dumps of stacks (py-spy) of several ranks: where each of them stands."""

import re
from dataclasses import dataclass, field

_HEAD = re.compile(r"\bpy-spy\b.*?\brank[ =:]*(\d+)|^\W*(?:stack of )?rank[ =:]*(\d+)\W*$", re.I)
_FRAME = re.compile(r"^\s*([\w.<>]+) \(([^()\s]+:\d+)\)\s*$")
_THREAD = re.compile(r"^\s*Thread \S+")
_TO_ENGINE = re.compile(r"broadcast|send_weights|update_weights|update_named_param", re.IGNORECASE)
_ENGINE = re.compile(r"vllm|sglang|engine|weight_(?:transfer|sync)", re.IGNORECASE)
_GATHERS = re.compile(
    r"full_tensor|redistribute|all_gather|wait_tensor|summon_full_params|gather", re.IGNORECASE
)
MAX_RANKS, MAX_FRAMES, MAX_SHOWN = 64, 40, 4
IN_BROADCAST = (
    "rank {rank} stands in the broadcast of weights to the engine, and the other ranks wait in "
    "gathers that it does not come to: the two wait for each other, as where weights are gathered "
    "one by one while they are sent",
    "gather each weight on all ranks first (full_tensor), or finish each gather before the next "
    "weight is sent, and let one rank send only then; a newer version of the trainer, or one "
    "trainer rank, until then; a longer timeout does not help",
)


@dataclass
class Stacks:
    """By rank the frames of its main thread, the innermost first, each with its line."""

    frames: dict[int, list[tuple[str, str, str]]] = field(default_factory=dict)
    _rank: int | None = None
    _threads: int = 0

    def hear(self, where: str, text: str) -> None:
        """Take a line: the head of a dump, a thread of it, or a frame."""
        if head := _HEAD.search(text):
            self._rank, self._threads = int(head[1] or head[2]), 0
        elif _THREAD.match(text):
            self._threads += 1
        elif self._rank is not None and self._threads < 2 and (frame := _FRAME.match(text)):
            held = self.frames.setdefault(self._rank, []) if self._has_room() else []
            if len(held) < MAX_FRAMES:
                held.append((where, frame[1], frame[2]))

    def _has_room(self) -> bool:
        return self._rank in self.frames or len(self.frames) < MAX_RANKS

    def evidence(self) -> tuple[str, ...]:
        """The innermost frame of each rank, with its line."""
        shown = sorted(self.frames.items())[:MAX_SHOWN]
        return tuple(
            f"{where}: rank {rank} stands in {name} ({place})"
            for rank, ((where, name, place), *_) in shown
        )

    def told(self) -> tuple[str, str] | None:
        """One rank that sends weights to an engine while another is in a gather."""
        sends = [rank for rank, frames in self.frames.items() if _sends(frames)]
        gathers = [rank for rank, frames in self.frames.items() if _is_in(frames, _GATHERS)]
        if len(sends) != 1 or not set(gathers) - set(sends):
            return None
        why, advice = IN_BROADCAST
        return why.format(rank=sends[0]), advice


def _sends(frames: list[tuple[str, str, str]]) -> bool:
    return _is_in(frames, _TO_ENGINE) and any(_ENGINE.search(place) for _, _, place in frames)


def _is_in(frames: list[tuple[str, str, str]], pattern: re.Pattern) -> bool:
    """Whether the innermost frame, or the one that called it, has such a name."""
    return any(pattern.search(name) for _, name, _ in frames[:2])
