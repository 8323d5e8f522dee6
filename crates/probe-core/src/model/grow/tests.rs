use super::*;
use crate::rows::Rows;
use crate::seed::{Purpose, Seed};

#[test]
fn rows_are_drawn_with_replacement() {
    let mut stream = Seed(3).stream(Purpose::Data, 0);
    let x: Vec<f64> = (0..4_000).map(|_| stream.uniform()).collect();
    let favourable: Vec<bool> = x.iter().map(|x| *x > 0.3).collect();
    let columns = Levels::of(Rows::new(&x, 1).unwrap());
    let cart = Cart {
        columns: &columns,
        favourable: &favourable,
        weights: [1.0; 2],
        drawn: 1,
        depth: 6,
        min_leaf: 1,
        bootstrap: true,
    };
    let growing = Growing::new(&cart, Seed(0).stream(Purpose::Training, 0));
    assert_eq!(growing.times.iter().sum::<u32>(), 4_000);
    // A row is left out with probability 1/e; sd 0.0063 of the share, five of them allowed.
    let share = growing.rows.len() as f64 / 4_000.0;
    assert!((share - (1.0 - (-1f64).exp())).abs() < 0.032, "{share}");
    assert!(growing.rows.iter().all(|&row| growing.times[row as usize] > 0));
}

#[test]
fn one_class_makes_one_leaf() {
    let x = [0.1, 0.2, 0.3];
    let columns = Levels::of(Rows::new(&x, 1).unwrap());
    let cart = Cart {
        columns: &columns,
        favourable: &[true; 3],
        weights: [1.0; 2],
        drawn: 1,
        depth: 6,
        min_leaf: 1,
        bootstrap: false,
    };
    assert_eq!(cart.grow(Seed(0).stream(Purpose::Training, 0)).value, [1.0]);
}
