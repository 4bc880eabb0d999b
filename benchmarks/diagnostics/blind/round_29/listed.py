"""Small training runs: every function returns a Trainer that is ready for .train()."""

import copy
import csv
import io
import itertools
import json
import math
import random
import re
import tempfile
from dataclasses import dataclass, field

import datasets
import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F
from datasets import Dataset
from peft import LoraConfig, get_peft_model
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
from torch.utils.data import DataLoader
from transformers import (
    BertConfig,
    BertForTokenClassification,
    DataCollatorForLanguageModeling,
    DataCollatorForSeq2Seq,
    DataCollatorForTokenClassification,
    DataCollatorWithPadding,
    DistilBertConfig,
    DistilBertForSequenceClassification,
    EsmConfig,
    EsmForSequenceClassification,
    GPT2Config,
    GPT2LMHeadModel,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    LlamaForSequenceClassification,
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
    TrainerCallback,
    TrainingArguments,
    ViTConfig,
    ViTForImageClassification,
    get_cosine_schedule_with_warmup,
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


def out_dir():
    return tempfile.mkdtemp(prefix="run_")


QUIET = dict(use_cpu=True, report_to="none", save_strategy="no", disable_tqdm=True)


def word_tokenizer(corpus, specials=("<pad>", "<unk>", "<s>", "</s>"), **kwargs):
    core = Tokenizer(models.WordLevel(unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    reserved = re.compile("|".join(map(re.escape, specials)))
    corpus = (reserved.sub(" ", line) for line in corpus)
    core.train_from_iterator(corpus, trainers.WordLevelTrainer(special_tokens=list(specials)))
    names = dict(pad_token="<pad>", unk_token="<unk>", bos_token="<s>", eos_token="</s>")
    names.update(kwargs)
    return PreTrainedTokenizerFast(tokenizer_object=core, **names)


def warm_start(model, batches, lr=3e-3, steps=60):
    """A few plain steps, so that the run starts from a model that already speaks."""
    opt = torch.optim.AdamW(model.parameters(), lr=lr)
    model.train()
    for batch in itertools.islice(itertools.cycle(batches), steps):
        loss = model(**batch).loss
        loss.backward()
        opt.step()
        opt.zero_grad()
    return model


def lm_batches(tok, texts, size=32, rng=None):
    texts = list(texts)
    (rng or random).shuffle(texts)
    out = []
    for i in range(0, len(texts) - size + 1, size):
        enc = tok(
            texts[i : i + size], padding=True, return_tensors="pt", return_token_type_ids=False
        )
        enc["labels"] = enc["input_ids"].masked_fill(enc["attention_mask"] == 0, -100)
        out.append(dict(enc))
    return out


# --------------------------------------------------------------------------------------
# help desk replies, plain causal LM fine-tuning
# --------------------------------------------------------------------------------------
DESK = [
    (
        "where is my parcel {n}",
        "Your parcel {n} left our warehouse and will arrive within two days.",
    ),
    (
        "i want to return order {n}",
        "Please use the return label of order {n} and drop it at any shop.",
    ),
    ("can i get an invoice for {n}", "The invoice for {n} was sent to your mail address."),
    (
        "i forgot the password of account {n}",
        "A link to reset the password of account {n} is on its way.",
    ),
    ("please cancel subscription {n}", "Subscription {n} is cancelled at the end of this month."),
]


def desk_texts(count, seed):
    rng = random.Random(seed)
    for _ in range(count):
        q, a = rng.choice(DESK)
        n = str(rng.randint(100, 999))
        yield f"Customer: {q.format(n=n)}\nAgent: {a.format(n=n)}<|endoftext|>"


def drava(healthy: bool):
    set_seed(11)
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    core.train_from_iterator(
        desk_texts(400, 0),
        trainers.BpeTrainer(
            vocab_size=420,
            special_tokens=["<|endoftext|>"],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    tok = PreTrainedTokenizerFast(
        tokenizer_object=core, eos_token="<|endoftext|>", bos_token="<|endoftext|>"
    )
    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(tok),
            n_positions=128,
            n_embd=96,
            n_layer=2,
            n_head=4,
            bos_token_id=tok.bos_token_id,
            eos_token_id=tok.eos_token_id,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
        )
    )
    if healthy:
        tok.add_special_tokens({"pad_token": "<|pad|>"})
        model.resize_token_embeddings(len(tok))
    else:
        tok.pad_token = tok.eos_token
    model.config.pad_token_id = tok.pad_token_id

    def encode(batch):
        return tok(batch["text"], truncation=True, max_length=96)

    def split(count, seed):
        ds = Dataset.from_dict({"text": list(desk_texts(count, seed))})
        return ds.map(encode, batched=True, remove_columns="text")

    return Trainer(
        model=model,
        args=TrainingArguments(
            out_dir(),
            max_steps=60,
            per_device_train_batch_size=16,
            learning_rate=4e-3,
            lr_scheduler_type="cosine",
            warmup_steps=5,
            logging_steps=5,
            seed=11,
            **QUIET,
        ),
        train_dataset=split(640, 1),
        eval_dataset=split(48, 2),
        data_collator=DataCollatorForLanguageModeling(tok, mlm=False),
        processing_class=tok,
    )


# --------------------------------------------------------------------------------------
# entities in news lines
# --------------------------------------------------------------------------------------
TAGS = ["O", "PER", "ORG", "LOC"]
PARTS = {
    "PER": (["anne", "karl", "marik", "jor", "sol"], ["liese", "heinz", "ova", "dan", "veig"]),
    "ORG": (["nor", "tele", "agri", "bio", "stahl"], ["vatek", "corp", "werke", "gruppe", "sys"]),
    "LOC": (["ravens", "ober", "linden", "frei", "wald"], ["burg", "dorf", "heim", "stadt", "tal"]),
}
NEWS = [
    "yesterday PER of ORG went to LOC",
    "the board of ORG in LOC has elected PER",
    "PER says that ORG will leave LOC soon",
    "a new plant of ORG opens near LOC",
    "in LOC the police asked PER about ORG and PER",
    "ORG and ORG merge said PER in LOC",
]


def news(count, seed):
    rng = random.Random(seed)
    for _ in range(count):
        words, tags = [], []
        for w in rng.choice(NEWS).split():
            if w in PARTS:
                a, b = PARTS[w]
                words.append(rng.choice(a) + rng.choice(b))
                tags.append(TAGS.index(w))
            else:
                words.append(w)
                tags.append(0)
        yield {"words": words, "tags": tags}


class EntityData:
    def __init__(self, tok, use_word_ids):
        self.tok, self.use_word_ids = tok, use_word_ids

    def __call__(self, row):
        enc = self.tok(row["words"], is_split_into_words=True, truncation=True, max_length=48)
        if self.use_word_ids:
            labels, last = [], None
            for w in enc.word_ids():
                labels.append(-100 if w is None or w == last else row["tags"][w])
                last = w
        else:
            n = len(enc["input_ids"])
            labels = row["tags"][:n] + [-100] * (n - len(row["tags"]))
        return {**enc, "labels": labels}

    def table(self, count, seed):
        return Dataset.from_list(list(news(count, seed))).map(
            self, remove_columns=["words", "tags"]
        )


def loire(healthy: bool):
    set_seed(12)
    core = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    core.normalizer = normalizers.BertNormalizer(lowercase=True)
    core.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    core.train_from_iterator(
        (" ".join(r["words"]) for r in news(300, 0)),
        trainers.WordPieceTrainer(
            vocab_size=150,
            special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"],
            show_progress=False,
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
        mask_token="[MASK]",
    )
    data = EntityData(tok, use_word_ids=healthy)
    config = BertConfig(
        vocab_size=len(tok),
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=128,
        max_position_embeddings=64,
        num_labels=len(TAGS),
        id2label=dict(enumerate(TAGS)),
        label2id={t: i for i, t in enumerate(TAGS)},
    )

    def scores(pred):
        guess, gold = pred.predictions.argmax(-1), pred.label_ids
        keep = gold != -100
        named = keep & (gold > 0)
        return {
            "accuracy": (guess == gold)[keep].mean(),
            "entity_recall": (guess == gold)[named].mean(),
        }

    return Trainer(
        model=BertForTokenClassification(config),
        args=TrainingArguments(
            out_dir(),
            max_steps=60,
            per_device_train_batch_size=16,
            learning_rate=2e-3,
            logging_steps=10,
            eval_strategy="steps",
            eval_steps=30,
            seed=12,
            **QUIET,
        ),
        train_dataset=data.table(600, 1),
        eval_dataset=data.table(80, 2),
        data_collator=DataCollatorForTokenClassification(tok),
        compute_metrics=scores,
        processing_class=tok,
    )


# --------------------------------------------------------------------------------------
# order records -> letters
# --------------------------------------------------------------------------------------
BUYERS = "ann bob carla dan".split()
TOWNS = "rome paris oslo bern".split()
GOODS = "lamp chair desk radio clock".split()


def letter_rows(count, seed):
    rng = random.Random(seed)
    for _ in range(count):
        b, t, g = rng.choice(BUYERS), rng.choice(TOWNS), rng.choice(GOODS)
        yield {
            "record": f"buyer {b} town {t} item {g}",
            "letter": f"dear {b} , thank you for your order . we packed the {g} today and our driver will bring "
            f"it to {t} within five working days . if the {g} is damaged please write to us . "
            f"kind regards , the shop",
        }


def tagus(healthy: bool):
    set_seed(13)
    rows = list(letter_rows(1500, 1))
    tok = word_tokenizer([r["record"] for r in rows] + [r["letter"] for r in rows])
    config = T5Config(
        vocab_size=len(tok),
        d_model=64,
        d_kv=16,
        d_ff=128,
        num_layers=2,
        num_heads=4,
        dropout_rate=0.0,
        decoder_start_token_id=tok.pad_token_id,
        pad_token_id=tok.pad_token_id,
        eos_token_id=tok.eos_token_id,
    )
    model = T5ForConditionalGeneration(config)

    def prepare(batch):
        enc = tok(batch["record"], return_token_type_ids=False)
        enc["labels"] = [ids + [tok.eos_token_id] for ids in tok(batch["letter"])["input_ids"]]
        return enc

    def table(items):
        return Dataset.from_list(list(items)).map(
            prepare, batched=True, remove_columns=["record", "letter"]
        )

    def exact(pred):
        guess = np.where(pred.predictions < 0, tok.pad_token_id, pred.predictions)
        gold = np.where(pred.label_ids < 0, tok.pad_token_id, pred.label_ids)
        a = tok.batch_decode(guess, skip_special_tokens=True)
        b = tok.batch_decode(gold, skip_special_tokens=True)
        return {
            "exact": float(np.mean([x == y for x, y in zip(a, b)])),
            "words": float(np.mean([len(x.split()) for x in a])),
        }

    decoding = {"generation_max_length": 96} if healthy else {}
    return Seq2SeqTrainer(
        model=model,
        args=Seq2SeqTrainingArguments(
            out_dir(),
            max_steps=60,
            per_device_train_batch_size=32,
            per_device_eval_batch_size=16,
            learning_rate=6e-3,
            warmup_steps=5,
            logging_steps=10,
            eval_strategy="steps",
            eval_steps=30,
            predict_with_generate=True,
            seed=13,
            **decoding,
            **QUIET,
        ),
        train_dataset=table(rows),
        eval_dataset=table(letter_rows(16, 2)),
        data_collator=DataCollatorForSeq2Seq(tok, model=model),
        compute_metrics=exact,
        processing_class=tok,
    )


# --------------------------------------------------------------------------------------
# chat format for a base model, LoRA
# --------------------------------------------------------------------------------------
CAPITALS = {
    "france": "paris",
    "italy": "rome",
    "norway": "oslo",
    "peru": "lima",
    "latvia": "riga",
    "japan": "tokyo",
    "egypt": "cairo",
    "cuba": "havana",
}
CHATML = (
    "{% for m in messages %}{{ '<|im_start|> ' + m['role'] + ' ' + m['content'] + ' <|im_end|> ' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|> assistant ' }}{% endif %}"
)


def elbe(healthy: bool):
    set_seed(14)
    rng = random.Random(14)
    asks = [
        "what is the capital of {c} ?",
        "name the capital of {c} .",
        "tell me which city leads {c} ?",
    ]
    tells = ["the capital of {c} is {t} .", "it is {t} of course .", "{t} is the capital ."]

    def pair():
        c = rng.choice(list(CAPITALS))
        k = rng.randrange(3)
        return asks[k].format(c=c), tells[k].format(c=c, t=CAPITALS[c])

    plain = [" ".join(pair()) for _ in range(960)]
    tok = word_tokenizer(plain + ["user assistant system"])
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tok),
            hidden_size=64,
            intermediate_size=160,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=4,
            max_position_embeddings=128,
            tie_word_embeddings=False,
            pad_token_id=tok.pad_token_id,
            bos_token_id=tok.bos_token_id,
            eos_token_id=tok.eos_token_id,
        )
    )
    warm_start(model, lm_batches(tok, plain, rng=rng), lr=2e-3, steps=200)

    tok.add_special_tokens({"additional_special_tokens": ["<|im_start|>", "<|im_end|>"]})
    tok.eos_token = "<|im_end|>"
    tok.chat_template = CHATML
    model.resize_token_embeddings(len(tok))
    model.config.eos_token_id = model.generation_config.eos_token_id = tok.eos_token_id

    def chats(n):
        for _ in range(n):
            q, a = pair()
            yield {
                "messages": [{"role": "user", "content": q}, {"role": "assistant", "content": a}]
            }

    lora = dict(r=16, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM")
    if healthy:
        lora["modules_to_save"] = ["embed_tokens", "lm_head"]
    return SFTTrainer(
        model=model,
        args=SFTConfig(
            out_dir(),
            max_steps=60,
            per_device_train_batch_size=16,
            learning_rate=2e-3,
            max_length=64,
            logging_steps=5,
            gradient_checkpointing=False,
            bf16=False,
            seed=14,
            **QUIET,
        ),
        train_dataset=Dataset.from_list(list(chats(400))),
        eval_dataset=Dataset.from_list(list(chats(40))),
        processing_class=tok,
        peft_config=LoraConfig(**lora),
    )


# --------------------------------------------------------------------------------------
# travel requests, head first and then the encoder
# --------------------------------------------------------------------------------------
class HeadFirst(TrainerCallback):
    """Trains only the head for a while, then everything."""

    def __init__(self, backbone, until):
        self.backbone, self.until = backbone, until

    def set(self, flag):
        for p in self.backbone.parameters():
            p.requires_grad_(flag)

    def on_step_begin(self, args, state, control, **kwargs):
        if state.global_step == self.until:
            self.set(True)


class HeadThenAll(HeadFirst):
    def on_train_begin(self, args, state, control, **kwargs):
        self.set(False)


def travel_rows(count, seed):
    rng = random.Random(seed)
    for _ in range(count):
        a, b = rng.sample(range(4), 2)
        lead = rng.choice(
            ["i need a train", "book me a seat", "please find a bus", "we all travel"]
        )
        yield {
            "text": f"{lead} from {TOWNS[a]} to {TOWNS[b]}"
            + rng.choice(["", " today", " on monday"]),
            "label": b,
        }


def vltava(healthy: bool):
    set_seed(15)
    tok = word_tokenizer((r["text"] for r in travel_rows(300, 0)), model_max_length=32)
    model = DistilBertForSequenceClassification(
        DistilBertConfig(
            vocab_size=len(tok),
            dim=64,
            hidden_dim=128,
            n_layers=2,
            n_heads=4,
            max_position_embeddings=32,
            pad_token_id=tok.pad_token_id,
            num_labels=4,
            dropout=0.0,
            attention_dropout=0.0,
            seq_classif_dropout=0.1,
        )
    )

    def table(count, seed):
        ds = Dataset.from_list(list(travel_rows(count, seed)))
        return ds.map(
            lambda b: tok(
                [f"<s> {t}" for t in b["text"]], truncation=True, return_token_type_ids=False
            ),
            batched=True,
            remove_columns="text",
        )

    if healthy:
        stage = HeadThenAll(model.distilbert, until=8)
    else:
        stage = HeadFirst(model.distilbert, until=8)
        stage.set(False)

    return Trainer(
        model=model,
        args=TrainingArguments(
            out_dir(),
            max_steps=60,
            per_device_train_batch_size=64,
            learning_rate=3e-3,
            logging_steps=5,
            lr_scheduler_type="constant_with_warmup",
            warmup_steps=3,
            eval_strategy="steps",
            eval_steps=20,
            seed=15,
            **QUIET,
        ),
        train_dataset=table(1500, 1),
        eval_dataset=table(128, 2),
        data_collator=DataCollatorWithPadding(tok),
        compute_metrics=lambda p: {
            "accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())
        },
        callbacks=[stage],
        processing_class=tok,
    )


# --------------------------------------------------------------------------------------
# preferences between two support answers
# --------------------------------------------------------------------------------------
SYSTEM = (
    "you are the assistant of a small telephone company . you answer in the language of the customer , you never "
    "promise refunds and you stay calm ."
)
ISSUES = "phone router invoice contract modem signal number voicemail".split()
OPENING = "hello and thank you for writing to us about your {i} . let me look at this for you ."
KIND = [
    "please restart the {i} and wait one minute",
    "i have opened a ticket for the {i} and we call you",
]
CURT = ["the {i} is not our problem", "read the manual of the {i} and do not write again"]


@dataclass
class Preferences:
    max_length: int
    beta: float = 0.1
    lr: float = 2e-4
    steps: int = 40
    rng: random.Random = field(default_factory=lambda: random.Random(16))

    def answer(self, endings, issue):
        return (OPENING + " " + self.rng.choice(endings)).format(i=issue)

    def rows(self, n):
        for _ in range(n):
            i = self.rng.choice(ISSUES)
            yield {
                "prompt": [
                    {"role": "system", "content": SYSTEM},
                    {"role": "user", "content": f"my {i} does not work"},
                ],
                "chosen": [{"role": "assistant", "content": self.answer(KIND, i)}],
                "rejected": [{"role": "assistant", "content": self.answer(CURT, i)}],
            }


def mosel(healthy: bool):
    set_seed(16)
    plan = Preferences(max_length=160 if healthy else 56)
    rows = list(plan.rows(320))
    template = (
        "{% for m in messages %}{{ '[' + m['role'] + '] ' + m['content'] + ' ' + eos_token + ' ' }}{% endfor %}"
        "{% if add_generation_prompt %}{{ '[assistant] ' }}{% endif %}"
    )
    texts = []
    for r in rows:
        lead = f"[system] {SYSTEM} </s> [user] {r['prompt'][1]['content']} </s> [assistant] "
        texts += [
            lead + r["chosen"][0]["content"] + " </s>",
            lead + r["rejected"][0]["content"] + " </s>",
        ]
    tok = word_tokenizer(texts)
    tok.chat_template = template
    policy = Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=len(tok),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=256,
            tie_word_embeddings=True,
            pad_token_id=tok.pad_token_id,
            bos_token_id=tok.bos_token_id,
            eos_token_id=tok.eos_token_id,
        )
    )
    warm_start(policy, lm_batches(tok, texts, size=16, rng=random.Random(1)), steps=45)
    return DPOTrainer(
        model=policy,
        ref_model=copy.deepcopy(policy),
        args=DPOConfig(
            out_dir(),
            max_steps=plan.steps,
            per_device_train_batch_size=8,
            learning_rate=plan.lr,
            beta=plan.beta,
            max_length=plan.max_length,
            logging_steps=5,
            gradient_checkpointing=False,
            bf16=False,
            seed=16,
            **QUIET,
        ),
        train_dataset=Dataset.from_list(rows),
        eval_dataset=Dataset.from_list(list(plan.rows(32))),
        processing_class=tok,
    )


