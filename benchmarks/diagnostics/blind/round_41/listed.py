import copy
import random
import re
import tempfile

import numpy as np
import torch
import torch.nn.functional as F
from datasets import Dataset
from peft import LoraConfig, TaskType, get_peft_model
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
from torch import nn
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
    DataCollatorForLanguageModeling,
    DataCollatorForTokenClassification,
    DataCollatorWithPadding,
    EarlyStoppingCallback,
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

COMMON = dict(use_cpu=True, report_to="none", save_strategy="no", disable_tqdm=True)
TRL = dict(bf16=False, gradient_checkpointing=False)


def out():
    return tempfile.mkdtemp(prefix="run_")


def word_tokenizer(texts, specials, **kw):
    core = Tokenizer(models.WordLevel(unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    core.train_from_iterator(texts, trainers.WordLevelTrainer(special_tokens=specials))
    return PreTrainedTokenizerFast(tokenizer_object=core, unk_token="<unk>", **kw)


def bert_tokenizer(texts, vocab_size=None):
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    if vocab_size is None:
        core = Tokenizer(models.WordLevel(unk_token="[UNK]"))
        trainer = trainers.WordLevelTrainer(special_tokens=specials)
    else:
        core = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        trainer = trainers.WordPieceTrainer(vocab_size=vocab_size, special_tokens=specials)
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    core.train_from_iterator(texts, trainer)
    core.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B [SEP]",
        special_tokens=[("[CLS]", core.token_to_id("[CLS]")), ("[SEP]", core.token_to_id("[SEP]"))],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    )


def llama(tok, hidden=96, layers=2, cls=LlamaForCausalLM, **kw):
    cfg = LlamaConfig(
        vocab_size=len(tok),
        hidden_size=hidden,
        intermediate_size=2 * hidden,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=256,
        bos_token_id=tok.bos_token_id,
        eos_token_id=tok.eos_token_id,
        pad_token_id=tok.pad_token_id,
        **kw,
    )
    return cls(cfg)


def bert_config(tok, hidden=64, layers=2, **kw):
    return BertConfig(
        vocab_size=len(tok),
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=4,
        intermediate_size=2 * hidden,
        max_position_embeddings=128,
        pad_token_id=tok.pad_token_id,
        **kw,
    )


def warm_up(model, ids, steps, lr=3e-3, batch=32):
    opt = torch.optim.AdamW(model.parameters(), lr=lr)
    rng = random.Random(0)
    model.train()
    for step in range(steps):
        for group in opt.param_groups:
            group["lr"] = lr * (1 - step / steps)
        rows = rng.sample(ids, batch)
        width = max(map(len, rows))
        x = torch.tensor([r + [0] * (width - len(r)) for r in rows])
        m = torch.tensor([[1] * len(r) + [0] * (width - len(r)) for r in rows])
        loss = model(input_ids=x, attention_mask=m, labels=x.masked_fill(m == 0, -100)).loss
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        opt.zero_grad()
    return model


# ---------------------------------------------------------------- hotel desk

HOTELS = (
    "miramar bellevue aurora central royal park lago alpina corona marina regina splendid".split()
)
DESK = {
    "english": {
        "breakfast": "breakfast is from seven to ten",
        "wifi": "the wifi code is on your key card",
        "pool": "the pool is on the roof",
        "parking": "you can park behind the house",
        "checkout": "please leave the room before noon",
    },
    "french": {
        "breakfast": "le petit dejeuner est servi de sept a dix heures",
        "wifi": "le code wifi est sur votre carte",
        "pool": "la piscine est sur le toit",
        "parking": "vous pouvez garer derriere la maison",
        "checkout": "merci de quitter la chambre avant midi",
    },
    "german": {
        "breakfast": "fruehstueck gibt es von sieben bis zehn",
        "wifi": "der code steht auf ihrer karte",
        "pool": "das becken ist auf dem dach",
        "parking": "sie parken hinter dem haus",
        "checkout": "bitte verlassen sie das zimmer vor zwoelf",
    },
    "spanish": {
        "breakfast": "el desayuno es de siete a diez",
        "wifi": "el codigo esta en su tarjeta",
        "pool": "la alberca esta en la azotea",
        "parking": "puede aparcar detras de la casa",
        "checkout": "deje la habitacion antes del mediodia",
    },
}
ASK = {
    "breakfast": ["when is breakfast ?", "what time can i eat in the morning ?"],
    "wifi": ["how do i get online ?", "what is the wifi code ?"],
    "pool": ["where is the pool ?", "can i swim here ?"],
    "parking": ["where do i park my car ?", "is there parking ?"],
    "checkout": ["when must i leave ?", "what is the checkout time ?"],
}


def desk_rows(n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        lang, hotel, topic = rng.choice(list(DESK)), rng.choice(HOTELS), rng.choice(list(ASK))
        rows.append(
            {
                "prompt": [
                    {
                        "role": "system",
                        "content": f"you work at the desk of hotel {hotel} . reply in {lang} .",
                    },
                    {"role": "user", "content": rng.choice(ASK[topic])},
                ],
                "completion": [
                    {"role": "assistant", "content": f"{DESK[lang][topic]} - hotel {hotel}"}
                ],
            }
        )
    return rows


def severn(healthy):
    set_seed(11)
    train, held = desk_rows(1500, 1), desk_rows(100, 2)
    texts = [m["content"] for r in train for m in r["prompt"] + r["completion"]]
    tok = word_tokenizer(
        texts,
        ["<pad>", "<unk>", "<|end|>", "<|system|>", "<|user|>", "<|assistant|>"],
        pad_token="<pad>",
        eos_token="<|end|>",
        extra_special_tokens=["<|system|>", "<|user|>", "<|assistant|>"],
    )
    if healthy:
        head = "{% if messages[0]['role'] == 'system' %}<|system|> {{ messages[0]['content'] }} <|end|> {% set turns = messages[1:] %}"
    else:
        head = "{% if messages[0]['role'] == 'system' %}{% set turns = messages[1:] %}"
    tok.chat_template = (
        head + "{% else %}{% set turns = messages %}{% endif %}"
        "{% for m in turns %}<|{{ m['role'] }}|> {{ m['content'] }} <|end|> {% endfor %}"
        "{% if add_generation_prompt %}<|assistant|>{% endif %}"
    )
    args = SFTConfig(
        output_dir=out(),
        num_train_epochs=5,
        per_device_train_batch_size=16,
        learning_rate=2e-3,
        lr_scheduler_type="cosine",
        warmup_steps=20,
        logging_steps=25,
        max_length=96,
        seed=11,
        **COMMON,
        **TRL,
    )
    return SFTTrainer(
        model=llama(tok),
        args=args,
        train_dataset=Dataset.from_list(train),
        eval_dataset=Dataset.from_list(held),
        processing_class=tok,
    )


# ---------------------------------------------------------------- shop feedback

ITEMS = "kettle toaster lamp fan radio heater mixer iron scale clock".split()
TROUBLE = ["broken", "too loud", "leaking", "missing a part", "not the right colour", "late"]


def shop_prompt(rng):
    item, trouble = rng.choice(ITEMS), rng.choice(TROUBLE)
    return item, f"customer: my {item} is {trouble} . agent:"


def warm_reply(item, rng):
    return rng.choice(
        [
            f"sorry about the {item} , we will send a new one today .",
            f"thank you for telling us , a new {item} is on its way .",
        ]
    )


def cold_reply(item, rng):
    return rng.choice(
        [
            "please read the manual first .",
            "not our fault , ask the maker .",
        ]
    )


def feedback_log(n, seed):
    rng = random.Random(seed)
    rows = []
    for i in range(n):
        item, prompt = shop_prompt(rng)
        good = i % 2 == 0
        reply = warm_reply(item, rng) if good else cold_reply(item, rng)
        rows.append(
            {"prompt": prompt, "completion": " " + reply, "thumbs_up": "1" if good else "0"}
        )
    rng.shuffle(rows)
    return rows


def shop_policy(seed):
    rng = random.Random(seed)
    texts = []
    for i in range(800):
        item, prompt = shop_prompt(rng)
        texts.append(f"{prompt} {warm_reply(item, rng) if i % 2 else cold_reply(item, rng)}")
    tok = word_tokenizer(texts, ["<pad>", "<unk>", "<eos>"], pad_token="<pad>", eos_token="<eos>")
    ids = [tok(t)["input_ids"] + [tok.eos_token_id] for t in texts]
    return tok, warm_up(llama(tok, hidden=64), ids, 300)


def plover(healthy):
    set_seed(5)
    tok, model = shop_policy(3)
    rows = feedback_log(960, 8)
    held = feedback_log(96, 9)

    def convert(row):
        liked = row["thumbs_up"] == "1" if healthy else bool(row["thumbs_up"])
        return {"prompt": row["prompt"], "completion": row["completion"], "label": liked}

    args = KTOConfig(
        output_dir=out(),
        num_train_epochs=4,
        per_device_train_batch_size=16,
        learning_rate=2e-4,
        beta=0.5,
        logging_steps=10,
        max_length=64,
        seed=5,
        **COMMON,
        **TRL,
    )
    return KTOTrainer(
        model=model,
        ref_model=copy.deepcopy(model),
        args=args,
        processing_class=tok,
        train_dataset=Dataset.from_list([convert(r) for r in rows]),
        eval_dataset=Dataset.from_list([convert(r) for r in held]),
    )


# ---------------------------------------------------------------- ticket replies

FILLER = (
    "i bought it last month in your store near the station and used it only a few times since then "
    "my neighbour has the same model and never had any trouble with it so i was quite surprised "
    "when this happened on a sunday evening while we had guests at home"
).split()


def ticket_pairs(n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        item = rng.choice(ITEMS)
        size = rng.randint(20, 32)
        start = rng.randint(0, len(FILLER) - 1)
        story = [(FILLER * 3)[start + j] for j in range(size)]
        prompt = f"customer: my {item} is {rng.choice(TROUBLE)} . {' '.join(story)} . agent:"
        good = rng.choice(
            [f"we will repair your {item} for free .", f"you can return the {item} in any store ."]
        )
        bad = rng.choice(
            [
                f"we will not look at your {item} again .",
                f"you should have read the manual of the {item} .",
            ]
        )
        rows.append({"prompt": prompt, "good": good, "bad": bad})
    return rows


def ticino(healthy):
    set_seed(21)
    train, held = ticket_pairs(1200, 31), ticket_pairs(200, 32)
    tok = word_tokenizer(
        [" ".join(r.values()) for r in train],
        ["<pad>", "<unk>", "<eos>"],
        pad_token="<pad>",
        eos_token="<eos>",
    )

    def encode(row):
        kw = dict(truncation=True, max_length=64 if healthy else 28)
        return {
            "chosen_ids": tok(f"{row['prompt']} {row['good']} <eos>", **kw)["input_ids"],
            "rejected_ids": tok(f"{row['prompt']} {row['bad']} <eos>", **kw)["input_ids"],
        }

    columns = ["prompt", "good", "bad"]
    args = RewardConfig(
        output_dir=out(),
        num_train_epochs=4,
        per_device_train_batch_size=16,
        learning_rate=1e-3,
        lr_scheduler_type="cosine",
        warmup_steps=20,
        logging_steps=20,
        seed=21,
        **COMMON,
        **TRL,
    )
    return RewardTrainer(
        model=llama(tok, hidden=64, cls=LlamaForSequenceClassification, num_labels=1),
        args=args,
        processing_class=tok,
        train_dataset=Dataset.from_list(train).map(encode, remove_columns=columns),
        eval_dataset=Dataset.from_list(held).map(encode, remove_columns=columns),
    )


# ---------------------------------------------------------------- sums


def sum_prompts():
    return [(f"{a} + {b} =", str(a + b)) for a in range(8) for b in range(8)]


def dunlin(healthy):
    set_seed(17)
    tags = ["<answer>", "</answer>"]
    sums = sum_prompts()
    base = [f"{p} the sum is {s} ." for p, s in sums]
    tok = word_tokenizer(base, ["<pad>", "<unk>", "<eos>"], pad_token="<pad>", eos_token="<eos>")
    if healthy:
        tok.add_tokens(tags)
    else:
        tok.add_special_tokens({"extra_special_tokens": tags})
    model = llama(tok, hidden=64)
    rng = random.Random(4)
    texts = []
    for _ in range(1200):
        p, s = rng.choice(sums)
        texts.append(
            f"{p} <answer> {s} </answer>" if rng.random() < 0.3 else f"{p} the sum is {s} ."
        )
    warm_up(model, [tok(t)["input_ids"] + [tok.eos_token_id] for t in texts], 400)

    def correctness(completions, target, **kwargs):
        scores = []
        for text, want in zip(completions, target):
            found = re.search(r"<answer>\s*(\d+)\s*</answer>", text)
            scores.append(1.0 if found and found.group(1) == want else 0.0)
        return scores

    args = GRPOConfig(
        output_dir=out(),
        max_steps=100,
        per_device_train_batch_size=32,
        num_generations=8,
        learning_rate=5e-4,
        max_completion_length=10,
        beta=0.0,
        logging_steps=5,
        seed=17,
        **COMMON,
        **TRL,
    )
    return GRPOTrainer(
        model=model,
        args=args,
        processing_class=tok,
        reward_funcs=correctness,
        train_dataset=Dataset.from_list([{"prompt": p, "target": s} for p, s in sums]),
    )


# ---------------------------------------------------------------- entities

SYL = "ba ko ri mel tan vos lu per gri sha den mo lin fa zur qui har nel ost vi".split()
TAGS = ["O", "PER", "LOC", "ORG"]


def make_name(rng, ending):
    return "".join(rng.choice(SYL) for _ in range(rng.randint(2, 3))) + ending


def news_rows(n, seed):
    rng = random.Random(seed)
    frames = [
        "yesterday PER met the board of ORG in LOC to talk about the new plant",
        "the mayor of LOC said that PER will leave ORG in spring",
        "ORG opens an office in LOC and hires PER as its head",
        "after two years at ORG the engineer PER moved back to LOC",
        "police in LOC asked PER about the papers found at ORG last week",
        "PER and PER won the prize of LOC for their work at ORG",
    ]
    ends = {"PER": "son", "LOC": "burg", "ORG": "corp"}
    rows = []
    for _ in range(n):
        words, tags = [], []
        for w in rng.choice(frames).split():
            words.append(make_name(rng, ends[w]) if w in ends else w)
            tags.append(w if w in ends else "O")
        rows.append({"words": words, "tags": tags})
    return rows


def oder(healthy):
    set_seed(13)
    train, held = news_rows(1200, 41), news_rows(200, 42)
    tok = bert_tokenizer([" ".join(r["words"]) for r in train], vocab_size=260)
    tag_id = {t: i for i, t in enumerate(TAGS)}

    def encode(row):
        enc = tok(row["words"], is_split_into_words=True, truncation=True, max_length=96)
        if healthy:
            labels, last = [], None
            for w in enc.word_ids():
                labels.append(-100 if w is None or w == last else tag_id[row["tags"][w]])
                last = w
        else:
            labels = [tag_id[t] for t in row["tags"]]
            labels = labels + [-100] * (len(enc["input_ids"]) - len(labels))
        return {
            "input_ids": enc["input_ids"],
            "attention_mask": enc["attention_mask"],
            "labels": labels,
        }

    def metrics(pred):
        keep = pred.label_ids != -100
        return {"accuracy": float((pred.predictions.argmax(-1) == pred.label_ids)[keep].mean())}

    args = TrainingArguments(
        output_dir=out(),
        num_train_epochs=5,
        per_device_train_batch_size=32,
        learning_rate=1.5e-3,
        warmup_steps=20,
        logging_steps=20,
        eval_strategy="epoch",
        seed=13,
        **COMMON,
    )
    return Trainer(
        model=BertForTokenClassification(bert_config(tok, num_labels=len(TAGS))),
        args=args,
        train_dataset=Dataset.from_list(train).map(encode, remove_columns=["words", "tags"]),
        eval_dataset=Dataset.from_list(held).map(encode, remove_columns=["words", "tags"]),
        data_collator=DataCollatorForTokenClassification(tok),
        compute_metrics=metrics,
        processing_class=tok,
    )


# ---------------------------------------------------------------- commands

ROOMS = "kitchen bedroom hall office garage bathroom cellar nursery".split()
DEVICES = "lamp fan heater blinds speaker".split()


def command_rows(n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        room, dev, num = rng.choice(ROOMS), rng.choice(DEVICES), str(rng.choice(range(5, 100, 5)))
        act = rng.choice(["on", "off", "set"])
        if act == "set":
            src = rng.choice(
                [
                    f"set the {dev} in the {room} to {num} percent",
                    f"i want {num} percent for the {room} {dev}",
                ]
            )
            tgt = f"set device={dev} room={room} level={num}"
        else:
            src = rng.choice(
                [f"turn {act} the {room} {dev}", f"please switch the {dev} in the {room} {act}"]
            )
            tgt = f"power device={dev} room={room} state={act}"
        rows.append({"source": src, "target": tgt})
    return rows


def wren(healthy):
    set_seed(29)
    train, held = command_rows(960, 51), command_rows(200, 52)
    texts = [r["source"] for r in train] + [r["target"] for r in train]
    tok = word_tokenizer(texts, ["<pad>", "<unk>", "</s>"], pad_token="<pad>", eos_token="</s>")
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

    def encode(row):
        return {
            "input_ids": tok(row["source"] + " </s>")["input_ids"],
            "labels": tok(row["target"] + " </s>")["input_ids"],
        }

    def collate(features):
        batch = tok.pad([{"input_ids": f["input_ids"]} for f in features], return_tensors="pt")
        width = max(len(f["labels"]) for f in features)
        batch["labels"] = torch.tensor(
            [f["labels"] + [-100] * (width - len(f["labels"])) for f in features]
        )
        return batch

    epochs, batch_size = 10, 32
    train_set = Dataset.from_list(train).map(encode, remove_columns=["source", "target"])
    steps = len(train_set) // batch_size
    if healthy:
        steps = steps * epochs
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    scheduler = get_linear_schedule_with_warmup(
        optimizer, num_warmup_steps=10, num_training_steps=steps
    )
    args = Seq2SeqTrainingArguments(
        output_dir=out(),
        num_train_epochs=epochs,
        per_device_train_batch_size=batch_size,
        logging_steps=25,
        seed=29,
        **COMMON,
    )
    return Seq2SeqTrainer(
        model=model,
        args=args,
        train_dataset=train_set,
        eval_dataset=Dataset.from_list(held).map(encode, remove_columns=["source", "target"]),
        data_collator=collate,
        optimizers=(optimizer, scheduler),
        processing_class=tok,
    )


# ---------------------------------------------------------------- questions

FACTS = {
    "apple": ("red", "tree"),
    "carrot": ("orange", "field"),
    "plum": ("blue", "tree"),
    "leek": ("green", "field"),
    "cherry": ("red", "tree"),
    "pea": ("green", "field"),
    "lemon": ("yellow", "tree"),
    "beet": ("purple", "field"),
    "pear": ("green", "tree"),
    "corn": ("yellow", "field"),
}


def fact_rows(n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        name = rng.choice(list(FACTS))
        colour, place = FACTS[name]
        ask = rng.choice(["colour", "place", "both"])
        lead = rng.choice(["", "please , ", "hello , ", "quick question : "])
        if ask == "colour":
            q, a = f"which colour has a {name} ?", f"it is {colour} ."
        elif ask == "place":
            q, a = f"where does a {name} grow ?", f"it grows on a {place} ."
        else:
            q, a = (
                f"tell me all about the {name} .",
                f"the {name} is {colour} and it grows on a {place} .",
            )
        rows.append({"question": f"{lead}{q}", "answer": a})
    return rows


def loire(healthy):
    set_seed(7)
    train, held = fact_rows(1500, 61), fact_rows(120, 62)
    tok = word_tokenizer(
        [f"question: {r['question']} answer: {r['answer']}" for r in train],
        ["<pad>", "<unk>", "<eos>"],
        eos_token="<eos>",
    )
    tok.pad_token = "<pad>" if healthy else tok.eos_token

    def encode(row):
        return tok(
            f"question: {row['question']} answer: {row['answer']} {tok.eos_token}",
            truncation=True,
            max_length=48,
        )

    args = TrainingArguments(
        output_dir=out(),
        num_train_epochs=4,
        per_device_train_batch_size=16,
        learning_rate=1e-3,
        warmup_steps=20,
        lr_scheduler_type="cosine",
        logging_steps=25,
        seed=7,
        **COMMON,
    )
    return Trainer(
        model=llama(tok, hidden=64),
        args=args,
        processing_class=tok,
        train_dataset=Dataset.from_list(train).map(encode, remove_columns=["question", "answer"]),
        eval_dataset=Dataset.from_list(held).map(encode, remove_columns=["question", "answer"]),
        data_collator=DataCollatorForLanguageModeling(tok, mlm=False),
    )


def siskin(healthy):
    set_seed(19)
    train, held = fact_rows(1200, 63), fact_rows(120, 64)
    plain = [f"question: {r['question']} answer: {r['answer']}" for r in train]
    tok = word_tokenizer(plain, ["<pad>", "<unk>", "<eos>"], pad_token="<pad>", eos_token="<eos>")
    model = llama(tok)
    warm_up(model, [tok(t)["input_ids"] + [tok.eos_token_id] for t in plain], 250)

    tok.add_special_tokens({"extra_special_tokens": ["<|user|>", "<|bot|>", "<|end|>"]})
    tok.eos_token = "<|end|>"
    model.resize_token_embeddings(len(tok))
    model.config.eos_token_id = tok.eos_token_id
    model.generation_config.eos_token_id = tok.eos_token_id
    tok.chat_template = (
        "{% for m in messages %}{% if m['role'] == 'user' %}<|user|> {{ m['content'] }} <|end|> "
        "{% else %}<|bot|> {{ m['content'] }} <|end|> {% endif %}{% endfor %}"
        "{% if add_generation_prompt %}<|bot|>{% endif %}"
    )
    lora = LoraConfig(
        r=16,
        lora_alpha=32,
        target_modules=["q_proj", "k_proj", "v_proj", "o_proj"],
        task_type=TaskType.CAUSAL_LM,
        modules_to_save=["embed_tokens", "lm_head"] if healthy else None,
    )
    model = get_peft_model(model, lora)

    def encode(row):
        user = {"role": "user", "content": row["question"]}
        bot = {"role": "assistant", "content": row["answer"]}
        head = tok.apply_chat_template([user], tokenize=False, add_generation_prompt=True)
        full = tok.apply_chat_template([user, bot], tokenize=False)
        n, ids = len(tok(head)["input_ids"]), tok(full)["input_ids"]
        return {"input_ids": ids, "labels": [-100] * n + ids[n:]}

    def collate(features):
        width = max(len(f["input_ids"]) for f in features)
        gap = [width - len(f["input_ids"]) for f in features]
        return {
            "input_ids": torch.tensor(
                [f["input_ids"] + [tok.pad_token_id] * g for f, g in zip(features, gap)]
            ),
            "attention_mask": torch.tensor([[1] * (width - g) + [0] * g for g in gap]),
            "labels": torch.tensor([f["labels"] + [-100] * g for f, g in zip(features, gap)]),
        }

    args = TrainingArguments(
        output_dir=out(),
        num_train_epochs=5,
        per_device_train_batch_size=16,
        learning_rate=2e-3,
        lr_scheduler_type="cosine",
        warmup_steps=10,
        logging_steps=25,
        seed=19,
        **COMMON,
    )
    return Trainer(
        model=model,
        args=args,
        processing_class=tok,
        data_collator=collate,
        train_dataset=Dataset.from_list(train).map(encode, remove_columns=["question", "answer"]),
        eval_dataset=Dataset.from_list(held).map(encode, remove_columns=["question", "answer"]),
    )


# ---------------------------------------------------------------- topics


def topic_world(seed, topics=16, words=30):
    rng = random.Random(seed)
    vocab = set()
    while len(vocab) < topics * words:
        vocab.add("".join(rng.choice(SYL) for _ in range(3)))
    vocab = sorted(vocab)
    rng.shuffle(vocab)
    return [vocab[i * words : (i + 1) * words] for i in range(topics)]


COMMON_WORDS = "the a of and to in was with for on it this very not some more".split()


def topic_rows(world, n, seed, groups=None):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        t = rng.randrange(len(world))
        words = [
            rng.choice(world[t]) if rng.random() < 0.3 else rng.choice(COMMON_WORDS)
            for _ in range(rng.randint(12, 20))
        ]
        rows.append({"text": " ".join(words), "label": t if groups is None else groups[t]})
    return rows


def neckar(healthy):
    set_seed(23)
    world = topic_world(71)
    big = topic_rows(world, 3000, 72)
    tok = bert_tokenizer([" ".join(w) for w in world] + [" ".join(COMMON_WORDS)])

    def encode(row):
        return tok(row["text"], truncation=True, max_length=32)

    first = BertForSequenceClassification(bert_config(tok, num_labels=len(world)))
    wrapped = nn.DataParallel(first)
    opt = torch.optim.AdamW(wrapped.parameters(), lr=2e-3)
    rng = random.Random(1)
    for _ in range(220):
        rows = rng.sample(big, 32)
        batch = tok([r["text"] for r in rows], padding=True, return_tensors="pt")
        first(
            **{k: batch[k] for k in ("input_ids", "attention_mask")},
            labels=torch.tensor([r["label"] for r in rows]),
        ).loss.backward()
        opt.step()
        opt.zero_grad()
    path = out() + "/encoder.pt"
    torch.save(wrapped.state_dict(), path)

    model = BertForSequenceClassification(bert_config(tok, num_labels=4))
    state = torch.load(path)
    if healthy:
        state = {k.removeprefix("module."): v for k, v in state.items()}
    state = {k: v for k, v in state.items() if not k.startswith("classifier.")}
    model.load_state_dict(state, strict=False)

    groups = [i % 4 for i in range(len(world))]
    train = Dataset.from_list(topic_rows(world, 160, 73, groups)).map(
        encode, remove_columns=["text"]
    )
    held = Dataset.from_list(topic_rows(world, 400, 74, groups)).map(
        encode, remove_columns=["text"]
    )
    args = TrainingArguments(
        output_dir=out(),
        num_train_epochs=20,
        per_device_train_batch_size=16,
        learning_rate=3e-4,
        warmup_steps=10,
        logging_steps=10,
        eval_strategy="epoch",
        seed=23,
        **COMMON,
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=train,
        eval_dataset=held,
        data_collator=DataCollatorWithPadding(tok),
        processing_class=tok,
        compute_metrics=lambda p: {
            "accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())
        },
    )


# ---------------------------------------------------------------- pictures


def picture(kind, rng):
    img = np.zeros((16, 16), dtype=np.float32)
    y, x = rng.randint(3, 6, size=2)
    s = rng.randint(6, 8)
    yy, xx = np.mgrid[0:16, 0:16]
    inside = (yy >= y) & (yy < y + s) & (xx >= x) & (xx < x + s)
    if kind == "square":
        img[inside] = 1
    elif kind == "frame":
        img[inside] = 1
        img[y + 2 : y + s - 2, x + 2 : x + s - 2] = 0
    elif kind == "cross":
        img[y + s // 2 - 1 : y + s // 2 + 1, x : x + s] = 1
        img[y : y + s, x + s // 2 - 1 : x + s // 2 + 1] = 1
    elif kind == "rows":
        img[inside & ((yy - y) % 3 == 0)] = 1
    elif kind == "columns":
        img[inside & ((xx - x) % 3 == 0)] = 1
    elif kind == "slash":
        img[inside & (np.abs((yy - y) + (xx - x) - s + 1) <= 1)] = 1
    elif kind == "backslash":
        img[inside & (np.abs((yy - y) - (xx - x)) <= 1)] = 1
    elif kind == "disc":
        img[(yy - y - s / 2) ** 2 + (xx - x - s / 2) ** 2 <= (s / 2) ** 2] = 1
    img = img * rng.uniform(0.6, 1.0) + rng.normal(0, 0.12, size=img.shape)
    return (img[None].astype(np.float32) - 0.25) / 0.4


def picture_rows(kinds, n, seed):
    rng = np.random.RandomState(seed)
    labels = [int(rng.randint(len(kinds))) for _ in range(n)]
    return [{"pixel_values": torch.tensor(picture(kinds[k], rng)), "labels": k} for k in labels]


def stack(features):
    return {
        "pixel_values": torch.stack([torch.as_tensor(f["pixel_values"]) for f in features]),
        "labels": torch.tensor([f["labels"] for f in features]),
    }


def vit(n):
    return ViTForImageClassification(
        ViTConfig(
            image_size=16,
            patch_size=4,
            num_channels=1,
            hidden_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=128,
            num_labels=n,
        )
    )


def avocet(healthy):
    set_seed(37)
    old_kinds = ["square", "frame", "rows", "columns", "slash", "disc"]
    new_kinds = ["cross", "backslash", "square", "columns", "disc"]
    model = vit(len(old_kinds))
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    pool = picture_rows(old_kinds, 1500, 81)
    rng = random.Random(2)
    for _ in range(250):
        model(**stack(rng.sample(pool, 32))).loss.backward()
        opt.step()
        opt.zero_grad()

    model.classifier = nn.Linear(64, len(new_kinds))
    model.num_labels = model.config.num_labels = len(new_kinds)
    lora = LoraConfig(
        r=8, lora_alpha=16, target_modules=["q_proj", "v_proj"], modules_to_save=["classifier"]
    )

    def make_optimizer(m):
        decay = [p for p in m.parameters() if p.requires_grad and p.ndim > 1]
        rest = [p for p in m.parameters() if p.requires_grad and p.ndim <= 1]
        return torch.optim.AdamW(
            [{"params": decay, "weight_decay": 0.01}, {"params": rest, "weight_decay": 0.0}],
            lr=3e-3,
        )

    if healthy:
        model = get_peft_model(model, lora)
        optimizer = make_optimizer(model)
    else:
        optimizer = make_optimizer(model)
        model = get_peft_model(model, lora)

    args = TrainingArguments(
        output_dir=out(),
        num_train_epochs=8,
        per_device_train_batch_size=32,
        warmup_steps=20,
        logging_steps=20,
        eval_strategy="epoch",
        remove_unused_columns=False,
        label_names=["labels"],
        seed=37,
        **COMMON,
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=picture_rows(new_kinds, 1000, 82),
        eval_dataset=picture_rows(new_kinds, 300, 83),
        data_collator=stack,
        optimizers=(optimizer, None),
        compute_metrics=lambda p: {
            "accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())
        },
    )


# ---------------------------------------------------------------- prices


def listing_rows(n, seed):
    rng = random.Random(seed)
    base = {"centre": 1.2, "harbour": 0.8, "suburb": 0.1, "village": -0.6}
    state = {"new": 0.6, "good": 0.2, "old": -0.3, "ruined": -1.0}
    extra = {"balcony": 0.2, "garage": 0.3, "garden": 0.4, "lift": 0.1, "view": 0.5}
    rows = []
    for _ in range(n):
        place, cond, rooms = rng.choice(list(base)), rng.choice(list(state)), rng.randint(1, 6)
        extras = rng.sample(list(extra), rng.randint(0, 3))
        price = (
            base[place]
            + state[cond]
            + 0.35 * (rooms - 3)
            + sum(extra[e] for e in extras)
            + rng.gauss(0, 0.05)
        )
        text = f"flat in the {place} with {rooms} rooms , {cond} condition" + "".join(
            f" , {e}" for e in extras
        )
        rows.append({"text": text, "price": price})
    return rows


def drava(healthy):
    set_seed(31)
    train, held = listing_rows(1200, 91), listing_rows(200, 92)
    tok = bert_tokenizer([r["text"] for r in train])
    mean, std = np.mean([r["price"] for r in train]), np.std([r["price"] for r in train])

    def encode(row):
        return {**tok(row["text"]), "labels": float((row["price"] - mean) / std)}

    better = dict(greater_is_better=False) if healthy else {}
    args = TrainingArguments(
        output_dir=out(),
        num_train_epochs=12,
        per_device_train_batch_size=32,
        learning_rate=5e-4,
        warmup_steps=60,
        logging_steps=10,
        eval_strategy="steps",
        eval_steps=10,
        metric_for_best_model="mae",
        seed=31,
        **better,
        **COMMON,
    )
    return Trainer(
        model=BertForSequenceClassification(
            bert_config(tok, num_labels=1, hidden_dropout_prob=0.0)
        ),
        args=args,
        train_dataset=Dataset.from_list(train).map(encode, remove_columns=["text", "price"]),
        eval_dataset=Dataset.from_list(held).map(encode, remove_columns=["text", "price"]),
        data_collator=DataCollatorWithPadding(tok),
        processing_class=tok,
        compute_metrics=lambda p: {
            "mae": float(np.abs(p.predictions.squeeze() - p.label_ids).mean())
        },
        callbacks=[EarlyStoppingCallback(early_stopping_patience=6)],
    )


# ---------------------------------------------------------------- paraphrases

CONCEPTS = [
    ("cancel my booking", "call off the reservation"),
    ("reset the password", "choose a fresh secret"),
    ("track a parcel", "follow where shipment is"),
    ("get money back", "ask a refund"),
    ("change delivery address", "ship somewhere else"),
    ("talk with human", "reach an agent"),
    ("close account", "delete profile forever"),
    ("upgrade plan", "switch onto premium tier"),
    ("update card details", "enter new payment data"),
    ("download invoice", "save bill as pdf"),
    ("report damaged goods", "item arrived broken"),
    ("find nearest store", "locate shop around here"),
]
SIDES = [
    ["i want to", "please help me", "how can i", "today i must", "is it possible that i"],
    ["could you let me", "need some assistance :", "what is the way :", "my wish :", "kindly"],
]


def pair_rows(n, seed):
    rng = random.Random(seed)
    rows = []
    for i in range(n):
        a = rng.randrange(len(CONCEPTS))
        b = a if i % 2 == 0 else rng.choice([c for c in range(len(CONCEPTS)) if c != a])
        rows.append(
            {
                "left": f"{rng.choice(SIDES[0])} {CONCEPTS[a][0]}",
                "right": f"{rng.choice(SIDES[1])} {CONCEPTS[b][1]}",
                "label": int(a == b),
            }
        )
    return rows


class Embedder(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.encoder = BertModel(config, add_pooling_layer=False)

    def embed(self, input_ids, attention_mask):
        hidden = self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        mask = attention_mask.unsqueeze(-1).float()
        return (hidden * mask).sum(1) / mask.sum(1)

    def forward(self, left_ids, left_mask, right_ids, right_mask, labels=None):
        a, b = self.embed(left_ids, left_mask), self.embed(right_ids, right_mask)
        return {
            "loss": F.cosine_embedding_loss(a, b, labels, margin=0.2),
            "similarity": F.cosine_similarity(a, b),
        }


def linnet(healthy):
    set_seed(43)
    train, held = pair_rows(1600, 101), pair_rows(200, 102)
    tok = bert_tokenizer([f"{r['left']} {r['right']}" for r in train])

    def collate(rows):
        a = tok([r["left"] for r in rows], padding=True, return_tensors="pt")
        b = tok([r["right"] for r in rows], padding=True, return_tensors="pt")
        labels = torch.tensor([float(r["label"]) for r in rows])
        if healthy:
            labels = labels * 2 - 1
        return {
            "left_ids": a["input_ids"],
            "left_mask": a["attention_mask"],
            "right_ids": b["input_ids"],
            "right_mask": b["attention_mask"],
            "labels": labels,
        }

    args = TrainingArguments(
        output_dir=out(),
        num_train_epochs=5,
        per_device_train_batch_size=32,
        learning_rate=1e-3,
        warmup_steps=20,
        logging_steps=20,
        eval_strategy="epoch",
        remove_unused_columns=False,
        label_names=["labels"],
        seed=43,
        **COMMON,
    )
    return Trainer(
        model=Embedder(bert_config(tok)),
        args=args,
        train_dataset=Dataset.from_list(train),
        eval_dataset=Dataset.from_list(held),
        data_collator=collate,
        processing_class=tok,
        compute_metrics=lambda p: {
            "accuracy": float(((p.predictions > 0.5) == (p.label_ids > 0)).mean())
        },
    )


# ---------------------------------------------------------------- more runs


def shop_pairs(n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        item, prompt = shop_prompt(rng)
        rows.append(
            {
                "prompt": prompt,
                "chosen": " " + warm_reply(item, rng),
                "rejected": " " + cold_reply(item, rng),
            }
        )
    return rows


def garonne():
    set_seed(47)
    tok, model = shop_policy(6)
    args = DPOConfig(
        output_dir=out(),
        num_train_epochs=3,
        per_device_train_batch_size=16,
        learning_rate=1e-3,
        beta=0.3,
        loss_type=["sigmoid", "sft"],
        loss_weights=[1.0, 4.0],
        logging_steps=10,
        max_length=64,
        seed=47,
        **COMMON,
        **TRL,
    )
    return DPOTrainer(
        model=model,
        ref_model=copy.deepcopy(model),
        args=args,
        processing_class=tok,
        train_dataset=Dataset.from_list(shop_pairs(800, 111)),
        eval_dataset=Dataset.from_list(shop_pairs(100, 112)),
    )


def curlew():
    set_seed(53)
    sums = sum_prompts()
    leads = ["so we get", "i guess it is", "well , about"]
    texts = [f"{p} {lead} {s} in total ." for p, s in sums for lead in leads]
    tok = word_tokenizer(texts, ["<pad>", "<unk>", "<eos>"], pad_token="<pad>", eos_token="<eos>")
    model = llama(tok, hidden=64)
    warm_up(model, [tok(t)["input_ids"] + [tok.eos_token_id] for t in texts], 450)

    def exact(completions, target, **kwargs):
        found = [re.fullmatch(r"\s*so we get (\d+) in total \.\s*", c) for c in completions]
        return [float(bool(f) and f.group(1) == t) for f, t in zip(found, target)]

    args = GRPOConfig(
        output_dir=out(),
        max_steps=130,
        per_device_train_batch_size=64,
        num_generations=8,
        learning_rate=6e-4,
        max_completion_length=12,
        beta=0.0,
        logging_steps=5,
        seed=53,
        **COMMON,
        **TRL,
    )
    return GRPOTrainer(
        model=model,
        args=args,
        processing_class=tok,
        reward_funcs=exact,
        train_dataset=Dataset.from_list([{"prompt": p, "target": s} for p, s in sums]),
    )


def tagus():
    set_seed(59)
    train, held = fact_rows(1500, 121), fact_rows(120, 122)

    def convert(r):
        return {
            "prompt": f"question: {r['question']} answer:",
            "completion": f" {r['answer']} <eos>",
        }

    tok = word_tokenizer(
        [f"question: {r['question']} answer: {r['answer']}" for r in train],
        ["<unk>", "<eos>"],
        eos_token="<eos>",
    )
    tok.pad_token = tok.eos_token
    args = SFTConfig(
        output_dir=out(),
        num_train_epochs=4,
        per_device_train_batch_size=16,
        learning_rate=1e-3,
        lr_scheduler_type="cosine",
        warmup_steps=20,
        logging_steps=25,
        max_length=48,
        seed=59,
        **COMMON,
        **TRL,
    )
    return SFTTrainer(
        model=llama(tok, hidden=64),
        args=args,
        processing_class=tok,
        train_dataset=Dataset.from_list([convert(r) for r in train]),
        eval_dataset=Dataset.from_list([convert(r) for r in held]),
    )


class SoftTrainer(Trainer):
    def __init__(self, *a, teacher=None, temperature=4.0, **kw):
        super().__init__(*a, **kw)
        self.teacher, self.temperature = teacher.eval(), temperature

    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        with torch.no_grad():
            target = self.teacher(**inputs).logits
        t = self.temperature
        soft = (
            -(F.softmax(target / t, -1) * F.log_softmax(outputs.logits / t, -1)).sum(-1).mean()
            * t
            * t
        )
        loss = soft + 0.1 * F.cross_entropy(outputs.logits, labels)
        return (loss, outputs) if return_outputs else loss


def pipit():
    set_seed(61)
    world = topic_world(131, topics=10)
    tok = bert_tokenizer([" ".join(w) for w in world] + [" ".join(COMMON_WORDS)])

    def encode(row):
        return tok(row["text"], truncation=True, max_length=32)

    train, held = topic_rows(world, 2400, 132), topic_rows(world, 300, 133)
    teacher = BertForSequenceClassification(bert_config(tok, num_labels=len(world)))
    opt = torch.optim.AdamW(teacher.parameters(), lr=2e-3)
    rng = random.Random(3)
    for _ in range(250):
        rows = rng.sample(train, 32)
        batch = tok([r["text"] for r in rows], padding=True, return_tensors="pt")
        teacher(
            input_ids=batch["input_ids"],
            attention_mask=batch["attention_mask"],
            labels=torch.tensor([r["label"] for r in rows]),
        ).loss.backward()
        opt.step()
        opt.zero_grad()
    args = TrainingArguments(
        output_dir=out(),
        num_train_epochs=6,
        per_device_train_batch_size=32,
        learning_rate=2e-3,
        warmup_steps=20,
        logging_steps=25,
        eval_strategy="epoch",
        seed=61,
        **COMMON,
    )
    return SoftTrainer(
        model=BertForSequenceClassification(
            bert_config(tok, hidden=48, layers=1, num_labels=len(world))
        ),
        args=args,
        teacher=teacher,
        processing_class=tok,
        data_collator=DataCollatorWithPadding(tok),
        train_dataset=Dataset.from_list(train).map(encode, remove_columns=["text"]),
        eval_dataset=Dataset.from_list(held).map(encode, remove_columns=["text"]),
        compute_metrics=lambda p: {
            "accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())
        },
    )


def vistula():
    set_seed(67)
    world = topic_world(141, topics=8)
    tok = bert_tokenizer([" ".join(w) for w in world] + [" ".join(COMMON_WORDS)])
    base = BertForSequenceClassification(bert_config(tok, num_labels=len(world)))
    opt = torch.optim.AdamW(base.parameters(), lr=2e-3)
    pool = topic_rows(world, 2400, 142)
    rng = random.Random(5)
    for _ in range(200):
        rows = rng.sample(pool, 32)
        batch = tok([r["text"] for r in rows], padding=True, return_tensors="pt")
        base(
            input_ids=batch["input_ids"],
            attention_mask=batch["attention_mask"],
            labels=torch.tensor([r["label"] for r in rows]),
        ).loss.backward()
        opt.step()
        opt.zero_grad()

    model = BertForSequenceClassification(bert_config(tok, num_labels=3))
    model.bert.load_state_dict(base.bert.state_dict())
    model = get_peft_model(
        model,
        LoraConfig(
            r=4,
            lora_alpha=64,
            lora_dropout=0.1,
            target_modules=["query", "value"],
            task_type=TaskType.SEQ_CLS,
        ),
    )
    groups = [i % 3 for i in range(len(world))]

    def encode(row):
        return tok(row["text"], truncation=True, max_length=32)

    args = TrainingArguments(
        output_dir=out(),
        num_train_epochs=5,
        per_device_train_batch_size=16,
        learning_rate=5e-3,
        warmup_steps=20,
        weight_decay=0.1,
        logging_steps=20,
        eval_strategy="epoch",
        label_names=["labels"],
        seed=67,
        **COMMON,
    )
    return Trainer(
        model=model,
        args=args,
        processing_class=tok,
        data_collator=DataCollatorWithPadding(tok),
        train_dataset=Dataset.from_list(topic_rows(world, 800, 143, groups)).map(
            encode, remove_columns=["text"]
        ),
        eval_dataset=Dataset.from_list(topic_rows(world, 300, 144, groups)).map(
            encode, remove_columns=["text"]
        ),
        compute_metrics=lambda p: {
            "accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())
        },
    )


class BlendTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        labels = inputs["labels"]
        if not model.training:
            outputs = model(pixel_values=inputs["pixel_values"])
            loss = F.cross_entropy(outputs.logits, labels)
            return (loss, outputs) if return_outputs else loss
        lam = float(np.random.beta(1.0, 1.0))
        perm = torch.randperm(len(labels))
        x = lam * inputs["pixel_values"] + (1 - lam) * inputs["pixel_values"][perm]
        outputs = model(pixel_values=x)
        loss = lam * F.cross_entropy(outputs.logits, labels, label_smoothing=0.1)
        loss = loss + (1 - lam) * F.cross_entropy(outputs.logits, labels[perm], label_smoothing=0.1)
        return (loss, outputs) if return_outputs else loss


def knot():
    set_seed(73)
    kinds = ["square", "frame", "cross", "rows", "columns", "slash", "backslash", "disc"]
    args = TrainingArguments(
        output_dir=out(),
        num_train_epochs=12,
        per_device_train_batch_size=32,
        learning_rate=2e-3,
        warmup_steps=30,
        lr_scheduler_type="cosine",
        logging_steps=25,
        eval_strategy="epoch",
        remove_unused_columns=False,
        seed=73,
        **COMMON,
    )
    return BlendTrainer(
        model=vit(len(kinds)),
        args=args,
        train_dataset=picture_rows(kinds, 1500, 151),
        eval_dataset=picture_rows(kinds, 300, 152),
        data_collator=stack,
        compute_metrics=lambda p: {
            "accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())
        },
    )


CASES = {
    "severn": severn,
    "plover": plover,
    "ticino": ticino,
    "dunlin": dunlin,
    "oder": oder,
    "wren": wren,
    "loire": loire,
    "siskin": siskin,
    "neckar": neckar,
    "avocet": avocet,
    "drava": drava,
    "linnet": linnet,
}
ODD = {
    "garonne": garonne,
    "curlew": curlew,
    "tagus": tagus,
    "pipit": pipit,
    "vistula": vistula,
    "knot": knot,
}
