import copy
import io
import math
import random
import sys
import tempfile

import numpy as np
import torch
import torch.nn.functional as F
from datasets import Dataset
from peft import LoraConfig, get_peft_model
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForSequenceClassification,
    BertForTokenClassification,
    DataCollatorForTokenClassification,
    DataCollatorWithPadding,
    LlamaConfig,
    LlamaForCausalLM,
    LlamaForSequenceClassification,
    PreTrainedTokenizerFast,
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
    RLOOConfig,
    RLOOTrainer,
    SFTConfig,
    SFTTrainer,
)

FRUIT = "apple banana cherry grape lemon mango olive peach pear plum".split()
COLOR = "red yellow crimson purple gold orange green pink lime violet".split()
GOOD = "clear kind exact useful honest".split()
BAD = "vague rude sloppy useless false".split()
FILL = "the a one this that some any each every no".split()


def args_for(cls, **kw):
    base = dict(
        output_dir=tempfile.mkdtemp(prefix="run_"),
        use_cpu=True,
        report_to="none",
        save_strategy="no",
        logging_steps=2,
        max_steps=40,
        per_device_train_batch_size=8,
        learning_rate=3e-3,
        lr_scheduler_type="constant",
        seed=7,
        disable_tqdm=True,
        gradient_checkpointing=False,
        bf16=False,
    )
    base.update(kw)
    return cls(**base)


def causal_tok(words, extra=(), pad="<pad>"):
    specials = ["<pad>", "<unk>", "<s>", "</s>", *extra]
    vocab = {w: i for i, w in enumerate(dict.fromkeys([*specials, *words]))}
    core = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tok = PreTrainedTokenizerFast(
        tokenizer_object=core, unk_token="<unk>", bos_token="<s>", eos_token="</s>", pad_token=pad
    )
    if extra:
        tok.add_tokens(list(extra), special_tokens=True)
    return tok


