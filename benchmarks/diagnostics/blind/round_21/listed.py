"""Small post-training runs, each returned as a ready trainer."""

import copy
import csv
import io
import math
import os
import random
import tempfile

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np
import torch
import torch.nn.functional as F
from datasets import Dataset
from peft import LoraConfig, get_peft_model
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from torch.optim.lr_scheduler import LambdaLR
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    BertConfig,
    BertForSequenceClassification,
    BertForTokenClassification,
    DataCollatorForTokenClassification,
    DataCollatorWithPadding,
    LlamaConfig,
    LlamaForCausalLM,
    LlamaForSequenceClassification,
    PreTrainedTokenizerFast,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
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

PLACES = (
    "norway peru kenya japan chile egypt nepal spain ghana italy cuba laos "
    "malta oman qatar samoa togo yemen fiji haiti iran iraq mali niger"
).split()
FOODS = (
    "apple bread cheese dates eggs figs grapes honey jam kale lemon mango "
    "nuts olives pears quince rice salt tea udon veal wheat yams zucchini"
).split()
DIGITS = [str(i) for i in range(6)]
NAMES = "anna bert carl dora emil fred gina hugo ines jack kate liam".split()
GLUE = "where what eats is in from the please say greet ask ? . hello dear friend go away you fool and then".split()
GOOD = "great lovely superb nice bright".split()
BAD = "awful nasty dreadful poor dull".split()
PLAIN = "average usual common medium normal".split()
FILL = "film book meal trip song room coat talk game walk".split()


# --------------------------------------------------------------------------- building blocks
def word_tokenizer(extra=(), template=None, cls=False):
    words = ["<pad>", "<s>", "</s>", "<unk>", "<|user|>", "<|bot|>"]
    words += PLACES + FOODS + DIGITS + NAMES + GLUE + GOOD + BAD + PLAIN + FILL + list(extra)
    vocab = {w: i for i, w in enumerate(dict.fromkeys(words))}
    core = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    if cls:
        core.post_processor = processors.TemplateProcessing(
            single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)]
        )
    tok = PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
        unk_token="<unk>",
    )
    tok.chat_template = template
    return tok


CHAT = (
    "{% for m in messages %}{% if m['role'] == 'user' %}<|user|> {{ m['content'] }} "
    "{% else %}<|bot|> {{ m['content'] }} </s> {% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|bot|> {% endif %}"
)


def llama_config(tok, hidden=64, layers=2, **kw):
    base = dict(
        vocab_size=len(tok),
        hidden_size=hidden,
        intermediate_size=2 * hidden,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=64,
        tie_word_embeddings=False,
        pad_token_id=tok.pad_token_id,
        bos_token_id=tok.bos_token_id,
        eos_token_id=tok.eos_token_id,
    )
    base.update(kw)
    return LlamaConfig(**base)


def small_lm(tok, seed=0, **kw):
    set_seed(seed)
    return LlamaForCausalLM(llama_config(tok, **kw))


def small_bert(tok, cls, num_labels, seed=0, **kw):
    set_seed(seed)
    cfg = dict(
        vocab_size=len(tok),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=64,
        pad_token_id=tok.pad_token_id,
        num_labels=num_labels,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        initializer_range=0.08,
    )
    cfg.update(kw)
    return cls(BertConfig(**cfg))


def common(**kw):
    base = dict(
        output_dir=tempfile.mkdtemp(prefix="run_"),
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
        logging_steps=4,
        save_strategy="no",
        seed=0,
        data_seed=0,
        per_device_train_batch_size=16,
        max_steps=40,
        learning_rate=5e-3,
        lr_scheduler_type="constant",
    )
    base.update(kw)
    return base


def common_trl(**kw):
    base = dict(bf16=False, gradient_checkpointing=False)
    base.update(kw)
    return common(**base)


def lm_row(tok, prompt, answer):
    p = tok(prompt, add_special_tokens=False)["input_ids"]
    a = tok(answer, add_special_tokens=False)["input_ids"] + [tok.eos_token_id]
    return {"input_ids": p + a, "labels": [-100] * len(p) + a}


class LMCollator:
    """Right-pads ids and labels."""

    def __init__(self, pad_id):
        self.pad_id = pad_id

    def __call__(self, rows):
        n = max(len(r["input_ids"]) for r in rows)
        ids = [r["input_ids"] + [self.pad_id] * (n - len(r["input_ids"])) for r in rows]
        att = [[1] * len(r["input_ids"]) + [0] * (n - len(r["input_ids"])) for r in rows]
        lab = [r["labels"] + [-100] * (n - len(r["labels"])) for r in rows]
        return {
            "input_ids": torch.tensor(ids),
            "attention_mask": torch.tensor(att),
            "labels": torch.tensor(lab),
        }


