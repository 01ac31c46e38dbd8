//! What the RFCs ask of a TCP, as scenarios that every variant of the registry goes through.
//!
//! A scenario says what the path does to which segments. Its rules, each with its section, are checked on every profile as it stands and with
//! every variant; who does not claim a rule stands in `exceptions`, with the reason, and an exception that is not needed is an error as well.
//! Then every variant's run is compared with the one in `snapshots/`, a table that is meant to be read beside the RFC.
//!
//! The clause of each rule is cited beside the code that keeps it, as `//= RFC 6675, section 4: NextSeg (2): new data`; `citations` compares both.
//!
//! A change that is meant: `INSTA_UPDATE=always cargo test -p ecnlab-transport --test conformance`, and read the difference.

#[path = "../harness/mod.rs"]
mod harness;

mod checked;
mod citations;
mod ecn;
mod exceptions;
mod handshake;
mod loss;
mod next_seg;
mod rule;
mod timer;
mod window;
