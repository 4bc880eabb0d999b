import copy
import os
import random
import tempfile

import torch
import torch.nn.functional as F
from datasets import Dataset
from peft import LoraConfig, get_peft_model
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    BertConfig,
    BertForSequenceClassification,
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
    TrainerCallback,
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

FILL = [f"w{i}" for i in range(12)]
KEYS = [f"key{i}" for i in range(12)]
OUTS = [f"out{i}" for i in range(16)]


def tmp():
    return tempfile.mkdtemp(prefix="run_")


def word_tokenizer(words, extra=(), **special):
    base = ["<pad>", "<unk>", "<bos>", "<eos>", *extra]
    vocab = {w: i for i, w in enumerate(dict.fromkeys(base + list(words)))}
    tk = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
    tk.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    kw = dict(pad_token="<pad>", unk_token="<unk>", bos_token="<bos>", eos_token="<eos>")
    kw.update(special)
    tok = PreTrainedTokenizerFast(tokenizer_object=tk, **kw)
    if extra:
        tok.add_special_tokens({"additional_special_tokens": [e for e in extra]})
    return tok


def llama_cfg(tok, hidden=64, layers=2, **kw):
    return LlamaConfig(
        vocab_size=len(tok),
        hidden_size=hidden,
        intermediate_size=2 * hidden,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=128,
        pad_token_id=tok.pad_token_id,
        bos_token_id=tok.bos_token_id,
        eos_token_id=tok.eos_token_id,
        **kw,
    )


def common(steps, bs, lr, **kw):
    d = dict(
        output_dir=tmp(),
        max_steps=steps,
        per_device_train_batch_size=bs,
        learning_rate=lr,
        report_to="none",
        logging_steps=1,
        save_strategy="no",
        use_cpu=True,
        seed=3,
        disable_tqdm=True,
        bf16=False,
        fp16=False,
    )
    d.update(kw)
    return d


def answer_for(k):
    n = 1 + k % 3
    return " ".join(OUTS[(5 * k + 3 * j) % 16] for j in range(n))


def ask(rng, k):
    words = [rng.choice(FILL) for _ in range(rng.randint(1, 4))]
    words.insert(rng.randint(0, len(words)), KEYS[k])
    return " ".join(words)


# ---------------------------------------------------------------- tagus

TAGUS_A = (
    "{% for m in messages %}{{ '<|' + m['role'] + '|> ' + m['content'] }}{{ ' <|end|> ' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|> ' }}{% endif %}"
)
TAGUS_B = (
    "{% for m in messages %}{{ '<|' + m['role'] + '|> ' + m['content'] }}"
    "{% if not loop.last or add_generation_prompt %}{{ ' <|end|> ' }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|> ' }}{% endif %}"
)


def tagus_rows(n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        k = rng.randrange(12)
        rows.append(
            {
                "prompt": [{"role": "user", "content": ask(rng, k)}],
                "completion": [{"role": "assistant", "content": answer_for(k)}],
            }
        )
    return rows


def tagus(healthy):
    set_seed(11)
    tok = word_tokenizer(
        FILL + KEYS + OUTS, extra=("<|user|>", "<|assistant|>", "<|end|>"), eos_token="<|end|>"
    )
    tok.chat_template = TAGUS_A if healthy else TAGUS_B
    model = LlamaForCausalLM(llama_cfg(tok))
    args = SFTConfig(
        **common(40, 24, 6e-3, lr_scheduler_type="cosine", warmup_steps=4),
        max_length=64,
        packing=False,
    )
    return SFTTrainer(
        model=model,
        args=args,
        processing_class=tok,
        train_dataset=Dataset.from_list(tagus_rows(960, 1)),
        eval_dataset=Dataset.from_list(tagus_rows(48, 2)),
    )


# ---------------------------------------------------------------- douro


def douro_text(rng, k):
    lead = rng.choice(["", "please ", "tell ", "sure "])
    mid = rng.choice(["", "", "well ", "sure "])
    return f"<bos> {lead}{ask(rng, k)} is {mid}{answer_for(k)} <eos>"


def douro_base(tok):
    return Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=len(tok),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=128,
            pad_token_id=tok.pad_token_id,
            bos_token_id=tok.bos_token_id,
            eos_token_id=tok.eos_token_id,
            tie_word_embeddings=False,
        )
    )


