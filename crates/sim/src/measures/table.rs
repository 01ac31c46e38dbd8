//! Tables of a run, declared and filled by `ecnlab_units::table`, with the names of a network's groups and queues.

use ecnlab_units::table;
pub use ecnlab_units::table::{
    Column, ColumnDescription, ColumnSlice, NameList, NameSource, Table, TableDescription, count_column, index_column, name_column,
    real_column,
};

pub type TableSpec<R> = table::TableSpec<R, NetworkNameSource>;
pub type ColumnSpec<R> = table::ColumnSpec<R, NetworkNameSource>;
pub type TableBuilder<R> = table::TableBuilder<R, NetworkNameSource>;

/// List from which the names of a column come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkNameSource {
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

impl table::NameSource for NetworkNameSource {
    type Context = NetworkNames;

    fn names(self, of: &NetworkNames) -> NameList {
        match self {
            NetworkNameSource::Group => of.groups.clone(),
            NetworkNameSource::Queue => of.queues.clone(),
            NetworkNameSource::GroupOrQueue => of.groups.iter().chain(&*of.queues).cloned().collect(),
            NetworkNameSource::Band => of.bands.clone(),
            NetworkNameSource::BandOrNone => std::iter::once("".into()).chain(of.bands.iter().cloned()).collect(),
            NetworkNameSource::Gauge => of.gauges.clone(),
            NetworkNameSource::Link => of.links.clone(),
            NetworkNameSource::Word(words) => words.iter().map(|&word| word.into()).collect(),
        }
    }

    fn fixed_names(self) -> &'static [&'static str] {
        match self {
            NetworkNameSource::Word(words) => words,
            _ => &[],
        }
    }
}
