"""The engine: a request, answered for tables of people."""

from __future__ import annotations

import hashlib
import html
import json
import logging
import math
import pickle
import re
import warnings
from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import pyarrow as pa

from . import _probe
from ._frontier import Frontier
from ._model import Model, as_model
from ._progress import progress as _progress
from ._schema import Schema
from ._tables import Frame, How, carry, plain, settle_types, to_arrow
from .errors import UnsupportedError
from .noise import Noise

_log = logging.getLogger("probe_recourse")


class ProbeWarning(UserWarning):
    """Something that is probably not what was meant."""


class Engine:
    """Finds for each person the cheapest change that turns a model's no into a yes, and keeps it a
    yes although people miss what they aim at.

    The settings are those of ``probe recourse`` with underscores; ``probe recourse --help`` lists
    them all. The same request has the same answer, to the bit, from the command line, from Rust and
    from here, on any number of threads.

    :param model: a :class:`Model`, the path of a model file, or an estimator of scikit-learn,
        XGBoost, LightGBM or PyTorch.
    :param schema: a :class:`Schema`, the path of one, or ``False`` to ignore the model's own.
    :param max_rate: the share of noisy implementations that may fail.
    :param noise: how people miss, such as ``Gaussian(0.1)``; or ``sigma``, or ``sigma2``.
    :param favourable_class: the class that people want, by its name or as 0 or 1; by default the
        schema's ``favourable``, or else the second.
    :param effort: how much work one person is worth: ``quick``, ``normal`` or ``thorough``.
    :param certify: whether sampled rates are certified.
    :param reference: rows like those that the model was trained on, for methods that need data.
    :param threads: 0 for all cores.

    >>> import probe_recourse as pr, pyarrow as pa
    >>> model = pr.Model.linear(["income", "debt"], [1.0, -1.0], 0.0)
    >>> engine = pr.Engine(model, noise=pr.Gaussian(0.1), max_rate=0.1)
    >>> people = pa.table({"income": [0.2, 0.9], "debt": [0.5, 0.1]})
    >>> engine.recourse(people).column("status").to_pylist()
    ['certified', 'favourable']
    """

    def __init__(
        self,
        model: Model | str | PathLike[str] | Any,
        *,
        schema: Schema | Mapping[str, Any] | str | PathLike[str] | bool | None = None,
        max_rate: float = 0.1,
        noise: Noise | str | None = None,
        sigma: float | None = None,
        sigma2: float | None = None,
        noise_on: str | None = None,
        model_shift: str | None = None,
        cost: str | None = None,
        bounds: tuple[float, float] | str | None = None,
        strict_bounds: bool = False,
        immutable: Sequence[str] = (),
        max_changes: int | None = None,
        prefer: Sequence[str] = (),
        avoid: Sequence[str] = (),
        budget: float | None = None,
        options: int | None = None,
        tolerance: bool = False,
        relax: bool = False,
        method: str | None = None,
        option: Mapping[str, Any] | Sequence[str] = (),
        paper_text: bool = False,
        effort: str | None = None,
        reference: Any = None,
        favourable_class: Any = None,
        threshold: float | None = None,
        threshold_prob: float | None = None,
        confidence: float | None = None,
        confidence_scope: str | None = None,
        rows: int | None = None,
        aim: float | None = None,
        certify: bool = True,
        also_favourable: bool = False,
        seed: int = 0,
        threads: int = 0,
    ) -> None:
        self.model = as_model(model)
        self._given = _schema_of(schema)
        self._reference = None if reference is None else to_arrow(reference, "reference").table
        if not hasattr(threads, "__index__") or threads.__index__() < 0:
            raise ValueError(f"threads: expected 0 or a number of threads, found {threads!r}")
        self.threads = threads.__index__()
        chosen = self._favourable(favourable_class)
        if threshold_prob is not None:
            if self.model._scale == "distance":
                raise UnsupportedError(
                    "threshold_prob",
                    "this model gives no probabilities; threshold is a cut-off on its margin",
                )
            if self.model._scale == "probability":
                # The margin of this model is the probability minus one half.
                threshold, threshold_prob = _rate("threshold_prob", threshold_prob) - 0.5, None
        self._noise = None
        if str(noise).startswith("file:"):
            # Keep the content, because another process may not have the file.
            self._noise = Path(str(noise)[5:]).read_bytes()
        named = {
            "max_rate": max_rate,
            "noise": noise,
            "sigma": sigma,
            "sigma2": sigma2,
            "noise_on": noise_on,
            "model_shift": model_shift,
            "cost": cost,
            "bounds": bounds,
            "strict_bounds": strict_bounds,
            "immutable": immutable,
            "max_changes": max_changes,
            "prefer": prefer,
            "avoid": avoid,
            "budget": budget,
            "options": options,
            "tolerance": tolerance,
            "relax": relax,
            "method": method,
            "option": _settings(option),
            "paper_text": paper_text,
            "effort": effort,
            "favourable_class": chosen,
            "threshold": threshold,
            "threshold_prob": threshold_prob,
            "confidence": confidence,
            "confidence_scope": confidence_scope,
            "rows": rows,
            "aim": aim,
            "no_certify": not certify,
            "also_favourable": also_favourable,
            "seed": seed,
        }
        self._request = request_of(named)
        self._per_file = confidence_scope == "file" and rows is None
        # If the confidence is divided over the rows of a table, each table needs its own engine.
        # This one then only provides the names of the features.
        self._native = self._make(1 if self._per_file else None)
        self._key: str | None = None

    def _favourable(self, given: Any) -> int | None:
        """The index of the favourable class, 0 or 1: given by index or name, else by the schema."""
        classes = self.model.classes
        if classes is None:
            return given if given is None else int(given)
        if given is not None:
            for at, label in enumerate(classes):
                if given == label and isinstance(given, str) == isinstance(label, str):
                    return at
            if given in (0, 1) and not isinstance(given, str):
                return int(given)
            raise ValueError(
                f"favourable_class: {given!r} is no class of the model "
                f"(it has: {classes[0]!r}, {classes[1]!r})"
            )
        schema = (
            self._given
            if isinstance(self._given, Schema)
            else self.model.schema
            if self._given is None
            else None
        )
        named = None if schema is None else schema.to_dict().get("favourable")
        for at, label in enumerate(classes):
            if named is not None and str(label) == named:
                return at
        if any(isinstance(label, str) for label in classes):
            first, second = classes[0], classes[1]
            said = (
                f"the favourable class is taken to be {second!r}, "
                f"the second of {first!r} and {second!r}"
            )
            warnings.warn(
                f"{said}; favourable_class, or favourable in the schema, says otherwise",
                ProbeWarning,
                stacklevel=3,
            )
        return None

    def _make(self, rows: int | None, quiet: bool = False) -> _probe.Engine:
        """The Rust engine; with ``rows``, the confidence is divided over this many rows."""
        given = self._given
        request = self._request if rows is None else {**self._request, "rows": rows}
        native = _probe.Engine(
            self.model._native,
            given._native if isinstance(given, Schema) else None,
            json.dumps(request),
            self._reference,
            self._noise,
            (given is False, True),
        )
        notes, warned = native.said
        for note in notes:
            _log.info(note)
        for text in () if quiet else warned:
            warnings.warn(text, ProbeWarning, stacklevel=4)
        return native

    def _engine(self, n_rows: int) -> _probe.Engine:
        if not self._per_file:
            return self._native
        return self._make(max(n_rows, 1), quiet=True)

    def _frame(
        self, people: Any, ids: Sequence[str], ignore_extra: bool, name: str = "people"
    ) -> tuple[Frame, list[str], pa.Table]:
        """The table, the names of its ids, and the columns that the engine gets."""
        wanted = [ids] if isinstance(ids, str) else list(ids)
        known = {*self.features, *wanted}
        frame = to_arrow(people, name, known.__contains__ if ignore_extra else None)
        names = _ids(wanted, frame.table, self.features)
        return frame, names, frame.table.drop_columns(names) if names else frame.table

    @property
    def meta(self) -> dict[str, Any]:
        """The settings of every answer: version, method, noise, rate, model, seed."""
        meta: dict[str, Any] = json.loads(self._native.meta)
        return meta

    @property
    def features(self) -> list[str]:
        """The names of the features, as in tables of people."""
        return [name for name, _ in self._native.features]

    def recourse(
        self,
        people: Any,
        *,
        ids: Sequence[str] = (),
        ignore_extra: bool = False,
        errors: str = "raise",
        progress: bool | None = None,
    ) -> Any:
        """An answer for each person, as the same kind of table as ``people``.

        Columns: ``row``, ``status`` (certified, found, none, favourable), ``reason``, ``cost``,
        ``rate``, ``rate_upper``, ``best_rate``, ``changed``, ``outside_range``, ``cost_lower`` (no
        answer costs less), ``proven`` (whether the status is proven), then the advised values of
        the features, then ``ids``.

        :param ids: columns to copy to the result.
        :param ignore_extra: ignore columns that are neither features nor ids, instead of rejecting
            the table.
        :param errors: ``raise``, or ``none``: a row that cannot be read then has status ``none``
            and the error as its reason.
        :param progress: whether to show a progress bar; by default in a terminal or a notebook.
        """
        if errors not in ("raise", "none"):
            raise ValueError(f"errors: expected 'raise' or 'none', found '{errors}'")
        frame, names, inner = self._frame(people, ids, ignore_extra)
        engine = self._engine(inner.num_rows)
        with _progress(progress, inner.num_rows) as tell:
            how = How(ignore_extra, self.threads, tell)
            try:
                if frame.gather is not None:
                    return frame.gather(
                        engine.recourse_columns(inner, how), dict(engine.features), names
                    )
                result = pa.table(engine.recourse(inner, how))
            except ValueError as error:
                if errors == "raise" or _row_of(error) is None:
                    raise
                how.progress = None
                result = self._without_bad_rows(engine, inner, how)
        return frame.back(settle_types(result, inner, dict(engine.features)), names)

    def _without_bad_rows(self, engine: _probe.Engine, people: pa.Table, how: How) -> pa.Table:
        """The answers if some rows cannot be read."""
        bad: dict[int, str] = {}
        for start in range(0, people.num_rows, 1024):
            part, first = people.slice(start, 1024), 0
            while first < part.num_rows:
                # Reading fails, not answering, so that scoring is enough to find bad rows. The
                # error names the first one.
                try:
                    engine.score(part.slice(first), How(how.ignore_extra, 1, None))
                    break
                except ValueError as fault:
                    row = _row_of(fault)
                    if row is None:
                        raise
                    first += row + 1
                    bad[start + first - 1] = str(fault)
        while True:
            good = [row for row in range(people.num_rows) if row not in bad]
            try:
                found = pa.table(engine.recourse(people.take(pa.array(good, pa.int64())), how))
                break
            except ValueError as fault:
                row = _row_of(fault)
                if row is None:
                    raise
                bad[good[row]] = str(fault)
        rows = pa.array([good[row] for row in found.column("row").to_pylist()], pa.int64())
        parts = [found.set_column(0, "row", rows)]
        for row, why in bad.items():
            named = re.sub(r"^(?:people|points): row \d+", f"people: row {row}", why)
            parts.append(_refused(found.schema, people.slice(row, 1), row, named, engine.n_options))
        whole = pa.concat_tables(parts, promote_options="permissive")
        keys = [("row", "ascending")] + (
            [("option", "ascending")] if "option" in whole.column_names else []
        )
        return whole.sort_by(keys)

    def records(
        self,
        people: Any,
        *,
        ids: Sequence[str] = (),
        ignore_extra: bool = False,
        progress: bool | None = None,
    ) -> list[dict[str, Any]]:
        """The complete answers, as ``--format jsonl`` writes them: changes by feature, tolerances
        and the limits that prevent an answer.
        """
        frame, names, _ = self._frame(people, ids, ignore_extra)
        table = frame.table
        with _progress(progress, table.num_rows) as tell:
            how = How(ignore_extra, self.threads, tell, names)
            texts = self._engine(table.num_rows).records(plain(table, names), how)
        return [json.loads(text) for text in texts]

    def letters(
        self,
        people: Any,
        *,
        form: str = "text",
        language: str = "en",
        templates: str | PathLike[str] | None = None,
        ids: Sequence[str] = (),
        ignore_extra: bool = False,
        progress: bool | None = None,
    ) -> list[str]:
        """A letter to each person, in their own units.

        :param form: ``text``, ``markdown`` or ``html``.
        :param language: ``en`` or ``de``, or one of your templates.
        :param templates: a template file, or a folder of them; see docs/letters.md.
        """
        frame, names, _ = self._frame(people, ids, ignore_extra)
        table = frame.table
        with _progress(progress, table.num_rows) as tell:
            how = How(ignore_extra, self.threads, tell, names)
            return self._engine(table.num_rows).letters(
                plain(table, names),
                how,
                (form, language, None if templates is None else fspath(templates)),
            )

    def frontier(
        self,
        people: Any,
        rates: Sequence[float] | float | None = None,
        *,
        ids: Sequence[str] = (),
        ignore_extra: bool = False,
        progress: bool | None = None,
    ) -> Frontier:
        """Cost against failure rate: the answer at each of ``rates``, for each person.

        >>> import probe_recourse as pr, pyarrow as pa
        >>> engine = pr.Engine(pr.Model.linear(["x"], [1.0], 0.0), sigma=0.1)
        >>> front = engine.frontier(pa.table({"x": [-1.0]}), rates=[0.4, 0.1])
        >>> [round(cost, 3) for cost in front.frame.column("cost").to_pylist()]
        [1.025, 1.128]
        """
        frame, names, inner = self._frame(people, ids, ignore_extra)
        engine = self._engine(inner.num_rows)
        wanted = (
            None if rates is None else [rates] if isinstance(rates, (int, float)) else list(rates)
        )
        request = json.dumps(request_of({"rates": wanted}))
        with _progress(progress, inner.num_rows) as tell:
            how = How(ignore_extra, self.threads, tell)
            found = pa.table(engine.frontier(inner, how, request))
        found = settle_types(found, inner, dict(engine.features))
        return Frontier(carry(found, frame.table, names), frame.back(found, names), names)

    def rate(
        self,
        points: Any,
        *,
        origins: Any = None,
        estimator: str | None = None,
        samples: int | None = None,
        ids: Sequence[str] = (),
        ignore_extra: bool = False,
        progress: bool | None = None,
    ) -> Any:
        """The invalidation rate of given points, as the same kind of table as ``points``.

        Columns: ``favourable``, ``margin``, ``rate``, ``std_error``, ``lower``, ``upper``,
        ``estimator``.

        :param origins: the people to whom the points were advised, row by row; needed if the noise
            depends on the change.
        """
        frame, names, inner = self._frame(points, ids, ignore_extra, "points")
        request = json.dumps(request_of({"estimator": estimator, "samples": samples}))
        came_from = (
            None
            if origins is None
            else to_arrow(origins, "origins", set(self.features).__contains__).table
        )
        with _progress(progress, inner.num_rows) as tell:
            how = How(ignore_extra, self.threads, tell)
            found = pa.table(self._engine(inner.num_rows).rate(inner, how, request, came_from))
        return frame.back(found, names)

    def score(self, points: Any, *, ids: Sequence[str] = (), ignore_extra: bool = False) -> Any:
        """Decisions and margins of the model for given points, without noise."""
        frame, names, inner = self._frame(points, ids, ignore_extra, "points")
        found = pa.table(
            self._engine(inner.num_rows).score(inner, How(ignore_extra, self.threads, None))
        )
        return frame.back(found, names)

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        del state["_native"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        # Warnings were given when the engine was first created.
        self._native = self._make(1 if self._per_file else None, quiet=True)

    @property
    def key(self) -> str:
        """A hash that is equal for engines that give the same answers."""
        if self._key is None:
            parts = (self.model, self._given, self._request, self._reference, self._noise)
            self._key = hashlib.sha256(_dumps(parts)).hexdigest()
        return self._key

    def __repr__(self) -> str:
        def differs(name: str, value: Any) -> bool:
            return value is not False and value not in ([], {}) and (name, value) != ("seed", 0)

        given = [(name, value) for name, value in self._request.items() if differs(name, value)]
        settings = [f"{name}={value!r}" for name, value in given]
        return f"Engine({', '.join([repr(self.model), *settings])})"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html.escape(name)}</td><td>{html.escape(str(value))}</td></tr>"
            for name, value in self.meta.items()
            if value not in (None, {}, []) and name != "note"
        )
        return f"<b>{html.escape(repr(self.model))}</b><table>{rows}</table>"


