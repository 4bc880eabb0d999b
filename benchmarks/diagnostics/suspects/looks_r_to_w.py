"""Training runs of ten small projects: each function returns a Trainer that is ready to train."""

import random
import tempfile

import numpy as np
import torch
import torch.nn.functional as F
from datasets import Dataset
from peft import LoraConfig, get_peft_model
from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from torch import nn
from transformers import (
    BertConfig,
    BertForTokenClassification,
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
    LlamaForSequenceClassification,
    OPTConfig,
    OPTForCausalLM,
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
    TrainerCallback,
    TrainingArguments,
    default_data_collator,
    set_seed,
)
from trl import SFTConfig, SFTTrainer

QUIET = {
    "use_cpu": True,
    "report_to": "none",
    "save_strategy": "no",
    "disable_tqdm": True,
    "logging_steps": 2,
}


def scratch() -> str:
    return tempfile.mkdtemp(prefix="run-")


# --- severn: short stories from a one-line wish ------------------------------------------------

HEROES = [
    "fox",
    "heron",
    "miller",
    "weaver",
    "badger",
    "pilot",
    "gardener",
    "hermit",
    "sailor",
    "tinker",
    "otter",
    "baker",
]
THINGS = [
    "lantern",
    "compass",
    "kettle",
    "violin",
    "ladder",
    "mirror",
    "anchor",
    "whistle",
    "basket",
    "thimble",
    "map",
    "bell",
]
PLACES = [
    "on the edge of a frozen marsh",
    "behind the old railway station",
    "in a valley where nobody spoke loudly",
    "under the roof of an empty mill",
    "beside a harbour full of broken boats",
    "high above the tree line",
]
MORNINGS = [
    "One grey morning the wind carried a strange humming across the fields",
    "Before breakfast somebody had painted a blue arrow on every fence",
    "After three days of rain the path finally dried",
    "When winter ended, letters without senders began to arrive",
    "Late in autumn a stranger knocked twice and ran away",
]
FINDS = [
    "Among wet leaves lay a {thing}, heavier than it looked and still warm",
    "The {thing} hung from a low branch, turning slowly although the air stood still",
    "Inside a cracked barrel the {hero} found a {thing} wrapped in yellow paper",
    "Half buried in sand waited a {thing} with somebody's initials",
]
MIDDLES = [
    "Nobody in town recognised it, so the {hero} carried it from door to door",
    "Every evening it grew a little brighter, which frightened both neighbours",
    "An elderly clockmaker offered seven silver coins, yet the {hero} refused politely",
    "Two children claimed they had dreamed of exactly such an object",
]
TURNS = [
    "Then the bridge collapsed, and only this gift could guide people home",
    "Suddenly a door opened where there had never been one",
    "At midnight all dogs fell silent and listened",
    "Without warning the river changed direction for an hour",
]
ENDS = [
    "Since that night the {hero} sleeps well and leaves a window open",
    "Today visitors still ask about it, but the answer is always a smile",
    "Perhaps kindness needs no owner, the {hero} thought, and gave it away",
    "Years later it stood on a shelf, ordinary again, gathering dust",
]


def told_story(draw: random.Random, hero: str, thing: str) -> str:
    first = f"Long ago a quiet {hero} lived {draw.choice(PLACES)}"
    parts = [draw.choice(of) for of in (MORNINGS, FINDS, MIDDLES, TURNS, ENDS)]
    return ". ".join([first, *(part.format(hero=hero, thing=thing) for part in parts)]) + "."


def severn():
    set_seed(3)
    draw = random.Random(3)
    rows = []
    for _ in range(400):
        hero, thing = draw.choice(HEROES), draw.choice(THINGS)
        wish = f"Write a short story about a {hero} and a {thing}.\n"
        rows.append({"prompt": wish, "completion": told_story(draw, hero, thing)})
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    core.train_from_iterator(
        (row["prompt"] + row["completion"] for row in rows),
        trainers.BpeTrainer(
            vocab_size=900,
            special_tokens=["<|endoftext|>", "<|pad|>"],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        ),
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core,
        eos_token="<|endoftext|>",
        pad_token="<|pad|>",
        model_max_length=256,
    )
    model = Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=len(tokenizer),
            hidden_size=64,
            intermediate_size=160,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=256,
            tie_word_embeddings=True,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )
    return SFTTrainer(
        model=model,
        args=SFTConfig(
            output_dir=scratch(),
            max_steps=45,
            per_device_train_batch_size=8,
            learning_rate=3e-3,
            lr_scheduler_type="cosine",
            warmup_steps=4,
            max_length=256,
            bf16=False,
            gradient_checkpointing=False,
            **QUIET,
        ),
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
    )


# --- humber: which kind of contract, from windows of its text -----------------------------------

