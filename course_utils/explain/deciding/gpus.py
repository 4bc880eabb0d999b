"""Two ranks on one GPU: which programs they are, and which GPUs each of them was given."""

import re
from dataclasses import replace

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.log import Log

_SERVES = re.compile(
    r"\btrl vllm-serve\b.*|\bswift rollout\b.*|\bvllm_serve\.py\b.*|\bvllm serve\b.*|"
    r"\bvllm\.entrypoints\S*.*|\bsglang\.launch_server\b.*|\bsglang serve\b.*"
)
_TRAINS = re.compile(
    r"\b(?:accelerate launch|torchrun|deepspeed|swift rlhf|python3? \S*(?:train|grpo)\S*)\b.*|"
    r"\bNPROC_PER_NODE\W+\d+.*"
)
_GIVEN = re.compile(r"CUDA_VISIBLE_DEVICES\W{1,3}(?P<ids>\d+(?:\s*,\s*\d+)*)")
_TO_SERVER = re.compile(
    r"vllm_client|init_communicator|vllm_server|update_weights|weight[-_ ]sync", re.I
)
WITH_SERVER = (
    "the server that samples and the trainer are on the same GPUs{given}: for the sync of the "
    "weights both join one communicator, and NCCL takes one rank a GPU, so that it cannot be made. "
    "The network and NCCL's version are not at fault"
)
NONE_GIVEN = " (no CUDA_VISIBLE_DEVICES is set for {}, so that each program takes them from 0 on)"
BOTH = " (both are given GPU {})"
APART = (
    "set CUDA_VISIBLE_DEVICES for each program, two sets that share none (such as 0,1 for the "
    "server and 2,3 for the training, with as many processes as GPUs); or colocate mode "
    "(vllm_mode=colocate), which needs no server"
)


def shared_with_a_server(one: Finding, beside: Beside, log: Log) -> Finding:
    """A server beside a trainer, with what each was given."""
    serves, trains = beside.first(_SERVES), beside.first(_TRAINS)
    if serves is None and not beside.matching(_TO_SERVER):
        return one
    commands = [found for found in (serves, trains) if found]
    proof = (*one.for_it, *(line.says for line, _ in commands))
    why = WITH_SERVER.format(given=_given(beside, [line.text for line, _ in commands]))
    return replace(one, for_it=proof, why=why, advice=APART)


def _given(beside: Beside, commands: list[str]) -> str:
    """Which GPUs both were given, or who was given none."""
    sets = [set(re.findall(r"\d+", m["ids"])) for m in map(_GIVEN.search, _lines(beside)) if m]
    if len(sets) >= 2:
        shared = sorted(set.intersection(*sets), key=int)
        return BOTH.format(" and ".join(shared)) if shared else ""
    bare = [text for text in commands if not _GIVEN.search(text)]
    if sets or len(commands) < 2:
        return NONE_GIVEN.format("one of them") if bare else ""
    return NONE_GIVEN.format("either")


def _lines(beside: Beside) -> list[str]:
    return [line.text for line in beside.words]
