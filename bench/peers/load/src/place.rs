//! One place in flight: the message that it sends, what it knows of the answer, and what all of them took together.

use std::io::{Error, Result};
use std::time::{Duration, Instant};

use line_echo::{number, option, usage};

/// What all places send, and what they expect.
pub struct Plan {
    method: String,
    params: Option<String>,
    tools: usize,
    text_bytes: usize,
    pub in_flight: usize,
    pub length: Duration,
}

impl Plan {
    pub fn new(args: &[String]) -> Result<Self> {
        Ok(Self {
            method: option(args, "--method")
                .ok_or_else(|| Error::other("--method is missing"))?
                .to_owned(),
            params: option(args, "--params").map(str::to_owned),
            tools: number(args, "--tools", 0.0)? as usize,
            text_bytes: number(args, "--text-bytes", 40.0)? as usize,
            in_flight: number(args, "--in-flight", 1.0)?.max(1.0) as usize,
            length: Duration::try_from_secs_f64(number(args, "--seconds", 1.0)?).map_err(Error::other)?,
        })
    }

    /// The place of that number.
    pub fn place(&self, index: usize) -> Place {
        let mut text = format!("{index} ");
        while text.len() < self.text_bytes {
            text.push_str("the quick brown fox, ");
        }
        text.truncate(self.text_bytes.max(index.to_string().len() + 1));
        let id = index + 1;
        let mut message = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{}\"", self.method);
        let mut needles = vec![format!("\"id\":{id}")];
        if let Some(params) = &self.params {
            message.push_str(",\"params\":");
            message.push_str(&params.replace("$TEXT", &text));
            if params.contains("$TEXT") {
                needles.push(format!("\"{text}\""));
            }
        }
        message.push('}');
        Place {
            message,
            needles,
            tools: self.tools,
            first: None,
            sent: Instant::now(),
        }
    }
}

pub struct Place {
    pub message: String,
    needles: Vec<String>,
    tools: usize,
    first: Option<Vec<u8>>,
    pub sent: Instant,
}

impl Place {
    /// Whether this is the answer to its message.
    pub fn check(&mut self, answer: &[u8]) -> Result<()> {
        let is_right = match &self.first {
            Some(first) => first == answer,
            None => {
                let text = std::str::from_utf8(answer).map_err(Error::other)?;
                self.first = Some(answer.to_vec());
                self.needles.iter().all(|needle| text.contains(needle))
                    && text.contains("\"result\":")
                    && text.matches("\"inputSchema\":").count() == self.tools
            }
        };
        if is_right {
            return Ok(());
        }
        let answer = String::from_utf8_lossy(answer);
        let brief: String = answer.chars().take(600).collect();
        Err(Error::other(format!("asked {}, was answered {brief}", self.message)))
    }
}

/// What was done so far.
pub struct Account {
    began: Instant,
    cpu: Option<u64>,
    latencies: Vec<u32>,
}

impl Account {
    pub fn begin() -> Self {
        Self {
            began: Instant::now(),
            cpu: usage::cpu_ns(),
            latencies: Vec::with_capacity(1 << 18),
        }
    }

    pub fn add(&mut self, latency: Duration) {
        self.latencies
            .push(u32::try_from(latency.as_nanos()).unwrap_or(u32::MAX));
    }

    /// Prints what it was, as one line of JSON.
    pub fn print(mut self) {
        let elapsed = self.began.elapsed();
        let cpu = usage::cpu_ns().zip(self.cpu).map(|(after, before)| after - before);
        let cpu = cpu.map_or_else(|| "null".to_owned(), |ns| (ns / 1000).to_string());
        self.latencies.sort_unstable();
        let count = self.latencies.len();
        let percentile = |hundredths: usize| {
            let rank = (count * hundredths).div_ceil(100).clamp(1, count.max(1));
            self.latencies.get(rank - 1).map_or(0.0, |ns| f64::from(*ns) / 1000.0)
        };
        println!(
            "{{\"operations\":{count},\"elapsedMs\":{},\"rate\":{},\"latencyUs\":{{\"p50\":{},\"p99\":{}}},\"loadCpuUs\":{cpu}}}",
            elapsed.as_secs_f64() * 1000.0,
            count as f64 / elapsed.as_secs_f64(),
            percentile(50),
            percentile(99),
        );
    }

    pub fn is_over(&self, length: Duration, now: Instant) -> bool {
        now.saturating_duration_since(self.began) >= length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(args: &[&str]) -> Plan {
        let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        Plan::new(&args).unwrap()
    }

    #[test]
    fn every_place_has_its_own_text_and_knows_its_answer() {
        let plan = plan(&[
            "--method",
            "tools/call",
            "--params",
            "{\"text\":\"$TEXT\"}",
            "--text-bytes",
            "8",
        ]);
        let mut place = plan.place(1);
        let message = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"text":"1 the qu"}}"#;
        assert_eq!(place.message, message);
        let right = br#"{"jsonrpc":"2.0","id":2,"result":{"text":"1 the qu"}}"#;
        place.check(right).unwrap();
        place.check(right).unwrap();
        place
            .check(br#"{"jsonrpc":"2.0","id":2,"result":{"text":"1 the qx"}}"#)
            .unwrap_err();
        plan.place(2).check(right).unwrap_err();
        plan.place(1)
            .check(br#"{"id":2,"error":{"text":"1 the qu"}}"#)
            .unwrap_err();
    }

    #[test]
    fn a_list_that_is_too_short_is_wrong() {
        let plan = plan(&["--method", "tools/list", "--tools", "2"]);
        let one = br#"{"id":1,"result":{"tools":[{"inputSchema":{}}]}}"#;
        plan.place(0).check(one).unwrap_err();
        let two = br#"{"id":1,"result":{"tools":[{"inputSchema":{}},{"inputSchema":{}}]}}"#;
        plan.place(0).check(two).unwrap();
    }
}