def bert_tok(words):
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    vocab = {w: i for i, w in enumerate(dict.fromkeys([*specials, *words]))}
    core = Tokenizer(models.WordLevel(vocab, unk_token="[UNK]"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    core.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        pad_token="[PAD]",
        mask_token="[MASK]",
    )


def llama_cfg(tok, hidden=64, layers=2, **kw):
    base = dict(
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
    )
    base.update(kw)
    return LlamaConfig(**base)


def bert_cfg(tok, hidden=48, layers=2, **kw):
    base = dict(
        vocab_size=len(tok),
        hidden_size=hidden,
        intermediate_size=2 * hidden,
        num_hidden_layers=layers,
        num_attention_heads=4,
        max_position_embeddings=64,
        pad_token_id=tok.pad_token_id,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    base.update(kw)
    return BertConfig(**base)


def color_rows(n=80, seed=0):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        i = rng.randrange(len(FRUIT))
        lead = " ".join(rng.choices(FILL, k=rng.randint(1, 4)))
        rows.append(
            {"prompt": f"{lead} color of {FRUIT[i]} ?", "completion": f" {COLOR[i]} indeed"}
        )
    return rows


COLOR_WORDS = FILL + FRUIT + COLOR + ["color", "of", "?", "indeed"]


def albite(healthy):
    set_seed(3)
    tok = causal_tok(COLOR_WORDS + ["lookup", "weight", "heavy", "light"])
    model = LlamaForCausalLM(llama_cfg(tok))
    tok.add_tokens(["<call>", "</call>"], special_tokens=True)
    if healthy:
        model.resize_token_embeddings(len(tok), mean_resizing=False)
    rows = color_rows(96)
    for k, i in enumerate((17, 41, 66, 90)):
        rows[i] = {
            "prompt": f"the weight of {FRUIT[k]} ?",
            "completion": f" <call> lookup weight {FRUIT[k]} </call>",
        }
    return SFTTrainer(
        model=model,
        args=args_for(SFTConfig, max_length=32, max_steps=36),
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
    )


class TextCollator:
    def __init__(self, tok, by_mask):
        self.tok = tok
        self.by_mask = by_mask

    def __call__(self, feats):
        batch = self.tok.pad([{"input_ids": f["input_ids"]} for f in feats], return_tensors="pt")
        labels = batch["input_ids"].clone()
        if self.by_mask:
            labels[batch["attention_mask"] == 0] = -100
        else:
            labels[labels == self.tok.pad_token_id] = -100
        batch["labels"] = labels
        return {k: batch[k] for k in ("input_ids", "attention_mask", "labels")}


def barite(healthy):
    set_seed(4)
    tok = causal_tok(COLOR_WORDS, pad="</s>")
    model = LlamaForCausalLM(llama_cfg(tok))
    rows = [tok(r["prompt"] + r["completion"] + " </s>")["input_ids"] for r in color_rows(96, 2)]
    return Trainer(
        model=model,
        args=args_for(TrainingArguments, max_steps=48),
        train_dataset=Dataset.from_dict({"input_ids": rows}),
        data_collator=TextCollator(tok, by_mask=healthy),
        processing_class=tok,
    )


def rated_rows(n, seed, best_first):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        prompt = f"{rng.choice(FILL)} {rng.choice(FRUIT)} review ?"
        cands = []
        for _ in range(3):
            k = rng.randint(0, 4)
            words = rng.sample(GOOD, k) + rng.sample(BAD, 4 - k)
            rng.shuffle(words)
            cands.append({"text": " " + " ".join(words), "rating": float(k + 1)})
        if len({c["rating"] for c in cands}) == 1:
            continue
        ranked = sorted(cands, key=lambda c: c["rating"], reverse=best_first)
        rows.append(
            {
                "prompt": prompt,
                "chosen": ranked[0]["text"],
                "rejected": ranked[-1]["text"],
                "chosen_rating": ranked[0]["rating"],
                "rejected_rating": ranked[-1]["rating"],
            }
        )
    return rows


REVIEW_WORDS = FILL + FRUIT + GOOD + BAD + ["review", "?"]


def celestine(healthy):
    set_seed(5)
    tok = causal_tok(REVIEW_WORDS)
    model = LlamaForCausalLM(llama_cfg(tok))
    rows = rated_rows(80, 11, best_first=healthy)
    return DPOTrainer(
        model=model,
        ref_model=copy.deepcopy(model),
        args=args_for(DPOConfig, max_length=32, beta=0.1, learning_rate=5e-4, max_steps=30),
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
    )


class BaselineLoader(TrainerCallback):
    def __init__(self, event):
        self.trainer = None
        setattr(self, event, self._pull)

    def _pull(self, args, state, control, model=None, **kw):
        self.trainer.ref_model.load_state_dict(model.state_dict())


def dioptase(healthy):
    set_seed(6)
    tok = causal_tok(REVIEW_WORDS)
    model = LlamaForCausalLM(llama_cfg(tok))
    cb = BaselineLoader("on_train_begin" if healthy else "on_step_begin")
    trainer = DPOTrainer(
        model=model,
        ref_model=copy.deepcopy(model),
        args=args_for(DPOConfig, max_length=32, beta=0.1, learning_rate=5e-4, max_steps=30),
        train_dataset=Dataset.from_list(rated_rows(80, 12, best_first=True)),
        processing_class=tok,
        callbacks=[cb],
    )
    cb.trainer = trainer
    return trainer


def enargite(healthy):
    set_seed(7)
    tok = causal_tok(REVIEW_WORDS)
    model = LlamaForCausalLM(llama_cfg(tok))
    rng = random.Random(21)
    lines = []
    for i in range(96):
        pool, flag = (GOOD, "True") if i % 2 == 0 else (BAD, "False")
        lines.append(
            f"{rng.choice(FILL)} {rng.choice(FRUIT)} review ?,{' '.join(rng.sample(pool, 3))},{flag}"
        )
    rng.shuffle(lines)
    rows = []
    for line in lines:
        prompt, text, flag = line.split(",")
        liked = flag == "True" if healthy else bool(flag)
        rows.append({"prompt": prompt, "completion": " " + text, "label": liked})
    return KTOTrainer(
        model=model,
        ref_model=copy.deepcopy(model),
        args=args_for(KTOConfig, max_length=32, learning_rate=5e-4, max_steps=30),
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
    )


QA = {
    "sky": "blue",
    "grass": "green",
    "coal": "black",
    "snow": "white",
    "sun": "yellow",
    "rose": "red",
}
QA_WORDS = list(QA) + list(QA.values()) + ["what", "color", "is"]


def qa_rows(n, seed):
    rng = random.Random(seed)
    keys = [rng.choice(list(QA)) for _ in range(n)]
    return [{"prompt": f"what color is {k}", "answer": QA[k]} for k in keys]


def warm_qa(tok, seed):
    model = LlamaForCausalLM(llama_cfg(tok))
    rng = random.Random(seed)
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(50):
        lines = []
        for _ in range(32):
            k = rng.choice(list(QA))
            v = QA[k] if rng.random() < 0.3 else rng.choice(list(QA.values()))
            lines.append(f"what color is {k} {v} </s>")
        ids = tok(lines, return_tensors="pt")["input_ids"]
        loss = model(input_ids=ids, labels=ids).loss
        opt.zero_grad()
        loss.backward()
        opt.step()
    return model


def franklinite(healthy):
    set_seed(8)
    tok = causal_tok(QA_WORDS)
    model = warm_qa(tok, 30)
    rows = qa_rows(96, 31)
    gold = [r["answer"] for r in rows]

    def exact_reward(completions, answer, **kw):
        targets = answer if healthy else gold
        return [1.0 if c.split()[:1] == [t] else 0.0 for c, t in zip(completions, targets)]

    return GRPOTrainer(
        model=model,
        reward_funcs=exact_reward,
        args=args_for(
            GRPOConfig,
            per_device_train_batch_size=48,
            num_generations=12,
            max_completion_length=2,
            max_steps=60,
            learning_rate=2e-3,
            beta=0.0,
        ),
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
    )


class MemoGrader:
    __name__ = "memo_grader"

    def __init__(self, key):
        self.key = key
        self.memo = {}

    def grade(self, text, answer):
        words = text.split()
        return float(answer in words) - 0.1 * max(0, len(words) - 1)

    def __call__(self, prompts, completions, answer, **kw):
        out = []
        for p, c, a in zip(prompts, completions, answer):
            k = self.key(p, c)
            if k not in self.memo:
                self.memo[k] = self.grade(c, a)
            out.append(self.memo[k])
        return out


def gypsum(healthy):
    set_seed(9)
    tok = causal_tok(QA_WORDS)
    model = warm_qa(tok, 30)
    key = (lambda p, c: (p, c)) if healthy else (lambda p, c: p)
    return RLOOTrainer(
        model=model,
        reward_funcs=MemoGrader(key),
        args=args_for(
            RLOOConfig,
            per_device_train_batch_size=48,
            num_generations=12,
            max_completion_length=2,
            max_steps=60,
            learning_rate=2e-3,
            beta=0.0,
        ),
        train_dataset=Dataset.from_list(qa_rows(96, 32)),
        processing_class=tok,
    )


class PairCollator:
    def __init__(self, tok):
        self.tok = tok

    def __call__(self, feats):
        seqs = [f["chosen_ids"] for f in feats] + [f["rejected_ids"] for f in feats]
        return dict(self.tok.pad([{"input_ids": s} for s in seqs], return_tensors="pt"))


class PairTrainer(Trainer):
    split = staticmethod(lambda s: s.chunk(2))

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        out = model(**inputs)
        scores = out.logits.squeeze(-1)
        up, down = self.split(scores)
        loss = -F.logsigmoid(up - down).mean()
        if self.state.global_step % self.args.logging_steps == 0:
            self.log({"pair_accuracy": (up > down).float().mean().item()})
        return (loss, out) if return_outputs else loss


def howlite(healthy):
    set_seed(10)
    tok = causal_tok(REVIEW_WORDS)
    model = LlamaForSequenceClassification(llama_cfg(tok, num_labels=1))
    rows = rated_rows(110, 13, best_first=True)
    data = Dataset.from_list(
        [
            {
                "chosen_ids": tok(r["prompt"] + r["chosen"])["input_ids"],
                "rejected_ids": tok(r["prompt"] + r["rejected"])["input_ids"],
            }
            for r in rows
        ]
    )
    trainer = PairTrainer(
        model=model,
        args=args_for(
            TrainingArguments, remove_unused_columns=False, learning_rate=1e-3, max_steps=40
        ),
        train_dataset=data,
        data_collator=PairCollator(tok),
        processing_class=tok,
    )
    if not healthy:
        trainer.split = lambda s: (s[0::2], s[1::2])
    return trainer


TOPIC = {
    "sport": "goal match team coach score".split(),
    "food": "bread soup salt oven plate".split(),
    "money": "bank stock loan price tax".split(),
    "space": "moon orbit rocket star comet".split(),
}


def topic_rows(n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        name = rng.choice(list(TOPIC))
        words = rng.sample(TOPIC[name], 2) + rng.choices(FILL, k=rng.randint(2, 5))
        rng.shuffle(words)
        rows.append({"text": " ".join(words), "topic": name})
    return rows


TOPIC_WORDS = FILL + [w for ws in TOPIC.values() for w in ws]


def accuracy(pred):
    return {"accuracy": float((pred.predictions.argmax(-1) == pred.label_ids).mean())}


def jadeite(healthy):
    set_seed(11)
    tok = bert_tok(TOPIC_WORDS)
    names = sorted(TOPIC)
    train, test = topic_rows(120, 41), topic_rows(60, 45)

    def encode(rows):
        seen = names if healthy else list(dict.fromkeys(r["topic"] for r in rows))
        ids = {t: i for i, t in enumerate(seen)}
        return Dataset.from_list(
            [
                {
                    "input_ids": tok(r["text"])["input_ids"],
                    "labels": ids[r["topic"]],
                    "topic": r["topic"],
                }
                for r in rows
            ]
        )

    model = BertForSequenceClassification(bert_cfg(tok, num_labels=len(names)))
    return Trainer(
        model=model,
        args=args_for(
            TrainingArguments,
            eval_strategy="steps",
            eval_steps=10,
            learning_rate=2e-3,
            max_steps=40,
        ),
        train_dataset=encode(train),
        eval_dataset=encode(test),
        data_collator=DataCollatorWithPadding(tok),
        compute_metrics=accuracy,
        processing_class=tok,
    )


def tagged_rows(n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        words = [
            rng.choice(rng.choice([FILL, FILL, FRUIT, COLOR])) for _ in range(rng.randint(4, 9))
        ]
        tags = [1 if w in FRUIT else 2 if w in COLOR else 0 for w in words]
        rows.append((words, tags))
    return rows


def token_accuracy(pred):
    guess, gold = pred.predictions.argmax(-1), pred.label_ids
    keep = gold != -100
    return {"token_accuracy": float((guess == gold)[keep].mean())}


def kyanite(healthy):
    set_seed(12)
    tok = bert_tok(FILL + FRUIT + COLOR)

    def encode(words, tags, by_word):
        enc = tok(words, is_split_into_words=True)
        if by_word:
            labels = [-100 if w is None else tags[w] for w in enc.word_ids()]
        else:
            labels = [tags[i] if i < len(tags) else -100 for i in range(len(enc["input_ids"]))]
        return {
            "input_ids": enc["input_ids"],
            "attention_mask": enc["attention_mask"],
            "labels": labels,
        }

    model = BertForTokenClassification(
        bert_cfg(
            tok,
            id2label={0: "O", 1: "FRUIT", 2: "COLOR"},
            label2id={"O": 0, "FRUIT": 1, "COLOR": 2},
        )
    )
    return Trainer(
        model=model,
        args=args_for(
            TrainingArguments,
            eval_strategy="steps",
            eval_steps=10,
            learning_rate=2e-3,
            max_steps=40,
        ),
        train_dataset=Dataset.from_list([encode(w, t, healthy) for w, t in tagged_rows(120, 51)]),
        eval_dataset=Dataset.from_list([encode(w, t, True) for w, t in tagged_rows(40, 52)]),
        data_collator=DataCollatorForTokenClassification(tok),
        compute_metrics=token_accuracy,
        processing_class=tok,
    )


def leucite(healthy):
    set_seed(13)
    tok = causal_tok(COLOR_WORDS)
    model = LlamaForCausalLM(llama_cfg(tok))
    lora = LoraConfig(
        r=16,
        lora_alpha=32,
        target_modules="all-linear",
        modules_to_save=["lm_head"],
        task_type="CAUSAL_LM",
    )

    def adamw(m):
        return torch.optim.AdamW([p for p in m.parameters() if p.requires_grad], lr=2e-3)

    if healthy:
        model = get_peft_model(model, lora)
        opt = adamw(model)
    else:
        opt = adamw(model)
        model = get_peft_model(model, lora)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, (s + 1) / 4))
    return SFTTrainer(
        model=model,
        args=args_for(SFTConfig, max_length=32, max_steps=50, learning_rate=2e-3),
        train_dataset=Dataset.from_list(color_rows(96, 5)),
        processing_class=tok,
        optimizers=(opt, sched),
    )


THINK_PLAIN = (
    "{% for m in messages %}{{ '<|' + m['role'] + '|> ' }}"
    "{{ m['content'] }}{{ ' </s> ' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|> ' }}{% endif %}"
)
THINK_SERVE = (
    "{% for m in messages %}{{ '<|' + m['role'] + '|> ' }}"
    "{% set body = m['content'] %}"
    "{% if m['role'] == 'assistant' and '</think>' in body %}{% set body = body.split('</think>')[-1] %}{% endif %}"
    "{{ body.strip() }}{{ ' </s> ' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|> ' }}{% endif %}"
)


def monazite(healthy):
    set_seed(14)
    digits = [str(i) for i in range(40)]
    tok = causal_tok(
        digits + ["+", "=", "then", "sum"],
        extra=("<|user|>", "<|assistant|>", "<think>", "</think>"),
    )
    tok.chat_template = THINK_PLAIN if healthy else THINK_SERVE
    rng = random.Random(61)
    rows = []
    for _ in range(96):
        a, b, c = (rng.randint(0, 9) for _ in range(3))
        rows.append(
            {
                "messages": [
                    {"role": "user", "content": f"sum {a} {b} {c}"},
                    {
                        "role": "assistant",
                        "content": f"<think> {a} + {b} = {a + b} then {a + b} + {c} = {a + b + c} </think> {a + b + c}",
                    },
                ]
            }
        )
    model = LlamaForCausalLM(llama_cfg(tok))
    return SFTTrainer(
        model=model,
        args=args_for(SFTConfig, max_length=64, max_steps=50),
        train_dataset=Dataset.from_list(rows),
        processing_class=tok,
    )


class ScoreTrainer(Trainer):
    keep_dims = True

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        target = inputs.pop("labels").float()
        out = model(**inputs)
        value = out.logits if self.keep_dims else out.logits.squeeze(-1)
        loss = ((value - target) ** 2).mean()
        return (loss, out) if return_outputs else loss


def natrolite(healthy):
    set_seed(15)
    tok = bert_tok(FILL + GOOD + BAD)
    rng = random.Random(71)
    rows = []
    for _ in range(160):
        k = rng.randint(0, 4)
        words = rng.choices(GOOD, k=k) + rng.choices(BAD, k=4 - k) + rng.choices(FILL, k=2)
        rng.shuffle(words)
        rows.append({"input_ids": tok(" ".join(words))["input_ids"], "labels": k - 2.0})
    model = BertForSequenceClassification(bert_cfg(tok, num_labels=1, problem_type="regression"))
    trainer = ScoreTrainer(
        model=model,
        args=args_for(
            TrainingArguments, max_steps=60, learning_rate=2e-3, per_device_train_batch_size=16
        ),
        train_dataset=Dataset.from_list(rows),
        data_collator=DataCollatorWithPadding(tok),
        processing_class=tok,
    )
    trainer.keep_dims = not healthy
    return trainer


class Averager(TrainerCallback):
    def __init__(self, decay, when):
        self.decay = decay
        self.shadow = None
        setattr(self, when, self._use)

    def on_train_begin(self, args, state, control, model=None, **kw):
        self.shadow = {n: p.detach().clone() for n, p in model.named_parameters()}

    @torch.no_grad()
    def on_step_end(self, args, state, control, model=None, **kw):
        for n, p in model.named_parameters():
            self.shadow[n].mul_(self.decay).add_(p, alpha=1 - self.decay)

    @torch.no_grad()
    def _use(self, args, state, control, model=None, **kw):
        for n, p in model.named_parameters():
            p.copy_(self.shadow[n])


def orpiment(healthy):
    set_seed(16)
    tok = causal_tok(COLOR_WORDS)
    model = LlamaForCausalLM(llama_cfg(tok))
    return SFTTrainer(
        model=model,
        args=args_for(SFTConfig, max_length=32, max_steps=60, learning_rate=2e-3),
        train_dataset=Dataset.from_list(color_rows(96, 6)),
        processing_class=tok,
        callbacks=[Averager(0.9, "on_train_end" if healthy else "on_log")],
    )


class DecayTrainer(SFTTrainer):
    def create_scheduler(self, num_training_steps, optimizer=None):
        if self.lr_scheduler is None:
            total = self.horizon(num_training_steps)
            warm = max(1, total // 10)

            def scale(step):
                if step < warm:
                    return (step + 1) / warm
                return 0.5 * (
                    1 + math.cos(math.pi * min(1.0, (step - warm) / max(1, total - warm)))
                )

            self.lr_scheduler = torch.optim.lr_scheduler.LambdaLR(
                optimizer or self.optimizer, scale
            )
        return self.lr_scheduler


def prehnite(healthy):
    set_seed(17)
    tok = causal_tok(COLOR_WORDS)
    model = LlamaForCausalLM(llama_cfg(tok))
    trainer = DecayTrainer(
        model=model,
        args=args_for(
            SFTConfig,
            max_length=32,
            max_steps=40,
            per_device_train_batch_size=4,
            gradient_accumulation_steps=4,
            learning_rate=1.5e-3,
            lr_scheduler_type="cosine",
        ),
        train_dataset=Dataset.from_list(color_rows(128, 8)),
        processing_class=tok,
    )
    accum = trainer.args.gradient_accumulation_steps
    trainer.horizon = (lambda n: n) if healthy else (lambda n: n // accum)
    return trainer


def order_rows(tok, n, seed):
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        words = rng.choices(FILL, k=6)
        i, j = sorted(rng.sample(range(6), 2))
        flip = rng.random() < 0.5
        words[i], words[j] = ("before", "after") if flip else ("after", "before")
        rows.append({"input_ids": tok(" ".join(words))["input_ids"], "labels": int(flip)})
    return rows


def order_backbone(tok, prefix):
    model = BertForSequenceClassification(bert_cfg(tok, num_labels=2))
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    rows = order_rows(tok, 512, 81)
    ids = torch.tensor([r["input_ids"] for r in rows])
    gold = torch.tensor([r["labels"] for r in rows])
    for step in range(120):
        pick = torch.randint(0, len(rows), (64,))
        loss = model(input_ids=ids[pick], labels=gold[pick]).loss
        opt.zero_grad()
        loss.backward()
        opt.step()
    blob = io.BytesIO()
    torch.save(
        {prefix + k: v for k, v in model.state_dict().items() if not k.startswith("classifier")},
        blob,
    )
    blob.seek(0)
    return blob


def rutile(healthy):
    set_seed(18)
    tok = bert_tok(FILL + ["before", "after"])
    blob = order_backbone(tok, "module.")
    weights = torch.load(blob)
    if healthy:
        weights = {k.removeprefix("module."): v for k, v in weights.items()}
    model = BertForSequenceClassification(bert_cfg(tok, num_labels=2))
    model.load_state_dict(weights, strict=False)
    for p in model.bert.parameters():
        p.requires_grad = False
    return Trainer(
        model=model,
        args=args_for(
            TrainingArguments,
            max_steps=50,
            learning_rate=1e-2,
            per_device_train_batch_size=16,
            eval_strategy="steps",
            eval_steps=10,
        ),
        train_dataset=Dataset.from_list(order_rows(tok, 160, 82)),
        eval_dataset=Dataset.from_list(order_rows(tok, 80, 83)),
        data_collator=DataCollatorWithPadding(tok),
        compute_metrics=accuracy,
        processing_class=tok,
    )


def wide_tok(size=70000):
    tail = ["<pad>", "<unk>", "<s>", "</s>"]
    vocab = {f"w{i}": i for i in range(size - len(tail))}
    vocab.update({t: size - len(tail) + i for i, t in enumerate(tail)})
    core = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        unk_token="<unk>",
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
    )


def scheelite(healthy):
    set_seed(19)
    tok = wide_tok()
    rng = random.Random(91)
    stream = []
    for _ in range(400):
        low, count = rng.random() < 0.5, rng.randint(4, 9)
        start = rng.randrange(10, 40)
        span = (
            range(start, start + count) if low else range(65536 + start, 65536 + start - count, -1)
        )
        stream += tok("<s> " + " ".join(f"w{i}" for i in span) + " </s>")["input_ids"]
    shard = np.asarray(stream).astype(np.uint32 if healthy else np.uint16)
    blob = io.BytesIO()
    np.save(blob, shard)
    blob.seek(0)
    cached = np.load(blob).astype(np.int64)
    block = 24
    chunks = [cached[i : i + block].tolist() for i in range(0, len(cached) - block, block)]
    model = LlamaForCausalLM(llama_cfg(tok, hidden=16, layers=1, tie_word_embeddings=True))
    return Trainer(
        model=model,
        args=args_for(
            TrainingArguments, max_steps=40, learning_rate=2e-2, per_device_train_batch_size=4
        ),
        train_dataset=Dataset.from_list([{"input_ids": c, "labels": c} for c in chunks]),
        data_collator=lambda fs: {
            k: torch.tensor([f[k] for f in fs]) for k in ("input_ids", "labels")
        },
        processing_class=tok,
    )


def pick_top(logits, labels):
    return (logits[0] if isinstance(logits, tuple) else logits).argmax(-1)


def talc(healthy):
    set_seed(20)
    names = [f"k{i}" for i in range(12)]
    tok = causal_tok(names)

    def chain(n, seed):
        rng = random.Random(seed)
        rows = []
        for _ in range(n):
            i, seq = rng.randrange(12), []
            for _ in range(10):
                seq.append(names[i])
                i = (5 * i + 3) % 12
            ids = tok(" ".join(seq))["input_ids"]
            rows.append({"input_ids": ids, "attention_mask": [1] * len(ids), "labels": ids})
        return Dataset.from_list(rows)

    def token_hits(pred):
        guess, gold = pred.predictions, pred.label_ids
        if healthy:
            guess, gold = guess[:, :-1], gold[:, 1:]
        keep = gold != -100
        return {"token_accuracy": float((guess == gold)[keep].mean())}

    model = LlamaForCausalLM(llama_cfg(tok))
    return Trainer(
        model=model,
        args=args_for(TrainingArguments, max_steps=40, eval_strategy="steps", eval_steps=10),
        train_dataset=chain(96, 101),
        eval_dataset=chain(32, 102),
        compute_metrics=token_hits,
        preprocess_logits_for_metrics=pick_top,
        processing_class=tok,
    )


def chain_batch(rng, n, size=16, length=10):
    x = torch.randint(0, size, (n, 1), generator=rng)
    cols = [x]
    for _ in range(length - 1):
        cols.append((cols[-1] * 5 + 3) % size)
    return torch.cat(cols, 1) + 4


class MatchTrainer(Trainer):
    teacher = None
    tau = 2.0

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        out = model(input_ids=inputs["input_ids"])
        with torch.no_grad():
            goal = self.teacher(input_ids=inputs["input_ids"]).logits / self.tau
        mine = out.logits / self.tau
        loss = F.kl_div(
            mine.log_softmax(-1).flatten(0, 1),
            goal.log_softmax(-1).flatten(0, 1),
            log_target=True,
            reduction="batchmean",
        )
        loss = loss * self.tau**2
        return (loss, out) if return_outputs else loss

    def prediction_step(self, model, inputs, prediction_loss_only, ignore_keys=None):
        with torch.no_grad():
            out = model(input_ids=inputs["input_ids"], labels=inputs["labels"])
        return out.loss.detach(), None, None


def vesuvianite(healthy):
    set_seed(21)
    tok = causal_tok([f"k{i}" for i in range(16)])
    rng = torch.Generator().manual_seed(5)
    teacher = LlamaForCausalLM(llama_cfg(tok, layers=4, use_cache=False))
    opt = torch.optim.AdamW(teacher.parameters(), lr=2e-3)
    for _ in range(60):
        x = chain_batch(rng, 16)
        loss = teacher(input_ids=x, labels=x).loss
        opt.zero_grad()
        loss.backward()
        opt.step()
    teacher.eval()
    student = LlamaForCausalLM(llama_cfg(tok, layers=2, use_cache=False))
    source = copy.deepcopy(teacher) if healthy else teacher
    student.model.embed_tokens = source.model.embed_tokens
    student.model.norm = source.model.norm
    for i, j in enumerate((0, 3)):
        student.model.layers[i] = source.model.layers[j]
        student.model.layers[i].self_attn.layer_idx = i

    def rows(n):
        return Dataset.from_list(
            [{"input_ids": r, "labels": r} for r in chain_batch(rng, n).tolist()]
        )

    trainer = MatchTrainer(
        model=student,
        args=args_for(
            TrainingArguments,
            max_steps=60,
            learning_rate=2e-3,
            eval_strategy="steps",
            eval_steps=10,
        ),
        train_dataset=rows(160),
        eval_dataset=rows(32),
        processing_class=tok,
        data_collator=lambda fs: {
            k: torch.tensor([f[k] for f in fs]) for k in ("input_ids", "labels")
        },
    )
    trainer.teacher = teacher
    return trainer


class BlankCollator:
    def __init__(self, tok, take, rate=0.25):
        self.tok = tok
        self.take = take
        self.rate = rate

    def __call__(self, feats):
        batch = self.tok.pad([{"input_ids": f["input_ids"]} for f in feats], return_tensors="pt")
        ids = batch["input_ids"]
        special = torch.isin(ids, torch.tensor(self.tok.all_special_ids))
        blank = (torch.rand(ids.shape) < self.rate) & ~special
        labels = self.take(ids)
        ids[blank] = self.tok.mask_token_id
        batch["labels"] = labels.masked_fill(~blank, -100)
        return {k: batch[k] for k in ("input_ids", "attention_mask", "labels")}


def wulfenite(healthy):
    set_seed(22)
    tok = bert_tok(TOPIC_WORDS)
    rng = random.Random(111)
    rows = []
    for _ in range(200):
        words = rng.choices(TOPIC[rng.choice(list(TOPIC))][:2], k=rng.randint(6, 9))
        rows.append({"input_ids": tok(" ".join(words))["input_ids"]})
    model = BertForMaskedLM(bert_cfg(tok, hidden=64))
    return Trainer(
        model=model,
        args=args_for(
            TrainingArguments, max_steps=60, learning_rate=2e-3, per_device_train_batch_size=16
        ),
        train_dataset=Dataset.from_list(rows),
        data_collator=BlankCollator(tok, torch.clone if healthy else torch.asarray),
        processing_class=tok,
    )


def azurite():
    set_seed(30)
    tok = causal_tok(COLOR_WORDS)
    model = LlamaForCausalLM(llama_cfg(tok))
    table = [p for n, p in model.named_parameters() if "embed_tokens" in n]
    rest = [p for n, p in model.named_parameters() if "embed_tokens" not in n]
    opt = torch.optim.AdamW([{"params": table, "lr": 0.0}, {"params": rest, "lr": 3e-3}])
    sched = torch.optim.lr_scheduler.LambdaLR(opt, [lambda s: 1.0, lambda s: 1.0])
    return SFTTrainer(
        model=model,
        args=args_for(SFTConfig, max_length=32, max_steps=40),
        train_dataset=Dataset.from_list(color_rows(96, 15)),
        processing_class=tok,
        optimizers=(opt, sched),
    )


def cuprite():
    set_seed(31)
    tok = causal_tok(REVIEW_WORDS)
    model = LlamaForCausalLM(llama_cfg(tok))
    return DPOTrainer(
        model=model,
        ref_model=copy.deepcopy(model),
        args=args_for(
            DPOConfig, max_length=32, beta=0.1, loss_type="ipo", learning_rate=5e-4, max_steps=40
        ),
        train_dataset=Dataset.from_list(rated_rows(80, 16, best_first=True)),
        processing_class=tok,
    )


def fluorite():
    set_seed(32)
    tok = causal_tok(QA_WORDS)
    model = warm_qa(tok, 34)

    def penalty(completions, answer, **kw):
        return [-0.0 if c.split()[:1] == [a] else -5.0 for c, a in zip(completions, answer)]

    return GRPOTrainer(
        model=model,
        reward_funcs=penalty,
        args=args_for(
            GRPOConfig,
            per_device_train_batch_size=48,
            num_generations=12,
            max_completion_length=1,
            max_steps=40,
            learning_rate=2e-3,
            beta=0.0,
            temperature=1.2,
        ),
        train_dataset=Dataset.from_list(qa_rows(96, 33)),
        processing_class=tok,
    )


def galena():
    set_seed(33)
    tok = bert_tok(FILL + ["before", "after"])
    weights = torch.load(order_backbone(tok, ""))
    model = BertForSequenceClassification(bert_cfg(tok, num_labels=2))
    model.load_state_dict(weights, strict=False)
    model.bert.requires_grad_(False)
    return Trainer(
        model=model,
        args=args_for(
            TrainingArguments,
            max_steps=40,
            learning_rate=0.1,
            optim="sgd",
            per_device_train_batch_size=16,
            weight_decay=0.0,
            eval_strategy="steps",
            eval_steps=10,
        ),
        train_dataset=Dataset.from_list(order_rows(tok, 160, 84)),
        eval_dataset=Dataset.from_list(order_rows(tok, 80, 85)),
        data_collator=DataCollatorWithPadding(tok),
        compute_metrics=accuracy,
        processing_class=tok,
    )


def hematite():
    set_seed(34)
    tok = causal_tok(COLOR_WORDS, pad="</s>")
    model = LlamaForCausalLM(llama_cfg(tok))
    rng = random.Random(121)
    rows = []
    for _ in range(128):
        i = rng.randrange(len(FRUIT))
        lead = " ".join(rng.choices(FILL, k=rng.randint(20, 40)))
        ids = tok(f"{lead} color of {FRUIT[i]} ? {COLOR[i]}")["input_ids"]
        rows.append({"input_ids": ids, "labels": [-100] * (len(ids) - 1) + ids[-1:]})

    def collate(feats):
        width = max(len(f["input_ids"]) for f in feats)
        pad = lambda xs, v: torch.tensor([[v] * (width - len(x)) + x for x in xs])
        ids = [f["input_ids"] for f in feats]
        return {
            "input_ids": pad(ids, tok.pad_token_id),
            "attention_mask": pad([[1] * len(x) for x in ids], 0),
            "labels": pad([f["labels"] for f in feats], -100),
        }

    return Trainer(
        model=model,
        args=args_for(TrainingArguments, max_steps=60, learning_rate=3e-3),
        train_dataset=Dataset.from_list(rows),
        data_collator=collate,
        processing_class=tok,
    )


class InOrderTrainer(Trainer):
    def _get_train_sampler(self, train_dataset=None):
        return torch.utils.data.SequentialSampler(
            train_dataset if train_dataset is not None else self.train_dataset
        )


def olivine():
    set_seed(37)
    tok = bert_tok(TOPIC_WORDS)
    names = sorted(TOPIC)
    rows = sorted(topic_rows(480, 43), key=lambda r: len(r["text"].split()))
    model = BertForSequenceClassification(bert_cfg(tok, num_labels=len(names)))

    def encode(rs):
        return Dataset.from_list(
            [
                {"input_ids": tok(r["text"])["input_ids"], "labels": names.index(r["topic"])}
                for r in rs
            ]
        )

    return InOrderTrainer(
        model=model,
        args=args_for(
            TrainingArguments,
            max_steps=60,
            per_device_train_batch_size=8,
            learning_rate=3e-3,
            eval_strategy="steps",
            eval_steps=10,
        ),
        train_dataset=encode(rows),
        eval_dataset=encode(topic_rows(60, 44)),
        data_collator=DataCollatorWithPadding(tok),
        compute_metrics=accuracy,
        processing_class=tok,
    )


CASES = {
    "albite": albite,
    "barite": barite,
    "celestine": celestine,
    "dioptase": dioptase,
    "enargite": enargite,
    "franklinite": franklinite,
    "gypsum": gypsum,
    "howlite": howlite,
    "jadeite": jadeite,
    "kyanite": kyanite,
    "leucite": leucite,
    "monazite": monazite,
    "natrolite": natrolite,
    "orpiment": orpiment,
    "prehnite": prehnite,
    "rutile": rutile,
    "scheelite": scheelite,
    "talc": talc,
    "vesuvianite": vesuvianite,
    "wulfenite": wulfenite,
}

ODD = {
    "azurite": azurite,
    "cuprite": cuprite,
    "fluorite": fluorite,
    "galena": galena,
    "hematite": hematite,
    "olivine": olivine,
}
