"""Faults of settings: rates, schedules, steps, decay, accumulation, formats, seeds."""

import torch
from ordinary import texts
from ordinary import tokenizers_of as tok
from ordinary.adapters import adapt_classifier
from ordinary.adapters import causal as adapted
from ordinary.classification import classify
from ordinary.models_of import bert_model, chat_model, encoder, with_new_head
from ordinary.post_training import messages, new_chats, sft
from ordinary.settings import reviewer, writer
from peft import LoraConfig, get_peft_model
from transformers import BertConfig, BertForSequenceClassification, Trainer

from common_faults.registry import fault


@fault("rate_of_pretraining", "rate_too_high update_too_large rate_unusual diverged thrown_about")
def rate_of_pretraining(folder):
    return reviewer(folder, learning_rate=0.3, warmup_steps=0)


@fault("rate_a_million_times_too_low", "rate_too_low weights_do_not_move nothing_moves")
def rate_a_million_times_too_low(folder):
    return reviewer(folder, learning_rate=1e-9)


@fault("decay_of_ten", "decay_too_strong")
def decay_of_ten(folder):
    return reviewer(folder, weight_decay=100.0)


@fault("warm_up_longer_than_run", "schedule_ends_early")
def warm_up_longer_than_run(folder):
    return reviewer(folder, warmup_steps=5000)


@fault("one_step_for_all", "few_steps")
def one_step_for_all(folder):
    """gradient_accumulation_steps as large as the data: the whole run is a step or two."""
    changed = {"gradient_accumulation_steps": 24, "max_steps": -1, "num_train_epochs": 1}
    return reviewer(folder, per_device_train_batch_size=8, **changed)


@fault("clipped_to_nothing", "clipped_to_nothing rate_too_low", needs_run=True)
def clipped_to_nothing(folder):
    changed = {"optim": "sgd", "max_grad_norm": 1e-6, "learning_rate": 0.03}
    return reviewer(folder, **changed)


@fault("sgd_at_adams_rate", "rate_too_low weights_do_not_move nothing_moves", needs_run=True)
def sgd_at_adams_rate(folder):
    return reviewer(folder, optim="sgd", learning_rate=2e-5)


def pretrained():
    return with_new_head(BertForSequenceClassification, bert_model())


@fault("new_head_frozen", "head_frozen")
def new_head_frozen(folder):
    model = pretrained()
    model.classifier.requires_grad_(False)
    return classify(folder, None, tok.bert(), texts.reviews(400), model=model)


@fault("adapter_without_its_head", "head_frozen")
def adapter_without_its_head(folder):
    """LoRA without a task type leaves the new head as it was drawn."""
    return adapt_classifier(folder, LoraConfig(r=8, target_modules=["query", "value"]))


@fault("adapter_of_weight_zero", "adapter_without_effect")
def adapter_of_weight_zero(folder):
    return adapted(folder, LoraConfig(r=8, lora_alpha=0, task_type="CAUSAL_LM"))


@fault("adapter_far_too_strong", "adapter_too_strong")
def adapter_far_too_strong(folder):
    config = LoraConfig(r=8, lora_alpha=4096, task_type="CAUSAL_LM")
    return adapted(folder, config, learning_rate=3e-3)


@fault("adapter_begins_random", "adapter_begins_random")
def adapter_begins_random(folder):
    config = LoraConfig(r=8, lora_alpha=64, init_lora_weights=False, task_type="CAUSAL_LM")
    return adapted(folder, config, learning_rate=1e-4)


@fault("group_with_rate_zero", "group_rate_zero", needs_run=True)
def group_with_rate_zero(folder):
    model = pretrained()
    trainer = classify(folder, None, tok.bert(), texts.reviews(400), model=model)
    groups = [
        {"params": list(model.bert.parameters()), "lr": 3e-4},
        {"params": list(model.classifier.parameters()), "lr": 0.0},
    ]
    return with_optimizer(trainer, torch.optim.AdamW(groups))


def with_optimizer(trainer, optimizer):
    schedule = torch.optim.lr_scheduler.ConstantLR(optimizer, 1.0)
    return Trainer(
        model=trainer.model,
        args=trainer.args,
        train_dataset=trainer.train_dataset,
        eval_dataset=trainer.eval_dataset,
        processing_class=trainer.processing_class,
        data_collator=trainer.data_collator,
        optimizers=(optimizer, schedule),
    )


@fault("optimizer_before_the_head", "optimizer_holds_others")
def optimizer_before_the_head(folder):
    model = pretrained()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model.classifier = torch.nn.Linear(64, 2)
    trainer = classify(folder, None, tok.bert(), texts.reviews(400), model=model)
    return with_optimizer(trainer, optimizer)


@fault("weights_in_bfloat16", "rounding_swallows")
def weights_in_bfloat16(folder):
    model = chat_model(folder).to(torch.bfloat16)
    return sft(folder, new_chats(), model=model, learning_rate=1e-6, bf16=False)


@fault("end_never_learnt", "end_missing template_differs end_masked", is_open=True)
def end_never_learnt(folder):
    rows = [
        {"text": f"{m['messages'][0]['content']} {m['messages'][1]['content']}"} for m in messages()
    ]
    trainer = sft(folder, rows)
    end = trainer.processing_class.eos_token_id
    strip = lambda r: {"input_ids": [i for i in r["input_ids"] if i != end]}  # noqa: E731
    keep = ["input_ids"]
    trainer.train_dataset = trainer.train_dataset.select_columns(keep).map(strip)
    return trainer


@fault("adapter_on_frozen_adapter", "nothing_trainable adapter_twice")
def adapter_on_frozen_adapter(folder):
    trainer = adapted(folder, LoraConfig(r=8, task_type="CAUSAL_LM"))
    trainer.model.requires_grad_(False)
    trainer.model.lm_head.weight.requires_grad_(True)
    return trainer


@fault("reads_a_part_only", "few_rows_read", is_open=True)
def reads_a_part_only(folder):
    return writer(folder, max_steps=4, per_device_train_batch_size=2)


@fault("too_many_epochs", "overfits memorised", needs_run=True, is_open=True)
def too_many_epochs(folder):
    tokenizer = tok.bert()
    config = encoder(BertConfig, tokenizer)
    rows = texts.reviews(400)
    labels = [(7 * i) % 13 % 2 for i in range(400)]
    rows = [{**r, "label": y} for r, y in zip(rows, labels, strict=True)][:80]
    changed = {"max_steps": 120, "eval_strategy": "steps", "eval_steps": 10}
    return classify(folder, config, tokenizer, rows, learning_rate=3e-3, **changed)


@fault("half_without_a_scaler", "half_weights fp16_overflow")
def half_without_a_scaler(folder):
    model = pretrained().half()
    return classify(folder, None, tok.bert(), texts.reviews(400), model=model)


assert get_peft_model
