//! A server, its authorization server, a browser and a vault, all within the test: each request is checked as strictly
//! as a real one would, and what would leave this machine is seen before it does.

mod granted;
mod hostile;
mod network;
mod stored;
