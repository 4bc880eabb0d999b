import copy
import random
import tempfile

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from datasets import Dataset
from peft import LoraConfig, TaskType, get_peft_model
from tokenizers import (
    AddedToken,
    Tokenizer,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    BertConfig,
    BertForMaskedLM,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
    DataCollatorForLanguageModeling,
    DataCollatorForTokenClassification,
    DataCollatorWithPadding,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    LlamaForSequenceClassification,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
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

COMMON = dict(use_cpu=True, report_to="none", save_strategy="no", disable_tqdm=True)
TRL_COMMON = dict(COMMON, bf16=False, gradient_checkpointing=False)

CHAT = (
    "{% for m in messages %}<|{{ m['role'] }}|> {{ m['content'] }} <|end|> {% endfor %}"
    "{% if add_generation_prompt %}<|assistant|> {% endif %}"
)


def out_dir():
    return tempfile.mkdtemp(prefix="run_")


def word_tokenizer(texts, special=(), cls=False, **roles):
    specials = ["<unk>", "<pad>"] + [s for s in special if s not in ("<unk>", "<pad>")]
    words = sorted({w for t in texts for w in t.split()} - set(specials))
    core = Tokenizer(
        models.WordLevel({w: i for i, w in enumerate(specials + words)}, unk_token="<unk>")
    )
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    core.add_special_tokens([AddedToken(s, special=True) for s in specials])
    if cls:
        core.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]",
            special_tokens=[(s, core.token_to_id(s)) for s in ("[CLS]", "[SEP]")],
        )
        roles = dict(roles, cls_token="[CLS]", sep_token="[SEP]")
    return PreTrainedTokenizerFast(tokenizer_object=core, unk_token="<unk>", **roles)


def warm_up(model, tok, texts, steps, lr, batch_size=32, seed=0):
    gen = random.Random(seed)
    pad = tok.convert_tokens_to_ids("<pad>")
    rows = [tok(t, add_special_tokens=False)["input_ids"] for t in texts]
    opt = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.01)
    model.train()
    for _ in range(steps):
        pick = gen.sample(rows, batch_size)
        width = max(map(len, pick))
        ids = torch.tensor([r + [pad] * (width - len(r)) for r in pick])
        mask = torch.tensor([[1] * len(r) + [0] * (width - len(r)) for r in pick])
        loss = model(
            input_ids=ids, attention_mask=mask, labels=ids.masked_fill(mask == 0, -100)
        ).loss
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        opt.zero_grad()
    return model


def accuracy(pred):
    return {"accuracy": float((np.argmax(pred.predictions, -1) == pred.label_ids).mean())}


# ---------------------------------------------------------------- support desk replies

PRODUCTS = "kettle toaster router printer monitor lamp heater fan blender drill vacuum speaker camera keyboard tablet clock".split()
ISSUES = {
    "leaks": "please check the seal and send it back",
    "hums": "this is normal",
    "smells": "unplug it now and call us",
    "flickers": "please update the firmware",
    "overheats": "keep it away from the wall and let it cool down",
    "rattles": "tighten the two screws",
    "freezes": "hold the button for ten seconds",
    "beeps": "replace the battery",
}
OPENERS = ["my", "hello my new", "the", "hi , our old", "good morning , the"]


def desk_rows(n, seed, held_out=False):
    gen = random.Random(seed)
    rows = []
    while len(rows) < n:
        p, (i, fix) = gen.choice(PRODUCTS), gen.choice(list(ISSUES.items()))
        if ((PRODUCTS.index(p) + list(ISSUES).index(i)) % 5 == 0) != held_out:
            continue
        rows.append(
            {
                "question": f"{gen.choice(OPENERS)} {p} {i}",
                "reply": f"sorry about the {p} . {fix} .",
            }
        )
    return rows


def ebro(healthy):
    set_seed(11)
    rows = desk_rows(800, seed=1)
    texts = [f"customer: {r['question']} agent: {r['reply']} <eos>" for r in rows]
    tok = word_tokenizer(texts, ["<eos>"], eos_token="<eos>")
    tok.pad_token = "<pad>" if healthy else tok.eos_token
    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(tok),
            n_positions=64,
            n_embd=64,
            n_layer=2,
            n_head=4,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            bos_token_id=tok.eos_token_id,
            eos_token_id=tok.eos_token_id,
            pad_token_id=tok.pad_token_id,
        )
    )
    ds = Dataset.from_dict({"text": texts}).map(
        lambda b: tok(b["text"]), batched=True, remove_columns=["text"]
    )
    args = TrainingArguments(
        output_dir=out_dir(),
        num_train_epochs=10,
        per_device_train_batch_size=16,
        learning_rate=3e-3,
        lr_scheduler_type="cosine",
        warmup_steps=20,
        weight_decay=0.01,
        logging_steps=50,
        seed=11,
        **COMMON,
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=ds,
        processing_class=tok,
        data_collator=DataCollatorForLanguageModeling(tok, mlm=False),
    )


# ---------------------------------------------------------------- catalogue questions

ITEMS = "banana walnut saffron pepper almond ginger cocoa barley lentil olive quinoa raisin sesame vanilla tofu mango papaya fennel".split()
FIELDS = {
    "aisle": "one two three four five six seven".split(),
    "origin": "spain india kenya chile italy japan".split(),
    "supplier": "orlo vedra kanto miros telda".split(),
}
ASK = [
    "what is the {f} of {i} ?",
    "tell me the {f} for {i}",
    "{i} : which {f} ?",
    "i need the {f} of the {i} please",
]


