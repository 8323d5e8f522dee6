//! The `probe` command.

mod args;
mod commands;
mod interrupt;
mod ledger;
mod letters;
mod prepare;
mod printer;
mod run;
mod usage;

use anyhow::Result;
use args::{Cli, Command, LogFormat};
use clap::Parser as _;
use printer::Printer;
use probe_service::{ErrorKind, RequestError, Spelling, one_line};
use std::process::ExitCode;
use tracing::level_filters::LevelFilter;
use usage::Usage;

fn main() -> ExitCode {
    let cli = Cli::parse();
    start_log(&cli);
    let printer = Printer::new(cli.common.quiet);
    interrupt::listen();
    match dispatch(cli, &printer) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => finish(&error, &printer),
    }
}

/// Starts the log: for a service one JSON object a line with the time, unless it is read by people.
fn start_log(cli: &Cli) {
    let log = tracing_subscriber::fmt().with_writer(std::io::stderr).with_target(false);
    let Command::Serve(args) = &cli.command else {
        log.with_max_level(cli.common.log.unwrap_or(LevelFilter::WARN)).without_time().init();
        return;
    };
    let log = log.with_max_level(cli.common.log.unwrap_or(LevelFilter::INFO));
    match args.log_format {
        LogFormat::Json => log.json().flatten_event(true).init(),
        LogFormat::Text => log.init(),
    }
}

fn dispatch(cli: Cli, printer: &Printer) -> Result<()> {
    let Cli { command, common } = cli;
    if common.threads > 0 {
        rayon::ThreadPoolBuilder::new().num_threads(common.threads).build_global()?;
    }
    commands::run(command, &common, printer)
}

/// Prints the error in one line, and returns the exit status.
fn finish(error: &anyhow::Error, printer: &Printer) -> ExitCode {
    use probe_io::Error;
    match error.downcast_ref::<Error>() {
        // The reader of standard output has closed it, which is not an error.
        Some(Error::BrokenPipe) => return ExitCode::SUCCESS,
        Some(Error::Cancelled) => return interrupt::tell(printer),
        Some(Error::UnexpectedColumn { column, .. }) => {
            let column = column.replace(['\n', '\r'], " ");
            let hint = format!("--id {column} carries it through, --ignore-extra ignores it");
            printer.error(&format!("{} ({hint})", one_line(error, Spelling::Flag)));
        }
        _ => printer.error(&one_line(error, Spelling::Flag)),
    }
    let request = error.downcast_ref::<RequestError>();
    let is_usage =
        error.is::<Usage>() || request.is_some_and(|error| error.kind == ErrorKind::Invalid);
    if is_usage { ExitCode::from(Usage::STATUS) } else { ExitCode::FAILURE }
}
