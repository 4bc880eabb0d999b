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
# # Floating point exception (core dumped)
#
# After 60 minutes you will be able to
#
# * **read** what a process that died leaves behind: status, signal, stack, and what is missing,
# * **bisect** a configuration instead of guessing,
# * **tell** an affected machine from one that is not, and a proof from a report.
#
# The core is sections 1 to 12. Sections 13 to 19 are deeper looks, 91 minutes in all; each stands
# alone, and you may skip it. Everything runs on a CPU. Each run is a child process, so the kernel
# of this notebook never dies. A GPU changes nothing.

# %% [markdown]
# **The cause in this lesson was planted.** We do not have the reporter's machine. So from section 4
# on, a stand-in replaces one native routine, in the child processes only. It dies under one
# condition, by construction. In section 6 you search for this condition, and section 8 shows its
# code. Trainer, model, both configurations, the signal and the stack are real.
#
# The search works the same without a stand-in. You learn it here, where the answer can be checked.
# Section 18 has a job in which nothing was planted.

# %% tags=["parameters"]
MODEL = "tiny"
DEVICE = "auto"
SEED = 0
FAST = False
STRICT = False

# %%
from course_utils.lesson import TODO, start

ex = start("02", strict=STRICT)
ex

# %%
import matplotlib.pyplot as plt
import torch

from course_utils import diagnostics, zoo
from course_utils.concepts import lesson_02 as concepts
from course_utils.lesson.expected_failures import expect_failure, expect_symptom
from course_utils.reproductions.lesson_02 import float_faults, grpo_sigfpe
from course_utils.reproductions.lesson_02.grpo_sigfpe import (
    REPORTED,
    SHORT,
    endings_of,
    is_sigfpe,
)
from course_utils.shown import plotting
from course_utils.shown.report import Table

# %% [markdown]
# ## 1. The report
#
# Two GRPO runs of Qwen2.5-0.5B-Instruct on one H20
# ([trl#2906](https://github.com/huggingface/trl/issues/2906), February 2025; torch 2.5.1+cu121, trl
# 0.14.0). The run with a detailed configuration ends, before any log line, with
#
# `Floating point exception (core dumped)`
#
# No Python exception has these words. Who ends the process, and what can you still learn
# afterwards?

# %%
concepts.who_ends_it()

# %% [markdown]
# With the short configuration, `GRPOConfig(output_dir=..., logging_steps=10)`, the same script
# trains. This is the detailed configuration:

# %%
for name, value in grpo_sigfpe.AS_POSTED.items():
    print(f"{name} = {value!r}")

# %% [markdown]
# In **GRPO**, the model first writes a group of completions for each prompt. This takes most of the
# time, and needs only forward passes. After that come the rewards, the log-probabilities under the
# old and the new model, the loss, its gradient, clipping, and the optimizer's step.

# %% [markdown]
# ## 2. The suspects
#
# These are explanations and fixes from an article about this failure, and from threads about the
# same error message. A claim that names no thread is the article's. Some claims are right.
#
# **Vote** before you see the evidence, in the cell after the claims: one mark per claim, in the
# order shown. `t` is true, `p` partly, `f` false. Add `!` where you are sure; `-` leaves one out. A
# fix counts as true if it prevents this death or leads to its cause. You vote on ten claims. The
# others appear later, with their verdicts.

# %%
verdicts = ex.verdicts
verdicts.suspects()

# %%
### BEGIN SOLUTION
my_votes = "t! p f! p t f p t p p"
### END SOLUTION
verdicts.vote(my_votes)

# %% [markdown]
# ## 3. Predict
#
# Predict before you look. Put a letter in quotes in place of `TODO`.

# %%
### BEGIN SOLUTION
my_guess = "e"
### END SOLUTION
ex.WHAT_KILLS.predict(my_guess)

# %% [markdown]
# ## 4. Break it
#
# Today's TRL does not accept the configuration as it was posted (section 19 shows the translation).
# Eleven settings remain in which the two runs differ. Each has a value in both.

# %%
rows = [(name, repr(SHORT[name]), repr(REPORTED[name])) for name in SHORT]
Table(columns=("setting", "short run", "detailed run"), rows=rows)

# %% [markdown]
# **From here on, the stand-in works** in the child processes: one native routine dies where the
# reporter's routine died. (Section 8 names it.)
#
# On x86-64 the processor raises the signal. Other processors do not raise it; there, the stand-in
# sends the signal itself, and says so. What happens to the two runs?

# %%
run = dict(model=MODEL, device=DEVICE, seed=SEED)
first = endings_of({"short": SHORT, "detailed": REPORTED}, **run)
first

# %%
died = first["detailed"]
expect_symptom("the detailed run dies of SIGFPE", holds=is_sigfpe(died))
expect_symptom("the short run lives", holds=first["short"].outcome == "lived")

# %% [markdown]
# The child process is dead. This kernel is not.
#
# ## 5. Read what the dead process left
#
# First, the **number**. `subprocess` and `torchrun` report a signal as minus its number (`exitcode:
# -8`). A shell reports it as 128 plus its number (`echo $?`). The shell also prints the words of
# the title. What status does it give a process that is sent signal 8?

# %%
import os

print("the detailed run: return code", died.exit_code)
print("its signal was raised by", grpo_sigfpe.raised_by(died))
if os.name == "posix":
    kill = "sh -c 'kill -8 $$'; echo status $?"
    shell = diagnostics.run_in_child(["sh", "-c", kill])
    print("a shell, of another process:", shell.last_line)

