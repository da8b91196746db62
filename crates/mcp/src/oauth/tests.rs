//! Tests with a simulated server, authorization server, browser and vault. Requests are checked as strictly as real
//! servers check them.

mod granted;
mod hostile;
mod network;
mod stored;
