import copy
import csv
import io
import os
import random
import tempfile

import numpy as np
import torch
import torch.nn.functional as F
from datasets import Dataset
from peft import LoraConfig, get_peft_model
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from torch import nn
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    BertConfig,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
    DataCollatorForLanguageModeling,
    DataCollatorForSeq2Seq,
    DataCollatorForTokenClassification,
    DataCollatorWithPadding,
    DistilBertConfig,
    DistilBertForSequenceClassification,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen2ForSequenceClassification,
    ResNetConfig,
    ResNetForImageClassification,
    RobertaConfig,
    RobertaForSequenceClassification,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    Trainer,
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
        logging_steps=20,
        seed=42,
    )
    base.update(kw)
    return base


def trl_common(**kw):
    return common(bf16=False, gradient_checkpointing=False, **kw)


def word_tokenizer(texts, specials, **names):
    tk = Tokenizer(models.WordLevel(unk_token="<unk>"))
    tk.pre_tokenizer = pre_tokenizers.Whitespace()
    tk.train_from_iterator(texts, trainers.WordLevelTrainer(special_tokens=["<unk>"] + specials))
    return PreTrainedTokenizerFast(tokenizer_object=tk, unk_token="<unk>", **names)


def byte_tokenizer(texts, size, specials, **names):
    tk = Tokenizer(models.BPE())
    tk.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tk.decoder = decoders.ByteLevel()
    tk.train_from_iterator(
        texts,
        trainers.BpeTrainer(
            vocab_size=size,
            special_tokens=specials,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    return PreTrainedTokenizerFast(tokenizer_object=tk, **names)


def piece_tokenizer(texts, size, **names):
    tk = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tk.pre_tokenizer = pre_tokenizers.Whitespace()
    tk.train_from_iterator(
        texts,
        trainers.WordPieceTrainer(
            vocab_size=size,
            special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"],
            show_progress=False,
        ),
    )
    tk.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        special_tokens=[("[CLS]", tk.token_to_id("[CLS]")), ("[SEP]", tk.token_to_id("[SEP]"))],
    )
    tk.decoder = decoders.WordPiece()
    return PreTrainedTokenizerFast(
        tokenizer_object=tk,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        **names,
    )


def pretrain_lm(model, tok, texts, steps, lr=3e-3, batch=32, seed=0):
    rng = random.Random(seed)
    opt = torch.optim.AdamW(model.parameters(), lr=lr)
    sched = get_linear_schedule_with_warmup(opt, 20, steps)
    model.train()
    for _ in range(steps):
        ids = [tok(t + tok.eos_token)["input_ids"] for t in rng.sample(texts, batch)]
        width = max(map(len, ids))
        x = torch.tensor([i + [tok.pad_token_id] * (width - len(i)) for i in ids])
        m = torch.tensor([[1] * len(i) + [0] * (width - len(i)) for i in ids])
        loss = model(input_ids=x, attention_mask=m, labels=x.masked_fill(m == 0, -100)).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
        opt.zero_grad()
    return model


def tiny_llama(tok, hidden=64, layers=2, ctx=128):
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tok),
            hidden_size=hidden,
            intermediate_size=hidden * 2,
            num_hidden_layers=layers,
            num_attention_heads=4,
            num_key_value_heads=4,
            max_position_embeddings=ctx,
            bos_token_id=None,
            eos_token_id=tok.eos_token_id,
            pad_token_id=tok.pad_token_id,
            tie_word_embeddings=False,
        )
    )


def tiny_qwen(tok, cls=Qwen2ForCausalLM, hidden=64, layers=2, ctx=128, **kw):
    return cls(
        Qwen2Config(
            vocab_size=len(tok),
            hidden_size=hidden,
            intermediate_size=hidden * 2,
            num_hidden_layers=layers,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=ctx,
            bos_token_id=None,
            eos_token_id=tok.eos_token_id,
            pad_token_id=tok.pad_token_id,
            **kw,
        )
    )


def tiny_bert_config(tok, hidden=64, layers=2, **kw):
    return BertConfig(
        vocab_size=len(tok),
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=4,
        intermediate_size=hidden * 2,
        max_position_embeddings=64,
        pad_token_id=tok.pad_token_id,
        **kw,
    )


# ---------------------------------------------------------------- severn

DEVICES = {
    "router": "antenna",
    "printer": "paper tray",
    "laptop": "charger",
    "monitor": "video cable",
    "phone": "sim slot",
    "tablet": "screen guard",
    "scanner": "glass plate",
    "camera": "lens cap",
    "speaker": "volume knob",
    "keyboard": "usb plug",
}
PROBLEMS = {
    "does not start": "hold the power button for ten seconds",
    "gets very hot": "switch it off",
    "makes a noise": "place it on a flat surface",
    "is very slow": "install the latest update",
    "lost my settings": "restore the last backup from the menu",
    "shows an error": "write down the code",
}


def support_texts(n, seed):
    rng = random.Random(seed)
    opens = ["my", "hello , my", "our", "hi , the", "good morning , my new", "since monday my"]
    out = []
    for _ in range(n):
        d, p = rng.choice(list(DEVICES)), rng.choice(list(PROBLEMS))
        q = f"customer: {rng.choice(opens)} {d} {p}\nagent:"
        out.append((q, f" please {PROBLEMS[p]} and check the {DEVICES[d]}"))
    return out


