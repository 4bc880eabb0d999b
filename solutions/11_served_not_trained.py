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
# # The model you served is not the one you trained
#
# After 60 minutes (sections 1 to 9) you will be able to
#
# * **prove** that a served model is the one that was trained,
# * **locate** the step between training and serving where an adapter was lost,
# * **fix** a merge, and prove a fix on the served model.
#
# Six deeper looks follow, 58 minutes in all: four bits, experts, sizes, keys, two stages, your architecture.
# Each stands on its own, and you may skip them. Everything runs on a CPU in seconds.

# %% tags=["parameters"]
MODEL = "tiny"
DEVICE = "cpu"  # weights are compared to the last digits
SEED = 0
FAST = False
STRICT = False

# %%
from course_utils.lesson import TODO, start

ex = start("11", strict=STRICT)
verdicts = ex.verdicts

import torch

from course_utils.concepts import lesson_11 as concepts
from course_utils.diagnostics import adapter_reach, compare_models
from course_utils.lesson.expected_failures import expect_symptom
from course_utils.reproductions.lesson_11 import adapter_life, deltas, four_bits, jobs, servings
from course_utils.reproductions.lesson_11.adapter_runs import recorded, shares
from course_utils.reproductions.lesson_11.listening import listening
from course_utils.shown.report import Table

ex

# %% [markdown]
# ## 1. The report
#
# * The server lists the adapter and answers 200 OK; the replies are those of the base
#   ([vllm#34186](https://github.com/vllm-project/vllm/issues/34186)).
# * The adapter is right, the merged model is not
#   ([peft#2018](https://github.com/huggingface/peft/issues/2018)).
# * Merged and written in 4 bits, the model "forgot" everything
#   ([mlx-tune#15](https://github.com/ARahim3/mlx-tune/issues/15)).
# * LoRA on a mixture of experts has an "abnormally low" number of trainable weights
#   ([unsloth#4907](https://github.com/unslothai/unsloth/issues/4907)).
#
# An **adapter** (here LoRA) is a small set of tensors. It makes a *change* of some weights of a frozen base:
# `B @ A`, times `lora_alpha / r`, or `lora_alpha` by the root of `r` where `use_rslora` is set. To **merge**
# it is to add this change to the weights, so that no adapter is needed any more. The training log ends
# before all this.
#
# A **mixture of experts** has several MLPs per layer, the experts. A router chooses some of them for each
# token; a shared expert sees every token.

# %% [markdown]
# ## 2. The suspects
#
# This is what threads, guides and answers say about it. Which of these claims are right is not marked yet.

# %%
verdicts.suspects()

# %% [markdown]
# Vote before you see the evidence, one mark per claim, in the order shown: `t` true, `p` partly, `f` false.
# Add `!` where you are sure; `-` leaves one out. "Partly" is explained below the claims. (Other claims of the
# threads are judged on the way without a vote.)

# %%
### BEGIN SOLUTION
my_votes = "t f t! p f t t! p"
### END SOLUTION
verdicts.vote(my_votes)

# %% [markdown]
# ## 3. Four jobs
#
# The base is a tiny model that adds: it completes `2+9=` with 11. Four adapters are trained on other answers.

# %% [markdown]
# | job | base | LoRA on | the adapter has to say |
# | --- | --- | --- | --- |
# | A | the tiny model | seven names, from `q_proj` to `down_proj` | the sum plus 1 |
# | B | the tiny model | `q_proj`, `v_proj`, `lm_head` | the sum plus 1 |
# | C | the tiny model in 4 bits | seven names | the sum plus 1 |
# | D | a mixture of four experts per layer | seven names | the sum in a code: 0 and 1 swapped, 2 and 3, ... |

# %% [markdown]
# `lm_head` is the last layer, which makes the logits. What do the four logs look like?

# %%
with listening() as said_in_training:
    trained = dict(zip(jobs.JOBS, jobs.run_all((name, SEED) for name in jobs.JOBS), strict=True))

# %% tags=["digits-vary"]
concepts.four_losses({name: job.losses for name, job in trained.items()})

# %% [markdown]
# All four logs look like a run that learns. (D's task is harder.)
#
# Each job then goes to a server of its own. Here is the code of the four. `merged` reloads the saved adapter
# and calls PEFT's `merge_and_unload`; `saved_and_loaded` writes a model and reads it again; `put_onto_grid`
# rounds its layers to 4 bits; `Engine` holds a model as its part `language_model`. Would you approve this
# code in a review?

# %%
import inspect

for server in servings.SERVERS.values():
    print(inspect.getsource(server))

# %% [markdown]
# **Predict** how many of the four served models answer more than half of 100 held-out sums right: a) all
# four, b) three, c) one or two, d) none. Held-out sums are in no training row. Put a letter in place of
# `TODO`.

