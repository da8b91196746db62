//! The time zone of the user: `TZ` as POSIX defines it, else that of the machine, else UTC.

use std::fs::{self, File};
use std::io::Read as _;

use jiff::tz::{TimeZone, TimeZoneDatabase};

/// The file with the zone of the machine.
const LOCAL: &str = "/etc/localtime";
const MOST_BYTES: u64 = 1024 * 1024;

/// A time zone with its name.
#[derive(Debug, Clone)]
pub struct Zone {
    pub zone: TimeZone,
    pub name: String,
}

impl Zone {
    /// The zone of this user. `variable` is the value of `TZ`.
    pub fn local(variable: Option<&str>) -> Self {
        let utc = || Self { zone: TimeZone::UTC, name: "UTC".to_owned() };
        match variable {
            // POSIX: an unknown zone is UTC.
            Some(value) => Self::parse(value).unwrap_or_else(utc),
            None => Self::of_machine().unwrap_or_else(utc),
        }
    }

    fn parse(value: &str) -> Option<Self> {
        let name = value.strip_prefix(':').unwrap_or(value);
        let zone = TimeZoneDatabase::bundled().get(name).or_else(|_| TimeZone::posix(name)).ok()?;
        Some(Self { zone, name: name.to_owned() })
    }

    fn of_machine() -> Option<Self> {
        let mut bytes = Vec::new();
        File::open(LOCAL).ok()?.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
        let link = fs::read_link(LOCAL).ok();
        let linked = link.as_ref().and_then(|path| path.to_str()?.split_once("zoneinfo/"));
        let name = linked.map_or("local time", |(_, name)| name).to_owned();
        Some(Self { zone: TimeZone::tzif(&name, &bytes).ok()?, name })
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    #[test]
    fn a_zone_is_named_or_described() {
        let midnight = date(2026, 11, 20).at(0, 0, 0, 0).to_zoned(TimeZone::UTC).unwrap().timestamp();
        for (value, hour) in [
            ("Asia/Tokyo", Some(9)),
            (":Asia/Tokyo", Some(9)),
            ("UTC", Some(0)),
            ("XXX-3", Some(3)),
            ("nowhere", None),
        ] {
            let found = Zone::parse(value).map(|zone| zone.zone.to_datetime(midnight).hour());
            assert_eq!(found, hour, "{value}");
        }
    }
}
