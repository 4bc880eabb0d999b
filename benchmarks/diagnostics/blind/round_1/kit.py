"""Tiny tokenizer, models and tickets that the runs of this round share."""

import random

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

TEAMS = {
    "billing": ["invoice", "refund", "charge", "card"],
    "login": ["password", "account", "signin", "badge"],
    "shipping": ["parcel", "courier", "delivery", "tracking"],
    "hardware": ["screen", "battery", "keyboard", "cable"],
    "network": ["wifi", "router", "signal", "vpn"],
    "legal": ["contract", "privacy", "licence", "consent"],
}
FILLER = [
    "hello",
    "please",
    "today",
    "since",
    "monday",
    "again",
    "still",
    "always",
    "morning",
    "our",
    "my",
    "the",
    "a",
    "office",
    "team",
    "help",
    "with",
    "for",
    "and",
    "it",
    "not",
    "works",
    "after",
    "before",
    "update",
    "we",
    "need",
    "soon",
    "thanks",
    "question",
    "about",
    "customer",
    "order",
    "new",
    "old",
    "second",
    "first",
    "week",
    "call",
    "mail",
    "last",
]
MARKS = ["<s>", "<pad>", "<eos>", "<unk>", "<|user|>", "<|assistant|>", "<|system|>"]
TEMPLATE = (
    "{% for m in messages %}<|{{ m['role'] }}|> {{ m['content'] }} "
    "{% if m['role'] == 'assistant' %}<eos> {% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|> {% endif %}"
)


def ticket(rng, team=None, length=8):
    """One ticket: filler words with one word that says whose ticket it is."""
    team = team or rng.choice(sorted(TEAMS))
    words = rng.choices(FILLER, k=length)
    words[rng.randrange(length)] = rng.choice(TEAMS[team])
    return " ".join(words), team


def tickets(seed, n, length=8):
    rng = random.Random(seed)
    return [ticket(rng, length=length) for _ in range(n)]


def tokenizer(extra=(), template=TEMPLATE):
    """A word-level tokenizer over everything that the tickets can say."""
    words = [*MARKS, *TEAMS, *(w for ws in TEAMS.values() for w in ws), *FILLER, *extra]
    vocab = {word: i for i, word in enumerate(dict.fromkeys(words))}
    core = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    names = dict(eos_token="<eos>", pad_token="<pad>", unk_token="<unk>")
    fast = PreTrainedTokenizerFast(tokenizer_object=core, **names, padding_side="right")
    fast.chat_template = template
    return fast


def sizes(tok, **more):
    """The config of a two-layer model for this tokenizer."""
    small = dict(hidden_size=64, intermediate_size=128, num_hidden_layers=2)
    heads = dict(num_attention_heads=4, num_key_value_heads=4, max_position_embeddings=256)
    ids = dict(pad_token_id=tok.pad_token_id, eos_token_id=tok.eos_token_id, bos_token_id=0)
    return LlamaConfig(vocab_size=len(tok), **(small | heads | ids | more))


def llama(tok, seed=0, **more):
    torch.manual_seed(seed)
    return LlamaForCausalLM(sizes(tok, **more))


def teach(model, tok, rows, steps=120, lr=3e-3, batch=32, seed=0):
    """Trains on (prompt, completion) rows; the loss is on the completion."""
    rng = random.Random(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    model.train()
    for _ in range(steps):
        model(**pairs(tok, rng.sample(rows, batch))).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return model.eval()


def pairs(tok, rows):
    """A padded batch whose labels are the completions."""
    ids, labels = [], []
    for prompt, completion in rows:
        a, b = tok(prompt)["input_ids"], tok(completion)["input_ids"]
        ids.append(torch.tensor(a + b))
        labels.append(torch.tensor([-100] * len(a) + b))
    pad = torch.nn.utils.rnn.pad_sequence
    ids = pad(ids, batch_first=True, padding_value=tok.pad_token_id)
    mask = (ids != tok.pad_token_id).long()
    labels = pad(labels, batch_first=True, padding_value=-100)
    return dict(input_ids=ids, attention_mask=mask, labels=labels)


@torch.no_grad()
def said(model, tok, prompts):
    """The word that the model says next after each prompt."""
    model.eval()
    ids = [tok(p)["input_ids"] for p in prompts]
    words = []
    for row in ids:
        logits = model(input_ids=torch.tensor([row])).logits[0, -1]
        words.append(tok.convert_ids_to_tokens(int(logits.argmax())))
    return words


@torch.no_grad()
def belief(model, tok, rows):
    """Mean probability that the model gives to the answer of (prompt, answer) rows."""
    model.eval()
    found = []
    for prompt, answer in rows:
        logits = model(input_ids=torch.tensor([tok(prompt)["input_ids"]])).logits[0, -1]
        found.append(logits.softmax(-1)[tok.convert_tokens_to_ids(answer)].item())
    return sum(found) / len(found)


def half_knows(seed, n):
    """Rows of a sampler that is right in a bit less than half of the tickets."""
    rng, teams = random.Random(seed), sorted(TEAMS)
    for text, team in tickets(seed, n, length=5):
        answer = team if rng.random() < 0.35 else rng.choice(teams)
        yield f"<|user|> {text} <|assistant|>", f"{answer} <eos>"


def accuracy(model, tok, rows):
    """Share of (prompt, answer) rows for which the next word is the answer."""
    heard = said(model, tok, [p for p, _ in rows])
    return sum(a == b for a, (_, b) in zip(heard, rows, strict=True)) / len(rows)


def quiet(folder, **more):
    """The settings that every Trainer of this round has."""
    base = dict(output_dir=str(folder), report_to="none", use_cpu=True, disable_tqdm=True)
    logs = dict(logging_steps=5, save_strategy="no", seed=7)
    return base | logs | more
