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
# # Loss 0, grad_norm 0, reward nan
#
# After 60 minutes you will be able to
#
# * **locate** the first number that its format cannot hold,
# * **choose** a format, or the few modules that need another one, and say why,
# * **measure** how closely a run in 16 bits follows float32.
#
# Sections 1 to 11 are the core. Sections 12 to 16 are deeper looks (91 minutes in all): each needs
# only the core, and you may skip any of them.
#
# Everything runs on a CPU in seconds. With a GPU (`DEVICE="auto"` finds it) the Trainer's own mixed
# precision is used.

# %% tags=["parameters"]
MODEL = "tiny"
DEVICE = "auto"
SEED = 0
FAST = False
STRICT = False

# %%
from course_utils.lesson import TODO, start

ex = start("05", strict=STRICT)

import torch
from transformers import set_seed
from trl import DPOConfig, DPOTrainer

from course_utils import zoo
from course_utils.concepts import lesson_05 as concepts
from course_utils.lesson.expected_failures import expect_symptom
from course_utils.reproductions.lesson_05.gemma_dpo import load_gemma
from course_utils.zoo import training

ex

# %% [markdown]
# ## 1. The report
#
# gemma-3-12b-it is trained with `DPOTrainer` and LoRA, eager attention, batch size 1, 4 accumulation steps. From
# [trl#3236](https://github.com/huggingface/trl/issues/3236), April 2025: in full precision the curve
# looks reasonable. With fp16 the log suddenly shows `loss=0, grad_norm=0, reward=nan`.
#
# The reporter asks whether multimodal models are restricted to full precision.

# %% [markdown]
# ## 2. The suspects
#
# A post that was passed around explained the failure and gave remedies. Here are nine of its claims, each
# with the thread that says the same, where we found one. Some of them are right. (The table of section 17
# has the verdicts on its other claims.) Deeper look 12 judges C11 and C15, the core the rest.
#
# Vote before you see the evidence: one mark per claim, in the order shown. `t` is true, `p` partly,
# `f` false. Add `!` where you are sure; `-` leaves one out.

# %%
verdicts = ex.verdicts
verdicts.suspects()

# %%
### BEGIN SOLUTION
my_votes = "p t! t p t t f t p"
### END SOLUTION
verdicts.vote(my_votes)

# %% [markdown]
# ## 3. Predict
#
# Run the cell to see the question. Then put a letter in place of `TODO`, before you look on.

# %%
### BEGIN SOLUTION
my_guess = "d"
### END SOLUTION
ex.FIRST_BAD.predict(my_guess)

# %% [markdown]
# ## 4. Break it
#
# A tiny Gemma 3 stands in for the 12B model. This is one layer of either model:

# %%
concepts.one_layer()

# %% [markdown]
# The tiny model was trained to add small numbers. Then we gave it one property that large Gemmas have
# and small ones lack. `stretch` says how much of it. `stretch=1` leaves the model unchanged; we call it
# `plain`, the control.
# Section 6 finds out what is stretched. Do the two models compute the same? How far apart are their
# logits?

# %%
plain = load_gemma(MODEL, stretch=1, device=DEVICE)
sick = load_gemma(MODEL, device=DEVICE)
tokenizer = zoo.load_tokenizer("tiny-gemma3" if MODEL == "tiny" else MODEL)
pairs = zoo.arithmetic.preferences(16, SEED, split="test")
chats = [pair["prompt"] + pair["chosen"] for pair in pairs]
texts = tokenizer.apply_chat_template(chats, tokenize=False)
batch = tokenizer(texts, padding=True, return_tensors="pt").to(sick.device)

with torch.no_grad():
    difference = plain(**batch).logits - sick(**batch).logits
difference = difference.abs().max().item()
print(texts[0])
print(f"largest difference of a float32 logit: {difference:.0e}")
expect_symptom("the logits agree to 1e-5", holds=difference < 1e-5)

# %% [markdown]
# The two are the same function. The difference is 0 because the stretch is a power of two: it changes only
# exponents, so nothing is rounded.
#
# Now the reported configuration: float32 weights, batch size 1, 4 accumulation steps. Three
# settings are ours. Every step is
# logged. The learning rate is high, so that a few steps change something. Gradient checkpointing is
# off, to save time.

# %%
N = 3 if FAST else 5
train_pairs = zoo.arithmetic.preferences(4 * N, SEED)
reported = dict(
    learning_rate=1e-3,
    per_device_train_batch_size=1,
    gradient_accumulation_steps=4,
    logging_steps=1,
    max_steps=N,
    gradient_checkpointing=False,
    use_cpu=sick.device.type == "cpu",
    seed=SEED,
    **training.quiet_config(),
)

# %% [markdown]
# First float32, then float16. On a CPU, accelerate silently ignores `fp16=True` (section 15 shows it). So a mixin of the course switches autocast and the gradient scaler on here; on CUDA it does
# nothing. What does the second log say?


# %%
from peft import LoraConfig


def train(trainer_class, fp16=False):
    set_seed(SEED)
    trainer = trainer_class(
        model=load_gemma(MODEL, device=DEVICE),
        args=DPOConfig(fp16=fp16, bf16=False, **reported),
        train_dataset=train_pairs,
        processing_class=tokenizer,
        peft_config=LoraConfig(r=16, lora_alpha=32, task_type="CAUSAL_LM"),
    )
    trainer.train()
    return trainer


# %% tags=["digits-vary"]
FIELDS = ("step", "loss", "grad_norm", "rewards/chosen", "rewards/margins")
healthy = train(DPOTrainer)
training.log_table(healthy, FIELDS)

# %%
from course_utils.zoo.mixed_precision import Float16OnCpu


class HalfTrainer(Float16OnCpu, DPOTrainer):
    """DPOTrainer, with fp16=True obeyed on a CPU too."""


broken = train(HalfTrainer, fp16=True)
training.log_table(broken, FIELDS)


