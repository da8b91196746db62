//! The corpus of what text can do to a terminal, as `sequences.tsv` has it.

/// One of them, and what it would do.
#[derive(Debug)]
pub(crate) struct Sequence {
    pub(crate) what: String,
    /// Not always UTF-8.
    pub(crate) bytes: Vec<u8>,
}

/// All of them, in their order.
pub(crate) fn sequences() -> Vec<Sequence> {
    let lines = include_str!("sequences.tsv").lines();
    lines.filter(|line| !line.is_empty() && !line.starts_with('#')).map(sequence).collect()
}

fn sequence(line: &str) -> Sequence {
    let mut columns = line.split('\t');
    let (what, text) = (columns.next().unwrap().to_owned(), columns.next().unwrap());
    let times = columns.next().map_or(1, |times| times.parse().unwrap());
    Sequence { what, bytes: unescaped(text).repeat(times) }
}

fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c != '\\' {
            bytes.extend(c.to_string().bytes());
            continue;
        }
        match rest.next().unwrap() {
            'e' => bytes.push(0x1b),
            'n' => bytes.push(b'\n'),
            'r' => bytes.push(b'\r'),
            't' => bytes.push(b'\t'),
            '\\' => bytes.push(b'\\'),
            'x' => {
                let digits: String = rest.by_ref().take(2).collect();
                bytes.push(u8::from_str_radix(&digits, 16).unwrap());
            }
            'u' => {
                let digits: String = rest.by_ref().skip(1).take_while(|c| *c != '}').collect();
                let c = char::from_u32(u32::from_str_radix(&digits, 16).unwrap()).unwrap();
                bytes.extend(c.to_string().bytes());
            }
            other => panic!("`\\{other}` is no escape: {text}"),
        }
    }
    bytes
}
