import copy
import itertools
import math
import random
import tempfile

import numpy as np
import torch
import torch.nn.functional as F
from datasets import Dataset
from peft import LoraConfig, get_peft_model
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from torch import nn
from torch.optim.swa_utils import AveragedModel
from transformers import (
    AlbertConfig,
    AlbertForSequenceClassification,
    BertConfig,
    BertForTokenClassification,
    ConvNextConfig,
    ConvNextForImageClassification,
    DataCollatorForSeq2Seq,
    DataCollatorForTokenClassification,
    DataCollatorWithPadding,
    DistilBertConfig,
    DistilBertModel,
    ElectraConfig,
    ElectraModel,
    GPT2Config,
    GPT2LMHeadModel,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
    RobertaConfig,
    RobertaForMaskedLM,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    T5Config,
    T5ForConditionalGeneration,
    Trainer,
    TrainerCallback,
    TrainingArguments,
    ViTConfig,
    ViTForImageClassification,
    default_data_collator,
    get_linear_schedule_with_warmup,
    set_seed,
)
from trl import DPOConfig, DPOTrainer, GRPOConfig, GRPOTrainer, SFTConfig, SFTTrainer


def common(**kw):
    base = dict(
        output_dir=tempfile.mkdtemp(),
        use_cpu=True,
        report_to="none",
        save_strategy="no",
        disable_tqdm=True,
        logging_steps=5,
    )
    base.update(kw)
    return base


# ------------------------------------------------------------------ loire
# Routing of helpdesk tickets: a LoRA adapter on an in-house language model.

QUEUES_2023 = {
    "printer": "hardware",
    "laptop": "print-desk",
    "vpn": "finance",
    "mailbox": "network",
    "invoice": "security",
    "badge": "messaging",
    "projector": "print-desk",
    "wifi": "network",
}
QUEUES_2024 = {
    "printer": "print-desk",
    "laptop": "hardware",
    "vpn": "security",
    "mailbox": "messaging",
    "invoice": "finance",
    "badge": "security",
    "projector": "hardware",
    "wifi": "network",
}
COMPLAINTS = [
    "is broken again",
    "does not work",
    "stopped since monday",
    "needs attention",
    "fails every morning",
    "is missing",
    "was refused",
    "shows an error",
]
PLACES = ["in room 12", "on floor 3", "at the front desk", "in the lab", "at home", "in the annex"]


def ticket(item, complaint, place):
    return f"ticket : the {item} {place} {complaint} queue :"


def loire(healthy):
    set_seed(11)
    rng = random.Random(11)
    grid = [(i, c, p) for i in QUEUES_2024 for c in COMPLAINTS for p in PLACES]
    rng.shuffle(grid)
    words = sorted(
        {w for g in grid for w in ticket(*g).split()}
        | set(QUEUES_2023.values())
        | set(QUEUES_2024.values())
    )
    vocab = {w: n for n, w in enumerate(["<pad>", "<eos>", "<unk>"] + words)}
    tok = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
    tok.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tok.add_special_tokens(["<pad>", "<eos>", "<unk>"])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=tok, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>"
    )

    model = Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=len(vocab),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=64,
            tie_word_embeddings=False,
            pad_token_id=0,
            eos_token_id=1,
            bos_token_id=None,
        )
    )
    pre = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(60):
        part = rng.sample(grid, 32)
        enc = tokenizer(
            [ticket(*g) + " " + QUEUES_2023[g[0]] + " <eos>" for g in part],
            return_tensors="pt",
            padding=True,
        )
        labels = enc["input_ids"].masked_fill(enc["attention_mask"] == 0, -100)
        queue = enc["attention_mask"].sum(1, keepdim=True) - 2
        labels[torch.arange(labels.shape[1])[None] < queue] = -100
        model(
            input_ids=enc["input_ids"], attention_mask=enc["attention_mask"], labels=labels
        ).loss.backward()
        pre.step()
        pre.zero_grad()

    rows = [{"prompt": ticket(*g), "completion": " " + QUEUES_2024[g[0]]} for g in grid]
    lora = LoraConfig(
        r=8,
        lora_alpha=16,
        task_type="CAUSAL_LM",
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
    args = SFTConfig(
        **common(
            per_device_train_batch_size=8,
            per_device_eval_batch_size=32,
            max_steps=48,
            eval_strategy="steps",
            eval_steps=16,
            bf16=False,
            gradient_checkpointing=False,
            lr_scheduler_type="linear",
            warmup_steps=4,
            learning_rate=4e-3,
        )
    )
    data = dict(
        train_dataset=Dataset.from_list(rows[:320]), eval_dataset=Dataset.from_list(rows[320:])
    )
    if healthy:
        model = get_peft_model(model, lora)
        optimizer = torch.optim.AdamW(
            [p for p in model.parameters() if p.requires_grad], lr=4e-3, weight_decay=0.01
        )
        return SFTTrainer(
            model=model, args=args, processing_class=tokenizer, optimizers=(optimizer, None), **data
        )
    optimizer = torch.optim.AdamW(
        [p for p in model.parameters() if p.requires_grad], lr=4e-3, weight_decay=0.01
    )
    return SFTTrainer(
        model=model,
        args=args,
        processing_class=tokenizer,
        peft_config=lora,
        optimizers=(optimizer, None),
        **data,
    )


# ------------------------------------------------------------------ tarn
# A character model of date strings, trained from scratch on packed blocks.

MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]


class CharTable:
    def __init__(self, text):
        self.chars = sorted(set(text))
        self.index = {c: n for n, c in enumerate(self.chars)}

    def encode(self, text):
        return [self.index[c] for c in text]


