//! Which columns of a table are read, and as what.

use crate::error::{Error, Result};
use crate::output::{Field, FieldKind};
use probe_core::Encoding;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The columns a caller wants.
#[derive(Debug, Clone, Default)]
pub struct Columns {
    /// Numeric columns, in the order wanted.
    pub features: Vec<String>,
    /// Columns that are carried through as they are.
    pub ids: Vec<String>,
    /// Whether other columns are ignored; otherwise they are an error.
    pub ignore_extra: bool,
    /// How features become columns, where some are categories: `features` are then those of the
    /// encoding.
    pub encoding: Option<Arc<Encoding>>,
    /// For each feature, why a missing value is rejected; `None` if it is read as NaN. If this is
    /// empty, missing values are rejected without a reason.
    pub missing: Vec<Option<&'static str>>,
}

impl Columns {
    /// Features alone; any other column is an error.
    pub fn features(names: &[String]) -> Self {
        Self { features: names.to_vec(), ..Self::default() }
    }
}

/// Wanted columns found in a table's header.
#[derive(Debug, Clone)]
pub struct ColumnPlan {
    file: String,
    header: Vec<String>,
    features: Vec<usize>,
    ids: Vec<usize>,
    id_kinds: Vec<FieldKind>,
    ignore_extra: bool,
    missing: Vec<Option<&'static str>>,
    encoding: Option<Arc<Encoding>>,
}

impl ColumnPlan {
    /// Finds `wanted` in `header`. `kind_of` says what type an id column has in the output.
    pub(crate) fn new(
        file: &str,
        header: &[String],
        wanted: &Columns,
        kind_of: impl Fn(usize) -> FieldKind,
    ) -> Result<Self> {
        let index: BTreeMap<&str, usize> =
            header.iter().enumerate().map(|(i, name)| (name.as_str(), i)).collect();
        let mut taken = vec![false; header.len()];
        let mut find = |name: &String| match index.get(name.as_str()) {
            Some(&i) if taken[i] => Err(Error::file(
                file,
                format!("column '{name}' is asked for twice, as a feature or an id"),
            )),
            Some(&i) => {
                taken[i] = true;
                Ok(i)
            }
            None => Err(Error::MissingColumn {
                file: file.to_owned(),
                column: name.clone(),
                hint: hint(name, header, wanted),
            }),
        };
        let features = wanted.features.iter().map(&mut find).collect::<Result<Vec<_>>>()?;
        let ids = wanted.ids.iter().map(&mut find).collect::<Result<Vec<_>>>()?;
        if let (false, Some(extra)) = (wanted.ignore_extra, taken.iter().position(|&taken| !taken))
        {
            return Err(Error::UnexpectedColumn {
                file: file.to_owned(),
                column: header[extra].clone(),
            });
        }
        Ok(Self {
            file: file.to_owned(),
            header: header.to_vec(),
            id_kinds: ids.iter().map(|&i| kind_of(i)).collect(),
            features,
            ids,
            ignore_extra: wanted.ignore_extra,
            missing: wanted.missing.clone(),
            encoding: wanted.encoding.clone(),
        })
    }

    /// The file as the user named it.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Number of features.
    pub fn n_features(&self) -> usize {
        self.features.len()
    }

    /// Number of columns that a row is converted to: one per feature, unless there are categories.
    pub fn n_columns(&self) -> usize {
        self.encoding.as_ref().map_or(self.features.len(), |encoding| encoding.n_columns())
    }

    /// How features become columns, where some are categories.
    pub fn encoding(&self) -> Option<&Encoding> {
        self.encoding.as_deref()
    }

    /// The categories of feature `j`; empty for a number.
    pub(crate) fn categories(&self, j: usize) -> &[String] {
        self.encoding.as_ref().map_or(&[], |encoding| &encoding.features()[j].categories)
    }

    /// Number of id columns.
    pub fn n_ids(&self) -> usize {
        self.ids.len()
    }

    /// Name of feature `j`.
    pub fn feature(&self, j: usize) -> &str {
        &self.header[self.features[j]]
    }

    /// Whether feature `j` may be missing.
    pub fn may_be_missing(&self, j: usize) -> bool {
        self.missing.get(j).is_some_and(Option::is_none)
    }

