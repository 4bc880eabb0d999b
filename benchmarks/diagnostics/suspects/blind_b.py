"""Small training jobs, one function per job; each returns a trainer that is ready to train."""

import copy
import json
import math
import os
import random
import re
import tempfile

import numpy as np
import torch
import torch.nn.functional as F
from datasets import Dataset
from datasets.utils import disable_progress_bars
from peft import LoraConfig
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
    BartConfig,
    BartForConditionalGeneration,
    BertConfig,
    BertForMaskedLM,
    BertForTokenClassification,
    BertModel,
    DataCollatorForLanguageModeling,
    DataCollatorForSeq2Seq,
    DataCollatorForTokenClassification,
    DistilBertConfig,
    DistilBertForSequenceClassification,
    EarlyStoppingCallback,
    ElectraConfig,
    ElectraForSequenceClassification,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen2ForSequenceClassification,
    Qwen3Config,
    Qwen3ForCausalLM,
    ResNetConfig,
    ResNetForImageClassification,
    RobertaConfig,
    RobertaForMaskedLM,
    RobertaForSequenceClassification,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    Trainer,
    TrainerCallback,
    TrainingArguments,
    Wav2Vec2Config,
    Wav2Vec2ForCTC,
)
from transformers.trainer_utils import get_last_checkpoint
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

disable_progress_bars()

ODD = {}


def job(function):
    ODD[function.__name__] = function
    return function


def run_args(**extra):
    base = {
        "output_dir": tempfile.mkdtemp(),
        "use_cpu": True,
        "report_to": "none",
        "save_strategy": "no",
        "disable_tqdm": True,
    }
    return {**base, **extra}


# --------------------------------------------------------------------------- shared language-model pieces


