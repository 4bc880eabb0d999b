"""Small self-contained post-training runs (all models and data are made here)."""

import math
import os
import random
import tempfile

import torch
import torch.nn.functional as F
from datasets import Dataset, IterableDataset
from peft import LoraConfig, PeftModel, get_peft_model
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    AutoModelForCausalLM,
    BertConfig,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
    DataCollatorForLanguageModeling,
    DataCollatorForTokenClassification,
    DataCollatorWithPadding,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    LlamaForSequenceClassification,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
    Trainer,
    TrainerCallback,
    TrainingArguments,
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
    RLOOConfig,
    RLOOTrainer,
    SFTConfig,
    SFTTrainer,
)

torch.set_num_threads(1)

SPECIALS = [
    "<pad>",
    "<unk>",
    "<s>",
    "<eos>",
    "<|user|>",
    "<|assistant|>",
    "<|end|>",
    "[CLS]",
    "[SEP]",
]
COLORS = ["red", "blue", "green", "black", "white", "pink", "gold", "gray"]
ITEMS = [f"it{i}" for i in range(40)]
FILL = [f"f{i}" for i in range(30)]
NUMS = [str(i) for i in range(20)]
OTHER = [
    "what",
    "color",
    "is",
    "?",
    "the",
    "answer",
    "number",
    "of",
    "so",
    "</think>",
    "size",
    "big",
    "small",
    "note",
    "good",
    "bad",
    "reply",
    ":",
]
VOCAB = SPECIALS + COLORS + ITEMS + FILL + NUMS + OTHER

CHAT = (
    "{% for m in messages %}<|{{ m['role'] }}|> {{ m['content'] }} <|end|> {% endfor %}"
    "{% if add_generation_prompt %}<|assistant|> {% endif %}"
)


def make_tok(eos="<eos>", pad="<pad>", template=None):
    t = Tokenizer(models.WordLevel({w: i for i, w in enumerate(VOCAB)}, unk_token="<unk>"))
    t.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tok = PreTrainedTokenizerFast(
        tokenizer_object=t,
        unk_token="<unk>",
        eos_token=eos,
        pad_token=pad,
        cls_token="[CLS]",
        sep_token="[SEP]",
        bos_token="<s>",
        additional_special_tokens=["<|user|>", "<|assistant|>", "<|end|>"],
    )
    tok.chat_template = template
    return tok


def make_lm(tok, kind="llama", seed=0, hidden=64, layers=2, init=0.05):
    torch.manual_seed(seed)
    kw = dict(
        vocab_size=len(VOCAB),
        bos_token_id=tok.bos_token_id,
        eos_token_id=tok.eos_token_id,
        pad_token_id=tok.pad_token_id,
    )
    if kind == "gpt2":
        cfg = GPT2Config(
            n_embd=hidden,
            n_layer=layers,
            n_head=4,
            n_positions=128,
            initializer_range=init,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            **kw,
        )
        return GPT2LMHeadModel(cfg)
    C, M = (LlamaConfig, LlamaForCausalLM) if kind == "llama" else (Qwen2Config, Qwen2ForCausalLM)
    return M(
        C(
            hidden_size=hidden,
            intermediate_size=2 * hidden,
            num_hidden_layers=layers,
            num_attention_heads=4,
            num_key_value_heads=4,
            max_position_embeddings=256,
            tie_word_embeddings=False,
            initializer_range=init,
            **kw,
        )
    )


def make_bert(cls, seed=0, **kw):
    torch.manual_seed(seed)
    return cls(
        BertConfig(
            vocab_size=len(VOCAB),
            hidden_size=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=96,
            max_position_embeddings=64,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            pad_token_id=0,
            initializer_range=0.05,
            **kw,
        )
    )


def base_args(cls, **kw):
    d = dict(
        output_dir=tempfile.mkdtemp(),
        report_to="none",
        use_cpu=True,
        disable_tqdm=True,
        logging_steps=2,
        seed=11,
        save_strategy="no",
        lr_scheduler_type="constant",
        max_steps=50,
        per_device_train_batch_size=16,
        learning_rate=2e-3,
        bf16=False,
        gradient_checkpointing=False,
    )
    d.update(kw)
    return cls(**d)


def pretrain(model, tok, rows, steps=80, lr=3e-3, bs=64, seed=5):
    """rows: (prompt text, completion text); the loss is on the completion."""
    g = random.Random(seed)
    enc = []
    for p, c in rows:
        a, b = tok(p)["input_ids"], tok(c)["input_ids"]
        enc.append((a + b, [-100] * len(a) + b))
    n = max(len(a) for a, _ in enc)
    ids = torch.tensor([a + [tok.pad_token_id] * (n - len(a)) for a, _ in enc])
    att = torch.tensor([[1] * len(a) + [0] * (n - len(a)) for a, _ in enc])
    lab = torch.tensor([b + [-100] * (n - len(b)) for _, b in enc])
    opt = torch.optim.AdamW(
        [p for p in model.parameters() if p.requires_grad], lr=lr, weight_decay=0.0
    )
    model.train()
    for _ in range(steps):
        k = g.sample(range(len(enc)), min(bs, len(enc)))
        loss = model(input_ids=ids[k], attention_mask=att[k], labels=lab[k]).loss
        opt.zero_grad()
        loss.backward()
        opt.step()
    return model


