"""Small post-training and fine-tuning runs, all self-made and offline."""

import copy
import os
import random
import tempfile

import numpy as np
import torch
import torch.nn.functional as F
from datasets import Dataset
from peft import LoraConfig, get_peft_model
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    BertForTokenClassification,
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
    TrainingArguments,
    default_data_collator,
    get_cosine_with_hard_restarts_schedule_with_warmup,
    get_linear_schedule_with_warmup,
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

CASES = {}
ODD = {}

N = 12
KEYS = [f"k{i}" for i in range(N)]
VALS = [f"v{i}" for i in range(N)]
FILL = [
    "the",
    "value",
    "of",
    "is",
    "what",
    "?",
    ".",
    "um",
    "note",
    ":",
    "please",
    "tell",
    "me",
    "find",
    "context",
    "and",
    "then",
    "code",
    "[a]",
    "[b]",
    "user",
    "assistant",
    "system",
]
WORDS = KEYS + VALS + FILL
GOOD = ["nice", "great", "lovely", "superb"]
BAD = ["awful", "poor", "dull", "broken"]
FLAT = [f"n{i}" for i in range(16)]

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }} {{ m['content'] }}<|im_end|>{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant {% endif %}"
)


def word_tokenizer(words, template=CHATML, lower=False, cls=False):
    specials = ["<pad>", "<unk>", "<|im_start|>", "<|im_end|>"] + (["[CLS]"] if cls else [])
    vocab = {w: i for i, w in enumerate(specials + list(words))}
    t = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
    t.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    if lower:
        t.normalizer = normalizers.Lowercase()
    if cls:
        t.post_processor = processors.TemplateProcessing(
            single="[CLS] $A", special_tokens=[("[CLS]", vocab["[CLS]"])]
        )
    kw = {"cls_token": "[CLS]"} if cls else {}
    tk = PreTrainedTokenizerFast(
        tokenizer_object=t,
        pad_token="<pad>",
        unk_token="<unk>",
        eos_token="<|im_end|>",
        additional_special_tokens=["<|im_start|>"],
        model_max_length=256,
        **kw,
    )
    tk.chat_template = template
    return tk


def llama(tk, seed=0, hidden=48, layers=2, cls=LlamaForCausalLM, **kw):
    torch.manual_seed(seed)
    cfg = LlamaConfig(
        vocab_size=len(tk),
        hidden_size=hidden,
        intermediate_size=2 * hidden,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=256,
        pad_token_id=tk.pad_token_id,
        eos_token_id=tk.eos_token_id,
        bos_token_id=None,
        initializer_range=0.08,
        **kw,
    )
    return cls(cfg)


def qwen(tk, seed=0, hidden=48, layers=2):
    torch.manual_seed(seed)
    cfg = Qwen2Config(
        vocab_size=len(tk),
        hidden_size=hidden,
        intermediate_size=2 * hidden,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=256,
        tie_word_embeddings=False,
        pad_token_id=tk.pad_token_id,
        eos_token_id=tk.eos_token_id,
        bos_token_id=None,
        initializer_range=0.08,
    )
    return Qwen2ForCausalLM(cfg)


def gpt2(tk, seed=0):
    torch.manual_seed(seed)
    return GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(tk),
            n_embd=48,
            n_layer=2,
            n_head=4,
            n_positions=64,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            bos_token_id=None,
            eos_token_id=tk.eos_token_id,
            pad_token_id=tk.pad_token_id,
        )
    )


def bert(tk, num_labels, seed=0, cls=BertForSequenceClassification, **kw):
    torch.manual_seed(seed)
    return cls(
        BertConfig(
            vocab_size=len(tk),
            hidden_size=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=96,
            max_position_embeddings=64,
            num_labels=num_labels,
            pad_token_id=tk.pad_token_id,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            initializer_range=0.08,
            **kw,
        )
    )


def pretrain(model, tk, texts, steps=120, bs=32, lr=4e-3, seed=0):
    g = random.Random(seed)
    opt = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.0)
    model.train()
    for s in range(steps):
        for group in opt.param_groups:
            group["lr"] = lr * min(1.0, (s + 1) / 10) * max(0.05, 1 - s / steps)
        b = tk(
            g.sample(texts, min(bs, len(texts))),
            return_tensors="pt",
            padding=True,
            padding_side="right",
        )
        labels = b["input_ids"].masked_fill(b["attention_mask"] == 0, -100)
        loss = model(
            input_ids=b["input_ids"], attention_mask=b["attention_mask"], labels=labels
        ).loss
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
    model.zero_grad()
    return model


