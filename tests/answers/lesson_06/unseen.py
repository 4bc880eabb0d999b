"""Right and wrong answers of exercise 06.12."""

import torch
from peft import LoraConfig, get_peft_model
from torch import nn

from course_utils.checks import checking
from course_utils.exercises.lesson_06 import unseen
from course_utils.exercises.lesson_06.unseen import adapts_first, reads_with_a_graph
from course_utils.reproductions.lesson_06 import unseen_06
from course_utils.reproductions.lesson_06.unseen_06 import LORA, ActorCritic, read_replies
from tests.answers.forms import mends_of

critic = mends_of(unseen.CRITIC)
codec = mends_of(unseen.CODEC)
adapter_run = mends_of(unseen.ADAPTER_RUN)


@critic.right
def reads_twice(policy, ids):
    logits = policy(input_ids=ids).logits
    logp = -nn.functional.cross_entropy(
        logits[:, :-1].transpose(1, 2), ids[:, 1:], reduction="none"
    )
    return logp, read_replies(policy, ids)[1]


@critic.right_in_capitals
def reads_with_the_critic_outside(policy, ids):
    read = policy(input_ids=ids, output_hidden_states=True)
    with torch.no_grad():
        last = read.hidden_states[-1][:, -1].clone()
    logp = torch.log_softmax(read.logits[:, :-1], dim=-1)
    return logp.gather(-1, ids[:, 1:].unsqueeze(-1))[..., 0], last


@critic.wrong(caught_by=unseen.run_gets_better)
def reads_and_marks(policy, ids):
    logp, last = read_replies(policy, ids)
    return logp.requires_grad_(), last


@critic.wrong(caught_by=unseen.nothing_else_changes)
def reads_and_lets_the_critic_train(policy, ids):
    read = policy(input_ids=ids, output_hidden_states=True)
    logp = read.logits[:, :-1].log_softmax(-1).gather(-1, ids[:, 1:, None]).squeeze(-1)
    return logp, read.hidden_states[-1][:, -1]


@critic.wrong(caught_by=checking.leaves_its_inputs_alone)
def reads_only_the_last_layers(policy, ids):
    for name, weight in policy.named_parameters():
        weight.requires_grad_("lora_" in name and "layers.0" not in name)
    return reads_with_a_graph(policy, ids)


@critic.wrong(caught_by=unseen.nothing_else_changes)
def reads_probabilities(policy, ids):
    logp, last = reads_with_a_graph(policy, ids)
    return logp.exp(), last


class _Round(torch.autograd.Function):
    @staticmethod
    def forward(_ctx, z):
        return z.round()

    @staticmethod
    def backward(_ctx, grad):
        return grad


@codec.right
def rounds_by_a_function(z):
    return _Round.apply(z)


@codec.right
def rounds_with_detached_rest(z):
    return z - (z - torch.round(z)).detach()


@codec.right_in_capitals
def rounds_within_the_range(z):
    z = z.clamp(-4, 4)
    return z + (z.round() - z).detach()


@codec.wrong(caught_by=unseen.nothing_else_changes)
def does_not_round(z):
    return z * 1.0


@codec.wrong(caught_by=unseen.run_gets_better)
def rounds_and_marks(z):
    return z.round().requires_grad_()


@codec.wrong(caught_by=unseen.run_gets_better)
def rounds_detached(z):
    return z.round().detach() + 0 * z


@codec.wrong(caught_by=unseen.nothing_else_changes)
def rounds_to_halves(z):
    return z + ((2 * z).round() / 2 - z).detach()


@codec.wrong(caught_by=unseen.run_gets_better)
def rounds_the_wrong_way(z):
    return -z + (z.round() + z).detach()


@codec.wrong(caught_by=unseen.nothing_else_changes)
def rounds_down(z):
    return z + (z.floor() - z).detach()


@adapter_run.right
def adapts_and_adds(base):
    optimizer = torch.optim.AdamW(base.parameters(), lr=1e-2)
    model = get_peft_model(base, LoraConfig(**LORA))
    adapters = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer.add_param_group({"params": adapters})
    return model, optimizer


@adapter_run.right_in_capitals
def adapts_and_filters(base):
    model = get_peft_model(base, LoraConfig(**LORA))
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    return model, torch.optim.AdamW([{"params": trained}], lr=1e-2)


@adapter_run.wrong(caught_by=unseen.nothing_else_changes)
def adapts_and_thaws(base):
    optimizer = torch.optim.AdamW(base.parameters(), lr=1e-2)
    model = get_peft_model(base, LoraConfig(**LORA))
    base.requires_grad_(True)
    return model, optimizer


@adapter_run.wrong(caught_by=unseen.nothing_else_changes)
def trains_without_an_adapter(base):
    return base, torch.optim.AdamW(base.parameters(), lr=1e-2)


@adapter_run.wrong(caught_by=unseen.nothing_else_changes)
def adapts_with_another_rate(base):
    model, optimizer = adapts_first(base)
    optimizer.param_groups[0]["lr"] = 2e-2
    return model, optimizer


@adapter_run.wrong(caught_by=unseen.run_gets_better)
def adapts_with_a_higher_rate_too_early(base):
    optimizer = torch.optim.AdamW(base.parameters(), lr=1.0)
    return get_peft_model(base, LoraConfig(**LORA)), optimizer


@adapter_run.wrong(caught_by=unseen.run_gets_better)
def adapts_half(base):
    model = get_peft_model(base, LoraConfig(**LORA))
    half = [weight for name, weight in model.named_parameters() if "lora_B" in name]
    return model, torch.optim.AdamW(half, lr=1e-2)


def prepares_all_weights(policy):
    model = ActorCritic(policy)
    return model, torch.optim.AdamW(model.parameters(), lr=1e-2)


def encodes_without_tanh(model, x):
    return 4 * model["encoder"](x)


def logits_with_a_graph(model, ids):
    with torch.enable_grad():
        return unseen_06.logits_of(model, ids)


critic.misdiagnoses(
    unmended=unseen.run_gets_better, elsewhere={"place": "prepare", "fix": prepares_all_weights}
)
codec.misdiagnoses(
    unmended=unseen.run_gets_better, elsewhere={"place": "encode", "fix": encodes_without_tanh}
)
adapter_run.misdiagnoses(
    unmended=unseen.run_gets_better, elsewhere={"place": "logits_of", "fix": logits_with_a_graph}
)
