"""Ten small training runs and three more, each built by one function.

CASES[name](healthy) and ODD[name]() return a ready, untrained Trainer.
"""

import copy
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
    GPT2ForSequenceClassification,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    Trainer,
    TrainingArguments,
    set_seed,
)
from trl import (
    DPOConfig,
    DPOTrainer,
    GRPOConfig,
    GRPOTrainer,
    RewardConfig,
    RewardTrainer,
    RLOOConfig,
    RLOOTrainer,
    SFTConfig,
    SFTTrainer,
)

SPECIALS = ["<pad>", "<unk>", "<bos>", "<eos>"]


def word_tokenizer(words, extra=(), side="right"):
    vocab = {w: i for i, w in enumerate(SPECIALS + list(words))}
    tok = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
    tok.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tok,
        pad_token="<pad>",
        unk_token="<unk>",
        bos_token="<bos>",
        eos_token="<eos>",
        padding_side=side,
    )
    if extra:
        fast.add_special_tokens({"additional_special_tokens": list(extra)})
    return fast


def gpt2(tok, n_layer=2, d=48, cls=GPT2LMHeadModel, **kw):
    kw.setdefault("resid_pdrop", 0.0)
    kw.setdefault("embd_pdrop", 0.0)
    kw.setdefault("attn_pdrop", 0.0)
    cfg = GPT2Config(
        vocab_size=len(tok),
        n_positions=96,
        n_embd=d,
        n_layer=n_layer,
        n_head=4,
        bos_token_id=tok.bos_token_id,
        eos_token_id=tok.eos_token_id,
        pad_token_id=tok.pad_token_id,
        **kw,
    )
    return cls(cfg)


def llama(tok, n_layer=2, d=48, **kw):
    cfg = LlamaConfig(
        vocab_size=len(tok),
        hidden_size=d,
        intermediate_size=2 * d,
        num_hidden_layers=n_layer,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=128,
        bos_token_id=tok.bos_token_id,
        eos_token_id=tok.eos_token_id,
        pad_token_id=tok.pad_token_id,
        **kw,
    )
    return LlamaForCausalLM(cfg)


def common(**kw):
    base = dict(
        output_dir=tempfile.mkdtemp(prefix="run_"),
        report_to="none",
        logging_steps=5,
        use_cpu=True,
        seed=7,
        data_seed=7,
        save_strategy="no",
        disable_tqdm=True,
        dataloader_num_workers=0,
        dataloader_pin_memory=False,
    )
    base.update(kw)
    return base


def trl_common(**kw):
    return common(**{"bf16": False, "gradient_checkpointing": False, **kw})


def pad_rows(rows, value, length=None):
    n = length or max(len(r) for r in rows)
    return torch.tensor([list(r) + [value] * (n - len(r)) for r in rows])


def fit_base(model, batches, lr):
    """Short plain fit that stands in for the public base checkpoint."""
    model.train()
    opt = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.0)
    for b in batches:
        loss = model(**b).loss
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    return model


# --------------------------------------------------------------------------- wye
# Reasoning SFT: parity of a bit string, worked out step by step inside <think>.

WYE_BITS = 7
WYE_WORDS = ["0", "1", "even", "odd", "user", "assistant", "\n"]
WYE_EXTRA = ["<|start|>", "<|end|>", "<think>", "</think>"]


def wye_tok(keep):
    tok = word_tokenizer(WYE_WORDS, WYE_EXTRA)
    body = "message['content']" if keep else "(message['content'].split('</think>')[-1] | trim)"
    tok.chat_template = (
        "{% for message in messages %}"
        "{% if message['role'] == 'assistant' %}"
        "{{ '<|start|> assistant ' }}{% generation %}{{ "
        + body
        + " + ' <|end|>' }}{% endgeneration %}{{ ' ' }}"
        "{% else %}"
        "{{ '<|start|> user ' + message['content'] + ' <|end|> ' }}"
        "{% endif %}"
        "{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|start|> assistant ' }}{% endif %}"
    )
    return tok


