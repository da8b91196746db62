//! Local calendar days. Lines are ordered by time, so most lookups reuse the last day.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};

#[derive(Debug)]
pub(crate) struct Days {
    zone: TimeZone,
    /// The last day, from its first instant to the first of the next day.
    last: Option<(Timestamp, Timestamp, Date)>,
}

impl Days {
    pub(crate) fn new(zone: TimeZone) -> Self {
        Self { zone, last: None }
    }

    pub(crate) fn of(&mut self, at: Timestamp) -> Date {
        if let Some((from, to, date)) = self.last
            && from <= at
            && at < to
        {
            return date;
        }
        let date = self.zone.to_datetime(at).date();
        self.last = self.bounds(date).map(|(from, to)| (from, to, date));
        date
    }

    fn bounds(&self, date: Date) -> Option<(Timestamp, Timestamp)> {
        let begin = |date: Date| Some(date.to_zoned(self.zone.clone()).ok()?.timestamp());
        Some((begin(date)?, begin(date.checked_add(1.day()).ok()?)?))
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    #[test]
    fn days_begin_where_the_user_is() {
        let mut days = Days::new(TimeZone::fixed(jiff::tz::offset(-5)));
        for (at, day) in [
            ("2026-11-20T04:59:59.999Z", date(2026, 11, 19)),
            ("2026-11-20T05:00:00Z", date(2026, 11, 20)),
            ("2026-11-21T04:59:59Z", date(2026, 11, 20)),
            ("2026-11-21T05:00:00Z", date(2026, 11, 21)),
            ("2026-11-20T05:00:00Z", date(2026, 11, 20)),
        ] {
            assert_eq!(days.of(at.parse().unwrap()), day, "{at}");
        }
    }
}
