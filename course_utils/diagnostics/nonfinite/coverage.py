"""Records what a watch has examined, so that it gives no all-clear about anything else.

Only counts and puts into words; it looks at no tensor.
"""

from collections import Counter
from dataclasses import dataclass, field

from course_utils.diagnostics.nonfinite.case import Cause

MAX_NOTES = 8
NO_LOSS = (
    "the output held no scalar loss",
    'put "labels" into the batch, or pass loss_of=, your function of the batch',
)
ZEROED = Cause(
    "Clipping made every gradient 0",
    "the total norm overflowed, and max_norm / inf is 0, so these steps learned nothing",
    "make the loss smaller (a mean instead of a sum), or find what makes single gradients huge",
)
CUT_LOSS = (
    "the loss hangs on no graph: it was re-wrapped (torch.tensor(loss), .item(), .detach()) or "
    "computed under no_grad, so backward() reaches no weight",
    "return the loss tensor itself, as the operations gave it",
)


@dataclass
class Coverage:
    """Counts of one watched run."""

    num_steps: int = 0  # optimizer steps begun
    num_losses: int = 0  # forward passes whose loss was recorded
    num_gradients: int = 0  # gradients read, over all steps
    num_without_loss: int = 0  # forward passes that gave none
    num_cut: int = 0  # ... that gave one without a graph
    num_unrecorded: int = 0  # calls of the model past the loss function that is watched
    num_overflows: int = 0  # steps the scaler skipped, as it does when it looks for its scale
    num_zeroed: int = 0  # steps whose gradients clipping made 0, for their norm overflowed
    is_entered: bool = False
    is_trainer: bool = False
    strangers: set[str] = field(default_factory=set)  # optimizers that hold none of our weights
    failures: Counter = field(default_factory=Counter)  # what the instrument could not do

    def fail(self, doing: str, error: Exception) -> None:
        """Note that `doing` raised; at most a few different notes are kept."""
        line = str(error).partition("\n")[0]
        text = f"{doing} raised {type(error).__name__}: {line}"
        self.failures[text if len(self.failures) < MAX_NOTES else "others"] += 1

    def note(self) -> str:
        """The message on a run in which nothing was found."""
        if not self.num_losses and not self.num_gradients:
            text = f"Nothing was examined: {self._missing()[0]}."
        elif not self.num_gradients or not self.num_steps:
            text = f"{self.num_losses} losses were finite. No step of the weights was examined: "
            text += f"{self._missing()[0]}."
        elif not self.num_losses:
            text = f"{self.num_steps} steps watched: every gradient and weight was finite. "
            text += f"No loss was examined: {self._missing()[0]}."
        else:
            text = f"{self.num_steps} steps watched: every loss, gradient and weight was finite."
        skipped = f"In {self.num_overflows} of them the scaler skipped an overflow, as is its job."
        zeroed = f"{ZEROED.kind} in {self.num_zeroed} steps: {ZEROED.why}."
        notes = [skipped if self.num_overflows else "", zeroed if self.num_zeroed else ""]
        return " ".join(filter(None, [text, *notes, self.failed()]))

    def failed(self) -> str:
        """The instrument's own failures; the run went on without it."""
        if not self.failures:
            return ""
        what = "; ".join(f"{text} ({n} times)" for text, n in self.failures.items())
        return f"The watch itself failed, and the run went on: {what}."

    def verdict(self) -> Cause | None:
        """Cause and fix of the parts that were not examined."""
        is_whole = self.num_losses and self.num_gradients and self.num_steps
        if is_whole and not self.failures:
            return ZEROED if self.num_zeroed else None
        if is_whole:
            fix = "what was watched stands; report this error with the lines that led to it"
            return Cause("the watch failed", self.failed(), fix)
        return Cause("nothing examined", *self._missing())

    def _missing(self) -> tuple[str, str]:
        """Why a loss or a gradient is missing, and how to have it watched."""
        if not self.is_entered:
            return (
                "the watch was never entered",
                "write `with watch(...) as watched:` around the run",
            )
        if self.failures and not self.num_losses:
            return next(iter(self.failures)), "report this error with the lines that led to it"
        if self.num_cut and not self.num_gradients:
            return CUT_LOSS
        if self.num_losses and self.strangers:
            return (
                f"{', '.join(sorted(self.strangers))} holds none of the watched model's parameters",
                "make the optimizer from model.parameters() of this very model, after moving it",
            )
        if self.num_losses and self.num_steps:
            return "backward() reached none of the weights", CUT_LOSS[1]
        if self.num_losses:
            return "no optimizer stepped", "call optimizer.step() inside the `with` block"
        if self.num_without_loss:
            return NO_LOSS
        if self.num_unrecorded:
            return (
                f"the model was called {self.num_unrecorded} times and the watch never",
                "call the watch in the place of your loss function: loss = watched(batch)",
            )
        if self.is_trainer:
            return "compute_loss was never called", "call trainer.train() inside the `with` block"
        return "no forward pass was made", "put the training loop inside the `with` block"
