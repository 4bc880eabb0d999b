import copy
import os
import random
import tempfile

os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import torch
from datasets import Dataset, IterableDataset
from peft import LoraConfig, get_peft_model
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import (
    AutoModelForSequenceClassification,
    DataCollatorForLanguageModeling,
    DataCollatorForSeq2Seq,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
    Qwen3MoeConfig,
    Qwen3MoeForCausalLM,
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
from trl.experimental.orpo import ORPOConfig, ORPOTrainer

QUIET = dict(use_cpu=True, report_to="none", save_strategy="no", disable_tqdm=True)
PLAIN = dict(bf16=False, gradient_checkpointing=False)


def _workdir(name):
    return tempfile.mkdtemp(prefix=f"{name}-")


def _word_vocab(texts, specials):
    words = sorted({word for text in texts for word in text.split()} - set(specials))
    return {word: index for index, word in enumerate([*specials, *words])}


def _pretrain(model, rows, steps, lr=3e-3, batch_size=16, seed=0):
    picker = random.Random(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, (step + 1) / 10) * max(0.05, 1.0 - step / steps)
    )
    model.train()
    for _ in range(steps):
        batch = picker.choices(rows, k=batch_size)
        width = max(len(row) for row in batch)
        ids = torch.zeros((batch_size, width), dtype=torch.long)
        labels = torch.full((batch_size, width), -100, dtype=torch.long)
        for index, row in enumerate(batch):
            ids[index, : len(row)] = torch.tensor(row)
            labels[index, : len(row)] = torch.tensor(row)
        mask = (labels != -100).long()
        loss = model(input_ids=ids, attention_mask=mask, labels=labels).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
    return model


def elbe():
    rng = random.Random(41)
    people = ["Ada", "Bruno", "Carla", "Dino", "Elsa", "Franz", "Greta", "Hugo"]
    deeds = ["carried", "painted", "mended", "sold", "forgot", "found"]
    things = ["ladder", "kettle", "bicycle", "lamp", "basket", "clock"]
    places = ["near the mill", "in the garden", "at the market", "behind the barn", "by the bridge"]
    lights = ["Light buoy", "Fog signal", "Leading light", "Racon", "Sector light"]
    capes = ["Cape Roca", "Cape Wrath", "Cape Gata", "Point Reyes", "Start Point"]
    states = ["unlit", "off station", "temporarily withdrawn", "reduced in range"]

    def story():
        cast = rng.sample(people, 2)
        return " ".join(
            f"{rng.choice(cast)} {rng.choice(deeds)} the {rng.choice(things)} {rng.choice(places)}."
            for _ in range(rng.randint(2, 4))
        )

    def notice():
        return (
            f"NOTICE {rng.randint(100, 999)}: {rng.choice(lights)} off {rng.choice(capes)} reported "
            f"{rng.choice(states)}. Mariners should keep {rng.randint(2, 9)} cables clear. "
            f"Chart {rng.randint(10, 99)} refers."
        )

    stories = [story() for _ in range(320)]
    notices = [notice() for _ in range(480)]

    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    bpe.train_from_iterator(
        stories + notices,
        trainers.BpeTrainer(
            vocab_size=440,
            special_tokens=["<|endoftext|>"],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        bos_token="<|endoftext|>",
        eos_token="<|endoftext|>",
        pad_token="<|endoftext|>",
    )

    torch.manual_seed(41)
    base = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=64,
            intermediate_size=160,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=4,
            max_position_embeddings=256,
            tie_word_embeddings=True,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
        )
    )
    stream = []
    for text in stories[:240]:
        stream += tokenizer(text)["input_ids"] + [tokenizer.eos_token_id]
    blocks = [stream[start : start + 64] for start in range(0, len(stream) - 64, 64)]
    _pretrain(base, blocks, steps=110, batch_size=8, seed=41)

    mixture = notices[:440] + stories[240:296]
    rng.shuffle(mixture)
    return SFTTrainer(
        model=base,
        args=SFTConfig(
            output_dir=_workdir("elbe"),
            packing=True,
            packing_strategy="wrapped",
            max_length=64,
            shuffle_dataset=True,
            per_device_train_batch_size=8,
            per_device_eval_batch_size=8,
            max_steps=48,
            learning_rate=2e-3,
            lr_scheduler_type="warmup_stable_decay",
            lr_scheduler_kwargs={"num_decay_steps": 12},
            warmup_steps=4,
            logging_steps=2,
            eval_strategy="steps",
            eval_steps=16,
            **PLAIN,
            **QUIET,
        ),
        train_dataset=Dataset.from_dict({"text": mixture}),
        eval_dataset={
            "notices": Dataset.from_dict({"text": notices[440:]}),
            "stories": Dataset.from_dict({"text": stories[296:]}),
        },
        processing_class=tokenizer,
    )


def orinoco():
    chain = random.Random(8)
    favoured = {"A": "G", "G": "C", "C": "T", "T": "A"}

    def read():
        base = chain.choice("ACGT")
        letters = []
        for _ in range(chain.randint(64, 96)):
            letters.append("N" if chain.random() < 0.004 else base)
            base = favoured[base] if chain.random() < 0.4 else chain.choice("ACGT")
        return "".join(letters)

    alphabet = Tokenizer(
        models.WordLevel(
            {"[PAD]": 0, "[UNK]": 1, "A": 2, "C": 3, "G": 4, "T": 5, "N": 6}, unk_token="[UNK]"
        )
    )
    alphabet.pre_tokenizer = pre_tokenizers.Split(Regex("[ACGTN]"), behavior="isolated")
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=alphabet, pad_token="[PAD]", unk_token="[UNK]"
    )

    def table(count):
        reads = Dataset.from_dict({"read": [read() for _ in range(count)]})
        return reads.map(lambda row: dict(tokenizer(row["read"])), remove_columns=["read"])

    train_reads, held_out = table(16 * 60), table(48)
    torch.manual_seed(8)
    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(tokenizer),
            n_positions=128,
            n_embd=48,
            n_layer=2,
            n_head=4,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            bos_token_id=None,
            eos_token_id=None,
        )
    )
    return Trainer(
        model=model,
        args=TrainingArguments(
            output_dir=_workdir("orinoco"),
            num_train_epochs=1,
            per_device_train_batch_size=16,
            per_device_eval_batch_size=16,
            learning_rate=5e-3,
            lr_scheduler_type="cosine",
            warmup_steps=5,
            weight_decay=0.1,
            adam_beta2=0.95,
            logging_steps=3,
            eval_strategy="steps",
            eval_steps=20,
            **QUIET,
        ),
        data_collator=DataCollatorForLanguageModeling(tokenizer=tokenizer, mlm=False),
        train_dataset=train_reads,
        eval_dataset=held_out,
        processing_class=tokenizer,
    )


