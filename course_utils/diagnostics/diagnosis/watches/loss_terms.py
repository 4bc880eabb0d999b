"""Watches the backward passes of a loop: the terms of its loss, and the weight of each."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import wraps
from typing import Any
from unittest.mock import patch

from torch import Tensor

from course_utils.diagnostics.diagnosis.measures.terms import Terms, terms_of
from course_utils.diagnostics.diagnosis.sheet.subject import LOOP, Subject

MOST = 500  # backward passes


@dataclass
class LossTerms:
    """The terms of each loss that is differentiated, with their weights."""

    subject: Subject
    passes: list[Terms] = field(default_factory=list)

    @contextmanager
    def listening(self) -> Iterator[None]:
        if self.subject.kind != LOOP:
            yield
            return
        plain = Tensor.backward

        @wraps(plain)
        def backward(loss: Tensor, *args: Any, **kwargs: Any) -> Any:
            terms = self._terms(loss)
            with nullcontext() if terms is None else terms.weighed():
                done = plain(loss, *args, **kwargs)
            if terms is not None:
                self._keep(terms)
            return done

        with patch.object(Tensor, "backward", backward):
            yield

    def _terms(self, loss: Tensor) -> Terms | None:
        if len(self.passes) >= MOST or type(loss) is not Tensor or loss.grad_fn is None:
            return None
        try:
            return terms_of(loss)
        except Exception:  # a graph of another form: nothing is said of it
            return None

    def _keep(self, terms: Terms) -> None:
        """Keep the numbers; the names of the first pass alone, since nodes hold their graph."""
        kept = Known(terms.names if not self.passes else [""] * len(terms.nodes))
        kept.has_constant, kept.weights = terms.has_constant, terms.weights
        kept.turned = terms.turned
        self.passes.append(kept)


class Known(Terms):
    """Terms whose graph is gone."""

    def __init__(self, names: list[str]) -> None:
        super().__init__(nodes=names)

    @property
    def names(self) -> list[str]:
        return self.nodes
