//! Random small problems of the kinds that an independent audit found faults in, against brute
//! force that shares no code with the engine: its own random numbers, noise, models, costs, limits
//! and search. Nobody is told that there is no answer where brute force finds one, no proof is
//! wrong, and certified answers hold.

mod brute;
mod chance;
mod check;
mod huge_shifts;
mod kinds;
mod narrow_pits;
mod own_model;
mod subject;

use chance::Chance;
use check::check;
use subject::Problem;

/// Asks about `n` problems, of which at least some must have an answer and some not.
fn assert_none_wrong(kind: u64, random: fn(&mut Chance) -> Option<Problem>, n: usize) {
    let report = check(kind, random, n);
    assert!(report.faults.is_empty(), "{} faults, told above", report.faults.len());
    assert!(report.certified > n / 6, "{report:?}");
}

macro_rules! kind {
    ($few:ident, $many:ident, $kind:literal, $random:path) => {
        #[test]
        fn $few() {
            assert_none_wrong($kind, $random, 60);
        }

        #[test]
        #[ignore = "takes minutes"]
        fn $many() {
            assert_none_wrong(100 + $kind, $random, 1_000);
        }
    };
}

kind!(networks, a_thousand_networks, 1, kinds::networks);
kind!(trees, a_thousand_trees, 2, kinds::trees);
kind!(linear_models, a_thousand_linear_models, 3, kinds::linear);
kind!(schemas, a_thousand_schemas, 4, kinds::schemas);
kind!(low_own_rates, a_thousand_low_own_rates, 5, kinds::low_own_rates);
kind!(shifts, a_thousand_shifts, 6, kinds::shifts);
