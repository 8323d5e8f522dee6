"""The engine: a question, asked of tables of people."""

from __future__ import annotations

import hashlib
import html
import json
import logging
import pickle
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
from ._tables import How, carry, plain, settle_types, to_arrow
from .noise import Noise

_log = logging.getLogger("probe_recourse")


class ProbeWarning(UserWarning):
    """Something that is probably not what was meant."""


class Engine:
    """Answers to people: the least costly change that turns a model's no into a yes, and keeps it one although people miss what they aim at.

    All settings are those of ``probe recourse`` with underscores; see ``probe recourse --help`` for the whole of it. The same question has the
    same answer, to the bit, from the command line, from Rust and from here, on any number of threads.

    :param model: a :class:`Model`, the path of a model file, or an estimator of scikit-learn, XGBoost, LightGBM or PyTorch.
    :param schema: a :class:`Schema`, the path of one, or ``False`` to ignore the model's own.
    :param max_rate: the share of noisy implementations that may fail.
    :param noise: how people miss, such as ``Gaussian(0.1)``; or ``sigma``, or ``sigma2``.
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
        schema: Schema | str | PathLike[str] | bool | None = None,
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
        reference: Any = None,
        favourable_class: int | None = None,
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
        if isinstance(schema, (str, PathLike)):
            schema = None if fspath(schema) == "none" else Schema.load(schema)
            schema = False if schema is None else schema
        if schema is True:
            raise ValueError("schema: expected a Schema, a path or False")
        self._given = schema
        self._reference = None if reference is None else to_arrow(reference, "reference")[0]
        if not isinstance(threads, int) or threads < 0:
            raise ValueError(f"threads: expected 0 or a number of threads, found {threads!r}")
        self.threads = threads
        if threshold_prob is not None and getattr(self.model, "_probability", False):
            # Its margin is the probability less one half.
            threshold, threshold_prob = _rate("threshold_prob", threshold_prob) - 0.5, None
        named = {
            "max_rate": max_rate, "noise": noise, "sigma": sigma, "sigma2": sigma2, "noise_on": noise_on, "model_shift": model_shift,
            "cost": cost, "bounds": bounds, "strict_bounds": strict_bounds, "immutable": immutable, "max_changes": max_changes,
            "prefer": prefer, "avoid": avoid, "budget": budget, "options": options, "tolerance": tolerance, "relax": relax,
            "method": method, "option": option, "paper_text": paper_text, "favourable_class": favourable_class,
            "threshold": threshold, "threshold_prob": threshold_prob, "confidence": confidence,
            "confidence_scope": confidence_scope, "rows": rows, "aim": aim, "no_certify": not certify,
            "also_favourable": also_favourable, "seed": seed,
        }
        self._flags = flags(named)
        self._per_file = confidence_scope == "file" and rows is None
        self._native = None if self._per_file else self._make(self._flags)
        self._key: str | None = None

    def _make(self, arguments: list[str], quiet: bool = False) -> _probe.Engine:
        given = self._given
        native = _probe.Engine(
            self.model._native,
            given._native if isinstance(given, Schema) else None,
            given is False,
            arguments,
            self._reference,
            True,
        )
        notes, warned = native.said
        for note in notes:
            _log.info(note)
        for text in () if quiet else warned:
            warnings.warn(text, ProbeWarning, stacklevel=4)
        return native

    def _engine(self, n_rows: int | None = None) -> _probe.Engine:
        if self._native is not None:
            return self._native
        # The confidence is divided over as many rows as there are.
        return self._make([*self._flags, f"--rows={max(n_rows or 0, 1)}"])

    @property
    def meta(self) -> dict[str, Any]:
        """What every answer is about: version, method, noise, rate, model, seed."""
        meta: dict[str, Any] = json.loads(self._engine().meta)
        return meta

    @property
    def features(self) -> list[str]:
        """Features as people have them."""
        return [name for name, _ in self._engine().features]

    def recourse(
        self,
        people: Any,
        *,
        ids: Sequence[str] = (),
        ignore_extra: bool = False,
        errors: str = "raise",
        progress: bool | None = None,
    ) -> Any:
        """An answer for each person, in a table of the kind that came.

        Columns: ``row``, ``status`` (certified, found, none, favourable), ``reason``, ``cost``, ``rate``, ``rate_upper``, ``best_rate``,
        ``changed``, ``outside_range``, then the features as they should become, then ``ids``.

        :param ids: columns that are carried through.
        :param ignore_extra: pass over columns that are neither features nor ids, instead of refusing them.
        :param errors: ``raise``, or ``none`` for a row that cannot be read to be answered with status ``none`` and why.
        :param progress: whether to show a bar; by default where somebody watches.
        """
        table, back = to_arrow(people)
        if errors not in ("raise", "none"):
            raise ValueError(f"errors: '{errors}' is none of raise, none")
        names = _ids(ids, table)
        engine = self._engine(table.num_rows)
        inner = table.drop_columns(names) if names else table
        with _progress(progress, table.num_rows) as tell:
            how = How(ignore_extra, self.threads, tell)
            try:
                result = pa.table(engine.recourse(inner, how))
            except ValueError as error:
                if errors == "raise":
                    raise
                how.progress = None
                result = self._one_by_one(engine, inner, how, error)
        result = settle_types(result, inner, dict(engine.features))
        return back(carry(result, table, names), engine.n_options)

    def _one_by_one(self, engine: _probe.Engine, people: pa.Table, how: How, error: ValueError) -> pa.Table:
        """The answers, where some rows cannot be read: halves of the table, down to these rows."""
        if people.num_rows == 0:
            raise error
        whole = pa.table(engine.recourse(people.slice(0, 0), how))
        parts: list[pa.Table] = []

        def answer(first: int, n_rows: int) -> None:
            part = people.slice(first, n_rows)
            try:
                found = pa.table(engine.recourse(part, how))
                parts.append(found.set_column(0, "row", pa.array([first + row for row in found.column("row").to_pylist()], pa.int64())))
            except ValueError as fault:
                if n_rows == 1:
                    parts.append(_refused(whole.schema, part, first, str(fault), engine.n_options))
                else:
                    answer(first, n_rows // 2)
                    answer(first + n_rows // 2, n_rows - n_rows // 2)

        answer(0, people.num_rows)
        return pa.concat_tables(parts, promote_options="permissive")

    def records(self, people: Any, *, ids: Sequence[str] = (), ignore_extra: bool = False, progress: bool | None = None) -> list[dict[str, Any]]:
        """The answers with all there is to say of them: changes by feature, tolerances, what stands in the way; as ``--format jsonl`` has them."""
        table, _ = to_arrow(people)
        names = _ids(ids, table)
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
        table, _ = to_arrow(people)
        names = _ids(ids, table)
        sources = [] if templates is None else _sources(Path(templates), language)
        with _progress(progress, table.num_rows) as tell:
            how = How(ignore_extra, self.threads, tell, names)
            return self._engine(table.num_rows).letters(plain(table, names), how, (form, language, sources))

    def frontier(
        self,
        people: Any,
        rates: Sequence[float] | None = None,
        *,
        ids: Sequence[str] = (),
        ignore_extra: bool = False,
        progress: bool | None = None,
    ) -> Frontier:
        """The price of certainty: the answer at each of ``rates``, for each person.

        >>> import probe_recourse as pr, pyarrow as pa
        >>> engine = pr.Engine(pr.Model.linear(["x"], [1.0], 0.0), sigma=0.1)
        >>> front = engine.frontier(pa.table({"x": [-1.0]}), rates=[0.4, 0.1])
        >>> [round(cost, 3) for cost in front.frame.column("cost").to_pylist()]
        [1.025, 1.128]
        """
        table, back = to_arrow(people)
        names = _ids(ids, table)
        engine = self._engine(table.num_rows)
        inner = table.drop_columns(names) if names else table
        arguments = flags({"rates": None if rates is None else list(rates)})
        with _progress(progress, table.num_rows) as tell:
            found = pa.table(engine.frontier(inner, How(ignore_extra, self.threads, tell), arguments))
        found = carry(settle_types(found, inner, dict(engine.features)), table, names)
        times = found.num_rows // max(table.num_rows, 1)
        return Frontier(found, back(found, times))

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
        """The invalidation rate of given points, in a table of the kind that came: ``favourable``, ``margin``, ``rate``, ``std_error``,
        ``lower``, ``upper``, ``estimator``.

        :param origins: the people that the points were made for, row by row, where the noise depends on the change.
        """
        table, back = to_arrow(points, "points")
        names = _ids(ids, table)
        arguments = flags({"estimator": estimator, "samples": samples})
        came_from = None if origins is None else to_arrow(origins, "origins")[0]
        with _progress(progress, table.num_rows) as tell:
            how = How(ignore_extra, self.threads, tell)
            inner = table.drop_columns(names) if names else table
            found = pa.table(self._engine(table.num_rows).rate(inner, how, arguments, came_from))
        return back(carry(_decided(found), table, names), 1)

    def score(self, points: Any, *, ids: Sequence[str] = (), ignore_extra: bool = False) -> Any:
        """Decisions and margins of points: what the model says of them, without any noise."""
        table, back = to_arrow(points, "points")
        names = _ids(ids, table)
        inner = table.drop_columns(names) if names else table
        found = pa.table(self._engine(table.num_rows).score(inner, How(ignore_extra, self.threads, None)))
        return back(carry(_decided(found), table, names), 1)

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        del state["_native"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        # Who made it first was warned.
        self._native = None if self._per_file else self._make(self._flags, quiet=True)

    @property
    def key(self) -> str:
        """The same for engines that answer alike."""
        if self._key is None:
            self._key = hashlib.sha256(pickle.dumps((self.model, self._given, self._flags, self._reference))).hexdigest()
        return self._key

    def __repr__(self) -> str:
        settings = " ".join(flag for flag in self._flags if flag != "--seed=0")
        return f"Engine({self.model!r}, {settings})"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html.escape(name)}</td><td>{html.escape(str(value))}</td></tr>"
            for name, value in self.meta.items()
            if value not in (None, {}, []) and name != "note"
        )
        return f"<b>{html.escape(repr(self.model))}</b><table>{rows}</table>"


def _ids(ids: Sequence[str], table: pa.Table) -> list[str]:
    if isinstance(ids, str):
        ids = [ids]
    for name in ids:
        if name not in table.column_names:
            raise ValueError(f"ids: no column '{name}' (there are: {', '.join(table.column_names)})")
    return list(ids)


def _decided(found: pa.Table) -> pa.Table:
    """``favourable`` as a boolean."""
    at = found.schema.get_field_index("favourable")
    yes = pa.array([text == "true" for text in found.column(at).to_pylist()], pa.bool_())
    return found.set_column(at, "favourable", yes)


def _refused(schema: pa.Schema, person: pa.Table, row: int, why: str, options: int) -> pa.Table:
    """What is said of a row that cannot be read."""
    known = {"row": row, "status": "none", "reason": f"bad-row: {why}", "changed": 0}
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
    return pa.Table.from_pylist(rows, schema=pa.schema([field.with_nullable(True) for field in schema]))


def _sources(path: Path, language: str) -> list[tuple[str, str]]:
    if path.is_dir():
        found = [file for file in (path / f"{language}.toml", path / "letter.txt", path / "page.html") if file.is_file()]
        if not found:
            raise ValueError(f"templates: {path}: no {language}.toml is there")
    else:
        found = [path]
    return [(str(file), file.read_text(encoding="utf-8")) for file in found]


def _rate(name: str, value: float) -> float:
    if not 0 < float(value) < 1:
        raise ValueError(f"invalid value '{value}' for '{name}': must be between 0 and 1, both excluded")
    return float(value)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Noise):
        return str(value)
    if hasattr(value, "__index__"):
        return str(value.__index__())
    if hasattr(value, "__float__"):
        return repr(float(value))
    return str(value)


def flags(named: Mapping[str, Any]) -> list[str]:
    """Arguments as flags of the command line."""
    found = []
    for name, value in named.items():
        flag = "--" + name.replace("_", "-")
        if name == "option":
            pairs = value.items() if isinstance(value, Mapping) else [text.split("=", 1) for text in value]
            found += [f"{flag}={key}={_text(setting)}" for key, setting in pairs]
        elif value is None or value is False or (isinstance(value, (list, tuple)) and not value):
            continue
        elif value is True:
            found.append(flag)
        elif isinstance(value, (list, tuple)) or (hasattr(value, "__iter__") and not isinstance(value, str)):
            found.append(f"{flag}={','.join(_text(item) for item in value)}")
        else:
            found.append(f"{flag}={_text(value)}")
    return found
