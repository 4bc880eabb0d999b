"""What a log says in words besides its numbers: messages, exceptions, waits, complaints."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from course_utils.causes.cause import LATER, keys
from course_utils.causes.harms import ENDED
from course_utils.explain.finding import Finding
from course_utils.explain.messages.collectives import Collectives
from course_utils.explain.messages.complaints import Complaints
from course_utils.explain.messages.words import findings_in
from course_utils.explain.paste.entries import MAX_QUOTE, Entry, Line, place
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.log_words import RESUMES
from course_utils.explain.paste.numbers import trend
from course_utils.explain.paste.sentences import is_prose

_FRAME = re.compile(r'File "([^"]+)", line (\d+), in (\S+)')
_RAISED = re.compile(r"^(?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception)(?::\s.*)?$")
_KEEPS = re.compile(r"nested_concat|pad_and_concatenate|\b(?:preds|preds_host|all_preds) = ")
_OVER = re.compile(
    r"`?Trainer\.fit`? stopped: |training (?:is )?(?:complete|done|finished)|\*+ train metrics \*+",
    re.IGNORECASE,
)
AFTER_TRAINING = (
    "training was over: the processes wait for each other behind it, at a barrier that one of them "
    "does not reach",
    "no need to train again if the last checkpoint was written: load it; call what saves, "
    "evaluates or logs on every rank, not under `if rank == 0`",
)
OF_A_WAIT = keys("ranks_disagree aborted terminated")  # what a watchdog's timeout leads to
OF_NO_WEIGHT = keys("no_grad_fn nothing_trainable")  # without one, no entry follows
GOES_ON = 2  # entries
UNKNOWN = 2.0  # the weight of an exception without a cause of its own


def _gradients_arrive(log: Log) -> bool:
    norms, rewards = log.values("grad_norm"), trend(log.values("reward"))
    if rewards is not None and rewards[2] > rewards[0]:
        return True
    return len(norms) > 1 and all(norm > 0 for norm in norms)


def _trains_it(log: Log) -> bool:
    """Whether the run may train that head; one of a policy would only read its scores."""
    is_trained = len(log.values("loss")) > 1 and bool(log.values("learning_rate"))
    return is_trained and log.kind() != "policy"


TOLD_APART = keys("ranks_disagree cuda_memory")  # what a run that goes on says of them
REFUTED = {  # messages that the numbers behind them make harmless
    "checkpoint_without_gradient": _gradients_arrive,
    "head_is_new": _trains_it,
}


def _is_behind(log: Log, one: Finding) -> bool:
    """Whether a run came after this refusal, which it had to mend."""
    return len(log.entries) > 1 and place(one.at) < place(log.entries[0])


@dataclass
class Heard:
    """The first message of each cause, since the last run began."""

    _spoken: dict[str, Finding] = field(default_factory=dict)
    _collectives: Collectives = field(default_factory=Collectives)
    _complaints: Complaints = field(default_factory=Complaints)
    _frame: str = ""  # of a traceback, the innermost so far
    _raised: Finding | None = None  # the last exception
    _raised_at: int = 0  # entries that stood before it
    _keeps: Line | None = None  # the frame of this traceback that gathers predictions
    _over: Entry | Line | None = None  # the end of training, before any wait
    _out_of_memory_at: int = 0  # entries that stood before the last such message
    _resumed_at: int = -1  # entries that stood before the last line that says so
    _entry_at: str = ""  # where the last entry stands
    _first_entry: int = 0  # the place of the first entry
    _told: set[str] = field(default_factory=set)  # lines that are a sentence with entries in it

    def begin_anew(self) -> None:
        self._spoken.clear()

    def hear_end(self, part: Entry | Line) -> None:
        """Take what says that training was over."""
        if "ranks_disagree" not in self._spoken:
            self._over = part

    def hear(self, part: Entry | Line, num_entries: int) -> None:
        self._collectives.hear(part.where, part.text)
        self._complaints.hear(part)
        if isinstance(part, Entry):
            self._entry_at = part.where
            self._first_entry = self._first_entry or place(part)
        else:
            if part.where == self._entry_at and is_prose(part.text):
                self._told.add(part.where)
            self._hear_exception(part, num_entries)
            if RESUMES.search(part.text):
                self._resumed_at = num_entries
            if _OVER.search(part.text):
                self.hear_end(part)
        for one in findings_in(part):
            if one.key == "cuda_memory" and self._keeps:
                said = self._keeps.says
                kept = replace(one, key="predictions_kept", for_it=(one.for_it[0], said))
                self._spoken.setdefault(kept.key, kept)
                continue
            if one.cause.harm == ENDED and self._is_before_the_run(one.key):
                self._spoken[one.key] = one  # what the run goes on behind, and then meets again
            self._spoken.setdefault(one.key, one)
            if one.key == "cuda_memory":
                self._out_of_memory_at = num_entries

    def _is_before_the_run(self, key: str) -> bool:
        """Whether that was said before the first entry, as in the title of a report."""
        held = self._spoken.get(key)
        return held is not None and place(held.at) < self._first_entry

    def findings(self, log: Log) -> Iterator[Finding]:
        """What was said outright."""
        for key, one in self._spoken.items():
            if key in OF_A_WAIT and self.unseen():
                continue
            if key == "aborted" and self._is_end_of_a_wait():
                continue
            if key in REFUTED and REFUTED[key](log) and self._printed(log):
                continue
            if key == "no_pad_token" and _is_behind(log, one):
                continue
            if key not in TOLD_APART and self._is_mended(log, one):
                continue
            if key == "ranks_disagree":
                yield self._wait(one)
            elif key == "cuda_memory" and self._goes_on(log):
                if self._resumed_at == self._out_of_memory_at:
                    continue  # another job goes on from a checkpoint
                after = f"the log goes on to {log.entries[-1].where}"
                proof = (*one.for_it, after)
                yield replace(one, key="memory_survived", weight=3.0, for_it=proof)
            else:
                yield one

    def unseen(self) -> str:
        """That those who would tell why others wait for them are not in the paste; "" if not."""
        return "" if self._over else self._collectives.unseen()

    def _printed(self, log: Log) -> list[Entry]:
        """The entries that a program printed: numbers in a sentence are told of another run."""
        return [entry for entry in log.entries if entry.where not in self._told]

    def _is_mended(self, log: Log, one: Finding) -> bool:
        """Whether the run goes on behind an error that ends one, or of a model that cannot train,
        or had trained before it: what cannot is another program's then.

        No run goes on in a sentence.
        """
        norms = log.values("grad_norm")
        is_still = one.key == "nothing_trainable" and bool(norms) and not any(norms)
        ends = one.cause.harm == ENDED or (one.key in OF_NO_WEIGHT and not is_still)
        behind = [entry for entry in self._printed(log) if place(entry) > place(one.at)]
        if one.key == "nothing_trainable" and any(norms) and not behind:
            return True
        return ends and one.weight >= LATER and len(behind) >= GOES_ON

    def _goes_on(self, log: Log) -> bool:
        """Whether the run that ran out of memory goes on, and not only one pasted behind it."""
        of_earlier = log.num_entries - log.num_of_last
        is_earlier = bool(log.earlier) and self._out_of_memory_at <= of_earlier
        until = of_earlier if is_earlier else log.num_entries
        return until - self._out_of_memory_at >= 2

    def _wait(self, one: Finding) -> Finding:
        """Who waited for what, and whether training was over by then."""
        proof = (*one.for_it, *self._collectives.evidence())
        if self._over is None:
            why, advice = self._collectives.told() or ("", "")
            return replace(one, for_it=proof, why=why, advice=advice)
        why, advice = AFTER_TRAINING
        ended = f"{self._over.where} says: {self._over.text[:MAX_QUOTE]}"
        return replace(one, for_it=(ended, *proof), why=why, advice=advice)

    def _is_end_of_a_wait(self) -> bool:
        """Whether a watchdog spoke before the abort: it aborts the process that it watches."""
        order = list(self._spoken)
        waited = "ranks_disagree" in order and bool(self._collectives.waits)
        return waited and order.index("ranks_disagree") < order.index("aborted")

    def _hear_exception(self, line: Line, num_entries: int) -> None:
        if _KEEPS.search(line.text):
            self._keeps = line
        elif line.text.lstrip().startswith("Traceback"):
            self._keeps = None
        if frame := _FRAME.search(line.text):
            self._frame = f"{frame[1].rpartition('/')[2]}, line {frame[2]}, in {frame[3]}"
        elif _RAISED.match(line.text):
            place = (f"raised at {self._frame}",) if self._frame else ()
            said = f"{line.where} says: {line.text[:160]}"
            self._raised = Finding("exception", UNKNOWN, line, (said, *place))
            self._raised_at = num_entries

    def exception(self, log: Log) -> Iterator[Finding]:
        """The exception that ended the run, where nothing more is known of it."""
        is_last = log.num_entries - self._raised_at < 2
        if self._raised is not None and is_last and not self._spoken:
            yield self._raised

    def hints(self, log: Log) -> Iterator[Finding]:
        """Causes that fit what the writer complains of."""
        return self._complaints.findings(log)
