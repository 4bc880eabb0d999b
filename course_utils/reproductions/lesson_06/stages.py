"""The stages of a language model in the order of execution, and what one backward pass brings them.

One forward and one backward pass, and a picture of what they showed; never steps an optimizer.
"""

from dataclasses import dataclass

import matplotlib.pyplot as plt
from torch import Tensor, nn

from course_utils.shown import plotting

MAX_LAYERS = 4  # of a deeper model the first two and the last two are looked at


@dataclass(frozen=True)
class Stage:
    """One stage: whether its output belongs to the graph, and whether its own weights learn."""

    name: str
    in_graph: bool  # its output requires grad, so a gradient can come back to it
    weights: str  # "frozen", "gradient" or "no gradient"


def follow_stages(model: nn.Module, batch: dict[str, Tensor]) -> list[Stage]:
    """Run one training step and describe each stage from the embeddings to the head.

    Args:
        model: a PEFT model around a Transformers model with `embed_tokens`, `layers`, `norm` and a
            `score` or `lm_head`.
        batch: what the model takes to return a loss.
    """
    modules, in_graph = _stages(model.get_base_model()), {}

    def look(name: str):
        def hook(_module, _inputs, output):
            first = output[0] if isinstance(output, tuple) else output
            in_graph[name] = first.requires_grad

        return hook

    hooks = [m.register_forward_hook(look(name)) for name, m in modules.items()]
    try:
        loss = model(**batch).loss
    finally:
        for hook in hooks:
            hook.remove()
    if loss.requires_grad:
        loss.backward()
    stages = [Stage(name, in_graph[name], _weights(m)) for name, m in modules.items()]
    model.zero_grad()
    return stages


def show_stages(runs: dict[str, list[Stage]], title: str, *, figsize: tuple[float, float]) -> None:
    """Show the stages of each named run side by side, and say how many layers learn nothing."""
    fig, ax = plt.subplots(figsize=figsize, layout="constrained")
    plotting.draw_chains(
        ax, {run: [(s.name, s.weights, s.in_graph) for s in seen] for run, seen in runs.items()}
    )
    ax.set_title(title)
    starved = {run: sum(s.weights == "no gradient" for s in seen) for run, seen in runs.items()}
    said = ", ".join(f"{number} {run}" for run, number in starved.items())
    plotting.show(fig, f"Number of layers whose LoRA gets no gradient: {said}.")


def _stages(base: nn.Module) -> dict[str, nn.Module]:
    body = base.base_model
    names = [f"layers.{number}" for number in range(len(body.layers))]
    if len(names) > MAX_LAYERS:
        names = names[: MAX_LAYERS // 2] + names[-MAX_LAYERS // 2 :]
    inner = {name: body.get_submodule(name) for name in ("embed_tokens", *names, "norm")}
    head = "score" if hasattr(base, "score") else "lm_head"
    return inner | {head: base.get_submodule(head)}


def _weights(module: nn.Module) -> str:
    trained = [p for p in module.parameters() if p.requires_grad]
    if not trained:
        return "frozen"
    return "gradient" if all(p.grad is not None for p in trained) else "no gradient"
