"""Two jobs that end badly, for the last exercise of lesson 02. Nothing in them is planted.

Each is a training loop on the tiny model, for child processes only. It works with one
configuration and not with another; the operating system does the rest. The code of the jobs is
what the exercise has the reader find, so it explains nothing.

Sources: mmap(2), under SIGBUS; pytorch#44545 and pytorch/translate#285, and "Joining processes
that use queues" in the manual of Python's multiprocessing.
"""

import inspect
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import get_context
from types import SimpleNamespace

import numpy as np
import torch

from course_utils import zoo
from course_utils.reproductions.lesson_02.grpo_sigfpe import MODEL_PARTS
from course_utils.shown.report import Table

ROUNDS, STEPS = 2, 4
VOCABULARY = 256
new_file = tempfile.TemporaryFile  # on disk, without a name, and gone with its last user


def train_on_tokens(config: dict[str, object], seed: int = 0) -> None:
    """Fine-tune on a file of tokens that new replies are written to while the job runs."""
    settings, random = SimpleNamespace(**config), np.random.default_rng(seed)
    policy = zoo.load_policy("tiny", device="cpu")
    optimizer = torch.optim.AdamW(policy.parameters(), lr=settings.learning_rate)
    file = write_tokens(None, random.integers(16_000, 20_000), settings, random)
    print("training starts")
    for number in range(ROUNDS):
        tokens = open_tokens(file, settings)
        starts = np.linspace(0, len(tokens) - settings.seq_len, STEPS * settings.batch_size)
        if settings.shuffle:
            random.shuffle(starts)
        for step, batch in enumerate(np.split(starts.astype(int), STEPS)):
            if settings.renew and step == 1:
                file = write_tokens(file, random.integers(3_000, 5_000), settings, random)
            ids = read_batch(tokens, batch, settings.seq_len)
            update(policy, optimizer, policy(ids, labels=ids).loss, settings.clip)
        print(f"round {number} done")


def write_tokens(file, number: int, settings, random):
    if file is None or settings.write == "new file":
        file = new_file()
    file.seek(0)
    file.truncate()
    tokens = random.integers(0, VOCABULARY, number)
    file.write(tokens.astype(settings.on_disk).tobytes())
    file.flush()
    return file


def open_tokens(file, settings) -> np.ndarray:
    file.seek(0)
    if settings.tokens == "mapped":
        return np.memmap(file, settings.on_disk, mode="r")
    return np.frombuffer(file.read(), settings.on_disk)


def read_batch(tokens: np.ndarray, starts: np.ndarray, seq_len: int) -> torch.Tensor:
    return torch.from_numpy(tokens[starts[:, None] + np.arange(seq_len)].astype(np.int64))


def train_on_teacher(config: dict[str, object], seed: int = 0) -> None:
    """Distil a teacher's log-probabilities, which may come from a process of its own."""
    settings = SimpleNamespace(**config)
    generator = torch.Generator().manual_seed(seed)
    policy, teacher = (zoo.load_policy("tiny", device="cpu") for _ in range(2))
    optimizer = torch.optim.AdamW(policy.parameters(), lr=settings.learning_rate)
    print("training starts")
    for number in range(ROUNDS):
        length = 16 + int(torch.randint(settings.max_tokens, (), generator=generator))
        ids = torch.randint(VOCABULARY, (settings.replies, length), generator=generator)
        if settings.teacher == "process":
            targets = ask_teacher(teacher, ids, settings)
        else:
            targets = log_probs(teacher, ids, settings)
        logp = policy(ids).logits.log_softmax(-1)
        if settings.targets == "sampled":
            logp = logp.gather(-1, ids[..., None])
        loss = (torch.from_numpy(targets) - logp).square().mean()
        update(policy, optimizer, loss, settings.clip)
        print(f"round {number} done")


def ask_teacher(teacher, ids: torch.Tensor, settings) -> np.ndarray:
    context = get_context("fork")
    answers = context.Queue(settings.queue_size)
    worker = context.Process(target=answer, args=(teacher, ids, settings, answers))
    worker.start()
    if settings.collect == "as it comes":
        targets = answers.get()
        worker.join()
    else:
        worker.join()
        targets = answers.get()
    return targets


def answer(teacher, ids: torch.Tensor, settings, answers) -> None:
    answers.put(log_probs(teacher, ids, settings))


def log_probs(teacher, ids: torch.Tensor, settings) -> np.ndarray:
    with torch.no_grad():
        logp = teacher(ids).logits.log_softmax(-1)
    if settings.targets == "sampled":
        logp = logp.gather(-1, ids[..., None])
    return logp.numpy().astype(settings.sent_as)


