"""Processes that each read all rows: nothing gives each of them its own part."""

import re
from collections import defaultdict
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import MAX_QUOTE, Entry, Line
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.sentences import is_prose

_LOADER = re.compile(r"^\W*(?P<name>[\w.]+)(?:\s*:\s*\w+)?\s*=\s*(?:\w+\.)*DataLoader\(")
_HELD = re.compile(r"eval|val|test|dev|held", re.IGNORECASE)
_SEVERAL = re.compile(
    r"(?<![\w.])DDP\(|\bDistributedDataParallel\(|\binit_process_group\(|\bfully_shard\(|"
    r"(?<![\w.])FSDP\(|\bFullyShardedDataParallel\(|\bdeepspeed\.initialize\("
)
_SPLIT = re.compile(
    r"sampler\s*=|\w*Sampler\(|\.prepare\(|\bprepare_data_?loader|\bsplit_dataset_by_node|\.shard\(|"
    r"\bnum_shards\b|\bsetup_dataloaders|\btraining_data\s*=|\bdispatch_batches|\bshard_id|"
    r"\brank\s*::|%\s*(?:\w+\.)*(?:world|num_replicas|get_world)|\bislice\(|\bLightning\w*|"
    r"\bpl\.Trainer|\b(?!set_|\w*Parallel)\w*(?:data|jsonl|stream)\w*\([^)]*\b(?:rank|world\w*)\b",
    re.IGNORECASE,
)
OTHER_PARALLEL = re.compile(
    r"\b(?:tensor|pipeline|sequence|context|expert)[-_ ]?parallel|\b(?:tp|pp|cp|sp|ep)_size\b|"
    r"\bDTensor\b|\bparallelize_module\b|\bulysses\b",
    re.IGNORECASE,
)
_SEED = re.compile(
    r"\b(?:manual_seed(?:_all)?|set_seed|seed_everything|\w*\.?seed)\((?P<what>.*?)\)"
)
_RANK = re.compile(r"(?:\brank\b|\blocal_rank\b)['\"]?\s*[:= ]\s*(\d+)", re.IGNORECASE)
_TOKENS = re.compile(r"\b(?:n_?tok\w*|num_tokens|tokens|n_?rows)['\"]?\s*[:= ]\s*(\d+)")
_STEPS = re.compile(
    r"\b(?:steps|batches|iterations)\s*(?:/|per|an|in an)\s*epoch\W{1,3}(\d+)", re.I
)
FEW_RANKS, FEW_STEPS, DIGITS = 2, 2, 4
SAME = (
    "all processes train on the same rows: the DataLoader has nothing that splits the rows among "
    "them, and each shuffles alike, so that the mean of their gradients is that of one; an epoch "
    "has as many steps as with one process, and the batch is no larger"
)
OWN_ORDER = (
    "each process goes through all rows, in an order of its own: the DataLoader has nothing that "
    "splits the rows among them, so that an epoch is as many passes over the data as there are "
    "processes"
)
SPLIT_THEM = (
    "sampler=DistributedSampler(rows, shuffle=True) in place of shuffle=True, with "
    "sampler.set_epoch(epoch) in each epoch, or accelerator.prepare(loader); the epoch then has "
    "that many times fewer steps, of a batch that many times larger: look at rate and warm-up "
    "again. The network between the cards is not to blame"
)


def each_reads_all(beside: Beside, log: Log) -> Iterator[Finding]:
    """A DataLoader of several processes without a sampler, or ranks with one loss and one batch."""
    lines = beside.words
    if any(one.search(line.text) for line in lines for one in (_SPLIT, OTHER_PARALLEL)):
        return
    several, loader = beside.matching(_SEVERAL), _loader(lines)
    alike = _alike(log)
    if several is None or loader is None:
        if alike and alike[2]:
            yield Finding(
                "ranks_read_the_same", 8.0, alike[0], (alike[1],), why=SAME, advice=SPLIT_THEM
            )
        return
    if alike is None and _has_ranks(log):
        return  # their losses differ
    seed = next((m for line in lines if (m := _SEED.search(line.text))), None)
    is_own = seed is not None and "rank" in seed["what"] and not alike
    made = loader.text.strip().rstrip(",")[:MAX_QUOTE]
    proof = [
        several[0].says,
        f"{loader.where} says: {made}, and nothing of a sampler",
        *([f"each process has one seed: {seed[0]}"] if seed and not is_own else []),
        *([alike[1]] if alike else []),
        *_as_many_steps(lines),
    ]
    weight = 9.2 if alike else 7.5 if seed and not is_own else 6.4
    why = OWN_ORDER if is_own else SAME if alike or seed else OWN_ORDER
    yield Finding("ranks_read_the_same", weight, loader, tuple(proof), why=why, advice=SPLIT_THEM)


def _loader(lines: list[Line]) -> Line | None:
    """The line that makes the loader of the training rows."""
    found = ((line, m) for line in lines if (m := _LOADER.search(line.text)))
    made = (line for line, m in found if not is_prose(line.text) and not _HELD.search(m["name"]))
    return next(made, None)


def _has_ranks(log: Log) -> bool:
    return len({found[1] for e in log.entries if (found := _RANK.search(e.text))}) >= FEW_RANKS


def _alike(log: Log) -> tuple[Entry, str, bool] | None:
    """That all ranks have one loss in every step, to many digits, and whether also one number of
    tokens."""
    steps: dict[float, list[tuple[str, Entry]]] = defaultdict(list)
    for entry in log.entries:
        if (found := _RANK.search(entry.text)) and {"step", "loss"} <= entry.numbers.keys():
            steps[entry.numbers["step"]].append((found[1], entry))
    full = {step: rows for step, rows in steps.items() if len({r for r, _ in rows}) >= FEW_RANKS}
    if len(full) < FEW_STEPS:
        return None
    for rows in full.values():
        if len({entry.numbers["loss"] for _, entry in rows}) > 1:
            return None
    first = next(iter(full.values()))
    entry, ranks = first[0][1], sorted({rank for rank, _ in first})
    if len(f"{entry.numbers['loss']:g}".partition(".")[2]) < DIGITS:
        return None
    tokens = [
        {found[1] for _, one in rows if (found := _TOKENS.search(one.text))}
        for rows in full.values()
    ]
    has_tokens = all(len(one) == 1 for one in tokens)
    said = f"ranks {', '.join(ranks)} have one loss in each of {len(full)} steps"
    said += " and as many tokens" if has_tokens else ""
    return entry, f"{said}: {entry.numbers['loss']:g} at {entry.where}", has_tokens


def _as_many_steps(lines: list[Line]) -> list[str]:
    """The steps of an epoch, which several runs have alike."""
    told = [(line, found[1]) for line in lines if (found := _STEPS.search(line.text))]
    if len(told) < 2 or len({steps for _, steps in told}) > 1:
        return []
    where = " and ".join(line.where for line, _ in told[:2])
    return [f"{told[0][1]} steps an epoch at {where}: with one process as with several"]
