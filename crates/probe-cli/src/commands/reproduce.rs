//! `probe reproduce`.

use crate::args::{Common, Reproduce};
use crate::printer::Printer;
use crate::run::write_text;
use anyhow::{Context as _, Result};
use probe_core::Seed;
use probe_experiments::reproduce::{EXPERIMENTS, Inputs};

pub(crate) fn run(args: &Reproduce, common: &Common, printer: &Printer) -> Result<()> {
    std::fs::create_dir_all(&args.out).with_context(|| format!("{}: cannot create", args.out.display()))?;
    let inputs = Inputs { data: args.data.clone(), seed: Seed(common.seed) };
    let wanted = |name: &str| args.what.as_deref().is_none_or(|what| what == name);
    for entry in EXPERIMENTS.iter().filter(|entry| wanted(entry.name)) {
        let made = entry.item.make(&inputs).with_context(|| entry.name)?;
        for table in &made.tables {
            printer.heading(&table.title);
            printer.table(&table.header, &table.rows, &(1..table.header.len()).collect::<Vec<_>>());
        }
        made.remarks.iter().for_each(|remark| printer.say(remark));
        for (name, text) in &made.files {
            let path = args.out.join(name);
            write_text(&path, text)?;
            printer.note(&format!("wrote {}", path.display()));
        }
    }
    Ok(())
}
