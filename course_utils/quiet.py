"""Makes a kernel repeatable and quiet: one thread, no progress bars, no chatter on stderr.

The one place where transformers, trl, datasets and tqdm are silenced.
"""

import logging
import os
import warnings

# One OpenMP thread: on a busy two-core machine two threads made tiny steps up to 70 times slower.
THREADS = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}

SILENCE = {
    "TRANSFORMERS_VERBOSITY": "error",
    "TRANSFORMERS_NO_ADVISORY_WARNINGS": "1",
    "DATASETS_VERBOSITY": "error",
    "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TQDM_DISABLE": "1",
    "TRL_EXPERIMENTAL_SILENCE": "1",
}

CHATTY = ("transformers", "trl", "peft", "accelerate", "datasets", "torch", "httpx")


def quiet_libraries() -> None:
    """Pin one thread and silence the libraries. Call it before torch is imported."""
    os.environ.update(THREADS | SILENCE)
    for name in CHATTY:
        logging.getLogger(name).setLevel(logging.ERROR)
    warnings.filterwarnings("ignore")


def quiet_trainers() -> None:
    """Take the live table and the printed log dictionaries off every Trainer made from now on.

    Both hold timings and unrounded floats. The log itself stays in `trainer.state.log_history`.
    """
    from transformers import trainer  # takes seconds, and only lessons that train need it

    trainer.DEFAULT_PROGRESS_CALLBACK = trainer.TrainerCallback
    trainer.PrinterCallback = trainer.TrainerCallback
