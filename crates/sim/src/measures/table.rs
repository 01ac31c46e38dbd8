//! The tables of a run: declared and filled as any (`ecnlab_units::table`), with the names of a network's groups and queues.

use ecnlab_units::table;
pub use ecnlab_units::table::{Column, ColumnText, Names, Table, TableText, count, index, name, real};

pub type TableSpec<R> = table::TableSpec<R, Naming>;
pub type ColumnSpec<R> = table::ColumnSpec<R, Naming>;
pub type Filling<R> = table::Filling<R, Naming>;

/// What the names of a column are names of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
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
    pub groups: Names,
    pub queues: Names,
    /// The bands of the queues that have several, one queue after another.
    pub bands: Names,
    /// The gauges that were recorded.
    pub gauges: Names,
    /// The links with impairments, or those of a trace.
    pub links: Names,
}

impl table::Naming for Naming {
    type Of = NetworkNames;

    fn names(self, of: &NetworkNames) -> Names {
        match self {
            Naming::Group => of.groups.clone(),
            Naming::Queue => of.queues.clone(),
            Naming::GroupOrQueue => of.groups.iter().chain(&*of.queues).cloned().collect(),
            Naming::Band => of.bands.clone(),
            Naming::BandOrNone => std::iter::once("".into()).chain(of.bands.iter().cloned()).collect(),
            Naming::Gauge => of.gauges.clone(),
            Naming::Link => of.links.clone(),
            Naming::Word(words) => words.iter().map(|&word| word.into()).collect(),
        }
    }

    fn words(self) -> &'static [&'static str] {
        match self {
            Naming::Word(words) => words,
            _ => &[],
        }
    }
}
