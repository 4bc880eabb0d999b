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
# After 55 minutes you will be able to
#
# * **locate** the place where a gradient is lost,
# * **mend** six different causes of one message,
# * **notice** the same fault when nothing raises.
#
# Everything runs on a CPU in seconds. On a GPU (`DEVICE="auto"` finds it) the same cells run
# there; nothing else changes.

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

from course_utils import plotting, training, zoo
from course_utils.failures import expect_failure, expect_symptom
from course_utils.report import Table

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

# %% [markdown]
# ## 2. The suspects
#
# An article explained the failure. First what it says about the cause, then its remedies. Some of it
# is right. You will test it; nothing is marked yet. The last line is not from the article.

# %%
verdicts = ex.verdicts
verdicts.suspects("C1", "C2", "C3", "C4", "C5", "C6", "C13")

# %%
verdicts.suspects("C7", "C8", "C9", "C10", "C11", "C12", "C14")

# %% [markdown]
# ## 3. Predict
#
# "Element 0" is the first tensor that was given to `backward()`: the loss. Commit before you look.
# Put a letter in place of `TODO`.

# %%
### BEGIN SOLUTION
my_guess = "c"
### END SOLUTION
ex.WHICH_ELEMENT.predict(my_guess)

# %% [markdown]
# ## 4. Break it, in ten lines
#
# LoRA leaves the embeddings frozen and trains something in the layers above. A **checkpoint** throws
# a layer's activations away after the forward pass and computes them again in the backward pass, to
# save memory. Here are one frozen embedding and one trainable block, first without a checkpoint.
# Which of the two lines fails?

# %%
from torch.utils.checkpoint import checkpoint

torch.manual_seed(SEED)
embedding = torch.nn.Embedding(10, 4).requires_grad_(False)
block = torch.nn.Linear(4, 4)
ids = torch.tensor([3, 1, 4])

block(embedding(ids)).sum().backward()
print("without a checkpoint: a gradient of shape", tuple(block.weight.grad.shape))
with expect_failure(RuntimeError, saying="does not require grad and does not have a grad_fn"):
    checkpoint(block, embedding(ids), use_reentrant=True).sum().backward()

# %% [markdown]
# No LoRA, no bf16, no DeepSpeed, no trainer: the words of the report all the same. The block's
# weights are trainable in both lines.
#
# ## 5. Which tensor lost its graph?
#
# A tensor that belongs to a graph has `requires_grad`, and a `grad_fn` if it was computed. A healthy
# chain has both from the block on. Where does the sick chain lose them?

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
    print(f"{name:26} requires_grad {tensor.requires_grad!s:6} grad_fn {made_by}")
verdicts.judge("C3", "true of leaves; a result inherits it where a graph is recorded", "section 5",
               holds=tensors["block(hidden)"].requires_grad)  # fmt: skip

# %% [markdown]
# The block's weights require grad, and the checkpoint's output does not. What decides? The only other
# thing that goes in is `hidden`. Change that one tensor.

# %%
trainable = torch.nn.Embedding(10, 4)
for name, given in {"frozen embedding": hidden, "trainable embedding": trainable(ids)}.items():
    output = checkpoint(block, given, use_reentrant=True)
    print(f"{name:20} input {given.requires_grad!s:6} output {output.requires_grad}")
expect_symptom("the output follows the input", holds=output.requires_grad)

# %% [markdown]
# The output follows its **input**, whatever the weights are. The reason stands in torch's source: how
# does a reentrant checkpoint compute its forward pass?

# %%
import inspect

from torch.utils.checkpoint import CheckpointFunction

lines = inspect.getsource(CheckpointFunction.forward).splitlines()
at = next(number for number, line in enumerate(lines) if "torch.no_grad()" in line)
print("\n".join(line.strip(" ") for line in lines[at : at + 2]))

# %% [markdown]
# Under `no_grad` nothing is recorded. Autograd attaches the output to the graph afterwards, and only
# if one of the **input tensors** requires grad; weights inside the block are no inputs. Torch warns
# of it. Does the warning help?

# %%
import warnings


def warns(run):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        run()
    return any("None of the inputs have requires_grad" in str(w.message) for w in seen)


rollout = torch.no_grad()(lambda: checkpoint(block, trainable(ids), use_reentrant=True))
print("the pass that fails:", warns(lambda: checkpoint(block, hidden, use_reentrant=True)))
print("a healthy rollout under no_grad:", warns(rollout))

