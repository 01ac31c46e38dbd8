//! Counters of a host's kernel, from `/proc/net/netstat` and `/proc/net/snmp`.

use std::fs;
use std::io;

use serde_json::{Map, Value as Json, json};

/// Counters that are read: name of the line, name of the counter, and its name in results.
const REPORTED_COUNTERS: &[(&str, &str, &str)] = &[
    ("IpExt", "InCEPkts", "in_ce"),
    ("IpExt", "InECT0Pkts", "in_ect0"),
    ("IpExt", "InECT1Pkts", "in_ect1"),
    ("IpExt", "InNoECTPkts", "in_not_ect"),
    ("Ip6", "InCEPkts", "in_ce"),
    ("Ip6", "InECT0Pkts", "in_ect0"),
    ("Ip6", "InECT1Pkts", "in_ect1"),
    ("Ip6", "InNoECTPkts", "in_not_ect"),
    ("Tcp", "ActiveOpens", "active_opens"),
    ("Tcp", "AttemptFails", "attempt_fails"),
    ("Tcp", "EstabResets", "resets"),
    ("Tcp", "RetransSegs", "retransmitted"),
    ("Tcp", "InErrs", "in_errors"),
    ("Tcp", "InCsumErrors", "in_bad_checksums"),
    ("TcpExt", "TCPTimeouts", "timeouts"),
    ("TcpExt", "TCPSpuriousRTOs", "spurious_timeouts"),
    ("TcpExt", "TCPLossProbes", "loss_probes"),
    ("TcpExt", "TCPFastRetrans", "fast_retransmitted"),
    ("TcpExt", "TCPSynRetrans", "syn_retransmitted"),
    ("TcpExt", "TCPDeliveredCE", "delivered_ce"),
    ("TcpExt", "ListenDrops", "listen_drops"),
    ("TcpExt", "ListenOverflows", "listen_overflows"),
    ("Udp", "InDatagrams", "in_datagrams"),
    ("Udp", "RcvbufErrors", "receive_buffer_drops"),
    ("Udp", "SndbufErrors", "send_buffer_drops"),
    ("Udp6", "InDatagrams", "in_datagrams"),
    ("Udp6", "RcvbufErrors", "receive_buffer_drops"),
    ("Udp6", "SndbufErrors", "send_buffer_drops"),
];

/// Counters by their names in results.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelCounters(Vec<(&'static str, u64)>);

impl KernelCounters {
    /// Reads them in the namespace of the calling thread.
    ///
    /// # Errors
    /// If `/proc` cannot be read.
    pub fn read() -> io::Result<KernelCounters> {
        let files = ["netstat", "snmp", "snmp6"].map(|name| fs::read_to_string(format!("/proc/thread-self/net/{name}")));
        let [netstat, snmp, snmp6] = files;
        Ok(KernelCounters::parse(&netstat?, &snmp?, &snmp6.unwrap_or_default()))
    }

    fn parse(netstat: &str, snmp: &str, snmp6: &str) -> KernelCounters {
        let mut counts = KernelCounters::default();
        let found = REPORTED_COUNTERS.iter().filter_map(|&(line, name, result_name)| {
            let count = match line {
                "Ip6" | "Udp6" => counter_of_list(snmp6, line, name),
                _ => counter_of_table(netstat, line, name).or_else(|| counter_of_table(snmp, line, name)),
            };
            Some((result_name, count?))
        });
        for (result_name, count) in found {
            match counts.0.iter_mut().find(|(known, _)| *known == result_name) {
                Some((_, sum)) => *sum += count,
                None => counts.0.push((result_name, count)),
            }
        }
        counts
    }

    /// A counter by its name in results; 0 if this kernel does not have it.
    pub fn count(&self, result_name: &str) -> u64 {
        self.0.iter().find(|(known, _)| *known == result_name).map_or(0, |(_, count)| *count)
    }

    pub fn json(&self) -> Json {
        Json::Object(self.0.iter().map(|(result_name, count)| ((*result_name).to_owned(), json!(count))).collect::<Map<_, _>>())
    }
}

/// A counter in two lines that both begin with the line's name: names, then numbers.
fn counter_of_table(text: &str, line: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|text| text.strip_prefix(line)?.strip_prefix(':'));
    let (names, numbers) = (lines.next()?, lines.next()?);
    let at = names.split_ascii_whitespace().position(|known| known == name)?;
    numbers.split_ascii_whitespace().nth(at)?.parse().ok()
}

/// A counter with a separate line.
fn counter_of_list(text: &str, line: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|text| text.strip_prefix(line)?.strip_prefix(name)?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_by_name_and_summed_over_ip_versions() {
        let netstat = "TcpExt: SyncookiesSent TCPTimeouts\nTcpExt: 1 7\nIpExt: InOctets InCEPkts\nIpExt: 100 12\n";
        let snmp = "Tcp: ActiveOpens RetransSegs\nTcp: 3 9\n";
        let counts = KernelCounters::parse(netstat, snmp, "Ip6InReceives                   \t5\nIp6InCEPkts                     \t30\n");
        assert_eq!([42, 7, 9, 0], ["in_ce", "timeouts", "retransmitted", "in_datagrams"].map(|result_name| counts.count(result_name)));
    }
}
