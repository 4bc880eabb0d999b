"""The weights of a sampler that hold nan, and what the trainer has in their place."""

from dataclasses import dataclass

import torch

from course_utils.diagnostics.diagnosis.sheet.subject import Subject


@dataclass(frozen=True)
class Broken:
    """Tensors of the sampler with nan or inf where the trainer's are finite."""

    names: tuple[str, ...]
    count: int  # of numbers that are not finite
    zeros: int  # of those, where the trainer's is exactly 0

    @property
    def said(self) -> str:
        more = f" and {len(self.names) - 1} more tensors" if len(self.names) > 1 else ""
        return (
            f"{self.count} numbers in {self.names[0]}{more} of the sampler are nan or inf; "
            f"the trainer's are finite, and {self.zeros} of them are exactly 0"
        )

    @property
    def is_of_zeros(self) -> bool:
        """Whether only zeros became nan: a block of zeros has the scale 0, and 0 / 0 is nan."""
        return self.zeros == self.count


def broken_weights(subject: Subject) -> Broken | None:
    """Compare a sampler that is handed over with the model that trains; None if all is finite."""
    if not isinstance(subject.sampler, torch.nn.Module):
        return None
    own, names, count, zeros = dict(subject.model.named_parameters()), [], 0, 0
    for name, weight in subject.sampler.named_parameters():
        bad = ~weight.detach().isfinite()
        if name in own and own[name].shape == weight.shape and bool(bad.any()):
            known = own[name].detach().to(bad.device)
            bad &= known.isfinite()
            names.append(name)
            count += int(bad.sum())
            zeros += int((bad & (known == 0)).sum())
    return Broken(tuple(names), count, zeros) if count else None
