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
# After 60 minutes (sections 1 to 9) you will be able to
#
# * **say** what a loss has to divide by, so that a step's gradient does not depend on its split,
# * **measure** whether a run's gradient depends on micro-batches and ranks, and name the factor,
# * **fix** a Trainer and a loop, and prove the fix.
#
# Six deeper looks follow, 109 minutes in all: who is over-weighted, loops, ranks, Adam, logs, GRPO. Each
# stands on its own, and you may skip them. Everything runs on a CPU in seconds.

# %% tags=["parameters"]
MODEL = "tiny"
DEVICE = "cpu"  # sums are compared to the last digits
SEED = 0
FAST = False
STRICT = False

# %%
from course_utils.lesson import TODO, start

ex = start("08", strict=STRICT)
ex

# %%
import matplotlib.pyplot as plt
import torch
from transformers import Trainer

from course_utils import zoo
from course_utils.concepts import lesson_08 as concepts
from course_utils.diagnostics import compare_splits
from course_utils.lesson.expected_failures import expect_symptom
from course_utils.reproductions.lesson_08 import batch_loss, batch_training
from course_utils.reproductions.lesson_08.batch_loss import num_targets, token_losses
from course_utils.shown import plotting
from course_utils.shown.report import Table

# %% [markdown]
# ## 1. The report
#
# October 2024 ([trl#2175](https://github.com/huggingface/trl/issues/2175)): one row per micro-batch with 32
# accumulation steps trains worse than 32 rows at once. The first repairs brought new reports: a loss "5x to
# 10x higher" ([transformers#34263](https://github.com/huggingface/transformers/issues/34263)), and a loss
# that is too large by the number of accumulation steps
# ([transformers#37766](https://github.com/huggingface/transformers/issues/37766)).
#
# Our sixteen rows are of two kinds: "which of two numbers is larger" has a short answer, "count on from a
# number" a long one. A step's loss can be the mean over all tokens (**token mean**), or the mean of each
# row's own mean (**mean of means**). How much weight does each row get in each of the two? (With several rows
# in a micro-batch, people take the mean over its tokens, and then the mean over the micro-batches.)

# %%
rows = batch_loss.mixed_rows(SEED)
counts = [num_targets(row) for row in rows]
concepts.who_is_heard(counts)

# %% [markdown]
# The rows of a step are split into micro-batches. "4 x 4" means 4 rows per micro-batch and 4 micro-batches
# per step. G is the number of micro-batches in a step. "Targets" are the tokens that are in the loss.
#
# ## 2. The suspects
#
# This is what threads, posts and blogs say about it. Which of these claims are right is not marked yet.

# %%
verdicts = ex.verdicts
verdicts.suspects()

# %% [markdown]
# Vote before you see the evidence, one mark per claim, in the order shown: `t` true, `p` partly, `f` false.
# Add `!` where you are sure; `-` leaves one out. "Partly" is explained below the claims.
#
# C10 and C12 are judged in deeper looks, all others in the core.

# %%
### BEGIN SOLUTION
my_votes = "t t p t f p t! t p"
### END SOLUTION
verdicts.vote(my_votes)

# %% [markdown]
# ## 3. Predict
#
# Take sixteen rows in one micro-batch, or one row in each of sixteen micro-batches. The loss is the mean over
# the micro-batch. How similar are the two gradients: a) equal, except for float error, b) the same direction
# with another length, c) another direction? Put a letter in place of `TODO`.

# %%
### BEGIN SOLUTION
my_guess = "b"
### END SOLUTION
ex.ALIKE.predict(my_guess)

# %% [markdown]
# ## 4. Break it
#
# We use today's Trainer with a loss of our own, as many people write it: the mean over the micro-batch that
# it is given. As threads advise, it accepts `num_items_in_batch` (in `**more`). But it does not use it.
# `token_losses` is a cross-entropy plus a small penalty, so that in section 7 you cannot simply call the
# stock loss; it returns one number per target.
#
# A mean still has to be divided by G when gradients are accumulated. The model's `forward` takes extra
# arguments. From this the Trainer concludes that every loss, also ours, is divided by the count already.
# `loss_is_scaled_for_ga = False` tells it that ours is not, and the Trainer then divides it.


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
# Next comes one optimizer step on the same sixteen rows, split in three ways, without gradient clipping.
# `first_step` returns the gradient that the optimizer gets, and the logged loss. Which losses give the same
# gradient for every split?

