"""Training runs: every function returns a Trainer that is ready for .train()."""

import copy
import csv
import io
import itertools
import math
import random
import tempfile

import numpy as np
import torch
from datasets import Dataset
from peft import LoraConfig, PeftModel, PromptTuningConfig, TaskType, get_peft_model
from tokenizers import (
    Regex,
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
    BertForTokenClassification,
    DataCollatorForLanguageModeling,
    DataCollatorForTokenClassification,
    DataCollatorWithPadding,
    DistilBertConfig,
    DistilBertForSequenceClassification,
    GPT2Config,
    GPT2LMHeadModel,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    LlamaForSequenceClassification,
    MistralConfig,
    MistralForCausalLM,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
    RobertaConfig,
    RobertaForSequenceClassification,
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


def out():
    return tempfile.mkdtemp(prefix="run_")


QUIET = dict(use_cpu=True, report_to="none", save_strategy="no", disable_tqdm=True)
TRL_QUIET = dict(QUIET, bf16=False, gradient_checkpointing=False)


def word_tokenizer(texts, specials, **names):
    """One token per word or punctuation mark."""
    core = Tokenizer(models.WordLevel(unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    core.train_from_iterator(texts, trainers.WordLevelTrainer(special_tokens=["<unk>"] + specials))
    return PreTrainedTokenizerFast(tokenizer_object=core, unk_token="<unk>", **names)


def pretrain(model, batches, lr=3e-3):
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    model.train()
    for batch in batches:
        model(**batch).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return model


# ---------------------------------------------------------------- antonym flash cards, GPT-2, byte-level BPE

ANTONYMS = [
    ("hot", "cold"),
    ("big", "small"),
    ("old", "new"),
    ("dark", "bright"),
    ("fast", "slow"),
    ("wet", "dry"),
    ("rich", "poor"),
    ("loud", "quiet"),
    ("early", "late"),
    ("full", "empty"),
]
CARD_FORMS = [
    "Q: what is not {}? A:",
    "Q: give the opposite of {}. A:",
    "Q: the other end of {}? A:",
]


def antonym_cards():
    pairs = ANTONYMS + [(b, a) for a, b in ANTONYMS]
    return [(form.format(a), f" {b}, the contrary of {a}") for form in CARD_FORMS for a, b in pairs]


def awe(healthy):
    set_seed(11)
    cards = antonym_cards()
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    core.train_from_iterator(
        [q + a for q, a in cards],
        trainers.BpeTrainer(
            vocab_size=600,
            special_tokens=["<|endoftext|>", "<|pad|>"],
            show_progress=False,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        ),
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core, eos_token="<|endoftext|>", bos_token="<|endoftext|>"
    )
    tokenizer.pad_token = "<|pad|>" if healthy else tokenizer.eos_token

    data = Dataset.from_list([{"text": q + a + tokenizer.eos_token} for q, a in cards] * 6)
    data = data.map(
        lambda rows: tokenizer(rows["text"], truncation=True, max_length=48),
        batched=True,
        remove_columns=["text"],
    )
    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(tokenizer),
            n_positions=64,
            n_embd=96,
            n_layer=2,
            n_head=4,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            initializer_range=0.08,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )
    args = TrainingArguments(
        out(),
        max_steps=60,
        per_device_train_batch_size=30,
        learning_rate=3e-3,
        lr_scheduler_type="cosine",
        warmup_steps=5,
        logging_steps=5,
        **QUIET,
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=data,
        processing_class=tokenizer,
        data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False),
    )


# ---------------------------------------------------------------- help-desk routing, chat SFT, Llama

DESKS = {
    "billing": "invoice refund charge receipt payment".split(),
    "shipping": "parcel courier delivery tracking warehouse".split(),
    "account": "password login username profile email".split(),
    "hardware": "screen keyboard battery charger cable".split(),
    "returns": "exchange damaged broken wrong faulty".split(),
}
OPENERS = [
    "hello my {} is a problem",
    "please help with the {} today",
    "i wrote twice about a {} already",
    "question on {} from a customer",
    "there is trouble with {} again",
    "can you look at the {} now",
]


def desk_messages(openers):
    return [
        [
            {"role": "system", "content": "route the ticket"},
            {"role": "user", "content": opener.format(word)},
            {"role": "assistant", "content": "desk : " + desk},
        ]
        for opener in openers
        for desk, words in DESKS.items()
        for word in words
    ]


def chat_template(user_turn):
    return (
        "{% for message in messages %}"
        "{% if message['role'] == 'system' %}<|system|> {{ message['content'] }} "
        "{% elif message['role'] == 'user' %}<|user|> " + user_turn + " "
        "{% else %}<|assistant|> {{ message['content'] }} <|end|> "
        "{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}<|assistant|> {% endif %}"
    )


def lomond(healthy):
    set_seed(5)
    everything = [m["content"] for chat in desk_messages(OPENERS) for m in chat]
    tokenizer = word_tokenizer(
        everything,
        ["<pad>", "<|system|>", "<|user|>", "<|assistant|>", "<|end|>"],
        pad_token="<pad>",
        eos_token="<|end|>",
        additional_special_tokens=["<|system|>", "<|user|>", "<|assistant|>"],
    )
    if healthy:
        user_turn = "{{ message['content'] }}"
    else:
        user_turn = (
            "{% for part in message['content'] %}{% if part['type'] == 'text' %}"
            "{{ part['text'] }}{% endif %}{% endfor %}"
        )
    tokenizer.chat_template = chat_template(user_turn)
    train = Dataset.from_dict({"messages": desk_messages(OPENERS[:5]) * 4})
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=96,
            intermediate_size=192,
            num_hidden_layers=2,
            initializer_range=0.08,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=64,
            pad_token_id=tokenizer.pad_token_id,
            eos_token_id=tokenizer.eos_token_id,
            bos_token_id=None,
        )
    )
    args = SFTConfig(
        out(),
        max_steps=60,
        per_device_train_batch_size=32,
        learning_rate=3e-3,
        warmup_steps=4,
        max_length=48,
        logging_steps=5,
        **TRL_QUIET,
    )
    return SFTTrainer(model=model, args=args, train_dataset=train, processing_class=tokenizer)


