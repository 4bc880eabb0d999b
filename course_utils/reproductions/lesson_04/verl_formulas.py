"""The formulas of verl 0.2.0.post2 with which lesson 04 trains, their defects included.

Pure functions on tensors of shape (B, T): B replies of T response tokens. Names and arguments are
verl's, so that each can be held against the original; a test does. None is a recommendation.
"""

import torch
from torch import Tensor


def kl_penalty(logprob: Tensor, ref_logprob: Tensor, kl_penalty: str) -> Tensor:
    """Estimate KL(policy || reference) for each token, as version 0.2 did.

    Args:
        logprob: log-probabilities of the sampled tokens under the policy, in nats, (B, T).
        ref_logprob: the same under the reference.
        kl_penalty: "kl", "abs", "mse" or "low_var_kl".

    Raises:
        NotImplementedError: any other name, as in verl.

    Numerics:
        low_var_kl is exp(d) - d - 1 with d = ref_logprob - logprob, clamped to 10 *after* exp. Once
        exp(d) is inf (d > 88.72 in float32, 11.09 in float16) the value is 10 and the gradient nan.

    Source:
        verl 0.2.0.post2, verl/trainer/ppo/core_algos.py.

    >>> kl_penalty(torch.tensor([-100.0]), torch.tensor([-1.0]), "low_var_kl")
    tensor([10.])
    """
    if kl_penalty == "kl":
        return logprob - ref_logprob
    if kl_penalty == "abs":
        return (logprob - ref_logprob).abs()
    if kl_penalty == "mse":
        return 0.5 * (logprob - ref_logprob).square()
    if kl_penalty == "low_var_kl":
        kl = ref_logprob - logprob
        ratio = torch.exp(kl)
        kld = ratio - kl - 1
        return torch.clamp(kld, min=-10, max=10)
    raise NotImplementedError


def kl_penalty_0_4_1(logprob: Tensor, ref_logprob: Tensor, kl_penalty: str) -> Tensor:
    """verl's low_var_kl from version 0.4.1 on: the log-ratio is bounded as well, at 20 nats.

    Numerics:
        exp(20) is 4.9e8: finite in float32 and bfloat16, inf in float16, where the gradient is
        still nan from d = 11.09 on.

    Source:
        verl#1779; the same code stands in 0.9.1. The other kinds did not change.

    >>> kl_penalty_0_4_1(torch.tensor([-100.0]), torch.tensor([-1.0]), "low_var_kl")
    tensor([10.])
    """
    kl = torch.clamp(ref_logprob - logprob, min=-20, max=20)
    ratio = torch.exp(kl)
    kld = ratio - kl - 1
    return torch.clamp(kld, min=-10, max=10)


def masked_mean(values: Tensor, mask: Tensor) -> Tensor:
    """Mean of the values whose mask is 1, as version 0.2 took it: a nan under a 0 stays nan.

    >>> masked_mean(torch.tensor([1.0, 3.0, 50.0]), torch.tensor([1, 1, 0]))
    tensor(2.)
    """
    return (values * mask).sum() / mask.sum()


def compute_policy_loss(
    old_log_prob: Tensor,
    log_prob: Tensor,
    advantages: Tensor,
    response_mask: Tensor,
    cliprange: float,
    masked_mean=masked_mean,
) -> tuple[Tensor, Tensor, Tensor]:
    """PPO's clipped loss, the share of clipped tokens, and the mean log-ratio to the rollout.

    Args:
        masked_mean: how (B, T) becomes a number; verl calls its own.

    Numerics:
        exp(log_prob - old_log_prob) has no bound, at padding either: inf times an advantage of 0
        is nan in the value itself.

    >>> one = torch.ones(1, 2)
    >>> [round(x.item(), 2) for x in compute_policy_loss(one, one, one, one, 0.2)]
    [-1.0, 0.0, 0.0]
    """
    negative_approx_kl = log_prob - old_log_prob
    ratio = torch.exp(negative_approx_kl)
    ppo_kl = masked_mean(-negative_approx_kl, response_mask)
    pg_losses = -advantages * ratio
    pg_losses2 = -advantages * torch.clamp(ratio, 1.0 - cliprange, 1.0 + cliprange)
    pg_loss = masked_mean(torch.max(pg_losses, pg_losses2), response_mask)
    pg_clipfrac = masked_mean(torch.gt(pg_losses2, pg_losses).float(), response_mask)
    return pg_loss, pg_clipfrac, ppo_kl


def entropy_from_logits(logits: Tensor) -> Tensor:
    """Entropy of each position in nats: (B, T, V) becomes (B, T).

    >>> entropy_from_logits(torch.zeros(1, 1, 4)).exp().round()
    tensor([[4.]])
    """
    pd = torch.softmax(logits, dim=-1)
    return torch.logsumexp(logits, dim=-1) - torch.sum(pd * logits, dim=-1)


def grpo_advantage(token_level_rewards: Tensor, response_mask: Tensor, *, n: int) -> Tensor:
    """Reward of each reply against the n replies to its prompt, in standard deviations, (B, T).

    verl takes an index of prompts; here the replies to one prompt are neighbours.

    >>> grpo_advantage(torch.tensor([[1.0], [0.0]]), torch.ones(2, 1), n=2).round(decimals=1)
    tensor([[ 0.7000],
            [-0.7000]])
    """
    scores = token_level_rewards.sum(dim=-1).view(-1, n)
    centred = scores - scores.mean(dim=1, keepdim=True)
    normed = centred / (scores.std(dim=1, keepdim=True) + 1e-6)
    return normed.view(-1, 1) * response_mask


def bounded_kl(logprob, ref_logprob, kind):
    """k3 with a bound before exp, with the arguments that the loop gives."""
    d = (ref_logprob - logprob).clamp(-8, 8)
    return torch.exp(d) - d - 1
