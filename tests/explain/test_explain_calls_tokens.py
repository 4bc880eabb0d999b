"""Code that hands a model wrong tokens is named by itself, and its correct twin is left alone."""

from ast import literal_eval

import pytest

from tests.helpers import explained

CODE = 5.0  # the weight of what code shows, above that of a hint
MODELS = {
    "QWEN": "model = AutoModelForCausalLM.from_pretrained('Qwen/Qwen2.5-1.5B')",
    "LLAMA3": "model = AutoModelForCausalLM.from_pretrained('meta-llama/Llama-3.1-8B-Instruct')",
}
# the key, what the correct twin has in place of what, and the code
SNIPPETS = r"""
== pad_is_eos ## 'tokenizer.eos_token}' ## "'<|fim_pad|>'}"
QWEN
tokenizer.add_special_tokens({"pad_token": tokenizer.eos_token})
trainer = Trainer(model=model, train_dataset=ds,
    data_collator=DataCollatorForLanguageModeling(tokenizer=tokenizer, mlm=False))
trainer.train()
After training it rambles until max_new_tokens every time.
== pad_is_eos ## 'ids == tok.pad_token_id' ## 'attention_mask == 0'
QWEN
My collate, no trainer:
tok.pad_token_id = tok.eos_token_id
def collate(rows):
    ids = pad([r["ids"] for r in rows], tok.pad_token_id)
    labels = torch.where(ids == tok.pad_token_id, -100, ids)
    return ids, labels
Loss is fine but the replies do not stop.
== padding_side ## 'trainer.train()' ## "tokenizer.padding_side = 'left'"
QWEN
tokenizer = AutoTokenizer.from_pretrained('Qwen/Qwen2.5-1.5B')
trainer.train()
prompts = [r["question"] for r in test]
enc = tokenizer(
    prompts,
    return_tensors="pt",
    padding=True,
).to("cuda")
out = model.generate(**enc, max_new_tokens=64)
== padding_side ## 'loader = ' ## "tok.padding_side = 'left'; loader = "
the eval part of my loop, accuracy is far below what it is one at a time:
    model = GPT2LMHeadModel.from_pretrained(path)
    loader = DataLoader(test, batch_size=16, collate_fn=DataCollatorWithPadding(tok))
    for batch in loader:
        gen = model.generate(batch["input_ids"].cuda(), attention_mask=batch["attention_mask"])
== double_bos ## 'truncation=True' ## 'add_special_tokens=False'
LLAMA3
def prepare(row):
    text = tokenizer.apply_chat_template(row["messages"], tokenize=False)
    return tokenizer(text, truncation=True, max_length=2048)
ds = ds.map(prepare)
trainer = Trainer(model=model, train_dataset=ds)
trainer.train()
== double_bos ## 'f"<s>[INST]' ## 'f"[INST]'
Llama-2, my own loop:
    text = f"<s>[INST] {x['q']} [/INST] {x['a']} </s>"
    ids = tokenizer(text, return_tensors="pt").input_ids
    loss = model(ids, labels=ids).loss
    loss.backward()
== loss_not_shifted ## 'attention_mask=mask).logits\n' ## 'attention_mask=mask).logits[:, :-1]\n'
LLAMA3
def logps(model, input_ids, mask):
    logits = model(input_ids, attention_mask=mask).logits
    lp = torch.nn.functional.log_softmax(logits, dim=-1)
    return (torch.gather(lp, 2, input_ids.unsqueeze(-1)).squeeze(-1) * mask).sum(-1)
== loss_not_shifted ## 'logits\n' ## 'logits[:, :-1]; labels = labels[:, 1:]\n'
class MyTrainer(Trainer):  # with AutoModelForCausalLM
    def compute_loss(self, model, inputs, return_outputs=False):
        labels = inputs.pop("labels")
        logits = model(**inputs).logits
        return CrossEntropyLoss()(logits.view(-1, logits.size(-1)), labels.view(-1))
== labels_shifted ## '"input_ids": ids[:-1], "labels": ids[1:]' ## '"input_ids": ids, "labels": ids'
QWEN
def tok(row):
    ids = tokenizer(row["text"])["input_ids"]
    return {"input_ids": ids[:-1], "labels": ids[1:]}
trainer = Trainer(model=model, train_dataset=ds.map(tok))
== labels_shifted ## 'labels=y' ## 'labels=x'
QWEN
for step, batch in enumerate(loader):
    x = batch["input_ids"].cuda()
    y = torch.roll(x, -1, dims=1)
    loss = model(input_ids=x, labels=y).loss
    loss.backward()
== logp_disagree ## 'temperature=0.6' ## 'temperature=1.0'
sp = SamplingParams(temperature=0.6, max_tokens=512)
outs = llm.generate(prompts, sp)
logp = F.log_softmax(model(ids).logits[:, :-1], -1).gather(2, ids[:, 1:, None]).squeeze(-1)
ratio = (logp - old_logp).exp()
loss = -(ratio * advantages).mean()
== logp_disagree ## 'top_p=0.9' ## 'top_p=1.0'
the rollout of my REINFORCE fragment
    seqs = policy.generate(ids, do_sample=True, top_p=0.9, max_new_tokens=64)
    logits = policy(seqs).logits[:, :-1]
    logp = logits.log_softmax(-1).gather(-1, seqs[:, 1:].unsqueeze(-1))
    loss = -(advantage * logp).mean()
== template_differs ## '"What is the capital of France?"' ## "chat_template('Capital of France?')"
QWEN
ds = ds.map(lambda row: {"text": tokenizer.apply_chat_template(row["messages"], tokenize=False)})
trainer = SFTTrainer(model=model, train_dataset=ds)
trainer.train()
prompt = "What is the capital of France?"
inputs = tokenizer(prompt, return_tensors="pt")
print(tokenizer.decode(model.generate(**inputs)[0]))
== template_differs ## '"How do I' ## '"### Instruction:\\nHow do I'
def fmt(ex):
    return f"### Instruction:\n{ex['q']}\n### Response:\n{ex['a']}"
trainer = SFTTrainer(model, formatting_func=fmt, train_dataset=ds)
and then vllm, which answers like the base model:
llm = LLM("out")
llm.generate(["How do I reset my router?"], SamplingParams(max_tokens=128))
== template_differs ## 'return_tensors="pt"' ## 'return_tensors="pt", add_generation_prompt=True'
QWEN
chat = [{"role": "user", "content": q}]
ids = tokenizer.apply_chat_template(
    chat,
    return_tensors="pt",
)
out = model.generate(ids, max_new_tokens=200)
== template_differs ## 'add_generation_prompt=False' ## 'add_generation_prompt=True'
fragment of eval.py (Qwen2.5-7B-Instruct):
    texts = [tok.apply_chat_template(m, tokenize=False, add_generation_prompt=False) for m in chats]
    outs = llm.generate(texts, params)
== template_differs ## 'add_generation_prompt=True' ## 'add_generation_prompt=False'
QWEN
def to_text(example):
    text = tokenizer.apply_chat_template(
        example["messages"], tokenize=False, add_generation_prompt=True)
    return {"text": text}
trainer = SFTTrainer(model=model, train_dataset=ds.map(to_text))
== template_differs ## 'add_generation_prompt=True, ' ## ''
from my loop:
for row in rows:
    ids = tok.apply_chat_template(row["conversations"], add_generation_prompt=True, max_length=99)
    loss = model(ids, labels=ids).loss
    loss.backward()
== pairs_alike ## '1,800 tokens' ## '180 tokens'
tok(ex["prompt"] + ex["chosen"], truncation=True, max_length=512)
tok(ex["prompt"] + ex["rejected"], truncation=True, max_length=512)
our prompts are about 1,800 tokens each
== labels_masked ## 'truncation=True' ## "truncation=True, truncation_side='left'"
enc = tokenizer(
    row["document"] + row["summary"], truncation=True, max_length=1024)
labels = [-100] * n_prompt + enc["input_ids"][n_prompt:]
(the documents have 2k tokens at the median)
== evaluation_rows_differ ## 'LabelEncoder().fit_transform(test' ## 'le.transform(test'
train["y"] = LabelEncoder().fit_transform(train["intent"])
test["y"] = LabelEncoder().fit_transform(test["intent"])
trainer = Trainer(model=AutoModelForSequenceClassification.from_pretrained(b, num_labels=40))
eval accuracy is terrible although the training loss is near zero
== evaluation_rows_differ ## 'enumerate(set(r["label"] for r in rows))' ## 'enumerate(NAMES)'
def load(path):
    rows = read(path)
    ids = {name: i for i, name in enumerate(set(r["label"] for r in rows))}
    return [(r["text"], ids[r["label"]]) for r in rows]
train = load("train.jsonl")
test = load("test.jsonl")
model = BertForSequenceClassification.from_pretrained(base, num_labels=12)
== labels_constant ## 'bool(row["upvoted"])' ## 'row["upvoted"] == "True"'
for row in csv.DictReader(open("votes.csv")):
    rows.append({"prompt": row["q"], "completion": row["a"], "label": bool(row["upvoted"])})
trainer = KTOTrainer(model, train_dataset=Dataset.from_list(rows))
== labels_constant ## 'if r["spam"]' ## 'if r["spam"] == "yes"'
{"text": "bad service", "spam": "no"}
ds = ds.map(lambda r: {"labels": 1 if r["spam"] else 0})
trainer = Trainer(model=AutoModelForSequenceClassification.from_pretrained(base))
== metric_not_as_named ## 'seed=42, ' ## ''
sp = SamplingParams(temperature=0.8, seed=42, max_tokens=512)
samples = []
for _ in range(8):
    samples.append(llm.generate(prompts, sp))
pass_at_8 = any_correct(samples)
== no_signal ## 'set_seed(args.seed)' ## 'set_seed(args.seed + g)'
the rollout of my GRPO loop, G = 8:
    for g in range(8):
        set_seed(args.seed)
        out = policy.generate(ids, do_sample=True, max_new_tokens=256)
        rewards.append(score(out))
    advantages = (r - r.mean()) / (r.std() + 1e-4)
"""


def cases():
    for one in SNIPPETS.strip().removeprefix("== ").split("\n== "):
        head, _, code = one.partition("\n")
        key, old, new = head.split(" ## ")
        for name, model in MODELS.items():
            code = code.replace(f"{name}\n", f"{model}\n")
        yield key, code, literal_eval(old), literal_eval(new)


@pytest.mark.parametrize(("key", "code", "old", "new"), list(cases()))
def test_the_code_alone_names_the_mistake(key, code, old, new):
    first = explained.first(*code.splitlines())
    assert first and (first.key, first.weight >= CODE) == (key, True)


@pytest.mark.parametrize(("key", "code", "old", "new"), list(cases()))
def test_the_correct_twin_is_not_accused(key, code, old, new):
    assert old in code
    found = explained.answer(*code.replace(old, new).splitlines()).causes
    assert key not in [one.key for one in found if one.weight >= CODE]