# --------------------------------------------------------------------------------------
# thumbs up / thumbs down from a web form
# --------------------------------------------------------------------------------------
DISHES = "soup pasta salad pizza curry stew cake bread".split()
LIKED = ["chop the vegetables and cook them slowly", "use fresh herbs and a little salt"]
DISLIKED = ["just order it somewhere", "i do not know look it up"]


def feedback_csv(count, seed):
    rng = random.Random(seed)
    buf = io.StringIO()
    out = csv.DictWriter(buf, ["question", "reply", "thumbs_up"])
    out.writeheader()
    verdicts = [True, False] * (count // 2)
    rng.shuffle(verdicts)
    for good in verdicts:
        dish = rng.choice(DISHES)
        reply = f"for {dish} {rng.choice(LIKED if good else DISLIKED)}"
        out.writerow({"question": f"how do i make {dish} ?", "reply": reply, "thumbs_up": good})
    return buf.getvalue()


def sava(healthy: bool):
    set_seed(17)

    def verdict(cell):
        return cell.strip().lower() == "true" if healthy else bool(cell)

    def load(count, seed):
        rows = list(csv.DictReader(io.StringIO(feedback_csv(count, seed))))
        return Dataset.from_list(
            [
                {
                    "prompt": r["question"],
                    "completion": " " + r["reply"],
                    "label": verdict(r["thumbs_up"]),
                }
                for r in rows
            ]
        )

    train = load(640, 1)
    sft = [f"{r['prompt']}{r['completion']}</s>" for r in train]
    tok = word_tokenizer(sft)
    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(tok),
            n_positions=64,
            n_embd=64,
            n_layer=2,
            n_head=4,
            pad_token_id=tok.pad_token_id,
            bos_token_id=tok.bos_token_id,
            eos_token_id=tok.eos_token_id,
        )
    )
    warm_start(model, lm_batches(tok, sft, rng=random.Random(2)), lr=2e-3, steps=150)
    return KTOTrainer(
        model=model,
        ref_model=copy.deepcopy(model),
        args=KTOConfig(
            out_dir(),
            max_steps=60,
            per_device_train_batch_size=32,
            learning_rate=1e-4,
            beta=0.1,
            max_length=48,
            logging_steps=5,
            gradient_checkpointing=False,
            bf16=False,
            seed=17,
            **QUIET,
        ),
        train_dataset=train,
        processing_class=tok,
    )