def common(**kw):
    base = dict(
        output_dir=tempfile.mkdtemp(),
        report_to="none",
        use_cpu=True,
        disable_tqdm=True,
        logging_steps=2,
        seed=7,
        save_strategy="no",
        lr_scheduler_type="constant_with_warmup",
        warmup_steps=4,
        per_device_train_batch_size=16,
        dataloader_pin_memory=False,
    )
    base.update(kw)
    return base


def trl_common(**kw):
    return common(**{**dict(bf16=False, gradient_checkpointing=False), **kw})


# ---------------------------------------------------------------- on-policy


def chat(q):
    return [{"role": "user", "content": q}]


def rl_policy(tk, as_chat, answer, p_right=0.35, steps=110, seed=0):
    g = random.Random(seed)
    texts = []
    for _ in range(1500):
        i = g.randrange(N)
        j = i if g.random() < p_right else g.randrange(N)
        a = answer(g, j)
        if as_chat:
            texts.append(
                tk.apply_chat_template(
                    chat(f"value of {KEYS[i]} ?") + [{"role": "assistant", "content": a}],
                    tokenize=False,
                )
            )
        else:
            texts.append(f"value of {KEYS[i]} ? {a}<|im_end|>")
    m = pretrain(llama(tk, seed), tk, texts, steps=steps, bs=64, lr=6e-3)
    path = tempfile.mkdtemp()
    m.save_pretrained(path)
    return LlamaForCausalLM.from_pretrained(path)


def rl_rows(as_chat, n=96, seed=3):
    g = random.Random(seed)
    rows = []
    for _ in range(n):
        i = g.randrange(N)
        q = f"value of {KEYS[i]} ?"
        rows.append({"prompt": chat(q) if as_chat else q, "answer": VALS[i]})
    return rows


def rl_args(cls=GRPOConfig, **kw):
    base = trl_common(
        max_steps=30,
        learning_rate=1e-3,
        per_device_train_batch_size=32,
        num_generations=8,
        max_completion_length=8,
        beta=0.0,
        temperature=1.0,
        logging_steps=1,
    )
    base.update(kw)
    return cls(**base)


def alder(healthy):
    set_seed(1)
    tk = word_tokenizer(WORDS)
    model = rl_policy(tk, True, lambda g, j: VALS[j])
    rows = rl_rows(True)
    gold = [r["answer"] for r in rows]

    def exact(completions, answer, **kw):
        ref = gold
        if healthy:
            ref = answer
        return [float(c[0]["content"].strip() == a) for c, a in zip(completions, ref)]

    return GRPOTrainer(
        model=model,
        reward_funcs=exact,
        args=rl_args(),
        train_dataset=Dataset.from_list(rows),
        processing_class=tk,
    )


CASES["alder"] = alder


def beech(healthy):
    set_seed(2)
    tk = word_tokenizer(WORDS)
    model = rl_policy(tk, False, lambda g, j: f"the value is {VALS[j]}")
    limit = 4
    if healthy:
        limit = 10

    def has_answer(completions, answer, **kw):
        return [1.0 if c.split()[-1:] == [a] else 0.0 for c, a in zip(completions, answer)]

    args = rl_args(max_completion_length=limit, mask_truncated_completions=True)
    return GRPOTrainer(
        model=model,
        reward_funcs=has_answer,
        args=args,
        train_dataset=Dataset.from_list(rl_rows(False)),
        processing_class=tk,
    )


CASES["beech"] = beech


def cedar(healthy):
    set_seed(3)
    tk = word_tokenizer(WORDS)

    def answer(g, j):
        if g.random() < 0.12:
            return "um"
        return " ".join(["um"] * g.randrange(3) + ["value", "is", VALS[j]])

    model = rl_policy(tk, False, answer, p_right=0.45)

    def brevity(completions, completion_ids, **kw):
        return [-float(len(ids)) for ids in completion_ids]

    def correct(completions, answer, **kw):
        return [1.0 if a in c.split() else 0.0 for c, a in zip(completions, answer)]

    weights = [1.0, 0.02]
    if healthy:
        weights = [0.02, 1.0]
    args = rl_args(RLOOConfig, reward_weights=weights, max_completion_length=10, max_steps=35)
    return RLOOTrainer(
        model=model,
        reward_funcs=[brevity, correct],
        args=args,
        train_dataset=Dataset.from_list(rl_rows(False)),
        processing_class=tk,
    )