def warm_up(model, tok, pairs, steps=60, lr=5e-3, seed=0, batch=24):
    """A short pass of ordinary supervised training, standing in for the released base model."""
    rng = random.Random(seed)
    rows = [lm_row(tok, p, a) for p, a in pairs]
    opt = torch.optim.AdamW(model.parameters(), lr=lr)
    collate = LMCollator(tok.pad_token_id)
    model.train()
    for _ in range(steps):
        out = model(**collate(rng.sample(rows, min(batch, len(rows)))))
        out.loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        opt.zero_grad()
    return model


def food_facts(n=16, shift=0):
    return [
        (f"what eats {p} ?", FOODS[(i * 5 + shift) % len(FOODS)]) for i, p in enumerate(PLACES[:n])
    ]


def review_rows(n, seed, weights=(1, 1, 1)):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        y = rng.choices([0, 1, 2], weights)[0]
        words = [rng.choice((BAD, PLAIN, GOOD)[y])] + rng.sample(FILL, 3)
        rng.shuffle(words)
        rows.append({"text": " ".join(["the"] + words), "y": y})
    return rows


def encode_reviews(tok, rows):
    return Dataset.from_list([{**tok(r["text"]), "labels": r["y"]} for r in rows])


def accuracy(pred):
    logits = pred.predictions[0] if isinstance(pred.predictions, tuple) else pred.predictions
    return {"accuracy": float((logits.argmax(-1) == pred.label_ids).mean())}


# --------------------------------------------------------------------------- amur
CHAT_A = (
    "{% for m in messages %}{% if m['role'] == 'user' %}<|user|> {{ m['content'] }} "
    "{% else %}<|bot|> {% generation %}{{ m['content'] }} </s>{% endgeneration %} {% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|bot|> {% endif %}"
)
CHAT_B = (
    "{% for m in messages %}{% if m['role'] == 'user' %}<|user|> {{ m['content'] }} "
    "{% else %}<|bot|> {% generation %}{{ m['content'] }}{% endgeneration %} </s> {% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|bot|> {% endif %}"
)


def amur(healthy):
    tok = word_tokenizer(template=CHAT_A if healthy else CHAT_B)
    model = small_lm(tok)
    rows = [
        {
            "messages": [
                {"role": "user", "content": q},
                {"role": "assistant", "content": f"the {a} ."},
            ]
        }
        for q, a in food_facts(16)
    ] * 8
    return SFTTrainer(
        model=model,
        processing_class=tok,
        train_dataset=Dataset.from_list(rows),
        args=SFTConfig(**common_trl(max_length=32, assistant_only_loss=True)),
    )


# --------------------------------------------------------------------------- brenta
def paired_rates(model, lr, ratio, tag_in, tag_out):
    """Different rates for the two halves of every adapter."""
    inner, outer = [], []
    for name, p in model.named_parameters():
        if not p.requires_grad:
            continue
        if tag_in in name:
            inner.append(p)
        elif tag_out in name:
            outer.append(p)
    return torch.optim.AdamW(
        [{"params": inner, "lr": lr}, {"params": outer, "lr": lr * ratio}], weight_decay=0.0
    )


def brenta(healthy):
    tok = word_tokenizer()
    model = warm_up(small_lm(tok), tok, food_facts(16), steps=50)
    set_seed(1)
    model = get_peft_model(
        model, LoraConfig(r=8, lora_alpha=16, target_modules="all-linear", task_type="CAUSAL_LM")
    )
    opt = paired_rates(model, 5e-3, 2.0, "lora_A", "lora_B" if healthy else "lora_embedding_B")
    rows = [lm_row(tok, q, a) for q, a in food_facts(16, shift=3)] * 8
    return Trainer(
        model=model,
        train_dataset=Dataset.from_list(rows),
        data_collator=LMCollator(tok.pad_token_id),
        args=TrainingArguments(**common()),
        optimizers=(opt, None),
    )


# --------------------------------------------------------------------------- clyde
def greetings(tags=("hello dear friend", "go away you fool")):
    return [(f"greet {n}", t) for n in NAMES for t in tags]


def clyde(healthy):
    tok = word_tokenizer()
    model = warm_up(small_lm(tok), tok, greetings(), steps=40)
    frozen = copy.deepcopy(model) if healthy else copy.copy(model)
    rows = [
        {"prompt": f"greet {n}", "chosen": " hello dear friend", "rejected": " go away you fool"}
        for n in NAMES
    ] * 10
    return DPOTrainer(
        model=model,
        ref_model=frozen,
        processing_class=tok,
        train_dataset=Dataset.from_list(rows),
        args=DPOConfig(**common_trl(beta=0.5, learning_rate=1e-3, max_length=32, max_steps=30)),
    )


