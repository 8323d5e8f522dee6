//! One file per command: parse, call, render.

mod audit;
mod compare;
mod completions;
mod costs;
mod data;
mod demo;
mod frontier;
mod inspect;
mod noise;
mod rate;
mod recourse;
mod reproduce;
mod schema;
mod serve;
mod train;

use crate::args::{Command, Common};
use crate::printer::Printer;
use anyhow::Result;

/// Runs a command.
pub(crate) fn run(command: Command, common: &Common, printer: &Printer) -> Result<()> {
    match command {
        Command::Demo(args) => demo::run(&args, common, printer),
        Command::Train(args) => train::run(&args, common, printer),
        Command::Recourse(args) => recourse::run(&args, common, printer),
        Command::Frontier(args) => frontier::run(&args, common, printer),
        Command::Compare(args) => compare::run(&args, common, printer),
        Command::Rate(args) => rate::run(&args, common, printer),
        Command::Serve(args) => serve::run(&args, common, printer),
        Command::Audit(args) => audit::run(&args, printer),
        Command::Schema(args) => schema::run(&args, printer),
        Command::Noise(args) => noise::run(&args, printer),
        Command::Reproduce(args) => reproduce::run(&args, common, printer),
        Command::Data(args) => data::run(&args, printer),
        Command::Inspect(args) => inspect::run(&args, printer),
        Command::Completions(args) => completions::run(&args),
    }
}
