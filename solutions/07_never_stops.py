# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # It generates until max_new_tokens
#
# After 60 minutes (sections 1 to 9) you will be able to
#
# * **read** a batch token by token, and say what a model will learn from it,
# * **tell apart** faults that give the same log and the same symptom,
# * **fix** a collator, and prove the fix by training.
#
# Eight deeper looks follow, 74 minutes in all: templates, packing, serving, reward models and more. Each
# stands on its own, and you may skip them. Everything runs on a CPU in seconds.

# %% tags=["parameters"]
MODEL = "tiny"
DEVICE = "auto"
SEED = 0
FAST = False
STRICT = False

# %%
from course_utils.lesson import TODO, start

ex = start("07", strict=STRICT)
ex

# %%
from functools import partial

import matplotlib.pyplot as plt
import torch
from trl.trainer.sft_trainer import DataCollatorForLanguageModeling

from course_utils import zoo
from course_utils.concepts import lesson_07 as concepts
from course_utils.diagnostics import inspect_batch
from course_utils.lesson.expected_failures import expect_symptom
from course_utils.reproductions.lesson_07 import batches, never_stops, pooling
from course_utils.shown import plotting
from course_utils.shown.report import Table

behaviour = partial(never_stops.behaviour, n=40 if FAST else 100)

# %% [markdown]
# ## 1. The report
#
# This is the most common silent failure of fine-tuning, reported since 2023
# ([trl#976](https://github.com/huggingface/trl/issues/976),
# [trl#1623](https://github.com/huggingface/trl/issues/1623),
# [open-r1#492](https://github.com/huggingface/open-r1/issues/492)): the loss "decreased normally", and the
# model "always continues to the maximum".
#
# Most of these scripts contain the line `tokenizer.pad_token = tokenizer.eos_token`; some do not. The line
# comes from tutorials, and TRL itself does the same for a tokenizer that has no pad token.
#
# Here is a healthy row, as the model gets it. Which of its tokens does the model learn?

# %%
batch, tokenizer = batches.replies_learnt(SEED)
concepts.one_row(batch, tokenizer)

# %% [markdown]
# ## 2. The suspects
#
# This is what threads, blogs and readmes claim, first about causes, then about fixes and related faults.
# Which of the claims are right is not marked yet.
#
# Vote before you see the evidence, in the cell after the claims: one mark per claim, in the order shown. `t`
# is true, `p` partly, `f` false. Add `!` where you are sure; `-` leaves one out. Deeper looks judge C4, C7 and
# C13; the core judges the rest.

# %%
verdicts = ex.verdicts
verdicts.suspects()

# %%
### BEGIN SOLUTION
my_votes = "t! t! p t p t f f t"
### END SOLUTION
verdicts.vote(my_votes)

# %% [markdown]
# ## 3. Predict
#
# The same base model is fine-tuned twice, with `SFTTrainer` on the same rows. One of the two models will
# never stop. On average, whose loss is lower: a) that of the run which learns to stop, b) that of the run
# which never stops, c) neither, they are equal? Put a letter in place of `TODO`.

# %%
### BEGIN SOLUTION
my_guess = "a"
### END SOLUTION
ex.WHICH_LOSS.predict(my_guess)

# %% [markdown]
# ## 4. Break it
#
# A **base** model has never learnt to end a reply: the embedding of its end token is noise. We make ours from
# the tiny chat model, which can add and can stop, by re-initialising the row of the end token. What do the
# two models do with sums that they have never seen?

# %%
device = zoo.pick_device(DEVICE)
instruct = zoo.load_policy(MODEL, device=DEVICE)
base = never_stops.base_model(MODEL, seed=SEED, device=DEVICE)
seen = {"chat model": behaviour(instruct), "base": behaviour(base)}
for name, did in seen.items():
    print(f"{name:10} stops {did.stops:4.0%}  e.g. {did.replies[0]!r}")

# %% [markdown]
# Now fine-tune the base model. Many scripts have this collator: TRL's own, plus a line that "takes the
# padding out of the loss". The two runs differ only in the pad token. What do their losses look like?

# %%
NUM_STEPS = 40 if FAST else 60
same_rows = never_stops.prepared(MODEL, seed=SEED)
SAME = {"max_steps": NUM_STEPS, "dataset": same_rows, "seed": SEED}


# %%


def fine_tune(model, pad, **settings):
    tokenizer = zoo.load_tokenizer(MODEL)
    tokenizer.pad_token = pad
    padded = DataCollatorForLanguageModeling(tokenizer.pad_token_id)

    def collate(rows):
        batch = padded(rows)
        batch["labels"][batch["labels"] == tokenizer.pad_token_id] = -100
        return batch

    settings = {"collate": collate} | SAME | settings
    return never_stops.sft_trainer(model, tokenizer, **settings)


# %%
OWN, END = tokenizer.pad_token, tokenizer.eos_token
runs, watchers = {}, {}
for name, pad in {"run A": OWN, "run B": END}.items():
    watchers[name] = never_stops.EndWatcher()
    base = never_stops.base_model(MODEL, seed=SEED, device=DEVICE)
    runs[name] = fine_tune(base, pad, callbacks=(watchers[name],))
    runs[name].train()
