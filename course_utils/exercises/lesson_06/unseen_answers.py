"""Right and wrong mends of the three runs of exercise 06.12; the first of each list is healthy."""

import torch
from peft import LoraConfig, get_peft_model
from torch import nn

from course_utils.reproductions.lesson_06 import unseen_06
from course_utils.reproductions.lesson_06.unseen_06 import LORA, ActorCritic, read_replies

# --- read_replies: a forward pass without a graph --------------------------------------------


def reads_with_a_graph(policy, ids):
    read = policy(input_ids=ids, output_hidden_states=True)
    logp = read.logits[:, :-1].log_softmax(-1).gather(-1, ids[:, 1:, None]).squeeze(-1)
    return logp, read.hidden_states[-1][:, -1].detach()


def reads_twice(policy, ids):
    logits = policy(input_ids=ids).logits
    logp = -nn.functional.cross_entropy(
        logits[:, :-1].transpose(1, 2), ids[:, 1:], reduction="none"
    )
    return logp, read_replies(policy, ids)[1]


def reads_with_the_critic_outside(policy, ids):
    read = policy(input_ids=ids, output_hidden_states=True)
    with torch.no_grad():
        last = read.hidden_states[-1][:, -1].clone()
    logp = torch.log_softmax(read.logits[:, :-1], dim=-1)
    return logp.gather(-1, ids[:, 1:].unsqueeze(-1))[..., 0], last


def reads_and_marks(policy, ids):
    logp, last = read_replies(policy, ids)
    return logp.requires_grad_(), last


def reads_and_lets_the_critic_train(policy, ids):
    read = policy(input_ids=ids, output_hidden_states=True)
    logp = read.logits[:, :-1].log_softmax(-1).gather(-1, ids[:, 1:, None]).squeeze(-1)
    return logp, read.hidden_states[-1][:, -1]


def reads_only_the_last_layers(policy, ids):
    for name, weight in policy.named_parameters():
        weight.requires_grad_("lora_" in name and "layers.0" not in name)
    return reads_with_a_graph(policy, ids)


def reads_probabilities(policy, ids):
    logp, last = reads_with_a_graph(policy, ids)
    return logp.exp(), last


# --- quantise: an operation with the derivative 0 --------------------------------------------


def rounds_straight_through(z):
    return z + (z.round() - z).detach()


class _Round(torch.autograd.Function):
    @staticmethod
    def forward(_ctx, z):
        return z.round()

    @staticmethod
    def backward(_ctx, grad):
        return grad


def rounds_by_a_function(z):
    return _Round.apply(z)


def rounds_with_detached_rest(z):
    return z - (z - torch.round(z)).detach()


def rounds_within_the_range(z):
    z = z.clamp(-4, 4)
    return z + (z.round() - z).detach()


def does_not_round(z):
    return z * 1.0


def rounds_and_marks(z):
    return z.round().requires_grad_()


def rounds_detached(z):
    return z.round().detach() + 0 * z


def rounds_to_halves(z):
    return z + ((2 * z).round() / 2 - z).detach()


def rounds_the_wrong_way(z):
    return -z + (z.round() + z).detach()


def rounds_down(z):
    return z + (z.floor() - z).detach()


# --- prepare: an optimizer that was made too early -------------------------------------------


def adapts_first(base):
    model = get_peft_model(base, LoraConfig(**LORA))
    return model, torch.optim.AdamW(model.parameters(), lr=1e-2)


def adapts_and_adds(base):
    optimizer = torch.optim.AdamW(base.parameters(), lr=1e-2)
    model = get_peft_model(base, LoraConfig(**LORA))
    adapters = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer.add_param_group({"params": adapters})
    return model, optimizer


def adapts_and_filters(base):
    model = get_peft_model(base, LoraConfig(**LORA))
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    return model, torch.optim.AdamW([{"params": trained}], lr=1e-2)


def adapts_and_thaws(base):
    optimizer = torch.optim.AdamW(base.parameters(), lr=1e-2)
    model = get_peft_model(base, LoraConfig(**LORA))
    base.requires_grad_(True)
    return model, optimizer


def trains_without_an_adapter(base):
    return base, torch.optim.AdamW(base.parameters(), lr=1e-2)


def adapts_with_another_rate(base):
    model, optimizer = adapts_first(base)
    optimizer.param_groups[0]["lr"] = 2e-2
    return model, optimizer


def adapts_with_a_higher_rate_too_early(base):
    optimizer = torch.optim.AdamW(base.parameters(), lr=1.0)
    return get_peft_model(base, LoraConfig(**LORA)), optimizer


def adapts_half(base):
    model = get_peft_model(base, LoraConfig(**LORA))
    half = [weight for name, weight in model.named_parameters() if "lora_B" in name]
    return model, torch.optim.AdamW(half, lr=1e-2)


# --- parts that another cause would need ------------------------------------------------------


def prepares_all_weights(policy):
    model = ActorCritic(policy)
    return model, torch.optim.AdamW(model.parameters(), lr=1e-2)


def encodes_without_tanh(model, x):
    return 4 * model["encoder"](x)


def logits_with_a_graph(model, ids):
    with torch.enable_grad():
        return unseen_06.logits_of(model, ids)


HEALTHY = {
    "read_replies": reads_with_a_graph,
    "quantise": rounds_straight_through,
    "prepare": adapts_first,
}
