//! The rules, each a function from the text of a file to what breaks it.

use std::fmt;

/// Most lines of a Rust or Python file.
const FILE_LINES: usize = 600;
/// Most lines of a function of the engine, from `fn` to its closing brace.
const FUNCTION_LINES: usize = 80;
/// Most characters of a line of code.
const LINE_CHARS: usize = 100;
/// Most bytes of a page that has to stay short.
const PAGE_BYTES: usize = 8192;

const ENGINE: &str = "crates/probe-core/";
const SHORT_PAGES: [&str; 2] = ["README.md", "ARCHITECTURE.md"];

/// Files of phrases: whole sentences that people read, one to a line.
const PHRASES: &str = "crates/probe-words/templates/";

/// Words that readers stumble over. Each is in two parts so that a search for it does not find
/// this list.
const WORDS: [&str; 9] = [
    concat!("an", "ew"),
    concat!("le", "st"),
    concat!("dear", "er"),
    concat!("dear", "est"),
    concat!("like", "ness"),
    concat!("men", "ded"),
    concat!("has", "ty"),
    concat!("poc", "kets"),
    concat!("ro", "am"),
];

/// One place that breaks a rule.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Breach {
    path: String,
    line: usize,
    what: String,
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.what)
    }
}

/// Line numbers, from 1, and what is wrong there.
type Found = Vec<(usize, String)>;

/// Everything that is wrong with one file.
pub(super) fn check(path: &str, text: &str) -> Vec<Breach> {
    let ends_in = |endings: &[&str]| endings.iter().any(|ending| path.ends_with(ending));
    let mut found = words(text);
    if ends_in(&[".rs", ".py"]) {
        found.extend(long_file(text));
    }
    if ends_in(&[".rs", ".py", ".toml"]) && !path.starts_with(PHRASES) {
        found.extend(long_lines(text));
    }
    if path.starts_with(ENGINE) && ends_in(&[".rs"]) {
        found.extend(long_functions(text));
    }
    if SHORT_PAGES.contains(&path) {
        found.extend(long_page(text));
    }
    found.sort();
    let breach = |(line, what)| Breach { path: path.to_owned(), line, what };
    found.into_iter().map(breach).collect()
}

fn long_file(text: &str) -> Found {
    let n = text.lines().count();
    if n <= FILE_LINES {
        return Vec::new();
    }
    vec![(FILE_LINES + 1, format!("file of {n} lines; at most {FILE_LINES}"))]
}

fn long_lines(text: &str) -> Found {
    let too_long = |(line, text): (usize, &str)| {
        let n = text.chars().count();
        (n > LINE_CHARS && !is_address(text))
            .then(|| (line, format!("line of {n} characters; at most {LINE_CHARS}")))
    };
    numbered(text).filter_map(too_long).collect()
}

/// Whether a line holds an address on the web and at most a comment sign before it. Such a line
/// cannot be wrapped.
fn is_address(line: &str) -> bool {
    let bare = line.trim_start().trim_start_matches(['/', '!', '#']).trim();
    let bare = bare.trim_start_matches('<').trim_end_matches('>');
    (bare.starts_with("https://") || bare.starts_with("http://")) && !bare.contains(' ')
}

/// Functions that are too long. Relies on `rustfmt`: the closing brace of a function is on a
/// line of its own with the indentation of the function.
fn long_functions(text: &str) -> Found {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let Some(name) = function_name(line) else { continue };
        let header_end = |line: &str| line.ends_with(['{', '}', ';']);
        let Some(header) = lines[start..].iter().position(|line| header_end(line)) else {
            continue;
        };
        // A declaration without a body, or a body on one line.
        if !lines[start + header].ends_with('{') {
            continue;
        }
        let closing = format!("{}}}", &line[..line.len() - line.trim_start().len()]);
        let body = &lines[start + header..];
        let Some(end) = body.iter().position(|line| *line == closing) else { continue };
        let n = header + end + 1;
        if n > FUNCTION_LINES {
            found.push((start + 1, format!("fn {name} of {n} lines; at most {FUNCTION_LINES}")));
        }
    }
    found
}

/// The name of the function whose definition starts on this line.
fn function_name(line: &str) -> Option<&str> {
    let mut rest = line.trim_start();
    if let Some(visible) = rest.strip_prefix("pub") {
        rest = match visible.strip_prefix('(') {
            Some(scope) => scope.split_once(')')?.1,
            None => visible,
        };
        rest = rest.strip_prefix(' ')?;
    }
    for modifier in ["const ", "async ", "unsafe "] {
        rest = rest.strip_prefix(modifier).unwrap_or(rest);
    }
    let name = rest.strip_prefix("fn ")?;
    let end = name.find(|c: char| !is_word(c))?;
    (end > 0).then(|| &name[..end])
}

fn long_page(text: &str) -> Found {
    let n = text.len();
    if n <= PAGE_BYTES {
        return Vec::new();
    }
    let line = text.as_bytes()[..PAGE_BYTES].iter().filter(|&&byte| byte == b'\n').count() + 1;
    vec![(line, format!("page of {n} bytes; at most {PAGE_BYTES}"))]
}

/// Words to avoid, whole and in any case, also as parts of names such as `two_words`.
fn words(text: &str) -> Found {
    let mut found = Vec::new();
    for (line, text) in numbered(text) {
        for word in text.split(|c: char| !c.is_alphanumeric()) {
            if WORDS.iter().any(|avoided| word.eq_ignore_ascii_case(avoided)) {
                found.push((line, format!("the word \"{word}\": write it in plain English")));
            }
        }
    }
    found
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

/// Lines with their numbers, from 1.
fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(i, line)| (i + 1, line))
}

#[cfg(test)]
mod tests;