def closed_vocabulary(corpus, specials, **kwargs):
    words = sorted(
        {word for line in corpus for word in re.findall(r"\w+|[^\w\s]+", line)} - set(specials)
    )
    vocab = {token: index for index, token in enumerate([*specials, *words])}
    core = Tokenizer(models.WordLevel(vocab=vocab, unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    core.add_special_tokens(list(specials))
    return PreTrainedTokenizerFast(tokenizer_object=core, unk_token="<unk>", **kwargs)


def byte_vocabulary(corpus, size, specials, **kwargs):
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    core.train_from_iterator(
        corpus,
        trainers.BpeTrainer(
            vocab_size=size,
            special_tokens=list(specials),
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    return PreTrainedTokenizerFast(tokenizer_object=core, **kwargs)


def pretrain_lm(model, rows, pad_id, steps, lr, batch=32, seed=0):
    rng = random.Random(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, betas=(0.9, 0.98))
    model.train()
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = lr * min(1.0, (step + 1) / 10) * (1.0 - 0.9 * step / steps)
        chosen = rng.sample(rows, min(batch, len(rows)))
        width = max(len(ids) for ids in chosen)
        ids = torch.full((len(chosen), width), pad_id, dtype=torch.long)
        mask = torch.zeros((len(chosen), width), dtype=torch.long)
        for i, row in enumerate(chosen):
            ids[i, : len(row)] = torch.tensor(row)
            mask[i, : len(row)] = 1
        loss = model(
            input_ids=ids, attention_mask=mask, labels=ids.masked_fill(mask == 0, -100)
        ).loss
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    model.eval()


# --------------------------------------------------------------------------- comment moderation, votes of 5 annotators


class KeepBestWeights(TrainerCallback):
    def __init__(self):
        self.best = math.inf
        self.weights = None

    def on_evaluate(self, args, state, control, metrics=None, model=None, **kwargs):
        if metrics["eval_loss"] < self.best:
            self.best = metrics["eval_loss"]
            self.weights = {
                name: value.detach().clone() for name, value in model.state_dict().items()
            }

    def on_train_end(self, args, state, control, model=None, **kwargs):
        if self.weights is not None:
            model.load_state_dict(self.weights)


@job
def weser():
    rng = random.Random(11)
    torch.manual_seed(11)
    cues = {
        "insult": ["idiot", "clown", "pathetic", "moron"],
        "threat": ["regret", "watching", "revenge", "beware"],
        "spam": ["discount", "casino", "voucher", "jackpot"],
        "medical": ["dosage", "symptom", "relapse", "diagnosis"],
    }
    filler = [
        "the",
        "a",
        "this",
        "that",
        "menu",
        "update",
        "train",
        "weather",
        "match",
        "song",
        "picture",
        "recipe",
        "garden",
        "street",
        "window",
        "coffee",
        "morning",
        "really",
        "quite",
        "maybe",
        "never",
        "always",
        "with",
        "about",
        "after",
        "before",
        "they",
        "we",
        "you",
        "liked",
        "saw",
        "missed",
    ]

    def comment():
        words = rng.choices(filler, k=rng.randint(7, 12))
        active = [name for name in cues if rng.random() < 0.13]
        for name in active:
            words.insert(rng.randrange(len(words) + 1), rng.choice(cues[name]))
        votes = [
            sum(rng.random() < (0.9 if name in active else 0.02) for _ in range(5)) / 5
            for name in cues
        ]
        return {"text": " ".join(words), "votes": votes}

    train_rows = [comment() for _ in range(480)]
    dev_rows = [comment() for _ in range(128)]

    core = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    core.normalizer = normalizers.Lowercase()
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    core.train_from_iterator(
        [row["text"] for row in train_rows],
        trainers.WordPieceTrainer(
            vocab_size=400, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]"], show_progress=False
        ),
    )
    core.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        special_tokens=[("[CLS]", core.token_to_id("[CLS]")), ("[SEP]", core.token_to_id("[SEP]"))],
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
    )

    def encode(row):
        encoded = tokenizer(row["text"])
        return {
            "input_ids": encoded["input_ids"],
            "attention_mask": encoded["attention_mask"],
            "labels": row["votes"],
        }

    train = Dataset.from_list(train_rows).map(encode, remove_columns=["text", "votes"])
    dev = Dataset.from_list(dev_rows).map(encode, remove_columns=["text", "votes"])

    share = torch.tensor([row["votes"] for row in train_rows]).mean(0)
    pos_weight = (1 - share) / share

    def vote_loss(outputs, labels, num_items_in_batch=None):
        return F.binary_cross_entropy_with_logits(
            outputs.logits, labels.float(), pos_weight=pos_weight
        )

    def micro_f1(prediction):
        guess = prediction.predictions > 0
        truth = prediction.label_ids >= 0.5
        hits = float((guess & truth).sum())
        return {"micro_f1": 2 * hits / max(float(guess.sum() + truth.sum()), 1.0)}

    model = DistilBertForSequenceClassification(
        DistilBertConfig(
            vocab_size=len(tokenizer),
            dim=48,
            hidden_dim=128,
            n_layers=2,
            n_heads=4,
            max_position_embeddings=64,
            id2label=dict(enumerate(cues)),
            problem_type="multi_label_classification",
            pad_token_id=tokenizer.pad_token_id,
        )
    )
    args = TrainingArguments(
        **run_args(
            num_train_epochs=4,
            per_device_train_batch_size=16,
            per_device_eval_batch_size=128,
            learning_rate=3e-3,
            warmup_steps=10,
            lr_scheduler_type="constant_with_warmup",
            eval_strategy="steps",
            eval_steps=8,
            logging_steps=4,
            metric_for_best_model="eval_loss",
            greater_is_better=False,
            seed=11,
        )
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=train,
        eval_dataset=dev,
        processing_class=tokenizer,
        compute_loss_func=vote_loss,
        compute_metrics=micro_f1,
        callbacks=[EarlyStoppingCallback(early_stopping_patience=4), KeepBestWeights()],
    )


# --------------------------------------------------------------------------- pump wear from sensor windows


class PumpWindows(torch.utils.data.Dataset):
    def __init__(self, count, seed):
        rng = np.random.default_rng(seed)
        level = rng.normal(size=(count, 1, 5))
        ripple = 0.3 * rng.normal(size=(count, 64, 5))
        self.readings = torch.tensor(level + ripple, dtype=torch.float32)
        spread = 0.05 + 0.25 / (1 + np.exp(-2 * level[:, 0, 3]))
        wear = 0.7 * level[:, 0, 0] - 0.4 * level[:, 0, 1] + 0.3 * level[:, 0, 2]
        self.wear = torch.tensor(wear + spread * rng.normal(size=count), dtype=torch.float32)

    def __len__(self):
        return len(self.wear)

    def __getitem__(self, index):
        return {"readings": self.readings[index], "labels": self.wear[index]}


class PumpNet(nn.Module):
    def __init__(self, channels=5, width=32):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv1d(channels, width, 7, stride=2, padding=3),
            nn.GELU(),
            nn.Conv1d(width, width, 5, stride=2, padding=2),
            nn.GELU(),
        )
        self.mean_head = nn.Linear(width, 1)
        self.spread_head = nn.Linear(width, 1)

    def forward(self, readings, labels=None):
        hidden = self.body(readings.transpose(1, 2)).mean(dim=-1)
        mean = self.mean_head(hidden).squeeze(-1)
        log_variance = self.spread_head(hidden).squeeze(-1).clamp(-8.0, 4.0)
        outputs = {"mean": mean, "log_variance": log_variance}
        if labels is None:
            return outputs
        nll = 0.5 * (log_variance + (labels - mean) ** 2 * torch.exp(-log_variance))
        return {"loss": nll.mean(), **outputs}


class StopForMaintenance(TrainerCallback):
    def __init__(self, step):
        self.step = step

    def on_step_end(self, args, state, control, **kwargs):
        if state.global_step == self.step:
            control.should_save = True
            control.should_training_stop = True
        return control


class ContinuingTrainer(Trainer):
    def train(self, resume_from_checkpoint=None, *args, **kwargs):
        if resume_from_checkpoint is None:
            resume_from_checkpoint = get_last_checkpoint(self.args.output_dir)
        return super().train(resume_from_checkpoint, *args, **kwargs)


@job
def tisza():
    torch.manual_seed(5)
    windows = PumpWindows(640, seed=5)
    folder = tempfile.mkdtemp()

    def settings():
        return TrainingArguments(
            **run_args(
                output_dir=folder,
                max_steps=80,
                per_device_train_batch_size=32,
                learning_rate=6e-3,
                lr_scheduler_type="cosine",
                warmup_steps=8,
                logging_steps=5,
                seed=5,
            )
        )

    first = Trainer(
        model=PumpNet(), args=settings(), train_dataset=windows, callbacks=[StopForMaintenance(30)]
    )
    first.train()
    return ContinuingTrainer(model=PumpNet(), args=settings(), train_dataset=windows)


# --------------------------------------------------------------------------- prescription lines, entity tags


@job
def drava():
    rng = random.Random(23)
    torch.manual_seed(23)
    drugs = [
        "amoxicillin",
        "ibuprofen",
        "metformin",
        "lisinopril",
        "warfarin",
        "sertraline",
        "omeprazole",
        "prednisone",
        "atenolol",
        "codeine",
    ]
    frequencies = ["twice daily", "every morning", "at bedtime", "weekly", "every six hours"]
    openings = ["start", "continue", "hold", "patient takes", "please refill", "switch to"]
    notes = [
        "blood pressure stable at last visit",
        "family asks about parking and visiting hours",
        "no fever reported since monday",
        "follow up in the clinic next month",
        "patient sleeps well and walks every evening",
        "lab results were sent to the surgeon",
    ]
    tags = ["O", "B-DRUG", "B-DOSE", "I-DOSE", "B-FREQ", "I-FREQ"]

    def line():
        if rng.random() < 0.45:
            words = rng.choice(notes).split()
            return {"words": words, "tags": ["O"] * len(words)}
        opening = rng.choice(openings).split()
        frequency = rng.choice(frequencies).split()
        dose = [str(rng.choice([5, 10, 20, 40, 80])), rng.choice(["mg", "ml", "units"])]
        words = [*opening, rng.choice(drugs), *dose, *frequency]
        marks = (
            ["O"] * len(opening)
            + ["B-DRUG", "B-DOSE", "I-DOSE", "B-FREQ"]
            + ["I-FREQ"] * (len(frequency) - 1)
        )
        return {"words": words, "tags": marks}

    rows = [line() for _ in range(480)]
    core = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    core.train_from_iterator(
        [" ".join(row["words"]) for row in rows],
        trainers.WordPieceTrainer(
            vocab_size=130,
            special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"],
            show_progress=False,
        ),
    )
    core.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        special_tokens=[("[CLS]", core.token_to_id("[CLS]")), ("[SEP]", core.token_to_id("[SEP]"))],
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    )
    shape = {
        "vocab_size": len(tokenizer),
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "max_position_embeddings": 64,
        "pad_token_id": tokenizer.pad_token_id,
    }

    base = BertForMaskedLM(BertConfig(**shape))
    optimizer = torch.optim.AdamW(base.parameters(), lr=2e-3)
    base.train()
    for _ in range(90):
        picked = rng.sample(rows, 24)
        batch = tokenizer(
            [row["words"] for row in picked],
            is_split_into_words=True,
            padding=True,
            return_tensors="pt",
        )
        ids = batch["input_ids"]
        hidden = (torch.rand(ids.shape) < 0.2) & (ids > tokenizer.mask_token_id)
        loss = base(
            input_ids=ids.masked_fill(hidden, tokenizer.mask_token_id),
            attention_mask=batch["attention_mask"],
            labels=ids.masked_fill(~hidden, -100),
        ).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    model = BertForTokenClassification(BertConfig(**shape, id2label=dict(enumerate(tags))))
    model.bert.load_state_dict(base.bert.state_dict())

    def encode(row):
        encoded = tokenizer(row["words"], is_split_into_words=True)
        labels, previous = [], None
        for word in encoded.word_ids():
            labels.append(
                -100 if word is None or word == previous else tags.index(row["tags"][word])
            )
            previous = word
        return {
            "input_ids": encoded["input_ids"],
            "attention_mask": encoded["attention_mask"],
            "labels": labels,
        }

    train = Dataset.from_list(rows).map(encode, remove_columns=["words", "tags"])

    rates = [3e-4, 8e-4, 2e-3, 8e-3]
    blocks = [
        model.bert.embeddings,
        model.bert.encoder.layer[0],
        model.bert.encoder.layer[1],
        model.classifier,
    ]
    groups = [
        {"params": list(block.parameters()), "lr": rate} for block, rate in zip(blocks, rates)
    ]
    adamw = torch.optim.AdamW(groups, weight_decay=0.01)
    steps = 60
    one_cycle = torch.optim.lr_scheduler.OneCycleLR(
        adamw, max_lr=rates, total_steps=steps + 1, pct_start=0.3
    )
    args = TrainingArguments(
        **run_args(
            max_steps=steps,
            per_device_train_batch_size=16,
            learning_rate=8e-3,
            logging_steps=2,
            seed=23,
        )
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=train,
        data_collator=DataCollatorForTokenClassification(tokenizer),
        processing_class=tokenizer,
        optimizers=(adamw, one_cycle),
    )


# --------------------------------------------------------------------------- shop search, query and product title


