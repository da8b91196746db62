//! What the lexer knows of each language.

/// How one kind of string begins and ends.
#[derive(Debug)]
pub(super) struct Quote {
    pub(super) open: &'static str,
    pub(super) close: &'static str,
    /// A backslash takes the next character with it.
    pub(super) escapes: bool,
    /// It may go over several lines.
    pub(super) lines: bool,
    /// Holds one character: a lone quote is something else.
    pub(super) single: bool,
}

/// The kind of token after a key, if the language has keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keys {
    None,
    Colon,
    Equals,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Code,
    Markup,
    Diff,
}

#[derive(Debug)]
pub(super) struct Language {
    /// With a space between each.
    names: &'static str,
    pub(super) kind: Kind,
    pub(super) comments: &'static [&'static str],
    pub(super) blocks: &'static [(&'static str, &'static str)],
    pub(super) nests: bool,
    /// The longer before those that they begin with.
    pub(super) quotes: &'static [Quote],
    pub(super) keywords: &'static str,
    pub(super) types: &'static str,
    /// Words with a capital are types.
    pub(super) capitals: bool,
    /// `SELECT` is `select`.
    pub(super) folds: bool,
    /// `@word` is a word.
    pub(super) at_words: bool,
    pub(super) keys: Keys,
}

impl Language {
    pub(super) fn named(name: &str) -> Option<&'static Language> {
        let name = name.to_ascii_lowercase();
        ALL.iter().find(|language| language.names.split(' ').any(|one| one == name))
    }
}

const fn quote(open: &'static str, close: &'static str, escapes: bool, lines: bool) -> Quote {
    Quote { open, close, escapes, lines, single: false }
}

const CHARACTER: Quote = Quote { open: "'", close: "'", escapes: true, lines: false, single: true };
const DOUBLE: Quote = quote("\"", "\"", true, false);
const SINGLE: Quote = quote("'", "'", true, false);
const C_COMMENTS: &[(&str, &str)] = &[("/*", "*/")];

const PLAIN: Language = Language {
    names: "",
    kind: Kind::Code,
    comments: &[],
    blocks: &[],
    nests: false,
    quotes: &[DOUBLE, SINGLE],
    keywords: "",
    types: "",
    capitals: false,
    folds: false,
    at_words: false,
    keys: Keys::None,
};

const C_LIKE: Language =
    Language { comments: &["//"], blocks: C_COMMENTS, quotes: &[DOUBLE, CHARACTER], capitals: true, ..PLAIN };

