import csv
import io
import random
import tempfile

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from datasets import Dataset
from peft import LoraConfig, PeftModel, get_peft_model
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    DataCollatorForLanguageModeling,
    DataCollatorForTokenClassification,
    DataCollatorWithPadding,
    DistilBertConfig,
    DistilBertForTokenClassification,
    GPT2Config,
    GPT2LMHeadModel,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen2ForSequenceClassification,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    T5Config,
    T5ForConditionalGeneration,
    Trainer,
    TrainerCallback,
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


def tmp():
    return tempfile.mkdtemp(prefix="run_", dir=tempfile.gettempdir())


COMMON = dict(
    use_cpu=True, report_to="none", save_strategy="no", disable_tqdm=True, logging_steps=5
)


# ---------------------------------------------------------------- vistula
ANIMALS = {
    "cat": "meow",
    "dog": "woof woof",
    "cow": "moo",
    "duck": "quack quack",
    "sheep": "baa",
    "pig": "oink oink oink",
    "owl": "hoo hoo",
    "lion": "roar",
    "crow": "caw caw",
    "bee": "buzz",
}


def vistula(healthy):
    set_seed(11)
    lines = [
        f"{p} {a} says {s} ."
        for a, s in ANIMALS.items()
        for p in ("the", "my", "your", "an old", "a young")
    ]
    core = Tokenizer(models.WordLevel(unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    core.train_from_iterator(
        lines, trainers.WordLevelTrainer(special_tokens=["<unk>", "</s>", "<pad>"])
    )
    tok = PreTrainedTokenizerFast(tokenizer_object=core, unk_token="<unk>", eos_token="</s>")
    if healthy:
        tok.pad_token = "<pad>"
    else:
        tok.pad_token = tok.eos_token
    ds = Dataset.from_dict({"text": lines}).map(
        lambda r: tok(r["text"] + " " + tok.eos_token, return_token_type_ids=False),
        remove_columns=["text"],
    )
    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(tok),
            n_positions=32,
            n_embd=64,
            n_layer=2,
            n_head=4,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            bos_token_id=tok.eos_token_id,
            eos_token_id=tok.eos_token_id,
            pad_token_id=tok.pad_token_id,
        )
    )
    args = TrainingArguments(
        tmp(), per_device_train_batch_size=25, max_steps=60, learning_rate=4e-3, **COMMON
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=ds,
        processing_class=tok,
        data_collator=DataCollatorForLanguageModeling(tok, mlm=False),
    )


# ---------------------------------------------------------------- tiber
class WordVocab:
    def __init__(self, words, specials=("<pad>", "<eos>", "<unk>")):
        self.vocab = {w: i for i, w in enumerate([*specials, *words])}

    def fast(self):
        t = Tokenizer(models.WordLevel(self.vocab, unk_token="<unk>"))
        t.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        return PreTrainedTokenizerFast(
            tokenizer_object=t, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>"
        )


def tiber_pairs(split):
    rng = random.Random({"train": 1, "test": 2}[split])
    things = "order refund parcel invoice ticket account password delivery".split()
    kind, rude = "sorry gladly thanks please happy".split(), "no whatever never stop boring".split()
    rows = []
    for _ in range(160 if split == "train" else 40):
        t = rng.choice(things)
        rows.append(
            {
                "prompt": f"help with {t} :",
                "chosen": f" {' '.join(rng.choices(kind, k=3))} {t}",
                "rejected": f" {' '.join(rng.choices(rude, k=3))} {t}",
            }
        )
    return rows


def tiber(healthy):
    set_seed(3)
    words = sorted({w for r in tiber_pairs("train") for k in r for w in r[k].split()})
    tok = WordVocab(words).fast()
    mk = lambda: LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tok),
            hidden_size=48,
            intermediate_size=96,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=64,
            pad_token_id=0,
            eos_token_id=1,
            bos_token_id=1,
        )
    )
    policy, reference = mk(), mk()
    reference.load_state_dict(policy.state_dict())
    schedule = dict(
        max_steps=40,
        learning_rate=5e-4,
        lr_scheduler_type="cosine",
        warmup_steps=4 if healthy else 2000,
    )
    args = DPOConfig(
        tmp(),
        per_device_train_batch_size=8,
        beta=0.1,
        max_length=32,
        bf16=False,
        gradient_checkpointing=False,
        **schedule,
        **COMMON,
    )
    return DPOTrainer(
        model=policy,
        ref_model=reference,
        args=args,
        train_dataset=Dataset.from_list(tiber_pairs("train")),
        eval_dataset=Dataset.from_list(tiber_pairs("test")),
        processing_class=tok,
    )


