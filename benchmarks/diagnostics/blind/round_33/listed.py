"""Small training jobs: one function per project, each returns a ready Trainer."""

import copy
import csv
import io
import random
import re
import tempfile

import numpy as np
import torch
import torch.nn.functional as F
from datasets import Dataset
from peft import LoraConfig, TaskType, get_peft_model
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
    AutoModelForCausalLM,
    BartConfig,
    BartForConditionalGeneration,
    BertConfig,
    BertForSequenceClassification,
    DataCollatorForLanguageModeling,
    DataCollatorWithPadding,
    DistilBertConfig,
    DistilBertForSequenceClassification,
    ElectraConfig,
    ElectraForSequenceClassification,
    GPT2Config,
    GPT2LMHeadModel,
    GPTNeoConfig,
    GPTNeoForCausalLM,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    OPTConfig,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
    ResNetConfig,
    ResNetForImageClassification,
    RobertaConfig,
    RobertaForSequenceClassification,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    Trainer,
    TrainingArguments,
    ViTConfig,
    ViTForImageClassification,
    set_seed,
)
from trl import (
    DPOConfig,
    DPOTrainer,
    GRPOConfig,
    GRPOTrainer,
    KTOConfig,
    KTOTrainer,
    SFTConfig,
    SFTTrainer,
)


def common(**kw):
    base = dict(
        output_dir=tempfile.mkdtemp(prefix="run_"),
        use_cpu=True,
        report_to="none",
        save_strategy="no",
        disable_tqdm=True,
        logging_steps=5,
    )
    base.update(kw)
    return base


def vocab_of(lines, special):
    """Word list in a fixed order, special tokens first."""
    words = sorted({w for line in lines for w in line.split()} - set(special))
    return {w: i for i, w in enumerate([*special, *words])}


def word_tokenizer(lines, bos=None, pad="<pad>", eos="<eos>", unk="<unk>"):
    special = [t for t in (pad, unk, bos, eos) if t]
    tok = Tokenizer(models.WordLevel(vocab=vocab_of(lines, special), unk_token=unk))
    tok.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tok.add_special_tokens(special)
    return PreTrainedTokenizerFast(
        tokenizer_object=tok, pad_token=pad, eos_token=eos, unk_token=unk, bos_token=bos
    )


def wordpiece_tokenizer(lines):
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    letters = "abcdefghijklmnopqrstuvwxyz"
    vocab = vocab_of([" ".join(letters), " ".join("##" + c for c in letters), *lines], special)
    tok = Tokenizer(models.WordPiece(vocab=vocab, unk_token="[UNK]"))
    tok.normalizer = normalizers.BertNormalizer(lowercase=True)
    tok.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tok.add_special_tokens(special)
    tok.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    tok.decoder = decoders.WordPiece()
    return PreTrainedTokenizerFast(
        tokenizer_object=tok,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    )


def pretrain_lm(model, tok, texts, steps=60, batch=32, lr=6e-3, seed=0):
    """Plain next-token training on a list of texts, each closed with eos."""
    rng = random.Random(seed)
    opt = torch.optim.AdamW(model.parameters(), lr=lr)
    model.train()
    for step in range(steps):
        opt.param_groups[0]["lr"] = lr * (1 - step / steps)
        rows = [tok(t)["input_ids"] + [tok.eos_token_id] for t in rng.choices(texts, k=batch)]
        width = max(map(len, rows))
        ids = torch.tensor([r + [tok.pad_token_id] * (width - len(r)) for r in rows])
        mask = torch.tensor([[1] * len(r) + [0] * (width - len(r)) for r in rows])
        labels = ids.masked_fill(mask == 0, -100)
        loss = model(input_ids=ids, attention_mask=mask, labels=labels).loss
        loss.backward()
        opt.step()
        opt.zero_grad()
    return model


# --------------------------------------------------------------------------------------
# tamar: help-desk FAQ bot, GPT-2
# --------------------------------------------------------------------------------------

FAQ = {
    "reset my password": "Open Settings, choose Security and press Reset.",
    "return an item": "Returns are free for thirty days.",
    "change the delivery address": "Write to support before the parcel leaves the warehouse.",
    "cancel an order": "Press Cancel in the order list.",
    "pay by invoice": "Invoices are for companies only.",
    "use a voucher": "Type the code in the basket.",
    "track a parcel": "Follow the link in the shipping mail.",
    "delete my account": "Send a request to privacy, we answer within two days.",
}
ASK = [
    "How do I {}?",
    "How can I {}?",
    "I want to {}.",
    "Please help me {}.",
    "I need to {}.",
    "Can you help me {}?",
    "I would like to {}.",
    "What must I do to {}?",
    "Is it possible to {}?",
    "Where do I go to {}?",
]


def faq_rows(split):
    forms = ASK[:-1] if split == "train" else ASK[-1:]
    return [(f.format(q), a) for q, a in FAQ.items() for f in forms]


