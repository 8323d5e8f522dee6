//! Phrases and templates of a language, checked before the first letter is written.

use crate::error::{Error, Result};
use crate::number::NumberStyle;
use crate::phrases::{LAYOUTS, PHRASES, nearest, placeholders};
use crate::shape;
use minijinja::{AutoEscape, Environment, UndefinedBehavior, Value};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// Languages that are built in.
const BUILT_IN: [(&str, &str); 2] =
    [("en", include_str!("../templates/en.toml")), ("de", include_str!("../templates/de.toml"))];

const BUILT_IN_LAYOUTS: [(&str, &str); 4] = [
    ("letter.txt", include_str!("../templates/letter.txt")),
    ("letter.md", include_str!("../templates/letter.md")),
    ("letter.html", include_str!("../templates/letter.html")),
    ("page.html", include_str!("../templates/page.html")),
];

/// A file of phrases.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct PhraseFile {
    number: Option<NumberStyle>,
    phrases: BTreeMap<String, String>,
    features: BTreeMap<String, String>,
    units: BTreeMap<String, String>,
    categories: BTreeMap<String, BTreeMap<String, String>>,
}

/// A template of the user: the file name for errors, and its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Name of the file.
    pub file: String,
    /// Its text.
    pub text: String,
}

/// Phrases, names, number style and templates of one language.
#[derive(Debug)]
pub struct Language {
    name: String,
    /// Style of its numbers.
    pub(crate) number: NumberStyle,
    features: BTreeMap<String, String>,
    units: BTreeMap<String, String>,
    categories: BTreeMap<String, BTreeMap<String, String>>,
    templates: Environment<'static>,
    /// Where each template comes from.
    files: BTreeMap<String, String>,
}

impl Language {
    /// A language that is built in.
    pub fn built_in(name: &str) -> Result<Self> {
        Self::new(name, &[])
    }