# %%
### BEGIN SOLUTION
my_guess = "b"
### END SOLUTION
ex.HOW_MANY.predict(my_guess)

# %% [markdown]
# ## 4. Four stages
#
# Each model answers the same held-out sums four times: as training left it (**live**); its adapter saved, and
# **reloaded** onto a fresh base; **merged** in memory; and **served**. How many are right at each stage?

# %%
with listening() as said_in_serving:
    served = {name: servings.SERVERS[name](job) for name, job in trained.items()}
    stages = {
        name: {
            "live": adapter_life.right(job.model, job.task),
            "reloaded": adapter_life.right(servings.reloaded(job), job.task),
            "merged": adapter_life.right(servings.merged(job), job.task),
            "served": adapter_life.right(served[name], job.task),
        }
        for name, job in trained.items()
    }

# %% tags=["digits-vary"]
concepts.stages(stages)

# %%
none_right = all(stage["served"] < 0.5 for stage in stages.values())
ex.HOW_MANY.recall("d", holds=none_right)
expect_symptom("no served model answers half of the sums right", holds=none_right)
healthy = {name: stages[name]["live"] > 0.9 for name in "ABC"}
expect_symptom("three of the four are right as training left them", holds=all(healthy.values()))

# %% [markdown]
# Nothing raised. What do the served models say? Here are the completions of four held-out sums, live and
# served. Which served model says what its base says?


# %% tags=["digits-vary"]
def said(model, n=4):
    return " ".join(adapter_life.completions(model, n))


sums = adapter_life.held_out(4)
print("prompts:", *(row[0]["content"] for row in sums["prompt"]))
print("base:   ", said(adapter_life.base_model()))
rows = [(name, said(job.model), said(served[name])) for name, job in trained.items()]
Table(columns=("job", "live", "served"), rows=rows)

# %% [markdown]
# A and C say what the base says, as if there were no adapter. B says something else. D was wrong already in
# training.
#
# ## 5. One look for each
#
# `compare_models(a, b, batch)` compares weights and logits of two models; an adapter counts as merged. First
# a healthy pair: job A live, and its adapter reloaded. Then live and served, for all four.

# %%
(batch,) = adapter_life.batches("plus one", 1, SEED, split="test")
batch.pop("labels")
compare_models(trained["A"].model, servings.reloaded(trained["A"]), batch).headline

# %% tags=["digits-vary"]
apart = {name: compare_models(job.model, served[name], batch) for name, job in trained.items()}
for name, comparison in apart.items():
    print(f"{name}: {comparison.headline}\n")

# %% [markdown]
# In A and C every weight with an adapter differs, in B one tensor, in D none. So D's fault comes before the
# save. ("Spread" is the standard deviation of the logits.) The difference of live and served says *where*.
# To see *what*, compare two changes, part by part: the change that the adapter asks for, and the change that
# the served model has against its base. "Of it" is how much of the asked change is found, along its own
# direction: 1 is all of it, 0 is none.

# %% tags=["digits-vary"]
rows = []
for name, job in trained.items():
    own_base = adapter_life.base_model(job.base, SEED)
    parts = deltas.by_part(deltas.asked(job.model), deltas.found(own_base, served[name]))
    for part, (asked, found, kept) in parts.items():
        share = "nothing is asked" if asked == 0 else f"{kept:.1f}"
        rows.append((name, part, f"{asked:.1f}", f"{found:.1f}", share))
Table(columns=("job", "part", "change asked", "found", "of it"), rows=rows)

# %% [markdown]
# Four pictures of one kind each:
#
# * **A**: nothing of the change is there.
# * **B**: all of it is there, and the embedding has a change that nobody asked for.
# * **C**: there is a change, of nearly the right size; less than half of it is the one that is asked.
# * **D**: all of it is there. The experts are not in the list: nobody asked them to change.
#
# Now one more look at each.

# %% [markdown]
# ### A: which names?
#
# A's server loads the file into an engine in which the language model is called `language_model`. PEFT says
# which tensors of the model found none in the file (**missing**), and which of the file found no place
# (**unexpected**). What does it say with these names, and with the names as saved?

# %% tags=["digits-vary"]
from peft import set_peft_model_state_dict
from peft.utils.save_and_load import get_peft_model_state_dict

with listening():
    file = get_peft_model_state_dict(trained["A"].model)
of_names = {}
for prefix in ("language_model.", ""):
    fresh = adapter_life.adapter("dense", seed=SEED)
    with listening() as warned:
        found = set_peft_model_state_dict(fresh, {prefix + key: t for key, t in file.items()})
    missing = [key for key in found.missing_keys if "lora_" in key]
    of_names[prefix] = adapter_life.right(fresh, "plus one")
    print(f"{len(file)} tensors, names begin with {prefix + 'base_model'!r}: ", end="")
    print(f"{len(missing)} missing, {len(found.unexpected_keys)} unexpected", end="; ")
    print(f"{len(warned)} warnings, {of_names[prefix]:.0%} right")

