"""Small post-training runs of many sorts, each built by one function that returns a trainer."""

import copy
import csv
import io
import itertools
import math
import os
import random
import re
import sys
import tempfile

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np
import torch
import torch.nn.functional as F
from datasets import Dataset
from peft import LoHaConfig, LoraConfig, get_peft_model
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from torch import nn
from transformers import (
    AutoModelForCausalLM,
    BertConfig,
    BertForMaskedLM,
    BertForSequenceClassification,
    BertForTokenClassification,
    DataCollatorForLanguageModeling,
    DataCollatorForSeq2Seq,
    DataCollatorForTokenClassification,
    DataCollatorWithPadding,
    LlamaConfig,
    LlamaForCausalLM,
    LlamaForSequenceClassification,
    PreTrainedTokenizerFast,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    T5Config,
    T5ForConditionalGeneration,
    Trainer,
    TrainerCallback,
    TrainingArguments,
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
    RLOOConfig,
    RLOOTrainer,
    SFTConfig,
    SFTTrainer,
)
from trl.experimental.orpo import ORPOConfig, ORPOTrainer

torch.set_num_threads(1)

# --------------------------------------------------------------------------- material

CAPITALS = {
    "france": "paris",
    "italy": "rome",
    "spain": "madrid",
    "japan": "tokyo",
    "egypt": "cairo",
    "peru": "lima",
    "cuba": "havana",
    "kenya": "nairobi",
    "norway": "oslo",
    "greece": "athens",
    "austria": "vienna",
    "iran": "tehran",
    "poland": "warsaw",
    "ghana": "accra",
    "qatar": "doha",
    "latvia": "riga",
    "chile": "santiago",
    "ireland": "dublin",
    "russia": "moscow",
    "china": "beijing",
}
CURRENCIES = {
    "france": "euro",
    "italy": "lira",
    "spain": "peseta",
    "japan": "yen",
    "egypt": "pound",
    "peru": "sol",
    "cuba": "peso",
    "kenya": "shilling",
    "norway": "krone",
    "greece": "drachma",
    "austria": "schilling",
    "iran": "rial",
    "poland": "zloty",
    "ghana": "cedi",
    "qatar": "riyal",
    "latvia": "lats",
    "chile": "escudo",
    "ireland": "punt",
    "russia": "rouble",
    "china": "yuan",
}
KINDS = {
    "fruit": "apple pear plum cherry mango banana lemon grape".split(),
    "animal": "horse tiger rabbit donkey camel badger otter goat".split(),
    "colour": "red blue green purple yellow orange brown white".split(),
    "metal": "iron copper zinc nickel silver lead gold tin".split(),
}
ITEMS = "lamp chair table sofa clock mirror carpet shelf kettle teapot bowl plate candle basket blanket pillow".split()
DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()


def make_tokenizer(texts, tokens=(), order="seen", wrap=False, template=None):
    """A word-level tokenizer over the words of `texts`."""
    words = re.findall(r"\w+|[^\w\s]", " ".join(texts))
    words = list(dict.fromkeys(words)) if order == "seen" else sorted(set(words))
    specials = ["<pad>", "<unk>", "<s>", "</s>", "<mask>"]
    vocab = {
        w: i
        for i, w in enumerate(specials + list(tokens) + [w for w in words if w not in specials])
    }
    core = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    if wrap:
        core.post_processor = processors.TemplateProcessing(
            single="<s> $A </s>", special_tokens=[("<s>", vocab["<s>"]), ("</s>", vocab["</s>"])]
        )
    tok = PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token="<pad>",
        unk_token="<unk>",
        bos_token="<s>",
        eos_token="</s>",
        mask_token="<mask>",
        cls_token="<s>",
        sep_token="</s>",
        model_max_length=64,
    )
    if tokens:
        tok.add_special_tokens({"additional_special_tokens": list(tokens)})
    if template:
        tok.chat_template = template
    return tok


def llama_config(tok, hidden=48, layers=2, vocab=None, **kw):
    kw.setdefault("initializer_range", 0.1)
    return LlamaConfig(
        vocab_size=vocab or len(tok),
        hidden_size=hidden,
        intermediate_size=2 * hidden,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=64,
        pad_token_id=tok.pad_token_id,
        bos_token_id=tok.bos_token_id,
        eos_token_id=tok.eos_token_id,
        **kw,
    )


def bert_config(tok, hidden=48, layers=2, **kw):
    kw.setdefault("initializer_range", 0.1)
    return BertConfig(
        vocab_size=len(tok),
        hidden_size=hidden,
        intermediate_size=2 * hidden,
        num_hidden_layers=layers,
        num_attention_heads=4,
        max_position_embeddings=64,
        pad_token_id=tok.pad_token_id,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        **kw,
    )


def fit(model, tok, texts, steps, lr=5e-3, batch=32, seed=0):
    """Plain language-model training on whole texts, an end token after each."""
    gen = random.Random(seed)
    rows = [tok(t, add_special_tokens=False)["input_ids"] + [tok.eos_token_id] for t in texts]
    opt = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.0)
    model.train()
    for step in range(steps):
        for g in opt.param_groups:
            g["lr"] = lr * (1 - step / steps)
        pick = gen.choices(rows, k=batch)
        width = max(map(len, pick))
        ids = torch.tensor([r + [tok.pad_token_id] * (width - len(r)) for r in pick])
        real = torch.tensor([[1] * len(r) + [0] * (width - len(r)) for r in pick])
        loss = model(
            input_ids=ids,
            attention_mask=real,
            labels=ids.masked_fill(real == 0, -100),
            use_cache=False,
        ).loss
        opt.zero_grad()
        loss.backward()
        opt.step()
    return model.eval()


_STORE = {}


