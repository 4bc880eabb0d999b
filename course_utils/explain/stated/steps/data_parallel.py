"""A Trainer that one process runs on several GPUs: DataParallel makes its batch so many times
larger."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line, plain_number
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.sentences import is_prose
from course_utils.explain.paste.usual_words import TOTAL_STEPS

_ADJUSTED = re.compile(
    r"Training with DataParallel so batch size has been adjusted to:?\s*(?P<n>[\d,]+)"
)
_EACH = re.compile(
    r"\bInstantaneous batch size per device\s*=\s*(?P<n>[\d,]+)|"
    r"\bper_device_train_batch_size['\"]?(?:\s*[=:]\s*|\s+)(?P<m>\d+)"
)
_WRAPPED = re.compile(
    r"\bnn\.DataParallel\(|^\W*DataParallel\(|\bParallelMode\.NOT_DISTRIBUTED\b|"
    r"\bNOT_DISTRIBUTED\b|<class '[\w.]*\bDataParallel'>|\bwrapp\w+\W.*\bDataParallel\b|"
    r"\bDataParallel(?: object| wrapper)?\b",
)
_GPUS = re.compile(
    r"\b_?n_?gpus?['\"]?\)?\s*(?:[=:]|->|\s)\s*(?P<n>\d+)\b|\bdevice_count\(\)\W{1,6}(?P<m>\d+)\b",
    re.IGNORECASE,
)
_SCALARS = re.compile(r"asked to gather along dimension 0, but all input tensors were scalars")
_LAUNCHED = re.compile(
    r"\btorchrun\b|\baccelerate launch\b|torch\.distributed\.(?:launch|run)\b|\bdeepspeed --|"
    r"ParallelMode\.DISTRIBUTED|\bDistributedDataParallel\("
)
_STEPS_TOLD = re.compile(
    r"(?<![\d.,])(\d[\d,]*) (?:\w+ )?(?:steps|updates|iterations|it)\b|"
    r"\b(?:steps|updates|iterations)\W{1,3}(\d[\d,]*)\b|\b\d+/(\d+) \[",
    re.IGNORECASE,
)
_COMPLAINT = re.compile(
    r"\b(?:slow\w*|worse|fewer|under-?fit\w*|higher loss|not (?:learn|faster|scal|help)\w*|"
    r"no (?:speed|faster)\w*|lower (?:acc|score|quality)\w*|too few|only \d+ (?:steps|updates))\b",
    re.IGNORECASE,
)
NEAR = 0.06  # of a number of steps
SURE = 7.2
ONE_PROCESS = (
    "the run was started as one process on several GPUs, so that Trainer wraps the model in "
    "nn.DataParallel: the batch is {times} times the one of a single GPU, an epoch has that many "
    "times fewer updates, and the rate stays as it was, so that the model learns less. It is slow "
    "as well: each step copies the model to all GPUs and gathers their results on GPU 0, whose "
    "memory and work limit the others"
)
LAUNCH = (
    "start it with torchrun --nproc_per_node=<GPUs> or accelerate launch (one process for each "
    "GPU), or show it one GPU (CUDA_VISIBLE_DEVICES=0); and keep the whole batch and its updates: "
    "a smaller per_device_train_batch_size, or a higher rate for the larger batch"
)


def one_process_for_all(beside: Beside, log: Log) -> Iterator[Finding]:
    """DataParallel makes the batch larger, and fewer steps or a complaint show that it matters."""
    if (wrapped := _wrapped(beside)) is None:
        return
    times, proof = wrapped
    fewer, planned = _fewer_steps(beside, times), beside.first(TOTAL_STEPS)
    complaint = _complaint(beside)
    if not fewer and complaint is None:
        return
    proof += fewer or ([f"{planned[0].where} says: {planned[1][0]}"] if planned else [])
    proof += [complaint.says] if complaint else []
    if warned := beside.matching(_SCALARS):
        proof.append(f"{warned[0].where} says: {warned[1]}")
    why = ONE_PROCESS.format(times=f"{times:g}" if times > 1 else "several")
    at = wrapped_at(beside)
    yield Finding(
        "one_process_for_all", SURE, at, tuple(dict.fromkeys(proof)), why=why, advice=LAUNCH
    )


def _wrapped(beside: Beside) -> tuple[float, list[str]] | None:
    """How many times larger the batch is, and what shows DataParallel."""
    if adjusted := beside.first(_ADJUSTED):
        each = beside.first(_EACH)
        size = plain_number(each[1]["n"] or each[1]["m"]) if each else 0
        whole = plain_number(adjusted[1]["n"])
        proof = [adjusted[0].says, *([each[0].says] if each else [])]
        return (whole / size, proof) if size and whole > size else None
    at, gpus = wrapped_at(beside), _gpus(beside)
    if at is None or beside.matching(_LAUNCHED) or gpus is None:
        return None
    return gpus[1], [at.says, gpus[0].says]


def wrapped_at(beside: Beside) -> Line | None:
    """The line that shows the wrapper."""
    if adjusted := beside.matching(_ADJUSTED):
        return adjusted[0]
    printed = (line for line, _ in beside.all_matching(_WRAPPED) if not is_prose(line.text))
    return next(printed, None)


def _gpus(beside: Beside) -> tuple[Line, float] | None:
    for line in beside.words:
        if (found := _GPUS.search(line.text)) and int(found["n"] or found["m"]) > 1:
            return line, float(found["n"] or found["m"])
    return None


def _fewer_steps(beside: Beside, times: float) -> list[str]:
    """The steps of this run beside those of one on a single GPU, which are so many times more."""
    told = [(line, m) for line in beside.words for m in _STEPS_TOLD.finditer(line.text)]
    numbers = [(line, plain_number(next(filter(None, m.groups())))) for line, m in told]
    planned = beside.first(TOTAL_STEPS)
    own = [(planned[0], plain_number(planned[1][1]))] if planned else numbers
    for line, steps in own:
        for other, more in numbers:
            if steps > times and times > 1 and abs(more / steps / times - 1) < NEAR:
                return [
                    f"{line.where}: {steps:g} steps; {other.where} tells of {more:g}, "
                    f"{more / steps:.2g} times as many"
                ]
    return []


def _complaint(beside: Beside) -> Line | None:
    told = (line for line in beside.words if _COMPLAINT.search(line.text))
    return next((line for line in told if is_prose(line.text)), None)
