//! The seccomp filters. A refused call returns EPERM and does not kill the program.
//!
//! A filter sees the numbers of a call but not the memory that they point to, so not a path: `chmod` and `utimensat` work
//! on any path. `clone3` keeps its flags in memory and is refused as unknown, so the C libraries use `clone`. <https://man7.org/linux/man-pages/man2/seccomp.2.html> (checked
//! 2026-11)

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter,
};

use crate::sandbox::SandboxError;
use crate::sandbox::refused::{ALWAYS, ATTRIBUTES, MODES, NAMESPACES, OF_THIS_PROCESSOR, TYPING, UNKNOWN};

type Calls = BTreeMap<i64, Vec<SeccompRule>>;
type Made<T> = Result<T, seccompiler::BackendError>;

/// For this thread and all that it becomes and starts, for good.
pub(crate) fn refuse(network: bool) -> Result<(), SandboxError> {
    let told = |error: &dyn std::fmt::Display| SandboxError::Seccomp(error.to_string());
    for program in programs(network).map_err(|error| told(&error))? {
        apply_filter(&program).map_err(|error| told(&error))?;
    }
    Ok(())
}

fn programs(network: bool) -> Made<Vec<BpfProgram>> {
    let arch = || TargetArch::try_from(std::env::consts::ARCH);
    let filter = |calls: Calls, errno: i32| -> Made<BpfProgram> {
        let action = SeccompAction::Errno(errno.unsigned_abs());
        SeccompFilter::new(calls, SeccompAction::Allow, action, arch()?)?.try_into()
    };
    let whole = |numbers: &[i64]| numbers.iter().map(|number| (*number, Vec::new())).collect();
    let mut programs = vec![
        filter(refused(network)?, libc::EPERM)?,
        filter(whole(UNKNOWN), libc::ENOSYS)?,
        filter(whole(ATTRIBUTES), libc::EOPNOTSUPP)?,
    ];
    programs.extend(other_numbers());
    Ok(programs)
}

/// A second table of the same calls, by other numbers, on kernels that have it (`CONFIG_X86_X32`).
#[cfg(target_arch = "x86_64")]
fn other_numbers() -> Option<BpfProgram> {
    use seccompiler::sock_filter;

    const X32: u32 = 0x4000_0000;
    const LOAD_NUMBER: u16 = 0x20;
    const JUMP_IF_AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    let step = |code, jf, k| sock_filter { code, jt: 0, jf, k };
    Some(vec![
        step(LOAD_NUMBER, 0, 0),
        step(JUMP_IF_AT_LEAST, 1, X32),
        step(RETURN, 0, libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs()),
        step(RETURN, 0, libc::SECCOMP_RET_ALLOW),
    ])
}

#[cfg(not(target_arch = "x86_64"))]
fn other_numbers() -> Option<BpfProgram> {
    None
}

fn refused(network: bool) -> Made<Calls> {
    let mut calls: Calls =
        ALWAYS.iter().chain(OF_THIS_PROCESSOR).map(|number| (*number, Vec::new())).collect();
    let namespaces = NAMESPACES.iter().map(|flag| {
        let flag = u64::from(flag.unsigned_abs());
        all([at(0, SeccompCmpOp::MaskedEq(flag), flag)])
    });
    calls.insert(libc::SYS_clone, namespaces.collect::<Made<_>>()?);
    let typing = TYPING.iter().map(|request| all([at(1, SeccompCmpOp::Eq, *request)]));
    calls.insert(libc::SYS_ioctl, typing.collect::<Made<_>>()?);
    // To ask what it is, and to be what it is already.
    let personality = all([at(0, SeccompCmpOp::Ne, u64::from(u32::MAX)), at(0, SeccompCmpOp::Ne, 0)])?;
    calls.insert(libc::SYS_personality, vec![personality]);
    // The limits of others.
    let limits = all([at(0, SeccompCmpOp::Ne, 0), wide(2, SeccompCmpOp::Ne, 0)])?;
    calls.insert(libc::SYS_prlimit64, vec![limits]);
    // Any of the user's files, also outside of what is open, could be made a program that others run as the user.
    let set_user = u64::from(libc::S_ISUID);
    for (call, mode) in MODES {
        calls.insert(*call, vec![all([at(*mode, SeccompCmpOp::MaskedEq(set_user), set_user)])?]);
    }
    calls.insert(libc::SYS_socketpair, datagrams()?);
    calls.insert(libc::SYS_socket, if network { other_sockets()? } else { Vec::new() });
    Ok(calls)
}

/// A pair of streams is bound to itself; one of datagrams can be pointed at any socket of the machine.
fn datagrams() -> Made<Vec<SeccompRule>> {
    const KIND: u64 = 0xf;
    let kinds = [libc::SOCK_DGRAM, libc::SOCK_RAW].map(|kind| u64::from(kind.unsigned_abs()));
    kinds.into_iter().map(|kind| all([at(1, SeccompCmpOp::MaskedEq(KIND), kind)])).collect()
}

/// Refuses all socket families except those of the internet, and the one that the C library uses for the addresses of
/// this machine. UNIX sockets lead to services with other permissions: Docker, the session bus, agents with keys.
fn other_sockets() -> Made<Vec<SeccompRule>> {
    let number = |family: i32| u64::from(family.unsigned_abs());
    let [inet, inet6, netlink] = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK].map(number);
    let not = |family| at(0, SeccompCmpOp::Ne, family);
    Ok(vec![
        all([not(inet), not(inet6), not(netlink)])?,
        all([at(0, SeccompCmpOp::Eq, netlink), at(2, SeccompCmpOp::Ne, number(libc::NETLINK_ROUTE))])?,
    ])
}

fn all<const N: usize>(conditions: [Made<SeccompCondition>; N]) -> Made<SeccompRule> {
    SeccompRule::new(conditions.into_iter().collect::<Made<Vec<_>>>()?)
}

/// An argument that the kernel takes as 32 bits.
fn at(index: u8, operator: SeccompCmpOp, value: u64) -> Made<SeccompCondition> {
    SeccompCondition::new(index, SeccompCmpArgLen::Dword, operator, value)
}

/// An argument of the kernel's own width.
fn wide(index: u8, operator: SeccompCmpOp, value: u64) -> Made<SeccompCondition> {
    SeccompCondition::new(index, SeccompCmpArgLen::Qword, operator, value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_network_there_is_no_socket_at_all() {
        assert_eq!(refused(false).unwrap().get(&libc::SYS_socket), Some(&Vec::new()));
        assert_eq!(refused(true).unwrap().get(&libc::SYS_socket).map(Vec::len), Some(2));
    }

    #[test]
    fn the_filters_fit_into_the_kernel() {
        for network in [false, true] {
            let programs = programs(network).unwrap();
            let numbers = usize::from(cfg!(target_arch = "x86_64"));
            assert_eq!(programs.len(), 3 + numbers, "refused, unknown, attributes, and the second table");
            assert!(programs.iter().all(|program| !program.is_empty() && program.len() < 4096));
        }
    }
}
