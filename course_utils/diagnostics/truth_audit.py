"""Asks a policy the same held-out questions during training, to set the truth beside the reward.

For TRL's GRPOTrainer. It never changes the run: greedy replies draw no random number. It audits
what has happened; it forecasts nothing.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import torch

from course_utils.diagnostics.callbacks import RunCallback
from course_utils.errors import BadRequest
from course_utils.shown.report import Table

BATCH_SIZE = 64
# What GRPOTrainer logs of the sampled replies, and what the audit calls it.
LOGGED = {
    "grad_norm": "grad_norm",
    "entropy": "entropy",
    "length": "completions/mean_length",
    "cut": "completions/clipped_ratio",
}


@dataclass(frozen=True)
class AuditResult:
    """One look at the fixed questions; shares from 0 to 1, rewards as the trainer weighs them."""

    step: int
    reward: float  # mean over the replies; nan where no reward function gave one
    truth: float  # share of right replies
    pays_right: float  # mean reward of the right replies; nan where there are none
    pays_wrong: float
    replies: tuple[str, ...] = field(repr=False)
    logged: dict[str, float] = field(
        default_factory=dict
    )  # the trainer's entry of the step; at 0, of 1


class TruthAudit(RunCallback):
    """Greedy replies to fixed questions, judged by a second verifier every few steps.

    Args:
        rows: a dataset or dicts with `prompt` (messages or text), the column `answer` and what
            else the reward functions take. Held out: no prompt of the training set.
        is_right: takes a reply's text and the row's answer. Not the reward itself: a verifier
            that is compared with itself agrees.
        every: steps between two looks; one comes before the first step, one after the last.
        answer: the name of the column that `is_right` is given.

    Every reward function whose weight is not 0 is called on the replies as well.

    Numerics:
        A share p of n replies has a standard error of sqrt(p (1 - p) / n): 0.06 for n = 64.

    >>> TruthAudit([{"prompt": "1+1=", "answer": "2"}], str.__eq__)
    TruthAudit: it has looked at nothing; attach(trainer), then train
    """

    def __init__(
        self,
        rows: Iterable[dict],
        is_right: Callable[[str, object], bool],
        *,
        every: int = 5,
        answer: str = "answer",
    ) -> None:
        self._rows, self._is_right = [dict(row) for row in rows], is_right
        if not self._rows or {"prompt", answer} - set(self._rows[0]):
            raise BadRequest(
                f"the rows have the columns {sorted(self._rows[0]) if self._rows else 'none'}",
                why="the policy is asked each prompt, and its reply is judged by the answer",
                fix=f"give rows with `prompt` and `{answer}`, or name the column: answer=...",
            )
        self._every, self._answer = every, answer
        self._trainer = None
        self.audits: list[AuditResult] = []

    def attach(self, trainer) -> "TruthAudit":
        """Audit this trainer's model; its own reward functions are the proxy.

        Raises:
            BadRequest: the trainer has no reward functions.
        """
        if not hasattr(trainer, "reward_funcs"):
            raise BadRequest(
                f"{type(trainer).__name__} has no reward functions",
                why="the audit puts the truth beside the reward",
                fix="attach it to a GRPOTrainer",
            )
        self._trainer = trainer
        trainer.add_callback(self)
        return self

    def on_train_begin(self, args, state, control, **more) -> None:
        self.audits.clear()
        self._look(state.global_step)

    def on_step_end(self, args, state, control, **more) -> None:
        if state.global_step % self._every == 0 or state.global_step == state.max_steps:
            self._look(state.global_step)

    def on_log(self, args, state, control, logs=None, **more) -> None:
        due = [audit for audit in self.audits[-1:] if audit.step in (0, state.global_step)]
        seen = {name: logs[key] for name, key in LOGGED.items() if logs.get(key) is not None}
        for audit in due:
            audit.logged.update(seen | audit.logged)

    def _look(self, step: int) -> None:
        replies = self._replies()
        answers = [row[self._answer] for row in self._rows]
        right = [bool(self._is_right(*pair)) for pair in zip(replies, answers, strict=True)]
        rewards = self._rewards(replies)
        paid: dict[bool, list[float]] = {True: [], False: []}
        for reward, is_so in zip(rewards, right, strict=True):
            paid[is_so].append(reward)
        shares = mean(rewards), sum(right) / len(right), mean(paid[True]), mean(paid[False])
        self.audits.append(AuditResult(step, *shares, tuple(replies)))

    @torch.no_grad()
    def _replies(self) -> list[str]:
        trainer, said = self._trainer, []
        model, tokenizer = trainer.accelerator.unwrap_model(trainer.model), trainer.processing_class
        was_training = model.training
        model.eval()
        for start in range(0, len(self._rows), BATCH_SIZE):
            asked = [_text(row["prompt"], tokenizer) for row in self._rows[start:][:BATCH_SIZE]]
            batch = tokenizer(asked, padding=True, padding_side="left", return_tensors="pt")
            limit = trainer.args.max_completion_length
            whole_BT = model.generate(
                **batch.to(model.device), max_new_tokens=limit, do_sample=False
            )
            new_BT = whole_BT[:, batch["input_ids"].shape[1] :]
            said += tokenizer.batch_decode(new_BT, skip_special_tokens=True)
        model.train(was_training)
        return said

    def _rewards(self, replies: list[str]) -> list[float]:
        """The weighted sum of every reply's rewards; nan if no function gave one."""
        is_chat = not isinstance(self._rows[0]["prompt"], str)
        columns = {name: [row[name] for row in self._rows] for name in self._rows[0]}
        columns["prompts"] = columns.pop("prompt")
        columns["completions"] = (
            [[{"role": "assistant", "content": r}] for r in replies] if is_chat else replies
        )
        scores = [
            [math.nan if s is None else weight * float(s) for s in function(**columns)]
            for function, weight in zip(
                self._trainer.reward_funcs, self._trainer.reward_weights.tolist(), strict=True
            )
            if weight
        ]
        return [_total(parts) for parts in zip(*scores, strict=True)]

    @property
    def table(self) -> Table:
        """One row per look."""
        columns = ("step", "reward", "truth", "right earns", "wrong earns", *LOGGED)
        return Table(columns=columns, rows=[_row(a) for a in self.audits], title=self.headline)

    @property
    def headline(self) -> str:
        """How the truth changed, and whether the questions are enough to say so."""
        if not self.audits:
            return "it has looked at nothing; attach(trainer), then train"
        first, last, n = self.audits[0], self.audits[-1], len(self._rows)
        error = math.sqrt((_variance(first.truth) + _variance(last.truth)) / n)
        moved = last.truth - first.truth
        word = "did not move beyond the noise" if abs(moved) <= 2 * error else "rose"
        word = "fell" if moved < -2 * error else word
        return (
            f"The truth {word}: {first.truth:.2f} to {last.truth:.2f} from step {first.step} to "
            f"{last.step}, of {n} questions (2 standard errors: {2 * error:.2f}). The reward went "
            f"from {first.reward:.2f} to {last.reward:.2f}."
        )

    def __repr__(self) -> str:
        return f"{self.table}" if self.audits else f"TruthAudit: {self.headline}"


def mean(numbers: list[float]) -> float:
    """The mean of the entries that are numbers; nan if there is none.

    >>> mean([1.0, math.nan, 0.0])
    0.5
    """
    known = [number for number in numbers if not math.isnan(number)]
    return sum(known) / len(known) if known else math.nan


def _total(parts: tuple[float, ...]) -> float:
    known = [part for part in parts if not math.isnan(part)]
    return sum(known) if known else math.nan


def _variance(share: float) -> float:
    return share * (1 - share)


def _text(prompt: object, tokenizer) -> str:
    if isinstance(prompt, str):
        return prompt
    return tokenizer.apply_chat_template(prompt, add_generation_prompt=True, tokenize=False)


def _row(audit: AuditResult) -> tuple[str, ...]:
    numbers = (audit.reward, audit.truth, audit.pays_right, audit.pays_wrong)
    gradient, *others = map(audit.logged.get, LOGGED)  # a gradient of 1e-4 is not one of 0
    shown = "-" if gradient is None else f"{gradient:.2g}"
    return (str(audit.step), *map(_two_digits, numbers), shown, *map(_two_digits, others))


def _two_digits(number: float | None) -> str:
    return "-" if number is None or math.isnan(number) else f"{number:.2f}"
