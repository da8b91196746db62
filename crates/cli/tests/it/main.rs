//! The program as a stranger uses it: the real binary, a home of its own, a provider on loopback that checks every
//! request. One test binary, so that linking is paid for once.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test's helpers may panic")]
#![allow(clippy::disallowed_methods, reason = "tests are outside the program")]

mod body;
mod check;
mod env;
mod fake_server;
mod http;
mod provider;
mod xml;

mod approvals;
mod ask;
mod asked_by_servers;
mod attach;
mod audit;
mod cassettes;
mod checks;
mod ci_kit;
mod compare;
mod compare_together;
mod costs;
mod counting;
mod declared;
mod doctor;
mod ensembles;
mod failures;
mod fallbacks;
mod faults_of_descriptors;
mod foreign;
mod hostile;
mod layering;
mod lock;
mod loops;
mod matrix;
mod models;
mod oauth;
mod odd_endings;
mod probe;
mod prompts;
mod provider_faults;
mod records;
mod resources;
mod rules;
mod sandbox;
mod schemas;
mod seals;
mod serve;
mod serve_http;
mod server_deaths;
mod server_faults;
mod server_modes;
mod server_starts;
mod servers;
mod sessions;
mod signals;
mod structured;
mod terminal;
mod testing;
mod text_calls;
mod trust;
mod web;
