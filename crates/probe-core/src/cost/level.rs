//! Water-filling: the smallest level $\nu$ at which $\sum_j g_j\,\mathrm{clip}(\nu\rho_j, s_j,
//! c_j)$ reaches a target.
//!
//! Both `l2` (rate $\rho_j = g_j/w_j^2$, by the KKT conditions) and `linf` ($\rho_j = 1/w_j$) are
//! this problem. The left side is continuous, increasing and piecewise linear in $\nu$, with a kink
//! where an item leaves its start and one where it meets its cap, so one sort of the kinks answers
//! every target.

use super::Item;

/// A kink: at `level`, `item` leaves its start or meets its cap.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Event {
    level: f64,
    item: usize,
    leaves_start: bool,
}

/// Sorts the kinks of `items` under `rate`. If every item starts at zero, there is nothing to sort:
/// see [`solve`].
pub(super) fn prepare(items: &[Item], rate: impl Fn(&Item) -> f64, events: &mut Vec<Event>) {
    events.clear();
    if items.iter().all(|it| it.start <= 0.0) {
        return;
    }
    for (item, it) in items.iter().enumerate() {
        let r = rate(it);
        if it.start > 0.0 {
            events.push(Event { level: it.start / r, item, leaves_start: true });
        }
        if it.cap.is_finite() {
            events.push(Event { level: it.cap / r, item, leaves_start: false });
        }
    }
    events.sort_unstable_by(|a, b| a.level.total_cmp(&b.level).then(a.item.cmp(&b.item)));
}

/// The smallest level whose gain is at least `needed`, or `None` if even all caps do not gain that
/// much.
pub(super) fn solve(
    items: &[Item],
    rate: impl Fn(&Item) -> f64,
    events: &[Event],
    needed: f64,
) -> Option<f64> {
    if events.is_empty() {
        from_zero(items, rate, needed)
    } else {
        between_kinks(items, rate, events, needed)
    }
}

/// For items that all start at zero. Items that reach their caps at a level that is too low also
/// reach them at the right level. Fixing them and solving for the rest raises the level to the
/// answer in a few rounds, without a sort.
fn from_zero(items: &[Item], rate: impl Fn(&Item) -> f64, needed: f64) -> Option<f64> {
    if needed <= 0.0 {
        return Some(0.0);
    }
    let (mut level, mut capped) = (0.0, usize::MAX);
    loop {
        let (mut fixed, mut free, mut count) = (0.0, 0.0, 0);
        for it in items {
            let r = rate(it);
            if it.cap <= level * r {
                fixed += it.gain * it.cap;
                count += 1;
            } else {
                free += it.gain * r;
            }
        }
        if count == capped {
            return Some(level);
        }
        if free <= 0.0 {
            return (fixed >= needed).then_some(level);
        }
        capped = count;
        level = ((needed - fixed) / free).max(level);
    }
}

fn between_kinks(
    items: &[Item],
    rate: impl Fn(&Item) -> f64,
    events: &[Event],
    needed: f64,
) -> Option<f64> {
    let (mut constant, mut slope) = (0.0, 0.0);
    for it in items {
        if it.start > 0.0 { constant += it.gain * it.start } else { slope += it.gain * rate(it) }
    }
    if constant >= needed {
        return Some(0.0);
    }
    let mut reached = None;
    for event in events {
        if constant + slope * event.level >= needed {
            reached = Some(event.level);
            break;
        }
        let it = &items[event.item];
        if event.leaves_start {
            constant -= it.gain * it.start;
            slope += it.gain * rate(it);
        } else {
            constant += it.gain * it.cap;
            slope -= it.gain * rate(it);
        }
    }
    // The running sums only say between which kinks the target lies; the level itself is computed
    // from fresh sums.
    let below = reached.unwrap_or(f64::INFINITY);
    let (mut fixed, mut free) = (0.0, 0.0);
    for it in items {
        let r = rate(it);
        // The same divisions as in the kinks, so that the kink at `below` itself is not yet passed.
        if it.start / r >= below && it.start > 0.0 {
            fixed += it.gain * it.start;
        } else if it.cap / r < below {
            fixed += it.gain * it.cap;
        } else {
            free += it.gain * r;
        }
    }
    if free > 0.0 {
        let level = (needed - fixed) / free;
        // Between the kinks by construction, except for rounding.
        return Some(level.min(below).max(0.0));
    }
    (fixed >= needed).then_some(below)
}