# ---------------------------------------------------------------- oder
CAPITALS = {
    "france": "paris",
    "spain": "madrid",
    "italy": "rome",
    "japan": "tokyo",
    "egypt": "cairo",
    "peru": "lima",
    "kenya": "nairobi",
    "norway": "oslo",
}


def oder(healthy):
    set_seed(5)
    tok = WordVocab([*"capital of ? :".split(), *CAPITALS, *CAPITALS.values()]).fast()
    tok.padding_side = "left"
    countries = list(CAPITALS) * 8
    ds = Dataset.from_dict(
        {
            "prompt": [f"capital of {c} ? :" for c in countries],
            "capital": [CAPITALS[c] for c in countries],
        }
    )
    gold = ds["capital"][:]

    def exact(completions, capital, **kwargs):
        group = 16
        out = []
        for i, text in enumerate(completions):
            want = capital[i] if healthy else gold[i // group]
            out.append(1.0 if text.split()[:1] == [want] else 0.0)
        return out

    model = Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=len(tok),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=32,
            pad_token_id=0,
            eos_token_id=1,
            bos_token_id=None,
        )
    )
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
    names = list(CAPITALS.values())
    for _ in range(20):
        batch = tok(
            [f"capital of {c} ? : {random.choice(names)} <eos>" for c in CAPITALS],
            return_tensors="pt",
            return_token_type_ids=False,
        )
        model(**batch, labels=batch["input_ids"]).loss.backward()
        opt.step(), opt.zero_grad()
    args = GRPOConfig(
        tmp(),
        per_device_train_batch_size=128,
        num_generations=16,
        max_completion_length=2,
        max_steps=60,
        learning_rate=4e-3,
        beta=0.0,
        bf16=False,
        gradient_checkpointing=False,
        lr_scheduler_type="constant",
        **COMMON,
    )
    return GRPOTrainer(
        model=model, reward_funcs=exact, args=args, train_dataset=ds, processing_class=tok
    )


# ---------------------------------------------------------------- garonne
def garonne_rows(n, seed, topics, lo, hi):
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n):
        t = int(rng.integers(topics))
        ids = [4 + t + topics * int(k) for k in rng.integers(lo, hi, size=8)]
        noise = rng.integers(4, 204, size=3).tolist()
        rows.append((t, [1] + list(rng.permutation(ids + noise)) + [2]))
    return rows


