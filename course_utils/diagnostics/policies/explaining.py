"""Finds the weights, context and settings that explain the log-probs one side reported.

Each hypothesis is an experiment: the replies are scored again under it, and what is left counts.
Shape letters: N = tokens of all replies.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from course_utils.diagnostics.policies.decoding import Decoding, logps_of, warp
from course_utils.diagnostics.policies.fitting import best_fit
from course_utils.diagnostics.policies.scoring import Ids, Tokens, logits_of, tokens_of

CURRENT, PLAIN = "current", "plain"
ROUNDING = 3e-5  # nats per token that two float32 kernels may differ by; 64 tokens gave 2e-6
SHARE = 0.3  # of what a cast changes: a cache and a full pass differ by a tenth of it
INT8 = "int8"
GAPS = (1, 2, 4, 8, -1)


@dataclass(frozen=True)
class Explanation:
    """The simplest hypothesis about one side, and the difference that it leaves.

    Args:
        weights: "current", a number format, "int8", or the name of a snapshot.
        context: "plain", "mask forgotten", "positions +8", "shifted by 1", or "scaled by 1.25".
        left: mean |difference| of a token in nats.
        is_complete: whether no more is left than rounding explains.
    """

    weights: str
    context: str
    decoding: Decoding
    left: float
    is_complete: bool


class Explainer:
    """Scores the same replies under every hypothesis, each only once."""

    def __init__(
        self,
        model: nn.Module,
        prompts: Ids,
        replies: Ids,
        snapshots: Mapping[str, Mapping[str, Tensor]],
        pad_id: int,
    ) -> None:
        self.model, self.prompts, self.replies = model, prompts, replies
        self.snapshots, self.pad_id = snapshots, pad_id
        with _evaluating(model):
            self.tokens = tokens_of(model, prompts, replies)
        self.rounding = max(ROUNDING, self._own_rounding())
        self._known: dict[str, Tensor] = {}

    def _own_rounding(self) -> float:
        """The rounding error of the model's own format: 0 in float32."""
        if next(self.model.parameters()).dtype == torch.float32:
            return 0.0
        wide = logits_of(deepcopy(self.model).float().eval(), self.prompts, self.replies)
        return self._distance(wide, Decoding())

    def _distance(self, logits_NV: Tensor, decoding: Decoding) -> float:
        """Mean |log-prob - the current weights'|, where both are finite."""
        one, other = (
            logps_of(warp(z, self.tokens.seen_NV, decoding), self.tokens.ids_N)
            for z in (logits_NV, self.tokens.logits_NV)
        )
        return (one - other).abs().nan_to_num(0.0, posinf=0.0).mean().item()

    def sampler(self, reported_N: Tensor) -> Explanation:
        """Explain an engine: it has the right context, perhaps other weights or another format."""
        return self._explain(reported_N, self._weights)

    def trainer(self, reported_N: Tensor) -> Explanation:
        """Explain a trainer: its own weights, and perhaps another context, or a factor too much."""
        return self._scaled(reported_N) or self._explain(reported_N, self._contexts)

    def _scaled(self, reported_N: Tensor) -> Explanation | None:
        """Log-probs times a number: a temperature behind the softmax, as in prime-rl#697."""
        plain_N = logps_of(self.tokens.logits_NV, self.tokens.ids_N)
        factor = (plain_N @ reported_N / (plain_N @ plain_N)).item()
        left = (reported_N - factor * plain_N).abs().mean().item()
        if left > self.rounding or abs(factor - 1) < 1e-3:
            return None
        return Explanation(CURRENT, f"scaled by {factor:.3g}", Decoding(), left, True)

    def _explain(self, reported_N: Tensor, hypotheses: Callable[[], Iterator]) -> Explanation:
        """The simplest complete hypothesis; else the simplest whose rest no other halves."""
        best = None
        for num_settings in range(3):
            for weights, context, tokens in hypotheses():
                known = weights in (CURRENT, *self.snapshots) and context == PLAIN
                if num_settings == 2 and not known:
                    continue  # three causes at once are beyond this instrument
                fit = best_fit(tokens, reported_N, num_settings)
                enough = self._enough(weights, tokens, fit.decoding)
                found = Explanation(weights, context, fit.decoding, fit.left, fit.left <= enough)
                if found.is_complete:
                    return found
                if best is None or found.left < best.left / 2:
                    best = found
        return best

    def _enough(self, weights: str, tokens: Tokens, decoding: Decoding) -> float:
        """The difference in nats that a complete explanation may leave."""
        if weights in (CURRENT, *self.snapshots):
            return self.rounding
        return max(self.rounding, SHARE * self._distance(tokens.logits_NV, decoding))

    def _weights(self) -> Iterator[tuple[str, str, Tokens]]:
        yield CURRENT, PLAIN, self.tokens
        for name in (*self.snapshots, "bfloat16", "float16", INT8):
            if name not in self._known:
                other = _other_weights(self.model, name, self.snapshots.get(name))
                self._known[name] = logits_of(other, self.prompts, self.replies)
            yield name, PLAIN, replace(self.tokens, logits_NV=self._known[name])

    def _contexts(self) -> Iterator[tuple[str, str, Tokens]]:
        yield CURRENT, PLAIN, self.tokens
        for forget, gap in [(True, 0), *((False, gap) for gap in GAPS)]:
            name = "mask forgotten" if forget else f"positions {gap:+d}"
            if name not in self._known:
                with _evaluating(self.model):
                    self._known[name] = _padded_logits(self, forget=forget, gap=gap)
            yield CURRENT, name, replace(self.tokens, logits_NV=self._known[name])
        for by in (1, -1):
            yield CURRENT, f"shifted by {by}", _shifted(self.tokens, by)


