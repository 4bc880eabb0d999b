"""Evaluations that are not what they say: rows, ranks, numbers and the choice of the best."""

import pytest

from tests.helpers.explained import first, key


def judged(name: str, *values: float) -> list[str]:
    rows = []
    for n, value in enumerate(values, start=1):
        rows.append(f"{{'loss': {2 - n / 9:.3f}, 'learning_rate': 1e-05, 'epoch': {n}.0}}")
        rows.append(f"{{'eval_loss': {2.1 - n / 12:.3f}, 'eval_{name}': {value}, 'epoch': {n}.0}}")
    return rows


WER = [0.41, 0.36, 0.31, 0.29]
BEST = "Loading best model from out/checkpoint-500 (score: {})."


@pytest.mark.parametrize(
    ("name", "settings", "values", "kept"),
    [
        ("wer", ["metric_for_best_model: eval_wer", "greater_is_better: true"], WER, 0.41),
        ("wer", ["load_best_model_at_end=True,", "metric_for_best_model='wer',"], WER, 0.41),
        (
            "f1",
            ['"metric_for_best_model": "f1",', '"greater_is_better": false,'],
            [0.51, 0.6, 0.66],
            0.51,
        ),
    ],
)
def test_a_metric_that_is_read_the_wrong_way_round(name, settings, values, kept):
    one = first(*settings, *judged(name, *values), BEST.format(kept))
    assert one.key == "worst_is_kept" and name in one.says
    assert f"greater_is_better={name == 'f1'}" in one.fix


def test_a_monitor_with_the_other_mode_is_named_without_a_kept_score():
    one = first(
        "ModelCheckpoint(monitor='eval_cer', mode='max', save_top_k=1)", *judged("cer", *WER)
    )
    assert one.key == "worst_is_kept" and "mode='min'" in one.fix


@pytest.mark.parametrize(
    ("name", "settings", "kept"),
    [
        ("wer", ["metric_for_best_model: eval_wer", "greater_is_better: false"], 0.29),
        ("accuracy", ["metric_for_best_model: accuracy", "load_best_model_at_end=True"], 0.41),
        ("wer", ["metric_for_best_model: eval_loss", "load_best_model_at_end=True"], 1.77),
        ("wer", ["metric_for_best_model: eval_wer", "greater_is_better: true"], 0.29),
    ],
)
def test_a_metric_that_is_read_rightly_is_not_blamed(name, settings, kept):
    log = [*settings, *judged(name, *WER), BEST.format(kept)]
    assert key(*log) != "worst_is_kept"


def ranks(rows: list[str], scores: list[str]) -> list[str]:
    shown = [f"rank {n}: first sample {row}" for n, row in enumerate(rows)]
    return [*shown, *(f"rank {n}: correct {score}" for n, score in enumerate(scores))]


ROWS = ['"A train leaves the station"', '"Tom has twelve apples and"']


def test_ranks_that_show_the_same_row_and_have_one_score():
    one = first(*ranks([ROWS[0]] * 3, ["81/110"] * 3), "accuracy: 0.7364")
    assert one.key == "ranks_read_the_same" and "81 of 110" in one.for_it[-1]
    assert "rank::world" in one.fix


def test_equal_scores_of_many_ranks_are_enough_beside_the_size_of_the_set():
    scores = [f"[rank{n}] right 81/110" for n in range(4)]
    assert key("rows in the set: 439", *scores, "accuracy: 0.7364") == "ranks_read_the_same"
    assert key("rows in the set: 110", *scores, "accuracy: 0.7364") != "ranks_read_the_same"


@pytest.mark.parametrize(
    "log",
    [
        ranks(ROWS, ["81/110", "77/110"]),
        ranks([ROWS[0]] * 2, ["81/110", "77/110"]),
        ["tensor_parallel_size: 2", *ranks([ROWS[0]] * 2, ["81/110"] * 2)],
    ],
)
def test_ranks_with_other_scores_or_of_one_replica_are_right(log):
    assert key(*log, "accuracy: 0.7182") != "ranks_read_the_same"


CUT = [
    "pred = re.findall(r'\\d+', reply)[0]",
    "accuracy: 0.612",
    "gold 1350 | pred 1 | reply: so they pay 1,350 euros",
    "gold 24000 | pred 24 | reply: the answer is 24,000.",
]


def test_a_pattern_that_reads_a_number_up_to_its_comma():
    one = first(*CUT)
    assert one.key == "metric_not_as_named" and "1,350 in a reply is taken for 1" in one.says
    assert "strip the commas" in one.fix