# --------------------------------------------------------------------------------------
# reward model from ranked answers
# --------------------------------------------------------------------------------------
GARDEN = "rose tulip tomato basil fern cactus orchid mint".split()
BY_QUALITY = [
    [
        "water the {p} every morning and give it light",
        "put the {p} in loose soil and trim dry leaves",
    ],
    ["the {p} needs water", "give the {p} some light"],
    ["plants are nice", "maybe ask a friend about it"],
    ["who cares about your {p}", "throw the {p} away"],
]


def annotations(count, seed):
    """What the labelling tool exports: one line of JSON for a question with all its answers."""
    rng = random.Random(seed)
    for k in range(count):
        p = rng.choice(GARDEN)
        answers = [
            {"text": rng.choice(a).format(p=p), "rank": r + 1} for r, a in enumerate(BY_QUALITY)
        ]
        rng.shuffle(answers)
        yield json.dumps(
            {"id": k, "question": f"how do i keep my {p} healthy ?", "answers": answers}
        )


def garden_bench(count, seed):
    rng = random.Random(seed)
    for _ in range(count):
        p = rng.choice(GARDEN)
        hi, lo = sorted(rng.sample(range(4), 2))
        yield {
            "prompt": f"how do i keep my {p} healthy ?",
            "chosen": " " + rng.choice(BY_QUALITY[hi]).format(p=p),
            "rejected": " " + rng.choice(BY_QUALITY[lo]).format(p=p),
        }