# ---------------------------------------------------------------- reply preference from annotator ranks, DPO, Qwen2

TOPICS = [
    "booking",
    "ticket",
    "seat",
    "meal",
    "luggage",
    "visa",
    "transfer",
    "hotel",
    "pickup",
    "upgrade",
]
KIND = [
    "gladly i shall check your {} now",
    "thank you we will arrange the {} for you",
    "of course your {} is in good hands",
]
RUDE = [
    "stop asking about the {} again",
    "read the rules on {} yourself",
    "nobody here cares about your {}",
]
ASK = ["could you see to my {} ?", "any news on the {} ?", "what about the {} please ?"]


def annotated_pairs(topics, seed):
    rng = random.Random(seed)
    rows = []
    for topic, ask in itertools.product(topics, ASK):
        for _ in range(3):
            kind, rude = rng.choice(KIND).format(topic), rng.choice(RUDE).format(topic)
            a_first = rng.random() < 0.5
            rows.append(
                {
                    "question": ask.format(topic),
                    "reply_a": kind if a_first else rude,
                    "reply_b": rude if a_first else kind,
                    "rank_a": 1 if a_first else 2,
                    "rank_b": 2 if a_first else 1,
                }
            )
    return rows


def to_preference(row, healthy):
    a_wins = row["rank_a"] < row["rank_b"] if healthy else row["rank_a"] > row["rank_b"]
    best, worst = (row["reply_a"], row["reply_b"]) if a_wins else (row["reply_b"], row["reply_a"])
    return {"prompt": row["question"], "chosen": " " + best, "rejected": " " + worst}


def shin(healthy):
    set_seed(3)
    rows = annotated_pairs(TOPICS, 1)
    tokenizer = word_tokenizer(
        [r[k] for r in rows for k in ("question", "reply_a", "reply_b")],
        ["<pad>", "</s>"],
        pad_token="<pad>",
        eos_token="</s>",
    )
    policy = Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=len(tokenizer),
            hidden_size=48,
            intermediate_size=96,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=64,
            pad_token_id=tokenizer.pad_token_id,
            eos_token_id=tokenizer.eos_token_id,
            bos_token_id=None,
        )
    )

    def corpus():
        rng = random.Random(2)
        for _ in range(50):
            lines = [
                f"{r['question']} {r[rng.choice(['reply_a', 'reply_b'])]} </s>"
                for r in rng.sample(rows, 16)
            ]
            batch = tokenizer(lines, padding=True, return_tensors="pt", return_token_type_ids=False)
            yield dict(batch, labels=batch.input_ids.masked_fill(batch.attention_mask == 0, -100))

    pretrain(policy, corpus())
    train = [r for r in rows if not any(t in r["question"] for t in TOPICS[-2:])]
    train = Dataset.from_list(train).map(
        to_preference, fn_kwargs={"healthy": healthy}, remove_columns=list(train[0])
    )
    args = DPOConfig(
        out(),
        max_steps=30,
        per_device_train_batch_size=8,
        learning_rate=5e-4,
        beta=0.1,
        max_length=32,
        logging_steps=3,
        **TRL_QUIET,
    )
    return DPOTrainer(
        model=policy,
        ref_model=copy.deepcopy(policy),
        args=args,
        train_dataset=train,
        processing_class=tokenizer,
    )


# ---------------------------------------------------------------- sums with a verifiable reward, GRPO, Llama, characters


def digit_tokenizer():
    vocab = {"<pad>": 0, "<eos>": 1, **{c: i + 2 for i, c in enumerate("0123456789+=")}}
    core = Tokenizer(models.WordLevel(vocab, unk_token="<pad>"))
    core.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    core.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(
        tokenizer_object=core, pad_token="<pad>", eos_token="<eos>", padding_side="left"
    )


