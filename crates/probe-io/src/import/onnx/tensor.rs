//! Constants of the graph.

use super::proto;
use crate::import::columns::Element;

impl Element {
    /// By its number in ONNX files.
    pub(super) fn of_number(number: i64) -> Result<Self, String> {
        match number {
            1 => Ok(Self::Single),
            11 => Ok(Self::Double),
            6 | 7 | 9 => Ok(Self::Whole),
            8 => Ok(Self::Text),
            _ => Err(format!(
                "element type {number} is not read (float, double, int32, int64, \
                 bool and string are)"
            )),
        }
    }
}

/// The entries.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Data {
    Floats(Vec<f64>),
    Wholes(Vec<i64>),
    Texts(Vec<String>),
}

/// A constant.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tensor {
    pub dims: Vec<usize>,
    pub data: Data,
}

impl Tensor {
    /// Reads one; as long as the file says, and no longer than what it holds.
    pub(super) fn read(tensor: &proto::Tensor) -> Result<Self, String> {
        if tensor.data_location != 0 || !tensor.external_data.is_empty() {
            return Err("its data are in another file: save the model in one file".to_owned());
        }
        let mut dims = Vec::with_capacity(tensor.dims.len());
        for &dim in &tensor.dims {
            dims.push(usize::try_from(dim).map_err(|_| format!("dimension {dim} is negative"))?);
        }
        let raw = tensor.raw_data.as_ref().filter(|raw| !raw.is_empty());
        let data = match (tensor.data_type, raw) {
            (1, Some(raw)) => Data::Floats(each(raw, |b| f64::from(f32::from_le_bytes(b)))?),
            (1, None) => Data::Floats(tensor.float_data.iter().map(|&x| f64::from(x)).collect()),
            (11, Some(raw)) => Data::Floats(each(raw, f64::from_le_bytes)?),
            (11, None) => Data::Floats(tensor.double_data.clone()),
            (7, Some(raw)) => Data::Wholes(each(raw, i64::from_le_bytes)?),
            (7, None) => Data::Wholes(tensor.int64_data.clone()),
            (6, Some(raw)) => Data::Wholes(each(raw, |b| i64::from(i32::from_le_bytes(b)))?),
            (9, Some(raw)) => Data::Wholes(raw.iter().map(|&b| i64::from(b)).collect()),
            (6 | 9, None) => {
                Data::Wholes(tensor.int32_data.iter().map(|&x| i64::from(x)).collect())
            }
            (8, _) => Data::Texts(
                tensor.string_data.iter().map(|text| words(text)).collect::<Result<_, _>>()?,
            ),
            (other, _) => {
                Element::of_number(i64::from(other))?;
                return Err(format!("element type {other} is not read"));
            }
        };
        let tensor = Self { dims, data };
        let wanted = tensor.dims.iter().try_fold(1_usize, |n, &dim| n.checked_mul(dim));
        if wanted != Some(tensor.len()) {
            return Err(format!(
                "its dimensions are {:?}, but it has {} entries",
                tensor.dims,
                tensor.len()
            ));
        }
        Ok(tensor)
    }

    /// Number of entries.
    pub(super) fn len(&self) -> usize {
        match &self.data {
            Data::Floats(x) => x.len(),
            Data::Wholes(x) => x.len(),
            Data::Texts(x) => x.len(),
        }
    }

    /// The entries as numbers.
    pub(super) fn numbers(&self) -> Result<Vec<f64>, String> {
        match &self.data {
            Data::Floats(x) => Ok(x.clone()),
            Data::Wholes(x) => Ok(x.iter().map(|&x| x as f64).collect()),
            Data::Texts(_) => Err("texts stand where numbers are needed".to_owned()),
        }
    }

    /// The entries as whole numbers.
    pub(super) fn wholes(&self) -> Result<&[i64], String> {
        match &self.data {
            Data::Wholes(x) => Ok(x),
            _ => Err("expected whole numbers".to_owned()),
        }
    }

    /// One number for each of `n` columns; a single number applies to all.
    pub(super) fn per_column(&self, n: usize) -> Result<Vec<f64>, String> {
        let numbers = self.numbers()?;
        if let [one] = numbers[..] {
            return Ok(vec![one; n]);
        }
        let along_columns = self.dims.last() == Some(&n) && numbers.len() == n;
        if along_columns {
            return Ok(numbers);
        }
        Err(format!("a constant of dimensions {:?} does not go with {n} columns", self.dims))
    }

    /// Rows and columns, if it is a matrix.
    pub(super) fn matrix(&self) -> Result<(usize, usize), String> {
        match self.dims[..] {
            [rows, columns] if rows > 0 && columns > 0 => Ok((rows, columns)),
            _ => Err(format!("expected a matrix, found dimensions {:?}", self.dims)),
        }
    }

    /// With rows and columns exchanged.
    pub(super) fn transposed(&self) -> Result<Self, String> {
        let (rows, columns) = self.matrix()?;
        let numbers = self.numbers()?;
        let flipped = (0..columns).flat_map(|j| (0..rows).map(move |i| i * columns + j));
        Ok(Self {
            dims: vec![columns, rows],
            data: Data::Floats(flipped.map(|at| numbers[at]).collect()),
        })
    }
}

/// Text as UTF-8.
pub(super) fn words(bytes: &[u8]) -> Result<String, String> {
    String::from_utf8(bytes.to_vec()).map_err(|_| "a text that is not UTF-8".to_owned())
}

fn each<const N: usize, T>(raw: &[u8], read: impl Fn([u8; N]) -> T) -> Result<Vec<T>, String> {
    let (whole, rest) = raw.as_chunks::<N>();
    if !rest.is_empty() {
        return Err(format!("{} bytes are not a whole number of entries of {N} bytes", raw.len()));
    }
    Ok(whole.iter().map(|&bytes| read(bytes)).collect())
}
