"""Causal, masked and permuted language modeling, from Transformers' examples."""

from itertools import chain

from datasets import Dataset
from transformers import (
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    BertConfig,
    BloomConfig,
    DataCollatorForLanguageModeling,
    DataCollatorForPermutationLanguageModeling,
    DistilBertConfig,
    Gemma3TextConfig,
    GemmaConfig,
    GPT2Config,
    GPTNeoXConfig,
    LlamaConfig,
    MambaConfig,
    MistralConfig,
    MixtralConfig,
    OPTConfig,
    Phi3Config,
    Qwen2Config,
    Qwen3Config,
    Qwen3MoeConfig,
    RobertaConfig,
    Trainer,
    XLNetConfig,
    XLNetLMHeadModel,
    default_data_collator,
)

from ordinary import texts
from ordinary import tokenizers_of as tok
from ordinary.models_of import WIDE, decoder, encoder, special
from ordinary.registry import ordinary
from ordinary.usual import arguments

CLM = "transformers examples/pytorch/language-modeling/run_clm.py"
CLM_TASK = "transformers docs/source/en/tasks/language_modeling.md"
MLM = "transformers examples/pytorch/language-modeling/run_mlm.py"
MLM_TASK = "transformers docs/source/en/tasks/masked_language_modeling.md"
PLM = "transformers examples/pytorch/language-modeling/run_plm.py"


def grouped(tokenizer, seed: int, num: int = 500, block_size: int = 32) -> Dataset:
    """Stories, joined and cut into blocks of one length, as `group_texts` does."""

    def group_texts(batch):
        joined = {name: list(chain(*batch[name])) for name in batch}
        total = len(joined["input_ids"]) // block_size * block_size
        blocks = {
            name: [ids[i : i + block_size] for i in range(0, total, block_size)]
            for name, ids in joined.items()
        }
        return {**blocks, "labels": [list(block) for block in blocks["input_ids"]]}

    rows = Dataset.from_dict({"text": texts.stories(num, seed)})
    tokenized = rows.map(
        lambda batch: tokenizer(batch["text"]), batched=True, remove_columns="text"
    )
    return tokenized.map(group_texts, batched=True)


def parts_of(tokenizer, prepare=grouped) -> tuple[Dataset, Dataset]:
    whole = prepare(tokenizer, 0)
    return whole.select(range(16, len(whole))), whole.select(range(16))


def causal(folder, config, tokenizer, **changed):
    """Train from scratch on blocks, as `run_clm.py --config_name` does."""
    train, held_out = parts_of(tokenizer)
    return Trainer(
        model=AutoModelForCausalLM.from_config(config),
        args=arguments(folder, **changed),
        train_dataset=train,
        eval_dataset=held_out,
        processing_class=tokenizer,
        data_collator=default_data_collator,
    )


def gpt2_config(tokenizer) -> GPT2Config:
    return GPT2Config(n_embd=64, n_layer=2, n_head=4, n_positions=128, **special(tokenizer))


@ordinary("clm_gpt2", source=CLM)
def clm_gpt2(folder):
    tokenizer = tok.gpt2()
    return causal(folder, gpt2_config(tokenizer), tokenizer)


@ordinary("clm_gpt2_collator", source=CLM_TASK)
def clm_gpt2_collator(folder):
    tokenizer = tok.gpt2()
    tokenizer.pad_token = tokenizer.eos_token  # nothing is padded, and no story has an end token
    train, held_out = parts_of(tokenizer)
    return Trainer(
        model=AutoModelForCausalLM.from_config(gpt2_config(tokenizer)),
        args=arguments(folder, weight_decay=0.01, eval_strategy="steps", eval_steps=8, bf16=True),
        train_dataset=train,
        eval_dataset=held_out,
        processing_class=tokenizer,
        data_collator=DataCollatorForLanguageModeling(tokenizer=tokenizer, mlm=False),
    )


def lines(tokenizer, seed: int, num: int = 200) -> Dataset:
    """One story per row, with the end of text where the tokenizer does not write one."""
    end = "" if tokenizer.cls_token else tokenizer.eos_token
    rows = Dataset.from_dict({"text": [story + end for story in texts.stories(num, seed)]})

    def tokenize(batch):
        return tokenizer(batch["text"], truncation=True, max_length=64)

    return rows.map(tokenize, batched=True, remove_columns="text")


def by_line(folder, config, tokenizer, **changed):
    train, held_out = parts_of(tokenizer, lines)
    return Trainer(
        model=AutoModelForCausalLM.from_config(config),
        args=arguments(folder, **changed),
        train_dataset=train,
        eval_dataset=held_out,
        processing_class=tokenizer,
        data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False),
    )


@ordinary("clm_line_by_line_gpt2", source=CLM_TASK)
def clm_line_by_line_gpt2(folder):
    tokenizer = tok.gpt2(pad_token="<|pad|>")
    return by_line(folder, gpt2_config(tokenizer), tokenizer)


@ordinary("clm_line_by_line_llama", source=CLM_TASK)
def clm_line_by_line_llama(folder):
    tokenizer = tok.gpt2(pad_token="<|pad|>")
    return by_line(folder, decoder(LlamaConfig, tokenizer), tokenizer, bf16=True)


@ordinary("clm_llama", source=CLM)
def clm_llama(folder):
    tokenizer = tok.gpt2()
    return causal(folder, decoder(LlamaConfig, tokenizer), tokenizer, bf16=True)


@ordinary("clm_qwen2_tied", source=CLM)
def clm_qwen2_tied(folder):
    tokenizer = tok.chat()
    config = decoder(Qwen2Config, tokenizer, tie_word_embeddings=True)
    return causal(folder, config, tokenizer)