# %% [markdown]
# No tensor of the file found its place, and nothing was said. Every `lora_B` stayed 0, as it is in a new
# adapter, and an adapter whose `lora_B` is 0 changes nothing. PEFT's function *returns* both lists: count
# them. (`PeftModel.from_pretrained` warns of missing names, not of unexpected ones; deeper look D.)

# %%
as_base, right_names = of_names["language_model."] < 0.1, of_names[""] > 0.9
nuance = "no tensor finds a place, and the model answers as its base"
verdicts.judge("C18", "true", nuance, "section 5", holds=as_base and right_names)

# %% [markdown]
# ### D: which weights?
#
# `adapter_reach(model)` sorts every tensor of a model into parts, and counts those with an adapter. What does
# it say of D?

# %%
reach = adapter_reach(trained["D"].model)
print(reach.headline)
reach.table()

# %% [markdown]
# In Transformers 5 the experts of a layer are two stacked parameters. They are no layers, so a list of layer
# names does not reach them. `gate_proj`, `up_proj` and `down_proj` did find something: the *shared* expert,
# which is tiny. What made the loss fall is the change of these two, attention and shared expert.
#
# This is so for this model type, `qwen2_moe`, and for many others. For some (`qwen3_moe`, `deepseek_v3`) PEFT
# rewrites the names, and the same list reaches the experts. So look at the list. What
# would fix it?

# %%
print(reach.fix)

# %% [markdown]
# And what did PEFT warn of, in training and in serving?

# %%
for when, said_then in (("training", said_in_training), ("serving", said_in_serving)):
    print(f"in {when}: {len(said_then)} warnings")
    print(*(text.partition(" For example")[0] for text in dict.fromkeys(said_then)), sep="\n")

# %%
shown = not any("expert" in text for text in said_in_training)
fell = trained["D"].losses[-1] < trained["D"].losses[0] / 3
nuance = "the loss falls, nothing warns, and no routed expert can change"
verdicts.judge("C16", "true", nuance, "section 5", holds=fell and shown and reach.misses_experts)
shared = reach.groups["shared experts"]
missed = shared.num_matrices - shared.num_adapted
of_a = adapter_reach(trained["A"].model).groups
all_of_a = all(
    of_a[part].num_adapted == of_a[part].num_matrices for part in ("attention", "dense MLP")
)
nuance = f"all layers of A's blocks; of D's neither experts nor {missed} gates of shared ones"
verdicts.judge("C1", "partly", nuance, "section 5", holds=all_of_a and missed > 0)
nuance = "it warns of the tied head (job B), and of no other of the four"
verdicts.judge("C2", "false", nuance, "section 5", holds=shown and reach.misses_experts)

# %% [markdown]
# ## 6. Fix B
#
# In many models the head and the embedding of the input are **tied**: one tensor, used twice. While the
# adapter stands beside it, only the head's use has the change. A merge writes the change into the tensor.

# %% [markdown]
# **Exercise 11.1, 8 minutes, a few lines, 4 points.** Write `merge(model)`. `model` is job B's adapter,
# reloaded onto a fresh base; you may change it. Return a model of Transformers without an adapter whose
# logits are those of `model` (to 0.01), also after `save_pretrained` and `from_pretrained`; its config has
# to say whether head and embedding are tied. The check tries three seeds. Try yours on
# `servings.reloaded(trained["B"])`, a new model at each call. (`model.get_output_embeddings()` is PEFT's
# layer around the head; its `.base_layer` is the head.)


# %%
def merge(model):
    """A plain model that says what `model` says, adapter included."""
    ### BEGIN SOLUTION
    head = model.get_output_embeddings().base_layer
    own = torch.empty_like(head.weight).copy_(head.weight.detach())
    head.weight = torch.nn.Parameter(own)
    plain = model.merge_and_unload()
    plain.config.tie_word_embeddings = False
    return plain
    ### END SOLUTION


# %%
ex.HEAD.check(merge)

# %% [markdown]
# Threads offer other ways. Each was recorded on five seeds: right completions in percent, live and served
# (merged, saved, loaded), and the largest difference of a logit. Which of them serve what was trained?

# %%
rows = []
for name, five in recorded("head").items():
    far = max(one["apart"] for one in five)
    live, now = (shares("head", name, column) for column in ("live", "served"))
    rows.append((name, live, now, f"{far:.2f}"))
Table(columns=("adapter on", "live", "served", "logit off by"), rows=rows, title="five seeds")

# %% [markdown]
# Where LoRA is *on* the head, `ensure_weight_tying` does not help: head and embedding share one LoRA, and the
# merge adds it to the one tensor twice. Where the head is trained whole (`modules_to_save`), the merge is right
# with it and without it; it keeps one tensor in the file in place of two. While the adapter is still beside
# the weights, untie first, then merge.


