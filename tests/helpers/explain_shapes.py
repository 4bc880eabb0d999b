"""Logs made up by their shape, one for each cause that a log shows; the key is the cause's."""

NAN, INF = float("nan"), float("inf")


def rows(count: int, **fields) -> list[dict]:
    """A log of so many entries; a field is a number or a function of the entry's number."""
    return [
        {"step": n} | {name: f(n) if callable(f) else f for name, f in fields.items()}
        for n in range(count)
    ]


def turns(before: float, after: float, at: int = 3):
    """A field that is one number, and another from an entry on."""
    return lambda n: before if n < at else after


GRPO = {"loss": 0.0, "grad_norm": 0.3, "reward": 0.5, "reward_std": 0.2}
DPO = {"loss": 0.6, "rewards/chosen": 0.1, "rewards/rejected": -0.1}
SHAPES = {
    "nan_weights": rows(6, loss=turns(1.0, NAN), grad_norm=turns(1.0, NAN), reward=0.2),
    "nan_gradient": rows(6, loss=2.0, grad_norm=turns(1.0, NAN, 4)),
    "nan_metric": rows(6, loss=turns(1.0, NAN), grad_norm=1.0),
    "norm_never_finite": rows(5, loss=2.0, grad_norm=INF),
    "fp16_overflow": rows(5, loss=2.0, grad_norm=INF, loss_scale=2.0),
    "nan_from_the_start": rows(4, loss=NAN, grad_norm=NAN),
    "nan_already": [row | {"step": row["step"] + 59} for row in rows(4, loss=NAN, grad_norm=NAN)],
    "reward_nan": rows(4, **GRPO | {"reward": NAN}),
    "std_of_one": rows(4, **GRPO | {"reward_std": NAN}),
    "critic_nan": rows(3, **{"critic/vf_loss": NAN, "critic/vpred_mean": NAN, "loss": 0.1}),
    "critic_update_nan": rows(3, **{"critic/vf_loss": NAN, "critic/vpred_mean": 0.5, "loss": 0.1}),
    "numbers_broken": rows(6, loss=turns(1.7, 0.0, 1), grad_norm=1.4142135),
    "labels_masked": rows(5, loss=0.0, grad_norm=0.0, learning_rate=1e-4),
    "above_uniform": rows(6, loss=14.0, grad_norm=4500.0, learning_rate=1e-8),
    "rate_too_high": rows(12, loss=lambda n: 2 - 0.1 * n if n < 4 else n, grad_norm=lambda n: n),
    "rate_unusual": rows(6, loss=lambda n: 2 + n / 50, grad_norm=1.0, learning_rate=0.05),
    "diverged": rows(6, loss=lambda n: 2.0 * 100.0**n, grad_norm=1.0),
    "nothing_moves": rows(12, loss=2.3, grad_norm=0.8, learning_rate=1e-6),
    "rate_zero": rows(6, loss=lambda n: 2.3 + n % 3 / 9, grad_norm=0.8, learning_rate=0.0),
    "loss_off_by_a_factor": rows(9, loss=lambda n: 8.2 - 0.02 * n, eval_loss=2.0, grad_norm=1.0),
    "overfits": rows(9, loss=lambda n: 1 / (n + 1), eval_loss=lambda n: 1 + abs(n - 2) / 5),
    "memorised": rows(9, loss=lambda n: 2.0 * 0.3**n, grad_norm=0.1),
    "collapse": rows(
        14,
        loss=0.01,
        grad_norm=turns(0.3, 40.0, 8),
        reward=lambda n: 0.5 + 0.05 * n if n < 8 else 0.05,
        kl=turns(0.01, 0.2, 8),
    ),
    "no_signal": rows(4, **GRPO | {"reward_std": 0.0, "grad_norm": 0.0}),
    "signal_ended": rows(9, **GRPO | {"reward_std": turns(0.2, 0.0, 5)}),
    "no_gradient": rows(4, **GRPO | {"grad_norm": 0.0}),
    "parts_apart": rows(
        9,
        **GRPO,
        **{"rewards/right": lambda n: 0.5 - 0.05 * n, "rewards/form": lambda n: 0.1 + 0.1 * n},
    ),
    "constant_part": rows(
        6, **GRPO, **{"rewards/right": 0.5, "rewards/form": lambda n: 0.1 + n % 2}
    ),
    "kl_runs": rows(8, **GRPO, kl=lambda n: 0.01 if n < 2 else 0.6),
    "kl_negative": rows(8, **GRPO, **{"objective/kl": lambda n: -2.0 - n}),
    "proxy_rises_alone": rows(
        9, loss=0.02, reward=lambda n: 0.1 * n, **{"eval_accuracy": lambda n: 0.5 - 0.05 * n}
    ),
    "entropy_gone": rows(9, loss=0.02, reward=0.5, reward_std=0.1, entropy=lambda n: 2.0 / 4**n),
    "engines_disagree": rows(
        4, loss=0.02, reward=0.4, **{"sampling/importance_sampling_ratio/mean": 0.6}
    ),
    "gradients_not_cleared": rows(
        12, loss=lambda n: 2.0 - n % 3 / 50, grad_norm=lambda n: 1.5 * n + 1.4, learning_rate=2e-5
    ),
    "stale_sampler": rows(
        12,
        **GRPO | {"loss": 0.02},
        **{"rollout_corr/kl": lambda n: 0.002 * (n + 1), "rollout_corr/ess": lambda n: 1 - n / 20},
    ),
    "sampler_not_finite": rows(
        4,
        loss=0.0,
        reward=0.0,
        **{"completions/clipped_ratio": 1.0, "sampling/sampling_logp_difference/mean": 0.0},
    ),
    "prefix_cache_kept": rows(
        12,
        **GRPO | {"loss": 0.2},
        epoch=lambda n: n / 4,
        **{"sampling/sampling_logp_difference/mean": lambda n: 1e-6 if n < 5 else 0.02 * n},
    ),
    "tiny_std": rows(4, loss=0.02, reward=0.4, **{"critic/advantages/max": 7428.0}),
    "replies_cut": rows(4, loss=0.02, reward=0.4, **{"completions/clipped_ratio": 1.0}),
    "rewards_cut": rows(4, loss=0.0, reward=0.0, **{"completions/clipped_ratio": 1.0}),
    "length_into_limit": rows(
        9,
        **GRPO | {"reward": lambda n: 0.1 * n},
        **{
            "completions/clipped_ratio": lambda n: 0.1 * n,
            "completions/mean_length": lambda n: 200 + 90 * n,
        },
    ),
    "wrong_reference": rows(3, **DPO | {"rewards/chosen": 9.7, "rewards/rejected": 5.7}),
    "policy_is_reference": rows(
        6, **{"loss": 0.6931, "rewards/chosen": 0.0, "rewards/rejected": 0.0}
    ),
    "at_chance": rows(8, loss=0.693, **{"rewards/accuracies": lambda n: 0.49 + n % 2 / 50}),
    "guesses": rows(9, loss=lambda n: 1.9 if n < 3 else 10.37 + n / 900, grad_norm=0.4),
    "step_breaks_weights": rows(
        4, loss=turns(2.3, 11.1, 1), learning_rate=lambda n: 1e-9 * (n + 1)
    ),
    "resumed_without_state": rows(
        20,
        loss=lambda n: 2 - n / 40,
        learning_rate=lambda n: 1e-4 - 4e-6 * n if n < 10 else 1e-5 * (n - 9),
    ),
    "weights_do_not_move": rows(
        12, loss=lambda n: (2.3141, 2.2718, 2.4669)[n % 3], grad_norm=lambda n: 0.8 + n / 99
    ),
    "entropy_runs": rows(
        12, **{"actor/entropy": lambda n: 0.5 + n / 9, "critic/score/mean": lambda n: 0.6 - n / 30}
    ),
    "much_is_clipped": rows(
        6, **GRPO | {"loss": 0.2}, **{"clip_ratio/region_mean": lambda n: 0.4 + n / 50}
    ),
    "reward_pays_junk": rows(
        12,
        **GRPO | {"loss": 0.2, "reward": lambda n: n / 12},
        **{"completions/mean_length": lambda n: 40.0 / (n + 1)},
    ),
    "rewards_missing": rows(4, loss=0.0, grad_norm=0.0, **{"completions/mean_length": 90.0}),
    "margin_saturated": rows(
        4,
        **DPO | {"loss": 1e-4},
        **{"rewards/accuracies": 1.0, "rewards/margins": lambda n: 14.0 + n},
    ),
    "pairs_inverted": rows(
        12,
        **DPO | {"loss": lambda n: 0.7 + n / 99},
        **{"rewards/margins": lambda n: 0.1 - n / 9, "rewards/accuracies": lambda n: 0.5 - n / 30},
    ),
    "margin_by_pushing_down": rows(
        9,
        **DPO | {"rewards/chosen": lambda n: -0.5 * n, "rewards/rejected": lambda n: -2.0 * n},
    ),
}

