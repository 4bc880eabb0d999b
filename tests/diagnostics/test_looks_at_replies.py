"""Looks at replies: bans of generation settings, rewards for lists, ends that are not seen."""

import random
from itertools import chain
from types import SimpleNamespace

import pytest
import torch
from datasets import Dataset
from diagnosed_runs import grpo, sft

from course_utils import zoo
from course_utils.diagnostics import diagnose
from course_utils.diagnostics.diagnosis.judges.dropped_tags import hint_dropped_tags
from course_utils.diagnostics.diagnosis.judges.unended import judge_unended
from course_utils.diagnostics.diagnosis.sheet.finding import Sheet
from course_utils.diagnostics.diagnosis.watches.answers import Answers
from course_utils.diagnostics.diagnosis.watches.contradictions import Contradictions
from course_utils.diagnostics.diagnosis.watches.listing import Listing


def keys(report) -> list[str]:
    return [one.key for one in report.causes]


def with_ban(reply: str, is_document: bool = False, **ban):
    """SFT on one reply, of a model whose generation settings hold a ban."""
    model = zoo.load_policy("tiny", device="cpu")
    vars(model.generation_config).update(ban)
    row = {"prompt": "1 + 2 =", "completion": reply}
    rows = [{"text": f"1 + 2 = {reply}"}] if is_document else [row]
    return diagnose(sft(model, Dataset.from_list(rows * 8)))


@pytest.mark.parametrize(
    ("reply", "more", "is_wrong"),
    [
        (" 3 + 4 + 3 + 4", dict(no_repeat_ngram_size=3), True),
        (" 3 + 4 + 3 + 4", dict(no_repeat_ngram_size=0), False),
        (" 3 + 4 + 3 + 4", dict(no_repeat_ngram_size=3, is_document=True), False),
        (" 345", dict(no_repeat_ngram_size=3), False),
    ],
)
def test_a_ban_of_what_the_replies_hold_is_named(reply, more, is_wrong):
    report = with_ban(reply, **more)
    assert ("generation_forbids" in keys(report)) == is_wrong
    assert not is_wrong or "no_repeat_ngram_size = 0" in report.fix


@pytest.mark.parametrize("size", [0, 3])
def test_a_policy_that_samples_under_a_ban_draws_from_another_distribution(size):
    trainer = grpo()
    trainer.generation_config.no_repeat_ngram_size = size
    assert ("logp_disagree" in keys(diagnose(trainer))) == (size > 0)


# --- a reward for lists ---------------------------------------------------------------------------

TEAMS = ("legal", "login", "billing")
SAID = ["legal", "login", "billing", "legal login", "login legal", "billing legal login"] * 2


def contains(reply: str, answer: str) -> float:
    return float(answer in reply)


def equals(reply: str, answer: str) -> float:
    return float(reply == answer)


def is_last(reply: str, answer: str) -> float:
    return float(reply.split()[-1] == answer)


def points_for_the_first(text: str, team: str) -> float:
    """A thousand for every reply, and 50 where the answer stands first."""
    return 1000.0 + 50.0 * (text.split()[:1] == [team])


@pytest.mark.parametrize(
    ("reward", "is_wrong"),
    [(contains, True), (equals, False), (is_last, False), (points_for_the_first, False)],
)
def test_a_reward_that_every_list_earns_is_named(reward, is_wrong):
    listing, sheet = Listing(), Sheet()
    asked = [(team, text) for team in TEAMS for text in SAID]
    rows = [{"prompt": "which team?", "team": team} for team, _ in asked]
    listing.read(
        rows, lambda: [text for _, text in asked], [reward(text, team) for team, text in asked]
    )
    listing.judge(SimpleNamespace(reward_funcs=[reward]), sheet)
    assert [one.key for one in sheet.found] == ["reward_pays_junk"] * is_wrong
    assert not is_wrong or sheet.found[0].place == "contains"


def test_a_sum_that_is_worked_out_is_no_list_of_answers():
    listing, sheet = Listing(), Sheet()
    rows = [{"prompt": "?", "answer": str(n)} for n in (3, 9, 12)] * 4
    texts = ["9 - 6 = 3", "3 + 6 = 9", "3 + 9 = 12"] * 4
    listing.read(rows, lambda: texts, [1.0] * len(texts))
    listing.judge(SimpleNamespace(reward_funcs=[contains]), sheet)
    assert not sheet.found


