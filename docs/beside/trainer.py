from trl import SFTConfig, SFTTrainer

from course_utils.diagnostics import DiagnoseCallback


def train(model, tokenizer, rows):
    trainer = SFTTrainer(
        model=model,
        args=SFTConfig(max_steps=4, report_to="none", save_strategy="no"),
        processing_class=tokenizer,
        train_dataset=rows,
        callbacks=[DiagnoseCallback()],
    )
    trainer.train()
