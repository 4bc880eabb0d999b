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
# # inf or nan, and no idea from where: floats under the microscope
#
# After 75 minutes you will be able to
#
# * **read** off a formula and a dtype where it will break,
# * **follow** one nan through masks, means, clipping and Adam,
# * **write** a loss whose gradient stays finite, and scale it.
#
# Everything runs on a CPU in seconds. A GPU adds one thing: its autocast casts other operations
# than the CPU's (section 8).

# %% tags=["parameters"]
MODEL = "tiny"
DEVICE = "auto"
SEED = 0
FAST = False
STRICT = False

# %%
from course_utils.lesson import TODO, start

ex = start("01", strict=STRICT)

import math

import matplotlib.pyplot as plt
import torch

from course_utils import plotting, zoo
from course_utils.failures import expect_symptom
from course_utils.numerics import draw_number_line, draw_ulp, float_format, format_table

device = zoo.pick_device(DEVICE)
ex

# %% [markdown]
# ## 1. What 16 bits buy
#
# Two 16-bit formats are in use. Both spend one bit on the sign and share out the other 15
# differently. Commit before you look: put a letter in place of `TODO`.

# %%
### BEGIN SOLUTION
my_guess = "b"
### END SOLUTION
ex.HOLDS.predict(my_guess)

# %% [markdown]
# A float is a sign, an **exponent** (which power of two) and a **mantissa** (how far to the next
# one). Exponent bits buy range, mantissa bits buy resolution. `eps` is the gap between 1 and the
# next number. Which columns do float32 and bfloat16 share?

# %%
format_table()

# %% [markdown]
# bfloat16 reaches as far as float32 and resolves far less; float16 is the opposite bargain. tf32 is
# no storage format: it is how some GPUs round the inputs of a float32 matmul. How do the ranges
# look side by side?

# %%
fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
formats = ("fp32", "tf32", "bf16", "fp16", "e5m2", "e4m3")
draw_number_line(ax, formats)
reach = {name: float_format(name).max for name in ("bf16", "fp16", "e4m3")}
plotting.show(
    fig,
    f"bf16 ends at {reach['bf16']:.3g}, fp16 at {reach['fp16']:.5g}; e4m3 ends at "
    f"{reach['e4m3']:g} and has no inf to warn you.",
)

# %% [markdown]
# Range is half of the story. The other half is the gap to the next number, called an **ulp**: what
# is smaller than half of it is rounded away. It grows with the number. Where does float16 stop
# telling 2048 from 2049?

# %%
fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
draw_ulp(ax, ("fp32", "bf16", "fp16"), low=2**-18, high=1e5)
gaps = ", ".join(f"{float_format(name).ulp(2048):g} in {name}" for name in ("bf16", "fp16"))
plotting.show(fig, f"At 2048 the gap to the next number is {gaps}; at 1e5 fp16 has ended.")

# %%
in_fp16, in_bf16 = (torch.tensor([70000.0, 1.001]).to(t) for t in (torch.float16, torch.bfloat16))
print("float16 ", in_fp16.tolist())
print("bfloat16", in_bf16.tolist())
is_b = in_fp16.isinf().tolist() == [True, False] and in_bf16.isfinite().all() and in_bf16[1] == 1
ex.HOLDS.recall("b", holds=bool(is_b))

# %%
for value in (70000.0, 1.001):
    rounded = {n: float_format(n).round(value) for n in ("bf16", "fp16")}
    print(f"{value:g} becomes", ", ".join(f"{v:.6g} in {n}" for n, v in rounded.items()))

# %% [markdown]
# With E exponent and M mantissa bits the bias is 2^(E-1) - 1. A stored exponent e from 1 to 2^E - 2
# means (1 + mantissa) * 2^(e - bias); e = 0 drops the leading 1 (**subnormal** numbers); the last e
# is kept for inf and nan. The mantissa counts in steps of 2^-M.
#
# **Exercise 01.1, 6 minutes, three lines, 3 points.** Write `limits(exponent_bits, mantissa_bits)`:
# the largest number, the smallest above 0, and the x up to which exp(x) is finite.


