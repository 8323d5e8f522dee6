//! The section on packages, and the figures that other texts quote.

use super::server::FOLDER;
use super::{Adult, Measured, PROBE, RATE, Row};
use anyhow::{Context as _, Result};
use probe_bench::part::Figures;
use probe_bench::python;
use probe_bench::stats::{figure, range_of_figures};
use serde::Deserialize;

/// A package that is not in the table, and why.
#[derive(Deserialize)]
struct Left {
    package: String,
    version: String,
    why: String,
}

pub(super) fn text(rows: &[Row], adult: &Adult) -> Result<String> {
    let fixed: Vec<&str> = adult.fixed().iter().map(|&j| adult.names[j].as_str()).collect();
    let mut text = format!(
        "Adult: the paper's logistic regression and network, and the forest of [trees](trees.md), \
         100 trees of depth 6, which packages get as a forest of scikit-learn with the same trees; \
         scores of 2,000 rows are compared before anybody is asked. People are denied ones of the \
         test split. Packages know no rate of invalidation: they are asked for one counterfactual \
         with their default settings, dice-ml also with settings that are less work for it \
         (**quick**: `benches/peers/packages/ask_dice.py`). Ours is asked for a certified answer \
         at r = {RATE}. Columns lie between 0 and 1; in the second question {} must stay, which \
         some packages cannot be told.\n\n{HEADER}\n",
        fixed.join(", ")
    );
    for row in rows {
        text += &format!("{}\n", line(row));
    }
    text += COLUMNS;
    text += "\nPackages that are not in the table, \
             on Python 3.11:\n\n| package | version | why |\n|---|---|---|\n";
    for left in left()? {
        text += &format!("| `{}` | {} | {} |\n", left.package, left.version, left.why);
    }
    Ok(text)
}

