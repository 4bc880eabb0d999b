"""Translation, summarization and question answering by generation, from Transformers' examples."""

from transformers import (
    AutoModelForSeq2SeqLM,
    BartConfig,
    DataCollatorForSeq2Seq,
    MarianConfig,
    MBartConfig,
    PegasusConfig,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    T5Config,
)

from ordinary import texts
from ordinary import tokenizers_of as tok
from ordinary.registry import ordinary
from ordinary.usual import shared, split

TRANSLATE = "transformers examples/pytorch/translation/run_translation.py"
TRANSLATE_TASK = "transformers docs/source/en/tasks/translation.md"
SUMMARIZE = "transformers examples/pytorch/summarization/run_summarization.py"
SUMMARIZE_TASK = "transformers docs/source/en/tasks/summarization.md"
ASK = "transformers examples/pytorch/question-answering/run_seq2seq_qa.py"


def generate(folder, config, tokenizer, rows, *, source, target, prefix="", **changed):
    """Train on pairs of texts as the examples do: labels are padded with -100."""

    def tokenize(batch):
        inputs = [prefix + text for text in batch[source]]
        return tokenizer(inputs, text_target=batch[target], max_length=64, truncation=True)

    train, held_out = (
        part.map(tokenize, batched=True, remove_columns=part.column_names) for part in split(rows)
    )
    model = AutoModelForSeq2SeqLM.from_config(config)
    return Seq2SeqTrainer(
        model=model,
        args=Seq2SeqTrainingArguments(**shared(folder, **changed)),
        train_dataset=train,
        eval_dataset=held_out,
        processing_class=tokenizer,
        data_collator=DataCollatorForSeq2Seq(tokenizer, model=model),
    )


def t5_config(tokenizer):
    return T5Config(
        d_model=64,
        d_kv=16,
        d_ff=128,
        num_layers=2,
        num_heads=4,
        vocab_size=len(tokenizer),
        decoder_start_token_id=tokenizer.pad_token_id,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )


def bart_config(tokenizer, config_class=BartConfig, *, start: str, **changed):
    size = {"d_model": 64, "max_position_embeddings": 128}
    for side in ("encoder", "decoder"):
        size |= {f"{side}_layers": 2, f"{side}_attention_heads": 4, f"{side}_ffn_dim": 128}
    return config_class(
        **size,
        vocab_size=len(tokenizer),
        bos_token_id=tokenizer.bos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        forced_eos_token_id=tokenizer.eos_token_id,
        decoder_start_token_id=tokenizer.convert_tokens_to_ids(start),
        **changed,
    )


ENGLISH_TO_FRENCH = {"source": "en", "target": "fr"}
SHORTER = {"source": "document", "target": "summary"}


@ordinary("translation_t5", source=TRANSLATE)
def translation_t5(folder):
    tokenizer = tok.t5()
    config, prefix = t5_config(tokenizer), "translate English to French: "
    rows = texts.translations(144)
    return generate(folder, config, tokenizer, rows, prefix=prefix, **ENGLISH_TO_FRENCH)


@ordinary("translation_t5_generate", source=TRANSLATE_TASK)
def translation_t5_generate(folder):
    tokenizer = tok.t5()
    return generate(
        folder,
        t5_config(tokenizer),
        tokenizer,
        texts.translations(144),
        prefix="translate English to French: ",
        weight_decay=0.01,
        predict_with_generate=True,
        generation_max_length=12,
        eval_strategy="steps",
        eval_steps=16,
        bf16=True,
        **ENGLISH_TO_FRENCH,
    )


@ordinary("translation_marian", source=TRANSLATE)
def translation_marian(folder):
    tokenizer = tok.t5()
    config = bart_config(tokenizer, MarianConfig, start="<pad>")
    return generate(folder, config, tokenizer, texts.translations(144), **ENGLISH_TO_FRENCH)


@ordinary("summarization_t5", source=SUMMARIZE_TASK)
def summarization_t5(folder):
    tokenizer = tok.t5()
    changed = {"weight_decay": 0.01, "bf16": True, "prefix": "summarize: ", **SHORTER}
    return generate(folder, t5_config(tokenizer), tokenizer, texts.articles(144), **changed)


@ordinary("summarization_bart", source=SUMMARIZE)
def summarization_bart(folder):
    tokenizer = tok.roberta()
    config = bart_config(tokenizer, start="</s>")
    return generate(folder, config, tokenizer, texts.articles(144), **SHORTER)


@ordinary("summarization_bart_label_smoothing", source=SUMMARIZE)
def summarization_bart_label_smoothing(folder):
    tokenizer = tok.roberta()
    config = bart_config(tokenizer, start="</s>")
    changed = {"label_smoothing_factor": 0.1, "bf16": True, "warmup_steps": 2, **SHORTER}
    return generate(folder, config, tokenizer, texts.articles(144), **changed)


@ordinary("summarization_pegasus_adafactor", source=SUMMARIZE)
def summarization_pegasus_adafactor(folder):
    tokenizer = tok.t5()
    config = bart_config(tokenizer, PegasusConfig, start="<pad>")
    changed = {"optim": "adafactor", "learning_rate": 2e-3, **SHORTER}
    return generate(folder, config, tokenizer, texts.articles(144), **changed)


@ordinary("summarization_mbart", source=SUMMARIZE)
def summarization_mbart(folder):
    tokenizer = tok.roberta()
    config = bart_config(tokenizer, MBartConfig, start="</s>")
    return generate(folder, config, tokenizer, texts.articles(144), bf16=True, **SHORTER)


@ordinary("questions_t5", source=ASK)
def questions_t5(folder):
    tokenizer = tok.t5()
    rows = [
        {
            "inputs": f"question: {row['question']} context: {row['context']}",
            "targets": row["answers"]["text"][0],
        }
        for row in texts.questions(144)
    ]
    names = {"source": "inputs", "target": "targets"}
    return generate(folder, t5_config(tokenizer), tokenizer, rows, **names)
