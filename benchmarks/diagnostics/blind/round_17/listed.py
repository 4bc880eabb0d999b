import copy
import random
import sys
import tempfile
import time

import numpy as np
import torch
import torch.nn.functional as F
from datasets import Dataset
from peft import LoraConfig, get_peft_model
from tokenizers import Tokenizer, models, pre_tokenizers
from torch.utils.data import SequentialSampler
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForSequenceClassification,
    BertForTokenClassification,
    DataCollatorForTokenClassification,
    DataCollatorWithPadding,
    LlamaConfig,
    LlamaForCausalLM,
    LlamaForSequenceClassification,
    PreTrainedTokenizerFast,
    Trainer,
    TrainerCallback,
    TrainingArguments,
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

KEYS = [
    "paris",
    "rome",
    "oslo",
    "kyiv",
    "lima",
    "cairo",
    "delhi",
    "tokyo",
    "quito",
    "accra",
    "dakar",
    "hanoi",
]
VALS = [
    "france",
    "italy",
    "norway",
    "ukraine",
    "peru",
    "egypt",
    "india",
    "japan",
    "ecuador",
    "ghana",
    "senegal",
    "vietnam",
]
FILL = [
    "please",
    "tell",
    "me",
    "now",
    "where",
    "is",
    "the",
    "city",
    "called",
    "in",
    "which",
    "country",
    "today",
    "kindly",
]
GOOD = ["great", "superb", "lovely", "brilliant", "charming", "delightful"]
BAD = ["awful", "dreadful", "boring", "clumsy", "dull", "terrible"]
MISC = [
    "film",
    "book",
    "song",
    "play",
    "show",
    "was",
    "very",
    "quite",
    "rather",
    "a",
    "it",
    "plot",
    "cast",
    "scene",
]
WORDS = KEYS + VALS + FILL + GOOD + BAD + MISC
WORDS = list(dict.fromkeys(WORDS))

CHAT = (
    "{% for m in messages %}{% if m['role'] == 'user' %}<|user|> {{ m['content'] }} <eos> "
    "{% elif m['role'] == 'assistant' %}<|assistant|> {{ m['content'] }} <eos> {% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|> {% endif %}"
)


def make_tok(words=WORDS, chat=None, side="right", extra=()):
    base = ["<pad>", "<bos>", "<eos>", "<unk>", "<|user|>", "<|assistant|>"] + list(extra)
    vocab = {w: i for i, w in enumerate(base + list(words))}
    t = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
    t.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tok = PreTrainedTokenizerFast(
        tokenizer_object=t,
        pad_token="<pad>",
        bos_token="<bos>",
        eos_token="<eos>",
        unk_token="<unk>",
        padding_side=side,
        model_max_length=128,
    )
    if chat:
        tok.chat_template = chat
    return tok


def llama_cfg(tok, hidden=64, layers=2, **kw):
    return LlamaConfig(
        vocab_size=len(tok),
        hidden_size=hidden,
        intermediate_size=2 * hidden,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=128,
        pad_token_id=tok.pad_token_id,
        bos_token_id=tok.bos_token_id,
        eos_token_id=tok.eos_token_id,
        **kw,
    )


def make_lm(tok, seed=0, hidden=64, layers=2, **kw):
    torch.manual_seed(seed)
    return LlamaForCausalLM(llama_cfg(tok, hidden, layers, **kw))


def bert_cfg(tok, **kw):
    return BertConfig(
        vocab_size=len(tok),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=64,
        pad_token_id=tok.pad_token_id,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        **kw,
    )


def common(max_steps, lr, bs=16, **kw):
    d = dict(
        output_dir=tempfile.mkdtemp(prefix="b17_"),
        use_cpu=True,
        report_to="none",
        save_strategy="no",
        logging_steps=2,
        max_steps=max_steps,
        learning_rate=lr,
        per_device_train_batch_size=bs,
        seed=3,
        disable_tqdm=True,
        bf16=False,
    )
    d.update(kw)
    return d


def question(rng, k, n=3):
    w = rng.sample(FILL, n)
    return " ".join(w + [KEYS[k]])


def fact_rows(n, seed=0, nfill=3):
    rng = random.Random(seed)
    out = []
    for i in range(n):
        k = i % len(KEYS)
        out.append((question(rng, k, nfill), VALS[k]))
    rng.shuffle(out)
    return out


def quick_fit(model, tok, texts, steps=60, lr=4e-3, seed=0):
    g = random.Random(seed)
    opt = torch.optim.AdamW(model.parameters(), lr=lr)
    model.train()
    for _ in range(steps):
        b = tok(g.sample(texts, 16), padding=True, return_tensors="pt")
        lab = b["input_ids"].masked_fill(b["attention_mask"] == 0, -100)
        loss = model(input_ids=b["input_ids"], attention_mask=b["attention_mask"], labels=lab).loss
        loss.backward()
        opt.step()
        opt.zero_grad()
    return model


