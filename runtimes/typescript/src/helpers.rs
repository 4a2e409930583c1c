//! The functions that decorators need, put before the code that calls them.
//!
//! oxc calls them on an object that it expects to exist. To import them instead, a package would have to
//! be installed beside every script.

use crate::Transpiled;

/// The object's name in oxc's output.
const OBJECT: &str = "babelHelpers";

/// As TypeScript defines them: the last decorator is applied first, and its result, if any, replaces its
/// argument.
const DEFINITIONS: &str = "const babelHelpers = { \
decorate(decorators, target, key, descriptor) { \
const member = arguments.length > 2; \
let result = member && descriptor === null ? Object.getOwnPropertyDescriptor(target, key) : member ? descriptor : target; \
for (let at = decorators.length - 1; at >= 0; at--) { \
const apply = decorators[at]; \
if (apply) result = (!member ? apply(result) : descriptor === undefined ? apply(target, key) : apply(target, key, result)) || result; \
} \
if (member && descriptor !== undefined && result) Object.defineProperty(target, key, result); \
return result; \
}, \
decorateParam(index, decorator) { return (target, key) => { decorator(target, key, index); }; } \
};\n";

/// Adds the definitions if the code refers to them.
pub(crate) fn define(transpiled: Transpiled) -> Transpiled {
    let Transpiled { code, mut mappings } = transpiled;
    if !code.contains(OBJECT) {
        return Transpiled { code, mappings };
    }
    let start = match code.strip_prefix("#!") {
        Some(_) => code.find('\n').map_or(code.len(), |end| end + 1),
        None => 0,
    };
    let (first, rest) = code.split_at(start);
    // A directive counts only before the first statement.
    let strict = ["\"use strict\"", "'use strict'"];
    let strict = strict.iter().any(|directive| rest.starts_with(directive));
    let strict = if strict { "\"use strict\"; " } else { "" };
    for mapping in &mut mappings {
        mapping.line += 1;
    }
    Transpiled {
        code: format!("{first}{strict}{DEFINITIONS}{rest}"),
        mappings,
    }
}
