//! Arrow IPC streams in: a whole stream in memory as record batches.

use super::reader::TableReader;
use crate::error::{Error, Result};
use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Reads a table from the bytes of an Arrow IPC stream; `name` is its name in errors. Never
/// allocates more than the bytes call for, whatever lengths they claim.
pub fn read_ipc(name: &str, bytes: Vec<u8>) -> Result<TableReader> {
    // The decoder indexes into untrusted offsets in places, which panics.
    let decoded = catch_unwind(AssertUnwindSafe(|| decode(bytes)))
        .unwrap_or_else(|_| Err("its offsets point outside of it".to_owned()));
    let (schema, batches) =
        decoded.map_err(|what| Error::file(name, format!("not an Arrow IPC stream: {what}")))?;
    TableReader::from_arrow(name, &schema, batches)
}

type Decoded = (arrow_schema::SchemaRef, Vec<RecordBatch>);

fn decode(bytes: Vec<u8>) -> Result<Decoded, String> {
    let mut buffer = Buffer::from(bytes);
    let (mut decoder, mut batches) = (StreamDecoder::new(), Vec::new());
    while !buffer.is_empty() {
        match decoder.decode(&mut buffer).map_err(|error| error.to_string())? {
            Some(batch) => batches.push(batch),
            // The decoder has taken all bytes, or the stream has ended before them.
            None => break,
        }
    }
    decoder.finish().map_err(|error| error.to_string())?;
    let schema = decoder.schema().ok_or("it has no schema")?;
    Ok((schema, batches))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Batch, Column, Columns, Field, TableWriter};

    fn stream() -> Vec<u8> {
        let fields = vec![Field::float("a"), Field::text("b")];
        let mut writer = TableWriter::arrow_stream(fields).unwrap();
        let columns = vec![Column::floats([1.5, f64::MIN_POSITIVE]), Column::texts(["x", "y"])];
        let encoded = writer.encoder().encode(&Batch::Columns(columns)).unwrap();
        writer.write(encoded).unwrap();
        writer.into_bytes().unwrap()
    }

    #[test]
    fn what_is_written_reads_back_to_the_bit() {
        let reader = read_ipc("body", stream()).unwrap();
        assert_eq!(reader.header(), ["a", "b"]);
        let wanted = Columns { ids: vec!["b".to_owned()], ..Columns::features(&["a".to_owned()]) };
        let (mut numbers, mut chunks) = (Vec::new(), reader.select(&wanted).unwrap());
        chunks.next().unwrap().unwrap().numbers_into(&mut numbers).unwrap();
        assert_eq!(numbers, [1.5, f64::MIN_POSITIVE]);
    }

    #[test]
    fn no_damage_to_the_bytes_does_more_than_fail() {
        let good = stream();
        for at in 0..good.len() {
            for flip in [1_u8, 0x80, 0xff] {
                let mut bad = good.clone();
                bad[at] ^= flip;
                // Some damage leaves a readable stream; none may end the process.
                let _ = read_ipc("body", bad);
            }
            assert!(read_ipc("body", good[..at].to_vec()).is_err() || at == good.len() - 8);
        }
        assert!(read_ipc("body", b"PK\x03\x04 is no stream".to_vec()).is_err());
    }
}