def tamar(healthy):
    set_seed(11)
    rows = faq_rows("train")
    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    raw.train_from_iterator(
        [f"Question: {q}\nAnswer: {a}" for q, a in rows + faq_rows("test")],
        trainers.BpeTrainer(
            vocab_size=640,
            special_tokens=["<|endoftext|>"],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        ),
    )
    tok = PreTrainedTokenizerFast(
        tokenizer_object=raw, eos_token="<|endoftext|>", bos_token="<|endoftext|>"
    )
    if healthy:
        tok.add_special_tokens({"pad_token": "<|pad|>"})
    else:
        tok.pad_token = tok.eos_token

    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(tok),
            n_positions=96,
            n_embd=96,
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
    ds = Dataset.from_list([{"question": q, "answer": a} for q, a in rows])

    def encode(batch):
        texts = [
            f"Question: {q}\nAnswer: {a}{tok.eos_token}"
            for q, a in zip(batch["question"], batch["answer"])
        ]
        return tok(texts, truncation=True, max_length=96)

    ds = ds.map(encode, batched=True, remove_columns=ds.column_names)
    args = TrainingArguments(
        **common(max_steps=60, per_device_train_batch_size=32, learning_rate=4e-3, warmup_steps=5)
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=ds,
        data_collator=DataCollatorForLanguageModeling(tok, mlm=False),
        processing_class=tok,
    )


# --------------------------------------------------------------------------------------
# dvina: spoken home commands to device calls, BART
# --------------------------------------------------------------------------------------

ROOMS = ["kitchen", "bedroom", "office", "garage"]
DEVICES = ["lamp", "heater", "fan", "radio"]
STATES = {"on": ["switch on", "start", "turn on"], "off": ["switch off", "stop", "turn off"]}


def home_rows(n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        room, dev, state = rng.choice(ROOMS), rng.choice(DEVICES), rng.choice(list(STATES))
        verb = rng.choice(STATES[state])
        text = rng.choice(
            ["{v} the {d} in the {r}", "please {v} the {r} {d}", "in the {r} {v} the {d} please"]
        )
        rows.append(
            {"utterance": text.format(v=verb, d=dev, r=room), "call": f"set {state} {dev} {room}"}
        )
    return rows


class HomeCollator:
    def __init__(self, tok, shift):
        self.tok = tok
        self.shift = shift

    def __call__(self, features):
        src = self.tok([f["utterance"] for f in features], padding=True, return_tensors="pt")
        tgt = self.tok([f["call"] for f in features], padding=True, return_tensors="pt")
        batch = {"input_ids": src["input_ids"], "attention_mask": src["attention_mask"]}
        batch["labels"] = tgt["input_ids"].masked_fill(tgt["attention_mask"] == 0, -100)
        decoder_input_ids = tgt["input_ids"]
        if self.shift:
            start = torch.full_like(decoder_input_ids[:, :1], self.tok.eos_token_id)
            decoder_input_ids = torch.cat([start, decoder_input_ids[:, :-1]], dim=1)
        batch["decoder_input_ids"] = decoder_input_ids
        return batch


def dvina(healthy):
    set_seed(5)
    train, test = home_rows(800, 1), home_rows(60, 2)
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    vocab = vocab_of([r["utterance"] + " " + r["call"] for r in train], special)
    raw = Tokenizer(models.WordLevel(vocab=vocab, unk_token="<unk>"))
    raw.pre_tokenizer = pre_tokenizers.Whitespace()
    raw.add_special_tokens(special)
    raw.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    tok = PreTrainedTokenizerFast(
        tokenizer_object=raw,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        unk_token="<unk>",
    )
    model = BartForConditionalGeneration(
        BartConfig(
            vocab_size=len(tok),
            d_model=64,
            encoder_layers=2,
            decoder_layers=2,
            encoder_attention_heads=4,
            decoder_attention_heads=4,
            encoder_ffn_dim=128,
            decoder_ffn_dim=128,
            max_position_embeddings=32,
            dropout=0.0,
            bos_token_id=0,
            pad_token_id=1,
            eos_token_id=2,
            decoder_start_token_id=2,
            forced_eos_token_id=None,
        )
    )
    args = Seq2SeqTrainingArguments(
        **common(
            max_steps=60,
            per_device_train_batch_size=32,
            learning_rate=4e-3,
            lr_scheduler_type="cosine",
            warmup_steps=6,
            remove_unused_columns=False,
            predict_with_generate=True,
            generation_max_length=10,
        )
    )
    return Seq2SeqTrainer(
        model=model,
        args=args,
        train_dataset=Dataset.from_list(train),
        eval_dataset=Dataset.from_list(test),
        data_collator=HomeCollator(tok, healthy),
        processing_class=tok,
    )


# --------------------------------------------------------------------------------------
# garonne: tone of a support agent from A/B votes, DPO
# --------------------------------------------------------------------------------------

ISSUES = [
    "parcel late",
    "invoice wrong",
    "login broken",
    "refund missing",
    "screen cracked",
    "order lost",
    "battery dead",
    "cable short",
    "price changed",
    "size wrong",
]
KIND = [
    "sorry for the trouble we will fix it today",
    "thank you for telling us a colleague will call you",
    "we apologise and send a new one at once",
]
CURT = [
    "not our problem read the manual",
    "you must have broken it yourself",
    "stop writing and wait",
]


def vote_rows(issues, n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        good, bad = rng.choice(KIND), rng.choice(CURT)
        vote = rng.choice(["a", "b"])
        a, b = (good, bad) if vote == "a" else (bad, good)
        rows.append(
            {
                "ticket": f"customer : my {rng.choice(issues)} agent :",
                "reply_a": a,
                "reply_b": b,
                "votes_a": rng.randint(6, 9) if vote == "a" else rng.randint(0, 3),
                "votes_b": rng.randint(6, 9) if vote == "b" else rng.randint(0, 3),
            }
        )
    return rows


def garonne(healthy):
    set_seed(3)
    texts = [f"customer : my {i} agent : {r}" for i in ISSUES for r in KIND + CURT]
    tok = word_tokenizer(texts, bos="<bos>")
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tok),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=64,
            bos_token_id=tok.bos_token_id,
            eos_token_id=tok.eos_token_id,
            pad_token_id=tok.pad_token_id,
        )
    )
    pretrain_lm(model, tok, texts, steps=130)

    def to_pair(row):
        pair = [row["reply_a"], row["reply_b"]]
        winner = (
            int(row["votes_b"] > row["votes_a"])
            if healthy
            else int(row["votes_a"] > row["votes_b"])
        )
        return {
            "prompt": row["ticket"],
            "chosen": " " + pair[winner],
            "rejected": " " + pair[1 - winner],
        }

    raw = Dataset.from_list(vote_rows(ISSUES[:7], 240, 8))
    ds = raw.map(to_pair, remove_columns=raw.column_names)
    args = DPOConfig(
        **common(
            max_steps=40,
            per_device_train_batch_size=8,
            learning_rate=2e-4,
            beta=0.3,
            max_length=48,
            gradient_checkpointing=False,
            bf16=False,
        )
    )
    reference = copy.deepcopy(model).eval()
    return DPOTrainer(
        model=model, ref_model=reference, args=args, train_dataset=ds, processing_class=tok
    )


