//! Arrow in: batches in memory. Slices of them are handed out, and decoded by the workers.

use super::plan::ColumnPlan;
use super::records::ChunkLimit;
use super::typed::{TypedCells, TypedColumn};
use crate::error::{Error, Result};
use crate::output::FieldKind;
use arrow_array::cast::AsArray as _;
use arrow_array::types::{
    ArrowPrimitiveType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Schema};

/// Batches being handed out.
#[derive(Debug)]
pub(crate) struct ArrowReader {
    file: String,
    types: Vec<DataType>,
    batches: Vec<RecordBatch>,
    /// The batch, its row and the row of all where the next chunk starts.
    at: (usize, usize, u64),
}

/// Rows of a batch.
#[derive(Debug)]
pub(crate) struct ArrowRows {
    batch: RecordBatch,
    first_row: u64,
}

impl ArrowReader {
    pub(crate) fn new(file: &str, schema: &Schema, batches: Vec<RecordBatch>) -> Self {
        let types = schema.fields().iter().map(|field| field.data_type().clone()).collect();
        Self { file: file.to_owned(), types, batches, at: (0, 0, 0) }
    }

    pub(crate) fn n_rows(&self) -> u64 {
        self.batches.iter().map(|batch| batch.num_rows() as u64).sum()
    }

    /// Fails on requested columns of the wrong type.
    pub(crate) fn check(&self, plan: &ColumnPlan) -> Result<()> {
        let refuse = |column: usize, wanted: &str| {
            let (name, kind) = (&plan.header()[column], &self.types[column]);
            Err(Error::file(
                &self.file,
                format!("column '{name}' of type {kind} cannot be read as {wanted}"),
            ))
        };
        for (j, &column) in plan.feature_columns().iter().enumerate() {
            let kind = &self.types[column];
            if plan.categories(j).is_empty() {
                if !is_number(kind) {
                    return refuse(column, "a number");
                }
            } else if !is_category(kind) {
                return refuse(column, "a category");
            }
        }
        match plan.id_columns().iter().find(|&&column| !is_category(&self.types[column])) {
            Some(&column) => refuse(column, "an id"),
            None => Ok(()),
        }
    }

    /// The type an id column has in the output.
    pub(crate) fn id_kind(&self, column: usize) -> FieldKind {
        match &self.types[column] {
            kind if kind.is_integer() => FieldKind::Integer,
            kind if kind.is_floating() => FieldKind::Float,
            _ => FieldKind::Text,
        }
    }

    /// The next rows; `None` at the end.
    pub(crate) fn next(&mut self, limit: ChunkLimit) -> Option<ArrowRows> {
        let (mut number, mut row, first_row) = self.at;
        while self.batches.get(number)?.num_rows() <= row {
            (number, row) = (number + 1, 0);
        }
        let batch = &self.batches[number];
        let by_bytes = limit.bytes / (8 * batch.num_columns().max(1));
        let n_rows = (batch.num_rows() - row).min(limit.rows).min(by_bytes.max(1));
        self.at = (number, row + n_rows, first_row + n_rows as u64);
        Some(ArrowRows { batch: batch.slice(row, n_rows), first_row })
    }
}

impl ArrowRows {
    pub(crate) fn n_rows(&self) -> usize {
        self.batch.num_rows()
    }

    /// The wanted columns as numbers.
    pub(crate) fn decode(&self, plan: &ColumnPlan) -> TypedCells {
        let mut cells = TypedCells::new(self.first_row, self.batch.num_rows(), plan.n_features());
        for (j, &column) in plan.feature_columns().iter().enumerate() {
            let values = self.batch.column(column);
            match plan.categories(j) {
                [] => numbers_into(values, j, &mut cells),
                categories => options_into(values, j, categories, &mut cells),
            }
        }
        for &column in plan.id_columns() {
            cells.push_id(typed(self.batch.column(column)));
        }
        cells
    }
}

