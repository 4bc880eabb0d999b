"""Settings of the Trainer that people use, each from its documentation."""

import torch
from torch import nn
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    EarlyStoppingCallback,
    OPTConfig,
    Qwen2Config,
    Trainer,
    TrainerCallback,
    set_seed,
)

from ordinary import texts
from ordinary import tokenizers_of as tok
from ordinary.classification import classify
from ordinary.language_modeling import causal, gpt2_config
from ordinary.models_of import bert_model, decoder, encoder, special, with_new_head
from ordinary.registry import ordinary
from ordinary.seq2seq import SHORTER, bart_config, generate
from ordinary.vision import classify_images, vit_config

TRAINER = "transformers docs/source/en/trainer.md"
RECIPES = "transformers docs/source/en/trainer_recipes.md"
ARGUMENTS = "transformers docs/source/en/main_classes/trainer.md"
OPTIMIZERS = "transformers docs/source/en/optimizers.md"


def reviewer(folder, **changed):
    tokenizer = tok.bert()
    return classify(
        folder, encoder(BertConfig, tokenizer), tokenizer, texts.reviews(400), **changed
    )


def writer(folder, **changed):
    tokenizer = tok.gpt2()
    return causal(folder, gpt2_config(tokenizer), tokenizer, **changed)


@ordinary("warmup_cosine_weight_decay", source=ARGUMENTS)
def warmup_cosine_weight_decay(folder):
    changed = {"lr_scheduler_type": "cosine", "warmup_steps": 0.1, "weight_decay": 0.1}
    return writer(folder, learning_rate=2e-3, adam_beta2=0.95, bf16=True, **changed)


@ordinary("warmup_stable_decay", source=ARGUMENTS)
def warmup_stable_decay(folder):
    shape = {"num_decay_steps": 4}
    schedule = {"lr_scheduler_type": "warmup_stable_decay", "lr_scheduler_kwargs": shape}
    return writer(folder, warmup_steps=4, **schedule)


@ordinary("constant_with_warmup", source=ARGUMENTS)
def constant_with_warmup(folder):
    return reviewer(folder, lr_scheduler_type="constant_with_warmup", warmup_steps=3)


@ordinary("gradient_accumulation", source=RECIPES)
def gradient_accumulation(folder):
    changed = {"gradient_accumulation_steps": 4, "per_device_train_batch_size": 2}
    return writer(folder, **changed)


@ordinary("gradient_checkpointing", source=RECIPES)
def gradient_checkpointing(folder):
    kwargs = {"use_reentrant": False}
    tokenizer = tok.chat()
    config = decoder(Qwen2Config, tokenizer)
    changed = {"gradient_checkpointing": True, "gradient_checkpointing_kwargs": kwargs}
    return causal(folder, config, tokenizer, bf16=True, **changed)


@ordinary("label_smoothing", source=ARGUMENTS)
def label_smoothing(folder):
    return reviewer(folder, label_smoothing_factor=0.1, bf16=True)


@ordinary("group_by_length", source=ARGUMENTS)
def group_by_length(folder):
    return reviewer(folder, train_sampling_strategy="group_by_length")


@ordinary("adafactor", source=OPTIMIZERS)
def adafactor(folder):
    return writer(folder, optim="adafactor", learning_rate=2e-3, lr_scheduler_type="constant")


@ordinary("sgd_momentum_images", source=ARGUMENTS)
def sgd_momentum_images(folder):
    changed = {"optim": "sgd", "optim_args": "momentum=0.9", "learning_rate": 0.03}
    return classify_images(folder, vit_config(), bf16=True, **changed)


@ordinary("rmsprop", source=ARGUMENTS)
def rmsprop(folder):
    return reviewer(folder, optim="rmsprop", learning_rate=5e-4)


@ordinary("linear_probe_bert", source="transformers docs/source/en/training.md")
def linear_probe_bert(folder):
    model = with_new_head(BertForSequenceClassification, bert_model())
    for parameter in model.bert.parameters():
        parameter.requires_grad = False
    changed = {"model": model, "learning_rate": 2e-2, "max_steps": 20}
    return classify(folder, None, tok.bert(), texts.reviews(400), **changed)


@ordinary("linear_probe_vit", source="transformers docs/source/en/tasks/image_classification.md")
def linear_probe_vit(folder):
    trainer = classify_images(folder, vit_config(), learning_rate=1e-2, max_steps=20)
    for parameter in trainer.model.vit.parameters():
        parameter.requires_grad = False
    return trainer


@ordinary("frozen_embeddings", source="transformers docs/source/en/training.md")
def frozen_embeddings(folder):
    """The embeddings and the first layer of a pretrained BERT stay as they are."""
    model = with_new_head(BertForSequenceClassification, bert_model())
    for module in (model.bert.embeddings, model.bert.encoder.layer[0]):
        module.requires_grad_(False)
    changed = {"model": model, "learning_rate": 1e-3, "bf16": True}
    return classify(folder, None, tok.bert(), texts.reviews(400), **changed)


@ordinary("layer_drop", source="transformers docs/source/en/model_doc/opt.md")
def layer_drop(folder):
    tokenizer = tok.roberta()
    size = {"hidden_size": 64, "word_embed_proj_dim": 64, "ffn_dim": 128}
    config = OPTConfig(
        **size,
        num_hidden_layers=4,
        num_attention_heads=4,
        max_position_embeddings=128,
        layerdrop=0.1,
        **special(tokenizer),
    )
    return causal(folder, config, tokenizer)


