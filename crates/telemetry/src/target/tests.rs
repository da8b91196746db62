use super::*;

const BASE: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318/");

fn target(env: &[(&str, &str)]) -> Option<Target> {
    let value = |name: &str| env.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    Target::of(&|name| value(name).filter(|value| !value.is_empty()))
}

fn urls(env: &[(&str, &str)]) -> (String, String) {
    let target = target(env).unwrap_or_default();
    let url =
        |endpoint: Option<Endpoint>| endpoint.map_or("-".to_owned(), |endpoint| endpoint.url.to_string());
    (url(target.traces), url(target.metrics))
}

#[test]
fn where_to_is_what_the_variables_say() {
    let (traces, metrics) = ("http://c:4318/v1/traces", "http://c:4318/v1/metrics");
    let own = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://t/x");
    for (env, expected) in [
        (&[][..], ("-", "-")),
        (&[BASE], (traces, metrics)),
        (
            &[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318/a")],
            ("http://c:4318/a/v1/traces", "http://c:4318/a/v1/metrics"),
        ),
        (&[own], ("https://t/x", "-")),
        (&[own, BASE], ("https://t/x", metrics)),
        (&[BASE, ("OTEL_SDK_DISABLED", "True")], ("-", "-")),
        (&[BASE, ("OTEL_SDK_DISABLED", "false")], (traces, metrics)),
        (&[BASE, ("OTEL_TRACES_EXPORTER", "none")], ("-", metrics)),
        (&[BASE, ("OTEL_METRICS_EXPORTER", "none")], (traces, "-")),
        (&[BASE, ("OTEL_METRICS_EXPORTER", "console, otlp")], (traces, metrics)),
        (&[BASE, ("OTEL_TRACES_SAMPLER", "always_off")], ("-", metrics)),
        (&[BASE, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")], ("-", "-")),
        (&[BASE, ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "grpc")], ("-", metrics)),
        (&[BASE, ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")], (traces, metrics)),
        (&[("OTEL_EXPORTER_OTLP_ENDPOINT", "c:4318")], ("-", "-")),
    ] {
        assert_eq!(urls(env), (expected.0.to_owned(), expected.1.to_owned()), "{env:?}");
    }
}

#[test]
fn a_caller_that_is_not_traced_has_no_traced_callees() {
    let parent = |flags| format!("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-{flags}");
    let traced = |flags, sampler| {
        let parent = parent(flags);
        let sampler = ("OTEL_TRACES_SAMPLER", sampler);
        target(&[BASE, ("TRACEPARENT", &parent), sampler]).unwrap().traces.is_some()
    };
    assert!(traced("01", "") && traced("00", "always_on") && traced("01", "parentbased_always_off"));
    assert!(!traced("00", "") && !traced("01", "always_off"));
}

#[test]
fn headers_are_decoded_and_secret() {
    let target =
        target(&[BASE, ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20k-1, x=a=b%zz,bad")]).unwrap();
    let headers = &target.traces.as_ref().unwrap().headers;
    assert_eq!(
        (&headers["authorization"], &headers["x"]),
        (&"Bearer k-1".parse().unwrap(), &"a=b%zz".parse().unwrap())
    );
    assert!(headers["authorization"].is_sensitive());
    assert!(target.secrets().any(|secret| secret == "k-1"));
    assert_eq!(target.notices.len(), 1, "{:?}", target.notices);
    assert!(!format!("{:?}", target.notices).contains("bad"));
}

#[test]
fn what_is_not_spoken_is_told_once() {
    let told = |protocol| target(&[BASE, ("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)]).unwrap().notices;
    assert!(matches!(&told("grpc")[..], [SetupNotice::Warning(text)] if text.contains("4318")));
    assert!(matches!(&told("http/protobuf")[..], [SetupNotice::Remark(_)]));
    assert_eq!(told("http/json"), []);
}

#[test]
fn a_timeout_is_bounded() {
    let timeout = |ms| {
        let target = target(&[BASE, ("OTEL_EXPORTER_OTLP_TIMEOUT", ms)]).unwrap();
        target.traces.unwrap().timeout.as_millis()
    };
    assert_eq!(["500", "0", "x", "99999999"].map(timeout), [500, 10_000, 10_000, 10_000]);
}