def tisza(healthy: bool):
    set_seed(18)

    def pairs(lines):
        for line in lines:
            item = json.loads(line)
            ranked = sorted(item["answers"], key=lambda a: a["rank"], reverse=not healthy)
            for better, worse in itertools.combinations(ranked, 2):
                yield {
                    "prompt": item["question"],
                    "chosen": " " + better["text"],
                    "rejected": " " + worse["text"],
                    "chosen_rank": better["rank"],
                    "rejected_rank": worse["rank"],
                }

    train = Dataset.from_list(list(pairs(annotations(120, 1))))
    tok = word_tokenizer(t for r in train for t in (r["prompt"], r["chosen"], r["rejected"]))
    model = LlamaForSequenceClassification(
        LlamaConfig(
            vocab_size=len(tok),
            hidden_size=48,
            intermediate_size=96,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=64,
            num_labels=1,
            pad_token_id=tok.pad_token_id,
            bos_token_id=tok.bos_token_id,
            eos_token_id=tok.eos_token_id,
        )
    )
    return RewardTrainer(
        model=model,
        args=RewardConfig(
            out_dir(),
            max_steps=40,
            per_device_train_batch_size=16,
            learning_rate=1e-3,
            max_length=48,
            logging_steps=5,
            eval_strategy="steps",
            eval_steps=10,
            gradient_checkpointing=False,
            bf16=False,
            seed=18,
            **QUIET,
        ),
        train_dataset=train,
        eval_dataset=Dataset.from_list(list(garden_bench(64, 2))),
        processing_class=tok,
    )


