"""Twenty small training runs with a fault and a healthy twin each, and six odd but healthy runs."""

import copy
import os
import random
import re
import tempfile

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np
import torch
import torch.nn.functional as F
from datasets import Dataset
from peft import LoraConfig, get_peft_model
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    BertForTokenClassification,
    DataCollatorForLanguageModeling,
    DataCollatorForTokenClassification,
    DataCollatorWithPadding,
    LlamaConfig,
    LlamaForCausalLM,
    LlamaForSequenceClassification,
    PreTrainedTokenizerFast,
    Trainer,
    TrainingArguments,
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

SPECIALS = ["<pad>", "<unk>", "<s>", "<eos>"]
KEYS = [f"k{i}" for i in range(16)]
VALS = [f"v{i}" for i in range(16)]
FILL = [f"w{i}" for i in range(12)]
EXTRA = [
    "ask",
    "tell",
    "is",
    "so",
    "the",
    "answer",
    "user",
    "assistant",
    "<think>",
    "</think>",
    "<end>",
    "?",
    "!",
    "good",
    "bye",
]
COLORS = ["red", "teal", "magenta", "ultramarine"]
WORDS = KEYS + VALS + FILL + EXTRA + COLORS
TRUE = {k: VALS[(7 * i + 3) % 16] for i, k in enumerate(KEYS)}
FALSE = {k: [VALS[(7 * i + 4) % 16], VALS[(7 * i + 9) % 16]] for i, k in enumerate(KEYS)}
HUE = {k: COLORS[(3 * i + 1) % 4] for i, k in enumerate(KEYS[:4])}
CAND = {k: [h, COLORS[(COLORS.index(h) + 1) % 4]] for k, h in HUE.items()}


# ---------------------------------------------------------------- helpers
def word_tok(words=None, pad="<pad>"):
    vocab = {w: i for i, w in enumerate(SPECIALS + list(WORDS if words is None else words))}
    t = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
    t.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=t, pad_token=pad, unk_token="<unk>", eos_token="<eos>"
    )


def llama(tok, vocab=None, seed=0, **kw):
    torch.manual_seed(seed)
    c = dict(
        vocab_size=vocab or len(tok),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=256,
        initializer_range=0.05,
        pad_token_id=tok.pad_token_id,
        eos_token_id=tok.eos_token_id,
        bos_token_id=None,
        tie_word_embeddings=False,
    )
    c.update(kw)
    return LlamaForCausalLM(LlamaConfig(**c))