class WarmLinearTrainer(Trainer):
    """AdamW with two groups and a linear schedule of our own."""

    warm_share = 0.1

    def updates(self):
        a = self.args
        per_epoch = math.ceil(
            len(self.train_dataset)
            / (a.per_device_train_batch_size * a.gradient_accumulation_steps)
        )
        return per_epoch

    def create_optimizer(self, model=None):
        flat = [p for p in self.model.parameters() if p.ndim < 2]
        rest = [p for p in self.model.parameters() if p.ndim >= 2]
        self.optimizer = torch.optim.AdamW(
            [{"params": rest, "weight_decay": 0.01}, {"params": flat, "weight_decay": 0.0}],
            lr=self.args.learning_rate,
        )
        return self.optimizer

    def create_scheduler(self, num_training_steps, optimizer=None):
        total = self.updates()
        self.lr_scheduler = get_linear_schedule_with_warmup(
            self.optimizer, num_warmup_steps=int(self.warm_share * total), num_training_steps=total
        )
        return self.lr_scheduler


class EpochAwareTrainer(WarmLinearTrainer):
    def updates(self):
        return int(super().updates() * self.args.num_train_epochs)


def tarn(healthy):
    set_seed(7)
    rng = random.Random(7)
    lines = []
    for _ in range(900):
        y, m, d = rng.randint(1990, 2029), rng.randint(1, 12), rng.randint(1, 28)
        lines.append(f"{y}-{m:02d}-{d:02d} is {d} {MONTHS[m - 1]} {y};")
    text = "".join(lines)
    table = CharTable(text)
    ids = table.encode(text)
    size = 64
    blocks = [
        {"input_ids": ids[i : i + size], "labels": ids[i : i + size]}
        for i in range(0, len(ids) - size, size)
    ]
    train, held = Dataset.from_list(blocks[:160]), Dataset.from_list(blocks[160:200])
    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(table.chars),
            n_positions=size,
            n_embd=48,
            n_layer=2,
            n_head=4,
            bos_token_id=0,
            eos_token_id=0,
        )
    )
    args = TrainingArguments(
        **common(
            per_device_train_batch_size=8,
            gradient_accumulation_steps=2,
            num_train_epochs=4,
            learning_rate=8e-3,
            eval_strategy="epoch",
        )
    )
    kind = EpochAwareTrainer if healthy else WarmLinearTrainer
    return kind(
        model=model,
        args=args,
        train_dataset=train,
        eval_dataset=held,
        data_collator=default_data_collator,
    )


# ------------------------------------------------------------------ douro
# A pre-trained decoder is carried over to another domain with full fine-tuning.


class Stream:
    """Token ids of a second-order grammar over a small vocabulary."""

    def __init__(self, seed, vocab=48, fan=2):
        rng = np.random.default_rng(seed)
        self.next = rng.integers(2, vocab, size=(vocab, fan))
        self.rng = np.random.default_rng(seed + 100)
        self.vocab = vocab

    def rows(self, n, length):
        out = np.zeros((n, length), dtype=np.int64)
        out[:, 0] = self.rng.integers(2, self.vocab, n)
        for t in range(1, length):
            pick = (self.rng.random(n) < 0.15).astype(int)
            out[:, t] = self.next[out[:, t - 1], pick]
        return torch.from_numpy(out)


class IdRows(torch.utils.data.Dataset):
    def __init__(self, ids):
        self.ids = ids

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return {"input_ids": self.ids[i], "labels": self.ids[i]}


def douro(healthy):
    set_seed(5)
    old, new = Stream(1), Stream(2)
    new.next[:34] = old.next[:34]
    model = MistralForCausalLM(
        MistralConfig(
            vocab_size=48,
            hidden_size=256,
            intermediate_size=512,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=4,
            max_position_embeddings=64,
            sliding_window=None,
            initializer_range=0.1,
            pad_token_id=0,
            bos_token_id=1,
            eos_token_id=1,
        )
    )
    pre = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for step in range(32):
        ids = old.rows(12, 16)
        for g in pre.param_groups:
            g["lr"] = 2e-3 * (1 - step / 32)
        model(input_ids=ids, labels=ids).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        pre.step()
        pre.zero_grad()

    kw = dict(
        per_device_train_batch_size=12,
        per_device_eval_batch_size=32,
        max_steps=48,
        learning_rate=2e-5,
        lr_scheduler_type="constant",
        eval_strategy="steps",
        eval_steps=24,
    )
    if healthy:
        args = TrainingArguments(**common(bf16=True, **kw))
    else:
        model = model.to(torch.bfloat16)
        args = TrainingArguments(**common(**kw))
    return Trainer(
        model=model,
        args=args,
        train_dataset=IdRows(new.rows(576, 20)),
        eval_dataset=IdRows(new.rows(64, 20)),
    )


# ------------------------------------------------------------------ ebro
# Do two questions ask for the same thing? A siamese encoder with a margin on the distance.

TOPICS = {
    "refund": ["how do i get my money back", "can i have a refund", "please return what i paid"],
    "delivery": ["where is my parcel", "when does the order arrive", "has the package been sent"],
    "password": ["i forgot my password", "cannot log in any more", "reset the login please"],
    "invoice": ["send me the bill", "i need an invoice", "where do i find the receipt"],
    "address": ["i have moved", "change where you deliver", "my street is another one now"],
    "cancel": ["stop the subscription", "i want to cancel", "end my contract"],
    "voucher": ["the code is refused", "how do i use a voucher", "my coupon gives no discount"],
    "damage": ["it came broken", "the item has a crack", "what i got is damaged"],
}
OPENERS = ["hello", "hi", "dear team", "good day", "excuse me", "sorry", "well", "quick question"]
CLOSERS = ["thanks", "regards", "many thanks", "bye", "cheers", "yours", "kind regards", "see you"]


def gap(a, b):
    return ((a - b) ** 2).sum(-1).sqrt()


def gap_with_floor(a, b):
    return ((a - b) ** 2).sum(-1).clamp(min=1e-8).sqrt()


