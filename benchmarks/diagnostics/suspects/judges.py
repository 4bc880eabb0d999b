"""Small training runs of different projects.  ODD: name -> function()."""

import random
import tempfile

import numpy as np
import torch
import torch.nn.functional as F
from datasets import Dataset
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from torch import nn
from torch.optim.lr_scheduler import CyclicLR
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    DistilBertConfig,
    DistilBertForSequenceClassification,
    GPT2Config,
    GPT2LMHeadModel,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
    Trainer,
    TrainerCallback,
    TrainingArguments,
    ViTConfig,
    ViTForImageClassification,
    default_data_collator,
    set_seed,
)
from trl import GRPOConfig, GRPOTrainer, SFTConfig, SFTTrainer


def on_cpu(**kw):
    return (
        dict(
            output_dir=tempfile.mkdtemp(),
            use_cpu=True,
            report_to="none",
            save_strategy="no",
            disable_tqdm=True,
            dataloader_pin_memory=False,
        )
        | kw
    )


# ------------------------------------------------------------------ where on the tray is the part? (images)


class Trays(torch.utils.data.Dataset):
    """Grey pictures of a tray with four pockets, one of them filled."""

    def __init__(self, size, seed):
        draw = torch.Generator().manual_seed(seed)
        self.pockets = torch.randint(0, 4, (size,), generator=draw)
        self.pictures = 0.3 * torch.randn(size, 1, 16, 16, generator=draw)
        shifts = torch.randint(0, 3, (size, 2), generator=draw)
        for picture, pocket, (down, right) in zip(
            self.pictures, self.pockets.tolist(), shifts.tolist()
        ):
            top, left = 8 * (pocket // 2) + down, 8 * (pocket % 2) + right
            picture[0, top : top + 5, left : left + 5] += 1.0

    def __len__(self):
        return len(self.pockets)

    def __getitem__(self, i):
        return {"pixel_values": self.pictures[i], "labels": self.pockets[i]}


def share_right(prediction):
    return {"accuracy": float((prediction.predictions.argmax(-1) == prediction.label_ids).mean())}


def arno():
    set_seed(3)
    model = ViTForImageClassification(
        ViTConfig(
            image_size=16,
            patch_size=4,
            num_channels=1,
            hidden_size=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=96,
            num_labels=4,
        )
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, weight_decay=0.01)
    schedule = CyclicLR(optimizer, base_lr=3e-4, max_lr=3e-3, step_size_up=10, cycle_momentum=False)
    return Trainer(
        model=model,
        args=TrainingArguments(
            **on_cpu(
                max_steps=60,
                per_device_train_batch_size=32,
                logging_steps=5,
                eval_strategy="steps",
                eval_steps=20,
                per_device_eval_batch_size=64,
                seed=3,
            )
        ),
        train_dataset=Trays(960, seed=1),
        eval_dataset=Trays(192, seed=2),
        compute_metrics=share_right,
        optimizers=(optimizer, schedule),
    )


# ------------------------------------------------------------------ a language model of recipe cards

GROCERIES = ["rice", "flour", "sugar", "butter", "milk", "salt", "cream", "honey", "oats", "beans"]
MEASURES = ["cup", "spoon", "pinch", "bowl"]
DISHES = ["soup", "cake", "bread", "stew", "porridge"]


def card(rng):
    lines = [f"{rng.choice(DISHES)} for {rng.randint(2, 6)}"]
    for food in rng.sample(GROCERIES, rng.randint(2, 4)):
        lines.append(f"{rng.randint(1, 4)} {rng.choice(MEASURES)} {food}")
    return "\n".join(lines) + "\n"


class ShowALine(TrainerCallback):
    """Every few steps: how would the model go on with one line of a card?"""

    def __init__(self, tok, beginnings, every):
        self.tok, self.beginnings, self.every, self.shown = tok, beginnings, every, []
        self.line_end = tok("\n")["input_ids"][-1]

    def on_step_end(self, args, state, control, model=None, **kwargs):
        if state.global_step % self.every:
            return
        begun = self.beginnings[(state.global_step // self.every) % len(self.beginnings)]
        asked = self.tok(begun, return_tensors="pt")
        model.eval()
        said = model.generate(
            **asked,
            max_new_tokens=16,
            do_sample=True,
            eos_token_id=self.line_end,
            pad_token_id=self.tok.eos_token_id,
        )
        model.train()
        self.shown.append((state.global_step, self.tok.decode(said[0])))


def drina():
    set_seed(8)
    rng = random.Random(8)
    cards = [card(rng) for _ in range(900)]
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    bpe.train_from_iterator(
        cards,
        trainers.BpeTrainer(
            vocab_size=360,
            special_tokens=["<|endoftext|>"],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    tok = PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        bos_token="<|endoftext|>",
        eos_token="<|endoftext|>",
        model_input_names=["input_ids", "attention_mask"],
    )
    stream = [i for text in cards for i in [*tok(text)["input_ids"], tok.eos_token_id]]
    size = 48
    blocks = [stream[at : at + size] for at in range(0, len(stream) - size + 1, size)]
    rows = Dataset.from_list(
        [{"input_ids": ids, "attention_mask": [1] * size, "labels": ids} for ids in blocks]
    )
    halves = rows.train_test_split(test_size=0.1, seed=8)
    model = GPTNeoXForCausalLM(
        GPTNeoXConfig(
            vocab_size=len(tok),
            hidden_size=64,
            intermediate_size=192,
            num_hidden_layers=2,
            num_attention_heads=4,
            max_position_embeddings=96,
            bos_token_id=tok.bos_token_id,
            eos_token_id=tok.eos_token_id,
        )
    )
    return Trainer(
        model=model,
        args=TrainingArguments(
            **on_cpu(
                max_steps=60,
                per_device_train_batch_size=16,
                learning_rate=4e-3,
                warmup_steps=5,
                lr_scheduler_type="cosine",
                logging_steps=5,
                eval_strategy="steps",
                eval_steps=30,
                seed=8,
            )
        ),
        train_dataset=halves["train"],
        eval_dataset=halves["test"],
        data_collator=default_data_collator,
        processing_class=tok,
        callbacks=[ShowALine(tok, ["2 ", "soup for", "cake"], every=20)],
    )


# ------------------------------------------------------------------ how glad is a guest? a number from a comment

GLAD = ["lovely", "clean", "quiet", "friendly", "tasty", "bright", "warm", "helpful"]
SOUR = ["dirty", "noisy", "rude", "cold", "broken", "dark", "late", "smelly"]
PLAIN = ["the", "room", "was", "and", "staff", "food", "bed", "we", "had", "very", "our", "stay"]


def comment(rng):
    mood = rng.random()
    said = [
        rng.choice(GLAD) if rng.random() < mood else rng.choice(SOUR)
        for _ in range(rng.randint(3, 5))
    ]
    stars = 5 * sum(word in GLAD for word in said) / len(said) + rng.gauss(0, 0.2)
    words = said + [rng.choice(PLAIN) for _ in range(rng.randint(3, 6))]
    rng.shuffle(words)
    return {"text": " ".join(words), "label": round(min(5.0, max(0.0, stars)), 2)}


def follows_the_stars(prediction):
    said, given = prediction.predictions.reshape(-1), prediction.label_ids.reshape(-1)
    return {
        "pearson": float(np.corrcoef(said, given)[0, 1]),
        "mae": float(np.abs(said - given).mean()),
    }


def ebro():
    set_seed(21)
    rng = random.Random(21)
    comments = [comment(rng) for _ in range(1100)]
    words = Tokenizer(
        models.WordLevel(
            {
                w: i
                for i, w in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *GLAD, *SOUR, *PLAIN])
            },
            unk_token="[UNK]",
        )
    )
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tok = PreTrainedTokenizerFast(
        tokenizer_object=words,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
    )
    data = Dataset.from_list(comments).map(
        lambda row: tok(row["text"], truncation=True, max_length=24), remove_columns="text"
    )
    model = BertForSequenceClassification(
        BertConfig(
            vocab_size=len(tok),
            hidden_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=128,
            max_position_embeddings=32,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            pad_token_id=tok.pad_token_id,
            num_labels=1,
            problem_type="regression",
        )
    )
    with torch.no_grad():
        model.classifier.weight.zero_()
        model.classifier.bias.fill_(float(np.mean([row["label"] for row in comments[:960]])))
    return Trainer(
        model=model,
        args=TrainingArguments(
            **on_cpu(
                max_steps=60,
                per_device_train_batch_size=32,
                learning_rate=1e-3,
                warmup_steps=6,
                logging_steps=5,
                eval_on_start=True,
                eval_strategy="steps",
                eval_steps=15,
                per_device_eval_batch_size=70,
                seed=21,
            )
        ),
        train_dataset=data.select(range(960)),
        eval_dataset=data.select(range(960, 1100)),
        processing_class=tok,
        compute_metrics=follows_the_stars,
    )


# ------------------------------------------------------------------ speech: the sounds of a text in the voice of a sample

BANDS, PHONES = 16, 24


class VoicedText(nn.Module):
    """Mel bands of phones, in the manner of another recording of the same speaker."""

    def __init__(self, width=48):
        super().__init__()
        self.text = nn.Sequential(nn.Embedding(PHONES, width), nn.Linear(width, width), nn.ReLU())
        self.reference = nn.Sequential(
            nn.Conv1d(BANDS, width, 3, padding=1),
            nn.ReLU(),
            nn.Conv1d(width, width, 3, padding=1),
            nn.ReLU(),
        )
        self.manner = nn.Linear(width, width)
        self.bands = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, BANDS))

    def forward(self, phones, sample, labels=None):
        manner = self.manner(self.reference(sample.transpose(1, 2)).mean(-1))
        mel = self.bands(self.text(phones) + manner[:, None])
        return (
            {"loss": F.l1_loss(mel, labels), "logits": mel}
            if labels is not None
            else {"logits": mel}
        )


