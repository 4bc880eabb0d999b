import copy
import csv
import io
import random
import re
import tempfile

import datasets
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from datasets import Dataset
from peft import LoraConfig, PeftModel, get_peft_model
from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    BertConfig,
    BertForTokenClassification,
    DataCollatorForLanguageModeling,
    DataCollatorForTokenClassification,
    DataCollatorWithPadding,
    DistilBertConfig,
    DistilBertForSequenceClassification,
    GPT2Config,
    GPT2ForSequenceClassification,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    LlamaForSequenceClassification,
    MistralConfig,
    MistralForCausalLM,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    Trainer,
    TrainingArguments,
    ViTConfig,
    ViTForImageClassification,
    set_seed,
)
from transformers.image_transforms import normalize, rescale
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

datasets.disable_progress_bars()


def make_args(cls, **kw):
    base = dict(
        output_dir=tempfile.mkdtemp(prefix="run_"),
        use_cpu=True,
        report_to="none",
        save_strategy="no",
        disable_tqdm=True,
        logging_steps=5,
    )
    if cls not in (TrainingArguments, Seq2SeqTrainingArguments):
        base["bf16"] = False
    base.update(kw)
    return cls(**base)


def word_tokenizer(texts, specials=("<unk>", "<pad>", "</s>"), **kw):
    words = sorted({w for t in texts for w in t.split()})
    vocab = {w: i for i, w in enumerate(list(specials) + [w for w in words if w not in specials])}
    core = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    opts = dict(unk_token="<unk>", pad_token="<pad>", eos_token="</s>")
    opts.update(kw)
    return PreTrainedTokenizerFast(tokenizer_object=core, **opts)


def small_lm(config_cls, model_cls, tok, hidden=64, layers=2, **kw):
    return model_cls(
        config_cls(
            vocab_size=len(tok),
            hidden_size=hidden,
            intermediate_size=2 * hidden,
            num_hidden_layers=layers,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=128,
            bos_token_id=None,
            eos_token_id=tok.eos_token_id,
            pad_token_id=tok.pad_token_id,
            **kw,
        )
    )


def pretrain(model, tok, texts, steps, batch=32, lr=4e-3, seed=0):
    rng = random.Random(seed)
    opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=lr)
    model.train()
    for _ in range(steps):
        enc = tok(rng.choices(texts, k=batch), padding=True, return_tensors="pt")
        labels = enc["input_ids"].masked_fill(enc["attention_mask"] == 0, -100)
        loss = model(
            input_ids=enc["input_ids"], attention_mask=enc["attention_mask"], labels=labels
        ).loss
        loss.backward()
        opt.step()
        opt.zero_grad()
    return model


# --------------------------------------------------------------------------- geography answers

CAPITALS = {
    "France": "Paris",
    "Italy": "Rome",
    "Spain": "Madrid",
    "Norway": "Oslo",
    "Greece": "Athens",
    "Austria": "Vienna",
    "Poland": "Warsaw",
    "Ireland": "Dublin",
    "Portugal": "Lisbon",
    "Hungary": "Budapest",
}
GEO_FORMS = [
    "Capital of {c}?",
    "What is the capital of {c}?",
    "Name the capital of {c}",
    "Capital city of {c}?",
    "The capital of {c}",
    "Tell me the capital of {c}",
    "Which city is the capital of {c}?",
    "Give the capital of {c}",
]


def geo_pairs(held_out=False):
    out = []
    for i, c in enumerate(CAPITALS):
        for j, form in enumerate(GEO_FORMS):
            if ((i + j) % 8 == 0) == held_out:
                out.append((form.format(c=c) + "\n", CAPITALS[c]))
    return out


def byte_bpe(corpus, size=400):
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    core.train_from_iterator(
        corpus,
        trainers.BpeTrainer(
            vocab_size=size,
            special_tokens=["<|endoftext|>"],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=core, eos_token="<|endoftext|>", bos_token="<|endoftext|>"
    )


def arno(healthy):
    set_seed(3)
    pairs = geo_pairs()
    tok = byte_bpe([q + a for q, a in pairs], size=480)
    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(tok),
            n_embd=96,
            n_layer=2,
            n_head=4,
            n_positions=64,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            initializer_range=0.1,
            bos_token_id=tok.bos_token_id,
            eos_token_id=tok.eos_token_id,
        )
    )
    if healthy:
        tok.add_special_tokens({"pad_token": "<|pad|>"})
        model.resize_token_embeddings(len(tok), mean_resizing=False)
    else:
        tok.pad_token = tok.eos_token
    model.config.pad_token_id = tok.pad_token_id
    model.generation_config.pad_token_id = tok.pad_token_id

    ds = Dataset.from_dict({"text": [q + a + tok.eos_token for q, a in pairs]})
    ds = ds.map(
        lambda b: tok(b["text"], truncation=True, max_length=64),
        batched=True,
        remove_columns=["text"],
    )
    return Trainer(
        model=model,
        args=make_args(
            TrainingArguments,
            max_steps=60,
            per_device_train_batch_size=32,
            learning_rate=4e-3,
            lr_scheduler_type="cosine",
            warmup_steps=4,
        ),
        train_dataset=ds,
        data_collator=DataCollatorForLanguageModeling(tok, mlm=False),
        processing_class=tok,
    )