@pytest.mark.parametrize(
    "rows",
    [
        ["gold 1350 | pred 1350 | reply: 1,350 euros", "gold 24000 | pred 24000 | reply: 24,000"],
        ["gold 1350 | pred 1250 | reply: 1,250 euros", "gold 24000 | pred 2400 | reply: 2,400"],
    ],
)
def test_numbers_that_are_read_whole_are_not_blamed(rows):
    assert key(*CUT[:2], *rows) != "metric_not_as_named"


TRAINED = judged("accuracy", 0.9, 0.96, 0.985, 0.99)


@pytest.mark.parametrize(
    "code",
    [
        ["rows = [v for r in rows for v in back_translate(r)]", "tr, te = train_test_split(rows)"],
        [
            "both = concatenate_datasets([raw, augmented])",
            "both = both.shuffle(seed=1)",
            "parts = both.train_test_split(0.1)",
        ],
        [
            "df = calls.explode('turns')",
            "print(df.call_id.nunique())",
            "train, val = train_test_split(df, test_size=0.1)",
        ],
        [
            "X, y = RandomOverSampler().fit_resample(X, y)  # oversample",
            "a, b = train_test_split(X)",
        ],
    ],
)
def test_rows_that_are_multiplied_and_then_split(code):
    one = first(*code, *TRAINED)
    assert one.key == "rows_in_both" and code[-1] in " ".join(one.for_it)


@pytest.mark.parametrize(
    "code",
    [
        ["parts = raw.train_test_split(0.1)", "tr = parts['train'].map(augment, batched=True)"],
        ["df = df.explode('turns')", "tr, te = GroupShuffleSplit().split(df, groups=df.call_id)"],
        ["rows = raw.map(tokenize, batched=True)", "parts = rows.train_test_split(0.1)"],
        ["aug = raw.map(paraphrase, batched=True)", "parts = raw.train_test_split(0.1)"],
    ],
)
def test_rows_that_are_split_first_or_by_group_are_not_blamed(code):
    assert key(*code, *TRAINED) != "rows_in_both"


@pytest.mark.parametrize(
    "counted",
    [
        ["212 of 500 test questions stand in the training rows, word for word"],
        [">>> len(set(train['text']) & set(test['text']))", "212"],
        [">>> df_test.prompt.isin(df_train.prompt).mean()", "0.424"],
    ],
)
def test_rows_that_were_counted_in_both_sets(counted):
    one = first(*counted, *TRAINED)
    assert one.key == "rows_in_both" and one.for_it[0].split(": ")[-1]


@pytest.mark.parametrize(
    "counted",
    [
        ["0 of 500 test questions stand in the training rows"],
        [">>> len(set(train['text']) & set(test['text']))", "0"],
        ["212 of 500 test questions were in the training rows, we dropped these first"],
        ["212 of 500 test questions are answered as in the paper"],
    ],
)
def test_rows_that_are_in_one_set_or_were_taken_out_are_not_blamed(counted):
    assert key(*counted, *TRAINED) != "rows_in_both"


def by_step(head: str, *shares: str, rising: bool = True) -> list[str]:
    rewards = [n if rising else 12 - n for n in range(12)]
    rows = [f"{{'reward': {0.5 + r / 2}, 'kl': 0.02, 'policy_loss': -0.01}}" for r in rewards]
    return [*rows, head, *(f"  step {100 * n}: {one}" for n, one in enumerate(shares, 1))]


FALLING = ("57.3% win", "44.0% win", "29.7% win", "18.3% win")


def test_a_judge_that_likes_less_what_is_rewarded_more():
    one = first(*by_step("Judge, 300 held-out prompts:", *FALLING))
    assert one.key == "proxy_rises_alone" and "step 400 0.183" in one.for_it[0]


@pytest.mark.parametrize(
    "lines",
    [
        by_step("Judge, 300 held-out prompts:", *FALLING[::-1]),
        by_step("Judge, 300 held-out prompts:", *FALLING[:2]),
        by_step("Judge, 300 held-out prompts:", *FALLING, rising=False),
        by_step("Judge, share of refusals:", *FALLING),
        by_step("Speed of sampling:", *FALLING),
    ],
)
def test_shares_that_rise_are_few_or_are_of_faults_do_not_tell_it(lines):
    assert key(*lines) != "proxy_rises_alone"
