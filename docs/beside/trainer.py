from trl import SFTTrainer

from course_utils.diagnostics import DiagnoseCallback


def train(model, args, tokenizer, rows):
    trainer = SFTTrainer(
        model=model,
        args=args,
        processing_class=tokenizer,
        train_dataset=rows,
        callbacks=[DiagnoseCallback()],
    )
    trainer.train()