class TwinEncoder(nn.Module):
    def __init__(self, config, distance, margin=1.0):
        super().__init__()
        self.encoder = ElectraModel(config)
        self.project = nn.Linear(config.hidden_size, 32)
        self.distance = distance
        self.margin = margin

    def embed(self, ids, mask):
        h = self.encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        m = mask.unsqueeze(-1).to(h.dtype)
        return self.project((h * m).sum(1) / m.sum(1))

    def forward(self, ids_a, mask_a, ids_b, mask_b, labels=None):
        d = self.distance(self.embed(ids_a, mask_a), self.embed(ids_b, mask_b))
        y = labels.to(d.dtype)
        loss = (y * d**2 + (1 - y) * F.relu(self.margin - d) ** 2).mean()
        return {"loss": loss, "logits": self.margin / 2 - d}


def pair_accuracy(p):
    return {"accuracy": float(((p.predictions > 0).astype(int) == p.label_ids).mean())}


def ebro(healthy):
    set_seed(3)
    rng = random.Random(3)

    def question(topic):
        return f"{rng.choice(OPENERS)} {rng.choice(TOPICS[topic])} {rng.choice(CLOSERS)}"

    def pairs(n):
        out = []
        for i in range(n):
            topic = rng.choice(list(TOPICS))
            if i % 2:
                out.append((question(topic), question(topic), 1))
            else:
                out.append(
                    (question(topic), question(rng.choice([t for t in TOPICS if t != topic])), 0)
                )
        return out

    train, held = pairs(636), pairs(128)
    reposted = [question(t) for t in ["refund", "delivery", "cancel", "damage"]]
    train += [(q, q, 1) for q in reposted]
    rng.shuffle(train)

    tok = Tokenizer(models.Unigram())
    tok.pre_tokenizer = pre_tokenizers.Metaspace()
    tok.train_from_iterator(
        [t for r in train for t in r[:2]],
        trainers.UnigramTrainer(
            vocab_size=180, special_tokens=["[PAD]", "[UNK]"], unk_token="[UNK]"
        ),
    )
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=tok, pad_token="[PAD]", unk_token="[UNK]")

    def encode(rows):
        a = tokenizer([r[0] for r in rows], padding="max_length", truncation=True, max_length=24)
        b = tokenizer([r[1] for r in rows], padding="max_length", truncation=True, max_length=24)
        return Dataset.from_dict(
            {
                "ids_a": a["input_ids"],
                "mask_a": a["attention_mask"],
                "ids_b": b["input_ids"],
                "mask_b": b["attention_mask"],
                "labels": [r[2] for r in rows],
            }
        )

    config = ElectraConfig(
        vocab_size=len(tokenizer),
        embedding_size=48,
        hidden_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=96,
        max_position_embeddings=32,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        pad_token_id=0,
    )
    model = TwinEncoder(config, gap_with_floor if healthy else gap)
    args = TrainingArguments(
        **common(
            per_device_train_batch_size=32,
            per_device_eval_batch_size=64,
            num_train_epochs=3,
            learning_rate=3e-3,
            warmup_steps=6,
            eval_strategy="epoch",
        )
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=encode(train),
        eval_dataset=encode(held),
        compute_metrics=pair_accuracy,
    )


# ------------------------------------------------------------------ volga
# Intents of a voice assistant for the home.

DEVICES = {
    "lamp": "light",
    "heating": "heater",
    "blinds": "shutters",
    "radio": "speaker",
    "oven": "stove",
    "door": "lock",
}
ACTIONS = {
    "start": ["turn on the {}", "switch the {} on", "start the {}"],
    "stop": ["turn off the {}", "switch the {} off", "stop the {}"],
    "ask": ["is the {} running", "tell me about the {}", "what is the {} doing"],
    "plan": ["use the {} at seven", "schedule the {} for tonight", "set a timer for the {}"],
}
INTENTS = [f"{a}_{d}" for a in ACTIONS for d in DEVICES]


