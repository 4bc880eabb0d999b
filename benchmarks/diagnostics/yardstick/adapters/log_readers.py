"""Tools that read a log after the run."""

import json
from pathlib import Path

from benchmarks.diagnostics.yardstick.adapters.answers import entries_in, output_of, said, skipped

RUNMEDIC = {
    "non_finite": "nan_loss nan_gradient nan_weights",
    "divergence": "diverged rate",
    "no_learning": "no_grad nothing_moves rate_zero",
    "overfitting": "overfits",
    "grad_spikes": "rate",
    "cuda_oom": "cuda_oom cuda_memory",
    "amp_overflow": "fp16_overflow",
    "anomaly_nan": "nan_loss nan_gradient",
    "nccl_timeout": "nccl hang",
    "device_mismatch": "device_mismatch",
    "backward_twice": "graph_used_twice",
    "inplace_grad": "changed_in_place",
    "unused_params": "unused_parameters",
    "memory_growth": "memory",
}


def runmedic(folder: Path) -> dict:
    reports = json.loads(
        output_of("runmedic.cli:main", "diagnose", folder / "log.txt", "--json") or "[]"
    )
    found = [one for report in reports for one in report["findings"]]
    loud = [one for one in found if one["severity"] != "info"]
    return said([(one["check"].removeprefix("log:"), one["title"]) for one in loud], RUNMEDIC)


LOSSLINT = {
    "nan_inf": "nan_loss nan_gradient nan_weights",
    "divergence": "diverged rate",
    "loss_spike": "rate",
}


def losslint(folder: Path) -> dict:
    if not entries_in(folder):
        return skipped("reads trainer_state.json, CSV and JSONL, no pasted text")
    ran = output_of("losslint.cli:main", "check", folder / "trainer_state.json", "--format", "json")
    found = [one for one in json.loads(ran)["findings"] if one["severity"] != "info"]
    return said([(one["check"], one["message"]) for one in found], LOSSLINT)


RLDOCTOR = {
    "advantage_collapse": "no_signal tiny_std",
    "entropy_collapse": "collapse",
    "reward_hacking": "reward_hacking proxy_rises_alone",
    "length_pathology": "length_bias length_into_limit replies_cut",
    "clip_saturation": "collapse rate logp_mismatch",
    "kl_drift": "collapse kl_runs kl_place",
    "gradient_pathology": "nan_gradient rate no_gradient",
    "reward_composition": "parts_apart reward_hacking",
    "plateau": "no_signal",
}


def rldoctor(folder: Path) -> dict:
    if not entries_in(folder):
        return skipped("reads exported metrics, no pasted text")
    printed = output_of("rl_doctor.cli:main", "diagnose", folder / "entries.jsonl", "-f", "json")
    if not printed:
        return skipped("it could not read these entries")
    loud = ("CRITICAL", "WARNING")
    found = [one for one in json.loads(printed)["findings"] if one["severity"] in loud]
    found.sort(key=lambda one: loud.index(one["severity"]))
    return said([(one["detector"], f"{one['title']}: {one['summary']}") for one in found], RLDOCTOR)


RLWATCH = {
    "entropy_collapse": "collapse",
    "kl_explosion": "collapse kl_runs",
    "reward_hacking": "reward_hacking",
    "advantage_variance": "tiny_std no_signal",
    "loss_nan": "nan_loss nan_gradient nan_weights",
    "gradient_norm_spike": "rate",
    "reward_mean_drift": "collapse reward_hacking",
}
WATCHED = {  # as its own TRL callback reads the entries
    "entropy": ("entropy", "actor/entropy", "actor/entropy_loss"),
    "kl_divergence": ("kl", "actor/kl_loss", "critic/kl"),
    "reward_mean": ("reward", "critic/score/mean", "rewards/mean"),
    "reward_std": ("reward_std", "rewards/std"),
    "advantage_std": ("advantage_std",),
    "loss": ("loss", "actor/pg_loss"),
    "grad_norm": ("grad_norm", "actor/grad_norm"),
}


def rlwatch(folder: Path) -> dict:
    if not (entries := entries_in(folder)):
        return skipped("it is called in every step and reads no text")
    from rlwatch.config import RLWatchConfig
    from rlwatch.detectors import DetectorSuite

    suite, found = DetectorSuite(RLWatchConfig()), {}
    for number, row in enumerate(entries, 1):
        values = {
            name: next((row[field] for field in fields if row.get(field) is not None), None)
            for name, fields in WATCHED.items()
        }
        for alert in suite.check_step(row.get("step", number), **values):
            found.setdefault(alert.detector, alert.message)
    return said(list(found.items()), RLWATCH)