def recordings(size, seed):
    draw = torch.Generator().manual_seed(17)
    sounds, voices = (
        torch.randn(PHONES, BANDS, generator=draw),
        torch.randn(12, BANDS, generator=draw),
    )
    draw = torch.Generator().manual_seed(seed)

    def spoken(phones, voice, length):
        return sounds[phones] + voices[voice] + 0.1 * torch.randn(length, BANDS, generator=draw)

    rows = []
    for _ in range(size):
        voice = int(torch.randint(0, 12, (), generator=draw))
        said, other = (torch.randint(0, PHONES, (length,), generator=draw) for length in (14, 20))
        rows.append(
            {"phones": said, "sample": spoken(other, voice, 20), "labels": spoken(said, voice, 14)}
        )
    return rows


def garonne():
    set_seed(5)
    return Trainer(
        model=VoicedText(),
        args=TrainingArguments(
            **on_cpu(
                max_steps=60,
                per_device_train_batch_size=32,
                learning_rate=4e-3,
                warmup_steps=5,
                weight_decay=0.01,
                logging_steps=5,
                eval_strategy="steps",
                eval_steps=20,
                per_device_eval_batch_size=64,
                seed=5,
            )
        ),
        train_dataset=recordings(1200, seed=1),
        eval_dataset=recordings(128, seed=2),
    )