# %% [markdown]
# It warns of a healthy rollout or reference pass just as loudly. The warning alone proves nothing.
#
# **Exercise 06.1, 4 minutes, one line, 3 points.** Write `checkpointed_loss(embedding, block, ids)`:
# the sum of the checkpointed block's output, such that the block gets its gradient. The embedding
# stays frozen and the block stays checkpointed.


# %%
def checkpointed_loss(embedding, block, ids):
    """The sum of the block's output, with a checkpoint and with a gradient for the block."""
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
# `gradient_checkpointing_enable`. Transformers 5 marks the embeddings' output as well, by a hook; the
# libraries of the report did not, so the hook can be taken off. What do the two models say?

# %%
tokenizer = zoo.load_tokenizer(MODEL)
sums = zoo.arithmetic.prompts(16, SEED)
texts = [row["prompt"][0]["content"] + row["answer"] for row in sums]
batch = tokenizer(texts, padding=True, return_tensors="pt").to(zoo.pick_device(DEVICE))
batch["labels"] = batch["input_ids"]
lora = dict(r=16, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")


def lora_policy(*, use_reentrant, hook, **changes):
    model = get_peft_model(zoo.load_policy(MODEL, device=DEVICE), LoraConfig(**lora | changes))
    kwargs = {"use_reentrant": use_reentrant}
    model.train().activation_checkpointing_enable(activation_checkpointing_kwargs=kwargs)
    if not hook:
        model.disable_input_require_grads()
    return model


# %%
healthy = lora_policy(use_reentrant=True, hook=True)
sick = lora_policy(use_reentrant=True, hook=False)
healthy(**batch).loss.backward()
print("with the hook: backward() runs")
with expect_failure(RuntimeError, saying="does not require grad"):
    sick(**batch).loss.backward()

# %% [markdown]
# The article's first advice is to check what is trainable. What is, in the sick model?

# %%
trained = {name for name, weight in sick.named_parameters() if weight.requires_grad}
of_lora = {name for name, _ in sick.named_parameters() if "lora_" in name}
print(f"trainable tensors: {len(trained)}, all of them LoRA's: {trained == of_lora}")
print(f"frozen tensors: {len(list(sick.parameters())) - len(trained)}")
verdicts.judge(
    "C1", "wrong here: every LoRA matrix requires grad", "section 6", holds=trained == of_lora
)
verdicts.judge("C4", "true", "section 6", holds=trained == of_lora)

# %% [markdown]
# All is set as it should be, and still the path is cut. `audit_gradients` runs one training step on
# any model and follows every value from the weights to the loss. First the healthy model, then the
# sick one.

# %%
from course_utils.diagnostics import audit_gradients

print(audit_gradients(healthy, batch).headline)
print()
found = audit_gradients(sick, batch)
print(found.headline)
verdicts.judge("C5", "true: every checkpoint cuts it", "section 6",
               holds="layers.0" in found.cuts[0].modules[0])  # fmt: skip

# %% [markdown]
# (Half of the healthy LoRA matrices wait: `lora_A` is multiplied by `lora_B`, and that is 0 before the
# first step.)
#
# Draw it. Each box is a stage with what its weights get; an arrow means that a gradient can come back
# to the stage's output. (A cross above a frozen stage does no harm by itself.) What do the remedies
# change?

# %%
import matplotlib.pyplot as plt

from course_utils.reproductions.stages import follow_stages

plain = lora_policy(use_reentrant=True, hook=False)
plain.activation_checkpointing_disable()
models = {
    "no checkpoints": plain,
    "reentrant": sick,
    "reentrant, hook": healthy,
    "not reentrant": lora_policy(use_reentrant=False, hook=False),
}
stages = {name: follow_stages(model, batch) for name, model in models.items()}


# %%
def draw_stages(stages, title, **figure):
    fig, ax = plt.subplots(layout="constrained", **figure)
    chains = {
        run: [(s.name, s.weights, s.in_graph) for s in found] for run, found in stages.items()
    }
    plotting.draw_chains(ax, chains)
    ax.set_title(title)
    starved = [sum(s.weights == "no gradient" for s in found) for found in stages.values()]
    said = "; ".join(f"{run}: {n}" for run, n in zip(stages, starved, strict=True))
    plotting.show(fig, f"Layers whose LoRA gets no gradient. {said}.")


draw_stages(stages, "A reentrant checkpoint on an input without grad is cut off", figsize=(7, 5))

# %% [markdown]
# Look at the lowest arrow. The hook makes the embeddings' **output** part of the graph, so that the
# checkpoints have an input that requires grad; the embedding's weight stays frozen. A non-reentrant
# checkpoint records its own graph and needs no such mark.

# %% [markdown]
# ## 7. As reported, with GRPO
#
# The reported settings, two steps, short replies. The reporter wrapped the model with
# `get_peft_model`, so you do, too. The reward is the reply's length: replies of one group then seldom
# tie, and a group that ties gives no gradient.

# %%
settings = dict(
    learning_rate=1e-5, bf16=True, per_device_train_batch_size=16, num_generations=8,
    gradient_checkpointing=True, gradient_checkpointing_kwargs={"use_reentrant": True},
    max_completion_length=6, temperature=1.5, max_steps=2, seed=SEED,
    use_cpu=zoo.pick_device(DEVICE).type == "cpu", **training.quiet_config(),
)  # fmt: skip


# %%
def reward_len(completions, **_):
    return [float(len(completion[-1]["content"])) for completion in completions]


def reported_trainer(model):
    return GRPOTrainer(
        model=model, args=GRPOConfig(**settings), reward_funcs=reward_len,
        train_dataset=zoo.arithmetic.prompts(64, SEED, level="hard"), processing_class=tokenizer,
    )  # fmt: skip


# %% [markdown]
# Does it still fail today?

# %%
set_seed(SEED)
base = zoo.load_policy(MODEL, device=DEVICE, dtype="bfloat16")
today = reported_trainer(get_peft_model(base, LoraConfig(**lora, lora_alpha=32, lora_dropout=0.05)))
today.train()
moved = [name for name, w in today.model.named_parameters() if "lora_B" in name and w.any()]
print(f"no error; {len(moved)} lora_B matrices moved")
hooks = today.model.get_input_embeddings()._forward_hooks
print("hooks on the embeddings after two steps:", len(hooks))
today.model.disable_input_require_grads()
print("left after disable_input_require_grads():", len(hooks))

# %% [markdown]
# Today it trains: TRL and Transformers both call `enable_input_require_grads()`. TRL switches
# checkpointing off and on around each rollout, and each time Transformers adds a hook: they pile up,
# and taking off "the" hook leaves the others. To see the reported state, let the call do nothing.

# %%
set_seed(SEED)
base = zoo.load_policy(MODEL, device=DEVICE, dtype="bfloat16")
base.enable_input_require_grads = lambda: None  # as if no library had called it
then = reported_trainer(get_peft_model(base, LoraConfig(**lora, lora_alpha=32, lora_dropout=0.05)))
with expect_failure(RuntimeError, saying="does not require grad") as caught:
    then.train()
print("DeepSpeed in use:", then.is_deepspeed_enabled)

# %% [markdown]
# That is the report. Three things protect you today: TRL's call, Transformers' call, and a default
# that is no longer reentrant. `grpo_outcomes` runs this very trainer with some of them in place.
# Does one alone suffice?

# %%
from course_utils.reproductions.frozen_inputs import GUARDS, grpo_outcomes

run = dict(model=MODEL, device=DEVICE, seed=SEED)
alone = {f"{guard} alone": {"guards": (guard,)} for guard in GUARDS}
guarded = grpo_outcomes({"no guard": {}} | alone | {"all three": {"guards": GUARDS}}, **run)
guarded

# %%
each_suffices = all(guarded.words[name] == "trains" for name in alone)
verdicts.judge(
    "C12", "true: each of today's guards suffices; trl has its own since 0.16",
    "section 7, `course era 06`", holds=guarded.words["no guard"] == "error" and each_suffices,
)  # fmt: skip

# %% [markdown]
# ## 8. Eliminate
#
# The guards stay off. Each suspect that is a setting gets its run. Which of these will train?

# %%
suspects = grpo_outcomes(
    {
        "as reported": {},
        "float32, no bf16 anywhere": {"dtype": "float32", "bf16": False},
        "float32 weights under AMP": {"dtype": "float32"},
        "batch of 4, 2 generations": {"per_device_train_batch_size": 4, "num_generations": 2},
        "without LoRA": {"lora": False, "learning_rate": 1e-3},
        "gradient_checkpointing=False": {"gradient_checkpointing": False},
        "inputs marked before LoRA": {"mark_inputs": "before"},
        "inputs marked after LoRA": {"mark_inputs": "after"},
        "use_reentrant=False": {"gradient_checkpointing_kwargs": {"use_reentrant": False}},
    },
    **run,
)
suspects

# %% [markdown]
# The number format changes nothing, nor do batch and generations. It takes LoRA **and** a reentrant
# checkpoint.
#
# Now one of your own: any field of `GRPOConfig`, or `dtype`, `lora`, `mark_inputs`.

# %%
# A dict, for example {"weight_decay": 0.1}
### BEGIN SOLUTION
my_suspect = {"max_grad_norm": 0.1}
### END SOLUTION
mine = {f"mine: {my_suspect}": my_suspect} if isinstance(my_suspect, dict) else {}
grpo_outcomes({"as reported": {}} | mine, **run)

# %%
word = suspects.words
is_format = word["float32, no bf16 anywhere"] == word["as reported"] == "error"
verdicts.judge("C6", "irrelevant: float32 fails alike", "section 8", holds=is_format)
verdicts.judge("C13", "irrelevant: float32 fails alike", "section 8", holds=is_format)
verdicts.judge(
    "C2", "true, but it leaves out use_reentrant=True, and DeepSpeed and bf16 do not matter",
    "sections 7 and 8",
    holds=not then.is_deepspeed_enabled and is_format and word["use_reentrant=False"] == "trains",
)  # fmt: skip
is_small = word["batch of 4, 2 generations"] == "error"
verdicts.judge("C11", "good: the smallest batch fails alike", "section 8", holds=is_small)

# %%
both = word["inputs marked before LoRA"] == word["inputs marked after LoRA"] == "trains"
weight = healthy.get_input_embeddings().weight
verdicts.judge(
    "C7", "works, before or after; it marks activations, no parameter", "section 8",
    holds=both and not weight.requires_grad,
)  # fmt: skip
verdicts.judge(
    "C14", "the fix to prefer: no hook needed", "section 8",
    holds=word["use_reentrant=False"] == "trains",
)  # fmt: skip

# %% [markdown]
# DeepSpeed matters in one other way. When does TRL itself still choose the reentrant kind?

# %%
lines = [line.strip() for line in inspect.getsource(GRPOTrainer.__init__).splitlines()]
at = next(number for number, line in enumerate(lines) if "requires reentrant" in line)
print("\n".join([lines[at], *lines[at + 3 : at + 9]]))
print("...")
print(next(line for line in lines if line.endswith('["use_reentrant"] = True')))

# %% [markdown]
# LoRA with ZeRO-3 is forced to reentrant checkpoints; there the hook is your only guard.
#
# ## 9. What each option costs
#
# `step_cost` counts, for one training step, the MiB that the graph keeps after the forward pass, the
# peak, and the operations. Which option saves memory for the fewest operations?

# %%
from functools import partial

from course_utils.step_cost import step_cost

device = zoo.pick_device(DEVICE)
long_ids = torch.randint(0, 256, (8, 64), device=device)


def step_loss(name):
    return models[name](input_ids=long_ids, labels=long_ids).loss


measured = ("no checkpoints", "reentrant, hook", "not reentrant")
costs = {name: step_cost(models[name], partial(step_loss, name)) for name in measured}

# %%
whole_work = costs["no checkpoints"].gflop
rows = [
    (name, f"{cost.kept_mib:.1f}", f"{cost.peak_mib:.1f}", f"{cost.gflop / whole_work:.2f}")
    for name, cost in costs.items()
]
Table(("option", "kept, MiB", "peak, MiB", "operations, relative"), rows)

# %% [markdown]
# Both kinds keep the same, a small part. The reentrant kind computes every layer again to its end;
# the other stops as soon as it has what it lost. And in seconds, on this machine:

# %% tags=["nbval-ignore-output"]
from statistics import median
from time import perf_counter


def seconds(name):
    started = perf_counter()
    step_loss(name).backward()
    float(models[name].get_input_embeddings().weight[0, 0])  # a GPU has to be done before we look
    return perf_counter() - started


taken = {name: median(seconds(name) for _ in range(3 if FAST else 9)) for name in measured}
for name in measured:
    print(f"{name:16} {taken[name] / taken['no checkpoints']:.2f} of the time without checkpoints")

# %%
saved = costs["no checkpoints"].kept_mib / costs["not reentrant"].kept_mib
verdicts.judge(
    "C8", "works and costs memory; only the reentrant kind is in conflict with LoRA",
    "sections 8 and 9",
    holds=word["gradient_checkpointing=False"] == word["use_reentrant=False"] == "trains" and saved > 3,
)  # fmt: skip

# %% [markdown]
# ## 10. Explain
#
# 1. LoRA freezes the embeddings, so their output does not require grad.
# 2. A reentrant checkpoint runs its layer under `no_grad`, and joins the graph only through an input
#    that requires grad. There is none: its output is cut off, and that is the next layer's input.
# 3. The loss depends on the adapters as before, but its graph does not know it.
# 4. `backward()` has nowhere to go, and says so.
#
# Link 4 is luck. What if something **above** the cut trains?

# %%
joined = {run: any(stage.in_graph for stage in found) for run, found in stages.items()}
ex.WHICH_ELEMENT.recall("c", holds=joined["no checkpoints"] and not joined["reentrant"])

# %% [markdown]
# ## 11. The silent twin
#
# A reward model has a new `score` head. With `task_type="SEQ_CLS"` PEFT trains it beside the adapters.
# Everything else stays: frozen embeddings, reentrant checkpoints, no hook. Commit before you run.

# %%
### BEGIN SOLUTION
my_guess = "d"
### END SOLUTION
ex.WITH_HEAD.predict(my_guess)

# %% [markdown]
# `reward_run` is lesson 03's RewardTrainer in float32, with larger batches, reentrant checkpoints and
# without the hook. What does its log look like?

# %%
from course_utils.reproductions.frozen_inputs import reward_run

longer = run | {"max_steps": 20 if FAST else 40, "logging_steps": 5}
silent = reward_run(**longer)
silent.train()
training.log_table(silent, ("step", "loss", "grad_norm", "accuracy"))

# %%
### BEGIN SOLUTION
my_guess = "c"
### END SOLUTION
ex.LOG_TELLS.predict(my_guess)

# %% [markdown]
# **Exercise 06.2, 3 minutes, one line, 3 points.** The log will not tell you; `.grad` will. Write
# `without_gradient(model)`: a list with the full name of every trainable parameter that no gradient
# has reached. It is called after a `backward()`. A gradient of zeros was computed, so it counts as
# reached.


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
# Look just before each optimizer step, with a callback. `enable_input_require_grads=True` puts the hook
# back: first that healthy run, then the silent one. How many of the trainable tensors get nothing?

# %%
from transformers import TrainerCallback

find_starved = ex.SILENT.answer


class LookAtGradients(TrainerCallback):
    def on_pre_optimizer_step(self, args, state, control, model, **kwargs):
        trained = sum(weight.requires_grad for weight in model.parameters())
        print(f"  step {state.global_step + 1}: {len(find_starved(model))} of {trained} without")


for hook in (True, False):
    print("with the hook" if hook else "without the hook")
    callbacks = [LookAtGradients()]
    reward_run(enable_input_require_grads=hook, max_steps=2, callbacks=callbacks, **run).train()

# %% [markdown]
# One tensor learns: the head. All of LoRA stands still, at every step. Where is the cut?

# %%
headlined = audit_gradients(silent, next(iter(silent.get_train_dataloader())))
print(headlined.headline)
loss = silent.model(**batch | {"labels": torch.ones(len(texts), 1, device=device)}).loss
print("the loss requires grad:", loss.requires_grad)
lora_trainable = all(w.requires_grad for n, w in silent.model.named_parameters() if "lora_" in n)
print("every LoRA matrix is trainable:", lora_trainable)

# %%
of_head = follow_stages(silent.model, batch | {"labels": torch.ones(len(texts), 1, device=device)})
draw_stages({"silent": of_head}, "The head saves the loss, not the adapters", figsize=(4, 5))
is_silent = not headlined.is_healthy and headlined.loss_has_graph
verdicts.judge("C9", "not enough: all are, and none learns", "section 11",
               holds=lora_trainable and is_silent)  # fmt: skip
verdicts.judge("C10", "good, but the silent run passes it", "section 11",
               holds=loss.requires_grad and is_silent)  # fmt: skip

# %% [markdown]
# The loss has its grad_fn from the head alone. So the run should be, number for number, a run
# that trains a linear head on a frozen body, without checkpoints and adapters. Is it?


# %%
def losses(trainer):
    return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]


