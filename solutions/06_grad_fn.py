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
# # Element 0 of tensors does not require grad and does not have a grad_fn
#
# After 60 minutes you will be able to
#
# * **locate** the place where a gradient is lost,
# * **fix** a checkpointed LoRA run,
# * **prove** that a run trains what it should.
#
# Sections 1 to 13 are the core. Sections 14 to 17 are deeper looks (67 minutes in all): each needs
# the core alone, and you may skip any of them. After a restart of the kernel, run the cells above first.
#
# Everything runs on a CPU in seconds. On a GPU (`DEVICE="auto"` finds it) the same cells run there.

# %% tags=["parameters"]
MODEL = "tiny"
DEVICE = "auto"
SEED = 0
FAST = False
STRICT = False

# %%
from course_utils.lesson import TODO, start

ex = start("06", strict=STRICT)

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import set_seed
from trl import GRPOConfig, GRPOTrainer

from course_utils import zoo
from course_utils.lesson.expected_failures import expect_failure, expect_symptom
from course_utils.shown import plotting
from course_utils.shown.report import Table
from course_utils.zoo import training

ex

# %% [markdown]
# ## 1. The report
#
# GRPO on Qwen2-0.5B-Instruct with LoRA stops at its first step
# ([trl#3150](https://github.com/huggingface/trl/issues/3150), March 2025):
#
# `RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn`
#
# Settings: bf16, LoRA r = 16, lr 1e-5, batch 16, 8 generations, DeepSpeed ZeRO-0,
# `gradient_checkpointing=True` with `use_reentrant=True`. With checkpointing off it works. In
# [trl#3089](https://github.com/huggingface/trl/issues/3089) (trl 0.15.2) it works without LoRA.
#
# What does the message mean?

# %%
from course_utils.concepts import lesson_06

lesson_06.walk_back()

# %% [markdown]
# This lesson asks what happened on the way to that loss.
#
# ## 2. The suspects
#
# An article explained the failure. Here are eight of its claims, each with the thread that says the
# same, where we found one. Some are right; nothing is marked yet. (The table of section 18 has the
# verdicts on its other claims.)
#
# Vote before you see the evidence: one mark per claim, in the order shown. `t` is true, `p` partly,
# `f` false. Add `!` where you are sure; `-` leaves one out.

# %%
verdicts = ex.verdicts
verdicts.suspects()

# %%
### BEGIN SOLUTION
my_votes = "t p t f! t t t t"
### END SOLUTION
verdicts.vote(my_votes)

# %% [markdown]
# ## 3. Predict
#
# Which of these is the reason? Put a letter in place of `TODO`.

# %%
### BEGIN SOLUTION
my_guess = "c"
### END SOLUTION
ex.WHICH_ELEMENT.predict(my_guess)

# %% [markdown]
# ## 4. Break it, in ten lines
#
# LoRA leaves the embeddings frozen and trains something in the layers above. A **checkpoint** saves
# memory: it drops a layer's activations after the forward pass and computes them again in the backward
# pass. Here are one frozen embedding and one trainable block, first without a checkpoint, then with
# one. Which of the two fails?

# %%
import warnings

from torch.utils.checkpoint import checkpoint

torch.manual_seed(SEED)
embedding = torch.nn.Embedding(10, 4).requires_grad_(False)
block = torch.nn.Linear(4, 4)
ids = torch.tensor([3, 1, 4])

block(embedding(ids)).sum().backward()
print("without: a gradient of shape", tuple(block.weight.grad.shape))
ends = expect_failure(RuntimeError, saying="does not have a grad_fn")
with warnings.catch_warnings(), ends:
    warnings.filterwarnings("ignore", message="None of the inputs")  # section 14 comes back to it
    output = checkpoint(block, embedding(ids), use_reentrant=True)
    output.sum().backward()

# %% [markdown]
# There is no LoRA, no bf16, no DeepSpeed and no trainer here, and still the message is that of the
# report. The block's weights are trainable in both cases.
#
# ## 5. Which tensor lost its graph?
#
# In a healthy chain, every tensor from the block on has `requires_grad` and a `grad_fn`. Where does
# the sick chain lose them?

# %%
hidden = embedding(ids)
tensors = {
    "embedding.weight": embedding.weight,
    "block.weight": block.weight,
    "embedding(ids)": hidden,
    "block(hidden)": block(hidden),
    "checkpoint(block, hidden)": checkpoint(block, hidden, use_reentrant=True),
}
for name, tensor in tensors.items():
    made_by = type(tensor.grad_fn).__name__ if tensor.grad_fn else "-"
    grad = tensor.requires_grad
    print(f"{name:26} requires_grad {grad!s:6} grad_fn {made_by}")
nuance = "a result inherits it, where a graph is recorded"
inherits = tensors["block(hidden)"].requires_grad
verdicts.judge("C3", "true", nuance, "section 5", holds=inherits, show=False)

# %% [markdown]
# The block's weights require grad, and the checkpoint's output does not. What decides this? The only
# other tensor that goes in is `hidden`. We change that one tensor.

# %%
trainable = torch.nn.Embedding(10, 4)
for name, given in {"frozen": hidden, "trainable": trainable(ids)}.items():
    output = checkpoint(block, given, use_reentrant=True)
    what = f"input {given.requires_grad!s:6} output {output.requires_grad}"
    print(f"{name} embedding: {what}")
expect_symptom("the output follows the input", holds=output.requires_grad)