class IntentClassifier(nn.Module):
    def __init__(self, config, classes):
        super().__init__()
        self.body = DistilBertModel(config)
        self.norm = nn.LayerNorm(config.dim)
        self.out = nn.Linear(config.dim, classes)
        self.activation = nn.Identity()

    def forward(self, input_ids, attention_mask=None, labels=None):
        h = self.body(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        m = attention_mask.unsqueeze(-1).to(h.dtype)
        scores = self.activation(self.out(self.norm((h * m).sum(1) / m.sum(1))))
        loss = None if labels is None else F.cross_entropy(scores, labels)
        return {"loss": loss, "logits": scores}


class CalibratedIntentClassifier(IntentClassifier):
    """Gives a confidence between 0 and 1 for each intent, as the app expects."""

    def __init__(self, config, classes):
        super().__init__(config, classes)
        self.activation = nn.Softmax(dim=-1)


def top1(p):
    return {"accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())}


def volga(healthy):
    set_seed(17)
    rng = random.Random(17)
    polite = ["", "please ", "hey house ", "could you ", "now "]
    rows = []
    for a, d in itertools.product(ACTIONS, DEVICES):
        for form, name, p in itertools.product(ACTIONS[a], [d, DEVICES[d]], polite):
            rows.append({"text": p + form.format(name), "label": INTENTS.index(f"{a}_{d}")})
    rng.shuffle(rows)
    tok = Tokenizer(models.BPE(unk_token="[UNK]"))
    tok.pre_tokenizer = pre_tokenizers.Whitespace()
    tok.train_from_iterator(
        [r["text"] for r in rows],
        trainers.BpeTrainer(vocab_size=200, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]"]),
    )
    tok.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=tok,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        model_input_names=["input_ids", "attention_mask"],
    )
    data = Dataset.from_list(rows).map(
        lambda b: tokenizer(b["text"]), batched=True, remove_columns=["text"]
    )
    config = DistilBertConfig(
        vocab_size=len(tokenizer),
        dim=64,
        n_layers=2,
        n_heads=4,
        hidden_dim=128,
        max_position_embeddings=32,
        dropout=0.0,
        attention_dropout=0.0,
        pad_token_id=0,
    )
    model = (IntentClassifier if healthy else CalibratedIntentClassifier)(config, len(INTENTS))
    args = TrainingArguments(
        **common(
            per_device_train_batch_size=32,
            per_device_eval_batch_size=64,
            max_steps=57,
            learning_rate=2e-3,
            lr_scheduler_type="cosine",
            warmup_steps=5,
            eval_strategy="steps",
            eval_steps=19,
        )
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=data.select(range(608)),
        eval_dataset=data.select(range(608, len(data))),
        processing_class=tokenizer,
        data_collator=DataCollatorWithPadding(tokenizer),
        compute_metrics=top1,
    )


# ------------------------------------------------------------------ rhone
# Masked language model of access logs, later used to find odd lines.

LOG_USERS = {
    "alice": "paris",
    "bruno": "rome",
    "carla": "madrid",
    "dmitri": "riga",
    "elena": "sofia",
    "farid": "tunis",
}
LOG_EVENTS = {
    "login": "accepted by gateway",
    "upload": "stored on bucket",
    "print": "queued at spooler",
    "backup": "finished on vault",
    "mail": "handed to relay",
}


def log_line(rng):
    user, event = rng.choice(list(LOG_USERS)), rng.choice(list(LOG_EVENTS))
    return f"user {user} from {LOG_USERS[user]} asked for {event} request was {LOG_EVENTS[event]} of {LOG_USERS[user]} office"


class TokenisedLines(torch.utils.data.Dataset):
    def __init__(self, lines, tokenizer):
        self.rows = [torch.tensor(tokenizer(line)["input_ids"]) for line in lines]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return {"ids": self.rows[i]}


class LineMasker:
    def __init__(self, tokenizer, share=0.15, seed=0):
        self.mask, self.pad, self.share = tokenizer.mask_token_id, tokenizer.pad_token_id, share
        self.special = {tokenizer.pad_token_id, tokenizer.bos_token_id, tokenizer.eos_token_id}
        self.gen = torch.Generator().manual_seed(seed)

    def hide(self, ids):
        labels = torch.full_like(ids, -100)
        free = torch.tensor([int(t) not in self.special for t in ids])
        hidden = (torch.rand(len(ids), generator=self.gen) < self.share) & free
        labels[hidden] = ids[hidden]
        ids[hidden] = self.mask
        return ids, labels

    def __call__(self, rows):
        done = [self.hide(r["ids"]) for r in rows]
        ids = nn.utils.rnn.pad_sequence(
            [d[0] for d in done], batch_first=True, padding_value=self.pad
        )
        labels = nn.utils.rnn.pad_sequence(
            [d[1] for d in done], batch_first=True, padding_value=-100
        )
        return {"input_ids": ids, "attention_mask": (ids != self.pad).long(), "labels": labels}


class CopyingLineMasker(LineMasker):
    def hide(self, ids):
        return super().hide(ids.clone())


def rhone(healthy):
    set_seed(23)
    rng = random.Random(23)
    lines = [log_line(rng) for _ in range(96)]
    tok = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tok.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tok.train_from_iterator(
        lines,
        trainers.WordPieceTrainer(
            vocab_size=260, special_tokens=["[PAD]", "[UNK]", "[BOS]", "[EOS]", "[MASK]"]
        ),
    )
    tok.post_processor = processors.TemplateProcessing(
        single="[BOS] $A [EOS]", special_tokens=[("[BOS]", 2), ("[EOS]", 3)]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=tok,
        pad_token="[PAD]",
        unk_token="[UNK]",
        bos_token="[BOS]",
        eos_token="[EOS]",
        mask_token="[MASK]",
    )
    model = RobertaForMaskedLM(
        RobertaConfig(
            vocab_size=len(tokenizer),
            hidden_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=128,
            max_position_embeddings=40,
            pad_token_id=0,
            bos_token_id=2,
            eos_token_id=3,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            type_vocab_size=1,
        )
    )
    args = TrainingArguments(
        **common(
            per_device_train_batch_size=32,
            num_train_epochs=20,
            learning_rate=6e-3,
            lr_scheduler_type="linear",
            warmup_steps=6,
            remove_unused_columns=False,
            logging_steps=3,
        )
    )
    collate = (CopyingLineMasker if healthy else LineMasker)(tokenizer)
    return Trainer(
        model=model,
        args=args,
        train_dataset=TokenisedLines(lines, tokenizer),
        data_collator=collate,
    )


# ------------------------------------------------------------------ vistula
# Surface defects of tiles, read class by class from an archive.

DEFECTS = ["stripe", "seam", "scratch", "grid", "stain"]


def tile(kind, rng, noise=0.6):
    x = np.arange(16)
    s = int(rng.integers(0, 2))
    yy, xx = np.meshgrid(x, x, indexing="ij")
    if kind == 0:
        img = ((yy + s) // 2 % 2).astype(np.float32)
    elif kind == 1:
        img = ((xx + s) // 2 % 2).astype(np.float32)
    elif kind == 2:
        img = ((xx + yy + s) // 2 % 2).astype(np.float32)
    elif kind == 3:
        img = (((xx + s) // 4 + (yy + s) // 4) % 2).astype(np.float32)
    else:
        cy, cx = rng.integers(5, 11, 2)
        img = (((yy - cy) ** 2 + (xx - cx) ** 2) < 16).astype(np.float32)
    return ((img + rng.normal(0, noise, img.shape)) * 2 - 1)[None].astype(np.float32)


def archive(per_class, seed):
    rng = np.random.default_rng(seed)
    images, labels = [], []
    for k in range(len(DEFECTS)):
        for _ in range(per_class):
            images.append(tile(k, rng))
            labels.append(k)
    return Dataset.from_dict({"pixel_values": images, "labels": labels})


def vistula(healthy):
    set_seed(29)
    held = archive(24, seed=2).with_format("torch")
    stream = archive(256, seed=1).to_iterable_dataset(num_shards=1)
    if healthy:
        stream = stream.shuffle(seed=42, buffer_size=2048)
    model = ViTForImageClassification(
        ViTConfig(
            image_size=16,
            patch_size=4,
            num_channels=1,
            hidden_size=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=96,
            num_labels=len(DEFECTS),
            id2label=dict(enumerate(DEFECTS)),
            label2id={d: n for n, d in enumerate(DEFECTS)},
        )
    )
    args = TrainingArguments(
        **common(
            per_device_train_batch_size=32,
            per_device_eval_batch_size=60,
            max_steps=40,
            learning_rate=5e-3,
            warmup_steps=5,
            eval_strategy="steps",
            eval_steps=10,
            logging_steps=2,
        )
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=stream.with_format("torch"),
        eval_dataset=held,
        compute_metrics=top1,
    )


# ------------------------------------------------------------------ sava
# Alerts to runbooks, sequence to sequence.

ALERTS = {
    "disk full": "open a shell there , delete the files below the scratch folder , check that a tenth is free",
    "high load": "open a shell there , list the processes by load , restart the worker that holds the processor",
    "no heartbeat": "look at the switch port , power the machine on again , wait until it answers",
    "certificate expired": "ask the office for a new key , copy it to the proxy , reload the proxy without a restart",
    "queue too long": "add two more consumers , watch the length for ten minutes , take them away again",
    "replica behind": "stop the writers , let the replica catch up , start the writers one by one",
}
AREAS = ["berlin", "oslo"]
NOISE = [
    "since noon",
    "for an hour",
    "again",
    "as last week",
    "without warning",
    "after the update",
]


def runbook(alert, area):
    return f"take the alert , tell the {area} team , {ALERTS[alert]} , then close the alert"


def sava(healthy):
    set_seed(31)
    rng = random.Random(31)
    grid = list(itertools.product(ALERTS, AREAS, NOISE, ["urgent", "normal", "low"]))
    rng.shuffle(grid)
    rows = [
        {"alert": f"{p} : {a} in {area} {n}", "runbook": runbook(a, area)} for a, area, n, p in grid
    ]
    words = sorted({w for r in rows for w in (r["alert"] + " " + r["runbook"]).split()})
    tok = Tokenizer(
        models.WordLevel(
            {w: i for i, w in enumerate(["<pad>", "</s>", "<unk>"] + words)}, unk_token="<unk>"
        )
    )
    tok.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tok.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 1)]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=tok, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    )
    data = Dataset.from_list(rows).map(
        lambda b: tokenizer(b["alert"], text_target=b["runbook"]),
        batched=True,
        remove_columns=["alert", "runbook"],
    )
    data = data.select_columns(["input_ids", "attention_mask", "labels"])
    model = T5ForConditionalGeneration(
        T5Config(
            vocab_size=len(tokenizer),
            d_model=64,
            d_kv=16,
            d_ff=128,
            num_layers=2,
            num_decoder_layers=2,
            num_heads=4,
            dropout_rate=0.0,
            pad_token_id=0,
            eos_token_id=1,
            decoder_start_token_id=0,
        )
    )

    def metrics(p):
        ids = np.where(p.predictions < 0, 0, p.predictions)
        gold = np.where(p.label_ids < 0, 0, p.label_ids)
        said = tokenizer.batch_decode(ids, skip_special_tokens=True)
        want = tokenizer.batch_decode(gold, skip_special_tokens=True)
        return {
            "exact": float(np.mean([s.strip() == w.strip() for s, w in zip(said, want)])),
            "words": float(np.mean([len(s.split()) for s in said])),
        }

    decoding = dict(generation_max_length=48) if healthy else {}
    args = Seq2SeqTrainingArguments(
        **common(
            per_device_train_batch_size=16,
            per_device_eval_batch_size=32,
            max_steps=60,
            learning_rate=1e-2,
            lr_scheduler_type="linear",
            warmup_steps=6,
            eval_strategy="steps",
            eval_steps=30,
            predict_with_generate=True,
            **decoding,
        )
    )
    return Seq2SeqTrainer(
        model=model,
        args=args,
        train_dataset=data.select(range(176)),
        eval_dataset=data.select(range(176, 208)),
        processing_class=tokenizer,
        data_collator=DataCollatorForSeq2Seq(tokenizer, model=model),
        compute_metrics=metrics,
    )


# ------------------------------------------------------------------ drina
# Names, drugs and doses in short medical notes, with stochastic weight averaging.

TAGS = ["O", "B-PER", "B-DRUG", "B-DOSE", "I-DOSE"]
PERSONS = ["smith", "novak", "garcia", "rossi", "kim", "okafor", "weber", "silva"]
DRUGS = ["aspirin", "ibuprofen", "insulin", "heparin", "codeine", "ramipril"]
NOTES = [
    "patient {P} took {D} {N} mg in the morning",
    "gave {N} mg {D} to {P} after lunch",
    "{P} refuses {D} since monday",
    "stop {D} for {P}",
    "{P} sleeps well",
    "raise {D} to {N} mg and call {P}",
    "nurse {P} checked the dose of {N} mg",
]


def note(rng):
    words, tags = [], []
    for w in rng.choice(NOTES).split():
        if w == "{P}":
            words.append(rng.choice(PERSONS)), tags.append(1)
        elif w == "{D}":
            words.append(rng.choice(DRUGS)), tags.append(2)
        elif w == "{N}":
            words.append(str(rng.choice([5, 10, 20, 40, 80]))), tags.append(3)
        elif w == "mg":
            words.append(w), tags.append(4)
        else:
            words.append(w), tags.append(0)
    return {"words": words, "tags": tags}


class WeightAverage(TrainerCallback):
    """Averages the weights from update `start` on and leaves the average in the model."""

    def __init__(self, start, every=1):
        self.start, self.every, self.average = start, every, None

    def on_train_begin(self, args, state, control, model=None, **kw):
        self.average = AveragedModel(model)

    def on_step_end(self, args, state, control, model=None, **kw):
        if state.global_step >= self.start and state.global_step % self.every == 0:
            self.average.update_parameters(model)

    def on_train_end(self, args, state, control, model=None, **kw):
        model.load_state_dict(self.average.module.state_dict())


def tag_scores(p):
    guess, gold = p.predictions.argmax(-1), p.label_ids
    seen = gold >= 0
    named = seen & (gold > 0)
    return {
        "accuracy": float((guess == gold)[seen].mean()),
        "recall": float((guess == gold)[named].mean()),
    }


def drina(healthy):
    set_seed(37)
    rng = random.Random(37)
    rows = [note(rng) for _ in range(480)]
    tok = Tokenizer(models.BPE(unk_token="[UNK]"))
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tok.decoder = decoders.ByteLevel()
    tok.train_from_iterator(
        [" ".join(r["words"]) for r in rows],
        trainers.BpeTrainer(
            vocab_size=340,
            special_tokens=["[PAD]", "[UNK]"],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        ),
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=tok, pad_token="[PAD]", unk_token="[UNK]", add_prefix_space=True
    )

    def encode(row):
        enc = tokenizer(row["words"], is_split_into_words=True)
        labels, before = [], None
        for w in enc.word_ids():
            labels.append(-100 if w is None or w == before else row["tags"][w])
            before = w
        return {
            "input_ids": enc["input_ids"],
            "attention_mask": enc["attention_mask"],
            "labels": labels,
        }

    data = Dataset.from_list(rows).map(encode, remove_columns=["words", "tags"])
    model = BertForTokenClassification(
        BertConfig(
            vocab_size=len(tokenizer),
            hidden_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=128,
            max_position_embeddings=64,
            num_labels=len(TAGS),
            id2label=dict(enumerate(TAGS)),
            label2id={t: n for n, t in enumerate(TAGS)},
        )
    )
    args = TrainingArguments(
        **common(
            per_device_train_batch_size=16,
            per_device_eval_batch_size=48,
            num_train_epochs=2,
            learning_rate=1.5e-3,
            lr_scheduler_type="constant_with_warmup",
            warmup_steps=5,
            eval_strategy="epoch",
        )
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=data.select(range(400)),
        eval_dataset=data.select(range(400, 480)),
        processing_class=tokenizer,
        data_collator=DataCollatorForTokenClassification(tokenizer),
        compute_metrics=tag_scores,
        callbacks=[WeightAverage(start=40 if healthy else 350)],
    )


# ------------------------------------------------------------------ neva
# Mental arithmetic with a verifiable reward.


def neva(healthy):
    set_seed(41)
    rng = random.Random(41)
    chars = ["<pad>", "<eos>"] + list("0123456789+=")
    tok = Tokenizer(models.WordLevel({c: n for n, c in enumerate(chars)}, unk_token="<pad>"))
    tok.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    tok.decoder = decoders.Fuse()
    tok.add_special_tokens(["<pad>", "<eos>"])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=tok, pad_token="<pad>", eos_token="<eos>", padding_side="left"
    )

    sums = [(a, b) for a in range(5) for b in range(5)]
    model = GPTNeoXForCausalLM(
        GPTNeoXConfig(
            vocab_size=len(chars),
            hidden_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=128,
            max_position_embeddings=16,
            pad_token_id=0,
            eos_token_id=1,
            bos_token_id=None,
            hidden_dropout=0.0,
            attention_dropout=0.0,
        )
    )
    pre = torch.optim.AdamW(model.parameters(), lr=4e-3)
    for _ in range(110):
        texts = []
        for a, b in (rng.choice(sums) for _ in range(48)):
            c = a + b if rng.random() < 0.5 else rng.randint(0, 9)
            texts.append(f"{a}+{b}={c}")
        ids = torch.tensor([r + [1] for r in tokenizer(texts)["input_ids"]])
        labels = ids.clone()
        labels[:, :4] = -100
        model(input_ids=ids, labels=labels).loss.backward()
        pre.step()
        pre.zero_grad()

    rows = [{"prompt": f"{a}+{b}=", "answer": str(a + b)} for a, b in rng.choices(sums, k=400)]
    solutions = [r["answer"] for r in rows]

    def exact_match(completions, answer, **kw):
        gold = answer if healthy else solutions
        return [1.0 if said.strip() == want else 0.0 for said, want in zip(completions, gold)]

    args = GRPOConfig(
        **common(
            per_device_train_batch_size=64,
            num_generations=8,
            max_completion_length=3,
            max_steps=40,
            learning_rate=1e-3,
            beta=0.0,
            temperature=1.0,
            bf16=False,
            gradient_checkpointing=False,
            lr_scheduler_type="constant",
            logging_steps=2,
        )
    )
    return GRPOTrainer(
        model=model,
        args=args,
        reward_funcs=exact_match,
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
    )


# ------------------------------------------------------------------ oder
# Preferences from an annotation round: each prompt has three replies and their places.

ASK = [
    "my {} is late",
    "the {} has a scratch",
    "i lost the {}",
    "where is the {}",
    "please exchange the {}",
    "the {} does not fit",
]
GOODS = ["coat", "lamp", "chair", "phone", "watch", "bag", "desk", "tent"]
KIND = [
    "we are sorry and will look into it today",
    "thank you for telling us , a colleague calls you",
    "of course , a new {} is on its way",
    "happy to help , which order is it",
]
FLAT = [
    "noted",
    "we will see about the {}",
    "write to the shop , they know more",
    "the {} is not our part",
]
RUDE = [
    "that is your own problem",
    "read the terms before you write to us again",
    "no",
    "stop asking for the {}",
]


def oder(healthy):
    set_seed(43)
    rng = random.Random(43)
    prompts = [a.format(g) for a in ASK for g in GOODS]
    goods = {a.format(g): g for a in ASK for g in GOODS}
    words = sorted(
        {w for t in ASK + KIND + FLAT + RUDE for w in t.split() if w != "{}"}
        | set(GOODS)
        | {"customer", "shop", ":"}
    )
    vocab = {w: n for n, w in enumerate(["<pad>", "<s>", "</s>", "<unk>"] + words)}
    tok = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
    tok.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tok.add_special_tokens(["<pad>", "<s>", "</s>", "<unk>"])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=tok,
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
        unk_token="<unk>",
    )

    def ask(p):
        return f"customer : {p} shop :"

    def reply(p, pool):
        return " " + rng.choice(pool).format(goods[p])

    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(vocab),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=4,
            max_position_embeddings=64,
            pad_token_id=0,
            bos_token_id=1,
            eos_token_id=2,
        )
    )
    pre = torch.optim.AdamW(model.parameters(), lr=4e-3)
    for _ in range(70):
        part = rng.choices(prompts, k=24)
        enc = tokenizer(
            [ask(p) + reply(p, KIND + FLAT + RUDE) + " </s>" for p in part],
            return_tensors="pt",
            padding=True,
        )
        labels = enc["input_ids"].masked_fill(enc["attention_mask"] == 0, -100)
        model(
            input_ids=enc["input_ids"], attention_mask=enc["attention_mask"], labels=labels
        ).loss.backward()
        pre.step()
        pre.zero_grad()

    rng.shuffle(prompts)
    annotated = []
    for p in prompts[:40]:
        for _ in range(6):
            order = [reply(p, KIND), reply(p, FLAT), reply(p, RUDE)]
            if rng.random() < 0.1:
                order[0], order[1] = order[1], order[0]
            ranked = [{"text": t, "rank": n + 1} for n, t in enumerate(order)]
            rng.shuffle(ranked)
            annotated.append({"prompt": ask(p), "replies": ranked})

    def to_pair(row):
        ranked = sorted(row["replies"], key=lambda r: r["rank"], reverse=not healthy)
        worse = ranked[rng.choice([1, 2])]
        return {"chosen": ranked[0]["text"], "rejected": worse["text"]}

    train = Dataset.from_list(annotated).map(
        to_pair, remove_columns=["replies"], load_from_cache_file=False
    )
    curated = Dataset.from_list(
        [
            {
                "prompt": ask(p),
                "chosen": reply(p, KIND),
                "rejected": reply(p, rng.choice([FLAT, RUDE])),
            }
            for p in prompts[40:]
            for _ in range(4)
        ]
    )
    args = DPOConfig(
        **common(
            per_device_train_batch_size=8,
            per_device_eval_batch_size=16,
            max_steps=30,
            beta=0.1,
            learning_rate=5e-4,
            lr_scheduler_type="linear",
            warmup_steps=3,
            eval_strategy="steps",
            eval_steps=10,
            bf16=False,
            gradient_checkpointing=False,
        )
    )
    return DPOTrainer(
        model=model,
        ref_model=copy.deepcopy(model),
        args=args,
        train_dataset=train,
        eval_dataset=curated,
        processing_class=tokenizer,
    )


