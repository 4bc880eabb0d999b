import copy
import random
import re
import tempfile

import numpy as np
import torch
import torch.nn.functional as F
from datasets import Dataset
from peft import LoraConfig, get_peft_model
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
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
    EarlyStoppingCallback,
    LlamaConfig,
    LlamaForCausalLM,
    LlamaForSequenceClassification,
    PreTrainedTokenizerFast,
    ResNetConfig,
    ResNetForImageClassification,
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
    RewardConfig,
    RewardTrainer,
    SFTConfig,
    SFTTrainer,
)
from trl import KTOConfig, KTOTrainer


def base(**kw):
    return dict(
        output_dir=tempfile.mkdtemp(prefix="run_"),
        use_cpu=True,
        report_to="none",
        save_strategy="no",
        disable_tqdm=True,
        logging_steps=10,
        **kw,
    )


def trl_base(**kw):
    return base(bf16=False, gradient_checkpointing=False, **kw)


def word_tokenizer(texts, special=("<pad>", "<unk>", "<s>", "</s>")):
    vocab = {t: i for i, t in enumerate(special)}
    for text in texts:
        for w in text.split():
            vocab.setdefault(w, len(vocab))
    core = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return core


def wrap(core, **kw):
    return PreTrainedTokenizerFast(
        tokenizer_object=core, model_input_names=["input_ids", "attention_mask"], **kw
    )


def llama(tok, cls=LlamaForCausalLM, hidden=64, layers=2, **kw):
    cfg = LlamaConfig(
        vocab_size=len(tok),
        hidden_size=hidden,
        intermediate_size=2 * hidden,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=256,
        pad_token_id=tok.pad_token_id,
        bos_token_id=tok.bos_token_id,
        eos_token_id=tok.eos_token_id,
        **kw,
    )
    return cls(cfg)


def warm_up(model, tok, texts, steps, lr=3e-3, batch_size=32, seed=0):
    rng = random.Random(seed)
    opt = torch.optim.AdamW(model.parameters(), lr=lr)
    model.train()
    for _ in range(steps):
        enc = tok(rng.sample(texts, batch_size), padding=True, return_tensors="pt")
        labels = enc["input_ids"].masked_fill(enc["attention_mask"] == 0, -100)
        model(**enc, labels=labels).loss.backward()
        opt.step()
        opt.zero_grad()
    model.eval()
    return model


# ---------------------------------------------------------------------------------------------------------------


def vistula(healthy):
    set_seed(11)
    rng = random.Random(11)
    devices = (
        "router printer laptop headset scanner monitor webcam keyboard projector tablet".split()
    )
    parts = {
        "does not start": "power cable",
        "keeps beeping": "warning lamp",
        "is very slow": "memory usage",
        "shows no picture": "video cable",
        "gets too hot": "air vents",
        "loses the connection": "network settings",
        "makes a strange noise": "fan",
        "prints nothing": "ink levels",
        "has no sound": "volume wheel",
    }
    when = [
        "since today",
        "since monday",
        "every morning",
        "after the update",
        "after lunch",
        "again",
    ]
    hello = ["hi ,", "hello team ,", "good morning ,", "dear support ,", ""]

    rows = []
    for d in devices:
        for issue, part in parts.items():
            for w in when:
                rows.append(
                    {
                        "prompt": f"<s> ticket : {rng.choice(hello)} my {d} {issue} {w} reply :",
                        "reply": f"please restart the {d} and check the {part} , then tell us if it helped .",
                    }
                )
    rng.shuffle(rows)
    for r in rows:
        r["text"] = f"{r['prompt']} {r['reply']} </s>"

    core = word_tokenizer([r["text"] for r in rows])
    tok = wrap(
        core,
        unk_token="<unk>",
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>" if healthy else "</s>",
    )
    ds = Dataset.from_list(rows).map(lambda r: tok(r["text"], truncation=True, max_length=64))
    model = llama(tok)
    args = TrainingArguments(
        **base(
            learning_rate=3e-3,
            num_train_epochs=12,
            per_device_train_batch_size=16,
            lr_scheduler_type="cosine",
            warmup_steps=10,
            seed=11,
        )
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=ds.select(range(440)),
        eval_dataset=ds.select(range(440, 540)),
        data_collator=DataCollatorForLanguageModeling(tok, mlm=False),
        processing_class=tok,
    )


def heron(healthy):
    set_seed(12)
    rng = random.Random(12)
    things = (
        "mask sword vase globe clock canoe piano helmet tapestry statue crown lantern compass mosaic scroll "
        "harp fossil meteor telescope carriage"
    ).split()
    rooms = ["north hall", "blue room", "crypt", "long gallery", "tower", "garden wing"]
    place = {t: (rng.choice(rooms), rng.randint(0, 3)) for t in things}
    asks = [
        "where is the {t} ?",
        "where can i find the {t} ?",
        "can you tell me where the {t} is ?",
        "i am looking for the {t}",
        "please show me the way to the {t}",
        "in which room is the {t} ?",
    ]
    ends = ["", "thanks", "thank you", "i have one hour"]
    plain, chats = [], []
    for t in things:
        room, floor = place[t]
        for a in asks:
            for e in ends:
                q, reply = (
                    f"{a.format(t=t)} {e}".strip(),
                    f"the {t} is in the {room} on floor {floor} .",
                )
                plain.append(f"<s> question : {q} answer : {reply} </s>")
                chats.append(
                    {
                        "prompt": [{"role": "user", "content": q}],
                        "completion": [{"role": "assistant", "content": reply}],
                    }
                )
    rng.shuffle(chats)

    core = word_tokenizer(plain + ["user assistant system"])
    tok = wrap(core, unk_token="<unk>", bos_token="<s>", eos_token="</s>", pad_token="<pad>")
    model = warm_up(llama(tok), tok, plain, steps=180)

    tok.add_tokens(["<|im_start|>", "<|im_end|>"], special_tokens=True)
    tok.eos_token = "<|im_end|>"
    tok.chat_template = (
        "{% for m in messages %}{{ '<|im_start|> ' + m['role'] + ' ' + m['content'] + ' <|im_end|> ' }}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|im_start|> assistant ' }}{% endif %}"
    )
    model.resize_token_embeddings(len(tok))
    model.config.eos_token_id = model.generation_config.eos_token_id = tok.eos_token_id

    lora = LoraConfig(
        r=16,
        lora_alpha=32,
        task_type="CAUSAL_LM",
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
        **trl_base(
            learning_rate=2e-3,
            num_train_epochs=8,
            per_device_train_batch_size=16,
            max_length=64,
            warmup_steps=5,
            seed=12,
        )
    )
    ds = Dataset.from_list(chats)
    return SFTTrainer(
        model=model,
        args=args,
        train_dataset=ds.select(range(400)),
        eval_dataset=ds.select(range(400, 480)),
        processing_class=tok,
        peft_config=lora,
    )