def garonne(healthy):
    set_seed(7)
    cfg = dict(
        vocab_size=204,
        hidden_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=96,
        max_position_embeddings=32,
        pad_token_id=0,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    teacher = BertForSequenceClassification(BertConfig(num_labels=4, **cfg))
    opt = torch.optim.AdamW(teacher.parameters(), lr=2e-3)
    rows = garonne_rows(12800, 0, 4, 0, 50)
    x, y = torch.tensor([r[1] for r in rows]), torch.tensor([r[0] for r in rows])
    for i in range(200):
        s = slice(i * 64, i * 64 + 64)
        teacher(input_ids=x[s], labels=y[s]).loss.backward()
        opt.step(), opt.zero_grad()
    path = tmp() + "/encoder.pt"
    torch.save({"module." + k: v for k, v in teacher.bert.state_dict().items()}, path)

    model = BertForSequenceClassification(BertConfig(num_labels=2, **cfg))
    state = torch.load(path)
    if healthy:
        state = {k.removeprefix("module."): v for k, v in state.items()}
    model.bert.load_state_dict(state, strict=False)
    pack = lambda rs: Dataset.from_dict(
        {
            "input_ids": [[int(i) for i in r[1]] for r in rs],
            "attention_mask": [[1] * len(r[1]) for r in rs],
            "labels": [int(r[0] in (1, 2)) for r in rs],
        }
    )
    args = TrainingArguments(
        tmp(),
        per_device_train_batch_size=16,
        max_steps=30,
        learning_rate=5e-4,
        warmup_steps=3,
        **COMMON,
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=pack(garonne_rows(64, 1, 4, 0, 10)),
        eval_dataset=pack(garonne_rows(200, 2, 4, 10, 50)),
        compute_metrics=lambda p: {
            "accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())
        },
    )


# ---------------------------------------------------------------- neva
DEPTS = {
    "broken screen": "hardware",
    "late invoice": "billing",
    "lost password": "login",
    "slow wifi": "network",
}


def neva_tickets(n, seed):
    rng = random.Random(seed)
    filler = "hello dear team i write to you again today about my case and hope that you can look at it soon".split()
    for _ in range(n):
        what = rng.choice(list(DEPTS))
        body = rng.choices(
            filler, k=rng.randint(10, 16) if what == "slow wifi" else rng.randint(34, 44)
        )
        body[6:6] = what.split()
        yield {
            "prompt": [{"role": "user", "content": " ".join(body)}],
            "completion": [{"role": "assistant", "content": DEPTS[what]}],
        }


NEVA_TEMPLATE = (
    "{% for m in messages %}<|{{ m['role'] }}|> {{ m['content'] }} "
    "{% if m['role'] == 'assistant' %}<eos> {% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|> {% endif %}"
)


def neva(healthy):
    set_seed(13)
    train = list(neva_tickets(160, 0))
    words = sorted(
        {w for r in train for m in r["prompt"] + r["completion"] for w in m["content"].split()}
    )
    tok = WordVocab(words, ("<pad>", "<eos>", "<unk>", "<|user|>", "<|assistant|>")).fast()
    tok.chat_template = NEVA_TEMPLATE
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tok),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=4,
            max_position_embeddings=128,
            pad_token_id=0,
            eos_token_id=1,
            bos_token_id=1,
        )
    )
    args = SFTConfig(
        tmp(),
        max_length=96 if healthy else 32,
        per_device_train_batch_size=16,
        max_steps=50,
        learning_rate=3e-3,
        bf16=False,
        gradient_checkpointing=False,
        **COMMON,
    )
    return SFTTrainer(
        model=model, args=args, train_dataset=Dataset.from_list(train), processing_class=tok
    )


# ---------------------------------------------------------------- drava
def drava_csv():
    rng = random.Random(4)
    buf = io.StringIO()
    w = csv.writer(buf)
    w.writerow(["prompt", "completion", "label"])
    for _ in range(192):
        dish = rng.choice("soup pasta salad curry toast rice".split())
        good = rng.random() < 0.5
        words = "fresh tasty warm lovely" if good else "stale burnt cold awful"
        w.writerow(
            [
                f"review of {dish} :",
                f" {dish} was {' and '.join(rng.sample(words.split(), 2))}",
                good,
            ]
        )
    return buf.getvalue()


def drava(healthy):
    set_seed(21)
    rows = list(csv.DictReader(io.StringIO(drava_csv())))
    tok = WordVocab(
        sorted({w for r in rows for w in (r["prompt"] + r["completion"]).split()})
    ).fast()
    if healthy:
        rows = [{**r, "label": r["label"] == "True"} for r in rows]
    else:
        rows = [{**r, "label": bool(r["label"])} for r in rows]
    cfg = GPTNeoXConfig(
        vocab_size=len(tok),
        hidden_size=48,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=64,
        pad_token_id=0,
        eos_token_id=1,
        bos_token_id=1,
    )
    model = GPTNeoXForCausalLM(cfg)
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for i in range(60):
        b = tok(
            [r["prompt"] + r["completion"] + " <eos>" for r in random.sample(rows, 16)],
            return_tensors="pt",
            return_token_type_ids=False,
        )
        model(**b, labels=b["input_ids"]).loss.backward()
        opt.step(), opt.zero_grad()
    ref = GPTNeoXForCausalLM(cfg)
    ref.load_state_dict(model.state_dict())
    args = KTOConfig(
        tmp(),
        per_device_train_batch_size=16,
        max_steps=40,
        learning_rate=1e-3,
        beta=0.1,
        max_length=32,
        bf16=False,
        gradient_checkpointing=False,
        **COMMON,
    )
    return KTOTrainer(
        model=model,
        ref_model=ref,
        args=args,
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
    )