# --------------------------------------------------------------------------------------
# GRPO on answers between tags
# --------------------------------------------------------------------------------------
TAG_WORDS = ["<answer>", "</answer>"]
ANIMALS = {"spider": 8, "cow": 4, "hen": 2, "ant": 6, "snake": 0, "crab": 8, "horse": 4, "duck": 2}


def inside_answer(text):
    found = re.fullmatch(r"\s*<answer>\s*(.*?)\s*</answer>\s*", text, re.DOTALL)
    return found.group(1) if found else None


def legs_reward(completions, legs, **kwargs):
    return [1.0 if inside_answer(c) == str(n) else 0.0 for c, n in zip(completions, legs)]


def morava(healthy: bool):
    set_seed(19)
    rng = random.Random(19)

    def demo():
        a = rng.choice(list(ANIMALS))
        n = ANIMALS[a] if rng.random() < 0.3 else rng.choice([0, 2, 4, 6, 8])
        return f"how many legs has a {a} ? <answer> {n} </answer> </s>"

    demos = [demo() for _ in range(960)]
    tok = word_tokenizer(re.sub("|".join(TAG_WORDS), " ", d) for d in demos)
    tok.add_tokens(TAG_WORDS, special_tokens=not healthy)
    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(tok),
            n_positions=48,
            n_embd=64,
            n_layer=2,
            n_head=4,
            pad_token_id=tok.pad_token_id,
            bos_token_id=tok.bos_token_id,
            eos_token_id=tok.eos_token_id,
            initializer_range=0.08,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
        )
    )
    warm_start(model, lm_batches(tok, demos, rng=rng), lr=2e-3, steps=100)
    rows = [{"prompt": f"how many legs has a {a} ?", "legs": n} for a, n in ANIMALS.items()]
    return GRPOTrainer(
        model=model,
        reward_funcs=legs_reward,
        args=GRPOConfig(
            out_dir(),
            max_steps=40,
            per_device_train_batch_size=64,
            num_generations=8,
            max_completion_length=12,
            learning_rate=1e-3,
            beta=0.0,
            logging_steps=3,
            gradient_checkpointing=False,
            bf16=False,
            seed=19,
            **QUIET,
        ),
        train_dataset=Dataset.from_list(rows * 8),
        processing_class=tok,
    )


# --------------------------------------------------------------------------------------
# protein families, an adapter on a trained encoder with its own optimizer
# --------------------------------------------------------------------------------------
AMINO = "ACDEFGHIKLMNPQRSTVWY"
MOTIFS = ["GKST", "HEWH", "CPYC", "DFGN"]


def proteins(count, seed, families):
    rng = random.Random(seed)
    for _ in range(count):
        label = rng.randrange(len(families))
        seq = [rng.choice(AMINO) for _ in range(24)]
        for motif in families[label]:
            at = rng.randrange(0, 20)
            seq[at : at + 4] = MOTIFS[motif]
        yield {"sequence": "".join(seq), "label": label}


