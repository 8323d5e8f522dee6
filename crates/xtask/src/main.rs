//! Commands of the project itself: `cargo xtask test`, `cargo xtask bench`.

mod bench;
mod check;
mod python;
mod shell;

use anyhow::{Result, bail};

const USAGE: &str = "\
cargo xtask test            everything that must hold: format, lints, tests, doctests, docs, the Python package
cargo xtask test --full     that, and the slow extras: tests by the ten thousand, other libraries' models, each feature alone, licences, sources
cargo xtask test python     the Python package alone
cargo xtask bench           what is claimed about speed and memory, measured in one run: library and stream
cargo xtask bench WHAT      one of library, stream, latency, million, limits, scaling, counts, networks, peers, people, trees, models, frames, kernels; `--help` after it lists its flags";

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["test"] => check::run(false),
        ["test", "--full"] => check::run(true),
        ["test", "python"] => python::test(),
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