# %%
def logged(trainer, field):
    log = trainer.state.log_history
    return [entry[field] for entry in log if field in entry]


def all_nan(values):
    return all(value != value for value in values)


# %%
zero = set(logged(broken, "loss")) == {0.0}
expect_symptom("the loss is 0 at every step", holds=zero)
dead = all_nan(logged(broken, "rewards/chosen"))
expect_symptom("every reward is nan", holds=dead)
finite = all(x == x for x in logged(healthy, "grad_norm"))
expect_symptom("float32 has a grad_norm at each step", holds=finite)
shown = all_nan(logged(broken, "grad_norm")) and finite
nuance = "grad_norm is nan here; why the report has 0 is open"
verdicts.judge("C1", "true", nuance, "section 4", holds=shown, show=False)

# %% [markdown]
# This is the log of the report, but for `grad_norm`: nan here, 0 there. The model is the same function in
# both runs and its weights are float32 in both. Only the format of the arithmetic differs.

# %% [markdown]
# ## 5. What the log says
#
# The loss cannot be 0: before any update the policy is its reference, and DPO starts at ln 2. Lesson 03
# names the cause: with `logging_nan_inf_filter` the steps between two log entries are logged as 0 if all of
# them are nan. TRL's own metrics do not pass through the filter, so the rewards
# show the nan. Section 15 trains without the filter.

# %% [markdown]
# ## 6. Where?
#
# Now leave out training: no gradient, no optimizer, no loss. Is the plain forward pass healthy?
# `plain` is the control.

# %%
half, wide = torch.float16, torch.bfloat16
formats = {"float32": None, "bfloat16": wide, "float16": half}


@torch.no_grad()
def logits_in(model, dtype):
    with torch.autocast(model.device.type, dtype, enabled=bool(dtype)):
        return model(**batch).logits.float()


for name, dtype in formats.items():
    logits = [logits_in(model, dtype) for model in (plain, sick)]
    share = [one.isfinite().float().mean().item() for one in logits]
    print(f"{name:9} finite logits: plain {share[0]:.0%}, sick {share[1]:.0%}")
dead_at_once = logits_in(sick, torch.float16).isnan().all().item()

# %%
nuance = "there is no update yet, and the weights are float32"
verdicts.judge("C2", "false", nuance, "section 6", holds=dead_at_once)
dead_at_step_1 = all_nan(logged(broken, "rewards/chosen")[:1])
nuance = "DPO has no policy gradient, and step 1 is nan"
holds = dead_at_once and dead_at_step_1
verdicts.judge("C14", "false", nuance, "sections 4 and 6", holds=holds, show=False)
scaler_is_on = broken.accelerator.scaler is not None
nuance = "fp16=True has it already; the forward pass is nan before any gradient"
holds = scaler_is_on and dead_at_once
verdicts.judge("C10", "false", nuance, "sections 4 and 6", holds=holds)

# %% [markdown]
# So training is not needed to see the failure. Which operation is it? `trace_step` runs one step of a
# Trainer and follows the first value that is not finite back to its origin. (`dpo_trainer(...)`
# builds the Trainer of section 4, with three steps; its arguments are the settings to change.) The healthy run comes
# first.

# %%
from course_utils.diagnostics import trace_step
from course_utils.reproductions.lesson_05.gemma_dpo import dpo_trainer

run = dict(model=MODEL, device=DEVICE, seed=SEED)
fresh = dpo_trainer(**run, stretch=1, max_steps=1)
print(trace_step(fresh, next(iter(fresh.get_train_dataloader()))))

# %%
fresh = dpo_trainer(**run, max_steps=1)
report = trace_step(fresh, next(iter(fresh.get_train_dataloader())))
where = report.module.split("model.model.")[-1]
print(f"{report.phase}, in {where}, dtype {report.dtype}")
larger = report.largest_input > report.limit
print(f"limit {report.limit:g}; the number that it casts is larger: {larger}")
print(report.line)
print(f"became nan in {report.became_nan.module.split('model.model.')[-1]}")

# %% [markdown]
# It is the last line of a norm. The norm computes in float32 and casts its result to the format of its
# input. The result is finite in float32, and **inf** in float16. The next norm multiplies inf by
# 1/sqrt(inf), which is 0: nan.
#
# Is this place special? Measure all places in float32, which has the range to measure them.

# %% [markdown]
# **Exercise 05.1, 8 minutes, a few lines, 4 points.** Write `peaks(model, batch, names)`. It returns a
# dict from each module name to the largest magnitude of that module's output, as a number. `model` is
# any torch module (it need not have `device`, `config` or `logits`) whose parts put out one tensor
# each; `batch` is a dict for `model(**batch)`. nan and inf are returned as they are. Leave the
# model as it was: remove your hooks, and change no modes, weights, gradients or torch's grad mode.


# %%
def peaks(model, batch, names):
    """The largest |output| of each named module in one forward pass."""
    ### BEGIN SOLUTION
    largest = {}

    def look(module, args, output):
        largest[known[module]] = float(output.detach().abs().amax())

    known = {model.get_submodule(name): name for name in names}
    handles = [module.register_forward_hook(look) for module in known]
    with torch.no_grad():
        _ = model(**batch)
    [handle.remove() for handle in handles]
    return largest
    ### END SOLUTION


# %%
ex.PEAKS.check(peaks)

# %% [markdown]
# Now measure three places in every layer: the output of the MLP, the norm that the instrument named,
# and the **residual stream**, to which every layer adds the output of such norms. Which of them reach
# 65504?

# %%
measure = ex.PEAKS.answer
layers = range(len(sick.model.layers)) if MODEL == "tiny" else range(4)
places = {"MLP": ".mlp.down_proj", "norm": ".post_attention_layernorm"}
places["stream"] = ""
largest = {"plain": {}, "sick": {}}
for who, model in (("plain", plain), ("sick", sick)):
    for place, part in places.items():
        names = [f"model.layers.{i}{part}" for i in layers]
        found = measure(model, batch, names)
        largest[who][place] = [float(found[name]) for name in names]