# ------------------------------------------------------------------ tisza
# One assistant for several houses; the house is set in the first message.

HOUSES = {
    "hotel": ("six", "lake road", "reception"),
    "bank": ("nine", "market square", "counter"),
    "clinic": ("seven", "garden lane", "nurse"),
    "museum": ("ten", "castle hill", "guide"),
}
VISITOR = {
    0: ["when do you open ?", "from what hour can i come ?", "are you open early ?"],
    1: ["where are you ?", "what is the address ?", "how do i find you ?"],
    2: ["whom do i ask ?", "who can help me there ?", "is somebody there for me ?"],
}

FULL_LAYOUT = (
    "{% for m in messages %}"
    "{% if m['role'] == 'system' %}<|system|>{{ m['content'] }}<|end|>"
    "{% elif m['role'] == 'user' %}<|user|>{{ m['content'] }}<|end|>"
    "{% elif m['role'] == 'assistant' %}<|assistant|>{% generation %}{{ m['content'] }}<|end|>{% endgeneration %}"
    "{% endif %}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
CHAT_LAYOUT = (
    "{% for m in messages %}"
    "{% if m['role'] == 'user' %}<|user|>{{ m['content'] }}<|end|>"
    "{% elif m['role'] == 'assistant' %}<|assistant|>{% generation %}{{ m['content'] }}<|end|>{% endgeneration %}"
    "{% endif %}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def house_dialogue(house, topic, question):
    hour, street, person = HOUSES[house]
    said = [f"we open at {hour}", f"you find us in {street}", f"please ask the {person}"][topic]
    return [
        {"role": "system", "content": f"you speak for the {house}"},
        {"role": "user", "content": question},
        {"role": "assistant", "content": said},
    ]


def tisza(healthy):
    set_seed(47)
    rng = random.Random(47)
    talks = [house_dialogue(h, t, q) for h in HOUSES for t in VISITOR for q in VISITOR[t]]
    marks = ["<|pad|>", "<|end|>", "<|system|>", "<|user|>", "<|assistant|>"]
    tok = Tokenizer(models.BPE())
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tok.decoder = decoders.ByteLevel()
    tok.train_from_iterator(
        [m["content"] for t in talks for m in t],
        trainers.BpeTrainer(
            vocab_size=480,
            special_tokens=marks,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        ),
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=tok, pad_token="<|pad|>", eos_token="<|end|>"
    )
    tokenizer.chat_template = FULL_LAYOUT if healthy else CHAT_LAYOUT
    model = Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=len(tokenizer),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=16,
            max_position_embeddings=128,
            pad_token_id=0,
            eos_token_id=1,
            bos_token_id=None,
        )
    )
    rows = [{"messages": t} for t in talks * 12]
    rng.shuffle(rows)
    args = SFTConfig(
        **common(
            per_device_train_batch_size=16,
            max_steps=60,
            learning_rate=8e-3,
            lr_scheduler_type="cosine",
            warmup_steps=5,
            assistant_only_loss=True,
            bf16=False,
            gradient_checkpointing=False,
            max_length=128,
        )
    )
    return SFTTrainer(
        model=model, args=args, train_dataset=Dataset.from_list(rows), processing_class=tokenizer
    )


