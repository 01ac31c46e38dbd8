//! Groups of columns that tables of runs and tables of packet traces have in common, with the same names, units and meanings.
//!
//! Each macro gives an array of columns, one run of [`TableSpec::columns`](crate::table::TableSpec::columns).

use crate::histogram::Histogram;

/// Mean and percentiles of times.
#[derive(Clone, Copy, Debug)]
pub struct TimeMeanAndPercentiles {
    pub mean_s: f64,
    pub p50_s: f64,
    pub p95_s: f64,
    pub p99_s: f64,
}

impl<const BITS: u32> From<&Histogram<BITS>> for TimeMeanAndPercentiles {
    fn from(times: &Histogram<BITS>) -> TimeMeanAndPercentiles {
        let [p50_s, p95_s, p99_s] = times.quantiles_s([0.50, 0.95, 0.99]);
        TimeMeanAndPercentiles { mean_s: times.mean_s(), p50_s, p95_s, p99_s }
    }
}

/// Descriptions of throughput, goodput and first-time goodput.
pub const THROUGHPUT_AND_GOODPUT_DOCS: [&str; 3] = [
    "Throughput: bytes of data packets that reached the sink per time, with headers and retransmitted copies",
    "Goodput: bytes newly readable in order by the application at the sink, per time",
    "First-time goodput: application bytes of packets that reached the sink and were not retransmissions, per time",
];

/// Throughput, goodput and first-time goodput of bytes of these three kinds.
pub fn throughput_and_goodputs_bps(bytes: [u64; 3], seconds: f64) -> [f64; 3] {
    bytes.map(|bytes| bytes as f64 * 8.0 / seconds)
}

/// Columns of throughput, goodput and first-time goodput in bit/s: `rate_columns!(DOCS, |row| RATES)`, both arrays of three.
#[macro_export]
macro_rules! rate_columns {
    ($docs:expr, |$row:ident $(: $Row:ty)?| $rates:expr) => {
        [
            $crate::table::real_column("throughput_bps", "bit/s", $docs[0], |$row $(: $Row)?| $rates[0]),
            $crate::table::real_column("goodput_bps", "bit/s", $docs[1], |$row $(: $Row)?| $rates[1]),
            $crate::table::real_column("goodput_first_bps", "bit/s", $docs[2], |$row $(: $Row)?| $rates[2]),
        ]
    };
}

/// Columns of the mean, the median and two percentiles of times: `time_columns!(PREFIX, QUANTITY, |row| STATS)`, where the description of
/// the mean may be followed by `mean: TEXT`.
#[macro_export]
macro_rules! time_columns {
    ($prefix:literal, $quantity:literal, |$row:ident $(: $Row:ty)?| $stats:expr) => {
        $crate::time_columns!($prefix, $quantity, mean: "", |$row $(: $Row)?| $stats)
    };
    ($prefix:literal, $quantity:literal, mean: $mean:literal, |$row:ident $(: $Row:ty)?| $stats:expr) => {
        [
            $crate::table::real_column(concat!($prefix, "_mean_s"), "s", concat!("Mean ", $quantity, $mean), |$row $(: $Row)?| $stats.mean_s),
            $crate::table::real_column(concat!($prefix, "_p50_s"), "s", concat!("Median ", $quantity), |$row $(: $Row)?| $stats.p50_s),
            $crate::table::real_column(
                concat!($prefix, "_p95_s"),
                "s",
                concat!("95th percentile of the ", $quantity),
                |$row $(: $Row)?| $stats.p95_s,
            ),
            $crate::table::real_column(
                concat!($prefix, "_p99_s"),
                "s",
                concat!("99th percentile of the ", $quantity),
                |$row $(: $Row)?| $stats.p99_s,
            ),
        ]
    };
}

/// Columns of Jain's index over throughput, goodput and first-time goodput: `jain_columns!(PREFIX, BEFORE, [AFTER, AFTER_OTHERS], |row|
/// INDICES)`. The texts surround the name of the quantity in the descriptions of the first column and of the other two.
#[macro_export]
macro_rules! jain_columns {
    ($prefix:literal, $before:literal, [$after:literal, $after_others:literal], |$row:ident $(: $Row:ty)?| $indices:expr) => {
        [
            $crate::table::real_column(
                concat!($prefix, "_throughput"),
                "1",
                concat!($before, "throughput", $after),
                |$row $(: $Row)?| $indices[0],
            ),
            $crate::table::real_column(
                concat!($prefix, "_goodput"),
                "1",
                concat!($before, "goodput", $after_others),
                |$row $(: $Row)?| $indices[1],
            ),
            $crate::table::real_column(
                concat!($prefix, "_goodput_first"),
                "1",
                concat!($before, "first-time goodput", $after_others),
                |$row $(: $Row)?| $indices[2],
            ),
        ]
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{NameList, NameSource, TableSpec};

    #[derive(Clone, Copy)]
    struct NoNames;

    impl NameSource for NoNames {
        type Context = ();

        fn names_in_context(self, (): &()) -> NameList {
            [].into()
        }
    }

    static GROUPS: TableSpec<TimeMeanAndPercentiles, NoNames> = TableSpec {
        name: "groups",
        doc: "a row",
        columns: &[
            &rate_columns!(THROUGHPUT_AND_GOODPUT_DOCS, |row: &TimeMeanAndPercentiles| throughput_and_goodputs_bps(
                [100, 50, 25],
                row.mean_s
            )),
            &time_columns!("delay", "one-way delay", mean: " of all", |row| row),
            &jain_columns!("jain", "Jain's index of ", [" over all", " too"], |row| [row.p50_s, row.p95_s, row.p99_s]),
        ],
    };

    #[test]
    fn names_descriptions_and_values_belong_together() {
        let columns = GROUPS.describe().columns;
        let (names, docs): (Vec<_>, Vec<_>) = columns.iter().map(|column| (column.name, column.doc)).unzip();
        assert_eq!(["throughput_bps", "goodput_bps", "goodput_first_bps"], names[..3]);
        assert_eq!(["delay_mean_s", "delay_p50_s", "delay_p95_s", "delay_p99_s"], names[3..7]);
        assert_eq!(["jain_throughput", "jain_goodput", "jain_goodput_first"], names[7..]);
        assert_eq!(["Mean one-way delay of all", "Median one-way delay", "95th percentile of the one-way delay"], docs[3..6]);
        assert_eq!(["Jain's index of throughput over all", "Jain's index of goodput too"], docs[7..9]);
        let table = GROUPS.build_table_from_rows(&(), [TimeMeanAndPercentiles { mean_s: 2.0, p50_s: 3.0, p95_s: 4.0, p99_s: 5.0 }]);
        let values: Vec<_> = table.columns.iter().map(|(_, column)| column.clone()).collect();
        let expected = [400.0, 200.0, 100.0, 2.0, 3.0, 4.0, 5.0, 3.0, 4.0, 5.0].map(|value| crate::table::Column::Real(vec![value]));
        assert_eq!(expected[..], values[..]);
    }
}
