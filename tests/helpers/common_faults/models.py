"""Faults of the model and of a loss of one's own."""

import torch
from ordinary import texts
from ordinary import tokenizers_of as tok
from ordinary.classification import classify
from ordinary.language_modeling import by_line, gpt2_config
from ordinary.models_of import bert_model, chat_model, encoder, with_new_head
from ordinary.post_training import new_chats, sft
from ordinary.settings import as_class, reviewer
from torch import nn
from transformers import BertConfig, BertForSequenceClassification, Trainer

from common_faults.registry import fault


class Unmoved(Trainer):
    """Each token is learnt from itself: logits and labels are not moved against each other."""

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        outputs = model(**inputs)
        loss = nn.functional.cross_entropy(
            outputs.logits.flatten(0, 1).float(), inputs["labels"].flatten()
        )
        return (loss, outputs) if return_outputs else loss


class Turned(Trainer):
    """The sign of the loss is wrong."""

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        outputs = model(**inputs)
        return (-outputs.loss, outputs) if return_outputs else -outputs.loss


class Probabilities(Trainer):
    """Softmax before cross-entropy, which takes logits."""

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        loss = nn.functional.cross_entropy(outputs.logits.softmax(-1), labels)
        return (loss, outputs) if return_outputs else loss


class Detached(Trainer):
    """The body is read without a gradient."""

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs.pop("labels")
        with torch.no_grad():
            pooled = model.bert(**inputs).pooler_output
        logits = model.classifier(pooled)
        loss = nn.functional.cross_entropy(logits, labels)
        return (loss, {"logits": logits}) if return_outputs else loss


class Mixed(Trainer):
    """Logits of (rows, tokens, words) are read as (rows, words, tokens)."""

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        outputs = model(**inputs)
        B, T, V = outputs.logits.shape
        mixed = outputs.logits.transpose(1, 2).reshape(B * T, V)
        loss = nn.functional.cross_entropy(mixed.float(), inputs["labels"].flatten())
        return (loss, outputs) if return_outputs else loss


class Taught(Trainer):
    """The KL to the teacher is a mean over the vocabulary, too, so it is next to nothing."""

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        outputs = model(**inputs)
        with torch.no_grad():
            told = self.teacher(**inputs).logits.float().log_softmax(-1)
        apart = told - outputs.logits.float().log_softmax(-1)
        loss = outputs.loss + 0.5 * (told.exp() * apart).mean()
        return (loss, outputs) if return_outputs else loss


class Weighted(Trainer):
    """The weights of the classes are in the wrong order: the frequent class weighs most."""

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        loss = nn.functional.cross_entropy(outputs.logits, labels, torch.tensor([0.0, 1.0]))
        return (loss, outputs) if return_outputs else loss


def writer(folder):
    tokenizer = tok.gpt2(pad_token="<|pad|>")
    return by_line(folder, gpt2_config(tokenizer), tokenizer)


@fault("loss_not_moved", "loss_not_shifted")
def loss_not_moved(folder):
    return as_class(Unmoved, writer(folder))


@fault("loss_with_wrong_sign", "loss_against_labels")
def loss_with_wrong_sign(folder):
    return as_class(Turned, reviewer(folder))


@fault("softmax_twice", "probabilities_as_logs")
def softmax_twice(folder):
    return as_class(Probabilities, reviewer(folder))


@fault("body_without_gradient", "weight_without_gradient unused_parameters")
def body_without_gradient(folder):
    return as_class(Detached, reviewer(folder))


@fault("axes_mixed_up", "loss_against_labels loss_not_shifted")
def axes_mixed_up(folder):
    return as_class(Mixed, writer(folder))


@fault("teacher_of_no_weight", "divergence_divided term_without_gradient term_without_part")
def teacher_of_no_weight(folder):
    trainer = as_class(Taught, writer(folder))
    trainer.teacher = type(trainer.model)(trainer.model.config)
    return trainer


@fault("class_of_no_weight", "class_without_weight")
def class_of_no_weight(folder):
    return as_class(Weighted, reviewer(folder))


@fault("dropout_of_nearly_all", "dropout_too_strong")
def dropout_of_nearly_all(folder):
    tokenizer = tok.bert()
    config = encoder(BertConfig, tokenizer, hidden_dropout_prob=0.9)
    return classify(folder, config, tokenizer, texts.reviews(400))


@fault("keys_do_not_match", "guesses above_uniform head_is_new", is_open=True)
def keys_do_not_match(folder):
    """The checkpoint's names carry a prefix, and `strict=False` says nothing."""
    model = chat_model(folder)
    state = {f"module.{name}": weight for name, weight in model.state_dict().items()}
    fresh = type(model)(model.config)
    fresh.load_state_dict(state, strict=False)
    return sft(folder, new_chats(), model=fresh, learning_rate=1e-5, bf16=False)


@fault("labels_beyond_the_head", "label_outside index_outside")
def labels_beyond_the_head(folder):
    tokenizer = tok.bert()
    rows = [{**row, "label": row["label"] + 1} for row in texts.reviews(400)]
    return classify(folder, encoder(BertConfig, tokenizer), tokenizer, rows)


@fault("tokens_added_and_not_resized", "index_outside")
def tokens_added_and_not_resized(folder):
    tokenizer = tok.gpt2(pad_token="<|pad|>")
    config = gpt2_config(tokenizer)
    tokenizer.add_tokens(["garden", "forest"])
    return by_line(folder, config, tokenizer)


@fault("positions_all_zero", "positions_wrong")
def positions_all_zero(folder):
    trainer = writer(folder)
    plain = trainer.data_collator

    def collate(rows):
        batch = plain(rows)
        batch["position_ids"] = torch.zeros_like(batch["input_ids"])
        return batch

    trainer.data_collator = collate
    return trainer


@fault("embeddings_frozen_when_new", "head_frozen new_tokens_untrained", is_open=True)
def embeddings_frozen_when_new(folder):
    model = with_new_head(BertForSequenceClassification, bert_model())
    model.bert.requires_grad_(True)
    model.classifier = nn.Linear(64, 2)
    for p in model.classifier.parameters():
        p.requires_grad = False
    return classify(folder, None, tok.bert(), texts.reviews(400), model=model)
