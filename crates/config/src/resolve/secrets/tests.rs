use super::*;

const SECRET: &str = "a8Kd02LqZx7Vb3Nm5Tp9Rw1Yc4Ue6Hs0Jf2Gk";

/// The findings of `check`, with the pictures that people see.
fn checked(text: &str) -> Vec<(Code, usize, String)> {
    let mut sources = crate::SourceMap::new();
    let id = sources.add("x.toml", crate::Scope::User, text);
    let parsed = crate::parse_ensemble(&sources, id);
    assert!(!parsed.has_errors(), "{:?}", parsed.diagnostics);
    let environment = crate::Environment::default();
    let given = |compile_schemas| crate::ResolveInput {
        builtins: &[],
        environment: &environment,
        project_trusted: true,
        compile_schemas,
        require_env: false,
    };
    let codes = [Code::SecretInFile, Code::UnpinnedPackage];
    let of_run = crate::resolve(&sources, std::slice::from_ref(&parsed.value), &given(false));
    assert!(of_run.diagnostics.iter().all(|diagnostic| !codes.contains(&diagnostic.code)));
    let resolved = crate::resolve(&sources, &[parsed.value], &given(true));
    let told = resolved.diagnostics.iter().filter(|diagnostic| codes.contains(&diagnostic.code));
    let picture = |diagnostic: &Diagnostic| {
        (diagnostic.code, diagnostic.finding(&sources).line.unwrap(), diagnostic.render(&sources))
    };
    told.map(picture).collect()
}

#[test]
fn secrets_and_unpinned_packages_are_told_where_they_stand_and_never_shown() {
    let head = "[ensemble]\nname = \"x\"\ndescription = \"d\"\n";
    let stdio = format!(
        "{head}[connection]\ntransport = \"stdio\"\ncommand = [\"npx\", \"-y\",\n\"pkg\", \"--api-key\", \"{SECRET}\",\n\
         \"--token={SECRET}\", \"ghp_{SECRET}\"]\n[connection.environment]\nAPI_KEY = \"{SECRET}\"\nOTHER = \"env:API_KEY\"\n\
         THIRD = \"${{API_KEY:-{SECRET}}}\"\nPATH = \"/bin\"\n"
    );
    let http = format!(
        "{head}[connection]\ntransport = \"http\"\nurl = \"https://h/mcp?token={SECRET}\"\n[connection.headers]\n\
         Authorization = \"Bearer {SECRET}\"\nX-Api-Key = \"env:KEY\"\n"
    );
    let invokers = format!(
        "{head}[[invokers]]\nname = \"a\"\ndescription = \"d\"\n[invokers.command]\nargv = [\"uvx\", \"pkg\", \"{{q}}\"]\n\
         environment = {{ SECRET = \"{SECRET}\" }}\n[invokers.arguments]\ntype = \"object\"\nproperties.q.type = \"string\"\n\
         [[invokers]]\nname = \"b\"\ndescription = \"d\"\n[invokers.http]\nurl = \"https://h/\"\n\
         query = {{ key = \"{SECRET}\" }}\n"
    );
    for (text, expected) in [
        (
            stdio,
            vec![
                (Code::UnpinnedPackage, 7),
                (Code::SecretInFile, 7),
                (Code::SecretInFile, 8),
                (Code::SecretInFile, 8),
                (Code::SecretInFile, 10),
            ],
        ),
        (http, vec![(Code::SecretInFile, 6), (Code::SecretInFile, 8)]),
        (invokers, vec![(Code::UnpinnedPackage, 8), (Code::SecretInFile, 9), (Code::SecretInFile, 18)]),
    ] {
        let found = checked(&text);
        let told: Vec<_> = found.iter().map(|(code, line, _)| (*code, *line)).collect();
        assert_eq!(told, expected, "{text}");
        for (_, _, picture) in found {
            assert!(!picture.contains(&SECRET[..8]), "{picture}");
        }
    }
}
