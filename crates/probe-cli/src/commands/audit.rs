//! `probe audit verify`.

use crate::args::{Audit, AuditCommand, AuditVerify};
use crate::printer::Printer;
use anyhow::{Result, bail};
use probe_io::verify_audit;

pub(crate) fn run(args: &Audit, printer: &Printer) -> Result<()> {
    match &args.command {
        AuditCommand::Verify(args) => verify(args, printer),
    }
}

fn verify(args: &AuditVerify, printer: &Printer) -> Result<()> {
    let chain = verify_audit(&args.file)?;
    match &args.expect {
        Some(expected) if *expected != chain.last => bail!(
            "{}: the last of {} records has the hash {}, not {expected}: records were cut off, or \
             added since",
            args.file.display(),
            chain.records,
            chain.last
        ),
        Some(_) => {
            printer.say(&format!("{} records, none changed and none cut off", chain.records))
        }
        None => {
            printer.say(&format!("{} records, none changed", chain.records));
            printer.say(&format!("last hash {}", chain.last));
            printer.note(
                "records that were cut off at the end cannot be seen in the file: keep the last \
                 hash elsewhere, and give it with --expect",
            );
        }
    }
    Ok(())
}
