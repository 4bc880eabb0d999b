"""Lesson 04's loop with a separate engine for the rollouts: two log-probs for one token.

Everything that may differ between engine and trainer is an argument. It judges nothing.
Shape letters: B = replies, P = prompt tokens, T = tokens of a reply.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor

from course_utils import zoo
from course_utils.diagnostics.policies import PolicyComparison, compare_policies
from course_utils.reproductions.lesson_04.verl_grpo import VerlGrpo
from course_utils.reproductions.lesson_04.verl_rollout import Batch
from course_utils.reproductions.lesson_09.engine import Engine, Ids, Logps
from course_utils.zoo.arithmetic import is_right

SETTINGS = dict(
    device="cpu",
    logits_dtype="float32",
    learning_rate=1e-4,
    num_prompts=8,
    ppo_mini_batch_size=64,  # one update a rollout
    response_length=5,
    entropy_coeff=0.0,
    use_kl_loss=False,
    kl_coef=0.0,
)
NUM_STEPS = 12

Score = Callable[[Tensor, Tensor], Tensor]  # logits (B, T, V) and ids (B, T) to log-probs (B, T)
Weigh = Callable[[Tensor, Tensor, Tensor], Tensor]  # trainer's, engine's, mask, each (B, T)
View = Callable[[Batch], Batch]  # what the trainer makes of a rollout


def at_temperature_1(logits_BTV: Tensor, ids_BT: Tensor) -> Tensor:
    """The log-probs of plain softmax."""
    return logits_BTV.log_softmax(-1).gather(-1, ids_BT[..., None])[..., 0]


class TwoPolicies(VerlGrpo):
    """The run. `gaps` holds, for each rollout, the mean |trainer's log-prob - engine's|.

    Args:
        engine: makes the rollouts.
        score: how the trainer turns logits into log-probs.
        weigh: weights of the tokens, from both log-probs; None weighs all alike.
        sync_every: rollouts between two hand-overs of the weights; 0 is never.
        old: whose log-probs PPO's ratio has below it, "trainer" or "engine".
        view: what the trainer sees of a rollout; None is all of it, as it is.
        keep: how many earlier weights are kept in `snapshots`, the latest first.
        settings: fields of `verl_grpo.Settings`.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        score: Score = at_temperature_1,
        weigh: Weigh | None = None,
        sync_every: int = 1,
        old: str = "trainer",
        view: View | None = None,
        keep: int = 0,
        **settings: object,
    ) -> None:
        super().__init__(**SETTINGS | settings)
        self._states: deque[dict[str, Tensor]] = deque(maxlen=keep)
        self.engine, self.score, self.weigh = engine, score, weigh
        self.sync_every, self.old, self.view = sync_every, old, view
        engine.generator.manual_seed(self.settings.seed)
        self.engine_logp: Tensor | None = None
        self.alive: Tensor | None = None  # 1 at the tokens of the replies
        self.gaps: list[float] = []
        self.weights: list[float] = []

    def rollout(self) -> Batch:
        """Replies of the engine to new sums, and their scores."""
        s, step = self.settings, len(self.steps)
        state = self.actor.state_dict() if self._states.maxlen else {}
        self._states.appendleft({name: value.clone() for name, value in state.items()})
        self._hand_over()
        sums = zoo.arithmetic.prompts(s.num_prompts, s.seed * 1000 + step, level="hard")
        prompts = self.tokenizer.apply_chat_template(
            list(sums["prompt"]), add_generation_prompt=True, return_dict=False
        )
        replies, logps = self.engine(prompts, length=s.response_length, n=s.n)
        self.engine_logp = torch.stack([self._padded(row, 0.0) for row in logps])
        asked = [prompt for prompt in prompts for _ in range(s.n)]
        texts = self.tokenizer.batch_decode(replies, skip_special_tokens=True)
        answers = [answer for answer in sums["answer"] for _ in range(s.n)]
        right = [float(one) for one in map(is_right, texts, answers)]
        batch = self.lay_out(asked, replies, torch.tensor(right))
        self.alive = batch.response_mask
        return self.view(batch) if self.view else batch

    def _hand_over(self) -> None:
        """Sync the engine, if the next rollout has a sync before it."""
        if self.sync_every and len(self.steps) % self.sync_every == 0:
            self.engine.sync(self.actor)

    def lay_out(self, asked: list[list[int]], replies: list[list[int]], scores: Tensor) -> Batch:
        """Prompts padded on the left, replies on the right."""
        pad = self.tokenizer.pad_token_id
        given = self.tokenizer.pad({"input_ids": asked}, padding_side="left", return_tensors="pt")
        responses = torch.stack([self._padded(row, pad) for row in replies])
        alive = torch.stack([self._padded([1] * len(row), 0) for row in replies])
        ids = torch.cat([given["input_ids"], responses], 1)
        mask = torch.cat([given["attention_mask"], alive], 1)
        return Batch(ids, mask, (mask.cumsum(-1) - 1).clamp(min=0), responses, scores)

    def _padded(self, row: list, value: float) -> Tensor:
        return F.pad(torch.tensor(row), (0, self.settings.response_length - len(row)), value=value)

    def compute_log_prob(self, model, batch: Batch) -> tuple[Tensor, Tensor]:
        """Log-probs of the response tokens by `score`, and zeros for the entropy."""
        if model is self.reference and not self.settings.use_kl_loss:  # nothing asks for it
            nothing_BT = torch.zeros(batch.responses.shape)
            return nothing_BT, nothing_BT
        output = model(
            input_ids=batch.input_ids,
            attention_mask=batch.attention_mask,
            position_ids=batch.position_ids,
        )
        logits_BTV = output.logits[:, -self.settings.response_length - 1 : -1].float()
        logp_BT = self.score(logits_BTV, batch.responses)
        return logp_BT, torch.zeros_like(logp_BT)

    @torch.no_grad()
    def prepare(self, batch: Batch) -> None:
        """Compute log-probs and advantages, and multiply in the importance weights."""
        super().prepare(batch)
        mask = self.alive
        gap = (batch.old_log_prob - self.engine_logp).abs()
        self.gaps.append((gap * mask).sum().item() / mask.sum().item())
        if self.weigh:
            weight = self.weigh(batch.old_log_prob, self.engine_logp, mask)
            batch.advantages = batch.advantages * weight
            self.weights.append((weight * mask).sum().item() / mask.sum().item())
        if self.old == "engine":
            batch.old_log_prob = self.engine_logp

    @property
    def snapshots(self) -> dict[str, dict[str, Tensor]]:
        """The weights that made the last rollouts, by age; the last update came after `1`."""
        return {f"{age} steps old": state for age, state in enumerate(self._states, start=1)}

    @torch.no_grad()
    def scored(self, prompts: Ids, replies: Ids) -> tuple[Ids, Logps]:
        """The replies as the trainer scores them, for `compare_policies`."""
        batch = self.lay_out(prompts, replies, torch.zeros(len(replies)))
        batch = self.view(batch) if self.view else batch
        logps = self.compute_log_prob(self.actor, batch)[0].tolist()
        return replies, [row[: len(reply)] for row, reply in zip(logps, replies, strict=True)]

    def compare(self, *, num: int = 64) -> PolicyComparison:
        """Engine and trainer as in the next rollout, on separate sums."""
        self._hand_over()
        sums = zoo.arithmetic.prompts(num, 77, level="hard")
        prompts = self.tokenizer.apply_chat_template(
            list(sums["prompt"]), add_generation_prompt=True, return_dict=False
        )
        sampler = lambda asked: self.engine(asked, length=self.settings.response_length)  # noqa: E731
        return compare_policies(
            sampler, self.scored, prompts, model=self.actor, snapshots=self.snapshots
        )

    def held_out(self, num: int = 256) -> float:
        """Share of held-out sums right when the *trained* policy is sampled at temperature 1."""
        judge = Engine(model=self.actor)
        sums = zoo.arithmetic.prompts(num, 0, level="hard", split="test")
        prompts = self.tokenizer.apply_chat_template(
            list(sums["prompt"]), add_generation_prompt=True, return_dict=False
        )
        replies, _ = judge(prompts, length=self.settings.response_length)
        texts = self.tokenizer.batch_decode(replies, skip_special_tokens=True)
        return sum(map(is_right, texts, sums["answer"])) / num