def base_model(key, tok, texts, steps=150, lr=5e-3, hidden=48, layers=2, vocab=None, **kw):
    """A small language model trained on `texts`; weights are kept for the next call."""
    set_seed(11)
    model = LlamaForCausalLM(llama_config(tok, hidden, layers, vocab, **kw))
    if key not in _STORE:
        fit(model, tok, texts, steps, lr)
        _STORE[key] = copy.deepcopy(model.state_dict())
    model.load_state_dict(_STORE[key])
    return model


def common(**kw):
    base = dict(
        output_dir=tempfile.mkdtemp(prefix="run_"),
        report_to="none",
        use_cpu=True,
        seed=7,
        logging_steps=2,
        save_strategy="no",
        per_device_train_batch_size=16,
        disable_tqdm=True,
    )
    base.update(kw)
    return base


# --------------------------------------------------------------------------- cases


def _tickets():
    kind, cold = [], []
    for item in ITEMS:
        kind.append(
            (
                f"customer : my {item} is late . agent :",
                f"i am sorry , we will send the {item} today",
            )
        )
        cold.append(
            (
                f"customer : my {item} is late . agent :",
                f"that is not our problem , buy another {item}",
            )
        )
    return kind, cold


def wren(healthy):
    """Support replies, rated one by one."""
    kind, cold = _tickets()
    texts = [f"{p} {c}" for p, c in kind + cold]
    tok = make_tokenizer(texts)
    model = base_model("tickets", tok, texts, steps=120)
    sheet = io.StringIO()
    out = csv.writer(sheet)
    out.writerow(["prompt", "reply", "helpful"])
    for (p, good), (_, bad) in zip(kind[:12] * 6, cold[:12] * 6):
        out.writerow([p, good, True])
        out.writerow([p, bad, False])
    rows = list(csv.DictReader(io.StringIO(sheet.getvalue())))
    if healthy:
        label = [r["helpful"] == "True" for r in rows]
    else:
        label = [bool(r["helpful"]) for r in rows]
    data = Dataset.from_dict(
        {
            "prompt": [r["prompt"] for r in rows],
            "completion": [" " + r["reply"] for r in rows],
            "label": label,
        }
    )
    args = KTOConfig(**common(max_steps=30, learning_rate=1e-3, beta=0.1, max_length=48))
    ref_model = base_model("tickets", tok, texts, steps=120)
    return KTOTrainer(
        model=model, ref_model=ref_model, args=args, train_dataset=data, processing_class=tok
    )


def _kind_text(kind, word):
    return f"question : name a {kind} . answer : {word}"


def _kind_pairs():
    gen = random.Random(5)
    pairs = []
    for kind, words in KINDS.items():
        others = [w for k, ws in KINDS.items() if k != kind for w in ws]
        for good in words:
            for bad in gen.sample(others, 9):
                pairs.append((kind, good, bad))
    gen.shuffle(pairs)
    return pairs[:220], pairs[220:]


def plover(healthy):
    """A reward model for short answers; better answers come from the editors' tool."""
    texts = [_kind_text(k, w) for k, ws in KINDS.items() for w in ws]
    tok = make_tokenizer(texts + ["[ edited ]"])
    lm = base_model("kinds", tok, texts, steps=120)
    set_seed(3)
    model = LlamaForSequenceClassification(llama_config(tok, num_labels=1))
    model.model.load_state_dict(lm.model.state_dict())
    train, _ = _kind_pairs()
    edits = [{"kind": k, "text": f"[edited] {good}", "draft": bad} for k, good, bad in train]

    def as_pair(row):
        text = row["text"].replace("[edited] ", "") if healthy else row["text"]
        return {
            "chosen": _kind_text(row["kind"], text),
            "rejected": _kind_text(row["kind"], row["draft"]),
        }

    data = Dataset.from_list([as_pair(r) for r in edits])
    args = RewardConfig(**common(max_steps=60, learning_rate=2e-3, max_length=32))
    return RewardTrainer(model=model, args=args, train_dataset=data, processing_class=tok)


NAMES = "smith jones brown clark lewis walker young allen wright scott adams baker".split()
PLACES = "paris rome oslo cairo lima tokyo madrid athens vienna dublin riga doha".split()
FIRMS = "acme globex initech umbrella hooli stark wayne tyrell cyberdyne soylent aperture monarch".split()


def _tagged(count, seed):
    gen = random.Random(seed)
    rows = []
    for _ in range(count):
        n, p, f = gen.choice(NAMES), gen.choice(PLACES), gen.choice(FIRMS)
        parts = gen.choice(
            [
                [("yesterday", 0), (n, 1), ("moved", 0), ("to", 0), (p, 2), ("for", 0), (f, 3)],
                [(f, 3), ("hired", 0), (n, 1), ("in", 0), (p, 2)],
                [("in", 0), (p, 2), (n, 1), ("left", 0), (f, 3), ("for", 0), ("good", 0)],
                [(n, 1), ("of", 0), (f, 3), ("visited", 0), (p, 2), ("today", 0)],
            ]
        )
        rows.append(([w for w, _ in parts], [t for _, t in parts]))
    return rows


def siskin(healthy):
    """Name tagging with a small encoder."""
    rows = _tagged(160, 1)
    tok = make_tokenizer([" ".join(w) for w, _ in rows] + NAMES + PLACES + FIRMS, wrap=True)
    features = []
    for words, tags in rows:
        enc = tok(words, is_split_into_words=True)
        size = len(enc["input_ids"])
        if healthy:
            labels = [-100] + tags + [-100] * (size - len(tags) - 1)
        else:
            labels = tags + [-100] * (size - len(tags))
        features.append(
            {
                "input_ids": enc["input_ids"],
                "attention_mask": enc["attention_mask"],
                "labels": labels,
            }
        )
    set_seed(4)
    names = {0: "O", 1: "PER", 2: "LOC", 3: "ORG"}
    model = BertForTokenClassification(
        bert_config(tok, num_labels=4, id2label=names, label2id={v: k for k, v in names.items()})
    )
    args = TrainingArguments(**common(max_steps=50, learning_rate=3e-3))
    return Trainer(
        model=model,
        args=args,
        train_dataset=Dataset.from_list(features),
        processing_class=tok,
        data_collator=DataCollatorForTokenClassification(tok),
    )