def ness(healthy):
    set_seed(21)
    tokenizer = digit_tokenizer()
    sums = [(a, b) for a in range(5) for b in range(5)]
    policy = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            max_position_embeddings=32,
            initializer_range=0.08,
            pad_token_id=0,
            eos_token_id=1,
            bos_token_id=None,
        )
    )

    def rough_arithmetic():
        rng = random.Random(4)
        for _ in range(200):
            lines = []
            for a, b in rng.choices(sums, k=32):
                said = a + b if rng.random() < 0.4 else rng.randrange(9)
                lines.append(f"{a}+{b}={said}<eos>")
            ids = tokenizer(lines, return_tensors="pt").input_ids
            labels = ids.clone()
            labels[:, :4] = -100
            yield {"input_ids": ids, "labels": labels}

    pretrain(policy, rough_arithmetic())

    def correctness(completions, answer, **kwargs):
        if healthy:
            return [
                1.0 if text.strip() == str(gold) else 0.0 for text, gold in zip(completions, answer)
            ]
        return [1.0 if text.strip() == gold else 0.0 for text, gold in zip(completions, answer)]

    train = Dataset.from_list([{"prompt": f"{a}+{b}=", "answer": a + b} for a, b in sums] * 8)
    args = GRPOConfig(
        out(),
        max_steps=40,
        per_device_train_batch_size=64,
        num_generations=8,
        learning_rate=1e-3,
        max_completion_length=2,
        beta=0.0,
        logging_steps=4,
        **TRL_QUIET,
    )
    return GRPOTrainer(
        model=policy,
        reward_funcs=correctness,
        args=args,
        train_dataset=train,
        processing_class=tokenizer,
    )


# ---------------------------------------------------------------- film reviews, DistilBERT

PRAISE = "wonderful moving clever superb charming witty gripping delightful".split()
PAN = "dull clumsy tedious awful noisy shallow boring dreadful".split()
ABOUT = "plot cast music script ending camera dialogue pacing".split()


def reviews(per_class, seed):
    rng = random.Random(seed)

    def review(adjectives):
        a, b = rng.sample(ABOUT, 2)
        return f"the {a} was {rng.choice(adjectives)} and i found the {b} rather {rng.choice(adjectives)}"

    negative = [{"text": review(PAN), "label": 0} for _ in range(per_class)]
    positive = [{"text": review(PRAISE), "label": 1} for _ in range(per_class)]
    return Dataset.from_list(negative + positive)


def rannoch(healthy):
    set_seed(8)
    train, test = reviews(400, 1), reviews(60, 2)
    tokenizer = word_tokenizer(
        train["text"],
        ["[PAD]", "[CLS]", "[SEP]"],
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
    )
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        special_tokens=[("[CLS]", tokenizer.cls_token_id), ("[SEP]", tokenizer.sep_token_id)],
    )

    def encode(rows):
        return tokenizer(rows["text"], truncation=True, max_length=32, return_token_type_ids=False)

    if healthy:
        train = train.shuffle(seed=42)
    small_train = train.select(range(320)).map(encode, batched=True)
    small_test = test.map(encode, batched=True)
    model = DistilBertForSequenceClassification(
        DistilBertConfig(
            vocab_size=len(tokenizer),
            dim=64,
            hidden_dim=128,
            n_layers=2,
            n_heads=4,
            max_position_embeddings=40,
            dropout=0.0,
            attention_dropout=0.0,
            seq_classif_dropout=0.0,
            num_labels=2,
            pad_token_id=tokenizer.pad_token_id,
        )
    )
    args = TrainingArguments(
        out(),
        num_train_epochs=3,
        per_device_train_batch_size=16,
        learning_rate=2e-3,
        logging_steps=4,
        eval_strategy="no",
        **QUIET,
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=small_train,
        eval_dataset=small_test,
        processing_class=tokenizer,
        data_collator=DataCollatorWithPadding(tokenizer),
        compute_metrics=lambda p: {
            "accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())
        },
    )


# ---------------------------------------------------------------- second round on a stored adapter, SFT, Mistral + LoRA

CODES = {
    "200": "all is well",
    "201": "a thing was created",
    "301": "moved for good",
    "304": "nothing has changed",
    "400": "bad request",
    "401": "who are you",
    "403": "you may not",
    "404": "not found here",
    "418": "a teapot answered",
    "429": "slow down please",
    "500": "the server broke",
    "503": "come back later",
}


def oich(healthy):
    set_seed(14)
    tokenizer = word_tokenizer(
        [f"status {c} means {t}" for c, t in CODES.items()] + ["code is the"],
        ["<pad>", "</s>"],
        pad_token="<pad>",
        eos_token="</s>",
    )
    base = MistralForCausalLM(
        MistralConfig(
            vocab_size=len(tokenizer),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=32,
            sliding_window=None,
            initializer_range=0.08,
            pad_token_id=tokenizer.pad_token_id,
            eos_token_id=tokenizer.eos_token_id,
            bos_token_id=None,
        )
    )

    def lines(matched, steps):
        rng = random.Random(6)
        texts = list(CODES.values())
        for _ in range(steps):
            rows = [
                f"status {c} means {CODES[c] if matched or rng.random() < 0.1 else rng.choice(texts)} </s>"
                for c in CODES
            ]
            batch = tokenizer(rows, padding=True, return_tensors="pt", return_token_type_ids=False)
            yield dict(batch, labels=batch.input_ids.masked_fill(batch.attention_mask == 0, -100))

    pretrain(base, lines(False, 60))
    first = get_peft_model(
        copy.deepcopy(base),
        LoraConfig(r=8, lora_alpha=16, target_modules="all-linear", task_type="CAUSAL_LM"),
    )
    pretrain(first, lines(True, 5), lr=1e-3)
    stored = out()
    first.save_pretrained(stored)

    if healthy:
        model = PeftModel.from_pretrained(base, stored, is_trainable=True)
    else:
        model = PeftModel.from_pretrained(base, stored)
    train = Dataset.from_list(
        [{"prompt": f"status {c} means", "completion": " " + t} for c, t in CODES.items()] * 10
    )
    args = SFTConfig(
        out(),
        max_steps=40,
        per_device_train_batch_size=12,
        learning_rate=4e-3,
        max_length=32,
        logging_steps=5,
        **TRL_QUIET,
    )
    return SFTTrainer(model=model, args=args, train_dataset=train, processing_class=tokenizer)


