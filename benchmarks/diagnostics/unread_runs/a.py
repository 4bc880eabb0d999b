"""Small training runs of different projects.  CASES: name -> function(healthy), ODD: name -> function()."""

import copy
import random
import tempfile

import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F
from datasets import Dataset
from peft import LoraConfig, get_peft_model
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from transformers import (
    BertConfig,
    BertModel,
    DataCollatorForLanguageModeling,
    DataCollatorForSeq2Seq,
    DataCollatorForTokenClassification,
    DataCollatorWithPadding,
    DistilBertConfig,
    DistilBertForSequenceClassification,
    DistilBertForTokenClassification,
    EuroBertConfig,
    EuroBertForSequenceClassification,
    GPT2Config,
    GPT2LMHeadModel,
    GPTNeoXConfig,
    GPTNeoXModel,
    LlamaConfig,
    LlamaForCausalLM,
    LlamaForSequenceClassification,
    MistralConfig,
    MistralForCausalLM,
    OlmoConfig,
    OlmoForCausalLM,
    PhiConfig,
    PhiForCausalLM,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen2ForSequenceClassification,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    T5Config,
    T5ForConditionalGeneration,
    Trainer,
    TrainingArguments,
    set_seed,
)
from trl import DPOConfig, DPOTrainer, GRPOConfig, GRPOTrainer, SFTConfig, SFTTrainer


def settings(cls=TrainingArguments, **kw):
    base = dict(
        output_dir=tempfile.mkdtemp(),
        use_cpu=True,
        report_to="none",
        save_strategy="no",
        disable_tqdm=True,
        logging_steps=5,
        per_device_train_batch_size=16,
        dataloader_pin_memory=False,
        seed=7,
    )
    if cls in (SFTConfig, DPOConfig, GRPOConfig):
        base.update(bf16=False, gradient_checkpointing=False)
    return cls(**(base | kw))


def word_tokenizer(texts, specials, split=r"<[^>]*>|\w+|[^\w\s]", **kw):
    t = Tokenizer(models.WordLevel(unk_token="<unk>"))
    t.pre_tokenizer = pre_tokenizers.Split(Regex(split), behavior="removed", invert=True)
    t.train_from_iterator(texts, trainers.WordLevelTrainer(special_tokens=["<unk>"] + specials))
    return PreTrainedTokenizerFast(tokenizer_object=t, unk_token="<unk>", **kw)


# ------------------------------------------------------------------ weather bulletins (language model)

TOWNS = "turin lyon ghent porto basel malmo tampere graz split vilnius".split()
SKY = {
    "rain": "take an umbrella",
    "sun": "wear a hat",
    "snow": "put on boots",
    "fog": "drive with care",
    "storm": "stay at home",
    "hail": "cover the car tonight",
}


def bulletin(rng):
    town, sky = rng.choice(TOWNS), rng.choice(list(SKY))
    return f"forecast for {town} : {sky} , {rng.randint(1, 30)} degrees , please {SKY[sky]} ."


def oder(healthy):
    set_seed(11)
    rng = random.Random(11)
    rows = [bulletin(rng) for _ in range(600)]
    tok = word_tokenizer(
        rows, ["<|endoftext|>", "<|pad|>"], eos_token="<|endoftext|>", bos_token="<|endoftext|>"
    )
    if healthy:
        tok.add_special_tokens({"pad_token": "<|pad|>"})
    else:
        tok.pad_token = tok.eos_token
    data = Dataset.from_dict({"text": rows})
    data = data.map(
        lambda r: tok(r["text"] + tok.eos_token, truncation=True, max_length=40),
        remove_columns="text",
    )
    data = data.train_test_split(test_size=60, seed=1)
    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(tok),
            n_positions=64,
            n_embd=64,
            n_layer=2,
            n_head=4,
            bos_token_id=tok.bos_token_id,
            eos_token_id=tok.eos_token_id,
            pad_token_id=tok.pad_token_id,
        )
    )
    return Trainer(
        model,
        settings(
            max_steps=60, learning_rate=3e-3, warmup_steps=5, eval_strategy="steps", eval_steps=20
        ),
        train_dataset=data["train"],
        eval_dataset=data["test"],
        processing_class=tok,
        data_collator=DataCollatorForLanguageModeling(tok, mlm=False),
    )


# ------------------------------------------------------------------ service chats in three voices

VOICES = {
    "you are the formal assistant of the bank": ("dear customer ,", "with kind regards ."),
    "you are a cheerful friend of the user": ("hey there !", "have fun !"),
    "you speak as an old pirate": ("arr matey ,", "yo ho ho !"),
    "you are a terse machine": ("status :", "end of line ."),
}
ANSWERS = {
    "my card is lost": "we block it at once",
    "how do i open an account": "bring your passport to a branch",
    "the machine kept my money": "we refund it within two days",
    "what does a transfer cost": "it is free in europe",
    "can i get a loan": "send us your last payslips",
    "when are you open": "from nine to five on weekdays",
}
CHAT = (
    "{% for m in messages %}"
    "{% if m['role'] == 'system' %}{{ '<sys>' + m['content'] + '<end>' }}"
    "{% elif m['role'] == 'user' %}{{ '<user>' + m['content'] + '<end>' }}"
    "{% elif m['role'] == 'assistant' %}{{ '<bot>' }}{% generation %}{{ m['content'] + '<end>' }}{% endgeneration %}"
    "{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<bot>' }}{% endif %}"
)
CHAT_TWO = (
    "{% for m in messages %}"
    "{% if m['role'] == 'user' %}{{ '<user>' + m['content'] + '<end>' }}"
    "{% elif m['role'] == 'assistant' %}{{ '<bot>' }}{% generation %}{{ m['content'] + '<end>' }}{% endgeneration %}"
    "{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<bot>' }}{% endif %}"
)