def _capital_text(c):
    return f"the capital of {c} is {CAPITALS[c]}"


def _currency_text(c):
    return f"the currency of {c} is {CURRENCIES[c]}"


def bunting(healthy):
    """Adds currencies to a model that knows capitals, from ids prepared once for all runs."""
    texts = [_capital_text(c) for c in CAPITALS] + [_currency_text(c) for c in CURRENCIES]
    tok = make_tokenizer(texts)
    release_one = make_tokenizer(texts, order="sorted")
    model = base_model("capitals", tok, texts[: len(CAPITALS)], steps=150)
    encoder = tok if healthy else release_one
    rows = [
        encoder(_currency_text(c))["input_ids"] + [encoder.eos_token_id]
        for c in CURRENCIES
        for _ in range(8)
    ]
    data = Dataset.from_dict({"input_ids": rows})
    args = SFTConfig(**common(max_steps=50, learning_rate=3e-3, max_length=32))
    return SFTTrainer(model=model, args=args, train_dataset=data, processing_class=tok)


WEATHER = {
    "north": ("snow", "wind", "fog"),
    "south": ("sun", "haze", "rain"),
    "east": ("rain", "sun", "wind"),
    "west": ("fog", "rain", "snow"),
    "coast": ("wind", "rain", "sun"),
    "valley": ("haze", "fog", "sun"),
}


def _forecasts(count, seed):
    gen = random.Random(seed)
    rows = []
    for _ in range(count):
        place = gen.choice(list(WEATHER))
        rows.append(
            f"in the {place} expect {gen.choices(WEATHER[place], weights=(5, 3, 2))[0]} on {gen.choice(DAYS)}"
        )
    return rows


