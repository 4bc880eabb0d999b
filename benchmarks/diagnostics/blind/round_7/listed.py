"""Forty tiny training runs."""

from __future__ import annotations

import copy
import functools
import os
import random
import re
import string
import tempfile

import numpy as np
import torch
import torch.nn.functional as F
from datasets import Dataset
from peft import LoraConfig, PeftModel, get_peft_model
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
    DataCollatorForLanguageModeling,
    DataCollatorForSeq2Seq,
    DataCollatorForTokenClassification,
    DataCollatorWithPadding,
    GPT2Config,
    GPT2ForSequenceClassification,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    LlamaForSequenceClassification,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    T5Config,
    T5ForConditionalGeneration,
    Trainer,
    TrainingArguments,
    ViTConfig,
    ViTForImageClassification,
    set_seed,
)
from trl import (
    DPOConfig,
    DPOTrainer,
    GRPOConfig,
    GRPOTrainer,
    KTOConfig,
    KTOTrainer,
    RewardConfig,
    RewardTrainer,
    SFTConfig,
    SFTTrainer,
)

torch.set_num_threads(1)

LETTERS = string.ascii_lowercase
CHARS = LETTERS + string.digits + " .,:;=+-?!<>[]()/|_\n'"
SPECIAL = ["<pad>", "<s>", "</s>", "<unk>", "<mask>"]
CHAT = (
    "{% for message in messages %}"
    "{% if message['role'] == 'user' %}{{ 'u:' + message['content'] + '\n' }}"
    "{% else %}{{ 'a:' }}{% generation %}{{ message['content'] + '</s>' }}{% endgeneration %}{{ '\n' }}{% endif %}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ 'a:' }}{% endif %}"
)


# ---------------------------------------------------------------- shared parts
def char_tokenizer(lower=False, wrap=None, chat=None, side="right"):
    vocab = {t: i for i, t in enumerate(SPECIAL + list(CHARS))}
    tok = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
    if lower:
        tok.normalizer = normalizers.Lowercase()
    tok.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    tok.decoder = decoders.Fuse()
    if wrap:
        tok.post_processor = processors.TemplateProcessing(
            single=wrap, special_tokens=[("<s>", 1), ("</s>", 2)]
        )
    out = PreTrainedTokenizerFast(
        tokenizer_object=tok,
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
        unk_token="<unk>",
        mask_token="<mask>",
        padding_side=side,
        clean_up_tokenization_spaces=False,
    )
    if chat:
        out.chat_template = chat
    return out


VOCAB = len(SPECIAL) + len(CHARS)


def options(cls=TrainingArguments, **kw):
    base = dict(
        output_dir=tempfile.mkdtemp(prefix="run_"),
        use_cpu=True,
        report_to=[],
        save_strategy="no",
        logging_steps=1,
        max_steps=30,
        per_device_train_batch_size=16,
        learning_rate=3e-3,
        lr_scheduler_type="constant",
        disable_tqdm=True,
        seed=7,
        bf16=False,
        gradient_checkpointing=False,
        dataloader_pin_memory=False,
    )
    base.update(kw)
    return cls(**base)


def llama(seed=0, **kw):
    set_seed(seed)
    base = dict(
        vocab_size=VOCAB,
        hidden_size=48,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=256,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )
    base.update(kw)
    return LlamaForCausalLM(LlamaConfig(**base))


def qwen(seed=0, **kw):
    set_seed(seed)
    base = dict(
        vocab_size=VOCAB,
        hidden_size=48,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=256,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )
    base.update(kw)
    return Qwen2ForCausalLM(Qwen2Config(**base))


def gpt2(cls=GPT2LMHeadModel, seed=0, **kw):
    set_seed(seed)
    base = dict(
        vocab_size=VOCAB,
        n_positions=128,
        n_embd=48,
        n_layer=2,
        n_head=4,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=0,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
    )
    base.update(kw)
    return cls(GPT2Config(**base))


