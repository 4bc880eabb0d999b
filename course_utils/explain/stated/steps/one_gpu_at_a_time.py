"""Layers spread over several GPUs in one process, of which one computes at a time."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.log import Log

_SPREAD = re.compile(r"device_map['\"]?\s*[=:]\s*['\"](?:auto|balanced\w*|sequential)['\"]")
_STARTED_ALONE = re.compile(
    r"(?<![\w/])(?<!-m )python3? (?:-u )?(?!-m\b)[\w./-]+\.py\b|hf_device_map\b|\bone process\b",
    re.IGNORECASE,
)
_LAUNCHED = re.compile(
    r"\b(?:torchrun|accelerate launch|deepspeed (?!=)|mpirun|srun)\b|"
    r"torch\.distributed\.(?:run|launch)|--nproc[_-]per[_-]node|--num_processes\W+[2-9]",
    re.IGNORECASE,
)
_SEVERAL = re.compile(
    r"\b(?:[2-9]|1[0-6]|two|four|eight) ?(?:x ?)?(?:GPUs?|cards?|(?:A|H|B|V|L|T|RTX ?)\d+\w*s?)\b",
    re.IGNORECASE,
)
_NO_FASTER = re.compile(
    r"\b(?:no|not|n't|isn't|hardly|barely) (?:any |much |really )?"
    r"(?:faster|quicker|speed[- ]?up)\b|"
    r"\b(?:same|identical) (?:time|ETA|speed|throughput)\b|\bETA\b.{0,30}\b(?:n't|not|same)\b|"
    r"\bone (?:GPU|card)\b.{0,40}\b(?:busy|at a time|works|100 ?%)|\btake turns\b|"
    r"\b(?:slower|slow)\b(?! (?:tokenizer|start|down))",
    re.IGNORECASE,
)
SHOWN = 8.4


def layers_take_turns(beside: Beside, log: Log) -> Iterator[Finding]:
    """A device map over several GPUs, no launcher, and words that it is no faster."""
    spread, several = beside.matching(_SPREAD), beside.matching(_SEVERAL)
    alone, slow = beside.matching(_STARTED_ALONE), beside.matching(_NO_FASTER)
    if not (spread and several and alone and slow) or beside.matching(_LAUNCHED):
        return
    told = dict.fromkeys(line.says for line, _ in (spread, alone, several, slow))
    yield Finding("layers_take_turns", SHOWN, spread[0], tuple(told))
