import copy
import math
import os
import random
import re
import tempfile

import numpy as np
import torch
import torch.nn.functional as F
from datasets import Dataset
from peft import LoraConfig, get_peft_model
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
    DataCollatorForLanguageModeling,
    DataCollatorForSeq2Seq,
    DataCollatorForTokenClassification,
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
    SFTConfig,
    SFTTrainer,
)


# ---------------------------------------------------------------- shared parts


def base_args(**kw):
    args = dict(
        output_dir=tempfile.mkdtemp(prefix="run_"),
        use_cpu=True,
        report_to="none",
        save_strategy="no",
        disable_tqdm=True,
        logging_steps=10,
        seed=7,
    )
    args.update(kw)
    return args


def trl_args(**kw):
    return base_args(bf16=False, gradient_checkpointing=False, **kw)


def word_tokenizer(texts, specials=("<unk>", "<pad>", "<eos>"), wrap=None, **named):
    words = sorted({w for t in texts for w in t.split()} - set(specials))
    vocab = {w: i for i, w in enumerate(list(specials) + words)}
    raw = Tokenizer(models.WordLevel(vocab=vocab, unk_token="<unk>"))
    raw.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    raw.add_special_tokens(list(specials))
    if wrap:
        head, tail = wrap
        raw.post_processor = processors.TemplateProcessing(
            single=f"{head} $A {tail}", special_tokens=[(head, vocab[head]), (tail, vocab[tail])]
        )
    return PreTrainedTokenizerFast(
        tokenizer_object=raw,
        unk_token="<unk>",
        model_input_names=["input_ids", "attention_mask"],
        **named,
    )


def encoder_tokenizer(texts):
    return word_tokenizer(
        texts,
        specials=("<pad>", "<unk>", "<cls>", "<sep>"),
        wrap=("<cls>", "<sep>"),
        pad_token="<pad>",
        cls_token="<cls>",
        sep_token="<sep>",
    )


def llama_config(tok, **kw):
    cfg = dict(
        vocab_size=len(tok),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=128,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=tok.eos_token_id,
        pad_token_id=tok.pad_token_id,
    )
    cfg.update(kw)
    return LlamaConfig(**cfg)


def bert_config(tok, **kw):
    cfg = dict(
        vocab_size=len(tok),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=128,
        pad_token_id=tok.pad_token_id,
    )
    cfg.update(kw)
    return BertConfig(**cfg)


def pretrain_lm(model, tok, texts, steps, lr=3e-3, batch_size=32):
    opt = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.01)
    model.train()
    for step in range(steps):
        for group in opt.param_groups:
            group["lr"] = lr * min(1.0, (step + 1) / 10) * (1.0 - 0.9 * step / steps)
        picked = random.sample(texts, min(batch_size, len(texts)))
        enc = tok(picked, padding=True, return_tensors="pt")
        labels = enc["input_ids"].masked_fill(enc["attention_mask"] == 0, -100)
        loss = model(
            input_ids=enc["input_ids"], attention_mask=enc["attention_mask"], labels=labels
        ).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        opt.zero_grad()
    return model


def pretrain_classifier(model, tok, rows, steps, lr=1e-3, batch_size=32):
    opt = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.01)
    model.train()
    for _ in range(steps):
        picked = random.sample(rows, batch_size)
        enc = tok([r["text"] for r in picked], padding=True, return_tensors="pt")
        labels = torch.tensor([r["label"] for r in picked])
        loss = model(
            input_ids=enc["input_ids"], attention_mask=enc["attention_mask"], labels=labels
        ).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        opt.zero_grad()
    return model.eval()


def encode_rows(tok, rows, max_length=96):
    out = []
    for r in rows:
        enc = tok(r["text"], truncation=True, max_length=max_length)
        item = {"input_ids": enc["input_ids"], "attention_mask": enc["attention_mask"]}
        if "label" in r:
            item["label"] = r["label"]
        out.append(item)
    return Dataset.from_list(out)


def accuracy(pred):
    return {"accuracy": float((np.argmax(pred.predictions, axis=-1) == pred.label_ids).mean())}


# ---------------------------------------------------------------- data

ACTIONS = {
    "block": "freeze",
    "unblock": "unfreeze",
    "replace": "reissue",
    "raise": "limits",
    "cancel": "close",
    "rename": "label",
    "check": "history",
    "share": "export",
}
OBJECTS = {
    "card": "cards",
    "account": "accounts",
    "transfer": "payments",
    "loan": "credit",
    "deposit": "savings",
    "statement": "documents",
    "mandate": "orders",
    "portfolio": "investments",
}
SECURED = ("unblock", "raise", "cancel", "share")
OPENERS = [
    "how do i",
    "can you help me",
    "hello please",
    "i would like to",
    "where can i",
    "what if i must",
]


def support_rows(seed, n):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        verb, thing = rng.choice(list(ACTIONS)), rng.choice(list(OBJECTS))
        steps = f"open {OBJECTS[thing]} then choose {ACTIONS[verb]}"
        if verb in SECURED:
            steps += " and confirm with your pin"
        rows.append(
            {
                "ask": f"{rng.choice(OPENERS)} {verb} my {thing}",
                "reply": f"sure , {steps}",
                "brush": f"please call the branch about your {thing}",
            }
        )
    return rows


