//! `probe reproduce`.

use crate::args::{Common, Reproduce};
use crate::printer::Printer;
use crate::run::write_text;
use anyhow::{Context as _, Result};
use probe_core::Seed;
use probe_experiments::reproduce::{Inputs, Laboratory, Made, Progress, experiments, page};
use std::time::{Duration, Instant};

/// Time between two notes, without a terminal for a progress bar.
const BETWEEN_NOTES: Duration = Duration::from_secs(20);
/// Steps of the bar.
const STEPS: u64 = 1_000;

pub(crate) fn run(args: &Reproduce, common: &Common, printer: &Printer) -> Result<()> {
    let wanted = experiments(&args.what)?;
    std::fs::create_dir_all(&args.out)
        .with_context(|| format!("{}: cannot create", args.out.display()))?;
    let inputs = Inputs {
        data: args.data.clone(),
        seed: Seed(common.seed),
        cells: Some(args.out.join("cells")),
        quick: args.quick,
        people: args.people.map(|n| n as usize),
    };
    let mut lab = Laboratory::new(inputs)?;
    let (mut subjects, mut runs) = (Vec::new(), Vec::new());
    for entry in &wanted {
        subjects.extend(entry.item.subjects());
        runs.extend(entry.item.runs());
    }
    let mut clock = Clock::new(printer);
    lab.prepare(&subjects, &runs, &mut |progress| clock.tell(progress))?;
    clock.bar.finish_and_clear();
    let mut all: Vec<(_, Made)> = Vec::new();
    for entry in wanted {
        let made = entry.item.make(&lab).with_context(|| entry.name)?;
        for table in &made.tables {
            printer.heading(&table.title);
            printer.table(&table.header, &table.rows, &table.numbers());
        }
        made.remarks.iter().for_each(|remark| printer.say(remark));
        for (name, text) in &made.files {
            let path = args.out.join(name);
            write_text(&path, text)?;
            printer.note(&format!("wrote {}", path.display()));
        }
        all.push((entry, made));
    }
    let path = args.out.join("report.html");
    let part = if args.quick || args.people.is_some() { ", on a part of the people" } else { "" };
    write_text(
        &path,
        &page(&all, &format!("probe reproduce {}{part}, seed {}", args.what, common.seed)),
    )?;
    printer.note(&format!("wrote {} ({})", path.display(), took(clock.start.elapsed())));
    Ok(())
}

/// Reports progress, and an estimate of the remaining time.
struct Clock<'a> {
    start: Instant,
    /// Start of the first cell. Training time says nothing about the time of cells.
    cells_from: Option<Instant>,
    last: Option<Instant>,
    bar: indicatif::ProgressBar,
    printer: &'a Printer,
}

impl<'a> Clock<'a> {
    fn new(printer: &'a Printer) -> Self {
        let bar = printer.progress(Some(STEPS));
        Self { start: Instant::now(), cells_from: None, last: None, bar, printer }
    }

    fn tell(&mut self, progress: &Progress) {
        let now = Instant::now();
        if progress.share > 0.0 && self.cells_from.is_none() {
            self.cells_from = Some(self.last.unwrap_or(now));
        }
        self.bar.set_position((progress.share * STEPS as f64) as u64);
        self.bar.set_message(progress.what.clone());
        let due = self.last.is_none_or(|last| now - last >= BETWEEN_NOTES);
        if self.bar.is_hidden() && due {
            let left = self.cells_from.filter(|_| progress.share > 0.02).map(|from| {
                let left = (now - from).mul_f64((1.0 - progress.share) / progress.share);
                format!(", about {} left", took(left))
            });
            let percent = (progress.share * 100.0).round();
            self.printer.note(&format!(
                "{percent}%: {}{}",
                progress.what,
                left.unwrap_or_default()
            ));
            self.last = Some(now);
        }
    }
}

fn took(time: Duration) -> String {
    let seconds = time.as_secs();
    if seconds < 100 { format!("{seconds} s") } else { format!("{} min", seconds.div_ceil(60)) }
}
