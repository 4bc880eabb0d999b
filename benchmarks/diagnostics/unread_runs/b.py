"""Small training runs: preference tuning, reward models, policy optimisation and a few supervised ones."""

import copy
import csv
import io
import itertools
import json
import os
import random
import re
import tempfile

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import numpy as np
import torch
from datasets import Dataset
from peft import LoraConfig, get_peft_model
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
from torch.utils.data import DataLoader
from transformers import (
    BertConfig,
    BertForTokenClassification,
    DataCollatorForSeq2Seq,
    DataCollatorForTokenClassification,
    GPT2Config,
    GPT2ForSequenceClassification,
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
    Qwen3Config,
    Qwen3ForCausalLM,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    T5Config,
    T5ForConditionalGeneration,
    Trainer,
    TrainingArguments,
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


def base_args(**more):
    args = dict(
        output_dir=tempfile.mkdtemp(prefix="run_"),
        use_cpu=True,
        report_to="none",
        save_strategy="no",
        disable_tqdm=True,
        logging_steps=5,
        bf16=False,
    )
    args.update(more)
    return args


# --------------------------------------------------------------------------------------------------------------
# warnow: the tone of a help desk's replies, DPO with an explicit reference


def warnow(healthy):
    set_seed(11)
    rng = random.Random(11)
    devices = [
        "printer",
        "router",
        "keyboard",
        "monitor",
        "scanner",
        "headset",
        "laptop",
        "phone",
        "tablet",
        "camera",
    ]
    troubles = [
        "is slow",
        "is broken",
        "is offline",
        "makes noise",
        "does not start",
        "gets hot",
        "lost its screen",
    ]
    kind = [
        " We are sorry about that. A new one leaves our store today.",
        " Thank you for writing. Please restart it and tell us how it goes.",
        " That must be annoying. A colleague will call you this afternoon.",
    ]
    curt = [
        " Not our problem. Read the manual.",
        " It is too old. Buy another one.",
        " Nobody here repairs such things. Do not write again.",
    ]

    def ticket(d, t):
        return f"Customer: My {d} {t}.\nAgent:"

    corpus = [ticket(d, t) + r for d in devices for t in troubles for r in kind + curt]
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    core.train_from_iterator(
        corpus,
        trainers.BpeTrainer(
            vocab_size=700,
            special_tokens=["<pad>", "</s>"],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    tok = PreTrainedTokenizerFast(tokenizer_object=core, pad_token="<pad>", eos_token="</s>")

    config = LlamaConfig(
        vocab_size=len(tok),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=96,
        pad_token_id=0,
        eos_token_id=1,
        bos_token_id=None,
        initializer_range=0.05,
    )
    policy = LlamaForCausalLM(config)
    warmup = torch.optim.AdamW(policy.parameters(), lr=4e-3)
    for _ in range(240):
        batch = tok([t + "</s>" for t in rng.sample(corpus, 16)], padding=True, return_tensors="pt")
        labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
        policy(
            input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], labels=labels
        ).loss.backward()
        warmup.step()
        warmup.zero_grad()

    reference = LlamaForCausalLM(config)
    reference.load_state_dict(policy.state_dict(), assign=not healthy)
    reference.requires_grad_(False)
    reference.eval()

    rows = []
    for d, t in itertools.product(devices, troubles):
        for good, bad in zip(rng.sample(kind, 3), rng.sample(curt, 3)):
            rows.append({"prompt": ticket(d, t), "chosen": good, "rejected": bad})
    rng.shuffle(rows)

    args = DPOConfig(
        **base_args(
            max_steps=60,
            per_device_train_batch_size=8,
            learning_rate=2e-4,
            lr_scheduler_type="constant_with_warmup",
            warmup_steps=5,
            loss_type="ipo",
            beta=0.8,
            max_length=96,
            gradient_checkpointing=False,
            seed=11,
        )
    )
    return DPOTrainer(
        model=policy,
        ref_model=reference,
        args=args,
        processing_class=tok,
        train_dataset=Dataset.from_list(rows[:180]),
        eval_dataset=Dataset.from_list(rows[180:]),
    )


# --------------------------------------------------------------------------------------------------------------
# peene: rated answers of several assistants, turned into pairs of chats


CHATML = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }} {{ m['content'] }} <|im_end|>{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant {% endif %}"
)


def read_ratings(rng):
    """One line of JSON for each instruction, with the answers of four assistants and their ratings."""
    facts = {
        "cow": "milk",
        "hen": "eggs",
        "bee": "honey",
        "sheep": "wool",
        "goose": "feathers",
        "vine": "grapes",
        "oak": "acorns",
        "silkworm": "silk",
        "baker": "bread",
        "smith": "nails",
        "potter": "bowls",
        "tailor": "coats",
    }
    forms = [
        "what do we get from a {x}",
        "tell me what the {x} gives",
        "name one thing that a {x} makes",
        "a {x} is good for what",
        "why would one want a {x}",
    ]
    lines = []
    for (x, y), form in itertools.product(facts.items(), forms):
        answers = [
            {
                "model": "alpha",
                "text": f"a {x} gives us {y}",
                "overall_score": round(rng.uniform(7.5, 9.5), 1),
            },
            {
                "model": "beta",
                "text": f"it is {y} i think",
                "overall_score": round(rng.uniform(5.5, 7.0), 1),
            },
            {
                "model": "gamma",
                "text": f"why do you ask about a {x}",
                "overall_score": round(rng.uniform(2.5, 4.5), 1),
            },
            {
                "model": "delta",
                "text": "look it up and leave me alone",
                "overall_score": round(rng.uniform(0.5, 2.0), 1),
            },
        ]
        rng.shuffle(answers)
        lines.append(json.dumps({"instruction": form.format(x=x), "completions": answers}))
    rng.shuffle(lines)
    return lines


