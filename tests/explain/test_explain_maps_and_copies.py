"""Classes that are numbered in each file, a divergence over the words, positives that are few."""

import pytest

from tests.helpers.explained import answer, first


def judged(accuracy: float, loss: float = 3.1) -> list[str]:
    return [
        f"{{'loss': {1 / n:.3f}, 'eval_loss': {loss + n / 5:.3f}, 'eval_accuracy': {accuracy}, "
        f"'epoch': {n}}}"
        for n in range(1, 5)
    ]


BY_ORDER = [
    "def rows(file):",
    "    df = pd.read_json(file)",
    "    ids = {c: i for i, c in enumerate(df['team'].unique())}",
    "    return [(r.text, ids[r.team]) for r in df.itertuples()]",
    "train_rows = rows('a.json')",
    "val_rows = rows('b.json')",
]
BY_NAME = [
    "train['y'] = LabelEncoder().fit_transform(train.team)",
    "test['y'] = LabelEncoder().fit_transform(test.team)",
]
TURNED = ["        a    b    c    d", "a       3  190    2    1", "b       0    4  210    3"]
TURNED += ["c       5    1    2  144", "d     181    2    4    0"]
SOUND = ["        a    b    c    d", "a     190    3    2    1", "b       0  210    4    3"]
SOUND += ["c       5    1  144    2", "d       2    4    0  181"]


IN_A_LOOP = [
    'for part in ("train", "test"):',
    "    rows[part]['y'] = pd.factorize(rows[part].team)[0]",
]
AT_ONCE = [*BY_ORDER[:4], 'parts = {s: rows(f"{s}.json") for s in ("train", "val")}']


@pytest.mark.parametrize("code", [BY_ORDER, BY_NAME, IN_A_LOOP, AT_ONCE])
def test_classes_that_are_numbered_in_each_file_are_told_by_the_answers(code):
    one = first(*code, *judged(0.02), *TURNED)
    assert (
        one.key == "evaluation_rows_differ" and "0 as 1, 1 as 2, 2 as 3, 3 as 0" in one.for_it[-2]
    )
    assert "below the 0.25 of a guess" in one.for_it[-1]


CODES = ["train['y'] = train.team.cat.codes", "test['y'] = test.team.cat.codes"]
CLASSES = ["  class   n    hits  recall", "  0  90  88  0.978", "  1  70  67  0.957"]
CLASSES += ["  2  80   0  0.000", "  3  60   1  0.017", "  4  75   0  0.000"]


def test_classes_that_are_right_or_never_right_tell_where_the_numbers_part():
    one = first(*CODES, *judged(0.41), *CLASSES)
    assert one.key == "evaluation_rows_differ" and "2 classes are right" in one.for_it[-1]
    even = [row.replace("0.000", "0.610").replace("0.017", "0.540") for row in CLASSES]
    found = first(*CODES, *judged(0.71), *even)
    assert found is None or found.key != "evaluation_rows_differ"


def test_they_are_told_by_an_accuracy_below_a_guess():
    one = first(*BY_NAME, "num_labels=5", *judged(0.04))
    assert one.key == "evaluation_rows_differ" and "among 5 classes" in one.for_it[-1]


def test_answers_that_are_all_another_class_show_two_maps_without_code():
    one = first(*judged(0.02), *TURNED)
    assert one.key == "evaluation_rows_differ" and "label2id" in one.says


@pytest.mark.parametrize(
    "lines",
    [
        (*BY_ORDER, *judged(0.91), *SOUND),
        (*BY_ORDER[:-1], *judged(0.45), *SOUND),
        (*BY_NAME, *judged(0.55), *SOUND),
        (*BY_NAME[:1], "test['y'] = le.transform(test.team)", *judged(0.02), *TURNED),
        (*IN_A_LOOP, *judged(0.93)),
        ("both = pd.concat([train, test]); both['y'] = pd.factorize(both.team)[0]", *judged(0.33)),
        (*BY_ORDER, "names = ClassLabel(names=teams)", *judged(0.02)),
    ],
)
def test_one_map_or_answers_that_are_right_are_not_blamed(lines):
    one = first(*lines)
    assert one is None or one.key != "evaluation_rows_differ"