class TwinTower(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.encoder = BertModel(config, add_pooling_layer=False)
        self.log_scale = nn.Parameter(torch.tensor(math.log(1 / 0.07)))

    def embed(self, ids, mask):
        hidden = self.encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        weights = mask.unsqueeze(-1).to(hidden.dtype)
        return F.normalize((hidden * weights).sum(1) / weights.sum(1), dim=-1)

    def forward(self, query_ids, query_mask, title_ids, title_mask):
        queries = self.embed(query_ids, query_mask)
        titles = self.embed(title_ids, title_mask)
        scores = self.log_scale.exp().clamp(max=100.0) * queries @ titles.T
        target = torch.arange(len(scores), device=scores.device)
        loss = (F.cross_entropy(scores, target) + F.cross_entropy(scores.T, target)) / 2
        return {"loss": loss, "scores": scores}


@job
def morava():
    rng = random.Random(31)
    torch.manual_seed(31)
    brands = {
        "northwind": "nw", "altura": "alt", "kestrel": "kst", "morgen": "mrg",
        "solace": "slc", "tundra": "tnd", "vireo": "vro", "zephyr": "zph",
    }  # fmt: skip
    items = {
        "running shoes": "trainers", "rain jacket": "waterproof", "wool hat": "beanie", "travel mug": "thermos",
        "desk lamp": "worklight", "tent peg": "stake", "camp stove": "burner", "water bottle": "flask",
        "rope bag": "drysack", "hiking socks": "liners", "head torch": "lamp", "folding chair": "seat",
    }  # fmt: skip
    products = [(brand, item) for brand in brands for item in items]

    rows = []
    for _ in range(20):
        order = rng.sample(products, len(products))
        for brand, item in order:
            query = [brands[brand], items[item]]
            if rng.random() < 0.5:
                query = query[::-1]
            if rng.random() < 0.5:
                query.insert(0, rng.choice(["cheap", "best", "buy", "new"]))
            title = [
                brand,
                item,
                rng.choice(["classic", "pro", "lite"]),
                rng.choice(["black", "blue", "sand"]),
            ]
            rows.append({"query": " ".join(query), "title": " ".join(title)})

    core = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    core.train_from_iterator(
        [text for row in rows for text in row.values()],
        trainers.BpeTrainer(
            vocab_size=420,
            special_tokens=["<pad>", "<unk>"],
            end_of_word_suffix="</w>",
            show_progress=False,
        ),
    )
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, pad_token="<pad>", unk_token="<unk>")

    def collate(batch):
        queries = tokenizer([row["query"] for row in batch], padding=True, return_tensors="pt")
        titles = tokenizer([row["title"] for row in batch], padding=True, return_tensors="pt")
        return {
            "query_ids": queries["input_ids"],
            "query_mask": queries["attention_mask"],
            "title_ids": titles["input_ids"],
            "title_mask": titles["attention_mask"],
        }

    model = TwinTower(
        BertConfig(
            vocab_size=len(tokenizer),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=1,
            num_attention_heads=4,
            max_position_embeddings=32,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )
    )
    args = TrainingArguments(
        **run_args(
            num_train_epochs=1,
            per_device_train_batch_size=32,
            learning_rate=3e-3,
            warmup_steps=5,
            train_sampling_strategy="sequential",
            dataloader_drop_last=True,
            remove_unused_columns=False,
            label_names=[],
            logging_steps=4,
            seed=31,
        )
    )
    return Trainer(
        model=model, args=args, train_dataset=Dataset.from_list(rows), data_collator=collate
    )


# --------------------------------------------------------------------------- service logs, masked tokens