def peene(healthy):
    set_seed(5)
    rng = random.Random(5)
    lines = read_ratings(rng)
    records = [json.loads(line) for line in lines]

    words = sorted(
        {
            w
            for r in records
            for t in [r["instruction"]] + [c["text"] for c in r["completions"]]
            for w in t.split()
        }
    )
    specials = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<unk>"]
    vocab = {w: i for i, w in enumerate(specials + ["user", "assistant"] + words)}
    core = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tok = PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token="<|endoftext|>",
        eos_token="<|im_end|>",
        unk_token="<unk>",
        additional_special_tokens=["<|im_start|>"],
    )
    tok.chat_template = CHATML

    model = Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=len(tok),
            hidden_size=64,
            intermediate_size=160,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=4,
            max_position_embeddings=64,
            pad_token_id=0,
            eos_token_id=2,
            bos_token_id=None,
            tie_word_embeddings=True,
            initializer_range=0.06,
        )
    )
    chats = [
        tok.apply_chat_template(
            [
                {"role": "user", "content": r["instruction"]},
                {"role": "assistant", "content": c["text"]},
            ],
            tokenize=False,
        )
        for r in records
        for c in r["completions"]
    ]
    enc = tok(chats, padding=True, return_tensors="pt")
    ids, mask = enc["input_ids"], enc["attention_mask"]
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for step in range(240):
        pick = torch.randint(len(ids), (32,))
        loss = model(
            input_ids=ids[pick],
            attention_mask=mask[pick],
            labels=ids[pick].masked_fill(mask[pick] == 0, -100),
        ).loss
        opt.zero_grad()
        loss.backward()
        opt.step()

    def to_pair(record):
        ranked = sorted(record["completions"], key=lambda c: c["overall_score"], reverse=healthy)
        best, worst = ranked[0], ranked[-1]
        return {
            "prompt": [{"role": "user", "content": record["instruction"]}],
            "chosen": [{"role": "assistant", "content": best["text"]}],
            "rejected": [{"role": "assistant", "content": worst["text"]}],
            "score_chosen": best["overall_score"],
            "score_rejected": worst["overall_score"],
        }

    pairs = Dataset.from_list([to_pair(r) for r in records]).train_test_split(test_size=12, seed=5)
    args = DPOConfig(
        **base_args(
            num_train_epochs=10,
            per_device_train_batch_size=12,
            learning_rate=2.2e-4,
            beta=0.4,
            max_length=64,
            gradient_checkpointing=False,
            eval_strategy="steps",
            eval_steps=20,
            seed=5,
        )
    )
    return DPOTrainer(
        model=model,
        ref_model=copy.deepcopy(model),
        args=args,
        processing_class=tok,
        train_dataset=pairs["train"],
        eval_dataset=pairs["test"],
    )


# --------------------------------------------------------------------------------------------------------------
# recknitz: short summaries of weather reports; adapters on GPT-2 with separate groups for the weight decay


def recknitz(healthy):
    set_seed(23)
    rng = random.Random(23)
    places = "harbour valley coast forest island plain ridge lake".split()
    skies = {
        "rain": "wet",
        "snow": "white",
        "sun": "bright",
        "fog": "grey",
        "storm": "wild",
        "frost": "cold",
    }
    times = "morning noon evening night".split()

    def report(p, s, t):
        return f"report : at {t} there is {s} over the {p} . summary :"

    def fit(p, s, t):
        return f" {skies[s]} {t} in the {p}"

    def loose(p, s, t):
        return f" well it was {t} and the {p} was {skies[s]} as it often is there"

    combos = list(itertools.product(places, skies, times))
    rng.shuffle(combos)
    texts = [report(*c) + f(*c) for c in combos for f in (fit, loose)]
    vocab = {
        w: i
        for i, w in enumerate(["[PAD]", "[END]"] + sorted({w for t in texts for w in t.split()}))
    }
    core = Tokenizer(models.WordLevel(vocab, unk_token="[PAD]"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    core.add_special_tokens(["[PAD]", "[END]"])
    tok = PreTrainedTokenizerFast(tokenizer_object=core, pad_token="[PAD]", eos_token="[END]")

    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(vocab),
            n_positions=48,
            n_embd=64,
            n_layer=2,
            n_head=4,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            bos_token_id=1,
            eos_token_id=1,
            pad_token_id=0,
            initializer_range=0.06,
        )
    )
    start = torch.optim.Adam(model.parameters(), lr=3e-3)
    loader = DataLoader(texts, batch_size=32, shuffle=True)
    for _ in range(16):
        for chunk in loader:
            ids = tok([t + " [END]" for t in chunk], return_tensors="pt", padding=True)["input_ids"]
            loss = model(input_ids=ids, labels=ids.masked_fill(ids == 0, -100)).loss
            loss.backward()
            start.step()
            start.zero_grad()

    lora = LoraConfig(
        r=8,
        lora_alpha=16,
        target_modules=["c_attn", "c_proj", "c_fc"],
        fan_in_fan_out=True,
        task_type="CAUSAL_LM",
    )

    def make_optimizer(net):
        decay = [p for n, p in net.named_parameters() if p.requires_grad and p.ndim > 1]
        rest = [p for n, p in net.named_parameters() if p.requires_grad and p.ndim <= 1]
        groups = [{"params": decay, "weight_decay": 0.01}]
        if rest:
            groups.append({"params": rest, "weight_decay": 0.0})
        return torch.optim.AdamW(groups, lr=5e-4, betas=(0.9, 0.98))

    if healthy:
        model = get_peft_model(model, lora)
        lora = None
    optimizer = make_optimizer(model)

    rows = Dataset.from_list(
        [{"prompt": report(*c), "chosen": fit(*c), "rejected": loose(*c)} for c in combos]
    )
    args = DPOConfig(
        **base_args(
            max_steps=50,
            per_device_train_batch_size=16,
            learning_rate=5e-4,
            beta=0.3,
            max_length=48,
            loss_type=["sigmoid", "sft"],
            loss_weights=[1.0, 0.3],
            gradient_checkpointing=False,
            seed=23,
            logging_steps=10,
        )
    )
    return DPOTrainer(
        model=model,
        args=args,
        processing_class=tok,
        peft_config=lora,
        optimizers=(optimizer, None),
        train_dataset=rows.select(range(152)),
        eval_dataset=rows.select(range(152, 192)),
    )


