"""Listens to a model's own `generate` calls: how prompts are laid out, and whether replies end."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from course_utils.causes.harms import EVALUATION, SERVING
from course_utils.diagnostics.diagnosis.looks.batch import write_report
from course_utils.diagnostics.diagnosis.sheet.finding import LIKELY, Sheet
from course_utils.diagnostics.diagnosis.sheet.harm import ENDING, ENDLESS
from course_utils.diagnostics.diagnosis.sheet.subject import POLICY, Subject
from course_utils.diagnostics.hooks import Hook, Method
from course_utils.diagnostics.loss_kind import Loss

MAX_CALLS = 4  # of which the prompts are read
KEPT = ("input_ids", "attention_mask", "labels", "position_ids")
FEW = 0.5  # of a call's replies end, below which they count as endless
LIMIT = 4  # new tokens below which a reply that does not end says nothing


@dataclass
class GenerateCalls:
    """Inputs and outputs of the calls of `generate` during the run."""

    subject: Subject
    prompts: list[dict[str, Tensor]] = field(default_factory=list)
    stops_at: set[int] = field(default_factory=set)  # by the model's own settings
    asked: set[int] = field(default_factory=set)  # ends that single calls were given
    reached: set[int] = field(default_factory=set)  # ends that new tokens hold
    judged: list[dict[str, Tensor]] = field(default_factory=list)  # batches of an evaluation
    ended: list[float] = field(default_factory=list)  # share of each call's replies
    failures: list[Exception] = field(default_factory=list)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """In the block, calls of `model.generate` are read; their results are not changed."""
        model = self.subject.model
        generate = getattr(model, "generate", None)
        if generate is None or self.subject.kind == POLICY:
            yield
            return
        own = vars(model).get("generate")
        handle = model.register_forward_pre_hook(Hook(self._hear_forward), with_kwargs=True)

        def heard(*args: Any, **kwargs: Any) -> Any:
            output = generate(*args, **kwargs)
            try:
                self._hear(args, kwargs, output)
            except Exception as error:
                self.failures.append(error)
            return output

        model.generate = Method(model, "generate", heard)
        try:
            yield
        finally:
            handle.remove()
            if own is None:
                del model.generate
            else:
                model.generate = own

    def _hear_forward(self, module: Any, _args: tuple, kwargs: Mapping) -> None:
        """Keep the first batches with labels that are evaluated and not trained on."""
        is_judged = not module.training and not torch.is_grad_enabled()
        if is_judged and isinstance(kwargs.get("labels"), Tensor) and len(self.judged) < MAX_CALLS:
            taken = {n: v for n, v in kwargs.items() if n in KEPT and isinstance(v, Tensor)}
            self.judged.append(
                {name: value.detach().cpu().clone() for name, value in taken.items()}
            )

    def _hear(self, args: tuple, kwargs: Mapping, output: Any) -> None:
        given = kwargs.get("input_ids", kwargs.get("inputs", args[0] if args else None))
        if not isinstance(given, Tensor) or given.dim() != 2:
            return
        mask = kwargs.get("attention_mask")
        prompt = {"input_ids": given.detach().cpu().clone()}
        if isinstance(mask, Tensor):
            prompt["attention_mask"] = mask.detach().cpu().clone()
        if len(self.prompts) < MAX_CALLS:
            self.prompts.append(prompt)
        ids = output if isinstance(output, Tensor) else getattr(output, "sequences", None)
        asked = _one_or_more(kwargs.get("eos_token_id")) or _ends(kwargs.get("generation_config"))
        stops = asked or _ends(self.subject.model.generation_config)
        self.asked |= asked
        self.stops_at |= stops - asked
        new = ids[:, given.shape[1] :] if ids is not None else None
        if new is None or not stops:
            return
        self.reached |= stops & set(new.unique().tolist())
        if new.shape[1] >= LIMIT:
            known = torch.tensor(sorted(stops), device=new.device)
            self.ended.append(float(torch.isin(new, known).any(1).double().mean()))

    def judge(self, sheet: Sheet) -> None:
        """Write down faults of the prompts, and whether generation waits for another end token.

        A call that is given an end of its own, which its replies reach, is meant to stop there.
        """
        from course_utils.diagnostics.batch_view import inspect_batch
        from course_utils.diagnostics.batch_view.case import GENERATION
        from course_utils.diagnostics.batch_view.sources import tokens_of

        for error in self.failures[:1]:
            sheet.fail("the generate calls", error)
        tokenizer = self.subject.tokenizer
        if tokenizer is None or self.subject.loss is Loss.SEQ2SEQ:  # which continues no prompt
            return
        for number, batch in enumerate(self.judged, start=1):
            with sheet.trying("the evaluation's tokens"):
                report = inspect_batch(tokens_of(batch, self.subject.loss), tokenizer)
                if report.case.kind != GENERATION:  # rows that have a label each are no prompts
                    write_report(report, sheet, of=f"evaluation batch {number}", where=EVALUATION)
        if not self.prompts:
            return
        for number, prompt in enumerate(self.prompts, start=1):
            with sheet.trying("the prompts of generate"):
                report = inspect_batch(prompt, tokenizer)
                if report.case.kind == GENERATION:
                    write_report(report, sheet, of=f"generate call {number}", where=SERVING)
        end = tokenizer.eos_token_id
        stops = self.stops_at | (self.asked - self.reached)
        if stops and end is not None and end not in stops:
            said = f"generate stops at {sorted(stops)}, the tokenizer ends with id {end}"
            sheet.find("stops_elsewhere", LIKELY + 1, said, place="eos_token_id", where=SERVING)
        if self.ended:
            calls = f"{self.ended[0]:.0%} in the first generate call"
            more = f", {self.ended[-1]:.0%} in the last" if len(self.ended) > 1 else ""
            sheet.show("replies that end", f"{calls}{more}", usual=self.ended[-1] >= FEW)
            said = f"{self.ended[-1]:.0%} of the replies to the last generate call end"
            sheet.became(ENDLESS if self.ended[-1] < FEW else ENDING, said)


def _ends(config: Any) -> set[int]:
    return _one_or_more(getattr(config, "eos_token_id", None))


def _one_or_more(ids: Any) -> set[int]:
    return {ids} if isinstance(ids, int) else set(ids or ())