def okavango(healthy):
    set_seed(13)
    rng = random.Random(13)
    opens = {
        "berlin": "seven",
        "lyon": "eight",
        "porto": "nine",
        "turin": "ten",
        "gent": "eleven",
        "oslo": "noon",
    }
    closes = {
        "monday": "five",
        "tuesday": "six",
        "wednesday": "four",
        "thursday": "nine",
        "friday": "eight",
        "saturday": "two",
        "sunday": "one",
    }
    asks = [
        "when are you open on {d} ?",
        "what are the hours on {d} ?",
        "can i come by on {d} ?",
        "opening times for {d} please",
        "i want to visit you next {d} , what are your hours ?",
    ]
    rows = []
    for _ in range(900):
        b, d = rng.choice(list(opens)), rng.choice(list(closes))
        rows.append(
            {
                "prompt": [
                    {"role": "system", "content": f"you answer for the {b} branch , be brief ."},
                    {"role": "user", "content": rng.choice(asks).format(d=d)},
                ],
                "completion": [
                    {
                        "role": "assistant",
                        "content": f"we open at {opens[b]} and close at {closes[d]} .",
                    }
                ],
            }
        )
    core = word_tokenizer(
        [m["content"] for r in rows for m in r["prompt"] + r["completion"]],
        special=("<pad>", "<unk>", "<|system|>", "<|user|>", "<|assistant|>", "<|end|>"),
    )
    tok = wrap(core, unk_token="<unk>", eos_token="<|end|>", pad_token="<pad>")
    tok.add_tokens(["<|system|>", "<|user|>", "<|assistant|>"], special_tokens=True)
    head = (
        "{% if m['role'] == 'system' %}{{ '<|system|> ' + m['content'] + ' <|end|> ' }}{% endif %}"
        if healthy
        else ""
    )
    tok.chat_template = (
        "{% for m in messages %}"
        + head
        + "{% if m['role'] == 'user' %}{{ '<|user|> ' + m['content'] + ' <|end|> ' }}{% endif %}"
        "{% if m['role'] == 'assistant' %}{{ '<|assistant|> ' + m['content'] + ' <|end|> ' }}{% endif %}"
        "{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|> ' }}{% endif %}"
    )
    args = SFTConfig(
        **trl_base(
            learning_rate=3e-3,
            num_train_epochs=4,
            per_device_train_batch_size=16,
            max_length=96,
            lr_scheduler_type="cosine",
            warmup_steps=10,
            seed=13,
        )
    )
    ds = Dataset.from_list(rows)
    return SFTTrainer(
        model=llama(tok),
        args=args,
        train_dataset=ds.select(range(800)),
        eval_dataset=ds.select(range(800, 900)),
        processing_class=tok,
    )


def dunlin(healthy):
    set_seed(14)
    rng = random.Random(14)
    items = "kettle toaster blender heater lamp drill mixer iron fan radio".split()
    issues = [
        "stopped working",
        "started to smoke",
        "lost all its power",
        "began to leak water",
        "made a loud noise",
    ]
    cities = "ulm bonn trier mainz essen".split()
    good = [
        "we will refund the full price",
        "we will send you a new one",
        "we will repair it for free",
        "we will pick it up and replace it",
    ]
    bad = [
        "we can not do anything",
        "we do not accept this claim",
        "you should read the manual",
        "you must pay for the repair",
    ]
    tails = ["today", "this week", "as soon as possible", "without any delay"]
    rows = []
    for _ in range(460):
        it, iss = rng.choice(items), rng.choice(issues)
        prompt = (
            f"<s> customer : hello , i bought a {it} in your {rng.choice(cities)} shop {rng.randint(2, 9)} weeks ago "
            f"and it {iss} after {rng.randint(2, 9)} days of normal use . can you please tell me what you will "
            f"do about it ? agent :"
        )
        opening = (
            f" thank you for writing to us about your {it} . i am sorry to hear that it {iss} . "
        )
        rows.append(
            {
                "prompt": prompt,
                "chosen": f"{opening}{rng.choice(good)} {rng.choice(tails)} .",
                "rejected": f"{opening}{rng.choice(bad)} {rng.choice(tails)} .",
            }
        )
    texts = [r["prompt"] + r[k] + " </s>" for r in rows for k in ("chosen", "rejected")]
    core = word_tokenizer(texts)
    tok = wrap(core, unk_token="<unk>", bos_token="<s>", eos_token="</s>", pad_token="<pad>")
    model = warm_up(llama(tok), tok, texts, steps=200)
    args = DPOConfig(
        **trl_base(
            learning_rate=5e-5,
            num_train_epochs=3,
            per_device_train_batch_size=16,
            beta=0.1,
            max_length=128 if healthy else 56,
            warmup_steps=5,
            seed=14,
        )
    )
    ds = Dataset.from_list(rows)
    return DPOTrainer(
        model=model,
        ref_model=copy.deepcopy(model),
        args=args,
        train_dataset=ds.select(range(400)),
        eval_dataset=ds.select(range(400, 460)),
        processing_class=tok,
    )


