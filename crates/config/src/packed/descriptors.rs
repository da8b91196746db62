//! Descriptors, field by field. A field that is missing in a list here does not compile.

use converse_canister::Outcome;

use super::Packed;
use crate::command::{ArgvDescriptor, CodeRisk, CommandDescriptor, SandboxAccessDescriptor};
use crate::connection::{ConnectionDescriptor, ToolsDescriptor};
use crate::ensemble::{EnsembleDescriptor, InvokerEntry};
use crate::invoker::{ArgumentsDescriptor, InvokerDescriptor};
use crate::json::Conversion;
use crate::plan::{Effects, OnFailure, Piece, SandboxLevel, SecretRef};
use crate::policy::{EFFECTS, ON_FAILURE, PERMISSIONS, PolicyDescriptor, SANDBOX_LEVELS};
use crate::request::RequestDescriptor;
use crate::rule::Permission;
use crate::template::{Template, TemplatePiece};
use crate::tool_test::{ExpectationDescriptor, OUTCOMES, TestDescriptor};

macro_rules! fields {
    ($($name:ident { $($field:ident),* $(,)? })*) => {$(
        impl Packed for $name {
            fn pack(&self, to: &mut Vec<u8>) -> Option<()> {
                let Self { $($field),* } = self;
                $($field.pack(to)?;)*
                Some(())
            }

            fn unpack(from: &mut &[u8]) -> Option<Self> {
                $(let $field = Packed::unpack(from)?;)*
                Some(Self { $($field),* })
            }
        }
    )*};
}

macro_rules! choices {
    ($($name:ident of $table:ident)*) => {$(
        impl Packed for $name {
            fn pack(&self, to: &mut Vec<u8>) -> Option<()> {
                $table.iter().position(|(_, value)| value == self)?.pack(to)
            }

            fn unpack(from: &mut &[u8]) -> Option<Self> {
                $table.get(usize::unpack(from)?).map(|(_, value)| *value)
            }
        }
    )*};
}

/// Types that no shipped descriptor contains.
macro_rules! absent {
    ($($name:ident)*) => {$(
        impl Packed for $name {
            fn pack(&self, _to: &mut Vec<u8>) -> Option<()> {
                None
            }

            fn unpack(_from: &mut &[u8]) -> Option<Self> {
                None
            }
        }
    )*};
}

fields! {
    EnsembleDescriptor {
        source, span, name, description, enabled, required, lazy, prefix, has_connection, connection, configuration,
        defaults, invokers, tools, broken,
    }
    InvokerEntry { span, source, overrides, tests, invoker }
    PolicyDescriptor {
        timeout, idle_timeout, max_retries, permission, effects, idempotent, parallel, result_limit, on_failure,
        max_invocations, cache, sandbox, cost,
    }
    InvokerDescriptor {
        span, name, description, builtin, command, request, policy, arguments, tests, arguments_incomplete, templates_incomplete,
    }
    ArgumentsDescriptor { schema, places }
    CommandDescriptor { span, argv, environment, cwd, stdin, sandbox_access, code }
    SandboxAccessDescriptor { span, reads, writes, network }
    CodeRisk { span, message, whole_input }
    Template { pieces }
    TestDescriptor { span, name, arguments, expect }
    ExpectationDescriptor { outcome, invalid_outcome, text, contains, matches, json, schema, within }
}

choices! {
    Permission of PERMISSIONS
    Effects of EFFECTS
    SandboxLevel of SANDBOX_LEVELS
    OnFailure of ON_FAILURE
    Outcome of OUTCOMES
}

absent! { ConnectionDescriptor ToolsDescriptor RequestDescriptor }

/// Positions are for messages, and shipped schemas have no faults.
impl Packed for Conversion {
    fn pack(&self, _to: &mut Vec<u8>) -> Option<()> {
        Some(())
    }

    fn unpack(_from: &mut &[u8]) -> Option<Self> {
        Some(Self::default())
    }
}

impl Packed for ArgvDescriptor {
    fn pack(&self, to: &mut Vec<u8>) -> Option<()> {
        match self {
            Self::One(template) => false.pack(to).and_then(|()| template.pack(to)),
            Self::Group(templates) => true.pack(to).and_then(|()| templates.pack(to)),
        }
    }

    fn unpack(from: &mut &[u8]) -> Option<Self> {
        if bool::unpack(from)? {
            Vec::unpack(from).map(Self::Group)
        } else {
            Packed::unpack(from).map(Self::One)
        }
    }
}

impl Packed for TemplatePiece {
    fn pack(&self, to: &mut Vec<u8>) -> Option<()> {
        match self {
            Self::Text(text) => 0_u32.pack(to).and_then(|()| text.pack(to)),
            Self::Argument(name) => 1_u32.pack(to).and_then(|()| name.pack(to)),
            Self::Variable { name, default } => {
                2_u32.pack(to)?;
                name.pack(to)?;
                default.pack(to)
            }
        }
    }

    fn unpack(from: &mut &[u8]) -> Option<Self> {
        match u32::unpack(from)? {
            0 => String::unpack(from).map(Self::Text),
            1 => String::unpack(from).map(Self::Argument),
            2 => Some(Self::Variable { name: String::unpack(from)?, default: Packed::unpack(from)? }),
            _ => None,
        }
    }
}

impl Packed for SecretRef {
    fn pack(&self, to: &mut Vec<u8>) -> Option<()> {
        match self {
            Self::Literal(text) => 0_u32.pack(to).and_then(|()| text.pack(to)),
            Self::Environment(name) => 1_u32.pack(to).and_then(|()| name.pack(to)),
            Self::Template(pieces) => 2_u32.pack(to).and_then(|()| pieces.pack(to)),
        }
    }

    fn unpack(from: &mut &[u8]) -> Option<Self> {
        match u32::unpack(from)? {
            0 => String::unpack(from).map(Self::Literal),
            1 => String::unpack(from).map(Self::Environment),
            2 => Vec::unpack(from).map(Self::Template),
            _ => None,
        }
    }
}

impl Packed for Piece {
    fn pack(&self, to: &mut Vec<u8>) -> Option<()> {
        match self {
            Self::Text(text) => false.pack(to).and_then(|()| text.pack(to)),
            Self::Variable { name, default } => {
                true.pack(to)?;
                name.pack(to)?;
                default.pack(to)
            }
        }
    }

    fn unpack(from: &mut &[u8]) -> Option<Self> {
        if bool::unpack(from)? {
            Some(Self::Variable { name: String::unpack(from)?, default: Packed::unpack(from)? })
        } else {
            String::unpack(from).map(Self::Text)
        }
    }
}