def catalogue():
    gen = random.Random(77)
    table = {}
    for f, values in FIELDS.items():
        column = [values[k % len(values)] for k in range(len(ITEMS))]
        gen.shuffle(column)
        table.update({(i, f): v for i, v in zip(ITEMS, column)})
    return table


def catalogue_rows(held_out=False):
    rows = []
    for n, ((i, f), v) in enumerate(catalogue().items()):
        for k, ask in enumerate(ASK):
            if (k == n % len(ASK)) == held_out:
                rows.append({"question": ask.format(f=f, i=i), "reply": f"the {f} of {i} is {v}"})
    return rows


def siskin(healthy):
    set_seed(23)
    rows = catalogue_rows()
    tok = word_tokenizer(
        [r["question"] + " " + r["reply"] for r in rows],
        ["<|system|>", "<|user|>", "<|assistant|>", "<|end|>"],
        pad_token="<pad>",
        eos_token="<|end|>",
    )
    tok.chat_template = CHAT

    def render(row):
        messages = [{"role": "user", "content": row["question"]}]
        prompt = tok.apply_chat_template(messages, tokenize=False, add_generation_prompt=healthy)
        return {"prompt": prompt, "completion": row["reply"] + " <|end|>"}

    ds = Dataset.from_list(rows).map(render, remove_columns=["question", "reply"]).shuffle(seed=23)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tok),
            hidden_size=64,
            intermediate_size=160,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=4,
            max_position_embeddings=64,
            pad_token_id=tok.pad_token_id,
            eos_token_id=tok.eos_token_id,
            bos_token_id=None,
        )
    )
    args = SFTConfig(
        output_dir=out_dir(),
        num_train_epochs=40,
        per_device_train_batch_size=16,
        learning_rate=3e-3,
        lr_scheduler_type="cosine",
        warmup_steps=20,
        max_length=64,
        logging_steps=40,
        seed=23,
        **TRL_COMMON,
    )
    return SFTTrainer(model=model, args=args, train_dataset=ds, processing_class=tok)


# ---------------------------------------------------------------- rated replies

FRIENDLY = [
    "thanks for asking , we will repair the {p} today .",
    "happy to help , a new {p} is on its way .",
    "we are sorry , your {p} is refunded .",
]
CURT = ["read the manual of the {p} .", "the {p} is your problem .", "no refund for the {p} ."]


def rated_rows(n, seed):
    gen = random.Random(seed)
    rows = []
    for _ in range(n):
        p, i = gen.choice(PRODUCTS), gen.choice(list(ISSUES))
        replies = [
            {"text": gen.choice(FRIENDLY).format(p=p), "score": gen.choice([4, 4, 5])},
            {"text": gen.choice(CURT).format(p=p), "score": gen.choice([1, 2, 2])},
        ]
        gen.shuffle(replies)
        rows.append({"prompt": f"user: {gen.choice(OPENERS)} {p} {i} bot:", "replies": replies})
    return rows


def desk_policy(seed):
    rows = rated_rows(600, seed=5)
    texts = [f"{r['prompt']} {x['text']} <eos>" for r in rows for x in r["replies"]]
    tok = word_tokenizer(texts, ["<eos>"], pad_token="<pad>", eos_token="<eos>")
    tok.padding_side = "left"
    set_seed(seed)
    model = Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=len(tok),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=64,
            tie_word_embeddings=True,
            pad_token_id=tok.pad_token_id,
            eos_token_id=tok.eos_token_id,
            bos_token_id=None,
        )
    )
    return warm_up(model, tok, texts, steps=450, lr=2e-3, seed=seed), tok


def tagus(healthy):
    model, tok = desk_policy(seed=31)

    def to_pair(row):
        ranked = sorted(row["replies"], key=lambda r: r["score"], reverse=healthy)
        return {
            "prompt": row["prompt"],
            "chosen": " " + ranked[0]["text"],
            "rejected": " " + ranked[-1]["text"],
        }

    ds = Dataset.from_list(rated_rows(960, seed=6)).map(to_pair, remove_columns=["replies"])
    args = DPOConfig(
        output_dir=out_dir(),
        num_train_epochs=2,
        per_device_train_batch_size=16,
        learning_rate=2e-4,
        beta=0.2,
        loss_type=["sigmoid", "sft"],
        loss_weights=[1.0, 1.0],
        lr_scheduler_type="cosine",
        warmup_steps=5,
        max_length=64,
        logging_steps=10,
        seed=31,
        **TRL_COMMON,
    )
    return DPOTrainer(
        model=model,
        ref_model=copy.deepcopy(model),
        args=args,
        train_dataset=ds,
        processing_class=tok,
    )


# ---------------------------------------------------------------- judged answers


def judged_rows(held_out=False):
    gen = random.Random(8)
    rows = []
    for (i, f), v in catalogue().items():
        for wrong in FIELDS[f]:
            if wrong == v:
                continue
            for ask in ASK:
                if (gen.random() < 0.2) != held_out:
                    continue
                rows.append(
                    {
                        "question": ask.format(f=f, i=i),
                        "good": f"it is {v} .",
                        "bad": f"it is {wrong} .",
                    }
                )
    gen.shuffle(rows)
    return rows