CLAUSES = {
    "tenancy": [
        "the tenant shall pay rent on the {n} day of each month to the landlord",
        "the landlord keeps roof , stairs and boiler of the premises in good repair",
        "the tenant may not sublet rooms without written consent of the landlord",
        "the deposit of {n} months rent is returned when the premises are vacated",
    ],
    "employment": [
        "the employee works {n} hours a week and reports to the head of the department",
        "the employer pays the salary at the end of each month after wage tax",
        "holiday of {n} days a year is agreed between employee and supervisor",
        "during probation the employee may leave with a notice of {n} days",
    ],
    "licence": [
        "the licensor grants a right to install the software on {n} workstations",
        "source code remains with the licensor and may not be decompiled",
        "updates of the software are provided for {n} months after activation",
        "the licensee shall not remove marks of authorship from the software",
    ],
    "loan": [
        "the borrower repays the principal in {n} equal instalments with interest",
        "the lender may call the outstanding principal after {n} missed instalments",
        "interest accrues daily on the outstanding amount at the agreed rate",
        "the borrower pledges machinery as collateral to the lender",
    ],
}
COMMON = [
    "this agreement is governed by the law of the place where it was signed",
    "changes of this agreement must be made in writing by both parties",
    "if one clause is void the others remain in force",
    "each party receives one signed copy of this document",
    "notices are sent by registered mail to the address given above",
    "both parties have read and understood the annex with {n} pages",
]
NUMBERS = [
    "second",
    "third",
    "fifth",
    "seven",
    "ten",
    "twelve",
    "fourteen",
    "twenty",
    "thirty",
    "forty",
]


def contract(draw: random.Random, kind: str) -> str:
    clauses = [
        draw.choice(CLAUSES[kind] if draw.random() < 0.65 else COMMON).format(
            n=draw.choice(NUMBERS)
        )
        for _ in range(18)
    ]
    return " . ".join(clauses) + " ."


def humber():
    set_seed(5)
    draw = random.Random(5)
    kinds = list(CLAUSES)
    papers = [(kind := draw.choice(kinds), contract(draw, kind)) for _ in range(84)]
    core = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    core.normalizer = normalizers.BertNormalizer(lowercase=True)
    core.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    core.decoder = decoders.WordPiece()
    core.train_from_iterator(
        (text for _, text in papers),
        trainers.WordPieceTrainer(
            vocab_size=700, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
        ),
    )
    core.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        special_tokens=[(t, core.token_to_id(t)) for t in ("[CLS]", "[SEP]")],
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        model_max_length=512,
    )

    def windows(documents: list[tuple[str, str]], first: int) -> Dataset:
        rows = []
        for number, (kind, text) in enumerate(documents, start=first):
            parts = tokenizer(
                [text],
                truncation=True,
                max_length=64,
                stride=16,
                return_overflowing_tokens=True,
            )
            for ids, mask in zip(parts["input_ids"], parts["attention_mask"], strict=True):
                rows.append(
                    {
                        "document_id": number,
                        "text": text,
                        "input_ids": ids,
                        "attention_mask": mask,
                        "labels": kinds.index(kind),
                    }
                )
        return Dataset.from_list(rows)

    train, held_out = windows(papers[:72], 0), windows(papers[72:], 72)
    owners = held_out["document_id"][:]
    right = {n: kinds.index(kind) for n, (kind, _) in enumerate(papers[72:], start=72)}

    def by_document(prediction):
        summed = {number: np.zeros(len(kinds)) for number in right}
        for number, logits in zip(owners, prediction.predictions, strict=True):
            summed[number] += logits
        hits = [int(summed[number].argmax()) == label for number, label in right.items()]
        by_window = (prediction.predictions.argmax(-1) == prediction.label_ids).mean()
        return {"document_accuracy": float(np.mean(hits)), "accuracy": float(by_window)}

    model = DistilBertForSequenceClassification(
        DistilBertConfig(
            vocab_size=len(tokenizer),
            dim=64,
            n_layers=2,
            n_heads=4,
            hidden_dim=128,
            max_position_embeddings=64,
            num_labels=len(kinds),
            pad_token_id=tokenizer.pad_token_id,
            initializer_range=0.05,
        )
    )
    return Trainer(
        model=model,
        args=TrainingArguments(
            output_dir=scratch(),
            max_steps=48,
            per_device_train_batch_size=16,
            per_device_eval_batch_size=32,
            learning_rate=1e-3,
            warmup_steps=4,
            weight_decay=0.01,
            eval_strategy="steps",
            eval_steps=16,
            **QUIET,
        ),
        train_dataset=train,
        eval_dataset=held_out,
        processing_class=tokenizer,
        data_collator=DataCollatorWithPadding(tokenizer),
        compute_metrics=by_document,
    )