# ------------------------------------------------------------------ the best of four drafts to a customer

WARM = ["sorry", "refund", "gladly", "resolved", "replaced", "today"]
CURT = ["policy", "cannot", "refer", "terms", "unable", "closed"]
BETWEEN = ["your", "order", "we", "have", "the", "parcel", "about", "it", "please", "note"]
DRAFTS = 4


def drafts_of_one_ticket(rng):
    """Four drafts, and the one that a reader picked; one reader in five picks any."""
    best = rng.randrange(DRAFTS)
    picked = rng.randrange(DRAFTS) if rng.random() < 0.2 else best
    rows = []
    for number in range(DRAFTS):
        tone = (WARM, 3) if number == best else (CURT if rng.random() < 0.6 else WARM, 1)
        words = [rng.choice(tone[0]) for _ in range(tone[1])] + [
            rng.choice(BETWEEN) for _ in range(5)
        ]
        rng.shuffle(words)
        rows.append({"text": " ".join(words), "label": int(number == picked)})
    return rows


def picks(prediction):
    """The draft with the highest score of each ticket against the one that was picked."""
    scores = prediction.predictions[:, 1] - prediction.predictions[:, 0]
    chosen, meant = (
        values.reshape(-1, DRAFTS).argmax(1) for values in (scores, prediction.label_ids)
    )
    return {"accuracy": float((chosen == meant).mean())}


