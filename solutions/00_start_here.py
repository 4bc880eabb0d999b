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
# You need nothing but this page. Run a cell with Shift+Enter. If the machine has a GPU, it is used;
# no lesson needs one.

# %% tags=["parameters"]
MODEL = "tiny"  # or a hub id such as "Qwen/Qwen2.5-0.5B-Instruct"
DEVICE = "auto"  # "auto", "cpu" or "cuda"
SEED = 0
FAST = False  # fewest steps that still show the effect
STRICT = False  # raise at any check that is not passed

# %% [markdown]
# Every lesson begins with a cell like the one above, and with the cell below. The cell below limits
# torch to one thread, so that each run gives the same numbers. It shows each warning of a library
# as one line. And it gives you `ex`: type `ex.` and press Tab to see what it can do.

# %%
from course_utils.concepts import lesson_00 as concepts
from course_utils.lesson import TODO, start

ex = start("00", strict=STRICT)
ex

# %%
concepts.course_map()

# %% [markdown]
# On the map, the minutes in front of a plus sign are those of a lesson's **core**: from the report
# of a failure to a fix that you prove. The minutes after the plus sign are those of its **deeper
# looks**. You may skip these; no core needs them.

# %% [markdown]
# ## 1. What this machine can do
#
# Many failures in this course happen in 16-bit number formats. So the first question is which
# formats your machine computes in. Each row below is a computation that the cell tries on this
# machine.

# %% tags=["nbval-ignore-output"]
from course_utils.commands.doctor import computing_formats

computing_formats(DEVICE)

# %% [markdown]
# ## 2. Predict
#
# Before each experiment you write down what you expect. A result that contradicts your own guess is
# easier to remember.
#
# Put a letter **in quotes** in place of `TODO`, such as `my_guess = "a"`, and run the cell. Run it
# unchanged first if you want to read the question. Predictions are never graded.

# %%
### BEGIN SOLUTION
my_guess = "b"
### END SOLUTION
ex.SUM_IN_HALF.predict(my_guess)

# %% [markdown]
# Now run the experiment. Does it do what you expected?

# %%
import torch

a = torch.tensor([60000.0], dtype=torch.float16)
b = torch.tensor([40032.0], dtype=torch.float16)
print("sum              ", a + b)
print("largest float16  ", torch.finfo(torch.float16).max)
ex.SUM_IN_HALF.recall("c", holds=(a + b).isinf().item())

# %% [markdown]
# The sum is above the largest number of the format, so it becomes **inf**, which means "too large".
# Nothing was raised. Many lessons begin like this: a number leaves its format without a message,
# and the symptom appears somewhere else.

# %% [markdown]
# ## 3. Fix it, check it, read why
#
# **Exercise 00.1, 3 minutes, one line, 2 points.** The mean of these two numbers is 50016, and
# float16 can hold that. Write `mean_of(a, b)`: the mean of each pair of elements, for two tensors
# of the same shape and the same float format. The result has that shape and that format.
#
# It is right for *any* two finite float16 numbers, and for ordinary numbers in float32, bfloat16
# and float64. (For float64 inputs, a result as exact as float32 is enough.)
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
# A check has four outcomes: **passed**, **not attempted**, **wrong**, and **raised**. *Wrong* says
# what was asked, what was seen, why it matters and what to try next. *Raised* shows your own
# exception, with the inputs that caused it. To see a wrong answer, try `(a + b) / 2`.
#
# Are you stuck? `ex.MEAN.hint()` gives one hint at a time. After the last hint, or after you pass,
# `ex.MEAN.solution()` shows a solution.

# %% tags=["solution"]
ex.MEAN.solution()

# %% [markdown]
# Later cells run even if you skip an exercise. `ex.MEAN.answer` is your function once it has
# passed. Until then it is the course's function, and a line says so.

# %%
safe_mean = ex.MEAN.answer
print("mean of 60000 and 40032:", safe_mean(a, b))

# %% [markdown]
# ## 4. Your progress
#
# Your progress is kept in a small file next to this notebook, so it survives a restart of the
# kernel. The checks inside a notebook are for you, and nothing keeps you from changing them. To
# grade a notebook, `course grade` runs the lesson's own checks on your cells in a fresh kernel.

# %%
ex.progress()

# %% [markdown]
# ## 5. From your symptom to the lesson
#
# Is a run of yours broken right now? Find the row that looks like your log. The last column names
# an instrument that works on your own model, without the lesson.

# %%
from course_utils.lesson.symptoms import symptom_map

symptom_map()

# %% [markdown]
# ## 6. Recap
#
# * First predict, then run, then compare. Then write the fix and check it.
# * A check says what was asked, what it saw, why it matters and what to try next.
# * A value that is too large for its format becomes inf without a message. The lessons show what
#   happens then.