logs = {name: never_stops.losses(run) for name, run in runs.items()}
rows = [
    (str(10 * n), f"{a:.2f}", f"{b:.2f}")
    for n, (a, b) in enumerate(zip(*logs.values(), strict=True), start=1)
]
Table(columns=("step", "loss of run A", "loss of run B"), rows=rows)

# %% [markdown]
# Both logs look healthy. (On the first run of this cell transformers prints a line, which is a clue:
# run B's pad token differs from the one in its model's config.) One of the two models never stops. Which one? A reply counts as right if
# the number at its beginning is the sum, whatever follows it.

# %%
after = {name: behaviour(run.model) for name, run in runs.items()}
for name, did in after.items():
    share = f"stops {did.stops:4.0%}, right {did.right:4.0%}"
    print(f"{name}: {share}, e.g. {did.replies[0]!r}")

# %%
never = after["run B"].stops < 0.05 and after["run A"].stops > 0.8
mean = {name: sum(log) / len(log) for name, log in logs.items()}
lower = mean["run B"] < mean["run A"]
ex.WHICH_LOSS.recall("b", holds=lower)
verdicts.judge(
    "C11",
    "false",
    "the run that never stops has the lower loss",
    "section 4; five seeds of five in the tests",
    holds=lower and never,
)

# %% [markdown]
# ## 5. Read the batch
#
# Neither the log nor the replies say why. The batch does. `inspect_batch(...).tokens` shows it; tokens in
# double brackets (coloured in Jupyter) are learnt. Hover over a token to see its label and its mask.
#
# Compare run A with run B: which token is learnt in A and not in B? After that comes the instrument's
# diagnosis of B.

# %%
inspect_batch(runs["run A"], num_rows=2).tokens

# %%
found = inspect_batch(runs["run B"], num_rows=2)
found.tokens

# %%
print(found.tokens.numbers(0, last=4))
print(f"{found.headline}\ncause: {found.cause}")
masked = found.faults[0].name == "end masked"
expect_symptom("the ends have no label", holds=masked)

# %% [markdown]
# The collator's line compares **ids**, and the end has the same id as the padding. So the ends lost their
# labels and no longer count in the mean loss. They were tokens with a high loss, so the mean fell (deeper look
# G measures by how much).
#
# Does run B at least learn the end slowly? This is the log-probability of the end token, right after the
# answer. It can fall although it has no label: wherever another token is learnt, softmax lowers all others.

# %% tags=["digits-vary"]
fig, ax = plt.subplots(figsize=(7, 3), layout="constrained")
curves = {name: watcher.logps for name, watcher in watchers.items()}
meanings = {"run A": "alive", "run B": "dead"}
plotting.draw_curves(ax, watchers["run A"].steps, curves, meanings=meanings)
ax.set(xlabel="step", ylabel="log-probability of the end, nats")
ax.set_title("Run B does not ignore the end: it pushes it down")
first, last = curves["run B"][0], curves["run B"][-1]
plotting.show(fig, f"Run B's end goes from {first:.1f} to {last:.1f} nats.")
nuance = "without a label the end ends up lower than at the start"
verdicts.judge("C8", "false", nuance, "section 5", holds=last < first - 0.5)

# %% [markdown]
# **Exercise 07.1, 9 minutes, eight letters, 4 points.** What is wrong with each of these eight batches? A
# letter may occur twice, or not at all. (`unread["1"].tokens` in a cell of its own shows colours.)
#
# * a) nothing is wrong
# * b) the end is there and is not learnt
# * c) the end is not there
# * d) the prompt was built with another template
# * e) the user's words are learnt
# * f) each row begins twice
# * g) it is padded on the wrong side for what the batch is used for
# * h) chats that do not belong together attend to each other (unless its `position_ids` start again and no
#   mask is passed)

# %%
unread = batches.unread()
unread = {number: inspect_batch(*one, num_rows=2) for number, one in unread.items()}
for number in "1234":
    print(f"Batch {number}\n{unread[number].tokens}\n")

# %%
for number in "5678":
    print(f"Batch {number}\n{unread[number].tokens}\n")

# %%
# A dict of eight letters, for example {"1": "a", "2": "a", ...}
### BEGIN SOLUTION
seen = dict(zip("12345678", "beaacghd", strict=True))
### END SOLUTION

# %%
ex.READ.check(seen)

# %% [markdown]
# ## 6. Eliminate
#
# These batches differ in one thing each. In the column "by id", labels are made as in run B. In the column
# "by length", they are made from the lengths of the rows, as TRL does today. Which pad tokens are safe?
#
# The numbers are shares of rows with the end among their labels. That is enough here, where replies alone
# have labels; deeper look H writes the number for batches of any kind.
#
# (This tokenizer has neither a bos nor an unk token. In the table, `<|im_start|>`, which begins every row as a
# bos token does, takes the place of bos. The digit `1`, a token of the text, takes the place of unk.)

