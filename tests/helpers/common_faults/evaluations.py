"""Faults of the evaluation: leaks, metrics, what is generated, which rows."""

import numpy as np
from datasets import Dataset, concatenate_datasets
from ordinary import texts
from ordinary import tokenizers_of as tok
from ordinary.classification import classify
from ordinary.models_of import encoder
from ordinary.seq2seq import ENGLISH_TO_FRENCH, generate, t5_config
from ordinary.settings import reviewer
from ordinary.tagging import tag
from transformers import BertConfig

from common_faults.registry import fault

EACH = {"eval_strategy": "steps", "eval_steps": 8}


@fault("held_out_rows_are_trained_on", "rows_in_both")
def held_out_rows_are_trained_on(folder):
    """The rows were multiplied before they were split."""
    trainer = reviewer(folder, **EACH)
    trainer.train_dataset = concatenate_datasets([trainer.train_dataset, trainer.eval_dataset])
    return trainer


@fault("metric_by_column", "metric_not_as_named", needs_run=True)
def metric_by_column(folder):
    """argmax over the rows, not the classes."""

    def metric(prediction):
        logits, labels = prediction
        right = np.argmax(logits, axis=0)[0] == labels
        return {"accuracy": float(right.mean())}

    return reviewer(folder, compute_metrics=metric, **EACH)


@fault("metric_counts_ignored", "metric_not_as_named", needs_run=True)
def metric_counts_ignored(folder):
    """Tokens with the label -100 are counted as wrong."""
    tokenizer = tok.bert()
    config = encoder(BertConfig, tokenizer, num_labels=4)
    trainer = tag(folder, config, tokenizer, **EACH)
    trainer.compute_metrics = lambda p: {
        "accuracy": float((np.argmax(p.predictions, -1) == p.label_ids).mean())
    }
    return trainer


@fault("metric_of_zeros", "metric_not_as_named", needs_run=True)
def metric_of_zeros(folder):
    """A threshold for probabilities, used on logits of two classes."""

    def metric(prediction):
        logits, labels = prediction
        return {"accuracy": float(((logits[:, 0] > 0.5) == labels).mean())}

    return reviewer(folder, compute_metrics=metric, **EACH)


@fault("reply_cut_in_evaluation", "evaluation_cuts_replies")
def reply_cut_in_evaluation(folder):
    tokenizer = tok.t5()
    rows = [{"en": r["en"], "fr": " ".join([r["fr"]] * 5)} for r in texts.translations(144)]
    changed = {"predict_with_generate": True, "generation_max_length": 6, **EACH}
    config = t5_config(tokenizer)
    trainer = generate(folder, config, tokenizer, rows, **ENGLISH_TO_FRENCH, **changed)
    trainer.compute_metrics = lambda p: {"same": float((p.predictions[:, 1] == 5).mean())}
    return trainer


@fault("evaluated_without_prefix", "evaluation_rows_differ")
def evaluated_without_prefix(folder):
    tokenizer = tok.t5()
    rows, config = texts.translations(144), t5_config(tokenizer)
    trainer = generate(folder, config, tokenizer, rows, prefix="translate: ", **ENGLISH_TO_FRENCH)
    plain = generate(folder, config, tokenizer, rows, **ENGLISH_TO_FRENCH)
    trainer.eval_dataset = plain.eval_dataset
    return trainer


@fault("evaluated_in_capitals", "evaluation_rows_differ", is_open=True)
def evaluated_in_capitals(folder):
    trainer = reviewer(folder, **EACH)
    tokenizer = trainer.processing_class
    rows = [{**row, "text": row["text"].upper()} for row in trainer.eval_dataset]
    rows = [{**tokenizer(row["text"]), "label": row["label"]} for row in rows]
    trainer.eval_dataset = Dataset.from_list(rows)
    return trainer


@fault("mostly_one_class", "one_class", is_open=True)
def mostly_one_class(folder):
    """97 of 100 rows have one label; the accuracy is that of saying it always."""
    rows = [row for i, row in enumerate(texts.reviews(500)) if row["label"] == 0 or i % 30 == 0]
    tokenizer = tok.bert()
    config = encoder(BertConfig, tokenizer)
    return classify(folder, config, tokenizer, rows, learning_rate=2e-5, **EACH)


@fault("best_by_other_direction", "worst_is_kept")
def best_by_other_direction(folder):
    changed = {"save_strategy": "steps", "save_steps": 8, "load_best_model_at_end": True}
    changed |= {"metric_for_best_model": "accuracy", "greater_is_better": False}
    return reviewer(folder, **EACH, **changed)


@fault("labels_renumbered", "evaluation_rows_differ")
def labels_renumbered(folder):
    """Training counts classes from the other end: each split made its own numbers."""
    tokenizer = tok.bert()
    config = encoder(BertConfig, tokenizer)
    trainer = classify(folder, config, tokenizer, texts.reviews(400), **EACH)
    rows = [{**row, "label": 1 - row["label"]} for row in trainer.eval_dataset]
    trainer.eval_dataset = Dataset.from_list(rows)
    return trainer