ITEMS = [
    "kettle",
    "lamp",
    "jacket",
    "backpack",
    "headset",
    "blender",
    "tent",
    "keyboard",
    "scarf",
    "drone",
]
REASONS = {
    "arrived broken": "we send a new one today",
    "is too small": "choose a bigger size and we swap it for free",
    "is too big": "choose a smaller size and we swap it for free",
    "came late": "you get a voucher",
    "has the wrong colour": "send us a photo and keep the parcel closed",
    "makes noise": "the workshop will look at it within five days",
}
CUSTOMER_OPENERS = ["hi", "good evening", "listen", "hello there", "excuse me"]


def return_rows(seed, n):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        item, reason = rng.choice(ITEMS), rng.choice(list(REASONS))
        rows.append(
            {
                "prompt": f"customer : {rng.choice(CUSTOMER_OPENERS)} my {item} {reason} agent :",
                "completion": f" sorry about the {item} , {REASONS[reason]}",
            }
        )
    return rows


FILLER = (
    "hello i wrote to you last week and nobody has answered so please look into it as soon as possible because we are "
    "travelling abroad and need this solved before monday thanks many kind regards from the whole office of our small "
    "company where several colleagues have been waiting for days without any news at all about what happened"
).split()
INTENTS = {
    "fraud": ["unknown payment", "stolen card", "strange booking"],
    "loan": ["mortgage rate", "instalment plan", "credit offer"],
    "fees": ["monthly charge", "hidden costs", "price list"],
    "login": ["password reset", "locked app", "missing code"],
    "transfer": ["wire abroad", "standing order", "wrong iban"],
    "cash": ["machine empty", "swallowed notes", "coin deposit"],
    "invest": ["fund shares", "depot move", "stock sale"],
    "address": ["new flat", "moved house", "changed street"],
}


def intent_rows(seed, n, labels=True):
    rng = random.Random(seed)
    names = list(INTENTS)
    rows = []
    for _ in range(n):
        k = rng.randrange(len(names))
        words = [rng.choice(FILLER) for _ in range(rng.randint(3, 8))]
        words += rng.choice(INTENTS[names[k]]).split()
        words += [rng.choice(FILLER) for _ in range(rng.randint(1, 5))]
        rows.append({"text": " ".join(words), "label": k} if labels else {"text": " ".join(words)})
    return rows


REQUESTS = {
    "refund": ["refund the full amount", "pay back the money", "refund what was debited"],
    "waiver": ["waive the overdraft fee", "drop the reminder charges", "cancel those fees"],
    "closure": ["close the old account", "terminate the contract", "end the agreement"],
    "callback": ["phone me tomorrow", "ring back this evening", "arrange a telephone appointment"],
}


def letter_rows(seed, n):
    rng = random.Random(seed)
    names = list(REQUESTS)
    rows = []
    for _ in range(n):
        k = rng.randrange(len(names))
        body = [rng.choice(FILLER) for _ in range(rng.randint(36, 50))]
        close = f"therefore kindly {rng.choice(REQUESTS[names[k]])}"
        rows.append({"text": " ".join(body) + " " + close, "label": k})
    return rows


TAGS = ["O", "SUP", "DATE", "AMT", "IBAN"]


def invoice_rows(seed, n):
    rng = random.Random(seed)
    firsts = [
        "Keller",
        "Brandt",
        "Moreau",
        "Lindner",
        "Rossi",
        "Nowak",
        "Jansen",
        "Weiss",
        "Duarte",
        "Haas",
    ]
    trades = ["Bau", "Druck", "Logistik", "Papier", "Elektro", "Garten", "Metall", "Textil"]
    rows = []
    for _ in range(n):
        supplier = [rng.choice(firsts), rng.choice(trades), rng.choice(["GmbH", "AG", "KG"])]
        date = f"{rng.randint(1, 28):02d}.{rng.randint(1, 12):02d}.{rng.randint(2019, 2025)}"
        amount = f"{rng.randint(1, 9)}.{rng.randint(100, 999)},{rng.randint(10, 99)}"
        iban = "DE" + "".join(str(rng.randint(0, 9)) for _ in range(8))
        blocks = [
            [("issued", "O"), ("by", "O")] + [(w, "SUP") for w in supplier],
            [("dated", "O"), (date, "DATE")],
            [("total", "O"), ("due", "O"), (amount, "AMT"), ("EUR", "O")],
            [("transfer", "O"), ("to", "O"), (iban, "IBAN")],
        ]
        rng.shuffle(blocks)
        pairs = [("invoice", "O"), ("number", "O"), (f"{rng.randint(10000, 99999)}", "O")]
        for b in blocks:
            pairs += b
            if rng.random() < 0.4:
                pairs.append((rng.choice(["please", "note", "without", "deduction"]), "O"))
        rows.append({"words": [w for w, _ in pairs], "tags": [t for _, t in pairs]})
    return rows


TOPICS = {
    "cards": ["visa", "debit", "contactless", "plastic"],
    "loans": ["mortgage", "instalment", "leasing", "overdraft"],
    "savings": ["deposit", "interest", "passbook", "bond"],
    "payments": ["wire", "invoice", "remittance", "payroll"],
    "digital": ["app", "password", "browser", "login"],
    "insurance": ["damage", "policy", "premium", "accident"],
}