def _shifted(tokens: Tokens, by: int) -> Tokens:
    """Each token with the logits of a neighbour in the same list."""
    return replace(
        tokens,
        logits_NV=tokens.logits_NV.roll(by, 0),
        ids_N=tokens.ids_N.roll(by),
        seen_NV=tokens.seen_NV.roll(by, 0),
    )


@torch.no_grad()
def _padded_logits(case: Explainer, *, forget: bool, gap: int) -> Tensor:
    """Logits of a batch padded on the left, without its mask or with a gap in the positions."""
    width = max(map(len, case.prompts))
    longest = max(map(len, case.replies))
    ids, masks, positions = [], [], []
    for prompt, reply in zip(case.prompts, case.replies, strict=True):
        front, back = width - len(prompt), longest - len(reply)
        ids.append([case.pad_id] * front + prompt + reply + [case.pad_id] * back)
        masks.append([int(forget)] * front + [1] * (len(prompt) + len(reply)) + [0] * back)
        first = 0 if forget else -front
        places = [max(0, first + n) for n in range(width)]
        start = places[-1] + 1 + gap
        positions.append(places + list(range(start, start + longest)))
    out = case.model(
        input_ids=torch.tensor(ids),
        attention_mask=torch.tensor(masks),
        position_ids=torch.tensor(positions),
    ).logits.float()
    picked = [row[width - 1 : width + len(r) - 1] for row, r in zip(out, case.replies, strict=True)]
    return torch.cat(picked)


@torch.no_grad()
def _other_weights(model: nn.Module, name: str, state: Mapping | None) -> nn.Module:
    other = deepcopy(model).eval()
    vars(other).pop("forward", None)  # trl 1.16 binds its own forward to the *old* model
    if state is not None:
        other.load_state_dict(state)
    elif name == INT8:
        for weight_name, weight in other.named_parameters():
            if weight.dim() == 2 and "embed" not in weight_name:
                step = (weight.abs().amax(1, keepdim=True) / 127).clamp(min=1e-30)
                weight.copy_((weight / step).round() * step)
    else:  # parameters alone: `.to` would round the frequencies of RoPE, as loading does not
        for weight in other.parameters():
            weight.data = weight.data.to(getattr(torch, name))
    return other


@contextmanager
def _evaluating(model: nn.Module) -> Iterator[None]:
    was_training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was_training)