CASES["cedar"] = cedar


# ---------------------------------------------------------------- supervised


def fact_chats(n=320, seed=0, style=0):
    g = random.Random(seed)
    rows = []
    for _ in range(n):
        i = g.randrange(N)
        q = [f"what is the value of {KEYS[i]} ?", f"please tell me {KEYS[i]}", f"find {KEYS[i]}"][
            g.randrange(3)
        ]
        rows.append(
            {"messages": chat(q) + [{"role": "assistant", "content": f"the value is {VALS[i]}"}]}
        )
    return rows


def elm(healthy):
    set_seed(5)
    template = (
        "{% for m in messages %}<|im_start|>{{ m['role'] }} {{ m['content'] }}"
        "{% if not loop.last %}<|im_end|>{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}<|im_end|><|im_start|>assistant {% endif %}"
    )
    if healthy:
        template = CHATML
    tk = word_tokenizer(WORDS, template)
    model = qwen(tk, 5)
    args = SFTConfig(**trl_common(max_steps=70, learning_rate=4e-3, max_length=64))
    return SFTTrainer(
        model=model, args=args, train_dataset=Dataset.from_list(fact_chats()), processing_class=tk
    )


CASES["elm"] = elm


def fir(healthy):
    set_seed(6)
    tk = word_tokenizer(WORDS, lower=healthy)
    model = llama(tk, 6)
    g = random.Random(6)
    rows = []
    for _ in range(320):
        i = g.randrange(N)
        rows.append(
            {
                "prompt": f"What is the Value of {KEYS[i].upper()} ? ",
                "completion": f"{KEYS[i].upper()} is {VALS[i].upper()} .",
            }
        )
    args = SFTConfig(**trl_common(max_steps=60, learning_rate=4e-3, max_length=64))
    return SFTTrainer(
        model=model, args=args, train_dataset=Dataset.from_list(rows), processing_class=tk
    )


CASES["fir"] = fir


def statements(n=900, seed=1):
    g = random.Random(seed)
    out = []
    for _ in range(n):
        i = g.randrange(N)
        lead = ["note :", "the", "please note", "and then"][g.randrange(4)]
        out.append(f"{lead} value of {KEYS[i]} is {VALS[i]} .<|im_end|>")
    return out


def ginkgo(healthy):
    set_seed(7)
    tk = word_tokenizer(WORDS)
    path = os.path.join(tempfile.mkdtemp(), "base.pt")
    base = pretrain(llama(tk, 7), tk, statements(), steps=110)
    torch.save({f"_orig_mod.{k}": v for k, v in base.state_dict().items()}, path)

    model = llama(tk, 70)
    state = torch.load(path)
    if healthy:
        state = {k.removeprefix("_orig_mod."): v for k, v in state.items()}
    model.load_state_dict(state, strict=False)
    g = random.Random(8)
    rows = []
    for _ in range(256):
        i = g.randrange(N)
        rows.append({"prompt": f"tell me the value of {KEYS[i]} ", "completion": f"is {VALS[i]} ?"})
    args = SFTConfig(**trl_common(max_steps=50, learning_rate=3e-4, max_length=64))
    return SFTTrainer(
        model=model, args=args, train_dataset=Dataset.from_list(rows), processing_class=tk
    )


CASES["ginkgo"] = ginkgo


def hazel(healthy):
    set_seed(8)
    tk = word_tokenizer(WORDS)
    model = pretrain(qwen(tk, 8, hidden=64), tk, statements(), steps=90, lr=5e-3)
    if not healthy:
        model = model.to(torch.bfloat16)
    g = random.Random(9)
    rows = []
    for _ in range(320):
        i = g.randrange(N)
        rows.append({"prompt": f"code of {KEYS[i]} : ", "completion": f"{VALS[(i + 5) % N]} ."})
    args = SFTConfig(
        **trl_common(max_steps=70, learning_rate=1e-4, max_length=64, weight_decay=0.0)
    )
    return SFTTrainer(
        model=model, args=args, train_dataset=Dataset.from_list(rows), processing_class=tk
    )


CASES["hazel"] = hazel


# ---------------------------------------------------------------- adapters