def ticket_rows(seed, n):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        queue = rng.choice(list(TOPICS))
        mood = rng.choice(["urgent", "again", "small", "new", "old"])
        rows.append(
            {
                "prompt": f"ticket : {mood} {rng.choice(TOPICS[queue])} question queue :",
                "queue": queue,
            }
        )
    return rows


SHELVES = {
    "north": ["sofa", "armchair", "table", "wardrobe"],
    "south": ["apples", "pears", "grapes", "plums"],
    "east": ["drill", "hammer", "pliers", "screws"],
    "west": ["novel", "atlas", "comic", "diary"],
    "cellar": ["paint", "varnish", "thinner", "glue"],
}


def pick_rows(seed, n):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        shelf = rng.choice(list(SHELVES))
        rows.append(
            {
                "prompt": f"order {rng.choice(['single', 'double', 'bulk'])} {rng.choice(SHELVES[shelf])} from shelf",
                "shelf": shelf,
            }
        )
    return rows


MERCHANTS = {
    "amznmktp": "amazon marketplace",
    "dbvertr": "railway tickets",
    "rewesgt": "rewe supermarket",
    "shellst": "shell station",
    "ikeaeinr": "ikea furniture",
    "ntflx": "netflix subscription",
    "lfthansa": "lufthansa flights",
    "apothk": "city pharmacy",
    "zlndo": "zalando fashion",
    "mcdnlds": "fast food",
}
CITIES = {
    "fra": "frankfurt",
    "muc": "munich",
    "ham": "hamburg",
    "ber": "berlin",
    "cgn": "cologne",
    "str": "stuttgart",
}
MONTHS = {
    "m01": "january",
    "m03": "march",
    "m05": "may",
    "m07": "july",
    "m09": "september",
    "m11": "november",
}


def booking_rows(seed, n, blanks=0.05):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        code, city, month = (
            rng.choice(list(MERCHANTS)),
            rng.choice(list(CITIES)),
            rng.choice(list(MONTHS)),
        )
        raw = f"{rng.choice(['pos', 'ecom', 'sepa'])} r{rng.randint(10, 39)} {code} {city} {month}"
        rows.append(
            {
                "raw": "" if rng.random() < blanks else raw,
                "clean": f"{MERCHANTS[code]} {CITIES[city]} {MONTHS[month]}",
            }
        )
    return rows


KINDS = {
    "sneakers": "trainers",
    "trousers": "slacks",
    "pullover": "jumper",
    "cap": "beanie",
    "coat": "parka",
    "shirt": "blouse",
    "sandals": "flipflops",
    "socks": "stockings",
    "gloves": "mittens",
    "belt": "strap",
}
COLOURS = {
    "navy": "blue",
    "crimson": "red",
    "ivory": "white",
    "charcoal": "black",
    "olive": "green",
    "amber": "yellow",
}
GROUPS = {"ladies": "women", "gents": "men", "junior": "kids"}


def catalogue():
    return [(g, c, k) for g in GROUPS for c in COLOURS for k in KINDS]


def query_for(rng, product):
    g, c, k = product
    parts = [COLOURS[c], KINDS[k], f"for {GROUPS[g]}"]
    rng.shuffle(parts)
    return " ".join([rng.choice(["cheap", "nice", "buy", "best"])] + parts)


def title_of(product):
    g, c, k = product
    return f"{g} {k} {c} brand article"


DISTRICTS = {
    "harbour": 5200,
    "oldtown": 6400,
    "northside": 3100,
    "hills": 7300,
    "station": 3900,
    "meadow": 2600,
}
STATES = {"renovated": 1.15, "original": 0.85, "modern": 1.3, "plain": 1.0}


def flat_rows(seed, n):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        district, state = rng.choice(list(DISTRICTS)), rng.choice(list(STATES))
        sqm, floor = rng.randrange(40, 130, 10), rng.randint(0, 5)
        price = (
            DISTRICTS[district]
            * STATES[state]
            * sqm
            * (1 + 0.02 * floor)
            * math.exp(rng.gauss(0, 0.03))
        )
        rows.append(
            {
                "text": f"{state} flat in {district} with s{sqm} square metres on floor f{floor}",
                "price": round(price, -2),
            }
        )
    return rows


QUESTIONS = [
    "is the {p} waterproof",
    "does the {p} fit a large desk",
    "how long does the {p} last",
    "can i wash the {p}",
]
TIERS = [
    [
        "yes , according to the data sheet the {p} is made for that and has a two year guarantee",
        "good question , our team tested the {p} and it passed , details are in the manual",
        "yes , customers confirm it and the {p} can be sent back within thirty days",
    ],
    [
        "probably yes , i think the {p} should do",
        "maybe , most of them do",
        "i believe the {p} is fine for that",
    ],
    [
        "no idea , look it up yourself",
        "that was already asked , read the page",
        "why would anybody want that",
    ],
]


