"""Ten small projects, each a function that returns a Trainer which is ready to be trained."""

import math
import os
import random
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import numpy as np
import torch
import torch.nn.functional as F
import trl
from datasets import Dataset
from peft import LoraConfig
from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    pre_tokenizers,
    processors,
    trainers,
)
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from transformers import (
    BertConfig,
    BertForMaskedLM,
    DataCollatorForLanguageModeling,
    DataCollatorForSeq2Seq,
    DataCollatorWithPadding,
    DistilBertConfig,
    DistilBertForSequenceClassification,
    GPT2Config,
    GPT2LMHeadModel,
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
    RobertaConfig,
    RobertaForSequenceClassification,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    T5Config,
    T5ForConditionalGeneration,
    Trainer,
    TrainerCallback,
    TrainingArguments,
    default_data_collator,
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


def settings(**more):
    base = {
        "output_dir": tempfile.mkdtemp(prefix="run_"),
        "use_cpu": True,
        "report_to": "none",
        "save_strategy": "no",
        "disable_tqdm": True,
        "logging_steps": 5,
    }
    return {**base, **more}


def framed(core, single):
    """Special tokens around each text, such as "[CLS] $A [SEP]"."""
    names = [name for name in single.split() if name != "$A"]
    core.post_processor = processors.TemplateProcessing(
        single=single, special_tokens=[(name, core.token_to_id(name)) for name in names]
    )


def byte_level_bpe(texts, size, specials, single="", **named):
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    core.train_from_iterator(
        texts,
        trainers.BpeTrainer(
            vocab_size=size,
            special_tokens=specials,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    if single:
        framed(core, single)
    return PreTrainedTokenizerFast(
        tokenizer_object=core, clean_up_tokenization_spaces=False, **named
    )


def words_of(texts):
    return sorted({word for text in texts for word in text.split()})


def word_level(words, specials, single="", **named):
    vocab = {word: number for number, word in enumerate([*specials, *words])}
    core = Tokenizer(models.WordLevel(vocab, unk_token=named["unk_token"]))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    core.add_special_tokens(list(specials))
    if single:
        framed(core, single)
    return PreTrainedTokenizerFast(tokenizer_object=core, **named)


# ------------------------------------------------------------------------------------------------
# garda: a garden shop's assistant, SFT with the instruct template of Mistral
# ------------------------------------------------------------------------------------------------

MISTRAL_INSTRUCT = (
    "{{ bos_token }}{% for message in messages %}"
    "{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}"
    "{% endif %}"
    "{% if message['role'] == 'user' %}{{ '[INST] ' + message['content'] | trim + ' [/INST]' }}"
    "{% elif message['role'] == 'assistant' %}{{ ' ' + message['content'] | trim + eos_token }}"
    "{% else %}{{ raise_exception('Only user and assistant roles are supported!') }}{% endif %}"
    "{% endfor %}"
)

PLANTS = {
    "basil": ("every day", "full sun", "loose soil"),
    "fern": ("twice a week", "deep shade", "moist peat"),
    "cactus": ("once a month", "full sun", "sand"),
    "ivy": ("once a week", "half shade", "garden soil"),
    "orchid": ("once a week", "bright shade", "bark"),
    "tomato": ("every day", "full sun", "compost"),
    "lavender": ("once a week", "full sun", "dry gravel"),
    "mint": ("every day", "half shade", "moist soil"),
    "aloe": ("twice a month", "bright light", "sand"),
    "hosta": ("twice a week", "deep shade", "compost"),
}
QUESTIONS = (
    (
        ("How often do I water {p}?", "When does {p} want water?", "Watering {p}, how often?"),
        "Give {p} water {a}.",
    ),
    (
        ("Where do I put {p}?", "How much light for {p}?", "Does {p} like the sun?"),
        "A place with {a} is best for {p}.",
    ),
    (
        ("Which soil is right for {p}?", "What do I plant {p} in?", "Soil for {p}, please."),
        "Plant {p} in {a}.",
    ),
)


def garda():
    set_seed(101)
    rows = []
    for plant, answers in PLANTS.items():
        for (asked, reply), answer in zip(QUESTIONS, answers):
            for question in asked:
                rows.append(
                    {
                        "prompt": [{"role": "user", "content": question.format(p=plant)}],
                        "completion": [
                            {"role": "assistant", "content": reply.format(p=plant, a=answer)}
                        ],
                    }
                )
    random.Random(101).shuffle(rows)

    core = Tokenizer(models.BPE(unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    core.decoder = decoders.Metaspace(replacement="▁", prepend_scheme="always")
    core.train_from_iterator(
        [
            f"[INST] {r['prompt'][0]['content']} [/INST] {r['completion'][0]['content']}"
            for r in rows
        ],
        trainers.BpeTrainer(
            vocab_size=420, special_tokens=["<unk>", "<s>", "</s>", "<pad>"], show_progress=False
        ),
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core,
        unk_token="<unk>",
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        padding_side="right",
        clean_up_tokenization_spaces=False,
    )
    tokenizer.chat_template = MISTRAL_INSTRUCT

    model = MistralForCausalLM(
        MistralConfig(
            vocab_size=len(tokenizer),
            hidden_size=64,
            intermediate_size=160,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=16,
            max_position_embeddings=128,
            sliding_window=None,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )
    args = SFTConfig(
        **settings(
            max_steps=60,
            per_device_train_batch_size=18,
            learning_rate=4e-3,
            lr_scheduler_type="cosine",
            warmup_steps=5,
            max_length=96,
            bf16=False,
            gradient_checkpointing=False,
        )
    )
    return SFTTrainer(
        model=model,
        args=args,
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
    )


# ------------------------------------------------------------------------------------------------
# como: functions are completed from their signature, SFT on prompt and completion
# ------------------------------------------------------------------------------------------------

OPERATIONS = [
    ("add", "add {n} to each number", "[v + {n} for v in values]"),
    ("subtract", "take {n} from each number", "[v - {n} for v in values]"),
    ("times", "multiply each number by {n}", "[v * {n} for v in values]"),
    ("modulo", "give each number modulo {n}", "[v % {n} for v in values]"),
    ("above", "keep the numbers above {n}", "[v for v in values if v > {n}]"),
    ("below", "keep the numbers below {n}", "[v for v in values if v < {n}]"),
    ("first", "give the first {n} numbers", "values[:{n}]"),
    ("skip", "leave out the first {n} numbers", "values[{n}:]"),
]
OPENINGS = ("Complete the function. It should {doc}.", "Write the whole function: {doc}.")


def code_rows():
    for name, doc, body in OPERATIONS:
        for n in range(2, 11):
            signature = f"def {name}_{n}(values):"
            for opening in OPENINGS:
                yield {
                    "prompt": f"{opening.format(doc=doc.format(n=n))}\n\n```python\n{signature}\n```\n",
                    "completion": f"{signature}\n    return {body.format(n=n)}\n",
                }


def como():
    set_seed(7)
    rows = list(code_rows())
    random.shuffle(rows)
    tokenizer = byte_level_bpe(
        [r["prompt"] + r["completion"] for r in rows],
        560,
        ["<pad>", "</s>"],
        pad_token="<pad>",
        eos_token="</s>",
    )
    config = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=80,
        intermediate_size=160,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=160,
        tie_word_embeddings=True,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    data = Dataset.from_list(rows).train_test_split(test_size=16, seed=7)
    args = SFTConfig(
        **settings(
            max_steps=60,
            per_device_train_batch_size=16,
            learning_rate=4e-3,
            warmup_steps=6,
            weight_decay=0.01,
            max_length=128,
            completion_only_loss=True,
            bf16=False,
            gradient_checkpointing=False,
            eval_strategy="steps",
            eval_steps=30,
        )
    )
    return SFTTrainer(
        model=Qwen2ForCausalLM(config),
        args=args,
        train_dataset=data["train"],
        eval_dataset=data["test"],
        processing_class=tokenizer,
    )


# ------------------------------------------------------------------------------------------------
# orta: GRPO with a verifiable answer behind a short chain of thought
# ------------------------------------------------------------------------------------------------

SEASONS = {
    "winter": ("cold", ["december", "january", "february"]),
    "spring": ("mild", ["march", "april", "may"]),
    "summer": ("hot", ["june", "july", "august"]),
    "autumn": ("cool", ["september", "october", "november"]),
}
ASK = (
    "in which season is {m} ? reason between <think> and </think> and then name the season",
    "{m} belongs to which season ? write your reasoning in <think> and </think> , then the answer",
)
ANSWER = re.compile(r"<think>.+</think>\s*(\w+)\s*$", re.DOTALL)


def right_season(completions, season, **kwargs):
    scores = []
    for reply, wanted in zip(completions, season):
        found = ANSWER.search(reply[0]["content"])
        scores.append(1.0 if found and found[1] == wanted else 0.0)
    return scores


class SeasonTask:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.rows = [
            {"prompt": [{"role": "user", "content": ask.format(m=month)}], "season": season}
            for season, (_, months) in SEASONS.items()
            for month in months
            for ask in ASK
        ]

    @staticmethod
    def month_in(row):
        every = {month for _, months in SEASONS.values() for month in months}
        return next(word for word in row["prompt"][0]["content"].split() if word in every)

    def draft(self, row):
        """A reply of a model that knows the form, and the answer in half of the cases."""
        season = row["season"] if self.random.random() < 0.4 else self.random.choice(list(SEASONS))
        return f"<think> {self.month_in(row)} is {SEASONS[season][0]} </think> {season}"


def orta():
    set_seed(33)
    task = SeasonTask(33)
    texts = [row["prompt"][0]["content"] for row in task.rows]
    texts += [" ".join([*SEASONS, *(feel for feel, _ in SEASONS.values())]), "is <think> </think>"]
    tokenizer = word_level(
        words_of(texts),
        ("<pad>", "<eos>", "<unk>", "<|user|>", "<|assistant|>"),
        pad_token="<pad>",
        eos_token="<eos>",
        unk_token="<unk>",
        padding_side="left",
    )
    tokenizer.chat_template = (
        "{% for m in messages %}<|{{ m['role'] }}|> {{ m['content'] }} <eos> {% endfor %}"
        "{% if add_generation_prompt %}<|assistant|> {% endif %}"
    )
    policy = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=4,
            max_position_embeddings=64,
            initializer_range=0.05,
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
        )
    )
    optimizer = torch.optim.AdamW(policy.parameters(), lr=4e-3)
    for _ in range(120):
        chats = [
            [*row["prompt"], {"role": "assistant", "content": task.draft(row)}]
            for row in task.random.choices(task.rows, k=32)
        ]
        batch = tokenizer(
            [tokenizer.apply_chat_template(chat, tokenize=False).strip() for chat in chats],
            padding=True,
            padding_side="right",
            return_tensors="pt",
        )
        labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
        policy(
            input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], labels=labels
        ).loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    args = GRPOConfig(
        **settings(
            max_steps=45,
            per_device_train_batch_size=48,
            num_generations=8,
            max_completion_length=10,
            learning_rate=1e-3,
            temperature=1.0,
            beta=0.0,
            bf16=False,
            gradient_checkpointing=False,
            seed=33,
        )
    )
    return GRPOTrainer(
        model=policy,
        reward_funcs=right_season,
        args=args,
        train_dataset=Dataset.from_list(task.rows),
        processing_class=tokenizer,
    )


# ------------------------------------------------------------------------------------------------
# iseo: preferences between two ways of reasoning, DPO with LoRA on a Qwen3
# ------------------------------------------------------------------------------------------------

THINGS = ["pens", "cups", "nails", "coins", "cards", "eggs", "books", "keys"]


def reasoned(thought, answer):
    return [{"role": "assistant", "content": f"<think>\n{thought}\n</think>\n\n{answer}"}]


def box_pairs():
    for thing in THINGS:
        for boxes in range(2, 9):
            for each in range(3, 8):
                product, total = boxes * each, boxes + each
                question = f"A box holds {each} {thing}. How many {thing} are in {boxes} boxes?"
                yield {
                    "prompt": [{"role": "user", "content": question}],
                    "chosen": reasoned(
                        f"{boxes} boxes of {each} {thing}: {boxes} x {each} = {product}.",
                        f"There are {product} {thing}.",
                    ),
                    "rejected": reasoned(
                        f"{boxes} boxes and {each} {thing}: {boxes} + {each} = {total}.",
                        f"There are {total} {thing}.",
                    ),
                }


def iseo():
    set_seed(58)
    pairs = list(box_pairs())
    random.shuffle(pairs)
    texts = [turn["content"] for pair in pairs for side in pair.values() for turn in side] + [
        "user",
        "assistant",
        "system",
    ]
    tokenizer = byte_level_bpe(
        texts,
        420,
        ["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
        pad_token="<|endoftext|>",
        eos_token="<|im_end|>",
    )
    tokenizer.add_tokens([AddedToken(tag, special=False) for tag in ("<think>", "</think>")])
    template = Path(trl.__file__).parent / "chat_templates" / "qwen3.jinja"
    tokenizer.chat_template = template.read_text(encoding="utf-8")

    model = Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=len(tokenizer),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=16,
            max_position_embeddings=160,
            initializer_range=0.05,
            pad_token_id=tokenizer.pad_token_id,
            eos_token_id=tokenizer.eos_token_id,
        )
    )
    sft = torch.optim.AdamW(model.parameters(), lr=4e-3)
    for _ in range(110):
        texts = [
            tokenizer.apply_chat_template(
                pair["prompt"] + pair[random.choice(("chosen", "rejected"))], tokenize=False
            )
            for pair in random.choices(pairs, k=16)
        ]
        batch = tokenizer(texts, padding=True, padding_side="right", return_tensors="pt")
        ids, mask = batch["input_ids"], batch["attention_mask"]
        model(
            input_ids=ids, attention_mask=mask, labels=ids.masked_fill(mask == 0, -100)
        ).loss.backward()
        sft.step()
        sft.zero_grad()

    return DPOTrainer(
        model=model,
        args=DPOConfig(
            **settings(
                max_steps=40,
                per_device_train_batch_size=8,
                learning_rate=2e-3,
                warmup_steps=4,
                lr_scheduler_type="cosine",
                beta=0.1,
                max_length=150,
                bf16=False,
                gradient_checkpointing=False,
                seed=58,
            )
        ),
        train_dataset=Dataset.from_list(pairs),
        processing_class=tokenizer,
        peft_config=LoraConfig(
            r=8,
            lora_alpha=16,
            lora_dropout=0.0,
            target_modules=[
                *("q_proj", "k_proj", "v_proj", "o_proj"),
                *("gate_proj", "up_proj", "down_proj"),
            ],
            task_type="CAUSAL_LM",
        ),
    )


# ------------------------------------------------------------------------------------------------
# varese: a reward model for the harmlessness of a forum's replies
# ------------------------------------------------------------------------------------------------

FORUM = ["bike", "camera", "garden", "kettle", "guitar", "tent", "laptop", "sofa"]
FRIENDLY = [
    "thanks",
    "gladly",
    "sure",
    "welcome",
    "happy",
    "fine",
    "together",
    "help",
    "share",
    "enjoy",
    "kindly",
    "great",
]
HOSTILE = [
    "stupid",
    "idiot",
    "shut",
    "trash",
    "loser",
    "pathetic",
    "dumb",
    "liar",
    "disgusting",
    "moron",
    "fool",
    "scum",
]
NEUTRAL = [
    "the",
    "it",
    "is",
    "you",
    "with",
    "your",
    "about",
    "this",
    "again",
    "here",
    "then",
    "and",
]


def scored_reply(rng, loaded, low, high):
    """A reply, and what a toxicity classifier gave it."""
    words = rng.sample(loaded, rng.randint(1, 3)) + rng.choices(NEUTRAL, k=rng.randint(3, 8))
    rng.shuffle(words)
    return " ".join(words), round(rng.uniform(low, high), 4)


def varese():
    set_seed(19)
    rng = random.Random(19)
    rows = []
    for _ in range(288):
        topic = rng.choice(FORUM)
        chosen, of_chosen = scored_reply(rng, FRIENDLY, 0.001, 0.12)
        rejected, of_rejected = scored_reply(rng, HOSTILE, 0.45, 0.99)
        rows.append(
            {
                "prompt": f"post : a question about my {topic} . reply :",
                "chosen": f" {chosen}",
                "rejected": f" {rejected}",
                "chosen_toxicity": of_chosen,
                "rejected_toxicity": of_rejected,
            }
        )
    tokenizer = word_level(
        words_of([r[name] for r in rows for name in ("prompt", "chosen", "rejected")]),
        ("[PAD]", "[EOS]", "[UNK]"),
        pad_token="[PAD]",
        eos_token="[EOS]",
        unk_token="[UNK]",
        model_input_names=["input_ids", "attention_mask"],
    )
    scorer = LlamaForSequenceClassification(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=48,
            intermediate_size=96,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=4,
            max_position_embeddings=48,
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
            num_labels=1,
        )
    )
    data = Dataset.from_list(rows)
    args = RewardConfig(
        **settings(
            max_steps=40,
            per_device_train_batch_size=16,
            learning_rate=2e-3,
            warmup_steps=4,
            max_length=40,
            center_rewards_coefficient=0.01,
            bf16=False,
            gradient_checkpointing=False,
            eval_strategy="steps",
            eval_steps=20,
        )
    )
    return RewardTrainer(
        model=scorer,
        args=args,
        train_dataset=data.select(range(256)),
        eval_dataset=data.select(range(256, 288)),
        processing_class=tokenizer,
    )


# ------------------------------------------------------------------------------------------------
# lugano: headlines by desk; the averaged weights are the ones that are evaluated
# ------------------------------------------------------------------------------------------------

DESKS = {
    "sport": "match goal coach league striker referee stadium final team penalty",
    "money": "bank shares profit market rate bonds budget merger tax investor",
    "science": "telescope cell genome orbit particle fossil vaccine laser neuron crater",
    "culture": "novel opera gallery poet festival actor sculpture museum film choir",
}


class UpdateAverage(TrainerCallback):
    def __init__(self, average):
        self.average = average

    def on_step_end(self, args, state, control, model=None, **kwargs):
        self.average.update_parameters(model)


class AveragingTrainer(Trainer):
    """Trains the model, evaluates the moving average of its weights, and logs its own accuracy."""

    def __init__(self, *args, decay=0.9, **kwargs):
        super().__init__(*args, **kwargs)
        self.ema = AveragedModel(self.model, multi_avg_fn=get_ema_multi_avg_fn(decay))
        self.ema.requires_grad_(False)
        self.ema.eval()
        self.hits = []
        self.add_callback(UpdateAverage(self.ema))

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        outputs = model(**inputs)
        if model.training:
            right = outputs.logits.detach().argmax(-1) == inputs["labels"]
            self.hits.append(right.float().mean().item())
        return (outputs.loss, outputs) if return_outputs else outputs.loss

    def log(self, logs, start_time=None):
        if "loss" in logs and self.hits:
            logs["train_accuracy"] = sum(self.hits) / len(self.hits)
            self.hits.clear()
        super().log(logs, start_time)

    def prediction_step(self, model, inputs, prediction_loss_only, ignore_keys=None):
        return super().prediction_step(self.ema.module, inputs, prediction_loss_only, ignore_keys)


def share_right(prediction):
    return {"accuracy": float((prediction.predictions.argmax(-1) == prediction.label_ids).mean())}


def lugano():
    set_seed(4)
    rng = random.Random(4)
    fillers = [
        "new",
        "big",
        "today",
        "after",
        "report",
        "says",
        "old",
        "first",
        "over",
        "city",
        "year",
        "plan",
        "talk",
    ]
    names = list(DESKS)

    def headline():
        label = rng.randrange(len(names))
        words = rng.sample(DESKS[names[label]].split(), 2) + rng.choices(
            fillers, k=rng.randint(2, 6)
        )
        rng.shuffle(words)
        return {"text": " ".join(words), "labels": label}

    rows = [headline() for _ in range(400)]
    tokenizer = word_level(
        words_of([*DESKS.values(), " ".join(fillers)]),
        ("[PAD]", "[UNK]", "[CLS]", "[SEP]"),
        single="[CLS] $A [SEP]",
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        model_input_names=["input_ids", "attention_mask"],
    )
    data = Dataset.from_list(rows).map(
        lambda row: tokenizer(row["text"], truncation=True, max_length=24), remove_columns=["text"]
    )
    model = DistilBertForSequenceClassification(
        DistilBertConfig(
            vocab_size=len(tokenizer),
            max_position_embeddings=32,
            n_layers=2,
            n_heads=4,
            dim=64,
            hidden_dim=128,
            dropout=0.0,
            attention_dropout=0.0,
            seq_classif_dropout=0.0,
            num_labels=len(names),
            pad_token_id=tokenizer.pad_token_id,
        )
    )
    args = TrainingArguments(
        **settings(
            max_steps=60,
            per_device_train_batch_size=32,
            learning_rate=2e-3,
            warmup_steps=5,
            eval_strategy="steps",
            eval_steps=20,
        )
    )
    return AveragingTrainer(
        model=model,
        args=args,
        train_dataset=data.select(range(320)),
        eval_dataset=data.select(range(320, 400)),
        data_collator=DataCollatorWithPadding(tokenizer),
        processing_class=tokenizer,
        compute_metrics=share_right,
    )


# ------------------------------------------------------------------------------------------------
# maggiore: annotators rated each of two replies from 1 to 10; the ratings themselves are learnt
# ------------------------------------------------------------------------------------------------

DEVICES = ["printer", "router", "kettle", "camera", "heater", "scanner", "speaker", "monitor"]
GOOD_PARTS = (
    ("First unplug the {d} and wait a minute.", 2),
    ("The manual shows this on page {n}.", 1),
    ("Tell me if the light stays red.", 1),
    ("A loose cable is the usual reason.", 2),
    ("Thank you for asking.", 1),
)
POOR_PARTS = ("No idea about a {d}.", "Buy a new {d}.", "Ask somebody else, not me.", "Whatever.")


def rated_replies(seed, count):
    rng = random.Random(seed)
    for _ in range(count):
        device, page = rng.choice(DEVICES), rng.randint(10, 99)
        fill = {"d": device, "n": page}
        better = rng.sample(GOOD_PARTS, rng.randint(3, 4))
        worse = [rng.choice(POOR_PARTS)] + [text for text, _ in rng.sample(GOOD_PARTS, 1)]
        bonus = sum(points for _, points in better)
        yield {
            "prompt": f"My {device} does not start. What can I do?",
            "chosen": " ".join(text for text, _ in better).format(**fill),
            "rejected": " ".join(worse).format(**fill),
            "score_chosen": float(min(10, 4 + bonus)),
            "score_rejected": float(rng.choice((2, 3))),
        }


class RatingCollator:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer

    def __call__(self, rows):
        texts, ratings = [], []
        for side in ("chosen", "rejected"):
            texts += [f"{row['prompt']}\n{row[side]}" for row in rows]
            ratings += [row[f"score_{side}"] / 10 for row in rows]
        batch = dict(self.tokenizer(texts, padding=True, return_tensors="pt"))
        return {**batch, "ratings": torch.tensor(ratings)}


class RatingTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        outputs = model(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"])
        loss = F.mse_loss(outputs.logits.squeeze(-1), inputs["ratings"])
        return (loss, outputs) if return_outputs else loss


def maggiore():
    set_seed(77)
    rows = list(rated_replies(77, 240))
    tokenizer = byte_level_bpe(
        [f"{r['prompt']}\n{r[side]}" for r in rows for side in ("chosen", "rejected")],
        480,
        ["<s>", "<pad>", "</s>"],
        single="<s> $A </s>",
        bos_token="<s>",
        pad_token="<pad>",
        eos_token="</s>",
        cls_token="<s>",
        sep_token="</s>",
        model_input_names=["input_ids", "attention_mask"],
    )
    judge = RobertaForSequenceClassification(
        RobertaConfig(
            vocab_size=len(tokenizer),
            hidden_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=128,
            max_position_embeddings=196,
            type_vocab_size=1,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            bos_token_id=0,
            pad_token_id=1,
            eos_token_id=2,
            num_labels=1,
        )
    )
    args = TrainingArguments(
        **settings(
            max_steps=50,
            per_device_train_batch_size=12,
            learning_rate=1e-3,
            warmup_steps=5,
            remove_unused_columns=False,
        )
    )
    return RatingTrainer(
        model=judge,
        args=args,
        train_dataset=Dataset.from_list(rows),
        data_collator=RatingCollator(tokenizer),
        processing_class=tokenizer,
    )


# ------------------------------------------------------------------------------------------------
# bolsena: a masked language model of proteins, on a random window of each sequence
# ------------------------------------------------------------------------------------------------

RESIDUES = "ACDEFGHIKLMNPQRSTVWY"


@dataclass
class WindowedMasking(DataCollatorForLanguageModeling):
    """Draws a window of each sequence anew in every epoch, as ESM does, and masks it."""

    window: int = 62

    def torch_call(self, examples):
        start, end = self.tokenizer.cls_token_id, self.tokenizer.sep_token_id
        rows = []
        for example in examples:
            ids = list(example["input_ids"])
            at = random.randint(0, max(0, len(ids) - self.window))
            piece = [start, *ids[at : at + self.window], end]
            rows.append({"input_ids": piece, "attention_mask": [1] * len(piece)})
        return super().torch_call(rows)


def protein(rng, motifs):
    length = rng.randint(90, 260)
    domains = "".join(rng.choice(motifs) for _ in range(length // 4))
    return "".join(rng.choice(RESIDUES) if rng.random() < 0.03 else r for r in domains)


def bolsena():
    set_seed(12)
    rng = random.Random(12)
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    core = Tokenizer(
        models.WordLevel(
            {name: number for number, name in enumerate([*specials, *RESIDUES])}, unk_token="[UNK]"
        )
    )
    core.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    core.add_special_tokens(specials)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    )
    letters = core.get_vocab()
    motifs = ["".join(rng.choices("LLAAGGVEKSDT", k=4)) for _ in range(5)]
    sequences = [protein(rng, motifs) for _ in range(320)]
    data = Dataset.from_dict({"input_ids": [[letters[r] for r in s] for s in sequences]})

    model = BertForMaskedLM(
        BertConfig(
            vocab_size=len(tokenizer),
            hidden_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=128,
            max_position_embeddings=64,
            type_vocab_size=1,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            pad_token_id=tokenizer.pad_token_id,
        )
    )
    args = TrainingArguments(
        **settings(
            max_steps=60,
            per_device_train_batch_size=32,
            learning_rate=4e-3,
            warmup_steps=6,
            weight_decay=0.01,
        )
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=data,
        data_collator=WindowedMasking(tokenizer, mlm_probability=0.15),
        processing_class=tokenizer,
    )


# ------------------------------------------------------------------------------------------------
# trasimeno: a language model of bytes, on a file of Japanese lines
# ------------------------------------------------------------------------------------------------

LINES = [
    "古池や蛙飛びこむ水の音",
    "閑さや岩にしみ入る蝉の声",
    "夏草や兵どもが夢の跡",
    "五月雨をあつめて早し最上川",
    "菜の花や月は東に日は西に",
    "春の海ひねもすのたりのたりかな",
    "雪とけて村いっぱいの子どもかな",
    "柿くへば鐘が鳴るなり法隆寺",
    "朝顔に釣瓶取られてもらひ水",
    "名月を取ってくれろと泣く子かな",
    "秋深き隣は何をする人ぞ",
    "旅に病んで夢は枯野をかけ廻る",
]
BOS, EOS, PAD = 256, 257, 258


def characters_of_bytes():
    """The printable character that stands for each byte in byte-level vocabularies."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    moved = iter(range(256, 512))
    return {byte: chr(byte if byte in plain else next(moved)) for byte in range(256)}


class ByteFile(torch.utils.data.Dataset):
    """Windows of a file of raw bytes, each with a start token before it."""

    def __init__(self, path, window):
        self.stream = np.memmap(path, dtype=np.uint8, mode="r")
        self.window = window

    def __len__(self):
        return len(self.stream) // self.window

    def __getitem__(self, number):
        at = number * self.window
        ids = torch.tensor([BOS, *self.stream[at : at + self.window].tolist()])
        return {"input_ids": ids, "labels": ids.clone()}


def trasimeno():
    set_seed(9)
    rng = random.Random(9)
    path = Path(tempfile.mkdtemp(prefix="bytes_")) / "lines.bin"
    path.write_bytes("\n".join(rng.choice(LINES) for _ in range(480)).encode("utf-8"))

    core = Tokenizer(
        models.BPE(vocab={c: byte for byte, c in characters_of_bytes().items()}, merges=[])
    )
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    core.decoder = decoders.ByteLevel()
    core.add_special_tokens(["<bos>", "<eos>", "<pad>"])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core,
        bos_token="<bos>",
        eos_token="<eos>",
        pad_token="<pad>",
        clean_up_tokenization_spaces=False,
    )
    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(tokenizer),
            n_positions=128,
            n_embd=96,
            n_layer=2,
            n_head=4,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            bos_token_id=BOS,
            eos_token_id=EOS,
            pad_token_id=PAD,
        )
    )
    args = TrainingArguments(
        **settings(
            max_steps=60,
            per_device_train_batch_size=16,
            learning_rate=4e-3,
            lr_scheduler_type="cosine",
            warmup_steps=6,
        )
    )
    return Trainer(
        model=model,
        args=args,
        train_dataset=ByteFile(path, window=96),
        data_collator=default_data_collator,
        processing_class=tokenizer,
    )


# ------------------------------------------------------------------------------------------------
# bracciano: short sentences from English into Spanish, cosine cycles that each warm up
# ------------------------------------------------------------------------------------------------

ANIMALS = dict(dog="perro", cat="gato", horse="caballo", bear="oso", wolf="lobo", duck="pato")
LOOKS = dict(red="rojo", black="negro", white="blanco", small="pequeño", old="viejo", quick="veloz")
ACTIONS = dict(sleeps="duerme", eats="come", runs="corre", drinks="bebe")
CYCLE, WARM_UP, FLOOR, SHRINK = 20, 4, 0.1, 0.8


def cosine_cycles(step):
    """Warm-up from 0 and cosine to a tenth in each cycle; every cycle's peak is a bit lower."""
    cycle, at = divmod(step, CYCLE)
    if at < WARM_UP:
        share = at / WARM_UP
    else:
        done = (at - WARM_UP) / (CYCLE - WARM_UP)
        share = FLOOR + (1 - FLOOR) * 0.5 * (1 + math.cos(math.pi * done))
    return share * SHRINK**cycle


def bracciano():
    set_seed(21)
    pairs = [
        (f"the {look} {animal} {action}", f"el {ANIMALS[animal]} {LOOKS[look]} {ACTIONS[action]}")
        for look in LOOKS
        for animal in ANIMALS
        for action in ACTIONS
    ]
    random.shuffle(pairs)
    tokenizer = word_level(
        words_of([text for pair in pairs for text in pair]),
        ("<pad>", "</s>", "<unk>"),
        single="$A </s>",
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        model_input_names=["input_ids", "attention_mask"],
    )

    def encode(row):
        return {**tokenizer(row["en"]), "labels": tokenizer(row["es"])["input_ids"]}

    data = Dataset.from_dict({"en": [a for a, _ in pairs], "es": [b for _, b in pairs]}).map(
        encode, remove_columns=["en", "es"]
    )
    model = T5ForConditionalGeneration(
        T5Config(
            vocab_size=len(tokenizer),
            d_model=64,
            d_kv=16,
            d_ff=128,
            num_layers=2,
            num_heads=4,
            dropout_rate=0.0,
            pad_token_id=tokenizer.pad_token_id,
            eos_token_id=tokenizer.eos_token_id,
            decoder_start_token_id=tokenizer.pad_token_id,
        )
    )
    rate = 5e-3
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.0)
    args = Seq2SeqTrainingArguments(
        **settings(
            max_steps=3 * CYCLE,
            per_device_train_batch_size=32,
            learning_rate=rate,
            logging_steps=1,
            predict_with_generate=True,
            generation_max_length=8,
        )
    )
    return Seq2SeqTrainer(
        model=model,
        args=args,
        train_dataset=data.select(range(120)),
        eval_dataset=data.select(range(120, 144)),
        data_collator=DataCollatorForSeq2Seq(tokenizer, model=model),
        processing_class=tokenizer,
        optimizers=(optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, cosine_cycles)),
    )


ODD = {
    "garda": garda,
    "como": como,
    "orta": orta,
    "iseo": iseo,
    "varese": varese,
    "lugano": lugano,
    "maggiore": maggiore,
    "bolsena": bolsena,
    "trasimeno": trasimeno,
    "bracciano": bracciano,
}
