//! Native model files, version 1: JSON with `format`, `version`, `kind`, `features`, what the kind
//! needs, and an optional schema. A new kind is one file here and one line in [`KINDS`]. Files of
//! other libraries come in through [`import`](crate::import).

mod layers;
mod linear;
mod mlp;
mod trees;

use crate::checksum::Checksum;
use crate::content;
use crate::error::{Error, Result};
use crate::import::{self, FORMATS, Format, Imported};
use crate::json::{self, Node};
use crate::output::AtomicOutput;
use crate::schema_file;
use probe_core::{Encoding, Model, ModelInput, Schema};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::fmt;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

const FORMAT: &str = "probe-model";
const VERSION: u64 = 1;
/// Fields that every kind has.
const COMMON: [&str; 6] = ["format", "version", "kind", "features", "schema", "threshold"];

/// One kind of model: its name, its own fields, and how it is read and written.
struct Kind {
    name: &'static str,
    /// Fields in addition to the common ones.
    fields: &'static [&'static str],
    /// Builds the model from the document; the number of features and the threshold are read
    /// already.
    read: fn(&Node<'_>, n_features: usize, threshold: f64) -> Result<Arc<dyn Model>>,
    /// The kind's fields of a model of this kind; `None` for other models.
    write: fn(&dyn Model) -> Option<Map<String, Value>>,
}

/// All kinds.
const KINDS: &[Kind] = &[linear::KIND, mlp::KIND, trees::KIND];

/// A model with the names of its inputs and, where the file has one, its schema.
#[derive(Clone)]
pub struct ModelFile {
    /// Model-input columns, in order.
    pub features: Vec<String>,
    /// The model.
    pub model: Arc<dyn Model>,
    /// The schema inside the file.
    pub schema: Option<Schema>,
    /// What the model takes where a schema does not say: scaled values, or raw ones if another
    /// library made it.
    pub input: ModelInput,
    /// What another library's file is, in a few words; `None` for native files.
    pub source: Option<String>,
    /// Hex SHA-256 of the file's bytes.
    pub hash: String,
}

impl fmt::Debug for ModelFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelFile")
            .field("kind", &self.model.name())
            .field("features", &self.features)
            .field("schema", &self.schema)
            .field("source", &self.source)
            .field("hash", &self.hash)
            .finish()
    }
}

impl ModelFile {
    /// Whether a file that starts with these bytes is a model of another library.
    pub fn is_foreign(head: &[u8]) -> bool {
        import::format_of(head).is_some()
    }

