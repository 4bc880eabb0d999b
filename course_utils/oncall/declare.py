"""Declares tickets: a healthy template, the faults planted into it, and the reported symptoms.

Everything here is data; nothing is planted, trained or judged. Imports no torch.
"""

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from course_utils.oncall.like import facts_of

if TYPE_CHECKING:
    from torch import Tensor

    from course_utils.oncall.result import Result

Files = dict[str, str]  # what a folder holds, by its path; see `binaries` for tensors
Rows = list[dict]


class DoesNotFit(ValueError):
    """An edit whose text is not found exactly once, or that changes nothing."""


@dataclass(frozen=True)
class Edit:
    """A piece of text replaced by another; it must occur exactly once.

    >>> Edit("train.py", "lr=1", "lr=2").apply({"train.py": "fit(lr=1)"})
    {'train.py': 'fit(lr=2)'}
    """

    file: str
    old: str
    new: str

    def apply(self, files: Files) -> Files:
        """The files with this edit.

        Raises:
            DoesNotFit: `old` is not there exactly once.
        """
        count = files.get(self.file, "").count(self.old)
        if count != 1 or self.old == self.new:
            raise DoesNotFit(f"{self.old!r} is {count} times in {self.file}, and must be once")
        return files | {self.file: files[self.file].replace(self.old, self.new)}


@dataclass(frozen=True)
class EditRows:
    """A function that changes the rows of a JSON-lines file, given a random generator."""

    file: str
    change: Callable[[Rows, random.Random], Rows]

    def apply(self, files: Files) -> Files:
        from course_utils.oncall.rows import as_lines, as_rows

        rows = self.change(as_rows(files[self.file]), random.Random(self.file))
        return _changed(files, self.file, as_lines(rows))


@dataclass(frozen=True)
class EditTensors:
    """A function that changes the tensors of a .safetensors file, by name.

    It returns those that are new; a tensor of None is taken out.
    """

    file: str
    change: Callable[[Mapping[str, "Tensor"]], Mapping[str, "Tensor | None"]]

    def apply(self, files: Files) -> Files:
        from course_utils.oncall.tensors import as_tensors, text_of

        before = as_tensors(files[self.file])
        now = {**before, **self.change(before)}
        text = text_of({name: tensor for name, tensor in now.items() if tensor is not None})
        return _changed(files, self.file, text)


@dataclass(frozen=True)
class EditJson:
    """A function that changes, in place, what a .json file holds: a tokenizer, settings."""

    file: str
    change: Callable[[dict], object]

    def apply(self, files: Files) -> Files:
        from course_utils.oncall.rows import as_json

        data = json.loads(files[self.file])
        self.change(data)
        return _changed(files, self.file, as_json(data))


def _changed(files: Files, file: str, text: str) -> Files:
    if text == files[file]:
        raise DoesNotFit(f"{file} is what it was")
    return files | {file: text}


Change = Edit | EditRows | EditTensors | EditJson


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One thing that is wrong.

    Attributes:
        plant: what makes the healthy template broken.
        enough: which edits of `plant`, counted from 1, are each a whole fix when that edit alone is
            undone, because what is left does nothing or no harm: a function that nobody calls any
            more, or one of two things that are wrong only together.
        like: the incident, or the other ticket, that is the same failure; title, kind, cause, fix
            and threads are taken from there where they are not given here.
        title: a short noun phrase of the field.
        kind: a key of `course_utils.causes.kinds.CLASSES`.
        cause: the true cause, one sentence, told when the ticket is solved.
        fix: the smallest one, one sentence.
        threads: where people met it, such as "trl#1623".
        also_kinds: other classes that a good report may give.
        also_places: other places that a good report may name, each "FILE WORD", such as
            "data.py collate"; the planted lines, their functions and names are known by themselves.
    """

    plant: tuple[Change, ...]
    enough: tuple[int, ...] = ()
    like: str = ""
    title: str = ""
    kind: str = ""
    cause: str = ""
    fix: str = ""
    threads: tuple[str, ...] = ()
    also_kinds: tuple[str, ...] = ()
    also_places: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, value in (facts_of(self.like) if self.like else {}).items():
            object.__setattr__(self, name, getattr(self, name) or value)


@dataclass(frozen=True)
class Case:
    """A ticket that can be drawn.

    Attributes:
        id: the module's name.
        level: 1, one fault; 2, one whose symptom is far from its place; 3, three of which each
            hides the next.
        template: the name of a healthy template.
        ticket: what was noticed, from the effect only, in plain words; it names neither cause nor
            class, and may mislead.
        faults: one, or three at level 3 in the order in which they come to light.
        non_fixes: what people try that must not pass, by name, each a tuple of edits made on top
            of the broken files. Those of `attacks.STANDARD` are tried on every case.
        spares: names of `attacks.STANDARD` that fix this case, so they are not tried.
    """

    id: str
    level: Literal[1, 2, 3]
    template: str
    ticket: str
    faults: tuple[Fault, ...]
    non_fixes: Mapping[str, tuple[Change, ...]] = field(default_factory=dict)
    spares: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Those of its faults, in their order."""
        return ", then ".join(fault.title for fault in self.faults)


@dataclass(frozen=True)
class Metric:
    """One measurement of a trained model.

    Attributes:
        says: what it is, as a reader of the verdict is told.
        higher: whether more is better.
        grain: the least width of the healthy band, so that seeds that happen to agree do not
            make it narrow.
    """

    says: str
    higher: bool
    grain: float


@dataclass(frozen=True)
class Template:
    """A healthy run in a folder; its files stand in `templates/NAME/files`.

    Attributes:
        about: what the run is, one sentence of the ticket's frame.
        base: the files of base/ for a seed: the checkpoint that training starts from.
        rows: the JSON-lines files for a seed, by path.
        measure: numbers about what the run made, on held-out data.
        metrics: those numbers, by name.
        sizes: keys of config.yaml that say how large the run is; they stay as handed out.
        handed_over: files that an earlier job left, for a seed, by path: a teacher, a tokenizer.
            They belong to the run, so a fault may stand in them, and may be mended there.
    """

    name: str
    about: str
    base: Callable[[int], dict[str, bytes]]
    rows: Callable[[int], dict[str, Rows]]
    measure: Callable[["Result"], dict[str, float]]
    metrics: Mapping[str, Metric]
    sizes: tuple[str, ...]
    handed_over: Callable[[int], dict[str, bytes]] = lambda seed: {}


@dataclass(frozen=True)
class Verdict:
    """The faults found in a fixed run, and its measured values.

    Attributes:
        ended_early: train.py did not come to its end.
        is_only_larger: what it made is healthy, and took more work than the run has.
        may_be_chance: it is beyond a bound, and no worse than some healthy run was.
    """

    problems: tuple[str, ...]
    measured: dict[str, float]
    ended_early: bool = False
    is_only_larger: bool = False
    may_be_chance: bool = False

    @property
    def is_healthy(self) -> bool:
        return not self.problems
