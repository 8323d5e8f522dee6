//! Time: of the wall, and of the processor, which other work on the machine disturbs less.

use crate::stats::median;
use anyhow::Result;
use std::time::Instant;

/// What some work took, in seconds.
#[derive(Debug, Clone, Copy)]
pub struct Took {
    pub wall: f64,
    /// Of the calling thread; `wall` if the system does not report it.
    pub cpu: f64,
}

/// Runs `work` once.
pub fn time<T>(work: impl FnOnce() -> Result<T>) -> Result<(T, Took)> {
    let (cpu, started) = (cpu_seconds(), Instant::now());
    let result = work()?;
    let wall = started.elapsed().as_secs_f64();
    let cpu = cpu_seconds().zip(cpu).map_or(wall, |(end, start)| end - start);
    Ok((result, Took { wall, cpu }))
}

/// Medians of at most `most` measurements, fewer where they take longer than `enough` seconds
/// together. Work that is done sooner than the clocks are fine is repeated within a measurement.
pub fn median_of(most: usize, enough: f64, mut work: impl FnMut() -> Result<()>) -> Result<Took> {
    const SHORTEST: f64 = 0.1;
    let ((), first) = time(&mut work)?;
    if first.wall >= enough {
        return Ok(first);
    }
    let repeats = (SHORTEST / first.wall).ceil().clamp(1.0, 1e6);
    let (mut walls, mut cpus) = (Vec::new(), Vec::new());
    while walls.is_empty() || (walls.len() < most && repeats * walls.iter().sum::<f64>() < enough) {
        let ((), took) = time(|| (0..repeats as usize).try_for_each(|_| work()))?;
        walls.push(took.wall / repeats);
        cpus.push(took.cpu / repeats);
    }
    Ok(Took { wall: median(&mut walls), cpu: median(&mut cpus) })
}

/// Best wall time of `n` runs, in seconds.
pub fn best_of(n: usize, mut work: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..n {
        best = time(&mut work)?.1.wall.min(best);
    }
    Ok(best)
}

/// Processor time of this thread so far; `None` if the system does not report it.
fn cpu_seconds() -> Option<f64> {
    // The system books time when a thread is scheduled; without this the last few milliseconds may
    // be missing.
    std::thread::yield_now();
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse::<f64>().ok().map(|nanoseconds| nanoseconds * 1e-9)
}

/// Processor time of programs that have ended, which this one started, to a hundredth of a second;
/// `None` if the system does not report it.
pub fn cpu_of_children() -> Option<f64> {
    /// Linux counts in these for programs, whatever it counts in itself.
    const TICKS: f64 = 100.0;
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The second field is the program's name in brackets, which may have anything in it; these two
    // are the 16th and 17th.
    let mut fields = text.rsplit_once(')')?.1.split_whitespace().skip(13);
    let mut next = || fields.next()?.parse::<f64>().ok();
    Some((next()? + next()?) / TICKS)
}

/// The machine in a few words.
pub fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info
        .lines()
        .find(|line| line.starts_with("model name"))
        .and_then(|line| line.split(':').nth(1));
    let are = if cores == 1 { "core" } else { "cores" };
    format!("{cores} {are} ({})", model.map_or("unknown processor", str::trim))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_takes_processor_time_and_sleep_does_not() {
        let spin = || {
            let started = Instant::now();
            while started.elapsed().as_millis() < 60 {}
            Ok(())
        };
        let short = || {
            let started = Instant::now();
            while started.elapsed().as_micros() < 200 {}
            Ok(())
        };
        let sleep = || {
            std::thread::sleep(std::time::Duration::from_millis(60));
            Ok(())
        };
        let (((), worked), ((), slept)) = (time(spin).unwrap(), time(sleep).unwrap());
        assert!(worked.wall >= 0.06 && slept.wall >= 0.06);
        if cpu_seconds().is_some() {
            assert!(worked.cpu > 0.005 && slept.cpu < 0.005, "{worked:?} {slept:?}");
            let took = median_of(3, 1.0, short).unwrap();
            assert!(
                took.wall >= 200e-6 && took.cpu > 20e-6 && took.cpu < 1.1 * took.wall,
                "{took:?}"
            );
        }
    }
}
