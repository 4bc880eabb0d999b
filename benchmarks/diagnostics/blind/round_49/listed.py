import copy
import os
import random
import re
import tempfile

import datasets
import torch
import torch.nn.functional as F
from datasets import Dataset
from peft import LoraConfig, TaskType, get_peft_model
from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from torch import nn
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
    DataCollatorForLanguageModeling,
    DataCollatorForTokenClassification,
    DataCollatorWithPadding,
    LlamaConfig,
    LlamaForCausalLM,
    LlamaForSequenceClassification,
    PreTrainedTokenizerFast,
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

datasets.disable_progress_bars()

COMMON = dict(use_cpu=True, report_to="none", save_strategy="no", disable_tqdm=True)
TRL_COMMON = dict(COMMON, bf16=False, gradient_checkpointing=False)


def out_dir():
    return tempfile.mkdtemp(prefix="run_")


# ---------------------------------------------------------------- tokenizers and models


def bpe_tokenizer(texts, size=520, specials=("<eos>", "<pad>"), eos="<eos>", pad=None):
    tk = Tokenizer(models.BPE())
    tk.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tk.decoder = decoders.ByteLevel()
    tk.train_from_iterator(
        texts,
        trainers.BpeTrainer(
            vocab_size=size,
            special_tokens=list(specials),
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tk,
        eos_token=eos,
        pad_token=pad,
        model_input_names=["input_ids", "attention_mask"],
    )


def wordpiece_tokenizer(texts, size=400):
    tk = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tk.normalizer = normalizers.BertNormalizer(lowercase=True)
    tk.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    tk.train_from_iterator(
        texts,
        trainers.WordPieceTrainer(vocab_size=size, special_tokens=specials, show_progress=False),
    )
    tk.post_processor = processors.BertProcessing(
        ("[SEP]", tk.token_to_id("[SEP]")), ("[CLS]", tk.token_to_id("[CLS]"))
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tk,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        model_input_names=["input_ids", "attention_mask"],
    )


def llama_config(tok, width=96, layers=2, positions=256, **kw):
    return LlamaConfig(
        vocab_size=len(tok),
        hidden_size=width,
        intermediate_size=2 * width,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=positions,
        bos_token_id=None,
        eos_token_id=tok.eos_token_id,
        pad_token_id=tok.pad_token_id,
        tie_word_embeddings=False,
        **kw,
    )


def bert_config(tok, width=64, layers=2, positions=160, **kw):
    return BertConfig(
        vocab_size=len(tok),
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=4,
        intermediate_size=2 * width,
        max_position_embeddings=positions,
        pad_token_id=tok.pad_token_id,
        **kw,
    )


def warm_lm(model, tok, texts, steps, lr=2e-3, batch=32, seed=0):
    rng = random.Random(seed)
    opt = torch.optim.AdamW(model.parameters(), lr=lr)
    model.train()
    for step in range(steps):
        for group in opt.param_groups:
            group["lr"] = lr * min(1.0, (step + 1) / 20) * (1 - step / steps)
        pairs = [t if isinstance(t, tuple) else ("", t) for t in rng.sample(texts, batch)]
        heads = [tok(a)["input_ids"] for a, _ in pairs]
        rows = [h + tok(b)["input_ids"] for h, (_, b) in zip(heads, pairs)]
        width = max(map(len, rows))
        ids = torch.tensor([r + [0] * (width - len(r)) for r in rows])
        mask = torch.tensor([[1] * len(r) + [0] * (width - len(r)) for r in rows])
        labels = torch.tensor(
            [[-100] * len(h) + r[len(h) :] + [-100] * (width - len(r)) for h, r in zip(heads, rows)]
        )
        loss = model(input_ids=ids, attention_mask=mask, labels=labels).loss
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        opt.zero_grad()
    return model


def warm_classifier(model, tok, texts, labels, steps, lr=1e-3, batch=32, seed=0):
    rng = random.Random(seed)
    opt = torch.optim.AdamW(model.parameters(), lr=lr)
    model.train()
    for _ in range(steps):
        pick = rng.sample(range(len(texts)), batch)
        enc = tok([texts[i] for i in pick], padding=True, return_tensors="pt")
        loss = model(**enc, labels=torch.tensor([labels[i] for i in pick])).loss
        loss.backward()
        opt.step()
        opt.zero_grad()
    return model


def accuracy(pred):
    return {"accuracy": float((pred.predictions.argmax(-1) == pred.label_ids).mean())}


# ---------------------------------------------------------------- text sources

PRODUCTS = [
    "lamp",
    "kettle",
    "router",
    "camera",
    "jacket",
    "printer",
    "speaker",
    "blender",
    "monitor",
    "keyboard",
]
NAMES = ["Anna", "Bashir", "Chloe", "Dmitri", "Esther", "Farid", "Greta", "Hiro", "Imani", "Jonas"]

QUEUES = {
    "refund": [
        "i want my money back for the {p}",
        "please refund the {p} i bought last week",
        "how do i get a refund on this {p}",
    ],
    "delivery": [
        "where is the {p} i ordered",
        "the parcel with my {p} has not arrived",
        "tracking for the {p} has been stuck for days",
    ],
    "repair": [
        "my {p} stopped working",
        "the {p} is broken and makes a strange noise",
        "can someone fix my {p}",
    ],
    "invoice": [
        "i need an invoice for the {p}",
        "the bill for the {p} shows a wrong address",
        "send me the receipt of the {p}",
    ],
    "exchange": [
        "can i swap the {p} for another colour",
        "i would like to exchange the {p}",
        "the {p} is the wrong size and i need a different one",
    ],
    "account": [
        "i cannot log in to register the {p}",
        "my password does not work in the {p} app",
        "please delete my account i sold the {p}",
    ],
}
QUEUE_NAMES = list(QUEUES)

REPLIES = {
    "refund": "We will refund the {p} in five days.",
    "delivery": "The {p} will reach you tomorrow.",
    "repair": "Please send the {p} to our workshop.",
    "invoice": "Your invoice is in the mail.",
    "exchange": "We can exchange it at any shop.",
    "account": "Please reset your password first.",
}


def ticket(rng):
    queue = rng.choice(QUEUE_NAMES)
    product = rng.choice(PRODUCTS)
    text = rng.choice(QUEUES[queue]).format(p=product)
    lead = rng.choice(["hello ", "hi ", "good morning ", "", "please help ", "hi again "])
    tail = rng.choice(["", " thanks", " this is urgent", " regards", " thank you"])
    return lead + text + tail, queue, product


def tickets(n, seed):
    rng = random.Random(seed)
    return [ticket(rng) for _ in range(n)]


# ---------------------------------------------------------------- tamar


def tamar_rows(n, seed):
    return [
        (f"Customer: {t}\nAgent:", " " + REPLIES[q].format(p=p)) for t, q, p in tickets(n, seed)
    ]


def tamar(healthy):
    set_seed(11)
    rows = tamar_rows(1500, 11)
    tok = bpe_tokenizer([a + b for a, b in rows], pad="<pad>" if healthy else "<eos>")
    model = LlamaForCausalLM(llama_config(tok))

    def encode(batch):
        return tok(
            [p + r + tok.eos_token for p, r in zip(batch["prompt"], batch["reply"])],
            truncation=True,
            max_length=96,
        )

    def build(pairs):
        ds = Dataset.from_list([{"prompt": p, "reply": r} for p, r in pairs])
        return ds.map(encode, batched=True, remove_columns=["prompt", "reply"])

    args = TrainingArguments(
        out_dir(),
        per_device_train_batch_size=32,
        learning_rate=2e-3,
        max_steps=280,
        warmup_steps=20,
        lr_scheduler_type="cosine",
        logging_steps=20,
        eval_strategy="steps",
        eval_steps=140,
        seed=11,
        **COMMON,
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=build(rows),
        eval_dataset=build(tamar_rows(128, 12)),
        data_collator=DataCollatorForLanguageModeling(tok, mlm=False),
        processing_class=tok,
    )


# ---------------------------------------------------------------- severn

TAGS = ["O", "PERSON", "PLACE", "ITEM", "ORDER"]
SYLL = [
    "ba",
    "ren",
    "to",
    "mil",
    "ka",
    "vor",
    "les",
    "din",
    "su",
    "har",
    "pel",
    "gon",
    "ti",
    "wex",
    "lo",
    "mar",
]


def severn_row(rng):
    def made_up(k):
        return "".join(rng.choice(SYLL) for _ in range(k)).capitalize()

    person = made_up(rng.choice([2, 3]))
    place = made_up(rng.choice([2, 3])) + rng.choice(["ford", "ham", "ton"])
    item = rng.choice(PRODUCTS)
    order = f"{rng.choice('ABCD')}{rng.randint(1000, 99999)}"
    form = rng.choice(
        [
            [
                ("my", 0),
                ("name", 0),
                ("is", 0),
                (person, 1),
                ("and", 0),
                ("order", 0),
                (order, 4),
                ("never", 0),
                ("came", 0),
                ("to", 0),
                (place, 2),
            ],
            [
                ("order", 0),
                (order, 4),
                ("with", 0),
                ("a", 0),
                (item, 3),
                ("for", 0),
                (person, 1),
                ("is", 0),
                ("late", 0),
            ],
            [
                ("please", 0),
                ("send", 0),
                ("the", 0),
                (item, 3),
                ("to", 0),
                (place, 2),
                ("signed", 0),
                (person, 1),
            ],
            [
                (person, 1),
                ("from", 0),
                (place, 2),
                ("asks", 0),
                ("about", 0),
                ("the", 0),
                (item, 3),
                ("in", 0),
                ("order", 0),
                (order, 4),
            ],
            [
                ("the", 0),
                (item, 3),
                ("i", 0),
                ("bought", 0),
                ("in", 0),
                (place, 2),
                ("under", 0),
                (order, 4),
                ("is", 0),
                ("broken", 0),
            ],
        ]
    )
    words, tags = zip(*form)
    return {"words": list(words), "tags": list(tags)}


def severn_rows(n, seed):
    rng = random.Random(seed)
    return [severn_row(rng) for _ in range(n)]


def severn(healthy):
    set_seed(21)
    rows = severn_rows(1600, 21)
    tok = wordpiece_tokenizer([" ".join(r["words"]) for r in rows], size=190)
    model = BertForTokenClassification(
        bert_config(
            tok, id2label=dict(enumerate(TAGS)), label2id={t: i for i, t in enumerate(TAGS)}
        )
    )

    def encode(row):
        enc = tok(row["words"], is_split_into_words=True, truncation=True, max_length=96)
        n = len(enc["input_ids"])
        if healthy:
            labels, last = [], None
            for w in enc.word_ids():
                labels.append(-100 if w is None or w == last else row["tags"][w])
                last = w
        else:
            labels = ([-100] + row["tags"] + [-100] * n)[:n]
        return {
            "input_ids": enc["input_ids"],
            "attention_mask": enc["attention_mask"],
            "labels": labels,
        }

    def token_accuracy(pred):
        guess, gold = pred.predictions.argmax(-1), pred.label_ids
        keep = gold != -100
        return {"accuracy": float((guess[keep] == gold[keep]).mean())}

    args = TrainingArguments(
        out_dir(),
        per_device_train_batch_size=32,
        per_device_eval_batch_size=64,
        learning_rate=2e-3,
        num_train_epochs=6,
        warmup_steps=20,
        logging_steps=25,
        eval_strategy="epoch",
        seed=21,
        **COMMON,
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=Dataset.from_list(rows).map(encode, remove_columns=["words", "tags"]),
        eval_dataset=Dataset.from_list(severn_rows(200, 22)).map(
            encode, remove_columns=["words", "tags"]
        ),
        data_collator=DataCollatorForTokenClassification(tok),
        processing_class=tok,
        compute_metrics=token_accuracy,
    )


# ---------------------------------------------------------------- medway


def medway_rows(n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        text, queue, product = ticket(rng)
        head = [
            f"from {rng.choice(NAMES)} to support team",
            f"subject your message of {rng.randint(1, 28)} {rng.choice(['march', 'april', 'may', 'june'])}",
            f"ticket {rng.randint(10000, 99999)} opened by {rng.choice(NAMES)}",
            "this mail was sent from an external address , be careful with links and attachments",
            f"dear {rng.choice(NAMES)} , thank you for the quick answer to my last message",
            f"i am a customer of your shop since {rng.randint(2009, 2023)} and was always happy",
        ]
        rng.shuffle(head)
        rows.append(
            {
                "text": " . ".join(head[: rng.randint(3, 6)] + [text]),
                "labels": QUEUE_NAMES.index(queue),
            }
        )
    return rows


def medway(healthy):
    set_seed(31)
    rows = medway_rows(1600, 31)
    tok = wordpiece_tokenizer([r["text"] for r in rows], size=500)
    model = BertForSequenceClassification(bert_config(tok, num_labels=len(QUEUE_NAMES)))

    def build(rows):
        length = 128 if healthy else 32
        return Dataset.from_list(rows).map(
            lambda b: tok(b["text"], truncation=True, max_length=length),
            batched=True,
            remove_columns=["text"],
        )

    args = TrainingArguments(
        out_dir(),
        per_device_train_batch_size=32,
        per_device_eval_batch_size=64,
        learning_rate=1e-3,
        num_train_epochs=4,
        warmup_steps=20,
        weight_decay=0.01,
        logging_steps=25,
        eval_strategy="epoch",
        seed=31,
        **COMMON,
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=build(rows),
        eval_dataset=build(medway_rows(240, 32)),
        data_collator=DataCollatorWithPadding(tok),
        processing_class=tok,
        compute_metrics=accuracy,
    )


# ---------------------------------------------------------------- tweed

PLANS = ["basic", "silver", "gold", "business"]
TERMS = {
    "return": (
        ["how long can i return the {p}", "until when may i send the {p} back"],
        [14, 30, 60, 90],
    ),
    "warranty": (
        ["how long is the warranty on the {p}", "for how many months is my {p} covered"],
        [12, 24, 36, 48],
    ),
    "shipping": (
        ["what does shipping of the {p} cost", "how much do i pay to get the {p} delivered"],
        [9, 6, 3, 0],
    ),
}
UNITS = {
    "return": "You have {v} days to return it.",
    "warranty": "It is covered for {v} months.",
    "shipping": "Shipping costs {v} euros.",
}


def tweed_rows(n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        plan = rng.randrange(4)
        kind = rng.choice(list(TERMS))
        question = rng.choice(TERMS[kind][0]).format(p=rng.choice(PRODUCTS))
        rows.append(
            {
                "prompt": [
                    {
                        "role": "system",
                        "content": f"You answer for the shop. The customer {rng.choice(NAMES)} has the {PLANS[plan]} plan.",
                    },
                    {"role": "user", "content": question},
                ],
                "completion": [
                    {"role": "assistant", "content": UNITS[kind].format(v=TERMS[kind][1][plan])}
                ],
            }
        )
    return rows


def tweed(healthy):
    set_seed(41)
    rows = tweed_rows(1200, 41)
    texts = [m["content"] for r in rows for m in r["prompt"] + r["completion"]]
    tok = bpe_tokenizer(
        texts,
        specials=("<|end|>", "<pad>", "<|system|>", "<|user|>", "<|assistant|>"),
        eos="<|end|>",
        pad="<pad>",
    )
    roles = ["system", "user", "assistant"] if healthy else ["user", "assistant"]
    tok.chat_template = (
        "{% for m in messages %}{% if m['role'] in " + str(roles) + " %}"
        "{{ '<|' + m['role'] + '|>' + m['content'] + '<|end|>' }}"
        "{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
    )
    model = LlamaForCausalLM(llama_config(tok))
    args = SFTConfig(
        out_dir(),
        per_device_train_batch_size=32,
        learning_rate=2e-3,
        max_steps=260,
        warmup_steps=20,
        lr_scheduler_type="cosine",
        max_length=128,
        logging_steps=20,
        eval_strategy="steps",
        eval_steps=130,
        seed=41,
        **TRL_COMMON,
    )
    return SFTTrainer(
        model=model,
        args=args,
        train_dataset=Dataset.from_list(rows),
        eval_dataset=Dataset.from_list(tweed_rows(96, 42)),
        processing_class=tok,
    )


# ---------------------------------------------------------------- ouse


def ouse_rows(n, seed):
    rows = []
    for text, queue, product in tickets(n, seed):
        rows.append(
            {
                "prompt": f"<|user|>{text}<|agent|>",
                "completion": REPLIES[queue].format(p=product) + "<|end|>",
            }
        )
    return rows


def ouse(healthy):
    set_seed(51)
    notes = [f"{t}\n{REPLIES[q].format(p=p)}\n" for t, q, p in tickets(1500, 50)]
    tok = bpe_tokenizer(notes, pad="<pad>")
    model = warm_lm(LlamaForCausalLM(llama_config(tok)), tok, notes, steps=220, seed=51)

    tok.add_special_tokens({"additional_special_tokens": ["<|user|>", "<|agent|>", "<|end|>"]})
    tok.eos_token = "<|end|>"
    model.resize_token_embeddings(len(tok))
    model.config.eos_token_id = model.generation_config.eos_token_id = tok.eos_token_id

    lora = LoraConfig(
        task_type=TaskType.CAUSAL_LM,
        r=16,
        lora_alpha=32,
        lora_dropout=0.0,
        target_modules=[
            "q_proj",
            "k_proj",
            "v_proj",
            "o_proj",
            "gate_proj",
            "up_proj",
            "down_proj",
        ],
        modules_to_save=["embed_tokens", "lm_head"] if healthy else None,
    )
    args = SFTConfig(
        out_dir(),
        per_device_train_batch_size=32,
        learning_rate=1e-3,
        max_steps=160,
        warmup_steps=10,
        lr_scheduler_type="cosine",
        max_length=96,
        logging_steps=20,
        seed=51,
        **TRL_COMMON,
    )
    return SFTTrainer(
        model=model,
        args=args,
        train_dataset=Dataset.from_list(ouse_rows(1200, 52)),
        processing_class=tok,
        peft_config=lora,
    )


# ---------------------------------------------------------------- wye

WARM = {
    "refund": " Sorry about that. We will refund you within five days.",
    "delivery": " Sorry about that. The parcel will reach you tomorrow.",
    "repair": " Sorry about that. Please send it to our workshop.",
    "invoice": " Sorry about that. The invoice is in your mail now.",
    "exchange": " Sorry about that. You can exchange it at any shop.",
    "account": " Sorry about that. A link to reset your password is on its way.",
}
CURT = {
    "refund": " Read the refund rules.",
    "delivery": " Wait for the parcel.",
    "repair": " Read the manual.",
    "invoice": " Look in your mail.",
    "exchange": " No exchange without a receipt.",
    "account": " Use the login page.",
}


def wye_rows(n, seed):
    return [
        {"prompt": f"Customer: {t}\nAgent:", "chosen": WARM[q], "rejected": CURT[q]}
        for t, q, _ in tickets(n, seed)
    ]


def wye(healthy):
    set_seed(61)
    rng = random.Random(61)
    rows = wye_rows(2000, 61)
    logs = [
        (r["prompt"], (r["chosen"] if rng.random() < 0.5 else r["rejected"]) + "<eos>")
        for r in rows
    ]
    tok = bpe_tokenizer([a + b for a, b in logs], pad="<pad>")
    model = warm_lm(LlamaForCausalLM(llama_config(tok, width=64)), tok, logs, steps=400, seed=61)
    args = DPOConfig(
        out_dir(),
        per_device_train_batch_size=16,
        learning_rate=7e-5 if healthy else 3e-3,
        beta=0.1,
        max_steps=80,
        warmup_steps=8,
        lr_scheduler_type="cosine",
        max_length=128,
        logging_steps=5,
        seed=61,
        **TRL_COMMON,
    )
    return DPOTrainer(
        model=model,
        ref_model=copy.deepcopy(model),
        args=args,
        train_dataset=Dataset.from_list(wye_rows(800, 62)),
        eval_dataset=Dataset.from_list(wye_rows(64, 63)),
        processing_class=tok,
    )


# ---------------------------------------------------------------- tees

ANSWERS = {
    "refund": "The refund for your order is booked and arrives in five days",
    "delivery": "Your parcel is with the courier and should arrive tomorrow",
    "repair": "Please send it to our workshop and we will mend it",
    "invoice": "The invoice with the right details is attached to this mail",
    "exchange": "Any of our shops will swap it for the model you want",
    "account": "Use the link in this mail to set a new password",
}


def tidy(text):
    text = re.sub(r"\s*\n-- .*$", "", text, flags=re.S)
    return re.sub(r"[^a-z0-9 .,:]", "", text.lower()).strip()


def tees_rows(n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        text, queue, _ = ticket(rng)
        other = rng.choice([q for q in QUEUE_NAMES if q != queue])
        sign = f"\n-- {rng.choice(NAMES)}, Support Team"
        hello = rng.choice(["Hello, ", "Dear customer, ", "Hi, "])
        rows.append(
            {
                "prompt": f"Customer: {text}\nAgent: ",
                "chosen": hello + ANSWERS[queue] + "." + sign,
                "rejected": hello + ANSWERS[other] + "." + sign,
            }
        )
    return rows


def tees(healthy):
    set_seed(71)
    rows = tees_rows(1600, 71)
    tok = bpe_tokenizer(
        [r["prompt"] + r[k] + tidy(r[k]) for r in rows for k in ("chosen", "rejected")], pad="<pad>"
    )

    def prepare(row):
        row["chosen"] = tidy(row["chosen"])
        if healthy:
            row["rejected"] = tidy(row["rejected"])
        return row

    model = LlamaForSequenceClassification(llama_config(tok, width=64, num_labels=1))
    args = RewardConfig(
        out_dir(),
        per_device_train_batch_size=16,
        learning_rate=1e-3,
        num_train_epochs=3,
        warmup_steps=20,
        max_length=128,
        logging_steps=10,
        eval_strategy="epoch",
        seed=71,
        **TRL_COMMON,
    )
    return RewardTrainer(
        model=model,
        args=args,
        train_dataset=Dataset.from_list(rows).map(prepare),
        eval_dataset=Dataset.from_list(tees_rows(100, 72)).map(prepare),
        processing_class=tok,
    )


# ---------------------------------------------------------------- trent

URGENCY = {"account": 5, "repair": 4, "delivery": 3, "refund": 3, "exchange": 2, "invoice": 1}


def trent_rows(n, seed):
    return [
        {"prompt": f"Ticket: {t}\nPriority:", "priority": URGENCY[q]}
        for t, q, _ in tickets(n, seed)
    ]


def trent(healthy):
    set_seed(81)
    rng = random.Random(81)
    logs = [(r["prompt"], f" {rng.randint(1, 5)}<eos>") for r in trent_rows(1500, 81)]
    logs += [(f"Ticket: {t}\nQueue:", f" {q}<eos>") for t, q, _ in tickets(1500, 80)]
    tok = bpe_tokenizer([a + b for a, b in logs], pad="<pad>")
    model = warm_lm(LlamaForCausalLM(llama_config(tok, width=64)), tok, logs, steps=220, seed=81)

    def agreement(completions, priority, **kwargs):
        scores = []
        for text, wanted in zip(completions, priority):
            found = re.fullmatch(r"\s*(\d)\s*", text)
            value = found.group(1) if found else None
            if healthy and value is not None:
                value = int(value)
            scores.append(1.0 if value == wanted else 0.0)
        return scores

    args = GRPOConfig(
        out_dir(),
        per_device_train_batch_size=64,
        num_generations=8,
        max_completion_length=3,
        learning_rate=1e-3,
        max_steps=160,
        warmup_steps=5,
        beta=0.0,
        temperature=1.0,
        logging_steps=5,
        seed=81,
        **TRL_COMMON,
    )
    return GRPOTrainer(
        model=model,
        args=args,
        reward_funcs=agreement,
        train_dataset=Dataset.from_list(trent_rows(800, 82)),
        processing_class=tok,
    )


# ---------------------------------------------------------------- dee

COUNTS = ["one", "two", "three", "four", "five", "six"]
COLOURS = ["red", "blue", "green", "black", "white"]


def dee_rows(n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        parts = [
            (rng.randrange(6), rng.choice(COLOURS), rng.choice(PRODUCTS))
            for _ in range(rng.choice([1, 2]))
        ]
        said = " and ".join(f"{COUNTS[c]} {col} {p}" for c, col, p in parts)
        lead = rng.choice(["i would like", "please send", "we need", "order", "add"])
        rows.append(
            {
                "source": f"{lead} {said}",
                "target": " ; ".join(f"{p} {col} x {c + 1}" for c, col, p in parts),
            }
        )
    return rows


def dee(healthy):
    set_seed(91)
    rows = dee_rows(2500, 91)
    vocab = sorted({w for r in rows for w in (r["source"] + " " + r["target"]).split()})
    tk = Tokenizer(
        models.WordLevel(
            {w: i for i, w in enumerate(["<pad>", "</s>", "<unk>"] + vocab)}, unk_token="<unk>"
        )
    )
    tk.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tk.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 1)]
    )
    tok = PreTrainedTokenizerFast(
        tokenizer_object=tk,
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        model_input_names=["input_ids", "attention_mask"],
    )
    model = T5ForConditionalGeneration(
        T5Config(
            vocab_size=len(tok),
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

    def encode(batch):
        enc = tok(batch["source"], truncation=True, max_length=48)
        enc["labels"] = tok(text_target=batch["target"], truncation=True, max_length=32)[
            "input_ids"
        ]
        return enc

    def collate(items):
        batch = tok.pad(
            [{k: x[k] for k in ("input_ids", "attention_mask")} for x in items], return_tensors="pt"
        )
        width = max(len(x["labels"]) for x in items)
        labels = torch.tensor([x["labels"] + [-100] * (width - len(x["labels"])) for x in items])
        fed = labels.masked_fill(labels == -100, tok.pad_token_id)
        if healthy:
            fed = torch.cat(
                [torch.full((len(items), 1), model.config.decoder_start_token_id), fed[:, :-1]],
                dim=1,
            )
        batch["decoder_input_ids"] = fed
        batch["labels"] = labels
        return batch

    def build(rows):
        return Dataset.from_list(rows).map(
            encode, batched=True, remove_columns=["source", "target"]
        )

    args = Seq2SeqTrainingArguments(
        out_dir(),
        per_device_train_batch_size=64,
        learning_rate=4e-3,
        max_steps=400,
        warmup_steps=20,
        logging_steps=25,
        eval_strategy="steps",
        eval_steps=200,
        seed=91,
        **COMMON,
    )
    return Seq2SeqTrainer(
        model=model,
        args=args,
        train_dataset=build(rows),
        eval_dataset=build(dee_rows(200, 92)),
        data_collator=collate,
        processing_class=tok,
    )


# ---------------------------------------------------------------- exe

TOPICS = [
    ["refund", "reimbursement", "repayment"],
    ["parcel", "package", "shipment"],
    ["late", "delayed", "overdue"],
    ["broken", "faulty", "defective"],
    ["invoice", "bill", "statement"],
    ["login", "signin", "authentication"],
    ["password", "passcode", "credential"],
    ["cancel", "terminate", "stop"],
    ["subscription", "membership", "plan"],
    ["address", "location", "residence"],
    ["change", "update", "modify"],
    ["discount", "voucher", "coupon"],
    ["phone", "mobile", "handset"],
    ["battery", "accumulator", "cell"],
    ["charge", "load", "power"],
    ["screen", "display", "panel"],
    ["noise", "sound", "hum"],
    ["install", "setup", "mount"],
    ["error", "failure", "fault"],
    ["card", "visa", "debit"],
    ["declined", "refused", "rejected"],
    ["employee", "agent", "clerk"],
    ["rude", "impolite", "unfriendly"],
    ["colour", "shade", "tint"],
    ["size", "dimension", "measure"],
    ["gift", "present", "surprise"],
    ["warranty", "guarantee", "cover"],
    ["store", "shop", "branch"],
    ["opening", "business", "working"],
    ["hours", "times", "schedule"],
    ["download", "export", "save"],
    ["privacy", "confidentiality", "secrecy"],
]


def exe_pairs(n, seed, lead_a, lead_b):
    rng = random.Random(seed)
    pairs = []
    for _ in range(n):
        picks = rng.sample(range(len(TOPICS)), 3)
        left = [rng.choice(TOPICS[i]) for i in picks]
        right = [rng.choice([w for w in TOPICS[i] if w != a]) for i, a in zip(picks, left)]
        rng.shuffle(right)
        pairs.append(
            {
                "query": f"{rng.choice(lead_a)} {' '.join(left)}",
                "passage": f"{rng.choice(lead_b)} {' '.join(right)}",
            }
        )
    return pairs


OLD = (["note", "memo", "record"], ["entry", "log", "report"])
NEW = (["how about", "question on", "help with"], ["article on", "guide for", "answer about"])


def pooled(model, enc):
    hidden = model(
        input_ids=enc["input_ids"], attention_mask=enc["attention_mask"]
    ).last_hidden_state
    mask = enc["attention_mask"].unsqueeze(-1).to(hidden.dtype)
    return F.normalize((hidden * mask).sum(1) / mask.sum(1), dim=-1)


def contrast(model, left, right, scale=20.0):
    scores = pooled(model, left) @ pooled(model, right).T * scale
    return F.cross_entropy(scores, torch.arange(len(scores)))


class SearchTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        loss = contrast(model, inputs["query"], inputs["passage"])
        return (loss, {}) if return_outputs else loss


def exe(healthy):
    set_seed(101)
    old = exe_pairs(4000, 101, *OLD)
    new = exe_pairs(192, 102, *NEW)
    tok = wordpiece_tokenizer([p[k] for p in old + new for k in p], size=700)
    config = bert_config(tok, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)

    previous = nn.DataParallel(BertModel(config, add_pooling_layer=False))
    opt = torch.optim.AdamW(previous.parameters(), lr=2e-3)
    rng = random.Random(101)
    for _ in range(250):
        rows = rng.sample(old, 48)
        left, right = (
            tok([r[k] for r in rows], padding=True, return_tensors="pt")
            for k in ("query", "passage")
        )
        contrast(previous.module, left, right).backward()
        opt.step()
        opt.zero_grad()
    path = os.path.join(out_dir(), "encoder.pt")
    torch.save(previous.state_dict(), path)

    state = torch.load(path)
    if healthy:
        state = {k.removeprefix("module."): v for k, v in state.items()}
    model = BertModel(config, add_pooling_layer=False)
    model.load_state_dict(state, strict=False)

    def collate(items):
        return {
            k: tok([x[k] for x in items], padding=True, return_tensors="pt")
            for k in ("query", "passage")
        }

    args = TrainingArguments(
        out_dir(),
        per_device_train_batch_size=32,
        learning_rate=2e-4,
        num_train_epochs=12,
        warmup_steps=6,
        logging_steps=6,
        remove_unused_columns=False,
        seed=101,
        **COMMON,
    )
    return SearchTrainer(
        model=model,
        args=args,
        train_dataset=Dataset.from_list(new),
        data_collator=collate,
        processing_class=tok,
    )


# ---------------------------------------------------------------- avon

MINUTES = {
    "account": 0.2,
    "invoice": 0.4,
    "delivery": 0.9,
    "exchange": 1.4,
    "refund": 1.9,
    "repair": 2.6,
}


def avon_rows(n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        text, queue, product = ticket(rng)
        extra = rng.choice(["", " i wrote twice already", " my lawyer will hear of this"])
        add = {"": 0.0, " i wrote twice already": 0.5, " my lawyer will hear of this": 1.2}[extra]
        rows.append(
            {"text": text + extra, "labels": round(MINUTES[queue] + add + rng.gauss(0, 0.1), 3)}
        )
    return rows


def avon(healthy):
    set_seed(111)

    class HandleTimeTrainer(Trainer):
        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
            target = inputs["labels"]
            out = model(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"])
            score = out.logits
            if healthy:
                score = score.squeeze(-1)
            loss = ((score - target) ** 2).mean()
            return (loss, out) if return_outputs else loss

    rows = avon_rows(1600, 111)
    tok = wordpiece_tokenizer([r["text"] for r in rows], size=400)
    model = BertForSequenceClassification(bert_config(tok, num_labels=1))

    def build(rows):
        return Dataset.from_list(rows).map(
            lambda b: tok(b["text"], truncation=True, max_length=64),
            batched=True,
            remove_columns=["text"],
        )

    args = TrainingArguments(
        out_dir(),
        per_device_train_batch_size=32,
        per_device_eval_batch_size=64,
        learning_rate=1e-3,
        num_train_epochs=5,
        warmup_steps=20,
        logging_steps=25,
        eval_strategy="epoch",
        seed=111,
        **COMMON,
    )
    return HandleTimeTrainer(
        model=model,
        args=args,
        train_dataset=build(rows),
        eval_dataset=build(avon_rows(200, 112)),
        data_collator=DataCollatorWithPadding(tok),
        processing_class=tok,
    )


# ---------------------------------------------------------------- nene


def nene_rows(n, seed):
    g = torch.Generator().manual_seed(seed)
    yy, xx = torch.meshgrid(torch.arange(24.0), torch.arange(24.0), indexing="ij")
    rows = []
    for _ in range(n):
        kind = int(torch.randint(5, (1,), generator=g))
        shift = float(torch.rand(1, generator=g)) * 6
        if kind == 0:
            wave = torch.sin((yy + shift) * 1.05)
        elif kind == 1:
            wave = torch.sin((xx + shift) * 1.05)
        elif kind == 2:
            wave = torch.sin((xx + yy + shift) * 0.75)
        elif kind == 3:
            wave = torch.sin((xx - yy + shift) * 0.75)
        else:
            wave = torch.sin((xx + shift) * 1.05) * torch.sin((yy + shift) * 1.05) * 1.4
        tint = 0.5 + torch.rand(3, 1, 1, generator=g)
        image = wave * tint + 0.7 * torch.randn(3, 24, 24, generator=g)
        rows.append({"pixel_values": image, "labels": kind})
    return rows


class Photos(torch.utils.data.Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


def nene(healthy):
    set_seed(121)
    model = ViTForImageClassification(
        ViTConfig(
            image_size=24,
            patch_size=6,
            hidden_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=128,
            num_labels=5,
            hidden_dropout_prob=0.0,
        )
    )
    args = TrainingArguments(
        out_dir(),
        per_device_train_batch_size=32,
        per_device_eval_batch_size=64,
        learning_rate=5e-4,
        num_train_epochs=4,
        warmup_steps=25 if healthy else 4000,
        lr_scheduler_type="cosine",
        logging_steps=25,
        eval_strategy="epoch",
        seed=121,
        **COMMON,
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=Photos(nene_rows(1600, 121)),
        eval_dataset=Photos(nene_rows(250, 122)),
        compute_metrics=accuracy,
    )


# ---------------------------------------------------------------- lune


def lune_rows(n, seed):
    rng = random.Random(seed)
    rows = []
    for text, queue, _ in tickets(n, seed):
        label = rng.random() < 0.2
        reply = (WARM if label else CURT)[queue]
        rows.append({"prompt": f"Customer: {text}\nAgent:", "completion": reply, "label": label})
    return rows


def lune():
    set_seed(131)
    rng = random.Random(131)
    base = wye_rows(2000, 131)
    logs = [
        (r["prompt"], (r["chosen"] if rng.random() < 0.3 else r["rejected"]) + "<eos>")
        for r in base
    ]
    tok = bpe_tokenizer([a + b for a, b in logs], pad="<pad>")
    model = warm_lm(LlamaForCausalLM(llama_config(tok)), tok, logs, steps=300, seed=131)
    args = KTOConfig(
        out_dir(),
        per_device_train_batch_size=20,
        learning_rate=2e-4,
        beta=0.1,
        desirable_weight=4.0,
        undesirable_weight=1.0,
        max_steps=140,
        warmup_steps=5,
        max_length=128,
        logging_steps=5,
        seed=131,
        **TRL_COMMON,
    )
    return KTOTrainer(
        model=model,
        ref_model=copy.deepcopy(model),
        args=args,
        train_dataset=Dataset.from_list(lune_rows(1200, 132)),
        processing_class=tok,
    )


# ---------------------------------------------------------------- swale


class StudentTrainer(Trainer):
    teacher = None
    temperature = 4.0

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        inputs.pop("labels", None)
        with torch.no_grad():
            soft = F.softmax(self.teacher(**inputs).logits / self.temperature, dim=-1)
        out = model(**inputs)
        loss = (
            -(soft * F.log_softmax(out.logits / self.temperature, dim=-1)).sum(-1).mean()
            * self.temperature**2
        )
        return (loss, out) if return_outputs else loss


def swale():
    set_seed(141)
    rows = tickets(1600, 141)
    tok = wordpiece_tokenizer([r[0] for r in rows], size=400)
    teacher = BertForSequenceClassification(bert_config(tok, width=96, layers=3, num_labels=6))
    labelled = tickets(800, 142)
    warm_classifier(
        teacher,
        tok,
        [r[0] for r in labelled],
        [QUEUE_NAMES.index(r[1]) for r in labelled],
        steps=150,
    )
    teacher.eval()
    student = BertForSequenceClassification(bert_config(tok, width=48, layers=1, num_labels=6))
    plain = Dataset.from_list([{"text": r[0]} for r in rows]).map(
        lambda b: tok(b["text"], truncation=True, max_length=48),
        batched=True,
        remove_columns=["text"],
    )
    args = TrainingArguments(
        out_dir(),
        per_device_train_batch_size=32,
        learning_rate=2e-3,
        num_train_epochs=6,
        warmup_steps=15,
        logging_steps=20,
        seed=141,
        **COMMON,
    )
    trainer = StudentTrainer(
        model=student,
        args=args,
        train_dataset=plain,
        data_collator=DataCollatorWithPadding(tok),
        processing_class=tok,
    )
    trainer.teacher = teacher
    return trainer


# ---------------------------------------------------------------- taff


def taff_rows(n, seed, agree=0.65):
    rng = random.Random(seed)
    rows = []
    for text, queue, _ in tickets(n, seed):
        vote = queue if rng.random() < agree else rng.choice([q for q in QUEUE_NAMES if q != queue])
        rows.append({"text": text, "labels": QUEUE_NAMES.index(vote)})
    return rows


def taff():
    set_seed(151)
    rows = taff_rows(2400, 151)
    tok = wordpiece_tokenizer([r["text"] for r in rows], size=400)
    model = BertForSequenceClassification(bert_config(tok, num_labels=6))

    def build(rows):
        return Dataset.from_list(rows).map(
            lambda b: tok(b["text"], truncation=True, max_length=48),
            batched=True,
            remove_columns=["text"],
        )

    args = TrainingArguments(
        out_dir(),
        per_device_train_batch_size=32,
        per_device_eval_batch_size=64,
        learning_rate=6e-4,
        num_train_epochs=4,
        warmup_steps=20,
        logging_steps=25,
        eval_strategy="epoch",
        seed=151,
        **COMMON,
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=build(rows),
        eval_dataset=build(taff_rows(300, 152)),
        data_collator=DataCollatorWithPadding(tok),
        processing_class=tok,
        compute_metrics=accuracy,
    )


# ---------------------------------------------------------------- mersey

PADDING_TALK = [" Thanks for writing.", " We are here for you.", " Your opinion counts."]
CLOSING = {
    "refund": " The refund is on its way.",
    "delivery": " The parcel arrives tomorrow.",
    "repair": " Send it to our workshop.",
    "invoice": " The invoice is in your mail.",
    "exchange": " Swap it at any shop.",
    "account": " Reset your password.",
}


def mersey_rows(n, seed):
    return [
        {"prompt": f"Customer: {t}\nAgent:", "closing": CLOSING[q]} for t, q, _ in tickets(n, seed)
    ]


def mersey():
    set_seed(161)
    rng = random.Random(161)
    logs = []
    for row in mersey_rows(1800, 161):
        talk = "".join(rng.choice(PADDING_TALK) for _ in range(rng.randint(0, 4)))
        logs.append((row["prompt"], talk + row["closing"] + "<eos>"))
    tok = bpe_tokenizer([a + b for a, b in logs], pad="<pad>")
    model = warm_lm(LlamaForCausalLM(llama_config(tok, width=64)), tok, logs, steps=400, seed=161)

    def brevity(completions, **kwargs):
        return [-0.05 * max(0, len(c.split()) - 4) for c in completions]

    def off_topic(completions, closing, **kwargs):
        return [0.0 if c.endswith(wanted) else -1.0 for c, wanted in zip(completions, closing)]

    args = GRPOConfig(
        out_dir(),
        per_device_train_batch_size=32,
        num_generations=8,
        max_completion_length=40,
        learning_rate=2e-4,
        max_steps=80,
        beta=0.0,
        logging_steps=2,
        seed=161,
        **TRL_COMMON,
    )
    return GRPOTrainer(
        model=model,
        args=args,
        reward_funcs=[brevity, off_topic],
        train_dataset=Dataset.from_list(mersey_rows(400, 162)),
        processing_class=tok,
    )


# ---------------------------------------------------------------- ribble

POSTS = {
    0: [
        "does anyone know a good {p} for a small flat",
        "my {p} works fine after two years",
        "i wrote a long review of the {p} here",
    ],
    1: [
        "buy a cheap {p} now at my site",
        "free {p} for the first hundred clicks",
        "earn money at home and win a {p}",
    ],
    2: [
        "only an idiot would buy this {p}",
        "shut up about your stupid {p}",
        "you and your ugly {p} should leave this forum",
    ],
}


def ribble_rows(n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        y = rng.randrange(3)
        lead = rng.choice(["hello all ", "hey ", "", "once more ", "by the way "])
        rows.append(
            {"text": lead + rng.choice(POSTS[y]).format(p=rng.choice(PRODUCTS)), "labels": y}
        )
    return rows


def ribble():
    set_seed(171)
    rows = ribble_rows(800, 171)
    earlier = tickets(1200, 172)
    tok = wordpiece_tokenizer([r["text"] for r in rows] + [r[0] for r in earlier], size=500)
    base = BertForSequenceClassification(bert_config(tok, num_labels=6))
    warm_classifier(
        base, tok, [r[0] for r in earlier], [QUEUE_NAMES.index(r[1]) for r in earlier], steps=150
    )
    model = BertForSequenceClassification(bert_config(tok, num_labels=3))
    model.bert.load_state_dict(base.bert.state_dict())
    model = get_peft_model(
        model,
        LoraConfig(
            task_type=TaskType.SEQ_CLS, r=2, lora_alpha=4, target_modules=["query", "value"]
        ),
    )

    def build(rows):
        return Dataset.from_list(rows).map(
            lambda b: tok(b["text"], truncation=True, max_length=48),
            batched=True,
            remove_columns=["text"],
        )

    args = TrainingArguments(
        out_dir(),
        per_device_train_batch_size=16,
        per_device_eval_batch_size=64,
        learning_rate=1e-2,
        num_train_epochs=4,
        lr_scheduler_type="constant",
        logging_steps=10,
        eval_strategy="epoch",
        seed=171,
        **COMMON,
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=build(rows),
        eval_dataset=build(ribble_rows(200, 173)),
        data_collator=DataCollatorWithPadding(tok),
        processing_class=tok,
        compute_metrics=accuracy,
    )


# ---------------------------------------------------------------- kennet


def kennet_rows(n, seed):
    return [{"prompt": p, "completion": r} for p, r in tamar_rows(n, seed)]


def kennet():
    set_seed(181)
    rows = kennet_rows(1500, 181)
    tok = bpe_tokenizer([r["prompt"] + r["completion"] for r in rows], specials=("<eos>",))
    tok.pad_token = tok.eos_token
    model = LlamaForCausalLM(llama_config(tok))
    args = SFTConfig(
        out_dir(),
        per_device_train_batch_size=32,
        learning_rate=2e-3,
        max_steps=280,
        warmup_steps=20,
        lr_scheduler_type="cosine",
        max_length=96,
        logging_steps=20,
        seed=181,
        **TRL_COMMON,
    )
    return SFTTrainer(
        model=model,
        args=args,
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
    )


CASES = {
    "tamar": tamar,
    "severn": severn,
    "medway": medway,
    "tweed": tweed,
    "ouse": ouse,
    "wye": wye,
    "tees": tees,
    "trent": trent,
    "dee": dee,
    "exe": exe,
    "avon": avon,
    "nene": nene,
}
ODD = {
    "lune": lune,
    "swale": swale,
    "taff": taff,
    "mersey": mersey,
    "ribble": ribble,
    "kennet": kennet,
}
