//! Conformance to the RFCs, as scenarios for every variant of the registry.
//!
//! A scenario defines actions of the path on segments. Its rules, each with its RFC section, are checked on every profile by itself and
//! with every variant. `exceptions` lists variants that do not follow a rule, with the reason; an unneeded exception is an error too. Then
//! every variant's run is compared with its snapshot in `snapshots/`, a table to be read next to the RFC.
//!
//! Each rule is cited in the code that implements it, as `//= RFC 6675, section 4: NextSeg (2): new data`; `citations` compares both.
//!
//! After an intended change run `INSTA_UPDATE=always cargo test -p ecnlab-transport --test conformance`, and read the difference.

#[path = "../harness/mod.rs"]
mod harness;

mod accurate;
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