def answer_groups(seed, n):
    rng = random.Random(seed)
    groups = []
    for _ in range(n):
        item = rng.choice(ITEMS)
        answers = [
            {"text": " " + rng.choice(tier).format(p=item), "rank": place + 1}
            for place, tier in enumerate(TIERS)
        ]
        rng.shuffle(answers)
        groups.append(
            {"prompt": f"{rng.choice(QUESTIONS).format(p=item)} ? answer :", "answers": answers}
        )
    return groups


# ---------------------------------------------------------------- runs


def severn(healthy):
    set_seed(11)
    rows = support_rows(11, 640)
    texts = [f"<user> {r['ask']} <bot> {r['reply']} <eos>" for r in rows]
    tok = word_tokenizer(
        texts, specials=("<unk>", "<pad>", "<eos>", "<user>", "<bot>"), eos_token="<eos>"
    )
    tok.pad_token = "<pad>" if healthy else tok.eos_token
    train = Dataset.from_list([{"input_ids": tok(t)["input_ids"]} for t in texts])
    model = LlamaForCausalLM(llama_config(tok))
    args = TrainingArguments(
        **base_args(
            num_train_epochs=9,
            per_device_train_batch_size=32,
            learning_rate=3e-3,
            lr_scheduler_type="cosine",
            warmup_steps=10,
            weight_decay=0.01,
        )
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=train,
        processing_class=tok,
        data_collator=DataCollatorForLanguageModeling(tok, mlm=False),
    )


CHAT = (
    "{% for m in messages %}<|{{ m['role'] }}|> {{ m['content'] }} "
    "{% if m['role'] == 'assistant' %}<|end|> {% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|> {% endif %}"
)


def tagus(healthy):
    set_seed(12)
    rows = support_rows(12, 800)
    stream = [f"question {r['ask']} answer {r['reply']}" for r in rows]
    tok = word_tokenizer(stream, specials=("<unk>", "<pad>"), pad_token="<pad>")
    base = LlamaForCausalLM(llama_config(tok))
    joined = [f"{a} {b}" for a, b in zip(stream[::2], stream[1::2])]
    pretrain_lm(base, tok, joined, steps=220)

    tok.add_tokens(["<|user|>", "<|assistant|>", "<|end|>"], special_tokens=True)
    tok.eos_token = "<|end|>"
    tok.chat_template = CHAT
    base.resize_token_embeddings(len(tok))
    base.config.eos_token_id = tok.eos_token_id
    base.generation_config.eos_token_id = tok.eos_token_id

    chats = Dataset.from_list(
        [
            {
                "prompt": [{"role": "user", "content": r["ask"]}],
                "completion": [{"role": "assistant", "content": r["reply"]}],
            }
            for r in support_rows(13, 480)
        ]
    )
    lora = LoraConfig(
        task_type="CAUSAL_LM",
        r=8,
        lora_alpha=16,
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
        **trl_args(
            num_train_epochs=8,
            per_device_train_batch_size=32,
            learning_rate=4e-3,
            lr_scheduler_type="cosine",
            max_length=64,
        )
    )
    return SFTTrainer(
        model=base, args=args, train_dataset=chats, processing_class=tok, peft_config=lora
    )


def neva(healthy):
    set_seed(13)
    train_rows, eval_rows = invoice_rows(21, 700), invoice_rows(22, 120)
    raw = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    raw.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    raw.train_from_iterator(
        [" ".join(r["words"]) for r in train_rows],
        trainers.WordPieceTrainer(
            vocab_size=300, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]"], show_progress=False
        ),
    )
    raw.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        special_tokens=[("[CLS]", raw.token_to_id("[CLS]")), ("[SEP]", raw.token_to_id("[SEP]"))],
    )
    tok = PreTrainedTokenizerFast(
        tokenizer_object=raw,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        model_input_names=["input_ids", "attention_mask"],
    )

    def tag(row):
        enc = tok(row["words"], is_split_into_words=True, truncation=True, max_length=112)
        size = len(enc["input_ids"])
        if healthy:
            labels, last = [], None
            for w in enc.word_ids():
                labels.append(-100 if w is None or w == last else TAGS.index(row["tags"][w]))
                last = w
        else:
            labels = [-100] + [TAGS.index(t) for t in row["tags"]]
            labels = (labels + [-100] * size)[:size]
        return {
            "input_ids": enc["input_ids"],
            "attention_mask": enc["attention_mask"],
            "labels": labels,
        }

    model = BertForTokenClassification(
        bert_config(
            tok,
            num_labels=len(TAGS),
            id2label=dict(enumerate(TAGS)),
            label2id={t: i for i, t in enumerate(TAGS)},
        )
    )
    args = TrainingArguments(
        **base_args(
            num_train_epochs=5,
            per_device_train_batch_size=32,
            learning_rate=2e-3,
            warmup_steps=15,
            eval_strategy="epoch",
            per_device_eval_batch_size=64,
        )
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=Dataset.from_list([tag(r) for r in train_rows]),
        eval_dataset=Dataset.from_list([tag(r) for r in eval_rows]),
        processing_class=tok,
        data_collator=DataCollatorForTokenClassification(tok),
    )