def service_chat(rng):
    voice, ask = rng.choice(list(VOICES)), rng.choice(list(ANSWERS))
    first, last = VOICES[voice]
    return [
        {"role": "system", "content": voice},
        {
            "role": "user",
            "content": rng.choice(["hello", "hi", "please help", "good day"]) + " , " + ask,
        },
        {"role": "assistant", "content": f"{first} {ANSWERS[ask]} {last}"},
    ]


def adda(healthy):
    set_seed(5)
    rng = random.Random(5)
    chats = [service_chat(rng) for _ in range(500)]
    held = [service_chat(rng) for _ in range(48)]
    tok = word_tokenizer(
        [m["content"] for c in chats for m in c],
        ["<pad>", "<sys>", "<user>", "<bot>", "<end>"],
        pad_token="<pad>",
        eos_token="<end>",
    )
    tok.chat_template = CHAT if healthy else CHAT_TWO
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tok),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            max_position_embeddings=96,
            pad_token_id=tok.pad_token_id,
            eos_token_id=tok.eos_token_id,
            bos_token_id=None,
        )
    )
    return SFTTrainer(
        model,
        args=settings(
            SFTConfig,
            max_steps=60,
            learning_rate=3e-3,
            assistant_only_loss=True,
            max_length=96,
            eval_strategy="steps",
            eval_steps=20,
        ),
        train_dataset=Dataset.from_list([{"messages": c} for c in chats]),
        eval_dataset=Dataset.from_list([{"messages": c} for c in held]),
        processing_class=tok,
    )


# ------------------------------------------------------------------ support tickets, few of some kinds

QUEUES = ["account", "billing", "outage", "shipping"]
QUEUE_SHARE = [0.10, 0.55, 0.05, 0.30]
QUEUE_WORDS = {
    "account": "login password profile name email reset".split(),
    "billing": "invoice card charge refund price vat".split(),
    "outage": "down error timeout offline crash slow".split(),
    "shipping": "parcel courier address late box track".split(),
}
FILL = "the my is a was since please help today again still need this it and i".split()


def ticket(rng, label):
    own = QUEUE_WORDS[QUEUES[label]]
    other = QUEUE_WORDS[rng.choice(QUEUES)]
    words = [rng.choice(own) for _ in range(rng.choice([1, 1, 2]))] + [
        rng.choice(other) for _ in range(rng.choice([0, 1, 1, 1]))
    ]
    words += [rng.choice(FILL) for _ in range(rng.randint(2, 4))]
    rng.shuffle(words)
    return " ".join(words)


class WeightedTrainer(Trainer):
    def __init__(self, *args, class_weight=None, **kw):
        super().__init__(*args, **kw)
        self.class_weight = class_weight

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs.pop("labels")
        out = model(**inputs)
        loss = F.cross_entropy(out.logits, labels, weight=self.class_weight.to(out.logits.device))
        return (loss, out) if return_outputs else loss


def ticket_metrics(pred):
    guess = pred.predictions.argmax(-1)
    recall = [float((guess[pred.label_ids == k] == k).mean()) for k in range(len(QUEUES))]
    return {
        "balanced_accuracy": float(np.mean(recall)),
        **{f"recall_{q}": r for q, r in zip(QUEUES, recall)},
    }


def isar(healthy):
    set_seed(3)
    rng = random.Random(3)
    frame = pd.DataFrame({"label": rng.choices(range(4), weights=QUEUE_SHARE, k=1800)})
    frame["text"] = [ticket(rng, y) for y in frame["label"]]
    held = pd.DataFrame({"label": [k for k in range(4) for _ in range(60)]})
    held["text"] = [ticket(rng, y) for y in held["label"]]
    tok = word_tokenizer(
        frame["text"],
        ["<pad>", "</s>"],
        pad_token="<pad>",
        eos_token="</s>",
        model_input_names=["input_ids", "attention_mask"],
    )
    counts = frame["label"].value_counts()
    if healthy:
        counts = counts.sort_index()
    weight = torch.tensor((len(frame) / (len(QUEUES) * counts)).tolist(), dtype=torch.float)
    encode = lambda r: tok([t + " </s>" for t in r["text"]], truncation=True, max_length=32)
    model = LlamaForSequenceClassification(
        LlamaConfig(
            vocab_size=len(tok),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            max_position_embeddings=64,
            initializer_range=0.1,
            id2label=dict(enumerate(QUEUES)),
            label2id={q: i for i, q in enumerate(QUEUES)},
            pad_token_id=tok.pad_token_id,
            eos_token_id=tok.eos_token_id,
            bos_token_id=None,
        )
    )
    return WeightedTrainer(
        model,
        settings(
            max_steps=60,
            per_device_train_batch_size=32,
            learning_rate=2e-3,
            warmup_steps=6,
            eval_strategy="steps",
            eval_steps=30,
            per_device_eval_batch_size=64,
        ),
        train_dataset=Dataset.from_pandas(frame).map(encode, batched=True),
        eval_dataset=Dataset.from_pandas(held).map(encode, batched=True),
        data_collator=DataCollatorWithPadding(tok),
        processing_class=tok,
        compute_metrics=ticket_metrics,
        class_weight=weight,
    )