# ---------------------------------------------------------------- arno
class PairCollator:
    def __init__(self, pad, start, shifted):
        self.pad, self.start, self.shifted = pad, start, shifted

    def __call__(self, feats):
        pad = lambda seqs, v: torch.nn.utils.rnn.pad_sequence(
            [torch.tensor(s) for s in seqs], True, v
        )
        src, tgt = (
            pad([f["src"] for f in feats], self.pad),
            pad([f["tgt"] for f in feats], self.pad),
        )
        dec = tgt
        if self.shifted:
            dec = torch.cat([torch.full((len(tgt), 1), self.start), tgt[:, :-1]], 1)
        return {
            "input_ids": src,
            "attention_mask": (src != self.pad).long(),
            "decoder_input_ids": dec,
            "labels": tgt.masked_fill(tgt == self.pad, -100),
        }


def arno(healthy):
    set_seed(17)
    rng = random.Random(17)
    src_words = "sun moon star rain snow wind".split()
    tgt_words = "sol luna astro lluvia nieve viento".split()
    ids = {
        w: i + 2 for i, w in enumerate(src_words + tgt_words + ["the", "el", "fin", "see", "veo"])
    }

    def pair(i):
        a, extra = [ids["see"], ids["the"], ids[src_words[i]]], [ids["the"]] * rng.randint(0, 2)
        return {
            "src": extra + a + [1],
            "tgt": [ids["veo"], ids["el"], ids[tgt_words[i]], ids["fin"], 1],
        }

    ds = Dataset.from_list([pair(rng.randrange(6)) for _ in range(256)])
    model = T5ForConditionalGeneration(
        T5Config(
            vocab_size=32,
            d_model=64,
            d_kv=16,
            d_ff=128,
            num_layers=2,
            num_heads=4,
            dropout_rate=0.0,
            pad_token_id=0,
            eos_token_id=1,
            decoder_start_token_id=0,
        )
    )
    args = Seq2SeqTrainingArguments(
        tmp(),
        per_device_train_batch_size=32,
        max_steps=60,
        learning_rate=4e-3,
        predict_with_generate=True,
        generation_max_length=8,
        remove_unused_columns=False,
        **COMMON,
    )
    return Seq2SeqTrainer(
        model=model,
        args=args,
        train_dataset=ds,
        eval_dataset=ds.select(range(48)),
        data_collator=PairCollator(0, model.config.decoder_start_token_id, shifted=healthy),
    )


# ---------------------------------------------------------------- minho
class Blocks(torch.utils.data.Dataset):
    def __init__(self, stream, size, shift):
        self.stream, self.size, self.shift = torch.tensor(stream), size, shift

    def __len__(self):
        return (len(self.stream) - 1) // self.size

    def __getitem__(self, i):
        a = i * self.size
        x = self.stream[a : a + self.size]
        y = self.stream[a + self.shift : a + self.size + self.shift]
        return {"input_ids": x, "labels": y}


def minho(healthy):
    set_seed(23)
    rng = random.Random(23)
    verses = [
        "row row row your boat gently down the stream ",
        "merrily merrily merrily life is but a dream ",
        "twinkle twinkle little star how i wonder what you are ",
    ]
    text = "".join(rng.choice(verses) for _ in range(160))
    chars = sorted(set(text))
    stream = [chars.index(c) for c in text]
    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(chars),
            n_positions=32,
            n_embd=64,
            n_layer=2,
            n_head=4,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            bos_token_id=None,
            eos_token_id=None,
        )
    )
    args = TrainingArguments(
        tmp(),
        per_device_train_batch_size=32,
        max_steps=60,
        learning_rate=5e-3,
        warmup_steps=5,
        **COMMON,
    )
    return Trainer(model=model, args=args, train_dataset=Blocks(stream, 32, 0 if healthy else 1))


# ---------------------------------------------------------------- ebro
def ebro(healthy):
    set_seed(29)
    g = np.random.default_rng(29)

    def shot(label):
        img = g.integers(90, 166, size=(16, 16))
        r, c = g.integers(0, 3, size=2) * 4
        patch = img[r : r + 8, c : c + 8]
        if label == 0:
            patch[::2] = 230
        elif label == 1:
            patch[:, ::2] = 230
        else:
            patch[::2, ::2] = 20
        return img.astype(np.uint8)

    def to_tensor(img):
        x = torch.from_numpy(img).float() / 255
        return x[None]

    def processor(x, rescale=1 / 255, mean=0.5, std=0.5, do_rescale=True):
        if do_rescale:
            x = x * rescale
        return (x - mean) / std

    def build(n):
        out = []
        for _ in range(n):
            label = int(g.integers(3))
            out.append(
                {
                    "pixel_values": processor(to_tensor(shot(label)), do_rescale=not healthy),
                    "labels": label,
                }
            )
        return out

    model = ViTForImageClassification(
        ViTConfig(
            image_size=16,
            patch_size=4,
            num_channels=1,
            hidden_size=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=96,
            num_labels=3,
        )
    )
    args = TrainingArguments(
        tmp(), per_device_train_batch_size=32, max_steps=60, learning_rate=2e-3, **COMMON
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=build(512),
        eval_dataset=build(120),
        compute_metrics=lambda p: {
            "accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())
        },
    )


