"""LoRA on a layer that the loss does not use, under DistributedDataParallel."""

import torch
from peft import LoraConfig, get_peft_model
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from course_utils import zoo
from course_utils.incidents.declare import Incident, Run
from course_utils.incidents.runs import Variants, batches, error, reply_rows
from course_utils.incidents.two_ranks import of_two_ranks
from course_utils.reproductions.lesson_07.never_stops import base_model
from course_utils.reproductions.two_processes import WORLD

STEPS, SIZE = 4, 4


def _build(*, seed: int, targets: tuple[str, ...], find_unused_parameters: bool = False) -> Run:
    tokenizer, base = zoo.load_tokenizer("tiny"), base_model(seed=seed)
    base.pooler = nn.Linear(base.config.hidden_size, base.config.hidden_size)
    model = get_peft_model(base, LoraConfig(r=8, target_modules=list(targets)))
    rows = reply_rows(SIZE * STEPS * WORLD, seed, tokenizer)
    steps = batches(rows, SIZE, tokenizer.pad_token_id)

    def train(rank: int) -> list[dict]:
        wrapped = DistributedDataParallel(model, find_unused_parameters=find_unused_parameters)
        trained = [weight for weight in wrapped.parameters() if weight.requires_grad]
        optimizer, log = torch.optim.AdamW(trained, lr=1e-3), []
        for number, batch in enumerate(steps[rank::WORLD], 1):
            loss = wrapped(**batch).loss
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            log.append({"step": number, "loss": loss.item()})
        return log

    return of_two_ranks(model, train, steps[0])


INCIDENT = Incident(
    name="adapter_never_used",
    title="adapter on a layer that the loss does not use",
    kind="sharding",
    says="RuntimeError: Expected to have finished reduction in the prior iteration.",
    cause="One adapter sits on the pooler, which the loss does not use, so DDP waits for "
    "gradients that never come.",
    fix="Leave the pooler out of target_modules, or set find_unused_parameters=True.",
    threads=("peft#951", "pytorch#43259"),
    make=Variants(
        _build,
        broken={"targets": ("q_proj", "pooler")},
        twin={"targets": ("q_proj",)},
        mended={"targets": ("q_proj", "pooler"), "find_unused_parameters": True},
    ),
    shows=lambda run: "finished reduction in the prior iteration" in error(run),
    rebuilt="The tiny model is given a pooler, which BERT-like models have.",
    causes=("unused_parameters",),
    place="pooler",
    lesson="06_grad_fn",
)