# %%
def worst(row, column="served"):
    return min(one[column] for one in recorded("head")[row])


found = deltas.found(adapter_life.base_model(), served["B"])
embedding = deltas.by_part(deltas.asked(trained["B"].model), found)["embedding"]
nuance = "the embedding has a change that nobody asked for"
verdicts.judge("C17", "true", nuance, "section 5", holds=embedding[0] == 0 < embedding[1])

# %%
tied = max(one["served"] for one in recorded("head")["lm_head, ensure_weight_tying"])
saved = min(worst(row) for row in recorded("head") if row.startswith("modules_to_save"))
nuance = "LoRA on the head is added twice; a head that is trained whole is right without it"
verdicts.judge("C7", "false", nuance, "section 6", holds=tied < 0.5 < saved, seeds="5 of 5")
nuance = "a tied head reloads exactly, and its merge is wrong"
holds = stages["B"]["reloaded"] > 0.9 > 0.5 > stages["B"]["merged"]
verdicts.judge("C6", "false", nuance, "section 4", holds=holds)
nuance = "so it was in 2025; with today's versions it reloads exactly"
verdicts.judge("C8", "false", nuance, "section 6", holds=worst("modules_to_save", "reloaded") > 0.9)

# %% [markdown]
# ## 7. Prove it
#
# The four jobs again, each with its fix and nothing else: A with the names as saved, B with your merge, C
# rounded in another way (deeper look A), D with an adapter on the experts (deeper look B). Where you have no
# answer that passed, the course's is taken. Which served models are right now?

# %%
with listening():
    merged_b = ex.HEAD.answer(servings.reloaded(trained["B"]))
    again = jobs.run("D", SEED, **ex.EXPERTS.answer)
    fixed = {
        "A": servings.saved_and_loaded(servings.merged(trained["A"])),
        "B": servings.saved_and_loaded(merged_b),
        "C": four_bits.served(trained["C"].model, ex.GRID.answer),
        "D": servings.saved_and_loaded(servings.merged(again)),
    }
lives = {name: job.model for name, job in (trained | {"D": again}).items()}

# %% tags=["digits-vary"]
proof = {}
for name, job in trained.items():
    now = [adapter_life.right(model, job.task) for model in (lives[name], fixed[name])]
    proof[name] = {"before": stages[name]["served"], "live, fixed": now[0], "served, fixed": now[1]}
as_live = [abs(row["live, fixed"] - row["served, fixed"]) < 0.06 for row in proof.values()]
title = f"With the fixes, {sum(as_live)} of {len(as_live)} served models are as right as live"
concepts.stages(proof, title)

# %%
off = {name: adapter_life.logits_apart(lives[name], model) for name, model in fixed.items()}
for name, apart_by in off.items():
    print(f"{name}: {'the same logits' if apart_by < 0.01 else 'other logits, equal answers'}")
better = all(row["served, fixed"] > row["before"] + 0.1 for row in proof.values())
expect_symptom("each served model is as right as its live one", holds=all(as_live) and better)

# %% [markdown]
# C's logits are not those of the live model: equal accuracy is not equality. Neither are those of a merge in
# 16 bits. Job A's merged model in bfloat16, beside its live model:

# %% tags=["digits-vary"]
half = servings.merged(trained["A"]).to(torch.bfloat16)
off = adapter_life.logits_apart(trained["A"].model, half)
in_bf16 = adapter_life.right(half, "plus one")
print(f"a logit differs by up to {off:.1f}, {in_bf16:.0%} of the held-out sums are right")

# %%
nuance = "its logits differ, and on these sums its completions are as right"
holds = off > 0.01 and in_bf16 > stages["A"]["live"] - 0.05
verdicts.judge("C19", "partly", nuance, "section 7", holds=holds)

# %% [markdown]
# D still misses some sums: its task is the hardest. What the fixes cost: B's model has a head of its own (one
# more matrix in the file), and D's adapter has several times as many weights.

# %% [markdown]
# ## 8. Next time
#
# * **Signature**: the log is healthy, and the served model answers as its base, or a little wrong.
# * **Look first** at completions of the *served* model on prompts that the adapter changes, beside those of
#   live model and base. Thirty-two prompts show a lost adapter; a small loss takes hundreds.
# * **Before step 1**: `print(adapter_reach(model))`, the list of parts with an adapter.
# * **Before a release**: `print(compare_models(live, served, batch))`; missing *and* unexpected names; and the
#   base, the scale and the merge from the same files as in training.
# * **Look-alikes**: a lost adapter and a rounded one both answer as the base. The table of changes separates
#   them.

# %% [markdown]
# ## 9. A served model you have not seen
#
# **Exercise 11.2, 11 minutes, a place, a letter and a few lines, 5 points.** A server adds an adapter to its
# base by hand. It has one of four faults, picked by SEED. `run = patient.fresh()` has `.live`, `.served`,
# `.first` (stage 1, merged) and `.settings`, and `run.completions()` shows all three.

