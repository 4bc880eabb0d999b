"""A LoRA run that was interrupted cannot be resumed: the optimizer state does not fit.

"I load the adapter of checkpoint-30, it answers as it should, then I call train with
resume_from_checkpoint: ValueError, parameter group doesn't match the size of optimizer's group."
After https://github.com/unslothai/unsloth/issues/3108 (2025) and
https://github.com/unslothai/unsloth/issues/233 (2024).
"""

from peft import LoraConfig, PeftModel, get_peft_model
from transformers import DataCollatorForSeq2Seq, Trainer, TrainingArguments

from ...kit import accuracy, llama, quiet, tickets, tokenizer


def rows(seed, n):
    return [(f"<|user|> {text} <|assistant|>", team) for text, team in tickets(seed, n)]


def encode(tok, prompt, team):
    asked, said = tok(prompt)["input_ids"], tok(f"{team} <eos>")["input_ids"]
    mask = [1] * (len(asked) + len(said))
    return dict(input_ids=asked + said, attention_mask=mask, labels=[-100] * len(asked) + said)


class Resumed(Trainer):
    """Goes on where the interrupted run has stopped."""

    checkpoint = None

    def train(self, *args, **kwargs):
        return super().train(resume_from_checkpoint=self.checkpoint)


def trainer_of(kind, model, tok, folder, steps):
    data = [encode(tok, *row) for row in rows(1, 1500)]
    how = dict(max_steps=steps, per_device_train_batch_size=32, learning_rate=3e-3)
    args = TrainingArguments(**quiet(folder, **how | dict(save_strategy="steps", save_steps=30)))
    return kind(
        model,
        args,
        train_dataset=data,
        data_collator=DataCollatorForSeq2Seq(tok),
        processing_class=tok,
    )


def make(folder, healthy=False):
    tok = tokenizer()
    how = dict(r=8, lora_alpha=16, target_modules=["q_proj", "v_proj", "up_proj", "down_proj"])
    lora = LoraConfig(**how, modules_to_save=["lm_head", "embed_tokens"], task_type="CAUSAL_LM")
    trainer_of(Trainer, get_peft_model(llama(tok), lora), tok, folder, 30).train()
    checkpoint = f"{folder}/checkpoint-30"
    model = PeftModel.from_pretrained(llama(tok), checkpoint, is_trainable=True)
    if not healthy:
        for name, parameter in model.named_parameters():
            parameter.requires_grad = "lora_" in name
    trainer = trainer_of(Resumed, model, tok, folder, 150)
    trainer.checkpoint = checkpoint
    return trainer


def score(trainer, folder):
    """Share of new tickets that go to the right team."""
    return accuracy(trainer.model, trainer.processing_class, rows(2, 120))
