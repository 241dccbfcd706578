"""Any endpoint that speaks OpenAI's embeddings: texts in, vectors of one length out.

The openai package makes the request. Nobody waits long for its answer, so nothing is tried again here: the caller comes
back later. The key and the texts appear in no message of ours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

import openai

from workers.models.base import ModelNonsense, ModelRefused, ModelUnavailable

MOST_DIMS = 8_192
_CONNECT_TIMEOUT_S = 5.0
_TRANSIENT = {408, 409, 429}


class Embeddings:
    """An embedding model behind its endpoint. Close it or use `with`."""

    def __init__(
        self,
        *,
        api_key: str,
        model: str,
        base_url: str | None = None,
        timeout_s: float = 20.0,
        most_dims: int = MOST_DIMS,
    ) -> None:
        self.model = model
        self._most_dims = most_dims
        self._client = openai.OpenAI(
            api_key=api_key or "none",  # a local server without keys still needs the header to be there
            base_url=base_url or None,
            timeout=openai.Timeout(timeout_s, connect=min(_CONNECT_TIMEOUT_S, timeout_s)),
            max_retries=0,
        )

    def __repr__(self) -> str:
        return f"Embeddings({self.model!r} at {self._host})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._client.close()

    def embed(self, texts: Sequence[str], timeout_s: float | None = None) -> list[list[float]]:
        """A vector for each text, all of one length. Raises ModelUnavailable, ModelRefused or ModelNonsense."""
        if not texts:
            return []
        more: dict[str, Any] = {} if timeout_s is None else {"timeout": timeout_s}
        try:
            # Without a format the package asks for base64, which not every server speaks.
            answer = self._client.embeddings.create(
                model=self.model, input=list(texts), encoding_format="float", **more
            )
            return self._checked(answer, len(texts))
        except openai.APIStatusError as error:
            said = f"{self._host} answered {error.status_code} to a request for embeddings"
            if error.status_code in _TRANSIENT or error.status_code >= 500:
                raise ModelUnavailable(said) from None
            raise ModelRefused(said) from None
        except openai.APIConnectionError as error:
            raise ModelUnavailable(f"{self._host}: no connection ({type(error.__cause__ or error).__name__})") from None
        except (openai.OpenAIError, ValueError) as error:
            raise ModelNonsense(f"{self._host} gives no embeddings ({type(error).__name__})") from None

    @property
    def _host(self) -> str:
        return urlsplit(str(self._client.base_url)).hostname or ""

    def _checked(self, answer: Any, count: int) -> list[list[float]]:
        """The vectors in the order of the texts. Raises ModelNonsense: nothing that came is believed."""
        given = getattr(answer, "data", None)
        if not isinstance(given, list) or len(given) != count:
            raise ModelNonsense(f"{self._host} gives another number of embeddings than it was asked for")
        found: dict[int, list[float]] = {}
        for place, each in enumerate(given):
            index, vector = getattr(each, "index", place), getattr(each, "embedding", None)
            if not isinstance(vector, list) or not 0 < len(vector) <= self._most_dims:
                raise ModelNonsense(f"{self._host} gives an embedding that is no list of numbers")
            numbers = [float(value) for value in vector if isinstance(value, int | float)]
            if len(numbers) != len(vector) or not all(map(math.isfinite, numbers)) or not any(numbers):
                raise ModelNonsense(f"{self._host} gives an embedding that holds something else than numbers")
            found[index if isinstance(index, int) else place] = numbers
        if set(found) != set(range(count)) or len({len(vector) for vector in found.values()}) != 1:
            raise ModelNonsense(f"{self._host} gives embeddings of several lengths, or not one for each text")
        return [found[place] for place in range(count)]
