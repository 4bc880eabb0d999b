"""Adapters on a causal language model, a classifier and a sequence-to-sequence model, from PEFT."""

import torch
from datasets import Dataset
from peft import (
    AdaLoraConfig,
    IA3Config,
    LNTuningConfig,
    LoHaConfig,
    LoKrConfig,
    LoraConfig,
    OFTConfig,
    PrefixTuningConfig,
    PromptEncoderConfig,
    PromptTuningConfig,
    TrainableTokensConfig,
    VeraConfig,
    get_peft_model,
)
from transformers import (
    AutoModelForSeq2SeqLM,
    BertForSequenceClassification,
    BertForTokenClassification,
    DataCollatorForLanguageModeling,
    DataCollatorForSeq2Seq,
    Trainer,
    TrainerCallback,
)

from ordinary import texts
from ordinary import tokenizers_of as tok
from ordinary.classification import classify
from ordinary.models_of import bert_model, chat_model, with_new_head
from ordinary.registry import ordinary
from ordinary.seq2seq import t5_config
from ordinary.usual import arguments, split

DOCS = "peft docs/source"


def causal(folder, peft_config, *, callbacks=(), **changed):
    """Adapt a pretrained model to new text, as in `examples/causal_language_modeling`."""
    tokenizer = tok.chat()
    rows = [f"{row['en']} : {row['fr']}" for row in texts.translations(160, seed=7)]
    data = Dataset.from_dict({"text": [row + tokenizer.eos_token for row in rows]})
    data = data.map(lambda b: tokenizer(b["text"]), batched=True, remove_columns="text")
    return Trainer(
        model=get_peft_model(chat_model(folder), peft_config),
        args=arguments(folder, **changed),
        train_dataset=data.select(range(16, len(data))),
        eval_dataset=data.select(range(16)),
        processing_class=tokenizer,
        data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False),
        callbacks=list(callbacks),
    )


def adapt_classifier(folder, peft_config, **changed):
    """Adapt a pretrained BERT to reviews, as in `examples/sequence_classification`."""
    model = with_new_head(BertForSequenceClassification, bert_model())
    adapted = get_peft_model(model, peft_config)
    return classify(folder, None, tok.bert(), texts.reviews(400), model=adapted, **changed)


@ordinary("lora_causal", source=f"{DOCS}/developer_guides/lora.md")
def lora_causal(folder):
    config = LoraConfig(r=8, lora_alpha=16, lora_dropout=0.1, task_type="CAUSAL_LM")
    return causal(folder, config, learning_rate=3e-3)


@ordinary("lora_loaded_beside_a_new_one", source=f"{DOCS}/developer_guides/lora.md")
def lora_loaded_beside_a_new_one(folder):
    """An earlier adapter goes on training; the new one that came with the model stays idle."""
    config = LoraConfig(r=8, lora_alpha=16, task_type="CAUSAL_LM")
    trainer = causal(folder, config, learning_rate=3e-3)
    trainer.model.add_adapter("earlier", config)
    for name, weight in trainer.model.named_parameters():
        if "lora_B.earlier" in name:
            torch.nn.init.normal_(weight, std=0.02)
    trainer.model.set_adapter("earlier")
    return trainer


@ordinary("lora_all_linear_bf16", source=f"{DOCS}/developer_guides/lora.md")
def lora_all_linear_bf16(folder):
    config = LoraConfig(target_modules="all-linear", lora_alpha=16, task_type="CAUSAL_LM")
    return causal(folder, config, learning_rate=2e-3, bf16=True)


@ordinary("rslora", source=f"{DOCS}/developer_guides/lora.md")
def rslora(folder):
    config = LoraConfig(r=16, use_rslora=True, lora_alpha=16, task_type="CAUSAL_LM")
    return causal(folder, config, learning_rate=2e-3, bf16=True)


@ordinary("pissa", source="peft examples/pissa_finetuning")
def pissa(folder):
    config = LoraConfig(r=8, lora_alpha=8, init_lora_weights="pissa", task_type="CAUSAL_LM")
    return causal(folder, config, learning_rate=1e-3)


@ordinary("dora", source="peft examples/dora_finetuning")
def dora(folder):
    config = LoraConfig(r=8, lora_alpha=16, use_dora=True, task_type="CAUSAL_LM")
    return causal(folder, config, learning_rate=3e-3)


@ordinary("ia3_causal", source=f"{DOCS}/conceptual_guides/ia3.md")
def ia3_causal(folder):
    return causal(folder, IA3Config(task_type="CAUSAL_LM"), learning_rate=2e-2, bf16=True)


@ordinary("prompt_tuning_causal", source=f"{DOCS}/task_guides/prompt_based_methods.md")
def prompt_tuning_causal(folder):
    config = PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=8)
    return causal(folder, config, learning_rate=3e-2)


@ordinary("prefix_tuning_causal", source=f"{DOCS}/task_guides/prompt_based_methods.md")
def prefix_tuning_causal(folder):
    config = PrefixTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=8)
    return causal(folder, config, learning_rate=3e-2)


@ordinary("p_tuning_causal", source=f"{DOCS}/task_guides/prompt_based_methods.md")
def p_tuning_causal(folder):
    config = PromptEncoderConfig(
        task_type="CAUSAL_LM", num_virtual_tokens=8, encoder_hidden_size=64
    )
    return causal(folder, config, learning_rate=3e-3, bf16=True)


@ordinary("layer_norm_tuning", source=f"{DOCS}/package_reference/layernorm_tuning.md")
def layer_norm_tuning(folder):
    return causal(folder, LNTuningConfig(task_type="CAUSAL_LM"), learning_rate=1e-2)