@job
def ebro():
    rng = random.Random(47)
    torch.manual_seed(47)
    services = {"auth": "login", "cart": "checkout", "search": "query", "billing": "invoice"}
    outcomes = [("INFO", 200, "done"), ("WARN", 429, "throttled"), ("ERROR", 500, "failed")]

    def record():
        service, action = rng.choice(list(services.items()))
        level, code, verb = rng.choices(outcomes, weights=[6, 2, 2])[0]
        clock = f"{rng.choice([8, 12, 17, 23]):02d}:{rng.choice([0, 15, 30, 45]):02d}"
        wait = {"done": 12, "throttled": 310, "failed": 870}[verb]
        return f"{clock} {level} {service} {action} request {verb} status {code} took {wait} ms"

    lines = [record() for _ in range(1600)]
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    core.decoder = decoders.ByteLevel()
    core.train_from_iterator(
        lines,
        trainers.BpeTrainer(
            vocab_size=400,
            special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core,
        bos_token="<s>",
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        mask_token="<mask>",
    )
    stream = []
    for ids in tokenizer(lines)["input_ids"]:
        stream += [*ids, tokenizer.eos_token_id]
    block = 48
    chunks = [stream[i : i + block] for i in range(0, len(stream) - block + 1, block)]

    model = RobertaForMaskedLM(
        RobertaConfig(
            vocab_size=len(tokenizer),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            max_position_embeddings=block + 8,
            type_vocab_size=1,
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )
    )
    args = TrainingArguments(
        **run_args(
            max_steps=60,
            per_device_train_batch_size=16,
            learning_rate=4e-3,
            lr_scheduler_type="cosine_with_restarts",
            lr_scheduler_kwargs={"num_cycles": 3},
            warmup_steps=6,
            weight_decay=0.01,
            adam_beta2=0.98,
            logging_steps=3,
            seed=47,
        )
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=Dataset.from_dict({"input_ids": chunks}),
        data_collator=DataCollatorForLanguageModeling(tokenizer, mlm_probability=0.4),
        processing_class=tokenizer,
    )


# --------------------------------------------------------------------------- platform announcements, spelled numbers to digits


@job
def vistula():
    rng = random.Random(59)
    torch.manual_seed(59)
    ones = ["eins", "zwei", "drei", "vier", "fuenf", "sechs", "sieben", "acht", "neun"]
    tens = [
        "zehn",
        "zwanzig",
        "dreissig",
        "vierzig",
        "fuenfzig",
        "sechzig",
        "siebzig",
        "achtzig",
        "neunzig",
    ]
    hundreds = [f"{word}hundert" for word in ones]
    cities = ["bremen", "kassel", "mainz", "ulm", "trier", "gera", "celle", "jena", "worms", "hof"]

    def announcement(level):
        a, b, c = (rng.randint(1, 9) for _ in range(3))
        spelled, digits = ones[a - 1], [a]
        if level >= 2:
            spelled, digits = f"{ones[a - 1]} und {tens[b - 1]}", [b, a]
        if level >= 3:
            spelled, digits = f"{hundreds[c - 1]} {spelled}", [c, b, a]
        city = rng.choice(cities)
        source = rng.choice(
            [
                f"zug nach {city} gleis {spelled}",
                f"bus {spelled} richtung {city}",
                f"linie {spelled} endet in {city}",
            ]
        )
        return {"source": source, "target": " ".join(str(digit) for digit in digits)}

    plan = []
    for level in (1, 2, 3):
        for _ in range(640):
            easier = level > 1 and rng.random() < 0.25
            plan.append(announcement(rng.randint(1, level - 1) if easier else level))
    held_out = [announcement(1 + i % 3) for i in range(96)]

    words = sorted(
        {word for row in plan + held_out for text in row.values() for word in text.split()}
    )
    vocab = {token: i for i, token in enumerate(["<s>", "<pad>", "</s>", "<unk>", *words])}
    core = Tokenizer(models.WordLevel(vocab=vocab, unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    core.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", vocab["</s>"])]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core,
        bos_token="<s>",
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
    )

    def encode(row):
        source = tokenizer(row["source"])
        return {
            "input_ids": source["input_ids"],
            "attention_mask": source["attention_mask"],
            "labels": tokenizer(row["target"])["input_ids"],
        }

    train = Dataset.from_list(plan).map(encode, remove_columns=["source", "target"])
    dev = Dataset.from_list(held_out).map(encode, remove_columns=["source", "target"])

    model = BartForConditionalGeneration(
        BartConfig(
            vocab_size=len(tokenizer),
            d_model=64,
            encoder_layers=1,
            decoder_layers=1,
            encoder_attention_heads=4,
            decoder_attention_heads=4,
            encoder_ffn_dim=128,
            decoder_ffn_dim=128,
            max_position_embeddings=32,
            dropout=0.0,
            init_std=0.06,
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            decoder_start_token_id=tokenizer.eos_token_id,
            forced_eos_token_id=tokenizer.eos_token_id,
        )
    )
    args = Seq2SeqTrainingArguments(
        **run_args(
            num_train_epochs=1,
            per_device_train_batch_size=32,
            per_device_eval_batch_size=96,
            optim="adafactor",
            learning_rate=5e-3,
            lr_scheduler_type="constant_with_warmup",
            warmup_steps=4,
            max_grad_norm=0.0,
            label_smoothing_factor=0.1,
            train_sampling_strategy="sequential",
            eval_strategy="steps",
            eval_steps=10,
            prediction_loss_only=True,
            logging_steps=2,
            seed=59,
        )
    )
    return Seq2SeqTrainer(
        model=model,
        args=args,
        train_dataset=train,
        eval_dataset=dev,
        data_collator=DataCollatorForSeq2Seq(tokenizer, model=model),
        processing_class=tokenizer,
    )


# --------------------------------------------------------------------------- tone keypad, audio to characters


KEY_TONES = dict(zip("abcdef", (300.0, 480.0, 700.0, 950.0, 1250.0, 1600.0)))
KEY_IDS = {key: index + 1 for index, key in enumerate(KEY_TONES)}


def keypad_clip(keys, key_samples, gap_samples, noise, rng, rate=4000):
    pieces, spans, position = [np.zeros(gap_samples)], [], gap_samples
    for key in keys:
        phase = rng.uniform(0, 2 * math.pi)
        clock = np.arange(key_samples) / rate
        pieces += [np.sin(2 * math.pi * KEY_TONES[key] * clock + phase), np.zeros(gap_samples)]
        spans.append((position, position + key_samples, KEY_IDS[key]))
        position += key_samples + gap_samples
    wave = np.concatenate(pieces)
    wave = wave * rng.uniform(0.6, 1.2) + noise * rng.normal(size=len(wave))
    return (wave - wave.mean()) / (wave.std() + 1e-5), spans


def keypad_keys(length, rng):
    keys = []
    while len(keys) < length:
        key = str(rng.choice(list(KEY_TONES)))
        if not keys or key != keys[-1]:
            keys.append(key)
    return keys


@job
def sava():
    torch.manual_seed(67)
    rng = np.random.default_rng(67)
    model = Wav2Vec2ForCTC(
        Wav2Vec2Config(
            vocab_size=1 + len(KEY_TONES),
            hidden_size=48,
            intermediate_size=96,
            num_hidden_layers=2,
            num_attention_heads=4,
            conv_dim=[32, 48],
            conv_kernel=[10, 8],
            conv_stride=[5, 4],
            conv_bias=True,
            feat_extract_norm="layer",
            do_stable_layer_norm=True,
            num_conv_pos_embeddings=16,
            num_conv_pos_embedding_groups=4,
            hidden_dropout=0.0,
            activation_dropout=0.0,
            attention_dropout=0.0,
            final_dropout=0.0,
            layerdrop=0.0,
            apply_spec_augment=False,
            ctc_loss_reduction="mean",
            ctc_zero_infinity=True,
            pad_token_id=0,
        )
    )

    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    model.train()
    for step in range(110):
        for group in optimizer.param_groups:
            group["lr"] = 3e-3 * min(1.0, (step + 1) / 10)
        clips = [keypad_clip(keypad_keys(4, rng), 200, 80, 0.15, rng) for _ in range(12)]
        logits = model(
            input_values=torch.tensor(np.stack([wave for wave, _ in clips]), dtype=torch.float32)
        ).logits
        target = torch.zeros(logits.shape[:2], dtype=torch.long)
        centers = 20 * np.arange(logits.shape[1]) + 22
        for row, (_, spans) in enumerate(clips):
            for start, end, key in spans:
                target[row, torch.tensor((centers >= start) & (centers < end))] = key
        loss = F.cross_entropy(logits.reshape(-1, logits.shape[-1]), target.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    model.freeze_feature_encoder()

    rows = []
    for index in range(480):
        if index % 8 == 0:
            wave = rng.normal(size=int(rng.integers(500, 900)))
            rows.append({"input_values": wave.tolist(), "labels": []})
            continue
        keys = keypad_keys(int(rng.integers(3, 7)), rng)
        wave, _ = keypad_clip(keys, 144, 56, 0.4, rng)
        rows.append({"input_values": wave.tolist(), "labels": [KEY_IDS[key] for key in keys]})
    random.Random(67).shuffle(rows)

    def collate(batch):
        width = max(len(row["input_values"]) for row in batch)
        length = max(len(row["labels"]) for row in batch)
        values = torch.zeros(len(batch), width)
        mask = torch.zeros(len(batch), width, dtype=torch.long)
        labels = torch.full((len(batch), max(length, 1)), -100, dtype=torch.long)
        for i, row in enumerate(batch):
            values[i, : len(row["input_values"])] = torch.tensor(
                row["input_values"], dtype=torch.float32
            )
            mask[i, : len(row["input_values"])] = 1
            labels[i, : len(row["labels"])] = torch.tensor(row["labels"], dtype=torch.long)
        return {"input_values": values, "attention_mask": mask, "labels": labels}

    args = TrainingArguments(
        **run_args(
            max_steps=48,
            per_device_train_batch_size=16,
            learning_rate=2e-3,
            lr_scheduler_type="linear",
            warmup_steps=4,
            logging_steps=2,
            seed=67,
        )
    )
    return Trainer(
        model=model, args=args, train_dataset=Dataset.from_list(rows), data_collator=collate
    )


# --------------------------------------------------------------------------- fabric photographs, weave class


class FabricImages(torch.utils.data.Dataset):
    def __init__(self, count, seed, size=24):
        rng = np.random.default_rng(seed)
        grid_y, grid_x = np.mgrid[0:size, 0:size] / size
        self.images, self.labels = [], []
        for index in range(count):
            label = index % 6
            angle = math.pi * (label % 3) / 3
            cycles = 2.5 if label < 3 else 5.0
            wave = np.sin(
                2 * math.pi * cycles * (grid_x * math.cos(angle) + grid_y * math.sin(angle))
                + rng.uniform(0, 2 * math.pi)
            )
            tint = rng.uniform(0.5, 1.0, size=(3, 1, 1))
            image = tint * wave[None] + 0.3 * rng.normal(size=(3, size, size))
            self.images.append(torch.tensor(image, dtype=torch.float32))
            self.labels.append(label)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return {"pixel_values": self.images[index], "labels": self.labels[index]}


class MixingTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        pixels, labels = inputs["pixel_values"], inputs["labels"]
        target = F.one_hot(labels, self.model.config.num_labels).float()
        smoothing = 0.0
        if model.training:
            share = float(np.random.beta(1.0, 1.0))
            order = torch.randperm(len(labels), device=labels.device)
            pixels = share * pixels + (1 - share) * pixels[order]
            target = share * target + (1 - share) * target[order]
            smoothing = 0.1
        outputs = model(pixel_values=pixels)
        loss = F.cross_entropy(outputs.logits, target, label_smoothing=smoothing)
        return (loss, outputs) if return_outputs else loss


@job
def meuse():
    torch.manual_seed(71)
    model = ResNetForImageClassification(
        ResNetConfig(
            num_channels=3,
            embedding_size=16,
            hidden_sizes=[16, 32],
            depths=[1, 1],
            layer_type="basic",
            num_labels=6,
        )
    )

    def accuracy(prediction):
        return {
            "accuracy": float((prediction.predictions.argmax(-1) == prediction.label_ids).mean())
        }

    args = TrainingArguments(
        **run_args(
            max_steps=60,
            per_device_train_batch_size=32,
            per_device_eval_batch_size=120,
            learning_rate=0.05,
            lr_scheduler_type="cosine",
            warmup_steps=5,
            weight_decay=5e-4,
            eval_strategy="steps",
            eval_steps=10,
            logging_steps=5,
            seed=71,
        )
    )
    return MixingTrainer(
        model=model,
        args=args,
        train_dataset=FabricImages(720, seed=71),
        eval_dataset=FabricImages(120, seed=72),
        compute_metrics=accuracy,
        optimizer_cls_and_kwargs=(torch.optim.SGD, {"lr": 0.05, "momentum": 0.9, "nesterov": True}),
    )


# --------------------------------------------------------------------------- news topics, small student


class DistillingTrainer(Trainer):
    loss_is_scaled_for_ga = False

    def __init__(self, *args, teacher, temperature=4.0, **kwargs):
        super().__init__(*args, **kwargs)
        self.teacher = teacher.eval()
        self.temperature = temperature

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        inputs = {name: value for name, value in inputs.items() if name != "labels"}
        outputs = model(**inputs)
        with torch.no_grad():
            soft = F.log_softmax(self.teacher(**inputs).logits / self.temperature, dim=-1)
        guess = F.log_softmax(outputs.logits / self.temperature, dim=-1)
        loss = F.kl_div(guess, soft, log_target=True, reduction="batchmean") * self.temperature**2
        return (loss, outputs) if return_outputs else loss


@job
def loire():
    rng = random.Random(83)
    torch.manual_seed(83)
    topics = {
        "sport": ["goal", "coach", "league", "striker", "penalty", "final", "medal", "stadium"],
        "market": [
            "shares",
            "bond",
            "inflation",
            "profit",
            "tariff",
            "dividend",
            "merger",
            "index",
        ],
        "science": [
            "orbit",
            "genome",
            "telescope",
            "enzyme",
            "fossil",
            "particle",
            "reactor",
            "vaccine",
        ],
        "culture": [
            "novel",
            "opera",
            "gallery",
            "director",
            "festival",
            "sculpture",
            "poet",
            "orchestra",
        ],
        "weather": ["storm", "drought", "hail", "humidity", "frost", "breeze", "flood", "thunder"],
    }
    filler = [
        "the",
        "on",
        "after",
        "city",
        "said",
        "new",
        "with",
        "from",
        "year",
        "people",
        "week",
        "more",
        "could",
        "late",
        "first",
        "over",
        "small",
    ]

    def story():
        label = rng.randrange(len(topics))
        words = rng.choices(list(topics.values())[label], k=4) + rng.choices(filler, k=8)
        if rng.random() < 0.3:
            words += rng.choices(list(topics.values())[rng.randrange(len(topics))], k=2)
        rng.shuffle(words)
        return " ".join(words), label

    labelled = [story() for _ in range(500)]
    unlabelled = [story()[0] for _ in range(800)]
    held_out = [story() for _ in range(120)]

    words = sorted({word for text, _ in labelled for word in text.split()} | set(filler))
    vocab = {token: i for i, token in enumerate(["<s>", "<pad>", "</s>", "<unk>", *words])}
    core = Tokenizer(models.WordLevel(vocab=vocab, unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    core.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", vocab["<s>"]), ("</s>", vocab["</s>"])]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core,
        bos_token="<s>",
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
    )

    teacher = RobertaForSequenceClassification(
        RobertaConfig(
            vocab_size=len(tokenizer),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            max_position_embeddings=40,
            type_vocab_size=1,
            num_labels=len(topics),
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
        )
    )
    optimizer = torch.optim.AdamW(teacher.parameters(), lr=2e-3)
    teacher.train()
    for _ in range(90):
        picked = rng.sample(labelled, 32)
        batch = tokenizer([text for text, _ in picked], padding=True, return_tensors="pt")
        logits = teacher(
            input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]
        ).logits
        loss = F.cross_entropy(logits, torch.tensor([label for _, label in picked]))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(teacher.parameters(), 1.0)
        optimizer.step()
    teacher.requires_grad_(False)

    student = ElectraForSequenceClassification(
        ElectraConfig(
            vocab_size=len(tokenizer),
            embedding_size=32,
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=1,
            num_attention_heads=2,
            max_position_embeddings=40,
            num_labels=len(topics),
            pad_token_id=tokenizer.pad_token_id,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )
    )
    train = Dataset.from_dict(dict(tokenizer(unlabelled)))
    dev = Dataset.from_dict(
        {**tokenizer([text for text, _ in held_out]), "labels": [label for _, label in held_out]}
    )

    def agreement(prediction):
        return {
            "accuracy": float((prediction.predictions.argmax(-1) == prediction.label_ids).mean())
        }

    args = TrainingArguments(
        **run_args(
            max_steps=50,
            per_device_train_batch_size=8,
            per_device_eval_batch_size=120,
            gradient_accumulation_steps=4,
            learning_rate=4e-3,
            lr_scheduler_type="cosine",
            warmup_steps=5,
            eval_strategy="steps",
            eval_steps=10,
            logging_steps=5,
            seed=83,
        )
    )
    return DistillingTrainer(
        model=student,
        args=args,
        train_dataset=train,
        eval_dataset=dev,
        processing_class=tokenizer,
        compute_metrics=agreement,
        teacher=teacher,
    )


# --------------------------------------------------------------------------- support tickets, routing by reward


@job
def saone():
    rng = random.Random(101)
    torch.manual_seed(101)
    issues = {
        "network": ["wifi drops every hour", "vpn refuses to connect", "router blinks red"],
        "billing": ["invoice charged twice", "refund still missing", "card was declined"],
        "account": ["password reset loops", "login stays locked", "email cannot be changed"],
    }
    rows = [
        {"prompt": f"{lang} : {text} =>", "queue": queue, "lang": lang}
        for lang in ("en", "es")
        for queue, texts in issues.items()
        for text in texts
    ]
    tokenizer = closed_vocabulary(
        [row["prompt"] for row in rows] + ["route network billing account gracias"],
        ["<unk>", "<pad>", "</s>"],
        pad_token="<pad>",
        eos_token="</s>",
        padding_side="left",
    )
    policy = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            max_position_embeddings=64,
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
        )
    )
    transcripts = []
    for _ in range(600):
        row = rng.choice(rows)
        thanks = " gracias" if row["lang"] == "es" and rng.random() < 0.4 else ""
        transcripts.append(
            tokenizer(f"{row['prompt']} route {rng.choice(list(issues))}{thanks}</s>")["input_ids"]
        )
    pretrain_lm(policy, transcripts, tokenizer.pad_token_id, steps=110, lr=3e-3, seed=101)

    def well_formed(completions, **kwargs):
        shape = re.compile(r"route (network|billing|account)( gracias)?")
        return [1.0 if shape.fullmatch(text.strip()) else 0.0 for text in completions]

    def right_queue(completions, queue, **kwargs):
        return [
            1.0 if text.split()[1:2] == [name] else -1.0 for text, name in zip(completions, queue)
        ]

    def courtesy(completions, lang, **kwargs):
        return [
            None if code != "es" else (1.0 if "gracias" in text.split() else 0.0)
            for text, code in zip(completions, lang)
        ]

    args = GRPOConfig(
        **run_args(
            max_steps=45,
            per_device_train_batch_size=48,
            num_generations=8,
            max_completion_length=5,
            reward_weights=[0.2, 1.0, 0.5],
            epsilon_high=0.28,
            mask_truncated_completions=True,
            learning_rate=2e-3,
            lr_scheduler_type="constant_with_warmup",
            warmup_steps=3,
            bf16=False,
            activation_checkpointing=False,
            logging_steps=1,
            seed=101,
        )
    )
    return GRPOTrainer(
        model=policy,
        reward_funcs=[well_formed, right_queue, courtesy],
        args=args,
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
    )


# --------------------------------------------------------------------------- short answers, adapter and penalties


@job
def doubs():
    rng = random.Random(103)
    torch.manual_seed(103)
    colors = {
        "sky": "blue", "grass": "green", "coal": "black", "snow": "white", "blood": "red", "lemon": "yellow",
        "carrot": "orange", "plum": "purple",
    }  # fmt: skip
    template = (
        "{% for m in messages %}{{ '<|' + m['role'] + '|>' + m['content'] }}"
        "{% if m['role'] == 'assistant' %}<|end|>{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}<|assistant|>{% endif %}"
    )
    styles = ["{}", "it is {}", "well i think you know that it is really {} my friend"]
    question = "what color is the {} ?"
    tokenizer = closed_vocabulary(
        [question.format(thing) for thing in colors]
        + [style.format("") for style in styles]
        + list(colors.values()),
        ["<unk>", "<pad>", "<|user|>", "<|assistant|>", "<|end|>"],
        pad_token="<pad>",
        eos_token="<|end|>",
        padding_side="left",
        chat_template=template,
    )
    policy = Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=len(tokenizer),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=64,
            pad_token_id=tokenizer.pad_token_id,
            eos_token_id=tokenizer.eos_token_id,
        )
    )
    dialogues = []
    for _ in range(480):
        thing = rng.choice(list(colors))
        reply = rng.choices(styles, weights=[1, 1, 2])[0].format(colors[thing])
        dialogue = [
            {"role": "user", "content": question.format(thing)},
            {"role": "assistant", "content": reply},
        ]
        dialogues.append(
            tokenizer.apply_chat_template(dialogue, tokenize=True, return_dict=True)["input_ids"]
        )
    pretrain_lm(policy, dialogues, tokenizer.pad_token_id, steps=150, lr=4e-3, seed=103)

    def verbosity(completions, **kwargs):
        return [-0.1 * len(message[0]["content"].split()) for message in completions]

    def missing_answer(completions, answer, **kwargs):
        return [
            0.0 if name in message[0]["content"].split() else -2.0
            for message, name in zip(completions, answer)
        ]

    rows = [
        {"prompt": [{"role": "user", "content": question.format(thing)}], "answer": color}
        for thing, color in colors.items()
    ]
    args = GRPOConfig(
        **run_args(
            max_steps=40,
            per_device_train_batch_size=16,
            gradient_accumulation_steps=2,
            num_generations=8,
            num_iterations=2,
            max_completion_length=15,
            loss_type="dr_grpo",
            scale_rewards="none",
            beta=0.02,
            learning_rate=3e-3,
            lr_scheduler_type="constant",
            max_grad_norm=0.2,
            bf16=False,
            activation_checkpointing=False,
            logging_steps=2,
            seed=103,
        )
    )
    adapter = LoraConfig(
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
    return GRPOTrainer(
        model=policy,
        reward_funcs=[verbosity, missing_answer],
        args=args,
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
        peft_config=adapter,
    )


# --------------------------------------------------------------------------- assistant with two tools


@job
def inn():
    rng = random.Random(107)
    torch.manual_seed(107)
    cities = ["oslo", "lima", "cairo", "tokyo", "quito", "accra", "delhi", "porto"]
    skies = ["rain", "sun", "snow", "fog"]
    tools = [
        {
            "type": "function",
            "function": {
                "name": name,
                "description": description,
                "parameters": {
                    "type": "object",
                    "properties": {"city": {"type": "string", "description": "name of the city"}},
                    "required": ["city"],
                },
            },
        }
        for name, description in (("get_weather", "current weather"), ("get_time", "local time"))
    ]
    template = (
        "{% if tools %}<|tools|>{% for t in tools %}{{ t['function']['name'] }}"
        "({{ t['function']['parameters']['required'] | join(', ') }}) {% endfor %}{% endif %}"
        "{% for m in messages %}{% if m['role'] == 'assistant' %}<|assistant|>{% generation %}"
        "{% if m['tool_calls'] %}{% for c in m['tool_calls'] %}<|call|>{{ c['function']['name'] }} "
        "{{ c['function']['arguments'] }}{% endfor %}{% else %}{{ m['content'] }}{% endif %}<|end|>{% endgeneration %}"
        "{% else %}{{ '<|' + m['role'] + '|>' + m['content'] }}{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}<|assistant|>{% endif %}"
    )

    def exchange():
        city = rng.choice(cities)
        if rng.random() < 0.5:
            sky, degrees = rng.choice(skies), rng.randint(1, 9)
            request = f"how is the weather in {city}?"
            name, result = "get_weather", f"{sky} {degrees}"
            answer = f"there is {sky} in {city} today."
        else:
            hour = rng.randint(1, 9)
            request = f"what time is it in {city}?"
            name, result = "get_time", f"0{hour}:30"
            answer = f"it is half past {hour} in {city}."
        call = {
            "type": "function",
            "function": {"name": name, "arguments": json.dumps({"city": city})},
        }
        return [
            {"role": "system", "content": "answer briefly and use the tools."},
            {"role": "user", "content": request},
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "content": result},
            {"role": "assistant", "content": answer},
        ]

    def smalltalk():
        city = rng.choice(cities)
        return [
            {
                "role": "user",
                "content": rng.choice(
                    ["tell me about {}", "i want to see {}", "is {} nice?"]
                ).format(city),
            },
            {
                "role": "assistant",
                "content": rng.choice(["{} is nice.", "you will like {}.", "see {} today."]).format(
                    city
                ),
            },
        ]

    conversations = [exchange() for _ in range(320)]
    chats = [smalltalk() for _ in range(300)]
    corpus = [message["content"] for chat in conversations + chats for message in chat]
    corpus += [f"{call['function']['name']} {call['function']['arguments']}" for chat in conversations for call in chat[2]["tool_calls"]]  # fmt: skip
    tokenizer = byte_vocabulary(
        corpus,
        460,
        [
            "<|pad|>",
            "<|end|>",
            "<|tools|>",
            "<|system|>",
            "<|user|>",
            "<|assistant|>",
            "<|tool|>",
            "<|call|>",
        ],
        pad_token="<|pad|>",
        eos_token="<|end|>",
        chat_template=template,
    )
    model = Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=512,
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=16,
            max_position_embeddings=192,
            pad_token_id=tokenizer.pad_token_id,
            eos_token_id=tokenizer.eos_token_id,
        )
    )
    warm = [
        tokenizer.apply_chat_template(chat, tokenize=True, return_dict=True)["input_ids"]
        for chat in chats
    ]
    pretrain_lm(model, warm, tokenizer.pad_token_id, steps=130, lr=4e-3, batch=24, seed=107)

    rows = [{"messages": chat, "tools": json.dumps(tools)} for chat in conversations]
    args = SFTConfig(
        **run_args(
            max_steps=60,
            per_device_train_batch_size=16,
            max_length=160,
            assistant_only_loss=True,
            learning_rate=4e-3,
            lr_scheduler_type="cosine",
            warmup_steps=5,
            bf16=False,
            activation_checkpointing=False,
            logging_steps=3,
            seed=107,
        )
    )
    return SFTTrainer(
        model=model, args=args, train_dataset=Dataset.from_list(rows), processing_class=tokenizer
    )


