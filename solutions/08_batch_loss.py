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
# # The loss that depends on the batch
#
# After 140 minutes (about 120 without section 12, which stands on its own) you will be able to
#
# * **predict** from lengths and losses what a mean of means does to a gradient,
# * **measure** whether a run's gradient depends on micro-batches and ranks, and name the factor,
# * **mend** a Trainer, and say which replies a GRPO loss makes longer.
#
# Everything runs on a CPU in seconds.

# %% tags=["parameters"]
MODEL = "tiny"
DEVICE = "cpu"  # sums are compared to the last digits
SEED = 0
FAST = False
STRICT = False

# %%
from course_utils.lesson import TODO, start

ex = start("08", strict=STRICT)

import matplotlib.pyplot as plt
import torch
from transformers import Trainer

from course_utils.concepts import lesson_08 as concepts
from course_utils.diagnostics import compare_splits
from course_utils.lesson.expected_failures import expect_symptom
from course_utils.reproductions.lesson_08 import (
    batch_loops,
    batch_loss,
    batch_training,
    batch_trl,
    length_bias,
    two_ranks,
)
from course_utils.reproductions.lesson_08.batch_loss import num_targets, token_losses
from course_utils.shown import plotting
from course_utils.shown.report import Table

ex

# %% [markdown]
# ## 1. The report
#
# October 2024 ([trl#2175](https://github.com/huggingface/trl/issues/2175)): 1 row times 32 accumulation
# steps trains worse than 32 rows at once. Then came the repairs: a loss "5x to 10x higher"
# ([transformers#34263](https://github.com/huggingface/transformers/issues/34263)), one that is G times
# too large ([transformers#37766](https://github.com/huggingface/transformers/issues/37766)).
#
# Our sixteen rows are of two kinds: the larger of two numbers, and counting on. The loss of a step can be
# the mean over all tokens (token mean), or the mean over the rows of each row's own mean (mean of means).

# %%
rows = batch_loss.mixed_rows(SEED)
counts = [num_targets(row) for row in rows]
concepts.who_is_heard(counts)

# %% [markdown]
# Rows are cut into micro-batches. "4 x 4" will mean: 4 rows in a micro-batch, 4 micro-batches a step. G is
# the number of micro-batches; "targets" are the tokens that are in the loss.
#
# ## 2. The suspects
#
# What threads, posts and blogs say. Nothing is marked yet.

# %%
verdicts = ex.verdicts
verdicts.suspects()

# %% [markdown]
# Commit before the evidence: one mark a claim, C1 to C16 in order: `t` true, `p` true in some cases only,
# `f` false, `!` behind it where you are sure, `-` to leave one out.

# %%
### BEGIN SOLUTION
my_votes = "t p t p t! t f p t t! t! t p t t p"
### END SOLUTION
verdicts.vote(my_votes)

# %% [markdown]
# ## 3. Predict
#
# Sixteen rows in one micro-batch, or in sixteen of one row; the loss is the mean of its micro-batch. How alike
# are the two gradients: a) equal, but for float error, b) one direction, another length, c) another
# direction? Put a letter in place of `TODO`.

# %%
### BEGIN SOLUTION
my_guess = "b"
### END SOLUTION
ex.ALIKE.predict(my_guess)

# %% [markdown]
# ## 4. Break it
#
# Today's Trainer with a loss of our own, as people write it: the mean of what it is given. The argument
# `num_items_in_batch` is accepted, in `**more`, as threads advise, and not used. `token_losses` is a cross-entropy with
# a small penalty, so that no stock loss will do: one number for each target. A mean is not yet divided for
# gradient accumulation, and `loss_is_scaled_for_ga = False` says so to the Trainer, which then divides by G.


# %%
class Ours(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **more):
        labels = inputs.pop("labels")
        out = model(**inputs)
        loss = token_losses(out.logits, labels).mean()
        return (loss, out) if return_outputs else loss


class Told(Ours):
    loss_is_scaled_for_ga = False


# %% [markdown]
# One optimizer step on the same sixteen rows, cut three ways, without clipping. `first_step` gives the
# gradient that the optimizer gets, and the logged loss.

