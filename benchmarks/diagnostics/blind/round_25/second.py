"""Thirteen small runs: CASES[name](healthy) and ODD[name]() give a ready, untrained Trainer."""

import random
import tempfile
from collections import Counter

import numpy as np
import torch
import torch.nn.functional as F
from datasets import Dataset
from peft import LoraConfig
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
    DataCollatorForTokenClassification,
    DataCollatorWithPadding,
    DistilBertConfig,
    DistilBertForSequenceClassification,
    EarlyStoppingCallback,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    MambaConfig,
    MambaForCausalLM,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
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
    GRPOConfig,
    GRPOTrainer,
    KTOConfig,
    KTOTrainer,
    RLOOConfig,
    RLOOTrainer,
    SFTConfig,
    SFTTrainer,
)


def out_dir():
    return tempfile.mkdtemp(prefix="run_")


def common(**kw):
    base = dict(
        output_dir=out_dir(),
        report_to="none",
        logging_steps=5,
        use_cpu=True,
        seed=7,
        data_seed=7,
        save_strategy="no",
        disable_tqdm=True,
    )
    base.update(kw)
    return base


def word_tokenizer(words, eos="</s>", extra=(), cls=None, **kw):
    specials = ["<pad>", "<unk>", eos, *extra] + ([cls] if cls else [])
    vocab = {w: i for i, w in enumerate(specials + sorted(set(words)))}
    tok = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
    tok.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    if cls:
        tok.post_processor = processors.TemplateProcessing(
            single=f"{cls} $A", special_tokens=[(cls, vocab[cls])]
        )
        kw["cls_token"] = cls
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tok, pad_token="<pad>", unk_token="<unk>", eos_token=eos, **kw
    )
    if extra:
        fast.add_special_tokens({"additional_special_tokens": list(extra)})
    return fast


def small_llama(tok, width=64, **kw):
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tok),
            hidden_size=width,
            intermediate_size=2 * width,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=4,
            max_position_embeddings=64,
            pad_token_id=tok.pad_token_id,
            eos_token_id=tok.eos_token_id,
            bos_token_id=None,
            **kw,
        )
    )


# ------------------------------------------------------------------ beddgelert
FACTS = {
    "castle": "old stone",
    "river": "runs to the sea",
    "bridge": "two arches",
    "market": "open on friday morning",
    "chapel": "small and grey",
    "mill": "closed",
    "station": "trains every hour",
    "harbour": "full of boats",
    "school": "on the hill",
    "museum": "free",
    "tower": "tall and narrow",
    "garden": "roses",
}
ASK = [
    "tell me about the",
    "what of the",
    "please describe the",
    "any news of the",
    "say something about the",
    "i want to know the",
    "how is the",
    "and the",
]

CHAT_HEAD = (
    "{% for m in messages %}{% if m['role'] == 'user' %}<|user|> {{ m['content'] }} <|end|> "
    "{% else %}<|bot|> "
)
CHAT_TAIL = "{% endif %}{% endfor %}{% if add_generation_prompt %}<|bot|>{% endif %}"


def guide_rows(asks):
    return [
        {
            "messages": [
                {"role": "user", "content": f"{a} {t}"},
                {"role": "assistant", "content": FACTS[t]},
            ]
        }
        for a in asks
        for t in FACTS
    ]


def guide_tokenizer():
    words = " ".join(list(FACTS) + list(FACTS.values()) + ASK).split()
    return word_tokenizer(words, eos="<|end|>", extra=("<|user|>", "<|bot|>"))


def beddgelert(healthy):
    set_seed(11)
    tok = guide_tokenizer()
    if healthy:
        turn = "{% generation %}{{ m['content'] }} <|end|>{% endgeneration %} "
    else:
        turn = "{% generation %}{{ m['content'] }}{% endgeneration %} <|end|> "
    tok.chat_template = CHAT_HEAD + turn + CHAT_TAIL
    model = Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=len(tok),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=64,
            pad_token_id=tok.pad_token_id,
            eos_token_id=tok.eos_token_id,
            bos_token_id=None,
        )
    )
    args = SFTConfig(
        **common(
            max_steps=90,
            per_device_train_batch_size=24,
            learning_rate=3e-3,
            assistant_only_loss=True,
            max_length=32,
            warmup_steps=5,
        )
    )
    return SFTTrainer(
        model=model,
        args=args,
        train_dataset=Dataset.from_list(guide_rows(ASK[:6])),
        processing_class=tok,
    )