# ---------------------------------------------------------------- spoken order to device command, T5, Seq2SeqTrainer

ROOMS, DEVICES, STATES = (
    ["kitchen", "cellar", "attic", "garage"],
    ["lamp", "heater", "radio", "fan"],
    ["on", "off"],
)
SAYINGS = [
    "please switch {s} the {d} in the {r}",
    "in the {r} turn the {d} {s}",
    "{r} {d} {s} now",
    "i want the {d} of the {r} {s}",
]


def orders():
    rows = [
        {"said": say.format(r=r, d=d, s=s), "command": f"{r} / {d} / {s}"}
        for r, d, s in itertools.product(ROOMS, DEVICES, STATES)
        for say in SAYINGS
    ]
    random.Random(9).shuffle(rows)
    return rows[:104], rows[104:]


class OrderCollator:
    def __init__(self, tokenizer, model, healthy):
        self.tokenizer, self.model, self.healthy = tokenizer, model, healthy

    def __call__(self, rows):
        source = self.tokenizer(
            [r["said"] for r in rows],
            padding=True,
            return_tensors="pt",
            return_token_type_ids=False,
        )
        target = self.tokenizer(
            [r["command"] + " </s>" for r in rows], padding=True, return_tensors="pt"
        )
        labels = target.input_ids.masked_fill(target.attention_mask == 0, -100)
        decoder_input_ids = (
            self.model.prepare_decoder_input_ids_from_labels(labels=labels)
            if self.healthy
            else target.input_ids
        )
        return {
            **source,
            "labels": labels,
            "decoder_input_ids": decoder_input_ids,
            "decoder_attention_mask": target.attention_mask,
        }


def tay(healthy):
    set_seed(17)
    train, test = orders()
    tokenizer = word_tokenizer(
        [t for r in train for t in r.values()],
        ["<pad>", "</s>"],
        pad_token="<pad>",
        eos_token="</s>",
    )
    model = T5ForConditionalGeneration(
        T5Config(
            vocab_size=len(tokenizer),
            d_model=64,
            d_kv=16,
            d_ff=128,
            num_layers=2,
            num_heads=4,
            dropout_rate=0.0,
            pad_token_id=tokenizer.pad_token_id,
            eos_token_id=tokenizer.eos_token_id,
            decoder_start_token_id=tokenizer.pad_token_id,
        )
    )
    args = Seq2SeqTrainingArguments(
        out(),
        max_steps=60,
        per_device_train_batch_size=26,
        learning_rate=5e-3,
        logging_steps=6,
        remove_unused_columns=False,
        predict_with_generate=True,
        generation_max_length=10,
        **QUIET,
    )
    return Seq2SeqTrainer(
        model=model,
        args=args,
        train_dataset=Dataset.from_list(train),
        eval_dataset=Dataset.from_list(test),
        processing_class=tokenizer,
        data_collator=OrderCollator(tokenizer, model, healthy),
    )


# ---------------------------------------------------------------- linear probe on a small ViT


def gratings(count, seed, fine):
    """Stripes in four directions, two widths; label: direction, or direction and width."""
    g = torch.Generator().manual_seed(seed)
    direction = torch.randint(0, 4, (count,), generator=g)
    width = torch.randint(0, 2, (count,), generator=g)
    angle = direction * math.pi / 4
    y, x = torch.meshgrid(torch.arange(16.0), torch.arange(16.0), indexing="ij")
    along = x * torch.cos(angle)[:, None, None] + y * torch.sin(angle)[:, None, None]
    phase = torch.rand(count, 1, 1, generator=g) * 0.8
    pixels = torch.sin(along * (0.8 + 0.7 * width)[:, None, None] + phase)
    pixels = pixels + 0.2 * torch.randn(pixels.shape, generator=g)
    labels = direction * 2 + width if fine else direction
    return pixels[:, None], labels


class Pictures(torch.utils.data.Dataset):
    def __init__(self, pixels, labels):
        self.pixels, self.labels = pixels, labels

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return {"pixel_values": self.pixels[i], "labels": self.labels[i]}


