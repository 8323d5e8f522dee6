//! The values of names in the graph.

use super::affine::Affine;
use super::curve::Curve;
use super::tensor::Tensor;
use crate::import::columns::Cell;
use probe_core::model::{Tree, TreeRules};
use std::rc::Rc;

/// Why something cannot be read: the operator, and what about it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Refused {
    pub place: String,
    pub what: String,
}

/// A value of the graph, for every row alike.
#[derive(Debug, Clone)]
pub(super) enum Value {
    /// The same for all rows.
    Constant(Rc<Tensor>),
    /// Columns made of one input each.
    Columns(Rc<Columns>),
    /// Entries that are a function of an affine map.
    Units(Units),
    /// Several of them side by side, which are no layer.
    Parts(Rc<Vec<Units>>),
    /// The sum of the entries.
    Sum(Units),
    /// What a classifier says of its two classes: its margin is known.
    Scores(Scores),
    /// A label, or computed from one.
    Label,
    /// Something that cannot be read. It is no fault unless the model's score needs it.
    Unknown(Rc<Refused>),
}

/// Columns, and how the dimensions after the first go.
#[derive(Debug, Clone)]
pub(super) struct Columns {
    pub dims: Vec<usize>,
    pub cells: Vec<Cell>,
}

/// A curve of each entry of an affine map.
#[derive(Debug, Clone)]
pub(super) struct Units {
    pub root: Rc<Affine>,
    pub curve: Curve,
}

/// The margin of a classifier.
#[derive(Debug, Clone)]
pub(super) enum Scores {
    /// One row.
    Affine(Rc<Affine>),
    /// Trees on the columns of the input, by their numbers.
    Trees(Rc<Ensemble>),
}

/// Trees whose features are columns of the input.
#[derive(Debug, Clone)]
pub(super) struct Ensemble {
    pub trees: Vec<Tree>,
    pub rules: TreeRules,
}

impl Units {
    pub(super) fn plain(root: Affine) -> Self {
        Self { root: Rc::new(root), curve: Curve::identity() }
    }

    pub(super) fn same_root(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.root, &other.root)
    }

    pub(super) fn with(&self, curve: Curve) -> Self {
        Self { root: Rc::clone(&self.root), curve }
    }
}

impl Value {
    pub(super) fn units(root: Affine) -> Self {
        Self::Units(Units::plain(root))
    }

    pub(super) fn columns(dims: Vec<usize>, cells: Vec<Cell>) -> Self {
        Self::Columns(Rc::new(Columns { dims, cells }))
    }

    pub(super) fn constant(&self) -> Option<&Tensor> {
        match self {
            Self::Constant(tensor) => Some(tensor),
            _ => None,
        }
    }

    /// In a few words.
    pub(super) fn describe(&self) -> &'static str {
        match self {
            Self::Constant(_) => "a constant",
            Self::Columns(_) => "columns of the input",
            Self::Units(_) | Self::Parts(_) => "entries of a layer",
            Self::Sum(_) => "a sum of entries",
            Self::Scores(_) => "scores of a classifier",
            Self::Label => "a label",
            Self::Unknown(_) => "unknown",
        }
    }
}
