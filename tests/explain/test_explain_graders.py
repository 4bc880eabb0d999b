"""Verifiers that compare text, look anywhere in the reply, or fail and pay 0 for it."""

import pytest

from tests.helpers.explained import answer, first, keys


def run(rewards) -> list[str]:
    return [
        f"{{'loss': 0.0{n}1, 'grad_norm': 0.2{n % 9}, 'learning_rate': 1e-06, 'reward': {reward}, "
        f"'reward_std': 0.2, 'kl': 0.00{n % 9}}}"
        for n, reward in enumerate(rewards, 1)
    ]


FLAT = run([0.68, 0.7, 0.69, 0.71, 0.7, 0.71, 0.7, 0.71])
RISES = run([0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95])
FALLS = run([0.6, 0.62, 0.61, 0.63, 0.3, 0.2, 0.2, 0.19])
BY_TEXT = ["def score(pred, gold):", "    return float(pred.replace(' ', '') == gold.strip())"]
SPELLED = ["wrong by the reward (prediction | gold):", "\\frac{1}{2} | 0.5", "1,200 | 1200"]


@pytest.mark.parametrize(
    "lines",
    [
        [*BY_TEXT, *FLAT, *SPELLED],
        [
            "def norm(s): return s.lower().strip()",
            "def acc(p, g):",
            "    return 1.0 if norm(p.answer) == norm(g.answer) else 0.0",
            *FLAT,
            "pred: '\\dfrac{3}{4}' gold: '\\frac{3}{4}' reward 0.0",
            "pred: '15 cm' gold: '15' reward 0.0",
        ],
        [
            *BY_TEXT,
            *FLAT,
            "replies that math_verify calls equal: 1914, of those with score()==0: 873",
        ],
        [
            "def score(pred, ref):",
            "    p, r = pred.replace(' ', ''), ref.replace(' ', '')",
            "    return 1.0 if p == r else 0.0",
            *FLAT,
            "I graded 5,000 rollouts again with math_verify: it calls 1,914 right, and my score()",
            "gives 0 to 873 of those.",
        ],
        [
            "all replies with reward 0, boxed vs gold:",
            *("\\$18 vs 18", "70\\% vs 70", "x = 12 vs 12", "3.00 vs 3", "25\\% vs 25", "5 vs 7"),
            *FLAT,
        ],
    ],
)
def test_right_answers_in_another_spelling_are_told(lines):
    one = first(*lines)
    assert one.key == "right_answers_unpaid" and "math_verify" in one.fix


@pytest.mark.parametrize(
    "lines",
    [
        [*BY_TEXT, *FLAT],  # exact match may be what the task asks
        [*BY_TEXT, *FLAT, "wrong by the reward (prediction | gold):", "12 | 14", "b | c", "5 | 3"],
        [
            "def score(pred, gold):",
            "    return float(verify(parse(gold), parse(pred)))",
            *FLAT,
            *SPELLED,
        ],
        [*BY_TEXT, *FLAT, "math_verify agrees: of 1,000 replies 2 got 0 that it calls right"],
        [*BY_TEXT, *FLAT, "sympy over 500 rows of 900 agrees with 0 differences"],
        [*BY_TEXT, *FLAT, "some answers (prediction | gold):", "0.50 | 0.5", "1,200 | 1200"],
    ],
)
def test_wrong_answers_and_a_verifier_of_values_are_not_accused(lines):
    assert "right_answers_unpaid" not in keys(*lines)


ANYWHERE = ["def reward(completions, gold, **kw):", "    return [float(g in c) for c, g in both]"]
CHART = ["def compute_score(solution_str, ground_truth):", "    pred = solution_str.lower()"]
CHART += ["    return 1.0 if str(ground_truth).lower() in pred else 0.0"]
MANY = "'It is 10, 12, 14, 15, 16, 18, 20, 21, 24, 25, 28, 30, 32 or 35'"