# %%
SIZES = (16, 1) if FAST else (16, 4, 1)
kinds = {"Trainer as it is": Trainer, "Ours": Ours, "Ours, told": Told}
steps = {
    name: {n: batch_loss.first_step(n, 16 // n, cls, rows=rows) for n in SIZES}
    for name, cls in kinds.items()
}

# %%
from course_utils.reproductions.lesson_08.batch_loss import cosine, distance, ratio


# cosine and length of a gradient beside another, their difference, and the logged loss
def against_all_at_once(step, whole):
    one, other = step.gradient, whole.gradient
    off = distance(one, other)
    off = f"{off:.2g}" if off > 1e-5 else "0"
    close = f"{cosine(one, other):.3f}", f"{ratio(one, other):.3g}"
    return *close, off, f"{step.loss:.2f}"


# %%
lines = [
    (name, f"{n} x {16 // n}", *against_all_at_once(step, cut[16]))
    for name, cut in steps.items()
    for n, step in cut.items()
]
columns = ("loss", "cut", "cosine", "norm", "difference", "logged")
Table(columns=columns, rows=lines)

# %% [markdown]
# "Difference" is relative to the gradient of all rows at once. The stock loss gives the same gradient for
# every split. With `Ours`, one row at a time, the gradient has another direction and more than ten times the
# norm. Once the Trainer is told to divide by G, the gradient is exactly sixteen times shorter and the log
# looks ordinary, but the direction is as wrong as before.

# %%
stock, ours, told = steps.values()
wrong_way = cosine(told[1].gradient, told[16].gradient)
ex.ALIKE.recall("c", holds=wrong_way < 0.9)
expect_symptom("one row at a time is another gradient", holds=wrong_way < 0.9)

# %%
closed = distance(stock[1].gradient, stock[16].gradient) < 1e-5
too_long = abs(ratio(ours[1].gradient, told[1].gradient) - 16) < 0.1
too_high = abs(ours[1].loss / told[1].loss - 16) < 0.1
nuance = "the stock loss is; a mean of means has another gradient"
verdicts.judge("C1", "partly", nuance, "section 4", holds=closed and wrong_way < 0.9)
nuance = "the stock loss does so, and no split changes it"
verdicts.judge("C17", "true", nuance, "section 4", holds=closed)
nuance = "Ours: 16 times, and wrong weights; told: wrong weights alone"
verdicts.judge("C2", "partly", nuance, "section 4", holds=too_high and wrong_way < 0.9)

# %%
nuance = "for the stock loss; not for a mean of your own"
holds = closed and wrong_way < 0.9
verdicts.judge("C6", "partly", nuance, "section 4", holds=holds)
nuance = "Ours accepts it; its direction and its length are wrong"
verdicts.judge("C7", "false", nuance, "section 4", holds=too_long)

# %% [markdown]
# The first explanation in the thread was float error. If that is right, the difference shrinks in double
# precision. Does it?

# %%
double = []
for n in (1, 16):
    fine = zoo.load_policy(MODEL, device="cpu").double()
    step = batch_loss.first_step(n, 16 // n, Told, rows=rows, model=fine)
    double.append(step)
float_error = distance(stock[1].gradient, stock[16].gradient)
still = distance(*(step.gradient for step in double))
print(f"in float64 the difference is {still:.2f}")
print(f"float32 alone makes less than 1e-5: {float_error < 1e-5}")

# %%
nuance = "float64 changes nothing"
verdicts.judge("C4", "false", nuance, "section 4", holds=still > 0.5)

# %% [markdown]
# ## 5. Four numbers
#
# Micro-batch one has the token losses [4, 2], micro-batch two has [1, 1, 1, 1]. The mean over all tokens is
# 10/6. The mean of the two means is (3 + 1)/2 = 2. If micro-batch one were padded to four tokens, and the
# padding were counted, it would be 10/8. Only 10/6 stays the same for every split: divide the sum, 10, by the
# 6 targets of the step.

# %% [markdown]
# ## 6. An instrument
#
# A step may also be shared by several processes, called **ranks**. DDP (DistributedDataParallel) averages
# their gradients. `compare_splits(trainer)` takes rows from your Trainer and asks it for its gradient with
# several splits into micro-batches, on one rank and on two (both simulated in one process). Then it names the
# factor by which they differ. Nothing is trained, and the run is left as it was. Eight rows are enough. What
# does it say about `Ours`?

# %%
eight = batch_loss.mixed_rows(SEED, long=2, short=6)
found = compare_splits(batch_loss.trainer(Ours, eight), eight)
found

# %% [markdown]
# Read the table like this:
#
# * `weights` is "wrong" where tokens of a small micro-batch weigh more than others.
# * `factor`: a number by which the whole gradient is too long or too short, such as G or 1/G. To measure it,
#   the instrument first builds a mean with the same (wrong) weights. That has the same direction, so the
#   quotient of the two lengths is the factor.
# * `?` in both columns means that neither wrong weights nor a factor explains the gradient.
#
# By default it tries `sizes=(2, 1)` rows per micro-batch and `num_ranks=(1, 2)` ranks.

# %% [markdown]
# One row of the table has two ranks with one micro-batch each, so nothing is accumulated there. Does this row
# give the right gradient?

# %%
ranks = [one for one in found.compared if one.num_micro == 1 and one.num_ranks == 2]
nuance = "two ranks with a mean of their own are a mean of means, too"
holds = min(one.distance for one in ranks) > 0.01
verdicts.judge("C18", "true", nuance, "section 6", holds=holds)

# %% [markdown]
# ## 7. Fix it
#
# This is what the Trainer does for its `compute_loss`. It passes `num_items_in_batch`, the number of targets
# of the whole step on **all** ranks (the setting `average_tokens_across_devices=True`, the default). When it
# passes this count, it does not divide by G. Afterwards the gradients and the losses of the ranks are
# averaged. `self.accelerator.num_processes` is the number of ranks.
#
# An evaluation calls `compute_loss` too. There it passes either the number of targets in the batches that all
# ranks evaluate at that moment, or None. The Trainer keeps the labels for its metrics and reads the logits
# from what you return.

# %% [markdown]
# **Exercise 08.5, 12 minutes, a few lines, 5 points.** Write the function `compute_loss` for a Trainer with
# our loss: the mean of `token_losses` over all targets.
#
# * Its gradient is the same for every split and every number of ranks. The check simulates ranks in one
#   process, so ask `self.accelerator` for their number.
# * Where `num_items_in_batch` is None, it returns the batch's own mean.
# * With `return_outputs=True` it returns a pair: the loss, and what the model returned.
# * The model stays in the mode (train or eval) that it was in. You may remove keys from `inputs`; do not
#   change the tensors themselves.


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
class Fixed(Trainer):
    compute_loss = ex.MEND.answer


fixed = batch_loss.trainer(Fixed, eight)
print(compare_splits(fixed, eight, num_ranks=(1, 2, 4)))

# %% [markdown]
# ## 8. Next time
#
# * **Signature**: the batch size or the number of GPUs changes the result, with the same rows per step.
# * **Look first**: `print(compare_splits(trainer))` before the run. It costs about ten steps of eight rows,
#   in one process, without dropout. If FSDP or ZeRO shards your model over GPUs, use a small model of the
#   same architecture.
# * **Guard**: divide the sum of each term by that term's own count in the whole step. A term is one part of
#   the loss, such as cross-entropy or distillation.
# * **Two terms**: the Trainer passes one count. Count the other one in `get_batch_samples`, the Trainer's
#   method that fetches all micro-batches of the step, and add it up over the ranks.

# %% [markdown]
# ## 9. A run you have not seen
#
# **Exercise 08.8, 12 minutes, a place, a letter and a few lines, 5 points.** A hand-written loop with one of
# three faults, picked by SEED. Its rows have two kinds of targets: labels, and the scores of a second model,
# the teacher. The intended loss is the labels' mean plus half the teacher's mean. `run =
# patient.fresh()` builds the loop again from the start. It has `run.step`, `run.rows` and `run.model` for
# `compare_splits`. `run.gradient(micro_batches)` is the gradient that `run.step` leaves for the optimizer.
# `run.train(size)` returns the logged loss of each step.

# %%
patient = ex.UNSEEN.draw(SEED)
print(patient)

# %%
run = patient.fresh()
print(compare_splits(run.step, run.rows[:8], model=run.model).table())

# %% [markdown]
# Which causes fit this table? Then read the script: which of its parts makes what you saw?

# %%
print(patient.source())

# %% [markdown]
# Put three things into `unseen`: the place, the letter of the cause, and a function that replaces that part
# and takes the same arguments: `count(rows)`, `divide(sums, own, whole, num_micro)` or `log(losses)`. Per
# term, `sums` holds the sum of the losses of one micro-batch, `own` its number of targets, and `whole` the
# number of targets of all micro-batches of the step.
#
# Try it with `patient.fresh(1, **{"the part's name": my_part})`, where 1 is a seed. The check trains with other seeds and
# several splits. Some micro-batches have no label, and one whole step has none.


# %%
# For example {"place": "log", "cause": "f", "fix": my_part}
### BEGIN SOLUTION
def my_part(*given):
    sums, _, whole, _ = given
    label = sums["label"] / max(whole["label"], 1)
    return label + 0.5 * sums["teacher"] / whole["teacher"]


# Other seeds draw other runs; for those, take the course's answer.
unseen = {"place": "divide", "cause": "a", "fix": my_part} if SEED == 0 else ex.UNSEEN.answer
### END SOLUTION

# %%
ex.UNSEEN.check(unseen)

# %% [markdown]
# **Exercise 08.9, 1 minute, two letters, 2 points.** 1) Runs with 1 x 32 and 32 x 1 differ. What do you look
# at first: a) the loss curves, b) the learning rate, c) the gradient of one step with both splits? 2) On N
# ranks, each rank returns its sum divided by the number of targets on all ranks. This is a) right, b) to be
# multiplied by N, c) to be divided by N.

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
# * Divide each micro-batch's sum by the count of the whole step: these parts add up to the token mean, and
#   means of micro-batches do not. Each term needs its own count.
# * Small micro-batches are over-weighted. How much that matters depends on what their short rows hold.
# * A factor and wrong weights are two faults. A log shows only the factor.
#
# Further reading: [trl#2175](https://github.com/huggingface/trl/issues/2175),
# [transformers#34191](https://github.com/huggingface/transformers/pull/34191),
# [understand-r1-zero](https://github.com/sail-sg/understand-r1-zero).

# %% [markdown]
# Here the core ends. The deeper looks below stand on their own: take those that you need, in any order. The
# last cells show every claim with its verdict; a claim of a look that you skipped is "not judged yet".

# %% [markdown]
# ## Deeper look A: who is over-weighted? (32 minutes, 6 points)
#
# If a loop takes a mean of means, which tokens weigh too much?

# %% [markdown]
# **Exercise 08.2, 5 minutes, a few lines, 3 points.** Write `weights(counts, size)`. `counts` is a 1-d tensor
# of integers, the number of targets of each row (at least one). Every `size` rows, in order, make a
# micro-batch; the last one may be shorter. Each micro-batch is averaged over its targets, and then the G
# means are averaged. Return a 1-d float tensor: for each row, the weight of one of its tokens, divided by the
# weight that this token has in the token mean. So 1.0 means "as in the token mean".


# %%
def weights(counts, size):
    """The weight of a row's token, relative to the token mean."""
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
    print(f"{n:2} x {16 // n:2}: a token weighs {low:.2f} to {high:.2f} times its share")

# %% [markdown]
# A micro-batch that holds only short rows is over-weighted as strongly as a single short row. Its mean counts
# as much as the mean of a micro-batch with many more tokens.

# %% [markdown]
# **How large is the error, and which sign has it?** Row i has l_i targets, and m_i is the mean over them, of
# its losses or of its gradients. Then
#
# mean of means - token mean = -cov(l_i / mean(l), m_i)
#
# where mean, covariance and standard deviation (sd) are taken over the rows. This is exact with one row per
# micro-batch; with more rows, take l and m per micro-batch. A covariance is at most the product of the two
# standard deviations, so |error| <= CV(l) * sd(m), where CV(l) = sd(l) / mean(l). The sign of the error is
# opposite to that of the correlation between l and m.

# %% [markdown]
# Here is a check on the losses of our rows, and of the same rows where every short answer is "no", which this
# model never says. Which way does the error go in each?

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
# Short rows are over-weighted in both cases. Where the model knows the short rows, their loss is low, so the
# mean of means is too low. Where it does not know them, it is too high.
#
# **Exercise 08.3, 4 minutes, six letters, 3 points.** For each batch below: is the mean of means a) higher
# than the token mean, b) lower, c) the same?

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
# Does the same hold for gradients? We take sixteen rows of one kind (random digits) whose lengths differ more
# and more, then our two kinds of rows, whole and cut short. The table shows the CV of the numbers of targets.
#
# `cut(rows, n)` splits rows into micro-batches of n rows. `TrainerStep(trainer)` is a function that runs the
# Trainer's own backward passes of one step on them, without an update. Its result has `gradient_N`, the
# gradients of all N weights in one flat tensor. Does the error grow with the CV alone?


# %%
def one_kind(spread, draw):
    lengths = [round(10 * draw.lognormvariate(0, spread)) for _ in rows]
    digits = ["".join(draw.choices("0123456789", k=max(1, n))) for n in lengths]
    return [batch_loss.row("say digits", text) for text in digits]


# %%
from course_utils.diagnostics.splits.stepping import TrainerStep, cut


def error_of(given, width=0):
    """Spread of the lengths, and the error of a mean of means."""
    trainer = batch_loss.trainer(Told, given, width=width)
    step = TrainerStep(trainer)
    one, all_ = (step(cut(given, n)).gradient_N for n in (1, len(given)))
    lengths = torch.tensor([float(num_targets(row)) for row in given])
    cv = lengths.std(correction=0) / lengths.mean()
    return float(cv), distance(one, all_)


# %%
def cut_short(row):
    keep = len(row["labels"]) - max(0, num_targets(row) - 12)
    return {name: value[:keep] for name, value in row.items()}


# %%
import random

draw = random.Random(SEED)
spreads = {f"one kind, spread {s}": s for s in (0.0, 0.1, 0.5, 1.2)}
errors = {name: error_of(one_kind(s, draw)) for name, s in spreads.items()}
errors["two kinds, cut at 12 targets"] = error_of([*map(cut_short, rows)])
errors["two kinds"] = error_of(rows)
errors["two kinds, padded to 128"] = error_of(rows, width=128)
lines = [(name, f"{cv:.2f}", f"{e:.3f}") for name, (cv, e) in errors.items()]
Table(columns=("rows", "CV of lengths", "difference, 1 x 16"), rows=lines)

# %% [markdown]
# Here are three verdicts. One question is open: packing makes all rows equally *long*. How many *targets* does
# a packed window of 128 tokens have when prompts are masked, and how much does one token weigh then?

# %%
nuance = "either sign: minus the covariance of length and loss"
exact = all(abs(error - cov) < 1e-6 for error, cov, _ in signed.values())
low, high = (error for error, *_ in signed.values())
holds = exact and low < 0 < high
verdicts.judge("C3", "partly", nuance, "deeper look A", holds=holds)
wide = errors["one kind, spread 1.2"]
narrow = errors["two kinds, cut at 12 targets"]
nuance = "the CV is only a bound; what goes with the length decides"
holds = wide[0] > narrow[0] and wide[1] < narrow[1]
verdicts.judge("C5", "partly", nuance, "deeper look A", holds=holds, seeds="8 of 10")
equal = errors["one kind, spread 0.0"][1]
padded = errors["two kinds, padded to 128"][1]
nuance = "equal numbers of targets are safe; padding does nothing"
holds = equal < 1e-5 and abs(padded - errors["two kinds"][1]) < 0.01
verdicts.judge("C8", "partly", nuance, "deeper look A", holds=holds)

# %%
stream = [label for row in rows * 4 for label in row["labels"]]
windows = [stream[at : at + 128] for at in range(0, len(stream) - 127, 128)]
targets = [sum(label != -100 for label in window) for window in windows]
print("targets of the packed windows:", targets)
all_targets = {len(window) for window in windows}
print("if every token were a target:", *all_targets, "each")

# %%
mean = sum(targets) / len(targets)
packed = f"{mean / max(targets):.2f} to {mean / min(targets):.2f}"
nuance = f"exact if every token is a target; masked prompts: weights of {packed}"
holds = len(all_targets) == 1 and max(targets) > min(targets)
verdicts.judge("C9", "partly", nuance, "deeper look A", holds=holds)

# %% [markdown]
# ## Deeper look B: seven loops (17 minutes, 7 points)
#
# First a loop that needs one line of yours.

# %% [markdown]
# **Exercise 08.1, 4 minutes, two lines, 3 points.** Write `parts(losses)`. `losses` is a list of 1-d tensors,
# the token losses of each micro-batch of a step. Return a list of as many 0-d tensors that add up to the
# token mean. The loop calls `.backward()` on each of them while the graph of that micro-batch is still there.
# A micro-batch may be empty.


# %%
def parts(losses):
    """Each micro-batch's part of the token mean."""
    ### BEGIN SOLUTION
    count = sum(one.numel() for one in losses)
    return [one.sum() / count for one in losses]
    ### END SOLUTION


# %%
ex.PARTS.check(parts)

# %% [markdown]
# `compare_splits` also takes a loop of your own: `compare_splits(step, rows, model=model)`, where
# `step(micro_batches)` runs the backward passes of one optimizer step.

# %% [markdown]
# **Exercise 08.4, 8 minutes, six letters, 4 points.** Here are six loops. Find out by measuring what each one
# does. `batch_loops.token_mean(model, rows)` is the correct loss of all rows, with its graph. A letter may
# occur twice, or not at all.
#
# * a) it is right
# * b) only its weights depend on the split
# * c) only a factor depends on the split
# * d) both the weights and a factor depend on the split
# * e) neither depends on the split, and it is wrong
# * f) its gradient is not a sum over the micro-batches

# %% tags=["digits-vary"]
from course_utils.reproductions.lesson_08 import batch_loops

model = zoo.load_policy(MODEL, device="cpu")
loops = batch_loops.loops(model)
sizes = (1,) if FAST else (2, 1)
for name in loops:
    found = compare_splits(loops[name], eight, model=model, sizes=sizes)
    print(f"Loop {name}\n{found.table()}\n")

# %% [markdown]
# A clean table can mean two things: the loop is right, or it is wrong in the same way for every split. To
# tell them apart, compare the norm of each loop's gradient, all rows at once, with the norm of the gradient
# of `token_mean`.


# %%
def norm_of(step):
    model.zero_grad()
    step([eight])
    grads = [w.grad.flatten() for w in model.parameters()]
    return torch.cat(grads).norm().item()


def right_step(given):
    batch_loops.token_mean(model, given[0]).backward()


right = norm_of(right_step)
for name, loop in loops.items():
    print(f"Loop {name}: {norm_of(loop) / right:.3f} times the norm")

# %%
# A dict of six letters, for example {"1": "a", "2": "a", ...}
### BEGIN SOLUTION
loops_are = dict(zip("123456", "cfceda", strict=True))
### END SOLUTION

# %%
ex.LOOPS.check(loops_are)

# %% [markdown]
# ## Deeper look C: ranks, simulated and real (15 minutes)
#
# Does the setting `average_tokens_across_devices` alone fix a custom loss? Here is the sum over the count of
# all ranks, without any other factor, on ranks that are simulated.


# %%
class Forgetful(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs.pop("labels")
        out = model(**inputs)
        loss = token_losses(out.logits, labels).sum() / num_items_in_batch
        return (loss, out) if return_outputs else loss


alone = compare_splits(batch_loss.trainer(Forgetful, eight), eight, sizes=(1,))
print(alone.table())

# %%
nuance = "a custom loss has to multiply by the ranks itself"
verdicts.judge("C12", "false", nuance, "deeper look C", holds=not alone.is_healthy)

# %% [markdown]
# So far the ranks were simulated in one process, which proves nothing until real ones agree. Here are two
# real processes with gloo, as `torchrun` starts them, short rows first. (`accelerate launch --cpu
# --num_processes 2` started only *one* process for us, and no warning said so. Count the processes on your
# machine.)
#
# They answer a second question, too. A learning rate that falls linearly to 0 over twelve steps is given to
# `accelerator.prepare`. Predict: after six of the twelve steps it is a) half of the first, b) 0, c) equal to
# the first.

# %%
### BEGIN SOLUTION
my_guess = "a"
### END SOLUTION
ex.RATE.predict(my_guess)

# %% [markdown]
# There are four runs: the stock loss with the count of all ranks; the stock loss with
# `average_tokens_across_devices=False`; `MeanToldSo`, which is `Told` in a module of its own; and
# `RanksForgotten`, which returns the sum over `num_items_in_batch` and nothing else. Which of them give the
# gradient of one process?

# %%
from course_utils.reproductions.lesson_08 import two_ranks

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
Table(columns=columns, rows=lines, notes=("Relative to one process, 16 x 1.",))

# %%
apart = real[runs["stock, each rank counts alone"]]["gradient"]
forgot = real[runs["sum / count of all"]]["gradient"]
nuance = "right with equal counts; else a mean of means over ranks"
holds = distance(apart, stock[16].gradient) > 0.1
verdicts.judge("C11", "partly", nuance, "deeper look C", holds=holds)
half = abs(ratio(forgot, told[16].gradient) - 0.5) < 1e-3
expect_symptom("a sum over the count of all is half as long on two ranks", holds=half)

# %% [markdown]
# Where each rank counts alone, the result is a mean of means over the ranks, and no factor can repair it:
# keep the default. A `compute_loss` that multiplies by the number of ranks all the same makes the gradient
# too large by that number as well. The stock one multiplies only if
# `self.args.average_tokens_across_devices` is true.
#
# And the learning rate?

# %%
rates = real["lr"]
lines = [
    (name, ", ".join(f"{rate:.2f}" for rate in rates[prepared]))
    for name, prepared in (("prepared", True), ("not prepared", False))
]
Table(columns=("scheduler", "lr of twelve steps"), rows=lines)

# %%
ex.RATE.recall("b", holds=rates[True][5] == 0)
nuance = "it does, by design: count the schedule before prepare"
holds = rates[True][5] == 0 and abs(rates[False][5] - 0.5) < 1e-6
verdicts.judge("C16", "partly", nuance, "deeper look C", holds=holds)

# %% [markdown]
# DDP takes the mean of the ranks' gradients. A rank that divides its sum by the count of all N ranks has its
# correct share already, and the mean then divides by N once more. So each rank has to multiply by N.
#
# The learning rate: Accelerate assumes that you counted the schedule's steps on the whole data set, which N
# ranks use up N times as fast ([accelerate#2926](https://github.com/huggingface/accelerate/issues/2926)).
# With `split_batches=True` it does not. If you count optimizer steps, multiply their number by
# `num_processes`, or do not prepare the scheduler. The Trainer does not prepare its own (DeepSpeed's is the
# exception).

# %% [markdown]
# ## Deeper look D: does Adam divide the factor away? (6 minutes)
#
# Adam divides each gradient by its running size, so a constant factor should not matter. We make one step of
# AdamW and one of SGD on two of the gradients above. What are the size and the direction of the update?


# %%
def update(optimizer, gradient):
    weight = torch.zeros_like(gradient, requires_grad=True)
    weight.grad = gradient.clone()
    optimizer([weight], lr=1e-3).step()
    return weight.detach()


# %%
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
# AdamW removes the factor and keeps the wrong weights. SGD keeps both. So does a threshold on grad_norm, and
# so does the log that you read.
#
# Do the weights matter to the model? Two runs that differ only in this learn both kinds of rows.

# %%
same = abs(cosines["AdamW", "Ours"][1] - cosines["AdamW", "told"][1]) < 0.01
nuance = "true of a constant factor; not of weights, not with SGD"
kept = cosines["AdamW", "Ours"][0] < 0.9
holds = same and kept and cosines["SGD", "Ours"][1] > 5
verdicts.judge("C10", "partly", nuance, "deeper look D", holds=holds)

# %%

NUM_STEPS = 5 if FAST else 15
learn, both = batch_training.learn, batch_training.WEIGHTINGS
learnt = {name: learn(name, SEED, NUM_STEPS) for name in both}

# %% tags=["digits-vary"]
fig, ax = plt.subplots(figsize=(7, 3), layout="constrained")
curves = {name: run.long for name, run in learnt.items()}
meanings = {"token mean": "alive", "mean of means": "suspicious"}
plotting.draw_curves(ax, learnt["token mean"].steps, curves, meanings=meanings)
ax.set(xlabel="step", ylabel="held-out loss of long rows")
ax.set_title("With a mean of means, long rows are learnt more slowly")
last = {name: run.long[-1] for name, run in learnt.items()}
short = {name: run.short[-1] for name, run in learnt.items()}
long, short = (
    ", ".join(f"{loss:.2f} ({name})" for name, loss in end.items()) for end in (last, short)
)
plotting.show(fig, f"Long rows end at {long} nats per token, short rows at {short}.")

# %% [markdown]
# Long rows are learnt more slowly, and short ones faster. (This is one seed;
# `tests/reproductions/test_lesson_08_runs.py` checks five.) You may want either of the two weightings. The
# fault is that the size of a micro-batch decides it for you. Where all rows have equally many targets,
# nothing changes (deeper look A). We have not shown any benefit on a large model.

# %% [markdown]
# ## Deeper look E: read the log (12 minutes, 3 points)
#
# Most posts mix two faults: wrong weights, and a factor. Can you separate them in a log?

# %% [markdown]
# **Exercise 08.6, 5 minutes, four numbers, 3 points.** In each log below, a number from the run's settings,
# or its inverse, may be a factor of the logged loss. Which number? Give 1 if there is none. What is left
# after you divide it out comes from the weights.
#
# Log 1 is one of four runs with 128 rows per step. The other three used 4 ranks. They had 16, 8 and 1 rows
# per micro-batch with G = 2, 4 and 32, and logged 6.4, 13.65 and 138.

# %% [markdown]
# | log | setting | logged | right |
# | --- | --- | --- | --- |
# | 1 | 8 ranks, 1 row per micro-batch, G = 16 ([LLaMA-Factory#7443](https://github.com/hiyouga/LLaMA-Factory/issues/7443)) | 69 | not known |
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
# `course era 08` runs the report in library versions that have each fault. What did it find?

# %%
from course_utils.reproductions import eras

eras.row("08")

# %% [markdown]
# In 4.45 the weights were wrong. The fix in 4.46 corrected the weights of the stock loss in one process, and it
# brought the factor G to custom losses. A count over all ranks came later, first as a setting, then as the
# default.
#
# What is left of the four runs of log 1 when the factor is divided out?

# %%
four_runs = ((4, 16, 2, 6.4), (4, 8, 4, 13.65), (8, 1, 16, 69), (4, 1, 32, 138))
lines = [(*map(str, run), f"{run[3] / run[2]:.2f}") for run in four_runs]
columns = ("ranks", "rows per micro-batch", "G", "logged", "logged / G")
Table(columns=columns, rows=lines)

# %% [markdown]
# What is left is the same for both runs with one row per micro-batch, whatever G and the number of ranks are.
# With more rows per micro-batch it is smaller. A mean of means behaves like this where short rows are the
# hard ones.

# %% [markdown]
# ## Deeper look F: the same formula in GRPO (27 minutes, 3 points)
#
# The loss of a reply gives weights to its tokens, too. By what number does TRL's GRPOTrainer multiply the
# loss of one token? We read it off the gradient of its own loss, for eight replies with advantage 1. The
# numbers are multiplied by 1000.

# %%
from course_utils.reproductions.lesson_08 import batch_trl, length_bias

lengths = [2, 2, 8, 8, 30, 30, 60, 60]
lines = []
for kind in length_bias.LOSS_TYPES:
    measured = 1000 * batch_trl.measured_weights(kind, lengths)
    lines.append((kind, *(f"{w:.2f}" for w in measured[::2].tolist())))
columns = ("loss_type", *(f"reply of {n}" for n in lengths[::2]))
Table(columns=columns, rows=lines)

# %% [markdown]
# `grpo` divides each reply by its own length. `bnpo` and `dapo` (the default) divide by a count of tokens.
# `dr_grpo` divides by a constant, the number of replies times the longest length that is allowed. A right
# reply has an advantage above 0, a wrong one below 0. What does the divisor do to lengths over many steps?

# %% [markdown]
# Here is a toy that can learn only when to stop. Each reply begins with a token that is right or wrong. That
# token is drawn at random and not learnt. After it, at every token, the policy either stops or goes on. It
# has two numbers to train: the logit of stopping in replies that began right, and the logit of stopping in
# replies that began wrong. At first a reply has about 10 tokens. A reply of 64 tokens is cut off.

# %% [markdown]
# **Exercise 08.7, 5 minutes, six letters, 3 points.** Predict for each row: do its replies (last column) get
# a) shorter, b) longer, or c) does the direction change from seed to seed?

# %% [markdown]
# | row | loss_type | right replies | reward | of |
# | --- | --- | --- | --- | --- |
# | 1 | grpo | half | 1 if right | right |
# | 2 | grpo | half | 1 if right | wrong |
# | 3 | grpo | 1 in 5 | 1 if right | all |
# | 4 | grpo | 9 in 10 | 1 if right | all |
# | 5 | dr_grpo | half | 1 if right | right |
# | 6 | grpo | half | drawn at random | all |

# %%
# A dict of six letters, for example {"1": "a", "2": "a", ...}
### BEGIN SOLUTION
drifts = dict(zip("123456", "abbacc", strict=True))
### END SOLUTION

# %%
ex.DRIFT.check(drifts)

# %% [markdown]
# With `grpo`, a right reply gains more per token if it is short, and a wrong reply loses less per token if it
# is long. Here is what the toy does.

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
columns = ("five seeds, mean of steps 281 to 300", "right", "wrong", "all")
Table(columns=columns, rows=lines)

# %% [markdown]
# Adam turns noise into a random walk of many tokens, so the mean length of one run says little. Look at the
# gap instead: the length of right replies minus that of wrong ones. Does it have the same sign in every seed
# (purple), or does the sign change (blue)?

# %% tags=["digits-vary"]
gaps = {kind: drifted[f"{kind}, half right"].gap for kind in KINDS}
concepts.a_gap_for_each_seed(gaps)

# %% [markdown]
# With 1/length, right and wrong replies move apart in every seed. `bnpo` has no such factor, and it leans to
# one side, too. `dapo` does so in most seeds; 60 seeds below decide.

# %%
both = drifted["grpo, 1 in 5 right"].all, drifted["grpo, 9 in 10 right"].all
nuance = "wrong ones longer, right ones shorter; the majority decides"
apart = gaps["grpo"].max() < -50
holds = bool(both[0].min() > 20 and both[1].max() < 10 and apart)
verdicts.judge("C13", "partly", nuance, "deeper look F", holds=holds)

# %% [markdown]
# And a random reward? If 1/length made replies grow there, `dr_grpo`, which has no 1/length, would not show
# it. In how many seeds did the mean length of all replies grow, and that of the right ones alone?

# %%
first, num = 1 / length_bias.STOP, 200 if FAST else 1000
grown, alone = {}, {}
for kind in ("grpo", "dr_grpo"):
    walk = length_bias.drift(kind, neutral=True, num_seeds=num)
    grown[kind], alone[kind] = (
        float((lengths > first).double().mean()) for lengths in (walk.all, walk.right)
    )
    print(f"{kind}: {spread(walk.all)} tokens; of {num} seeds {grown[kind]:.0%} grew,", end=" ")
    print(f"right replies alone {alone[kind]:.0%}")

# %%
nuance = "it goes both ways, and as often without 1/length (dr_grpo)"
holds = abs(grown["grpo"] - grown["dr_grpo"]) < 0.1 and max(grown.values()) < 0.8
verdicts.judge("C14", "false", nuance, "deeper look F", holds=holds)

# %% [markdown]
# Right replies alone grow in about half of the seeds, as chance would have it. The mean of all replies grows
# more often, with or without 1/length, because it averages two walks: one that doubles its length adds more
# tokens than one that halves its length takes away.

# %% [markdown]
# What does dividing by the standard deviation (1/std) do? The table above has a row without it, and the gap
# is the same there. Dividing by it is a weight, too, but the weight of a *question*: `grpo` divides the
# advantages of a question's replies by their standard deviation, Dr. GRPO does not. How much does a question
# weigh (the mean size of its advantages), depending on how many of its 8 replies are right?

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
Table(columns=columns, rows=lines, notes=("Relative to a question half right.",))

# %% [markdown]
# A question that is almost decided (1 or 7 of 8 right) weighs less than one that is half right. Dividing by
# the standard deviation gives part of that weight back. Which of the two you want is a choice, like the
# weight of a long row. It does not depend on how the batch is split.

# %% [markdown]
# Why do `bnpo` and `dapo` lean to one side? They divide by a count that contains the reply itself: a long
# reply makes its own divisor larger. `bnpo` counts over a micro-batch (16 replies here), `dapo` over the
# step. With more replies the count is nearly constant. Here is `dapo` with 64 replies per step, and with
# 1024, beside `dr_grpo`, whose divisor is a constant:

# %%
drift, means = length_bias.drift, {}
for kind in ("dapo", "dr_grpo"):
    for n in (8, 128):
        gap = drift(kind, num_groups=n, num_seeds=60).gap
        error, means[kind, n] = gap.std() / len(gap) ** 0.5, gap.mean().item()
        print(f"{kind:7} {8 * n:4} replies: gap {gap.mean():.1f} tokens, +- {error:.1f}")

# %%
nuance = "a bias of its own, which shrinks slowly with the batch"
few, many, *constant = means.values()
holds = few < -5 and many > few / 2 and abs(constant[0]) < -few / 2
verdicts.judge("C15", "partly", nuance, "deeper look F", holds=holds)

# %% [markdown]
# All this needs a policy that *can tell*, while it writes, whether its reply is right. It also needs many
# steps. We took only the weights from the real trainer. Users have reported replies that end as long
# gibberish, with TRL 0.16 and the loss that is called `bnpo` today
# ([trl#3138](https://github.com/huggingface/trl/pull/3138)), and replies that shrink, with 1/length
# ([VLM-R1#280](https://github.com/om-ai-lab/VLM-R1/issues/280)).
#
# Do these losses depend on the split? Here are the eight rows as replies, or as eight pairs, with TRL's own
# losses:

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
# The gradient of `grpo` does not depend on the split, but it is biased by length. `bnpo` depends on the split
# and is biased: use `dapo`, which takes the count of the whole step. These are two properties, and you have
# to test them one by one. DPO's `sft` term is the mean over the tokens of its micro-batch, like `Ours`.

# %% [markdown]
# ## The verdicts

# %%
verdicts.table()

# %%
ex.progress()