@ordinary("layer_drop_bart", source="transformers docs/source/en/model_doc/bart.md")
def layer_drop_bart(folder):
    tokenizer = tok.roberta()
    dropped = {"encoder_layerdrop": 0.1, "decoder_layerdrop": 0.1}
    config = bart_config(tokenizer, start="</s>", **dropped)
    return generate(folder, config, tokenizer, texts.articles(144), bf16=True, **SHORTER)


class StopAt(TrainerCallback):
    """An interruption after some steps."""

    def __init__(self, step: int) -> None:
        self.step = step

    def on_step_end(self, args, state, control, **_):
        control.should_training_stop = state.global_step >= self.step


@ordinary("resumed_from_checkpoint", source="transformers examples/pytorch/README.md")
def resumed_from_checkpoint(folder):
    """A run that was interrupted after eight steps goes on from its last checkpoint."""
    saved = {"save_strategy": "steps", "save_steps": 8}
    interrupted = writer(folder, **saved)
    interrupted.add_callback(StopAt(8))
    interrupted.train()
    set_seed(0)
    return writer(folder, resume_from_checkpoint=str(folder / "checkpoint-8"), **saved)


@ordinary("early_stopping", source="transformers docs/source/en/trainer_callbacks.md")
def early_stopping(folder):
    trainer = reviewer(
        folder,
        eval_strategy="steps",
        eval_steps=4,
        save_strategy="steps",
        save_steps=4,
        load_best_model_at_end=True,
        metric_for_best_model="accuracy",
        save_total_limit=1,
        max_steps=20,
    )
    trainer.add_callback(EarlyStoppingCallback(early_stopping_patience=3))
    return trainer


class SummedLoss(Trainer):
    """Cross-entropy summed over the batch, as some papers write it; clipping bounds the step."""

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        loss = nn.functional.cross_entropy(outputs.logits.float(), labels, reduction="sum")
        return (loss, outputs) if return_outputs else loss


class WeightedLoss(Trainer):
    """Cross-entropy with a weight per class, the example of the Trainer's documentation."""

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        weight = torch.tensor([1.0, 2.0], device=outputs.logits.device)
        loss = nn.functional.cross_entropy(outputs.logits.float(), labels, weight=weight)
        return (loss, outputs) if return_outputs else loss


def as_class(trainer_class, trainer):
    """The same run under another Trainer class."""
    return trainer_class(
        model=trainer.model,
        args=trainer.args,
        train_dataset=trainer.train_dataset,
        eval_dataset=trainer.eval_dataset,
        processing_class=trainer.processing_class,
        data_collator=trainer.data_collator,
        compute_metrics=trainer.compute_metrics,
    )


@ordinary("summed_loss_clipped", source=TRAINER)
def summed_loss_clipped(folder):
    return as_class(SummedLoss, reviewer(folder, max_grad_norm=1.0))


@ordinary("weighted_classes", source=TRAINER)
def weighted_classes(folder):
    rows = [row for i, row in enumerate(texts.reviews(500)) if row["label"] == 0 or i % 2]
    tokenizer = tok.bert()
    trainer = classify(folder, encoder(BertConfig, tokenizer), tokenizer, rows, bf16=True)
    return as_class(WeightedLoss, trainer)


@ordinary("own_optimizer_two_rates", source=OPTIMIZERS)
def own_optimizer_two_rates(folder):
    """A fresh head learns ten times faster than the pretrained body."""
    model = with_new_head(BertForSequenceClassification, bert_model())
    trainer = classify(folder, None, tok.bert(), texts.reviews(400), model=model)
    groups = [
        {"params": list(model.bert.parameters()), "lr": 3e-4},
        {"params": list(model.classifier.parameters()), "lr": 3e-3},
    ]
    optimizer = torch.optim.AdamW(groups, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, total_iters=16)
    return Trainer(
        model=model,
        args=trainer.args,
        train_dataset=trainer.train_dataset,
        eval_dataset=trainer.eval_dataset,
        processing_class=trainer.processing_class,
        data_collator=trainer.data_collator,
        optimizers=(optimizer, schedule),
    )


@ordinary("own_optimizer_rate_a_layer", source=OPTIMIZERS)
def own_optimizer_rate_a_layer(folder):
    """The deeper a layer, the smaller its rate; the schedule is the Trainer's own."""
    model = with_new_head(BertForSequenceClassification, bert_model())
    trainer = classify(folder, None, tok.bert(), texts.reviews(400), model=model)
    parts = [model.bert.embeddings, *model.bert.encoder.layer, model.bert.pooler, model.classifier]
    groups = [
        {"params": list(part.parameters()), "lr": 5e-3 / 3**depth}
        for depth, part in enumerate(reversed(parts))
    ]
    return Trainer(
        model=model,
        args=trainer.args,
        train_dataset=trainer.train_dataset,
        eval_dataset=trainer.eval_dataset,
        data_collator=trainer.data_collator,
        processing_class=trainer.processing_class,
        optimizers=(torch.optim.AdamW(groups[::-1]), None),
    )


@ordinary("noisy_embeddings", source=ARGUMENTS)
def noisy_embeddings(folder):
    tokenizer = tok.chat()
    return causal(folder, decoder(Qwen2Config, tokenizer), tokenizer, neftune_noise_alpha=5)


@ordinary("evaluation_each_epoch", source=TRAINER)
def evaluation_each_epoch(folder):
    changed = {"max_steps": -1, "num_train_epochs": 1, "eval_strategy": "epoch"}
    return reviewer(folder, bf16=True, **changed)
