"""Instruments for a broken run. Each is imported on first use, and torch with it."""

from importlib import import_module

_HOME = {
    "diagnose": "diagnosis",
    "DiagnoseCallback": "diagnosis",
    "audit_step": "diagnosis",
    "audit_policy": "diagnosis",
    "compare_models": "diagnosis",
    "trace_step": "nonfinite",
    "watch": "watching",
    "NonFiniteReport": "nonfinite",
    "watch_ranks": "ranks",
    "read_ranks": "ranks",
    "replay_rank": "ranks",
    "run_in_child": "processes.autopsy",
    "warm_children": "processes.autopsy",
    "Autopsy": "processes.autopsy",
    "bisect_config": "processes.bisect",
    "unmask_float_traps": "processes.float_traps",
    "float_flags": "processes.float_traps",
    "divide_integers_by_zero": "processes.float_traps",
    "audit_gradients": "gradient_flow",
    "profile_ranges": "range_profile",
    "NonFiniteGuard": "guard.guard",
    "decode_logged_loss": "logged_loss",
    "simulate_logged_loss": "logged_loss",
    "inspect_batch": "batch_view",
    "compare_splits": "splits",
    "TruthAudit": "truth_audit",
    "compare_policies": "policies",
    "diagnose_cublas": "processes.cublas",
    "read_cublas_environment": "processes.cublas",
}
__all__ = sorted(_HOME)


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
