"""Sentences, pairs of sentences, and multiple choice, from Transformers' examples."""

import numpy as np
from transformers import (
    AlbertConfig,
    AutoModelForMultipleChoice,
    AutoModelForSequenceClassification,
    BertConfig,
    BertForSequenceClassification,
    DataCollatorForMultipleChoice,
    DataCollatorWithPadding,
    DebertaV2Config,
    DistilBertConfig,
    ElectraConfig,
    GPT2Config,
    LlamaConfig,
    ModernBertConfig,
    Qwen3Config,
    RobertaConfig,
    Trainer,
    XLMRobertaConfig,
)

from ordinary import texts
from ordinary import tokenizers_of as tok
from ordinary.models_of import WIDE, bert_model, decoder, encoder, with_new_head
from ordinary.registry import ordinary
from ordinary.usual import accuracy, arguments, split

GLUE = "transformers examples/pytorch/text-classification/run_glue.py"
TASK = "transformers docs/source/en/tasks/sequence_classification.md"
ANY = "transformers examples/pytorch/text-classification/run_classification.py"
SWAG = "transformers examples/pytorch/multiple-choice/run_swag.py"

# A small model from scratch learns a sentence in 24 steps of 16 rows, after a short warmup.
LEARNT_FAST = {
    "per_device_train_batch_size": 16,
    "learning_rate": 2e-3,
    "warmup_steps": 0.1,
    "max_steps": 24,
}


def classify(folder, config, tokenizer, rows, columns=("text",), *, model=None, **changed):
    """Fine-tune on rows as the examples do: tokenize with `map`, pad each batch."""

    def tokenize(batch):
        return tokenizer(*[batch[column] for column in columns], truncation=True)

    train, held_out = (part.map(tokenize, batched=True) for part in split(rows))
    compute_metrics = changed.pop("compute_metrics", accuracy)
    changed = {**LEARNT_FAST, **changed}
    return Trainer(
        model=model or AutoModelForSequenceClassification.from_config(config),
        args=arguments(folder, **changed),
        train_dataset=train,
        eval_dataset=held_out,
        processing_class=tokenizer,
        data_collator=DataCollatorWithPadding(tokenizer),
        compute_metrics=compute_metrics,
    )


@ordinary("sst2_bert", source=GLUE)
def sst2_bert(folder):
    tokenizer = tok.bert()
    return classify(folder, encoder(BertConfig, tokenizer), tokenizer, texts.reviews(400))


@ordinary("sst2_bert_pretrained", source=GLUE)
def sst2_bert_pretrained(folder):
    model = with_new_head(BertForSequenceClassification, bert_model())
    return classify(
        folder, None, tok.bert(), texts.reviews(400), model=model, learning_rate=1e-3, bf16=True
    )


@ordinary("sst2_distilbert", source=TASK)
def sst2_distilbert(folder):
    tokenizer = tok.bert()
    config = DistilBertConfig(
        dim=64, n_layers=2, n_heads=4, hidden_dim=128, vocab_size=len(tokenizer), **WIDE
    )
    return classify(
        folder,
        config,
        tokenizer,
        texts.reviews(400),
        weight_decay=0.01,
        eval_strategy="steps",
        eval_steps=8,
        bf16=True,
    )


