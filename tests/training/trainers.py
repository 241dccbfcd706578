"""Loads what `threadbook export` wrote, as a person who trains would: `datasets`, TRL's formatters, a step of training.

    python trainers.py FOLDER

Runs in an environment of its own (`make check-trl`), which has datasets, trl and torch and nothing of Threadbook. No
model is fetched: the tokenizer is made of the files themselves, the model is tiny and its weights are drawn at random.
The chat templates are those that TRL ships for real models. Ends with 1 when a file cannot be used.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
os.environ.setdefault("HF_HOME", tempfile.mkdtemp(prefix="trainers-"))

import datasets
import transformers
import trl
from loading import load_all
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import DPOConfig, DPOTrainer, SFTConfig, SFTTrainer, chat_template_utils
from trl.data_utils import apply_chat_template, is_conversational

TEMPLATES = ("qwen2_5", "qwen3", "llama3_1")
"""Chat templates of TRL that know calls of tools."""
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]


def main(folder: Path) -> None:
    """Use each file in `folder`. Raises what goes wrong."""
    warnings.simplefilter("ignore", FutureWarning)  # what transformers will rename is TRL's to follow
    transformers.utils.logging.set_verbosity_error()
    print(f"datasets {datasets.__version__}, trl {trl.__version__}, transformers {transformers.__version__}")
    loaded = load_all(folder)
    tokenizer = tokenizer_of(folder)
    for name in ("sft", "preferences"):
        for template in TEMPLATES:
            format_with(loaded[name]["train"], tokenizer, name, template)
    tokenizer.chat_template = chat_template_utils.qwen3_training_chat_template
    train_sft(loaded["sft"], tokenizer)
    train_dpo(loaded["preferences"], tokenizer)


def tokenizer_of(folder: Path) -> PreTrainedTokenizerFast:
    """A tokenizer over bytes, made of the files: it can write any text."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    how = trainers.BpeTrainer(vocab_size=2_000, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False)
    made.train([str(file) for file in sorted(folder.glob("*.jsonl"))], how)
    return PreTrainedTokenizerFast(tokenizer_object=made, eos_token=SPECIAL[2], pad_token=SPECIAL[0])


def format_with(rows: Any, tokenizer: PreTrainedTokenizerFast, name: str, template: str) -> None:
    """TRL's formatter with one of its templates: the words of each record stand in the text."""
    tokenizer.chat_template = getattr(chat_template_utils, f"{template}_chat_template")
    for record in rows:
        assert is_conversational(record), f"{name}: TRL does not see a conversation"
        given = dict(record)
        if "tools" in given:
            given["tools"] = json.loads(given["tools"])
        texts = apply_chat_template(given, tokenizer)
        sides = {"sft": ["text"], "preferences": ["prompt", "chosen", "rejected"]}[name]
        assert [side for side in sides if texts[side].strip()] == sides, f"{name}: {template} leaves a side empty"
        if name == "preferences":
            assert texts["chosen"] != texts["rejected"], f"{name}: {template} drops what differs"
        said = "".join(texts.values())
        for message in (each for value in given.values() if isinstance(value, list) for each in value):
            for call in message.get("tool_calls") or ():
                assert call["function"]["name"] in said, f"{name}: {template} drops a call"
    print(f"{name}: TRL's formatter with the template of {template}: {len(rows)} records")


def tiny_model(tokenizer: PreTrainedTokenizerFast) -> LlamaForCausalLM:
    """A model of some thousand weights: it shows that the batches fit, and learns nothing."""
    size = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    return LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer), max_position_embeddings=65_536, **size))


def step(folder: str, **more: Any) -> dict[str, Any]:
    """Settings of one step of training on the CPU."""
    return {
        "output_dir": folder,
        "max_steps": 1,
        "per_device_train_batch_size": 1,
        "report_to": "none",
        "use_cpu": True,
        "bf16": False,
        "save_strategy": "no",
        "logging_strategy": "no",
        "disable_tqdm": True,
        **more,
    }


def train_sft(found: datasets.DatasetDict, tokenizer: PreTrainedTokenizerFast) -> None:
    """A step of SFTTrainer on the messages alone, where only what the assistant says is learned."""
    with tempfile.TemporaryDirectory() as folder:
        how = SFTConfig(**step(folder, assistant_only_loss=True, max_length=None))
        keep = {split: rows.select_columns(["messages", "tools"]) for split, rows in found.items()}
        trainer = SFTTrainer(tiny_model(tokenizer), how, train_dataset=keep["train"], processing_class=tokenizer)
        batch = next(iter(trainer.get_train_dataloader()))
        learned = int((batch["labels"] != -100).sum())
        assert 0 < learned < batch["labels"].numel(), "SFTTrainer learns all of a record, or nothing"
        loss = trainer.train().training_loss
    print(f"sft: a step of SFTTrainer, {learned} of {batch['labels'].numel()} tokens are learned, loss {loss:.2f}")


def train_dpo(found: datasets.DatasetDict, tokenizer: PreTrainedTokenizerFast) -> None:
    """A step of DPOTrainer on the pairs."""
    with tempfile.TemporaryDirectory() as folder:
        how = DPOConfig(**step(folder, max_length=None))
        pairs = found["train"].select_columns(["prompt", "chosen", "rejected"])
        trainer = DPOTrainer(
            tiny_model(tokenizer), tiny_model(tokenizer), how, train_dataset=pairs, processing_class=tokenizer
        )
        loss = trainer.train().training_loss
    print(f"preferences: a step of DPOTrainer on {len(pairs)} pairs, loss {loss:.2f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
