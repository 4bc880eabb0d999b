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
# # On call
#
# After 60 minutes you will be able to
#
# * **work** a ticket about a run that you have never seen, from its first line to the report,
# * **prove** that a fix is one, and that something which looks like a fix is none,
# * **say** which classes of failure you have solved alone, and which not yet.
#
# Sections 1 to 10 are the core: one ticket together, then two alone. Section 11 is a deeper look (40
# minutes): one run with three faults.
#
# Everything runs on a CPU. A run takes some seconds, a check half a minute, more on a busy machine.

# %% tags=["parameters"]
MODEL = "tiny"
DEVICE = "auto"
SEED = 0
FAST = False
STRICT = False

# %%
from course_utils.lesson import TODO, start

ex = start("99", strict=STRICT)
ex

# %%
import shutil
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

from course_utils import zoo
from course_utils.lesson.expected_failures import expect_symptom
from course_utils.oncall import exam, sheet
from course_utils.oncall.check import told
from course_utils.oncall.hand_in import answer_text, tried
from course_utils.shown import plotting
from course_utils.shown.report import Table

# %% [markdown]
# ## 1. How a ticket is worked
#
# 1. **Read**: what was seen, and what is only somebody's explanation?
# 2. **Reproduce** it small: in seconds, every time.
# 3. **Bisect**: make one change that removes the failure under half of the suspects and not under the
#   others.
# 4. **Look** at the place that is left.
# 5. **Fix** the cause, and nothing else.
# 6. **Prove** the fix on data that the run has not seen, and prove that a non-fix fails.
# 7. **Write** it up: place, class, evidence.

# %% [markdown]
# ## 2. Read
#
# The folder of a **ticket** holds a colleague's run as she left it: files, log, model. This cell
# writes it next to the notebook, unless it is there already. Your own files are never overwritten.

# %%
folder = exam.open_folder("worked")
print((folder / "ticket.md").read_text().partition("## What")[0].strip())

# %% [markdown]
# She has seen two things: the model is weak on everything, and the loss falls in each slot. The third is only her
# explanation: that the rows of the later slots are harder. What does the log say?

# %% tags=["digits-vary"]
console = (folder / "run" / "console.log").read_text()
print("\n".join(console.splitlines()[:6]))

# %% tags=["digits-vary"]
log = exam.log_of(folder)
fig, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
steps = [entry["step"] for entry in log]
plotting.draw_curves(ax, steps, {"loss": [entry["loss"] for entry in log]})
ax.set_xlabel("step")
ax.set_ylabel("loss, nats per token")
ax.set_title("Every twelve steps the loss jumps up again")
plotting.show(fig, "The loss of the run as it was left.")

# %% [markdown]
# The run is cut into four **legs**, one per slot of the queue. Each leg loads what the leg before it saved.
# Where is the fault? Predict: put a letter in place of `TODO`.

# %%
### BEGIN SOLUTION
my_guess = "a"
### END SOLUTION
ex.WHERE_IT_LIES.predict(my_guess)

# %% [markdown]
# Is the model weak at all? A log is only what the run reports about itself. So we ask two models the same sums:
# the one that the run left, and the checkpoint that it began with.

# %%
sums = zoo.arithmetic.prompts(64, 7, split="test")


def share_right(path):
    model, tokenizer = zoo.load_policy(str(path)), zoo.load_tokenizer(str(path))
    return zoo.solve.share_right(model, tokenizer, sums)


before, after = share_right(folder / "base"), share_right(folder / "run" / "model")
print(f"sums right: {before:.2f} before the run, {after:.2f} after it")

# %% [markdown]
# ## 3. Reproduce small
#
# The run did learn something, but it still gets half of the sums wrong. (Section 7 says what a healthy run gets.)
# Four legs of twelve steps take too long to run often. Do two legs of six steps show the failure?
# `exam.run` runs a copy of the folder with some edits; an edit is a file, an old text and a new text.
# The folder itself stays as it is.

