//! From the text of one flag to a value that only the command line has.

/// An experiment of the paper.
pub(super) fn experiment(text: &str) -> Result<String, String> {
    let found = probe_experiments::reproduce::experiments(text);
    found.map(|_| text.to_owned()).map_err(|error| error.to_string())
}