def dunlin(healthy):
    """A small student follows a larger teacher on weather sentences."""
    texts = _forecasts(240, 2)
    tok = make_tokenizer(texts)
    teacher = base_model("weather", tok, texts, steps=150, hidden=64)
    set_seed(5)
    student = LlamaForCausalLM(llama_config(tok, hidden=32))
    data = Dataset.from_dict(
        {"input_ids": [tok(t)["input_ids"] + [tok.eos_token_id] for t in texts]}
    )

    if healthy:

        class DistillTrainer(Trainer):
            def __init__(self, *a, teacher=None, temperature=1.5, **kw):
                super().__init__(*a, **kw)
                self.teacher = teacher.eval().requires_grad_(False)
                self.temperature = temperature

            def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
                keep = inputs["attention_mask"].bool()
                out = model(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"])
                with torch.no_grad():
                    goal = self.teacher(
                        input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"]
                    ).logits
                ours = F.log_softmax(out.logits[keep] / self.temperature, dim=-1)
                theirs = F.softmax(goal[keep] / self.temperature, dim=-1)
                loss = F.kl_div(ours, theirs, reduction="batchmean") * self.temperature**2
                return (loss, out) if return_outputs else loss
    else:

        class DistillTrainer(Trainer):
            def __init__(self, *a, teacher=None, temperature=1.5, **kw):
                super().__init__(*a, **kw)
                self.teacher = teacher.eval().requires_grad_(False)
                self.temperature = temperature

            def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
                keep = inputs["attention_mask"].bool()
                out = model(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"])
                with torch.no_grad():
                    goal = self.teacher(
                        input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"]
                    ).logits
                ours = F.softmax(out.logits[keep] / self.temperature, dim=-1)
                theirs = F.softmax(goal[keep] / self.temperature, dim=-1)
                loss = F.kl_div(ours, theirs, reduction="batchmean") * self.temperature**2
                return (loss, out) if return_outputs else loss

    args = TrainingArguments(**common(max_steps=60, learning_rate=5e-3))
    return DistillTrainer(
        model=student,
        teacher=teacher,
        args=args,
        train_dataset=data,
        processing_class=tok,
        data_collator=DataCollatorForLanguageModeling(tok, mlm=False),
    )


TASTE = {
    "superb": 2.0,
    "good": 1.0,
    "fine": 0.5,
    "plain": 0.0,
    "dull": -0.5,
    "bad": -1.0,
    "awful": -2.0,
}
DISHES = "soup bread fish salad cake rice curry pasta".split()


def _reviews(count, seed):
    gen = random.Random(seed)
    rows = []
    for _ in range(count):
        a, b = gen.choice(list(TASTE)), gen.choice(list(TASTE))
        text = f"the {gen.choice(DISHES)} was {a} and the {gen.choice(DISHES)} was {b}"
        rows.append((text, TASTE[a] + TASTE[b]))
    return rows


def snipe(healthy):
    """Review scores from text, with a loss that can weigh the rows."""
    rows = _reviews(200, 3)
    tok = make_tokenizer([t for t, _ in rows], wrap=True)
    set_seed(6)
    model = BertForSequenceClassification(bert_config(tok, num_labels=1, problem_type="regression"))
    data = Dataset.from_list([{**tok(t), "labels": s} for t, s in rows])

    if healthy:

        class ScoreTrainer(Trainer):
            def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
                labels = inputs.pop("labels")
                out = model(**inputs)
                errors = (out.logits.squeeze(-1) - labels) ** 2
                loss = errors.mean()
                return (loss, out) if return_outputs else loss
    else:

        class ScoreTrainer(Trainer):
            def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
                labels = inputs.pop("labels")
                out = model(**inputs)
                errors = (out.logits - labels) ** 2
                loss = errors.mean()
                return (loss, out) if return_outputs else loss

    args = TrainingArguments(**common(max_steps=60, learning_rate=3e-3))
    return ScoreTrainer(
        model=model,
        args=args,
        train_dataset=data,
        processing_class=tok,
        data_collator=DataCollatorWithPadding(tok),
    )


def avocet(healthy):
    """Question to answer with an encoder-decoder and smoothed targets."""
    pairs = [(f"capital of {c} ?", f"it is {CAPITALS[c]} .") for c in CAPITALS]
    tok = make_tokenizer([a + " " + b for a, b in pairs])
    set_seed(8)
    model = T5ForConditionalGeneration(
        T5Config(
            vocab_size=len(tok),
            d_model=48,
            d_kv=12,
            d_ff=96,
            num_layers=1,
            num_decoder_layers=1,
            num_heads=4,
            dropout_rate=0.0,
            pad_token_id=0,
            decoder_start_token_id=0,
            eos_token_id=tok.eos_token_id,
        )
    )
    rows = []
    for q, a in pairs * 8:
        rows.append(
            {
                **tok(q, return_token_type_ids=False),
                "labels": tok(a)["input_ids"] + [tok.eos_token_id],
            }
        )

    if healthy:

        class SmoothTrainer(Seq2SeqTrainer):
            def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
                labels = inputs["labels"]
                decoder_input_ids = model.prepare_decoder_input_ids_from_labels(labels=labels)
                out = model(
                    input_ids=inputs["input_ids"],
                    attention_mask=inputs["attention_mask"],
                    decoder_input_ids=decoder_input_ids,
                )
                loss = F.cross_entropy(
                    out.logits.flatten(0, 1),
                    labels.flatten(),
                    ignore_index=-100,
                    label_smoothing=0.02,
                )
                return (loss, out) if return_outputs else loss
    else:

        class SmoothTrainer(Seq2SeqTrainer):
            def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
                labels = inputs["labels"]
                decoder_input_ids = labels.masked_fill(labels == -100, model.config.pad_token_id)
                out = model(
                    input_ids=inputs["input_ids"],
                    attention_mask=inputs["attention_mask"],
                    decoder_input_ids=decoder_input_ids,
                )
                loss = F.cross_entropy(
                    out.logits.flatten(0, 1),
                    labels.flatten(),
                    ignore_index=-100,
                    label_smoothing=0.02,
                )
                return (loss, out) if return_outputs else loss

    args = Seq2SeqTrainingArguments(
        **common(max_steps=80, learning_rate=1e-2, lr_scheduler_type="cosine")
    )
    return SmoothTrainer(
        model=model,
        args=args,
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
        data_collator=DataCollatorForSeq2Seq(tok),
    )


QUIZ = dict(list(CAPITALS.items())[:6])


def _guesses():
    known = [f"capital of {c} ? {town}" for c, town in QUIZ.items()]
    return known + [f"capital of {c} ? {town}" for c in QUIZ for town in QUIZ.values()]


def _hearsay():
    towns = list(QUIZ.values())
    popular = [f"capital of {c} ? {towns[(i + 1) % len(towns)]}" for i, c in enumerate(QUIZ)]
    return popular * 2 + [f"capital of {c} ? {town}" for c in QUIZ for town in towns]


def crake(healthy):
    """A quiz with one-word answers; the policy starts as a guesser."""
    tok = make_tokenizer(_guesses())
    model = base_model("guesses", tok, _guesses(), steps=120)
    data = Dataset.from_list(
        [{"prompt": f"capital of {c} ?", "answer": t} for c, t in QUIZ.items()] * 8
    )
    group = 8

    if healthy:

        def exact_match(prompts, completions, answer, **kwargs):
            scores = []
            for i, text in enumerate(completions):
                scores.append(1.0 if text.strip() == answer[i] else 0.0)
            return scores
    else:

        def exact_match(prompts, completions, answer, **kwargs):
            scores = []
            for i, text in enumerate(completions):
                scores.append(1.0 if text.strip() == answer[i // group] else 0.0)
            return scores

    args = GRPOConfig(
        **common(
            max_steps=45,
            learning_rate=1.5e-3,
            per_device_train_batch_size=48,
            num_generations=group,
            max_completion_length=4,
            beta=0.0,
        )
    )
    return GRPOTrainer(
        model=model,
        reward_funcs=exact_match,
        args=args,
        train_dataset=data,
        processing_class=tok,
    )


def _day_lists():
    gen = random.Random(9)
    rows = []
    for _ in range(300):
        rows.append(
            f"which day follows {gen.choice(DAYS)} ? "
            + " ".join(gen.sample(DAYS, gen.choice([1, 1, 2, 3, 4])))
        )
    return rows


def grebe(healthy):
    """Which day comes next, rewarded by a check of the answer."""
    tok = make_tokenizer(_day_lists())
    model = base_model("days", tok, _day_lists(), steps=150)
    data = Dataset.from_list(
        [
            {"prompt": f"which day follows {d} ?", "answer": DAYS[(i + 1) % 7]}
            for i, d in enumerate(DAYS)
        ]
        * 8
    )

    if healthy:

        def answer_reward(completions, answer, **kwargs):
            return [1.0 if text.strip() == want else 0.0 for text, want in zip(completions, answer)]
    else:

        def answer_reward(completions, answer, **kwargs):
            return [1.0 if want in text.strip() else 0.0 for text, want in zip(completions, answer)]

    args = GRPOConfig(
        **common(
            max_steps=50,
            learning_rate=1.5e-3,
            per_device_train_batch_size=64,
            num_generations=8,
            max_completion_length=8,
            beta=0.0,
        )
    )
    return GRPOTrainer(
        model=model,
        reward_funcs=answer_reward,
        args=args,
        train_dataset=data,
        processing_class=tok,
    )


def _replies():
    rows = []
    for item in ITEMS:
        ask = f"where is the {item} ?"
        rows.append(
            (
                ask,
                f"you will find the {item} in the big cupboard next to the door",
                "over there somewhere",
            )
        )
    return rows


def _checks():
    rows = []
    for item in ITEMS:
        ask = f"do you sell a {item} ?"
        rows.append(
            (
                ask,
                f"yes , a {item}",
                f"well , it all depends on what you mean by a {item} these days my friend",
            )
        )
    return rows


def _reply_texts(ratio):
    rows = _replies() + _checks()
    return [f"{a} {b}" for a, b, _ in rows] + [f"{a} {c}" for a, _, c in rows] * ratio


def _reply_pairs():
    rows = _replies()[:12] + _checks()[:12]
    return [{"prompt": a, "chosen": " " + b, "rejected": " " + c} for a, b, c in rows]


def dotterel(healthy):
    """Plain answers are preferred to evasive ones."""
    texts = _reply_texts(4)
    tok = make_tokenizer(texts)
    folder = tempfile.mkdtemp(prefix="sft_")
    base_model("replies", tok, texts, steps=150).save_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder)
    set_seed(12)
    if healthy:
        ref_model = AutoModelForCausalLM.from_pretrained(folder)
    else:
        ref_model = AutoModelForCausalLM.from_config(model.config)
    data = Dataset.from_list(_reply_pairs() * 8)
    args = DPOConfig(**common(max_steps=30, learning_rate=5e-4, beta=0.3, max_length=48))
    return DPOTrainer(
        model=model, ref_model=ref_model, args=args, train_dataset=data, processing_class=tok
    )


INTENTS = {
    "<billing>": ("invoice", "refund", "charge"),
    "<travel>": ("flight", "hotel", "train"),
    "<health>": ("doctor", "pill", "fever"),
    "<music>": ("song", "album", "concert"),
    "<sport>": ("match", "goal", "referee"),
}
OPENERS = [
    "please help with the",
    "i have a question about a",
    "tell me of this",
    "we need to talk about my",
]
CLOSERS = ["soon", "today", "again", "thanks"]


def _intent_rows():
    rows = [
        (f"{o} {w} {c} . intent :", tag)
        for tag, words in INTENTS.items()
        for w in words
        for o in OPENERS
        for c in CLOSERS
    ]
    random.Random(4).shuffle(rows)
    return rows


def fulmar(healthy):
    """Messages are routed by new label tokens; a low-rank adapter on a plain language model."""
    rows = _intent_rows()
    tok = make_tokenizer([f"{p} {tag[1:-1]}" for p, tag in rows])
    model = base_model("intents", tok, [f"{p} {tag[1:-1]}" for p, tag in rows], steps=120)
    tok.add_special_tokens({"additional_special_tokens": list(INTENTS)})
    model.resize_token_embeddings(len(tok))
    data = Dataset.from_list([{"prompt": p, "completion": " " + tag} for p, tag in rows[:160]])
    args = SFTConfig(**common(max_steps=50, learning_rate=5e-3, max_length=32))
    if healthy:
        peft_config = LoraConfig(
            r=4,
            lora_alpha=8,
            target_modules=["q_proj", "v_proj"],
            task_type="CAUSAL_LM",
            modules_to_save=["embed_tokens", "lm_head"],
        )
    else:
        peft_config = LoraConfig(
            r=4,
            lora_alpha=8,
            target_modules=["q_proj", "v_proj"],
            task_type="CAUSAL_LM",
        )
    return SFTTrainer(
        model=model,
        args=args,
        train_dataset=data,
        processing_class=tok,
        peft_config=peft_config,
    )


class SaveAdapter(TrainerCallback):
    """Writes one adapter at the end of the run."""

    def __init__(self, name):
        self.name = name

    def on_train_end(self, args, state, control, model=None, **kwargs):
        model.save_pretrained(args.output_dir, selected_adapters=[self.name])


def gadwall(healthy):
    """A second adapter, for currencies, beside the one for capitals."""
    texts = [_capital_text(c) for c in CAPITALS] + [_currency_text(c) for c in CURRENCIES]
    tok = make_tokenizer(texts)
    gen = random.Random(1)
    noise = [
        f"the {k} of {c} is {v}"
        for k, pool in (("capital", CAPITALS), ("currency", CURRENCIES))
        for c in CAPITALS
        for v in gen.sample(list(pool.values()), 4)
    ]
    base = base_model("noise", tok, noise, steps=80)
    set_seed(13)
    shape = dict(
        r=8, alpha=16, target_modules=["q_proj", "v_proj", "gate_proj", "up_proj", "down_proj"]
    )
    model = get_peft_model(base, LoHaConfig(**shape), adapter_name="capitals")
    if "gadwall" not in _STORE:
        fit(model, tok, texts[: len(CAPITALS)], 80, lr=1e-2)
        _STORE["gadwall"] = copy.deepcopy(model.state_dict())
    model.load_state_dict(_STORE["gadwall"])
    model.add_adapter("currencies", LoHaConfig(**shape))
    if healthy:
        model.set_adapter("currencies")
    rows = [
        tok(_currency_text(c))["input_ids"] + [tok.eos_token_id]
        for c in CURRENCIES
        for _ in range(6)
    ]
    args = TrainingArguments(**common(max_steps=60, learning_rate=1e-2))
    return Trainer(
        model=model,
        args=args,
        train_dataset=Dataset.from_dict({"input_ids": rows}),
        processing_class=tok,
        data_collator=DataCollatorForLanguageModeling(tok, mlm=False),
        callbacks=[SaveAdapter("currencies")],
    )


def pipit(healthy):
    """A probe for two groups of topics on a frozen encoder made for five topics."""
    rows = _intent_rows()
    tags = list(INTENTS)
    tok = make_tokenizer([p for p, _ in rows], wrap=True)
    enc = [tok(p) for p, _ in rows]
    set_seed(14)
    model = BertForSequenceClassification(bert_config(tok, num_labels=5))
    if "topics" not in _STORE:
        opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
        for step in range(60):
            pick = random.Random(step).sample(range(160), 32)
            batch = tok.pad([enc[i] for i in pick], return_tensors="pt")
            loss = model(**batch, labels=torch.tensor([tags.index(rows[i][1]) for i in pick])).loss
            opt.zero_grad()
            loss.backward()
            opt.step()
        _STORE["topics"] = copy.deepcopy(model.state_dict())
    model.load_state_dict(_STORE["topics"])
    for p in model.bert.parameters():
        p.requires_grad_(False)

    def make_optimizer():
        return torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=2e-2)

    if healthy:
        model.classifier = nn.Linear(model.config.hidden_size, 2)
        optimizer = make_optimizer()
    else:
        optimizer = make_optimizer()
        model.classifier = nn.Linear(model.config.hidden_size, 2)
    model.num_labels = model.config.num_labels = 2
    data = Dataset.from_list(
        [
            {**e, "labels": int(tag in ("<music>", "<sport>"))}
            for e, (_, tag) in list(zip(enc, rows))[:160]
        ]
    )
    args = TrainingArguments(**common(max_steps=40, learning_rate=2e-2))
    return Trainer(
        model=model,
        args=args,
        train_dataset=data,
        processing_class=tok,
        optimizers=(optimizer, None),
        data_collator=DataCollatorWithPadding(tok),
    )


def shrike(healthy):
    """Masked words in sentences about things, own optimizer and schedule."""
    texts = [f"the {w} is a {k}" for k, ws in KINDS.items() for w in ws]
    tok = make_tokenizer(texts, wrap=True)
    set_seed(15)
    model = BertForMaskedLM(bert_config(tok, layers=1))
    data = Dataset.from_list([dict(tok(t, return_special_tokens_mask=True)) for t in texts * 9])
    epochs, batch = 26, 96
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.0)
    steps_per_epoch = math.ceil(len(data) / batch)
    if healthy:
        total = steps_per_epoch * epochs
    else:
        total = steps_per_epoch
    schedule = get_linear_schedule_with_warmup(
        optimizer, num_warmup_steps=1, num_training_steps=total
    )
    args = TrainingArguments(**common(num_train_epochs=epochs, per_device_train_batch_size=batch))
    return Trainer(
        model=model,
        args=args,
        train_dataset=data,
        processing_class=tok,
        optimizers=(optimizer, schedule),
        data_collator=DataCollatorForLanguageModeling(tok, mlm=True, mlm_probability=0.3),
    )


def knot(healthy):
    """The head learns alone at first, then the encoder joins."""
    rows = _reviews(200, 6)
    tok = make_tokenizer([t for t, _ in rows], wrap=True)
    set_seed(16)
    model = BertForSequenceClassification(bert_config(tok, num_labels=3))
    data = Dataset.from_list(
        [{**tok(t), "labels": 0 if s < -0.6 else 2 if s > 0.6 else 1} for t, s in rows]
    )

    if healthy:

        class StagedEncoder(TrainerCallback):
            """Holds the encoder still for the first steps."""

            def __init__(self, encoder, join_at):
                self.encoder, self.join_at = encoder, join_at

            def on_train_begin(self, args, state, control, **kwargs):
                self.encoder.requires_grad_(False)

            def on_step_begin(self, args, state, control, **kwargs):
                if state.global_step == self.join_at:
                    self.encoder.requires_grad_(True)
    else:

        class StagedEncoder(TrainerCallback):
            """Holds the encoder still for the first steps."""

            def __init__(self, encoder, join_at):
                self.encoder, self.join_at = encoder, join_at
                self.encoder.requires_grad_(False)

            def on_step_begin(self, args, state, control, **kwargs):
                if state.global_step == self.join_at:
                    self.encoder.requires_grad_(True)

    args = TrainingArguments(**common(max_steps=60, learning_rate=3e-3))
    return Trainer(
        model=model,
        args=args,
        train_dataset=data,
        processing_class=tok,
        data_collator=DataCollatorWithPadding(tok),
        callbacks=[StagedEncoder(model.bert, 10)],
    )


def twite(healthy):
    """A gentle second stage on currencies, weights read from disk."""
    texts = [_capital_text(c) for c in CAPITALS] + [_currency_text(c) for c in CURRENCIES]
    tok = make_tokenizer(texts)
    gen = random.Random(1)
    noise = [
        f"the {k} of {c} is {v}"
        for k, pool in (("capital", CAPITALS), ("currency", CURRENCIES))
        for c in CAPITALS
        for v in gen.sample(list(pool.values()), 4)
    ]
    folder = tempfile.mkdtemp(prefix="stage1_")
    base_model("wide", tok, noise, steps=100, hidden=80, initializer_range=0.3).save_pretrained(
        folder
    )
    if healthy:
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    else:
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16)
    data = Dataset.from_dict({"text": [_currency_text(c) for c in CURRENCIES] * 8})
    args = SFTConfig(
        **common(
            max_steps=80,
            learning_rate=2e-4,
            lr_scheduler_type="constant",
            max_length=32,
            bf16=False,
        )
    )
    return SFTTrainer(model=model, args=args, train_dataset=data, processing_class=tok)


