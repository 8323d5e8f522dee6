//! The reduced trees around a point, compiled to a list of selections.

use super::{Errors, Parts};
use crate::math::vectorised;

/// Numbers of errors are multiples of this.
pub(super) const LANES: usize = 128;
/// Errors evaluated side by side, if there are that many: enough that decoding a selection takes
/// less time than executing it, and few enough that pending values stay in the L1 cache.
const WIDE: usize = 512;

/// Which children of a split are leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Both,
    Left,
    Right,
    Neither,
}

/// One split, evaluated after its children: errors with a rank below `place` take the left child.
#[derive(Debug, Clone, Copy)]
struct Choice {
    feature: u32,
    place: i16,
    /// Value of the left child, if it is a leaf.
    left: i16,
    /// Value of the right child, if it is a leaf.
    right: i16,
    shape: Shape,
    /// Whether this is a root: its value is added to the sums.
    is_root: bool,
}

#[derive(Default)]
pub(super) struct Program {
    choices: Vec<Choice>,
    /// Sum of the trees that give the same leaf for all errors.
    constant: i32,
    /// Largest number of pending values.
    depth: usize,
    todo: Vec<(u32, bool)>,
    /// Values of the finished subtrees: a leaf, or `None` for a pending value.
    done: Vec<Option<i16>>,
}

#[derive(Default)]
pub(super) struct Scratch {
    pub(super) waiting: Vec<i16>,
    pub(super) sums: Vec<i32>,
}

/// One of two numbers, without a branch.
#[inline(always)]
fn choose(first: bool, a: i16, b: i16) -> i16 {
    b ^ ((a ^ b) & -i16::from(first))
}

impl Program {
    /// Compiles the program for the trees with these `roots`, at whose cuts `places` of `n` errors
    /// go left.
    pub(super) fn compile(
        &mut self,
        trees: &Parts,
        roots: &[u32],
        feature_of: &[u32],
        places: &[i16],
        n: i16,
    ) {
        let Self { choices, constant, depth, todo, done } = self;
        let nodes = &trees.nodes[..];
        choices.clear();
        (*constant, *depth) = (0, 0);
        let mut waiting = 0_usize;
        for &root in roots {
            todo.clear();
            done.clear();
            todo.push((root, false));
            while let Some((mut at, children_done)) = todo.pop() {
                if !children_done {
                    // Skip splits where all errors take the same side.
                    loop {
                        let node = nodes[at as usize];
                        if node.right == 0 {
                            done.push(Some(node.cut_or_leaf as i16));
                            break;
                        }
                        let place = places[node.cut_or_leaf as usize];
                        if place > 0 && place < n {
                            todo.extend([(at, true), (node.right, false)]);
                            at += 1;
                            continue;
                        }
                        at = if place == 0 { node.right } else { at + 1 };
                    }
                    continue;
                }
                let (right, left) = (done.pop().flatten(), done.pop().flatten());
                if left.is_some() && left == right {
                    done.push(left);
                    continue;
                }
                let shape = match (left, right) {
                    (Some(_), Some(_)) => Shape::Both,
                    (Some(_), None) => Shape::Left,
                    (None, Some(_)) => Shape::Right,
                    (None, None) => Shape::Neither,
                };
                waiting = match shape {
                    Shape::Both => waiting + 1,
                    Shape::Left | Shape::Right => waiting,
                    Shape::Neither => waiting - 1,
                };
                *depth = (*depth).max(waiting + usize::from(shape == Shape::Neither));
                let cut = nodes[at as usize].cut_or_leaf as usize;
                choices.push(Choice {
                    feature: feature_of[cut],
                    place: places[cut],
                    left: left.unwrap_or(0),
                    right: right.unwrap_or(0),
                    shape,
                    is_root: false,
                });
                done.push(None);
            }
            match (done.pop().flatten(), choices.last_mut()) {
                (Some(leaf), _) => *constant += i32::from(leaf),
                (None, Some(last)) => {
                    last.is_root = true;
                    waiting -= 1;
                }
                (None, None) => {}
            }
        }
    }

    /// Computes the sums of errors, starting with number `from`. Their number is a multiple of
    /// [`LANES`].
    pub(super) fn run(
        &self,
        errors: &Errors,
        from: usize,
        waiting: &mut Vec<i16>,
        sums: &mut [i32],
    ) {
        waiting.resize(self.depth.max(1) * WIDE, 0);
        vectorised(
            #[inline(always)]
            || {
                let (wide, rest) = sums.as_chunks_mut::<WIDE>();
                let narrow = from + wide.len() * WIDE;
                for (block, sums) in wide.iter_mut().enumerate() {
                    self.run_here(errors, from + block * WIDE, waiting.as_chunks_mut().0, sums);
                }
                let (half, rest) = rest.as_chunks_mut::<{ WIDE / 2 }>();
                for (block, sums) in half.iter_mut().enumerate() {
                    self.run_here(
                        errors,
                        narrow + block * (WIDE / 2),
                        waiting.as_chunks_mut().0,
                        sums,
                    );
                }
                let narrow = narrow + half.len() * (WIDE / 2);
                for (block, sums) in rest.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
                    self.run_here(errors, narrow + block * LANES, waiting.as_chunks_mut().0, sums);
                }
            },
        );
    }

    #[inline(always)]
    fn run_here<const N: usize>(
        &self,
        errors: &Errors,
        from: usize,
        waiting: &mut [[i16; N]],
        sums: &mut [i32; N],
    ) {
        sums.fill(self.constant);
        let mut n = 0;
        for choice in &self.choices {
            let Choice { place, left, right, .. } = *choice;
            let Some(ranks) = errors.ranks(choice.feature as usize, from).first_chunk::<N>() else {
                return;
            };
            match choice.shape {
                Shape::Both => {
                    let here = &mut waiting[n];
                    n += 1;
                    for i in 0..N {
                        here[i] = choose(ranks[i] < place, left, right);
                    }
                }
                Shape::Left => {
                    let here = &mut waiting[n - 1];
                    for i in 0..N {
                        here[i] = choose(ranks[i] < place, left, here[i]);
                    }
                }
                Shape::Right => {
                    let here = &mut waiting[n - 1];
                    for i in 0..N {
                        here[i] = choose(ranks[i] < place, here[i], right);
                    }
                }
                Shape::Neither => {
                    n -= 1;
                    let (lefts, rights) = waiting.split_at_mut(n);
                    let (here, right) = (&mut lefts[n - 1], &rights[0]);
                    for i in 0..N {
                        here[i] = choose(ranks[i] < place, here[i], right[i]);
                    }
                }
            }
            if choice.is_root {
                n -= 1;
                for (sum, value) in sums.iter_mut().zip(&waiting[n]) {
                    *sum += i32::from(*value);
                }
            }
        }
    }
}
