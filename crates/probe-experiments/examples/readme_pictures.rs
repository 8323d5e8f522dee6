//! Writes the pictures of the README: the person of `probe demo`, with the demo's settings. The
//! bytes are the same on every run.
//!
//! ```text
//! cargo run --release -p probe-experiments --example readme_pictures -- docs/images
//! ```

use probe_core::Seed;
use probe_experiments::report::{Applicant, cloud_picture, frontier_picture};
use std::error::Error;
use std::path::Path;

const RATES: [f64; 8] = [0.45, 0.35, 0.25, 0.2, 0.15, 0.1, 0.05, 0.01];
const WIDTH: f64 = 700.0;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: readme_pictures FOLDER")?;
    let applicant = Applicant::find(Seed(0))?.ok_or("nobody changes two features")?;
    let report = applicant.report(&format!("Applicant {}", applicant.number), &RATES)?;
    let pictures = [
        ("frontier", frontier_picture(&report, "frontier", WIDTH)),
        ("cloud", cloud_picture(&report, "cloud", WIDTH)),
    ];
    std::fs::create_dir_all(&folder)?;
    for (name, picture) in pictures {
        let picture = picture.ok_or_else(|| format!("no {name} picture"))?;
        std::fs::write(Path::new(&folder).join(format!("{name}.svg")), picture.on_paper())?;
    }
    Ok(())
}