fn left() -> Result<Vec<Left>> {
    let path = python::scripts(FOLDER).join("left-out.csv");
    let mut reader =
        csv::Reader::from_path(&path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(reader.deserialize().collect::<Result<_, _>>()?)
}

const HEADER: &str = "\
| model | must stay | program | people | answers | accepted | hold r | mean rate | cost to ours | \
stay changed, outside | changed | ms a person (s before) | ours is, \
times | per answer that holds r |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|";

const COLUMNS: &str = "
- **people**: whom it was asked about before its time was over. **answers**: people with one; ours \
certified. **accepted**: answers that the model accepts.
- **hold r**: answers whose rate is not above r by more than four standard errors. Rates are exact \
(linear), on 16,384 Sobol lines (network) or on 100,000 draws (forest).
- **cost to ours**: mean l1 cost over that of our answers for the same people. Ours pay for \
holding r; an answer on the boundary is cheaper and fails every second time.
- **stay changed, outside**: answers that change what must stay, and answers outside of [0, 1]. \
**changed**: features changed, by more than 1e-5.
- **ms a person**: processor time, everything prepared on either side; in brackets the seconds \
that the package takes to get ready for everybody, its imports not counted. **ours is**: theirs \
over ours. **per answer that holds r**: the same, \
for each answer that is one to the question asked.
";

pub(super) fn line(row: &Row) -> String {
    let stay = if row.fixed { "yes" } else { "no" };
    let start = format!("| {} | {stay} | {} |", row.model, row.name);
    match &row.outcome {
        Err(why) => format!("{start} failed: {} | | | | | | | | | | |", why.replace('|', "/")),
        Ok(m) => {
            let number = |value: f64, digits: usize| match value.is_finite() {
                true => format!("{value:.digits$}"),
                false => "–".to_owned(),
            };
            format!(
                "{start} {} | {} | {} | {} | {} | {} | {}, {} | {} | {} ({}) | {} | {} |",
                m.people,
                m.answered,
                m.flips,
                m.holds,
                number(m.rate, 3),
                number(m.cost_to_ours, 2),
                m.broken,
                m.outside,
                number(m.changed, 1),
                figure(1e3 * m.seconds),
                number(m.preparation, 1),
                m.ratio.map_or_else(|| "1".to_owned(), |ratio| ratio.to_string()),
                per_holding(m).map_or_else(|| "–".to_owned(), figure)
            )
        }
    }
}

/// How many times as long theirs takes for an answer that holds r; `None` for ours, and where there
/// is none.
fn per_holding(m: &Measured) -> Option<f64> {
    let ratio = m.ratio?;
    (m.holds > 0).then(|| ratio.median * m.people as f64 / m.holds as f64)
}

/// By package and model, where nothing must stay.
pub(super) fn figures(rows: &[Row]) -> Figures {
    let mut figures = Figures::new();
    for row in rows.iter().filter(|row| !row.fixed && row.name != PROBE) {
        let Ok(measured) = &row.outcome else { continue };
        let name = row.name.split(" (").next().unwrap_or_default();
        let name = format!("{}_{}", name.replace([' ', '-'], "_").to_lowercase(), row.model);
        if let Some(ratio) = measured.ratio {
            figures.insert(format!("{name}_ratio"), figure(ratio.median));
        }
        if let Some(ratio) = per_holding(measured) {
            figures.insert(format!("{name}_per_holding"), figure(ratio));
        }
        figures
            .insert(format!("{name}_holds"), format!("{} of {}", measured.holds, measured.people));
    }
    // In all its settings, whether or not something must stay.
    let dice: Vec<&Measured> = rows
        .iter()
        .filter(|row| row.model == "forest" && row.name.starts_with("dice-ml"))
        .filter_map(|row| row.outcome.as_ref().ok())
        .collect();
    if !dice.is_empty() {
        let ratios = dice.iter().filter_map(|m| Some(m.ratio?.median));
        let total = |count: fn(&Measured) -> usize| dice.iter().map(|m| count(m)).sum::<usize>();
        figures.insert("dice_ml_forest_range".to_owned(), range_of_figures(ratios));
        figures.insert(
            "dice_ml_forest_holds".to_owned(),
            format!("{} of {}", total(|m| m.holds), total(|m| m.people)),
        );
    }
    figures
}

#[cfg(test)]
mod tests {
    use super::super::super::turns::Turns;
    use super::*;

    fn measured(holds: usize) -> Measured {
        let mut turns = Turns::default();
        turns.push(0.01, 0.2);
        Measured {
            people: 10,
            answered: 8,
            flips: 8,
            holds,
            rate: 0.25,
            cost_to_ours: 1.5,
            broken: 1,
            outside: 2,
            changed: 3.0,
            seconds: 0.2,
            preparation: 1.0,
            ratio: Some(turns.ratio(1.0)),
        }
    }

    #[test]
    fn whoever_holds_r_in_two_of_ten_answers_takes_five_times_as_long_for_each() {
        let m = measured(2);
        assert!((per_holding(&m).unwrap() - 100.0).abs() < 1e-9);
        assert_eq!(per_holding(&measured(0)), None);
        let row = Row {
            model: "forest",
            fixed: false,
            name: "some random (1.0)".to_owned(),
            outcome: Ok(m),
        };
        let cells = "| forest | no | some random (1.0) | 10 | 8 | 8 | 2 | 0.250 | 1.50 | 1, 2 | \
                     3.0 | 200 (1.0) | 20 (20 to 20) | 100 |";
        assert_eq!(line(&row), cells);
        assert_eq!(
            line(&row).matches('|').count(),
            HEADER.lines().next().unwrap().matches('|').count()
        );
        assert_eq!(figures(&[row])["some_random_forest_holds"], "2 of 10");
    }

    #[test]
    fn all_settings_of_a_package_are_one_range() {
        let row = |fixed: bool, holds: usize, theirs: f64| {
            let mut turns = Turns::default();
            turns.push(0.01, theirs);
            let outcome = Ok(Measured { ratio: Some(turns.ratio(1.0)), ..measured(holds) });
            Row { model: "forest", fixed, name: "dice-ml random (1.0)".to_owned(), outcome }
        };
        let figures = figures(&[row(false, 2, 0.2), row(true, 3, 5.0)]);
        assert_eq!(figures["dice_ml_forest_range"], "20 to 500");
        assert_eq!(figures["dice_ml_forest_holds"], "5 of 20");
    }

    #[test]
    fn who_fails_says_why_in_a_whole_row() {
        let outcome = Err("no | answer".to_owned());
        let row = Row { model: "linear", fixed: true, name: "other".to_owned(), outcome };
        assert!(line(&row).contains("failed: no / answer"));
        assert_eq!(
            line(&row).matches('|').count(),
            HEADER.lines().next().unwrap().matches('|').count()
        );
    }

    #[test]
    fn packages_left_out_have_a_reason() {
        let left = left().unwrap();
        assert!(
            !left.is_empty()
                && left.iter().all(|left| !left.package.is_empty() && !left.why.is_empty())
        );
    }
}