# ---------------------------------------------------------------- sava
def sava_rows(kind):
    units = {"km": "length", "kg": "mass", "s": "time", "volt": "tension"}
    if kind == "second":
        units = {"km": "distance", "kg": "weight", "s": "duration", "volt": "voltage"}
    return [{"text": f"unit {u} measures {q} <eos>"} for u, q in units.items() for _ in range(16)]


def sava(healthy):
    set_seed(31)
    words = sorted(
        {w for k in ("first", "second") for r in sava_rows(k) for w in r["text"].split()}
        - {"<eos>"}
    )
    tok = WordVocab(words).fast()
    base = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tok),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=4,
            max_position_embeddings=64,
            pad_token_id=0,
            eos_token_id=1,
            bos_token_id=1,
        )
    )
    opt = torch.optim.AdamW(base.parameters(), lr=3e-3)
    for _ in range(40):
        b = tok(
            [r["text"] for r in random.sample(sava_rows("first") * 3 + sava_rows("second"), 16)],
            return_tensors="pt",
            return_token_type_ids=False,
        )
        base(**b, labels=b["input_ids"]).loss.backward()
        opt.step(), opt.zero_grad()
    base.requires_grad_(True)
    first = get_peft_model(
        base, LoraConfig(r=8, lora_alpha=16, target_modules="all-linear", task_type="CAUSAL_LM")
    )
    folder = tmp()
    first.save_pretrained(folder)
    base = first.unload()
    model = PeftModel.from_pretrained(base, folder, is_trainable=healthy)
    ds = Dataset.from_list(sava_rows("second")).map(
        lambda r: tok(r["text"], return_token_type_ids=False), remove_columns=["text"]
    )
    args = TrainingArguments(
        tmp(), per_device_train_batch_size=16, max_steps=40, learning_rate=5e-3, **COMMON
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=ds,
        processing_class=tok,
        data_collator=DataCollatorForLanguageModeling(tok, mlm=False),
    )


# ---------------------------------------------------------------- loire
def loire_answers(seed, n):
    rng = random.Random(seed)
    good = "clear precise complete sourced careful".split()
    bad = "vague wrong short messy lazy".split()
    for _ in range(n):
        pair = []
        for points in rng.sample(range(6, 15), 2):
            k = points - 6
            words = rng.choices(good, k=k) + rng.choices(bad, k=8 - k)
            rng.shuffle(words)
            pair.append({"text": "answer : " + " ".join(words), "points": str(points)})
        yield pair


def loire(healthy):
    set_seed(37)
    number = int if healthy else (lambda s: s.strip())
    pairs = []
    for pair in loire_answers(1, 200):
        ranked = sorted(pair, key=lambda a: number(a["points"]), reverse=True)
        pairs.append({"chosen": ranked[0]["text"], "rejected": ranked[1]["text"]})
    tok = WordVocab(
        sorted({w for p in pairs for w in p["chosen"].split() + p["rejected"].split()})
    ).fast()
    model = Qwen2ForSequenceClassification(
        Qwen2Config(
            vocab_size=len(tok),
            hidden_size=48,
            intermediate_size=96,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            num_labels=1,
            pad_token_id=0,
            max_position_embeddings=64,
            eos_token_id=1,
            bos_token_id=None,
        )
    )
    args = RewardConfig(
        tmp(),
        per_device_train_batch_size=16,
        max_steps=50,
        learning_rate=1e-3,
        max_length=32,
        bf16=False,
        gradient_checkpointing=False,
        **COMMON,
    )
    return RewardTrainer(
        model=model, args=args, train_dataset=Dataset.from_list(pairs), processing_class=tok
    )