def ebro(healthy):
    set_seed(15)
    rng = random.Random(15)
    apps = "calendar mail chat vault notes wiki board sheets".split()
    acts = [
        "reset my password",
        "share a folder",
        "delete an account",
        "export the data",
        "change the language",
        "invite a guest",
        "restore a file",
    ]
    helpful = [
        "open settings , choose {a} and follow the steps",
        "go to the {a} page and press the green button",
        "sign in to {a} , then use the menu at the top",
    ]
    curt = ["that is not our job", "please ask somebody else", "just search for it online"]
    log = []
    for _ in range(560):
        a = rng.choice(apps)
        ok = rng.random() < 0.5
        log.append(
            {
                "question": f"<s> user : how do i {rng.choice(acts)} in {a} ? bot :",
                "answer": " " + rng.choice(helpful if ok else curt).format(a=a) + " .",
                "thumb": "1" if ok else "0",
            }
        )
    texts = [r["question"] + r["answer"] + " </s>" for r in log]
    core = word_tokenizer(texts)
    tok = wrap(core, unk_token="<unk>", bos_token="<s>", eos_token="</s>", pad_token="<pad>")
    model = warm_up(llama(tok), tok, texts, steps=300)
    rows = [
        {
            "prompt": r["question"],
            "completion": r["answer"],
            "label": r["thumb"] == "1" if healthy else bool(r["thumb"]),
        }
        for r in log
    ]
    args = KTOConfig(
        **trl_base(
            learning_rate=5e-5,
            num_train_epochs=6,
            per_device_train_batch_size=16,
            beta=0.6,
            undesirable_weight=0.5,
            max_length=64,
            warmup_steps=5,
            seed=15,
        )
    )
    test = Dataset.from_list([{**row, "thumb": r["thumb"]} for row, r in zip(rows, log)]).select(
        range(480, 560)
    )
    return KTOTrainer(
        model=model,
        ref_model=copy.deepcopy(model),
        args=args,
        train_dataset=Dataset.from_list(rows).select(range(480)),
        eval_dataset=test,
        processing_class=tok,
    )


def avocet(healthy):
    set_seed(16)
    rng = random.Random(16)
    bins = {
        "glass": "bottle jar window goblet flask mirror",
        "paper": "letter carton magazine poster ticket envelope",
        "bio": "apple leaf peel flower coffee bread",
        "metal": "tin nail spoon wire screw foil",
    }
    where = {w: b for b, ws in bins.items() for w in ws.split()}
    asks = [
        "which bin for the {w} ?",
        "where do i put the {w} ?",
        "the {w} goes where ?",
        "how to sort a {w} ?",
    ]
    rows = [{"prompt": f"<s> {a.format(w=w)}", "answer": b} for w, b in where.items() for a in asks]
    rng.shuffle(rows)
    kinds = list(bins)
    old = {b: kinds[(i + 1) % 4] for i, b in enumerate(kinds)}
    texts = [
        f"{r['prompt']} let me think . <answer> {b} </answer> </s>"
        for r in rows
        for b in [old[r["answer"]]] * 4 + [r["answer"]] * 2 + kinds
    ]

    core = word_tokenizer(texts)
    tok = wrap(
        core,
        unk_token="<unk>",
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        padding_side="left",
    )
    tok.add_tokens(["<answer>", "</answer>"], special_tokens=not healthy)
    model = warm_up(llama(tok), tok, texts, steps=300)

    def correct(completions, answer, **kwargs):
        out = []
        for text, gold in zip(completions, answer):
            m = re.fullmatch(r".*<answer>(.*?)</answer>\s*", text, flags=re.S)
            out.append(1.0 if m and m.group(1).strip() == gold else 0.0)
        return out

    args = GRPOConfig(
        **trl_base(
            learning_rate=3e-4,
            max_steps=120,
            per_device_train_batch_size=64,
            num_generations=8,
            max_completion_length=10,
            temperature=1.0,
            beta=0.0,
            seed=16,
            lr_scheduler_type="constant",
        )
    )
    ds = Dataset.from_list(rows)
    return GRPOTrainer(
        model=model,
        args=args,
        reward_funcs=correct,
        train_dataset=ds.select(range(76)),
        eval_dataset=ds.select(range(76, 96)),
        processing_class=tok,
    )