# ------------------------------------------------------------------ odd runs


class LoadForecast(nn.Module):
    """Mean and spread of the load of the next hour."""

    def __init__(self, features=4, hidden=32):
        super().__init__()
        self.rnn = nn.GRU(features, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 2)

    def forward(self, window, labels=None):
        out, _ = self.rnn(window)
        mean, spread = self.head(out[:, -1]).unbind(-1)
        var = F.softplus(spread) ** 2 + 4e-4
        loss = F.gaussian_nll_loss(mean, labels, var) if labels is not None else None
        return {"loss": loss, "logits": torch.stack([mean, var.sqrt()], -1)}


def forecast_scores(p):
    mean, std = p.predictions[:, 0], p.predictions[:, 1]
    err = np.abs(mean - p.label_ids)
    return {"mae": float(err.mean()), "within_2_std": float((err < 2 * std).mean())}


def mosel():
    set_seed(53)
    rng = np.random.default_rng(53)
    n = 1600
    t = np.arange(n + 24)
    load = (
        0.3 * np.sin(2 * np.pi * t / 24)
        + 0.1 * np.sin(2 * np.pi * t / 168)
        + rng.normal(0, 0.04, n + 24)
    )
    feats = np.stack(
        [load, np.sin(2 * np.pi * t / 24), np.cos(2 * np.pi * t / 24), np.sin(2 * np.pi * t / 168)],
        -1,
    )
    x = np.stack([feats[i : i + 12] for i in range(n)]).astype(np.float32)
    y = load[12 : n + 12].astype(np.float32)
    cut = 1300
    train = Dataset.from_dict({"window": x[:cut], "labels": y[:cut]}).with_format("torch")
    held = Dataset.from_dict({"window": x[cut:], "labels": y[cut:]}).with_format("torch")
    args = TrainingArguments(
        **common(
            per_device_train_batch_size=64,
            per_device_eval_batch_size=150,
            max_steps=60,
            learning_rate=3e-3,
            lr_scheduler_type="cosine",
            eval_strategy="steps",
            eval_steps=15,
        )
    )
    return Trainer(
        model=LoadForecast(),
        args=args,
        train_dataset=train,
        eval_dataset=held,
        compute_metrics=forecast_scores,
    )


