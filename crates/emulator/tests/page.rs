//! The page docs/explanation/hosts.md shows the table that refuses and maps.

use std::fs;

use ecnlab_emulator::mapping;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/explanation/hosts.md");
const FROM: &str = "<!-- the table: written by UPDATE_PAGES=1 cargo test -p ecnlab-emulator --test page -->\n";
const TO: &str = "<!-- the end of the table -->\n";

#[test]
fn the_page_of_hosts_has_the_table() {
    let page = fs::read_to_string(PAGE).unwrap();
    let from = page.find(FROM).expect("the table begins") + FROM.len();
    let to = page.find(TO).expect("the table ends");
    let table = mapping::parameter_table();
    if std::env::var_os("UPDATE_PAGES").is_some() {
        fs::write(PAGE, [&page[..from], &table, &page[to..]].concat()).unwrap();
    } else {
        assert!(
            page[from..to] == table,
            "docs/explanation/hosts.md is stale; fix: UPDATE_PAGES=1 cargo test -p ecnlab-emulator --test page"
        );
    }
}