def _schema_of(given: Any) -> Schema | bool | None:
    """What was given as a schema: one, a document, a path, or that there is none."""
    if given is None or given is False or isinstance(given, Schema):
        return given
    if isinstance(given, Mapping):
        return Schema.from_dict(dict(given))
    if isinstance(given, (str, PathLike)):
        return False if fspath(given) == "none" else Schema.load(given)
    raise TypeError(
        f"schema: expected a Schema, a document, a path or False, found {type(given).__name__}"
    )


def _dumps(value: Any) -> bytes:
    """A pickle. If cloudpickle is installed, it may hold functions that cannot be imported."""
    try:
        import cloudpickle
    except ImportError:
        try:
            from pyspark import cloudpickle
        except ImportError:
            return pickle.dumps(value)
    content: bytes = cloudpickle.dumps(value)
    return content


def _row_of(error: ValueError) -> int | None:
    """The row that an error is about, if it is about one."""
    found = re.match(r"(?:people|points): row (\d+)", str(error))
    return None if found is None else int(found[1])


def _ids(ids: list[str], table: pa.Table, features: list[str]) -> list[str]:
    for at, name in enumerate(ids):
        if name not in table.column_names:
            raise ValueError(
                f"ids: no column '{name}' (there are: {', '.join(table.column_names)})"
            )
        if name in features or name in ids[:at]:
            what = "is a feature" if name in features else "is given twice"
            raise ValueError(f"ids: '{name}' {what}")
    return ids