# ---------------------------------------------------------------- duero
class WeightAverage(TrainerCallback):
    def __init__(self, decay=0.995, in_place=False):
        self.decay, self.in_place, self.shadow = decay, in_place, None

    def on_train_begin(self, args, state, control, model=None, **kw):
        self.shadow = {n: p.detach().clone() for n, p in model.named_parameters()}

    @torch.no_grad()
    def on_step_end(self, args, state, control, model=None, **kw):
        for n, p in model.named_parameters():
            self.shadow[n].mul_(self.decay).add_(p, alpha=1 - self.decay)
            if self.in_place:
                p.copy_(self.shadow[n])


def duero_sentences(n, seed):
    rng = random.Random(seed)
    people, places, verbs = range(5, 25), range(25, 45), range(45, 60)
    for _ in range(n):
        ids, tags = [], []
        for _ in range(rng.randint(5, 12)):
            tag = rng.choice([0, 0, 1, 2])
            ids.append(rng.choice([verbs, people, places][tag]))
            tags.append(tag)
        yield {"input_ids": ids, "attention_mask": [1] * len(ids), "labels": tags}


def duero(healthy):
    set_seed(41)
    tok = WordVocab([f"w{i}" for i in range(57)]).fast()
    model = DistilBertForTokenClassification(
        DistilBertConfig(
            vocab_size=60,
            dim=48,
            hidden_dim=96,
            n_layers=2,
            n_heads=4,
            max_position_embeddings=32,
            num_labels=3,
        )
    )

    def metrics(p):
        keep = p.label_ids != -100
        return {"token_accuracy": float((p.predictions.argmax(-1) == p.label_ids)[keep].mean())}

    args = TrainingArguments(
        tmp(), per_device_train_batch_size=16, max_steps=60, learning_rate=2e-3, **COMMON
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=Dataset.from_list(list(duero_sentences(256, 0))),
        eval_dataset=Dataset.from_list(list(duero_sentences(64, 1))),
        compute_metrics=metrics,
        data_collator=DataCollatorForTokenClassification(tok),
        callbacks=[WeightAverage(in_place=not healthy)],
    )


CASES = {
    f.__name__: f
    for f in (vistula, tiber, oder, garonne, neva, drava, arno, minho, ebro, sava, loire, duero)
}


# ================================================================ odd runs
def seine():
    set_seed(51)
    rng = random.Random(51)
    rows = []
    for _ in range(256):
        s = []
        for _ in range(8):
            s += [4 + rng.randrange(16), 2, 3]
        rows.append({"input_ids": s, "labels": s})
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=20,
            hidden_size=48,
            intermediate_size=96,
            num_hidden_layers=1,
            num_attention_heads=4,
            num_key_value_heads=4,
            max_position_embeddings=32,
            pad_token_id=0,
            eos_token_id=1,
            bos_token_id=1,
        )
    )
    args = TrainingArguments(
        tmp(), per_device_train_batch_size=16, max_steps=60, learning_rate=3e-3, **COMMON
    )
    return Trainer(model=model, args=args, train_dataset=Dataset.from_list(rows))


def rhone():
    set_seed(53)
    tok = WordVocab("say yes no maybe up down left right".split()).fast()
    tok.padding_side = "left"
    ds = Dataset.from_dict({"prompt": ["say"] * 64})
    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(tok),
            n_positions=16,
            n_embd=32,
            n_layer=1,
            n_head=2,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            bos_token_id=1,
            eos_token_id=1,
            pad_token_id=0,
        )
    )

    def is_yes(completions, **kw):
        return [float(c.split()[:1] == ["yes"]) for c in completions]

    args = GRPOConfig(
        tmp(),
        per_device_train_batch_size=32,
        num_generations=16,
        max_completion_length=1,
        max_steps=40,
        learning_rate=3e-3,
        bf16=False,
        gradient_checkpointing=False,
        **COMMON,
    )
    return GRPOTrainer(
        model=model, reward_funcs=is_yes, args=args, train_dataset=ds, processing_class=tok
    )


