"""Rides along with a run: counts its steps, reads its replies, watches its numbers.

`diagnose.watching` is for any run, `DiagnoseCallback` for a Trainer that is started elsewhere.
"""

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from course_utils.diagnostics.diagnosis.judges.policy import judge_policy
from course_utils.diagnostics.diagnosis.judges.run import judge_numbers_of_run
from course_utils.diagnostics.diagnosis.judges.steps import judge_steps
from course_utils.diagnostics.diagnosis.looks.batch import look_at_batch
from course_utils.diagnostics.diagnosis.looks.forward import look_at_forward
from course_utils.diagnostics.diagnosis.looks.order import look_after, look_before
from course_utils.diagnostics.diagnosis.looks.shown_rows import show_rows
from course_utils.diagnostics.diagnosis.measures.read_places import ReadPlaces
from course_utils.diagnostics.diagnosis.measures.terms_given import judge_terms_heard
from course_utils.diagnostics.diagnosis.report.report import Diagnosis
from course_utils.diagnostics.diagnosis.sheet.finding import Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import POLICY, Subject
from course_utils.diagnostics.diagnosis.watches.average import Average
from course_utils.diagnostics.diagnosis.watches.batch import FirstBatch
from course_utils.diagnostics.diagnosis.watches.generate_calls import GenerateCalls
from course_utils.diagnostics.diagnosis.watches.loads import Loads
from course_utils.diagnostics.diagnosis.watches.loss_calls import LossCalls
from course_utils.diagnostics.diagnosis.watches.loss_terms import LossTerms
from course_utils.diagnostics.diagnosis.watches.metrics import Metrics
from course_utils.diagnostics.diagnosis.watches.pace import Pace
from course_utils.diagnostics.diagnosis.watches.passes import Passes
from course_utils.diagnostics.diagnosis.watches.policy import Replies
from course_utils.diagnostics.diagnosis.watches.row_order import RowOrder
from course_utils.diagnostics.diagnosis.watches.rows_seen import RowsSeen
from course_utils.diagnostics.diagnosis.watches.sampler import SamplerWatch
from course_utils.diagnostics.diagnosis.watches.steps import Steps
from course_utils.diagnostics.watching import watch