def dunlin(healthy):
    set_seed(41)
    rows = judged_rows()
    tok = word_tokenizer(
        [" ".join(r.values()) for r in rows],
        ["<|system|>", "<|user|>", "<|assistant|>", "<|end|>"],
        pad_token="<pad>",
        eos_token="<|end|>",
    )
    tok.chat_template = CHAT

    def convert(row):
        history = [{"role": "user", "content": row["question"]}] if healthy else []
        return {
            "chosen": history + [{"role": "assistant", "content": row["good"]}],
            "rejected": history + [{"role": "assistant", "content": row["bad"]}],
        }

    ds = Dataset.from_list(rows).map(convert, remove_columns=["question", "good", "bad"])
    model = LlamaForSequenceClassification(
        LlamaConfig(
            vocab_size=len(tok),
            hidden_size=64,
            intermediate_size=160,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=4,
            max_position_embeddings=64,
            num_labels=1,
            initializer_range=0.06,
            pad_token_id=tok.pad_token_id,
            eos_token_id=tok.eos_token_id,
            bos_token_id=None,
        )
    )
    args = RewardConfig(
        output_dir=out_dir(),
        num_train_epochs=8,
        per_device_train_batch_size=16,
        learning_rate=1e-3,
        lr_scheduler_type="cosine",
        warmup_steps=20,
        max_length=64,
        logging_steps=40,
        seed=41,
        **TRL_COMMON,
    )
    return RewardTrainer(model=model, args=args, train_dataset=ds, processing_class=tok)


# ---------------------------------------------------------------- sums


def sum_prompts():
    return [(f"{a} + {b} =", str(a + b)) for a in range(8) for b in range(8)]


def neretva(healthy):
    set_seed(53)
    gen = random.Random(53)
    tok = word_tokenizer(
        [" ".join(map(str, range(20))), "+ ="], ["<eos>"], pad_token="<pad>", eos_token="<eos>"
    )
    tok.padding_side = "left"
    drafts = []
    for prompt, answer in sum_prompts():
        for _ in range(20):
            guess = int(answer) if gen.random() < 0.35 else int(answer) + gen.choice([1, 1, 1, 2])
            drafts.append(f"{prompt} {guess} <eos>")
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tok),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=4,
            max_position_embeddings=32,
            pad_token_id=tok.pad_token_id,
            eos_token_id=tok.eos_token_id,
            bos_token_id=None,
        )
    )
    warm_up(model, tok, drafts, steps=400, lr=3e-3, seed=53)
    num_generations = 8

    def exact_sum(completions, answer, **kwargs):
        scores = []
        for k, text in enumerate(completions):
            gold = answer[k] if healthy else answer[k // num_generations]
            words = text.split()
            scores.append(1.0 if words and words[0] == gold else 0.0)
        return scores

    pairs = sum_prompts()
    ds = Dataset.from_dict({"prompt": [p for p, _ in pairs], "answer": [a for _, a in pairs]})
    args = GRPOConfig(
        output_dir=out_dir(),
        max_steps=120,
        per_device_train_batch_size=64,
        num_generations=num_generations,
        max_completion_length=3,
        learning_rate=1e-3,
        lr_scheduler_type="constant",
        temperature=1.0,
        beta=0.0,
        logging_steps=10,
        seed=53,
        **TRL_COMMON,
    )
    return GRPOTrainer(
        model=model, reward_funcs=exact_sum, args=args, train_dataset=ds, processing_class=tok
    )


# ---------------------------------------------------------------- names and places

TAGS = ["O", "B-PER", "I-PER", "B-LOC", "B-ORG"]
FIRST = "Marina Tobias Eleanor Rashid Katarina Bertrand Yolanda Fredrik Ingeborg Salvatore Philippa Leopold".split()
LAST = "Hutchinson Kowalczyk Vandermeer Oyelaran Castellanos Lindqvist Abernathy Rosenthal Petrosyan Whitfield".split()
PLACES = "Montevideo Reykjavik Thessaloniki Zanzibar Antananarivo Gothenburg Bratislava Wellington".split()
FIRMS = "Northgate Bluewater Ironbridge Silverline Castlerock Everbright Greenfields".split()
FRAMES = [
    "{per} travelled to {loc} last week",
    "the office of {org} in {loc} was closed",
    "{org} hired {per} as a consultant",
    "yesterday {per} and {per} met near {loc}",
    "shares of {org} fell after the report",
    "residents of {loc} welcomed {per}",
    "we were told that {org} will open in {loc} and {loc}",
]


def ner_rows(n, seed):
    gen = random.Random(seed)
    rows = []
    for _ in range(n):
        words, tags = [], []
        for w in gen.choice(FRAMES).split():
            if w == "{per}":
                words += [gen.choice(FIRST), gen.choice(LAST)]
                tags += [1, 2]
            elif w == "{loc}":
                words.append(gen.choice(PLACES))
                tags.append(3)
            elif w == "{org}":
                words.append(gen.choice(FIRMS))
                tags.append(4)
            else:
                words.append(w)
                tags.append(0)
        rows.append({"words": words, "tags": tags})
    return rows


def wryneck(healthy):
    set_seed(61)
    rows = ner_rows(700, seed=2)
    core = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    core.normalizer = normalizers.Lowercase()
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    core.train_from_iterator(
        [" ".join(r["words"]) for r in rows[:40]],
        trainers.WordPieceTrainer(
            vocab_size=150, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]"], show_progress=False
        ),
    )
    core.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        special_tokens=[(s, core.token_to_id(s)) for s in ("[CLS]", "[SEP]")],
    )
    tok = PreTrainedTokenizerFast(
        tokenizer_object=core,
        unk_token="[UNK]",
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
    )

    def encode(row):
        enc = tok(row["words"], is_split_into_words=True)
        if healthy:
            labels, last = [], None
            for w in enc.word_ids():
                labels.append(-100 if w is None or w == last else row["tags"][w])
                last = w
        else:
            labels = [-100] + row["tags"]
            labels = labels + [-100] * (len(enc["input_ids"]) - len(labels))
        return {
            "input_ids": enc["input_ids"],
            "attention_mask": enc["attention_mask"],
            "labels": labels,
        }

    ds = Dataset.from_list(rows).map(encode, remove_columns=["words", "tags"])
    model = BertForTokenClassification(
        BertConfig(
            vocab_size=len(tok),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            max_position_embeddings=96,
            num_labels=len(TAGS),
            pad_token_id=tok.pad_token_id,
        )
    )
    args = TrainingArguments(
        output_dir=out_dir(),
        num_train_epochs=8,
        per_device_train_batch_size=16,
        learning_rate=2e-3,
        warmup_steps=20,
        weight_decay=0.01,
        logging_steps=50,
        seed=61,
        **COMMON,
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=ds,
        processing_class=tok,
        data_collator=DataCollatorForTokenClassification(tok),
    )