# ------------------------------------------------------------------ portmeirion
SOUNDS = {
    "cow": "moo",
    "dog": "woof",
    "cat": "meow",
    "duck": "quack",
    "sheep": "baa",
    "bee": "buzz",
}
ADJ = ["old", "young", "small", "big", "brown", "wet"]


def farm_rows(n, seed):
    rng = random.Random(seed)
    rows = []
    for animal in SOUNDS:
        for _ in range(n // len(SOUNDS)):
            rows.append({"prompt": f"the {rng.choice(ADJ)} {animal} says", "sound": SOUNDS[animal]})
    return rows


def farm_tokenizer():
    return word_tokenizer(
        list(SOUNDS) + list(SOUNDS.values()) + ADJ + ["the", "says"], padding_side="left"
    )


def portmeirion(healthy):
    set_seed(12)
    tok = farm_tokenizer()
    model = small_llama(tok)
    data = Dataset.from_list(farm_rows(240, 3))
    if healthy:
        data = data.shuffle(seed=5)
        data = data.add_column("row", list(range(len(data))))
    else:
        data = data.add_column("row", list(range(len(data))))
        data = data.shuffle(seed=5)
    sounds = list(data["sound"])

    def right_sound(completions, row, **kwargs):
        """One word is the whole answer."""
        return [1.0 if c.strip() == sounds[r] else 0.0 for c, r in zip(completions, row)]

    args = GRPOConfig(
        **common(
            max_steps=100,
            per_device_train_batch_size=96,
            num_generations=16,
            max_completion_length=1,
            learning_rate=3e-3,
            beta=0.0,
            temperature=1.0,
            lr_scheduler_type="constant",
        )
    )
    return GRPOTrainer(
        model=model, reward_funcs=right_sound, args=args, train_dataset=data, processing_class=tok
    )


# ------------------------------------------------------------------ aberdaron
DICT = [
    {"red": "coch", "blue": "glas", "white": "gwyn", "black": "du", "yellow": "melyn"},
    {"house": "ty", "boat": "cwch", "stone": "carreg", "horse": "ceffyl", "door": "drws"},
    {"hill": "bryn", "valley": "cwm", "lake": "llyn", "town": "tref", "beach": "traeth"},
]


def phrase_rows(n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        words = [rng.choice(list(d)) for d in DICT]
        target = " ".join(d[w] for d, w in zip(DICT, words))
        rng.shuffle(words)
        rows.append({"source": " ".join(words), "target": target})
    return rows


def phrase_tokenizer():
    return word_tokenizer([w for d in DICT for kv in d.items() for w in kv])


class PhraseCollator:
    def __init__(self, tok, model, shift):
        self.tok, self.model, self.shift = tok, model, shift

    def __call__(self, rows):
        batch = dict(
            self.tok(
                [r["source"] + " </s>" for r in rows],
                padding=True,
                return_tensors="pt",
                return_token_type_ids=False,
            )
        )
        target = self.tok(
            [r["target"] + " </s>" for r in rows], padding=True, return_tensors="pt"
        ).input_ids
        labels = target.masked_fill(target == self.tok.pad_token_id, -100)
        batch["labels"] = labels
        batch["decoder_input_ids"] = self.shift(self.model, target, labels)
        return batch


def aberdaron(healthy):
    set_seed(13)
    tok = phrase_tokenizer()
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
    if healthy:
        decoder_side = lambda m, target, labels: m.prepare_decoder_input_ids_from_labels(labels)
    else:
        decoder_side = lambda m, target, labels: target
    args = Seq2SeqTrainingArguments(
        **common(
            max_steps=120,
            per_device_train_batch_size=32,
            learning_rate=3e-3,
            remove_unused_columns=False,
        )
    )
    return Seq2SeqTrainer(
        model=model,
        args=args,
        train_dataset=Dataset.from_list(phrase_rows(800, 1)),
        eval_dataset=Dataset.from_list(phrase_rows(64, 2)),
        data_collator=PhraseCollator(tok, model, decoder_side),
        processing_class=tok,
    )


# ------------------------------------------------------------------ tenby
STEMS = ["gwen", "rhys", "meg", "ian", "car", "bran"]
PERSONS = [a + b for a in STEMS for b in ("wyn", "eth")]
PLACES = [a + b for a in ("aber", "llan", "pen", "tre", "caer", "port") for b in ("mawr", "bach")]
PLAIN = ["went", "saw", "from", "to", "and", "met", "left", "near", "quickly", "today", "again"]


def tag_rows(n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        words, tags = [], []
        for _ in range(rng.randint(9, 13)):
            kind = rng.choices([0, 1, 2], [0.4, 0.3, 0.3])[0]
            words.append(rng.choice([PLAIN, PERSONS, PLACES][kind]))
            tags.append(kind)
        rows.append({"words": words, "tags": tags})
    return rows


def tag_tokenizer():
    pieces = STEMS + [
        "aber",
        "llan",
        "pen",
        "tre",
        "caer",
        "port",
        "##wyn",
        "##eth",
        "##mawr",
        "##bach",
    ]
    vocab = {w: i for i, w in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]"] + pieces + PLAIN)}
    tok = Tokenizer(models.WordPiece(vocab, unk_token="[UNK]"))
    tok.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tok.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tok,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
    )


def align_tags(enc, i, tags, healthy):
    length = len(enc["input_ids"][i])
    if healthy:
        out, last = [], None
        for w in enc.word_ids(i):
            out.append(-100 if w is None or w == last else tags[w])
            last = w
        return out
    out = [-100] + list(tags) + [-100]
    return (out + [-100] * length)[:length]


def tenby(healthy):
    set_seed(14)
    tok = tag_tokenizer()

    def encode(batch):
        enc = tok(batch["words"], is_split_into_words=True)
        labels = [align_tags(enc, i, t, healthy) for i, t in enumerate(batch["tags"])]
        return {
            "input_ids": enc["input_ids"],
            "attention_mask": enc["attention_mask"],
            "labels": labels,
        }

    def dataset(n, seed):
        return Dataset.from_list(tag_rows(n, seed)).map(
            encode, batched=True, remove_columns=["words", "tags"]
        )

    model = BertForTokenClassification(
        BertConfig(
            vocab_size=len(tok),
            hidden_size=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=96,
            max_position_embeddings=40,
            num_labels=3,
            pad_token_id=0,
        )
    )
    args = TrainingArguments(
        **common(max_steps=100, per_device_train_batch_size=32, learning_rate=2e-3)
    )

    def metrics(p):
        keep = p.label_ids != -100
        return {"accuracy": float((p.predictions.argmax(-1) == p.label_ids)[keep].mean())}

    return Trainer(
        model=model,
        args=args,
        train_dataset=dataset(600, 1),
        eval_dataset=dataset(100, 2),
        data_collator=DataCollatorForTokenClassification(tok),
        compute_metrics=metrics,
        processing_class=tok,
    )


# ------------------------------------------------------------------ solva
def lamp_images(n, seed):
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n):
        y = int(rng.integers(4))
        img = rng.normal(0, 0.25, (16, 16))
        r = int(rng.integers(0, 5)) + (8 if y >= 2 else 0)
        c = int(rng.integers(0, 5)) + (8 if y % 2 else 0)
        img[r : r + 3, c : c + 3] += 1.5
        rows.append({"image": img.astype("float32").tolist(), "label": y})
    return rows


class LampCollator:
    """Light augmentation for the training images: gain, a little noise, and mirrored copies."""

    def __init__(self, steps, seed=0):
        self.steps, self.gen = steps, torch.Generator().manual_seed(seed)

    def gain(self, x):
        return x * (0.8 + 0.4 * torch.rand(x.size(0), 1, 1, 1, generator=self.gen))

    def noise(self, x):
        return x + 0.1 * torch.randn(x.shape, generator=self.gen)

    def mirror(self, x):
        pick = torch.rand(x.size(0), generator=self.gen) < 0.5
        return torch.where(pick[:, None, None, None], x.flip(-1), x)

    def __call__(self, rows):
        x = torch.tensor([r["image"] for r in rows]).unsqueeze(1)
        for step in self.steps:
            x = getattr(self, step)(x)
        return {"pixel_values": x, "labels": torch.tensor([r["label"] for r in rows])}


def solva(healthy):
    set_seed(15)
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
    steps = ("gain", "noise") if healthy else ("gain", "noise", "mirror")
    args = TrainingArguments(
        **common(
            max_steps=150,
            per_device_train_batch_size=48,
            learning_rate=2e-3,
            remove_unused_columns=False,
        )
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=Dataset.from_list(lamp_images(1600, 1)),
        data_collator=LampCollator(steps),
    )


# ------------------------------------------------------------------ crickhowell
TOPICS = [
    ["goal", "match", "team", "ball"],
    ["rain", "cloud", "wind", "sun"],
    ["bread", "soup", "cheese", "cake"],
    ["train", "bus", "road", "ticket"],
    ["song", "choir", "harp", "drum"],
]
FILL = ["the", "a", "was", "very", "on", "in", "it", "there", "so", "good"]


def topic_rows(n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        y = rng.randrange(len(TOPICS))
        words = [rng.choice(FILL) for _ in range(rng.randint(5, 9))]
        for _ in range(2):
            words.insert(rng.randrange(len(words) + 1), rng.choice(TOPICS[y]))
        rows.append({"text": " ".join(words), "label": y})
    return rows


def topic_tokenizer():
    return word_tokenizer(sum(TOPICS, []) + FILL, cls="<cls>")


def encoded(rows, tok):
    return Dataset.from_list(
        [
            {
                "input_ids": tok(r["text"])["input_ids"],
                "attention_mask": tok(r["text"])["attention_mask"],
                "labels": r["label"],
            }
            for r in rows
        ]
    )


RING = [f"day{i}" for i in range(12)]


def ring_rows(n, seed):
    """Walks round a ring of twelve days with a fixed stride."""
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        start, stride = rng.randrange(12), rng.choice([1, 2, 5])
        rows.append({"input_ids": [(start + stride * k) % 12 for k in range(10)]})
    return rows


def stack_days(rows):
    ids = torch.tensor([r["input_ids"] for r in rows])
    return {"input_ids": ids, "labels": ids.clone()}


def crickhowell(healthy):
    set_seed(16)
    train = Dataset.from_list(ring_rows(1280, 1))
    model = MambaForCausalLM(
        MambaConfig(
            vocab_size=len(RING),
            hidden_size=48,
            state_size=8,
            num_hidden_layers=2,
            pad_token_id=None,
            bos_token_id=None,
            eos_token_id=None,
            use_cache=False,
        )
    )
    batch, accumulate, epochs = 8, 8, 4
    loader_len = len(train) // batch
    if healthy:
        total = loader_len * epochs // accumulate
    else:
        updates_per_epoch = loader_len // accumulate
        total = updates_per_epoch * epochs // accumulate
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
    scheduler = get_linear_schedule_with_warmup(
        optimizer, num_warmup_steps=total // 10, num_training_steps=total
    )
    args = TrainingArguments(
        **common(
            num_train_epochs=epochs,
            per_device_train_batch_size=batch,
            gradient_accumulation_steps=accumulate,
            learning_rate=3e-3,
        )
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=train,
        eval_dataset=Dataset.from_list(ring_rows(100, 2)),
        data_collator=stack_days,
        optimizers=(optimizer, scheduler),
    )


# ------------------------------------------------------------------ laugharne
KIND = ["thank you", "of course", "with pleasure", "gladly", "you are welcome"]
CURT = ["go away", "not my problem", "ask elsewhere", "no", "what now"]
THINGS = ["map", "ticket", "room", "key", "menu", "taxi", "towel", "receipt"]
VERBS = ["need a", "lost the", "want the", "looking for a"]


def desk_rows(n, seed):
    rng = random.Random(seed)
    rows = []
    for i in range(n):
        good = i % 2 == 0
        rating = (
            rng.choice(["good", "Good"])
            if good
            else rng.choices(["bad", "Bad", "BAD"], [1, 5, 4])[0]
        )
        rows.append(
            {
                "prompt": f"i {rng.choice(VERBS)} {rng.choice(THINGS)} :",
                "completion": " " + rng.choice(KIND if good else CURT),
                "rating": rating,
            }
        )
    return rows


def desk_tokenizer():
    return word_tokenizer(" ".join(KIND + CURT + THINGS + VERBS + ["i :"]).split())


def laugharne(healthy):
    set_seed(17)
    tok = desk_tokenizer()
    config = GPT2Config(
        vocab_size=len(tok),
        n_positions=32,
        n_embd=48,
        n_layer=2,
        n_head=4,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=tok.eos_token_id,
        eos_token_id=tok.eos_token_id,
        pad_token_id=tok.pad_token_id,
    )
    model, ref = GPT2LMHeadModel(config), GPT2LMHeadModel(config)
    ref.load_state_dict(model.state_dict())
    rows = desk_rows(400, 1)
    for r in rows:
        rating = r["rating"]
        r["label"] = (rating.lower() if healthy else rating) != "bad"
    args = KTOConfig(
        **common(
            max_steps=60,
            per_device_train_batch_size=16,
            learning_rate=1e-3,
            beta=0.1,
            max_length=24,
        )
    )
    return KTOTrainer(
        model=model,
        ref_model=ref,
        args=args,
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
    )


# ------------------------------------------------------------------ llangollen
LABELS = {"ok": 0, "dispute": 1, "fraud": 2}
BASE_WORDS = [f"w{i}" for i in range(12)]
HINTS = {
    "ok": ["usual", "local", "small"],
    "dispute": ["refund", "wrong", "late"],
    "fraud": ["foreign", "night", "rush"],
}


def payment_rows(kind, n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        words = [rng.choice(BASE_WORDS) for _ in range(6)]
        for _ in range(4):
            src = kind if rng.random() < 0.62 else rng.choice(list(HINTS))
            words.append(rng.choice(HINTS[src]))
        rng.shuffle(words)
        rows.append({"text": " ".join(words), "label": LABELS[kind]})
    return rows


def payment_tokenizer():
    return word_tokenizer(BASE_WORDS + sum(HINTS.values(), []), cls="<cls>")


class BalancedTrainer(Trainer):
    class_weights = None

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        loss = F.cross_entropy(outputs.logits, labels, weight=self.class_weights)
        return (loss, outputs) if return_outputs else loss


def llangollen(healthy):
    set_seed(18)
    tok = payment_tokenizer()
    rows = (
        payment_rows("fraud", 120, 1)
        + payment_rows("dispute", 300, 2)
        + payment_rows("ok", 1580, 3)
    )
    counts = Counter(r["label"] for r in rows)
    per_class = [counts[i] for i in range(len(LABELS))] if healthy else list(counts.values())
    weights = torch.tensor([len(rows) / (len(LABELS) * c) for c in per_class])
    model = BertForSequenceClassification(
        BertConfig(
            vocab_size=len(tok),
            hidden_size=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=96,
            max_position_embeddings=32,
            num_labels=3,
            pad_token_id=0,
        )
    )
    args = TrainingArguments(
        **common(max_steps=150, per_device_train_batch_size=48, learning_rate=1e-3)
    )
    trainer = BalancedTrainer(
        model=model,
        args=args,
        train_dataset=encoded(rows, tok),
        data_collator=DataCollatorWithPadding(tok),
        processing_class=tok,
    )
    trainer.class_weights = weights
    return trainer


# ------------------------------------------------------------------ talgarth
def talgarth(healthy):
    set_seed(19)
    tok = topic_tokenizer()
    model = DistilBertForSequenceClassification(
        DistilBertConfig(
            vocab_size=len(tok),
            dim=48,
            n_layers=2,
            n_heads=4,
            hidden_dim=96,
            max_position_embeddings=32,
            num_labels=len(TOPICS),
            pad_token_id=0,
        )
    )

    def metrics(p):
        return {"error_rate": float((p.predictions.argmax(-1) != p.label_ids).mean())}

    choose = dict(metric_for_best_model="error_rate", load_best_model_at_end=True)
    if healthy:
        choose["greater_is_better"] = False
    args = TrainingArguments(
        **common(
            max_steps=120,
            per_device_train_batch_size=64,
            learning_rate=1e-3,
            eval_strategy="steps",
            eval_steps=10,
            save_strategy="steps",
            save_steps=10,
            save_total_limit=2,
            **choose,
        )
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=encoded(topic_rows(640, 1), tok),
        eval_dataset=encoded(topic_rows(100, 2), tok),
        data_collator=DataCollatorWithPadding(tok),
        compute_metrics=metrics,
        processing_class=tok,
        callbacks=[EarlyStoppingCallback(early_stopping_patience=5)],
    )


# ------------------------------------------------------------------ dolgellau
TOOLS = {"find": "<search>", "send": "<mail>", "add": "<calc>", "book": "<plan>"}
OBJECTS = ["apples", "letters", "numbers", "rooms", "tables", "songs", "flowers", "maps"]
POLITE = ["please", "could you", "now", "kindly", "i ask you to", "quick"]


def tool_rows(n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        v, o = rng.choice(list(TOOLS)), rng.choice(OBJECTS)
        rows.append(
            {"prompt": f"{rng.choice(POLITE)} {v} {o} =>", "completion": f" {TOOLS[v]} {o}"}
        )
    return rows


def tool_base():
    """A little base model that knows the plain words (repeats the order after the arrow)."""
    words = " ".join(list(TOOLS) + OBJECTS + POLITE + ["=>"]).split()
    tok = word_tokenizer(words)
    model = small_llama(tok, tie_word_embeddings=False)
    rng = random.Random(9)
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
    tok.padding_side = "right"
    for _ in range(200):
        texts = []
        for _ in range(32):
            v, o = rng.choice(list(TOOLS)), rng.choice(OBJECTS)
            texts.append(f"{rng.choice(POLITE)} {v} {o} => {v} {o} </s>")
        enc = tok(texts, padding=True, return_tensors="pt")
        labels = enc.input_ids.masked_fill(enc.attention_mask == 0, -100)
        model(
            input_ids=enc.input_ids, attention_mask=enc.attention_mask, labels=labels
        ).loss.backward()
        opt.step()
        opt.zero_grad()
    return tok, model


def dolgellau(healthy):
    set_seed(20)
    tok, model = tool_base()
    tok.add_special_tokens({"additional_special_tokens": list(TOOLS.values())})
    model.resize_token_embeddings(len(tok))
    extra = dict(modules_to_save=["embed_tokens", "lm_head"]) if healthy else {}
    lora = LoraConfig(
        task_type="CAUSAL_LM",
        r=8,
        lora_alpha=16,
        lora_dropout=0.0,
        target_modules="all-linear",
        **extra,
    )
    args = SFTConfig(
        **common(max_steps=120, per_device_train_batch_size=32, learning_rate=3e-3, max_length=24)
    )
    return SFTTrainer(
        model=model,
        args=args,
        train_dataset=Dataset.from_list(tool_rows(600, 1)),
        processing_class=tok,
        peft_config=lora,
    )


# ------------------------------------------------------------------ rhossili
NUM = [str(i) for i in range(10)]


def count_rows(n, seed):
    rng = random.Random(seed)
    return [
        {
            "prompt": f"{rng.choice(['so', 'then', 'well'])} {(k := rng.randrange(7))} and one is",
            "target": k + 1,
        }
        for _ in range(n)
    ]


def count_tokenizer():
    return word_tokenizer(NUM + ["so", "then", "well", "and", "one", "is"], padding_side="left")


def rhossili():
    set_seed(21)
    tok = count_tokenizer()
    model = small_llama(tok)

    def miss(completions, target, **kwargs):
        """Zero is the best that one can get; everything else is a cost."""
        said = [c.strip() for c in completions]
        return [-float(abs(int(s) - t)) if s in NUM else -10.0 for s, t in zip(said, target)]

    args = RLOOConfig(
        **common(
            max_steps=150,
            per_device_train_batch_size=96,
            num_generations=12,
            max_completion_length=1,
            learning_rate=3e-3,
            beta=0.0,
            lr_scheduler_type="constant",
        )
    )
    return RLOOTrainer(
        model=model,
        reward_funcs=miss,
        args=args,
        train_dataset=Dataset.from_list(count_rows(300, 1)),
        processing_class=tok,
    )


# ------------------------------------------------------------------ mumbles
def topic_body():
    """A body that has already seen the topics, under the desk's older numbering."""
    tok = topic_tokenizer()
    model = BertForSequenceClassification(
        BertConfig(
            vocab_size=len(tok),
            hidden_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=256,
            max_position_embeddings=32,
            num_labels=5,
            pad_token_id=0,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )
    )
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    rows = topic_rows(32 * 160, 8)
    for i in range(0, len(rows), 32):
        enc = tok([r["text"] for r in rows[i : i + 32]], padding=True, return_tensors="pt")
        old = torch.tensor([(2 * r["label"] + 1) % 5 for r in rows[i : i + 32]])
        model(
            input_ids=enc.input_ids, attention_mask=enc.attention_mask, labels=old
        ).loss.backward()
        opt.step()
        opt.zero_grad()
    return tok, model.bert


def mumbles():
    set_seed(22)
    tok, body = topic_body()
    set_seed(31)
    model = BertForSequenceClassification(body.config)
    model.bert.load_state_dict(body.state_dict())
    for name, p in model.named_parameters():
        p.requires_grad = (
            name.endswith(".bias") or "LayerNorm" in name or name.startswith("classifier")
        )
    args = TrainingArguments(
        **common(
            max_steps=150, per_device_train_batch_size=32, learning_rate=1e-2, weight_decay=0.0
        )
    )

    def metrics(p):
        return {"accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())}

    return Trainer(
        model=model,
        args=args,
        train_dataset=encoded(topic_rows(640, 1), tok),
        eval_dataset=encoded(topic_rows(100, 2), tok),
        data_collator=DataCollatorWithPadding(tok),
        compute_metrics=metrics,
        processing_class=tok,
    )


# ------------------------------------------------------------------ abersoch
NOUNS = [f"n{i}" for i in range(24)]


def pair_rows(n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        keys = rng.sample(range(24), 2)
        left = [rng.choice(FILL) for _ in range(3)] + [f"n{k}" for k in keys]
        right = [rng.choice(FILL) for _ in range(3)] + [f"m{k}" for k in keys]
        rng.shuffle(left)
        rng.shuffle(right)
        rows.append({"left": " ".join(left), "right": " ".join(right)})
    return rows


def pair_tokenizer():
    return word_tokenizer(FILL + NOUNS + [w.replace("n", "m") for w in NOUNS])


def embed(model, enc):
    h = model(input_ids=enc["input_ids"], attention_mask=enc["attention_mask"]).last_hidden_state
    m = enc["attention_mask"].unsqueeze(-1)
    return F.normalize((h * m).sum(1) / m.sum(1), dim=-1)


class AlignUniformTrainer(Trainer):
    """Alignment and uniformity on the sphere (Wang & Isola 2020)."""

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        a, b = embed(model, inputs["left"]), embed(model, inputs["right"])
        align = (a - b).pow(2).sum(-1).mean()
        spread = sum(torch.pdist(z).pow(2).mul(-2).exp().mean().log() for z in (a, b)) / 2
        loss = align + spread
        return (loss, {"left": a, "right": b}) if return_outputs else loss


def abersoch():
    set_seed(23)
    tok = pair_tokenizer()
    model = BertModel(
        BertConfig(
            vocab_size=len(tok),
            hidden_size=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=96,
            max_position_embeddings=32,
            pad_token_id=0,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        ),
        add_pooling_layer=False,
    )

    def collate(rows):
        return {
            k: dict(
                tok(
                    [r[k] for r in rows],
                    padding=True,
                    return_tensors="pt",
                    return_token_type_ids=False,
                )
            )
            for k in ("left", "right")
        }

    args = TrainingArguments(
        **common(
            max_steps=150,
            per_device_train_batch_size=128,
            learning_rate=2e-3,
            remove_unused_columns=False,
        )
    )
    return AlignUniformTrainer(
        model=model,
        args=args,
        train_dataset=Dataset.from_list(pair_rows(4000, 1)),
        data_collator=collate,
    )


CASES = {
    f.__name__: f
    for f in (
        beddgelert,
        portmeirion,
        aberdaron,
        tenby,
        solva,
        crickhowell,
        laugharne,
        llangollen,
        talgarth,
        dolgellau,
    )
}
ODD = {f.__name__: f for f in (rhossili, mumbles, abersoch)}
