//! Parquet in, through the column readers: a few thousand records of each wanted column at a time,
//! so that memory grows neither with the row groups nor with the file.

use super::plan::ColumnPlan;
use super::records::ChunkLimit;
use super::typed::{TypedCells, TypedColumn};
use crate::error::{Error, Result};
use crate::output::FieldKind;
use parquet::basic::{ConvertedType, LogicalType, Type};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// What a column holds, as far as this crate cares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Float,
    Integer,
    Unsigned,
    Boolean,
    Text,
    Other,
}

/// A Parquet file being read.
pub(crate) struct ParquetReader {
    file: Arc<str>,
    reader: SerializedFileReader<File>,
    kinds: Vec<Kind>,
    next_group: usize,
    group: Option<Group>,
    row: u64,
}

/// A row group being read: one reader per wanted column.
struct Group {
    columns: Vec<ColumnReader>,
    rows_left: usize,
}

impl std::fmt::Debug for ParquetReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ParquetReader")
            .field("file", &self.file)
            .field("row", &self.row)
            .finish_non_exhaustive()
    }
}

impl ParquetReader {
    pub(crate) fn new(file: Arc<str>, input: File) -> Result<Self> {
        if input.metadata().map_err(|source| Error::io(&file, "read", source))?.len() == 0 {
            return Err(Error::Empty { file: file.to_string() });
        }
        let open = || {
            let reader = SerializedFileReader::new(input)?;
            let schema = reader.metadata().file_metadata().schema_descr();
            let kinds = schema.columns().iter().map(|column| kind_of(column)).collect();
            Ok((reader, kinds))
        };
        let (reader, kinds) = guarded(&file, open)?;
        Ok(Self { file, reader, kinds, next_group: 0, group: None, row: 0 })
    }

    /// Column names; nested columns have dotted ones.
    pub(crate) fn header(&self) -> Vec<String> {
        let schema = self.reader.metadata().file_metadata().schema_descr();
        schema.columns().iter().map(|column| column.path().parts().join(".")).collect()
    }

    /// Rows of all row groups.
    pub(crate) fn n_rows(&self) -> Result<u64> {
        let rows =
            self.reader.metadata().row_groups().iter().map(|group| u64::try_from(group.num_rows()));
        let negative = |_| Error::file(&self.file, "a row group has a negative number of rows");
        rows.sum::<std::result::Result<u64, _>>().map_err(negative)
    }

    /// The type an id column has in the output.
    pub(crate) fn id_kind(&self, column: usize) -> FieldKind {
        match self.kinds[column] {
            Kind::Float => FieldKind::Float,
            Kind::Integer | Kind::Unsigned => FieldKind::Integer,
            Kind::Boolean | Kind::Text | Kind::Other => FieldKind::Text,
        }
    }

    /// Fails on wanted columns whose type has no number (features) or no plain value (ids).
    pub(crate) fn check(&self, plan: &ColumnPlan) -> Result<()> {
        let refuse = |column: usize, wanted: &str| {
            let schema = self.reader.metadata().file_metadata().schema_descr();
            let descriptor = schema.column(column);
            let physical = descriptor.physical_type();
            let logical = descriptor
                .logical_type_ref()
                .map_or_else(String::new, |logical| format!(" {logical:?}"));
            let name = &plan.header()[column];
            Error::file(
                &self.file,
                format!("column '{name}' of type {physical}{logical} cannot be read as {wanted}"),
            )
        };
        for (j, &column) in plan.feature_columns().iter().enumerate() {
            match self.kinds[column] {
                Kind::Text if !plan.categories(j).is_empty() => {}
                Kind::Text | Kind::Other => return Err(refuse(column, "a number")),
                _ => {}
            }
        }
        match plan.id_columns().iter().find(|&&column| self.kinds[column] == Kind::Other) {
            Some(&column) => Err(refuse(column, "an id")),
            None => Ok(()),
        }
    }

    /// The next rows; `None` at the end.
    pub(crate) fn next(
        &mut self,
        plan: &ColumnPlan,
        limit: ChunkLimit,
    ) -> Result<Option<TypedCells>> {
        let file = Arc::clone(&self.file);
        guarded(&file, || self.read_rows(plan, limit))
    }

    fn read_rows(
        &mut self,
        plan: &ColumnPlan,
        limit: ChunkLimit,
    ) -> Result<Option<TypedCells>, ParquetError> {
        let mut group = loop {
            match self.group.take() {
                Some(group) if group.rows_left > 0 => break group,
                _ if self.next_group == self.reader.num_row_groups() => return Ok(None),
                _ => self.group = Some(self.open_group(plan)?),
            }
        };
        let n_features = plan.n_features();
        let by_bytes = limit.bytes / (8 * group.columns.len().max(1));
        let n_rows = group.rows_left.min(limit.rows).min(by_bytes.max(1));
        let mut cells = TypedCells::new(self.row, n_rows, n_features);
        let wanted = plan.feature_columns().iter().chain(plan.id_columns());
        for (i, (&column, reader)) in wanted.zip(&mut group.columns).enumerate() {
            let values = read(reader, self.kinds[column], n_rows)?;
            if i < n_features {
                cells.set_feature(i, plan, &values);
            } else {
                cells.push_id(values);
            }
        }
        group.rows_left -= n_rows;
        self.group = Some(group);
        self.row += n_rows as u64;
        Ok(Some(cells))
    }