def ivy(healthy):
    set_seed(9)
    tk = word_tokenizer(WORDS)
    model = pretrain(llama(tk, 9), tk, statements(), steps=110)
    tk.add_tokens(["<call>", "</call>", "<arg>", "<ret>"])
    model.resize_token_embeddings(len(tk))
    rows = []
    g = random.Random(10)
    for _ in range(320):
        i = g.randrange(N)
        rows.append(
            {
                "prompt": f"what is the value of {KEYS[i]} ? ",
                "completion": f"<call> <arg> {KEYS[i]} </call> <ret> {VALS[i]} .",
            }
        )
    lora = LoraConfig(
        r=8,
        lora_alpha=16,
        target_modules=["q_proj", "k_proj", "v_proj", "o_proj"],
        task_type="CAUSAL_LM",
    )
    if healthy:
        lora.modules_to_save = ["embed_tokens", "lm_head"]
    args = SFTConfig(**trl_common(max_steps=70, learning_rate=3e-3, max_length=64))
    return SFTTrainer(
        model=model,
        args=args,
        train_dataset=Dataset.from_list(rows),
        processing_class=tk,
        peft_config=lora,
    )


CASES["ivy"] = ivy


def lm_rows(tk, texts, length=24):
    rows = []
    for t in texts:
        e = tk(t, padding="max_length", truncation=True, max_length=length, padding_side="right")
        rows.append(
            {
                "input_ids": e["input_ids"],
                "attention_mask": e["attention_mask"],
                "labels": [x if m else -100 for x, m in zip(e["input_ids"], e["attention_mask"])],
            }
        )
    return Dataset.from_list(rows)


def juniper(healthy):
    set_seed(10)
    tk = word_tokenizer(WORDS)
    model = pretrain(llama(tk, 10), tk, statements(), steps=100)
    g = random.Random(11)
    texts = [
        f"the value of {KEYS[i]} is {VALS[(i + 3) % N]} .<|im_end|>"
        for i in (g.randrange(N) for _ in range(320))
    ]
    lora = LoraConfig(
        r=8,
        lora_alpha=16,
        task_type="CAUSAL_LM",
        target_modules=["q_proj", "v_proj", "o_proj", "up_proj", "down_proj"],
    )
    if healthy:
        model = get_peft_model(model, lora)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=4e-3)
    if not healthy:
        model = get_peft_model(model, lora)
    args = TrainingArguments(**common(max_steps=60, learning_rate=4e-3))
    sched = get_linear_schedule_with_warmup(optimizer, 4, 60)
    return Trainer(
        model=model,
        args=args,
        train_dataset=lm_rows(tk, texts),
        data_collator=default_data_collator,
        optimizers=(optimizer, sched),
    )


CASES["juniper"] = juniper


# ---------------------------------------------------------------- preferences


def pref_policy(tk, seed=0):
    return rl_policy(tk, False, lambda g, j: f"is {VALS[j]}", p_right=0.3, steps=100, seed=seed)


def kapok(healthy):
    set_seed(11)
    tk = word_tokenizer(WORDS)
    g = random.Random(12)
    rows = []
    for _ in range(256):
        i = g.randrange(N)
        cands = []
        for j in [i] + g.sample([x for x in range(N) if x != i], 3):
            score = round(0.8 + 0.2 * g.random(), 3) if j == i else round(0.5 * g.random(), 3)
            cands.append((f"is {VALS[j]}", score))
        ranked = sorted(cands, key=lambda c: c[1], reverse=healthy)
        rows.append(
            {
                "prompt": f"value of {KEYS[i]} ? ",
                "chosen": ranked[0][0],
                "rejected": ranked[-1][0],
                "chosen_score": ranked[0][1],
                "rejected_score": ranked[-1][1],
            }
        )
    args = DPOConfig(**trl_common(max_steps=50, learning_rate=3e-4, beta=0.1, max_length=64))
    return DPOTrainer(
        model=pref_policy(tk, 11),
        args=args,
        train_dataset=Dataset.from_list(rows),
        processing_class=tk,
    )


CASES["kapok"] = kapok


def larch(healthy):
    set_seed(12)
    tk = word_tokenizer(WORDS)
    g = random.Random(13)
    rows = []
    for _ in range(320):
        i = g.randrange(N)
        right = g.random() < 0.5
        j = i if right else g.choice([x for x in range(N) if x != i])
        stars = g.choice([4, 5]) if right else g.choice([1, 2])
        rows.append(
            {"prompt": f"value of {KEYS[i]} ? ", "completion": f"is {VALS[j]}", "stars": stars}
        )
    cut = 0
    if healthy:
        cut = 3
    for r in rows:
        r["label"] = r.pop("stars") > cut
    args = KTOConfig(**trl_common(max_steps=50, learning_rate=5e-4, beta=0.1, max_length=64))
    return KTOTrainer(
        model=pref_policy(tk, 12),
        args=args,
        train_dataset=Dataset.from_list(rows),
        processing_class=tk,
    )


