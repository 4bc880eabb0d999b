"""Mends for exercise 09.9, right and wrong."""

import torch


def by_state_dict(engine, policy):
    engine.load_state_dict(dict(policy.state_dict()), strict=True)


@torch.no_grad()
def by_copy(engine, policy):
    for mine, other in zip(engine.parameters(), policy.parameters(), strict=True):
        mine.copy_(other)


def strictly_renamed(engine, policy):
    weights = {f"actor.{name}": w for name, w in policy.state_dict().items()}
    engine.load_state_dict({name.removeprefix("actor."): w for name, w in weights.items()})


@torch.no_grad()
def only_matrices(engine, policy):
    for name, weight in policy.named_parameters():
        if weight.dim() == 2 and "embed" not in name:
            engine.get_parameter(name).copy_(weight)


@torch.no_grad()
def halfway(engine, policy):
    for name, weight in policy.named_parameters():
        engine.get_parameter(name).lerp_(weight, 0.5)


def the_other_way(engine, policy):
    policy.load_state_dict(engine.state_dict())


def borrows_the_forward(engine, policy):
    engine.forward = policy.forward


def shares_everything(engine, policy):
    engine.__dict__.update(policy.__dict__)


def shares_tensors(engine, policy):
    engine.load_state_dict(policy.state_dict(), assign=True)


def divides_first(logits, ids, temperature):
    return (logits / temperature).log_softmax(-1).gather(-1, ids.unsqueeze(-1)).squeeze(-1)


def by_logsumexp(logits, ids, temperature):
    scaled = logits / temperature
    return scaled.gather(-1, ids[..., None])[..., 0] - scaled.logsumexp(-1)


def by_cross_entropy(logits, ids, temperature):
    flat = (logits / temperature).reshape(-1, logits.shape[-1])
    loss = torch.nn.functional.cross_entropy(flat, ids.reshape(-1), reduction="none")
    return -loss.reshape(ids.shape)


def at_one(logits, ids, temperature):
    return divides_first(logits, ids, 1.0)


def multiplies(logits, ids, temperature):
    return divides_first(logits, ids, 1 / temperature)


def another_gradient(logits, ids, temperature):
    value = divides_first(logits, ids, temperature)
    other = divides_first(logits, ids, 1.0) / temperature
    return value.detach() + other - other.detach()


def without_graph(logits, ids, temperature):
    return divides_first(logits.detach(), ids, temperature) + 0 * logits.sum()


def as_they_are(ids):
    return ids


def a_copy(ids):
    return list(ids)


def one_newline(ids):
    while ids and ids[-1] == 198:
        ids = ids[:-1]
    return [*ids, 198]


def two_newlines(ids):
    return [*ids, 198]


def last_tokens(ids):
    return ids[-8:]


def without_roles(ids):
    return [token for token in ids if token < 256]
