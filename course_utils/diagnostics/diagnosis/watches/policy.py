"""Reads each batch of replies that a GRPOTrainer samples, as the trainer itself will score it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn

from course_utils.diagnostics.diagnosis.looks.forward import MAX_ROWS
from course_utils.diagnostics.diagnosis.measures.forward import outputs_of
from course_utils.diagnostics.diagnosis.measures.last_replies import (
    LastReplies,
    last_replies,
    rewards_of,
    said_in,
)
from course_utils.diagnostics.diagnosis.measures.logp_shapes import AGREE, shape_of
from course_utils.diagnostics.diagnosis.measures.policy_numbers import PolicyNumbers, policy_numbers
from course_utils.diagnostics.diagnosis.measures.routes import flips, routers_of
from course_utils.diagnostics.diagnosis.watches.answers import Answers
from course_utils.diagnostics.diagnosis.watches.contradictions import Contradictions
from course_utils.diagnostics.diagnosis.watches.listing import Listing
from course_utils.diagnostics.libraries.trl import (
    ends_of,
    maker_of,
    require_replies,
    samples_replies,
    score,
)

MAX_BATCHES, MAX_ROUTED = 500, 32  # batches that are kept; that routers are asked about
KEPT = ("prompt_ids", "prompt_mask", "completion_ids", "completion_mask")


@dataclass
class Replies:
    """The batches of a run as numbers; tokens and texts are kept of the last batch only."""

    trainer: Any
    sampler: Any = None  # the model that samples, where it is handed over
    numbers: list[PolicyNumbers] = field(default_factory=list)
    failures: list[Exception] = field(default_factory=list)
    last: dict[str, Any] = field(default_factory=dict)
    shape: tuple[str, str] = ("", "")  # how the sampler's log-probs differ, and the fix
    listing: Listing = field(default_factory=Listing)
    answers: Answers = field(default_factory=Answers)
    contradictions: Contradictions = field(default_factory=Contradictions)
    _asked: set[int] = field(default_factory=set)  # prompts of the batches so far, as hashes

    @contextmanager
    def reading(self) -> Iterator["Replies"]:
        """In the block, the trainer's samples are read. Errors in here never reach the run."""
        if not samples_replies(self.trainer):
            yield self
            return
        name = maker_of(self.trainer)
        make, own = getattr(self.trainer, name), vars(self.trainer).get(name)

        def seen(inputs: Any) -> Any:
            output = make(inputs)
            try:
                self._read(output, inputs)
            except Exception as error:
                self.failures.append(error)
            return output

        setattr(self.trainer, name, seen)
        try:
            yield self
        finally:
            if own is None:
                delattr(self.trainer, name)
            else:
                setattr(self.trainer, name, own)

    def _read(self, output: dict[str, Tensor], rows: Any) -> None:
        trainer = self.trainer
        if not trainer.model.training:
            return
        require_replies(output)
        ids, mask = output["completion_ids"], output["completion_mask"]
        with torch.no_grad(), _same_random_numbers():
            logps, entropies = self._score(output)
            moved, flipped = self._moved(), self._flips(output)
        ends = ends_of(trainer)
        last = ids.gather(1, mask.sum(1, keepdim=True).clamp_min(1) - 1)[:, 0]
        ended = torch.tensor([int(i) in ends for i in last]) if ends else None
        found = policy_numbers(
            mask=mask * output.get("tool_mask", 1),
            said=said_in(trainer, ids, mask) * output.get("tool_mask", 1),
            logps=logps,
            sampler_logps=output.get("sampling_per_token_logps"),
            reference_logps=output.get("ref_per_token_logps"),
            entropies=entropies,
            advantages=output["advantages"],
            group=trainer.num_generations,
            ended=ended,
            is_new=self._are_new(output),
            flips=flipped,
        )
        rewards = rewards_of(trainer, len(ids))
        mean = sum(rewards) / len(rewards) if rewards else None
        self.numbers.append(replace(found, moved=moved, reward=mean))
        del self.numbers[:-MAX_BATCHES]
        self._compare(output, logps, found)
        self.last = {name: output[name] for name in KEPT} | {"logps": logps}
        self.listing.read(rows, lambda: self.texts().texts, rewards)
        self.answers.read(rows, lambda: self.texts().texts, trainer)
        group = trainer.num_generations
        self.contradictions.read(rows, lambda: self.texts().texts, rewards, group)

    def _are_new(self, output: dict[str, Tensor]) -> Tensor:
        """Of each row, whether no batch before had its prompt, (N,)."""
        ids, mask = output["prompt_ids"], output["prompt_mask"].bool()
        prompts = [hash(tuple(row[kept].tolist())) for row, kept in zip(ids, mask, strict=True)]
        is_new = torch.tensor([prompt not in self._asked for prompt in prompts], device=ids.device)
        self._asked.update(prompts)
        return is_new

    def _flips(self, output: dict[str, Tensor]) -> Tensor | None:
        """Tokens (N, T) of a reply before which a router chooses other experts in the sampler."""
        is_asked = "sampling_per_token_logps" in output and len(self.numbers) < MAX_ROUTED
        if not is_asked or not routers_of(self.trainer.model):
            return None
        ids, mask = _joined(output)
        width = output["completion_ids"].size(1)
        sampler = self.sampler if isinstance(self.sampler, nn.Module) else None
        batch = {"input_ids": ids, "attention_mask": mask}
        return flips(self.trainer.model, sampler, batch)[:, -width - 1 : -1]

    def texts(self) -> LastReplies | None:
        """The replies of the last batch with their rewards, None before the first."""
        return last_replies(self.trainer, self.last) if self.last else None

    def _compare(self, output: dict[str, Tensor], logps: Tensor, found: PolicyNumbers) -> None:
        """Find what makes log-probs agree, on the first rows of the first batch that disagrees."""
        if self.shape[0] or (found.logp_difference or 0.0) < AGREE:
            return
        few = slice(MAX_ROWS)
        with torch.no_grad(), _same_random_numbers():
            raw = self._raw({name: output[name][few] for name in KEPT})
        self.shape = shape_of(
            logps[few],
            output["sampling_per_token_logps"][few],
            output["completion_mask"][few],
            raw=raw,
            temperature=self.trainer.temperature,
        )

    def _raw(self, output: dict[str, Tensor]) -> Tensor:
        """Log-probs (N, T) of the sampled tokens by the model's logits at temperature 1."""
        ids, mask = _joined(output)
        width = output["completion_ids"].size(1)
        batch = {"input_ids": ids, "attention_mask": mask}
        logits = outputs_of(self.trainer.model, batch)[:, -width - 1 : -1]
        return logits.log_softmax(-1).gather(-1, output["completion_ids"][..., None])[..., 0]

    def _moved(self) -> float | None:
        """How far updates have moved the last batch's log-probs since, in nats per token."""
        if not self.last:
            return None
        gap = (self._score(self.last)[0] - self.last["logps"]).abs()
        return float(gap[self.last["completion_mask"].bool()].mean())

    def _score(self, output: dict[str, Tensor]) -> tuple[Tensor, Tensor | None]:
        """Log-probs and entropies (N, T) of the sampled tokens by the trainer's own function."""
        ids, mask = _joined(output)
        return score(self.trainer, ids, mask, output["completion_ids"].size(1))


def _joined(output: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
    """Ids and mask of prompts and replies, end to end."""
    ids = torch.cat([output["prompt_ids"], output["completion_ids"]], dim=1)
    return ids, torch.cat([output["prompt_mask"], output["completion_mask"]], dim=1)


@contextmanager
def _same_random_numbers() -> Iterator[None]:
    """Restores random states: dropout may draw, and the run must not notice."""
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        yield
