//! Rows of formats whose columns have types.

use super::chunk::Id;
use super::plan::ColumnPlan;
use parquet::data_type::ByteArray;

/// Decoded rows.
#[derive(Debug)]
pub(crate) struct TypedCells {
    pub(crate) n_rows: usize,
    pub(crate) first_row: u64,
    n_features: usize,
    /// Features, row-major; NaN where null.
    pub(crate) numbers: Vec<f64>,
    /// Positions in `numbers` that were null, unsorted.
    nulls: Vec<usize>,
    /// Positions in `numbers` that hold no category of their feature, with their values.
    unknown: Vec<(usize, String)>,
    ids: Vec<TypedColumn>,
}

/// The values of a column, by type.
#[derive(Debug)]
pub(crate) enum TypedColumn {
    Integers(Vec<Option<i64>>),
    Floats(Vec<Option<f64>>),
    Booleans(Vec<Option<bool>>),
    Texts(Vec<Option<ByteArray>>),
}

impl TypedCells {
    /// Rows without any values yet.
    pub(crate) fn new(first_row: u64, n_rows: usize, n_features: usize) -> Self {
        let numbers = vec![f64::NAN; n_rows * n_features];
        Self {
            n_rows,
            first_row,
            n_features,
            numbers,
            nulls: Vec::new(),
            unknown: Vec::new(),
            ids: Vec::new(),
        }
    }

    /// The values of feature `j`.
    pub(crate) fn set_feature(&mut self, j: usize, plan: &ColumnPlan, values: &TypedColumn) {
        match plan.categories(j) {
            [] => values.numbers_into(j, self),
            categories => values.options_into(j, categories, self),
        }
    }

    /// A value of feature `j`, or none.
    #[inline]
    pub(crate) fn set(&mut self, row: usize, j: usize, value: Option<f64>) {
        let at = row * self.n_features + j;
        match value {
            Some(value) => self.numbers[at] = value,
            None => self.nulls.push(at),
        }
    }

    /// All values of feature `j`.
    #[cfg(feature = "arrow")]
    pub(crate) fn set_all(&mut self, j: usize, values: impl Iterator<Item = f64>) {
        let rows = self.numbers.chunks_exact_mut(self.n_features);
        rows.zip(values).for_each(|(row, value)| row[j] = value);
    }

    /// The category of feature `j` that one of the texts for a value names; the first of them
    /// stands for the value in errors. None without texts.
    pub(crate) fn set_category(
        &mut self,
        row: usize,
        j: usize,
        texts: &[&str],
        categories: &[String],
    ) {
        let named = |text: &&str| {
            let text = text.trim_matches([' ', '\t']);
            categories.iter().position(|category| category == text)
        };
        match (texts.iter().find_map(named), texts.first()) {
            (Some(option), _) => self.numbers[row * self.n_features + j] = option as f64,
            (None, Some(text)) => self.set_unknown(row, j, (*text).to_owned()),
            (None, None) => self.set_unknown(row, j, "null".to_owned()),
        }
    }

    /// The same of a number, as `2` or `2.0`.
    pub(crate) fn set_number_category(
        &mut self,
        row: usize,
        j: usize,
        value: f64,
        categories: &[String],
    ) {
        self.set_category(row, j, &[&value.to_string(), &format!("{value:?}")], categories);
    }

    /// The same of a truth value, as JSON writes it or Python.
    pub(crate) fn set_bool_category(
        &mut self,
        row: usize,
        j: usize,
        value: bool,
        categories: &[String],
    ) {
        let texts = if value { ["true", "True"] } else { ["false", "False"] };
        self.set_category(row, j, &texts, categories);
    }

    /// The value of feature `j` is not one of its categories.
    pub(crate) fn set_unknown(&mut self, row: usize, j: usize, text: String) {
        self.unknown.push((row * self.n_features + j, text));
    }

    /// One more id column.
    pub(crate) fn push_id(&mut self, values: TypedColumn) {
        self.ids.push(values);
    }

    pub(crate) fn is_null(&self, position: usize) -> bool {
        self.nulls.contains(&position)
    }

    /// The value of a cell that is not one of the categories of its feature.
    pub(crate) fn unknown(&self, position: usize) -> Option<String> {
        self.unknown.iter().find(|(at, _)| *at == position).map(|(_, text)| text.clone())
    }

    /// The value of id column `k`; `None` where a text is not UTF-8.
    pub(crate) fn id(&self, row: usize, k: usize) -> Option<Id<'_>> {
        Some(match &self.ids[k] {
            TypedColumn::Integers(values) => values[row].map_or(Id::Null, Id::Integer),
            TypedColumn::Floats(values) => values[row].map_or(Id::Null, Id::Float),
            TypedColumn::Booleans(values) => {
                values[row].map_or(Id::Null, |value| Id::Json(value.into()))
            }
            TypedColumn::Texts(values) => match &values[row] {
                Some(bytes) => Id::Text(std::str::from_utf8(bytes.data()).ok()?.into()),
                None => Id::Null,
            },
        })
    }
}

impl TypedColumn {
    /// Writes these values as feature `j` of the rows.
    fn numbers_into(&self, j: usize, cells: &mut TypedCells) {
        match self {
            Self::Floats(values) => {
                values.iter().enumerate().for_each(|(row, value)| cells.set(row, j, *value))
            }
            Self::Integers(values) => {
                values
                    .iter()
                    .enumerate()
                    .for_each(|(row, value)| cells.set(row, j, value.map(|value| value as f64)));
            }
            Self::Booleans(values) => {
                let number = |value: bool| f64::from(u8::from(value));
                values
                    .iter()
                    .enumerate()
                    .for_each(|(row, value)| cells.set(row, j, value.map(number)));
            }
            // Refused before the first row.
            Self::Texts(values) => (0..values.len()).for_each(|row| cells.set(row, j, None)),
        }
    }

    /// Writes these values as the numbers of their categories, as feature `j` of the rows.
    fn options_into(&self, j: usize, categories: &[String], cells: &mut TypedCells) {
        for row in 0..cells.n_rows {
            match self {
                Self::Texts(values) => {
                    let text =
                        values[row].as_ref().map(|text| String::from_utf8_lossy(text.data()));
                    cells.set_category(row, j, text.as_deref().as_slice(), categories);
                }
                Self::Integers(values) => match values[row] {
                    Some(value) => cells.set_category(
                        row,
                        j,
                        &[&value.to_string(), &format!("{value}.0")],
                        categories,
                    ),
                    None => cells.set_category(row, j, &[], categories),
                },
                Self::Floats(values) => match values[row] {
                    Some(value) => cells.set_number_category(row, j, value, categories),
                    None => cells.set_category(row, j, &[], categories),
                },
                Self::Booleans(values) => match values[row] {
                    Some(value) => cells.set_bool_category(row, j, value, categories),
                    None => cells.set_category(row, j, &[], categories),
                },
            }
        }
    }
}
