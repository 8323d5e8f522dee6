//! Margins and decisions of people, without noise.

use crate::people::at_row;
use crate::rows;
use anyhow::Result;
use probe_core::Engine;
use probe_io::{Batch, Chunk, Column, Field, JsonRows};
use serde_json::{Map, Value, json};

/// Output columns before the ids.
pub fn fields() -> Vec<Field> {
    vec![Field::integer("row"), Field::boolean("favourable"), Field::float("margin")]
}

/// Scores of a chunk's people: whether each decision is favourable, and the margin. The margin
/// alone would not do, because a tiny score can vanish beside a large threshold.
#[derive(Debug)]
pub struct Scores(Vec<(bool, f64)>);

impl Scores {
    /// Scores the people of a chunk.
    pub fn of(engine: &Engine, chunk: &Chunk) -> Result<Self> {
        let mut people = Vec::new();
        chunk.numbers_into(&mut people)?;
        let threshold = engine.setup().model.threshold();
        let score = |(row, person): (usize, &[f64])| {
            let score = engine.score(person).map_err(at_row(chunk, row))?;
            Ok((score > 0.0, score + threshold))
        };
        let n = chunk.plan().n_columns();
        people.chunks_exact(n).enumerate().map(score).collect::<Result<_>>().map(Self)
    }

    /// As columns of a table.
    pub fn columns<'c>(&self, chunk: &'c Chunk) -> Result<Batch<'c>> {
        let first = chunk.first_row() as i64;
        let mut columns = vec![
            Column::integers((0..self.0.len()).map(|i| first + i as i64)),
            Column::booleans(self.0.iter().map(|(yes, _)| *yes)),
            Column::floats(self.0.iter().map(|(_, margin)| *margin)),
        ];
        for k in 0..chunk.plan().n_ids() {
            columns.push(chunk.id_column(k, 0..self.0.len())?);
        }
        Ok(Batch::Columns(columns))
    }

    /// As JSON.
    pub fn objects<'c>(&self, chunk: &'c Chunk, meta: Option<&Value>) -> Result<Batch<'c>> {
        let mut rows = JsonRows::new(meta)?;
        for (i, (favourable, margin)) in self.0.iter().enumerate() {
            let mut object: Map<String, Value> = Map::new();
            object.insert("row".to_owned(), json!(chunk.first_row() + i as u64));
            object.insert("favourable".to_owned(), json!(favourable));
            object.insert("margin".to_owned(), json!(margin));
            object
                .extend(rows::ids(chunk, i)?.into_iter().map(|(id, value)| (id.to_owned(), value)));
            rows.push(&object)?;
        }
        Ok(Batch::Json(rows))
    }
}
