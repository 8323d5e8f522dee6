//! The socket: connections with time limits, TLS, and an orderly end.

use crate::routes::app;
use crate::state::State;
use anyhow::{Context as _, Result};
use axum::body::Body;
use axum::http::Request;
use hyper::body::Incoming;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{Instant, Sleep, sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tower::ServiceExt as _;

/// A socket that listens.
pub struct Listener {
    socket: TcpListener,
    tls: Option<TlsAcceptor>,
}

impl Listener {
    /// Opens the socket.
    pub async fn open(state: &State) -> Result<Self> {
        let address = state.config.listen;
        let socket = TcpListener::bind(address)
            .await
            .with_context(|| format!("cannot listen on {address}"))?;
        let tls = state.config.tls.as_ref().map(|(cert, key)| acceptor(cert, key)).transpose()?;
        Ok(Self { socket, tls })
    }

    /// The address to open.
    pub fn address(&self) -> Result<String> {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        Ok(format!("{scheme}://{}", self.socket.local_addr()?))
    }

    /// Where it listens.
    pub fn local(&self) -> Result<SocketAddr> {
        Ok(self.socket.local_addr()?)
    }
}

fn acceptor(cert: &Path, key: &Path) -> Result<TlsAcceptor> {
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(cert)
        .and_then(Iterator::collect)
        .with_context(|| format!("{}: no certificates", cert.display()))?;
    let key = PrivateKeyDer::from_pem_file(key)
        .with_context(|| format!("{}: no private key", key.display()))?;
    let mut config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .context("the certificate and the key do not fit")?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Serves until `stop` is done. Then requests that are being answered get the time of
/// [`crate::Config::grace`]; those that need longer are answered 503.
pub async fn serve(
    listener: Listener,
    state: Arc<State>,
    stop: impl Future<Output = ()>,
) -> Result<()> {
    let app = app(Arc::clone(&state));
    let Listener { socket, tls } = listener;
    let ending = GracefulShutdown::new();
    let places = Arc::new(Semaphore::new(state.config.max_connections.max(1)));
    let mut builder = hyper::server::conn::http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(state.config.header_timeout)
        .max_buf_size(1 << 18);
    let watcher = watch_models(&state);
    let mut stop = Box::pin(stop);
    loop {
        let next = async {
            let place = Arc::clone(&places).acquire_owned().await;
            (socket.accept().await, place)
        };
        let next = std::pin::pin!(next);
        let (accepted, place) = match futures_util::future::select(&mut stop, next).await {
            futures_util::future::Either::Left(_) => break,
            futures_util::future::Either::Right((next, _)) => next,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Too many open files, or a connection that ended at once.
                tracing::warn!(%error, "a connection was not accepted");
                sleep(Duration::from_millis(20)).await;
                continue;
            }
        };
        let _ = stream.set_nodelay(true);
        let (app, builder, tls) = (app.clone(), builder.clone(), tls.clone());
        let (watcher, config) = (ending.watcher(), state.config.clone());
        tokio::spawn(async move {
            let _place = place;
            let service = hyper::service::service_fn(move |request: Request<Incoming>| {
                app.clone().oneshot(request.map(Body::new))
            });
            let Some(io) =
                Link::open(stream, tls, config.header_timeout, config.body_timeout).await
            else {
                return;
            };
            let connection = builder.serve_connection(TokioIo::new(io), service);
            if let Err(error) = watcher.watch(connection).await {
                tracing::debug!(%error, "a connection ended");
            }
        });
    }
    drop(socket);
    tracing::info!("shutting down");
    state.drain();
    watcher.abort();
    let mut end = Box::pin(ending.shutdown());
    if timeout(state.config.grace, &mut end).await.is_err() {
        state.cancel();
        let _ = timeout(Duration::from_secs(2), end).await;
    }
    Ok(())
}

/// Looks at the folder of models again and again.
fn watch_models(state: &Arc<State>) -> tokio::task::JoinHandle<()> {
    let state = Arc::clone(state);
    tokio::spawn(async move {
        loop {
            sleep(state.config.poll).await;
            let state = Arc::clone(&state);
            let _ = tokio::task::spawn_blocking(move || state.refresh()).await;
        }
    })
}

/// A connection, with TLS or without, that ends when the client does not take bytes in time.
struct Link {
    io: Io,
    patience: Duration,
    /// Runs while bytes wait to be taken.
    timer: Option<Pin<Box<Sleep>>>,
}

enum Io {
    Plain(TcpStream),
    Tls(Box<tokio_rustls::server::TlsStream<TcpStream>>),
}

impl Link {
    /// `None` if the client does not shake hands in time.
    async fn open(
        stream: TcpStream,
        tls: Option<TlsAcceptor>,
        handshake: Duration,
        patience: Duration,
    ) -> Option<Self> {
        let io = match tls {
            None => Io::Plain(stream),
            Some(tls) => {
                Io::Tls(Box::new(timeout(handshake, tls.accept(stream)).await.ok()?.ok()?))
            }
        };
        Some(Self { io, patience, timer: None })
    }

    fn write(
        &mut self,
        cx: &mut Context<'_>,
        write: impl FnOnce(&mut Io, &mut Context<'_>) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        let done = write(&mut self.io, cx);
        if done.is_ready() {
            self.timer = None;
            return done;
        }
        let patience = self.patience;
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(patience)));
        if timer.deadline() < Instant::now() || timer.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        Poll::Pending
    }
}

impl AsyncRead for Link {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.io {
            Io::Plain(io) => Pin::new(io).poll_read(cx, buf),
            Io::Tls(io) => Pin::new(io).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Link {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.write(cx, |io, cx| match io {
            Io::Plain(io) => Pin::new(io).poll_write(cx, bytes),
            Io::Tls(io) => Pin::new(io).poll_write(cx, bytes),
        })
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.write(cx, |io, cx| match io {
            Io::Plain(io) => Pin::new(io).poll_write_vectored(cx, bytes),
            Io::Tls(io) => Pin::new(io).poll_write_vectored(cx, bytes),
        })
    }

    fn is_write_vectored(&self) -> bool {
        match &self.io {
            Io::Plain(io) => io.is_write_vectored(),
            Io::Tls(io) => io.is_write_vectored(),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.io {
            Io::Plain(io) => Pin::new(io).poll_flush(cx),
            Io::Tls(io) => Pin::new(io).poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.io {
            Io::Plain(io) => Pin::new(io).poll_shutdown(cx),
            Io::Tls(io) => Pin::new(io).poll_shutdown(cx),
        }
    }
}