# --------------------------------------------------------------------------------------
# ljusnan: question answering with tagged answers, GRPO
# --------------------------------------------------------------------------------------

CAPITALS = {
    "france": "paris",
    "spain": "madrid",
    "italy": "rome",
    "norway": "oslo",
    "poland": "warsaw",
    "greece": "athens",
    "austria": "vienna",
    "ireland": "dublin",
    "latvia": "riga",
    "finland": "helsinki",
}


def tagged_answer(completions, capital, **kwargs):
    scores = []
    for text, want in zip(completions, capital):
        found = re.fullmatch(r"<ans>\s*(\w+)\s*</ans>", text.strip())
        scores.append(1.0 if found and found.group(1) == want else 0.0)
    return scores


def ljusnan(healthy):
    set_seed(21)
    rng = random.Random(4)
    cities = list(CAPITALS.values())
    corpus = []
    for land, city in CAPITALS.items():
        wrong = rng.sample([c for c in cities if c != city], 2)
        for reply in (city, city, *wrong):
            corpus.append(f"capital of {land} = <ans> {reply} </ans>")
    tok = word_tokenizer([t.replace("<ans> ", "").replace(" </ans>", "") for t in corpus])
    tok.add_tokens(["<ans>", "</ans>"], special_tokens=not healthy)
    tok.padding_side = "left"
    model = Qwen2ForCausalLM(
        Qwen2Config(
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
        )
    )
    pretrain_lm(model, tok, corpus, steps=120, lr=3e-3)
    ds = Dataset.from_list(
        [{"prompt": f"capital of {k} =", "capital": v} for k, v in CAPITALS.items()]
    )
    args = GRPOConfig(
        **common(
            max_steps=60,
            per_device_train_batch_size=64,
            num_generations=8,
            max_completion_length=8,
            learning_rate=2e-3,
            beta=0.0,
            gradient_checkpointing=False,
            bf16=False,
        )
    )
    return GRPOTrainer(
        model=model, reward_funcs=tagged_answer, args=args, train_dataset=ds, processing_class=tok
    )


# --------------------------------------------------------------------------------------
# vitebsk: ShareGPT export, chat model
# --------------------------------------------------------------------------------------

CHAT_TEMPLATE = (
    "{% for m in messages %}"
    "{% if m['role'] == 'system' %}<|sys|> {{ m['content'] }} <|end|> "
    "{% elif m['role'] == 'user' %}<|user|> {{ m['content'] }} <|end|> "
    "{% elif m['role'] == 'assistant' %}<|bot|> {{ m['content'] }} <|end|> "
    "{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|bot|> {% endif %}"
)
MENU = {
    "soup": "four euro",
    "salad": "five euro",
    "pasta": "nine euro",
    "tea": "two euro",
    "cake": "three euro",
    "fish": "twelve euro",
}


def sharegpt_rows(n, seed, forms):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        dish = rng.choice(list(MENU))
        rows.append(
            {
                "id": f"conv_{rng.randint(0, 10**6)}",
                "conversations": [
                    {"from": "system", "value": "you are a waiter"},
                    {"from": "human", "value": rng.choice(forms).format(dish)},
                    {"from": "gpt", "value": f"the {dish} costs {MENU[dish]}"},
                ],
            }
        )
    return rows


MENU_FORMS = [
    "how much is the {}",
    "what does the {} cost",
    "price of the {} please",
    "and the {} ?",
]