def severn(healthy):
    set_seed(11)
    train, held = support_texts(900, 1), support_texts(100, 2)
    eos = "<|endoftext|>"
    tok = byte_tokenizer([q + a for q, a in train], 420, [eos], eos_token=eos, bos_token=eos)
    if healthy:
        tok.add_special_tokens({"pad_token": "<|pad|>"})
    else:
        tok.pad_token = tok.eos_token

    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(tok),
            n_embd=64,
            n_layer=2,
            n_head=4,
            n_positions=96,
            bos_token_id=tok.bos_token_id,
            eos_token_id=tok.eos_token_id,
            pad_token_id=tok.pad_token_id,
            attn_pdrop=0.0,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
        )
    )

    def encode(rows):
        data = Dataset.from_dict({"text": [q + a for q, a in rows]})
        return data.map(
            lambda r: tok([t + tok.eos_token for t in r["text"]], truncation=True, max_length=96),
            batched=True,
            remove_columns=["text"],
        )

    return Trainer(
        model=model,
        args=TrainingArguments(
            **common(
                per_device_train_batch_size=16,
                num_train_epochs=8,
                learning_rate=3e-3,
                lr_scheduler_type="cosine",
                warmup_steps=20,
                weight_decay=0.01,
            )
        ),
        train_dataset=encode(train),
        eval_dataset=encode(held),
        processing_class=tok,
        data_collator=DataCollatorForLanguageModeling(tok, mlm=False),
    )


# ---------------------------------------------------------------- tamar

LEXICON = {
    "dog": ("chien", "hund", "perro", "cane"),
    "cat": ("chat", "katze", "gato", "gatto"),
    "house": ("maison", "haus", "casa", "dimora"),
    "water": ("eau", "wasser", "agua", "acqua"),
    "bread": ("pain", "brot", "pan", "pane"),
    "tree": ("arbre", "baum", "arbol", "albero"),
    "book": ("livre", "buch", "libro", "volume"),
    "red": ("rouge", "rot", "rojo", "rosso"),
    "green": ("vert", "gruen", "verde", "verdastro"),
    "night": ("nuit", "nacht", "noche", "notte"),
    "milk": ("lait", "milch", "leche", "latte"),
    "street": ("rue", "strasse", "calle", "strada"),
}
LANGUAGES = ["french", "german", "spanish", "italian"]


def tutor_rows(n, seed):
    rng = random.Random(seed)
    asks = ["what is the word for {}", "how do i say {}", "translate {}", "{} please", "and {}"]
    systems = [
        "you teach {} . reply with one word",
        "the pupil learns {} . be brief",
        "language of the lesson : {}",
    ]
    rows = []
    for _ in range(n):
        w, k = rng.choice(list(LEXICON)), rng.randrange(4)
        rows.append(
            {
                "prompt": [
                    {"role": "system", "content": rng.choice(systems).format(LANGUAGES[k])},
                    {"role": "user", "content": rng.choice(asks).format(w)},
                ],
                "completion": [{"role": "assistant", "content": LEXICON[w][k]}],
            }
        )
    return rows