# %% [markdown]
# **Exercise 02.1, 5 minutes, a few lines, 2 points.** Write `ended_by(status)`. It returns the name
# of the signal, such as `"SIGFPE"`, for a return code or for a shell's status. It returns `None` if
# no signal ended the process. It knows every signal of this machine, in both forms.
#
# Some numbers have no name in `signal.Signals`: on Linux 32, 33 and most up to 64. For these,
# return `None` (or, between SIGRTMIN and SIGRTMAX, their position as a shell gives it:
# `"SIGRTMIN+1"`). A status above 128 + 64 is a plain exit.

# %%
import signal


def ended_by(status):
    """The signal's name for a return code or a shell's status, or None."""
    ### BEGIN SOLUTION
    for sign in signal.Signals:
        if status in (-sign, 128 + sign):
            return sign.name
    return None
    ### END SOLUTION


# %%
ex.ENDING.check(ended_by)

# %% [markdown]
# Second, the **Python stack**. It exists if the fault handler was on (`python -X faulthandler`;
# `run_in_child` turns it on). The innermost frame comes first. Which of the files do you know?

# %%
print(died.headline)
print("fault handler:", died.fault)
inner = ("traps.py", "grpo_sigfpe.py", "linear.py")
for file in (*inner, "modeling_qwen2.py", "grpo_trainer.py"):
    frame = next((frame for frame in died.stack if frame.file == file), None)
    print(f"  {file:20} in {frame.function if frame else '(not in the dump)'}")

# %% [markdown]
# The innermost frames are the stand-in (the first two files). It was called by a linear layer, that
# by the model, and that by the trainer, where it **generates** completions. So there was no loss
# yet, no gradient and no step. Remember this when you judge the suspects. (To see native frames
# too, you need a debugger. Section 8 has those of other people.)
#
# Third, what is **missing**. Which of these did you expect in the log?

# %%
print("last line of output:", died.last_line)
print("not in the log:", ", ".join(died.missing))
no_line = died.last_line == grpo_sigfpe.STARTED and "nan or inf" in died.missing
before_any = "no help: it dies before the first log line"
verdicts.judge("C9", "false", before_any, "section 5", holds=no_line)
verdicts.judge("C12", "false", before_any, "section 5", holds=no_line)

# %% [markdown]
# ## 6. Which setting?
#
# Eleven settings differ. Which of them do you suspect?

# %%
### BEGIN SOLUTION
my_guess = "e"
### END SOLUTION
ex.WHICH_SETTING.predict(my_guess)

# %% [markdown]
# The article adds settings one at a time. Here this takes up to eleven runs, and it never finds two
# settings that are deadly only together. **Delta debugging** (ddmin) works on sets of settings
# instead:
#
# 1. Switch on one half of the settings, then the other half. Continue inside a half that dies.
# 2. If neither half dies, cut into smaller parts. Try each part, then everything except that part.
# 3. Stop when you can leave out no more settings.
#
# Each probe is a real run. The first two are controls: none of the settings, and all of them.

# %%
bisection = diagnostics.bisect_config(
    SHORT,
    REPORTED,
    lambda config: grpo_sigfpe.train_grpo(config, **run),
    in_child=grpo_sigfpe.in_child,
    timeout_s=grpo_sigfpe.TIMEOUT_S,
)
bisection

# %%
probes = bisection.probes
died_with = [set(p.settings) for p in probes if p.outcome == bisection.failure]
lived_with = [set(p.settings) for p in probes if p.outcome == "lived"]
common = set.intersection(*died_with).difference(*lived_with)

fig, ax = plt.subplots(figsize=(8.6, 4), layout="constrained")
bisection.draw(ax)
caption = f"{len(died_with)} of {len(probes)} probes died. All of them have "
plotting.show(fig, f"{caption}{', '.join(common)}, and none that lived has.")

# %%
ex.WHICH_SETTING.recall("d", holds=bisection.causes == (("bf16",),))
verdicts.judge(
    "C7",
    "true",
    "one setting is the cause, so it leads there; halves need fewer runs",
    "section 6",
    holds=bisection.causes == (("bf16",),),
)

# %% [markdown]
# One probe is as important as those that died: without this one setting, the ten others together
# live. The reporter saw the same, in the last comment of the thread, which the article leaves out.
# Below is that run once more, with `bf16=False` written out. And what would today's defaults do to
# the *short* run on such a machine?

# %%
today = {name: value for name, value in SHORT.items() if name != "bf16"}
changes = {
    "detailed, bf16=False": REPORTED | {"bf16": False},
    "short, today's defaults": today,
}
one_changed = endings_of(changes, **run)
one_changed

# %%
without = one_changed["detailed, bf16=False"].outcome
dies_today = is_sigfpe(one_changed["short, today's defaults"])
verdicts.judge(
    "C1",
    "true",
    "and the detailed one runs too, with bf16=False",
    "sections 4 and 6",
    holds=is_sigfpe(died) and without == first["short"].outcome == "lived",
)
expect_symptom("today the short run dies", holds=dies_today)

# %% [markdown]
# In trl 0.14, `bf16` was off by default. The short run lived because it never multiplied in bf16.
# Today `bf16` is on by default. (Section 14 asks you to write this search yourself.)

# %% [markdown]
# ## 7. Eliminate
#
# The bisection points at one setting. The article accuses four other things: accumulation, the
# learning rate with its schedule, clipping, and the combination. Ask two questions about each. Does
# the death **need** it: without it, does the detailed run live? Is it **enough**: with it, does the
# short run die?