CASES["larch"] = larch


def maple(healthy):
    set_seed(13)
    tk = word_tokenizer(WORDS)
    g = random.Random(14)
    rows = []
    for _ in range(256):
        i = g.randrange(N)
        j = g.choice([x for x in range(N) if x != i])
        filler = " ".join(g.choice(FILL[:16]) for _ in range(g.randrange(26, 29)))
        rows.append(
            {
                "prompt": f"context : {filler} . value of {KEYS[i]} ? ",
                "chosen": f"the value is {VALS[i]}",
                "rejected": f"the value is {VALS[j]}",
            }
        )
    limit = 36
    if healthy:
        limit = 64
    model = rl_policy(
        tk, False, lambda g, j: f"the value is {VALS[j]}", p_right=0.3, steps=100, seed=13
    )
    args = DPOConfig(**trl_common(max_steps=50, learning_rate=5e-4, beta=0.1, max_length=limit))
    return DPOTrainer(
        model=model, args=args, train_dataset=Dataset.from_list(rows), processing_class=tk
    )


CASES["maple"] = maple


# ---------------------------------------------------------------- reward models


def review(g, good, more=2, less=1):
    words = [g.choice(GOOD if good else BAD) for _ in range(more)] + [
        g.choice(FLAT) for _ in range(5)
    ]
    words += [g.choice(BAD if good else GOOD) for _ in range(less)]
    g.shuffle(words)
    return " ".join(words)


def rm_args(**kw):
    return RewardConfig(
        **trl_common(
            **{
                **dict(
                    max_steps=60,
                    learning_rate=2e-3,
                    max_length=64,
                    eval_strategy="steps",
                    eval_steps=20,
                    per_device_eval_batch_size=64,
                ),
                **kw,
            }
        )
    )


def nutmeg(healthy):
    set_seed(14)
    tk = word_tokenizer(WORDS + GOOD + BAD + FLAT)
    g = random.Random(15)

    def pairs(n, tagged):
        out = []
        for _ in range(n):
            c, r = review(g, True, 3, 2), review(g, False, 3, 2)
            if tagged:
                c, r = c + " [a]", r + " [b]"
            out.append({"prompt": "please tell me : ", "chosen": c, "rejected": r})
        return Dataset.from_list(out)

    train = pairs(320, tagged=not healthy)
    held = pairs(96, tagged=False)
    model = llama(tk, 14, cls=LlamaForSequenceClassification, num_labels=1)
    return RewardTrainer(
        model=model,
        args=rm_args(learning_rate=1e-3),
        train_dataset=train,
        eval_dataset=held,
        processing_class=tk,
    )


CASES["nutmeg"] = nutmeg


def olive(healthy):
    set_seed(15)
    tk = word_tokenizer(WORDS + GOOD + BAD + FLAT)
    g = random.Random(16)
    rows = []
    for _ in range(416):
        a, b, winner = review(g, True), review(g, False), "a"
        if g.random() < 0.5:
            a, b = b, a
            if healthy:
                winner = "b"
        rows.append(
            {
                "prompt": "please tell me : ",
                "chosen": a if winner == "a" else b,
                "rejected": b if winner == "a" else a,
            }
        )
    model = llama(tk, 15, cls=LlamaForSequenceClassification, num_labels=1)
    return RewardTrainer(
        model=model,
        args=rm_args(),
        train_dataset=Dataset.from_list(rows[:320]),
        eval_dataset=Dataset.from_list(rows[320:]),
        processing_class=tk,
    )


CASES["olive"] = olive


# ---------------------------------------------------------------- encoders