class Watching:
    """A context manager that watches a run; `report` gives its findings, also during the run.

    What fails inside is written into the report as not seen; it never reaches the run.
    """

    def __init__(
        self,
        subject: Subject,
        *,
        then: Callable[[Diagnosis], object] | None = None,
        prints_if_it_raises: bool = False,
    ):
        self.subject, self._then = subject, then
        self._prints_if_it_raises = prints_if_it_raises
        self._before = Sheet()
        self._after: Sheet | None = None
        self._steps = Steps(subject.model)
        self._replies = Replies(subject.trainer, subject.sampler)
        self._sampler = SamplerWatch(subject)
        self._served = GenerateCalls(subject)
        self._first = FirstBatch(subject)
        self._pace = Pace(subject, self._steps)
        self._passes = Passes(subject, self._steps, self._pace)
        self._metrics = Metrics(subject)
        self._terms = LossTerms(subject)
        self._order = RowOrder(subject)
        self._places = ReadPlaces(subject)
        self._rows = RowsSeen(subject)
        self._losses = LossCalls(subject, order=self._order)
        self._loads = Loads(subject, self._steps, self._passes)
        self._average = Average(subject)
        self._watch: Any = None
        self._error: BaseException | None = None
        self._began_at = 0
        self._undo = ExitStack()

    @property
    def report(self) -> Diagnosis:
        """What is known so far."""
        sheet = Sheet()
        sheet.add(self._before)
        self._judge(sheet)
        if self._after is not None:
            sheet.add(self._after)
        sheet.kind = self.subject.kind
        return Diagnosis.of(self.subject.name, sheet)

    @property
    def num_steps(self) -> int:
        """Optimizer steps on this model so far."""
        return self._steps.num_steps

    def _judge(self, sheet: Sheet) -> None:
        subject = self.subject
        counted = getattr(getattr(subject.trainer, "state", None), "global_step", 0)
        began_at = self._began_at if self._pace.began_at is None else self._pace.began_at
        with sheet.trying("the steps"):
            num_counted = counted - began_at
            judge_steps(subject, self._steps, sheet, num_counted=num_counted, pace=self._pace)
        if self._steps.numbers or self._steps.strangers:
            sheet.unseen.pop("the optimizer's parameters", None)
        with sheet.trying("the replies"):
            judge_policy(subject, self._replies, sheet)
            if replies := self._replies.texts():
                sheet.rows = list(replies.specimen())
        with sheet.trying("the sampler"):
            self._sampler.judge(sheet)
        with sheet.trying("the generate calls"):
            self._served.judge(sheet)
        with sheet.trying("the passes"):
            self._passes.judge(sheet)
        with sheet.trying("the metric"):
            self._metrics.judge(sheet)
        with sheet.trying("the loss that is called"):
            self._losses.judge(sheet)
        with sheet.trying("the terms of the loss"):
            judge_terms_heard(self._terms.passes, self._losses.heard, sheet)
        with sheet.trying("what is read"):
            if not any(one.key == "padding_pooled" for one in self._before.found):
                self._places.judge(sheet)
        with sheet.trying("the order of the rows"):
            if not any(one.key == "rows_in_order" for one in self._before.found):
                self._order.judge(sheet)
        with sheet.trying("the rows that are evaluated"):
            self._rows.judge(sheet)
        with sheet.trying("the weights that are loaded"):
            self._loads.judge(sheet)
        with sheet.trying("the average of the weights"):
            self._average.judge(sheet)
        with sheet.trying("the numbers of the run"):
            judge_numbers_of_run(self._watch, self._error, sheet, self._steps, subject)

    def __enter__(self) -> "Watching":
        with self._before.trying("looking before"):
            look_before(self.subject, self._before)
        state = getattr(self.subject.trainer, "state", None)
        self._began_at = getattr(state, "global_step", 0)
        for what, enter in (
            ("listening to steps", self._steps.counting),
            ("listening to replies", self._replies.reading),
            ("listening to the sampler", self._sampler.listening),
            ("listening to generate", self._served.listening),
            ("listening to the batches", self._first.listening),
            ("listening to the schedule", self._pace.listening),
            ("listening to the passes", self._passes.listening),
            ("listening to the metric", self._metrics.listening),
            ("listening to the loss", self._losses.listening),
            ("listening to the rows", self._order.listening),
            ("listening to the terms of the loss", self._terms.listening),
            ("listening to what is read", self._places.listening),
            ("listening to what is evaluated", self._rows.listening),
            ("listening to what is loaded", self._loads.listening),
            ("keeping the first weights", self._average.beginning),
        ):
            with self._before.trying(what):
                self._undo.enter_context(enter())
        with self._before.trying("watching the numbers"):
            target = self.subject.trainer or self.subject.model
            self._watch = self._undo.enter_context(watch(target, then=lambda report: None))
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self._error = error
        sheet = Sheet(broken_forward=self._before.broken_forward)
        with sheet.trying("letting go"):
            self._undo.__exit__(kind, error, trace)
        if self.subject.trainer is not None:
            self.subject.log = self.subject.trainer.state.log_history
            # A Trainer makes its optimizer when it begins to train.
            self.subject.optimizer = self.subject.trainer.optimizer or self.subject.optimizer
        if self.subject.batch is None and self._first.batch is not None:
            self.subject.batch = self._first.batch
            self._before.unseen.pop("rows alone", None)
            with sheet.trying("the first batch"):
                look_at_forward(self.subject, sheet)
                if self.subject.kind != POLICY:
                    show_rows(self.subject, sheet)
                if self.subject.trainer is None and self.subject.tokenizer is not None:
                    self._before.unseen.pop("the tokens", None)
                    look_at_batch(self.subject, sheet)
        with sheet.trying("looking after"):
            look_after(self.subject, sheet)
        self._after = sheet
        is_last_word = self._prints_if_it_raises and isinstance(error, Exception)
        then = self._then or (print if is_last_word else None)
        if then is not None:
            with sheet.trying("telling"):
                then(self.report)
