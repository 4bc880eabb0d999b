"""Faults of the rows: labels, texts, what is cut, what the batch holds."""

import random

import torch
from datasets import Dataset
from ordinary import texts
from ordinary import tokenizers_of as tok
from ordinary.classification import classify
from ordinary.language_modeling import by_line, gpt2_config, lines, masked, parts_of
from ordinary.models_of import decoder, encoder
from ordinary.post_training import new_chats, sft
from ordinary.seq2seq import ENGLISH_TO_FRENCH, bart_config, generate, t5_config
from ordinary.tagging import tag
from ordinary.usual import arguments
from ordinary.vision import classify_images, vit_config
from transformers import (
    AutoModelForCausalLM,
    BertConfig,
    BertLMHeadModel,
    DataCollatorForLanguageModeling,
    LlamaConfig,
    Trainer,
)

from common_faults.registry import fault


def reviewed(folder, rows, **changed):
    tokenizer = tok.bert()
    return classify(folder, encoder(BertConfig, tokenizer), tokenizer, rows, **changed)


@fault("labels_shuffled", "labels_uninformative", needs_run=True)
def labels_shuffled(folder):
    """The labels were sorted or shuffled apart from their texts."""
    rows = texts.reviews(400)
    labels = [row["label"] for row in rows]
    random.Random(3).shuffle(labels)
    return reviewed(folder, [{**r, "label": y} for r, y in zip(rows, labels, strict=True)])


@fault("second_sentence_shuffled", "labels_uninformative", needs_run=True)
def second_sentence_shuffled(folder):
    tokenizer = tok.bert()
    rows = texts.pairs(400)
    seconds = [row["hypothesis"] for row in rows]
    random.Random(3).shuffle(seconds)
    rows = [{**r, "hypothesis": s} for r, s in zip(rows, seconds, strict=True)]
    config = encoder(BertConfig, tokenizer, num_labels=3)
    return classify(folder, config, tokenizer, rows, ("premise", "hypothesis"))


@fault("texts_contradict", "labels_contradict")
def texts_contradict(folder):
    """Each text stands twice, with either label."""
    rows = texts.reviews(200)
    rows += [{**row, "label": 1 - row["label"]} for row in rows]
    random.Random(0).shuffle(rows)
    return reviewed(folder, rows)


@fault("every_row_is_the_last", "rows_alike")
def every_row_is_the_last(folder):
    """A list of one row, many times: `[row] * n`, or a closure over the loop's variable."""
    rows = texts.reviews(400)
    return reviewed(folder, [{**row, "text": rows[-1]["text"]} for row in rows])


@fault("wrong_column", "rows_alike")
def wrong_column(folder):
    """The column that is tokenized holds a source, and not the text."""
    rows = [{**row, "text": "reviews/train.csv"} for row in texts.reviews(400)]
    return reviewed(folder, rows)


@fault("cut_before_what_matters", "too_long")
def cut_before_what_matters(folder):
    tokenizer = tok.bert()
    tokenizer.model_max_length = 6
    long = [{**r, "text": f"It was on a day. {r['text']}"} for r in texts.reviews(400)]
    return classify(folder, encoder(BertConfig, tokenizer), tokenizer, long)


@fault("other_tokenizer", "other_tokenizer")
def other_tokenizer(folder):
    """The rows were tokenized by another tokenizer than the one beside the model."""
    tokenizer, other = tok.gpt2(pad_token="<|pad|>"), tok.chat()
    trainer = by_line(folder, gpt2_config(tokenizer), tokenizer)
    rows = Dataset.from_dict({"text": texts.stories(200, 0)})
    rows = rows.map(lambda b: {"input_ids": other(b["text"])["input_ids"]}, batched=True)
    clipped = rows.map(lambda r: {"input_ids": [i % len(tokenizer) for i in r["input_ids"]]})
    trainer.train_dataset = clipped
    return trainer