HEALTHY = {
    "falls": rows(12, loss=lambda n: 2 / (n + 1), grad_norm=1.0, learning_rate=1e-4),
    "noisy": rows(12, loss=lambda n: 2 + 0.1 * (-1) ** n, grad_norm=1.0, learning_rate=1e-4),
    "grpo": rows(12, loss=0.0, grad_norm=0.2, reward=lambda n: 0.1 * n, reward_std=0.3),
    "dpo start": rows(1, loss=0.6931, **{"rewards/chosen": 0.0, "rewards/rejected": 0.0}),
    "dpo rewards below 0": rows(
        1, **DPO | {"rewards/chosen": -0.3, "rewards/rejected": -7.7, "step": 500}
    ),
    "accuracies 0 and 1": rows(9, loss=0.4, **{"rewards/accuracies": lambda n: float(n % 3 > 0)}),
    "one overflow": rows(20, loss=lambda n: 2 - n / 50, grad_norm=lambda n: INF if n == 3 else 1.0),
    "overflows at first": rows(20, loss=lambda n: 2 - n / 50, grad_norm=turns(INF, 1.0)),
    "on-policy": rows(
        12, loss=lambda n: 2 - 0.1 * n, kl=0.0, clip_ratio=0.0, reward=0.3, reward_std=0.2
    ),
    "one spike": rows(12, loss=lambda n: 9.0 if n == 5 else 2 - n / 20, grad_norm=1.0),
    "evaluation logged late": [
        row
        for n in range(1, 10)
        for row in (
            {"step": 10 * n, "loss": 2 - n / 10},
            {"step": 10 * n - 5, "eval_loss": 2 - n / 11},
        )
    ],
    "one tied group": rows(2, **GRPO | {"reward_std": lambda n: 0.5 * n, "grad_norm": 0.2}),
    "noisy reward": rows(
        20, **GRPO | {"reward": lambda n: (0.9, 0.1, 0.5, 0.8, 0.05)[n * 7 % 5] if n else 0.9}
    ),
}

ODD = {  # no cause is known for these, and none may be called healthy
    "entropy grows": rows(20, **GRPO, entropy=lambda n: 2 + n / 2),
    "replies shrink": rows(20, **GRPO, **{"completions/mean_length": lambda n: 400 - 19 * n}),
    "gradient grows": rows(20, loss=lambda n: 2 - n / 20, grad_norm=lambda n: 1.5**n),
    "evaluation stays": rows(12, loss=lambda n: 2 - n / 12, eval_loss=lambda n: 2 + n / 1000),
    "pairs get worse": rows(
        12,
        **{
            "loss": lambda n: 0.6931 + 0.02 * n,
            "rewards/chosen": lambda n: -0.1 * n,
            "rewards/rejected": lambda n: 0.05 * n,
            "rewards/margins": lambda n: -0.15 * n,
        },
    ),
    "kl in the hundreds": rows(20, **GRPO | {"reward": lambda n: n / 20}, kl=lambda n: 52 + 10 * n),
    "no loss to speak of": rows(12, loss=lambda n: 3e-4 - n * 1e-5, grad_norm=0.01),
    "tokens get worse": rows(
        12, loss=lambda n: 2 - n / 12, mean_token_accuracy=lambda n: 0.8 - n / 40
    ),
}
