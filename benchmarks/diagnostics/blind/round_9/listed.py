import copy
import random
import tempfile

import torch
import torch.nn.functional as F
from datasets import Dataset
from peft import LoraConfig, TaskType, get_peft_model
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import (
    DataCollatorForLanguageModeling,
    DataCollatorForSeq2Seq,
    DataCollatorForTokenClassification,
    DataCollatorWithPadding,
    LlamaConfig,
    LlamaForCausalLM,
    LlamaForSequenceClassification,
    BertConfig,
    BertForSequenceClassification,
    BertForTokenClassification,
    PreTrainedTokenizerFast,
    Trainer,
    TrainingArguments,
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

CASES = {}
ODD = {}


def case(f):
    CASES[f.__name__] = f
    return f


def odd(f):
    ODD[f.__name__] = f
    return f


# ---------------------------------------------------------------- shared bits
THINGS = (
    "apple lemon grass sky coal snow rose plum sand brick frog swan mint rust jade wine".split()
)
LOOKS = "red yellow green blue black white pink purple".split()
GRADES = "tiny small large huge light heavy soft hard".split()
DIGITS = [str(i) for i in range(10)]
GLUE = "q a ? : color size of the is it a please sure no thanks sorry great awful good bad film was very really plot cast".split()
TAGS = "system user assistant human gpt".split()
LOOK_OF = {t: LOOKS[(5 * i + 3) % 8] for i, t in enumerate(THINGS)}
SIZE_OF = {t: GRADES[(3 * i + 1) % 8] for i, t in enumerate(THINGS)}
CHAT = (
    "{% for m in messages %}{{ '<|' + m['role'] + '|> ' + m['content'] + ' </s> ' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|> ' }}{% endif %}"
)


def word_tokenizer(pad="<pad>", extra=(), order=None, template=None, side="right"):
    marks = ["<unk>", "<s>", "</s>", "<pad>", "<|user|>", "<|assistant|>", "<|system|>"]
    words = list(dict.fromkeys(THINGS + LOOKS + GRADES + DIGITS + GLUE + TAGS + list(extra)))
    if order is not None:
        random.Random(order).shuffle(words)
    vocab = {w: i for i, w in enumerate(marks + words)}
    t = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
    t.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    out = PreTrainedTokenizerFast(
        tokenizer_object=t,
        unk_token="<unk>",
        bos_token="<s>",
        eos_token="</s>",
        pad_token=pad,
        additional_special_tokens=marks[4:],
        padding_side=side,
        model_max_length=64,
    )
    if template:
        out.chat_template = template
    return out


def shape(tok, hidden=48, layers=2, **kw):
    return LlamaConfig(
        vocab_size=len(tok),
        hidden_size=hidden,
        intermediate_size=2 * hidden,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=128,
        pad_token_id=tok.pad_token_id,
        eos_token_id=tok.eos_token_id,
        bos_token_id=tok.bos_token_id,
        **kw,
    )


def small_lm(tok, seed=0, **kw):
    torch.manual_seed(seed)
    return LlamaForCausalLM(shape(tok, **kw))


def common(steps=40, batch=16, lr=5e-3, **kw):
    base = dict(
        output_dir=tempfile.mkdtemp(),
        max_steps=steps,
        per_device_train_batch_size=batch,
        learning_rate=lr,
        logging_steps=5,
        report_to=[],
        use_cpu=True,
        save_strategy="no",
        disable_tqdm=True,
        seed=7,
        dataloader_pin_memory=False,
    )
    base.update(kw)
    return base


def trl_common(**kw):
    return common(**{"bf16": False, "gradient_checkpointing": False, **kw})


def facts(n, seed=0, turn=0):
    r = random.Random(seed)
    look = {t: LOOKS[(LOOKS.index(w) + turn) % 8] for t, w in LOOK_OF.items()}
    size = {t: GRADES[(GRADES.index(w) + turn) % 8] for t, w in SIZE_OF.items()}
    rows = []
    for _ in range(n):
        t = r.choice(THINGS[:8])
        kind = r.choice(["color", "size"])
        rows.append(
            {
                "prompt": f"q {kind} of the {t} ?",
                "completion": " " + (look if kind == "color" else size)[t],
            }
        )
    return rows


def warm(model, tok, rows, steps=60, lr=5e-3, seed=0, batch=16):
    r = random.Random(seed)
    opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=lr)
    model.train()
    for _ in range(steps):
        texts = [x["prompt"] + x["completion"] + " </s>" for x in r.sample(rows, batch)]
        b = tok(texts, return_tensors="pt", padding=True)
        b.pop("token_type_ids", None)
        labels = b["input_ids"].masked_fill(b["attention_mask"] == 0, -100)
        model(**b, labels=labels).loss.backward()
        opt.step()
        opt.zero_grad()
    return model


