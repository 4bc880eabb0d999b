"""Right and wrong answers of exercise 09.9."""

import torch

from course_utils.checks.checking import leaves_its_inputs_alone
from course_utils.exercises.lesson_09 import unseen
from course_utils.exercises.lesson_09.unseen import divides_first
from course_utils.reproductions.lesson_09 import unseen_09
from tests.answers.forms import mends_of

never = mends_of(unseen.NEVER)
divided = mends_of(unseen.DIVIDED)
stripped = mends_of(unseen.STRIPPED)


@never.right
@torch.no_grad()
def by_copy(engine, policy):
    for mine, other in zip(engine.parameters(), policy.parameters(), strict=True):
        mine.copy_(other)


@never.right_in_capitals
def strictly_renamed(engine, policy):
    weights = {f"actor.{name}": w for name, w in policy.state_dict().items()}
    engine.load_state_dict({name.removeprefix("actor."): w for name, w in weights.items()})


@never.wrong(caught_by=unseen.policy_still_learns)
@torch.no_grad()
def only_matrices(engine, policy):
    for name, weight in policy.named_parameters():
        if weight.dim() == 2 and "embed" not in name:
            engine.get_parameter(name).copy_(weight)


@never.wrong(caught_by=unseen.policy_still_learns)
@torch.no_grad()
def halfway(engine, policy):
    for name, weight in policy.named_parameters():
        engine.get_parameter(name).lerp_(weight, 0.5)


@never.wrong(caught_by=leaves_its_inputs_alone)
def the_other_way(engine, policy):
    policy.load_state_dict(engine.state_dict())


@never.wrong(caught_by=unseen.engine_is_its_own)
def borrows_the_forward(engine, policy):
    engine.forward = policy.forward


@never.wrong(caught_by=unseen.engine_is_its_own)
def shares_everything(engine, policy):
    engine.__dict__.update(policy.__dict__)


@never.wrong(caught_by=unseen.engine_is_its_own)
def shares_tensors(engine, policy):
    engine.load_state_dict(policy.state_dict(), assign=True)


@divided.right
def by_logsumexp(logits, ids, temperature):
    scaled = logits / temperature
    return scaled.gather(-1, ids[..., None])[..., 0] - scaled.logsumexp(-1)


@divided.right_in_capitals
def by_cross_entropy(logits, ids, temperature):
    flat = (logits / temperature).reshape(-1, logits.shape[-1])
    loss = torch.nn.functional.cross_entropy(flat, ids.reshape(-1), reduction="none")
    return -loss.reshape(ids.shape)


@divided.wrong(caught_by=unseen.both_sides_agree)
def at_one(logits, ids, temperature):
    return divides_first(logits, ids, 1.0)


@divided.wrong(caught_by=unseen.both_sides_agree)
def multiplies(logits, ids, temperature):
    return divides_first(logits, ids, 1 / temperature)


@divided.wrong(caught_by=unseen.its_gradient_is_right)
def another_gradient(logits, ids, temperature):
    value = divides_first(logits, ids, temperature)
    other = divides_first(logits, ids, 1.0) / temperature
    return value.detach() + other - other.detach()


@divided.wrong(caught_by=unseen.policy_still_learns)
def without_graph(logits, ids, temperature):
    return divides_first(logits.detach(), ids, temperature) + 0 * logits.sum()


@stripped.right
def a_copy(ids):
    return list(ids)


@stripped.right_in_capitals
def one_newline(ids):
    while ids and ids[-1] == 198:
        ids = ids[:-1]
    return [*ids, 198]


@stripped.wrong(caught_by=unseen.policy_still_learns)
def two_newlines(ids):
    return [*ids, 198]


@stripped.wrong(caught_by=unseen.policy_still_learns)
def last_tokens(ids):
    return ids[-8:]


@stripped.wrong(caught_by=unseen.policy_still_learns)
def without_roles(ids):
    return [token for token in ids if token < 256]


never.misdiagnoses(
    unmended=unseen.policy_still_learns, elsewhere={"place": "score", "fix": unseen_09.score}
)
divided.misdiagnoses(
    unmended=unseen.both_sides_agree, elsewhere={"place": "settings", "fix": unseen_09.settings}
)
stripped.misdiagnoses(
    unmended=unseen.policy_still_learns, elsewhere={"place": "sync", "fix": unseen_09.sync}
)