# %% tags=["digits-vary"]
concepts.against_the_limit(largest)

# %% [markdown]
# The output of the MLP is small in both models. The norm multiplies by its gain, 1 + weight, and there
# the numbers leave the range. How large is the gain?

# %%
norm = sick.model.layers[0].post_attention_layernorm
gain = (1 + norm.weight).abs().max().item()
print(f"gain of the norm: about {gain:.0e}")
nuance = "not by normalising, but by the gain of the norm after each block"
holds = "post_attention_layernorm" in report.module and gain > 1000
verdicts.judge("C12", "partly", nuance, "section 6", holds=holds)

# %% [markdown]
# This gain is what `stretch` made large, together with the embeddings: everything that is added to the
# stream. (Section 14 shows why the function stays the same.)
#
# `profile_ranges` measures every module of any model in the same way, before any training. Would these
# two models survive float16?

# %%
from course_utils.diagnostics import profile_ranges

for who, model in (("plain", plain), ("sick", sick)):
    profile = profile_ranges(model, dict(batch), backward=False)
    answers = {name: bool(profile.survives(name)) for name in formats}
    print(who, answers)
holds = not answers["float16"]
nuance = "it finds this one before training"
verdicts.judge("C7", "true", nuance, "section 6", holds=holds)

# %% [markdown]
# One result does not fit yet. The stream is far beyond 65504, but the instrument named the norm and
# not the addition to the stream. Which format does each of them have under autocast, in the first
# layer?

# %% tags=["digits-vary"]
from course_utils.reproductions.lesson_05.gemma_layer import tensors_in_layer

flowing = tensors_in_layer(sick, batch, half)
concepts.one_layer(flowing)

# %% [markdown]
# **Autocast** decides by operation.
#
# * The embedding is float32, and autocast leaves lookups alone.
# * Attention and MLP are matrix products: float16.
# * The norm after them computes in float32 and *returns* the format of its input: float16.
# * float32 + float16 is float32. So the stream stays float32, but what is added to it has already been
#   cut to float16.
#
# (Section 12 shows autocast's lists, a model with float16 weights, and how little overflow is enough.)

# %%
holds = report.phase == "forward" and "norm" in report.module
ex.FIRST_BAD.recall("d", holds=holds)

# %% [markdown]
# ## 7. Eliminate
#
# Each remedy of the article gets its own run: three steps, then a look at the adapters. `scale` is the
# gradient scaler's value after the last step. Which rows differ from the first one?

# %% tags=["nbval-ignore-output"]
from course_utils.reproductions.lesson_05.gemma_dpo import outcomes_of

suspects = outcomes_of(
    {
        "as reported": {},
        "lora_alpha 64": {"lora_alpha": 64},
        "max_grad_norm 0.1": {"max_grad_norm": 0.1},
        "AdamW, not fused": {"optim": "adamw_torch"},
        "gradient checkpointing": {"gradient_checkpointing": True},
        "float16 weights": {"fp16": False, "dtype": "float16"},
    },
    **run,
)
suspects

# %% [markdown]
# None of them trains. (Fused AdamW and `max_grad_norm=1.0` are today's defaults, so "as reported" has
# them.)

# %%
words = {name: outcome.in_a_word for name, outcome in suspects.runs.items()}
all_dead = set(words.values()) == {"dead"}
expect_symptom("every one of these runs is dead", holds=all_dead)
first_b = next(w for n, w in fresh.model.named_parameters() if "lora_B" in n)
dead = words["lora_alpha 64"] == "dead" and not first_b.any().item()
nuance = "B is 0 at the start, and the overflow is in the frozen base"
verdicts.judge("C9", "false", nuance, "section 7", holds=dead, show=False)
still = suspects["as reported"].num_moved == 0
nuance = "too late: there is never an update to watch"
verdicts.judge("C8", "false", nuance, "section 7", holds=still, show=False)

# %% [markdown]
# ## 8. Explain
#
# 1. Gemma adds to its stream the output of a norm, times a gain (1 + w) that training made large
#   ([transformers#36822](https://github.com/huggingface/transformers/issues/36822)).
# 2. The norm computes in float32 and at its end casts to its input's format, float16.
# 3. Beyond 65504 that is inf. The next norm makes nan of it, and the nan goes on to the loss.
# 4. The log filter turns nan into 0. The gradient scaler skips the step and halves its scale.
#
# So the cause is **range**, not precision. How do the formats spend their bits?

# %%
from course_utils.numerics import format_table

format_table()

# %%
from course_utils.numerics import float_format

ieee, brain = float_format("float16"), float_format("bfloat16")
print(f"a step near 1: float16 {ieee.eps:.1e}, bfloat16 {brain.eps:.1e}")
exponents = brain.exponent_bits, ieee.exponent_bits
digits = brain.mantissa_bits, ieee.mantissa_bits
holds = exponents == (8, 5) and f"{brain.max:.2e}" == "3.39e+38"
verdicts.judge("C3", "true", "", "section 8", holds=holds, show=False)

# %% [markdown]
# bfloat16 pays for its range with digits: its numbers lie eight times further apart than float16's.
#
# ## 9. Fix it
#
# **Exercise 05.3, 4 minutes, two settings, 3 points.** `fix` is a dict of what has to change among
# `fp16`, `bf16` and `dtype` (of the weights). The report has `fp16=True` and float32 weights;
# everything else stays as reported. The check *trains* with your fix, on three seeds. Matrix products
# must stay in 16 bits.

# %%
### BEGIN SOLUTION
fix = {"bf16": True, "fp16": False}
### END SOLUTION

# %%
ex.FIX.check(fix)