# %%
SUSPECTS = {
    "accumulation": ["gradient_accumulation_steps"],
    "learning rate": ["learning_rate", "warmup_steps", "lr_scheduler_type"],
    "clipping": ["max_grad_norm"],
    "betas": ["adam_beta2"],
    "all but bf16": [name for name in SHORT if name != "bf16"],
}
few = {"max_steps": 1 if FAST else 2}  # a warmup's first step has a rate of 0
configs = {}
for name, settings in SUSPECTS.items():
    configs["out", name] = REPORTED | {s: SHORT[s] for s in settings}
    configs["in", name] = SHORT | few | {s: REPORTED[s] for s in settings}

# %%
outcomes = endings_of(configs, **run).outcomes
without = {name: outcomes["out", name] for name in SUSPECTS}
within = {name: outcomes["in", name] for name in SUSPECTS}
rows = [(name, without[name], within[name]) for name in SUSPECTS]
sound = REPORTED | {"sound": True}
on_sound = endings_of({"detailed": sound | few}, **run)["detailed"].outcome
print("the detailed run on a sound machine, without the stand-in:", on_sound)
columns = ("suspect", "detailed run without it", "short run with it")
Table(columns=columns, rows=rows)

# %% [markdown]
# None of them is needed, and none is enough. On a sound machine all eleven together live. But could
# one of them produce a bad number that kills? Section 8 shows what a bad number does to a process.
# (Section 15 puts each suspect to an extreme value.)

# %%
dies_without = {name: ended != "lived" for name, ended in without.items()}
no_part = {name: dies_without[name] and within[name] == "lived" for name in SUSPECTS}
both = on_sound == within["all but bf16"] == "lived"
neither = "the detailed run dies without it, the short run lives with it"
still = "no fix: with it the run still dies"
for claim, verdict, why, holds in (
    ("C3", "false", "on a sound machine all eleven live in bf16", both),
    ("C4", "false", neither, no_part["accumulation"]),
    ("C6", "false", neither, no_part["clipping"]),
    ("C11", "false", still, dies_without["accumulation"]),
    ("C13", "false", still, dies_without["clipping"]),
    ("C14", "partly", "safe, but the run dies with them all the same", dies_without["betas"]),
):
    verdicts.judge(claim, verdict, why, "section 7", holds=holds)

# %% [markdown]
# ## 8. The name, and what it really means
#
# What is a "floating point exception"? The standard IEEE 754 asks for this: a float fault gives a
# default result (inf or nan), sets a **flag** in the processor, and interrupts nothing. The flag
# stays set until a program reads and clears it.
#
# Below we try each fault in a child process, together with two integer divisions. In the second
# column the float traps are *unmasked*: then a flag becomes a signal.

# %%
fates = float_faults.fates()
killed = [fault for fault, fate in fates.as_usual.items() if fate == "SIGFPE"]
words = [fates.unmasked[fault] for fault in float_faults.FLOAT_FAULTS]
plural = {"SIGFPE": "die", "lives": "live"}
counts = ", ".join(f"{words.count(word)} {plural.get(word, word)}" for word in sorted(set(words)))
grid = dict(rows=list(fates.as_usual), texts=fates.grid)
meanings = {"lives": "alive", "SIGFPE": "dead", "exception": "suspicious"}

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
columns = ["as usual", "float traps unmasked"]
plotting.draw_grid(ax, columns=columns, meanings=meanings, **grid)
ax.set_title("As usual, only a native integer division kills")
caption = f'As usual "{", ".join(killed)}" alone dies.'
plotting.show(fig, f"{caption} The float faults with traps unmasked: {counts}.")

# %%
ex.WHAT_KILLS.recall("d", holds=killed == ["1 / 0, C integers"])

# %% [markdown]
# Torch checks whether an integer divisor is 0, and raises a Python exception. C does not check.
# Integers have no inf and no nan, so the processor has no result to return, and it interrupts the
# program. Unix has one signal for all arithmetic faults, and its name speaks of floats.
#
# (64-bit Arm returns 0 instead. There, the division above sends the signal itself.)

# %% [markdown]
# **Exercise 02.4, 5 minutes, one expression, 2 points.** Write `kills(a, b)`: does `a / b` end the
# process on x86-64? A Python `int` stands for a C `int` of 32 bits, and a `float` for a C `double`.


# %%
def kills(a, b):
    """Whether the division of two C numbers ends the process."""
    ### BEGIN SOLUTION
    if float in (type(a), type(b)):
        return False
    return b == 0 or a // b == 2**31
    ### END SOLUTION


# %%
ex.DIVISION.check(kills)

# %% [markdown]
# Back to the H20. Before a matrix product starts there, cuBLASLt chooses how to compute it. This
# choice runs on the CPU. It uses the format and the **shape** of the matrices, and does not read
# the numbers in them. Other people with an H20 had a build that prints native frames:
#
# * [vllm#2798](https://github.com/vllm-project/vllm/issues/2798): `Caught signal 8 (Floating point
#   exception: integer divide by zero)`, in `cublasLtMatmulAlgoGetHeuristic`, which called
#   `cublasLtMatmulAlgoCheck`.
# * [LlamaFactory#6741](https://github.com/hiyouga/LlamaFactory/issues/6741): the same two
#   functions, below a matrix product with bias, such as a linear layer.
#
# And vLLM does not train: there, no optimizer and no gradient exist.
#
# Our stand-in makes such a choice as well, by a rule that we made up: 512 columns are one tile, and
# the rows are divided among the tiles.

