"""Checks that an engine serves its own weights: its layers, their values, when they change."""

import torch
from torch import Tensor, nn

from course_utils.reproductions.lesson_09 import engine_and_policy

CLOSE = 1e-4  # of a weight; merging rounds


def logps(model: nn.Module) -> Tensor:
    """Log-probs of every token after the sums that both sides are asked, (16, L, V)."""
    with torch.no_grad():
        return model(input_ids=engine_and_policy.ids()).logits.float().log_softmax(-1)


def layers_differ(
    before: dict[str, nn.Module], engine: nn.Module, weights: dict[str, nn.Parameter]
) -> str | None:
    """Whether a layer or a parameter was added, removed or exchanged."""
    pairs = (
        ("layer", before, dict(engine.named_modules())),
        ("parameter", weights, dict(engine.named_parameters())),
    )
    for what, old, now in pairs:
        for name in [*now, *old]:
            if old.get(name) is not now.get(name):
                happened = "new" if name not in old else "gone" if name not in now else "exchanged"
                return f"the engine's {what} {name} is {happened}"
    return None


def weights_differ(engine: nn.Module, due: dict[str, Tensor]) -> str | None:
    """How many of the engine's weights are not those that are due."""
    held = engine.state_dict()
    off = [
        name
        for name, value in due.items()
        if name not in held or (held[name] - value).abs().max() > CLOSE
    ]
    if not off:
        return None
    return f"{len(off)} of the engine's {len(due)} weights are wrong, the first is {off[0]}"


def follows(engine: nn.Module, policy: nn.Module) -> str | None:
    """Whether the engine says something else as soon as the policy's weights are changed."""
    said, kept = logps(engine), [weight.detach().clone() for weight in policy.parameters()]
    with torch.no_grad():
        for weight in policy.parameters():
            weight.add_(0.01)
        moved = (logps(engine) - said).abs().max().item()
        for weight, value in zip(policy.parameters(), kept, strict=True):
            weight.copy_(value)
    if not moved:
        return None
    return (
        f"without a sync, a change of the policy's weights moves the engine's log-probs by up to "
        f"{moved:.2g} nats: they share weights or layers"
    )
