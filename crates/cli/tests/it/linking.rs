//! How the program is linked (ADR 35).

use std::fs;

/// The type of an ELF file that is loaded where it was linked to; 3 would be one that is relocated at each start.
const AT_A_FIXED_ADDRESS: u8 = 2;

#[test]
#[cfg(all(target_env = "gnu", any(target_arch = "x86_64", target_arch = "aarch64")))]
fn a_start_relocates_nothing() {
    let program = fs::read(env!("CARGO_BIN_EXE_converse")).unwrap();
    assert_eq!(program.get(..4), Some(b"\x7fELF".as_slice()));
    assert_eq!(program.get(16..18), Some([AT_A_FIXED_ADDRESS, 0].as_slice()));
}