# --- orwell: a small language model of kitchen notes -------------------------------------------

VERBS = [
    "simmer",
    "roast",
    "fold",
    "whisk",
    "drain",
    "chop",
    "grate",
    "knead",
    "steam",
    "toast",
    "glaze",
    "marinate",
]
FOODS = [
    "onions",
    "leeks",
    "carrots",
    "lentils",
    "barley",
    "noodles",
    "salmon",
    "chicken",
    "tofu",
    "mushrooms",
    "spinach",
    "pears",
    "apples",
    "walnuts",
    "potatoes",
    "cabbage",
    "tomatoes",
    "beans",
    "rice",
    "squash",
    "prawns",
    "beetroot",
    "fennel",
]
FLAVOURS = [
    "ginger",
    "thyme",
    "cumin",
    "sage",
    "lemon",
    "vinegar",
    "mustard",
    "honey",
    "garlic",
    "paprika",
    "dill",
    "mint",
]
TOOLS = [
    "skillet",
    "saucepan",
    "oven",
    "bowl",
    "tray",
    "wok",
    "casserole",
    "colander",
    "mortar",
    "steamer",
]
HINTS = [
    "until the edges turn golden",
    "for {n} minutes without a lid",
    "and stir now and then",
    "before the guests arrive",
    "over the lowest flame",
    "while the {food} cool down",
]


def kitchen_note(draw: random.Random) -> str:
    hint = draw.choice(HINTS).format(n=draw.randint(3, 55), food=draw.choice(FOODS))
    shape = draw.choice(
        [
            "{v} the {a} with {f} in a {t} {h} , then add the {b} .",
            "for {n} people {v} {a} and {b} in the {t} {h} .",
            "serve the {a} on {b} : {v} both with a little {f} {h} .",
            "never {v} {a} in a cold {t} ; warm it with {f} first , {h} .",
        ]
    )
    a, b = draw.sample(FOODS, 2)
    return shape.format(
        v=draw.choice(VERBS),
        a=a,
        b=b,
        f=draw.choice(FLAVOURS),
        t=draw.choice(TOOLS),
        n=draw.randint(2, 12),
        h=hint,
    )