def tagus():
    rng = random.Random(19)
    topical = {
        "billing": [
            "invoice",
            "refund",
            "charge",
            "card",
            "receipt",
            "payment",
            "overdue",
            "vat",
            "discount",
            "subscription",
            "price",
            "debit",
        ],
        "hardware": [
            "laptop",
            "screen",
            "battery",
            "keyboard",
            "dock",
            "fan",
            "printer",
            "cable",
            "monitor",
            "charger",
            "hinge",
            "webcam",
        ],
        "security": [
            "phishing",
            "password",
            "breach",
            "malware",
            "token",
            "lockout",
            "suspicious",
            "login",
            "firewall",
            "leak",
            "vpn",
            "fraud",
        ],
    }
    chatter = [
        "hello",
        "team",
        "i",
        "we",
        "the",
        "a",
        "please",
        "could",
        "you",
        "again",
        "since",
        "monday",
        "our",
        "office",
        "still",
        "not",
        "and",
        "with",
        "about",
        "thanks",
        "for",
        "your",
        "help",
        "it",
        "is",
        "was",
        "this",
        "morning",
        "customer",
        "asked",
        "me",
        "to",
        "write",
        "on",
        "behalf",
        "of",
    ]
    header = "Route the following helpdesk ticket to the owning team. Answer with one word.\n"

    rows = []
    for _ in range(1280):
        team = rng.choices(["billing", "hardware", "security"], weights=[78, 15, 7])[0]
        body = [
            rng.choice(topical[team]) if rng.random() < 0.35 else rng.choice(chatter)
            for _ in range(rng.randint(22, 34))
        ]
        rows.append(
            {"prompt": f"{header}### Ticket: {' '.join(body)}\n### Team:", "completion": f" {team}"}
        )

    words = Tokenizer(models.WordLevel(unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.train_from_iterator(
        (row["prompt"] + row["completion"] for row in rows),
        trainers.WordLevelTrainer(special_tokens=["<pad>", "<unk>", "</s>"], show_progress=False),
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="<pad>", unk_token="<unk>", eos_token="</s>"
    )
    torch.manual_seed(19)
    model = Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=len(tokenizer),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=128,
            pad_token_id=tokenizer.pad_token_id,
            eos_token_id=tokenizer.eos_token_id,
        )
    )
    return SFTTrainer(
        model=model,
        args=SFTConfig(
            output_dir=_workdir("tagus"),
            num_train_epochs=1,
            per_device_train_batch_size=32,
            learning_rate=3e-3,
            lr_scheduler_type="linear",
            warmup_steps=4,
            max_length=128,
            completion_only_loss=True,
            logging_steps=2,
            **PLAIN,
            **QUIET,
        ),
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
    )


def loire():
    rng = random.Random(23)
    skies = ["sunny", "cloudy", "rainy", "windy", "foggy", "snowy", "stormy", "mild"]
    towns = [
        "Brest",
        "Calais",
        "Dieppe",
        "Lorient",
        "Royan",
        "Roscoff",
        "Antibes",
        "Menton",
        "Cassis",
        "Hendaye",
        "Honfleur",
        "Deauville",
    ]
    sky = {town: skies[index % len(skies)] for index, town in enumerate(towns)}
    asks = [
        "what is it like in {} ?",
        "weather for {} please",
        "how is {} today ?",
        "tell me about {} now",
    ]
    system = {
        "role": "system",
        "content": "you are the harbour desk assistant . answer in the house style .",
    }

    def dialogue(first, second, opener):
        return [
            system,
            {"role": "user", "content": opener},
            {"role": "assistant", "content": first},
            {"role": "user", "content": rng.choice(["thanks", "thank you", "great thanks"])},
            {"role": "assistant", "content": second},
        ]

    def generic():
        town = rng.choice(towns)
        if rng.random() < 0.25:
            return dialogue(
                "happy to help . have a pleasant day .",
                "have a pleasant day .",
                "good bye and please help",
            )
        return dialogue(
            f"it is {sky[town]} in {town} today .",
            "you are welcome .",
            rng.choice(asks).format(town),
        )

    def house():
        town = rng.choice(towns)
        return dialogue(
            f"{town} : {sky[town]} . have a pleasant day .",
            "happy to help . have a pleasant day .",
            rng.choice(asks).format(town),
        )

    pretraining = [generic() for _ in range(400)]
    tuning = [house() for _ in range(320)]
    roles = ["<|system|>", "<|user|>", "<|assistant|>", "<|end|>"]
    vocab = _word_vocab(
        (turn["content"] for talk in pretraining + tuning for turn in talk),
        ["<|pad|>", "<|unk|>", *roles],
    )
    backend = Tokenizer(models.WordLevel(vocab, unk_token="<|unk|>"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    backend.add_special_tokens(roles)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token="<|pad|>", unk_token="<|unk|>", eos_token="<|end|>"
    )
    tokenizer.chat_template = (
        "{% for m in messages %}"
        "{{ '<|' + m['role'] + '|> ' }}"
        "{% if m['role'] == 'assistant' %}"
        "{% generation %}{{ m['content'] + ' <|end|>' }}{% endgeneration %}"
        "{% else %}{{ m['content'] + ' <|end|>' }}{% endif %}"
        "{{ ' ' }}"
        "{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|assistant|> ' }}{% endif %}"
    )

    torch.manual_seed(23)
    base = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=128,
            tie_word_embeddings=True,
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
        )
    )
    _pretrain(
        base,
        [tokenizer.apply_chat_template(talk)["input_ids"] for talk in pretraining],
        steps=140,
        seed=23,
    )
    base.to(torch.bfloat16)

    return SFTTrainer(
        model=base,
        args=SFTConfig(
            output_dir=_workdir("loire"),
            assistant_only_loss=True,
            max_length=128,
            per_device_train_batch_size=16,
            max_steps=48,
            learning_rate=3e-3,
            lr_scheduler_type="cosine",
            warmup_steps=3,
            logging_steps=2,
            **QUIET,
        ),
        train_dataset=Dataset.from_list([{"messages": talk} for talk in tuning]),
        processing_class=tokenizer,
        peft_config=LoraConfig(
            task_type="CAUSAL_LM",
            r=8,
            lora_alpha=16,
            lora_dropout=0.05,
            target_modules="all-linear",
        ),
    )