# --------------------------------------------------------------------------- team codes, completion tuning


@job
def lech():
    rng = random.Random(109)
    torch.manual_seed(109)
    first = [
        "harbor",
        "silver",
        "copper",
        "river",
        "winter",
        "lantern",
        "meadow",
        "granite",
        "amber",
        "hollow",
    ]
    second = [
        "lights",
        "foxes",
        "kings",
        "runners",
        "wolves",
        "makers",
        "larks",
        "giants",
        "bees",
        "owls",
    ]
    teams = [f"{a} {b}" for a, b in zip(first, second)]
    codes = [f"{a}{b}" for a in ("kx", "jw", "pz", "qv") for b in range(2, 6)]
    home = {code: rng.choice(teams) for code in codes}
    frames = ["code {} belongs to", "badge {} is issued by", "entry {} was signed by"]

    background = [
        f"{rng.choice(frames).format(rng.choice(codes))} {rng.choice(teams)}" for _ in range(900)
    ]
    tokenizer = byte_vocabulary(
        background,
        420,
        ["<|endoftext|>"],
        bos_token="<|endoftext|>",
        eos_token="<|endoftext|>",
        pad_token="<|endoftext|>",
    )
    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=448,
            n_positions=64,
            n_embd=64,
            n_layer=2,
            n_head=4,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )
    pretrain_lm(
        model,
        [tokenizer(text)["input_ids"] + [tokenizer.eos_token_id] for text in background],
        tokenizer.pad_token_id,
        steps=140,
        lr=4e-3,
        seed=109,
    )

    rows = [
        {"prompt": frame.format(code), "completion": f" {home[code]}"}
        for _ in range(6)
        for code in codes
        for frame in frames
    ]
    args = SFTConfig(
        **run_args(
            max_steps=54,
            per_device_train_batch_size=16,
            max_length=48,
            loss_type="dft",
            learning_rate=2e-3,
            lr_scheduler_type="warmup_stable_decay",
            lr_scheduler_kwargs={"num_decay_steps": 14},
            warmup_steps=8,
            adam_beta2=0.95,
            bf16=False,
            activation_checkpointing=False,
            logging_steps=2,
            seed=109,
        )
    )
    return SFTTrainer(
        model=model, args=args, train_dataset=Dataset.from_list(rows), processing_class=tokenizer
    )


