//! Margins of a model for rows of a CSV file: `margins MODEL ROWS` prints one a line.
//!
//! The file has the model's features as people have them, categories by name; an empty cell is a missing value.

use probe_core::Encoding;
use probe_io::ModelFile;
use std::io::Write as _;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [model, rows] = &arguments[..] else {
        return Err("expected MODEL and ROWS".into());
    };
    let file = ModelFile::load(model)?;
    let encoding = match file.schema_with(None) {
        Some(schema) => Encoding::new(&schema, &file.features)?,
        None => Encoding::identity(&file.features),
    };
    let mut table = csv::Reader::from_path(rows)?;
    let header = table.headers()?.clone();
    let mut places = Vec::new();
    for feature in encoding.features() {
        let place = header.iter().position(|name| name == feature.name);
        places.push(place.ok_or_else(|| format!("no column '{}'", feature.name))?);
    }
    let (mut row, mut columns) = (vec![0.0; places.len()], vec![0.0; file.features.len()]);
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for record in table.records() {
        let record = record?;
        for (k, feature) in encoding.features().iter().enumerate() {
            let cell = &record[places[k]];
            row[k] = match encoding.is_category(k) {
                true => {
                    let option = feature.option(cell);
                    option.ok_or_else(|| format!("'{cell}' is no category of '{}'", feature.name))? as f64
                }
                false if cell.is_empty() => f64::NAN,
                false => cell.parse()?,
            };
        }
        encoding.encode_into(&row, &mut columns);
        let gap =
            (0..columns.len()).find(|&j| columns[j].is_nan() && file.model.refuses_missing(j).is_some());
        if let Some(j) = gap {
            return Err(format!("'{}' must not be missing", file.features[j]).into());
        }
        writeln!(out, "{}", file.model.score(&columns)?)?;
    }
    Ok(out.flush()?)
}