    /// Why a missing value of feature `j` is rejected, if a reason is known.
    pub(crate) fn refuses_missing(&self, j: usize) -> Option<&'static str> {
        self.missing.get(j).copied().flatten()
    }

    /// Name of id column `k`.
    pub fn id(&self, k: usize) -> &str {
        &self.header[self.ids[k]]
    }

    /// Output fields that can hold the id columns.
    pub fn id_fields(&self) -> Vec<Field> {
        let field = |(k, kind): (usize, &FieldKind)| Field::new(self.id(k), *kind).optional();
        self.id_kinds.iter().enumerate().map(field).collect()
    }

    pub(crate) fn header(&self) -> &[String] {
        &self.header
    }

    /// The features as the file orders them: positions in the order wanted.
    pub fn features_in_file_order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.features.len()).collect();
        order.sort_by_key(|&j| self.features[j]);
        order
    }

    /// Position of each feature in the file.
    pub(crate) fn feature_columns(&self) -> &[usize] {
        &self.features
    }

    /// Position of each id column in the file.
    pub(crate) fn id_columns(&self) -> &[usize] {
        &self.ids
    }

    pub(crate) fn id_kind(&self, k: usize) -> FieldKind {
        self.id_kinds[k]
    }

    pub(crate) fn ignores_extra(&self) -> bool {
        self.ignore_extra
    }
}

/// Fails on a name that occurs twice.
pub(crate) fn check_distinct(header: &[String], file: &str) -> Result<()> {
    let mut seen = std::collections::BTreeSet::new();
    match header.iter().find(|name| !seen.insert(name.as_str())) {
        Some(name) => Err(Error::DuplicateColumn { file: file.to_owned(), column: name.clone() }),
        None => Ok(()),
    }
}

/// The least similarity at which a name counts as a misspelling of another: one letter in four may
/// differ.
const ALIKE: f64 = 0.75;

/// A guess at which column was meant: the unused one with the most similar name,
/// whatever its case, spaces, underscores or hyphens.
fn hint(name: &str, header: &[String], wanted: &Columns) -> String {
    let bare = |text: &str| -> String {
        text.chars()
            .filter(|c| !matches!(c, ' ' | '_' | '-'))
            .flat_map(char::to_lowercase)
            .collect()
    };
    let free = header
        .iter()
        .filter(|column| !wanted.features.contains(column) && !wanted.ids.contains(column));
    let close = free
        .map(|column| (strsim::normalized_damerau_levenshtein(&bare(column), &bare(name)), column))
        .filter(|(alike, _)| *alike >= ALIKE)
        .max_by(|a, b| a.0.total_cmp(&b.0));
    if let Some((_, close)) = close {
        return format!(" (did you mean '{close}'?)");
    }
    if let [only] = header
        && let Some(separator) = only.chars().find(|c| matches!(c, ';' | '\t' | '|'))
    {
        return format!(" (the header has no commas: cells seem to be separated by {separator:?})");
    }
    String::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    fn plan(
        header: &[&str],
        features: &[&str],
        ids: &[&str],
        ignore_extra: bool,
    ) -> Result<ColumnPlan> {
        let wanted = Columns {
            features: names(features),
            ids: names(ids),
            ignore_extra,
            ..Columns::default()
        };
        ColumnPlan::new("p.csv", &names(header), &wanted, |_| FieldKind::Text)
    }

    fn message(result: Result<ColumnPlan>) -> String {
        result.unwrap_err().to_string()
    }

    #[test]
    fn columns_are_found_in_any_order() {
        let plan = plan(&["id", "b", "a", "x"], &["a", "b"], &["id"], true).unwrap();
        assert_eq!(plan.feature_columns(), [2, 1]);
        assert_eq!(plan.features_in_file_order(), [1, 0]);
        assert_eq!(plan.id_columns(), [0]);
        assert_eq!((plan.feature(0), plan.id(0)), ("a", "id"));
    }

    #[test]
    fn missing_and_unexpected_columns_are_named() {
        assert_eq!(
            message(plan(&["a"], &["a", "income"], &[], false)),
            "p.csv: no column 'income'"
        );
        assert_eq!(
            message(plan(&["a", "Net Income"], &["a", "net_income"], &[], false)),
            "p.csv: no column 'net_income' (did you mean 'Net Income'?)"
        );
        assert_eq!(
            message(plan(&["debt", "saving"], &["debt", "savings"], &[], false)),
            "p.csv: no column 'savings' (did you mean 'saving'?)"
        );
        // Not a column that is asked for itself, nor one that is merely as short.
        assert_eq!(
            message(plan(&["x101"], &["x101", "x100"], &[], false)),
            "p.csv: no column 'x100'"
        );
        assert_eq!(message(plan(&["x2"], &["x1"], &[], false)), "p.csv: no column 'x1'");
        assert!(message(plan(&["a;b"], &["a", "b"], &[], false)).contains("separated by ';'"));
        assert_eq!(
            message(plan(&["a", "zip"], &["a"], &[], false)),
            "p.csv: unexpected column 'zip': neither a feature nor an id"
        );
        assert!(plan(&["a", "zip"], &["a"], &[], true).is_ok());
        assert!(message(plan(&["a"], &["a"], &["a"], false)).contains("'a' is asked for twice"));
    }

    #[test]
    fn repeated_names_are_refused() {
        let error = check_distinct(&names(&["a", "b", "a"]), "p.csv").unwrap_err();
        assert_eq!(error.to_string(), "p.csv: column 'a' appears twice");
    }
}