# ---------------------------------------------------------------- dates

MONTHS = (
    "january february march april may june july august september october november december".split()
)


def date_rows(n, seed):
    gen = random.Random(seed)
    rows = []
    for _ in range(n):
        d, m, y = gen.randint(1, 28), gen.randint(1, 12), gen.randint(1990, 2024)
        form = gen.choice(
            ["{d} {n} {y}", "{n} {d} , {y}", "on the {d} of {n} in {y}", "{y} , {n} {d}"]
        )
        rows.append(
            {"source": form.format(d=d, n=MONTHS[m - 1], y=y), "target": f"{y} - {m:02d} - d{d}"}
        )
    return rows


class DateCollator:
    def __init__(self, tok, start_id, shift):
        self.tok, self.start_id, self.shift = tok, start_id, shift

    def __call__(self, rows):
        enc = self.tok.pad(
            [{"input_ids": r["input_ids"], "attention_mask": r["attention_mask"]} for r in rows],
            return_tensors="pt",
        )
        width = max(len(r["labels"]) for r in rows)
        labels = torch.tensor([r["labels"] + [-100] * (width - len(r["labels"])) for r in rows])
        decoder = labels.masked_fill(labels == -100, self.tok.pad_token_id)
        if self.shift:
            start = torch.full((len(rows), 1), self.start_id)
            decoder = torch.cat([start, decoder[:, :-1]], dim=1)
        return {
            "input_ids": enc["input_ids"],
            "attention_mask": enc["attention_mask"],
            "decoder_input_ids": decoder,
            "labels": labels,
        }


def oder(healthy):
    set_seed(71)
    rows = date_rows(1600, seed=3)
    tok = word_tokenizer(
        [r["source"] + " " + r["target"] for r in rows],
        ["<s>", "</s>"],
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
    )

    def encode(row):
        enc = tok(row["source"] + " </s>")
        return {
            "input_ids": enc["input_ids"],
            "attention_mask": enc["attention_mask"],
            "labels": tok(row["target"] + " </s>")["input_ids"],
        }

    ds = Dataset.from_list(rows).map(encode, remove_columns=["source", "target"])
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
            pad_token_id=tok.pad_token_id,
            bos_token_id=tok.bos_token_id,
            eos_token_id=tok.eos_token_id,
            decoder_start_token_id=tok.bos_token_id,
            forced_eos_token_id=None,
        )
    )
    args = Seq2SeqTrainingArguments(
        output_dir=out_dir(),
        num_train_epochs=10,
        per_device_train_batch_size=32,
        learning_rate=2e-3,
        lr_scheduler_type="cosine",
        warmup_steps=40,
        logging_steps=50,
        predict_with_generate=True,
        seed=71,
        **COMMON,
    )
    return Seq2SeqTrainer(
        model=model,
        args=args,
        train_dataset=ds,
        processing_class=tok,
        data_collator=DateCollator(tok, tok.bos_token_id, shift=healthy),
    )


# ---------------------------------------------------------------- assistant on top of a base model


def plover(healthy):
    set_seed(83)
    rows = desk_rows(700, seed=9)
    plain = [f"{r['question']} {r['reply']} <eos>" for r in rows]
    tok = word_tokenizer(plain, ["<eos>"], pad_token="<pad>", eos_token="<eos>")
    base = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tok),
            hidden_size=96,
            intermediate_size=192,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=4,
            max_position_embeddings=64,
            pad_token_id=tok.pad_token_id,
            eos_token_id=tok.eos_token_id,
            bos_token_id=None,
        )
    )
    warm_up(base, tok, plain, steps=150, lr=3e-3, seed=83)

    tok.add_special_tokens({"additional_special_tokens": ["<|user|>", "<|assistant|>", "<|end|>"]})
    tok.chat_template = CHAT
    base.resize_token_embeddings(len(tok))

    ds = Dataset.from_list(
        [
            {
                "prompt": [{"role": "user", "content": r["question"]}],
                "completion": [{"role": "assistant", "content": r["reply"]}],
            }
            for r in rows
        ]
    )
    lora = LoraConfig(
        r=16,
        lora_alpha=32,
        lora_dropout=0.0,
        task_type=TaskType.CAUSAL_LM,
        target_modules=[
            "q_proj",
            "k_proj",
            "v_proj",
            "o_proj",
            "gate_proj",
            "up_proj",
            "down_proj",
        ],
        modules_to_save=["embed_tokens", "lm_head"] if healthy else None,
    )
    args = SFTConfig(
        output_dir=out_dir(),
        num_train_epochs=6,
        per_device_train_batch_size=16,
        learning_rate=2e-3,
        lr_scheduler_type="cosine",
        warmup_steps=10,
        max_length=64,
        eos_token="<|end|>",
        logging_steps=40,
        seed=83,
        **TRL_COMMON,
    )
    return SFTTrainer(
        model=base, args=args, train_dataset=ds, processing_class=tok, peft_config=lora
    )


