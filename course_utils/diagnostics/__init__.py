"""Instruments for a broken run. Each is imported on first use, and torch with it."""

from importlib import import_module

_HOME = {
    # What is wrong with this run?
    "diagnose": "diagnosis",
    "DiagnoseCallback": "diagnosis",
    "lightning_callback": "diagnosis",
    # What does one step, or one batch of replies, do?
    "audit_step": "diagnosis",
    "audit_policy": "diagnosis",
    # What does the model learn from this batch, and does it matter how it is split?
    "inspect_batch": "batch_view",
    "compare_splits": "splits",
    # Who gets no gradient, and why?
    "audit_gradients": "gradient_flow",
    # Which weights did the adapter reach?
    "adapter_reach": "reach",
    # Where does the first inf or nan come from, and who stops the run then?
    "watch": "watching",
    "trace_step": "nonfinite",
    "NonFiniteReport": "nonfinite",
    "NonFiniteGuard": "guard.guard",
    # Would it survive float16?
    "profile_ranges": "range_profile",
    # What does this logged loss say?
    "decode_logged_loss": "logged_loss",
    "simulate_logged_loss": "logged_loss",
    # Why do two models, or two log-probs of a token, differ? Is the reward true?
    "compare_models": "diagnosis",
    "compare_policies": "policies",
    "TruthAudit": "truth_audit",
    # What killed the process, and which setting did it?
    "run_in_child": "processes.autopsy",
    "warm_children": "processes.autopsy",
    "Autopsy": "processes.autopsy",
    "bisect_config": "processes.bisect",
    "unmask_float_traps": "processes.traps",
    "float_flags": "processes.traps",
    "divide_integers_by_zero": "processes.traps",
    "diagnose_cublas": "processes.cublas",
    "read_cublas_environment": "processes.cublas",
    # Which rank hangs, and what was it doing?
    "watch_ranks": "ranks",
    "read_ranks": "ranks",
    "replay_rank": "ranks",
}
__all__ = sorted(_HOME)


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