# %%
end_id = tokenizer.eos_token_id
wider = zoo.load_tokenizer(MODEL)
wider.add_special_tokens({"pad_token": "[PAD]"})
ends, lost = {}, {}
for pad in (END, OWN, "[PAD]", "<|im_start|>", "1"):
    by_length, _ = batches.replies_learnt(SEED)
    is_pad = by_length["labels"] == wider.convert_tokens_to_ids(pad)
    taken = by_length["labels"].masked_fill(is_pad, -100)
    by_id = by_length | {"labels": taken}
    has_end = ((one["labels"] == end_id).any(-1) for one in (by_id, by_length))
    ends[pad] = [rows.double().mean().item() for rows in has_end]
    lost[pad] = int(is_pad.sum())
rows = [(pad, *(f"{e:.0%}" for e in ends[pad]), str(lost[pad])) for pad in lost]
columns = ("pad token", "ends learnt, by id", "by length", "labels lost by id")
Table(columns=columns, rows=rows)

# %%
safe = all(by_length == 1 for _, by_length in ends.values())
nuance = "only if labels are made from ids; from lengths, no end is lost"
holds = safe and ends[END][0] == 0
verdicts.judge("C1", "partly", nuance, "sections 4 and 6", holds=holds)
nuance = "labels made by length keep every end with pad == eos"
verdicts.judge("C2", "false", nuance, "section 6", holds=safe)
nuance = "it works, but an unused special token needs no resize"
is_new = wider.pad_token_id >= instruct.config.vocab_size
holds = is_new and lost["[PAD]"] == lost[OWN] == 0
verdicts.judge("C5", "partly", nuance, "section 6", holds=holds)
nuance = "bos is harmless; a token of the text loses its labels"
holds = lost["<|im_start|>"] == 0 and lost["1"] > 0
verdicts.judge("C6", "partly", nuance, "section 6", holds=holds)

# %% [markdown]
# ## 7. Fix it
#
# **Exercise 07.3, 6 minutes, a few lines, 4 points.** Write `collate(rows, pad)`. Each row is a dict with two
# lists of equal length, `input_ids` and `labels`. Return `input_ids`, `attention_mask` and `labels`: tensors
# of shape (rows, longest row), ids and labels as `torch.long`, padded on the right. The labels of the text
# stay as they are. The id `pad` may also occur in the text. The check trains with your collator on three
# seeds.


# %%
def collate(rows, pad):
    """A batch that learns what the rows say, whatever the pad token is."""
    ### BEGIN SOLUTION
    width = max(len(row["labels"]) for row in rows)
    ids = torch.full((len(rows), width), pad)
    labels, mask = torch.full_like(ids, -100), torch.zeros_like(ids)
    for n, row in enumerate(rows):
        length = len(row["labels"])
        ids[n, :length] = torch.tensor(row["input_ids"])
        labels[n, :length] = torch.tensor(row["labels"])
        mask[n, :length] = 1
    return {"input_ids": ids, "attention_mask": mask, "labels": labels}
    ### END SOLUTION


# %%
ex.COLLATE.check(collate)

# %% [markdown]
# Prove it: run B again, with pad == eos and your collator. Does it stop now?

# %%
model = never_stops.base_model(MODEL, seed=SEED, device=DEVICE)
yours = ex.COLLATE.answer
fixed_run = fine_tune(model, END, collate=lambda rows: yours(rows, end_id))
fixed_run.train()
after["run B, fixed"] = behaviour(model)
fig, ax = plt.subplots(figsize=(7, 2.2), layout="constrained")
stops = {name: 100 * did.stops for name, did in after.items()}
meanings = {"run A": "neutral", "run B": "dead", "run B, fixed": "alive"}
plotting.draw_bars(ax, stops, meanings=meanings)
ax.set(xlabel="replies that stop, %", title="Padded by length, it stops")
right = after["run B, fixed"].right
same = "" if never_stops.losses(fixed_run) == logs["run A"] else "not "
said = f"{right:.0%} of the held-out sums are right"
plotting.show(fig, f"Fixed, {said}; the log is {same}run A's.")

# %% [markdown]
# Padding and end are still the same token. The token was never the fault; comparing ids was. Limits, stop
# strings and penalties change only the generation: deeper look A.

# %% [markdown]
# ## 8. Next time
#
# * **Signature**: the loss looks fine, and replies run to the limit; or loss 0.0 with grad_norm 0.0
#   (look B).
# * **Look first** at one batch, before the run. `inspect_batch(trainer)` is one line for SFT, DPO, reward,
#   GRPO, or a DataLoader and its tokenizer. Then look at raw ids and at `generation_config.eos_token_id`.
# * **Five causes, one symptom**: the end is not in the data, is truncated, has no label, stands outside `{%
#   generation %}` (TRL 1.16 warns), or is learnt while generation waits for another id. The batch shows four
#   of them, raw ids show the fifth.
# * **Guard**: next to the loss, log the share of replies whose end is learnt (deeper look H).