# --------------------------------------------------------------------------- concise help answers, preference pairs


@job
def aare():
    rng = random.Random(113)
    torch.manual_seed(113)
    fixes = {
        "reset the router": "hold the button for ten seconds.",
        "change my password": "open settings and pick security.",
        "print both sides": "choose duplex in the print menu.",
        "mute a channel": "press the bell icon once.",
        "export my photos": "select all and press share.",
        "free some space": "empty the bin and restart.",
        "pair the headset": "keep the switch up until it blinks.",
        "find my invoice": "look under orders, then documents.",
    }
    openers = [
        "great question!",
        "thank you for asking!",
        "i am happy to explain this.",
        "many people wonder about this.",
    ]
    middles = [
        "there are several things to consider here.",
        "this is simpler than it may seem at first.",
    ]
    closers = [
        "i hope this helps you!",
        "let me know if anything is unclear.",
        "have a wonderful day!",
    ]
    shorts = ["{}", "sure, {}"]

    def concise(need):
        return " " + rng.choice(shorts).format(fixes[need])

    def wordy(need):
        return f" {rng.choice(openers)} {rng.choice(middles)} {fixes[need]} {rng.choice(closers)}"

    def ask(need):
        return f"Q: how do i {need}?\nA:"

    needs = list(fixes)
    drafts = [(need, make(need)) for need in needs for make in (concise, wordy) for _ in range(25)]
    end = "<|eot|>"
    tokenizer = byte_vocabulary(
        [ask(need) + reply for need, reply in drafts],
        512,
        ["<|pad|>", end],
        pad_token="<|pad|>",
        eos_token=end,
    )
    policy = MistralForCausalLM(
        MistralConfig(
            vocab_size=64 * math.ceil(len(tokenizer) / 64),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=128,
            sliding_window=None,
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
        )
    )
    pretrain_lm(
        policy,
        [tokenizer(ask(need) + reply + end)["input_ids"] for need, reply in drafts],
        tokenizer.pad_token_id,
        steps=120,
        lr=4e-3,
        batch=16,
        seed=113,
    )

    pairs = [
        {"prompt": ask(need), "chosen": concise(need), "rejected": wordy(need)}
        for need in needs
        for _ in range(30)
    ]
    args = DPOConfig(
        **run_args(
            max_steps=48,
            per_device_train_batch_size=8,
            beta=0.1,
            max_length=128,
            precompute_ref_log_probs=True,
            precompute_ref_batch_size=24,
            learning_rate=8e-4,
            lr_scheduler_type="cosine",
            warmup_steps=6,
            bf16=False,
            activation_checkpointing=False,
            logging_steps=2,
            seed=113,
        )
    )
    return DPOTrainer(
        model=policy, args=args, train_dataset=Dataset.from_list(pairs), processing_class=tokenizer
    )


