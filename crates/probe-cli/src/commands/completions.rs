//! `probe completions`.

use crate::args::{Cli, Completions};
use anyhow::Result;
use clap::CommandFactory as _;

pub(crate) fn run(args: &Completions) -> Result<()> {
    clap_complete::generate(args.shell, &mut Cli::command(), "probe", &mut std::io::stdout());
    Ok(())
}
