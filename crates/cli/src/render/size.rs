//! Bytes, for people.

/// `640 B`, `1.2 KiB`.
pub(crate) fn bytes(count: usize) -> String {
    match count {
        0..1024 => format!("{count} B"),
        1024..1_048_576 => format!("{:.1} KiB", count as f64 / 1024.0),
        _ => format!("{:.1} MiB", count as f64 / 1_048_576.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_fits_the_size() {
        assert_eq!([640, 2048, 3 << 20].map(bytes), ["640 B", "2.0 KiB", "3.0 MiB"]);
    }
}