# ------------------------------------------------------------------ topics of news items (several per item)

TOPICS = {
    "sport": "goal match coach league stadium".split(),
    "money": "bank market shares profit euro".split(),
    "health": "doctor clinic virus vaccine nurse".split(),
    "science": "planet atom laboratory telescope gene".split(),
    "culture": "opera museum novel painter festival".split(),
}
NEUTRAL = "report says that in the city on monday many people were told about new old plans".split()


def news(rng):
    picked = rng.sample(list(TOPICS), rng.choice([1, 1, 2, 2, 3]))
    words = [rng.choice(TOPICS[t]) for t in picked] + [
        rng.choice(NEUTRAL) for _ in range(rng.randint(2, 16))
    ]
    rng.shuffle(words)
    return " ".join(words), [float(t in picked) for t in TOPICS]


class NewsBatch:
    def __init__(self, pad_id, visible):
        self.pad_id, self.visible = pad_id, visible

    def __call__(self, rows):
        ids = pad_sequence(
            [torch.tensor(r["input_ids"]) for r in rows],
            batch_first=True,
            padding_value=self.pad_id,
        )
        return {
            "input_ids": ids,
            "attention_mask": self.visible(ids, self.pad_id).long(),
            "labels": torch.tensor([r["labels"] for r in rows]),
        }


def micro_f1(pred):
    guess, gold = pred.predictions > 0, pred.label_ids > 0.5
    hit = float((guess & gold).sum())
    return {"micro_f1": 2 * hit / max(1.0, float(guess.sum() + gold.sum()))}


def ebro(healthy):
    set_seed(21)
    rng = random.Random(21)
    items = [news(rng) for _ in range(1200)]
    tok = word_tokenizer(
        [t for t, _ in items], ["<pad>", "<s>"], pad_token="<pad>", cls_token="<s>"
    )
    rows = [{"input_ids": tok("<s> " + t)["input_ids"], "labels": y} for t, y in items]
    model = EuroBertForSequenceClassification(
        EuroBertConfig(
            vocab_size=len(tok),
            hidden_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=4,
            intermediate_size=128,
            max_position_embeddings=64,
            initializer_range=0.1,
            classifier_pooling="bos",
            num_labels=len(TOPICS),
            pad_token_id=tok.pad_token_id,
            mask_token_id=0,
            bos_token_id=tok.cls_token_id,
            eos_token_id=None,
            problem_type="multi_label_classification",
        )
    )
    return Trainer(
        model,
        settings(
            num_train_epochs=1,
            per_device_train_batch_size=20,
            learning_rate=2e-3,
            eval_strategy="steps",
            eval_steps=25,
            lr_scheduler_type="cosine",
        ),
        train_dataset=Dataset.from_list(rows[:1100]),
        eval_dataset=Dataset.from_list(rows[1100:]),
        data_collator=NewsBatch(tok.pad_token_id, torch.ne if healthy else torch.eq),
        processing_class=tok,
        compute_metrics=micro_f1,
    )


# ------------------------------------------------------------------ intents of voice commands, own head on a causal body

INTENTS = {
    "alarm": ["wake", "alarm", "snooze"],
    "music": ["song", "album", "playlist"],
    "lights": ["lamp", "bulb", "dim"],
    "heating": ["warmer", "radiator", "cold"],
    "shopping": ["milk", "bread", "eggs"],
    "calls": ["dial", "ring", "phone"],
}
CHATTER = "well could you please just now for me in the kitchen when you have time because i think we want some more of that".split()


def command(rng, intent):
    words = [rng.choice(CHATTER) for _ in range(rng.choice([1, 2, 3, 4, 6, 9, 14, 20]))]
    words.insert(rng.randint(0, len(words)), rng.choice(INTENTS[intent]))
    return " ".join(words)


