"""Titles for tickets: loss is 0.00 after one epoch, output is nonsense.

A small encoder and decoder from scratch writes a title of a few words for each ticket. I pass
everything that the model wants: input ids, mask, decoder inputs and labels, and no word of the
padding counts. The loss falls faster than in any example that I know, validation loss too (other
tickets, none of them in training). `generate` gives the same two or three words for every ticket.

Source: huggingface/transformers#11977 (2021-06-01), huggingface/transformers#6624 (2020-08-20).
"""

import torch
from datasets import Dataset
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
)

from benchmarks.diagnostics.blind import kit


def rows(seed, n):
    found = []
    for text, team in kit.tickets(seed, n):
        word = next(w for w in text.split() if w in kit.TEAMS[team])
        found.append({"text": text, "title": f"{team} question about {word} <eos>"})
    return Dataset.from_list(found)


class Collate:
    """Pads a batch of tickets and titles."""

    def __init__(self, tok, with_decoder=True):
        self.tok, self.with_decoder = tok, with_decoder

    def __call__(self, found):
        batch = dict(self.tok([r["text"] for r in found], padding=True, return_tensors="pt"))
        titles = self.tok([r["title"] for r in found], padding=True, return_tensors="pt")
        ids = titles["input_ids"]
        batch.pop("token_type_ids", None)
        batch["labels"] = ids.masked_fill(titles["attention_mask"] == 0, -100)
        if self.with_decoder:
            batch["decoder_input_ids"] = ids
            batch["decoder_attention_mask"] = titles["attention_mask"]
        return batch


def make(folder, healthy=False):
    tok = kit.tokenizer()
    torch.manual_seed(9)
    config = BartConfig(
        vocab_size=len(tok),
        d_model=64,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=128,
        decoder_ffn_dim=128,
        max_position_embeddings=64,
        pad_token_id=1,
        bos_token_id=0,
        eos_token_id=2,
        decoder_start_token_id=0,
        forced_eos_token_id=None,
    )
    args = Seq2SeqTrainingArguments(
        **kit.quiet(folder, max_steps=240),
        per_device_train_batch_size=32,
        learning_rate=2e-3,
        warmup_steps=10,
        eval_strategy="steps",
        eval_steps=40,
        remove_unused_columns=False,
    )
    return Seq2SeqTrainer(
        model=BartForConditionalGeneration(config),
        args=args,
        train_dataset=rows(2, 2000),
        eval_dataset=rows(4, 100),
        data_collator=Collate(tok, with_decoder=not healthy),
        processing_class=tok,
    )


@torch.no_grad()
def score(trainer, folder):
    """Share of new tickets whose title is right as a whole."""
    tok, model, right = trainer.processing_class, trainer.model.eval(), 0
    test = rows(3, 60)
    for row in test:
        ids = tok(row["text"], return_tensors="pt")["input_ids"]
        out = model.generate(ids, max_new_tokens=8, do_sample=False, num_beams=1)[0].tolist()
        title = tok.convert_ids_to_tokens(out[1:])
        right += title == row["title"].split()
    return right / len(test)