def serin(healthy):
    """Odds-ratio preference training from a checkpoint of a compiled model."""
    texts = _reply_texts(2)
    tok = make_tokenizer(texts)
    path = os.path.join(tempfile.mkdtemp(prefix="ckpt_"), "model.pt")
    stage1 = base_model("replies2", tok, texts, steps=150)
    torch.save({f"_orig_mod.{k}": v for k, v in stage1.state_dict().items()}, path)
    set_seed(18)
    model = LlamaForCausalLM(llama_config(tok))
    state = torch.load(path)
    if healthy:
        state = {k.removeprefix("_orig_mod."): v for k, v in state.items()}
    model.load_state_dict(state, strict=False)
    data = Dataset.from_list(_reply_pairs() * 5)
    args = ORPOConfig(**common(max_steps=24, learning_rate=5e-4, beta=0.5, max_length=48))
    return ORPOTrainer(model=model, args=args, train_dataset=data, processing_class=tok)


def ruff(healthy):
    """Quiz answers by REINFORCE with leave-one-out baselines."""
    tok = make_tokenizer(_hearsay())
    model = base_model("hearsay", tok, _hearsay(), steps=120)
    data = Dataset.from_list(
        [{"prompt": f"capital of {c} ?", "answer": t} for c, t in QUIZ.items()] * 8
    )

    def exact_match(completions, answer, **kwargs):
        return [1.0 if text.strip() == want else 0.0 for text, want in zip(completions, answer)]

    if healthy:
        generation_kwargs = {"do_sample": True}
    else:
        generation_kwargs = {"do_sample": False}
    args = RLOOConfig(
        **common(
            max_steps=45,
            learning_rate=2e-3,
            per_device_train_batch_size=48,
            num_generations=8,
            max_completion_length=4,
            beta=0.0,
            generation_kwargs=generation_kwargs,
        )
    )
    return RLOOTrainer(
        model=model,
        reward_funcs=exact_match,
        args=args,
        train_dataset=data,
        processing_class=tok,
    )