# %% [markdown]
# ## 9. A run you have not seen
#
# **Exercise 07.8, 12 minutes, a place, a letter and a few lines, 5 points.** A hand-written script with one
# of four faults, picked by SEED. Its ticket lists the places and the causes. `patient.fresh()` builds the run
# again from the start. After `.train()` it has `.behaviour()` with raw replies, and two batches for
# `inspect_batch(..., run.tokenizer)`: `.batch`, which it learnt from, and `.served`, the prompts it was served.

# %%
patient = ex.UNSEEN.draw(SEED)
print(patient)

# %% tags=["digits-vary"]
run = patient.fresh().train()
print(run.behaviour().replies[:3])
run

# %% [markdown]
# Read the two batches first. Then read the script: which of its parts makes what you saw?

# %%
print(patient.source())

# %% [markdown]
# Put three things into `unseen`: the place, the letter of the cause, and a function that replaces that part
# and takes its arguments. Try it with `patient.fresh(1, **{"the part's name": my_part}).train()`, where 1 is
# a seed.
#
# The check trains on three seeds. It also tests the part with other questions, long ones too, and other
# limits. A right `encode` gives the prompt, the whole reply and one end token, and nothing after it. A right
# `collate` pads on the right, and the labels of padding are -100. A right `answer` gives the ids of each
# reply, at most `limit` of them.


# %%
# For example {"place": "collate", "cause": "a", "fix": my_part}
### BEGIN SOLUTION
def my_part(*given):
    question, answer, tokenizer = given
    chat = [{"role": "user", "content": question}]
    asked = tokenizer.apply_chat_template(chat, add_generation_prompt=True)
    asked = asked["input_ids"]
    said = tokenizer(f"{answer}{tokenizer.eos_token}")["input_ids"]
    return {"input_ids": asked + said, "labels": [-100] * len(asked) + said}


# Other seeds draw other runs; for those, take the course's answer.
unseen = {"place": "encode", "cause": "c", "fix": my_part} if SEED == 0 else ex.UNSEEN.answer
### END SOLUTION

# %%
ex.UNSEEN.check(unseen)

# %% [markdown]
# **Exercise 07.9, 1 minute, two letters, 2 points.** 1) A model never stops. What do you look at first: a)
# the loss curve, b) the labels of one batch, c) the sampling temperature? 2) The run with the lower loss a)
# has learnt more, b) has learnt the end, c) may have lost its hardest labels.

# %%
# Two letters, for example {"1": "a", "2": "a"}
### BEGIN SOLUTION
quiz = {"1": "b", "2": "c"}
### END SOLUTION

# %%
ex.QUIZ.check(quiz)

# %% [markdown]
# In three lines:
#
# * The model learns the tokens that have a label, and no others. An end without a label becomes less likely.
# * Make padding and labels from lengths, never from ids.
# * The log shows nothing. Read one batch.
#
# Further reading: [trl#1623](https://github.com/huggingface/trl/issues/1623),
# [trl#3091](https://github.com/huggingface/trl/pull/3091),
# [transformers#35911](https://github.com/huggingface/transformers/pull/35911).

# %% [markdown]
# Here the core ends. The deeper looks below stand on their own: take those that you need, in any order. The
# last cells show every claim with its verdict; a claim of a look that you skipped is "not judged yet".

# %% [markdown]
# ## Deeper look A: fixes that change only the generation (7 minutes)
#
# Three more suggestions change only how the trained model generates: a lower limit, a stop string, a
# repetition penalty. Does run B emit its end token with any of them?

# %% tags=["digits-vary"]
tried = {
    "a limit of 4": {"max_new_tokens": 4},
    "a stop string": {"stop_strings": ["\n"]},
    "a penalty": {"repetition_penalty": 1.3},
}
tried = {n: behaviour(runs["run B"].model, **one) for n, one in tried.items()}
for name, did in tried.items():
    said = f"emits the end {did.stops:.0%}, right {did.right:.0%}"
    print(f"{name}: {said}, e.g. {did.replies[:2]}")

# %%
nuance = "they hide the fault: the raw ids hold no end"
holds = all(did.stops < 0.05 for did in tried.values())
verdicts.judge("C9", "false", nuance, "deeper look A", holds=holds)

# %% [markdown]
# What about a model that already stops? We fine-tune the chat model with run B's settings, for 60 steps. How
# many of its greedy replies still stop: a) none, b) about half, c) nearly all? Put a letter in place of
# `TODO`.

# %%
### BEGIN SOLUTION
my_guess = "b"
### END SOLUTION
ex.INSTRUCT.predict(my_guess)

# %%
before = never_stops.end_logps(instruct)
masked_run = fine_tune(zoo.load_policy(MODEL, device=DEVICE), END)
masked_run.train()
did = behaviour(masked_run.model)
eroded = never_stops.end_logps(masked_run.model)
print(f"greedy replies that stop: {did.stops:.0%}")
first, last = (100 * logps.exp().mean() for logps in (before, eroded))
print(f"a sampled reply ends right after the answer: {first:.0f}%, now {last:.0f}%")

