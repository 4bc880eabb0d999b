"""Float16 mixed precision on a CPU, where the Trainer silently ignores `fp16=True`.

Adds no arithmetic of its own: it switches on the code that the Trainer runs on CUDA.
"""

import torch


class Float16OnCpu:
    """A mixin that makes `fp16=True` true on a CPU: `class T(Float16OnCpu, DPOTrainer): pass`.

    accelerate (1.15) turns `mixed_precision="fp16"` into autocast and a gradient scaler for any
    device but a CPU. Given both, the rest of it does not ask for the device: the forward pass
    runs under `torch.autocast`, the loss is scaled, the gradients are unscaled before they are
    clipped, a step with non-finite gradients is skipped. On CUDA, or without `fp16=True`, the
    mixin does nothing.

    >>> from transformers import Trainer, TrainingArguments
    >>> class HalfTrainer(Float16OnCpu, Trainer): pass
    >>> args = TrainingArguments(fp16=True, use_cpu=True, report_to="none")
    >>> HalfTrainer(torch.nn.Linear(1, 1), args).accelerator.scaler.get_scale()
    65536.0
    """

    def create_accelerator_and_postprocess(self) -> None:
        super().create_accelerator_and_postprocess()
        accelerator = self.accelerator
        if self.args.fp16 and accelerator.device.type == "cpu":
            accelerator.native_amp = True
            accelerator.scaler = torch.amp.GradScaler("cpu")