def update(policy, optimizer, loss: torch.Tensor, clip: float) -> None:
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(policy.parameters(), clip)
    optimizer.step()


@dataclass(frozen=True, eq=False)
class Job:
    """A job with a configuration that works and one that does not, as its owner hands it over.

    Attributes:
        report: what the owner writes.
        train: the job; takes a configuration and a seed. Only for child processes.
        works, fails: the settings in which the two configurations differ.
        options: settings that are the same in both, each with all the values that it may take;
            the first is the one in use.
        causes: five or more explanations by letter, one of them true.
        preload, timeout_s: for `run_in_child` and `bisect_config`. With these modules imported
            beforehand a run that lives takes a second of CPU; without, the limit is too short.
    """

    report: str
    train: Callable[..., None]
    parts: tuple[Callable, ...]
    works: dict[str, object]
    fails: dict[str, object]
    options: dict[str, tuple]
    causes: dict[str, str]

    preload = MODEL_PARTS
    timeout_s = 10.0

    def run(self, settings: dict[str, object], seed: int = 0) -> None:
        """Train with `settings`; every option not named in them has its first value."""
        self.train({name: values[0] for name, values in self.options.items()} | settings, seed)

    def settings(self) -> Table:
        """Every setting: its value in the run that works and the one that fails, or its choices."""
        differ = [(name, repr(self.works[name]), repr(self.fails[name])) for name in self.works]
        same = [
            (name, repr(values[0]), f"{values[0]!r}; the other value: {values[1]!r}")
            for name, values in self.options.items()
        ]
        return Table(columns=("setting", "works", "fails"), rows=differ + same)

    def source(self) -> str:
        """The code of the job, without what it shares with other jobs."""
        return "\n".join(inspect.getsource(part) for part in self.parts)

    def __repr__(self) -> str:
        causes = [f"  {letter}) {cause}" for letter, cause in self.causes.items()]
        return "\n".join([self.report, "The explanations on the table:", *causes])


TOKENS = Job(
    report=(
        "We fine-tune on a file of tokens. New replies are written to it while the job runs. With\n"
        "the new configuration the job is gone within seconds: no traceback, no nan, plenty of\n"
        "free memory. Everything that the new configuration does is needed."
    ),
    train=train_on_tokens,
    parts=(train_on_tokens, write_tokens, open_tokens, read_batch),
    works=dict(
        tokens="in memory",
        renew=False,
        batch_size=4,
        seq_len=32,
        learning_rate=1e-4,
        shuffle=False,
    ),
    fails=dict(
        tokens="mapped",
        renew=True,
        batch_size=8,
        seq_len=64,
        learning_rate=5e-4,
        shuffle=True,
    ),
    options=dict(write=("in place", "new file"), on_disk=("int32", "int64"), clip=(1.0, 0.1)),
    causes={
        "a": "the kernel ended the job because memory ran out",
        "b": "the shared memory of the data loader's workers is full",
        "c": "a token has an id beyond the embedding",
        "d": "a matrix product divides integers by zero",
        "e": "memory is read that stands for a part of a file, and that part is gone",
        "f": "a learning rate too large destroys the weights",
    },
)
TEACHER = Job(
    report=(
        "We distil a teacher that runs in a separate process. With the new configuration the\n"
        "log stops before the first round and nothing follows, for hours: no traceback, no nan,\n"
        "no load on the processor. Everything that the new configuration does is needed."
    ),
    train=train_on_teacher,
    parts=(train_on_teacher, ask_teacher, answer),
    works=dict(
        teacher="here",
        targets="sampled",
        replies=8,
        max_tokens=16,
        learning_rate=1e-4,
    ),
    fails=dict(
        teacher="process",
        targets="all",
        replies=16,
        max_tokens=24,
        learning_rate=5e-4,
    ),
    options=dict(
        collect=("after the end", "as it comes"),
        queue_size=(0, 8),
        sent_as=("float32", "float16"),
        clip=(1.0, 0.1),
    ),
    causes={
        "a": "the teacher's process was ended by the kernel, and nobody noticed",
        "b": "the teacher cannot end before its answer is read, which is read after its end",
        "c": "the teacher inherited a lock that was held when it was forked",
        "d": "the two processes use all cores, and each waits for its turn",
        "e": "the loss is nan, and the loop runs until it is not",
        "f": "the two processes take part in different collective operations",
    },
)