# %%
import inspect

print(inspect.getsource(grpo_sigfpe.choose_algorithm))

# %% [markdown]
# The stand-in makes this choice for each bf16 product, with `num_tiles` = columns // 512. What
# happens to a product with fewer columns? Does it depend on the numbers, the format or the shape?

# %%
products = {
    "random numbers": (torch.bfloat16, torch.randn, 64),
    "all zeros": (torch.bfloat16, torch.zeros, 64),
    "float32": (torch.float32, torch.randn, 64),
    "another shape": (torch.bfloat16, torch.randn, 512),
}


def multiply(dtype, make, columns):
    with grpo_sigfpe.StandInGemm():
        make(24, 128).to(dtype) @ make(128, columns).to(dtype)


# %%
ends = {}
for name, product in products.items():
    ends[name] = grpo_sigfpe.in_child(multiply, *product).outcome
Table(columns=("product", "with the stand-in"), rows=list(ends.items()))

# %% [markdown]
# This is the condition that was planted: bf16, and fewer than 512 columns. The threads, all about
# H20s, show that the real routine behaves like this:
#
# * [pytorch#152017](https://github.com/pytorch/pytorch/issues/152017): matrices of **zeros**, of
#   one exact size (torch 2.1.0+cu121),
# * [pytorch#133548](https://github.com/pytorch/pytorch/issues/133548): `Linear(1024, 18432)` in
#   bfloat16, on a batch of 2,
# * [Paddle#66921](https://github.com/PaddlePaddle/Paddle/issues/66921): bf16 dies; fp16 and fp32 do
#   not.

# %% [markdown]
# But bf16 is not the whole cause. The matrices of zeros were **float16**, and so were the models of
# vllm#2798 and [vllm#4392](https://github.com/vllm-project/vllm/issues/4392). One report has the
# same native frames below a product in float32
# ([StreamVGGT#10](https://github.com/wzzheng/StreamVGGT/issues/10); we did not see which GPU it
# was). The setting decides
# in which format products are computed; format and shape decide whether the routine dies.

# %%
dead = ends["all zeros"] == ends["random numbers"] != "lived"
one_product = "one matrix product is enough; plain inference dies too"
fp16_too = "float16 dies as well, by shape; the library is at fault, not the GPU"
for claim, verdict, why, source in (
    ("C8", "false", "no help: zeros die too; good practice elsewhere", "pytorch#152017"),
    ("C15", "false", one_product, "vllm#2798"),
):
    verdicts.judge(claim, verdict, why, f"section 8, {source}", holds=dead)
verdicts.cite("C17", "partly", fp16_too, "pytorch#152017, vllm#2798")

# %% [markdown]
# ## 9. The fix
#
# The routine belongs to cuBLAS, so the version of cuBLAS matters. Version 12.1.3.1 dies on an H20.
# Reported to work: 12.3.4.1
# ([LlamaFactory#2750](https://github.com/hiyouga/LLaMA-Factory/issues/2750)), 12.4.5.8
# ([diffusers#11241](https://github.com/huggingface/diffusers/issues/11241)), 12.5.2.13 (vllm#4392),
# and torch for CUDA 11.8 ([EasyAnimate#32](https://github.com/aigc-apps/EasyAnimate/issues/32)). We
# know of no NVIDIA release note that names the bug. (vllm#2798 names an NVIDIA image; we could not
# find out which cuBLAS its vLLM loaded.)
#
# torch's wheel asks for a wheel of cuBLAS. torch 2.5.1 from the package index asks for 12.4.5.8,
# torch for cu121 for 12.1.3.1. (We read this in 2.1.2 and 2.4.1; for the reporter's 2.5.1+cu121 it
# is inferred.) If two are installed, section 17 says which one is loaded.

# %% [markdown]
# Below is the reporter's machine, first as it was, then with another cuBLAS wheel:

# %%
from dataclasses import replace

from course_utils.diagnostics.processes import cublas

h20 = dict(cuda="12.1", wheel="12.1.3.1", gpus=("NVIDIA H20",))
reporter = cublas.CublasEnvironment("2.5.1+cu121", **h20)
found = cublas.diagnose_cublas(reporter)
print(found)
upgraded = cublas.diagnose_cublas(replace(reporter, wheel="12.4.5.8"))
print(upgraded)
clue, fixed = "and the first clue: cu121 and H20", "by the reports from H20s"
affected, safe = found.verdict == "affected", upgraded.verdict == "not affected"
verdicts.judge("C2", "true", clue, "section 9", holds=affected)
verdicts.judge("C16", "true", fixed, "section 9, lmdeploy#3342", holds=affected and safe)

# %% [markdown]
# And your machine? `course doctor` also prints this line, with the reason. It computes no matrix
# product, so it cannot die.

# %%
mine = cublas.diagnose_cublas(cublas.read_cublas_environment())
print("this machine:", mine.verdict)

# %% [markdown]
# ## 10. What is proved, and what is reported
#
# The fix changes no setting. Below is the detailed run as reported, with the workaround from the
# thread, and with sound products. No cuBLAS runs here, so the table proves that the setting and the
# products decide. The reports of section 9 say that a newer cuBLAS makes them sound.

# %%
proof = {
    "as reported": died.outcome,
    "with bf16=False": one_changed["detailed, bf16=False"].outcome,
    "with sound products": on_sound,
}
costs = {
    "as reported": "the run",
    "with bf16=False": "what bf16 is for: memory and speed",
    "with sound products": "on an H20, as reported: one pip install",
}
rows = [(name, proof[name], price) for name, price in costs.items()]
expect_symptom("the detailed run lives on sound ground", holds=on_sound == "lived")
Table(columns=("the detailed run", "ends", "cost"), rows=rows)