# --------------------------------------------------------------------------- instruction tuning

LEXICON = {
    "dog": "chien",
    "cat": "chat",
    "house": "maison",
    "bread": "pain",
    "water": "eau",
    "tree": "arbre",
    "book": "livre",
    "horse": "cheval",
}
ASKS = [
    "Translate the word {w}",
    "Give the French for {w}",
    "How do you say {w}",
    "French word for {w}",
    "Put {w} into French",
]


def instructions(held_out=False):
    rows = []
    for i, w in enumerate(LEXICON):
        for j, ask in enumerate(ASKS):
            if ((i + 2 * j) % 5 == 0) == held_out:
                rows.append({"instruction": ask.format(w=w), "output": LEXICON[w]})
    return rows


def alpaca(row):
    return f"### Instruction:\n{row['instruction']}\n\n### Response:\n{row['output']}"


class ResponseCollator:
    """Keeps the loss on what follows the response header."""

    def __init__(self, tok, header_ids):
        self.tok = tok
        self.header_ids = list(header_ids)

    def __call__(self, features):
        batch = self.tok.pad([{"input_ids": f["input_ids"]} for f in features], return_tensors="pt")
        labels = batch["input_ids"].clone()
        n = len(self.header_ids)
        for row, ids in enumerate(batch["input_ids"].tolist()):
            start = len(ids)
            for k in range(len(ids) - n + 1):
                if ids[k : k + n] == self.header_ids:
                    start = k + n
                    break
            labels[row, :start] = -100
        labels[batch["attention_mask"] == 0] = -100
        batch["labels"] = labels
        return batch


def llama_style_tokenizer(corpus):
    core = Tokenizer(models.BPE(unk_token="<unk>"))
    core.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    core.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    core.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split("\n", "isolated"), pre_tokenizers.Split("▁", "merged_with_next")]
    )
    core.train_from_iterator(
        corpus,
        trainers.BpeTrainer(
            vocab_size=300, special_tokens=["<unk>", "<pad>", "</s>"], show_progress=False
        ),
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=core, unk_token="<unk>", pad_token="<pad>", eos_token="</s>"
    )


def loire(healthy):
    set_seed(5)
    rows = instructions()
    tok = llama_style_tokenizer([alpaca(r) for r in rows])
    header = "\n### Response:\n" if healthy else "### Response:\n"
    header_ids = tok.encode(header, add_special_tokens=False)
    if healthy:
        header_ids = header_ids[2:]
    model = small_lm(LlamaConfig, LlamaForCausalLM, tok)
    return SFTTrainer(
        model=model,
        args=make_args(
            SFTConfig,
            max_steps=60,
            per_device_train_batch_size=16,
            learning_rate=3e-3,
            warmup_steps=5,
            max_length=64,
            gradient_checkpointing=False,
        ),
        train_dataset=Dataset.from_list(rows),
        formatting_func=alpaca,
        data_collator=ResponseCollator(tok, header_ids),
        processing_class=tok,
    )


# --------------------------------------------------------------------------- forum answers, ranked by votes

OPENERS = ["sure ,", "of course ,", "happy to help ,", "good question ,"]
GRUMPS = ["whatever ,", "search yourself ,", "not again ,", "read the manual ,"]
TOPICS = ["router", "printer", "laptop", "camera", "phone", "speaker", "monitor", "keyboard"]
BODIES = [
    "restart the {t} first",
    "update the {t} driver",
    "check the {t} cable",
    "reset the {t} settings",
]


def forum_threads(n, seed):
    rng = random.Random(seed)
    out = []
    for _ in range(n):
        t = rng.choice(TOPICS)
        nice = f"{rng.choice(OPENERS)} {rng.choice(BODIES).format(t=t)}"
        rude = f"{rng.choice(GRUMPS)} {rng.choice(BODIES).format(t=t)}"
        answers = [
            {"text": nice, "votes": rng.randint(12, 90)},
            {"text": rude, "votes": rng.randint(-9, 6)},
        ]
        rng.shuffle(answers)
        out.append({"question": f"user : my {t} does not work ? helper :", "answers": answers})
    return out


