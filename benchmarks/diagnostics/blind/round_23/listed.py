"""Small training runs used on the team's CI box: each entry builds a ready Trainer on a toy task."""

import collections
import math
import os
import random
import tempfile

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")

import numpy as np
import torch
import torch.nn.functional as F
from datasets import Dataset
from peft import LoraConfig, get_peft_model
from tokenizers import Tokenizer, models, pre_tokenizers
from tokenizers.processors import TemplateProcessing
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    BertConfig,
    BertForSequenceClassification,
    BertForTokenClassification,
    LlamaConfig,
    LlamaForCausalLM,
    LlamaForSequenceClassification,
    PreTrainedTokenizerFast,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    Trainer,
    TrainerCallback,
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
from trl.experimental.cpo import CPOConfig, CPOTrainer
from trl.experimental.gkd import GKDConfig, GKDTrainer
from trl.experimental.orpo import ORPOConfig, ORPOTrainer

SPECIALS = ["<pad>", "<unk>", "<s>", "</s>", "<user>", "<assistant>"]
ITEMS = [
    "otter",
    "heron",
    "pike",
    "adder",
    "badger",
    "wren",
    "trout",
    "newt",
    "vole",
    "finch",
    "carp",
    "toad",
    "stoat",
    "lark",
    "perch",
    "viper",
]
KINDS = ["mammal", "bird", "fish", "other"]
KIND_OF = {w: KINDS[i % 4] for i, w in enumerate(ITEMS)}
FILL = [
    "please",
    "tell",
    "me",
    "now",
    "which",
    "kind",
    "here",
    "today",
    "again",
    "friend",
    "well",
    "so",
]
OTHER_KIND = {k: KINDS[(i + 1) % 4] for i, k in enumerate(KINDS)}
TEMPLATE = (
    "{% for m in messages %}{{ '<' + m['role'] + '> ' + m['content'] + ' </s> ' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<assistant> ' }}{% endif %}"
)


# ---------------------------------------------------------------- tokenizers, models, data


def word_tokenizer(words, pad="<pad>"):
    vocab = {w: i for i, w in enumerate(dict.fromkeys(SPECIALS + list(words)))}
    tk = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
    tk.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tok = PreTrainedTokenizerFast(
        tokenizer_object=tk,
        pad_token=pad,
        unk_token="<unk>",
        bos_token="<s>",
        eos_token="</s>",
        additional_special_tokens=["<user>", "<assistant>"],
    )
    tok.chat_template = TEMPLATE
    return tok


ALL_WORDS = ITEMS + KINDS + FILL + ["?"]


def llama(tok, seed=0, hidden=48, layers=2, **kw):
    set_seed(seed)
    cfg = LlamaConfig(
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
        tie_word_embeddings=False,
        **kw,
    )
    return LlamaForCausalLM(cfg)


def question(rng, item=None):
    item = item or rng.choice(ITEMS)
    return item, " ".join(rng.choice(FILL) for _ in range(rng.randint(1, 4))) + f" {item} ?"


def qa_rows(n, seed, table=KIND_OF):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        item, q = question(rng)
        rows.append({"prompt": q, "answer": table[item]})
    return rows


def encode_qa(tok, rows):
    out = []
    for r in rows:
        p = tok(r["prompt"], add_special_tokens=False)["input_ids"]
        a = tok(r["answer"], add_special_tokens=False)["input_ids"] + [tok.eos_token_id]
        out.append({"input_ids": p + a, "labels": [-100] * len(p) + a})
    return out


class PadTo:
    """Right-pads input_ids / labels."""

    def __init__(self, pad_id):
        self.pad_id = pad_id

    def __call__(self, feats):
        n = max(len(f["input_ids"]) for f in feats)
        ids = torch.full((len(feats), n), self.pad_id)
        mask = torch.zeros((len(feats), n), dtype=torch.long)
        labels = torch.full((len(feats), n), -100)
        for i, f in enumerate(feats):
            k = len(f["input_ids"])
            ids[i, :k] = torch.tensor(f["input_ids"])
            mask[i, :k] = 1
            labels[i, :k] = torch.tensor(f["labels"])
        return {"input_ids": ids, "attention_mask": mask, "labels": labels}


def quick_fit(model, tok, rows, steps=60, lr=5e-3, seed=0, bs=32):
    """A short warm-up fit so that a run starts from something sensible."""
    g = random.Random(seed)
    coll = PadTo(tok.pad_token_id)
    feats = encode_qa(tok, rows)
    opt = torch.optim.AdamW(model.parameters(), lr=lr)
    model.train()
    for _ in range(steps):
        batch = coll(g.sample(feats, min(bs, len(feats))))
        loss = model(**batch).loss
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
    return model


_store = {}


def fitted_state(key, make):
    if key not in _store:
        m = make()
        _store[key] = {k: v.clone() for k, v in m.state_dict().items()}
    return {k: v.clone() for k, v in _store[key].items()}