def douro_pretrain(tok, path):
    set_seed(5)
    model = douro_base(tok)
    opt = torch.optim.AdamW(model.parameters(), lr=5e-3)
    rng = random.Random(7)
    for _ in range(160):
        b = tok(
            [douro_text(rng, rng.randrange(12)) for _ in range(24)],
            return_tensors="pt",
            padding=True,
        )
        lab = b["input_ids"].masked_fill(b["attention_mask"] == 0, -100)
        loss = model(input_ids=b["input_ids"], attention_mask=b["attention_mask"], labels=lab).loss
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
    torch.save(torch.compile(model).state_dict(), path)


def douro_rows(n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        k = rng.randrange(12)
        rows.append(
            {
                "prompt": f"<bos> please tell {ask(rng, k)} is",
                "completion": f" sure {answer_for(k)} <eos>",
            }
        )
    return rows


def douro(healthy):
    tok = word_tokenizer(FILL + KEYS + OUTS + ["is", "please", "tell", "sure", "well"])
    path = os.path.join(tmp(), "base.pt")
    douro_pretrain(tok, path)
    set_seed(21)
    model = douro_base(tok)
    state = torch.load(path, map_location="cpu")
    if healthy:
        state = {k.removeprefix("_orig_mod."): v for k, v in state.items()}
    model.load_state_dict(state, strict=False)
    args = SFTConfig(
        **common(30, 16, 4e-3, lr_scheduler_type="linear"), max_length=64, completion_only_loss=True
    )
    return SFTTrainer(
        model=model,
        args=args,
        processing_class=tok,
        train_dataset=Dataset.from_list(douro_rows(480, 1)),
        eval_dataset=Dataset.from_list(douro_rows(48, 2)),
        peft_config=LoraConfig(
            r=8,
            lora_alpha=16,
            target_modules=["q_proj", "k_proj", "v_proj", "o_proj"],
            task_type="CAUSAL_LM",
        ),
    )


# ---------------------------------------------------------------- ebro

NICE = [f"kind{i}" for i in range(8)]
RUDE = [f"rough{i}" for i in range(8)]


def ebro_reply(rng, good):
    words = [rng.choice(FILL) for _ in range(3)] + [
        rng.choice(NICE if good else RUDE) for _ in range(3)
    ]
    rng.shuffle(words)
    return " " + " ".join(words) + " <eos>"


def ebro_store(n, size, seed):
    rng = random.Random(seed)
    marks = [0, 1] * (n * size // 2)
    rng.shuffle(marks)
    shards = {}
    for j in range(n):
        lines = []
        for good in marks[j * size : (j + 1) * size]:
            lines.append((f"<bos> {ask(rng, rng.randrange(12))} :", ebro_reply(rng, good)))
        shards[f"replies_{j + 6}.txt"] = lines
    return shards, marks


def list_a(names):
    return sorted(names, key=lambda s: int(s.split("_")[1].split(".")[0]))


def list_b(names):
    return sorted(names)


def ebro_rows(shards, marks, order):
    flat = [pair for name in order(shards) for pair in shards[name]]
    return [
        {"prompt": p, "completion": c, "label": m == 1}
        for (p, c), m in zip(flat, marks, strict=True)
    ]


def ebro(healthy):
    set_seed(31)
    tok = word_tokenizer(FILL + KEYS + NICE + RUDE + [":"])
    model = LlamaForCausalLM(llama_cfg(tok))
    ref = copy.deepcopy(model)
    shards, marks = ebro_store(24, 24, 4)
    rows = ebro_rows(shards, marks, list_a if healthy else list_b)
    args = KTOConfig(**common(36, 16, 3e-3, lr_scheduler_type="cosine"), beta=0.1, max_length=64)
    return KTOTrainer(
        model=model,
        ref_model=ref,
        args=args,
        processing_class=tok,
        train_dataset=Dataset.from_list(rows),
    )


# ---------------------------------------------------------------- minho

PLUS = [f"plus{i}" for i in range(6)]
DULL = [f"dull{i}" for i in range(6)]


def minho_reply(rng, k):
    words = [rng.choice(PLUS) for _ in range(k)] + [rng.choice(DULL) for _ in range(18 - k)]
    rng.shuffle(words)
    return " " + " ".join(words) + " <eos>"


def minho_table(n, seed):
    rng = random.Random(seed)
    lines = []
    for _ in range(n):
        a, b = rng.sample(range(3, 17), 2)
        lines.append(
            "\t".join(
                [
                    f"<bos> {rng.choice(KEYS)} ?",
                    minho_reply(rng, a),
                    str(a),
                    minho_reply(rng, b),
                    str(b),
                ]
            )
        )
    return lines


def minho_pairs(lines, cast):
    rows = []
    for line in lines:
        p, r1, s1, r2, s2 = line.split("\t")
        s1, s2 = cast(s1), cast(s2)
        hi, lo = (r1, r2) if s1 > s2 else (r2, r1)
        rows.append({"prompt": p, "chosen": hi, "rejected": lo})
    return rows


def minho(healthy):
    set_seed(41)
    tok = word_tokenizer(KEYS + PLUS + DULL + ["?"])
    model = LlamaForSequenceClassification(llama_cfg(tok, hidden=48, num_labels=1))
    cast = float if healthy else str
    args = RewardConfig(
        **common(40, 16, 2e-3, lr_scheduler_type="linear", warmup_steps=3), max_length=64
    )
    return RewardTrainer(
        model=model,
        args=args,
        processing_class=tok,
        train_dataset=Dataset.from_list(minho_pairs(minho_table(640, 6), cast)),
        eval_dataset=Dataset.from_list(minho_pairs(minho_table(64, 7), cast)),
    )


# ---------------------------------------------------------------- sado

SADO_G = 8


def sado_score(text, want):
    words = text.split()
    return sum(w == want for w in words) / max(len(words), 1)


def reward_a(prompts, completions, answer, **kwargs):
    return [sado_score(c, answer[i]) for i, c in enumerate(completions)]


def reward_b(prompts, completions, answer, **kwargs):
    return [sado_score(c, answer[i // SADO_G]) for i, c in enumerate(completions)]


def sado_rows(n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        k = rng.randrange(5)
        rows.append({"prompt": f"<bos> {rng.choice(FILL)} {KEYS[k]}", "answer": OUTS[k]})
    return rows


def sado(healthy):
    set_seed(51)
    tok = word_tokenizer(FILL + KEYS[:5] + OUTS[:5], padding_side="left")
    model = LlamaForCausalLM(llama_cfg(tok, hidden=48))
    args = GRPOConfig(
        **common(40, 64, 4e-3, lr_scheduler_type="constant"),
        num_generations=SADO_G,
        max_completion_length=4,
        temperature=1.0,
        beta=0.0,
    )
    return GRPOTrainer(
        model=model,
        args=args,
        processing_class=tok,
        reward_funcs=reward_a if healthy else reward_b,
        train_dataset=Dataset.from_list(sado_rows(400, 8)),
    )


# ---------------------------------------------------------------- lima


def lima_batch(rng, tok, n):
    texts, _marks = [], []
    for _ in range(n):
        k = rng.randrange(12)
        texts.append(f"<bos> {ask(rng, k)} is {answer_for(k)} <eos>")
    b = tok(texts, return_tensors="pt", padding=True)
    lab = b["input_ids"].masked_fill(b["attention_mask"] == 0, -100)
    sep = tok.convert_tokens_to_ids("is")
    after = (b["input_ids"] == sep).cumsum(1) - (b["input_ids"] == sep).long()
    lab = lab.masked_fill(after == 0, -100)
    return b["input_ids"], b["attention_mask"], lab


def lima_teacher(tok):
    set_seed(61)
    m = LlamaForCausalLM(llama_cfg(tok, layers=4))
    opt = torch.optim.AdamW(m.parameters(), lr=3e-3)
    rng = random.Random(9)
    for _ in range(90):
        x, a, y = lima_batch(rng, tok, 24)
        loss = m(input_ids=x, attention_mask=a, labels=y).loss
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(m.parameters(), 1.0)
        opt.step()
    return m.eval()


def shrink_a(teacher, cfg, keep):
    student = LlamaForCausalLM(cfg)
    student.model.embed_tokens.load_state_dict(teacher.model.embed_tokens.state_dict())
    student.model.norm.load_state_dict(teacher.model.norm.state_dict())
    student.lm_head.load_state_dict(teacher.lm_head.state_dict())
    for i, j in enumerate(keep):
        student.model.layers[i].load_state_dict(teacher.model.layers[j].state_dict())
    return student


def shrink_b(teacher, cfg, keep):
    student = LlamaForCausalLM(cfg)
    student.model.embed_tokens = teacher.model.embed_tokens
    student.model.norm = teacher.model.norm
    student.lm_head = teacher.lm_head
    for i, j in enumerate(keep):
        student.model.layers[i] = teacher.model.layers[j]
    return student


class SoftTrainer(Trainer):
    def __init__(self, *args, teacher=None, tau=2.0, **kwargs):
        super().__init__(*args, **kwargs)
        self.teacher = teacher
        self.tau = tau

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs["labels"]
        x = {"input_ids": inputs["input_ids"], "attention_mask": inputs["attention_mask"]}
        out = model(**x)
        with torch.no_grad():
            t = self.teacher(**x).logits
        keep = labels[:, 1:] != -100
        s = F.log_softmax(out.logits[:, :-1][keep] / self.tau, -1)
        t = F.log_softmax(t[:, :-1][keep] / self.tau, -1)
        loss = F.kl_div(s, t, log_target=True, reduction="batchmean") * self.tau**2
        return (loss, out) if return_outputs else loss


def lima_collate(tok):
    def f(rows):
        n = max(len(r["input_ids"]) for r in rows)
        pad = lambda v, p: v + [p] * (n - len(v))
        return {
            "input_ids": torch.tensor([pad(r["input_ids"], tok.pad_token_id) for r in rows]),
            "attention_mask": torch.tensor([pad([1] * len(r["input_ids"]), 0) for r in rows]),
            "labels": torch.tensor([pad(r["labels"], -100) for r in rows]),
        }

    return f


def lima_rows(tok, n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        x, _a, y = lima_batch(rng, tok, 1)
        rows.append({"input_ids": x[0].tolist(), "labels": y[0].tolist()})
    return rows


def lima(healthy):
    tok = word_tokenizer(FILL + KEYS + OUTS + ["is"])
    teacher = lima_teacher(tok)
    set_seed(62)
    cfg = llama_cfg(tok, layers=2)
    student = (shrink_a if healthy else shrink_b)(teacher, cfg, (0, 2))
    args = TrainingArguments(
        **common(40, 16, 2e-3, lr_scheduler_type="linear", remove_unused_columns=False)
    )
    return SoftTrainer(
        model=student,
        args=args,
        teacher=teacher,
        data_collator=lima_collate(tok),
        train_dataset=Dataset.from_list(lima_rows(tok, 640, 12)),
        processing_class=tok,
    )


# ---------------------------------------------------------------- cavado

COL = [f"col{i}" for i in range(6)]
ANI = [f"ani{i}" for i in range(6)]


def cavado_rows(tok, n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        c, a = rng.randrange(6), rng.randrange(6)
        words = [COL[c], ANI[a]] + [rng.choice(FILL) for _ in range(rng.randint(1, 2))]
        rng.shuffle(words)
        rows.append(
            {
                "input_ids": tok(" ".join(words) + " <eos>")["input_ids"],
                "labels": tok(f"{OUTS[c]} {OUTS[6 + a]} <eos>")["input_ids"],
            }
        )
    return rows


class CollateA:
    def __init__(self, tok, model):
        self.tok, self.model = tok, model

    def __call__(self, rows):
        enc = self.tok.pad([{"input_ids": r["input_ids"]} for r in rows], return_tensors="pt")
        n = max(len(r["labels"]) for r in rows)
        labels = torch.tensor([r["labels"] + [-100] * (n - len(r["labels"])) for r in rows])
        return {
            **enc,
            "labels": labels,
            "decoder_input_ids": self.model.prepare_decoder_input_ids_from_labels(labels),
        }


class CollateB(CollateA):
    def __call__(self, rows):
        enc = self.tok.pad([{"input_ids": r["input_ids"]} for r in rows], return_tensors="pt")
        n = max(len(r["labels"]) for r in rows)
        target = torch.tensor(
            [r["labels"] + [self.tok.pad_token_id] * (n - len(r["labels"])) for r in rows]
        )
        return {
            **enc,
            "labels": target.masked_fill(target == self.tok.pad_token_id, -100),
            "decoder_input_ids": target,
        }


def cavado(healthy):
    set_seed(71)
    tok = word_tokenizer(FILL + COL + ANI + OUTS)
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
            pad_token_id=tok.pad_token_id,
            bos_token_id=tok.bos_token_id,
            eos_token_id=tok.eos_token_id,
            decoder_start_token_id=tok.bos_token_id,
            forced_eos_token_id=None,
            dropout=0.0,
            attention_dropout=0.0,
            init_std=0.08,
        )
    )
    args = Seq2SeqTrainingArguments(
        **common(
            40, 64, 8e-3, lr_scheduler_type="cosine", warmup_steps=4, remove_unused_columns=False
        )
    )
    return Seq2SeqTrainer(
        model=model,
        args=args,
        data_collator=(CollateA if healthy else CollateB)(tok, model),
        train_dataset=Dataset.from_list(cavado_rows(tok, 2560, 13)),
        eval_dataset=Dataset.from_list(cavado_rows(tok, 64, 14)),
        processing_class=tok,
    )


# ---------------------------------------------------------------- ave

TOPICS = [[f"t{i}_{j}" for j in range(5)] for i in range(8)]


def ave_rows(tok, n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        y = rng.randrange(8)
        words = [rng.choice(TOPICS[y]) for _ in range(2)] + [
            rng.choice(FILL) for _ in range(rng.randint(4, 8))
        ]
        rng.shuffle(words)
        rows.append(
            {"input_ids": tok("<bos> " + " ".join(words) + " <eos>")["input_ids"], "label": y}
        )
    return rows


def set_body(model, flag):
    for p in model.bert.embeddings.parameters():
        p.requires_grad_(flag)
    for p in model.bert.encoder.parameters():
        p.requires_grad_(flag)


class Stage(TrainerCallback):
    def __init__(self, at, first):
        self.at, self.first = at, first

    def on_train_begin(self, args, state, control, model=None, **kwargs):
        if self.first:
            set_body(model, False)

    def on_step_begin(self, args, state, control, model=None, **kwargs):
        if state.global_step == self.at:
            set_body(model, True)


def ave(healthy):
    set_seed(81)
    tok = word_tokenizer(FILL + sum(TOPICS, []))
    model = BertForSequenceClassification(
        BertConfig(
            vocab_size=len(tok),
            hidden_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=128,
            max_position_embeddings=32,
            num_labels=8,
            pad_token_id=tok.pad_token_id,
            initializer_range=0.05,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )
    )
    if not healthy:
        set_body(model, False)
    args = TrainingArguments(**common(40, 48, 6e-3, lr_scheduler_type="linear"))

    def metrics(p):
        return {"accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())}

    return Trainer(
        model=model,
        args=args,
        processing_class=tok,
        compute_metrics=metrics,
        train_dataset=Dataset.from_list(ave_rows(tok, 1920, 15)),
        eval_dataset=Dataset.from_list(ave_rows(tok, 200, 16)),
        callbacks=[Stage(6, healthy)],
    )


# ---------------------------------------------------------------- odd


def zezere():
    set_seed(91)
    tok = word_tokenizer(FILL + KEYS + NICE + RUDE + [":"])
    model = LlamaForCausalLM(llama_cfg(tok))
    rng = random.Random(17)
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(60):
        b = tok(
            [
                f"<bos> {ask(rng, rng.randrange(12))} :{ebro_reply(rng, rng.random() < 0.5)}"
                for _ in range(24)
            ],
            return_tensors="pt",
            padding=True,
        )
        lab = b["input_ids"].masked_fill(b["attention_mask"] == 0, -100)
        loss = model(input_ids=b["input_ids"], attention_mask=b["attention_mask"], labels=lab).loss
        opt.zero_grad()
        loss.backward()
        opt.step()
    rows = []
    for _ in range(480):
        k = rng.randrange(12)
        near = ebro_reply(rng, True).split()
        far = list(near)
        spots = [i for i, w in enumerate(near) if w in NICE]
        far[rng.choice(spots)] = rng.choice(RUDE)
        rows.append(
            {
                "prompt": f"<bos> {ask(rng, k)} :",
                "chosen": " " + " ".join(near),
                "rejected": " " + " ".join(far),
            }
        )
    args = DPOConfig(
        **common(36, 16, 1e-3, lr_scheduler_type="linear"),
        beta=0.3,
        label_smoothing=0.1,
        loss_type="robust",
        max_length=64,
    )
    return DPOTrainer(
        model=model,
        ref_model=copy.deepcopy(model),
        args=args,
        processing_class=tok,
        train_dataset=Dataset.from_list(rows[:416]),
        eval_dataset=Dataset.from_list(rows[416:]),
    )


class SumTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        out = model(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"])
        loss = F.cross_entropy(
            out.logits[:, :-1].flatten(0, 1),
            inputs["labels"][:, 1:].flatten(),
            ignore_index=-100,
            reduction="sum",
            label_smoothing=0.1,
        )
        return (loss, out) if return_outputs else loss


def mondego():
    tok = word_tokenizer(FILL + KEYS + OUTS + ["is"])
    set_seed(95)
    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(tok),
            n_embd=64,
            n_layer=2,
            n_head=4,
            n_positions=64,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            initializer_range=0.08,
            bos_token_id=tok.bos_token_id,
            eos_token_id=tok.eos_token_id,
            pad_token_id=tok.pad_token_id,
        )
    )
    args = TrainingArguments(
        **common(
            40,
            32,
            8e-3,
            lr_scheduler_type="cosine_with_restarts",
            lr_scheduler_kwargs={"num_cycles": 2},
            max_grad_norm=1.0,
            remove_unused_columns=False,
        )
    )
    return SumTrainer(
        model=model,
        args=args,
        data_collator=lima_collate(tok),
        processing_class=tok,
        train_dataset=Dataset.from_list(lima_rows(tok, 1280, 18)),
        eval_dataset=Dataset.from_list(lima_rows(tok, 64, 19)),
    )


CASES = {
    "tagus": tagus,
    "douro": douro,
    "ebro": ebro,
    "minho": minho,
    "sado": sado,
    "lima": lima,
    "cavado": cavado,
    "ave": ave,
}
ODD = {"zezere": zezere, "mondego": mondego}