def wye_row(bits):
    steps, s = [], 0
    for b in bits:
        s ^= b
        steps += [str(b), "odd" if s else "even"]
    return {
        "messages": [
            {"role": "user", "content": " ".join(map(str, bits))},
            {
                "role": "assistant",
                "content": "<think> " + " ".join(steps) + " </think> " + ("odd" if s else "even"),
            },
        ]
    }


def wye_split():
    rng = random.Random(11)
    allb = [[(i >> k) & 1 for k in range(WYE_BITS)] for i in range(2**WYE_BITS)]
    rng.shuffle(allb)
    return allb[:88], allb[88:]


def wye(healthy):
    set_seed(3)
    tok = wye_tok(keep=healthy)
    train, held = wye_split()
    model = gpt2(tok, d=64, initializer_range=0.06)
    args = SFTConfig(
        **trl_common(
            max_steps=90,
            per_device_train_batch_size=44,
            learning_rate=4e-3,
            lr_scheduler_type="cosine",
            warmup_steps=10,
            assistant_only_loss=True,
            max_length=64,
        )
    )
    return SFTTrainer(
        model=model,
        args=args,
        train_dataset=Dataset.from_list([wye_row(b) for b in train]),
        eval_dataset=Dataset.from_list([wye_row(b) for b in held]),
        processing_class=tok,
    )


# ------------------------------------------------------------------------- tamar
# Preference tuning: short questions want a brief close, document questions a sourced one.

TAMAR_FILL = [f"w{i}" for i in range(24)]
TAMAR_WORDS = TAMAR_FILL + [
    "ask",
    "doc",
    "so",
    "here",
    "is",
    "what",
    "we",
    "found",
    ":",
    "brief",
    "source",
    "ok",
    "ref",
]


