"""Fine-tuning an encoder on pairs of texts gains nothing over the head alone.

Are two texts about the same desk? My encoder has a handy method that takes texts and gives one
vector each (it is the one that fills our index), so I use it in training too: vectors of both
texts, difference and product into a linear layer, cross-entropy. The loss falls a bit and lies
still, validation is a little better than guessing. All parameters are given to the optimizer, I
counted them, and lr 2e-3 or 2e-5 for the encoder makes no difference at all.

Source: huggingface/sentence-transformers#255 (2020-06-02),
huggingface/sentence-transformers#765 (2021-02-18), TinyLLaVA/TinyLLaVA_Factory#17 (2024-03-07).
"""

import contextlib
import random

import torch
from torch import nn
from transformers import BertConfig, BertModel
from transformers.modeling_outputs import SequenceClassifierOutput

from benchmarks.diagnostics.blind import kit

STEPS, BATCH = 260, 32


class TextEncoder(nn.Module):
    """Texts in, one vector of length one for each out."""

    def __init__(self, tok, width=64):
        super().__init__()
        self.tok = tok
        sizes = dict(hidden_size=width, intermediate_size=128, num_hidden_layers=2)
        more = dict(num_attention_heads=4, max_position_embeddings=64, pad_token_id=1)
        self.body = BertModel(BertConfig(vocab_size=len(tok), **sizes, **more))

    def forward(self, input_ids, attention_mask):
        hidden = self.body(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        mask = attention_mask[..., None].float()
        return nn.functional.normalize((hidden * mask).sum(1) / mask.sum(1), dim=-1)

    def tokens(self, texts):
        found = self.tok(texts, padding=True, return_tensors="pt")
        return {k: found[k] for k in ("input_ids", "attention_mask")}

    @torch.no_grad()
    def encode(self, texts):
        return self(**self.tokens(texts))


class SameTopic(nn.Module):
    """Two logits for a pair of texts."""

    def __init__(self, encoder, vectors, width=64):
        super().__init__()
        self.encoder, self.vectors = encoder, vectors
        self.head = nn.Linear(2 * width, 2)

    def forward(self, one, other, labels=None):
        u, v = self.vectors(one), self.vectors(other)
        logits = self.head(torch.cat([(u - v).abs(), u * v], dim=-1))
        loss = None if labels is None else nn.functional.cross_entropy(logits, labels)
        return SequenceClassifierOutput(loss=loss, logits=logits)


def pairs(seed, n):
    rng, teams = random.Random(seed), sorted(kit.TEAMS)
    one, other, labels = [], [], []
    for _ in range(n):
        team = rng.choice(teams)
        same = rng.random() < 0.5
        second = team if same else rng.choice([t for t in teams if t != team])
        one.append(kit.ticket(rng, team, 6)[0])
        other.append(kit.ticket(rng, second, 6)[0])
        labels.append(int(same))
    return {"one": one, "other": other, "labels": torch.tensor(labels)}


def part(data, some):
    texts = {k: [data[k][i] for i in some] for k in ("one", "other")}
    return texts | {"labels": data["labels"][some]}


@torch.no_grad()
def share(model, data):
    heard = model.eval()(**data).logits.argmax(-1)
    return float((heard == data["labels"]).float().mean())


def train(healthy=False, watch=None):
    tok, rng = kit.tokenizer(), random.Random(61)
    torch.manual_seed(61)
    encoder = TextEncoder(tok)
    vectors = (lambda texts: encoder(**encoder.tokens(texts))) if healthy else encoder.encode
    model = SameTopic(encoder, vectors)
    data, held = pairs(1, 3000), pairs(2, 200)
    optimizer = torch.optim.AdamW(
        [
            {"params": model.encoder.parameters(), "lr": 2e-3},
            {"params": model.head.parameters(), "lr": 1e-2},
        ]
    )
    log = []
    seen = dict(optimizer=optimizer, batch=part(data, list(range(BATCH))), tokenizer=tok, log=log)
    with watch(model, **seen) if watch else contextlib.nullcontext():
        for step in range(1, STEPS + 1):
            model.train()
            loss = model(**part(data, rng.sample(range(3000), BATCH))).loss
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            log.append({"step": step, "loss": loss.item(), "learning_rate": 2e-3})
            if step % 52 == 0:
                log.append({"step": step, "eval_accuracy": share(model, held)})
    return model, tok, log


def score(outcome, folder):
    """Share of new pairs that are told right, half of them are of the same desk."""
    return share(outcome[0], pairs(5, 400))