# %%
ex.INSTRUCT.recall("c", holds=did.stops > 0.8)
nuance = "greedy replies still stop; the end lost probability"
holds = did.stops > 0.8 and last < first - 10
verdicts.judge("C10", "false", nuance, "deeper look A", holds=holds)

# %% [markdown]
# A base model has to learn its end token, so it shows the fault. A chat model only has to keep it. Greedy
# decoding still picks the end, although its probability has fallen; sampled replies show the fault earlier.

# %% [markdown]
# ## Deeper look B: when every label is -100 (18 minutes, 5 points)
#
# This is the extreme case: nothing is learnt at all. What does the model's loss say: once without a count of
# targets, once with the Trainer's count (0 here), once with 1 (TRL never passes less)?

# %%
batch, _ = batches.prompt_fills_it(SEED)
batch = {k: v.to(device) for k, v in batch.items()}
alone = instruct(**batch).loss.item()
counted, at_least_1 = (instruct(**batch, num_items_in_batch=count).loss.item() for count in (0, 1))
print("alone:", alone, " with the count 0:", counted, " with 1:", at_least_1)

# %%
nuance = "nan (the Trainer may log it as 0.0); TRL: 0.0, not 0 / 0"
holds = alone != alone and counted != counted and at_least_1 == 0
verdicts.judge("C12", "true", nuance, "deeper look B", holds=holds)

# %% [markdown]
# And TRL? It drops rows without a label only if it truncates. If no row is left, it raises an error. What
# happens to ready-made rows if `max_length` is None, or if packing is on?


# %%
def what_trl_does(**settings):
    settings |= {"max_steps": 2, "logging_steps": 1}
    settings |= {"dataset": never_stops.unlearnt(tokenizer)}
    model = zoo.load_policy(MODEL, device=DEVICE)
    try:
        run = never_stops.sft_trainer(model, tokenizer, **settings)
        run.train()
    except ValueError as error:
        return str(error)
    return f"the losses {never_stops.losses(run)}"


# %%
ways = {
    "max_length=None": what_trl_does(max_length=None),
    "packing=True": what_trl_does(max_length=64, packing=True),
    "max_length=64": what_trl_does(max_length=64),
}
for name, what in ways.items():
    print(f"TRL, {name}: {what}")

# %%
uncut, packed, cut = ways.values()
nuance = "whenever such a batch reaches the loss; truncation drops it"
holds = "[0.0, 0.0]" in uncut and uncut == packed and "num_samples=0" in cut
verdicts.judge("C13", "true", nuance, "deeper look B", holds=holds)

# %% [markdown]
# **Exercise 07.4, 3 minutes, three letters, 2 points.** Why is every label -100? Batch 1 gives labels to what
# comes after the marker `"Answer: "`. Batch 2 was truncated at `max_length`, at its end. Batch 3 uses the
# assistant mask of the template that is printed. (The cell holds one warning back: it would name a cause.)
#
# * a) the row ends before the reply
# * b) the template has no `{% generation %}`
# * c) the marker's tokens are not those in the row
# * d) the collator compared ids with the pad id

# %%
for number, one in batches.without_labels(SEED).items():
    print(f"Batch {number}\n{inspect_batch(*one, num_rows=2).tokens}\n")
masks = batches.mask_by_template(SEED)
print("Batch 3\nassistant_masks:", masks)
print("template:", tokenizer.chat_template)

# %%
# A dict of three letters, for example {"1": "a", "2": "a", "3": "a"}
### BEGIN SOLUTION
why_empty = {"1": "c", "2": "a", "3": "b"}
### END SOLUTION

# %%
ex.EMPTY.check(why_empty)

# %% [markdown]
# **Exercise 07.5, 5 minutes, one line of jinja, 3 points.** Put a chat template into `template`. It renders
# the same text as before, and it marks the words of each reply and its end with `{% generation %}` and `{%
# endgeneration %}`. It marks nothing else. (The line break after the end may be inside or outside.)
#
# TRL can do this for you with `assistant_only_loss=True`: it replaces some known templates that mark nothing
# by its own training template, and raises an error for others. A template of your own stays your task.

# %%
# For example tokenizer.chat_template, which marks nothing
### BEGIN SOLUTION
template = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' }}"
    "{% set said = message['content'] + '<|im_end|>' %}"
    "{% if message['role'] != 'assistant' %}{{ said }}{% else %}"
    "{% generation %}{{ said }}{% endgeneration %}{% endif %}{{ '\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
### END SOLUTION

# %%
ex.TEMPLATE.check(template)

# %% [markdown]
# ## Deeper look C: what a healthy loss starts from (4 minutes)
#
# A model that knows nothing gives each of the V tokens the probability 1/V, so its loss is ln V. Below ln V
# it knows something; above, it is confidently wrong. How does each fault change the loss at step 0, and how
# much of the text is in the loss? (Qwen's tokenizer has no BOS token; `<|endoftext|>` stands in for one.)