@ordinary("mrpc_pairs_roberta", source=GLUE)
def mrpc_pairs_roberta(folder):
    tokenizer = tok.roberta()
    rows = [row for row in texts.pairs(600) if row["label"] != 1]
    rows = [{**row, "label": row["label"] // 2} for row in rows]
    config = encoder(RobertaConfig, tokenizer, type_vocab_size=1)
    return classify(folder, config, tokenizer, rows, ("premise", "hypothesis"), bf16=True)


@ordinary(
    "xnli_xlm_roberta", source="transformers examples/pytorch/text-classification/run_xnli.py"
)
def xnli_xlm_roberta(folder):
    tokenizer = tok.roberta()
    config = encoder(XLMRobertaConfig, tokenizer, type_vocab_size=1, num_labels=3)
    columns = ("premise", "hypothesis")
    return classify(folder, config, tokenizer, texts.pairs(400), columns)


@ordinary("stsb_regression_bert", source=GLUE)
def stsb_regression_bert(folder):
    tokenizer = tok.bert()
    config = encoder(BertConfig, tokenizer, num_labels=1)

    def distance(prediction):
        return {"mse": float(np.square(prediction[0].squeeze() - prediction[1]).mean())}

    return classify(
        folder,
        config,
        tokenizer,
        texts.similar(400),
        ("sentence1", "sentence2"),
        compute_metrics=distance,
        learning_rate=2e-3,
    )


@ordinary("multi_label_deberta", source=ANY)
def multi_label_deberta(folder):
    tokenizer = tok.bert()
    config = encoder(
        DebertaV2Config,
        tokenizer,
        num_labels=3,
        problem_type="multi_label_classification",
        relative_attention=True,
        pos_att_type=["p2c", "c2p"],
    )

    def agreement(prediction):
        return {"accuracy": float(((prediction[0] > 0) == (prediction[1] > 0.5)).mean())}

    rows = texts.tagged_themes(280)
    return classify(folder, config, tokenizer, rows, compute_metrics=agreement, learning_rate=2e-3)


@ordinary("multi_label_bert", source=ANY)
def multi_label_bert(folder):
    tokenizer = tok.bert()
    config = encoder(BertConfig, tokenizer, num_labels=3, problem_type="multi_label_classification")

    def agreement(prediction):
        return {"accuracy": float(((prediction[0] > 0) == (prediction[1] > 0.5)).mean())}

    rows = texts.tagged_themes(280)
    return classify(folder, config, tokenizer, rows, compute_metrics=agreement, bf16=True)


@ordinary("four_topics_electra", source=ANY)
def four_topics_electra(folder):
    tokenizer = tok.bert()
    config = encoder(ElectraConfig, tokenizer, embedding_size=64, num_labels=4)
    return classify(folder, config, tokenizer, texts.topics(360), bf16=True)


@ordinary("four_topics_albert", source=ANY)
def four_topics_albert(folder):
    tokenizer = tok.bert()
    config = encoder(AlbertConfig, tokenizer, embedding_size=32, num_labels=4)
    return classify(folder, config, tokenizer, texts.topics(360), lr_scheduler_type="cosine")


@ordinary("sst2_deberta", source=GLUE)
def sst2_deberta(folder):
    tokenizer = tok.bert()
    config = encoder(DebertaV2Config, tokenizer, pooler_hidden_size=64)
    return classify(folder, config, tokenizer, texts.reviews(400), warmup_steps=0.1, bf16=True)


@ordinary("four_topics_modernbert", source=ANY)
def four_topics_modernbert(folder):
    tokenizer = tok.bert()
    config = encoder(ModernBertConfig, tokenizer, num_labels=4, cls_token_id=2, sep_token_id=3)
    return classify(folder, config, tokenizer, texts.topics(360))


@ordinary("sst2_gpt2_classifier", source="transformers docs/source/en/model_doc/gpt2.md")
def sst2_gpt2_classifier(folder):
    tokenizer = tok.gpt2()
    tokenizer.pad_token = tokenizer.eos_token
    config = GPT2Config(
        n_embd=64,
        n_layer=2,
        n_head=4,
        n_positions=128,
        vocab_size=len(tokenizer),
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    return classify(folder, config, tokenizer, texts.reviews(400), bf16=True)


@ordinary("sst2_llama_classifier", source=TASK)
def sst2_llama_classifier(folder):
    tokenizer = tok.gpt2(pad_token="<|pad|>")
    return classify(folder, decoder(LlamaConfig, tokenizer), tokenizer, texts.reviews(400))


@ordinary("four_topics_qwen3_classifier", source=ANY)
def four_topics_qwen3_classifier(folder):
    tokenizer = tok.chat()
    config = decoder(Qwen3Config, tokenizer, head_dim=16, num_labels=4)
    return classify(folder, config, tokenizer, texts.topics(360), bf16=True)


def choose(folder, config, tokenizer, **changed):
    """Multiple choice: each beginning is paired with its four endings."""

    def tokenize(batch):
        firsts = [first for first in batch["sent1"] for _ in range(4)]
        seconds = [end for ends in batch["endings"] for end in ends]
        flat = tokenizer(firsts, seconds, truncation=True)
        return {k: [v[i : i + 4] for i in range(0, len(v), 4)] for k, v in flat.items()}

    names = ["sent1", "sent2", "endings"]
    train, held_out = (
        part.map(tokenize, batched=True, remove_columns=names) for part in split(texts.endings(250))
    )
    return Trainer(
        model=AutoModelForMultipleChoice.from_config(config),
        args=arguments(folder, **{**LEARNT_FAST, **changed}),
        train_dataset=train,
        eval_dataset=held_out,
        processing_class=tokenizer,
        data_collator=DataCollatorForMultipleChoice(tokenizer=tokenizer),
        compute_metrics=accuracy,
    )


@ordinary("swag_bert", source=SWAG)
def swag_bert(folder):
    tokenizer = tok.bert()
    return choose(folder, encoder(BertConfig, tokenizer), tokenizer)


@ordinary("swag_roberta", source="transformers docs/source/en/tasks/multiple_choice.md")
def swag_roberta(folder):
    tokenizer = tok.roberta()
    config = encoder(RobertaConfig, tokenizer, type_vocab_size=1)
    return choose(folder, config, tokenizer, weight_decay=0.01, bf16=True)