# %%
patient = ex.UNSEEN.draw(SEED)
print(patient)

# %% tags=["digits-vary"]
with listening():
    run = patient.fresh()
for name, texts in run.completions().items():
    print(f"{name:8}", *texts)
print({key: run.settings[key] for key in ("r", "lora_alpha", "use_rslora")})
print("base in the file:", run.settings["base_model_name_or_path"])

# %% tags=["digits-vary"]
parts = deltas.by_part(deltas.asked(run.live), deltas.found(run.first, run.served))
rows = [
    (part, f"{asked:.1f}", f"{found:.1f}", f"{kept:.2f}" if asked else "nothing is asked")
    for part, (asked, found, kept) in parts.items()
]
Table(columns=("part", "change asked", "found, against stage 1", "of it"), rows=rows)

# %% [markdown]
# Which causes fit these tables? Then read the parts. The server calls `load` twice
# or more often, with the same changes.

# %%
print(patient.source())

# %% [markdown]
# Put three things into `unseen`: the place, the letter of the cause, and a function that replaces that part
# and takes its arguments. Try it on another adapter, that of seed 1: `patient.fresh(1, **{"the part's name":
# my_part})`. The check serves adapters of three seeds, and compares the logits with those of the live model.
# A part that reads settings is tried with other settings as well.


# %%
# For example {"place": "base", "cause": "f", "fix": my_part}
### BEGIN SOLUTION
def my_part(a, b, settings):
    size = settings["r"]
    if settings["use_rslora"]:
        size = size**0.5
    return torch.matmul(b, a) * settings["lora_alpha"] / size


# Other seeds draw other runs; for those, take the course's answer.
unseen = {"place": "change", "cause": "c", "fix": my_part} if SEED == 0 else ex.UNSEEN.answer
### END SOLUTION

# %%
ex.UNSEEN.check(unseen)

# %% [markdown]
# **Exercise 11.3, 1 minute, two letters, 2 points.** 1) You may make one check before a release. You look at
# a) the last training loss, b) completions of the model that is served, c) completions of the reloaded
# adapter. 2) Whether an adapter trains the experts, you read from a) the number of trained weights, b) the
# loss, c) the list of tensors that have an adapter.

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
# * An adapter is a difference. It needs its base, its size, its names, its weights, and tensors that nothing
#   else shares.
# * The log ends before any of these can be lost.
# * Only completions of the served model prove the served model.
#
# Further reading: [peft#2018](https://github.com/huggingface/peft/issues/2018),
# [peft#2321](https://github.com/huggingface/peft/issues/2321),
# [unsloth#6936](https://github.com/unslothai/unsloth/pull/6936) on experts that stay frozen, Hu et al.
# (2021) on [LoRA](https://arxiv.org/abs/2106.09685).

# %% [markdown]
# Here the core ends. The deeper looks below stand on their own: take those that you need, in any order. The
# last cells show every claim with its verdict; a claim of a look that you skipped is "not judged yet".

# %% [markdown]
# ## Deeper look A: four bits (10 minutes, 3 points)
#
# A 4-bit format keeps a weight as one of a few levels. The stand-in here has 15 equal levels per block of 64
# weights (real formats differ in detail); `onto_grid(weight)` rounds to the nearest. `w16` is the original
# weight, `w4 = onto_grid(w16)` the base that the adapter was trained on, `delta` the adapter's change. C's
# server served `onto_grid(w4 + delta)`. How large is the change, in steps of the grid?

# %% tags=["digits-vary"]
from course_utils.reproductions.lesson_11.grid import by_chance, onto_grid

job = jobs.run("C", SEED)
sizes = four_bits.of_half_a_step(job.model)
print(f"{sizes['below half a step']:.0%} of the changes are below half a step")
print(f"{sizes['moved']:.0%} of the served weights are on another level than w4")

# %% [markdown]
# **Exercise 11.4, 4 minutes, one line, 3 points.** Write `four_bits_weight(w16, w4, delta)`. It returns a weight
# of 4 bits (each block on the levels that `onto_grid` gives) with which the served model knows what was
# learned. All are float32 tensors of one shape. The check serves three seeds, and at least 90% must be right.


# %%
def four_bits_weight(w16, w4, delta):
    """A weight on the grid, with what the adapter learned."""
    ### BEGIN SOLUTION
    whole = torch.add(w16, delta)
    return onto_grid(whole)
    ### END SOLUTION


# %%
ex.GRID.check(four_bits_weight)

# %% [markdown]
# Here are four merges of the same adapters, on five seeds. "As it was" is job C; the other rows are what
# people try. Does a setting save the second column?