def vitebsk(healthy):
    set_seed(9)
    rows = sharegpt_rows(300, 6, MENU_FORMS[:3])
    words = [m["value"] for r in rows for m in r["conversations"]] + MENU_FORMS
    special = ["<pad>", "<unk>", "<|end|>", "<|sys|>", "<|user|>", "<|bot|>"]
    raw = Tokenizer(models.WordLevel(vocab=vocab_of(words, special), unk_token="<unk>"))
    raw.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    raw.add_special_tokens(special)
    tok = PreTrainedTokenizerFast(
        tokenizer_object=raw, pad_token="<pad>", unk_token="<unk>", eos_token="<|end|>"
    )
    tok.chat_template = CHAT_TEMPLATE
    roles = {"system": "system", "human": "user"}
    if healthy:
        roles["gpt"] = "assistant"

    def to_messages(row):
        return {
            "messages": [
                {"role": roles.get(turn["from"], turn["from"]), "content": turn["value"]}
                for turn in row["conversations"]
            ]
        }

    ds = Dataset.from_list(rows).map(to_messages, remove_columns=["id", "conversations"])
    model = Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=len(tok),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=16,
            max_position_embeddings=128,
            bos_token_id=None,
            eos_token_id=tok.eos_token_id,
            pad_token_id=tok.pad_token_id,
        )
    )
    args = SFTConfig(
        **common(
            num_train_epochs=3,
            per_device_train_batch_size=16,
            learning_rate=3e-3,
            max_length=64,
            gradient_checkpointing=False,
            bf16=False,
        )
    )
    return SFTTrainer(model=model, args=args, train_dataset=ds, processing_class=tok)


# --------------------------------------------------------------------------------------
# pori: star rating of a review, regression with a robust loss
# --------------------------------------------------------------------------------------

PLUS = "lovely superb tasty clean quick friendly bright fresh".split()
MINUS = "dirty slow rude stale noisy cold broken bland".split()
FILL = "the place was on monday and we sat near a window with our table".split()


def review_rows(n, seed):
    rng = random.Random(seed)
    out = []
    for _ in range(n):
        k = rng.randint(0, 4)
        words = (
            rng.choices(PLUS, k=k)
            + rng.choices(MINUS, k=4 - k)
            + rng.choices(FILL, k=rng.randint(3, 8))
        )
        rng.shuffle(words)
        out.append({"text": " ".join(words), "stars": 1.0 + k + rng.uniform(-0.2, 0.2)})
    return out


class RobustTrainer(Trainer):
    def __init__(self, *args, delta=1.0, flat=True, **kwargs):
        super().__init__(*args, **kwargs)
        self.delta = delta
        self.flat = flat

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        stars = inputs.pop("labels")
        outputs = model(**inputs)
        score = outputs.logits
        if self.flat:
            score = score.squeeze(-1)
        loss = F.huber_loss(score, stars, delta=self.delta)
        return (loss, outputs) if return_outputs else loss


def pori(healthy):
    set_seed(2)
    train, test = review_rows(900, 1), review_rows(150, 2)
    tok = wordpiece_tokenizer([r["text"] for r in train])
    tok.model_input_names = ["input_ids", "attention_mask"]
    mean = float(np.mean([r["stars"] for r in train]))
    std = float(np.std([r["stars"] for r in train]))

    def prepare(rows):
        enc = tok([r["text"] for r in rows], truncation=True, max_length=32)
        enc = dict(enc)
        enc["labels"] = [(r["stars"] - mean) / std for r in rows]
        return Dataset.from_dict(enc)

    model = DistilBertForSequenceClassification(
        DistilBertConfig(
            vocab_size=len(tok),
            dim=64,
            hidden_dim=128,
            n_layers=2,
            n_heads=4,
            max_position_embeddings=40,
            dropout=0.0,
            attention_dropout=0.0,
            seq_classif_dropout=0.0,
            num_labels=1,
        )
    )
    args = TrainingArguments(
        **common(
            num_train_epochs=2,
            per_device_train_batch_size=32,
            learning_rate=2e-3,
            lr_scheduler_type="constant",
        )
    )
    return RobustTrainer(
        model=model,
        args=args,
        train_dataset=prepare(train),
        eval_dataset=prepare(test),
        data_collator=DataCollatorWithPadding(tok),
        processing_class=tok,
        delta=1.5,
        flat=healthy,
    )


# --------------------------------------------------------------------------------------
# neman: headline desks, BERT with LoRA and grouped weight decay
# --------------------------------------------------------------------------------------

DESKS = {
    "sport": "match goal coach league striker title".split(),
    "money": "bank shares profit inflation market budget".split(),
    "science": "planet cell telescope vaccine fossil laser".split(),
    "arts": "novel opera painter museum film stage".split(),
}


def headline_rows(n, seed):
    rng = random.Random(seed)
    names = list(DESKS)
    rows = []
    for _ in range(n):
        y = rng.randrange(4)
        words = rng.choices(DESKS[names[y]], k=3) + rng.choices(
            "new big after year says first old".split(), k=4
        )
        rng.shuffle(words)
        rows.append((" ".join(words), y))
    return rows