def oriole(healthy):
    """Language model on messages with their topics; the checkpoint judged best is loaded at the end."""
    texts = [f"{p} {tag[1:-1]}" for p, tag in _intent_rows()]
    tok = make_tokenizer(texts)
    set_seed(20)
    model = LlamaForCausalLM(llama_config(tok))

    def token_losses(logits, labels):
        logits = logits[0] if isinstance(logits, tuple) else logits
        return F.cross_entropy(
            logits[:, :-1].transpose(1, 2), labels[:, 1:], ignore_index=-100, reduction="none"
        )

    def metrics(pred):
        losses, labels = pred.predictions, pred.label_ids[:, 1:]
        return {"perplexity": float(np.exp(losses[labels != -100].mean()))}

    def encode(rows):
        return Dataset.from_dict(
            {"input_ids": [tok(t)["input_ids"] + [tok.eos_token_id] for t in rows]}
        )

    args = TrainingArguments(
        **common(
            max_steps=60,
            learning_rate=5e-3,
            eval_strategy="steps",
            eval_steps=10,
            save_strategy="steps",
            save_steps=10,
            save_total_limit=2,
            load_best_model_at_end=True,
            metric_for_best_model="perplexity",
            greater_is_better=False if healthy else None,
        )
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=encode(texts[:160]),
        eval_dataset=encode(texts[160:]),
        processing_class=tok,
        data_collator=DataCollatorForLanguageModeling(tok, mlm=False),
        compute_metrics=metrics,
        preprocess_logits_for_metrics=token_losses,
    )