/// The values of a column, by type.
fn typed(values: &ArrayRef) -> TypedColumn {
    fn texts<'a>(texts: impl Iterator<Item = Option<&'a str>>) -> TypedColumn {
        TypedColumn::Texts(
            texts.map(|text| text.map(|text| text.as_bytes().to_vec().into())).collect(),
        )
    }
    match values.data_type() {
        DataType::Utf8 => texts(values.as_string::<i32>().iter()),
        DataType::LargeUtf8 => texts(values.as_string::<i64>().iter()),
        DataType::Utf8View => texts(values.as_string_view().iter()),
        DataType::Boolean => TypedColumn::Booleans(values.as_boolean().iter().collect()),
        DataType::Dictionary(..) => {
            let keys = keys(values);
            fn pick<T: Clone>(values: &[Option<T>], keys: &[Option<usize>]) -> Vec<Option<T>> {
                keys.iter().map(|key| key.and_then(|key| values[key].clone())).collect()
            }
            match typed(values.as_any_dictionary().values()) {
                TypedColumn::Integers(values) => TypedColumn::Integers(pick(&values, &keys)),
                TypedColumn::Floats(values) => TypedColumn::Floats(pick(&values, &keys)),
                TypedColumn::Booleans(values) => TypedColumn::Booleans(pick(&values, &keys)),
                TypedColumn::Texts(values) => TypedColumn::Texts(pick(&values, &keys)),
            }
        }
        kind => {
            let mut numbers = TypedCells::new(0, values.len(), 1);
            numbers_into(values, 0, &mut numbers);
            let number = |row: usize| (!values.is_null(row)).then(|| numbers.numbers[row]);
            if kind.is_integer() {
                let whole =
                    |row: usize| if values.is_null(row) { None } else { integer(values, row) };
                TypedColumn::Integers((0..values.len()).map(whole).collect())
            } else {
                TypedColumn::Floats((0..values.len()).map(number).collect())
            }
        }
    }
}

/// A whole number; `None` for one that is larger than signed ones are.
fn integer(values: &ArrayRef, row: usize) -> Option<i64> {
    match values.data_type() {
        DataType::Int64 => Some(values.as_primitive::<Int64Type>().value(row)),
        DataType::UInt64 => i64::try_from(values.as_primitive::<UInt64Type>().value(row)).ok(),
        DataType::Int32 => Some(values.as_primitive::<Int32Type>().value(row).into()),
        DataType::Int16 => Some(values.as_primitive::<Int16Type>().value(row).into()),
        DataType::Int8 => Some(values.as_primitive::<Int8Type>().value(row).into()),
        DataType::UInt32 => Some(values.as_primitive::<UInt32Type>().value(row).into()),
        DataType::UInt16 => Some(values.as_primitive::<UInt16Type>().value(row).into()),
        DataType::UInt8 => Some(values.as_primitive::<UInt8Type>().value(row).into()),
        _ => None,
    }
}

fn is_number(kind: &DataType) -> bool {
    match kind {
        DataType::Dictionary(_, values) => is_number(values),
        DataType::Boolean | DataType::Null => true,
        kind => kind.is_integer() || kind.is_floating(),
    }
}

fn is_category(kind: &DataType) -> bool {
    match kind {
        DataType::Dictionary(_, values) => is_category(values),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        kind => is_number(kind),
    }
}

/// Of each row of a dictionary, which of its values it has.
fn keys(values: &ArrayRef) -> Vec<Option<usize>> {
    let dictionary = values.as_any_dictionary();
    if dictionary.values().is_empty() {
        return vec![None; values.len()];
    }
    let keys = dictionary.normalized_keys().into_iter().enumerate();
    keys.map(|(row, key)| (!values.is_null(row)).then_some(key)).collect()
}

