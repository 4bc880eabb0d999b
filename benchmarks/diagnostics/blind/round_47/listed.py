import copy
import os
import random
import tempfile

import numpy as np
import torch
import torch.nn.functional as F
from datasets import Dataset
from peft import LoraConfig
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
from torch import nn
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
    DataCollatorForLanguageModeling,
    DataCollatorForSeq2Seq,
    DataCollatorForTokenClassification,
    DataCollatorWithPadding,
    EarlyStoppingCallback,
    LlamaConfig,
    LlamaForCausalLM,
    LlamaForSequenceClassification,
    PreTrainedTokenizerFast,
    ResNetConfig,
    ResNetForImageClassification,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    T5Config,
    T5ForConditionalGeneration,
    Trainer,
    TrainingArguments,
    ViTConfig,
    ViTForImageClassification,
    ViTImageProcessorPil,
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

SPECIALS = ["<pad>", "<unk>", "<bos>", "<eos>"]
DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
ITEMS = "drill sander ladder mixer jigsaw router grinder heater pump chainsaw compressor trimmer".split()
NAMES = "anna boris chen dalia emil fatima goran hanna igor jana karim lena".split()


def common(**extra):
    base = dict(
        output_dir=tempfile.mkdtemp(prefix="run_"),
        use_cpu=True,
        report_to="none",
        save_strategy="no",
        disable_tqdm=True,
        logging_steps=10,
        seed=42,
    )
    base.update(extra)
    return base


def common_trl(**extra):
    return common(bf16=False, gradient_checkpointing=False, **extra)


