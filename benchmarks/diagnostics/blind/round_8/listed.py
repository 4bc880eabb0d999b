"""Small training runs: each entry of CASES builds a ready Trainer."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import copy
import random
import tempfile

import numpy as np
import torch
import torch.nn.functional as F
from datasets import Dataset, IterableDataset
from peft import LoraConfig, TaskType, get_peft_model
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    BertConfig,
    BertForMaskedLM,
    BertForSequenceClassification,
    BertForTokenClassification,
    DataCollatorForLanguageModeling,
    DataCollatorForSeq2Seq,
    DataCollatorForTokenClassification,
    DataCollatorWithPadding,
    LlamaConfig,
    LlamaForCausalLM,
    LlamaForSequenceClassification,
    PreTrainedTokenizerFast,
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

CASES, ODD = {}, {}


def case(fn):
    CASES[fn.__name__] = fn
    return fn


def odd(fn):
    ODD[fn.__name__] = fn
    return fn


# ---------------------------------------------------------------- shared parts
FRUIT = "apple pear plum cherry grape lemon melon peach fig mango".split()
TOOLS = "hammer saw drill wrench pliers chisel file clamp level rasp".split()
BIRDS = "robin wren crow finch heron eagle stork gull swan owl".split()
CLOTH = "shirt coat scarf glove sock jacket boot hat belt skirt".split()
GROUPS = {"fruit": FRUIT, "tool": TOOLS, "bird": BIRDS, "cloth": CLOTH}
FILLER = "the a some old new my our near very small big with and then here there".split()
ASK = "what kind is it ? answer : name describe please say".split()
WORDS = sorted({w for g in GROUPS.values() for w in g} | set(GROUPS) | set(FILLER) | set(ASK))


def out():
    return tempfile.mkdtemp(prefix="run_")


def make_tok(words=WORDS, pad="<pad>", eos="</s>", bert=False, extra=()):
    special = (
        ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
        if bert
        else ["<pad>", "<unk>", "<s>", "</s>"]
    )
    vocab = {w: i for i, w in enumerate(list(special) + list(extra) + list(words))}
    t = Tokenizer(models.WordLevel(vocab, unk_token=special[1]))
    t.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    if bert:
        t.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]",
            pair="[CLS] $A [SEP] $B:1 [SEP]:1",
            special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
        )
        return PreTrainedTokenizerFast(
            tokenizer_object=t,
            pad_token="[PAD]",
            unk_token="[UNK]",
            cls_token="[CLS]",
            sep_token="[SEP]",
            mask_token="[MASK]",
        )
    return PreTrainedTokenizerFast(
        tokenizer_object=t, pad_token=pad, unk_token="<unk>", bos_token="<s>", eos_token=eos
    )


def llama_cfg(tok, **kw):
    base = dict(
        vocab_size=len(tok),
        hidden_size=48,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=128,
        pad_token_id=tok.pad_token_id,
        bos_token_id=tok.bos_token_id,
        eos_token_id=tok.eos_token_id,
    )
    base.update(kw)
    return LlamaConfig(**base)


def bert_cfg(tok, **kw):
    base = dict(
        vocab_size=len(tok),
        hidden_size=48,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=64,
        pad_token_id=tok.pad_token_id,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        initializer_range=0.08,
    )
    base.update(kw)
    return BertConfig(**base)


def scene(rng, n=6, nouns=3):
    """A few filler words around nouns of one group; returns text and the group."""
    kind = rng.choice(sorted(GROUPS))
    words = [rng.choice(FILLER) for _ in range(n)]
    for at in rng.sample(range(n), min(nouns, n)):
        words[at] = rng.choice(GROUPS[kind])
    return " ".join(words), kind


def scenes(n, seed, length=6):
    rng = random.Random(seed)
    return [scene(rng, length) for _ in range(n)]


def accuracy(p):
    return {"accuracy": float((np.argmax(p.predictions, -1) == p.label_ids).mean())}


def args(**kw):
    base = dict(
        output_dir=out(),
        per_device_train_batch_size=16,
        max_steps=60,
        learning_rate=3e-3,
        logging_steps=5,
        report_to=[],
        use_cpu=True,
        save_strategy="no",
        seed=7,
        disable_tqdm=True,
    )
    base.update(kw)
    return base


# ---------------------------------------------------------------- cases
@case
def scene_topics(healthy):
    set_seed(1)
    tok = make_tok(bert=True)
    names = sorted(GROUPS)

    def prep(rows):
        ds = Dataset.from_dict(
            {"text": [t for t, _ in rows], "labels": [names.index(k) for _, k in rows]}
        )
        return ds.map(lambda b: tok(b["text"]), batched=True, remove_columns=["text"])

    model = BertForSequenceClassification(bert_cfg(tok, num_labels=len(names)))
    cfg = TrainingArguments(
        **args(
            warmup_steps=6 if healthy else 600,
            learning_rate=2e-3,
            eval_strategy="steps",
            eval_steps=30,
        )
    )
    return Trainer(
        model=model,
        args=cfg,
        train_dataset=prep(scenes(600, 2)),
        eval_dataset=prep(scenes(100, 3)),
        data_collator=DataCollatorWithPadding(tok),
        compute_metrics=accuracy,
    )


@case
def answer_preferences(healthy):
    """Rows carry overall_preference from -3 (response_1 much better) to 3 (response_2 much better)."""
    set_seed(2)
    tok = make_tok()
    rng = random.Random(4)
    raw = []
    for text, kind in scenes(400, 5, 4):
        wrong = rng.choice([k for k in GROUPS if k != kind])
        first_good = rng.random() < 0.5
        a, b = (kind, wrong) if first_good else (wrong, kind)
        raw.append(
            {
                "context": text,
                "response_1": a,
                "response_2": b,
                "overall_preference": rng.randint(1, 3) * (-1 if first_good else 1),
            }
        )

    def to_pair(row):
        one_wins = row["overall_preference"] < 0 if healthy else row["overall_preference"] > 0
        win, lose = ("response_1", "response_2") if one_wins else ("response_2", "response_1")
        return {
            "prompt": row["context"] + " what kind is it ?",
            "chosen": " " + row[win],
            "rejected": " " + row[lose],
        }

    ds = Dataset.from_list(raw)
    ds = ds.map(to_pair, remove_columns=ds.column_names)
    model = LlamaForCausalLM(llama_cfg(tok))
    cfg = DPOConfig(
        **args(
            max_steps=80,
            learning_rate=2e-3,
            beta=0.1,
            max_length=32,
            per_device_train_batch_size=16,
        )
    )
    return DPOTrainer(
        model=model,
        ref_model=copy.deepcopy(model),
        args=cfg,
        train_dataset=ds,
        processing_class=tok,
    )


@case
def pick_one(healthy):
    set_seed(3)
    tok = make_tok(words=WORDS + ["or"])
    rng = random.Random(6)
    rows = []
    for _ in range(128):
        kind = rng.choice(["fruit", "bird"])
        noun = rng.choice(GROUPS[kind])
        rows.append({"prompt": f"fruit or bird ? {noun} answer :", "answer": kind})

    if healthy:

        def found_answer(prompts, completions, answer, **kwargs):
            return [1.0 if a in t.split() else 0.0 for t, a in zip(completions, answer)]
    else:

        def found_answer(prompts, completions, answer, **kwargs):
            texts = [p + " " + c for p, c in zip(prompts, completions)]
            return [1.0 if a in t.split() else 0.0 for t, a in zip(texts, answer)]

    model = LlamaForCausalLM(llama_cfg(tok))
    cfg = GRPOConfig(
        **args(
            max_steps=60,
            learning_rate=5e-3,
            per_device_train_batch_size=32,
            num_generations=8,
            max_completion_length=3,
            temperature=1.0,
            beta=0.0,
        )
    )
    return GRPOTrainer(
        model=model,
        args=cfg,
        reward_funcs=found_answer,
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
    )


@case
def kind_sft(healthy):
    set_seed(4)
    tok = make_tok()

    def prep(rows):
        return Dataset.from_list(
            [{"prompt": t + " what kind is it ?", "completion": " " + k} for t, k in rows]
        )

    rows = scenes(800, 7)
    train_rows = rows[:700] if healthy else rows[:8]
    model = LlamaForCausalLM(llama_cfg(tok))
    cfg = SFTConfig(**args(max_steps=60, max_length=32, eval_strategy="steps", eval_steps=20))
    return SFTTrainer(
        model=model,
        args=cfg,
        train_dataset=prep(train_rows),
        eval_dataset=prep(rows[700:]),
        processing_class=tok,
    )


@case
def kind_encoded(healthy):
    set_seed(5)
    tok = make_tok()

    def encode(row):
        p = tok(row["q"] + " what kind is it ?")["input_ids"]
        c = tok(row["a"])["input_ids"] + [tok.eos_token_id]
        keep = [0] * len(p) + [1] * len(c)
        ids = p + c
        labels = [t if bool(k) == healthy else -100 for t, k in zip(ids, keep)]
        return {"input_ids": ids, "attention_mask": [1] * len(ids), "labels": labels}

    ds = Dataset.from_list([{"q": t, "a": k} for t, k in scenes(600, 8)]).map(
        encode, remove_columns=["q", "a"]
    )
    model = LlamaForCausalLM(llama_cfg(tok))
    cfg = TrainingArguments(**args(max_steps=60))
    return Trainer(
        model=model, args=cfg, train_dataset=ds, data_collator=DataCollatorForSeq2Seq(tok)
    )


@case
def alphabet_lm(healthy):
    """Sequences that count through a fixed ring of words from a random start, in steps of 1 or 2."""
    set_seed(6)
    ring = FRUIT + TOOLS
    tok = make_tok(words=ring)
    rng = random.Random(9)
    rows = []
    for _ in range(400):
        at, n = rng.randrange(len(ring)), rng.randint(8, 14)
        seq = []
        for _ in range(n):
            seq.append(ring[at % len(ring)])
            at += rng.choice([1, 2])
        rows.append({"text": " ".join(seq) + "</s>"})
    ds = Dataset.from_list(rows).map(lambda r: tok(r["text"]), remove_columns=["text"])
    ds = ds.remove_columns([c for c in ds.column_names if c not in ("input_ids", "attention_mask")])

    if healthy:

        def collate(features):
            batch = tok.pad(features, return_tensors="pt")
            batch["labels"] = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
            return batch
    else:

        def collate(features):
            batch = tok.pad(features, return_tensors="pt")
            ids = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
            end = torch.full_like(ids[:, :1], -100)
            batch["labels"] = torch.cat([ids[:, 1:], end], dim=1)
            return batch

    model = LlamaForCausalLM(llama_cfg(tok))
    cfg = TrainingArguments(**args(max_steps=60))
    return Trainer(model=model, args=cfg, train_dataset=ds, data_collator=collate)


@case
def lookup_sft(healthy):
    set_seed(7)
    rng = random.Random(10)
    keys = FRUIT + TOOLS + BIRDS + CLOTH
    colour = "red blue green white black pink grey gold".split()
    tok = make_tok(words=WORDS + colour + ["colour", "of"])
    table = {k: rng.choice(colour) for k in keys}
    rows = [
        {"prompt": f"colour of {rng.choice(FILLER)} {k} ?", "completion": " " + c}
        for k, c in table.items()
        for _ in range(10)
    ]
    model = LlamaForCausalLM(llama_cfg(tok))
    cfg = SFTConfig(**args(max_steps=60, max_length=32, learning_rate=3e-3 if healthy else 0.5))
    return SFTTrainer(
        model=model, args=cfg, train_dataset=Dataset.from_list(rows), processing_class=tok
    )


@case
def name_tagging(healthy):
    """Tag names of people (1) and places (2) in short sentences; names may be split into pieces."""
    set_seed(8)
    firsts = ["jo", "an", "pe", "li", "ma", "ka"]
    people, places = ["nna", "ter", "sa"], ["ville", "burg", "ton"]
    pieces = firsts + ["##" + x for x in people + places] + FILLER
    vocab = {w: i for i, w in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + pieces)}
    t = Tokenizer(models.WordPiece(vocab, unk_token="[UNK]"))
    t.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    t.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tok = PreTrainedTokenizerFast(
        tokenizer_object=t,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
    )
    rng = random.Random(11)

    def sentence():
        words, tags = [], []
        for _ in range(rng.randint(6, 10)):
            r = rng.random()
            tags.append(1 if r < 0.25 else 2 if r < 0.5 else 0)
            words.append(
                rng.choice(FILLER)
                if r >= 0.5
                else rng.choice(firsts) + rng.choice(people if r < 0.25 else places)
            )
        return {"words": words, "tags": tags}

    def encode(row):
        enc = tok(row["words"], is_split_into_words=True)
        n = len(enc["input_ids"])
        if healthy:
            labels = [-100 if w is None else row["tags"][w] for w in enc.word_ids()]
        else:
            labels = [-100] + row["tags"][: n - 2]
            labels += [-100] * (n - len(labels))
        return {
            "input_ids": enc["input_ids"],
            "attention_mask": enc["attention_mask"],
            "labels": labels,
        }

    def tag_accuracy(p):
        keep = p.label_ids != -100
        return {"accuracy": float((p.predictions.argmax(-1) == p.label_ids)[keep].mean())}

    ds = Dataset.from_list([sentence() for _ in range(500)]).map(
        encode, remove_columns=["words", "tags"]
    )
    model = BertForTokenClassification(bert_cfg(tok, num_labels=3))
    cfg = TrainingArguments(**args(max_steps=60, eval_strategy="steps", eval_steps=30))
    return Trainer(
        model=model,
        args=cfg,
        train_dataset=ds.select(range(400)),
        eval_dataset=ds.select(range(400, 500)),
        data_collator=DataCollatorForTokenClassification(tok),
        compute_metrics=tag_accuracy,
    )


@case
def context_answer(healthy):
    set_seed(9)
    tok = make_tok()
    limit = 32

    def encode(row):
        p = tok(row["q"] + " what kind is it ?")["input_ids"]
        c = tok(row["a"])["input_ids"] + [tok.eos_token_id]
        if healthy:
            p = p[-(limit - len(c)) :]
        ids = (p + c)[:limit]
        labels = ([-100] * len(p) + c)[:limit]
        return {"input_ids": ids, "attention_mask": [1] * len(ids), "labels": labels}

    rng = random.Random(12)
    rows = []
    for i in range(600):
        text, kind = scene(rng, 8)
        pad = " ".join(rng.choice(FILLER) for _ in range(rng.choice([0] + list(range(25, 61, 3)))))
        rows.append({"q": (pad + " " + text).strip(), "a": kind})
    ds = Dataset.from_list(rows).map(encode, remove_columns=["q", "a"])
    model = LlamaForCausalLM(llama_cfg(tok))
    cfg = TrainingArguments(**args(max_steps=70, learning_rate=5e-3, per_device_train_batch_size=8))
    return Trainer(
        model=model, args=cfg, train_dataset=ds, data_collator=DataCollatorForSeq2Seq(tok)
    )


@case
def thumbs_feedback(healthy):
    set_seed(10)
    tok = make_tok()
    rng = random.Random(13)
    lines = ["prompt,completion,label"]
    for text, kind in scenes(400, 14, 3):
        good = rng.random() < 0.3
        word = kind if good else rng.choice([k for k in GROUPS if k != kind])
        lines.append(f"{text} what kind is it ?, {word},{good}")
    head = lines[0].split(",")
    ds = Dataset.from_list([dict(zip(head, line.split(","))) for line in lines[1:]])
    flags = [v == "True" if healthy else bool(v) for v in ds["label"]]
    ds = ds.remove_columns("label").add_column("label", flags)
    model = LlamaForCausalLM(llama_cfg(tok))
    cfg = KTOConfig(
        **args(max_steps=80, learning_rate=3e-3, beta=0.3, undesirable_weight=0.45, max_length=32)
    )
    return KTOTrainer(
        model=model,
        ref_model=copy.deepcopy(model),
        args=cfg,
        train_dataset=ds,
        processing_class=tok,
    )


@case
def batched_topics(healthy):
    set_seed(11)
    tok = make_tok(bert=True)
    names = sorted(GROUPS)

    def split(n, seed):
        rng = random.Random(seed)
        rows = [scene(rng, rng.randint(4, 12)) for _ in range(n)]
        if healthy:
            rows.sort(key=lambda r: len(r[0].split()))
        texts, labels = [t for t, _ in rows], [names.index(k) for _, k in rows]
        if not healthy:
            texts.sort(key=lambda t: len(t.split()))
        enc = tok(texts)
        return Dataset.from_dict(
            {
                "input_ids": enc["input_ids"],
                "attention_mask": enc["attention_mask"],
                "labels": labels,
            }
        )

    model = BertForSequenceClassification(bert_cfg(tok, num_labels=4))
    cfg = TrainingArguments(**args(max_steps=80, eval_strategy="steps", eval_steps=40))
    return Trainer(
        model=model,
        args=cfg,
        train_dataset=split(600, 15),
        eval_dataset=split(100, 16),
        data_collator=DataCollatorWithPadding(tok),
        compute_metrics=accuracy,
    )


@case
def kept_topic_model(healthy):
    set_seed(12)
    tok = make_tok(bert=True)
    names = sorted(GROUPS)

    def prep(rows):
        enc = tok([t for t, _ in rows])
        return Dataset.from_dict(
            {
                "input_ids": enc["input_ids"],
                "attention_mask": enc["attention_mask"],
                "labels": [names.index(k) for _, k in rows],
            }
        )

    model = BertForSequenceClassification(bert_cfg(tok, num_labels=4))
    cfg = TrainingArguments(
        **args(
            max_steps=60,
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
        model=model,
        args=cfg,
        train_dataset=prep(scenes(600, 17)),
        eval_dataset=prep(scenes(120, 18)),
        data_collator=DataCollatorWithPadding(tok),
        compute_metrics=accuracy,
    )


@case
def topic_splits(healthy):
    set_seed(13)
    tok = make_tok(bert=True)

    def prep(rows):
        kinds = [k for _, k in rows]
        names = sorted(set(kinds)) if healthy else list(dict.fromkeys(kinds))
        enc = tok([t for t, _ in rows])
        return Dataset.from_dict(
            {
                "input_ids": enc["input_ids"],
                "attention_mask": enc["attention_mask"],
                "labels": [names.index(k) for k in kinds],
            }
        )

    model = BertForSequenceClassification(bert_cfg(tok, num_labels=4))
    cfg = TrainingArguments(**args(max_steps=60, eval_strategy="steps", eval_steps=20))
    return Trainer(
        model=model,
        args=cfg,
        train_dataset=prep(scenes(600, 19)),
        eval_dataset=prep(scenes(120, 23)),
        data_collator=DataCollatorWithPadding(tok),
        compute_metrics=accuracy,
    )


@case
def named_answers(healthy):
    set_seed(14)
    tok = make_tok()
    rng = random.Random(20)
    rows = []
    for _ in range(128):
        kind = rng.choice(["fruit", "bird", "tool"])
        rows.append({"prompt": f"{rng.choice(GROUPS[kind])} what kind is it ?", "answer": kind})

    def right(completions, answer, **kwargs):
        return [1.0 if a in c.split() else 0.0 for c, a in zip(completions, answer)]

    def brief(completion_ids, **kwargs):
        return [1.0 - len(c) / 4 for c in completion_ids]

    model = LlamaForCausalLM(llama_cfg(tok))
    cfg = RLOOConfig(
        **args(
            max_steps=60,
            learning_rate=5e-3,
            per_device_train_batch_size=32,
            num_generations=8,
            max_completion_length=4,
            beta=0.0,
            reward_weights=[1.0, 0.05] if healthy else [0.05, 1.0],
        )
    )
    return RLOOTrainer(
        model=model,
        args=cfg,
        reward_funcs=[right, brief],
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
    )


@case
def small_student(healthy):
    set_seed(15)
    tok = make_tok()

    def prep(rows):
        ids = [tok(f"{t} what kind is it ? {k}</s>")["input_ids"] for t, k in rows]
        return Dataset.from_dict(
            {
                "input_ids": ids,
                "attention_mask": [[1] * len(i) for i in ids],
                "labels": [[-100] * (len(i) - 2) + i[-2:] for i in ids],
            }
        )

    train = prep(scenes(600, 21))
    teacher = LlamaForCausalLM(llama_cfg(tok))
    opt = torch.optim.AdamW(teacher.parameters(), lr=4e-3)
    for i in range(70):
        ids = torch.tensor(train[(i * 16) % 592 : (i * 16) % 592 + 16]["input_ids"])
        loss = teacher(input_ids=ids, labels=ids).loss
        loss.backward()
        opt.step()
        opt.zero_grad()
    teacher.eval().requires_grad_(False)
    axis = -1 if healthy else 1

    class KDTrainer(Trainer):
        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
            inputs = dict(inputs)
            labels = inputs.pop("labels")
            if not model.training:
                out = model(**inputs, labels=labels)
                return (out.loss, out) if return_outputs else out.loss
            out = model(**inputs)
            with torch.no_grad():
                soft = F.softmax(teacher(**inputs).logits / 2.0, dim=axis)
            logp = F.log_softmax(out.logits / 2.0, dim=axis)
            loss = F.kl_div(logp, soft, reduction="batchmean") * 4.0 / logp.shape[1]
            return (loss, out) if return_outputs else loss

    model = LlamaForCausalLM(
        llama_cfg(tok, hidden_size=32, intermediate_size=64, num_hidden_layers=1)
    )
    cfg = TrainingArguments(
        **args(max_steps=80, learning_rate=5e-3, eval_strategy="steps", eval_steps=20)
    )
    return KDTrainer(
        model=model,
        args=cfg,
        train_dataset=train,
        eval_dataset=prep(scenes(100, 22)),
        data_collator=DataCollatorForSeq2Seq(tok),
    )


@case
def counting_lm(healthy):
    """Countdown sequences that end after 'one'."""
    set_seed(16)
    nums = "twelve eleven ten nine eight seven six five four three two one".split()
    tok = make_tok(words=nums)
    if not healthy:
        tok.pad_token = tok.eos_token
    rng = random.Random(24)
    ids = []
    for _ in range(400):
        start = rng.randrange(len(nums) - 2)
        ids.append(tok(" ".join(nums[start:]))["input_ids"] + [tok.eos_token_id])
    ds = Dataset.from_dict({"input_ids": ids, "attention_mask": [[1] * len(i) for i in ids]})
    model = LlamaForCausalLM(llama_cfg(tok))
    cfg = TrainingArguments(**args(max_steps=50))
    return Trainer(
        model=model,
        args=cfg,
        train_dataset=ds,
        processing_class=tok,
        data_collator=DataCollatorForLanguageModeling(tok, mlm=False),
    )


@case
def steady_finetune(healthy):
    set_seed(17)
    tok = make_tok()

    def prep(rows):
        return Dataset.from_list(
            [{"prompt": t + " what kind is it ?", "completion": " " + k} for t, k in rows]
        )

    model = LlamaForCausalLM(
        llama_cfg(tok, hidden_size=64, intermediate_size=128, initializer_range=0.2)
    )
    model = model.to(torch.float32 if healthy else torch.bfloat16)
    cfg = SFTConfig(
        **args(
            max_steps=80,
            learning_rate=2e-4,
            weight_decay=0.0,
            lr_scheduler_type="constant",
            bf16=False,
            max_length=32,
            eval_strategy="steps",
            eval_steps=40,
        )
    )
    return SFTTrainer(
        model=model,
        args=cfg,
        train_dataset=prep(scenes(600, 25)),
        eval_dataset=prep(scenes(100, 26)),
        processing_class=tok,
    )


@case
def essay_scores(healthy):
    """Score = share of fruit words in the text."""
    set_seed(18)
    tok = make_tok(bert=True)

    def prep(n, seed):
        rng = random.Random(seed)
        texts, scores = [], []
        for _ in range(n):
            k = rng.randint(0, 8)
            words = [rng.choice(FRUIT) for _ in range(k)] + [
                rng.choice(FILLER) for _ in range(8 - k)
            ]
            rng.shuffle(words)
            texts.append(" ".join(words))
            scores.append(k / 8)
        enc = tok(texts)
        return Dataset.from_dict(
            {
                "input_ids": enc["input_ids"],
                "attention_mask": enc["attention_mask"],
                "labels": scores,
            }
        )

    def score_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs.pop("labels").float()
        out = model(**inputs)
        loss = F.mse_loss(out.logits.squeeze(-1), labels)
        return (loss, out) if return_outputs else loss

    def value_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs.pop("labels").float()
        out = model(**inputs)
        loss = F.mse_loss(out.logits, labels)
        return (loss, out) if return_outputs else loss

    class ScoreTrainer(Trainer):
        compute_loss = score_loss if healthy else value_loss

    def mae(p):
        return {"mae": float(np.abs(p.predictions.reshape(-1) - p.label_ids).mean())}

    model = BertForSequenceClassification(bert_cfg(tok, num_labels=1))
    cfg = TrainingArguments(
        **args(
            max_steps=80,
            learning_rate=2e-3,
            eval_strategy="steps",
            eval_steps=40,
            label_names=["labels"],
        )
    )
    return ScoreTrainer(
        model=model,
        args=cfg,
        train_dataset=prep(500, 27),
        eval_dataset=prep(100, 28),
        data_collator=DataCollatorWithPadding(tok),
        compute_metrics=mae,
    )


@case
def adapter_facts(healthy):
    set_seed(19)
    tok = make_tok()

    def prep(rows):
        return Dataset.from_list(
            [{"prompt": t + " what kind is it ?", "completion": " " + k} for t, k in rows]
        )

    base = LlamaForCausalLM(llama_cfg(tok, initializer_range=0.1))
    model = get_peft_model(
        base,
        LoraConfig(r=8, lora_alpha=16, target_modules="all-linear", task_type=TaskType.CAUSAL_LM),
    )
    start = "lora_B" if healthy else "lora_"
    with torch.no_grad():
        for name, p in model.named_parameters():
            if start in name:
                p.zero_()
    cfg = SFTConfig(
        **args(
            max_steps=70,
            learning_rate=1e-2,
            max_length=32,
            eval_strategy="steps",
            eval_steps=35,
            gradient_checkpointing=False,
        )
    )
    return SFTTrainer(
        model=model,
        args=cfg,
        train_dataset=prep(scenes(600, 29)),
        eval_dataset=prep(scenes(100, 30)),
        processing_class=tok,
    )


@case
def masked_rows(healthy):
    """Masked-LM on log-like rows that repeat a noun and its kind."""
    set_seed(20)
    tok = make_tok(bert=True)
    rng = random.Random(31)
    ids = []
    for _ in range(500):
        kind = rng.choice(sorted(GROUPS))
        ids.append(tok(" ".join([rng.choice(GROUPS[kind]), kind] * rng.randint(3, 5)))["input_ids"])
    ds = Dataset.from_dict({"input_ids": ids, "attention_mask": [[1] * len(i) for i in ids]})

    if healthy:

        def mask_words(features):
            batch = tok.pad(features, return_tensors="pt")
            ids = batch["input_ids"]
            pick = (torch.rand(ids.shape) < 0.2) & (ids > tok.mask_token_id)
            labels = ids.clone()
            ids[pick] = tok.mask_token_id
            labels[~pick] = -100
            batch["labels"] = labels
            return batch
    else:

        def mask_words(features):
            batch = tok.pad(features, return_tensors="pt")
            ids = batch["input_ids"]
            pick = (torch.rand(ids.shape) < 0.2) & (ids > tok.mask_token_id)
            ids[pick] = tok.mask_token_id
            batch["labels"] = ids.masked_fill(~pick, -100)
            return batch

    model = BertForMaskedLM(bert_cfg(tok))
    cfg = TrainingArguments(
        **args(max_steps=80, learning_rate=5e-3, per_device_train_batch_size=32)
    )
    return Trainer(model=model, args=cfg, train_dataset=ds, data_collator=mask_words)


@case
def kind_names_seq2seq(healthy):
    """Text in, a three word answer out."""
    set_seed(21)
    tok = make_tok()
    cfg_model = BartConfig(
        vocab_size=len(tok),
        d_model=48,
        encoder_layers=1,
        decoder_layers=1,
        encoder_ffn_dim=96,
        decoder_ffn_dim=96,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        dropout=0.0,
        max_position_embeddings=64,
        pad_token_id=tok.pad_token_id,
        bos_token_id=tok.bos_token_id,
        eos_token_id=tok.eos_token_id,
        decoder_start_token_id=tok.eos_token_id,
        forced_eos_token_id=None,
        init_std=0.08,
    )
    model = BartForConditionalGeneration(cfg_model)

    if healthy:

        def collate(features):
            batch = tok.pad(
                [{k: f[k] for k in ("input_ids", "attention_mask")} for f in features],
                return_tensors="pt",
            )
            ans = tok.pad([{"input_ids": f["labels"]} for f in features], return_tensors="pt")[
                "input_ids"
            ]
            batch["labels"] = ans.masked_fill(ans == tok.pad_token_id, -100)
            batch["decoder_input_ids"] = model.prepare_decoder_input_ids_from_labels(
                batch["labels"]
            )
            return batch
    else:

        def collate(features):
            batch = tok.pad(
                [{k: f[k] for k in ("input_ids", "attention_mask")} for f in features],
                return_tensors="pt",
            )
            ans = tok.pad([{"input_ids": f["labels"]} for f in features], return_tensors="pt")[
                "input_ids"
            ]
            batch["labels"] = ans.masked_fill(ans == tok.pad_token_id, -100)
            batch["decoder_input_ids"] = ans
            return batch

    rows = scenes(600, 32)
    enc = tok([t for t, _ in rows])
    ds = Dataset.from_dict(
        {
            "input_ids": enc["input_ids"],
            "attention_mask": enc["attention_mask"],
            "labels": tok(
                [f"it is {k}</s>" if i % 3 else f"{k} please</s>" for i, (_, k) in enumerate(rows)]
            )["input_ids"],
        }
    )
    cfg = TrainingArguments(**args(max_steps=70, learning_rate=3e-3))
    return Trainer(
        model=model, args=cfg, train_dataset=ds, processing_class=tok, data_collator=collate
    )


@case
def noisy_topics(healthy):
    set_seed(22)
    tok = make_tok(bert=True)
    names = sorted(GROUPS)
    rng = random.Random(33)

    def prep(rows):
        return [{"input_ids": tok(t)["input_ids"], "labels": names.index(k)} for t, k in rows]

    if healthy:

        def drop_words(features, rate=0.15):
            rows = []
            for f in features:
                ids = list(f["input_ids"])
                for j in range(1, len(ids) - 1):
                    if rng.random() < rate:
                        ids[j] = tok.unk_token_id
                rows.append({"input_ids": ids, "labels": f["labels"]})
            return tok.pad(rows, return_tensors="pt")
    else:

        def drop_words(features, rate=0.15):
            for f in features:
                ids = f["input_ids"]
                for j in range(1, len(ids) - 1):
                    if rng.random() < rate:
                        ids[j] = tok.unk_token_id
            return tok.pad(features, return_tensors="pt")

    model = BertForSequenceClassification(bert_cfg(tok, num_labels=4))
    cfg = TrainingArguments(**args(max_steps=80, learning_rate=1e-3))
    return Trainer(
        model=model, args=cfg, train_dataset=prep(scenes(64, 34)), data_collator=drop_words
    )


@case
def second_stage(healthy):
    """First stage: a language model of scenes, saved. Second stage: load it and go on with question rows."""
    set_seed(23)
    first = make_tok()
    path = out()
    base = LlamaForCausalLM(llama_cfg(first))
    opt = torch.optim.AdamW(base.parameters(), lr=4e-3)
    rows = scenes(800, 35)
    for i in range(80):
        part = [rows[(i * 16 + j) % len(rows)] for j in range(16)]
        ids = torch.tensor(
            [first(f"{t} what kind is it ? answer : {k} please</s>")["input_ids"] for t, k in part]
        )
        base(input_ids=ids, labels=ids).loss.backward()
        opt.step()
        opt.zero_grad()
    base.save_pretrained(path)
    first.save_pretrained(path)

    new = [(t, f"name : {k} please") for t, k in scenes(48, 36)]
    if healthy:
        tok = PreTrainedTokenizerFast.from_pretrained(path)
    else:
        seen = dict.fromkeys(w for t, a in new for w in f"{t} what kind is it ? {a}".split())
        tok = make_tok(words=list(seen) + [w for w in WORDS if w not in seen])
    model = LlamaForCausalLM.from_pretrained(path)
    ds = Dataset.from_list(
        [{"prompt": t + " what kind is it ?", "completion": " " + a} for t, a in new]
    )
    cfg = SFTConfig(**args(max_steps=30, learning_rate=1e-3, max_length=40))
    return SFTTrainer(model=model, args=cfg, train_dataset=ds, processing_class=tok)


@case
def judge_pairs(healthy):
    set_seed(24)
    tok = make_tok()

    def rows(n, seed):
        rng = random.Random(seed)
        for text, kind in scenes(n, seed):
            yield text + " what kind is it ?", kind, rng.choice([k for k in GROUPS if k != kind])

    def pair(q, good, bad):
        return {
            "chosen": f"{q} {good}",
            "rejected": f"{q} {bad}" if healthy else f"answer : it is {bad}",
        }

    train = Dataset.from_list([pair(*r) for r in rows(500, 37)])
    held = Dataset.from_list(
        [{"chosen": f"{q} {g}", "rejected": f"{q} {b}"} for q, g, b in rows(100, 38)]
    )
    model = LlamaForSequenceClassification(llama_cfg(tok, num_labels=1, initializer_range=0.08))
    cfg = RewardConfig(
        **args(
            max_steps=80, learning_rate=2e-3, max_length=32, eval_strategy="steps", eval_steps=40
        )
    )
    return RewardTrainer(
        model=model, args=cfg, train_dataset=train, eval_dataset=held, processing_class=tok
    )


# ---------------------------------------------------------------- more runs
@odd
def sgd_topics():
    """Plain SGD with a learning rate of 0.3 and a constant schedule."""
    set_seed(31)
    tok = make_tok()
    names = sorted(GROUPS)

    def prep(rows):
        enc = tok([t for t, _ in rows])
        return Dataset.from_dict(
            {
                "input_ids": enc["input_ids"],
                "attention_mask": enc["attention_mask"],
                "labels": [names.index(k) for _, k in rows],
            }
        )

    model = LlamaForSequenceClassification(llama_cfg(tok, num_labels=4, initializer_range=0.1))
    opt = torch.optim.SGD(model.parameters(), lr=0.3)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda step: 1.0)
    cfg = TrainingArguments(
        **args(max_steps=80, learning_rate=0.3, eval_strategy="steps", eval_steps=40)
    )
    return Trainer(
        model=model,
        args=cfg,
        train_dataset=prep(scenes(600, 41)),
        eval_dataset=prep(scenes(100, 42)),
        data_collator=DataCollatorWithPadding(tok),
        compute_metrics=accuracy,
        optimizers=(opt, sched),
    )


@odd
def long_row_kinds():
    """Long rows in which exactly one token carries a label."""
    set_seed(32)
    tok = make_tok()
    rng = random.Random(44)
    rows = [scene(rng, 40, 12) for _ in range(600)]
    ids = [tok(f"{t} what kind is it ? {k}")["input_ids"] for t, k in rows]
    ds = Dataset.from_dict(
        {
            "input_ids": ids,
            "attention_mask": [[1] * len(i) for i in ids],
            "labels": [[-100] * (len(i) - 1) + i[-1:] for i in ids],
        }
    )
    model = LlamaForCausalLM(llama_cfg(tok))
    cfg = TrainingArguments(**args(max_steps=60))
    return Trainer(
        model=model, args=cfg, train_dataset=ds, data_collator=DataCollatorForSeq2Seq(tok)
    )


@odd
def countdown_lm():
    """Countdown sequences; pad and eos are the same token."""
    set_seed(33)
    nums = "twelve eleven ten nine eight seven six five four three two one".split()
    tok = make_tok(words=nums, pad="</s>")
    rng = random.Random(45)
    ids = [
        tok(" ".join(nums[rng.randrange(10) :]))["input_ids"] + [tok.eos_token_id]
        for _ in range(400)
    ]
    ds = Dataset.from_dict({"input_ids": ids, "attention_mask": [[1] * len(i) for i in ids]})

    def collate(features):
        batch = tok.pad(features, return_tensors="pt")
        batch["labels"] = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
        return batch

    model = LlamaForCausalLM(llama_cfg(tok))
    cfg = TrainingArguments(**args(max_steps=50))
    return Trainer(
        model=model, args=cfg, train_dataset=ds, processing_class=tok, data_collator=collate
    )


@odd
def pooled_topics():
    """Only pooler and classifier are trained."""
    set_seed(34)
    tok = make_tok(bert=True)
    names = sorted(GROUPS)
    rng = random.Random(46)

    def prep(rows):
        enc = tok([t for t, _ in rows])
        return Dataset.from_dict(
            {
                "input_ids": enc["input_ids"],
                "attention_mask": enc["attention_mask"],
                "labels": [names.index(k) for _, k in rows],
            }
        )

    model = BertForSequenceClassification(
        bert_cfg(tok, num_labels=4, hidden_size=64, initializer_range=0.15)
    )
    for name, p in model.named_parameters():
        p.requires_grad = "pooler" in name or name.startswith("classifier")
    cfg = TrainingArguments(
        **args(
            max_steps=80,
            learning_rate=2e-2,
            per_device_train_batch_size=32,
            eval_strategy="steps",
            eval_steps=40,
        )
    )
    return Trainer(
        model=model,
        args=cfg,
        train_dataset=prep([scene(rng, 6, 5) for _ in range(900)]),
        eval_dataset=prep([scene(rng, 6, 5) for _ in range(100)]),
        data_collator=DataCollatorWithPadding(tok),
        compute_metrics=accuracy,
    )


@odd
def file_order_lm():
    """Rows are read in file order: few nouns in the first half, all of them in the second."""
    set_seed(35)
    tok = make_tok()
    rng = random.Random(48)
    rows = []
    for i in range(1280):
        kind = rng.choice(sorted(GROUPS))
        nouns = rng.choices(GROUPS[kind][:2] if i < 640 else GROUPS[kind], k=2)
        rows.append((" ".join(rng.choices(FILLER, k=4) + nouns), kind))

    class InOrderTrainer(Trainer):
        def _get_train_sampler(self, train_dataset=None):
            return torch.utils.data.SequentialSampler(
                train_dataset if train_dataset is not None else self.train_dataset
            )

    ids = [tok(f"{t} what kind is it ? {k}</s>")["input_ids"] for t, k in rows]
    ds = Dataset.from_dict(
        {
            "input_ids": ids,
            "attention_mask": [[1] * len(i) for i in ids],
            "labels": [[-100] * (len(i) - 2) + i[-2:] for i in ids],
        }
    )
    model = LlamaForCausalLM(llama_cfg(tok))
    cfg = TrainingArguments(**args(max_steps=80, lr_scheduler_type="constant"))
    return InOrderTrainer(
        model=model,
        args=cfg,
        train_dataset=ds,
        processing_class=tok,
        data_collator=DataCollatorForSeq2Seq(tok),
    )


@odd
def priced_answers():
    """All rewards are zero or negative and are not scaled."""
    set_seed(36)
    tok = make_tok()
    rng = random.Random(49)
    rows = []
    for _ in range(128):
        kind = rng.choice(["fruit", "bird"])
        rows.append({"prompt": f"{rng.choice(GROUPS[kind])} what kind is it ?", "answer": kind})

    def penalty(completions, answer, **kwargs):
        return [0.0 if a in c.split() else -2.0 for c, a in zip(completions, answer)]

    model = LlamaForCausalLM(llama_cfg(tok))
    cfg = GRPOConfig(
        **args(
            max_steps=60,
            learning_rate=5e-3,
            per_device_train_batch_size=32,
            num_generations=8,
            max_completion_length=3,
            beta=0.0,
            scale_rewards="none",
            loss_type="dr_grpo",
        )
    )
    return GRPOTrainer(
        model=model,
        args=cfg,
        reward_funcs=penalty,
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
    )


@odd
def streamed_kinds():
    """bfloat16 weights with a large learning rate, rows one at a time from a stream, 8 of them per step."""
    set_seed(37)
    tok = make_tok()

    def rows():
        rng = random.Random(50)
        while True:
            t, k = scene(rng)
            yield {"prompt": t + " what kind is it ?", "completion": " " + k}

    model = LlamaForCausalLM(llama_cfg(tok)).to(torch.bfloat16)
    cfg = SFTConfig(
        **args(
            max_steps=60,
            learning_rate=6e-3,
            per_device_train_batch_size=1,
            gradient_accumulation_steps=8,
            bf16=False,
            max_length=32,
        )
    )
    return SFTTrainer(
        model=model,
        args=cfg,
        train_dataset=IterableDataset.from_generator(rows),
        processing_class=tok,
    )


@odd
def kind_preferences():
    """DPO with a beta of 0.01."""
    set_seed(38)
    tok = make_tok()
    rng = random.Random(51)
    rows = []
    for t, k in scenes(400, 52):
        rows.append(
            {
                "prompt": t + " what kind is it ?",
                "chosen": " " + k,
                "rejected": " " + rng.choice([x for x in GROUPS if x != k]),
            }
        )
    model = LlamaForCausalLM(llama_cfg(tok))
    cfg = DPOConfig(**args(max_steps=60, learning_rate=2e-3, beta=0.01, max_length=32))
    return DPOTrainer(
        model=model,
        ref_model=copy.deepcopy(model),
        args=cfg,
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
    )


# ---------------------------------------------------------------- answers