class AdaptRanks(TrainerCallback):
    """AdaLoRA asks for this call after each optimizer step."""

    def on_optimizer_step(self, args, state, control, model=None, **_):
        model.base_model.update_and_allocate(state.global_step)


@ordinary("adalora", source="peft examples/conditional_generation/peft_adalora_seq2seq.py")
def adalora(folder):
    config = AdaLoraConfig(
        init_r=8,
        target_r=4,
        tinit=2,
        tfinal=4,
        deltaT=1,
        total_step=16,
        lora_alpha=16,
        task_type="CAUSAL_LM",
        target_modules=["q_proj", "v_proj"],
    )
    return causal(folder, config, callbacks=[AdaptRanks()], learning_rate=1e-2)


@ordinary("trainable_tokens", source=f"{DOCS}/package_reference/trainable_tokens.md")
def trainable_tokens(folder):
    """Only the rows of some words are trained; the embeddings are tied."""
    tokenizer = tok.chat()
    words = [" " + word for word in texts.FRENCH.values()]
    ids = sorted({tokenizer(word)["input_ids"][0] for word in words})
    config = TrainableTokensConfig(token_indices=ids, task_type="CAUSAL_LM")
    return causal(folder, config, learning_rate=1e-2)


@ordinary("lora_with_trainable_tokens", source=f"{DOCS}/developer_guides/lora.md")
def lora_with_trainable_tokens(folder):
    """New tokens are added, and their rows are trained beside LoRA."""
    tokenizer = tok.chat()
    ids = [tokenizer.convert_tokens_to_ids(token) for token in ("<|im_start|>", "<|im_end|>")]
    config = LoraConfig(r=8, trainable_token_indices={"embed_tokens": ids}, task_type="CAUSAL_LM")
    return causal(folder, config, learning_rate=3e-3, bf16=True)


@ordinary("loha", source=f"{DOCS}/package_reference/loha.md")
def loha(folder):
    config = LoHaConfig(r=8, alpha=16, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
    return causal(folder, config, learning_rate=5e-3)


@ordinary("lokr", source=f"{DOCS}/package_reference/lokr.md")
def lokr(folder):
    config = LoKrConfig(r=8, alpha=16, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
    return causal(folder, config, learning_rate=5e-3, bf16=True)


@ordinary("vera", source=f"{DOCS}/package_reference/vera.md")
def vera(folder):
    config = VeraConfig(r=32, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
    return causal(folder, config, learning_rate=2e-2)


@ordinary("oft", source=f"{DOCS}/conceptual_guides/oft.md")
def oft(folder):
    config = OFTConfig(
        oft_block_size=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM", r=0
    )
    return causal(folder, config, learning_rate=5e-3)


@ordinary("lora_classifier", source="peft examples/sequence_classification")
def lora_classifier(folder):
    config = LoraConfig(task_type="SEQ_CLS", r=8, lora_alpha=16, lora_dropout=0.1)
    return adapt_classifier(folder, config, learning_rate=3e-3)


@ordinary("ia3_classifier", source="peft examples/sequence_classification/IA3.ipynb")
def ia3_classifier(folder):
    return adapt_classifier(folder, IA3Config(task_type="SEQ_CLS"), learning_rate=1e-2, bf16=True)


@ordinary("prompt_tuning_classifier", source="peft examples/sequence_classification")
def prompt_tuning_classifier(folder):
    config = PromptTuningConfig(task_type="SEQ_CLS", num_virtual_tokens=8)
    return adapt_classifier(folder, config, learning_rate=1e-2)


@ordinary("prefix_tuning_classifier", source="peft examples/sequence_classification")
def prefix_tuning_classifier(folder):
    config = PrefixTuningConfig(task_type="SEQ_CLS", num_virtual_tokens=8)
    return adapt_classifier(folder, config, learning_rate=1e-2, bf16=True)


@ordinary("lora_tagger", source="peft examples/token_classification")
def lora_tagger(folder):
    from ordinary.tagging import TAGS, tag

    model = with_new_head(BertForTokenClassification, bert_model(), id2label=TAGS)
    config = LoraConfig(task_type="TOKEN_CLS", r=8, lora_alpha=16)
    trainer = tag(folder, model.config, tok.bert(), learning_rate=5e-3, bf16=True)
    return Trainer(
        model=get_peft_model(model, config),
        args=trainer.args,
        train_dataset=trainer.train_dataset,
        eval_dataset=trainer.eval_dataset,
        processing_class=trainer.processing_class,
        data_collator=trainer.data_collator,
    )


@ordinary("lora_seq2seq", source="peft examples/conditional_generation")
def lora_seq2seq(folder):
    tokenizer = tok.t5()

    def tokenize(batch):
        return tokenizer(batch["en"], text_target=batch["fr"], truncation=True, max_length=64)

    train, held_out = (
        part.map(tokenize, batched=True, remove_columns=part.column_names)
        for part in split(texts.translations(144))
    )
    config = LoraConfig(task_type="SEQ_2_SEQ_LM", r=8, lora_alpha=32, lora_dropout=0.1)
    model = get_peft_model(AutoModelForSeq2SeqLM.from_config(t5_config(tokenizer)), config)
    return Trainer(
        model=model,
        args=arguments(folder, learning_rate=5e-3, max_steps=20),
        train_dataset=train,
        eval_dataset=held_out,
        processing_class=tokenizer,
        data_collator=DataCollatorForSeq2Seq(tokenizer, model=model),
    )