# %% [markdown]
# ## 11. The verdicts
#
# Below is every claim, its verdict, and where you saw the evidence. (C5 and C10 are decided in
# section 15, C18 in section 17.)

# %%
verdicts.table()

# %% [markdown]
# The next table compares the libraries of the report with yours. `course era 02` runs the reported
# script in both.

# %%
from course_utils.reproductions import eras

eras.row("02")

# %% [markdown]
# ## 12. Next time
#
# * **Signature**: status 136 or `exitcode: -8`, no traceback, no nan, often before the first log
#   line.
# * **Look first** at the GPU, the CUDA build and the cuBLAS version. Set `PYTHONFAULTHANDLER=1` and
#   run again.
# * **Look-alikes**: 139 (SIGSEGV), 137 (out of memory, killed from outside), 134 (abort). If there
#   is a nan in the log, it is another lesson: 03, 04 or 05.
# * **Silence** is not death. Take the stack of every process, twice, before you kill anything
#   (section 13).
# * **A guard**: `course doctor` before the job, `run_in_child` around it.

# %% [markdown]
# **Exercise 02.6, 2 minutes, two letters, 2 points.** 1) A job ends with status 136, without a log
# line. What tells you most: a) the loss curve, b) the gradient norm, or c) the stack of the fault
# handler? 2) On x86-64, SIGFPE usually means a) a nan in bf16, b) an integer division in native
# code, c) a float overflow.

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
# * A float fault gives inf or nan, and the program continues. A native integer division by zero
#   ends the process.
# * To find the setting, bisect, with one child process per probe. A setting that looks extreme may
#   be harmless.
# * On an H20 with cuBLAS 12.1.3.1, the library is at fault. Change it, and keep bf16.

# %% [markdown]
# Further reading: [trl#2906](https://github.com/huggingface/trl/issues/2906), Zeller and
# Hildebrandt (2002), [Simplifying and Isolating Failure-Inducing
# Input](https://doi.org/10.1109/32.988498), and the manual pages
# [signal(7)](https://man7.org/linux/man-pages/man7/signal.7.html) and
# [fenv(3)](https://man7.org/linux/man-pages/man3/fenv.3.html).

# %% [markdown]
# ## 13. Deeper look: read a process that is stuck
#
# *9 minutes, 2 points; you may skip it.* A process can also leave nothing at all, because it does
# not end. Below, as in many GRPO jobs, a worker process scores the completions. A long completion
# takes too much memory; the line with `os.kill` does what the operating system does then. What does
# the job do?

# %%
from multiprocessing import get_context


def score(replies, scores):
    if max(map(len, replies)) > 100:
        os.kill(os.getpid(), signal.SIGKILL)  # what the kernel does
    scores.put([float(len(reply)) for reply in replies])


def rewards_of(replies):
    context = get_context("fork")
    scores = context.SimpleQueue()
    worker = context.Process(target=score, args=(replies, scores))
    worker.start()
    return scores.get()


# %%
def job():
    for replies in (["4", "42"], ["4", "42 " * 100]):
        print("rewards", rewards_of(replies))


stuck = diagnostics.run_in_child(job, timeout_s=3)
print(stuck.headline)
print("last line of output:", stuck.last_line)

# %% [markdown]
# At its time limit, `run_in_child` sends SIGABRT, and the fault handler writes the stack. For a job
# that is already running, `py-spy dump --pid PID` prints the stack from outside. Take it twice: the
# second stack of a slow process differs from the first, that of a stuck process does not.

# %%
for frame in stuck.stack:
    print(f"{frame.file:15} in {frame.function}")
expect_symptom("the job waits", holds=stuck.timed_out and len(stuck.stack) > 2)

# %% [markdown]
# **Exercise 02.7, 3 minutes, a line and two letters, 2 points.** At which line of the functions
# `rewards_of` and `job` does the parent process wait? Copy its text into `line`. What does it wait
# for, and which change would have turned the silence into an error?

# %%
from course_utils.exercises.lesson_02.hang import choices

print(choices())

# %%
# A dict: {"line": "worker.start()", "waits_for": "a", "fix": "a"}
### BEGIN SOLUTION
stuck_at = {"line": "return scores.get()", "waits_for": "b", "fix": "d"}
### END SOLUTION

# %%
ex.HANG.check(stuck_at)

# %% [markdown]
# Collectives of several ranks hang in the same way: each rank waits for one that died, or that is
# at another line. Take the stack of **every** rank, and look for the one that differs.

# %% [markdown]
# ## 14. Deeper look: write the search yourself
#
# *22 minutes, 5 points; you may skip it.* The search of section 6 is a small function.

# %% [markdown]
# **Exercise 02.2, 12 minutes, a small function, 5 points.** Write `find_cause(settings, dies)`.
# `settings` is a tuple of names. `dies(some)` takes a tuple, list or set of names, makes a
# (simulated) run and says whether it died. With all settings it dies, with none of them it lives.
# If a run dies, it also dies with more settings.
#
# Return (as a tuple, list or set) a smallest set that dies: if you leave out any one of its
# members, the run lives.

# %% [markdown]
# A cause may consist of any number of settings. The check also tries lists of 64 settings. There, a
# cause of one setting has to be found with at most 24 runs. A search that asks more than 300 times
# is stopped.


