"""Notes a state that is loaded although it is the model's own: it was kept without a copy."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject
from course_utils.diagnostics.diagnosis.watches.steps import Steps

MOST = 0.5  # of the loaded tensors


@dataclass
class KeptState:
    """Calls of the model's load_state_dict, and how many tensors of the last were its own."""

    subject: Subject
    steps: Steps
    own: int = 0
    loaded: int = 0
    at: int = 0  # steps that were taken before

    @contextmanager
    def listening(self) -> Iterator[None]:
        plain, model = nn.Module.load_state_dict, self.subject.model

        def noted(module: nn.Module, state: Mapping[str, Any], *args: Any, **kwargs: Any) -> Any:
            if module is model and self.steps.num_steps and isinstance(state, Mapping):
                self._note(state)
            return plain(module, state, *args, **kwargs)

        nn.Module.load_state_dict = noted
        try:
            yield
        finally:
            nn.Module.load_state_dict = plain

    def _note(self, state: Mapping[str, Any]) -> None:
        live = {one.data_ptr() for one in self.subject.model.parameters()}
        given = [one for one in state.values() if isinstance(one, Tensor) and one.numel()]
        self.own, self.loaded = sum(one.data_ptr() in live for one in given), len(given)
        self.at = self.steps.num_steps

    @property
    def puts_back(self) -> bool:
        """Whether the run ends with another state than that of its last step."""
        return bool(self.loaded) and not self._is_live and self.at == self.steps.num_steps

    @property
    def _is_live(self) -> bool:
        return self.own > MOST * self.loaded

    def judge(self, sheet: Sheet) -> None:
        if not self.loaded:
            return
        if not self._is_live:
            sheet.clear("the state that was loaded", f"a copy, {self.loaded} tensors")
            return
        sheet.find(
            "state_is_live",
            COUNTED + 1,
            f"{self.own} of {self.loaded} tensors that load_state_dict was given, after "
            f"{self.steps.num_steps} steps, are in the memory of the model's own weights",
            place="where the state is kept: model.state_dict() gives the live tensors",
        )
