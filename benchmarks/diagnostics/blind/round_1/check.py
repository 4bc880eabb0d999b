"""Proves the round: each fault does harm, its twin does not, and the odd healthy runs learn.

Run from the root of the repository: python -m benchmarks.diagnostics.blind.round_1.check [NAME ...]
"""

import contextlib
import importlib
import io
import json
import logging
import sys
import tempfile
import time
import warnings
from pathlib import Path

import transformers

HERE = Path(__file__).parent


def outcome(module, healthy):
    """Trains one variant; returns its score (None where the run died), seconds and first error."""
    began = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        try:
            if hasattr(module, "train"):
                done = module.train(healthy=healthy)
            else:
                done = module.make(folder, healthy=healthy)
                done.train()
            made, why = module.score(done, folder), ""
        except (IndexError, RuntimeError, ValueError, OverflowError, TypeError) as error:
            made, why = None, f"{type(error).__name__}: {error}"[:60]
    return made, time.process_time() - began, why


def main(names):
    transformers.logging.set_verbosity_error()
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    key = json.loads((HERE / "key.json").read_text())
    for name, case in key["runs"].items():
        if names and name not in names:
            continue
        module = importlib.import_module(f"{__package__}.runs.{name}")
        variants = [False, True] if case["verdict"] == "broken" else [True]
        results = []
        for healthy in variants:
            with contextlib.redirect_stdout(io.StringIO()):
                results.append(outcome(module, healthy))
        shown = [f"{'died' if s is None else f'{s:.3f}':>6} {t:4.1f}s" for s, t, _ in results]
        why = next((w for _, _, w in results if w), "")
        print(
            f"{name:22} {case['verdict']:8} {' | '.join(shown)}  {case['measure']} {why}",
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1:])