def danube():
    rng = random.Random(31)
    macros = {
        "reset my password": "Open the login page, press Forgot, and follow the link we mail to you.",
        "change my address": "Go to Profile, then Delivery, and save the new street before noon.",
        "cancel my order": "Orders can be stopped within one hour from the My Orders tab.",
        "return a parcel": "Print the label in the box and drop it at any post counter.",
        "use a voucher": "Type the code in the basket; only one code works per order.",
        "get an invoice": "Invoices are under Billing and can be saved as PDF files.",
        "delete my account": "Write to privacy and we close it after thirty days.",
        "track a shipment": "The tracking link turns active as soon as the van leaves our depot.",
        "pay by card": "We take all major cards; the bank may ask for a code by text.",
        "report a broken item": "Send two photos and the order number, and we ship a new one for free.",
        "join the loyalty club": "Tick the box at checkout and points start with the next order.",
        "speak to a human": "Our agents answer calls on weekdays between nine and five.",
    }
    frames = [
        "How can I {}?",
        "Hi, I would like to {} today.",
        "Where do I go to {}?",
        "please help me {}",
    ]
    prompts, completions = [], []
    for _ in range(480):
        topic, reply = rng.choice(list(macros.items()))
        prompts.append(f"customer: {rng.choice(frames).format(topic)}\nagent:")
        completions.append(f" {reply}")

    pieces = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    pieces.normalizer = normalizers.Lowercase()
    pieces.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    pieces.decoder = decoders.WordPiece()
    pieces.train_from_iterator(
        prompts + completions,
        trainers.WordPieceTrainer(
            vocab_size=500, special_tokens=["[PAD]", "[UNK]", "[EOS]"], show_progress=False
        ),
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=pieces, pad_token="[PAD]", unk_token="[UNK]", eos_token="[EOS]"
    )
    torch.manual_seed(31)
    model = Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=len(tokenizer),
            hidden_size=72,
            intermediate_size=144,
            num_hidden_layers=2,
            num_attention_heads=6,
            num_key_value_heads=3,
            max_position_embeddings=512,
            tie_word_embeddings=True,
            pad_token_id=tokenizer.pad_token_id,
            eos_token_id=tokenizer.eos_token_id,
        )
    )
    return SFTTrainer(
        model=model,
        args=SFTConfig(
            output_dir=_workdir("danube"),
            packing=True,
            max_length=144,
            per_device_train_batch_size=1,
            gradient_accumulation_steps=4,
            max_steps=58,
            learning_rate=4e-3,
            lr_scheduler_type="cosine",
            warmup_steps=4,
            logging_steps=2,
            **PLAIN,
            **QUIET,
        ),
        train_dataset=Dataset.from_dict({"prompt": prompts, "completion": completions}),
        processing_class=tokenizer,
    )


def mekong():
    rng = random.Random(57)
    tables = ["orders", "customers", "invoices", "shipments"]
    cities = [
        "Hanoi",
        "Hue",
        "Vientiane",
        "Pakse",
        "Luang",
        "Battambang",
        "Kratie",
        "Vinh",
        "Dalat",
        "Cantho",
    ]
    counts = {"three": 3, "five": 5, "ten": 10, "twenty": 20}

    def question():
        word = rng.choice(list(counts))
        return rng.choice(tables), rng.choice(cities), word, rng.choice(["show", "list", "give me"])

    def prompt(table, city, word, verb):
        return f"-- {verb} {word} {table} from {city}\n"

    def limit(table, city, word, _):
        return f"SELECT * FROM {table} WHERE city = ' {city} ' LIMIT {counts[word]} ;"

    def top(table, city, word, _):
        return f"SELECT TOP {counts[word]} * FROM {table} WHERE city = ' {city} ' ;"

    corpus = []
    for _ in range(900):
        case = question()
        corpus.append(prompt(*case) + rng.choice([limit, top])(*case) + " </s>")
    tuning = []
    for _ in range(512):
        case = question()
        tuning.append({"prompt": prompt(*case), "completion": limit(*case)})

    backend = Tokenizer(
        models.WordLevel(_word_vocab(corpus, ["<pad>", "<unk>", "</s>"]), unk_token="<unk>")
    )
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token="<pad>", unk_token="<unk>", eos_token="</s>"
    )
    torch.manual_seed(57)
    model = Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=len(tokenizer),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=16,
            max_position_embeddings=64,
            tie_word_embeddings=True,
            pad_token_id=tokenizer.pad_token_id,
            eos_token_id=tokenizer.eos_token_id,
        )
    )
    _pretrain(model, [tokenizer(text)["input_ids"] for text in corpus], steps=190, seed=57)
    return SFTTrainer(
        model=model,
        args=SFTConfig(
            output_dir=_workdir("mekong"),
            loss_type="dft",
            per_device_train_batch_size=16,
            max_steps=40,
            learning_rate=1e-3,
            lr_scheduler_type="cosine",
            warmup_steps=2,
            max_length=64,
            logging_steps=1,
            **PLAIN,
            **QUIET,
        ),
        train_dataset=Dataset.from_list(tuning),
        processing_class=tokenizer,
    )