head_only = reward_run(**longer, gradient_checkpointing=False)
for name, weight in head_only.model.named_parameters():
    weight.requires_grad_("lora_" not in name and weight.requires_grad)
head_only.train()
gap = max(abs(a - b) for a, b in zip(losses(silent), losses(head_only), strict=True))
print(f"largest difference of the logged losses: {gap:.4f}")
expect_symptom("the silent run is a run without adapters", holds=gap < 1e-4)
ex.WITH_HEAD.recall("d", holds=is_silent and losses(silent)[-1] < losses(silent)[0])

# %% [markdown]
# ### How would you have noticed?
#
# The same run with the hook, next to it. Would you have known from either curve alone?

# %%
whole = reward_run(**longer, enable_input_require_grads=True)
whole.train()
fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
steps = [entry["step"] for entry in silent.state.log_history if "loss" in entry]
plotting.draw_curves(ax, steps, {"adapters cut off": losses(silent), "whole": losses(whole)})
ax.set(
    xlabel="optimizer step", ylabel="loss", title="Both losses fall; one model learns a head only"
)
ends = {"cut off": losses(silent), "whole": losses(whole)}
said = "; ".join(f"{name} from {found[0]:.2f} to {found[-1]:.2f}" for name, found in ends.items())
plotting.show(fig, f"Loss, {said}.")
expect_symptom("the silent loss falls, too", holds=losses(silent)[-1] < losses(silent)[0])

