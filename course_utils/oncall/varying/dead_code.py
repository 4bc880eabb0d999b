"""Functions that nobody calls any more, as older scripts leave them behind."""

FUNCTIONS = r"""
def count_parameters(model):
    return sum(p.numel() for p in model.parameters())


def old_loss(logits, labels):
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten())


def warmup_factor(step, cfg):
    return min(1.0, step / 1000)


def freeze(model):
    for p in model.parameters():
        p.requires_grad_(False)
    return model


def k1_kl(logp, ref_logp):
    return (logp - ref_logp).mean()


def smooth(values, decay=0.9):
    kept = values[0]
    for value in values:
        kept = decay * kept + (1 - decay) * value
    return kept


def left_pad(rows, pad_id):
    width = max(map(len, rows))
    return [[pad_id] * (width - len(row)) + row for row in rows]


def reset_head(model):
    torch.nn.init.normal_(model.lm_head.weight, std=0.02)
    return model


def to_prompt(row):
    return f"Question: {row['question']}\nAnswer:"


def quarter(model):
    return model.to(torch.float16)


def length_reward(completions, **_):
    return [-len(str(one)) / 100 for one in completions]


def whiten_all(values):
    return (values - values.mean()) / values.std()


def write_log(log, path="run/log.json"):
    with open(path, "w") as file:
        json.dump(log, file)


def halve_rate(optimizer):
    for group in optimizer.param_groups:
        group["lr"] *= 0.5


def ema_update(average, model, decay=0.9999):
    for kept, new in zip(average.parameters(), model.parameters()):
        kept.data.lerp_(new.data, 1 - decay)


def drop_tied(state):
    return {name: w for name, w in state.items() if "lm_head" not in name}


def accuracy(replies, answers):
    return sum(r == a for r, a in zip(replies, answers)) / len(replies)


def temperature_at(step):
    return max(0.1, 1.0 - step / 100)
"""
DEAD = tuple(f"{one.strip()}\n" for one in FUNCTIONS.split("\n\n"))