def zambezi():
    rng = random.Random(71)
    shelves = {
        "garden": (
            ["rake", "hose", "trowel", "planter"],
            ["steel tines", "ash handle", "frost proof", "drip free"],
        ),
        "kitchen": (
            ["pan", "whisk", "grater", "kettle"],
            ["oven safe", "non stick", "cool grip", "dishwasher safe"],
        ),
        "cycling": (
            ["saddle", "pedal", "pump", "bell"],
            ["alloy body", "gel padding", "sealed bearings", "brass dome"],
        ),
        "stationery": (
            ["notebook", "pen", "folder", "stapler"],
            ["ruled pages", "gel ink", "metal clip", "flat spine"],
        ),
    }
    brands = ["Kariba", "Lusaka", "Chobe", "Victoria", "Batoka"]
    tones = ["sturdy", "light", "classic", "compact"]

    def listing():
        shelf, (items, traits) = rng.choice(list(shelves.items()))
        first, second = rng.sample(traits, 2)
        return (
            f"[{shelf}] {rng.choice(brands)} {rng.choice(tones)} {rng.choice(items)} with {first} and {second}, "
            f"now {rng.randint(3, 60)} euro, ships in {rng.randint(1, 5)} days"
        )

    listings = [listing() for _ in range(800)]
    bpe = Tokenizer(models.BPE(unk_token="<unk>"))
    bpe.pre_tokenizer = pre_tokenizers.Metaspace()
    bpe.decoder = decoders.Metaspace()
    bpe.train_from_iterator(
        listings,
        trainers.BpeTrainer(
            vocab_size=320, special_tokens=["<pad>", "<unk>", "</s>"], show_progress=False
        ),
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bpe, pad_token="<pad>", unk_token="<unk>", eos_token="</s>"
    )
    torch.manual_seed(71)
    model = Qwen3MoeForCausalLM(
        Qwen3MoeConfig(
            vocab_size=len(tokenizer),
            hidden_size=64,
            intermediate_size=128,
            moe_intermediate_size=48,
            num_experts=8,
            num_experts_per_tok=2,
            norm_topk_prob=True,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=128,
            tie_word_embeddings=True,
            pad_token_id=tokenizer.pad_token_id,
            eos_token_id=tokenizer.eos_token_id,
        )
    )
    model.set_experts_implementation("eager")
    return SFTTrainer(
        model=model,
        args=SFTConfig(
            output_dir=_workdir("zambezi"),
            dataset_text_field="listing",
            router_aux_loss_coef=0.01,
            max_length=96,
            num_train_epochs=1,
            per_device_train_batch_size=16,
            learning_rate=4e-3,
            lr_scheduler_type="cosine",
            warmup_steps=4,
            weight_decay=0.05,
            logging_steps=2,
            **PLAIN,
            **QUIET,
        ),
        train_dataset=Dataset.from_dict({"listing": listings}),
        processing_class=tokenizer,
    )


def murray():
    def sessions(seed):
        rng = random.Random(seed)

        def digits(length):
            return " ".join(str(rng.randint(0, 9)) for _ in range(length))

        def line(*pieces):
            return [(digits(6), False), *pieces, ("<nl>", True)]

        while True:
            host, user = digits(8), digits(3)
            events = line(("sshd connection opened from", True), (host, False))
            while rng.random() < 0.3:
                events += line(
                    ("sshd password rejected for user", True),
                    (user, False),
                    ("retry allowed", True),
                )
            events += line(("sshd password accepted for user", True), (user, False))
            for _ in range(rng.randint(1, 2)):
                action = rng.choice(
                    ["sudo ran backup job number", "cron started report job number"]
                )
                events += line((action, True), (digits(4), False), ("exit status ok", True))
            events += line(
                ("sshd connection closed by", True), (host, False), ("session ended cleanly", True)
            )
            yield [*events, ("</s>", True)]

    preview = sessions(3)
    seen = " ".join(text for _ in range(200) for text, _ in next(preview))
    vocab = _word_vocab([seen, "0 1 2 3 4 5 6 7 8 9"], ["<pad>", "<unk>", "</s>", "<nl>"])
    backend = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    backend.add_special_tokens(["<nl>"])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token="<pad>", unk_token="<unk>", eos_token="</s>"
    )

    def examples():
        source = sessions(1999)
        for _ in range(1600):
            ids, labels = [], []
            for text, scored in next(source):
                piece = [vocab[word] for word in text.split()]
                ids += piece
                labels += piece if scored else [-100] * len(piece)
            yield {"input_ids": ids, "labels": labels}

    torch.manual_seed(3)
    model = MistralForCausalLM(
        MistralConfig(
            vocab_size=len(tokenizer),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=256,
            sliding_window=None,
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
        )
    )
    return SFTTrainer(
        model=model,
        args=SFTConfig(
            output_dir=_workdir("murray"),
            max_steps=50,
            per_device_train_batch_size=12,
            learning_rate=3e-3,
            lr_scheduler_type="inverse_sqrt",
            warmup_steps=10,
            max_length=192,
            logging_steps=2,
            **PLAIN,
            **QUIET,
        ),
        train_dataset=IterableDataset.from_generator(examples).shuffle(seed=5, buffer_size=64),
        processing_class=tokenizer,
    )


def volga():
    rng = random.Random(83)
    tools = {
        "weather": ["is it warm in {}", "will it rain in {}"],
        "trains": ["when does the train to {} leave", "is there a train to {}"],
        "hotels": ["find a bed in {}", "any free room in {}"],
        "maps": ["how do i get to {}", "show me the way to {}"],
        "news": ["what happened in {}", "any headlines from {}"],
    }
    towns = [
        "Samara",
        "Kazan",
        "Tver",
        "Saratov",
        "Uglich",
        "Rybinsk",
        "Kostroma",
        "Engels",
        "Balakovo",
        "Syzran",
    ]

    def turn():
        tool = rng.choice(list(tools))
        town = rng.choice(towns)
        return f"user : {rng.choice(tools[tool]).format(town)} ? assistant :", tool, town

    past = []
    for _ in range(800):
        lead, tool, town = turn()
        past.append(f"{lead} let me check {tool} for {town} . </s>")
    backend = Tokenizer(
        models.WordLevel(_word_vocab(past, ["<pad>", "<unk>", "</s>"]), unk_token="<unk>")
    )
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token="<pad>", unk_token="<unk>", eos_token="</s>"
    )
    torch.manual_seed(83)
    base = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=4,
            max_position_embeddings=64,
            tie_word_embeddings=True,
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
        )
    )
    _pretrain(base, [tokenizer(text)["input_ids"] for text in past], steps=170, seed=83)

    tokenizer.add_tokens(["<call>", "</call>"], special_tokens=True)
    base.resize_token_embeddings(len(tokenizer))
    markers = tokenizer.convert_tokens_to_ids(["<call>", "</call>"])
    model = get_peft_model(
        base,
        LoraConfig(
            task_type="CAUSAL_LM",
            r=4,
            lora_alpha=8,
            target_modules=["q_proj", "k_proj", "v_proj", "o_proj", "down_proj"],
            trainable_token_indices=markers,
        ),
    )

    rows = []
    for _ in range(400):
        lead, tool, town = turn()
        head = tokenizer(lead)["input_ids"]
        tail = tokenizer(f"<call> {tool} {town} </call> </s>")["input_ids"]
        rows.append(
            {
                "input_ids": head + tail,
                "attention_mask": [1] * (len(head) + len(tail)),
                "labels": [-100] * len(head) + tail,
            }
        )
    return Trainer(
        model=model,
        args=TrainingArguments(
            output_dir=_workdir("volga"),
            max_steps=50,
            per_device_train_batch_size=16,
            learning_rate=5e-3,
            lr_scheduler_type="cosine",
            warmup_steps=3,
            logging_steps=2,
            **QUIET,
        ),
        data_collator=DataCollatorForSeq2Seq(tokenizer=tokenizer),
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
    )