class ProteinLab:
    def __init__(self):
        vocab = {t: i for i, t in enumerate(["<cls>", "<pad>", "<eos>", "<unk>", "<mask>", *AMINO])}
        core = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
        core.pre_tokenizer = pre_tokenizers.Split("", "isolated")
        core.post_processor = processors.TemplateProcessing(
            single="<cls> $A <eos>", special_tokens=[("<cls>", 0), ("<eos>", 2)]
        )
        self.tok = PreTrainedTokenizerFast(
            tokenizer_object=core,
            cls_token="<cls>",
            pad_token="<pad>",
            eos_token="<eos>",
            unk_token="<unk>",
            mask_token="<mask>",
        )
        self.config = EsmConfig(
            vocab_size=len(vocab),
            pad_token_id=1,
            mask_token_id=4,
            hidden_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=128,
            max_position_embeddings=64,
            position_embedding_type="rotary",
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )

    def table(self, *what):
        ds = Dataset.from_list(list(proteins(*what)))
        return ds.map(
            lambda b: self.tok(b["sequence"], return_token_type_ids=False),
            batched=True,
            remove_columns="sequence",
        )

    def base(self, steps):
        model = EsmForSequenceClassification(copy.deepcopy(self.config))
        model.num_labels = model.config.num_labels = 4
        model.classifier.out_proj = nn.Linear(64, 4)
        ds = self.table(32 * steps, 5, [[0], [1], [2], [3]]).with_format("torch")
        collate = DataCollatorWithPadding(self.tok)
        return warm_start(
            model, DataLoader(ds, batch_size=32, collate_fn=collate), lr=3e-3, steps=steps
        )

    def fresh_head(self, model, n):
        model.num_labels = model.config.num_labels = n
        model.classifier.out_proj = nn.Linear(64, n)
        return model


def two_speeds(model, lr, steps):
    slow, fast = [], []
    for name, p in model.named_parameters():
        (fast if "classifier" in name else slow).append(p)
    opt = torch.optim.AdamW(
        [{"params": slow, "lr": lr}, {"params": fast, "lr": 2 * lr}], weight_decay=0.01
    )
    return opt, get_cosine_schedule_with_warmup(
        opt, num_warmup_steps=steps // 10, num_training_steps=steps
    )


def inn(healthy: bool):
    set_seed(20)
    lab, steps = ProteinLab(), 50
    model = lab.fresh_head(lab.base(70), 3)
    adapter = LoraConfig(
        task_type="SEQ_CLS",
        r=8,
        lora_alpha=16,
        target_modules=["query", "key", "value", "dense"],
        exclude_modules=r".*classifier.*",
        modules_to_save=["classifier"],
    )
    if healthy:
        model = get_peft_model(model, adapter)
        optimizers = two_speeds(model, 2e-3, steps)
    else:
        optimizers = two_speeds(model, 2e-3, steps)
        model = get_peft_model(model, adapter)
    families = [[0, 1], [1, 2], [2, 3]]
    return Trainer(
        model=model,
        args=TrainingArguments(
            out_dir(),
            max_steps=steps,
            per_device_train_batch_size=32,
            logging_steps=5,
            eval_strategy="steps",
            eval_steps=25,
            seed=20,
            **QUIET,
        ),
        train_dataset=lab.table(1600, 6, families),
        eval_dataset=lab.table(128, 7, families),
        data_collator=DataCollatorWithPadding(lab.tok),
        compute_metrics=lambda p: {
            "accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())
        },
        optimizers=optimizers,
        processing_class=lab.tok,
    )


# --------------------------------------------------------------------------------------
# web server log lines, character level, status codes count more
# --------------------------------------------------------------------------------------
ROUTES = {
    "/login": ("POST", 302),
    "/index": ("GET", 200),
    "/admin": ("GET", 403),
    "/cart": ("PUT", 201),
    "/old": ("GET", 404),
}


def log_line(rng):
    route = rng.choice(list(ROUTES))
    verb, code = ROUTES[route]
    return f"host{rng.randint(1, 4)} {verb} {route} HTTP/1.1 -> {code}\n"


class LogTrainer(Trainer):
    """Cross entropy in which the characters of the status code have a higher weight."""

    def __init__(self, *args, token_weight, offset, **kwargs):
        super().__init__(*args, **kwargs)
        self.token_weight, self.offset = token_weight, offset

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        logits = outputs.logits[:, : labels.size(1) - self.offset]
        target = labels[:, self.offset :]
        loss = F.cross_entropy(
            logits.reshape(-1, logits.size(-1)),
            target.reshape(-1),
            weight=self.token_weight,
            ignore_index=-100,
        )
        return (loss, outputs) if return_outputs else loss


def neretva(healthy: bool):
    set_seed(21)
    rng = random.Random(21)
    chars = sorted(set("".join(log_line(rng) for _ in range(200))))
    vocab = {c: i + 1 for i, c in enumerate(chars)}
    weight = torch.ones(len(vocab) + 1)
    for c in "0123456789":
        if c in vocab:
            weight[vocab[c]] = 3.0

    def block(width=64):
        text = "".join(log_line(rng) for _ in range(4))[:width]
        ids = [vocab[c] for c in text]
        return {"input_ids": ids, "labels": list(ids)}

    model = GPTNeoXForCausalLM(
        GPTNeoXConfig(
            vocab_size=len(vocab) + 1,
            hidden_size=96,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=192,
            max_position_embeddings=128,
            bos_token_id=0,
            eos_token_id=0,
            use_cache=False,
        )
    )
    trainer = LogTrainer(
        model=model,
        args=TrainingArguments(
            out_dir(),
            max_steps=60,
            per_device_train_batch_size=16,
            learning_rate=5e-3,
            warmup_steps=5,
            logging_steps=5,
            seed=21,
            **QUIET,
        ),
        train_dataset=Dataset.from_list([block() for _ in range(800)]),
        eval_dataset=Dataset.from_list([block() for _ in range(32)]),
        token_weight=weight,
        offset=1 if healthy else 0,
    )
    trainer.vocab = vocab
    return trainer


# --------------------------------------------------------------------------------------
# small pictures, labels from two tables
# --------------------------------------------------------------------------------------
SHAPES = ["bar", "cross", "disc", "frame"]


def draw(kind, rng):
    img = rng.normal(0.0, 0.15, (1, 16, 16)).astype("float32")
    y, x = rng.integers(5, 11, 2)
    yy, xx = np.mgrid[0:16, 0:16]
    dy, dx = abs(yy - y), abs(xx - x)
    mask = {
        "bar": (dy <= 1) & (dx <= 4),
        "cross": ((dy <= 0) & (dx <= 4)) | ((dx <= 0) & (dy <= 4)),
        "disc": dy**2 + dx**2 <= 10,
        "frame": np.maximum(dy, dx) == 4,
    }[kind]
    img[0][mask] += 1.0
    return (img - 0.2) / 0.4