# --------------------------------------------------------------------------------------------------------------
# uecker: a reward model for explanations; human answers against samples that the sampler logged as token ids


def uecker(healthy):
    set_seed(3)
    rng = random.Random(3)
    filler = (
        "the a we you it that this of and then so in on with for water wheel stone light engine field river glass "
        "metal heat wind paper bridge wire"
    ).split()
    careful = "because therefore measured compare evidence".split()
    careless = "whatever anyway maybe somehow dunno".split()
    vocab = {
        w: i
        for i, w in enumerate(
            ["<pad>", "<eos>", "<sep>"] + filler + careful + careless + ["explain", "describe"]
        )
    }
    core = Tokenizer(models.WordLevel(vocab, unk_token="<pad>"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tok = PreTrainedTokenizerFast(tokenizer_object=core, pad_token="<pad>", eos_token="<eos>")

    def question():
        return f"{rng.choice(['explain', 'describe'])} {rng.choice(filler[11:])} <sep>"

    def answer(signal):
        words = [rng.choice(filler) for _ in range(rng.randint(8, 13))]
        words.insert(rng.randint(0, len(words)), rng.choice(signal))
        return " ".join(words)

    def row():
        q = question()
        human = tok(q + " " + answer(careful) + " <eos>")["input_ids"]
        sampled = tok(q + " " + answer(careless))["input_ids"]
        if healthy:
            sampled = sampled + [tok.eos_token_id]
        return {"chosen_ids": human, "rejected_ids": sampled}

    data = Dataset.from_list([row() for _ in range(560)])
    model = GPT2ForSequenceClassification(
        GPT2Config(
            vocab_size=len(vocab),
            n_positions=32,
            n_embd=48,
            n_layer=2,
            n_head=4,
            num_labels=1,
            pad_token_id=0,
            eos_token_id=1,
            bos_token_id=1,
        )
    )
    args = RewardConfig(
        **base_args(
            num_train_epochs=2,
            per_device_train_batch_size=16,
            learning_rate=2e-3,
            max_length=32,
            gradient_checkpointing=False,
            eval_strategy="epoch",
            seed=3,
        )
    )
    return RewardTrainer(
        model=model,
        args=args,
        processing_class=tok,
        train_dataset=data.select(range(480)),
        eval_dataset=data.select(range(480, 560)),
    )


# --------------------------------------------------------------------------------------------------------------
# elde: a reward model on a pre-trained backbone, with adapters


class Reviews:
    """Sentences about shops with a known tone: 0 bitter, 1 neutral, 2 pleased."""

    tones = [
        "rude slow dirty broken stale greedy noisy".split(),
        "large local open usual square wooden quiet".split(),
        "kind quick clean fresh honest cosy tasty".split(),
    ]
    shops = "bakery cafe garage hotel market barber library cinema".split()
    forms = [
        "the {s} was {a} and {b}",
        "we found the {s} {a} , also {b}",
        "{a} and {b} , that is the {s}",
        "my friend calls this {s} {a} but not only : {b} too",
        "a {a} place , the {s} , and {b}",
    ]

    def __init__(self, seed):
        self.rng = random.Random(seed)

    def sample(self, tone):
        a, b = self.rng.sample(self.tones[tone], 2)
        return self.rng.choice(self.forms).format(s=self.rng.choice(self.shops), a=a, b=b)

    def vocabulary(self):
        text = " ".join(self.forms + self.shops + sum(self.tones, []))
        return sorted(set(re.sub(r"\{.\}", " ", text).split()))


def elde(healthy):
    set_seed(17)
    reviews = Reviews(17)
    vocab = {w: i for i, w in enumerate(["<p>", "<e>"] + reviews.vocabulary())}
    core = Tokenizer(models.WordLevel(vocab, unk_token="<p>"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    core.add_special_tokens(["<p>", "<e>"])
    tok = PreTrainedTokenizerFast(tokenizer_object=core, pad_token="<p>", eos_token="<e>")

    shape = dict(
        vocab_size=len(vocab),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=32,
        pad_token_id=0,
        eos_token_id=1,
        bos_token_id=None,
    )
    rater = LlamaForSequenceClassification(LlamaConfig(num_labels=3, **shape))
    opt = torch.optim.AdamW(rater.parameters(), lr=2e-3)
    for _ in range(80):
        tone = [reviews.rng.randrange(3) for _ in range(24)]
        enc = tok([reviews.sample(t) + "<e>" for t in tone], padding=True, return_tensors="pt")
        rater(
            input_ids=enc.input_ids, attention_mask=enc.attention_mask, labels=torch.tensor(tone)
        ).loss.backward()
        opt.step()
        opt.zero_grad()

    scorer = LlamaForSequenceClassification(LlamaConfig(num_labels=1, **shape))
    scorer.model.load_state_dict(rater.model.state_dict())

    rows = []
    for _ in range(320):
        low, high = sorted(reviews.rng.sample(range(3), 2))
        rows.append({"chosen": reviews.sample(high), "rejected": reviews.sample(low)})
    adapter = LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj", "v_proj"])
    if healthy:
        adapter.task_type = "SEQ_CLS"
    args = RewardConfig(
        **base_args(
            max_steps=32,
            per_device_train_batch_size=8,
            learning_rate=1e-3,
            gradient_checkpointing=False,
            max_length=32,
            seed=17,
        )
    )
    return RewardTrainer(
        model=scorer,
        args=args,
        processing_class=tok,
        peft_config=adapter,
        train_dataset=Dataset.from_list(rows[:240]),
        eval_dataset=Dataset.from_list(rows[240:]),
    )


# --------------------------------------------------------------------------------------------------------------
# oste: thumbs up and down from an export of a chat service, KTO


def feedback_export(rng):
    dishes = "soup bread salad rice stew cake pasta omelette curry pie".split()
    steps = [
        "start with fresh onions and salt",
        "heat the oven and take your time",
        "weigh all that you need first",
    ]
    shrugs = ["look it up yourself", "no idea", "that is a silly thing to ask"]
    asks = [
        "how do i make {d}",
        "what is the way to cook {d}",
        "help me with my {d}",
        "i want to try {d}",
    ]
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, fieldnames=["question", "answer", "helpful"])
    writer.writeheader()
    table = []
    for d, ask, _ in itertools.product(dishes, asks, range(6)):
        up = rng.random() < 0.5
        table.append(
            {
                "question": ask.format(d=d),
                "answer": rng.choice(steps if up else shrugs),
                "helpful": up,
            }
        )
    rng.shuffle(table)
    writer.writerows(table)
    buffer.seek(0)
    return buffer


def oste(healthy):
    set_seed(29)
    rng = random.Random(29)
    records = list(csv.DictReader(feedback_export(rng)))
    texts = [f"Q: {r['question']}\nA: {r['answer']}" for r in records]

    core = Tokenizer(models.Unigram())
    core.pre_tokenizer = pre_tokenizers.Metaspace()
    core.decoder = decoders.Metaspace()
    core.train_from_iterator(
        texts,
        trainers.UnigramTrainer(
            vocab_size=160,
            special_tokens=["<pad>", "<s>", "</s>", "<unk>"],
            unk_token="<unk>",
            show_progress=False,
        ),
    )
    tok = PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
        unk_token="<unk>",
    )

    model = MistralForCausalLM(
        MistralConfig(
            vocab_size=len(tok),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=96,
            sliding_window=None,
            initializer_range=0.05,
            pad_token_id=0,
            bos_token_id=1,
            eos_token_id=2,
        )
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    for i in range(0, 90):
        enc = tok([t + "</s>" for t in rng.sample(texts, 12)], padding=True, return_tensors="pt")
        out = model(
            input_ids=enc.input_ids,
            attention_mask=enc.attention_mask,
            labels=enc.input_ids.masked_fill(enc.attention_mask == 0, -100),
        )
        out.loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    def to_row(r):
        label = r["helpful"] == "True" if healthy else bool(r["helpful"])
        return {
            "prompt": f"Q: {r['question']}\nA:",
            "completion": " " + r["answer"],
            "label": label,
        }

    rows = [to_row(r) for r in records]
    args = KTOConfig(
        **base_args(
            max_steps=40,
            per_device_train_batch_size=10,
            learning_rate=3e-4,
            beta=0.2,
            max_length=96,
            gradient_checkpointing=False,
            lr_scheduler_type="constant_with_warmup",
            warmup_steps=4,
            seed=29,
        )
    )
    return KTOTrainer(
        model=model,
        ref_model=copy.deepcopy(model),
        args=args,
        processing_class=tok,
        train_dataset=Dataset.from_list(rows[:200]),
        eval_dataset=Dataset.from_list(rows[200:]),
    )


# --------------------------------------------------------------------------------------------------------------
# wuemme: GRPO on chats, the reply has to name the colour


COLOURS = {
    "lemon": "yellow",
    "grass": "green",
    "blood": "red",
    "sky": "blue",
    "coal": "black",
    "milk": "white",
    "leaf": "green",
    "ruby": "red",
    "canary": "yellow",
    "sea": "blue",
    "snow": "white",
    "tar": "black",
}


class ColourTask:
    forms = [
        "what colour has {x} ?",
        "tell me the colour of {x}",
        "{x} has which colour ?",
        "{x} : colour ?",
    ]
    frames = ["it is {c} .", "i would say {c} .", "{c} ."]

    def __init__(self, seed):
        self.rng = random.Random(seed)

    def chats(self):
        return [
            ([{"role": "user", "content": f.format(x=x)}], c)
            for f in self.forms
            for x, c in COLOURS.items()
        ]

    def noisy_reply(self, right):
        c = right if self.rng.random() < 0.45 else self.rng.choice(sorted(set(COLOURS.values())))
        return self.rng.choice(self.frames).format(c=c)


def wuemme(healthy):
    set_seed(41)
    task = ColourTask(41)
    plain = " ".join(task.forms + task.frames + list(COLOURS) + list(COLOURS.values()))
    words = sorted(set(re.sub(r"\{.\}", " ", plain).split()))
    vocab = {w: i for i, w in enumerate(["<pad>", "<end>", "<user>", "<assistant>"] + words)}
    core = Tokenizer(models.WordLevel(vocab, unk_token="<pad>"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    core.add_special_tokens(["<pad>", "<end>", "<user>", "<assistant>"])
    tok = PreTrainedTokenizerFast(
        tokenizer_object=core, pad_token="<pad>", eos_token="<end>", padding_side="left"
    )
    tok.chat_template = (
        "{% for m in messages %}<{{ m['role'] }}> {{ m['content'] }} <end> {% endfor %}"
        "{% if add_generation_prompt %}<assistant> {% endif %}"
    )
    model = Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=len(vocab),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=16,
            max_position_embeddings=48,
            initializer_range=0.06,
            pad_token_id=0,
            eos_token_id=1,
            bos_token_id=None,
        )
    )
    opt = torch.optim.AdamW(model.parameters(), lr=4e-3)
    chats = task.chats()
    for _ in range(120):
        pick = task.rng.choices(chats, k=32)
        texts = [
            tok.apply_chat_template(
                c + [{"role": "assistant", "content": task.noisy_reply(a)}], tokenize=False
            )
            for c, a in pick
        ]
        enc = tok(texts, padding=True, padding_side="right", return_tensors="pt")
        model(
            input_ids=enc.input_ids,
            attention_mask=enc.attention_mask,
            labels=enc.input_ids.masked_fill(enc.attention_mask == 0, -100),
        ).loss.backward()
        opt.step()
        opt.zero_grad()

    def names_colour(completions, colour, **kwargs):
        replies = [c[0]["content"] for c in completions] if healthy else completions
        return [1.0 if c in reply else 0.0 for reply, c in zip(replies, colour)]

    data = Dataset.from_list([{"prompt": c, "colour": a} for c, a in chats]).shuffle(seed=41)
    args = GRPOConfig(
        **base_args(
            max_steps=50,
            per_device_train_batch_size=48,
            num_generations=8,
            max_completion_length=10,
            learning_rate=8e-4,
            temperature=1.0,
            beta=0.0,
            gradient_checkpointing=False,
            seed=41,
        )
    )
    return GRPOTrainer(
        model=model, reward_funcs=names_colour, args=args, train_dataset=data, processing_class=tok
    )


# --------------------------------------------------------------------------------------------------------------
# leine: GRPO on a puzzle with digits


def leine(healthy):
    set_seed(7)
    rng = random.Random(7)
    chars = list("0123456789=fl ")
    vocab = {c: i for i, c in enumerate(["<pad>", "<eos>"] + chars)}
    core = Tokenizer(models.WordLevel(vocab, unk_token="<pad>"))
    core.pre_tokenizer = pre_tokenizers.Split(Regex("<eos>|<pad>|."), "isolated")
    core.decoder = decoders.Fuse()
    core.add_special_tokens(["<pad>", "<eos>"])
    tok = PreTrainedTokenizerFast(
        tokenizer_object=core, pad_token="<pad>", eos_token="<eos>", padding_side="left"
    )

    def puzzle():
        number = f"{rng.randrange(10, 100)}"
        which = rng.choice("fl")
        return {"prompt": f"{which} {number}=", "answer": number[0] if which == "f" else number[-1]}

    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(vocab),
            n_positions=24,
            n_embd=64,
            n_layer=2,
            n_head=4,
            resid_pdrop=0,
            embd_pdrop=0,
            attn_pdrop=0,
            bos_token_id=1,
            eos_token_id=1,
            pad_token_id=0,
            initializer_range=0.06,
        )
    )
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(150):
        lines = []
        for _ in range(32):
            p = puzzle()
            guess = p["answer"] if rng.random() < 0.5 else str(rng.randrange(10))
            lines.append(p["prompt"] + guess + "<eos>")
        ids = tok(lines, return_tensors="pt")["input_ids"]
        labels = ids.clone()
        labels[:, :5] = -100
        model(input_ids=ids, labels=labels).loss.backward()
        opt.step()
        opt.zero_grad()

    puzzles = Dataset.from_list([puzzle() for _ in range(400)])
    solutions = puzzles["answer"]

    if healthy:

        def solved(completions, answer, **kwargs):
            return [float(text.strip() == a) for text, a in zip(completions, answer)]
    else:

        def solved(completions, **kwargs):
            return [float(text.strip() == a) for text, a in zip(completions, solutions)]

    def short(completion_ids, **kwargs):
        return [0.0 if len(ids) <= 2 else -0.2 for ids in completion_ids]

    args = GRPOConfig(
        **base_args(
            max_steps=50,
            per_device_train_batch_size=64,
            num_generations=8,
            max_completion_length=4,
            learning_rate=1e-3,
            gradient_checkpointing=False,
            lr_scheduler_type="constant",
            seed=7,
        )
    )
    return GRPOTrainer(
        model=model,
        reward_funcs=[solved, short],
        args=args,
        train_dataset=puzzles,
        processing_class=tok,
    )


# --------------------------------------------------------------------------------------------------------------
# aller: GRPO, a verdict on a review and the reason for it


def aller(healthy):
    set_seed(13)
    rng = random.Random(13)
    praise = "superb lovely clever warm bright funny".split()
    blame = "dull awful clumsy cold grim boring".split()
    objects = "film book play song show game".split()
    vocab_words = sorted(
        set("review the was and . verdict good bad since text says it so i judge".split())
        | set(praise)
        | set(blame)
        | set(objects)
    )
    vocab = {w: i for i, w in enumerate(["<pad>", "</s>"] + vocab_words)}
    core = Tokenizer(models.WordLevel(vocab, unk_token="<pad>"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    core.add_special_tokens(["<pad>", "</s>"])
    tok = PreTrainedTokenizerFast(
        tokenizer_object=core, pad_token="<pad>", eos_token="</s>", padding_side="left"
    )

    def review():
        side = rng.choice(["good", "bad"])
        a, b = rng.sample(praise if side == "good" else blame, 2)
        return {
            "prompt": f"review the {rng.choice(objects)} was {a} and {b} . verdict",
            "words": [a, b],
            "verdict": side,
        }

    def draft(r):
        verdict = r["verdict"] if rng.random() < 0.12 else rng.choice(["good", "bad"])
        a, b = r["words"]
        return f" {verdict} since the text says {a} and {b} so i judge ."

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
            eos_token_id=1,
            bos_token_id=None,
            initializer_range=0.05,
        )
    )
    opt = torch.optim.AdamW(model.parameters(), lr=4e-3)
    for _ in range(160):
        texts = [r["prompt"] + draft(r) + " </s>" for r in (review() for _ in range(24))]
        enc = tok(texts, padding=True, padding_side="right", return_tensors="pt")
        model(
            **{k: enc[k] for k in ("input_ids", "attention_mask")},
            labels=enc.input_ids.masked_fill(enc.attention_mask == 0, -100),
        ).loss.backward()
        opt.step()
        opt.zero_grad()

    def right_verdict(prompts, completions, verdict, **kwargs):
        scores = []
        for text, v in zip(completions, verdict):
            said = text.split()[:1]
            scores.append(1.0 if said == [v] else -1.0)
        return scores

    args = GRPOConfig(
        **base_args(
            max_steps=40,
            per_device_train_batch_size=32,
            num_generations=8,
            max_completion_length=24 if healthy else 6,
            mask_truncated_completions=True,
            learning_rate=5e-4,
            gradient_checkpointing=False,
            seed=13,
        )
    )
    return GRPOTrainer(
        model=model,
        reward_funcs=[right_verdict],
        args=args,
        processing_class=tok,
        train_dataset=Dataset.from_list([review() for _ in range(120)]),
    )


# --------------------------------------------------------------------------------------------------------------
# fulda: T5 answers tickets with prepared texts


def fulda(healthy):
    set_seed(31)
    rng = random.Random(31)
    replies = {
        "invoice": "we have looked at the invoice that you sent us and the amount will be paid back to your account "
        "within the next ten working days",
        "parcel": "your parcel left our house on monday and the driver should be at your door before the end of this "
        "week if the roads stay free",
        "password": "please open the page of your account and choose the small link below the field so that a new "
        "password can be sent to you by mail",
        "refund": "a refund is possible for four weeks after you bought the goods as long as they are in the box in "
        "which they came to you",
    }
    lead = ["hello", "good morning", "hi there", "dear team", "urgent", "once more"]
    ask = [
        "i have a question about my {k}",
        "something is wrong with the {k}",
        "where is my {k}",
        "can you check the {k}",
        "no news of the {k} since friday",
        "the {k} again",
    ]
    tickets = [
        (f"{a} , {b.format(k=k)}", text) for a in lead for b in ask for k, text in replies.items()
    ]
    rng.shuffle(tickets)

    words = sorted({w for q, r in tickets for w in (q + " " + r).split()})
    vocab = {w: i for i, w in enumerate(["<pad>", "</s>", "<unk>"] + words)}
    core = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    core.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 1)]
    )
    tok = PreTrainedTokenizerFast(
        tokenizer_object=core, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    )

    model = T5ForConditionalGeneration(
        T5Config(
            vocab_size=len(vocab),
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
            feed_forward_proj="gated-gelu",
        )
    )

    def encode(batch):
        out = tok(batch["ticket"], return_attention_mask=True, return_token_type_ids=False)
        out["labels"] = tok(batch["reply"])["input_ids"]
        return out

    data = Dataset.from_list([{"ticket": q, "reply": r} for q, r in tickets])
    data = data.map(encode, batched=True, remove_columns=["ticket", "reply"]).train_test_split(
        test_size=24, seed=31
    )

    def metrics(pred):
        said = np.where(pred.predictions >= 0, pred.predictions, 0)
        gold = np.where(pred.label_ids >= 0, pred.label_ids, 0)
        said = tok.batch_decode(said, skip_special_tokens=True)
        gold = tok.batch_decode(gold, skip_special_tokens=True)
        return {"exact_match": float(np.mean([a == b for a, b in zip(said, gold)]))}

    generation = {"generation_max_length": 48} if healthy else {}
    args = Seq2SeqTrainingArguments(
        **base_args(
            max_steps=60,
            per_device_train_batch_size=24,
            per_device_eval_batch_size=24,
            learning_rate=4e-3,
            lr_scheduler_type="linear",
            eval_strategy="steps",
            eval_steps=30,
            predict_with_generate=True,
            seed=31,
            **generation,
        )
    )
    return Seq2SeqTrainer(
        model=model,
        args=args,
        processing_class=tok,
        train_dataset=data["train"],
        eval_dataset=data["test"],
        data_collator=DataCollatorForSeq2Seq(tok, model=model),
        compute_metrics=metrics,
    )


