"""Hand-written loops on two processes, one after the other: what each rank saw.

Each process calls `main`. A scenario writes into a folder of its name; the second rank goes bad.
"""

import json
import time
from contextlib import nullcontext
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from torch.nn.parallel import DistributedDataParallel

from course_utils.diagnostics.ranks import watch_ranks

STEPS, BAD_STEP, WIDTH = 4, 3, 8


def make_model(width=WIDTH):
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(width, width), nn.Tanh(), nn.Linear(width, width), nn.Linear(width, 1)
    )


def deep_loss(model):
    """Fails in backward alone where `scale` is 0: the root's derivative there is inf."""
    return lambda x: (model(x["input"]) * x["scale"]).pow(2).sum(1).sqrt().mean()


def batch(step, *, bad=None):
    rank = dist.get_rank() if dist.is_initialized() else 1
    torch.manual_seed(100 * step + rank)
    made = {"input": torch.randn(2, WIDTH), "scale": torch.ones(2, 1)}
    if bad and rank == 1 and step == BAD_STEP:
        made[bad[0]][1] = bad[1]
    return made


BAD = {"forward": ("input", float("nan")), "backward": ("scale", 0.0)}


def train(
    name, folder, *, wrap, bad=None, watched=True, accumulate=1, break_watch=False, clip=None
):
    """Train, watched or not; returns a number for each weight, and the CPU seconds."""
    model = wrap(make_model())
    loss = deep_loss(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    watch = watch_ranks(model, loss, folder=folder / name, then=lambda report: None)
    if break_watch and dist.get_rank() == 1:
        watch._read = lambda gradients: 1 / 0
    began = time.process_time()
    with watch if watched else nullcontext():
        call = watch if watched else loss
        for step in range(1, STEPS + 1):
            for micro in range(accumulate):
                is_last = micro == accumulate - 1
                model.require_backward_grad_sync = is_last
                here = bad if not is_last or accumulate == 1 else None
                call(batch(step, bad=here)).div(accumulate).backward()
            if clip:
                nn.utils.clip_grad_norm_(model.parameters(), clip)
            optimizer.step()
            optimizer.zero_grad()
    seconds = time.process_time() - began
    weights = [p.to_local() if hasattr(p, "to_local") else p for p in model.parameters()]
    total = [float(p.detach().double().abs().sum()) for p in weights]
    return {"weights": total, "seconds": seconds}


def ddp(model):
    return DistributedDataParallel(model)


def ddp_with_a_hook(model):
    wrapped = DistributedDataParallel(model)
    wrapped.register_comm_hook(None, allreduce_hook)
    return wrapped


def fsdp(model):
    from torch.distributed.fsdp import fully_shard

    for layer in model:
        if isinstance(layer, nn.Linear):
            fully_shard(layer)
    return fully_shard(model)


SCENARIOS = {
    "bare": dict(wrap=ddp, watched=False),
    "healthy": dict(wrap=ddp),
    "forward": dict(wrap=ddp, bad=BAD["forward"]),
    "backward": dict(wrap=ddp, bad=BAD["backward"]),
    "hook taken": dict(wrap=ddp_with_a_hook, bad=BAD["backward"]),
    "accumulation": dict(wrap=ddp, bad=BAD["forward"], accumulate=2),
    "broken watch": dict(wrap=ddp, break_watch=True),
    "sharded bare": dict(wrap=fsdp, watched=False),
    "sharded healthy": dict(wrap=fsdp),
    "sharded backward": dict(wrap=fsdp, bad=BAD["backward"], clip=1.0),
}


def main(folder: Path) -> None:
    ended = {name: train(name, folder, **scenario) for name, scenario in SCENARIOS.items()}
    (folder / f"ended{dist.get_rank()}.json").write_text(json.dumps(ended))
