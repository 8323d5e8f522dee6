//! Templates of the user's: taken where they are right, refused by name where they are not.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

use probe_words::{Language, Source};

fn source(file: &str, text: &str) -> Source {
    Source { file: file.to_owned(), text: text.to_owned() }
}

#[track_caller]
fn refused(language: &str, file: &str, text: &str, words: &[&str]) {
    let error = Language::new(language, &[source(file, text)]).unwrap_err().to_string();
    for word in words {
        assert!(error.contains(word), "no '{word}' in: {error}");
    }
    assert!(!error.contains('\n'), "{error}");
}

#[test]
fn mistakes_are_named() {
    let phrases = |text: &str| format!("[phrases]\n{text}\n");
    refused(
        "en",
        "my.toml",
        &phrases("step_raise = \"{{ featur }} up\""),
        &["my.toml", "step_raise", "'featur'", "feature, from, to"],
    );
    refused(
        "en",
        "my.toml",
        &phrases("step_rise = \"up\""),
        &["my.toml", "'step_rise'", "'step_raise'"],
    );
    refused("en", "my.toml", &phrases("title_none = \"{{ oops\""), &["my.toml", "title_none"]);
    refused("en", "my.toml", "[phrases\n", &["my.toml"]);
    refused("en", "my.toml", "[colour]\nred = \"1\"\n", &["my.toml", "colour"]);
    refused("en", "my.toml", &phrases("title_none = 3"), &["my.toml"]);
    refused("en", "letter.txt", "{{ titel }}", &["letter.txt", "'titel'", "title"]);
    refused(
        "en",
        "my/letter.html",
        "{% for step in steps.items %}{{ step.txt }}{% endfor %}",
        &["letter.html"],
    );
    refused("en", "page.html", "<html></html>", &["page.html", "letters"]);
    refused("en", "letter.txt", "{% include 'x' %}", &["letter.txt"]);
    refused("en", "letter.doc", "x", &["letter.doc", ".toml"]);
    refused("fr", "fr.toml", &phrases("title_none = \"Rien\""), &["fr.toml", "fr", "missing"]);
    let error = Language::new("fr", &[]).unwrap_err().to_string();
    assert!(error.contains("'fr'") && error.contains("en, de"), "{error}");
}

#[test]
fn both_languages_have_every_phrase_with_the_same_placeholders() {
    let read = |text: &str| -> toml::Table { toml::from_str(text).unwrap() };
    let (en, de) =
        (read(include_str!("../templates/en.toml")), read(include_str!("../templates/de.toml")));
    let keys = |table: &toml::Table| {
        table["phrases"].as_table().unwrap().keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(keys(&en), keys(&de));
    let asked = |text: &str| {
        let mut names: Vec<String> = text
            .split("{{ ")
            .skip(1)
            .map(|rest| rest.split(" }}").next().unwrap().to_owned())
            .collect();
        names.sort();
        names
    };
    for (key, text) in en["phrases"].as_table().unwrap() {
        let other = de["phrases"][key].as_str().unwrap();
        assert_eq!(asked(text.as_str().unwrap()), asked(other), "{key}");
    }
}

#[test]
fn a_language_of_one_s_own_needs_every_phrase_and_gets_its_numbers() {
    let text = include_str!("../templates/en.toml").replace("group = \",\"", "group = \"'\"");
    let language = Language::new("gsw", &[source("gsw.toml", &text)]).unwrap();
    assert_eq!(language.name(), "gsw");
    let names = "[features]\ndebt = \"Schulden\"\n[units]\nEUR = \"€\"\n\
                 [categories.housing]\nrent = \"Miete\"\n";
    Language::new("de", &[source("names.toml", names)]).unwrap();
}
