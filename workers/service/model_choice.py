"""Which model answers: the one that the settings name, else the endpoint whose key is set, else the offline analyst."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from core.errors import SettingsError
from core.settings import Settings
from workers.models.base import Model
from workers.models.openai_model import OpenAIModel
from workers.models.scripted import ScriptedModel
from workers.offline import OfflineAnalyst


@contextmanager
def opened_model(settings: Settings) -> Iterator[Model]:
    """The model of this installation; its connections are closed with the block. Raises as `choose_model` does."""
    model = choose_model(settings)
    with model if isinstance(model, OpenAIModel) else nullcontext():
        yield model


def choose_model(settings: Settings) -> Model:
    """The model of this installation. Raises SettingsError when the named model cannot be used."""
    kind, _, path = settings.model_choice.partition(":")
    has_endpoint = settings.openai_api_key is not None or bool(settings.openai_base_url)
    kind = kind or ("openai" if has_endpoint else "offline")
    native = settings.model.mode == "native"
    if kind == "scripted":
        return ScriptedModel.load(Path(path), native_tools=native)
    if kind == "offline":
        return OfflineAnalyst()
    if not has_endpoint:
        raise SettingsError("THREADBOOK_MODEL is openai, but neither OPENAI_API_KEY nor OPENAI_BASE_URL is set")
    return OpenAIModel(
        api_key=settings.openai_api_key.get_secret_value() if settings.openai_api_key else "",
        base_url=settings.openai_base_url,
        model=settings.openai_model,
        mode=settings.model.mode,
        timeout_s=settings.model.timeout_s,
        max_retries=settings.model.max_retries,
    )