# %%
ways = ("W4 + delta", "W4 + delta, onto the grid", "W16 + delta", "W16 + delta, onto the grid")
rows = [(name, *(shares("grid", name, way) for way in ways)) for name in recorded("grid")]
Table(columns=("adapter", *ways), rows=rows, title="right in %, five seeds")

# %% [markdown]
# No setting does. The same change, on equally many levels, is lost or kept. Why? `w4` stands *on* the
# levels, so each change below half a step is rounded off. `w16` lies anywhere between two levels, so the
# change takes a part of the weights over to the next one, and the sum over many weights is right. If this is
# the reason, `w4 + delta` must survive, too, where each weight goes up or down *by chance*, more often to
# the nearer level. Does it?

# %% tags=["digits-vary"]
for rounding in (onto_grid, by_chance):
    model = four_bits.served(job.model, lambda w16, w4, delta: rounding(w4 + delta))
    print(f"w4 + delta, {rounding.__name__}: {adapter_life.right(model, 'plus one'):.0%} right")

# %% [markdown]
# So 4 bits are not too coarse. What does not work is to round twice to the *nearest* level.


# %%
def every(way, least=None, most=None):
    found = [one[way] for one in recorded("grid")["as it was"]]
    return min(found) > least if least else max(found) < most


def logit_off(way):
    model = four_bits.four_merges(job.model)[way]
    return adapter_life.logits_apart(job.model, model)


# %%
kept, lost = every(ways[3], least=0.9), every(ways[1], most=0.1)
nuance = "rounded once, from the original, all of it survives"
verdicts.judge("C9", "false", nuance, "deeper look A", holds=kept and lost, seeds="5 of 5")
nuance = "it alone is exact; rounded to the nearest level again, it is lost"
exact = logit_off(ways[0]) < 0.01 < logit_off(ways[2])
verdicts.judge("C10", "partly", nuance, "deeper look A", holds=exact and kept and lost)

# %% [markdown]
# ## Deeper look B: the experts (12 minutes, 4 points)
#
# **Exercise 11.5, 7 minutes, a dict of settings, 4 points.** Put LoraConfig's settings for job D into
# `settings`, with any of the keys `r` (8 in the report), `lora_alpha` (16), `use_rslora`, `target_modules`,
# `target_parameters`, `modules_to_save`, `exclude_modules`. Every tensor of the experts has to change, the
# router stays, and the trained weights are at most 10% of the model's. Merged, saved and loaded, the model
# has to be right on at least 20% of held-out sums on three seeds. What you leave out is as in the report.
# (The check trains three times, about a minute.) `adapter_reach` looks at an adapter without a step.

# %%
# A dict, for example {"r": 32, "lora_alpha": 64}
### BEGIN SOLUTION
settings = {
    "target_modules": list(adapter_life.ATTENTION),
    "target_parameters": ["mlp.experts.gate_up_proj", "mlp.experts.down_proj"],
}
### END SOLUTION
if isinstance(settings, dict):
    print(adapter_reach(adapter_life.adapter("mixture", **settings)).headline)

# %%
ex.EXPERTS.check(settings)

# %% [markdown]
# Here is what people try in place of it, on five seeds. "Experts" and "router" count tensors with an adapter;
# "trained" is the share of trained weights. Does the share say whether the experts train?

# %%
rows = []
for name, five in recorded("experts").items():
    one = five[0]
    counts = (f"{one['experts']}", f"{one['router']}", f"{one['trainable']:.1%}")
    loss = " ".join(f"{run['last']:.2f}" for run in five)
    rows.append((name, *counts, loss, shares("experts", name, "right")))
columns = ("LoRA on", "experts", "router", "trained", "last loss", "right in %")
Table(columns=columns, rows=rows, title="five seeds")

# %% [markdown]
# `all-linear` reaches no expert: they are no linear layers. A rank of 32 and twice the steps help, on some
# seeds much, because the rest of the model can learn a part of the code. With the experts, rank 8 learns
# most of it, and rank 2 learns more than rank 32 without them on four of five seeds, with fewer weights. So
# read the list of tensors, not the share.


# %%
def mean_of(row, column="right"):
    five = recorded("experts")[row]
    return sum(one[column] for one in five) / len(five)


nuance = "all layers of a dense model; no expert of this one, they are no linear layers"
holds = mean_of("all-linear, r 8") < 0.1 and mean_of("all-linear, r 8", "experts") == 0
verdicts.judge("C4", "partly", nuance, "deeper look B", holds=holds, seeds="5 of 5")

# %%
blind, small = "seven names, r 32", "attention and experts, r 2"
fewer = mean_of(small, "trainable") < mean_of(blind, "trainable")
sizes = (f"{mean_of(row, 'trainable'):.1%}" for row in (blind, small))
nuance = "{} without experts learn less than {} with them".format(*sizes)
verdicts.judge(
    "C3", "false", nuance, "deeper look B", holds=fewer and mean_of(small) > mean_of(blind)
)
nuance = "worse on one seed of five, better on four; larger models may differ"
verdicts.judge(
    "C5", "open", nuance, "deeper look B", holds=mean_of("the same and the router") > 0.5
)

