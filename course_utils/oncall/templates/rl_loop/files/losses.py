"""Advantages, the clipped loss, the KL term. B rows, T reply tokens."""

import torch


def group_advantages(rewards, size, eps=1e-4):
    """Each reward against the others of its group, in their standard deviations; (B,)."""
    groups = rewards.view(-1, size)
    centred = groups - groups.mean(1, keepdim=True)
    return (centred / (groups.std(1, keepdim=True) + eps)).flatten()


def token_mean(values, mask):
    """Mean over all real tokens of the batch."""
    return (values * mask).sum() / mask.sum().clamp(min=1)


def policy_loss(logp, old_logp, advantages, mask, low, high):
    """PPO's clipped loss, and the share of tokens that were clipped."""
    ratio = (logp - old_logp).exp()
    gain = ratio * advantages[:, None]
    clipped = ratio.clamp(1 - low, 1 + high) * advantages[:, None]
    loss = -torch.minimum(gain, clipped)
    return token_mean(loss, mask), token_mean((clipped < gain).float(), mask)


def kl_to_reference(logp, ref_logp, mask, kind):
    """KL of the policy to the reference, estimated per token (Schulman's k1, k2, k3)."""
    log_ratio = ref_logp - logp
    if kind == "k1":
        values = -log_ratio
    elif kind == "k2":
        values = 0.5 * log_ratio.square()
    else:
        values = log_ratio.exp() - log_ratio - 1
    return token_mean(values, mask)
