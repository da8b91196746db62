//! Arguments against a tool's schema, in words for the model.

use converse_canister::Arguments;
use converse_config::SchemaFault;

use crate::tool::Tool;

/// The arguments with defaults filled in, or what is wrong with them, in words for the model.
pub(crate) fn checked(tool: &Tool, arguments: &Arguments) -> Result<Arguments, String> {
    if let Some(malformed) = &arguments.malformed {
        return Err(format!("invalid arguments: {malformed}"));
    }
    let schema = match tool.schema() {
        Ok(schema) => schema,
        Err(error) => return Err(format!("the tool's own schema is unusable: {error}")),
    };
    match schema.check(&arguments.object) {
        Ok(object) => Ok(Arguments { object, raw: arguments.raw.clone(), malformed: None }),
        Err(faults) => Err(format!(
            "invalid arguments: {}",
            faults.iter().map(fault_line).collect::<Vec<_>>().join("; ")
        )),
    }
}

fn fault_line(fault: &SchemaFault) -> String {
    if fault.pointer.is_empty() {
        fault.message.clone()
    } else {
        format!("{}: {}", fault.pointer, fault.message)
    }
}
