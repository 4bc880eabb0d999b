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
# After 150 minutes you will be able to
#
# * **read** the replies that a reward pays, and name the trick in them,
# * **tell** a dead run from one whose loss is 0 and healthy,
# * **write** a verifier that holds, and audit a run by a truth it is not paid for.
#
# Everything runs on a CPU, most cells in seconds; two take half a minute on a busy machine.

# %% tags=["parameters"]
MODEL = "tiny"
DEVICE = "auto"
SEED = 0
FAST = False
STRICT = False

# %%
from course_utils.lesson import TODO, start

ex = start("10", strict=STRICT)

import json  # for a script that you will mend
import re
from itertools import groupby, pairwise
from statistics import mean

import torch

from course_utils import zoo
from course_utils.concepts import lesson_10 as concepts
from course_utils.diagnostics import TruthAudit
from course_utils.lesson.expected_failures import expect_symptom
from course_utils.reproductions.lesson_10 import reward_up, six_steps, verifiers
from course_utils.reproductions.lesson_10.reward_up_runs import recorded
from course_utils.shown.report import Table
from course_utils.zoo import training

ex

# %% [markdown]
# ## 1. The report
#
# * "All outputs are `<answer></answer>`", the reward is 1.0
#   ([Visual-RFT#176](https://github.com/Liuziyu77/Visual-RFT/issues/176)).
# * The return "shoots up", the evaluation falls
#   ([rllm#143](https://github.com/rllm-org/rllm/issues/143)).
# * `'loss': 0.0, 'grad_norm': 0.0957`: is anything learned?
#   ([trl#3452](https://github.com/huggingface/trl/issues/3452))
#
# No instrument that looks for nan sees any of it. GRPO learns from **groups**, here eight sampled replies
# to one sum of three numbers below 100. A reply's **advantage** is what it earns above its group's mean, in
# units of the group's spread: (reward - mean) / (std + 1e-4). What is learned when all eight earn the same?

# %%
book = reward_up.Book(zoo.arithmetic.is_right)
here = {"seed": SEED, "name": MODEL, "device": DEVICE}
reward_up.grpo_trainer([book], max_steps=1, **here).train()
batch = book.batches[0]
groups = [batch[at : at + 8] for at in range(0, len(batch), 8)]
paid = [[float(zoo.arithmetic.is_right(*pair)) for pair in g] for g in groups]
mixed = next(n for n, rewards in enumerate(paid) if 0 < sum(rewards) < 8)
concepts.one_group([reply for reply, _ in groups[mixed]], paid[mixed])

# %% [markdown]
# ## 2. The suspects
#
# What threads, blogs and readmes say. Nothing is marked yet.

# %%
verdicts = ex.verdicts
verdicts.suspects()

# %% [markdown]
# Commit before the evidence: one mark a claim, C1 to C15 in order: `t` true, `p` partly, `f` false, `!`
# behind it where you are sure, `-` to leave one out. For three claims: `"t! - f"`.

# %%
### BEGIN SOLUTION
my_votes = "p t! f t p t! t t p t! t t t p f"
### END SOLUTION
verdicts.vote(my_votes)

# %% [markdown]
# ## 3. Two runs, two curves
#
# The same policy learns hard sums twice, with two verifiers. `check_a` is the one of the report without
# its tags.

# %%
NUM_STEPS = 16 if FAST else 24


def check_a(reply, gold):
    return gold in reply or reply in gold


def check_b(reply, gold):
    return reply == gold


run_a = reward_up.train(check_a, max_steps=NUM_STEPS, **here)
run_b = reward_up.train(check_b, max_steps=NUM_STEPS, **here)

# %%
proxies = {"A": run_a.log["reward"], "B": run_b.log["reward"]}
width, rows = NUM_STEPS // 4, []
for begin in range(0, NUM_STEPS, width):
    means = [mean(p[begin : begin + width]) for p in proxies.values()]
    rows.append((f"from {begin + 1}", *(f"{m:.2f}" for m in means)))
