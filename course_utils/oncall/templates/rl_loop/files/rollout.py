"""Replies from a sampler that holds its own copy of the weights. B rows, T reply tokens."""

import copy
import re
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass
class Batch:
    ids: Tensor  # prompt and reply, (B, P + T)
    mask: Tensor  # 0 at padding: left of the prompt, right of the reply
    replies: Tensor  # (B, T)
    old_logp: Tensor  # of the reply's tokens when they were sampled, (B, T)
    rewards: Tensor  # (B,)
    advantages: Tensor = None  # (B,)
    ref_logp: Tensor = None  # (B, T)

    @property
    def reply_mask(self):
        return self.mask[:, -self.replies.shape[1] :]

    def split(self, size):
        """Mini-batches in order."""
        parts = zip(*(value.split(size) for value in vars(self).values()))
        return [Batch(*part) for part in parts]


def reward(text, answer):
    """1 for the right sum, written as a bare number."""
    found = re.fullmatch(r"\s*(\d+)\s*", text)
    return float(found is not None and int(found[1]) == int(answer))


def positions_of(mask):
    """Positions that begin at 0 with the first real token of each row."""
    return (mask.cumsum(-1) - 1).clamp(min=0)


def keep_top_p(logits, top_p):
    """-inf for what lies outside the nucleus."""
    if top_p >= 1:
        return logits
    ordered, index = logits.sort(descending=True)
    before = ordered.softmax(-1).cumsum(-1) - ordered.softmax(-1)
    ordered = ordered.masked_fill(before > top_p, float("-inf"))
    return torch.full_like(logits, float("-inf")).scatter(-1, index, ordered)


class Sampler:
    """Stands for the inference engine: same architecture, weights that must be sent to it."""

    def __init__(self, model, tokenizer, cfg):
        self.model = copy.deepcopy(model).eval()
        self.tokenizer, self.cfg = tokenizer, cfg
        self.generator = torch.Generator().manual_seed(cfg["seed"])

    def update_weights(self, model):
        self.model.load_state_dict(model.state_dict())

    @torch.no_grad()
    def rollout(self, rows):
        cfg, tokenizer = self.cfg, self.tokenizer
        repeated = [row for row in rows for _ in range(cfg["replies_per_prompt"])]
        chats = [[{"role": "user", "content": row["question"]}] for row in repeated]
        texts = tokenizer.apply_chat_template(chats, add_generation_prompt=True, tokenize=False)
        asked = tokenizer(texts, padding=True, padding_side="left", return_tensors="pt")
        ids, mask = asked["input_ids"], asked["attention_mask"]
        alive, logps = torch.ones(len(ids), dtype=torch.long), []
        for _ in range(cfg["response_length"]):
            output = self.model(ids, attention_mask=mask, position_ids=positions_of(mask))
            logits = keep_top_p(output.logits[:, -1] / cfg["temperature"], cfg["top_p"])
            logp = logits.log_softmax(-1)
            token = torch.multinomial(logp.exp(), 1, generator=self.generator)[:, 0]
            token = torch.where(alive.bool(), token, tokenizer.pad_token_id)
            logps.append(logp.gather(-1, token[:, None])[:, 0])
            ids = torch.cat([ids, token[:, None]], 1)
            mask = torch.cat([mask, alive[:, None]], 1)
            alive = alive * (token != tokenizer.eos_token_id)
        replies = ids[:, -cfg["response_length"] :]
        said = tokenizer.batch_decode(replies, skip_special_tokens=True)
        rewards = [reward(text, row["answer"]) for text, row in zip(said, repeated)]
        return Batch(ids, mask, replies, torch.stack(logps, 1), torch.tensor(rewards))