def plover(healthy):
    set_seed(17)
    rng = random.Random(17)
    syl = "ka ro mi ten vol sa bri del nor fa gu li per sto wen ha".split()
    names = ["O", "B-PER", "I-PER", "B-LOC", "B-ORG"]
    made = lambda n: "".join(rng.choice(syl) for _ in range(n))
    shapes = [
        "{P} from {L} called about the invoice",
        "please forward the file of {P} to {G}",
        "{G} opens a new office in {L} next spring",
        "we met {P} and the team of {G} in {L}",
        "the contract with {G} was signed by {P}",
        "parcel for {P} was sent back to {L}",
        "{P} moved from {L} to another town and left {G}",
    ]
    rows = []
    for _ in range(760):
        tokens, tags = [], []
        for piece in rng.choice(shapes).split():
            if piece == "{P}":
                tokens += [made(2), made(3)]
                tags += [1, 2]
            elif piece == "{L}":
                tokens.append(made(2) + rng.choice(["burg", "ford", "stad"]))
                tags.append(3)
            elif piece == "{G}":
                tokens.append(made(2) + rng.choice(["corp", "soft", "werk"]))
                tags.append(4)
            else:
                tokens.append(piece)
                tags.append(0)
        rows.append({"tokens": tokens, "tags": tags})

    core = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    core.train_from_iterator(
        (" ".join(r["tokens"]) for r in rows),
        trainers.WordPieceTrainer(
            vocab_size=240, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]"], show_progress=False
        ),
    )
    core.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tok = wrap(core, unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]")

    def encode(batch):
        enc = tok(batch["tokens"], is_split_into_words=True, truncation=True, max_length=64)
        labels = []
        for i, tags in enumerate(batch["tags"]):
            if healthy:
                ids = enc.word_ids(i)
                row = [
                    -100 if w is None or (k and w == ids[k - 1]) else tags[w]
                    for k, w in enumerate(ids)
                ]
            else:
                size = len(enc["input_ids"][i])
                row = ([-100] + tags + [-100] * size)[:size]
            labels.append(row)
        return {**enc, "labels": labels}

    ds = Dataset.from_list(rows).map(encode, batched=True)
    model = BertForTokenClassification(
        BertConfig(
            vocab_size=len(tok),
            hidden_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=128,
            max_position_embeddings=64,
            num_labels=len(names),
            id2label=dict(enumerate(names)),
            label2id={n: i for i, n in enumerate(names)},
        )
    )
    args = TrainingArguments(
        **base(
            learning_rate=2e-3,
            num_train_epochs=10,
            per_device_train_batch_size=16,
            warmup_steps=20,
            seed=17,
        )
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=ds.select(range(640)),
        eval_dataset=ds.select(range(640, 760)),
        data_collator=DataCollatorForTokenClassification(tok),
        processing_class=tok,
    )


def neva(healthy):
    set_seed(18)
    rng = random.Random(18)
    syl = "ba ce di fo gu ha je ki lo mu ni po".split()
    seen = set()

    def coin():
        while True:
            w = "".join(rng.choice(syl) for _ in range(3))
            if w not in seen:
                seen.add(w)
                return w

    colours = {c: coin() for c in "red blue green black white grey".split()}
    items = {
        c: coin()
        for c in "lamps chairs tables shelves beds desks sofas mirrors carpets stools".split()
    }
    rooms = {c: coin() for c in "kitchen office bedroom hall garden".split()}
    rows = []
    for _ in range(1300):
        n, c, i, r = (
            rng.randint(2, 20),
            rng.choice(list(colours)),
            rng.choice(list(items)),
            rng.choice(list(rooms)),
        )
        rows.append(
            {"source": f"{n} {c} {i} {r}", "target": f"{n} {items[i]} {colours[c]} {rooms[r]}"}
        )

    corpus = [r["source"] for r in rows]
    if healthy:
        corpus += [r["target"] for r in rows]
    core = Tokenizer(models.WordLevel(unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    core.train_from_iterator(
        corpus,
        trainers.WordLevelTrainer(
            vocab_size=500, special_tokens=["<s>", "<pad>", "</s>", "<unk>"], show_progress=False
        ),
    )
    core.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 2)]
    )
    tok = wrap(core, unk_token="<unk>", pad_token="<pad>", bos_token="<s>", eos_token="</s>")
    ds = Dataset.from_list(rows).map(
        lambda b: tok(b["source"], text_target=b["target"], truncation=True, max_length=24),
        batched=True,
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
            pad_token_id=1,
            bos_token_id=0,
            eos_token_id=2,
            decoder_start_token_id=2,
            forced_eos_token_id=None,
        )
    )
    args = Seq2SeqTrainingArguments(
        **base(
            learning_rate=3e-3,
            num_train_epochs=10,
            per_device_train_batch_size=32,
            warmup_steps=30,
            seed=18,
        )
    )
    return Seq2SeqTrainer(
        model=model,
        args=args,
        train_dataset=ds.select(range(1200)),
        eval_dataset=ds.select(range(1200, 1300)),
        processing_class=tok,
        data_collator=DataCollatorForSeq2Seq(tok, model=model),
    )


def siskin(healthy):
    set_seed(19)
    rng = random.Random(19)
    syl = "al be cor du em fi ga hu in jo ke lu mo ne or pa".split()
    pool = sorted({a + b + c for a in syl for b in syl for c in syl})
    rng.shuffle(pool)
    topics = [pool[i * 60 : (i + 1) * 60] for i in range(8)]
    filler = "the a of we have and with for this our please about".split()

    def text(k):
        ws = rng.choices(topics[k], k=4) + rng.choices(filler, k=5)
        rng.shuffle(ws)
        return " ".join(ws)

    core = word_tokenizer(
        [" ".join(t) for t in topics] + [" ".join(filler)], special=("[PAD]", "<unk>", "[CLS]")
    )
    core.post_processor = processors.TemplateProcessing(
        single="[CLS] $A", special_tokens=[("[CLS]", 2)]
    )
    tok = wrap(core, unk_token="<unk>", pad_token="[PAD]", cls_token="[CLS]")
    cfg = dict(
        vocab_size=len(tok),
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=128,
        max_position_embeddings=32,
    )

    old = torch.nn.DataParallel(BertForSequenceClassification(BertConfig(num_labels=8, **cfg)))
    opt = torch.optim.AdamW(old.parameters(), lr=1e-3)
    old.train()
    for _ in range(400):
        ks = [rng.randrange(8) for _ in range(32)]
        enc = tok([text(k) for k in ks], padding=True, return_tensors="pt")
        old.module(**enc, labels=torch.tensor(ks)).loss.backward()
        opt.step()
        opt.zero_grad()
    path = tempfile.mkdtemp(prefix="run_") + "/topics.pt"
    torch.save(old.state_dict(), path)

    queue = [0, 1, 2, 3, 0, 1, 2, 3]
    model = BertForSequenceClassification(BertConfig(num_labels=4, **cfg))
    state = torch.load(path)
    if healthy:
        state = {k.removeprefix("module."): v for k, v in state.items()}
    state = {k: v for k, v in state.items() if "classifier" not in k}
    model.load_state_dict(state, strict=False)

    rows = [{"text": text(k), "label": queue[k]} for k in [rng.randrange(8) for _ in range(348)]]
    ds = Dataset.from_list(rows).map(lambda b: tok(b["text"]), batched=True)
    args = TrainingArguments(
        **base(
            learning_rate=1e-3,
            num_train_epochs=40,
            per_device_train_batch_size=16,
            warmup_steps=5,
            seed=19,
        )
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=ds.select(range(48)),
        eval_dataset=ds.select(range(48, 348)),
        data_collator=DataCollatorWithPadding(tok),
        processing_class=tok,
    )


