use super::*;

#[test]
fn an_exact_version_is_one_that_is_the_same_tomorrow() {
    for (line, unpinned) in [
        ("npx pkg", Some((1, "npx"))),
        ("npx -y pkg", Some((2, "npx"))),
        ("npx -y pkg@1.2.3", None),
        ("npx -y pkg@1.2.3-beta.1", None),
        ("npx -y pkg@latest", Some((2, "npx"))),
        ("npx -y pkg@next", Some((2, "npx"))),
        ("npx -y pkg@1", Some((2, "npx"))),
        ("npx -y pkg@^1.2.3", Some((2, "npx"))),
        ("npx -y pkg@1.x.0", Some((2, "npx"))),
        ("npx -y pkg@\u{1}", None),
        ("npx -y \u{1}", None),
        ("npx @scope/pkg", Some((1, "npx"))),
        ("npx @scope/pkg@1.2.3", None),
        ("npx -p @scope/pkg@1.2.3 command", None),
        ("npx --package=@scope/pkg command", Some((1, "npx"))),
        ("npx --package @scope/pkg command", Some((2, "npx"))),
        ("npx --registry http://r pkg@1.2.3", None),
        ("npx -y --", None),
        ("npx ./local", None),
        ("npx github:user/repo", Some((1, "npx"))),
        ("npx github:user/repo#4f3a", None),
        ("npx user/repo", Some((1, "npx"))),
        ("/usr/bin/npx pkg", Some((1, "npx"))),
        ("C:\\node\\npx.cmd pkg", Some((1, "npx"))),
        ("cmd /c npx pkg", Some((3, "npx"))),
        ("env A=b npx pkg", Some((3, "npx"))),
        ("npm exec -- pkg", Some((3, "npm exec"))),
        ("npm install pkg", None),
        ("pnpm dlx pkg", Some((2, "pnpm dlx"))),
        ("pnpm dlx pkg@1.2.3", None),
        ("bunx pkg", Some((1, "bunx"))),
        ("bun x pkg@1.2.3", None),
        ("uvx pkg", Some((1, "uvx"))),
        ("uvx pkg@latest", Some((1, "uvx"))),
        ("uvx pkg@1.2", None),
        ("uvx pkg==1.2", None),
        ("uvx pkg==1.*", Some((1, "uvx"))),
        ("uvx pkg>=1.2", Some((1, "uvx"))),
        ("uvx pkg@1.*", Some((1, "uvx"))),
        ("uvx pkg@1.x", Some((1, "uvx"))),
        ("uvx pkg@1.0,<2", Some((1, "uvx"))),
        ("uvx pkg==1.0,>0.5", Some((1, "uvx"))),
        ("uvx pkg@1!2.0rc1.post2+local", None),
        ("dnx Pkg --yes", Some((1, "dnx"))),
        ("dnx Pkg@1.2.3-beta --yes", None),
        ("dnx Pkg@1.* --yes", Some((1, "dnx"))),
        ("dnx Pkg@[1.0,2.0) --yes", Some((1, "dnx"))),
        ("dnx Pkg --version 1.2.3 --yes", None),
        ("uvx --from pkg==1.2 command", None),
        ("uvx --from pkg command", Some((2, "uvx"))),
        ("uvx --python 3.12 pkg==1.2", None),
        ("uvx --from git+https://host/r command", Some((2, "uvx"))),
        ("uvx --from git+https://user@host/r command", Some((2, "uvx"))),
        ("uvx --from git+https://host/r@v1 command", None),
        ("uvx pkg[cli]==1.2", None),
        ("uv tool run pkg", Some((3, "uv tool run"))),
        ("uv run server.py", None),
        ("pipx run pkg", Some((2, "pipx run"))),
        ("pipx run --spec pkg==1 command", None),
        ("docker run -i --rm image", Some((4, "docker run"))),
        ("docker run -i --rm -e A=b image:latest", Some((6, "docker run"))),
        ("docker run -it --name n host:5000/image", Some((5, "docker run"))),
        ("docker run --rm --env=A image:1.2", None),
        ("docker run -v/a:/b -eA image:1.2 latest", None),
        ("docker run -i image@sha256:00", None),
        ("docker run -i host:5000/image:2", None),
        ("docker ps", None),
        ("podman run image", Some((2, "podman run"))),
        ("go run host/x@latest", Some((2, "go run"))),
        ("go run -tags a host/x@main -v", Some((4, "go run"))),
        ("go run host/x@v1", Some((2, "go run"))),
        ("go run host/x@v1.2.3", None),
        ("go run host/x@v0.0.0-20260102030405-0123456789ab", None),
        ("go run host/x@0123abc", None),
        ("go run host/x@\u{1}", None),
        ("go run ./cmd/x", None),
        ("go build host/x@latest", None),
        ("node server.js", None),
        ("", None),
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let found = find(&words);
        let actual = found.as_ref().map(|found| (found.word, found.launcher.as_str()));
        assert_eq!(actual, unpinned, "{line}");
    }
}

#[test]
fn the_script_of_a_shell_is_read() {
    for (script, launcher) in [
        ("npx -y pkg", Some("npx")),
        ("cd /srv && A=b exec npx -y '@scope/pkg'", Some("npx")),
        ("uvx \"pkg\" | tee log", Some("uvx")),
        ("go run host/x@latest", Some("go run")),
        ("npx -y pkg@1.2.3", None),
        ("echo 'npx -y pkg'", None),
    ] {
        let found = find_in_script(&["docker", "exec", "box", "bash", "-lc", script]);
        let actual = found.as_ref().map(|found| (found.word, found.launcher.as_str()));
        assert_eq!(actual, launcher.map(|launcher| (5, launcher)), "{script}");
    }
}

#[test]
fn an_address_is_not_repeated() {
    let found = find(&["uvx", "--from", "git+https://t0ken@host/r", "x"]).unwrap();
    assert!(!found.finding.contains("t0ken"), "{}", found.finding);
}
