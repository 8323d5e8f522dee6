//! What output rows report of an answer.
//!
//! Tables and JSON rows have the same values in the same order. To add one, add it to [`VALUES`].

use Of::{Flag, Integer, MaybeInteger, MaybeNumber, Number, Text};
use Shown::{Always, JsonIfKnown, Known};
use probe_core::{Answer, Engine, Reason};
use probe_io::{Column, Field};
use serde::ser::SerializeMap;

/// A value of an answer.
struct Value {
    name: &'static str,
    of: Of,
    shown: Shown,
    /// Whether tables of `probe frontier` have it.
    in_frontier: bool,
}

/// How to read a value.
enum Of {
    /// Empty in tables and null in JSON if there is none.
    Text(fn(&Answer) -> Option<&'static str>),
    Number(fn(&Answer) -> f64),
    MaybeNumber(fn(&Answer) -> Option<f64>),
    Integer(fn(&Answer) -> usize),
    MaybeInteger(fn(&Answer) -> Option<usize>),
    Flag(fn(&Answer) -> bool),
}

/// Which outputs have a value.
#[derive(Clone, Copy)]
enum Shown {
    Always,
    /// JSON rows where it is known, and tables of engines that may know it.
    Known(fn(&Engine) -> bool),
    /// JSON rows where it is known.
    JsonIfKnown,
}

/// All values, in the order of the output.
const VALUES: &[Value] = &[
    Value::new("status", Text(|a| Some(a.status.as_str()))).in_frontier(),
    Value::new("reason", Text(|a| a.reason.map(Reason::code))).in_frontier(),
    Value::new("cost", MaybeNumber(|a| a.cost)).in_frontier(),
    Value::new("rate", Number(|a| a.rate)).in_frontier(),
    Value::new("rate_upper", Number(|a| a.rate_upper)).in_frontier(),
    Value::new("rate_std_error", MaybeNumber(|a| a.rate_std_error))
        .shown(Known(Engine::states_std_errors))
        .in_frontier(),
    Value::new("claimed_rate", MaybeNumber(|a| a.report.claimed_rate)).shown(JsonIfKnown),
    Value::new("best_rate", MaybeNumber(|a| a.best_rate)),
    Value::new("changed", Integer(|a| a.changed)).in_frontier(),
    Value::new("outside_range", MaybeInteger(|a| a.outside_range)),
    Value::new("cost_lower", Number(|a| a.cost_lower)),
    Value::new("proven", Flag(|a| a.proven)),
];

/// A table with one answer per row.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Table {
    Recourse,
    Frontier,
}

/// The columns that a table of this engine declares.
pub(crate) fn fields(engine: &Engine, table: Table) -> Vec<Field> {
    values_of(engine, table).map(Value::field).collect()
}

/// The columns of these answers.
pub(crate) fn columns(engine: &Engine, table: Table, answers: &[Answer]) -> Vec<Column<'static>> {
    values_of(engine, table).map(|value| value.of.column(answers)).collect()
}

/// Writes the values into a JSON row.
pub(crate) fn serialize_into<M: SerializeMap>(
    answer: &Answer,
    map: &mut M,
) -> Result<(), M::Error> {
    VALUES.iter().try_for_each(|value| value.serialize_into(answer, map))
}

fn values_of(engine: &Engine, table: Table) -> impl Iterator<Item = &'static Value> {
    VALUES.iter().filter(move |value| {
        let is_shown = match value.shown {
            Always => true,
            Known(may_be_known) => may_be_known(engine),
            JsonIfKnown => false,
        };
        is_shown && (value.in_frontier || table == Table::Recourse)
    })
}

impl Value {
    const fn new(name: &'static str, of: Of) -> Self {
        Self { name, of, shown: Always, in_frontier: false }
    }

    const fn shown(mut self, shown: Shown) -> Self {
        self.shown = shown;
        self
    }

    const fn in_frontier(mut self) -> Self {
        self.in_frontier = true;
        self
    }

    fn field(&self) -> Field {
        match self.of {
            Text(_) => Field::text(self.name),
            Number(_) => Field::float(self.name),
            MaybeNumber(_) => Field::float(self.name).optional(),
            Integer(_) => Field::integer(self.name),
            MaybeInteger(_) => Field::integer(self.name).optional(),
            Flag(_) => Field::boolean(self.name),
        }
    }

    fn serialize_into<M: SerializeMap>(
        &self,
        answer: &Answer,
        map: &mut M,
    ) -> Result<(), M::Error> {
        let name = self.name;
        match self.of {
            Text(of) => map.serialize_entry(name, &of(answer)),
            Number(of) => map.serialize_entry(name, &of(answer)),
            MaybeNumber(of) => match of(answer) {
                None if !matches!(self.shown, Always) => Ok(()),
                value => map.serialize_entry(name, &value),
            },
            Integer(of) => map.serialize_entry(name, &of(answer)),
            MaybeInteger(of) => map.serialize_entry(name, &of(answer)),
            Flag(of) => map.serialize_entry(name, &of(answer)),
        }
    }
}

impl Of {
    fn column(&self, answers: &[Answer]) -> Column<'static> {
        let all = answers.iter();
        match *self {
            Text(of) => Column::texts(all.map(|answer| of(answer).unwrap_or_default())),
            Number(of) => Column::numbers(all.map(|answer| Some(of(answer)))),
            MaybeNumber(of) => Column::numbers(all.map(of)),
            Integer(of) => Column::integers(all.map(|answer| of(answer) as i64)),
            MaybeInteger(of) => Column::integers(all.map(|answer| of(answer).map(|n| n as i64))),
            Flag(of) => Column::booleans(all.map(of)),
        }
    }
}