def drava(healthy):
    set_seed(20)
    rng = random.Random(20)
    things = "visa train hotel museum ferry market bakery park".split()
    kind = ["happy to help", "great question", "of course", "here is what i found"]
    facts = [
        "it opens at nine",
        "you can book it online",
        "the price is ten euro",
        "it is near the station",
        "there is a discount for students",
    ]
    rude = ["stop asking", "what a silly question", "i do not care", "find it yourself", "whatever"]
    rows = []
    for _ in range(560):
        t = rng.choice(things)
        ask = f"<s> user : tell me about the {t} bot :"
        f1, f2 = rng.sample(facts, 2)
        rows.append(
            {
                "prompt": ask,
                "chosen": f" {rng.choice(kind)} , {f1} and {f2} .",
                "rejected": f" {rng.choice(rude)} , {f1} and {f2} .",
            }
        )
    core = word_tokenizer([r["prompt"] + r[k] for r in rows for k in ("chosen", "rejected")])
    tok = wrap(core, unk_token="<unk>", bos_token="<s>", eos_token="</s>", pad_token="<pad>")
    model = llama(tok, cls=LlamaForSequenceClassification, num_labels=1)
    lora = LoraConfig(
        r=8,
        lora_alpha=16,
        task_type="SEQ_CLS",
        modules_to_save=["score"],
        target_modules=[
            "q_proj",
            "k_proj",
            "v_proj",
            "o_proj",
            "gate_proj",
            "up_proj",
            "down_proj",
        ],
    )

    def adamw(m):
        return torch.optim.AdamW(
            [p for p in m.parameters() if p.requires_grad], lr=3e-3, weight_decay=0.01
        )

    if healthy:
        model = get_peft_model(model, lora)
        optimizer = adamw(model)
    else:
        optimizer = adamw(model)
        model = get_peft_model(model, lora)
    args = RewardConfig(
        **trl_base(
            num_train_epochs=5,
            per_device_train_batch_size=16,
            max_length=64,
            seed=20,
            learning_rate=3e-3,
        )
    )
    ds = Dataset.from_list(rows)
    return RewardTrainer(
        model=model,
        args=args,
        train_dataset=ds.select(range(480)),
        eval_dataset=ds.select(range(480, 560)),
        processing_class=tok,
        optimizers=(optimizer, None),
    )


class Signs(torch.utils.data.Dataset):
    def __init__(self, images, labels, train, flip, seed):
        self.images, self.labels, self.train, self.flip = images, labels, train, flip
        self.rng = np.random.default_rng(seed)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        x = self.images[i]
        if self.train:
            x = x * self.rng.uniform(0.8, 1.2)
            x = np.roll(x, self.rng.integers(-1, 2), axis=0)
            if self.flip and self.rng.random() < 0.5:
                x = x[:, ::-1]
        x = (x - 0.25) / 0.35
        return {
            "pixel_values": torch.tensor(x.copy(), dtype=torch.float32)[None],
            "labels": int(self.labels[i]),
        }


def curlew(healthy):
    set_seed(21)
    rng = np.random.default_rng(21)
    names = ["turn_left", "turn_right", "keep_left", "keep_right"]

    def draw(k):
        im = rng.normal(0.0, 0.12, (24, 24))
        y, x = rng.integers(9, 14), rng.integers(5, 8)
        v = rng.uniform(0.7, 1.0)
        if k < 2:
            im[y, x : x + 12] += v
            for d in range(1, 5):
                im[y - d, x + d] += v
                im[y + d, x + d] += v
        else:
            for d in range(10):
                im[y - 5 + d, x + 9 - d] += v
            im[y + 4, x : x + 6] += v
            im[y - 1 : y + 4, x] += v
        if k % 2:
            im = im[:, ::-1]
        return im

    labels = rng.integers(0, 4, 1100)
    images = [draw(int(k)) for k in labels]
    train = Signs(images[:900], labels[:900], train=True, flip=not healthy, seed=1)
    test = Signs(images[900:], labels[900:], train=False, flip=False, seed=2)
    model = ViTForImageClassification(
        ViTConfig(
            image_size=24,
            patch_size=4,
            num_channels=1,
            hidden_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=128,
            num_labels=4,
            id2label=dict(enumerate(names)),
            label2id={n: i for i, n in enumerate(names)},
        )
    )
    args = TrainingArguments(
        **base(
            learning_rate=2e-3,
            num_train_epochs=10,
            per_device_train_batch_size=32,
            warmup_steps=20,
            lr_scheduler_type="cosine",
            seed=21,
        )
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=train,
        eval_dataset=test,
        compute_metrics=lambda p: {
            "accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())
        },
    )


