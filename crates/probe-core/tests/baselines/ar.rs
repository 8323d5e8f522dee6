//! `ar`: integer programs small enough to be solved by hand or by listing.

use crate::support::{answer, assert_near, curved, linear, refusal, setup};
use probe_core::{Actions, FeatureLimits, Group, Purpose, Reason, Seed, Status};
use std::sync::Arc;

#[test]
fn the_cheapest_grid_points_by_hand() {
    // Steps of 0.25: 3 x0 + 2 x1 > 2.1 from 0. x0 = 0.75 gains 2.25 for 0.75; no cheaper pair does:
    // 0.5 + 0.25 gains 2.
    let model = linear(&[3.0, 2.0], -2.1);
    let found = answer(setup(&model, "ar", &["step=0.25"]), &[0.0; 2]);
    assert_eq!((found.point.as_slice(), found.changed), ([0.75, 0.0].as_slice(), 1));
    assert!((found.score_after - 0.15).abs() < 1e-12 && found.rate < 0.5, "{found:?}");
    // From 0.1 the first grid point is 0.25; the person's own value need not be on the grid.
    let found = answer(setup(&model, "ar", &["step=0.25"]), &[0.1, 0.2]);
    assert_near(&found.point, &[0.75, 0.2], 1e-15);
    // The grid ends at 1: 3 + 2 > 4.9, and 5.1 is out of reach.
    assert_near(
        &answer(setup(&linear(&[3.0, 2.0], -4.9), "ar", &[]), &[0.0; 2]).point,
        &[1.0, 0.96],
        1e-12,
    );
    let none = answer(setup(&linear(&[3.0, 2.0], -5.1), "ar", &[]), &[0.0; 2]);
    assert_eq!((none.status, none.reason), (Status::None, Some(Reason::NotFound)));
}

#[test]
fn a_score_of_zero_on_the_grid_is_not_enough() {
    let found = answer(setup(&linear(&[2.0], -1.0), "ar", &["step=0.25"]), &[0.0]);
    assert_eq!(found.point, [0.75], "0.5 is on the boundary");
}

#[test]
fn ranges_come_from_the_reference_rows() {
    let mut with_rows = setup(&linear(&[1.0, 1.0], -3.0), "ar", &["step=0.5"]);
    with_rows.reference = Some(Arc::from([0.0, 0.0, 1.0, 4.0]));
    // Steps of 0.5 up to 1, and of 2 up to 4.
    assert_near(&answer(with_rows, &[0.0; 2]).point, &[0.0, 4.0], 1e-12);
}

#[test]
fn limits_groups_and_norms_are_part_of_the_program() {
    let model = linear(&[3.0, 2.0, 0.0, 2.5], -4.3);
    let actions = || {
        let rooms = vec![
            FeatureLimits { high: 0.5, ..FeatureLimits::default() },
            FeatureLimits::default(),
            FeatureLimits::default(),
            FeatureLimits::default(),
        ];
        Actions::new(rooms).with_groups(vec![Group::one_hot(vec![2, 3])]).unwrap()
    };
    let ask = |actions: Actions, norm: &str| {
        let mut asked = setup(&model, "ar", &["step=0.25"]);
        asked.set_norm(norm).unwrap();
        asked.actions = actions;
        answer(asked, &[0.0, 0.0, 1.0, 0.0])
    };
    // Without the group at most 1.5 + 2 is gained. The other option gains 2.5 for 2, the rest is
    // cheapest by x0 = 0.5 and x1 = 0.25.
    assert_near(&ask(actions(), "l1").point, &[0.5, 0.25, 0.0, 1.0], 1e-12);
    // At most two changes: the option and x1 = 1.
    assert_near(
        &ask(actions().with_max_changes(Some(2)), "l1").point,
        &[0.0, 1.0, 0.0, 1.0],
        1e-12,
    );
    let none = ask(actions().with_max_changes(Some(1)), "l1");
    assert_eq!(none.status, Status::None);
    // An option that may not be taken: 3.5 is not enough.
    let mut stuck = actions();
    stuck.fix(2);
    assert_eq!(ask(stuck, "l1").status, Status::None);
    // The option's move of 1 is the largest: everything else up to 1 is free, and the cheapest of
    // that breaks the tie.
    assert_near(&ask(actions(), "linf").point, &[0.5, 0.25, 0.0, 1.0], 1e-12);
    let mut euclid = setup(&model, "ar", &[]);
    euclid.set_norm("l2").unwrap();
    assert!(refusal(euclid).contains("l1 or linf"));
    assert!(refusal(setup(&curved(&[1.0], 0.5), "ar", &[])).contains("ar-lime"));
    assert!(refusal(setup(&model, "ar", &["step=0"])).contains("step"));
}

