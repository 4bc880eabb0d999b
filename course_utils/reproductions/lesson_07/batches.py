"""Batches of sums as people's scripts make them: one that is right, and its twins with one fault.

Each function returns the batch and its tokenizer. Nothing here trains, and nothing is judged.
"""

import logging
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from transformers import PreTrainedTokenizerBase

from course_utils import zoo

Batch = dict[str, Tensor]
Made = tuple[Batch, PreTrainedTokenizerBase]

N = 4
MARKER = "Answer: "
MARKED = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' }}"
    "{% if message['role'] == 'assistant' %}"
    "{% generation %}{{ message['content'] }}{% endgeneration %}{{ '<|im_end|>' }}"
    "{% else %}{{ message['content'] + '<|im_end|>' }}{% endif %}{{ '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
MARKED_TO_THE_END = MARKED.replace(
    "{% endgeneration %}{{ '<|im_end|>' }}", "{{ '<|im_end|>' }}{% endgeneration %}"
)


def sums(seed: int = 0, n: int = N) -> list[list[dict]]:
    """Chats of one question and its answer, of two and of three numbers in turn."""
    drawn = [list(zoo.arithmetic.prompts(n, seed, level=level)) for level in ("hard", "easy")]
    rows = [drawn[at % 2][at] for at in range(n)]
    return [[*row["prompt"], {"role": "assistant", "content": row["answer"]}] for row in rows]


def prompt_and_reply(chat: list[dict], tokenizer) -> tuple[list[int], list[int]]:
    """The ids of a chat, cut where the reply begins; the reply ends with the end token."""
    prompt = tokenizer.apply_chat_template(chat[:-1], add_generation_prompt=True, tokenize=False)
    reply = chat[-1]["content"] + tokenizer.eos_token
    return tuple(tokenizer(part, add_special_tokens=False)["input_ids"] for part in (prompt, reply))


def padded(rows: list[tuple[list[int], list[int]]], pad: int) -> Batch:
    """Rows of ids and labels, padded on the right; the mask is made from the lengths."""
    ids, labels = zip(*((torch.tensor(i), torch.tensor(la)) for i, la in rows), strict=True)
    return {
        "input_ids": pad_sequence(ids, batch_first=True, padding_value=pad),
        "attention_mask": pad_sequence([torch.ones_like(i) for i in ids], batch_first=True),
        "labels": pad_sequence(labels, batch_first=True, padding_value=-100),
    }


def replies_learnt(seed: int = 0, tokenizer=None) -> Made:
    """The healthy one: only the reply and its end are learnt."""
    tokenizer = tokenizer or zoo.load_tokenizer("tiny")
    rows = [prompt_and_reply(chat, tokenizer) for chat in sums(seed)]
    made = [(asked + said, [-100] * len(asked) + said) for asked, said in rows]
    return padded(made, tokenizer.pad_token_id), tokenizer


def on_the_left(batch: Batch) -> Batch:
    """The same rows, with their padding moved from the right to the left."""
    gaps = (batch["attention_mask"] == 0).sum(-1).tolist()
    return {
        key: torch.stack([row.roll(gap) for row, gap in zip(rows, gaps, strict=True)])
        for key, rows in batch.items()
    }


def labels_by_id(seed: int = 0) -> Made:
    """pad == eos, and every label equal to the pad id was removed."""
    tokenizer = zoo.load_tokenizer("tiny")
    tokenizer.pad_token = tokenizer.eos_token
    batch, _ = replies_learnt(seed, tokenizer)
    batch["labels"][batch["labels"] == tokenizer.pad_token_id] = -100
    return batch, tokenizer


def mask_by_id(seed: int = 0) -> Made:
    """pad == eos, and the attention mask was made from the ids."""
    tokenizer = zoo.load_tokenizer("tiny")
    tokenizer.pad_token = tokenizer.eos_token
    batch, _ = replies_learnt(seed, tokenizer)
    batch["attention_mask"] = (batch["input_ids"] != tokenizer.pad_token_id).long()
    batch["labels"] = batch["labels"].masked_fill(batch["attention_mask"] == 0, -100)
    return batch, tokenizer


def cut_off(seed: int = 0) -> Made:
    """Rows cut at a length that is too short for the longest: their end is gone."""
    batch, tokenizer = replies_learnt(seed)
    return {key: value[:, :-1] for key, value in batch.items()}, tokenizer


def never_appended(seed: int = 0) -> Made:
    """Replies as bare text, without an end token."""
    tokenizer = zoo.load_tokenizer("tiny")
    rows = [prompt_and_reply(chat, tokenizer) for chat in sums(seed)]
    made = [(asked + said[:-1], [-100] * len(asked) + said[:-1]) for asked, said in rows]
    return padded(made, tokenizer.pad_token_id), tokenizer