# %%
def limits(exponent_bits, mantissa_bits):
    """The largest number, the smallest positive one, and the last x with a finite exp(x)."""
    ### BEGIN SOLUTION
    emax = 2 ** (exponent_bits - 1) - 1
    gap_at_one = 2.0**-mantissa_bits
    largest = 2.0 ** (emax + 1) - gap_at_one * 2.0**emax
    return largest, gap_at_one * 2.0 ** (1 - emax), math.log(largest)
    ### END SOLUTION


# %%
ex.LIMITS.check(limits)

# %% [markdown]
# ## 2. The update that never arrives
#
# Fine-tuning moves weights of size 1 by steps of size 1e-6. What does that do in 16 bits?

# %%
### BEGIN SOLUTION
my_guess = "b"
### END SOLUTION
ex.STILL.predict(my_guess)


# %%
def train_one_weight(dtype, lr, steps):
    weight = torch.nn.Parameter(torch.ones(1, dtype=dtype, device=device))
    optimizer = torch.optim.SGD([weight], lr=lr)
    for _ in range(steps):
        weight.grad = torch.ones_like(weight)
        optimizer.step()
    return 1 - weight.item()


for dtype in (torch.float32, torch.float16, torch.bfloat16):
    moved = train_one_weight(dtype, 1e-6, 1000)
    print(f"{dtype!s:15} moved by {moved:.3g}")
ex.STILL.recall("b", holds=dtype == torch.bfloat16 and moved == 0)

# %% [markdown]
# In 16 bits every one of the 1000 updates is lost, and nothing complains: loss and gradients are
# finite. float32 moves, but one percent too far: its own gap below 1 is 6e-8, so an update of 1e-6 is
# rounded to 17 gaps.
#
# How large must an update be to arrive, and how many weights of a real model would move?

# %%
for name in ("fp32", "fp16", "bf16"):
    smallest = float_format(name).ulp(0.999) / 2
    print(f"{name}: a weight just below 1 moves from an update of {smallest:.1e} on")

policy = zoo.load_policy(MODEL, device=DEVICE, dtype="bfloat16")
for lr in (1e-6, 1e-5, 1e-4, 1e-3):
    moved = [(weight - lr != weight).float().mean().item() for weight in policy.parameters()]
    sizes = [weight.numel() for weight in policy.parameters()]
    share = sum(m * n for m, n in zip(moved, sizes)) / sum(sizes)
    print(f"an update of {lr:.0e} moves {share:.0%} of the model's bfloat16 weights")

# %% [markdown]
# AdamW's step is about one learning rate, so read the updates as learning rates: at 1e-6 almost the
# whole model stands still. That is why mixed precision keeps **master weights**: a float32 copy
# takes the updates, and a 16-bit copy of it is used to compute. Does the 16-bit copy then move?

# %%
master = torch.ones(1)
for step in range(1, 4001):
    master -= 1e-6
    if step % 1000 == 0:
        print(f"step {step}: master {master.item():.4f}, its copy {master.bfloat16().item():.4f}")

# %% [markdown]
# The copy waits, then jumps by one gap: the small steps were remembered. Two ways around float32
# masters exist. **Kahan summation** keeps what was rounded away in a second 16-bit number.
# **Stochastic rounding** rounds up or down by chance, so that the mean is right. Do they save
# updates of 1e-6?


# %%
def kahan(lr, steps):
    weight, lost = torch.ones(1).bfloat16(), torch.zeros(1).bfloat16()
    for _ in range(steps):
        update = -lr - lost
        moved = weight + update
        lost, weight = (moved - weight) - update, moved
    return 1 - weight.item()


for lr in (1e-5, 1e-6):
    print(f"Kahan, updates of {lr:g}: moved by {kahan(lr, 4000):.3g} of {4000 * lr:g}")


# %%
def stochastic_bfloat16(x, generator):
    noise = torch.randint(0, 2**16, x.shape, generator=generator, dtype=torch.int32)
    return ((x.view(torch.int32) + noise) & -(2**16)).view(torch.float32)  # keep the upper 16 bits


generator = torch.Generator().manual_seed(SEED)
weights = torch.ones(5000)
for _ in range(4000):
    weights = stochastic_bfloat16(weights - 1e-6, generator)
