"""One of two processes skips a batch, and with it the all-reduce that the other waits for."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from course_utils import zoo
from course_utils.incidents.declare import Incident, Run
from course_utils.incidents.runs import Variants, batches, error, reply_rows
from course_utils.incidents.two_ranks import of_two_ranks
from course_utils.reproductions.lesson_07.never_stops import base_model
from course_utils.reproductions.two_processes import WORLD

STEPS, SIZE, BAD_STEP, WAIT_S = 4, 4, 2, 3


def _build(*, seed: int, skip: bool, masked: bool = True) -> Run:
    tokenizer, model = zoo.load_tokenizer("tiny"), base_model(seed=seed)
    steps = batches(reply_rows(SIZE * STEPS * WORLD, seed, tokenizer), SIZE, tokenizer.pad_token_id)
    if masked:
        steps[BAD_STEP * WORLD + 1]["labels"][:] = -100  # prompts that filled the room

    def train(rank: int) -> list[dict]:
        wrapped = DistributedDataParallel(model)
        optimizer, log = torch.optim.AdamW(wrapped.parameters(), lr=3e-4), []
        for number, batch in enumerate(steps[rank::WORLD], 1):
            count = (batch["labels"][:, 1:] != -100).sum()
            if skip and count == 0:
                continue
            loss = wrapped(**batch, num_items_in_batch=count.clamp(min=1)).loss
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            dist.all_reduce(loss.detach())
            log.append({"step": number, "loss": loss.item()})
        return log

    return of_two_ranks(model, train, steps[0], timeout_s=WAIT_S)


INCIDENT = Incident(
    name="rank_skips_a_batch",
    title="one rank skips an all-reduce",
    kind="hang",
    says="Training stops silently; after half an hour the watchdog reports a timeout.",
    cause="One process skips a batch without labels, and with it the all-reduce of the gradients "
    "that the other waits for.",
    fix="Train on the batch with a loss of 0 on every process, or skip it on all of them.",
    threads=("trl#2923", "LlamaFactory#8549"),
    make=Variants(
        _build,
        broken={"skip": True},
        twin={"skip": True, "masked": False},
        mended={"skip": False},
    ),
    shows=lambda run: "imed out" in error(run) or "closed" in error(run),
    causes=("ranks_disagree",),
    place="all_reduce",
)