# %%
SHORT = ("config.yaml", "max_steps: 48", "max_steps: 12")
TWO_LEGS = ("config.yaml", "legs: 4", "legs: 2")
small = exam.log_in(exam.run(folder, [SHORT, TWO_LEGS]))
print([round(entry["loss"], 2) for entry in small])

# %% [markdown]
# The loss falls for six steps, jumps, and falls again. So we have the failure in a quarter of the
# steps. Which of the suspects can one more run exclude?

# %% [markdown]
# ## 4. Bisect
#
# The seed decides the order of the rows, and the order is the same for one leg and for two. So we run
# the same twelve steps in *one* leg. If the rows of the later steps are hard, the loss of that run
# jumps as well.

# %%
ONE_LEG = ("config.yaml", "legs: 4", "legs: 1")
whole = exam.log_in(exam.run(folder, [SHORT, ONE_LEG]))


def beside(**logs):
    columns, rows = ("step", *(name.replace("_", " ") for name in logs)), []
    for at, entry in enumerate(small):
        losses = (f"{log[at]['loss']:.2f}" for log in logs.values())
        rows.append((str(entry["step"]), *losses))
    return Table(columns=columns, rows=rows)


beside(one_leg=whole, two_legs=small)

# %%
gaps = [abs(a["loss"] - b["loss"]) for a, b in zip(whole, small, strict=True)]
same = max(gaps[:6]) < 1e-3
jump = small[6]["loss"] - whole[6]["loss"]
expect_symptom("alike up to step 6, apart from step 7", holds=same and jump > 0.2)
ex.WHERE_IT_LIES.recall("c", holds=same and jump > 0.2)

# %% [markdown]
# One run has excluded three suspects. a) The same rows are easy in one leg, so the rows are not the cause. b)
# Both runs have the same length and the same learning rate. d) The *log* jumps before anything is exported.
# What is left is the gap between step 6 and step 7: what is saved there, and what is loaded.

# %% [markdown]
# ## 5. Look
#
# What exactly crosses the gap? Here is the code for it:

# %%
source = (folder / "train.py").read_text()
begin, end = source.index("def save_checkpoint"), source.index("def train_leg")
print(source[begin:end].strip())

# %% [markdown]
# When we only read code, we tend to see what we expect. So let the run report it. `load_state_dict`
# returns the names that are **missing** and the names that it did **not expect**. This script drops
# both. An edit prints them:

# %%
LOAD = 'model.load_state_dict(state["model"], strict=False)'
SAY = (
    f"missing, new = {LOAD}\n"
    "    print(len(missing), 'names missing, such as', missing[0])\n"
    "    print(len(new), 'not expected, such as', new[0])"
)
said = exam.run(folder, [SHORT, TWO_LEGS, ("train.py", LOAD, SAY)]).console
print("\n".join(line for line in said.splitlines() if "such as" in line))

# %% [markdown]
# Every name is missing, and every saved name begins with `module.`, so nothing at all is loaded. Each
# leg trains the base model from the start, with the optimizer state of another model. `strict=False`
# turned an error into silence.

# %% [markdown]
# ## 6. Fix
#
# What would you try first? Somebody proposes `legs: 1`. Then there is no gap, and the small run with one leg was
# healthy. The **check** of section 7 trains the files of an answer and judges them. Predict what it says to this.

# %%
### BEGIN SOLUTION
my_guess = "c"
### END SOLUTION
ex.IS_IT_FIXED.predict(my_guess)

# %% [markdown]
# The cause is one line: the saved names have a prefix that the model does not have. We save the names
# as they are. We also load them strictly, so that the next such fault is an error. Does the small run
# now continue where it stopped?

# %%
SAVE = '{f"module.{name}": w for name, w in model.state_dict().items()}'
FIX = [
    ("train.py", SAVE, "model.state_dict()"),
    ("train.py", LOAD, 'model.load_state_dict(state["model"])'),
]
fixed = exam.log_in(exam.run(folder, [SHORT, TWO_LEGS, *FIX]))
beside(one_leg=whole, two_legs=small, fixed=fixed)