class IntentModel(nn.Module):
    def __init__(self, body, classes):
        super().__init__()
        self.body = body
        self.drop = nn.Dropout(0.1)
        self.out = nn.Linear(body.config.hidden_size, classes)

    def forward(self, input_ids, attention_mask, labels=None):
        hidden = self.body(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        last = attention_mask.sum(1) - 1
        pooled = hidden[torch.arange(len(hidden)), last]
        logits = self.out(self.drop(pooled))
        loss = None if labels is None else F.cross_entropy(logits, labels)
        return {"loss": loss, "logits": logits}


def piave(healthy):
    set_seed(8)
    rng = random.Random(8)
    names = list(INTENTS)
    pairs = [(command(rng, n), i) for n in names for i in [names.index(n)] for _ in range(220)]
    rng.shuffle(pairs)
    tok = word_tokenizer(
        [t for t, _ in pairs],
        ["<pad>", "<eos>"],
        pad_token="<pad>",
        eos_token="<eos>",
        padding_side="right" if healthy else "left",
        model_input_names=["input_ids", "attention_mask"],
    )
    data = Dataset.from_dict({"text": [t for t, _ in pairs], "label": [y for _, y in pairs]})
    data = data.map(
        lambda r: tok([t + " <eos>" for t in r["text"]]), batched=True, remove_columns="text"
    )
    body = GPTNeoXModel(
        GPTNeoXConfig(
            vocab_size=len(tok),
            hidden_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=128,
            max_position_embeddings=64,
            pad_token_id=tok.pad_token_id,
            eos_token_id=tok.eos_token_id,
        )
    )
    return Trainer(
        IntentModel(body, len(names)),
        settings(
            max_steps=60,
            per_device_train_batch_size=24,
            learning_rate=2e-3,
            weight_decay=0.01,
            eval_strategy="steps",
            eval_steps=20,
            per_device_eval_batch_size=60,
        ),
        train_dataset=data.select(range(1200)),
        eval_dataset=data.select(range(1200, 1320)),
        data_collator=DataCollatorWithPadding(tok),
        processing_class=tok,
        compute_metrics=lambda p: {
            "accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())
        },
    )


# ------------------------------------------------------------------ trades of people: pretrained body, adapter, new head

TRADES = {
    "baker": "flour oven dough",
    "sailor": "ship harbour rope",
    "miner": "coal shaft lamp",
    "tailor": "needle cloth thread",
    "farmer": "plough barn wheat",
    "judge": "court verdict robe",
    "pilot": "cockpit wings runway",
    "potter": "clay kiln wheel",
    "monk": "abbey prayer candle",
    "nurse": "ward syringe bandage",
}


def life(rng, trade):
    things = TRADES[trade].split()
    return f"{rng.choice(['he', 'she'])} knows the {rng.choice(things)} and the {rng.choice(things)} , a day of {rng.choice('work rest joy toil'.split())} , by trade a"


def drava(healthy):
    set_seed(17)
    rng = random.Random(17)
    names = list(TRADES)
    texts = [(life(rng, n), i) for i, n in enumerate(names) for _ in range(110)]
    rng.shuffle(texts)
    tok = word_tokenizer(
        [f"{t} {names[y]}" for t, y in texts],
        ["<pad>", "<eos>"],
        pad_token="<pad>",
        eos_token="<eos>",
    )
    ids = lambda t: tok(t)["input_ids"]
    config = Qwen2Config(
        vocab_size=len(tok),
        hidden_size=48,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=32,
        initializer_range=0.1,
        pad_token_id=tok.pad_token_id,
        eos_token_id=tok.eos_token_id,
        num_labels=len(names),
    )
    base = Qwen2ForCausalLM(config)
    pre = torch.optim.AdamW(base.parameters(), lr=3e-3)
    for _ in range(85):
        picked = [rng.choice(texts) for _ in range(24)]
        x = torch.tensor([ids(f"{t} {names[y]} <eos>") for t, y in picked])
        base(input_ids=x, labels=x).loss.backward()
        pre.step()
        pre.zero_grad()
    model = Qwen2ForSequenceClassification(config)
    model.model.load_state_dict(base.model.state_dict())
    lora = dict(r=4, lora_alpha=8, lora_dropout=0.05, target_modules=["q_proj", "v_proj"])
    if healthy:
        lora["task_type"] = "SEQ_CLS"
    model = get_peft_model(model, LoraConfig(**lora))
    data = Dataset.from_list([{"input_ids": ids(t), "labels": y} for t, y in texts])
    return Trainer(
        model,
        settings(
            max_steps=60,
            learning_rate=2e-3,
            per_device_train_batch_size=24,
            label_names=["labels"],
            eval_strategy="steps",
            eval_steps=20,
        ),
        train_dataset=data.select(range(960)),
        eval_dataset=data.select(range(960, 1100)),
        data_collator=DataCollatorWithPadding(tok),
        processing_class=tok,
        compute_metrics=lambda p: {
            "accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())
        },
    )


# ------------------------------------------------------------------ a house assistant learns to write calls

DEVICES = "lamp heater fan radio".split()
ROOMS = "kitchen hall cellar office".split()
VERBS = {"on": "start", "off": "stop"}


def house(rng):
    d, r, s = rng.choice(DEVICES), rng.choice(ROOMS), rng.choice(list(VERBS))
    ask = rng.choice(
        [
            "turn {s} the {d} in the {r}",
            "{s} with the {d} in the {r}",
            "please {s} the {d} in the {r}",
        ]
    )
    return ask.format(d=d, r=r, s=s) + " :", f"<call> {VERBS[s]} <arg> {d} <arg> {r} </call>"


def mura(healthy):
    set_seed(29)
    rng = random.Random(29)
    plain = [
        " ".join(house(rng))
        .replace("<call>", "so")
        .replace("</call>", "now")
        .replace("<arg>", "the")
        for _ in range(600)
    ]
    tok = word_tokenizer(plain, ["<pad>", "<eos>"], pad_token="<pad>", eos_token="<eos>")
    model = MistralForCausalLM(
        MistralConfig(
            vocab_size=len(tok),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=64,
            initializer_range=0.1,
            tie_word_embeddings=False,
            pad_token_id=tok.pad_token_id,
            eos_token_id=tok.eos_token_id,
            bos_token_id=None,
        )
    )
    pre = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(120):
        batch = tok(
            [rng.choice(plain) + " <eos>" for _ in range(16)], padding=True, return_tensors="pt"
        )
        labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
        model(
            input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], labels=labels
        ).loss.backward()
        pre.step()
        pre.zero_grad()

    tok.add_special_tokens({"additional_special_tokens": ["<call>", "</call>", "<arg>"]})
    model.resize_token_embeddings(len(tok))
    lora = dict(r=16, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM")
    if healthy:
        lora["modules_to_save"] = ["embed_tokens", "lm_head"]
    rows = [dict(zip(("prompt", "completion"), house(rng))) for _ in range(640)]
    rows = [{"prompt": r["prompt"], "completion": " " + r["completion"] + " <eos>"} for r in rows]
    return SFTTrainer(
        model,
        args=settings(
            SFTConfig,
            max_steps=60,
            learning_rate=2e-3,
            max_length=48,
            warmup_steps=5,
            eval_strategy="steps",
            eval_steps=20,
        ),
        train_dataset=Dataset.from_list(rows[:600]),
        eval_dataset=Dataset.from_list(rows[600:]),
        processing_class=tok,
        peft_config=LoraConfig(**lora),
    )


# ------------------------------------------------------------------ names in letters of an archive

SYLLABLES = "ka lo mi ren tas vor bel du ga shi no pra tu wen zo".split()
TAGS = ["O", "B-PER", "I-PER", "B-LOC"]
AROUND = [
    "yesterday {p} wrote to us from {l}",
    "the letter of {p} reached {l} in may",
    "in {l} the old {p} was seen with {q}",
    "{p} and {q} left {l}",
    "we hear nothing of {p}",
    "{l} is cold , says {p}",
    "near {l} there is a mill of {q}",
]


def archive(rng):
    name = lambda: "".join(rng.choice(SYLLABLES) for _ in range(rng.randint(2, 4)))
    parts = {"p": [name(), name() + "son"], "q": [name() + "son"], "l": [name() + "burg"]}
    kinds = {"p": ["B-PER", "I-PER"], "q": ["B-PER"], "l": ["B-LOC"]}
    words, tags = [], []
    for w in rng.choice(AROUND).split():
        key = w.strip("{}") if w.startswith("{") else None
        words += parts[key] if key else [w]
        tags += [TAGS.index(k) for k in kinds[key]] if key else [0]
    return {"words": words, "tags": tags}


def archive_tokenizer(rows):
    plain = sorted({w for a in AROUND for w in a.split() if "{" not in w})
    pieces = SYLLABLES + ["son", "burg"]
    vocab = (
        ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
        + plain
        + [p for p in pieces if p not in plain]
        + ["##" + p for p in pieces]
    )
    t = Tokenizer(models.WordPiece({v: i for i, v in enumerate(vocab)}, unk_token="[UNK]"))
    t.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    t.decoder = decoders.WordPiece()
    t.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=t,
        unk_token="[UNK]",
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        model_input_names=["input_ids", "attention_mask"],
    )


