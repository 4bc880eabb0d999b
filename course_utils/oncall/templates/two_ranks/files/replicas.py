"""A model for each rank: made, kept alike, saved in parts and put together again."""

import torch
from collectives import all_reduce, broadcast
from transformers import AutoModelForCausalLM

RUN = "run"


def read_model(cfg):
    return AutoModelForCausalLM.from_pretrained(cfg["model"], dtype="float32")


def in_buckets(replicas, cfg):
    """The same parameter of all replicas, bucket by bucket."""
    for bucket in cfg["buckets"]:
        for group in zip(*(model.named_parameters() for model in replicas), strict=True):
            if group[0][0].startswith(f"model.{bucket}."):
                yield [parameter for _, parameter in group]


@torch.no_grad()
def share_weights(replicas, cfg):
    """Give every rank the weights of rank 0."""
    for parameters in in_buckets(replicas, cfg):
        broadcast(parameters, source=0)


@torch.no_grad()
def share_gradients(replicas, cfg):
    """Give every rank the mean of all gradients."""
    for parameters in in_buckets(replicas, cfg):
        all_reduce([parameter.grad for parameter in parameters])


def path_of(rank):
    return f"{RUN}/rank_{rank}.pt"


def save_part(model, optimizer, schedule, rank, num_ranks):
    """Write this rank's share of the weights, and all of its optimizer."""
    named = list(model.named_parameters())[rank::num_ranks]
    state = {
        "weights": {name: weight.detach() for name, weight in named},
        "optimizer": optimizer.state_dict(),
        "schedule": schedule.state_dict(),
    }
    torch.save(state, path_of(rank))


def load_weights(model, cfg):
    """Put the parts together in a model."""
    whole, num_parts = {}, cfg["num_parts"]
    for rank in range(num_parts):
        whole |= torch.load(path_of(rank), weights_only=True)["weights"]
    model.load_state_dict(whole, strict=False)  # the tied head is in no part
    print(f"loaded {len(whole)} tensors from {num_parts} parts")
    return model