# %%
near = max(abs(a["loss"] - b["loss"]) for a, b in zip(whole, fixed, strict=True))
print(f"one leg and the two fixed ones differ by at most {near:.3f} nats")
expect_symptom("the fixed run continues where it stopped", holds=near < 0.05)

# %% [markdown]
# ## 7. Prove
#
# One run that looks healthy proves little: it has the same seed, the same rows and the same
# checkpoint. `course oncall check` trains the fixed files on two other seeds, each with another
# checkpoint. It measures the model itself and compares it with a hundred healthy runs.
#
# First an edit that is no fix. An answer has the edits, and for each fault its file, its place and its
# class:

# %%
FAULT = ("train.py", "load_checkpoint", "resume")


def checked(*edits):
    return tried("worked", {"edits": edits, "faults": [FAULT]}).outcome


one_leg = checked(ONE_LEG)
print(told(one_leg))
ex.IS_IT_FIXED.recall("c", holds=not one_leg.is_fixed and not one_leg.measured)

# %% [markdown]
# It is refused before anything is trained. The slots of the queue are short, so this run cannot be made in one
# leg. What about the colleague's own idea: does another order of the rows help?

# %%
shuffled = checked(("config.yaml", "shuffle: true", "shuffle: false"))
print(told(shuffled).splitlines()[0])
expect_symptom("another order is no fix", holds=not shuffled.is_fixed)

# %% [markdown]
# Now the fix. The last lines are printed only when run, place and class are right.

# %%
solved = checked(*FIX)
print(told(solved))
expect_symptom("the fix is one", holds=solved.is_solved)

# %% [markdown]
# ## 8. Write it up
#
# The report is for the next person on call. In the folder it is `report.yaml`. Here we fill it in a
# copy, next to the fixed file. `answer_text` then prints what changed, as an answer to paste:

# %%
with tempfile.TemporaryDirectory() as parent:
    copy = Path(parent) / "worked"
    shutil.copytree(folder, copy)
    (copy / "train.py").write_text(exam.edited(exam.files_of(copy), FIX)["train.py"])
    (copy / "report.yaml").write_text("""\
faults:
  - file: train.py
    where: load_checkpoint
    class: resume
    cause: the names saved begin with module., and strict=False loads none of them
    evidence: all names missing; the loss jumps at each leg, and not in one leg
""")
    print(answer_text("answer_0", copy))

# %% [markdown]
# ## 9. Two tickets alone
#
# Each ticket is a folder next to this notebook, such as `oncall/first`. In that folder:
#
# 1. Look at log and model with any instrument. `course explain run/console.log` and, in Python,
#    `diagnose("run/model")` are a good start. They can be wrong.
# 2. Change the files with any editor, and run `python train.py`. The size of the run must stay as it is.
# 3. Fill in `report.yaml`; it lists the classes. `course oncall check` judges as often as you ask. `course
#    oncall hint` helps; hints are counted.
# 4. Run the cell with `answer_text` here again. It prints your answer; paste it into the next cell, to be
#    graded.

# %% [markdown]
# **Exercise 99.1, 15 minutes, one fault, 4 points.** `edits` is a list of tuples (file, old text, new text).
# They are made one after the other in the files as they were handed out, and each old text must be there
# exactly once. `faults` has one tuple (file, place, class). A place is the number of a line, a function, a name
# or a key. The points are given only if the run is healthy and the place and the class are right.
#
# The first cell below runs the ticket once, which takes up to a minute.

# %%
first = exam.open_folder("first")
print((first / "ticket.md").read_text().partition("## What")[0].strip())

# %%
print(answer_text("answer_1", first))  # what you changed in the folder so far

# %%
# {"edits": [("train.py", "old text", "new text")],
#  "faults": [("train.py", "main", "rate")]}
### BEGIN SOLUTION
answer_1 = {
    "edits": [
        (
            "rewards.py",
            'return completion[-1]["content"].partition("</think>")[2].strip()',
            'return completion[-1]["content"].strip()',
        ),
    ],
    "faults": [("rewards.py", "text_of", "no_signal")],
}
### END SOLUTION

