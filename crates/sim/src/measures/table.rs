//! Tables of a run, declared and filled by `ecnlab_units::table`, with the names of a network's groups and queues.

use ecnlab_units::table;
pub use ecnlab_units::table::{
    Column, ColumnDescription, ColumnSlice, NameList, NameSource, Table, TableDescription, count_column, index_column, name_column,
    real_column,
};

pub type TableSpec<R> = table::TableSpec<R, ColumnNameSource>;
pub type ColumnSpec<R> = table::ColumnSpec<R, ColumnNameSource>;
pub type TableBuilder<R> = table::TableBuilder<R, ColumnNameSource>;

/// List from which the names of a column come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnNameSource {
    Group,
    Queue,
    /// A group, or a queue: queues are numbered after the last group.
    GroupOrQueue,
    /// A band of a queue, numbered over all queues.
    Band,
    /// A band, counted from 1; 0 is without a name.
    BandOrNone,
    /// A gauge of a queue.
    Gauge,
    /// A link with impairments, or a link of a trace.
    Link,
    /// One of these words.
    Word(&'static [&'static str]),
}

/// Names of a network's groups and queues, and of the queues' bands and gauges.
#[derive(Clone, Debug, Default)]
pub struct NetworkNames {
    pub groups: NameList,
    pub queues: NameList,
    /// Bands of the queues that have several, queue by queue.
    pub bands: NameList,
    /// Recorded gauges.
    pub gauges: NameList,
    /// Links with impairments, or those of a trace.
    pub links: NameList,
}

impl table::NameSource for ColumnNameSource {
    type Context = NetworkNames;

    fn names_in_context(self, of: &NetworkNames) -> NameList {
        match self {
            ColumnNameSource::Group => of.groups.clone(),
            ColumnNameSource::Queue => of.queues.clone(),
            ColumnNameSource::GroupOrQueue => of.groups.iter().chain(&*of.queues).cloned().collect(),
            ColumnNameSource::Band => of.bands.clone(),
            ColumnNameSource::BandOrNone => std::iter::once("".into()).chain(of.bands.iter().cloned()).collect(),
            ColumnNameSource::Gauge => of.gauges.clone(),
            ColumnNameSource::Link => of.links.clone(),
            ColumnNameSource::Word(words) => words.iter().map(|&word| word.into()).collect(),
        }
    }

    fn fixed_names(self) -> &'static [&'static str] {
        match self {
            ColumnNameSource::Word(words) => words,
            _ => &[],
        }
    }
}