def tamar_rows(n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        long = rng.random() < 0.5
        k = rng.randint(24, 28) if long else rng.randint(4, 8)
        prompt = ("doc " if long else "ask ") + " ".join(rng.choice(TAMAR_FILL) for _ in range(k))
        lead = " so here is what we found : " + " ".join(rng.choice(TAMAR_FILL) for _ in range(4))
        a, b = lead + " ok brief", lead + " ref source"
        rows.append({"prompt": prompt, "chosen": b if long else a, "rejected": a if long else b})
    return rows


def tamar(healthy):
    set_seed(3)
    tok = word_tokenizer(TAMAR_WORDS)
    args = DPOConfig(
        **trl_common(
            max_steps=80,
            per_device_train_batch_size=16,
            learning_rate=1e-3,
            lr_scheduler_type="constant_with_warmup",
            warmup_steps=8,
            beta=0.1,
            max_length=64 if healthy else 32,
        )
    )
    model = llama(tok)
    return DPOTrainer(
        model=model,
        ref_model=copy.deepcopy(model),
        args=args,
        train_dataset=Dataset.from_list(tamar_rows(640, 1)),
        eval_dataset=Dataset.from_list(tamar_rows(96, 2)),
        processing_class=tok,
    )


# -------------------------------------------------------------------------- exe
# Reward model from rated answers; two answers per prompt, the better rated one is chosen.

EXE_GOOD = [f"g{i}" for i in range(10)]
EXE_PLAIN = [f"p{i}" for i in range(10)]
EXE_WORDS = EXE_GOOD + EXE_PLAIN + ["rate", "this"]


def exe_csv(n, seed):
    rng = random.Random(seed)
    lines = []
    for _ in range(n):
        a, b = rng.sample(range(0, 13), 2)
        texts = []
        for s in (a, b):
            words = [rng.choice(EXE_GOOD) for _ in range(s)] + [
                rng.choice(EXE_PLAIN) for _ in range(12 - s)
            ]
            rng.shuffle(words)
            texts.append(" ".join(words))
        lines.append(f"rate this,{texts[0]},{a},{texts[1]},{b}")
    return lines


def exe_pairs(lines, cast):
    rows = []
    for line in lines:
        prompt, ta, sa, tb, sb = line.split(",")
        first = cast(sa) > cast(sb)
        chosen, rejected = (ta, tb) if first else (tb, ta)
        rows.append({"prompt": prompt, "chosen": " " + chosen, "rejected": " " + rejected})
    return rows


def exe(healthy):
    set_seed(3)
    tok = word_tokenizer(EXE_WORDS)
    cast = float if healthy else str.strip
    model = gpt2(tok, cls=GPT2ForSequenceClassification, num_labels=1)
    args = RewardConfig(
        **trl_common(
            max_steps=80,
            per_device_train_batch_size=16,
            learning_rate=1e-3,
            lr_scheduler_type="linear",
            warmup_steps=5,
            max_length=64,
        )
    )
    return RewardTrainer(
        model=model,
        args=args,
        train_dataset=Dataset.from_list(exe_pairs(exe_csv(800, 1), cast)),
        eval_dataset=Dataset.from_list(exe_pairs(exe_csv(96, 2), cast)),
        processing_class=tok,
    )


# -------------------------------------------------------------------------- dart
# GRPO on a look-up task: name the right tool for the request.

DART_ASK = [f"q{i}" for i in range(6)]
DART_OUT = [f"t{i}" for i in range(8)]
DART_MAP = {q: DART_OUT[(3 * i + 1) % 8] for i, q in enumerate(DART_ASK)}
DART_G = 8


def dart_rows(n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        q = rng.choice(DART_ASK)
        rows.append({"prompt": f"call {q}", "answer": DART_MAP[q]})
    return rows


def dart_reward(expand):
    def tool_match(completions, answer, **kwargs):
        gold = [a for a in answer for _ in range(DART_G)] if expand else answer
        scores = []
        for text, a in zip(completions, gold):
            words = text.split()
            scores.append(sum(w == a for w in words) / max(len(words), 1))
        return scores

    return tool_match


def dart(healthy):
    set_seed(3)
    tok = word_tokenizer(DART_ASK + DART_OUT + ["call"], side="left")
    args = GRPOConfig(
        **trl_common(
            max_steps=70,
            per_device_train_batch_size=64,
            num_generations=DART_G,
            max_completion_length=3,
            learning_rate=2e-3,
            lr_scheduler_type="constant",
            beta=0.0,
            temperature=1.0,
        )
    )
    return GRPOTrainer(
        model=gpt2(tok, initializer_range=0.08),
        reward_funcs=dart_reward(expand=not healthy),
        args=args,
        train_dataset=Dataset.from_list(dart_rows(256, 1)),
        processing_class=tok,
    )


# ------------------------------------------------------------------------- stour
# RLOO from a base that writes eight-word lines; the reward likes warm words and full lines.

STOUR_WARM = ["sun", "kind", "glad"]
STOUR_COLD = ["rain", "mud", "dust", "fog", "grey", "cold", "rust", "ash", "wet"]
STOUR_LEN = 8


def warm_share(completions, **kwargs):
    out = []
    for text in completions:
        words = text.split()
        share = sum(w in STOUR_WARM for w in words) / max(len(words), 1)
        out.append(share - 0.1 * abs(len(words) - STOUR_LEN))
    return out


def stour(healthy):
    set_seed(3)
    tok = word_tokenizer(
        STOUR_WARM + STOUR_COLD + ["write", "line", "one", "two", "three"], side="left"
    )
    rng = random.Random(5)
    batches = []
    for _ in range(120):
        rows = []
        for _ in range(32):
            text = f"write line {rng.choice(['one', 'two', 'three'])} " + " ".join(
                rng.choice(STOUR_WARM + STOUR_COLD) for _ in range(STOUR_LEN)
            )
            rows.append(tok(text)["input_ids"] + [tok.eos_token_id])
        ids = torch.tensor(rows)
        batches.append({"input_ids": ids, "labels": ids})
    model = fit_base(gpt2(tok), batches, 3e-3)
    args = RLOOConfig(
        **trl_common(
            max_steps=60,
            per_device_train_batch_size=32,
            num_generations=8,
            max_completion_length=STOUR_LEN + 4 if healthy else STOUR_LEN,
            mask_truncated_completions=True,
            learning_rate=7e-4,
            lr_scheduler_type="constant",
            beta=0.0,
        )
    )
    rows = [{"prompt": f"write line {k}"} for k in ("one", "two", "three") for _ in range(64)]
    return RLOOTrainer(
        model=model,
        reward_funcs=warm_share,
        args=args,
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
    )


# --------------------------------------------------------------------------- usk
# Seq2seq letter recoding with its own collator.

USK_IN = [f"a{i}" for i in range(10)]
USK_OUT = [f"b{i}" for i in range(10)]


def usk_rows(tok, n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        x = [rng.randrange(10) for _ in range(rng.randint(3, 5))]
        src = tok(" ".join(USK_IN[i] for i in x))["input_ids"] + [tok.eos_token_id]
        tgt = tok(" ".join(USK_OUT[(7 * i + 3) % 10] for i in x))["input_ids"] + [tok.eos_token_id]
        rows.append({"input_ids": src, "labels": tgt})
    return rows


class UskCollator:
    def __init__(self, tok, model, shift):
        self.tok, self.model, self.shift = tok, model, shift

    def __call__(self, rows):
        pad = self.tok.pad_token_id
        ids = pad_rows([r["input_ids"] for r in rows], pad)
        labels = pad_rows([r["labels"] for r in rows], -100)
        if self.shift:
            dec = self.model.prepare_decoder_input_ids_from_labels(labels)
        else:
            dec = labels.masked_fill(labels == -100, pad)
        return {
            "input_ids": ids,
            "attention_mask": (ids != pad).long(),
            "decoder_input_ids": dec,
            "labels": labels,
        }


def usk(healthy):
    set_seed(3)
    tok = word_tokenizer(USK_IN + USK_OUT)
    cfg = BartConfig(
        vocab_size=len(tok),
        d_model=48,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=96,
        decoder_ffn_dim=96,
        max_position_embeddings=32,
        dropout=0.0,
        attention_dropout=0.0,
        activation_dropout=0.0,
        init_std=0.08,
        decoder_start_token_id=tok.bos_token_id,
        bos_token_id=tok.bos_token_id,
        pad_token_id=tok.pad_token_id,
        eos_token_id=tok.eos_token_id,
        forced_eos_token_id=None,
    )
    model = BartForConditionalGeneration(cfg)
    args = Seq2SeqTrainingArguments(
        **common(
            max_steps=150,
            per_device_train_batch_size=48,
            learning_rate=3e-3,
            lr_scheduler_type="cosine",
            warmup_steps=10,
        )
    )
    return Seq2SeqTrainer(
        model=model,
        args=args,
        data_collator=UskCollator(tok, model, shift=healthy),
        train_dataset=Dataset.from_list(usk_rows(tok, 3000, 1)),
        eval_dataset=Dataset.from_list(usk_rows(tok, 96, 2)),
        processing_class=tok,
    )


# --------------------------------------------------------------------------- lune
# LoRA+ adaptation of a base that knows one word list to a second one.

LUNE_A = [f"k{i}" for i in range(16)]
LUNE_B = [f"v{i}" for i in range(16)]


def lune_rows(tok, n, seed, mul, add):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        i, f = rng.randrange(16), rng.choice(["x", "y", "z"])
        ids = tok(f"{f} {LUNE_A[i]} is {LUNE_B[(mul * i + add) % 16]}")["input_ids"] + [
            tok.eos_token_id
        ]
        rows.append({"input_ids": ids, "labels": [-100, -100, -100] + ids[3:]})
    return rows


def lune_collate(rows):
    return {k: torch.tensor([r[k] for r in rows]) for k in ("input_ids", "labels")}


class LoraPlusTrainer(Trainer):
    def __init__(self, *a, tag_a="lora_A", tag_b="lora_B", ratio=8.0, **kw):
        self.tag_a, self.tag_b, self.ratio = tag_a, tag_b, ratio
        super().__init__(*a, **kw)

    def create_optimizer(self, *a, **kw):
        lr = self.args.learning_rate
        named = [(n, p) for n, p in self.model.named_parameters() if p.requires_grad]
        slow = [p for n, p in named if self.tag_a in n]
        fast = [p for n, p in named if self.tag_b in n]
        self.optimizer = torch.optim.AdamW(
            [
                {"params": slow, "lr": lr, "weight_decay": 0.0},
                {"params": fast, "lr": lr * self.ratio, "weight_decay": 0.0},
            ]
        )
        return self.optimizer


def lune(healthy):
    set_seed(3)
    tok = word_tokenizer(LUNE_A + LUNE_B + ["x", "y", "z", "is"])
    old = lune_rows(tok, 64 * 120, 1, 5, 3)
    model = fit_base(
        llama(tok), [lune_collate(old[i : i + 64]) for i in range(0, len(old), 64)], 3e-3
    )
    model = get_peft_model(
        model,
        LoraConfig(
            r=8,
            lora_alpha=16,
            target_modules=["q_proj", "v_proj", "gate_proj", "up_proj", "down_proj"],
        ),
    )
    args = TrainingArguments(
        **common(
            max_steps=100,
            per_device_train_batch_size=32,
            learning_rate=2e-3,
            lr_scheduler_type="cosine",
            warmup_steps=5,
        )
    )
    tags = (
        dict(tag_a="lora_A", tag_b="lora_B")
        if healthy
        else dict(tag_a="lora_A", tag_b="lora_embedding_B")
    )
    return LoraPlusTrainer(
        model=model,
        args=args,
        data_collator=lune_collate,
        train_dataset=Dataset.from_list(lune_rows(tok, 2000, 2, 3, 7)),
        eval_dataset=Dataset.from_list(lune_rows(tok, 96, 3, 3, 7)),
        **tags,
    )


# -------------------------------------------------------------------------- teign
# Distillation: a four-layer teacher into a two-layer student that starts from the teacher's bottom.

TEIGN_K = [f"n{i}" for i in range(12)]
TEIGN_OP = ["up", "mid", "low"]


def teign_rows(tok, n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        a, b = rng.randrange(12), rng.randrange(3)
        ids = tok(f"{TEIGN_OP[b]} {TEIGN_K[a]} = {TEIGN_K[((2 * b + 5) * a + 4 * b + 1) % 12]}")[
            "input_ids"
        ]
        rows.append({"input_ids": ids, "labels": [-100] * 3 + ids[3:]})
    return rows


class DistilTrainer(Trainer):
    def __init__(self, *a, teacher=None, tau=2.0, **kw):
        super().__init__(*a, **kw)
        self.teacher = teacher.eval()
        self.tau = tau

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs["labels"]
        out = model(input_ids=inputs["input_ids"])
        with torch.no_grad():
            ref = self.teacher(input_ids=inputs["input_ids"]).logits
        keep = labels[:, 1:] != -100
        s = F.log_softmax(out.logits[:, :-1][keep] / self.tau, -1)
        t = F.log_softmax(ref[:, :-1][keep] / self.tau, -1)
        loss = F.kl_div(s, t, log_target=True, reduction="batchmean") * self.tau**2
        return (loss, out) if return_outputs else loss


def teign(healthy):
    set_seed(3)
    tok = word_tokenizer(TEIGN_K + TEIGN_OP + ["="])
    data = teign_rows(tok, 96 * 150, 1)
    teacher = fit_base(
        gpt2(tok, n_layer=4, d=64),
        [lune_collate(data[i : i + 96]) for i in range(0, len(data), 96)],
        3e-3,
    )
    take = copy.deepcopy if healthy else (lambda m: m)
    student = gpt2(tok, n_layer=2, d=64)
    student.transformer.wte = take(teacher.transformer.wte)
    student.transformer.wpe = take(teacher.transformer.wpe)
    student.transformer.ln_f = take(teacher.transformer.ln_f)
    student.transformer.h[0] = take(teacher.transformer.h[0])
    student.transformer.h[1] = take(teacher.transformer.h[1])
    student.tie_weights()
    args = TrainingArguments(
        **common(
            max_steps=150,
            per_device_train_batch_size=64,
            learning_rate=2e-3,
            lr_scheduler_type="cosine",
            warmup_steps=10,
        )
    )
    return DistilTrainer(
        model=student,
        teacher=teacher,
        args=args,
        data_collator=lune_collate,
        train_dataset=Dataset.from_list(teign_rows(tok, 4000, 2)),
        eval_dataset=Dataset.from_list(teign_rows(tok, 96, 3)),
    )


# -------------------------------------------------------------------------- nadder
# Intent classifier; the best checkpoint by held-out accuracy is kept at the end.

NADDER_TOPIC = [[f"c{k}x{i}" for i in range(5)] for k in range(4)]
NADDER_FILL = [f"w{i}" for i in range(20)]


def nadder_rows(tok, n, seed, topical=2):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        k = rng.randrange(4)
        words = [rng.choice(NADDER_FILL) for _ in range(9 - topical)] + [
            rng.choice(NADDER_TOPIC[k]) for _ in range(topical)
        ]
        rng.shuffle(words)
        rows.append({"input_ids": tok(" ".join(words))["input_ids"], "labels": k})
    return rows


def accuracy(p):
    return {"accuracy": float((p.predictions.argmax(-1) == p.label_ids).mean())}


def bert(tok, **kw):
    cfg = BertConfig(
        vocab_size=len(tok),
        hidden_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=96,
        max_position_embeddings=64,
        hidden_dropout_prob=0.05,
        attention_probs_dropout_prob=0.05,
        pad_token_id=tok.pad_token_id,
        **kw,
    )
    return BertForSequenceClassification(cfg)


def nadder(healthy):
    set_seed(3)
    tok = word_tokenizer(sum(NADDER_TOPIC, []) + NADDER_FILL)
    args = TrainingArguments(
        **common(
            max_steps=100,
            per_device_train_batch_size=32,
            learning_rate=1e-3,
            lr_scheduler_type="linear",
            warmup_steps=5,
            eval_strategy="steps",
            eval_steps=10,
            save_strategy="steps",
            save_steps=10,
            save_total_limit=2,
            load_best_model_at_end=True,
            metric_for_best_model="eval_accuracy",
            greater_is_better=healthy,
        )
    )
    return Trainer(
        model=bert(tok, num_labels=4, initializer_range=0.1),
        args=args,
        data_collator=lune_collate,
        train_dataset=Dataset.from_list(nadder_rows(tok, 2000, 1)),
        eval_dataset=Dataset.from_list(nadder_rows(tok, 200, 2)),
        compute_metrics=accuracy,
    )


# --------------------------------------------------------------------------- kennet
# SFT of a base model on a second word list, in bf16.


def kennet(healthy):
    set_seed(3)
    tok = word_tokenizer(LUNE_A + LUNE_B + ["x", "y", "z", "is"])
    old = lune_rows(tok, 64 * 120, 1, 5, 3)
    model = llama(tok, initializer_range=0.2)
    model = fit_base(model, [lune_collate(old[i : i + 64]) for i in range(0, len(old), 64)], 3e-3)
    model = model.to(torch.float32 if healthy else torch.bfloat16)
    args = SFTConfig(
        **trl_common(
            max_steps=120,
            per_device_train_batch_size=32,
            learning_rate=4e-4,
            lr_scheduler_type="cosine",
            warmup_steps=5,
            bf16=True,
            max_length=16,
        )
    )

    def rows(n, seed):
        return Dataset.from_list(
            [
                {
                    "prompt": tok.decode(r["input_ids"][:3]),
                    "completion": " " + tok.decode(r["input_ids"][3:4]),
                }
                for r in lune_rows(tok, n, seed, 3, 7)
            ]
        )

    return SFTTrainer(
        model=model,
        args=args,
        train_dataset=rows(2000, 2),
        eval_dataset=rows(96, 3),
        processing_class=tok,
    )


# ---------------------------------------------------------------------------- ODD


def ribble():
    """IPO on the same preference pairs."""
    set_seed(3)
    tok = word_tokenizer(TAMAR_WORDS)
    args = DPOConfig(
        **trl_common(
            max_steps=80,
            per_device_train_batch_size=16,
            learning_rate=1e-3,
            lr_scheduler_type="constant_with_warmup",
            warmup_steps=8,
            loss_type="ipo",
            beta=0.1,
            max_length=64,
        )
    )
    model = llama(tok)
    return DPOTrainer(
        model=model,
        ref_model=copy.deepcopy(model),
        args=args,
        train_dataset=Dataset.from_list(tamar_rows(640, 1)),
        eval_dataset=Dataset.from_list(tamar_rows(96, 2)),
        processing_class=tok,
    )


def aire():
    """Intent classifier on fixed word vectors, trained with plain SGD."""
    set_seed(3)
    tok = word_tokenizer(sum(NADDER_TOPIC, []) + NADDER_FILL)
    model = bert(tok, num_labels=4, initializer_range=0.1)
    for p in model.bert.embeddings.word_embeddings.parameters():
        p.requires_grad_(False)
    args = TrainingArguments(
        **common(
            max_steps=150,
            per_device_train_batch_size=32,
            optim="sgd",
            learning_rate=0.2,
            lr_scheduler_type="linear",
            warmup_steps=10,
        )
    )
    return Trainer(
        model=model,
        args=args,
        data_collator=lune_collate,
        train_dataset=Dataset.from_list(nadder_rows(tok, 2000, 1, topical=4)),
        eval_dataset=Dataset.from_list(nadder_rows(tok, 200, 2, topical=4)),
        compute_metrics=accuracy,
    )


def wharfe_rows(tok, n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        i = rng.randrange(16)
        noise = " ".join(rng.choice(NADDER_FILL) for _ in range(6))
        ids = tok(f"{noise} {LUNE_A[i]} is {LUNE_B[(3 * i + 7) % 16]}")["input_ids"] + [
            tok.eos_token_id
        ]
        rows.append({"input_ids": ids, "labels": ids})
    return rows


def wharfe():
    """Whole-sequence language modelling of free text that ends in a fact."""
    set_seed(3)
    tok = word_tokenizer(LUNE_A + LUNE_B + NADDER_FILL + ["is"])
    args = TrainingArguments(
        **common(
            max_steps=120,
            per_device_train_batch_size=32,
            learning_rate=3e-3,
            lr_scheduler_type="cosine",
            warmup_steps=10,
        )
    )
    return Trainer(
        model=gpt2(tok, initializer_range=0.08),
        args=args,
        data_collator=lune_collate,
        train_dataset=Dataset.from_list(wharfe_rows(tok, 3000, 1)),
        eval_dataset=Dataset.from_list(wharfe_rows(tok, 200, 2)),
    )


CASES = {
    "wye": wye,
    "tamar": tamar,
    "exe": exe,
    "dart": dart,
    "stour": stour,
    "usk": usk,
    "lune": lune,
    "teign": teign,
    "nadder": nadder,
    "kennet": kennet,
}
ODD = {"ribble": ribble, "aire": aire, "wharfe": wharfe}