print(f"stochastic rounding: {len(weights.unique())} different weights")
print(f"on average moved by {1 - weights.double().mean().item():.3f} of 0.004")

# %% [markdown]
# Stochastic rounding is right on average; each single weight is noisy. Kahan saves most of 1e-5 and
# nothing of 1e-6: its second number is bfloat16 too, so once it has grown it swallows the next update as well.
# Two times 8 bits are 16, not 24.
#
# ## 3. Overflow and underflow
#
# Your formula of exercise 01.1 says where exp leaves each format. (The table above rounds that down to a
# number of the format itself.) Does torch agree?

# %%
ends = ex.LIMITS.answer
bits = {torch.float32: (8, 23), torch.bfloat16: (8, 7), torch.float16: (5, 10)}
for dtype, (exponent_bits, mantissa_bits) in bits.items():
    last = ends(exponent_bits, mantissa_bits)[2]
    around = torch.tensor([0.99 * last, 1.01 * last], dtype=dtype, device=device).exp()
    below, above = ("finite" if ok else "inf" for ok in around.isfinite().tolist())
    print(f"{dtype!s:15} exp is {below} just below {last:.2f}, {above} just above")

# %% [markdown]
# exp(11.09) is enough to break float16, and bfloat16 is no safer than float32: this
# is range, not precision.
#
# At the other end numbers become 0. An `eps` is there to prevent a division by zero. Which of these
# are still there after a cast?

# %%
print("eps      float32    bfloat16   float16    1 + eps in float32")
for eps in (1e-5, 1e-6, 1e-8, 1e-12):
    row = [torch.tensor(eps, dtype=dtype).item() for dtype in bits]
    swallowed = "1" if torch.tensor(1.0) + eps == 1 else "above 1"
    print(f"{eps:<8g}", "  ".join(f"{value:<9.3g}" for value in row), swallowed)
zero = torch.zeros(1, dtype=torch.float16)
print("0 / (0 + 1e-8) in float16:", (zero / (zero + 1e-8)).item())

# %% [markdown]
# 1e-8 is Adam's eps and 1e-12 that of BERT's layer norm. In float16 both are 0, and 0 / 0 is nan: lesson
# 03 begins there. In float32 both exist but do nothing next to 1: an eps counts only where the rest
# is small.
#
# ## 4. How one nan spreads
#
# Few operations make a nan from numbers that are not nan; the first line below has the usual three.
# What can unmake it?

# %%
inf, nan = torch.tensor(math.inf), torch.tensor(math.nan)
print("born:     inf - inf", (inf - inf).item(), "| 0 * inf", (0 * inf).item(), end=" | ")
print("0 / 0", (torch.zeros(()) / 0).item())
print("masked:   nan * 0", (nan * 0).item())
print("bounded:  clamp", nan.clamp(-1, 1).item(), "| relu", nan.relu().item())
print("compared: nan > 0", (nan > 0).item(), "| nan == nan", (nan == nan).item())
row = torch.tensor([1.0, math.nan, 3.0])
print("reduced:  mean", row.mean().item(), "| norm", row.norm().item(), end=" | ")
print("max", row.max().item(), "| argmax", row.argmax().item())

# %% [markdown]
# Nothing here unmakes it, neither a mask that multiplies nor a clamp. A comparison is worse: it says
# `False` and goes on. Only a choice (`torch.where`, indexing) drops a nan.
#
# Next the gradients. One of them is inf; they are clipped to norm 1.

# %%
### BEGIN SOLUTION
my_guess = "b"
### END SOLUTION
ex.CLIPPED.predict(my_guess)

# %%
for bad in (math.nan, math.inf):
    weights = [torch.nn.Parameter(torch.ones(2)) for _ in range(2)]
    weights[0].grad, weights[1].grad = torch.tensor([1.0, 2.0]), torch.tensor([3.0, bad])
    norm = torch.nn.utils.clip_grad_norm_(weights, max_norm=1.0)
    clipped = [weight.grad.tolist() for weight in weights]
    print(f"one {bad}: grad_norm {norm.item()}, gradients {clipped}")