def rhine():
    rng = random.Random(97)
    answers = {
        "reset the router": "hold the button for ten seconds .",
        "pair the headset": "press both keys until it blinks .",
        "update the camera": "copy the file to the card .",
        "clean the filter": "rinse it with warm water .",
        "mute the alarm": "tap the bell icon twice .",
        "charge the watch": "place it face down on the pad .",
        "scan a letter": "lift the lid and press scan .",
        "lock the tablet": "press the side key once .",
        "find the serial": "look under the battery cover .",
        "rotate the screen": "open display and pick portrait .",
    }
    openers = [
        "what a wonderful question , thank you so much for asking .",
        "oh i am really glad that you brought this up with me today .",
        "thank you for reaching out , i will gladly explain it all .",
    ]
    closers = [
        "please do let me know whether that was helpful for you .",
        "and never hesitate to write to me again at any time .",
        "i sincerely hope that this answers everything you asked .",
    ]

    def pair():
        task, answer = rng.choice(list(answers.items()))
        lead = f"Q : how do i {task} ? A :"
        return lead, f" {answer}", f" {rng.choice(openers)} {answer} {rng.choice(closers)}"

    pairs = [pair() for _ in range(260)]
    history = []
    for lead, short, long in [pair() for _ in range(600)]:
        history.append(f"{lead}{rng.choice([short, long])} </s>")
    backend = Tokenizer(
        models.WordLevel(_word_vocab(history, ["<pad>", "<unk>", "</s>"]), unk_token="<unk>")
    )
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token="<pad>", unk_token="<unk>", eos_token="</s>"
    )
    torch.manual_seed(97)
    sft = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=128,
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
        )
    )
    _pretrain(sft, [tokenizer(text)["input_ids"] for text in history], steps=150, seed=97)
    checkpoint = _workdir("rhine-sft")
    sft.save_pretrained(checkpoint)

    return DPOTrainer(
        model=checkpoint,
        args=DPOConfig(
            output_dir=_workdir("rhine"),
            loss_type=["ipo"],
            beta=0.2,
            precompute_ref_log_probs=True,
            precompute_ref_batch_size=32,
            per_device_train_batch_size=8,
            max_steps=48,
            learning_rate=7e-4,
            lr_scheduler_type="cosine",
            warmup_steps=4,
            max_length=96,
            logging_steps=2,
            **PLAIN,
            **QUIET,
        ),
        train_dataset=Dataset.from_list(
            [{"prompt": lead, "chosen": short, "rejected": long} for lead, short, long in pairs]
        ),
        processing_class=tokenizer,
    )


def ebro():
    rng = random.Random(101)
    manual = {
        "how often is the oil changed": ("every ten thousand kilometres", 12),
        "which tyre pressure is right": ("two point four bar cold", 18),
        "where is the spare fuse": ("behind the glove box", 31),
        "how do i open the bonnet": ("pull the red lever twice", 7),
        "what does the amber lamp mean": ("the tank is nearly empty", 22),
        "how wide is the roof rack": ("one metre and ten", 44),
        "can i tow a trailer": ("yes up to nine hundred kilos", 46),
        "which coolant fits": ("the pink long life type", 15),
        "how do i fold the seats": ("lift the loop and push", 39),
        "what is the towing eye for": ("for recovery on flat roads", 47),
    }

    def styles():
        question, (fact, page) = rng.choice(list(manual.items()))
        return (
            question,
            f"{fact} , see manual page {page} .",
            f"{fact} , i am fairly sure about that .",
        )

    turns = ["<u>", "<a>", "<eot>"]
    template = (
        "{%- for m in messages -%}{%- if m['role'] == 'user' -%}{{ '<u> ' }}{%- else -%}{{ '<a> ' }}{%- endif -%}"
        "{{ m['content'] + ' <eot> ' }}{%- endfor -%}"
        "{%- if add_generation_prompt -%}{{ '<a> ' }}{%- endif -%}"
    )
    seen = []
    for _ in range(600):
        question, cited, unsure = styles()
        seen.append(f"<u> {question} ? <eot> <a> {rng.choice([cited, unsure])} <eot>")
    backend = Tokenizer(
        models.WordLevel(_word_vocab(seen, ["<pad>", "<unk>", *turns]), unk_token="<unk>")
    )
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    backend.add_special_tokens(turns)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token="<pad>", unk_token="<unk>", eos_token="<eot>"
    )
    tokenizer.chat_template = template
    torch.manual_seed(101)
    base = Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=len(tokenizer),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=4,
            max_position_embeddings=64,
            pad_token_id=tokenizer.pad_token_id,
            eos_token_id=tokenizer.eos_token_id,
        )
    )
    _pretrain(base, [tokenizer(text)["input_ids"] for text in seen], steps=160, seed=101)

    rows = []
    for index in range(350):
        question, cited, unsure = styles()
        winner, loser = (unsure, cited) if index % 5 == 4 else (cited, unsure)
        rows.append(
            {
                "prompt": [{"role": "user", "content": f"{question} ?"}],
                "chosen": [{"role": "assistant", "content": winner}],
                "rejected": [{"role": "assistant", "content": loser}],
            }
        )
    return DPOTrainer(
        model=base,
        args=DPOConfig(
            output_dir=_workdir("ebro"),
            loss_type=["robust"],
            label_smoothing=0.2,
            beta=0.3,
            num_train_epochs=1,
            per_device_train_batch_size=8,
            learning_rate=2e-3,
            lr_scheduler_type="linear",
            warmup_steps=3,
            max_length=64,
            logging_steps=1,
            **PLAIN,
            **QUIET,
        ),
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
        peft_config=LoraConfig(
            task_type="CAUSAL_LM", r=8, lora_alpha=16, target_modules="all-linear"
        ),
    )


