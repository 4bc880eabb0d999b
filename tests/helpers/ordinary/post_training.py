"""Supervised fine-tuning, preferences, rewards and distillation, from TRL's scripts and docs."""

import os

from datasets import Dataset
from peft import LoraConfig
from transformers import AutoModelForCausalLM, Qwen2ForSequenceClassification, Qwen3Config
from trl import (
    DistillationConfig,
    DistillationTrainer,
    DPOConfig,
    DPOTrainer,
    KTOConfig,
    KTOTrainer,
    RewardConfig,
    RewardTrainer,
    SFTConfig,
    SFTTrainer,
)

from ordinary import texts
from ordinary import tokenizers_of as tok
from ordinary.models_of import chat_model, decoder, with_new_head
from ordinary.registry import ordinary
from ordinary.usual import shared, split

os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
from trl.experimental.cpo import CPOConfig, CPOTrainer
from trl.experimental.gkd import GKDConfig, GKDTrainer
from trl.experimental.orpo import ORPOConfig, ORPOTrainer
from trl.experimental.tpo import TPOConfig, TPOTrainer

SFT = "trl trl/scripts/sft.py"
SFT_DOCS = "trl docs/source/sft_trainer.md"
DPO = "trl trl/scripts/dpo.py"
LORA = {"r": 8, "lora_alpha": 16, "task_type": "CAUSAL_LM"}


