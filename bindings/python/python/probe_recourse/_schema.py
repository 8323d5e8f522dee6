"""Schemas: units of features, and how they may change."""

from __future__ import annotations

import html
import json
import logging
from collections.abc import Sequence
from os import PathLike, fspath
from typing import Any

import pyarrow as pa

from . import _probe
from ._tables import to_arrow

_log = logging.getLogger("probe_recourse")


def _plain(value: Any) -> Any:
    """A NumPy number as a plain Python number."""
    return value.item()


class Schema:
    """What the raw features mean: units, scales, bounds, categories, and what may change.

    The file format is that of the command line (TOML or JSON).

    >>> schema = Schema.parse('''
    ... version = 1
    ... [[feature]]
    ... name = "age"
    ... kind = "numeric"
    ... mutable = false
    ... [[feature]]
    ... name = "income"
    ... kind = "numeric"
    ... scale = [0.0, 100000.0]
    ... step = 500
    ... ''')
    >>> schema.features
    ['age', 'income']
    >>> schema["income"]["step"]
    500.0
    """

    def __init__(self, native: _probe.Schema) -> None:
        self._native = native

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Schema:
        """The schema of a file."""
        return cls(_probe.Schema.load(fspath(path)))

    @classmethod
    def parse(cls, text: str) -> Schema:
        """The schema of a text, TOML or JSON."""
        return cls(_probe.Schema.parse(text, "schema"))

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Schema:
        """The schema of a document; see :meth:`to_dict`."""
        return cls.parse(json.dumps(document, default=_plain))

    @classmethod
    def infer(
        cls,
        data: Any,
        target: str | None = None,
        immutable: Sequence[str] = (),
        ignore: Sequence[str] = (),
    ) -> Schema:
        """Guesses a first schema from data.

        Kinds, scales and steps come from the values. Columns whose names sound like something
        nobody can change become immutable. Check and edit the result (:meth:`to_toml`,
        :meth:`updated`): data do not show what may change, or at what cost. Notes on guesses go to
        the logger ``probe_recourse``. Columns in ``ignore`` are left out.

        >>> import pyarrow as pa
        >>> columns = {"age": [20, 30, 60], "income": [1.5, 2.5, 9.0], "paid": ["no", "yes", "yes"]}
        >>> data = pa.table(columns)
        >>> schema = Schema.infer(data, target="paid", immutable=["age"])
        >>> [(name, schema[name]["mutable"]) for name in schema.features]
        [('age', False), ('income', True)]
        """
        if isinstance(immutable, str):
            raise ValueError("immutable: expected a list of names, found a text")
        left_out = {ignore} if isinstance(ignore, str) else set(ignore)
        table = to_arrow(
            data, "data", (lambda name: name not in left_out) if left_out else None
        ).table
        for field in table.schema:
            kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
            texts = (
                pa.types.is_string(kind)
                or pa.types.is_large_string(kind)
                or pa.types.is_string_view(kind)
            )
            if not (
                texts
                or pa.types.is_integer(kind)
                or pa.types.is_floating(kind)
                or pa.types.is_boolean(kind)
                or pa.types.is_null(kind)
            ):
                raise ValueError(
                    f"data: column '{field.name}' of type {kind} is neither a number, a text nor a "
                    "truth value; leave it out with ignore"
                )
        native, notes = _probe.Schema.infer(table, target, list(immutable))
        for note in notes:
            _log.info(note)
        return cls(native)

    def to_toml(self) -> str:
        """The schema as TOML, for a file that people edit."""
        return self._native.to_toml()

    def to_dict(self) -> dict[str, Any]:
        """The schema as a document."""
        document: dict[str, Any] = json.loads(self._native.to_json())
        return document

    def save(self, path: str | PathLike[str]) -> None:
        """Writes a TOML file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.to_toml())

    @property
    def features(self) -> list[str]:
        """Names of the features, in order."""
        return [feature["name"] for feature in self._features()]

    def _features(self) -> list[dict[str, Any]]:
        features: list[dict[str, Any]] = self.to_dict()["feature"]
        return features

    def __getitem__(self, name: str) -> dict[str, Any]:
        for feature in self._features():
            if feature["name"] == name:
                return feature
        raise KeyError(name)

    def updated(self, **features: dict[str, Any]) -> Schema:
        """A copy with some fields of some features changed; ``None`` removes a field.

        >>> schema = Schema.parse('version = 1\\n[[feature]]\\nname = "income"\\nkind = "numeric"')
        >>> schema.updated(income={"direction": "increase", "step": 100})["income"]["direction"]
        'increase'
        """
        document = self.to_dict()
        known = {feature["name"]: feature for feature in document["feature"]}
        for name, fields in features.items():
            if name not in known:
                raise ValueError(f"no feature '{name}' in the schema (it has: {', '.join(known)})")
            for field, value in fields.items():
                if value is None:
                    known[name].pop(field, None)
                else:
                    known[name][field] = value
        return Schema.from_dict(document)

    def __reduce__(self) -> tuple[Any, ...]:
        return Schema.parse, (self._native.to_json(),)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Schema({', '.join(self.features)})"

    def _repr_html_(self) -> str:
        columns = [
            "name",
            "kind",
            "mutable",
            "direction",
            "min",
            "max",
            "step",
            "scale",
            "unit",
            "categories",
        ]
        features = self._features()
        used = [
            column
            for column in columns
            if any(feature.get(column) not in (None, []) for feature in features)
        ]
        head = "".join(f"<th>{column}</th>" for column in used)

        def cell(value: Any) -> str:
            text = (
                ""
                if value is None
                else ", ".join(map(str, value))
                if isinstance(value, list)
                else str(value)
            )
            return f"<td>{html.escape(text)}</td>"

        body = "".join(
            "<tr>" + "".join(cell(feature.get(column)) for column in used) + "</tr>"
            for feature in features
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