def loire():
    set_seed(13)
    rng = random.Random(13)
    train = [row for _ in range(320) for row in drafts_of_one_ticket(rng)]
    test = [row for _ in range(80) for row in drafts_of_one_ticket(rng)]
    words = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    words.train_from_iterator(
        (row["text"] for row in train),
        trainers.WordLevelTrainer(
            special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]"], show_progress=False
        ),
    )
    words.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tok = PreTrainedTokenizerFast(
        tokenizer_object=words,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        model_input_names=["input_ids", "attention_mask"],
    )

    def encoded(rows):
        return Dataset.from_list(rows).map(
            lambda batch: tok(batch["text"]), batched=True, remove_columns="text"
        )

    model = DistilBertForSequenceClassification(
        DistilBertConfig(
            vocab_size=len(tok),
            dim=64,
            hidden_dim=128,
            n_layers=2,
            n_heads=4,
            max_position_embeddings=24,
            dropout=0.0,
            attention_dropout=0.0,
            pad_token_id=tok.pad_token_id,
            num_labels=2,
        )
    )
    return Trainer(
        model=model,
        args=TrainingArguments(
            **on_cpu(
                max_steps=60,
                per_device_train_batch_size=32,
                learning_rate=8e-4,
                warmup_steps=6,
                weight_decay=0.01,
                logging_steps=6,
                eval_strategy="steps",
                eval_steps=12,
                per_device_eval_batch_size=80,
                seed=13,
            )
        ),
        train_dataset=encoded(train),
        eval_dataset=encoded(test),
        processing_class=tok,
        compute_metrics=picks,
    )


# ------------------------------------------------------------------ the time in words to the time in figures (SFT)

HOURS = [
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
]
PARTS = {"sharp": "00", "and a quarter": "15", "and a half": "30", "and three quarters": "45"}
ASKS = ["write in figures :", "as a clock shows it :", "short form of"]


def clock(rng):
    hour, part = rng.randrange(12), rng.choice(list(PARTS))
    night = rng.random() < 0.5
    shown = (hour + 1) % 12 + (12 if night else 0)
    return {
        "prompt": f"{rng.choice(ASKS)} {HOURS[hour]} {part} {'pm' if night else 'am'} =",
        "completion": f" {shown:02d} : {PARTS[part]}",
    }


class SideBySide(torch.optim.Optimizer):
    """Several optimizers, each for its own part of the weights, behind the face of one."""

    def __init__(self, *parts):
        self.parts = parts
        super().__init__([group for part in parts for group in part.param_groups], {})

    @torch.no_grad()
    def step(self, closure=None):
        groups = iter(self.param_groups)
        for part in self.parts:
            part.param_groups = [next(groups) for _ in part.param_groups]
            part.step()