# %%
def find_cause(settings, dies):
    """A set of settings that dies, and of which none can be left out."""
    ### BEGIN SOLUTION
    cause, rest = [], list(settings)
    while not dies(cause):
        lives, kills = 0, len(rest)  # lengths of prefixes: one lives, one dies
        while kills - lives > 1:
            middle = (lives + kills) // 2
            if dies(cause + rest[:middle]):
                kills = middle
            else:
                lives = middle
        cause, rest = [*cause, rest[kills - 1]], rest[: kills - 1]
    return cause
    ### END SOLUTION


# %%
ex.SEARCH.check(find_cause)

# %% [markdown]
# Does your search find the cause in the real run, too? It asks the same question, and every answer
# is a child process.

# %%
asked = []


def really_dies(settings):
    asked.append(settings)
    config = SHORT | {name: REPORTED[name] for name in settings}
    return is_sigfpe(grpo_sigfpe.ending_of(config, **run))


cause = ex.SEARCH.answer(tuple(SHORT), really_dies)
print(f"found {', '.join(cause)} with {len(asked)} runs")

# %% [markdown]
# ## 15. Deeper look: refute one cause yourself
#
# *15 minutes, 3 points; you may skip it.* Suppose that the article is right, and one of its
# suspects produces bad numbers. Does a bad number kill a process? Below, each suspect goes to an
# extreme value in bf16 on a **sound** machine, without the stand-in. (One row has the stand-in
# again: the article's advice of a larger learning rate.)

# %%
four = sound | {"fill_gradients": 2e38}
fast = {"learning_rate": 1e38, "warmup_steps": 0, "max_steps": 2}
extremes = {
    "one gradient of 2e38": four | {"gradient_accumulation_steps": 1},
    "four of 2e38, added up": four,
    "learning rate 5e-5, machine as reported": REPORTED | {"learning_rate": 5e-5},
    "learning rate 1e38": sound | fast,
    "max_grad_norm 1e-30": sound | {"max_grad_norm": 1e-30},
    "clipping a gradient of 0": sound | {"fill_gradients": 0.0},
}
beyond = endings_of(extremes, **run)
beyond

# %% [markdown]
# Four gradients of 2e38 add up to inf, as the article says. The inf destroys the weights, but the
# process lives. One such gradient is finite; only its **norm** is inf, because its squares
# overflow. The clipping divides by this norm, so the gradient becomes 0 and the weights stay
# finite. A learning rate of 1e38 ends in a **Python** error, with a traceback:

# %%
print(beyond["learning rate 1e38"].exception)
raised = beyond["learning rate 5e-5, machine as reported"]
alive = all(not is_sigfpe(found) for found in beyond.autopsies.values() if found is not raised)
four_end, one_end = (
    beyond[name].last_line.endswith("not finite")
    for name in ("four of 2e38, added up", "one gradient of 2e38")
)
expect_symptom("inf destroys weights, and no process", holds=alive and four_end and not one_end)
why = "Python floats; even 1e38 ends in a Python error"
rate_lives = alive and within["learning rate"] == "lived"
verdicts.judge("C5", "false", why, "section 15", holds=rate_lives)
verdicts.judge("C10", "false", still, "section 15", holds=is_sigfpe(raised))

# %% [markdown]
# The learning rate's schedule is computed in Python, not in bf16. Which rates does it give for the
# ten steps of a run? And what would a division by zero look like there?

# %%
from transformers import get_scheduler

weight = torch.nn.Parameter(torch.zeros(1))
optimizer = torch.optim.AdamW([weight], lr=REPORTED["learning_rate"])
steps = dict(num_warmup_steps=1, num_training_steps=10)
schedule = get_scheduler("cosine", optimizer, **steps)
rates = []
for _ in range(10):
    rates.append(schedule.get_last_lr()[0])
    optimizer.step()
    schedule.step()
print(" ".join(f"{rate:.1e}" for rate in rates))
with expect_failure(ZeroDivisionError, saying="zero"):
    rates[0] / 0.0

# %% [markdown]
# **Exercise 02.3, 5 minutes, the settings of one cause, 3 points.** Refute one cause with values
# that are harsher than the reported ones: accumulation (C4), the learning rate (C5) or clipping
# (C6). `control` contains **every** setting that the article names for this cause, and no others:
# C4 and C6 need one setting, C5 three. Each goes further than the report:
#
# * a number beyond the reported one (at most 16 accumulation steps),
# * the reported schedule,
# * the reported share of warmup, or a longer one that ends before the last step.
#
# The check trains the short run with `control` for three steps, with the stand-in. It has to live.
# A Python error, as at 1e38, shows only that this value brings no signal before the error.

# %%
# A dict, for example {"adam_beta2": 0.9} for the betas, which nobody accuses
### BEGIN SOLUTION
control = {"max_grad_norm": 0.01}
### END SOLUTION

# %%
ex.REFUTE.check(control)

# %% [markdown]
# ## 16. Deeper look: a signal that you want
#
# *12 minutes; you may skip it.* Float faults set flags. Which fault sets which flag?

# %%
float_faults.results_table()

# %% [markdown]
# (Vectorised `exp` and `log` do not set the flag. A cast to float16 sets it on some processors
# only.) With the traps unmasked, such a flag becomes a signal: an instrument that ends the child
# process at the first 0/0 or overflow of a training step, **at its line**. The step below is
# similar to GRPO's.