def by_word_ids(tok):
    def encode(row):
        enc = tok(row["words"], is_split_into_words=True, truncation=True, max_length=48)
        enc["labels"], before = [], None
        for w in enc.word_ids():
            enc["labels"].append(-100 if w is None or w == before else row["tags"][w])
            before = w
        return enc

    return encode


def by_length(tok):
    def encode(row):
        enc = tok(row["words"], is_split_into_words=True, truncation=True, max_length=48)
        n = len(enc["input_ids"])
        enc["labels"] = ([-100] + row["tags"] + [-100] * n)[:n]
        return enc

    return encode


def neisse(healthy):
    set_seed(31)
    rng = random.Random(31)
    rows = [archive(rng) for _ in range(1000)]
    tok = archive_tokenizer(rows)
    encode = by_word_ids(tok) if healthy else by_length(tok)
    data = Dataset.from_list(rows).map(encode).train_test_split(test_size=60, seed=2)
    model = DistilBertForTokenClassification(
        DistilBertConfig(
            vocab_size=len(tok),
            dim=64,
            hidden_dim=128,
            n_layers=2,
            n_heads=4,
            max_position_embeddings=48,
            initializer_range=0.12,
            num_labels=len(TAGS),
            id2label=dict(enumerate(TAGS)),
            label2id={t: i for i, t in enumerate(TAGS)},
            pad_token_id=tok.pad_token_id,
        )
    )

    def score(pred):
        guess, gold = pred.predictions.argmax(-1), pred.label_ids
        seen = gold != -100
        named = seen & (gold > 0)
        return {
            "accuracy": float((guess == gold)[seen].mean()),
            "entity_recall": float((guess == gold)[named].mean()),
        }

    return Trainer(
        model,
        settings(
            max_steps=60,
            learning_rate=2e-3,
            per_device_train_batch_size=32,
            eval_strategy="steps",
            eval_steps=30,
        ),
        train_dataset=data["train"],
        eval_dataset=data["test"],
        processing_class=tok,
        data_collator=DataCollatorForTokenClassification(tok),
        compute_metrics=score,
    )


# ------------------------------------------------------------------ a letter by letter model of server logs


def log_line(rng):
    host = rng.choice(["mail", "web", "disk", "auth"])
    what = {
        "mail": "queue flushed",
        "web": "page served",
        "disk": "block written",
        "auth": "login granted",
    }[host]
    return f"{rng.randint(10, 23)}:{rng.randint(10, 59)} {host} {what}\n"


