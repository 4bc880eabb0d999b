"""The tiny runs in verl's manner that incidents vary, on sums."""

from collections.abc import Callable

import torch

from course_utils import zoo
from course_utils.incidents.declare import Run
from course_utils.incidents.rl_runs import NUM_JUDGED, facts_of, nothing
from course_utils.reproductions.lesson_04.verl_grpo import VerlGrpo

SETTINGS = dict(device="cpu", logits_dtype="float32", response_length=5)


def verl(
    seed: int,
    *,
    steps: int,
    loop_class: type[VerlGrpo] = VerlGrpo,
    facts: Callable[[VerlGrpo], dict[str, float]] = nothing,
    **settings: object,
) -> Run:
    """A loop in verl's manner that has not started; its log has one entry a rollout.

    Args:
        facts: more facts than `facts_of`, of the loop.
        settings: fields of `verl_grpo.Settings`.
    """
    loop = loop_class(**SETTINGS | settings, seed=seed)
    run = Run(model=loop.actor, start=lambda: None)
    run.parts |= {"optimizer": loop.optimizer, "tokenizer": loop.tokenizer}
    run.parts |= {"reference": loop.reference, "settings": loop.settings}

    def start() -> None:
        loop.train(steps)
        run.log.extend(verl_log(loop))

    run.start = start
    run.facts = facts_of(loop.actor, lambda _model: facts(loop))
    return run


def verl_log(loop: VerlGrpo) -> list[dict]:
    """One entry a rollout: what is known of its replies, and the mean of its updates' metrics."""
    entries = []
    for step in loop.steps:
        updates = [update for update in loop.updates if update["step"] == step["step"]]
        names = [name for name in updates[0] if name.startswith("actor/")] if updates else []
        means = {name: sum(u[name] for u in updates) / len(updates) for name in names}
        known = {key: step[key] for key in step if key == "step" or "/" in key}
        entries.append(known | {"actor/lr": loop.settings.learning_rate} | means)
    return entries


class PaidForSilence(VerlGrpo):
    """verl's loop with a reward that pulls the policy away from its reference: short replies."""

    def __init__(self, **changes: object) -> None:
        super().__init__(num_prompts=4, **changes)

    def rollout(self):
        batch = super().rollout()
        batch.scores = -batch.response_mask.sum(1).float()
        return batch


@torch.no_grad()
def kl_to_reference(loop: VerlGrpo) -> dict[str, float]:
    """KL of the policy to the reference at the first token of a reply, mean over sums, in nats."""
    sums = zoo.arithmetic.prompts(NUM_JUDGED, 0, level="hard", split="test")
    asked = loop.tokenizer.apply_chat_template(
        list(sums["prompt"]),
        add_generation_prompt=True,
        padding=True,
        return_dict=True,
        return_tensors="pt",
    )
    p, q = (m(**asked).logits[:, -1].log_softmax(-1) for m in (loop.actor, loop.reference))
    return {"kl": (p.exp() * (p - q)).sum(-1).mean().item()}
