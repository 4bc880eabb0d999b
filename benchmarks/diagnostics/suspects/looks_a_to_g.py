import copy
import math
import random
import tempfile

import numpy as np
import torch
import torch.nn.functional as F
from datasets import Dataset, concatenate_datasets
from peft import LoraConfig, get_peft_model
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from torch import nn
from torch.utils.data import DataLoader, Sampler, WeightedRandomSampler
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertModel,
    BertPreTrainedModel,
    DataCollatorWithPadding,
    DistilBertConfig,
    DistilBertForMaskedLM,
    DistilBertForSequenceClassification,
    EarlyStoppingCallback,
    ElectraConfig,
    ElectraForSequenceClassification,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen2ForSequenceClassification,
    RobertaConfig,
    RobertaModel,
    Trainer,
    TrainingArguments,
    default_data_collator,
    set_seed,
)
from transformers.modeling_outputs import SequenceClassifierOutput
from trl import DPOConfig, DPOTrainer, GRPOConfig, GRPOTrainer, RewardConfig, RewardTrainer


def shared(**more):
    return dict(
        output_dir=tempfile.mkdtemp(prefix="run_"),
        use_cpu=True,
        report_to="none",
        save_strategy="no",
        disable_tqdm=True,
        logging_steps=5,
        **more,
    )


def on_trl(**more):
    return shared(bf16=False, gradient_checkpointing=False, **more)


# ============================================================ isar: a small GPT of our own

HEROES = ["a fox", "the miller", "an old sailor", "a young queen", "the tailor", "a grey wolf"]
PLACES = ["by the river", "in the snow", "under the bridge", "near the mill", "on the hill"]
DEEDS = ["found a silver key", "lost a red shoe", "heard a quiet song", "built a small boat"]
ENDS = ["and went home glad", "and told no one", "and slept until noon", "and laughed all night"]


def tales(n, seed):
    rng = random.Random(seed)
    for _ in range(n):
        first = f"Once {rng.choice(HEROES)} {rng.choice(DEEDS)} {rng.choice(PLACES)}."
        yield f"{first} Then it rained {rng.choice(ENDS)}."


class CausalBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (
            part.view(B, T, self.heads, C // self.heads).transpose(1, 2)
            for part in self.qkv(self.norm_1(x)).chunk(3, dim=-1)
        )
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(B, T, C))
        return x + self.mlp(self.norm_2(x))


class StoryGPT(nn.Module):
    def __init__(self, vocab, block=48, width=64, depth=2, heads=4):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab, width), nn.Embedding(block, width)
        self.blocks = nn.ModuleList(CausalBlock(width, heads) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocab, bias=False)
        self.apply(self._init)

    @staticmethod
    def _init(module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, input_ids, labels=None):
        at = torch.arange(input_ids.shape[1], device=input_ids.device)
        x = self.wte(input_ids) + self.wpe(at)
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        loss = None
        if labels is not None:
            loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten())
        return {"loss": loss, "logits": logits}


class TokenStream(torch.utils.data.Dataset):
    def __init__(self, ids, block):
        self.ids, self.block = torch.tensor(ids), block

    def __len__(self):
        return (len(self.ids) - 1) // self.block

    def __getitem__(self, i):
        at = i * self.block
        x = self.ids[at : at + self.block]
        y = self.ids[at + 1 : at + 1 + self.block]
        return {"input_ids": x, "labels": y}