def review(rng, good, n=6):
    src = GOOD if good else BAD
    w = rng.sample(MISC, n - 2) + rng.sample(src, 2)
    rng.shuffle(w)
    return " ".join(w)


def accuracy(p):
    return {"accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())}


class AveragedWeights(TrainerCallback):
    def __init__(self, decay, every, keep):
        self.decay, self.every, self.keep = decay, every, keep
        self.shadow, self.backup = None, None

    def on_train_begin(self, args, state, control, model=None, **kw):
        self.shadow = {n: p.detach().clone() for n, p in model.named_parameters()}

    @torch.no_grad()
    def on_step_end(self, args, state, control, model=None, **kw):
        for n, p in model.named_parameters():
            self.shadow[n].lerp_(p.detach(), 1 - self.decay)
        if state.global_step % self.every == 0:
            self.backup = {n: p.detach().clone() for n, p in model.named_parameters()}
            for n, p in model.named_parameters():
                p.copy_(self.shadow[n])

    @torch.no_grad()
    def on_evaluate(self, args, state, control, model=None, **kw):
        src = self.backup if self.keep else self.shadow
        for n, p in model.named_parameters():
            p.copy_(src[n])


def acacia(healthy):
    tok = make_tok()
    rows = [f"{q} {a}" for q, a in fact_rows(240)]
    ev = [f"{q} {a}" for q, a in fact_rows(48, seed=9)]
    return SFTTrainer(
        model=make_lm(tok),
        args=SFTConfig(**common(48, 2e-3, eval_strategy="steps", eval_steps=4, max_length=32)),
        train_dataset=Dataset.from_dict({"text": rows}),
        eval_dataset=Dataset.from_dict({"text": ev}),
        processing_class=tok,
        callbacks=[AveragedWeights(0.95, 4, healthy)],
    )


def birch(healthy):
    tok = make_tok()
    rng = random.Random(1)
    names = ["praise", "geo", "complaint"]

    def sample(name):
        if name == "geo":
            return " ".join(rng.sample(FILL, 4) + rng.sample(KEYS, 2))
        return review(rng, name == "praise")

    def split(n, order):
        r = [(sample(order[i % 3]), order[i % 3]) for i in range(n)]
        return Dataset.from_dict({"text": [x[0] for x in r], "topic": [x[1] for x in r]})

    train, test = split(240, names), split(60, ["complaint", "praise", "geo"])

    def index(ds):
        return {n: i for i, n in enumerate(dict.fromkeys(ds["topic"]))}

    train_ix = index(train)
    test_ix = train_ix if healthy else index(test)

    def encode(ds, ix):
        return ds.map(
            lambda r: {**tok(r["text"], return_token_type_ids=False), "labels": ix[r["topic"]]}
        )

    torch.manual_seed(0)
    model = BertForSequenceClassification(
        bert_cfg(tok, num_labels=3, id2label={i: n for n, i in train_ix.items()}, label2id=train_ix)
    )
    return Trainer(
        model=model,
        args=TrainingArguments(**common(40, 2e-3, eval_strategy="steps", eval_steps=10)),
        train_dataset=encode(train, train_ix),
        eval_dataset=encode(test, test_ix),
        data_collator=DataCollatorWithPadding(tok),
        processing_class=tok,
        compute_metrics=accuracy,
    )


def cedar(healthy):
    heads = ["lon", "ber", "mad", "war", "vien"]
    tails = ["##don", "##lin", "##rid", "##saw", "##na", "##ton", "##ford"]
    first = ["ann", "tom", "eve", "max", "kim"]
    last = ["##berg", "##sson", "##ova", "##ez"]
    plain = ["saw", "met", "in", "with", "and", "then", "near", "left", "the", "at"]
    vocab = {
        w: i
        for i, w in enumerate(
            ["<pad>", "<unk>", "<s>", "</s>"] + heads + tails + first + last + plain
        )
    }
    t = Tokenizer(models.WordPiece(vocab, unk_token="<unk>"))
    t.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tok = PreTrainedTokenizerFast(
        tokenizer_object=t, pad_token="<pad>", unk_token="<unk>", model_max_length=64
    )
    rng = random.Random(2)

    def sentence():
        words, tags = [], []
        for _ in range(rng.randint(6, 9)):
            kind = rng.choice([0, 0, 1, 2])
            if kind == 0:
                words.append(rng.choice(plain))
            elif kind == 1:
                words.append(
                    rng.choice(heads) + "".join(x[2:] for x in rng.sample(tails, rng.randint(1, 3)))
                )
            else:
                words.append(
                    rng.choice(first) + "".join(x[2:] for x in rng.sample(last, rng.randint(0, 2)))
                )
            tags.append(kind)
        return words, tags

    def encode(n):
        rows = {"input_ids": [], "attention_mask": [], "labels": []}
        for _ in range(n):
            words, tags = sentence()
            enc = tok(words, is_split_into_words=True, return_token_type_ids=False)
            ids = enc.word_ids()
            if healthy:
                lab = [tags[w] if i == 0 or ids[i - 1] != w else -100 for i, w in enumerate(ids)]
            else:
                lab = (tags + [-100] * len(ids))[: len(ids)]
            rows["input_ids"].append(enc["input_ids"])
            rows["attention_mask"].append(enc["attention_mask"])
            rows["labels"].append(lab)
        return Dataset.from_dict(rows)

    def metrics(p):
        pred, m = p.predictions.argmax(-1), p.label_ids != -100
        return {"accuracy": float((pred == p.label_ids)[m].mean())}

    torch.manual_seed(0)
    model = BertForTokenClassification(
        bert_cfg(
            tok,
            num_labels=3,
            id2label={0: "O", 1: "LOC", 2: "PER"},
            label2id={"O": 0, "LOC": 1, "PER": 2},
        )
    )
    return Trainer(
        model=model,
        args=TrainingArguments(**common(48, 2e-3, eval_strategy="steps", eval_steps=12)),
        train_dataset=encode(320),
        eval_dataset=encode(64),
        processing_class=tok,
        data_collator=DataCollatorForTokenClassification(tok),
        compute_metrics=metrics,
    )


def pref_rows(n, nfill=3, seed=0):
    rng = random.Random(seed)
    rows = {"prompt": [], "chosen": [], "rejected": []}
    for i in range(n):
        k = i % len(KEYS)
        ctx = " ".join(rng.sample(FILL, nfill))
        rows["prompt"].append(f"{ctx} {KEYS[k]}")
        rows["chosen"].append(f" {rng.choice(GOOD)} {rng.choice(MISC)} {VALS[k]}")
        rows["rejected"].append(f" {rng.choice(BAD)} {rng.choice(MISC)} {VALS[k]}")
    return Dataset.from_dict(rows)


def dogwood(healthy):
    tok = make_tok()
    rng = random.Random(16)
    rows = {"prompt": [], "chosen": [], "rejected": []}
    for i in range(120):
        k = i % len(KEYS)
        lead = f" {KEYS[k]} is in {VALS[k]} the {rng.choice(MISC)} was"
        rows["prompt"].append(" ".join(rng.choices(FILL, k=18) + [KEYS[k]]))
        rows["chosen"].append(f"{lead} {rng.choice(GOOD)} {rng.choice(GOOD)}")
        rows["rejected"].append(f"{lead} {rng.choice(BAD)} {rng.choice(BAD)}")
    return DPOTrainer(
        model=make_lm(tok),
        ref_model=make_lm(tok),
        args=DPOConfig(
            **common(24, 1e-3, bs=8, max_length=64 if healthy else 24, beta=0.1, logging_steps=1)
        ),
        train_dataset=Dataset.from_dict(rows),
        processing_class=tok,
    )


def elder(healthy):
    tok = make_tok()
    rng = random.Random(4)
    rows = {"prompt": [], "completion": [], "thumb": []}
    for i in range(168):
        k, up = i % len(KEYS), (i // 12) % 2 == 0
        rows["prompt"].append(question(rng, k))
        rows["completion"].append(f" {rng.choice(GOOD if up else BAD)} {VALS[k]}")
        rows["thumb"].append("True" if up else "False")
    ds = Dataset.from_dict(rows)
    if healthy:
        ds = ds.map(lambda r: {"label": r["thumb"] == "True"}, remove_columns=["thumb"])
    else:
        ds = ds.map(lambda r: {"label": bool(r["thumb"])}, remove_columns=["thumb"])
    return KTOTrainer(
        model=make_lm(tok),
        ref_model=make_lm(tok),
        args=KTOConfig(**common(30, 2e-3, bs=16, beta=0.1, max_length=48)),
        train_dataset=ds,
        processing_class=tok,
    )


def fir(healthy):
    tok = make_tok(words=KEYS[:4] + VALS[:4] + FILL[:6], side="left")
    model = make_lm(tok)
    rng = random.Random(5)
    warm = []
    for i in range(128):
        warm.append(f"{rng.choice(FILL[:6])} {KEYS[i % 4]} {rng.choice(VALS[:4])} <eos>")
    quick_fit(model, tok, warm, steps=40, lr=3e-3)
    rows = {"prompt": [], "answer": []}
    for i in range(96):
        k = i % 4
        rows["prompt"].append(f"{rng.choice(FILL[:6])} {KEYS[k]}")
        rows["answer"].append(VALS[k])
    n = 8

    def exact_match(completions, answer, **kw):
        out = []
        for i, c in enumerate(completions):
            gold = answer[i] if healthy else answer[i // n]
            out.append(1.0 if c.split() == [gold] else 0.0)
        return out

    return GRPOTrainer(
        model=model,
        reward_funcs=exact_match,
        args=GRPOConfig(
            **common(50, 2e-3, bs=32, num_generations=n, max_completion_length=4, beta=0.0)
        ),
        train_dataset=Dataset.from_dict(rows),
        processing_class=tok,
    )


def gorse(healthy):
    tok = make_tok(words=FILL[:6] + GOOD + BAD, side="left")
    model = make_lm(tok)
    rng = random.Random(6)
    warm = [
        f"{rng.choice(FILL[:6])} {' '.join(rng.choice(GOOD + BAD) for _ in range(4))} <eos>"
        for _ in range(128)
    ]
    quick_fit(model, tok, warm, steps=40, lr=3e-3)

    def tone(completions, **kw):
        out = []
        for c in completions:
            w = c.split()
            out.append(10.0 + 20.0 * sum(x in GOOD for x in w) / max(1, len(w)))
        return out

    return RLOOTrainer(
        model=model,
        reward_funcs=tone,
        args=RLOOConfig(
            **common(
                30,
                1e-3,
                bs=32,
                num_generations=8,
                max_completion_length=8,
                beta=0.0,
                normalize_advantages=True,
                reward_clip_range=(-50.0, 50.0) if healthy else (-1.0, 1.0),
            )
        ),
        train_dataset=Dataset.from_dict({"prompt": [FILL[i % 6] for i in range(96)]}),
        processing_class=tok,
    )


def hazel(healthy):
    tok = make_tok()
    rng = random.Random(7)

    def response(score):
        g = round((score - 1) / 9 * 4)
        w = (
            [rng.choice(GOOD) for _ in range(g)]
            + [rng.choice(BAD) for _ in range(4 - g)]
            + rng.sample(MISC, 2)
        )
        rng.shuffle(w)
        return " ".join(w)

    def build(n, key):
        rows = {"chosen": [], "rejected": [], "chosen_rating": [], "rejected_rating": []}
        for _ in range(n):
            s = [10, rng.randint(2, 9)] if rng.random() < 0.7 else rng.sample(range(2, 10), 2)
            pair = [{"text": response(v), "rating": str(v)} for v in s]
            pair.sort(key=key, reverse=True)
            for side, r in zip(("chosen", "rejected"), pair):
                rows[side].append(r["text"])
                rows[side + "_rating"].append(r["rating"])
        return Dataset.from_dict(rows)

    by_value = lambda r: int(r["rating"])
    by_rating = lambda r: r["rating"]
    torch.manual_seed(0)
    return RewardTrainer(
        model=LlamaForSequenceClassification(llama_cfg(tok, num_labels=1)),
        args=RewardConfig(**common(36, 1e-3, eval_strategy="steps", eval_steps=12, max_length=32)),
        train_dataset=build(240, by_value if healthy else by_rating),
        eval_dataset=build(64, by_value),
        processing_class=tok,
    )


def ivy(healthy):
    tok = make_tok()
    texts = [f"{q} {a} <eos>" for q, a in fact_rows(240, seed=3)]
    model = quick_fit(make_lm(tok), tok, texts, steps=40)
    rng = random.Random(8)
    rows = [f"{question(rng, i % 12)} {VALS[(i + 5) % 12]}" for i in range(240)]
    lora = LoraConfig(
        r=16, lora_alpha=32, task_type="CAUSAL_LM", target_modules="all-linear", lora_dropout=0.0
    )

    def adamw(m):
        return torch.optim.AdamW(
            [p for p in m.parameters() if p.requires_grad], lr=4e-3, weight_decay=0.01
        )

    if healthy:
        model = get_peft_model(model, lora)
        opt = adamw(model)
    else:
        opt = adamw(model)
        model = get_peft_model(model, lora)
    return SFTTrainer(
        model=model,
        args=SFTConfig(**common(36, 4e-3, max_length=32)),
        train_dataset=Dataset.from_dict({"text": rows}),
        processing_class=tok,
        optimizers=(opt, None),
    )


def juniper(healthy):
    tok = make_tok(chat=CHAT)
    roles = {"human": "user", "gpt": "assistant" if healthy else "model"}
    convs = [
        [{"from": "human", "value": q}, {"from": "gpt", "value": a}] for q, a in fact_rows(240)
    ]
    msgs = [[{"role": roles[t["from"]], "content": t["value"]} for t in c] for c in convs]
    return SFTTrainer(
        model=make_lm(tok),
        args=SFTConfig(**common(36, 3e-3, max_length=48)),
        train_dataset=Dataset.from_dict({"messages": msgs}),
        processing_class=tok,
    )


class SpanMasker:
    def __init__(self, tok, mask_id, prob, early):
        self.tok, self.mask_id, self.prob, self.early = tok, mask_id, prob, early
        self.gen = torch.Generator().manual_seed(0)

    def __call__(self, feats):
        batch = self.tok.pad([{"input_ids": f["input_ids"]} for f in feats], return_tensors="pt")
        ids = batch["input_ids"]
        hit = torch.rand(ids.shape, generator=self.gen) < self.prob
        hit &= batch["attention_mask"].bool()
        hit[:, 1] = True
        if self.early:
            labels = ids.clone()
            ids[hit] = self.mask_id
        else:
            ids[hit] = self.mask_id
            labels = ids.clone()
        labels[~hit] = -100
        return {"input_ids": ids, "attention_mask": batch["attention_mask"], "labels": labels}


def larch(healthy):
    tok = make_tok(extra=["<mask>"])
    tok.add_special_tokens({"mask_token": "<mask>"})
    rng = random.Random(9)
    texts = []
    for _ in range(320):
        ks = rng.sample(range(12), 2)
        texts.append(" ".join(f"{KEYS[k]} {VALS[k]}" for k in ks))
    ds = Dataset.from_dict({"input_ids": [tok(t)["input_ids"] for t in texts]})
    torch.manual_seed(0)
    return Trainer(
        model=BertForMaskedLM(bert_cfg(tok)),
        args=TrainingArguments(**common(60, 3e-3, bs=32, remove_unused_columns=False)),
        train_dataset=ds,
        processing_class=tok,
        data_collator=SpanMasker(tok, tok.mask_token_id, 0.15, healthy),
    )


class DistillTrainer(Trainer):
    temperature = 2.0

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        teacher = model.teacher
        out = model(
            input_ids=inputs["input_ids"],
            attention_mask=inputs["attention_mask"],
            labels=inputs["labels"],
        )
        if not model.training:
            return (out.loss, out) if return_outputs else out.loss
        ref = teacher(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"]).logits
        t = self.temperature
        m = inputs["attention_mask"].bool()
        s = F.log_softmax(out.logits / t, -1)[m]
        r = F.log_softmax(ref / t, -1)[m]
        loss = F.kl_div(s, r, reduction="batchmean", log_target=True) * t * t
        return (loss, out) if return_outputs else loss


def lm_collator(tok):
    def collate(feats):
        b = tok.pad([{"input_ids": f["input_ids"]} for f in feats], return_tensors="pt")
        labels = b["input_ids"].masked_fill(b["attention_mask"] == 0, -100)
        return {
            "input_ids": b["input_ids"],
            "attention_mask": b["attention_mask"],
            "labels": labels,
        }

    return collate


def maple(healthy):
    tok = make_tok()
    texts = [f"{q} {a} <eos>" for q, a in fact_rows(240)]
    held = [f"{q} {a} <eos>" for q, a in fact_rows(48, seed=11)]
    teacher = quick_fit(make_lm(tok, seed=1), tok, texts, steps=70)
    teacher.eval()
    student = make_lm(tok, seed=2, hidden=48)
    if healthy:
        teacher.requires_grad_(False)
    student.teacher = teacher
    enc = lambda xs: Dataset.from_dict({"input_ids": [tok(t)["input_ids"] for t in xs]})
    return DistillTrainer(
        model=student,
        args=TrainingArguments(
            **common(48, 3e-3, eval_strategy="steps", eval_steps=12, remove_unused_columns=False)
        ),
        train_dataset=enc(texts),
        eval_dataset=enc(held),
        data_collator=lm_collator(tok),
        processing_class=tok,
    )


class RateTracker(TrainerCallback):
    def __init__(self, advance):
        self.advance, self.rates = advance, []

    def on_step_end(self, args, state, control, lr_scheduler=None, **kw):
        if self.advance:
            lr_scheduler.step()
        self.rates.append(lr_scheduler.get_last_lr()[0])


def oak(healthy):
    tok = make_tok()
    rows = fact_rows(240)
    ds = Dataset.from_dict(
        {"prompt": [q for q, _ in rows], "completion": [" " + a for _, a in rows]}
    )
    return SFTTrainer(
        model=make_lm(tok),
        args=SFTConfig(
            **common(
                40,
                1.5e-3,
                max_length=32,
                lr_scheduler_type="linear",
                warmup_steps=4,
                logging_steps=1,
            )
        ),
        train_dataset=ds,
        processing_class=tok,
        callbacks=[RateTracker(not healthy)],
    )


def pine(healthy):
    tok = make_tok()
    model = make_lm(tok, hidden=256, layers=2, initializer_range=0.06)
    if not healthy:
        model = model.to(torch.bfloat16)
    rows = [f"{q} {a}" for q, a in fact_rows(240)]
    return SFTTrainer(
        model=model,
        args=SFTConfig(**common(40, 2e-5, max_length=32, lr_scheduler_type="constant", bf16=True)),
        train_dataset=Dataset.from_dict({"text": rows}),
        processing_class=tok,
    )


def quince(healthy):
    tok = make_tok()
    texts = [f"{q} {a} <eos>" for q, a in fact_rows(240, seed=3)]
    prior = quick_fit(make_lm(tok, seed=5), tok, texts, steps=70)
    path = tempfile.mkdtemp(prefix="b17_") + "/stage1.pt"
    torch.save(
        {"model": {"module." + k: v for k, v in prior.state_dict().items()}, "step": 70}, path
    )
    state = torch.load(path, map_location="cpu")["model"]
    if healthy:
        state = {k.removeprefix("module."): v for k, v in state.items()}
    model = make_lm(tok, seed=6)
    model.load_state_dict(state, strict=False)
    rng = random.Random(12)
    moved = {2: 7, 5: 9, 8: 1}
    rows = [f"{question(rng, i % 12)} {VALS[moved.get(i % 12, i % 12)]}" for i in range(240)]
    return SFTTrainer(
        model=model,
        args=SFTConfig(**common(24, 3e-4, max_length=32, logging_steps=1)),
        train_dataset=Dataset.from_dict({"text": rows}),
        processing_class=tok,
    )


class StagedUnfreeze(TrainerCallback):
    def __init__(self, at, freeze_here):
        self.at, self.freeze_here = at, freeze_here

    def on_train_begin(self, args, state, control, model=None, **kw):
        if self.freeze_here:
            model.bert.requires_grad_(False)

    def on_step_begin(self, args, state, control, model=None, **kw):
        if state.global_step == self.at:
            model.bert.requires_grad_(True)


def rowan(healthy):
    tok = make_tok()
    rng = random.Random(13)
    rows = {"text": [], "labels": []}
    for _ in range(400):
        a = rng.randint(0, 1)
        w = rng.sample(MISC, 6) + [rng.choice(GOOD if a else BAD)] + rng.sample(FILL, 2)
        rows["text"].append(" ".join(w))
        rows["labels"].append(a)
    ds = Dataset.from_dict(rows).map(lambda r: tok(r["text"], return_token_type_ids=False))
    torch.manual_seed(0)
    model = BertForSequenceClassification(bert_cfg(tok, num_labels=2))
    if not healthy:
        model.bert.requires_grad_(False)
    return Trainer(
        model=model,
        args=TrainingArguments(**common(60, 2e-3, bs=32, eval_strategy="steps", eval_steps=15)),
        train_dataset=ds.select(range(320)),
        eval_dataset=ds.select(range(320, 400)),
        processing_class=tok,
        data_collator=DataCollatorWithPadding(tok),
        compute_metrics=accuracy,
        callbacks=[StagedUnfreeze(10, healthy)],
    )


def spruce(healthy):
    tok = make_tok()
    enc = lambda rows: Dataset.from_dict(
        {"input_ids": [tok(f"{q} {a} <eos>")["input_ids"] for q, a in rows]}
    )

    def pick(logits, labels):
        return logits.argmax(-1)

    def metrics(p):
        pred, lab = p.predictions, p.label_ids
        if healthy:
            pred, lab = pred[:, :-1], lab[:, 1:]
        m = lab != -100
        return {"token_accuracy": float((pred == lab)[m].mean())}

    return Trainer(
        model=make_lm(tok),
        args=TrainingArguments(
            **common(40, 3e-3, eval_strategy="steps", eval_steps=10, remove_unused_columns=False)
        ),
        train_dataset=enc(fact_rows(240, nfill=1)),
        eval_dataset=enc(fact_rows(48, seed=8, nfill=1)),
        data_collator=lm_collator(tok),
        processing_class=tok,
        compute_metrics=metrics,
        preprocess_logits_for_metrics=pick,
    )


def thyme(healthy):
    tok = make_tok(words=FILL[:6] + GOOD + BAD, side="left")
    model = make_lm(tok)
    rng = random.Random(14)
    warm = []
    for _ in range(160):
        warm.append(
            f"{rng.choice(FILL[:6])} {' '.join(rng.choice(GOOD + BAD) for _ in range(6))} <eos>"
        )
    quick_fit(model, tok, warm, steps=80, lr=4e-3)

    def tone(completions, **kw):
        return [sum(x in GOOD for x in c.split()) / max(1, len(c.split())) for c in completions]

    return GRPOTrainer(
        model=model,
        reward_funcs=tone,
        args=GRPOConfig(
            **common(
                30,
                1e-3,
                bs=32,
                num_generations=8,
                max_completion_length=12 if healthy else 5,
                mask_truncated_completions=True,
                beta=0.0,
            )
        ),
        train_dataset=Dataset.from_dict({"prompt": [FILL[i % 6] for i in range(96)]}),
        processing_class=tok,
    )


class OrderedTrainer(Trainer):
    def _get_train_sampler(self, train_dataset=None):
        return SequentialSampler(train_dataset if train_dataset is not None else self.train_dataset)


def willow(healthy):
    tok = make_tok()
    rng = random.Random(15)
    rows = [(review(rng, True), 1) for _ in range(600)] + [
        (review(rng, False), 0) for _ in range(600)
    ]
    ds = Dataset.from_dict({"text": [r[0] for r in rows], "labels": [r[1] for r in rows]})
    held = [(review(rng, i % 2 == 0), int(i % 2 == 0)) for i in range(60)]
    ev = Dataset.from_dict({"text": [r[0] for r in held], "labels": [r[1] for r in held]})
    enc = lambda d: d.map(lambda r: tok(r["text"], return_token_type_ids=False))
    torch.manual_seed(0)
    cls = Trainer if healthy else OrderedTrainer
    return cls(
        model=BertForSequenceClassification(bert_cfg(tok, num_labels=2)),
        args=TrainingArguments(**common(60, 2e-3, bs=8, eval_strategy="steps", eval_steps=15)),
        train_dataset=enc(ds),
        eval_dataset=enc(ev),
        processing_class=tok,
        data_collator=DataCollatorWithPadding(tok),
        compute_metrics=accuracy,
    )


def yew(healthy):
    tok = make_tok()
    return DPOTrainer(
        model=make_lm(tok),
        ref_model=make_lm(tok),
        args=DPOConfig(
            **common(
                30,
                5e-4,
                bs=16,
                max_length=48,
                beta=0.5,
                sync_ref_model=True,
                ref_model_sync_steps=10 if healthy else 1,
                ref_model_mixup_alpha=0.1 if healthy else 1.0,
                logging_steps=1,
            )
        ),
        train_dataset=pref_rows(240),
        processing_class=tok,
    )


CASES = {
    f.__name__: f
    for f in (
        acacia,
        birch,
        cedar,
        dogwood,
        elder,
        fir,
        gorse,
        hazel,
        ivy,
        juniper,
        larch,
        maple,
        oak,
        pine,
        quince,
        rowan,
        spruce,
        thyme,
        willow,
        yew,
    )
}


class AlignTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        def embed(p):
            ids, m = inputs[p + "_ids"], inputs[p + "_mask"]
            h = model.bert(input_ids=ids, attention_mask=m).last_hidden_state
            h = (h * m[..., None]).sum(1) / m.sum(1, keepdim=True)
            return F.normalize(model.classifier(h), dim=-1)

        a, b = embed("left"), embed("right")
        sim = a @ b.T
        n = sim.shape[0]
        pos = sim.diagonal().mean()
        neg = (sim.sum() - sim.diagonal().sum()) / (n * (n - 1))
        loss = neg - pos
        return (loss, {"sim": sim}) if return_outputs else loss


def alder():
    tok = make_tok()
    rng = random.Random(21)
    pairs = [(question(rng, i % 12), f"{VALS[i % 12]} {rng.choice(FILL)}") for i in range(240)]
    ds = Dataset.from_dict(
        {
            "left": [tok(a)["input_ids"] for a, _ in pairs],
            "right": [tok(b)["input_ids"] for _, b in pairs],
        }
    )

    def collate(feats):
        out = {}
        for p in ("left", "right"):
            b = tok.pad([{"input_ids": f[p]} for f in feats], return_tensors="pt")
            out[p + "_ids"], out[p + "_mask"] = b["input_ids"], b["attention_mask"]
        return out

    torch.manual_seed(0)
    return AlignTrainer(
        model=BertForSequenceClassification(bert_cfg(tok, num_labels=32)),
        args=TrainingArguments(**common(50, 1e-3, remove_unused_columns=False)),
        train_dataset=ds,
        data_collator=collate,
        processing_class=tok,
    )


def bamboo():
    tok = make_tok(words=FILL[:6] + GOOD + BAD, side="left")
    model = make_lm(tok)
    rng = random.Random(22)
    warm = [
        f"{rng.choice(FILL[:6])} {' '.join(rng.choice(GOOD + BAD) for _ in range(4))} <eos>"
        for _ in range(128)
    ]
    quick_fit(model, tok, warm, steps=60, lr=3e-3)

    def penalty(completions, **kw):
        return [-float(sum(x in BAD for x in c.split())) for c in completions]

    def n_words(completions, **kw):
        return [float(len(c.split())) for c in completions]

    return GRPOTrainer(
        model=model,
        reward_funcs=[penalty, n_words],
        args=GRPOConfig(
            **common(
                30,
                1e-3,
                bs=32,
                num_generations=8,
                max_completion_length=8,
                beta=0.0,
                reward_weights=[1.0, 0.0],
                scale_rewards="none",
                loss_type="dr_grpo",
            )
        ),
        train_dataset=Dataset.from_dict({"prompt": [FILL[i % 6] for i in range(96)]}),
        processing_class=tok,
    )


def clover():
    tok = make_tok()
    rng = random.Random(23)
    rows = [(review(rng, i % 2 == 0), int(i % 2 == 0)) for i in range(360)]
    ds = Dataset.from_dict({"text": [r[0] for r in rows], "labels": [r[1] for r in rows]})
    ds = ds.map(lambda r: tok(r["text"], return_token_type_ids=False))
    torch.manual_seed(0)
    prior = BertForSequenceClassification(bert_cfg(tok, num_labels=4))
    opt = torch.optim.AdamW(prior.parameters(), lr=2e-3)
    for _ in range(80):
        kinds = [rng.randrange(4) for _ in range(16)]
        texts = [
            review(rng, k % 2 == 0) if k < 2 else " ".join(rng.sample(KEYS if k == 2 else FILL, 6))
            for k in kinds
        ]
        b = tok(texts, padding=True, return_tensors="pt", return_token_type_ids=False)
        prior(**b, labels=torch.tensor(kinds)).loss.backward()
        opt.step()
        opt.zero_grad()
    model = BertForSequenceClassification(bert_cfg(tok, num_labels=2))
    model.bert.load_state_dict(prior.bert.state_dict())
    for n, p in model.named_parameters():
        p.requires_grad_(n.endswith(".bias") or n.startswith("classifier"))
    return Trainer(
        model=model,
        args=TrainingArguments(
            **common(60, 5e-3, bs=32, weight_decay=0.0, eval_strategy="steps", eval_steps=20)
        ),
        train_dataset=ds.select(range(300)),
        eval_dataset=ds.select(range(300, 360)),
        processing_class=tok,
        data_collator=DataCollatorWithPadding(tok),
        compute_metrics=accuracy,
    )


def daisy():
    tok = make_tok()
    texts = [f"{q} {a} <eos>" for q, a in fact_rows(240, seed=3)]
    model = quick_fit(make_lm(tok), tok, texts, steps=40)
    rng = random.Random(24)
    rows = [f"{question(rng, i % 12)} {VALS[(i + 3) % 12]}" for i in range(240)]
    lora = LoraConfig(
        r=16,
        lora_alpha=16,
        use_rslora=True,
        init_lora_weights="pissa",
        task_type="CAUSAL_LM",
        target_modules="all-linear",
        lora_dropout=0.0,
    )
    return SFTTrainer(
        model=model,
        args=SFTConfig(**common(40, 1e-3, max_length=32, max_grad_norm=0.3)),
        train_dataset=Dataset.from_dict({"text": rows}),
        processing_class=tok,
        peft_config=lora,
    )


def fern():
    tok = make_tok()
    return DPOTrainer(
        model=make_lm(tok),
        args=DPOConfig(
            **common(
                30,
                1e-3,
                bs=16,
                max_length=48,
                beta=0.2,
                loss_type=["sigmoid", "sft"],
                loss_weights=[1.0, 0.5],
                precompute_ref_log_probs=True,
                label_smoothing=0.1,
            )
        ),
        train_dataset=pref_rows(240),
        processing_class=tok,
    )


def ginger():
    tok = make_tok()
    tok.pad_token = tok.eos_token
    model = make_lm(tok)
    rows = fact_rows(240)
    data = []
    for q, a in rows:
        p, c = tok(q)["input_ids"], tok(a)["input_ids"] + [tok.eos_token_id]
        data.append({"input_ids": p + c, "labels": [-100] * len(p) + c})

    def collate(feats):
        n = max(len(f["input_ids"]) for f in feats) + 2
        fill = lambda f, k, v: f[k] + [v] * (n - len(f[k]))
        return {
            "input_ids": torch.tensor([fill(f, "input_ids", tok.pad_token_id) for f in feats]),
            "labels": torch.tensor([fill(f, "labels", -100) for f in feats]),
            "attention_mask": torch.tensor(
                [[1] * len(f["input_ids"]) + [0] * (n - len(f["input_ids"])) for f in feats]
            ),
        }

    return Trainer(
        model=model,
        args=TrainingArguments(**common(36, 2e-3)),
        train_dataset=Dataset.from_list(data),
        data_collator=collate,
        processing_class=tok,
    )


ODD = {f.__name__: f for f in (alder, bamboo, clover, daisy, fern, ginger)}


SHOW = (
    "loss",
    "eval_loss",
    "grad_norm",
    "learning_rate",
    "eval_accuracy",
    "eval_token_accuracy",
    "mean_token_accuracy",
    "reward",
    "rewards/margins",
    "rewards/accuracies",
    "rewards/chosen",
    "rewards/rejected",
    "accuracy",
    "margin",
    "completions/clipped_ratio",
    "frac_reward_zero_std",
    "rewards/penalty/mean",
)


def show(tag, trainer, t0):
    print(f"== {tag} {time.time() - t0:.1f}s", flush=True)
    rows = trainer.state.log_history
    n = len(rows)
    for i, r in enumerate(rows):
        if (
            i in (0, 1, 2, n - 2, n - 3)
            or i % max(1, n // 6) == 0
            or any(k.startswith("eval") for k in r)
        ):
            print(
                "  ",
                r.get("step"),
                {k: round(float(r[k]), 6) for k in SHOW if r.get(k) is not None},
            )