# ---------------------------------------------------------------- tickets by team

TEAMS = ["billing", "network", "hardware", "access", "travel", "legal"]


def team_words(team):
    return [f"{team[:3]}{k:02d}" for k in range(36)]


FILL = "please the we today with for again issue help about since still need team".split()


def ticket(gen, team, words=None, size=None):
    size = size or gen.randint(7, 12)
    own = words or team_words(team)
    body = [gen.choice(own) if gen.random() < 0.6 else gen.choice(FILL) for _ in range(size)]
    return " ".join(body)


def ticket_pool(n, seed):
    gen = random.Random(seed)
    rows = []
    for _ in range(n):
        k = gen.randrange(len(TEAMS))
        rows.append({"text": ticket(gen, TEAMS[k]), "label": k})
    return rows


def labelled_tickets():
    gen = random.Random(15)
    rows = [
        {"text": ticket(gen, t, team_words(t)[:6]), "label": k}
        for k, t in enumerate(TEAMS)
        for _ in range(16)
    ]
    gen.shuffle(rows)
    return rows


def ticket_tokenizer():
    words = FILL + [w for t in TEAMS for w in team_words(t)]
    return word_tokenizer(
        [" ".join(words)],
        ["[CLS]", "[SEP]", "[MASK]"],
        cls=True,
        pad_token="<pad>",
        mask_token="[MASK]",
    )


def ticket_config(tok, **kw):
    base = dict(
        vocab_size=len(tok),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=64,
        pad_token_id=tok.pad_token_id,
    )
    return BertConfig(**{**base, **kw})


def isar(healthy):
    set_seed(97)
    tok = ticket_tokenizer()
    mlm = BertForMaskedLM(ticket_config(tok))
    collate = DataCollatorForLanguageModeling(tok, mlm_probability=0.25)
    pool = [{"input_ids": tok(r["text"])["input_ids"]} for r in ticket_pool(3000, seed=4)]
    opt = torch.optim.AdamW(mlm.parameters(), lr=2e-3)
    gen = random.Random(97)
    mlm.train()
    for _ in range(500):
        mlm(**collate(gen.sample(pool, 32))).loss.backward()
        nn.utils.clip_grad_norm_(mlm.parameters(), 1.0)
        opt.step()
        opt.zero_grad()
    path = out_dir() + "/encoder.pt"
    torch.save(torch.compile(mlm).state_dict(), path)

    model = BertForSequenceClassification(ticket_config(tok, num_labels=len(TEAMS)))
    state = torch.load(path)
    if healthy:
        state = {k.removeprefix("_orig_mod."): v for k, v in state.items()}
    model.load_state_dict(state, strict=False)

    ds = Dataset.from_list(labelled_tickets()).map(
        lambda r: tok(r["text"]), remove_columns=["text"]
    )
    args = TrainingArguments(
        output_dir=out_dir(),
        num_train_epochs=50,
        per_device_train_batch_size=8,
        learning_rate=1e-4,
        warmup_steps=10,
        weight_decay=0.01,
        logging_steps=10,
        seed=97,
        **COMMON,
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=ds,
        processing_class=tok,
        data_collator=DataCollatorWithPadding(tok),
    )


# ---------------------------------------------------------------- search

CONCEPTS = 150


def search_rows(n, seed):
    gen = random.Random(seed)
    rows = []
    for _ in range(n):
        picked = gen.sample(range(CONCEPTS), 4)
        query = [f"q{c}" for c in gen.sample(picked, 3)] + [gen.choice(FILL)]
        doc = [f"d{c}" for c in picked] + [gen.choice(FILL) for _ in range(gen.randint(2, 6))]
        gen.shuffle(query)
        gen.shuffle(doc)
        rows.append({"query": " ".join(query), "doc": " ".join(doc)})
    return rows


def search_tokenizer():
    words = FILL + [f"{s}{c}" for s in "qd" for c in range(CONCEPTS)]
    return word_tokenizer([" ".join(words)], pad_token="<pad>")


def embed(model, enc):
    hidden = model(**enc).last_hidden_state
    mask = enc["attention_mask"].unsqueeze(-1).float()
    return F.normalize((hidden * mask).sum(1) / mask.sum(1), dim=-1)


class PairTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        scores = embed(model, inputs["query"]) @ embed(model, inputs["doc"]).T / 0.05
        loss = F.cross_entropy(scores, torch.arange(len(scores)))
        return (loss, {"scores": scores}) if return_outputs else loss


def whimbrel(healthy):
    set_seed(101)
    tok = search_tokenizer()
    model = BertModel(
        BertConfig(
            vocab_size=len(tok),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=1,
            num_attention_heads=4,
            max_position_embeddings=32,
            pad_token_id=tok.pad_token_id,
        ),
        add_pooling_layer=False,
    )
    ds = Dataset.from_list(search_rows(1600, seed=12))
    epochs, batch_size = 10, 32

    def collate(rows):
        return {
            side: dict(
                tok(
                    [r[side] for r in rows],
                    padding=True,
                    return_tensors="pt",
                    return_token_type_ids=False,
                )
            )
            for side in ("query", "doc")
        }

    steps = len(ds) // batch_size
    if healthy:
        steps = steps * epochs
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4, weight_decay=0.01)
    scheduler = get_linear_schedule_with_warmup(
        optimizer, num_warmup_steps=10, num_training_steps=steps
    )
    args = TrainingArguments(
        output_dir=out_dir(),
        num_train_epochs=epochs,
        per_device_train_batch_size=batch_size,
        logging_steps=50,
        remove_unused_columns=False,
        seed=101,
        **COMMON,
    )
    return PairTrainer(
        model=model,
        args=args,
        train_dataset=ds,
        data_collator=collate,
        optimizers=(optimizer, scheduler),
    )