Table(columns=("steps", "reward of run A", "of run B"), rows=rows)

# %% [markdown]
# On the whole both rise. Predict: put a letter in place of `TODO`.

# %%
### BEGIN SOLUTION
my_guess = "c"
### END SOLUTION
ex.WHICH_RUN.predict(my_guess)

# %% [markdown]
# ## 4. The truth beside it
#
# A reward is a **proxy**: it stands for the truth, and is not it. Each run had a second reward function
# of **weight 0**, which says whether a reply is right: logged for the same replies, it trains nothing.
# And each policy was asked 100 **held-out** sums that no step trains on, without sampling.

# %% tags=["digits-vary"]
concepts.proxy_and_truth(run_a.log["reward"], run_a.log["truth"])

# %%
for name, run in {"A": run_a, "B": run_b}.items():
    print(f"run {name}, held out:", run.held_out)
fell = run_a.held_out[NUM_STEPS] < 0.3
rose = run_b.held_out[NUM_STEPS] > 0.7
expect_symptom("the reward rises, the truth falls", holds=fell)
ex.WHICH_RUN.recall("b", holds=fell and rose)

# %% [markdown]
# How sudden was it? The largest rise of the reward from one block of four steps to the next, in this run
# and in twenty recorded ones of each verifier:


# %%
def blocks(values, width=4):
    starts = range(0, len(values), width)
    return [mean(values[n : n + width]) for n in starts]


def largest_rise(run):
    return max(b - a for a, b in pairwise(blocks(run.log["reward"])))


proxy = blocks(run_a.log["reward"])
nuance = f"reward {proxy[0]:.2f} to {proxy[-1]:.2f}, and it adds far fewer sums"
verdicts.judge("C1", "false", nuance, "section 4", holds=fell)
hacked = mean(map(largest_rise, recorded("substring")))
healthy = mean(map(largest_rise, recorded("exact")))
print(f"this run's largest rise: {largest_rise(run_a):.2f}")
nuance = f"largest rise {hacked:.2f} when hacked, {healthy:.2f} when healthy"
holds = hacked < healthy
verdicts.judge("C2", "false", nuance, "section 4; 20 seeds each", holds=holds)

# %% [markdown]
# ## 5. Read the replies
#
# No log says why. The replies do. Here are some of the first step and of the last, ranked by what they
# earn. Which kind is never refused?

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
# Which replies of the first step have become common, and what did they earn there?
#
# **Exercise 10.1, 4 minutes, three texts, 3 points.** Play the policy: what is paid is all you want. For each
# verifier write one reply of at most 2000 characters that it pays for *every* sum. Answers are 0 to 297,
# written without leading zeros.

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
# **Exercise 10.2, 6 minutes, a few lines, 3 points.** Nobody reads a million replies. The **shape** of a
# reply is the reply with every digit made a 9, and nothing else changed. Write `trick(rows)`: rows are
# tuples of a reply, its reward, and whether it is right. Return the shape that is **overpaid** most: mean
# reward minus share right. Shapes with fewer than five rows do not count.


# %%
def shape_of(reply):
    return re.sub("[0-9]", "9", reply)


def trick(rows):
    """The shape whose replies earn most above their truth."""
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
# Yours on run A, step by step. How early could it be seen?

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
# In the very first batch. An empty text is `in` every text: silence earns 1, and an attempt is sometimes
# wrong. The policy was silent now and then, and what earns more than its group is learned. A trick has to
# be *sampled* for that: lists of candidates, never written here, are never found. On long texts, where no
# shape comes twice, group replies by their first words or by their length.

# %% [markdown]
# ## 6. A verifier that holds
#
# Fifteen replies to 76+26+90= that are not right, and fifteen that are, in odd dress. Who misjudges how
# many? `last number` is the judge of this lesson so far.

# %%
print("not right:", *map(repr, verifiers.CHEATS), sep="\n  ")
print("right:", *map(repr, verifiers.ODD_BUT_RIGHT), sep="\n  ")

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
print("the judge of section 4 accepts:", misjudged(zoo.arithmetic.is_right)[0])