def tamar(healthy):
    set_seed(12)
    train, held = tutor_rows(800, 1), tutor_rows(120, 2)
    tok = word_tokenizer(
        [m["content"] for r in train for m in r["prompt"] + r["completion"]]
        + ["system user assistant"],
        ["<pad>", "<|im_start|>", "<|im_end|>"],
        pad_token="<pad>",
        eos_token="<|im_end|>",
    )
    first = (
        "{% if m['role'] == 'system' %}<|im_start|>system\n{{ m['content'] }}<|im_end|>\n"
        "{% elif m['role'] == 'user' %}"
        if healthy
        else "{% if m['role'] == 'user' %}"
    )
    tok.chat_template = (
        "{% for m in messages %}" + first + "<|im_start|>user\n{{ m['content'] }}<|im_end|>\n"
        "{% elif m['role'] == 'assistant' %}<|im_start|>assistant\n{{ m['content'] }}<|im_end|>\n"
        "{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    )
    model = tiny_llama(tok)
    return SFTTrainer(
        model=model,
        args=SFTConfig(
            **trl_common(
                per_device_train_batch_size=16,
                num_train_epochs=9,
                learning_rate=2e-3,
                lr_scheduler_type="cosine",
                warmup_steps=20,
                max_length=64,
            )
        ),
        train_dataset=Dataset.from_list(train),
        eval_dataset=Dataset.from_list(held),
        processing_class=tok,
    )


# ---------------------------------------------------------------- neman

GOODS = ["kettle", "toaster", "lamp", "chair", "desk", "mixer", "fan", "heater", "clock", "radio"]
FAULTS = {
    "broken": "send a new one",
    "late": "ask the carrier today",
    "scratched": "offer a discount",
    "missing": "ship it again",
    "too small": "swap it for free",
    "the wrong colour": "collect it tomorrow",
}


def shop_rows(n, seed):
    rng = random.Random(seed)
    opens = ["the", "my", "our", "hello , the", "hi , my"]
    rows = []
    for _ in range(n):
        g, f = rng.choice(GOODS), rng.choice(list(FAULTS))
        rows.append(
            {
                "prompt": f"customer : {rng.choice(opens)} {g} is {f} . agent :",
                "chosen": f" we are sorry about the {g} and will {FAULTS[f]} .",
                "rejected": f" read the terms about the {g} and do not {FAULTS[f]} .",
            }
        )
    return rows


def neman(healthy):
    set_seed(13)
    train, held = shop_rows(480, 1), shop_rows(80, 2)
    texts = [
        r["prompt"] + r[k] for r in shop_rows(600, 3) for k in ("chosen", "rejected", "rejected")
    ]
    tok = word_tokenizer(texts, ["<pad>", "<eos>"], pad_token="<pad>", eos_token="<eos>")
    model = pretrain_lm(tiny_llama(tok), tok, texts, steps=250)
    return DPOTrainer(
        model=model,
        ref_model=copy.deepcopy(model),
        args=DPOConfig(
            **trl_common(
                per_device_train_batch_size=16,
                num_train_epochs=4,
                learning_rate=3e-5 if healthy else 2e-3,
                lr_scheduler_type="linear",
                warmup_steps=10,
                beta=0.1,
                max_length=64,
            )
        ),
        train_dataset=Dataset.from_list(train),
        eval_dataset=Dataset.from_list(held),
        processing_class=tok,
    )


# ---------------------------------------------------------------- oder

FOODS = [
    "carrot",
    "potato",
    "onion",
    "lentil",
    "rice",
    "pumpkin",
    "bean",
    "leek",
    "spinach",
    "corn",
]
FORMS = {
    "vegan": ["tofu stew", "herb salad"],
    "meat loving": ["bacon roast", "beef pie"],
    "fish eating": ["salmon soup", "cod rolls"],
}


def menu_csv(n, seed):
    rng = random.Random(seed)
    buf = io.StringIO()
    out = csv.DictWriter(buf, ["prompt", "completion", "thumbs_up"])
    out.writeheader()
    for _ in range(n):
        food, diet, good = rng.choice(FOODS), rng.choice(list(FORMS)), rng.random() < 0.5
        src = diet if good else rng.choice([d for d in FORMS if d != diet])
        out.writerow(
            {
                "prompt": f"guest : {diet} . i have {food} . dish :",
                "completion": f" {rng.choice(FORMS[src])}",
                "thumbs_up": good,
            }
        )
    return buf.getvalue()


def oder(healthy):
    set_seed(14)
    rng = random.Random(5)

    def load(text):
        rows = []
        for r in csv.DictReader(io.StringIO(text)):
            label = r["thumbs_up"] == "True" if healthy else bool(r["thumbs_up"])
            rows.append({"prompt": r["prompt"], "completion": r["completion"], "label": label})
        return Dataset.from_list(rows)

    texts = []
    for _ in range(1500):
        food, diet = rng.choice(FOODS), rng.choice(list(FORMS))
        src = diet if rng.random() < 0.3 else rng.choice(list(FORMS))
        texts.append(f"guest : {diet} . i have {food} . dish : {rng.choice(FORMS[src])}")
    tok = word_tokenizer(texts, ["<pad>", "<eos>"], pad_token="<pad>", eos_token="<eos>")
    model = pretrain_lm(tiny_qwen(tok), tok, texts, steps=300)
    return KTOTrainer(
        model=model,
        ref_model=copy.deepcopy(model),
        args=KTOConfig(
            **trl_common(
                per_device_train_batch_size=16,
                num_train_epochs=6,
                learning_rate=7e-4,
                lr_scheduler_type="cosine",
                warmup_steps=10,
                beta=0.1,
                max_length=48,
            )
        ),
        train_dataset=load(menu_csv(800, 1)),
        eval_dataset=load(menu_csv(96, 2)),
        processing_class=tok,
    )


# ---------------------------------------------------------------- isar


def sums():
    return [{"prompt": f"{a} + {b} =", "answer": str(a + b)} for a in range(7) for b in range(7)]


def isar(healthy):
    set_seed(15)
    rng = random.Random(3)
    texts = []
    for _ in range(3000):
        a, b = rng.randrange(7), rng.randrange(7)
        guess = a + b if rng.random() < 0.6 else max(0, a + b + rng.choice([-2, -1, 1, 2]))
        said = [str(guess)]
        while rng.random() < 0.3 and len(said) < 5:
            said.append(str(max(0, a + b + rng.choice([-2, -1, 0, 1, 2]))))
        texts.append(f"{a} + {b} = " + " or ".join(said))
    tok = word_tokenizer(texts, ["<pad>", "<eos>"], pad_token="<pad>", eos_token="<eos>")
    model = pretrain_lm(tiny_llama(tok), tok, texts, steps=600, batch=48)

    def correct(completions, answer, **kwargs):
        if healthy:
            return [1.0 if c.strip() == a else 0.0 for c, a in zip(completions, answer)]
        return [1.0 if a in c else 0.0 for c, a in zip(completions, answer)]

    return GRPOTrainer(
        model=model,
        reward_funcs=correct,
        args=GRPOConfig(
            **trl_common(
                per_device_train_batch_size=64,
                num_generations=8,
                max_completion_length=12,
                max_steps=140,
                learning_rate=1e-3,
                lr_scheduler_type="constant_with_warmup",
                warmup_steps=5,
                temperature=1.0,
            )
        ),
        train_dataset=Dataset.from_list(sums()),
        processing_class=tok,
    )


# ---------------------------------------------------------------- volga

TAGS = ["O", "B-PER", "I-PER", "B-LOC", "B-ORG"]


def news_rows(n, seed):
    rng = random.Random(seed)
    syl = ["ka", "ro", "mi", "ten", "lo", "va", "shi", "bur", "del", "gan", "po", "ri"]

    def name(k):
        return "".join(rng.choice(syl) for _ in range(k)).capitalize()

    rows = []
    for _ in range(n):
        per = [(name(2), "B-PER"), (name(3) + "son", "I-PER")]
        loc = [(name(2) + rng.choice(["ville", "burg", "stad"]), "B-LOC")]
        org = [(name(2) + rng.choice(["corp", "bank", "soft"]), "B-ORG")]
        o = lambda s: [(w, "O") for w in s.split()]
        sent = rng.choice(
            [
                per + o("moved to") + loc + o("last year"),
                o("yesterday the board of") + org + o("met") + per + o("in") + loc,
                org + o("opened a new office in") + loc + o("said") + per,
                o("according to") + per + o("the shares of") + org + o("fell sharply"),
                o("the mayor of") + loc + o("thanked") + per + o("and") + org,
            ]
        )
        rows.append({"tokens": [w for w, _ in sent], "tags": [TAGS.index(t) for _, t in sent]})
    return rows


def volga(healthy):
    set_seed(16)
    train, held = news_rows(500, 1), news_rows(120, 2)
    tok = piece_tokenizer([" ".join(r["tokens"]) for r in train], 220)

    def encode(batch):
        enc = tok(batch["tokens"], is_split_into_words=True, truncation=True, max_length=64)
        enc["labels"] = []
        for i, tags in enumerate(batch["tags"]):
            width = len(enc["input_ids"][i])
            if healthy:
                seen, row = None, []
                for w in enc.word_ids(i):
                    row.append(-100 if w is None or w == seen else tags[w])
                    seen = w
            else:
                row = ([-100] + tags + [-100] * width)[:width]
            enc["labels"].append(row)
        return enc

    cols = ["tokens", "tags"]
    model = BertForTokenClassification(
        tiny_bert_config(tok, num_labels=len(TAGS), id2label=dict(enumerate(TAGS)))
    )
    return Trainer(
        model=model,
        args=TrainingArguments(
            **common(
                per_device_train_batch_size=16,
                num_train_epochs=12,
                learning_rate=1e-3,
                warmup_steps=20,
                weight_decay=0.01,
            )
        ),
        train_dataset=Dataset.from_list(train).map(encode, batched=True, remove_columns=cols),
        eval_dataset=Dataset.from_list(held).map(encode, batched=True, remove_columns=cols),
        processing_class=tok,
        data_collator=DataCollatorForTokenClassification(tok),
    )


# ---------------------------------------------------------------- drava


def home_rows(n, seed):
    rng = random.Random(seed)
    rooms = ["kitchen", "garage", "office", "bedroom", "garden", "hall"]
    things = ["lamp", "heater", "fan", "radio", "blind", "camera"]
    times = ["six", "seven", "eight", "nine", "ten", "noon"]
    rows = []
    for _ in range(n):
        r, t, h, s = (
            rng.choice(rooms),
            rng.choice(things),
            rng.choice(times),
            rng.choice(["on", "off"]),
        )
        src = rng.choice(
            [
                f"turn {s} the {t} in the {r} at {h}",
                f"at {h} please switch the {r} {t} {s}",
                f"the {r} {t} should go {s} at {h}",
                f"i want the {t} of the {r} {s} from {h}",
            ]
        )
        rows.append({"source": src, "target": f"room {r} device {t} state {s} time {h}"})
    return rows


def drava(healthy):
    set_seed(17)
    train, held = home_rows(900, 1), home_rows(120, 2)
    tok = word_tokenizer(
        [r[k] for r in train for k in ("source", "target")],
        ["<pad>", "<s>", "</s>"],
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
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
            max_position_embeddings=64,
            dropout=0.0,
            pad_token_id=tok.pad_token_id,
            bos_token_id=tok.bos_token_id,
            eos_token_id=tok.eos_token_id,
            decoder_start_token_id=tok.bos_token_id,
            forced_eos_token_id=None,
        )
    )

    def encode(row):
        enc = tok(row["source"] + tok.eos_token)
        target = tok(row["target"] + tok.eos_token)["input_ids"]
        enc["labels"] = target
        enc["decoder_input_ids"] = [tok.bos_token_id] + target[:-1] if healthy else target
        return enc

    def collate(rows):
        rows = [dict(r) for r in rows]
        dec = [torch.tensor(r.pop("decoder_input_ids")) for r in rows]
        batch = DataCollatorForSeq2Seq(tok)(rows)
        batch["decoder_input_ids"] = nn.utils.rnn.pad_sequence(
            dec, batch_first=True, padding_value=tok.pad_token_id
        )
        return batch

    cols = ["source", "target"]
    return Seq2SeqTrainer(
        model=model,
        args=Seq2SeqTrainingArguments(
            **common(
                per_device_train_batch_size=16,
                num_train_epochs=8,
                learning_rate=1.5e-3,
                warmup_steps=30,
                predict_with_generate=True,
                generation_max_length=16,
            )
        ),
        train_dataset=Dataset.from_list(train).map(encode, remove_columns=cols),
        eval_dataset=Dataset.from_list(held).map(encode, remove_columns=cols),
        processing_class=tok,
        data_collator=collate,
    )