# %%
def first_loss(model, batch):
    batch = {k: v.to(device) for k, v in batch.items()}
    return f"{model.eval()(**batch).loss.item():.2f}"


learnt = {
    "replies": batches.replies_learnt,
    "replies without their ends": batches.labels_by_id,
    "replies, BOS twice": batches.begins_twice,
    "replies of another template": batches.another_template,
    "whole chats": batches.whole_chats,
    "nothing": batches.prompt_fills_it,
}

# %%
import math

fresh = never_stops.base_model(MODEL, seed=SEED, device=DEVICE)
models, rows = {"base": fresh, "chat model": instruct}, []
for what, make in learnt.items():
    made = make(SEED)
    at_start = (first_loss(model, made[0]) for model in models.values())
    share_learnt = inspect_batch(*made).share_learnt
    rows.append((what, f"{share_learnt:.0%}", *at_start))
ln_v = math.log(fresh.config.vocab_size)
title = f"loss at step 0, nats per token; ln V is {ln_v:.2f}"
Table(columns=("learnt", "in the loss", *models), rows=rows, title=title)

# %% [markdown]
# On whole chats the chat model is confidently wrong, worse than chance: nobody taught it the user's words. A
# loss at step 0 tells you something only if you know what *this* model should have on *these* labels.

# %% [markdown]
# ## Deeper look D: at serving (5 minutes)
#
# Sometimes the rows are fine; the prompt, or the stop id waited for, is not. The `generation_config` of a
# base model often stops at its own `<|endoftext|>`
# ([ms-swift#3113](https://github.com/modelscope/ms-swift/issues/3113)), while a chat ends with `<|im_end|>`.
# In the table, one thing changes per row. How many sums does the chat model still get right?

# %%
changed = {
    "as in training": {},
    "one at a time": {"batch_size": 1},
    "padded on the right": {"side": "right"},
    "padding not masked": {"mask": False},
    "no generation prompt": {"text": lambda a: a.rpartition("<|im_start|>")[0]},
    "without its line end": {"text": lambda a: a.removesuffix("\n")},
    "one space behind it": {"text": lambda a: a + " "},
    "a token in front, as a second BOS": {"text": lambda a: OWN + a},
    "stops at <|endoftext|>": {"stop_at": "<|endoftext|>"},
}
did = {name: behaviour(instruct, **one) for name, one in changed.items()}
line = "{0.right:.0%} {0.stops:.0%} {0.halts:.0%}"
rows = [(name, *line.format(one).split()) for name, one in did.items()]
Table(columns=("serving", "right", "emits the end", "halts"), rows=rows)

# %% [markdown]
# Padded on the left and masked, a batch is answered like single prompts. A reply that stops may still be
# wrong.
#
# In the last row the model has learnt the end and emits it, but generation waits for another id: **a wrong
# stop id**. The training rows are healthy; you see the fault only in the raw replies and in
# `model.generation_config.eos_token_id`. (A large model tolerates most of the other rows better.)

# %% [markdown]
# ## Deeper look E: packing (15 minutes, 3 points)
#
# Four chats in one sequence save padding. Do they see each other? We compare the loss of the same replies,
# packed with nothing but the ends between them, with their loss alone.


# %%
def loss_of(use_cache=False, **given):
    given = {k: v.to(device) for k, v in given.items()}
    return instruct(**given, use_cache=use_cache).loss.item()


alone, _ = batches.replies_learnt(SEED)
joined, _ = batches.packed(SEED, with_positions=False)
print(f"alone: {loss_of(**alone):.3f} nats per token")
print(f"packed, with the ends between them: {loss_of(**joined):.3f}")

# %% [markdown]
# **Exercise 07.6, 6 minutes, a few lines, 3 points.** Write `pack(rows)`, with rows as in 07.3. Return one
# sequence of shape (1, all tokens), as a dict for `model(**pack(rows), use_cache=False)`. Every token gets
# the logits that it gets in its row alone, and the loss is the mean over all labels of the single rows. A
# row's labels may begin at its first token.


# %%
def pack(rows):
    """One sequence of rows that do not see each other."""
    ### BEGIN SOLUTION
    together = {"input_ids": [], "labels": [], "position_ids": []}
    for row in rows:
        together["input_ids"].extend(row["input_ids"])
        together["labels"].extend([-100, *row["labels"][1:]])
        together["position_ids"].extend(range(len(row["labels"])))
    return {name: torch.tensor(part)[None] for name, part in together.items()}
    ### END SOLUTION


# %%
ex.PACK.check(pack)

# %% [markdown]
# Here are several ways to pack with positions that start again at each chat. Which of them keep the chats
# apart?

# %%
with_ones, _ = batches.packed(SEED, with_mask=True)
no_mask, _ = batches.packed(SEED)
leaks = {
    "alone": loss_of(**alone),
    "positions, mask of ones": loss_of(**with_ones),
    "positions, no mask": loss_of(**no_mask),
    "positions, no mask, with a cache": loss_of(use_cache=True, **no_mask),
}
rows = [(name, f"{loss:.3f}") for name, loss in leaks.items()]
Table(columns=("packed with", "loss, nats per token"), rows=rows)