def rough(tok, seed):
    r = random.Random(seed + 50)
    rows = []
    for x in facts(400, seed):
        words = LOOKS if "color" in x["prompt"] else GRADES
        rows.append(x if r.random() < 0.55 else dict(x, completion=" " + r.choice(words)))
    return warm(small_lm(tok, seed=seed), tok, rows, steps=120, batch=32)


# ---------------------------------------------------------------- runs
@case
def facts_sft(healthy):
    tok = word_tokenizer()
    model = small_lm(tok)
    rows = facts(400)
    steps = 60
    args = SFTConfig(
        **trl_common(steps=steps, batch=32, lr=5e-3),
        max_length=32,
        warmup_steps=5 if healthy else 5000,
        lr_scheduler_type="cosine",
        completion_only_loss=True,
        eval_strategy="steps",
        eval_steps=25,
    )
    return SFTTrainer(
        model=model,
        args=args,
        processing_class=tok,
        train_dataset=Dataset.from_list(rows),
        eval_dataset=Dataset.from_list(facts(64, seed=5)),
    )


@case
def facts_plain_lm(healthy):
    tok = word_tokenizer(pad="<pad>" if healthy else "</s>")
    model = small_lm(tok, seed=1)

    def encode(row):
        return tok(
            row["prompt"] + row["completion"] + " " + tok.eos_token, truncation=True, max_length=32
        )

    r = random.Random(3)
    rows = facts(400)
    for x in rows:
        if r.random() < 0.5:
            x["completion"] += " a really " + r.choice(GRADES)
    ds = Dataset.from_list(rows).map(encode, remove_columns=["prompt", "completion"])
    ds = ds.remove_columns([c for c in ds.column_names if c == "token_type_ids"])
    return Trainer(
        model=model,
        args=TrainingArguments(**common(steps=60, batch=32, lr=6e-3)),
        train_dataset=ds,
        data_collator=DataCollatorForLanguageModeling(tok, mlm=False),
    )


@case
def masked_prompt_sft(healthy):
    tok = word_tokenizer()
    tok.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)]
    )
    model = small_lm(tok, seed=2)

    def encode(row):
        ids = tok(row["prompt"] + row["completion"])["input_ids"]
        if healthy:
            n = len(tok("<s> " + row["prompt"], add_special_tokens=False)["input_ids"])
        else:
            n = len(tok(row["prompt"])["input_ids"])
        return {"input_ids": ids, "attention_mask": [1] * len(ids), "labels": [-100] * n + ids[n:]}

    keep = ["prompt", "completion"]
    train = Dataset.from_list(facts(400)).map(encode, remove_columns=keep)
    test = Dataset.from_list(facts(64, seed=9)).map(encode, remove_columns=keep)
    return Trainer(
        model=model,
        args=TrainingArguments(**common(steps=60, batch=32, eval_strategy="steps", eval_steps=25)),
        train_dataset=train,
        eval_dataset=test,
        data_collator=DataCollatorForSeq2Seq(tok, padding=True),
        processing_class=tok,
    )