/// Writes the values of a column of numbers as feature `j`; of other columns, which are refused
/// before the first row, nothing.
fn numbers_into(values: &ArrayRef, j: usize, cells: &mut TypedCells) {
    fn put<T: ArrowPrimitiveType>(
        values: &ArrayRef,
        j: usize,
        cells: &mut TypedCells,
        number: fn(T::Native) -> f64,
    ) {
        let values = values.as_primitive::<T>();
        if values.null_count() == 0 {
            cells.set_all(j, values.values().iter().map(|value| number(*value)));
        } else {
            values.iter().enumerate().for_each(|(row, value)| cells.set(row, j, value.map(number)));
        }
    }
    match values.data_type() {
        DataType::Float64 => put::<Float64Type>(values, j, cells, |value| value),
        DataType::Float32 => put::<Float32Type>(values, j, cells, f64::from),
        DataType::Float16 => put::<Float16Type>(values, j, cells, f64::from),
        DataType::Int64 => put::<Int64Type>(values, j, cells, |value| value as f64),
        DataType::Int32 => put::<Int32Type>(values, j, cells, f64::from),
        DataType::Int16 => put::<Int16Type>(values, j, cells, f64::from),
        DataType::Int8 => put::<Int8Type>(values, j, cells, f64::from),
        DataType::UInt64 => put::<UInt64Type>(values, j, cells, |value| value as f64),
        DataType::UInt32 => put::<UInt32Type>(values, j, cells, f64::from),
        DataType::UInt16 => put::<UInt16Type>(values, j, cells, f64::from),
        DataType::UInt8 => put::<UInt8Type>(values, j, cells, f64::from),
        DataType::Boolean => {
            let number = |value: bool| f64::from(u8::from(value));
            values
                .as_boolean()
                .iter()
                .enumerate()
                .for_each(|(row, value)| cells.set(row, j, value.map(number)));
        }
        DataType::Dictionary(..) => {
            let mut meant = TypedCells::new(0, values.as_any_dictionary().values().len(), 1);
            numbers_into(values.as_any_dictionary().values(), 0, &mut meant);
            for (row, key) in keys(values).into_iter().enumerate() {
                let key = key.filter(|&key| !meant.is_null(key));
                cells.set(row, j, key.map(|key| meant.numbers[key]));
            }
        }
        _ => (0..cells.n_rows).for_each(|row| cells.set(row, j, None)),
    }
}

/// Writes the values of a column as the numbers of their categories, as feature `j`.
fn options_into(values: &ArrayRef, j: usize, categories: &[String], cells: &mut TypedCells) {
    fn put<'a>(
        texts: impl Iterator<Item = Option<&'a str>>,
        j: usize,
        categories: &[String],
        cells: &mut TypedCells,
    ) {
        texts
            .enumerate()
            .for_each(|(row, text)| cells.set_category(row, j, text.as_slice(), categories));
    }
    match values.data_type() {
        DataType::Utf8 => put(values.as_string::<i32>().iter(), j, categories, cells),
        DataType::LargeUtf8 => put(values.as_string::<i64>().iter(), j, categories, cells),
        DataType::Utf8View => put(values.as_string_view().iter(), j, categories, cells),
        DataType::Dictionary(..) => {
            let mut meant = TypedCells::new(0, values.as_any_dictionary().values().len(), 1);
            options_into(values.as_any_dictionary().values(), 0, categories, &mut meant);
            for (row, key) in keys(values).into_iter().enumerate() {
                match key.map(|key| (key, meant.unknown(key))) {
                    None => cells.set_unknown(row, j, "null".to_owned()),
                    Some((_, Some(text))) => cells.set_unknown(row, j, text),
                    Some((key, None)) => cells.set(row, j, Some(meant.numbers[key])),
                }
            }
        }
        DataType::Boolean => {
            for (row, value) in values.as_boolean().iter().enumerate() {
                match value {
                    Some(value) => cells.set_bool_category(row, j, value, categories),
                    None => cells.set_category(row, j, &[], categories),
                }
            }
        }
        _ => {
            // Numbers are named as they are printed.
            let mut numbers = TypedCells::new(0, values.len(), 1);
            numbers_into(values, 0, &mut numbers);
            for row in 0..values.len() {
                match numbers.is_null(row) {
                    false => cells.set_number_category(row, j, numbers.numbers[row], categories),
                    true => cells.set_category(row, j, &[], categories),
                }
            }
        }
    }
}