# %%
kind = instruct.config._attn_implementation
clean = abs(leaks["positions, no mask"] - leaks["alone"]) < 1e-3
nuance = f"exact with {kind}, given positions, no mask, no cache"
holds = clean and "flash" not in kind
verdicts.judge("C15", "false", nuance, "deeper look E", holds=holds)

# %% [markdown]
# With a cache, the model ignores the restarted positions when it builds its mask. So pass `use_cache=False`
# in a training loop of your own as well; TRL sets it for you.
#
# What does packing do to a training? Here are two runs of the base model. Each step packs its sixteen chats
# into one sequence: with ends between them and nothing else, or with your function.

# %%
pack_of_yours = ex.PACK.answer


def ends_between(rows):
    batch = pack_of_yours(rows)
    ids = batch["input_ids"]
    ones = torch.ones_like(ids)
    return {"input_ids": ids, "labels": batch["labels"], "attention_mask": ones}


# %% tags=["digits-vary"]
learnt = {}
for name, way in {"ends between": ends_between, "yours": pack_of_yours}.items():
    model = never_stops.base_model(MODEL, seed=SEED, device=DEVICE)
    fine_tune(model, OWN, collate=way).train()
    learnt[name] = behaviour(model)
    print(f"{name}: right {learnt[name].right:.0%}, e.g. {learnt[name].replies[0]!r}")

# %%
leaking, apart = (did.right for did in learnt.values())
nuance = "trained so, it gets few sums right; kept apart, most"
holds = leaking < 0.4 < 0.7 < apart
verdicts.judge("C14", "false", nuance, "deeper look E", holds=holds, seeds="10 of 10")

# %% [markdown]
# ## Deeper look F: the same fault in a reward model (10 minutes, 3 points)
#
# A reward model reads its score at one token of the row. Up to Transformers 4.48, that was the token before
# the first pad **id**. With pad == eos, where is that? We take two replies to each question in one batch,
# padded on either side, and each text alone. Does the batch change the scores?

# %%
reward = zoo.load_reward_model(MODEL, device="cpu")
reward.config.pad_token_id = end_id
pairs = pooling.pairs(tokenizer, pad=end_id, seed=SEED)


# %%
def token_scores(input_ids, attention_mask):
    states = reward.model(input_ids, attention_mask=attention_mask)
    return reward.score(states.last_hidden_state).squeeze(-1)


def old_pool(input_ids, attention_mask):  # transformers before PR 35911
    first_end = torch.eq(input_ids, end_id).int().argmax(-1)
    last = (first_end - 1) % input_ids.shape[-1]
    scores = token_scores(input_ids, attention_mask)
    return scores[torch.arange(len(input_ids)), last]


shares = {"until 4.48": pooling.compared(pairs, old_pool)}
pooling.table(shares)

# %% [markdown]
# With padding on the right, the first end token is the one that closes the *question*. Both replies are
# scored there, so their scores are equal and the loss stays at ln 2. With padding on the left, a row's score
# depends on the other rows in the batch.

# %% [markdown]
# **Exercise 07.7, 5 minutes, a few lines, 3 points.** Write `pool(scores, mask)`. `scores` has shape (rows,
# tokens), `mask` is the attention mask as integers. Return for each row the score of its last token with mask
# 1, with padding on the left, on the right or on both sides: shape (rows,), in the dtype of the scores, with
# its gradient.


# %%
def pool(scores, mask):
    """The score of each row's last token, wherever the padding is."""
    ### BEGIN SOLUTION
    places = torch.arange(scores.shape[-1]).expand_as(mask)
    last = places.masked_fill(mask == 0, -1).max(dim=-1).values
    return scores.gather(-1, last.unsqueeze(-1)).squeeze(-1)
    ### END SOLUTION


# %%
ex.POOL.check(pool)

# %%
pool_of_yours = ex.POOL.answer


def fixed_pool(input_ids, attention_mask):
    scores = token_scores(input_ids, attention_mask)
    return pool_of_yours(scores, attention_mask)


def todays_pool(**given):
    return reward(**given).logits.squeeze(-1)


for name, way in {"yours": fixed_pool, "today": todays_pool}.items():
    shares[name] = pooling.compared(pairs, way)
pooling.table(shares)

# %% [markdown]
# Today's pooling no longer depends on the batch. It still compares ids, though. Where does it read the score
# of a row that ends with the end token, if pad == eos?

# %%
row = tokenizer("<|im_start|>assistant\n42<|im_end|>", return_tensors="pt")
scores = token_scores(**row)[0]
for name, way in {"today": todays_pool, "yours": fixed_pool}.items():
    place = (scores - way(**row)).abs().argmin().item()
    print(f"{name}: token {place + 1} of {len(scores)}")