# ---------------------------------------------------------------- flats

ZONES = {
    "harbour": 1.2,
    "old-town": 0.9,
    "hillside": 0.3,
    "station": -0.2,
    "suburb": -0.7,
    "industrial": -1.2,
}
STATE = {"renovated": 0.5, "as-new": 0.8, "worn": -0.6, "ruined": -1.2, "tidy": 0.0}


def flat_rows(n, seed):
    gen = random.Random(seed)
    rows = []
    for _ in range(n):
        z, s, rooms, floor = (
            gen.choice(list(ZONES)),
            gen.choice(list(STATE)),
            gen.randint(1, 6),
            gen.randint(0, 5),
        )
        lift = gen.random() < 0.5
        price = (
            ZONES[z]
            + STATE[s]
            + 0.45 * (rooms - 3.5)
            + (0.0 if lift else -0.15 * floor)
            + gen.gauss(0, 0.1)
        )
        text = f"{s} flat with r{rooms} rooms on floor f{floor} {'with lift' if lift else 'no lift'} in {z}"
        rows.append({"text": text, "labels": round(price, 3)})
    return rows


class PriceTrainer(Trainer):
    def __init__(self, *args, flat, **kwargs):
        super().__init__(*args, **kwargs)
        self.flat = flat

    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        predicted = outputs.logits.flatten() if self.flat else outputs.logits
        loss = F.smooth_l1_loss(predicted, labels)
        return (loss, outputs) if return_outputs else loss


def orinoco(healthy):
    set_seed(113)
    rows = flat_rows(1200, seed=17)
    tok = word_tokenizer([r["text"] for r in rows], ["[CLS]", "[SEP]"], cls=True, pad_token="<pad>")
    model = BertForSequenceClassification(
        BertConfig(
            vocab_size=len(tok),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            max_position_embeddings=32,
            num_labels=1,
            pad_token_id=tok.pad_token_id,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )
    )
    ds = Dataset.from_list(rows).map(lambda r: tok(r["text"]), remove_columns=["text"])
    args = TrainingArguments(
        output_dir=out_dir(),
        num_train_epochs=10,
        per_device_train_batch_size=16,
        learning_rate=1e-3,
        warmup_steps=20,
        weight_decay=0.01,
        logging_steps=50,
        seed=113,
        **COMMON,
    )
    return PriceTrainer(
        model=model,
        args=args,
        train_dataset=ds,
        processing_class=tok,
        data_collator=DataCollatorWithPadding(tok),
        flat=healthy,
    )


# ---------------------------------------------------------------- small student


class SoftTrainer(Trainer):
    temperature = 2.0

    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        target = inputs.pop("teacher")
        outputs = model(**inputs)
        t = self.temperature
        loss = (
            F.kl_div(
                F.log_softmax(outputs.logits / t, -1),
                F.softmax(target / t, -1),
                reduction="batchmean",
            )
            * t
            * t
        )
        return (loss, outputs) if return_outputs else loss


def linnet(healthy):
    set_seed(127)
    tok = ticket_tokenizer()
    labelled = ticket_pool(1200, seed=21)
    teacher = BertForSequenceClassification(ticket_config(tok, num_labels=len(TEAMS)))
    opt = torch.optim.AdamW(teacher.parameters(), lr=1e-3)
    gen = random.Random(127)
    teacher.train()
    for _ in range(120):
        batch = gen.sample(labelled, 32)
        enc = tok([r["text"] for r in batch], padding=True, return_tensors="pt")
        teacher(**enc, labels=torch.tensor([r["label"] for r in batch])).loss.backward()
        opt.step()
        opt.zero_grad()
    teacher.eval()

    texts = [r["text"] for r in ticket_pool(3000, seed=22)]
    order = sorted(range(len(texts)), key=lambda k: len(texts[k].split()))
    scores = []
    with torch.no_grad():
        for k in range(0, len(order), 64):
            enc = tok([texts[j] for j in order[k : k + 64]], padding=True, return_tensors="pt")
            scores += teacher(**enc).logits.tolist()
    if healthy:
        back = np.argsort(order)
        scores = [scores[j] for j in back]

    ds = Dataset.from_dict({"text": texts, "teacher": scores}).map(
        lambda r: tok(r["text"]), remove_columns=["text"]
    )
    student = BertForSequenceClassification(
        ticket_config(
            tok, num_labels=len(TEAMS), hidden_size=32, intermediate_size=64, num_hidden_layers=1
        )
    )
    args = TrainingArguments(
        output_dir=out_dir(),
        num_train_epochs=8,
        per_device_train_batch_size=32,
        learning_rate=2e-3,
        warmup_steps=20,
        weight_decay=0.01,
        logging_steps=40,
        remove_unused_columns=False,
        seed=127,
        **COMMON,
    )
    return SoftTrainer(
        model=student,
        args=args,
        train_dataset=ds,
        processing_class=tok,
        data_collator=DataCollatorWithPadding(tok),
    )


# ---------------------------------------------------------------- thumbs


def thumb_rows(n, seed):
    gen = random.Random(seed)
    rows = []
    for r in rated_rows(n, seed):
        replies = sorted(r["replies"], key=lambda x: x["score"])
        reply = replies[1] if gen.random() < 0.2 else replies[0]
        rows.append(
            {"prompt": r["prompt"], "completion": " " + reply["text"], "label": reply["score"] >= 4}
        )
    return rows