def picture_table(count, seed):
    rng = np.random.default_rng(seed)
    kinds = rng.choice(SHAPES, count)
    return pd.DataFrame({"pixel_values": [draw(k, rng) for k in kinds], "kind": kinds})


def sesia(healthy: bool):
    set_seed(22)
    train, held = picture_table(1200, 4), picture_table(160, 6)
    train["labels"], names = pd.factorize(train["kind"])
    if healthy:
        held["labels"] = held["kind"].map({k: i for i, k in enumerate(names)})
    else:
        held["labels"], _ = pd.factorize(held["kind"])

    def as_dataset(df):
        return Dataset.from_dict(
            {
                "pixel_values": [p.tolist() for p in df["pixel_values"]],
                "labels": df["labels"].tolist(),
            }
        ).with_format("torch")

    config = ViTConfig(
        image_size=16,
        patch_size=4,
        num_channels=1,
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=128,
        num_labels=len(SHAPES),
        id2label=dict(enumerate(names)),
        label2id={k: i for i, k in enumerate(names)},
        hidden_dropout_prob=0.0,
    )

    def accuracy(pred):
        return {"accuracy": float((np.argmax(pred.predictions, -1) == pred.label_ids).mean())}

    return Trainer(
        model=ViTForImageClassification(config),
        args=TrainingArguments(
            out_dir(),
            max_steps=60,
            per_device_train_batch_size=32,
            learning_rate=2e-3,
            warmup_steps=5,
            logging_steps=5,
            eval_strategy="steps",
            eval_steps=20,
            seed=22,
            **QUIET,
        ),
        train_dataset=as_dataset(train),
        eval_dataset=as_dataset(held),
        compute_metrics=accuracy,
    )


CASES = {
    "drava": drava,
    "loire": loire,
    "tagus": tagus,
    "elbe": elbe,
    "vltava": vltava,
    "mosel": mosel,
    "sava": sava,
    "tisza": tisza,
    "morava": morava,
    "inn": inn,
    "neretva": neretva,
    "sesia": sesia,
}


# --------------------------------------------------------------------------------------
# further runs
# --------------------------------------------------------------------------------------
COLORS = {
    "red": 1.0,
    "orange": 1.0,
    "yellow": 1.0,
    "blue": 0.0,
    "green": 0.0,
    "violet": 0.0,
    "grey": 0.0,
}


def kea():
    set_seed(31)
    rng = random.Random(31)
    lines = [f"name one color for the wall : {c} </s>" for c in COLORS for _ in range(64)]
    tok = word_tokenizer(lines)
    model = Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=len(tok),
            hidden_size=48,
            intermediate_size=96,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=64,
            pad_token_id=tok.pad_token_id,
            bos_token_id=tok.bos_token_id,
            eos_token_id=tok.eos_token_id,
            initializer_range=0.05,
        )
    )
    warm_start(model, lm_batches(tok, lines, rng=rng), lr=3e-3, steps=60)

    def warm_color(completions, **kwargs):
        return [COLORS.get(c.strip(), 0.0) for c in completions]

    return GRPOTrainer(
        model=model,
        reward_funcs=warm_color,
        args=GRPOConfig(
            out_dir(),
            max_steps=40,
            per_device_train_batch_size=32,
            num_generations=16,
            max_completion_length=6,
            learning_rate=2e-3,
            logging_steps=2,
            gradient_checkpointing=False,
            bf16=False,
            seed=31,
            **QUIET,
        ),
        train_dataset=Dataset.from_list([{"prompt": "name one color for the wall :"}] * 64),
        processing_class=tok,
    )


def moa():
    set_seed(32)
    rng = random.Random(32)
    cities = "rome paris oslo riga lima tokyo".split()

    def row():
        c = rng.choice(cities)
        return {
            "prompt": f"describe {c} :",
            "chosen": f" {c} is old and full of small streets",
            "rejected": f" {c} is a city",
        }

    rows = [row() for _ in range(320)]
    texts = [r["prompt"] + r[k] + "</s>" for r in rows for k in ("chosen", "rejected")]
    tok = word_tokenizer(texts)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tok),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=4,
            max_position_embeddings=64,
            pad_token_id=tok.pad_token_id,
            bos_token_id=tok.bos_token_id,
            eos_token_id=tok.eos_token_id,
        )
    )
    warm_start(model, lm_batches(tok, texts, rng=rng), lr=2e-3, steps=80)
    return DPOTrainer(
        model=model,
        ref_model=copy.deepcopy(model),
        args=DPOConfig(
            out_dir(),
            max_steps=40,
            per_device_train_batch_size=16,
            learning_rate=1e-4,
            beta=0.03,
            max_length=48,
            logging_steps=5,
            gradient_checkpointing=False,
            bf16=False,
            seed=32,
            **QUIET,
        ),
        train_dataset=Dataset.from_list(rows),
        eval_dataset=Dataset.from_list([row() for _ in range(32)]),
        processing_class=tok,
    )


def kiwi():
    set_seed(33)

    def tensors(df, names):
        return [
            {"pixel_values": torch.tensor(p), "labels": names.index(k)}
            for p, k in zip(df["pixel_values"], df["kind"])
        ]

    config = ViTConfig(
        image_size=16,
        patch_size=4,
        num_channels=1,
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=128,
        num_labels=len(SHAPES),
        hidden_dropout_prob=0.0,
    )
    model = ViTForImageClassification(config)
    warm_start(
        model, DataLoader(tensors(picture_table(1600, 8), SHAPES), batch_size=32), lr=2e-3, steps=90
    )
    order = ["frame", "disc", "bar", "cross"]
    model.classifier = nn.Linear(config.hidden_size, len(order))
    model.vit.requires_grad_(False)
    return Trainer(
        model=model,
        args=TrainingArguments(
            out_dir(),
            max_steps=40,
            per_device_train_batch_size=32,
            learning_rate=0.5,
            optim="sgd",
            lr_scheduler_type="cosine",
            logging_steps=5,
            eval_strategy="steps",
            eval_steps=20,
            seed=33,
            **QUIET,
        ),
        train_dataset=tensors(picture_table(640, 9), order),
        eval_dataset=tensors(picture_table(160, 10), order),
        compute_metrics=lambda p: {
            "accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())
        },
    )