def in_reply(completions, answer, **_) -> list[float]:
    texts = [one if isinstance(one, str) else one[0]["content"] for one in completions]
    return [float(str(a) in text.split()) for text, a in zip(texts, answer, strict=True)]


def test_asked_the_reward_for_a_list_is_found_before_training():
    report = diagnose(grpo(in_reply), probe_rewards=True)
    assert keys(report)[:1] == ["reward_pays_junk"]


# --- tags that a reward does not get --------------------------------------------------------------


@pytest.mark.parametrize(
    ("is_special", "written", "rewards", "is_named"),
    [
        (True, 1.0, [0.0, 0.0], True),
        (False, 1.0, [0.0, 0.0], False),
        (True, 0.25, [0.0, 0.0], True),  # a policy that earns nothing by it seldom writes it
        (True, 0.0, [0.0, 0.0], False),
        (True, 1.0, [0.0, 1.0], False),  # some replies earn more
    ],
)
def test_special_tokens_that_a_reward_does_not_get_are_told_where_all_earn_the_same(
    is_special, written, rewards, is_named
):
    tokenizer = zoo.load_tokenizer("tiny")
    tokenizer.add_tokens(["<ans>"], special_tokens=is_special)
    tag, end, sheet = tokenizer.convert_tokens_to_ids("<ans>"), tokenizer.eos_token_id, Sheet()
    plain = tokenizer("7")["input_ids"][:1]
    rows = [[tag if at < 4 * written else plain[0], *plain, end] for at in range(4)]
    ids = torch.tensor(rows)
    trainer = SimpleNamespace(processing_class=tokenizer, reward_funcs=[contains])
    trainer.model, trainer.generation_config = None, SimpleNamespace(eos_token_id=end)
    listing = Listing(least=min(rewards), most=max(rewards))
    last = {"completion_ids": ids, "completion_mask": torch.ones_like(ids)}
    hint_dropped_tags(trainer, SimpleNamespace(last=last, listing=listing), sheet)
    assert ("no_signal" in sheet.hints) == is_named
    assert not is_named or "contains gives 0 to every reply" in sheet.hints["no_signal"][0]
    assert not is_named or "'<ans>'" in sheet.hints["no_signal"][0]


# --- ends that are not seen -----------------------------------------------------------------------

WORDS = {5: "7", 6: "<|end|>", 7: "<pad>", 8: "<eos>"}


def unended(*rows: list[int], cut: float = 1.0, masks: bool = False) -> Sheet:
    """What is judged of replies whose generation waits for <eos>."""
    tokenizer = SimpleNamespace(
        pad_token_id=7,
        eos_token_id=8,
        convert_ids_to_tokens=lambda one: WORDS[one],
    )
    trainer = SimpleNamespace(
        processing_class=tokenizer,
        model=None,
        generation_config=SimpleNamespace(eos_token_id=8),
        mask_truncated_completions=masks,
    )
    numbers = [SimpleNamespace(share_truncated=cut)]
    replies = SimpleNamespace(numbers=numbers, last={"completion_ids": torch.tensor(rows)})
    sheet = Sheet()
    judge_unended(trainer, replies, sheet)
    return sheet


@pytest.mark.parametrize("masks", [True, False])
def test_a_mark_after_which_every_reply_goes_on_is_named_as_its_end(masks):
    [found] = unended([5, 6, 5, 6], [5, 6, 6, 5], masks=masks).found
    assert found.key == "ends_unseen" and "'<|end|>' and go on" in found.said[0]
    assert ("mask_truncated_completions" in found.why) == masks and "(id 6)" in found.advice


def test_replies_that_end_or_hold_no_mark_are_not_accused():
    assert not unended([5, 6, 5, 6], [5, 6, 6, 5], cut=0.5).found  # half of them end
    assert not unended([5, 5, 5, 5], [5, 5, 5, 5]).found  # long, and no mark in them
    assert not unended([5, 6, 5, 5], [5, 5, 5, 5], [5, 5, 5, 5]).found  # in one reply alone
    assert not unended([5, 7, 8, 5], [5, 7, 7, 8]).found  # padding and the end itself


# --- a reward that reads another row's answer -------------------------------------------------


