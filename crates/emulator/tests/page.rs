//! The page docs/explanation/hosts.md shows the table that refuses and maps.

use std::fs;

use ecnlab_emulator::mapping::{KernelKnob, TCP_PARAMETER_MAPPINGS, TcpParameterMapping};
use ecnlab_transport::{profile, settings};
use ecnlab_units::Values;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/explanation/hosts.md");
const FROM: &str = "<!-- the table: written by UPDATE_PAGES=1 cargo test -p ecnlab-emulator --test page -->\n";
const TO: &str = "<!-- the end of the table -->\n";

#[test]
fn the_page_of_hosts_has_the_table() {
    let page = fs::read_to_string(PAGE).unwrap();
    let from = page.find(FROM).expect("the table begins") + FROM.len();
    let to = page.find(TO).expect("the table ends");
    let table = parameter_table();
    if std::env::var_os("UPDATE_PAGES").is_some() {
        fs::write(PAGE, [&page[..from], &table, &page[to..]].concat()).unwrap();
    } else {
        assert!(
            page[from..to] == table,
            "docs/explanation/hosts.md is stale; fix: UPDATE_PAGES=1 cargo test -p ecnlab-emulator --test page"
        );
    }
}

/// Description of the socket option that chooses a congestion control.
const CONGESTION_CONTROL_DESCRIPTION: &str = "the congestion control, option `TCP_CONGESTION` of the socket";

/// The rows of the table, with the values of the profile `linux`.
fn parameter_table() -> String {
    let profile = profile::find_profile("linux").expect("there is such a profile").values_with_defaults();
    let row = |row: &TcpParameterMapping| format!("| `{}` | {} |\n", settings::parameter_path(row.name), table_cell(row, &profile));
    std::iter::once("| parameter | a kernel gets it by |\n|---|---|\n".to_owned()).chain(TCP_PARAMETER_MAPPINGS.iter().map(row)).collect()
}

fn table_cell(row: &TcpParameterMapping, profile: &Values) -> String {
    match row.means {
        KernelKnob::Sysctl(names) => {
            format!("sysctl {}", names.split(", ").map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "))
        }
        KernelKnob::Socket(option) => format!("option `{option}` of the socket"),
        KernelKnob::Route(attribute) => format!("attribute `{attribute}` of the route"),
        KernelKnob::Device(what) => format!("the device's {what}"),
        KernelKnob::CongestionControl => CONGESTION_CONTROL_DESCRIPTION.to_owned(),
        KernelKnob::CongestionControlOrSysctl(name) => format!("{CONGESTION_CONTROL_DESCRIPTION}, or sysctl `{name}`"),
        KernelKnob::HostProgram(what) => what.to_owned(),
        KernelKnob::HostEdge(what) => format!("the router: {what}"),
        KernelKnob::DerivedValue(_, of) => format!("follows from {of}"),
        KernelKnob::Unsupported(why) => format!("not: {why}"),
        KernelKnob::FixedValue(own, why) => {
            let own = own.map_or_else(|| profile.value_by_name(row.name).to_string(), str::to_owned);
            format!("not: it has {own}, {why}")
        }
    }
}
