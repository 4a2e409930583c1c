//! Runs in a long-lived process: how long one takes, and how many of them threads reach.

use super::Result;
use super::env;
use skillrun::{Host, Live, Request, Skill};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How long runs are counted for one value.
const WINDOW: Duration = Duration::from_millis(800);

pub(crate) fn runtime() -> Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?)
}

/// The time of one run in milliseconds.
pub(crate) async fn once(host: &Host, skill: &Arc<Skill>, script: &str) -> Result<f64> {
    let began = Instant::now();
    let outcome = env::run(host, Request::typed(skill, script), Live::default()).await?;
    let took = began.elapsed().as_secs_f64() * 1e3;
    if outcome.success {
        Ok(took)
    } else {
        Err(format!("`{script}` failed: {}", outcome.stderr).into())
    }
}

/// Runs per second with this many threads, each with its own async runtime, and one shared host.
pub(crate) fn rate(host: &Host, skill: &Arc<Skill>, script: &str, threads: usize) -> Result<f64> {
    let done = AtomicUsize::new(0);
    let began = Instant::now();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    let runtime = runtime()?;
                    while began.elapsed() < WINDOW {
                        runtime.block_on(once(host, skill, script))?;
                        done.fetch_add(1, Ordering::Relaxed);
                    }
                    Result::Ok(())
                })
            })
            .collect();
        workers.into_iter().try_for_each(|worker| {
            worker
                .join()
                .unwrap_or_else(|_| Err("a worker panicked".into()))
        })
    })?;
    Ok(done.into_inner() as f64 / began.elapsed().as_secs_f64())
}