# %% [markdown]
# Side by side you see it; alone, each is an ordinary loss curve. Compare what one log can tell.

# %%
rows = []
for name, trainer in {"cut off": silent, "whole": whole}.items():
    norms = [entry["grad_norm"] for entry in trainer.state.log_history if "grad_norm" in entry]
    b_matrices = [weight for n, weight in trainer.model.named_parameters() if "lora_B" in n]
    moved = sum(bool(weight.any()) for weight in b_matrices)
    falls = "falls" if losses(trainer)[-1] < losses(trainer)[0] else "does not fall"
    is_zero = "0 at times" if min(norms) == 0 else "never 0"
    rows.append((name, falls, is_zero, f"{moved} of {len(b_matrices)}"))
Table(("run", "loss", "grad_norm", "lora_B that are not 0"), rows)

# %%
[(_, *cut_log, cut_moved), (_, *whole_log, whole_moved)] = rows
ex.LOG_TELLS.recall("c", holds=cut_log == whole_log and cut_moved != whole_moved)

# %% [markdown]
# Only the last column decides, and it also works on a file: an adapter on disk whose `lora_B` are all
# zeros has never been trained.
#
# ### Still there today
#
# A trained `lm_head` hides the cut as well. So does checkpointing only some of the layers: what lies
# above them has its graph.

