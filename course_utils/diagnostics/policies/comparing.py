"""`compare_policies`: the log-probs of two sides, and the cause of their difference.

It samples once, scores again under each hypothesis, trains nothing and changes no weight.
Shape letters: N = tokens of all replies.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from course_utils.diagnostics.policies.decoding import Decoding
from course_utils.diagnostics.policies.explaining import CURRENT, PLAIN, Explainer, Explanation
from course_utils.diagnostics.policies.scoring import Ids
from course_utils.errors import BadRequest
from course_utils.shown.page import State
from course_utils.shown.report import Report, Table

Logps = list[list[float]]
Sampler = Callable[[Ids], tuple[Ids, Logps]]
Trainer = Callable[[Ids, Ids], tuple[Ids, Logps]]

UNKNOWN = "cannot tell"
FEW = 100  # tokens below which settings are read off too few places
SAID = {
    "temperature": "sampler and trainer score at different temperatures",
    "support": "the sampler's log-probs are those of a cut support, the trainer's of another",
    "penalty": "a repetition penalty on one side only",
    "stale": "the sampler has older weights",
    "precision": "the sampler computes in another format",
    "mask": "the trainer attends to padding",
    "positions": "the trainer's positions jump between prompt and reply",
    "shifted": "the trainer's log-probs belong to the neighbouring tokens",
    "scaled": "the trainer's log-probs are multiplied: a temperature behind the softmax",
    "retokenised": "the trainer scores other ids than were sampled",
    "lengths": "a side has more log-probs than tokens, or fewer",
    "context": "the trainer sees another text before the replies, or computes something else",
    UNKNOWN: "no hypothesis explains the sampler: other weights, another format or another text",
}


@dataclass(frozen=True)
class PolicyComparison(Report):
    """The differences, each cause by its name in `SAID`, and the numbers behind them.

    Args:
        causes: from the first looked for to the last; empty when the sides agree.
        gap, largest: mean and largest |trainer's log-prob - sampler's| of a token, in nats.
        one_sign: |mean difference| over mean |difference|: 1 when all have one sign.
        ratios: trainer over sampler for each reply, the least, the median and the largest.
        sides: the explanation of sampler and trainer; None where ids or lengths differ.
        detail: where ids or lengths first differ.
    """

    causes: tuple[str, ...]
    num_tokens: int
    gap: float = 0.0
    largest: float = 0.0
    one_sign: float = 0.0
    ratios: tuple[float, float, float] = (1.0, 1.0, 1.0)
    sides: tuple[Explanation, Explanation] | None = None
    detail: str = ""

    @property
    def state(self) -> State:
        return State.BAD if self.causes else State.GOOD

    @property
    def headline(self) -> str:
        if not self.causes:
            return "Sampler and trainer agree: what differs is rounding."
        names = ", ".join(self.causes)
        return f"They differ by {self.gap:.2g} nats a token: {names}. {self.detail}".rstrip()

    @property
    def cause(self) -> str:
        return "; ".join(SAID[name] for name in self.causes)

    def table(self) -> Table:
        names = zip(("sampler", "trainer"), self.sides or (), strict=False)
        rows = [
            (name, side.weights, side.context, str(side.decoding), _nats(side.left))
            for name, side in names
        ]
        least, median, most = self.ratios
        notes = (
            f"{self.num_tokens} tokens; largest difference {_nats(self.largest)}, "
            f"one sign {self.one_sign:.1f}; ratio of a reply {least:.2g} to {most:.2g}, "
            f"median {median:.2g}",
        )
        columns = ("side", "weights", "context", "settings", "left")
        return Table(columns=columns, rows=rows, notes=notes if self.sides else ())

    def to_dict(self) -> dict:
        numbers = {"gap": self.gap, "largest": self.largest, "num_tokens": self.num_tokens}
        return {"causes": list(self.causes), "detail": self.detail} | numbers


def compare_policies(
    sampler: Sampler,
    trainer: Trainer,
    prompts: Ids,
    *,
    model: nn.Module,
    snapshots: Mapping[str, Mapping[str, Tensor]] | None = None,
    pad_id: int | None = None,
) -> PolicyComparison:
    """Sample, score, and find the simplest explanation of each side's log-probs.

    Args:
        sampler: takes lists of prompt ids, gives the replies' ids and their log-probs, as the
            engine reports them.
        trainer: takes prompts and the sampler's replies, gives the ids that it scores and their
            log-probs, as the loss gets them.
        prompts: several dozen; a hundred tokens of replies are needed, three hundred are better.
        model: the policy as it is trained; its weights stay as they are.
        snapshots: state dicts of earlier steps by name, "1 step old"; without them staleness
            cannot be told from any other change of weights.
        pad_id: of a left-padded batch; by default the model's.

    Raises:
        BadRequest: fewer than 100 tokens were sampled.

    Source:
        verl#2953 and arXiv 2510.26788 for the difference; the search is this course's own.
    """
    ids, reported = sampler(prompts)
    scored_ids, scored = trainer(prompts, ids)
    num_tokens = sum(map(len, ids))
    if num_tokens < FEW:
        raise BadRequest(
            f"the sampler gave {num_tokens} tokens",
            why=f"settings cannot be read off fewer than {FEW}",
            fix="give more prompts, or let the sampler answer each several times",
        )
    if wrong := _misfit(ids, reported, scored_ids, scored):
        return PolicyComparison((wrong[0],), num_tokens, detail=wrong[1])
    pad_id = model.config.pad_token_id if pad_id is None else pad_id
    explainer = Explainer(model, prompts, ids, snapshots or {}, pad_id)
    s_N, t_N = (torch.tensor([v for row in side for v in row]) for side in (reported, scored))
    sides = explainer.sampler(s_N), explainer.trainer(t_N)
    d_N, rows_N = t_N - s_N, explainer.tokens.rows_N
    ratio_B = torch.zeros(len(ids)).index_add_(0, rows_N, d_N).exp()
    return PolicyComparison(
        tuple(_causes(*sides, gap=d_N.abs().mean().item(), rounding=explainer.rounding)),
        num_tokens,
        gap=d_N.abs().mean().item(),
        largest=d_N.abs().max().item(),
        one_sign=(d_N.mean().abs() / d_N.abs().mean().clamp(min=1e-12)).item(),
        ratios=(ratio_B.min().item(), ratio_B.median().item(), ratio_B.max().item()),
        sides=sides,
    )


def _misfit(ids: Ids, reported: Logps, scored_ids: Ids, scored: Logps) -> tuple[str, str] | None:
    """The first place where ids or lengths differ: log-probs are compared only after that."""
    for row, (mine, other) in enumerate(zip(ids, scored_ids, strict=True)):
        if list(mine) != list(other):
            place = next((n for n, (a, b) in enumerate(zip(mine, other)) if a != b), len(mine))  # noqa: B905  lengths may differ
            return "retokenised", f"Reply {row} differs from token {place} on."
    for row, (tokens, *both) in enumerate(zip(ids, reported, scored, strict=True)):
        if wrong := [len(logps) for logps in both if len(logps) != len(tokens)]:
            said = f"Reply {row} has {len(tokens)} tokens and {wrong[0]} log-probs."
            return "lengths", said
    return None


def _causes(sampler: Explanation, trainer: Explanation, *, gap: float, rounding: float):
    """Names of the differences between two explanations."""
    if gap <= rounding:
        return
    if sampler.is_complete and trainer.is_complete:
        yield from _settings(sampler.decoding, trainer.decoding)
    if not sampler.is_complete:
        yield UNKNOWN
    elif sampler.weights != CURRENT:
        is_format = sampler.weights in ("bfloat16", "float16", "int8")
        yield "precision" if is_format else "stale"
    if not trainer.is_complete:
        yield "context"
    elif trainer.context != PLAIN:
        yield trainer.context.split()[0]


def _settings(mine: Decoding, other: Decoding):
    """Names of the settings that differ."""
    if not _same(mine.temperature, other.temperature):
        yield "temperature"
    if any(not _same(getattr(mine, n), getattr(other, n)) for n in ("top_k", "top_p", "min_p")):
        yield "support"
    if not _same(mine.repetition_penalty, other.repetition_penalty):
        yield "penalty"


def _nats(size: float) -> str:
    """A difference in words: below 1e-5 it varies from machine to machine.

    >>> _nats(3e-8), _nats(0.0123)
    ('rounding', '0.012 nats')
    """
    return f"{size:.2g} nats" if size >= 1e-5 else "rounding"


def _same(one: float, other: float) -> bool:
    return abs(one - other) <= 0.02 * max(abs(one), abs(other))