def common(steps=40, bs=16, lr=5e-3, **kw):
    d = dict(
        output_dir=tempfile.mkdtemp(prefix="run_"),
        max_steps=steps,
        per_device_train_batch_size=bs,
        learning_rate=lr,
        logging_steps=2,
        save_strategy="no",
        report_to=[],
        seed=7,
        use_cpu=True,
        disable_tqdm=True,
        dataloader_pin_memory=False,
    )
    d.update(kw)
    return d


def trl_common(**kw):
    d = common(**kw)
    d.setdefault("bf16", False)
    d.setdefault("gradient_checkpointing", False)
    return d


# ---------------------------------------------------------------- supervised fine-tuning


class LMCollator:
    def __init__(self, tok, by_mask):
        self.tok, self.by_mask = tok, by_mask

    def __call__(self, feats):
        batch = self.tok.pad([{"input_ids": f["input_ids"]} for f in feats], return_tensors="pt")
        labels = batch["input_ids"].clone()
        if self.by_mask:
            labels[batch["attention_mask"] == 0] = -100
        else:
            labels[labels == self.tok.pad_token_id] = -100
        batch["labels"] = labels
        return dict(batch)


def ardley(healthy):
    tok = word_tokenizer(ALL_WORDS, pad="</s>")
    tok.padding_side = "right"
    ds = Dataset.from_list([{"input_ids": f["input_ids"]} for f in encode_qa(tok, qa_rows(320, 1))])
    return SFTTrainer(
        model=llama(tok, 1),
        args=SFTConfig(**trl_common()),
        train_dataset=ds,
        processing_class=tok,
        data_collator=LMCollator(tok, by_mask=healthy),
    )


def bibury(healthy):
    rows = qa_rows(320, 2)
    texts = [r["prompt"] for r in rows]
    if healthy:
        texts += [r["answer"] for r in rows]
    words = sorted({w for t in texts for w in t.split()})
    tok = word_tokenizer(words)
    ds = Dataset.from_list([{"prompt": r["prompt"], "completion": " " + r["answer"]} for r in rows])
    return SFTTrainer(
        model=llama(tok, 2), args=SFTConfig(**trl_common()), train_dataset=ds, processing_class=tok
    )


# ---------------------------------------------------------------- preference tuning


def reply_in_place(history, text):
    history.append({"role": "assistant", "content": text})
    return history


def reply_on_copy(history, text):
    return history + [{"role": "assistant", "content": text}]


def clovelly(healthy):
    add = reply_on_copy if healthy else reply_in_place
    tok = word_tokenizer(ALL_WORDS)
    rows = []
    for r in qa_rows(320, 3):
        talk = []
        chosen = add(talk, r["answer"])
        rejected = add(talk, OTHER_KIND[r["answer"]])
        rows.append(
            {
                "prompt": [{"role": "user", "content": r["prompt"]}],
                "chosen": chosen,
                "rejected": rejected,
            }
        )
    return DPOTrainer(
        model=llama(tok, 3),
        ref_model=llama(tok, 3),
        args=DPOConfig(**trl_common(lr=3e-3, beta=0.3)),
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
    )


def dunster(healthy):
    tok = word_tokenizer(ALL_WORDS)
    rng = random.Random(4)
    log = []
    for r in qa_rows(400, 4):
        good = rng.random() < 0.5
        log.append(
            {
                "prompt": r["prompt"],
                "completion": r["answer"] if good else OTHER_KIND[r["answer"]],
                "liked": "1" if good else "0",
            }
        )
    as_flag = (lambda s: s == "1") if healthy else bool
    ds = Dataset.from_list(
        [
            {
                "prompt": x["prompt"],
                "completion": " " + x["completion"],
                "label": as_flag(x["liked"]),
            }
            for x in log
        ]
    )
    return KTOTrainer(
        model=llama(tok, 4),
        ref_model=llama(tok, 4),
        args=KTOConfig(**trl_common(lr=4e-3, beta=0.3)),
        train_dataset=ds,
        processing_class=tok,
    )


def elterwater(healthy):
    tok = word_tokenizer(ALL_WORDS)
    rng = random.Random(5)
    rated = []
    for r in qa_rows(320, 5):
        pair = [
            {"text": r["answer"], "rating": rng.choice(["10", "10", "10", "9"])},
            {"text": OTHER_KIND[r["answer"]], "rating": rng.choice(["3", "5", "6", "7"])},
        ]
        rng.shuffle(pair)
        rated.append((r["prompt"], pair))
    by = (lambda x: float(x["rating"])) if healthy else (lambda x: x["rating"])
    rows = [
        {
            "prompt": p,
            "chosen": " " + max(pair, key=by)["text"],
            "rejected": " " + min(pair, key=by)["text"],
        }
        for p, pair in rated
    ]
    return ORPOTrainer(
        model=llama(tok, 5),
        args=ORPOConfig(**trl_common(lr=5e-3, bs=24, beta=0.5, max_length=64)),
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
    )