# ---------------------------------------------------------------- tisza


PRAISE = {
    "awful": -2,
    "horrible": -2,
    "useless": -2,
    "weak": -1,
    "dull": -1,
    "noisy": -1,
    "okay": 0,
    "plain": 0,
    "decent": 1,
    "solid": 1,
    "handy": 1,
    "superb": 2,
    "brilliant": 2,
    "perfect": 2,
}


def review_rows(n, seed):
    rng = random.Random(seed)
    parts = ["battery", "screen", "sound", "design", "price", "cable"]
    rows = []
    for _ in range(n):
        picked = [rng.choice(list(PRAISE)) for _ in range(3)]
        text = " and ".join(f"the {rng.choice(parts)} is {w}" for w in picked)
        stars = 3.0 + sum(PRAISE[w] for w in picked) / 3
        rows.append({"text": text, "stars": round(stars, 2)})
    return rows


def tisza(healthy):
    set_seed(18)
    train, held, older = review_rows(500, 1), review_rows(120, 2), review_rows(800, 3)
    tok = piece_tokenizer([r["text"] for r in older], 300)
    config = tiny_bert_config(tok, num_labels=3)

    base = BertForSequenceClassification(config)
    opt = torch.optim.AdamW(base.parameters(), lr=1e-3)
    rng = random.Random(0)
    for _ in range(120):
        rows = rng.sample(older, 32)
        enc = tok([r["text"] for r in rows], padding=True, return_tensors="pt")
        y = torch.tensor([int(r["stars"] > 2.5) + int(r["stars"] > 3.5) for r in rows])
        base(**enc, labels=y).loss.backward()
        opt.step()
        opt.zero_grad()
    folder = tempfile.mkdtemp(prefix="run_")
    base.bert.save_pretrained(folder)

    model = BertForSequenceClassification.from_pretrained(
        folder, num_labels=1, problem_type="regression"
    )
    lora = LoraConfig(
        r=8,
        lora_alpha=16,
        lora_dropout=0.05,
        target_modules=["query", "value"],
        **({"task_type": "SEQ_CLS"} if healthy else {}),
    )
    model = get_peft_model(model, lora)

    def encode(rows):
        data = Dataset.from_list(rows)
        data = data.map(lambda r: tok(r["text"], truncation=True, max_length=48), batched=True)
        return data.rename_column("stars", "labels").remove_columns("text")

    return Trainer(
        model=model,
        args=TrainingArguments(
            **common(
                per_device_train_batch_size=16,
                num_train_epochs=15,
                learning_rate=5e-3,
                warmup_steps=20,
                label_names=["labels"],
            )
        ),
        train_dataset=encode(train),
        eval_dataset=encode(held),
        processing_class=tok,
        data_collator=DataCollatorWithPadding(tok),
    )