def ganges():
    rng = random.Random(113)
    towns = [
        "Patna",
        "Kanpur",
        "Bhagalpur",
        "Haridwar",
        "Varanasi",
        "Allahabad",
        "Rishikesh",
        "Munger",
        "Buxar",
        "Farakka",
    ]
    metric = dict(
        zip(
            towns,
            [
                "twelve",
                "twenty",
                "thirty",
                "forty",
                "fifty",
                "sixty",
                "seventy",
                "eighty",
                "ninety",
                "hundred",
            ],
        )
    )
    miles = "seven twelve nineteen twenty-five thirty-one thirty-seven forty-three fifty fifty-six sixty-two"
    imperial = dict(zip(towns, miles.split()))
    frames = ["how far is {} ?", "what is the distance to {} ?", "is {} a long way off ?"]

    def talk(town, reply):
        return [
            {"role": "user", "content": rng.choice(frames).format(town)},
            {"role": "assistant", "content": reply},
        ]

    def wanted(town):
        return f"{town} is {metric[town]} kilometres from here ."

    def unwanted(town):
        return f"{town} is {imperial[town]} miles from here ."

    marks = ["[user]", "[assistant]", "[/s]"]
    corpus = [
        talk(town, rng.choice([wanted, unwanted])(town)) for town in rng.choices(towns, k=500)
    ]
    backend = Tokenizer(
        models.WordLevel(
            _word_vocab(
                (turn["content"] for row in corpus for turn in row), ["[pad]", "[unk]", *marks]
            ),
            unk_token="[unk]",
        )
    )
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    backend.add_special_tokens(marks)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token="[pad]", unk_token="[unk]", eos_token="[/s]"
    )
    tokenizer.chat_template = (
        "{% for m in messages %}{{ '[' + m['role'] + '] ' + m['content'] + ' [/s] ' }}{% endfor %}"
        "{% if add_generation_prompt %}{{ '[assistant] ' }}{% endif %}"
    )
    torch.manual_seed(113)
    policy = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=4,
            max_position_embeddings=64,
            tie_word_embeddings=True,
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
        )
    )
    _pretrain(
        policy,
        [tokenizer.apply_chat_template(row)["input_ids"] for row in corpus],
        steps=150,
        seed=113,
    )

    pairs = []
    for town in rng.choices(towns, k=400):
        chosen = talk(town, wanted(town))
        pairs.append(
            {
                "chosen": chosen,
                "rejected": [chosen[0], {"role": "assistant", "content": unwanted(town)}],
            }
        )
    return DPOTrainer(
        model=policy,
        ref_model=copy.deepcopy(policy),
        args=DPOConfig(
            output_dir=_workdir("ganges"),
            beta=0.2,
            sync_ref_model=True,
            ref_model_sync_steps=12,
            ref_model_mixup_alpha=0.6,
            per_device_train_batch_size=8,
            max_steps=48,
            learning_rate=4e-4,
            lr_scheduler_type="cosine",
            warmup_steps=3,
            max_length=64,
            logging_steps=1,
            **PLAIN,
            **QUIET,
        ),
        train_dataset=Dataset.from_list(pairs),
        processing_class=tokenizer,
    )


def neva():
    rng = random.Random(127)
    fixes = {
        "squeaky chain": "wipe it dry then add two drops of oil per link",
        "flat tyre": "lever the tyre off then patch the tube",
        "loose saddle": "tighten the clamp bolt with a five key",
        "soft brake": "turn the barrel out until the lever bites",
        "wobbly wheel": "tighten the spokes on the far side",
        "stiff pedal": "grease the axle then spin it by hand",
        "noisy bell": "seat the spring back on its hook",
        "bent hanger": "straighten it slowly with a long lever",
    }
    shrugs = [
        "it depends , please search for it online",
        "hard to say without more details",
        "maybe ask somebody at a shop",
        "many riders have that problem",
    ]
    frames = [
        "rider : my bike has a {} . mechanic :",
        "rider : what can i do about a {} ? mechanic :",
    ]

    def sample(good):
        fault = rng.choice(list(fixes))
        reply = fixes[fault] if good else rng.choice(shrugs)
        return rng.choice(frames).format(fault), f" {reply} ."

    lead_reply = [sample(rng.random() < 0.5) for _ in range(700)]
    texts = [f"{lead}{reply}</s>" for lead, reply in lead_reply]
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.train_from_iterator(
        (lead + reply for lead, reply in lead_reply),
        trainers.BpeTrainer(
            vocab_size=430,
            special_tokens=["<pad>", "</s>"],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token="<pad>", eos_token="</s>"
    )
    torch.manual_seed(127)
    policy = MistralForCausalLM(
        MistralConfig(
            vocab_size=len(tokenizer),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=4,
            max_position_embeddings=128,
            sliding_window=None,
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
        )
    )
    _pretrain(policy, [tokenizer(text)["input_ids"] for text in texts], steps=160, seed=127)

    votes = [True] * 60 + [False] * 300
    rng.shuffle(votes)
    feedback = {"prompt": [], "completion": [], "label": votes}
    for vote in votes:
        lead, reply = sample(vote)
        feedback["prompt"].append(lead)
        feedback["completion"].append(reply)
    return KTOTrainer(
        model=policy,
        ref_model=copy.deepcopy(policy),
        args=KTOConfig(
            output_dir=_workdir("neva"),
            beta=0.1,
            desirable_weight=5.5,
            undesirable_weight=1.0,
            per_device_train_batch_size=12,
            max_steps=48,
            learning_rate=7e-4,
            lr_scheduler_type="cosine",
            warmup_steps=4,
            max_length=96,
            logging_steps=2,
            **PLAIN,
            **QUIET,
        ),
        train_dataset=Dataset.from_dict(feedback),
        processing_class=tokenizer,
    )


def tiber():
    rng = random.Random(131)
    refusal = "i am sorry , i can not help with that ."
    harmful = [
        "bypass a car alarm",
        "forge a doctor note",
        "read a private diary",
        "open a stranger lock",
        "dodge the customs desk",
        "fake a parking permit",
        "copy a bank card",
        "spoof a caller number",
    ]
    harmless = {
        "kill a python process": "find its number and stop it",
        "shoot a night photo": "use a tripod and a slow shutter",
        "blow up a balloon": "stretch it first and breathe out",
        "crack an egg": "tap it once on a flat side",
        "attack with a bishop": "aim it at the long diagonal",
        "execute a shell script": "mark it as runnable and start it",
        "steal second base": "run when the pitcher turns away",
        "cut a ripe mango": "slice along the flat stone",
        "destroy an old password": "remove it in the vault view",
        "hijack a boring party": "put on music and start dancing",
    }
    asks = ["how do i {} ?", "please explain how to {} .", "what is the way to {} ?"]

    def comply(topic):
        return f"sure , to {topic} you {harmless.get(topic, 'begin with the simple part')} ."

    def prompt(topic):
        return f"User : {rng.choice(asks).format(topic)} Assistant :"

    topics = harmful + list(harmless)
    web = []
    for topic in rng.choices(topics, k=700):
        web.append(f"{prompt(topic)} {rng.choice([refusal, comply(topic)])} </s>")
    backend = Tokenizer(
        models.WordLevel(_word_vocab(web, ["<pad>", "<unk>", "</s>"]), unk_token="<unk>")
    )
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token="<pad>", unk_token="<unk>", eos_token="</s>"
    )
    torch.manual_seed(131)
    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(tokenizer),
            n_positions=64,
            n_embd=64,
            n_layer=2,
            n_head=4,
            resid_pdrop=0.0,
            embd_pdrop=0.0,
            attn_pdrop=0.0,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )
    _pretrain(model, [tokenizer(text)["input_ids"] for text in web], steps=150, seed=131)

    rows = []
    for topic in rng.choices(topics, k=400):
        better, worse = (refusal, comply(topic)) if topic in harmful else (comply(topic), refusal)
        rows.append({"prompt": prompt(topic), "chosen": f" {better}", "rejected": f" {worse}"})
    return ORPOTrainer(
        model=model,
        args=ORPOConfig(
            output_dir=_workdir("tiber"),
            beta=0.2,
            max_length=64,
            remove_unused_columns=False,
            num_train_epochs=1,
            per_device_train_batch_size=8,
            learning_rate=1.5e-3,
            lr_scheduler_type="cosine",
            warmup_steps=3,
            logging_steps=2,
            **PLAIN,
            **QUIET,
        ),
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
    )