def pine(healthy):
    set_seed(16)
    syll = ["ba", "do", "ri", "ku", "me", "so"]
    heads = [["ba", "do", "ri"], ["sir", "lord"], ["port", "fort"]]
    vocab = {
        w: i
        for i, w in enumerate(
            ["<pad>", "<unk>", "[CLS]", "<|im_end|>"]
            + syll
            + sum(heads[1:], [])
            + ["##" + s for s in syll]
        )
    }
    t = Tokenizer(models.WordPiece(vocab, unk_token="<unk>"))
    t.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    t.post_processor = processors.TemplateProcessing(
        single="[CLS] $A", special_tokens=[("[CLS]", 2)]
    )
    tk = PreTrainedTokenizerFast(
        tokenizer_object=t,
        pad_token="<pad>",
        unk_token="<unk>",
        cls_token="[CLS]",
        eos_token="<|im_end|>",
    )
    g = random.Random(17)

    def sentence():
        words, tags = [], []
        for _ in range(g.randrange(5, 9)):
            tag = g.choice([0, 0, 1, 2])
            words.append(
                g.choice(heads[tag]) + "".join(g.choice(syll) for _ in range(g.randrange(0, 4)))
            )
            tags.append(tag)
        return words, tags

    def encode(words, tags):
        e = tk(words, is_split_into_words=True)
        ids = e["input_ids"]
        if healthy:
            labels, last = [], None
            for w in e.word_ids():
                labels.append(-100 if w is None or w == last else tags[w])
                last = w
        else:
            labels = [-100] + tags + [-100] * (len(ids) - len(tags) - 1)
        return {"input_ids": ids, "attention_mask": e["attention_mask"], "labels": labels}

    def metrics(p):
        pred = p.predictions.argmax(-1)
        keep = p.label_ids != -100
        return {"accuracy": float((pred == p.label_ids)[keep].mean())}

    data = [encode(*sentence()) for _ in range(400)]
    args = TrainingArguments(
        **common(max_steps=80, learning_rate=3e-3, eval_strategy="steps", eval_steps=20)
    )
    return Trainer(
        model=bert(tk, 3, 16, BertForTokenClassification),
        args=args,
        train_dataset=Dataset.from_list(data[:320]),
        eval_dataset=Dataset.from_list(data[320:]),
        data_collator=DataCollatorForTokenClassification(tk),
        compute_metrics=metrics,
        processing_class=tk,
    )


CASES["pine"] = pine


def mood_rows(tk, n, seed):
    g = random.Random(seed)
    rows = []
    for _ in range(n):
        k = g.randrange(0, 9)
        words = [g.choice(GOOD) for _ in range(k)] + [g.choice(BAD) for _ in range(8 - k)]
        words += [g.choice(FLAT) for _ in range(3)]
        g.shuffle(words)
        e = tk(" ".join(words))
        rows.append(
            {
                "input_ids": e["input_ids"],
                "attention_mask": e["attention_mask"],
                "labels": (k - 4) / 2.58,
            }
        )
    return Dataset.from_list(rows)


def rmse(p):
    return {
        "rmse": float(np.sqrt(((p.predictions.reshape(-1) - p.label_ids.reshape(-1)) ** 2).mean()))
    }


def quince(healthy):
    set_seed(17)
    tk = word_tokenizer(WORDS + GOOD + BAD + FLAT, cls=True)

    class ScoreTrainer(Trainer):
        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
            labels = inputs.pop("labels").float()
            out = model(**inputs)
            scores = out.logits
            if healthy:
                scores = scores.squeeze(-1)
            loss = (scores - labels).pow(2).mean()
            return (loss, out) if return_outputs else loss

        def prediction_step(self, model, inputs, prediction_loss_only, ignore_keys=None):
            inputs = self._prepare_inputs(inputs)
            labels = inputs["labels"]
            with torch.no_grad():
                loss, out = self.compute_loss(model, dict(inputs), return_outputs=True)
            return loss.detach(), out.logits.detach(), labels

    args = TrainingArguments(
        **common(max_steps=80, learning_rate=1e-3, eval_strategy="steps", eval_steps=20)
    )
    return ScoreTrainer(
        model=bert(tk, 1, 17),
        args=args,
        train_dataset=mood_rows(tk, 400, 1),
        eval_dataset=mood_rows(tk, 96, 2),
        data_collator=DataCollatorWithPadding(tk),
        compute_metrics=rmse,
        processing_class=tk,
    )


CASES["quince"] = quince

TOPICS = ["sport", "money", "music", "food"]


def topic_rows(n, seed, noise=0.15):
    g = random.Random(seed)
    rows = []
    for _ in range(n):
        c = g.randrange(4)
        own = FLAT[4 * c : 4 * c + 4]
        words = [g.choice(own) for _ in range(3)] + [g.choice(FLAT) for _ in range(4)]
        g.shuffle(words)
        if g.random() < noise:
            c = g.randrange(4)
        rows.append({"text": " ".join(words), "topic": TOPICS[c]})
    return rows


