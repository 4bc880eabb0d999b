"""A small mixture of experts, an engine that records its routes, and a trainer that replays them.

Replaying is what people call rollout routing replay (R3): the engine's choice of experts, with
weights from the trainer's own router. Shape letters: B rows, T tokens, K experts of a token.
"""

from functools import cache

import torch
from torch import Tensor, nn
from transformers import Qwen2MoeForCausalLM

from course_utils import zoo
from course_utils.incidents.runs import plain_trainer, reply_rows
from course_utils.reproductions.lesson_09.engine import Engine, Ids, Logps
from course_utils.zoo.mixtures import mixture

NUM_EXPERTS, NUM_STEPS, SIZE = 16, 60, 16


@cache
def _taught() -> dict[str, Tensor]:
    """The weights of a mixture whose experts were made different, and then learned sums."""
    model, tokenizer = mixture(0, num_experts=NUM_EXPERTS, num_chosen=1), zoo.load_tokenizer("tiny")
    with torch.no_grad():
        for layer in model.model.layers:
            for weight in layer.mlp.experts.parameters():
                weight.add_(weight.std() * torch.randn_like(weight))
            layer.mlp.gate.weight.normal_(0, 0.02)
    rows = reply_rows(NUM_STEPS * SIZE, 0, tokenizer)
    plain_trainer(model, rows, tokenizer.pad_token_id, seed=0, max_steps=NUM_STEPS).train()
    return model.eval().state_dict()


def policy(dtype: torch.dtype = torch.float32) -> Qwen2MoeForCausalLM:
    model = mixture(0, num_experts=NUM_EXPERTS, num_chosen=1)
    model.load_state_dict(_taught())
    return model.to(dtype).eval()


def _gates(model: nn.Module) -> list[nn.Module]:
    return [layer.mlp.gate for layer in model.model.layers]


class RecordingEngine(Engine):
    """An engine in bfloat16 that keeps the experts of each token that it has read."""

    def __init__(self) -> None:
        super().__init__(model=policy(torch.bfloat16))
        self.generator = torch.default_generator
        self.routes: dict[tuple[int, ...], Tensor] = {}  # of ids: (layers, tokens, K)

    def __call__(self, prompt_ids: Ids, **settings: object) -> tuple[Ids, Logps]:
        seen = [[] for _ in _gates(self.model)]
        hooks = [
            gate.register_forward_hook(lambda _m, _i, output, kept=kept: kept.append(output[2]))
            for gate, kept in zip(_gates(self.model), seen, strict=True)
        ]
        ids, logps = super().__call__(prompt_ids, **settings)
        for hook in hooks:
            hook.remove()
        routes = torch.stack(
            [torch.cat([x.unflatten(0, (len(ids), -1)) for x in kept], 1) for kept in seen]
        )
        width = max(map(len, prompt_ids))
        for row, (asked, said) in enumerate(zip(prompt_ids, ids, strict=True)):
            start, count = width - len(asked), len(asked) + len(said) - 1
            self.routes[(*asked, *said)] = routes[:, row, start : start + count]
        return ids, logps


def replay(model: nn.Module, engine: RecordingEngine) -> None:
    """Let the model send each token of the engine's rows where the engine has sent it."""
    due: list[Tensor] = []  # the routes of the rows in hand (layers, B, T, K); -1: its own

    def before(_module: nn.Module, _args: tuple, given: dict) -> None:
        ids_BT, mask_BT = given["input_ids"], given.get("attention_mask")
        if mask_BT is None or mask_BT.shape != ids_BT.shape:  # one token more, by a cache
            mask_BT = torch.ones_like(ids_BT)
        mask_BT = mask_BT.bool()
        shape = (len(_gates(model)), *ids_BT.shape, 1)
        due[:] = [torch.full(shape, -1)]
        for row, (ids, mask) in enumerate(zip(ids_BT, mask_BT, strict=True)):
            known = engine.routes.get(tuple(ids[mask].tolist()))
            if known is not None:
                due[0][:, row, mask.nonzero()[: known.size(1), 0]] = known

    def chosen(gate: nn.Module, _args: tuple, output: tuple, number: int) -> tuple:
        logits, _, own = output
        chosen = due[0][number].flatten(0, 1)
        chosen = torch.where(chosen < 0, own, chosen)
        weights = logits.float().softmax(-1).gather(-1, chosen)
        return logits, (weights / weights.sum(-1, keepdim=True)).to(logits.dtype), chosen

    model.register_forward_pre_hook(before, with_kwargs=True)
    for number, gate in enumerate(_gates(model)):
        gate.register_forward_hook(lambda *seen, number=number: chosen(*seen, number=number))
