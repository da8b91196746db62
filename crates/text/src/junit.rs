//! Test reports as JUnit XML, in the form that Jenkins and most others read (checked 2026-11:
//! <https://github.com/jenkinsci/xunit-plugin>, `junit-10.xsd`). The format has no place for file and line, so the text
//! of a fault contains them.
//!
//! Some texts are foreign. XML 1.0 cannot represent most control characters, so they are shown as escapes. Characters that
//! a terminal would act on are written as character references.

use std::fmt::Write as _;
use std::time::Duration;

use crate::{is_unsafe, safe_line};

/// A group of cases, such as those of one ensemble.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Suite {
    pub name: String,
    pub cases: Vec<Case>,
}

/// One item that was checked. A case without faults has passed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Case {
    /// The group of the case for readers: a tool or a directory.
    pub class: String,
    pub name: String,
    pub took: Option<Duration>,
    pub faults: Vec<Fault>,
    /// Further output; empty if there is none.
    pub output: String,
}

/// A failure of a case. All are written; many readers show only the first.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    pub sort: Sort,
    /// A code for machines.
    pub kind: String,
    /// One line.
    pub message: String,
    /// The full text with the place.
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// The check failed.
    Failure,
    /// The check could not run.
    Error,
    /// The check was left out on purpose.
    Skipped,
}

impl Sort {
    fn element(self) -> &'static str {
        match self {
            Self::Failure => "failure",
            Self::Error => "error",
            Self::Skipped => "skipped",
        }
    }
}

/// The whole document.
pub fn junit(name: &str, suites: &[Suite]) -> String {
    let all = || suites.iter().flat_map(|suite| &suite.cases);
    let mut xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites".to_owned();
    attribute(&mut xml, "name", name);
    attribute(&mut xml, "tests", &all().count().to_string());
    attribute(&mut xml, "failures", &count(all(), Sort::Failure));
    attribute(&mut xml, "errors", &count(all(), Sort::Error));
    attribute(&mut xml, "time", &seconds(all().filter_map(|case| case.took).sum()));
    xml.push_str(">\n");
    suites.iter().for_each(|suite| suite.write(&mut xml));
    xml.push_str("</testsuites>\n");
    xml
}

impl Suite {
    fn write(&self, xml: &mut String) {
        xml.push_str("  <testsuite");
        attribute(xml, "name", &self.name);
        attribute(xml, "tests", &self.cases.len().to_string());
        attribute(xml, "failures", &count(self.cases.iter(), Sort::Failure));
        attribute(xml, "errors", &count(self.cases.iter(), Sort::Error));
        attribute(xml, "skipped", &count(self.cases.iter(), Sort::Skipped));
        attribute(xml, "time", &seconds(self.cases.iter().filter_map(|case| case.took).sum()));
        xml.push_str(">\n");
        self.cases.iter().for_each(|case| case.write(xml));
        xml.push_str("  </testsuite>\n");
    }
}

impl Case {
    fn has(&self, sort: Sort) -> bool {
        self.faults.iter().any(|fault| fault.sort == sort)
    }

    fn write(&self, xml: &mut String) {
        xml.push_str("    <testcase");
        attribute(xml, "classname", &self.class);
        attribute(xml, "name", &self.name);
        attribute(xml, "time", &seconds(self.took.unwrap_or_default()));
        if self.faults.is_empty() && self.output.is_empty() {
            return xml.push_str("/>\n");
        }
        xml.push_str(">\n");
        for Fault { sort, kind, message, text } in &self.faults {
            let element = sort.element();
            let _ = write!(xml, "      <{element}");
            // What was skipped has nothing but a text, as the schema of Jenkins knows it.
            let text = if *sort == Sort::Skipped {
                format!("{message}\n{text}")
            } else {
                attribute(xml, "type", kind);
                attribute(xml, "message", message);
                text.clone()
            };
            let _ = writeln!(xml, ">{}</{element}>", escaped(text.trim_end(), false));
        }
        if !self.output.is_empty() {
            let _ = writeln!(xml, "      <system-out>{}</system-out>", escaped(&self.output, false));
        }
        xml.push_str("    </testcase>\n");
    }
}

/// A case counts once, by the worst that is wrong with it: a sum of all of them is the number of cases.
fn count<'a>(cases: impl Iterator<Item = &'a Case>, sort: Sort) -> String {
    let worst = |case: &&Case| match sort {
        Sort::Error => case.has(Sort::Error),
        Sort::Failure => case.has(Sort::Failure) && !case.has(Sort::Error),
        Sort::Skipped => case.has(Sort::Skipped) && !case.has(Sort::Error) && !case.has(Sort::Failure),
    };
    cases.filter(worst).count().to_string()
}