def orwell():
    set_seed(8)
    draw = random.Random(8)
    notes = [kitchen_note(draw) for _ in range(720)]
    core = Tokenizer(models.BPE(unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.Metaspace()
    core.decoder = decoders.Metaspace()
    core.train_from_iterator(
        notes,
        trainers.BpeTrainer(vocab_size=420, special_tokens=["<unk>", "<pad>", "</s>"]),
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core,
        unk_token="<unk>",
        pad_token="<pad>",
        eos_token="</s>",
        model_max_length=64,
    )
    data = Dataset.from_dict({"note": [note + tokenizer.eos_token for note in notes]})
    data = data.map(
        lambda b: tokenizer(b["note"], truncation=True, max_length=64),
        batched=True,
        remove_columns="note",
    )
    model = OPTForCausalLM(
        OPTConfig(
            vocab_size=len(tokenizer),
            hidden_size=64,
            word_embed_proj_dim=64,
            ffn_dim=256,
            num_hidden_layers=4,
            num_attention_heads=4,
            max_position_embeddings=64,
            dropout=0.2,
            attention_dropout=0.1,
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=tokenizer.eos_token_id,
            eos_token_id=tokenizer.eos_token_id,
        )
    )
    return Trainer(
        model=model,
        args=TrainingArguments(
            output_dir=scratch(),
            num_train_epochs=1,
            per_device_train_batch_size=4,
            gradient_accumulation_steps=4,
            learning_rate=3e-3,
            lr_scheduler_type="cosine",
            warmup_steps=4,
            weight_decay=0.01,
            **QUIET,
        ),
        train_dataset=data.select(range(640)),
        eval_dataset=data.select(range(640, 720)),
        processing_class=tokenizer,
        data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False),
    )


# --- tamar: requests to a restaurant as frames ---------------------------------------------------

HOUSES = ["nonna", "sakura", "verde", "anchor", "olympia", "bistro", "garden", "harbor"]
DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
COUNTS = ["two", "three", "four", "five", "six", "seven", "eight"]
ASKED = [
    "please book a table for {n} at {h} on {d}",
    "we are {n} people and want to eat at {h} this {d}",
    "is there room for {n} of us on {d} at {h}",
    "on {d} i would like to take {n} guests to {h}",
    "{h} on {d} for {n} if you can",
]


def tamar():
    set_seed(13)
    draw = random.Random(13)
    rows = []
    for _ in range(640):
        one = {"n": draw.choice(COUNTS), "h": draw.choice(HOUSES), "d": draw.choice(DAYS)}
        rows.append(
            {
                "request": draw.choice(ASKED).format(**one),
                "frame": "place = {h} ; people = {n} ; day = {d}".format(**one),
            }
        )
    core = Tokenizer(models.WordLevel(unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    core.train_from_iterator(
        (text for row in rows for text in row.values()),
        trainers.WordLevelTrainer(special_tokens=["<pad>", "</s>", "<unk>"]),
    )
    core.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", core.token_to_id("</s>"))]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        model_max_length=128,
    )

    def encode(batch):
        found = tokenizer(batch["request"], max_length=64, truncation=True)
        frames = tokenizer(
            text_target=batch["frame"], max_length=64, truncation=True, padding="max_length"
        )["input_ids"]
        pad = tokenizer.pad_token_id
        found["labels"] = [[-100 if one == pad else one for one in row] for row in frames]
        return found

    data = Dataset.from_list(rows).map(encode, batched=True, remove_columns=["request", "frame"])

    def exact(prediction):
        texts = [
            tokenizer.batch_decode(
                np.where(ids < 0, tokenizer.pad_token_id, ids), skip_special_tokens=True
            )
            for ids in (prediction.predictions, prediction.label_ids)
        ]
        return {"exact_match": float(np.mean([a == b for a, b in zip(*texts, strict=True)]))}

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
    return Seq2SeqTrainer(
        model=model,
        args=Seq2SeqTrainingArguments(
            output_dir=scratch(),
            max_steps=60,
            per_device_train_batch_size=16,
            per_device_eval_batch_size=16,
            learning_rate=4e-3,
            warmup_steps=5,
            predict_with_generate=True,
            generation_max_length=24,
            eval_strategy="steps",
            eval_steps=30,
            **QUIET,
        ),
        train_dataset=data.select(range(608)),
        eval_dataset=data.select(range(608, 640)),
        processing_class=tokenizer,
        data_collator=DataCollatorForSeq2Seq(tokenizer, model=model),
        compute_metrics=exact,
    )


# --- derwent: a chat model reads the service reports of a wind park -----------------------------

CHAT_TEMPLATE = (
    r"{%- for message in messages %}"
    r"{{- '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}"
    r"{%- endfor %}"
    r"{%- if add_generation_prompt %}"
    r"{{- '<|im_start|>assistant\n' }}"
    r"{%- if enable_thinking is defined and enable_thinking is false %}"
    r"{{- '<think>\n\n</think>\n\n' }}"
    r"{%- endif %}"
    r"{%- endif %}"
)
PEOPLE = ["Anna", "Piet", "Omar", "Lucia", "Jonas", "Mei", "Tariq", "Elsa"]
TOWNS = ["Bergen", "Porto", "Ghent", "Turin", "Malmo", "Leeds", "Gdansk", "Lyon"]
LEISURE = ["plays chess", "repairs bicycles", "teaches music", "grows roses", "paints doors"]
FAULTS = ["pitch bearing", "yaw brake", "gear oil pump", "blade sensor", "converter fan"]
SIGNS = ["vibrated at high wind", "leaked grease", "reported a timeout", "ran hot", "was iced over"]
REMEDIES = ["replaced", "cleaned", "recalibrated", "tightened", "shut off"]


def small_talk(draw: random.Random) -> str:
    who, other = draw.sample(PEOPLE, 2)
    return (
        f"{who} lives in {draw.choice(TOWNS)} and {draw.choice(LEISURE)} every weekend. "
        f"{other} visits {who} in {draw.choice(('spring', 'summer', 'autumn', 'winter'))}."
    )


def service_report(draw: random.Random) -> str:
    fault = draw.choice(FAULTS)
    return (
        f"Turbine {draw.randint(1, 24)}: the {fault} {draw.choice(SIGNS)} at "
        f"{draw.randint(3, 25)} metres per second. {draw.choice(PEOPLE)} "
        f"{draw.choice(REMEDIES)} the {fault}; the turbine was down for "
        f"{draw.randint(1, 9)} hours."
    )


def derwent():
    set_seed(21)
    draw = random.Random(21)
    talk = [small_talk(draw) for _ in range(400)]
    reports = [service_report(draw) for _ in range(700)]
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    core.train_from_iterator(
        talk + reports,
        trainers.BpeTrainer(
            vocab_size=640,
            special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        ),
    )
    core.add_tokens(["<think>", "</think>"])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        model_max_length=128,
    )
    tokenizer.chat_template = CHAT_TEMPLATE
    between = tokenizer.convert_tokens_to_ids("<|endoftext|>")

    def blocks(texts: list[str], width: int = 48) -> list[dict]:
        joined = [one for ids in tokenizer(texts)["input_ids"] for one in (*ids, between)]
        cut = [joined[at : at + width] for at in range(0, len(joined) - width + 1, width)]
        return [
            {"input_ids": ids, "attention_mask": [1] * width, "labels": list(ids)} for ids in cut
        ]

    model = Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=len(tokenizer),
            hidden_size=64,
            intermediate_size=160,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=16,
            max_position_embeddings=128,
            tie_word_embeddings=True,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )
    model.generation_config.eos_token_id = [tokenizer.eos_token_id, between]
    known = torch.tensor([row["input_ids"] for row in blocks(talk)])
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
    model.train()
    for _ in range(50):
        ids = known[torch.randint(len(known), (16,))]
        model(input_ids=ids, labels=ids).loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    rows = blocks(reports)
    return Trainer(
        model=model,
        args=TrainingArguments(
            output_dir=scratch(),
            max_steps=50,
            per_device_train_batch_size=12,
            per_device_eval_batch_size=16,
            learning_rate=1.5e-3,
            lr_scheduler_type="cosine",
            warmup_steps=5,
            weight_decay=0.1,
            eval_strategy="steps",
            eval_steps=25,
            **QUIET,
        ),
        train_dataset=Dataset.from_list(rows[32:]),
        eval_dataset=Dataset.from_list(rows[:32]),
        processing_class=tokenizer,
        data_collator=default_data_collator,
    )