@pytest.mark.parametrize("is_own", [True, False])
def test_a_reward_that_reads_the_first_rows_answer_is_named(is_own):
    counts, sheet = Answers(), Sheet()
    trainer = SimpleNamespace(reward_funcs=[contains], reward_func_names=["right"])
    for at in range(4):
        drawn = random.Random(at)
        answers, said = drawn.choices(TEAMS, k=16), drawn.choices(TEAMS, k=16)
        rows = [{"prompt": "?", "answer": answer} for answer in answers]
        paid = answers if is_own else [answers[0]] * 16
        rewards = [float(a == b) for a, b in zip(said, paid, strict=True)]
        trainer._logs = {"rewards": {"right": rewards}}
        counts.read(rows, lambda said=said: said, trainer)
    counts.judge(trainer, sheet)
    assert [one.key for one in sheet.found] == ["reward_of_other_row"] * (not is_own)


@pytest.mark.parametrize("is_own", [True, False])
def test_replies_to_one_row_decide_whether_a_reward_follows_its_answer(is_own):
    """Rows that are answered well are those of another row whose answers are paid more often."""
    counts, sheet = Answers(), Sheet()
    trainer = SimpleNamespace(reward_funcs=[contains], reward_func_names=["right"])
    for at in range(32):
        drawn = random.Random(at)
        answers = [TEAMS[(at + i) % len(TEAMS)] for i in range(2)]
        rows = [{"prompt": f"{at} {one}?", "answer": one} for one in answers for _ in range(16)]
        right, paid = [0.75] * 16 + [0.25] * 16, [0.6] * 16 + [0.4] * 16
        holds = [drawn.random() < one for one in right]
        said = [answers[i // 16] if own else answers[1 - i // 16] for i, own in enumerate(holds)]
        luck = [float(drawn.random() < one) for one in paid]
        rewards = [
            0.1 * own + 0.9 * one if is_own else one for own, one in zip(holds, luck, strict=True)
        ]
        trainer._logs = {"rewards": {"right": rewards}}
        counts.read(rows, lambda said=said: said, trainer)
    counts.judge(trainer, sheet)
    assert [one.key for one in sheet.found] == ["reward_of_other_row"] * (not is_own)


def test_a_reward_that_every_reply_earns_without_its_answer_is_said_to_read_something_else():
    counts, sheet = Answers(), Sheet()
    trainer = SimpleNamespace(reward_funcs=[contains], reward_func_names=["right"])
    trainer._logs = {"rewards": {"right": [1.0] * 16}}
    rows = [{"prompt": "?", "answer": TEAMS[at % len(TEAMS)]} for at in range(16)]
    counts.read(rows, lambda: ["nothing of that"] * 16, trainer)
    counts.hint(trainer, sheet)
    assert "16 of 16 that do not hold" in sheet.hints["no_signal"][0]


# --- a reward that looks its answer up by another row ------------------------------------------


def paid_by(rows: list[dict], earned: list[list[float]], said: str = "moo") -> list[str]:
    """Four groups of two replies, each to one row; what is found in their rewards."""
    counts, sheet = Contradictions(), Sheet()
    repeated = [row for row in rows for _ in range(2)]
    counts.read(repeated, lambda: [said] * len(repeated), [*chain(*earned)], 2)
    counts.judge(SimpleNamespace(reward_funcs=[contains], reward_func_names=["right"]), sheet)
    return [one.key for one in sheet.found]


ASKED = [f"the cow of farm {number} says" for number in range(8) for _ in range(2)]


@pytest.mark.parametrize(
    ("column", "earned", "is_named"),
    [
        (range(16), [[0.0, 0.0], [1.0, 1.0]] * 8, True),
        (range(16), [[1.0, 1.0], [1.0, 1.0]] * 8, False),
        (range(16), [[0.0, 1.0], [1.0, 0.0]] * 8, False),  # chance, or the group decides
        (["moo", "baa"] * 8, [[1.0, 1.0], [0.0, 0.0]] * 8, False),  # another answer is asked for
        ([f"sound {n}" for n in range(16)], [[1.0, 1.0], [0.0, 0.0]] * 8, False),
        ([3, 4] * 8, [[1.0, 1.0], [0.0, 0.0]] * 8, False),
    ],
)
def test_a_reward_that_contradicts_itself_between_rows_is_that_of_another_row(
    column, earned, is_named
):
    rows = [{"prompt": p, "key": key} for p, key in zip(ASKED, column, strict=True)]
    assert paid_by(rows, earned) == ["reward_of_other_row"] * is_named