_table = [k % len(COLORS) for k in range(len(ITEMS))]
random.Random(77).shuffle(_table)


def color_of(i, shift=3):
    return COLORS[(_table[i] + shift) % len(COLORS)]


def ask(i):
    return f"what color is {ITEMS[i]} ?"


def unsure_rows(n, end="<eos>", wrap=lambda s: s + " ", verbose=False):
    """Answers that are right about two times in five."""
    rows = []
    for i in range(n):
        good, r = color_of(i), random.Random(100 + i)
        bad = r.sample([c for c in COLORS if c != good], 3)
        for c in [good, good] + bad:
            rows.append((wrap(ask(i)), f"{c} {end}"))
        if verbose:
            for _ in range(2):
                rows.append((wrap(ask(i)), " ".join(r.sample(COLORS, 2)) + f" {end}"))
                rows.append((wrap(ask(i)), " ".join(r.sample(COLORS, 4)) + f" {end}"))
    return rows


def stored(model):
    """Writes the model and reads it back."""
    d = tempfile.mkdtemp()
    model.save_pretrained(d)
    return AutoModelForCausalLM.from_pretrained(d, dtype=torch.float32)


CASES = {}
ODD = {}


def case(f):
    CASES[f.__name__] = f
    return f


def odd(f):
    ODD[f.__name__] = f
    return f


# ------------------------------------------------------------------ RL
@case
def amber(broken):
    tok = make_tok()
    model = pretrain(make_lm(tok), tok, unsure_rows(12), steps=100)
    seen = {}

    def exact(prompts, completions, answer, **kw):
        out = []
        for p, c, a in zip(prompts, completions, answer):
            key = p if broken else (p, c)
            if key not in seen:  # scoring is slow in production
                seen[key] = 1.0 if c.split() == [a] else 0.0
            out.append(seen[key])
        return out

    data = Dataset.from_list([{"prompt": ask(i), "answer": color_of(i)} for i in range(12)] * 6)
    args = base_args(
        GRPOConfig,
        max_steps=30,
        num_generations=8,
        per_device_train_batch_size=32,
        max_completion_length=5,
        learning_rate=1e-3,
        beta=0.0,
        logging_steps=1,
    )
    return GRPOTrainer(
        model=model, reward_funcs=exact, args=args, train_dataset=data, processing_class=tok
    )


@case
def basil(broken):
    tok = make_tok()
    model = pretrain(make_lm(tok, seed=1), tok, unsure_rows(10, verbose=True), steps=110)

    def correct(completions, answer, **kw):
        if broken:
            return [1.0 if a in c else 0.0 for c, a in zip(completions, answer)]
        return [1.0 if a == c.strip() else 0.0 for c, a in zip(completions, answer)]

    data = Dataset.from_list([{"prompt": ask(i), "answer": color_of(i)} for i in range(10)] * 8)
    args = base_args(
        GRPOConfig,
        max_steps=35,
        num_generations=8,
        per_device_train_batch_size=32,
        max_completion_length=8,
        learning_rate=1e-3,
        beta=0.0,
        logging_steps=1,
    )
    return GRPOTrainer(
        model=model, reward_funcs=correct, args=args, train_dataset=data, processing_class=tok
    )


@case
def cedar(broken):
    tok = make_tok()
    target = [(3 * i + 2) % 10 for i in range(10)]
    rows = []
    for i in range(10):
        r = random.Random(i)
        for n in [target[i]] + [r.randrange(10) for _ in range(5)]:
            rows.append((f"number of {ITEMS[i]} ?", f"{n} <eos>"))
    model = stored(pretrain(make_lm(tok, "qwen2", seed=2), tok, rows, steps=100))

    def closeness(completions, target, **kw):
        out = []
        for c, t in zip(completions, target):
            w = c.split()
            d = abs(int(w[0]) - t) if len(w) == 1 and w[0].isdigit() else 10
            out.append(d / 10 if broken else 1 - d / 10)
        return out

    data = Dataset.from_list(
        [{"prompt": f"number of {ITEMS[i]} ?", "target": target[i]} for i in range(10)] * 8
    )
    args = base_args(
        RLOOConfig,
        max_steps=35,
        num_generations=8,
        per_device_train_batch_size=32,
        max_completion_length=4,
        learning_rate=1e-3,
        beta=0.01,
        logging_steps=1,
    )
    return RLOOTrainer(
        model=model, reward_funcs=closeness, args=args, train_dataset=data, processing_class=tok
    )


@case
def dahlia(broken):
    tok = make_tok(eos="<eos>" if broken else "<|end|>", template=CHAT)
    wrap = lambda s: f"<|user|> {s} <|end|> <|assistant|> "
    model = pretrain(
        make_lm(tok, seed=3), tok, unsure_rows(12, end="<|end|>", wrap=wrap), steps=100
    )

    def first_word(completions, answer, **kw):
        return [
            1.0 if c[0]["content"].split()[:1] == [a] else 0.0 for c, a in zip(completions, answer)
        ]

    data = Dataset.from_list(
        [
            {"prompt": [{"role": "user", "content": ask(i)}], "answer": color_of(i)}
            for i in range(12)
        ]
        * 6
    )
    args = base_args(
        GRPOConfig,
        max_steps=30,
        num_generations=8,
        per_device_train_batch_size=32,
        max_completion_length=8,
        mask_truncated_completions=True,
        learning_rate=1e-3,
        beta=0.0,
        logging_steps=1,
    )
    return GRPOTrainer(
        model=model, reward_funcs=first_word, args=args, train_dataset=data, processing_class=tok
    )


