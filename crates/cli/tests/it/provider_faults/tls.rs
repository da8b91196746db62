//! P19: servers that cannot be trusted. Each is asked once, nothing is sent to it, and there is no way around it.

use std::io::Write as _;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::env::{Ran, TestEnv};
use crate::provider::KEY;

/// Signed by the authority of `tls/ca.pem`: for this machine, for another name, for a month that is over.
pub(super) const TRUSTED: &[u8] = include_bytes!("../tls/trusted.der");
const ELSEWHERE: &[u8] = include_bytes!("../tls/elsewhere.der");
const EXPIRED: &[u8] = include_bytes!("../tls/expired.der");

pub(super) fn config(certificate: &[u8]) -> ServerConfig {
    let key = PrivateKeyDer::try_from(include_bytes!("../tls/leaf.key.der").to_vec()).unwrap();
    ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![CertificateDer::from(certificate.to_vec())], key)
        .unwrap()
}

/// Asks, trusting that authority alone.
pub(super) fn ask(port: u16, args: &[&str]) -> Ran {
    let env = TestEnv::hasty();
    let authority = env.write("ca.pem", include_str!("../tls/ca.pem"));
    let env = env
        .var("OPENAI_BASE_URL", format!("https://127.0.0.1:{port}/v1"))
        .var("OPENAI_API_KEY", KEY)
        .var("SSL_CERT_FILE", authority.display().to_string());
    env.run(&[&["ask", "hello", "-m", "openai-chat/stub"], args].concat())
}

/// Shakes hands with whoever comes; counts them, and those who spoke afterwards.
fn shaking_hands(certificate: &[u8]) -> (u16, Arc<AtomicUsize>, Arc<AtomicUsize>) {
    let config = Arc::new(config(certificate));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (visits, spoke) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (counted, heard) = (Arc::clone(&visits), Arc::clone(&spoke));
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            counted.fetch_add(1, Ordering::SeqCst);
            let mut connection = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut tls = rustls::Stream::new(&mut connection, &mut stream);
            if std::io::Read::read(&mut tls, &mut [0; 64]).is_ok_and(|read| read > 0) {
                heard.fetch_add(1, Ordering::SeqCst);
                let body = r#"{"choices":[{"message":{"role":"assistant","content":"Trusted."},"finish_reason":"stop"}]}"#;
                let head = format!(
                    "HTTP/1.1 200 X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
                    body.len()
                );
                let _ = tls.write_all((head + body).as_bytes());
                let _ = tls.flush();
            }
        }
    });
    (port, visits, spoke)
}

#[test]
fn p19_certificates() {
    for (what, certificate, says) in
        [("another's name", ELSEWHERE, "not valid for name"), ("its time is over", EXPIRED, "expired")]
    {
        let (port, visits, spoke) = shaking_hands(certificate);
        let ran = ask(port, &[]).exits(5);
        assert!(ran.stderr.contains("error[tls]") && ran.stderr.contains(says), "{what}: {}", ran.stderr);
        assert!(!ran.stderr.contains("attempts"), "{what}: {}", ran.stderr);
        assert_eq!((visits.load(Ordering::SeqCst), spoke.load(Ordering::SeqCst)), (1, 0), "{what}");
    }
    // The same with a good one, so that it is the certificate that was refused.
    let (port, _, spoke) = shaking_hands(TRUSTED);
    assert_eq!(ask(port, &["--no-stream"]).exits(0).stdout, "Trusted.\n");
    assert_eq!(spoke.load(Ordering::SeqCst), 1);
}

/// What a server of 1999 says to a client that offers nothing older than TLS 1.2: alert 70, `protocol_version`.
#[test]
fn p19_a_protocol_of_the_past() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let visits = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&visits);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            counted.fetch_add(1, Ordering::SeqCst);
            let _ = std::io::Read::read(&mut stream, &mut [0; 4096]);
            let _ = stream.write_all(&[0x15, 3, 1, 0, 2, 2, 70]);
        }
    });
    let ran = ask(port, &[]).exits(5);
    assert!(ran.stderr.contains("error[tls]") && !ran.stderr.contains("attempts"), "{}", ran.stderr);
    assert_eq!(visits.load(Ordering::SeqCst), 1);
}

/// The request may have been accepted: it is a connection that broke, and not a server without trust.
#[test]
fn p19_tls_that_breaks_after_the_request() {
    let config = Arc::new(config(TRUSTED));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut connection = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut tls = rustls::Stream::new(&mut connection, &mut stream);
            let _ = std::io::Read::read(&mut tls, &mut [0; 4096]);
            // A record that nobody can decrypt.
            let _ = stream.write_all(&[0x17, 3, 3, 0, 32]).and_then(|()| stream.write_all(&[0; 32]));
        }
    });
    let ran = ask(port, &[]).exits(5);
    assert!(!ran.stderr.contains("error[tls]"), "{}", ran.stderr);
    assert!(ran.stderr.contains("the connection broke: "), "{}", ran.stderr);
}
