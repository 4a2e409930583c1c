//! Tests of the transpiler with valid, invalid and hostile sources.

use super::*;
use proptest::prelude::*;
use std::sync::OnceLock;

/// Ends every source that would take for ever, and is far more than a real one takes.
const FUEL: u64 = 3_000_000_000;
const MEMORY: u64 = 64 << 20;

/// One for all tests: compiling it takes seconds.
fn transpiler() -> &'static Transpiler {
    static ONE: OnceLock<(Transpiler, tempfile::TempDir)> = OnceLock::new();
    let (transpiler, _) = ONE.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path().join("cache"));
        (Transpiler::new(cache), folder)
    });
    transpiler
}

fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

fn try_transpile(name: &str, source: &[u8]) -> wasmtime::Result<(TranspileResult, u64)> {
    let left = Left {
        memory: MEMORY,
        fuel: FUEL,
    };
    block_on(transpiler().transpile(name, source, left))
}

fn transpile(name: &str, source: &str) -> TranspileResult {
    try_transpile(name, source.as_bytes()).unwrap().0
}

/// The code, with line breaks and tabs collapsed.
fn code(name: &str, source: &str) -> String {
    let code = transpile(name, source).unwrap().code;
    code.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn types_are_removed_and_other_syntax_becomes_javascript() {
    for (source, wanted) in [
        ("const x: number = 1 as number;", "const x = 1;"),
        ("let x = <string>y!;", "let x = y;"),
        (
            "interface A {} type B = A; declare const c: A; f();",
            "f();",
        ),
        (
            "function f<T>(this: T, a?: T): asserts a is T {}",
            "function f(a) {}",
        ),
        (
            "class A { private x?: number; declare y: string; readonly z = 1 }",
            "class A { x; z = 1; }",
        ),
        (
            "abstract class A implements B { abstract f(): void; g() {} }",
            "class A { g() {} }",
        ),
        (
            "class A { constructor(private readonly x: number) {} }",
            "class A { x; constructor(x) { this.x = x; } }",
        ),
        (
            "enum E { A, B = 'b', C = 1 << 3 }",
            "var E = /* @__PURE__ */ function(E) { E[E[\"A\"] = 0] = \"A\"; E[\"B\"] = \"b\"; E[E[\"C\"] = 8] = \"C\"; return E; }(E || {});",
        ),
        (
            "import { a, type B } from './x'; import type C from './y'; a();",
            "import { a } from \"./x\"; a();",
        ),
        (
            "import { A } from './x'; let a: A; import './y';",
            "let a; import \"./y\";",
        ),
        ("import { A } from './x'; let a: A;", "let a; export {};"),
        (
            "export type { A } from './x'; export { b } from './y';",
            "export { b } from \"./y\";",
        ),
        (
            "const x = { a: 1 } satisfies B; x?.a ?? 2;",
            "const x = { a: 1 }; x?.a ?? 2;",
        ),
        (
            "await f(); for await (const x of y) {}",
            "await f(); for await (const x of y) {}",
        ),
        (
            "f<string>('a'); new Map<string, A<B>>();",
            "f(\"a\"); new Map();",
        ),
        (
            "function f(a: string): void; function f(a: any) {}",
            "function f(a) {}",
        ),
        ("", ""),
    ] {
        assert_eq!(code("a.ts", source), wanted, "{source}");
    }
}

#[test]
fn namespaces_become_functions() {
    let code = code(
        "a.ts",
        "namespace N { export const x = 1; type T = 1 } N.x;",
    );
    assert_eq!(
        code,
        "let N; (function(_N) { const x = _N.x = 1; })(N || (N = {})); N.x;"
    );
}

#[test]
fn a_constant_enum_works_as_an_enum() {
    let code = code("a.ts", "const enum E { A = 2 } console.log(E.A);");
    assert!(
        code.contains("2") && code.contains("console.log("),
        "{code}"
    );
}

#[test]
fn a_cts_file_uses_commonjs_imports_and_exports() {
    let code = code(
        "a.cts",
        "import fs = require('fs'); export = fs.statSync; return;",
    );
    assert_eq!(
        code,
        "const fs = require(\"fs\"); module.exports = fs.statSync; return;"
    );
}

#[test]
fn decorators_include_their_helpers() {
    let source =
        "#!/usr/bin/env tsx\n'use strict';\n@d class A { @e f(@g x: number) {} }\nthrow 1;";
    let Transpiled { code, mappings } = transpile("a.ts", source).unwrap();
    let lines: Vec<&str> = code.lines().collect();
    assert_eq!(lines[0], "#!/usr/bin/env tsx");
    assert!(
        lines[1].starts_with("\"use strict\"; const babelHelpers = "),
        "{code}"
    );
    let thrown = lines
        .iter()
        .position(|line| line.starts_with("throw"))
        .unwrap();
    let thrown = u32::try_from(thrown).unwrap();
    let mapping = mappings
        .iter()
        .find(|mapping| mapping.line == thrown)
        .unwrap();
    assert_eq!((mapping.original_line, mapping.original_column), (3, 0));
}

#[test]
fn mappings_lead_back_to_the_source() {
    let source = "interface A {\n  a: string;\n}\n\nconst 𝒜 = 1; function f(): never {\n  throw new Error('x');\n}\n";
    let Transpiled { code, mappings } = transpile("a.ts", source).unwrap();
    assert!(mappings.is_sorted_by_key(|mapping| (mapping.line, mapping.column)));
    let line = code
        .lines()
        .position(|line| line.contains("throw"))
        .unwrap();
    let line = u32::try_from(line).unwrap();
    let thrown = mappings
        .iter()
        .find(|mapping| mapping.line == line)
        .unwrap();
    assert_eq!((thrown.original_line, thrown.original_column), (5, 2));
    let function = mappings
        .iter()
        .find(|mapping| mapping.original_line == 4 && mapping.original_column == 14);
    assert!(function.is_some(), "{mappings:?}");
}

#[test]
fn an_error_is_shown_with_its_position() {
    for (name, source, wanted) in [
        (
            "/skill/a.ts",
            "let a = 1;\n\tconst = 5;\n",
            "/skill/a.ts:2:8\n\tconst = 5;\n\t      ^\nUnexpected token",
        ),
        (
            "a.ts",
            "const x: = 1;",
            "a.ts:1:10\nconst x: = 1;\n         ^\nUnexpected token",
        ),
        (
            "a.ts",
            "let a; let a;",
            "a.ts:1:5\nlet a; let a;\n    ^\nIdentifier `a` has already been declared",
        ),
        (
            "a\u{1b}[2J.ts",
            "\u{1b}[2J(",
            "a\\u{1b}[2J.ts:1:1\n\u{fffd}[2J(\n^\nInvalid Character `\\u{1b}`",
        ),
    ] {
        assert_eq!(transpile(name, source).unwrap_err(), wanted, "{source:?}");
    }
    let (answer, _) = try_transpile("a.ts", b"let a;\n\xff\xfe").unwrap();
    assert_eq!(answer.unwrap_err(), "a.ts:2\nthe file is not UTF-8");
}

#[test]
fn a_long_line_is_cut_around_the_position() {
    let source = format!("{}@@@", "a();".repeat(10_000));
    let message = transpile("a.ts", &source).unwrap_err();
    assert!(message.len() < 1000, "{message}");
    let lines: Vec<&str> = message.lines().collect();
    let at = lines[2].find('^').unwrap();
    assert!(
        lines[1].is_char_boundary(at) && lines[1].len() <= 120,
        "{message}"
    );
}

#[test]
fn a_source_that_is_too_large_is_refused() {
    let source = vec![b' '; MAX_SOURCE + 1];
    let (answer, fuel) = try_transpile("a.ts", &source).unwrap();
    assert_eq!(
        answer.unwrap_err(),
        "a.ts\nTypeScript of more than 2MiB is not transpiled"
    );
    assert_eq!(fuel, FUEL);
}

#[test]
fn transpiling_takes_the_fuel_and_memory_of_the_run() {
    let (answer, left) = try_transpile("a.ts", b"let a: string;").unwrap();
    assert!(answer.is_ok() && left < FUEL);
    let starved = Left {
        memory: MEMORY,
        fuel: 1000,
    };
    let error = block_on(transpiler().transpile("a.ts", b"let a;", starved)).unwrap_err();
    assert_eq!(error.downcast_ref::<Trap>(), Some(&Trap::OutOfFuel));
    let cramped = Left {
        memory: 1 << 20,
        fuel: FUEL,
    };
    let (answer, _) = block_on(transpiler().transpile("a.ts", b"let a;", cramped)).unwrap();
    assert_eq!(
        answer.unwrap_err(),
        "a.ts\ntranspiling it takes more memory than the script has left"
    );
}

#[test]
fn many_are_transpiled_at_once() {
    let workers: Vec<_> = (0..8)
        .map(|n| std::thread::spawn(move || code("a.ts", &format!("let a{n}: string;"))))
        .collect();
    for (n, worker) in workers.into_iter().enumerate() {
        assert_eq!(worker.join().unwrap(), format!("let a{n};"));
    }
}

/// Nested or repeated sources: a beginning, the repeated opening, a middle, the repeated closing.
const HOSTILE: [[&str; 4]; 60] = [
    ["", "(", "1", ")"],
    ["", "(", "", ""],
    ["", "[", "", "]"],
    ["", "{", "", "}"],
    ["x=", "{a:", "1", "}"],
    ["", "!", "1", ""],
    ["", "- ", "1", ""],
    ["", "typeof ", "1", ""],
    ["", "await ", "1", ""],
    ["", "new ", "a", ""],
    ["", "a+", "a", ""],
    ["", "a**", "a", ""],
    ["a", ".a", "", ""],
    ["a", "()", "", ""],
    ["a", "?.[0]", "", ""],
    ["a", "!", "", ""],
    ["a", " as a", "", ""],
    ["", "a?a:", "a", ""],
    ["", "a?", "a", ":a"],
    ["", "a=", "a", ""],
    ["", "x=>", "x", ""],
    ["", "x=>{", "", "}"],
    ["", "if(a)", ";", ""],
    ["", "if(a);else ", ";", ""],
    ["", "for(;;)", ";", ""],
    ["", "do ", ";", " while(a);"],
    ["", "try{", "", "}finally{}"],
    ["", "switch(a){default:", "", "}"],
    ["", "`${", "1", "}`"],
    ["", "function f(){", "", "}"],
    ["", "class A{static{", "", "}}"],
    ["x=", "class{x=", "1", "}"],
    ["x=", "{get a(){return ", "1", "}}"],
    ["type A=", "keyof ", "B", ""],
    ["type A=", "A<", "A", ">"],
    ["type A=", "(", "A", ")"],
    ["type A=", "[", "A", "]"],
    ["type A=", "{a:", "A", "}"],
    ["type A=", "A extends A?A:", "A", ""],
    ["type A=", "A extends A?", "A", ":A"],
    ["type A=", "()=>", "A", ""],
    ["type A=", "`${", "A", "}`"],
    ["let x:", "({a:", "", ""],
    ["", "namespace a{export const x=1;", "", "}"],
    ["namespace a", ".a", "{export const x=1}", ""],
    ["", "<a>", "a", ""],
    ["a", "<b", "", ""],
    ["a", "<b>()", "", ""],
    ["let ", "[", "a", "]=b"],
    ["", "function f(a=", "1", "){}"],
    ["", "(a=", "1", ")=>1"],
    ["", "(a=", "", ""],
    ["", "<T>(a=", "", ""],
    ["", "a?(b=", "1", "):c"],
    ["", "a?(b):c=>", "d", ""],
    ["", "async(", "1", ")"],
    ["", "({[(", "", ""],
    ["", "@(class{", "", "})class A{}"],
    ["enum E{a=", "1+", "1", "}"],
    ["/", "(?:", "a", ")/"],
];

/// Whatever the source is, there is an answer, or the fuel runs out.
fn assert_answered_or_out_of_fuel(source: &str) {
    match try_transpile("a.ts", source.as_bytes()) {
        Ok(_) => {}
        Err(error) => assert_eq!(
            error.downcast_ref::<Trap>(),
            Some(&Trap::OutOfFuel),
            "{error:?}"
        ),
    }
}

#[test]
fn hostile_sources_are_answered_or_run_out_of_fuel() {
    for [begin, open, middle, close] in HOSTILE {
        for times in [500, 50_000] {
            let (open, close) = (open.repeat(times), close.repeat(times));
            assert_answered_or_out_of_fuel(&format!("{begin}{open}{middle}{close}"));
        }
    }
    assert_eq!(code("a.ts", "let a: string;"), "let a;");
}

#[test]
fn too_deep_nesting_and_too_much_memory_are_reported() {
    assert_eq!(
        transpile("a.ts", &"(".repeat(200_000)).unwrap_err(),
        "a.ts\nit is nested too deeply to be transpiled"
    );
    assert_eq!(
        transpile("a.ts", &format!("a{}", "<b".repeat(2_000))).unwrap_err(),
        "a.ts\ntranspiling it takes more memory than the script has left"
    );
}

#[test]
fn realistic_nesting_is_transpiled() {
    for source in [
        format!("x={}1{}", "(".repeat(500), ")".repeat(500)),
        format!("x={}1{}", "[".repeat(500), "]".repeat(500)),
        format!("x={}'a'", "'a'+".repeat(2_000)),
        format!("{};", "if(a);else ".repeat(2_000)),
        format!("x={};", "a.b().".repeat(1_000) + "c"),
    ] {
        let shown = &source[..20];
        assert!(transpile("a.ts", &source).is_ok(), "{shown}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn mixtures_of_hostile_parts_are_answered_or_run_out_of_fuel(
        parts in proptest::collection::vec((0..HOSTILE.len(), 0..4usize, 1..400usize), 1..6),
    ) {
        let source: String = parts
            .iter()
            .map(|(which, part, times)| HOSTILE[*which][*part].repeat(*times))
            .collect();
        assert_answered_or_out_of_fuel(&source);
    }

    #[test]
    fn any_bytes_are_answered(source in proptest::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(try_transpile("a.ts", &source).is_ok());
    }
}