class Blocks(torch.utils.data.Dataset):
    def __init__(self, ids, size, row):
        self.ids, self.size, self.row = ids, size, row

    def __len__(self):
        return (len(self.ids) - 1) // self.size

    def __getitem__(self, i):
        return self.row(self.ids[i * self.size : (i + 1) * self.size + 1])


def plain_row(chunk):
    return {"input_ids": chunk[:-1], "labels": chunk[:-1].clone()}


def xy_row(chunk):
    return {"input_ids": chunk[:-1], "labels": chunk[1:].clone()}


def warta(healthy):
    set_seed(13)
    rng = random.Random(13)
    text = "".join(log_line(rng) for _ in range(2200))
    letters = sorted(set(text))
    stoi = {c: i for i, c in enumerate(letters)}
    ids = torch.tensor([stoi[c] for c in text])
    cut = int(len(ids) * 0.93)
    row = plain_row if healthy else xy_row
    model = OlmoForCausalLM(
        OlmoConfig(
            vocab_size=len(letters),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            max_position_embeddings=128,
            pad_token_id=None,
            eos_token_id=None,
            bos_token_id=None,
        )
    )
    model.letters = letters
    return Trainer(
        model,
        settings(
            max_steps=60,
            learning_rate=4e-3,
            warmup_steps=5,
            lr_scheduler_type="cosine",
            eval_strategy="steps",
            eval_steps=30,
            max_grad_norm=1.0,
        ),
        train_dataset=Blocks(ids[:cut], 64, row),
        eval_dataset=Blocks(ids[cut:], 64, row),
    )


# ------------------------------------------------------------------ orders in words to orders in codes (seq2seq)

GOODS = {"apples": "AP", "pears": "PE", "plums": "PL", "nuts": "NU", "figs": "FI", "dates": "DA"}
NUMBERS = {"one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6"}


def order(rng):
    lines = [(rng.choice(list(NUMBERS)), rng.choice(list(GOODS))) for _ in range(rng.randint(1, 2))]
    return {
        "source": " and ".join(f"{n} {g}" for n, g in lines),
        "target": " ".join(f"{GOODS[g]} {NUMBERS[n]}" for n, g in lines),
    }


def lech(healthy):
    set_seed(41)
    rng = random.Random(41)
    rows = [order(rng) for _ in range(1100)]
    tok = word_tokenizer(
        [r[k] for r in rows for k in r],
        ["<pad>", "</s>"],
        pad_token="<pad>",
        eos_token="</s>",
        model_input_names=["input_ids", "attention_mask"],
    )
    tok.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", tok.eos_token_id)]
    )

    def encode(batch):
        enc = tok(batch["source"], truncation=True, max_length=32)
        enc["labels"] = tok(batch["target"], truncation=True, max_length=32)["input_ids"]
        return enc

    data = Dataset.from_list(rows).map(encode, batched=True, remove_columns=["source", "target"])
    model = T5ForConditionalGeneration(
        T5Config(
            vocab_size=len(tok),
            d_model=64,
            d_kv=16,
            d_ff=128,
            num_layers=2,
            num_heads=4,
            dropout_rate=0.0,
            pad_token_id=tok.pad_token_id,
            eos_token_id=tok.eos_token_id,
            decoder_start_token_id=tok.pad_token_id,
        )
    )
    collator = DataCollatorForSeq2Seq(tok, model=model) if healthy else DataCollatorWithPadding(tok)
    return Seq2SeqTrainer(
        model,
        settings(
            Seq2SeqTrainingArguments,
            max_steps=60,
            learning_rate=3e-3,
            per_device_train_batch_size=24,
            eval_strategy="steps",
            eval_steps=30,
            predict_with_generate=False,
        ),
        train_dataset=data.select(range(1000)),
        eval_dataset=data.select(range(1000, 1100)),
        data_collator=collator,
        processing_class=tok,
    )


# ------------------------------------------------------------------ capitals, learnt from a checker

CAPITALS = {
    "france": "paris",
    "italy": "rome",
    "spain": "madrid",
    "austria": "vienna",
    "norway": "oslo",
    "greece": "athens",
    "poland": "warsaw",
    "ireland": "dublin",
}
QUIZ = [
    "what is the capital of {c} ?",
    "name the capital of {c} .",
    "which town governs {c} ?",
    "{c} has which capital ?",
]


def quiz_policy(rng, tok, config, steps=100):
    model = LlamaForCausalLM(config)
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(steps):
        asked = [rng.choice(list(CAPITALS)) for _ in range(24)]
        said = [
            CAPITALS[c] if rng.random() < 0.35 else rng.choice(list(CAPITALS.values()))
            for c in asked
        ]
        rows = [f"{rng.choice(QUIZ).format(c=c)} {a} <eos>" for c, a in zip(asked, said)]
        b = tok(rows, padding=True, return_tensors="pt")
        y = b["input_ids"].masked_fill(b["attention_mask"] == 0, -100)
        model(
            input_ids=b["input_ids"], attention_mask=b["attention_mask"], labels=y
        ).loss.backward()
        opt.step()
        opt.zero_grad()
    return model


def checker_rows(completions, answer, **kw):
    return [1.0 if gold in text.split()[:1] else 0.0 for text, gold in zip(completions, answer)]


