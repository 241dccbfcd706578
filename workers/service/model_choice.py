"""Which model answers: the one that the settings name, else the endpoint whose key is set, else the offline analyst.

The client of an endpoint is half a second of imports. Only an installation that asks one reads it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from core.errors import SettingsError
from core.settings import Settings, model_key
from workers.models.base import Model
from workers.models.scripted import ScriptedModel
from workers.offline import OfflineAnalyst

if TYPE_CHECKING:
    from pydantic import SecretStr

    from core.team_settings import ModelSettings, OfferedModelSettings
    from workers.models.openai_model import OpenAIModel


@contextmanager
def opened_model(settings: Settings) -> Iterator[Model]:
    """The model of this installation; its connections are closed with the block. Raises as `choose_model` does."""
    model = choose_model(settings)
    with model if isinstance(model, AbstractContextManager) else nullcontext():
        yield model


@contextmanager
def offered_models(settings: Settings) -> Iterator[dict[str, Model]]:
    """The further models of `[models]`, by name; their connections are closed with the block."""
    with ExitStack() as stack:
        found: dict[str, Model] = {}
        for name, offered in settings.models.items():
            key = model_key(settings, name)
            model = _client(settings, offered, offered.model, key, offered.base_url or settings.openai_base_url)
            found[name] = stack.enter_context(model)
        yield found


@contextmanager
def opened_second(settings: Settings, models: Mapping[str, Model]) -> Iterator[Model | None]:
    """The model that writes the second way to a report's figures, if the team names one: of `models`, or another one at
    the same endpoint. None if the model of the turn does it."""
    name = settings.check.second_model
    if settings.check.second_route == "off" or not name or name == settings.openai_model:
        yield None
    elif name in models:
        yield models[name]
    elif settings.model_choice != "openai":
        yield None
    else:
        with _endpoint(settings, name) as second:
            yield second


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
    return _endpoint(settings, settings.openai_model)


def _endpoint(settings: Settings, model: str) -> OpenAIModel:
    return _client(settings, settings.model, model, settings.openai_api_key, settings.openai_base_url)


def _client(
    settings: Settings,
    how: ModelSettings | OfferedModelSettings,
    model: str,
    key: SecretStr | None,
    base_url: str | None,
) -> OpenAIModel:
    from workers.models.openai_model import OpenAIModel  # noqa: PLC0415 - see the top of the module

    return OpenAIModel(
        api_key=key.get_secret_value() if key else "",
        base_url=base_url,
        model=model,
        mode=how.mode,
        sees=how.sees,
        timeout_s=settings.model.timeout_s,
        max_retries=settings.model.max_retries,
    )
