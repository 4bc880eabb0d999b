"""A broken policy-gradient run that lesson 04 has not shown: one loop, and a loss of three terms.

A small policy learns the replies to eight prompts in seconds. Each sick term breaks out of the
run's own replies; its healthy twin stands above it. Nothing here says what is wrong, or where.
Shape letters: B = replies, T = response tokens, V = vocabulary.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from course_utils.shown.report import Report, Table

NUM_PROMPTS, NUM_REPLIES, NUM_TOKENS, VOCABULARY = 8, 16, 5, 11
STOP = VOCABULARY - 1
TARGETS = ("4071", "33", "9", "58216", "", "120", "6645", "88")  # the right reply to each prompt
FIRST_BIAS = -7.0  # of the STOP logit: at first it hardly ever stops
ENGINE_PADDING = -100.0  # what the rollout engine writes where it computed no log-prob
LOGGED = ("step", "reward", "loss", "policy", "anchor", "entropy", "grad_norm")

Term = Callable[..., Tensor]


@dataclass(frozen=True)
class Replies:
    """One rollout: what was asked and written, and what the engine says about it."""

    prompts: Tensor  # (B,), numbers of prompts; the replies to one stand together
    tokens: Tensor  # (B, T), STOP from the end of the reply on
    mask: Tensor  # (B, T), 1 up to the first STOP, 0 at the padding behind it
    engine_logp: Tensor  # (B, T), ENGINE_PADDING where the mask is 0
    scores: Tensor  # (B,), share of right tokens

    @property
    def digits(self) -> Tensor:
        """1 at what the reply writes, 0 at its STOP and at the padding, (B, T)."""
        return (self.tokens != STOP).float()

    @property
    def advantages(self) -> Tensor:
        """Score against the replies to the same prompt, in standard deviations, (B, 1)."""
        groups = self.scores.view(-1, NUM_REPLIES)
        centred = groups - groups.mean(1, keepdim=True)
        return (centred / (groups.std(1, keepdim=True) + 1e-4)).view(-1, 1)


class Policy(nn.Module):
    """Logits of every position from the prompt and the position, (B,) -> (B, T, V)."""

    def __init__(self) -> None:
        super().__init__()
        self.prompt = nn.Embedding(NUM_PROMPTS, 32)
        self.position = nn.Embedding(NUM_TOKENS, 32)
        self.head = nn.Sequential(nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, VOCABULARY))
        nn.init.zeros_(self.head[2].weight)
        with torch.no_grad():
            self.head[2].bias.zero_()[STOP] = FIRST_BIAS

    def forward(self, prompts: Tensor) -> Tensor:
        return self.head(self.prompt(prompts)[:, None] + self.position.weight)


def ratio_of_tokens(logp: Tensor, engine_logp: Tensor, advantages: Tensor, mask: Tensor) -> Tensor:
    """Policy gradient of each token, weighted by the ratio to the engine's policy, (B, T)."""
    log_ratio = ((logp - engine_logp) * mask).clamp(max=math.log(2.0))
    return -torch.exp(log_ratio) * advantages * mask


def distance_of_replies(logp: Tensor, ref_logp: Tensor, digits: Tensor) -> Tensor:
    """Mean distance to the reference over the digits of each reply, (B,)."""
    distance = 0.5 * (logp - ref_logp).square()
    return (distance * digits).sum(1) / digits.sum(1).clamp(min=1)


def entropy_of_positions(logits: Tensor, allowed: Tensor) -> Tensor:
    """Entropy of each position over the allowed tokens, (B, T, V) twice -> (B, T)."""
    logits = logits.masked_fill(~allowed, -1e9)
    logp = torch.log_softmax(logits, dim=-1)
    return -(logp.exp() * logp).sum(-1)


def ratio_to_the_engine(
    logp: Tensor, engine_logp: Tensor, advantages: Tensor, mask: Tensor
) -> Tensor:
    """Policy gradient of each token, weighted by the ratio to the engine's policy, (B, T)."""
    ratio = torch.exp(logp - engine_logp)
    return -ratio.clamp(max=2.0) * advantages * mask


def mean_distance(logp: Tensor, ref_logp: Tensor, digits: Tensor) -> Tensor:
    """Mean distance to the reference over the digits of each reply, (B,)."""
    distance = 0.5 * (logp - ref_logp).square()
    length = digits.sum(1)
    return torch.where(length > 0, (distance * digits).sum(1) / length, 0.0)


def entropy_under_grammar(logits: Tensor, allowed: Tensor) -> Tensor:
    """Entropy of each position over the allowed tokens, (B, T, V) twice -> (B, T)."""
    logp = torch.log_softmax(logits.masked_fill(~allowed, -math.inf), dim=-1)
    each = logp.exp() * logp
    return -torch.where(allowed, each, 0.0).sum(-1)