ex.CLIPPED.recall("b", holds=clipped[0] == [0, 0] and clipped[1][0] == 0)

# %% [markdown]
# Clipping multiplies by 1 / norm. With an inf the healthy gradients become 0 and the bad one nan
# (0 * inf); with a nan all become nan. In both cases one number decided about every weight.
#
# Does the model recover when later gradients are healthy?

# %%
weight = torch.nn.Parameter(torch.ones(2))
optimizer = torch.optim.AdamW([weight], lr=1e-3)
for gradient in ([1.0, 1.0], [1.0, math.nan], [1.0, 1.0], [1.0, 1.0]):
    weight.grad = torch.tensor(gradient)
    optimizer.step()
    average = optimizer.state[weight]["exp_avg"].tolist()
    print(gradient, "-> weight", [round(w, 4) for w in weight.tolist()], end=", ")
    print("exp_avg", [round(a, 3) for a in average])

# %% [markdown]
# Never: the weight is nan, and so is Adam's average of gradients, which keeps a share of the past
# for good. A step with a nan has to be skipped before the optimizer sees it.
#
# And the mask? A mean of log p over the tokens of a reply looks safe with `torch.where`. Padding
# has p = 0. Look at the value, then at the gradient.

# %%
p = torch.tensor([0.5, 0.25, 0.0], requires_grad=True)
mask = torch.tensor([True, True, False])
mean = torch.where(mask, p.log(), 0.0).sum() / mask.sum()
mean.backward()
print(f"value {mean.item():.3f}, gradient {p.grad.tolist()}")
expect_symptom("the value is finite and its gradient is not", holds=p.grad.isnan().any().item())

# %% [markdown]
# `where` hides the -inf on the way forward. On the way back the masked branch gets a gradient of 0,
# and log multiplies it by its derivative there, 1 / 0: 0 times inf.
#
# **Exercise 01.2, 6 minutes, one or two lines, 4 points.** Write `masked_mean_log(p, mask)`: the
# mean of log p where the boolean mask is True. Nothing outside may reach value or gradient; an
# empty mask gives 0.


# %%
def masked_mean_log(p, mask):
    """Mean of log p over the mask, whatever stands outside it."""
    ### BEGIN SOLUTION
    safe = p.masked_fill(~mask, 1.0)
    count = max(mask.sum().item(), 1)
    return torch.log(safe).sum() / count
    ### END SOLUTION


# %%
ex.MASKED.check(masked_mean_log)

# %% [markdown]
# ## 5. Clamp before or after
#
# **k3** estimates how far a policy has moved from its reference: exp(d) - d - 1 for each token,
# where the **log-ratio** d is the reference's log-probability minus the policy's, in nats (natural
# logarithms). exp can overflow, so a published implementation clamped the result to at most 10.

# %%
### BEGIN SOLUTION
my_guess = "d"
### END SOLUTION
ex.CLAMPED.predict(my_guess)

# %%
d = torch.linspace(0, 120, 241, requires_grad=True)
value = (d.exp() - d - 1).clamp(max=10)
(clamped_after,) = torch.autograd.grad(value.sum(), d)
flat = d[(clamped_after == 0) & (d > 0)][0].item()
gone = d[clamped_after.isnan()][0].item()

fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
plotting.draw_curves(ax, d.detach(), {"gradient": clamped_after})
ax.axvspan(gone, 120, color=plotting.GREY, alpha=0.3)
ax.set(xlabel="log-ratio d (nats)", ylabel="gradient of clamped k3", title="Zero, then nan")
plotting.show(
    fig, f"The gradient is 0 from d = {flat:.1f} on, and nan (grey) from d = {gone:.1f} on."
)
ex.CLAMPED.recall("d", holds=clamped_after[d >= 100].isnan().all().item())

# %%
print("every value is finite:", value.isfinite().all().item())

# %% [markdown]
# The loss never shows it. On the way back the clamp sends 0 and exp multiplies by its own value,
# inf: the same 0 times inf as under the mask.
#
# **Exercise 01.3, 6 minutes, two lines, 4 points.** Write `k3(logp, ref_logp)` per token: exact for
# |d| up to 20, finite beyond, with a finite gradient that never pushes away. float16 inputs give
# the same values: return float32.


