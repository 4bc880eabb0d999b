import lightning
import torch

from course_utils.diagnostics import lightning_callback


class FineTuning(lightning.LightningModule):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def training_step(self, batch, _number):
        return self.model(**batch).loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-5)


def train(model, tokenizer, batches):
    trainer = lightning.Trainer(
        max_steps=4,
        logger=False,
        enable_checkpointing=False,
        callbacks=[lightning_callback(tokenizer=tokenizer)],
    )
    trainer.fit(FineTuning(model), batches)