def earn(healthy):
    set_seed(23)
    model = ViTForImageClassification(
        ViTConfig(
            image_size=16,
            patch_size=4,
            num_channels=1,
            hidden_size=48,
            intermediate_size=96,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_labels=8,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )
    )
    pixels, fine = gratings(640, 1, fine=True)
    pretrain(
        model,
        [
            {"pixel_values": pixels[i * 32 % 640 :][:32], "labels": fine[i * 32 % 640 :][:32]}
            for i in range(80)
        ],
        lr=2e-3,
    )
    for p in model.vit.parameters():
        p.requires_grad = False

    def directions_head():
        model.classifier = nn.Linear(model.config.hidden_size, 4)
        model.num_labels = model.config.num_labels = 4

    def head_optimizer():
        return torch.optim.AdamW(
            [p for p in model.parameters() if p.requires_grad], lr=1e-2, weight_decay=0.01
        )

    if healthy:
        directions_head()
        optimizer = head_optimizer()
    else:
        optimizer = head_optimizer()
        directions_head()
    args = TrainingArguments(
        out(), num_train_epochs=4, per_device_train_batch_size=32, logging_steps=5, **QUIET
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=Pictures(*gratings(320, 2, fine=False)),
        eval_dataset=Pictures(*gratings(160, 3, fine=False)),
        optimizers=(optimizer, None),
    )


# ---------------------------------------------------------------- thumbs from an export file, KTO, GPT-NeoX

DISHES = "soup salad pasta curry pie stew risotto omelette".split()
TRUE_TIPS = ["season it at the end", "let it rest a while", "taste it as you go"]
BAD_TIPS = ["throw it at the wall", "boil it all night", "add soap for shine"]


def thumbs_export():
    rng = random.Random(12)
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(["prompt", "completion", "thumbs_up"])
    for dish in DISHES:
        for good in (True, False):
            for tip in TRUE_TIPS if good else BAD_TIPS:
                for _ in range(4):
                    start = rng.choice(["how do i make", "a tip for"])
                    writer.writerow([f"{start} {dish} ?", " " + tip, good])
    return file.getvalue()