# %%
def k3(logp, ref_logp):
    """exp(d) - d - 1 with d = ref_logp - logp, in float32, finite in value and gradient."""
    ### BEGIN SOLUTION
    log_ratio = torch.clamp(ref_logp.float() - logp.float(), min=-20, max=20)
    return torch.expm1(log_ratio) - log_ratio
    ### END SOLUTION


# %%
ex.K3.check(k3)

# %% [markdown]
# Before and after, for the same log-ratios. What does the bound cost?

# %%
bounded = ex.K3.answer
(yours,) = torch.autograd.grad(bounded(torch.zeros(len(d)), d).sum(), d)

fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
plotting.draw_curves(ax, d.detach(), {"clamped after exp": clamped_after, "yours": yours})
ax.set_yscale("symlog")
ax.set(xlabel="log-ratio d (nats)", ylabel="gradient of k3")
ax.set_title("Bounded before exp, the gradient is always a number")
lost = [int((~g.isfinite()).sum()) for g in (clamped_after, yours)]
plotting.show(
    fig,
    f"Of {len(d)} gradients {lost[0]} were not finite before and {lost[1]} are now; "
    f"one token at d = 19 pulls like {(yours[d == 19] / yours[d == 3]).item():.0e} at d = 3.",
)

# %% [markdown]
# The price: one token that drifted far outweighs all others, and one beyond the bound, if you cut there,
# gets a gradient of 0 and is no longer pulled back. Finite is not yet harmless, so trainers clip as
# well. Lesson 04 lives through it.
#
# The other end is precision. Two models that hardly differ have d near 0, and exp(d) - d - 1
# subtracts 1 from something near 1. What is left in float32?

# %%
for distance in (1e-1, 1e-2, 1e-3, 1e-4):
    small = torch.tensor(distance)
    exact = (torch.expm1(small.double()) - small.double()).item()
    plain, with_expm1 = (small.exp() - small - 1).item(), (torch.expm1(small) - small).item()
    within = [abs(got - exact) < 0.01 * exact for got in (plain, with_expm1)]
    plain_is, expm1_is = ("within 1%" if ok else "wrong" for ok in within)
    print(f"d = {distance:<6g} exp(d) - d - 1: {plain_is:9}  expm1(d) - d: {expm1_is}")

# %% [markdown]
# exp(d) is stored near 1, where the gap is 1.2e-7; at d = 1e-4 the true value is d * d / 2 = 5e-9.
# `expm1` never adds the 1. A token's k3 below 1e-7, computed plainly in float32, is rounding and no
# measurement; over many tokens the errors partly cancel.
#
# ## 6. Log-sum-exp
#
# Log-softmax is x - log(sum(exp(x))), and exp dies at 88.7. Subtracting the largest logit first
# changes nothing in exact arithmetic: the sum then starts at exp(0) = 1. Does it matter *where* you
# subtract it?

# %%
logits = torch.tensor([10000.0, 10001.0, 10003.0])
exact = torch.log_softmax(logits.double(), -1)
ways = {
    "by definition": (logits.exp() / logits.exp().sum()).log(),
    "log of softmax": logits.softmax(-1).log(),
    "x - logsumexp(x)": logits - logits.logsumexp(-1),
    "torch.log_softmax": logits.log_softmax(-1),
}
for name, result in ways.items():
    error = (result - exact).abs().max().item()
    print(f"{name:18} {'right' if error < 1e-6 else f'off by {error:.0e}'}")
print("a far token, log of softmax:", torch.tensor([0.0, -200.0]).softmax(-1).log()[1].item())

# %% [markdown]
# `x - logsumexp(x)` is finite and has lost digits: near 10003 the gap of float32 is 1e-3, and the
# logsumexp is stored there. The log of softmax is exact here but makes -inf of a far token. Only
# when you shift, and stay shifted, both are right.
#
# **Exercise 01.4, 5 minutes, two lines, 4 points.** Write `stable_log_softmax(logits)` over the last
# axis, without torch's `log_softmax` or `logsumexp`. A logit of -inf must stay -inf.