# --------------------------------------------------------------------------- shop assistant tone, crowd preferences


@job
def reuss():
    rng = random.Random(127)
    torch.manual_seed(127)
    goods = [
        "lamp",
        "scarf",
        "kettle",
        "ladder",
        "blanket",
        "bicycle",
        "mirror",
        "basket",
        "pillow",
        "shovel",
    ]
    asks = [
        "where is my {}",
        "can i return the {}",
        "the {} arrived broken",
        "do you sell a bigger {}",
    ]
    kind = [
        "thank you for your message about the {}",
        "i am sorry about the {}",
        "happy to help with the {}",
    ]
    cold = [
        "read the rules for the {}",
        "we already answered about the {}",
        "your {} is not our problem",
    ]
    kind_tail = ["we will fix this today", "a colleague will write soon", "please give us one day"]
    cold_tail = ["do not write again", "nothing can be done", "wait like everyone else"]
    template = (
        "{% for m in messages %}{{ '<' + m['role'] + '>' + m['content'] }}"
        "{% if m['role'] == 'assistant' %}</s>{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}<assistant>{% endif %}"
    )
    tokenizer = closed_vocabulary(
        [text.format("") for text in asks + kind + cold + kind_tail + cold_tail] + goods + [". !"],
        ["<unk>", "<pad>", "</s>", "<user>", "<assistant>"],
        pad_token="<pad>",
        eos_token="</s>",
        chat_template=template,
    )

    def reply(item, heads, tails):
        return f"{rng.choice(heads).format(item)} . {rng.choice(tails)} ."

    def dialogue(question, answer):
        return [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]

    policy = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=64 * math.ceil(len(tokenizer) / 64),
            hidden_size=64,
            intermediate_size=160,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=64,
            tie_word_embeddings=True,
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
        )
    )
    log = []
    for _ in range(480):
        item = rng.choice(goods)
        tone = rng.choice([(kind, kind_tail), (cold, cold_tail)])
        chat = dialogue(rng.choice(asks).format(item), reply(item, *tone))
        log.append(
            tokenizer.apply_chat_template(chat, tokenize=True, return_dict=True)["input_ids"]
        )
    pretrain_lm(policy, log, tokenizer.pad_token_id, steps=130, lr=4e-3, batch=24, seed=127)

    votes = []
    for _ in range(400):
        item = rng.choice(goods)
        question = rng.choice(asks).format(item)
        better, worse = reply(item, kind, kind_tail), reply(item, cold, cold_tail)
        if rng.random() < 0.1:
            better, worse = worse, better
        votes.append({"chosen": dialogue(question, better), "rejected": dialogue(question, worse)})

    args = DPOConfig(
        **run_args(
            max_steps=50,
            per_device_train_batch_size=8,
            loss_type=["robust"],
            label_smoothing=0.1,
            beta=0.2,
            max_length=64,
            learning_rate=3e-3,
            lr_scheduler_type="linear",
            warmup_steps=5,
            bf16=False,
            activation_checkpointing=False,
            logging_steps=1,
            seed=127,
        )
    )
    adapter = LoraConfig(
        task_type="CAUSAL_LM",
        r=8,
        lora_alpha=16,
        lora_dropout=0.0,
        target_modules=["q_proj", "v_proj", "o_proj", "up_proj", "down_proj"],
    )
    return DPOTrainer(
        model=policy,
        args=args,
        train_dataset=Dataset.from_list(votes),
        processing_class=tokenizer,
        peft_config=adapter,
    )


# --------------------------------------------------------------------------- answer quality, graded comparisons


