"""Faults of what other tasks learn, each with its twin: tags, amounts, several labels, sounds."""

from functools import partial

from ordinary import audio, classification, seq2seq, tagging, vision

from common_faults.registry import fault

with_twin = partial(fault, has_twin=True)


def rows_made(trainer, change, healthy):
    """The trainer with each row of its training data changed."""
    if not healthy:
        trainer.train_dataset = trainer.train_dataset.map(change)
    return trainer


def batches_made(trainer, change, healthy):
    plain = trainer.data_collator
    trainer.data_collator = lambda rows: plain(rows) if healthy else change(plain(rows))
    return trainer


@with_twin("tags_one_token_late", "tags_misplaced")
def tags_one_token_late(folder, healthy=False):
    late = lambda row: {"labels": [-100, *row["labels"][:-1]]}  # noqa: E731
    return rows_made(tagging.ner_bert(folder), late, healthy)


@with_twin("every_tag_is_outside", "labels_constant")
def every_tag_is_outside(folder, healthy=False):
    outside = lambda row: {"labels": [min(one, 0) for one in row["labels"]]}  # noqa: E731
    return rows_made(tagging.ner_bert(folder), outside, healthy)


@with_twin("every_topic_is_right", "labels_constant")
def every_topic_is_right(folder, healthy=False):
    right = lambda row: {"labels": [1.0 for _ in row["labels"]]}  # noqa: E731
    return rows_made(classification.multi_label_bert(folder), right, healthy)


@with_twin("one_amount_for_all", "labels_constant")
def one_amount_for_all(folder, healthy=False):
    trainer = classification.stsb_regression_bert(folder)
    return rows_made(trainer, lambda row: {"label": 2.5}, healthy)


@with_twin("summaries_cut_to_two_tokens", "end_missing")
def summaries_cut_to_two_tokens(folder, healthy=False):
    cut = lambda row: {"labels": row["labels"][:2]}  # noqa: E731
    return rows_made(seq2seq.summarization_t5(folder), cut, healthy)


@with_twin("pictures_scaled_twice", "inputs_unscaled")
def pictures_scaled_twice(folder, healthy=False):
    def again(batch):
        return {**batch, "pixel_values": (batch["pixel_values"] / 255 - 0.5) / 0.5}

    return batches_made(vision.images_vit(folder), again, healthy)


@with_twin("sounds_divided_by_a_million", "inputs_unscaled")
def sounds_divided_by_a_million(folder, healthy=False):
    def faint(batch):
        return {**batch, "input_values": batch["input_values"] / 1e6}

    return batches_made(audio.sounds_wav2vec2(folder), faint, healthy)
