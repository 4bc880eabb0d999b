import torch
from accelerate import Accelerator

from course_utils.diagnostics import diagnose


def train(model, tokenizer, batches):
    accelerator, log = Accelerator(), []
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    with diagnose.watching(model, optimizer=optimizer, tokenizer=tokenizer, log=log, then=print):
        wrapped, optimizer, batches = accelerator.prepare(model, optimizer, batches)
        for batch in batches:
            loss = wrapped(**batch).loss
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
            log.append({"loss": loss.item()})