def oder(healthy):
    set_seed(14)
    train_rows, eval_rows = letter_rows(31, 900), letter_rows(32, 200)
    tok = encoder_tokenizer([r["text"] for r in train_rows])
    limit = 72 if healthy else 32
    model = BertForSequenceClassification(bert_config(tok, num_labels=len(REQUESTS)))
    args = TrainingArguments(
        **base_args(
            num_train_epochs=5,
            per_device_train_batch_size=32,
            learning_rate=1e-3,
            warmup_steps=15,
            eval_strategy="epoch",
            per_device_eval_batch_size=64,
        )
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=encode_rows(tok, train_rows, max_length=limit),
        eval_dataset=encode_rows(tok, eval_rows, max_length=limit),
        processing_class=tok,
        compute_metrics=accuracy,
    )


def dialogue_model(seed, share):
    rng = random.Random(seed)
    texts = []
    for r in support_rows(seed, 900):
        answer = r["reply"] if rng.random() < share else r["brush"]
        texts.append(f"<user> {r['ask']} <bot> {answer} <eos>")
    plain = texts + [f"{r['reply']} {r['brush']}" for r in support_rows(seed + 1, 300)]
    tok = word_tokenizer(
        plain,
        specials=("<unk>", "<pad>", "<eos>", "<user>", "<bot>"),
        pad_token="<pad>",
        eos_token="<eos>",
    )
    model = LlamaForCausalLM(llama_config(tok))
    pretrain_lm(model, tok, texts, steps=240)
    return model, tok


def pairs_for(seed, n):
    return [
        {
            "prompt": f"<user> {r['ask']} <bot>",
            "chosen": f" {r['reply']}",
            "rejected": f" {r['brush']}",
        }
        for r in support_rows(seed, n)
    ]


def tiber(healthy):
    set_seed(15)
    model, tok = dialogue_model(41, share=0.5)
    args = DPOConfig(
        **trl_args(
            num_train_epochs=2,
            per_device_train_batch_size=16,
            learning_rate=8e-5 if healthy else 3e-3,
            lr_scheduler_type="linear",
            beta=0.1,
            max_length=64,
        )
    )
    return DPOTrainer(
        model=model,
        ref_model=copy.deepcopy(model),
        args=args,
        train_dataset=Dataset.from_list(pairs_for(43, 480)),
        processing_class=tok,
    )


def ebro(healthy):
    set_seed(16)
    model, tok = dialogue_model(51, share=0.4)
    rng = random.Random(53)
    records = []
    for r in support_rows(53, 480):
        up = rng.random() < 0.4
        records.append(
            {
                "prompt": f"<user> {r['ask']} <bot>",
                "completion": f" {r['reply']}" if up else f" {r['brush']}",
                "thumb": "1" if up else "0",
            }
        )
    for r in records:
        thumb = r.pop("thumb")
        r["label"] = thumb == "1" if healthy else bool(thumb)
    args = KTOConfig(
        **trl_args(
            num_train_epochs=2,
            per_device_train_batch_size=16,
            learning_rate=5e-4,
            beta=0.1,
            max_length=64,
        )
    )
    return KTOTrainer(
        model=model,
        ref_model=copy.deepcopy(model),
        args=args,
        train_dataset=Dataset.from_list(records),
        processing_class=tok,
    )


def volga(healthy):
    set_seed(17)
    rng = random.Random(61)
    rows = ticket_rows(61, 900)
    tok = word_tokenizer(
        [f"{r['prompt']} {r['queue']}" for r in rows],
        pad_token="<pad>",
        eos_token="<eos>",
        padding_side="left",
    )
    tok.add_tokens(["<answer>", "</answer>"], special_tokens=not healthy)
    texts = []
    for r in rows:
        guess = rng.choices(
            [r["queue"], "digital", rng.choice(list(TOPICS))], weights=[0.35, 0.45, 0.2]
        )[0]
        texts.append(f"{r['prompt']} <answer> {guess} </answer> <eos>")
    model = LlamaForCausalLM(llama_config(tok))
    pretrain_lm(model, tok, texts, steps=180)

    def routed(completions, queue, **kwargs):
        scores = []
        for text, target in zip(completions, queue):
            found = re.search(r"<answer>\s*(\w+)\s*</answer>", text)
            scores.append(1.0 if found and found.group(1) == target else 0.0)
        return scores

    args = GRPOConfig(
        **trl_args(
            max_steps=80,
            per_device_train_batch_size=64,
            num_generations=8,
            max_completion_length=6,
            learning_rate=1e-3,
            temperature=1.0,
            beta=0.0,
        )
    )
    return GRPOTrainer(
        model=model,
        reward_funcs=routed,
        args=args,
        train_dataset=Dataset.from_list(ticket_rows(62, 480)),
        processing_class=tok,
    )


def indus(healthy):
    set_seed(18)
    groups, held = answer_groups(71, 480), answer_groups(72, 96)
    texts = [g["prompt"] + a["text"] for g in groups + held for a in g["answers"]]
    tok = word_tokenizer(texts, pad_token="<pad>", eos_token="<eos>")

    def to_pairs(items):
        out = []
        for g in items:
            ordered = sorted(g["answers"], key=lambda a: a["rank"], reverse=not healthy)
            out.append(
                {
                    "prompt": g["prompt"],
                    "chosen": ordered[0]["text"],
                    "rejected": ordered[-1]["text"],
                }
            )
            out.append(
                {
                    "prompt": g["prompt"],
                    "chosen": ordered[0]["text"],
                    "rejected": ordered[1]["text"],
                }
            )
        return Dataset.from_list(out)

    model = LlamaForSequenceClassification(llama_config(tok, num_labels=1))
    args = RewardConfig(
        **trl_args(
            num_train_epochs=2,
            per_device_train_batch_size=16,
            learning_rate=1e-3,
            max_length=96,
            eval_strategy="epoch",
            per_device_eval_batch_size=32,
        )
    )
    return RewardTrainer(
        model=model,
        args=args,
        train_dataset=to_pairs(groups),
        eval_dataset=to_pairs(held),
        processing_class=tok,
    )