class SmallRun:
    """The run: a policy, its reference, and a loss of three terms, one of which may be sick.

    >>> SmallRun(seed=0).train(2).updates[0]["step"]
    1
    """

    def __init__(
        self,
        *,
        seed: int = 0,
        policy_term: Term = ratio_of_tokens,
        anchor_term: Term = distance_of_replies,
        entropy_term: Term = entropy_of_positions,
    ) -> None:
        torch.manual_seed(seed)
        self.policy, self.reference = Policy(), Policy()
        self.reference.load_state_dict(self.policy.state_dict())
        self.policy_term, self.anchor_term = policy_term, anchor_term
        self.entropy_term = entropy_term
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=1e-2)
        self.generator = torch.Generator().manual_seed(seed)
        self.updates: list[dict] = []

    def train(self, num_updates: int) -> "SmallRun":
        """Take `num_updates` more updates, each on a rollout of its own."""
        for _ in range(num_updates):
            self.update(self.rollout())
        return self

    @torch.no_grad()
    def rollout(self) -> Replies:
        """Sample as an engine does, with exponential noise; behind a STOP there is only STOP."""
        prompts = torch.arange(NUM_PROMPTS).repeat_interleave(NUM_REPLIES)
        probs = self.policy(prompts).softmax(-1)
        noise = torch.empty_like(probs).exponential_(generator=self.generator)
        tokens = (probs / noise).argmax(-1)
        stops = tokens == STOP
        stopped = stops.cumsum(1) - stops.long() > 0  # behind the first STOP
        tokens = tokens.masked_fill(stopped, STOP)
        logp = probs.log().gather(-1, tokens[..., None])[..., 0]
        scores = (tokens == _targets()[prompts]).float().mean(1)
        mask = (~stopped).float()
        return Replies(prompts, tokens, mask, logp.masked_fill(stopped, ENGINE_PADDING), scores)

    def loss(self, replies: Replies) -> dict[str, Tensor]:
        """The loss of one rollout and its three parts."""
        logits, mask = self.policy(replies.prompts), replies.mask
        logp = _of_tokens(logits, replies.tokens)
        with torch.no_grad():
            ref_logp = _of_tokens(self.reference(replies.prompts), replies.tokens)
        stops = torch.arange(VOCABULARY) == STOP
        allowed = (mask[..., None] == 1) | stops  # the grammar: after the end only STOP
        policy = self.policy_term(logp, replies.engine_logp, replies.advantages, mask).mean()
        anchor = self.anchor_term(logp, ref_logp, replies.digits).mean()
        entropy = self.entropy_term(logits, allowed).mean()
        loss = policy + 0.01 * anchor - 0.003 * entropy
        return {"loss": loss, "policy": policy, "anchor": anchor, "entropy": entropy}

    def update(self, replies: Replies) -> None:
        """Backward, clip, step, and one line of the log."""
        output = self.loss(replies)
        self.optimizer.zero_grad()
        output["loss"].backward()
        grad_norm = nn.utils.clip_grad_norm_(self.policy.parameters(), 1.0)
        self.optimizer.step()
        logged = {name: value.item() for name, value in output.items()}
        logged |= {"reward": replies.scores.mean().item(), "grad_norm": grad_norm.item()}
        self.updates.append({"step": len(self.updates) + 1, **logged})

    @property
    def is_dead(self) -> bool:
        return not all(weight.isfinite().all() for weight in self.policy.parameters())


def _targets() -> Tensor:
    """The right replies, filled up with STOP, (prompts, T)."""
    rows = [[int(c) for c in text] + [STOP] * (NUM_TOKENS - len(text)) for text in TARGETS]
    return torch.tensor(rows)


def _of_tokens(logits: Tensor, tokens: Tensor) -> Tensor:
    return torch.log_softmax(logits, dim=-1).gather(-1, tokens[..., None])[..., 0]


@dataclass(frozen=True)
class Ticket(Report):
    """What somebody hands over with a run that broke: its log, its terms, and what it might be."""

    seed: int
    terms: dict[str, Term]  # the three terms of the loss, by the names that `SmallRun` takes
    causes: dict[str, str]
    num_updates: int = 40

    def fresh(self, **changes: object) -> SmallRun:
        """The run from its beginning, with the reported terms unless `changes` gives another."""
        return SmallRun(**{"seed": self.seed, **self.terms, **changes})

    @property
    def parts(self) -> dict[str, Term]:
        """What a mend may take the place of."""
        return self.terms

    @property
    def headline(self) -> str:
        return "The reward rose, and from one update to the next it is the reward of a dead policy."

    def table(self) -> Table:
        """The last lines of the log: it was stopped two updates after the reward fell."""
        run = self.fresh().train(self.num_updates)
        first_dead = next(u["step"] for u in run.updates if not math.isfinite(u["loss"]))
        entries = run.updates[max(first_dead - 7, 0) : first_dead + 1]
        rows = [(str(e["step"]), *(f"{e[name]:.3f}" for name in LOGGED[1:])) for e in entries]
        causes = (f"{letter}) {text}" for letter, text in self.causes.items())
        columns = ("update", *LOGGED[1:])
        return Table(columns=columns, rows=rows, notes=("It may be:", *causes))

    def to_dict(self) -> dict:
        return {"seed": self.seed, "terms": list(self.terms), "causes": self.causes}