# %% [markdown]
# Now your fix runs beside the rows of section 7. Which part of the article's recipe matters?

# %% tags=["nbval-ignore-output"]
suspects.runs.update(outcomes_of({"fix (05.3)": ex.FIX.answer}, **run).runs)
suspects

# %%
only_bf16 = all_dead and suspects["fix (05.3)"].in_a_word == "trains"
nuance = "only bf16=True matters"
verdicts.judge("C6", "partly", nuance, "sections 7 and 9", holds=only_bf16)
holds = digits == (7, 10) and only_bf16
nuance = "bfloat16 has fewer digits and trains; float16 has more and dies"
verdicts.judge("C4", "true", nuance, "sections 8 and 9", holds=holds)

# %% [markdown]
# That solves it for everyone whose device has bfloat16. T4 and V100 have none
# ([unsloth#7867](https://github.com/unslothai/unsloth/pull/7867)), and their users train in float16: a
# Gemma 3 on a V100 logged nan from the start
# ([unsloth#2040](https://github.com/unslothai/unsloth/issues/2040)).
#
# Each layer adds the output of two such norms to the stream: `post_attention_layernorm` and
# `post_feedforward_layernorm`. This is the code of both:

# %%
import inspect

print(inspect.getsource(type(norm).forward))

# %% [markdown]
# **Exercise 05.4, 7 minutes, three lines, 4 points.** Write `keep_in_float32(model)`. It makes the few
# modules that overflow return float32 under autocast. It leaves all matrix products in float16, and
# the other norms as they are. Change this model in place, not its class: its weights stay the same
# tensors, and each module stays in its train or eval mode. The check trains, and compares logits and gradients with those of
# float32, also the gradients of the norms' weights, and also on a Gemma with another depth, other
# weights and another eps.


# %%
def keep_in_float32(model):
    """Let the modules that overflow under float16 autocast return float32."""
    ### BEGIN SOLUTION
    for layer in model.model.layers:
        post = layer.post_attention_layernorm, layer.post_feedforward_layernorm
        for norm in post:
            norm.register_forward_pre_hook(lambda _, args: (args[0].float(),))
    ### END SOLUTION


# %%
ex.KEEP.check(keep_in_float32)

# %%
nuance = "devices still in use (T4, V100) have none, and their users meet this failure"
verdicts.cite("C5", "partly", nuance, "unsloth#7867, unsloth#2040")

# %% [markdown]
# ## 10. Prove it
#
# We run the training of section 4 again, longer, in three ways: in float32, in bfloat16 (your answer
# to 05.3), and in float16 with your function of 05.4, which any float16 device can run. Step 1 is
# before any update. From step 2 on, how far is each run from float32? Predict first.

# %%
### BEGIN SOLUTION
my_guess = "b"
### END SOLUTION
ex.CLOSER.predict(my_guess)

# %%
longer = dict(max_steps=6 if FAST else 12, per_device_train_batch_size=4)
longer["gradient_accumulation_steps"] = 1


def margins_of(ways):
    found = {}
    for name, changes in ways.items():
        trainer = dpo_trainer(**run | longer | changes)
        trainer.train()
        found[name] = logged(trainer, "rewards/margins")
    return found


# %% tags=["digits-vary"]
ways = {
    "float32": {"fp16": False},
    "bfloat16": ex.FIX.answer,
    "float32 norms": {"prepare": ex.KEEP.answer},
}
margins = margins_of(ways)
full, apart = margins["float32"], {}
for name in list(ways)[1:]:
    pairs_of = zip(margins[name], full, strict=True)
    apart[name] = [abs(a - b) for a, b in pairs_of][1:]
largest_margin = max(map(abs, full))
concepts.off_float32(apart, largest_margin)

# %%
finite = not any(map(all_nan, margins.values()))
expect_symptom("all of them are finite", holds=finite)
closer = 2 * max(apart["float32 norms"]) < max(apart["bfloat16"])
expect_symptom("float16 with wide norms is twice as close", holds=closer)
ex.CLOSER.recall("b", holds=closer)

# %% [markdown]
# Both fixes are finite, and float16 with the norms in float32 follows float32 closely. bfloat16 has
# fewer digits, and is off by a large part of the margin, which is still small after so few steps. (On ten seeds of ten, float16 with the norms in float32 was at least three times closer than
# bfloat16.)

# %% [markdown]
# ## 11. Next time
#
# Two questions come before the summary.

# %% [markdown]
# **Exercise 05.7, 2 minutes, two letters, 2 points.** 1) Rewards are nan at step 1 and the scale
# halves at every step. Look first at a) the activations, b) the learning rate, c) a larger initial
# scale. 2) Your device has no bfloat16. Which remedy keeps the function that the model computes?
# a) clamping the activations at 65504, b) a smaller `max_grad_norm`, c) a stream as small as that of
# `plain`.

# %%
# Two letters, for example {"1": "a", "2": "a"}
### BEGIN SOLUTION
quiz = {"1": "a", "2": "c"}
### END SOLUTION

# %%
ex.QUIZ.check(quiz)

# %% [markdown]
# Two other remedies are known for a device without bfloat16. One **clamps** what the norm returns at
# 65504 ([transformers#36832](https://github.com/huggingface/transformers/pull/36832)). Its author
# measured the 12B model on gsm8k: 0.874 in bfloat16, 0.647 in float16 with clamping. The other one
# **rescales** the stream without changing the function. Section 14 builds and measures both.

# %% [markdown]
# The next time you meet this failure:
#
# * **Signature**: loss 0, rewards and log-probabilities nan from step 1, a scale that halves at every
#   step.
# * **Look first** at one forward pass in float32: which output is beyond 65504?
# * **Look-alikes**: nan from the *second* step on (the optimizer: lesson 03); a scale that drops once
#   and recovers (healthy); fp16 on a CPU that never breaks (accelerate ignored the flag).
#
# This is the end of the core. Five deeper looks follow. To skip them, go to section 17 for the
# verdicts and your points.