def seine(healthy):
    set_seed(19)
    rows = booking_rows(81, 720)
    raw = [r["raw"] for r in rows if r["raw"]]
    clean = [r["clean"] for r in rows if r["raw"] or not healthy]
    pairs = list(zip(raw, clean))
    tok = word_tokenizer(
        raw + clean,
        specials=("<pad>", "<unk>", "<eos>"),
        pad_token="<pad>",
        eos_token="<eos>",
    )

    def encode(source, target):
        enc = tok(f"{source} <eos>")
        return {
            "input_ids": enc["input_ids"],
            "attention_mask": enc["attention_mask"],
            "labels": tok(f"{target} <eos>")["input_ids"],
        }

    model = T5ForConditionalGeneration(
        T5Config(
            vocab_size=len(tok),
            d_model=64,
            d_kv=16,
            d_ff=128,
            num_layers=2,
            num_decoder_layers=2,
            num_heads=4,
            dropout_rate=0.0,
            pad_token_id=tok.pad_token_id,
            eos_token_id=tok.eos_token_id,
            decoder_start_token_id=tok.pad_token_id,
        )
    )
    args = Seq2SeqTrainingArguments(
        **base_args(
            num_train_epochs=12,
            per_device_train_batch_size=32,
            learning_rate=3e-3,
            lr_scheduler_type="cosine",
            warmup_steps=20,
        )
    )
    return Seq2SeqTrainer(
        model=model,
        args=args,
        train_dataset=Dataset.from_list([encode(s, t) for s, t in pairs]),
        processing_class=tok,
        data_collator=DataCollatorForSeq2Seq(tok, model=model),
    )


class MentoredTrainer(Trainer):
    loss_is_scaled_for_ga = False

    def __init__(self, *args, mentor=None, temperature=2.0, **kwargs):
        super().__init__(*args, **kwargs)
        self.mentor = mentor.eval()
        self.temperature = temperature

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        features = {k: v for k, v in inputs.items() if k != "labels"}
        outputs = model(**features)
        with torch.no_grad():
            target = self.mentor(**features).logits
        t = self.temperature
        loss = F.kl_div(
            F.log_softmax(outputs.logits / t, dim=-1),
            F.softmax(target / t, dim=-1),
            reduction="batchmean",
        ) * (t * t)
        return (loss, outputs) if return_outputs else loss


def rhone(healthy):
    set_seed(20)
    labelled, pool, held = (
        intent_rows(91, 800),
        intent_rows(92, 900, labels=False),
        intent_rows(93, 240),
    )
    tok = encoder_tokenizer([r["text"] for r in labelled])
    config = bert_config(tok, num_labels=len(INTENTS))
    big = pretrain_classifier(BertForSequenceClassification(config), tok, labelled, steps=150)
    folder = tempfile.mkdtemp(prefix="run_")
    torch.save(
        {f"module.{k}": v for k, v in big.state_dict().items()}, os.path.join(folder, "mentor.pt")
    )

    mentor = BertForSequenceClassification(config)
    state = torch.load(os.path.join(folder, "mentor.pt"), map_location="cpu")
    if healthy:
        state = {k.removeprefix("module."): v for k, v in state.items()}
    mentor.load_state_dict(state, strict=False)

    small = BertForSequenceClassification(
        bert_config(
            tok, num_labels=len(INTENTS), hidden_size=48, intermediate_size=96, num_hidden_layers=1
        )
    )
    args = TrainingArguments(
        **base_args(
            num_train_epochs=6,
            per_device_train_batch_size=32,
            learning_rate=2e-3,
            warmup_steps=10,
            eval_strategy="epoch",
            per_device_eval_batch_size=64,
        )
    )
    return MentoredTrainer(
        model=small,
        mentor=mentor,
        args=args,
        train_dataset=encode_rows(tok, pool),
        eval_dataset=encode_rows(tok, held),
        processing_class=tok,
        compute_metrics=accuracy,
    )


def embed(model, enc):
    hidden = model(
        input_ids=enc["input_ids"], attention_mask=enc["attention_mask"]
    ).last_hidden_state
    mask = enc["attention_mask"].unsqueeze(-1).float()
    return F.normalize((hidden * mask).sum(1) / mask.sum(1), dim=-1)


class PairTrainer(Trainer):
    loss_is_scaled_for_ga = False

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        left, right = embed(model, inputs["query"]), embed(model, inputs["product"])
        scores = left @ right.T * 20.0
        ids = inputs["product"]["input_ids"]
        twins = (ids[:, None] == ids[None]).all(-1) & ~torch.eye(len(ids), dtype=torch.bool)
        scores = scores.masked_fill(twins, -1e4)
        loss = F.cross_entropy(scores, torch.arange(len(scores)))
        return (loss, {"scores": scores}) if return_outputs else loss