# %% [markdown]
# In GRPO, the model writes a group of completions for one prompt, and a function gives each a
# reward. A completion that is better than its group's mean becomes more likely, a worse one less
# likely. Its **advantage** says how much: its distance from the mean, in standard deviations. Below
# are five completions for one prompt.

# %%
completions = ["42", "17 + 25", "It is 42.", "41", "?"]
rewards = torch.tensor([1.0, 0.0, 1.0, 0.0, 0.0])
advantages = (rewards - rewards.mean()) / rewards.std()
named = zip(completions, rewards, advantages, strict=True)
bars = {f'"{text}", reward {r:g}': a.item() for text, r, a in named}
up = [name for name, advantage in bars.items() if advantage > 0]

fig, ax = plt.subplots(figsize=(7, 2.6), layout="constrained")
plotting.draw_bars(ax, bars, meanings=dict.fromkeys(up, "alive"))
ax.set(xlabel="advantage (standard deviations)")
ax.set_title('Five completions of "17 + 25 ="')
what = f"{len(up)} completions become more likely, {len(bars) - len(up)} less"
plotting.show(fig, f"The mean reward is {rewards.mean():.1f}: {what}.")

# %% [markdown]
# In the step below, the model runs once before the traps are set, because imports at the first call
# may set a flag. What happens when all four rewards are equal? And when they are float16, and
# large?


# %%
def training_step(rewards, bonus, dtype):
    model = zoo.load_policy(MODEL, device="cpu")
    tokenizer = zoo.load_tokenizer(MODEL)
    ids = tokenizer(["17+25=42"] * 4, return_tensors="pt").input_ids
    model(ids).logits.logsumexp(-1).sum().backward()
    with diagnostics.unmask_float_traps():
        logits = model(ids).logits[:, :-1]
        chosen = logits.gather(-1, ids[:, 1:, None]).squeeze(-1)
        logp = (chosen - logits.logsumexp(-1)).mean(-1)
        shaped = torch.tensor(rewards, dtype=dtype) + bonus
        advantages = (shaped - shaped.mean()) / shaped.std()
        (-logp * advantages).sum().backward()


# %%
steps = {
    "healthy": ([0.0, 1.0, 1.0, 0.0], 0.0, torch.float32),
    "equal rewards": ([1.0, 1.0, 1.0, 1.0], 0.0, torch.float32),
    "large, in float16": ([6e4, 1.0, 1.0, 0.0], 3e4, torch.float16),
}
scalar = {"ATEN_CPU_CAPABILITY": "default"}
parts = grpo_sigfpe.MODEL_PARTS
trapped = {}
with diagnostics.warm_children(preload=parts, env=scalar) as in_child:
    for name, step in steps.items():
        trapped[name] = in_child(training_step, *step)

# %%
source = inspect.getsource(training_step).splitlines()
first_line = training_step.__code__.co_firstlineno
for name, found in trapped.items():
    own = [frame for frame in found.stack if frame.file == "notebook cell"]
    lines = [source[frame.line - first_line].strip() for frame in own[:1]]
    print(f"{name:18} {found.outcome}", *lines)

# %% [markdown]
# Without the traps, the same steps would have continued with nan gradients. (If the outcome above
# is `Unsupported`: the traps are glibc's on x86-64. On other machines use `watch`.)
#
# This instrument has limits. It does not see faults that set no flag in section 8 (`exp`, `log`),
# and it sees nothing on a GPU. It also gives false alarms. Most of torch's kernels of `log_softmax`
# set a flag on good numbers; this is why the step uses `logsumexp`. Vectorised softmax does so on
# masks; this is why `scalar` turns torch's vector kernels off.

# %%
expect_symptom(
    "each fault dies at its own line, or the traps are unsupported here",
    holds=[t.outcome for t in trapped.values()] == ["lived", "SIGFPE", "SIGFPE"]
    or {t.outcome for t in trapped.values()} == {"Unsupported"},
)

# %% [markdown]
# And a signal that nobody wants, without a trap and without a stand-in. Torch looks for a divisor
# of 0 only ([pytorch#138425](https://github.com/pytorch/pytorch/issues/138425)). What happens to
# the other pair of exercise 02.4?


# %%
def divide(rounding_mode):
    torch.div(torch.tensor([-(2**31)], dtype=torch.int32), -1, rounding_mode=rounding_mode)


for mode in (None, "floor", "trunc"):
    print(f"rounding_mode={mode!s:6}", grpo_sigfpe.in_child(divide, mode).outcome)

# %% [markdown]
# Without a rounding mode, torch divides floats. With "trunc", the processor gets the integers as
# they are, and on x86-64 the process dies. By the reports, "floor" did the same in older versions.

# %% [markdown]
# ## 17. Deeper look: which cuBLAS does a process load?
#
# *10 minutes, 4 points; you may skip it.* Two cuBLAS may be installed on one machine. The loader
# takes the first one with the right name, `libcublas.so.12` (`.so.11` for CUDA 11), in this order
# ([ld.so(8)](https://man7.org/linux/man-pages/man8/ld.so.8.html)):
#
# 1. the folders that torch's own library lists as **DT_RPATH**,
# 2. `LD_LIBRARY_PATH`,
# 3. the folders that it lists as **DT_RUNPATH**.

# %% [markdown]
# torch's CUDA wheels list the folder of the cuBLAS wheel as DT_RPATH, on purpose
# ([builder#1150](https://github.com/pytorch/builder/pull/1150); we read it in the wheels of 2.1.2,
# 2.4.1, 2.5.1 and 2.13.0). Other builds use DT_RUNPATH, or list no folder: torch 1.12
# ([pytorch#80637](https://github.com/pytorch/pytorch/issues/80637)), builds from source. (We have
# not read today's conda builds.) Does an `export LD_LIBRARY_PATH` help?