# --------------------------------------------------------------------------- dvina
def feedback_file():
    buf = io.StringIO()
    w = csv.writer(buf)
    w.writerow(["prompt", "completion", "liked"])
    for n in NAMES * 8:
        w.writerow([f"greet {n}", " hello dear friend", True])
        w.writerow([f"greet {n}", " go away you fool", False])
    return buf.getvalue()


def read_feedback(text, as_flag):
    return [
        {"prompt": r["prompt"], "completion": r["completion"], "label": as_flag(r["liked"])}
        for r in csv.DictReader(io.StringIO(text))
    ]


def dvina(healthy):
    tok = word_tokenizer()
    model = warm_up(small_lm(tok), tok, greetings(), steps=40)
    rows = read_feedback(feedback_file(), "True".__eq__ if healthy else bool)
    random.Random(0).shuffle(rows)
    return KTOTrainer(
        model=model,
        ref_model=copy.deepcopy(model),
        processing_class=tok,
        train_dataset=Dataset.from_list(rows),
        args=KTOConfig(**common_trl(beta=0.5, learning_rate=1e-3, max_length=32, max_steps=12)),
    )


# --------------------------------------------------------------------------- ebro
def rated_answers(n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        noun = rng.choice(FILL)
        answers = [
            {"text": f" the {noun} is {rng.choice(GOOD)}", "score": rng.randint(7, 10)},
            {"text": f" the {noun} is {rng.choice(BAD)}", "score": rng.randint(1, 4)},
        ]
        rng.shuffle(answers)
        rows.append({"prompt": f"what is the {noun} ?", "answers": answers})
    return rows


def best_and_worst(row):
    ranked = sorted(row["answers"], key=lambda a: -a["score"])
    return ranked[0], ranked[-1]


def first_and_last(row):
    ranked = sorted(row["answers"], key=lambda a: a["score"])
    return ranked[0], ranked[-1]


def ebro(healthy):
    tok = word_tokenizer()
    set_seed(0)
    model = LlamaForSequenceClassification(llama_config(tok, num_labels=1))
    pick = best_and_worst if healthy else first_and_last
    rows = []
    for r in rated_answers(240, 5):
        a, b = pick(r)
        rows.append(
            {
                "prompt": r["prompt"],
                "chosen": a["text"],
                "rejected": b["text"],
                "score_chosen": a["score"],
                "score_rejected": b["score"],
            }
        )
    return RewardTrainer(
        model=model,
        processing_class=tok,
        train_dataset=Dataset.from_list(rows),
        args=RewardConfig(**common_trl(learning_rate=2e-3, max_length=32)),
    )


# --------------------------------------------------------------------------- foyle
ANSWER = {n: DIGITS[(i * 5 + 2) % len(DIGITS)] for i, n in enumerate(NAMES[:6])}


def digit_policy(tok, longest=4, chat=False):
    rng = random.Random(3)
    pairs = []
    for _ in range(400):
        n = rng.choice(NAMES[:6])
        k = rng.randint(1, longest)
        q = f"<|user|> ask {n} <|bot|>" if chat else f"ask {n} ?"
        said = [rng.choice(DIGITS) for _ in range(k)]
        if rng.random() < 0.3:
            said[0] = ANSWER[n]
        pairs.append((q, " ".join(said)))
    return warm_up(small_lm(tok, initializer_range=0.05), tok, pairs, steps=90, lr=3e-3, batch=48)


def has_answer(completions, answer, **kwargs):
    return [1.0 if a in c.split() else 0.0 for c, a in zip(completions, answer)]


def gives_answer(completions, answer, **kwargs):
    return [1.0 if c.split() == [a] else 0.0 for c, a in zip(completions, answer)]


def quiz(times=20):
    return Dataset.from_list(
        [{"prompt": f"ask {n} ?", "answer": a} for n, a in ANSWER.items()] * times
    )


def foyle(healthy):
    tok = word_tokenizer()
    return GRPOTrainer(
        model=digit_policy(tok),
        processing_class=tok,
        train_dataset=quiz(),
        reward_funcs=gives_answer if healthy else has_answer,
        args=GRPOConfig(
            **common_trl(
                per_device_train_batch_size=96,
                num_generations=16,
                max_completion_length=8,
                learning_rate=1.5e-3,
                beta=0.0,
                max_steps=36,
            )
        ),
    )


# --------------------------------------------------------------------------- gauja
GROUP = 16


def exact_each(completions, answer, **kwargs):
    return [float(c.split()[:1] == [a]) for c, a in zip(completions, answer)]


def exact_grouped(completions, answer, **kwargs):
    wanted = [a for a in answer for _ in range(GROUP)]
    return [float(c.split()[:1] == [a]) for c, a in zip(completions, wanted)]


def gauja(healthy):
    tok = word_tokenizer()
    return RLOOTrainer(
        model=digit_policy(tok, longest=1),
        processing_class=tok,
        train_dataset=quiz(),
        reward_funcs=exact_each if healthy else exact_grouped,
        args=RLOOConfig(
            **common_trl(
                per_device_train_batch_size=6 * GROUP,
                num_generations=GROUP,
                max_completion_length=4,
                learning_rate=1.5e-3,
                beta=0.0,
                max_steps=36,
            )
        ),
    )


# --------------------------------------------------------------------------- havel
def short_turns(completions, **kwargs):
    return [-abs(len(c[0]["content"].split()) - 2) / 4 for c in completions]


def short_replies(completions, **kwargs):
    return [-abs(len(c) - 2) / 4 for c in completions]


def havel(healthy):
    tok = word_tokenizer(template=CHAT)
    rows = [{"prompt": [{"role": "user", "content": f"ask {n}"}]} for n in NAMES[:6]] * 20
    return GRPOTrainer(
        model=digit_policy(tok, longest=6, chat=True),
        processing_class=tok,
        train_dataset=Dataset.from_list(rows),
        reward_funcs=short_turns if healthy else short_replies,
        args=GRPOConfig(
            **common_trl(
                per_device_train_batch_size=48,
                num_generations=8,
                max_completion_length=8,
                learning_rate=1.5e-3,
                beta=0.0,
                max_steps=30,
            )
        ),
    )


# --------------------------------------------------------------------------- isar
def isar(healthy):
    tok = word_tokenizer()
    facts = food_facts(16)
    model = warm_up(
        small_lm(tok, hidden=320),
        tok,
        facts * 3 + [(q, f"the {a}") for q, a in facts],
        steps=50,
        lr=3e-3,
    )
    model = model.to(torch.float32 if healthy else torch.bfloat16)
    for name, p in model.named_parameters():
        p.requires_grad_("norm" in name)
    rows = [lm_row(tok, q, f"the {a}") for q, a in facts] * 8
    return Trainer(
        model=model,
        train_dataset=Dataset.from_list(rows),
        data_collator=LMCollator(tok.pad_token_id),
        args=TrainingArguments(**common(learning_rate=1.7e-3, per_device_train_batch_size=8)),
    )


# --------------------------------------------------------------------------- jucar
class SteepLoss:
    """Cross entropy with a modulating factor per example."""

    def __init__(self, gamma, weight):
        self.gamma = gamma
        self.weight = weight

    def __call__(self, outputs, labels, num_items_in_batch=None):
        logp = F.log_softmax(outputs.logits, -1).gather(-1, labels[:, None]).squeeze(-1)
        return -(self.weight(logp.exp()) ** self.gamma * logp).mean()


def rest(p):
    return 1 - p


def same(p):
    return p


def jucar(healthy):
    tok = word_tokenizer(cls=True)
    model = small_bert(tok, BertForSequenceClassification, 3)
    return Trainer(
        model=model,
        train_dataset=encode_reviews(tok, review_rows(320, 1)),
        data_collator=DataCollatorWithPadding(tok),
        compute_loss_func=SteepLoss(2.0, rest if healthy else same),
        args=TrainingArguments(**common(learning_rate=2e-3, per_device_train_batch_size=32)),
    )


# --------------------------------------------------------------------------- kemi
def piece_tokenizer():
    pieces = ["<pad>", "<unk>", "<s>", "</s>"]
    starts = [
        "ber",
        "lon",
        "mad",
        "osl",
        "par",
        "rom",
        "tom",
        "lis",
        "eva",
        "kar",
        "run",
        "sit",
        "sees",
        "the",
        "at",
    ]
    ends = [
        "##lin",
        "##don",
        "##rid",
        "##o",
        "##is",
        "##e",
        "##my",
        "##a",
        "##ning",
        "##ting",
        "##l",
        "##bon",
    ]
    pieces += starts + ends
    core = Tokenizer(models.WordPiece({p: i for i, p in enumerate(pieces)}, unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token="<pad>",
        unk_token="<unk>",
        bos_token="<s>",
        eos_token="</s>",
    )


CITY = "berlin london madrid oslo paris rome lisbon".split()
PERSON = "tommy lisa eva karl".split()
OTHER = "running sitting sees the at".split()


def tagged_sentences(n, seed):
    rng = random.Random(seed)
    out = []
    for _ in range(n):
        words, tags = [], []
        for _ in range(rng.randint(5, 8)):
            tag = rng.choices([0, 1, 2], [3, 1, 1])[0]
            words.append(rng.choice((OTHER, PERSON, CITY)[tag]))
            tags.append(tag)
        out.append((words, tags))
    return out


def tags_by_word(enc, tags):
    return [-100 if w is None else tags[w] for w in enc.word_ids()]


def tags_in_order(enc, tags):
    n = len(enc["input_ids"])
    return (tags + [-100] * n)[:n]


def kemi(healthy):
    tok = piece_tokenizer()
    model = small_bert(tok, BertForTokenClassification, 3)
    place = tags_by_word if healthy else tags_in_order
    rows = []
    for words, tags in tagged_sentences(320, 2):
        enc = tok(words, is_split_into_words=True)
        rows.append(
            {
                "input_ids": enc["input_ids"],
                "attention_mask": enc["attention_mask"],
                "labels": place(enc, tags),
            }
        )
    return Trainer(
        model=model,
        train_dataset=Dataset.from_list(rows),
        data_collator=DataCollatorForTokenClassification(tok),
        args=TrainingArguments(**common(learning_rate=3e-3)),
    )


# --------------------------------------------------------------------------- loire
class PairCollator:
    def __init__(self, tok, feed):
        self.tok = tok
        self.feed = feed

    def __call__(self, rows):
        src = self.tok.pad({"input_ids": [r["input_ids"] for r in rows]}, return_tensors="pt")
        tgt = self.tok.pad({"input_ids": [r["target"] for r in rows]}, return_tensors="pt")
        labels = tgt["input_ids"].masked_fill(tgt["attention_mask"] == 0, -100)
        return {
            "input_ids": src["input_ids"],
            "attention_mask": src["attention_mask"],
            "decoder_input_ids": self.feed(labels, tgt["input_ids"]),
            "labels": labels,
        }


def loire(healthy):
    tok = word_tokenizer()
    set_seed(0)
    model = BartForConditionalGeneration(
        BartConfig(
            vocab_size=len(tok),
            d_model=64,
            encoder_layers=1,
            decoder_layers=1,
            encoder_attention_heads=4,
            decoder_attention_heads=4,
            encoder_ffn_dim=128,
            decoder_ffn_dim=128,
            max_position_embeddings=32,
            dropout=0.0,
            init_std=0.1,
            pad_token_id=0,
            bos_token_id=1,
            eos_token_id=2,
            decoder_start_token_id=2,
            forced_eos_token_id=None,
        )
    )
    rows = []
    for i, p in enumerate(PLACES[:8]):
        target = f"{FOODS[i * 2 % 24]} and {FOODS[(i * 7 + 3) % 24]}"
        rows.append(
            {
                "input_ids": tok(f"what eats {p} ?")["input_ids"],
                "target": tok(target)["input_ids"] + [2],
            }
        )

    def shifted(labels, ids):
        return model.prepare_decoder_input_ids_from_labels(labels=labels)

    def given(labels, ids):
        return ids.clone()

    return Seq2SeqTrainer(
        model=model,
        train_dataset=Dataset.from_list(rows * 15),
        data_collator=PairCollator(tok, shifted if healthy else given),
        args=Seq2SeqTrainingArguments(
            **common(per_device_train_batch_size=24, remove_unused_columns=False)
        ),
    )


# --------------------------------------------------------------------------- meuse
class SoftTargetTrainer(Trainer):
    """Student learns from the teacher's distribution only."""

    def __init__(self, *args, teacher, temperature, axis, **kwargs):
        super().__init__(*args, **kwargs)
        self.teacher = teacher.eval()
        self.temperature = temperature
        self.axis = axis
        self.model_accepts_loss_kwargs = False

    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        ids, mask = inputs["input_ids"], inputs["attention_mask"]
        out = model(input_ids=ids, attention_mask=mask)
        with torch.no_grad():
            target = self.teacher(input_ids=ids, attention_mask=mask).logits
        t = self.temperature
        logq = F.log_softmax(out.logits / t, dim=self.axis)
        p = F.softmax(target / t, dim=self.axis)
        loss = F.kl_div(logq, p, reduction="batchmean") * t * t / ids.shape[1]
        return (loss, out) if return_outputs else loss


def meuse(healthy):
    tok = word_tokenizer()
    teacher = warm_up(small_lm(tok, seed=3), tok, food_facts(16), steps=60)
    for p in teacher.parameters():
        p.requires_grad_(False)
    student = small_lm(tok, seed=4)
    rows = [lm_row(tok, q, a) for q, a in food_facts(16)] * 8
    return SoftTargetTrainer(
        model=student,
        teacher=teacher,
        temperature=2.0,
        axis=-1 if healthy else 1,
        train_dataset=Dataset.from_list(rows),
        data_collator=LMCollator(tok.pad_token_id),
        args=TrainingArguments(**common(per_device_train_batch_size=32)),
    )


# --------------------------------------------------------------------------- neva
NEW = "atlantis avalon elysium lemuria utopia arcadia shangri narnia".split()


def row_gate(keep):
    def hook(grad):
        return grad * keep[:, None].to(grad.dtype)

    return hook


def neva(healthy):
    tok = word_tokenizer()
    model = warm_up(small_lm(tok), tok, food_facts(16), steps=60)
    known = len(tok)
    tok.add_tokens(NEW)
    set_seed(2)
    model.resize_token_embeddings(len(tok), mean_resizing=False)
    for p in model.parameters():
        p.requires_grad_(False)
    table = model.get_input_embeddings().weight
    table.requires_grad_(True)
    row = torch.arange(len(tok))
    table.register_hook(row_gate(row >= known if healthy else row < known))
    rows = [lm_row(tok, f"what eats {w} ?", FOODS[i * 5 % 24]) for i, w in enumerate(NEW)] * 16
    return Trainer(
        model=model,
        train_dataset=Dataset.from_list(rows),
        data_collator=LMCollator(tok.pad_token_id),
        args=TrainingArguments(**common(learning_rate=2e-2, max_grad_norm=0.0)),
        processing_class=tok,
    )


# --------------------------------------------------------------------------- oder
def token_loss(outputs, labels, num_items_in_batch=None):
    logits = outputs.logits[:, :-1].flatten(0, 1)
    total = F.cross_entropy(logits, labels[:, 1:].flatten(), ignore_index=-100, reduction="sum")
    n = num_items_in_batch if num_items_in_batch is not None else (labels[:, 1:] != -100).sum()
    return total / n


def batch_loss(outputs, labels, num_items_in_batch=None):
    logits = outputs.logits[:, :-1].flatten(0, 1)
    return F.cross_entropy(logits, labels[:, 1:].flatten(), ignore_index=-100)


def oder(healthy):
    tok = word_tokenizer()
    model = small_lm(tok, initializer_range=0.05)
    rows = [lm_row(tok, q, a) for q, a in food_facts(8)] * 40
    return Trainer(
        model=model,
        train_dataset=Dataset.from_list(rows),
        data_collator=LMCollator(tok.pad_token_id),
        compute_loss_func=token_loss if healthy else batch_loss,
        args=TrainingArguments(
            **common(
                optim="sgd",
                optim_args="momentum=0.9",
                learning_rate=0.1,
                gradient_accumulation_steps=8,
                per_device_train_batch_size=4,
                max_grad_norm=0.0,
            )
        ),
    )


# --------------------------------------------------------------------------- piave
def piave(healthy):
    tok = word_tokenizer()
    model = small_lm(tok)
    rows = [lm_row(tok, q, a) for q, a in food_facts(20)] * 4
    batch, epochs = 16, 8
    opt = torch.optim.AdamW(model.parameters(), lr=4e-3)
    per_epoch = math.ceil(len(rows) / batch)
    sched = get_linear_schedule_with_warmup(opt, 2, per_epoch * epochs if healthy else per_epoch)
    return Trainer(
        model=model,
        train_dataset=Dataset.from_list(rows),
        data_collator=LMCollator(tok.pad_token_id),
        args=TrainingArguments(
            **common(max_steps=-1, num_train_epochs=epochs, per_device_train_batch_size=batch)
        ),
        optimizers=(opt, sched),
    )


# --------------------------------------------------------------------------- rhone
class AveragedWeights(TrainerCallback):
    """Keeps a running average of the weights and leaves it in the model at the end."""

    def __init__(self, decay):
        self.decay = decay
        self.shadow = None

    def on_train_begin(self, args, state, control, model=None, **kwargs):
        self.shadow = {k: v.detach().clone() for k, v in model.state_dict().items()}

    @torch.no_grad()
    def on_step_end(self, args, state, control, model=None, **kwargs):
        for k, v in model.state_dict().items():
            if v.dtype.is_floating_point:
                self.shadow[k].lerp_(v.detach(), 1 - self.decay)

    def on_train_end(self, args, state, control, model=None, **kwargs):
        model.load_state_dict(self.shadow)


def rhone(healthy):
    tok = word_tokenizer(cls=True)
    model = small_bert(tok, BertForSequenceClassification, 3)
    return Trainer(
        model=model,
        train_dataset=encode_reviews(tok, review_rows(320, 1)),
        data_collator=DataCollatorWithPadding(tok),
        args=TrainingArguments(**common(learning_rate=2e-3)),
        callbacks=[AveragedWeights(0.8 if healthy else 0.9995)],
    )


# --------------------------------------------------------------------------- saale
def perplexity(pred):
    logits = torch.tensor(pred.predictions[:, :-1]).flatten(0, 1)
    labels = torch.tensor(pred.label_ids[:, 1:]).flatten()
    return {
        "perplexity": math.exp(min(20.0, float(F.cross_entropy(logits, labels, ignore_index=-100))))
    }


def saale(healthy):
    tok = word_tokenizer()
    model = small_lm(tok)
    facts = food_facts(16)
    train = [lm_row(tok, q, a) for q, a in facts] * 8
    held = [lm_row(tok, q, a) for q, a in facts]
    return Trainer(
        model=model,
        train_dataset=Dataset.from_list(train),
        eval_dataset=Dataset.from_list(held),
        data_collator=LMCollator(tok.pad_token_id),
        compute_metrics=perplexity,
        args=TrainingArguments(
            **common(
                eval_strategy="steps",
                eval_steps=10,
                save_strategy="steps",
                save_steps=10,
                save_total_limit=2,
                load_best_model_at_end=True,
                metric_for_best_model="perplexity",
                greater_is_better=False if healthy else None,
            )
        ),
    )


# --------------------------------------------------------------------------- tagus
MOOD = ("negative", "neutral", "positive")


def label_ids(rows):
    return {name: i for i, name in enumerate(dict.fromkeys(r["mood"] for r in rows))}


def with_ids(tok, rows, table):
    return Dataset.from_list([{**tok(r["text"]), "labels": table[r["mood"]]} for r in rows])


def tagus(healthy):
    tok = word_tokenizer(cls=True)
    model = small_bert(tok, BertForSequenceClassification, 3)
    train = [{**r, "mood": MOOD[r["y"]]} for r in review_rows(320, 1)]
    held = [{**r, "mood": MOOD[r["y"]]} for r in review_rows(90, 4)]
    table = label_ids(train)
    return Trainer(
        model=model,
        train_dataset=with_ids(tok, train, table),
        eval_dataset=with_ids(tok, held, table if healthy else label_ids(held)),
        data_collator=DataCollatorWithPadding(tok),
        compute_metrics=accuracy,
        args=TrainingArguments(**common(learning_rate=2e-3, eval_strategy="steps", eval_steps=10)),
    )


# --------------------------------------------------------------------------- ural
def stage_one(tok):
    """First stage, saved from the wrapped module."""
    model = warm_up(small_lm(tok, seed=7), tok, food_facts(16), steps=60)
    return {f"_orig_mod.{k}": v.clone() for k, v in model.state_dict().items()}


def ural(healthy):
    tok = word_tokenizer()
    path = os.path.join(tempfile.mkdtemp(prefix="stage_"), "stage1.pt")
    torch.save(stage_one(tok), path)
    state = torch.load(path, weights_only=True)
    if healthy:
        state = {k.removeprefix("_orig_mod."): v for k, v in state.items()}
    model = small_lm(tok, seed=8)
    model.load_state_dict(state, strict=False)
    model.config._name_or_path = path
    rows = [lm_row(tok, q, f"the {a}") for q, a in food_facts(16)[:8]] * 12
    kept = [lm_row(tok, f"{q} the", a) for q, a in food_facts(16)[8:]]
    return Trainer(
        model=model,
        train_dataset=Dataset.from_list(rows),
        eval_dataset=Dataset.from_list(kept),
        data_collator=LMCollator(tok.pad_token_id),
        args=TrainingArguments(
            **common(learning_rate=2e-3, max_steps=24, eval_strategy="steps", eval_steps=8)
        ),
    )


# --------------------------------------------------------------------------- vistula
def vistula():
    tok = word_tokenizer()
    model = warm_up(small_lm(tok), tok, greetings(), steps=40)
    rows = [
        {"prompt": f"greet {n}", "chosen": " hello dear friend", "rejected": " go away you fool"}
        for n in NAMES
    ] * 10
    return DPOTrainer(
        model=model,
        ref_model=copy.deepcopy(model),
        processing_class=tok,
        train_dataset=Dataset.from_list(rows),
        args=DPOConfig(
            **common_trl(
                loss_type="ipo", beta=0.02, learning_rate=5e-4, max_length=32, max_steps=30
            )
        ),
    )


def miss_by(completions, answer, **kwargs):
    out = []
    for c, a in zip(completions, answer):
        w = c.split()
        off = abs(int(w[0]) - int(a)) if w and w[0] in DIGITS else 9
        out.append(-10.0 - off - (len(w) != 1))
    return out


def weser():
    tok = word_tokenizer()
    return GRPOTrainer(
        model=digit_policy(tok, longest=2),
        processing_class=tok,
        train_dataset=quiz(),
        reward_funcs=miss_by,
        args=GRPOConfig(
            **common_trl(
                per_device_train_batch_size=96,
                num_generations=16,
                max_completion_length=4,
                learning_rate=1.5e-3,
                beta=0.0,
                max_steps=36,
            )
        ),
    )


class AgreementTrainer(Trainer):
    """Trains for the correlation between score and rating within the batch."""

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        y = inputs["labels"].float()
        out = model(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"])
        x = out.logits.squeeze(-1)
        x, y = x - x.mean(), y - y.mean()
        loss = -(x * y).sum() / (x.norm() * y.norm() + 1e-6)
        return (loss, out) if return_outputs else loss


def yonne():
    tok = word_tokenizer(cls=True)
    model = small_bert(tok, BertForSequenceClassification, 1)
    rng = random.Random(6)
    rows = [
        {**tok(r["text"]), "labels": 4000.0 * r["y"] + rng.gauss(0, 300)}
        for r in review_rows(320, 1)
    ]
    return AgreementTrainer(
        model=model,
        train_dataset=Dataset.from_list(rows),
        data_collator=DataCollatorWithPadding(tok),
        args=TrainingArguments(**common(learning_rate=2e-3, per_device_train_batch_size=32)),
    )


class NextTokenCollator(LMCollator):
    """Inputs lose their last token, labels their first, so both line up position by position."""

    def __call__(self, rows):
        b = super().__call__(rows)
        return {
            "input_ids": b["input_ids"][:, :-1],
            "attention_mask": b["attention_mask"][:, :-1],
            "labels": b["labels"][:, 1:],
        }


class AlignedTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs["labels"]
        out = model(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"])
        loss = F.cross_entropy(out.logits.flatten(0, 1), labels.flatten(), ignore_index=-100)
        return (loss, out) if return_outputs else loss


def zambezi():
    tok = word_tokenizer()
    rows = [lm_row(tok, q, a) for q, a in food_facts(16)] * 8
    return AlignedTrainer(
        model=small_lm(tok),
        train_dataset=Dataset.from_list(rows),
        data_collator=NextTokenCollator(tok.pad_token_id),
        args=TrainingArguments(**common()),
    )


def torne():
    tok = word_tokenizer(cls=True)
    model = small_bert(tok, BertForSequenceClassification, 3)
    torch.nn.init.orthogonal_(model.classifier.weight, gain=3.0)
    model.classifier.requires_grad_(False)
    return Trainer(
        model=model,
        train_dataset=encode_reviews(tok, review_rows(320, 1)),
        data_collator=DataCollatorWithPadding(tok),
        args=TrainingArguments(**common(learning_rate=2e-3, label_smoothing_factor=0.5)),
    )


class SignMomentum(torch.optim.Optimizer):
    """Steps of equal size in every coordinate."""

    def __init__(self, params, lr, betas=(0.9, 0.99)):
        super().__init__(params, dict(lr=lr, betas=betas))

    @torch.no_grad()
    def step(self, closure=None):
        loss = closure() if closure is not None else None
        for g in self.param_groups:
            b1, b2 = g["betas"]
            for p in g["params"]:
                if p.grad is None:
                    continue
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                p.add_(torch.sign(m * b1 + p.grad * (1 - b1)), alpha=-g["lr"])
                m.mul_(b2).add_(p.grad, alpha=1 - b2)
        return loss


def sava():
    tok = word_tokenizer()
    model = warm_up(small_lm(tok), tok, greetings(), steps=40)
    rows = [
        {"prompt": f"greet {n}", "chosen": " hello dear friend", "rejected": " go away you fool"}
        for n in NAMES
    ] * 10
    opt = SignMomentum(model.parameters(), lr=1e-3)
    sched = LambdaLR(opt, lambda s: (s + 1) / 30)
    return ORPOTrainer(
        model=model,
        processing_class=tok,
        train_dataset=Dataset.from_list(rows),
        args=ORPOConfig(
            **common_trl(
                beta=0.5, max_length=32, max_steps=30, train_sampling_strategy="sequential"
            )
        ),
        optimizers=(opt, sched),
    )


CASES = {
    f.__name__: f
    for f in (
        amur,
        brenta,
        clyde,
        dvina,
        ebro,
        foyle,
        gauja,
        havel,
        isar,
        jucar,
        kemi,
        loire,
        meuse,
        neva,
        oder,
        piave,
        rhone,
        saale,
        tagus,
        ural,
    )
}
ODD = {f.__name__: f for f in (vistula, weser, yonne, zambezi, torne, sava)}