# %%
with_lm_head = lora_policy(use_reentrant=True, hook=False, modules_to_save=["lm_head"])
print("lm_head:", audit_gradients(with_lm_head, batch).headline)
partly = lora_policy(use_reentrant=True, hook=False)
for layer in partly.get_base_model().model.layers[1:]:
    layer.gradient_checkpointing = False
print("layer 0 alone is checkpointed:", audit_gradients(partly, batch).headline)

# %% [markdown]
# And Transformers sets its hook only for models that read `input_ids`: with **every guard of today in
# place**, what does a vision model with LoRA do?

# %%
from transformers import Trainer, TrainingArguments, ViTConfig, ViTForImageClassification

# %%
shape = dict(hidden_size=32, intermediate_size=64, num_hidden_layers=3, num_attention_heads=2)
vit_lora = LoraConfig(target_modules=["q_proj", "v_proj"], modules_to_save=["classifier"])
images = [{"pixel_values": torch.randn(3, 16, 16), "labels": i % 3} for i in range(16)]
keys = ("gradient_checkpointing", "max_steps", "use_cpu")
arguments = {key: settings[key] for key in keys} | training.quiet_config()


def adapters_moved(**kwargs):
    set_seed(SEED)
    vit = ViTForImageClassification(ViTConfig(**shape, image_size=16, patch_size=8, num_labels=3))
    vit = get_peft_model(vit, vit_lora)
    config = TrainingArguments(**arguments, gradient_checkpointing_kwargs=kwargs)
    Trainer(model=vit, args=config, train_dataset=images).train()
    return [bool(w.any()) for name, w in vit.named_parameters() if "lora_B" in name]