static ALL: [Language; 16] = [
    Language {
        names: "rust rs",
        nests: true,
        quotes: &[
            quote("r##\"", "\"##", false, true),
            quote("r#\"", "\"#", false, true),
            quote("r\"", "\"", false, true),
            quote("b\"", "\"", true, true),
            quote("\"", "\"", true, true),
            CHARACTER,
        ],
        keywords: "as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type union unsafe use where while",
        types: "bool char f32 f64 i8 i16 i32 i64 i128 isize str u8 u16 u32 u64 u128 usize",
        ..C_LIKE
    },
    Language {
        names: "python py python3 pycon ipython",
        comments: &["#"],
        quotes: &[
            quote("\"\"\"", "\"\"\"", true, true),
            quote("'''", "'''", true, true),
            quote("r\"", "\"", false, false),
            quote("r'", "'", false, false),
            quote("f\"", "\"", true, false),
            quote("f'", "'", true, false),
            DOUBLE,
            SINGLE,
        ],
        keywords: "False None True and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return try while with yield",
        types: "bool bytes dict float frozenset int list object set str tuple",
        capitals: true,
        at_words: true,
        ..PLAIN
    },
    Language {
        names: "javascript js jsx mjs cjs typescript ts tsx node",
        quotes: &[quote("`", "`", true, true), DOUBLE, SINGLE],
        keywords: "abstract as async await break case catch class const continue debugger declare default delete do else enum export extends false finally for from function get if implements import in instanceof interface keyof let namespace new null of package private protected public readonly return satisfies set static super switch this throw true try type typeof undefined var void while with yield",
        types: "any bigint boolean never number object string symbol unknown",
        ..C_LIKE
    },
    Language {
        names: "json jsonc json5 jsonl ndjson",
        comments: &["//"],
        blocks: C_COMMENTS,
        keywords: "true false null",
        keys: Keys::Colon,
        ..PLAIN
    },
    Language {
        names: "toml ini cfg conf properties env dotenv",
        comments: &["#", ";"],
        quotes: &[quote("\"\"\"", "\"\"\"", true, true), quote("'''", "'''", false, true), DOUBLE, SINGLE],
        keywords: "true false inf nan",
        keys: Keys::Equals,
        ..PLAIN
    },
    Language {
        names: "yaml yml",
        comments: &["#"],
        quotes: &[DOUBLE, quote("'", "'", false, false)],
        keywords: "true false null yes no on off",
        keys: Keys::Colon,
        ..PLAIN
    },
    Language {
        names: "bash sh shell zsh console shell-session fish",
        comments: &["#"],
        quotes: &[quote("\"", "\"", true, true), quote("'", "'", false, true)],
        keywords: "break case continue declare do done elif else esac eval exec exit export fi for function if in local readonly return select set shift source then trap unset until while",
        types: "alias cat cd chmod cp curl docker echo find git grep kill ls mkdir mv pip printf pwd read rm sed sudo tar test touch cargo npm make python",
        ..PLAIN
    },
    Language {
        names: "go golang",
        quotes: &[quote("`", "`", false, true), DOUBLE, CHARACTER],
        keywords: "break case chan const continue default defer else fallthrough false for func go goto if import interface iota map nil package range return select struct switch true type var",
        types: "any bool byte complex128 error float32 float64 int int8 int16 int32 int64 rune string uint uint8 uint16 uint32 uint64 uintptr",
        capitals: false,
        ..C_LIKE
    },
    Language {
        names: "c h cpp c++ cc cxx hpp objc cuda",
        quotes: &[quote("R\"(", ")\"", false, true), DOUBLE, CHARACTER],
        keywords: "alignas alignof auto break case catch class concept const consteval constexpr continue co_await co_return co_yield default define delete do else endif enum explicit extern false final for friend goto if ifdef ifndef include inline mutable namespace new noexcept nullptr operator override pragma private protected public register requires return sizeof static static_assert struct switch template this throw true try typedef typename undef union using virtual volatile while NULL",
        types: "bool char double float int int8_t int16_t int32_t int64_t long short signed size_t ssize_t uint8_t uint16_t uint32_t uint64_t unsigned void wchar_t",
        capitals: false,
        ..C_LIKE
    },
    Language {
        names: "java kotlin kt csharp cs c# scala swift dart",
        quotes: &[quote("\"\"\"", "\"\"\"", true, true), DOUBLE, CHARACTER],
        keywords: "abstract as assert async await break case catch class companion const continue data default defer do else enum extends extension false final finally for foreach fun func get guard if implements import in instanceof interface internal is let namespace native new nil null object open operator out override package private protected protocol public readonly record ref return sealed self set static struct super switch synchronized this throw throws transient true try typealias typeof using val var virtual void volatile when where while with yield",
        types: "boolean bool byte char decimal double float int long short string",
        at_words: true,
        ..C_LIKE
    },
    Language { names: "html xml svg xhtml vue svelte plist", kind: Kind::Markup, ..PLAIN },
    Language {
        names: "css scss less sass",
        comments: &["//"],
        blocks: C_COMMENTS,
        keywords: "important",
        at_words: true,
        keys: Keys::Colon,
        ..PLAIN
    },
    Language {
        names: "sql mysql postgresql postgres plpgsql sqlite",
        comments: &["--"],
        blocks: C_COMMENTS,
        quotes: &[quote("'", "'", false, true), quote("\"", "\"", false, false)],
        keywords: "add all alter and any as asc begin between by case check column commit constraint create cross default delete desc distinct drop else end exists false foreign from full group having if in index inner insert intersect into is join key left like limit not null offset on or order outer over partition primary references replace returning right rollback select set table then transaction true union unique update using values view when where with",
        types: "bigint blob boolean char date decimal double float int integer json jsonb numeric real serial smallint text time timestamp timestamptz uuid varchar",
        folds: true,
        ..PLAIN
    },
    Language { names: "diff patch", kind: Kind::Diff, ..PLAIN },
    Language {
        names: "dockerfile docker makefile make",
        comments: &["#"],
        keywords: "FROM RUN CMD LABEL EXPOSE ENV ADD COPY ENTRYPOINT VOLUME USER WORKDIR ARG ONBUILD STOPSIGNAL HEALTHCHECK SHELL AS ifeq ifneq else endif include",
        ..PLAIN
    },
    Language {
        names: "ruby rb elixir ex lua php perl pl r julia jl",
        comments: &["#", "--"],
        keywords: "and begin break case class def defmodule defp do else elsif elseif end ensure false fn for foreach function if in local module my next nil not null or redo repeat require rescue retry return self sub super then true unless until use when while yield",
        capitals: true,
        at_words: true,
        ..PLAIN
    },
];