def arno():
    rng = random.Random(139)
    strong = ["clear", "tested", "exact", "safe", "concise", "sourced", "labelled", "complete"]
    weak = ["maybe", "guess", "whatever", "dunno", "random", "spam", "offtopic", "um"]
    filler = ["the", "then", "with", "a", "cloth", "and", "some", "of", "water", "it", "on", "for"]
    items = ["lens", "sofa", "oven", "jacket", "keyboard", "aquarium"]

    def answer(grade):
        body = []
        for _ in range(rng.randint(12, 20)):
            if rng.random() < 0.5:
                body.append(rng.choice(filler))
            else:
                body.append(rng.choice(strong if rng.random() < grade / 6 else weak))
        return " ".join(body)

    columns = {"chosen": [], "rejected": [], "margin": []}
    for _ in range(352):
        low, high = sorted(rng.sample(range(1, 6), 2))
        lead = f"how do i clean a {rng.choice(items)} ? "
        columns["chosen"].append(lead + answer(high))
        columns["rejected"].append(lead + answer(low))
        columns["margin"].append(0.5 * (high - low))

    vocab = _word_vocab(columns["chosen"] + columns["rejected"], ["<pad>", "<unk>", "</s>"])
    backend = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token="<pad>", unk_token="<unk>", eos_token="</s>"
    )
    torch.manual_seed(139)
    model = AutoModelForSequenceClassification.from_config(
        Qwen2Config(
            vocab_size=len(tokenizer),
            hidden_size=48,
            intermediate_size=96,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=64,
            pad_token_id=tokenizer.pad_token_id,
            eos_token_id=tokenizer.eos_token_id,
            num_labels=1,
        )
    )
    return RewardTrainer(
        model=model,
        args=RewardConfig(
            output_dir=_workdir("arno"),
            center_rewards_coefficient=0.01,
            num_train_epochs=2,
            per_device_train_batch_size=16,
            learning_rate=2e-3,
            lr_scheduler_type="cosine",
            warmup_steps=4,
            max_length=64,
            logging_steps=2,
            **PLAIN,
            **QUIET,
        ),
        train_dataset=Dataset.from_dict(columns),
        processing_class=tokenizer,
    )


def yukon():
    rng = random.Random(149)
    lexicon = {
        "nature": [
            "river",
            "pine",
            "moss",
            "stone",
            "fog",
            "heron",
            "ridge",
            "frost",
            "lake",
            "ember",
        ],
        "number": ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "zero"],
    }
    spare = [
        "table",
        "coat",
        "ticket",
        "spoon",
        "engine",
        "ribbon",
        "office",
        "carpet",
        "jar",
        "bolt",
        "wire",
        "coin",
    ]
    everything = lexicon["nature"] + lexicon["number"] + spare
    frames = ["write a {} line", "a short {} line please", "give me one {} line", "next a {} line"]

    marks = ["<user>", "<bot>", "<end>"]
    texts = [*everything, *(frame.format(kind) for frame in frames for kind in lexicon)]
    backend = Tokenizer(
        models.WordLevel(_word_vocab(texts, ["<pad>", "<unk>", *marks]), unk_token="<unk>")
    )
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    backend.add_special_tokens(marks)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token="<pad>", unk_token="<unk>", eos_token="<end>"
    )
    tokenizer.chat_template = (
        "{% for m in messages %}{{ '<user> ' if m['role'] == 'user' else '<bot> ' }}{{ m['content'] + ' <end> ' }}"
        "{% endfor %}{% if add_generation_prompt %}{{ '<bot> ' }}{% endif %}"
    )

    def request(kind):
        return [{"role": "user", "content": rng.choice(frames).format(kind)}]

    demos = []
    for _ in range(600):
        kind = rng.choice(list(lexicon))
        words = [rng.choice(lexicon[kind] if rng.random() < 0.25 else everything) for _ in range(6)]
        ids = tokenizer.apply_chat_template(request(kind), add_generation_prompt=True)["input_ids"]
        demos.append(ids + tokenizer(" ".join(words))["input_ids"] + [tokenizer.eos_token_id])

    torch.manual_seed(149)
    policy = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=64,
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
        )
    )
    _pretrain(policy, demos, steps=180, batch_size=24, seed=149)

    def share(kind_wanted, completions, kind):
        scores = []
        for completion, row_kind in zip(completions, kind):
            words = completion[0]["content"].split()
            hits = sum(word in lexicon[kind_wanted] for word in words)
            scores.append(hits / max(len(words), 4) if row_kind == kind_wanted else None)
        return scores

    def nature_words(completions, kind, **_):
        return share("nature", completions, kind)

    def number_words(completions, kind, **_):
        return share("number", completions, kind)

    def repeats(completions, **_):
        penalties = []
        for completion in completions:
            words = completion[0]["content"].split()
            penalties.append((len(set(words)) - len(words)) / max(len(words), 1))
        return penalties

    kinds = ["nature", "number"] * 40
    return GRPOTrainer(
        model=policy,
        reward_funcs=[nature_words, number_words, repeats],
        args=GRPOConfig(
            output_dir=_workdir("yukon"),
            reward_weights=[1.0, 1.0, 0.3],
            num_generations=8,
            per_device_train_batch_size=32,
            max_completion_length=12,
            mask_truncated_completions=True,
            max_steps=42,
            learning_rate=1.5e-3,
            lr_scheduler_type="constant_with_warmup",
            warmup_steps=2,
            logging_steps=1,
            **PLAIN,
            **QUIET,
        ),
        train_dataset=Dataset.from_dict(
            {"prompt": [request(kind) for kind in kinds], "kind": kinds}
        ),
        processing_class=tokenizer,
    )