def meuse():
    set_seed(2)
    rng = random.Random(2)
    rows = [clock(rng) for _ in range(900)]
    words = Tokenizer(models.WordLevel(unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    words.train_from_iterator(
        (row["prompt"] + row["completion"] for row in rows),
        trainers.WordLevelTrainer(special_tokens=["<unk>", "<pad>", "<eos>"], show_progress=False),
    )
    tok = PreTrainedTokenizerFast(
        tokenizer_object=words,
        unk_token="<unk>",
        pad_token="<pad>",
        eos_token="<eos>",
        model_input_names=["input_ids", "attention_mask"],
    )
    model = Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=len(tok),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=48,
            pad_token_id=tok.pad_token_id,
            eos_token_id=tok.eos_token_id,
            bos_token_id=None,
        )
    )
    hidden = {name for name, p in model.named_parameters() if p.ndim == 2 and ".layers." in name}
    matrices = [p for name, p in model.named_parameters() if name in hidden]
    others = [p for name, p in model.named_parameters() if name not in hidden]
    optimizer = SideBySide(
        torch.optim.Muon(matrices, lr=0.02, momentum=0.95, weight_decay=0.01),
        torch.optim.AdamW(others, lr=3e-3, betas=(0.9, 0.95), weight_decay=0.0),
    )
    return SFTTrainer(
        model=model,
        args=SFTConfig(
            **on_cpu(
                max_steps=50,
                per_device_train_batch_size=32,
                warmup_steps=5,
                lr_scheduler_type="linear",
                logging_steps=5,
                max_length=32,
                bf16=False,
                gradient_checkpointing=False,
                seed=2,
            )
        ),
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
        optimizers=(optimizer, None),
    )


# ------------------------------------------------------------------ hints for a guessing game, from a rule (GRPO)

GAME = {
    "sea": ("water", ["blue", "deep", "salt", "wide", "cold"]),
    "ice": ("cold", ["hard", "white", "water", "clear", "smooth"]),
    "snow": ("white", ["cold", "soft", "winter", "light", "clear"]),
    "sun": ("light", ["hot", "yellow", "bright", "sky", "day"]),
    "lamp": ("bright", ["light", "table", "night", "glass", "yellow"]),
    "sky": ("blue", ["wide", "clear", "day", "light", "high"]),
}
OPENINGS = ["hints for {} :", "let them guess {} :", "give hints , the word is {} :"]


def hints(rng, thing):
    taboo, rest = GAME[thing]
    return " ".join(rng.sample([taboo, *rest], rng.choice([3, 4])))


def keeps_to_the_rules(completions, prompts, taboo, **kwargs):
    """Three hints or more that have to do with the word, and not the one that is forbidden."""
    scores = []
    for said, asked, forbidden in zip(completions, prompts, taboo):
        thing = next(word for word in asked.split() if word in GAME)
        given = said.split()
        fitting = sum(word in GAME[thing][1] for word in given)
        scores.append(0.0 if forbidden in given or len(given) < 3 else fitting / len(given))
    return scores


def neretva():
    set_seed(31)
    rng = random.Random(31)
    rows = [
        {"prompt": rng.choice(OPENINGS).format(thing), "taboo": GAME[thing][0]}
        for thing in GAME
        for _ in range(40)
    ]
    rng.shuffle(rows)
    said = [
        f"{rng.choice(OPENINGS).format(thing)} {hints(rng, thing)}"
        for thing in GAME
        for _ in range(30)
    ]
    words = Tokenizer(models.WordLevel(unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    words.train_from_iterator(
        said,
        trainers.WordLevelTrainer(special_tokens=["<unk>", "<pad>", "<eos>"], show_progress=False),
    )
    tok = PreTrainedTokenizerFast(
        tokenizer_object=words,
        unk_token="<unk>",
        pad_token="<pad>",
        eos_token="<eos>",
        padding_side="left",
        model_input_names=["input_ids", "attention_mask"],
    )
    model = Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=len(tok),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=4,
            max_position_embeddings=32,
            initializer_range=0.08,
            pad_token_id=tok.pad_token_id,
            eos_token_id=tok.eos_token_id,
            bos_token_id=None,
        )
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(90):
        things = [rng.choice(list(GAME)) for _ in range(32)]
        texts = [
            f"{rng.choice(OPENINGS).format(thing)} {hints(rng, thing)} <eos>" for thing in things
        ]
        batch = tok(texts, padding=True, return_tensors="pt")
        labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
        model(
            input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], labels=labels
        ).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return GRPOTrainer(
        model=model,
        reward_funcs=keeps_to_the_rules,
        args=GRPOConfig(
            **on_cpu(
                max_steps=28,
                learning_rate=1.5e-3,
                per_device_train_batch_size=48,
                num_generations=8,
                max_completion_length=6,
                temperature=1.0,
                beta=0.0,
                logging_steps=2,
                bf16=False,
                gradient_checkpointing=False,
                seed=31,
            )
        ),
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
    )