# %%
of_kind = {kind: adapters_moved(use_reentrant=kind) for kind in (True, False)}
for kind, moved in of_kind.items():
    print(f"use_reentrant={kind}: no error, {sum(moved)} of {len(moved)} lora_B matrices moved")
in_silence = all(of_kind[False]) and not any(of_kind[True])
expect_symptom("today's Trainer trains this model in silence", holds=in_silence)

# %% [markdown]
# This is a plain `Trainer` on unchanged libraries (Transformers 5.23): `use_reentrant=True` is enough.
#
# **Exercise 06.3, 4 minutes, a few lines, 3 points.** Say it as a rule: `outcome(base_frozen,
# reentrant, inputs_marked, head_trained)`, four booleans, returns `"trains"` when the adapters get
# their gradient, else `"error"` or `"silent"`.


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
# The rule against the model: each field is a backward pass of the tiny Qwen2 with LoRA. Do they agree?


# %%
def seen(reentrant, marked, head):
    modules = {"modules_to_save": ["lm_head"]} if head else {}
    model = lora_policy(use_reentrant=reentrant, hook=marked, **modules)
    found = audit_gradients(model, batch)
    return "trains" if found.is_healthy else "silent" if found.loss_has_graph else "error"


rule = ex.RULE.answer
options = {f"{'' if r else 'not '}reentrant, {'hook' if m else 'no hook'}": (r, m)
           for r in (True, False) for m in (False, True)}  # fmt: skip
