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
# # The reward goes up and nothing gets better
#
# After 60 minutes (sections 1 to 8) you will be able to
#
# * **read** the replies that a reward pays, and name the trick in them,
# * **fix** a run whose reward rises while the truth falls, and prove the fix,
# * **audit** a run with a second judge that trains nothing.
#
# Seven deeper looks follow, more than two hours in all. Each stands on its own, and you may skip them:
# groups of replies, verifiers, a loss of 0, constant rewards, suggested fixes, rewards of several parts, alarms.
# Everything runs on a CPU, most cells in seconds.

# %% tags=["parameters"]
MODEL = "tiny"
DEVICE = "auto"
SEED = 0
FAST = False
STRICT = False

# %%
from course_utils.lesson import TODO, start

ex = start("10", strict=STRICT)
ex

# %%
import json  # for a script that you will fix
import re
from collections import Counter
from functools import partial
from itertools import groupby, pairwise
from statistics import mean

import torch

# %%
from course_utils import zoo
from course_utils.concepts import lesson_10 as concepts
from course_utils.diagnostics import TruthAudit
from course_utils.lesson.expected_failures import expect_symptom
from course_utils.reproductions.lesson_10 import reward_up, six_steps, verifiers
from course_utils.reproductions.lesson_10.reward_up_runs import recorded
from course_utils.shown.report import Table
from course_utils.zoo import training

# %% [markdown]
# ## 1. The report
#
# * "All outputs are `<answer></answer>`", and the reward is 1.0
#   ([Visual-RFT#176](https://github.com/Liuziyu77/Visual-RFT/issues/176)).
# * The return "shoots up", and the evaluation falls
#   ([rllm#143](https://github.com/rllm-org/rllm/issues/143)).
# * `'loss': 0.0, 'grad_norm': 0.0957`: is anything learned?
#   ([trl#3452](https://github.com/huggingface/trl/issues/3452))
#
# Instruments that look for nan see none of this. GRPO learns from **groups**. Here a group is eight sampled
# completions (from now on: **replies**) to one sum of three numbers below 100. The **advantage** of a reply
# says how much more it earns than the mean of its group, in units of the group's spread: (reward - mean) /
# (std + 1e-4). Which replies of this group become more likely?

# %%
book = reward_up.Book(zoo.arithmetic.is_right)
here = {"seed": SEED, "name": MODEL, "device": DEVICE}
reward_up.grpo_trainer([book], max_steps=1, **here).train()
batch = book.batches[0]
groups = [batch[at : at + 8] for at in range(0, len(batch), 8)]
paid = [[float(zoo.arithmetic.is_right(*pair)) for pair in g] for g in groups]
mixed = [n for n, rewards in enumerate(paid) if 0 < sum(rewards) < 8]
mixed = min(mixed, key=lambda n: sum(not reply for reply, _ in groups[n]))
concepts.one_group([reply for reply, _ in groups[mixed]], paid[mixed])

# %% [markdown]
# ## 2. The suspects
#
# This is what threads, blogs and readmes claim. Which of the claims are right is not marked yet.

# %%
verdicts = ex.verdicts
verdicts.suspects()

# %% [markdown]
# Vote before you see the evidence, one mark per claim, in the order shown: `t` true, `p` partly, `f` false.
# Add `!` where you are sure; `-` leaves one out. For three claims: `"t! - f"`. C4 and C12 are judged in
# deeper looks, all others in the core.

# %%
### BEGIN SOLUTION
my_votes = "p t! f t p t f p"
### END SOLUTION
verdicts.vote(my_votes)

# %% [markdown]
# ## 3. Two runs, two curves
#
# The same policy is trained twice on hard sums, with two **verifiers** (reward functions that check the
# answer), `check_a` and `check_b`. How do the two rewards develop?

# %%
NUM_STEPS = 16 if FAST else 24


def check_a(reply, gold):
    return gold in reply or reply in gold


def check_b(reply, gold):
    return reply == gold


run_a = reward_up.train(check_a, max_steps=NUM_STEPS, num_held_out=400, **here)
run_b = reward_up.train(check_b, max_steps=NUM_STEPS, num_held_out=400, **here)

# %%
proxies = {"A": run_a.log["reward"], "B": run_b.log["reward"]}
width, rows = NUM_STEPS // 4, []
for begin in range(0, NUM_STEPS, width):
    means = [mean(p[begin : begin + width]) for p in proxies.values()]
    rows.append((f"from {begin + 1}", *(f"{m:.2f}" for m in means)))
Table(columns=("steps", "reward of run A", "of run B"), rows=rows)

# %% [markdown]
# Predict which policy adds better after the training than before: a) A, b) B, c) both, d) neither. Put a
# letter in place of `TODO`.

# %%
### BEGIN SOLUTION
my_guess = "c"
### END SOLUTION
ex.WHICH_RUN.predict(my_guess)

# %% [markdown]
# ## 4. The truth next to it
#
# A reward is a **proxy**: a number that is easy to compute and that should follow the truth. In each run, a
# second reward function with **weight 0** says whether a reply is really right. It is logged for the same
# replies and trains nothing. In addition, each policy answered 400 **held-out** sums, which no step trains
# on, with greedy decoding. Do proxy and truth agree?

# %% tags=["digits-vary"]
concepts.proxy_and_truth(run_a.log["reward"], run_a.log["truth"])

# %%
for name, run in {"A": run_a, "B": run_b}.items():
    print(f"run {name}, held out:", run.held_out)
fell = run_a.held_out[NUM_STEPS] < 0.3
rose = run_b.held_out[NUM_STEPS] > 0.7
ex.WHICH_RUN.recall("b", holds=fell and rose)

# %% [markdown]
# How sudden was the rise of the reward? We take the largest rise of the reward from one block of four steps
# to the next, in this run and in twenty recorded runs with each verifier.


# %%
def blocks(values, width=4):
    starts = range(0, len(values), width)
    return [mean(values[n : n + width]) for n in starts]


def largest_rise(run):
    return max(b - a for a, b in pairwise(blocks(run.log["reward"])))


def reward_rises(run):
    return blocks(run.log["reward"])[-1] > blocks(run.log["reward"])[0]


# %%
proxy, truth = blocks(run_a.log["reward"]), [*run_a.held_out.values()]
twenty = recorded("substring")
num = sum(run.held_out[24] < 0.3 and reward_rises(run) for run in twenty)
nuance = f"this seed: reward {proxy[0]:.2f} to {proxy[-1]:.2f}, "
nuance += f"held-out truth {truth[0]:.2f} to {truth[-1]:.2f}"
holds, seeds = fell and reward_rises(run_a), f"{num} of {len(twenty)}"
verdicts.judge("C1", "false", nuance, "section 4", holds=holds, seeds=seeds)
hacked = mean(map(largest_rise, recorded("substring")))
healthy = mean(map(largest_rise, recorded("exact")))
print(f"this run's largest rise: {largest_rise(run_a):.2f}")
nuance = f"in this loop: largest rise {hacked:.2f} in hacked runs, {healthy:.2f} in healthy ones"
holds = hacked < healthy
verdicts.judge("C2", "false", nuance, "section 4; 20 seeds each", holds=holds)

