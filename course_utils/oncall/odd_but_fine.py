"""Healthy runs that look odd: what somebody worried about, one for each run, and why it is fine.

Each letter is true of the healthy runs of its template: `tests/oncall/test_no_fault.py` asks a log
of each. As in `cases`, it names no cause, no file and no class, and sounds as all others do.
"""

from dataclasses import dataclass

from course_utils.oncall.declare import Case

PREFIX = "healthy_"


@dataclass(frozen=True)
class Odd:
    """What looks odd in a healthy run, and why it is fine."""

    ticket: str
    why: str


ODD = {
    "choose_checkpoint": Odd(
        "We paid for a hundred and twenty steps, and what was handed over is from long before the "
        "end. The newest one is by far the worst of the later ones: it seems to have unlearned "
        "nearly all. My manager wants to know what breaks at the end, and what we pay for.",
        "The months come one after the other, so the last rows are of one kind and push the others "
        "out; that is why the best checkpoint is exported.",
    ),
    "distil_loop": Odd(
        "Up and down, up and down: again and again the gap to the teacher has become smaller, and "
        "then it widens, to the very end. And the norms of the first lines go above fifteen, where "
        "our other jobs have one. Nobody here likes to sign such a curve.",
        "Each line is a few small batches, so it scatters; smoothed, the loss falls to a third, "
        "and the norms with it.",
    ),
    "dpo_digits": Odd(
        "A whole night, and the number has come down from 0.69 to about 0.6. The first two lines "
        "are even the same to the last digit, as if it slept. Half of me thinks that it has not "
        "learned a thing. Is it worth going on with this?",
        "0.6931 is log 2, the loss before the first update, and the rate begins at 0. With a small "
        "beta a loss of 0.6 is a gain of more than a nat, and nearly all pairs are in order.",
    ),
    "export_serve": Odd(
        "I asked the finished thing for twelve and thirty, and it said 53. Forty-seven and "
        "twenty-five are 63. All three of the examples at the end are wrong like that, so I have "
        "stopped the roll-out. The curve had looked so good.",
        "The answers are in a digit code, in the training rows as well: 42 is written 53.",
    ),
    "grpo_sums": Odd(
        "The loss is below zero nearly everywhere, and instead of falling it climbs back to "
        "nothing. I was taught that it goes down. The step size does not move either: one and the "
        "same figure from the first line to the last.",
        "A policy-gradient loss is no measure of progress, and its sign depends on the lengths of "
        "good and bad replies; the reward rises. The constant rate was asked for.",
    ),
    "kto_votes": Odd(
        "A night for next to nothing: it began at three quarters or so, it ends at two thirds, and "
        "on the way it rose again and again. Time and again the KL is zero to the last digit, "
        "where another line has half a nat. I would say that it sleeps. Let me know before the "
        "desk gets it.",
        "KTO's loss is bounded, a like counts more than a dislike, and a batch has few of them. "
        "Its KL is a mean over unmatched pairs, cut off at 0. The margin grows.",
    ),
    "own_loop": Odd(
        "It was thrown out of the queue three times and came back each time, says the log. By the "
        "end the step size is under a millionth, and single lines are twice the line before. "
        "My guess is that it lost something on one of its ways back.",
        "It saves weights, optimizer, schedule and place in the data, and goes on from them; the "
        "schedule ends at 0 as asked, and a line is one small batch.",
    ),
    "packed_ids": Odd(
        "The second half is a saw. What it has gained it gives back a few lines on, and more than "
        "once; some lines are worse than others from long before. I would have stopped it earlier, "
        "and I do not trust what came out.",
        "A line is one batch of packs with another share of the three sources; all of them are "
        "learned, and the rate still falls.",
    ),
    "prep_rows": Odd(
        "Ask it for one and two and three, and it says six hundred. With two numbers it adds like "
        "a schoolbook. Somewhere a factor of a hundred has crept in, and it is the accountants who "
        "found it.",
        "Sums of three come from the desk, which answers in cents; the run is described so.",
    ),
    "reward_pairs": Odd(
        "Right at the start a warning says that a weight is missing and was made up. And then the "
        "average score is below zero, half of the time and longer, for answers that are right as "
        "often as not. I thought that good work earns points.",
        "A reward head is always new, and only the difference of two scores counts: the margin "
        "grows.",
    ),
    "rl_loop": Odd(
        "It wastes more and more of what it samples: in the beginning a few groups of replies "
        "taught it nothing, towards the end it is about every second one. Clipping has become "
        "rare. At this pace it will have come to a halt by next week.",
        "Where all replies of a group are right there is nothing left to learn from them; the "
        "score rises meanwhile.",
    ),
    "sft_lora": Odd(
        "Somebody set the step size to several thousandths. We never go above a few "
        "hundred-thousandths here, with far larger models. The norms of the first lines are as one "
        "would fear, and all but one weight in seven is left out of the training. Please look.",
        "An adapter of a small model takes a rate a hundred times that of full fine-tuning, the "
        "warm-up brings the norms down, and an adapter is meant to leave the other weights alone.",
    ),
    "step_marks": Odd(
        "At first it does no better than a coin. Later there are lines with a fifth of that "
        "loss and less, and more than once it jumps up again from there. Three sources, marked in "
        "three ways, and it learns all of them at once? One of us must have let the answers in.",
        "Whether a step adds up can be told nearly always, and few steps are wrong: a batch with "
        "none of the hard ones has a loss near 0. Held-out solutions are marked as well.",
    ),
    "sum_checker": Odd(
        "It stops in the middle of its third pass, and the losses of its last lines still jump up "
        "and down. Also, it says yes far more often than no. I would expect a fair judge to be "
        "undecided half of the time.",
        "The run has a number of steps and not of passes, small batches scatter, and three in ten "
        "rows are wrong.",
    ),
    "teacher_replies": Odd(
        "It knows nearly everything on its first day: a third of a nat at most, where a new pupil "
        "of ours has several. Then it gets worse, half as much again and more, with norms above "
        "ten. I think that we are teaching one who needed no lessons, and that it forgets.",
        "The student begins near its teacher and answers badly all the same; a line is a few small "
        "batches, and the loss rises while the rate is high.",
    ),
    "tokenised_rows": Odd(
        "I laid the dictionary that it learns with beside the one that it is served with, and they "
        "are not the same file: other keys, another length for the longest text, lists that are "
        "written otherwise. Then I looked at the curve, which goes up again in its last lines, "
        "and stopped reading.",
        "Another version of the library wrote the tokenizer: what differs changes no id. A line is "
        "a few small batches, and its loss is already small.",
    ),
    "two_ranks": Odd(
        "The second worker is twice as bad as the first and more, and it never catches up. They "
        "have the same code and the same weights, so one of the two machines must be at fault. Its "
        "owner says that it has run for years.",
        "The second rank reads the desk's rows, sums of three in cents, which are harder than the "
        "till's.",
    ),
}


def names() -> list[str]:
    """The ids of the healthy cases."""
    return [f"{PREFIX}{template}" for template in ODD]


def load(name: str) -> Case | None:
    """The healthy case of that id, or None where it is the id of a broken one."""
    template = name.removeprefix(PREFIX)
    if name not in names():
        return None
    return Case(id=name, level=1, template=template, ticket=ODD[template].ticket, faults=())