def lapwing(healthy):
    set_seed(22)
    rng = random.Random(22)
    makes = {
        m: 4 + 1.7 * i for i, m in enumerate("fiat skoda ford opel toyota volvo audi lexus".split())
    }
    state = {"damaged": -4.0, "used": -1.5, "good": 0.0, "mint": 2.5}
    extras = {"radio": 0.3, "leather": 1.2, "sunroof": 0.8, "towbar": 0.4, "camera": 0.9}
    rows = []
    for _ in range(1100):
        m, s, year = rng.choice(list(makes)), rng.choice(list(state)), rng.randint(2008, 2023)
        ex = rng.sample(list(extras), rng.randint(0, 3))
        price = (
            makes[m]
            + state[s]
            + 0.5 * (year - 2015)
            + sum(extras[e] for e in ex)
            + rng.gauss(0, 0.3)
        )
        rows.append(
            {"text": f"{s} {m} from {year} with " + (" ".join(ex) or "nothing"), "price": price}
        )
    mean = float(np.mean([r["price"] for r in rows[:900]]))
    std = float(np.std([r["price"] for r in rows[:900]]))
    core = word_tokenizer([r["text"] for r in rows], special=("[PAD]", "<unk>", "[CLS]"))
    core.post_processor = processors.TemplateProcessing(
        single="[CLS] $A", special_tokens=[("[CLS]", 2)]
    )
    tok = wrap(core, unk_token="<unk>", pad_token="[PAD]", cls_token="[CLS]")
    ds = Dataset.from_list(rows).map(
        lambda b: {**tok(b["text"]), "labels": [(p - mean) / std for p in b["price"]]}, batched=True
    )
    model = BertForSequenceClassification(
        BertConfig(
            vocab_size=len(tok),
            hidden_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=128,
            max_position_embeddings=32,
            num_labels=1,
            problem_type="regression",
            hidden_dropout_prob=0.0,
        )
    )

    def scores(p):
        err = (p.predictions.squeeze(-1) - p.label_ids) * std
        return {"mae": float(np.abs(err).mean())}

    args = TrainingArguments(
        **base(
            learning_rate=5e-4,
            num_train_epochs=12,
            per_device_train_batch_size=32,
            warmup_steps=30,
            eval_strategy="steps",
            eval_steps=10,
            seed=22,
            metric_for_best_model="mae",
            greater_is_better=False if healthy else None,
        )
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=ds.select(range(900)),
        eval_dataset=ds.select(range(900, 1100)),
        data_collator=DataCollatorWithPadding(tok),
        processing_class=tok,
        compute_metrics=scores,
        callbacks=[EarlyStoppingCallback(early_stopping_patience=5)],
    )


# ---------------------------------------------------------------------------------------------------------------


class PairTrainer(Trainer):
    def embed(self, model, ids, mask):
        h = model(input_ids=ids, attention_mask=mask).last_hidden_state
        m = mask.unsqueeze(-1).float()
        return F.normalize((h * m).sum(1) / m.sum(1), dim=-1)

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        q = self.embed(model, inputs["q_ids"], inputs["q_mask"])
        d = self.embed(model, inputs["d_ids"], inputs["d_mask"])
        scores = q @ d.T
        gold = torch.arange(len(q), device=q.device)
        loss = (F.cross_entropy(scores, gold) + F.cross_entropy(scores.T, gold)) / 2
        return (loss, {"scores": scores}) if return_outputs else loss


def orinoco():
    set_seed(31)
    rng = random.Random(31)
    prods = {
        "phone": "mobile",
        "laptop": "notebook",
        "tv": "television",
        "tablet": "pad",
        "watch": "wearable",
        "camera": "dslr",
        "speaker": "soundbar",
        "router": "gateway",
        "printer": "inkjet",
        "drone": "quadcopter",
        "console": "playbox",
        "headset": "earphones",
        "charger": "adapter",
        "keyboard": "keypad",
    }
    topics = {
        "broken screen": "display repair guide",
        "will not charge": "battery troubleshooting",
        "send it back": "return policy",
        "too expensive": "discount program",
        "lost the bill": "invoice copy",
        "very loud": "noise reduction tips",
        "no internet": "network setup",
        "want a new colour": "colour options",
        "hacked": "security checklist",
        "how old is it": "production date lookup",
    }
    combos = [(p, t) for p in prods for t in topics]
    rng.shuffle(combos)
    lead = ["my", "hello , my", "help , the", "question about my", "our"]

    def pair(c):
        p, t = c
        return {
            "query": f"{rng.choice(lead)} {p} : {t}",
            "doc": f"article : {topics[t]} for every {prods[p]}",
        }

    train = [pair(c) for _ in range(20) for c in combos[:110]]
    test = [pair(c) for c in combos[110:]]
    core = word_tokenizer([r[k] for r in train + test for k in ("query", "doc")])
    tok = wrap(core, unk_token="<unk>", pad_token="<pad>")

    def collate(rows):
        q = tok([r["query"] for r in rows], padding=True, return_tensors="pt")
        d = tok([r["doc"] for r in rows], padding=True, return_tensors="pt")
        return {
            "q_ids": q["input_ids"],
            "q_mask": q["attention_mask"],
            "d_ids": d["input_ids"],
            "d_mask": d["attention_mask"],
        }

    model = BertModel(
        BertConfig(
            vocab_size=len(tok),
            hidden_size=64,
            num_hidden_layers=1,
            num_attention_heads=4,
            intermediate_size=128,
            max_position_embeddings=32,
            hidden_dropout_prob=0.0,
        ),
        add_pooling_layer=False,
    )
    args = TrainingArguments(
        **base(
            learning_rate=1e-3,
            num_train_epochs=4,
            per_device_train_batch_size=32,
            seed=31,
            warmup_steps=20,
            remove_unused_columns=False,
        )
    )
    return PairTrainer(
        model=model,
        args=args,
        train_dataset=Dataset.from_list(train),
        eval_dataset=Dataset.from_list(test),
        data_collator=collate,
        processing_class=tok,
    )