    /// Reads a model file; the format is detected from the content.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let file = path.display().to_string();
        let bytes = std::fs::read(path).map_err(|source| Error::io(&file, "read", source))?;
        Self::parse(&bytes, &file)
    }

    /// Reads a model from memory; `origin` names it in errors.
    pub fn parse(bytes: &[u8], origin: &str) -> Result<Self> {
        if let Some(format) = import::format_of(bytes) {
            return Self::imported(format, bytes, origin);
        }
        let content = content::recognise(bytes);
        if content != content::Content::Json {
            let mut known: Vec<_> = FORMATS.iter().map(|format| format.name).collect();
            known.dedup();
            let known = known.join(", ");
            let what =
                format!("not a model file: expected JSON or a model of {known}, found {content}");
            return Err(Error::file(origin, what));
        }
        let value = json::parse(content::without_mark(bytes), origin)?;
        let root = Node::root(&value, origin);
        check_format(&root)?;
        let kind_name = root.need("kind")?;
        let name = kind_name.text()?;
        let kind = KINDS.iter().find(|kind| kind.name == name).ok_or_else(|| {
            let known: Vec<_> = KINDS.iter().map(|kind| kind.name).collect();
            kind_name.error(format!("unknown kind '{name}' (known: {})", known.join(", ")))
        })?;
        root.only(&[&COMMON[..], kind.fields].concat())?;
        let features = read_features(&root.need("features")?)?;
        let threshold = root.get("threshold")?.map_or(Ok(0.0), |node| node.number())?;
        let model = (kind.read)(&root, features.len(), threshold)?;
        let schema = match root.get("schema")? {
            None => None,
            Some(node) => Some(read_schema(&node, &features)?),
        };
        Ok(Self {
            features,
            model,
            schema,
            input: ModelInput::Scaled,
            source: None,
            hash: Checksum::of(bytes),
        })
    }

    fn imported(format: &Format, bytes: &[u8], origin: &str) -> Result<Self> {
        let Imported { features, model, schema, about } = (format.read)(bytes, origin)?;
        let mut seen = BTreeSet::new();
        for name in &features {
            if let Some(fault) = fault_of_name(name, &mut seen) {
                return Err(Error::file(origin, format!("the feature name '{name}' {fault}")));
            }
        }
        let source = Some(format!("{} {about}", format.name));
        Ok(Self {
            features,
            model,
            schema,
            input: ModelInput::Raw,
            source,
            hash: Checksum::of(bytes),
        })
    }

    /// The schema to use with this model: the one `given`, or the file's own. Where it does not say
    /// what the model takes, the file's own schema does, or else what kind of file it is.
    pub fn schema_with(&self, given: Option<Schema>) -> Option<Schema> {
        let own = self.schema.as_ref();
        let mut schema = given.or_else(|| own.cloned())?;
        schema.model_input =
            schema.model_input.or(own.and_then(|own| own.model_input)).or(Some(self.input));
        Some(schema)
    }

    /// A file around a model of a native kind. Fails on other kinds, and unless there is one
    /// distinct name per input of the model, and a schema feature per name.
    pub fn new(
        features: Vec<String>,
        model: Arc<dyn Model>,
        schema: Option<Schema>,
    ) -> Result<Self> {
        let input = ModelInput::Scaled;
        let file = Self { features, model, schema, input, source: None, hash: String::new() };
        // Reading back what would be written applies every check of the reader, and gives the hash.
        Self::parse(file.to_json()?.as_bytes(), "the new model")
    }

    /// The model with another decision: `negate` if class 0 is the favourable one,
    /// and another cut-off on the (negated) margin.
    pub fn with_decision(&self, negate: bool, threshold: Option<f64>) -> Result<Arc<dyn Model>> {
        if !negate && threshold.is_none() {
            return Ok(Arc::clone(&self.model));
        }
        let core = |source| Error::Core { file: "model".to_owned(), source };
        if let Some(mlp) = self.model.as_mlp() {
            return Ok(Arc::new(mlp.with_decision(negate, threshold).map_err(core)?));
        }
        if let Some(trees) = self.model.as_trees() {
            return Ok(Arc::new(trees.with_decision(negate, threshold).map_err(core)?));
        }
        if let Some(function) = self.model.as_black_box() {
            return Ok(Arc::new(function.with_decision(negate, threshold)));
        }
        match self.model.as_linear() {
            Some(linear) => Ok(Arc::new(linear.with_decision(negate, threshold).map_err(core)?)),
            None => Err(core(probe_core::Error::Unsupported {
                what: format!("another decision on a {} model", self.model.name()),
                why: "only linear models, networks, trees and functions take one".to_owned(),
            })),
        }
    }

    /// The file's text. Numbers read back to the same bits.
    pub fn to_json(&self) -> Result<String> {
        let kind_and_fields =
            KINDS.iter().find_map(|kind| Some((kind, (kind.write)(&*self.model)?)));
        let Some((kind, fields)) = kind_and_fields else {
            let what = format!("a {} model", self.model.name());
            let why = "this kind has no native file form".to_owned();
            let source = probe_core::Error::Unsupported { what, why };
            return Err(Error::Core { file: "model file".to_owned(), source });
        };
        let mut entries = vec![
            ("format".to_owned(), json!(FORMAT)),
            ("version".to_owned(), json!(VERSION)),
            ("kind".to_owned(), json!(kind.name)),
            ("features".to_owned(), json!(self.features)),
        ];
        entries.extend(fields);
        entries.push(("threshold".to_owned(), json!(self.model.threshold())));
        if let Some(schema) = self.schema_with(None) {
            entries.push(("schema".to_owned(), json!(schema)));
        }
        // One field a line, in a fixed order: files stay readable and comparable.
        let lines = entries.iter().map(|(key, value)| format!("{}: {value}", json!(key)));
        Ok(format!("{{{}}}\n", lines.collect::<Vec<_>>().join(",\n ")))
    }

    /// Writes the file, whole or not at all.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let text = self.to_json()?;
        let mut output = AtomicOutput::create(path)?;
        output.write_all(text.as_bytes()).map_err(|source| output.error(source))?;
        output.commit()
    }
}

fn check_format(root: &Node<'_>) -> Result<()> {
    let format = match root.get("format")? {
        Some(node) => node,
        None if root.get("tree_info")?.is_some() => {
            return Err(root.error(
                "a dump of a LightGBM model, which is not read: save it as text (save_model)",
            ));
        }
        None => {
            return Err(
                root.error(format!("the field 'format' is missing (expected \"{FORMAT}\")"))
            );
        }
    };
    if format.text()? != FORMAT {
        return Err(format.error(format!("expected \"{FORMAT}\", found {}", format.value())));
    }
    let version = root.need("version")?;
    if version.value().as_u64() != Some(VERSION) {
        return Err(version.error(format!("expected {VERSION}, found {}", version.value())));
    }
    Ok(())
}

fn read_features(node: &Node<'_>) -> Result<Vec<String>> {
    let items = node.items()?;
    if items.is_empty() {
        return Err(node.error("expected at least one feature name"));
    }
    let mut names: Vec<String> = Vec::with_capacity(items.len());
    let mut seen = BTreeSet::new();
    for item in &items {
        let name = item.text()?;
        if let Some(fault) = fault_of_name(name, &mut seen) {
            return Err(item.error(format!("the feature name '{name}' {fault}")));
        }
        names.push(name.to_owned());
    }
    Ok(names)
}

/// What is wrong with a feature's name, after those that were `seen`.
fn fault_of_name<'a>(name: &'a str, seen: &mut BTreeSet<&'a str>) -> Option<&'static str> {
    match (name, seen.insert(name)) {
        ("", _) => Some("is empty"),
        (_, true) => None,
        (_, false) => Some("appears twice"),
    }
}

fn read_schema(node: &Node<'_>, features: &[String]) -> Result<Schema> {
    let schema = schema_file::from_value(node)?;
    match Encoding::new(&schema, features) {
        Ok(_) => Ok(schema),
        Err(probe_core::Error::UnknownName { name, .. }) => {
            Err(node.error(format!("no feature '{name}', which the model needs")))
        }
        Err(other) => Err(node.error(other.to_string())),
    }
}