@fault("masked_collator_on_causal", "masked_for_causal")
def masked_collator_on_causal(folder):
    """`mlm=True` is the collator's default."""
    tokenizer = tok.gpt2(pad_token="<|pad|>", mask_token="<mask>")
    trainer = by_line(folder, gpt2_config(tokenizer), tokenizer)
    trainer.data_collator = DataCollatorForLanguageModeling(tokenizer, mlm=True)
    return trainer


@fault("nearly_all_masked", "masked_too_much")
def nearly_all_masked(folder):
    tokenizer = tok.bert()
    collator = DataCollatorForLanguageModeling(tokenizer=tokenizer, mlm_probability=0.95)
    return masked(folder, encoder(BertConfig, tokenizer), tokenizer, collator)


@fault("bert_sees_the_answer", "sees_future")
def bert_sees_the_answer(folder):
    """An encoder's head for causal LM, without `is_decoder`: attention looks both ways."""
    tokenizer = tok.bert()
    train, held_out = parts_of(tokenizer, lines)
    return Trainer(
        model=BertLMHeadModel(encoder(BertConfig, tokenizer)),
        args=arguments(folder),
        train_dataset=train,
        eval_dataset=held_out,
        processing_class=tokenizer,
        data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False),
    )


def padded_with(trainer, token_id):
    """A collator of one's own that pads labels with a token."""
    plain = trainer.data_collator

    def collate(rows):
        batch = plain(rows)
        batch["labels"][batch["labels"] == -100] = token_id
        return batch

    trainer.data_collator = collate
    return trainer


@fault("seq2seq_pads_learnt", "padding_learnt")
def seq2seq_pads_learnt(folder):
    tokenizer = tok.t5()
    rows = texts.translations(144)
    rows = [{"en": r["en"], "fr": r["fr"] * (1 + i % 3)} for i, r in enumerate(rows)]
    trainer = generate(folder, t5_config(tokenizer), tokenizer, rows, **ENGLISH_TO_FRENCH)
    return padded_with(trainer, tokenizer.pad_token_id)


@fault("decoder_reads_the_answer", "decoder_reads_labels")
def decoder_reads_the_answer(folder):
    """`decoder_input_ids` are the labels themselves, not moved by one."""
    tokenizer = tok.roberta()
    config = bart_config(tokenizer, start="</s>")
    trainer = generate(folder, config, tokenizer, texts.translations(144), **ENGLISH_TO_FRENCH)
    plain = trainer.data_collator

    def collate(rows):
        batch = plain(rows)
        batch["decoder_input_ids"] = batch["labels"].masked_fill(
            batch["labels"] == -100, tokenizer.pad_token_id
        )
        return batch

    trainer.data_collator = collate
    return trainer


@fault("copies_its_source", "labels_are_inputs", is_open=True)
def copies_its_source(folder):
    """The target column is the source column."""
    tokenizer = tok.t5()
    rows = texts.translations(144)
    return generate(folder, t5_config(tokenizer), tokenizer, rows, source="en", target="en")


@fault("tags_by_position", "tags_misplaced")
def tags_by_position(folder):
    """The tags of words are laid over tokens one by one, special tokens included."""
    tokenizer = tok.bert()
    trainer = tag(folder, encoder(BertConfig, tokenizer, num_labels=4), tokenizer)

    def move(row):
        tags = row["ner_tags"] + [0] * len(row["input_ids"])
        return {"labels": tags[: len(row["input_ids"])]}

    trainer.train_dataset = trainer.train_dataset.map(move)
    return trainer


@fault("numbers_as_classes", "classes_as_numbers")
def numbers_as_classes(folder):
    """num_labels=1 makes a regression of classes."""
    tokenizer = tok.bert()
    rows = [{**row, "label": float(row["label"])} for row in texts.reviews(400)]
    config = encoder(BertConfig, tokenizer, num_labels=1)
    return classify(folder, config, tokenizer, rows, compute_metrics=None)


