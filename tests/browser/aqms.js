// The packaged examples threshold.py and red_by_hand.py in JavaScript: equal arithmetic, so equal fingerprints.

class Threshold extends Aqm {
  /** Marks whatever arrives while more than a few packets wait. */
  static parameters = { most: param(20, { whole: true, bounds: [1, 10000], unit: "packets", usual: [1, 60] }) };

  on_arrival(arrival) {
    return arrival.backlog.packets >= this.most ? mark() : PASS;
  }
}

class RedByHand extends Aqm {
  /** RED, written by hand. */
  static source = "Floyd and Jacobson 1993";
  static parameters = {
    min_th: param(5, { bounds: [0, 1e9], unit: "packets" }),
    max_th: param(15, { bounds: [0, 1e9], unit: "packets" }),
    max_p: param(0.1, { bounds: [0, 1] }),
    w_q: param(0.002, { bounds: [0, 1] }),
    mean_packet: param(500, { whole: true, bounds: [1, 65535], unit: "bytes" }),
    ecn: param(false),
  };
  static gauges = { average: gauge(0, { unit: "packets" }), probability: gauge() };

  check() {
    return this.min_th >= this.max_th ? { min_th: `${this.min_th} must be below max_th ${this.max_th}` } : {};
  }

  on_start() {
    this.packet_time_ps = this.line.packet_time_ps(this.mean_packet);
    this.idle_since_ps = -1;
    this.count = 0;
    this.above = false;
  }

  on_idle(idling) {
    this.idle_since_ps = idling.now_ps;
  }

  on_arrival(arrival) {
    const idle_since_ps = this.idle_since_ps;
    const sent = idle_since_ps >= 0 ? Math.floor((arrival.now_ps - idle_since_ps) / this.packet_time_ps) : 0;
    this.idle_since_ps = -1;
    this.average = this.average * powi(1 - this.w_q, sent + 1) + this.w_q * arrival.backlog.packets;
    this.count += 1;
    let verdict = this.judge(arrival);
    if (arrival.full) {
      this.count = 0;
      verdict = drop({ cause: "overflow" });
    }
    const dropped = verdict !== PASS && verdict !== mark();
    if (dropped && idle_since_ps >= 0) this.idle_since_ps = idle_since_ps + sent * this.packet_time_ps;
    return verdict;
  }

  judge(arrival) {
    const p_b = this.max_p * (this.average - this.min_th) / (this.max_th - this.min_th);
    this.probability = this.average < this.max_th ? Math.min(Math.max(p_b, 0), 1) : 1;
    if (this.average < this.min_th || arrival.backlog.packets <= 1) {
      this.above = false;
      return PASS;
    }
    if (this.average >= this.max_th) {
      this.count = 0;
      return drop({ cause: "forced" });
    }
    if (!this.above) {
      this.above = true;
      this.count = 1;
      return PASS;
    }
    const passed = this.count * p_b;
    const p_a = passed < 1 ? 0 : passed < 2 ? p_b / (2 - passed) : 1;
    if (this.random() >= p_a) return PASS;
    this.count = 0;
    return this.ecn ? mark() : drop();
  }
}

class EveryHook extends Aqm {
  /** Uses every hook; as in every_hook.py. */
  static parameters = { pause: param(0.05, { unit: "s" }), share: param(0.02, { bounds: [0, 1] }) };
  static gauges = { deadlines: gauge(), idles: gauge(), decay: gauge() };
  static groups = 2;

  on_start() {
    this.signal = false;
    this.rates = 0;
    return this.pause;
  }

  group(packet) {
    return packet.flow % 2;
  }

  on_arrival(arrival) {
    if (arrival.groups[0].packets > 3 * arrival.groups[1].packets + 8) return mark({ group: 0, cause: "forced" });
    return arrival.backlog.packets > 30 ? drop({ victim: "front" }) : arrival.backlog.packets > 25 ? drop({ victim: 2 }) : PASS;
  }

  on_departure(departure) {
    if (this.signal && departure.waited_s > 0.001) {
      this.signal = false;
      return mark();
    }
    return this.random() < this.share * this.decay ? drop({ cause: "forced" }) : PASS;
  }

  on_deadline(context) {
    this.deadlines += 1;
    this.decay = exp(-context.head_waited_s) * ln(2 + context.backlog.bytes) / 10;
    this.signal = this.random() < 0.5;
    return context.now_s + this.pause * (1 + this.rates);
  }

  on_idle(idling) {
    this.idles += idling.now_s > 0 ? 1 : 0;
  }

  on_rate(rate_bps) {
    this.rates += rate_bps > 0 ? 1 : 0;
  }
}
