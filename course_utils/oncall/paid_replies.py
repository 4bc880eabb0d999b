"""Finds the functions of a run that pay for replies, and asks them what they pay for others.

It runs inside the box. A function pays for replies when it was called with a text that the run had
decoded, returns numbers, and pays other replies best for other questions; a rule about the form or
the length of a reply pays the same ones for all. It never looks at names.
"""

import contextlib
import inspect
import json
import re
import sys
import time
import types
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

REPLIES = ("", *map(str, range(300)))  # saying nothing, and every sum of three numbers below 100
MOST_CALLS, MOST_ANSWERS = 4096, 32
MOST_S = 5.0  # of CPU: what takes longer does more than pay, and is not asked on
NO_FUNCTION = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


@dataclass
class Function:
    """A function of the folder that was called with replies.

    Attributes:
        callers: the code of all that stood above a call, once for each such set.
        calls: the arguments of each call, by name, with those of its closure.
        scope: its globals.
    """

    code: types.CodeType
    scope: dict
    callers: set[frozenset[types.CodeType]] = field(default_factory=set)
    calls: list[dict] = field(default_factory=list)

    def __call__(self, values: dict) -> object:
        code = self.code
        cells = tuple(types.CellType(values[name]) for name in code.co_freevars)
        function = types.FunctionType(code, self.scope, code.co_name, None, cells)
        positional, named, rest, others = _argument_names(code)
        keywords = {name: values[name] for name in named}
        more, kept = (values.get(name) for name in (rest, others))
        return function(
            *(values[name] for name in positional), *(more or ()), **keywords, **(kept or {})
        )


def _argument_names(code: types.CodeType) -> tuple:
    """Positional names, names of keywords alone, and those of *rest and **others, "" if none."""
    names, num = code.co_varnames, code.co_argcount
    behind = num + code.co_kwonlyargcount
    has_rest = bool(code.co_flags & inspect.CO_VARARGS)
    has_others = bool(code.co_flags & inspect.CO_VARKEYWORDS)
    rest = names[behind] if has_rest else ""
    others = names[behind + has_rest] if has_others else ""
    return names[:num], names[num:behind], rest, others