# %%
SIZES = (16, 1) if FAST else (16, 4, 1)
kinds = {"Trainer as it is": Trainer, "Ours": Ours, "Ours, told": Told}
steps = {
    name: {n: batch_loss.first_step(n, 16 // n, cls, rows=rows) for n in SIZES}
    for name, cls in kinds.items()
}

# %%
from course_utils.reproductions.lesson_08.batch_loss import cosine, distance, ratio


def against_all_at_once(step, whole):
    one, other = step.gradient, whole.gradient
    off = distance(one, other)
    off = f"{off:.2g}" if off > 1e-5 else "0"
    close = f"{cosine(one, other):.3f}", f"{ratio(one, other):.3g}"
    return *close, off, f"{step.loss:.2f}"


lines = [
    (name, f"{n} x {16 // n}", *against_all_at_once(step, cut[16]))
    for name, cut in steps.items()
    for n, step in cut.items()
]
columns = ("loss", "cut", "cosine", "norm", "difference", "logged")
Table(columns=columns, rows=lines)

# %% [markdown]
# "Difference" is relative to the gradient of all rows at once. The stock loss is the same for every cut.
# Ours points elsewhere, and is far too long. Told to divide by G it is sixteen times shorter, its log looks
# ordinary, and its direction is as wrong as before.

# %%
stock, ours, told = steps.values()
wrong_way = cosine(told[1].gradient, told[16].gradient)
ex.ALIKE.recall("c", holds=wrong_way < 0.6)
expect_symptom("one row at a time is another gradient", holds=wrong_way < 0.6)
too_long = ratio(ours[1].gradient, told[1].gradient)
nuance = "true of sums; the mean of means is another gradient"
holds = distance(stock[1].gradient, stock[16].gradient) < 1e-5
verdicts.judge("C1", "partly", nuance, "section 4", holds=holds)
nuance = "Ours accepts it and is wrong in direction and length"
holds = abs(too_long - 16) < 0.1
verdicts.judge("C7", "false", nuance, "section 4", holds=holds)

# %% [markdown]
# The first answer in the thread was float error. Is it? The same in double precision.

# %%
from course_utils import zoo

double = []
for n in (1, 16):
    fine = zoo.load_policy(MODEL, device="cpu").double()
    step = batch_loss.first_step(n, 16 // n, Told, rows=rows, model=fine)
    double.append(step)
float_error = distance(stock[1].gradient, stock[16].gradient)
still = distance(*(step.gradient for step in double))
print(f"in float64 the difference is {still:.2f}")
print(f"float32 alone makes less than 1e-5: {float_error < 1e-5}")
nuance = "float64 changes nothing"
verdicts.judge("C4", "false", nuance, "section 4", holds=still > 0.5)

# %% [markdown]
# ## 5. Four numbers
#
# Micro-batch one has the token losses [4, 2], micro-batch two [1, 1, 1, 1]. The mean over all tokens is
# 10/6. The mean of the means is (3 + 1)/2 = 2. Padding counted, it is 10/8. A sum is 10.
#
# **Exercise 08.1, 4 minutes, two lines, 3 points.** Write `parts(losses)`: a list of 1-d tensors, the token
# losses of each micro-batch of a step. Return a list of as many 0-d tensors, together the token mean. The
# loop calls `.backward()` on each while its own graph is there. A micro-batch may be empty.


# %%
def parts(losses):
    """What each micro-batch adds to the loss."""
    ### BEGIN SOLUTION
    count = sum(one.numel() for one in losses)
    return [one.sum() / count for one in losses]
    ### END SOLUTION


# %%
ex.PARTS.check(parts)

# %% [markdown]
# The other way round: under a mean of means, whose tokens weigh too much?
#
# **Exercise 08.2, 5 minutes, a few lines, 3 points.** Write `weights(counts, size)`: `counts` is a 1-d
# tensor of integers, the targets (at least one) of each row; `size` rows in order make a micro-batch, the
# last may be shorter. Each micro-batch is averaged over its targets, then the G means are. Return a 1-d float
# tensor: for each row what one of its tokens weighs as a multiple of its due; 1.0 is the token mean.


# %%
def weights(counts, size):
    """How many times its due a token of each row weighs."""
    ### BEGIN SOLUTION
    micro = counts.split(size)
    own = [counts.sum() / (len(micro) * one.sum()) for one in micro]
    sizes = torch.tensor([len(one) for one in micro])
    return torch.stack(own).repeat_interleave(sizes)
    ### END SOLUTION


# %%
ex.WEIGH.check(weights)

# %%
weigh = ex.WEIGH.answer
found = {n: weigh(torch.tensor(counts), n) for n in (1, 4, 16)}
for n, weight in found.items():
    low, high = weight.min().item(), weight.max().item()
    print(f"{n:2} x {16 // n:2}: {low:.2f} to {high:.2f} times its due")

# %% [markdown]
# A micro-batch of short rows alone weighs as much as a single short row does: its count is as small beside
# the others.

# %% [markdown]
# ## 6. Bound it, then predict its sign
#
# Let each row have l targets and the mean m: of its losses, or of their gradients. Then
#
# mean of means - token mean = -cov(l / mean(l), m)
#
# exactly, with one row in a micro-batch; with more, over micro-batches. So the spread of the lengths times
# that of m bounds it, and how the two go together decides. A check on the losses of our rows, and
# of the same rows where every short answer is "no", which this model never says:

# %%
model = zoo.load_policy(MODEL, device="cpu")


def error_and_covariance(given):
    with torch.no_grad():
        sums, num = batch_training.row_losses(model, given)
    relative, mean = num / num.double().mean(), sums.double() / num
    error = mean.mean() - sums.double().sum() / num.sum()
    covariance = (relative * mean).mean() - relative.mean() * mean.mean()
    bound = relative.std(correction=0) * mean.std(correction=0)
    return float(error), -float(covariance), float(bound)


# %% tags=["digits-vary"]
no = batch_loss.row("12?34=", "no")
says_no = [no if num_targets(row) < 20 else row for row in rows]
signed = {
    "ours": error_and_covariance(rows),
    'short ones say "no"': error_and_covariance(says_no),
}
lines = [(name, *(f"{x:.6f}" for x in line)) for name, line in signed.items()]
columns = ("rows", "mean of means - token mean", "- covariance", "bound")
Table(columns=columns, rows=lines)

# %% [markdown]
# The short rows win either way. Where the model knows them, the loss looks too low; where it does not, too
# high.
#
# **Exercise 08.3, 4 minutes, six letters, 3 points.** For each batch: is the mean of means a) higher,
# b) lower, c) the same as the token mean?

# %%
batches = {
    "1": ("1 row", (2, 40), (5.0, 1.0)),
    "2": ("1 row", (2, 40), (1.0, 5.0)),
    "3": ("1 row", (9, 9, 9), (0.1, 4.0, 2.0)),
    "4": ("1 row", (2, 40, 90), (3.0, 3.0, 3.0)),
    "5": ("1 row, padded to 40", (2, 40), (5.0, 1.0)),
    "6": ("2 rows", (2, 40, 40, 2), (5.0, 1.0, 3.0, 0.5)),
}
lines = [(name, *map(str, batch)) for name, batch in batches.items()]
columns = ("batch", "micro-batch", "targets of the rows", "their mean losses")
Table(columns=columns, rows=lines)

# %%
# A dict of six letters, for example {"1": "a", "2": "a", ...}
### BEGIN SOLUTION
signs = dict(zip("123456", "abccac", strict=True))
### END SOLUTION

# %%
ex.SIGN.check(signs)

# %% [markdown]
# And in gradients? Sixteen rows of one kind (random digits) with lengths ever less alike, and ours, whole
# and cut short. CV is the standard deviation of the numbers of targets over their mean.
#
# `cut(rows, n)` cuts rows into micro-batches of n; `TrainerStep(trainer)` is a function that makes the Trainer's
# own backward passes of one step on them, without an update. `gradient_N` is what it leaves: all N weights'
# gradients in one row.

# %%
import random

from course_utils.diagnostics.splits.stepping import TrainerStep, cut


def one_kind(spread, draw):
    lengths = [round(10 * draw.lognormvariate(0, spread)) for _ in rows]
    digits = ["".join(draw.choices("0123456789", k=max(1, n))) for n in lengths]
    return [batch_loss.row("say digits", text) for text in digits]


def error_of(given, width=0):
    """Spread of the lengths, and the error of a mean of means."""
    trainer = batch_loss.trainer(Told, given, width=width)
    step = TrainerStep(trainer)
    one, all_ = (step(cut(given, n)).gradient_N for n in (1, len(given)))
    lengths = torch.tensor([float(num_targets(row)) for row in given])
    return float(lengths.std() / lengths.mean()), distance(one, all_)


# %%
def cut_short(row):
    keep = len(row["labels"]) - max(0, num_targets(row) - 12)
    return {name: value[:keep] for name, value in row.items()}


draw = random.Random(SEED)
spreads = {f"one kind, spread {s}": s for s in (0.0, 0.1, 0.5, 1.2)}
errors = {name: error_of(one_kind(s, draw)) for name, s in spreads.items()}
errors["two kinds, cut at 12 targets"] = error_of([*map(cut_short, rows)])
errors["two kinds"] = error_of(rows)
errors["two kinds, padded to 128"] = error_of(rows, width=128)
lines = [(name, f"{cv:.2f}", f"{e:.3f}") for name, (cv, e) in errors.items()]
Table(columns=("rows", "CV of lengths", "difference, 1 x 16"), rows=lines)

# %% [markdown]
# The verdicts so far. Packing makes equal *lengths*. How many *targets* have packed windows of 128 tokens,
# where prompts are masked?

# %%
nuance = "minus the covariance of length and loss: either sign"
exact = all(abs(error - cov) < 1e-6 for error, cov, _ in signed.values())
low, high = (error for error, *_ in signed.values())
holds = exact and low < 0 < high
verdicts.judge("C3", "partly", nuance, "section 6", holds=holds)
wide = errors["one kind, spread 1.2"]
narrow = errors["two kinds, cut at 12 targets"]
nuance = "it bounds the error; what goes with length decides"
holds = wide[0] > narrow[0] and wide[1] < narrow[1]
verdicts.judge("C5", "partly", nuance, "section 6", holds=holds)
equal = errors["one kind, spread 0.0"][1]
padded = errors["two kinds, padded to 128"][1]
nuance = "equal numbers of targets are; padding changes nothing"
holds = equal < 1e-5 and abs(padded - errors["two kinds"][1]) < 0.01
verdicts.judge("C8", "partly", nuance, "section 6", holds=holds)

# %%
stream = [label for row in rows * 4 for label in row["labels"]]
windows = [stream[at : at + 128] for at in range(0, len(stream) - 127, 128)]
targets = [sum(label != -100 for label in window) for window in windows]
print("targets of the packed windows:", targets)
all_targets = {len(window) for window in windows}
print("if every token were one:", *all_targets, "each")
nuance = "where every token is a target; with masked prompts not"
holds = len(all_targets) == 1 and max(targets) > min(targets)
verdicts.judge("C9", "partly", nuance, "section 6", holds=holds)

# %% [markdown]
# ## 7. An instrument
#
# A step may also be shared by several processes, called ranks; DDP (DistributedDataParallel) averages their
# gradients. `compare_splits(trainer)` takes rows from your Trainer, asks it for its gradient at several cuts,
# or splits, on one rank and on two (played in one process), and names the factor. Nothing is trained, and
# the run is left as it was. Eight rows will do.

# %%
eight = batch_loss.mixed_rows(SEED, long=2, short=6)
compare_splits(batch_loss.trainer(Ours, eight), eight)

# %% [markdown]
# `weights` is wrong where tokens of a small micro-batch weigh more. `factor` is what is left: the length
# beside the mean of what each micro-batch gives as a step of its own, which has the same weights. `?` in both:
# no such mean and no factor explains the gradient. `sizes=(2, 1)` are the rows of a micro-batch to try,
# `num_ranks=(1, 2)` the numbers of ranks.

# %% [markdown]
# For a loop of your own: `compare_splits(step, rows, model=model)`, where `step(micro_batches)` makes the
# backward passes of one optimizer step.
#
# **Exercise 08.4, 8 minutes, six letters, 4 points.** Six loops; find out by measuring, not reading, what
# each does. `batch_loops.token_mean(model, rows)` is the right loss of all rows, with its graph.
#
# * a) it is right
# * b) its weights depend on the cut, and no factor does
# * c) its weights are right, and a factor depends on the cut
# * d) both depend on the cut
# * e) neither does, and it is not right
# * f) its gradient is not a sum over the micro-batches

# %% tags=["digits-vary"]
model = zoo.load_policy(MODEL, device="cpu")
loops = batch_loops.loops(model)
sizes = (1,) if FAST else (2, 1)
for name in loops:
    found = compare_splits(loops[name], eight, model=model, sizes=sizes)
    print(f"Loop {name}\n{found.table()}\n")

# %% [markdown]
# Clean tables have two meanings. Tell them apart: the norm of each gradient, all rows at once, over that
# of `token_mean`.


# %%
def norm_of(step):
    model.zero_grad()
    step([eight])
    grads = [w.grad.flatten() for w in model.parameters()]
    return torch.cat(grads).norm().item()


def right_step(micro_batches):
    batch_loops.token_mean(model, micro_batches[0]).backward()


right = norm_of(right_step)
for name, loop in loops.items():
    print(f"Loop {name}: {norm_of(loop) / right:.3f} times the norm")

# %%
# A dict of six letters, for example {"1": "a", "2": "a", ...}
### BEGIN SOLUTION
loops_are = dict(zip("123456", "bfceda", strict=True))
### END SOLUTION

# %%
ex.LOOPS.check(loops_are)

# %% [markdown]
# ## 8. Mend it
#
# What the Trainer does for its compute_loss: it hands in `num_items_in_batch`, the targets of the whole step
# on **all** ranks (in evaluation, of the batches evaluated together), and once it does so, it does not divide
# by G. The ranks' gradients and losses are averaged afterwards; `self.accelerator.num_processes` is the
# number of ranks.
#
# "On all ranks" is the setting `average_tokens_across_devices=True`, the default; the exercise keeps it.
# An evaluation takes the labels before the call, and the logits from what you return.

# %% [markdown]
# **Exercise 08.5, 10 minutes, a few lines, 5 points.** Write the function `compute_loss` for a Trainer with
# our loss, the mean of `token_losses` over all targets. Its gradient is the same for every cut and every
# number of ranks. Where `num_items_in_batch` is None, the batch has its own mean. With `return_outputs=True`
# return a pair: the loss, and what the model returned. The model keeps its mode. You may take keys out of
# `inputs`; the tensors under them keep their numbers.


# %%
def compute_loss(self, model, inputs, return_outputs=False, **more):
    """The mean of token_losses over all targets, whoever holds them."""
    ### BEGIN SOLUTION
    labels, count = inputs.pop("labels"), more.get("num_items_in_batch")
    out = model(**inputs)
    losses = token_losses(out.logits, labels)
    share = 1 / len(losses)
    if count is not None:
        share = self.accelerator.num_processes / count
    loss = losses.sum() * share
    return (loss, out) if return_outputs else loss
    ### END SOLUTION


# %%
ex.MEND.check(compute_loss)


# %% tags=["digits-vary"]
class Mended(Trainer):
    compute_loss = ex.MEND.answer


mended = batch_loss.trainer(Mended, eight)
print(compare_splits(mended, eight, num_ranks=(1, 2, 4)))

# %% [markdown]
# And with the other setting, where each rank is handed its own count?

# %% tags=["digits-vary"]
setting = {"average_tokens_across_devices": False}
each_alone = batch_loss.trainer(Mended, eight, **setting)
print(compare_splits(each_alone, eight, sizes=(1,), num_ranks=(2,)))

# %% [markdown]
# A mean of means over the ranks, which no factor mends: keep the default. The number of ranks comes on top
# if `compute_loss` multiplies by it all the same; the stock one does so only if
# `self.args.average_tokens_across_devices` is true.

# %% [markdown]
# ## 9. Two processes
#
# The ranks so far were played in one process, which proves nothing until real ones agree. Here are two
# processes with gloo, as `torchrun` starts them, short rows first. (`accelerate launch --cpu
# --num_processes 2` started *one* for us, and none of its warnings said so: count them.)
#
# They are asked a second thing. A learning rate that falls linearly to 0 over twelve steps is given to
# `accelerator.prepare`. Predict: after six of the twelve it is a) half of the first, b) 0, c) the first.

# %%
### BEGIN SOLUTION
my_guess = "a"
### END SOLUTION
ex.RATE.predict(my_guess)

# %% [markdown]
# Four runs: the stock loss, with the count of all ranks and with `average_tokens_across_devices=False`;
# `MeanToldSo`, which is `Told` in a module; `RanksForgotten`, the sum over `num_items_in_batch` and no more.

# %%
HOME = "course_utils.reproductions.lesson_08.batch_trainers"
runs = {
    "stock": "transformers:Trainer,8",
    "stock, each rank counts alone": "transformers:Trainer,8,local",
    "a mean, told so": f"{HOME}:MeanToldSo,8",
    "sum / count of all": f"{HOME}:RanksForgotten,8",
}
real = two_ranks.on_two_ranks(*runs.values(), seed=SEED)
print("processes:", real["processes"])

# %%
one_process = {n: (stock if "stock" in n else told)[16] for n in runs}
lines = [
    (
        name,
        cosine(real[run]["gradient"], one_process[name].gradient),
        ratio(real[run]["gradient"], one_process[name].gradient),
        real[run]["loss"],
    )
    for name, run in runs.items()
]
lines = [(n, f"{c:.3f}", f"{r:.3g}", f"{loss:.2f}") for n, c, r, loss in lines]
columns = ("two ranks, 8 x 1", "cosine", "norm", "logged")
Table(columns=columns, rows=lines, notes=("Beside one process, 16 x 1.",))

# %%
apart = real[runs["stock, each rank counts alone"]]["gradient"]
forgot = real[runs["sum / count of all"]]["gradient"]
nuance = "with equal counts; else it is a mean of means over ranks"
holds = equal < 1e-5 and distance(apart, stock[16].gradient) > 0.1
verdicts.judge("C11", "partly", nuance, "section 9", holds=holds)
nuance = "the factor is put in by the stock compute_loss alone"
holds = abs(ratio(forgot, told[16].gradient) - 0.5) < 1e-3
verdicts.judge("C12", "false", nuance, "section 9", holds=holds)

# %%
rates = real["lr"]
lines = [
    (name, ", ".join(f"{rate:.2f}" for rate in rates[prepared]))
    for name, prepared in (("prepared", True), ("not prepared", False))
]
ex.RATE.recall("b", holds=rates[True][5] == 0)
nuance = "by design: for lengths counted before the loader is shared"
holds = rates[True][5] == 0 and abs(rates[False][5] - 0.5) < 1e-6
verdicts.judge("C16", "partly", nuance, "section 9", holds=holds)
Table(columns=("scheduler", "lr of twelve steps"), rows=lines)

# %% [markdown]
# The ranks' gradients are averaged. So a rank that divides its sum by the count of all N ranks gives an N-th
# of its share, and has to multiply by N.
#
# The rate: Accelerate assumes that the schedule's length counts batches of the whole data set, which N ranks use up
# N times as fast ([accelerate#2926](https://github.com/huggingface/accelerate/issues/2926)). If you count
# optimizer steps, multiply by `num_processes`, or do not prepare it. Trainer does not prepare its own.

# %% [markdown]
# ## 10. Does Adam not divide it away?
#
# One step of AdamW and of SGD on two of the gradients above: what is the update's size, and its direction?


# %%
def update(optimizer, gradient):
    weight = torch.zeros_like(gradient, requires_grad=True)
    weight.grad = gradient.clone()
    optimizer([weight], lr=1e-3).step()
    return weight.detach()


lines, cosines = [], {}
for optimizer in (torch.optim.AdamW, torch.optim.SGD):
    name, due = optimizer.__name__, update(optimizer, told[16].gradient)
    for what, step in (("told", told[1]), ("Ours", ours[1])):
        mine = update(optimizer, step.gradient)
        cosines[name, what] = cosine(mine, due), ratio(mine, due)
        close = (f"{number:.3g}" for number in cosines[name, what])
        lines.append((name, f"{what}, 1 x 16", *close))
Table(columns=("optimizer", "gradient", "cosine", "size"), rows=lines)

# %% [markdown]
# AdamW takes out the factor and keeps the weights. SGD, a threshold on grad_norm, or whoever reads the log,
# gets all of it.
#
# Do the weights matter to the model? Two runs that differ in nothing else learn both kinds of rows.

# %%
same = abs(cosines["AdamW", "Ours"][1] - cosines["AdamW", "told"][1]) < 0.01
nuance = "true of a factor; not of the weights, and not with SGD"
kept = cosines["AdamW", "Ours"][0] < 0.9
holds = same and kept and cosines["SGD", "Ours"][1] > 5
verdicts.judge("C10", "partly", nuance, "section 10", holds=holds)
NUM_STEPS = 5 if FAST else 15
learn, both = batch_training.learn, batch_training.WEIGHTINGS
learnt = {name: learn(name, SEED, NUM_STEPS) for name in both}

# %% tags=["digits-vary"]
fig, ax = plt.subplots(figsize=(7, 3), layout="constrained")
curves = {name: run.long for name, run in learnt.items()}
meanings = {"token mean": "alive", "mean of means": "suspicious"}
plotting.draw_curves(ax, learnt["token mean"].steps, curves, meanings=meanings)
ax.set(xlabel="step", ylabel="held-out loss, nats a token")
ax.set_title("Long rows are learnt more slowly")
last = {name: run.long[-1] for name, run in learnt.items()}
short = {name: run.short[-1] for name, run in learnt.items()}
long, short = (
    ", ".join(f"{loss:.2f} ({name})" for name, loss in end.items()) for end in (last, short)
)
plotting.show(fig, f"Long rows end at {long}, short rows at {short}.")

# %% [markdown]
# Long rows are learnt more slowly, and short ones faster (one seed here, five in
# `tests/reproductions/test_lesson_08_runs.py`). Which of the two is wanted is a choice; the fault is that the size of a
# micro-batch makes it. Where lengths are equal nothing changes (section 6). No benefit on a large model is
# shown here.

# %% [markdown]
# ## 11. Read the log
#
# Two faults were one in most posts: wrong weights (until 4.45), and a factor G on top wherever the new
# count was not used (4.46 on).

# %% [markdown]
# **Exercise 08.6, 5 minutes, four numbers, 3 points.** A number of the run's settings, or its inverse, may
# stand in the log as a factor: which? Give 1 for none. What is left, once it is out, is the weights. Log 1
# is one of four runs with 128 rows a step; the others, on 4 ranks, had 16, 8 and 1 rows in a micro-batch,
# G = 2, 4 and 32, and logged 6.4, 13.65 and 138.

# %% [markdown]
# | log | setting | logged | right |
# | --- | --- | --- | --- |
# | 1 | 8 ranks, 1 row in a micro-batch, G = 16 ([LLaMA-Factory#7443](https://github.com/hiyouga/LLaMA-Factory/issues/7443)) | 69 | not known |
# | 2 | two ranks, G = 8, a custom loss: the sum of the rank over the count of both | 6.295 | 12.590 |
# | 3 | transformers 4.45, G = 16 | 7.82 | 12.59 |
# | 4 | transformers 4.48.0, G = 4 | 42.7 | 12.59 |

# %%
# A dict of four numbers, for example {"1": 1, "2": 1, "3": 1, "4": 1}
### BEGIN SOLUTION
factors = {"1": 16, "2": 1 / 2, "3": 1, "4": 4}
### END SOLUTION

# %%
ex.LOG.check(factors)

# %% [markdown]
# `course era 08` runs the report in versions of both faults.

# %%
from course_utils.reproductions import eras

eras.row("08")

# %%
parted = ours[1].loss / told[1].loss
nuance = "two faults: weights, either way, and a factor G since 4.46"
holds = abs(parted - 16) < 0.1 and told[1].loss < told[16].loss
verdicts.judge("C2", "partly", nuance, "sections 4 and 11", holds=holds)
nuance = "closed for the stock loss; a custom mean has it, and a factor G"
closed = distance(stock[1].gradient, stock[16].gradient) < 1e-5
holds = closed and parted > 15
verdicts.judge("C6", "partly", nuance, "sections 4, 11", holds=holds)

# %% [markdown]
# What is left of the four runs of log 1, once the factor is out?

# %%
four_runs = ((4, 16, 2, 6.4), (4, 8, 4, 13.65), (8, 1, 16, 69), (4, 1, 32, 138))
lines = [(*map(str, run), f"{run[3] / run[2]:.2f}") for run in four_runs]
columns = ("ranks", "rows in a micro-batch", "G", "logged", "left")
Table(columns=columns, rows=lines)

# %% [markdown]
# The same where micro-batches have one row, whatever G and the ranks; less with more rows. A mean of means
# does that, where short rows are the hard ones.

# %% [markdown]
# ## 12. The same formula in GRPO
#
# This section stands on its own: leave it out if you do no reinforcement learning.
#
# A reply's loss has weights, too. What does TRL's GRPOTrainer multiply one token of a reply by? Read off
# the gradient of its own loss, eight replies, advantage 1; times 1000.

# %%
lengths = [2, 2, 8, 8, 30, 30, 60, 60]
lines = []
for kind in length_bias.LOSS_TYPES:
    measured = 1000 * batch_trl.measured_weights(kind, lengths)
    lines.append((kind, *(f"{w:.2f}" for w in measured[::2].tolist())))
columns = ("loss_type", *(f"reply of {n}" for n in lengths[::2]))
Table(columns=columns, rows=lines)

# %% [markdown]
# `grpo` divides each reply by its own length; `bnpo` and `dapo` by a count, `dr_grpo` by a constant, the
# number of replies times the longest that is allowed. So a right reply (advantage above 0) gains more a
# token if it is short, a wrong one loses less if it is long.

# %% [markdown]
# A toy that can learn nothing but when to stop. Each reply begins with a token that is right or wrong, drawn,
# not learnt. After it, at every token, the policy stops or goes on; it has two numbers to train: the logit of
# stopping in replies that began right, and in those that began wrong. At first a reply has about 10 tokens;
# at 64 it is cut.

# %% [markdown]
# **Exercise 08.7, 5 minutes, six letters, 3 points.** Predict: do they get a) shorter, b) longer, or
# c) does it go both ways, from seed to seed?
#
# | row | loss_type | right replies | reward | what |
# | --- | --- | --- | --- | --- |
# | 1 | grpo | half | 1 if right | right replies |
# | 2 | grpo | half | 1 if right | wrong replies |
# | 3 | grpo | 1 in 5 | 1 if right | all replies |
# | 4 | grpo | 9 in 10 | 1 if right | all replies |
# | 5 | dr_grpo | half | 1 if right | right replies |
# | 6 | grpo | half | drawn at random | all replies |

# %%
# A dict of six letters, for example {"1": "a", "2": "a", ...}
### BEGIN SOLUTION
drifts = dict(zip("123456", "abbacc", strict=True))
### END SOLUTION

# %%
ex.DRIFT.check(drifts)

# %%
KINDS = length_bias.LOSS_TYPES
cases = {f"{kind}, half right": {"loss_type": kind} for kind in KINDS}
cases |= {
    "grpo, half right, no 1/std": {"loss_type": "grpo", "scaled": False},
    "grpo, 1 in 5 right": {"loss_type": "grpo", "share_right": 0.2},
    "grpo, 9 in 10 right": {"loss_type": "grpo", "share_right": 0.9},
    "grpo, random reward": {"loss_type": "grpo", "neutral": True},
}
drifted = {name: length_bias.drift(**case) for name, case in cases.items()}


def spread(x):
    return f"{x.mean():.0f} ({x.min():.0f} to {x.max():.0f})"


# %%
lines = []
for name, one in drifted.items():
    lines.append((name, *map(spread, (one.right, one.wrong, one.all))))
columns = ("five seeds, tail after 300 steps", "right", "wrong", "all")
Table(columns=columns, rows=lines)

# %% [markdown]
# Adam turns noise into a walk of many tokens, so the mean length of one run says little. Look at the gap,
# right minus wrong: has it the same sign in every seed (purple), or does the sign change (blue)?

# %% tags=["digits-vary"]
gaps = {kind: drifted[f"{kind}, half right"].gap for kind in KINDS}
concepts.a_gap_for_each_seed(gaps)

# %% [markdown]
# 1/length pulls the two apart. `bnpo` has no such factor, and `dapo` leans to one side, too: why, comes
# below. And a random reward? All replies, twenty seeds:

# %%
both = drifted["grpo, 1 in 5 right"].all, drifted["grpo, 9 in 10 right"].all
nuance = "wrong ones, not right ones; the mean follows the majority"
apart = gaps["grpo"].max() < -50
holds = bool(both[0].min() > 20 and both[1].max() < 10 and apart)
verdicts.judge("C13", "partly", nuance, "section 12", holds=holds)
walk = length_bias.drift("grpo", 0.5, neutral=True, num_seeds=20).all
first = 1 / length_bias.STOP
num_shorter = int((walk < first).sum())
print(f"tail {spread(walk)} tokens; {num_shorter} of 20 below {first:.0f}")
nuance = "twenty seeds walk both ways"
holds = bool(walk.min() < first < walk.max())
verdicts.judge("C14", "false", nuance, "section 12", holds=holds)

# %% [markdown]
# And 1/std? The table has it: without, the gap is the same. It is a weight, too, but of a question: `grpo`
# divides the advantages of its replies by their standard deviation, Dr. GRPO does not. How much does a
# question weigh (mean size of its advantages), by how many of its 8 replies are right?

# %%
lines = []
for scaled in (True, False):
    sizes = []
    for num_right in (1, 2, 4, 6, 7):
        reward = (torch.arange(8) < num_right).double()
        sizes.append(length_bias.advantages(reward, scaled=scaled).abs().mean())
    relative = (f"{size / sizes[2]:.2f}" for size in sizes)
    lines.append(("reward - mean" + " over std" * scaled, *relative))
columns = ("advantage", "1 right", "2", "4", "6", "7 right")
Table(columns=columns, rows=lines, notes=("Beside a question half right.",))

# %% [markdown]
# A question that is almost decided has less of a say than one half right; 1/std gives it back a part. Which
# of the two is wanted is a choice, as is the weight of a long row; the cut has no part in it.
#
# And `bnpo` and `dapo`? A long reply is part of the count it is divided by: that of its micro-batch (16
# replies here), or of the step. With more replies the count is nearly a constant. `dapo`, twenty seeds, 64
# replies a step and 1024:

# %%
drift, groups = length_bias.drift, {}
for n in (8, 128):
    groups[n] = drift("dapo", num_groups=n, num_seeds=20).gap
for n, gap in groups.items():
    error = gap.std() / 20**0.5
    print(f"{8 * n:4} replies: gap {gap.mean():.1f}, +- {error:.1f}")
nuance = "nearly: its count goes with the lengths; less so in large batches"
few, many = (gap.mean().item() for gap in groups.values())
holds = few < -5 and many > few / 2
verdicts.judge("C15", "partly", nuance, "section 12", holds=holds)

# %% [markdown]
# All this needs a policy that *can tell* while it writes whether it is right, and many steps; of the real
# trainer we asked the weights only. Reported were replies that end as long gibberish, with TRL 0.16 and the
# loss that is `bnpo` today ([trl#3138](https://github.com/huggingface/trl/pull/3138)), and, with 1/length,
# replies that shrink ([VLM-R1#280](https://github.com/om-ai-lab/VLM-R1/issues/280)).
#
# And the cut? The eight rows as replies, or eight pairs, and TRL's own losses:

# %%
found = {}
for kind in ("grpo", "bnpo") if FAST else KINDS:
    grpo = batch_trl.grpo_trainer(kind)
    step = batch_trl.grpo_step(grpo)
    one = {"model": grpo.model, "sizes": (1,)}
    found[f"GRPO, {kind}"] = compare_splits(step, eight, **one)
for kinds_of_loss in (("sigmoid",), ("sigmoid", "sft")):
    dpo = batch_trl.dpo_trainer(*kinds_of_loss)
    name, one = " + ".join(kinds_of_loss), {"num_ranks": (1,), "sizes": (1,)}
    found[f"DPO, {name}"] = compare_splits(dpo, [*dpo.train_dataset], **one)
lines = [
    (name, "yes" if one.is_healthy else f"no: {one.worst.distance:.2f}")
    for name, one in found.items()
]
Table(columns=("TRL 1.16", "the same for every cut?"), rows=lines)

# %% [markdown]
# `grpo` is invariant and biased by length; `bnpo` is neither invariant nor unbiased. Two properties, to be
# asked for one by one. DPO's `sft` term is the mean over the tokens of its micro-batch, as `Ours` was.

# %%
verdicts.table()

# %% [markdown]
# ## 13. Next time
#
# * **Signature**: batch size or number of GPUs changes the result, with the same rows a step.
# * **Look first**: `print(compare_splits(trainer))`, before the run. A loss of a plain healthy size has no
#   all-clear to give.
# * **Guard**: divide each term's sum by that term's own count in the whole step.
# * **Two terms**: the Trainer hands in one count. Count the other in `get_batch_samples`, which sees all
#   micro-batches of the step, and add it up over the ranks.
# * **`bnpo`**: use `dapo`, which takes the count of the step.

# %% [markdown]
# On your own run: `from course_utils import diagnostics`, then `print(diagnostics.compare_splits(trainer))`. It
# costs about ten steps of eight rows, and some copies of the gradient on the CPU, with LoRA of the adapter
# alone. Dropout is off meanwhile. It runs in one process: for FSDP or ZeRO give the Trainer a small model of
# the same kind, because the loss is what is asked.

# %% [markdown]
# ## 14. A run you have not seen
#
# **Exercise 08.8, 10 minutes, a place, a letter and a few lines, 5 points.** A loop by hand; the seed
# decides which of three. Meant is the labels' mean plus half the teacher's mean. `run = patient.fresh()` makes
# the loop anew; it has `run.step`, `run.rows`, `run.model` for `compare_splits`. `run.gradient(micro_batches)`
# is what `run.step` leaves for the optimizer; `run.train(size)` gives the loss logged in each step.

# %%
patient = ex.UNSEEN.draw(SEED)
print(f"{patient}\n\n{patient.source()}")

# %%
run = patient.fresh()
print(compare_splits(run.step, run.rows[:8], model=run.model))

# %% [markdown]
# Put into `unseen` the place, the cause's letter and a function that takes the place of that part, with
# its arguments: `count(rows)`, `divide(sums, own, step, num_micro)` or `log(losses)`. `sums` and `own` are a
# micro-batch's losses and counts, added up by term; `step` is `own` added up over the micro-batches.
#
# Try it with `patient.fresh(1, **{"the part's name": my_part})`. The check trains other seeds, cut in several
# ways; some micro-batches have no label, and one whole step has none.


# %%
# For example {"place": "log", "cause": "f", "fix": my_part}
### BEGIN SOLUTION
def my_part(sums, own, step, num_micro):
    label = sums["label"] / max(step["label"], 1)
    return label + 0.5 * sums["teacher"] / step["teacher"]


unseen = {"place": "divide", "cause": "a", "fix": my_part}
### END SOLUTION

# %%
ex.UNSEEN.check(unseen)

# %% [markdown]
# **Exercise 08.9, 1 minute, two letters, 2 points.** 1) Runs with 1 x 32 and 32 x 1 differ. You look first
# at a) the loss curves, b) the learning rate, c) the gradient of one step at both cuts. 2) On N ranks with
# the count of all, each rank's sum / count is a) right, b) to be multiplied by N, c) to be divided by N.

# %%
# Two letters, for example {"1": "a", "2": "a"}
### BEGIN SOLUTION
quiz = {"1": "c", "2": "b"}
### END SOLUTION

# %%
ex.QUIZ.check(quiz)

# %% [markdown]
# In three lines:
#
# * Sums over the step's count add up, each term over its own; means do not.
# * Short micro-batches win; how much that matters goes with what is short.
# * A factor and weights are two faults; a log shows the first alone.
#
# Further reading: [trl#2175](https://github.com/huggingface/trl/issues/2175),
# [transformers#34191](https://github.com/huggingface/transformers/pull/34191),
# [understand-r1-zero](https://github.com/sail-sg/understand-r1-zero).

# %%
ex.progress()