@case
def chain_lm(healthy):
    tok = word_tokenizer()
    model = small_lm(tok, seed=3)

    def encode(row):
        ids = tok(row["text"] + " </s>")["input_ids"]
        labels = list(ids) if healthy else ids[1:] + [-100]
        return {"input_ids": ids, "labels": labels}

    r = random.Random(0)
    rows = []
    for _ in range(300):
        a, b = r.choice(THINGS), r.choice(THINGS)
        rows.append({"text": f"the {a} is {LOOK_OF[a]} the {b} is {SIZE_OF[b]}"})
    ds = Dataset.from_list(rows).map(encode, remove_columns=["text"])
    args = TrainingArguments(
        **common(steps=60, batch=32, lr=6e-3, warmup_steps=4, weight_decay=0.01)
    )
    return Trainer(
        model=model, args=args, train_dataset=ds, data_collator=DataCollatorForSeq2Seq(tok)
    )


@case
def two_speaker_chat(healthy):
    template = (
        "{% for m in messages %}"
        "{% if m['role'] == 'system' %}{{ '<|system|> ' + m['content'] + ' </s> ' }}"
        "{% elif m['role'] == 'user' %}{{ '<|user|> ' + m['content'] + ' </s> ' }}"
        "{% elif m['role'] == 'assistant' %}{{ '<|assistant|> ' + m['content'] + ' </s> ' }}"
        "{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|assistant|> ' }}{% endif %}"
    )
    tok = word_tokenizer(template=template)
    model = small_lm(tok, seed=4)
    roles = {"human": "user", "gpt": "assistant"} if healthy else {"human": "user"}

    def convert(row):
        turns = [
            {"role": "human", "content": row["prompt"]},
            {"role": "gpt", "content": row["completion"].strip()},
        ]
        return {
            "messages": [
                {"role": roles.get(t["role"], t["role"]), "content": t["content"]} for t in turns
            ]
        }

    ds = Dataset.from_list(facts(400)).map(convert, remove_columns=["prompt", "completion"])
    args = SFTConfig(**trl_common(steps=60, batch=32, lr=6e-3), max_length=48)
    return SFTTrainer(model=model, args=args, train_dataset=ds, processing_class=tok)


@case
def scored_answers_dpo(healthy):
    tok = word_tokenizer()
    rows = facts(300)
    model = rough(tok, 5)
    ref = copy.deepcopy(model)
    r = random.Random(1)
    pairs = []
    for x in rows:
        right = x["completion"]
        words = LOOKS if "color" in x["prompt"] else GRADES
        wrong = " " + r.choice([w for w in words if w != right.strip()])
        cands = [(right, 3 + r.random()), (wrong, r.random())]
        r.shuffle(cands)
        ranked = sorted(cands, key=lambda c: c[1], reverse=healthy)
        pairs.append({"prompt": x["prompt"], "chosen": ranked[0][0], "rejected": ranked[1][0]})
    args = DPOConfig(**trl_common(steps=50, lr=1e-3), beta=0.1, max_length=32)
    return DPOTrainer(
        model=model,
        ref_model=ref,
        args=args,
        train_dataset=Dataset.from_list(pairs),
        processing_class=tok,
    )


@case
def thumbs_kto(healthy):
    tok = word_tokenizer()
    rows = facts(300)
    model = rough(tok, 6)
    ref = copy.deepcopy(model)
    r = random.Random(2)
    log = []
    for x in rows:
        up = r.random() < 0.5
        words = LOOKS if "color" in x["prompt"] else GRADES
        text = (
            x["completion"]
            if up
            else " " + r.choice([w for w in words if w != x["completion"].strip()])
        )
        log.append({"prompt": x["prompt"], "completion": text, "vote": "True" if up else "False"})

    def to_label(row):
        return {"label": row["vote"] == "True"} if healthy else {"label": bool(row["vote"])}

    ds = Dataset.from_list(log).map(to_label, remove_columns=["vote"])
    args = KTOConfig(**trl_common(steps=60, lr=7e-4), beta=0.2, max_length=32)
    return KTOTrainer(model=model, ref_model=ref, args=args, train_dataset=ds, processing_class=tok)


REVIEW = "the film was really very {} the plot was {} the cast was {} it is a film please sure thanks it is"


def review_pair(r):
    lead = " ".join(r.choice(THINGS + LOOKS) for _ in range(14))
    return (
        f"q is the film good ? {lead} a the film was {r.choice(['great', 'good'])} </s>",
        f"q is the film good ? {lead} a the film was {r.choice(['awful', 'bad'])} </s>",
    )