# %%
def stable_log_softmax(logits):
    """Log-softmax over the last axis."""
    ### BEGIN SOLUTION
    largest = logits.max(dim=-1, keepdim=True).values.detach()
    total = torch.exp(logits - largest).sum(dim=-1, keepdim=True)
    return (logits - largest) - torch.log(total)
    ### END SOLUTION


# %%
ex.LOGSOFTMAX.check(stable_log_softmax)

# %% [markdown]
# ## 7. Adding up
#
# A sum has two dtypes: that of its result, and that of its running total. First a loop that keeps
# its total in float16.

# %%
### BEGIN SOLUTION
my_guess = "b"
### END SOLUTION
ex.TOTAL.predict(my_guess)

# %%
total = torch.zeros((), dtype=torch.float16)
for _ in range(10_000):
    total = total + 1
print("a float16 running total:", total.item())
for n in (10_000, 70_000):
    ones = torch.ones(n, dtype=torch.float16, device=device)
    print(f"{n} ones: sum {ones.sum().item():g}, mean {ones.mean().item():g}", end=", ")
    print(f"sum in float32 {ones.sum(dtype=torch.float32).item():g}")
large = torch.full((4,), 300.0, dtype=torch.float16, device=device)
print("four times 300: sum of squares", large.square().sum().item(), "| norm", large.norm().item())
ex.TOTAL.recall("b", holds=total.item() == 2048)

# %% [markdown]
# At 2048 the gap becomes 2, and adding 1 changes nothing. `torch.sum` keeps its total in float32
# and is right, until the *result* is cast: 70000 is inf, though the mean is 1. A square made in
# float16 is inf before any sum begins; `norm` squares in float32.
#
# What if you must add in 16 bits? Does the order matter?

# %%
sizes = torch.logspace(0, -3, 2048).half()
exact = sizes.double().sum().item()


def running(values):
    total = torch.zeros((), dtype=values.dtype)
    for value in values:
        total = total + value
    return total.item()


def pairwise(values):
    while len(values) > 1:
        values = values[0::2] + values[1::2]
    return values.item()


# %%
totals = {
    "largest first": running(sizes),
    "smallest first": running(sizes.flip(0)),
    "pairwise": pairwise(sizes),
}
for name, total in totals.items():
    print(f"{name:15} {total:.1f}, off by {abs(total - exact) / exact:.1%}")

# %% [markdown]
# Largest first, the small ones meet a large total and are swallowed. Smallest first helps, pairwise
# helps most: each addition joins numbers of like size. GPUs add in yet another order, so the last
# digits of two machines differ, and neither is wrong.
#
# ## 8. What autocast casts
#
# `torch.autocast` chooses a dtype for each operation. Below, a float16 matmul feeds each of them.
# Which put out float32 on your device?

# %% tags=["nbval-ignore-output"]
from torch.nn import functional as F

x = torch.ones(4, 4, device=device)
with torch.autocast(device.type, dtype=torch.float16):
    h = x @ x
    results = {
        "matmul": h, "exp": h.exp(), "softmax": h.softmax(-1), "log_softmax": h.log_softmax(-1),
        "sum": h.sum(), "norm": h.norm(), "layer_norm": F.layer_norm(h, (4,)), "h + x": h + x,
        "mse_loss": F.mse_loss(h, x), "cross_entropy": F.cross_entropy(h, x),
    }  # fmt: skip
for dtype in (torch.float16, torch.float32):
    names = [name for name, result in results.items() if result.dtype == dtype]
    print(f"{device.type}, {dtype}: {', '.join(names)}")

# %% [markdown]
# It says what comes out, not what happens inside: layer_norm sums in float32 and puts out float16. And
# the list belongs to the device. PyTorch's
# [table](https://docs.pytorch.org/docs/stable/amp.html#autocast-op-reference) names exp, softmax,
# log_softmax, sum and norm as float32 on CUDA; on a CPU (torch 2.13) they stay in float16. Code that
# leans on autocast to save an exp is safe on one device only. Write `.float()` where the formula
# needs it.
#
# And what is gained can be given back. A norm layer computes in float32, then says `type_as`. When
# does that hurt?


