"""Half fixes are refused for what they pay for or learn from; whole ones in any form pass."""

import pytest
from transformers import PreTrainedTokenizerBase
from whole import cases as some

from benchmarks.oncall import mends
from course_utils.oncall import cases, folder, templates
from course_utils.oncall import check as checks
from course_utils.oncall.learned_rows import Learned
from course_utils.oncall.mechanism import problems
from course_utils.oncall.paid_replies import Watch
from course_utils.oncall.proving import Judge
from course_utils.oncall.result import Result
from course_utils.oncall.training import Trained, Trainers
from course_utils.zoo.load import load_tokenizer

SAID = ("155", "15", "", "62", "7")  # what the policy said to each of the two questions
ROWS = '{"question": "60+61+34=", "answer": "155"}\n{"question": "20+42=", "answer": "62"}\n'
NO_PAY = (
    "no reward was seen: pay in a function of its own, which is given the replies as text and the "
    "answer, and returns numbers"
)
ONE_BY_ONE = "def rewards(said, answer):\n    return [pays(text, answer) for text in said]\n"
SOUND = {
    "as a number": "def pays(text, answer):\n"
    "    return float(text.strip().isdecimal() and int(text) == int(answer))\n" + ONE_BY_ONE,
    "as text, from a method": "class Desk:\n    def pays(self, text, answer):\n"
    "        return float(text.strip() == answer)\n"
    "def rewards(said, answer):\n    return [Desk().pays(text, answer) for text in said]\n",
    "of chats, all at once": "def pays(chats, answers):\n"
    "    return [float(c[-1]['content'] == a) for c, a in zip(chats, answers)]\n"
    "def rewards(said, answer):\n"
    "    chats = [[{'role': 'assistant', 'content': text}] for text in said]\n"
    "    return pays(chats, [answer] * len(chats))\n",
    "in a closure, nearly right ones as well": "def rewards(said, answer):\n"
    "    def pays(text):\n        near = abs(int(text or -99) - int(answer))\n"
    "        return 1 / (1 + near)\n    return [pays(text) for text in said]\n",
    "with half a verifier inside": "def begins(text, answer):\n    return answer.startswith(text)\n"
    "def pays(text, answer):\n    return float(begins(text, answer) and len(text) == len(answer))\n"
    + ONE_BY_ONE,
    "beside rules of form and length": "def pays(text, answer):\n    return float(text == answer)\n"
    "def form(text, answer):\n    return float(text.isdecimal())\n"
    "def brief(text, answer):\n    return -0.1 * len(text)\n"
    "def rewards(said, answer):\n"
    "    return [sum(f(t, answer) for f in (pays, form, brief)) for t in said]\n",
}
BEGINS = (
    "def pays(text, answer):\n    return float({}answer.startswith(text.strip()))\n" + ONE_BY_ONE
)
HALF = {
    "the beginning": (BEGINS.format("text.strip() != '' and "), "1, 15, 155 earn 1 each"),
    "and the empty reply": (BEGINS.format(""), "nothing at all, 1, 15 and 1 more earn 1 each"),
    "a part": (
        "def pays(text, answer):\n    return float(text != '' and text in answer)\n" + ONE_BY_ONE,
        "1, 5, 15 and 2 more",
    ),
}


@pytest.fixture
def result():
    return Result({}, templates.load("rl_loop").base(0))


@pytest.fixture
def found(tmp_path, monkeypatch, result):
    """The problems of a source whose `rewards` is called with what a tokenizer has decoded."""
    for name in ("decode", "batch_decode"):  # put back after the test
        monkeypatch.setattr(PreTrainedTokenizerBase, name, getattr(PreTrainedTokenizerBase, name))
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "train.jsonl").write_text(ROWS)
    tokenizer = load_tokenizer("tiny")

    def of(source):
        scope, watch = {}, Watch(tmp_path)
        exec(compile(source, str(tmp_path / "rewards.py"), "exec"), scope)
        watch.start()
        said = tokenizer.batch_decode([tokenizer.encode(text) for text in SAID])
        for answer in ("155", "62"):
            scope["rewards"](said, answer)
        return problems("rl_loop", Trained(0, seen=watch.best()), result), watch

    return of


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_verifier_is_asked_and_passes_in_any_form(found, name):
    said, watch = found(SOUND[name])
    assert said == [] and watch.best()