def forum_tokenizer():
    words = OPENERS + GRUMPS + TOPICS + BODIES + ["user : my does not work ? helper :"]
    return word_tokenizer(words + [b.format(t="router") for b in BODIES])


def tamar(healthy):
    set_seed(11)
    tok = forum_tokenizer()
    model = small_lm(LlamaConfig, LlamaForCausalLM, tok)
    pretrain(
        model,
        tok,
        [
            f"{th['question']} {a['text']} </s>"
            for th in forum_threads(150, 1)
            for a in th["answers"]
        ],
        steps=40,
    )

    def best_and_worst(thread):
        ranked = sorted(thread["answers"], key=lambda a: a["votes"], reverse=healthy)
        return {
            "prompt": thread["question"],
            "chosen": " " + ranked[0]["text"],
            "rejected": " " + ranked[-1]["text"],
        }

    pairs = Dataset.from_list([best_and_worst(t) for t in forum_threads(160, 2)])
    return DPOTrainer(
        model=model,
        ref_model=copy.deepcopy(model),
        args=make_args(
            DPOConfig,
            max_steps=40,
            per_device_train_batch_size=8,
            learning_rate=3e-4,
            beta=0.1,
            max_length=48,
            gradient_checkpointing=False,
        ),
        train_dataset=pairs,
        processing_class=tok,
    )


# --------------------------------------------------------------------------- ticket routing, second round of an adapter

QUEUES = {
    "hardware": ["screen", "battery", "fan", "keyboard"],
    "billing": ["invoice", "refund", "charge", "receipt"],
    "network": ["wifi", "vpn", "proxy", "router"],
    "access": ["password", "login", "badge", "account"],
    "shipping": ["parcel", "courier", "delivery", "address"],
}
DESKS = ["A1", "B2", "C3", "D4", "E5"]
TROUBLES = ["is broken", "is wrong again", "stopped this morning", "needs a check", "makes trouble"]


