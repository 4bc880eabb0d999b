"""Retrieval with my fine-tuned decoder is poor, although single queries look fine.

I turn a small decoder into an embedding model: contrastive loss over the batch, vector of the
last token, cosine with scale 20. Tokenizer settings are those of the model card. The loss comes
down a little and stays high. If I encode one text at a time the vectors look sensible, the
batch's vectors of short texts do not.

Source: xiezijun714-lang/Echo#24 (2026-07-17), QwenLM/Qwen3-Embedding#65 (2025-06-18),
huggingface/sentence-transformers#3208 (2025-02-01).
"""

import random

import torch
import torch.nn.functional as F
from datasets import Dataset
from transformers import LlamaModel, Trainer, TrainingArguments

from benchmarks.diagnostics.blind import kit

WORDS = [word for words in kit.TEAMS.values() for word in words]


def text(rng, word):
    """Between three and eighteen words, one of them says what it is about."""
    words = rng.choices(kit.FILLER, k=rng.choice([3, 4, 5, 8, 12, 18]))
    words[rng.randrange(len(words))] = word
    return " ".join(words)


def last_token(hidden, mask):
    """The vector of the last real token of each row."""
    ends = mask.sum(dim=1) - 1
    return hidden[torch.arange(hidden.shape[0]), ends]


def embed(model, tok, texts):
    batch = tok(texts, padding=True, return_tensors="pt")
    hidden = model(**{k: batch[k] for k in ("input_ids", "attention_mask")}).last_hidden_state
    return F.normalize(last_token(hidden, batch["attention_mask"]), dim=-1)


class Contrast(Trainer):
    """Each query belongs to its own passage of the batch."""

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        tok = self.processing_class
        queries = embed(model, tok, inputs["query"])
        passages = embed(model, tok, inputs["passage"])
        scores = 20 * queries @ passages.T
        loss = F.cross_entropy(scores, torch.arange(len(scores)))
        return (loss, scores) if return_outputs else loss


def rows(seed, n):
    rng = random.Random(seed)
    for _ in range(n):
        word = rng.choice(WORDS)
        yield {"query": text(rng, word), "passage": text(rng, word)}


def make(folder, healthy=False):
    tok = kit.tokenizer()
    tok.padding_side = "right" if healthy else "left"
    torch.manual_seed(3)
    args = TrainingArguments(
        **kit.quiet(folder, max_steps=250),
        per_device_train_batch_size=16,
        learning_rate=2e-3,
        warmup_steps=10,
        remove_unused_columns=False,
    )
    return Contrast(
        model=LlamaModel(kit.sizes(tok)),
        args=args,
        train_dataset=Dataset.from_list(list(rows(2, 4000))),
        data_collator=lambda found: {k: [r[k] for r in found] for k in ("query", "passage")},
        processing_class=tok,
    )


@torch.no_grad()
def score(trainer, folder):
    """Held-out share of queries whose nearest passage is about the same word."""
    rng, model, tok = random.Random(5), trainer.model.eval(), trainer.processing_class
    passages = embed(model, tok, [text(rng, w) for w in WORDS])
    asked = [rng.choice(WORDS) for _ in range(200)]
    queries = embed(model, tok, [text(rng, w) for w in asked])
    heard = (queries @ passages.T).argmax(-1).tolist()
    return sum(WORDS[h] == w for h, w in zip(heard, asked, strict=True)) / len(asked)