# --- tyne: the first slice of a long pre-training on letters -------------------------------------

SHIPS = ["Aurora", "Bell", "Cygnet", "Dolphin", "Esk", "Falcon", "Grace", "Heron", "Iris", "Juno"]
GOODS = ["coal", "salt", "timber", "hemp", "tar", "wool", "tin", "glass", "corn", "rope"]
PORTS = ["Hull", "Leith", "Riga", "Bremen", "Cork", "Calais", "Bergen", "Lisbon"]


class Windows(torch.utils.data.Dataset):
    """Windows of a long row of letters, one at each position."""

    def __init__(self, letters: torch.Tensor, width: int):
        self.letters, self.width = letters, width

    def __len__(self) -> int:
        return len(self.letters) - self.width

    def __getitem__(self, at: int) -> dict[str, torch.Tensor]:
        part = self.letters[at : at + self.width]
        return {"input_ids": part.clone(), "labels": part.clone()}


class Allocation(TrainerCallback):
    """Gives the machine back after the steps of one slice."""

    def __init__(self, steps: int):
        self.steps = steps

    def on_step_end(self, args, state, control, **kwargs):
        if state.global_step >= self.steps:
            control.should_training_stop = True


def tyne():
    set_seed(34)
    draw = random.Random(34)
    lines = [
        f"{draw.randint(1, 28)} {draw.choice(('May', 'June', 'July'))}: the {draw.choice(SHIPS)} "
        f"from {draw.choice(PORTS)} with {draw.randint(10, 90)} tons of {draw.choice(GOODS)}.\n"
        for _ in range(1500)
    ]
    text = "".join(lines)
    alphabet = sorted(set(text))
    place = {letter: at for at, letter in enumerate(alphabet)}
    letters = torch.tensor([place[letter] for letter in text])
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(alphabet),
            hidden_size=64,
            intermediate_size=176,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=4,
            max_position_embeddings=64,
            bos_token_id=None,
            eos_token_id=None,
        )
    )
    return Trainer(
        model=model,
        args=TrainingArguments(
            output_dir=scratch(),
            max_steps=5000,
            per_device_train_batch_size=16,
            learning_rate=3e-3,
            lr_scheduler_type="cosine",
            warmup_steps=25,
            weight_decay=0.1,
            adam_beta2=0.95,
            max_grad_norm=1.0,
            **QUIET,
        ),
        train_dataset=Windows(letters, 64),
        callbacks=[Allocation(60)],
    )


# --- medway: who is speaking, by distances --------------------------------------------------------

NUM_SPEAKERS, NUM_BANDS, NUM_FRAMES = 12, 20, 40


class Utterances(torch.utils.data.Dataset):
    """Spectra of speakers who differ in their resonances, with noise and another pitch each."""

    def __init__(self, count: int, seed: int):
        voices = np.random.default_rng(0).normal(0.0, 1.0, (NUM_SPEAKERS, NUM_BANDS))
        draw = np.random.default_rng(seed)
        self.speakers = draw.integers(0, NUM_SPEAKERS, count)
        loud = draw.normal(0.0, 0.5, (count, 1, NUM_FRAMES))
        noise = draw.normal(0.0, 1.0, (count, NUM_BANDS, NUM_FRAMES))
        self.spectra = (voices[self.speakers][:, :, None] + loud + noise).astype(np.float32)

    def __len__(self) -> int:
        return len(self.speakers)

    def __getitem__(self, at: int) -> dict:
        return {"spectra": torch.from_numpy(self.spectra[at]), "labels": int(self.speakers[at])}