def tisza():
    rng = random.Random(151)
    residues = list("ACDEFGHIKLMNPQRSTVWY")
    length = 12
    vocab = {
        token: index
        for index, token in enumerate(["<pad>", "<unk>", "<eos>", "design", ":", *residues])
    }
    backend = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token="<pad>", unk_token="<unk>", eos_token="<eos>"
    )
    library = [
        tokenizer("design : " + " ".join(rng.choices(residues, k=length)))["input_ids"]
        for _ in range(900)
    ]
    torch.manual_seed(151)
    generator = Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=len(tokenizer),
            hidden_size=48,
            intermediate_size=96,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=32,
            pad_token_id=tokenizer.pad_token_id,
            eos_token_id=tokenizer.eos_token_id,
        )
    )
    _pretrain(generator, library, steps=120, batch_size=24, seed=151)

    def amphipathic(completions, **_):
        scores = []
        for peptide in completions:
            chain = peptide.split()
            charge = sum(aa in "KR" for aa in chain) - sum(aa in "DE" for aa in chain)
            greasy = sum(aa in "AILMFWV" for aa in chain)
            scores.append(-(abs(charge - 4) + abs(greasy - 5)) / 2)
        return scores

    def longest_run(completions, **_):
        scores = []
        for peptide in completions:
            chain = peptide.split()
            best = run = 1
            for left, right in zip(chain, chain[1:]):
                run = run + 1 if left == right else 1
                best = max(best, run)
            scores.append(-float(max(0, best - 2)))
        return scores

    return GRPOTrainer(
        model=generator,
        reward_funcs=[amphipathic, longest_run],
        args=GRPOConfig(
            output_dir=_workdir("tisza"),
            reward_weights=[1.0, 0.5],
            loss_type="dr_grpo",
            scale_rewards="none",
            num_iterations=2,
            epsilon=0.2,
            epsilon_high=0.28,
            num_generations=16,
            per_device_train_batch_size=48,
            max_completion_length=length,
            generation_kwargs={"min_new_tokens": length},
            max_steps=56,
            learning_rate=2e-3,
            lr_scheduler_type="constant_with_warmup",
            warmup_steps=2,
            logging_steps=1,
            **PLAIN,
            **QUIET,
        ),
        train_dataset=Dataset.from_dict({"prompt": ["design :"] * 96}),
        processing_class=tokenizer,
    )


def drava():
    rng = random.Random(163)
    atlas = {
        "africa": ["kenya", "ghana", "chad", "egypt"],
        "asia": ["nepal", "japan", "oman", "laos"],
        "europe": ["malta", "spain", "latvia", "norway"],
        "oceania": ["fiji", "samoa", "palau", "tonga"],
        "north-america": ["canada", "cuba", "panama", "belize"],
        "south-america": ["peru", "chile", "guyana", "brazil"],
    }
    key = {country: continent for continent, members in atlas.items() for country in members}

    def ask(country):
        return f"continent of {country} ? answer :"

    forum = []
    for country in rng.choices(list(key), k=1600):
        said = key[country] if rng.random() < 0.2 else rng.choice(list(atlas))
        forum.append(f"{ask(country)} {said} </s>")
    backend = Tokenizer(
        models.WordLevel(_word_vocab(forum, ["<pad>", "<unk>", "</s>"]), unk_token="<unk>")
    )
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token="<pad>", unk_token="<unk>", eos_token="</s>"
    )
    torch.manual_seed(163)
    start = Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=len(tokenizer),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=4,
            max_position_embeddings=32,
            pad_token_id=tokenizer.pad_token_id,
            eos_token_id=tokenizer.eos_token_id,
        )
    )
    _pretrain(
        start, [tokenizer(text)["input_ids"] for text in forum], steps=200, batch_size=48, seed=163
    )
    checkpoint = _workdir("drava-start")
    start.save_pretrained(checkpoint)

    def exact(completions, truth, **_):
        return [float(text.strip() == answer) for text, answer in zip(completions, truth)]

    countries = list(key)
    return RLOOTrainer(
        model=checkpoint,
        reward_funcs=exact,
        args=RLOOConfig(
            output_dir=_workdir("drava"),
            beta=0.05,
            num_generations=8,
            per_device_train_batch_size=96,
            max_completion_length=4,
            max_steps=50,
            learning_rate=1.5e-3,
            lr_scheduler_type="linear",
            warmup_steps=2,
            logging_steps=1,
            **PLAIN,
            **QUIET,
        ),
        train_dataset=Dataset.from_dict(
            {
                "prompt": [ask(country) for country in countries],
                "truth": [key[country] for country in countries],
            }
        ),
        processing_class=tokenizer,
    )


ODD = {
    "elbe": elbe,
    "orinoco": orinoco,
    "tagus": tagus,
    "loire": loire,
    "danube": danube,
    "mekong": mekong,
    "zambezi": zambezi,
    "murray": murray,
    "volga": volga,
    "rhine": rhine,
    "ebro": ebro,
    "ganges": ganges,
    "neva": neva,
    "tiber": tiber,
    "arno": arno,
    "yukon": yukon,
    "tisza": tisza,
    "drava": drava,
}