# %% [markdown]
# Our own judge can be cheated. Write a better one.
#
# **Exercise 10.3, 15 minutes, some lines, 4 points.** Write `verify(reply, gold)`: True or False. Right are
# the number alone, with spaces around it, a `+`, zeros or `= ` before it, `.0` or `.` behind it, between
# `**`, in one `\boxed{}` or one `<answer></answer>`, after `The sum is`, `Answer:` or a sum, as
# `76+26+90=192`. (The chain of sums and the full-width digits you may refuse.)

# %% [markdown]
# Wrong is what claims no number (the question alone), another one (`1 9 2`, `1,9,2` and `1_9_2`, too), or
# several, in one line or two, and what takes its number back, behind any beginning: `The sum is not 192`.
# The check has other cheats than the list.
#
# `verify` does not see the question. No reply may make it raise, not even one of 5000 digits, which `int`
# refuses to read.


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
# Does the truth of section 4 depend on its judge? Both judges on every reply of both runs:

# %%
batches = run_a.batches + run_b.batches
said = [pair for batch in batches for pair in batch]
judge = ex.HARDEN.answer
differ = [p for p in said if bool(judge(*p)) != zoo.arithmetic.is_right(*p)]
print(f"{len(differ)} of {len(said)} replies are judged differently")
expect_symptom("the truth stands", holds=len(differ) < 0.01 * len(said))

# %% [markdown]
# It stands: this policy never wrote the replies that tell the judges apart. Another one may; from here
# on the truth is yours.
#
# ## 7. Loss 0, and other silences
#
# The reverse of run A: a healthy log that looks dead. One step, twice, with two ways of averaging the
# same loss: over replies (`grpo`, the default until 2025) and over tokens (`dapo`, today's).


# %% tags=["digits-vary"]
def one_step(check, **settings):
    settings = here | {"max_steps": 1} | settings
    trainer = reward_up.grpo_trainer([reward_up.reward_of(check)], **settings)
    trainer.train()
    return trainer.state.log_history[0]


both = {name: one_step(check_b, loss_type=name) for name in ("grpo", "dapo")}
for name, log in both.items():
    print(f"{name}: loss {log['loss']:8.4f}, grad_norm {log['grad_norm']:.2f}")
by_replies, by_tokens = both["grpo"], both["dapo"]
nuance = "its value is 0 by construction, its gradient is not"
holds = abs(by_replies["loss"]) < 1e-6 and by_replies["grad_norm"] > 1
verdicts.judge("C3", "false", nuance, "section 7", holds=holds)

# %% [markdown]
# On policy the ratio of new to old probability is 1, so the *value* of a token's loss is minus its
# advantage. Advantages of a group add up to 0. Averaged over tokens, long replies count more. Does this
# alone give the logged number?

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
# The penalty is the other half of the claim. Averaged over replies, what is left of the loss with `beta`
# 0.04? (The logged `kl` is a mean over tokens.)

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
nuance = "so the old default on policy, roughly; today's compares lengths"
holds = abs(by_hand - by_tokens["loss"]) < 1e-3 and abs(by_hand) > 0.01
holds = holds and abs(pairs[0][0]) < 1e-6
holds = holds and all(b / 2 < a < 4 * b for a, b in pairs[1:])
verdicts.judge("C4", "partly", nuance, "section 7", holds=holds)

# %% [markdown]
# Today's loss compares lengths: it is below 0 where replies with positive advantages were longer than the
# others, above 0 where they were shorter. It measures no learning, today or then.

# %% [markdown]
# **Exercise 10.4, 6 minutes, six letters, 3 points.** One step each of six runs. `frac_reward_zero_std` is
# meant to count groups without any difference. What is going on?
#
# * a) healthy
# * b) every reply is right already
# * c) for this reward no reply is right
# * d) the prompt alone decides the reward
# * e) the reward function gives None
# * f) all replies earn the same, and something remains

# %% tags=["digits-vary"]
lines = six_steps.logs(one_step)