# %% [markdown]
# ## 5. Read the replies
#
# The log does not say why the reward rose. The replies do. Below are some replies of the first step and of the
# last one, sorted by what they earn. Which kind of reply always earns 1?

# %%
for step in (0, NUM_STEPS - 1):
    pairs = run_a.batches[step][::4]
    paid = [(check_a(reply, gold), reply, gold) for reply, gold in pairs]
    print(f"step {step + 1}, reply (answer):")
    ranked = sorted(paid, reverse=True)
    for pay, replies in groupby(ranked, key=lambda row: row[0]):
        said = [f"{reply!r} ({gold})" for _, reply, gold in replies]
        print(f"  {pay:d}:", ", ".join(said))

# %% [markdown]
# Which replies became common, and what did they earn in the first step?
#
# **Exercise 10.1, 4 minutes, three texts, 3 points.** Now take the place of the policy: you want reward, and
# nothing else. Below are three verifiers. For each of them write one reply of at most 2000 characters that
# earns 1 for *every* sum. The answers lie between 0 and 297 and have no leading zeros.

# %%
import inspect

for number, verifier in verifiers.VERIFIERS.items():
    print(f"# {number}\n{inspect.getsource(verifier)}")

# %%
# A dict of three texts, for example {"1": "192", "2": "192", "3": "192"}
### BEGIN SOLUTION
replies = {"1": "", "2": " ".join(str(n) for n in range(298)), "3": "nan"}
### END SOLUTION

# %%
ex.CHEAT.check(replies)

# %% [markdown]
# The trick of run A is silence: an empty reply. In Python the empty text is `in` every text, so verifier A
# pays an empty reply for every sum. A reply with a number is sometimes wrong and then earns 0. So an empty
# reply earns more on average. Before the training the policy gave an empty reply now and then. GRPO raises
# the probability of replies that earn more than the mean of their group.
#
# A list of all numbers would be paid as well. Did the policy ever try one? We count the replies by their
# **shape**: the reply with every digit replaced by a 9.


# %%
def shape_of(reply):
    return re.sub("[0-9]", "9", reply)


def shapes(batches):
    return Counter(shape_of(reply) for batch in batches for reply, _ in batch)


# %%
early, late = shapes(run_a.batches[:2]), shapes(run_a.batches[-2:])
print("first two steps:", dict(early), "\nlast two steps: ", dict(late))
common = {shape for shape, n in late.items() if n > 0.1 * late.total()}
lists = sum(" " in shape for shape in shapes(run_a.batches))
nuance = f"in this run: silence {early['']} to {late['']} of {late.total()}; no list is "
nuance += "ever sampled, and none is learned; for long training of large models it is disputed"
holds = common <= set(early) and late[""] > early[""] > 0 and lists == 0
verdicts.judge("C16", "true", nuance, "section 5", holds=holds)

# %% [markdown]
# ## 6. Fix it
#
# The threads suggest several fixes for run A: a KL penalty (`beta`), a smaller learning rate, another scaling of
# the rewards (`not scaled`, or by the spread of the whole batch), and **filtering**, which keeps only the sums
# whose replies earn different rewards. A KL penalty adds a cost to the loss that grows as the policy moves away
# from where it began; `beta` is its weight.
#
# Here is each suggestion on five recorded seeds. (Recording them again takes ten minutes: `reward_up_runs.py`
# in `course_utils/reproductions`.) The last two rows have another verifier. All runs began with 0.63 of the
# held-out sums right. Which rows end clearly above it?

# %%
changes = ("beta 0.04", "beta 1.0", "lr 1e-5", "not scaled")
changes += ("scaled by the batch", "groups with signal")
kinds = ("substring", *(f"substring, {change}" for change in changes))
kinds += ("exact", "exact, groups with signal")
rows = []
for kind in kinds:
    five = recorded(kind)[:5]
    proxy = [f"{mean(run.log['reward'][-5:]):.2f}" for run in five]
    soon = f"{mean(run.held_out[8] for run in five):.2f}"
    truths = [f"{run.held_out[24]:.2f}" for run in five]
    rows.append((kind, " ".join(proxy), soon, " ".join(truths)))
columns = ("run", "reward at the end", "truth at step 8, mean", "truth at step 24")
Table(columns=columns, rows=rows, title="five seeds; truth before training: 0.63")

# %% [markdown]
# Only the runs with another verifier end clearly above 0.63. With `beta` 0.04 and with other scalings the
# truth falls as far as without them. With `beta` 1.0 the penalty keeps the policy near its start: in 24 steps
# it learns little of the trick, and nothing of the sums. A tenth of the learning rate makes every step
# smaller, so 24 steps reach less far; deeper look E shows longer runs. Filtering makes the fall faster: now
# almost every group has a signal, and it is the signal of the wrong reward.

# %%
begin = recorded("substring")[0].held_out[0]
five = {kind: [run.held_out[24] for run in recorded(kind)] for kind in kinds}
long = [run.held_out[96] for run in recorded("substring, beta 0.04, long")]
nuance = f"0.04 only delays it (two runs of 96 steps end at {max(long)} or less); "
nuance += "1.0 holds the policy where it was"
holds = max(long) < 0.2 and max(five["substring, beta 1.0"]) < 0.7
verdicts.judge("C8", "partly", nuance, "section 6", holds=holds)

# %%
slow, stopped = five["substring, lr 1e-5"], recorded("substring")
at_8 = max(run.held_out[8] for run in stopped)
nuance = f"a tenth of the rate ends below the start ({max(slow):.2f}), a stop at step 8, too"
holds = max(slow) < begin and at_8 < begin
verdicts.judge("C9", "false", nuance, "section 6", holds=holds, seeds="5 of 5 and 20 of 20")

# %%
ways = ("substring", "substring, beta 0.04", "substring, beta 1.0")


def rise(run):
    return mean(run.log["reward"][-5:]) - mean(run.log["reward"][:5])


rises = [[rise(run) for run in recorded(way)[:5]] for way in ways]
ordered = sum(a > b > c for a, b, c in zip(*rises, strict=True))
nuance = "rise in 24 steps without, with 0.04, with 1.0: "
nuance += ", ".join(f"{mean(r):.2f}" for r in rises) + "; but this is the wrong reward"
seeds = f"{ordered} of {len(rises[0])}"
verdicts.judge("C17", "true", nuance, "section 6", holds=ordered == 5, seeds=seeds)

