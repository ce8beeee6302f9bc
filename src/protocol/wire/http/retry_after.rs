//! `Retry-After` (RFC 9110, section 10.2.3): seconds, or a date in one of the three forms that HTTP has.

use std::time::Duration;

use http::HeaderValue;

/// How long to wait from `now` on, in seconds since 1970; nothing when the value says nothing.
pub(super) fn read(value: &HeaderValue, now: u64) -> Option<Duration> {
    let text = value.to_str().ok()?.trim();
    let seconds = match number(text) {
        Some(seconds) => seconds,
        None => date(text)?.saturating_sub(now),
    };
    Some(Duration::from_secs(seconds))
}

/// Seconds since 1970; a date before that is 1970.
fn date(text: &str) -> Option<u64> {
    let words: Vec<_> = text
        .split([' ', ',', '-'])
        .filter(|word| !word.is_empty())
        .take(MOST_WORDS)
        .collect();
    // Sun, 06 Nov 1994 08:49:37 GMT and Sunday, 06-Nov-94 08:49:37 GMT, or Sun Nov  6 08:49:37 1994
    let ([_, day, month, year, time, "GMT"] | [_, month, day, time, year]) = words[..] else {
        return None;
    };
    let month = MONTHS.iter().position(|name| *name == month)?;
    let day = number(day).filter(|day| (1..=31).contains(day))?;
    let year = match (year.len(), number(year)?) {
        (2, year @ 70..) => 1900 + year,
        (2, year) => 2000 + year,
        (4, year) => year,
        _ => return None,
    };
    let mut parts = time.split(':').map(number);
    let mut part = |limit: u64| parts.next().flatten().filter(|part| *part < limit);
    // A minute may have a leap second.
    let (hours, minutes, seconds) = (part(24)?, part(60)?, part(61)?);
    let since = days(year, u64::try_from(month).ok()?, day)?;
    Some(since * 86_400 + hours * 3_600 + minutes * 60 + seconds)
}

/// Days from 1970 to a date of the Gregorian calendar, `month` from 0 on; none for a date before that.
fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    // Counted from March on, so that the day that not each year has comes last.
    let (year, month) = if month < 2 {
        (year.checked_sub(1)?, month + 10)
    } else {
        (year, month - 2)
    };
    let leap_days = year / 4 - year / 100 + year / 400;
    let days_before_month = (153 * month + 2) / 5;
    Some((365 * year + leap_days + days_before_month + day).saturating_sub(DAYS_TO_1970))
}

/// Digits and nothing else; a number that is too big is the biggest.
fn number(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().unwrap_or(u64::MAX))
}

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];
/// One more than a date has.
const MOST_WORDS: usize = 7;
/// From the first of March of the year 0, as `days` counts them.
const DAYS_TO_1970: u64 = 719_469;

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(text: &str, now: u64) -> Option<u64> {
        read(&HeaderValue::from_str(text).unwrap(), now).map(|wait| wait.as_secs())
    }

    #[test]
    fn seconds_are_digits() {
        assert_eq!(wait("0", 9), Some(0));
        assert_eq!(wait(" 120 ", 9), Some(120));
        assert_eq!(wait("99999999999999999999999", 9), Some(u64::MAX));
        for text in ["", "-1", "+1", "1.5", "1s", "soon", "0x10"] {
            assert_eq!(wait(text, 9), None, "{text}");
        }
    }

    #[test]
    fn a_date_of_each_form_is_a_time_from_now() {
        let at = 784_111_777;
        for text in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
        ] {
            assert_eq!(wait(text, at - 30), Some(30), "{text}");
            assert_eq!(wait(text, at + 30), Some(0), "{text}");
        }
    }

    #[test]
    fn what_is_no_date_says_nothing() {
        for text in [
            "Sun, 06 Nov 1994 08:49:37",
            "Sun, 06 Nov 1994 08:49:37 CET",
            "Sun, 32 Nov 1994 08:49:37 GMT",
            "Sun, 00 Nov 1994 08:49:37 GMT",
            "Sun, 06 Foo 1994 08:49:37 GMT",
            "Sun, 06 Nov 994 08:49:37 GMT",
            "Sun, 06 Nov 1994 24:49:37 GMT",
            "Sun, 06 Nov 1994 08:60:37 GMT",
            "Sun, 06 Nov 1994 08:49 GMT",
            "Sun, 06 Nov 1994 08:49:37 GMT GMT",
            "Sun, 06 Nov 99999999999999999999 08:49:37 GMT",
        ] {
            assert_eq!(wait(text, 0), None, "{text}");
        }
    }

    /// Counted one day after another.
    #[test]
    fn every_day_of_centuries_has_its_number() {
        let mut expected = 0;
        for year in 1970..2410_u64 {
            let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            for (month, length) in [31, 28 + u64::from(is_leap), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
                .into_iter()
                .enumerate()
            {
                for day in 1..=length {
                    assert_eq!(days(year, month as u64, day), Some(expected), "{year}-{month}-{day}");
                    expected += 1;
                }
            }
        }
        assert_eq!(days(1960, 5, 1), Some(0));
        assert_eq!(days(0, 0, 1), None);
    }
}