    /// Names of the languages that are built in.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name)
    }

    /// File names that [`Language::new`] takes: phrases of a language, and templates.
    pub fn file_names(language: &str) -> Vec<String> {
        let layouts = LAYOUTS.iter().map(|(name, _)| (*name).to_owned());
        std::iter::once(format!("{language}.toml")).chain(layouts).collect()
    }

    /// A language with the user's templates in place of the built-in ones. A file that ends in
    /// `.toml` has phrases; one that ends like a template (`.txt`, `.md`, `.html`, `page.html`) is
    /// that template. Fails on everything that would make a letter fail.
    pub fn new(name: &str, own: &[Source]) -> Result<Self> {
        let mut phrases: BTreeMap<String, (String, String)> = BTreeMap::new();
        let (mut number, mut names) = (None, PhraseFile::default());
        let built_in = BUILT_IN.iter().find(|(known, _)| *known == name).map(|(_, text)| *text);
        let mut take = |file: &str, text: &str| -> Result<()> {
            let read = read_phrases(file, text)?;
            for (key, phrase) in read.phrases {
                phrases.insert(key, (file.to_owned(), phrase));
            }
            number = read.number.or(number.take());
            names.features.extend(read.features);
            names.units.extend(read.units);
            for (feature, of) in read.categories {
                names.categories.entry(feature).or_default().extend(of);
            }
            Ok(())
        };
        if let Some(text) = built_in {
            take(&format!("built-in {name}.toml"), text)?;
        }
        let is_phrases = |source: &&Source| source.file.ends_with(".toml");
        for source in own.iter().filter(is_phrases) {
            take(&source.file, &source.text)?;
        }
        let Some(file) =
            own.iter().find(is_phrases).map(|s| s.file.clone()).or(built_in.map(|_| String::new()))
        else {
            let known = Self::names().collect::<Vec<_>>().join(", ");
            return Err(Error::Language { name: name.to_owned(), known });
        };
        let missing = |key: &str| Error::Missing {
            file: file.clone(),
            key: key.to_owned(),
            language: name.to_owned(),
        };
        if let Some((key, _)) = PHRASES.iter().find(|(key, _)| !phrases.contains_key(*key)) {
            return Err(missing(key));
        }
        let mut language = Self {
            name: name.to_owned(),
            number: number.ok_or_else(|| missing("number"))?,
            features: names.features,
            units: names.units,
            categories: names.categories,
            templates: environment(),
            files: BTreeMap::new(),
        };
        for (key, (file, text)) in phrases {
            let known = placeholders(&key).unwrap_or_default();
            language.add(file, key, text, known)?;
        }
        for (name, text) in BUILT_IN_LAYOUTS {
            language.add(
                format!("built-in {name}"),
                name.to_owned(),
                text.to_owned(),
                layout(name),
            )?;
        }
        for source in own.iter().filter(|source| !is_phrases(source)) {
            let Some(name) = layout_of(&source.file) else {
                let what = "a template ends in .toml (phrases), .txt, .md or .html".to_owned();
                return Err(Error::File { file: source.file.clone(), what });
            };
            language.add(
                source.file.clone(),
                name.to_owned(),
                source.text.clone(),
                layout(name),
            )?;
        }
        // Otherwise a template with an unknown placeholder would only fail at the first person
        // whose letter uses it.
        crate::sample::try_out(&language)?;
        Ok(language)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn add(&mut self, file: String, place: String, text: String, known: &[&str]) -> Result<()> {
        self.files.insert(place.clone(), file.clone());
        if let Err(error) = self.templates.add_template_owned(place.clone(), text) {
            return Err(self.fault(&place, &error));
        }
        let template =
            self.templates.get_template(&place).map_err(|error| self.fault(&place, &error))?;
        let asked: BTreeSet<String> = template.undeclared_variables(false).into_iter().collect();
        if let Some(placeholder) = asked.into_iter().find(|name| !known.contains(&name.as_str())) {
            let known = if known.is_empty() { "nothing".to_owned() } else { known.join(", ") };
            let place = if layout_of(&place).is_some() {
                "template".to_owned()
            } else {
                format!("'{place}'")
            };
            return Err(Error::UnknownPlaceholder { file, place, placeholder, known });
        }
        Ok(())
    }

    /// A template, filled in.
    pub(crate) fn fill(&self, name: &str, values: Value) -> Result<String> {
        let template =
            self.templates.get_template(name).map_err(|error| self.fault(name, &error))?;
        template.render(values).map_err(|error| self.fault(name, &error))
    }

    fn fault(&self, name: &str, error: &minijinja::Error) -> Error {
        let line = error.line().map_or_else(String::new, |line| format!(" (line {line})"));
        let what = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
        let place =
            if layout_of(name).is_some() { "template".to_owned() } else { format!("'{name}'") };
        Error::Template {
            file: self.files.get(name).cloned().unwrap_or_default(),
            place,
            what: format!("{what}{line}"),
        }
    }

    /// A feature as people call it: its translation, or its name without underscores.
    pub(crate) fn feature(&self, name: &str) -> String {
        self.features.get(name).cloned().unwrap_or_else(|| name.replace('_', " "))
    }

    /// A unit as people call it.
    pub(crate) fn unit<'a>(&'a self, unit: Option<&'a str>) -> Option<&'a str> {
        unit.map(|unit| self.units.get(unit).map_or(unit, String::as_str))
    }

    /// A category as people call it.
    pub(crate) fn category<'a>(&'a self, feature: &str, category: &'a str) -> &'a str {
        self.categories
            .get(feature)
            .and_then(|of| of.get(category))
            .map_or(category, String::as_str)
    }
}

fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|name| match name.rsplit_once('.') {
        Some((_, "html")) => AutoEscape::Html,
        Some((_, "md")) => AutoEscape::Custom("markdown".into()),
        _ => AutoEscape::None,
    });
    environment.set_formatter(|out, state, value| match state.auto_escape() {
        AutoEscape::Custom(_) if !value.is_safe() => {
            Ok(out.write_str(&shape::escape_markdown(&value.to_string()))?)
        }
        AutoEscape::Custom(_) => Ok(out.write_str(&value.to_string())?),
        _ => minijinja::escape_formatter(out, state, value),
    });
    environment.add_filter("wrap", shape::wrap);
    environment
}

fn layout(name: &str) -> &'static [&'static str] {
    LAYOUTS.iter().find(|(known, _)| *known == name).map_or(&[], |(_, known)| known)
}

/// The template that a file is, by its name.
fn layout_of(file: &str) -> Option<&'static str> {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    if name == "page.html" {
        return Some("page.html");
    }
    let ending = name.rsplit_once('.').map(|(_, ending)| ending)?;
    ["letter.txt", "letter.md", "letter.html"]
        .into_iter()
        .find(|known| known.ends_with(&format!(".{ending}")))
}

fn read_phrases(file: &str, text: &str) -> Result<PhraseFile> {
    let read: PhraseFile = toml::from_str(text).map_err(|error| Error::File {
        file: file.to_owned(),
        what: error.to_string().split_whitespace().collect::<Vec<_>>().join(" "),
    })?;
    match read.phrases.keys().find(|key| placeholders(key).is_none()) {
        None => Ok(read),
        Some(key) => Err(Error::UnknownPhrase {
            file: file.to_owned(),
            key: key.clone(),
            nearest: nearest(key).to_owned(),
        }),
    }
}