texts_of = [[seen(*option, head) for head in (False, True)] for option in options.values()]
agree = [[rule(True, *option, head) for head in (False, True)] for option in options.values()]
print("your rule agrees with every run:", agree == texts_of)

# %%
fig, ax = plt.subplots(figsize=(6, 2.6), layout="constrained")
columns = ["only adapters train", "a head trains, too"]
plotting.draw_grid(ax, rows=list(options), columns=columns, texts=texts_of, good="trains")
ax.set_title("One fact more, and the error falls silent")
words = [text for row in texts_of for text in row]
counts = ", ".join(f"{words.count(w)} {w}" for w in sorted(set(words)))
plotting.show(fig, f"Of {len(words)} runs with a frozen base: {counts}.")

# %% [markdown]
# ## 12. The same words, five other causes
#
# Not every loss without a grad_fn is a checkpoint's work. Here are five snippets that people wrote.
# `model` has a `body` and a `head`; read what each is meant to do.

# %%
from torch.nn.functional import cross_entropy


def broken_1(model, x, y):  # train the head on a frozen body
    model.requires_grad_(False)
    return cross_entropy(model(x), y)


def broken_2(policy, reference, x):  # stay close to a reference
    with torch.no_grad():
        logp, ref_logp = policy(x).log_softmax(-1), reference(x).log_softmax(-1)
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
import tempfile

from course_utils.reproductions.small_models import classifier, examples

x, y = examples()
with tempfile.TemporaryDirectory() as folder:
    small_lora = LoraConfig(r=2, target_modules=["body.0"])
    get_peft_model(classifier(), small_lora).save_pretrained(folder)
    loaded = broken_5(classifier(), folder)
made = {1: broken_1(classifier(), x, y), 2: broken_2(classifier(), classifier(), x),
        3: broken_3(classifier(), x, y), 4: broken_4(classifier(), x, y), 5: loaded(x).sum()}  # fmt: skip
for loss in made.values():
    with expect_failure(RuntimeError, saying="does not require grad"):
        loss.backward()

# %% [markdown]
# Five times the same words. The cause has to be found by going back from the loss.
#
# **Exercise 06.4, 3 minutes, five letters, 2 points.** Name the cause of each snippet:
#
# * a) an integer on the way: `argmax` has no derivative
# * b) the adapter was loaded for inference
# * c) the loss was rebuilt from plain numbers, or detached
# * d) everything is frozen
# * e) the forward pass ran under `no_grad` or `inference_mode`

# %%
# A dict of five letters, for example {"1": "a", "2": "a", "3": "a", "4": "a", "5": "a"}
### BEGIN SOLUTION
causes = dict(zip("12345", "decab", strict=True))
### END SOLUTION

# %%
ex.NAMES.check(causes)

# %% [markdown]
# Now mend them, one at a time. The checks look at gradients, not at the error alone. (`loss.requires_grad_()` ends the error every time. Try it once, and read what the check says.)
#
# **Exercise 06.5, 1 minute, one line, 1 point.** Snippet 1: the head gets its gradient, the body gets
# none.


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
# KL(policy || reference), the mean over examples; the reference gets none.


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
# **Exercise 06.7, 1 minute, two lines, 1 point.** Snippet 3: the mean cross entropy over the
# examples, as a tensor that remembers the model.


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
# **Exercise 06.8, 2 minutes, one line, 1 point.** Snippet 4: a loss with a slope. A small step down
# must make the right answers `y` likelier. Which one, you choose.


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
# **Exercise 06.9, 1 minute, one argument, 1 point.** Snippet 5: the saved adapter, ready to be
# trained further; the base stays frozen. (`help(PeftModel.from_pretrained)` knows the argument.)


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
# ## 13. Fix it
#
# **Exercise 06.10, 3 minutes, one setting, 4 points.** Back to the silent reward run. Put into `fix`
# the one change it needs, as a dict: any field of `RewardConfig`, or `task_type`, `dtype`,
# `enable_input_require_grads`. The check *trains* with them: no error, a trained head, every adapter
# moving, and the memory still saved.


# %%
### BEGIN SOLUTION
fix = dict(gradient_checkpointing_kwargs=dict(use_reentrant=False))
### END SOLUTION