# %% [markdown]
# The output follows its **input**, whatever the weights are. The reason is in torch's source. How does
# a reentrant checkpoint compute its forward pass?

# %%
import inspect

from torch.utils.checkpoint import CheckpointFunction

source = inspect.getsource(CheckpointFunction.forward)
_, under_no_grad = source.split("with torch.no_grad():")
print("with torch.no_grad():", under_no_grad.splitlines()[1].strip())

# %% [markdown]
# Under `no_grad` nothing is recorded. Afterwards autograd attaches the output to the graph, but only
# if one of the **input tensors** requires grad. Weights inside the block are not inputs.
#
# **Exercise 06.1, 4 minutes, one line, 3 points.** Write `checkpointed_loss(embedding, block, ids)`:
# the sum of the checkpointed block's output, such that the block gets its gradient. The embedding
# stays frozen and the block checkpointed; it may have dropout. As in all exercises of this lesson, the
# check tries other shapes, sizes, seeds and float64, and your function must leave its arguments as
# they were.


# %%
def checkpointed_loss(embedding, block, ids):
    """The sum of the checkpointed block's output; the block gets a gradient."""
    ### BEGIN SOLUTION
    hidden = embedding(ids)
    hidden.requires_grad = True
    return torch.sum(checkpoint(block, hidden, use_reentrant=True))
    ### END SOLUTION


# %%
ex.BARE.check(checkpointed_loss)

# %% [markdown]
# ## 6. In a real model
#
# Now LoRA in a Qwen2. `activation_checkpointing_enable` is today's name of
# `gradient_checkpointing_enable`. Transformers 5 also marks the embeddings' output as requiring grad,
# with a hook. The libraries of the report did not, so we take the hook off in one of two models. What
# does each model do?