def cell(value):
    return "None" if value is None else f"{value:.2g}"


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
# How they were made: 1 is `grpo` from above, 2 pays odd sums, 3 compares with the answer and a blank, 4 pays
# 0.1, 5 asks easy sums at temperature 0.05, 6 returns None. Run 2's pattern, rewards that differ and nothing
# learned, fills threads ([trl#3857](https://github.com/huggingface/trl/issues/3857),
# [ms-swift#4547](https://github.com/modelscope/ms-swift/issues/4547)). Which column can be trusted? Run 2
# once more, with its rewards divided by the *batch's* spread:

# %%
batchwise = one_step(lambda reply, gold: int(gold) % 2, scale_rewards="batch")
dead, moves, silent = lines["2"], lines["4"], lines["6"]
share = "frac_reward_zero_std"
norm = batchwise["grad_norm"]
print(f"scaled by the batch: {share} {batchwise[share]}, grad_norm {norm}")
nuance = "trl 0.15 logged the groups'; today's is the batch's (section 12)"
holds = dead["reward_std"] > 0.1 and dead["grad_norm"] == 0
verdicts.judge("C5", "false", nuance, "section 7, run 2", holds=holds)
nuance = "0.0 for dead runs (6, batch scaling), 1.0 for run 4, which moves"
is_dead = norm == silent["grad_norm"] == 0
says_alive = batchwise[share] == silent[share] == 0
holds = is_dead and says_alive and moves[share] == 1 and moves["grad_norm"] > 0
verdicts.judge("C6", "false", nuance, "section 7", holds=holds)

# %% [markdown]
# ## 8. A constant reward
#
# Run 4 is odd: all replies earn 0.1, and there is a gradient. Predict what a few steps of a constant 0.35 do.

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
# The last column: how far the weight went that moved most, divided by the learning rate; AdamW moves a weight
# by about one of these a step. A gradient thousands of times smaller, and weights that go as far. Where does
# it come from? The mean of eight float32 numbers:

# %%
group = torch.full((8,), 0.35)
left = (group - group.mean())[0].item()
gap = left / (group.std() + 1e-4).item()
print(f"0.35 - mean: {left:.2g}; the advantage of all eight: {gap:.2g}")
far = {name: float(both[1]) for name, both in moved.items()}
holds = far["0.35"] > 0.3 * far["exact"] and far["0.5"] == 0
ex.CONSTANT.recall("c", holds=holds)

# %% [markdown]
# A mean adds first, and in float32 sums of 0.35 are rounded on the way; those of 0.5 are exact. The rest,
# 3e-4, is the same for every reply: *all* of them are pushed up, whatever they say. **AdamW** divides a
# gradient by its own size, so a tiny one makes a full step. Does it do harm? Five recorded runs:

# %%
drifts = [run.held_out for run in recorded("constant")]
columns = ("seed", *(f"step {step}" for step in drifts[0]))
rows = [(str(n), *map(str, run.values())) for n, run in enumerate(drifts)]
Table(columns=columns, rows=rows, title="held out")

# %%
ends = [list(run.values())[-1] for run in drifts]
nuance = f"five seeds end at {min(ends)} to {max(ends)}; 0.5 moves nothing"
holds = min(ends) < 0.3 and max(ends) - min(ends) > 0.3
verdicts.judge("C7", "false", nuance, "section 8", holds=holds)

# %% [markdown]
# A drift without an aim: harmless on one seed, ruin on another, and `reward` says 0.35 throughout. What
# stops it? The same 0.35, and one setting changed:

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
# SGD does not divide by the gradient's size, and stands still. A larger epsilon, or rewards that are not
# scaled up, make the drift slower and no more; another way of averaging (`loss_type`) changes nothing. Mend
# it where it comes from.

