//! What people look at: numbers in plain form, pictures, and the report.
//!
//! [`report::render`] turns a [`report::Report`] into one HTML file that needs nothing else: no
//! script, no font, no style from elsewhere. The same data gives the same bytes. [`number`] serves
//! everything that prints text, and [`plot`] is the drawing kit behind the pictures. [`compare`]
//! runs several methods on the same people. [`paper_data`] has the data and networks of the paper's
//! experiments, [`reproduce`] its figures and tables, [`sources`] where to download the data.

pub mod compare;
pub mod number;
pub mod paper_data;
pub mod plot;
pub mod report;
pub mod reproduce;
pub mod sources;