# %%
lora = dict(r=16, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")


def lora_policy(*, use_reentrant, hook, **changes):
    base = zoo.load_policy(MODEL, device=DEVICE)
    model = get_peft_model(base, LoraConfig(**lora | changes)).train()
    model.activation_checkpointing_enable({"use_reentrant": use_reentrant})
    if not hook:
        model.disable_input_require_grads()
    return model


# %%
tokenizer = zoo.load_tokenizer(MODEL)
sums = zoo.arithmetic.prompts(16, SEED)
texts = [row["prompt"][0]["content"] + row["answer"] for row in sums]
device = zoo.pick_device(DEVICE)
batch = tokenizer(texts, padding=True, return_tensors="pt").to(device)
batch["labels"] = batch["input_ids"]

healthy = lora_policy(use_reentrant=True, hook=True)
sick = lora_policy(use_reentrant=True, hook=False)
healthy(**batch).loss.backward()
print("with the hook: backward() runs")
with expect_failure(RuntimeError, saying="does not require grad"):
    sick(**batch).loss.backward()

# %% [markdown]
# The article's first advice is to check what is trainable. What is trainable in the sick model?

# %%
weights = dict(sick.named_parameters())
trained = {name for name, w in weights.items() if w.requires_grad}
is_lora = trained == {name for name in weights if "lora_" in name}
print(f"{len(trained)} trainable tensors, all of LoRA: {is_lora}")
print(f"{len(weights) - len(trained)} frozen tensors")
nuance = "it comes although every LoRA matrix requires grad"
verdicts.judge("C1", "false", nuance, "section 6", holds=is_lora)
verdicts.judge("C4", "true", "", "section 6", holds=is_lora, show=False)

# %% [markdown]
# Everything is set as it should be, and still the path is cut. `audit_gradients` runs one training
# step on any model and follows every value from the weights to the loss. First the healthy model, then
# the sick one.

# %%
from course_utils.diagnostics import audit_gradients

found = audit_gradients(sick, batch)
display(audit_gradients(healthy, batch).brief(), found.brief())
at_first = "layers.0" in found.cuts[0].modules[0]
nuance = "here every checkpoint cuts it"
verdicts.judge("C5", "true", nuance, "section 6", holds=at_first)

# %% [markdown]
# (Half of the healthy LoRA matrices wait: `lora_A` is multiplied by `lora_B`, which is 0 before the
# first step.)
#
# Here it is as a drawing. Each box is a stage with the gradient of its weights. An arrow means that a
# gradient can come back to the stage's output. (A cross between layer 0 and the frozen embedding is
# normal: no weight there waits for a gradient.) What do the remedies change?

# %%
from course_utils.reproductions.lesson_06.stages import follow_stages, show_stages

plain = lora_policy(use_reentrant=True, hook=False)
plain.activation_checkpointing_disable()
models = {
    "without checkpoints": plain,
    "reentrant": sick,
    "reentrant with hook": healthy,
    "not reentrant": lora_policy(use_reentrant=False, hook=False),
}
stages = {run: follow_stages(model, batch) for run, model in models.items()}

title = "A reentrant checkpoint on an input without grad is cut off"
show_stages(stages, title, figsize=(8, 6))

# %% [markdown]
# Look at the lowest arrow. The hook makes the embeddings' **output** part of the graph, so the
# checkpoints have an input that requires grad; the embedding's weight stays frozen. A non-reentrant
# checkpoint records its own graph and needs no such mark.
#
# ## 7. As reported, with GRPO
#
# The reported settings, two steps, short replies. The reward is the length of the reply: replies of
# one group then seldom get the same reward, and a group of equal rewards gives no gradient.

# %%
settings = dict(
    learning_rate=1e-5,
    bf16=True,
    per_device_train_batch_size=16,
    num_generations=8,
    gradient_checkpointing=True,
    gradient_checkpointing_kwargs={"use_reentrant": True},
    max_completion_length=6,
    temperature=1.5,
    max_steps=2,
    seed=SEED,
    use_cpu=device.type == "cpu",
)


# %%
def reward_len(completions, **_):
    return [float(len(reply[-1]["content"])) for reply in completions]


def reported_trainer(base):
    more = dict(lora_alpha=32, lora_dropout=0.05)
    return GRPOTrainer(
        model=get_peft_model(base, LoraConfig(**lora, **more)),
        args=GRPOConfig(**settings, **training.quiet_config()),
        reward_funcs=reward_len,
        train_dataset=zoo.arithmetic.prompts(64, SEED, level="hard"),
        processing_class=tokenizer,
    )


# %% [markdown]
# Does it still fail today?

# %%
set_seed(SEED)
base = zoo.load_policy(MODEL, device=DEVICE, dtype="bfloat16")
today = reported_trainer(base)
today.train()
weights = today.model.named_parameters()
moved = [name for name, w in weights if "lora_B" in name and w.any()]
print(f"no error; {len(moved)} lora_B matrices moved")

# %% [markdown]
# Today it trains. TRL and Transformers both call `enable_input_require_grads()`, which puts the hook
# on the embeddings. To get the state of trl 0.15, we make that call do nothing.

# %%
set_seed(SEED)
base = zoo.load_policy(MODEL, device=DEVICE, dtype="bfloat16")
base.enable_input_require_grads = lambda: None  # as in trl 0.15: no hook is set
then = reported_trainer(base)
with expect_failure(RuntimeError, saying="does not require grad"):
    then.train()
print("DeepSpeed in use:", then.is_deepspeed_enabled)

# %%
nuance = "the version of TRL decides: older ones did not make this call"
holds = len(moved) > 0
verdicts.judge("C12", "true", nuance, "section 7, `course era 06`", holds=holds)

# %% [markdown]
# That is the report: older libraries did not make this call. (Section 14 tries each of today's guards
# alone.)
#
# ## 8. Eliminate
#
# `grpo_outcomes` trains the run of the report, without that call, once per row. Each suspect that is a
# setting gets its own run. Which of them will train?

# %%
from course_utils.reproductions.lesson_06.frozen_inputs import grpo_outcomes

run = dict(model=MODEL, device=DEVICE, seed=SEED)
small = {"per_device_train_batch_size": 4, "num_generations": 2}
other_kind = {"gradient_checkpointing_kwargs": {"use_reentrant": False}}
changes = {
    "as reported": {},
    "float32, no bf16 anywhere": {"dtype": "float32", "bf16": False},
    "float32 weights under AMP": {"dtype": "float32"},
    "batch of 4, 2 generations": small,
    "without LoRA": {"lora": False, "learning_rate": 1e-3},
    "gradient_checkpointing=False": {"gradient_checkpointing": False},
    "inputs marked before LoRA": {"mark_inputs": "before"},
    "inputs marked after LoRA": {"mark_inputs": "after"},
    "use_reentrant=False": other_kind,
}
suspects = grpo_outcomes(changes, **run)
suspects

# %% [markdown]
# The number format changes nothing, nor do batch and generations. The error needs LoRA **and** a
# reentrant checkpoint.

# %%
word = suspects.words
without_bf16 = word["float32, no bf16 anywhere"]
is_format = without_bf16 == word["as reported"] == "error"
nuance = "not here: float32 fails in the same way"
verdicts.judge("C6", "false", nuance, "section 8", holds=is_format)
verdicts.judge("C13", "false", nuance, "section 8", holds=is_format, show=False)
verdicts.judge(
    "C2",
    "partly",
    "it leaves out use_reentrant=True; DeepSpeed and bf16 do not matter",
    "sections 7 and 8",
    holds=is_format and not then.is_deepspeed_enabled,
)

# %%
is_small = word["batch of 4, 2 generations"] == "error"
nuance = "the smallest batch fails in the same way"
verdicts.judge("C11", "true", nuance, "section 8", holds=is_small, show=False)
before, after = (word[f"inputs marked {w} LoRA"] for w in ("before", "after"))
weight = healthy.get_input_embeddings().weight
works = before == after == "trains" and not weight.requires_grad
nuance = "before or after; it marks activations, not parameters"
verdicts.judge("C7", "true", nuance, "section 8", holds=works)
trains = word["use_reentrant=False"] == "trains"
nuance = "the fix to prefer: no hook is needed"
verdicts.judge("C14", "true", nuance, "section 8", holds=trains, show=False)

# %% [markdown]
# ## 9. Explain
#
# 1. LoRA freezes the embeddings, so their output does not require grad.
# 2. A reentrant checkpoint runs its layer under `no_grad`, and joins the graph only through an input
#   that requires grad. Here there is none, so its output is cut off. That output is the next layer's
#   input.
# 3. The loss still depends on the adapters, but its graph does not contain them.
# 4. `backward()` finds no grad_fn to start from, and says so.

# %%
joined = {}
for name, seen in stages.items():
    joined[name] = any(stage.in_graph for stage in seen)
is_cut = joined["without checkpoints"] and not joined["reentrant"]
ex.WHICH_ELEMENT.recall("c", holds=is_cut)

# %% [markdown]
# ## 10. A reward model
#
# A reward model has a new `score` head. With `task_type="SEQ_CLS"` PEFT trains it beside the adapters.
# Everything else stays: frozen embeddings, reentrant checkpoints, no hook. Predict before you run.

# %%
### BEGIN SOLUTION
my_guess = "d"
### END SOLUTION
ex.WITH_HEAD.predict(my_guess)

# %% [markdown]
# `reward_run` is TRL's RewardTrainer on pairs of a right and a wrong sum (lesson 03's run), in
# float32, with larger batches, reentrant checkpoints and without the hook. What does its log look
# like?

# %%
from course_utils.reproductions.lesson_06.frozen_inputs import reward_run

longer = run | {"max_steps": 15 if FAST else 30, "logging_steps": 5}
with_head = reward_run(**longer)
with_head.train()
columns = ("step", "loss", "grad_norm", "accuracy")
training.log_table(with_head, columns)

# %%
### BEGIN SOLUTION
my_guess = "c"
### END SOLUTION
ex.LOG_TELLS.predict(my_guess)

# %% [markdown]
# Whatever you chose, look for yourself.
#
# **Exercise 06.2, 3 minutes, one line, 3 points.** Write `without_gradient(model)`: a list (tuple,
# set) of the full names of all trainable parameters that no gradient has reached. It is called after a
# `backward()`, on any model. A gradient of zeros, or of nan, was computed, so it counts as reached.


# %%
def without_gradient(model):
    """Names of the trainable parameters that no gradient has reached."""
    ### BEGIN SOLUTION
    starved = []
    for name, weight in model.named_parameters():
        if weight.requires_grad and weight.grad is None:
            starved.append(name)
    return starved
    ### END SOLUTION


# %%
ex.SILENT.check(without_gradient)

# %% [markdown]
# A callback looks just before each optimizer step. `enable_input_require_grads=True` puts the hook
# back: first that healthy run, then this one. How many of the trainable tensors get no gradient?

# %%
from transformers import TrainerCallback

find_starved = ex.SILENT.answer


class LookAtGradients(TrainerCallback):
    def on_pre_optimizer_step(self, args, state, *more, model, **kwargs):
        trained = sum(w.requires_grad for w in model.parameters())
        print(f"  {len(find_starved(model))} of {trained} without")


for hook in (True, False):
    print("with the hook" if hook else "without the hook")
    two = run | {"max_steps": 2, "callbacks": [LookAtGradients()]}
    reward_run(enable_input_require_grads=hook, **two).train()

# %% [markdown]
# Only one tensor gets a gradient: the head. No LoRA matrix gets one, in either step. Where is the cut?

# %%
first = next(iter(with_head.get_train_dataloader()))
headlined = audit_gradients(with_head, first)
display(headlined.brief())
labelled = batch | {"labels": torch.ones(len(texts), 1, device=device)}
loss = with_head.model(**labelled).loss
print("the loss requires grad:", loss.requires_grad)
adapters = [w for name, w in with_head.model.named_parameters() if "lora_" in name]
all_trainable = all(w.requires_grad for w in adapters)
print("every LoRA matrix is trainable:", all_trainable)
of_head = follow_stages(with_head.model, labelled)
title = "The head saves the loss, not the adapters"
show_stages({"with a head": of_head}, title, figsize=(4, 6))

# %%
is_silent = not headlined.is_healthy and headlined.loss_has_graph
verdicts.judge(
    "C9",
    "partly",
    "useful but not enough: all are trainable here, and none learns",
    "section 10",
    holds=all_trainable and is_silent,
)
verdicts.judge(
    "C10",
    "partly",
    "it finds the error of section 1; this run passes the test",
    "section 10",
    holds=loss.requires_grad and is_silent,
)

# %%
loss_log = training.logged(with_head, "loss")
ex.WITH_HEAD.recall("d", holds=is_silent and loss_log[-1] < loss_log[0])

# %% [markdown]
# The loss gets its grad_fn from the head only. (Section 15 shows that this run is, number for number,
# a run that trains a linear head on a frozen body.)
#
# ### How would you have noticed?
#
# Here is the same run with the hook, next to it. Would you have known from either curve alone?

# %%
whole = reward_run(**longer, enable_input_require_grads=True)
whole.train()
runs = {"adapters cut off": with_head, "whole": whole}
curves = {n: training.logged(run, "loss") for n, run in runs.items()}

# %%
import matplotlib.pyplot as plt

every = longer["logging_steps"]
steps = [every * number for number in range(1, len(loss_log) + 1)]
fig, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
meanings = {"adapters cut off": "suspicious", "whole": "alive"}
plotting.draw_curves(ax, steps, curves, meanings=meanings)
ax.set(xlabel="optimizer step", ylabel="loss", title="Both losses fall")
ends = [f"{n} from {c[0]:.2f} to {c[-1]:.2f}" for n, c in curves.items()]
plotting.show(fig, f"The loss falls in both runs: {'; '.join(ends)}.")
both = all(curve[-1] < curve[0] for curve in curves.values())
expect_symptom("the loss of both falls", holds=both)

# %% [markdown]
# Side by side, the two curves differ. Alone, each of them is an ordinary loss curve. What can one log
# tell you?

# %%
rows = []
for name, trainer in runs.items():
    norms = training.logged(trainer, "grad_norm")
    weights = trainer.model.named_parameters()
    moved = [bool(w.any()) for n, w in weights if "lora_B" in n]
    loss = "falls" if curves[name][-1] < curves[name][0] else "does not fall"
    is_zero = "0 at times" if min(norms) == 0 else "never 0"
    rows.append((name, loss, is_zero, f"{sum(moved)} of {len(moved)}"))
display(Table(("run", "loss", "grad_norm", "lora_B that are not 0"), rows))
[(_, *cut_log, cut_moved), (_, *whole_log, whole_moved)] = rows
is_alike = cut_log == whole_log
ex.LOG_TELLS.recall("c", holds=is_alike and cut_moved != whole_moved)

# %% [markdown]
# Only the last column separates the two runs. You can also read it from a file: an adapter on disk
# whose `lora_B` are all zeros has never been trained.
#
# ## 11. Fix it
#
# **Exercise 06.10, 3 minutes, one setting, 4 points.** Put into `fix` the one change that the reward
# run needs, as a dict with one of these keys: `enable_input_require_grads`, `gradient_checkpointing`,
# `gradient_checkpointing_kwargs`, `task_type`, `dtype`, `bf16`, `learning_rate`, `optim`,
# `max_grad_norm`, `per_device_train_batch_size`, `gradient_accumulation_steps`. Everything else stays
# as reported.
#
# The check *trains*, on three seeds. There must be no error, the head and every adapter must be
# trained, and the memory must still be saved.

# %%
### BEGIN SOLUTION
fix = dict(gradient_checkpointing_kwargs=dict(use_reentrant=False))
### END SOLUTION

# %%
ex.FIX.check(fix)

# %% [markdown]
# ## 12. Prove it
#
# The silent run again, with the fix and nothing else. Now we look at held-out pairs, never trained on:
# the right sum against a guess. Which loss does each model have on them?

# %%
fixed = reward_run(**longer | ex.FIX.answer)
fixed.train()
held_out = zoo.arithmetic.preferences(200, SEED, split="test", rejected="guess")


def scores(model, replies):
    chats = [p["prompt"] + p[replies] for p in held_out]
    said = tokenizer.apply_chat_template(chats, tokenize=False)
    encoded = tokenizer(said, padding=True, return_tensors="pt")
    with torch.no_grad():
        logits = model.eval()(**encoded.to(model.device)).logits
    return logits.squeeze(-1)


# %%
unseen_loss = {}
for name, trainer in {"silent": with_head, "with the fix": fixed}.items():
    chosen, other = (scores(trainer.model, r) for r in ("chosen", "rejected"))
    each = -torch.nn.functional.logsigmoid(chosen - other)
    unseen_loss[name] = each.mean().item()
pays = unseen_loss["with the fix"] < 0.75 * unseen_loss["silent"]
if not FAST:
    expect_symptom("the fix pays", holds=pays)

# %%
import math

fig, ax = plt.subplots(figsize=(7, 2.5), layout="constrained")
meanings = {"silent": "suspicious", "with the fix": "alive"}
plotting.draw_bars(ax, unseen_loss, meanings=meanings)
plotting.draw_limit(ax, math.log(2), "chance, ln 2", axis="x")
ax.set_xlabel("loss on held-out pairs, nats")
ax.set_title("With its adapters the model learns much more")
before, after = unseen_loss.values()
said = f"from {before:.2f} to {after:.2f} nats"
plotting.show(fig, f"The fix takes the held-out loss {said}.")

# %% [markdown]
# `use_reentrant=False` costs less than the reentrant kind that it replaces; section 14 measures it.

# %% [markdown]
# ## 13. Next time
#
# Two questions come before the summary.
#
# **Exercise 06.11, 2 minutes, two letters, 2 points.** 1) A LoRA reward model must really train. You
# look at a) a falling loss, b) a grad_norm above 0, c) `lora_B` after one step. 2)
# `loss.requires_grad_()` a) ends the error and trains nothing, b) repairs a cut at a checkpoint, c)
# raises as well.

# %%
# Two letters, for example {"1": "a", "2": "a"}
### BEGIN SOLUTION
quiz = {"1": "c", "2": "a"}
### END SOLUTION

# %%
ex.QUIZ.check(quiz)

# %% [markdown]
# The next time you meet this failure:
#
# * **Signature**: the message names only the loss. Go back from it to the first tensor that should
#   require grad and does not.
# * **Look first** at `use_reentrant`, then at what comes before the first checkpoint.
# * **Look-alikes**: the same cut without a message. Look at `lora_B` after one step, or run
#   `audit_gradients`. People met it in
#   [open-unlearning#178](https://github.com/locuslab/open-unlearning/issues/178) and
#   [LoRA#120](https://github.com/microsoft/LoRA/issues/120). Other causes of the same message are in
#   section 16.
#
# This is the end of the core. Four deeper looks follow. To skip them, go to section 18 for the
# verdicts and your points.

# %% [markdown]
# ## 14. Deeper look: what warns, what protects, what it costs (12 minutes)
#
# Torch warned in section 4. Does it warn about healthy passes as well?


# %%
def warns(run):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        run()
    return any("None of the inputs" in str(w.message) for w in seen)


kind = {"use_reentrant": True}
print("sick:", warns(lambda: checkpoint(block, hidden, **kind)))
with torch.no_grad():
    healthy_input = trainable(ids)
    print("rollout:", warns(lambda: checkpoint(block, healthy_input, **kind)))

# %% [markdown]
# It gives the same warning for a healthy rollout or reference pass. So the warning is a clue and not a
# proof.
#
# Three things protect you today: TRL's call (since 0.16), Transformers' call, and a default that is no
# longer reentrant. Is one of these guards enough?

# %%
from course_utils.reproductions.lesson_06.frozen_inputs import GUARDS

alone = {f"{guard} alone": {"guards": (guard,)} for guard in GUARDS}
all_three = {"all three": {"guards": GUARDS}}
guarded = grpo_outcomes({"no guard": {}} | alone | all_three, **run)
guarded

# %%
each_suffices = all(guarded.words[name] == "trains" for name in alone)
expect_symptom("each guard alone is enough", holds=each_suffices)

# %% [markdown]
# With LoRA and DeepSpeed's ZeRO-3, TRL 1.16 itself sets `use_reentrant=True` (in
# `GRPOTrainer.__init__`). There the hook is your only guard.
#
# You can add a guard of your own: the function of exercise 06.2, in a callback that stops at step 1.
# Does it let the healthy run go on?


# %%
class StopWhenStarved(TrainerCallback):
    def on_pre_optimizer_step(self, args, state, control, model, **more):
        if find_starved(model):
            control.should_training_stop = True


for name, change in {"silent": {}, "with the fix": ex.FIX.answer}.items():
    guard = {"max_steps": 3, "callbacks": [StopWhenStarved()]}
    watched = reward_run(**run | change | guard)
    watched.train()
    print(f"{name}: {watched.state.global_step} of 3 steps")

# %% [markdown]
# Which setting of the run in section 8 do *you* suspect? Take any field of `GRPOConfig`, or `dtype`,
# `lora`, `mark_inputs`.

# %%
# A dict, for example {"weight_decay": 0.1}
### BEGIN SOLUTION
my_suspect = {"max_grad_norm": 0.1}
### END SOLUTION
is_given = isinstance(my_suspect, dict)
mine = {f"mine: {my_suspect}": my_suspect} if is_given else {}
grpo_outcomes({"as reported": {}} | mine, **run)

# %% [markdown]
# What does each option cost? `step_cost` counts, for one training step, the MiB that the graph keeps
# after the forward pass, the peak, and the operations. Which option saves memory for the fewest
# operations?

# %%
from course_utils.zoo.step_cost import step_cost

long_ids = torch.randint(0, 256, (8, 64), device=device)
costs, rows = {}, []
for name in ("without checkpoints", "reentrant with hook", "not reentrant"):
    model = models[name]
    cost = step_cost(model, lambda: model(input_ids=long_ids, labels=long_ids).loss)
    costs[name] = cost
    work = f"{cost.gflop / costs['without checkpoints'].gflop:.2f}"
    rows.append((name, f"{cost.kept_mib:.1f}", f"{cost.peak_mib:.1f}", work))
Table(("option", "kept, MiB", "peak, MiB", "operations, relative"), rows)

# %% [markdown]
# Both kinds of checkpoint keep the same small part. The reentrant kind computes every layer again to
# its end; the other kind stops as soon as it has what it had dropped.

# %%
runs = ("without checkpoints", "not reentrant")
kept = [costs[run].kept_mib for run in runs]
off, other = word["gradient_checkpointing=False"], word["use_reentrant=False"]
verdicts.judge(
    "C8",
    "partly",
    "it works and costs memory; only the reentrant kind conflicts with LoRA",
    "sections 8 and 14",
    holds=off == other == "trains" and kept[0] > 3 * kept[1],
)

# %% [markdown]
# ## 15. Deeper look: which facts decide? (13 minutes)
#
# In section 10 the loss had its grad_fn from the head only. So that run should be, number for number,
# a run that trains a linear head on a frozen body, without checkpoints and adapters. Is it?

# %%
head_only = reward_run(**longer, gradient_checkpointing=False)
for name, weight in head_only.model.named_parameters():
    is_head = weight.requires_grad and "lora_" not in name
    weight.requires_grad_(is_head)
head_only.train()
losses = [training.logged(one, "loss") for one in (with_head, head_only)]
gap = max(abs(a - b) for a, b in zip(*losses, strict=True))
print(f"largest difference of the logged losses: {gap:.4f}")
expect_symptom("it is a run without adapters", holds=gap < 1e-4)

# %% [markdown]
# If only some of the layers are checkpointed, the cut is hidden as well, because the layers above it
# have their graph. How many of the LoRA matrices learn when only layer 0 is checkpointed?

# %%
from collections import Counter

partly = lora_policy(use_reentrant=True, hook=False)
for layer in partly.get_base_model().model.layers[1:]:
    layer.gradient_checkpointing = False
found = audit_gradients(partly, batch)
for flow, number in Counter(str(p.flow) for p in found.parameters).items():
    print(f"{number:3} {flow}")

# %% [markdown]
# (As before, those that wait are `lora_A`, which is healthy before the first step.)
#
# Transformers sets its hook only for models that read `input_ids`. With **every guard of today in
# place**, what does a vision model with LoRA do?

# %%
from course_utils.reproductions.lesson_06.vision import vision_adapters_moved

of_kind = {}
for kind in (True, False):
    where = {"use_cpu": device.type == "cpu", "seed": SEED}
    moved = vision_adapters_moved(use_reentrant=kind, **where)
    number = f"{sum(moved)} of {len(moved)} lora_B matrices moved"
    print(f"use_reentrant={kind}: no error, {number}")
    of_kind[kind] = moved
in_silence = all(of_kind[False]) and not any(of_kind[True])
expect_symptom("today's Trainer trains it in silence", holds=in_silence)

# %% [markdown]
# This is a plain `Trainer` on unchanged libraries (Transformers 5.23); `use_reentrant=True` is enough
# to cause it.
#
# **Exercise 06.3, 4 minutes, a few lines, 3 points.** Write all this as a rule: `outcome(base_frozen,
# reentrant, inputs_marked, head_trained)`. It takes four booleans and returns `"trains"` when the
# adapters of a checkpointed LoRA run get their gradient, and otherwise `"error"` or `"silent"`.


# %%
def outcome(base_frozen, reentrant, inputs_marked, head_trained):
    """What a checkpointed LoRA run does: "trains", "error" or "silent"."""
    ### BEGIN SOLUTION
    is_cut = base_frozen and reentrant and not inputs_marked
    cut_outcome = "silent" if head_trained else "error"
    return cut_outcome if is_cut else "trains"
    ### END SOLUTION


# %%
ex.RULE.check(outcome)

# %% [markdown]
# Now compare your rule with the model: each cell of the table below is a backward pass of the tiny Qwen2
# with LoRA; the head is a trained `lm_head`. Do they agree?

# %%
from itertools import product


def seen(reentrant, marked, head):
    more = {"modules_to_save": ["lm_head"]} if head else {}
    model = lora_policy(use_reentrant=reentrant, hook=marked, **more)
    found = audit_gradients(model, batch)
    not_whole = "silent" if found.loss_has_graph else "error"
    return "trains" if found.is_healthy else not_whole


# %%
rule = ex.RULE.answer
kinds = {"reentrant": True, "not reentrant": False}
hooks = {"no hook": False, "hook": True}
by_run, by_rule = {}, {}
for (kind, r), (mark, m) in product(kinds.items(), hooks.items()):
    by_run[f"{kind}, {mark}"] = [seen(r, m, head) for head in (False, True)]
    by_rule[f"{kind}, {mark}"] = [rule(True, r, m, h) for h in (False, True)]
print("your rule agrees with every run:", by_rule == by_run)

# %%
fig, ax = plt.subplots(figsize=(7, 3), layout="constrained")
plotting.draw_grid(
    ax,
    rows=list(by_run),
    columns=["only adapters train", "a head trains, too"],
    texts=list(by_run.values()),
    meanings={"trains": "alive", "error": "dead", "silent": "suspicious"},
)
ax.set_title("With a trained head the error becomes silent")
count = Counter(fate for row in by_run.values() for fate in row)
said = f"{count['trains']} train, {count['error']} raises an error"
said = f"{said} and {count['silent']} trains its head alone, in silence"
plotting.show(fig, f"Of {count.total()} runs with a frozen base {said}.")

# %% [markdown]
# ## 16. Deeper look: the same words, five other causes (22 minutes)
#
# A loss without a grad_fn can have causes other than a checkpoint. Here are five snippets that people
# wrote. `model` has a `body` and a `head`; the comments say what each snippet should do.

# %%
from torch.nn.functional import cross_entropy


def broken_1(model, x, y):  # train the head on a frozen body
    model.requires_grad_(False)
    return cross_entropy(model(x), y)


def broken_2(policy, reference, x):  # stay close to a reference
    with torch.no_grad():
        logp = policy(x).log_softmax(-1)
        ref_logp = reference(x).log_softmax(-1)
    return (logp.exp() * (logp - ref_logp)).sum(-1).mean()


# %%
def broken_3(model, x, y):  # the mean over examples
    total = 0.0
    for one, label in zip(x, y, strict=True):
        total += cross_entropy(model(one), label).item()
    return torch.tensor(total / len(y))


def broken_4(model, x, y):  # fewer wrong answers
    return (model(x).argmax(-1) != y).float().mean()


def broken_5(base, folder):  # go on with a saved adapter
    return PeftModel.from_pretrained(base, folder)


# %% [markdown]
# Run all five. Can you tell them apart by the message?

# %%
from course_utils.reproductions.lesson_06 import small_models
from course_utils.reproductions.lesson_06.small_models import classifier

x, y = small_models.examples()
folder = small_models.saved_adapter()
made = [
    broken_1(classifier(), x, y),
    broken_2(classifier(), classifier(), x),
    broken_3(classifier(), x, y),
    broken_4(classifier(), x, y),
    broken_5(classifier(), folder.name)(x).sum(),
]
for loss in made:
    with expect_failure(RuntimeError, saying="does not require grad"):
        loss.backward()

# %% [markdown]
# The message is the same five times. You find the cause only by going back from the loss.
#
# **Exercise 06.4, 3 minutes, five letters, 2 points.** Name the cause of each snippet:
#
# * a) an integer on the way: `argmax` has no derivative
# * b) the adapter was loaded for inference
# * c) the loss was rebuilt from plain numbers, or detached
# * d) everything is frozen
# * e) the forward pass ran under `no_grad` or `inference_mode`

# %%
# A dict of five letters, for example {"1": "a", "2": "a", ...}
### BEGIN SOLUTION
causes = dict(zip("12345", "decab", strict=True))
### END SOLUTION

# %%
ex.NAMES.check(causes)

# %% [markdown]
# Now fix them, one at a time. The checks look at values and gradients, for other batch sizes, seeds
# and float64. (`loss.requires_grad_()` ends the error every time. Try it once, and read what the check
# says.)
#
# **Exercise 06.5, 1 minute, one line, 1 point.** Snippet 1: the head gets its gradient, and the body
# gets none, however many layers it has. Apart from the freezing, the model stays as it was.


# %%
def head_loss(model, x, y):
    """The cross entropy, with a gradient for model.head alone."""
    ### BEGIN SOLUTION
    for weight in model.body.parameters():
        weight.requires_grad = False
    return cross_entropy(model(x), y)
    ### END SOLUTION


# %%
ex.HEAD.check(head_loss)

# %% [markdown]
# **Exercise 06.6, 2 minutes, two lines, 1 point.** Snippet 2: the policy gets the gradient of
# KL(policy || reference), the mean over examples. The reference gets none and stays as it is.


# %%
def kl_loss(policy, reference, x):
    """KL(policy || reference) in nats, with a gradient for the policy alone."""
    ### BEGIN SOLUTION
    logp = torch.log_softmax(policy(x), dim=-1)
    with torch.no_grad():
        ref_logp = torch.log_softmax(reference(x), dim=-1)
    return torch.sum(logp.exp() * (logp - ref_logp), dim=-1).mean()
    ### END SOLUTION


# %%
ex.REFERENCE.check(kl_loss)

# %% [markdown]
# **Exercise 06.7, 1 minute, two lines, 1 point.** Snippet 3: the mean cross entropy over the examples,
# as a tensor of shape () in the model's dtype, with a gradient for every weight of the model.


# %%
def mean_loss(model, x, y):
    """The mean cross entropy over the examples."""
    ### BEGIN SOLUTION
    total = torch.zeros(())
    for one, label in zip(x, y, strict=True):
        total = total + cross_entropy(model(one), label)
    return total / len(y)
    ### END SOLUTION


# %%
ex.MEAN.check(mean_loss)

# %% [markdown]
# **Exercise 06.8, 2 minutes, one line, 1 point.** Snippet 4: a loss that has a gradient. Every weight
# of the model gets one, every example counts, and a small step down the loss raises the mean
# probability of the right answers `y`, whichever of the classes they are. An example that is right
# already gains nothing more. You choose the loss.


# %%
def error_loss(model, x, y):
    """A smooth loss that is small when the right answers are likely."""
    ### BEGIN SOLUTION
    right = model(x).softmax(-1)[torch.arange(len(y)), y]
    return -right.log().mean()
    ### END SOLUTION


# %%
ex.SMOOTH.check(error_loss)

# %% [markdown]
# **Exercise 06.9, 1 minute, one argument, 1 point.** Snippet 5: load the saved adapter so that it can
# be trained further, whatever its rank and layers. The base stays frozen and the folder as it is. You
# may choose the adapter's name; train() or eval() is left to the training loop.
# (`help(PeftModel.from_pretrained)` names the argument.)


# %%
def load_adapter(base, folder):
    """The base with its saved LoRA adapter, ready for more training."""
    ### BEGIN SOLUTION
    options = {"is_trainable": True}
    return PeftModel.from_pretrained(base, folder, **options)
    ### END SOLUTION


# %%
ex.ADAPTER.check(load_adapter)

# %% [markdown]
# ## 17. Deeper look: a run you have not seen (20 minutes)
#
# **Exercise 06.12, 12 minutes, a place, a letter and a few lines, 5 points.** Somebody wrote a
# training loop by hand. Nothing raises, and something does not learn. The seed decides which of three
# such runs you get. Its ticket lists the places and the causes.

# %%
patient = ex.UNSEEN.draw(SEED)
print(patient.source())
patient

# %% [markdown]
# `patient.fresh()` makes the run again. It has `.train()`, which shows its log, and `.model`,
# `.optimizer`, `.batch` and `.loss`. Look into it with your instruments, in cells of your own:
# `audit_gradients(run.model, run.batch, loss_of=run.loss)`. What does the audit report, and which part
# of the run does it not look at?

# %%
patient.fresh().train()

# %% [markdown]
# Put three things into `unseen`: the place (the name of a part), the cause (its letter) and the fix, a
# function that replaces that part and takes its arguments. (The first line of the source imports what
# the parts use.) Try it with `patient.fresh(1, **{"the part's name": my_part}).train()`. The check
# trains three seeds and compares everything else with what it was.


# %%
# For example {"place": "prepare", "cause": "a", "fix": my_part}
### BEGIN SOLUTION
def my_part(*given):
    policy, sampled = given
    read = policy(input_ids=sampled, output_hidden_states=True)
    logits, last = read.logits[:, :-1], read.hidden_states[-1][:, -1]
    logp = logits.log_softmax(-1).gather(-1, sampled[:, 1:, None])
    return logp.squeeze(-1), last.detach()  # the critic only reads


# Other seeds draw other runs; for those, take the course's answer.
unseen = {"place": "read_replies", "cause": "c", "fix": my_part} if SEED == 0 else ex.UNSEEN.answer
### END SOLUTION

# %%
ex.UNSEEN.check(unseen)

# %% [markdown]
# ## 18. The verdicts
#
# Here is every claim of the article and the one it left out, with your votes.

# %%
verdicts.table()

# %% [markdown]
# Here is the failure in the libraries of its day and in yours. `course era 06` runs the reported
# script in both.

# %%
from course_utils.reproductions import eras

eras.row("06")

# %% [markdown]
# In three lines:
#
# * A reentrant checkpoint joins the graph through its inputs; frozen embeddings give it none that
#   requires grad.
# * With a trained head the same cut gives no error: the loss falls and the adapters do not learn.
# * The proof of training is a `lora_B` that is not 0.
#
# Further reading: [trl#3150](https://github.com/huggingface/trl/issues/3150), torch on
# [checkpoints](https://docs.pytorch.org/docs/stable/checkpoint.html) (reentrant and not), Hu et al.
# (2021) on [LoRA](https://arxiv.org/abs/2106.09685).

# %%
ex.progress()