# %% [markdown]
# ## 12. Deeper look: autocast, and float16 weights (12 minutes)
#
# **Autocast** has lists of operations. Here is what it does with some of them: run on a CPU, and read
# from torch's own lists for CUDA. Which are computed in float16 on both?

# %%
from course_utils.numerics import autocast_table

autocast_table()

# %% [markdown]
# Matrix products, convolutions and attention kernels go to float16. Softmax, norms and sums go to
# float32 on CUDA and keep their format on a CPU. Additions and lookups are on neither list.
#
# The post also suspects the dot products of attention. By how much could they leave the range? A product of
# q and k is at most head_dim · max|q| · max|k|, and Gemma 3 normalises both:

# %%
bound = sick.config.head_dim
for part in ("q_norm", "k_norm"):
    names = [f"model.layers.{i}.self_attn.{part}" for i in layers]
    bound *= max(map(float, measure(sick, batch, names).values()))
print(f"no dot product of attention can exceed {bound:.0e}")
nuance = "q and k are normalised, which bounds their products"
verdicts.judge("C11", "false", nuance, "section 12", holds=bound < 65504)

# %% [markdown]
# With float16 **weights** there is no autocast, so the stream is float16 too. How large may it grow in
# each mode? `stretch` is how many times larger than that of `plain` the stream is.

# %%
sizes, alive = (3500, 4000, 6500, 7000), {}
for size in sizes:
    louder = load_gemma(MODEL, stretch=size, device=DEVICE)
    mixed = logits_in(louder, torch.float16)
    pure = logits_in(louder.half(), None)
    alive[size] = [bool(logits.isfinite().all()) for logits in (mixed, pure)]
    words = ["finite" if ok else "NAN" for ok in alive[size]]
    print(f"stretch {size:6}  mixed: {words[0]:7} pure float16: {words[1]}")

# %% [markdown]
# Pure float16 fails at a smaller stream. Where does it fail, when the norm is still within its range?

# %%
louder = load_gemma(MODEL, stretch=5500, device=DEVICE).half()
trace = trace_step(louder, dict(batch))
print(f"{trace.operation} in {trace.module}, dtype {trace.dtype}")
print(trace.line)
added = trace.operation.startswith("add")
expect_symptom("the addition to the stream overflows", holds=added)

# %% [markdown]
# The same model fails at two places in two modes. A fix that helps in one mode need not help in the
# other. Does your function of 05.4 help with float16 weights?

# %%
import copy

kept = copy.deepcopy(sick)
ex.KEEP.answer(kept)
finite = logits_in(kept, half).isfinite().all().item()
print("mixed precision: finite", finite)
try:
    finite = logits_in(kept.half(), None).isfinite().all().item()
    print("float16 weights: finite", finite)
except RuntimeError as refused:
    print("float16 weights:", str(refused).splitlines()[0])

# %% [markdown]
# Not by itself: with float16 weights, a float32 stream meets float16 matrices.
#
# How much overflow does it take? At a stretch of 18000, hardly any number of the first layer reaches
# the limit. What does the first norm that overflows return, and what is the loss?

# %%
edge = load_gemma(MODEL, stretch=18_000, device=DEVICE)  # shows it on seeds 0 to 11
flowing = tensors_in_layer(edge, batch, half)
where = next(name for name, x in flowing.items() if x.isinf().any())
infs = flowing[where].isinf().float().mean().item()


@torch.no_grad()
def loss_in(dtype):
    with torch.autocast(edge.device.type, dtype):
        return edge(**batch, labels=batch["input_ids"]).loss.item()


in_half, in_wide = loss_in(half), loss_in(wide)
print(f"{where}: under 0.1% of it is inf: {infs < 0.001}")
print(f"loss: float16 {in_half}, bfloat16 is finite: {in_wide == in_wide}")
holds = infs < 0.001 and in_half != in_half and in_wide == in_wide
nuance = "a few inf in one norm make nan of the loss"
verdicts.judge("C15", "true", nuance, "section 12", holds=holds)

# %% [markdown]
# Now one of your own. Which setting do *you* suspect in the run of the report? Take any field of
# `DPOConfig`, or `dtype` or `lora_alpha`.

# %% tags=["nbval-ignore-output"]
# A dict, for example {"adam_beta2": 0.9}
### BEGIN SOLUTION
my_suspect = {"learning_rate": 1e-6}
### END SOLUTION
mine = {f"mine: {my_suspect}": my_suspect}
mine = mine if isinstance(my_suspect, dict) else {}
outcomes_of({"as reported": {}} | mine, **run)

# %% [markdown]
# ## 13. Deeper look: why does the scaler not help? (16 minutes)
#
# "Consider gradient scaling", says the article. It was on: `fp16=True` brings a **GradScaler**. It
# multiplies the loss so that small gradients do not round to 0. It skips a step whose gradients are
# not finite, and it adapts its scale. Predict first.

# %%
### BEGIN SOLUTION
my_guess = "c"
### END SOLUTION
ex.SCALE_END.predict(my_guess)

# %% [markdown]
# **Exercise 05.2, 6 minutes, a few lines, 3 points.** Write `scale_after(steps, scale, interval)`: the
# scale after a list of steps, each True if all gradients were finite. A step that is not finite halves
# the scale. After `interval` finite steps in a row, the scale doubles and the count starts again.


# %%
def scale_after(steps, scale, interval):
    """The gradient scaler's scale after these steps."""
    ### BEGIN SOLUTION
    row = 0
    for good in steps:
        row = row + 1 if good else 0
        if not good:
            scale *= 0.5
        elif row == interval:
            scale, row = scale * 2, 0
    return scale
    ### END SOLUTION


# %%
ex.SCALER.check(scale_after)