# --- what a trainer may make of a rollout -------------------------------------------------------


def with_system_prompt(batch: Batch) -> Batch:
    """The replies after a longer prompt, as from a chat template with a default message."""
    message = {"role": "system", "content": "You are a helpful assistant that adds numbers."}
    ids = zoo.load_tokenizer("tiny").apply_chat_template([message], return_dict=False)
    front = torch.tensor(ids).expand(len(batch.input_ids), -1)
    mask = torch.cat([torch.ones_like(front), batch.attention_mask], 1)
    return replace(
        batch,
        input_ids=torch.cat([front, batch.input_ids], 1),
        attention_mask=mask,
        position_ids=(mask.cumsum(-1) - 1).clamp(min=0),
    )


def without_mask(batch: Batch) -> Batch:
    """Padding on the left is attended to, and counted in the positions."""
    mask = batch.attention_mask.clone()
    mask[:, : -batch.responses.shape[1]] = 1
    return replace(batch, attention_mask=mask, position_ids=(mask.cumsum(-1) - 1).clamp(min=0))


def with_a_gap(batch: Batch, *, gap: int = 8) -> Batch:
    """The positions of the reply begin `gap` too late."""
    positions = batch.position_ids.clone()
    positions[:, -batch.responses.shape[1] :] += gap
    return replace(batch, position_ids=positions)


def views() -> dict[str, View]:
    """All of them by name."""
    return {"system": with_system_prompt, "mask": without_mask, "positions": with_a_gap}