/// The cheapest favourable point of the grid, by trying all of them.
fn by_listing(weights: &[f64], bias: f64, person: &[f64], steps: usize) -> Option<f64> {
    let mut least: Option<f64> = None;
    for code in 0..(steps + 2).pow(weights.len() as u32) {
        let (mut score, mut cost, mut rest) = (bias, 0.0, code);
        for (w, x) in weights.iter().zip(person) {
            let k = rest % (steps + 2);
            rest /= steps + 2;
            // The last choice is to stay.
            let to = if k == steps + 1 { *x } else { k as f64 / steps as f64 };
            score += w * to;
            cost += (to - x).abs();
        }
        if score > 1e-8 {
            least = Some(least.map_or(cost, |known| known.min(cost)));
        }
    }
    least
}

#[test]
fn nothing_on_the_grid_is_cheaper() {
    let mut draw = Seed(3).stream(Purpose::Data, 1);
    let (mut answered, mut refused) = (0, 0);
    for _ in 0..100 {
        let weights: Vec<f64> = (0..4).map(|_| draw.normal()).collect();
        let person: Vec<f64> = (0..4).map(|_| draw.uniform()).collect();
        let bias = -2.0 * draw.uniform();
        let model = linear(&weights, bias);
        let found = answer(setup(&model, "ar", &["step=0.125"]), &person);
        match by_listing(&weights, bias, &person, 8) {
            _ if found.status == Status::Favourable => continue,
            Some(least) => {
                let cost = found.cost.unwrap();
                assert!(
                    (cost - least).abs() < 1e-9,
                    "{cost} {least} {weights:?} {bias} {person:?}"
                );
                answered += 1;
            }
            None => {
                assert_eq!(found.status, Status::None);
                refused += 1;
            }
        }
    }
    assert!(answered > 30 && refused > 30, "{answered} {refused}");
}

#[test]
fn reasons_are_proven_or_not_given() {
    let model = linear(&[3.0, 2.0, 0.0, 2.5], -6.0);
    let room = |high: f64| FeatureLimits { high, ..FeatureLimits::default() };
    let ask = |actions: Actions| {
        let mut asked = setup(&model, "ar", &[]);
        asked.actions = actions;
        let found = answer(asked, &[0.0, 0.0, 1.0, 0.0]);
        (found.status, found.reason)
    };
    let group = || vec![Group::one_hot(vec![2, 3])];
    let tight = || {
        Actions::new(vec![room(0.5), room(0.5), room(1.0), room(1.0)]).with_groups(group()).unwrap()
    };
    // 1.5 + 1 + 2.5 < 6, whatever is done.
    assert_eq!(ask(tight()), (Status::None, Some(Reason::InfeasibleWithinBounds)));
    // Without bounds 3 x0 alone could gain it, but the grid ends at 1: 3 + 2 + 2.5 > 6 is there,
    // two of them are not.
    let free = || Actions::free(4).with_groups(group()).unwrap();
    assert_eq!(ask(free()).0, Status::Found);
    let two = ask(free().with_max_changes(Some(2)));
    assert_eq!(two, (Status::None, Some(Reason::NotFound)), "beyond the grid it could be done");
    let wide = Actions::new(vec![room(1.0), room(1.0), room(1.0), room(1.0)])
        .with_groups(group())
        .unwrap();
    let two = ask(wide.with_max_changes(Some(2)));
    assert_eq!(two, (Status::None, Some(Reason::InfeasibleWithinMaxChanges)));
    // Only what does not matter may change.
    let mut stuck = Actions::free(4).with_groups(group()).unwrap();
    [0, 1, 3].into_iter().for_each(|j| stuck.fix(j));
    assert_eq!(ask(stuck), (Status::None, Some(Reason::NoAdmissibleMove)));
}