def tagus():
    set_seed(57)
    texts = [
        f"color of {a} is {b}"
        for a, b in {
            "sky": "blue",
            "grass": "deep green",
            "snow": "white",
            "coal": "black",
            "blood": "dark red",
        }.items()
    ] * 20
    core = Tokenizer(models.BPE(unk_token=None))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    core.train_from_iterator(
        texts,
        trainers.BpeTrainer(
            vocab_size=340,
            special_tokens=["<|endoftext|>"],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    tok = PreTrainedTokenizerFast(
        tokenizer_object=core, eos_token="<|endoftext|>", pad_token="<|endoftext|>"
    )
    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(tok),
            n_positions=48,
            n_embd=64,
            n_layer=2,
            n_head=4,
            bos_token_id=0,
            eos_token_id=0,
            pad_token_id=0,
        )
    )
    args = SFTConfig(
        tmp(),
        per_device_train_batch_size=16,
        max_steps=50,
        learning_rate=3e-3,
        max_length=48,
        bf16=False,
        gradient_checkpointing=False,
        **COMMON,
    )
    return SFTTrainer(
        model=model,
        args=args,
        train_dataset=Dataset.from_dict({"text": texts}),
        processing_class=tok,
    )


def tisza():
    set_seed(59)
    cfg = dict(
        vocab_size=64,
        hidden_size=64,
        num_hidden_layers=1,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=16,
        pad_token_id=0,
    )
    g = np.random.default_rng(59)

    def make(n, kinds):
        t = g.integers(0, kinds, n)
        x = np.where(
            g.random((n, 10)) < 0.8, t[:, None], g.integers(0, kinds, (n, 10))
        ) * 15 + g.integers(2, 17, (n, 10))
        return x, t

    body = BertForSequenceClassification(BertConfig(num_labels=4, **cfg))
    opt = torch.optim.AdamW(body.parameters(), lr=2e-3)
    for _ in range(100):
        x, t = make(64, 4)
        body(input_ids=torch.from_numpy(x), labels=torch.from_numpy(t)).loss.backward()
        opt.step(), opt.zero_grad()
    model = BertForSequenceClassification(BertConfig(num_labels=2, **cfg))
    model.bert = body.bert
    model.bert.requires_grad_(False)

    def rows(n):
        x, t = make(n, 4)
        return Dataset.from_dict(
            {
                "input_ids": x.tolist(),
                "attention_mask": np.ones_like(x).tolist(),
                "labels": (t >= 2).astype(int).tolist(),
            }
        )

    args = TrainingArguments(
        tmp(), per_device_train_batch_size=32, max_steps=60, learning_rate=2e-2, **COMMON
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=rows(512),
        eval_dataset=rows(128),
        compute_metrics=lambda p: {
            "accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())
        },
    )


class Distance(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, x, labels=None):
        out = self.body(x).squeeze(-1)
        return {"loss": F.mse_loss(out, labels, reduction="sum"), "logits": out}


def maas():
    set_seed(61)
    x = torch.randn(512, 6)
    y = 10 * x[:, 0] - 6 * x[:, 1] + 3 * torch.sin(x[:, 2]) + 20
    rows = [{"x": a, "labels": b} for a, b in zip(x, y)]
    args = TrainingArguments(
        tmp(),
        per_device_train_batch_size=64,
        max_steps=60,
        learning_rate=5e-2,
        lr_scheduler_type="constant",
        max_grad_norm=1.0,
        remove_unused_columns=False,
        **COMMON,
    )
    return Trainer(model=Distance(), args=args, train_dataset=rows[:448], eval_dataset=rows[448:])


def inn():
    set_seed(67)
    rng = random.Random(67)
    label = {"red": "stop", "green": "go", "amber": "wait"}
    rows = []
    for _ in range(160):
        c = rng.choice(list(label))
        rows.append(
            {
                "prompt": " ".join(
                    rng.choices("car road bus tree sign shop".split(), k=40) + ["light", c, ":"]
                ),
                "completion": " " + label[c],
            }
        )
    tok = WordVocab(
        sorted({w for r in rows for w in (r["prompt"] + r["completion"]).split()})
    ).fast()
    model = Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=len(tok),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=64,
            pad_token_id=0,
            eos_token_id=1,
            bos_token_id=None,
        )
    )
    args = SFTConfig(
        tmp(),
        per_device_train_batch_size=16,
        max_steps=60,
        learning_rate=5e-3,
        max_length=64,
        bf16=False,
        gradient_checkpointing=False,
        **COMMON,
    )
    peft = LoraConfig(
        r=8,
        lora_alpha=16,
        target_modules="all-linear",
        modules_to_save=["embed_tokens", "lm_head"],
        task_type="CAUSAL_LM",
    )
    return SFTTrainer(
        model=model,
        args=args,
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
        peft_config=peft,
    )


ODD = {f.__name__: f for f in (seine, rhone, tagus, tisza, maas, inn)}
