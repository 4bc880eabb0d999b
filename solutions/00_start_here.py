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
# # Start here
#
# In 15 minutes you will be able to
#
# * **say** which number formats this machine really computes in,
# * **use** predictions, checks, hints and the progress table,
# * **find** the lesson for the symptom in your own log.
#
# You need nothing but this page. Run a cell with Shift+Enter. A GPU is used when there is one;
# no lesson needs it.

# %% tags=["parameters"]
MODEL = "tiny"  # or a hub id such as "Qwen/Qwen2.5-0.5B-Instruct"
DEVICE = "auto"  # "auto", "cpu" or "cuda"
SEED = 0
FAST = False  # fewest steps that still show the effect
STRICT = False  # raise at any check that is not passed

# %% [markdown]
# Every lesson begins with a cell like the one above, and with the next one. It keeps to one thread
# so that numbers repeat, shows each warning of a library as one line, and gives you `ex`. Type `ex.`
# and press Tab: everything you need starts there.

# %%
from course_utils.concepts import lesson_00 as concepts
from course_utils.lesson import TODO, start

ex = start("00", strict=STRICT)
ex

# %%
concepts.course_map()

# %% [markdown]
# ## 1. What this machine can do
#
# The failures in this course live in the small formats, so the first question is which of them
# your machine computes in. Each row below is a computation that was just tried here.

# %% tags=["nbval-ignore-output"]
from course_utils.commands.doctor import computing_formats

computing_formats(DEVICE)

# %% [markdown]
# ## 2. Predict
#
# Before each experiment you commit to an answer. You remember what contradicts you, so guess
# before you know. Put a letter **in quotes** in place of `TODO`, such as `my_guess = "a"`, and run
# the cell. A prediction is never graded. Run the cell as it is to read the question first.

# %%
### BEGIN SOLUTION
my_guess = "b"
### END SOLUTION
ex.SUM_IN_HALF.predict(my_guess)

# %% [markdown]
# Now run it. Was it what you thought?

# %%
import torch

a = torch.tensor([60000.0], dtype=torch.float16)
b = torch.tensor([40032.0], dtype=torch.float16)
print("sum              ", a + b)
print("largest float16  ", torch.finfo(torch.float16).max)
ex.SUM_IN_HALF.recall("c", holds=(a + b).isinf().item())

# %% [markdown]
# The sum is above the largest number of the format, so it is **inf**: the format's way of saying
# "too large". Nothing was raised. That is how most lessons here begin: a number leaves its format
# in silence, and the symptom shows up somewhere else.

# %% [markdown]
# ## 3. Fix, check, be told why
#
# **Exercise 00.1, 3 minutes, one line, 2 points.** The mean of these two numbers is 50016, and
# float16 can hold that. Write `mean_of(a, b)`, the mean of each pair of elements, for two tensors
# of the same shape and the same float format, whichever it is. The result has that shape and format.
# It is right for *any* two finite float16 numbers, and for ordinary numbers in float32, float64 and
# bfloat16.
#
# Replace the line with `TODO`, run the cell, then run the check below it.


# %%
def mean_of(a, b):
    """The elementwise mean of two tensors of the same dtype."""
    ### BEGIN SOLUTION
    return ((a.float() + b.float()) / 2).to(a.dtype)
    ### END SOLUTION


# %%
ex.MEAN.check(mean_of)

# %% [markdown]
# A check has four outcomes: **passed**, **wrong** (what was asked, what was seen, why it matters,
# what to try next), **not attempted**, and **raised** (your own exception, with the inputs that
# caused it). Try `(a + b) / 2` to see a wrong one.
#
# Stuck? `ex.MEAN.hint()` gives one hint at a time; after the last, or once you pass,
# `ex.MEAN.solution()` opens.

# %% tags=["solution"]
ex.MEAN.solution()

# %% [markdown]
# A later cell never waits for you. `ex.MEAN.answer` is your function once it has passed, and the
# course's until then, and it says which.

# %%
safe_mean = ex.MEAN.answer
print("mean of 60000 and 40032:", safe_mean(a, b))

# %% [markdown]
# ## 4. Where you stand
#
# Your progress is kept in a small file beside this notebook and survives restarts. Checks inside
# a notebook are for you, in good faith; `course grade` runs the lesson's own checks around your
# cells in a fresh kernel, and that is what counts.

# %%
ex.progress()

# %% [markdown]
# ## 5. From your symptom to the lesson
#
# If something of yours is broken right now, start at its line. The instrument in the last column
# works on your own model as it is, without the lesson.

# %%
from course_utils.lesson.symptoms import symptom_map

symptom_map()

# %% [markdown]
# ## 6. Recap
#
# * Predict, run, compare; then fix and check.
# * A check says what was asked, what it saw, why it matters and what to try next.
# * A value that leaves its format becomes inf without a word. The lessons are about what follows.