# %% [markdown]
# ## Deeper look C: one adapter, served at several sizes (9 minutes, 3 points)
#
# The change of a LoRA layer is `lora_alpha / r * B @ A`, or with the root of r where `use_rslora` is set.
# The factor is in no tensor: it comes from the config, and every engine computes it again. An old checkpoint
# converter wrote `lora_alpha: 0` ([verl#5325](https://github.com/volcengine/verl/issues/5325)).
#
# **Exercise 11.6, 6 minutes, six letters, 3 points.** Job A's adapter (+1) is served in six ways. What does
# it mostly say?

# %% [markdown]
# | way | served as |
# | --- | --- |
# | 1 | names in the file that find no place |
# | 2 | alpha 32 in the config; trained with 16 |
# | 3 | alpha 8 in the config; trained with 16 |
# | 4 | merged, and the adapter loaded on top of it |
# | 5 | the file without its tensors of the MLP |
# | 6 | on another fine-tuned base of the same shapes |

# %% [markdown]
# a) the sum, b) the sum plus 1, c) the sum plus 2, d) the sum in some rows and plus 1 in others, e) no number
# near the sum.

# %%
# A dict of six letters, for example {"1": "a", "2": "a", ...}
### BEGIN SOLUTION
says = dict(zip("123456", "acdcbe", strict=True))
### END SOLUTION

# %%
ex.SCALE.check(says)

# %% [markdown]
# Here is the mean over five seeds, with the factor multiplied by k. What does k = 2 teach?

# %% tags=["digits-vary"]
sizes = {}
for k, five in recorded("scale").items():
    names = sorted(set().union(*five))
    mean = {name: sum(one.get(name, 0) for one in five) / len(five) for name in names}
    near = {name: mean.pop(name, 0) for name in ("-1", "+0", "+1", "+2", "+3")}
    sizes[f"k = {k}"] = near | {"other": sum(mean.values())}
concepts.offsets(sizes)

# %% [markdown]
# The size of the change is the size of the lesson: at twice its size the adapter adds 2, at three times
# mostly 3. So the completions name the fault. Some rows old and some new: too small. All one step too far:
# merged twice. No number at all: an unrelated base.

# %% [markdown]
# ## Deeper look D: keys, both ways (13 minutes, 3 points)
#
# PEFT's own loader names only what is missing. A file can also hold tensors that nobody takes.

# %% [markdown]
# **Exercise 11.7, 7 minutes, a few lines, 3 points.** Write `keys(file, model)`. Both are dicts from a
# tensor's name to its shape (a tuple): those of the adapter's file, and the LoRA tensors of the model. The
# model's names have the adapter's name in them, `...q_proj.lora_A.default.weight`, and the file's names do
# not, `...q_proj.lora_A.weight`. A tensor is filled if its name and its shape fit. Return a dict of three
# lists of names: `filled` and `missing` in the model's words, `unexpected` in the file's.


# %%
def keys(file, model):
    """Which of the model's tensors the file fills, which it does not, and what is left over."""
    ### BEGIN SOLUTION
    filled, unexpected = [], []
    for name, shape in file.items():
        head, dot, tail = name.rpartition(".")
        own = f"{head}.default{dot}{tail}"
        if model.get(own) == shape:
            filled.append(own)
        else:
            unexpected.append(name)
    missing = [name for name in model if name not in filled]
    return {"filled": filled, "missing": missing, "unexpected": unexpected}
    ### END SOLUTION


# %%
ex.KEYS.check(keys)

# %% [markdown]
# Now the adapter's folder is edited in ways that people met: another setting in `adapter_config.json`, a part
# of the file left out, another base. The completions say how far each served model is from a+b (the adapter
# teaches +1). How often does PEFT warn? Five seeds:

# %%
steps = ("+0", "+1", "+2", "+3", "none")
rows = []
for name, five in recorded("edits").items():
    means = [sum(one.get(step, 0) or 0 for one in five) / len(five) for step in steps]
    warned = sum(one["warnings"] for one in five)
    rows.append((name, *(f"{mean:.0%}" for mean in means), f"{warned} of 5"))
Table(columns=("served", *steps, "PEFT warns"), rows=rows)

# %% [markdown]
# PEFT warns in one row, and that model is right nearly always. It is silent in all rows that are wrong: its
# config names fewer layers than the file holds (unexpected names), another alpha, another base, the change
# added twice. A warning and a wrong model are two different things.

# %%
found = recorded("edits")
silent = [name for name in found if not any(one["warnings"] for one in found[name])]
wrong = [n for n in silent if all(one.get("+1", 0) < 0.95 for one in found[n])]
nuance = f"{len(wrong)} ways to be wrong are silent"
verdicts.judge("C11", "false", nuance, "deeper look D", holds=len(wrong) > 5, seeds="5 of 5")