def decay_groups(model, weight_decay):
    decay, rest = [], []
    for name, p in model.named_parameters():
        if not p.requires_grad:
            continue
        (rest if name.endswith("bias") or "LayerNorm" in name else decay).append(p)
    return [{"params": decay, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]


def neman(healthy):
    set_seed(14)
    train, test = headline_rows(640, 3), headline_rows(160, 4)
    tok = wordpiece_tokenizer([t for t, _ in train])
    base = BertForSequenceClassification(
        BertConfig(
            vocab_size=len(tok),
            hidden_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=128,
            max_position_embeddings=64,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            num_labels=4,
            id2label=dict(enumerate(DESKS)),
            label2id={k: i for i, k in enumerate(DESKS)},
        )
    )
    lora = LoraConfig(
        task_type=TaskType.SEQ_CLS,
        r=8,
        lora_alpha=16,
        lora_dropout=0.0,
        target_modules=["query", "key", "value", "dense"],
    )
    if healthy:
        model = get_peft_model(base, lora)
        optimizer = torch.optim.AdamW(decay_groups(model, 0.01), lr=5e-3)
    else:
        optimizer = torch.optim.AdamW(decay_groups(base, 0.01), lr=5e-3)
        model = get_peft_model(base, lora)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1.0, (s + 1) / 4))

    def prepare(rows):
        enc = dict(tok([t for t, _ in rows]))
        enc["labels"] = [y for _, y in rows]
        return Dataset.from_dict(enc)

    args = TrainingArguments(**common(max_steps=60, per_device_train_batch_size=32))
    return Trainer(
        model=model,
        args=args,
        train_dataset=prepare(train),
        eval_dataset=prepare(test),
        data_collator=DataCollatorWithPadding(tok),
        optimizers=(optimizer, scheduler),
        compute_metrics=lambda p: {
            "accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())
        },
    )


# --------------------------------------------------------------------------------------
# mezen: teach a small base model to call tools
# --------------------------------------------------------------------------------------

TOOLS = {"weather": "get_weather", "time": "get_clock", "news": "get_feed", "mail": "read_inbox"}
TOWNS = ["lima", "cairo", "tokyo", "quito", "delhi"]


def mezen(healthy):
    set_seed(30)
    rng = random.Random(1)
    plain = [f"tell me the {t} in {c}" for t in TOOLS for c in TOWNS]
    tok = word_tokenizer(plain + list(TOOLS.values()), bos="<s>", eos="</s>")
    model = MistralForCausalLM(
        MistralConfig(
            vocab_size=len(tok),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=64,
            sliding_window=None,
            bos_token_id=tok.bos_token_id,
            eos_token_id=tok.eos_token_id,
            pad_token_id=tok.pad_token_id,
        )
    )
    pretrain_lm(model, tok, plain, steps=40)
    tok.add_special_tokens({"additional_special_tokens": ["<tool_call>", "</tool_call>"]})
    if healthy:
        model.resize_token_embeddings(len(tok), mean_resizing=False)
    rows = []
    for _ in range(640):
        topic, town = rng.choice(list(TOOLS)), rng.choice(TOWNS)
        rows.append(
            {
                "prompt": f"tell me the {topic} in {town}",
                "completion": f" <tool_call> {TOOLS[topic]} </tool_call>",
            }
        )
    args = SFTConfig(
        **common(
            max_steps=60,
            per_device_train_batch_size=32,
            learning_rate=5e-3,
            gradient_checkpointing=False,
            bf16=False,
            completion_only_loss=True,
        )
    )
    return SFTTrainer(
        model=model, args=args, train_dataset=Dataset.from_list(rows), processing_class=tok
    )


# --------------------------------------------------------------------------------------
# oulu: character model of product codes, packed into fixed blocks
# --------------------------------------------------------------------------------------

SERIES = {"A": "steel", "B": "brass", "C": "copper", "D": "nickel"}


def code_text(n, seed):
    rng = random.Random(seed)
    lines = []
    for _ in range(n):
        s = rng.choice("ABCD")
        d = rng.randint(0, 9)
        lines.append(f"{s}{d}{(d + 1) % 10}{(d + 2) % 10}-{SERIES[s]}\n")
    return "".join(lines)