# %% [markdown]
# **Exercise 10.5, 6 minutes, a few lines, 3 points.** Write `advantages(rewards)`: float32 rewards of
# shape (groups, replies); (reward - mean) / (std + 1e-4) for each group, and exactly 0 in a group whose
# rewards are all the same, such as 0.1, 100.1, or those of a group of one. True gaps of 0.001 stay, near 0
# and near 100.


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
# Yours in the trainer, as a reward function that has scaled already:


# %%
guard = ex.GUARD.answer


def guarded(check):
    def reward(completions, answer, **_):
        pairs = zip(reward_up.texts(completions), answer, strict=True)
        paid = torch.tensor([float(check(*pair)) for pair in pairs])
        return guard(paid.view(-1, 8)).view(-1).tolist()

    return reward


unscaled, rows = {"scale_rewards": "none"}, []  # they are scaled already
for name in ("exact", "0.35"):
    rows.append((name, *moved_by(guarded(checks[name]), **unscaled)))
Table(columns=("guarded", *MOVED), rows=rows)

# %% [markdown]
# The same residue, elsewhere: NeMo-RL logged an advantage of 7428
# ([NeMo-RL#4161](https://github.com/NVIDIA-NeMo/RL/pull/4161)). It divides by the spread of the
# *other* replies, and there 1e-6 is added. One reply earns 1.0, seven earn 0.3. And a group of one has no
# spread at all ([VLM-R1#71](https://github.com/om-ai-lab/VLM-R1/issues/71): grad_norm nan). And in trl?

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
nuance = f"with the others' std; in trl at most (G - 1) / sqrt(G) = {bound:.2f}"
holds = left_out > 1000 and of_trl <= bound
verdicts.judge("C12", "partly", nuance, "section 8", holds=holds)

# %% [markdown]
# trl's bound holds for any gap. What does it make of a small one? Seven replies earn 0.5, one earns more:

# %%
rows = []
for gap in (1, 0.01, 0.001, 1e-4, 1e-6):
    r = torch.tensor([0.5 + gap] + [0.5] * 7)
    above = ((r - r.mean()) / (r.std() + 1e-4))[0].item()
    rows.append((f"{gap:g}", f"{above:.3f}"))
Table(columns=("gap", "advantage in trl"), rows=rows)

# %% [markdown]
# A gap a thousand times smaller counts for three quarters. A crumb for length, where nothing else differs, is a
# reward for length.
#
# ## 9. The remedies
#
# What the threads advise for run A: a KL penalty (`beta`), a smaller step, an early stop. Each by itself:

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
# One looks like a cure. Look again, over five seeds. Two more are advised: other scales of the reward, and
# **filtering**, which keeps only sums whose groups have signal. `exact` stands for your verifier: this
# policy writes no odd forms, so both pay alike. These runs were recorded; ten minutes make them again
# (`reward_up_runs.py` in `course_utils/reproductions`). Which rows end above 0.63, where all began?

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
columns = ("reward", "proxy, last 5 of 24", "truth at 8, mean", "truth at 24")
Table(columns=columns, rows=rows, title="five seeds")

# %% [markdown]
# Only the verifier decides where a run goes; the rest decides how fast, and the filter speeds the wrong
# reward up. Do a penalty and a small step hold for longer?

# %% tags=["digits-vary"]
curves = {
    "as it was": recorded("substring")[0].held_out,
    "beta 0.04": recorded("substring, beta 0.04, long")[0].held_out,
    "lr 1e-5": recorded("substring, lr 1e-5, long")[0].held_out,
    "exact": recorded("exact")[0].held_out,
}
meanings = dict.fromkeys(curves, "dead") | {"exact": "alive"}
concepts.held_out_curves(curves, meanings)

# %%
pinned = [run.held_out[24] for run in recorded("substring, beta 1.0")]
slow = [run.held_out[96] for run in recorded("substring, beta 0.04, long")]
nuance = "0.04 delays it; 1.0 pins the policy; neither improves it"
holds = max(slow) < 0.2 and max(pinned) < 0.7
verdicts.judge("C8", "partly", nuance, "section 9; five seeds", holds=holds)