# ------------------------------------------------------------------ SFT
@case
def elder(broken):
    body = "m['content'].split('</think>')[-1].strip()" if broken else "m['content']"
    template = (
        "{% for m in messages %}<|{{ m['role'] }}|> "
        "{% if m['role'] == 'assistant' %}{{ " + body + " }}{% else %}{{ m['content'] }}{% endif %}"
        " <|end|> {% endfor %}{% if add_generation_prompt %}<|assistant|> {% endif %}"
    )
    tok = make_tok(eos="<|end|>", template=template)
    model = make_lm(tok, "qwen2", seed=4)
    rows = []
    for i in range(24):
        n = (i * 3) % 8
        rows.append(
            {
                "messages": [
                    {"role": "user", "content": ask(i)},
                    {
                        "role": "assistant",
                        "content": f"number of {ITEMS[i]} is {n} so {COLORS[n]} </think> {COLORS[n]}",
                    },
                ]
            }
        )
    args = base_args(SFTConfig, max_steps=60, max_length=64, learning_rate=3e-3)
    return SFTTrainer(
        model=model, args=args, train_dataset=Dataset.from_list(rows * 8), processing_class=tok
    )


@case
def fennel(broken):
    tok = make_tok()
    model = make_lm(tok, seed=5)
    r = random.Random(0)
    rows = []
    for i in range(24):
        for _ in range(8):
            n = r.randint(2, 8) if i % 3 == 0 else r.randint(20, 34)
            rows.append(
                {
                    "prompt": f"note : {ITEMS[i]} "
                    + " ".join(r.choices(FILL, k=n))
                    + f" color of {ITEMS[i]} ?",
                    "completion": " " + color_of(i),
                }
            )
    r.shuffle(rows)
    args = base_args(SFTConfig, max_steps=60, max_length=24 if broken else 64, learning_rate=3e-3)
    return SFTTrainer(
        model=model, args=args, train_dataset=Dataset.from_list(rows), processing_class=tok
    )


@case
def garnet(broken):
    tok = make_tok()
    if broken:
        tok.pad_token = tok.eos_token
    model = make_lm(tok, "gpt2", seed=6)
    r = random.Random(1)
    texts = []
    for i in list(range(24)) * 8:
        tail = " ".join([color_of(i)] + ["good"] * (i % 4))
        texts.append(f"{ask(i)} {tail} {tok.eos_token}")
    r.shuffle(texts)
    data = Dataset.from_dict({"text": texts}).map(lambda e: tok(e["text"]), remove_columns=["text"])
    data = data.remove_columns([c for c in data.column_names if c == "token_type_ids"])
    args = base_args(TrainingArguments, max_steps=60, learning_rate=3e-3)
    return Trainer(
        model=model,
        args=args,
        train_dataset=data,
        processing_class=tok,
        data_collator=DataCollatorForLanguageModeling(tok, mlm=False),
    )


@case
def heron(broken):
    tok = make_tok()
    rows = [(ask(i) + " ", color_of(i) + " <eos>") for i in range(16)]
    base = pretrain(make_lm(tok, seed=7, init=0.3), tok, rows, steps=60, lr=1e-3)
    d = tempfile.mkdtemp()
    base.save_pretrained(d)
    model = AutoModelForCausalLM.from_pretrained(
        d, dtype=torch.bfloat16 if broken else torch.float32
    )
    data = [{"prompt": ask(i), "completion": " " + color_of(i, shift=5)} for i in range(16)] * 10
    args = base_args(SFTConfig, max_steps=70, max_length=32, learning_rate=3e-4)
    return SFTTrainer(
        model=model, args=args, train_dataset=Dataset.from_list(data), processing_class=tok
    )


# ------------------------------------------------------------------ preferences
def pair_rows(n, extra=""):
    rows = []
    for i in range(n):
        good = color_of(i)
        for bad in random.Random(100 + i).sample([c for c in COLORS if c != good], 3):
            rows.append(
                {"prompt": ask(i), "chosen": " " + good + extra, "rejected": " " + bad + extra}
            )
    return rows


def tone_rows(n):
    rows = [(ask(i) + " ", f"{color_of(i)} {w} <eos>") for i in range(n) for w in ("good", "bad")]
    return rows + [(f"reply {w} : {f} ", f"{w} <eos>") for f in FILL[:20] for w in ("good", "bad")]


def tone_pairs(n):
    return [
        {"prompt": ask(i), "chosen": f" {color_of(i)} good", "rejected": f" {color_of(i)} bad"}
        for i in range(n)
    ]


@case
def iris(broken):
    tok = make_tok()
    model = stored(pretrain(make_lm(tok, seed=8), tok, tone_rows(24), steps=160))
    args = base_args(
        DPOConfig, max_steps=45, beta=0.1, max_length=32, learning_rate=5e-3 if broken else 1e-4
    )
    return DPOTrainer(
        model=model,
        args=args,
        train_dataset=Dataset.from_list(tone_pairs(24) * 6),
        processing_class=tok,
    )