fn attribute(xml: &mut String, name: &str, value: &str) {
    let _ = write!(xml, " {name}=\"{}\"", escaped(value, true));
}

fn seconds(took: Duration) -> String {
    format!("{:.3}", took.as_secs_f64())
}

fn escaped(text: &str, attribute: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // A reader turns these into blanks in an attribute, and a carriage return into a newline anywhere.
            '\n' | '\t' if attribute => reference(&mut out, c),
            '\r' => reference(&mut out, c),
            c if !is_xml(c) => out.push_str(&shown(c)),
            c if is_unsafe(c) => reference(&mut out, c),
            c => out.push(c),
        }
    }
    out
}

fn reference(out: &mut String, c: char) {
    let _ = write!(out, "&#x{:x};", c as u32);
}

/// The characters that a document may hold in any spelling: <https://www.w3.org/TR/xml/#charsets>, checked 2026-11.
fn is_xml(c: char) -> bool {
    !matches!(c, '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}')
}

fn shown(c: char) -> String {
    if is_unsafe(c) { safe_line(&c.to_string(), 1) } else { format!("\\u{{{:x}}}", c as u32) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(sort: Sort, text: &str) -> Fault {
        Fault { sort, kind: "code".into(), message: text.into(), text: text.into() }
    }

    fn case(name: &str, faults: Vec<Fault>) -> Case {
        Case { class: "git.log".into(), name: name.into(), faults, ..Case::default() }
    }

    #[test]
    fn a_report_is_written_like_this() {
        let took = Some(Duration::from_millis(1234));
        let bad = Case {
            took,
            output: "a note".into(),
            ..case("count < 1", vec![fault(Sort::Failure, "got \"7\"\nnot 8")])
        };
        let suites = [Suite { name: "git".into(), cases: vec![case("fine", vec![]), bad] }];
        assert_eq!(
            junit("tools", &suites),
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <testsuites name=\"tools\" tests=\"2\" failures=\"1\" errors=\"0\" time=\"1.234\">\n  \
             <testsuite name=\"git\" tests=\"2\" failures=\"1\" errors=\"0\" skipped=\"0\" time=\"1.234\">\n    \
             <testcase classname=\"git.log\" name=\"fine\" time=\"0.000\"/>\n    \
             <testcase classname=\"git.log\" name=\"count &lt; 1\" time=\"1.234\">\n      \
             <failure type=\"code\" message=\"got &quot;7&quot;&#xa;not 8\">got &quot;7&quot;\nnot 8</failure>\n      \
             <system-out>a note</system-out>\n    \
             </testcase>\n  \
             </testsuite>\n\
             </testsuites>\n"
        );
        assert!(junit("x", &[]).ends_with("time=\"0.000\">\n</testsuites>\n"));
    }

    #[test]
    fn a_case_counts_once_by_the_worst_of_it() {
        let (failure, error, skipped) =
            (fault(Sort::Failure, "f"), fault(Sort::Error, "e"), fault(Sort::Skipped, "s"));
        let cases = vec![
            case("a", vec![failure.clone(), failure.clone()]),
            case("b", vec![skipped.clone(), failure, error]),
            case("c", vec![skipped]),
            case("d", vec![]),
        ];
        let xml = junit("x", &[Suite { name: "s".into(), cases }]);
        assert!(xml.contains("tests=\"4\" failures=\"1\" errors=\"1\" skipped=\"1\""), "{xml}");
        assert_eq!(xml.matches("<failure ").count(), 3, "{xml}");
    }

    #[test]
    fn every_character_is_one_that_a_document_may_hold() {
        for (text, content, value) in [
            ("a&b<c>\"d\"]]>", "a&amp;b&lt;c&gt;&quot;d&quot;]]&gt;", "a&amp;b&lt;c&gt;&quot;d&quot;]]&gt;"),
            ("\0\x1b[31m\x08", "\\x00\\x1b[31m\\x08", "\\x00\\x1b[31m\\x08"),
            ("a\r\n\tb", "a&#xd;\n\tb", "a&#xd;&#xa;&#x9;b"),
            ("\u{7f}\u{9b}\u{202e}", "&#x7f;&#x9b;&#x202e;", "&#x7f;&#x9b;&#x202e;"),
            ("\u{fffe}\u{ffff}", "\\u{fffe}\\u{ffff}", "\\u{fffe}\\u{ffff}"),
            ("日本 🦀", "日本 🦀", "日本 🦀"),
        ] {
            assert_eq!(escaped(text, false), content);
            assert_eq!(escaped(text, true), value);
        }
        for c in (0..=0x11_0000).filter_map(char::from_u32) {
            let written = escaped(&c.to_string(), true);
            assert!(written.chars().all(|c| is_xml(c) && !is_unsafe(c)), "{c:?} as {written:?}");
        }
    }
}