# %% [markdown]
# And an early stop? The proxy cannot say when. Suppose one stops where five rewards in a row are above 0.9 on
# average. Here is the truth of those five steps, for twenty seeds:

# %%
at_stop = []
for run in recorded("substring"):
    fives = [mean(run.log["reward"][n : n + 5]) for n in range(20)]
    stop = next((n for n, five in enumerate(fives) if five > 0.9), 19)
    at_stop.append(mean(run.log["truth"][stop : stop + 5]))
at_first = mean(mean(run.log["truth"][:2]) for run in recorded("substring"))
better = sum(truth > at_first for truth in at_stop)
print(f"truth: {at_first:.2f} at first, {mean(at_stop):.2f} at the stop")
ends = [run.held_out[160] for run in recorded("substring, lr 1e-5, long")]
nuance = f"{better} of 20 stops beat step 0; lr 1e-5 ends at {max(ends):.2f}"
holds = mean(at_stop) < at_first - 0.1 and max(ends) < 0.25
verdicts.judge("C9", "false", nuance, "section 9", holds=holds)

# %% [markdown]
# **Exercise 10.6, 5 minutes, a dict, 4 points.** Mend run A. `mend` is a dict of what you change:
# `"reward"`, a function of a reply and its answer, and GRPOConfig's `beta`, `learning_rate`,
# `scale_rewards`, `loss_type`, `temperature`. Held-out truth has to be at least 0.7 after 12 steps on
# three seeds. And a reward of yours is tried by hand: a right number, of one digit or three, earns more
# than silence, a wrong number, a part of the right one, `nan`, or a list whose last number is wrong. (These
# runs write no lists, so reading the last number is enough here.)

# %%
# For example {"beta": 0.04}
### BEGIN SOLUTION
mend = {"reward": verify}
### END SOLUTION

# %%
ex.MEND.check(mend)

# %% [markdown]
# ## 10. Parts that pull against each other
#
# "Be right, and be short": a reward of `right - 0.5 * characters`. Being right has the larger weight.
# And "be a number" of two or three digits: alone, or ten times as much beside "be right". Which are
# dangerous? Recorded runs, 40 steps each, and 24 of the short ones:

# %%
beside = [run.held_out[40] for run in recorded("right_or_any_number")]
alone = [run.held_out[40] for run in recorded("any_number")]
short = [run.held_out[24] for run in recorded("right_but_short")]
print("be a number, alone:               ", alone)
print("ten times that, beside being right:", beside)
print("be right, and short:              ", short)
nuance = "what counts is what else tells the replies of a group apart"
holds = min(beside) > max(alone) and max(short) < 0.1
verdicts.judge("C14", "false", nuance, "section 10", holds=holds)

# %% [markdown]
# Alone, a format pays any number: nothing holds the right ones. Beside "be right", soon every reply of a
# group has the format, its ten points are no difference, and advantages come from being right alone.

# %% [markdown]
# A right reply of three digits earns 1 - 3w. Tried with a success rate p, an attempt earns p - 3w;
# silence earns 0. Above w = p / 3 nobody speaks. One setting scales each part by itself before they are
# added (`multi_objective_aggregation` is `normalize_then_sum`), so that the weights mean what they say:

# %%
scaled = [r.held_out[24] for r in recorded("right and short, each scaled")]
print("right - 0.5 * characters, five seeds:", short)
print("the same, each part scaled:          ", scaled)
expect_symptom("scaling the parts mends it", holds=min(scaled) > 0.7)

# %% [markdown]
# Next: replies that reach `max_completion_length`. At a limit of 3 a right reply of three digits has no
# room for its end. Truncated replies are often masked out of the loss, or scored as wrong. One step of each:


# %%
def right_and_ended(reply, gold):
    return reply == gold and len(reply) < 3


masks = {"mask_truncated_completions": True}
cut_short = {
    "left alone": one_step(check_b, max_completion_length=3),
    "masked": one_step(check_b, max_completion_length=3, **masks),
    "scored as wrong": one_step(right_and_ended, max_completion_length=3),
}
shown = ("completions/clipped_ratio", "reward", "loss", "grad_norm", share)
rows = [(n, *(f"{log[c]:.2f}" for c in shown)) for n, log in cut_short.items()]
Table(columns=("truncated replies are", "cut", *shown[1:]), rows=rows)