#[test]
fn the_finest_grid_loses_nobody_and_a_finer_one_is_refused() {
    // 2 x0 > 1 from 0: the first of a million steps beyond a half.
    let model = linear(&[2.0, 0.1], -1.0);
    let found = answer(setup(&model, "ar", &["step=1e-6"]), &[0.0; 2]);
    assert_near(&found.point, &[0.500_001, 0.0], 1.1e-6);
    let mut draw = Seed(9).stream(Purpose::Data, 1);
    for _ in 0..50 {
        let weights: Vec<f64> = (0..5).map(|_| draw.normal()).collect();
        let person: Vec<f64> = (0..5).map(|_| draw.uniform()).collect();
        let model = linear(&weights, -draw.uniform());
        let [coarse, fine] =
            ["step=0.01", "step=1e-6"].map(|step| answer(setup(&model, "ar", &[step]), &person));
        assert!(
            coarse.status == Status::None || fine.status != Status::None,
            "{weights:?} {person:?}"
        );
        if let (Some(coarse), Some(fine)) = (coarse.cost, fine.cost) {
            assert!(fine <= coarse + 1e-9, "{fine} {coarse} {weights:?} {person:?}");
        }
    }
    let refused = refusal(setup(&model, "ar", &["step=9e-7"]));
    assert!(
        refused.contains("step") && refused.contains("1e-6") && refused.contains("0.0000009"),
        "{refused}"
    );
}

#[test]
fn the_library_charges_shifts_in_percentiles() {
    // 1.2 x0 + x1 > 0.5 from 0 in quarters. By l1 x0 = 0.5 is cheapest. Nobody is between 0 and
    // 0.75 in x1: a move there passes nobody.
    let model = linear(&[1.2, 1.0], -0.5);
    let ask = |options: &[&str]| {
        let mut asked = setup(&model, "ar", options);
        asked.reference = Some(Arc::from([0.0, 0.0, 0.25, 0.0, 0.5, 0.0, 0.75, 0.9, 1.0, 1.0]));
        asked
    };
    assert_near(&answer(ask(&["step=0.25"]), &[0.0; 2]).point, &[0.5, 0.0], 1e-12);
    assert_near(
        &answer(ask(&["step=0.25", "version=library"]), &[0.0; 2]).point,
        &[0.0, 0.75],
        1e-12,
    );
    // Of points that pass nobody the nearest that will do: x1 > 0.5 in steps of a hundredth.
    assert_near(&answer(ask(&["version=library"]), &[0.0; 2]).point, &[0.0, 0.51], 1e-12);
    // What is 0 or 1 for everybody jumps.
    let mut jumps = setup(&linear(&[2.0], -0.5), "ar", &["version=library"]);
    jumps.reference = Some(Arc::from([0.0, 1.0, 1.0]));
    assert_eq!(answer(jumps, &[0.0]).point, [1.0]);
    let mut limited = ask(&["version=library"]);
    limited.actions = limited.actions.with_max_changes(Some(1));
    assert!(refusal(limited).contains("number of changes"));
}

#[test]
fn steps_of_the_schema_are_kept() {
    let grid = probe_core::schema::Grid { zero: 0.0, step: 0.3 };
    let mut asked = setup(&linear(&[1.0], -0.4), "ar", &[]);
    asked.actions = Actions::free(1).with_grids(vec![Some(grid)]).unwrap();
    assert_near(&answer(asked, &[0.0]).point, &[0.6], 1e-12);
}