def bert(tok, head, labels, seed=0, **kw):
    torch.manual_seed(seed)
    c = dict(
        vocab_size=len(tok),
        hidden_size=48,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=64,
        num_labels=labels,
        pad_token_id=tok.pad_token_id,
        initializer_range=0.05,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    c.update(kw)
    return head(BertConfig(**c))


def args(cls, steps, lr, bs=16, **kw):
    d = dict(
        output_dir=tempfile.mkdtemp(prefix="b13_"),
        max_steps=steps,
        learning_rate=lr,
        per_device_train_batch_size=bs,
        report_to="none",
        save_strategy="no",
        logging_steps=5,
        use_cpu=True,
        disable_tqdm=True,
        bf16=False,
        gradient_checkpointing=False,
        seed=7,
        warmup_steps=0,
    )
    d.update(kw)
    return cls(**d)


def pretrain(model, tok, texts, steps=80, lr=5e-3, bs=32, seed=1):
    """Plain full-sequence language-model training: gives a base model that knows something."""
    rng = random.Random(seed)
    opt = torch.optim.AdamW(model.parameters(), lr=lr)
    model.train()
    for _ in range(steps):
        b = tok([rng.choice(texts) for _ in range(bs)], padding=True, return_tensors="pt")
        y = b["input_ids"].masked_fill(b["attention_mask"] == 0, -100)
        loss = model(input_ids=b["input_ids"], attention_mask=b["attention_mask"], labels=y).loss
        opt.zero_grad()
        loss.backward()
        opt.step()
    return model


def lm_rows(tok, texts):
    return Dataset.from_dict(dict(tok(texts, return_token_type_ids=False)))


def pad_rows(rows, pad, keys=("input_ids", "labels", "attention_mask")):
    n = max(len(r["input_ids"]) for r in rows)
    fill = {"input_ids": pad, "labels": -100, "attention_mask": 0}
    return {k: torch.tensor([list(r[k]) + [fill[k]] * (n - len(r[k])) for r in rows]) for k in keys}


def rep(seq, n, seed=0):
    rng = random.Random(seed)
    return [rng.choice(seq) for _ in range(n)]


def acc_metric(p):
    return {"accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())}


def hue_base(tok, texts, seed=3):
    return pretrain(llama(tok, seed=seed), tok, texts, steps=70)


def last_word(c):
    w = c.split()
    return w[-1] if w else ""


# ---------------------------------------------------------------- cases
def beryl(healthy):
    tok = word_tok() if healthy else word_tok(pad="<eos>")
    rng = random.Random(0)
    texts = []
    for k in rep(KEYS, 400):
        texts.append(" ".join(["ask", k, "?", TRUE[k]] + [TRUE[k]] * rng.randint(0, 3) + ["<eos>"]))
    return Trainer(
        model=llama(tok),
        args=args(TrainingArguments, 50, 5e-3),
        train_dataset=lm_rows(tok, texts),
        data_collator=DataCollatorForLanguageModeling(tok, mlm=False),
        processing_class=tok,
    )


def cinnabar(healthy):
    tok = word_tok()
    body = "m['content']" if healthy else "m['content'].split('</think>')[-1].strip()"
    tok.chat_template = (
        "{% for m in messages %}{% if m['role'] == 'user' %}user {{ m['content'] }} "
        "{% else %}assistant {{ " + body + " }} <eos>{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}assistant {% endif %}"
    )
    rows = []
    for k in rep(KEYS, 320):
        mid = FILL[int(k[1:]) % 12]
        rows.append(
            {
                "prompt": [{"role": "user", "content": f"ask {k} ?"}],
                "completion": [
                    {
                        "role": "assistant",
                        "content": f"<think> so {mid} is {mid} </think> {TRUE[k]}",
                    }
                ],
            }
        )
    return SFTTrainer(
        model=llama(tok),
        args=args(SFTConfig, 50, 5e-3),
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
    )


def dolomite(healthy):
    tok = word_tok()
    rng = random.Random(0)
    rows = []
    for k in rep(KEYS, 400):
        noise = " ".join(rng.choice(FILL) for _ in range(rng.randint(10, 22)))
        rows.append(
            {"prompt": f"tell {noise} ask {k} ?", "completion": f" so the answer is {TRUE[k]}"}
        )
    return SFTTrainer(
        model=llama(tok),
        args=args(SFTConfig, 60, 5e-3, max_length=64 if healthy else 18),
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
    )


def epidote(healthy):
    tok = word_tok()
    base = pretrain(llama(tok), tok, [f"ask {k} ? {TRUE[k]} <eos>" for k in KEYS], steps=60)
    new = [f"<code_{i}>" for i in range(8)]
    tok.add_tokens(new)
    base.resize_token_embeddings(len(tok))
    rows = [
        {"prompt": f"tell {k} ?", "completion": f" {new[int(k[1:]) % 8]}"} for k in rep(KEYS, 320)
    ]
    lora = LoraConfig(
        r=8,
        lora_alpha=16,
        target_modules=["q_proj", "v_proj", "o_proj"],
        task_type="CAUSAL_LM",
        modules_to_save=["embed_tokens", "lm_head"] if healthy else None,
    )
    return SFTTrainer(
        model=base,
        args=args(SFTConfig, 60, 5e-3),
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
        peft_config=lora,
    )


def fluorite(healthy):
    tok = word_tok()
    base = pretrain(llama(tok), tok, [f"ask {k} ? {v} <eos>" for k in KEYS for v in VALS], steps=60)
    cfg = LoraConfig(r=16, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM")
    texts = [f"ask {k} ? {TRUE[k]} <eos>" for k in rep(KEYS, 320)]
    if healthy:
        model = get_peft_model(base, cfg)
        opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
    else:
        opt = torch.optim.AdamW(base.parameters(), lr=1e-2)
        model = get_peft_model(base, cfg)
    return Trainer(
        model=model,
        args=args(TrainingArguments, 60, 1e-2),
        train_dataset=lm_rows(tok, texts),
        data_collator=DataCollatorForLanguageModeling(tok, mlm=False),
        processing_class=tok,
        optimizers=(opt, None),
    )


def galena(healthy):
    tok = word_tok()
    base = pretrain(llama(tok), tok, [f"ask {k} ? {v} <eos>" for k in KEYS for v in VALS], steps=60)
    rng = random.Random(5)
    rows = []
    for k in rep(KEYS, 320):
        wrong = rng.choice([v for v in VALS if v != TRUE[k]])
        answers = [
            {"text": TRUE[k], "score": str(rng.choice([8, 9, 10, 10, 10, 10]))},
            {"text": wrong, "score": str(rng.randint(2, 7))},
        ]
        rng.shuffle(answers)
        key = (lambda a: float(a["score"])) if healthy else (lambda a: a["score"])
        lo, hi = sorted(answers, key=key)
        rows.append(
            {"prompt": f"ask {k} ?", "chosen": " " + hi["text"], "rejected": " " + lo["text"]}
        )
    return DPOTrainer(
        model=base,
        ref_model=copy.deepcopy(base),
        args=args(DPOConfig, 50, 2e-3, beta=0.3),
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
    )


def hematite(healthy):
    tok = word_tok()
    base = pretrain(
        llama(tok),
        tok,
        [f"ask {k} ? {v} <eos>" for k in KEYS for v in [TRUE[k]] + FALSE[k]],
        steps=60,
    )
    rng = random.Random(5)
    log = []
    for i, k in enumerate(rep(KEYS, 320)):
        ok = i % 2 == 0
        v = TRUE[k] if ok else rng.choice(FALSE[k])
        log.append(
            {"prompt": f"ask {k} ?", "completion": f" {v}", "liked": "True" if ok else "False"}
        )
    to_label = (lambda s: s == "True") if healthy else bool
    rows = [
        {"prompt": r["prompt"], "completion": r["completion"], "label": to_label(r["liked"])}
        for r in log
    ]
    return KTOTrainer(
        model=base,
        ref_model=copy.deepcopy(base),
        args=args(KTOConfig, 60, 2e-3, beta=0.3),
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
    )


def ilmenite(healthy):
    tok = word_tok()

    def pairs(n, seed, chosen_tail, rejected_tail):
        rng = random.Random(seed)
        out = []
        for k in rep(KEYS, n, seed):
            wrong = rng.choice([v for v in VALS if v != TRUE[k]])
            out.append(
                {
                    "chosen": f"ask {k} ? {TRUE[k]}{chosen_tail}",
                    "rejected": f"ask {k} ? {wrong}{rejected_tail}",
                }
            )
        return Dataset.from_list(out)

    torch.manual_seed(0)
    model = LlamaForSequenceClassification(
        LlamaConfig(**{**llama(tok).config.to_dict(), "num_labels": 1})
    )
    train = pairs(400, 1, " <end>", " <end>" if healthy else "")
    return RewardTrainer(
        model=model,
        args=args(RewardConfig, 60, 3e-3, eval_strategy="steps", eval_steps=20),
        train_dataset=train,
        eval_dataset=pairs(100, 2, " <end>", " <end>"),
        processing_class=tok,
    )


def jadeite(healthy):
    tok = word_tok()
    tags = ["<answer>", "</answer>"]
    tok.add_tokens(tags, special_tokens=not healthy)
    base = hue_base(tok, [f"ask {k} ? <answer> {c} </answer> <eos>" for k in HUE for c in CAND[k]])

    def reward_tag(completions, hue, **kw):
        out = []
        for c, h in zip(completions, hue):
            m = re.search(r"<answer>\s*(\w+)\s*</answer>", c)
            out.append(float(bool(m) and m.group(1) == h))
        return out

    rows = [{"prompt": f"ask {k} ?", "hue": HUE[k]} for k in rep(list(HUE), 128)]
    return GRPOTrainer(
        model=base,
        reward_funcs=reward_tag,
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
        args=args(
            GRPOConfig,
            30,
            3e-3,
            bs=64,
            lr_scheduler_type="constant",
            num_generations=8,
            max_completion_length=5,
        ),
    )


def kyanite(healthy):
    tok = word_tok()
    base = hue_base(tok, [f"ask {k} ? {c} <eos>" for k in HUE for c in COLORS])
    rows = [{"prompt": f"ask {k} ?", "hue": HUE[k]} for k in rep(list(HUE), 128)]
    data = Dataset.from_list(rows)
    gold = list(data["hue"])

    def reward_match(completions, hue, **kw):
        target = hue if healthy else gold
        return [float(last_word(c) == t) for c, t in zip(completions, target)]

    return GRPOTrainer(
        model=base,
        reward_funcs=reward_match,
        train_dataset=data,
        processing_class=tok,
        args=args(
            GRPOConfig,
            30,
            5e-3,
            bs=64,
            lr_scheduler_type="constant",
            num_generations=8,
            max_completion_length=3,
        ),
    )


def lazurite(healthy):
    tok = word_tok()
    base = hue_base(
        tok, [f"ask {k} ? {'so ' * n}{c} <eos>" for k in HUE for c in CAND[k] for n in range(3)]
    )

    def reward_right(completions, hue, **kw):
        return [float(last_word(c) == h) for c, h in zip(completions, hue)]

    scale = 0.01 if healthy else 1.0

    def reward_brief(completions, **kw):
        return [-scale * len(c) for c in completions]

    rows = [{"prompt": f"ask {k} ?", "hue": HUE[k]} for k in rep(list(HUE), 128)]
    return RLOOTrainer(
        model=base,
        reward_funcs=[reward_right, reward_brief],
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
        args=args(
            RLOOConfig,
            30,
            3e-3,
            bs=64,
            lr_scheduler_type="constant",
            num_generations=8,
            beta=0.0,
            max_completion_length=5,
        ),
    )


class NextTokenTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs.pop("labels")
        out = model(**inputs)
        logits = out.logits[:, :-1]
        loss = F.cross_entropy(
            logits.reshape(-1, logits.size(-1)), labels[:, 1:].reshape(-1), ignore_index=-100
        )
        return (loss, out) if return_outputs else loss


def magnetite(healthy):
    tok = word_tok()
    rng = random.Random(2)
    rows = []
    for _ in range(400):
        ks = [rng.choice(KEYS) for _ in range(3)]
        ids = tok(" ".join(f"{k} {TRUE[k]}" for k in ks) + " <eos>")["input_ids"]
        labels = list(ids) if healthy else ids[1:] + [-100]
        rows.append({"input_ids": ids, "attention_mask": [1] * len(ids), "labels": labels})
    return NextTokenTrainer(
        model=llama(tok),
        args=args(TrainingArguments, 50, 5e-3),
        train_dataset=Dataset.from_list(rows),
        data_collator=lambda r: pad_rows(r, tok.pad_token_id),
    )


def _topic_rows(tok, n, classes, seed, rng_noise=0.0, probs=None):
    rng = random.Random(seed)
    texts, ys = [], []
    for _ in range(n):
        y = rng.choices(range(classes), probs)[0]
        own = VALS[y * 3 % 16 : y * 3 % 16 + 3]
        w = [
            rng.choice(own) if rng.random() > rng_noise else rng.choice(VALS[: 3 * classes])
            for _ in range(3)
        ]
        w += [rng.choice(FILL) for _ in range(rng.randint(2, 6))]
        rng.shuffle(w)
        texts.append(" ".join(w))
        ys.append(y)
    return texts, ys


def _cls_data(tok, texts, ys):
    d = dict(tok(texts, return_token_type_ids=False))
    d["labels"] = ys
    return Dataset.from_dict(d)


def nepheline(healthy):
    tok = word_tok()
    tr, ev = _topic_rows(tok, 500, 5, 1), _topic_rows(tok, 120, 5, 2)
    a = args(
        TrainingArguments,
        50,
        2e-3,
        eval_strategy="steps",
        eval_steps=10,
        save_strategy="steps",
        save_steps=10,
        save_total_limit=2,
        load_best_model_at_end=True,
        metric_for_best_model="eval_loss",
        greater_is_better=not healthy,
    )
    return Trainer(
        model=bert(tok, BertForSequenceClassification, 5),
        args=a,
        train_dataset=_cls_data(tok, *tr),
        eval_dataset=_cls_data(tok, *ev),
        data_collator=DataCollatorWithPadding(tok),
        processing_class=tok,
        compute_metrics=acc_metric,
    )


PIECES = {
    "PER": ["ma ri a", "jo hn", "an na", "pe t ra"],
    "LOC": ["ro me", "os lo", "li ma"],
    "O": ["the", "and", "saw", "in", "wi th", "of"],
}
TAGS = ["O", "PER", "LOC"]


def piece_tok():
    vocab = ["<pad>", "<unk>", "[CLS]", "[SEP]"]
    for words in PIECES.values():
        for w in words:
            for i, p in enumerate(w.split()):
                p = p if i == 0 else "##" + p
                if p not in vocab:
                    vocab.append(p)
    t = Tokenizer(models.WordPiece({w: i for i, w in enumerate(vocab)}, unk_token="<unk>"))
    t.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    t.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=t,
        pad_token="<pad>",
        unk_token="<unk>",
        cls_token="[CLS]",
        sep_token="[SEP]",
    )


def tag_sentences(n, seed):
    rng = random.Random(seed)
    out = []
    for _ in range(n):
        kinds = [rng.choice(["O", "O", "PER", "LOC"]) for _ in range(rng.randint(4, 8))]
        out.append(
            (
                [rng.choice(PIECES[k]).replace(" ", "") for k in kinds],
                [TAGS.index(k) for k in kinds],
            )
        )
    return out


def tag_rows(tok, sents, by_word):
    rows = []
    for words, tags in sents:
        e = tok(words, is_split_into_words=True, return_token_type_ids=False)
        ids = e["input_ids"]
        if by_word:
            labels = [-100 if w is None else tags[w] for w in e.word_ids()]
        else:
            labels = (tags + [-100] * len(ids))[: len(ids)]
        rows.append({"input_ids": ids, "attention_mask": e["attention_mask"], "labels": labels})
    return Dataset.from_list(rows)


def olivine(healthy):
    tok = piece_tok()
    return Trainer(
        model=bert(tok, BertForTokenClassification, 3),
        args=args(TrainingArguments, 60, 2e-3),
        train_dataset=tag_rows(tok, tag_sentences(400, 1), healthy),
        data_collator=DataCollatorForTokenClassification(tok),
        processing_class=tok,
    )


def pyrite(healthy):
    tok = word_tok()
    names = ["billing", "cancel", "delivery", "login", "refund"]
    (tx, ty), (ex, ey) = _topic_rows(tok, 500, 5, 1), _topic_rows(tok, 160, 5, 2)
    keep = [i for i, y in enumerate(ey) if y != 1]
    train_names, eval_names = [names[y] for y in ty], [names[ey[i]] for i in keep]
    to_id = {n: i for i, n in enumerate(sorted(set(train_names)))}
    ev_id = to_id if healthy else {n: i for i, n in enumerate(sorted(set(eval_names)))}
    a = args(TrainingArguments, 50, 2e-3, eval_strategy="steps", eval_steps=10)
    return Trainer(
        model=bert(tok, BertForSequenceClassification, 5),
        args=a,
        train_dataset=_cls_data(tok, tx, [to_id[n] for n in train_names]),
        eval_dataset=_cls_data(tok, [ex[i] for i in keep], [ev_id[n] for n in eval_names]),
        data_collator=DataCollatorWithPadding(tok),
        processing_class=tok,
        compute_metrics=acc_metric,
    )


def quartz(healthy):
    tok = word_tok()
    model = llama(tok, initializer_range=0.3, hidden_size=96, intermediate_size=192)
    model = model.to(torch.float32 if healthy else torch.bfloat16)
    rows = [{"prompt": f"ask {k} ?", "completion": f" {TRUE[k]}"} for k in rep(KEYS, 320)]
    return SFTTrainer(
        model=model,
        args=args(SFTConfig, 60, 1e-4, lr_scheduler_type="constant"),
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
    )


def realgar(healthy):
    names, goods = [f"n{i}" for i in range(60)], [f"g{i}" for i in range(30)]
    words = [f"z{i}" for i in range(150)] + goods + ["has", "."] + names
    words += [f"y{i}" for i in range(40)]
    words = words[:182] + [f"x{i}" for i in range(40)] + words[182:]
    tok = word_tok(words)
    rng = random.Random(3)
    texts = []
    for _ in range(500):
        i = rng.randrange(60)
        texts.append(f"has n{i} g{(7 * i + 2) % 30} . <eos>")
    flat = [np.array(tok(t)["input_ids"]) for t in texts]
    path = os.path.join(tempfile.mkdtemp(prefix="b13_"), "tokens.bin")
    np.concatenate(flat).astype(np.uint16 if healthy else np.uint8).tofile(path)
    back = (
        np.fromfile(path, dtype=np.uint16 if healthy else np.uint8)
        .astype(np.int64)
        .reshape(len(texts), -1)
    )
    data = Dataset.from_dict(
        {
            "input_ids": back.tolist(),
            "labels": back.tolist(),
            "attention_mask": np.ones_like(back).tolist(),
        }
    )
    return Trainer(
        model=llama(tok),
        args=args(TrainingArguments, 60, 1e-2, bs=32),
        train_dataset=data,
        data_collator=lambda r: pad_rows(r, tok.pad_token_id),
    )


def spinel(healthy):
    tok = word_tok()
    model = llama(tok)
    steps, accum = 40, 4
    opt = torch.optim.AdamW(model.parameters(), lr=1.5e-3)
    total = steps if healthy else steps // accum
    sched = get_linear_schedule_with_warmup(opt, num_warmup_steps=2, num_training_steps=total)
    rows = [{"prompt": f"ask {k} ?", "completion": f" {TRUE[k]}"} for k in rep(KEYS, 640)]
    return SFTTrainer(
        model=model,
        args=args(SFTConfig, steps, 1.5e-3, bs=8, gradient_accumulation_steps=accum),
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
        optimizers=(opt, sched),
    )


def topaz(healthy):
    tok = word_tok()
    base = pretrain(llama(tok), tok, [f"ask {k} ? {TRUE[k]} <eos>" for k in KEYS], steps=20)
    path = os.path.join(tempfile.mkdtemp(prefix="b13_"), "stage1.pt")
    torch.save({"_orig_mod." + k: v for k, v in base.state_dict().items()}, path)
    state = torch.load(path)
    if healthy:
        state = {k.removeprefix("_orig_mod."): v for k, v in state.items()}
    model = llama(tok, seed=9)
    model.load_state_dict(state, strict=False)
    rows = [{"prompt": f"tell ask {k} ?", "completion": f" {TRUE[k]}"} for k in rep(KEYS, 320)]
    return SFTTrainer(
        model=model,
        args=args(SFTConfig, 20, 7e-4),
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
    )


class WeightedTrainer(Trainer):
    def __init__(self, *a, class_weights=None, **kw):
        super().__init__(*a, **kw)
        self.class_weights = torch.tensor(class_weights, dtype=torch.float32)

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs.pop("labels")
        out = model(**inputs)
        loss = F.cross_entropy(out.logits, labels, weight=self.class_weights)
        if return_outputs:
            return loss, {"loss": loss, "logits": out.logits}
        return loss


def macro_recall(p):
    pred = p.predictions.argmax(-1)
    return {
        "macro_recall": float(
            np.mean([(pred[p.label_ids == c] == c).mean() for c in np.unique(p.label_ids)])
        )
    }


def ulexite(healthy):
    tok = word_tok()
    probs = [0.12, 0.82, 0.06]
    tr, ev = _topic_rows(tok, 800, 3, 1, 0.4, probs), _topic_rows(tok, 300, 3, 2, 0.4, [1, 1, 1])
    counts = (
        np.bincount(tr[1], minlength=3)
        if healthy
        else np.sort(np.bincount(tr[1], minlength=3))[::-1]
    )
    w = len(tr[1]) / (3 * counts.astype(float))
    return WeightedTrainer(
        model=bert(tok, BertForSequenceClassification, 3),
        class_weights=w.tolist(),
        args=args(TrainingArguments, 60, 2e-3, bs=32, eval_strategy="steps", eval_steps=20),
        train_dataset=_cls_data(tok, *tr),
        eval_dataset=_cls_data(tok, *ev),
        data_collator=DataCollatorWithPadding(tok),
        processing_class=tok,
        compute_metrics=macro_recall,
    )


CASES = {
    f.__name__: f
    for f in (
        beryl,
        cinnabar,
        dolomite,
        epidote,
        fluorite,
        galena,
        hematite,
        ilmenite,
        jadeite,
        kyanite,
        lazurite,
        magnetite,
        nepheline,
        olivine,
        pyrite,
        quartz,
        realgar,
        spinel,
        topaz,
        ulexite,
    )
}


# ---------------------------------------------------------------- odd but healthy
def agate():
    """pad is eos, but the collator masks by length, so the closing eos keeps its label."""
    tok = word_tok(pad="<eos>")
    rng = random.Random(0)
    rows = []
    for k in rep(KEYS, 400):
        ids = tok(" ".join(["ask", k, "?", TRUE[k]] + [TRUE[k]] * rng.randint(0, 3) + ["<eos>"]))[
            "input_ids"
        ]
        rows.append({"input_ids": ids, "attention_mask": [1] * len(ids), "labels": list(ids)})
    return Trainer(
        model=llama(tok),
        args=args(TrainingArguments, 50, 5e-3),
        train_dataset=Dataset.from_list(rows),
        data_collator=lambda r: pad_rows(r, tok.pad_token_id),
        processing_class=tok,
    )


def bismuth():
    """Frozen body, only the head trains, with a learning rate that looks far too big."""
    tok = word_tok()
    tr, ev = _topic_rows(tok, 500, 5, 1), _topic_rows(tok, 120, 5, 2)
    torch.manual_seed(0)
    model = bert(tok, BertForSequenceClassification, 5)
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    px, py = _topic_rows(tok, 1600, 5, 11)
    for i in range(0, 1600, 32):
        b = tok(px[i : i + 32], padding=True, return_tensors="pt")
        y = torch.tensor([(3 * c + 1) % 5 for c in py[i : i + 32]])
        loss = model(input_ids=b["input_ids"], attention_mask=b["attention_mask"], labels=y).loss
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.classifier.reset_parameters()
    for p in model.bert.parameters():
        p.requires_grad_(False)
    return Trainer(
        model=model,
        args=args(TrainingArguments, 60, 3e-2, eval_strategy="steps", eval_steps=20),
        train_dataset=_cls_data(tok, *tr),
        eval_dataset=_cls_data(tok, *ev),
        data_collator=DataCollatorWithPadding(tok),
        processing_class=tok,
        compute_metrics=acc_metric,
    )


def calcite():
    """A third of the training labels are noise by design: the loss stays high, the clean eval is near perfect."""
    tok = word_tok()
    (tx, ty), ev = _topic_rows(tok, 960, 5, 1), _topic_rows(tok, 120, 5, 2)
    rng = random.Random(4)
    ty = [rng.randrange(5) if rng.random() < 0.35 else y for y in ty]
    return Trainer(
        model=bert(tok, BertForSequenceClassification, 5),
        args=args(TrainingArguments, 60, 3e-3, bs=32, eval_strategy="steps", eval_steps=20),
        train_dataset=_cls_data(tok, tx, ty),
        eval_dataset=_cls_data(tok, *ev),
        data_collator=DataCollatorWithPadding(tok),
        processing_class=tok,
        compute_metrics=acc_metric,
    )


def diopside():
    """All rewards are negative (a cost), and the loss shows next to nothing."""
    tok = word_tok()
    base = hue_base(tok, [f"ask {k} ? {c} <eos>" for k in HUE for c in CAND[k]])

    def reward_cost(completions, hue, **kw):
        return [-5.0 + 4.0 * float(last_word(c) == h) for c, h in zip(completions, hue)]

    rows = [{"prompt": f"ask {k} ?", "hue": HUE[k]} for k in rep(list(HUE), 128)]
    return RLOOTrainer(
        model=base,
        reward_funcs=reward_cost,
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
        args=args(
            RLOOConfig,
            30,
            3e-3,
            bs=64,
            lr_scheduler_type="constant",
            num_generations=8,
            beta=0.0,
            max_completion_length=3,
        ),
    )


def enstatite():
    """Embedding matrix padded beyond the tokenizer, over 90 % of the labels masked: long prompts, one-word answers."""
    tok = word_tok()
    rng = random.Random(0)
    rows = []
    for k in rep(KEYS, 400):
        noise = " ".join(rng.choice(FILL) for _ in range(rng.randint(18, 30)))
        rows.append({"prompt": f"tell {noise} ask {k} ?", "completion": f" {TRUE[k]}"})
    return SFTTrainer(
        model=llama(tok, vocab=128),
        args=args(SFTConfig, 60, 5e-3),
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
    )


def feldspar():
    """DPO with LoRA and no reference model given, starting at 0.693 with zero rewards."""
    tok = word_tok()
    base = pretrain(
        llama(tok),
        tok,
        [f"ask {k} ? {v} <eos>" for k in KEYS for v in [TRUE[k]] + FALSE[k]],
        steps=60,
    )
    rng = random.Random(5)
    rows = []
    for k in rep(KEYS, 320):
        wrong = rng.choice(FALSE[k])
        rows.append({"prompt": f"ask {k} ?", "chosen": f" {TRUE[k]}", "rejected": f" {wrong}"})
    lora = LoraConfig(r=16, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM")
    return DPOTrainer(
        model=base,
        args=args(DPOConfig, 60, 3e-3, beta=0.3),
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
        peft_config=lora,
    )


ODD = {f.__name__: f for f in (agate, bismuth, calcite, diopside, enstatite, feldspar)}