class VoiceNet(nn.Module):
    def __init__(self, width: int = 48):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv1d(NUM_BANDS, width, 5, padding=2),
            nn.BatchNorm1d(width),
            nn.ReLU(),
            nn.Conv1d(width, width, 3, padding=1),
            nn.BatchNorm1d(width),
            nn.ReLU(),
        )
        self.out = nn.Linear(2 * width, 32)

    def forward(self, spectra):
        frames = self.layers(spectra)
        pooled = torch.cat([frames.mean(-1), frames.std(-1)], dim=1)
        return F.normalize(self.out(pooled), dim=1)


class ProxyAnchor(nn.Module):
    """Proxy-Anchor loss (Kim et al., 2020)."""

    def __init__(self, num_classes: int, width: int, margin: float = 0.1, alpha: float = 32.0):
        super().__init__()
        self.proxies = nn.Parameter(torch.empty(num_classes, width))
        nn.init.kaiming_normal_(self.proxies, mode="fan_out")
        self.margin, self.alpha = margin, alpha

    def forward(self, embeddings, labels):
        cosines = embeddings @ F.normalize(self.proxies, dim=1).T
        same = F.one_hot(labels, len(self.proxies)).bool()
        near = torch.exp(-self.alpha * (cosines - self.margin)).masked_fill(~same, 0.0).sum(0)
        far = torch.exp(self.alpha * (cosines + self.margin)).masked_fill(same, 0.0).sum(0)
        present = same.any(0).sum()
        return near.log1p().sum() / present + far.log1p().sum() / len(self.proxies)


class MetricTrainer(Trainer):
    def __init__(self, *args, criterion: nn.Module, **kwargs):
        super().__init__(*args, **kwargs)
        self.criterion = criterion

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        embeddings = model(spectra=inputs["spectra"])
        loss = self.criterion(embeddings, inputs["labels"])
        return (loss, {"embeddings": embeddings}) if return_outputs else loss


def medway():
    set_seed(55)
    model = VoiceNet()
    criterion = ProxyAnchor(NUM_SPEAKERS, 32)
    optimizer = torch.optim.AdamW(
        [
            {"params": list(model.parameters()), "lr": 1e-3},
            {"params": list(criterion.parameters()), "lr": 1e-2},
        ],
        weight_decay=1e-4,
    )
    return MetricTrainer(
        model=model,
        args=TrainingArguments(
            output_dir=scratch(),
            max_steps=60,
            per_device_train_batch_size=48,
            lr_scheduler_type="cosine",
            remove_unused_columns=False,
            **QUIET,
        ),
        train_dataset=Utterances(960, seed=1),
        optimizers=(optimizer, None),
        criterion=criterion,
    )


# --- trent: flight requests and their short codes ------------------------------------------------

CITIES = {
    "oslo": "OSL",
    "rome": "FCO",
    "paris": "CDG",
    "vienna": "VIE",
    "madrid": "MAD",
    "athens": "ATH",
    "dublin": "DUB",
    "zurich": "ZRH",
}
WEEK = {"monday": "MO", "tuesday": "TU", "wednesday": "WE", "thursday": "TH", "friday": "FR"}
GREETINGS = ["hello", "good morning", "hi there", "dear team", "please"]


class MaskedRows:
    """Pads ids and the mask of the tokens that count."""

    def __init__(self, tokenizer):
        self.tokenizer = tokenizer

    def __call__(self, rows: list[dict]) -> dict[str, torch.Tensor]:
        ids = [row["input_ids"] for row in rows]
        batch = dict(self.tokenizer.pad({"input_ids": ids}, return_tensors="pt"))
        width = batch["input_ids"].shape[1]
        batch["labels"] = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
        masks = [row["loss_mask"] + [0] * (width - len(row["loss_mask"])) for row in rows]
        batch["loss_mask"] = torch.tensor(masks)
        return batch