@case
def tone_reward(healthy):
    tok = word_tokenizer()
    torch.manual_seed(8)
    model = LlamaForSequenceClassification(shape(tok, num_labels=1))
    room = 16

    def clip(text):
        words = text.split()
        return " ".join(words[-room:] if healthy else words[:room])

    r = random.Random(4)
    pairs = []
    for _ in range(300):
        good, bad = review_pair(r)
        pairs.append({"chosen": clip(good), "rejected": clip(bad)})
    ds = Dataset.from_list(pairs).train_test_split(test_size=40, seed=0)
    args = RewardConfig(
        **trl_common(steps=30, lr=2e-3),
        max_length=64,
        eval_strategy="steps",
        eval_steps=15,
    )
    return RewardTrainer(
        model=model,
        args=args,
        train_dataset=ds["train"],
        eval_dataset=ds["test"],
        processing_class=tok,
    )


def few_facts(n, seed=0, look=(0, 4)):
    r = random.Random(seed)
    table = dict(zip(THINGS[:4], LOOKS[look[0] : look[1]]))
    rows = []
    for _ in range(n):
        t = r.choice(list(table))
        rows.append(
            {"prompt": f"q color of the {t} ?", "completion": " " + table[t], "answer": table[t]}
        )
    return rows


def guesser(tok, seed, tail="", steps=120):
    r = random.Random(seed + 100)
    rows = []
    for x in few_facts(300, seed):
        word = x["answer"] if r.random() < 0.3 else r.choice(LOOKS[:4])
        rows.append(dict(x, completion=" " + word + tail))
    return warm(small_lm(tok, seed=seed), tok, rows, steps=steps)