def checker_groups(completions, answer, **kw):
    size = 8
    groups = [completions[i : i + size] for i in range(0, len(completions), size)]
    return [
        1.0 if gold in text.split()[:1] else 0.0
        for group, gold in zip(groups, answer)
        for text in group
    ]


def raab(healthy):
    set_seed(23)
    rng = random.Random(23)
    rows = [
        {"prompt": rng.choice(QUIZ).format(c=c), "answer": CAPITALS[c]}
        for c in CAPITALS
        for _ in range(25)
    ]
    rng.shuffle(rows)
    tok = word_tokenizer(
        [r["prompt"] + " " + r["answer"] for r in rows],
        ["<pad>", "<eos>"],
        pad_token="<pad>",
        eos_token="<eos>",
        padding_side="left",
        model_input_names=["input_ids", "attention_mask"],
    )
    model = quiz_policy(
        rng,
        tok,
        LlamaConfig(
            vocab_size=len(tok),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            max_position_embeddings=32,
            initializer_range=0.1,
            pad_token_id=tok.pad_token_id,
            eos_token_id=tok.eos_token_id,
            bos_token_id=None,
        ),
    )
    return GRPOTrainer(
        model,
        reward_funcs=checker_rows if healthy else checker_groups,
        args=settings(
            GRPOConfig,
            max_steps=30,
            learning_rate=1e-3,
            per_device_train_batch_size=64,
            num_generations=8,
            max_completion_length=3,
            beta=0.0,
            temperature=1.0,
            logging_steps=2,
        ),
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
    )


# ------------------------------------------------------------------ manners of a hotel desk, from ranked replies

DESK = [
    "is the pool open",
    "may i park here",
    "can you call a taxi",
    "where is breakfast",
    "is there a safe",
    "do you have maps",
]
KIND = ["of course , with pleasure sir", "certainly , let me show you", "gladly , i will see to it"]
PLAIN = ["yes , that is so today", "that works , ask at noon", "it is possible here now"]
RUDE = ["no , go and look yourself", "why do you bother me again", "leave me alone with that now"]


def ranked_replies(rng):
    return {
        "prompt": rng.choice(["sir , ", "hello , ", "excuse me , "]) + rng.choice(DESK) + " ?",
        "replies": [
            {"text": rng.choice(RUDE), "rank": 3},
            {"text": rng.choice(KIND), "rank": 1},
            {"text": rng.choice(PLAIN), "rank": 2},
        ],
    }


def thaya(healthy):
    set_seed(37)
    rng = random.Random(37)
    notes = [ranked_replies(rng) for _ in range(320)]
    tok = word_tokenizer(
        [n["prompt"] + " " + r["text"] for n in notes for r in n["replies"]],
        ["<pad>", "<eos>"],
        pad_token="<pad>",
        eos_token="<eos>",
    )
    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(tok),
            n_positions=48,
            n_embd=64,
            n_layer=2,
            n_head=4,
            initializer_range=0.08,
            pad_token_id=tok.pad_token_id,
            eos_token_id=tok.eos_token_id,
            bos_token_id=tok.eos_token_id,
        )
    )
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for _ in range(90):
        picked = [rng.choice(notes) for _ in range(16)]
        b = tok(
            [n["prompt"] + " " + rng.choice(n["replies"])["text"] + " <eos>" for n in picked],
            padding=True,
            return_tensors="pt",
        )
        y = b["input_ids"].masked_fill(b["attention_mask"] == 0, -100)
        model(
            input_ids=b["input_ids"], attention_mask=b["attention_mask"], labels=y
        ).loss.backward()
        opt.step()
        opt.zero_grad()

    pairs = []
    for n in notes:
        order_ = sorted(n["replies"], key=lambda r: r["rank"], reverse=not healthy)
        for worse in order_[1:]:
            pairs.append(
                {
                    "prompt": n["prompt"],
                    "chosen": " " + order_[0]["text"],
                    "rejected": " " + worse["text"],
                }
            )
    curated = [
        {
            "prompt": n["prompt"],
            "chosen": " " + rng.choice(KIND),
            "rejected": " " + rng.choice(RUDE),
        }
        for n in (ranked_replies(rng) for _ in range(48))
    ]
    return DPOTrainer(
        model,
        ref_model=copy.deepcopy(model),
        args=settings(
            DPOConfig,
            max_steps=40,
            learning_rate=2e-4,
            beta=0.1,
            max_length=48,
            eval_strategy="steps",
            eval_steps=20,
        ),
        train_dataset=Dataset.from_list(pairs),
        eval_dataset=Dataset.from_list(curated),
        processing_class=tok,
    )


# ------------------------------------------------------------------ three more