# %%
def rms_norm(x, weight):
    wide = x.float()
    normed = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-6)
    return (normed * weight).type_as(x)


x = torch.full((1, 4), 300.0)
print("mean square, computed in float16:", x.half().square().mean().item())
for weight in (1.0, 70_000.0):
    for dtype in (torch.bfloat16, torch.float16):
        largest = rms_norm(x.to(dtype), weight).max().item()
        print(f"weight {weight:g}, {dtype}: largest output {largest:g}")

# %% [markdown]
# The float32 inside saves the square. It cannot save the result: `type_as` casts 70000 back, and in
# float16 that is inf. Lesson 05 meets a model with such weights.
#
# ## 9. The gradient scaler
#
# float16 gradients below 3e-8 round to 0. The remedy: multiply the loss by a **scale**, so that every
# gradient grows with it, and divide the gradients again in float32. Here the true gradient is 1e-8.
# Which scales save it?


# %%
def gradient_at(scale):
    layer = torch.nn.Linear(1, 1, bias=False, device=device)
    x = torch.full((1, 1), 1e-4, device=device)
    with torch.autocast(device.type, dtype=torch.float16):
        loss = 1e-4 * layer(x).float().sum()
    (scale * loss).backward()
    return layer.weight.grad.item() / scale


for power in (0, 8, 16, 32):
    print(f"scale 2^{power:<2}: gradient {gradient_at(2.0**power):.1e}")

# %% [markdown]
# Too small a scale gives 0, too large a one gives inf, and between them lies a wide safe range.
# `GradScaler` looks for its upper end: it starts at 65536, halves at each overflow and skips that
# step, and doubles after a full interval of good steps (2000 by default).

# %%
### BEGIN SOLUTION
my_guess = "c"
### END SOLUTION
ex.SKIPPED.predict(my_guess)

# %% [markdown]
# **Exercise 01.5, 7 minutes, six lines, 4 points.** Write `scaler_step(grads, scale, good_steps,
# interval)`. `grads` is a list of scaled float16 tensors. Return three things: the list of unscaled
# float32 gradients, or `None` when the step must be skipped; the new scale; the new number of good
# steps in a row.


# %%
def scaler_step(grads, scale, good_steps, interval):
    """Unscaled gradients or None, the new scale, the new count of good steps in a row."""
    ### BEGIN SOLUTION
    healthy = min(bool(torch.isfinite(g).all()) for g in grads)
    if not healthy:
        return None, 0.5 * scale, 0
    good_steps += 1
    grows = good_steps >= interval
    result = [g.to(torch.float32).div(scale) for g in grads]
    return result, scale * (2 if grows else 1), 0 if grows else good_steps
    ### END SOLUTION


# %%
ex.SCALER.check(scaler_step)

# %% [markdown]
# Now the real `torch.amp.GradScaler` beside yours, with an interval of 10 to see it grow. The
# gradient is 30, so scale 2048 fits (61440) and 4096 does not. Do the two agree at every step?

# %%
my_step, interval, num_steps = ex.SCALER.answer, 10, 20 if FAST else 50
layer = torch.nn.Linear(1, 1, bias=False, device=device)
optimizer = torch.optim.SGD(layer.parameters(), lr=1e-4)
scaler = torch.amp.GradScaler(device.type, growth_interval=interval)
x, torchs, mine, skipped, good = torch.full((1, 1), 30.0, device=device), [], [65536.0], [], 0
for _ in range(num_steps):
    with torch.autocast(device.type, dtype=torch.float16):
        loss = layer(x).float().sum()
    scaler.scale(loss).backward()
    torchs.append(scaler.get_scale())
    grads, scale, good = my_step([layer.weight.grad.half()], mine[-1], good, interval)
    mine, skipped = [*mine, scale], [*skipped, grads is None]
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()

# %%
for step in range(7):
    fate = "skipped" if skipped[step] else "taken"
    print(f"step {step}: scale {mine[step]:<6g} scaled gradient {30 * mine[step]:<8g} {fate}")

