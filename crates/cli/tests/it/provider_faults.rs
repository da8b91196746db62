//! What a provider and the way to it can do to us (P1–P24, S1–S9), as tables: what the server does, and how the program
//! ends. Through the binary, against a server that speaks in bytes. What is held by a test elsewhere is named here with
//! it, so that every id has its place.

pub(crate) mod bytes;
mod elsewhere;
mod h2;
mod hosts;
mod pressed;
mod row;
mod server;
mod statuses;
mod streams;
mod tls;
mod transport;
mod turns;

use std::collections::BTreeSet;

#[test]
fn every_fault_has_its_place() {
    let rows = [statuses::rows(), transport::rows(), streams::rows()].concat();
    let ids = rows.iter().flat_map(|row| row.id.split(' ').map(str::to_owned));
    let held: BTreeSet<String> = ids.chain(elsewhere::ids()).collect();
    let all: BTreeSet<String> =
        (1..=24).map(|n| format!("P{n}")).chain((1..=9).map(|n| format!("S{n}"))).collect();
    assert_eq!(all.difference(&held).collect::<Vec<_>>(), [""; 0]);
    assert_eq!(held.difference(&all).collect::<Vec<_>>(), [""; 0], "no such fault");
}
