"""The runtime inside MLServer gives the answers of the package."""

import asyncio
import json

import pandas as pd
import probe_recourse as pr
import pytest
from mlserver.codecs import PandasCodec
from mlserver.errors import InferenceError
from mlserver.settings import ModelParameters, ModelSettings
from mlserver.types import Parameters
from probe_mlserver import ProbeRuntime

PEOPLE = pd.DataFrame({"income": [0.2, 0.4, 0.9], "debt": [0.5, 0.1, 0.2]})


@pytest.fixture
def path(tmp_path):
    model = {
        "format": "probe-model",
        "version": 1,
        "kind": "linear",
        "features": ["income", "debt"],
        "layers": [{"weight": [[2.0, -1.0]], "bias": [-1.0]}],
    }
    path = tmp_path / "model.json"
    path.write_text(json.dumps(model))
    return path


def runtime(path, **extra):
    parameters = ModelParameters(uri=str(path), extra=extra)
    settings = ModelSettings(name="credit", implementation=ProbeRuntime, parameters=parameters)
    model = ProbeRuntime(settings)
    assert asyncio.run(model.load())
    return model


def answers(model, people, **parameters):
    request = PandasCodec.encode_request(people)
    if parameters:
        request.parameters = Parameters(**{**request.parameters.model_dump(), **parameters})
    return PandasCodec.decode_response(asyncio.run(model.predict(request)))


def test_answers_are_those_of_the_package(path):
    found = answers(runtime(path, max_rate=0.05, noise="gaussian:0.1"), PEOPLE)
    expected = pr.Engine(pr.load(path), max_rate=0.05, noise="gaussian:0.1").recourse(PEOPLE)
    assert list(found["status"]) == list(expected["status"])
    for name in ["rate", "income", "debt"]:
        assert list(found[name]) == list(expected[name])


def test_a_request_may_name_the_operation(path):
    found = answers(runtime(path), PEOPLE, operation="score")
    # 2 * income - debt - 1, by hand.
    assert list(found["margin"]) == pytest.approx([-1.1, -0.3, 0.6], abs=1e-12)
    with pytest.raises(InferenceError, match="operation"):
        answers(runtime(path), PEOPLE, operation="guess")


def test_faults_are_named(path):
    with pytest.raises(InferenceError, match="debt"):
        answers(runtime(path), PEOPLE[["income"]])
