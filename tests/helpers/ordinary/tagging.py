"""Token classification and extractive question answering, from Transformers' examples."""

from transformers import (
    AutoModelForQuestionAnswering,
    AutoModelForTokenClassification,
    BertConfig,
    DataCollatorForTokenClassification,
    DataCollatorWithPadding,
    DebertaV2Config,
    DistilBertConfig,
    ElectraConfig,
    RobertaConfig,
    Trainer,
    default_data_collator,
)

from ordinary import texts
from ordinary import tokenizers_of as tok
from ordinary.models_of import WIDE, encoder
from ordinary.registry import ordinary
from ordinary.usual import accuracy, arguments, split

NER = "transformers examples/pytorch/token-classification/run_ner.py"
NER_TASK = "transformers docs/source/en/tasks/token_classification.md"
QA = "transformers examples/pytorch/question-answering/run_qa.py"
QA_TASK = "transformers docs/source/en/tasks/question_answering.md"
TAGS = {0: "O", 1: "B-PER", 2: "B-LOC", 3: "B-ORG"}


def tag(folder, config, tokenizer, **changed):
    """Tag the first token of each word; other tokens have the label -100."""

    def tokenize_and_align_labels(batch):
        tokenized = tokenizer(batch["tokens"], truncation=True, is_split_into_words=True)
        labels = []
        for i, tags in enumerate(batch["ner_tags"]):
            words = tokenized.word_ids(batch_index=i)
            firsts = [None, *words[:-1]]
            labels.append(
                [
                    -100 if word is None or word == before else tags[word]
                    for word, before in zip(words, firsts, strict=True)
                ]
            )
        tokenized["labels"] = labels
        return tokenized

    train, held_out = (
        part.map(tokenize_and_align_labels, batched=True) for part in split(texts.entities(144))
    )
    config.id2label, config.label2id = TAGS, {tag: i for i, tag in TAGS.items()}
    return Trainer(
        model=AutoModelForTokenClassification.from_config(config),
        args=arguments(folder, **changed),
        train_dataset=train,
        eval_dataset=held_out,
        processing_class=tokenizer,
        data_collator=DataCollatorForTokenClassification(tokenizer),
        compute_metrics=accuracy,
    )


def distilbert(tokenizer):
    return DistilBertConfig(
        dim=64, n_layers=2, n_heads=4, hidden_dim=128, vocab_size=len(tokenizer), **WIDE
    )


@ordinary("ner_bert", source=NER)
def ner_bert(folder):
    tokenizer = tok.bert()
    return tag(folder, encoder(BertConfig, tokenizer), tokenizer)


@ordinary("ner_roberta", source=NER)
def ner_roberta(folder):
    tokenizer = tok.roberta()
    return tag(folder, encoder(RobertaConfig, tokenizer, type_vocab_size=1), tokenizer, bf16=True)


@ordinary("ner_distilbert", source=NER_TASK)
def ner_distilbert(folder):
    tokenizer = tok.bert()
    every = {"eval_strategy": "steps", "eval_steps": 8, "weight_decay": 0.01}
    return tag(folder, distilbert(tokenizer), tokenizer, **every)


@ordinary("ner_deberta", source=NER)
def ner_deberta(folder):
    tokenizer = tok.bert()
    return tag(folder, encoder(DebertaV2Config, tokenizer), tokenizer, bf16=True)


@ordinary("ner_electra", source=NER)
def ner_electra(folder):
    tokenizer = tok.bert()
    config = encoder(ElectraConfig, tokenizer, embedding_size=64)
    return tag(folder, config, tokenizer, warmup_steps=2, lr_scheduler_type="cosine")


def answer(folder, config, tokenizer, rows=None, **changed):
    """Find the answer in the context: the labels are its first and last token."""

    def prepare(batch):
        tokenized = tokenizer(
            batch["question"],
            batch["context"],
            truncation="only_second",
            max_length=48,
            return_offsets_mapping=True,
            padding="max_length",
        )
        starts, ends = [], []
        for i, offsets in enumerate(tokenized.pop("offset_mapping")):
            found = batch["answers"][i]
            if not found["text"]:
                starts.append(0)
                ends.append(0)
                continue
            first = found["answer_start"][0]
            last = first + len(found["text"][0])
            inside = [
                k
                for k, (a, b) in enumerate(offsets)
                if tokenized.sequence_ids(i)[k] == 1 and a < last and b > first
            ]
            starts.append(inside[0])
            ends.append(inside[-1])
        return {**tokenized, "start_positions": starts, "end_positions": ends}

    rows = rows or texts.questions(144)
    train, held_out = (
        part.map(prepare, batched=True, remove_columns=part.column_names) for part in split(rows)
    )
    padded = changed.pop("collator", default_data_collator)
    return Trainer(
        model=AutoModelForQuestionAnswering.from_config(config),
        args=arguments(folder, **changed),
        train_dataset=train,
        eval_dataset=held_out,
        processing_class=tokenizer,
        data_collator=padded,
    )


@ordinary("squad_bert", source=QA)
def squad_bert(folder):
    tokenizer = tok.bert()
    return answer(folder, encoder(BertConfig, tokenizer), tokenizer, learning_rate=2e-3)


@ordinary("squad_distilbert", source=QA_TASK)
def squad_distilbert(folder):
    tokenizer = tok.bert()
    changed = {"learning_rate": 2e-3, "weight_decay": 0.01, "bf16": True}
    return answer(folder, distilbert(tokenizer), tokenizer, **changed)


@ordinary("squad_v2_roberta", source=QA)
def squad_v2_roberta(folder):
    rows = texts.questions(144)
    for row in rows[::4]:  # questions without an answer point to the first token
        row["question"] = "When was the harbour built?"
        row["answers"] = {"text": [], "answer_start": []}
    tokenizer = tok.roberta()
    config = encoder(RobertaConfig, tokenizer, type_vocab_size=1)
    return answer(folder, config, tokenizer, rows, learning_rate=2e-3)


@ordinary("squad_electra", source=QA)
def squad_electra(folder):
    tokenizer = tok.bert()
    config = encoder(ElectraConfig, tokenizer, embedding_size=64)
    collator = DataCollatorWithPadding(tokenizer)
    return answer(folder, config, tokenizer, learning_rate=2e-3, bf16=True, collator=collator)