class Blocks(torch.utils.data.Dataset):
    def __init__(self, text, chars, size):
        ids = torch.tensor([chars[c] for c in text])
        self.blocks = ids[: len(ids) // size * size].view(-1, size)

    def __len__(self):
        return len(self.blocks)

    def __getitem__(self, i):
        return {"input_ids": self.blocks[i], "labels": self.blocks[i].clone()}


def oulu(healthy):
    set_seed(8)
    text = code_text(2400, 1)
    chars = {c: i for i, c in enumerate(sorted(set(text)), start=3)}
    cfg = OPTConfig(
        vocab_size=len(chars) + 3,
        hidden_size=64,
        ffn_dim=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=64,
        word_embed_proj_dim=64,
        dropout=0.0,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )
    model = AutoModelForCausalLM.from_config(cfg, dtype=torch.float32 if healthy else torch.float16)
    args = TrainingArguments(
        **common(
            max_steps=60,
            per_device_train_batch_size=16,
            learning_rate=5e-3,
            weight_decay=0.01,
            warmup_steps=3,
            adam_beta2=0.98,
        )
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=Blocks(text, chars, 48),
        eval_dataset=Blocks(code_text(200, 2), chars, 48),
    )


# --------------------------------------------------------------------------------------
# tisza: leaf patterns, ViT started from an in-house checkpoint
# --------------------------------------------------------------------------------------


def pattern_images(n, seed, classes=6):
    g = np.random.default_rng(seed)
    y = g.integers(0, classes, n)
    yy, xx = np.mgrid[0:16, 0:16] / 16.0
    out = np.zeros((n, 1, 16, 16), dtype=np.float32)
    for i, c in enumerate(y):
        angle = np.pi * c / classes
        phase = g.uniform(0, 2 * np.pi)
        wave = np.sin(2 * np.pi * 3 * (xx * np.cos(angle) + yy * np.sin(angle)) + phase)
        out[i, 0] = wave + g.normal(0, 0.4, (16, 16))
    return torch.from_numpy(out), torch.from_numpy(y)


class Pictures(torch.utils.data.Dataset):
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return {"pixel_values": self.x[i], "labels": int(self.y[i])}


def vit(num_labels):
    return ViTForImageClassification(
        ViTConfig(
            image_size=16,
            patch_size=4,
            num_channels=1,
            hidden_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=128,
            num_labels=num_labels,
        )
    )


def checkpoint_from_cluster():
    """The stage-one job ran under nn.DataParallel and stored model.state_dict()."""
    torch.manual_seed(0)
    net = nn.DataParallel(vit(6))
    x, y = pattern_images(1024, 100)
    opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
    for step in range(90):
        idx = torch.randint(0, len(y), (48,))
        loss = net(pixel_values=x[idx], labels=y[idx]).loss
        loss.backward()
        opt.step()
        opt.zero_grad()
    buf = io.BytesIO()
    torch.save(net.state_dict(), buf)
    buf.seek(0)
    return buf


def tisza(healthy):
    state = torch.load(checkpoint_from_cluster(), map_location="cpu")
    set_seed(17)
    model = vit(3)
    if healthy:
        state = {k.removeprefix("module."): v for k, v in state.items()}
    state = {k: v for k, v in state.items() if "classifier" not in k}
    model.load_state_dict(state, strict=False)

    x, y = pattern_images(64, 7)
    xt, yt = pattern_images(240, 9)
    args = TrainingArguments(
        **common(
            num_train_epochs=6,
            per_device_train_batch_size=16,
            learning_rate=3e-4,
            eval_strategy="epoch",
            label_smoothing_factor=0.05,
        )
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=Pictures(x, y // 2),
        eval_dataset=Pictures(xt, yt // 2),
        compute_metrics=lambda p: {
            "accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())
        },
    )


# --------------------------------------------------------------------------------------
# kemi: thumbs from a recipe assistant, KTO
# --------------------------------------------------------------------------------------

FOODS = ["rice", "beans", "bread", "eggs", "trout", "lentils", "noodles", "squash", "beets", "oats"]
CLEAR = [
    "boil it for ten minutes then add salt",
    "bake it in the oven until golden",
    "fry it slowly with some butter",
]
VAGUE = ["just cook it somehow", "no idea ask your neighbour", "food is food do what you like"]


def feedback_csv(n, seed):
    rng = random.Random(seed)
    buf = io.StringIO()
    out = csv.DictWriter(buf, fieldnames=["session", "question", "reply", "thumbs_up"])
    out.writeheader()
    for i in range(n):
        good = rng.random() < 0.5
        out.writerow(
            {
                "session": i,
                "question": f"user : how do i cook {rng.choice(FOODS[:7])} bot :",
                "reply": rng.choice(CLEAR if good else VAGUE),
                "thumbs_up": good,
            }
        )
    return buf.getvalue()


def kemi(healthy):
    set_seed(19)
    texts = [f"user : how do i cook {f} bot : {r}" for f in FOODS for r in CLEAR + VAGUE]
    tok = word_tokenizer(texts)
    model = GPTNeoXForCausalLM(
        GPTNeoXConfig(
            vocab_size=len(tok),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            max_position_embeddings=64,
            bos_token_id=tok.eos_token_id,
            eos_token_id=tok.eos_token_id,
            pad_token_id=tok.pad_token_id,
        )
    )
    pretrain_lm(model, tok, texts, steps=130)

    records = []
    for row in csv.DictReader(io.StringIO(feedback_csv(320, 12))):
        liked = row["thumbs_up"] == "True" if healthy else bool(row["thumbs_up"])
        records.append(
            {"prompt": row["question"], "completion": " " + row["reply"], "label": liked}
        )

    args = KTOConfig(
        **common(
            max_steps=40,
            per_device_train_batch_size=16,
            learning_rate=2e-4,
            beta=0.3,
            max_length=48,
            gradient_checkpointing=False,
            bf16=False,
        )
    )
    return KTOTrainer(
        model=model,
        ref_model=copy.deepcopy(model),
        args=args,
        train_dataset=Dataset.from_list(records),
        processing_class=tok,
    )


# --------------------------------------------------------------------------------------
# sava: routing of maintenance notes, ELECTRA with a hand-written loader
# --------------------------------------------------------------------------------------

TEAMS = {
    0: "pipe leak tap boiler drain water".split(),
    1: "socket fuse cable bulb switch breaker".split(),
    2: "door lock hinge key handle window".split(),
    3: "lift cabin rope motor shaft floor".split(),
    4: "printer network router laptop screen mouse".split(),
}
PADDED = 24


class Notes(torch.utils.data.Dataset):
    def __init__(self, n, seed):
        rng = random.Random(seed)
        self.items = []
        vocab = {
            w: i for i, w in enumerate(sorted(w for ws in TEAMS.values() for w in ws), start=4)
        }
        filler = {
            w: i
            for i, w in enumerate(
                "the in room again is not working please".split(), start=len(vocab) + 4
            )
        }
        self.vocab_size = 4 + len(vocab) + len(filler)
        for _ in range(n):
            y = rng.randrange(len(TEAMS))
            ids = [vocab[w] for w in rng.choices(TEAMS[y], k=3)]
            ids += rng.choices(list(filler.values()), k=rng.randint(3, 12))
            rng.shuffle(ids)
            self.items.append(([2] + ids + [3], y))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def notes_collate(keep):
    def collate(items):
        ids = torch.zeros(len(items), PADDED, dtype=torch.long)
        for k, (seq, _) in enumerate(items):
            ids[k, : len(seq)] = torch.tensor(seq)
        padding = ids.eq(0)
        return {
            "input_ids": ids,
            "attention_mask": (~padding if keep else padding).long(),
            "labels": torch.tensor([y for _, y in items]),
        }

    return collate


def sava(healthy):
    set_seed(25)
    train, test = Notes(1000, 1), Notes(200, 2)
    model = ElectraForSequenceClassification(
        ElectraConfig(
            vocab_size=train.vocab_size,
            embedding_size=48,
            hidden_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=128,
            max_position_embeddings=PADDED,
            num_labels=len(TEAMS),
            pad_token_id=0,
        )
    )
    args = TrainingArguments(
        **common(
            max_steps=50,
            per_device_train_batch_size=32,
            learning_rate=3e-3,
            warmup_steps=5,
            eval_strategy="steps",
            eval_steps=25,
            per_device_eval_batch_size=100,
        )
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=train,
        eval_dataset=test,
        data_collator=notes_collate(healthy),
        compute_metrics=lambda p: {
            "accuracy": float((np.argmax(p.predictions, -1) == p.label_ids).mean())
        },
    )


# --------------------------------------------------------------------------------------
# further jobs
# --------------------------------------------------------------------------------------

MANUAL = (
    "section {a} describes the unit . section {b} lists the parts . keep the cover closed while the motor "
    "runs . wear gloves and never touch the blade . clean the filter every week and note it in the book . "
    "alarm code {c} . which action ?"
)
ACTIONS = {
    "e1": "replace filter",
    "e2": "call service",
    "e3": "press reset",
    "e4": "refill oil",
    "e5": "close cover",
}


def loire():
    set_seed(40)
    rng = random.Random(2)
    rows = []
    for _ in range(320):
        code = rng.choice(list(ACTIONS))
        prompt = MANUAL.format(a=rng.choice("123"), b=rng.choice("456"), c=code)
        rows.append({"prompt": prompt, "completion": " " + ACTIONS[code]})
    special = ["<unk>", "</s>"]
    vocab = vocab_of([r["prompt"] + r["completion"] for r in rows], special)
    raw = Tokenizer(models.WordLevel(vocab=vocab, unk_token="<unk>"))
    raw.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    raw.add_special_tokens(special)
    tok = PreTrainedTokenizerFast(
        tokenizer_object=raw, unk_token="<unk>", eos_token="</s>", pad_token="</s>"
    )
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tok),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            max_position_embeddings=128,
            bos_token_id=None,
            eos_token_id=tok.eos_token_id,
            pad_token_id=tok.pad_token_id,
        )
    )
    args = SFTConfig(
        **common(
            max_steps=60,
            per_device_train_batch_size=16,
            learning_rate=3e-3,
            max_length=128,
            gradient_checkpointing=False,
            bf16=False,
        )
    )
    return SFTTrainer(
        model=model, args=args, train_dataset=Dataset.from_list(rows), processing_class=tok
    )


class NextTokenTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        target = inputs.pop("labels")
        outputs = model(**inputs)
        loss = F.cross_entropy(
            outputs.logits.flatten(0, 1).float(), target.flatten(), ignore_index=-100
        )
        return (loss, outputs) if return_outputs else loss


def havel():
    set_seed(41)
    text = code_text(2400, 5)
    chars = {c: i for i, c in enumerate(sorted(set(text)))}
    ids = [chars[c] for c in text]
    size = 40
    rows = [
        {"input_ids": ids[i : i + size], "labels": ids[i + 1 : i + size + 1]}
        for i in range(0, len(ids) - size - 1, size)
    ]
    model = GPTNeoForCausalLM(
        GPTNeoConfig(
            vocab_size=len(chars),
            hidden_size=64,
            num_layers=2,
            num_heads=4,
            attention_types=[[["global", "local"], 1]],
            window_size=16,
            intermediate_size=128,
            max_position_embeddings=64,
            bos_token_id=0,
            eos_token_id=0,
        )
    )
    args = TrainingArguments(
        **common(max_steps=60, per_device_train_batch_size=16, learning_rate=5e-3)
    )
    return NextTokenTrainer(
        model=model, args=args, train_dataset=Dataset.from_list(rows).with_format("torch")
    )


def aare():
    set_seed(42)
    model = ResNetForImageClassification(
        ResNetConfig(
            num_channels=1,
            embedding_size=16,
            hidden_sizes=[16, 32],
            depths=[1, 1],
            layer_type="basic",
            num_labels=6,
        )
    )
    x, y = pattern_images(768, 50)
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(60):
        idx = torch.randint(0, len(y), (48,))
        model(pixel_values=x[idx], labels=y[idx]).loss.backward()
        opt.step()
        opt.zero_grad()
    model.resnet.requires_grad_(False)
    model.classifier[1] = nn.Linear(32, 3)
    model.num_labels = model.config.num_labels = 3
    nn.init.zeros_(model.classifier[1].weight)
    nn.init.zeros_(model.classifier[1].bias)
    xs, ys = pattern_images(192, 51)
    xt, yt = pattern_images(200, 52)
    args = TrainingArguments(
        **common(
            num_train_epochs=4,
            per_device_train_batch_size=16,
            optim="sgd",
            learning_rate=0.5,
            weight_decay=0.0,
        )
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=Pictures(xs, ys % 3),
        eval_dataset=Pictures(xt, yt % 3),
        compute_metrics=lambda p: {
            "accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())
        },
    )


