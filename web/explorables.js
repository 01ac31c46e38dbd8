// The explorables: a locked scenario with two sliders and what to look at. The pages in docs/explorables have the prose, and
// tools/explorables.py draws their pictures from these scenarios. The object is JSON.
"use strict";

Lab.EXPLORABLES = {
  "red-thresholds": {
    "title": "RED's thresholds",
    "summary": "The average queue length decides which share of the packets is marked. Move the two thresholds and watch length, average and utilisation.",
    "scenario": "name = \"RED's thresholds\"\nduration = \"60 s\"\nmeasure_from = \"10 s\"\n\n[[link]]\nname = \"bottleneck\"\nfrom = \"router\"\nto = \"sink\"\nrate = \"10 Mbps\"\ndelay = \"5 ms\"\nqueue = { aqm = \"ecn\", limit = 120, min_th = 10, max_th = 30, max_p = 0.1, w_q = 0.002 }\n\n[[flows]]\nname = \"flows\"\ncount = 20\nto = \"sink\"\naccess = { to = \"router\", rate = \"100 Mbps\", delay = \"20 ms\", spread = \"5 ms\" }\ntcp = { profile = \"rfc\", variant = \"newreno\", ecn = true }\nstart = [\"0 s\", \"1 s\"]\n",
    "A": {},
    "B": null,
    "controls": [
      { "id": "link.0.queue.min_th", "label": "min_th: no marks below" },
      { "id": "link.0.queue.max_th", "label": "max_th: all packets marked from here on" }
    ],
    "figures": ["length", "gauge 1", "marks", "windows"],
    "rows": ["throughput", "mean queue length", "sojourn time, mean", "sojourn time, 95th percentile", "utilisation", "marks", "drops"]
  },
  "why-ecn": {
    "title": "Why ECN",
    "summary": "The same queue signals by drops in A and by marks in B. Short transfers share the link with bulk transfers.",
    "scenario": "name = \"Why ECN\"\nduration = \"60 s\"\nmeasure_from = \"10 s\"\n\n[[link]]\nname = \"bottleneck\"\nfrom = \"router\"\nto = \"sink\"\nrate = \"10 Mbps\"\ndelay = \"10 ms\"\nqueue = { aqm = \"ecn\", limit = 120, min_th = 10, max_th = 30, max_p = 0.1, gentle = true }\n\n[[flows]]\nname = \"bulk\"\ncount = 8\nto = \"sink\"\naccess = { to = \"router\", rate = \"100 Mbps\", delay = \"10 ms\", spread = \"5 ms\" }\ntcp = { profile = \"linux\", ecn = true }\nstart = [\"0 s\", \"100 ms\", \"200 ms\", \"300 ms\"]\n\n[[flows]]\nname = \"short\"\ncount = 10\nto = \"sink\"\naccess = { to = \"router\", rate = \"100 Mbps\", delay = \"10 ms\", spread = \"5 ms\" }\ntcp = { profile = \"linux\", ecn = true }\napp = { kind = \"transactions\", bytes = \"15 KB\", gap = \"1 s\" }\n",
    "A": { "link.0.queue.aqm": "red" },
    "B": {},
    "controls": [
      { "id": "flows.0.count", "label": "bulk transfers" },
      { "id": "link.0.queue.max_th", "label": "max_th", "min": 12 }
    ],
    "figures": ["transactions", "drops", "marks", "length"],
    "rows": ["throughput", "drops", "timeouts", "utilisation", "sojourn time, mean", "short: drops", "short: duration of a transaction, mean", "short: duration of a transaction, 95th percentile"]
  },
  "heterogeneous-rtts": {
    "title": "Heterogeneous RTTs and AECN",
    "summary": "A near group and a far group share a queue. ECN in A marks all packets with one probability; AECN in B marks each group with its own.",
    "scenario": "name = \"Heterogeneous RTTs and AECN\"\nduration = \"60 s\"\nmeasure_from = \"10 s\"\n\n[[link]]\nname = \"bottleneck\"\nfrom = \"router\"\nto = \"sink\"\nrate = \"10 Mbps\"\ndelay = \"5 ms\"\nqueue = { aqm = \"ecn\", limit = 120, min_th = 10, max_th = 30, max_p = 0.5, w_q = 0.002 }\n\n[[flows]]\nname = \"near\"\ncount = 20\nto = \"sink\"\naccess = { to = \"router\", rate = \"1.5 Mbps\", delay = \"20 ms\", spread = \"1 ns\" }\ntcp = { profile = \"ns2-2001\", variant = \"reno\", ecn = true, max_rwnd = 64 }\nstart = [\"0 s\", \"2 s\"]\n\n[[flows]]\nname = \"far\"\ncount = 20\nto = \"sink\"\naccess = { to = \"router\", rate = \"1.5 Mbps\", delay = \"95 ms\", spread = \"1 ns\" }\ntcp = { profile = \"ns2-2001\", variant = \"reno\", ecn = true, max_rwnd = 64 }\nstart = [\"0 s\", \"2 s\"]\n",
    "A": {},
    "B": { "link.0.queue.aqm": "aecn", "link.0.queue.alpha": 2.5, "link.0.queue.beta": 2.5 },
    "controls": [
      { "id": "flows.1.access.delay", "label": "delay of the far group's access links" },
      { "id": "flows.1.count", "label": "far flows" }
    ],
    "figures": ["goodput", "marks", "windows", "length"],
    "rows": ["throughput", "Jain's index of goodput", "mean queue length", "timeouts", "*: base RTT, mean", "*: goodput of a flow", "*: marks"]
  },
  "bufferbloat": {
    "title": "Bufferbloat and CoDel",
    "summary": "The buffer alone decides in A. CoDel marks in B as soon as packets wait longer than its target.",
    "scenario": "name = \"Bufferbloat and CoDel\"\nduration = \"60 s\"\nmeasure_from = \"10 s\"\n\n[[link]]\nname = \"bottleneck\"\nfrom = \"router\"\nto = \"home\"\nrate = \"10 Mbps\"\ndelay = \"5 ms\"\nqueue = { aqm = \"codel\", limit = 500 }\n\n[[flows]]\nname = \"long\"\ncount = 4\nto = \"home\"\naccess = { to = \"router\", rate = \"1 Gbps\", delay = \"20 ms\", spread = \"1 ms\" }\ntcp = { profile = \"linux\", ecn = true }\nstart = [\"0 s\", \"1 s\"]\n",
    "A": { "link.0.queue.aqm": "droptail" },
    "B": {},
    "controls": [
      { "id": "link.0.queue.limit", "label": "buffer of both queues" },
      { "id": "link.0.queue.target", "side": "B", "label": "target of CoDel in B" }
    ],
    "figures": ["sojourn", "length", "windows", "goodput"],
    "rows": ["throughput", "one-way delay, 95th percentile", "mean queue length", "sojourn time, mean", "sojourn time, 95th percentile", "utilisation", "marks", "drops"]
  },
  "low-latency": {
    "title": "Low-latency queues",
    "summary": "Scalable and classic flows share a link: through the bands of DualPI2 in A, through a queue for each flow in B.",
    "scenario": "name = \"Low-latency queues\"\nduration = \"30 s\"\nmeasure_from = \"5 s\"\n\n[[link]]\nname = \"bottleneck\"\nfrom = \"router\"\nto = \"sink\"\nrate = \"40 Mbps\"\ndelay = \"2 ms\"\nqueue = { discipline = \"dualpi2\", limit = 1000 }\n\n[[flows]]\nname = \"scalable\"\ncount = 2\nto = \"sink\"\naccess = { to = \"router\", rate = \"1 Gbps\", delay = \"3 ms\", spread = \"1 ms\" }\ntcp = { profile = \"linux\", variant = \"dctcp\", ecn = true, ect_codepoint = \"ect1\" }\nstart = [\"0 s\", \"1 s\"]\n\n[[flows]]\nname = \"classic\"\ncount = 2\nto = \"sink\"\naccess = { to = \"router\", rate = \"1 Gbps\", delay = \"3 ms\", spread = \"1 ms\" }\ntcp = { profile = \"linux\", ecn = true }\nstart = [\"0 s\", \"1 s\"]\n",
    "A": {},
    "B": { "link.0.queue": { "discipline": "fq", "limit": 1000, "aqm": { "name": "codel" } } },
    "controls": [
      { "id": "flows.0.count", "label": "scalable flows" },
      { "id": "flows.1.count", "label": "classic flows" }
    ],
    "figures": ["bands", "sojourn", "goodput", "marks"],
    "rows": ["throughput", "Jain's index of goodput", "sojourn time, mean", "band L: sojourn time, mean", "band L: sojourn time, 99th percentile", "band C: sojourn time, mean", "*: goodput of a flow", "*: one-way delay, 95th percentile"]
  },
  "l4s": {
    "title": "L4S: Prague beside CUBIC",
    "summary": "TCP Prague and CUBIC share a slow link with DualPI2: every packet of band L that waits is marked in A, and a single one is exempt in B.",
    "scenario": "name = \"L4S: Prague beside CUBIC\"\nduration = \"30 s\"\nmeasure_from = \"10 s\"\n\n[[link]]\nname = \"bottleneck\"\nfrom = \"router\"\nto = \"sink\"\nrate = \"10 Mbps\"\ndelay = \"1 ms\"\nqueue = { discipline = \"dualpi2\", limit = 10000, min_th = \"1 ms\", range = \"0 s\", th_len = 0, th_len_at = \"enqueue\", classic_weight = 0.1 }\n\n[[flows]]\nname = \"prague\"\ncount = 2\nto = \"sink\"\naccess = { to = \"router\", rate = \"1 Gbps\", delay = \"9 ms\", spread = \"1 ms\" }\ntcp = { profile = \"linux-7.2\", variant = \"prague\" }\nstart = [\"0 s\", \"1 s\"]\n\n[[flows]]\nname = \"cubic\"\ncount = 2\nto = \"sink\"\naccess = { to = \"router\", rate = \"1 Gbps\", delay = \"9 ms\", spread = \"1 ms\" }\ntcp = { profile = \"linux-7.2\", ecn = true, ecn_echo = \"accurate\" }\nstart = [\"500 ms\", \"1500 ms\"]\n",
    "A": {},
    "B": { "link.0.queue.th_len": 1 },
    "controls": [
      { "id": "link.0.rate", "label": "rate of the link" },
      { "id": "flows.0.access.delay", "label": "access delay of Prague" }
    ],
    "figures": ["bands", "goodput", "windows", "marks"],
    "rows": ["throughput", "Jain's index of goodput", "band L: sojourn time, mean", "band L: sojourn time, 99th percentile", "band C: sojourn time, mean", "*: goodput of a flow", "*: one-way delay, 95th percentile"]
  }
};