# %%
ex.FIRST.check(answer_1)

# %% [markdown]
# **Exercise 99.2, 20 minutes, one fault, 6 points.** Here the symptom is far from the place of the
# fault.

# %%
second = exam.open_folder("second")
print((second / "ticket.md").read_text().partition("## What")[0].strip())

# %%
print(answer_text("answer_2", second))

# %%
# As above: a dict of edits and faults
### BEGIN SOLUTION
answer_2 = {
    "edits": [
        (
            "data.py",
            '        "chosen": row["question"] + row["chosen"],\n'
            '        "rejected": row["question"] + row["rejected"],\n',
            '        "chosen": chat(row["question"], row["chosen"]),\n'
            '        "rejected": chat(row["question"], row["rejected"]),\n',
        ),
    ],
    "faults": [("data.py", "to_pair", "template")],
}
### END SOLUTION

# %%
ex.SECOND.check(answer_2)

# %% [markdown]
# ## 10. Next time
#
# * **Read** the ticket for what was seen. Treat every explanation as a suspect, the reporter's too.
# * **Choose** the run that excludes half of the suspects; it tells you more than ten runs that each
#   test one.
# * **Prove** a fix on another seed, and show that a non-fix fails the same proof.
#
# This is the end of the core. To skip the deeper look, go to section 12 for your score sheet.

# %% [markdown]
# ## 11. Deeper look: three faults in one run (40 minutes)
#
# **Exercise 99.3, 40 minutes, three faults, 10 points.** Each fault hides the next one. So after each fix run
# it again, and read the log like a new ticket. `faults` has three tuples, in any order. The run counts as
# broken until all three are fixed.

# %%
third = exam.open_folder("third")
print((third / "ticket.md").read_text().partition("## What")[0].strip())

# %%
print(answer_text("answer_3", third))

# %%
# As above, with three faults
### BEGIN SOLUTION
answer_3 = {
    "edits": [
        ("train.py", "copy.copy(model)", "copy.deepcopy(model)"),
        ("data.py", '"rejected": assistant(row["c', '"chosen": assistant(row["c'),
        ("data.py", '"chosen": assistant(row["r', '"rejected": assistant(row["r'),
        ("train.py", "trainer.ref_model, trainer.", "trainer.model, trainer."),
    ],
    "faults": [
        ("train.py", "load_reference", "no_grad"),
        ("data.py", "to_pair", "preference"),
        ("train.py", "export", "stale_weights"),
    ],
}
### END SOLUTION

# %%
ex.THIRD.check(answer_3)

# %% [markdown]
# ## 12. Score sheet
#
# For each ticket it shows how many of the places and classes that you named are right, whether the run is
# healthy, and the hints that you took, here and in the folder. The minutes go from opening a folder to the
# first `course oncall check` that found it solved. Where did you lose time: while reading, or while proving?

# %%
sheet.sheet({"first": answer_1, "second": answer_2, "third": answer_3})

# %% [markdown]
# These are the classes of failure, the most frequent first: those whose tickets you have solved, and the
# others. The tickets of this notebook count, and those that you draw in section 13. Not every class has tickets
# yet.

# %%
sheet.practised()

# %% [markdown]
# ## 13. Practise again
#
# With another seed you get another ticket: other rows, another checkpoint, mostly another fault. The
# level is 1, 2 or 3. Where is this one?

# %%
again = first if FAST else exam.practise(seed=SEED + 7, level=1)
print("a ticket of level 1 in", again.as_posix())
expect_symptom("a new ticket is there", holds=(again / "ticket.md").exists())

# %% [markdown]
# You can do the same in a terminal. `weekly` draws the ticket that everybody has this week:
#
# ```sh
# course oncall new --seed 8 --level 2
# course oncall weekly --level 3
# course oncall check oncall/8-2
# ```

# %%
ex.progress()