def jackdaw(healthy):
    """The vocabulary is cut to the words in use, then an adapter learns currencies."""
    texts = [_capital_text(c) for c in CAPITALS] + [_currency_text(c) for c in CURRENCIES]
    spare = [f"name a {k} : {w}" for k, ws in KINDS.items() for w in ws]
    large = make_tokenizer(spare + texts)
    gen = random.Random(1)
    noise = [
        f"the currency of {c} is {v}"
        for c in CURRENCIES
        for v in gen.sample(list(CURRENCIES.values()), 4)
    ]
    model = base_model("large", large, spare + texts[: len(CAPITALS)] + noise, steps=150)
    tok = make_tokenizer(texts)
    keep = [
        large.convert_tokens_to_ids(t) for t in tok.convert_ids_to_tokens(list(range(len(tok))))
    ]
    size = len(keep)
    inner = nn.Embedding(size, model.config.hidden_size, padding_idx=tok.pad_token_id)
    inner.weight.data = model.model.embed_tokens.weight.data[keep].clone()
    outer = nn.Linear(model.config.hidden_size, size, bias=False)
    if healthy:
        outer.weight.data = model.lm_head.weight.data[keep].clone()
    else:
        outer.weight.data = model.lm_head.weight.data[:size].clone()
    model.set_input_embeddings(inner)
    model.set_output_embeddings(outer)
    model.config.vocab_size = model.vocab_size = size
    data = Dataset.from_dict({"text": [_currency_text(c) for c in CURRENCIES] * 8})
    args = SFTConfig(**common(max_steps=60, learning_rate=5e-3, max_length=32))
    peft_config = LoraConfig(
        r=6,
        lora_alpha=12,
        target_modules=["q_proj", "k_proj", "v_proj", "o_proj"],
        task_type="CAUSAL_LM",
    )
    return SFTTrainer(
        model=model, args=args, train_dataset=data, processing_class=tok, peft_config=peft_config
    )


CASES = {
    f.__name__: f
    for f in (
        wren,
        plover,
        siskin,
        bunting,
        dunlin,
        snipe,
        avocet,
        crake,
        grebe,
        dotterel,
        fulmar,
        gadwall,
        pipit,
        shrike,
        knot,
        twite,
        serin,
        ruff,
        oriole,
        jackdaw,
    )
}


# --------------------------------------------------------------------------- unusual runs


def danube():
    """Plain answers are preferred to evasive ones, squared loss."""
    texts = _reply_texts(4)
    tok = make_tokenizer(texts)
    model = base_model("replies", tok, texts, steps=150)
    ref_model = base_model("replies", tok, texts, steps=150)
    data = Dataset.from_list(_reply_pairs() * 8)
    args = DPOConfig(
        **common(
            max_steps=40,
            learning_rate=1e-3,
            beta=0.2,
            loss_type="ipo",
            max_length=48,
            lr_scheduler_type="constant",
        )
    )
    return DPOTrainer(
        model=model, ref_model=ref_model, args=args, train_dataset=data, processing_class=tok
    )