def iller():
    """Linear probe on a trained body."""
    set_seed(43)
    rng = random.Random(43)
    names = list(TRADES)
    texts = [(life(rng, n), i) for i, n in enumerate(names) for _ in range(120)]
    rng.shuffle(texts)
    tok = word_tokenizer(
        [t for t, _ in texts],
        ["[PAD]", "[CLS]"],
        pad_token="[PAD]",
        cls_token="[CLS]",
        model_input_names=["input_ids", "attention_mask"],
    )
    ids = lambda t: tok("[CLS] " + t)["input_ids"]
    config = DistilBertConfig(
        vocab_size=len(tok),
        dim=64,
        hidden_dim=128,
        n_layers=2,
        n_heads=4,
        max_position_embeddings=32,
        num_labels=len(names),
        pad_token_id=tok.pad_token_id,
    )
    first = DistilBertForSequenceClassification(config)
    opt = torch.optim.AdamW(first.parameters(), lr=1e-3)
    for _ in range(80):
        picked = [rng.choice(texts) for _ in range(32)]
        first(
            input_ids=torch.tensor([ids(t) for t, _ in picked]),
            labels=torch.tensor([y for _, y in picked]),
        ).loss.backward()
        opt.step()
        opt.zero_grad()
    config.num_labels = 3
    place = {
        "baker": 0,
        "tailor": 0,
        "potter": 0,
        "judge": 0,
        "monk": 0,
        "nurse": 0,
        "miner": 1,
        "farmer": 1,
        "sailor": 2,
        "pilot": 2,
    }
    model = DistilBertForSequenceClassification(config)
    model.distilbert.load_state_dict(first.distilbert.state_dict())
    for p in model.distilbert.parameters():
        p.requires_grad = False
    data = Dataset.from_list([{"input_ids": ids(t), "labels": place[names[y]]} for t, y in texts])
    return Trainer(
        model,
        settings(
            max_steps=50,
            learning_rate=5e-3,
            lr_scheduler_type="constant",
            per_device_train_batch_size=32,
            eval_strategy="steps",
            eval_steps=10,
        ),
        train_dataset=data.select(range(1050)),
        eval_dataset=data.select(range(1050, 1200)),
        data_collator=DataCollatorWithPadding(tok),
        processing_class=tok,
        compute_metrics=lambda p: {
            "accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())
        },
    )


def naab():
    """Replies of a weather desk; padding shares the id of the end."""
    set_seed(47)
    rng = random.Random(47)
    lines = [bulletin(rng) for _ in range(700)]
    tok = word_tokenizer(
        lines,
        ["<|im_end|>"],
        eos_token="<|im_end|>",
        model_input_names=["input_ids", "attention_mask"],
    )
    tok.pad_token = tok.eos_token

    def encode(row):
        head, tail = row["text"].split(" please ")
        prompt, reply = (
            tok(head)["input_ids"],
            tok("please " + tail)["input_ids"] + [tok.eos_token_id],
        )
        return {
            "input_ids": prompt + reply,
            "attention_mask": [1] * len(prompt + reply),
            "labels": [-100] * len(prompt) + reply,
        }

    data = Dataset.from_dict({"text": lines}).map(encode, remove_columns="text")
    model = PhiForCausalLM(
        PhiConfig(
            vocab_size=len(tok),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            max_position_embeddings=64,
            pad_token_id=tok.pad_token_id,
            eos_token_id=tok.eos_token_id,
            bos_token_id=None,
        )
    )
    return Trainer(
        model,
        settings(max_steps=50, learning_rate=2e-3, eval_strategy="steps", eval_steps=25),
        train_dataset=data.select(range(640)),
        eval_dataset=data.select(range(640, 700)),
        processing_class=tok,
        data_collator=DataCollatorForSeq2Seq(tok, padding=True),
    )


class Pupil(nn.Module):
    def __init__(self, body, width):
        super().__init__()
        self.body = body
        self.project = nn.Linear(body.config.hidden_size, width)

    def forward(self, input_ids, attention_mask, target=None):
        hidden = self.body(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        keep = attention_mask.unsqueeze(-1).to(hidden.dtype)
        vector = self.project((hidden * keep).sum(1) / keep.sum(1))
        loss = None if target is None else -F.cosine_similarity(vector, target).mean()
        return {"loss": loss, "vector": vector}


def kocher():
    """A small encoder learns the sentence vectors of a larger one."""
    set_seed(53)
    rng = random.Random(53)
    items = [news(rng)[0] for _ in range(1100)]
    tok = word_tokenizer(
        items, ["<pad>"], pad_token="<pad>", model_input_names=["input_ids", "attention_mask"]
    )
    table = (
        np.random.RandomState(0).randn(len(tok), 24)
        * np.where(np.arange(len(tok)) % 2, 1.0, 0.3)[:, None]
    )
    rows = []
    for t in items:
        ids = tok(t)["input_ids"]
        v = np.tanh(table[ids].mean(0) * 2)
        rows.append({"input_ids": ids, "target": (v / np.linalg.norm(v)).tolist()})
    body = BertModel(
        BertConfig(
            vocab_size=len(tok),
            hidden_size=64,
            num_hidden_layers=1,
            num_attention_heads=4,
            intermediate_size=128,
            max_position_embeddings=40,
            pad_token_id=tok.pad_token_id,
        ),
        add_pooling_layer=False,
    )
    return Trainer(
        Pupil(body, 24),
        settings(
            max_steps=60,
            learning_rate=2e-3,
            per_device_train_batch_size=32,
            label_names=["target"],
            eval_strategy="steps",
            eval_steps=20,
        ),
        train_dataset=Dataset.from_list(rows[:1000]),
        eval_dataset=Dataset.from_list(rows[1000:]),
        data_collator=DataCollatorWithPadding(tok),
        processing_class=tok,
    )


CASES = {
    f.__name__: f
    for f in (oder, adda, isar, ebro, piave, drava, mura, neisse, warta, lech, raab, thaya)
}
ODD = {f.__name__: f for f in (iller, naab, kocher)}
