//! The time, as a value that a test can replace.
//!
//! Questions of this process expire by a monotonic clock: nobody gets more time because the time of day was set back.
//! What several processes share can only be compared by the time of day.

use std::fmt;
use std::pin::Pin;
use std::time::{Duration, Instant, SystemTime};
use tokio::sync::watch;

/// Tells the time for approvals and the audit log.
pub trait Clock: fmt::Debug + Send + Sync {
    /// The time of day, for records and for what processes share.
    fn now(&self) -> SystemTime;

    /// The time since some moment that stays the same for this clock. It never goes back.
    fn monotonic(&self) -> Duration;

    /// Waits until this much time has passed. Called within a tokio runtime that has a timer.
    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>>;
}

/// The clock of this machine.
#[derive(Debug)]
pub(crate) struct SystemClock {
    start: Instant,
}

impl SystemClock {
    pub(crate) fn new() -> Self {
        let start = Instant::now();
        Self { start }
    }
}

impl Clock for SystemClock {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    fn monotonic(&self) -> Duration {
        self.start.elapsed()
    }

    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(tokio::time::sleep(time))
    }
}

/// A clock that stands still until a test advances it.
#[derive(Debug)]
pub struct ManualClock {
    start: SystemTime,
    elapsed: watch::Sender<Duration>,
}

impl ManualClock {
    /// A clock that shows this time.
    pub fn new(start: SystemTime) -> Self {
        let elapsed = watch::Sender::new(Duration::ZERO);
        Self { start, elapsed }
    }

    /// Advances the clock and wakes everything whose time has come.
    pub fn advance(&self, by: Duration) {
        self.elapsed.send_modify(|elapsed| *elapsed += by);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> SystemTime {
        self.start + self.monotonic()
    }

    fn monotonic(&self) -> Duration {
        *self.elapsed.borrow()
    }

    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let mut elapsed = self.elapsed.subscribe();
        let until = *elapsed.borrow() + time;
        Box::pin(async move {
            if elapsed.wait_for(|now| *now >= until).await.is_err() {
                // The clock is gone, so this time never comes.
                std::future::pending().await
            }
        })
    }
}

/// A time of day as the text in records.
pub(crate) fn text(time: SystemTime) -> String {
    let time = jiff::Timestamp::try_from(time);
    time.unwrap_or(jiff::Timestamp::UNIX_EPOCH).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_manual_clock_wakes_whoever_waits_for_its_time() {
        let clock = ManualClock::new(SystemTime::UNIX_EPOCH);
        let mut early = clock.sleep(Duration::from_secs(10));
        let mut late = clock.sleep(Duration::from_secs(11));
        clock.advance(Duration::from_secs(10));
        let woken = tokio::select! {
            biased;
            () = &mut late => "late",
            () = &mut early => "early",
        };
        assert_eq!(woken, "early");
        clock.advance(Duration::from_secs(1));
        late.await;
        assert_eq!(text(clock.now()), "1970-01-01T00:00:11Z");
    }
}