class Watch:
    """Remembers decoded texts, and calls with them, from the decoding to the optimizer's step.

    Args:
        folder: of the run; only functions that stand there are remembered.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._is_on, self.is_asking = str(folder), False, False
        self._decoded: set[str] = set()
        self._functions: dict[types.CodeType, Function] = {}
        self._given = _texts_of(folder)

    def start(self) -> None:
        """Look on at what every tokenizer decodes."""
        from transformers import PreTrainedTokenizerBase

        for name in ("decode", "batch_decode"):
            own = getattr(PreTrainedTokenizerBase, name)

            def looked_on(*args: object, _own: Callable = own, **settings: object) -> object:
                texts = _own(*args, **settings)
                self._decoded.update([texts] if isinstance(texts, str) else texts)
                self._is_on = True
                self.go_on()
                return texts

            setattr(PreTrainedTokenizerBase, name, looked_on)

    def go_on(self) -> None:
        """A forward pass is over."""
        if self._is_on:
            sys.setprofile(self._called)

    def pause(self) -> None:
        """A forward pass begins: it calls thousands of functions, and none of them pays."""
        sys.setprofile(None)

    def stepped(self) -> None:
        self._is_on = False
        sys.setprofile(None)

    def _called(self, frame: types.FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call" or not self._is_own(code) or code.co_flags & NO_FUNCTION:
            return
        known = self._functions.setdefault(code, Function(code, frame.f_globals))
        values = dict(frame.f_locals)
        with contextlib.suppress(RecursionError):  # a list that holds itself
            if len(known.calls) < MOST_CALLS and any(map(self._is_decoded, _leaves(values))):
                known.calls.append(values)
                known.callers.add(frozenset(_callers(frame)))

    def _is_own(self, code: types.CodeType) -> bool:
        where = code.co_filename
        is_function = not code.co_name.startswith("<") or code.co_name == "<lambda>"
        return is_function and (where == "train.py" or where.startswith(self._folder))

    def _is_decoded(self, text: object) -> bool:
        return isinstance(text, str) and text in self._decoded

    def best(self) -> list[dict]:
        """For each answer asked for, the replies that are paid most, and how much that is.

        Behind these stand the places of each function that pays, or rewards a form. Of
        functions that call each other the outermost is asked; empty where none was found.
        """
        self.stepped()
        self.is_asking = True
        paying, scoring, until = {}, set(), time.process_time() + MOST_S
        for code, function in self._functions.items():
            if not (asked := list(self._asked(function, until))):
                continue
            scoring.add(code)
            found = [one for number, one in enumerate(asked) if one not in asked[:number]]
            if len({tuple(one["replies"]) for one in found if one}) > 1:
                paying[code] = [one for one in found if one][:MOST_ANSWERS]
        best = [one for code in self._outermost(paying) for one in paying[code]]
        return best + [self._place(code) for code in self._outermost(scoring)]

    def _outermost(self, codes: Collection[types.CodeType]) -> list[types.CodeType]:
        """Those of which some call came from none of the others."""
        return [
            one
            for one in codes
            if any(not above & ({*codes} - {one}) for above in self._functions[one].callers)
        ]

    def _place(self, code: types.CodeType) -> dict:
        file, line = code.co_filename.removeprefix(f"{self._folder}/"), code.co_firstlineno
        columns = [at[2] for at in code.co_positions() if at[0] == line and at[2]]
        column = min(columns, default=0) if code.co_name == "<lambda>" else -1
        return {"file": file, "line": line, "column": column}

    def _asked(self, function: Function, until: float) -> Iterator[dict | None]:
        """What is paid best in calls from all over the run, where not all earn the same."""
        names = self._reply_names(function)
        every = max(1, len(function.calls) // MOST_ANSWERS)
        for values in function.calls[::every] if names else ():
            paid = []
            for reply in REPLIES:
                if time.process_time() > until:
                    return
                paid.append(self._paid(function, values, names, reply))
            width = max(map(len, paid))
            nothing = [float("-inf")] * width  # it raised an error at this reply
            for by_reply in zip(*(one or nothing for one in paid), strict=True):
                if len({*by_reply}) > 1:
                    yield _best(by_reply)

    def _reply_names(self, function: Function) -> set[str]:
        """The arguments that hold replies: a text there was decoded, and stands in no row."""
        return {
            name
            for values in function.calls
            for name, value in values.items()
            if any(self._is_decoded(text) and text not in self._given for text in _leaves(value))
        }

    def _paid(self, function: Function, values: dict, names: set[str], reply: str) -> list:
        changed = {
            name: self._replaced(value, reply) if name in names else value
            for name, value in values.items()
        }
        try:
            return _numbers(function(changed))
        except (Exception, SystemExit):
            return []

    def _replaced(self, value: object, reply: str) -> object:
        if isinstance(value, dict):
            return {key: self._replaced(one, reply) for key, one in value.items()}
        if isinstance(value, list | tuple):
            return [self._replaced(one, reply) for one in value]
        return reply if self._is_decoded(value) else value


def _texts_of(folder: Path) -> set[str]:
    """Every text of the rows, and every whole number in one."""
    texts: set[str] = set()
    for path in folder.glob("data/*.jsonl"):
        for line in path.read_text(encoding="utf-8").splitlines():
            with contextlib.suppress(ValueError):
                for leaf in _leaves(json.loads(line)):
                    texts |= {str(leaf), *re.findall(r"\d+", str(leaf))}
    return texts


def _leaves(value: object) -> Iterator[object]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for one in value:
            yield from _leaves(one)
    else:
        yield value


def _callers(frame: types.FrameType) -> Iterator[types.CodeType]:
    while frame := frame.f_back:
        yield frame.f_code


def _numbers(value: object) -> list[float]:
    """What a function returned as numbers, one a reply; empty where it is something else.

    Yes or no is a condition and no pay: who asks it may ask for more before anything is paid.
    """
    value = value.tolist() if hasattr(value, "tolist") else value  # a tensor, an array
    values = value if isinstance(value, list | tuple) else [value]
    is_numbers = all(isinstance(one, int | float) and not isinstance(one, bool) for one in values)
    return [float(one) for one in values] if is_numbers else []


def _best(paid: tuple[float, ...]) -> dict | None:
    """The replies with the most pay; None where that is more than half of them."""
    most = max(paid)
    replies = [reply for reply, one in zip(REPLIES, paid, strict=True) if one == most]
    return {"replies": replies, "paid": most} if len(replies) <= len(REPLIES) / 2 else None