@ordinary("clm_qwen3", source=CLM)
def clm_qwen3(folder):
    tokenizer = tok.chat()
    return causal(folder, decoder(Qwen3Config, tokenizer, head_dim=16), tokenizer, bf16=True)


@ordinary("clm_gemma", source=CLM)
def clm_gemma(folder):
    tokenizer = tok.gpt2(pad_token="<|pad|>")
    return causal(folder, decoder(GemmaConfig, tokenizer, head_dim=16), tokenizer)


@ordinary("clm_gemma3", source=CLM)
def clm_gemma3(folder):
    tokenizer = tok.gpt2(pad_token="<|pad|>")
    config = decoder(Gemma3TextConfig, tokenizer, head_dim=16, sliding_window=16)
    return causal(folder, config, tokenizer, bf16=True)


@ordinary("clm_mistral", source=CLM)
def clm_mistral(folder):
    tokenizer = tok.gpt2()
    return causal(folder, decoder(MistralConfig, tokenizer, sliding_window=16), tokenizer)


@ordinary("clm_mixtral", source="transformers docs/source/en/model_doc/mixtral.md")
def clm_mixtral(folder):
    tokenizer = tok.gpt2()
    config = decoder(MixtralConfig, tokenizer, num_local_experts=4, output_router_logits=True)
    return causal(folder, config, tokenizer)


@ordinary("clm_qwen3_moe", source="transformers docs/source/en/model_doc/qwen3_moe.md")
def clm_qwen3_moe(folder):
    tokenizer = tok.chat()
    config = decoder(
        Qwen3MoeConfig,
        tokenizer,
        head_dim=16,
        num_experts=8,
        num_experts_per_tok=2,
        moe_intermediate_size=64,
        output_router_logits=True,
    )
    return causal(folder, config, tokenizer, bf16=True)


@ordinary("clm_mamba", source="transformers docs/source/en/model_doc/mamba.md")
def clm_mamba(folder):
    tokenizer = tok.gpt2(pad_token="<|pad|>")
    config = MambaConfig(hidden_size=64, num_hidden_layers=2, state_size=8, **special(tokenizer))
    return causal(folder, config, tokenizer, max_steps=12)


@ordinary("clm_bloom", source=CLM)
def clm_bloom(folder):
    tokenizer = tok.gpt2(pad_token="<|pad|>")
    config = BloomConfig(hidden_size=64, n_layer=2, n_head=4, **special(tokenizer))
    return causal(folder, config, tokenizer, bf16=True)


@ordinary("clm_opt", source=CLM)
def clm_opt(folder):
    tokenizer = tok.roberta()
    config = OPTConfig(
        hidden_size=64,
        word_embed_proj_dim=64,
        ffn_dim=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=128,
        **special(tokenizer),
    )
    return causal(folder, config, tokenizer)


@ordinary("clm_gpt_neox", source=CLM)
def clm_gpt_neox(folder):
    tokenizer = tok.gpt2()
    return causal(folder, encoder(GPTNeoXConfig, tokenizer), tokenizer, warmup_steps=2)


@ordinary("clm_phi3", source=CLM)
def clm_phi3(folder):
    tokenizer = tok.gpt2(pad_token="<|pad|>")
    return causal(folder, decoder(Phi3Config, tokenizer), tokenizer, bf16=True)


def masked(folder, config, tokenizer, collator, prepare=grouped, **changed):
    train, held_out = parts_of(tokenizer, prepare)
    return Trainer(
        model=AutoModelForMaskedLM.from_config(config),
        args=arguments(folder, **changed),
        train_dataset=train,
        eval_dataset=held_out,
        processing_class=tokenizer,
        data_collator=collator,
    )


@ordinary("mlm_bert", source=MLM)
def mlm_bert(folder):
    tokenizer = tok.bert()
    collator = DataCollatorForLanguageModeling(tokenizer=tokenizer, mlm_probability=0.15)
    return masked(folder, encoder(BertConfig, tokenizer), tokenizer, collator, max_steps=20)


@ordinary("mlm_line_by_line_roberta", source=MLM)
def mlm_line_by_line_roberta(folder):
    tokenizer = tok.roberta()
    collator = DataCollatorForLanguageModeling(tokenizer=tokenizer, mlm_probability=0.15)
    config = encoder(RobertaConfig, tokenizer, type_vocab_size=1)
    return masked(folder, config, tokenizer, collator, lines, max_steps=20, bf16=True)


@ordinary("mlm_distilbert", source=MLM_TASK)
def mlm_distilbert(folder):
    tokenizer = tok.bert()
    collator = DataCollatorForLanguageModeling(tokenizer=tokenizer, mlm_probability=0.15)
    config = DistilBertConfig(
        dim=64, n_layers=2, n_heads=4, hidden_dim=128, vocab_size=len(tokenizer), **WIDE
    )
    return masked(folder, config, tokenizer, collator, max_steps=20, weight_decay=0.01)


@ordinary("plm_xlnet", source=PLM)
def plm_xlnet(folder):
    tokenizer = tok.xlnet()
    config = XLNetConfig(d_model=64, n_layer=2, n_head=4, d_inner=128, vocab_size=len(tokenizer))
    train, held_out = parts_of(tokenizer)
    names = ["attention_mask", "token_type_ids", "labels"]
    names = [name for name in names if name in train.column_names]
    return Trainer(
        model=XLNetLMHeadModel(config),
        args=arguments(folder, remove_unused_columns=False),
        train_dataset=train.remove_columns(names),
        eval_dataset=held_out.remove_columns(names),
        processing_class=tokenizer,
        data_collator=DataCollatorForPermutationLanguageModeling(
            tokenizer=tokenizer, plm_probability=1 / 6, max_span_length=5
        ),
    )