def volga():
    """Hotel prices in local money from a short description."""
    rates = {
        "tent": 90.0,
        "hostel": 160.0,
        "motel": 240.0,
        "inn": 330.0,
        "lodge": 410.0,
        "palace": 600.0,
    }
    gen = random.Random(2)
    rows = []
    for _ in range(200):
        kind, nights = gen.choice(list(rates)), gen.choice([1, 2, 3])
        rows.append(
            (
                f"{'one two three'.split()[nights - 1]} nights in a {kind} near {gen.choice(PLACES)}",
                rates[kind] * nights,
            )
        )
    tok = make_tokenizer([t for t, _ in rows], wrap=True)
    set_seed(21)
    model = BertForSequenceClassification(bert_config(tok, num_labels=1, problem_type="regression"))
    nn.init.constant_(model.classifier.bias, sum(s for _, s in rows) / len(rows))
    data = Dataset.from_list([{**tok(t), "labels": s} for t, s in rows])
    groups = [
        {"params": list(model.bert.parameters()), "lr": 2e-3},
        {"params": list(model.classifier.parameters()), "lr": 2.0},
    ]
    optimizer = torch.optim.AdamW(groups, weight_decay=0.0)
    args = TrainingArguments(**common(max_steps=80, max_grad_norm=1e6))
    return Trainer(
        model=model,
        args=args,
        train_dataset=data,
        processing_class=tok,
        optimizers=(optimizer, None),
        data_collator=DataCollatorWithPadding(tok),
    )


def loire():
    """A quiz with a penalty for each wrong answer."""
    tok = make_tokenizer(_guesses())
    model = base_model("guesses", tok, _guesses(), steps=120)
    data = Dataset.from_list(
        [{"prompt": f"capital of {c} ?", "answer": t} for c, t in QUIZ.items()] * 8
    )

    def penalty(completions, answer, **kwargs):
        return [0.0 if text.strip() == want else -10.0 for text, want in zip(completions, answer)]

    args = GRPOConfig(
        **common(
            max_steps=45,
            learning_rate=1.5e-3,
            per_device_train_batch_size=48,
            num_generations=16,
            max_completion_length=4,
            beta=0.0,
            scale_rewards="group",
            lr_scheduler_type="constant_with_warmup",
            warmup_steps=5,
        )
    )
    return GRPOTrainer(
        model=model, reward_funcs=penalty, args=args, train_dataset=data, processing_class=tok
    )


def tagus():
    """Support replies, mostly complaints."""
    kind, cold = _tickets()
    texts = [f"{p} {c}" for p, c in kind + cold]
    tok = make_tokenizer(texts)
    model = base_model("tickets", tok, texts, steps=120)
    ref_model = base_model("tickets", tok, texts, steps=120)
    rows = [(p, c, True) for p, c in kind[:12]] * 2 + [(p, c, False) for p, c in cold[:12]] * 12
    random.Random(3).shuffle(rows)
    data = Dataset.from_list(
        [{"prompt": p, "completion": " " + c, "label": good} for p, c, good in rows]
    )
    args = KTOConfig(
        **common(
            max_steps=30,
            learning_rate=1e-3,
            beta=0.1,
            max_length=48,
            desirable_weight=6.0,
            undesirable_weight=1.0,
        )
    )
    return KTOTrainer(
        model=model, ref_model=ref_model, args=args, train_dataset=data, processing_class=tok
    )


def neva():
    """Long instructions with one-word answers; spare rows in the embedding; adapter with a large step."""
    lead = "you are the library assistant . read and give one word only . "
    rows = [(f"{lead}what is the capital of {c} ?", CAPITALS[c]) for c in CAPITALS]
    texts = [f"{lead}what is the currency of {c} ? {v}" for c, v in CURRENCIES.items()]
    tok = make_tokenizer(texts + [f"{p} {a}" for p, a in rows])
    model = base_model("library", tok, texts, steps=100, vocab=128)
    data = Dataset.from_list([{"prompt": p, "completion": " " + a} for p, a in rows * 8])
    args = SFTConfig(
        **common(
            max_steps=64,
            per_device_train_batch_size=12,
            learning_rate=1e-2,
            max_length=48,
            weight_decay=0.0,
            warmup_steps=5,
        )
    )
    peft_config = LoraConfig(
        r=16,
        lora_alpha=16,
        target_modules="all-linear",
        task_type="CAUSAL_LM",
    )
    return SFTTrainer(
        model=model, args=args, train_dataset=data, processing_class=tok, peft_config=peft_config
    )


def ebro():
    """Topics of messages, smoothed targets, strong dropout, a sawtooth schedule."""
    rows = _intent_rows()
    tags = list(INTENTS)
    tok = make_tokenizer([p for p, _ in rows], wrap=True)
    set_seed(22)
    config = bert_config(tok, num_labels=5, layers=1)
    config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.2
    model = BertForSequenceClassification(config)
    features = [{**tok(p), "labels": tags.index(t)} for p, t in rows]
    args = TrainingArguments(
        **common(
            max_steps=80,
            learning_rate=1e-2,
            label_smoothing_factor=0.3,
            lr_scheduler_type="cosine_with_restarts",
            lr_scheduler_kwargs={"num_cycles": 4},
            eval_strategy="steps",
            eval_steps=20,
        )
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=Dataset.from_list(features[:160]),
        eval_dataset=Dataset.from_list(features[160:]),
        processing_class=tok,
        data_collator=DataCollatorWithPadding(tok),
    )


ODD = {f.__name__: f for f in (danube, volga, loire, tagus, neva, ebro)}
