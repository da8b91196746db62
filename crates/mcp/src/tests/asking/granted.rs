//! What was granted is declared and answered, and nothing else.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_model_is_asked_where_that_is_granted() {
    let says = |text: &str| json!({ "maxTokens": 10, "messages": [{ "role": "user", "content": { "type": "text", "text": text } }] });
    for era in ERAS {
        for (granted, present, text, code, word) in [
            (true, true, "hi", 0, ""),
            (true, true, "forbidden", -1, "fake was refused"),
            (false, true, "hi", -32601, "may not ask the model"),
            (true, false, "hi", -32601, "may not ask the model"),
        ] {
            let mut fixture = asks(era, &[("sampling/createMessage", says(text))]);
            fixture.grants.sampling = granted;
            fixture.responders.sampler = present.then(|| Arc::new(Model) as Arc<dyn Sampler>);
            let (_connection, _ensemble, tools) = fixture.connected().await;
            let context = context(Duration::from_secs(30));
            let meter = context.cost.clone();
            let got = got(tools[0].invocable.invoke(context, &Arguments::parse("{}")).await);
            assert_eq!(meter.total(), (code == 0).then_some(Cost(3)), "{got}");
            match (code, era) {
                (0, _) => assert_eq!(got["q0"]["content"]["text"], "hello", "{got}"),
                (_, Era::Legacy) => {
                    assert_eq!(got["q0"]["code"], code);
                    assert!(got["q0"]["message"].as_str().unwrap().contains(word), "{got}");
                }
                (_, Era::Modern) => assert!(got["failed"].as_str().unwrap().contains(word), "{got}"),
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn roots_are_told_where_they_are_granted() {
    let place = tempfile::tempdir().unwrap();
    std::fs::create_dir(place.path().join("src")).unwrap();
    for era in ERAS {
        for granted in [true, false] {
            let mut fixture = asks(era, &[("roots/list", json!({}))]);
            fixture.workspace = place.path().to_path_buf();
            fixture.grants.roots = if granted { vec!["src".to_owned(), "..".to_owned()] } else { vec![] };
            let got = called(&fixture).await;
            if granted {
                let roots = got["q0"]["roots"].as_array().unwrap();
                assert_eq!(roots.len(), 1, "the one outside is not told: {got}");
                assert_eq!(roots[0]["name"], "src");
                assert!(fixture.warnings.lock().unwrap()[0].contains("`..` is not sent"));
            } else if era == Era::Legacy {
                assert_eq!(got["q0"]["code"], -32601, "{got}");
            } else {
                assert!(got["failed"].as_str().unwrap().contains("no roots"), "{got}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn just_what_will_be_answered_is_declared() {
    for (person, sampler, elicitation, sampling, roots, declared) in [
        (false, false, true, true, false, json!({})),
        (true, true, false, false, false, json!({})),
        (true, false, true, true, false, json!({ "elicitation": { "form": {}, "url": {} } })),
        (false, true, true, true, true, json!({ "roots": {}, "sampling": {} })),
    ] {
        for era in ERAS {
            let declared_now = Arc::new(Mutex::new(Vec::new()));
            let seen = Arc::clone(&declared_now);
            let mut fixture = Fixture::new(move |_, request| {
                let params = &request["params"];
                let meta = &params["_meta"]["io.modelcontextprotocol/clientCapabilities"];
                seen.lock()
                    .unwrap()
                    .extend([meta, &params["capabilities"]].into_iter().filter(|c| c.is_object()).cloned());
                if era == Era::Modern { modern(request) } else { legacy(request) }
            });
            fixture.responders = Responders {
                elicitor: person.then(|| somebody(ElicitationReply::Cancel, SOON) as Arc<dyn Elicitor>),
                sampler: sampler.then(|| Arc::new(Model) as Arc<dyn Sampler>),
                ..Responders::default()
            };
            (fixture.grants.elicitation, fixture.grants.sampling) = (elicitation, sampling);
            fixture.grants.roots = if roots { vec![".".to_owned()] } else { vec![] };
            called(&fixture).await;
            let seen = declared_now.lock().unwrap();
            assert!(seen.len() >= if era == Era::Modern { 3 } else { 2 }, "{era:?} {seen:?}");
            // The extension of tasks has a test of its own.
            let without_tasks = |one: &Value| {
                let mut one = one.clone();
                one.as_object_mut().unwrap().remove("extensions");
                one
            };
            assert!(seen.iter().all(|one| without_tasks(one) == declared), "{era:?} {seen:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_level_of_the_log_is_told_in_the_way_of_the_era() {
    for (era, level) in [(Era::Legacy, true), (Era::Modern, true), (Era::Legacy, false), (Era::Modern, false)]
    {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&seen);
        let mut fixture = Fixture::new(move |_, request| {
            let params = &request["params"];
            let levels = [&params["level"], &params["_meta"]["io.modelcontextprotocol/logLevel"]];
            heard.lock().unwrap().extend(levels.into_iter().filter(|level| level.is_string()).cloned());
            match (request["method"].as_str(), era) {
                (Some("logging/setLevel"), _) => result(request, &json!({})),
                (Some("initialize"), Era::Legacy) => result(
                    request,
                    &json!({
                        "protocolVersion": "2025-11-25", "capabilities": { "tools": {}, "logging": {} },
                        "serverInfo": { "name": "fake", "version": "1" },
                    }),
                ),
                (_, Era::Legacy) => legacy(request),
                (_, Era::Modern) => modern(request),
            }
        });
        fixture.grants.log_level = level.then_some(converse_config::LogLevel::Warning);
        called(&fixture).await;
        let expected: Vec<Value> = level.then(|| json!("warning")).into_iter().collect();
        assert_eq!(*seen.lock().unwrap(), expected, "{era:?}");
    }
}