# %%
old, *now = shares.values()
nuance = "until 4.48: padded left, yes; padded right, wrong in every batch"
both = [share for by_side in now for share in by_side.values()]
is_fixed = all(moved == 0 and equal < 0.1 for moved, equal in both)
holds = old["right"][1] == 1 and old["left"][0] > 0.2 and is_fixed
verdicts.judge("C16", "partly", nuance, "deeper look F", holds=holds)

# %% [markdown]
# ## Deeper look G: does a lower loss mean faster learning? (4 minutes)
#
# Run B logs the lower loss. Does it learn anything faster? We take one base model and one batch before any
# training, with and without the ends in the loss. Then we look at the held-out sums of both runs.
#
# (The logs of section 4 differ less than the two numbers below. SFTTrainer also teaches the line end that
# follows each end token. For the base model the line end has an even higher loss than the end, and it stays
# in the loss of both runs.)

# %%
untrained = never_stops.base_model(MODEL, seed=SEED, device=DEVICE).eval()
taught, _ = batches.replies_learnt(SEED)
whole = {k: v.to(device) for k, v in taught.items()}
labels = whole["labels"]
start_loss = untrained(**whole).loss.item()
whole["labels"] = labels.masked_fill(labels == end_id, -100)
without = untrained(**whole).loss.item()
print(f"step 0: {start_loss:.2f} nats per token, {without:.2f} without its ends")
held_out = ", ".join(f"{name} {did.right:.0%}" for name, did in after.items())
print(f"held-out sums right after training: {held_out}")

# %%
nuance = "the average lost its ends; nothing is learnt faster"
no_faster = after["run B"].right < after["run A"].right + 0.05
verdicts.judge("C3", "false", nuance, "deeper look G", holds=without < start_loss and no_faster)

# %% [markdown]
# The same model has the lower loss before a single step, because other tokens are counted. And after the
# training run B gets no more sums right than run A.

# %% [markdown]
# ## Deeper look H: the number to log (11 minutes, 3 points)
#
# Log one number next to the loss: the share of replies whose end is learnt. Section 6 looked for the end
# among all labels of a row. Where whole chats are learnt, that counts the user's ends, too.

# %% [markdown]
# **Exercise 07.2, 8 minutes, a few lines, 3 points.** Write `share_of_ends(batch, start, end)`. The last
# message of a row begins at the row's last `start` token. Return the share of rows in which, after that
# `start`, there is an `end` token whose attention mask is 1 **and** whose label is the end. Each row has a
# `start`. The padding may be on either side, and its token may be the end itself.


# %%
def share_of_ends(batch, start, end):
    """The share of rows whose last message has its end in the loss."""
    ### BEGIN SOLUTION
    is_text = batch["attention_mask"] == 1
    starts = (batch["input_ids"] == start) & is_text
    behind = starts.flip(-1).cumsum(-1).flip(-1) == 0
    is_learnt = (batch["input_ids"] == end) & (batch["labels"] == end) & is_text
    return (is_learnt & behind).any(-1).double().mean().item()
    ### END SOLUTION


# %%
ex.ENDS.check(share_of_ends)

# %% [markdown]
# Your number judges two more suggested fixes: append an end, and pad on the right. How many ends does each of
# them bring back into the loss?

# %%
share, START_ID = ex.ENDS.answer, tokenizer.convert_tokens_to_ids("<|im_start|>")
batch, _ = batches.labels_by_id(SEED)
sides = {"right": share(batch, START_ID, end_id)}
sides["left"] = share(batches.on_the_left(batch), START_ID, end_id)
num_rows = len(batch["input_ids"])
in_ids = int((batch["input_ids"] == end_id).any(-1).sum())
print(f"rows with an end: {in_ids} of {num_rows}; ends learnt: {sides}")
missing = share(batches.never_appended(SEED)[0], START_ID, end_id)
appended = share(batches.replies_learnt(SEED)[0], START_ID, end_id)
print(f"rows without an end: {missing:.0%} learnt; appended: {appended:.0%}")

# %%
nuance = "it fixes a missing end, not one that is there and masked"
holds = in_ids == num_rows and sides["right"] == missing == 0 < appended
verdicts.judge("C4", "partly", nuance, "deeper look H", holds=holds)
holds = set(sides.values()) == {0.0}
nuance = "the end has no label on either side"
verdicts.judge("C7", "false", nuance, "deeper look H", holds=holds)

# %% [markdown]
# ## The verdicts, then and now
#
# Below are all claims with their verdicts, and then the failure in the libraries of its day: up to trl 0.15.2,
# SFTTrainer's default collator compared ids. `course era 07` runs the plain tutorial in both.
#
# Which of these faults do today's libraries warn about? In the core, a tokenizer that differs from its model;
# in deeper look B, a template without `{% generation %}`, and a run without rows; in D, padding on the right
# before `generate`. With `assistant_only_loss=True`, TRL 1.16 also warns when the end stands outside `{%
# generation %}`, and replaces or refuses a template that marks nothing. No library warns about labels made from ids, a truncated end, or
# two BOS tokens.

# %%
from course_utils.reproductions import eras

verdicts.table()

# %%
eras.row("07")

# %%
ex.progress()