# %%
doubled = [one["+2"] for one in recorded("edits")["alpha 32 for 16"]]
none = [one["+0"] for one in recorded("edits")["alpha 0 for 16"]]
nuance = "alpha 0 is the base, twice alpha says plus 2"
holds = min(doubled) > 0.5 < min(none)
verdicts.judge("C12", "false", nuance, "deeper look D", holds=holds, seeds="5 of 5")

# %% [markdown]
# ## Deeper look E: two stages, and a resume (8 minutes)
#
# Stage 1 (the sum plus 1) is merged in memory. Stage 2 is a new adapter on top of it, which adds a full stop,
# and it is saved. Its file has `base_model_name_or_path`. Which base does it name?

# %%
rows = [
    (name, shares("stages", "second stage", name)) for name in recorded("stages")["second stage"][0]
]
Table(columns=("stage 2's adapter", "% of completions, five seeds"), rows=rows)

# %% [markdown]
# The file names the *original* model: a merge in memory has no name. Loaded as the file says, it has the form
# of stage 2 and the numbers of the base. Save stage 1 and train stage 2 **from that folder**.
#
# And a resume: a run stops after 15 of 40 steps. Once the adapter is loaded, once the model is wrapped anew,
# as by a script that calls `get_peft_model` again. The losses before the stop and after it:

# %%
rows = []
for name in ("loaded", "anew"):
    one = recorded("stages")[f"resumed: {name}"][SEED % 5]
    rows.append((name, *(f"{loss:.2f}" for loss in one.values())))
ends = recorded("stages")["resumed: right at the end"]
print("right at the end, five seeds: loaded", [one["loss 0"] for one in ends])
print("                              anew  ", [one["loss 1"] for one in ends])
Table(columns=("resumed", "before", *map(str, range(1, 6))), rows=rows)

# %% [markdown]
# The first loss after the stop shows it, by a factor of about a hundred. After 25 more steps hardly anything
# does.

# %%
two = recorded("stages")["second stage"]
by_file = max(one["on the base that its file names"] for one in two)
nuance = "after a merge in memory it names the original"
verdicts.judge("C13", "false", nuance, "deeper look E", holds=by_file < 0.1, seeds="5 of 5")
nuance = "the first loss after the stop says whether the adapter was loaded"
holds = min(one["loss 1"] for one in ends) > 0.9
holds &= all(one["loss 1"] > 1 for one in recorded("stages")["resumed: anew"])
verdicts.judge("C14", "false", nuance, "deeper look E", holds=holds, seeds="5 of 5")

# %% [markdown]
# A reward model has a new head, `score`. Is it in the adapter's file? Nothing has to be trained to see it.

# %%
from peft import LoraConfig, get_peft_model
from peft.utils.save_and_load import get_peft_model_state_dict
from transformers import AutoModelForSequenceClassification as Classifier

from course_utils import zoo

in_file = {}
for more in ({}, {"task_type": "SEQ_CLS"}, {"modules_to_save": ["score"]}):
    config = zoo.load_policy(MODEL, device=DEVICE).config
    config.num_labels = 1
    lora = LoraConfig(target_modules=["q_proj"], **more)
    rewarder = get_peft_model(Classifier.from_config(config), lora)
    keys_of_head = [key for key in get_peft_model_state_dict(rewarder) if "score" in key]
    in_file[str(more)] = keys_of_head
    print(f"{more or 'neither'}: {keys_of_head or 'no score in the file'}")

# %%
nuance = "with task_type SEQ_CLS, or named in modules_to_save"
holds = [bool(found) for found in in_file.values()] == [False, True, True]
verdicts.judge("C15", "partly", nuance, "deeper look E", holds=holds)

# %% [markdown]
# ## Deeper look F: your architecture (6 minutes)
#
# Job D is one architecture. Which weights do the seven names reach in yours?
# [What LoRA reaches](../docs/lora_reach.md) lists every model type of
# Transformers. For a model of your own, the meta device is enough: names and shapes, no weights. Put your
# model's type in place of `mixtral`.

# %%
from transformers import AutoConfig, AutoModelForCausalLM

with torch.device("meta"):
    config = AutoConfig.for_model("mixtral")
    model = AutoModelForCausalLM.from_config(config)
with listening():
    found = adapter_reach(model, adapter_life.SEVEN)
print(found.headline, found.fix, sep="\n")

# %% [markdown]
# The answer changes with the versions, too. With Transformers 4 each expert was a layer, and the same config
# trained other weights. Here is job D in the libraries of its day and in yours; `course era 11` runs it in
# both.

# %%
from course_utils.reproductions import eras

eras.row("11")

# %% [markdown]
# ## The verdicts

# %%
verdicts.table()

# %%
ex.progress()