# %% [markdown]
# **Exercise 10.6, 5 minutes, a dict, 4 points.** Fix run A. `fix` holds what you change: `"reward"`,
# a function of a reply and its answer, and GRPOConfig's `beta`, `learning_rate`, `scale_rewards`,
# `loss_type`, `temperature`. After 12 steps, at least 0.7 of the held-out sums must be right on three seeds.
#
# A new reward is also tried by hand, with answers from 0 to 297. Every reply must earn a number, not `nan` or
# None. A right number must earn more than silence, a wrong number, a part of the right one, one digit more,
# its digits in another order or separated by spaces (`1 9 2`), `nan`, and a list whose last number is wrong.
# Spaces or a line break around a right number must cost nothing.


# %%
# For example {"beta": 0.04}
### BEGIN SOLUTION
def is_the_number(reply, gold):
    return float(reply.strip() == gold)


fix = {"reward": is_the_number}
### END SOLUTION

# %%
ex.MEND.check(fix)

# %% [markdown]
# How do you prove the fix, and how do you find such a fault in a run of your own? With an **audit**: a second
# judge on questions that no step trains on. `TruthAudit` does that for any GRPOTrainer. Its columns
# `right earns` and `wrong earns` are the mean rewards of right and of wrong replies. Run A was audited
# in section 4, on 400 questions. Here is its table, and then the one of run A with your fix:

# %%
yours = ex.MEND.answer.get("reward", check_a)
fixed = reward_up.grpo_trainer([reward_up.reward_of(yours)], max_steps=NUM_STEPS, **here)
judge = TruthAudit(reward_up.held_out(400), zoo.arithmetic.is_right, every=8)
audits = {"A": run_a.audit, "A, fixed": judge.attach(fixed)}
fixed.train()
audits["A"].table

# %%
audits["A, fixed"].table

# %% [markdown]
# The first sentence of each table is about the truth, not about the reward. Two measurements with n questions
# cannot show a change that is smaller than about 1.4 / sqrt(n), two standard errors: 0.07 with 400 questions,
# 0.18 with 64. (The tables compute this limit from the measured shares, so theirs is a little smaller.) Take
# enough questions for the change that you want to see.
#
# Look at `wrong earns`, the last column, in the row of step 0. Before any training, verifier A pays a wrong reply
# two thirds of what it pays a right one. This is the cheapest test of a reward, and it needs no training. Where no answers
# are known, read twenty replies and judge them yourself.

# %% [markdown]
# ## 7. Next time
#
# * **Signature**: the reward rises or stays constant, but the replies are not what you wanted.
# * **Look first** at twenty replies, sorted by reward. Then look at `grad_norm`, not at the loss.
# * **Before the run**, call the reward on an empty reply, on a wrong one and on a list of answers. None of them
#   may earn as much as a right reply. Rewards such as 0, 0.5 and 1, sums of powers of two, are added without
#   rounding (deeper look D).
# * **During the run**, ask a judge that is not the reward, on questions that no step trains on.

# %% [markdown]
# In your own run:
#
# ```python
# from course_utils import diagnostics
#
# audit = diagnostics.TruthAudit(held_out, is_right, every=50).attach(trainer)
# trainer.train()
# print(audit)
# ```

# %% [markdown]
# ## 8. A run you have not seen
#
# **Exercise 10.8, 8 minutes, a place, a letter and a few lines, 5 points.** This script was written by hand and
# has one of three faults; SEED decides which. `script.log` is what its owner sees. `script.run.audit` is what a
# second judge sees, and `script.run.batches` holds the replies of each step. In the log, `zero_std` is the
# share of groups in which all replies earn the same, `cut` the share of replies that reach the limit of length,
# and `entropy` says how random the next token is.

# %%
patient = ex.UNSEEN.draw(SEED)
print(f"{patient}\n\n{patient.source()}")

# %%
script = patient.fresh().train()
script.log

# %%
script.run.audit.table

# %% [markdown]
# Put three things into `unseen`: the place (`reward`, `settings` or `sums`), the letter of the cause, and a
# function that replaces this part. Try it first, for example
# `patient.fresh(1, reward=my_part).train().run.audit`.
#
# A new reward is tried by hand, as in 10.6. New settings must keep everything that was not at fault, and
# `max_completion_length` must leave room for the end token. Then at least 0.7 of the held-out sums must be
# right after 12 steps on three seeds.


# %%
# For example {"place": "sums", "cause": "a", "fix": my_part}
### BEGIN SOLUTION
def my_part(*given):
    reply, gold = given
    return 1.0 if reply.strip() == gold else 0.0


# Other seeds draw other runs; for those, take the course's answer.
unseen = {"place": "reward", "cause": "c", "fix": my_part} if SEED == 0 else ex.UNSEEN.answer
### END SOLUTION

# %%
ex.UNSEEN.check(unseen)

# %% [markdown]
# In three lines:
#
# * GRPO increases whatever the reward pays, also a trick. Ask what an empty reply earns.
# * The loss says nothing about learning. `grad_norm`, and the differences of reward within a group, say whether
#   there is a signal.
# * Use a second judge. It shows a hack only after some steps, but no rule on the log showed it earlier here.
#
# Further reading: [Visual-RFT#79](https://github.com/Liuziyu77/Visual-RFT/issues/79),
# [open-r1#407](https://github.com/huggingface/open-r1/issues/407) (four guesses, and no reply shown), [arXiv
# 2506.10947](https://arxiv.org/abs/2506.10947) (random rewards that improve one family of models).

# %% [markdown]
# Here the core ends. The deeper looks below stand on their own: take those that you need, in any order. After a
# restart of the kernel, run everything above section 6 first. The last cells show every claim with its verdict; a claim of a look that you skipped is "not judged yet".

# %% [markdown]
# ## Deeper look A: group the replies (9 minutes, 3 points)
#
# **Exercise 10.2, 6 minutes, a few lines, 3 points.** Nobody can read a million replies, so group them by their
# **shape**, as in section 5: the reply with every digit replaced by a 9, and nothing else changed. Write
# `trick(rows)`. Each row is a tuple of a reply, its reward, and whether it is right. Return the shape that is
# most **overpaid**: mean reward minus share of right replies. Ignore shapes with fewer than five rows.


# %%
def trick(rows):
    """The shape with the largest mean reward minus share of right replies."""
    ### BEGIN SOLUTION
    gaps = {}
    for reply, reward, right in rows:
        gaps.setdefault(shape_of(reply), []).append(reward - right)
    often = {shape: mean(g) for shape, g in gaps.items() if len(g) >= 5}
    return max(often, key=often.get)
    ### END SOLUTION


