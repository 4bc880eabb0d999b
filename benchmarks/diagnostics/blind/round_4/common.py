"""The base model that several runs of this round start from."""

from benchmarks.diagnostics.blind import kit


def sampler(tok, seed, lead="", sure=90, unsure=50):
    """A model that answers short tickets, right in a bit less than half of them."""
    clean = [
        (f"<|user|> {t} <|assistant|>{lead}", f"{team} <eos>")
        for t, team in kit.tickets(seed, 2000, length=5)
    ]
    mixed = [(p + lead, answer) for p, answer in kit.half_knows(seed + 1, 2000)]
    model = kit.teach(kit.llama(tok, seed=seed), tok, clean, steps=sure, batch=24)
    return kit.teach(model, tok, mixed, steps=unsure, lr=1e-3, batch=24)