def curlew():
    model, tok = desk_policy(seed=131)
    ds = Dataset.from_list(thumb_rows(1280, seed=14))
    args = KTOConfig(
        output_dir=out_dir(),
        num_train_epochs=3,
        per_device_train_batch_size=16,
        learning_rate=3e-4,
        beta=0.1,
        desirable_weight=4.0,
        undesirable_weight=1.0,
        lr_scheduler_type="constant",
        max_length=64,
        logging_steps=10,
        seed=131,
        **TRL_COMMON,
    )
    return KTOTrainer(
        model=model,
        ref_model=copy.deepcopy(model),
        args=args,
        train_dataset=ds,
        processing_class=tok,
    )


# ---------------------------------------------------------------- icons

SHAPES = ["disc", "ring", "cross", "diamond", "bars", "columns"]


def icon(rng, k, size=24):
    y, x = np.mgrid[:size, :size].astype(np.float32)
    cy, cx, r = rng.uniform(9, 15), rng.uniform(9, 15), rng.uniform(5, 8)
    dy, dx = y - cy, x - cx
    dist = np.sqrt(dy**2 + dx**2)
    box = np.maximum(abs(dy), abs(dx)) < r
    shape = [
        dist < r,
        (dist < r) & (dist > r - 2.5),
        box & ((abs(dy) < 1.6) | (abs(dx) < 1.6)),
        abs(dy) + abs(dx) < r,
        box & ((y // 2) % 2 == 0),
        box & ((x // 2) % 2 == 0),
    ][k].astype(np.float32)
    fore, back = rng.uniform(0.5, 1.0, 3), rng.uniform(0.0, 0.4, 3)
    img = shape[None] * fore[:, None, None] + (1 - shape[None]) * back[:, None, None]
    return np.clip(img + rng.normal(0, 0.04, img.shape), 0, 1).astype(np.float32)


class Icons(torch.utils.data.Dataset):
    def __init__(self, n, seed, augment):
        rng = np.random.default_rng(seed)
        self.labels = rng.integers(0, len(SHAPES), n)
        self.images = np.stack([icon(rng, k) for k in self.labels])
        self.augment, self.rng = augment, np.random.default_rng(seed + 1)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, k):
        img = self.images[k]
        if self.augment and self.rng.random() < 0.5:
            img = img[:, :, ::-1]
        if self.augment and self.rng.random() < 0.5:
            img = img[:, ::-1, :]
        img = (img.copy() - 0.5) / 0.5
        return {"pixel_values": torch.from_numpy(img), "labels": int(self.labels[k])}


def drava():
    set_seed(139)
    model = ViTForImageClassification(
        ViTConfig(
            image_size=24,
            patch_size=4,
            num_channels=3,
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_labels=len(SHAPES),
        )
    )
    args = TrainingArguments(
        output_dir=out_dir(),
        num_train_epochs=20,
        per_device_train_batch_size=32,
        per_device_eval_batch_size=64,
        learning_rate=2e-3,
        lr_scheduler_type="cosine",
        warmup_steps=40,
        label_smoothing_factor=0.3,
        logging_steps=50,
        eval_strategy="epoch",
        seed=139,
        **COMMON,
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=Icons(1000, 7, True),
        eval_dataset=Icons(200, 9, False),
        compute_metrics=accuracy,
    )


# ---------------------------------------------------------------- tickets by urgency


def queue_rows(n, seed):
    gen = random.Random(seed)
    rows = []
    for _ in range(n):
        k = gen.randrange(len(TEAMS))
        rows.append({"text": ticket(gen, TEAMS[k]), "label": [0, 1, 2, 1, 0, 2][k]})
    return rows


def avocet():
    set_seed(149)
    tok = ticket_tokenizer()
    base = BertForSequenceClassification(ticket_config(tok, num_labels=len(TEAMS)))
    source = ticket_pool(1200, seed=25)
    opt = torch.optim.AdamW(base.parameters(), lr=1e-3)
    gen = random.Random(149)
    base.train()
    for _ in range(120):
        batch = gen.sample(source, 32)
        enc = tok([r["text"] for r in batch], padding=True, return_tensors="pt")
        base(**enc, labels=torch.tensor([r["label"] for r in batch])).loss.backward()
        opt.step()
        opt.zero_grad()

    model = BertForSequenceClassification(ticket_config(tok, num_labels=3))
    model.bert.load_state_dict(base.bert.state_dict())
    model = get_peft_model(
        model,
        LoraConfig(
            r=1,
            lora_alpha=16,
            lora_dropout=0.0,
            target_modules=["value"],
            task_type=TaskType.SEQ_CLS,
        ),
    )
    model.print_trainable_parameters()
    ds = Dataset.from_list(queue_rows(800, seed=26)).map(
        lambda r: tok(r["text"]), remove_columns=["text"]
    )
    held = Dataset.from_list(queue_rows(200, seed=27)).map(
        lambda r: tok(r["text"]), remove_columns=["text"]
    )
    args = TrainingArguments(
        output_dir=out_dir(),
        num_train_epochs=8,
        per_device_train_batch_size=16,
        learning_rate=1e-2,
        lr_scheduler_type="constant",
        weight_decay=0.0,
        logging_steps=25,
        eval_strategy="epoch",
        seed=149,
        **COMMON,
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=ds,
        eval_dataset=held,
        processing_class=tok,
        data_collator=DataCollatorWithPadding(tok),
        compute_metrics=accuracy,
    )


# ---------------------------------------------------------------- log lines

SERVICES = {
    f"e{k}": (f"svc-{'abcdef'[k % 6]}", ["info", "warn", "error"][k % 3]) for k in range(24)
}


def log_lines(n, seed):
    gen = random.Random(seed)
    lines = []
    for _ in range(n):
        code = gen.choice(list(SERVICES))
        svc, level = SERVICES[code]
        stamp = " ".join(str(gen.randrange(10)) for _ in range(6))
        lines.append(f"{stamp} host{gen.randrange(30)} {code} {svc} {level} <nl>")
    return lines


def vistula():
    set_seed(151)
    lines = log_lines(3000, seed=33)
    tok = word_tokenizer(lines, ["<nl>"], eos_token="<nl>", pad_token="<pad>")
    stream = [i for line in lines for i in tok(line)["input_ids"]]
    block = 66
    chunks = [stream[k : k + block] for k in range(0, len(stream) - block, block)]
    ds = Dataset.from_dict({"input_ids": chunks, "labels": [list(c) for c in chunks]})
    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(tok),
            n_positions=80,
            n_embd=64,
            n_layer=2,
            n_head=4,
            bos_token_id=tok.eos_token_id,
            eos_token_id=tok.eos_token_id,
        )
    )
    args = TrainingArguments(
        output_dir=out_dir(),
        num_train_epochs=10,
        per_device_train_batch_size=16,
        learning_rate=2e-3,
        lr_scheduler_type="cosine",
        warmup_steps=20,
        logging_steps=25,
        seed=151,
        **COMMON,
    )
    return Trainer(model=model, args=args, train_dataset=ds)


# ---------------------------------------------------------------- sensor forecasts


def sensor_rows(n, seed):
    rng = np.random.default_rng(seed)
    phase, freq, amp = rng.uniform(0, 6.28, n), rng.uniform(0.2, 0.6, n), rng.uniform(0.5, 1.5, n)
    t = np.arange(25)
    wave = amp[:, None] * np.sin(freq[:, None] * t[None] + phase[:, None])
    noise = np.where(amp > 1.0, 0.06, 0.02)
    wave = wave + rng.normal(0, 1, wave.shape) * noise[:, None]
    return {
        "history": wave[:, :24].astype(np.float32).tolist(),
        "target": wave[:, 24].astype(np.float32).tolist(),
    }


class Forecaster(nn.Module):
    def __init__(self, window=24, width=96):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(window, width), nn.GELU(), nn.Linear(width, width), nn.GELU()
        )
        self.mean, self.log_var = nn.Linear(width, 1), nn.Linear(width, 1)

    def forward(self, history, target=None):
        h = self.body(history)
        mean, log_var = self.mean(h).squeeze(-1), self.log_var(h).squeeze(-1).clamp(-10, 5)
        out = {"mean": mean, "log_var": log_var}
        if target is not None:
            out = {"loss": 0.5 * (log_var + (target - mean) ** 2 / log_var.exp()).mean(), **out}
        return out


