//! Reads retry advice in all the forms that servers send.
//!
//! There is no clock here: a date is compared with the response's own `Date` header, so clock differences
//! do not matter. A wire adds the time of receipt if it is missing. A date without a `Date` beside it is ignored, as is anything that makes no sense; a date
//! in the past means "now". `retry-after-ms` is finer and goes first; it and `x-should-retry` are what the SDKs of
//! OpenAI (3.52.0), Anthropic (2.11.0) and Groq (1.7.0) read.
//!
//! <https://www.rfc-editor.org/rfc/rfc9110#field.retry-after>, dates section 5.6.7.

use std::time::Duration;

use http::HeaderMap;

use crate::RetryAdvice;
use crate::head::text;

/// Reads the retry advice of the headers.
pub(crate) fn advice(headers: &HeaderMap) -> RetryAdvice {
    let milliseconds = text(headers, "retry-after-ms").and_then(|ms| seconds(ms, 1000.0));
    let after = milliseconds.or_else(|| {
        let value = text(headers, "retry-after")?;
        seconds(value, 1.0).or_else(|| {
            let then = date(value)?;
            let now = date(text(headers, "date")?)?;
            Some(Duration::from_secs(u64::try_from(then - now).unwrap_or(0)))
        })
    });
    let should =
        text(headers, "x-should-retry").and_then(|value| match value.to_ascii_lowercase().as_str() {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        });
    RetryAdvice { after, should }
}

fn seconds(value: &str, per_second: f64) -> Option<Duration> {
    if !value.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    Duration::try_from_secs_f64(value.parse::<f64>().ok()? / per_second).ok()
}

/// Returns the seconds since 1970 of an HTTP date in any of the three forms of RFC 9110.
fn date(value: &str) -> Option<i64> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let mut month = None;
    let mut time = None;
    let mut numbers = Vec::new();
    for word in value.split([' ', ',', '-']).filter(|word| !word.is_empty()).take(8) {
        if word.contains(':') {
            time = Some(clock(word)?);
        } else if let Some(at) = MONTHS.iter().position(|name| *name == word) {
            month = Some(at as i64 + 1);
        } else if let Ok(number) = word.parse::<u16>() {
            numbers.push(i64::from(number));
        }
    }
    // The day precedes the year in all three forms.
    let [day, year] = numbers.as_slice() else { return None };
    let year = match year {
        0..=69 => year + 2000,
        70..=99 => year + 1900,
        _ => *year,
    };
    if !(1..=31).contains(day) || !(1970..=9999).contains(&year) {
        return None;
    }
    Some(days(year, month?, *day) * 86_400 + time?)
}

fn clock(word: &str) -> Option<i64> {
    let mut parts = word.split(':').map(|part| part.parse::<u8>().ok().map(i64::from));
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    let good = parts.next().is_none() && hour < 24 && minute < 60 && second <= 60;
    good.then_some(hour * 3600 + minute * 60 + second)
}

/// Days from 1970-01-01 in the Gregorian calendar, with years that begin in March so that the leap day is the last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let month = (month + 9) % 12;
    let leaps = year / 4 - year / 100 + year / 400;
    year * 365 + leaps + (month * 153 + 2) / 5 + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(headers: &[(&'static str, &str)]) -> Option<Duration> {
        advice_of(headers).after
    }

    fn advice_of(headers: &[(&'static str, &str)]) -> RetryAdvice {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, value.parse().unwrap());
        }
        advice(&map)
    }

    #[test]
    fn seconds_and_milliseconds_are_read_and_nonsense_is_not() {
        for (value, after_) in [
            ("2", Some(Duration::from_secs(2))),
            ("0", Some(Duration::ZERO)),
            ("0.5", Some(Duration::from_millis(500))),
            ("86400", Some(Duration::from_secs(86_400))),
            ("-1", None),
            ("garbage", None),
            ("nan", None),
            ("inf", None),
            ("1e300", None),
            ("", None),
            ("2 s", None),
        ] {
            assert_eq!(after(&[("retry-after", value)]), after_, "{value}");
        }
        assert_eq!(
            after(&[("retry-after-ms", "1500"), ("retry-after", "9")]),
            Some(Duration::from_millis(1500))
        );
        assert_eq!(after(&[("retry-after-ms", "soon"), ("retry-after", "9")]), Some(Duration::from_secs(9)));
    }

    #[test]
    fn a_date_counts_from_the_servers_own_clock() {
        let now = ("date", "Fri, 20 Nov 2026 23:59:58 GMT");
        for (value, seconds) in [
            ("Sat, 21 Nov 2026 00:00:00 GMT", Some(2)),
            ("Saturday, 21-Nov-26 00:00:01 GMT", Some(3)),
            ("Sat Nov 21 00:00:02 2026", Some(4)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(0)),
            ("Mon, 01 Mar 2027 00:00:00 GMT", Some(100 * 86_400 + 2)),
            ("Sat, 21 Nov 2026", None),
            ("21 22 23 Nov 00:00:00", None),
            ("Sat, 41 Nov 2026 00:00:00 GMT", None),
            ("Sat, 21 Nov 2026 25:00:00 GMT", None),
        ] {
            assert_eq!(after(&[("retry-after", value), now]), seconds.map(Duration::from_secs), "{value}");
        }
        assert_eq!(after(&[("retry-after", "Sat, 21 Nov 2026 00:00:00 GMT")]), None);
        assert_eq!(date("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
        assert_eq!(date("Tue, 29 Feb 2028 12:00:00 GMT"), Some(1_835_438_400));
    }

    #[test]
    fn the_server_may_forbid_or_ask_for_a_retry() {
        for (value, should) in [("true", Some(true)), ("False", Some(false)), ("maybe", None)] {
            assert_eq!(advice_of(&[("x-should-retry", value)]).should, should);
        }
    }
}
