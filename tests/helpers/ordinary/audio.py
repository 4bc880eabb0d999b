"""Sounds: classes, letters and words, from Transformers' examples."""

import json

import numpy as np
import torch
from datasets import Dataset
from torch import nn
from transformers import (
    ASTConfig,
    ASTFeatureExtractor,
    ASTForAudioClassification,
    HubertConfig,
    HubertForSequenceClassification,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    Trainer,
    Wav2Vec2Config,
    Wav2Vec2CTCTokenizer,
    Wav2Vec2FeatureExtractor,
    Wav2Vec2ForCTC,
    Wav2Vec2ForSequenceClassification,
    Wav2Vec2Processor,
    WhisperConfig,
    WhisperFeatureExtractor,
    WhisperForConditionalGeneration,
)

from ordinary import tokenizers_of as tok
from ordinary.registry import ordinary
from ordinary.usual import accuracy, arguments, shared

CLASSIFY = "transformers examples/pytorch/audio-classification/run_audio_classification.py"
CTC = "transformers examples/pytorch/speech-recognition/run_speech_recognition_ctc.py"
SPEECH = "transformers examples/pytorch/speech-recognition/run_speech_recognition_seq2seq.py"
RATE = 16_000
TONES = {"a": 300.0, "b": 700.0, "c": 1500.0, "d": 3000.0}
SMALL = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "conv_dim": (16, 16, 16),
    "conv_kernel": (10, 8, 4),
    "conv_stride": (5, 8, 4),
    "num_feat_extract_layers": 3,
    "num_conv_pos_embeddings": 16,
    "num_conv_pos_embedding_groups": 2,
    "do_stable_layer_norm": False,
    "initializer_range": 0.1,
}


def tone(letter: str, draw: np.random.Generator, seconds: float = 0.1) -> np.ndarray:
    time = np.arange(int(RATE * seconds)) / RATE
    wave = np.sin(2 * np.pi * TONES[letter] * time + draw.uniform(0, 6))
    return (wave * draw.uniform(0.5, 1) + draw.normal(0, 0.05, len(time))).astype(np.float32)


def commands(num: int, seed: int = 0) -> list[dict]:
    """Tones of a quarter of a second in one of four pitches."""
    draw = np.random.default_rng(seed)
    labels = draw.integers(4, size=num)
    return [{"audio": tone("abcd"[y], draw, 0.25), "label": int(y)} for y in labels]


def spelled(num: int, seed: int = 0) -> list[dict]:
    """Words of two to four letters, each letter a tone."""
    draw = np.random.default_rng(seed)
    rows = []
    for _ in range(num):
        word = "".join(draw.choice(list(TONES), size=draw.integers(2, 5)))
        rows.append({"audio": np.concatenate([tone(c, draw) for c in word]), "text": word})
    return rows


def classify_sounds(folder, model_class, config, extractor, **changed):
    rows = commands(112)
    name = extractor.model_input_names[0]
    inputs = extractor([row["audio"] for row in rows], sampling_rate=RATE)[name]
    data = Dataset.from_list(
        [
            {name: np.asarray(values), "labels": row["label"]}
            for values, row in zip(inputs, rows, strict=True)
        ]
    )
    return Trainer(
        model=model_class(config),
        args=arguments(folder, **changed),
        train_dataset=data.select(range(16, 112)),
        eval_dataset=data.select(range(16)),
        processing_class=extractor,
        compute_metrics=accuracy,
    )


@ordinary("sounds_wav2vec2", source=CLASSIFY)
def sounds_wav2vec2(folder):
    config = Wav2Vec2Config(**SMALL, num_labels=4, classifier_proj_size=32)
    extractor = Wav2Vec2FeatureExtractor()
    changed = {"learning_rate": 3e-3, "warmup_steps": 0.1, "max_steps": 20}
    return classify_sounds(folder, Wav2Vec2ForSequenceClassification, config, extractor, **changed)


@ordinary("sounds_hubert", source="transformers docs/source/en/tasks/audio_classification.md")
def sounds_hubert(folder):
    config = HubertConfig(**SMALL, num_labels=4, classifier_proj_size=32)
    changed = {"learning_rate": 3e-3, "warmup_steps": 0.1, "max_steps": 20, "bf16": True}
    extractor = Wav2Vec2FeatureExtractor()
    return classify_sounds(folder, HubertForSequenceClassification, config, extractor, **changed)