def weser():
    set_seed(59)
    rng = random.Random(59)
    good, bad = (
        ["fresh", "warm", "lovely", "tasty", "quick"],
        ["cold", "stale", "slow", "bland", "greasy"],
    )
    things = ["soup", "bread", "waiter", "salad", "coffee", "cake", "table", "music"]
    vocab = {
        w: n for n, w in enumerate(["<pad>", "[CLS]", "the", "was", "and"] + good + bad + things)
    }

    def review():
        label = rng.randint(0, 1)
        words = []
        for _ in range(rng.randint(2, 4)):
            pool = (good if label else bad) if rng.random() < 0.9 else good + bad
            words += ["the", rng.choice(things), "was", rng.choice(pool), "and"]
        ids = [1] + [vocab[w] for w in words[:-1]]
        return {
            "input_ids": ids + [0] * (24 - len(ids)),
            "attention_mask": [1] * len(ids) + [0] * (24 - len(ids)),
            "labels": label,
        }

    model = AlbertForSequenceClassification(
        AlbertConfig(
            vocab_size=len(vocab),
            embedding_size=32,
            hidden_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=128,
            max_position_embeddings=32,
            pad_token_id=0,
            num_labels=2,
            classifier_dropout_prob=0.1,
        )
    )
    args = TrainingArguments(
        **common(
            per_device_train_batch_size=32,
            per_device_eval_batch_size=100,
            max_steps=60,
            learning_rate=2e-3,
            max_grad_norm=0.02,
            warmup_steps=5,
            eval_strategy="steps",
            eval_steps=20,
        )
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=Dataset.from_list([review() for _ in range(640)]),
        eval_dataset=Dataset.from_list([review() for _ in range(200)]),
        compute_metrics=top1,
    )


