//! Commands of the project itself: `cargo xtask test`, `cargo xtask tidy`, `cargo xtask bench`.

mod bench;
mod check;
mod python;
mod service;
mod shell;
mod tidy;

use anyhow::{Result, bail};

const USAGE: &str = "\
cargo xtask test            format, tidy, lints, tests, doctests, docs, and the Python package
cargo xtask test --full     the same, and slow tests, the bench studies, models of other libraries,
                            each feature alone, licences and sources
cargo xtask test python     the Python package alone
cargo xtask test service    the HTTP service against Schemathesis; --full for 5,000 cases or more
cargo xtask tidy            length of files, functions and lines; words to avoid
cargo xtask bench           measures speed, memory and quality in one run, and writes the documents
cargo xtask bench --quick   a quick look at some of it, which writes nothing
cargo xtask bench WHAT      one measurement; `--help` after it lists its flags";

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["test"] => check::run(false),
        ["test", "--full"] => check::run(true),
        ["test", "python"] => python::test(),
        ["test", "service"] => service::test(20, 500),
        ["test", "service", "--full"] => service::test(400, 5_000),
        ["tidy"] => tidy::run(),
        ["bench", rest @ ..] => bench::run(rest),
        ["help" | "--help" | "-h"] | [] => {
            shell::say(&format!(
                "{USAGE}\n                            WHAT is one of {}",
                bench::names()
            ));
            Ok(())
        }
        _ => bail!("unknown command: {}\n{USAGE}", words.join(" ")),
    }
}
