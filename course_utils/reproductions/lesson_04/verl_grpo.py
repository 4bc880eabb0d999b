"""A GRPO loop in verl's manner, small enough to read: rollout, log-probs, advantages, updates.

Names and defaults are those of verl 0.2.0.post2; what a lesson varies is a field of `Settings`.
Shape letters: B = replies, T = response tokens, V = vocabulary. It prints and draws nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from course_utils import zoo
from course_utils.reproductions.lesson_04 import verl_formulas
from course_utils.reproductions.lesson_04.verl_rollout import Batch, generate, right_share
from course_utils.shown.progress_line import track
from course_utils.shown.report import Table
from course_utils.zoo.load import name_of_dtype

LOGGED = ("pg_loss", "kl_loss", "ppo_kl", "pg_clipfrac", "entropy_loss", "grad_norm")


def always(grad_norm: Tensor) -> bool:
    """Whether to take the optimizer step: 0.2 took every one."""
    return True


@dataclass(frozen=True)
class Settings:
    """What can differ between two runs. The first block is the task's, the rest is verl's."""

    model: str = "tiny"
    device: str = "auto"
    seed: int = 0
    learning_rate: float = 1e-4
    logits_dtype: str | torch.dtype = "float16"  # what the lm_head of a float16 model gives
    num_prompts: int = 8
    n: int = 8  # replies to each prompt
    response_length: int = 16

    temperature: float = 1.0
    ppo_mini_batch_size: int = 32
    clip_ratio: float = 0.2
    entropy_coeff: float = 0.001
    grad_clip: float = 1.0
    use_kl_loss: bool = True
    kl_loss_coef: float = 0.001
    kl_loss_type: str = "low_var_kl"
    kl_coef: float = 0.001  # algorithm.kl_ctrl.kl_coef, of the KL in the reward
    kl_in_reward: str = "kl"  # algorithm.kl_penalty
    use_remove_padding: bool = False

    kl_penalty: Callable[..., Tensor] = verl_formulas.kl_penalty
    masked_mean: Callable[[Tensor, Tensor], Tensor] = verl_formulas.masked_mean
    may_step: Callable[[Tensor], bool] = always


class VerlGrpo:
    """The run: a policy, its frozen reference, and what one step of GRPO does with them.

    >>> run = VerlGrpo(num_prompts=2, n=2, response_length=5, device="cpu")
    >>> run.train(1)
    >>> len(run.steps), len(run.updates)
    (1, 1)
    """

    def __init__(self, **changes: object) -> None:
        self.settings = s = Settings(**changes)
        torch.manual_seed(s.seed)
        self.generator = torch.Generator().manual_seed(s.seed)
        self.tokenizer = zoo.load_tokenizer(s.model)
        self.actor = zoo.load_policy(s.model, device=s.device).train()
        self.reference = zoo.load_policy(s.model, device=s.device).eval()
        self.optimizer = torch.optim.AdamW(self.actor.parameters(), lr=s.learning_rate)
        self.steps: list[dict] = []  # one entry per rollout
        self.updates: list[dict] = []  # one entry an optimizer step, the metrics as verl names them
        self.batch: Batch | None = None  # the last one

    def train(self, num_steps: int, *, loss: Callable[[Batch], dict] | None = None) -> None:
        """Take `num_steps` more steps, or fewer: one whole rollout of a dead policy is enough.

        Args:
            loss: stands in for `self.loss`, so that an instrument can watch it.
        """
        for _ in track(range(num_steps), "rollouts"):
            self.batch = batch = self.rollout()
            self.prepare(batch)
            self.steps.append(self.describe(batch))
            for mini in batch.split(self.settings.ppo_mini_batch_size):
                self.update(mini, loss or self.loss)
            if self.is_dead:
                return

    @property
    def is_dead(self) -> bool:
        """Whether the policy that made the last rollout already had nan in its log-probs."""
        return bool(self.steps and self.steps[-1]["old_log_prob_nan"])

    def rollout(self) -> Batch:
        """Ask new sums, n times each, and score the replies."""
        s = self.settings
        sums = zoo.arithmetic.prompts(s.num_prompts, s.seed * 1000 + len(self.steps), level="hard")
        return generate(
            self.actor,
            self.tokenizer,
            sums,
            n=s.n,
            response_length=s.response_length,
            temperature=s.temperature,
            generator=self.generator,
        )

    def evaluate(self, model=None) -> float:
        """The probability that a sampled reply is the right sum and its end, over 32 held-out sums.

        Read from the logits, so it has no noise of sampling. A policy with nan has 0.

        Args:
            model: `self.reference` says where the policy began; None means the policy.
        """
        sums = zoo.arithmetic.prompts(32, 0, level="hard", split="test")
        return right_share(model or self.actor, self.tokenizer, sums, self.settings.temperature)

    def compute_log_prob(self, model, batch: Batch) -> tuple[Tensor, Tensor]:
        """Log-probs of the response tokens and the entropy there, each (B, T)."""
        s = self.settings
        output = model(
            input_ids=batch.input_ids,
            attention_mask=batch.attention_mask,
            position_ids=batch.position_ids,
        )
        dtype = getattr(torch, name_of_dtype(s.logits_dtype))
        logits = output.logits.to(dtype) / s.temperature
        logits = logits[:, -s.response_length - 1 : -1]
        log_prob = torch.log_softmax(logits, dim=-1).gather(-1, batch.responses[..., None])[..., 0]
        if s.use_remove_padding:  # verl's pad_input puts zeros where nothing was computed
            log_prob = log_prob.masked_fill(batch.response_mask == 0, 0.0)
        return log_prob, verl_formulas.entropy_from_logits(logits)

    @torch.no_grad()
    def prepare(self, batch: Batch) -> None:
        """Add the log-probs of policy and reference, and the advantages."""
        s, mask = self.settings, batch.response_mask
        batch.old_log_prob = self.compute_log_prob(self.actor, batch)[0]
        batch.ref_log_prob = self.compute_log_prob(self.reference, batch)[0]
        token_level_rewards = torch.zeros_like(mask, dtype=torch.float32)
        token_level_rewards[:, -1] = batch.scores
        if not s.use_kl_loss:  # 0.2 put the KL into one place or the other
            kld = s.kl_penalty(batch.old_log_prob, batch.ref_log_prob, s.kl_in_reward)
            token_level_rewards = token_level_rewards - s.kl_coef * kld * mask
        batch.advantages = verl_formulas.grpo_advantage(token_level_rewards, mask, n=s.n)

    def loss(self, mini: Batch) -> dict[str, Tensor]:
        """The loss of one mini-batch, and verl's metrics on the way to it."""
        s, mask = self.settings, mini.response_mask
        log_prob, entropy = self.compute_log_prob(self.actor, mini)
        pg_loss, pg_clipfrac, ppo_kl = verl_formulas.compute_policy_loss(
            mini.old_log_prob, log_prob, mini.advantages, mask, s.clip_ratio, s.masked_mean
        )
        entropy_loss = s.masked_mean(entropy, mask)
        loss = pg_loss - s.entropy_coeff * entropy_loss
        metrics = {"actor/pg_loss": pg_loss, "actor/pg_clipfrac": pg_clipfrac}
        metrics |= {"actor/ppo_kl": ppo_kl, "actor/entropy_loss": entropy_loss}
        if s.use_kl_loss:
            kld = s.kl_penalty(log_prob, mini.ref_log_prob, s.kl_loss_type)
            kl_loss = s.masked_mean(kld, mask)
            loss = loss + s.kl_loss_coef * kl_loss
            metrics["actor/kl_loss"] = kl_loss
        log_ratio = (mini.ref_log_prob - log_prob).detach()
        metrics["largest at tokens"] = log_ratio[mask == 1].max()
        metrics["largest at padding"] = log_ratio.masked_fill(mask == 1, 0.0).max()
        return {"loss": loss, **metrics}

    def update(self, mini: Batch, loss_of: Callable[[Batch], dict]) -> None:
        """Backward, clip, step, as in verl 0.2."""
        s = self.settings
        output = loss_of(mini)
        self.optimizer.zero_grad()
        output["loss"].backward()
        grad_norm = torch.nn.utils.clip_grad_norm_(self.actor.parameters(), s.grad_clip)
        stepped = bool(s.may_step(grad_norm))
        if stepped:
            self.optimizer.step()
        metrics = {name: value.item() for name, value in output.items()}
        metrics |= {"actor/grad_norm": grad_norm.item(), "stepped": stepped}
        self.updates.append({"step": len(self.steps), **metrics})

    def describe(self, batch: Batch) -> dict:
        """What is known about a rollout before it is learned from."""
        return {
            "step": len(self.steps) + 1,
            "critic/score/mean": batch.scores.mean().item(),
            "old_log_prob_nan": bool(batch.old_log_prob.isnan().any()),
            "response_length/mean": batch.response_mask.sum(1).float().mean().item(),
            "reply": self.tokenizer.decode(batch.responses[0], skip_special_tokens=True),
        }

    def table(self) -> Table:
        """One row for each rollout: score, whether its log-probs are nan, its first reply."""
        fields = ("step", "critic/score/mean", "old_log_prob_nan", "reply")  # verl's names
        rows = [_row(step, fields) for step in self.steps]
        return Table(columns=("rollout", *fields[1:]), rows=rows)

    def update_table(self, *, last: int) -> Table:
        """The last updates, with the metrics that verl logs for them, without their `actor/`."""
        fields = ("step", "loss", *(f"actor/{name}" for name in LOGGED))
        first = len(self.updates) - last + 1
        rows = [
            (str(number), *_row(update, fields))
            for number, update in enumerate(self.updates[-last:], start=first)
        ]
        return Table(columns=("update", "rollout", "loss", *LOGGED), rows=rows)


def _row(entry: dict, columns: tuple[str, ...]) -> tuple[str, ...]:
    values = (entry[column] for column in columns)
    return tuple(f"{v:.3f}" if isinstance(v, float) else str(v) for v in values)