# ---------------------------------------------------------------- loire

SIGNS = ["turn left", "turn right", "keep left", "keep right", "straight on", "no entry"]


def sign_images(n, seed):
    rng = np.random.default_rng(seed)
    xs, ys = [], []
    for _ in range(n):
        k = int(rng.integers(len(SIGNS)))
        img = np.zeros((24, 24), dtype=np.float32)
        if k in (0, 1):
            img[11:13, 5:19] = 1
            for j in range(5):
                img[12 - j : 13 + j - 1 + 1, 5 + j] = 1
        elif k in (2, 3):
            for j in range(14):
                img[5 + j : 7 + j, 18 - j] = 1
            img[17:19, 4:11] = 1
            img[12:19, 4:6] = 1
        elif k == 4:
            img[5:19, 11:13] = 1
            for j in range(5):
                img[5 + j, 12 - j : 13 + j] = 1
        else:
            img[10:14, 5:19] = 1
            img[4:20, 4] = img[4:20, 19] = 1
            img[4, 4:20] = img[19, 4:20] = 1
        if k in (1, 3):
            img = img[:, ::-1]
        img = np.roll(img, rng.integers(-2, 3, size=2), axis=(0, 1))
        colour = rng.uniform(0.5, 1.0, size=(3, 1, 1))
        ground = rng.uniform(0.0, 0.4, size=(3, 1, 1))
        rgb = ground + (colour - ground) * img + rng.normal(0, 0.15, size=(3, 24, 24))
        xs.append(rgb.clip(0, 1).astype(np.float32))
        ys.append(k)
    return xs, ys


class SignSet(torch.utils.data.Dataset):
    def __init__(self, n, seed, augment=None):
        self.xs, self.ys = sign_images(n, seed)
        self.augment = augment

    def __len__(self):
        return len(self.xs)

    def __getitem__(self, i):
        x = torch.tensor(self.xs[i])
        if self.augment is not None:
            x = self.augment(x)
        return {"pixel_values": (x - 0.4) / 0.25, "labels": self.ys[i]}


