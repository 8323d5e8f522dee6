//! Names to things: one explicit slice per kind, so that the command line, the bindings and the
//! docs all list the same.

use crate::error::{Error, Result};

/// A registered thing: the name users type, where it comes from, and the thing.
#[derive(Debug)]
pub struct Entry<T: ?Sized + 'static> {
    /// The name users type.
    pub name: &'static str,
    /// The paper or definition behind it.
    pub reference: &'static str,
    /// The thing itself.
    pub item: &'static T,
}

/// Finds `name` in `entries`; the error lists all names.
pub fn lookup<T: ?Sized>(
    kind: &'static str,
    entries: &'static [Entry<T>],
    name: &str,
) -> Result<&'static Entry<T>> {
    entries.iter().find(|entry| entry.name == name).ok_or_else(|| Error::UnknownName {
        kind,
        name: name.to_owned(),
        known: entries.iter().map(|entry| entry.name).collect::<Vec<_>>().join(", "),
    })
}
