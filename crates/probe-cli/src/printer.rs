//! The only place that writes to the terminal: notes and progress to standard error, results to
//! standard output.

use anstyle::{AnsiColor, Style};
use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, ContentArrangement, Table};
use indicatif::{ProgressBar, ProgressStyle};
use probe_service::{Diagnostics, Message, Spelling};
use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const STRONG: Style = Style::new().bold();

/// Writes for people; quiet on request.
#[derive(Debug)]
pub(crate) struct Printer {
    quiet: bool,
}

impl Printer {
    pub(crate) fn new(quiet: bool) -> Self {
        Self { quiet }
    }

    /// A note that the user may find useful; never part of the result.
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet {
            let _ = writeln!(anstream::stderr(), "{text}");
        }
    }

    /// A warning: something is probably a mistake.
    pub(crate) fn warn(&self, text: &str) {
        if !self.quiet {
            let _ = writeln!(anstream::stderr(), "{WARNING}warning:{WARNING:#} {text}");
        }
    }

    /// An error.
    pub(crate) fn error(&self, text: &str) {
        let _ = writeln!(anstream::stderr(), "{ERROR}error:{ERROR:#} {text}");
    }

    /// A line of the result. A closed pipe is not an error.
    pub(crate) fn say(&self, text: &str) {
        let _ = writeln!(anstream::stdout(), "{text}");
    }

    /// A heading of the result.
    pub(crate) fn heading(&self, text: &str) {
        let _ = writeln!(anstream::stdout(), "\n{STRONG}{text}{STRONG:#}");
    }

    /// A table of the result; `numeric` columns are aligned to the right.
    pub(crate) fn table(&self, header: &[&str], rows: &[Vec<String>], numeric: &[usize]) {
        let mut table = Table::new();
        table
            .load_style(UTF8_FULL_CONDENSED)
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_header(header);
        for row in rows {
            table.add_row(row);
        }
        for &column in numeric {
            if let Some(column) = table.column_mut(column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        self.say(&table.to_string());
    }

    /// Whether standard error is a terminal and notes are wanted.
    pub(crate) fn shows_progress(&self) -> bool {
        !self.quiet && std::io::stderr().is_terminal()
    }

    /// A bar over bytes of input or rows, or a count if the size is unknown. Hidden unless standard
    /// error is a terminal.
    pub(crate) fn progress(&self, size: Option<u64>) -> ProgressBar {
        if !self.shows_progress() {
            return ProgressBar::hidden();
        }
        let (bar, template) = match size {
            Some(size) => {
                (ProgressBar::new(size), "{bar:30.cyan/dim} {percent:>3}%  {msg}  {eta} left")
            }
            None => (ProgressBar::new_spinner(), "{spinner:.cyan} {msg}  {elapsed}"),
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("━━─"));
        }
        bar.enable_steady_tick(Duration::from_millis(100));
        bar
    }
}

impl Diagnostics for Printer {
    fn note(&self, message: &Message) {
        self.note(&message.spelled(Spelling::Flag));
    }

    fn warn(&self, message: &Message) {
        self.warn(&message.spelled(Spelling::Flag));
    }
}
