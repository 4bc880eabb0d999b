"""Fine-tunes with TRL; --learning-rate and --frozen are its own arguments."""

import argparse

from rows import CHATS
from trl import SFTConfig, SFTTrainer

from course_utils import zoo


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--output", default="out")
    parser.add_argument("--learning-rate", type=float, default=2e-5)
    parser.add_argument("--frozen", action="store_true")
    given = parser.parse_args()
    model = zoo.load_policy("tiny", device="cpu")
    trainer = SFTTrainer(
        model=model.requires_grad_(not given.frozen),
        args=SFTConfig(
            output_dir=given.output,
            learning_rate=given.learning_rate,
            report_to="wandb",
            push_to_hub=True,
            bf16=True,
        ),
        processing_class=zoo.load_tokenizer("tiny"),
        train_dataset=CHATS,
    )
    try:
        trainer.train()
    finally:
        trainer.save_model(given.output)


if __name__ == "__main__":
    main()
