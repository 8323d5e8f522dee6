//! Lookup by name: one explicit slice per kind of entry, so that the command line and the bindings
//! list the same names.

use crate::error::{Error, Result};

/// A registered item with its name and source.
#[derive(Debug)]
pub struct Entry<T: ?Sized + 'static> {
    /// The name users type.
    pub name: &'static str,
    /// The paper or definition behind it.
    pub reference: &'static str,
    /// The item.
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
