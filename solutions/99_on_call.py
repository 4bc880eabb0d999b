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
# After 120 minutes you will be able to
#
# * **work** a ticket about a run that you have never seen, from its first line to the report,
# * **prove** that a mend is one, and that what looked like one is none,
# * **say** which classes of failure you have solved alone, and which not yet.
#
# Everything runs on a CPU. A run takes some seconds, more on a busy machine.

# %% tags=["parameters"]
MODEL = "tiny"
DEVICE = "auto"
SEED = 0
FAST = False
STRICT = False

# %%
from course_utils.lesson import TODO, start

ex = start("99", strict=STRICT)

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

ex

# %% [markdown]
# ## 1. How a ticket is worked
#
# 1. **Read**: what was seen, and what is only somebody's explanation?
# 2. **Reproduce small**: in seconds, every time.
# 3. **Bisect**: one change that half of the suspects would survive, and half not.
# 4. **Look** at the thing itself where the halves meet.
# 5. **Fix** the cause, and nothing else.
# 6. **Prove** it on what the run has not seen, and prove that a non-fix fails.
# 7. **Write it up**: place, class, evidence.
#
# First one ticket together, then three alone.

# %% [markdown]
# ## 2. Read
#
# The folder of a **ticket** holds a colleague's run as she left it: files, log, model. This cell writes it
# beside the notebook, unless it is there already; nothing of yours is ever written over.

# %%
folder = exam.open_folder("worked")
print((folder / "ticket.md").read_text().partition("## What")[0].strip())

# %% [markdown]
# Seen: the model is weak on everything, and each slot's loss falls. Explained, not seen: the rows of later
# slots are harder. What does the log say?

# %% tags=["digits-vary"]
console = (folder / "run" / "console.log").read_text()
print("\n".join(console.splitlines()[:6]))

# %% tags=["digits-vary"]
log = exam.log_of(folder)
fig, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
steps = [entry["step"] for entry in log]
plotting.draw_curves(ax, steps, {"loss": [entry["loss"] for entry in log]})
ax.set_xlabel("step")
ax.set_ylabel("loss, nats a token")
ax.set_title("Every twelve steps the loss begins high again")
plotting.show(fig, "The loss of the run as it was left.")

# %% [markdown]
# The run is cut into four **legs**, one a slot of the queue; each leg loads what the one before it
# saved. Predict: put a letter in place of `TODO`.

# %%
### BEGIN SOLUTION
my_guess = "a"
### END SOLUTION
ex.WHERE_IT_LIES.predict(my_guess)

# %% [markdown]
# Is it weak at all? A log is what a run says of itself. Ask the files that it left, and the checkpoint
# that it began with, the same sums:

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
# Four legs of twelve steps take too long to ask often. Do two of six show it? `exam.run` runs a copy of the
# folder with some edits, each a file, an old text and a new one; the folder stays as it is.

# %%
SHORT = ("config.yaml", "max_steps: 48", "max_steps: 12")
TWO_LEGS = ("config.yaml", "legs: 4", "legs: 2")
small = exam.log_in(exam.run(folder, [SHORT, TWO_LEGS]))
print([round(entry["loss"], 2) for entry in small])

# %% [markdown]
# The loss falls for six steps, jumps, and falls again. That is the ticket in a fifth of the time. Which
# of the suspects can be cleared by one more run?

# %% [markdown]
# ## 4. Bisect
#
# The rows come in an order that the seed decides, the same for one leg and for two. So run the same
# twelve steps in *one* leg. If the rows of the later steps are hard, it stumbles as well.

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
# One run, three suspects cleared. The same rows are easy in one leg, so it is not the rows. Both runs
# are equally long and hot. And the *log* jumps, before anything is exported. What is left lies between
# step 6 and step 7: what is saved, and what is loaded.

# %% [markdown]
# ## 5. Look
#
# What exactly crosses the gap? Here is all that does:

# %%
source = (folder / "train.py").read_text()
begin, end = source.index("def save_checkpoint"), source.index("def train_leg")
print(source[begin:end].strip())

# %% [markdown]
# Reading code finds what one looks for. Better: let the run say it. `load_state_dict` returns which
# names it **missed** and which it did **not expect**, and this script throws that away. An edit prints it:

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
# Every name is missing, and every name has `module.` in front: nothing at all is loaded. Each leg trains
# the base anew, with the optimizer's memory of another model. `strict=False` made an error into silence.

# %% [markdown]
# ## 6. Fix
#
# What would you try first? Somebody proposes `legs: 1`: no gap, no trouble, and the small run above was
# healthy. Predict what the check says.

# %%
### BEGIN SOLUTION
my_guess = "c"
### END SOLUTION
ex.IS_IT_MENDED.predict(my_guess)

# %% [markdown]
# The cause is one line: names with a prefix that the model has not. Save them as they are; and load them
# strictly, so that the next slip is an error. Does the small run go on where it stopped?