def marker_not_found(seed: int = 0) -> Made:
    """Labels begin after a response marker, whose space belongs to the next word in the rows."""
    tokenizer = zoo.load_tokenizer("tiny")
    marker = tokenizer(MARKER, add_special_tokens=False)["input_ids"]
    rows = []
    for *asked, said in sums(seed):
        told = [*asked, said | {"content": f"{MARKER}the sum is {said['content']}"}]
        prompt, reply = prompt_and_reply(told, tokenizer)
        ids, size = prompt + reply, len(marker)
        ends = [at + size for at in range(len(ids)) if ids[at : at + size] == marker]
        start = ends[-1] if ends else len(ids)
        rows.append((ids, [-100] * start + ids[start:]))
    return padded(rows, tokenizer.pad_token_id), tokenizer


def prompt_fills_it(seed: int = 0) -> Made:
    """Rows cut before their reply begins."""
    batch, tokenizer = replies_learnt(seed)
    first = int((batch["labels"] != -100).float().argmax(-1).min())
    return {key: value[:, : first - 2] for key, value in batch.items()}, tokenizer


def whole_chats(seed: int = 0) -> Made:
    """Everything is learnt, the user's words and their end as well."""
    batch, tokenizer = replies_learnt(seed)
    batch["labels"] = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
    return batch, tokenizer


def begins_twice(seed: int = 0) -> Made:
    """A template that renders BOS, and a tokenizer that adds one to rendered text."""
    batch, tokenizer = begins_once(seed)
    first, edge = batch["input_ids"][:, :1], torch.ones(N, 1, dtype=torch.long)
    added = {"input_ids": first, "attention_mask": edge, "labels": -100 * edge}
    return {k: torch.cat([added[k], value], -1) for k, value in batch.items()}, tokenizer


def begins_once(seed: int = 0) -> Made:
    """Its healthy twin."""
    tokenizer = zoo.load_tokenizer("tiny")
    tokenizer.bos_token = "<|endoftext|>"
    tokenizer.pad_token = "!"
    tokenizer.chat_template = "{{ bos_token }}" + tokenizer.chat_template
    return replies_learnt(seed, tokenizer)


def another_template(seed: int = 0) -> Made:
    """Rows of another template than the one that the tokenizer serves with."""
    tokenizer = zoo.load_tokenizer("tiny")
    served = tokenizer.chat_template
    tokenizer.chat_template = (
        "{% for message in messages %}{% if message['role'] == 'user' %}"
        "{{ '[INST] ' + message['content'] + ' [/INST]' }}"
        "{% else %}{{ message['content'] + '<|im_end|>' }}{% endif %}{% endfor %}"
    )
    batch, _ = replies_learnt(seed, tokenizer)
    tokenizer.chat_template = served
    return batch, tokenizer


def prompts(seed: int = 0, *, side: str = "left", text: Callable[[str], str] = str) -> Made:
    """Questions to be answered, padded on one side; `text` changes each rendered prompt."""
    tokenizer = zoo.load_tokenizer("tiny")
    asked = tokenizer.apply_chat_template(
        [chat[:-1] for chat in sums(seed)], add_generation_prompt=True, tokenize=False
    )
    tokenizer.padding_side = side
    return dict(tokenizer([text(a) for a in asked], padding=True, return_tensors="pt")), tokenizer


def packed(seed: int = 0, *, with_positions: bool = True, with_mask: bool = False) -> Made:
    """All rows concatenated to one row."""
    batch, tokenizer = replies_learnt(seed)
    is_text = batch["attention_mask"].bool()
    made = {key: batch[key][is_text][None] for key in ("input_ids", "labels")}
    if with_positions:
        made["position_ids"] = torch.cat([torch.arange(n) for n in is_text.sum(-1).tolist()])[None]
    if with_mask:
        made["attention_mask"] = torch.ones_like(made["input_ids"])
    return made, tokenizer


def unread() -> dict[str, Made]:
    """Eight batches by number; what is wrong with each, if anything, is for the reader to see."""
    made = (
        labels_by_id(3),
        whole_chats(4),
        packed(5),
        replies_learnt(6),
        never_appended(7),
        prompts(8, side="right"),
        packed(9, with_positions=False),
        another_template(10),
    )
    return {str(number): one for number, one in enumerate(made, start=1)}


def without_labels(seed: int = 0) -> dict[str, Made]:
    """Two batches by number, in which nothing is learnt."""
    return {"1": marker_not_found(seed), "2": prompt_fills_it(seed)}


def mask_by_template(seed: int = 0) -> list[int]:
    """The assistant mask of one row; what transformers says about its template is held back."""
    asked = {"tokenize": True, "return_dict": True, "return_assistant_tokens_mask": True}
    logging.disable(logging.WARNING)
    try:
        row = zoo.load_tokenizer("tiny").apply_chat_template(sums(seed)[0], **asked)
    finally:
        logging.disable(logging.NOTSET)
    return row["assistant_masks"]