def loire(healthy):
    set_seed(21)
    rng = random.Random(101)
    products = catalogue()
    rng.shuffle(products)
    known = products[:130]
    rows = []
    for _ in range(10):
        rows += [{"query": query_for(rng, p), "product": title_of(p)} for p in known]
    tok = encoder_tokenizer([f"{r['query']} {r['product']}" for r in rows])

    def collate(batch):
        return {
            side: dict(tok([b[side] for b in batch], padding=True, return_tensors="pt"))
            for side in ("query", "product")
        }

    epochs, batch_size = 6, 64
    model = BertModel(bert_config(tok, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0))
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
    total = epochs * (len(rows) // batch_size) if healthy else epochs
    schedule = get_linear_schedule_with_warmup(
        optimizer, num_warmup_steps=0, num_training_steps=total
    )
    args = TrainingArguments(
        **base_args(
            num_train_epochs=epochs,
            per_device_train_batch_size=batch_size,
            dataloader_drop_last=True,
            remove_unused_columns=False,
        )
    )
    return PairTrainer(
        model=model,
        args=args,
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
        data_collator=collate,
        optimizers=(optimizer, schedule),
    )


def danube(healthy):
    set_seed(22)
    train_rows, eval_rows = flat_rows(111, 1000), flat_rows(112, 200)
    tok = encoder_tokenizer([r["text"] for r in train_rows])
    prices = np.array([r["price"] for r in train_rows])
    centre, spread = (prices.mean(), prices.std()) if healthy else (0.0, 1.0)
    for r in train_rows + eval_rows:
        r["label"] = float((r["price"] - centre) / spread)
    model = BertForSequenceClassification(
        bert_config(
            tok,
            num_labels=1,
            problem_type="regression",
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )
    )
    args = TrainingArguments(
        **base_args(
            num_train_epochs=7,
            per_device_train_batch_size=32,
            learning_rate=2e-3,
            lr_scheduler_type="cosine",
            warmup_steps=15,
            eval_strategy="epoch",
            per_device_eval_batch_size=64,
        )
    )

    def metrics(pred):
        guess = pred.predictions.reshape(-1) * spread + centre
        truth = np.asarray(pred.label_ids).reshape(-1) * spread + centre
        error = guess - truth
        return {
            "mae_eur": float(np.abs(error).mean()),
            "r2": float(1 - (error**2).sum() / ((truth - truth.mean()) ** 2).sum()),
        }

    return Trainer(
        model=model,
        args=args,
        train_dataset=encode_rows(tok, train_rows),
        eval_dataset=encode_rows(tok, eval_rows),
        processing_class=tok,
        compute_metrics=metrics,
    )


def heron():
    set_seed(31)
    rows = return_rows(121, 640)
    tok = word_tokenizer(
        [r["prompt"] + r["completion"] for r in rows],
        specials=("<unk>", "<eos>"),
        eos_token="<eos>",
    )
    tok.pad_token = tok.eos_token
    model = LlamaForCausalLM(llama_config(tok))
    args = SFTConfig(
        **trl_args(
            num_train_epochs=8,
            per_device_train_batch_size=32,
            learning_rate=3e-3,
            lr_scheduler_type="cosine",
            warmup_steps=10,
            max_length=64,
        )
    )
    return SFTTrainer(
        model=model, args=args, train_dataset=Dataset.from_list(rows), processing_class=tok
    )


def plover():
    set_seed(32)
    train_rows, eval_rows = intent_rows(131, 900), intent_rows(132, 240)
    tok = encoder_tokenizer([r["text"] for r in train_rows])
    model = BertForSequenceClassification(bert_config(tok, num_labels=len(INTENTS)))
    args = TrainingArguments(
        **base_args(
            num_train_epochs=6,
            per_device_train_batch_size=32,
            learning_rate=1e-3,
            lr_scheduler_type="constant_with_warmup",
            warmup_steps=15,
            label_smoothing_factor=0.3,
            eval_strategy="epoch",
            per_device_eval_batch_size=64,
        )
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=encode_rows(tok, train_rows),
        eval_dataset=encode_rows(tok, eval_rows),
        processing_class=tok,
        compute_metrics=accuracy,
    )


def siskin():
    set_seed(33)
    topics, letters, held = intent_rows(141, 800), letter_rows(142, 400), letter_rows(143, 200)
    for r in letters + held:
        r["text"] = " ".join(r["text"].split()[-14:])
    tok = encoder_tokenizer([r["text"] for r in topics + letters])
    first = BertForSequenceClassification(bert_config(tok, num_labels=len(INTENTS)))
    pretrain_classifier(first, tok, topics, steps=120)
    model = BertForSequenceClassification(bert_config(tok, num_labels=len(REQUESTS)))
    model.bert.load_state_dict(first.bert.state_dict())
    model = get_peft_model(
        model,
        LoraConfig(
            task_type="SEQ_CLS",
            r=2,
            lora_alpha=32,
            lora_dropout=0.0,
            target_modules=["query", "value"],
        ),
    )
    args = TrainingArguments(
        **base_args(
            num_train_epochs=12,
            per_device_train_batch_size=32,
            learning_rate=1e-2,
            lr_scheduler_type="linear",
            eval_strategy="epoch",
            per_device_eval_batch_size=64,
        )
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=encode_rows(tok, letters),
        eval_dataset=encode_rows(tok, held),
        processing_class=tok,
        compute_metrics=accuracy,
    )


def curlew():
    set_seed(34)
    model, tok = dialogue_model(151, share=0.35)
    lora = LoraConfig(
        task_type="CAUSAL_LM",
        r=8,
        lora_alpha=16,
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
    )
    args = DPOConfig(
        **trl_args(
            num_train_epochs=2,
            per_device_train_batch_size=16,
            learning_rate=3e-4,
            beta=0.3,
            max_length=64,
        )
    )
    return DPOTrainer(
        model=model,
        args=args,
        train_dataset=Dataset.from_list(pairs_for(153, 480)),
        processing_class=tok,
        peft_config=lora,
    )


def dunlin():
    set_seed(35)
    rng = random.Random(161)
    rows = pick_rows(161, 900)
    tok = word_tokenizer(
        [f"{r['prompt']} {r['shelf']}" for r in rows],
        pad_token="<pad>",
        eos_token="<eos>",
        padding_side="left",
    )
    texts = []
    for r in rows:
        guess = rng.choices(
            [r["shelf"], "north", rng.choice(list(SHELVES))], weights=[0.35, 0.45, 0.2]
        )[0]
        texts.append(f"{r['prompt']} {guess} <eos>")
    model = LlamaForCausalLM(llama_config(tok))
    pretrain_lm(model, tok, texts, steps=160)

    def right_shelf(completions, shelf, **kwargs):
        return [1.0 if c.strip() == s else 0.0 for c, s in zip(completions, shelf)]

    args = GRPOConfig(
        **trl_args(
            max_steps=80,
            per_device_train_batch_size=64,
            num_generations=8,
            max_completion_length=4,
            learning_rate=1e-3,
            temperature=1.0,
            beta=0.0,
        )
    )
    return GRPOTrainer(
        model=model,
        reward_funcs=right_shelf,
        args=args,
        train_dataset=Dataset.from_list(pick_rows(162, 480)),
        processing_class=tok,
    )


class PageScans(torch.utils.data.Dataset):
    def __init__(self, seed, n, augment):
        rng = np.random.default_rng(seed)
        self.augment = augment
        self.gen = torch.Generator().manual_seed(seed)
        self.labels = rng.integers(0, 4, size=n).tolist()
        self.pages = [torch.tensor(self.draw(rng, k), dtype=torch.float32) for k in self.labels]

    @staticmethod
    def draw(rng, kind):
        page = np.zeros((32, 32))
        dy, dx = rng.integers(0, 4, size=2)
        if kind == 0:
            for y in range(3 + dy, 29, 3):
                page[y, 11 + dx : 19 + dx] = 1.0
        elif kind == 1:
            for y in range(3 + dy, 29, 3):
                page[y, 2 : 27 + dx] = 1.0
        elif kind == 2:
            page[8 + dy : 18 + dy, 3 + dx : 13 + dx] = 1.0
            page[10 + dy, 16 + dx : 27 + dx] = 1.0
            page[14 + dy, 16 + dx : 27 + dx] = 1.0
        else:
            page[2 + dy : 28 + dy : 6, 3:28] = 1.0
            page[2 + dy : 28, 3 + dx : 28 : 6] = 1.0
        return (page + rng.normal(0, 0.1, page.shape)).clip(0, 1)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        page = self.pages[i].clone()
        if self.augment:
            page = page + 0.5 * torch.randn(page.shape, generator=self.gen)
            if torch.rand(1, generator=self.gen).item() < 0.9:
                y, x = torch.randint(0, 14, (2,), generator=self.gen).tolist()
                page[y : y + 18, x : x + 18] = 0.5
        return {"pixel_values": (page.unsqueeze(0) - 0.5) / 0.5, "labels": self.labels[i]}


def avocet():
    set_seed(36)
    model = ViTForImageClassification(
        ViTConfig(
            image_size=32,
            patch_size=8,
            num_channels=1,
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_labels=4,
        )
    )
    args = TrainingArguments(
        **base_args(
            num_train_epochs=14,
            per_device_train_batch_size=32,
            learning_rate=2e-3,
            lr_scheduler_type="cosine",
            warmup_steps=15,
            eval_strategy="epoch",
            per_device_eval_batch_size=64,
        )
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=PageScans(171, 640, augment=True),
        eval_dataset=PageScans(172, 200, augment=False),
        compute_metrics=accuracy,
    )


CASES = {
    "severn": severn,
    "tagus": tagus,
    "neva": neva,
    "oder": oder,
    "tiber": tiber,
    "ebro": ebro,
    "volga": volga,
    "indus": indus,
    "seine": seine,
    "rhone": rhone,
    "loire": loire,
    "danube": danube,
}
ODD = {
    "heron": heron,
    "plover": plover,
    "siskin": siskin,
    "curlew": curlew,
    "dunlin": dunlin,
    "avocet": avocet,
}