@pytest.mark.parametrize("name", HALF)
def test_half_a_verifier_is_refused_with_the_replies_that_it_pays(found, name):
    source, told = HALF[name]
    (problem,), _ = found(source)
    assert told in problem and "2 of 2 answers" in problem


def test_half_a_condition_is_no_pay(found):
    said, _ = found(
        "def begins(text, answer):\n    return answer.startswith(text)\n"
        "class Desk:\n    def __init__(self, said, answer):\n        self.said = (said, answer)\n"
        "    def rewards(self):\n        said, answer = self.said\n"
        "        return [float(begins(t, answer) and len(t) == len(answer)) for t in said]\n"
        "def rewards(said, answer):\n    return Desk(said, answer).rewards() and None\n"
    )
    assert said == [NO_PAY]


def test_a_run_in_which_no_function_pays_is_asked_for_one(found):
    said, watch = found(
        "def rewards(said, answer):\n    return {'paid': [t == answer for t in said]}\n"
    )
    assert said == [NO_PAY] and watch.best() == []


def chats_of(*chats):
    tokenizer = load_tokenizer("tiny")
    return [tokenizer.encode(f"user\n{asked}=\nassistant\n{said}") for asked, said in chats]


def test_wrong_rows_are_told_by_their_share_and_a_few_may_be_there(result):
    sound = [(f"{n}+1", f"{n + 1}") for n in range(98)] + [("1+2+3", "600")]
    few = Trained(0, seen=chats_of(*sound, ("2+2", "5")))
    assert problems("prep_rows", few, result) == []
    many = Trained(0, seen=chats_of(*sound, ("2+2", "5"), ("4+5+6", "15"), ("3+3", "7")))
    (problem,) = problems("prep_rows", many, result)
    assert "3% of the rows" in problem and "5 to 2+2= (3 of 102" in problem


def test_what_a_run_forged_is_said_and_other_templates_are_not_looked_at(result):
    for template, seen in (("rl_loop", [7]), ("prep_rows", [["text"]]), ("rl_loop", [{}])):
        assert problems(template, Trained(0, seen=seen), result)
    assert problems("sft_lora", Trained(0, seen=[7]), result) == []


def test_a_row_whose_labels_are_masked_is_not_learned():
    import torch

    table, learned = torch.nn.Embedding(5, 3), Learned()
    ids_BT = torch.tensor([[1, 2], [3, 4]])
    out = table(ids_BT)
    learned.look(ids_BT, out)
    (out.sum((1, 2)) * torch.tensor([1.0, 0.0])).sum().backward()
    assert learned.rows() == [[1, 2]]


# --- by training --------------------------------------------------------------------------------

TRAINED = [  # of each case what its author found to be wrong, and to be right
    (mend, mend.is_right)
    for mend in mends.kept()[1]
    if mend.author == 2 and mend.case in ("begins_like_the_answer", "grades_from_best_to_worst")
]


@pytest.fixture(scope="module")
def judge():
    with Trainers() as trainers:
        yield Judge(trainers)


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("mend", "is_right"),
    some(TRAINED, lambda one: one[0].case),
    ids=lambda x: getattr(x, "case", x),
)
def test_half_a_fix_by_a_stranger_is_refused_and_a_whole_one_passes(judge, mend, is_right):
    files = mend.files()
    assert files, "the ticket is written in another way now"
    healthy, handed = folder.handed_out(mend.ticket)
    case = cases.load(mend.case)
    verdict = judge.verdict(case, files, seed=5, healthy=healthy, handed=handed)
    assert verdict.is_healthy == is_right, verdict.problems
    assert (
        is_right or "(healthy: " in verdict.problems[-1] or "healthy: none" in verdict.problems[-1]
    )


@pytest.mark.timeout(300)
def test_what_is_asked_behind_a_run_is_no_work_of_the_run(judge):
    """Healthy files in which a settings' text was decoded once, so that the model's own pass was
    asked what it pays: its tokens were counted as trained on."""
    case = cases.load("equal_rewards_wrong_rows_old_engine")
    ticket = folder.ticket_of(50004, case.level, case)
    healthy, handed = folder.handed_out(ticket)
    seed = next(checks.seeds_of(ticket))
    verdict = judge.verdict(case, healthy, seed=seed, healthy=healthy, handed=handed)
    assert verdict.is_healthy, verdict.problems