@fault("targets_in_euros", "targets_unscaled")
def targets_in_euros(folder):
    tokenizer = tok.bert()
    rows = [{**row, "label": 2e5 + 4e4 * row["label"]} for row in texts.similar(400)]
    config = encoder(BertConfig, tokenizer, num_labels=1)
    columns = ("sentence1", "sentence2")
    return classify(folder, config, tokenizer, rows, columns, compute_metrics=None)


@fault("pixels_not_scaled", "inputs_unscaled")
def pixels_not_scaled(folder):
    trainer = classify_images(folder, vit_config())
    plain = trainer.data_collator

    def collate(rows):
        batch = plain(rows)
        batch["pixel_values"] = (batch["pixel_values"] * 0.5 + 0.5) * 255
        return batch

    trainer.data_collator = collate
    return trainer


@fault("blank_images", "rows_alike")
def blank_images(folder):
    trainer = classify_images(folder, vit_config())
    plain = trainer.data_collator

    def collate(rows):
        batch = plain(rows)
        batch["pixel_values"] = torch.zeros_like(batch["pixel_values"])
        return batch

    trainer.data_collator = collate
    return trainer


@fault("mask_turned_round", "mask_inverted padding_attended")
def mask_turned_round(folder):
    tokenizer = tok.bert()
    trainer = reviewed(folder, texts.reviews(400))
    plain = trainer.data_collator
    assert tokenizer

    def collate(rows):
        batch = plain(rows)
        batch["attention_mask"] = 1 - batch["attention_mask"]
        return batch

    trainer.data_collator = collate
    return trainer


@fault("mask_left_out", "padding_attended")
def mask_left_out(folder):
    tokenizer = tok.gpt2(pad_token="<|pad|>")
    trainer = by_line(folder, decoder(LlamaConfig, tokenizer), tokenizer)
    plain = trainer.data_collator

    def collate(rows):
        batch = plain(rows)
        del batch["attention_mask"]
        return batch

    trainer.data_collator = collate
    return trainer


@fault("question_twice", "prompt_twice")
def question_twice(folder):
    """The completion holds the prompt, too."""
    rows = [{"prompt": q, "completion": f"{q} {a}"} for q, a in texts.chats(160, seed=7)]
    return sft(folder, rows, bf16=False)


@fault("answers_empty", "replies_empty end_missing")
def answers_empty(folder):
    """A column of another name was read: every answer is an empty text."""
    rows = new_chats()
    for row in rows:
        row["messages"][1] = {"role": "assistant", "content": ""}
    return sft(folder, rows, bf16=False)


@fault("sorted_and_not_shuffled", "rows_in_order")
def sorted_and_not_shuffled(folder):
    rows = sorted(texts.reviews(400), key=lambda row: row["label"])
    rows = rows[100:200] + rows[:100] + rows[200:]
    return reviewed(folder, rows, train_sampling_strategy="sequential")


@fault("text_without_spaces", "tokens_unknown")
def unknown_words(folder):
    """The tokenizer knows none of the words: another alphabet."""
    tokenizer = tok.bert()
    moved = [
        {**row, "text": "".join(chr(ord(c) + 900) if c.isalpha() else c for c in row["text"])}
        for row in texts.reviews(400)
    ]
    return classify(folder, encoder(BertConfig, tokenizer), tokenizer, moved)


@fault("model_from_scratch_by_mistake", "guesses above_uniform", is_open=True)
def model_from_scratch_by_mistake(folder):
    """`from_config` where `from_pretrained` was meant, at a rate for fine-tuning."""
    tokenizer = tok.gpt2(pad_token="<|pad|>")
    trainer = by_line(folder, gpt2_config(tokenizer), tokenizer, learning_rate=1e-6)
    trainer.model = AutoModelForCausalLM.from_config(gpt2_config(tokenizer))
    return trainer