def _refused(schema: pa.Schema, person: pa.Table, row: int, why: str, options: int) -> pa.Table:
    """What is said of a row that cannot be read."""
    known = {
        "row": row,
        "status": "none",
        "reason": f"bad-row: {why}",
        "changed": 0,
        "cost_lower": 0.0,
        "proven": False,
    }
    raw = person.to_pylist()[0]

    def value(field: pa.Field, option: int) -> Any:
        if field.name == "option" and options > 1:
            return option
        if field.name in known:
            return known[field.name]
        came = raw.get(field.name)
        if pa.types.is_floating(field.type) and not isinstance(came, (int, float)):
            return None
        return str(came) if pa.types.is_string(field.type) and came is not None else came

    rows = [{field.name: value(field, option) for field in schema} for option in range(options)]
    return pa.Table.from_pylist(
        rows, schema=pa.schema([field.with_nullable(True) for field in schema])
    )


def _rate(name: str, value: float) -> float:
    if not 0 < float(value) < 1:
        raise ValueError(f"{name}: must be between 0 and 1, both excluded, got {value}")
    return float(value)


def _plain(name: str, value: Any) -> Any:
    """A setting as JSON has it."""
    if hasattr(value, "tolist"):
        # Of NumPy and pandas.
        value = value.tolist()
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (Noise, PathLike)):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(name, item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(name, item) for item in value]
    if hasattr(value, "__index__"):
        return value.__index__()
    if hasattr(value, "__float__"):
        number = float(value)
        # JSON has neither infinity nor NaN; the engine names the field where it cannot use them.
        return number if math.isfinite(number) else repr(number)
    raise TypeError(f"{name}: expected a number, a text or a list, found {type(value).__name__}")


def _settings(given: Mapping[str, Any] | Sequence[str]) -> dict[str, Any]:
    """Settings of a method, from a mapping or from ``NAME=VALUE`` texts."""
    if isinstance(given, Mapping):
        return dict(given)
    found: dict[str, Any] = {}
    for text in [given] if isinstance(given, str) else given:
        name, equals, value = text.partition("=")
        if not equals or name.strip() in found:
            why = "it is given twice" if equals else "write NAME=VALUE"
            raise ValueError(f"option: '{text}': {why}")
        found[name.strip()] = value
    return found


def request_of(named: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments as a request to the engine. What is not given is left to its default."""
    plain = {name: _plain(name, value) for name, value in named.items()}
    bounds = plain.get("bounds")
    if isinstance(bounds, list) and any(isinstance(end, str) for end in bounds):
        plain["bounds"] = ",".join(str(end) for end in bounds)
    return {name: value for name, value in plain.items() if value is not None}