@ordinary("sounds_spectrogram_transformer", source=CLASSIFY)
def sounds_spectrogram_transformer(folder):
    config = ASTConfig(
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=128,
        max_length=32,
        num_mel_bins=32,
        num_labels=4,
    )
    extractor = ASTFeatureExtractor(num_mel_bins=32, max_length=32)
    trainer = classify_sounds(folder, ASTForAudioClassification, config, extractor)
    parts = trainer.model.audio_spectrogram_transformer.embeddings
    for part in (parts.cls_token, parts.distillation_token, parts.position_embeddings):
        nn.init.trunc_normal_(part, std=0.02)  # no checkpoint has the zeros of a fresh model
    return trainer


def ctc(folder, **changed):
    vocab = {"[PAD]": 0, "[UNK]": 1, "|": 2, **{c: 3 + i for i, c in enumerate(TONES)}}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.json").write_text(json.dumps(vocab))
    tokenizer = Wav2Vec2CTCTokenizer(
        str(folder / "vocab.json"), unk_token="[UNK]", pad_token="[PAD]", word_delimiter_token="|"
    )
    processor = Wav2Vec2Processor(
        feature_extractor=Wav2Vec2FeatureExtractor(return_attention_mask=False),
        tokenizer=tokenizer,
    )
    data = Dataset.from_list(
        [
            {
                "input_values": processor(row["audio"], sampling_rate=RATE)["input_values"][0],
                "labels": tokenizer(row["text"])["input_ids"],
            }
            for row in spelled(112)
        ]
    )

    def collate(features):
        batch = processor.pad(
            [{"input_values": feature["input_values"]} for feature in features],
            padding=True,
            return_tensors="pt",
        )
        labels = tokenizer.pad(
            [{"input_ids": feature["labels"]} for feature in features], return_tensors="pt"
        )
        hidden = labels["attention_mask"].ne(1)
        return {**batch, "labels": labels["input_ids"].masked_fill(hidden, -100)}

    config = Wav2Vec2Config(
        **SMALL,
        vocab_size=len(tokenizer),
        pad_token_id=tokenizer.pad_token_id,
        ctc_loss_reduction="mean",
    )
    return Trainer(
        model=Wav2Vec2ForCTC(config),
        args=arguments(folder, learning_rate=3e-3, warmup_steps=2, max_steps=20, **changed),
        train_dataset=data.select(range(16, 112)),
        eval_dataset=data.select(range(16)),
        processing_class=processor,
        data_collator=collate,
    )


@ordinary("letters_ctc_wav2vec2", source=CTC)
def letters_ctc_wav2vec2(folder):
    return ctc(folder)


@ordinary("letters_ctc_frozen_features", source="transformers docs/source/en/tasks/asr.md")
def letters_ctc_frozen_features(folder):
    trainer = ctc(folder, bf16=True)
    trainer.model.freeze_feature_encoder()
    return trainer


@ordinary("speech_whisper", source=SPEECH)
def speech_whisper(folder):
    tokenizer = tok.roberta()
    extractor = WhisperFeatureExtractor(feature_size=40, chunk_length=1)
    config = WhisperConfig(
        d_model=64,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=128,
        decoder_ffn_dim=128,
        num_mel_bins=40,
        max_source_positions=50,
        max_target_positions=32,
        vocab_size=len(tokenizer),
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        decoder_start_token_id=tokenizer.bos_token_id,
        suppress_tokens=None,
        begin_suppress_tokens=None,
    )
    names = {"a": "Anna", "b": "Boris", "c": "Clara", "d": "David"}
    data = Dataset.from_list(
        [
            {
                "input_features": extractor(row["audio"], sampling_rate=RATE)["input_features"][0],
                "labels": tokenizer(" ".join(names[c] for c in row["text"]))["input_ids"],
            }
            for row in spelled(112)
        ]
    )

    def collate(features):
        inputs = torch.tensor(np.array([f["input_features"] for f in features], dtype=np.float32))
        padded = tokenizer.pad([{"input_ids": f["labels"]} for f in features], return_tensors="pt")
        labels = padded["input_ids"].masked_fill(padded["attention_mask"].ne(1), -100)
        if (labels[:, 0] == config.decoder_start_token_id).all():
            labels = labels[:, 1:]  # the model puts the start token there again
        return {"input_features": inputs, "labels": labels}

    return Seq2SeqTrainer(
        model=WhisperForConditionalGeneration(config),
        args=Seq2SeqTrainingArguments(**shared(folder, warmup_steps=2, bf16=True)),
        train_dataset=data.select(range(16, 112)),
        eval_dataset=data.select(range(16)),
        processing_class=extractor,
        data_collator=collate,
    )