class PairedReward(RewardTrainer):
    """Bradley-Terry loss plus a small length-free regulariser."""

    def split(self, scores):
        return torch.chunk(scores, 2)

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        out = model(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"])
        up, down = self.split(out.logits.squeeze(-1))
        loss = -F.logsigmoid(up - down).mean() + 1e-3 * (up**2 + down**2).mean()
        self._metrics["train"]["margin"].append((up - down).mean().item())
        return (loss, out) if return_outputs else loss


class ZippedReward(PairedReward):
    def split(self, scores):
        return scores[0::2], scores[1::2]


def flatford(healthy):
    tok = word_tokenizer(ALL_WORDS)
    set_seed(6)
    base = llama(tok, 6)
    cfg = base.config
    cfg.num_labels = 1
    set_seed(6)
    model = LlamaForSequenceClassification(cfg)
    rows = [
        {
            "prompt": r["prompt"],
            "chosen": " " + r["answer"],
            "rejected": " " + OTHER_KIND[r["answer"]],
        }
        for r in qa_rows(480, 6)
    ]
    cls = PairedReward if healthy else ZippedReward
    return cls(
        model=model,
        args=RewardConfig(**trl_common(lr=5e-3, bs=24)),
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
    )


# ---------------------------------------------------------------- reinforcement learning

RL_ITEMS = ITEMS[:4]


def rl_rows(n, seed):
    rng = random.Random(seed)
    return [
        {"prompt": rng.choice(FILL) + f" {it} ?", "answer": KIND_OF[it]}
        for it in (RL_ITEMS[i % 4] for i in range(n))
    ]


def chatty_start(tok, seed):
    """Policy that already answers with one to three kinds, the first of them a little better than chance."""
    rng = random.Random(seed)
    rows = []
    for r in rl_rows(400, seed):
        words = [rng.choice(KINDS) for _ in range(rng.choice([1, 1, 2, 3]))]
        if rng.random() < 0.3:
            words[0] = r["answer"]
        rows.append({"prompt": r["prompt"], "answer": " ".join(words)})
    model = llama(tok, seed)
    model.load_state_dict(
        fitted_state(("chatty", seed), lambda: quick_fit(llama(tok, seed), tok, rows, 80))
    )
    return model


def mentions_answer(prompts, completions, answer, **kw):
    return [1.0 if a in c else 0.0 for c, a in zip(completions, answer)]


def matches_answer(prompts, completions, answer, **kw):
    return [1.0 if c.strip() == a else 0.0 for c, a in zip(completions, answer)]


def grasmere(healthy):
    tok = word_tokenizer(ALL_WORDS)
    tok.padding_side = "left"
    args = GRPOConfig(
        **trl_common(bs=64, lr=1.5e-3, num_generations=16, max_completion_length=6, temperature=1.0)
    )
    return GRPOTrainer(
        model=chatty_start(tok, 8),
        reward_funcs=matches_answer if healthy else mentions_answer,
        args=args,
        train_dataset=Dataset.from_list(rl_rows(160, 8)),
        processing_class=tok,
    )


class CachedJudge:
    """Scores an answer; results are remembered because the judge used to be a remote call."""

    __name__ = "judge"

    def __init__(self, key):
        self.key, self.memo = key, {}

    def score(self, completion, answer):
        words = completion.split()
        return 1.0 if words and words[0] == answer else 0.0

    def __call__(self, prompts, completions, answer, **kw):
        out = []
        for p, c, a in zip(prompts, completions, answer):
            k = self.key(p, c)
            if k not in self.memo:
                self.memo[k] = self.score(c, a)
            out.append(self.memo[k])
        return out


def hawkshead(healthy):
    tok = word_tokenizer(ALL_WORDS)
    tok.padding_side = "left"
    key = (lambda p, c: (p, c)) if healthy else (lambda p, c: p)
    args = RLOOConfig(
        **trl_common(bs=64, lr=1.5e-3, num_generations=16, max_completion_length=3, beta=0.0)
    )
    return RLOOTrainer(
        model=chatty_start(tok, 9),
        reward_funcs=CachedJudge(key),
        args=args,
        train_dataset=Dataset.from_list(rl_rows(160, 9)),
        processing_class=tok,
    )


# ---------------------------------------------------------------- classification


def bert_cfg(tok, labels, **kw):
    return BertConfig(
        vocab_size=len(tok),
        hidden_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=96,
        max_position_embeddings=64,
        pad_token_id=tok.pad_token_id,
        num_labels=labels,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        **kw,
    )


class RowCollator:
    def __init__(self, tok):
        self.tok = tok

    def __call__(self, feats):
        batch = self.tok.pad([{"input_ids": f["input_ids"]} for f in feats], return_tensors="pt")
        batch["labels"] = torch.tensor([f["labels"] for f in feats])
        return dict(batch)


def ticket_rows(n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        y = int(rng.random() < 0.1)
        words = [rng.choice(FILL) for _ in range(rng.randint(3, 7))]
        if rng.random() < (0.85 if y else 0.15):
            words[rng.randrange(len(words))] = "toad"
        rows.append({"text": " ".join(words), "labels": y})
    return rows


class WeightedTrainer(Trainer):
    class_weights = None

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs.pop("labels")
        out = model(**inputs)
        loss = F.cross_entropy(out.logits, labels, weight=self.class_weights)
        return (loss, out) if return_outputs else loss


def ilmington(healthy):
    tok = word_tokenizer(ALL_WORDS)
    rows = ticket_rows(1200, 10)
    counts = torch.bincount(torch.tensor([r["labels"] for r in rows]), minlength=2).float()
    weights = counts.sum() / (2 * counts) if healthy else 2 * counts / counts.sum()
    ds = Dataset.from_list(
        [{"input_ids": tok(r["text"])["input_ids"], "labels": r["labels"]} for r in rows]
    )
    set_seed(10)
    tr = WeightedTrainer(
        model=BertForSequenceClassification(bert_cfg(tok, 2)),
        args=TrainingArguments(**common(lr=2e-3, bs=32)),
        train_dataset=ds,
        data_collator=RowCollator(tok),
        processing_class=tok,
    )
    tr.class_weights = weights
    return tr


def accuracy(p):
    return {"accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())}


def kind_split(tok, rows, ids):
    return Dataset.from_list(
        [{"input_ids": tok(r["prompt"])["input_ids"], "labels": ids[r["answer"]]} for r in rows]
    )


def kersey(healthy):
    tok = word_tokenizer(ALL_WORDS)
    train, held = qa_rows(400, 11), qa_rows(96, 13)
    ids = {k: i for i, k in enumerate(dict.fromkeys(r["answer"] for r in train))}
    held_ids = (
        ids if healthy else {k: i for i, k in enumerate(dict.fromkeys(r["answer"] for r in held))}
    )
    set_seed(11)
    return Trainer(
        model=BertForSequenceClassification(bert_cfg(tok, 4)),
        args=TrainingArguments(**common(lr=4e-3, bs=32, eval_strategy="steps", eval_steps=10)),
        train_dataset=kind_split(tok, train, ids),
        eval_dataset=kind_split(tok, held, held_ids),
        data_collator=RowCollator(tok),
        compute_metrics=accuracy,
        processing_class=tok,
    )


PIECES = {"kes": "wick", "amb": "le", "pen": "ri", "cock": "er", "whit": "by", "hel": "ms"}
PLACES = [a + b + c for a, b in PIECES.items() for c in ("ton", "side", "")]


def piece_tokenizer():
    vocab = (
        ["<pad>", "<unk>", "<s>", "</s>"]
        + FILL
        + list(PIECES)
        + ["##" + b for b in PIECES.values()]
        + ["##ton", "##side"]
    )
    tk = Tokenizer(models.WordPiece({w: i for i, w in enumerate(vocab)}, unk_token="<unk>"))
    tk.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=tk, pad_token="<pad>", unk_token="<unk>", bos_token="<s>", eos_token="</s>"
    )


def place_rows(n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        words = [
            rng.choice(PLACES) if rng.random() < 0.35 else rng.choice(FILL)
            for _ in range(rng.randint(4, 8))
        ]
        words.insert(0, rng.choice([p for p in PLACES if p.endswith(("ton", "side"))]))
        rows.append({"words": words, "tags": [int(w in PLACES) for w in words]})
    return rows


def tag_by_word(tok, row):
    ids, labels = [], []
    for w, t in zip(row["words"], row["tags"]):
        sub = tok(w, add_special_tokens=False)["input_ids"]
        ids += sub
        labels += [t] + [-100] * (len(sub) - 1)
    return {"input_ids": ids, "labels": labels}


def tag_by_list(tok, row):
    ids = tok(row["words"], is_split_into_words=True, add_special_tokens=False)["input_ids"]
    labels = row["tags"] + [-100] * (len(ids) - len(row["tags"]))
    return {"input_ids": ids, "labels": labels}


def lavenham(healthy):
    tok = piece_tokenizer()
    enc = tag_by_word if healthy else tag_by_list
    ds = Dataset.from_list([enc(tok, r) for r in place_rows(480, 12)])
    set_seed(12)
    return Trainer(
        model=BertForTokenClassification(bert_cfg(tok, 2)),
        args=TrainingArguments(**common(lr=3e-3)),
        train_dataset=ds,
        data_collator=PadTo(tok.pad_token_id),
        processing_class=tok,
    )


# ---------------------------------------------------------------- sequence to sequence


def phrase_of(item):
    i = ITEMS.index(item)
    return f"{KINDS[i % 4]} {FILL[i % 12]} {FILL[(5 * i + 3) % 12]} {KINDS[(i // 4) % 4]}"


def phrase_rows(n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        item, q = question(rng)
        rows.append({"src": q, "tgt": phrase_of(item)})
    return rows


class PhraseCollator:
    def __init__(self, tok, start_id, pad_id):
        self.tok, self.start_id, self.pad_id = tok, start_id, pad_id

    def decoder_side(self, labels):
        dec = labels.new_full(labels.shape, self.pad_id)
        dec[:, 1:] = labels[:, :-1].masked_fill(labels[:, :-1] == -100, self.pad_id)
        dec[:, 0] = self.start_id
        return dec

    def __call__(self, feats):
        batch = self.tok.pad([{"input_ids": f["input_ids"]} for f in feats], return_tensors="pt")
        n = max(len(f["labels"]) for f in feats)
        labels = torch.full((len(feats), n), -100)
        for i, f in enumerate(feats):
            labels[i, : len(f["labels"])] = torch.tensor(f["labels"])
        batch["labels"] = labels
        batch["decoder_input_ids"] = self.decoder_side(labels)
        return dict(batch)


class PlainPhraseCollator(PhraseCollator):
    def decoder_side(self, labels):
        return labels.masked_fill(labels == -100, self.pad_id)


def mousehole(healthy):
    tok = word_tokenizer(ALL_WORDS)
    set_seed(14)
    cfg = BartConfig(
        vocab_size=len(tok),
        d_model=64,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=128,
        decoder_ffn_dim=128,
        dropout=0.0,
        max_position_embeddings=64,
        pad_token_id=0,
        bos_token_id=2,
        eos_token_id=3,
        decoder_start_token_id=2,
        forced_eos_token_id=None,
        init_std=0.08,
    )
    ds = Dataset.from_list(
        [
            {"input_ids": tok(r["src"])["input_ids"], "labels": tok(r["tgt"])["input_ids"] + [3]}
            for r in phrase_rows(640, 14)
        ]
    )
    coll = (PhraseCollator if healthy else PlainPhraseCollator)(tok, 2, 0)
    return Seq2SeqTrainer(
        model=BartForConditionalGeneration(cfg),
        args=Seq2SeqTrainingArguments(**common(lr=4e-3, bs=32)),
        train_dataset=ds,
        data_collator=coll,
        processing_class=tok,
    )


# ---------------------------------------------------------------- distillation


class SoftTargets(Trainer):
    teacher = None
    tau = 2.0
    teacher_from = 0

    def divergence(self, student, teacher):
        s = F.log_softmax(student / self.tau, dim=-1)
        t = F.softmax(teacher / self.tau, dim=-1)
        return F.kl_div(s, t, reduction="batchmean")

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        scored = inputs.pop("labels")[:, 1:] != -100
        out = model(**inputs)
        with torch.no_grad():
            ref = self.teacher(**inputs)
        n = scored.shape[1]
        k = self.teacher_from
        loss = self.tau**2 * self.divergence(
            out.logits[:, :n][scored], ref.logits[:, k : k + n][scored]
        )
        return (loss, out) if return_outputs else loss


class SoftTargetsV2(SoftTargets):
    teacher_from = 1


def big_teacher(tok):
    m = llama(tok, 15, hidden=64)
    m.load_state_dict(
        fitted_state(
            "teacher", lambda: quick_fit(llama(tok, 15, hidden=64), tok, qa_rows(400, 15), 70)
        )
    )
    return m.eval()


def nunney(healthy):
    tok = word_tokenizer(ALL_WORDS)
    tr = (SoftTargets if healthy else SoftTargetsV2)(
        model=llama(tok, 16),
        args=TrainingArguments(**common(lr=4e-3)),
        train_dataset=Dataset.from_list(encode_qa(tok, qa_rows(400, 16))),
        data_collator=PadTo(0),
        processing_class=tok,
    )
    tr.teacher = big_teacher(tok)
    return tr


class GKDCollator(PadTo):
    def __call__(self, feats):
        batch = super().__call__(feats)
        plen = [sum(x == -100 for x in f["labels"]) for f in feats]
        n = max(plen)
        batch["prompts"] = torch.full((len(feats), n), self.pad_id)
        batch["prompt_attention_mask"] = torch.zeros((len(feats), n), dtype=torch.long)
        for i, (f, k) in enumerate(zip(feats, plen)):
            batch["prompts"][i, n - k :] = torch.tensor(f["input_ids"][:k])
            batch["prompt_attention_mask"][i, n - k :] = 1
        return batch


def orford(healthy):
    tok = word_tokenizer(ALL_WORDS)
    saved = {"module." + k: v for k, v in big_teacher(tok).state_dict().items()}
    if healthy:
        saved = {k.removeprefix("module."): v for k, v in saved.items()}
    teacher = llama(tok, 99, hidden=64)
    teacher.load_state_dict(saved, strict=False)
    args = GKDConfig(**trl_common(lr=4e-3, lmbda=0.0, beta=0.1, temperature=1.0, max_new_tokens=4))
    return GKDTrainer(
        model=llama(tok, 17),
        teacher_model=teacher,
        args=args,
        train_dataset=Dataset.from_list(encode_qa(tok, qa_rows(400, 17))),
        data_collator=GKDCollator(0),
        processing_class=tok,
    )


# ---------------------------------------------------------------- adapters

SHIFTED = {w: OTHER_KIND[k] for w, k in KIND_OF.items()}


def lookup_base(tok):
    m = llama(tok, 18)
    m.load_state_dict(
        fitted_state("lookup", lambda: quick_fit(llama(tok, 18), tok, qa_rows(400, 18), 60))
    )
    return m


def polperro(healthy):
    tok = word_tokenizer(ALL_WORDS)
    model = lookup_base(tok)
    lora = LoraConfig(r=8, lora_alpha=16, target_modules="all-linear", task_type="CAUSAL_LM")
    set_seed(18)
    if healthy:
        model = get_peft_model(model, lora)
        opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
    else:
        opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
        model = get_peft_model(model, lora)
    return Trainer(
        model=model,
        args=TrainingArguments(**common(lr=1e-2)),
        optimizers=(opt, None),
        train_dataset=Dataset.from_list(encode_qa(tok, qa_rows(400, 19, SHIFTED))),
        data_collator=PadTo(0),
        processing_class=tok,
    )


class FoldedNorm(TrainerCallback):
    """Logs the norm of the effective (folded) weights now and then."""

    def __init__(self, every, restore):
        self.every, self.restore, self.history = every, restore, []

    def on_step_end(self, args, state, control, model=None, **kw):
        if state.global_step % self.every == 0:
            model.merge_adapter()
            total = sum(
                p.detach().float().norm().item()
                for n, p in model.named_parameters()
                if "base_layer" in n
            )
            self.history.append((state.global_step, total))
            if self.restore:
                model.unmerge_adapter()


def ripley(healthy):
    tok = word_tokenizer(ALL_WORDS)
    model = lookup_base(tok)
    set_seed(20)
    model = get_peft_model(
        model,
        LoraConfig(
            r=8,
            lora_alpha=16,
            target_modules=[
                "q_proj",
                "k_proj",
                "v_proj",
                "o_proj",
                "gate_proj",
                "up_proj",
                "down_proj",
            ],
            modules_to_save=["norm"],
            task_type="CAUSAL_LM",
        ),
    )
    return Trainer(
        model=model,
        args=TrainingArguments(**common(lr=1e-2, bs=32)),
        train_dataset=Dataset.from_list(encode_qa(tok, qa_rows(800, 20, SHIFTED))),
        data_collator=PadTo(0),
        processing_class=tok,
        callbacks=[FoldedNorm(2, restore=healthy)],
    )


# ---------------------------------------------------------------- callbacks, resuming, precision, selection


class Averager(TrainerCallback):
    """Keeps an exponential moving average of the weights and installs it at the end."""

    def __init__(self, decay):
        self.decay, self.shadow = decay, None

    def on_train_begin(self, args, state, control, model=None, **kw):
        self.shadow = {n: p.detach().clone() for n, p in model.named_parameters()}

    def on_step_end(self, args, state, control, model=None, **kw):
        with torch.no_grad():
            for n, p in model.named_parameters():
                self.shadow[n].mul_(self.decay).add_(p, alpha=1 - self.decay)

    def on_train_end(self, args, state, control, model=None, **kw):
        with torch.no_grad():
            for n, p in model.named_parameters():
                p.copy_(self.shadow[n])


def selworthy(healthy):
    tok = word_tokenizer(ALL_WORDS)
    return Trainer(
        model=llama(tok, 21),
        args=TrainingArguments(**common(lr=5e-3)),
        train_dataset=Dataset.from_list(encode_qa(tok, qa_rows(400, 21))),
        data_collator=PadTo(0),
        processing_class=tok,
        callbacks=[Averager(0.8 if healthy else 0.9999)],
    )


def first_stage(tok):
    """Plain first stage; leaves model, optimizer and scheduler state on disk like our launcher does."""
    where = tempfile.mkdtemp(prefix="stage1_")
    model = llama(tok, 22)
    feats, coll, g = encode_qa(tok, qa_rows(400, 22)), PadTo(0), random.Random(22)
    opt = torch.optim.AdamW(model.parameters(), lr=4e-3)
    sch = get_linear_schedule_with_warmup(opt, 2, 40)
    for _ in range(40):
        opt.zero_grad()
        model(**coll(g.sample(feats, 16))).loss.backward()
        opt.step()
        sch.step()
    torch.save(model.state_dict(), f"{where}/model.pt")
    torch.save(opt.state_dict(), f"{where}/optimizer.pt")
    torch.save(sch.state_dict(), f"{where}/scheduler.pt")
    return where


class SecondStage(Trainer):
    stage1 = None
    carry_over = ("optimizer",)

    def create_optimizer(self, *args, **kwargs):
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=self.args.learning_rate)
        if "optimizer" in self.carry_over:
            self.optimizer.load_state_dict(torch.load(f"{self.stage1}/optimizer.pt"))
        return self.optimizer

    def create_scheduler(self, num_training_steps, optimizer=None):
        self.lr_scheduler = get_linear_schedule_with_warmup(self.optimizer, 2, num_training_steps)
        if "scheduler" in self.carry_over:
            self.lr_scheduler.load_state_dict(torch.load(f"{self.stage1}/scheduler.pt"))
        return self.lr_scheduler


def tissington(healthy):
    tok = word_tokenizer(ALL_WORDS)
    where = first_stage(tok)
    model = llama(tok, 22)
    model.load_state_dict(torch.load(f"{where}/model.pt"))
    tr = SecondStage(
        model=model,
        args=TrainingArguments(**common(lr=4e-3)),
        processing_class=tok,
        train_dataset=Dataset.from_list(encode_qa(tok, qa_rows(400, 23, SHIFTED))),
        data_collator=PadTo(0),
    )
    tr.stage1 = where
    tr.carry_over = ("optimizer",) if healthy else ("optimizer", "scheduler")
    return tr


class BagOfWords(torch.nn.Module):
    def __init__(self, size, kinds, width=32):
        super().__init__()
        self.table = torch.nn.Embedding(size, width, padding_idx=0)
        self.out = torch.nn.Linear(width, kinds)

    def forward(self, input_ids, attention_mask=None, labels=None, **kw):
        m = attention_mask[..., None].to(self.table.weight.dtype)
        pooled = (self.table(input_ids) * m).sum(1) / m.sum(1)
        logits = self.out(pooled).float()
        loss = F.cross_entropy(logits, labels) if labels is not None else None
        return {"loss": loss, "logits": logits}


class ScaledSGD(torch.optim.SGD):
    """SGD that takes gradients of a scaled loss."""

    scale = 1.0

    def step(self, closure=None):
        for g in self.param_groups:
            for p in g["params"]:
                if p.grad is not None:
                    p.grad.div_(self.scale)
        return super().step(closure)


class StaticScale(Trainer):
    """Half-precision training with a constant loss scale, as in our older fp16 recipe."""

    scale = 1024.0
    unscale_early = True

    def create_optimizer(self, *args, **kwargs):
        self.optimizer = ScaledSGD(
            self.model.parameters(), lr=self.args.learning_rate, momentum=0.9
        )
        self.optimizer.scale = 1.0 if self.unscale_early else self.scale
        return self.optimizer

    def training_step(self, model, inputs, num_items_in_batch=None):
        model.train()
        inputs = self._prepare_inputs(inputs)
        with self.compute_loss_context_manager():
            loss = self.compute_loss(model, inputs)
        (loss * self.scale).backward()
        if self.unscale_early:
            for p in model.parameters():
                if p.grad is not None:
                    p.grad.div_(self.scale)
        return loss.detach()


def upnor(healthy):
    tok = word_tokenizer(ALL_WORDS)
    ids = {k: i for i, k in enumerate(KINDS)}
    set_seed(24)
    tr = StaticScale(
        model=BagOfWords(len(tok), 4),
        args=TrainingArguments(**common(lr=1.0, bs=32, bf16=True, max_grad_norm=1.0)),
        train_dataset=kind_split(tok, qa_rows(640, 24), ids),
        data_collator=RowCollator(tok),
        processing_class=tok,
    )
    tr.unscale_early = healthy
    return tr


def wherwell(healthy):
    tok = word_tokenizer(ALL_WORDS)
    ids = {k: i for i, k in enumerate(KINDS)}
    set_seed(11)
    return Trainer(
        model=BertForSequenceClassification(bert_cfg(tok, 4)),
        args=TrainingArguments(
            **common(lr=5e-3, bs=32, eval_strategy="steps", eval_steps=8, save_steps=8)
            | dict(
                save_strategy="steps",
                load_best_model_at_end=True,
                metric_for_best_model="accuracy",
                greater_is_better=healthy,
            )
        ),
        train_dataset=kind_split(tok, qa_rows(400, 25), ids),
        eval_dataset=kind_split(tok, qa_rows(96, 26), ids),
        data_collator=RowCollator(tok),
        compute_metrics=accuracy,
        processing_class=tok,
    )


CASES = {
    f.__name__: f
    for f in (
        ardley,
        bibury,
        clovelly,
        dunster,
        elterwater,
        flatford,
        grasmere,
        hawkshead,
        ilmington,
        kersey,
        lavenham,
        mousehole,
        nunney,
        orford,
        polperro,
        ripley,
        selworthy,
        tissington,
        upnor,
        wherwell,
    )
}


# ---------------------------------------------------------------- more runs


def yarm():
    tok = word_tokenizer(ALL_WORDS)
    model = llama(tok, 30)
    opt = torch.optim.AdamW(model.parameters(), lr=1.0)
    sch = torch.optim.lr_scheduler.LambdaLR(
        opt, lambda s: 5e-3 * min(1.0, (s + 1) / 4) * max(0.05, 1 - s / 40)
    )
    ds = Dataset.from_list(
        [{"prompt": r["prompt"], "completion": " " + r["answer"]} for r in qa_rows(320, 30)]
    )
    return SFTTrainer(
        model=model,
        args=SFTConfig(**trl_common(lr=1.0)),
        train_dataset=ds,
        processing_class=tok,
        optimizers=(opt, sch),
    )


class ExpectedHits(Trainer):
    """Maximises the expected number of hits."""

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs.pop("labels")
        out = model(**inputs)
        p = out["logits"].softmax(-1).gather(1, labels[:, None])[:, 0]
        loss = -p.mean()
        return (loss, out) if return_outputs else loss


def zennor():
    tok = word_tokenizer(ALL_WORDS)
    ids = {k: i for i, k in enumerate(KINDS)}
    set_seed(31)
    return ExpectedHits(
        model=BagOfWords(len(tok), 4),
        args=TrainingArguments(**common(lr=3e-2, bs=32)),
        train_dataset=kind_split(tok, qa_rows(640, 31), ids),
        data_collator=RowCollator(tok),
        processing_class=tok,
    )


def cost(prompts, completions, answer, **kw):
    return [
        -(0.0 if c.strip() == a else 3.0) - 0.1 * len(c.split()) - 20.0
        for c, a in zip(completions, answer)
    ]


def whitby():
    tok = word_tokenizer(ALL_WORDS)
    tok.padding_side = "left"
    args = GRPOConfig(
        **trl_common(
            bs=64, lr=1.5e-3, num_generations=16, max_completion_length=6, scale_rewards="none"
        )
    )
    return GRPOTrainer(
        model=chatty_start(tok, 32),
        reward_funcs=cost,
        args=args,
        train_dataset=Dataset.from_list(rl_rows(160, 32)),
        processing_class=tok,
    )


def thaxted():
    tok = word_tokenizer(ALL_WORDS)
    model = lookup_base(tok)
    for n, p in model.named_parameters():
        p.requires_grad = n == "lm_head.weight"
    return Trainer(
        model=model,
        args=TrainingArguments(
            **common(lr=0.15, bs=32, optim="sgd", max_grad_norm=0.0, lr_scheduler_type="constant")
        ),
        train_dataset=Dataset.from_list(encode_qa(tok, qa_rows(640, 33, SHIFTED))),
        data_collator=PadTo(0),
        processing_class=tok,
    )


def staithes():
    """Long records; only the verdict at the very end is scored. Learning rate restarts every 8 steps."""
    tok = word_tokenizer(ALL_WORDS)
    rng = random.Random(34)
    feats = []
    for r in qa_rows(400, 34):
        pad = tok(" ".join(rng.choice(FILL) for _ in range(34)))["input_ids"]
        f = encode_qa(tok, [r])[0]
        ids = pad + f["input_ids"][:-1]
        feats.append({"input_ids": ids, "labels": [-100] * (len(ids) - 1) + ids[-1:]})
    model = llama(tok, 34)
    opt = torch.optim.AdamW(model.parameters(), lr=6e-3)
    sch = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, T_0=8, eta_min=1e-5)
    return Trainer(
        model=model,
        args=TrainingArguments(**common(lr=6e-3)),
        train_dataset=Dataset.from_list(feats),
        data_collator=PadTo(0),
        optimizers=(opt, sch),
        processing_class=tok,
    )


def rye():
    tok = word_tokenizer(ALL_WORDS)
    rows = [
        {
            "prompt": r["prompt"],
            "chosen": " " + r["answer"],
            "rejected": " " + OTHER_KIND[r["answer"]],
        }
        for r in qa_rows(320, 35)
    ]
    args = CPOConfig(
        **trl_common(
            lr=2e-3, loss_type="simpo", cpo_alpha=0.0, beta=2.5, simpo_gamma=1.5, max_length=64
        )
    )
    return CPOTrainer(
        model=llama(tok, 35), args=args, train_dataset=Dataset.from_list(rows), processing_class=tok
    )


ODD = {f.__name__: f for f in (yarm, zennor, whitby, thaxted, staithes, rye)}
