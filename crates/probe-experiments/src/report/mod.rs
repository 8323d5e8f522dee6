//! The report for one person: what to do, how sure it is, and why.

mod applicant;
mod batch;
mod build;
mod changes;
mod cloud;
mod data;
mod details;
mod frontier;
mod icons;
mod limits;
mod page;
mod summary;
mod words;

pub use applicant::Applicant;
pub use batch::{Batch, Histogram, StatusCount, batch_picture};
pub use build::{PersonReport, feature_rows};
pub use changes::changes_picture;
pub use cloud::cloud_picture;
pub use data::{
    Answer, Bound, Cloud, CloudAxis, Frontier, FrontierPoint, Method, ModelAnswer, ModelCard,
    NetworkPart, PersonFeature, Region, Report, Sample, Settings, Status, Value,
};
pub(crate) use frontier::draw_frontier;
pub use frontier::frontier_picture;
pub use page::render;
pub(crate) use page::{close_page, open_page};
pub use summary::summary;