# %% [markdown]
# The first step is taken once the scaled gradient fits below 65504. And later, when the scale is
# doubled again?

# %%
fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
plotting.draw_curves(ax, range(num_steps), {"scale": torchs})
plotting.draw_limit(ax, 65504 / 30, "largest scale that fits a gradient of 30")
ax.set_yscale("log", base=2)
ax.set(xlabel="step", ylabel="scale", title="The scaler falls to what fits, then keeps testing it")
caption = f"{skipped.index(False)} steps are skipped at the start, {sum(skipped)} of {num_steps}"
plotting.show(fig, f"{caption} in all; the last scale is {torchs[-1]:g}.")
expect_symptom("your scaler and torch's agree at every step", holds=torchs == mine[:-1])
ex.SKIPPED.recall("c", holds=skipped.index(False) == 5)

# %% [markdown]
# A few skipped steps at the start, and one after each doubling, are healthy. A scale that halves at
# every step is not: then the nan was made elsewhere, and no scale can mend it (lesson 05). Clip only
# after `scaler.unscale_(optimizer)`, or you clip scaled gradients.
#
# ## 10. Which format where?
#
# Now choose. Each situation is run in your format, and your reason is run too: a format that fails gets
# more bits, float32's exponent for "range" or float32's mantissa for "precision", and has to survive
# with them.

# %% [markdown]
# **Exercise 01.6, 5 minutes, six choices, 4 points.** The *narrowest* of float32, bfloat16 and float16
# that survives, and what failing 16-bit formats lack: "range", "precision" or, together, "both".
#
# * a) a weight of 1.0 takes 200 updates of 1e-6
# * b) an activation of 100000, to within 1%
# * c) a gradient of 1e-13, not scaled
# * d) exp(new - old) for log-probs near -5 that differ by 0.01, to within 0.004
# * e) token positions up to 7999, as floats
# * f) Adam's v at 1e-10, times 0.999 a step

# %%
fp32, bf16, fp16 = torch.float32, torch.bfloat16, torch.float16
# A dict of pairs, for example {"a": (fp16, "range"), "b": (fp16, "range")}, and so on to "f"
### BEGIN SOLUTION
choices = {
    "a": (fp32, "precision"), "b": (bf16, "range"), "c": (bf16, "range"),
    "d": (fp16, "precision"), "e": (fp32, "precision"), "f": (fp32, "both"),
}  # fmt: skip
### END SOLUTION

# %%
ex.CHOICES.check(choices)

# %% [markdown]
# No format is best; each trades one failure for another. Situation e in one line: which positions
# does a bfloat16 count reach after 255?

# %%
print(torch.arange(255, 263).bfloat16().int().tolist())

# %% [markdown]
# ## 11. Next time
#
# * **Signature**: finite loss with nan gradient: 0 times inf on the way back (mask, clamp, `where`).
#   Loss falls, weights stand still: updates below half a gap. inf in float16 only: range.
# * **Look first** at every exp, square, division and 16-bit sum: which dtype, which largest input?
# * **Look-alikes**: a skipped scaler step is healthy; a nan in the data is no float problem.
#
# `diagnostics.watch` finds the first bad number in your own run; lesson 03 shows it.

# %% [markdown]
# **Exercise 01.7, 2 minutes, two letters, 2 points.** 1) The loss is finite, `grad_norm` is nan, and
# an exp is clamped afterwards. a) Lower the lr, b) clip the gradients, c) bound the input of exp.
# 2) Pure bfloat16 weights near 1 at lr 1e-6 a) overflow, b) do not move, c) train as in float32.

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
# * Range decides about inf and 0, precision about standing still; know which one you lack.
# * A finite value proves nothing about its gradient: 0 times inf is nan.
# * Bound before exp, shift before log, add in float32, skip a broken step.
#
# Further reading: Goldberg (1991),
# [What every computer scientist should know](https://docs.oracle.com/cd/E19957-01/806-3568/ncg_goldberg.html);
# Micikevicius et al. (2018), [mixed precision](https://arxiv.org/abs/1710.03740); Schulman (2020),
# [k3](http://joschu.net/blog/kl-approx.html).

# %%
ex.progress()
