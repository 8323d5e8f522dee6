use super::*;

/// The lines that break a rule.
fn lines(path: &str, text: &str) -> Vec<usize> {
    check(path, text).iter().map(|breach| breach.line).collect()
}

/// A function of exactly `n` lines.
fn function(n: usize, indent: &str, header: &str) -> String {
    let body = format!("{indent}    let _ = 1;\n").repeat(n - 2);
    format!("{indent}{header} {{\n{body}{indent}}}\n")
}

#[test]
fn a_breach_names_file_and_line() {
    let found = check("a.rs", &format!("\n{}\n", "x".repeat(101)));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].to_string(), "a.rs:2: line of 101 characters; at most 100");
}

#[test]
fn files_of_code_have_at_most_600_lines() {
    let (fits, long) = ("\n".repeat(600), "\n".repeat(601));
    for path in ["a.rs", "b/c.py"] {
        assert_eq!(lines(path, &fits), []);
        assert_eq!(lines(path, &long), [601]);
    }
    assert_eq!(lines("data.csv", &long), []);
}

#[test]
fn lines_of_code_have_at_most_100_characters() {
    // Characters, not bytes.
    let (fits, long) = ("é".repeat(100), "é".repeat(101));
    for path in ["a.rs", "b.py", "c.toml"] {
        assert_eq!(lines(path, &fits), []);
        assert_eq!(lines(path, &format!("{fits}\n{long}")), [2]);
    }
    assert_eq!(lines("page.md", &long), []);
}

#[test]
fn an_address_alone_on_a_line_may_be_long() {
    let address = format!("https://example.org/{}", "x".repeat(100));
    for line in [format!("// {address}"), format!("//! <{address}>"), format!("# {address}")] {
        assert_eq!(lines("a.rs", &line), []);
    }
    assert_eq!(lines("a.rs", &format!("// see {address}")), [1]);
}

#[test]
fn functions_of_the_engine_have_at_most_80_lines() {
    let path = "crates/probe-core/src/a.rs";
    let headers = ["fn a()", "pub fn a<T>()", "pub(crate) const fn a()", "async unsafe fn a()"];
    for header in headers {
        for indent in ["", "    "] {
            assert_eq!(lines(path, &function(80, indent, header)), []);
            let long = format!("\n{}", function(81, indent, header));
            assert_eq!(lines(path, &long), [2]);
            assert!(check(path, &long)[0].what.starts_with("fn a of 81 lines"));
        }
    }
    assert_eq!(lines("crates/other/src/a.rs", &function(81, "", "fn a()")), []);
}

#[test]
fn a_header_on_many_lines_counts_as_part_of_the_function() {
    let path = "crates/probe-core/src/a.rs";
    let header = "fn a(\n    x: f64,\n) -> f64\nwhere\n    T: Copy,\n";
    let of = |n: usize| format!("{header}{{\n{}}}\n", "    1;\n".repeat(n - 7));
    assert_eq!(lines(path, &of(80)), []);
    assert_eq!(lines(path, &of(81)), [1]);
}

#[test]
fn functions_without_a_long_body_are_skipped() {
    let path = "crates/probe-core/src/a.rs";
    let filler = "    const X: f64 = 1.0;\n".repeat(90);
    for first in ["fn a();", "fn a() {}", "fn a(\n        x: f64,\n    ) -> f64;"] {
        assert_eq!(lines(path, &format!("trait T {{\n    {first}\n{filler}}}\n")), []);
    }
}

#[test]
fn inner_functions_are_counted_too() {
    let path = "crates/probe-core/src/a.rs";
    let inner = function(81, "    ", "fn inner()");
    let text = format!("fn outer() {{\n{inner}}}\n");
    assert_eq!(lines(path, &text), [1, 2]);
}

#[test]
fn front_pages_have_at_most_8192_bytes() {
    let (fits, long) = ("x\n".repeat(4096), "x\n".repeat(4097));
    for path in ["README.md", "ARCHITECTURE.md"] {
        assert_eq!(lines(path, &fits), []);
        assert_eq!(lines(path, &long), [4097]);
    }
    assert_eq!(lines("docs/README.md", &long), []);
}

#[test]
fn some_words_are_reported_everywhere() {
    for word in WORDS {
        for path in ["a.rs", "page.md", "data.csv", "LICENSE"] {
            assert_eq!(lines(path, &format!("one\ntwo {word}, three")), [2]);
            assert_eq!(lines(path, &word.to_uppercase()), [1]);
        }
    }
}

#[test]
fn only_whole_words_are_reported() {
    for word in WORDS {
        for text in [format!("x{word}"), format!("{word}s"), format!("{word}1")] {
            assert_eq!(lines("a.rs", &text), [], "{text}");
        }
        for text in [format!("fn a_{word}()"), format!("{word}_1"), format!("{word}-1")] {
            assert_eq!(lines("a.rs", &text), [1], "{text}");
        }
    }
}

#[test]
fn phrases_of_letters_may_be_long_lines() {
    let long = format!("# {}\n", "x".repeat(120));
    assert_eq!(lines("crates/probe-words/templates/en.toml", &long), []);
    assert_eq!(lines("crates/probe-words/Cargo.toml", &long), [1]);
}
