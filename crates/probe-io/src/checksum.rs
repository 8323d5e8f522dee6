//! SHA-256 checksums of content.

use sha2::{Digest, Sha256};

/// SHA-256 of what is given to it, piece by piece.
///
/// ```
/// let mut checksum = probe_io::Checksum::default();
/// checksum.update(b"a");
/// checksum.update(b"bc");
/// let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
/// assert_eq!(checksum.finish(), expected);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Checksum {
    state: Sha256,
}

impl Checksum {
    /// The sum of one piece.
    pub fn of(piece: &[u8]) -> String {
        let mut checksum = Self::default();
        checksum.update(piece);
        checksum.finish()
    }

    /// Takes the next piece.
    pub fn update(&mut self, piece: &[u8]) {
        self.state.update(piece);
    }

    /// The sum of all pieces, in hexadecimal digits.
    pub fn finish(self) -> String {
        self.state.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}