def test_an_evaluation_worse_than_any_guess_is_not_learnt_by_heart():
    assert first(*judged(0.02, loss=5.5)) is None
    assert answer(*judged(0.52)).fits[0].key == "overfits"


SIZES = ["teacher logits torch.Size([812, 128256])"]
KL = "soft = F.kl_div(s.log_softmax(-1), t.softmax(-1){})"


def distilled(term: float) -> list[str]:
    return [f"step {n} loss {1.3 - n / 100:.3f} kd_loss {term / n:.3g}" for n in range(1, 9)]


def named(term: float) -> list[str]:
    return [row.replace("kd_loss ", "kd_loss=") for row in distilled(term)]


@pytest.mark.parametrize(
    "code",
    [
        [KL.format(", reduction='mean'")],
        [KL.format(", reduction='none'") + ".mean()"],
        ["soft = nn.KLDivLoss(log_target=True)(", "    student_logp, teacher_logp)"],
        ["soft = F.kl_div(", "    s_logp, t_p,", '    reduction="mean", log_target=False)'],
    ],
)
def test_a_divergence_over_tokens_and_words_is_named_with_its_size(code):
    one = first(*SIZES, *code, *named(2.1e-5))
    assert one.key == "divergence_divided" and "128256 words" in one.says
    assert "is 2.7" in one.for_it[1]


@pytest.mark.parametrize(
    ("code", "term"),
    [
        ([KL.format(", reduction='batchmean'")], 2.1),
        ([KL.format(", reduction='mean'") + " * V"], 2.1),
        ([KL.format(", reduction='none'") + ".sum(-1).mean()"], 2.1),
        ([KL.format(", reduction='mean'")], 0.8),
        (["mine = kl_div(p_teacher, q_student)"], 2.1e-5),
    ],
)
def test_a_divergence_over_the_tokens_is_not_divided(code, term):
    one = first(*SIZES, *code, *named(term))
    assert one is None or one.key != "divergence_divided"


def test_a_small_term_without_a_size_of_the_vocabulary_is_quoted_alone():
    code = "soft = F.kl_div(F.log_softmax(student_logits, -1), F.softmax(teacher_logits, -1))"
    one = first("tokens, words = logits of a model", code, *named(2.1e-5))
    assert one.key == "divergence_divided" and one.for_it[1].endswith("kd_loss 2.1e-05")


PULLED = [f"{{'loss': {2.9 - n / 8:.2f}, 'grad_norm': 1.2, 'epoch': {n}}}" for n in range(1, 8)]
BATCH = "train_batch_size: 128"
LOSS = "loss = F.cross_entropy(q @ p.T / 0.05, torch.arange(len(q)))"


@pytest.mark.parametrize(
    "count",
    [
        ["31 distinct answers in 9000 rows"],
        [">>> len(set(ds['answers']))", "31"],
        ["pos = [texts[i] for i in ids]", "print(len(ids), len(texts))", "go", "9000 31"],
    ],
)
def test_few_positives_in_a_large_batch_are_counted(count):
    one = first(LOSS, BATCH, *count, *PULLED)
    assert one.key == "positives_twice" and "ln(128 / 31) = 1.42" in one.says


@pytest.mark.parametrize(
    "lines",
    [
        (LOSS, BATCH, "7100 distinct answers"),
        (LOSS, BATCH, "31 distinct answers", "batch_sampler=BatchSamplers.NO_DUPLICATES"),
        (LOSS, BATCH, "31 distinct answers", "sim = sim.masked_fill(same, -1e9)"),
        ("loss = F.cross_entropy(logits, y)", BATCH, "31 distinct answers"),
        (LOSS, "train_batch_size: 32", "31 distinct answers"),
    ],
)
def test_many_positives_or_batches_without_copies_are_not_blamed(lines):
    one = first(*lines, *PULLED)
    assert one is None or one.key != "positives_twice"


def test_a_loss_below_the_floor_of_copies_has_none():
    low = [
        row.replace("'loss': 2", "'loss': 0").replace("'loss': 1", "'loss': 0") for row in PULLED
    ]
    assert first(LOSS, BATCH, "31 distinct answers", *low) is None