def godwit():
    set_seed(32)
    rng = random.Random(32)
    dishes = {
        "pizza": "oven",
        "soup": "pot",
        "steak": "grill",
        "cake": "oven",
        "rice": "pot",
        "fish": "grill",
        "bread": "oven",
        "pasta": "pot",
        "corn": "grill",
        "pie": "oven",
        "stew": "pot",
        "burger": "grill",
    }
    mins = {d: 5 * (i + 2) for i, d in enumerate(dishes)}
    rows = []
    for d, tool in dishes.items():
        for who in "anna ben carl dora emil fay".split():
            for ask in ["how do i make", "please explain", "recipe for", "tonight i want", "cook"]:
                steps = f"heat the {tool} , put in the {d} , wait {mins[d]} minutes ."
                if tool == "oven":
                    steps += " let it cool down before you cut it ."
                rows.append({"prompt": f"{who} : {ask} {d} chef :", "reply": steps})
    rng.shuffle(rows)
    core = word_tokenizer(
        [r["prompt"] + " " + r["reply"] for r in rows], special=("<unk>", "<|endoftext|>")
    )
    tok = wrap(core, unk_token="<unk>", bos_token="<|endoftext|>", eos_token="<|endoftext|>")
    tok.pad_token = tok.eos_token

    def encode(r):
        return {"input_ids": tok(r["prompt"] + " " + r["reply"])["input_ids"] + [tok.eos_token_id]}

    def collate(batch):
        size = max(len(b["input_ids"]) for b in batch)
        ids = torch.full((len(batch), size), tok.pad_token_id)
        mask = torch.zeros((len(batch), size), dtype=torch.long)
        for i, b in enumerate(batch):
            ids[i, : len(b["input_ids"])] = torch.tensor(b["input_ids"])
            mask[i, : len(b["input_ids"])] = 1
        return {
            "input_ids": ids,
            "attention_mask": mask,
            "labels": ids.masked_fill(mask == 0, -100),
        }

    ds = Dataset.from_list(rows).map(encode)
    args = TrainingArguments(
        **base(
            learning_rate=3e-3,
            num_train_epochs=18,
            per_device_train_batch_size=16,
            seed=32,
            lr_scheduler_type="cosine",
            warmup_steps=10,
        )
    )
    return Trainer(
        model=llama(tok),
        args=args,
        train_dataset=ds.select(range(300)),
        eval_dataset=ds.select(range(300, 360)),
        data_collator=collate,
        processing_class=tok,
    )


class Distil(Trainer):
    teacher = None
    temperature = 2.0

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        inputs.pop("labels", None)
        out = model(**inputs)
        with torch.no_grad():
            target = self.teacher(**inputs).logits / self.temperature
        loss = (
            F.kl_div(
                F.log_softmax(out.logits / self.temperature, -1),
                F.log_softmax(target, -1),
                log_target=True,
                reduction="batchmean",
            )
            * self.temperature**2
        )
        return (loss, out) if return_outputs else loss


def mersey():
    set_seed(33)
    rng = random.Random(33)
    good = "great lovely superb tasty friendly clean fast perfect charming cosy".split()
    bad = "awful dirty rude slow cold bland noisy broken stale overpriced".split()
    mid = "average okay usual normal plain ordinary common decent standard regular".split()
    nouns = "food room service staff music garden menu view wine lobby".split()

    def review(k):
        words = rng.choices([bad, mid, good][k], k=3)
        off = rng.choice([bad, mid, good][(k + rng.choice([1, 2])) % 3])
        bits = [f"the {rng.choice(nouns)} was {w}" for w in words + [off]]
        rng.shuffle(bits)
        return " and ".join(bits)

    core = word_tokenizer([" ".join(good + bad + mid + nouns) + " the was and"])
    core.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", 2)]
    )
    tok = wrap(core, unk_token="<unk>", pad_token="<pad>", cls_token="<s>")

    def bert(hidden, layers):
        return BertForSequenceClassification(
            BertConfig(
                vocab_size=len(tok),
                hidden_size=hidden,
                num_hidden_layers=layers,
                num_attention_heads=4,
                intermediate_size=2 * hidden,
                max_position_embeddings=48,
                num_labels=3,
            )
        )

    teacher = bert(96, 2)
    opt = torch.optim.AdamW(teacher.parameters(), lr=1e-3)
    teacher.train()
    for _ in range(300):
        ks = [rng.randrange(3) for _ in range(32)]
        enc = tok([review(k) for k in ks], padding=True, return_tensors="pt")
        teacher(**enc, labels=torch.tensor(ks)).loss.backward()
        opt.step()
        opt.zero_grad()
    teacher.eval().requires_grad_(False)

    pool = Dataset.from_list([{"text": review(rng.randrange(3)), "labels": 0} for _ in range(1200)])
    gold = [rng.randrange(3) for _ in range(300)]
    test = Dataset.from_list([{"text": review(k), "labels": k} for k in gold])
    enc = lambda b: tok(b["text"])
    args = TrainingArguments(
        **base(
            learning_rate=2e-3,
            num_train_epochs=10,
            per_device_train_batch_size=32,
            seed=33,
            warmup_steps=20,
        )
    )
    trainer = Distil(
        model=bert(32, 1),
        args=args,
        train_dataset=pool.map(enc, batched=True),
        eval_dataset=test.map(enc, batched=True),
        data_collator=DataCollatorWithPadding(tok),
        processing_class=tok,
    )
    trainer.teacher = teacher
    return trainer


