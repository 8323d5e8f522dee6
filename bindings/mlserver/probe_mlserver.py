"""Probe as a runtime of MLServer.

``model-settings.json``::

    {
      "name": "credit",
      "implementation": "probe_mlserver.ProbeRuntime",
      "parameters": {
        "uri": "./model.json",
        "extra": {"operation": "recourse", "max_rate": 0.1, "noise": "gaussian:0.05"}
      }
    }

``operation`` is ``recourse`` (the default), ``frontier``, ``rate`` or ``score``. The other values
are keywords of :class:`probe_recourse.Engine`. A request may name another operation in its
parameters. The answers are those of the Python package.
"""

from __future__ import annotations

import asyncio
from typing import Any

import probe_recourse as pr
from mlserver import MLModel
from mlserver.codecs import PandasCodec
from mlserver.errors import InferenceError
from mlserver.types import InferenceRequest, InferenceResponse
from mlserver.utils import get_model_uri

OPERATIONS = ("recourse", "frontier", "rate", "score")


class ProbeRuntime(MLModel):
    """Answers people with a model of Probe, or of a library that Probe imports."""

    async def load(self) -> bool:
        uri = await get_model_uri(self.settings)
        parameters = self.settings.parameters
        question = dict(parameters.extra or {}) if parameters else {}
        self._operation = _operation(question.pop("operation", "recourse"))
        self._engine = pr.Engine(pr.load(uri), **question)
        return True

    async def predict(self, payload: InferenceRequest) -> InferenceResponse:
        given: dict[str, Any] = payload.parameters.model_dump() if payload.parameters else {}
        operation = _operation(given.get("operation") or self._operation)
        people = self.decode_request(payload, default_codec=PandasCodec)
        # The interpreter is free meanwhile.
        try:
            answers = await asyncio.to_thread(getattr(self._engine, operation), people)
        except ValueError as error:
            raise InferenceError(str(error)) from error
        return PandasCodec.encode_response(self.name, answers, self.version)


def _operation(name: str) -> str:
    if name not in OPERATIONS:
        raise InferenceError(f"operation: '{name}' is not one of {', '.join(OPERATIONS)}")
    return name
