//! Is a built-in told what it cannot do without? The descriptors in the binary say what each of them takes.

use serde_json::Value;

use super::Resolver;
use crate::Code;
use crate::diagnostic::Diagnostic;
use crate::invoker::InvokerDescriptor;
use crate::packed;
use crate::plan::Scope;

impl Resolver<'_> {
    /// A model is told of the `properties` only, so what is not among them is never given.
    pub(super) fn needed(&mut self, invoker: &InvokerDescriptor, builtin: &str) {
        let is_own = self.sources.scope(self.descriptor.source) == Scope::Shipped;
        if is_own || !self.given.compile_schemas || invoker.lost_arguments {
            return;
        }
        let properties =
            invoker.arguments.as_ref().and_then(|arguments| arguments.schema.value.get("properties"));
        let place = invoker.arguments.as_ref().map(|arguments| arguments.place("/properties"));
        for name in required(builtin) {
            if properties.is_some_and(|properties| properties.get(&name).is_some()) {
                continue;
            }
            let message =
                format!("`{builtin}` needs `{name}`, which is not among the `properties`: its calls fail");
            let span = place.or(invoker.builtin.as_ref().map(|builtin| builtin.span)).unwrap_or(invoker.span);
            self.diagnostics.push(Diagnostic::warning(Code::BuiltinArgument, span, message));
        }
    }
}

/// Of a built-in that has no descriptor in the binary nothing is known.
fn required(builtin: &str) -> Vec<String> {
    let Some(loaded) = packed::load() else { return Vec::new() };
    let invokers = loaded.descriptors.into_iter().flat_map(|descriptor| descriptor.invokers);
    let mut invokers = invokers.filter_map(|entry| entry.invoker);
    let bound = invokers.find(|one| one.builtin.as_ref().is_some_and(|bound| bound.value == builtin));
    let arguments = bound.and_then(|one| one.arguments).map(|arguments| arguments.schema.value);
    let names = arguments.as_ref().and_then(|schema| schema.get("required")).and_then(Value::as_array);
    names.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}