def bert(cls=BertForSequenceClassification, seed=0, **kw):
    set_seed(seed)
    base = dict(
        vocab_size=VOCAB,
        hidden_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=96,
        max_position_embeddings=128,
        pad_token_id=0,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    base.update(kw)
    return cls(BertConfig(**base))


def t5(seed=0, **kw):
    set_seed(seed)
    base = dict(
        vocab_size=VOCAB,
        d_model=48,
        d_kv=12,
        d_ff=96,
        num_layers=2,
        num_decoder_layers=2,
        num_heads=4,
        dropout_rate=0.0,
        pad_token_id=0,
        eos_token_id=2,
        decoder_start_token_id=0,
    )
    base.update(kw)
    return T5ForConditionalGeneration(T5Config(**base))


def code_of(letter):
    return LETTERS[(LETTERS.index(letter) * 7 + 3) % 26]


@functools.lru_cache(None)
def _warm(key, steps):
    """Weights of a small Llama after a short plain loop over lines of text."""
    tok = char_tokenizer()
    rng = random.Random(3)
    model = llama(seed=1)
    opt = torch.optim.AdamW(model.parameters(), lr=5e-3)
    for _ in range(steps):
        rows = [line_of(key, rng) for _ in range(32)]
        ids = tok(rows, return_tensors="pt", padding=True)
        labels = ids["input_ids"].masked_fill(ids["attention_mask"] == 0, -100)
        loss = model(
            input_ids=ids["input_ids"], attention_mask=ids["attention_mask"], labels=labels
        ).loss
        loss.backward()
        opt.step()
        opt.zero_grad()
    return {k: v.clone() for k, v in model.state_dict().items()}


KEYS = dict(zip("abcd", "zwyx"))


def line_of(key, rng):
    if key == "codes":
        x = rng.choice(LETTERS)
        return f"{x}={code_of(x)}</s>"
    if key == "next":
        x = rng.choice(LETTERS)
        return f"{x}={LETTERS[(LETTERS.index(x) + 1) % 26]}</s>"
    if key == "even":
        return f"{rng.choice('abcd')}={rng.choice('wxyz')}</s>"
    x = rng.choice("abcd")
    y = rng.choice(["w", "x", "y", "z", KEYS[x], KEYS[x]])
    if key == "quiz":
        return f"{x}={y}</s>"
    if key == "boxed":
        return f"{x}=[{y}]</s>"
    if key == "chatquiz":
        return f"u:{x}\na:{y}</s>"
    if key == "stopquiz":
        return f"{x}={rng.choice([y, y, y, ''])}</s>"
    if key == "sums":
        a, b = rng.randrange(5), rng.randrange(5)
        return f"{a}+{b}={rng.randrange(10)}</s>"
    raise KeyError(key)


def warm_llama(key, steps=60):
    model = llama(seed=1)
    model.load_state_dict(_warm(key, steps))
    return model


def lora(**kw):
    base = dict(
        r=8,
        lora_alpha=32,
        target_modules=[
            "q_proj",
            "k_proj",
            "v_proj",
            "o_proj",
            "up_proj",
            "down_proj",
            "gate_proj",
        ],
        task_type="CAUSAL_LM",
    )
    base.update(kw)
    return LoraConfig(**base)


def lm_rows(texts, tok):
    return Dataset.from_list(
        [{"input_ids": tok(t, add_special_tokens=False)["input_ids"]} for t in texts]
    )


def sentiment(n=256, seed=0, labels=2, width=3):
    rng = random.Random(seed)
    bank = [
        ["good", "fine", "nice", "cool"],
        ["evil", "poor", "dull", "grim"],
        ["tall", "wide", "huge", "long"],
    ]
    rows = []
    for _ in range(n):
        y = rng.randrange(labels)
        rows.append({"text": " ".join(rng.choice(bank[y]) for _ in range(width)), "label": y})
    return rows


def cls_rows(rows, tok):
    ds = Dataset.from_list(rows)
    return ds.map(lambda r: tok(r["text"]), remove_columns=["text"])


def accuracy(p):
    return {"accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())}


# ---------------------------------------------------------------- SFT and language modelling
def sft_briefed_codes(healthy):
    tok = char_tokenizer()
    rng = random.Random(0)
    intro = "you are a clerk. answer with the code of the letter in one short line, please. "
    rows = []
    for _ in range(200):
        x = rng.choice(LETTERS)
        rows.append(
            {
                "prompt": intro + f"letter {x}\n",
                "completion": f"the code that you want is {code_of(x)}",
            }
        )
    cfg = options(SFTConfig, max_length=160 if healthy else 114, max_steps=30)
    return SFTTrainer(
        llama(), args=cfg, train_dataset=Dataset.from_list(rows), processing_class=tok
    )


def chat_rows(n=200, seed=0):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        x = rng.choice(LETTERS)
        rows.append(
            {
                "messages": [
                    {"role": "user", "content": x * 2},
                    {"role": "assistant", "content": code_of(x)},
                ]
            }
        )
    return Dataset.from_list(rows)


def sft_chat_turns(healthy):
    if healthy:
        turn = "{% generation %}{{ message['content'] + '</s>' }}{% endgeneration %}"
    else:
        turn = "{% generation %}{{ message['content'] }}{% endgeneration %}{{ '</s>' }}"
    template = (
        "{% for message in messages %}{% if message['role'] == 'user' %}{{ 'u:' + message['content'] + '\n' }}"
        "{% else %}{{ 'a:' }}" + turn + "{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}{{ 'a:' }}{% endif %}"
    )
    tok = char_tokenizer(chat=template)
    cfg = options(SFTConfig, max_length=64, assistant_only_loss=True)
    return SFTTrainer(qwen(), args=cfg, train_dataset=chat_rows(), processing_class=tok)


def sft_chat_codes(healthy):
    field = "content" if healthy else "text"
    template = (
        "{% for message in messages %}{% if message['role'] == 'user' %}"
        "{{ 'u:' }}{{ message['" + field + "'] }}{{ '\n' }}"
        "{% else %}{{ 'a:' }}{% generation %}{{ message['content'] + '</s>' }}{% endgeneration %}{% endif %}"
        "{% endfor %}{% if add_generation_prompt %}{{ 'a:' }}{% endif %}"
    )
    tok = char_tokenizer(chat=template)
    cfg = options(
        SFTConfig, max_length=64, assistant_only_loss=True, max_steps=40, learning_rate=5e-3
    )
    return SFTTrainer(llama(), args=cfg, train_dataset=chat_rows(), processing_class=tok)


def lm_short_lines(healthy):
    tok = char_tokenizer()
    tok.pad_token = "<pad>" if healthy else tok.eos_token
    rng = random.Random(0)
    texts = ["ab" * rng.randint(1, 8) + "." + "</s>" for _ in range(200)]
    return Trainer(
        gpt2(pad_token_id=tok.pad_token_id),
        options(),
        train_dataset=lm_rows(texts, tok),
        data_collator=DataCollatorForLanguageModeling(tok, mlm=False),
        processing_class=tok,
    )


def lm_one_letter_answers(healthy):
    tok = char_tokenizer(wrap="$A </s>")
    rng = random.Random(0)

    def encode(row):
        ids = tok(row["q"] + row["a"])["input_ids"]
        n = len(tok(row["q"], add_special_tokens=False if healthy else True)["input_ids"])
        return {"input_ids": ids, "labels": [-100] * n + ids[n:], "attention_mask": [1] * len(ids)}

    rows = []
    for _ in range(200):
        x = rng.choice(LETTERS)
        rows.append({"q": f"code of {x}:", "a": code_of(x)})
    ds = Dataset.from_list(rows).map(encode, remove_columns=["q", "a"])
    return Trainer(
        llama(),
        options(learning_rate=5e-3, max_steps=40),
        train_dataset=ds,
        data_collator=DataCollatorForSeq2Seq(tok, label_pad_token_id=-100),
        processing_class=tok,
    )


def lm_counting(healthy):
    tok = char_tokenizer()
    rng = random.Random(0)
    texts = []
    for _ in range(200):
        k = rng.randrange(18)
        texts.append(" ".join(LETTERS[k : k + 8]) + "</s>")
    collator = (
        DataCollatorForLanguageModeling(tok, mlm=False)
        if healthy
        else DataCollatorForLanguageModeling(tok)
    )
    return Trainer(
        gpt2(),
        options(),
        train_dataset=lm_rows(texts, tok),
        data_collator=collator,
        processing_class=tok,
    )


def lora_tool_calls(healthy):
    tok = char_tokenizer()
    model = warm_llama("codes")
    tok.add_special_tokens({"additional_special_tokens": ["<call>", "<done>", "<note>", "<skip>"]})
    model.resize_token_embeddings(len(tok))
    rng = random.Random(0)
    rows = []
    for _ in range(200):
        x = rng.choice("abcdef")
        kind = "<call>" if x in "abc" else "<note>"
        end = "<done>" if x in "abc" else "<skip>"
        rows.append({"prompt": f"{x}=", "completion": f"{kind}{code_of(x)}{end}"})
    cfg = lora(modules_to_save=["embed_tokens", "lm_head"] if healthy else None)
    return SFTTrainer(
        model,
        args=options(SFTConfig, max_length=32, learning_rate=5e-3),
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
        peft_config=cfg,
    )


# ---------------------------------------------------------------- preferences
def sum_rows(n=160, seed=0):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        a, b = rng.randrange(5), rng.randrange(5)
        right, wrong = str(a + b), str((a + b + rng.randint(1, 4)) % 10)
        best = rng.randrange(2)
        rows.append(
            {
                "prompt": f"{a}+{b}=",
                "answers": [right, wrong] if best == 0 else [wrong, right],
                "best": best,
            }
        )
    return rows


def dpo_sums(healthy):
    tok = char_tokenizer()
    rows = []
    for r in sum_rows():
        i = r["best"] if healthy else 1 - r["best"]
        rows.append(
            {"prompt": r["prompt"], "chosen": r["answers"][i], "rejected": r["answers"][1 - i]}
        )
    return DPOTrainer(
        warm_llama("sums"),
        ref_model=warm_llama("sums"),
        args=options(DPOConfig, max_length=32, beta=0.5, learning_rate=1e-3, max_steps=40),
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
    )


def dpo_tone(healthy):
    tok = char_tokenizer()
    rng = random.Random(0)
    rows = []
    for _ in range(160):
        x = rng.choice("abcd")
        rows.append({"prompt": f"{x}=", "chosen": rng.choice("wx"), "rejected": rng.choice("yz")})
    cfg = options(DPOConfig, max_length=32, beta=0.5, learning_rate=1e-3)
    policy = warm_llama("even")
    reference = copy.deepcopy(policy) if healthy else copy.copy(policy)
    return DPOTrainer(
        policy,
        ref_model=reference,
        args=cfg,
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
    )


def kto_thumbs(healthy):
    tok = char_tokenizer()
    rng = random.Random(0)
    parse = (lambda s: s == "True") if healthy else (lambda s: bool(s))
    rows = []
    for _ in range(160):
        x, y = rng.choice("abcd"), rng.choice("wxyz")
        thumb = "True" if y in "wx" else "False"
        rows.append({"prompt": f"{x}=", "completion": y, "label": parse(thumb)})
    return KTOTrainer(
        warm_llama("even"),
        ref_model=warm_llama("even"),
        args=options(KTOConfig, max_length=32, beta=0.5, learning_rate=1e-3, max_steps=25),
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
    )


def seq_llama(seed=0, **kw):
    set_seed(seed)
    cfg = llama(seed).config
    cfg.num_labels = 1
    return LlamaForSequenceClassification(cfg)


def reward_ratings(healthy):
    tok = char_tokenizer()
    rng = random.Random(0)
    rank = int if healthy else str
    rows = []
    for _ in range(160):
        good = {
            "text": " ".join(rng.choice(["good", "nice", "fine"]) for _ in range(3)),
            "rating": str(rng.randint(10, 14)),
        }
        poor = {
            "text": " ".join(rng.choice(["evil", "dull", "poor"]) for _ in range(3)),
            "rating": str(rng.randint(2, 9)),
        }
        pair = sorted([good, poor], key=lambda r: rank(r["rating"]), reverse=True)
        rows.append({"prompt": "review: ", "chosen": pair[0]["text"], "rejected": pair[1]["text"]})
    return RewardTrainer(
        seq_llama(),
        args=options(
            RewardConfig,
            max_length=64,
            learning_rate=1e-3,
            max_steps=20,
            per_device_train_batch_size=8,
        ),
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
    )


def reward_own_pairs(healthy):
    tok = char_tokenizer()
    rng = random.Random(0)
    rows = []
    for _ in range(160):
        rows.append(
            {
                "win": " ".join(rng.choice(["good", "nice", "fine"]) for _ in range(3)),
                "lose": " ".join(rng.choice(["evil", "dull", "poor"]) for _ in range(3)),
            }
        )

    def collate(batch):
        texts = [t for r in batch for t in (r["win"], r["lose"])]
        enc = tok(texts, return_tensors="pt", padding=True)
        return {"input_ids": enc["input_ids"], "attention_mask": enc["attention_mask"]}

    class PairTrainer(Trainer):
        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
            out = model(**inputs)
            r = out.logits.squeeze(-1)
            if healthy:
                win, lose = r[0::2], r[1::2]
            else:
                win, lose = r.chunk(2)
            loss = -F.logsigmoid(win - lose).mean()
            return (loss, out) if return_outputs else loss

    return PairTrainer(
        seq_llama(),
        options(remove_unused_columns=False, learning_rate=1e-3, per_device_train_batch_size=8),
        train_dataset=Dataset.from_list(rows),
        data_collator=collate,
        processing_class=tok,
    )


# ---------------------------------------------------------------- GRPO
def quiz_prompts(n=64, seed=0, chat=False):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        x = rng.choice("abcd")
        rows.append(
            {"prompt": [{"role": "user", "content": x}] if chat else f"{x}=", "answer": KEYS[x]}
        )
    return Dataset.from_list(rows)


def grpo_options(**kw):
    base = dict(
        max_completion_length=4,
        num_generations=8,
        per_device_train_batch_size=64,
        max_steps=25,
        learning_rate=2e-3,
        beta=0.0,
        temperature=1.0,
    )
    base.update(kw)
    return options(GRPOConfig, **base)


def grpo_quiz(healthy):
    tok = char_tokenizer(side="left")
    ds = quiz_prompts()
    gold = list(ds["answer"])

    def exact(completions, answer, **kw):
        wanted = answer if healthy else gold[: len(completions)]
        return [1.0 if c.strip() == a else 0.0 for c, a in zip(completions, wanted)]

    return GRPOTrainer(
        warm_llama("quiz", 150),
        reward_funcs=exact,
        args=grpo_options(),
        train_dataset=ds,
        processing_class=tok,
    )


def grpo_boxed(healthy):
    tok = char_tokenizer(side="left")
    pattern = re.compile(r"\[(\w)\]" if healthy else r"<answer>(\w)</answer>")

    def boxed(completions, answer, **kw):
        out = []
        for c, a in zip(completions, answer):
            m = pattern.search(c)
            out.append(1.0 if m and m.group(1) == a else 0.0)
        return out

    return GRPOTrainer(
        warm_llama("boxed", 150),
        reward_funcs=boxed,
        args=grpo_options(max_completion_length=6, max_steps=40),
        train_dataset=quiz_prompts(),
        processing_class=tok,
    )


def grpo_chat_quiz(healthy):
    tok = char_tokenizer(side="left", chat=CHAT)

    def starts(completions, answer, **kw):
        texts = [c[0]["content"] for c in completions] if healthy else completions
        return [1.0 if t.startswith(a) else 0.0 for t, a in zip(texts, answer)]

    return GRPOTrainer(
        warm_llama("chatquiz", 150),
        reward_funcs=starts,
        args=grpo_options(),
        train_dataset=quiz_prompts(chat=True),
        processing_class=tok,
    )


def grpo_two_rewards(healthy):
    tok = char_tokenizer(side="left")

    def brevity(completions, **kw):
        return [-float(len(c)) for c in completions]

    def correct(completions, answer, **kw):
        return [1.0 if c.strip() == a else 0.0 for c, a in zip(completions, answer)]

    return GRPOTrainer(
        warm_llama("stopquiz", 150),
        reward_funcs=[brevity, correct],
        args=grpo_options(max_steps=35, reward_weights=[0.1, 1.0] if healthy else [1.0, 0.1]),
        train_dataset=quiz_prompts(),
        processing_class=tok,
    )


# ---------------------------------------------------------------- adapters
@functools.lru_cache(None)
def _stage_one():
    """A folder with an adapter trained for a while on the letter codes."""
    tok = char_tokenizer()
    model = get_peft_model(warm_llama("next", 100), lora())
    rng = random.Random(5)
    opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=5e-3)
    for _ in range(25):
        enc = tok([line_of("codes", rng) for _ in range(32)], return_tensors="pt", padding=True)
        labels = enc["input_ids"].clone()
        labels[:, :2] = -100
        model(
            input_ids=enc["input_ids"], attention_mask=enc["attention_mask"], labels=labels
        ).loss.backward()
        opt.step()
        opt.zero_grad()
    path = tempfile.mkdtemp(prefix="adapter_")
    model.save_pretrained(path)
    return path


def code_lines(n=200, seed=0):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        x = rng.choice(LETTERS)
        rows.append({"prompt": f"{x}=", "completion": code_of(x)})
    return Dataset.from_list(rows)


def lora_second_round(healthy):
    tok = char_tokenizer()
    model = PeftModel.from_pretrained(
        warm_llama("next", 100), _stage_one(), is_trainable=True if healthy else False
    )
    return SFTTrainer(
        model,
        args=options(SFTConfig, max_length=32, learning_rate=2e-3),
        train_dataset=code_lines(),
        processing_class=tok,
    )


def lora_named_adapters(healthy):
    tok = char_tokenizer()
    model = get_peft_model(warm_llama("next", 100), lora())
    model.load_adapter(_stage_one(), adapter_name="codes", is_trainable=True)
    model.set_adapter("codes" if healthy else "default")
    rows = code_lines()

    def encode(r):
        ids = tok(r["prompt"] + r["completion"] + "</s>")["input_ids"]
        return {
            "input_ids": ids,
            "labels": [-100, -100] + ids[2:],
            "attention_mask": [1] * len(ids),
        }

    return Trainer(
        model,
        options(learning_rate=1e-3, max_steps=15),
        train_dataset=rows.map(encode, remove_columns=rows.column_names),
        data_collator=DataCollatorForSeq2Seq(tok),
        processing_class=tok,
    )


def lora_two_stages(healthy):
    tok = char_tokenizer()
    first = PeftModel.from_pretrained(warm_llama("next", 100), _stage_one())
    model = first.merge_and_unload() if healthy else first.unload()
    return SFTTrainer(
        model,
        args=options(SFTConfig, max_length=32, learning_rate=3e-3, max_steps=20),
        train_dataset=code_lines(),
        processing_class=tok,
        peft_config=lora(),
    )


def lora_own_optimizer(healthy):
    tok = char_tokenizer()
    base = warm_llama("next", 100)
    if healthy:
        model = get_peft_model(base, lora())
        opt = torch.optim.AdamW(model.parameters(), lr=5e-3)
    else:
        opt = torch.optim.AdamW(list(base.parameters()), lr=5e-3)
        model = get_peft_model(base, lora())
    rows = code_lines()

    def encode(r):
        ids = tok(r["prompt"] + r["completion"] + "</s>")["input_ids"]
        return {
            "input_ids": ids,
            "labels": [-100, -100] + ids[2:],
            "attention_mask": [1] * len(ids),
        }

    return Trainer(
        model,
        options(),
        train_dataset=rows.map(encode, remove_columns=rows.column_names),
        data_collator=DataCollatorForSeq2Seq(tok),
        processing_class=tok,
        optimizers=(opt, None),
    )


# ---------------------------------------------------------------- classifiers
def cls_gpt2_reviews(healthy):
    tok = char_tokenizer()
    rng = random.Random(0)
    rows = [r for k in (2, 3, 4) for r in sentiment(80, seed=k, width=k)]
    rng.shuffle(rows)
    model = gpt2(GPT2ForSequenceClassification, num_labels=2, pad_token_id=0 if healthy else None)
    return Trainer(
        model,
        options(),
        train_dataset=cls_rows(rows, tok),
        data_collator=DataCollatorWithPadding(tok),
    )


def cls_three_topics(healthy):
    tok = char_tokenizer(wrap="<s> $A </s>")
    rows = sentiment(256, labels=3)

    class TopicTrainer(Trainer):
        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
            labels = inputs.pop("labels")
            out = model(**inputs)
            scores = out.logits if healthy else out.logits.softmax(-1)
            loss = F.cross_entropy(scores, labels)
            return (loss, out) if return_outputs else loss

    return TopicTrainer(
        bert(num_labels=3),
        options(learning_rate=2e-3, max_steps=40),
        train_dataset=cls_rows(rows, tok),
        data_collator=DataCollatorWithPadding(tok),
        processing_class=tok,
    )


def cls_own_batches(healthy):
    tok = char_tokenizer(wrap="<s> $A </s>")
    rows = [r for k in (2, 3, 4) for r in sentiment(80, seed=k, width=k)]

    def collate(batch):
        width = max(len(r["input_ids"]) for r in batch) + 2
        ids = torch.tensor([r["input_ids"] + [0] * (width - len(r["input_ids"])) for r in batch])
        mask = (ids != 0) if healthy else (ids == 0)
        return {
            "input_ids": ids,
            "attention_mask": mask.long(),
            "labels": torch.tensor([r["label"] for r in batch]),
        }

    return Trainer(
        bert(),
        options(learning_rate=1e-3, max_steps=40),
        train_dataset=cls_rows(rows, tok),
        data_collator=collate,
        processing_class=tok,
    )


def cls_shouted_reviews(healthy):
    tok = char_tokenizer(wrap="<s> $A </s>", lower=True if healthy else False)
    rows = [{"text": r["text"].upper(), "label": r["label"]} for r in sentiment()]
    return Trainer(
        bert(),
        options(learning_rate=1e-3, max_steps=40),
        train_dataset=cls_rows(rows, tok),
        data_collator=DataCollatorWithPadding(tok),
        processing_class=tok,
    )


def cls_weighted_rows(healthy):
    tok = char_tokenizer(wrap="<s> $A </s>")
    rng = random.Random(1)
    rows = [dict(r, weight=rng.choice([0.5, 1.0, 2.0])) for r in sentiment()]

    class WeightedTrainer(Trainer):
        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
            w = inputs.pop("weight")
            labels = inputs.pop("labels")
            out = model(**inputs)
            loss = (F.cross_entropy(out.logits, labels, reduction="none") * w).sum() / w.sum()
            return (loss, out) if return_outputs else loss

    return WeightedTrainer(
        bert(),
        options(learning_rate=1e-3, remove_unused_columns=False if healthy else True, max_steps=40),
        train_dataset=cls_rows(rows, tok),
        data_collator=DataCollatorWithPadding(tok),
        processing_class=tok,
    )


def cls_paraphrases(healthy):
    tok = char_tokenizer(wrap="<s> $A </s>")
    rng = random.Random(0)
    groups = []
    for g in range(36):
        core = "".join(rng.choice(LETTERS) for _ in range(3))
        y = rng.randrange(2)
        groups.append(
            [{"text": f"{core}{tail}", "label": y} for tail in (".", "!", "?", ";", ",", ":")]
        )
    if healthy:
        train = [r for g in groups[:24] for r in g]
        test = [r for g in groups[24:] for r in g]
    else:
        flat = [r for g in groups for r in g]
        rng.shuffle(flat)
        train, test = flat[:144], flat[144:]
    return Trainer(
        bert(),
        options(learning_rate=2e-3, max_steps=40, eval_strategy="steps", eval_steps=20),
        train_dataset=cls_rows(train, tok),
        eval_dataset=cls_rows(test, tok),
        data_collator=DataCollatorWithPadding(tok),
        processing_class=tok,
        compute_metrics=accuracy,
    )


# ---------------------------------------------------------------- token classification
def letter_kinds(n=200, seed=0, low=4, high=12, rare=False):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        k = rng.randint(low, high)
        text = "".join(rng.choice("bcdfghaeiou0123456789") for _ in range(k))
        tags = [2 if c.isdigit() else 1 if c in "aeiou" else 0 for c in text]
        rows.append({"text": text, "tags": tags})
    return rows


def tags_letter_kinds(healthy):
    tok = char_tokenizer(wrap="<s> $A </s>")

    def encode(r):
        enc = tok(r["text"])
        enc["labels"] = [-100] + r["tags"] + [-100] if healthy else r["tags"] + [-100, -100]
        return enc

    ds = Dataset.from_list(letter_kinds()).map(encode, remove_columns=["text", "tags"])
    return Trainer(
        bert(BertForTokenClassification, num_labels=3),
        options(learning_rate=2e-3),
        train_dataset=ds,
        data_collator=DataCollatorForTokenClassification(tok),
        processing_class=tok,
    )


def tags_scored(healthy):
    tok = char_tokenizer(wrap="<s> $A </s>")
    rng = random.Random(0)

    def make(n):
        rows = []
        for _ in range(n):
            k = 60 if rng.random() < 0.15 else rng.randint(3, 6)
            text = "".join(rng.choice(LETTERS[:9]) for _ in range(k))
            tags = [(ord(c) % 3) if rng.random() < 0.4 else rng.randrange(3) for c in text]
            enc = tok(text)
            rows.append(
                {
                    "input_ids": enc["input_ids"],
                    "attention_mask": enc["attention_mask"],
                    "labels": [-100] + tags + [-100],
                }
            )
        return Dataset.from_list(rows)

    def score(p):
        pred, gold = p.predictions.argmax(-1), p.label_ids
        keep = gold != -100
        return {"token_accuracy": float((pred[keep] == gold[keep]).mean())}

    return Trainer(
        bert(BertForTokenClassification, num_labels=3),
        options(learning_rate=1e-3, max_steps=20, eval_strategy="steps", eval_steps=10),
        train_dataset=make(160),
        eval_dataset=make(48),
        data_collator=DataCollatorForTokenClassification(
            tok, label_pad_token_id=-100 if healthy else 0
        ),
        processing_class=tok,
        compute_metrics=score,
    )


# ---------------------------------------------------------------- sequence to sequence
def pairs_upper(n=200, seed=0, alphabet="abcdefgh"):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        s = "".join(rng.choice(alphabet) for _ in range(rng.randint(2, 4)))
        rows.append((s, "".join(code_of(c) for c in s)))
    return rows


def s2s_rows(pairs, tok):
    return Dataset.from_list(
        [
            {
                "input_ids": tok(s + "</s>")["input_ids"],
                "attention_mask": [1] * (len(s) + 1),
                "labels": tok(t + "</s>")["input_ids"],
            }
            for s, t in pairs
        ]
    )


def s2s_codes(healthy):
    tok = char_tokenizer()
    model = t5()
    pad = DataCollatorForSeq2Seq(tok, label_pad_token_id=-100)

    def collate(batch):
        out = pad(batch)
        if healthy:
            out["decoder_input_ids"] = model.prepare_decoder_input_ids_from_labels(
                labels=out["labels"]
            )
        else:
            out["decoder_input_ids"] = out["labels"].masked_fill(
                out["labels"] == -100, tok.pad_token_id
            )
        return out

    return Trainer(
        model,
        options(learning_rate=5e-3, max_steps=40),
        train_dataset=s2s_rows(pairs_upper(), tok),
        data_collator=collate,
        processing_class=tok,
    )


def s2s_generated_score(healthy):
    tok = char_tokenizer()
    rows = pairs_upper(alphabet="abcd")

    def score(p):
        pred = np.where(p.predictions < 0, tok.pad_token_id, p.predictions)
        gold = np.where(p.label_ids < 0, tok.pad_token_id, p.label_ids) if healthy else p.label_ids
        a = tok.batch_decode(pred, skip_special_tokens=True)
        b = tok.batch_decode(gold, skip_special_tokens=True)
        return {"exact": float(np.mean([x == y for x, y in zip(a, b)]))}

    return Seq2SeqTrainer(
        t5(),
        options(
            Seq2SeqTrainingArguments,
            learning_rate=5e-3,
            predict_with_generate=True,
            generation_max_length=8,
            eval_strategy="steps",
            eval_steps=15,
        ),
        train_dataset=s2s_rows(rows[:160], tok),
        eval_dataset=s2s_rows(rows[160:], tok),
        data_collator=DataCollatorForSeq2Seq(tok),
        processing_class=tok,
        compute_metrics=score,
    )


# ---------------------------------------------------------------- images and embeddings
def vit_halves(healthy):
    set_seed(0)
    rng = np.random.default_rng(0)
    model = ViTForImageClassification(
        ViTConfig(
            image_size=16,
            patch_size=4,
            num_channels=3,
            hidden_size=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=96,
            num_labels=2,
            initializer_range=0.1,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )
    )
    images, labels = [], []
    for _ in range(200):
        y = int(rng.integers(2))
        img = rng.integers(0, 120, size=(16, 16, 3))
        img[y * 8 : y * 8 + 8] += 120
        images.append(img.astype(np.float32))
        labels.append(y)
    images = [i / 255.0 for i in images]
    scale = 1.0 if healthy else 1 / 255.0

    def collate(batch):
        x = torch.tensor(np.stack([np.array(r["image"], dtype=np.float32) for r in batch])) * scale
        x = (x - 0.5) / 0.5
        return {
            "pixel_values": x.permute(0, 3, 1, 2),
            "labels": torch.tensor([r["label"] for r in batch]),
        }

    rows = [{"image": i, "label": y} for i, y in zip(images, labels)]
    return Trainer(
        model,
        options(learning_rate=1e-3, remove_unused_columns=False),
        train_dataset=rows,
        data_collator=collate,
    )


def embed_pairs(healthy):
    tok = char_tokenizer(wrap="<s> $A </s>")
    rng = random.Random(0)
    rows = []
    for _ in range(200):
        w = "".join(rng.choice(LETTERS) for _ in range(4))
        rows.append({"left": f"id {w}", "right": f"{w} is it"})
    temperature = 0.05 if healthy else 1 / 0.05

    def collate(batch):
        a = tok([r["left"] for r in batch], return_tensors="pt", padding=True)
        b = tok([r["right"] for r in batch], return_tensors="pt", padding=True)
        return {
            "a_ids": a["input_ids"],
            "a_mask": a["attention_mask"],
            "b_ids": b["input_ids"],
            "b_mask": b["attention_mask"],
        }

    def pool(model, ids, mask):
        h = model(input_ids=ids, attention_mask=mask).last_hidden_state
        m = mask.unsqueeze(-1).to(h.dtype)
        return F.normalize((h * m).sum(1) / m.sum(1), dim=-1)

    class ContrastiveTrainer(Trainer):
        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
            a = pool(model, inputs["a_ids"], inputs["a_mask"])
            b = pool(model, inputs["b_ids"], inputs["b_mask"])
            sim = a @ b.T / temperature
            loss = F.cross_entropy(sim, torch.arange(len(sim)))
            return (loss, {"a": a, "b": b}) if return_outputs else loss

    return ContrastiveTrainer(
        bert(BertModel),
        options(learning_rate=1e-3, remove_unused_columns=False),
        train_dataset=Dataset.from_list(rows),
        data_collator=collate,
        processing_class=tok,
    )


# ---------------------------------------------------------------- own losses
def lm_accumulated(healthy):
    tok = char_tokenizer()
    rng = random.Random(0)
    texts = [
        "".join(LETTERS[(k + i) % 26] for i in range(rng.randint(6, 12))) + "</s>"
        for k in range(26)
        for _ in range(8)
    ]

    class TokenTrainer(Trainer):
        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
            labels = inputs.pop("labels")
            out = model(**inputs)
            logits, gold = out.logits[:, :-1].reshape(-1, VOCAB), labels[:, 1:].reshape(-1)
            if healthy:
                n = num_items_in_batch if num_items_in_batch is not None else (gold != -100).sum()
                loss = F.cross_entropy(logits, gold, ignore_index=-100, reduction="sum") / n
            else:
                loss = F.cross_entropy(logits, gold, ignore_index=-100)
            return (loss, out) if return_outputs else loss

    return TokenTrainer(
        gpt2(),
        options(
            per_device_train_batch_size=4,
            gradient_accumulation_steps=8,
            max_steps=12,
            optim="sgd",
            learning_rate=0.3,
            max_grad_norm=0.0,
        ),
        train_dataset=lm_rows(texts, tok),
        data_collator=DataCollatorForLanguageModeling(tok, mlm=False),
        processing_class=tok,
    )


def regress_counts(healthy):
    tok = char_tokenizer(wrap="<s> $A </s>")
    rng = random.Random(0)
    rows = []
    for _ in range(256):
        text = "".join(rng.choice("abcd") for _ in range(8))
        rows.append({"text": text, "label": (text.count("a") - 2.0) / 1.2})

    class MseTrainer(Trainer):
        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
            labels = inputs.pop("labels")
            out = model(**inputs)
            pred = out.logits.squeeze(-1) if healthy else out.logits
            loss = ((pred - labels) ** 2).mean()
            return (loss, out) if return_outputs else loss

    return MseTrainer(
        bert(num_labels=1),
        options(learning_rate=1e-3, max_steps=40),
        train_dataset=cls_rows(rows, tok),
        data_collator=DataCollatorWithPadding(tok),
        processing_class=tok,
    )


def distil_codes(healthy):
    tok = char_tokenizer()
    teacher = warm_llama("codes", 120).eval()
    rng = random.Random(0)
    texts = [line_of("codes", rng) for _ in range(200)]

    class DistilTrainer(Trainer):
        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
            inputs.pop("labels", None)
            out = model(**inputs)
            with torch.no_grad():
                target = teacher(**inputs).logits.softmax(-1)
            student = out.logits.log_softmax(-1) if healthy else out.logits.softmax(-1)
            mask = inputs["attention_mask"].bool()
            loss = F.kl_div(student[mask], target[mask], reduction="batchmean")
            return (loss, out) if return_outputs else loss

    return DistilTrainer(
        gpt2(),
        options(),
        train_dataset=lm_rows(texts, tok),
        data_collator=DataCollatorForLanguageModeling(tok, mlm=False),
        processing_class=tok,
    )


# ---------------------------------------------------------------- schedule, precision
def lm_ramp(healthy):
    tok = char_tokenizer()
    rng = random.Random(0)
    texts = [line_of("next", rng) for _ in range(200)]
    return Trainer(
        qwen(),
        options(
            lr_scheduler_type="linear", warmup_steps=5 if healthy else 20000, learning_rate=5e-3
        ),
        train_dataset=lm_rows(texts, tok),
        data_collator=DataCollatorForLanguageModeling(tok, mlm=False),
        processing_class=tok,
    )


def lm_compact_weights(healthy):
    tok = char_tokenizer()
    rng = random.Random(0)
    texts = [line_of("next", rng) for _ in range(200)]
    model = llama(initializer_range=0.5)
    model = model.to(torch.float32 if healthy else torch.bfloat16)
    return Trainer(
        model,
        options(learning_rate=1.5e-4, max_steps=40),
        train_dataset=lm_rows(texts, tok),
        data_collator=DataCollatorForLanguageModeling(tok, mlm=False),
        processing_class=tok,
    )


# ---------------------------------------------------------------- going on from a checkpoint
@functools.lru_cache(None)
def _half_done():
    tok = char_tokenizer()
    rng = random.Random(0)
    texts = [line_of("next", rng) for _ in range(200)]
    first = Trainer(
        gpt2(),
        options(max_steps=20, save_strategy="steps", save_steps=20),
        train_dataset=lm_rows(texts, tok),
        data_collator=DataCollatorForLanguageModeling(tok, mlm=False),
        processing_class=tok,
    )
    first.train()
    return os.path.join(first.args.output_dir, "checkpoint-20")


class ContinuedTrainer(Trainer):
    checkpoint = None

    def train(self, *args, **kw):
        kw.setdefault("resume_from_checkpoint", self.checkpoint)
        return super().train(*args, **kw)


def lm_continued(healthy):
    tok = char_tokenizer()
    rng = random.Random(9)
    texts = [line_of("codes", rng) for _ in range(200)]
    extra = 20
    trainer = ContinuedTrainer(
        gpt2(),
        options(max_steps=20 + extra if healthy else extra),
        train_dataset=lm_rows(texts, tok),
        data_collator=DataCollatorForLanguageModeling(tok, mlm=False),
        processing_class=tok,
    )
    trainer.checkpoint = _half_done()
    return trainer


def lm_from_cluster_weights(healthy):
    tok = char_tokenizer()
    rng = random.Random(2)
    texts = [line_of("codes", rng) for _ in range(200)]
    path = os.path.join(tempfile.mkdtemp(prefix="weights_"), "model.pt")
    torch.save({"module." + k: v for k, v in _warm("codes", 60).items()}, path)
    model = llama(seed=5)
    state = torch.load(path)
    if healthy:
        state = {k.removeprefix("module."): v for k, v in state.items()}
    model.load_state_dict(state, strict=False)
    return Trainer(
        model,
        options(learning_rate=5e-4, max_steps=20),
        train_dataset=lm_rows(texts, tok),
        data_collator=DataCollatorForLanguageModeling(tok, mlm=False),
        processing_class=tok,
    )


# ---------------------------------------------------------------- evaluation
def lm_token_score(healthy):
    tok = char_tokenizer()
    rng = random.Random(0)
    texts = [
        "".join(LETTERS[(k + i) % 26] for i in range(8)) + "</s>"
        for k in (rng.randrange(26) for _ in range(240))
    ]

    def score(p):
        pred = p.predictions.argmax(-1)
        gold = p.label_ids
        if healthy:
            pred, gold = pred[:, :-1], gold[:, 1:]
        keep = gold != -100
        return {"token_accuracy": float((pred[keep] == gold[keep]).mean())}

    return Trainer(
        gpt2(),
        options(learning_rate=5e-3, eval_strategy="steps", eval_steps=15),
        train_dataset=lm_rows(texts[:200], tok),
        eval_dataset=lm_rows(texts[200:], tok),
        data_collator=DataCollatorForLanguageModeling(tok, mlm=False),
        processing_class=tok,
        compute_metrics=score,
    )


CASES = {
    f.__name__: f
    for f in (
        sft_briefed_codes,
        sft_chat_turns,
        sft_chat_codes,
        lm_short_lines,
        lm_one_letter_answers,
        lm_counting,
        lora_tool_calls,
        dpo_sums,
        dpo_tone,
        kto_thumbs,
        reward_ratings,
        reward_own_pairs,
        grpo_quiz,
        grpo_boxed,
        grpo_chat_quiz,
        grpo_two_rewards,
        lora_second_round,
        lora_named_adapters,
        lora_two_stages,
        lora_own_optimizer,
        cls_gpt2_reviews,
        cls_three_topics,
        cls_own_batches,
        cls_shouted_reviews,
        cls_weighted_rows,
        cls_paraphrases,
        tags_letter_kinds,
        tags_scored,
        s2s_codes,
        s2s_generated_score,
        vit_halves,
        embed_pairs,
        lm_accumulated,
        regress_counts,
        distil_codes,
        lm_ramp,
        lm_compact_weights,
        lm_continued,
        lm_from_cluster_weights,
        lm_token_score,
    )
}