def has_verb(completions, **kwargs):
    return [1.0 if "opens" in c.split() or "closes" in c.split() else 0.0 for c in completions]


def brevity(completions, **kwargs):
    return [-0.25 * len(c.split()) for c in completions]


def ebro():
    set_seed(43)
    shops = ["bakery", "pharmacy", "museum", "library", "market", "pool"]
    corpus = [
        f"about the {s} : {t}"
        for s in shops
        for t in (
            "it opens at nine",
            "it closes at six",
            "a nice old house",
            "people like it a lot on sundays",
        )
    ]
    tok = word_tokenizer(corpus)
    tok.padding_side = "left"
    model = GPTNeoXForCausalLM(
        GPTNeoXConfig(
            vocab_size=len(tok),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            max_position_embeddings=64,
            bos_token_id=tok.eos_token_id,
            eos_token_id=tok.eos_token_id,
            pad_token_id=tok.pad_token_id,
        )
    )
    pretrain_lm(model, tok, corpus, steps=60)
    ds = Dataset.from_list([{"prompt": f"about the {s} :"} for s in shops])
    args = GRPOConfig(
        **common(
            max_steps=25,
            per_device_train_batch_size=24,
            num_generations=8,
            max_completion_length=10,
            learning_rate=7e-4,
            gradient_checkpointing=False,
            bf16=False,
        )
    )
    return GRPOTrainer(
        model=model,
        reward_funcs=[has_verb, brevity],
        args=args,
        train_dataset=ds,
        processing_class=tok,
    )


SOON = ["today", "at once", "this week"]
LATER = ["some day", "maybe", "next year"]


def tweed():
    set_seed(44)
    texts = [
        f"customer : my {i} agent : sorry we will fix it {end}"
        for i in ISSUES
        for end in SOON + LATER
    ]
    tok = word_tokenizer(texts)
    model = Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=len(tok),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=4,
            max_position_embeddings=64,
            bos_token_id=None,
            eos_token_id=tok.eos_token_id,
            pad_token_id=tok.pad_token_id,
        )
    )
    pretrain_lm(model, tok, texts, steps=130)
    rng = random.Random(3)
    rows = []
    for _ in range(240):
        rows.append(
            {
                "prompt": f"customer : my {rng.choice(ISSUES[:7])} agent :",
                "chosen": f" sorry we will fix it {rng.choice(SOON)}",
                "rejected": f" sorry we will fix it {rng.choice(LATER)}",
            }
        )
    args = DPOConfig(
        **common(
            max_steps=50,
            per_device_train_batch_size=8,
            learning_rate=2e-3,
            beta=0.5,
            loss_type=["sigmoid", "sft"],
            loss_weights=[1.0, 2.0],
            gradient_checkpointing=False,
            bf16=False,
        )
    )
    return DPOTrainer(
        model=model,
        args=args,
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
        peft_config=LoraConfig(
            task_type=TaskType.CAUSAL_LM,
            r=8,
            lora_alpha=16,
            target_modules=["q_proj", "v_proj", "up_proj", "down_proj"],
        ),
    )


def opinion_rows(n, seed, noise):
    rng = random.Random(seed)
    out = []
    for _ in range(n):
        y = rng.randrange(2)
        words = rng.choices(PLUS if y else MINUS, k=3) + rng.choices(FILL, k=5)
        rng.shuffle(words)
        out.append({"text": " ".join(words), "label": 1 - y if rng.random() < noise else y})
    return out


def minho():
    set_seed(45)
    train = opinion_rows(1600, 1, 0.25)
    tok = wordpiece_tokenizer([r["text"] for r in train])
    model = RobertaForSequenceClassification(
        RobertaConfig(
            vocab_size=len(tok),
            hidden_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=128,
            max_position_embeddings=48,
            pad_token_id=tok.pad_token_id,
            num_labels=2,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )
    )

    def prepare(rows):
        ds = Dataset.from_list(rows)
        return ds.map(
            lambda b: tok(b["text"], return_token_type_ids=False),
            batched=True,
            remove_columns=["text"],
        )

    args = TrainingArguments(
        **common(
            num_train_epochs=1, per_device_train_batch_size=32, learning_rate=2e-3, warmup_steps=4
        )
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=prepare(train),
        eval_dataset=prepare(opinion_rows(200, 2, 0.0)),
        data_collator=DataCollatorWithPadding(tok),
        processing_class=tok,
        compute_metrics=lambda p: {
            "accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())
        },
    )


CASES = {
    "tamar": tamar,
    "dvina": dvina,
    "garonne": garonne,
    "ljusnan": ljusnan,
    "vitebsk": vitebsk,
    "pori": pori,
    "neman": neman,
    "mezen": mezen,
    "oulu": oulu,
    "tisza": tisza,
    "kemi": kemi,
    "sava": sava,
}

ODD = {
    "loire": loire,
    "havel": havel,
    "aare": aare,
    "ebro": ebro,
    "tweed": tweed,
    "minho": minho,
}