@case
def color_grpo(healthy):
    tok = word_tokenizer(side="left")
    model = guesser(tok, 10)
    group = 8

    def correct(prompts, completions, answer, **kw):
        scores = []
        for i, text in enumerate(completions):
            target = answer[i] if healthy else answer[i // group]
            words = text.split()
            scores.append(1.0 if words and words[0] == target else 0.0)
        return scores

    args = GRPOConfig(
        **trl_common(steps=60, batch=32, lr=1.5e-3),
        num_generations=group,
        max_completion_length=3,
        temperature=1.0,
        beta=0.0,
    )
    ds = Dataset.from_list([{k: x[k] for k in ("prompt", "answer")} for x in few_facts(200, 1)])
    return GRPOTrainer(
        model=model, reward_funcs=correct, args=args, train_dataset=ds, processing_class=tok
    )


@case
def polite_grpo(healthy):
    tok = word_tokenizer(side="left")
    model = guesser(tok, 11, tail=" it is sure thanks", steps=100)

    def correct(completions, answer, **kw):
        return [float(t.split()[:1] == [a]) for t, a in zip(completions, answer)]

    args = GRPOConfig(
        **trl_common(steps=60, batch=32, lr=1.5e-3),
        num_generations=8,
        beta=0.0,
        max_completion_length=8 if healthy else 3,
        mask_truncated_completions=True,
        loss_type="dapo",
    )
    ds = Dataset.from_list([{k: x[k] for k in ("prompt", "answer")} for x in few_facts(200, 2)])
    return GRPOTrainer(
        model=model, reward_funcs=correct, args=args, train_dataset=ds, processing_class=tok
    )


@case
def short_rloo(healthy):
    tok = word_tokenizer(side="left")
    model = guesser(tok, 12, tail=" really very very")

    def correct(completions, answer, **kw):
        return [float(a in t.split()) for t, a in zip(completions, answer)]

    def brevity(completions, **kw):
        size = [len(t.split()) / 12 for t in completions]
        return [-s for s in size] if healthy else size

    args = RLOOConfig(
        **trl_common(steps=60, batch=64, lr=1.5e-3),
        num_generations=16,
        beta=0.0,
        max_completion_length=12,
        reward_weights=[1.0, 1.0],
    )
    ds = Dataset.from_list([{k: x[k] for k in ("prompt", "answer")} for x in few_facts(200, 3)])
    return RLOOTrainer(
        model=model,
        reward_funcs=[correct, brevity],
        args=args,
        train_dataset=ds,
        processing_class=tok,
    )


class SoftTargets(Trainer):
    def __init__(self, *a, teacher, mode, heat=2.0, **kw):
        super().__init__(*a, **kw)
        self.teacher = teacher.eval()
        self.mode = mode
        self.heat = heat

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs["labels"]
        out = model(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"])
        with torch.no_grad():
            goal = self.teacher(
                input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"]
            ).logits
        target = F.softmax(goal / self.heat, -1)
        if self.mode == "log":
            ours = F.log_softmax(out.logits / self.heat, -1)
        else:
            ours = F.softmax(out.logits / self.heat, -1)
        per_token = F.kl_div(ours, target, reduction="none").sum(-1) * self.heat**2
        keep = (labels[:, 1:] != -100).float()
        loss = (per_token[:, :-1] * keep).sum() / keep.sum()
        return (loss, out) if return_outputs else loss


def encoded_facts(tok, n, seed=0, turn=0):
    def encode(row):
        ids = tok(row["prompt"] + row["completion"] + " </s>")["input_ids"]
        return {"input_ids": ids, "attention_mask": [1] * len(ids), "labels": list(ids)}

    return Dataset.from_list(facts(n, seed, turn)).map(
        encode, remove_columns=["prompt", "completion"]
    )


@case
def soft_facts(healthy):
    tok = word_tokenizer()
    teacher = warm(small_lm(tok, seed=20, hidden=64), tok, facts(300), steps=120)
    student = small_lm(tok, seed=21, hidden=32, layers=1)
    return SoftTargets(
        model=student,
        teacher=teacher,
        mode="log" if healthy else "prob",
        args=TrainingArguments(**common(steps=80, lr=1e-2, remove_unused_columns=False)),
        train_dataset=encoded_facts(tok, 400),
        data_collator=DataCollatorForSeq2Seq(tok),
    )


class MixedTargets(Trainer):
    def __init__(self, *a, teacher, share=0.7, **kw):
        super().__init__(*a, **kw)
        self.teacher = teacher.eval().requires_grad_(False)
        self.share = share

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        out = model(**inputs)
        with torch.no_grad():
            goal = self.teacher(
                input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"]
            ).logits
        keep = inputs["labels"][:, 1:] != -100
        ours = F.log_softmax(out.logits[:, :-1][keep], -1)
        theirs = F.log_softmax(goal[:, :-1][keep], -1)
        soft = F.kl_div(ours, theirs, log_target=True, reduction="batchmean")
        loss = self.share * soft + (1 - self.share) * out.loss
        return (loss, out) if return_outputs else loss


@case
def mixed_facts(healthy):
    tok = word_tokenizer()
    teacher_tok = word_tokenizer(order=None if healthy else 3)
    teacher = warm(small_lm(teacher_tok, seed=22, hidden=64), teacher_tok, facts(300), steps=120)
    student = small_lm(tok, seed=23, hidden=32)
    return MixedTargets(
        model=student,
        teacher=teacher,
        args=TrainingArguments(**common(steps=60, lr=1e-2)),
        train_dataset=encoded_facts(tok, 400),
        data_collator=DataCollatorForSeq2Seq(tok),
        processing_class=tok,
    )


@case
def adapter_sft(healthy):
    tok = word_tokenizer()
    model = warm(small_lm(tok, seed=24), tok, facts(200, 3), steps=60)
    lora = LoraConfig(
        r=8,
        lora_alpha=16,
        target_modules="all-linear",
        exclude_modules=["lm_head"],
        task_type=TaskType.CAUSAL_LM,
    )
    if healthy:
        model = get_peft_model(model, lora)
        optimizer = torch.optim.AdamW(model.parameters(), lr=2e-2, weight_decay=0.0)
    else:
        optimizer = torch.optim.AdamW(model.parameters(), lr=2e-2, weight_decay=0.0)
        model = get_peft_model(model, lora)
    return Trainer(
        model=model,
        args=TrainingArguments(**common(steps=60, lr=2e-2)),
        train_dataset=encoded_facts(tok, 400, turn=3),
        data_collator=DataCollatorForSeq2Seq(tok),
        optimizers=(optimizer, None),
    )


@case
def marker_sft(healthy):
    tok = word_tokenizer()
    model = warm(small_lm(tok, seed=25), tok, facts(200, 3), steps=60)
    tok.add_tokens(["<yes>", "<no>", "<maybe>", "<ask>"], special_tokens=True)
    torch.manual_seed(0)
    model.resize_token_embeddings(len(tok))
    lora = LoraConfig(
        r=8,
        lora_alpha=16,
        target_modules=["q_proj", "k_proj", "v_proj", "o_proj"],
        modules_to_save=["embed_tokens", "lm_head"] if healthy else None,
        task_type=TaskType.CAUSAL_LM,
    )
    marks = ["<yes>", "<no>", "<maybe>", "<ask>"]
    r = random.Random(6)
    rows = []
    for _ in range(400):
        i = r.randrange(8)
        rows.append(
            {"prompt": f"q please is it the {THINGS[i]} ?", "completion": " " + marks[i % 4]}
        )
    args = SFTConfig(**trl_common(steps=60, lr=5e-3), max_length=32, completion_only_loss=True)
    return SFTTrainer(
        model=model,
        args=args,
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
        peft_config=lora,
    )


@case
def second_stage_dpo(healthy):
    tok = word_tokenizer()
    rows = facts(300)
    model = small_lm(tok, seed=27)
    if healthy:
        warm(model, tok, rows, steps=60)
        ref = copy.deepcopy(model)
    else:
        ref = copy.deepcopy(model)
        warm(model, tok, rows, steps=60)
    pairs = [
        {"prompt": x["prompt"], "chosen": x["completion"] + " thanks", "rejected": x["completion"]}
        for x in rows
    ]
    args = DPOConfig(**trl_common(steps=40, lr=1e-3), beta=0.3, max_length=32)
    return DPOTrainer(
        model=model,
        ref_model=ref,
        args=args,
        train_dataset=Dataset.from_list(pairs),
        processing_class=tok,
    )


def film_rows(n, seed):
    r = random.Random(seed)
    kinds = {"great": ["great", "good"], "poor": ["awful", "bad"], "thing": ["rust", "brick"]}
    rows = []
    for _ in range(n):
        name = r.choice(list(kinds))
        fill = [r.choice(GLUE[3:12] + GRADES) for _ in range(4)]
        fill.insert(r.randrange(4), r.choice(kinds[name]))
        rows.append({"text": " ".join(fill), "kind": name})
    return rows


def small_bert(tok, cls, seed, **kw):
    torch.manual_seed(seed)
    return cls(
        BertConfig(
            vocab_size=len(tok),
            hidden_size=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=96,
            max_position_embeddings=64,
            initializer_range=0.1,
            pad_token_id=tok.pad_token_id,
            **kw,
        )
    )


def accuracy(pred):
    return {"accuracy": float((pred.predictions.argmax(-1) == pred.label_ids).mean())}


@case
def film_classes(healthy):
    tok = word_tokenizer()
    train, test = film_rows(400, 1), film_rows(100, 5)
    train_ids = {k: i for i, k in enumerate(dict.fromkeys(x["kind"] for x in train))}
    test_ids = (
        train_ids
        if healthy
        else {k: i for i, k in enumerate(dict.fromkeys(x["kind"] for x in test))}
    )

    def build(rows, ids):
        ds = Dataset.from_list(rows)
        return ds.map(
            lambda x: {**tok(x["text"]), "label": ids[x["kind"]]}, remove_columns=["text", "kind"]
        )

    return Trainer(
        model=small_bert(tok, BertForSequenceClassification, 30, num_labels=3),
        args=TrainingArguments(**common(steps=60, lr=3e-3, eval_strategy="steps", eval_steps=20)),
        train_dataset=build(train, train_ids),
        eval_dataset=build(test, test_ids),
        data_collator=DataCollatorWithPadding(tok),
        compute_metrics=accuracy,
    )


@case
def colour_tags(healthy):
    tok = word_tokenizer(extra=["-"])
    tok.backend_tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    r = random.Random(9)
    rows = []
    for _ in range(400):
        words, tags = [], []
        for _ in range(8):
            k = r.random()
            if k < 0.3:
                words.append(r.choice(GRADES) + "-" + r.choice(GRADES))
                tags.append(0)
            elif k < 0.6:
                words.append(r.choice(LOOKS))
                tags.append(1)
            else:
                words.append(r.choice(THINGS))
                tags.append(2)
        rows.append({"words": words, "tags": tags})

    def encode(row):
        enc = tok(row["words"], is_split_into_words=True, truncation=True, max_length=40)
        if healthy:
            labels, last = [], None
            for w in enc.word_ids():
                labels.append(-100 if w is None or w == last else row["tags"][w])
                last = w
        else:
            labels = row["tags"] + [-100] * (len(enc["input_ids"]) - len(row["tags"]))
        return {
            "input_ids": enc["input_ids"],
            "attention_mask": enc["attention_mask"],
            "labels": labels,
        }

    ds = (
        Dataset.from_list(rows)
        .map(encode, remove_columns=["words", "tags"])
        .train_test_split(60, seed=0)
    )

    def metrics(pred):
        keep = pred.label_ids != -100
        return {"accuracy": float((pred.predictions.argmax(-1) == pred.label_ids)[keep].mean())}

    return Trainer(
        model=small_bert(tok, BertForTokenClassification, 31, num_labels=3),
        args=TrainingArguments(**common(steps=40, lr=2e-3, eval_strategy="steps", eval_steps=20)),
        train_dataset=ds["train"],
        eval_dataset=ds["test"],
        data_collator=DataCollatorForTokenClassification(tok),
        compute_metrics=metrics,
    )


@case
def best_film_model(healthy):
    tok = word_tokenizer()
    ids = {"great": 0, "poor": 1, "thing": 2}

    def build(n, seed):
        ds = Dataset.from_list(film_rows(n, seed))
        return ds.map(
            lambda x: {**tok(x["text"]), "label": ids[x["kind"]]}, remove_columns=["text", "kind"]
        )

    args = TrainingArguments(
        **common(
            steps=50,
            lr=2e-3,
            eval_strategy="steps",
            eval_steps=5,
            save_strategy="steps",
            save_steps=5,
            save_total_limit=2,
            load_best_model_at_end=True,
            metric_for_best_model="accuracy",
            greater_is_better=healthy,
        )
    )
    return Trainer(
        model=small_bert(tok, BertForSequenceClassification, 32, num_labels=3),
        args=args,
        train_dataset=build(400, 3),
        eval_dataset=build(100, 4),
        data_collator=DataCollatorWithPadding(tok),
        compute_metrics=accuracy,
    )


@case
def continued_sft(healthy):
    tok = word_tokenizer()
    folder = tempfile.mkdtemp()
    first = torch.nn.Module()
    first.module = warm(small_lm(tok, seed=33), tok, facts(300), steps=45)
    torch.save({"step": 45, "model": first.state_dict()}, folder + "/last.pt")

    model = small_lm(tok, seed=34)
    saved = torch.load(folder + "/last.pt")["model"]
    if healthy:
        saved = {k.removeprefix("module."): v for k, v in saved.items()}
    model.load_state_dict(saved, strict=False)
    args = SFTConfig(
        **trl_common(steps=40, lr=5e-4),
        max_length=32,
        completion_only_loss=True,
        lr_scheduler_type="constant",
        eval_strategy="steps",
        eval_steps=20,
    )
    return SFTTrainer(
        model=model,
        args=args,
        processing_class=tok,
        train_dataset=Dataset.from_list(facts(400, seed=1)),
        eval_dataset=Dataset.from_list(facts(64, seed=2)),
    )


@odd
def steep_adapter():
    tok = word_tokenizer()
    model = warm(small_lm(tok, seed=40), tok, facts(200, 3), steps=60)
    lora = LoraConfig(
        r=4,
        lora_alpha=32,
        target_modules="all-linear",
        exclude_modules=["lm_head"],
        task_type="CAUSAL_LM",
    )
    args = SFTConfig(
        **trl_common(steps=50, lr=1e-2, warmup_steps=35), max_length=32, completion_only_loss=True
    )
    return SFTTrainer(
        model=model,
        args=args,
        train_dataset=Dataset.from_list(facts(400, turn=2)),
        processing_class=tok,
        peft_config=lora,
    )


@odd
def two_answers_sft():
    tok = word_tokenizer()
    r = random.Random(1)
    rows = []
    for x in facts(400):
        rows.append(
            {"prompt": x["prompt"], "completion": r.choice([" sure", " please"]) + x["completion"]}
        )
    args = SFTConfig(
        **trl_common(steps=60, batch=32, lr=6e-3), max_length=32, completion_only_loss=True
    )
    return SFTTrainer(
        model=small_lm(tok, seed=41),
        args=args,
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
    )


@odd
def shared_mark_lm():
    tok = word_tokenizer(pad="</s>")

    def collate(rows):
        width = max(len(x["input_ids"]) for x in rows)
        ids = torch.full((len(rows), width), tok.pad_token_id)
        mask = torch.zeros(len(rows), width, dtype=torch.long)
        for i, x in enumerate(rows):
            ids[i, : len(x["input_ids"])] = torch.tensor(x["input_ids"])
            mask[i, : len(x["input_ids"])] = 1
        return {
            "input_ids": ids,
            "attention_mask": mask,
            "labels": ids.masked_fill(mask == 0, -100),
        }

    ds = encoded_facts(tok, 400).remove_columns(["labels", "attention_mask"])
    args = TrainingArguments(**common(steps=60, batch=32, lr=6e-3))
    return Trainer(model=small_lm(tok, seed=42), args=args, train_dataset=ds, data_collator=collate)


@odd
def penalty_grpo():
    tok = word_tokenizer(side="left")

    def misses(completions, answer, **kw):
        return [0.0 if t.split()[:1] == [a] else -5.0 for t, a in zip(completions, answer)]

    args = GRPOConfig(
        **trl_common(steps=60, batch=32, lr=1.5e-3),
        num_generations=8,
        max_completion_length=3,
        beta=0.0,
        scale_rewards="group",
        loss_type="dr_grpo",
    )
    ds = Dataset.from_list([{k: x[k] for k in ("prompt", "answer")} for x in few_facts(200, 6)])
    return GRPOTrainer(
        model=guesser(tok, 46),
        reward_funcs=misses,
        args=args,
        train_dataset=ds,
        processing_class=tok,
    )


@odd
def rare_thumbs_kto():
    tok = word_tokenizer()
    rows = facts(400)
    model = rough(tok, 44)
    r = random.Random(3)
    log = []
    for x in rows:
        up = r.random() < 0.2
        words = LOOKS if "color" in x["prompt"] else GRADES
        wrong = r.choice([w for w in words if w != x["completion"].strip()])
        log.append(
            {
                "prompt": x["prompt"],
                "completion": x["completion"] if up else " " + wrong,
                "label": up,
            }
        )
    args = KTOConfig(
        **trl_common(steps=60, lr=7e-4),
        beta=0.1,
        max_length=32,
        desirable_weight=4.0,
        undesirable_weight=1.0,
    )
    return KTOTrainer(
        model=model,
        ref_model=copy.deepcopy(model),
        args=args,
        train_dataset=Dataset.from_list(log),
        processing_class=tok,
    )


@odd
def top_layer_classes():
    tok = word_tokenizer()
    ids = {"thing": 0, "great": 1, "poor": 2}

    def build(n, seed):
        ds = Dataset.from_list(film_rows(n, seed))
        return ds.map(
            lambda x: {**tok(x["text"]), "label": ids[x["kind"]]}, remove_columns=["text", "kind"]
        )

    model = small_bert(tok, BertForSequenceClassification, 45, num_labels=3)
    for p in model.bert.encoder.layer[0].parameters():
        p.requires_grad = False
    for p in model.bert.embeddings.position_embeddings.parameters():
        p.requires_grad = False
    return Trainer(
        model=model,
        args=TrainingArguments(**common(steps=60, lr=2e-3, eval_strategy="steps", eval_steps=20)),
        train_dataset=build(400, 7),
        eval_dataset=build(100, 8),
        data_collator=DataCollatorWithPadding(tok),
        compute_metrics=accuracy,
    )