@pytest.mark.parametrize(
    "lines",
    [
        [*ANYWHERE, *RISES, "strict test: 0.44 at the start, 0.31, now 0.12"],
        [*CHART, *RISES, "ChartQA with their own script went from 0.63 to 0.37"],
        [*CHART, *RISES, f"a typical reply: {MANY}"],
        [*CHART, *RISES, "score 1.0: 'Yes, it rises. Then again, no, it does not rise.'"],
        [
            "def check_answer(a, reply_text):",
            "    return 1.0 if reply_text.find(a) >= 0 else 0.0",
            *RISES,
            f"reply: {MANY}",
        ],
    ],
)
def test_an_answer_that_is_found_anywhere_is_told(lines):
    one = first(*lines)
    assert one.key == "reward_pays_junk" and "somewhere in the reply" in one.says
    assert "one final answer" in one.fix


@pytest.mark.parametrize(
    "lines",
    [
        [*CHART, *RISES],
        [*CHART, *RISES, "strict test: 0.44 at the start, 0.51, now 0.62"],
        [*CHART, *RISES, "test loss: 0.63 at the start, now 0.37"],
        [
            CHART[0],
            "    pred = extract_answer(solution_str)",
            CHART[2],
            *RISES,
            "test: 0.63 then 0.37",
        ],
        ["def reward(c):", "    return float('</think>' in c)", *RISES, "test: 0.63 then 0.37"],
        ["rows = [r for r in rows if r.answer in r.text]", *RISES, "test: 0.63 then 0.37"],
    ],
)
def test_an_answer_that_is_read_out_first_or_a_test_that_rises_is_not_accused(lines):
    assert "somewhere in the reply" not in " ".join(one.says for one in answer(*lines).causes)


JUDGE = [
    "def grade(prompt, reply):",
    "    try:",
    "        return float(client.chat(judge_prompt(prompt, reply), timeout=20))",
    "    except Exception:",
    "        return 0.0",
]
SANDBOX = [
    "def passes(code):",
    "    try:",
    "        done = subprocess.run(['python', '-c', code], timeout=6)",
    "    except subprocess.TimeoutExpired:",
    "        return 0.0",
]


@pytest.mark.parametrize(
    "lines",
    [
        [*JUDGE, *FALLS, "the gateway shows HTTP 429 for 60% of the requests since 3 am"],
        [*JUDGE, *FALLS, "judge_errors 0.01 at step 10, judge_errors 0.48 at step 50"],
        [*SANDBOX, *FALLS, "share of timeouts is 0.55, it was 0.02 on Monday"],
        [
            *SANDBOX[:4],
            "        proc.kill()",
            "        return False, 'timeout'",
            *FALLS,
            "timeouts: 55% of all runs, against 2% at the start",
        ],
        [*SANDBOX, *FALLS, "83 of 200 zeros pass when I run them on an idle machine"],
        [
            "out = await asyncio.gather(*jobs, return_exceptions=True)  # judge api",
            "rewards = [0.0 if isinstance(o, Exception) else o for o in out]",
            *FALLS,
            "rate limit errors: 35% of calls",
        ],
        [
            *SANDBOX,
            *(
                f"step {n} reward 0.{5 - n // 2} timeout_frac 0.{n}1 kl 0.00{n} grad_norm 0.3"
                for n in range(7)
            ),
        ],
    ],
)
def test_failures_of_the_grader_that_are_paid_as_wrong_replies_are_told(lines):
    one = first(*lines)
    assert one.key == "grader_fails" and "None" in one.fix and "share of failures" in one.fix


@pytest.mark.parametrize(
    "lines",
    [
        [*JUDGE, *FALLS],
        [*JUDGE, *FALLS, "429 for 0.5% of the requests, which is nothing"],
        [*JUDGE, *FALLS, "no 429 and no rate limit, 40% of the quota is free"],
        [*JUDGE[:4], "        return None", *FALLS, "HTTP 429 for 60% of the requests"],
        [*SANDBOX, *FALLS, "share of timeouts is 0.12, it was 0.11 on Monday"],
        [
            "    try: return float(reply)",
            "    except ValueError:",
            "        return 0.0",
            *FALLS,
            "429 for 60%",
        ],
    ],
)
def test_rare_failures_and_those_that_are_left_out_are_not_accused(lines):
    assert "grader_fails" not in keys(*lines)
