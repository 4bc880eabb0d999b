"""The tagger marks every word as some entity.

I fine-tune a small encoder to mark the words in a ticket that say what it is about; all other
words are O. I wrote the loss myself because I want to weigh tags later. Training loss goes to
0.00 within an epoch, recall on new tickets is 1.0, and precision is what you get if every word
is called an entity: not one O in the whole output. Half the batch is padding, which is masked.

Source: nyu-mll/jiant#925 (2019-10-03), lucidrains/parti-pytorch#8 (2023-04-08).
"""

import torch
import torch.nn.functional as F
from datasets import Dataset
from transformers import BertConfig, BertForTokenClassification, Trainer, TrainingArguments

from benchmarks.diagnostics.blind import kit

TAGS = ["O", *sorted(kit.TEAMS)]
TAG_OF = {word: TAGS.index(team) for team, words in kit.TEAMS.items() for word in words}


def rows(tok, seed, n):
    found = []
    for length in (6, 12, 24):
        for text, _ in kit.tickets(seed + length, n // 3, length=length):
            words = text.split()
            tags = [TAG_OF.get(word, 0) for word in words]
            found.append({"input_ids": tok.convert_tokens_to_ids(words), "labels": tags})
    return Dataset.from_list(found)


class Tagger(Trainer):
    """Cross-entropy over the words of the batch."""

    filler = 0

    def collate(self, found):
        pad = torch.nn.utils.rnn.pad_sequence
        ids = pad([torch.tensor(r["input_ids"]) for r in found], True, 1)
        tags = pad([torch.tensor(r["labels"]) for r in found], True, self.filler)
        return dict(input_ids=ids, attention_mask=(ids != 1).long(), labels=tags)

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        tags = inputs.pop("labels")
        outputs = model(**inputs)
        logits = outputs.logits.flatten(0, 1)
        loss = F.cross_entropy(logits, tags.flatten(), ignore_index=self.filler)
        return (loss, outputs) if return_outputs else loss


def make(folder, healthy=False):
    tok = kit.tokenizer()
    torch.manual_seed(6)
    config = BertConfig(
        vocab_size=len(tok),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=64,
        num_labels=len(TAGS),
        pad_token_id=1,
    )
    args = TrainingArguments(
        **kit.quiet(folder, max_steps=120),
        per_device_train_batch_size=32,
        learning_rate=2e-3,
        warmup_steps=10,
    )
    trainer = Tagger(
        model=BertForTokenClassification(config),
        args=args,
        train_dataset=rows(tok, 2, 1800),
        eval_dataset=rows(tok, 40, 180),
        processing_class=tok,
    )
    trainer.filler = -100 if healthy else 0
    trainer.data_collator = trainer.collate
    return trainer


@torch.no_grad()
def score(trainer, folder):
    """F1 of the tagged words on held-out tickets."""
    model, hit, said, true = trainer.model.eval(), 0, 0, 0
    for row in rows(trainer.processing_class, 80, 150):
        heard = model(input_ids=torch.tensor([row["input_ids"]])).logits[0].argmax(-1).tolist()
        for tag, right in zip(heard, row["labels"], strict=True):
            hit += tag == right != 0
            said += tag != 0
            true += right != 0
    return 2 * hit / max(said + true, 1)