# %%
ex.TRICK.check(trick)

# %% [markdown]
# Here is your function on run A, at three steps. How early could you have seen the trick?

# %%
is_right = zoo.arithmetic.is_right
for step in (0, NUM_STEPS // 2, NUM_STEPS - 1):
    rows = [
        (reply, float(check_a(reply, gold)), is_right(reply, gold))
        for reply, gold in run_a.batches[step]
    ]
    shape = ex.TRICK.answer(rows)
    share = mean(shape_of(reply) == shape for reply, *_ in rows)
    print(f"step {step + 1:2}: shape {shape!r}, {share:.0%} of the replies")

# %% [markdown]
# You could have seen it in the very first batch. Long replies never have the same shape twice. Group those by
# their first words or by their length.

# %% [markdown]
# ## Deeper look B: a verifier that accepts no cheats (28 minutes, 4 points)
#
# Below are fifteen wrong replies to the question 76+26+90=, and fifteen right ones that are written in an unusual
# way. How many of them does each verifier judge wrongly? `last number` is the judge that measured the truth in
# this lesson so far: it reads the last number of a reply.


# %%
def as_written(reply):
    return repr(reply).replace("\\\\", "\\")


print("not right:", *map(as_written, verifiers.CHEATS), sep="\n  ")
print("right:", *map(as_written, verifiers.ODD_BUT_RIGHT), sep="\n  ")

# %%
judges = {"substring": check_a}
judges["among the numbers"] = verifiers.is_among_the_numbers
judges |= {"last number": zoo.arithmetic.is_right, "exact": check_b}


def misjudged(judge):
    cheats = [r for r in verifiers.CHEATS if judge(r, "192")]
    refused = [r for r in verifiers.ODD_BUT_RIGHT if not judge(r, "192")]
    return cheats, refused


rows = [(n, *(str(len(x)) for x in misjudged(j))) for n, j in judges.items()]
Table(columns=("verifier", "cheats accepted", "right ones refused"), rows=rows)

# %%
accepted = misjudged(zoo.arithmetic.is_right)[0]
print("the judge of section 4 accepts:", *map(as_written, accepted), sep="\n  ")

# %% [markdown]
# So our own judge accepts wrong replies, too. Write a better one.
#
# **Exercise 10.3, 25 minutes, some lines, 4 points.** Write `verify(reply, gold)`, which returns True or
# False. These replies are right:
#
# * the number alone, also with spaces around it;
# * with a `+`, zeros or `= ` before it, with `.0` or `.` after it;
# * between `**`, in one `\boxed{}` or in one `<answer></answer>`;
# * after `The sum is`, after `Answer:`, or after the sum itself, as in `76+26+90=192`.
#
# (You may refuse two of the list above: the chain of sums, and the full-width digits in the last line.)

# %% [markdown]
# These replies are wrong:
#
# * no number is claimed: the empty reply, or the question alone;
# * another number is claimed, also `1 9 2`, `1,9,2` and `1_9_2`;
# * there are several numbers, in one line or in two;
# * the number is taken back, as in `The sum is not 192`.
#
# The check also tries cheats that are not in the list. `verify` does not see the question. It must never raise an
# error, not even for a number of 5000 digits, which `int` refuses to read.


# %%
def verify(reply, gold):
    """Whether the reply claims the right number, and nothing else."""
    ### BEGIN SOLUTION
    if len(re.findall(r"<answer>|\\boxed\{", reply)) > 1:
        return False
    text = re.sub(r"<answer>|</answer>|\\boxed\{|\}|\*\*", " ", reply)
    lead = r"(?:(?:[0-9]+\s*\+[0-9+\s]*)?=|the\s+sum\s+is|answer:)?"
    number = r"\+?([0-9]{1,12})(?:\.0+)?\.?"
    found = re.fullmatch(rf"\s*{lead}\s*{number}\s*", text, re.IGNORECASE)
    return found is not None and int(found[1]) == int(gold)
    ### END SOLUTION


# %%
ex.HARDEN.check(verify)

# %% [markdown]
# Does the truth of section 4 depend on its judge? We apply both judges to every reply of both runs.

# %%
batches = run_a.batches + run_b.batches
said = [pair for batch in batches for pair in batch]
judge = ex.HARDEN.answer
differ = [p for p in said if bool(judge(*p)) != zoo.arithmetic.is_right(*p)]
print(f"{len(differ)} of {len(said)} replies are judged differently")

# %% [markdown]
# The truth of section 4 holds: this policy hardly ever wrote replies on which the two judges differ. Another
# policy may write them. Then use your judge for the audit.

# %% [markdown]
# ## Deeper look C: loss 0, and other silences (23 minutes, 3 points)
#
# Run A had a healthy log and learned the wrong thing. Here is the opposite: a log that looks dead, and learns.
# We make one step twice, with two ways of averaging the same loss: over replies (`grpo`, TRL's default until
# March 2025) and over tokens (`dapo`, today's default). What are the losses and the gradients?

# %% tags=["digits-vary"]
one_step = partial(reward_up.one_step, **here)
both = {name: one_step(check_b, loss_type=name) for name in ("grpo", "dapo")}
for name, log in both.items():
    print(f"{name}: loss {log['loss']:8.4f}, grad_norm {log['grad_norm']:.2f}")
by_replies, by_tokens = both["grpo"], both["dapo"]
nuance = "its value is 0 by construction, its gradient is not"
holds = abs(by_replies["loss"]) < 1e-6 and by_replies["grad_norm"] > 1
verdicts.judge("C3", "false", nuance, "deeper look C", holds=holds)

# %% [markdown]
# On policy, the ratio of new to old probability is 1, so the *value* of a token's loss is minus its
# advantage. The advantages of a group add up to 0, and so does their mean over replies. In a mean over
# tokens, long replies count more, so the mean need not be 0. Is that all there is in the logged number? We
# compute it by hand.

# %%
tokenizer = zoo.load_tokenizer(MODEL)
rewards = torch.tensor([float(check_b(*p)) for p in run_b.batches[0]])
ids = [tokenizer(reply)["input_ids"] for reply, _ in run_b.batches[0]]
lengths = torch.tensor([len(tokens) + 1 for tokens in ids])  # and its end
grouped = rewards.view(-1, 8)
centred = grouped - grouped.mean(-1, keepdim=True)
advantage = (centred / (grouped.std(-1, keepdim=True) + 1e-4)).view(-1)
by_hand = -(advantage * lengths).sum() / lengths.sum()
print(f"by hand {by_hand:.4f}, logged {by_tokens['loss']:.4f}")

# %% [markdown]
# The other half of the claim is about the KL penalty. With an average over replies and `beta` 0.04, is what
# remains of the loss equal to beta times the KL? (The logged `kl` is a mean over tokens, so expect a rough
# match.)

# %% tags=["digits-vary"]
rewards = [reward_up.reward_of(check_b)]
settings = {"loss_type": "grpo", "beta": 0.04, "max_steps": 4}
trainer = reward_up.grpo_trainer(rewards, **settings, **here)
trainer.train()
penalised = reward_up.columns_of(trainer)
penalties = [0.04 * kl for kl in penalised["kl"]]
pairs = list(zip(penalised["loss"], penalties, strict=True))
rows = [(str(n), f"{a:.5f}", f"{b:.5f}") for n, (a, b) in enumerate(pairs, 1)]
Table(columns=("step", "loss", "beta times the KL"), rows=rows)

# %%
nuance = "roughly so for the old default; today's compares lengths"
holds = abs(by_hand - by_tokens["loss"]) < 1e-3 and abs(by_hand) > 0.01
holds = holds and abs(pairs[0][0]) < 1e-6
holds = holds and all(b / 2 < a < 4 * b for a, b in pairs[1:])
verdicts.judge("C4", "partly", nuance, "deeper look C", holds=holds)

# %% [markdown]
# So today's loss compares lengths. It is below 0 where replies with positive advantages were longer than the
# others, and above 0 where they were shorter. It has never measured how much is learned.

# %% [markdown]
# **Exercise 10.4, 6 minutes, six letters, 3 points.** The table shows one step of each of six runs.
# `frac_reward_zero_std` is meant to be the share of groups whose rewards are all equal. A `-` means that the log
# has no such value. How was each run made?
#
# * a) nothing is wrong with it
# * b) its sums are too easy
# * c) its reward compares with a text that no reply can equal
# * d) its reward looks only at the prompt
# * e) its reward judges no reply
# * f) its reward ignores prompt and reply

# %% tags=["digits-vary"]
lines = six_steps.logs(one_step)


def cell(value):
    return "-" if value is None or value != value else f"{value:.2g}"


SHOWN = ("loss", "grad_norm", "reward", "reward_std", "frac_reward_zero_std")
rows = [(n, *(cell(log.get(c)) for c in SHOWN)) for n, log in lines.items()]
Table(columns=("run", *SHOWN), rows=rows)

# %%
# A dict of six letters, for example {"1": "a", "2": "a", ...}
### BEGIN SOLUTION
alive = {"1": "a", "2": "d", "3": "c", "4": "f", "5": "b", "6": "e"}
### END SOLUTION

# %%
ex.ALIVE.check(alive)

# %% [markdown]
# This is how they were made: run 1 is `grpo` from above, 2 pays for odd sums, 3 compares with the answer plus
# a blank, 4 pays 0.1 for every reply, 5 asks easy sums at temperature 0.05, 6 returns None.
#
# The pattern of run 2, rewards that differ while nothing is learned, comes up again and again
# ([trl#3857](https://github.com/huggingface/trl/issues/3857),
# [ms-swift#4547](https://github.com/modelscope/ms-swift/issues/4547)). Which column can you trust? Here is
# run 2 once more, with its rewards divided by the spread of the *batch*.

# %%
batchwise = one_step(lambda reply, gold: int(gold) % 2, scale_rewards="batch")
dead, moves, silent = lines["2"], lines["4"], lines["6"]
share = "frac_reward_zero_std"
norm = batchwise["grad_norm"]
print(f"scaled by the batch: {share} {batchwise[share]}, grad_norm {norm}")
nuance = "today it is the std of the batch, not of the groups"
holds = dead["reward_std"] > 0.1 and dead["grad_norm"] == 0
verdicts.judge("C5", "false", nuance, "deeper look C, run 2", holds=holds)
nuance = "it is 0 for two dead runs (6, batch scaling) and 1 for run 4, which moves"
is_dead = norm == silent["grad_norm"] == 0
says_alive = batchwise[share] == silent[share] == 0
holds = is_dead and says_alive and moves[share] == 1 and moves["grad_norm"] > 0
verdicts.judge("C6", "false", nuance, "deeper look C", holds=holds)

# %% [markdown]
# ## Deeper look D: a constant reward (27 minutes, 3 points)
#
# All replies earn the same. Is there a gradient? Predict what a few steps with a constant reward of 0.35 do to
# the weights: a) nothing, every advantage is 0, b) they move by some 1e-4 of a usual step, c) they move about
# as far as with a real reward.

# %%
### BEGIN SOLUTION
my_guess = "b"
### END SOLUTION
ex.CONSTANT.predict(my_guess)

# %%
FEW = 2 if FAST else 4


def moved_by(reward, **settings):
    settings = here | {"max_steps": FEW} | settings
    trainer = reward_up.grpo_trainer([reward], **settings)
    changes = training.train_and_compare(trainer)
    steepest = max(training.logged(trainer, "grad_norm"))
    far = max(change.largest_move for change in changes)
    return f"{steepest:.2g}", f"{far:.2f}"


# %%
checks = {"exact": check_b, "0.35": lambda *_: 0.35, "0.5": lambda *_: 0.5}
moved = {n: moved_by(reward_up.reward_of(c)) for n, c in checks.items()}
MOVED = ("largest grad_norm", "farthest weight, in learning rates")
rows = [(name, *both) for name, both in moved.items()]
Table(columns=("reward", *MOVED), rows=rows, title=f"{FEW} steps each")

# %% [markdown]
# The last column shows how far the weight that moved most has moved, in units of the learning rate. AdamW moves a
# weight by about one learning rate per step. With 0.35 the gradient is thousands of times smaller than with a
# real reward, but the weights move about as far. Where does this gradient come from? Look at the mean of eight
# float32 numbers:

# %%
group = torch.full((8,), 0.35)
left = (group - group.mean())[0].item()
gap = left / (group.std() + 1e-4).item()
print(f"0.35 - mean: {left:.2g}; the advantage of all eight: {gap:.2g}")
far = {name: float(both[1]) for name, both in moved.items()}
holds = far["0.35"] > 0.3 * far["exact"] and far["0.5"] == 0
ex.CONSTANT.recall("c", holds=holds)

# %% [markdown]
# A mean is a sum that is divided. In float32 the sums of several 0.35 are rounded, and the sums of several 0.5
# are exact. So the mean of eight 0.35 is not exactly 0.35. What remains is an advantage of about 3e-4, the same
# for every reply: *all* of them become more likely, whatever they say. **AdamW** divides each gradient by its
# own usual size, so a tiny gradient makes a full step.
#
# What remains depends on the order of the additions. We saw it with torch on a CPU. Added in pairs, as a GPU may
# do it, eight times 0.35 leave nothing.

# %% [markdown]
# TRL adds 1e-4 to the standard deviation before it divides. verl adds 1e-6, so there the same remainder becomes
# an advantage that is a hundred times larger.
#
# Does it do harm? Here are five recorded runs:

# %%
drifts = [run.held_out for run in recorded("constant")]
columns = ("seed", *(f"step {step}" for step in drifts[0]))
rows = [(str(n), *map(str, run.values())) for n, run in enumerate(drifts)]
Table(columns=columns, rows=rows, title="held out")

# %%
ends = [list(run.values())[-1] for run in drifts]
nuance = f"on this CPU the truth of five seeds ends at {min(ends)} to {max(ends)}; 0.5 is safe"
holds = min(ends) < 0.3 and max(ends) - min(ends) > 0.3
verdicts.judge("C7", "false", nuance, "deeper look D", holds=holds)

# %% [markdown]
# The weights drift without any aim. On one seed this does no harm, on another it ruins the policy, and `reward`
# stays at 0.35 all the time. What stops the drift? Here is the same reward of 0.35, with one setting changed per
# row:

# %%
one_change = (
    {"optim": "sgd"},
    {"adam_epsilon": 1e-5},
    {"scale_rewards": "none"},
    {"loss_type": "grpo"},
)
odd = reward_up.reward_of(checks["0.35"])
rows = [(f"{change}", *moved_by(odd, **change)) for change in one_change]
Table(columns=("0.35 with", *MOVED), rows=rows)

# %% [markdown]
# SGD does not divide by the size of the gradient, so the weights hardly move. A larger epsilon, or rewards that
# are not scaled, only make the drift slower. Another average (`loss_type`) changes nothing. So fix the cause, the
# advantages.

# %% [markdown]
# **Exercise 10.5, 6 minutes, a few lines, 3 points.** Write `advantages(rewards)`. `rewards` are a float32 tensor
# of shape (groups, replies); return a float32 tensor of the same shape. For each group return (reward - mean) /
# (std + 1e-4). If all rewards of a group are equal, such as 0.1 or 100.1, return exactly 0, and also for a group
# of one reply. True differences of 0.001 must stay, near 0 and near 100.


# %%
def advantages(rewards):
    """GRPO's advantages, without what rounding alone leaves."""
    ### BEGIN SOLUTION
    spread = rewards.amax(-1, keepdim=True) - rewards.amin(-1, keepdim=True)
    centred = rewards - rewards.mean(-1, keepdim=True)
    scaled = centred / (rewards.std(-1, keepdim=True) + 1e-4)
    return torch.where(spread > 0, scaled, torch.zeros_like(scaled))
    ### END SOLUTION


# %%
ex.GUARD.check(advantages)

# %% [markdown]
# Here is your function in the trainer, as a reward function that returns scaled values. Do the weights still
# move?

# %%
guard = ex.GUARD.answer


def guarded(check):
    def scaled(completions, answer, **_):
        pairs = zip(reward_up.texts(completions), answer, strict=True)
        paid = torch.tensor([float(check(*pair)) for pair in pairs])
        return guard(paid.view(-1, 8)).view(-1).tolist()

    return scaled


# %%
unscaled, rows = {"scale_rewards": "none"}, []  # they are scaled already
for name in ("exact", "0.35"):
    rows.append((name, *moved_by(guarded(checks[name]), **unscaled)))
Table(columns=("guarded", *MOVED), rows=rows)

# %% [markdown]
# The same rounding appears in other places. NeMo-RL logged an advantage of 7428
# ([NeMo-RL#4161](https://github.com/NVIDIA-NeMo/RL/pull/4161)). It divides by the standard deviation of the
# *other* replies of the group, and it adds only 1e-6. We chose rewards that give this number again: one reply
# earns 1.0, seven earn 0.3. What does trl make of the same rewards?
#
# The last line shows a group of one reply. It has no standard deviation at all
# ([VLM-R1#71](https://github.com/om-ai-lab/VLM-R1/issues/71): grad_norm nan).

# %% tags=["digits-vary"]
r, others, k = torch.tensor([1.0] + [0.3] * 7), 1 - torch.eye(8), 7
average, square = others @ r / k, others @ r**2 / k
std = ((square - average**2) * k / (k - 1)).clamp(min=0).sqrt()
left_out = ((r - average) / (std + 1e-6))[0].item()
of_trl = ((r - r.mean()) / (r.std() + 1e-4))[0].item()
print(f"others' std {std[0]:.3g}, not 0: advantage {left_out:.0f}")
alone = (r[:1] - r[:1].mean()).square().sum() / (1 - 1)  # divided by N - 1
print(f"the same reply in trl: {of_trl:.3f}; variance of one reply: {alone}")
bound = 7 / 8**0.5
nuance = f"over the std of the others, yes; trl: at most (G - 1) / sqrt(G) = {bound:.2f}"
holds = left_out > 1000 and of_trl <= bound
verdicts.judge("C12", "partly", nuance, "deeper look D", holds=holds)

# %% [markdown]
# trl's limit holds for any rewards. What does trl make of a small difference? Seven replies earn 0.5, and one
# earns a little more:

# %%
rows = []
for gap in (1, 0.01, 0.001, 1e-4, 1e-6):
    r = torch.tensor([0.5 + gap] + [0.5] * 7)
    above = ((r - r.mean()) / (r.std() + 1e-4))[0].item()
    rows.append((f"{gap:g}", f"{above:.3f}"))
Table(columns=("gap", "advantage in trl"), rows=rows)

# %% [markdown]
# A difference of 0.001 gives three quarters of the advantage that a difference of 1 gives. So a small bonus for
# length becomes a full reward for length in every group where nothing else differs.

# %% [markdown]
# ## Deeper look E: penalty, learning rate, early stop (8 minutes)
#
# Section 6 showed where a KL penalty (`beta`) and a smaller learning rate end after 24 steps. Here we train run A
# with each of them and look earlier:

# %%
advised = {"beta 0.04": {"beta": 0.04}, "lr 1e-5": {"learning_rate": 1e-5}}
looks = (0, 8) if FAST else (0, 8, 16)
tried = {
    name: reward_up.train(check_a, max_steps=looks[-1], **here, **settings)
    for name, settings in advised.items()
}
rows = [("as it was", *(str(run_a.held_out[step]) for step in looks))]
rows += [(n, *map(str, run.held_out.values())) for n, run in tried.items()]
Table(columns=("run A", *(f"step {step}" for step in looks)), rows=rows)

# %% [markdown]
# One of them looks like a fix after eight steps. Do a penalty and a small learning rate hold for longer runs?

# %% tags=["digits-vary"]
curves = {
    "as it was": recorded("substring")[0].held_out,
    "beta 0.04": recorded("substring, beta 0.04, long")[0].held_out,
    "lr 1e-5": recorded("substring, lr 1e-5, long")[0].held_out,
    "exact": recorded("exact")[0].held_out,
}
meanings = dict.fromkeys(curves, "dead") | {"exact": "alive"}
concepts.held_out_curves(curves, meanings)

# %% [markdown]
# Both only delay the fall. And an early stop? The reward cannot tell you when to stop. Suppose you stop when the
# mean reward of five steps in a row is above 0.9. Here is the truth of those five steps, for twenty seeds:

# %%
at_stop = []
for run in recorded("substring"):
    fives = [mean(run.log["reward"][n : n + 5]) for n in range(20)]
    stop = next((n for n, five in enumerate(fives) if five > 0.9), 19)
    at_stop.append(mean(run.log["truth"][stop : stop + 5]))
at_first = mean(mean(run.log["truth"][:2]) for run in recorded("substring"))
better = sum(truth > at_first for truth in at_stop)
print(f"truth: {at_first:.2f} at first, {mean(at_stop):.2f} at the stop")
print(f"{better} of 20 stops are better than the first two steps")
ends = [run.held_out[160] for run in recorded("substring, lr 1e-5, long")]
too_late = mean(at_stop) < at_first - 0.1 and max(ends) < 0.25
expect_symptom("the stop comes too late, the small rate falls too", holds=too_late)

# %% [markdown]
# ## Deeper look F: parts that pull against each other (14 minutes)
#
# A reward can be a sum of parts. Here are three:
#
# * `right - 0.5 * characters`: being right earns 1, and every character costs 0.5.
# * "be a number": any number of two or three digits earns 1, right or not.
# * ten times "be a number", plus 1 for being right.
#
# Which of them are dangerous? The runs were recorded, 40 steps each, and 24 steps where characters cost. The last
# three rows change only the cost of a character, on ten seeds each.

# %%
beside = [run.held_out[40] for run in recorded("right_or_any_number")]
alone = [run.held_out[40] for run in recorded("any_number")]
short = [run.held_out[24] for run in recorded("right_but_short")]
print("be a number, alone:           ", alone)
print("ten times that, and be right: ", beside)
print("be right, 0.5 per character:  ", short)

# %%
by_weight = {}
for weight in ("0.5", "0.1", "0.02"):
    runs = recorded(f"right and short, {weight}")
    by_weight[weight] = [run.held_out[24] for run in runs]
    low, high = min(by_weight[weight]), max(by_weight[weight])
    print(f"right - {weight} * characters, ten seeds:   {low} to {high}")
nuance = "only where it pays against being right; otherwise 10 times is safe"
holds = min(beside) > max(alone) and max(by_weight["0.5"]) < 0.3
holds = holds and min(by_weight["0.1"] + by_weight["0.02"]) > 0.6
verdicts.judge("C14", "partly", nuance, "deeper look F", holds=holds)

# %% [markdown]
# Alone, "be a number" pays any number, so nothing favours the right one. Together with "be right" it is harmless:
# soon every reply of a group is a number, so all of them earn these ten points. Advantages compare replies
# within a group, so only being right still makes a difference. What counts is not the weight of a part, but
# whether it pays for something that makes a reply worse.

# %% [markdown]
# When does the cost of a character do so? Let w be this cost, and p the share of attempts that are right. A right
# reply of three digits earns 1 - 3w. An attempt earns p - 3w on average, and silence earns 0. So silence earns
# more as soon as w is larger than p / 3. The rows above lie on both sides of this limit.
#
# TRL can scale each part by itself before it adds them (`multi_objective_aggregation="normalize_then_sum"`). Does
# that help?

# %%
scaled = [r.held_out[24] for r in recorded("right and short, each scaled")]
print("right - 0.5 * characters, five seeds:", short)
print("the same, each part scaled:          ", scaled)
expect_symptom("scaling the parts fixes it", holds=min(scaled) > 0.7)

# %% [markdown]
# Now to replies that reach `max_completion_length`, so that they are **truncated**. With a limit of 3 tokens, a
# right reply of three digits has no room for its end. People mask truncated replies out of the loss, or score
# them as wrong. Here is one step of each:


# %%
def right_and_ended(reply, gold):
    return reply == gold and len(reply) < 3


one_step = partial(reward_up.one_step, **here)
masks = {"mask_truncated_completions": True}
cut_short = {
    "left alone": one_step(check_b, max_completion_length=3),
    "masked": one_step(check_b, max_completion_length=3, **masks),
    "scored as wrong": one_step(right_and_ended, max_completion_length=3),
}
shown = ("completions/clipped_ratio", "reward", "loss", "grad_norm")
shown += ("frac_reward_zero_std",)
rows = [(n, *(f"{log[c]:.2f}" for c in shown)) for n, log in cut_short.items()]
Table(columns=("truncated replies are", "truncated", *shown[1:]), rows=rows)

# %% [markdown]
# `scored as wrong` is the strictest verifier: it also refuses right replies of three digits. Only right replies
# of one or two digits earn anything. A step without any of them has reward 0 and gradient 0, and teaches
# nothing. Here are the same three after 24 steps:

# %%
ends, later = ("", ", masked", ", cut is wrong"), {}
for name, end in zip(cut_short, ends, strict=True):
    runs = recorded(f"exact, limit 3{end}")
    later[name] = [run.held_out[24] for run in runs]
    print(f"held out, three seeds, {name}: {later[name]}")
begin = recorded("exact, limit 3")[0].held_out[0]
means = {name: mean(truths) for name, truths in later.items()}
nuance = "it learns, but less than if left alone: some cut replies were right"
holds = begin < min(later["masked"])
holds = holds and max(later["masked"]) < min(later["left alone"])
verdicts.judge("C13", "partly", nuance, "deeper look F", holds=holds)

# %%
lost = means["left alone"] - means["scored as wrong"]
nuance = f"no cheat passes, but refusing right replies costs {lost:.2f}"
passed = [cheat for cheat in verifiers.CHEATS if check_b(cheat, "192")]
holds = not passed and lost > 0.05
verdicts.judge("C15", "partly", nuance, "deeper looks B and F", holds=holds)

# %% [markdown]
# ## Deeper look G: what would have shown it? (33 minutes, 6 points)
#
# First we look at entropy and length, in 20 hacked runs (`substring`), 20 healthy ones (`exact`) and hacks of
# three other kinds. The table divides the mean of the last five steps by that of the first five. Does one of
# the two columns separate all hacked kinds from `exact`?


# %%
def change(run, column):
    values = run.log[column]
    return mean(values[-5:]) / mean(values[:5])


KINDS = ("exact", "substring", "closeness", "right_but_short", "any_number")
ratios = {}
for kind in KINDS:
    runs = recorded(kind)
    by_column = ([change(r, c) for r in runs] for c in ("entropy", "length"))
    ratios[kind] = [mean(changes) for changes in by_column]
rows = [(kind, *(f"x {r:.2f}" for r in pair)) for kind, pair in ratios.items()]
Table(columns=("reward", "entropy", "length of a reply"), rows=rows)

# %%
halves = [change(run, "entropy") < 0.6 for run in recorded("exact")]
nuance = f"at the end it is also below 0.6 in {sum(halves)} of 20 healthy runs"
holds = ratios["exact"][0] < 0.7 < ratios["substring"][0]
verdicts.judge("C10", "false", nuance, "deeper look G", holds=holds)
longest, sound = ratios["any_number"][1], ratios["exact"][1]
nuance = f"three of four get shorter, one x {longest:.2f}; healthy ones x {sound:.2f}"
holds = max(ratios[k][1] for k in KINDS[1:4]) < 1 and longest < 1.1 * sound
verdicts.judge("C11", "false", nuance, "deeper look G", holds=holds)

# %% [markdown]
# Could an alarm on the log come early enough? Here are five rules. Each compares the mean of five steps with that
# of the first five. The table counts runs:
#
# * `in time`: hacked runs in which the rule fires before the truth has fallen to half;
# * `false`: healthy runs in which it fires;
# * `another`: runs with another hack, `any_number`, in which it fires. Their replies do not become short.

# %%
RULES = {
    "reward up by 0.1": ("reward", lambda now, old: now > old + 0.1),
    "entropy below 0.6 of it": ("entropy", lambda now, old: now < 0.6 * old),
    "groups without signal > 0.8": ("zero_std", lambda now, old: now > 0.8),
    "replies below 0.8 of it": ("length", lambda now, old: now < 0.8 * old),
    "loss above 0.05": ("loss", lambda now, old: now > 0.05),
}


# %%
def first(run, column, rule):
    fives = [mean(run.log[column][n : n + 5]) for n in range(20)]
    return next((n for n, now in enumerate(fives) if rule(now, fives[0])), 20)


def halves_at(run):
    return first(run, "truth", lambda now, old: now < old / 2)


# %%
rows = []
for name, rule in RULES.items():
    early = sum(first(r, *rule) < halves_at(r) for r in recorded("substring"))
    false = sum(first(r, *rule) < 20 for r in recorded("exact"))
    other = sum(first(r, *rule) < 20 for r in recorded("any_number"))
    rows.append((name, f"{early} of 20", f"{false} of 20", f"{other} of 3"))
Table(columns=("alarm", "in time", "false", "another"), rows=rows)

# %% [markdown]
# An alarm counts at any step, so `entropy` has more false ones here than above, at the end of the runs.
#
# One rule looks very good, the one on the loss. It was written after this trick was known: today's loss compares
# lengths (deeper look C), and these replies become short. On another hack it never fires. No rule is good in all
# three columns. So in this loop the log gives no early warning. The audit of section 6 needs none.

# %% [markdown]
# A rising truth does not prove that the reward is right either. A reward for *length alone* raises the truth for
# some steps, because the most common mistake of this policy was silence:

# %%
for seed, run in enumerate(recorded("length")):
    print(f"seed {seed}, reward = length, held out: {run.held_out}")
rises = [run.held_out[8] > run.held_out[0] + 0.05 for run in recorded("length")]
expect_symptom("a wrong reward helps", holds=all(rises))

# %% [markdown]
# **Exercise 10.7, 15 minutes, a few lines, 4 points.** Build the smallest dashboard. `diagnose(log)` gets a
# dict of columns. Each column is a list with one number per step:
#
# * `loss`, `grad_norm`, `reward`, `reward_std`, `entropy`, `length`;
# * `zero_std`: TRL's `frac_reward_zero_std`, the share of groups in which all replies earn the same;
# * `cut`: the share of replies that reach the limit;
# * `truth`: the share of right replies among the 32 sampled ones.
#
# `held_out` has one number per eight steps: the share of 100 other sums that are right, without sampling. (A
# `run` holds it as a dict by step.)

# %% [markdown]
# It returns one of five words:
#
# * `"learns"` if the held-out truth rises, `"hacked"` if it falls;
# * `"no signal"`: there is no gradient in any step;
# * `"rounding"`: *any* constant reward that leaves a gradient, whatever the truth does;
# * `"cut off"`: over all steps, a third of the replies or more reach the limit.
#
# Other runs may have another length or another constant, and may begin at another truth. Here are six runs:

# %%
six = ("exact", "any_number", "never_right", "constant", "constant, 0.1")
six += ("exact, limit 2",)
examples = [recorded(kind)[-1] for kind in six]
SEEN = ("reward", "zero_std", "grad_norm", "entropy", "length", "cut", "truth")
rows = []
for number, run in enumerate(examples, start=1):
    means = [f"{mean(run.log[column][-5:]):.2g}" for column in SEEN]
    rows.append((str(number), *means, str(list(run.held_out.values())[-1])))
Table(columns=("run", *SEEN, "held out"), rows=rows, title="last five steps")


# %%
def diagnose(log):
    """One of five words for a run."""
    ### BEGIN SOLUTION
    if mean(log["cut"]) > 0.2:
        return "cut off"
    if max(log["grad_norm"]) == 0:
        return "no signal"
    if max(log["grad_norm"]) < 0.05:
        return "rounding"
    fallen = max(log["held_out"]) - log["held_out"][-1]
    return "hacked" if fallen > 0.15 else "learns"
    ### END SOLUTION


# %%
ex.DASHBOARD.check(diagnose)

# %% [markdown]
# If yours passed, it names every recorded run correctly. The second judge finds what no alarm on the log found,
# but only after the harm is done.
#
# Why did `zero_std` not help with constant rewards? It asks `torch.isclose` whether the standard deviation of a
# group is 0. What the rounding of 0.35 leaves is above its tolerance and counts as a difference. What the
# rounding of 0.1 leaves is below it.

# %% [markdown]
# **Exercise 10.9, 1 minute, two letters, 2 points.** 1) Which of these can tell a hacked run from a good one?
# a) a reward that rises without a jump, b) an entropy that stays high, c) a second judge on questions that
# nobody trains on. 2) The log says loss 0.0. What do you look at: a) the KL, b) grad_norm, c) reward_std?

# %%
# Two letters, for example {"1": "a", "2": "a"}
### BEGIN SOLUTION
quiz = {"1": "c", "2": "b"}
### END SOLUTION

# %%
ex.QUIZ.check(quiz)

# %% [markdown]
# ## The verdicts, then and now
#
# Below is every claim with its verdict and your vote, and then the log lines that people misread, in the
# libraries of their day; `course era 10` runs both.

# %%
verdicts.table()

# %%
from course_utils.reproductions import eras

eras.row("10")

# %%
ex.progress()
