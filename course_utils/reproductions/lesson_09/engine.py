"""An inference engine in small: samples replies and reports the log-prob of each token.

It stands in for vLLM and SGLang, which need a GPU. It never trains and never computes a reward.
Shape letters: B = replies, T = tokens of a reply, V = vocabulary.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from transformers import Cache

from course_utils import zoo
from course_utils.diagnostics.policies.decoding import Decoding, logps_of, warp
from course_utils.reproductions.lesson_04.verl_rollout import sample

Ids = list[list[int]]
Logps = list[list[float]]


class Engine:
    """Samples from its own copy of the policy, with a cache of keys and values.

    Args:
        decoding: temperature, top_p and the like.
        dtype: of its copy, "float32", "bfloat16" or "float16".
        change: called on the copy after each sync, such as `quantise`.
        processed: whether it reports the log-probs of what it drew from, or those before
            temperature and truncation, as vLLM did until 0.10.2.
        model: what it samples from instead of its own copy.
    """

    def __init__(
        self,
        decoding: Decoding = Decoding(),  # noqa: B008  frozen, so that it may be shared
        *,
        name: str = "tiny",
        dtype: str = "float32",
        change: Callable[[nn.Module], None] | None = None,
        processed: bool = True,
        model: nn.Module | None = None,
        seed: int = 0,
    ) -> None:
        self.decoding, self.change, self.processed = decoding, change, processed
        self.model = model or zoo.load_policy(name, device="cpu", dtype=dtype).eval()
        self.tokenizer = zoo.load_tokenizer(name)
        self.generator = torch.Generator().manual_seed(seed)
        self.change and self.change(self.model)

    def sync(self, policy: nn.Module) -> None:
        """Take over the weights of the trained policy."""
        self.model.load_state_dict(policy.state_dict())
        self.change and self.change(self.model)

    def __call__(
        self, prompt_ids: Ids, *, length: int = 5, n: int = 1, past_end: bool = False
    ) -> tuple[Ids, Logps]:
        """`n` replies to each prompt, in groups: their token ids, and the log-prob of each.

        With `past_end` every reply has `length` tokens, end tokens included.
        """
        asked = [prompt for prompt in prompt_ids for _ in range(n)]
        end = -1 if past_end else self.tokenizer.eos_token_id
        ids_BT, logps_BT = self.generate(asked, length, end)
        lengths = [_length(row, end) for row in ids_BT.tolist()]
        ids = [row[:num] for row, num in zip(ids_BT.tolist(), lengths, strict=True)]
        return ids, [row[:num] for row, num in zip(logps_BT.tolist(), lengths, strict=True)]

    @torch.no_grad()
    def generate(self, asked: Ids, length: int, end: int) -> tuple[Tensor, Tensor]:
        """Replies and log-probs, (B, T); what follows the end token means nothing."""
        batch = self.tokenizer.pad({"input_ids": asked}, padding_side="left", return_tensors="pt")
        mask = batch["attention_mask"]
        cache, new = self.begin(asked, batch["input_ids"])
        positions = (mask.cumsum(-1) - 1).clamp(min=0)[:, -new.size(1) :]
        seen_BV = torch.zeros(len(asked), len(self.tokenizer), dtype=torch.bool)
        for row, prompt in enumerate(asked):
            seen_BV[row, prompt] = True
        alive, ids, logps = torch.ones(len(asked), dtype=torch.bool), [], []
        while len(ids) < length and alive.any():
            output = self.model(
                input_ids=new,
                attention_mask=mask,
                position_ids=positions,
                past_key_values=cache,
                use_cache=True,
            )
            cache, logits_BV = output.past_key_values, output.logits[:, -1].float()
            warped_BV = warp(logits_BV, seen_BV, self.decoding)
            token = sample(warped_BV, self.generator)
            ids.append(token)
            logps.append(logps_of(warped_BV if self.processed else logits_BV, token))
            seen_BV[torch.arange(len(asked)), token] = True
            alive = alive & (token != end)
            new, positions = token[:, None], positions[:, -1:] + 1
            mask = torch.cat([mask, torch.ones_like(new)], 1)
        return torch.stack(ids, 1), torch.stack(logps, 1)

    def begin(self, asked: Ids, padded_BP: Tensor) -> tuple[Cache | None, Tensor]:
        """The keys and values that are known of prompts, and the ids that are still to be read."""
        return None, padded_BP


def _length(ids: list[int], end: int) -> int:
    return ids.index(end) + 1 if end in ids else len(ids)


@torch.no_grad()
def quantise(model: nn.Module, *, bits: int = 8) -> None:
    """Round each row of every matrix but the embedding to 2**bits - 1 equal steps, in place."""
    most = 2 ** (bits - 1) - 1
    for name, weight in model.named_parameters():
        if weight.dim() == 2 and "embed" not in name:
            step = weight.abs().amax(1, keepdim=True) / most
            weight.copy_((weight / step).round().clamp(-most, most) * step)