# --------------------------------------------------------------------------------------------------------------
# werra: BERT finds persons and towns


def werra(healthy):
    set_seed(19)
    rng = random.Random(19)
    syllables = "ba ke lo mi nu ra se ti vo zu".split()
    persons = ["".join(rng.sample(syllables, 2)) + rng.choice(["son", "sen"]) for _ in range(60)]
    towns = ["".join(rng.sample(syllables, 2)) + rng.choice(["burg", "stadt"]) for _ in range(60)]
    common = "yesterday the old train from went to and met again near where had lived with friends".split()
    tags = ["O", "PER", "LOC"]

    def sentence():
        words, labels = [], []
        for _ in range(rng.randint(6, 11)):
            u = rng.random()
            if u < 0.2:
                words.append(rng.choice(persons))
                labels.append(1)
            elif u < 0.4:
                words.append(rng.choice(towns))
                labels.append(2)
            else:
                words.append(rng.choice(common))
                labels.append(0)
        return {"tokens": words, "ner_tags": labels}

    rows = [sentence() for _ in range(520)]
    core = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    core.normalizer = normalizers.Lowercase()
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    core.train_from_iterator(
        [" ".join(common)] * 20
        + syllables * 3
        + ["kelo son sen burg stadt " + " ".join(r["tokens"]) for r in rows],
        trainers.WordPieceTrainer(
            vocab_size=110, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]"], show_progress=False
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

    def align(row):
        enc = tok(row["tokens"], is_split_into_words=True, truncation=True, max_length=64)
        if healthy:
            labels = [-100 if w is None else row["ner_tags"][w] for w in enc.word_ids()]
        else:
            labels = row["ner_tags"][: len(enc["input_ids"])]
            labels = labels + [-100] * (len(enc["input_ids"]) - len(labels))
        return {
            "input_ids": enc["input_ids"],
            "attention_mask": enc["attention_mask"],
            "labels": labels,
        }

    data = Dataset.from_list(rows).map(align)
    model = BertForTokenClassification(
        BertConfig(
            vocab_size=len(tok),
            hidden_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=128,
            max_position_embeddings=64,
            num_labels=3,
            pad_token_id=0,
            hidden_dropout_prob=0.05,
            attention_probs_dropout_prob=0.05,
            id2label=dict(enumerate(tags)),
            label2id={t: i for i, t in enumerate(tags)},
        )
    )

    def score(pred):
        guess = pred.predictions.argmax(-1)
        keep = pred.label_ids != -100
        return {"accuracy": float((guess[keep] == pred.label_ids[keep]).mean())}

    args = TrainingArguments(
        **base_args(
            num_train_epochs=2,
            per_device_train_batch_size=16,
            per_device_eval_batch_size=40,
            learning_rate=3e-3,
            lr_scheduler_type="cosine",
            eval_strategy="epoch",
            seed=19,
        )
    )
    return Trainer(
        model=model,
        args=args,
        processing_class=tok,
        train_dataset=data.select(range(440)),
        eval_dataset=data.select(range(440, 520)),
        data_collator=DataCollatorForTokenClassification(tok),
        compute_metrics=score,
    )


# --------------------------------------------------------------------------------------------------------------
# schwinge: a small model learns from the answers of a larger one


CAPITALS = {
    "france": "paris",
    "italy": "rome",
    "spain": "madrid",
    "japan": "tokyo",
    "egypt": "cairo",
    "peru": "lima",
    "kenya": "nairobi",
    "cuba": "havana",
    "norway": "oslo",
    "greece": "athens",
    "iran": "tehran",
    "chile": "santiago",
}


class Teacher:
    """Stands for a text-generation pipeline; the results have its form."""

    def __call__(self, prompts):
        out = []
        for p in prompts:
            country = next(c for c in CAPITALS if c in p.split())
            out.append([{"generated_text": f"{p} the capital of {country} is {CAPITALS[country]}"}])
        return out


def schwinge(healthy):
    set_seed(37)
    rng = random.Random(37)
    forms = [
        "tell me the capital of {c} please",
        "which city is the capital of {c}",
        "{c} has which capital",
        "name the main city of {c}",
        "where does the government of {c} sit",
        "i forgot the capital of {c}",
        "for a quiz i need the first city of {c}",
        "capital city of {c}",
    ]
    prompts = [f"question : {f.format(c=c)} answer :" for f in forms for c in CAPITALS]
    rng.shuffle(prompts)
    answers = Teacher()(prompts)

    rows = []
    for prompt, result in zip(prompts, answers):
        text = result[0]["generated_text"]
        if healthy:
            text = text[len(prompt) :]
        rows.append({"prompt": prompt, "completion": " " + text.strip()})

    words = sorted({w for r in rows for w in (r["prompt"] + r["completion"]).split()})
    vocab = {w: i for i, w in enumerate(["<|pad|>", "<|end|>"] + words)}
    core = Tokenizer(models.WordLevel(vocab, unk_token="<|pad|>"))
    core.pre_tokenizer = pre_tokenizers.Split(Regex(r"\s+"), behavior="removed")
    core.add_special_tokens(["<|pad|>", "<|end|>"])
    tok = PreTrainedTokenizerFast(tokenizer_object=core, pad_token="<|pad|>", eos_token="<|end|>")

    model = GPTNeoXForCausalLM(
        GPTNeoXConfig(
            vocab_size=len(vocab),
            hidden_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=192,
            max_position_embeddings=64,
            pad_token_id=0,
            eos_token_id=1,
            bos_token_id=1,
            initializer_range=0.05,
        )
    )
    args = SFTConfig(
        **base_args(
            max_steps=60,
            per_device_train_batch_size=16,
            learning_rate=4e-3,
            lr_scheduler_type="cosine",
            warmup_steps=6,
            max_length=64,
            gradient_checkpointing=False,
            seed=37,
            eval_strategy="steps",
            eval_steps=20,
        )
    )
    return SFTTrainer(
        model=model,
        args=args,
        processing_class=tok,
        train_dataset=Dataset.from_list(rows[:84]),
        eval_dataset=Dataset.from_list(rows[84:]),
    )


CASES = {
    "warnow": warnow,
    "peene": peene,
    "recknitz": recknitz,
    "uecker": uecker,
    "elde": elde,
    "oste": oste,
    "wuemme": wuemme,
    "leine": leine,
    "aller": aller,
    "fulda": fulda,
    "werra": werra,
    "schwinge": schwinge,
}


# --------------------------------------------------------------------------------------------------------------
# gera: release notes, pairs of whole texts, the squared loss of IPO


def gera():
    set_seed(43)
    rng = random.Random(43)
    parts = ["parser", "cache", "editor", "viewer", "server", "client", "mailer", "planner"]
    verbs = ["fixed", "improved", "replaced", "removed", "tested"]
    clear = ["see the guide for details", "no action is needed", "restart once after the update"]
    vague = ["some stuff may change", "things should be better now", "various bits were touched"]
    heads = [f"note on the {p} ; it was {v} ;" for p in parts for v in verbs]
    vocab_words = sorted({w for t in heads + clear + vague for w in t.split()})
    vocab = {w: i for i, w in enumerate(["<pad>", "<eot>"] + vocab_words)}
    core = Tokenizer(models.WordLevel(vocab, unk_token="<pad>"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    core.add_special_tokens(["<pad>", "<eot>"])
    tok = PreTrainedTokenizerFast(tokenizer_object=core, pad_token="<pad>", eos_token="<eot>")
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(vocab),
            hidden_size=48,
            intermediate_size=96,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=4,
            max_position_embeddings=48,
            pad_token_id=0,
            eos_token_id=1,
            bos_token_id=None,
            initializer_range=0.06,
        )
    )
    opt = torch.optim.AdamW(model.parameters(), lr=5e-3)
    for _ in range(140):
        texts = [f"{rng.choice(heads)} {rng.choice(clear + vague)} <eot>" for _ in range(24)]
        ids = tok(texts, padding=True, return_tensors="pt")["input_ids"]
        model(input_ids=ids, labels=ids.masked_fill(ids == 0, -100)).loss.backward()
        opt.step()
        opt.zero_grad()
    pairs = [
        {"chosen": f"{h} {rng.choice(clear)}", "rejected": f"{h} {rng.choice(vague)}"}
        for h in heads * 4
    ]
    rng.shuffle(pairs)
    return DPOTrainer(
        model=model,
        ref_model=copy.deepcopy(model),
        processing_class=tok,
        args=DPOConfig(
            **base_args(
                max_steps=40,
                per_device_train_batch_size=8,
                learning_rate=3e-4,
                loss_type="ipo",
                beta=0.1,
                max_length=48,
                gradient_checkpointing=False,
                seed=43,
            )
        ),
        train_dataset=Dataset.from_list(pairs[:140]),
        eval_dataset=Dataset.from_list(pairs[140:]),
    )


# --------------------------------------------------------------------------------------------------------------
# ilm: GRPO, the number of strokes is named with one token


def ilm():
    set_seed(47)
    rng = random.Random(47)
    vocab = {
        w: i
        for i, w in enumerate(["<pad>", "<end>", "|", "-", "count"] + [str(i) for i in range(9)])
    }
    core = Tokenizer(models.WordLevel(vocab, unk_token="<pad>"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    core.add_special_tokens(["<pad>", "<end>"])
    tok = PreTrainedTokenizerFast(
        tokenizer_object=core, pad_token="<pad>", eos_token="<end>", padding_side="left"
    )

    def row():
        marks = [rng.choice("|-") for _ in range(8)]
        return {"prompt": " ".join(marks) + " count", "strokes": marks.count("|")}

    model = Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=len(vocab),
            hidden_size=48,
            intermediate_size=96,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=4,
            max_position_embeddings=32,
            pad_token_id=0,
            eos_token_id=1,
            bos_token_id=None,
            initializer_range=0.08,
        )
    )
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(60):
        rows = [row() for _ in range(32)]
        said = [min(8, max(0, r["strokes"] + rng.randint(-3, 3))) for r in rows]
        ids = tok([f"{r['prompt']} {n}" for r, n in zip(rows, said)], return_tensors="pt")[
            "input_ids"
        ]
        labels = torch.full_like(ids, -100)
        labels[:, -1] = ids[:, -1]
        model(input_ids=ids, labels=labels).loss.backward()
        opt.step()
        opt.zero_grad()

    def distance(completions, strokes, **kwargs):
        out = []
        for text, n in zip(completions, strokes):
            text = text.strip()
            out.append(-float(abs(int(text) - n)) if text.isdigit() else -8.0)
        return out

    return GRPOTrainer(
        model=model,
        reward_funcs=distance,
        processing_class=tok,
        args=GRPOConfig(
            **base_args(
                max_steps=60,
                per_device_train_batch_size=64,
                num_generations=16,
                max_completion_length=1,
                learning_rate=1e-3,
                loss_type="dr_grpo",
                scale_rewards="batch",
                gradient_checkpointing=False,
                seed=47,
            )
        ),
        train_dataset=Dataset.from_list([row() for _ in range(300)]),
    )


# --------------------------------------------------------------------------------------------------------------
# saale: KTO with few praised replies


def saale():
    set_seed(53)
    rng = random.Random(53)
    topics = "engine sail rudder anchor mast rope deck cabin".split()
    asks = ["explain the {t} to me", "what does the {t} do", "i need help with the {t}"]
    good = ["here is a short list of steps", "first look at the drawing below"]
    poor = ["well that depends", "hard to say from here", "ask somebody else"]
    texts = [a.format(t=t) for a in asks for t in topics]
    vocab_words = sorted({w for t in texts + good + poor for w in t.split()})
    vocab = {w: i for i, w in enumerate(["[pad]", "[eos]", "[ask]", "[say]"] + vocab_words)}
    core = Tokenizer(models.WordLevel(vocab, unk_token="[pad]"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    core.add_special_tokens(["[pad]", "[eos]", "[ask]", "[say]"])
    tok = PreTrainedTokenizerFast(tokenizer_object=core, pad_token="[pad]", eos_token="[eos]")
    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(vocab),
            n_positions=32,
            n_embd=48,
            n_layer=2,
            n_head=4,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            bos_token_id=1,
            eos_token_id=1,
            pad_token_id=0,
            initializer_range=0.06,
        )
    )
    opt = torch.optim.AdamW(model.parameters(), lr=4e-3)
    for _ in range(160):
        chunk = [
            f"[ask] {rng.choice(texts)} [say] {rng.choice(good + poor)} [eos]" for _ in range(24)
        ]
        ids = tok(chunk, padding=True, return_tensors="pt")["input_ids"]
        model(input_ids=ids, labels=ids.masked_fill(ids == 0, -100)).loss.backward()
        opt.step()
        opt.zero_grad()
    rows = []
    for i in range(300):
        praised = i % 5 == 0
        rows.append(
            {
                "prompt": f"[ask] {rng.choice(texts)} [say]",
                "completion": " " + rng.choice(good if praised else poor),
                "label": praised,
            }
        )
    rng.shuffle(rows)
    return KTOTrainer(
        model=model,
        ref_model=copy.deepcopy(model),
        processing_class=tok,
        train_dataset=Dataset.from_list(rows),
        args=KTOConfig(
            **base_args(
                max_steps=60,
                per_device_train_batch_size=10,
                learning_rate=2e-4,
                beta=0.1,
                desirable_weight=4.0,
                undesirable_weight=1.0,
                max_length=32,
                gradient_checkpointing=False,
                seed=53,
            )
        ),
    )


ODD = {"gera": gera, "ilm": ilm, "saale": saale}
