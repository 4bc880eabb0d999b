"""Models that return probabilities to a loss with a softmax of its own, by code and by numbers."""

import math

import pytest

from tests.helpers.explained import answer, first, keys

MODEL = [
    "class Net(nn.Module):",
    "    def __init__(self):",
    "        super().__init__()",
    "        self.fc = nn.Linear(768, 4)",
    "        self.act = nn.Softmax(dim=-1)",
    "    def forward(self, x):",
    "        return self.act(self.fc(x))",
]
STEP = ["logits = net(x)", "loss = F.cross_entropy(logits, y)"]
HEAD = ["net = nn.Sequential(nn.Linear(768, 64), nn.ReLU(), nn.Linear(64, 2), nn.Softmax(dim=1))"]
BINARY = [
    "    def forward(self, x):",
    "        return torch.sigmoid(self.fc(x)).squeeze(-1)",
    "crit = nn.BCEWithLogitsLoss()",
    "loss = crit(model(x), y.float())",
]


def epochs(k: int, floor: float) -> list[str]:
    right = (0.62, 0.78, 0.86, 0.91, 0.94, 0.95)
    return [
        f"epoch {n} train_loss {floor + 1 - hit:.4f} train_acc {hit}"
        for n, hit in enumerate(right, start=1)
    ]


def floor(k: int) -> float:
    return math.log(math.e + k - 1) - 1


@pytest.mark.parametrize(
    "lines",
    [
        [*MODEL, "net = Net().to('cuda')", *STEP],
        [*MODEL, *STEP],
        [*HEAD, *STEP],
        [MODEL[0], *BINARY],
        [*MODEL, "criterion = nn.CrossEntropyLoss()", "loss = criterion(model(x), y)"],
    ],
)
def test_a_model_that_returns_probabilities_gives_them_to_a_loss_of_logits(lines):
    found = first(*lines, *(f"epoch {n} loss {1.2 - n / 20:.2f} acc 0.7" for n in range(1, 5)))
    assert found.key == "probabilities_as_logs"
    assert "taken twice" in found.says


@pytest.mark.parametrize("k", [2, 5, 20])
def test_the_floor_and_the_share_of_errors_tell_it_without_code(k):
    found = first(f"{k} classes, BERT, softmax output", *epochs(k, floor(k)))
    assert found.key == "probabilities_as_logs"
    assert "raw logits" in found.fix
    assert f"{floor(k):.4f} for {k} classes" in found.says


def test_a_softmax_and_from_logits_are_two():
    layer = 'model.add(Dense(7, activation="softmax"))'
    loss = "loss=SparseCategoricalCrossentropy(from_logits=True)"
    found = first(layer, loss, *epochs(7, floor(7)))
    assert found.key == "probabilities_as_logs"
    assert "from_logits=False" in found.fix
    assert any(f"{floor(7):.4f} +" in one for one in found.for_it)


@pytest.mark.parametrize(
    "lines",
    [
        ["Dense(7, activation='softmax')", "SparseCategoricalCrossentropy(from_logits=False)"],
        ["Dense(64, activation='relu')", "Dense(7)", "CategoricalCrossentropy(from_logits=True)"],
    ],
)
def test_one_softmax_alone_is_no_fault(lines):
    assert "probabilities_as_logs" not in keys(*lines, *epochs(7, 0.1))


def test_the_losses_at_the_floor_are_quoted_beside_the_code():
    said = answer("4 classes", *MODEL, *STEP, *epochs(4, floor(4))).causes[0]
    assert any("0.7437 +" in one for one in said.for_it)


@pytest.mark.parametrize(
    "lines",
    [
        [*MODEL[:-1], "        return self.fc(x)", *STEP],
        [
            *MODEL[:-1],
            "        if self.training:",
            "            return self.fc(x)",
            "        return self.act(self.fc(x))",
            *STEP,
        ],
        [*MODEL, *STEP[:1], "loss = F.nll_loss(torch.log(logits), y)"],
        [HEAD[0].replace(", nn.Softmax(dim=1)", ""), *STEP],
        [HEAD[0].replace("nn.Softmax", "nn.LogSoftmax"), *STEP],
        ["6 classes", *epochs(6, 0.2)],
        [
            "6 classes",
            *(f"epoch {n} train_loss {1.05 + n / 9:.3f} train_acc 0.5" for n in range(5)),
        ],
    ],
)
def test_raw_logits_two_modes_and_other_levels_are_no_fault(lines):
    assert "probabilities_as_logs" not in keys(*lines)