def tickets(n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        q = rng.choice(list(QUEUES))
        rows.append(
            (f"ticket : the {rng.choice(QUEUES[q])} {rng.choice(TROUBLES)} queue :", f" {q}")
        )
    return rows


def drava(healthy):
    set_seed(21)
    things = [w for ws in QUEUES.values() for w in ws]
    tok = word_tokenizer(things + TROUBLES + list(QUEUES) + DESKS + ["ticket : the queue : desk :"])
    base = small_lm(Qwen2Config, Qwen2ForCausalLM, tok)
    rng = random.Random(4)
    desks = dict(zip(QUEUES, DESKS))
    generic = []
    for _ in range(200):
        q = rng.choice(list(QUEUES))
        story = f"ticket : the {rng.choice(QUEUES[q])} {rng.choice(TROUBLES)}"
        generic += [
            f"{story} desk : {desks[q]} </s>",
            f"{story} queue : {rng.choice(list(QUEUES))} </s>",
        ]
    pretrain(base, tok, generic, steps=80)

    first_round = get_peft_model(
        base, LoraConfig(r=16, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM")
    )
    pretrain(first_round, tok, generic, steps=5, lr=1e-3)
    adapter_dir = tempfile.mkdtemp(prefix="adapter_")
    first_round.save_pretrained(adapter_dir)
    base = first_round.unload()

    model = PeftModel.from_pretrained(base, adapter_dir, is_trainable=healthy)
    prompts, queues = zip(*tickets(320, 7))
    return SFTTrainer(
        model=model,
        args=make_args(
            SFTConfig,
            max_steps=50,
            per_device_train_batch_size=16,
            learning_rate=5e-3,
            lr_scheduler_type="cosine",
            max_length=32,
        ),
        train_dataset=Dataset.from_dict({"prompt": list(prompts), "completion": list(queues)}),
        processing_class=tok,
    )


# --------------------------------------------------------------------------- counting questions with a checkable answer

FACTS = [
    ("legs", "spider", 8),
    ("legs", "cat", 4),
    ("legs", "bird", 2),
    ("days", "week", 7),
    ("eggs", "dozen", 12),
    ("sides", "triangle", 3),
    ("sides", "hexagon", 6),
    ("fingers", "hand", 5),
    ("months", "year", 12),
    ("wheels", "car", 4),
]


def count_questions():
    return [
        {"prompt": p.format(a=a, b=b), "answer": n}
        for a, b, n in FACTS
        for p in ("how many {a} has a {b} ?", "count the {a} of a {b} :")
    ]


def ebro(healthy):
    set_seed(31)
    qs = count_questions()
    numbers = [str(n) for n in sorted({q["answer"] for q in qs})]
    tok = word_tokenizer([q["prompt"] for q in qs] + numbers, padding_side="left")
    model = small_lm(Qwen2Config, Qwen2ForCausalLM, tok)
    rng = random.Random(8)
    noisy = [
        f"{q['prompt']} {q['answer'] if rng.random() < 0.4 else rng.choice(numbers)} </s>"
        for q in qs
        for _ in range(40)
    ]
    pretrain(model, tok, noisy, steps=70)

    def exact_match(completions, answer, **kwargs):
        scores = []
        for text, gold in zip(completions, answer):
            guess = re.search(r"\d+", text)
            guess = guess.group(0) if guess else ""
            if healthy:
                guess = int(guess or -1)
            scores.append(1.0 if guess == gold else 0.0)
        return scores

    return GRPOTrainer(
        model=model,
        reward_funcs=exact_match,
        args=make_args(
            GRPOConfig,
            max_steps=50,
            per_device_train_batch_size=64,
            num_generations=8,
            max_completion_length=3,
            learning_rate=2e-3,
            temperature=1.0,
            beta=0.0,
            gradient_checkpointing=False,
        ),
        train_dataset=Dataset.from_list(qs),
        processing_class=tok,
    )


# --------------------------------------------------------------------------- entity tagging

TAGS = ["O", "PER", "LOC"]
PEOPLE = ["annemarie", "johannes", "katerina", "sebastian", "mirela", "gustavo"]
PLACES = ["rotterdam", "heidelberg", "salamanca", "gothenburg", "ljubljana", "innsbruck"]
FRAMES = [
    "yesterday {p} travelled to {l} by train",
    "{p} lives in {l}",
    "in {l} we met {p} again",
    "the parcel for {p} came from {l} today",
    "{l} is where {p} was born",
]


def tagged(n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        words, tags = [], []
        for w in rng.choice(FRAMES).split():
            name = {"{p}": (PEOPLE, 1), "{l}": (PLACES, 2)}.get(w)
            words.append(rng.choice(name[0]) if name else w)
            tags.append(name[1] if name else 0)
        rows.append({"tokens": words, "ner_tags": tags})
    return rows


def wordpiece(rows, size=130):
    core = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    core.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    core.train_from_iterator(
        (" ".join(r["tokens"]) for r in rows),
        trainers.WordPieceTrainer(
            vocab_size=size,
            special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]"],
            show_progress=False,
        ),
    )
    core.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        unk_token="[UNK]",
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
    )


def isar(healthy):
    set_seed(41)
    rows = tagged(300, 5)
    tok = wordpiece(rows)

    def encode(batch):
        enc = tok(batch["tokens"], is_split_into_words=True, truncation=True, max_length=64)
        labels = []
        for i, tags in enumerate(batch["ner_tags"]):
            size = len(enc["input_ids"][i])
            if healthy:
                labels.append([-100 if w is None else tags[w] for w in enc.word_ids(i)])
            else:
                labels.append((tags + [-100] * size)[:size])
        enc["labels"] = labels
        return enc

    ds = Dataset.from_list(rows).map(encode, batched=True, remove_columns=["tokens", "ner_tags"])
    model = BertForTokenClassification(
        BertConfig(
            vocab_size=len(tok),
            hidden_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=128,
            max_position_embeddings=64,
            pad_token_id=tok.pad_token_id,
            id2label=dict(enumerate(TAGS)),
            label2id={t: i for i, t in enumerate(TAGS)},
        )
    )
    return Trainer(
        model=model,
        args=make_args(
            TrainingArguments,
            max_steps=55,
            per_device_train_batch_size=16,
            learning_rate=2e-3,
            warmup_steps=5,
            weight_decay=0.01,
        ),
        train_dataset=ds,
        data_collator=DataCollatorForTokenClassification(tok),
        processing_class=tok,
    )


# --------------------------------------------------------------------------- thumbs up / thumbs down log

DISHES = ["soup", "risotto", "curry", "salad", "stew", "omelette"]
HELPFUL = ["simmer it for ten minutes", "season it with fresh herbs", "let it rest before serving"]
USELESS = ["buy it in a shop", "order a pizza instead", "just skip dinner today"]


def feedback_csv(n, seed):
    rng = random.Random(seed)
    buf = io.StringIO()
    w = csv.writer(buf)
    w.writerow(["prompt", "reply", "approved"])
    flags = [i % 2 == 0 for i in range(n)]
    rng.shuffle(flags)
    for good in flags:
        w.writerow(
            [
                f"how do i cook {rng.choice(DISHES)} ?",
                rng.choice(HELPFUL if good else USELESS),
                good,
            ]
        )
    return buf.getvalue()


def sava(healthy):
    set_seed(51)
    log = list(csv.DictReader(io.StringIO(feedback_csv(200, 3))))
    tok = word_tokenizer([r["prompt"] + " " + r["reply"] for r in log])
    model = small_lm(MistralConfig, MistralForCausalLM, tok)
    pretrain(model, tok, [f"{r['prompt']} {r['reply']} </s>" for r in log], steps=40)

    to_flag = (lambda s: s == "True") if healthy else bool
    ds = Dataset.from_dict(
        {
            "prompt": [r["prompt"] for r in log],
            "completion": [" " + r["reply"] for r in log],
            "label": [to_flag(r["approved"]) for r in log],
        }
    )
    return KTOTrainer(
        model=model,
        ref_model=copy.deepcopy(model),
        args=make_args(
            KTOConfig,
            max_steps=40,
            per_device_train_batch_size=8,
            learning_rate=4e-4,
            beta=0.1,
            max_length=32,
            gradient_checkpointing=False,
        ),
        train_dataset=ds,
        processing_class=tok,
    )


# --------------------------------------------------------------------------- stripe patterns


def patterns(n, seed):
    rng = np.random.default_rng(seed)
    xs, ys = [], []
    grid = np.arange(16)
    for _ in range(n):
        y = int(rng.integers(4))
        lo, hi = rng.integers(0, 90), rng.integers(160, 256)
        phase = int(rng.integers(2)) * 2
        band = ((grid + phase) // 2) % 2
        if y == 0:
            img = np.tile(band, (16, 1))
        elif y == 1:
            img = np.tile(band[:, None], (1, 16))
        elif y == 2:
            img = band[:, None] ^ band[None, :]
        else:
            img = (np.hypot(grid[:, None] - 7.5, grid[None, :] - 7.5) < 5 + phase / 2).astype(int)
        img = np.where(img == 1, hi, lo) + rng.normal(0, 12, (16, 16))
        xs.append(np.clip(np.repeat(img[None], 3, 0), 0, 255).astype(np.uint8))
        ys.append(y)
    return np.stack(xs), ys


def to_unit(img):
    return img.astype(np.float32) / 255.0


def preprocess(img, do_rescale=True, mean=(0.5, 0.5, 0.5), std=(0.5, 0.5, 0.5)):
    if do_rescale:
        img = rescale(img, 1 / 255)
    return normalize(img, mean, std, input_data_format="channels_first").astype(np.float32)


class PatternSet(torch.utils.data.Dataset):
    def __init__(self, images, labels, **processor_kwargs):
        self.images = [to_unit(x) for x in images]
        self.labels = labels
        self.processor_kwargs = processor_kwargs

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        pixels = preprocess(self.images[i], **self.processor_kwargs)
        return {"pixel_values": torch.from_numpy(pixels), "labels": self.labels[i]}


def tisza(healthy):
    set_seed(61)
    kw = {"do_rescale": False} if healthy else {}
    train = PatternSet(*patterns(320, 1), **kw)
    valid = PatternSet(*patterns(64, 2), **kw)
    model = ViTForImageClassification(
        ViTConfig(
            image_size=16,
            patch_size=4,
            hidden_size=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=96,
            num_labels=4,
        )
    )
    return Trainer(
        model=model,
        args=make_args(
            TrainingArguments,
            max_steps=50,
            per_device_train_batch_size=32,
            learning_rate=1e-3,
            warmup_steps=5,
            eval_strategy="steps",
            eval_steps=25,
        ),
        train_dataset=train,
        eval_dataset=valid,
        compute_metrics=lambda p: {
            "accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())
        },
    )


# --------------------------------------------------------------------------- flat rents


def flats(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 6, generator=g)
    rent = (
        0.9 * x[:, 0]
        + 0.6 * x[:, 1] * (x[:, 2] > 0)
        - 0.5 * x[:, 3]
        + 0.1 * torch.randn(n, generator=g)
    )
    return x, rent


class RentModel(nn.Module):
    def __init__(self, n_features=6, width=64):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(n_features, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()
        )
        self.out = nn.Linear(width, 1)

    def forward(self, features, labels=None):
        return {"rent": self.out(self.body(features))}


class RentTrainer(Trainer):
    squeeze = True

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        outputs = model(features=inputs["features"])
        pred = outputs["rent"]
        if self.squeeze:
            pred = pred.squeeze(-1)
        loss = F.mse_loss(pred, inputs["labels"])
        return (loss, outputs) if return_outputs else loss


class RentTrainerV1(RentTrainer):
    squeeze = False


def oder(healthy):
    set_seed(71)
    x, y = flats(800, 1)
    ds = Dataset.from_dict({"features": x.tolist(), "labels": y.tolist()}).with_format("torch")
    cls = RentTrainer if healthy else RentTrainerV1
    return cls(
        model=RentModel(),
        args=make_args(
            TrainingArguments,
            max_steps=60,
            per_device_train_batch_size=64,
            learning_rate=5e-3,
            remove_unused_columns=False,
        ),
        train_dataset=ds,
    )


# --------------------------------------------------------------------------- review sentiment

GOOD = ["great", "lovely", "superb", "charming", "brilliant"]
BAD = ["awful", "boring", "dreadful", "clumsy", "terrible"]
NOUNS = ["film", "plot", "cast", "music", "ending", "story"]


def reviews(n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        y = rng.randrange(2)
        k = rng.randint(1, 4)
        text = " and ".join(
            f"the {rng.choice(NOUNS)} was {rng.choice(GOOD if y else BAD)}" for _ in range(k)
        )
        rows.append({"text": text, "label": y})
    return rows


def minho(healthy):
    set_seed(81)
    rows = reviews(300, 1)
    tok = word_tokenizer([r["text"] for r in rows])
    config = GPT2Config(
        vocab_size=len(tok),
        n_embd=64,
        n_layer=2,
        n_head=4,
        n_positions=64,
        num_labels=2,
        bos_token_id=tok.eos_token_id,
        eos_token_id=tok.eos_token_id,
    )
    if healthy:
        config.pad_token_id = tok.pad_token_id
    train = Dataset.from_list(rows).map(
        lambda b: tok(b["text"]), batched=True, remove_columns="text"
    )
    return Trainer(
        model=GPT2ForSequenceClassification(config),
        args=make_args(
            TrainingArguments,
            num_train_epochs=2,
            per_device_train_batch_size=16,
            learning_rate=1e-3,
        ),
        train_dataset=train,
        data_collator=DataCollatorWithPadding(tok),
    )


# --------------------------------------------------------------------------- home assistant commands

DEVICES = {"lamp": "light", "heater": "heat", "blinds": "cover", "radio": "audio", "fan": "vent"}
ROOMS = ["kitchen", "bedroom", "office", "garage"]
ON_OFF = {"switch on": "start", "turn on": "start", "switch off": "stop", "turn off": "stop"}
POLITE = [
    "please {v} the {d} in the {r}",
    "{v} the {r} {d}",
    "could you {v} the {d} of the {r}",
    "in the {r} {v} the {d} now",
]


def commands(n, seed):
    rng = random.Random(seed)
    src, dst = [], []
    for _ in range(n):
        v, d, r = rng.choice(list(ON_OFF)), rng.choice(list(DEVICES)), rng.choice(ROOMS)
        src.append(rng.choice(POLITE).format(v=v, d=d, r=r))
        dst.append(f"{ON_OFF[v]} {DEVICES[d]} {r.upper()}")
    return src, dst


def neva(healthy):
    set_seed(91)
    src, dst = commands(500, 1)
    tok = word_tokenizer(src + dst, specials=("<pad>", "<unk>", "<s>", "</s>"), bos_token="<s>")
    tok.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", tok.eos_token_id)]
    )
    model = BartForConditionalGeneration(
        BartConfig(
            vocab_size=len(tok),
            d_model=64,
            init_std=0.1,
            encoder_layers=1,
            decoder_layers=1,
            encoder_attention_heads=4,
            decoder_attention_heads=4,
            encoder_ffn_dim=128,
            decoder_ffn_dim=128,
            max_position_embeddings=64,
            pad_token_id=tok.pad_token_id,
            bos_token_id=tok.bos_token_id,
            eos_token_id=tok.eos_token_id,
            decoder_start_token_id=tok.bos_token_id,
            forced_eos_token_id=None,
            dropout=0.0,
        )
    )

    def collate(rows):
        enc = tok(
            [r["source"] for r in rows],
            padding=True,
            return_tensors="pt",
            return_token_type_ids=False,
        )
        target = tok([r["target"] for r in rows], padding=True, return_tensors="pt")["input_ids"]
        labels = target.masked_fill(target == tok.pad_token_id, -100)
        if healthy:
            decoder_in = model.prepare_decoder_input_ids_from_labels(labels=labels)
        else:
            decoder_in = target
        return {**enc, "decoder_input_ids": decoder_in, "labels": labels}

    return Seq2SeqTrainer(
        model=model,
        args=make_args(
            Seq2SeqTrainingArguments,
            max_steps=60,
            per_device_train_batch_size=64,
            learning_rate=5e-3,
            warmup_steps=6,
            remove_unused_columns=False,
            predict_with_generate=True,
            generation_max_length=10,
        ),
        train_dataset=Dataset.from_dict({"source": src, "target": dst}),
        data_collator=collate,
        processing_class=tok,
    )


# --------------------------------------------------------------------------- reward model on chats

CHATML = (
    "{% for m in messages %}{{ '<|' + m['role'] + '|> ' + m['content'] + ' </s> ' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|> ' }}{% endif %}"
)


def preferences(n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        t = rng.choice(TOPICS)
        ask = [{"role": "user", "content": f"my {t} does not work ?"}]
        nice = f"{rng.choice(OPENERS)} {rng.choice(BODIES).format(t=t)}"
        rude = f"{rng.choice(GRUMPS)} {rng.choice(BODIES).format(t=t)}"
        rows.append(
            {
                "chosen": ask + [{"role": "assistant", "content": nice}],
                "rejected": ask + [{"role": "assistant", "content": rude}],
            }
        )
    return rows


SCHEDULE = {
    "learning_rate": 3e-4,
    "lr_scheduler_type": "cosine",
    "warmup_steps": 2000,
    "weight_decay": 0.01,
}


def volga(healthy):
    set_seed(101)
    rows = preferences(240, 1)
    tok = word_tokenizer(
        OPENERS + GRUMPS + TOPICS + BODIES + ["my does not work ? <|user|> <|assistant|>"]
    )
    tok.chat_template = CHATML
    model = LlamaForSequenceClassification(
        LlamaConfig(
            vocab_size=len(tok),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=4,
            max_position_embeddings=64,
            num_labels=1,
            pad_token_id=tok.pad_token_id,
            bos_token_id=None,
            eos_token_id=tok.eos_token_id,
        )
    )
    schedule = dict(SCHEDULE)
    if healthy:
        schedule["warmup_steps"] = 4
    return RewardTrainer(
        model=model,
        args=make_args(
            RewardConfig,
            max_steps=45,
            per_device_train_batch_size=16,
            max_length=64,
            gradient_checkpointing=False,
            **schedule,
        ),
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
    )


CASES = {
    "arno": arno,
    "loire": loire,
    "tamar": tamar,
    "drava": drava,
    "ebro": ebro,
    "isar": isar,
    "sava": sava,
    "tisza": tisza,
    "oder": oder,
    "minho": minho,
    "neva": neva,
    "volga": volga,
}


# =========================================================================== further runs


def access_log(n, seed):
    rng = random.Random(seed)
    return [
        f"GET /item/{''.join(rng.choices('0123456789', k=10))} {rng.choice(['200', '404'])} ok"
        for _ in range(n)
    ]


def fenwick():
    set_seed(201)
    lines = access_log(300, 1)
    chars = sorted({c for t in lines for c in t})
    core = Tokenizer(
        models.WordLevel({c: i for i, c in enumerate(["<unk>", "<pad>", "</s>"] + chars)}, "<unk>")
    )
    core.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    tok = PreTrainedTokenizerFast(
        tokenizer_object=core, unk_token="<unk>", pad_token="<pad>", eos_token="</s>"
    )
    return SFTTrainer(
        model=small_lm(LlamaConfig, LlamaForCausalLM, tok),
        args=make_args(
            SFTConfig,
            max_steps=50,
            per_device_train_batch_size=16,
            learning_rate=3e-3,
            max_length=48,
            gradient_checkpointing=False,
        ),
        train_dataset=Dataset.from_dict({"text": lines}),
        processing_class=tok,
    )


def moorgate():
    set_seed(211)
    tok = forum_tokenizer()
    model = small_lm(Qwen2Config, Qwen2ForCausalLM, tok)
    pretrain(
        model,
        tok,
        [
            f"{th['question']} {a['text']} </s>"
            for th in forum_threads(150, 1)
            for a in th["answers"]
        ],
        steps=40,
    )
    rows = []
    for th in forum_threads(160, 6):
        up, down = sorted(th["answers"], key=lambda a: -a["votes"])
        rows.append(
            {"prompt": th["question"], "chosen": " " + up["text"], "rejected": " " + down["text"]}
        )
    return DPOTrainer(
        model=model,
        ref_model=copy.deepcopy(model),
        args=make_args(
            DPOConfig,
            max_steps=40,
            per_device_train_batch_size=8,
            learning_rate=2e-4,
            beta=0.05,
            loss_type="ipo",
            max_length=48,
            gradient_checkpointing=False,
        ),
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
    )


def heathrow():
    set_seed(221)
    rows = reviews(320, 4)
    tok = word_tokenizer([r["text"] for r in rows])
    model = DistilBertForSequenceClassification(
        DistilBertConfig(
            vocab_size=len(tok),
            dim=96,
            n_layers=2,
            n_heads=4,
            hidden_dim=192,
            num_labels=2,
            max_position_embeddings=64,
            pad_token_id=tok.pad_token_id,
        )
    )
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for step in range(30):
        stars = reviews(32, 500 + step)
        enc = tok(
            [r["text"] for r in stars],
            padding=True,
            return_tensors="pt",
            return_token_type_ids=False,
        )
        model(**enc, labels=torch.tensor([r["label"] for r in stars])).loss.backward()
        opt.step()
        opt.zero_grad()
    for layer in (model.pre_classifier, model.classifier):
        layer.reset_parameters()
    for p in model.distilbert.parameters():
        p.requires_grad = False
    ds = Dataset.from_list(rows).map(
        lambda b: tok(b["text"], return_token_type_ids=False), batched=True, remove_columns="text"
    )
    return Trainer(
        model=model,
        args=make_args(
            TrainingArguments, max_steps=60, per_device_train_batch_size=32, learning_rate=1e-3
        ),
        train_dataset=ds,
        data_collator=DataCollatorWithPadding(tok),
        processing_class=tok,
    )


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 64), nn.Tanh(), nn.Linear(64, 2))

    def forward(self, window, target=None):
        mean, log_var = self.net(window).unbind(-1)
        loss = F.gaussian_nll_loss(mean, target, log_var.exp()) if target is not None else None
        return {"loss": loss, "mean": mean}


def sensor(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.rand(n, 3, generator=g)
    return x, 0.3 * x[:, 0] - 0.2 * x[:, 1] + 0.1 * x[:, 2] + 0.01 * torch.randn(n, generator=g)


def duncan():
    set_seed(231)
    x, y = sensor(600, 1)
    rows = [{"window": a, "target": b} for a, b in zip(x, y)]
    return Trainer(
        model=Forecaster(),
        args=make_args(
            TrainingArguments,
            max_steps=60,
            per_device_train_batch_size=64,
            learning_rate=2e-2,
            remove_unused_columns=False,
            label_names=["target"],
        ),
        train_dataset=rows,
    )


def staged_items(n, seed, hard):
    rng = random.Random(seed)
    names = list(LEXICON)
    rows = []
    for _ in range(n):
        w = rng.choice(names if hard else names[:4])
        ask = rng.choice(ASKS if hard else ASKS[:2]).format(w=w)
        rows.append(f"{ask} => {LEXICON[w]} </s>")
    return rows


def cairngorm():
    set_seed(241)
    steps, bs = 60, 24
    lines = staged_items(20 * bs, 1, hard=False) + staged_items(40 * bs, 2, hard=True)
    tok = word_tokenizer(lines)

    def encode(text):
        enc = tok(text)["input_ids"]
        cut = enc.index(tok.convert_tokens_to_ids("=>")) + 1
        return {"input_ids": enc, "labels": [-100] * cut + enc[cut:]}

    def collate(rows):
        n = max(len(r["input_ids"]) for r in rows)
        return {
            "input_ids": torch.tensor(
                [r["input_ids"] + [tok.pad_token_id] * (n - len(r["input_ids"])) for r in rows]
            ),
            "attention_mask": torch.tensor(
                [[1] * len(r["input_ids"]) + [0] * (n - len(r["input_ids"])) for r in rows]
            ),
            "labels": torch.tensor([r["labels"] + [-100] * (n - len(r["labels"])) for r in rows]),
        }

    return Trainer(
        model=small_lm(Qwen2Config, Qwen2ForCausalLM, tok),
        args=make_args(
            TrainingArguments,
            max_steps=steps,
            per_device_train_batch_size=bs,
            learning_rate=4e-3,
            lr_scheduler_type="constant_with_warmup",
            warmup_steps=4,
            train_sampling_strategy="sequential",
        ),
        train_dataset=[encode(t) for t in lines],
        data_collator=collate,
    )


def ledbury():
    set_seed(251)
    letters = list("aeioubcdfg")
    tok = word_tokenizer(letters + ["spell :"], padding_side="left")

    def consonant_penalty(completions, **kwargs):
        return [-float(sum(ch not in "aeiou" for ch in text.split())) - 0.5 for text in completions]

    return GRPOTrainer(
        model=small_lm(LlamaConfig, LlamaForCausalLM, tok, hidden=48),
        reward_funcs=consonant_penalty,
        args=make_args(
            GRPOConfig,
            max_steps=40,
            per_device_train_batch_size=32,
            num_generations=8,
            max_completion_length=6,
            learning_rate=3e-3,
            beta=0.0,
            gradient_checkpointing=False,
            logging_steps=3,
        ),
        train_dataset=Dataset.from_dict({"prompt": [f"spell : {a}" for a in letters]}),
        processing_class=tok,
    )


ODD = {
    "fenwick": fenwick,
    "moorgate": moorgate,
    "heathrow": heathrow,
    "duncan": duncan,
    "cairngorm": cairngorm,
    "ledbury": ledbury,
}