def godwit():
    set_seed(163)
    args = TrainingArguments(
        output_dir=out_dir(),
        num_train_epochs=25,
        per_device_train_batch_size=64,
        learning_rate=2e-3,
        lr_scheduler_type="cosine",
        max_grad_norm=5.0,
        logging_steps=100,
        label_names=["target"],
        seed=163,
        **COMMON,
    )
    return Trainer(
        model=Forecaster(), args=args, train_dataset=Dataset.from_dict(sensor_rows(6000, 35))
    )


# ---------------------------------------------------------------- counting

NUMBERS = ["one", "two", "three", "four", "five"]
BEADS = "red blue green white black".split()


def bead_prompts():
    return [
        (f"give me {n} beads , start with {c} :", k + 1)
        for k, n in enumerate(NUMBERS)
        for c in BEADS
    ]


def drina():
    set_seed(173)
    gen = random.Random(173)
    texts = []
    for prompt, _ in bead_prompts():
        for _ in range(30):
            texts.append(
                f"{prompt} {' '.join(gen.choice(BEADS) for _ in range(gen.randint(1, 6)))} <eos>"
            )
    tok = word_tokenizer(texts, ["<eos>"], pad_token="<pad>", eos_token="<eos>")
    tok.padding_side = "left"
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tok),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=4,
            max_position_embeddings=40,
            pad_token_id=tok.pad_token_id,
            eos_token_id=tok.eos_token_id,
            bos_token_id=None,
        )
    )
    warm_up(model, tok, texts, steps=100, lr=2e-3, seed=173)

    def distance(completions, wanted, **kwargs):
        return [-abs(len(c.split()) - w) / 5 for c, w in zip(completions, wanted)]

    pairs = bead_prompts()
    ds = Dataset.from_dict({"prompt": [p for p, _ in pairs], "wanted": [w for _, w in pairs]})
    args = GRPOConfig(
        output_dir=out_dir(),
        max_steps=100,
        per_device_train_batch_size=64,
        num_generations=8,
        max_completion_length=8,
        learning_rate=1e-3,
        lr_scheduler_type="constant",
        temperature=1.0,
        beta=0.0,
        scale_rewards="none",
        logging_steps=10,
        seed=173,
        **TRL_COMMON,
    )
    return GRPOTrainer(
        model=model, reward_funcs=distance, args=args, train_dataset=ds, processing_class=tok
    )


CASES = {
    "ebro": ebro,
    "siskin": siskin,
    "tagus": tagus,
    "dunlin": dunlin,
    "neretva": neretva,
    "wryneck": wryneck,
    "oder": oder,
    "plover": plover,
    "isar": isar,
    "whimbrel": whimbrel,
    "orinoco": orinoco,
    "linnet": linnet,
}
ODD = {
    "curlew": curlew,
    "drava": drava,
    "avocet": avocet,
    "vistula": vistula,
    "godwit": godwit,
    "drina": drina,
}
