//! The ways in which a server can misbehave (C1–C12, T14), each with the required end, in bounded time and memory. Over
//! HTTP they are rows here, through the binary; those over stdio are named with the tests that hold them, so that every
//! mode has its place.

mod answers;
mod connecting;
mod elsewhere;
mod row;
mod site;
mod sizes;
mod streams;

use std::collections::BTreeSet;

use crate::fake_server::at_once;
use row::Row;

/// So many modes at least.
const MODES: usize = 40;

#[test]
fn every_mode_has_its_place() {
    let rows = all();
    let names = rows.iter().map(|row| row.name).chain(elsewhere::names());
    let mut seen = BTreeSet::new();
    for name in names {
        assert!(seen.insert(name), "`{name}` is there twice");
    }
    assert!(seen.len() >= MODES, "only {} modes", seen.len());
    let ids = rows.iter().flat_map(|row| row.ids.split(' ')).chain(elsewhere::ids());
    let held: BTreeSet<String> = ids.map(str::to_owned).collect();
    let wanted: BTreeSet<String> = (1..=12).map(|n| format!("C{n}")).chain(["T14".to_owned()]).collect();
    assert_eq!(wanted.difference(&held).collect::<Vec<_>>(), [""; 0]);
    assert_eq!(held.difference(&wanted).collect::<Vec<_>>(), [""; 0], "no such fault");
}

fn all() -> Vec<Row> {
    [connecting::rows(), answers::rows(), streams::rows(), sizes::rows()].concat()
}

#[test]
fn servers_that_cannot_be_connected_are_left_out() {
    at_once(connecting::rows(), |row| row.holds());
}

#[test]
fn answers_that_are_none_end_the_call() {
    at_once(answers::rows(), |row| row.holds());
}

#[test]
fn streams_that_break_or_never_end_are_borne() {
    at_once(streams::rows(), |row| row.holds());
}

/// One after the other: they are large.
#[test]
fn answers_without_measure_cost_neither_time_nor_memory() {
    sizes::rows().iter().for_each(Row::holds);
}