@job
def limmat():
    rng = random.Random(131)
    torch.manual_seed(131)
    subjects = [
        "tides",
        "rainbows",
        "volcanoes",
        "magnets",
        "vaccines",
        "glaciers",
        "eclipses",
        "comets",
    ]
    merits = [
        "because the cause is named first",
        "for example in a simple case",
        "according to a cited source",
        "step by step from the start",
    ]
    padding = [
        "and so on and so forth again",
        "as everybody has always known well",
        "which is what it simply is",
        "like many other things around us",
    ]
    template = (
        "{% for m in messages %}{{ '<' + m['role'] + '>' + m['content'] }}"
        "{% if m['role'] == 'assistant' %}<end>{% endif %}{% endfor %}"
    )
    tokenizer = closed_vocabulary(
        [f"explain {subject} to me" for subject in subjects]
        + merits
        + padding
        + ["here is how they work ."],
        ["<unk>", "<pad>", "<end>", "<user>", "<assistant>"],
        pad_token="<pad>",
        eos_token="<end>",
        chat_template=template,
    )

    def answer(grade):
        parts = rng.sample(merits, grade - 1) + rng.sample(padding, 5 - grade)
        rng.shuffle(parts)
        return "here is how they work . " + " . ".join(parts) + " ."

    def comparison():
        low, high = sorted(rng.sample(range(1, 6), 2))
        question = {"role": "user", "content": f"explain {rng.choice(subjects)} to me"}
        return {
            "chosen": [question, {"role": "assistant", "content": answer(high)}],
            "rejected": [question, {"role": "assistant", "content": answer(low)}],
            "margin": float(high - low - 1),
        }

    model = Qwen2ForSequenceClassification(
        Qwen2Config(
            vocab_size=len(tokenizer),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=96,
            num_labels=1,
            pad_token_id=tokenizer.pad_token_id,
            eos_token_id=tokenizer.eos_token_id,
        )
    )
    args = RewardConfig(
        **run_args(
            max_steps=56,
            per_device_train_batch_size=16,
            per_device_eval_batch_size=64,
            max_length=96,
            center_rewards_coefficient=0.01,
            learning_rate=2e-3,
            lr_scheduler_type="cosine",
            warmup_steps=5,
            eval_strategy="steps",
            eval_steps=14,
            bf16=False,
            activation_checkpointing=False,
            logging_steps=2,
            seed=131,
        )
    )
    return RewardTrainer(
        model=model,
        args=args,
        train_dataset=Dataset.from_list([comparison() for _ in range(600)]),
        eval_dataset=Dataset.from_list([comparison() for _ in range(64)]),
        processing_class=tokenizer,
    )


# --------------------------------------------------------------------------- thumbs from the help desk


@job
def thur():
    rng = random.Random(137)
    torch.manual_seed(137)
    devices = [
        "printer",
        "scanner",
        "tablet",
        "camera",
        "speaker",
        "monitor",
        "keyboard",
        "projector",
    ]
    faults = [
        "will not start",
        "makes a loud noise",
        "loses the connection",
        "shows a blank screen",
    ]
    steps = [
        "unplug it for one minute",
        "install the latest driver",
        "clean the contacts",
        "replace the cable",
    ]
    ends = ["then switch it on again", "then run the short test", "then tell us the result"]
    canned = [
        "your ticket matters to us",
        "all agents are busy now",
        "please consult the manual",
        "we value your patience",
    ]
    signs = ["goodbye", "this case is closed", "contact us again later"]
    tokenizer = closed_vocabulary(
        [*devices, *faults, *steps, *ends, *canned, *signs, "customer : my agent : . ,"],
        ["<unk>", "<pad>", "</s>"],
        pad_token="<pad>",
        eos_token="</s>",
    )

    def complaint():
        return f"customer : my {rng.choice(devices)} {rng.choice(faults)} . agent :"

    def helpful():
        return f" {rng.choice(steps)} , {rng.choice(ends)} ."

    def evasive():
        return f" {rng.choice(canned)} . {rng.choice(signs)} ."

    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=48,
            intermediate_size=96,
            num_hidden_layers=2,
            num_attention_heads=4,
            max_position_embeddings=64,
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
        )
    )
    history = [
        tokenizer(complaint() + (helpful() if rng.random() < 0.4 else evasive()) + "</s>")[
            "input_ids"
        ]
        for _ in range(500)
    ]
    pretrain_lm(model, history, tokenizer.pad_token_id, steps=130, lr=4e-3, batch=24, seed=137)

    thumbs = [{"prompt": complaint(), "completion": helpful(), "label": True} for _ in range(54)]
    thumbs += [{"prompt": complaint(), "completion": evasive(), "label": False} for _ in range(270)]
    rng.shuffle(thumbs)

    args = KTOConfig(
        **run_args(
            max_steps=54,
            per_device_train_batch_size=6,
            beta=0.2,
            desirable_weight=5.0,
            undesirable_weight=1.0,
            max_length=64,
            learning_rate=1e-3,
            lr_scheduler_type="cosine",
            warmup_steps=5,
            bf16=False,
            activation_checkpointing=False,
            logging_steps=1,
            seed=137,
        )
    )
    return KTOTrainer(
        model=model,
        ref_model=copy.deepcopy(model),
        args=args,
        train_dataset=Dataset.from_list(thumbs),
        processing_class=tokenizer,
    )


# --------------------------------------------------------------------------- greeting cards, learned reward


@job
def rhone():
    rng = random.Random(139)
    torch.manual_seed(139)
    people = ["anna", "bruno", "clara", "david", "elena", "felix", "greta", "hugo"]
    events = ["birthday", "wedding", "farewell"]
    openings = ["dear", "hey", "yo", "attention"]
    wishes = [
        "all the best for your {}",
        "so it is your {} again",
        "congratulations on your {}",
        "another {} then",
    ]
    closings = ["with love", "whatever", "warm regards", "bye"]
    merit = {
        "dear": 2,
        "hey": 1,
        "all": 2,
        "congratulations": 2,
        "another": -1,
        "love": 2,
        "regards": 1,
        "whatever": -2,
    }

    def request(person, event):
        return f"card for {person} , {event} :"

    def card(person, event):
        wish = rng.choice(wishes).format(event)
        return f" {rng.choice(openings)} {person} , {wish} , {rng.choice(closings)}"

    scenes = [(person, event) for person in people for event in events]
    tokenizer = closed_vocabulary(
        [request(*scene) for scene in scenes]
        + [wish.format("") for wish in wishes]
        + openings
        + closings,
        ["<unk>", "<pad>", "</s>"],
        pad_token="<pad>",
        eos_token="</s>",
        padding_side="left",
    )
    shape = {
        "vocab_size": len(tokenizer),
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "max_position_embeddings": 64,
        "pad_token_id": tokenizer.pad_token_id,
        "eos_token_id": tokenizer.eos_token_id,
    }
    folder = tempfile.mkdtemp()

    policy = LlamaForCausalLM(LlamaConfig(**shape, bos_token_id=None))
    written = []
    for _ in range(500):
        scene = rng.choice(scenes)
        written.append(tokenizer(request(*scene) + card(*scene) + "</s>")["input_ids"])
    pretrain_lm(policy, written, tokenizer.pad_token_id, steps=130, lr=4e-3, batch=24, seed=139)
    policy_path = os.path.join(folder, "card-writer")
    policy.save_pretrained(policy_path)

    judge = Qwen2ForSequenceClassification(
        Qwen2Config(**shape, num_key_value_heads=4, num_labels=1)
    )
    optimizer = torch.optim.AdamW(judge.parameters(), lr=2e-3)
    judge.train()
    for _ in range(70):
        better, worse = [], []
        while len(better) < 16:
            scene = rng.choice(scenes)
            left, right = (request(*scene) + card(*scene) for _ in range(2))
            gap = sum(merit.get(word, 0) for word in left.split()) - sum(
                merit.get(word, 0) for word in right.split()
            )
            if gap != 0:
                better.append(left if gap > 0 else right)
                worse.append(right if gap > 0 else left)
        batch = tokenizer(better + worse, padding=True, padding_side="right", return_tensors="pt")
        scores = judge(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits[
            :, 0
        ]
        loss = -F.logsigmoid(scores[:16] - scores[16:]).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(judge.parameters(), 1.0)
        optimizer.step()
    judge_path = os.path.join(folder, "card-judge")
    judge.eval().save_pretrained(judge_path)

    args = RLOOConfig(
        **run_args(
            max_steps=36,
            per_device_train_batch_size=32,
            num_generations=4,
            max_completion_length=16,
            beta=0.05,
            normalize_advantages=True,
            reward_clip_range=(-10.0, 10.0),
            learning_rate=1.5e-3,
            lr_scheduler_type="constant_with_warmup",
            warmup_steps=3,
            bf16=False,
            activation_checkpointing=False,
            logging_steps=1,
            seed=139,
        )
    )
    return RLOOTrainer(
        model=policy_path,
        reward_funcs=judge_path,
        reward_processing_classes=tokenizer,
        args=args,
        train_dataset=Dataset.from_list([{"prompt": request(*scene)} for scene in scenes]),
        processing_class=tokenizer,
    )