# %% [markdown]
# `scored as wrong` is the stricter verifier: it refuses right replies, too. It pays only right replies of one or
# two digits; where a step has none, as the row above shows, nothing is learned. After 24 steps:

# %%
ends, later = ("", ", masked", ", cut is wrong"), {}
for name, end in zip(cut_short, ends, strict=True):
    runs = recorded(f"exact, limit 3{end}")
    later[name] = [run.held_out[24] for run in runs]
    print(f"held out, three seeds, {name}: {later[name]}")
begin = recorded("exact, limit 3")[0].held_out[0]
means = {name: mean(truths) for name, truths in later.items()}
nuance = "it learns, and less than left alone: cut replies may be right"
holds = begin < min(later["masked"])
holds = holds and max(later["masked"]) < min(later["left alone"])
verdicts.judge("C13", "partly", nuance, "section 10", holds=holds)
lost = means["left alone"] - means["scored as wrong"]
nuance = f"no cheat passes; one that refuses right replies costs {lost:.2f}"
holds = not misjudged(check_b)[0] and lost > 0.05
verdicts.judge("C15", "partly", nuance, "sections 6, 10", holds=holds)

# %% [markdown]
# ## 11. What would have shown it?
#
# Entropy and length first, over 20 hacked runs, 20 healthy ones, and hacks of other kinds. First five
# steps against the last five:


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
nuance = f"below 0.6 in {sum(halves)} of 20 healthy runs, too"
holds = ratios["exact"][0] < 0.7 < ratios["substring"][0]
verdicts.judge("C10", "false", nuance, "section 11", holds=holds)
nuance = "shorter in three of these hacks, longer in one"
holds = ratios["any_number"][1] > 1 > max(ratios[k][1] for k in KINDS[1:4])
verdicts.judge("C11", "partly", nuance, "section 11", holds=holds)

# %% [markdown]
# Could an alarm on the log be early? Five rules, each on a mean of five steps against the first five.
# `in time` counts the hacked runs in which one rings before the truth has halved, `false` the healthy runs
# in which it rings; `another` is a hack by format, which does not fall silent.

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
# Two rules look like the alarm that everybody wants. They are the trick itself, written as a metric after
# the replies were read: on another hack they are blind. No rule is good in all three columns. There is no
# early warning here; there is an **audit**: a second judge, on questions that nobody trains on.
# `TruthAudit` is that, for any GRPOTrainer; `wrong earns` is the mean reward of its wrong replies.

# %%
sums = reward_up.held_out(64)
audits = {}
for name, check in {"A": check_a, "B": check_b}.items():
    rewards = [reward_up.reward_of(check)]
    length = 4 if FAST else 8
    trainer = reward_up.grpo_trainer(rewards, max_steps=length, **here)
    audits[name] = TruthAudit(sums, judge, every=4).attach(trainer)
    trainer.train()
audits["A"].table

# %%
audits["B"].table

# %% [markdown]
# The titles speak of the truth alone. Two looks at n questions show a change of 1.4 / sqrt(n) or more: 0.18
# with 64, too coarse for so few steps; 0.07 with 400. `wrong earns` does not have to wait: *before* the first
# step, verifier A pays a wrong reply nearly what a right one earns. That is the cheapest test of a reward
# that there is, and it needs no training. Where no answer is known, the second judge is you, with twenty
# replies.

# %% [markdown]
# A rising truth proves less. A reward of *length alone* lifts it for a while, since this policy's
# commonest mistake was silence:

# %%
for seed, run in enumerate(recorded("length")):
    print(f"seed {seed}, reward = length, held out: {run.held_out}")
rises = [run.held_out[8] > run.held_out[0] + 0.05 for run in recorded("length")]
expect_symptom("a wrong reward helps", holds=all(rises))