    fn open_group(&mut self, plan: &ColumnPlan) -> Result<Group, ParquetError> {
        let group = self.reader.get_row_group(self.next_group)?;
        self.next_group += 1;
        let rows_left = usize::try_from(group.metadata().num_rows()).map_err(|_| {
            ParquetError::General("a row group has a negative number of rows".to_owned())
        })?;
        let wanted = plan.feature_columns().iter().chain(plan.id_columns());
        let columns =
            wanted.map(|&column| group.get_column_reader(column)).collect::<Result<_, _>>()?;
        Ok(Group { columns, rows_left })
    }
}

/// Reads the next `n` values of a column.
fn read(reader: &mut ColumnReader, kind: Kind, n: usize) -> Result<TypedColumn, ParquetError> {
    Ok(match reader {
        ColumnReader::DoubleColumnReader(reader) => {
            TypedColumn::Floats(values(reader, n, |value| value)?)
        }
        ColumnReader::FloatColumnReader(reader) => {
            TypedColumn::Floats(values(reader, n, f64::from)?)
        }
        ColumnReader::BoolColumnReader(reader) => {
            TypedColumn::Booleans(values(reader, n, |value| value)?)
        }
        ColumnReader::Int32ColumnReader(reader) if kind == Kind::Unsigned => {
            TypedColumn::Integers(values(reader, n, |value| i64::from(value.cast_unsigned()))?)
        }
        ColumnReader::Int32ColumnReader(reader) => {
            TypedColumn::Integers(values(reader, n, i64::from)?)
        }
        ColumnReader::Int64ColumnReader(reader) => {
            let integers = values(reader, n, |value| value)?;
            if kind == Kind::Unsigned && integers.iter().flatten().any(|&value| value < 0) {
                return Err(ParquetError::General("an unsigned number is above 2^63".to_owned()));
            }
            TypedColumn::Integers(integers)
        }
        ColumnReader::ByteArrayColumnReader(reader) => {
            TypedColumn::Texts(values(reader, n, |value| value)?)
        }
        ColumnReader::Int96ColumnReader(_) | ColumnReader::FixedLenByteArrayColumnReader(_) => {
            return Err(ParquetError::General(
                "a column has a type that cannot be read".to_owned(),
            ));
        }
    })
}

fn values<T: DataType, V>(
    reader: &mut ColumnReaderImpl<T>,
    n: usize,
    convert: impl Fn(T::T) -> V,
) -> Result<Vec<Option<V>>, ParquetError> {
    let (mut present, mut levels) = (Vec::with_capacity(n), Vec::with_capacity(n));
    let (n_records, n_values, n_levels) =
        reader.read_records(n, Some(&mut levels), None, &mut present)?;
    if n_records != n {
        return Err(ParquetError::General(format!("a column ends {} rows early", n - n_records)));
    }
    if n_values == n {
        return Ok(present.into_iter().map(|value| Some(convert(value))).collect());
    }
    // Fewer values than rows: the highest level that occurs marks a value, any lower one a null.
    let highest =
        if n_values == 0 { i16::MAX } else { levels.iter().copied().max().unwrap_or(i16::MAX) };
    let mut present = present.into_iter();
    let mut place =
        |level: &i16| if *level == highest { present.next().map(&convert) } else { None };
    debug_assert_eq!(n_levels, n);
    Ok(levels.iter().map(&mut place).collect())
}

fn kind_of(column: &ColumnDescriptor) -> Kind {
    let repeated = column.max_rep_level() > 0;
    let is_time_or_decimal = matches!(
        column.logical_type_ref(),
        Some(
            LogicalType::Decimal { .. }
                | LogicalType::Date
                | LogicalType::Time { .. }
                | LogicalType::Timestamp { .. }
        )
    );
    if repeated || is_time_or_decimal {
        return Kind::Other;
    }
    match (column.physical_type(), column.converted_type()) {
        (Type::DOUBLE | Type::FLOAT, _) => Kind::Float,
        (Type::BOOLEAN, _) => Kind::Boolean,
        (
            Type::INT32 | Type::INT64,
            ConvertedType::UINT_8
            | ConvertedType::UINT_16
            | ConvertedType::UINT_32
            | ConvertedType::UINT_64,
        ) => Kind::Unsigned,
        (
            Type::INT32 | Type::INT64,
            ConvertedType::NONE
            | ConvertedType::INT_8
            | ConvertedType::INT_16
            | ConvertedType::INT_32
            | ConvertedType::INT_64,
        ) => Kind::Integer,
        (
            Type::BYTE_ARRAY,
            ConvertedType::NONE | ConvertedType::UTF8 | ConvertedType::ENUM | ConvertedType::JSON,
        ) => Kind::Text,
        _ => Kind::Other,
    }
}

/// Runs a step of the Parquet library. It asserts some of what a sound file guarantees, so that a
/// damaged one can make it panic; that is an error of the file, and the reader is not used again
/// after it.
fn guarded<T>(file: &str, step: impl FnOnce() -> Result<T, ParquetError>) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(step)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(source)) => Err(Error::file(file, format!("cannot read as Parquet: {source}"))),
        Err(_) => Err(Error::file(file, "cannot read as Parquet: the file is damaged")),
    }
}