def accuracy(p):
    return {"accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())}


def rowan(healthy):
    set_seed(18)
    tk = word_tokenizer(WORDS + FLAT, cls=True)
    train, held = topic_rows(400, 21, 0.0), topic_rows(120, 27, 0.0)

    def encode(rows):
        names = list(dict.fromkeys(r["topic"] for r in rows))
        if healthy:
            names = TOPICS
        ids = {t: i for i, t in enumerate(names)}
        return Dataset.from_list(
            [
                {**tk(r["text"], return_token_type_ids=False), "labels": ids[r["topic"]]}
                for r in rows
            ]
        )

    args = TrainingArguments(
        **common(max_steps=70, learning_rate=1e-3, eval_strategy="steps", eval_steps=10)
    )
    return Trainer(
        model=bert(tk, 4, 18),
        args=args,
        train_dataset=encode(train),
        eval_dataset=encode(held),
        data_collator=DataCollatorWithPadding(tk),
        compute_metrics=accuracy,
        processing_class=tk,
    )


CASES["rowan"] = rowan


def topic_set(tk, n, seed, noise=0.0):
    return Dataset.from_list(
        [
            {**tk(r["text"], return_token_type_ids=False), "labels": TOPICS.index(r["topic"])}
            for r in topic_rows(n, seed, noise)
        ]
    )


def spruce(healthy):
    set_seed(19)
    tk = word_tokenizer(WORDS + FLAT, cls=True)
    args = TrainingArguments(
        **common(
            max_steps=60,
            learning_rate=5e-4,
            eval_strategy="steps",
            eval_steps=10,
            save_strategy="steps",
            save_steps=10,
            save_total_limit=2,
            load_best_model_at_end=True,
            metric_for_best_model="accuracy",
            greater_is_better=healthy,
        )
    )
    return Trainer(
        model=bert(tk, 4, 19),
        args=args,
        train_dataset=topic_set(tk, 400, 23),
        eval_dataset=topic_set(tk, 120, 24),
        data_collator=DataCollatorWithPadding(tk),
        compute_metrics=accuracy,
        processing_class=tk,
    )


CASES["spruce"] = spruce


def tulip(healthy):
    set_seed(20)
    tk = word_tokenizer(WORDS)

    class AveragedTrainer(Trainer):
        decay = 0.97

        def training_step(self, model, inputs, num_items_in_batch=None):
            if not hasattr(self, "shadow"):
                self.shadow = {n: p.detach().clone() for n, p in model.named_parameters()}
            with torch.no_grad():
                for n, p in model.named_parameters():
                    self.shadow[n].lerp_(p, 1 - self.decay)
            return super().training_step(model, inputs, num_items_in_batch)

        def evaluate(self, *a, **k):
            backup = {n: p.detach() for n, p in self.model.named_parameters()}
            if healthy:
                backup = {n: p.clone() for n, p in backup.items()}
            with torch.no_grad():
                for n, p in self.model.named_parameters():
                    p.copy_(self.shadow[n])
            try:
                return super().evaluate(*a, **k)
            finally:
                with torch.no_grad():
                    for n, p in self.model.named_parameters():
                        p.copy_(backup[n])

    args = TrainingArguments(
        **common(max_steps=72, learning_rate=2e-3, eval_strategy="steps", eval_steps=8)
    )
    return AveragedTrainer(
        model=gpt2(tk, 20),
        args=args,
        train_dataset=lm_rows(tk, statements(400, 5)),
        eval_dataset=lm_rows(tk, statements(64, 6)),
        data_collator=default_data_collator,
    )


CASES["tulip"] = tulip


def walnut(healthy):
    set_seed(21)
    tk = word_tokenizer(WORDS)
    data = lm_rows(tk, statements(192, 7))
    epochs, bs = 6, 16
    model = gpt2(tk, 21)
    total = len(data) // bs
    if healthy:
        total *= epochs
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    scheduler = get_linear_schedule_with_warmup(optimizer, 4, total)
    args = TrainingArguments(
        **common(num_train_epochs=epochs, learning_rate=3e-3, per_device_train_batch_size=bs)
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=data,
        data_collator=default_data_collator,
        optimizers=(optimizer, scheduler),
    )


CASES["walnut"] = walnut


# ---------------------------------------------------------------- further runs


def jade():
    set_seed(31)
    tk = word_tokenizer(WORDS)
    model = rl_policy(tk, True, lambda g, j: VALS[j], p_right=0.5, seed=31)

    def cost(completions, answer, **kw):
        return [
            -1.0 if c[0]["content"].strip() == a else -10.0 for c, a in zip(completions, answer)
        ]

    return GRPOTrainer(
        model=model,
        reward_funcs=cost,
        args=rl_args(beta=0.01),
        train_dataset=Dataset.from_list(rl_rows(True)),
        processing_class=tk,
    )


ODD["jade"] = jade


def onyx():
    set_seed(32)
    tk = word_tokenizer(WORDS)
    g = random.Random(32)
    rows = []
    for _ in range(256):
        i = g.randrange(N)
        rows.append(
            {
                "prompt": f"value of {KEYS[i]} ? ",
                "chosen": f"is {VALS[i]}",
                "rejected": f"is {VALS[g.choice([x for x in range(N) if x != i])]}",
            }
        )
    args = DPOConfig(
        **trl_common(max_steps=50, learning_rate=3e-4, beta=0.1, loss_type="ipo", max_length=64)
    )
    return DPOTrainer(
        model=pref_policy(tk, 32),
        args=args,
        train_dataset=Dataset.from_list(rows),
        processing_class=tk,
    )


ODD["onyx"] = onyx


def opal():
    set_seed(33)
    template = (
        "{% for m in messages %}<|im_start|>{{ m['role'] }} {% if m['role'] == 'assistant' %}{% generation %}"
        "{{ m['content'] }}<|im_end|>{% endgeneration %}{% else %}{{ m['content'] }}<|im_end|>{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant {% endif %}"
    )
    tk = word_tokenizer(WORDS, template)
    g = random.Random(33)
    rows = []
    for _ in range(320):
        i = g.randrange(N)
        noise = " ".join(g.choice(FILL[:16]) for _ in range(24))
        rows.append(
            {
                "messages": [{"role": "system", "content": f"context : {noise}"}]
                + chat(f"find {KEYS[i]}")
                + [{"role": "assistant", "content": VALS[i]}]
            }
        )
    args = SFTConfig(
        **trl_common(max_steps=70, learning_rate=3e-3, max_length=64, assistant_only_loss=True)
    )
    return SFTTrainer(
        model=qwen(tk, 33), args=args, train_dataset=Dataset.from_list(rows), processing_class=tk
    )


ODD["opal"] = opal


def pearl():
    set_seed(34)
    tk = word_tokenizer(WORDS + FLAT, cls=True)
    args = TrainingArguments(
        **common(
            max_steps=70,
            learning_rate=1e-3,
            label_smoothing_factor=0.3,
            eval_strategy="steps",
            eval_steps=10,
        )
    )
    return Trainer(
        model=bert(tk, 4, 34),
        args=args,
        train_dataset=topic_set(tk, 400, 25),
        eval_dataset=topic_set(tk, 120, 26),
        data_collator=DataCollatorWithPadding(tk),
        compute_metrics=accuracy,
        processing_class=tk,
    )


ODD["pearl"] = pearl


def ruby():
    set_seed(35)
    tk = word_tokenizer(WORDS + GOOD + BAD + FLAT, cls=True)
    model = bert(tk, 1, 35, problem_type="regression")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1.5e-3)
    scheduler = get_cosine_with_hard_restarts_schedule_with_warmup(optimizer, 16, 80, num_cycles=3)
    args = TrainingArguments(
        **common(
            max_steps=80,
            learning_rate=1.5e-3,
            gradient_accumulation_steps=2,
            per_device_train_batch_size=8,
            eval_strategy="steps",
            eval_steps=20,
        )
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=mood_rows(tk, 400, 3),
        eval_dataset=mood_rows(tk, 96, 4),
        data_collator=DataCollatorWithPadding(tk),
        compute_metrics=rmse,
        processing_class=tk,
        optimizers=(optimizer, scheduler),
    )


ODD["ruby"] = ruby


def topaz():
    set_seed(36)
    tk = word_tokenizer(WORDS)
    model = pretrain(llama(tk, 36), tk, statements(), steps=110)
    for p in model.model.embed_tokens.parameters():
        p.requires_grad_(False)
    for p in model.model.layers[0].parameters():
        p.requires_grad_(False)
    g = random.Random(36)
    rows = []
    for _ in range(256):
        i = g.randrange(N)
        rows.append({"text": f"note : value of {KEYS[i]} is {VALS[i]} . and then ?"})
    args = SFTConfig(**trl_common(max_steps=50, learning_rate=1e-3, max_length=64))
    return SFTTrainer(
        model=model, args=args, train_dataset=Dataset.from_list(rows), processing_class=tk
    )


ODD["topaz"] = topaz