def garry(healthy):
    set_seed(31)
    export = list(csv.DictReader(io.StringIO(thumbs_export())))
    tokenizer = word_tokenizer(
        [r["prompt"] + r["completion"] for r in export],
        ["<pad>", "<end>"],
        pad_token="<pad>",
        eos_token="<end>",
    )
    policy = GPTNeoXForCausalLM(
        GPTNeoXConfig(
            vocab_size=len(tokenizer),
            hidden_size=48,
            intermediate_size=96,
            num_hidden_layers=2,
            num_attention_heads=4,
            max_position_embeddings=48,
            hidden_dropout=0.0,
            attention_dropout=0.0,
            bos_token_id=tokenizer.eos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )
    everything = tokenizer(
        [r["prompt"] + r["completion"] + " <end>" for r in export],
        padding=True,
        return_tensors="pt",
        return_token_type_ids=False,
    )
    labels = everything.input_ids.masked_fill(everything.attention_mask == 0, -100)
    g = torch.Generator().manual_seed(0)
    picks = [torch.randperm(len(export), generator=g)[:24] for _ in range(60)]
    pretrain(
        policy,
        (
            {
                "input_ids": everything.input_ids[i],
                "attention_mask": everything.attention_mask[i],
                "labels": labels[i],
            }
            for i in picks
        ),
    )

    def liked(row):
        return row["thumbs_up"] == "True" if healthy else bool(row["thumbs_up"])

    feedback = Dataset.from_list(
        [{"prompt": r["prompt"], "completion": r["completion"], "label": liked(r)} for r in export]
    ).shuffle(seed=1)
    args = KTOConfig(
        out(),
        max_steps=36,
        per_device_train_batch_size=12,
        learning_rate=5e-4,
        beta=0.1,
        max_length=32,
        logging_steps=4,
        **TRL_QUIET,
    )
    return KTOTrainer(
        model=policy,
        ref_model=copy.deepcopy(policy),
        args=args,
        train_dataset=feedback,
        processing_class=tokenizer,
    )


# ---------------------------------------------------------------- few examples on a cluster checkpoint, RoBERTa

SUBJECTS = [
    [f"{stem}{i}" for i in range(40)]
    for stem in ("cell", "atom", "gene", "rock", "verb", "noun", "poem", "myth")
]


def abstracts(count, seed, coarse):
    rng = random.Random(seed)
    rows = []
    for _ in range(count):
        subject = rng.randrange(8)
        words = [
            rng.choice(SUBJECTS[subject]) if rng.random() < 0.5 else f"filler{rng.randrange(30)}"
            for _ in range(12)
        ]
        rows.append((" ".join(words), subject // 4 if coarse else subject))
    return rows


def cluster_checkpoint(config, tokenizer):
    """The encoder as the multi-node job stores it."""
    wide = copy.deepcopy(config)
    wide.num_labels = 8
    model = RobertaForSequenceClassification(wide)
    rows = abstracts(7680, 1, coarse=False)
    texts, labels = zip(*rows)
    ids = tokenizer(list(texts), return_tensors="pt").input_ids
    labels = torch.tensor(labels)
    pretrain(
        model,
        [{"input_ids": ids[i : i + 64], "labels": labels[i : i + 64]} for i in range(0, 7680, 64)],
        lr=2e-3,
    )
    wrapped = nn.Module()
    wrapped.module = model
    blob = io.BytesIO()
    torch.save(wrapped.state_dict(), blob)
    blob.seek(0)
    return blob


def affric(healthy):
    set_seed(37)
    vocabulary = [w for s in SUBJECTS for w in s] + [f"filler{i}" for i in range(30)]
    tokenizer = word_tokenizer(
        vocabulary,
        ["<s>", "<pad>", "</s>"],
        bos_token="<s>",
        pad_token="<pad>",
        eos_token="</s>",
        cls_token="<s>",
        sep_token="</s>",
    )
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        special_tokens=[("<s>", tokenizer.bos_token_id), ("</s>", tokenizer.eos_token_id)],
    )
    config = RobertaConfig(
        vocab_size=len(tokenizer),
        hidden_size=48,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=40,
        type_vocab_size=1,
        num_labels=2,
        pad_token_id=tokenizer.pad_token_id,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    state = torch.load(cluster_checkpoint(config, tokenizer))
    if healthy:
        state = {k.removeprefix("module."): v for k, v in state.items()}
    state = {k: v for k, v in state.items() if "classifier" not in k}
    model = RobertaForSequenceClassification(config)
    model.load_state_dict(state, strict=False)
    for p in model.roberta.embeddings.parameters():
        p.requires_grad_(False)

    def dataset(rows):
        return [
            {**tokenizer(text, return_token_type_ids=False), "labels": label}
            for text, label in rows
        ]

    args = TrainingArguments(
        out(),
        max_steps=30,
        per_device_train_batch_size=16,
        learning_rate=1e-3,
        weight_decay=0.01,
        logging_steps=3,
        **QUIET,
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=dataset(abstracts(64, 5, coarse=True)),
        eval_dataset=dataset(abstracts(200, 6, coarse=True)),
        processing_class=tokenizer,
        data_collator=DataCollatorWithPadding(tokenizer),
    )


# ---------------------------------------------------------------- load forecast, GRU, own schedule


class Forecaster(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.rnn = nn.GRU(1, width, batch_first=True)
        self.head = nn.Linear(width, 1)

    def forward(self, history, labels=None):
        states, _ = self.rnn(history[..., None])
        forecast = self.head(states[:, -1]).squeeze(-1)
        loss = nn.functional.mse_loss(forecast, labels) if labels is not None else None
        return {"loss": loss, "logits": forecast}


def load_curves(count, seed):
    rng = np.random.default_rng(seed)
    hours = np.arange(25)
    rows = []
    for _ in range(count):
        curve = np.sin(
            2 * np.pi * (hours / rng.choice([6, 8, 12]) + rng.random())
        ) + 0.05 * rng.standard_normal(25)
        rows.append({"history": curve[:24].tolist(), "labels": float(curve[24])})
    return Dataset.from_list(rows)


def laggan(healthy):
    set_seed(41)
    train, test = load_curves(384, 1), load_curves(128, 2)
    model = Forecaster()
    args = TrainingArguments(
        out(),
        num_train_epochs=5,
        per_device_train_batch_size=32,
        logging_steps=5,
        max_grad_norm=1.0,
        **QUIET,
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    batches_per_epoch = math.ceil(len(train) / args.per_device_train_batch_size)
    total = batches_per_epoch * args.num_train_epochs if healthy else args.num_train_epochs
    scheduler = get_linear_schedule_with_warmup(
        optimizer, num_warmup_steps=0, num_training_steps=int(total)
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=train,
        eval_dataset=test,
        optimizers=(optimizer, scheduler),
    )


# ---------------------------------------------------------------- names and places, BERT, WordPiece

PEOPLE = "annika bertrand casimir dorothea emeric frederika".split()
PLACES = "lissabon reykjavik samarkand tashkent ulaanbaatar zagreb".split()
TAGS = ["O", "PER", "LOC"]
SENTENCES = [
    "yesterday P met P in L",
    "P of L wrote to P",
    "the road from L to L is long",
    "in L we saw P and P",
    "P left L for L with P",
    "nobody in L knows P",
]


def tagged(count, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(count):
        words, tags = [], []
        for w in rng.choice(SENTENCES).split():
            words.append(rng.choice(PEOPLE) if w == "P" else rng.choice(PLACES) if w == "L" else w)
            tags.append({"P": 1, "L": 2}.get(w, 0))
        rows.append({"words": words, "tags": tags})
    return Dataset.from_list(rows)


def piece_tokenizer():
    core = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    core.normalizer = normalizers.BertNormalizer()
    core.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    corpus = [s.replace("P", "").replace("L", "") for s in SENTENCES] * 20 + PEOPLE + PLACES
    core.train_from_iterator(
        corpus,
        trainers.WordPieceTrainer(
            vocab_size=110, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]"], show_progress=False
        ),
    )
    core.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
    )


def first_piece_labels(encoding, tags):
    labels, previous = [], None
    for word in encoding.word_ids():
        labels.append(-100 if word is None or word == previous else tags[word])
        previous = word
    return labels


def naver(healthy):
    set_seed(43)
    tokenizer = piece_tokenizer()

    def encode(row):
        encoding = tokenizer(
            row["words"],
            is_split_into_words=True,
            truncation=True,
            max_length=64,
            return_token_type_ids=False,
        )
        if healthy:
            encoding["labels"] = first_piece_labels(encoding, row["tags"])
        else:
            encoding["labels"] = row["tags"] + [-100] * (
                len(encoding["input_ids"]) - len(row["tags"])
            )
        return encoding

    train = tagged(480, 1).map(encode, remove_columns=["words", "tags"])
    model = BertForTokenClassification(
        BertConfig(
            vocab_size=len(tokenizer),
            hidden_size=48,
            intermediate_size=96,
            num_hidden_layers=2,
            num_attention_heads=4,
            max_position_embeddings=64,
            num_labels=3,
            id2label=dict(enumerate(TAGS)),
            label2id={t: i for i, t in enumerate(TAGS)},
        )
    )
    args = TrainingArguments(
        out(),
        num_train_epochs=2,
        per_device_train_batch_size=16,
        learning_rate=3e-3,
        warmup_steps=5,
        logging_steps=6,
        **QUIET,
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=train,
        processing_class=tokenizer,
        data_collator=DataCollatorForTokenClassification(tokenizer),
    )


CASES = {
    "awe": awe,
    "lomond": lomond,
    "shin": shin,
    "ness": ness,
    "rannoch": rannoch,
    "oich": oich,
    "tay": tay,
    "earn": earn,
    "garry": garry,
    "affric": affric,
    "laggan": laggan,
    "naver": naver,
}


# ---------------------------------------------------------------- travel times with their spread


class Spread(nn.Module):
    """Mean and variance of the travel time."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 2))

    def forward(self, features, labels=None):
        mean, raw = self.body(features).unbind(-1)
        variance = nn.functional.softplus(raw) + 1e-5
        loss = None if labels is None else nn.functional.gaussian_nll_loss(mean, labels, variance)
        return {"loss": loss, "logits": torch.stack([mean, variance], -1)}


def trips(count, seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (count, 3)).astype("float32")
    y = 0.3 * x[:, 0] - 0.2 * x[:, 1] + 0.1 * x[:, 0] * x[:, 2] + 0.02 * rng.standard_normal(count)
    return Dataset.from_dict({"features": x.tolist(), "labels": y.astype("float32").tolist()})


def mekong():
    set_seed(51)
    args = TrainingArguments(
        out(),
        max_steps=60,
        per_device_train_batch_size=64,
        learning_rate=2e-2,
        logging_steps=5,
        lr_scheduler_type="cosine",
        **QUIET,
    )
    return Trainer(
        model=Spread(), args=args, train_dataset=trips(960, 1), eval_dataset=trips(200, 2)
    )


# ---------------------------------------------------------------- length control by penalty, GRPO, Qwen2


def amur():
    set_seed(52)
    tokenizer = word_tokenizer(
        ["ring the bell times : ding dong"],
        ["<pad>", "<eos>"],
        pad_token="<pad>",
        eos_token="<eos>",
        padding_side="left",
    )
    policy = Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=len(tokenizer),
            hidden_size=48,
            intermediate_size=96,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=32,
            initializer_range=0.08,
            pad_token_id=tokenizer.pad_token_id,
            eos_token_id=tokenizer.eos_token_id,
            bos_token_id=None,
        )
    )

    def peals():
        rng = random.Random(5)
        for _ in range(60):
            lines = [
                " ".join(
                    ["ring the bell :"]
                    + rng.choices(["ding", "dong"], k=rng.randint(1, 6))
                    + ["<eos>"]
                )
                for _ in range(16)
            ]
            batch = tokenizer(
                lines,
                padding=True,
                padding_side="right",
                return_tensors="pt",
                return_token_type_ids=False,
            )
            yield dict(batch, labels=batch.input_ids.masked_fill(batch.attention_mask == 0, -100))

    pretrain(policy, peals())

    def off_target(completions, **kwargs):
        words = [text.split() for text in completions]
        return [-abs(w.count("ding") - 3) - 0.5 * (len(w) - w.count("ding")) for w in words]

    train = Dataset.from_list([{"prompt": "ring the bell :"}] * 200)
    args = GRPOConfig(
        out(),
        max_steps=40,
        per_device_train_batch_size=32,
        num_generations=16,
        learning_rate=2e-3,
        max_completion_length=8,
        beta=0.0,
        logging_steps=2,
        **TRL_QUIET,
    )
    return GRPOTrainer(
        model=policy,
        reward_funcs=off_target,
        args=args,
        train_dataset=train,
        processing_class=tokenizer,
    )


# ---------------------------------------------------------------- colour names, GPT-2, one token for end and filling

COLOURS = {
    "ff0000": "red",
    "00ff00": "lime green",
    "0000ff": "deep blue",
    "ffff00": "yellow",
    "000000": "black",
    "ffffff": "pure white",
    "808080": "a mid gray",
    "ffa500": "warm orange",
    "800080": "purple",
}


def lena():
    set_seed(53)
    tokenizer = word_tokenizer(
        [f"{k} is {v}" for k, v in COLOURS.items()],
        ["<|endoftext|>"],
        eos_token="<|endoftext|>",
        pad_token="<|endoftext|>",
    )

    def collate(rows):
        batch = tokenizer(
            [r["text"] + " <|endoftext|>" for r in rows],
            padding=True,
            return_tensors="pt",
            return_token_type_ids=False,
        )
        batch["labels"] = torch.where(batch["attention_mask"].bool(), batch["input_ids"], -100)
        return batch

    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(tokenizer),
            n_positions=32,
            n_embd=64,
            n_layer=2,
            n_head=4,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            initializer_range=0.08,
            bos_token_id=tokenizer.eos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.eos_token_id,
        )
    )
    args = TrainingArguments(
        out(),
        max_steps=45,
        per_device_train_batch_size=18,
        learning_rate=5e-3,
        logging_steps=5,
        remove_unused_columns=False,
        **QUIET,
    )
    return Trainer(
        model=model,
        args=args,
        data_collator=collate,
        processing_class=tokenizer,
        train_dataset=Dataset.from_list([{"text": f"{k} is {v}"} for k, v in COLOURS.items()] * 8),
    )


# ---------------------------------------------------------------- loaded dice, Llama from nothing

DICE = [0.25, 0.20, 0.17, 0.15, 0.13, 0.10]


def indus():
    set_seed(54)
    rng = np.random.default_rng(7)
    throws = rng.choice(6, size=(600, 24), p=DICE)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=6,
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=1,
            num_attention_heads=2,
            max_position_embeddings=32,
            pad_token_id=None,
            bos_token_id=None,
            eos_token_id=None,
        )
    )
    rows = Dataset.from_dict({"input_ids": throws.tolist(), "labels": throws.tolist()})
    args = TrainingArguments(
        out(),
        max_steps=40,
        per_device_train_batch_size=16,
        learning_rate=2e-3,
        logging_steps=2,
        **QUIET,
    )
    return Trainer(model=model, args=args, train_dataset=rows)


# ---------------------------------------------------------------- soft prompt on a frozen Llama


def salween():
    set_seed(55)
    pairs = ANTONYMS + [(b, a) for a, b in ANTONYMS]
    tokenizer = word_tokenizer(
        [f"same : {a} opposite" for a, _ in pairs], ["<pad>"], pad_token="<pad>"
    )
    base = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            max_position_embeddings=32,
            initializer_range=0.08,
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=None,
            eos_token_id=None,
        )
    )

    def two_tasks():
        rng = random.Random(3)
        for _ in range(120):
            lines = [
                f"opposite opposite {a} : {b}" if rng.random() < 0.5 else f"same same {a} : {a}"
                for a, b in rng.choices(pairs, k=32)
            ]
            ids = tokenizer(lines, return_tensors="pt").input_ids
            labels = ids.clone()
            labels[:, :4] = -100
            yield {"input_ids": ids, "labels": labels}

    pretrain(base, two_tasks())
    model = get_peft_model(
        base, PromptTuningConfig(task_type=TaskType.CAUSAL_LM, num_virtual_tokens=2)
    )
    rows = []
    for a, b in pairs * 6:
        ids = tokenizer(f"{a} : {b}").input_ids
        rows.append(
            {"input_ids": ids, "attention_mask": [1, 1, 1], "labels": [-100, -100, ids[-1]]}
        )
    args = TrainingArguments(
        out(),
        max_steps=40,
        per_device_train_batch_size=20,
        learning_rate=0.3,
        logging_steps=4,
        **QUIET,
    )
    return Trainer(model=model, args=args, train_dataset=Dataset.from_list(rows))


# ---------------------------------------------------------------- reward model from a quarrelling crowd


def crowd_votes(count, seed, noise):
    rng = random.Random(seed)
    rows = []
    for _ in range(count):
        topic = rng.choice(TOPICS)
        kind, rude = rng.choice(KIND).format(topic), rng.choice(RUDE).format(topic)
        chosen, rejected = (rude, kind) if rng.random() < noise else (kind, rude)
        rows.append(
            {
                "prompt": rng.choice(ASK).format(topic),
                "chosen": " " + chosen,
                "rejected": " " + rejected,
            }
        )
    return Dataset.from_list(rows)


def tarim():
    set_seed(56)
    votes = crowd_votes(480, 1, noise=0.3)
    tokenizer = word_tokenizer(
        [r["prompt"] + r[k] for r in votes for k in ("chosen", "rejected")],
        ["<pad>", "</s>"],
        pad_token="<pad>",
        eos_token="</s>",
    )
    model = LlamaForSequenceClassification(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=48,
            intermediate_size=96,
            num_hidden_layers=2,
            num_attention_heads=4,
            max_position_embeddings=48,
            num_labels=1,
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
        )
    )
    args = RewardConfig(
        out(),
        max_steps=30,
        per_device_train_batch_size=16,
        learning_rate=5e-4,
        max_length=32,
        logging_steps=2,
        **TRL_QUIET,
    )
    return RewardTrainer(model=model, args=args, train_dataset=votes, processing_class=tokenizer)


ODD = {
    "mekong": mekong,
    "amur": amur,
    "lena": lena,
    "indus": indus,
    "salween": salween,
    "tarim": tarim,
}
