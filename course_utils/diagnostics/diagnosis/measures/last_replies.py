"""The last batch of replies as text, in groups, with what each earned.

Shape letters: N replies, G of a group, T tokens.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from course_utils.diagnostics.diagnosis.measures.specimens import quoted
from course_utils.diagnostics.libraries.trl import ends_of, noted_rewards

ALIKE = 1e-9  # rewards that differ by less are one
SHOWN, ASKED = 4, 40  # replies, and characters of a prompt


@dataclass(frozen=True)
class LastReplies:
    """N replies in groups of G, and their weighted rewards (N,), or None where not known."""

    asked: str  # the end of the first prompt
    texts: Sequence[str]
    rewards: Sequence[float] | None
    group: int
    temperature: float
    limit: int | None  # tokens that a reply may have
    is_unscored: bool = False  # no reward function gave a number for any of them
    clip_range: tuple[float, float] | None = None  # of RLOO's reward_clip_range
    takes_the_likeliest: str = ""  # the setting that makes sampling greedy, if one does
    are_messages: bool = False  # whether the reward functions get lists of messages

    @property
    def share_distinct(self) -> float:
        """The mean share of different texts in a group; 1/G where sampling is greedy."""
        starts = range(0, len(self.texts), self.group)
        groups = [self.texts[at : at + self.group] for at in starts]
        return sum(len(set(one)) / len(one) for one in groups) / len(groups)

    @property
    def clipped_alike(self) -> str:
        """Rewards that differ in a group and are one number once they are clipped; else ""."""
        if self.clip_range is None or self.rewards is None:
            return ""
        low, high = self.clip_range
        groups = [
            self.rewards[at : at + self.group] for at in range(0, len(self.texts), self.group)
        ]
        clipped = [{min(max(one, low), high) for one in group} for group in groups]
        differ = any(max(one) - min(one) > ALIKE for one in groups)
        return self.earned if differ and all(len(one) == 1 for one in clipped) else ""

    @property
    def earned(self) -> str:
        """The rewards of replies: one number, or a range."""
        if self.rewards is None:
            return "not known"
        if self.is_unscored:
            return "no score (None)"
        low, high = min(self.rewards), max(self.rewards)
        return f"{low:.3g}" if high - low < ALIKE else f"{low:.3g} to {high:.3g}"

    @property
    def differs_between_groups(self) -> bool:
        return self.rewards is not None and max(self.rewards) - min(self.rewards) > ALIKE

    def specimen(self) -> tuple[str, ...]:
        """The different replies of the first group, with their number and their rewards."""
        known = None if self.is_unscored else self.rewards
        texts, rewards = self.texts[: self.group], known or [None] * self.group
        earned = dict(zip(texts, rewards, strict=False))
        said = (
            f"{texts.count(text)} x {quoted(text)}"
            + ("" if reward is None else f" earns {reward:.3g}")
            for text, reward in list(earned.items())[:SHOWN]
        )
        return (f"asked: ...{quoted(self.asked)}", *said)


def last_replies(trainer: Any, batch: Mapping[str, Tensor]) -> LastReplies:
    """Read the last batch: ids (N, T) and what TRL noted of its rewards."""
    ids = batch["completion_ids"]
    mask = said_in(trainer, ids, batch["completion_mask"]).bool()
    decode, ends = trainer.processing_class.decode, list(ends_of(trainer))
    texts = [
        decode(row[keep], skip_special_tokens=True)
        or decode(row[keep & ~torch.isin(row, row.new_tensor(ends))])  # of special tokens alone
        for row, keep in zip(ids, mask, strict=True)
    ]
    prompt = batch["prompt_ids"][0][batch["prompt_mask"][0].bool()]
    return LastReplies(
        asked=decode(prompt, skip_special_tokens=True)[-ASKED:],
        texts=texts,
        rewards=rewards_of(trainer, len(texts)),
        group=trainer.num_generations,
        temperature=float(getattr(trainer, "temperature", 1.0) or 1.0),
        limit=getattr(trainer, "max_completion_length", None),
        is_unscored=_has_no_score(trainer, len(texts)),
        clip_range=getattr(trainer, "reward_clip_range", None),
        takes_the_likeliest=_greedy_by(trainer),
        are_messages=_has_messages(trainer),
    )


def _has_messages(trainer: Any) -> bool:
    """Whether the prompts are messages: TRL then hands replies of that form to the rewards."""
    data = getattr(trainer, "train_dataset", None)
    column = (getattr(data, "features", None) or {}).get("prompt")
    return column is not None and "string" not in str(getattr(column, "dtype", ""))


def _greedy_by(trainer: Any) -> str:
    given = getattr(trainer.args, "generation_kwargs", None) or {}
    if given.get("do_sample") is False:
        return "do_sample=False in generation_kwargs"
    return "top_k=1" if 1 in (given.get("top_k"), getattr(trainer.args, "top_k", 0)) else ""


def said_in(trainer: Any, ids: Tensor, mask: Tensor) -> Tensor:
    """Of each reply the tokens that it holds (N, T), also where the loss leaves all of it out.

    A reply that is left out was cut off: it has no end, and only padding stands behind it.
    """
    tokenizer = getattr(trainer.processing_class, "tokenizer", trainer.processing_class)
    pad = getattr(tokenizer, "pad_token_id", None)
    is_text = torch.ones_like(ids) if pad is None else (ids != pad).long()
    upto_last = is_text.flip(1).cumsum(1).flip(1).clamp_max(1)
    return torch.where(mask.bool().any(1, keepdim=True), mask, upto_last.to(mask.dtype))


def rewards_of(trainer: Any, count: int, only: Collection[str] | None = None) -> list[float] | None:
    """The weighted reward sums of the last batch, None where TRL does not keep them.

    Args:
        only: names of reward functions; the sum is of these.
    """
    noted = noted_rewards(trainer) or {}
    parts = [list(scores)[-count:] for scores in noted.values()]
    weights = getattr(trainer, "reward_weights", None)
    if not parts or any(len(part) != count for part in parts):
        return None
    weighed = torch.ones(len(parts)) if weights is None else torch.as_tensor(weights)
    counted = torch.tensor([float(only is None or name in only) for name in noted])
    table = torch.tensor([[_number(score) for score in part] for part in parts])
    return (weighed.cpu().float() * counted @ table.nan_to_num()).tolist()


def _has_no_score(trainer: Any, count: int) -> bool:
    noted = [score for of in (noted_rewards(trainer) or {}).values() for score in list(of)[-count:]]
    return bool(noted) and all(math.isnan(_number(score)) for score in noted)


def _number(score: float | None) -> float:
    return float("nan") if score is None else float(score)