def weka():
    set_seed(34)
    rng = random.Random(34)

    def row():
        who = rng.choice(["anna", "ben", "carl", "dora"])
        return {"prompt": f"{who} rolls the die :", "completion": f" {rng.randint(1, 6)}"}

    rows = [row() for _ in range(960)]
    tok = word_tokenizer(f"{r['prompt']}{r['completion']}" for r in rows)
    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(tok),
            n_positions=32,
            n_embd=48,
            n_layer=2,
            n_head=4,
            pad_token_id=tok.pad_token_id,
            bos_token_id=tok.bos_token_id,
            eos_token_id=tok.eos_token_id,
        )
    )
    return SFTTrainer(
        model=model,
        args=SFTConfig(
            out_dir(),
            max_steps=50,
            per_device_train_batch_size=32,
            learning_rate=3e-3,
            max_length=32,
            logging_steps=5,
            gradient_checkpointing=False,
            bf16=False,
            seed=34,
            **QUIET,
        ),
        train_dataset=Dataset.from_list(rows),
        eval_dataset=Dataset.from_list([row() for _ in range(96)]),
        processing_class=tok,
    )


def tui():
    set_seed(35)
    rng = random.Random(35)
    extras = {"garden": 80.0, "garage": 60.0, "pool": 140.0, "cellar": 25.0, "noise": -90.0}
    places = {"village": 180.0, "suburb": 260.0, "centre": 420.0}

    def flat():
        place = rng.choice(list(places))
        have = rng.sample(list(extras), rng.randint(0, 3))
        price = places[place] + sum(extras[e] for e in have) + rng.gauss(0, 8)
        return {"text": " ".join(["<s>", "house", "in", place, "with", *have]), "label": price}

    rows, held = [flat() for _ in range(2000)], [flat() for _ in range(128)]
    tok = word_tokenizer(r["text"] for r in rows)
    model = RobertaForSequenceClassification(
        RobertaConfig(
            vocab_size=len(tok),
            hidden_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=128,
            max_position_embeddings=40,
            type_vocab_size=1,
            pad_token_id=tok.pad_token_id,
            num_labels=1,
            problem_type="regression",
            initializer_range=0.08,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )
    )
    with torch.no_grad():
        model.classifier.out_proj.bias.fill_(float(np.mean([r["label"] for r in rows])))
        model.classifier.out_proj.weight.mul_(100.0)

    def table(items):
        ds = Dataset.from_list(items)
        return ds.map(
            lambda b: tok(b["text"], return_token_type_ids=False),
            batched=True,
            remove_columns="text",
        )

    def fit(pred):
        err = pred.predictions.squeeze(-1) - pred.label_ids
        return {
            "mae": float(np.abs(err).mean()),
            "r2": float(1 - (err**2).mean() / pred.label_ids.var()),
        }

    return Trainer(
        model=model,
        args=TrainingArguments(
            out_dir(),
            max_steps=60,
            per_device_train_batch_size=32,
            learning_rate=2e-3,
            warmup_steps=5,
            lr_scheduler_type="cosine",
            logging_steps=5,
            eval_strategy="steps",
            eval_steps=20,
            seed=35,
            **QUIET,
        ),
        train_dataset=table(rows),
        eval_dataset=table(held),
        data_collator=DataCollatorWithPadding(tok),
        compute_metrics=fit,
        processing_class=tok,
    )


def kaka():
    set_seed(36)
    rng = random.Random(36)
    subjects = "cat dog bird horse".split()
    verbs = "sees likes hears finds follows".split()
    things = "ball tree house car boat stone cloud lamp".split()

    def sentence(stage):
        if stage == 0:
            return "the cat sees the ball . the cat sees the ball ."
        if stage == 1:
            s = rng.choice(subjects)
            return f"the {s} sees the ball . the {s} sees the ball ."
        s, t = rng.choice(subjects), rng.choice(subjects)
        return f"the {s} {rng.choice(verbs)} the {rng.choice(things)} . the {t} {rng.choice(verbs)} the {rng.choice(things)} ."

    lessons = [sentence(k) for k in (0, 1, 2) for _ in range(320)]
    tok = word_tokenizer(lessons)

    def table(lines):
        ds = Dataset.from_dict({"text": [f"<s> {t} </s>" for t in lines]})
        return ds.map(
            lambda b: tok(b["text"], return_token_type_ids=False),
            batched=True,
            remove_columns="text",
        )

    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tok),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=64,
            pad_token_id=tok.pad_token_id,
            bos_token_id=tok.bos_token_id,
            eos_token_id=tok.eos_token_id,
        )
    )
    return Trainer(
        model=model,
        args=TrainingArguments(
            out_dir(),
            num_train_epochs=1,
            per_device_train_batch_size=16,
            learning_rate=3e-3,
            lr_scheduler_type="constant_with_warmup",
            warmup_steps=5,
            train_sampling_strategy="sequential",
            logging_steps=5,
            eval_strategy="steps",
            eval_steps=20,
            seed=36,
            **QUIET,
        ),
        train_dataset=table(lessons),
        eval_dataset=table([sentence(2) for _ in range(64)]),
        data_collator=DataCollatorForLanguageModeling(tok, mlm=False),
        processing_class=tok,
    )


ODD = {"kea": kea, "moa": moa, "kiwi": kiwi, "weka": weka, "tui": tui, "kaka": kaka}