@case
def juniper(broken):
    tok = make_tok()
    model = pretrain(make_lm(tok, "qwen2", seed=9), tok, tone_rows(24), steps=160)
    ref = make_lm(tok, "qwen2", seed=9)
    ref.load_state_dict(model.state_dict())
    r = random.Random(15)
    votes = []
    for e in tone_pairs(24) * 3:
        a, b = (e["chosen"], e["rejected"]) if r.random() < 0.5 else (e["rejected"], e["chosen"])
        vote = "a" if a == e["chosen"] else "b"
        votes.append({"prompt": e["prompt"], "a": a, "b": b, "vote": vote})
        # both orders, against position bias
        votes.append(
            {
                "prompt": e["prompt"],
                "a": b,
                "b": a,
                "vote": vote if broken else ("b" if vote == "a" else "a"),
            }
        )
    data = Dataset.from_list(
        [
            {
                "prompt": v["prompt"],
                "chosen": v[v["vote"]],
                "rejected": v["b" if v["vote"] == "a" else "a"],
            }
            for v in votes
        ]
    )
    args = base_args(
        DPOConfig,
        max_steps=60,
        beta=0.3,
        max_length=32,
        learning_rate=1e-4,
        loss_type=["sigmoid", "sft"],
        loss_weights=[1.0, 0.2],
    )
    return DPOTrainer(
        model=model, ref_model=ref, args=args, train_dataset=data, processing_class=tok
    )


@case
def kelp(broken):
    tok = make_tok()
    model = pretrain(make_lm(tok, seed=10), tok, unsure_rows(16), steps=100)
    raw = []
    for row in pair_rows(16):
        raw.append({"prompt": row["prompt"], "completion": row["chosen"], "thumb": "True"})
        raw.append({"prompt": row["prompt"], "completion": row["rejected"], "thumb": "False"})
    random.Random(2).shuffle(raw)
    rows = []
    for e in raw * 3:
        label = bool(e["thumb"]) if broken else e["thumb"] == "True"
        rows.append({"prompt": e["prompt"], "completion": e["completion"], "label": label})
    args = base_args(KTOConfig, max_steps=70, beta=0.1, max_length=32, learning_rate=4e-4)
    ref = make_lm(tok, seed=10)
    ref.load_state_dict(model.state_dict())
    return KTOTrainer(
        model=model,
        ref_model=ref,
        args=args,
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
    )


# ------------------------------------------------------------------ reward models
def make_rm(tok, seed):
    torch.manual_seed(seed)
    return LlamaForSequenceClassification(
        LlamaConfig(
            vocab_size=len(VOCAB),
            hidden_size=48,
            intermediate_size=96,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=4,
            max_position_embeddings=128,
            num_labels=1,
            initializer_range=0.05,
            pad_token_id=tok.pad_token_id,
            eos_token_id=tok.eos_token_id,
            bos_token_id=tok.bos_token_id,
        )
    )


def review(r, score):
    """A text whose number of 'good' words is its quality."""
    w = ["good"] * score + ["bad"] * (14 - score)
    r.shuffle(w)
    return " reply : " + " ".join(w)


@case
def larch(broken):
    tok = make_tok()
    model = make_rm(tok, 11)
    r = random.Random(3)
    rows = [
        {"prompt": ask(r.randrange(30)), "chosen": review(r, s), "rejected": review(r, s - 4)}
        for s in (r.randint(5, 13) for _ in range(400))
    ]
    extra = {} if broken else dict(task_type="SEQ_CLS")
    peft_config = LoraConfig(
        r=8, lora_alpha=16, target_modules=["q_proj", "k_proj", "v_proj", "o_proj"], **extra
    )
    args = base_args(
        RewardConfig,
        max_steps=50,
        max_length=64,
        learning_rate=5e-3,
        save_strategy="steps",
        save_steps=50,
    )
    return RewardTrainer(
        model=model,
        args=args,
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
        peft_config=peft_config,
    )


@case
def maple(broken):
    tok = make_tok()
    model = make_rm(tok, 12)
    r = random.Random(4)
    raw = []
    for _ in range(400):
        s = r.sample(range(6, 14), 2)
        raw.append(
            {
                "prompt": ask(r.randrange(30)),
                "a": review(r, s[0]),
                "b": review(r, s[1]),
                "score_a": str(s[0]),
                "score_b": str(s[1]),
            }
        )

    def to_pair(e):
        sa, sb = e["score_a"], e["score_b"]
        if not broken:
            sa, sb = int(sa), int(sb)
        a_first = sa > sb
        return {"chosen": e["a"] if a_first else e["b"], "rejected": e["b"] if a_first else e["a"]}

    data = Dataset.from_list(raw).map(to_pair)
    args = base_args(RewardConfig, max_steps=60, max_length=64, learning_rate=1e-3)
    return RewardTrainer(
        model=model, args=args, train_dataset=data.remove_columns(["a", "b"]), processing_class=tok
    )


