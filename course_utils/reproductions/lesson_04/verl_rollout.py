"""Rollouts as an inference engine makes them: replies to sums, padded, and their scores.

It never trains. Shape letters: B = replies, P = prompt tokens, T = response tokens, V = vocabulary.
"""

from dataclasses import dataclass, field, fields

import torch
import torch.nn.functional as F
from torch import Tensor

from course_utils.zoo.arithmetic import is_right


@dataclass
class Batch:
    """One rollout, padded; rows belong together in groups of n."""

    input_ids: Tensor  # prompt and response, (B, P + T)
    attention_mask: Tensor  # 0 at padding, left of the prompt and right of the response
    position_ids: Tensor
    responses: Tensor  # (B, T)
    scores: Tensor  # reward of each reply, (B,)
    old_log_prob: Tensor = field(default=None)  # (B, T), as all below; the trainer adds them
    ref_log_prob: Tensor = field(default=None)
    advantages: Tensor = field(default=None)

    @property
    def response_mask(self) -> Tensor:
        return self.attention_mask[:, -self.responses.shape[1] :]

    def split(self, size: int) -> list["Batch"]:
        """Mini-batches of `size` rows, in order: verl shuffles neither."""
        parts = zip(*(getattr(self, f.name).split(size) for f in fields(self)), strict=True)
        return [Batch(*part) for part in parts]


def sample(logits_BV: Tensor, generator: torch.Generator) -> Tensor:
    """One token for each row, with exponential noise, as inference engines do it. Never raises.

    The noise is drawn on the generator's device, the CPU, so that a GPU sees the same.
    Source: vLLM, `probs.div_(q).argmax(dim=-1)`.

    >>> sample(torch.full((2, 5), torch.nan), torch.Generator()).tolist()
    [0, 0]
    """
    probs = torch.softmax(logits_BV.float(), dim=-1)
    noise = torch.empty(probs.shape).exponential_(generator=generator)
    return (probs / noise.to(probs.device)).argmax(dim=-1)


@torch.no_grad()
def generate(
    model, tokenizer, sums, *, n: int, response_length: int, temperature: float, generator
) -> Batch:
    """Answer each sum of `zoo.arithmetic.prompts` n times; a right reply scores 1.

    Positions go on through the padding, as verl's do.
    """
    texts = [text for text in _rendered(tokenizer, sums) for _ in range(n)]
    asked = tokenizer(texts, padding=True, return_tensors="pt").to(model.device)
    ids, mask = asked["input_ids"], asked["attention_mask"]
    positions = (mask.cumsum(-1) - 1).clamp(min=0)
    after = torch.arange(1, response_length + 1, device=model.device)
    positions = torch.cat([positions, positions[:, -1:] + after], 1)
    alive, cache = torch.ones_like(ids[:, 0]), None
    while ids.shape[1] < positions.shape[1] and alive.any():
        new = slice(0 if cache is None else ids.shape[1] - 1, ids.shape[1])
        output = model(
            input_ids=ids[:, new],
            attention_mask=mask,
            position_ids=positions[:, new],
            past_key_values=cache,
            use_cache=True,
        )
        cache = output.past_key_values
        token = sample(output.logits[:, -1] / temperature, generator)
        token = torch.where(alive.bool(), token, tokenizer.pad_token_id)
        ids, mask = torch.cat([ids, token[:, None]], 1), torch.cat([mask, alive[:, None]], 1)
        alive = alive * (token != tokenizer.eos_token_id)
    missing = positions.shape[1] - ids.shape[1]
    ids, mask = F.pad(ids, (0, missing), value=tokenizer.pad_token_id), F.pad(mask, (0, missing))
    responses = ids[:, -response_length:]
    replies = tokenizer.batch_decode(responses, skip_special_tokens=True)
    answers = [answer for answer in sums["answer"] for _ in range(n)]
    right = [float(one) for one in map(is_right, replies, answers)]
    return Batch(ids, mask, positions, responses, torch.tensor(right, device=model.device))


@torch.no_grad()
def right_share(model, tokenizer, sums, temperature: float) -> float:
    """The probability that a sampled reply is the answer and its end, as a mean over the sums."""
    asked = tokenizer(_rendered(tokenizer, sums), padding=True, return_tensors="pt")
    texts = [answer + tokenizer.eos_token for answer in sums["answer"]]
    right = tokenizer(texts, padding=True, padding_side="right", return_tensors="pt")
    ids, mask = (torch.cat([asked[k], right[k]], 1) for k in ("input_ids", "attention_mask"))
    ids, mask = ids.to(model.device), mask.to(model.device)
    positions = (mask.cumsum(-1) - 1).clamp(min=0)
    logits = model(input_ids=ids, attention_mask=mask, position_ids=positions).logits.float()
    num_right = right["input_ids"].shape[1]
    logp_BTV = torch.log_softmax(logits[:, -num_right - 1 : -1] / temperature, dim=-1)
    logp_BT = logp_BTV.gather(-1, ids[:, -num_right:, None])[..., 0] * mask[:, -num_right:]
    return logp_BT.sum(1).exp().nan_to_num().mean().item()


def _rendered(tokenizer, sums) -> list[str]:
    return tokenizer.apply_chat_template(
        list(sums["prompt"]), add_generation_prompt=True, tokenize=False
    )