# %%
SAVE = '{f"module.{name}": w for name, w in model.state_dict().items()}'
MEND = [
    ("train.py", SAVE, "model.state_dict()"),
    ("train.py", LOAD, 'model.load_state_dict(state["model"])'),
]
mended = exam.log_in(exam.run(folder, [SHORT, TWO_LEGS, *MEND]))
beside(one_leg=whole, two_legs=small, mended=mended)

# %%
near = max(abs(a["loss"] - b["loss"]) for a, b in zip(whole, mended, strict=True))
print(f"one leg and the mended two differ by at most {near:.3f} nats")
expect_symptom("the mended run goes on where it stopped", holds=near < 0.05)

# %% [markdown]
# ## 7. Prove
#
# A run that looks healthy proves little: same seed, same rows, same checkpoint. `course oncall check` trains
# the mended files on two other seeds, each with another checkpoint, and measures the model itself,
# beside what two dozen healthy runs reach. First what is no fix. An answer has the edits, and for each fault
# its file, its place and its class:

# %%
FAULT = ("train.py", "load_checkpoint", "resume")


def checked(*edits):
    return tried("worked", {"edits": edits, "faults": [FAULT]}).outcome


one_leg = checked(ONE_LEG)
print(told(one_leg))
ex.IS_IT_MENDED.recall("c", holds=not one_leg.is_fixed and not one_leg.measured)

# %% [markdown]
# It is refused before it is trained: the queue has short slots, and a run without them is another run. And
# the colleague's own idea, rows in another order?

# %%
shuffled = checked(("config.yaml", "shuffle: true", "shuffle: false"))
print(told(shuffled).splitlines()[0])
expect_symptom("another order is no fix", holds=not shuffled.is_fixed)

# %% [markdown]
# Now the mend. What is said at the end is said only when run, place and class are right.

# %%
solved = checked(*MEND)
print(told(solved))
expect_symptom("the mend is one", holds=solved.is_solved)

# %% [markdown]
# ## 8. Write it up
#
# The report is for whoever is on call next. In the folder it is `report.yaml`; here it is filled in a copy,
# beside the mended file. `answer_text` then writes out what changed, as an answer to paste:

# %%
copy = Path(tempfile.mkdtemp()) / "worked"
shutil.copytree(folder, copy)
(copy / "train.py").write_text(exam.edited(exam.files_of(copy), MEND)["train.py"])
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
# ## 9. Three tickets alone
#
# Each is a folder beside this notebook: change its files with whatever you like, run `python train.py` in
# it, put the model and the log under any instrument of the course. `diagnose("run/model")` and `course
# explain run/console.log` are a start, and no oracle.
#
# In the folder, `course oncall check` judges as often as you ask, and `course oncall hint` helps; hints
# are counted. Paste the answer here at the end: it is what others grade. The size of a run stays as it is.

# %% [markdown]
# **Exercise 99.1, 15 minutes, one fault, 4 points.** `edits` is a list of tuples (file, old text, new text)
# that mend the files as they were handed out, one after the other; each old text is there exactly once.
# `faults` has one tuple (file, place, class); a place is a line's number, a function, a name or a key.
# `report.yaml` lists the classes.

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
# **Exercise 99.2, 20 minutes, one fault, 6 points.** The symptom is far from its place.

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
# **Exercise 99.3, 40 minutes, three faults, 10 points.** Each hides the next: after a mend, read the run
# anew, as another ticket. `faults` has three tuples, in any order. Two of three mended is not mended.

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
        (
            "data.py",
            '        "rejected": assistant(row["chosen"]),\n'
            '        "chosen": assistant(row["rejected"]),\n',
            '        "chosen": assistant(row["chosen"]),\n'
            '        "rejected": assistant(row["rejected"]),\n',
        ),
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
# ## 10. Score sheet
#
# Places and classes named, the run, the minutes from opening a folder to the first `course oncall check` in it
# that found everything solved, and hints of both kinds. Where did you lose time: reading, or proving?

# %%
sheet.sheet({"first": answer_1, "second": answer_2, "third": answer_3})

# %% [markdown]
# ## 11. What you have practised
#
# The classes of failure, most frequent first, by the tickets that you have solved: these, and those that
# you draw below. Not every class has tickets yet.

# %%
sheet.practised()

# %% [markdown]
# ## 12. Practise again
#
# Another seed, another ticket: other rows, another checkpoint, mostly another fault. Level 1, 2 or 3. This
# one stands in `oncall/7-1`:

# %%
again = first if FAST else exam.practise(seed=SEED + 7, level=1)
expect_symptom("a new ticket is there", holds=(again / "ticket.md").exists())

# %% [markdown]
# The same in a terminal, where `weekly` draws what everybody has this week:
#
# ```sh
# course oncall new --seed 8 --level 2
# course oncall weekly --level 3
# course oncall check oncall/8-2
# ```

# %% [markdown]
# ## 13. Next time
#
# * **Read** for what was seen. Keep the explanations as suspects, the reporter's first.
# * **One run that half of the suspects would not survive** is worth ten that look at one of them.
# * **A mend is proved** on another seed, and by a non-fix that fails the same proof.

# %%
ex.progress()