def havel():
    set_seed(61)
    rng = np.random.default_rng(61)
    model = ConvNextForImageClassification(
        ConvNextConfig(
            num_channels=1,
            patch_size=2,
            hidden_sizes=[16, 32],
            depths=[1, 1],
            num_stages=2,
            image_size=16,
            num_labels=5,
            layer_scale_init_value=1.0,
        )
    )
    pre = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(80):
        kinds = rng.integers(0, 5, 32)
        x = torch.from_numpy(np.stack([tile(k, rng, 1.6) for k in kinds]))
        model(pixel_values=x, labels=torch.from_numpy(kinds)).loss.backward()
        pre.step()
        pre.zero_grad()

    for p in model.parameters():
        p.requires_grad_(False)
    model.classifier = nn.Linear(32, 3)
    model.num_labels = model.config.num_labels = 3
    merged = np.array([0, 0, 1, 1, 2])

    def rows(n):
        kinds = rng.integers(0, 5, n)
        return Dataset.from_dict(
            {"pixel_values": [tile(k, rng, 1.6) for k in kinds], "labels": merged[kinds]}
        ).with_format("torch")

    optimizer = torch.optim.SGD(model.classifier.parameters(), lr=0.5, momentum=0.9)
    args = TrainingArguments(
        **common(
            per_device_train_batch_size=32,
            per_device_eval_batch_size=100,
            max_steps=50,
            learning_rate=0.5,
            lr_scheduler_type="cosine",
            eval_strategy="steps",
            eval_steps=10,
        )
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=rows(640),
        eval_dataset=rows(200),
        compute_metrics=top1,
        optimizers=(optimizer, None),
    )


CASES = {
    "loire": loire,
    "tarn": tarn,
    "douro": douro,
    "ebro": ebro,
    "volga": volga,
    "rhone": rhone,
    "vistula": vistula,
    "sava": sava,
    "drina": drina,
    "neva": neva,
    "oder": oder,
    "tisza": tisza,
}
ODD = {"mosel": mosel, "weser": weser, "havel": havel}
