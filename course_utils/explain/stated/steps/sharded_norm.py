"""A norm that each process of FSDP takes of its own shards, and clips by."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.log import Log

_WRAPPED = re.compile(r"=\s*(?:FSDP|FullyShardedDataParallel)\(")
_NEWER = re.compile(r"\bfully_shard\(|\bDTensor\b|\bNO_SHARD\b(?!\s*:)")
_CLIPS = re.compile(
    r"(?:^|=\s*|\breturn )(?:(?:torch\.)?nn\.utils\.|utils\.)?clip_grad_norm_\(|"
    r"\b(?:torch\.)?nn\.utils\.clip_grad_norm_\("
)
_OF_THE_MODEL = re.compile(
    r"(?:model|module|fsdp\w*|accelerator|acc|fabric|self)\.clip_grad_norm_\(|"
    r"all_reduce\(.*norm|norm\w*.*\ball_reduce\("
)
_APART = re.compile(
    r"\b(?:gnorms?|g_norms?|norms?)\b[^.?]{0,25}\b(?:differ\w*|not the same|unequal|other)\b"
    r"[^.?]{0,25}\b(?:ranks?|GPUs?|process\w*)\b|\b(?:each|every) (?:rank|GPU|process)\b"
    r"[^.?]{0,25}\b(?:own|other|different|another)\b[^.?]{0,12}norm",
    re.IGNORECASE,
)
_SAME = re.compile(
    r"\bnorms?\b[^.?]{0,20}\b(?:same|equal|identical)\b[^.?]{0,15}\b(?:ranks?|GPUs?|process\w*)\b",
    re.IGNORECASE,
)
SHOWN, SAID = 9.0, 7.6
OWN_SHARDS = (
    "each process clips by the norm of its own shards: torch's clip_grad_norm_ sees under FSDP "
    "only the part of the gradient that lies on its rank, so that the limit does not hold for the "
    "whole (it can be up to the root of the number of ranks larger) and parts of one gradient are "
    "scaled by different factors, which turns it, most where the gradient is large"
)
OF_ALL_SHARDS = (
    "model.clip_grad_norm_(max_norm) of the FSDP module, which sums the squared norms over the "
    "ranks (or accelerator.clip_grad_norm_); the norm is then the same on all ranks"
)


def clipped_by_shard(beside: Beside, log: Log) -> Iterator[Finding]:
    """FSDP beside torch's own clipping, and what is said of norms that differ."""
    wrapped, clips = beside.matching(_WRAPPED), beside.matching(_CLIPS)
    if wrapped is None or clips is None or beside.matching(_OF_THE_MODEL):
        return
    if beside.matching(_NEWER) or beside.matching(_SAME):
        return
    apart = next(((line, one) for line in beside.told() if (one := _APART.search(line.text))), None)
    proof = [line.says for line, _ in (wrapped, clips)]
    proof += [f"{apart[0].where} says: {apart[1][0]}"] if apart else []
    of = ("clipped_by_shard", SHOWN if apart else SAID, clips[0], tuple(proof))
    yield Finding(*of, why=OWN_SHARDS, advice=OF_ALL_SHARDS)