# ------------------------------------------------------------------ notes of a ward: all that is asked for, in few words (GRPO)

FIELDS = ["pressure", "pulse", "fever", "plan"]
COMPLAINTS = ["cough", "headache", "fall", "rash", "cramp", "dizzy"]
CHAT = (
    "{% for m in messages %}{{ '<' + m['role'] + '> ' + m['content'] + ' ' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<assistant> ' }}{% endif %}"
)


def words_of(reply):
    return reply[0]["content"].split()


def complete(completions, **kwargs):
    return [
        sum(field in words_of(reply) for field in FIELDS) / len(FIELDS) for reply in completions
    ]


def brevity(completions, **kwargs):
    return [max(0.0, 1 - len(words_of(reply)) / 6) for reply in completions]


def oka():
    set_seed(44)
    rng = random.Random(44)
    asked = [
        f"bed {rng.randint(1, 9)} , {rng.choice(COMPLAINTS)} and {rng.choice(COMPLAINTS)}"
        for _ in range(240)
    ]
    words = Tokenizer(models.WordLevel(unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    words.train_from_iterator(
        [*asked, " ".join(FIELDS)],
        trainers.WordLevelTrainer(
            special_tokens=["<unk>", "<pad>", "<user>", "<assistant>", "<end>"],
            show_progress=False,
        ),
    )
    tok = PreTrainedTokenizerFast(
        tokenizer_object=words,
        unk_token="<unk>",
        pad_token="<pad>",
        eos_token="<end>",
        padding_side="left",
        model_input_names=["input_ids", "attention_mask"],
    )
    tok.chat_template = CHAT
    model = MistralForCausalLM(
        MistralConfig(
            vocab_size=len(tok),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=48,
            sliding_window=None,
            initializer_range=0.08,
            pad_token_id=tok.pad_token_id,
            eos_token_id=tok.eos_token_id,
            bos_token_id=None,
        )
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(90):
        texts = []
        for text in rng.sample(asked, 32):
            fields = rng.sample(FIELDS, rng.choices([1, 2, 3, 4], [56, 24, 12, 8])[0])
            texts.append(f"<user> {text} <assistant> {' '.join(fields)} <end>")
        batch = tok(texts, padding=True, return_tensors="pt")
        labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
        model(
            input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], labels=labels
        ).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return GRPOTrainer(
        model=model,
        reward_funcs=[complete, brevity],
        args=GRPOConfig(
            **on_cpu(
                max_steps=30,
                learning_rate=1e-3,
                per_device_train_batch_size=32,
                num_generations=4,
                max_completion_length=8,
                reward_weights=[1.0, 0.1],
                multi_objective_aggregation="normalize_then_sum",
                beta=0.0,
                logging_steps=1,
                bf16=False,
                gradient_checkpointing=False,
                seed=44,
            )
        ),
        train_dataset=Dataset.from_list(
            [{"prompt": [{"role": "user", "content": text}]} for text in asked]
        ),
        processing_class=tok,
    )


# ------------------------------------------------------------------ a variational autoencoder of crossed bars


def crossings(size, seed):
    """Pictures of 8 x 8 with one full row and one full column."""
    draw = torch.Generator().manual_seed(seed)
    at = torch.randint(0, 8, (size, 2), generator=draw)
    pictures = torch.zeros(size, 8, 8)
    pictures[torch.arange(size), at[:, 0]] = 1.0
    pictures[torch.arange(size), :, at[:, 1]] = 1.0
    return [{"pixels": picture.flatten()} for picture in pictures]


class BarsVAE(nn.Module):
    """The bound of the log-likelihood, in nats a picture; `beta` weighs the KL while it trains."""

    def __init__(self, latents=8, width=128):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, width), nn.ReLU(), nn.Linear(width, 2 * latents))
        self.decoder = nn.Sequential(nn.Linear(latents, width), nn.ReLU(), nn.Linear(width, 64))
        self.register_buffer("beta", torch.tensor(0.0))

    def forward(self, pixels, return_loss=True):
        mean, log_variance = self.encoder(pixels).chunk(2, -1)
        code = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
        drawn = self.decoder(code)
        distortion = (
            F.binary_cross_entropy_with_logits(drawn, pixels, reduction="none").sum(-1).mean()
        )
        kl = 0.5 * (mean.square() + log_variance.exp() - 1 - log_variance).sum(-1).mean()
        weight = self.beta if self.training else 1.0
        return {"loss": distortion + weight * kl, "drawn": drawn}


