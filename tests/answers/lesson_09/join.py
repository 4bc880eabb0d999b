"""Right and wrong answers of exercise 09.6."""

from itertools import chain

import torch

from course_utils import zoo
from course_utils.exercises.lesson_09 import join
from course_utils.exercises.lesson_09.join import by_lists
from tests.answers import answers_of

right, wrong = answers_of(join.JOIN)


@right
def by_zip(prompt, turns):
    rows = [(token, 0, 0.0) for token in prompt]
    for tokens, reported in turns:
        for at, token in enumerate(tokens):
            rows.append((token, 0, 0.0) if reported is None else (token, 1, reported[at]))
    return tuple([row[column] for row in rows] for column in range(3))


@right
def by_chain(prompt, turns):
    pieces = [(prompt, None), *turns]
    return [
        list(chain.from_iterable(tokens for tokens, _ in pieces)),
        [int(said is not None) for tokens, said in pieces for _ in tokens],
        [value for tokens, said in pieces for value in (said or [0.0] * len(tokens))],
    ]


@wrong(caught_by=join.gives_three_lists)
def two_lists(prompt, turns):
    return by_lists(prompt, turns)[:2]


@wrong(caught_by=join.gives_three_lists)
def tensors(prompt, turns):
    return tuple(map(torch.tensor, by_lists(prompt, turns)))


@wrong(caught_by=join.gives_three_lists)
def short_logps(prompt, turns):
    ids, mask, logps = by_lists(prompt, turns)
    return ids, mask, logps[len(prompt) :]


@wrong(caught_by=join.keeps_the_ids)
def through_text(prompt, turns):
    tokenizer = zoo.load_tokenizer("tiny")
    again = lambda ids: tokenizer(tokenizer.decode(ids))["input_ids"] if ids else []  # noqa: E731
    pieces = []
    for tokens, said in turns:
        new = again(tokens)
        pieces.append((new, None if said is None else (said + [0.0] * len(new))[: len(new)]))
    return by_lists(prompt, pieces)


@wrong(caught_by=join.keeps_the_ids)
def without_end(prompt, turns):
    dropped = [
        ([t for t in tokens if t != 319], said and said[: len([t for t in tokens if t != 319])])
        for tokens, said in turns
    ]
    return by_lists(prompt, dropped)


@wrong(caught_by=join.keeps_the_ids)
def without_padding(prompt, turns):
    columns = zip(*by_lists(prompt, turns), strict=True)
    return tuple(map(list, zip(*[c for c in columns if c[0] != 317], strict=True)))


@wrong(caught_by=join.keeps_the_ids)
def last_turn_only(prompt, turns):
    return by_lists(prompt, turns[-1:])


@wrong(caught_by=join.keeps_the_ids)
def three_turns(prompt, turns):
    return by_lists(prompt, turns[:3])


@wrong(caught_by=join.keeps_the_ids)
def without_a_second_end(prompt, turns):
    rows = list(zip(*by_lists(prompt, turns), strict=True))
    one_end = [r for n, r in enumerate(rows) if n == 0 or r[0] != rows[n - 1][0] or r[0] != 319]
    return tuple(map(list, zip(*one_end, strict=True)))


@wrong(caught_by=join.keeps_the_ids)
def without_repeats(prompt, turns):
    rows = list(zip(*by_lists(prompt, turns), strict=True))
    changing = [row for n, row in enumerate(rows) if n == 0 or row[0] != rows[n - 1][0]]
    return tuple(map(list, zip(*changing, strict=True)))


@wrong(caught_by=join.marks_what_was_sampled)
def marks_where_logps_are_not_0(prompt, turns):
    ids, _, logps = by_lists(prompt, turns)
    return ids, [int(value != 0.0) for value in logps], logps


@wrong(caught_by=join.marks_what_was_sampled)
def marks_tools_too(prompt, turns):
    ids, _, logps = by_lists(prompt, turns)
    return ids, [0] * len(prompt) + [1] * (len(ids) - len(prompt)), logps


@wrong(caught_by=join.marks_what_was_sampled)
def end_is_not_marked(prompt, turns):
    ids, mask, logps = by_lists(prompt, turns)
    return ids, [m * (i != 319) for i, m in zip(ids, mask, strict=True)], logps


@wrong(caught_by=join.marks_what_was_sampled)
def last_turn_marked(prompt, turns):
    ids, mask, logps = by_lists(prompt, turns)
    last = len(turns[-1][0]) if turns else 0
    return ids, [0] * (len(ids) - last) + mask[len(ids) - last :], logps


@wrong(caught_by=join.keeps_the_logps_in_place)
def shifted_logps(prompt, turns):
    ids, mask, logps = by_lists(prompt, turns)
    return ids, mask, [*logps[1:], 0.0]


@wrong(caught_by=join.keeps_the_logps_in_place)
def logps_first(prompt, turns):
    ids, mask, logps = by_lists(prompt, turns)
    return ids, mask, logps[len(prompt) :] + [0.0] * len(prompt)


@wrong(caught_by=join.keeps_the_logps_in_place)
def zeros(prompt, turns):
    ids, mask, _ = by_lists(prompt, turns)
    return ids, mask, [0.0] * len(ids)


@wrong(caught_by=join.keeps_the_logps_in_place)
def rounded(prompt, turns):
    ids, marks, logps = by_lists(prompt, turns)
    return ids, marks, [round(logp, 4) for logp in logps]