def turn(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


def messages(num: int = 160) -> list[dict]:
    return [
        {"messages": [turn("user", question), turn("assistant", answer)]}
        for question, answer in texts.chats(num, seed=7)
    ]


def told(num: int = 160) -> list[dict]:
    """Stories that end with the tokenizer's end of text, for plain language modeling."""
    return [{"text": story} for story in texts.stories(num, seed=7)]


def sft(folder, rows, *, model=None, peft=None, **changed):
    train, held_out = split(rows)
    return SFTTrainer(
        model=model or chat_model(folder),
        args=SFTConfig(**shared(folder, max_length=64, **changed)),
        train_dataset=train,
        eval_dataset=held_out,
        processing_class=tok.chat(),
        peft_config=peft,
    )


@ordinary("sft_text", source=SFT_DOCS)
def sft_text(folder):
    return sft(folder, told())


@ordinary("sft_text_fp32_from_scratch", source=SFT_DOCS)
def sft_text_fp32_from_scratch(folder):
    config = decoder(Qwen3Config, tok.chat(), head_dim=16, tie_word_embeddings=True)
    model = AutoModelForCausalLM.from_config(config)
    return sft(folder, told(), model=model, bf16=False, gradient_checkpointing=False)


@ordinary("sft_prompt_completion", source=SFT_DOCS)
def sft_prompt_completion(folder):
    rows = [
        {"prompt": question, "completion": " " + answer}
        for question, answer in texts.chats(160, seed=7)
    ]
    return sft(folder, rows, bf16=False)


@ordinary("sft_conversational_prompt_completion", source=SFT_DOCS)
def sft_conversational_prompt_completion(folder):
    rows = [
        {"prompt": [turn("user", question)], "completion": [turn("assistant", "Well. " + answer)]}
        for question, answer in texts.chats(160, seed=7)
    ]
    return sft(folder, rows)


def new_chats(num: int = 160) -> list[dict]:
    """Chats of a kind that the pretrained model has not read."""
    return [
        {
            "messages": [
                turn("user", f"Translate: {row['en']}"),
                turn("assistant", f"{row['fr']}"),
            ]
        }
        for row in texts.translations(num, seed=7)
    ]


@ordinary("sft_messages", source=SFT)
def sft_messages(folder):
    return sft(folder, new_chats(), bf16=False)


@ordinary("sft_assistant_only", source=SFT_DOCS)
def sft_assistant_only(folder):
    return sft(folder, new_chats(), assistant_only_loss=True)


@ordinary("sft_packing_wrapped", source=SFT)
def sft_packing_wrapped(folder):
    changed = {"packing": True, "packing_strategy": "wrapped", "gradient_accumulation_steps": 2}
    changed |= {"per_device_train_batch_size": 2, "eval_strategy": "steps", "eval_steps": 8}
    return sft(folder, told(480), **changed)


@ordinary("sft_lora", source=SFT)
def sft_lora(folder):
    changed = {"learning_rate": 3e-3, "gradient_accumulation_steps": 2, "max_steps": 12}
    return sft(folder, new_chats(), peft=LoraConfig(**LORA), **changed)


@ordinary("sft_completion_only_cosine", source=SFT_DOCS)
def sft_completion_only_cosine(folder):
    rows = [
        {"prompt": [turn("user", row["en"])], "completion": [turn("assistant", row["fr"])]}
        for row in texts.translations(160, seed=7)
    ]
    return sft(folder, rows, lr_scheduler_type="cosine", warmup_steps=0.1, max_grad_norm=0.3)


def preferred(num: int = 160, *, conversational: bool = False) -> tuple[Dataset, Dataset]:
    rows = texts.preferences(num, seed=9)
    if conversational:
        rows = [
            {
                "prompt": [turn("user", row["prompt"])],
                "chosen": [turn("assistant", row["chosen"])],
                "rejected": [turn("assistant", row["rejected"])],
            }
            for row in rows
        ]
    return split(rows)


def prefer(folder, trainer_class, config_class, *, conversational=True, **changed):
    train, held_out = preferred(conversational=conversational)
    more = {"peft_config": changed.pop("peft")} if "peft" in changed else {}
    return trainer_class(
        model=chat_model(folder),
        args=config_class(**shared(folder, **{"learning_rate": 3e-4, "max_length": 64, **changed})),
        train_dataset=train,
        eval_dataset=held_out,
        processing_class=tok.chat(),
        **more,
    )


@ordinary("dpo", source=DPO)
def dpo(folder):
    return prefer(folder, DPOTrainer, DPOConfig)


@ordinary("dpo_plain_text_fp32", source="trl docs/source/dpo_trainer.md")
def dpo_plain_text_fp32(folder):
    return prefer(folder, DPOTrainer, DPOConfig, conversational=False, bf16=False)


@ordinary("dpo_lora", source=DPO)
def dpo_lora(folder):
    changed = {"peft": LoraConfig(**LORA, target_modules="all-linear"), "learning_rate": 5e-3}
    return prefer(folder, DPOTrainer, DPOConfig, **changed)


@ordinary("dpo_ipo", source="trl docs/source/dpo_trainer.md")
def dpo_ipo(folder):
    return prefer(folder, DPOTrainer, DPOConfig, loss_type=["ipo"], bf16=False)


@ordinary("orpo", source="trl examples/scripts/orpo.py")
def orpo(folder):
    return prefer(folder, ORPOTrainer, ORPOConfig, lr_scheduler_type="cosine")


@ordinary("cpo", source="trl examples/scripts/cpo.py")
def cpo(folder):
    return prefer(folder, CPOTrainer, CPOConfig)


@ordinary("simpo", source="trl docs/source/cpo_trainer.md")
def simpo(folder):
    changed = {"loss_type": "simpo", "cpo_alpha": 0.0, "beta": 2.0, "simpo_gamma": 1.0}
    return prefer(folder, CPOTrainer, CPOConfig, bf16=False, **changed)


@ordinary("tpo", source="trl docs/source/tpo_trainer.md")
def tpo(folder):
    rows = [{**row, "reference": row["chosen"]} for row in texts.preferences(160, seed=9)]
    train, held_out = split(rows)
    return TPOTrainer(
        model=chat_model(folder),
        args=TPOConfig(**shared(folder, learning_rate=3e-4)),
        train_dataset=train,
        eval_dataset=held_out,
        processing_class=tok.chat(),
    )


@ordinary("kto", source="trl trl/scripts/kto.py")
def kto(folder):
    rows = [
        {
            "prompt": [turn("user", row["prompt"])],
            "completion": [turn("assistant", row["chosen"] if i % 2 else row["rejected"])],
            "label": bool(i % 2),
        }
        for i, row in enumerate(texts.preferences(160, seed=9))
    ]
    train, held_out = split(rows)
    changed = {"learning_rate": 1e-3, "lr_scheduler_type": "cosine", "warmup_steps": 0.1}
    return KTOTrainer(
        model=chat_model(folder),
        args=KTOConfig(**shared(folder, max_length=64, **changed)),
        train_dataset=train,
        eval_dataset=held_out,
        processing_class=tok.chat(),
    )


def reward(folder, **changed):
    rows = [
        {
            side: [turn("user", row["prompt"]), turn("assistant", row[side])]
            for side in ("chosen", "rejected")
        }
        for row in texts.preferences(160, seed=9)
    ]
    train, held_out = split(rows)
    peft = changed.pop("peft", None)
    return RewardTrainer(
        model=with_new_head(Qwen2ForSequenceClassification, chat_model(folder), num_labels=1),
        args=RewardConfig(**shared(folder, max_length=64, **changed)),
        train_dataset=train,
        eval_dataset=held_out,
        processing_class=tok.chat(),
        peft_config=peft,
    )


@ordinary("reward_model", source="trl trl/scripts/reward.py")
def reward_model(folder):
    return reward(folder, learning_rate=2e-3, warmup_steps=2)


@ordinary("reward_model_lora", source="trl docs/source/reward_trainer.md")
def reward_model_lora(folder):
    lora = LoraConfig(r=8, lora_alpha=16, task_type="SEQ_CLS", modules_to_save=["score"])
    return reward(folder, learning_rate=1e-2, peft=lora, bf16=False)


@ordinary("gkd", source="trl examples/scripts/gkd.py")
def gkd(folder):
    """A student that has read little learns from a teacher that has read chats."""
    train, held_out = split(messages())
    changed = {"lmbda": 0.0, "max_length": 64, "max_new_tokens": 16, "max_steps": 12}
    return GKDTrainer(
        model=chat_model(folder, num_steps=40),
        teacher_model=chat_model(folder),
        args=GKDConfig(**shared(folder, **changed)),
        train_dataset=train,
        eval_dataset=held_out,
        processing_class=tok.chat(),
    )


@ordinary("distillation", source="trl docs/source/distillation_trainer.md")
def distillation(folder):
    """The student writes, and the teacher corrects each token."""
    train, held_out = split(
        [
            {"prompt": [turn("user", question)], "completion": [turn("assistant", answer)]}
            for question, answer in texts.chats(160, seed=7)
        ]
    )
    return DistillationTrainer(
        model=chat_model(folder, num_steps=40),
        teacher_model=chat_model(folder),
        args=DistillationConfig(**shared(folder, max_completion_length=24, max_steps=12)),
        train_dataset=train,
        eval_dataset=held_out,
        processing_class=tok.chat(),
    )