class WeighTheKL(TrainerCallback):
    """From 0 to 1 over the first steps."""

    def __init__(self, steps):
        self.steps = steps

    def on_step_begin(self, args, state, control, model=None, **kwargs):
        model.beta.fill_(min(1.0, state.global_step / self.steps))


def piave():
    set_seed(9)
    model = BarsVAE()
    pictures = torch.stack([row["pixels"] for row in crossings(1024, seed=3)])
    model.beta.fill_(0.02)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step in range(500):
        at = torch.randint(0, len(pictures), (64,))
        model(pictures[at])["loss"].backward()
        optimizer.step()
        optimizer.zero_grad()
    model.beta.fill_(0.0)
    return Trainer(
        model=model,
        args=TrainingArguments(
            **on_cpu(
                max_steps=60,
                per_device_train_batch_size=64,
                learning_rate=2e-3,
                lr_scheduler_type="constant",
                logging_steps=4,
                eval_on_start=True,
                eval_strategy="steps",
                eval_steps=15,
                per_device_eval_batch_size=128,
                seed=9,
            )
        ),
        train_dataset=crossings(2048, seed=4),
        eval_dataset=crossings(256, seed=5),
        callbacks=[WeighTheKL(45)],
    )


# ------------------------------------------------------------------ what is bought next: three articles join a catalogue

ARTICLES, KINDS, LENGTH = 5000, 20, 8
JOINING = {5000: 3, 5001: 9, 5002: 14}


def basket(rng, kind, joining=None):
    """Articles of one kind: mostly the fifteen that sell, now and then one of the many others."""
    shelf = [
        kind
        + KINDS
        * (
            int(rng.integers(0, 15))
            if rng.random() < 0.95
            else int(rng.integers(15, ARTICLES // KINDS))
        )
        for _ in range(LENGTH)
    ]
    return [joining if joining is not None and rng.random() < 0.4 else one for one in shelf]


def saone():
    set_seed(12)
    rng = np.random.default_rng(12)
    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=ARTICLES + len(JOINING),
            n_positions=LENGTH,
            n_embd=32,
            n_layer=2,
            n_head=2,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            bos_token_id=None,
            eos_token_id=None,
        )
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=0.0)
    for _ in range(90):
        ids = torch.tensor([basket(rng, int(rng.integers(0, KINDS))) for _ in range(40)])
        model(input_ids=ids, labels=ids).loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    table = model.transformer.wte.weight
    with torch.no_grad():
        table[ARTICLES:] = table[:ARTICLES].mean(0)
    for weight in model.parameters():
        weight.requires_grad_(False)
    table.requires_grad_(True)
    joins = torch.zeros(len(table), 1)
    joins[ARTICLES:] = 1.0
    table.register_hook(lambda grad: grad * joins)

    rows = []
    for _ in range(1200):
        article = int(rng.choice(list(JOINING)))
        ids = torch.tensor(basket(rng, JOINING[article], article))
        rows.append({"input_ids": ids, "labels": ids})
    return Trainer(
        model=model,
        args=TrainingArguments(
            **on_cpu(
                max_steps=50,
                per_device_train_batch_size=24,
                learning_rate=8e-3,
                weight_decay=0.0,
                logging_steps=5,
                eval_strategy="steps",
                eval_steps=25,
                per_device_eval_batch_size=48,
                seed=12,
            )
        ),
        train_dataset=rows[:1100],
        eval_dataset=rows[1100:],
    )


ODD = {
    f.__name__: f for f in (arno, drina, ebro, garonne, loire, meuse, neretva, oka, piave, saone)
}