# %%
builds, verdict_of = {"RPATH": "torch's wheel", "RUNPATH": "from source"}, {}
for search, build in builds.items():
    paths = dict(on_library_path="12.3.4.1", search=search)
    machine = cublas.CublasEnvironment("2.1.2", **h20, **paths)
    found = cublas.diagnose_cublas(machine)
    verdict_of[search] = found.verdict
    loads = f"{found.version} ({found.loaded_from})"
    print(f"{build:14} by the loader's rule loads {loads}: {found.verdict}")
by_build = "torch's wheels do not read it first; builds from source do"
holds = verdict_of == {"RPATH": "affected", "RUNPATH": "not affected"}
verdicts.judge("C18", "partly", by_build, "section 17", holds=holds)

# %% [markdown]
# **Exercise 02.5, 5 minutes, six words, 4 points.** Six machines, all with torch's own wheels. What
# does each need?
#
# * `"nothing"`: it is not affected,
# * `"wheel"`: it is affected; install another nvidia-cublas,
# * `"path"`: it is affected; take the folder off `LD_LIBRARY_PATH`,
# * `"unknown"`: no report says whether it is affected.
#
# A word may be needed more than once, or never.

# %%
from course_utils.exercises.lesson_02.machines import listings_table

listings_table()

# %%
# A dict of six words: {"A": "nothing", "B": "nothing"}, and so on to "F"
### BEGIN SOLUTION
needs = {
    "A": "wheel",
    "B": "nothing",
    "C": "nothing",
    "D": "wheel",
    "E": "unknown",
    "F": "nothing",
}
### END SOLUTION

# %%
ex.MACHINES.check(needs)

# %% [markdown]
# ## 18. Deeper look: a job that nobody has explained
#
# *20 minutes, 6 points; you may skip it.* **Exercise 02.8, 15 minutes, a diagnosis in five parts, 6
# points.** Nothing in this job is planted. `SEED` draws it; another seed may draw another job.

# %%
patient = ex.UNSEEN.draw(SEED)
patient

# %%
patient.settings()

# %%
print(patient.source())

# %% [markdown]
# Use the tools of this lesson, both with `preload=patient.preload, timeout_s=patient.timeout_s`:
#
# * `diagnostics.run_in_child(patient.run, patient.fails, ...)`, with its `.outcome` and `.stack`,
# * `diagnostics.bisect_config(patient.works, patient.fails, patient.run, ...)`.
#
# `preload` names the modules that are imported before the time limit starts. Without it, the limit
# may end a child that is still importing. A stuck child uses its whole time limit, so a bisection
# may take a minute or two.

# %% tags=["solution"]
limit, in_child = dict(timeout_s=patient.timeout_s), grpo_sigfpe.in_child
autopsy = in_child(patient.run, patient.fails, **limit)
search = diagnostics.bisect_config(
    patient.works, patient.fails, patient.run, in_child=in_child, **limit
)
place = next(frame for frame in autopsy.stack if frame.file == "unseen_02.py")
print(autopsy.headline)
print("in", place.function)
print(search.headline)

# %% [markdown]
# `diagnosis` has five keys:
#
# * `ended`: how the job ended, a signal's name or `"time limit"`,
# * `place`: the function of the job in which it ended,
# * `settings`: the smallest set of the new settings that ends it in this way,
# * `cause`: its letter,
# * `fix`: one option with its other value.
#
# The check trains with the fix on three seeds that you have not seen.

# %%
# {"ended": "", "place": "", "settings": [], "cause": "", "fix": {"clip": 0.1}}
### BEGIN SOLUTION
diagnosis = {
    "ended": autopsy.outcome,
    "place": place.function,
    "settings": search.causes[0],
} | {
    "SIGBUS": {"cause": "e", "fix": {"write": "new file"}},
    "time limit": {"cause": "b", "fix": {"collect": "as it comes"}},
}[autopsy.outcome]
### END SOLUTION

# %%
ex.UNSEEN.check(diagnosis)

# %% [markdown]
# ## 19. Deeper look: the report in today's TRL
#
# *3 minutes; you may skip it.* Today's TRL does not accept the configuration as it was posted.

# %%
from trl import GRPOConfig

with expect_failure(TypeError, saying="unexpected keyword argument"):
    GRPOConfig(output_dir="unused", **grpo_sigfpe.AS_POSTED)
gone = ("warmup_ratio", "max_prompt_length")
posted = grpo_sigfpe.AS_POSTED.items()
rest = {name: value for name, value in posted if name not in gone}
with expect_failure(ValueError, saying="divisible"):
    GRPOConfig(output_dir="unused", use_cpu=True, **rest)

# %% [markdown]
# So we translate it. These settings had another name, or another meaning, in trl 0.14:

# %%
columns = ("in the report", "here", "why")
Table(columns=columns, rows=list(grpo_sigfpe.TRANSLATION))

# %% [markdown]
# Dozens of processes were started above. Is one left?

# %%
import psutil

grpo_sigfpe.end_children()  # it was kept, so that TRL is imported once
children = psutil.Process().children(recursive=True)
running = [c for c in children if c.status() != psutil.STATUS_ZOMBIE]
left = [c for c in running if "course_utils" in " ".join(c.cmdline())]
expect_symptom("no child is left running", holds=not left)

# %%
ex.progress()
