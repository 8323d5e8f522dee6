//! The `probe` command.

mod args;
mod commands;
mod interrupt;
mod ledger;
mod letters;
mod printer;
mod run;

use anyhow::Result;
use args::Cli;
use clap::Parser as _;
use printer::Printer;
use probe_service::{Usage, one_line};
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = Cli::parse();
    tracing_subscriber::fmt()
        .with_max_level(cli.common.log)
        .with_writer(std::io::stderr)
        .with_target(false)
        .without_time()
        .init();
    let printer = Printer::new(cli.common.quiet);
    interrupt::listen();
    match dispatch(cli, &printer) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => finish(&error, &printer),
    }
}

fn dispatch(cli: Cli, printer: &Printer) -> Result<()> {
    let Cli { command, common } = cli;
    if common.threads > 0 {
        rayon::ThreadPoolBuilder::new().num_threads(common.threads).build_global()?;
    }
    commands::run(command, &common, printer)
}

/// Says what went wrong, in one line, and picks the exit status.
fn finish(error: &anyhow::Error, printer: &Printer) -> ExitCode {
    use probe_io::Error;
    match error.downcast_ref::<Error>() {
        // Whoever read our output has seen enough.
        Some(Error::BrokenPipe) => return ExitCode::SUCCESS,
        Some(Error::Cancelled) => return interrupt::tell(printer),
        Some(Error::UnexpectedColumn { column, .. }) => {
            let column = column.replace(['\n', '\r'], " ");
            let hint = format!("--id {column} carries it through, --ignore-extra passes over it");
            printer.error(&format!("{} ({hint})", one_line(error)));
        }
        _ => printer.error(&one_line(error)),
    }
    if error.is::<Usage>() { ExitCode::from(Usage::STATUS) } else { ExitCode::FAILURE }
}