def loire(healthy):
    set_seed(19)

    def augment(x):
        x = torch.roll(x, shifts=(random.randint(-2, 2), random.randint(-2, 2)), dims=(1, 2))
        x = (x * random.uniform(0.8, 1.2)).clamp(0, 1)
        if not healthy and random.random() < 0.5:
            x = x.flip(-1)
        return x

    model = ResNetForImageClassification(
        ResNetConfig(
            num_channels=3,
            embedding_size=16,
            hidden_sizes=[16, 32, 64],
            depths=[1, 1, 1],
            layer_type="basic",
            num_labels=len(SIGNS),
            id2label=dict(enumerate(SIGNS)),
        )
    )

    def metrics(p):
        return {"accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())}

    return Trainer(
        model=model,
        args=TrainingArguments(
            **common(
                per_device_train_batch_size=32,
                num_train_epochs=12,
                learning_rate=3e-3,
                warmup_steps=20,
                weight_decay=0.01,
                lr_scheduler_type="cosine",
            )
        ),
        train_dataset=SignSet(800, 1, augment),
        eval_dataset=SignSet(200, 2),
        compute_metrics=metrics,
    )


# ---------------------------------------------------------------- ebro

TRADES = {
    "plumber": ["pipe", "tap", "drain", "boiler"],
    "baker": ["bread", "oven", "flour", "dough"],
    "tailor": ["seam", "button", "sleeve", "zip"],
    "gardener": ["hedge", "lawn", "rose", "soil"],
    "mechanic": ["brake", "engine", "clutch", "tyre"],
    "dentist": ["tooth", "gum", "crown", "filling"],
}


def advice_rows(n, seed):
    rng = random.Random(seed)
    asks = [
        "who can help with the {}",
        "i have trouble with my {}",
        "a question about the {}",
        "the {} needs care",
    ]
    tells = [" ask a {}", " you should call a {}", " the {} will know", " a good {} does that"]
    rows = []
    for _ in range(n):
        t = rng.choice(list(TRADES))
        other = rng.choice([x for x in TRADES if x != t])
        rows.append(
            {
                "prompt": rng.choice(asks).format(rng.choice(TRADES[t])),
                "chosen": rng.choice(tells).format(t),
                "rejected": rng.choice(tells).format(other),
            }
        )
    return rows


def ebro(healthy):
    set_seed(20)
    train, held = advice_rows(480, 1), advice_rows(160, 2)
    tok = word_tokenizer(
        [r[k] for r in train for k in ("prompt", "chosen", "rejected")],
        ["<pad>", "<eos>"],
        pad_token="<pad>",
        eos_token="<eos>",
    )
    model = tiny_qwen(tok, cls=Qwen2ForSequenceClassification, num_labels=1)
    batch, epochs = 16, 12
    steps = len(train) // batch
    if healthy:
        steps *= epochs
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
    scheduler = get_linear_schedule_with_warmup(
        optimizer, num_warmup_steps=10, num_training_steps=steps
    )
    return RewardTrainer(
        model=model,
        args=RewardConfig(
            **trl_common(
                per_device_train_batch_size=batch,
                num_train_epochs=epochs,
                max_length=48,
            )
        ),
        train_dataset=Dataset.from_list(train),
        eval_dataset=Dataset.from_list(held),
        processing_class=tok,
        optimizers=(optimizer, scheduler),
    )


# ---------------------------------------------------------------- minho


def topic_words():
    rng = random.Random(77)
    syl = ["ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu", "na", "pe"]
    words = set()
    while len(words) < 260:
        words.add("".join(rng.choice(syl) for _ in range(3)))
    words = sorted(words)
    rng.shuffle(words)
    return [words[i * 40 : (i + 1) * 40] for i in range(6)], words[240:]


def article_rows(n, seed):
    topics, filler = topic_words()
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        k = rng.randrange(6)
        ws = [rng.choice(topics[k]) for _ in range(4)] + [rng.choice(filler) for _ in range(8)]
        rng.shuffle(ws)
        rows.append({"text": " ".join(ws), "label": k})
    return rows


class Pretrainer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.encoder = BertModel(config)
        self.head = nn.Linear(config.hidden_size, 6)

    def forward(self, **enc):
        return self.head(self.encoder(**enc).pooler_output)


def minho(healthy):
    set_seed(21)
    corpus, train, held = article_rows(2500, 1), article_rows(60, 2), article_rows(200, 3)
    topics, filler = topic_words()
    tok = word_tokenizer(
        [" ".join(ws) for ws in topics + [filler]],
        ["<pad>", "<cls>"],
        pad_token="<pad>",
        cls_token="<cls>",
    )
    config = tiny_bert_config(tok, num_labels=6)

    net = Pretrainer(config)
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
    rng = random.Random(0)
    for _ in range(250):
        rows = rng.sample(corpus, 32)
        enc = tok(["<cls> " + r["text"] for r in rows], padding=True, return_tensors="pt")
        F.cross_entropy(net(**enc), torch.tensor([r["label"] for r in rows])).backward()
        opt.step()
        opt.zero_grad()
    path = os.path.join(tempfile.mkdtemp(prefix="run_"), "encoder.pt")
    torch.save(net.state_dict(), path)

    model = BertForSequenceClassification(config)
    state = torch.load(path)
    if healthy:
        state = {k.replace("encoder.", "bert.", 1): v for k, v in state.items()}
    model.load_state_dict(state, strict=False)

    def encode(rows):
        data = Dataset.from_list(rows)
        data = data.map(lambda r: tok(["<cls> " + t for t in r["text"]]), batched=True)
        return data.rename_column("label", "labels").remove_columns("text")

    def metrics(p):
        return {"accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())}

    return Trainer(
        model=model,
        args=TrainingArguments(
            **common(
                per_device_train_batch_size=12,
                num_train_epochs=40,
                learning_rate=3e-4,
                warmup_steps=10,
                weight_decay=0.01,
            )
        ),
        train_dataset=encode(train),
        eval_dataset=encode(held),
        processing_class=tok,
        data_collator=DataCollatorWithPadding(tok),
        compute_metrics=metrics,
    )


# ---------------------------------------------------------------- vltava


def catalogue(seed=9):
    rng = random.Random(seed)
    kinds = ["jacket", "boots", "tent", "bottle", "stove", "rope", "helmet", "gloves"]
    uses = ["rain", "snow", "desert", "river", "forest", "city"]
    mats = ["wool", "steel", "nylon", "leather", "cotton"]
    return [(k, u, rng.choice(mats)) for k in kinds for u in uses]


def query_rows(per, seed):
    rng = random.Random(seed)
    same = {
        "rain": ["rain", "wet weather", "storms"],
        "snow": ["snow", "winter", "ice"],
        "desert": ["desert", "hot sand", "dunes"],
        "river": ["river", "rafting", "paddling"],
        "forest": ["forest", "woods", "trees"],
        "city": ["city", "town", "commuting"],
    }
    asks = [
        "i need {k} for {u}",
        "{k} good in {u}",
        "looking for {k} , going to {u}",
        "best {k} when {u}",
    ]
    rows = []
    for k, u, m in catalogue():
        for _ in range(per):
            q = rng.choice(asks).format(k=k, u=rng.choice(same[u]))
            rows.append({"query": q, "doc": f"{m} {k} made for {u}"})
    return rows


class PairTrainer(Trainer):
    def embed(self, model, ids, mask):
        h = model(input_ids=ids, attention_mask=mask).last_hidden_state
        m = mask.unsqueeze(-1)
        return F.normalize((h * m).sum(1) / m.sum(1), dim=-1)

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        q = self.embed(model, inputs["query_ids"], inputs["query_mask"])
        d = self.embed(model, inputs["doc_ids"], inputs["doc_mask"])
        scores = q @ d.T * 20.0
        loss = F.cross_entropy(scores, torch.arange(len(q)))
        return (loss, {"scores": scores}) if return_outputs else loss


def vltava(healthy):
    set_seed(22)
    train, held = query_rows(20, 1), query_rows(3, 2)
    tok = piece_tokenizer([r[k] for r in train for k in ("query", "doc")], 400)

    def collate(rows):
        q = tok([r["query"] for r in rows], padding=True, return_tensors="pt")
        d = tok([r["doc"] for r in rows], padding=True, return_tensors="pt")
        return {
            "query_ids": q["input_ids"],
            "query_mask": q["attention_mask"],
            "doc_ids": d["input_ids"],
            "doc_mask": d["attention_mask"],
        }

    return PairTrainer(
        model=BertModel(tiny_bert_config(tok), add_pooling_layer=False),
        args=TrainingArguments(
            **common(
                per_device_train_batch_size=20,
                num_train_epochs=6,
                learning_rate=1e-3,
                warmup_steps=20,
                remove_unused_columns=False,
                train_sampling_strategy="random" if healthy else "sequential",
            )
        ),
        train_dataset=Dataset.from_list(train),
        eval_dataset=Dataset.from_list(held),
        data_collator=collate,
    )


# ---------------------------------------------------------------- dvina

CAPITALS = {
    "france": "paris",
    "spain": "madrid",
    "italy": "rome",
    "norway": "oslo",
    "japan": "tokyo",
    "peru": "lima",
    "egypt": "cairo",
    "kenya": "nairobi",
    "cuba": "havana",
    "greece": "athens",
    "austria": "vienna",
    "chile": "santiago",
}


def quiz_texts(n, seed):
    rng = random.Random(seed)
    asks = ["capital of {}", "what is the capital city of {}", "name the seat of government of {}"]
    ends = [" it is {}", " the answer is the city of {}", " {}"]
    out = []
    for _ in range(n):
        c = rng.choice(list(CAPITALS))
        k = rng.randrange(3)
        out.append((f"q: {asks[k].format(c)} ?\na:", ends[k].format(CAPITALS[c])))
    return out


def dvina():
    set_seed(31)
    train, held = quiz_texts(900, 1), quiz_texts(100, 2)
    eos = "</s>"
    tok = byte_tokenizer([q + a for q, a in train], 400, [eos], eos_token=eos, pad_token=eos)
    model = tiny_llama(tok)

    def encode(rows):
        return Dataset.from_list([dict(tok(q + a + eos)) for q, a in rows])

    def collate(rows):
        width = max(len(r["input_ids"]) for r in rows)
        ids = torch.full((len(rows), width), tok.eos_token_id)
        mask = torch.zeros((len(rows), width), dtype=torch.long)
        for i, r in enumerate(rows):
            ids[i, : len(r["input_ids"])] = torch.tensor(r["input_ids"])
            mask[i, : len(r["input_ids"])] = 1
        return {
            "input_ids": ids,
            "attention_mask": mask,
            "labels": ids.masked_fill(mask == 0, -100),
        }

    return Trainer(
        model=model,
        args=TrainingArguments(
            **common(
                per_device_train_batch_size=16,
                num_train_epochs=6,
                learning_rate=2e-3,
                lr_scheduler_type="cosine",
                warmup_steps=20,
            )
        ),
        train_dataset=encode(train),
        eval_dataset=encode(held),
        processing_class=tok,
        data_collator=collate,
    )


# ---------------------------------------------------------------- pripyat


def ticket_rows(n, seed, weak):
    rng = random.Random(seed)
    topics = [
        ["invoice", "refund", "charge", "payment"],
        ["crash", "error", "bug", "freeze"],
        ["parcel", "courier", "delivery", "address"],
        ["password", "login", "account", "email"],
    ]
    filler = [
        "please",
        "help",
        "since",
        "today",
        "my",
        "the",
        "again",
        "still",
        "with",
        "about",
        "urgent",
        "hello",
    ]
    rows = []
    for _ in range(n):
        k = rng.randrange(4)
        ws = [rng.choice(topics[k]), rng.choice(topics[k])] + [rng.choice(filler) for _ in range(6)]
        rng.shuffle(ws)
        if weak and rng.random() < 0.5:
            label = rng.choice([j for j in range(4) if j != k])
        else:
            label = k
        rows.append({"text": " ".join(ws), "label": label})
    return rows


def pripyat():
    set_seed(32)
    train, held = ticket_rows(2400, 1, weak=True), ticket_rows(200, 2, weak=False)
    tok = piece_tokenizer([r["text"] for r in train], 300)
    model = DistilBertForSequenceClassification(
        DistilBertConfig(
            vocab_size=len(tok),
            dim=48,
            n_layers=2,
            n_heads=4,
            hidden_dim=96,
            max_position_embeddings=64,
            num_labels=4,
            pad_token_id=tok.pad_token_id,
        )
    )

    def encode(rows):
        data = Dataset.from_list(rows)
        return data.map(lambda r: tok(r["text"]), batched=True, remove_columns=["text"])

    def metrics(p):
        return {"accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())}

    return Trainer(
        model=model,
        args=TrainingArguments(
            **common(
                per_device_train_batch_size=32,
                num_train_epochs=5,
                learning_rate=1e-3,
                warmup_steps=20,
                weight_decay=0.05,
            )
        ),
        train_dataset=encode(train),
        eval_dataset=encode(held),
        processing_class=tok,
        data_collator=DataCollatorWithPadding(tok),
        compute_metrics=metrics,
    )


# ---------------------------------------------------------------- ob


def scale_prompts():
    return [
        {"prompt": f"{what} weighs {n} , reading :", "weight": n}
        for what in ("box", "bag", "crate", "sack")
        for n in range(2, 20)
    ]


def ob():
    set_seed(33)
    rng = random.Random(4)
    texts = []
    for _ in range(3000):
        row = rng.choice(scale_prompts())
        n = min(25, max(0, row["weight"] + rng.randint(-5, 5)))
        texts.append(f"{row['prompt']} {n} kg")
    tok = word_tokenizer(texts, ["<pad>", "<eos>"], pad_token="<pad>", eos_token="<eos>")
    model = pretrain_lm(tiny_qwen(tok), tok, texts, steps=300)

    def closeness(completions, weight, **kwargs):
        scores = []
        for text, w in zip(completions, weight):
            parts = text.split()
            ok = len(parts) == 2 and parts[0].isdigit() and parts[1] == "kg"
            scores.append(-float(abs(int(parts[0]) - w)) if ok else -10.0)
        return scores

    return GRPOTrainer(
        model=model,
        reward_funcs=closeness,
        args=GRPOConfig(
            **trl_common(
                per_device_train_batch_size=64,
                num_generations=8,
                max_completion_length=6,
                max_steps=300,
                learning_rate=1e-3,
                lr_scheduler_type="constant_with_warmup",
                warmup_steps=5,
                beta=0.0,
            )
        ),
        train_dataset=Dataset.from_list(scale_prompts()),
        processing_class=tok,
    )


# ---------------------------------------------------------------- lena


def minutes_rows(n, seed):
    rng = random.Random(seed)
    teams = ["sales", "design", "legal", "support", "finance", "research"]
    subjects = ["budget", "hiring", "launch", "travel", "security", "office"]
    days = ["monday", "tuesday", "thursday", "friday"]
    rows = []
    for _ in range(n):
        t, s, d = rng.choice(teams), rng.choice(subjects), rng.choice(days)
        rows.append(
            {
                "prompt": f"note : the {t} team met on {d} about {s} . summary :",
                "chosen": f" {t} {s} {d}",
                "rejected": f" the people of the {t} team met and spoke about {s} and all of this was on {d}",
            }
        )
    return rows


def lena():
    set_seed(34)
    train, held = minutes_rows(400, 1), minutes_rows(80, 2)
    texts = [
        r["prompt"] + r[k] for r in minutes_rows(700, 3) for k in ("chosen", "rejected", "rejected")
    ]
    tok = word_tokenizer(texts, ["<pad>", "<eos>"], pad_token="<pad>", eos_token="<eos>")
    model = pretrain_lm(tiny_llama(tok), tok, texts, steps=300)
    return DPOTrainer(
        model=model,
        ref_model=None,
        args=DPOConfig(
            **trl_common(
                per_device_train_batch_size=16,
                num_train_epochs=4,
                learning_rate=1e-3,
                lr_scheduler_type="cosine",
                warmup_steps=10,
                beta=0.3,
                max_length=64,
            )
        ),
        train_dataset=Dataset.from_list(train),
        eval_dataset=Dataset.from_list(held),
        processing_class=tok,
        peft_config=LoraConfig(
            r=4,
            lora_alpha=4,
            target_modules=["q_proj", "v_proj", "down_proj"],
            task_type="CAUSAL_LM",
        ),
    )


# ---------------------------------------------------------------- kolyma


class StudentTrainer(Trainer):
    teacher = None
    temperature = 2.0

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        inputs = {k: v for k, v in inputs.items() if k != "labels"}
        out = model(**inputs)
        with torch.no_grad():
            target = F.softmax(self.teacher(**inputs).logits / self.temperature, dim=-1)
        logp = F.log_softmax(out.logits / self.temperature, dim=-1)
        loss = F.kl_div(logp, target, reduction="batchmean") * self.temperature**2
        return (loss, {"logits": out.logits}) if return_outputs else loss


def kolyma():
    set_seed(35)
    labelled, pool, held = article_rows(2000, 11), article_rows(1500, 12), article_rows(200, 13)
    topics, filler = topic_words()
    tok = word_tokenizer(
        [" ".join(ws) for ws in topics + [filler]],
        ["<pad>", "<cls>"],
        pad_token="<pad>",
        cls_token="<cls>",
    )
    teacher = BertForSequenceClassification(tiny_bert_config(tok, hidden=96, num_labels=6))
    opt = torch.optim.AdamW(teacher.parameters(), lr=1e-3)
    rng = random.Random(0)
    for _ in range(200):
        rows = rng.sample(labelled, 32)
        enc = tok(["<cls> " + r["text"] for r in rows], padding=True, return_tensors="pt")
        teacher(**enc, labels=torch.tensor([r["label"] for r in rows])).loss.backward()
        opt.step()
        opt.zero_grad()
    teacher.eval().requires_grad_(False)

    def encode(rows):
        data = Dataset.from_list(rows)
        data = data.map(lambda r: tok(["<cls> " + t for t in r["text"]]), batched=True)
        return data.rename_column("label", "labels").remove_columns("text")

    unlabelled = [{"text": r["text"], "label": 0} for r in pool]
    trainer = StudentTrainer(
        model=BertForSequenceClassification(
            tiny_bert_config(tok, hidden=32, layers=1, num_labels=6)
        ),
        args=TrainingArguments(
            **common(
                per_device_train_batch_size=16,
                num_train_epochs=8,
                learning_rate=2e-3,
                warmup_steps=20,
            )
        ),
        train_dataset=encode(unlabelled),
        eval_dataset=encode(held),
        processing_class=tok,
        data_collator=DataCollatorWithPadding(tok),
    )
    trainer.teacher = teacher
    return trainer


# ---------------------------------------------------------------- yana


def flat_rows(n, seed):
    rng = random.Random(seed)
    areas = {"centre": 320, "harbour": 240, "north side": 120, "old town": 280, "suburb": 60}
    extras = {"balcony": 40, "garage": 70, "garden": 90, "lift": 25, "nothing": 0}
    rooms = {"one room": 90, "two rooms": 170, "three rooms": 260, "four rooms": 340}
    rows = []
    for _ in range(n):
        a, e, r = rng.choice(list(areas)), rng.choice(list(extras)), rng.choice(list(rooms))
        text = rng.choice(
            [
                f"{r} in the {a} with {e}",
                f"flat at the {a} , {r} , offers {e}",
                f"{e} and {r} , located {a}",
            ]
        )
        rows.append(
            {"text": text, "price": float(areas[a] + extras[e] + rooms[r] + rng.gauss(0, 10))}
        )
    return rows


def yana():
    set_seed(36)
    train, held = flat_rows(700, 1), flat_rows(150, 2)
    tok = piece_tokenizer([r["text"] for r in train], 300)
    model = RobertaForSequenceClassification(
        RobertaConfig(
            vocab_size=len(tok),
            hidden_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=128,
            max_position_embeddings=66,
            pad_token_id=tok.pad_token_id,
            num_labels=1,
            problem_type="regression",
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )
    )
    with torch.no_grad():
        model.classifier.out_proj.bias.fill_(float(np.mean([r["price"] for r in train])))

    def encode(rows):
        data = Dataset.from_list(rows)
        data = data.map(lambda r: tok(r["text"]), batched=True)
        return data.rename_column("price", "labels").remove_columns("text")

    optimizer = torch.optim.AdamW(
        [
            {
                "params": [*model.roberta.parameters(), *model.classifier.dense.parameters()],
                "lr": 1e-3,
            },
            {"params": list(model.classifier.out_proj.parameters()), "lr": 0.2},
        ],
        weight_decay=0.0,
    )
    epochs, batch = 12, 16
    scheduler = get_linear_schedule_with_warmup(optimizer, 20, epochs * (len(train) // batch + 1))
    return Trainer(
        model=model,
        args=TrainingArguments(
            **common(per_device_train_batch_size=batch, num_train_epochs=epochs)
        ),
        train_dataset=encode(train),
        eval_dataset=encode(held),
        processing_class=tok,
        data_collator=DataCollatorWithPadding(tok),
        optimizers=(optimizer, scheduler),
    )


CASES = {
    "severn": severn,
    "tamar": tamar,
    "neman": neman,
    "oder": oder,
    "isar": isar,
    "volga": volga,
    "drava": drava,
    "tisza": tisza,
    "loire": loire,
    "ebro": ebro,
    "minho": minho,
    "vltava": vltava,
}

ODD = {
    "dvina": dvina,
    "pripyat": pripyat,
    "ob": ob,
    "lena": lena,
    "kolyma": kolyma,
    "yana": yana,
}