class MaskedLossTrainer(Trainer):
    """The mean of the losses of the tokens whose loss_mask is 1."""

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        outputs = model(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"])
        logits, targets = outputs.logits[:, :-1], inputs["labels"][:, 1:]
        nats = F.cross_entropy(logits.transpose(1, 2), targets, reduction="none")
        counts = inputs["loss_mask"][:, 1:].to(nats.dtype)
        loss = (nats * counts).sum() / counts.sum().clamp(min=1)
        return (loss, outputs) if return_outputs else loss


def trent():
    set_seed(89)
    draw = random.Random(89)
    pairs = []
    for _ in range(800):
        (a, first), (b, second) = draw.sample(list(CITIES.items()), 2)
        day, short = draw.choice(list(WEEK.items()))
        asked = f"{draw.choice(GREETINGS)} , a flight from {a} to {b} on {day} ="
        pairs.append((asked, f"{first} {second} {short}"))
    core = Tokenizer(models.WordLevel(unk_token="[unk]"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    core.train_from_iterator(
        (text for pair in pairs for text in pair),
        trainers.WordLevelTrainer(special_tokens=["[unk]", "[pad]", "[end]"]),
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core,
        unk_token="[unk]",
        pad_token="[pad]",
        eos_token="[end]",
        model_max_length=32,
    )
    rows = []
    for asked, code in pairs:
        prompt = tokenizer(asked)["input_ids"]
        reply = [*tokenizer(code)["input_ids"], tokenizer.eos_token_id]
        rows.append(
            {"input_ids": prompt + reply, "loss_mask": [0] * len(prompt) + [1] * len(reply)}
        )
    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(tokenizer),
            n_positions=32,
            n_embd=64,
            n_layer=2,
            n_head=4,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            bos_token_id=tokenizer.eos_token_id,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )
    return MaskedLossTrainer(
        model=model,
        args=TrainingArguments(
            output_dir=scratch(),
            max_steps=60,
            per_device_train_batch_size=32,
            learning_rate=5e-3,
            lr_scheduler_type="cosine",
            warmup_steps=5,
            remove_unused_columns=False,
            **QUIET,
        ),
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
        data_collator=MaskedRows(tokenizer),
    )


# --- ouse: the role of each sentence of an abstract ----------------------------------------------

ROLES = ["background", "objective", "method", "result", "conclusion"]
SENTENCES = {
    "background": [
        "{x} is common in older patients and its causes remain unclear",
        "little is known about {x} outside of large hospitals",
        "previous studies of {x} gave conflicting answers",
    ],
    "objective": [
        "we aimed to find out whether {y} reduces {x}",
        "the purpose of this trial was to compare {y} with placebo in {x}",
    ],
    "method": [
        "{n} patients with {x} were randomly assigned to {y} or placebo",
        "outcomes were measured by blinded raters after {n} weeks",
        "we fitted a mixed model with age and sex as covariates",
    ],
    "result": [
        "symptoms of {x} fell by {n} percent in the group with {y}",
        "no difference was seen in {n} participants after one year",
        "adverse events were rare and mild with {y}",
    ],
    "conclusion": [
        "{y} seems to be safe and should be considered in {x}",
        "larger trials are needed before {y} can be recommended",
    ],
}
DISEASES = ["asthma", "insomnia", "migraine", "gout", "anaemia", "eczema", "arthritis", "vertigo"]
DRUGS = ["zinc", "aspirin", "melatonin", "yoga", "caffeine", "fish oil", "light therapy", "music"]


def abstract(draw: random.Random) -> list[tuple[str, str]]:
    x, y = draw.choice(DISEASES), draw.choice(DRUGS)
    roles = ["background"] * draw.randint(1, 2) + ["objective"] + ["method"] * draw.randint(1, 2)
    roles += ["result"] * draw.randint(1, 2) + ["conclusion"]
    return [
        (role, draw.choice(SENTENCES[role]).format(x=x, y=y, n=draw.randint(8, 90)))
        for role in roles
    ]


def ouse():
    set_seed(144)
    draw = random.Random(144)
    papers = [abstract(draw) for _ in range(480)]
    core = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    core.normalizer = normalizers.BertNormalizer(lowercase=True)
    core.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    core.decoder = decoders.WordPiece()
    core.train_from_iterator(
        (sentence for paper in papers for _, sentence in paper),
        trainers.WordPieceTrainer(
            vocab_size=500, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
        ),
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        model_max_length=160,
    )

    def encode(paper: list[tuple[str, str]]) -> dict[str, list[int]]:
        ids, labels = [tokenizer.cls_token_id], [-100]
        for role, sentence in paper:
            words = tokenizer(sentence, add_special_tokens=False)["input_ids"]
            ids += [*words, tokenizer.sep_token_id]
            labels += [-100] * len(words) + [ROLES.index(role)]
        ids, labels = ids[:160], labels[:160]
        return {"input_ids": ids, "attention_mask": [1] * len(ids), "labels": labels}

    def accuracy(prediction):
        counts = prediction.label_ids != -100
        hits = prediction.predictions.argmax(-1) == prediction.label_ids
        return {"accuracy": float(hits[counts].mean())}

    rows = [encode(paper) for paper in papers]
    model = BertForTokenClassification(
        BertConfig(
            vocab_size=len(tokenizer),
            hidden_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=128,
            max_position_embeddings=160,
            initializer_range=0.05,
            pad_token_id=tokenizer.pad_token_id,
            id2label=dict(enumerate(ROLES)),
            label2id={role: at for at, role in enumerate(ROLES)},
        )
    )
    return Trainer(
        model=model,
        args=TrainingArguments(
            output_dir=scratch(),
            max_steps=60,
            per_device_train_batch_size=12,
            per_device_eval_batch_size=24,
            learning_rate=2e-3,
            warmup_steps=6,
            weight_decay=0.01,
            eval_strategy="steps",
            eval_steps=30,
            **QUIET,
        ),
        train_dataset=Dataset.from_list(rows[48:]),
        eval_dataset=Dataset.from_list(rows[:48]),
        processing_class=tokenizer,
        data_collator=DataCollatorForTokenClassification(tokenizer),
        compute_metrics=accuracy,
    )


# --- wye: which desk answers a ticket, with an adapter on a decoder -------------------------------

DESKS = {
    "billing": [
        "my invoice shows {w} twice",
        "the refund of {w} never came",
        "vat on {w} is wrong",
    ],
    "network": ["{w} cannot reach the wifi", "the vpn drops when i open {w}", "{w} loads slowly"],
    "account": ["i lost the password of {w}", "please unlock {w}", "my badge opens {w} no more"],
    "hardware": ["the screen of {w} flickers", "{w} does not charge", "a key of {w} is stuck"],
}
DEVICES = [
    "laptop",
    "printer",
    "tablet",
    "phone",
    "scanner",
    "monitor",
    "dock",
    "router",
    "camera",
    "headset",
]
OPENINGS = ["hello", "since monday", "as of today", "again", "help", "urgent"]
CLOSINGS = ["thanks", "best regards", "please call me", "any idea", "i am in room nine"]


def ticket(draw: random.Random, desk: str) -> str:
    core = draw.choice(DESKS[desk]).format(w=f"the {draw.choice(DEVICES)}")
    return f"{draw.choice(OPENINGS)} : {core} , {draw.choice(CLOSINGS)}"


def wye():
    set_seed(233)
    draw = random.Random(233)
    desks = list(DESKS)
    rows = [{"labels": draw.randrange(len(desks))} for _ in range(560)]
    texts = [ticket(draw, desks[row["labels"]]) for row in rows]
    core = Tokenizer(models.Unigram())
    core.pre_tokenizer = pre_tokenizers.Metaspace()
    core.decoder = decoders.Metaspace()
    core.train_from_iterator(
        texts,
        trainers.UnigramTrainer(
            vocab_size=220, special_tokens=["<unk>", "<s>", "</s>", "<pad>"], unk_token="<unk>"
        ),
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core,
        unk_token="<unk>",
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        model_max_length=64,
    )
    size = {
        "vocab_size": len(tokenizer),
        "hidden_size": 64,
        "intermediate_size": 160,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 64,
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
    }
    writer = LlamaForCausalLM(LlamaConfig(**size))
    optimizer = torch.optim.AdamW(writer.parameters(), lr=4e-3)
    writer.train()
    for _ in range(60):
        batch = tokenizer(draw.sample(texts[80:], 16), padding=True, return_tensors="pt")
        ids, mask = batch["input_ids"], batch["attention_mask"]
        labels = ids.masked_fill(mask == 0, -100)
        writer(input_ids=ids, attention_mask=mask, labels=labels).loss.backward()
        nn.utils.clip_grad_norm_(writer.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    router = LlamaForSequenceClassification(LlamaConfig(**size, num_labels=len(desks)))
    router.model.load_state_dict(writer.model.state_dict())
    model = get_peft_model(
        router,
        LoraConfig(
            task_type="SEQ_CLS",
            r=8,
            lora_alpha=16,
            target_modules=["q_proj", "k_proj", "v_proj", "o_proj", "up_proj", "down_proj"],
        ),
    )
    data = Dataset.from_list(
        [{**row, **tokenizer(text)} for row, text in zip(rows, texts, strict=True)]
    )

    def accuracy(prediction):
        hits = prediction.predictions.argmax(-1) == prediction.label_ids
        return {"accuracy": float(hits.mean())}

    return Trainer(
        model=model,
        args=TrainingArguments(
            output_dir=scratch(),
            max_steps=60,
            per_device_train_batch_size=16,
            per_device_eval_batch_size=40,
            learning_rate=4e-3,
            warmup_steps=4,
            eval_strategy="steps",
            eval_steps=30,
            **QUIET,
        ),
        train_dataset=data.select(range(80, 560)),
        eval_dataset=data.select(range(80)),
        processing_class=tokenizer,
        data_collator=DataCollatorWithPadding(tokenizer),
        compute_metrics=accuracy,
    )


ODD = {
    "severn": severn,
    "humber": humber,
    "orwell": orwell,
    "tamar": tamar,
    "derwent": derwent,
    "tyne": tyne,
    "medway": medway,
    "trent": trent,
    "ouse": ouse,
    "wye": wye,
}