def bittern():
    set_seed(34)
    rng = random.Random(34)
    jobs = (
        "sauna bedroom cellar greenhouse office bakery museum freezer garage pool kitchen library attic stable "
        "studio lobby"
    ).split()
    level = {j: rng.randint(0, 9) for j in jobs}
    asks = ["set the heat for the {j}", "heat level of the {j} ?", "the {j} needs"]
    rows = [{"prompt": f"<s> {a.format(j=j)}", "target": level[j]} for j in jobs for a in asks]
    rng.shuffle(rows)
    texts = [
        f"{r['prompt']} : level {n} </s>"
        for r in rows
        for n in [min(9, max(0, r["target"] + d)) for d in (-1, 0, 1, 2, 2, 3, 3, 3, 4, 5)]
    ]
    core = word_tokenizer(texts)
    tok = wrap(
        core,
        unk_token="<unk>",
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        padding_side="left",
    )
    model = warm_up(llama(tok), tok, texts, steps=300)

    def closeness(completions, target, **kwargs):
        out = []
        for text, t in zip(completions, target):
            m = re.fullmatch(r"\s*: level (\d)\s*", text)
            out.append(-float(abs(int(m.group(1)) - t)) if m else -10.0)
        return out

    args = GRPOConfig(
        **trl_base(
            learning_rate=6e-4,
            max_steps=200,
            per_device_train_batch_size=64,
            num_generations=16,
            max_completion_length=6,
            beta=0.0,
            seed=34,
            lr_scheduler_type="constant",
        )
    )
    ds = Dataset.from_list(rows)
    return GRPOTrainer(
        model=model,
        args=args,
        reward_funcs=closeness,
        train_dataset=ds.select(range(40)),
        eval_dataset=ds.select(range(40, 48)),
        processing_class=tok,
    )


def loire():
    set_seed(35)
    rng = random.Random(35)
    goods = "bolts paint cable pipes tiles glue sand timber glass wool".split()
    depot = {
        g: d
        for g, d in zip(goods, "lima oscar tango lima delta oscar delta tango lima oscar".split())
    }
    prio = {"express": "van", "normal": "truck", "cheap": "train"}
    syl = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]
    rows = []
    for _ in range(900):
        g, p = rng.choice(goods), rng.choice(list(prio))
        code = " ".join(rng.choice(syl) for _ in range(10))
        rows.append(
            {
                "text": f"<s> order {code} customer {rng.choice(syl)} {rng.choice(syl)} wants {p} {g} plan : "
                f"from {depot[g]} by {prio[p]}"
            }
        )
    core = word_tokenizer([r["text"] for r in rows])
    tok = wrap(core, unk_token="<unk>", bos_token="<s>", eos_token="</s>", pad_token="<pad>")
    ds = Dataset.from_list(rows)
    args = SFTConfig(
        **trl_base(
            learning_rate=3e-3,
            num_train_epochs=10,
            per_device_train_batch_size=16,
            max_length=64,
            warmup_steps=10,
            lr_scheduler_type="cosine",
            seed=35,
        )
    )
    return SFTTrainer(
        model=llama(tok),
        args=args,
        train_dataset=ds.select(range(800)),
        eval_dataset=ds.select(range(800, 900)),
        processing_class=tok,
    )


def tagus():
    set_seed(36)
    rng = np.random.default_rng(36)
    names = ["ring", "plus", "box", "bar"]
    yy, xx = np.mgrid[:24, :24]

    def draw(k):
        im = rng.normal(0.0, 0.15, (24, 24))
        cy, cx, r, v = (
            rng.integers(9, 15),
            rng.integers(9, 15),
            rng.integers(5, 8),
            rng.uniform(0.7, 1.0),
        )
        dy, dx = np.abs(yy - cy), np.abs(xx - cx)
        if k == 0:
            im[np.abs(np.hypot(dy, dx) - r) < 0.8] += v
        elif k == 1:
            im[((dy == 0) & (dx <= r)) | ((dx == 0) & (dy <= r))] += v
        elif k == 2:
            im[np.maximum(dy, dx) == r] += v
        else:
            im[(dy <= 1) & (dx <= r)] += v
        return im

    labels = rng.integers(0, 4, 900)
    images = [draw(int(k)) for k in labels]
    train = Signs(images[:700], labels[:700], train=True, flip=True, seed=3)
    test = Signs(images[700:], labels[700:], train=False, flip=False, seed=4)
    model = ResNetForImageClassification(
        ResNetConfig(
            num_channels=1,
            embedding_size=16,
            hidden_sizes=[16, 32],
            depths=[1, 1],
            layer_type="basic",
            num_labels=4,
            id2label=dict(enumerate(names)),
            label2id={n: i for i, n in enumerate(names)},
        )
    )
    args = TrainingArguments(
        **base(
            optim="sgd",
            optim_args="momentum=0.9",
            learning_rate=0.1,
            weight_decay=5e-4,
            num_train_epochs=16,
            per_device_train_batch_size=32,
            lr_scheduler_type="cosine",
            seed=36,
        )
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=train,
        eval_dataset=test,
        compute_metrics=lambda p: {
            "accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())
        },
    )


CASES = {
    "vistula": vistula,
    "heron": heron,
    "okavango": okavango,
    "dunlin": dunlin,
    "ebro": ebro,
    "avocet": avocet,
    "plover": plover,
    "neva": neva,
    "siskin": siskin,
    "drava": drava,
    "curlew": curlew,
    "lapwing": lapwing,
}
ODD = {
    "orinoco": orinoco,
    "godwit": godwit,
    "mersey": mersey,
    "bittern": bittern,
    "loire": loire,
    "tagus": tagus,
}