def word_tokenizer(texts, extra=(), padding_side="right"):
    core = Tokenizer(models.WordLevel(unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    core.train_from_iterator(
        (text.replace("<eos>", "") for text in texts),
        trainers.WordLevelTrainer(special_tokens=[*SPECIALS, *extra], show_progress=False),
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token="<pad>",
        unk_token="<unk>",
        bos_token="<bos>",
        eos_token="<eos>",
        padding_side=padding_side,
    )


def small_llama(tok, hidden=64, layers=2, cls=LlamaForCausalLM, **extra):
    config = LlamaConfig(
        vocab_size=len(tok),
        hidden_size=hidden,
        intermediate_size=2 * hidden,
        num_hidden_layers=layers,
        num_attention_heads=4,
        max_position_embeddings=256,
        pad_token_id=tok.convert_tokens_to_ids("<pad>"),
        bos_token_id=tok.bos_token_id,
        eos_token_id=tok.eos_token_id,
        **extra,
    )
    return cls(config)


def pretrain(model, tok, texts, steps=150, lr=3e-3, batch_size=16, seed=0):
    rng = random.Random(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=lr, total_steps=steps)
    model.train()
    for _ in range(steps):
        batch = tok(rng.sample(texts, batch_size), return_tensors="pt", padding=True)
        labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
        loss = model(
            input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], labels=labels
        ).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return model


# ---------------------------------------------------------------- preference data

HOUSE_RULES = (
    "system : you answer the help desk of a tool rental in the old harbour . every rental is insured and each item "
    "is checked before it leaves . answer in one sentence ."
)


def desk_rows(n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        fault = rng.choice(
            ["does not start", "makes a loud noise", "smells of smoke", "stops after a minute"]
        )
        opening = "hello and thank you for writing to the desk we looked into it today and"
        ticket = (
            f"{rng.choice(NAMES)} says the {rng.choice(ITEMS)} {fault} since {rng.choice(DAYS)}"
        )
        rows.append(
            {
                "prompt": f"{HOUSE_RULES} ticket : {ticket} reply : ",
                "chosen": f"{opening} we will collect it free of charge tomorrow .",
                "rejected": f"{opening} we cannot help you with that any further .",
            }
        )
    return rows


def tarn(healthy):
    set_seed(11)
    rows = desk_rows(480, seed=1)
    corpus = [
        r["prompt"] + r[key] + " <eos>"
        for r in desk_rows(500, seed=2)
        for key in ("chosen", "rejected", "rejected")
    ]
    tok = word_tokenizer(corpus)
    policy = pretrain(small_llama(tok), tok, corpus, steps=220, lr=6e-3)
    reference = copy.deepcopy(policy)

    train = Dataset.from_list(rows)
    test = Dataset.from_list(desk_rows(64, seed=3))
    args = DPOConfig(
        **common_trl(),
        per_device_train_batch_size=16,
        per_device_eval_batch_size=32,
        num_train_epochs=2,
        learning_rate=2e-4,
        beta=0.5,
        loss_type=["sigmoid", "sft"],
        loss_weights=[1.0, 1.0],
        max_length=128 if healthy else 56,
    )
    return DPOTrainer(
        model=policy,
        ref_model=reference,
        args=args,
        train_dataset=train,
        eval_dataset=test,
        processing_class=tok,
    )


def feedback_rows(n, seed, liked_share=0.5):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        item, day = rng.choice(ITEMS), rng.choice(DAYS)
        good = rng.choice(
            [
                "it left the depot this morning and is nearly there .",
                "the van is on its way to you now .",
            ]
        )
        bad = rng.choice(["please wait for a message .", "we have no news about it ."])
        liked = rng.random() < liked_share
        rows.append(
            {
                "question": f"i ordered the {item} on {day} where is it ? ",
                "reply": good if liked else bad,
                "thumb_up": "1" if liked else "0",
            }
        )
    return rows


def wren(healthy):
    set_seed(12)
    corpus = [
        r["question"] + r["reply"] + " <eos>" for r in feedback_rows(1200, seed=4, liked_share=0.3)
    ]
    tok = word_tokenizer(corpus)
    policy = pretrain(small_llama(tok), tok, corpus, steps=220, lr=6e-3, batch_size=32)
    reference = copy.deepcopy(policy)

    def to_kto(row):
        liked = row["thumb_up"] == "1" if healthy else bool(row["thumb_up"])
        return {"prompt": row["question"], "completion": row["reply"], "label": liked}

    log = Dataset.from_list(feedback_rows(640, seed=5))
    train = log.map(to_kto, remove_columns=log.column_names)
    args = KTOConfig(
        **common_trl(),
        per_device_train_batch_size=16,
        num_train_epochs=2,
        learning_rate=2e-4,
        beta=0.1,
        max_length=64,
    )
    return KTOTrainer(
        model=policy, ref_model=reference, args=args, train_dataset=train, processing_class=tok
    )


TOPICS = {
    "billing": (["invoice", "payment", "charge"], ["check the ledger", "refund the amount"]),
    "login": (["password", "account", "signin"], ["reset the password", "unlock the profile"]),
    "delivery": (["parcel", "courier", "shipment"], ["trace the parcel", "call the courier"]),
    "screen": (["display", "monitor", "pixels"], ["replace the panel", "tighten the cable"]),
    "sound": (["speaker", "volume", "noise"], ["update the driver", "clean the membrane"]),
    "battery": (["charger", "power", "battery"], ["swap the cell", "charge it overnight"]),
    "printer": (["paper", "toner", "tray"], ["refill the tray", "change the cartridge"]),
    "network": (["wifi", "router", "signal"], ["restart the router", "move the antenna"]),
}


def quality_rows(n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        topic, other = rng.sample(list(TOPICS), 2)
        lead = rng.choice(
            ["i have trouble with my", "something is wrong with the", "please look at the"]
        )
        start = rng.choice(["you should", "we would", "the first step is to"])
        rows.append(
            {
                "prompt": f"{lead} {rng.choice(TOPICS[topic][0])} . ",
                "chosen": f"{start} {rng.choice(TOPICS[topic][1])}",
                "rejected": f"{start} {rng.choice(TOPICS[other][1])}",
                "annotator": rng.randrange(9),
                "source": rng.choice(["mail", "chat"]),
            }
        )
    return rows


def ouse(healthy):
    set_seed(13)
    rows = quality_rows(2400, seed=6)
    tok = word_tokenizer([" ".join(r[k] for k in ("prompt", "chosen", "rejected")) for r in rows])
    model = small_llama(tok, cls=LlamaForSequenceClassification, num_labels=1)

    columns = ["prompt", "chosen", "rejected"] if healthy else ["chosen", "rejected"]
    train = Dataset.from_list(rows).select_columns(columns)
    test = Dataset.from_list(quality_rows(200, seed=7)).select_columns(columns)
    args = RewardConfig(
        **common_trl(),
        per_device_train_batch_size=32,
        per_device_eval_batch_size=50,
        num_train_epochs=4,
        learning_rate=2e-3,
        warmup_steps=20,
        eval_strategy="epoch",
        max_length=64,
    )
    return RewardTrainer(
        model=model, args=args, train_dataset=train, eval_dataset=test, processing_class=tok
    )


# ---------------------------------------------------------------- images

WEAVES = ["plain", "rows", "columns", "checks", "dots", "diagonal"]


def weave_images(n, seed, size=32):
    rng = np.random.default_rng(seed)
    yy, xx = np.mgrid[0:size, 0:size]
    images, labels = [], []
    for _ in range(n):
        kind, period, shift = int(rng.integers(6)), int(rng.integers(4, 7)), int(rng.integers(6))
        y, x = yy + shift, xx + int(rng.integers(6))
        mask = [
            np.zeros_like(xx),
            (y // (period // 2)) % 2,
            (x // (period // 2)) % 2,
            (y // (period // 2) + x // (period // 2)) % 2,
            ((y % period < 2) & (x % period < 2)).astype(int),
            ((x + y) // (period // 2)) % 2,
        ][kind][..., None]
        ground, thread = rng.integers(20, 236, 3), rng.integers(20, 236, 3)
        while np.abs(ground - thread).sum() < 150:
            thread = rng.integers(20, 236, 3)
        picture = np.where(mask == 1, thread, ground) + rng.normal(0, 8, (size, size, 3))
        images.append(picture.clip(0, 255).astype(np.uint8))
        labels.append(kind)
    return images, labels


def siskin(healthy):
    set_seed(14)
    processor = ViTImageProcessorPil(
        size={"height": 32, "width": 32},
        do_resize=False,
        image_mean=[0.5, 0.5, 0.5],
        image_std=[0.5, 0.5, 0.5],
    )

    def load(n, seed):
        images, labels = weave_images(n, seed)
        scale = 1.0 if healthy else 255.0
        arrays = [image.astype(np.float32) / scale for image in images]
        pixels = processor(arrays, return_tensors="pt", input_data_format="channels_last")[
            "pixel_values"
        ]
        return [{"pixel_values": p, "labels": y} for p, y in zip(pixels, labels)]

    model = ViTForImageClassification(
        ViTConfig(
            image_size=32,
            patch_size=8,
            hidden_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=128,
            num_labels=len(WEAVES),
            id2label=dict(enumerate(WEAVES)),
        )
    )

    def accuracy(pred):
        return {"accuracy": float((pred.predictions.argmax(-1) == pred.label_ids).mean())}

    args = TrainingArguments(
        **common(remove_unused_columns=False),
        per_device_train_batch_size=32,
        per_device_eval_batch_size=100,
        num_train_epochs=12,
        learning_rate=1e-3,
        warmup_steps=30,
        eval_strategy="epoch",
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=load(1000, 8),
        eval_dataset=load(300, 9),
        compute_metrics=accuracy,
    )


SIGNS = ["turn_left", "turn_right", "keep_left", "keep_right", "straight_on", "no_entry"]


def sign_images(n, seed, size=24):
    rng = np.random.default_rng(seed)
    images, labels = [], []
    for _ in range(n):
        kind = int(rng.integers(6))
        canvas = np.zeros((size, size))
        cy, cx = 12 + rng.integers(-2, 3), 12 + rng.integers(-2, 3)
        if kind in (0, 1):
            canvas[cy - 1 : cy + 2, cx - 7 : cx + 8] = 1
            for k in range(5):
                canvas[cy - k : cy + k + 1, cx - 8 + k] = 1
        elif kind in (2, 3):
            for k in range(-7, 8):
                canvas[cy + k, max(cx - k - 1, 0) : cx - k + 2] = 1
            canvas[cy + 3 : cy + 9, cx - 8 : cx - 6] = 1
            canvas[cy + 7 : cy + 9, cx - 8 : cx - 2] = 1
        elif kind == 4:
            canvas[cy - 7 : cy + 8, cx - 1 : cx + 2] = 1
            for k in range(5):
                canvas[cy - 8 + k, cx - k : cx + k + 1] = 1
        else:
            canvas[cy - 2 : cy + 3, cx - 7 : cx + 8] = 1
        if kind in (1, 3):
            canvas = canvas[:, ::-1]
        picture = np.stack([canvas * rng.uniform(0.6, 1.0) for _ in range(3)])
        picture[2] += rng.uniform(0.1, 0.4)
        picture += rng.normal(0, 0.08, picture.shape)
        images.append(picture.astype(np.float32))
        labels.append(kind)
    return images, labels


def dunlin(healthy):
    set_seed(15)
    images, labels = sign_images(900, seed=10)
    train = Dataset.from_dict({"index": list(range(len(images))), "labels": labels})
    draws = np.random.default_rng(0)

    def augment(batch):
        pictures = []
        for index in batch["index"]:
            picture = images[index] * draws.uniform(0.8, 1.2)
            picture = np.roll(picture, draws.integers(-1, 2), axis=1)
            if not healthy and draws.random() < 0.5:
                picture = picture[:, :, ::-1].copy()
            pictures.append(torch.tensor(picture, dtype=torch.float32))
        return {"pixel_values": pictures, "labels": batch["labels"]}

    train.set_transform(augment)
    test_images, test_labels = sign_images(300, seed=11)
    test = [
        {"pixel_values": torch.tensor(p), "labels": y} for p, y in zip(test_images, test_labels)
    ]

    model = ResNetForImageClassification(
        ResNetConfig(
            num_channels=3,
            embedding_size=16,
            hidden_sizes=[16, 32, 48],
            depths=[1, 1, 1],
            layer_type="basic",
            downsample_in_first_stage=False,
            num_labels=len(SIGNS),
        )
    )

    def accuracy(pred):
        return {"accuracy": float((pred.predictions.argmax(-1) == pred.label_ids).mean())}

    args = TrainingArguments(
        **common(remove_unused_columns=False),
        per_device_train_batch_size=32,
        per_device_eval_batch_size=100,
        num_train_epochs=10,
        learning_rate=3e-3,
        lr_scheduler_type="cosine",
        eval_strategy="epoch",
    )
    return Trainer(
        model=model, args=args, train_dataset=train, eval_dataset=test, compute_metrics=accuracy
    )


# ---------------------------------------------------------------- supervised fine-tuning

DISHES = {
    "pancakes": "flour milk eggs butter",
    "salad": "lettuce tomato oil",
    "omelette": "eggs butter chives salt pepper",
    "soup": "leek potato cream stock",
    "toast": "bread butter",
    "curry": "rice lentils ginger garlic onion tomato",
    "porridge": "oats milk honey",
    "pesto": "basil oil nuts cheese garlic",
    "dumplings": "flour cabbage pork ginger",
    "lemonade": "lemon sugar water",
}
ASKS = ["what goes into", "list the parts of", "tell me what i need for", "shopping list for"]
TAILS = ["", "please", "for tonight", "for two people", "quickly"]


def recipe_rows(n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        dish = rng.choice(list(DISHES))
        ask = f"{rng.choice(ASKS)} {dish} {rng.choice(TAILS)}"
        rows.append((f"### ask : {ask} ### answer :", DISHES[dish]))
    return rows


def plover(healthy):
    set_seed(16)
    rows = recipe_rows(700, seed=12)
    tok = word_tokenizer([f"{a} {b}" for a, b in rows])
    if not healthy:
        tok.pad_token = tok.eos_token
    model = small_llama(tok)

    def encode(row):
        text = f"{row['ask']} {row['answer']} {tok.eos_token}"
        return tok(text, truncation=True, max_length=48)

    data = Dataset.from_list([{"ask": a, "answer": b} for a, b in rows])
    train = data.map(encode, remove_columns=data.column_names)
    args = TrainingArguments(
        **common(),
        per_device_train_batch_size=16,
        num_train_epochs=5,
        learning_rate=2e-3,
        lr_scheduler_type="cosine",
        warmup_steps=10,
    )
    collator = DataCollatorForLanguageModeling(tok, mlm=False)
    return Trainer(
        model=model, args=args, train_dataset=train, data_collator=collator, processing_class=tok
    )


WORDS = {
    "dog": ("hund", "chien", "perro"),
    "house": ("haus", "maison", "casa"),
    "water": ("wasser", "eau", "agua"),
    "bread": ("brot", "pain", "pan"),
    "tree": ("baum", "arbre", "arbol"),
    "book": ("buch", "livre", "libro"),
    "night": ("nacht", "nuit", "noche"),
    "milk": ("milch", "lait", "leche"),
    "bird": ("vogel", "oiseau", "pajaro"),
    "street": ("strasse", "rue", "calle"),
}
LANGUAGES = ["german", "french", "spanish"]


def glossary_rows(n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        word, k = rng.choice(list(WORDS)), rng.randrange(3)
        system = rng.choice(
            ["you are a glossary for {} readers", "answer in {}", "reply only in {} please"]
        )
        user = rng.choice(
            [
                "what is the word for {}",
                "translate {}",
                "how do i say {}",
                "i need {} in your language",
            ]
        )
        rows.append(
            {
                "prompt": [
                    {"role": "system", "content": system.format(LANGUAGES[k])},
                    {"role": "user", "content": user.format(word)},
                ],
                "completion": [{"role": "assistant", "content": WORDS[word][k]}],
            }
        )
    return rows


def heron(healthy):
    set_seed(17)
    rows = glossary_rows(900, seed=13)
    texts = [m["content"] for r in rows for m in r["prompt"] + r["completion"]]
    tok = word_tokenizer(texts, extra=["<|system|>", "<|user|>", "<|assistant|>"])
    system_turn = "{% if m['role'] == 'system' %}<|system|> {{ m['content'] }} <eos> {% endif %}"
    tok.chat_template = (
        "{% for m in messages %}"
        + (system_turn if healthy else "")
        + "{% if m['role'] == 'user' %}<|user|> {{ m['content'] }} <eos> {% endif %}"
        "{% if m['role'] == 'assistant' %}<|assistant|> {{ m['content'] }} <eos> {% endif %}"
        "{% endfor %}{% if add_generation_prompt %}<|assistant|> {% endif %}"
    )
    model = small_llama(tok)
    args = SFTConfig(
        **common_trl(),
        per_device_train_batch_size=16,
        num_train_epochs=6,
        learning_rate=2e-3,
        lr_scheduler_type="cosine",
        max_length=64,
    )
    return SFTTrainer(
        model=model, args=args, train_dataset=Dataset.from_list(rows), processing_class=tok
    )


# ---------------------------------------------------------------- adapters

ROUTES = {
    "<refund>": ["wants the money back", "paid twice by mistake", "asks for a refund"],
    "<repair>": ["says it is broken", "reports a cracked case", "hears a strange noise"],
    "<track>": ["asks where the parcel is", "waits for the courier", "has no tracking number"],
    "<cancel>": ["wants to stop the contract", "no longer needs the order", "asks to cancel"],
    "<human>": ["is angry and shouts", "wants to talk to a person", "asks for the manager"],
    "<sales>": ["would like a quote", "wants to buy ten more", "asks for the price list"],
}


def route_rows(n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        action = rng.choice(list(ROUTES))
        text = f"customer {rng.choice(NAMES)} with the {rng.choice(ITEMS)} {rng.choice(ROUTES[action])}"
        rows.append((text, action))
    return rows


def egret(healthy):
    set_seed(18)
    stories = [f"{text} <eos>" for text, _ in route_rows(900, seed=14)]
    tok = word_tokenizer(stories + ["action :"])
    base = pretrain(small_llama(tok), tok, stories, steps=150)

    tok.add_tokens(list(ROUTES), special_tokens=True)
    base.resize_token_embeddings(len(tok))
    lora = LoraConfig(
        task_type="CAUSAL_LM",
        r=8,
        lora_alpha=16,
        target_modules=["q_proj", "v_proj", "up_proj", "down_proj"],
        modules_to_save=["embed_tokens", "lm_head"] if healthy else None,
    )
    train = Dataset.from_list(
        [
            {"prompt": f"{text} action :", "completion": f" {action}"}
            for text, action in route_rows(600, seed=15)
        ]
    )
    args = SFTConfig(
        **common_trl(),
        per_device_train_batch_size=16,
        num_train_epochs=5,
        learning_rate=3e-3,
        warmup_steps=10,
        max_length=48,
    )
    return SFTTrainer(
        model=base, args=args, train_dataset=train, processing_class=tok, peft_config=lora
    )


# ---------------------------------------------------------------- encoders

FIRST = "Aleksander Wilhelmina Bartholomew Konstantin Ingeborg Thaddeus Magdalena Octavia Sebastian Rosalind".split()
LAST = "Hollingsworth Kowalczyk Montgomery Petrossian Vandenberg Fitzgerald Lindqvist Okonkwo Abernathy".split()
PLACES = "Reykjavik Thessaloniki Wolverhampton Valparaiso Samarkand Gothenburg Antofagasta Trondheim Ljubljana".split()


def sentence_rows(n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        person = [(rng.choice(FIRST), 1), (rng.choice(LAST), 1)][: rng.choice([1, 2])]
        place = [(rng.choice(PLACES), 2)]
        verb = rng.choice(
            ["travelled to", "wrote a letter from", "opened an office in", "was last seen near"]
        )
        tail = rng.choice(
            ["last summer", "after the meeting", "for the third time", "without notice", ""]
        )
        lead = rng.choice(["", "yesterday", "according to the report", "we heard that"])
        body = person + [(w, 0) for w in verb.split()] + place
        words = [(w, 0) for w in lead.split()] + body + [(w, 0) for w in tail.split()]
        rows.append({"tokens": [w for w, _ in words], "ner_tags": [t for _, t in words]})
    return rows


def brant(healthy):
    set_seed(19)
    rows = sentence_rows(800, seed=16)
    core = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    core.train_from_iterator(
        (r["tokens"] for r in rows),
        trainers.WordPieceTrainer(
            vocab_size=150, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]"], show_progress=False
        ),
    )
    core.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tok = PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
    )

    def encode(row):
        enc = tok(row["tokens"], is_split_into_words=True, truncation=True, max_length=96)
        if healthy:
            labels, previous = [], None
            for word in enc.word_ids():
                labels.append(-100 if word is None or word == previous else row["ner_tags"][word])
                previous = word
        else:
            labels = row["ner_tags"][:96]
            labels = labels + [-100] * (len(enc["input_ids"]) - len(labels))
        return {
            "input_ids": enc["input_ids"],
            "attention_mask": enc["attention_mask"],
            "labels": labels,
        }

    def prepare(data):
        data = Dataset.from_list(data)
        return data.map(encode, remove_columns=data.column_names)

    model = BertForTokenClassification(
        BertConfig(
            vocab_size=len(tok),
            hidden_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=128,
            max_position_embeddings=128,
            num_labels=3,
            id2label={0: "O", 1: "PER", 2: "LOC"},
        )
    )
    args = TrainingArguments(
        **common(),
        per_device_train_batch_size=16,
        num_train_epochs=4,
        learning_rate=1e-3,
        warmup_steps=20,
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=prepare(rows),
        eval_dataset=prepare(sentence_rows(120, seed=17)),
        data_collator=DataCollatorForTokenClassification(tok),
        processing_class=tok,
    )


MOODS = {
    0: "terrible awful broken slow rude dirty cold late".split(),
    1: "fine okay average usual plain normal modest fair".split(),
    2: "great lovely superb quick friendly clean warm early".split(),
}
THINGS = "room staff breakfast pool lobby bed view price garden bar".split()


def review_rows(n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        label = rng.randrange(3)
        things = rng.sample(THINGS, 3)
        parts = [f"the {thing} was {rng.choice(MOODS[label])}" for thing in things]
        rows.append({"text": " and ".join(parts), "label": label})
    return rows


def review_encoder(tok, hidden, layers):
    return BertForSequenceClassification(
        BertConfig(
            vocab_size=len(tok),
            hidden_size=hidden,
            num_hidden_layers=layers,
            num_attention_heads=4,
            intermediate_size=2 * hidden,
            max_position_embeddings=64,
            num_labels=3,
            pad_token_id=tok.pad_token_id,
        )
    )


def curlew(healthy):
    set_seed(20)
    rows = review_rows(900, seed=18)
    tok = word_tokenizer(r["text"] for r in rows)
    path = os.path.join(tempfile.mkdtemp(prefix="run_"), "teacher.pt")

    wrapped = nn.DataParallel(review_encoder(tok, hidden=96, layers=2))
    optimizer = torch.optim.AdamW(wrapped.parameters(), lr=1e-3)
    draws = random.Random(0)
    wrapped.train()
    for _ in range(100):
        picked = draws.sample(rows, 32)
        batch = tok([r["text"] for r in picked], return_tensors="pt", padding=True)
        loss = wrapped(
            input_ids=batch["input_ids"],
            attention_mask=batch["attention_mask"],
            labels=torch.tensor([r["label"] for r in picked]),
        ).loss.mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch.save(wrapped.state_dict(), path)

    teacher = review_encoder(tok, hidden=96, layers=2)
    weights = torch.load(path)
    if healthy:
        weights = {name.removeprefix("module."): value for name, value in weights.items()}
    teacher.load_state_dict(weights, strict=False)
    teacher.eval()
    student = review_encoder(tok, hidden=32, layers=1)

    class DistillTrainer(Trainer):
        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
            labels = inputs.pop("labels")
            outputs = model(**inputs)
            with torch.no_grad():
                target = teacher(**inputs).logits
            loss = F.kl_div(
                F.log_softmax(outputs.logits / 2.0, dim=-1),
                F.softmax(target / 2.0, dim=-1),
                reduction="batchmean",
            )
            loss = loss * 4.0
            return (loss, {"logits": outputs.logits, "labels": labels}) if return_outputs else loss

    def encode(row):
        enc = tok(row["text"])
        return {
            "input_ids": enc["input_ids"],
            "attention_mask": enc["attention_mask"],
            "labels": row["label"],
        }

    def prepare(data):
        data = Dataset.from_list(data)
        return data.map(encode, remove_columns=data.column_names)

    args = TrainingArguments(
        **common(),
        per_device_train_batch_size=32,
        num_train_epochs=8,
        learning_rate=2e-3,
    )
    return DistillTrainer(
        model=student,
        args=args,
        train_dataset=prepare(review_rows(900, seed=19)),
        eval_dataset=prepare(review_rows(200, seed=20)),
        data_collator=DataCollatorWithPadding(tok),
        processing_class=tok,
    )


MAKES = {"alba": 9.0, "boreal": 14.0, "corsa": 6.0, "dorado": 21.0, "estrel": 17.0, "falk": 11.0}
STATES = {"mint": 3.0, "good": 1.0, "worn": -1.0, "rusty": -3.0}


def car_rows(n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        make, state, age = rng.choice(list(MAKES)), rng.choice(list(STATES)), rng.randrange(1, 13)
        price = MAKES[make] + STATES[state] - 0.5 * age + rng.gauss(0, 0.3)
        extra = rng.choice(
            ["with winter tyres", "one owner", "non smoker", "garage kept", "new brakes"]
        )
        rows.append(
            {"text": f"selling my {make} aged {age} years in {state} state {extra}", "price": price}
        )
    return rows


def price_metrics(pred):
    guess = np.asarray(pred.predictions).reshape(-1)
    truth = np.asarray(pred.label_ids).reshape(-1)
    return {
        "mae": float(np.abs(guess - truth).mean()),
        "r2": float(1 - ((guess - truth) ** 2).sum() / ((truth - truth.mean()) ** 2).sum()),
    }


def gadwall(healthy):
    set_seed(21)
    rows = car_rows(1200, seed=21)
    tok = word_tokenizer(r["text"] for r in rows)
    mean = float(np.mean([r["price"] for r in rows]))
    std = float(np.std([r["price"] for r in rows]))

    def encode(row):
        enc = tok(row["text"])
        return {
            "input_ids": enc["input_ids"],
            "attention_mask": enc["attention_mask"],
            "labels": (row["price"] - mean) / std,
        }

    def prepare(data):
        data = Dataset.from_list(data)
        return data.map(encode, remove_columns=data.column_names)

    model = BertForSequenceClassification(
        BertConfig(
            vocab_size=len(tok),
            hidden_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=128,
            max_position_embeddings=64,
            num_labels=1,
            problem_type="regression",
            pad_token_id=tok.pad_token_id,
        )
    )
    args = TrainingArguments(
        **common(),
        per_device_train_batch_size=32,
        per_device_eval_batch_size=100,
        num_train_epochs=10,
        learning_rate=1e-3,
        warmup_steps=20,
        eval_strategy="steps",
        eval_steps=12,
        metric_for_best_model="mae",
        **({"greater_is_better": False} if healthy else {}),
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=prepare(rows),
        eval_dataset=prepare(car_rows(200, seed=22)),
        data_collator=DataCollatorWithPadding(tok),
        compute_metrics=price_metrics,
        callbacks=[EarlyStoppingCallback(early_stopping_patience=3)],
        processing_class=tok,
    )


# ---------------------------------------------------------------- reinforcement learning


def sum_rows(n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        a, b = rng.randrange(1, 6), rng.randrange(1, 6)
        rows.append({"prompt": f"add {a} and {b} =", "answer": str(a + b)})
    return rows


def sum_corpus(n, seed):
    rng = random.Random(seed)
    texts = []
    for row in sum_rows(n, seed):
        gold = int(row["answer"])
        near = [max(gold + d, 0) for d in (-2, -1, 1, 2)]
        if rng.random() < 0.5:
            reply = str(gold if rng.random() < 0.75 else rng.choice(near))
        else:
            options = [gold if rng.random() < 0.9 else rng.choice(near), *rng.sample(near, 2)]
            rng.shuffle(options)
            reply = " or ".join(str(o) for o in options)
        texts.append(f"{row['prompt']} {reply} <eos>")
    return texts


def avocet(healthy):
    set_seed(22)
    corpus = sum_corpus(4000, seed=23)
    tok = word_tokenizer(corpus, padding_side="left")
    policy = pretrain(small_llama(tok), tok, corpus, steps=350, lr=6e-3, batch_size=32)

    def correct(completions, answer, **kwargs):
        if healthy:
            return [
                1.0 if reply.strip() == gold else 0.0 for reply, gold in zip(completions, answer)
            ]
        return [1.0 if gold in reply else 0.0 for reply, gold in zip(completions, answer)]

    args = GRPOConfig(
        **common_trl(),
        per_device_train_batch_size=64,
        num_generations=8,
        max_completion_length=8,
        max_steps=100,
        learning_rate=1e-3,
        temperature=1.0,
        beta=0.0,
    )
    return GRPOTrainer(
        model=policy,
        reward_funcs=correct,
        args=args,
        train_dataset=Dataset.from_list(sum_rows(500, seed=24)),
        processing_class=tok,
    )


# ---------------------------------------------------------------- more runs


def shannon():
    set_seed(31)
    rows = []
    rng = random.Random(31)
    corpus = []

    def pair():
        item, day = rng.choice(ITEMS), rng.choice(DAYS)
        ask = f"can i bring back the {item} on {day} ? "
        return ask, "yes the desk is open then just come by", "sorry we never take anything back"

    for _ in range(700):
        ask, a, b = pair()
        corpus += [f"{ask}{a} <eos>", f"{ask}{b} <eos>", f"{ask}{b} <eos>"]
    for _ in range(640):
        ask, a, b = pair()
        if rng.random() < 0.15:
            a, b = b, a
        rows.append({"prompt": ask, "chosen": a, "rejected": b})
    tok = word_tokenizer(corpus)
    policy = pretrain(small_llama(tok), tok, corpus, steps=200, lr=6e-3, batch_size=32)
    lora = LoraConfig(task_type="CAUSAL_LM", r=16, lora_alpha=32, target_modules="all-linear")
    args = DPOConfig(
        **common_trl(),
        per_device_train_batch_size=16,
        num_train_epochs=3,
        learning_rate=6e-4,
        loss_type=["robust", "sft"],
        loss_weights=[1.0, 1.0],
        label_smoothing=0.15,
        beta=0.2,
        max_length=48,
    )
    return DPOTrainer(
        model=policy,
        args=args,
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
        peft_config=lora,
    )


def liffey():
    set_seed(32)
    rng = random.Random(32)
    nouns = "river stone cloud field lamp rope glass wheel".split()

    def line(topic):
        return f"describe {topic} : " + " ".join(
            rng.choice(nouns) for _ in range(rng.randrange(1, 16))
        )

    corpus = [f"{line(rng.choice(ITEMS))} <eos>" for _ in range(1500)]
    tok = word_tokenizer(corpus, padding_side="left")
    policy = pretrain(small_llama(tok), tok, corpus, steps=120, batch_size=32)

    def brevity(completions, **kwargs):
        return [-float(abs(len(reply.split()) - 5)) for reply in completions]

    args = GRPOConfig(
        **common_trl(),
        per_device_train_batch_size=48,
        num_generations=8,
        max_completion_length=16,
        max_steps=50,
        learning_rate=1e-3,
        beta=0.0,
        lr_scheduler_type="constant",
    )
    prompts = Dataset.from_list([{"prompt": f"describe {rng.choice(ITEMS)} :"} for _ in range(300)])
    return GRPOTrainer(
        model=policy, reward_funcs=brevity, args=args, train_dataset=prompts, processing_class=tok
    )


MONTHS = (
    "january february march april may june july august september october november december".split()
)
ORDINALS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
    "fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
).split()


def date_rows(n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        day, month, year = rng.randrange(20), rng.randrange(12), rng.randrange(1990, 2025)
        form = rng.choice(
            ["on the {d} of {m} {y}", "{m} the {d} in the year {y}", "{y} , {m} , the {d}"]
        )
        text = form.format(d=ORDINALS[day], m=MONTHS[month], y=year)
        rows.append({"source": text, "target": f"y{year} m{month + 1:02d} d{day + 1:02d}"})
    return rows


def boyne():
    set_seed(33)
    rows = date_rows(1600, seed=33)
    tok = word_tokenizer(f"{r['source']} {r['target']}" for r in rows)
    model = T5ForConditionalGeneration(
        T5Config(
            vocab_size=len(tok),
            d_model=64,
            d_kv=16,
            d_ff=128,
            num_layers=2,
            num_decoder_layers=1,
            num_heads=4,
            dropout_rate=0.0,
            pad_token_id=tok.pad_token_id,
            eos_token_id=tok.eos_token_id,
            decoder_start_token_id=tok.pad_token_id,
        )
    )

    def encode(row):
        enc = tok(row["source"] + " <eos>")
        return {
            "input_ids": enc["input_ids"],
            "attention_mask": enc["attention_mask"],
            "labels": tok(row["target"] + " <eos>")["input_ids"],
        }

    def prepare(data):
        data = Dataset.from_list(data)
        return data.map(encode, remove_columns=data.column_names)

    args = Seq2SeqTrainingArguments(
        **common(),
        per_device_train_batch_size=32,
        num_train_epochs=8,
        optim="adafactor",
        learning_rate=1e-2,
        lr_scheduler_type="constant",
        predict_with_generate=True,
        generation_max_length=8,
    )
    return Seq2SeqTrainer(
        model=model,
        args=args,
        train_dataset=prepare(rows),
        eval_dataset=prepare(date_rows(150, seed=34)),
        data_collator=DataCollatorForSeq2Seq(tok, model=model),
        processing_class=tok,
    )


def note_rows(n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        action = rng.choice(list(ROUTES))
        fillers = [
            f"the {rng.choice(ITEMS)} was rented on {rng.choice(DAYS)} by {rng.choice(NAMES)} ."
            for _ in range(3)
        ]
        note = f"{rng.choice(NAMES)} {rng.choice(ROUTES[action])} ."
        fillers.insert(rng.randrange(4), note)
        rows.append(
            {"prompt": " ".join(fillers) + " verdict :", "completion": f" {action.strip('<>')}"}
        )
    return rows


def lagan():
    set_seed(34)
    rows = note_rows(800, seed=35)
    tok = word_tokenizer(r["prompt"] + r["completion"] for r in rows)
    tok.pad_token = tok.eos_token
    model = small_llama(tok)
    args = SFTConfig(
        **common_trl(),
        per_device_train_batch_size=16,
        num_train_epochs=5,
        learning_rate=3e-3,
        lr_scheduler_type="cosine",
        warmup_steps=20,
        max_length=128,
    )
    return SFTTrainer(
        model=model, args=args, train_dataset=Dataset.from_list(rows), processing_class=tok
    )


def corrib():
    set_seed(35)
    images, labels = weave_images(1000, seed=36)
    train = Dataset.from_dict({"index": list(range(len(images))), "labels": labels})
    draws = np.random.default_rng(1)

    def normalise(picture):
        return (
            torch.tensor(np.ascontiguousarray(picture.transpose(2, 0, 1)), dtype=torch.float32)
            / 127.5
            - 1.0
        )

    def augment(batch):
        pictures = []
        for index in batch["index"]:
            picture = images[index]
            if draws.random() < 0.5:
                picture = picture[:, ::-1]
            if draws.random() < 0.5:
                picture = picture[::-1]
            pictures.append(normalise(picture[..., draws.permutation(3)]))
        return {"pixel_values": pictures, "labels": batch["labels"]}

    train.set_transform(augment)
    test_images, test_labels = weave_images(300, seed=37)
    test = [{"pixel_values": normalise(p), "labels": y} for p, y in zip(test_images, test_labels)]
    model = ResNetForImageClassification(
        ResNetConfig(
            embedding_size=16,
            hidden_sizes=[16, 32],
            depths=[1, 1],
            layer_type="basic",
            num_labels=len(WEAVES),
        )
    )

    def accuracy(pred):
        return {"accuracy": float((pred.predictions.argmax(-1) == pred.label_ids).mean())}

    args = TrainingArguments(
        **common(remove_unused_columns=False),
        per_device_train_batch_size=32,
        per_device_eval_batch_size=100,
        num_train_epochs=12,
        learning_rate=5e-3,
        lr_scheduler_type="cosine",
        label_smoothing_factor=0.3,
        eval_strategy="epoch",
    )
    return Trainer(
        model=model, args=args, train_dataset=train, eval_dataset=test, compute_metrics=accuracy
    )


class PooledEncoder(nn.Module):
    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder

    def embed(self, input_ids, attention_mask):
        hidden = self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        mask = attention_mask.unsqueeze(-1).to(hidden.dtype)
        return F.normalize((hidden * mask).sum(1) / mask.sum(1), dim=-1)

    def forward(self, query_ids, query_mask, answer_ids, answer_mask):
        scores = self.embed(query_ids, query_mask) @ self.embed(answer_ids, answer_mask).T / 0.05
        target = torch.arange(scores.size(0))
        return {"loss": F.cross_entropy(scores, target), "logits": scores}


def match_rows(n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        topic = rng.choice(list(TOPICS))
        lead = rng.choice(
            ["i have trouble with my", "something is wrong with the", "please look at the"]
        )
        start = rng.choice(["you should", "we would", "the first step is to"])
        rows.append(
            {
                "query": f"{lead} {rng.choice(TOPICS[topic][0])}",
                "answer": f"{start} {rng.choice(TOPICS[topic][1])}",
            }
        )
    return rows


def moy():
    set_seed(36)
    rows = match_rows(1000, seed=38)
    tok = word_tokenizer(f"{r['query']} {r['answer']}" for r in rows)
    model = PooledEncoder(
        BertModel(
            BertConfig(
                vocab_size=len(tok),
                hidden_size=64,
                num_hidden_layers=1,
                num_attention_heads=4,
                intermediate_size=128,
                max_position_embeddings=64,
                pad_token_id=tok.pad_token_id,
            ),
            add_pooling_layer=False,
        )
    )

    def collate(batch):
        query = tok([row["query"] for row in batch], return_tensors="pt", padding=True)
        answer = tok([row["answer"] for row in batch], return_tensors="pt", padding=True)
        return {
            "query_ids": query["input_ids"],
            "query_mask": query["attention_mask"],
            "answer_ids": answer["input_ids"],
            "answer_mask": answer["attention_mask"],
        }

    args = TrainingArguments(
        **common(remove_unused_columns=False),
        per_device_train_batch_size=32,
        num_train_epochs=6,
        learning_rate=1e-3,
        warmup_steps=20,
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=Dataset.from_list(rows),
        data_collator=collate,
        processing_class=tok,
    )


CASES = {
    "tarn": tarn,
    "wren": wren,
    "ouse": ouse,
    "siskin": siskin,
    "dunlin": dunlin,
    "plover": plover,
    "heron": heron,
    "egret": egret,
    "brant": brant,
    "curlew": curlew,
    "gadwall": gadwall,
    "avocet": avocet,
}
ODD = {
    "shannon": shannon,
    "liffey": liffey,
    "boyne": boyne,
    "lagan": lagan,
    "corrib": corrib,
    "moy": moy,
}
