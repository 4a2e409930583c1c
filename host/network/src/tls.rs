//! TLS. Certificates are always verified.

use crate::call::{Error, ErrorKind};
use rustls::client::Resumption;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use std::fmt;
use std::io;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio::sync::{OnceCell, oneshot};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::host::Host;

/// Sessions that one program can resume.
const SESSIONS: usize = 64;

/// Which certificate authorities are trusted.
#[derive(Debug, Clone, Default)]
pub enum Roots {
    /// Those of this machine, or those in the file that `SSL_CERT_FILE` names and in the directories that `SSL_CERT_DIR` does.
    #[default]
    System,
    /// Those in a text in PEM.
    Pem(Vec<u8>),
}

/// The settings of all programs, made when the first one needs them: to read the certificates takes milliseconds.
pub(crate) struct Tls {
    roots: Roots,
    config: OnceCell<Result<ClientConfig, String>>,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("roots", &self.roots).finish()
    }
}

impl Tls {
    pub(crate) fn new(roots: Roots) -> Self {
        Self {
            roots,
            config: OnceCell::new(),
        }
    }

    /// The settings for one program. It can resume its own sessions and no others: a server could tell from a resumed one that
    /// two programs run on the same machine.
    pub(crate) async fn config(&self) -> Result<Arc<ClientConfig>, Error> {
        let made = self.config.get_or_init(|| make(self.roots.clone())).await;
        match made {
            Ok(config) => {
                let mut config = config.clone();
                config.resumption = Resumption::in_memory_sessions(SESSIONS);
                Ok(Arc::new(config))
            }
            Err(why) => Err(Error::new(ErrorKind::Tls, why)),
        }
    }
}

/// Reads the certificates on a thread of its own, because files may block.
async fn make(roots: Roots) -> Result<ClientConfig, String> {
    let (answer, answered) = oneshot::channel();
    let read = move || {
        // Whoever asked may be gone.
        let _ = answer.send(config(&roots));
    };
    let thread = std::thread::Builder::new().name("skillrun-roots".into());
    let started = thread.spawn(read).map(drop);
    started.map_err(|error| format!("cannot read the root certificates: {error}"))?;
    answered
        .await
        .unwrap_or_else(|_| Err("cannot read the root certificates".into()))
}

fn config(roots: &Roots) -> Result<ClientConfig, String> {
    let mut store = RootCertStore::empty();
    match roots {
        Roots::System => {
            let found = rustls_native_certs::load_native_certs();
            store.add_parsable_certificates(found.certs);
            if store.is_empty() {
                let why = found.errors.first().map(|error| format!(": {error}"));
                return Err(format!(
                    "this machine has no root certificates to verify servers with{}",
                    why.unwrap_or_default()
                ));
            }
        }
        Roots::Pem(text) => {
            for certificate in CertificateDer::pem_slice_iter(text) {
                let added = certificate
                    .map_err(|error| error.to_string())
                    .and_then(|one| store.add(one).map_err(|error| error.to_string()));
                added.map_err(|why| format!("a root certificate is not valid: {why}"))?;
            }
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(store)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

/// Encrypts a connection to `host`.
pub(crate) async fn encrypt(
    config: Arc<ClientConfig>,
    host: &Host,
    stream: TcpStream,
) -> Result<TlsStream<TcpStream>, Error> {
    let name = match host {
        Host::Name(name) => ServerName::try_from(name.clone())
            .map_err(|error| Error::new(ErrorKind::Tls, error.to_string()))?,
        Host::Address(address) => ServerName::IpAddress((*address).into()),
    };
    let encrypted = TlsConnector::from(config).connect(name, stream).await;
    encrypted.map_err(|error| tls_error(&error, host))
}

fn tls_error(error: &io::Error, host: &Host) -> Error {
    let inner = error.get_ref();
    match inner.and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(rustls::Error::InvalidCertificate(why)) => Error::new(
            ErrorKind::Certificate,
            format!("certificate verify failed: {}", certificate(why, host)),
        ),
        Some(other) => Error::new(ErrorKind::Tls, format!("TLS with `{host}` failed: {other}")),
        None => Error::new(
            ErrorKind::Closed,
            format!("`{host}` closed the connection during the TLS handshake"),
        ),
    }
}

/// Why a certificate was refused, in the words of other libraries as far as there are some.
fn certificate(why: &rustls::CertificateError, host: &Host) -> String {
    use rustls::CertificateError as C;
    match why {
        C::Expired | C::ExpiredContext { .. } => "certificate has expired".into(),
        C::NotValidYet | C::NotValidYetContext { .. } => "certificate is not yet valid".into(),
        C::UnknownIssuer => "unable to get local issuer certificate".into(),
        C::NotValidForName | C::NotValidForNameContext { .. } => match host {
            Host::Name(name) => {
                format!("Hostname mismatch, certificate is not valid for '{name}'.")
            }
            Host::Address(address) => {
                format!("IP address mismatch, certificate is not valid for '{address}'.")
            }
        },
        other => other.to_string(),
    }
}