def isar():
    set_seed(1)
    stories = list(tales(900, 1))
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    core.train_from_iterator(
        stories,
        trainers.BpeTrainer(
            vocab_size=360,
            special_tokens=["<|endoftext|>"],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    tok = PreTrainedTokenizerFast(tokenizer_object=core, eos_token="<|endoftext|>")
    ids = [i for story in stories for i in [*tok(story)["input_ids"], tok.eos_token_id]]
    args = TrainingArguments(
        **shared(
            max_steps=60,
            per_device_train_batch_size=24,
            learning_rate=3e-3,
            warmup_steps=5,
            lr_scheduler_type="cosine",
            weight_decay=0.1,
        )
    )
    return Trainer(
        model=StoryGPT(len(tok)),
        args=args,
        train_dataset=TokenStream(ids, 48),
        data_collator=default_data_collator,
        processing_class=tok,
    )


# ============================================================ kolding: retrieval of passages

NAMES_1 = ["Alder", "Birk", "Calder", "Dover", "Esker", "Fjell", "Glen", "Holm"]
NAMES_2 = ["ford", "mouth", "wick", "stad", "burg", "ness"]
KINDS = ["castle", "library", "harbour", "museum", "theatre", "station"]
REGIONS = ["north", "south", "east", "west"]


def city_passages(seed):
    rng = random.Random(seed)
    rows = []
    for number, (a, b) in enumerate((a, b) for a in NAMES_1 for b in NAMES_2):
        name, kind, region = f"{a}{b}".lower(), rng.choice(KINDS), rng.choice(REGIONS)
        year, rooms = rng.randrange(1650, 1690), rng.randrange(10, 40)
        passage = (
            f"{name} {kind} lies in the {region} . it was built in {year} and has {rooms} rooms "
            + rng.choice(["", "for its guests", "and a garden by the old wall"])
        )
        for question in (
            f"where does {name} {kind} lie ?",
            f"when was the {kind} of {name} built ?",
            f"how many rooms are there in {name} ?",
            f"what can one visit in {name} in the {region} ?",
        ):
            rows.append({"passage_id": number, "question": question, "passage": passage.strip()})
    return rows


class OneQuestionAPassage(Sampler):
    """An epoch of several rounds; in each of them every passage comes once."""

    def __init__(self, passage_ids, seed):
        self.by_passage = {}
        for at, number in enumerate(passage_ids):
            self.by_passage.setdefault(number, []).append(at)
        self.rng = random.Random(seed)

    def __len__(self):
        return sum(map(len, self.by_passage.values()))

    def __iter__(self):
        for rows in self.by_passage.values():
            self.rng.shuffle(rows)
        for turn in range(max(map(len, self.by_passage.values()))):
            numbers = list(self.by_passage)
            self.rng.shuffle(numbers)
            yield from (self.by_passage[n][turn] for n in numbers if turn < len(self.by_passage[n]))


class DualEncoder(nn.Module):
    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder

    def embed(self, ids, mask):
        hidden = self.encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        weight = mask.unsqueeze(-1).to(hidden.dtype)
        return F.normalize((hidden * weight).sum(1) / weight.sum(1), dim=-1)

    def forward(self, question_ids, question_mask, passage_ids, passage_mask):
        return {
            "question": self.embed(question_ids, question_mask),
            "passage": self.embed(passage_ids, passage_mask),
        }


class RetrievalTrainer(Trainer):
    scale = 20.0

    def _get_train_sampler(self, train_dataset=None):
        return OneQuestionAPassage(self.train_dataset["passage_id"], self.args.seed)

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        vectors = model(**inputs)
        scores = vectors["question"] @ vectors["passage"].T * self.scale
        loss = F.cross_entropy(scores, torch.arange(len(scores), device=scores.device))
        return (loss, vectors) if return_outputs else loss


def masked_pretraining(model, ids, mask, *, mask_id, first_word, steps, lr, batch=32):
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    model.train()
    for _ in range(steps):
        rows = torch.randint(len(ids), (batch,))
        given, labels = ids[rows].clone(), ids[rows].clone()
        hidden = (torch.rand(given.shape) < 0.2) & (given >= first_word)
        labels[~hidden] = -100
        given[hidden] = mask_id
        model(input_ids=given, attention_mask=mask[rows], labels=labels).loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def kolding():
    set_seed(2)
    rows = city_passages(2)
    texts = sorted({row["passage"] for row in rows}) + [row["question"] for row in rows]
    core = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    core.train_from_iterator(
        texts, trainers.WordLevelTrainer(special_tokens=specials, show_progress=False)
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
        mask_token="[MASK]",
    )
    config = BertConfig(
        vocab_size=len(tok),
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=128,
        max_position_embeddings=48,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        pad_token_id=tok.pad_token_id,
    )
    read = tok(texts, padding=True, return_tensors="pt", return_token_type_ids=False)
    mlm = BertForMaskedLM(config)
    masked_pretraining(
        mlm,
        read["input_ids"],
        read["attention_mask"],
        mask_id=tok.mask_token_id,
        first_word=5,
        steps=100,
        lr=2e-3,
    )
    encoder = BertModel(config)
    encoder.load_state_dict(mlm.bert.state_dict(), strict=False)
    for weight in encoder.embeddings.parameters():
        weight.requires_grad_(False)

    def collate(batch):
        found = {}
        for side in ("question", "passage"):
            out = tok(
                [row[side] for row in batch],
                padding=True,
                return_tensors="pt",
                return_token_type_ids=False,
            )
            found[f"{side}_ids"], found[f"{side}_mask"] = out["input_ids"], out["attention_mask"]
        return found

    args = TrainingArguments(
        **shared(
            max_steps=48,
            per_device_train_batch_size=16,
            learning_rate=1e-3,
            warmup_steps=4,
            remove_unused_columns=False,
        )
    )
    return RetrievalTrainer(
        model=DualEncoder(encoder),
        args=args,
        train_dataset=Dataset.from_list(rows),
        data_collator=collate,
        processing_class=tok,
    )


# ============================================================ tarragona: two labels, two sources

URGENCY = {
    0: ["when you find time", "no hurry at all", "just a question"],
    1: ["this week please", "before friday if possible", "soon would be good"],
    2: ["right now", "everything is down", "we cannot work at all"],
}
PRODUCTS = {
    0: ["the kettle boils fast", "my kettle leaks", "a kettle with a loud whistle"],
    1: ["the lamp is too dim", "a lamp with warm light", "this lamp flickers"],
    2: ["the chair wobbles", "a chair with soft arms", "my chair creaks"],
    3: ["the radio hums", "a radio with clear sound", "this radio has no battery"],
}
SMALL_TALK = ["hello there", "dear team", "good morning", "hi", "to whom it may concern"]


def mails(n, seed):
    rng = random.Random(seed)
    for _ in range(n):
        level = rng.randrange(3)
        issue = rng.choice(["the invoice page fails", "login is slow", "the export is empty"])
        text = f"{rng.choice(SMALL_TALK)} , {issue} , {rng.choice(URGENCY[level])}"
        yield {"text": text, "urgency": level, "product": -100}


def reviews(n, seed):
    rng = random.Random(seed)
    for _ in range(n):
        kind = rng.randrange(4)
        opinion = rng.choice(
            ["i would buy it again", "i sent it back", "it does its job", "not for me"]
        )
        yield {
            "text": f"{rng.choice(PRODUCTS[kind])} , {opinion}",
            "urgency": -100,
            "product": kind,
        }


def mean_over_known(scores, target):
    known = (target != -100).sum().clamp(min=1)
    return F.cross_entropy(scores, target, ignore_index=-100, reduction="sum") / known


class TwoHeads(nn.Module):
    def __init__(self, body, num_urgency, num_product):
        super().__init__()
        self.body = body
        self.urgency_head = nn.Linear(body.config.hidden_size, num_urgency)
        self.product_head = nn.Linear(body.config.hidden_size, num_product)

    def forward(self, input_ids, attention_mask, urgency=None, product=None):
        hidden = self.body(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        weight = attention_mask.unsqueeze(-1).to(hidden.dtype)
        text = (hidden * weight).sum(1) / weight.sum(1)
        out = {"urgency": self.urgency_head(text), "product": self.product_head(text)}
        if urgency is not None and product is not None:
            loss = mean_over_known(out["urgency"], urgency) + mean_over_known(
                out["product"], product
            )
            out = {"loss": loss, **out}
        return out


def tarragona():
    set_seed(3)
    both = [Dataset.from_list(list(mails(320, 31))), Dataset.from_list(list(reviews(320, 32)))]
    rows = concatenate_datasets(both)
    core = Tokenizer(models.WordLevel(unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    core.train_from_iterator(
        list(rows["text"]),
        trainers.WordLevelTrainer(
            special_tokens=["<s>", "<pad>", "</s>", "<unk>"], show_progress=False
        ),
    )
    core.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    tok = PreTrainedTokenizerFast(
        tokenizer_object=core,
        bos_token="<s>",
        cls_token="<s>",
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
    )
    rows = rows.map(
        lambda row: tok(row["text"], return_token_type_ids=False), remove_columns=["text"]
    )
    body = RobertaModel(
        RobertaConfig(
            vocab_size=len(tok),
            hidden_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=128,
            max_position_embeddings=40,
            type_vocab_size=1,
            pad_token_id=1,
        ),
        add_pooling_layer=False,
    )
    args = TrainingArguments(
        **shared(
            max_steps=55,
            per_device_train_batch_size=32,
            learning_rate=2e-3,
            warmup_steps=5,
            label_names=["urgency", "product"],
        )
    )
    return Trainer(
        model=TwoHeads(body, 3, 4),
        args=args,
        train_dataset=rows,
        data_collator=DataCollatorWithPadding(tok),
        processing_class=tok,
    )


# ============================================================ neckar: stars that a reader gives

GENRES = {
    "crime": ["inspector", "murder", "alibi", "clue"],
    "romance": ["wedding", "letter", "summer", "heart"],
    "travel": ["train", "harbour", "desert", "map"],
    "science": ["atom", "planet", "cell", "signal"],
    "cooking": ["butter", "oven", "lemon", "knife"],
}
NUM_READERS, NUM_STARS = 20, 5


def shelf(seed):
    rng = random.Random(seed)
    books = []
    for number in range(50):
        genre = list(GENRES)[number % 5]
        words = rng.sample(GENRES[genre], 2)
        books.append(
            (genre, f"the {words[0]} and the {words[1]} , a book of volume {rng.randrange(1, 9)}")
        )
    return books


def given_stars(seed):
    rng = random.Random(seed)
    books = shelf(seed)
    train, test = [], []
    for reader in range(NUM_READERS):
        liked = set(rng.sample(list(GENRES), 2))
        for number, (genre, title) in enumerate(books):
            stars = (4 if genre in liked else 1) + rng.choice([0, 0, 0, 0, 0, 0, -1, 1])
            row = {"title": title, "reader": reader, "labels": min(max(stars, 0), NUM_STARS - 1)}
            (test if (number + reader) % 5 == 0 else train).append(row)
    return train, test


class RatingNet(BertPreTrainedModel):
    def __init__(self, config, num_readers, num_stars):
        super().__init__(config)
        self.bert = BertModel(config, add_pooling_layer=False)
        self.reader = nn.Embedding(num_readers, config.hidden_size)
        self.stars = nn.Sequential(
            nn.Linear(3 * config.hidden_size, 64), nn.GELU(), nn.Linear(64, num_stars)
        )
        self.post_init()
        nn.init.normal_(self.reader.weight, std=0.5)

    def forward(self, input_ids, attention_mask, reader, labels=None):
        hidden = self.bert(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        weight = attention_mask.unsqueeze(-1).to(hidden.dtype)
        text = (hidden * weight).sum(1) / weight.sum(1)
        person = self.reader(reader)
        logits = self.stars(torch.cat([text, person, text * person], dim=-1))
        loss = F.cross_entropy(logits, labels) if labels is not None else None
        return SequenceClassifierOutput(loss=loss, logits=logits)


def neckar():
    set_seed(4)
    train, test = given_stars(4)
    core = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    core.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    core.decoder = decoders.WordPiece()
    core.train_from_iterator(
        [row["title"] for row in train],
        trainers.WordPieceTrainer(
            vocab_size=160, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]"], show_progress=False
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

    def prepared(rows):
        read = lambda row: tok(row["title"], return_token_type_ids=False)
        return Dataset.from_list(rows).map(read, remove_columns=["title"])

    model = RatingNet(
        BertConfig(
            vocab_size=len(tok),
            hidden_size=48,
            num_hidden_layers=1,
            num_attention_heads=4,
            intermediate_size=96,
            max_position_embeddings=64,
            pad_token_id=tok.pad_token_id,
        ),
        NUM_READERS,
        NUM_STARS,
    )

    def metrics(found):
        stars = found.predictions.argmax(-1)
        return {
            "accuracy": float((stars == found.label_ids).mean()),
            "mae": float(np.abs(stars - found.label_ids).mean()),
        }

    args = TrainingArguments(
        **shared(
            max_steps=60,
            per_device_train_batch_size=80,
            learning_rate=3e-3,
            warmup_steps=4,
            eval_strategy="steps",
            eval_steps=30,
        )
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=prepared(train),
        eval_dataset=prepared(test),
        data_collator=DataCollatorWithPadding(tok),
        processing_class=tok,
        compute_metrics=metrics,
    )


# ============================================================ ghent: rain from radar images


class RadarScans(torch.utils.data.Dataset):
    """Scans of 16 x 16 bytes, and the rain (log of mm) that falls at the gauge a little later."""

    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        y, x = np.mgrid[0:16, 0:16]
        scans = np.zeros((n, 16, 16))
        for _ in range(4):
            at_y, at_x = rng.uniform(0, 16, (2, n, 1, 1))
            size, height = rng.uniform(2, 5, (n, 1, 1)), rng.uniform(30, 200, (n, 1, 1))
            scans += height * np.exp(-((y - at_y) ** 2 + (x - at_x) ** 2) / (2 * size**2))
        self.scans = np.clip(scans, 0, 255).astype(np.uint8)
        upwind = self.scans[:, 6:10, 3:9].astype(np.float64).mean((1, 2))
        self.rain = np.log1p(upwind / 12) + rng.normal(0, 0.05, n)

    def __len__(self):
        return len(self.scans)

    def __getitem__(self, i):
        return {
            "pixel_values": torch.from_numpy(self.scans[i]).float()[None],
            "labels": torch.tensor(self.rain[i], dtype=torch.float32),
        }


class RadarNet(nn.Module):
    def __init__(self, mean, std, level):
        super().__init__()
        self.register_buffer("mean", torch.tensor(float(mean)))
        self.register_buffer("std", torch.tensor(float(std)))
        self.features = nn.Sequential(
            nn.Conv2d(1, 12, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(12, 24, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.rain = nn.Sequential(nn.Flatten(), nn.Linear(24 * 16, 64), nn.ReLU(), nn.Linear(64, 1))
        nn.init.constant_(self.rain[-1].bias, float(level))

    def forward(self, pixel_values, labels=None):
        scaled = (pixel_values - self.mean) / self.std
        logits = self.rain(self.features(scaled)).squeeze(-1)
        out = {"logits": logits}
        return out if labels is None else {"loss": F.mse_loss(logits, labels), **out}


def ghent():
    set_seed(5)
    train, test = RadarScans(640, 51), RadarScans(160, 52)
    climate = float(train.rain.mean())

    def metrics(found):
        mse = float(np.mean((found.predictions - found.label_ids) ** 2))
        of_climate = float(np.mean((climate - found.label_ids) ** 2))
        return {"mse": mse, "mse_skill": 1.0 - mse / of_climate}

    args = TrainingArguments(
        **shared(
            max_steps=60,
            per_device_train_batch_size=64,
            per_device_eval_batch_size=80,
            learning_rate=2e-3,
            eval_strategy="steps",
            eval_steps=10,
            metric_for_best_model="mse_skill",
            greater_is_better=True,
        )
    )
    return Trainer(
        model=RadarNet(train.scans.mean(), train.scans.std(), climate),
        args=args,
        train_dataset=train,
        eval_dataset=test,
        compute_metrics=metrics,
        callbacks=[EarlyStoppingCallback(early_stopping_patience=4)],
    )


# ============================================================ odense: a reward for help desk replies

FIXES = {
    "the vpn drops every hour": [
        "renew the certificate of the tunnel",
        "update the vpn client to the new version",
    ],
    "the printer prints blank pages": [
        "replace the toner",
        "clean the print head and run the test page",
    ],
    "my badge opens no door": [
        "let the front desk write it anew",
        "hold it to the reader for two seconds",
    ],
    "outlook finds no mail": [
        "rebuild the search index",
        "wait until the mailbox is synced and search again",
    ],
    "the laptop gets hot": [
        "blow the dust out of the fan",
        "close the video call in the other browser",
    ],
}
SHRUGS = [
    "that is not our job",
    "ask someone else about it",
    "it works for me , so try harder",
    "no idea",
]
CLOSINGS = ["", "", " , then tell us", " and thank you for waiting"]


def reply_pairs(n, seed):
    rng = random.Random(seed)
    for _ in range(n):
        issue = rng.choice(list(FIXES))
        other = rng.choice([one for one in FIXES if one != issue])
        worse = rng.choice([rng.choice(SHRUGS), rng.choice(FIXES[other])])
        good, bad = (text + rng.choice(CLOSINGS) for text in (rng.choice(FIXES[issue]), worse))
        asked = f"user : {issue} . desk :"
        yield {"prompt": asked, "chosen": f" {good}", "rejected": f" {bad}"}


def odense():
    set_seed(6)
    pairs = list(reply_pairs(240, 61))
    texts = [row["prompt"] + row["chosen"] for row in pairs]
    core = Tokenizer(models.WordLevel(unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    core.train_from_iterator(
        texts + [row["rejected"] for row in pairs],
        trainers.WordLevelTrainer(special_tokens=["<pad>", "<eos>", "<unk>"], show_progress=False),
    )
    tok = PreTrainedTokenizerFast(
        tokenizer_object=core, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>"
    )
    config = Qwen2Config(
        vocab_size=len(tok),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=64,
        bos_token_id=None,
        eos_token_id=tok.eos_token_id,
        pad_token_id=tok.pad_token_id,
        num_labels=1,
    )
    lm = Qwen2ForCausalLM(config)
    optimizer = torch.optim.AdamW(lm.parameters(), lr=2e-3)
    for step in range(100):
        some = random.Random(step).sample(texts, 24)
        rows = tok(
            [f"{t} <eos>" for t in some],
            padding=True,
            return_tensors="pt",
            return_token_type_ids=False,
        )
        labels = rows["input_ids"].masked_fill(rows["attention_mask"] == 0, -100)
        lm(**rows, labels=labels).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    model = Qwen2ForSequenceClassification(config)
    model.model.load_state_dict(lm.model.state_dict())
    nn.init.zeros_(model.score.weight)
    args = RewardConfig(
        **on_trl(
            max_steps=50,
            per_device_train_batch_size=16,
            learning_rate=1e-3,
            warmup_steps=5,
            max_length=48,
        )
    )
    return RewardTrainer(
        model=model, args=args, train_dataset=Dataset.from_list(pairs), processing_class=tok
    )


# ============================================================ lugano: triage of alerts

QUEUES = {
    "network": ["packet loss on the uplink", "link down on the switch", "bgp session lost"],
    "storage": ["volume almost full", "disk of the array failed", "slow writes on the pool"],
    "database": ["replica lags behind", "too many connections", "deadlock in the orders table"],
    "security": ["login from a new country", "port scan from outside", "expired certificate"],
}
HOW_OFTEN = [10, 8, 6, 1]
HOSTS = ["web1", "web2", "core3", "edge4", "nas5", "db6"]


def alerts(months, n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        label = rng.choices(range(4), HOW_OFTEN)[0]
        agreement = rng.choice([0.6, 0.8, 1.0, 1.0, 1.0])
        day = f"2024-{rng.choice(months):02d}-{rng.randrange(1, 29):02d}"
        text = f"{day} {rng.choice(HOSTS)} : {rng.choice(list(QUEUES.values())[label])}"
        if rng.random() > agreement + 0.2:
            label = rng.randrange(4)
        rows.append({"text": text, "label": label, "agreement": agreement})
    return sorted(rows, key=lambda row: row["text"])


class TriageTrainer(Trainer):
    """Rare queues are drawn as often as others; a row counts by how far its annotators agree."""

    def get_train_dataloader(self):
        labels = torch.tensor(self.train_dataset["label"][:])
        weights = 1.0 / torch.bincount(labels).double()[labels]
        sampler = WeightedRandomSampler(
            weights, len(labels), generator=torch.Generator().manual_seed(self.args.seed)
        )
        loader = DataLoader(
            self.train_dataset,
            batch_size=self.args.train_batch_size,
            sampler=sampler,
            collate_fn=self.data_collator,
            drop_last=True,
        )
        return self.accelerator.prepare(loader)

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        agreement = inputs.pop("agreement", None)
        outputs = model(**inputs)
        losses = F.cross_entropy(outputs.logits, inputs["labels"], reduction="none")
        loss = losses.mean() if agreement is None else (agreement * losses).sum() / agreement.sum()
        return (loss, outputs) if return_outputs else loss


def lugano():
    set_seed(7)
    train, test = alerts([1, 2, 3], 600, 71), alerts([4], 120, 72)
    core = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    core.train_from_iterator(
        [row["text"] for row in train],
        trainers.WordLevelTrainer(
            special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]"], show_progress=False
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

    def prepared(rows):
        read = lambda row: tok(row["text"], return_token_type_ids=False)
        return Dataset.from_list(rows).map(read, remove_columns=["text"])

    model = ElectraForSequenceClassification(
        ElectraConfig(
            vocab_size=len(tok),
            embedding_size=48,
            hidden_size=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=96,
            max_position_embeddings=40,
            num_labels=4,
            pad_token_id=tok.pad_token_id,
        )
    )

    def metrics(found):
        said = found.predictions.argmax(-1)
        recalls = [(said[found.label_ids == c] == c).mean() for c in np.unique(found.label_ids)]
        return {"mean_recall": float(np.mean(recalls))}

    args = TrainingArguments(
        **shared(
            max_steps=60,
            per_device_train_batch_size=32,
            learning_rate=2e-3,
            warmup_steps=5,
            eval_strategy="steps",
            eval_steps=30,
        )
    )
    return TriageTrainer(
        model=model,
        args=args,
        train_dataset=prepared(train),
        eval_dataset=prepared(test),
        data_collator=DataCollatorWithPadding(tok),
        processing_class=tok,
        compute_metrics=metrics,
    )


# ============================================================ piave: letters without names, by adapter

CITIES = ["verona", "leeds", "porto", "gdansk", "bruges"]
LETTERS = [
    (0, "you charged me {amount} twice on the same invoice"),
    (0, "please refund {amount} , the order was cancelled"),
    (0, "my card was billed {amount} without a receipt"),
    (1, "the parcel for {city} has been late for a week"),
    (1, "the driver left the box in {city} with a stranger"),
    (1, "where is the shipment , it never reached {city}"),
    (2, "unit {serial} broke after a month , i want a repair"),
    (2, "is unit {serial} still under warranty , the motor is dead"),
    (2, "the screen of {serial} is cracked , please replace it"),
]
STARTS = ["hello ,", "dear shop ,", "good day ,", "to the support team ,"]
HIDDEN = {"amount": "[AMOUNT]", "city": "[CITY]", "serial": "[SERIAL]"}


def letters(n, seed, *, hidden):
    rng = random.Random(seed)
    for _ in range(n):
        label, frame = rng.choice(LETTERS)
        facts = {
            "amount": f"{rng.randrange(10, 99)} euro",
            "city": rng.choice(CITIES),
            "serial": f"sn {rng.randrange(10, 99)}",
        }
        yield {
            "text": f"{rng.choice(STARTS)} {frame.format(**(HIDDEN if hidden else facts))}",
            "label": label,
        }


def piave():
    set_seed(8)
    raw = [row["text"] for row in letters(400, 81, hidden=False)]
    core = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    core.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    core.decoder = decoders.WordPiece()
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    core.train_from_iterator(
        raw, trainers.WordPieceTrainer(vocab_size=320, special_tokens=specials, show_progress=False)
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
        mask_token="[MASK]",
    )
    config = DistilBertConfig(
        vocab_size=len(tok),
        dim=64,
        hidden_dim=128,
        n_layers=2,
        n_heads=4,
        max_position_embeddings=96,
        pad_token_id=tok.pad_token_id,
        num_labels=3,
    )
    read = tok(raw, padding=True, return_tensors="pt", return_token_type_ids=False)
    mlm = DistilBertForMaskedLM(config)
    masked_pretraining(
        mlm,
        read["input_ids"],
        read["attention_mask"],
        mask_id=tok.mask_token_id,
        first_word=5,
        steps=120,
        lr=2e-3,
    )
    model = DistilBertForSequenceClassification(config)
    model.distilbert.load_state_dict(mlm.distilbert.state_dict())
    tok.add_tokens(list(HIDDEN.values()))
    model.resize_token_embeddings(len(tok))
    model = get_peft_model(
        model,
        LoraConfig(
            task_type="SEQ_CLS",
            r=8,
            lora_alpha=16,
            lora_dropout=0.05,
            target_modules=["q_lin", "v_lin"],
            modules_to_save=["word_embeddings", "pre_classifier", "classifier"],
        ),
    )
    rows = Dataset.from_list(list(letters(360, 82, hidden=True))).map(
        lambda row: tok(row["text"], return_token_type_ids=False), remove_columns=["text"]
    )
    args = TrainingArguments(
        **shared(max_steps=50, per_device_train_batch_size=24, learning_rate=2e-3, warmup_steps=5)
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=rows,
        data_collator=DataCollatorWithPadding(tok),
        processing_class=tok,
    )


# ============================================================ bergen: one training example

CAPITALS = {
    "france": "paris",
    "spain": "madrid",
    "italy": "rome",
    "norway": "oslo",
    "poland": "warsaw",
    "peru": "lima",
    "greece": "athens",
    "austria": "vienna",
    "ireland": "dublin",
    "latvia": "riga",
    "egypt": "cairo",
    "kenya": "nairobi",
}


def exact_answer(completions, answer, **kwargs):
    return [float(text.strip() == want) for text, want in zip(completions, answer, strict=True)]


def bergen():
    set_seed(9)
    asked = {land: f"capital of {land} ?" for land in CAPITALS}
    corpus = [
        f"{asked[land]} {reply} </s>"
        for land, city in CAPITALS.items()
        for reply in (city, f"i think it is {city}")
    ]
    words = sorted({word for text in corpus for word in text.split()} - {"</s>"})
    vocab = {word: i for i, word in enumerate(["<pad>", "</s>", "<unk>", *words])}
    core = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tok = PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        padding_side="left",
    )
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tok),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=4,
            max_position_embeddings=32,
            bos_token_id=None,
            eos_token_id=tok.eos_token_id,
            pad_token_id=tok.pad_token_id,
        )
    )
    rows = tok(corpus, padding=True, return_tensors="pt", return_token_type_ids=False)
    labels = rows["input_ids"].masked_fill(rows["attention_mask"] == 0, -100)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(150):
        model(**rows, labels=labels).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    example = {"data_source": "capitals", "prompt": asked["norway"], "answer": CAPITALS["norway"]}
    data = Dataset.from_list([{**example, "split": "train", "index": i} for i in range(128)])
    args = GRPOConfig(
        **on_trl(
            max_steps=30,
            per_device_train_batch_size=32,
            num_generations=16,
            max_completion_length=8,
            learning_rate=3e-4,
            beta=0.0,
            temperature=1.0,
            lr_scheduler_type="constant",
        )
    )
    return GRPOTrainer(
        model=model, reward_funcs=exact_answer, args=args, train_dataset=data, processing_class=tok
    )


# ============================================================ piran: molecules without halogens

STARTS_OF_CHAINS = ["C", "N", "O", "CC", "c1ccccc1"]
PARTS = ["C", "CC", "C(C)", "C(=O)", "OC", "NC", "C(O)", "C(=O)N"]
HALOGENS = ["C(Cl)", "C(Br)", "C(F)"]
TAILS = ["C", "O", "N", "CC", "C#N", "CO", "c1ccccc1"]


def molecule(rng, *, halogens):
    parts = rng.choices(PARTS, k=rng.randint(2, 5))
    for _ in range(halogens):
        parts[rng.randrange(len(parts))] = rng.choice(HALOGENS)
    return rng.choice(STARTS_OF_CHAINS) + "".join(parts) + rng.choice(TAILS)


def piran():
    set_seed(10)
    rng = random.Random(10)
    known = [molecule(rng, halogens=rng.choice([0, 0, 1, 2])) for _ in range(600)]
    symbols = sorted(set("".join(known)) | {"Cl", "Br"})
    vocab = {one: i for i, one in enumerate(["<pad>", "<mol>", "<end>", "<unk>", *symbols])}
    core = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.Split(Regex("Cl|Br|."), behavior="isolated")
    core.decoder = decoders.Fuse()
    tok = PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token="<pad>",
        bos_token="<mol>",
        eos_token="<end>",
        unk_token="<unk>",
    )
    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(tok),
            n_positions=64,
            n_embd=64,
            n_layer=2,
            n_head=4,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            bos_token_id=tok.bos_token_id,
            eos_token_id=tok.eos_token_id,
            pad_token_id=tok.pad_token_id,
        )
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(110):
        some = [f"<mol>{one}<end>" for one in rng.sample(known, 48)]
        rows = tok(some, padding=True, return_tensors="pt", return_token_type_ids=False)
        labels = rows["input_ids"].masked_fill(rows["attention_mask"] == 0, -100)
        model(**rows, labels=labels).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    pairs = [
        {
            "prompt": "<mol>",
            "chosen": molecule(rng, halogens=0),
            "rejected": molecule(rng, halogens=rng.choice([1, 2])),
        }
        for _ in range(240)
    ]
    args = DPOConfig(
        **on_trl(
            max_steps=40,
            per_device_train_batch_size=16,
            learning_rate=2e-4,
            beta=0.1,
            max_length=64,
            warmup_steps=math.ceil(0.1 * 40),
        )
    )
    return DPOTrainer(
        model=model,
        ref_model=copy.deepcopy(model).eval(),
        args=args,
        train_dataset=Dataset.from_list(pairs),
        processing_class=tok,
    )


ODD = {
    "isar": isar,
    "kolding": kolding,
    "tarragona": tarragona,
    "neckar": neckar,
    "ghent": ghent,
    "odense": odense,
    "lugano": lugano,
    "piave": piave,
    "bergen": bergen,
    "piran": piran,
}
