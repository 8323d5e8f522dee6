//! The engine for Python: a thin layer below the package `probe_recourse`, which has the names,
//! types and texts that people see.

mod convert;
mod engine;
mod error;
mod model;
mod run;
mod schema;
mod sheet;

use pyo3::prelude::*;

/// Native part of `probe_recourse`; not for direct use.
#[pymodule]
fn _probe(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<model::Model>()?;
    module.add_class::<schema::Schema>()?;
    module.add_class::<engine::Engine>()?;
    Ok(())
}
