//! `probe completions`.

use crate::args::{Cli, Completions};
use anyhow::Result;
use clap::CommandFactory as _;
use std::io::{ErrorKind, Write as _};

pub(crate) fn run(args: &Completions) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "probe", &mut script);
    match std::io::stdout().write_all(&script) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}