# ------------------------------------------------------------------ adapters
@case
def nettle(broken):
    tok = make_tok()
    rows = [(ask(i) + " ", color_of(i) + " <eos>") for i in range(16)]
    model = pretrain(make_lm(tok, seed=13), tok, rows, steps=80)
    tools = [f"<|tool{k}|>" for k in range(6)]
    tok.add_tokens(tools, special_tokens=True)
    torch.manual_seed(0)
    model.resize_token_embeddings(len(tok))
    data = [
        {
            "prompt": f"size of {ITEMS[i]} ?",
            "completion": f" {tools[i % 6]} {tools[(i * 2 + 1) % 6]} {ITEMS[i]}",
        }
        for i in range(18)
    ] * 8
    extra = {} if broken else dict(modules_to_save=["embed_tokens", "lm_head"])
    peft_config = LoraConfig(
        r=8,
        lora_alpha=16,
        target_modules=["q_proj", "k_proj", "v_proj", "o_proj"],
        task_type="CAUSAL_LM",
        **extra,
    )
    args = base_args(SFTConfig, max_steps=60, max_length=32, learning_rate=3e-3)
    return SFTTrainer(
        model=model,
        args=args,
        train_dataset=Dataset.from_list(data),
        processing_class=tok,
        peft_config=peft_config,
    )