# %% [markdown]
# Now three real runs, with a callback that reads the scale after every step: the plain model, the sick
# one, and one whose stream was made very small, so that its *gradients* are large. Which of them
# recover?


# %%
from transformers import TrainerCallback


class ReadScale(TrainerCallback):
    def on_step_end(self, args, state, control, **kwargs):
        curves[which].append(trainer.accelerator.scaler.get_scale())


steps, curves = (6 if FAST else 10), {}
single = dict(max_steps=steps, gradient_accumulation_steps=1)
single |= run | dict(callbacks=[ReadScale()])
for which, size in (("plain", 1), ("sick", None), ("small stream", 1 / 128)):
    curves[which] = [65536.0]
    trainer = dpo_trainer(**single, stretch=size)
    trainer.train()

# %%
concepts.scales(curves)
formula = ex.SCALER.answer
predicted = [formula([False] * n, 65536.0, 2000) for n in range(steps + 1)]
agrees = predicted == curves["sick"]
expect_symptom("the sick run follows the rule of exercise 05.2", holds=agrees)
late = {n: len(set(curve[steps // 2 :])) for n, curve in curves.items()}
healed = max(late["plain"], late["small stream"]) < late["sick"]
expect_symptom("only the sick run goes on halving", holds=healed)

# %% [markdown]
# The scaler can only change gradients. In the third run the gradients overflowed at first, the scaler
# halved its scale a few times, and then they fitted. Losing a step now and then is normal. In the sick
# run the loss is nan before there is a gradient, so no scale can help.
#
# How does that end? We take a real scaler on one weight, 200 steps of nan, then one healthy step.

# %%
weight = torch.nn.Parameter(torch.ones(2, device=sick.device))
optimizer, scales = torch.optim.AdamW([weight]), []
scaler = torch.amp.GradScaler(sick.device.type)
for step in range(201):
    loss = weight.sum() * (float("nan") if step < 200 else 1.0)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
    scales.append(scaler.get_scale())
    if step == 199:
        print(f"the scale is 0 after {scales.index(0.0) + 1} bad steps")
        print(f"the weight is still {weight.tolist()}")
print(f"after one healthy step: {weight.tolist()}")

# %% [markdown]
# 2^16 is halved until float32 has no smaller number. A scale of 0 makes every gradient 0, and
# unscaling divides by it: 0 times inf is nan. The first *healthy* step writes that nan into the
# weights. The scaler looks for inf before it divides, so it does not notice.

# %%
died = scales[-2] == 0 and weight.isnan().any().item()
ex.SCALE_END.recall("d", holds=died)

# %% [markdown]
# ## 14. Deeper look: rescale the stream (36 minutes)
#
# This remedy works in both modes, needs no hook, and costs nothing: make the stream smaller **without
# changing the function**. A norm divides its input by the size of that input:
#
# $$\mathrm{norm}(x) = \frac{x}{\sqrt{\mathrm{mean}(x^2) + \mathrm{eps}}}\,(1 + w)$$
#
# Every part of Gemma that *reads* the stream reads it through such a norm. So the size of the stream
# is free, if everything that is added to it changes by the same factor.

# %% [markdown]
# **Exercise 05.5, 12 minutes, a small function, 5 points.** Write `rescale(model, k)`: the stream
# becomes k times as large, in place, and the logits stay, for large k and small. In `model.model` are
# `embed_tokens` (it multiplies by its buffer `embed_scale`, which stays a buffer; its weight is
# **tied**: it is the output matrix too), `norm`, and `layers`, each with `input_layernorm`,
# `post_attention_layernorm`, `pre_feedforward_layernorm`, `post_feedforward_layernorm`. A norm has
# `weight` (w) and `eps`.
#
# Leave no hook, and change no mode and no `requires_grad`. A second call counts like the first. The
# check runs `sick` in float16, mixed and pure, and with LoRA.


# %%
def rescale(model, k):
    """Multiply the residual stream by k, and change nothing that comes out."""
    ### BEGIN SOLUTION
    decoder = model.model
    decoder.embed_tokens.embed_scale *= k
    readers = [decoder.norm]
    for layer in decoder.layers:
        readers += [layer.input_layernorm, layer.pre_feedforward_layernorm]
        post = layer.post_attention_layernorm, layer.post_feedforward_layernorm
        for norm in post:
            norm.weight.data = norm.weight.data * k + (k - 1)
    for norm in readers:
        norm.eps = norm.eps * k * k
    ### END SOLUTION


# %%
ex.RESCALE.check(rescale)

# %% [markdown]
# Now you know what was put into the stand-in: a k of 32768. `rescale` could take it out again, but the
# stream may be as large as the format allows.
#
# **Exercise 05.6, 5 minutes, one number, 3 points.** Choose `factor`, by which the sick model's stream
# is multiplied, about as large as the format allows. In float16 the run is finite at every step, on
# three seeds. The largest number of the stream is at most one eighth of the limit, because other texts
# reach further. It is at least 1/64 of the limit: the smaller the stream, the larger its gradients, as
# section 13's run with a small stream shows. You have `largest["sick"]["stream"]`.

# %%
### BEGIN SOLUTION
factor = 2.0 ** -torch.tensor(max(largest["sick"]["stream"]) / 4094).log2().ceil().item()
### END SOLUTION

# %%
ex.FACTOR.check(factor)

# %% [markdown]
# The other remedy is popular because it needs only one line: **clamp** what the norm returns at 65504.
# The run becomes finite. What does it cost? `louder` is the sick model with twice the stretch.


# %%
def clamp(model):
    for layer in model.model.layers:
        post = layer.post_attention_layernorm, layer.post_feedforward_layernorm
        for norm in post:

            def forward(x, norm=norm):
                out = norm._norm(x.float()) * (1 + norm.weight.float())
                return out.clamp(-65504, 65504).type_as(x)

            norm.forward = forward


# %%
rescale_it, by = ex.RESCALE.answer, float(ex.FACTOR.answer)
remedies = {
    "bfloat16": ("sick", lambda model: None, wide),
    "float32 for the norms": ("sick", ex.KEEP.answer, half),
    "rescaled": ("sick", lambda model: rescale_it(model, by), half),
    "clamped": ("sick", clamp, half),
    "louder, rescaled": ("louder", lambda m: rescale_it(m, by / 2), half),
    "louder, clamped": ("louder", clamp, half),
}
sums = zoo.arithmetic.prompts(40 if FAST else 100, SEED, split="test")

# %% tags=["nbval-ignore-output"]
from course_utils.shown.progress_line import track
from course_utils.shown.report import Table

want, real = logits_in(plain, None), batch["attention_mask"].bool()
error, right, rows = {}, {}, []
for name, (who, remedy, dtype) in track(remedies.items(), "remedies"):
    size = 2**15 if who == "sick" else 2**16
    model = load_gemma(MODEL, stretch=size, device=DEVICE)
    remedy(model)
    off = (logits_in(model, dtype) - want)[real]
    error[name] = off.square().mean().sqrt().item()
    with torch.autocast(model.device.type, dtype):
        right[name] = zoo.share_right(model, tokenizer, sums)
    rows.append((name, f"{error[name]:.2g}", f"{right[name]:.0%}"))
Table(columns=("remedy", "error of a logit", "sums right"), rows=rows)

# %% [markdown]
# Three findings. The remedies that keep the large numbers are *closer* to float32 than bfloat16:
# without overflow, float16 has more digits. Clamping is far off. And clamping hurts more, the larger
# the stream is; rescaling does not depend on it.

# %%
through = ("rescaled", "float32 for the norms", "louder, rescaled")
exact = max(error[name] for name in through)
closer = exact < error["bfloat16"]
expect_symptom("these remedies are closer than bfloat16", holds=closer)
far, forgets = error["clamped"] > 10 * exact, right["louder, clamped"] < 0.8
expect_symptom("clamping is over ten times further off", holds=far)
expect_symptom("louder and clamped, it forgets sums", holds=forgets)
knows = right["louder, rescaled"] > (0.7 if FAST else 0.9)  # of fewer sums
expect_symptom("rescaled, it knows them", holds=knows)

# %% [markdown]
# Now the training of section 10, with these two remedies beside the others. How far is each run from
# float32?

# %% tags=["digits-vary"]
rescaled = dpo_trainer(**run | longer, prepare=lambda m: rescale_it(m, by))
rescaled.train()
margins["rescaled float16"] = logged(rescaled, "rewards/margins")
margins |= margins_of({"clamped float16": {"prepare": clamp}})
for name in ("rescaled float16", "clamped float16"):
    pairs_of = zip(margins[name], full, strict=True)
    apart[name] = [abs(a - b) for a, b in pairs_of][1:]
concepts.off_float32(apart, largest_margin)
most = {name: max(distances) for name, distances in apart.items()}
closer = 3 * most["rescaled float16"] < min(most["bfloat16"], most["clamped float16"])
expect_symptom("the rescaled run is three times closer", holds=closer)

# %% [markdown]
# What is trained does not depend on the rescaling. Take the adapters of the rescaled float16 run, and
# put them on the rescaled model and on the model *as it was*, in float32. Do both compute the same?

# %%
state = rescaled.model.state_dict()
adapters = {name: weight for name, weight in state.items() if "lora" in name}
after = []
for prepare in (lambda model: None, lambda model: rescale_it(model, by)):
    policy = dpo_trainer(**run, max_steps=1, prepare=prepare).model.eval()
    policy.load_state_dict(adapters, strict=False)
    with torch.no_grad():
        after.append(policy(**batch).logits)
learnt = (after[0] - want).abs().max().item()
gap = (after[0] - after[1]).abs().max().item()
expect_symptom("the adapters move some logit by 0.1", holds=learnt > 0.1)
expect_symptom("they do the same on both, to 0.01", holds=gap < 0.01)

# %% [markdown]
# Save the adapters, not the rescaled model: `embed_scale` and `eps` are in no checkpoint, and a
# reloaded copy would have the new weights with the old scale.
#
# For your own Gemma 3, `course_utils.gemma3` has both steps, the question and the rescale, by path or
# hub id.

# %%
from course_utils.gemma3 import check_range, load_for_float16

for who, model in (("plain", plain), ("sick", sick)):
    found = check_range(model, batch)
    print(who, "| mixed:", found.survives_autocast, end=" ")
    print(f"| pure: {found.survives_half} | rescale by {found.factor:g}")
ready = load_for_float16("tiny-gemma3", dtype="float16", device=DEVICE)
print("load_for_float16 gives", ready.dtype)

# %% [markdown]
# The rescaling was proposed for Transformers in
# [#37226](https://github.com/huggingface/transformers/pull/37226), without eps, and is not part of it.
# vLLM keeps the stream in float32 ([#17364](https://github.com/vllm-project/vllm/pull/17364)).
# transformers 5.23 has no guard.
#
# Gemma 4 has smaller numbers: 2080 at most in one supervised run of its E2B
# ([unsloth#4875](https://github.com/unslothai/unsloth/pull/4875)). In GRPO it overflowed elsewhere,
# inside the MLP ([unsloth-zoo#600](https://github.com/unslothai/unsloth-zoo/pull/600)). There the
# stream is not the cause, and `check_range` says for such a model that rescaling does not help.

# %% [markdown]
# ## 15. Deeper look: what the log does not say (7 minutes)
#
# First `fp16=True` as you would write it in your script, on this device. Is this run *similar* to the
# float32 run of section 4, or is it the float32 run?

# %% tags=["digits-vary"]
flagged = train(DPOTrainer, fp16=True)
training.log_table(flagged, FIELDS)

# %%
logs = [one.state.log_history for one in (healthy, flagged)]
losses = [[entry.get("loss") for entry in log] for log in logs]
same, scaler = losses[0] == losses[1], flagged.accelerator.scaler
print(f"every digit equal: {same}; gradient scaler: {scaler is not None}")
if sick.device.type == "cpu":
    expect_symptom("fp16=True is ignored on a CPU, without a word", holds=same)

# %% [markdown]
# On a CPU nothing breaks, and you might close the report as "cannot reproduce". This is a trap:
# accelerate sets up autocast and a gradient scaler on every device except a CPU, and gives no warning
# there. This is what the mixin does about it:

# %%
import inspect

print(inspect.getsource(Float16OnCpu.create_accelerator_and_postprocess))

# %% [markdown]
# Now the loss of 0. What is logged when the filter of section 5 is off, and what do the
# log-probabilities say?

# %% tags=["digits-vary"]
unfiltered = dpo_trainer(**run, logging_nan_inf_filter=False, max_steps=2)
unfiltered.train()
training.log_table(unfiltered, (*FIELDS[:4], "logps/chosen"))

# %% [markdown]
# The loss is nan. The filter logs a window that holds only nan as 0 + 0. `grad_norm` is nan here, and
# also in [trl#1371](https://github.com/huggingface/trl/issues/1371) (the first Gemma, float16
# weights). Why the report says 0, we do not know. A step that DeepSpeed's own fp16 skips might log 0,
# but nobody has shown it.
#
# The article suspects a reward model. Is there one?

# %%
modules = [name for name, _ in broken.model.named_modules()]
no_head = not any("score" in name for name in modules)
first = logged(broken, "logps/chosen")[0]
print(f"a reward model: {not no_head}; log-probabilities at first: {first}")
dead = no_head and all_nan(logged(broken, "logps/chosen"))
nuance = "DPO has no reward model; its rewards are log-probabilities"
verdicts.judge("C13", "false", nuance, "section 15", holds=dead, show=False)

# %% [markdown]
# ## 16. Deeper look: a run you have not seen (20 minutes)
#
# **Exercise 05.8, 12 minutes, a diagnosis and a small function, 6 points.** `draw` hands you somebody
# else's run, which runs on the CPU. `patient.trainer()` builds its Trainer again,
# `patient.trainer(fp16=False)` builds its float32 twin, and `patient.batch(trainer)` gives the first
# batch. What is its log? (`draw(SEED + 1)` hands you another one, when you are done.)

# %%
patient = ex.UNSEEN.draw(SEED)
patient

# %% tags=["digits-vary"]
ill = patient.trainer()
ill.train()
training.log_table(ill)

# %% [markdown]
# Where does a number leave float16, and why? You have `trace_step`, `profile_ranges` on the twin, and
# the code of `ill`. If an instrument finds nothing, ask which part of the run it did not look at. Add
# cells as you need them.

# %% tags=["solution"]
fresh = patient.trainer()
report = trace_step(fresh, patient.batch(fresh))
print(report.operation, "in", report.module)
print(report.line.partition(" = ")[2])
twin = patient.trainer(fp16=False)
print(profile_ranges(twin, patient.batch(twin)).headline.partition(": ")[2])
if report.module.endswith("mlp"):
    mlp = twin.model.get_submodule(report.module)
    for name in ("gate_proj", "up_proj"):
        rows = getattr(mlp, name).weight.detach().abs().amax(dim=1)
        times = rows.max().item() / rows.median().item()
        print(f"{name}: largest row {times:.0f} times the typical one")

# %% [markdown]
# Write `fix_run(trainer)`. It is given a Trainer that has just been built, and it changes the model, or
# how the trainer computes, in place. Arguments, data, scaler and the choice of what is trained (the
# adapters) stay. The check trains on three seeds. The losses and the first gradient of the adapters
# must be those of the float32 twin, and at least 85% of the matrix products must stay in float16.


# %%
def fix_run(trainer):
    """Fix that place, and nothing else."""
    ### BEGIN SOLUTION
    place = "base_model.model.model.layers.2.mlp"
    mlp = trainer.model.get_submodule(place)
    rows = mlp.up_proj.weight.data.abs().amax(dim=1)
    loud = rows.argmax()
    times = 2.0 ** (rows[loud] / rows.median()).log2().round()
    mlp.up_proj.weight.data[loud] /= times
    mlp.down_proj.weight.data[:, loud] *= times
    ### END SOLUTION


# %% [markdown]
# `place` is a module's dotted name, as the instruments or section 6 print it, or `"loss"`; `cause` is
# a letter from the ticket.

# %%
# {"place": "model.layers.0...", "cause": "a", "fix": fix_run}
### BEGIN SOLUTION
# Other seeds draw other runs; for those, take the course's answer.
diagnosis = (
    {"place": "model.layers.2.mlp", "cause": "d", "fix": fix_run} if SEED == 0 else ex.UNSEEN.answer
)
### END SOLUTION

# %%
ex.UNSEEN.check(diagnosis)

# %% [markdown]
# ## 17. The verdicts

# %%
verdicts.table()

# %% [markdown]
# Here is the failure in the library versions of that time and in yours. `course era 05` runs the reported
# script in both. (The thread ends with the advice to use bfloat16.)

# %%
from course_utils.reproductions import eras

eras.row("05")

# %% [markdown]
# In three lines:
#
# * The forward pass left float16's range, in the cast at the end of a norm with a large gain.
# * A gradient scaler can only change gradients; a nan loss halves its scale to 0.
# * The norms in float32, or a smaller stream: with either, float16 is closer to float32 than bfloat16.
#
# Further reading: [trl#3236](https://github.com/huggingface/trl/issues/3236), Zhang and Sennrich
# (2019) on [RMSNorm](https://arxiv.org/abs/1910.07467), Micikevicius et al. (2018) on [mixed
# precision](https://arxiv.org/abs/1710.03740).

# %%
ex.progress()
