//! The tables of a run: declared and filled as any (`ecnlab_units::table`), with the names of a network's groups and queues.

use ecnlab_units::table;
pub use ecnlab_units::table::{
    Column, ColumnDescription, NameList, Table, TableDescription, count_column, index_column, name_column, real_column,
};

pub type TableSpec<R> = table::TableSpec<R, NetworkNameSource>;
pub type ColumnSpec<R> = table::ColumnSpec<R, NetworkNameSource>;
pub type TableBuilder<R> = table::TableBuilder<R, NetworkNameSource>;

/// What the names of a column are names of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkNameSource {
    Group,
    Queue,
    /// A group, or a queue counted on from the last group.
    GroupOrQueue,
    /// A band of a queue, those of all queues in one run.
    Band,
    /// The same, counted from 1; 0 has no name.
    BandOrNone,
    /// A gauge of a queue.
    Gauge,
    /// A link with impairments, or of a trace.
    Link,
    /// One of these words.
    Word(&'static [&'static str]),
}

/// The names of a network's groups and queues, and of what queues have.
#[derive(Clone, Debug, Default)]
pub struct NetworkNames {
    pub groups: NameList,
    pub queues: NameList,
    /// The bands of the queues that have several, one queue after another.
    pub bands: NameList,
    /// The gauges that were recorded.
    pub gauges: NameList,
    /// The links with impairments, or those of a trace.
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