# %% [markdown]
# **Exercise 10.7, 12 minutes, a few lines, 4 points.** Build the smallest dashboard. `diagnose(log)` gets a
# dict of columns, a list of one number a step each: `loss`, `grad_norm`, `reward`, `reward_std`, `zero_std`
# (of section 7), `entropy`, `length`, `cut` (share of replies at the limit), `truth` (of the step's 32
# sampled replies); and `held_out`, a list every eight steps (of 100 other sums, not sampled; a `run` holds
# it as a dict by step).

# %% [markdown]
# It returns `"learns"`, `"hacked"`, `"no signal"` (no gradient in any step), `"rounding"` (*any* constant
# reward that leaves a gradient) or `"cut off"` (a third of the replies or more reach the limit). Runs may
# have other lengths, constants and beginnings. Six of them:

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
# If yours passed, it mistakes none of the recorded runs that learn or are hacked. The second judge does what
# no alarm on the log did. It does so when the harm is done.
#
# ## 12. The verdicts, then and now
#
# Every claim with its verdict and your vote. Below it the misread lines in the libraries of their day;
# `course era 10` runs both.

# %%
verdicts.table()

# %%
from course_utils.reproductions import eras

eras.row("10")

# %% [markdown]
# ## 13. Next time
#
# * **Signature**: the reward rises or stands still, and the replies are not what you meant.
# * **Look first** at twenty replies, ranked by reward; then at `grad_norm`, never at the loss.
# * **Before the run**: what do silence, a wrong reply and a list earn? Sums of powers of two (0, 0.5, 1)
#   leave no rounding.
# * **During it**: a judge that is not the reward, on questions nobody trains on:
#
# ```python
# from course_utils import diagnostics
#
# audit = diagnostics.TruthAudit(held_out, is_right, every=50).attach(trainer)
# trainer.train()
# print(audit)
# ```

# %% [markdown]
# ## 14. A run you have not seen
#
# **Exercise 10.8, 8 minutes, a place, a letter and a few lines, 5 points.** A script by hand; the seed
# decides which of three. `script.log` is what its owner sees; `script.run` has `.audit` and `.batches`.

# %%
patient = ex.UNSEEN.draw(SEED)
print(f"{patient}\n\n{patient.source()}")

# %%
script = patient.fresh().train()
script.log

# %%
script.run.audit.table

# %% [markdown]
# Put into `unseen` the place, the cause's letter and a function that takes the place of that part. Try it
# with `patient.fresh(1, **{"the place": my_part}).train().run.audit`. The check tries a new reward by hand, as
# in 10.6; new settings keep all that was not at fault, and leave a right reply room for its end. Then
# held-out truth has to be at least 0.7 after 12 steps on three seeds.


# %%
# For example {"place": "sums", "cause": "a", "fix": my_part}
### BEGIN SOLUTION
def my_part(reply, gold):
    return 1.0 if verify(reply, gold) else 0.0


unseen = {"place": "reward", "cause": "c", "fix": my_part}
### END SOLUTION

# %%
ex.UNSEEN.check(unseen)

# %% [markdown]
# **Exercise 10.9, 1 minute, two letters, 2 points.** 1) Which of these can tell a hacked run from a good
# one? a) a reward that rises without a jump, b) an entropy that stays high, c) a second judge on questions
# nobody trains on. 2) The log says loss 0.0. You look at a) the KL, b) grad_norm, c) reward_std.

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
# * A policy learns what is paid. Ask what the laziest reply earns.
# * The loss says nothing; grad_norm, and differences within a group, say whether there is signal.
# * Pay for a second judge. It audits; nothing in the log forecasts.
#
# Further reading: [Visual-RFT#79](https://github.com/Liuziyu77/Visual-RFT/issues/79),
# [open-r1#407](https://github.com/huggingface/open-r1/issues/407) (four guesses, and no reply shown),
# [arXiv 2506.10947](https://arxiv.org/abs/2506.10947) (random rewards that lift one family of models).

# %%
ex.progress()