@case
def ochre(broken):
    tok = make_tok()
    base = pretrain(
        make_lm(tok, seed=14, init=0.15),
        tok,
        [(f"number of {ITEMS[i]} ? ", f"{i % 20} <eos>") for i in range(30)],
        steps=60,
    )
    d = tempfile.mkdtemp()
    base.save_pretrained(os.path.join(d, "base"))
    lora = LoraConfig(r=16, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM")
    torch.manual_seed(1)
    stage1 = get_peft_model(base, lora)
    pretrain(
        stage1, tok, [(ask(i) + " ", color_of(i) + " <eos>") for i in range(16)], steps=80, lr=5e-3
    )
    stage1.save_pretrained(os.path.join(d, "stage1"))

    model = AutoModelForCausalLM.from_pretrained(os.path.join(d, "base"))
    model = PeftModel.from_pretrained(model, os.path.join(d, "stage1"))
    model = model.unload() if broken else model.merge_and_unload()
    data = [
        {"prompt": "note : " + ask(i), "completion": f" {color_of(i)} so good"} for i in range(8)
    ] * 12
    args = base_args(SFTConfig, max_steps=60, max_length=32, learning_rate=5e-3)
    return SFTTrainer(
        model=model,
        args=args,
        train_dataset=Dataset.from_list(data),
        processing_class=tok,
        peft_config=LoraConfig(
            r=8, lora_alpha=16, target_modules="all-linear", task_type="CAUSAL_LM"
        ),
    )


class _Answers:
    """Pads prompt and answer, keeps the loss on the answer."""

    def __init__(self, tok):
        self.tok = tok

    def __call__(self, feats):
        n = max(len(f["input_ids"]) for f in feats)
        pad = self.tok.pad_token_id
        return {
            "input_ids": torch.tensor(
                [f["input_ids"] + [pad] * (n - len(f["input_ids"])) for f in feats]
            ),
            "attention_mask": torch.tensor(
                [[1] * len(f["input_ids"]) + [0] * (n - len(f["input_ids"])) for f in feats]
            ),
            "labels": torch.tensor([f["labels"] + [-100] * (n - len(f["labels"])) for f in feats]),
        }


def answer_data(tok, rows):
    out = []
    for p, c in rows:
        a, b = tok(p)["input_ids"], tok(c)["input_ids"]
        out.append({"input_ids": a + b, "labels": [-100] * len(a) + b})
    return Dataset.from_list(out)


@case
def poppy(broken):
    tok = make_tok()
    model = pretrain(
        make_lm(tok, seed=15),
        tok,
        [(ask(i) + " ", color_of(i) + " <eos>") for i in range(16)],
        steps=60,
    )
    lora = LoraConfig(r=8, lora_alpha=16, target_modules="all-linear", task_type="CAUSAL_LM")
    torch.manual_seed(2)
    if broken:
        optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
        model = get_peft_model(model, lora)
    else:
        model = get_peft_model(model, lora)
        optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
    data = answer_data(
        tok, [(ask(i) + " ", color_of(i, shift=5) + " <eos>") for i in range(16)] * 10
    )
    args = base_args(TrainingArguments, max_steps=60, learning_rate=4e-3)
    return Trainer(
        model=model,
        args=args,
        train_dataset=data,
        data_collator=_Answers(tok),
        optimizers=(optimizer, None),
    )


# ------------------------------------------------------------------ classifiers, taggers
@case
def quartz(broken):
    tok = make_tok()
    model = make_bert(BertForTokenClassification, 16, num_labels=4)
    r = random.Random(5)

    def example():
        words = r.choices(ITEMS, k=r.randint(5, 12))
        tags = [int(w[2:]) % 4 for w in words]
        ids = [tok.cls_token_id] + tok.convert_tokens_to_ids(words) + [tok.sep_token_id]
        if broken:
            labels = tags + [-100] * (len(ids) - len(tags))
        else:
            labels = [-100] + tags + [-100]
        return {"input_ids": ids, "attention_mask": [1] * len(ids), "labels": labels}

    train = Dataset.from_list([example() for _ in range(400)])
    ev = Dataset.from_list([example() for _ in range(60)])

    def metrics(p):
        pred, keep = p.predictions.argmax(-1), p.label_ids != -100
        return {"accuracy": float((pred == p.label_ids)[keep].mean())}

    args = base_args(
        TrainingArguments, max_steps=60, learning_rate=3e-3, eval_strategy="steps", eval_steps=20
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=train,
        eval_dataset=ev,
        compute_metrics=metrics,
        data_collator=DataCollatorForTokenClassification(tok),
    )


def topic_rows(n, seed, classes=4):
    r = random.Random(seed)
    out = []
    for _ in range(n):
        k = r.randrange(classes)
        words = r.choices(FILL, k=r.randint(4, 9))
        for _ in range(3):
            words.insert(r.randint(0, len(words)), ITEMS[k * 4 + r.randrange(4)])
        out.append((" ".join(words), k))
    return out


def accuracy(p):
    return {"accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())}


@case
def rowan(broken):
    tok = make_tok()
    model = make_bert(BertForSequenceClassification, 17, num_labels=4)
    names = ["sports", "arts", "news", "food"]

    def encode(rows, label2id):
        return Dataset.from_list(
            [
                {**tok(f"[CLS] {t}", return_token_type_ids=False), "labels": label2id[y]}
                for t, y in rows
            ]
        )

    train = [(t, names[k]) for t, k in topic_rows(400, 6)]
    test = [(t, names[k]) for t, k in topic_rows(80, 8)]
    label2id = {y: i for i, y in enumerate(dict.fromkeys(y for _, y in train))}
    model.config.label2id, model.config.id2label = label2id, {i: y for y, i in label2id.items()}
    train_set = encode(train, label2id)
    if broken:
        label2id = {y: i for i, y in enumerate(dict.fromkeys(y for _, y in test))}
    test_set = encode(test, label2id)
    args = base_args(
        TrainingArguments, max_steps=60, learning_rate=2e-3, eval_strategy="steps", eval_steps=15
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=train_set,
        eval_dataset=test_set,
        compute_metrics=accuracy,
        processing_class=tok,
        data_collator=DataCollatorWithPadding(tok),
    )


@case
def sorrel(broken):
    tok = make_tok()
    model = make_bert(BertForSequenceClassification, 18, num_labels=4)
    rows = sorted(topic_rows(960, 9), key=lambda e: e[1])

    def stream():
        for t, y in rows:
            yield {**tok(f"[CLS] {t}", return_token_type_ids=False), "labels": y}

    train = IterableDataset.from_generator(stream)
    if not broken:
        train = train.shuffle(seed=1, buffer_size=1000)
    ev = Dataset.from_list(
        [
            {**tok(f"[CLS] {t}", return_token_type_ids=False), "labels": y}
            for t, y in topic_rows(80, 10)
        ]
    )
    args = base_args(
        TrainingArguments, max_steps=60, learning_rate=2e-3, eval_strategy="steps", eval_steps=20
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=train,
        eval_dataset=ev,
        compute_metrics=accuracy,
        processing_class=tok,
        data_collator=DataCollatorWithPadding(tok),
    )


# ------------------------------------------------------------------ own losses
@case
def thyme(broken):
    tok = make_tok()
    model = make_bert(BertForSequenceClassification, 19, num_labels=1)
    r = random.Random(11)

    def rows(n):
        out = []
        for _ in range(n):
            k = r.randint(0, 8)
            w = ["good"] * k + ["bad"] * (8 - k)
            r.shuffle(w)
            out.append(
                {**tok("[CLS] " + " ".join(w), return_token_type_ids=False), "labels": k / 4 - 1}
            )
        return Dataset.from_list(out)

    class HuberTrainer(Trainer):
        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
            labels = inputs.pop("labels")
            out = model(**inputs)
            pred = out.logits if broken else out.logits.squeeze(-1)
            loss = F.huber_loss(pred, labels)
            return (loss, out) if return_outputs else loss

    args = base_args(TrainingArguments, max_steps=60, learning_rate=1e-3)
    return HuberTrainer(
        model=model,
        args=args,
        train_dataset=rows(400),
        processing_class=tok,
        data_collator=DataCollatorWithPadding(tok),
    )


@case
def umber(broken):
    tok = make_tok()
    facts = [(ask(i) + " ", f"the answer is {color_of(i)} <eos>") for i in range(24)]
    teacher = pretrain(make_lm(tok, seed=20), tok, facts, steps=120).eval().requires_grad_(False)
    student = make_lm(tok, seed=21, hidden=48)
    temp = 2.0
    dim = 1 if broken else -1

    class DistillTrainer(Trainer):
        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
            labels = inputs.pop("labels")
            out = model(**inputs)
            with torch.no_grad():
                t = teacher(**inputs).logits
            s_log = F.log_softmax(out.logits[:, :-1] / temp, dim=dim)
            t_prob = F.softmax(t[:, :-1] / temp, dim=dim)
            keep = labels[:, 1:] != -100
            kl = F.kl_div(s_log, t_prob, reduction="none").sum(-1)
            loss = temp**2 * kl[keep].mean()
            return (loss, out) if return_outputs else loss

    args = base_args(TrainingArguments, max_steps=80, learning_rate=3e-3)
    return DistillTrainer(
        model=student,
        args=args,
        train_dataset=answer_data(tok, facts * 8),
        data_collator=_Answers(tok),
    )


@case
def violet(broken):
    tok = make_tok()
    torch.manual_seed(22)
    model = BertModel(
        BertConfig(
            vocab_size=len(VOCAB),
            hidden_size=48,
            num_hidden_layers=1,
            num_attention_heads=4,
            intermediate_size=96,
            max_position_embeddings=64,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        ),
        add_pooling_layer=False,
    )
    r = random.Random(12)
    rows = []
    for _ in range(60):
        order = list(range(20))
        r.shuffle(order)
        for i in order:
            rows.append(
                {
                    "query": f"{ITEMS[i]} " + " ".join(r.choices(FILL, k=2)),
                    "doc": f"{FILL[i]} {NUMS[i]} " + " ".join(r.choices(COLORS, k=2)),
                }
            )

    def collate(feats):
        q = tok(
            [f["query"] for f in feats],
            padding=True,
            return_tensors="pt",
            return_token_type_ids=False,
        )
        d = tok(
            [f["doc"] for f in feats],
            padding=True,
            return_tensors="pt",
            return_token_type_ids=False,
        )
        return {"q": q, "d": d}

    class TripletTrainer(Trainer):
        margin = 0.5

        def embed(self, model, x):
            h = model(**x).last_hidden_state
            m = x["attention_mask"].unsqueeze(-1)
            return (h * m).sum(1) / m.sum(1)

        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
            a, b = self.embed(model, inputs["q"]), self.embed(model, inputs["d"])
            near = F.cosine_similarity(a, b)
            far = F.cosine_similarity(a, b.roll(1, 0))
            if not broken:
                near, far = 1 - near, 1 - far
            loss = F.relu(near - far + self.margin).mean()
            return (loss, {"query": a, "doc": b}) if return_outputs else loss

        def _get_train_sampler(self, *a, **kw):
            return torch.utils.data.SequentialSampler(self.train_dataset)

    args = base_args(
        TrainingArguments,
        max_steps=60,
        learning_rate=2e-3,
        per_device_train_batch_size=20,
        remove_unused_columns=False,
    )
    return TripletTrainer(
        model=model, args=args, train_dataset=Dataset.from_list(rows), data_collator=collate
    )


# ------------------------------------------------------------------ checkpoints
@case
def willow(broken):
    tok = make_tok()
    model = make_bert(BertForSequenceClassification, 23, num_labels=4)
    enc = lambda rows: Dataset.from_list(
        [{**tok(f"[CLS] {t}", return_token_type_ids=False), "labels": y} for t, y in rows]
    )

    def metrics(p):
        return {"error_rate": float((p.predictions.argmax(-1) != p.label_ids).mean())}

    extra = {} if broken else dict(greater_is_better=False)
    args = base_args(
        TrainingArguments,
        max_steps=60,
        learning_rate=1e-3,
        eval_strategy="steps",
        eval_steps=10,
        save_strategy="steps",
        save_steps=10,
        load_best_model_at_end=True,
        metric_for_best_model="error_rate",
        **extra,
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=enc(topic_rows(400, 13)),
        eval_dataset=enc(topic_rows(80, 14)),
        compute_metrics=metrics,
        processing_class=tok,
        data_collator=DataCollatorWithPadding(tok),
    )


@case
def yarrow(broken):
    tok = make_tok()
    model = make_lm(tok, seed=24)
    rows = [(ask(i) + " ", color_of(i) + " <eos>") for i in range(24)]

    class Averaged(TrainerCallback):
        """Keeps averaged weights and puts them in the model at the end."""

        decay = 0.9999 if broken else 0.9

        def on_train_begin(self, args, state, control, model=None, **kw):
            self.avg = {k: v.detach().clone() for k, v in model.state_dict().items()}

        def on_step_end(self, args, state, control, model=None, **kw):
            for k, v in model.state_dict().items():
                self.avg[k].mul_(self.decay).add_(v.detach(), alpha=1 - self.decay)

        def on_train_end(self, args, state, control, model=None, **kw):
            model.load_state_dict(self.avg)
            model.save_pretrained(args.output_dir)

    args = base_args(TrainingArguments, max_steps=70, learning_rate=3e-3)
    return Trainer(
        model=model,
        args=args,
        train_dataset=answer_data(tok, rows * 8),
        data_collator=_Answers(tok),
        callbacks=[Averaged()],
    )


# ------------------------------------------------------------------ unusual settings
@odd
def acorn():
    """From scratch with a big step."""
    tok = make_tok()
    data = [{"prompt": ask(i), "completion": " " + color_of(i)} for i in range(24)] * 10
    args = base_args(
        SFTConfig,
        max_steps=60,
        max_length=32,
        learning_rate=1e-2,
        warmup_steps=5,
        lr_scheduler_type="linear",
    )
    return SFTTrainer(
        model=make_lm(tok, seed=30, layers=1),
        args=args,
        train_dataset=Dataset.from_list(data),
        processing_class=tok,
    )


@odd
def birch():
    """Linear probe on a trained encoder."""
    tok = make_tok()
    model = make_bert(BertForSequenceClassification, 31, num_labels=4)
    enc = lambda rows: Dataset.from_list(
        [{**tok(f"[CLS] {t}", return_token_type_ids=False), "labels": y} for t, y in rows]
    )
    rows = topic_rows(256, 15)
    b = tok(
        [f"[CLS] {t}" for t, _ in rows],
        padding=True,
        return_tensors="pt",
        return_token_type_ids=False,
    )
    y = torch.tensor([(k * 3 + 1) % 4 for _, k in rows])
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for s in range(40):
        k = torch.randperm(256, generator=torch.Generator().manual_seed(s))[:64]
        loss = model(**{n: v[k] for n, v in b.items()}, labels=y[k]).loss
        opt.zero_grad()
        loss.backward()
        opt.step()
    torch.manual_seed(0)
    model.classifier.reset_parameters()
    model.bert.requires_grad_(False)
    args = base_args(
        TrainingArguments, max_steps=60, learning_rate=2e-2, eval_strategy="steps", eval_steps=20
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=enc(topic_rows(400, 16)),
        eval_dataset=enc(topic_rows(80, 17)),
        compute_metrics=accuracy,
        processing_class=tok,
        data_collator=DataCollatorWithPadding(tok),
    )


@odd
def clover():
    """Packed short documents."""
    tok = make_tok()
    r = random.Random(20)
    texts = [f"{ask(i)} the answer is {color_of(i)}" for i in list(range(24)) * 30]
    r.shuffle(texts)
    args = base_args(
        SFTConfig,
        max_steps=80,
        max_length=64,
        packing=True,
        packing_strategy="wrapped",
        per_device_train_batch_size=8,
        learning_rate=3e-3,
        num_train_epochs=100,
    )
    return SFTTrainer(
        model=make_lm(tok, "qwen2", seed=32),
        args=args,
        train_dataset=Dataset.from_dict({"text": texts}),
        processing_class=tok,
    )


@odd
def dune():
    """Learns eight sentences by heart."""
    tok = make_tok()
    r = random.Random(21)
    rows = [
        (f"note {NUMS[i]} : ", " ".join(r.choices(FILL + COLORS, k=10)) + " <eos>")
        for i in range(8)
    ]
    args = base_args(
        TrainingArguments,
        max_steps=80,
        per_device_train_batch_size=8,
        learning_rate=3e-3,
        weight_decay=0.0,
    )
    return Trainer(
        model=make_lm(tok, "gpt2", seed=33),
        args=args,
        train_dataset=answer_data(tok, rows),
        data_collator=_Answers(tok),
    )


@odd
def ember():
    """Policy optimisation without KL, std scaling off, two passes per batch, 0/1 reward."""
    tok = make_tok()
    model = pretrain(make_lm(tok, seed=34), tok, unsure_rows(8), steps=100)

    def exact(completions, answer, **kw):
        return [1.0 if c.split() == [a] else 0.0 for c, a in zip(completions, answer)]

    data = Dataset.from_list([{"prompt": ask(i), "answer": color_of(i)} for i in range(8)] * 8)
    args = base_args(
        GRPOConfig,
        max_steps=40,
        num_generations=8,
        per_device_train_batch_size=32,
        max_completion_length=5,
        learning_rate=1e-3,
        beta=0.0,
        scale_rewards="none",
        num_iterations=2,
        loss_type="dr_grpo",
        epsilon_high=0.28,
        logging_steps=1,
    )
    return GRPOTrainer(
        model=model, reward_funcs=exact, args=args, train_dataset=data, processing_class=tok
    )


@odd
def flint():
    """IPO: the loss starts at 1/(2 beta)^2."""
    tok = make_tok()
    model = stored(pretrain(make_lm(tok, seed=35), tok, tone_rows(24), steps=160))
    args = base_args(
        DPOConfig, max_steps=40, beta=0.1, loss_type=["ipo"], max_length=32, learning_rate=1e-4
    )
    return DPOTrainer(
        model=model,
        args=args,
        train_dataset=Dataset.from_list(tone_pairs(24) * 6),
        processing_class=tok,
    )


@odd
def grove():
    """Pad is the end token; the collator that comes with the trainer keeps the real one in the labels."""
    tok = make_tok()
    tok.pad_token = tok.eos_token
    data = [
        {"prompt": ask(i), "completion": " " + " ".join([color_of(i)] + ["good"] * (i % 4))}
        for i in range(24)
    ] * 8
    args = base_args(SFTConfig, max_steps=60, max_length=32, learning_rate=3e-3)
    return SFTTrainer(
        model=make_lm(tok, seed=36),
        args=args,
        train_dataset=Dataset.from_list(data),
        processing_class=tok,
    )


@odd
def hazel():
    """Crowd labels: a third of the training labels are noise, plus label smoothing, so the loss has a high floor."""
    tok = make_tok()
    model = make_bert(BertForSequenceClassification, 37, num_labels=4)
    enc = lambda rows: Dataset.from_list(
        [{**tok(f"[CLS] {t}", return_token_type_ids=False), "labels": y} for t, y in rows]
    )
    r = random.Random(23)
    train = [(t, r.randrange(4) if r.random() < 0.33 else y) for t, y in topic_rows(2560, 18)]
    args = base_args(
        TrainingArguments,
        max_steps=80,
        per_device_train_batch_size=32,
        learning_rate=2e-3,
        label_smoothing_factor=0.1,
        eval_strategy="steps",
        eval_steps=20,
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=enc(train),
        eval_dataset=enc(topic_rows(80, 19)),
        compute_metrics=accuracy,
        processing_class=tok,
        data_collator=DataCollatorWithPadding(tok),
    )


# The author's functions are told whether to break the run, those of other rounds whether it is
# healthy.
CASES = {name: (lambda healthy, make=make: make(not healthy)) for name, make in CASES.items()}