# %%
ex.FIX.check(fix)

# %% [markdown]
# ## 14. Prove it
#
# The silent run again, with your fix and nothing else. The pairs that count now are held out: the
# right sum against a guess, never trained on. Which loss does each model have on them?

# %%
mended = reward_run(**longer | ex.FIX.answer)
mended.train()
held_out = zoo.arithmetic.preferences(200, SEED, split="test", rejected="guess")


def scores(model, replies):
    chats = [p["prompt"] + p[replies] for p in held_out]
    chat_texts = tokenizer.apply_chat_template(chats, tokenize=False)
    encoded = tokenizer(chat_texts, padding=True, return_tensors="pt").to(model.device)
    with torch.no_grad():
        return model.eval()(**encoded).logits.squeeze(-1)


# %%
unseen = {}
for name, trainer in {"silent": silent, "with your fix": mended}.items():
    margins = scores(trainer.model, "chosen") - scores(trainer.model, "rejected")
    unseen[name] = -torch.nn.functional.logsigmoid(margins).mean().item()
fig, ax = plt.subplots(figsize=(6, 2.2), layout="constrained")
ax.barh(list(unseen), list(unseen.values()), color=[s["color"] for s in plotting.STYLES[:2]])
ax.axvline(0.693, color=plotting.GREY, linewidth=1)
ax.set(
    xlabel="loss on held-out pairs, nats", title="Only with its adapters does the model learn much"
)
said = ", ".join(f"{name}: {loss:.2f}" for name, loss in unseen.items())
plotting.show(fig, f"Loss on held-out pairs. {said}; the grey line, ln 2, is chance.")
expect_symptom("the fix pays", holds=unseen["with your fix"] < 0.75 * unseen["silent"])

# %% [markdown]
# What the fix costs you saw in section 9: `use_reentrant=False` costs less than the reentrant kind that
# it replaces.
#
# A guard for next time: your function of exercise 06.2 in a callback that stops at step 1. Does it stay
# quiet on the healthy run?


# %%
class StopWhenStarved(TrainerCallback):
    def on_pre_optimizer_step(self, args, state, control, model, **kwargs):
        if find_starved(model):
            control.should_training_stop = True


for name, change in {"silent": {}, "with your fix": ex.FIX.answer}.items():
    watched = reward_run(**run | change, max_steps=3, callbacks=[StopWhenStarved()])
    watched.train()
    print(f"{name}: {watched.state.global_step} of {watched.args.max_steps} steps")

# %% [markdown]
# ## 15. The verdicts
#
# Every claim of the article, the one it left out, and where you saw it decided.

# %%
verdicts.table()

# %% [markdown]
# And the failure itself, in the libraries of its day and in yours. `course era 06` runs the reported
# script in both.

# %%
from course_utils import eras

eras.row("06")

# %% [markdown]
# ## 16. Next time
#
# * **Signature**: the message names only the loss. Go back from it to the first tensor that should
#   require grad and does not.
# * **Look first** at `use_reentrant`, then at what comes before the first checkpoint.
# * **Look-alikes**: section 12. And the twin without a message: look at `lora_B` after one step, or run
#   `audit_gradients`. It was met in
#   [open-unlearning#178](https://github.com/locuslab/open-unlearning/issues/178) and
#   [LoRA#120](https://github.com/microsoft/LoRA/issues/120).

# %% [markdown]
# **Exercise 06.11, 1 minute, two letters, 2 points.** 1) A LoRA reward model must really train. You
# look at a) a falling loss, b) a grad_norm above 0, c) `lora_B` after one step. 2)
# `loss.requires_grad_()` a) ends the error and trains nothing, b) mends a cut at a checkpoint, c) raises
# as well.

# %%
# Two letters, for example {"1": "a", "2": "a"}
### BEGIN SOLUTION
quiz = {"1": "c", "2": "a"}
### END SOLUTION

# %%
ex.QUIZ.check(quiz)

# %% [markdown]
# In three lines:
#
# * A reentrant checkpoint joins the graph through its inputs; frozen embeddings give it none.
# * An error is the lucky case: a trained head turns it into silence.
# * Proof of training is a `lora_B` that is not 0.
#
# Further reading: [trl#3150](https://github.com/huggingface/trl/issues/3150), torch on
# [checkpoints](https://docs.pytorch.org/docs/stable/checkpoint.html) (reentrant and not), Hu et al.
# (2021) on [LoRA](https://arxiv.org/abs/2106.09685).

# %%
ex.progress()
