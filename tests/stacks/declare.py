"""The stacks on which the instruments are proved. Builds nothing."""

from dataclasses import dataclass
from pathlib import Path

from course_utils.reproductions.eras.environment import Environment

LOCKS = Path(__file__).parent / "locks"


@dataclass(frozen=True)
class Stack:
    """Versions of libraries that somebody may train with; a lock of the same name has them all."""

    name: str
    what: str

    @property
    def environment(self) -> Environment:
        return Environment(self.name, locks=LOCKS)


# The course's own, to compare with: it has no lock, and the instruments are there already.
OWN = Stack("course", "the course's own versions")
STACKS = (
    Stack("t58", "transformers 5.8, TRL 1.0, PEFT 0.19"),
    Stack("t457", "transformers 4.57, TRL 0.24, PEFT 0.18"),
    Stack("t451", "transformers 4.51, TRL 0.17, PEFT 0.15"),
    Stack("t446", "transformers 4.46, TRL 0.15, PEFT 0.13, NumPy 1.26"),
    Stack("t446_trl012", "transformers 4.46, TRL 0.12 (no GRPO yet), PEFT 0.13, NumPy 1.26"),
    Stack("tonly", "transformers 4.57 and accelerate alone"),
    Stack("torch", "torch and NumPy 1.26 alone"),
)
